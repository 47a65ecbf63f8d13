//! `PatternScan`: one pattern without restrictions on its positions, through the general access path.
//!
//! A pattern with a bound subject or object, or of graphs with few quads, is looked up at once; a scan of everything, and of a constant with very many quads, runs on a thread
//! of its own that hands over batches through a short queue, so that memory stays constant and a
//! consumer that stops early stops it. A condition over the predicate is asked once for each predicate that there is, whose quads are scanned or not. Only a merge of graphs, in which a triple counts once, has to remember what it gave where it looks up or slots repeat: that
//! is counted against the query's memory.

use super::Operator;
use super::output::Output;
use super::scan_thread::{Message, ScanThread};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::CompiledExpr;
use crate::held_memory::HeldMemory;
use crate::profile::{current_node, waiting};
use crate::star::RARE_GRAPH;
use basalt_plan::physical::{Expr, Graphs, Pattern, Position, Slot};
use basalt_rdf::TermId;
use basalt_store::{GraphSet, QuadIds, QuadPattern, Snapshot};
use crossbeam_channel::{Receiver, bounded};
use hashbrown::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

/// Batches waiting between the scanning thread and its consumer.
const QUEUE_BATCHES: usize = 4;

/// Bytes of a triple of a merge that is remembered: three ids and the room that a hash table leaves free.
const REMEMBERED_BYTES: usize = 32;
/// So many of them are not worth counting.
const REMEMBERED_UNCOUNTED: usize = 128;

/// Matches of a constant, or of graphs, that are held together; more are scanned for as all others are.
const LOOK_UP_ROWS_MAX: usize = 1 << 15;
/// So few quads are looked up by their graphs whatever else there is: starting a thread takes as long.
const GRAPH_QUADS_MIN: u64 = 1 << 10;
/// Quads read between two looks at whether the query goes on.
const CHECKED_QUADS: usize = 1 << 12;

/// Where a position's value comes from, or goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A constant.
    Id(u64),
    /// A column of the input.
    Input(usize),
    /// A new column; the same one may occur several times.
    New(usize),
}

/// The graph position.
#[derive(Clone, Debug)]
pub(super) enum GraphPlace {
    One(TermId),
    Variable(Place, Option<Vec<TermId>>),
    Merge(Option<Vec<TermId>>),
}

/// A pattern made ready for rows of one schema.
#[derive(Clone)]
pub struct CompiledPattern {
    pub(super) places: [Place; 3],
    pub(super) graphs: GraphPlace,
    /// The graphs that are read, whatever the input binds.
    pub(super) graph_set: GraphSet,
    /// The slots of the new columns.
    pub new_slots: Vec<Slot>,
}

impl CompiledPattern {
    /// Prepares a pattern for input rows with this schema.
    pub fn new(pattern: &Pattern, input: &[Slot]) -> Self {
        let mut new_slots: Vec<Slot> = Vec::new();
        let mut place = |position: Position| match position {
            Position::Id(id) => Place::Id(id.0),
            Position::Slot(slot) => {
                if let Some(column) = input.iter().position(|&s| s == slot) {
                    return Place::Input(column);
                }
                let known = new_slots.iter().position(|&s| s == slot);
                Place::New(known.unwrap_or_else(|| {
                    new_slots.push(slot);
                    new_slots.len() - 1
                }))
            }
        };
        let places = [
            place(pattern.subject),
            place(pattern.predicate),
            place(pattern.object),
        ];
        let graphs = match &pattern.graphs {
            Graphs::One(id) => GraphPlace::One(*id),
            Graphs::Variable { slot, among } => {
                GraphPlace::Variable(place(Position::Slot(*slot)), among.clone())
            }
            Graphs::Merge { among } => GraphPlace::Merge(among.clone()),
        };
        let graph_set = match &graphs {
            GraphPlace::One(id) => GraphSet::One(*id),
            GraphPlace::Variable(_, among) => GraphSet::Named(among.clone()),
            GraphPlace::Merge(among) => GraphSet::Any(among.clone()),
        };
        Self {
            graph_set,
            places,
            graphs,
            new_slots,
        }
    }

