//! Two measurements of Basalt alone: loads of growing size through a pipe from the generator,
//! and ten loads into one store.
//!
//! Invariants: every store is counted by a new process; a count that is not what was generated
//! is a flaw.
//!
//! Cost: the loads. Nothing but the store is on disk in the first, so 100 million triples need
//! a few gigabytes; the second keeps ten files.

use std::process::{Command, Stdio};
use std::time::Instant;

use super::Comparison;
use super::measure::{self, Measured, Sampler, Usage};
use super::report::{Section, Table, median_index, megabytes, ratio, seconds, thousands};
use super::systems::System;
use super::work_folder::{read_through, remove};
use super::workload::{Workload, copy_to};
use crate::error::XtaskError;

/// Sizes of [`scale`], in millions of triples.
const MILLIONS: [u64; 4] = [1, 10, 25, 100];
/// Products that make a million triples, about.
const PRODUCTS_PER_MILLION: u64 = 2_848;
/// Loads of [`ten`].
const LOADS: u32 = 10;

/// A load from a pipe.
struct Piped {
    /// From the start of both programs until the load had ended.
    wall_seconds: f64,
    /// What the load used.
    load: Option<Usage>,
    /// What the generator used.
    generator: Option<Usage>,
    /// The bytes of the store.
    disk_bytes: u64,
    /// What a new process counted.
    quads: u64,
    /// Both command lines.
    command: String,
}

/// Loads of growing size from standard input, all sizes in each run.
pub fn scale(comparison: &Comparison) -> Result<Section, XtaskError> {
    let millions_max = comparison.options.millions_max;
    let sizes = MILLIONS
        .iter()
        .filter(|&&millions| millions <= millions_max);
    let mut series: Vec<(u64, Vec<Piped>)> = sizes.map(|&millions| (millions, vec![])).collect();
    let mut flaws = Vec::new();
    for run in 1..=comparison.options.runs {
        for (millions, runs) in &mut series {
            match load_piped(comparison, *millions * PRODUCTS_PER_MILLION) {
                Ok(piped) => {
                    let wall = seconds(piped.wall_seconds);
                    eprintln!("compare: scale, {millions} million, run {run}: {wall} s");
                    runs.push(piped);
                }
                Err(error) => {
                    let error = comparison.shorten(&error.to_string());
                    flaws.push(format!("{millions} million, run {run}: {error}"));
                    break;
                }
            }
        }
    }
    let bound = match comparison.basalt.takes("--memory") {
        true => format!("The load may use `--memory {}`.", comparison.options.memory),
        false => "This version's load has no `--memory`: it takes what it needs.".to_owned(),
    };
    let (table, commands) = scale_table(comparison, &series);
    Ok(Section {
        title: format!("scale: {}", Workload::Scale.about(comparison)),
        text: format!(
            "Loads from standard input, the generator on the same cores; a row is the median run by wall time. {bound}\n\n{}\nCommands:\n\n{commands}",
            table.markdown()
        ),
        flaws,
    })
}

/// The table of [`scale`], and the commands of its rows.
fn scale_table(comparison: &Comparison, series: &[(u64, Vec<Piped>)]) -> (Table, String) {
    let mut table = Table::new(&[
        "million triples",
        "quads",
        "median wall s",
        "every run",
        "quads/s",
        "load CPU s",
        "generator CPU s",
        "peak MB",
        "anonymous MB",
        "disk MB",
        "bytes/quad",
    ]);
    let mut commands = String::new();
    for (millions, runs) in series.iter().filter(|(_, runs)| !runs.is_empty()) {
        let walls: Vec<f64> = runs.iter().map(|run| run.wall_seconds).collect();
        let piped = &runs[median_index(&walls)];
        let walls: Vec<String> = walls.iter().map(|&wall| seconds(wall)).collect();
        let cpu = |usage: Option<Usage>| usage.map(|usage| seconds(usage.cpu_seconds));
        let memory = piped.load.unwrap_or_default();
        table.add(vec![
            millions.to_string(),
            thousands(piped.quads),
            seconds(piped.wall_seconds),
            walls.join(" "),
            thousands(ratio(piped.quads as f64, piped.wall_seconds).round() as u64),
            cpu(piped.load).unwrap_or_default(),
            cpu(piped.generator).unwrap_or_default(),
            megabytes(memory.peak_bytes),
            megabytes(memory.anonymous_bytes),
            megabytes(piped.disk_bytes),
            format!("{:.1}", ratio(piped.disk_bytes as f64, piped.quads as f64)),
        ]);
        commands.push_str(&format!("- `{}`\n", comparison.shorten(&piped.command)));
    }
    (table, commands)
}

