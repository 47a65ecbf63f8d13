//! Sorting rows by ranks that fit into one word together with the row's position.
//!
//! ```text
//! ranks of each key -> bits in which they differ -> | first key | second key | position |
//! words -> sorted by eight bits at a time, from the lowest of the keys on -> positions
//! ```
//!
//! Most sorts are like this: ranks lie close together (a price needs 24 bits, one of 300 vendors 9), and a position 20 among a million. Words are
//! in the order of their positions before, and each pass keeps the order of equal digits, so the sort is stable (Knuth, The Art of Computer
//! Programming 3, 5.2.5).
//!
//! Cost: a pass over the words for each eight bits of the keys that differ, 1.5 to 3 ns a word; two words a row.

use crate::context::Context;
use crate::error::ExecError;
use std::ops::Range;

/// Bits of a digit: as many places to write to as the nearest cache has lines for.
const DIGIT_BITS: u32 = 8;
const DIGITS: usize = 1 << DIGIT_BITS;
/// Fewer words are sorted by comparing.
const FEW_WORDS: usize = 512;
/// Words between two looks at the query's flag and clock.
const CHECK_WORDS: usize = 1 << 16;

/// The codes of one key: as its ranks are ordered, from 0 on.
struct Codes<'r> {
    ranks: &'r [u64],
    /// The least rank that is neither 0 nor the greatest there can be: those, which are unbound, lie far from all others.
    first: u64,
    /// Lower bits in which all those are the same.
    same_bits: u32,
    bits: u32,
}

impl<'r> Codes<'r> {
    fn of(ranks: &'r [u64], cx: &Context) -> Result<Self, ExecError> {
        let (mut first, mut last, mut any, mut all) = (u64::MAX, 0, 0, u64::MAX);
        for ranks in ranks.chunks(CHECK_WORDS) {
            cx.check()?;
            for &rank in ranks.iter().filter(|&&rank| rank != 0 && rank != u64::MAX) {
                first = first.min(rank);
                last = last.max(rank);
                any |= rank;
                all &= rank;
            }
        }
        // Lower bits that are set in all or in none.
        let same_bits = (any ^ all).trailing_zeros() % u64::BITS;
        // One code before all, one behind.
        let greatest = (last.saturating_sub(first) >> same_bits).saturating_add(2);
        Ok(Self {
            ranks,
            first,
            same_bits,
            bits: u64::BITS - greatest.leading_zeros(),
        })
    }

    fn code(&self, row: usize) -> u64 {
        match self.ranks[row] {
            0 => 0,
            u64::MAX => (1 << self.bits) - 1,
            rank => ((rank - self.first) >> self.same_bits) + 1,
        }
    }
}

/// The order of rows by their ranks, a column for each key; `None` if they do not fit into words.
pub fn order_by_digits(
    ranks: &[Vec<u64>],
    rows: usize,
    cx: &Context,
) -> Result<Option<Vec<u32>>, ExecError> {
    let position_bits = u64::BITS - (rows as u64).leading_zeros();
    let mut columns = Vec::with_capacity(ranks.len());
    let mut bits = position_bits;
    for ranks in ranks {
        let codes = Codes::of(ranks, cx)?;
        bits += codes.bits;
        if bits > u64::BITS {
            return Ok(None);
        }
        columns.push(codes);
    }
    let word = |row: usize| {
        let keys = columns
            .iter()
            .fold(0, |word, codes| word << codes.bits | codes.code(row));
        keys << position_bits | row as u64
    };
    let mut words: Vec<u64> = Vec::with_capacity(rows);
    for start in (0..rows).step_by(CHECK_WORDS) {
        cx.check()?;
        words.extend((start..rows.min(start + CHECK_WORDS)).map(word));
    }
    sort_words(&mut words, position_bits..bits, cx)?;
    let position = |word: &u64| (word & ((1 << position_bits) - 1)) as u32;
    Ok(Some(words.iter().map(position).collect()))
}

/// Sorts words that differ in these bits, and below them are ascending.
fn sort_words(words: &mut Vec<u64>, bits: Range<u32>, cx: &Context) -> Result<(), ExecError> {
    if words.len() < FEW_WORDS {
        words.sort_unstable();
        return Ok(());
    }
    let mut sorted = vec![0; words.len()];
    for shift in bits.step_by(DIGIT_BITS as usize) {
        let digit = |word: u64| (word >> shift) as usize % DIGITS;
        let mut next = [0_usize; DIGITS];
        for words in words.chunks(CHECK_WORDS) {
            cx.check()?;
            words.iter().for_each(|&word| next[digit(word)] += 1);
        }
        if next.contains(&words.len()) {
            continue;
        }
        let mut start = 0;
        for next in &mut next {
            start += std::mem::replace(next, start);
        }
        for words in words.chunks(CHECK_WORDS) {
            cx.check()?;
            for &word in words {
                let place = &mut next[digit(word)];
                sorted[*place] = word;
                *place += 1;
            }
        }
        std::mem::swap(words, &mut sorted);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use basalt_store::Snapshot;
    use proptest::prelude::*;

    /// Ranks that lie near each other, the extremes, and now and then one that lies far away.
    fn rank() -> impl Strategy<Value = u64> {
        prop_oneof![
            20 => 70_000..70_300_u64,
            10 => 0..40_u64,
            2 => Just(0_u64),
            2 => Just(u64::MAX),
            1 => (0..3_u64).prop_map(|far| far << 40),
        ]
    }

    proptest! {
        #[test]
        fn rows_are_ordered_by_all_ranks_and_then_by_position(
            rows in proptest::collection::vec((rank(), rank(), 3..9_u64), 0..1000),
            width in 1..4_usize,
            shift in 0..20_u32,
        ) {
            let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
            let columns = [
                rows.iter().map(|row| row.0).collect(),
                rows.iter().map(|row| row.1).collect(),
                rows.iter().map(|row| row.2 << shift).collect(),
            ];
            let ranks = &columns[..width];
            let Some(order) = order_by_digits(ranks, rows.len(), &cx).expect("nothing ends it") else {
                let is_far = |&rank: &u64| rank >= 1 << 40 && rank != u64::MAX;
                prop_assert!(ranks.iter().flatten().any(is_far), "so few bits fit");
                return Ok(());
            };
            let mut expected: Vec<u32> = (0..rows.len() as u32).collect();
            let key = |row: u32| ranks.iter().map(move |ranks| ranks[row as usize]);
            expected.sort_by(|&a, &b| key(a).cmp(key(b)));
            prop_assert_eq!(order, expected);
        }
    }

    #[test]
    fn ranks_that_lie_far_apart_do_not_fit() {
        let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
        let order = |ranks: &[Vec<u64>]| order_by_digits(ranks, 3, &cx).expect("nothing ends it");
        let near = vec![1 << 60, (1 << 60) + 1, 0];
        let far = vec![1 << 61, 5, 1 << 30];
        assert_eq!(order(std::slice::from_ref(&near)), Some(vec![2, 0, 1]));
        assert_eq!(order(&[near, far.clone()]), None);
        assert_eq!(order(std::slice::from_ref(&far)), Some(vec![1, 2, 0]));
        assert_eq!(order(&[far, vec![0, 1, 1]]), None);
    }
}
