//! Apache Jena's TDB2, loaded by its own `tdb2.tdbloader`. The archives come through
//! Maven, as it is configured on the machine.
//!
//! Cost: some 20 MB, once.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::super::Comparison;
use super::super::input::{Compression, Input};
use super::super::measure::{self, Measured};
use super::super::work_folder::cannot;
use super::{COUNT_QUADS, System, counted};
use crate::error::XtaskError;

/// The version that is compared: the last one that runs on Java 17.
const VERSION: &str = "5.6.0";
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

    fn prepare(&mut self, comparison: &Comparison) -> Result<String, XtaskError> {
        let java = java_version()?;
        self.archives = comparison.work.tool(&format!("jena-{VERSION}"), fetch)?;
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

/// Fetches Jena's commands with what they need.
fn fetch(folder: &Path) -> Result<(), XtaskError> {
    let project = folder.join("pom.xml");
    let text = format!(
        "<project xmlns=\"http://maven.apache.org/POM/4.0.0\">
  <modelVersion>4.0.0</modelVersion>
  <groupId>compare</groupId><artifactId>compare</artifactId><version>1</version>
  <packaging>pom</packaging>
  <dependencies><dependency>
    <groupId>org.apache.jena</groupId><artifactId>jena-cmds</artifactId><version>{VERSION}</version>
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
