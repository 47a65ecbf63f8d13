//! The history of a store: when and why its versions were written, and how the tables changed each time.
//!
//! A version has the records of those before it and its own, as lines of JSON in one small section file (its bytes
//! stand in `docs/storage-format.md`). Lines are copied as they are, never understood, so what another program wrote into them stays; the
//! oldest go when there are too many. Versions written by programs that knew no history have none, and those after them begin one.
//!
//! What changed is told by name: a shape is all tables of one name, a column is a predicate. Rows alone are no change.
//! Invariant: the file has at most [`RECORDS_MAX`] lines and, more than one line, at most [`BYTES_MAX`] bytes.
//! Cost: one look at each column of both versions, and a copy of the records.

use crate::dictionary::Dictionary;
use crate::error::StoreError;
use crate::folder::Folder;
use crate::section_file::{FileKind, SectionFile};
use crate::snapshot::{Snapshot, Version};
use crate::table::Table;
use basalt_rdf::{TermBuf, TermId, TermView};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

/// The file of the history.
pub(crate) const FILE_NAME: &str = "history";
/// Its section.
const SECTION: &str = "records";
/// Versions that are remembered.
const RECORDS_MAX: usize = 1000;
/// Bytes of their records: the file is copied with each version.
const BYTES_MAX: usize = 4 << 20;
/// Bytes of one record; one that is larger tells of fewer tables.
const RECORD_BYTES_MAX: usize = 256 << 10;
/// Tables that a record tells of: a list of more is not read by people.
const TABLES_MAX: usize = 300;
/// Columns that a record tells of for each table.
const COLUMNS_MAX: usize = 200;
/// Names of inputs that a record tells.
const INPUTS_MAX: usize = 20;

/// What is remembered of a version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VersionRecord {
    /// Its number.
    pub version: u64,
    /// When it was written, in seconds since 1970, UTC.
    pub written: u64,
    /// Why.
    pub reason: VersionReason,
    /// The number of the last commit that is in it.
    pub commits: u64,
    /// All quads.
    pub quads: u64,
    /// Of these, irregular quads.
    pub irregular_quads: u64,
    /// Shapes: tables of one name are one.
    pub tables: usize,
    /// Rows of all tables.
    pub rows: u64,
    /// The shapes that came, went, and got or lost columns, by name.
    pub changes: Vec<TableChange>,
    /// How many more there were.
    pub changes_left_out: usize,
}

/// Why a version was written.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum VersionReason {
    /// The store was made, empty.
    New,
    /// Inputs were loaded.
    Load {
        /// The first inputs, as the user named them.
        inputs: Vec<String>,
        /// How many more there were.
        inputs_left_out: usize,
        /// Quads in the inputs.
        quads_read: u64,
        /// Whether a layer was added to files that stayed.
        layer: bool,
        /// Why the data that was there was rewritten, if it was.
        rewritten: Option<String>,
    },
    /// Changes of commits had become many enough to be merged.
    Merge {
        /// Quads added since the version before.
        added: u64,
        /// Quads of the version before that were removed.
        removed: u64,
    },
    /// One transaction changed as much as a merge takes, and its commit is the version.
    Transaction {
        /// The number of the commit.
        commit: u64,
    },
    /// Somebody asked that the store be written anew.
    Optimize {
        /// Quads added since the version before.
        added: u64,
        /// Quads of the version before that were removed.
        removed: u64,
    },
}

impl VersionReason {
    /// A load of inputs with these names.
    pub fn load(names: &[String], quads_read: u64) -> Self {
        Self::Load {
            inputs: names.iter().take(INPUTS_MAX).cloned().collect(),
            inputs_left_out: names.len().saturating_sub(INPUTS_MAX),
            quads_read,
            layer: false,
            rewritten: None,
        }
    }

    /// A merge of the changes of a state that were many enough.
    pub fn merge(state: &Snapshot) -> Self {
        let size = state.delta_size();
        Self::Merge {
            added: size.added,
            removed: size.removed,
        }
    }

