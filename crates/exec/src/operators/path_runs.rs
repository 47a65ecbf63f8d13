//! `PathRuns`: many rows of a closure joined at a time.
//!
//! The common case of a [path join](super::path_join): one graph, and in every row one end is bound and the other is new, or both are bound.
//! The ends of some rows are asked for together and copied out run by run: some ns a pair, where going from row to row takes tens.

use super::path_join::CompiledPath;
use super::path_nodes::PathNodes;
use super::pattern_scan::Place;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::path::{Closure, Ends, PathGraph, PathGraphs};
use crate::star::Matches;
use basalt_store::Direction;

/// Rows whose ends are asked for together at first: whoever reads may want no more than one.
const ROWS_FIRST: usize = 1;
/// How many times as many are asked for next.
const ROWS_GROWTH: usize = 4;
/// Rows whose ends are asked for together at most.
const ROWS_MAX: usize = 1024;
/// Bytes of ends found after which no more rows are asked for: they may be those of one row, and then are all that is held.
const BYTES_AT_ONCE: usize = 1 << 20;

/// What rows have and want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bound {
    /// One end.
    One(Direction, Place),
    /// Both: the subject, the object.
    Both(Place, Place),
}

impl Bound {
    /// Of a path; `None` if its rows are to be joined one by one.
    pub fn of(path: &CompiledPath) -> Option<Self> {
        let is_one_closure = path.evaluator.closure().is_some()
            && matches!(path.evaluator.graphs(), PathGraphs::Single(_))
            && path.graph.is_none();
        if !is_one_closure {
            return None;
        }
        match (path.subject, path.object) {
            (Place::New(_), Place::New(_)) => None,
            (start, Place::New(_)) => Some(Self::One(Direction::Forward, start)),
            (Place::New(_), start) => Some(Self::One(Direction::Backward, start)),
            (subject, object) => Some(Self::Both(subject, object)),
        }
    }
}

/// The column that rows of a path have their start in, and which way they go; `None` if it is no column or rows are joined one by one.
pub fn start_column(path: &CompiledPath) -> Option<(Direction, usize)> {
    match Bound::of(path).filter(|_| !path.needs_node)? {
        Bound::One(direction, Place::Input(column)) => Some((direction, column)),
        Bound::One(..) | Bound::Both(..) => None,
    }
}

/// The ends of some rows of a batch, being given out.
pub struct PathRuns {
    /// Of the rows from `row` on.
    ends: std::vec::IntoIter<Ends>,
    /// The row after those given out.
    row: usize,
    /// Rows asked for next.
    rows_next: usize,
    /// Those of the row before that are left.
    rest: Option<(Ends, usize)>,
    nodes: PathNodes,
    held: HeldMemory,
}

impl PathRuns {
    /// Of a batch; the runs of the batch before, if there was one, tell how many rows to begin with, and which terms are nodes.
    pub fn after(before: Option<Self>) -> Self {
        let (rows_next, nodes) = match before {
            Some(before) => (before.rows_next, before.nodes),
            None => (ROWS_FIRST, PathNodes::default()),
        };
        Self {
            ends: Vec::new().into_iter(),
            row: 0,
            rows_next,
            rest: None,
            nodes,
            held: HeldMemory::default(),
        }
    }

    /// Appends matches until there are about so many; false if that is all of the batch.
    pub fn next(
        &mut self,
        bound: Bound,
        path: &CompiledPath,
        batch: &Batch,
        direction: Direction,
        matches: (&mut Matches, usize),
        cx: &Context,
    ) -> Result<bool, ExecError> {
        let (matches, count) = matches;
        let (Some(closure), PathGraphs::Single(graph)) =
            (path.evaluator.closure(), path.evaluator.graphs())
        else {
            return Ok(false);
        };
        while matches.len() < count {
            if let Some((ends, from)) = self.rest.take() {
                self.give(&ends, from, count, matches);
                continue;
            }
            let Some(ends) = self.ends.next() else {
                if self.row == batch.rows() {
                    return Ok(false);
                }
                let (direction, start) = match bound {
                    Bound::One(direction, start) => (direction, start),
                    Bound::Both(subject, object) => match direction {
                        Direction::Forward => (direction, subject),
                        Direction::Backward => (direction, object),
                    },
                };
                self.ask(closure, path, graph, (batch, direction, start), cx)?;
                continue;
            };
            self.row += 1;
            match bound {
                Bound::One(..) => self.give(&ends, 0, count, matches),
                Bound::Both(subject, object) => {
                    let end = match direction {
                        Direction::Forward => object,
                        Direction::Backward => subject,
                    };
                    let end = id_of(end, batch, self.row - 1);
                    if ends.binary_search(&end).is_ok() {
                        matches.origin.push(self.row as u32 - 1);
                    }
                }
            }
        }
        Ok(true)
    }

    /// Asks for the ends of the next rows.
    fn ask(
        &mut self,
        closure: &Closure,
        path: &CompiledPath,
        graph: &PathGraph,
        (batch, direction, start): (&Batch, Direction, Place),
        cx: &Context,
    ) -> Result<(), ExecError> {
        cx.check()?;
        let until = batch.rows().min(self.row + self.rows_next);
        self.rows_next = (self.rows_next * ROWS_GROWTH).min(ROWS_MAX);
        let rows = self.row..until;
        let starts: Vec<u64> = match start {
            Place::Id(id) => vec![id],
            place => rows.map(|row| id_of(place, batch, row)).collect(),
        };
        let (mut found, bytes) =
            closure.ends_of_some(&starts, direction, graph, BYTES_AT_ONCE, cx)?;
        if path.needs_node {
            self.nodes.keep_nodes(graph, &starts, &mut found, cx)?;
        }
        if let (Place::Id(_), Some(ends)) = (start, found.first()) {
            found = vec![Ends::clone(ends); until - self.row];
        }
        if bytes < self.held.bytes() / 4 {
            self.held.release();
        }
        self.held.grow_to(bytes, "PathJoin", cx)?;
        self.ends = found.into_iter();
        Ok(())
    }

    /// Copies out what fits of the ends of the row before.
    fn give(&mut self, ends: &Ends, from: usize, count: usize, matches: &mut Matches) {
        let room = count - matches.len();
        let until = ends.len().min(from + room);
        let origin = self.row as u32 - 1;
        let rows = matches.len() + until - from;
        matches.origin.resize(rows, origin);
        matches.columns[0].extend_from_slice(&ends[from..until]);
        if until < ends.len() {
            self.rest = Some((Ends::clone(ends), until));
        }
    }
}

/// The id of a place that is bound before the path is walked.
fn id_of(place: Place, batch: &Batch, row: usize) -> u64 {
    match place {
        Place::Id(id) => id,
        Place::Input(column) | Place::New(column) => batch.ids(column)[row],
    }
}
