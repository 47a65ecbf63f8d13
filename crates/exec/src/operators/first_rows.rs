//! Which rows can be among the first ones of a sort, key by key.
//!
//! ```text
//! rows -> ranks of the first key -> rows not after the last one wanted -> their ranks of the second key -> ...
//! ```
//!
//! Ranks of a key cost a look into the dictionary for each distinct term. A sort with a limit needs them only of rows
//! that the keys before have not turned away: often none but the ties at the limit. Without a limit, texts are ranked only in rows that
//! others have the same keys before with, where those are less than half. Stable: of equal rows all stay.
//!
//! Cost: one selection in linear time for each key, or a sort by the keys before. Memory: the ranks.

use super::digit_sort::order_by_ranks;
use super::shared_ids::SharedIds;
use super::sort_ranks::ranks;
use super::without_room::WithoutRoom;
use crate::context::Context;
use crate::error::ExecError;
use crate::selection::taken;
use crate::value::OrderClass;

/// Rows from which on it is looked at which are told apart by the keys before: ranking fewer texts takes less than a millisecond. Tests have
/// fewer.
const TIED_FROM: usize = if cfg!(test) { 4 } else { 4096 };

/// Rows and their ranks of each key.
pub struct RankedRows {
    /// The rows that are left, ascending.
    pub positions: Vec<u32>,
    /// A column for each key, as long as `positions`; ranks of descending keys are turned round.
    pub ranks: Vec<Vec<u64>>,
}

/// The rows (of `count`) that can be among the first `limit`, ranked by key columns with whether they descend.
pub fn first_rows(
    keys: impl Iterator<Item = (SharedIds, bool)>,
    count: usize,
    limit: Option<usize>,
    without_room: &WithoutRoom,
    cx: &Context,
) -> Result<RankedRows, ExecError> {
    let mut rows = RankedRows {
        positions: (0..count as u32).collect(),
        ranks: Vec::new(),
    };
    for (ids, descending) in keys {
        let tied = match limit {
            None if starts_with_text(&ids, cx) => rows.tied(cx)?,
            _ => None,
        };
        let mut of_key = if let Some(tied) = tied {
            let of_tied: Vec<u64> = taken(&ids, &tied).collect();
            let of_tied = ranks(&of_tied.into(), without_room, cx)?;
            let mut of_key = vec![0; count];
            let places = tied.into_iter().zip(of_tied);
            places.for_each(|(row, rank)| of_key[row as usize] = rank);
            of_key
        } else if rows.positions.len() == count {
            ranks(&ids, without_room, cx)?
        } else {
            let left: Vec<u64> = taken(&ids, &rows.positions).collect();
            ranks(&left.into(), without_room, cx)?
        };
        if descending {
            of_key.iter_mut().for_each(|rank| *rank = !*rank);
        }
        rows.ranks.push(of_key);
        if let Some(limit) = limit {
            rows.cut(limit);
        }
    }
    Ok(rows)
}

/// Whether the first id is one whose rank needs its text.
fn starts_with_text(ids: &[u64], cx: &Context) -> bool {
    let class = ids.first().and_then(|&id| OrderClass::of(id, cx));
    class.is_some_and(OrderClass::has_text)
}

impl RankedRows {
    /// The rows that are not told from others by the ranks so far, if those are some, and less than half of all.
    fn tied(&self, cx: &Context) -> Result<Option<Vec<u32>>, ExecError> {
        let rows = self.positions.len();
        // As many rows may differ as there are ranks together: those of texts are numbered.
        let most = |ranks: &Vec<u64>| ranks.iter().max().map_or(0, |max| max.saturating_add(1));
        let differing = self.ranks.iter().map(most).fold(1, u64::saturating_mul);
        if rows < TIED_FROM || differing < rows as u64 / 2 {
            return Ok(None);
        }
        let order = order_by_ranks(&self.ranks, rows, cx)?;
        let are_equal = |pair: &[u32]| {
            let mut ranks = self.ranks.iter();
            ranks.all(|ranks| ranks[pair[0] as usize] == ranks[pair[1] as usize])
        };
        let mut tied = Vec::new();
        let mut was_equal = false;
        for pair in order.windows(2) {
            let is_equal = are_equal(pair);
            if is_equal || was_equal {
                tied.push(pair[0]);
            }
            was_equal = is_equal;
        }
        if was_equal {
            tied.extend(order.last());
        }
        Ok((tied.len() < rows / 2).then_some(tied))
    }

    /// Drops the rows that come after the first `limit` by the keys ranked so far.
    fn cut(&mut self, limit: usize) {
        if limit == 0 {
            self.keep(&[]);
            return;
        }
        if self.positions.len() <= limit {
            return;
        }
        let kept: Vec<u32> = if let [ranks] = self.ranks.as_slice() {
            let mut order = ranks.clone();
            let (_, last, _) = order.select_nth_unstable(limit - 1);
            let last = *last;
            indices(ranks.len(), |row| ranks[row] <= last)
        } else {
            let key = |row: u32| self.ranks.iter().map(move |ranks| ranks[row as usize]);
            let mut order: Vec<u32> = (0..self.positions.len() as u32).collect();
            let (_, last, _) = order.select_nth_unstable_by(limit - 1, |&a, &b| key(a).cmp(key(b)));
            let last = *last;
            indices(self.positions.len(), |row| key(row as u32).le(key(last)))
        };
        self.keep(&kept);
    }

