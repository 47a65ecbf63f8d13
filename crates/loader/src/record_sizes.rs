//! How long the records of texts in a file are, a byte for each.
//!
//! ```text
//! byte: exponent (5 bits) | mantissa (3 bits)     stands for (8 + mantissa) << exponent, an upper bound
//! ```
//!
//! So texts that are to be put in order can be cut into runs that fit in memory before any is read. A bound is
//! at most an eighth above the size.
//!
//! Invariant: what [`RecordSizes::get`] says is never less than what was noted.
//! Memory: a byte for each ordinal.

/// Bits of the mantissa.
const MANTISSA_BITS: u32 = 3;
/// What is always added to the mantissa.
const HIDDEN: u64 = 1 << MANTISSA_BITS;

/// Upper bounds of the sizes of records by ordinal.
#[derive(Debug, Default)]
pub(crate) struct RecordSizes {
    codes: Vec<u8>,
}

impl RecordSizes {
    /// Notes the record of an ordinal.
    #[inline]
    pub(crate) fn note(&mut self, ordinal: u32, bytes: usize) {
        let at = ordinal as usize;
        if self.codes.len() <= at {
            self.codes.resize(at + 1, 0);
        }
        self.codes[at] = code(bytes);
    }

    /// What the record of an ordinal takes at most, in bytes.
    #[inline]
    pub(crate) fn get(&self, ordinal: u32) -> u64 {
        let code = self.codes.get(ordinal as usize).copied().unwrap_or(0);
        (HIDDEN + u64::from(code) % HIDDEN) << (code >> MANTISSA_BITS)
    }
}

/// The least code that stands for at least so many bytes.
#[inline]
fn code(bytes: usize) -> u8 {
    let bytes = (bytes as u64).max(HIDDEN);
    let exponent = bytes.ilog2() - MANTISSA_BITS;
    // Rounded up; a mantissa that overflows becomes the next exponent.
    let mantissa = bytes.div_ceil(1 << exponent) - HIDDEN;
    // Texts have at most 2^32 bytes, so the sum fits.
    ((exponent << MANTISSA_BITS) as u64 + mantissa) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(code: u8) -> u64 {
        RecordSizes { codes: vec![code] }.get(0)
    }

    #[test]
    fn a_code_is_the_least_bound() {
        let sizes = (0..5_000).chain((12..32).flat_map(|b| [(1 << b) - 1, 1 << b, (1 << b) + 1]));
        for bytes in sizes.chain([u32::MAX as usize + 12]) {
            let code = code(bytes);
            assert!(bytes as u64 <= decoded(code), "{bytes}");
            if code > 0 {
                assert!(decoded(code - 1) < bytes as u64, "{bytes}");
            }
            assert!(decoded(code) <= (bytes as u64 * 9 / 8).max(8), "{bytes}");
        }
    }

    #[test]
    fn sizes_are_kept_by_ordinal() {
        let mut sizes = RecordSizes::default();
        sizes.note(70, 15);
        sizes.note(5, 112);
        assert_eq!((sizes.get(70), sizes.get(5)), (15, 112));
        assert_eq!((sizes.get(6), sizes.get(71)), (8, 8));
    }
}
