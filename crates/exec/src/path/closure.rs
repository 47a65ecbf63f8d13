//! `Closure`: the evaluation of `?`, `*` or `+` from given nodes.
//!
//! Probing walks breadth first over the store, a whole frontier at a time; its cost is counted in
//! lookups over the whole query. When that has reached what reading every link would cost, the index
//! is made and used from then on, also for the walk under way, which starts again. If the memory
//! does not allow the index, probing goes on. Ends of each start are remembered within a budget,
//! because the same start comes again in other batches and on other threads.

use super::automaton::Automaton;
use super::evaluator::{Ends, PathAccess};
use super::graph::{Label, PathGraph, PathGraphs, scan};
use super::index::{PathIndex, Scratch, Walk};
use super::node_set::NodeSet;
use super::reservation::Reservation;
use super::step::Step;
use crate::context::Context;
use crate::error::ExecError;
use basalt_store::Direction;
use hashbrown::HashMap;
use std::hash::RandomState;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// Links read for an index in the time of one lookup: some 50 ns against 400 ns.
const LINKS_PER_LOOKUP: u64 = 8;
/// Lookups that are always granted: a walk over a small neighbourhood in a large store.
const LOOKUPS_MIN: u64 = 1000;
/// Lookups that one call costs beside those of its nodes: tables and columns are found, lists made.
const LOOKUPS_PER_CALL: u64 = 3;
/// Lookups for a node where the predicate is not given: all columns and predicates are tried.
const LOOKUPS_PER_NEGATED: u64 = 16;
/// Bytes of remembered ends; they are forgotten together when that is full.
const MEMO_BYTES_MAX: usize = 64 << 20;
/// Bytes that an entry takes beside its ends.
const MEMO_ENTRY_BYTES: usize = 96;

/// Links as ids, by label.
type LinkLists = Vec<Vec<(u64, u64)>>;

/// What links take.
fn list_bytes(links: &LinkLists) -> usize {
    links.iter().map(|of_label| of_label.capacity() * 16).sum()
}

/// Every subject and object, by key of the graph.
type NodesByGraph = HashMap<u64, Arc<NodeSet>, RandomState>;

/// Graph, start, whether forward.
type MemoKey = (u64, u64, bool);

/// What is known of walks done before.
#[derive(Default)]
struct Memo {
    ends: HashMap<MemoKey, Ends, RandomState>,
    bytes: usize,
}

/// The indexes made, by key of their graph.
#[derive(Default)]
struct Indexes {
    made: HashMap<u64, Arc<PathIndex>, RandomState>,
    /// Links of graphs whose index is not made yet: `GRAPH ?g` reads those of all graphs at once.
    links: Option<HashMap<u64, LinkLists, RandomState>>,
}

/// A path that gives each pair once, and what the query has learned of it.
pub struct Closure {
    forward: Automaton,
    backward: Automaton,
    graphs: PathGraphs,
    access: PathAccess,
    /// Lookups spent so far.
    spent: AtomicU64,
    /// Lookups after which the index is made.
    spent_max: u64,
    /// The memory did not allow an index.
    refused: AtomicBool,
    memo: Mutex<Memo>,
    indexes: Mutex<Indexes>,
    scratches: Mutex<Vec<Scratch>>,
    /// The nodes of each graph by key, if they were asked for.
    nodes: Mutex<Option<NodesByGraph>>,
}

/// The nodes met on one side of a walk, by state, and those to go on from.
struct Side<'a> {
    automaton: &'a Automaton,
    met: Vec<NodeSet>,
    frontier: Vec<Vec<u64>>,
}

impl<'a> Side<'a> {
    fn new(automaton: &'a Automaton, start: u64) -> Self {
        let states = automaton.states.len();
        let mut frontier = vec![Vec::new(); states];
        frontier[automaton.start].push(start);
        Self {
            automaton,
            met: (0..states).map(|_| NodeSet::default()).collect(),
            frontier,
        }
    }

    /// Nodes to go on from.
    fn width(&self) -> usize {
        self.frontier.iter().map(Vec::len).sum()
    }

