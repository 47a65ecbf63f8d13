//! `Span`: all values between some positions, decoded at once, where that takes less than finding each.

use std::ops::Range;

/// Fewer positions are found one by one.
const POSITIONS_MIN: usize = 8;

/// Positions that are near each other; see the [module documentation](self).
pub(super) struct Span<'p> {
    positions: &'p [u32],
    /// From the least of them to the greatest.
    range: Range<usize>,
}

impl<'p> Span<'p> {
    /// If there are at most `values_max` values for each position.
    pub(super) fn worth_decoding(positions: &'p [u32], values_max: usize) -> Option<Self> {
        if positions.len() < POSITIONS_MIN {
            return None;
        }
        let first = *positions.iter().min()? as usize;
        let last = *positions.iter().max()? as usize;
        let range = first..last + 1;
        let is_worth = range.len() <= positions.len().saturating_mul(values_max);
        is_worth.then_some(Self { positions, range })
    }

    /// Appends the values at the positions; `decode` appends those of a range.
    pub(super) fn gather(
        &self,
        decode: impl FnOnce(Range<usize>, &mut Vec<u64>),
        out: &mut Vec<u64>,
    ) {
        let first = self.range.start;
        let mut all = Vec::with_capacity(self.range.len());
        decode(self.range.clone(), &mut all);
        let values = self
            .positions
            .iter()
            .map(|&position| all[position as usize - first]);
        out.extend(values);
    }
}
