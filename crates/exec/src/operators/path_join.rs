//! `PathJoin`: a property path for each input row, or alone over one row without columns.
//!
//! ```text
//! one end bound    ends of each distinct start, from the bound end
//! both bound       ends from the end with fewer distinct values, and a search in them; a single
//!                  row walks from both ends
//! none bound       all pairs, start by start
//! ```
//! Rows of a closure in one graph are joined [many at a time](super::path_runs), others one after the other. The evaluator ([`crate::path`]) is shared by all threads and all evaluations of an EXISTS and
//! remembers what it found. Output keeps the input's order. Memory: the ends of one start, or of those of
//! some hundred rows, counted, and a bounded number of rows of output.

use super::output::Output;
use super::path_nodes::PathNodes;
use super::path_runs::{Bound, PathRuns};
use super::pattern_scan::Place;
use super::peeked::Peeked;
use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::path::{AllPairs, Ends, PathEvaluator, PathGraph, PathGraphs, graphs_of};
use crate::star::Matches;
use basalt_plan::is_graph_node;
use basalt_plan::physical::{Endpoint, Graphs, Node, PathPattern, Slot};
use basalt_rdf::TermId;
use basalt_store::{Direction, GraphSet};
use hashbrown::{HashMap, HashSet};
use std::hash::RandomState;
use std::sync::Arc;

/// Matches made at a time: enough to amortise a call, little enough to stop early.
const MATCHES_AT_ONCE: usize = 1 << 13;
/// Rows whose starts are followed together where the path is not a closure.
const ROWS_AT_ONCE: usize = 256;

/// A path made ready for rows of one schema.
pub struct CompiledPath {
    pub(super) subject: Place,
    pub(super) object: Place,
    pub(super) graph: Option<Place>,
    pub(super) evaluator: Arc<PathEvaluator>,
    /// The slots of the new columns.
    pub new_slots: Vec<Slot>,
    /// Whether a pair of a term with itself is to be looked up: two variables, one bound already, by what may be no node of the graph.
    pub(super) needs_node: bool,
}

impl CompiledPath {
    /// Prepares the path of a node for rows of an input.
    pub fn new(node_id: usize, pattern: &PathPattern, input: &Node, cx: &Context) -> Self {
        let mut new_slots: Vec<Slot> = Vec::new();
        let mut slot_place = |slot: Slot| {
            if let Some(column) = input.schema.iter().position(|&s| s == slot) {
                return Place::Input(column);
            }
            let known = new_slots.iter().position(|&s| s == slot);
            Place::New(known.unwrap_or_else(|| {
                new_slots.push(slot);
                new_slots.len() - 1
            }))
        };
        let mut place = |endpoint: &Endpoint| match endpoint {
            Endpoint::Slot(slot) => slot_place(*slot),
            Endpoint::Constant(constant) => {
                let id = constant
                    .id
                    .unwrap_or_else(|| cx.terms().intern_term(&constant.term));
                Place::Id(id.0)
            }
        };
        let (subject, object) = (place(&pattern.subject), place(&pattern.object));
        let graph = pattern.graphs.slot().map(slot_place);
        let among = match &pattern.graphs {
            Graphs::Variable { among, .. } => among.clone(),
            Graphs::One(_) | Graphs::Merge { .. } => None,
        };
        let evaluator = cx.path((node_id, among), || {
            PathEvaluator::new(&pattern.path, PathGraphs::new(&pattern.graphs), cx)
        });
        let ends = [&pattern.subject, &pattern.object];
        let needs_node = evaluator.matches_zero() && may_be_no_node(ends, input, &pattern.graphs);
        Self {
            subject,
            object,
            graph,
            evaluator,
            new_slots,
            needs_node,
        }
    }

    /// The graphs to look at one after the other for an input row, with the name to bind.
    fn graphs_for(
        &self,
        input: &[u64],
        cx: &Context,
    ) -> Result<Vec<(Option<TermId>, PathGraph)>, ExecError> {
        if let PathGraphs::Single(graph) = self.evaluator.graphs() {
            return Ok(vec![(None, graph.clone())]);
        }
        let snapshot = cx.snapshot();
        let is_read = |graph: &TermId| self.evaluator.graphs().key_of(*graph).is_some();
        let one = |graph: TermId| (Some(graph), PathGraph::One(graph));
        if let Some(Place::Input(column)) = self.graph {
            let bound = TermId(input[column]);
            let has_quads = snapshot.quads_in(&GraphSet::One(bound)) > 0;
            return Ok(match has_quads && is_read(&bound) {
                true => vec![one(bound)],
                false => Vec::new(),
            });
        }
        let named = snapshot.named_graphs();
        // A term is an end of its own path of no link wherever it stands, a variable is one of the graph's nodes.
        let is_of_nodes = !self.evaluator.matches_zero() || self.needs_node;
        let mut ends = [self.subject, self.object].into_iter();
        if is_of_nodes
            && let Some(node) = ends.find_map(|end| bound(end, input))
            && let Some(graphs) = graphs_of(TermId(node), named.len(), cx)?
        {
            return Ok(graphs.into_iter().filter(is_read).map(one).collect());
        }
        let named = named.iter().map(|&(graph, _)| graph);
        Ok(named.filter(is_read).map(one).collect())
    }

