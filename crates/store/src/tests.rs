//! Whole versions: written, read back, searched, damaged.

mod changed_values;
mod common_rows;
mod counts;
mod damage;
mod delta;
mod delta_terms;
mod directory;
mod graph_rows;
mod invariants;
mod large;
mod layers;
mod many_predicates;
mod neighbours;
mod patterns;
mod splitter;
mod storage;
