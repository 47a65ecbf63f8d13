//! Partners in waves, where one solution of an input row is enough: in semi and anti joins, and inside an EXISTS.
//!
//! ```text
//! wave 1: the first 4 subjects of each object ─► solutions ─► operators above ─► outer rows with an answer
//! wave 2: of rows without an answer the next 12 (124 where few have got one) ─► ...
//! ```
//!
//! The subjects of an object may be many, and the first of them may tell. To look at all takes as long as they are many; rows
//! that have an answer after a few need no more. After every wave some times as many have been looked at as before, so that rows that never get an answer
//! cost a few lookups in the inverse more than if all subjects were taken at once.
//!
//! Invariant: waves take the rows of a column's inverse by their numbers, so each is looked at once; subjects without cells come in the
//! first wave. A subject that is found in both ways may come twice, which tells nothing else where one solution is enough.

use super::candidates::{Asked, Found};
use super::{BatchPart, Entry, StarJoin};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::operators::answered::Answered;
use crate::star::Matches;
use basalt_plan::physical::JoinKind;
use basalt_plan::{FIRST_PARTNERS, WAVE_GROWTH};
use basalt_store::Cells;
use std::ops::Range;
use std::sync::Arc;

/// How many times as many partners have been looked at after a wave as before it, where few rows have got an answer before.
const GROWTH_OF_FEW: usize = 32;
/// One of so many rows with an answer are few.
const FEW_SHARE: usize = 8;

/// Looking at so many partners takes as long as starting a wave.
const PARTNERS_MIN: usize = 512;

/// How partners come in waves where one solution is enough.
#[derive(Clone, Copy, Debug)]
pub struct Waves {
    /// Partners of each row in the first wave; 0 is all of them, and no waves.
    pub first: usize,
    /// Partners of a wave of all rows together, at least.
    pub partners_min: usize,
}

impl Default for Waves {
    fn default() -> Self {
        Self {
            first: FIRST_PARTNERS,
            partners_min: PARTNERS_MIN,
        }
    }
}

impl Waves {
    /// All partners at once.
    pub const NONE: Self = Self {
        first: 0,
        partners_min: 0,
    };

    /// The first wave of so many rows.
    fn first_of(self, rows: usize) -> Wave {
        match self.first {
            0 => Wave::ALL,
            first => Wave {
                from: 0,
                to: first.max(self.partners_min / rows.max(1)),
            },
        }
    }

    /// The wave after another one, of whose rows with more partners so many are left without an answer.
    fn next_of(self, wave: Wave, rows: usize, open: usize) -> Wave {
        let are_few = (rows - open) * FEW_SHARE < rows;
        let growth = if are_few { GROWTH_OF_FEW } else { WAVE_GROWTH };
        let grown = wave.to.saturating_mul(growth);
        Wave {
            from: wave.to,
            to: grown.max(wave.to + self.partners_min / open.max(1)),
        }
    }
}

/// Some partners of each row: those with numbers from `from` to `to`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wave {
    from: usize,
    to: usize,
}

impl Wave {
    /// All partners at once.
    pub(super) const ALL: Self = Self {
        from: 0,
        to: usize::MAX,
    };
}

/// The partners that a join looks at, and which rows have more of them.
pub(super) struct Partners {
    wave: Wave,
    /// What its rows have had before; they begin anew where that is not kept.
    after: Option<Wave>,
    /// Positions of the values that may have more; not in order.
    more: Vec<u32>,
}

impl Partners {
    pub(super) fn of(wave: Wave, after: Option<Wave>) -> Self {
        Self {
            wave,
            after,
            more: Vec::new(),
        }
    }

    pub(super) fn after(&self) -> Option<Wave> {
        self.after
    }

    /// Whether none have been looked at before.
    pub(super) fn are_first(&self) -> bool {
        self.wave.from == 0
    }

    /// The rows of cells that have these objects, as [`Cells::find_many`]; false if they have been looked at. `places` says what position
    /// each object has among the values that are asked for, where they are not all of them.
    pub(super) fn find(
        &mut self,
        cells: Cells<'_>,
        (objects, places): (&[u64], Option<&[u32]>),
        Found { counts, rows }: &mut Found,
    ) -> bool {
        let Range { start, end } = self.wave.from..self.wave.to;
        if self.wave == Wave::ALL || !cells.has_inverse() {
            // Without an inverse all are found together.
            if self.are_first() {
                cells.find_many(objects, counts, rows);
            }
            return self.are_first();
        }
        cells.find_part(objects, &(start..end), counts, rows);
        let place = |position: u32| places.map_or(position, |places| places[position as usize]);
        let positions = counts.iter().zip(0..);
        let full = positions.filter(|(count, _)| **count as usize == end - start);
        self.more.extend(full.map(|(_, position)| place(position)));
        true
    }

    /// The positions of values that may have more, ascending.
    fn take_more(&mut self) -> Vec<u32> {
        let mut more = std::mem::take(&mut self.more);
        more.sort_unstable();
        more.dedup();
        more
    }
}

/// Outer rows of an EXISTS whose first rows are enough.
pub(super) struct Awaited {
    answered: Arc<Answered>,
    /// The input's columns that tell the outer row.
    columns: Vec<usize>,
}

