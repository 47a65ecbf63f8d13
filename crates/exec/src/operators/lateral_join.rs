//! `LateralJoin`: the right side evaluated anew for each left row, which it sees.
//!
//! Left rows come batch by batch; the right side's operators are made for one row at a time and read to their
//! end. Rows with the same values in the slots that the right side uses get its rows from memory where they
//! were few. Output keeps the order of the left side. Memory: a batch, one batch of the right side, and
//! the rows remembered, counted.

use super::dependent::Dependent;
use super::output::Output;
use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use basalt_plan::physical::{Node, Slot};
use hashbrown::HashMap;
use std::hash::RandomState;
use std::sync::Arc;

/// Ids that the remembered rows may have together: 32 MB.
const KNOWN_CELLS_MAX: usize = 1 << 22;
/// Rows of one evaluation that are remembered.
const KNOWN_ROWS_MAX: usize = 4096;

/// Where an output column comes from.
#[derive(Clone, Copy, Debug)]
enum Source {
    /// A column of the left row.
    Left(usize),
    /// A column of the right side.
    Right(usize),
    /// On neither side.
    Nowhere,
}

/// Rows of the right side for one left row.
enum Running {
    /// Known from an earlier row; the number of the next batch.
    Known(Arc<Vec<Batch>>, usize),
    /// Computed now.
    Fresh {
        operator: BoxOperator,
        key: Vec<u64>,
        /// What came so far, unless it is too much to remember.
        collected: Option<Vec<Batch>>,
    },
}

/// The operator; see the [module documentation](self).
pub struct LateralJoin {
    left: BoxOperator,
    right: Dependent,
    sources: Vec<Source>,
    /// The left rows at work, and the next of them.
    current: (Batch, usize),
    running: Option<Running>,
    output: Output,
    known: HashMap<Vec<u64>, Arc<Vec<Batch>>, RandomState>,
    /// Ids that are remembered, keys included.
    known_cells: usize,
    held: HeldMemory,
}

impl LateralJoin {
    /// Joins rows of `left`, whose columns are `left_schema`, with the rows of `right`.
    pub fn new(
        (left, left_schema): (BoxOperator, &[Slot]),
        right: &Node,
        schema: &[Slot],
        cx: &Context,
    ) -> Self {
        let find = |schema: &[Slot], slot: &Slot| schema.iter().position(|s| s == slot);
        let source = |slot: &Slot| match (find(&right.schema, slot), find(left_schema, slot)) {
            // What both have is the same, or unbound on the left.
            (Some(column), _) => Source::Right(column),
            (None, Some(column)) => Source::Left(column),
            (None, None) => Source::Nowhere,
        };
        Self {
            left,
            right: Dependent::new(right, left_schema, cx),
            sources: schema.iter().map(source).collect(),
            current: (Batch::default(), 0),
            running: None,
            output: Output::default(),
            known: HashMap::default(),
            known_cells: 0,
            held: HeldMemory::default(),
        }
    }

    /// Begins with the next left row; false at the end.
    fn start_row(&mut self, cx: &Context) -> Result<bool, ExecError> {
        while self.current.1 == self.current.0.rows() {
            match self.left.next(cx)? {
                Some(batch) => self.current = (batch, 0),
                None => return Ok(false),
            }
        }
        let (batch, row) = (&self.current.0, self.current.1);
        let key = self.right.key(|column| batch.ids(column)[row]);
        self.current.1 += 1;
        self.running = Some(match self.known.get(&key) {
            Some(batches) => Running::Known(Arc::clone(batches), 0),
            None => Running::Fresh {
                operator: self.right.operator(&key, cx)?,
                key,
                collected: self.right.is_repeatable().then(Vec::new),
            },
        });
        Ok(true)
    }

    /// More rows of the right side for the row at work.
    fn next_right(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        let Some(running) = &mut self.running else {
            return Ok(None);
        };
        match running {
            Running::Known(batches, next) => {
                *next += 1;
                Ok(batches.get(*next - 1).cloned())
            }
            Running::Fresh {
                operator,
                key,
                collected,
            } => {
                let batch = operator.next(cx)?;
                if let (Some(batch), Some(batches)) = (&batch, &mut *collected) {
                    batches.push(batch.clone());
                    if batches.iter().map(Batch::rows).sum::<usize>() > KNOWN_ROWS_MAX {
                        *collected = None;
                    }
                }
                if batch.is_none()
                    && let Some(batches) = collected.take()
                {
                    let key = std::mem::take(key);
                    self.remember(key, batches, cx);
                }
                Ok(batch)
            }
        }
    }

    fn remember(&mut self, key: Vec<u64>, batches: Vec<Batch>, cx: &Context) {
        let cells = batches.iter().map(|batch| batch.bytes() / size_of::<u64>());
        // The rest of an entry is about as large as a dozen ids.
        let all = self.known_cells + cells.sum::<usize>() + key.len() + 12;
        let bytes = all * size_of::<u64>();
        if all <= KNOWN_CELLS_MAX && self.held.grow_cache_to(bytes, "LateralJoin", cx) {
            self.known_cells = all;
            self.known.insert(key, Arc::new(batches));
        }
    }

    /// Appends the row at work, extended by rows of the right side.
    fn append(&self, right: &Batch, columns: &mut [Vec<u64>]) {
        let (batch, row) = (&self.current.0, self.current.1 - 1);
        for (source, column) in self.sources.iter().zip(columns) {
            match source {
                Source::Right(idx) => column.extend_from_slice(right.ids(*idx)),
                Source::Left(idx) => {
                    column.extend(std::iter::repeat_n(batch.ids(*idx)[row], right.rows()));
                }
                Source::Nowhere => column.extend(std::iter::repeat_n(0, right.rows())),
            }
        }
    }
}

impl Operator for LateralJoin {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        if let Some(batch) = self.output.take(cx) {
            return Ok(Some(batch));
        }
        let mut columns = vec![Vec::new(); self.sources.len()];
        let mut rows = 0;
        while rows < cx.options().batch_rows.max(1) {
            cx.check()?;
            match self.next_right(cx)? {
                Some(right) => {
                    self.append(&right, &mut columns);
                    rows += right.rows();
                }
                None if self.start_row(cx)? => {}
                None => {
                    self.running = None;
                    break;
                }
            }
        }
        self.output.put(Batch::from_vectors(columns, rows));
        Ok(self.output.take(cx))
    }
}
