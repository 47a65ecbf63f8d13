//! `Closure`: the evaluation of `?`, `*` or `+` from given nodes.
//!
//! Probing walks breadth first over the store, a whole frontier at a time; its cost is counted in
//! lookups over the whole query. When that has reached what reading every link would cost, the index
//! is made and used from then on, also for the walk under way, which starts again. If the memory
//! does not allow the index, probing goes on. An index is [kept](super::known_indexes) for the
//! queries that follow. Ends of each start are [remembered](super::memo) within a budget, because
//! the same start comes again in other batches and on other threads.

use super::automaton::Automaton;
use super::evaluator::{Ends, PathAccess};
use super::frontier::Side;
use super::graph::{Label, PathGraph, PathGraphs, scan};
use super::index::{PathIndex, Walk};
use super::known_indexes::KnownPathIndexes;
use super::memo::{Memo, MemoKey, Start};
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
/// Indexes kept for other queries take one in so many of the bytes that a query may hold.
const KNOWN_SHARE: usize = 8;
/// What a link takes at least in an index, with a walk.
const LINK_BYTES: u64 = 16;
/// Lookups that are always granted: a walk over a small neighbourhood in a large store.
const LOOKUPS_MIN: u64 = 1000;

/// Links as ids, by label.
type LinkLists = Vec<Vec<(u64, u64)>>;

/// What links take.
fn list_bytes(links: &LinkLists) -> usize {
    links.iter().map(|of_label| of_label.capacity() * 16).sum()
}

/// Every subject and object, by key of the graph.
type NodesByGraph = HashMap<u64, Arc<NodeSet>, RandomState>;

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
    /// Lookups of this query so far.
    own: AtomicU64,
    /// Those of this query and others before, once they are more than a few.
    spent: Arc<AtomicU64>,
    /// Where an index is kept for other queries, unless it has too many links for that.
    known: Option<Arc<KnownPathIndexes>>,
    /// Lookups after which the index is made.
    spent_max: u64,
    /// Whether there is an index: a query before made it, or this one.
    has_index: AtomicBool,
    /// The memory did not allow an index.
    refused: AtomicBool,
    pub(super) memo: Memo,
    indexes: Mutex<Indexes>,
    /// The nodes of each graph by key, if they were asked for.
    nodes: Mutex<Option<NodesByGraph>>,
}

/// The key of walks from a node.
fn memo_key(start: u64, direction: Direction, graph: &PathGraph) -> MemoKey {
    MemoKey {
        graph: graph.key(),
        start: Start::Node(start),
        direction,
    }
}

/// The bytes that indexes kept for other queries may take.
fn known_bytes_max(cx: &Context) -> usize {
    cx.options().memory_bytes_max / KNOWN_SHARE
}

