//! `OrderBy`: rows in order, or with a limit only the first ones (top-k).
//!
//! Reads everything; sort keys are computed batch by batch. Sorting decodes every distinct term once and
//! then compares integers (see [`sort_ranks`](super::sort_ranks)); many rows are sorted in parts, by all threads, each of which is a batch. With a limit it keeps at most twice that many
//! rows (and at least some), cuts them back, and from then on takes only rows that come before the last one
//! kept (see [`CutOff`]), or before those that all threads together keep (`shared_cut.rs`); keys after the first are looked at for rows only that the keys before leave a chance
//! (see [`first_rows`](super::first_rows)). Stable. Memory: the rows kept; for a full sort the texts of distinct keys too.
//! Rows beyond its share of memory are sorted and written as a run, or as several where the texts of all leave the limit no
//! room; runs are merged (see [`sort_runs`](super::sort_runs)).

use super::cut_off::CutOff;
use super::digit_sort::{in_order, order_by_ranks, order_of_words};
use super::early_cut::EarlyCut;
use super::first_rows::{RankedRows, first_rows};
use super::key_words::KeyWords;
use super::keyed_rows::KeyedRows;
use super::output::Output;
use super::pipeline::Sink;
use super::shared_cut::{SharedCut, compare_rows};
use super::shared_ids::SharedIds;
use super::sort_ranks::{KEY_BYTES, ROW_BYTES};
use super::sort_runs::{SortRows, SortedRuns};
use super::without_room::{TextRoom, WithoutRoom};
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
const CUT_ROWS_MIN: usize = if cfg!(test) { 8 } else { 1024 };

/// Rows of a run at least, whatever they take: a file with a few rows would cost more than they do.
const RUN_ROWS_MIN: usize = 1024;

/// Shares of memory that the texts of a run may take beside its rows: every thread may be writing one, and what a server takes besides should find room as well.
const RUN_TEXTS: usize = 2;

/// Rows written between two looks at the limits.
const CHECK_ROWS: usize = 4096;

/// The keys and the limit, shared by all threads that collect rows.
pub struct SortOrder {
    /// Expressions and whether they descend.
    pub keys: Vec<(CompiledExpr, bool)>,
    /// Rows that are needed.
    pub limit: Option<usize>,
    /// Where the rows of all threads cut off what comes later.
    pub shared_cut: SharedCut,
    /// Who is told where that is.
    pub early: Option<Arc<EarlyCut>>,
}

impl SortOrder {
    /// By these keys, with whether each descends; so many rows are needed.
    pub fn new(keys: Vec<(CompiledExpr, bool)>, limit: Option<usize>) -> Self {
        Self {
            keys,
            limit,
            shared_cut: SharedCut::default(),
            early: None,
        }
    }
}

/// Rows and their keys, collected by one thread.
pub struct SortBuffer {
    order: Arc<SortOrder>,
    rows: KeyedRows,
    /// What a row must come before, once there are as many rows as the limit.
    cut_off: Option<CutOff>,
    /// The number of the thread among those that share a cut.
    thread: usize,
    /// Rows left when they were cut back last.
    kept: usize,
    held: HeldMemory,
    /// Rows that came before those in memory, sorted: key ids, then columns.
    runs: Vec<RowFile>,
    /// Runs that the rows in memory are written as: more once the texts of all found no room, fewer where they take little.
    parts: usize,
}

impl SortBuffer {
    /// An empty buffer for rows of `width` columns.
    pub fn new(order: Arc<SortOrder>, width: usize) -> Self {
        let mut computed = width..;
        let keys = order.keys.iter().map(|(key, _)| key.plain_column());
        let keys = keys.map(|column| column.or_else(|| computed.next()));
        let keys = keys.flatten().collect();
        Self {
            thread: order.shared_cut.join(),
            order,
            rows: KeyedRows::new(width, keys),
            cut_off: None,
            kept: 0,
            held: HeldMemory::default(),
            runs: Vec::new(),
            parts: 1,
        }
    }

    /// Adds another thread's rows.
    pub fn append(&mut self, mut other: Self) {
        self.runs.append(&mut other.runs);
        self.rows.append(other.rows);
        self.held.take_over(other.held);
    }

