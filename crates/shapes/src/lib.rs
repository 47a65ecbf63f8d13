//! Discovery of the tables hidden in RDF data: characteristic sets in, a schema out.
//!
//! The crate is pure: it reads no file and keeps no store. The loader streams every subject with
//! its quads through a [`Collector`], counts links between characteristic sets in a [`LinkCounter`],
//! and asks [`discover()`] for a [`Schema`]: which subjects become rows of which table, and which
//! predicates become columns; or, beside tables that exist, [`discover_parts`]. How the merging works and where the thresholds come from is told in
//! `docs/shapes.md`.
//!
//! Invariants: every characteristic set belongs to at most one table; equal input in equal order
//! gives an equal schema, whatever the numbers of the terms are (ties are broken by order of
//! appearance and by name, never by term id).
//!
//! Cost: one hash lookup per subject and a few additions per quad for the collection; the merging
//! works on characteristic sets, not on subjects. There are thousands of them, or, where every subject has predicates of its own, as many as
//! subjects; so nothing compares a set with every table (`holders.rs`).

mod adoption;
mod categories;
mod charsets;
mod classes;
mod columns;
mod discover;
mod fast_map;
mod groups;
mod holders;
mod links;
mod naming;
mod parts;
mod schema;
mod settings;
mod similarity;
mod subject_sums;
mod type_class;

#[cfg(test)]
mod tests;

pub use charsets::{
    CharacteristicSets, Charset, CharsetIdx, Collector, PredicateCounts, TypeCounter,
};
pub use columns::one_table;
pub use discover::discover;
pub use fast_map::{FastMap, MixHasher};
pub use links::{LinkCounter, Links};
pub use naming::{Names, local_name, namespace};
pub use parts::{KnownColumn, KnownShape, discover_parts};
pub use schema::{ColumnShape, Schema, TableShape, Trial};
pub use settings::Settings;
pub use type_class::TypeClass;