    fn bytes(&self) -> usize {
        self.met.iter().map(NodeSet::bytes).sum::<usize>() + self.width() * 8
    }

    /// The lookups of one more level.
    fn lookups(&self) -> u64 {
        let states = self.automaton.states.iter().zip(&self.frontier);
        let of_state = states.map(|(transitions, nodes)| {
            let each = transitions.iter().map(|transition| {
                match self.automaton.labels[transition.label] {
                    Label::Link(_) => 1,
                    Label::Except(_) => LOOKUPS_PER_NEGATED,
                }
            });
            nodes.len() as u64 * each.sum::<u64>() + LOOKUPS_PER_CALL * transitions.len() as u64
        });
        of_state.sum()
    }

    /// Walks one link from every node of the frontier.
    fn advance(&mut self, graph: &PathGraph, cx: &Context) -> Result<(), ExecError> {
        let mut next = vec![Vec::new(); self.frontier.len()];
        for (state, mut nodes) in std::mem::take(&mut self.frontier).into_iter().enumerate() {
            nodes.sort_unstable();
            for transition in &self.automaton.states[state] {
                let label = &self.automaton.labels[transition.label];
                let direction = if transition.inverse {
                    Direction::Backward
                } else {
                    Direction::Forward
                };
                let (met, reached) = (&mut self.met[transition.to], &mut next[transition.to]);
                graph.expand(label, direction, &nodes, cx, &mut |_, _, other| {
                    if met.insert(other) {
                        reached.push(other);
                    }
                })?;
            }
        }
        self.frontier = next;
        Ok(())
    }
}

/// How a walk over the store ended.
enum Probed<T> {
    Done(T),
    /// It has cost what the index would.
    TooCostly,
}

impl Closure {
    /// Prepares the evaluation of a step over some graphs.
    pub fn new(step: &Step, graphs: PathGraphs, access: PathAccess, cx: &Context) -> Self {
        let forward = Automaton::new(step);
        let backward = Automaton::new(&step.inverted());
        let links: u64 = forward.labels.iter().map(|l| l.quad_count(cx)).sum();
        Self {
            forward,
            backward,
            graphs,
            access,
            spent: AtomicU64::new(0),
            spent_max: links / LINKS_PER_LOOKUP + LOOKUPS_MIN,
            refused: AtomicBool::new(false),
            memo: Mutex::default(),
            indexes: Mutex::default(),
            scratches: Mutex::default(),
            nodes: Mutex::default(),
        }
    }

    /// Whether a node is its own end without any link.
    pub fn matches_zero(&self) -> bool {
        self.forward.matches_zero
    }

    fn automaton(&self, direction: Direction) -> &Automaton {
        match direction {
            Direction::Forward => &self.forward,
            Direction::Backward => &self.backward,
        }
    }

    /// The graphs that it walks over.
    pub fn graphs(&self) -> &PathGraphs {
        &self.graphs
    }

    /// The ends of the path from one end, ascending, each once.
    pub fn ends(
        &self,
        start: u64,
        direction: Direction,
        graph: &PathGraph,
        cx: &Context,
    ) -> Result<Ends, ExecError> {
        let key = (graph.key(), start, direction == Direction::Forward);
        let known = self
            .memo
            .lock()
            .expect("no holder panics")
            .ends
            .get(&key)
            .cloned();
        if let Some(ends) = known {
            return Ok(ends);
        }
        let mut ends = Vec::new();
        let probed = if self.wants_index() {
            Probed::TooCostly
        } else {
            self.probe_ends(start, direction, graph, &mut ends, cx)?
        };
        if let Probed::TooCostly = probed {
            let is_found = match self.index(graph, cx)? {
                Some(index) => {
                    let walked = self.indexed_ends(&index, start, direction, &mut ends, cx);
                    self.allowed(walked)?.is_some()
                }
                None => false,
            };
            if !is_found {
                ends.clear();
                self.probe_ends(start, direction, graph, &mut ends, cx)?;
            }
        }
        if self.matches_zero()
            && let Err(position) = ends.binary_search(&start)
        {
            ends.insert(position, start);
        }
        let ends: Ends = ends.into();
        self.remember(key, &ends, cx);
        Ok(ends)
    }

