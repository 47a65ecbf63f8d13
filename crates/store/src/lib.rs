//! The store: immutable versions of a quad store on disk or in memory.
//!
//! A version is a dictionary, some tables, a quad table and statistics. Dictionary and tables can
//! consist of layers, the files of several loads. The loader makes one with
//! [`VersionWriter`]; everybody else reads it through a [`Snapshot`], which can have changes made since
//! the version was written ([`delta`]). The byte formats are described in `docs/storage-format.md`.
//!
//! Invariant: a quad stands in exactly one place, a table cell, the quad table or the delta;
//! [`Snapshot::check`] verifies it. The store knows nothing of SPARQL, shapes or HTTP.

mod byte_stream;
pub mod disk;
pub mod error;
pub mod folder;
pub mod lock;
mod log;
mod manifest;
mod mapped_file;
pub mod section_file;

pub mod dictionary;
pub mod extents;
mod history;
mod inverse;
pub mod quad_table;
pub mod table;

mod backup;
mod characteristic_sets;
mod check;
mod column_pairs;
mod counting;
pub mod delta;
mod dirty_rows;
mod irregular_predicates;
mod last_open;
mod link_sources;
mod links_to;
mod matching;
mod neighbours;
mod predicate_tables;
mod rare_sets;
mod scan_blocks;
pub mod snapshot;
mod snapshot_mark;
pub mod statistics;
pub mod storage_report;
mod syncing;
mod temporary_file;
pub mod version_writer;
mod writers;

pub use backup::{BackupProgress, BackupReport, back_up};
pub use check::{CheckDepth, CheckReport};
pub use column_pairs::PredicateCells;
pub use counting::{GraphSet, PredicateGraph};
pub use delta::{
    ChangePlaces, ChangedRows, ChangedValues, DELTA_QUAD_BYTES, DeltaSize, IrregularQuads,
    NetChanges, ObjectDifferences, ObjectReader, RowState, StopCheck,
};
pub use dictionary::{Dictionary, NewLiteral, NewResource, NewTerms, TermCounts, first_word};
pub use disk::{Disk, DiskFile, RealDisk};
pub use error::StoreError;
pub use folder::{Folder, Storage};
pub use history::{ChangeKind, ColumnChange, TableChange, VersionReason, VersionRecord};
pub use lock::{Holder, StoreLock, holder_of, is_free};
pub use log::{CommitRecord, LogSync, LogWriter, Recovered, recover};
pub use manifest::BaseCounts;
pub use matching::{QuadIds, QuadPattern};
pub use neighbours::Direction;
pub use quad_table::{PredicateQuads, QuadTable};
pub use rare_sets::{KeptSet, RareSets, RareSubjects, TableSums};
pub use scan_blocks::{BlockGraphs, Predicates, QuadBlock};
pub use snapshot::Snapshot;
pub use snapshot_mark::{PredicatesMark, SnapshotMark};
pub use statistics::{CharacteristicSet, PredicateTotal, StoreStatistics};
pub use storage_report::StorageReport;
pub use table::{
    CellReader, CellStatistics, Cells, ColumnDefinition, ColumnKind, CommonRows, EncodedSegment,
    HomeGraph, SegmentValues, Table, TableDefinition, TableWriter, TypeClass, encode_segment,
};
pub use temporary_file::{TemporaryFile, TemporaryFileError, TemporaryReader};
pub use version_writer::{FinishedVersion, VersionWriter};
pub use writers::{Abandoned, abandon};

#[cfg(test)]
mod tests;
