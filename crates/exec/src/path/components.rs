//! `ClosureScan`: all pairs of a closure, start by start.
//!
//! The vertices of a walk are grouped into strongly connected components (Tarjan 1972, without
//! recursion) and the links between components kept once. All starts in a component have the same
//! ends, found by one walk over components; a component on a cycle reaches itself. Work: linear in
//! links for the components, then about a cache miss per pair given out and per link between
//! components walked. Memory: some 20 bytes a vertex and the ends of one start.
//!
//! If the path matches zero links, every node is an end of its own, and the nodes of the graph
//! that have no such link at all come last.

use super::closure::Closure;
use super::graph::PathGraph;
use super::index::{PathIndex, Scratch, Walk};
use super::reservation::Reservation;
use crate::context::Context;
use crate::error::ExecError;
use std::sync::Arc;

/// Vertices visited between two looks at the clock.
const VERTICES_PER_CHECK: usize = 1 << 14;
/// Not numbered yet; no component yet.
const NONE: u32 = u32::MAX;

/// Groups of vertices that reach each other, numbered so that links go to smaller numbers.
struct Components {
    /// By vertex.
    of: Vec<u32>,
    /// `members[first[c]..first[c + 1]]` are the vertices of component `c`.
    first: Vec<u32>,
    members: Vec<u32>,
    /// `links[offsets[c]..offsets[c + 1]]` are the other components that links lead to, each once.
    offsets: Vec<u32>,
    links: Vec<u32>,
    /// Whether a link leads from the component to itself.
    is_cyclic: Vec<bool>,
}

/// The state of Tarjan's algorithm.
struct Search<'w> {
    walk: &'w Walk,
    /// Order in which vertices were met.
    order: Vec<u32>,
    /// The smallest order known to be reachable and still open.
    low: Vec<u32>,
    of: Vec<u32>,
    open: Vec<u32>,
    /// Vertices on the way and the position of their next target.
    way: Vec<(u32, u32)>,
    met: u32,
    count: u32,
}

impl Search<'_> {
    fn enter(&mut self, vertex: u32) {
        self.order[vertex as usize] = self.met;
        self.low[vertex as usize] = self.met;
        self.met += 1;
        self.open.push(vertex);
        self.way.push((vertex, self.walk.offset(vertex)));
    }

    /// Goes on until the way is empty.
    ///
    /// Termination: each vertex enters the way once, each target is looked at once.
    fn finish(&mut self, cx: &Context) -> Result<(), ExecError> {
        let mut until_check = VERTICES_PER_CHECK;
        while let Some(last) = self.way.last_mut() {
            let (vertex, position) = *last;
            if position < self.walk.offset(vertex + 1) {
                last.1 += 1;
                let target = self.walk.target_at(position);
                if self.order[target as usize] == NONE {
                    self.enter(target);
                } else if self.of[target as usize] == NONE {
                    let order = self.order[target as usize];
                    let low = &mut self.low[vertex as usize];
                    *low = order.min(*low);
                }
                continue;
            }
            self.way.pop();
            self.leave(vertex);
            until_check -= 1;
            if until_check == 0 {
                until_check = VERTICES_PER_CHECK;
                cx.check()?;
            }
        }
        Ok(())
    }

    fn leave(&mut self, vertex: u32) {
        let low = self.low[vertex as usize];
        if let Some(&(before, _)) = self.way.last() {
            let of_before = &mut self.low[before as usize];
            *of_before = low.min(*of_before);
        }
        if low != self.order[vertex as usize] {
            return;
        }
        while let Some(member) = self.open.pop() {
            self.of[member as usize] = self.count;
            if member == vertex {
                break;
            }
        }
        self.count += 1;
    }
}