    fn remember(&self, key: MemoKey, ends: &Ends, cx: &Context) {
        let bytes = ends.len() * 8 + MEMO_ENTRY_BYTES;
        let bytes_max = MEMO_BYTES_MAX.min(cx.options().memory_bytes_max / 8);
        if bytes > bytes_max / 2 {
            return;
        }
        let mut memo = self.memo.lock().expect("no holder panics");
        if memo.bytes + bytes > bytes_max {
            cx.release(memo.bytes);
            *memo = Memo::default();
        }
        if cx.reserve(bytes, "PathJoin").is_ok() {
            memo.bytes += bytes;
            memo.ends.insert(key, Arc::clone(ends));
        }
    }

    fn wants_index(&self) -> bool {
        match self.access {
            PathAccess::Probe => false,
            PathAccess::Index => true,
            PathAccess::Adaptive => {
                self.spent.load(Ordering::Relaxed) > self.spent_max
                    && !self.refused.load(Ordering::Relaxed)
            }
        }
    }

    /// Counts lookups; says whether there may be as many.
    fn spend(&self, lookups: u64) -> bool {
        self.spent.fetch_add(lookups, Ordering::Relaxed);
        !self.wants_index()
    }

    fn probe_ends(
        &self,
        start: u64,
        direction: Direction,
        graph: &PathGraph,
        ends: &mut Vec<u64>,
        cx: &Context,
    ) -> Result<Probed<()>, ExecError> {
        let automaton = self.automaton(direction);
        let mut side = Side::new(automaton, start);
        let mut held = Reservation::new(cx);
        while side.width() > 0 {
            if !self.spend(side.lookups()) {
                return Ok(Probed::TooCostly);
            }
            side.advance(graph, cx)?;
            held.grow_to(side.bytes())?;
        }
        let accepting = side.met.iter().zip(&automaton.accepting);
        for (met, _) in accepting.filter(|(_, accepts)| **accepts) {
            held.grow_to(side.bytes() + (ends.len() + met.len()) * 8)?;
            met.sorted_into(ends);
        }
        if automaton.accepts_in_several() {
            ends.sort_unstable();
            ends.dedup();
        }
        Ok(Probed::Done(()))
    }

    fn indexed_ends(
        &self,
        index: &PathIndex,
        start: u64,
        direction: Direction,
        ends: &mut Vec<u64>,
        cx: &Context,
    ) -> Result<(), ExecError> {
        let Some(node) = index.nodes.number(start) else {
            return Ok(());
        };
        let walk = index.walk(self.automaton(direction), direction, cx)?;
        let mut scratch = self.scratch(walk.vertex_count(), cx)?;
        let walked = walk.find_ends(node, None, &mut scratch, cx);
        if walked.is_ok() {
            index.sorted_ids_into(&mut scratch.ends, ends);
        }
        self.put_back(scratch);
        walked
    }

    /// Room for a walk over so many vertices.
    pub fn scratch(&self, vertices: usize, cx: &Context) -> Result<Scratch, ExecError> {
        let known = self.scratches.lock().expect("no holder panics").pop();
        let mut scratch = known.unwrap_or_default();
        let missing = vertices.saturating_sub(scratch.vertices());
        let mut held = Reservation::new(cx);
        // A turn for each vertex; the queue and the ends may hold all of them.
        held.grow_to(missing * 12)?;
        held.keep();
        scratch.begin(vertices);
        Ok(scratch)
    }

    /// Keeps the room for the next walk.
    pub fn put_back(&self, scratch: Scratch) {
        self.scratches
            .lock()
            .expect("no holder panics")
            .push(scratch);
    }