    /// The positions of these rows, which are gathered, counted from the first of them, in order, no more than the limit.
    fn sorted(
        &self,
        rows: Range<usize>,
        without_room: &WithoutRoom,
        cx: &Context,
    ) -> Result<Vec<u32>, ExecError> {
        let RankedRows { positions, ranks } = self.ranked(rows, without_room, cx)?;
        let order = order_by_ranks(&ranks, positions.len(), cx)?;
        let mut positions: Vec<u32> = order.iter().map(|&row| positions[row as usize]).collect();
        positions.truncate(self.order.limit.unwrap_or(usize::MAX));
        Ok(positions)
    }

    /// The ranks of the keys of these rows, without rows that come after the last one wanted.
    fn ranked(
        &self,
        rows: Range<usize>,
        without_room: &WithoutRoom,
        cx: &Context,
    ) -> Result<RankedRows, ExecError> {
        let keys = self.rows.keys().zip(&self.order.keys);
        let keys =
            keys.map(|(ids, (_, descending))| (SharedIds::new(ids, rows.clone()), *descending));
        first_rows(keys, rows.len(), self.order.limit, without_room, cx)
    }

    /// All rows in order; an error but the end of the query changes nothing.
    fn sort_all(&mut self, cx: &Context) -> Result<Vec<Batch>, ExecError> {
        self.rows.gather(cx)?;
        let rows = self.rows.rows();
        let room = TextRoom::new(usize::MAX);
        let RankedRows { ranks, .. } = self.ranked(0..rows, &WithoutRoom::Refuse(room), cx)?;
        let keys = Arc::new(KeyWords::of(&ranks, rows, cx)?);
        drop(ranks);
        // Until all parts are there the columns are there twice.
        let mut twice = HeldMemory::default();
        let bytes = self.rows.columns().len() * rows * size_of::<u64>();
        if twice.grow_to(bytes, "OrderBy", cx).is_err() {
            self.rows.take(&order_of_words(&keys, cx)?);
            return Ok(vec![self.rows.replace().into_batch()]);
        }
        let columns = self.rows.replace().columns().to_vec();
        let gather = move |order: Vec<u32>, _: &Context| {
            let of_part = columns.iter().map(|column| taken(column, &order).collect());
            Ok(Batch::from_vectors(of_part.collect(), order.len()))
        };
        let mut parts = in_order(&keys, gather, cx)?;
        parts.retain(|part| part.rows() > 0);
        Ok(parts)
    }

    /// Brings the rows in order and drops those beyond the limit; an error changes nothing.
    fn sort_first(&mut self, cx: &Context) -> Result<(), ExecError> {
        self.rows.gather(cx)?;
        let positions = self.sorted(0..self.rows.rows(), &WithoutRoom::Compare, cx)?;
        self.rows.take(&positions);
        Ok(())
    }

    /// Drops the rows beyond the limit, and from now on those that come after the last one kept, or after those of all threads.
    fn cut(&mut self, limit: usize, cx: &Context) -> Result<(), ExecError> {
        self.rows.gather(cx)?;
        let all = 0..self.rows.rows();
        let mut first = self.ranked(all, &WithoutRoom::Compare, cx)?;
        first.keep_first(limit);
        self.rows.take(&first.positions);
        self.kept = self.rows.rows();
        let keys_of = |row: usize| self.rows.keys().map(|ids| ids[row]).collect::<Vec<u64>>();
        let share = limit.div_ceil(self.order.shared_cut.threads());
        if (1..=self.kept).contains(&share) {
            let keys = keys_of(first.nth(share - 1));
            self.order.shared_cut.note(self.thread, share, keys);
        }
        let descending: Vec<bool> = self.order.keys.iter().map(|key| key.1).collect();
        let mut cut = self.order.shared_cut.row(limit, &descending, cx)?;
        if self.kept == limit && limit > 0 {
            let own = keys_of(first.nth(limit - 1));
            let is_sooner = match &cut {
                Some(cut) => compare_rows(&own, cut, &descending, cx)?.is_lt(),
                None => true,
            };
            cut = if is_sooner { Some(own) } else { cut };
        }
        if let Some(cut) = cut {
            if let (Some(early), Some(&key)) = (&self.order.early, cut.first()) {
                early.tell(key);
            }
            let before = self.cut_off.take();
            self.cut_off = Some(CutOff::new(cut.into_iter().zip(descending), before, cx)?);
        }
        Ok(())
    }

