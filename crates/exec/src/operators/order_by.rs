//! `OrderBy`: rows in order, or with a limit only the first ones (top-k).
//!
//! Reads everything; sort keys are computed batch by batch. Sorting decodes every distinct term once and
//! then compares integers (see [`sort_ranks`](super::sort_ranks)). With a limit it keeps at most twice that many
//! rows (and at least some), cuts them back by sorting, and from then on takes only rows that come before the last one
//! kept (see [`CutOff`]); keys after the first are looked at for rows only that the keys before leave a chance
//! (see [`first_rows`](super::first_rows)). Stable. Memory: the rows kept; for a full sort the texts of distinct keys too.
//! Rows beyond its share of memory are sorted and written as a run, or as several where the texts of all leave the limit no
//! room; runs are merged (see [`sort_runs`](super::sort_runs)).

use super::cut_off::CutOff;
use super::digit_sort::order_by_digits;
use super::fallible_sort::sort_totally;
use super::first_rows::{RankedRows, first_rows};
use super::output::Output;
use super::pipeline::{Collected, Sink};
use super::sort_ranks::{KEY_BYTES, ROW_BYTES, WithoutRoom};
use super::sort_runs::{SortRows, SortedRuns};
use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::{CompiledExpr, Evaluated};
use crate::held_memory::HeldMemory;
use crate::selection::taken;
use crate::spill::merge::add_run;
use crate::spill::row_file::{RowFile, RowWriter};
use crate::spill::share_bytes;
use std::ops::Range;
use std::sync::Arc;

/// Rows kept at least before they are cut back to the limit: the first cut comes soon, since rows after it
/// are mostly turned away unsorted.
const CUT_ROWS_MIN: usize = 1024;

/// Rows of a run at least, whatever they take: a file with a few rows would cost more than they do.
const RUN_ROWS_MIN: usize = 1024;

/// Rows written between two looks at the limits.
const CHECK_ROWS: usize = 4096;

/// The keys and the limit, shared by all threads that collect rows.
pub struct SortOrder {
    /// Expressions and whether they descend.
    pub keys: Vec<(CompiledExpr, bool)>,
    /// Rows that are needed.
    pub limit: Option<usize>,
}

/// Rows and their key columns.
type KeyedRows = (Batch, Vec<Vec<u64>>);

/// Rows and their keys, collected by one thread.
pub struct SortBuffer {
    order: Arc<SortOrder>,
    rows: Collected,
    /// Key columns, as long as the rows.
    keys: Vec<Vec<u64>>,
    /// What a row must come before, once there are as many rows as the limit.
    cut_off: Option<CutOff>,
    held: HeldMemory,
    /// Rows that came before those in memory, sorted: key ids, then columns.
    runs: Vec<RowFile>,
    /// Runs that the rows in memory are written as: more once the texts of all found no room.
    parts: usize,
}

impl SortBuffer {
    /// An empty buffer for rows of `width` columns.
    pub fn new(order: Arc<SortOrder>, width: usize) -> Self {
        let keys = vec![Vec::new(); order.keys.len()];
        Self {
            order,
            rows: Collected::new(width),
            keys,
            cut_off: None,
            held: HeldMemory::default(),
            runs: Vec::new(),
            parts: 1,
        }
    }

    /// Adds another thread's rows.
    pub fn append(&mut self, mut other: Self) {
        self.runs.append(&mut other.runs);
        self.rows.append(other.rows);
        for (column, more) in self.keys.iter_mut().zip(&mut other.keys) {
            column.append(more);
        }
        self.held.take_over(other.held);
    }

