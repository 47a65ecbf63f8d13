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
use super::graph::Label;
use super::numbering::Numbering;
use super::reservation::Reservation;
use crate::context::Context;
use crate::error::ExecError;
use basalt_store::Direction;
use std::sync::OnceLock;

/// Vertices walked between two looks at the clock.
const VERTICES_PER_CHECK: usize = 1 << 14;

/// The links of one graph, numbered.
pub struct PathIndex {
    /// The nodes.
    pub nodes: Numbering,
    labels: Vec<Label>,
    /// By label.
    links: Vec<Vec<(u32, u32)>>,
    forward: OnceLock<Walk>,
    backward: OnceLock<Walk>,
}

/// The product of links and an automaton.
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
#[derive(Default)]
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
        let nodes = Numbering::new(links.iter().flatten());
        cx.check()?;
        let numbered = |of_label: Vec<(u64, u64)>| {
            let number = |id| nodes.number(id).expect("every end has a number");
            let pairs = of_label.into_iter();
            pairs.map(|(s, o)| (number(s), number(o))).collect()
        };
        let links = links.iter_mut().map(std::mem::take).map(numbered).collect();
        drop(held);
        let mut held = Reservation::new(cx);
        held.grow_to(count * 8 + nodes.bytes())?;
        held.keep();
        Ok(Self {
            nodes,
            labels,
            links,
            forward: OnceLock::new(),
            backward: OnceLock::new(),
        })
    }

    /// The walk of an automaton; the same automaton must be given for the same direction.
    pub fn walk(
        &self,
        automaton: &Automaton,
        direction: Direction,
        cx: &Context,
    ) -> Result<&Walk, ExecError> {
        let cell = match direction {
            Direction::Forward => &self.forward,
            Direction::Backward => &self.backward,
        };
        if cell.get().is_none() {
            let mut held = Reservation::new(cx);
            let walk = self.make_walk(automaton, &mut held)?;
            // Another thread may have been faster.
            if cell.set(walk).is_ok() {
                held.keep();
            }
        }
        Ok(cell.get().expect("it was set just now, by whomever"))
    }

    fn make_walk(
        &self,
        automaton: &Automaton,
        held: &mut Reservation<'_>,
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
                    for &(subject, object) in links {
                        let (near, far) = if transition.inverse {
                            (object, subject)
                        } else {
                            (subject, object)
                        };
                        visit(from + near as usize, to + far as usize);
                    }
                }
            }
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
        by_transition(&mut |from, _| offsets[from + 1] += 1);
        for vertex in 0..vertices {
            offsets[vertex + 1] += offsets[vertex];
        }
        let mut next = offsets.clone();
        let mut targets = vec![0; count];
        by_transition(&mut |from, to| {
            targets[next[from] as usize] = to as u32;
            next[from] += 1;
        });
        Ok(Walk {
            node_count,
            start: automaton.start * node_count,
            accepting: automaton.accepting.clone(),
            repeats: automaton.accepts_in_several(),
            offsets,
            targets,
        })
    }

    /// Appends the ids of numbers, ascending.
    pub fn sorted_ids_into(&self, numbers: &mut [u32], out: &mut Vec<u64>) {
        let start = out.len();
        numbers.sort_unstable();
        out.extend(numbers.iter().map(|&number| self.nodes.id(number)));
        if !self.nodes.is_ascending() {
            out[start..].sort_unstable();
        }
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

    /// Finds all ends of walks of at least one link from a node. With `wanted` only until that
    /// node is found, which is then the last end.
    ///
    /// Termination: each vertex enters the queue at most once, and the start once more.
    pub fn find_ends(
        &self,
        node: u32,
        wanted: Option<u32>,
        scratch: &mut Scratch,
        cx: &Context,
    ) -> Result<(), ExecError> {
        scratch.begin(self.vertex_count());
        scratch.queue.push(self.start_vertex(node));
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
