//! `Components`: the vertices of a walk grouped by who reaches whom.
//!
//! Strongly connected components (Tarjan 1972, without recursion), and the links between them kept once. All starts in a component have
//! the same ends, found by one walk over components; a component on a cycle reaches itself. Work: linear in links for the components,
//! then about a cache miss per end found and per link between components walked. Memory: some 20 bytes a vertex.

use super::index::{Scratch, Walk};
use super::reservation::Reservation;
use crate::context::Context;
use crate::error::ExecError;

/// Vertices visited between two looks at the clock.
const VERTICES_PER_CHECK: usize = 1 << 12;
/// Vertices dealt out between two looks.
const DEALT_PER_CHECK: usize = 1 << 16;
/// Not numbered yet; no component yet.
const NONE: u32 = u32::MAX;

/// Groups of vertices that reach each other, numbered so that links go to smaller numbers.
#[derive(Debug)]
pub struct Components {
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
    /// Of a walk; the bytes are added to `held`.
    pub fn new(walk: &Walk, held: &mut Reservation<'_>, cx: &Context) -> Result<Self, ExecError> {
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
        for part in of.chunks(DEALT_PER_CHECK) {
            cx.check()?;
            for &component in part {
                first[component as usize + 1] += 1;
            }
        }
        for component in 0..count {
            first[component + 1] += first[component];
        }
        let mut next = first.clone();
        let mut members = vec![0; vertices];
        for (vertex, &component) in of.iter().enumerate() {
            if vertex.is_multiple_of(DEALT_PER_CHECK) {
                cx.check()?;
            }
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

    /// The component of a vertex.
    pub fn of(&self, vertex: u32) -> u32 {
        self.of[vertex as usize]
    }

    /// Whether a walk leads from the component to itself.
    pub fn is_cyclic(&self, component: u32) -> bool {
        self.is_cyclic[component as usize]
    }

    /// The vertices of a component.
    pub fn vertices(&self, component: u32) -> &[u32] {
        &self.members[self.range(component)]
    }

    fn links(&self, component: u32) -> &[u32] {
        let component = component as usize;
        &self.links[self.offsets[component] as usize..self.offsets[component + 1] as usize]
    }

    /// How many components there are.
    pub fn count(&self) -> u32 {
        self.is_cyclic.len() as u32
    }

    /// Finds all ends of walks of at least one link from the vertices of a component: numbers, each once.
    ///
    /// Termination: each component enters the queue at most once.
    pub fn find_ends(
        &self,
        component: u32,
        walk: &Walk,
        scratch: &mut Scratch,
        cx: &Context,
    ) -> Result<(), ExecError> {
        scratch.begin(walk.vertex_count());
        if self.is_cyclic(component) {
            let own = self.vertices(component).iter();
            scratch
                .ends
                .extend(own.filter_map(|&vertex| walk.end(vertex)));
        }
        let mut at = component;
        let mut next = 0;
        loop {
            for &to in self.links(at) {
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
            let ends = self.vertices(reached).iter();
            scratch
                .ends
                .extend(ends.filter_map(|&vertex| walk.end(vertex)));
            at = reached;
        }
        if walk.repeats() {
            scratch.ends.sort_unstable();
            scratch.ends.dedup();
        }
        Ok(())
    }
}