    /// The positions of these rows, counted from the first of them, in order, no more than the limit.
    fn sorted(
        &self,
        rows: Range<usize>,
        without_room: WithoutRoom,
        cx: &Context,
    ) -> Result<Vec<u32>, ExecError> {
        let keys = self.keys.iter().zip(&self.order.keys);
        let keys = keys.map(|(ids, (_, descending))| (&ids[rows.clone()], *descending));
        let limit = self.order.limit;
        let RankedRows { positions, ranks } =
            first_rows(keys, rows.len(), limit, without_room, cx)?;
        let order = match order_by_digits(&ranks, positions.len(), cx)? {
            Some(order) => order,
            None => order_by_comparing(&ranks, positions.len(), cx)?,
        };
        let mut positions: Vec<u32> = order.iter().map(|&row| positions[row as usize]).collect();
        positions.truncate(self.order.limit.unwrap_or(usize::MAX));
        Ok(positions)
    }

    /// Brings the rows in order and drops those beyond the limit; an error changes nothing.
    fn cut(&mut self, without_room: WithoutRoom, cx: &Context) -> Result<(), ExecError> {
        let positions = self.sorted(0..self.rows.rows, without_room, cx)?;
        self.rows.take(&positions);
        for column in &mut self.keys {
            // Rows that are all there are not compared again.
            *column = match self.order.limit {
                Some(_) => taken(column, &positions).collect(),
                None => Vec::new(),
            };
        }
        if let Some(last) = self.rows.rows.checked_sub(1)
            && self.order.limit == Some(self.rows.rows)
        {
            let keys = self.keys.iter().zip(&self.order.keys);
            let row = keys.map(|(column, (_, descending))| (column[last], *descending));
            self.cut_off = Some(CutOff::new(row, cx)?);
        }
        Ok(())
    }

    /// Counts the rows held, or writes them if they are too many.
    fn hold(&mut self, cx: &Context) -> Result<(), ExecError> {
        let ids = self.rows.columns.iter().chain(&self.keys);
        let ids: usize = ids.map(Vec::capacity).sum();
        let sorting = self.rows.rows * (self.keys.len() * KEY_BYTES + ROW_BYTES);
        let bytes = ids * size_of::<u64>() + sorting;
        if bytes > share_bytes(cx) && self.rows.rows >= RUN_ROWS_MIN {
            return self.spill(cx);
        }
        match self.held.grow_to(bytes, "OrderBy", cx) {
            // Others hold the rest.
            Err(ExecError::MemoryLimit { .. }) if self.rows.rows < RUN_ROWS_MIN => Ok(()),
            Err(ExecError::MemoryLimit { .. }) => self.spill(cx),
            outcome => outcome,
        }
    }

    /// Writes the rows in memory as runs.
    fn spill(&mut self, cx: &Context) -> Result<(), ExecError> {
        let count = self.rows.rows;
        let mut start = 0;
        while start < count {
            let part = start..count.min(start + count.div_ceil(self.parts));
            let may_be_less = part.len() > RUN_ROWS_MIN;
            let without_room = match may_be_less {
                true => WithoutRoom::Refuse,
                false => WithoutRoom::Compare,
            };
            match self.sorted(part.clone(), without_room, cx) {
                Err(ExecError::MemoryLimit { .. }) if may_be_less => self.parts *= 2,
                Err(error) => return Err(error),
                Ok(positions) => {
                    self.write_run(start, &positions, cx)?;
                    start = part.end;
                }
            }
        }
        self.rows = Collected::new(self.rows.columns.len());
        self.keys = vec![Vec::new(); self.keys.len()];
        self.held.release();
        Ok(())
    }

    /// Writes the rows at these positions, counted from `start`, as a run.
    fn write_run(
        &mut self,
        start: usize,
        positions: &[u32],
        cx: &Context,
    ) -> Result<(), ExecError> {
        let columns: Vec<&[u64]> = self
            .keys
            .iter()
            .chain(&self.rows.columns)
            .map(|column| &column[start..])
            .collect();
        let mut run = RowWriter::create(columns.len(), 1, cx)?;
        for positions in positions.chunks(CHECK_ROWS) {
            cx.check()?;
            for &position in positions {
                run.push(columns.iter().map(|column| column[position as usize]))?;
            }
        }
        let run = run.finish()?;
        add_run(&mut self.runs, run, &SortRows::new(&self.order), cx)
    }

