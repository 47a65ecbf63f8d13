//! Where the bytes of a version are: every file, section, column and predicate.
//!
//! Made from directories that are in memory anyway and the first bytes of each segment: some microseconds per
//! column. Invariant: the sizes of the files add up to [`Snapshot::file_bytes`](crate::Snapshot::file_bytes) and the
//! log, those of sections and frame to their file's, those of columns to the sections `cells` and `inverse-...`.

use crate::log;
use crate::quad_table::PredicateSizes;
use crate::section_file::SectionFile;
use crate::snapshot::Version;
use crate::table::{CellStatistics, Column, Table, TypeClass};
use basalt_columns::segment::SegmentEncoding;
use basalt_rdf::TermId;
use std::collections::BTreeMap;

/// What every part of a version takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageReport {
    /// The tables, in the order of the store.
    pub tables: Vec<TableStorage>,
    /// The file of the irregular quads.
    pub quad_file: FileStorage,
    /// The irregular quads by predicate.
    pub quads: Vec<PredicateSizes>,
    /// The files of the dictionary.
    pub dictionary: Vec<FileStorage>,
    /// The file of statistics, dirty rows and links.
    pub statistics: FileStorage,
    /// The file of the history, if there is one.
    pub history: Option<FileStorage>,
    /// The log of commits since the version was made, as it is now.
    pub log: Option<FileStorage>,
}

/// A file and its sections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileStorage {
    /// Its name in the folder of the version.
    pub name: String,
    /// Its length.
    pub bytes: u64,
    /// Names and lengths of its sections, in the order of the file.
    pub sections: Vec<(String, u64)>,
}

/// One table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableStorage {
    /// Its name.
    pub name: String,
    /// Its rows.
    pub rows: u64,
    /// Its file.
    pub file: FileStorage,
    /// Its columns; the last is that of home graphs, if there is one.
    pub columns: Vec<ColumnStorage>,
}

/// One column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnStorage {
    /// Its predicate; `None` for the column of home graphs.
    pub predicate: Option<TermId>,
    /// The kinds of values it takes.
    pub type_class: TypeClass,
    /// Rows with a value.
    pub rows_with_value: u64,
    /// Values.
    pub values: u64,
    /// Distinct values, if they are known: they are counted for all columns of a predicate together.
    pub distinct: Option<u64>,
    /// Whether `distinct` is exact.
    pub distinct_is_exact: bool,
    /// Number of segments by the way they are written.
    pub segments: BTreeMap<SegmentEncoding, u64>,
    /// Bytes of the segments.
    pub cell_bytes: u64,
    /// Kind and bytes of the inverse in the file, if there is one.
    pub inverse: Option<(&'static str, u64)>,
}

impl StorageReport {
    pub(crate) fn of(version: &Version) -> Self {
        Self {
            tables: version.tables.iter().map(TableStorage::of).collect(),
            quad_file: FileStorage::of(version.quad_table.file()),
            quads: version.quad_table.predicate_sizes(),
            dictionary: version
                .dictionary
                .files()
                .into_iter()
                .map(FileStorage::of)
                .collect(),
            statistics: FileStorage::of(&version.statistics_file),
            history: version.history.as_ref().map(FileStorage::of),
            log: FileStorage::of_log(version),
        }
    }

    /// Number of files.
    pub fn file_count(&self) -> usize {
        let others = usize::from(self.log.is_some()) + usize::from(self.history.is_some());
        self.tables.len() + self.dictionary.len() + 2 + others
    }

    /// Bytes of the tables.
    pub fn table_bytes(&self) -> u64 {
        self.tables.iter().map(|table| table.file.bytes).sum()
    }

    /// Bytes of the dictionary.
    pub fn dictionary_bytes(&self) -> u64 {
        self.dictionary.iter().map(|file| file.bytes).sum()
    }

    /// Bytes of the history.
    pub fn history_bytes(&self) -> u64 {
        self.history.as_ref().map_or(0, |file| file.bytes)
    }

    /// Bytes of the log.
    pub fn log_bytes(&self) -> u64 {
        self.log.as_ref().map_or(0, |log| log.bytes)
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        let quads = self.quad_file.bytes;
        let others = self.statistics.bytes + self.history_bytes() + self.log_bytes();
        self.table_bytes() + self.dictionary_bytes() + quads + others
    }
}

impl FileStorage {
    /// The log of a version, if it is on disk and has one.
    fn of_log(version: &Version) -> Option<Self> {
        let path = log::path_of_log(version.folders.dir()?, version.manifest.version);
        let bytes = std::fs::metadata(&path).ok()?.len();
        let records = bytes.saturating_sub(log::HEADER_BYTES as u64);
        Some(Self {
            name: path.file_name()?.to_string_lossy().into_owned(),
            bytes,
            sections: vec![("records".to_owned(), records)],
        })
    }

