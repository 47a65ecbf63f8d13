//! The workspace on disk: its root folder, its files, its packages, and how to
//! start programs in it. Every command begins here.
//!
//! Invariant: programs run with the root as working folder, so that paths in
//! their output are relative to it wherever xtask was called from. Paths handed
//! out are relative to the root and use `/`.
//!
//! Cost: one `git ls-files` or one `cargo metadata --no-deps` per call, some
//! tens of milliseconds each.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::error::XtaskError;

/// The workspace that the current folder belongs to.
pub struct Workspace {
    /// The folder that holds the workspace's `Cargo.toml`.
    root: PathBuf,
}

impl Workspace {
    /// Finds the workspace by walking up from the current folder.
    pub fn find() -> Result<Self, XtaskError> {
        let start = std::env::current_dir().map_err(|source| XtaskError::Io {
            operation: "find",
            path: PathBuf::from("."),
            source,
        })?;
        let root = start
            .ancestors()
            .find(|folder| folder.join("xtask/Cargo.toml").is_file());
        match root {
            Some(root) => Ok(Self {
                root: root.to_path_buf(),
            }),
            None => Err(XtaskError::Usage {
                message: format!(
                    "`{}` is not inside a checkout of the project",
                    start.display()
                ),
            }),
        }
    }

    /// A workspace at a given folder, for tests.
    #[cfg(test)]
    pub fn at(root: PathBuf) -> Self {
        Self { root }
    }

    /// The absolute path of a file of the workspace.
    pub fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// A command for the cargo that runs xtask.
    pub fn cargo() -> Command {
        Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
    }

    /// Runs a command to its end, its output going where xtask's own goes.
    pub fn run(&self, command: &mut Command) -> Result<(), XtaskError> {
        let status = command
            .current_dir(&self.root)
            .status()
            .map_err(|source| cannot_start(command, source))?;
        if status.success() {
            Ok(())
        } else {
            Err(failed(command))
        }
    }

    /// Runs a command, shows what it prints on either stream at once, and hands
    /// each line (without its end) to `line`.
    ///
    /// Both streams share one pipe, so the lines come in the order written.
    pub fn run_watched(
        &self,
        mut command: Command,
        mut line: impl FnMut(&str),
    ) -> Result<(), XtaskError> {
        let started = io::pipe().and_then(|(reader, writer)| {
            command.current_dir(&self.root);
            command.stdout(writer.try_clone()?).stderr(writer);
            Ok((command.spawn()?, reader))
        });
        let (mut child, reader) = started.map_err(|source| cannot_start(&command, source))?;
        // The command keeps our copies of the pipe's writing end: the lines would
        // never end while it lives.
        let program = PathBuf::from(command.get_program());
        let text = display(&command);
        drop(command);

        let watched = copy_lines(reader, &mut line);
        let status = child.wait();
        match (watched, status) {
            (Ok(()), Ok(status)) if status.success() => Ok(()),
            (Ok(()), Ok(_)) => Err(XtaskError::Command { command: text }),
            (Err(source), _) | (_, Err(source)) => Err(XtaskError::Io {
                operation: "watch",
                path: program,
                source,
            }),
        }
    }

    /// Every file under version control or about to be (not ignored), sorted.
    ///
    /// Outside a git checkout (a source archive), every file that is not below a
    /// `target` folder.
    pub fn files(&self) -> Result<Vec<String>, XtaskError> {
        let listed = Command::new("git")
            .args([
                "ls-files",
                "-z",
                "--cached",
                "--others",
                "--exclude-standard",
            ])
            .current_dir(&self.root)
            .output();
        let mut files = match listed {
            Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout)
                .split('\0')
                .filter(|path| !path.is_empty())
                .map(str::to_owned)
                .collect(),
            _ => {
                let mut found = Vec::new();
                self.walk("", &mut found)?;
                found
            }
        };
        // A file removed from the folder but not yet from the index.
        files.retain(|path: &String| self.path(path).is_file());
        files.sort_unstable();
        files.dedup();
        Ok(files)
    }

    /// Adds every file below a folder to `found`.
    fn walk(&self, folder: &str, found: &mut Vec<String>) -> Result<(), XtaskError> {
        let cannot_read = |source| XtaskError::Io {
            operation: "read",
            path: self.path(folder),
            source,
        };
        for entry in fs::read_dir(self.path(folder)).map_err(cannot_read)? {
            let entry = entry.map_err(cannot_read)?;
            let name = entry.file_name().to_string_lossy().into_owned();
            let path = if folder.is_empty() {
                name.clone()
            } else {
                format!("{folder}/{name}")
            };
            let kind = entry.file_type().map_err(cannot_read)?;
            if kind.is_dir() && name != "target" && name != ".git" {
                self.walk(&path, found)?;
            } else if kind.is_file() {
                found.push(path);
            }
        }
        Ok(())
    }

    /// The text of a file, or `None` if it is not text.
    pub fn text(&self, relative: &str) -> Result<Option<String>, XtaskError> {
        let bytes = fs::read(self.path(relative)).map_err(|source| XtaskError::Io {
            operation: "read",
            path: self.path(relative),
            source,
        })?;
        Ok(String::from_utf8(bytes)
            .ok()
            .filter(|text| !text.contains('\0')))
    }

    /// The packages of the workspace as `cargo metadata` describes them.
    pub fn packages(&self) -> Result<Vec<Value>, XtaskError> {
        let mut command = Self::cargo();
        command
            .args(["metadata", "--no-deps", "--format-version", "1"])
            .current_dir(&self.root);
        let output = command
            .output()
            .map_err(|source| cannot_start(&command, source))?;
        if !output.status.success() {
            eprint!("{}", String::from_utf8_lossy(&output.stderr));
            return Err(failed(&command));
        }
        let answer: Value =
            serde_json::from_slice(&output.stdout).map_err(|error| XtaskError::Answer {
                command: display(&command),
                what: error.to_string(),
            })?;
        match answer.get("packages").and_then(Value::as_array) {
            Some(packages) => Ok(packages.clone()),
            None => Err(XtaskError::Answer {
                command: display(&command),
                what: "no list `packages`".to_owned(),
            }),
        }
    }

    /// A path relative to the root, if it is inside.
    pub fn relative(&self, path: &str) -> Option<String> {
        let inside = Path::new(path).strip_prefix(&self.root).ok()?;
        Some(inside.to_string_lossy().replace('\\', "/"))
    }
}

/// Prints every line of `reader` and hands it to `line`.
fn copy_lines(reader: impl io::Read, line: &mut impl FnMut(&str)) -> io::Result<()> {
    let mut reader = BufReader::new(reader);
    let mut bytes = Vec::new();
    let mut screen = io::stdout();
    // Termination: each turn consumes at least one byte or ends.
    while reader.read_until(b'\n', &mut bytes)? > 0 {
        screen.write_all(&bytes)?;
        screen.flush()?;
        line(String::from_utf8_lossy(&bytes).trim_end_matches(['\n', '\r']));
        bytes.clear();
    }
    Ok(())
}

/// The command line as a person would type it.
fn display(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let mut text = program
        .file_name()
        .unwrap_or(command.get_program())
        .to_string_lossy()
        .into_owned();
    for argument in command.get_args() {
        text.push(' ');
        text.push_str(&argument.to_string_lossy());
    }
    text
}

fn cannot_start(command: &Command, source: io::Error) -> XtaskError {
    XtaskError::Io {
        operation: "start",
        path: PathBuf::from(command.get_program()),
        source,
    }
}

fn failed(command: &Command) -> XtaskError {
    XtaskError::Command {
        command: display(command),
    }
}
