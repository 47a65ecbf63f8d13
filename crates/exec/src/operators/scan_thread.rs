//! The thread of a pattern scan, and the batches that it hands over.
//!
//! A scan copies ids column by column, from blocks of quads of one predicate, where no slot repeats; all other scans visit quad after quad.

use super::pattern_scan::{CompiledPattern, GraphPlace, Place};
use crate::batch::{Batch, columns_with_room};
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::CompiledExpr;
use basalt_rdf::TermId;
use basalt_store::{BlockGraphs, Predicates, QuadBlock};
use crossbeam_channel::Sender;
use std::ops::ControlFlow;
use std::sync::Arc;

/// What the scanning thread sends.
pub type Message = Result<Batch, ExecError>;

/// A scan of everything that a pattern matches.
pub struct ScanThread {
    /// The pattern, which has no input.
    pub pattern: CompiledPattern,
    /// Condition over the predicate.
    pub filter: Option<Arc<CompiledExpr>>,
    /// The new slot of each column that is handed over; `None` is unbound.
    pub columns: Vec<Option<usize>>,
    /// Where batches go.
    pub sender: Sender<Message>,
}

/// What a column of a block scan is made of.
#[derive(Clone, Copy)]
enum Source {
    Subject,
    Predicate,
    Object,
    Graph,
    Unbound,
}

impl ScanThread {
    /// Scans until the end, or until nobody wants more; an error comes last. `count` is told how many quads were read before the last rows are sent, so that
    /// who has them has the count.
    pub fn run(&self, cx: &Context, count: impl FnOnce(usize)) {
        let mut outgoing = Outgoing::new(&self.sender, self.columns.len(), cx);
        let read = self.scan(&mut outgoing, cx);
        let counted = read.map(count);
        outgoing.send_last();
        if let Err(error) = counted.and_then(|()| cx.check()) {
            // A consumer that is gone wants no error either.
            let _ = self.sender.send(Err(error));
        }
    }

    /// Scans for all quads; how many were read.
    fn scan(&self, outgoing: &mut Outgoing<'_>, cx: &Context) -> Result<usize, ExecError> {
        let wanted = self.wanted(cx)?;
        let predicates = match (self.pattern.places[1], &wanted) {
            (Place::Id(predicate), _) => Predicates::One(TermId(predicate)),
            (_, Some(wanted)) => Predicates::Among(wanted),
            (_, None) => Predicates::All,
        };
        match self.scan_blocks(predicates, outgoing, cx)? {
            Some(read) => Ok(read),
            None => self.scan_quads(wanted.as_deref(), outgoing, cx),
        }
    }

    /// The predicates that fulfil the condition, ascending; `None` if there is none.
    fn wanted(&self, cx: &Context) -> Result<Option<Vec<TermId>>, ExecError> {
        let Some(filter) = &self.filter else {
            return Ok(None);
        };
        let totals = cx.snapshot().predicate_totals().into_iter();
        let all: Vec<u64> = totals.map(|(predicate, _)| predicate.0).collect();
        let count = all.len();
        let all = Batch::from_vectors(vec![all], count);
        let kept = all.keep(&filter.select(&all, cx)?);
        Ok(Some(kept.ids(0).iter().copied().map(TermId).collect()))
    }

    /// Scans quad after quad; how many were read.
    fn scan_quads(
        &self,
        wanted: Option<&[TermId]>,
        outgoing: &mut Outgoing<'_>,
        cx: &Context,
    ) -> Result<usize, ExecError> {
        let predicate = match self.pattern.places[1] {
            Place::New(column) => Some(column),
            Place::Id(_) | Place::Input(_) => None,
        };
        self.pattern.visit(&[], cx, &mut |row| {
            if let (Some(wanted), Some(column)) = (wanted, predicate)
                && wanted.binary_search(&TermId(row[column])).is_err()
            {
                return ControlFlow::Continue(());
            }
            let columns = self.columns.iter();
            outgoing.push(columns.map(|slot| slot.map_or(0, |slot| row[slot])))
        })
    }