/// Loads what the generator prints.
fn load_piped(comparison: &Comparison, products: u64) -> Result<Piped, XtaskError> {
    let basalt = &comparison.basalt;
    let time_max = comparison.options.time_max;
    let folder = comparison.work.store("basalt-scale")?;
    let log = folder.join("log");
    measure::seconds_to_sync(&folder);

    let mut generate = basalt.generate(products, "-".as_ref());
    generate
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(measure::open_log(&log)?);
    let mut load = basalt.load_command(&folder);
    load.args(["--format", "nt"]);
    if basalt.takes("--memory") {
        load.args(["--memory", &comparison.options.memory]);
    }
    load.arg("-");
    load.stdout(measure::open_log(&log)?)
        .stderr(measure::open_log(&log)?);

    let started = Instant::now();
    let mut generator = measure::spawn(&mut generate)?;
    if let Some(pipe) = generator.stdout.take() {
        load.stdin(pipe);
    }
    let generator_sampler = Sampler::start(generator.id());
    let mut loader = measure::spawn(&mut load)?;
    let load_sampler = Sampler::start(loader.id());
    let status = measure::wait(&mut loader, started, time_max)?;
    let wall_seconds = started.elapsed().as_secs_f64();
    let (load_usage, generator_usage) = (load_sampler.finish(), generator_sampler.finish());
    let command = format!(
        "{} | {}",
        measure::command_line(&generate),
        measure::command_line(&load)
    );
    // Our end of the pipe goes with the command: a generator whose reader failed would
    // wait for ever.
    let failed = measure::succeeded(&load, status, &log);
    drop(load);
    let generated = measure::wait(&mut generator, started, time_max)?;
    failed?;
    measure::succeeded(&generate, generated, &log)?;

    let disk_bytes = basalt.size(&folder)?;
    let quads = basalt.count(&folder)?;
    remove(&folder)?;
    Ok(Piped {
        wall_seconds,
        load: load_usage,
        generator: generator_usage,
        disk_bytes,
        quads,
        command,
    })
}

/// A load into a store that may hold something already.
struct Addition {
    /// How it ran.
    measured: Measured,
    /// What a new process counted afterwards.
    quads: u64,
    /// The bytes of the store afterwards.
    disk_bytes: u64,
}

/// Ten loads into one store: the same kinds of things, always others.
pub fn ten(comparison: &Comparison) -> Result<Section, XtaskError> {
    let files = copies(comparison)?;
    let mut series: Vec<Vec<Addition>> = Vec::new();
    for run in 1..=comparison.options.runs {
        let folder = comparison.work.store("basalt-ten")?;
        let mut additions = Vec::new();
        for file in &files {
            read_through(file)?;
            additions.push(add(comparison, &folder, std::slice::from_ref(file))?);
        }
        let walls = additions
            .iter()
            .map(|addition| addition.measured.wall_seconds);
        eprintln!("compare: ten, run {run}: {} s in all", seconds(walls.sum()));
        remove(&folder)?;
        series.push(additions);
    }
    let folder = comparison.work.store("basalt-ten")?;
    let at_once = add(comparison, &folder, &files)?;
    remove(&folder)?;
    Ok(ten_section(comparison, &series, &at_once))
}

