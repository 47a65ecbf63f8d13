//! The project's own driver, as a child process: it measures a server, records its answers, and
//! holds recordings against each other.
//!
//! Invariants: the driver says nothing that is believed but what it wrote into files, and those
//! were not there before; questions depend on the use case and the number of mixes alone, so all
//! stores are asked the same.
//!
//! Cost: that of the questions.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use serde_json::Value;

use super::super::measure;
use super::super::systems::basalt::Basalt;
use super::super::systems::endpoint::Served;
use super::super::work_folder::{WorkFolder, cannot};
use super::agreement::Qualification;
use super::figures::Figures;
use super::options::{Options, Setting, UseCase};
use crate::error::XtaskError;

/// Pause after a timeout, for stores that go on working for a client that has gone.
const TIMEOUT_PAUSE: &str = "2s";
/// Options that the driver must have.
const NEEDED: [&str; 4] = ["--give-up", "--given-up", "--results-format", "--wording"];

/// The driver with what all its runs share.
pub struct Driver<'a> {
    /// The program that holds it.
    program: Basalt,
    /// What was asked for.
    options: &'a Options,
    /// Where it writes.
    work: &'a WorkFolder,
    /// The folder with the parameters of the data.
    parameters: PathBuf,
}

/// A query, with the level of its product type if it has one, that did not end in time: as the
/// driver writes it.
pub type Question = String;

impl<'a> Driver<'a> {
    /// Takes the driver of a program, if it has all that is needed.
    pub fn new(
        program: Basalt,
        options: &'a Options,
        work: &'a WorkFolder,
        parameters: PathBuf,
    ) -> Result<Self, XtaskError> {
        has_options(&program, &NEEDED)?;
        Ok(Self {
            program,
            options,
            work,
            parameters,
        })
    }

    /// Runs a use case against a server and measures it.
    pub fn run(
        &self,
        name: &str,
        served: &Served,
        use_case: UseCase,
        setting: Setting,
        given_up: &[Question],
    ) -> Result<Figures, XtaskError> {
        let amount = self.options.amount(use_case);
        let file = format!(
            "{}-{}-{}-{name}.json",
            use_case.name(),
            setting.clients,
            setting.format
        );
        let report = self.work.answer(&file)?;
        let mut command = self.ask("run", served, use_case, setting.format, given_up);
        command.arg("--clients").arg(setting.clients.to_string());
        command.arg("--warmup").arg(amount.warmup.to_string());
        command.arg("--runs").arg(amount.runs.to_string());
        command.arg("--report").arg(&report);
        wait(&mut command, &report, self.work)?;
        Figures::read(&report)
    }

    /// Records the answers of a server to the queries that are not left out.
    pub fn record(
        &self,
        name: &str,
        served: &Served,
        use_case: UseCase,
        left_out: &[u64],
    ) -> Result<PathBuf, XtaskError> {
        let recording = self
            .work
            .answer(&format!("{}-{name}.jsonl", use_case.name()))?;
        let mut command = self.ask("qualify", served, use_case, "json", &[]);
        let mixes = self.options.amount(use_case).runs;
        command.arg("--mixes").arg(mixes.to_string());
        if !left_out.is_empty() {
            let numbers: Vec<String> = left_out.iter().map(u64::to_string).collect();
            command.arg("--ignore").arg(numbers.join(","));
        }
        command.arg("--record").arg(&recording);
        wait(&mut command, &recording, self.work)?;
        Ok(recording)
    }

    /// Holds a recording against a trusted one.
    pub fn qualify(
        &self,
        name: &str,
        use_case: UseCase,
        reference: &Path,
        tested: &Path,
    ) -> Result<Qualification, XtaskError> {
        let result = self
            .work
            .answer(&format!("{}-{name}-qualified.json", use_case.name()))?;
        let mut command = self.program.driver();
        command.arg("qualify").arg("--recorded").arg(tested);
        command.arg("--reference").arg(reference);
        command.arg("--report").arg(&result);
        wait(&mut command, &result, self.work)?;
        Qualification::read(&result)
    }

    /// What the questions are, as a command line that tells nothing of this machine.
    pub fn command_line(&self, use_case: UseCase) -> String {
        let amount = self.options.amount(use_case);
        let mut text = format!(
            "basalt bsbm run --use-case {} --warmup {} --runs {} --timeout {}s --give-up {} --timeout-pause {TIMEOUT_PAUSE} --wording {}",
            use_case.name(),
            amount.warmup,
            amount.runs,
            self.options.timeout.as_secs(),
            self.options.give_up,
            self.options.wording
        );
        if use_case == UseCase::Bi {
            text.push_str(" --drill-down 0");
        }
        text
    }

