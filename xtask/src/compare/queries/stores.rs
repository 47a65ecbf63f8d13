//! Stores that are loaded once: a store of the same file, loaded by the same version, is used again.
//!
//! Invariants: a store is kept only after a new process has counted as many triples as the file
//! has for Basalt; no server runs while another store loads.
//!
//! Cost: the loads, the first time; some gigabytes of the work folder for ten million triples.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use super::super::input::Input;
use super::super::measure;
use super::super::report::seconds;
use super::super::systems::basalt::Basalt;
use super::super::systems::duckdb::DuckDb;
use super::super::systems::endpoint::Endpoint;
use super::super::work_folder::{WorkFolder, cannot};
use crate::error::XtaskError;

/// When a load is given up.
const LOAD_MAX: Duration = Duration::from_secs(2 * 3600);

/// What is loaded into all stores.
pub struct Data {
    /// The file.
    pub input: Input,
    /// What tells the file from others: path, size, and when it was written.
    origin: String,
    /// Where stores are kept.
    prefix: String,
}

/// A store that is there.
pub struct Kept {
    /// Its folder.
    pub folder: PathBuf,
    /// How it came there, in words.
    pub origin: String,
}

impl Data {
    /// The data in a file; `prefix` is the begin of the names of its stores.
    pub fn of_file(path: &Path, prefix: &str) -> Result<Self, XtaskError> {
        let metadata = fs::metadata(path).map_err(|source| cannot("find", path, source))?;
        let written = metadata.modified().ok();
        let written = written.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        Ok(Self {
            input: Input::of_file(path.to_path_buf())?,
            origin: format!(
                "{}\n{} bytes\nwritten {}\n",
                path.display(),
                metadata.len(),
                written.unwrap_or_default().as_nanos()
            ),
            prefix: prefix.to_owned(),
        })
    }

    /// The store of an endpoint, loaded if it is not there; `expected` is what it must count.
    pub fn store(
        &self,
        work: &WorkFolder,
        endpoint: &dyn Endpoint,
        version: &str,
        expected: Option<u64>,
    ) -> Result<Kept, XtaskError> {
        let name = endpoint.name();
        let folder_name = format!("{}-{}", self.prefix, name.to_lowercase());
        let note = format!("{version}\n{}\n{}", endpoint.fingerprint(), self.origin);
        let (folder, loaded) = work.kept(&folder_name, &note, |folder| {
            eprintln!("compare: loading {name}");
            let measured = endpoint.load(&self.input, folder, LOAD_MAX)?;
            if let Some(expected) = expected {
                check(name, endpoint, folder, expected)?;
            }
            write_seconds(folder, measured.wall_seconds)?;
            Ok(measured.wall_seconds)
        })?;
        measure::seconds_to_sync(&folder);
        let wall_seconds = match loaded {
            Some(wall_seconds) => wall_seconds,
            None => read_seconds(&folder).unwrap_or_default(),
        };
        Ok(Kept {
            origin: origin(wall_seconds, loaded.is_some()),
            folder,
        })
    }

    /// DuckDB's tables, made from Basalt's store if they are not there.
    pub fn tables(
        &self,
        work: &WorkFolder,
        duckdb: &DuckDb,
        version: &str,
        basalt: &Basalt,
        basalt_folder: &Path,
    ) -> Result<Kept, XtaskError> {
        let note = format!("{version}\n{}{}", self.origin, DuckDb::fingerprint());
        let folder_name = format!("{}-duckdb", self.prefix);
        let (folder, loaded) = work.kept(&folder_name, &note, |folder| {
            eprintln!("compare: making DuckDB's tables");
            let measured = duckdb.load(basalt, basalt_folder, folder)?;
            write_seconds(folder, measured.wall_seconds)?;
            Ok(measured.wall_seconds)
        })?;
        let wall_seconds = match loaded {
            Some(wall_seconds) => wall_seconds,
            None => read_seconds(&folder).unwrap_or_default(),
        };
        Ok(Kept {
            origin: format!("from CSV, {}", origin(wall_seconds, loaded.is_some())),
            folder,
        })
    }
}

/// A store that has not all triples is not worth asking.
fn check(
    name: &str,
    endpoint: &dyn Endpoint,
    folder: &Path,
    expected: u64,
) -> Result<(), XtaskError> {
    let found = endpoint.count(folder)?;
    if found == expected {
        return Ok(());
    }
    Err(XtaskError::Answer {
        command: format!("count of {name}"),
        what: format!("{found} triples are there, not {expected}"),
    })
}

/// How a store came to be there.
fn origin(wall_seconds: f64, is_new: bool) -> String {
    let when = if is_new { "now" } else { "before" };
    format!("loaded {when} in {} s", seconds(wall_seconds))
}

fn write_seconds(folder: &Path, wall_seconds: f64) -> Result<(), XtaskError> {
    let file = folder.join("seconds");
    fs::write(&file, wall_seconds.to_string()).map_err(|source| cannot("write", &file, source))
}

fn read_seconds(folder: &Path) -> Option<f64> {
    let text = fs::read_to_string(folder.join("seconds")).ok()?;
    text.trim().parse().ok()
}
