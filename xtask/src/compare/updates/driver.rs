//! The project's own driver, with updates and without, and what its report says of the updates.
//!
//! Alone and beside updates the same questions are asked: the mix is `explore-and-update` both times,
//! and alone its two updates are left out, which changes no parameter of the queries.
//!
//! Invariant: a report that lacks a figure is an error, never a zero.
//!
//! Cost: that of the questions.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::queries::driver::{has_options, wait};
use super::super::queries::figures::Figures;
use super::super::systems::basalt::Basalt;
use super::super::systems::endpoint::Served;
use super::super::systems::updatable::UpdateServer;
use super::super::work_folder::{WorkFolder, cannot};
use super::options::{Options, Setting};
use crate::error::XtaskError;

/// Options that the driver must have.
const NEEDED: [&str; 2] = ["--update-parameter", "--results-format"];
/// Numbers of the two updates in the mix; those of explore come after.
pub const INSERT: u64 = 1;
/// The other one.
pub const DELETE: u64 = 2;

/// The driver with what all its runs share.
pub struct Driver<'a> {
    program: Basalt,
    options: &'a Options,
    work: &'a WorkFolder,
    data: &'a Made,
}

/// What the generator made.
pub struct Made {
    /// The triples to load.
    pub triples: PathBuf,
    /// The transactions.
    pub update_file: PathBuf,
    /// What parameters are drawn from.
    pub parameters: PathBuf,
}

/// What the driver says of its updates.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Updates {
    /// Triples of confirmed inserts.
    pub inserted_triples: u64,
    /// Confirmed deletes of an offer that was in the store then.
    pub deletes_that_hit: u64,
    /// Different offers of confirmed deletes.
    pub offers_deleted: u64,
    /// Offers that were inserted and deleted; with several clients it depends on who came first
    /// what is left of them.
    pub contested: Vec<String>,
    /// Subjects that are not as confirmed updates leave them, the first one in words.
    pub wrong: Option<String>,
}

impl<'a> Driver<'a> {
    /// Takes the driver of a program, if it has all that is needed.
    pub fn new(
        program: Basalt,
        options: &'a Options,
        work: &'a WorkFolder,
        data: &'a Made,
    ) -> Result<Self, XtaskError> {
        has_options(&program, &NEEDED)?;
        Ok(Self {
            program,
            options,
            work,
            data,
        })
    }

    /// Asks a server the queries alone.
    pub fn alone(
        &self,
        name: &str,
        served: &Served,
        setting: Setting,
    ) -> Result<Figures, XtaskError> {
        let mut command = self.ask(served, setting);
        command.args(["--ignore", &format!("{INSERT},{DELETE}")]);
        let report = self.report(name, "alone", setting)?;
        command.arg("--report").arg(&report);
        wait(&mut command, &report, self.work)?;
        Figures::read(&report)
    }

    /// Asks a server the queries, and sends it the updates.
    pub fn beside(
        &self,
        name: &str,
        server: &UpdateServer,
        setting: Setting,
    ) -> Result<(Figures, Updates), XtaskError> {
        let mut command = self.ask(&server.served, setting);
        command.args(["--update-endpoint", &server.update_url]);
        for (field, value) in &server.parameters {
            command.args(["--update-parameter", &format!("{field}={value}")]);
        }
        let report = self.report(name, "beside", setting)?;
        command.arg("--report").arg(&report);
        wait(&mut command, &report, self.work)?;
        Ok((Figures::read(&report)?, Updates::read(&report)?))
    }

    /// What is asked, as a command line that tells nothing of this machine.
    pub fn command_line(&self, setting: Setting) -> String {
        format!(
            "basalt bsbm run --use-case explore-and-update --clients {} --warmup {} --runs {} --timeout {}s",
            setting.clients,
            self.options.warmup,
            self.options.runs,
            self.options.timeout.as_secs()
        )
    }

    fn ask(&self, served: &Served, setting: Setting) -> std::process::Command {
        let options = self.options;
        let mut command = self.program.driver();
        command.args(["run", "--use-case", "explore-and-update"]);
        command.args(["--endpoint", &served.url, "--results-format", "json"]);
        command.arg("--data-dir").arg(&self.data.parameters);
        command.arg("--update-file").arg(&self.data.update_file);
        if let Some(graph) = served.default_graph {
            command.args(["--default-graph", graph]);
        }
        command.args(["--clients", &setting.clients.to_string()]);
        command.args(["--warmup", &options.warmup.to_string()]);
        command.args(["--runs", &options.runs.to_string()]);
        command
            .arg("--timeout")
            .arg(format!("{}s", options.timeout.as_secs()));
        command.args(["--durability", setting.commits.name()]);
        command
    }

    fn report(&self, name: &str, kind: &str, setting: Setting) -> Result<PathBuf, XtaskError> {
        let (clients, commits) = (setting.clients, setting.commits.name());
        let file = format!("updates-{kind}-{clients}-{commits}-{name}.json");
        self.work.answer(&file)
    }
}

impl Updates {
    /// Reads them from the report of a run.
    fn read(path: &Path) -> Result<Self, XtaskError> {
        let text = fs::read_to_string(path).map_err(|source| cannot("read", path, source))?;
        Self::of_text(&text).ok_or_else(|| XtaskError::Answer {
            command: path.display().to_string(),
            what: "it does not say what the updates did".to_owned(),
        })
    }

    fn of_text(text: &str) -> Option<Self> {
        let report: Value = serde_json::from_str(text).ok()?;
        let updates = report.get("updates")?;
        let count = |name: &str| updates[name].as_u64();
        let contested = updates["inserted_and_deleted"].as_array()?.iter();
        let first_wrong = updates["first_wrong"].as_str().unwrap_or("not said");
        let wrong = count("wrong")?;
        Some(Self {
            inserted_triples: count("inserted_triples")?,
            deletes_that_hit: count("deletes_that_hit")?,
            offers_deleted: count("offers_deleted")?,
            contested: contested
                .map(|offer| offer.as_str().map(str::to_owned))
                .collect::<Option<_>>()?,
            wrong: (wrong > 0).then(|| format!("{wrong} subjects, the first: {first_wrong}")),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_updates_did_is_read_whole_or_not_at_all() {
        let text = r#"{"updates": {"inserted_blocks": 2, "inserted_triples": 300, "deletes": 4,
            "deletes_that_hit": 3, "offers_deleted": 4, "inserted_and_deleted": ["http://o/1"],
            "verified": 9, "wrong": 0, "first_wrong": null}}"#;
        let updates = Updates::of_text(text).expect("it is whole");
        assert_eq!(
            (updates.inserted_triples, updates.deletes_that_hit),
            (300, 3)
        );
        assert_eq!((updates.offers_deleted, updates.wrong), (4, None));
        assert_eq!(updates.contested, ["http://o/1"]);
        let wrong = text.replace("\"wrong\": 0", "\"wrong\": 2");
        let wrong = wrong.replace("null", "\"<x> has 3\"");
        let wrong = Updates::of_text(&wrong).expect("it is whole").wrong;
        assert_eq!(wrong.as_deref(), Some("2 subjects, the first: <x> has 3"));
        for name in ["updates", "offers_deleted", "inserted_and_deleted", "wrong"] {
            let broken = text.replace(&format!("\"{name}\""), "\"other\"");
            assert_eq!(Updates::of_text(&broken), None, "{name}");
        }
    }
}
