//! Running the real binary in a folder of its own.

#![allow(dead_code, reason = "each test program uses its own part")]

pub mod server;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// What a run of the binary did.
#[derive(Debug)]
pub struct Outcome {
    /// The exit code.
    pub code: Option<i32>,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

/// A folder with files, and the binary run in it.
pub struct Place {
    folder: TempDir,
}

impl Place {
    /// An empty folder.
    pub fn new() -> Self {
        Self {
            folder: tempfile::tempdir().expect("a temporary folder"),
        }
    }

    /// The path of a name in the folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Writes a file.
    pub fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), content).expect("a file can be written");
    }

    /// Runs the binary with these arguments, split at spaces.
    pub fn run(&self, arguments: &str) -> Outcome {
        let list: Vec<&str> = arguments.split(' ').collect();
        self.run_list(&list, b"")
    }

    /// Runs the binary with these arguments and this standard input.
    pub fn run_list(&self, arguments: &[&str], input: &[u8]) -> Outcome {
        let mut child = command(self.folder.path())
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the binary starts");
        // The binary may end without reading its input.
        let _ = child
            .stdin
            .take()
            .expect("standard input is a pipe")
            .write_all(input);
        let Output {
            status,
            stdout,
            stderr,
        } = child.wait_with_output().expect("the binary ends");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("the output is UTF-8");
        Outcome {
            code: status.code(),
            out: text(stdout),
            err: text(stderr),
        }
    }

    /// Runs the binary, which must succeed, and gives its standard output.
    pub fn ok(&self, arguments: &str) -> String {
        let outcome = self.run(arguments);
        assert_eq!(outcome.code, Some(0), "{arguments}: {outcome:?}");
        outcome.out
    }

    /// The lines of a dump, sorted.
    pub fn dump(&self, store: &str) -> Vec<String> {
        let mut lines: Vec<String> = self
            .ok(&format!("dump --location {store}"))
            .lines()
            .map(str::to_owned)
            .collect();
        lines.sort();
        lines
    }
}

/// The binary, in a folder, without options from the environment.
pub fn command(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_basalt"));
    command.current_dir(folder);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("BASALT_") {
            command.env_remove(name);
        }
    }
    command
}