    /// Whether the path leads from one node to another.
    pub fn connects(
        &self,
        subject: u64,
        object: u64,
        graph: &PathGraph,
        cx: &Context,
    ) -> Result<bool, ExecError> {
        if self.matches_zero() && subject == object {
            return Ok(true);
        }
        if !self.wants_index() {
            match self.probe_between(subject, object, graph, cx)? {
                Probed::Done(found) => return Ok(found),
                Probed::TooCostly => {}
            }
        }
        if let Some(index) = self.index(graph, cx)? {
            let found = self.indexed_connects(&index, [subject, object], cx);
            if let Some(found) = self.allowed(found)? {
                return Ok(found);
            }
        }
        let ends = self.ends(subject, Direction::Forward, graph, cx)?;
        Ok(ends.binary_search(&object).is_ok())
    }

    fn indexed_connects(
        &self,
        index: &PathIndex,
        [subject, object]: [u64; 2],
        cx: &Context,
    ) -> Result<bool, ExecError> {
        let (Some(from), Some(to)) = (index.nodes.number(subject), index.nodes.number(object))
        else {
            return Ok(false);
        };
        let walk = index.walk(&self.forward, Direction::Forward, cx)?;
        let mut scratch = self.scratch(walk.vertex_count(), cx)?;
        let walked = walk.find_ends(from, Some(to), &mut scratch, cx);
        let found = scratch.ends.contains(&to);
        self.put_back(scratch);
        walked.map(|()| found)
    }

    /// Walks from both ends, always on the side with fewer nodes to go on from, until they meet. With
    /// several states it cannot be seen from a node alone whether two walks fit, so then only from
    /// the subject.
    fn probe_between(
        &self,
        subject: u64,
        object: u64,
        graph: &PathGraph,
        cx: &Context,
    ) -> Result<Probed<bool>, ExecError> {
        let mut near = Side::new(&self.forward, subject);
        let mut far = Side::new(&self.backward, object);
        let both_ways = self.forward.has_one_state();
        let mut held = Reservation::new(cx);
        loop {
            if near.width() == 0 || (both_ways && far.width() == 0) {
                return Ok(Probed::Done(false));
            }
            let forward = !both_ways || near.width() <= far.width();
            let (side, other, wanted) = if forward {
                (&mut near, &far, object)
            } else {
                (&mut far, &near, subject)
            };
            if !self.spend(side.lookups()) {
                return Ok(Probed::TooCostly);
            }
            side.advance(graph, cx)?;
            held.grow_to(side.bytes() + other.bytes())?;
            if side.finds(wanted) || (both_ways && side.meets(other)) {
                return Ok(Probed::Done(true));
            }
        }
    }

    /// The index of a graph; `None` if memory does not allow one.
    pub fn index(
        &self,
        graph: &PathGraph,
        cx: &Context,
    ) -> Result<Option<Arc<PathIndex>>, ExecError> {
        if self.access == PathAccess::Probe {
            return Ok(None);
        }
        let mut indexes = self.indexes.lock().expect("no holder panics");
        // Whoever waited here may have waited for an index that the memory did not allow.
        if self.refused.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let index = self.make_index(&mut indexes, graph, cx);
        self.allowed(index)
    }