    /// The command that asks a server.
    fn ask(
        &self,
        subcommand: &str,
        served: &Served,
        use_case: UseCase,
        format: &str,
        given_up: &[Question],
    ) -> Command {
        let options = self.options;
        let mut command = self.program.driver();
        command.args([subcommand, "--use-case", use_case.name()]);
        command.args(["--endpoint", &served.url, "--results-format", format]);
        command.arg("--data-dir").arg(&self.parameters);
        command
            .arg("--timeout")
            .arg(format!("{}s", options.timeout.as_secs()));
        command.arg("--give-up").arg(options.give_up.to_string());
        command.args([
            "--timeout-pause",
            TIMEOUT_PAUSE,
            "--wording",
            options.wording,
        ]);
        if let Some(graph) = served.default_graph {
            command.args(["--default-graph", graph]);
        }
        if use_case == UseCase::Bi {
            command.args(["--drill-down", "0"]);
        }
        if !given_up.is_empty() {
            command.arg("--given-up").arg(given_up.join(","));
        }
        command
    }
}

/// Runs a command of the driver to its end. It fails if answers are wrong or missing, which is no
/// failure here as long as it has written its file.
pub fn wait(command: &mut Command, file: &Path, work: &WorkFolder) -> Result<(), XtaskError> {
    let log = work.root().join("answers/log");
    let mut child = measure::start(command, &log)?;
    let started = Instant::now();
    let status = measure::wait(&mut child, started, super::DRIVER_MAX)?;
    match fs::metadata(file) {
        Ok(_) if status.is_some() => Ok(()),
        _ => measure::succeeded(command, status, &log).and(Err(XtaskError::Answer {
            command: measure::command_line(command),
            what: "it has not written its file".to_owned(),
        })),
    }
}

/// An error unless a program's driver has all options that are needed.
pub fn has_options(program: &Basalt, needed: &[&str]) -> Result<(), XtaskError> {
    let mut command = program.driver();
    let help = measure::output(command.args(["run", "--help"]))?;
    for option in needed {
        if !help.split_whitespace().any(|word| word == *option) {
            return Err(XtaskError::Usage {
                message: format!(
                    "the driver of the program given has no `{option}`: name a newer one with `--driver`"
                ),
            });
        }
    }
    Ok(())
}

/// The questions of a recording that ran out of time, each once.
pub fn timed_out(recording: &Path) -> Result<Vec<Question>, XtaskError> {
    let text = fs::read_to_string(recording).map_err(|source| cannot("read", recording, source))?;
    Ok(timed_out_in(&text))
}

/// The same in a text: its first line is about the run, each other one is an answer.
fn timed_out_in(text: &str) -> Vec<Question> {
    let mut found = Vec::new();
    for line in text.lines().skip(1) {
        // Most lines are long and without failure.
        if !line.contains("\"failed\"") {
            continue;
        }
        let answer: Value = serde_json::from_str(line).unwrap_or_default();
        let reason = answer["content"]["failed"].as_str().unwrap_or_default();
        let (Some(number), true) = (answer["number"].as_u64(), reason.contains("out of time"))
        else {
            continue;
        };
        let question = match answer["level"].as_u64() {
            Some(level) => format!("{number}@{level}"),
            None => number.to_string(),
        };
        if !found.contains(&question) {
            found.push(question);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_that_ran_out_of_time_are_named_once() {
        let text = r#"{"version":1,"mixes":2}
{"mix":0,"number":4,"level":0,"text":"","content":{"failed":"it ran out of time"}}
{"mix":0,"number":4,"level":1,"text":"","content":{"rows":{"variables":[],"rows":[]}}}
{"mix":0,"number":3,"text":"","content":{"failed":"it ran out of time"}}
{"mix":0,"number":5,"level":1,"text":"","content":{"failed":"status 500"}}
{"mix":1,"number":4,"level":0,"text":"","content":{"failed":"it was not tried, since such queries had run out of time"}}
"#;
        assert_eq!(timed_out_in(text), ["4@0", "3"]);
        assert_eq!(timed_out_in(""), [""; 0]);
    }
}
