//! DuckDB, which is no store of triples: the BI queries in SQL over tables that a person would make
//! for the data. It comes from the Python package index; the tables are made of what Basalt says
//! is in its store, the questions are those that Basalt was asked.
//!
//! Invariants: the database is in `store/` of the folder that it is given; answers are written in
//! the form of the driver's recordings, so that they are compared as those of any store are.
//!
//! Cost: a package of 24 MB, once; the tables of ten million triples take some seconds.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use super::super::measure::{self, Measured};
use super::super::work_folder::{WorkFolder, cannot, remove};
use super::basalt::Basalt;
use crate::error::XtaskError;

/// The version that is compared.
const VERSION: &str = "2.0.0";
/// Makes the tables and asks the questions.
const SCRIPT: &str = include_str!("duckdb_bi.py");

/// The CSV files that the tables are made of, each with the question that it answers. Types of
/// products are there for every level: the data has them.
const EXPORTS: [(&str, &str); 8] = [
    (
        "product",
        "SELECT ?product ?producer { ?product a bsbm:Product ; bsbm:producer ?producer }",
    ),
    (
        "product_type",
        "SELECT ?product ?type { ?type a bsbm:ProductType . ?product a ?type . ?product a bsbm:Product }",
    ),
    (
        "product_feature",
        "SELECT ?product ?feature { ?product bsbm:productFeature ?feature }",
    ),
    (
        "producer",
        "SELECT ?producer ?country { ?producer a bsbm:Producer ; bsbm:country ?country }",
    ),
    (
        "vendor",
        "SELECT ?vendor ?country { ?vendor a bsbm:Vendor ; bsbm:country ?country }",
    ),
    (
        "person",
        "SELECT ?person ?country { ?person a foaf:Person ; bsbm:country ?country }",
    ),
    (
        "offer",
        "SELECT ?product ?vendor ?price { ?offer bsbm:product ?product ; bsbm:vendor ?vendor ; bsbm:price ?price }",
    ),
    (
        "review",
        "SELECT ?product ?person ?date ?r1 ?r2 ?r3 ?r4 { \
         ?review bsbm:reviewFor ?product ; rev:reviewer ?person ; dc:date ?date \
         OPTIONAL { ?review bsbm:rating1 ?r1 } OPTIONAL { ?review bsbm:rating2 ?r2 } \
         OPTIONAL { ?review bsbm:rating3 ?r3 } OPTIONAL { ?review bsbm:rating4 ?r4 } }",
    ),
];

/// Prefixes of the questions.
const PREFIXES: &str = "\
PREFIX bsbm: <http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/vocabulary/>
PREFIX rev: <http://purl.org/stuff/rev#>
PREFIX dc: <http://purl.org/dc/elements/1.1/>
PREFIX foaf: <http://xmlns.com/foaf/0.1/>
";

/// The program that runs SQL.
pub struct DuckDb {
    /// The folder of the package with the script.
    folder: PathBuf,
}

impl DuckDb {
    /// Its name in tables.
    pub const NAME: &str = "DuckDB SQL";

    /// How it is run, in words.
    pub const SETTINGS: &str = "in process from Python, hand-made tables with integer keys, no HTTP and no IRIs in the clock";

    /// What tells the tables from those that another script makes.
    pub fn fingerprint() -> String {
        let sum = SCRIPT
            .bytes()
            .chain(EXPORTS.iter().flat_map(|(_, text)| text.bytes()));
        // FNV-1a: enough to see that something was changed.
        let hash = sum.fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        format!("made by {hash:016x}\n")
    }

    /// Fetches it unless it is there; says the version.
    pub fn prepare(work: &WorkFolder) -> Result<(Self, String), XtaskError> {
        let folder = work.tool(&format!("duckdb-{VERSION}"), |folder| {
            let mut command = Command::new("python3");
            command.args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"]);
            command.arg(folder).arg(format!("duckdb=={VERSION}"));
            measure::output(&mut command).map(drop)
        })?;
        let script = folder.join("bi.py");
        fs::write(&script, SCRIPT).map_err(|source| cannot("write", &script, source))?;
        let mut command = Command::new("python3");
        command.env("PYTHONPATH", &folder);
        command.args([
            "-c",
            "import duckdb, sys; print(duckdb.__version__, 'with Python', sys.version.split()[0])",
        ]);
        let version = measure::output(&mut command)?;
        Ok((Self { folder }, format!("DuckDB {}", version.trim())))
    }

    /// Makes the tables from the store of Basalt that is in a folder; only DuckDB's own part is
    /// measured.
    pub fn load(
        &self,
        basalt: &Basalt,
        basalt_folder: &Path,
        folder: &Path,
    ) -> Result<Measured, XtaskError> {
        let exported = folder.join("csv");
        for made in [&exported, &folder.join("store")] {
            fs::create_dir_all(made).map_err(|source| cannot("make", made, source))?;
        }
        for (name, question) in EXPORTS {
            let path = exported.join(name).with_extension("csv");
            let file = File::create(&path).map_err(|source| cannot("make", &path, source))?;
            let mut command = basalt.query(basalt_folder, &format!("{PREFIXES}{question}"));
            export(&mut command, file, &folder.join("log"))?;
        }
        let mut command = self.python();
        command.arg("build").arg(database(folder)).arg(&exported);
        let started = Instant::now();
        measure::output(&mut command)?;
        let wall_seconds = started.elapsed().as_secs_f64();
        remove(&exported)?;
        Ok(Measured {
            wall_seconds,
            usage: None,
            command: measure::command_line(&command),
        })
    }

    /// Asks the questions of a recording; writes the answers as another one, and a report.
    pub fn run(
        &self,
        folder: &Path,
        recording: &Path,
        threads: usize,
        answers: &Path,
        report: &Path,
    ) -> Result<(), XtaskError> {
        let mut command = self.python();
        command.arg("run").arg(database(folder)).arg(recording);
        command.arg(threads.to_string()).arg(answers).arg(report);
        measure::output(&mut command).map(drop)
    }

    /// Python with the script, so that it finds the package.
    fn python(&self) -> Command {
        let mut command = Command::new("python3");
        command.env("PYTHONPATH", &self.folder);
        command.arg(self.folder.join("bi.py"));
        command
    }
}

/// The file with the tables.
fn database(folder: &Path) -> PathBuf {
    folder.join("store/bi.duckdb")
}

/// Runs a command whose standard output becomes a file.
fn export(command: &mut Command, file: File, log: &Path) -> Result<(), XtaskError> {
    let messages = measure::open_log(log)?;
    command.stdin(Stdio::null()).stdout(file).stderr(messages);
    let mut child = measure::spawn(command)?;
    let status = child
        .wait()
        .map_err(|source| cannot("wait for", log, source))?;
    measure::succeeded(command, Some(status), log)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_table_of_the_script_is_exported_with_its_columns() {
        let tables = SCRIPT.split("TABLES = {").nth(1).expect("it has tables");
        let tables = tables.split("\n}").next().expect("they end");
        for (name, question) in EXPORTS {
            let after = tables.split(&format!("\"{name}\": (")).nth(1);
            let entry = after.expect("every export is a table");
            let keys = entry.split(']').next().expect("the keys are a list");
            let selected = question.split('{').next().expect("it has a pattern");
            for key in keys.split('"').skip(1).step_by(2) {
                assert!(selected.contains(&format!("?{key} ")), "{name}: {key}");
            }
        }
        assert_eq!(tables.matches("\": (").count(), EXPORTS.len());
    }
}