    /// What each column is made of, if all slots of the pattern are different ones.
    fn sources(&self) -> Option<Vec<Source>> {
        let [subject, predicate, object] = self.pattern.places;
        let graph = match &self.pattern.graphs {
            GraphPlace::Variable(place, _) => Some((*place, Source::Graph)),
            GraphPlace::One(_) | GraphPlace::Merge(_) => None,
        };
        let mut slots = Vec::new();
        let places = [
            (subject, Source::Subject),
            (predicate, Source::Predicate),
            (object, Source::Object),
        ];
        for (place, source) in places.into_iter().chain(graph) {
            match (place, source) {
                (Place::New(slot), _) if slots.iter().all(|(other, _)| *other != slot) => {
                    slots.push((slot, source));
                }
                (Place::Id(_), Source::Predicate) => {}
                _ => return None,
            }
        }
        let source = |slot: &Option<usize>| {
            let found = slots.iter().find(|(other, _)| Some(*other) == *slot);
            found.map_or(Source::Unbound, |(_, source)| *source)
        };
        Some(self.columns.iter().map(source).collect())
    }

    /// Scans by blocks; how many quads were read, or nothing if the slots of the pattern are not different ones.
    fn scan_blocks(
        &self,
        predicates: Predicates<'_>,
        outgoing: &mut Outgoing<'_>,
        cx: &Context,
    ) -> Result<Option<usize>, ExecError> {
        let Some(sources) = self.sources() else {
            return Ok(None);
        };
        let mut read = 0;
        let mut on_block = |block: QuadBlock<'_>| {
            read += block.subjects.len();
            outgoing.push_block(&block, &sources)
        };
        let (snapshot, graphs) = (cx.snapshot(), &self.pattern.graph_set);
        match self.pattern.graphs {
            GraphPlace::One(_) | GraphPlace::Variable(..) => {
                snapshot.scan_blocks(predicates, graphs, &mut on_block)?;
            }
            GraphPlace::Merge(_) => {
                snapshot.scan_merged_blocks(predicates, graphs, &mut on_block)?;
            }
        }
        Ok(Some(read))
    }
}

/// Rows that are put together to batches and sent.
struct Outgoing<'a> {
    sender: &'a Sender<Message>,
    cx: &'a Context,
    batch_rows: usize,
    made: Vec<Vec<u64>>,
    rows: usize,
}

impl<'a> Outgoing<'a> {
    fn new(sender: &'a Sender<Message>, width: usize, cx: &'a Context) -> Self {
        let batch_rows = cx.options().batch_rows.max(1);
        Self {
            sender,
            cx,
            batch_rows,
            made: columns_with_room(width, batch_rows),
            rows: 0,
        }
    }

    /// Adds a row.
    fn push(&mut self, row: impl Iterator<Item = u64>) -> ControlFlow<()> {
        let columns = self.made.iter_mut().zip(row);
        columns.for_each(|(column, id)| column.push(id));
        self.rows += 1;
        self.send_if_full()
    }

    /// Adds the rows of a block.
    fn push_block(&mut self, block: &QuadBlock<'_>, sources: &[Source]) -> ControlFlow<()> {
        let mut start = 0;
        while start < block.subjects.len() {
            let end = block
                .subjects
                .len()
                .min(start + self.batch_rows - self.rows);
            let rows = end - start;
            for (column, source) in self.made.iter_mut().zip(sources) {
                let same = |id| std::iter::repeat_n(id, rows);
                match source {
                    Source::Subject => column.extend_from_slice(&block.subjects[start..end]),
                    Source::Object => column.extend_from_slice(&block.objects[start..end]),
                    Source::Predicate => column.extend(same(block.predicate.0)),
                    Source::Graph => match block.graphs {
                        BlockGraphs::One(graph) => column.extend(same(graph.0)),
                        BlockGraphs::Each(graphs) => column.extend_from_slice(&graphs[start..end]),
                    },
                    Source::Unbound => column.extend(same(0)),
                }
            }
            self.rows += rows;
            start = end;
            self.send_if_full()?;
        }
        ControlFlow::Continue(())
    }

    /// Sends the rows if they are a batch; breaks when nobody wants more.
    fn send_if_full(&mut self) -> ControlFlow<()> {
        if self.rows < self.batch_rows {
            return ControlFlow::Continue(());
        }
        match self.send() && self.cx.check().is_ok() {
            true => ControlFlow::Continue(()),
            false => ControlFlow::Break(()),
        }
    }

    fn send(&mut self) -> bool {
        let next = columns_with_room(self.made.len(), self.batch_rows);
        let full = std::mem::replace(&mut self.made, next);
        let batch = Batch::from_vectors(full, std::mem::take(&mut self.rows));
        self.sender.send(Ok(batch)).is_ok()
    }

    /// Sends what is left.
    fn send_last(&mut self) {
        if self.rows > 0 {
            self.send();
        }
    }
}