impl StarJoin {
    /// The join as part of an EXISTS for these outer rows, which needs no more rows of those that have an answer. An inner join by object
    /// whose input tells the outer rows; others stay as they are.
    pub fn for_first_rows(mut self, answered: &Arc<Answered>) -> Self {
        let input = &self.star.input_schema;
        let column = |slot| input.iter().position(|s| s == slot);
        let columns: Option<Vec<usize>> = answered.slots().iter().map(column).collect();
        let by_object = matches!(self.entry, Entry::Object { .. });
        if self.kind == JoinKind::Inner && by_object {
            self.awaited = columns.map(|columns| Awaited {
                answered: Arc::clone(answered),
                columns,
            });
        }
        self
    }

    /// Whether one solution of an input row is enough, and partners come in waves.
    pub(super) fn is_one_enough(&self) -> bool {
        let is_reducing = matches!(self.kind, JoinKind::Semi | JoinKind::Anti);
        let by_object = matches!(self.entry, Entry::Object { .. });
        self.awaited.is_some() || is_reducing && by_object
    }

    /// The next wave of a batch whose first rows are enough: what comes out is in `output`, and rows with more partners wait.
    pub(super) fn join_wave(&mut self, part: BatchPart, cx: &Context) -> Result<(), ExecError> {
        let BatchPart {
            mut batch, after, ..
        } = part;
        let waves = cx.options().waves;
        let mut wave = waves.first_of(batch.rows());
        if let Some(after) = after {
            let rows = batch.rows();
            batch = self.without_answer(batch);
            wave = waves.next_of(after, rows, batch.rows());
        }
        if batch.rows() == 0 {
            return Ok(());
        }
        if let Some(part_rows) = self.part_size.of_batch(batch.rows()) {
            self.cut(&batch, part_rows, (false, after));
            return Ok(());
        }
        let asked = Asked {
            values: batch.ids(self.entry.column()),
            rows: None,
        };
        let mut partners = Partners::of(wave, after);
        let Some(matches) = self.matches_or_cut(&batch, (asked, &mut partners), cx)? else {
            return Ok(());
        };
        let more = partners.take_more();
        if !more.is_empty() {
            self.waiting.push(BatchPart {
                batch: batch.take(&more),
                may_share: false,
                after: Some(wave),
            });
        }
        self.output.put(self.emit(&batch, matches));
        Ok(())
    }

    /// The rows of a batch whose outer rows have no answer.
    fn without_answer(&self, batch: Batch) -> Batch {
        let Some(Awaited { answered, columns }) = &self.awaited else {
            return batch;
        };
        let columns: Vec<&[u64]> = columns.iter().map(|&column| batch.ids(column)).collect();
        let open = answered.open_rows(&columns, batch.rows());
        match open.len() == batch.rows() {
            true => batch,
            false => batch.take(&open),
        }
    }

    /// What some rows of a batch are joined with: all solutions, or at least one of each row that has any where one is enough. `None` if the
    /// batch was cut.
    pub(super) fn wanted_matches(
        &mut self,
        batch: &Batch,
        asked: Asked<'_>,
        cx: &Context,
    ) -> Result<Option<Matches>, ExecError> {
        let waves = cx.options().waves;
        let mut wave = match self.is_one_enough() {
            true => waves.first_of(asked.values.len()),
            false => Wave::ALL,
        };
        let mut partners = Partners::of(wave, None);
        let Some(mut matches) = self.matches_or_cut(batch, (asked, &mut partners), cx)? else {
            return Ok(None);
        };
        let mut more = partners.take_more();
        if more.is_empty() {
            return Ok(Some(matches));
        }
        let mut values = asked.values.to_vec();
        let positions = 0..values.len();
        let mut rows: Vec<u32> = positions.map(|position| asked.row(position)).collect();
        let mut matched = vec![false; batch.rows()];
        let mut found = 0..matches.len();
        loop {
            let of_wave = matches.origin[found].iter();
            of_wave.for_each(|&row| matched[row as usize] = true);
            let full = more.len();
            more.retain(|&position| !matched[rows[position as usize] as usize]);
            if more.is_empty() {
                return Ok(Some(matches));
            }
            wave = waves.next_of(wave, full, more.len());
            values = more.iter().map(|&at| values[at as usize]).collect();
            rows = more.iter().map(|&at| rows[at as usize]).collect();
            let asked = Asked {
                values: &values,
                rows: Some(&rows),
            };
            let mut partners = Partners::of(wave, None);
            let Some(others) = self.matches_or_cut(batch, (asked, &mut partners), cx)? else {
                return Ok(None);
            };
            found = matches.len()..matches.len() + others.len();
            matches.append(others);
            more = partners.take_more();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(from: usize, to: usize) -> Wave {
        Wave { from, to }
    }

    #[test]
    fn waves_grow_faster_where_they_tell_little() {
        let waves = Waves::default();
        assert_eq!(Waves::NONE.first_of(1_000), Wave::ALL);
        let first = waves.first_of(1_000);
        assert_eq!(first, wave(0, FIRST_PARTNERS));
        assert_eq!(waves.next_of(first, 1_000, 500), wave(4, 16));
        assert_eq!(waves.next_of(first, 1_000, 990), wave(4, 128));
        assert_eq!(waves.next_of(wave(4, 16), 500, 400), wave(16, 64));
        // The largest number is no wave after which others come.
        assert_eq!(waves.next_of(wave(4, usize::MAX / 2), 8, 8).to, usize::MAX);
    }

    #[test]
    fn waves_of_few_rows_have_many_partners_of_each() {
        let waves = Waves::default();
        assert_eq!(waves.first_of(1), wave(0, PARTNERS_MIN));
        assert_eq!(
            waves.next_of(wave(0, 4), 1_000, 2),
            wave(4, 4 + PARTNERS_MIN / 2)
        );
    }
}