    /// Whether both ends are the same new column.
    fn loops_only(&self) -> bool {
        matches!((self.subject, self.object), (Place::New(a), Place::New(b)) if a == b)
    }
}

/// Whether the ends of a path are variables, and the input binds some, but none by a node of these graphs for certain.
fn may_be_no_node(ends: [&Endpoint; 2], input: &Node, graphs: &Graphs) -> bool {
    let mut is_bound = false;
    for end in ends {
        let Endpoint::Slot(slot) = end else {
            return false;
        };
        if input.schema.contains(slot) {
            is_bound = true;
            if is_graph_node(input, *slot, graphs) {
                return false;
            }
        }
    }
    is_bound
}

/// A place's id in a row, if it is known before the path is walked.
fn bound(place: Place, row: &[u64]) -> Option<u64> {
    match place {
        Place::Id(id) => Some(id),
        Place::Input(column) => Some(row[column]),
        Place::New(_) => None,
    }
}

/// What is left of the path's answer for one row and graph.
enum Pending {
    /// The other ends of a bound one.
    Ends {
        start: u64,
        direction: Direction,
        ends: Ends,
        next: usize,
    },
    /// All pairs.
    All(AllPairs),
    /// So many times the pair that both ends are.
    Pair(u64, u64, usize),
}

/// A batch being joined.
struct Current {
    batch: Batch,
    /// The row being joined.
    row: usize,
    values: Vec<u64>,
    /// The graphs for the row and the one to look at next.
    graphs: Vec<(Option<TermId>, PathGraph)>,
    graph: usize,
    pending: Option<Pending>,
    /// From which end rows with both ends bound are followed.
    direction: Direction,
    /// Ends found for this and later rows, by graph and start.
    ready: Ready,
    /// Those of rows that are joined many at a time.
    runs: PathRuns,
    /// Whether it is the only row with both ends bound, for which the path is walked from both.
    is_single: bool,
}

/// The operator; see the [module documentation](self).
pub struct PathJoin {
    input: Peeked,
    path: CompiledPath,
    /// What rows have that are joined many at a time.
    bound: Option<Bound>,
    /// Those of the batch before; none until there was one.
    runs: Option<PathRuns>,
    /// Where the output's columns come from: the input's columns, then the new ones.
    columns: Vec<Option<usize>>,
    output: Output,
    current: Option<Current>,
    /// The ends found last, by graph and start: the next batch may begin where this one ended.
    ready: Ready,
    nodes: PathNodes,
}

/// Ends by graph and start, of one direction.
#[derive(Default)]
struct Ready {
    direction: Option<Direction>,
    ends: HashMap<(u64, u64), Ends, RandomState>,
    /// Their bytes.
    held: HeldMemory,
}

impl Ready {
    /// Forgets the ends of another direction: which one it is may differ from batch to batch.
    fn turn_to(&mut self, direction: Direction) {
        if self.direction != Some(direction) {
            self.direction = Some(direction);
            self.ends.clear();
            self.held.release();
        }
    }

    /// Keeps the ends of some starts, and no others.
    fn keep(
        &mut self,
        graph: u64,
        starts: &[u64],
        found: Vec<Ends>,
        cx: &Context,
    ) -> Result<(), ExecError> {
        self.ends.clear();
        let bytes = found.iter().map(|ends| size_of_val(&**ends)).sum();
        if bytes < self.held.bytes() / 4 {
            self.held.release();
        }
        self.held.grow_to(bytes, "PathJoin", cx)?;
        let keys = starts.iter().map(|&start| (graph, start));
        self.ends.extend(keys.zip(found));
        Ok(())
    }
}

impl PathJoin {
    /// Joins the rows of `input` with a path.
    pub fn new(input: BoxOperator, path: CompiledPath, columns: Vec<Option<usize>>) -> Self {
        Self {
            input: Peeked::new(input),
            bound: Bound::of(&path),
            runs: None,
            path,
            columns,
            output: Output::default(),
            current: None,
            ready: Ready::default(),
            nodes: PathNodes::default(),
        }
    }

