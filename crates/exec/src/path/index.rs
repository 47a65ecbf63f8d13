//! `PathIndex`: all links of a closure's predicates in one graph, and walks over them.
//!
//! ```text
//! links:  subject number, object number           8 bytes a link, by label
//! walk:   offsets[state * nodes + node] -> targets 4 bytes a vertex, 4 a transition
//! ```
//! A [`Walk`] is the product of the links with an automaton in one direction, made when first
//! wanted: a vertex is a node in a state. Building costs some 50 ns a link; a step of a walk one or
//! two cache misses.

use super::automaton::Automaton;
use super::components::Components;
use super::graph::Label;
use super::numbering::Numbering;
use super::reservation::Reservation;
use crate::context::Context;
use crate::error::ExecError;
use basalt_store::Direction;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// Links read or written between two looks at the clock: a millisecond.
pub(super) const LINKS_PER_CHECK: usize = 1 << 15;
/// Vertices walked between two looks at the clock.
const VERTICES_PER_CHECK: usize = 1 << 12;

/// Numbers are sorted by a bit for each node where at least one node in so many is among them.
const NUMBERS_PER_BIT: usize = 64;
/// What a vertex takes while walks go on: a turn; the queue and the ends may hold all of them.
const SCRATCH_BYTES: usize = 12;
/// Components are made after as many walks over all vertices would have met as many: finding them takes some as long.
const WALKS_BEFORE_COMPONENTS: u64 = 2;

/// What a cell holds, made now if it is empty; the bytes stay counted until the query ends.
fn made_once<'c, T>(
    cell: &'c OnceLock<T>,
    cx: &Context,
    make: impl FnOnce(&mut Reservation<'_>) -> Result<T, ExecError>,
) -> Result<&'c T, ExecError> {
    if cell.get().is_none() {
        let mut held = Reservation::new(cx);
        let made = make(&mut held)?;
        // Another thread may have been faster.
        if cell.set(made).is_ok() {
            held.keep();
        }
    }
    Ok(cell.get().expect("it was set just now, by whomever"))
}

/// The links of one graph, numbered.
#[derive(Debug)]
pub struct PathIndex {
    /// The nodes.
    pub nodes: Numbering,
    labels: Vec<Label>,
    /// By label.
    links: Vec<Vec<(u32, u32)>>,
    forward: OneWay,
    backward: OneWay,
    scratches: Mutex<Vec<Scratch>>,
}

/// What is made of the links for one direction, when it is first wanted.
#[derive(Debug, Default)]
struct OneWay {
    walk: OnceLock<Walk>,
    components: OnceLock<Arc<Components>>,
    /// Vertices met by walks so far.
    met: AtomicU64,
}

/// The product of links and an automaton.
#[derive(Debug)]
pub struct Walk {
    node_count: usize,
    /// The first vertex of the start state.
    start: usize,
    /// By state.
    accepting: Vec<bool>,
    /// Whether the same node can be met as an end twice.
    repeats: bool,
    offsets: Vec<u32>,
    targets: Vec<u32>,
}

/// What a walk needs beside the index; to be used again, as clearing it costs nothing.
#[derive(Debug, Default)]
pub struct Scratch {
    /// The turn in which each vertex was met last.
    turns: Vec<u32>,
    turn: u32,
    queue: Vec<u32>,
    /// The nodes found: numbers, each once.
    pub ends: Vec<u32>,
}

impl PathIndex {
    /// Makes the index of links (by label) that are ids; the bytes stay counted until the query
    /// ends.
    pub fn new(
        labels: Vec<Label>,
        mut links: Vec<Vec<(u64, u64)>>,
        cx: &Context,
    ) -> Result<Self, ExecError> {
        let count: usize = links.iter().map(Vec::len).sum();
        let mut held = Reservation::new(cx);
        // At most two ends a link, 24 bytes each while they are sorted; and the numbers.
        held.grow_to(count * (2 * 12 + 8))?;
        let nodes = Numbering::new(&links, cx)?;
        let number = |id| nodes.number(id).expect("every end has a number");
        let mut numbered = Vec::with_capacity(links.len());
        for of_label in links.iter_mut().map(std::mem::take) {
            let mut pairs = Vec::with_capacity(of_label.len());
            for part in of_label.chunks(LINKS_PER_CHECK) {
                cx.check()?;
                pairs.extend(part.iter().map(|&(s, o)| (number(s), number(o))));
            }
            numbered.push(pairs);
        }
        drop(held);
        let mut held = Reservation::new(cx);
        held.grow_to(count * 8 + nodes.bytes())?;
        held.keep();
        Ok(Self {
            nodes,
            labels,
            links: numbered,
            forward: OneWay::default(),
            backward: OneWay::default(),
            scratches: Mutex::default(),
        })
    }

    /// The most that it and all that is made of it take, with automata of so many states or one more.
    pub fn bytes_max(&self, states: usize) -> usize {
        let links: usize = self.links.iter().map(Vec::len).sum();
        let vertices = self.nodes.len() * (states + 1);
        let of_walk = (vertices + links * (states + 1)) * 4;
        let of_components = vertices * 20 + links * (states + 1) * 4;
        self.nodes.bytes() + links * 8 + 2 * (of_walk + of_components) + vertices * SCRATCH_BYTES
    }

