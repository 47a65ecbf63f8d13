//! One workload loaded by every system, some times, as a section of the report.
//!
//! Invariants: systems take turns, so that whatever else the machine does falls on all of
//! them; a system whose load failed once is not tried again; all systems must count
//! the same number of quads in all runs.
//!
//! Cost: the loads and counts; disk for one store and for the input in two more parts.

use super::Comparison;
use super::input::Input;
use super::measure::{self, Measured};
use super::report::{Section, Table, median_index, megabytes, ratio, seconds, thousands};
use super::systems::System;
use super::work_folder::{read_through, remove};
use super::workload::Workload;
use crate::error::XtaskError;

/// What the columns mean.
pub const METHOD: &str = "\
Every load is into a new, empty store, by turns: the first run of every system, then the second of every system. The input was read once just before, so it is in the page
cache; nothing is dropped from the cache. `wall s` is the median of the runs, from the start of the program (Virtuoso: of the first statement to a server that runs)
until the data is durable by the system's own means; `times` is that, divided by Basalt's. `CPU s` is user and system, `peak MB` the largest resident memory with mapped files and `anonymous MB` without
(sampled), `sync s` what the file system needed to write the rest after the load had ended, `disk MB` the allocated blocks of the store. These are of the median run. `quads`
is what a new process counts in the store afterwards; Virtuoso's server was killed after its checkpoint.
";

/// A load that went well.
struct Load {
    /// How it ran.
    measured: Measured,
    /// What was left to the file system to write.
    sync_seconds: Option<f64>,
    /// The bytes of the store.
    disk_bytes: u64,
    /// What a new process counted.
    quads: u64,
}

/// What became of a system.
enum Outcome {
    /// It cannot load this input, for a reason.
    Refused(&'static str),
    /// A load failed.
    Failed(String),
    /// The loads so far.
    Loads(Vec<Load>),
}

/// A system with what became of it.
struct Row<'a> {
    /// The system.
    system: &'a dyn System,
    /// What became of it.
    outcome: Outcome,
}

impl Row<'_> {
    /// The loads, if there are any.
    fn loads(&self) -> &[Load] {
        match &self.outcome {
            Outcome::Loads(loads) => loads,
            _ => &[],
        }
    }

    /// The load whose wall time is the median.
    fn median(&self) -> Option<&Load> {
        let loads = self.loads();
        let walls: Vec<f64> = loads
            .iter()
            .map(|load| load.measured.wall_seconds)
            .collect();
        (!walls.is_empty()).then(|| &loads[median_index(&walls)])
    }
}

/// Loads and counts.
pub fn measure(
    comparison: &Comparison,
    workload: Workload,
    systems: &[&dyn System],
) -> Result<Section, XtaskError> {
    let mut input = workload.input(comparison)?;
    if systems.iter().any(|system| system.wants_parts()) {
        input.cut(&comparison.work.root().join("data"))?;
    }
    let mut rows: Vec<Row> = Vec::new();
    for &system in systems {
        let outcome = match system.refuses(&input) {
            Some(reason) => Outcome::Refused(reason),
            None => Outcome::Loads(Vec::new()),
        };
        rows.push(Row { system, outcome });
    }
    let mut input_bytes = 0;
    for run in 1..=comparison.options.runs {
        for row in &mut rows {
            let Outcome::Loads(loads) = &mut row.outcome else {
                continue;
            };
            input_bytes = read_through(&input.path)?;
            for part in &input.parts {
                read_through(part)?;
            }
            let label = row.system.label();
            match load(comparison, &input, row.system) {
                Ok(load) => {
                    let wall = seconds(load.measured.wall_seconds);
                    eprintln!("compare: {}, {label}, run {run}: {wall} s", workload.name());
                    loads.push(load);
                }
                Err(error) => {
                    eprintln!("compare: {}, {label}, run {run}: {error}", workload.name());
                    row.outcome = Outcome::Failed(comparison.shorten(&error.to_string()));
                }
            }
        }
    }
    let section = section(comparison, workload, &input, input_bytes, &rows);
    input.remove_parts()?;
    Ok(section)
}

