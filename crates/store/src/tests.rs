//! Whole versions: written, read back, searched, damaged.

mod counts;
mod damage;
mod directory;
mod invariants;
mod large;
mod layers;
mod neighbours;
mod patterns;
mod splitter;
mod storage;
