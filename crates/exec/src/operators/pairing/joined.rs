//! The rows that pairs make.

use super::{Pairing, Pairs};
use crate::batch::Batch;
use crate::computed_numbers::ComputedNumbers;
use crate::operators::hash_join::Source;

impl Pairing {
    /// The joined rows; a build row of `u32::MAX` is the missing partner of an outer join.
    pub(super) fn joined(&self, batch: &Batch, pairs: &Pairs, sources: &[Source]) -> Batch {
        let mut joined = Batch::of_rows(pairs.probe.len());
        for source in sources {
            joined = match *source {
                Source::Probe(column) => joined.with_taken(batch, column, &pairs.probe),
                Source::Build(column) => match self.table.numbers(column) {
                    Some(numbers) if pairs.have_partners() => {
                        joined.with_numbers(ComputedNumbers::of_others(numbers, &pairs.build))
                    }
                    _ => {
                        let ids = self.table.column(column);
                        let rows = pairs.build.iter();
                        joined.with_column(rows.map(|&row| built(ids, row)).collect())
                    }
                },
                Source::Either(p, b) => {
                    let (ids, other) = (batch.ids(p), self.table.column(b));
                    let either = |(&p_row, &b_row): (&u32, &u32)| match ids[p_row as usize] {
                        0 => built(other, b_row),
                        id => id,
                    };
                    let rows = pairs.probe.iter().zip(&pairs.build);
                    joined.with_column(rows.map(either).collect())
                }
                Source::Set(place) => {
                    joined.with_column(self.told(pairs, self.shape.partners[place]))
                }
                Source::Nowhere => joined.with_column(vec![0; pairs.probe.len()]),
            };
        }
        joined
    }
}

/// The value of a build row in a column; 0 of a missing partner.
#[inline]
pub(super) fn built(ids: &[u64], row: u32) -> u64 {
    match row {
        u32::MAX => 0,
        row => ids[row as usize],
    }
}