    /// Room for a walk over so many vertices.
    pub fn scratch(&self, vertices: usize, cx: &Context) -> Result<Scratch, ExecError> {
        let known = self.scratches.lock().expect("no holder panics").pop();
        let mut scratch = known.unwrap_or_default();
        let missing = vertices.saturating_sub(scratch.vertices());
        let mut held = Reservation::new(cx);
        held.grow_to(missing * SCRATCH_BYTES)?;
        held.keep();
        scratch.begin(vertices);
        Ok(scratch)
    }

    /// Walks in such room, which is kept for the next walk.
    pub fn with_scratch<T>(
        &self,
        walk: &Walk,
        cx: &Context,
        find: impl FnOnce(&mut Scratch) -> Result<T, ExecError>,
    ) -> Result<T, ExecError> {
        let mut scratch = self.scratch(walk.vertex_count(), cx)?;
        let found = find(&mut scratch);
        let mut scratches = self.scratches.lock().expect("no holder panics");
        scratches.push(scratch);
        found
    }

    /// The walk of an automaton; the same automaton must be given for the same direction.
    pub fn walk(
        &self,
        automaton: &Automaton,
        direction: Direction,
        cx: &Context,
    ) -> Result<&Walk, ExecError> {
        let cell = &self.one_way(direction).walk;
        made_once(cell, cx, |held| self.make_walk(automaton, held, cx))
    }

    fn one_way(&self, direction: Direction) -> &OneWay {
        match direction {
            Direction::Forward => &self.forward,
            Direction::Backward => &self.backward,
        }
    }

    /// The components of the walk of an automaton, as [`Self::walk`] has it.
    pub fn components(
        &self,
        automaton: &Automaton,
        direction: Direction,
        cx: &Context,
    ) -> Result<&Arc<Components>, ExecError> {
        let walk = self.walk(automaton, direction, cx)?;
        let cell = &self.one_way(direction).components;
        made_once(cell, cx, |held| {
            Components::new(walk, held, cx).map(Arc::new)
        })
    }

    /// Notes how many vertices a walk has met.
    pub fn note_met(&self, direction: Direction, vertices: usize) {
        let met = &self.one_way(direction).met;
        met.fetch_add(vertices as u64, Ordering::Relaxed);
    }

    /// Begins to count them anew.
    pub fn forget_met(&self, direction: Direction) {
        self.one_way(direction).met.store(0, Ordering::Relaxed);
    }

    /// Whether walks in a direction have met so many vertices that components cost no more: so they take twice as long at most, and
    /// walks that begin in one component are one.
    pub fn is_worth_components(&self, direction: Direction) -> bool {
        let way = self.one_way(direction);
        let vertices = way.walk.get().map_or(0, Walk::vertex_count) as u64;
        way.met.load(Ordering::Relaxed) > WALKS_BEFORE_COMPONENTS * vertices
    }

    fn make_walk(
        &self,
        automaton: &Automaton,
        held: &mut Reservation<'_>,
        cx: &Context,
    ) -> Result<Walk, ExecError> {
        let node_count = self.nodes.len();
        let vertices = node_count * automaton.states.len();
        let too_large = || ExecError::Unsupported("a path over more than 2^32 links".into());
        let by_transition = |visit: &mut dyn FnMut(usize, usize)| {
            for (state, transitions) in automaton.states.iter().enumerate() {
                for transition in transitions {
                    let label = &automaton.labels[transition.label];
                    let known = self.labels.iter().position(|l| l == label);
                    let links = &self.links[known.expect("both automata have the same labels")];
                    let (from, to) = (state * node_count, transition.to * node_count);
                    for part in links.chunks(LINKS_PER_CHECK) {
                        cx.check()?;
                        for &(subject, object) in part {
                            let (near, far) = if transition.inverse {
                                (object, subject)
                            } else {
                                (subject, object)
                            };
                            visit(from + near as usize, to + far as usize);
                        }
                    }
                }
            }
            Ok::<_, ExecError>(())
        };
        let used = automaton.states.iter().flatten().map(|transition| {
            let label = &automaton.labels[transition.label];
            let known = self.labels.iter().position(|l| l == label);
            known.map_or(0, |label| self.links[label].len())
        });
        let count: usize = used.sum();
        if u32::try_from(vertices.max(count)).is_err() {
            return Err(too_large());
        }
        held.grow_to(vertices * 8 + count * 4)?;
        let mut offsets = vec![0_u32; vertices + 1];
        by_transition(&mut |from, _| offsets[from + 1] += 1)?;
        for vertex in 0..vertices {
            offsets[vertex + 1] += offsets[vertex];
        }
        let mut next = offsets.clone();
        let mut targets = vec![0; count];
        by_transition(&mut |from, to| {
            targets[next[from] as usize] = to as u32;
            next[from] += 1;
        })?;
        Ok(Walk {
            node_count,
            start: automaton.start * node_count,
            accepting: automaton.accepting.clone(),
            repeats: automaton.accepts_in_several(),
            offsets,
            targets,
        })
    }

