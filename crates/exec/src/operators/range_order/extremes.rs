//! `RangeExtremes`: where the least or greatest value of a column stands in any stretch of a range order.
//!
//! ```text
//! words    3 9 4 1 | 7 7 2 8 | 5 6 0 3 |       blocks of some places
//! level 0  the best place of each block        level 1  of two blocks, level 2  of four, ..
//! ```
//!
//! A stretch is two parts of blocks, which are looked through, and two spans of whole blocks, which may overlap. That is what running and moving
//! extremes ask for: a stretch for each row. Of equal values the first place counts. Cost: eight bytes for a row and a word for each of its blocks' spans; some
//! tens of nanoseconds a stretch.

use crate::value::{POWERS, ShortNumber, ordered_as_ids, ordered_bits};
use std::ops::Range;

/// Places of a block.
const BLOCK: usize = 32;
/// The bit that tells negative words.
const SIGN: u64 = 1 << 63;

/// See the [module documentation](self).
pub struct RangeExtremes {
    /// By place; the least is wanted.
    words: Vec<u64>,
    /// The best places of 2^level blocks, from each block on.
    levels: Vec<Vec<u32>>,
}

impl RangeExtremes {
    /// Bytes for each row, at most.
    pub const BYTES_FOR_ROW: usize = size_of::<u64>() + 4;

    /// Of ids by place; `None` if their order is not told by words.
    pub fn of(ids: impl Iterator<Item = u64> + Clone, greatest: bool) -> Option<Self> {
        let mut words = words_of(ids)?;
        if greatest {
            words.iter_mut().for_each(|word| *word = !*word);
        }
        let best = |range: Range<usize>| best_of(&words, range).unwrap_or_default();
        let starts = (0..words.len()).step_by(BLOCK);
        let first = starts.map(|start| best(start..(start + BLOCK).min(words.len())) as u32);
        let mut levels = vec![first.collect::<Vec<u32>>()];
        while let Some(last) = levels.last()
            && let span = 1 << (levels.len() - 1)
            && last.len() > span
        {
            let both = |(&a, &b): (&u32, &u32)| better(&words, a as usize, b as usize) as u32;
            let next = last.iter().zip(&last[span..]).map(both).collect();
            levels.push(next);
        }
        Some(Self { words, levels })
    }

    /// The place of the best of a stretch that is not empty.
    pub fn place(&self, stretch: Range<usize>) -> usize {
        let (first, end) = (stretch.start.div_ceil(BLOCK), stretch.end / BLOCK);
        if first >= end {
            return best_of(&self.words, stretch).unwrap_or_default();
        }
        let level = (end - first).ilog2() as usize;
        let blocks = &self.levels[level];
        let spans = [first, end - (1 << level)].map(|block| blocks[block] as usize);
        let sides = [stretch.start..first * BLOCK, end * BLOCK..stretch.end];
        let [before, after] = sides.map(|side| best_of(&self.words, side));
        let places = before.into_iter().chain(spans).chain(after);
        let best = places.reduce(|a, b| better(&self.words, a, b));
        best.unwrap_or(stretch.start)
    }
}

/// The better of two places, of which the first stands before the other.
fn better(words: &[u64], a: usize, b: usize) -> usize {
    if words[b] < words[a] { b } else { a }
}

fn best_of(words: &[u64], range: Range<usize>) -> Option<usize> {
    range.min_by_key(|&place| words[place])
}

/// Words in the order of values: of integers and decimals, of floats and doubles without NaN, or of terms whose ids are ordered as they are.
fn words_of(ids: impl Iterator<Item = u64> + Clone) -> Option<Vec<u64>> {
    let mut scale = 0;
    let numbers = ids.clone().map(ShortNumber::of_id);
    match numbers.clone().next()? {
        Some(ShortNumber::Exact { .. }) => {
            for number in numbers.clone() {
                scale = number?.exact()?.1.max(scale);
            }
            let word = |number: Option<ShortNumber>| {
                let (mantissa, own) = number?.exact()?;
                let power = POWERS[usize::from(scale - own)];
                Some(mantissa.checked_mul(power)? as u64 ^ SIGN)
            };
            numbers.map(word).collect()
        }
        Some(_) => {
            let word = |number: Option<ShortNumber>| match number? {
                ShortNumber::Floating { value, .. } => {
                    (!value.is_nan()).then(|| ordered_bits(value))
                }
                _ => None,
            };
            numbers.map(word).collect()
        }
        None => {
            let first = ids.clone().next()?;
            let word = |id: u64| (id != 0 && ordered_as_ids(first, id)).then_some(id);
            ids.map(word).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::INTEGER;
    use basalt_rdf::TermId;
    use basalt_rdf::qualifiers::DECIMAL;
    use basalt_rdf::term_id::tag;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn places_are_those_of_looking_at_all(
            values in prop::collection::vec(-50_i64..50, 1..400),
            kind in 0..3_u8,
            stretches in prop::collection::vec((0..400_usize, 0..400_usize), 20),
        ) {
            let id = |&value: &i64| match kind {
                0 => TermId::numeric(INTEGER, value, 0).map_or(0, |id| id.0),
                // Of two scales.
                1 => TermId::numeric(DECIMAL, value * 10 + 1, 1 + (value & 1) as u8).map_or(0, |id| id.0),
                _ => TermId::new(tag::DATE, ((value + 1_000) as u64) << 12).0,
            };
            let of_value = |value: i64| match kind {
                1 if value & 1 == 0 => (value * 10 + 1) * 10,
                1 => value * 10 + 1,
                _ => value,
            };
            let ids: Vec<u64> = values.iter().map(id).collect();
            let [least, greatest] = [false, true].map(|greatest| RangeExtremes::of(ids.iter().copied(), greatest).expect("words tell"));
            for (a, b) in stretches {
                let (a, b) = (a % values.len(), b % values.len());
                let stretch = a.min(b)..a.max(b) + 1;
                let value = |place: usize| of_value(values[place]);
                prop_assert_eq!(least.place(stretch.clone()), stretch.clone().min_by_key(|&place| value(place)).expect("not empty"));
                prop_assert_eq!(greatest.place(stretch.clone()), stretch.clone().min_by_key(|&place| -value(place)).expect("not empty"));
            }
        }
    }

    #[test]
    fn what_words_do_not_tell_has_none() {
        let number = TermId::numeric(INTEGER, 3, 0).map_or(0, |id| id.0);
        let text = TermId::new(tag::STRING, 3).0;
        for ids in [
            vec![number, text],
            vec![text, text],
            vec![number, 0],
            vec![0],
        ] {
            assert!(RangeExtremes::of(ids.iter().copied(), false).is_none());
        }
    }
}
