//! What is loaded: each workload by its name, and how its file is made.
//!
//! Invariants: a generated file is made by the basalt program that is compared, from a fixed
//! seed, and kept under a name that says its size; so is a derived one. A file that was given is
//! used as it is and what derives from it is not kept.
//!
//! Cost: writing some gigabytes for ten million triples, once.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use super::Comparison;
use super::copies::write_copy;
use super::input::Input;
use super::measure;
use super::shuffle::shuffle_lines;
use super::work_folder::{cannot, remove};
use crate::error::XtaskError;

/// Copies that [`Workload::Codex40`] has.
const CODEX_COPIES: u32 = 40;

/// A thing to measure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// The Berlin benchmark in N-Triples.
    Bsbm,
    /// The same, gzip.
    BsbmGz,
    /// The same, Zstandard.
    BsbmZst,
    /// The same in N-Quads, a graph for each producer, vendor and rating site.
    BsbmNq,
    /// The same in Turtle.
    BsbmTtl,
    /// The same in N-Triples in random order.
    Shuffled,
    /// A part of Wikidata.
    Codex,
    /// Many vocabularies, a graph each.
    Vocabularies,
    /// [`Workload::Codex`] many times over.
    Codex40,
    /// Larger and larger data through a pipe; Basalt only.
    Scale,
    /// Ten loads into one store; Basalt only.
    Ten,
}

impl Workload {
    /// All of them with the names that the command line takes.
    const NAMES: [(&'static str, Self); 11] = [
        ("bsbm", Self::Bsbm),
        ("bsbm-gz", Self::BsbmGz),
        ("bsbm-zst", Self::BsbmZst),
        ("bsbm-nq", Self::BsbmNq),
        ("bsbm-ttl", Self::BsbmTtl),
        ("shuffled", Self::Shuffled),
        ("codex", Self::Codex),
        ("vocabularies", Self::Vocabularies),
        ("codex40", Self::Codex40),
        ("scale", Self::Scale),
        ("ten", Self::Ten),
    ];

    /// The workload of a name.
    pub fn named(name: &str) -> Option<Self> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|&(_, workload)| workload)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(_, workload)| *workload == self);
        found.map_or("", |(name, _)| name)
    }

    /// What it is, for a heading.
    pub fn about(self, comparison: &Comparison) -> String {
        let options = &comparison.options;
        let data = match &options.file {
            Some(_) => "the file given".to_owned(),
            None => format!("BSBM, {} products", options.products),
        };
        let generated = format!("BSBM, {} products", options.products);
        match self {
            Self::Bsbm => format!("{data}, N-Triples"),
            Self::BsbmGz => format!("{generated}, N-Triples, gzip"),
            Self::BsbmZst => format!("{generated}, N-Triples, Zstandard"),
            Self::BsbmNq => {
                format!("{generated}, N-Quads, a graph for each producer, vendor and rating site")
            }
            Self::BsbmTtl => format!("{generated}, Turtle"),
            Self::Shuffled => {
                format!(
                    "{data}, N-Triples, lines in random order (seed {})",
                    options.seed
                )
            }
            Self::Codex => "CoDEx-M (Wikidata), N-Triples, gzip".to_owned(),
            Self::Vocabularies => "vocabularies, N-Quads, gzip".to_owned(),
            Self::Codex40 => format!(
                "CoDEx-M {CODEX_COPIES} times, N-Triples: other subjects and objects in each copy, the same predicates and literals"
            ),
            Self::Scale => "BSBM of growing size, through a pipe".to_owned(),
            Self::Ten => "ten loads into one store".to_owned(),
        }
    }

    /// Fails early if a file that is not generated is missing.
    pub fn check(self, comparison: &Comparison) -> Result<(), XtaskError> {
        let needed = match self {
            Self::Codex | Self::Codex40 => Some(comparison.real_data().join("codex-m.nt.gz")),
            Self::Vocabularies => Some(comparison.real_data().join("vocabularies.nq.gz")),
            Self::Bsbm | Self::Shuffled => comparison.options.file.clone(),
            _ => None,
        };
        match needed {
            Some(path) => fs::metadata(&path)
                .map(drop)
                .map_err(|source| cannot("find", &path, source)),
            None => Ok(()),
        }
    }

    /// Its file, made if it is not there.
    pub fn input(self, comparison: &Comparison) -> Result<Input, XtaskError> {
        let path = match self {
            Self::Bsbm => plain(comparison)?,
            Self::BsbmGz => generated(comparison, "nt.gz")?,
            Self::BsbmZst => generated(comparison, "nt.zst")?,
            Self::BsbmNq => generated(comparison, "nq")?,
            Self::BsbmTtl => generated(comparison, "ttl")?,
            Self::Shuffled => shuffled(comparison)?,
            Self::Codex => comparison.real_data().join("codex-m.nt.gz"),
            Self::Vocabularies => comparison.real_data().join("vocabularies.nq.gz"),
            Self::Codex40 => codex_copies(comparison)?,
            Self::Scale | Self::Ten => {
                return Err(XtaskError::Usage {
                    message: format!("`{}` is not one file", self.name()),
                });
            }
        };
        Input::of_file(path)
    }
}

