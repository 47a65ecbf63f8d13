//! The bulk loader: RDF files in, one new version of a store out.
//!
//! [`load()`] reads the inputs on several threads, gives terms provisional numbers, groups the quads
//! by subject, lets `basalt-shapes` discover tables, renumbers terms so that the rows of a table
//! are a run of resource ordinals, and writes the version through `basalt-store`. The stages are
//! described with an example in `docs/life-of-a-load.md`. A load into a store that has data adds a layer
//! of new files (`append`), or now and then rewrites the store.
//!
//! Invariants: nothing is visible until the commit at the end, so a failed load leaves the store as
//! it was; every distinct quad of the inputs (and of the old version) stands in the new version
//! exactly once, in a cell or in the quad table.

pub mod error;
pub mod options;
pub mod progress;
pub mod report;

mod append;
mod blank_nodes;
mod cancel;
mod collect;
mod encoder;
mod errors_file;
mod fill;
mod first_ordinals;
mod gather;
mod grouped;
mod held_quads;
mod irregular;
mod load;
mod load_counters;
mod numbering;
mod old_version;
mod packed_quads;
mod parallel;
mod parse;
mod placement;
mod quad_blocks;
mod record_sizes;
mod rewrite;
mod rows;
mod skipped_lines;
mod spill;
mod statistics;
mod term_batch;
mod term_index;
mod term_table;
mod text_order;
mod text_slabs;
mod texts;
mod write_terms;

#[cfg(test)]
mod tests;

pub use append::RewriteReason;
pub use blank_nodes::BlankNodes;
pub use cancel::CancelFlag;
pub use error::LoadError;
pub use load::{load, load_into, load_with};
pub use load_counters::{LoadCounters, LoadState};
#[doc(hidden)]
pub use options::SpillSettings;
pub use options::{Addition, Input, InputSource, Layout, LoadOptions};
pub use progress::{NoProgress, Phase, Progress};
pub use report::{LoadReport, TableReport};
pub use rewrite::{NoEdits, QuadEdits, Rewritten, rewrite, rewrite_with};
pub use spill::available_bytes;