    /// Sorts the rows in memory; false if that found no room and they are in runs now.
    fn sort_in_memory(&mut self, cx: &Context) -> Result<bool, ExecError> {
        let without_room = match self.order.limit {
            Some(_) => WithoutRoom::Compare,
            None => WithoutRoom::Refuse,
        };
        match self.cut(without_room, cx) {
            Err(ExecError::MemoryLimit { .. }) if without_room == WithoutRoom::Refuse => {
                self.parts *= 2;
                self.spill(cx)?;
                Ok(false)
            }
            outcome => outcome.map(|()| true),
        }
    }

    /// The batch without rows that come too late by computed numbers, whose ids are not made then; `None` where those are not told.
    fn without_later(&self, batch: &Batch, cx: &Context) -> Result<Option<Batch>, ExecError> {
        let (Some(cut_off), Some((key, _))) = (&self.cut_off, self.order.keys.first()) else {
            return Ok(None);
        };
        Ok(match key.evaluate_numbers(batch, cx)? {
            Evaluated::Ids(_) | Evaluated::Items(_) => None,
            Evaluated::Numbers(numbers) => {
                let left = cut_off.select_numbers(&numbers);
                left.map(|positions| batch.take(&positions))
            }
        })
    }

    /// The batch and its keys without rows that come too late.
    fn admit(
        &mut self,
        batch: &Batch,
        mut keys: Vec<Vec<u64>>,
        cx: &Context,
    ) -> Result<Option<KeyedRows>, ExecError> {
        let Some(cut_off) = &mut self.cut_off else {
            return Ok(Some((batch.clone(), keys)));
        };
        let positions = cut_off.select(&keys, cx)?;
        if positions.is_empty() {
            return Ok(None);
        }
        keys.iter_mut()
            .for_each(|column| crate::selection::keep(column, &positions));
        Ok(Some((batch.take(&positions), keys)))
    }
}

impl Sink for SortBuffer {
    fn push(&mut self, batch: &Batch, cx: &Context) -> Result<(), ExecError> {
        let order = Arc::clone(&self.order);
        let batch = &match self.without_later(batch, cx)? {
            Some(left) if left.rows() == 0 => return Ok(()),
            Some(left) => left,
            None => batch.clone(),
        };
        let keys = order.keys.iter();
        let keys = keys
            .map(|(expr, _)| expr.evaluate(batch, cx))
            .collect::<Result<Vec<_>, _>>()?;
        let Some((batch, keys)) = self.admit(batch, keys, cx)? else {
            return Ok(());
        };
        for (column, more) in self.keys.iter_mut().zip(keys) {
            column.extend(more);
        }
        self.rows.push(&batch, cx)?;
        if self
            .order
            .limit
            .is_some_and(|limit| self.rows.rows >= limit.saturating_mul(2).max(CUT_ROWS_MIN))
        {
            self.cut(WithoutRoom::Compare, cx)?;
        }
        self.hold(cx)
    }
}

/// The order of rows by their ranks, a column for each key, whatever they are.
fn order_by_comparing(
    ranks: &[Vec<u64>],
    rows: usize,
    cx: &Context,
) -> Result<Vec<u32>, ExecError> {
    if let [ranks] = ranks {
        let mut pairs: Vec<(u64, u32)> = ranks.iter().copied().zip(0..).collect();
        sort_totally(&mut pairs, cx, Ord::cmp)?;
        return Ok(pairs.into_iter().map(|(_, row)| row).collect());
    }
    let mut order: Vec<u32> = (0..rows as u32).collect();
    let ranks = |row: u32| ranks.iter().map(move |column| column[row as usize]);
    sort_totally(&mut order, cx, |&a, &b| {
        ranks(a).cmp(ranks(b)).then(a.cmp(&b))
    })?;
    Ok(order)
}

/// What an `OrderBy` reads its rows from, once.
pub type Collect = Box<dyn FnOnce(&Context) -> Result<SortBuffer, ExecError> + Send>;