    /// A rewrite of a state that somebody asked for.
    pub fn optimize(state: &Snapshot) -> Self {
        let size = state.delta_size();
        Self::Optimize {
            added: size.added,
            removed: size.removed,
        }
    }
}

/// How a shape differs from that of the same name in the version before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableChange {
    /// Its name.
    pub table: String,
    /// What happened to it.
    pub what: ChangeKind,
    /// Rows now.
    pub rows: u64,
    /// Rows before.
    pub rows_before: u64,
    /// The columns that came.
    pub columns_added: Vec<ColumnChange>,
    /// The columns that went.
    pub columns_gone: Vec<ColumnChange>,
}

/// What happened to a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It is new.
    New,
    /// It is gone.
    Gone,
    /// It has got or lost columns.
    Columns,
}

/// A column that came or went.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColumnChange {
    /// The IRI of its predicate.
    pub predicate: String,
    /// The rows that have a value in it; of one that went, had.
    pub rows_with_value: u64,
    /// All quads of the predicate in the version: of a column that went, those that are elsewhere now.
    pub quads: u64,
}

/// A shape: rows, and for each predicate the rows that have a value.
#[derive(Default)]
struct Shape {
    rows: u64,
    columns: BTreeMap<String, u64>,
}

/// Writes the history of a version whose other files are complete, and opens it.
pub(crate) fn write(
    folder: &Folder,
    version: &Version,
    before: Option<&Snapshot>,
    reason: Option<VersionReason>,
) -> Result<SectionFile, StoreError> {
    // What a new store on disk begins with, a store in memory without quads, is no version of it.
    let is_on_disk = version.folders.dir().is_some();
    let before = before.filter(|before| before.parts().folders.dir().is_some() == is_on_disk);
    let newest = line(record(version, before, reason)?);
    let known = match before.and_then(|before| before.parts().history.as_ref()) {
        Some(file) => file.verified_section(SECTION)?,
        None => &[],
    };
    let mut file = folder.create(FILE_NAME, FileKind::History)?;
    file.begin(SECTION)?;
    file.write(newest_lines(
        known,
        RECORDS_MAX - 1,
        BYTES_MAX.saturating_sub(newest.len()),
    ))?;
    file.write(&newest)?;
    file.finish()?;
    folder.open(FILE_NAME, FileKind::History)
}

/// A record as a line; one that would be too long tells of fewer tables.
fn line(mut record: VersionRecord) -> Vec<u8> {
    loop {
        let mut line = serde_json::to_vec(&record).expect("a record is plain data");
        // Termination: each time there are fewer, and without any it goes as it is.
        if line.len() <= RECORD_BYTES_MAX || record.changes.is_empty() {
            line.push(b'\n');
            return line;
        }
        let kept = record.changes.len() / 2;
        record.changes_left_out += record.changes.len() - kept;
        record.changes.truncate(kept);
    }
}

/// The last of these lines: so many at most, and of so many bytes.
fn newest_lines(lines: &[u8], lines_max: usize, bytes_max: usize) -> &[u8] {
    let mut kept = &lines[lines.len()..];
    let newest_first = lines.split_inclusive(|byte| *byte == b'\n').rev();
    for (count, line) in newest_first.enumerate() {
        if count == lines_max || kept.len() + line.len() > bytes_max {
            break;
        }
        kept = &lines[lines.len() - kept.len() - line.len()..];
    }
    kept
}

/// Reads the records of a history, oldest first.
pub(crate) fn read(file: &SectionFile) -> Result<Vec<VersionRecord>, StoreError> {
    let bytes = file.verified_section(SECTION)?;
    let lines = bytes.split(|byte| *byte == b'\n');
    let records = lines.filter(|line| !line.is_empty()).map(|line| {
        serde_json::from_slice(line).map_err(|error| {
            let offset = file.section_offset(SECTION);
            file.corrupt(offset, format!("a record cannot be read: {error}"))
        })
    });
    records.collect()
}