    /// The ids of numbers, which are different ones, ascending.
    pub fn sorted_ids(&self, numbers: &mut [u32]) -> Vec<u64> {
        let mut ids = Vec::with_capacity(numbers.len());
        if numbers.len() * NUMBERS_PER_BIT < self.nodes.len() {
            numbers.sort_unstable();
            ids.extend(numbers.iter().map(|&number| self.nodes.id(number)));
        } else {
            let mut bits = vec![0_u64; self.nodes.len().div_ceil(64)];
            for &number in &*numbers {
                bits[number as usize / 64] |= 1 << (number % 64);
            }
            for (word_idx, &word) in bits.iter().enumerate() {
                let mut left = word;
                while left != 0 {
                    let number = word_idx as u32 * 64 + left.trailing_zeros();
                    ids.push(self.nodes.id(number));
                    left &= left - 1;
                }
            }
        }
        if !self.nodes.is_ascending() {
            ids.sort_unstable();
        }
        ids
    }
}

impl Walk {
    /// Nodes times states.
    pub fn vertex_count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Links times the transitions over them.
    pub fn link_count(&self) -> usize {
        self.targets.len()
    }

    /// Whether vertices are nodes.
    pub fn has_one_state(&self) -> bool {
        self.accepting.len() == 1
    }

    /// Whether a node can be an end in several states.
    pub fn repeats(&self) -> bool {
        self.repeats
    }

    /// The vertex that walks from a node start in.
    pub fn start_vertex(&self, node: u32) -> u32 {
        self.start as u32 + node
    }

    /// The node that a vertex starts walks from, if any do.
    pub fn started(&self, vertex: u32) -> Option<u32> {
        let node = (vertex as usize).checked_sub(self.start)?;
        (node < self.node_count).then_some(node as u32)
    }

    /// The node that a walk ending in a vertex has found, if it may end there.
    #[inline]
    pub fn end(&self, vertex: u32) -> Option<u32> {
        let vertex = vertex as usize;
        if self.has_one_state() {
            return self.accepting[0].then_some(vertex as u32);
        }
        let (state, node) = (vertex / self.node_count, vertex % self.node_count);
        self.accepting[state].then_some(node as u32)
    }

    /// Where one more link leads to.
    #[inline]
    pub fn targets(&self, vertex: u32) -> &[u32] {
        let vertex = vertex as usize;
        &self.targets[self.offsets[vertex] as usize..self.offsets[vertex + 1] as usize]
    }

    /// Position in `targets` of a vertex's first.
    #[inline]
    pub fn offset(&self, vertex: u32) -> u32 {
        self.offsets[vertex as usize]
    }

    /// The vertex at a position of the targets.
    #[inline]
    pub fn target_at(&self, position: u32) -> u32 {
        self.targets[position as usize]
    }

    /// Finds all ends of walks of at least one link from some nodes. With `wanted` only until that
    /// node is found, which is then the last end.
    ///
    /// Termination: each vertex enters the queue at most once, and the starts once more.
    pub fn find_ends(
        &self,
        nodes: &[u32],
        wanted: Option<u32>,
        scratch: &mut Scratch,
        cx: &Context,
    ) -> Result<(), ExecError> {
        scratch.begin(self.vertex_count());
        let starts = nodes.iter().map(|&node| self.start_vertex(node));
        scratch.queue.extend(starts);
        let mut next = 0;
        while let Some(&vertex) = scratch.queue.get(next) {
            next += 1;
            if next.is_multiple_of(VERTICES_PER_CHECK) {
                cx.check()?;
            }
            for &to in self.targets(vertex) {
                if !scratch.meet(to) {
                    continue;
                }
                scratch.queue.push(to);
                if let Some(end) = self.end(to) {
                    scratch.ends.push(end);
                    if wanted == Some(end) {
                        return Ok(());
                    }
                }
            }
        }
        if self.repeats {
            scratch.ends.sort_unstable();
            scratch.ends.dedup();
        }
        Ok(())
    }
}

impl Scratch {
    /// The vertices that there is room for.
    pub fn vertices(&self) -> usize {
        self.turns.len()
    }

    /// Forgets everything.
    pub fn begin(&mut self, vertices: usize) {
        self.queue.clear();
        self.ends.clear();
        if self.turns.len() < vertices {
            self.turns.resize(vertices, 0);
        }
        if self.turn == u32::MAX {
            self.turns.fill(0);
            self.turn = 0;
        }
        self.turn += 1;
    }

    /// Notes a vertex; says whether it is new.
    #[inline]
    pub fn meet(&mut self, vertex: u32) -> bool {
        let turn = &mut self.turns[vertex as usize];
        let is_new = *turn != self.turn;
        *turn = self.turn;
        is_new
    }

    /// The queue of a walk that its caller drives.
    pub fn queue(&mut self) -> &mut Vec<u32> {
        &mut self.queue
    }
}
