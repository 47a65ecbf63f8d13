//! `ClosureScan`: all pairs of a closure, start by start.
//!
//! All starts in a [component](Components) have the same ends, found once. Memory: the components and the ends of one start.
//!
//! If the path matches zero links, every node is an end of its own, and the nodes of the graph that have no such link at all come last.

use super::closure::Closure;
use super::components::Components;
use super::graph::PathGraph;
use super::index::{PathIndex, Scratch};
use crate::context::Context;
use crate::error::ExecError;
use basalt_store::Direction;
use std::sync::Arc;

/// The pairs of a closure with both ends free, start by start.
pub struct ClosureScan {
    closure: Arc<Closure>,
    graph: PathGraph,
    index: Arc<PathIndex>,
    scratch: Scratch,
    /// Only pairs of a node with itself are wanted.
    loops_only: bool,
    components: Arc<Components>,
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
        let components = closure.components(&index, Direction::Forward, cx)?;
        let components = Arc::clone(components);
        let walk = closure.walk(&index, Direction::Forward, cx)?;
        let scratch = index.scratch(walk.vertex_count(), cx)?;
        let mut made = Self {
            closure,
            graph,
            index,
            scratch,
            loops_only,
            components,
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
        let walk = self.closure.walk(&self.index, Direction::Forward, cx)?;
        let components = &self.components;
        let members = components.vertices(self.component);
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
        let components = &self.components;
        if self.component >= components.count() {
            return Ok(());
        }
        if self.component.is_multiple_of(64) {
            cx.check()?;
        }
        let walk = self.closure.walk(&self.index, Direction::Forward, cx)?;
        let members = components.vertices(self.component);
        if !members.iter().any(|&vertex| walk.started(vertex).is_some()) {
            return Ok(());
        }
        if self.loops_only && walk.has_one_state() {
            // Its own members are replaced start by start: only whether there are ends matters.
            let is_cyclic = components.is_cyclic(self.component);
            let first = members.first().filter(|_| is_cyclic);
            self.ends
                .extend(first.map(|&vertex| self.index.nodes.id(vertex)));
            return Ok(());
        }
        components.find_ends(self.component, walk, &mut self.scratch, cx)?;
        let numbers = self.scratch.ends.iter();
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