    /// Rows from which on they are cut back: each thread of some takes as many more as its share of the limit.
    fn cut_rows(&self, limit: usize) -> usize {
        let before = match self.kept {
            0 => limit.div_ceil(self.order.shared_cut.threads()),
            kept => kept,
        };
        let more = limit.div_ceil(self.order.shared_cut.threads());
        before.saturating_add(more).max(CUT_ROWS_MIN)
    }

    /// Counts the rows held, or writes them if they are too many.
    fn hold(&mut self, cx: &Context) -> Result<(), ExecError> {
        let rows = self.rows.rows();
        let sorting = rows * (self.order.keys.len() * KEY_BYTES + ROW_BYTES);
        // Before they are sorted rows are gathered, and there twice.
        let gathering = rows * self.rows.all_columns() * size_of::<u64>();
        let bytes = self.rows.bytes() + sorting.max(gathering);
        if bytes > share_bytes(cx) && rows >= RUN_ROWS_MIN {
            return self.spill(cx);
        }
        match self.held.grow_to(bytes, "OrderBy", cx) {
            // Others hold the rest.
            Err(ExecError::MemoryLimit { .. }) if rows < RUN_ROWS_MIN => Ok(()),
            Err(ExecError::MemoryLimit { .. }) => self.spill(cx),
            outcome => outcome,
        }
    }