    fn of(file: &SectionFile) -> Self {
        let sections = file.section_sizes();
        Self {
            name: file.name().to_owned(),
            bytes: file.file_bytes(),
            sections: sections.map(|(n, b)| (n.to_owned(), b)).collect(),
        }
    }

    /// Bytes of a section; 0 if there is none of the name.
    pub fn section_bytes(&self, name: &str) -> u64 {
        let section = self.sections.iter().find(|(n, _)| n == name);
        section.map_or(0, |(_, bytes)| *bytes)
    }

    /// Bytes that are in no section: header, directory, trailer, and fill between sections.
    pub fn frame_bytes(&self) -> u64 {
        self.bytes - self.sections.iter().map(|(_, bytes)| bytes).sum::<u64>()
    }
}

impl TableStorage {
    fn of(table: &Table) -> Self {
        let file = FileStorage::of(table.file());
        let columns = table.columns().iter().chain(table.graph_column());
        let columns = columns.enumerate().map(|(idx, column)| {
            let inverse_bytes = file.section_bytes(&crate::table::inverse_section(idx));
            ColumnStorage::of(column, distinct_of(table, idx), inverse_bytes)
        });
        let columns: Vec<ColumnStorage> = columns.collect();
        Self {
            name: table.name().to_owned(),
            rows: u64::from(table.rows()),
            file,
            columns,
        }
    }

    /// Quads in its cells.
    pub fn quads_in_cells(&self) -> u64 {
        let columns = self.columns.iter().filter(|c| c.predicate.is_some());
        columns.map(|column| column.values).sum()
    }

    /// Bytes that belong to no column: definition, directory of segments, statistics, frame.
    pub fn other_bytes(&self) -> u64 {
        self.file.bytes - self.columns.iter().map(ColumnStorage::bytes).sum::<u64>()
    }
}

/// What is known of the cells of a column's predicate, unless that has other columns too.
fn distinct_of(table: &Table, column_idx: usize) -> Option<&CellStatistics> {
    let groups = table.predicate_columns().iter();
    let mut alone = groups.filter(|group| group.column_idxs == [column_idx]);
    alone.next().map(|group| &group.statistics)
}

impl ColumnStorage {
    fn of(column: &Column, known: Option<&CellStatistics>, inverse_bytes: u64) -> Self {
        let predicate = column.definition.predicate;
        let mut storage = Self {
            predicate: Some(predicate).filter(|p| *p != TermId::UNBOUND),
            type_class: column.definition.type_class,
            rows_with_value: 0,
            values: 0,
            distinct: known.map(|known| known.distinct),
            distinct_is_exact: known.is_some_and(|known| known.distinct_is_exact),
            segments: BTreeMap::new(),
            cell_bytes: 0,
            inverse: column
                .inverse
                .as_ref()
                .map(|inverse| (inverse.kind(), inverse_bytes)),
        };
        for (idx, entry) in column.segments.iter().enumerate() {
            storage.rows_with_value += u64::from(entry.zone.rows_with_value);
            storage.values += u64::from(entry.zone.values);
            storage.cell_bytes += entry.bytes;
            let encoding = column.segment(idx).encoding();
            *storage.segments.entry(encoding).or_default() += 1;
        }
        storage
    }

    /// Bytes of cells and inverse.
    pub fn bytes(&self) -> u64 {
        self.cell_bytes + self.inverse.map_or(0, |(_, bytes)| bytes)
    }

    /// Bits of cells for each value, 0 without values.
    pub fn bits_per_value(&self) -> f64 {
        self.cell_bytes as f64 * 8.0 / self.values.max(1) as f64
    }
}

impl TypeClass {
    /// The kinds of terms, for people: `resource`, `number`, ...; several are joined by `|`.
    pub fn describe(self) -> String {
        if self == Self::ANY {
            return "any".to_owned();
        }
        let kinds = [
            (Self::RESOURCE, "resource"),
            (Self::BOOLEAN, "boolean"),
            (Self::DATE, "date"),
            (Self::DATE_TIME, "dateTime"),
            (Self::G_YEAR, "gYear"),
            (Self::G_YEAR_MONTH, "gYearMonth"),
            (Self::TIME, "time"),
            (Self::DURATION, "dayTimeDuration"),
            (Self::STRING, "string"),
            (Self::LANGUAGE, "langString"),
            (Self::TYPED, "typed"),
            (Self::NUMERIC, "number"),
        ];
        let held = kinds.iter().filter(|(kind, _)| kind.overlaps(self));
        held.map(|(_, name)| *name).collect::<Vec<_>>().join("|")
    }
}
