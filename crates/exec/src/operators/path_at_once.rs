//! `PathAtOnce`: the ends that a closure has from all rows of an input together, each once.
//!
//! Where nobody counts how often an end is reached nor asks from where, one walk from all starts finds them: each link is followed once,
//! however many starts lead to it. Nothing is given before all of the input has been read. Memory, counted: the starts and the ends.

use super::path_join::CompiledPath;
use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::path::PathGraphs;
use basalt_store::Direction;

/// Starts that are sorted and told apart together, at least.
const STARTS_SORTED_MIN: usize = 1 << 16;

/// The operator; see the [module documentation](self).
pub struct PathAtOnce {
    /// The rows, until they have been read.
    input: Option<BoxOperator>,
    path: CompiledPath,
    direction: Direction,
    /// The column of starts.
    start: usize,
    ends: Vec<u64>,
    given: usize,
    held: HeldMemory,
}

impl PathAtOnce {
    /// The ends of a path in one graph from a column of `input`.
    pub fn new(input: BoxOperator, path: CompiledPath, direction: Direction, start: usize) -> Self {
        Self {
            input: Some(input),
            path,
            direction,
            start,
            ends: Vec::new(),
            given: 0,
            held: HeldMemory::default(),
        }
    }

    /// The starts, ascending, each once.
    fn starts(&mut self, input: &mut BoxOperator, cx: &Context) -> Result<Vec<u64>, ExecError> {
        let mut starts: Vec<u64> = Vec::new();
        let mut sorted = 0;
        while let Some(batch) = input.next(cx)? {
            starts.extend_from_slice(batch.ids(self.start));
            if starts.len() - sorted > sorted.max(STARTS_SORTED_MIN) {
                starts.sort_unstable();
                starts.dedup();
                sorted = starts.len();
            }
            self.held.grow_to(starts.capacity() * 8, "PathJoin", cx)?;
        }
        starts.sort_unstable();
        starts.dedup();
        Ok(starts)
    }
}

impl Operator for PathAtOnce {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        if let Some(mut input) = self.input.take() {
            let starts = self.starts(&mut input, cx)?;
            drop(input);
            let evaluator = &self.path.evaluator;
            let (Some(closure), PathGraphs::Single(graph)) =
                (evaluator.closure(), evaluator.graphs())
            else {
                return Ok(None);
            };
            self.ends = closure.ends_of_all(&starts, self.direction, graph, cx)?;
            let bytes = (starts.capacity() + self.ends.capacity()) * 8;
            self.held.grow_to(bytes, "PathJoin", cx)?;
        }
        let until = self
            .ends
            .len()
            .min(self.given + cx.options().batch_rows.max(1));
        if until == self.given {
            return Ok(None);
        }
        let rows = until - self.given;
        let part = self.ends[self.given..until].to_vec();
        self.given = until;
        Ok(Some(Batch::from_vectors(vec![part], rows)))
    }
}