impl Components {
    fn new(walk: &Walk, held: &mut Reservation<'_>, cx: &Context) -> Result<Self, ExecError> {
        let vertices = walk.vertex_count();
        // order, low, of, open and way; links are at most those of the walk.
        held.grow_to(vertices * 24 + walk.link_count() * 4)?;
        let mut search = Search {
            walk,
            order: vec![NONE; vertices],
            low: vec![NONE; vertices],
            of: vec![NONE; vertices],
            open: Vec::new(),
            way: Vec::new(),
            met: 0,
            count: 0,
        };
        for vertex in 0..vertices as u32 {
            if search.order[vertex as usize] == NONE {
                search.enter(vertex);
                search.finish(cx)?;
            }
        }
        let (of, count) = (search.of, search.count as usize);
        let mut first = vec![0_u32; count + 1];
        for &component in &of {
            first[component as usize + 1] += 1;
        }
        for component in 0..count {
            first[component + 1] += first[component];
        }
        let mut next = first.clone();
        let mut members = vec![0; vertices];
        for (vertex, &component) in of.iter().enumerate() {
            members[next[component as usize] as usize] = vertex as u32;
            next[component as usize] += 1;
        }
        let mut components = Self {
            of,
            first,
            members,
            offsets: vec![0],
            links: Vec::new(),
            is_cyclic: Vec::new(),
        };
        components.link(walk, cx)?;
        Ok(components)
    }

    /// Collects the links between components.
    fn link(&mut self, walk: &Walk, cx: &Context) -> Result<(), ExecError> {
        let count = self.first.len() - 1;
        let mut linked = vec![NONE; count];
        for component in 0..count as u32 {
            if (component as usize).is_multiple_of(VERTICES_PER_CHECK) {
                cx.check()?;
            }
            let mut is_cyclic = false;
            for member in self.range(component) {
                for &target in walk.targets(self.members[member]) {
                    let to = self.of[target as usize];
                    if to == component {
                        is_cyclic = true;
                    } else if linked[to as usize] != component {
                        linked[to as usize] = component;
                        self.links.push(to);
                    }
                }
            }
            self.is_cyclic.push(is_cyclic);
            self.offsets.push(self.links.len() as u32);
        }
        Ok(())
    }

    fn range(&self, component: u32) -> std::ops::Range<usize> {
        let component = component as usize;
        self.first[component] as usize..self.first[component + 1] as usize
    }

    fn vertices(&self, component: u32) -> &[u32] {
        &self.members[self.range(component)]
    }

    fn links(&self, component: u32) -> &[u32] {
        let component = component as usize;
        &self.links[self.offsets[component] as usize..self.offsets[component + 1] as usize]
    }

    fn count(&self) -> u32 {
        self.is_cyclic.len() as u32
    }
}

/// The pairs of a closure with both ends free, start by start.
pub struct ClosureScan {
    closure: Arc<Closure>,
    graph: PathGraph,
    index: Arc<PathIndex>,
    components: Components,
    scratch: Scratch,
    /// Only pairs of a node with itself are wanted.
    loops_only: bool,
    /// The component whose starts are given out, and its next member.
    component: u32,
    member: usize,
    /// The ends of that component, as ids.
    ends: Vec<u64>,
    /// The end given out next, of the current start.
    next_end: usize,
    /// The start being given out, and whether it is still to be given out as its own end.
    start: Option<(u64, bool)>,
    /// Nodes without links that are their own ends, once they are known.
    alone: Option<std::vec::IntoIter<u64>>,
}

impl ClosureScan {
    /// Makes the index and its components.
    pub fn new(
        closure: Arc<Closure>,
        graph: PathGraph,
        loops_only: bool,
        cx: &Context,
    ) -> Result<Self, ExecError> {
        let index = closure.must_index(&graph, cx)?;
        let walk = closure.forward_walk(&index, cx)?;
        let mut held = Reservation::new(cx);
        let components = Components::new(walk, &mut held, cx)?;
        held.keep();
        let scratch = closure.scratch(walk.vertex_count(), cx)?;
        let mut made = Self {
            closure,
            graph,
            index,
            components,
            scratch,
            loops_only,
            component: 0,
            member: 0,
            ends: Vec::new(),
            next_end: 0,
            start: None,
            alone: None,
        };
        made.find_ends(cx)?;
        Ok(made)
    }