/// The ten files: data of a tenth of the products, generated from a seed of its own each, so
/// that texts differ, and with resources moved, since each seed numbers them from one.
fn copies(comparison: &Comparison) -> Result<Vec<std::path::PathBuf>, XtaskError> {
    let products = (comparison.options.products / u64::from(LOADS)).max(1);
    let mut files = Vec::new();
    for copy in 1..=LOADS {
        let name = format!("bsbm-{products}-seed-{copy}.nt");
        let file = comparison.work.data(&name, |path| {
            let unmoved = path.with_file_name("unmoved.nt");
            let mut command = comparison.basalt.generate(products, &unmoved);
            measure::output(command.arg("--seed").arg(copy.to_string()))?;
            copy_to(&unmoved, path, [copy])?;
            remove(&unmoved)
        })?;
        files.push(file);
    }
    Ok(files)
}

/// One load of files, counted.
fn add(
    comparison: &Comparison,
    folder: &std::path::Path,
    files: &[std::path::PathBuf],
) -> Result<Addition, XtaskError> {
    let basalt = &comparison.basalt;
    measure::seconds_to_sync(folder);
    let mut command: Command = basalt.load_command(folder);
    command.args(files);
    let time_max = comparison.options.time_max;
    let measured = measure::run(&mut command, &folder.join("log"), time_max)?;
    Ok(Addition {
        measured,
        quads: basalt.count(folder)?,
        disk_bytes: basalt.size(folder)?,
    })
}

/// The section for ten loads and for one of everything.
fn ten_section(comparison: &Comparison, series: &[Vec<Addition>], at_once: &Addition) -> Section {
    let mut table = Table::new(&[
        "load",
        "median wall s",
        "every run",
        "CPU s",
        "peak MB",
        "anonymous MB",
        "quads afterwards",
        "disk MB afterwards",
    ]);
    let mut medians = Vec::new();
    let mut flaws = Vec::new();
    for load in 0..LOADS as usize {
        let runs: Vec<&Addition> = series.iter().map(|additions| &additions[load]).collect();
        let walls: Vec<f64> = runs.iter().map(|run| run.measured.wall_seconds).collect();
        let middle = runs[median_index(&walls)];
        let walls: Vec<String> = walls.iter().map(|&wall| format!("{wall:.3}")).collect();
        medians.push(middle.measured.wall_seconds);
        table.add(addition_row(
            (load + 1).to_string(),
            middle,
            walls.join(" "),
        ));
    }
    let wall = format!("{:.3}", at_once.measured.wall_seconds);
    table.add(addition_row("all in one load".to_owned(), at_once, wall));
    for (index, additions) in series.iter().enumerate() {
        let quads = additions.last().map_or(0, |last| last.quads);
        if quads != at_once.quads {
            flaws.push(format!(
                "run {}: {} quads after ten loads, {} after one of everything",
                index + 1,
                thousands(quads),
                thousands(at_once.quads)
            ));
        }
    }
    let last = medians.last().copied().unwrap_or_default();
    let text = format!(
        "Ten BSBM data sets with texts and resources of their own, the same predicates and classes; each is loaded into the store that has those before. The last load takes {:.2} times \
         as long as the first, the ten together {} s (medians).\n\n{}\nCommand: `{}`, the next file each time.",
        ratio(last, medians[0]),
        seconds(medians.iter().sum()),
        table.markdown(),
        comparison.shorten(&series[0][0].measured.command)
    );
    Section {
        title: format!("ten: {}", Workload::Ten.about(comparison)),
        text,
        flaws,
    }
}

/// A row of the table of [`ten_section`].
fn addition_row(name: String, addition: &Addition, walls: String) -> Vec<String> {
    let usage = addition.measured.usage.unwrap_or_default();
    vec![
        name,
        seconds(addition.measured.wall_seconds),
        walls,
        seconds(usage.cpu_seconds),
        megabytes(usage.peak_bytes),
        megabytes(usage.anonymous_bytes),
        thousands(addition.quads),
        megabytes(addition.disk_bytes),
    ]
}