/// Where an index of one graph with so many links is kept for other queries, if it is.
fn known_indexes(graphs: &PathGraphs, links: u64, cx: &Context) -> Option<Arc<KnownPathIndexes>> {
    let is_small = links * LINK_BYTES <= known_bytes_max(cx) as u64;
    let is_kept = is_small && matches!(graphs, PathGraphs::Single(_));
    cx.options().path_indexes.clone().filter(|_| is_kept)
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
        let mut indexes = Indexes::default();
        let mut spent = Arc::default();
        let known = known_indexes(&graphs, links, cx).filter(|_| access != PathAccess::Probe);
        if let (Some(known), PathGraphs::Single(graph)) = (&known, &graphs) {
            let before = known.begin(&forward, graph, cx.snapshot());
            spent = before.spent;
            let made = before.index.map(|index| (graph.key(), index));
            indexes.made.extend(made);
        }
        Self {
            has_index: AtomicBool::new(!indexes.made.is_empty()),
            forward,
            backward,
            graphs,
            access,
            own: AtomicU64::new(0),
            spent,
            known,
            spent_max: links / LINKS_PER_LOOKUP + LOOKUPS_MIN,
            refused: AtomicBool::new(false),
            memo: Memo::default(),
            indexes: Mutex::new(indexes),
            nodes: Mutex::default(),
        }
    }

    /// Whether a node is its own end without any link.
    pub fn matches_zero(&self) -> bool {
        self.forward.matches_zero
    }

    /// The automaton of a direction.
    pub(super) fn automaton(&self, direction: Direction) -> &Automaton {
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
        let key = memo_key(start, direction, graph);
        match self.memo.get(&key) {
            Some(ends) => Ok(ends),
            None => self.find_ends(key, start, graph, cx),
        }
    }

    /// The ends from some starts, one after the other; no more of them once those that were not known before take so many bytes. With
    /// these bytes.
    pub fn ends_of_some(
        &self,
        starts: &[u64],
        direction: Direction,
        graph: &PathGraph,
        bytes_max: usize,
        cx: &Context,
    ) -> Result<(Vec<Ends>, usize), ExecError> {
        let key = |&start: &u64| memo_key(start, direction, graph);
        let known = self.memo.get_all(starts.iter().map(key));
        let mut found: Vec<Ends> = Vec::with_capacity(starts.len());
        let mut bytes = 0;
        for (start, known) in starts.iter().zip(known) {
            let ends = match known {
                Some(ends) => ends,
                None if bytes >= bytes_max => break,
                None => {
                    let ends = self.ends(*start, direction, graph, cx)?;
                    bytes += size_of_val(&*ends);
                    ends
                }
            };
            found.push(ends);
        }
        Ok((found, bytes))
    }

    /// The ends from any of some starts, which ascend without repeats: ascending, each once.
    pub fn ends_of_all(
        &self,
        starts: &[u64],
        direction: Direction,
        graph: &PathGraph,
        cx: &Context,
    ) -> Result<Vec<u64>, ExecError> {
        let mut ends = self.by_either(
            graph,
            || self.probe_ends(starts, direction, graph, cx),
            |index| self.indexed_ends_of_all(index, starts, direction, cx),
            cx,
        )?;
        if self.matches_zero() {
            ends.extend_from_slice(starts);
            ends.sort_unstable();
            ends.dedup();
        }
        Ok(ends)
    }

    fn find_ends(
        &self,
        key: MemoKey,
        start: u64,
        graph: &PathGraph,
        cx: &Context,
    ) -> Result<Ends, ExecError> {
        let probe = || {
            let probed = self.probe_ends(&[start], key.direction, graph, cx)?;
            let Probed::Done(ends) = probed else {
                return Ok(Probed::TooCostly);
            };
            let ends = self.with_zero(ends, start);
            self.memo.remember(key, &ends, cx);
            Ok(Probed::Done(ends))
        };
        let walk = |index: &PathIndex| self.indexed_ends(index, start, key, cx);
        self.by_either(graph, probe, walk, cx)
    }

    /// What is found by probing, or by a walk over the index where that is wanted or probing has cost what the index would.
    ///
    /// Termination: where the memory allows no index, probing does not stop the second time.
    fn by_either<T>(
        &self,
        graph: &PathGraph,
        probe: impl Fn() -> Result<Probed<T>, ExecError>,
        walk: impl Fn(&PathIndex) -> Result<T, ExecError>,
        cx: &Context,
    ) -> Result<T, ExecError> {
        loop {
            if !self.wants_index()
                && let Probed::Done(found) = probe()?
            {
                return Ok(found);
            }
            if let Some(index) = self.index(graph, cx)?
                && let Some(found) = self.allowed(walk(&index))?
            {
                return Ok(found);
            }
        }
    }

    /// Ends with the start among them, if it is its own end without a link.
    pub(super) fn with_zero(&self, mut ends: Vec<u64>, start: u64) -> Ends {
        if self.matches_zero()
            && let Err(position) = ends.binary_search(&start)
        {
            ends.insert(position, start);
        }
        ends.into()
    }

    fn wants_index(&self) -> bool {
        match self.access {
            PathAccess::Probe => false,
            PathAccess::Index => true,
            PathAccess::Adaptive => {
                let is_due = self.spent.load(Ordering::Relaxed) > self.spent_max;
                let is_wanted = is_due || self.has_index.load(Ordering::Relaxed);
                is_wanted && !self.refused.load(Ordering::Relaxed)
            }
        }
    }

    /// Counts lookups; says whether there may be as many. Queries that look a few links up leave nothing to those that follow, so that
    /// none of them has to make an index for what others did.
    fn spend(&self, lookups: u64) -> bool {
        let before = self.own.fetch_add(lookups, Ordering::Relaxed);
        let after = before + lookups;
        if after > LOOKUPS_MIN {
            let not_counted = if before > LOOKUPS_MIN { lookups } else { after };
            self.spent.fetch_add(not_counted, Ordering::Relaxed);
        }
        !self.wants_index()
    }

    fn probe_ends(
        &self,
        starts: &[u64],
        direction: Direction,
        graph: &PathGraph,
        cx: &Context,
    ) -> Result<Probed<Vec<u64>>, ExecError> {
        let automaton = self.automaton(direction);
        let mut side = Side::new(automaton, starts);
        let mut held = Reservation::new(cx);
        while side.width() > 0 {
            if !self.spend(side.lookups()) {
                return Ok(Probed::TooCostly);
            }
            side.advance(graph, cx)?;
            held.grow_to(side.bytes())?;
        }
        let mut ends = Vec::new();
        let accepting = side.met.iter().zip(&automaton.accepting);
        for (met, _) in accepting.filter(|(_, accepts)| **accepts) {
            held.grow_to(side.bytes() + (ends.len() + met.len()) * 8)?;
            met.sorted_into(&mut ends);
        }
        if automaton.accepts_in_several() {
            ends.sort_unstable();
            ends.dedup();
        }
        Ok(Probed::Done(ends))
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
        self.by_either(
            graph,
            || self.probe_between(subject, object, graph, cx),
            |index| self.indexed_connects(index, [subject, object], cx),
            cx,
        )
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
        let walk = self.walk(index, Direction::Forward, cx)?;
        index.with_scratch(walk, cx, |scratch| {
            walk.find_ends(&[from], Some(to), scratch, cx)?;
            Ok(scratch.ends.contains(&to))
        })
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
        let mut near = Side::new(&self.forward, &[subject]);
        let mut far = Side::new(&self.backward, &[object]);
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
        // Should this query not get to its end, those that follow are not to begin with the same.
        self.spent.store(0, Ordering::Relaxed);
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
        self.has_index.store(true, Ordering::Relaxed);
        if let (Some(known), PathGraphs::Single(graph)) = (&self.known, &self.graphs) {
            let bytes_max = known_bytes_max(cx);
            known.keep(&self.forward, graph, cx.snapshot(), &index, bytes_max);
        }
        Ok(index)
    }

    /// The walk in a direction over an index of this closure.
    pub fn walk<'i>(
        &self,
        index: &'i PathIndex,
        direction: Direction,
        cx: &Context,
    ) -> Result<&'i Walk, ExecError> {
        index.walk(self.automaton(direction), direction, cx)
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
        // Links of one graph mostly follow each other.
        let (mut last, mut lists): (Option<u64>, LinkLists) = (None, Vec::new());
        let mut held = Reservation::new(cx);
        let mut bytes = 0;
        for (label_idx, label) in labels.iter().enumerate() {
            scan(&self.graphs, label, cx, &mut |key, quad| {
                if last != Some(key) {
                    let none = || vec![Vec::new(); labels.len()];
                    let of_key = links.remove(&key).unwrap_or_else(none);
                    let before = std::mem::replace(&mut lists, of_key);
                    if let Some(last) = last.replace(key) {
                        links.insert(last, before);
                    }
                }
                let list = &mut lists[label_idx];
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
        if let Some(last) = last {
            links.insert(last, lists);
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