    /// Appends pairs until there are about `count`; none are appended at the end.
    pub fn next(
        &mut self,
        count: usize,
        out: &mut Vec<(u64, u64)>,
        cx: &Context,
    ) -> Result<(), ExecError> {
        while out.len() < count {
            if let Some((start, is_own_end)) = self.start.take() {
                self.give(start, is_own_end, count, out);
            } else if self.component < self.components.count() {
                self.next_start(cx)?;
            } else if !self.closure.matches_zero() {
                return Ok(());
            } else {
                let alone = match self.alone.take() {
                    Some(alone) => alone,
                    None => self.nodes_without_links(cx)?.into_iter(),
                };
                let alone = self.alone.insert(alone);
                let before = out.len();
                out.extend(alone.take(count - before).map(|node| (node, node)));
                if out.len() == before {
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Gives out pairs of one start, as many as are wanted.
    fn give(&mut self, start: u64, is_own_end: bool, count: usize, out: &mut Vec<(u64, u64)>) {
        let mut is_own_end = is_own_end;
        while self.next_end < self.ends.len() && out.len() < count {
            let end = self.ends[self.next_end];
            self.next_end += 1;
            is_own_end &= end != start;
            if !self.loops_only || end == start {
                out.push((start, end));
            }
        }
        if self.next_end < self.ends.len() || (is_own_end && out.len() >= count) {
            self.start = Some((start, is_own_end));
        } else if is_own_end {
            out.push((start, start));
        }
    }

    /// Goes to the next member of the component that starts walks, or to the next component.
    fn next_start(&mut self, cx: &Context) -> Result<(), ExecError> {
        let walk = self.closure.forward_walk(&self.index, cx)?;
        let members = self.components.vertices(self.component);
        match members.get(self.member) {
            Some(&vertex) => {
                self.member += 1;
                if let Some(node) = walk.started(vertex) {
                    let start = self.index.nodes.id(node);
                    self.next_end = 0;
                    self.start = Some((start, self.closure.matches_zero()));
                    if self.loops_only && walk.has_one_state() && !self.ends.is_empty() {
                        self.ends.clear();
                        self.ends.push(start);
                    }
                }
            }
            None => {
                self.component += 1;
                self.member = 0;
                if self.component < self.components.count() {
                    self.find_ends(cx)?;
                }
            }
        }
        Ok(())
    }

    /// Finds the ends of the current component.
    fn find_ends(&mut self, cx: &Context) -> Result<(), ExecError> {
        self.ends.clear();
        if self.component >= self.components.count() {
            return Ok(());
        }
        if self.component.is_multiple_of(64) {
            cx.check()?;
        }
        let walk = self.closure.forward_walk(&self.index, cx)?;
        let components = &self.components;
        let members = components.vertices(self.component);
        let is_cyclic = components.is_cyclic[self.component as usize];
        if !members.iter().any(|&vertex| walk.started(vertex).is_some()) {
            return Ok(());
        }
        if self.loops_only && walk.has_one_state() {
            // Its own members are replaced start by start: only whether there are ends matters.
            let first = members.first().filter(|_| is_cyclic);
            self.ends
                .extend(first.map(|&vertex| self.index.nodes.id(vertex)));
            return Ok(());
        }
        let scratch = &mut self.scratch;
        scratch.begin(walk.vertex_count());
        if is_cyclic {
            let own = members.iter().filter_map(|&vertex| walk.end(vertex));
            scratch.ends.extend(own);
        }
        let mut at = self.component;
        let mut next = 0;
        loop {
            for &to in components.links(at) {
                if scratch.meet(to) {
                    scratch.queue().push(to);
                }
            }
            let Some(&reached) = scratch.queue().get(next) else {
                break;
            };
            next += 1;
            if next.is_multiple_of(VERTICES_PER_CHECK) {
                cx.check()?;
            }
            let ends = components.vertices(reached).iter();
            scratch
                .ends
                .extend(ends.filter_map(|&vertex| walk.end(vertex)));
            at = reached;
        }
        if walk.repeats() {
            scratch.ends.sort_unstable();
            scratch.ends.dedup();
        }
        let numbers = scratch.ends.iter();
        self.ends
            .extend(numbers.map(|&number| self.index.nodes.id(number)));
        Ok(())
    }

    /// The nodes of the graph that no link of the path has.
    fn nodes_without_links(&self, cx: &Context) -> Result<Vec<u64>, ExecError> {
        let mut nodes = Vec::new();
        if let Some(of_graph) = self.closure.nodes(&self.graph, cx)? {
            of_graph.sorted_into(&mut nodes);
            nodes.retain(|&node| self.index.nodes.number(node).is_none());
        }
        Ok(nodes)
    }
}
