//! Apache Jena's TDB2, loaded by its own `tdb2.tdbloader` and asked through Fuseki. The archives
//! come through Maven, as it is configured on the machine.
//!
//! Cost: some 20 MB, and 56 MB for Fuseki, once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::super::input::{Compression, Input};
use super::super::measure::{self, Measured};
use super::super::work_folder::{WorkFolder, cannot};
use super::endpoint::{Endpoint, Served, free_port};
use super::{COUNT_QUADS, System, counted};
use crate::error::XtaskError;

/// The version that is compared: the last one that runs on Java 17.
const VERSION: &str = "5.6.0";
/// The server with everything that it needs.
const SERVER: &str = "jena-fuseki-server";
/// Largest heap; most of what TDB2 uses is outside, in mapped files.
const HEAP: &str = "-Xmx4G";

/// The store with one of its loaders.
pub struct Jena {
    /// The loader's name.
    loader: &'static str,
    /// The folder with the archives; empty before it is prepared.
    archives: PathBuf,
}

impl Jena {
    /// With the loader of that name.
    pub fn with_loader(loader: &'static str) -> Self {
        Self {
            loader,
            archives: PathBuf::new(),
        }
    }

    /// Java with one of Jena's commands.
    fn java(&self, class: &str) -> Command {
        let mut command = Command::new("java");
        command
            .arg(HEAP)
            .arg("-cp")
            .arg(self.archives.join("*"))
            .arg(class);
        command
    }
}

impl System for Jena {
    fn label(&self) -> String {
        format!("Jena TDB2, {}", self.loader)
    }

    fn durable(&self) -> &'static str {
        "one transaction, committed and synced"
    }

    fn prepare(&mut self, work: &WorkFolder) -> Result<String, XtaskError> {
        let java = java_version()?;
        self.archives = work.tool(&format!("jena-{VERSION}"), |folder| {
            fetch(folder, "jena-cmds", Needs::Fetched)
        })?;
        Ok(format!("Apache Jena {VERSION}, {java}, {HEAP}"))
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
        let mut command = self.java("tdb2.tdbloader");
        command
            .arg(format!("--loader={}", self.loader))
            .arg("--loc");
        command.arg(folder.join("store")).arg(&input.path);
        measure::run(&mut command, &folder.join("log"), time_max)
    }

    fn count(&self, folder: &Path) -> Result<u64, XtaskError> {
        let mut command = self.java("tdb2.tdbquery");
        command.arg("--loc").arg(folder.join("store"));
        command.args(["--results=CSV", COUNT_QUADS]);
        counted("Jena", &measure::output(&mut command)?)
    }
}

/// The store with the server that answers over HTTP.
pub struct Fuseki {
    /// The store.
    jena: Jena,
    /// The server, which is one archive; empty before it is prepared.
    server: PathBuf,
}

impl Fuseki {
    /// Not prepared yet.
    pub fn new() -> Self {
        Self {
            jena: Jena::with_loader("phased"),
            server: PathBuf::new(),
        }
    }
}

impl System for Fuseki {
    fn label(&self) -> String {
        "Fuseki".to_owned()
    }

    fn durable(&self) -> &'static str {
        self.jena.durable()
    }

    fn prepare(&mut self, work: &WorkFolder) -> Result<String, XtaskError> {
        let version = self.jena.prepare(work)?;
        let folder = work.tool(&format!("fuseki-{VERSION}"), |folder| {
            fetch(folder, SERVER, Needs::Inside)
        })?;
        self.server = folder.join(format!("{SERVER}-{VERSION}.jar"));
        Ok(version)
    }

    fn refuses(&self, input: &Input) -> Option<&'static str> {
        self.jena.refuses(input)
    }

    fn load(
        &self,
        input: &Input,
        folder: &Path,
        time_max: Duration,
    ) -> Result<Measured, XtaskError> {
        self.jena.load(input, folder, time_max)
    }

    fn count(&self, folder: &Path) -> Result<u64, XtaskError> {
        self.jena.count(folder)
    }
}

impl Endpoint for Fuseki {
    fn name(&self) -> &'static str {
        "Fuseki"
    }

    fn settings(&self) -> &'static str {
        "heap 4 GB, `--timeout`, `--quiet`; loaded by `tdb2.tdbloader --loader=phased`"
    }

    fn serve(&self, folder: &Path, query_time_max: Duration) -> Result<Served, XtaskError> {
        let port = free_port()?;
        let mut command = Command::new("java");
        command.arg(HEAP).arg("-jar").arg(&self.server);
        command
            .args(["--quiet", "--localhost", &format!("--port={port}")])
            .arg(format!("--timeout={}", query_time_max.as_millis()))
            .arg(format!("--loc={}", folder.join("store").display()))
            .arg("/ds");
        // It may write files where it is started.
        command.current_dir(folder);
        let log = folder.join("server-log");
        let child = measure::start(&mut command, &log)?;
        Served::when_up(
            child,
            format!("http://127.0.0.1:{port}/ds/query"),
            None,
            &log,
        )
    }
}

/// Whether what an archive needs is fetched too.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Needs {
    /// With everything that it needs.
    Fetched,
    /// The archive holds all of it.
    Inside,
}

/// Fetches one of Jena's archives.
fn fetch(folder: &Path, archive: &str, needs: Needs) -> Result<(), XtaskError> {
    let exclusions = match needs {
        Needs::Fetched => "",
        Needs::Inside => {
            "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
        }
    };
    let project = folder.join("pom.xml");
    let text = format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\">
  <modelVersion>4.0.0</modelVersion>
  <groupId>compare</groupId><artifactId>compare</artifactId><version>1</version>
  <packaging>pom</packaging>
  <dependencies><dependency>
    <groupId>org.apache.jena</groupId><artifactId>{archive}</artifactId><version>{VERSION}</version>
    {exclusions}
  </dependency></dependencies>
</project>
"
    );
    fs::write(&project, text).map_err(|source| cannot("write", &project, source))?;
    let mut command = Command::new("mvn");
    command
        .args(["--quiet", "--batch-mode", "--file"])
        .arg(&project);
    command.args(["dependency:copy-dependencies", "-DincludeScope=runtime"]);
    command.arg(format!("-DoutputDirectory={}", folder.display()));
    measure::output(&mut command).map(drop)
}

/// Which Java there is: the first line that it prints, on standard error.
fn java_version() -> Result<String, XtaskError> {
    let mut command = Command::new("java");
    let output = command
        .arg("-version")
        .output()
        .map_err(|source| XtaskError::Io {
            operation: "start",
            path: PathBuf::from("java"),
            source,
        })?;
    let text = String::from_utf8_lossy(&output.stderr);
    Ok(text.lines().next().unwrap_or("Java").trim().to_owned())
}