/// What is remembered of a version.
fn record(
    version: &Version,
    before: Option<&Snapshot>,
    reason: Option<VersionReason>,
) -> Result<VersionRecord, StoreError> {
    let shapes = shapes(&version.tables, &version.dictionary)?;
    let old = match before {
        Some(before) => self::shapes(before.tables(), before.dictionary())?,
        None => BTreeMap::new(),
    };
    let quads_of = |predicate: &str| {
        let id = version.dictionary.find(TermView::Iri(predicate));
        let total = id.and_then(|id: TermId| version.statistics.predicate(id));
        total.map_or(0, |total| total.quads())
    };
    let mut changes = changes(&old, &shapes, &quads_of);
    let changes_left_out = changes.len().saturating_sub(TABLES_MAX);
    changes.truncate(TABLES_MAX);
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    Ok(VersionRecord {
        version: version.manifest.version,
        written: since.unwrap_or(Duration::ZERO).as_secs(),
        reason: reason.unwrap_or_else(|| untold(before)),
        commits: version.manifest.commits,
        quads: version.statistics.quad_count,
        irregular_quads: version.quad_table.quad_count(),
        tables: shapes.len(),
        rows: shapes.values().map(|shape| shape.rows).sum(),
        changes,
        changes_left_out,
    })
}

/// The reason of a version whose writer did not tell one.
fn untold(before: Option<&Snapshot>) -> VersionReason {
    match before {
        None => VersionReason::New,
        Some(before) => VersionReason::optimize(before),
    }
}

/// The shapes of tables by name.
fn shapes(
    tables: &[Table],
    dictionary: &Dictionary,
) -> Result<BTreeMap<String, Shape>, StoreError> {
    let mut shapes: BTreeMap<String, Shape> = BTreeMap::new();
    let mut buffer = TermBuf::new();
    for table in tables {
        let shape = shapes.entry(table.name().to_owned()).or_default();
        shape.rows += u64::from(table.rows());
        for cells in table.all_cells() {
            dictionary.decode(cells.predicate(), &mut buffer)?;
            let predicate = match buffer.view() {
                TermView::Iri(iri) => iri.to_owned(),
                other => other.to_string(),
            };
            let rows = cells.statistics().rows_with_value;
            *shape.columns.entry(predicate).or_default() += rows;
        }
    }
    Ok(shapes)
}

/// What came, what went, and what got or lost columns.
fn changes(
    old: &BTreeMap<String, Shape>,
    new: &BTreeMap<String, Shape>,
    quads_of: &dyn Fn(&str) -> u64,
) -> Vec<TableChange> {
    let empty = Shape::default();
    let mut names: Vec<&String> = old.keys().chain(new.keys()).collect();
    names.sort_unstable();
    names.dedup();
    let change = |name: &String| {
        let what = match (old.get(name), new.get(name)) {
            (Some(_), None) => ChangeKind::Gone,
            (None, _) => ChangeKind::New,
            _ => ChangeKind::Columns,
        };
        let before = old.get(name).unwrap_or(&empty);
        let now = new.get(name).unwrap_or(&empty);
        let columns_added = columns_beside(now, before, quads_of);
        let columns_gone = columns_beside(before, now, quads_of);
        let is_same = columns_added.is_empty() && columns_gone.is_empty();
        (!is_same || what != ChangeKind::Columns).then(|| TableChange {
            table: name.clone(),
            what,
            rows: now.rows,
            rows_before: before.rows,
            columns_added,
            columns_gone,
        })
    };
    names.into_iter().filter_map(change).collect()
}

