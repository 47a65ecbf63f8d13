//! Packed values by wide instructions, where the processor has them.
//!
//! The program is compiled for any processor of its kind: on x86-64 two lanes of 64 bits, and no shift by a lane's own
//! distance. What scans spend their time in, unpacking codes and comparing them, is written once more for wider ones
//! and chosen when it runs (docs/decisions/0040-wide-instructions.md):
//!
//! ```text
//! bytes            | value 0 | value 1 | value 2 | ...        W bits each, the first from bit `phase` on
//! shuffle          lane i has the bytes from (phase + i W) / 8 on
//! shift and mask   lane i >> (phase + i W) % 8, its low W bits
//! ```
//!
//! Eight values are W bytes, so that what is shuffled and shifted in one group is so in all.
//!
//! Invariants: every way gives what [`unpack_one`](crate::packing::unpack_one) gives, value by value, which is what the
//! tests hold them against; no byte outside the slice is read. Cost: two instructions for a value, five where it has no such
//! instructions.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(test)]
mod tests;

use std::ops::Range;

/// Values that are compared at a time.
pub(crate) const SCAN_VALUES: usize = 256;
/// Positions that are written behind the last one that was found.
const BESIDE: usize = 8;
/// Values of which fewer are not worth the start: some 80 instructions for how lanes come from bytes.
const SHORT: usize = 32;
/// Widest codes that any of this is for: eight bytes from any bit on hold a whole one.
const WIDTH_MAX: u32 = 57;

/// Room for the positions of [`SCAN_VALUES`] values.
pub(crate) type Found = [u32; SCAN_VALUES + BESIDE];
/// Such room, to begin with.
pub(crate) const FOUND: Found = [0; SCAN_VALUES + BESIDE];

/// Codes from `low` to `low + span`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CodeRange {
    pub(crate) low: u64,
    pub(crate) span: u64,
}

/// Instructions that the processor has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wide {
    /// Those of any processor of its kind.
    None,
    /// AVX2: 256 bits, bytes shuffled within halves.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Wide {
    /// The widest that this processor has.
    #[inline]
    pub(crate) fn here() -> Self {
        #[cfg(target_arch = "x86_64")]
        {
            static HERE: std::sync::OnceLock<Wide> = std::sync::OnceLock::new();
            *HERE.get_or_init(|| {
                if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
                    Self::Avx2
                } else {
                    Self::None
                }
            })
        }
        #[cfg(not(target_arch = "x86_64"))]
        Self::None
    }

    /// Fills the front of `out` with `base` plus the values from `start` on, and returns how many it has filled: some are left to
    /// the caller, at least those that lie at the end of the bytes.
    #[inline]
    pub(crate) fn unpack(
        self,
        bytes: &[u8],
        width: u32,
        start: usize,
        base: u64,
        out: &mut [u64],
    ) -> usize {
        if width == 0 || width > WIDTH_MAX || out.len() < SHORT {
            return 0;
        }
        match self {
            Self::None => 0,
            // SAFETY: the processor has both, or this were another value. BENEFIT: see its file.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { avx2::unpack(bytes, width, start, base, out) },
        }
    }

    /// Writes the positions of those of at most [`SCAN_VALUES`] values whose codes are in a range to the front of `found`; returns how many
    /// values it has looked at and how many positions it has written. The rest is left to the caller, as for [`Wide::unpack`].
    #[inline]
    pub(crate) fn find(
        self,
        bytes: &[u8],
        width: u32,
        values: Range<usize>,
        codes: CodeRange,
        found: &mut Found,
    ) -> (usize, usize) {
        assert!(
            values.len() <= SCAN_VALUES,
            "more values than there is room for"
        );
        if width == 0 || width > WIDTH_MAX {
            return (0, 0);
        }
        match self {
            Self::None => (0, 0),
            // SAFETY: the processor has both, or this were another value. BENEFIT: see its file.
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => unsafe { avx2::find(bytes, width, values, codes, found) },
        }
    }
}