    fn begin(&mut self, batch: Batch, cx: &Context) -> Result<Current, ExecError> {
        let are_bound = ![self.path.subject, self.path.object]
            .iter()
            .any(|place| matches!(place, Place::New(_)));
        let is_first = self.runs.is_none();
        let is_single = are_bound && is_first && batch.rows() == 1 && !self.input.has_rows(cx)?;
        let direction = self.direction(&batch);
        let mut ready = std::mem::take(&mut self.ready);
        ready.turn_to(direction);
        let mut current = Current {
            row: 0,
            values: Vec::new(),
            graphs: Vec::new(),
            graph: 0,
            pending: None,
            direction,
            ready,
            runs: PathRuns::after(self.runs.take()),
            is_single,
            batch,
        };
        if self.bound.is_none() || is_single {
            self.enter_row(&mut current, cx)?;
        }
        Ok(current)
    }

    /// From which end rows are followed: the bound one; of two a constant, or else the one with fewer
    /// distinct values in the batch.
    fn direction(&self, batch: &Batch) -> Direction {
        let distinct = |column: usize| {
            let values = batch.ids(column).iter();
            values.collect::<HashSet<_, RandomState>>().len()
        };
        match (self.path.subject, self.path.object) {
            (Place::Id(_), _) | (Place::Input(_), Place::New(_)) => Direction::Forward,
            (Place::Input(subject), Place::Input(object))
                if distinct(subject) <= distinct(object) =>
            {
                Direction::Forward
            }
            _ => Direction::Backward,
        }
    }

    fn enter_row(&self, current: &mut Current, cx: &Context) -> Result<(), ExecError> {
        current.values.clear();
        current.batch.row_into(current.row, &mut current.values);
        current.graphs = self.path.graphs_for(&current.values, cx)?;
        current.graph = 0;
        Ok(())
    }

    /// Looks at the next graph of the current row, or goes to the next row; false at the end.
    fn advance(&self, current: &mut Current, cx: &Context) -> Result<bool, ExecError> {
        cx.check()?;
        if current.graph == current.graphs.len() {
            current.row += 1;
            if current.row >= current.batch.rows() {
                return Ok(false);
            }
            self.enter_row(current, cx)?;
            return Ok(true);
        }
        let graph = current.graphs[current.graph].1.clone();
        current.graph += 1;
        let subject = bound(self.path.subject, &current.values);
        let object = bound(self.path.object, &current.values);
        let evaluator = &self.path.evaluator;
        current.pending = Some(match (subject, object) {
            (None, None) => Pending::All(evaluator.all(&graph, self.path.loops_only(), cx)?),
            (Some(subject), Some(object)) => {
                let count = self.count_between(current, subject, object, &graph, cx)?;
                Pending::Pair(subject, object, count)
            }
            (Some(start), None) | (None, Some(start)) => {
                let ends = self.ends(current, start, &graph, cx)?;
                Pending::Ends {
                    start,
                    direction: current.direction,
                    ends,
                    next: 0,
                }
            }
        });
        Ok(true)
    }

    /// How often the path leads from one node to another.
    fn count_between(
        &self,
        current: &mut Current,
        subject: u64,
        object: u64,
        graph: &PathGraph,
        cx: &Context,
    ) -> Result<usize, ExecError> {
        let Some(closure) = self.path.evaluator.closure() else {
            let (start, end) = match current.direction {
                Direction::Forward => (subject, object),
                Direction::Backward => (object, subject),
            };
            let ends = self.ends(current, start, graph, cx)?;
            return Ok(ends.iter().filter(|&&found| found == end).count());
        };
        if current.is_single {
            return Ok(usize::from(closure.connects(subject, object, graph, cx)?));
        }
        let (start, end) = match current.direction {
            Direction::Forward => (subject, object),
            Direction::Backward => (object, subject),
        };
        let ends = self.ends(current, start, graph, cx)?;
        Ok(usize::from(ends.binary_search(&end).is_ok()))
    }

    /// The ends from the bound end of the current row; those of later rows are found with them where
    /// that is cheaper.
    fn ends(
        &self,
        current: &mut Current,
        start: u64,
        graph: &PathGraph,
        cx: &Context,
    ) -> Result<Ends, ExecError> {
        let key = (graph.key(), start);
        if let Some(ends) = current.ready.ends.get(&key) {
            return Ok(Arc::clone(ends));
        }
        let evaluator = &self.path.evaluator;
        let place = match current.direction {
            Direction::Forward => self.path.subject,
            Direction::Backward => self.path.object,
        };
        let mut starts = vec![start];
        if let (None, Place::Input(column)) = (evaluator.closure(), place) {
            let rows = ROWS_AT_ONCE.min(current.batch.rows() - current.row);
            starts.extend(&current.batch.ids(column)[current.row..][..rows]);
            starts.sort_unstable();
            starts.dedup();
        }
        let found = evaluator.ends_of(&starts, current.direction, graph, cx)?;
        // Only those of this turn: what a closure found it remembers itself.
        current.ready.keep(graph.key(), &starts, found, cx)?;
        let ends = current.ready.ends.get(&key);
        Ok(ends.map_or_else(|| Ends::from([]), Arc::clone))
    }

