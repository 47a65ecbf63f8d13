//! Oxigraph: its command line program, with one file or with several at once, and its Python
//! package. Both come from the Python package index through pip.
//!
//! Cost: two packages of some megabytes, once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::super::input::{Compression, Input, Syntax};
use super::super::measure::{self, Measured};
use super::super::work_folder::{WorkFolder, cannot};
use super::endpoint::{Endpoint, Served, free_port};
use super::{COUNT_QUADS, System, counted};
use crate::error::XtaskError;

/// The version that is compared, of both packages.
const VERSION: &str = "0.5.13";

/// Loads a file with the Python package. A compressed file goes through Python's own
/// reader, since the package takes a path for plain files only.
const LOAD_SCRIPT: &str = "\
import gzip, sys
from pyoxigraph import RdfFormat, Store
folder, path, syntax = sys.argv[1:]
form = getattr(RdfFormat, syntax)
store = Store(folder)
if path.endswith('.gz'):
    with gzip.open(path) as file:
        store.bulk_load(input=file, format=form)
else:
    store.bulk_load(path=path, format=form)
store.flush()
";

/// Counts with the Python package.
const COUNT_SCRIPT: &str = "\
import sys
from pyoxigraph import Store
for row in Store.read_only(sys.argv[1]).query(sys.argv[2]):
    print(row['c'].value)
";

/// The command line program.
pub struct Oxigraph {
    /// The program; empty before it is prepared.
    program: PathBuf,
    /// Whether it loads the parts of an input, which it does at once.
    several_files: Files,
}

/// What is given to the program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Files {
    /// The input as one file.
    One,
    /// The input in parts.
    Parts,
}

impl Oxigraph {
    /// Loads an input as one file.
    pub fn one_file() -> Self {
        Self {
            program: PathBuf::new(),
            several_files: Files::One,
        }
    }

    /// Loads the parts of an input at once.
    pub fn parts() -> Self {
        Self {
            several_files: Files::Parts,
            ..Self::one_file()
        }
    }
}

impl System for Oxigraph {
    fn label(&self) -> String {
        match self.several_files {
            Files::One => "Oxigraph".to_owned(),
            Files::Parts => "Oxigraph, two files".to_owned(),
        }
    }

    fn durable(&self) -> &'static str {
        "RocksDB ingests finished files; the program flushes before it ends"
    }

    fn prepare(&mut self, work: &WorkFolder) -> Result<String, XtaskError> {
        let folder = package(work, "oxigraph")?;
        self.program = folder.join("bin/oxigraph");
        let version = measure::output(Command::new(&self.program).arg("--version"))?;
        Ok(version.trim().to_owned())
    }

    fn refuses(&self, input: &Input) -> Option<&'static str> {
        match (input.compression, self.several_files) {
            (Compression::Zstandard, _) => Some("does not read Zstandard"),
            (_, Files::Parts) if input.parts.is_empty() => Some("the file is not cut in two"),
            _ => None,
        }
    }

    fn load(
        &self,
        input: &Input,
        folder: &Path,
        time_max: Duration,
    ) -> Result<Measured, XtaskError> {
        let mut command = Command::new(&self.program);
        command
            .args(["load", "--location"])
            .arg(folder.join("store"));
        command.arg("--file");
        match self.several_files {
            Files::One => command.arg(&input.path),
            Files::Parts => command.args(&input.parts),
        };
        measure::run(&mut command, &folder.join("log"), time_max)
    }

    fn count(&self, folder: &Path) -> Result<u64, XtaskError> {
        let mut command = Command::new(&self.program);
        command
            .args(["query", "--location"])
            .arg(folder.join("store"));
        command.args(["--results-format", "csv", "--query", COUNT_QUADS]);
        counted("Oxigraph", &measure::output(&mut command)?)
    }

    fn wants_parts(&self) -> bool {
        self.several_files == Files::Parts
    }
}

impl Endpoint for Oxigraph {
    fn name(&self) -> &'static str {
        "Oxigraph"
    }

    fn settings(&self) -> &'static str {
        "`oxigraph serve-read-only` with `--timeout-s`"
    }

    fn serve(&self, folder: &Path, query_time_max: Duration) -> Result<Served, XtaskError> {
        let address = format!("127.0.0.1:{}", free_port()?);
        let mut command = Command::new(&self.program);
        command
            .args(["serve-read-only", "--bind", &address, "--timeout-s"])
            .arg(query_time_max.as_secs().to_string())
            .arg("--location")
            .arg(folder.join("store"));
        let log = folder.join("server-log");
        let child = measure::start(&mut command, &log)?;
        Served::when_up(child, format!("http://{address}/query"), None, &log)
    }
}

/// The Python package.
pub struct Pyoxigraph {
    /// The folder of the package; empty before it is prepared.
    folder: PathBuf,
}

impl Pyoxigraph {
    /// Not prepared yet.
    pub fn new() -> Self {
        Self {
            folder: PathBuf::new(),
        }
    }

    /// Python with a script, so that it finds the package.
    fn python(&self, script: &Path) -> Command {
        let mut command = Command::new("python3");
        command.env("PYTHONPATH", &self.folder).arg(script);
        command
    }
}

impl System for Pyoxigraph {
    fn label(&self) -> String {
        "pyoxigraph".to_owned()
    }

    fn durable(&self) -> &'static str {
        "RocksDB ingests finished files; `Store.flush()`"
    }

    fn prepare(&mut self, work: &WorkFolder) -> Result<String, XtaskError> {
        self.folder = package(work, "pyoxigraph")?;
        for (name, script) in [("load.py", LOAD_SCRIPT), ("count.py", COUNT_SCRIPT)] {
            let path = self.folder.join(name);
            fs::write(&path, script).map_err(|source| cannot("write", &path, source))?;
        }
        let mut command = Command::new("python3");
        command.env("PYTHONPATH", &self.folder);
        command.args(["-c", "import pyoxigraph, sys; print(pyoxigraph.__version__, 'with Python', sys.version.split()[0])"]);
        Ok(format!(
            "pyoxigraph {}",
            measure::output(&mut command)?.trim()
        ))
    }

    fn refuses(&self, input: &Input) -> Option<&'static str> {
        (input.compression == Compression::Zstandard).then_some("does not read Zstandard")
    }

    fn load(
        &self,
        input: &Input,
        folder: &Path,
        time_max: Duration,
    ) -> Result<Measured, XtaskError> {
        let syntax = match input.syntax {
            Syntax::NTriples => "N_TRIPLES",
            Syntax::NQuads => "N_QUADS",
            Syntax::Turtle => "TURTLE",
        };
        let mut command = self.python(&self.folder.join("load.py"));
        command
            .arg(folder.join("store"))
            .arg(&input.path)
            .arg(syntax);
        measure::run(&mut command, &folder.join("log"), time_max)
    }

    fn count(&self, folder: &Path) -> Result<u64, XtaskError> {
        let mut command = self.python(&self.folder.join("count.py"));
        command.arg(folder.join("store")).arg(COUNT_QUADS);
        counted("pyoxigraph", &measure::output(&mut command)?)
    }
}

/// The folder of a package, fetched with pip if it is not there.
fn package(work: &WorkFolder, name: &str) -> Result<PathBuf, XtaskError> {
    work.tool(&format!("{name}-{VERSION}"), |folder| {
        let mut command = Command::new("python3");
        command.args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"]);
        command.arg(folder).arg(format!("{name}=={VERSION}"));
        measure::output(&mut command).map(drop)
    })
}
