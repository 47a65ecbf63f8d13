//! Sorting rows by their [`KeyWords`], a word for each with its position.
//!
//! ```text
//! many rows -> parts by ranges of words, which threads take one after the other (KeyParts)
//! a part    -> | word, less the least one | position |  -> sorted by eight bits at a time, from the lowest of the key on -> positions
//! ```
//!
//! Most sorts are like this: ranks lie close together (a price needs 24 bits, one of 300 vendors 9), and a position 20 among a million. Words are
//! in the order of their positions before, and each pass keeps the order of equal digits, so the sort is stable (Knuth, The Art of Computer
//! Programming 3, 5.2.5). What has no room for the position beside it is sorted by comparing.
//!
//! Cost: a pass over the words for each eight bits of the keys that differ, 1.5 to 3 ns a word; two words a row of the parts that are being sorted.

use super::fallible_sort::sort_totally;
use super::key_parts::KeyParts;
use super::key_words::{KeyWords, bits_of};
use super::pieces::in_pieces;
use crate::context::Context;
use crate::error::ExecError;
use crate::partitioning::PARTITIONS;
use std::ops::Range;
use std::sync::Arc;

/// Bits of a digit: as many places to write to as the nearest cache has lines for.
const DIGIT_BITS: u32 = 8;
const DIGITS: usize = 1 << DIGIT_BITS;
/// Fewer words are sorted by comparing.
const FEW_WORDS: usize = 512;
/// Words between two looks at the query's flag and clock.
const CHECK_WORDS: usize = 1 << 16;
/// Rows from which on they are sorted in parts: fewer take less than a millisecond.
const PARTS_ROWS_MIN: usize = if cfg!(test) { 128 } else { 1 << 16 };

/// The order of rows by their ranks, a column for each key; equal ones by position.
pub fn order_by_ranks(
    ranks: &[Vec<u64>],
    rows: usize,
    cx: &Context,
) -> Result<Vec<u32>, ExecError> {
    order_of_words(&Arc::new(KeyWords::of(ranks, rows, cx)?), cx)
}

/// The order of rows by their words; equal ones by position.
pub fn order_of_words(keys: &Arc<KeyWords>, cx: &Context) -> Result<Vec<u32>, ExecError> {
    let mut parts = in_order(keys, |order, _| Ok(order), cx)?;
    match parts.as_mut_slice() {
        [all] => Ok(std::mem::take(all)),
        _ => Ok(parts.concat()),
    }
}

/// What `then` makes of the rows in order, part by part where there are many.
pub fn in_order<T: Send + 'static>(
    keys: &Arc<KeyWords>,
    then: impl Fn(Vec<u32>, &Context) -> Result<T, ExecError> + Send + Sync + 'static,
    cx: &Context,
) -> Result<Vec<T>, ExecError> {
    let row_bits = bits_of(keys.words.len() as u64);
    let gains = cx.options().threads > 1 || keys.bits + row_bits > u64::BITS;
    if keys.words.len() < PARTS_ROWS_MIN || !gains {
        let all = (0..keys.words.len() as u32).collect();
        let sorted = sort_part(&keys.words, all, cx)?;
        return Ok(vec![then(sorted, cx)?]);
    }
    let parts = KeyParts::of(keys, cx)?;
    let keys = Arc::clone(keys);
    let sort = move |part: usize, cx: &Context| {
        let sorted = sort_part(&keys.words, parts.rows(part), cx)?;
        then(sorted, cx)
    };
    in_pieces(PARTITIONS, cx.options().threads, sort, cx)
}

/// Ascending rows in the order of their words.
fn sort_part(keys: &[u64], mut rows: Vec<u32>, cx: &Context) -> Result<Vec<u32>, ExecError> {
    let (mut least, mut greatest) = (u64::MAX, 0);
    for rows in rows.chunks(CHECK_WORDS) {
        cx.check()?;
        for &row in rows {
            least = least.min(keys[row as usize]);
            greatest = greatest.max(keys[row as usize]);
        }
    }
    let key_bits = bits_of(greatest.saturating_sub(least));
    let row_bits = bits_of(rows.last().map_or(0, |&last| u64::from(last)));
    if key_bits + row_bits > u64::BITS {
        let pair = |&row: &u32| (keys[row as usize], row);
        let mut pairs: Vec<(u64, u32)> = rows.iter().map(pair).collect();
        sort_totally(&mut pairs, cx, Ord::cmp)?;
        rows.clear();
        rows.extend(pairs.into_iter().map(|(_, row)| row));
        return Ok(rows);
    }
    let mut words: Vec<u64> = Vec::with_capacity(rows.len());
    for rows in rows.chunks(CHECK_WORDS) {
        cx.check()?;
        let word = |&row: &u32| (keys[row as usize] - least) << row_bits | u64::from(row);
        words.extend(rows.iter().map(word));
    }
    sort_words(&mut words, row_bits..row_bits + key_bits, cx)?;
    rows.clear();
    let row = |word: &u64| (word & ((1 << row_bits) - 1)) as u32;
    rows.extend(words.iter().map(row));
    Ok(rows)
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

    /// Ranks that lie near each other, the extremes, some that lie far away, and now and then any.
    fn rank() -> impl Strategy<Value = u64> {
        prop_oneof![
            20 => 70_000..70_300_u64,
            10 => 0..40_u64,
            2 => Just(0_u64),
            2 => Just(u64::MAX),
            2 => (0..3_u64).prop_map(|far| far << 40),
            1 => any::<u64>(),
        ]
    }

    proptest! {
        /// Few rows and those of several parts, whose ranks have room in a word, or are numbered, or are compared.
        #[test]
        fn rows_are_ordered_by_all_ranks_and_then_by_position(
            rows in proptest::collection::vec((rank(), rank(), 3..9_u64), 0..1000),
            is_near in any::<(bool, bool)>(),
            width in 0..4_usize,
            shift in 0..61_u32,
            threads in 1..4_usize,
        ) {
            let options = ExecOptions { threads, ..ExecOptions::default() };
            let cx = Context::new(Snapshot::empty(), options, 0);
            let near = |rank: u64, is_near: bool| if is_near { rank % 1_000 } else { rank };
            let columns = [
                rows.iter().map(|row| near(row.0, is_near.0)).collect(),
                rows.iter().map(|row| near(row.1, is_near.1)).collect(),
                rows.iter().map(|row| row.2 << shift).collect(),
            ];
            let ranks = &columns[..width];
            let order = order_by_ranks(ranks, rows.len(), &cx).expect("nothing ends it");
            let mut expected: Vec<u32> = (0..rows.len() as u32).collect();
            let key = |row: u32| ranks.iter().map(move |ranks| ranks[row as usize]);
            expected.sort_by(|&a, &b| key(a).cmp(key(b)));
            prop_assert_eq!(order, expected);
        }
    }
}
