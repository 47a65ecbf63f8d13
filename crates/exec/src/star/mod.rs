//! Evaluation of stars: the triple patterns of a query that share a subject.
//!
//! Rows of a table that are *clean* for every predicate of the star are answered from cells, column
//! by column ([`cells`]); *dirty* rows and subjects that are in no table are answered pattern by
//! pattern from cells and irregular quads together ([`general`]). Rows and new subjects that only the
//! delta touches are read as columns too ([`changed`]), without those of very many values ([`large`]). Large products of values come in [`parts`]. [`scan`] finds subjects itself,
//! [`join`] takes them from input rows, each distinct key once where keys repeat ([`repeated_keys`], [`shared_solutions`]).
//!
//! Invariant (D1, D7): a quad is in one place, and a row with an irregular quad of predicate p is
//! in the table's dirty rows of p. Hence clean rows need no look at the quad table, and both ways
//! together give each solution once.

pub mod cells;
pub mod changed;
pub mod compiled;
pub mod entry_rows;
pub mod general;
pub mod interval;
pub mod join;
pub mod known_rows;
pub mod large;
pub mod matches;
pub mod morsels;
pub mod parts;
pub mod reducer;
pub mod repeated_keys;
pub mod row_run;
pub mod scan;
pub mod shared_solutions;
pub mod touched;

pub use compiled::CompiledStar;
pub use join::Waves;
pub use matches::Matches;
pub use morsels::RARE_GRAPH;
pub use repeated_keys::SharedKeys;
