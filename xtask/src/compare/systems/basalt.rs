//! Basalt itself: the program that is measured, and that makes the data.
//!
//! Cost: building the release, unless a program is given.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::super::input::Input;
use super::super::measure::{self, Measured};
use super::super::work_folder::WorkFolder;
use super::endpoint::{Endpoint, Served, free_port};
use super::updatable::{Commits, Updatable, UpdateServer};
use super::{COUNT_QUADS, System, counted};
use crate::error::XtaskError;
use crate::workspace::Workspace;

/// The program.
#[derive(Debug, Clone)]
pub struct Basalt {
    /// Its path.
    program: PathBuf,
    /// What it says it is, with the commit if it was built here.
    version: String,
    /// What its load command says it takes.
    load_help: String,
}

impl Basalt {
    /// Takes the program that is given, or builds it.
    pub fn find_or_build(workspace: &Workspace, given: Option<&Path>) -> Result<Self, XtaskError> {
        let (program, origin) = match given {
            Some(program) => (program.to_path_buf(), "as given".to_owned()),
            None => (build(workspace)?, commit(workspace)),
        };
        let version = measure::output(Command::new(&program).arg("--version"))?;
        let load_help = measure::output(Command::new(&program).args(["load", "--help"]))?;
        Ok(Self {
            program,
            version: format!("{}, {origin}", version.trim()),
            load_help,
        })
    }

    /// The command that generates benchmark data; a product makes about 355 triples.
    pub fn generate(&self, products: u64, output: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(["bsbm", "generate", "--forward-chaining", "--products"]);
        command
            .arg(products.to_string())
            .arg("--output")
            .arg(output);
        command
    }

    /// The command that converts a file to what the name of the output says.
    pub fn convert(&self, from: &Path, to: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("convert").arg(from).arg("--output").arg(to);
        command
    }

    /// The command that loads into the store of a folder, still without files.
    pub fn load_command(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(["load", "--location"])
            .arg(folder.join("store"));
        command
    }

    /// The command that runs the benchmark's driver, still without arguments.
    pub fn driver(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("bsbm");
        command
    }

    /// The command that asks the store of a folder, with the rows as CSV on standard output.
    pub fn query(&self, folder: &Path, text: &str) -> Command {
        let mut command = Command::new(&self.program);
        command
            .args(["query", "--location"])
            .arg(folder.join("store"));
        command.args(["--results-format", "csv", "--query", text]);
        command
    }

    /// Whether the load command has an option.
    pub fn takes(&self, option: &str) -> bool {
        let mut words = self.load_help.split_whitespace();
        words.any(|word| word == option)
    }
}

impl System for Basalt {
    fn label(&self) -> String {
        "Basalt".to_owned()
    }

    fn durable(&self) -> &'static str {
        "files are synced, then the manifest is renamed"
    }

    fn prepare(&mut self, _: &WorkFolder) -> Result<String, XtaskError> {
        Ok(self.version.clone())
    }

    fn refuses(&self, _: &Input) -> Option<&'static str> {
        None
    }

    fn load(
        &self,
        input: &Input,
        folder: &Path,
        time_max: Duration,
    ) -> Result<Measured, XtaskError> {
        let mut command = self.load_command(folder);
        command.arg(&input.path);
        measure::run(&mut command, &folder.join("log"), time_max)
    }

    fn count(&self, folder: &Path) -> Result<u64, XtaskError> {
        counted(
            "Basalt",
            &measure::output(&mut self.query(folder, COUNT_QUADS))?,
        )
    }
}

impl Endpoint for Basalt {
    fn name(&self) -> &'static str {
        "Basalt"
    }

    fn settings(&self) -> &'static str {
        "`basalt serve`, no settings"
    }

    fn fingerprint(&self) -> String {
        let metadata = std::fs::metadata(&self.program);
        let written = metadata
            .as_ref()
            .ok()
            .and_then(|known| known.modified().ok());
        let bytes = metadata.map_or(0, |known| known.len());
        format!("{bytes} bytes, {written:?}")
    }

    fn serve(&self, folder: &Path, query_time_max: Duration) -> Result<Served, XtaskError> {
        let address = format!("127.0.0.1:{}", free_port()?);
        self.serve_at(&address, folder, query_time_max, &[])
    }
}

impl Updatable for Basalt {
    fn serve_updates(
        &self,
        folder: &Path,
        query_time_max: Duration,
        commits: Commits,
    ) -> Result<UpdateServer, XtaskError> {
        let address = format!("127.0.0.1:{}", free_port()?);
        let durability = match commits {
            Commits::Synced => ["--durability", "always"],
            Commits::Written => ["--durability", "none"],
        };
        Ok(UpdateServer {
            served: self.serve_at(&address, folder, query_time_max, &durability)?,
            update_url: format!("http://{address}/update"),
            parameters: Vec::new(),
        })
    }

    fn by(&self, commits: Commits) -> &'static str {
        match commits {
            Commits::Synced => "its default: the log record is synced before the answer",
            Commits::Written => {
                "`--durability none`: the log record is written before the answer, not synced"
            }
        }
    }
}

impl Basalt {
    /// Serves the store of a folder at an address, with more options.
    fn serve_at(
        &self,
        address: &str,
        folder: &Path,
        query_time_max: Duration,
        options: &[&str],
    ) -> Result<Served, XtaskError> {
        let mut command = Command::new(&self.program);
        command
            .args(["serve", "--bind", address, "--timeout"])
            .arg(format!("{}s", query_time_max.as_secs()))
            .args(options)
            .arg("--location")
            .arg(folder.join("store"));
        let log = folder.join("server-log");
        let child = measure::start(&mut command, &log)?;
        Served::when_up(child, format!("http://{address}/query"), None, &log)
    }
}

/// Builds the release; the path of the program is in what cargo says about it.
fn build(workspace: &Workspace) -> Result<PathBuf, XtaskError> {
    let mut command = Workspace::cargo();
    command
        .current_dir(workspace.path(""))
        .args(["build", "--release", "--package", "basalt-cli"])
        .args(["--message-format", "json-render-diagnostics"])
        .stderr(std::process::Stdio::inherit());
    eprintln!("compare: building the release");
    let messages = measure::output(&mut command)?;
    executable(&messages).ok_or_else(|| XtaskError::Answer {
        command: measure::command_line(&command),
        what: "no message names an executable".to_owned(),
    })
}

/// The program in the messages of a build, which are JSON, one a line.
fn executable(messages: &str) -> Option<PathBuf> {
    let mut found = None;
    for line in messages.lines() {
        let message: Value = serde_json::from_str(line).unwrap_or_default();
        if let Some(path) = message["executable"].as_str() {
            found = Some(PathBuf::from(path));
        }
    }
    found
}

/// The commit of the checkout, with a mark if files differ from it.
fn commit(workspace: &Workspace) -> String {
    let mut command = Command::new("git");
    command.current_dir(workspace.path("")).args([
        "describe",
        "--always",
        "--dirty",
        "--exclude",
        "*",
    ]);
    match measure::output(&mut command) {
        Ok(name) => format!("commit {}", name.trim()),
        Err(_) => "built from source without version control".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_is_in_the_messages_of_the_build() {
        let messages = r#"{"reason":"compiler-artifact","executable":null}
{"reason":"compiler-artifact","executable":"/target/release/basalt"}
{"reason":"build-finished","success":true}
"#;
        let program = executable(messages).expect("there is one");
        assert_eq!(program, Path::new("/target/release/basalt"));
        assert_eq!(executable("not JSON\n"), None);
    }
}