/// One load of one system, its store removed afterwards.
fn load(comparison: &Comparison, input: &Input, system: &dyn System) -> Result<Load, XtaskError> {
    let folder = comparison.work.store(&folder_name(&system.label()))?;
    // What others left unwritten must not be counted here.
    measure::seconds_to_sync(&folder);
    let measured = system.load(input, &folder, comparison.options.time_max)?;
    let sync_seconds = measure::seconds_to_sync(&folder);
    let disk_bytes = system.size(&folder)?;
    let quads = system.count(&folder)?;
    remove(&folder)?;
    Ok(Load {
        measured,
        sync_seconds,
        disk_bytes,
        quads,
    })
}

/// A name for a folder: the label's letters and digits.
fn folder_name(label: &str) -> String {
    let words = label.split(|letter: char| !letter.is_ascii_alphanumeric());
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join("-").to_ascii_lowercase()
}

/// The section for what was measured.
fn section(
    comparison: &Comparison,
    workload: Workload,
    input: &Input,
    input_bytes: u64,
    rows: &[Row],
) -> Section {
    let expected = rows
        .iter()
        .find_map(|row| row.loads().first())
        .map(|load| load.quads);
    let name = input.path.file_name().unwrap_or_default().to_string_lossy();
    let text = format!(
        "`{name}`, {} bytes.\n\n{}\nEvery run:\n\n{}\nCommands:\n\n{}",
        thousands(input_bytes),
        summary(rows, expected).markdown(),
        every_run(rows).markdown(),
        commands(comparison, rows)
    );
    Section {
        title: format!("{}: {}", workload.name(), workload.about(comparison)),
        text,
        flaws: flaws(rows, expected),
    }
}

/// The median run of each system.
fn summary(rows: &[Row], expected: Option<u64>) -> Table {
    let mut table = Table::new(&[
        "system",
        "wall s",
        "times",
        "quads/s",
        "CPU s",
        "peak MB",
        "anonymous MB",
        "sync s",
        "disk MB",
        "bytes/quad",
        "quads",
    ]);
    let reference = rows
        .iter()
        .find(|row| row.system.label() == "Basalt")
        .and_then(Row::median)
        .map(|load| load.measured.wall_seconds);
    for row in rows {
        let label = row.system.label();
        let Some(load) = row.median() else {
            let reason = match &row.outcome {
                Outcome::Refused(reason) => (*reason).to_owned(),
                Outcome::Failed(error) => format!("failed: {error}"),
                Outcome::Loads(_) => String::new(),
            };
            table.add(vec![label, reason]);
            continue;
        };
        let wall = load.measured.wall_seconds;
        let times = reference.map(|reference| format!("{:.1}", ratio(wall, reference)));
        let quads = thousands(load.quads);
        let [cpu, peak, anonymous] = usage_cells(load);
        table.add(vec![
            label,
            seconds(wall),
            times.unwrap_or_default(),
            thousands(ratio(load.quads as f64, wall).round() as u64),
            cpu,
            peak,
            anonymous,
            load.sync_seconds.map(seconds).unwrap_or_default(),
            megabytes(load.disk_bytes),
            format!("{:.1}", ratio(load.disk_bytes as f64, load.quads as f64)),
            if expected == Some(load.quads) {
                quads
            } else {
                format!("**{quads}**")
            },
        ]);
    }
    table
}

/// The raw figures.
fn every_run(rows: &[Row]) -> Table {
    let mut table = Table::new(&[
        "system",
        "run",
        "wall s",
        "CPU s",
        "peak MB",
        "anonymous MB",
        "sync s",
        "disk bytes",
        "quads",
    ]);
    for row in rows {
        for (index, load) in row.loads().iter().enumerate() {
            let [cpu, peak, anonymous] = usage_cells(load);
            table.add(vec![
                row.system.label(),
                (index + 1).to_string(),
                format!("{:.3}", load.measured.wall_seconds),
                cpu,
                peak,
                anonymous,
                load.sync_seconds.map(seconds).unwrap_or_default(),
                load.disk_bytes.to_string(),
                load.quads.to_string(),
            ]);
        }
    }
    table
}

/// CPU time, peak memory and anonymous memory, empty where the system does not tell.
fn usage_cells(load: &Load) -> [String; 3] {
    match load.measured.usage {
        Some(usage) => [
            seconds(usage.cpu_seconds),
            megabytes(usage.peak_bytes),
            megabytes(usage.anonymous_bytes),
        ],
        None => [String::new(), String::new(), String::new()],
    }
}

