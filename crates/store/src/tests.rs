//! Whole versions: written, read back, searched, damaged.

mod damage;
mod directory;
mod invariants;
mod large;
mod neighbours;
mod patterns;
mod splitter;