/// The file given, or the generated N-Triples.
fn plain(comparison: &Comparison) -> Result<PathBuf, XtaskError> {
    match &comparison.options.file {
        Some(file) => Ok(file.clone()),
        None => generated(comparison, "nt"),
    }
}

/// Generated data in a file with that ending.
fn generated(comparison: &Comparison, ending: &str) -> Result<PathBuf, XtaskError> {
    let products = comparison.options.products;
    let name = format!("bsbm-{products}.{ending}");
    comparison.work.data(&name, |path| {
        measure::output(&mut comparison.basalt.generate(products, path)).map(drop)
    })
}

/// The N-Triples in random order.
fn shuffled(comparison: &Comparison) -> Result<PathBuf, XtaskError> {
    let from = plain(comparison)?;
    let options = &comparison.options;
    let name = match &options.file {
        // Another file of the same name may be given the next time.
        Some(_) => "shuffled-given.nt".to_owned(),
        None => format!("shuffled-{}-{}.nt", options.products, options.seed),
    };
    if options.file.is_some() {
        remove(&comparison.work.root().join("data").join(&name))?;
    }
    comparison.work.data(&name, |path| {
        shuffle_lines(&from, path, options.seed).map_err(|source| cannot("shuffle", &from, source))
    })
}

/// Many copies of the part of Wikidata.
fn codex_copies(comparison: &Comparison) -> Result<PathBuf, XtaskError> {
    let name = format!("codex{CODEX_COPIES}.nt");
    comparison.work.data(&name, |path| {
        let plain = path.with_file_name("codex-once.nt");
        let from = comparison.real_data().join("codex-m.nt.gz");
        measure::output(&mut comparison.basalt.convert(&from, &plain))?;
        let copies = 1..=CODEX_COPIES;
        copy_to(&plain, path, copies)?;
        remove(&plain)
    })
}

/// Writes copies of an N-Triples file to another one.
pub fn copy_to(
    from: &Path,
    to: &Path,
    copies: impl IntoIterator<Item = u32>,
) -> Result<(), XtaskError> {
    let text = fs::read_to_string(from).map_err(|source| cannot("read", from, source))?;
    let cannot_write = |source| cannot("write", to, source);
    let file = File::create(to).map_err(cannot_write)?;
    let mut output = BufWriter::with_capacity(1 << 20, file);
    for copy in copies {
        write_copy(&text, copy, &mut output).map_err(cannot_write)?;
    }
    output.flush().map_err(cannot_write)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workload_has_a_name_of_its_own() {
        for (name, workload) in Workload::NAMES {
            assert_eq!(Workload::named(name), Some(workload));
            assert_eq!(workload.name(), name);
        }
        assert_eq!(Workload::named("bsbm-xz"), None);
    }
}