    /// Keeps the first `limit` rows, of equal ones the earlier, where those after the last one wanted are dropped already.
    pub fn keep_first(&mut self, limit: usize) {
        let count = self.positions.len();
        let Some(mut excess) = count.checked_sub(limit).filter(|&excess| excess > 0) else {
            return;
        };
        let last = self.nth(count - 1);
        let is_last = |row: u32| {
            let mut ranks = self.ranks.iter();
            ranks.all(|ranks| ranks[row as usize] == ranks[last])
        };
        let mut kept: Vec<u32> = Vec::with_capacity(count);
        for row in (0..count as u32).rev() {
            match excess > 0 && is_last(row) {
                true => excess -= 1,
                false => kept.push(row),
            }
        }
        kept.reverse();
        self.keep(&kept);
    }

    /// The index of a row that so many do not come after, besides those that come before it.
    pub fn nth(&self, place: usize) -> usize {
        if let [ranks] = self.ranks.as_slice() {
            let mut order = ranks.clone();
            let (_, rank, _) = order.select_nth_unstable(place);
            return ranks.iter().position(|of_row| of_row == rank).unwrap_or(0);
        }
        let key = |row: u32| self.ranks.iter().map(move |ranks| ranks[row as usize]);
        let mut order: Vec<u32> = (0..self.positions.len() as u32).collect();
        let (_, row, _) = order.select_nth_unstable_by(place, |&a, &b| key(a).cmp(key(b)));
        *row as usize
    }

    fn keep(&mut self, kept: &[u32]) {
        crate::selection::keep(&mut self.positions, kept);
        for ranks in &mut self.ranks {
            crate::selection::keep(ranks, kept);
        }
    }
}

fn indices(count: usize, wanted: impl Fn(usize) -> bool) -> Vec<u32> {
    (0..count as u32)
        .filter(|&row| wanted(row as usize))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use basalt_rdf::TermView;
    use basalt_store::Snapshot;
    use proptest::prelude::*;

    proptest! {
        /// The rows that are left hold the first rows of a full sort, and all that are equal to the last of them.
        #[test]
        fn nothing_wanted_is_cut(
            rows in proptest::collection::vec((0u8..4, 0u8..4, 0u8..3), 0..40),
            limit in 0usize..12,
            descending in any::<(bool, bool, bool)>(),
        ) {
            let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
            let id = |n: u8| cx.terms().intern(TermView::simple(&format!("text {n}"))).0;
            let columns: Vec<Vec<u64>> = vec![
                rows.iter().map(|r| id(r.0)).collect(),
                rows.iter().map(|r| id(r.1)).collect(),
                rows.iter().map(|r| id(r.2)).collect(),
            ];
            let turned = |n: u8, descending: bool| if descending { u8::MAX - n } else { n };
            let key = |row: usize| {
                let (a, b, c) = rows[row];
                [turned(a, descending.0), turned(b, descending.1), turned(c, descending.2)]
            };
            let directions = [descending.0, descending.1, descending.2];
            let keys = || columns.iter().cloned().map(SharedIds::from).zip(directions);
            let left = first_rows(keys(), rows.len(), Some(limit), &WithoutRoom::Compare, &cx).expect("terms decode");
            let mut sorted: Vec<usize> = (0..rows.len()).collect();
            sorted.sort_by_key(|&row| key(row));
            let last = sorted.get(limit.wrapping_sub(1)).map(|&row| key(row));
            let wanted = |row: &usize| limit > 0 && last.is_none_or(|last| key(*row) <= last);
            let expected: Vec<u32> = (0..rows.len()).filter(wanted).map(|row| row as u32).collect();
            prop_assert_eq!(&left.positions, &expected);
            prop_assert!(left.ranks.iter().all(|ranks| ranks.len() == expected.len()));
            for (place, &row) in sorted.iter().enumerate().take(expected.len()) {
                prop_assert_eq!(key(left.positions[left.nth(place)] as usize), key(row));
            }
            let mut first = left;
            first.keep_first(limit);
            let mut expected: Vec<u32> = sorted.iter().take(limit).map(|&row| row as u32).collect();
            expected.sort_unstable();
            prop_assert_eq!(&first.positions, &expected);
            let all = first_rows(keys(), rows.len(), None, &WithoutRoom::Compare, &cx).expect("terms decode");
            prop_assert_eq!(all.positions.len(), rows.len());
            let mut ranked: Vec<usize> = (0..rows.len()).collect();
            ranked.sort_by_key(|&row| all.ranks.iter().map(|ranks| ranks[row]).collect::<Vec<u64>>());
            prop_assert_eq!(ranked, sorted);
        }
    }
}
