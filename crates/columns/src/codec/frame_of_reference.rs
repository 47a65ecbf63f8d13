//! Codec: the least value as base and bit-packed differences from it.
//!
//! ```text
//! header (width A: bits of a difference) | base u64 | packed differences
//! ```
//!
//! Cost: one load per value; filters compare the packed codes. The view is the packed values
//! themselves.

use super::Profile;
use crate::packing::Packed;

/// Exact bytes of the body.
pub(super) fn size(profile: &Profile) -> usize {
    Packed::size(profile.len, profile.min, profile.max)
}

/// Appends the body and returns the widths for the header.
pub(super) fn write(values: &[u64], out: &mut Vec<u8>) -> [u8; 3] {
    [Packed::write(values, out), 0, 0]
}