/// The command of each system.
fn commands(comparison: &Comparison, rows: &[Row]) -> String {
    let mut text = String::new();
    for row in rows {
        if let Some(load) = row.loads().first() {
            let command = comparison.shorten(&load.measured.command);
            text.push_str(&format!("- {}: `{command}`\n", row.system.label()));
        }
    }
    text
}

/// What is not as it should be: failures, and counts that differ.
fn flaws(rows: &[Row], expected: Option<u64>) -> Vec<String> {
    let mut flaws = Vec::new();
    for row in rows {
        let label = row.system.label();
        if let Outcome::Failed(error) = &row.outcome {
            flaws.push(format!("{label} failed: {error}"));
        }
        let mut different: Vec<u64> = row.loads().iter().map(|load| load.quads).collect();
        different.retain(|&quads| Some(quads) != expected);
        different.dedup();
        for quads in different {
            let expected = expected.map_or_else(|| "none".to_owned(), thousands);
            flaws.push(format!(
                "{label} counts {} quads, not {expected}",
                thousands(quads)
            ));
        }
    }
    flaws
}

#[cfg(test)]
mod tests {
    use super::super::work_folder::WorkFolder;
    use super::*;
    use std::path::Path;
    use std::time::Duration;

    /// A system that is only its name.
    struct Named(&'static str);

    impl System for Named {
        fn label(&self) -> String {
            self.0.to_owned()
        }
        fn durable(&self) -> &'static str {
            "nothing"
        }
        fn prepare(&mut self, _: &WorkFolder) -> Result<String, XtaskError> {
            Err(XtaskError::Reported)
        }
        fn refuses(&self, _: &Input) -> Option<&'static str> {
            None
        }
        fn load(&self, _: &Input, _: &Path, _: Duration) -> Result<Measured, XtaskError> {
            Err(XtaskError::Reported)
        }
        fn count(&self, _: &Path) -> Result<u64, XtaskError> {
            Err(XtaskError::Reported)
        }
    }

    fn loads(figures: &[(f64, u64)]) -> Outcome {
        let load = |&(wall_seconds, quads): &(f64, u64)| Load {
            measured: Measured {
                wall_seconds,
                usage: None,
                command: "load FILE".to_owned(),
            },
            sync_seconds: Some(0.5),
            disk_bytes: 2_000,
            quads,
        };
        Outcome::Loads(figures.iter().map(load).collect())
    }

    #[test]
    fn the_summary_has_medians_reasons_and_marks() {
        let (basalt, slow, odd, old) = (
            Named("Basalt"),
            Named("Slow"),
            Named("Odd"),
            Named("Old store"),
        );
        let row = |system, outcome| Row { system, outcome };
        let rows = [
            row(
                &basalt as &dyn System,
                loads(&[(2.0, 100), (1.0, 100), (9.0, 100)]),
            ),
            row(&slow, loads(&[(5.0, 100)])),
            row(&odd, loads(&[(4.0, 99)])),
            row(&old, Outcome::Refused("does not read it")),
        ];
        let expected = Some(100);
        let table = summary(&rows, expected).markdown();
        let lines: Vec<&str> = table.lines().skip(2).collect();
        assert_eq!(
            lines,
            [
                "| Basalt | 2.00 | 1.0 | 50 |  |  |  | 0.50 | 0.0 | 20.0 | 100 |",
                "| Slow | 5.00 | 2.5 | 20 |  |  |  | 0.50 | 0.0 | 20.0 | 100 |",
                "| Odd | 4.00 | 2.0 | 25 |  |  |  | 0.50 | 0.0 | 20.2 | **99** |",
                "| Old store | does not read it |  |  |  |  |  |  |  |  |  |",
            ]
        );
        assert_eq!(flaws(&rows, expected), ["Odd counts 99 quads, not 100"]);
        assert_eq!(every_run(&rows).markdown().lines().count(), 2 + 5);
        assert_eq!(folder_name("Virtuoso, 2 loaders"), "virtuoso-2-loaders");
    }

    #[test]
    fn a_failure_is_a_flaw() {
        let system = Named("Broken");
        let rows = [Row {
            system: &system,
            outcome: Outcome::Failed("no space".to_owned()),
        }];
        assert_eq!(flaws(&rows, None), ["Broken failed: no space"]);
        assert!(summary(&rows, None).markdown().contains("failed: no space"));
    }
}
