//! The stores that are compared, each behind [`System`].
//!
//! A row of a table is one system: a store with one way to load, so that a store with two
//! loaders worth knowing is two systems. They are grouped in families, which share what was
//! fetched and which the command line names.
//!
//! Invariants: a system keeps its store in `store/` of the folder that it is given and its logs
//! beside; `load` measures until the data is durable by the system's own means and no
//! longer; `count` asks a new process, after the one that loaded has ended.
//!
//! Cost: that of the programs.

pub mod basalt;
pub mod duckdb;
pub mod endpoint;
pub mod http;
mod jena;
mod oxigraph;
pub mod updatable;
mod virtuoso;

use std::path::Path;
use std::time::Duration;

use self::basalt::Basalt;
use self::endpoint::Endpoint;
use self::jena::{Fuseki, Jena};
use self::oxigraph::{Oxigraph, Pyoxigraph};
use self::updatable::Updatable;
use self::virtuoso::Virtuoso;
use super::Comparison;
use super::input::Input;
use super::measure::Measured;
use super::work_folder::{WorkFolder, disk_bytes};
use crate::error::XtaskError;

/// Counts all quads, whatever graph they are in.
const COUNT_QUADS: &str =
    "SELECT (COUNT(*) AS ?c) { { ?s ?p ?o } UNION { GRAPH ?g { ?s ?p ?o } } }";

/// A store and a way to load files into it.
pub trait System {
    /// Its name in tables.
    fn label(&self) -> String;

    /// By what the data is safe when a load ends.
    fn durable(&self) -> &'static str;

    /// Fetches it unless it is there; says the version.
    fn prepare(&mut self, work: &WorkFolder) -> Result<String, XtaskError>;

    /// Why it cannot load an input, if so.
    fn refuses(&self, input: &Input) -> Option<&'static str>;

    /// Loads an input into a new store in an empty folder.
    fn load(
        &self,
        input: &Input,
        folder: &Path,
        time_max: Duration,
    ) -> Result<Measured, XtaskError>;

    /// The number of quads in the store.
    fn count(&self, folder: &Path) -> Result<u64, XtaskError>;

    /// The bytes of the store on disk.
    fn size(&self, folder: &Path) -> Result<u64, XtaskError> {
        disk_bytes(&folder.join("store"))
    }

    /// Whether it loads the parts of an input rather than the file.
    fn wants_parts(&self) -> bool {
        false
    }
}

/// Systems of one maker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// The program of this workspace.
    Basalt,
    /// OpenLink Virtuoso, open source edition.
    Virtuoso,
    /// Oxigraph's command line program, over RocksDB.
    Oxigraph,
    /// Oxigraph's Python package.
    Pyoxigraph,
    /// Apache Jena, TDB2.
    Jena,
}

impl Family {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Basalt,
        Self::Virtuoso,
        Self::Oxigraph,
        Self::Pyoxigraph,
        Self::Jena,
    ];

    /// The family that the command line names.
    pub fn named(name: &str) -> Option<Self> {
        match name {
            "basalt" => Some(Self::Basalt),
            "virtuoso" => Some(Self::Virtuoso),
            "oxigraph" => Some(Self::Oxigraph),
            "pyoxigraph" => Some(Self::Pyoxigraph),
            "jena" => Some(Self::Jena),
            _ => None,
        }
    }
}

/// The systems of the families that were asked for.
pub fn chosen(comparison: &Comparison) -> Vec<Box<dyn System>> {
    let mut systems: Vec<Box<dyn System>> = Vec::new();
    for family in &comparison.options.families {
        match family {
            Family::Basalt => systems.push(Box::new(comparison.basalt.clone())),
            Family::Virtuoso => {
                systems.push(Box::new(Virtuoso::with_loaders(1)));
                systems.push(Box::new(Virtuoso::with_loaders(2)));
            }
            Family::Oxigraph => {
                systems.push(Box::new(Oxigraph::one_file()));
                systems.push(Box::new(Oxigraph::parts()));
            }
            Family::Pyoxigraph => systems.push(Box::new(Pyoxigraph::new())),
            Family::Jena => {
                systems.push(Box::new(Jena::with_loader("phased")));
                systems.push(Box::new(Jena::with_loader("parallel")));
            }
        }
    }
    systems
}

/// A store that answers queries over HTTP, by the name that the command line takes.
pub fn endpoint(name: &str, basalt: &Basalt) -> Option<Box<dyn Endpoint>> {
    match name {
        "basalt" => Some(Box::new(basalt.clone())),
        "virtuoso" => Some(Box::new(Virtuoso::with_loaders(1))),
        "oxigraph" => Some(Box::new(Oxigraph::one_file())),
        "fuseki" => Some(Box::new(Fuseki::new())),
        _ => None,
    }
}

/// A store that takes updates over HTTP, by the name that the command line takes.
pub fn updatable(name: &str, basalt: &Basalt) -> Option<Box<dyn Updatable>> {
    match name {
        "basalt" => Some(Box::new(basalt.clone())),
        "virtuoso" => Some(Box::new(Virtuoso::with_loaders(1))),
        _ => None,
    }
}

/// The number in the last line that is one: the answer in CSV or plain text.
fn last_number(text: &str) -> Option<u64> {
    text.lines().rev().find_map(|line| line.trim().parse().ok())
}

/// The number in an answer, or an error that shows the answer.
pub fn counted(system: &str, answer: &str) -> Result<u64, XtaskError> {
    last_number(answer).ok_or_else(|| XtaskError::Answer {
        command: format!("count of {system}"),
        what: format!("no number in `{}`", answer.trim()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_hold_a_number() {
        assert_eq!(last_number("c\r\n1027434\r\n"), Some(1_027_434));
        assert_eq!(last_number("7\n2 rows\n"), Some(7));
        assert!(counted("x", "*** Error 42\n").is_err());
    }
}