/// The operator; see the [module documentation](self).
pub struct OrderBy {
    collect: Option<Collect>,
    output: Output,
    /// The rows, where they did not all fit into memory.
    runs: Option<SortedRuns>,
    /// Bytes counted against the limit.
    held: HeldMemory,
}

impl OrderBy {
    /// Sorts what `collect` brings.
    pub fn new(collect: Collect) -> Self {
        Self {
            collect: Some(collect),
            output: Output::default(),
            runs: None,
            held: HeldMemory::default(),
        }
    }

    /// Boxes the operator.
    pub fn boxed(collect: Collect) -> BoxOperator {
        Box::new(Self::new(collect))
    }
}

impl Operator for OrderBy {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        if let Some(collect) = self.collect.take() {
            let mut buffer = collect(cx)?;
            if buffer.runs.is_empty() && buffer.sort_in_memory(cx)? {
                self.held.take_over(std::mem::take(&mut buffer.held));
                self.output.put(buffer.rows.into_batch());
            } else {
                buffer.spill(cx)?;
                self.runs = Some(SortedRuns::new(buffer.runs, &buffer.order, cx)?);
            }
        }
        if let Some(runs) = &mut self.runs {
            return runs.next(cx);
        }
        let batch = self.output.take(cx);
        if batch.is_none() {
            self.held.release();
        }
        Ok(batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use basalt_plan::physical::{Expr, Slot};
    use basalt_rdf::TermView;
    use basalt_store::Snapshot;

    /// Rows enough for several runs, of which the least has more than [`RUN_ROWS_MIN`] rows.
    const ROWS: usize = 8 * RUN_ROWS_MIN;
    /// Characters of a text.
    const LENGTH: usize = 800;

    /// A buffer with texts in another order than theirs, and what orders them.
    fn texts(cx: &Context) -> SortBuffer {
        let key = CompiledExpr::compile(&Expr::Slot(Slot(0)), &[Slot(0)], cx);
        let order = SortOrder {
            keys: vec![(key.expect("a slot"), false)],
            limit: None,
        };
        let mut buffer = SortBuffer::new(Arc::new(order), 1);
        let id = |row: usize| {
            let text = format!("{:0LENGTH$}", row * 5 % ROWS);
            cx.terms().intern(TermView::simple(&text)).0
        };
        let ids = (0..ROWS).map(id).collect();
        buffer
            .push(&Batch::from_vectors(vec![ids], ROWS), cx)
            .expect("rows have room");
        buffer
    }

    #[test]
    fn texts_without_room_make_shorter_runs() {
        let options = |memory_bytes_max| ExecOptions {
            memory_bytes_max,
            threads: 1,
            ..ExecOptions::default()
        };
        // A quarter has room for the rows, all not for the texts.
        let cx = Context::new(Snapshot::empty(), options(ROWS * LENGTH / 2), 0);
        let mut buffer = texts(&cx);
        assert!(buffer.runs.is_empty(), "rows alone stay in memory");
        assert!(!buffer.sort_in_memory(&cx).expect("it goes to files"));
        assert!(buffer.runs.len() > 1, "{} runs", buffer.runs.len());
        let mut rows = SortedRuns::new(buffer.runs, &buffer.order, &cx).expect("runs are there");
        let mut found = Vec::new();
        while let Some(batch) = rows.next(&cx).expect("runs are read") {
            found.extend_from_slice(batch.ids(0));
        }
        let expected = (0..ROWS).map(|row| {
            let text = format!("{row:0LENGTH$}");
            cx.terms().intern(TermView::simple(&text)).0
        });
        assert!(found.into_iter().eq(expected));

        let cx = Context::new(Snapshot::empty(), options(ROWS * LENGTH * 4), 0);
        let mut buffer = texts(&cx);
        assert!(buffer.sort_in_memory(&cx).expect("all has room"));
        assert!(buffer.runs.is_empty());
    }
}
