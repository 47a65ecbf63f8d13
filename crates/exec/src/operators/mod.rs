//! Operators: pull-based, vectorised, one file each, named by their EXPLAIN word.
//!
//! [`build`] turns a plan node into a tree of operators. A batch that comes out is never empty. The
//! breakers ([`Group`](group), [`OrderBy`](order_by), [`Distinct`](distinct), the build side of
//! [`HashJoin`](hash_join)) read their input through [`pipeline::drain`], which runs it on several
//! threads where that pays.

pub mod answered;
pub mod build;
pub mod build_side;
pub mod count_join;
pub mod count_scan;
pub mod cut_off;
mod date_ranks;
pub mod dependent;
mod digit_sort;
pub mod distinct;
mod early_cut;
pub mod exists;
mod exists_many;
pub mod extend;
pub(crate) mod fallible_sort;
pub mod filter;
pub mod first_rows;
pub mod group;
pub mod hash_join;
mod input_rows;
mod join_column;
pub mod join_directory;
mod join_partitioned;
mod join_parts;
pub mod join_table;
pub mod key_filter;
mod key_parts;
mod key_words;
mod keyed_rows;
pub mod late_rows;
pub mod lateral_join;
pub mod merge_join;
pub mod merge_side;
pub mod minus;
pub mod object_quads;
pub mod order_by;
pub mod output;
pub mod pairing;
pub mod partial_distinct;
pub mod path_at_once;
mod path_join;
mod path_nodes;
mod path_runs;
pub mod pattern_join;
pub mod pattern_scan;
pub mod peeked;
pub mod pieces;
pub mod pipeline;
pub mod profiled;
pub mod project;
pub mod range_order;
mod reduced;
pub(crate) mod reserve;
mod row_keys;
pub mod row_quads;
pub mod rows;
mod scan_thread;
pub mod service;
mod shared_cells;
mod shared_cut;
mod shared_ids;
pub mod shared_rows;
pub mod slice;
pub mod slice_per;
mod sort_places;
pub mod sort_ranks;
pub mod sort_runs;
pub mod spilled_join;
pub mod spilled_merge;
pub mod spool;
mod text_arena;
mod text_sort;
pub mod union;
pub mod without_room;

#[cfg(test)]
mod tests;

use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;

/// A running operator.
pub trait Operator: Send {
    /// The next rows; `None` at the end. Never an empty batch.
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError>;
}

/// An operator whose type does not matter.
pub type BoxOperator = Box<dyn Operator>;