/// The columns of a shape that another one does not have, the fullest first.
fn columns_beside(
    shape: &Shape,
    other: &Shape,
    quads_of: &dyn Fn(&str) -> u64,
) -> Vec<ColumnChange> {
    let columns = shape.columns.iter();
    let mut columns: Vec<ColumnChange> = columns
        .filter(|(predicate, _)| !other.columns.contains_key(*predicate))
        .map(|(predicate, rows)| ColumnChange {
            predicate: predicate.clone(),
            rows_with_value: *rows,
            quads: 0,
        })
        .collect();
    columns.sort_by_key(|column| std::cmp::Reverse(column.rows_with_value));
    columns.truncate(COLUMNS_MAX);
    for column in &mut columns {
        column.quads = quads_of(&column.predicate);
    }
    columns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(rows: u64, columns: &[(&str, u64)]) -> Shape {
        let columns = columns.iter();
        Shape {
            rows,
            columns: columns
                .map(|(name, rows)| ((*name).to_owned(), *rows))
                .collect(),
        }
    }

    #[test]
    fn what_came_went_and_changed_is_told_and_nothing_else() {
        let old = BTreeMap::from([
            ("same".to_owned(), shape(1, &[("p", 1)])),
            ("gone".to_owned(), shape(2, &[("p", 2)])),
            ("wider".to_owned(), shape(3, &[("p", 3), ("old", 1)])),
        ]);
        let new = BTreeMap::from([
            ("same".to_owned(), shape(9, &[("p", 9)])),
            ("new".to_owned(), shape(4, &[("p", 1), ("q", 4)])),
            ("wider".to_owned(), shape(5, &[("p", 5), ("new", 2)])),
        ]);
        let column = |predicate: &str, rows_with_value| ColumnChange {
            predicate: predicate.to_owned(),
            rows_with_value,
            quads: predicate.len() as u64,
        };
        let change = |table: &str, what, rows, rows_before| TableChange {
            table: table.to_owned(),
            what,
            rows,
            rows_before,
            columns_added: Vec::new(),
            columns_gone: Vec::new(),
        };
        let expected = [
            TableChange {
                columns_gone: vec![column("p", 2)],
                ..change("gone", ChangeKind::Gone, 0, 2)
            },
            TableChange {
                columns_added: vec![column("q", 4), column("p", 1)],
                ..change("new", ChangeKind::New, 4, 0)
            },
            TableChange {
                columns_added: vec![column("new", 2)],
                columns_gone: vec![column("old", 1)],
                ..change("wider", ChangeKind::Columns, 5, 3)
            },
        ];
        let quads_of = |predicate: &str| predicate.len() as u64;
        assert_eq!(changes(&old, &new, &quads_of), expected);
        assert_eq!(changes(&new, &new, &quads_of), []);
    }

    #[test]
    fn the_newest_lines_are_kept() {
        let lines = b"one\nthree\nfive\n";
        let kept = |lines_max, bytes_max| newest_lines(lines, lines_max, bytes_max);
        assert_eq!(kept(3, 100), lines);
        assert_eq!(kept(2, 100), b"three\nfive\n");
        assert_eq!(kept(0, 100), b"");
        assert_eq!(kept(3, 15), lines);
        assert_eq!(kept(3, 14), b"three\nfive\n");
        assert_eq!(kept(3, 4), b"");
        assert_eq!(newest_lines(b"", 3, 100), b"");
    }

    #[test]
    fn a_record_that_is_too_long_tells_of_fewer_tables() {
        let change = |i: usize| TableChange {
            table: format!("{i} {}", "x".repeat(2000)),
            what: ChangeKind::New,
            rows: 1,
            rows_before: 0,
            columns_added: Vec::new(),
            columns_gone: Vec::new(),
        };
        let record = VersionRecord {
            version: 1,
            written: 2,
            reason: VersionReason::New,
            commits: 3,
            quads: 4,
            irregular_quads: 5,
            tables: 300,
            rows: 6,
            changes: (0..300).map(change).collect(),
            changes_left_out: 7,
        };
        let text = line(record.clone());
        assert!(text.len() <= RECORD_BYTES_MAX + 1);
        let read: VersionRecord = serde_json::from_slice(&text).expect("it is a record");
        assert_eq!(read.changes, record.changes[..read.changes.len()]);
        assert_eq!((read.changes.len(), read.changes_left_out), (75, 232));
        let small = VersionRecord {
            changes: Vec::new(),
            ..record
        };
        let text = line(small.clone());
        let read: VersionRecord = serde_json::from_slice(&text).expect("it is a record");
        assert_eq!(read, small);
    }
}
