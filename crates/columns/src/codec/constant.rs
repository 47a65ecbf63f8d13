//! Codec: one value, however long the sequence.
//!
//! ```text
//! header (widths 0) | value u64
//! ```
//!
//! The empty sequence is a constant 0 of length 0. Cost: nothing per value.

use crate::ColumnError;
use crate::packing::load;

/// Bytes of the body.
pub(super) const SIZE: usize = 8;

/// Appends the body and returns the widths for the header.
pub(super) fn write(values: &[u64], out: &mut Vec<u8>) -> [u8; 3] {
    let value = values.first().copied().unwrap_or(0);
    debug_assert!(values.iter().all(|&other| other == value));
    out.extend_from_slice(&value.to_le_bytes());
    [0; 3]
}

/// Reads the value and moves `at` behind it.
pub(super) fn open(bytes: &[u8], at: &mut usize) -> Result<u64, ColumnError> {
    if bytes.len() < *at + SIZE {
        return Err(ColumnError::corrupt("constant without its value"));
    }
    let value = load(bytes, *at);
    *at += SIZE;
    Ok(value)
}
