//! How many rows: stars from per-table and characteristic-set statistics, patterns and paths from
//! totals of predicates, conditions from ranges and distinct counts.
//!
//! Between the units of a join group, rows multiply and each shared slot divides by the larger
//! number of distinct values *before* conditions, so that a filtered dimension filters the facts.

mod closure;
pub(crate) mod condition;
pub(crate) mod graph;
pub(crate) mod groups;
pub(crate) mod path;
pub(crate) mod pattern;
pub(crate) mod star;
pub(crate) mod star_access;
pub(crate) mod star_rows;

pub use condition::reads_texts;
