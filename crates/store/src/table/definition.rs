//! What a table is: its extent, its columns, its graph.
//!
//! The loader fills a [`TableDefinition`] in; the table's file keeps it. [`TypeClass`] decides
//! which column of a predicate takes a value, so classes of columns of one predicate never
//! overlap.

use basalt_rdf::TermId;
use basalt_rdf::term_id::tag;
use std::ops::BitOr;

/// A set of kinds of terms.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeClass(u16);

impl TypeClass {
    /// IRIs and blank nodes.
    pub const RESOURCE: Self = Self(1);
    /// Inline booleans.
    pub const BOOLEAN: Self = Self(1 << 1);
    /// Inline dates.
    pub const DATE: Self = Self(1 << 2);
    /// Inline instants.
    pub const DATE_TIME: Self = Self(1 << 3);
    /// Inline years.
    pub const G_YEAR: Self = Self(1 << 4);
    /// Inline months of a year.
    pub const G_YEAR_MONTH: Self = Self(1 << 5);
    /// Plain strings.
    pub const STRING: Self = Self(1 << 6);
    /// Language-tagged strings.
    pub const LANGUAGE: Self = Self(1 << 7);
    /// Other literals of the dictionary.
    pub const TYPED: Self = Self(1 << 8);
    /// Inline numbers.
    pub const NUMERIC: Self = Self(1 << 9);
    /// `xsd:time`.
    pub const TIME: Self = Self(1 << 10);
    /// `xsd:dayTimeDuration`.
    pub const DURATION: Self = Self(1 << 11);
    /// Every kind of term.
    pub const ANY: Self = Self((1 << 12) - 1);

    /// The class of one id; no class for ids that no cell can hold.
    pub const fn of(id: TermId) -> Self {
        match id.tag() {
            tag::RESOURCE => Self::RESOURCE,
            tag::BOOLEAN => Self::BOOLEAN,
            tag::DATE => Self::DATE,
            tag::DATE_TIME | tag::DATE_TIME_MILLIS | tag::DATE_TIME_MICROS => Self::DATE_TIME,
            tag::TIME => Self::TIME,
            tag::DURATION | tag::DURATION_MICROS => Self::DURATION,
            tag::G_YEAR => Self::G_YEAR,
            tag::G_YEAR_MONTH => Self::G_YEAR_MONTH,
            tag::STRING => Self::STRING,
            tag::LANGUAGE => Self::LANGUAGE,
            tag::TYPED => Self::TYPED,
            tag::NUMERIC..=tag::NUMERIC_LAST => Self::NUMERIC,
            _ if id.is_binary_double() => Self::NUMERIC,
            _ => Self(0),
        }
    }

    /// Whether a term of this id belongs here.
    pub const fn takes(self, id: TermId) -> bool {
        self.0 & Self::of(id).0 != 0
    }

    /// Whether the two have a kind in common.
    pub const fn overlaps(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The set as bits.
    pub(crate) const fn bits(self) -> u16 {
        self.0
    }

    /// The set of these bits; `None` if one has no meaning or there is none.
    pub(crate) const fn from_bits(bits: u16) -> Option<Self> {
        if bits == 0 || bits & !Self::ANY.0 != 0 {
            None
        } else {
            Some(Self(bits))
        }
    }
}

impl BitOr for TypeClass {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

/// How many values a cell of a column can hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColumnKind {
    /// One at most.
    Single,
    /// Any number.
    List,
}

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnDefinition {
    /// The predicate.
    pub predicate: TermId,
    /// The kinds of values it takes.
    pub type_class: TypeClass,
    /// One value for each row or many.
    pub kind: ColumnKind,
    /// Whether to build an inverse when the table is finished.
    pub wants_inverse: bool,
    /// The table most of its values are rows of.
    pub link_target: Option<usize>,
}

/// The home graph of the rows of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HomeGraph {
    /// The same for all rows.
    Constant(TermId),
    /// One for each row, given by [`TableWriter::graph_segment`](super::TableWriter::graph_segment).
    Column,
}

/// A table, before its cells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableDefinition {
    /// Name, for people.
    pub name: String,
    /// The classes that its rows have in common, if known.
    pub classes: Vec<TermId>,
    /// Resource ordinal of row 0.
    pub first_ordinal: u64,
    /// Number of rows.
    pub rows: u32,
    /// The columns.
    pub columns: Vec<ColumnDefinition>,
    /// The graph of the rows.
    pub home_graph: HomeGraph,
}

/// What is known of the cells of one predicate in one table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CellStatistics {
    /// Rows with at least one value.
    pub rows_with_value: u64,
    /// Values.
    pub values: u64,
    /// Distinct values; see `distinct_is_exact`.
    pub distinct: u64,
    /// Whether the distinct values were counted. Otherwise `distinct` is a HyperLogLog estimate
    /// with a standard error below two percent.
    pub distinct_is_exact: bool,
    /// Smallest and largest value.
    pub range: Option<(TermId, TermId)>,
    /// Values that are rows of a table, by table; known for columns with an inverse.
    pub links: Vec<(usize, u64)>,
}