    /// What came of using the index; `None` if the memory did not allow it, and probing goes on instead.
    fn allowed<T>(&self, outcome: Result<T, ExecError>) -> Result<Option<T>, ExecError> {
        match outcome {
            Ok(value) => Ok(Some(value)),
            Err(ExecError::MemoryLimit { .. }) if self.access == PathAccess::Adaptive => {
                self.refused.store(true, Ordering::Relaxed);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The index of a graph.
    pub fn must_index(&self, graph: &PathGraph, cx: &Context) -> Result<Arc<PathIndex>, ExecError> {
        let mut indexes = self.indexes.lock().expect("no holder panics");
        self.make_index(&mut indexes, graph, cx)
    }

    fn make_index(
        &self,
        indexes: &mut Indexes,
        graph: &PathGraph,
        cx: &Context,
    ) -> Result<Arc<PathIndex>, ExecError> {
        if let Some(index) = indexes.made.get(&graph.key()) {
            return Ok(Arc::clone(index));
        }
        if indexes.links.is_none() {
            indexes.links = Some(self.read_links(cx)?);
        }
        let read = indexes
            .links
            .as_mut()
            .and_then(|links| links.remove(&graph.key()));
        let labels = self.forward.labels.clone();
        let links = read.unwrap_or_else(|| vec![Vec::new(); labels.len()]);
        let bytes = list_bytes(&links);
        let index = PathIndex::new(labels, links, cx);
        cx.release(bytes);
        if index.is_err() {
            // A graph that is not among the links has none; this one has lost its own.
            let left = indexes.links.take().unwrap_or_default();
            cx.release(left.values().map(list_bytes).sum());
        }
        let index = Arc::new(index?);
        indexes.made.insert(graph.key(), Arc::clone(&index));
        Ok(index)
    }

    /// The walk from subjects to objects over an index of this closure.
    pub fn forward_walk<'i>(
        &self,
        index: &'i PathIndex,
        cx: &Context,
    ) -> Result<&'i Walk, ExecError> {
        index.walk(&self.forward, Direction::Forward, cx)
    }

    /// Every subject and object of a graph; `None` if it has none. The first call reads the quads of
    /// all graphs that the path is evaluated over.
    pub fn nodes(
        &self,
        graph: &PathGraph,
        cx: &Context,
    ) -> Result<Option<Arc<NodeSet>>, ExecError> {
        let mut nodes = self.nodes.lock().expect("no holder panics");
        let nodes = match &mut *nodes {
            Some(nodes) => nodes,
            unknown => unknown.insert(read_nodes(&self.graphs, cx)?),
        };
        Ok(nodes.get(&graph.key()).cloned())
    }

    /// Reads the links of all graphs; the bytes stay counted until their index is made.
    fn read_links(&self, cx: &Context) -> Result<HashMap<u64, LinkLists, RandomState>, ExecError> {
        let labels = &self.forward.labels;
        let mut links: HashMap<u64, LinkLists, RandomState> = HashMap::default();
        let mut held = Reservation::new(cx);
        let mut bytes = 0;
        for (label_idx, label) in labels.iter().enumerate() {
            scan(&self.graphs, label, cx, &mut |key, quad| {
                let of_graph = links
                    .entry(key)
                    .or_insert_with(|| vec![Vec::new(); labels.len()]);
                let list = &mut of_graph[label_idx];
                if list.len() == list.capacity() {
                    let more = list.len().max(4);
                    bytes += more * 16;
                    held.grow_to(bytes)?;
                    list.reserve_exact(more);
                }
                list.push((quad.subject.0, quad.object.0));
                Ok(())
            })?;
        }
        held.keep();
        Ok(links)
    }
}

/// Reads every subject and object by graph; the bytes stay counted until the query ends.
fn read_nodes(graphs: &PathGraphs, cx: &Context) -> Result<NodesByGraph, ExecError> {
    let every = Label::Except(Vec::new());
    let mut nodes: HashMap<u64, NodeSet, RandomState> = HashMap::default();
    let mut held = Reservation::new(cx);
    let mut inserted = 0_usize;
    scan(graphs, &every, cx, &mut |key, quad| {
        let of_graph = nodes.entry(key).or_default();
        for node in [quad.subject.0, quad.object.0] {
            inserted += usize::from(of_graph.insert(node));
        }
        // Scattered nodes take a hash slot or a small share of a page each.
        held.grow_to(inserted * 16)
    })?;
    held.keep();
    let nodes = nodes.into_iter();
    Ok(nodes.map(|(key, nodes)| (key, Arc::new(nodes))).collect())
}

impl Side<'_> {
    /// Whether a node has just been met in an accepting state (or ever was).
    fn finds(&self, node: u64) -> bool {
        let states = self.met.iter().zip(&self.automaton.accepting);
        states
            .into_iter()
            .any(|(met, accepts)| *accepts && met.contains(node))
    }

    /// Whether a node that the last level found was met on the other side, in whatever state.
    /// What earlier levels of either side found was compared then.
    fn meets(&self, other: &Side<'_>) -> bool {
        let mut found = self.frontier.iter().flatten();
        found.any(|&node| other.met.iter().any(|met| met.contains(node)))
    }
}