    /// Visits the values of the new columns for every match with one input row, and returns how many quads were read. Conditions over predicates are asked of
    /// none of them.
    pub fn visit(
        &self,
        input: &[u64],
        cx: &Context,
        visit: &mut dyn FnMut(&[u64]) -> ControlFlow<()>,
    ) -> Result<usize, ExecError> {
        let bound = |place: Place| match place {
            Place::Id(id) => Some(TermId(id)),
            Place::Input(column) => Some(TermId(input[column])),
            Place::New(_) => None,
        };
        let Some(graph) = self.graph_of(bound) else {
            return Ok(0);
        };
        let [subject, predicate, object] = self.places.map(bound);
        if subject.or(object).is_none() && cx.snapshot().quads_in(&self.graph_set) == 0 {
            return Ok(0);
        }
        let mut row = vec![0; self.new_slots.len()];
        let mut seen = HashSet::with_hasher(std::hash::RandomState::new());
        let mut held = HeldMemory::default();
        let mut refused = Ok(());
        let mut read = 0;
        let mut on_quad = |quad: QuadIds| {
            read += 1;
            if read % CHECKED_QUADS == 0 {
                refused = cx.check();
                if refused.is_err() {
                    return ControlFlow::Break(());
                }
            }
            if !self.graph_fits(quad.graph) {
                return ControlFlow::Continue(());
            }
            if matches!(self.graphs, GraphPlace::Merge(_)) {
                if !seen.insert((quad.subject, quad.predicate, quad.object)) {
                    return ControlFlow::Continue(());
                }
                if seen.len() > REMEMBERED_UNCOUNTED {
                    refused = held.grow_to(seen.capacity() * REMEMBERED_BYTES, "PatternScan", cx);
                }
                if refused.is_err() {
                    return ControlFlow::Break(());
                }
            }
            if self.fill(&mut row, quad) {
                visit(&row)
            } else {
                ControlFlow::Continue(())
            }
        };
        let pattern = QuadPattern {
            subject,
            predicate,
            object,
            graph,
        };
        cx.snapshot()
            .matching_among(&pattern, &self.graph_set, &mut on_quad)?;
        refused.map(|()| read)
    }

    /// The graph that quads must be in, if it is one; nothing if none may be read.
    fn graph_of(&self, bound: impl Fn(Place) -> Option<TermId>) -> Option<Option<TermId>> {
        match &self.graphs {
            GraphPlace::One(id) => Some(Some(*id)),
            GraphPlace::Variable(place, _) => {
                let graph = bound(*place);
                let is_refused = graph.is_some_and(|graph| !self.graph_fits(graph));
                (!is_refused).then_some(graph)
            }
            GraphPlace::Merge(_) => Some(None),
        }
    }

    /// The new column that takes the graph, and the column of the input that has it, if there are such; `None` if it is a variable that is a
    /// constant.
    pub(super) fn graph_columns(&self) -> Option<(Option<usize>, Option<usize>)> {
        match self.graphs {
            GraphPlace::One(_) | GraphPlace::Merge(_) => Some((None, None)),
            GraphPlace::Variable(Place::New(column), _) => Some((Some(column), None)),
            GraphPlace::Variable(Place::Input(column), _) => Some((None, Some(column))),
            GraphPlace::Variable(Place::Id(_), _) => None,
        }
    }

    pub(super) fn graph_fits(&self, graph: TermId) -> bool {
        let among =
            |list: &Option<Vec<TermId>>| list.as_ref().is_none_or(|list| list.contains(&graph));
        match &self.graphs {
            GraphPlace::One(id) => graph == *id,
            GraphPlace::Variable(_, list) => graph != TermId::DEFAULT_GRAPH && among(list),
            GraphPlace::Merge(list) => among(list),
        }
    }

    /// Puts a quad into the new columns; false if a repeated slot would need two values.
    fn fill(&self, row: &mut [u64], quad: QuadIds) -> bool {
        row.fill(0);
        let graph = match self.graphs {
            GraphPlace::Variable(place, _) => Some((place, quad.graph)),
            GraphPlace::One(_) | GraphPlace::Merge(_) => None,
        };
        let terms = self
            .places
            .into_iter()
            .zip([quad.subject, quad.predicate, quad.object]);
        terms.chain(graph).all(|(place, id)| match place {
            Place::New(column) if row[column] == 0 => {
                row[column] = id.0;
                true
            }
            Place::New(column) => row[column] == id.0,
            Place::Id(_) | Place::Input(_) => true,
        })
    }

