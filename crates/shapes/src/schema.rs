//! What discovery finds: tables with columns, and the table of every characteristic set.

use crate::type_class::TypeClass;

/// The tables of a data set.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Schema {
    /// The tables, largest class groups first in order of appearance.
    pub tables: Vec<TableShape>,
    /// For each characteristic set, the index of its table.
    pub charset_to_table: Vec<Option<usize>>,
    /// The similarity threshold that was used.
    pub threshold: f64,
    /// The trials that led to the threshold; empty if nothing was left to be merged by similarity.
    pub trials: Vec<Trial>,
}

/// One table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableShape {
    /// A readable name, unique in the schema.
    pub name: String,
    /// The class shared by the rows, as the term id that the collector saw.
    pub class: Option<u64>,
    /// The columns, sorted by predicate, then type class.
    pub columns: Vec<ColumnShape>,
    /// Number of subjects that are rows.
    pub rows: u64,
    /// The characteristic sets merged into this table, ascending.
    pub charsets: Vec<u32>,
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnShape {
    /// The predicate, as the index that the collector saw.
    pub predicate: u32,
    /// The class of the values.
    pub type_class: TypeClass,
    /// Whether a cell holds a list.
    pub multi_valued: bool,
    /// Share of rows with at least one value.
    pub fill: f64,
    /// The table that (nearly) all values are rows of.
    pub link_target: Option<usize>,
}

/// The outcome of merging with one similarity threshold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Trial {
    /// The threshold.
    pub threshold: f64,
    /// Tables kept.
    pub tables: usize,
    /// Share of the quads that would be in cells.
    pub coverage: f64,
    /// Share of cells that would be filled.
    pub fill: f64,
}
