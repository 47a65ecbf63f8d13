//! Tables: the regular part of a version.
//!
//! A table holds the rows of one shape. Its rows are one extent of resource ordinals, so a
//! subject is not stored: `ordinal = first_ordinal + row`. A column holds the values of one
//! predicate and type class; [`Cells`] shows all columns of a predicate as one. A column is cut
//! into segments; the directory of segments with their zones stays in memory (some fifty bytes
//! for each 16,384 cells), the cells themselves are read from the map.
//!
//! Invariants: a row stands for a subject in its home graph; a cell holds a value at most once;
//! cells and quad table never hold the same quad.

mod cell_reader;
mod cells;
mod column;
mod common_rows;
mod definition;
mod distinct;
mod encoded_segment;
mod format;
mod reader;
mod scattered_rows;
mod value_search;
mod writer;

pub use cell_reader::CellReader;
pub use cells::Cells;
pub(crate) use column::Column;
pub use common_rows::CommonRows;
pub use definition::{
    CellStatistics, ColumnDefinition, ColumnKind, HomeGraph, TableDefinition, TypeClass,
};
pub use encoded_segment::{EncodedSegment, SegmentValues, encode_segment};
pub use reader::Table;
pub use writer::TableWriter;
pub(crate) use writer::inverse_section;

/// The name of a table's file.
pub(crate) fn file_name(table_idx: usize) -> String {
    format!("table-{table_idx:05}")
}