    /// Whether subject or object is a constant, or the quads of the graphs that are read are few.
    fn is_lookup(&self, snapshot: &Snapshot) -> bool {
        let are_few = || {
            let quads = snapshot.quads_in(&self.graph_set);
            // What is merged is remembered.
            let is_rare = !matches!(self.graphs, GraphPlace::Merge(_))
                && quads <= snapshot.quad_count() / RARE_GRAPH
                && quads <= LOOK_UP_ROWS_MAX as u64;
            self.graph_set.few_named().is_some() && (is_rare || quads <= GRAPH_QUADS_MIN)
        };
        matches!(self.places[0], Place::Id(_))
            || matches!(self.places[2], Place::Id(_))
            || are_few()
    }
}

/// The operator; see the [module documentation](self).
pub struct PatternScan {
    pattern: CompiledPattern,
    /// Condition over the predicate, which has a column of its own here.
    filter: Option<Arc<CompiledExpr>>,
    columns: Vec<Option<usize>>,
    cx: Arc<Context>,
    receiver: Option<Receiver<Message>>,
    output: Output,
    begun: bool,
}

impl PatternScan {
    /// Scans for a pattern whose predicate fulfils a condition, and produces the slots of `schema`.
    pub fn new(
        pattern: &Pattern,
        filter: Option<&Expr>,
        schema: Vec<Slot>,
        cx: Arc<Context>,
    ) -> Result<Self, ExecError> {
        let predicate: Vec<Slot> = pattern.predicate.slot().into_iter().collect();
        let compiled = |filter: &Expr| CompiledExpr::compile(filter, &predicate, &cx).map(Arc::new);
        let filter = filter.map(compiled).transpose()?;
        let pattern = CompiledPattern::new(pattern, &[]);
        let columns = schema
            .iter()
            .map(|slot| pattern.new_slots.iter().position(|s| s == slot))
            .collect();
        Ok(Self {
            pattern,
            filter,
            columns,
            cx,
            receiver: None,
            output: Output::default(),
            begun: false,
        })
    }

    /// Looks a constant up; false if it has too many quads to be held together.
    fn look_up(&mut self) -> Result<bool, ExecError> {
        let mut made = vec![Vec::new(); self.pattern.new_slots.len()];
        let mut rows = 0;
        let read = self.pattern.visit(&[], &self.cx, &mut |row| {
            made.iter_mut()
                .zip(row)
                .for_each(|(column, &id)| column.push(id));
            rows += 1;
            match rows <= LOOK_UP_ROWS_MAX {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        })?;
        if rows > LOOK_UP_ROWS_MAX {
            return Ok(false);
        }
        self.cx.profile().read(current_node(), read);
        let mut found = Batch::from_vectors(made, rows);
        if let (Some(filter), Place::New(column)) = (&self.filter, self.pattern.places[1]) {
            let predicates = found.select_columns(&[Some(column)]);
            found = found.keep(&filter.select(&predicates, &self.cx)?);
        }
        self.output.put(found.select_columns(&self.columns));
        Ok(true)
    }

    fn start_thread(&mut self) -> Result<(), ExecError> {
        let (sender, receiver) = bounded::<Message>(QUEUE_BATCHES);
        let scan = ScanThread {
            pattern: self.pattern.clone(),
            filter: self.filter.clone(),
            columns: self.columns.clone(),
            sender,
        };
        let (cx, node) = (Arc::clone(&self.cx), current_node());
        let scan = move || scan.run(&cx, |read| cx.profile().read(node, read));
        std::thread::Builder::new()
            .name("basalt-scan".into())
            .spawn(scan)
            .map_err(|error| ExecError::Internal(format!("cannot start a thread: {error}")))?;
        self.receiver = Some(receiver);
        Ok(())
    }
}

impl Operator for PatternScan {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        cx.check()?;
        if !std::mem::replace(&mut self.begun, true) {
            let is_done = self.pattern.is_lookup(cx.snapshot()) && self.look_up()?;
            if !is_done {
                self.start_thread()?;
            }
        }
        match &self.receiver {
            Some(receiver) => waiting(|| receiver.recv().ok()).transpose(),
            None => Ok(self.output.take(cx)),
        }
    }
}
