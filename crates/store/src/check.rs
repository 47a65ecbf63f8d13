//! Verifying a version: the code behind `basalt check`.
//!
//! The quick check is what opening does: every file is the one that the manifest lists, headers,
//! directories and metadata are whole, extents do not overlap, the records of the log are whole. The deep check reads everything
//! and proves the invariants of the formats: checksums, every segment and block, zones, type
//! classes, inverses against columns, both orders of the quad table against each other, dirty
//! rows, totals, and that no quad stands in two places, also not in version and delta.
//!
//! Cost of a deep check: all bytes once or twice, and a column's values in memory.

mod columns;
mod quads;

use crate::delta::{self, Delta, DeltaCounts};
use crate::error::StoreError;
use crate::log::read_log;
use crate::manifest::Manifest;
use crate::snapshot::{Version, extents_of};
use crate::statistics::{StoreStatistics, count_links};
use crate::table::{Table, TypeClass};
use basalt_rdf::TermId;
use std::io::ErrorKind;

/// How much to verify.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckDepth {
    /// Headers, directories and metadata.
    Quick,
    /// Everything.
    Deep,
}

/// What a check has seen; problems are errors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// Files of the version, its log included.
    pub files: usize,
    /// Their bytes.
    pub bytes: u64,
    /// Commits in the log.
    pub commits_in_log: usize,
    /// Tables.
    pub tables: usize,
    /// Rows of all tables.
    pub rows: u64,
    /// Quads in cells that were not removed since.
    pub quads_in_cells: u64,
    /// Irregular quads, with those that were added since.
    pub irregular_quads: u64,
}

/// Verifies a version and the changes over it.
pub(crate) fn check(
    version: &Version,
    delta: Option<&Delta>,
    depth: CheckDepth,
) -> Result<CheckReport, StoreError> {
    open_anew(version)?;
    let tables: Vec<&Table> = version.tables.iter().collect();
    extents_of(&tables)?;
    if depth == CheckDepth::Deep {
        for file in version.files() {
            file.verify()?;
        }
        let ids = IdRange {
            resources: version.dictionary.resource_count(),
            literals: version.dictionary.literal_count(),
        };
        version.dictionary.check_deep()?;
        for table in &version.tables {
            columns::check_table(table, ids)?;
        }
        quads::check(version, ids)?;
        check_totals(version)?;
    }
    let log = match version.folders.dir() {
        Some(dir) => read_log(dir, &version.manifest)?,
        None => None,
    };
    let irregular_quads = version.quad_table.quad_count();
    let changes = match (delta, depth) {
        (None, _) => DeltaCounts::default(),
        (Some(delta), CheckDepth::Quick) => delta.counts(),
        (Some(delta), CheckDepth::Deep) => delta::check(version, delta)?,
    };
    Ok(CheckReport {
        files: version.manifest.files.len() + usize::from(log.is_some()),
        bytes: version.manifest.files.iter().map(|f| f.bytes).sum::<u64>()
            + log.as_ref().map_or(0, |log| log.file_bytes),
        commits_in_log: log.as_ref().map_or(0, |log| log.records.len()),
        tables: version.tables.len(),
        rows: version.tables.iter().map(|t| u64::from(t.rows())).sum(),
        quads_in_cells: version
            .statistics
            .quad_count
            .saturating_sub(irregular_quads + changes.removed_from_cells),
        irregular_quads: (irregular_quads + changes.added)
            .saturating_sub(changes.removed_irregular),
    })
}

/// Verifies directories and metadata against what is in the files now. The files of a version that was replaced since it was opened
/// have no names any more: there is nothing to open then, and what is open is verified all the same.
fn open_anew(version: &Version) -> Result<(), StoreError> {
    let is_replaced = || match version.folders.dir() {
        Some(dir) => Ok(Manifest::read(dir)?.version != version.manifest.version),
        None => Ok::<bool, StoreError>(false),
    };
    match Version::open(version.folders.clone(), version.manifest.clone()) {
        Err(StoreError::Io { source, .. })
            if source.kind() == ErrorKind::NotFound && is_replaced()? =>
        {
            Ok(())
        }
        outcome => outcome.map(drop),
    }
}

/// The ids that the dictionary can decode.
#[derive(Clone, Copy)]
struct IdRange {
    resources: u64,
    literals: u64,
}

impl IdRange {
    /// Whether an id stands for a term of the store.
    fn holds(self, id: TermId) -> bool {
        if let Some(ordinal) = id.resource_ordinal() {
            ordinal < self.resources
        } else if id.is_dictionary_literal() {
            id.literal_ordinal() < self.literals
        } else {
            TypeClass::ANY.takes(id)
        }
    }
}

/// Recomputes what the statistics file says of the rest.
fn check_totals(version: &Version) -> Result<(), StoreError> {
    let mut computed = StoreStatistics {
        characteristic_sets: version.statistics.characteristic_sets.clone(),
        subject_count: version.statistics.subject_count,
        ..StoreStatistics::default()
    };
    let tables: Vec<&Table> = version.tables.iter().collect();
    computed.compute_totals(&tables, &version.quad_table)?;
    let file = &version.statistics_file;
    if computed != version.statistics {
        return Err(file.corrupt(0, "the totals are not those of the data"));
    }
    let links = count_links(&tables, &version.extents);
    for (table, links) in version.tables.iter().zip(links) {
        for (predicate, counts) in links {
            let known = table.cells(predicate).map(|c| &c.statistics().links);
            if known != Some(&counts) {
                return Err(file.corrupt(0, "the counts of links are not those of the data"));
            }
        }
    }
    Ok(())
}