    /// Appends what fits of a pending answer; gives it back if there is more.
    fn drain(
        &mut self,
        current: &mut Current,
        pending: Pending,
        matches: &mut Matches,
        cx: &Context,
    ) -> Result<Option<Pending>, ExecError> {
        let room = MATCHES_AT_ONCE.saturating_sub(matches.len()).max(1);
        let mut pairs = Vec::new();
        let rest = match pending {
            Pending::Pair(subject, object, count) => {
                pairs.resize(count.min(room), (subject, object));
                let left = count - pairs.len();
                (left > 0).then_some(Pending::Pair(subject, object, left))
            }
            Pending::All(mut all) => {
                all.next(room, &mut pairs, cx)?;
                (!pairs.is_empty()).then_some(Pending::All(all))
            }
            Pending::Ends {
                start,
                direction,
                ends,
                next,
            } => {
                let until = ends.len().min(next + room);
                let part = ends[next..until].iter();
                match direction {
                    Direction::Forward => pairs.extend(part.map(|&end| (start, end))),
                    Direction::Backward => pairs.extend(part.map(|&end| (end, start))),
                }
                (until < ends.len()).then_some(Pending::Ends {
                    start,
                    direction,
                    ends,
                    next: until,
                })
            }
        };
        self.emit(current, &pairs, matches, cx)?;
        Ok(rest)
    }

    /// Appends the matches of the current row with some pairs.
    fn emit(
        &mut self,
        current: &Current,
        pairs: &[(u64, u64)],
        matches: &mut Matches,
        cx: &Context,
    ) -> Result<(), ExecError> {
        let (name, graph) = &current.graphs[current.graph - 1];
        let places = [
            Some(self.path.subject),
            Some(self.path.object),
            self.path.graph,
        ];
        let name = name.map_or(0, |name| name.0);
        let mut row = vec![0; self.path.new_slots.len()];
        for &(subject, object) in pairs {
            if self.path.needs_node && subject == object && !self.nodes.has(graph, subject, cx)? {
                continue;
            }
            row.fill(0);
            let made = places.iter().zip([subject, object, name]);
            let fits = made.into_iter().all(|(place, id)| match place {
                Some(Place::New(column)) if row[*column] == 0 => {
                    row[*column] = id;
                    true
                }
                Some(Place::New(column)) => row[*column] == id,
                Some(Place::Id(_) | Place::Input(_)) | None => true,
            });
            if fits {
                matches.origin.push(current.row as u32);
                let columns = matches.columns.iter_mut().zip(&row);
                columns.for_each(|(column, &id)| column.push(id));
            }
        }
        Ok(())
    }
}

impl Operator for PathJoin {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        loop {
            if let Some(batch) = self.output.take(cx) {
                return Ok(Some(batch));
            }
            let mut current = match self.current.take() {
                Some(current) => current,
                None => match self.input.next(cx)? {
                    Some(batch) => self.begin(batch, cx)?,
                    None => return Ok(None),
                },
            };
            let mut matches = Matches::new(self.path.new_slots.len());
            let mut has_more = true;
            let many = self.bound.filter(|_| !current.is_single);
            if let Some(bound) = many {
                let Current {
                    runs,
                    batch,
                    direction,
                    ..
                } = &mut current;
                let wanted = (&mut matches, MATCHES_AT_ONCE);
                has_more = runs.next(bound, &self.path, batch, *direction, wanted, cx)?;
            }
            while many.is_none() && has_more && matches.len() < MATCHES_AT_ONCE {
                match current.pending.take() {
                    Some(pending) => {
                        current.pending = self.drain(&mut current, pending, &mut matches, cx)?;
                    }
                    None => has_more = self.advance(&mut current, cx)?,
                }
            }
            let joined = matches
                .columns
                .into_iter()
                .fold(current.batch.take(&matches.origin), Batch::with_column);
            self.output.put(joined.select_columns(&self.columns));
            if has_more {
                self.current = Some(current);
            } else {
                self.ready = current.ready;
                self.runs = Some(current.runs);
            }
        }
    }
}