    /// Writes the rows in memory as runs.
    fn spill(&mut self, cx: &Context) -> Result<(), ExecError> {
        self.rows.gather(cx)?;
        let count = self.rows.rows();
        let room = TextRoom::new(RUN_TEXTS * share_bytes(cx));
        let mut start = 0;
        while start < count {
            let part = start..count.min(start + count.div_ceil(self.parts));
            let may_be_less = part.len() > RUN_ROWS_MIN;
            let without_room = match may_be_less {
                true => WithoutRoom::Refuse(room.clone()),
                false => WithoutRoom::Compare,
            };
            match self.sorted(part.clone(), &without_room, cx) {
                Err(ExecError::MemoryLimit { .. }) if may_be_less => self.parts *= 2,
                Err(error) => return Err(error),
                Ok(positions) => {
                    self.write_run(start, &positions, cx)?;
                    start = part.end;
                }
            }
        }
        // Rows to come may have shorter texts.
        if room.has_for_twice() {
            self.parts = (self.parts / 2).max(1);
        }
        self.rows.replace();
        self.kept = 0;
        cx.give_back_freed();
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
            .rows
            .keys()
            .chain(self.rows.columns())
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

    /// The rows in memory, in order; `None` if that found no room and they are in runs now.
    fn sort_in_memory(&mut self, cx: &Context) -> Result<Option<Vec<Batch>>, ExecError> {
        if self.order.limit.is_some() {
            self.sort_first(cx)?;
            return Ok(Some(vec![self.rows.replace().into_batch()]));
        }
        match self.sort_all(cx) {
            Err(ExecError::MemoryLimit { .. }) => {
                self.parts *= 2;
                self.spill(cx)?;
                Ok(None)
            }
            sorted => sorted.map(Some),
        }
    }

    /// The batch without rows that come too late by their first key, if that is numbers or others are computed, and the ids of that key if it is computed. They
    /// are made of what is left only, and nothing is computed twice: random numbers would be others.
    fn without_later(
        &mut self,
        batch: &Batch,
        cx: &Context,
    ) -> Result<(Batch, Option<Vec<u64>>), ExecError> {
        let (Some(cut_off), [(key, _), others @ ..]) = (&mut self.cut_off, &*self.order.keys)
        else {
            return Ok((batch.clone(), None));
        };
        let is_computed = key.plain_column().is_none();
        let are_others = others.iter().any(|(key, _)| key.plain_column().is_none());
        Ok(match key.evaluate_numbers(batch, cx)? {
            Evaluated::Numbers(numbers) => match cut_off.select_numbers(&numbers) {
                Some(left) => {
                    let ids = is_computed.then(|| numbers.take(&left).ids(cx));
                    (batch.take(&left), ids)
                }
                None => (batch.clone(), is_computed.then(|| numbers.ids(cx))),
            },
            Evaluated::Ids(ids) if are_others => {
                let left = cut_off.select_first(&ids, cx)?;
                let ids = is_computed.then(|| taken(&ids, &left).collect());
                (batch.take(&left), ids)
            }
            Evaluated::Ids(ids) => (batch.clone(), is_computed.then(|| ids.into_owned())),
            Evaluated::Items(items) => {
                let ids = items.iter().map(|item| item.id(cx));
                (batch.clone(), Some(ids.collect()))
            }
        })
    }

    /// The batch with its computed keys, without rows that come too late.
    fn admitted(&mut self, batch: &Batch, cx: &Context) -> Result<Batch, ExecError> {
        let (mut batch, mut first) = self.without_later(batch, cx)?;
        for (key, _) in &self.order.keys {
            let known = first.take();
            if key.plain_column().is_none() {
                let ids = match known {
                    Some(ids) => ids,
                    None => key.evaluate(&batch, cx)?,
                };
                batch = batch.with_column(ids);
            }
        }
        let Some(cut_off) = &mut self.cut_off else {
            return Ok(batch);
        };
        let keys = self.rows.key_columns().iter();
        let keys: Vec<&[u64]> = keys.map(|&column| batch.ids(column)).collect();
        let positions = cut_off.select(&keys, cx)?;
        Ok(batch.take(&positions))
    }
}

impl Sink for SortBuffer {
    fn push(&mut self, batch: &Batch, cx: &Context) -> Result<(), ExecError> {
        let batch = self.admitted(batch, cx)?;
        if batch.rows() == 0 {
            return Ok(());
        }
        self.rows.push(&batch);
        if let Some(limit) = self.order.limit
            && self.rows.rows() >= self.cut_rows(limit)
        {
            self.cut(limit, cx)?;
        }
        self.hold(cx)
    }
}

/// What an `OrderBy` reads its rows from, once.
pub type Collect = Box<dyn FnOnce(&Context) -> Result<SortBuffer, ExecError> + Send>;

/// The operator; see the [module documentation](self).
pub struct OrderBy {
    collect: Option<Collect>,
    /// Rows in order, of which the first ones are in `output`.
    sorted: std::vec::IntoIter<Batch>,
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
            sorted: Vec::new().into_iter(),
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
            let sorted = match buffer.runs.is_empty() {
                true => buffer.sort_in_memory(cx)?,
                false => None,
            };
            if let Some(sorted) = sorted {
                self.held.take_over(std::mem::take(&mut buffer.held));
                self.sorted = sorted.into_iter();
            } else {
                buffer.spill(cx)?;
                self.runs = Some(SortedRuns::new(buffer.runs, &buffer.order, cx)?);
            }
        }
        if let Some(runs) = &mut self.runs {
            return runs.next(cx);
        }
        loop {
            if let Some(batch) = self.output.take(cx) {
                return Ok(Some(batch));
            }
            match self.sorted.next() {
                Some(sorted) => self.output.put(sorted),
                None => {
                    self.held.release();
                    return Ok(None);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use basalt_plan::physical::{Expr, Slot};
    use basalt_rdf::TermView;
    use basalt_store::Snapshot;
    use proptest::prelude::*;
    use std::collections::HashSet;

    proptest! {
        /// The first rows that several threads keep, beside a full sort of all rows.
        #[test]
        fn the_first_rows_of_all_threads_are_those_of_one_sort(
            rows in prop::collection::vec((0..5_usize, 0..30_usize), 0..300),
            limit in 0..60_usize,
            threads in 1..4_usize,
            batch_rows in 1..40_usize,
            descending in any::<[bool; 2]>(),
        ) {
            let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
            let id = |number: usize| cx.terms().intern(TermView::simple(&format!("{number:03}"))).0;
            let slots = [Slot(0), Slot(1), Slot(2)];
            let key = |slot: usize| {
                let key = CompiledExpr::compile(&Expr::Slot(slots[slot]), &slots, &cx);
                (key.expect("a slot"), descending[slot])
            };
            let order = Arc::new(SortOrder::new(vec![key(0), key(1)], Some(limit)));
            let buffer = |_| SortBuffer::new(Arc::clone(&order), 3);
            let mut buffers: Vec<SortBuffer> = (0..threads).map(buffer).collect();
            for (batch, some) in rows.chunks(batch_rows).enumerate() {
                let first = batch * batch_rows;
                let columns = vec![
                    some.iter().map(|row| id(row.0)).collect(),
                    some.iter().map(|row| id(row.1)).collect(),
                    (first..first + some.len()).map(id).collect(),
                ];
                let some = Batch::from_vectors(columns, some.len());
                buffers[batch * batch % threads].push(&some, &cx).expect("rows have room");
            }
            let mut all = buffers.remove(0);
            buffers.into_iter().for_each(|other| all.append(other));
            let sorted = all.sort_in_memory(&cx).expect("rows have room").expect("there are no runs");
            let cells = |column: usize| sorted.iter().flat_map(move |batch| batch.ids(column).iter().copied());
            let found: Vec<Vec<u64>> = cells(0).zip(cells(1)).zip(cells(2)).map(|((a, b), c)| vec![a, b, c]).collect();
            let turned = |value: usize, descending: bool| if descending { usize::MAX - value } else { value };
            let mut expected: Vec<usize> = (0..rows.len()).collect();
            expected.sort_by_key(|&row| (turned(rows[row].0, descending[0]), turned(rows[row].1, descending[1])));
            expected.truncate(limit);
            let expected: Vec<Vec<u64>> = expected.into_iter().map(|row| vec![id(rows[row].0), id(rows[row].1), id(row)]).collect();
            if threads == 1 {
                prop_assert_eq!(&found, &expected);
            }
            let keys = |rows: &[Vec<u64>]| rows.iter().map(|row| row[..2].to_vec()).collect::<Vec<_>>();
            prop_assert_eq!(keys(&found), keys(&expected));
            // Each is a row, and comes once.
            let all: HashSet<Vec<u64>> = (0..rows.len()).map(|row| vec![id(rows[row].0), id(rows[row].1), id(row)]).collect();
            prop_assert!(found.iter().all(|row| all.contains(row)));
            prop_assert_eq!(found.iter().collect::<HashSet<_>>().len(), found.len());
        }
    }

    /// Rows enough for several runs, of which the least has more than [`RUN_ROWS_MIN`] rows.
    const ROWS: usize = 8 * RUN_ROWS_MIN;
    /// Characters of a text.
    const LENGTH: usize = 800;

    /// A buffer with texts in another order than theirs, and what orders them.
    fn texts(cx: &Context) -> SortBuffer {
        let key = CompiledExpr::compile(&Expr::Slot(Slot(0)), &[Slot(0)], cx);
        let order = SortOrder::new(vec![(key.expect("a slot"), false)], None);
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
        let sorted = buffer.sort_in_memory(&cx).expect("it goes to files");
        assert!(sorted.is_none());
        assert!(buffer.runs.len() > 1, "{} runs", buffer.runs.len());
        let mut rows = SortedRuns::new(buffer.runs, &buffer.order, &cx).expect("runs are there");
        let mut found = Vec::new();
        while let Some(batch) = rows.next(&cx).expect("runs are read") {
            found.extend_from_slice(batch.ids(0));
        }
        let id = |row: usize| {
            let text = format!("{row:0LENGTH$}");
            cx.terms().intern(TermView::simple(&text)).0
        };
        let expected: Vec<u64> = (0..ROWS).map(id).collect();
        assert_eq!(found, expected);

        let cx = Context::new(Snapshot::empty(), options(ROWS * LENGTH * 4), 0);
        let mut buffer = texts(&cx);
        let sorted = buffer.sort_in_memory(&cx).expect("all has room");
        let rows = sorted.iter().flatten().map(Batch::rows);
        assert_eq!(rows.sum::<usize>(), ROWS);
        assert!(buffer.runs.is_empty());
    }
}
