//! Encodings: how columns of 64-bit values stand in immutable, mapped files.
//!
//! The lowest crate beside `rdf`: the store writes and reads every column, offset array and
//! permutation through it. Values are plain `u64`, 0 means absent; nothing here knows what a value
//! stands for. [`codec`] encodes one sequence of values, [`segment`] puts the cells of one column
//! for up to [`SEGMENT_ROWS`] rows together from sequences, [`bitmap`] stores sets of rows.
//!
//! Invariants: everything is little-endian and needs no alignment; everything is random-access, so
//! reading one cell never decodes a segment; opening checks every size in constant time, and bytes
//! that are damaged behind that give wrong values of the right count, never a panic.
//!
//! The byte layouts are drawn at the head of each codec's file.

pub mod bitmap;
pub mod codec;
mod error;
mod gallop;
mod packed_sum;
pub mod packing;
mod prefetch;
mod row_bits;
pub mod segment;
mod wide;

pub use error::ColumnError;
pub use gallop::gallop;
pub use prefetch::{PREFETCH_ROWS, prefetch};
pub use row_bits::RowBits;

/// Rows of a full segment: 16 Ki rows of 8 bytes fit a 256 KiB second-level cache with room for a
/// second column, and a row number inside a segment fits 16 bits.
pub const SEGMENT_ROWS: usize = 16_384;
