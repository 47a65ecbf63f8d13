//! The ends of a closure by walks over its index.
//!
//! Each start is walked from until walks have met the vertices of the index some times over; then the [components](Components) are found,
//! walks go over these, and all starts on one cycle share their ends.

use super::closure::Closure;
use super::components::Components;
use super::evaluator::Ends;
use super::index::PathIndex;
use super::memo::{MemoKey, Start};
use crate::context::Context;
use crate::error::ExecError;
use basalt_store::Direction;
use std::sync::Arc;

/// Fewer ends are found by another walk over the index in the time that it takes to remember them.
const REMEMBERED_ENDS_MIN: usize = 8;

impl Closure {
    /// The ends by a walk over the index, remembered if they are not few.
    pub(super) fn indexed_ends(
        &self,
        index: &PathIndex,
        start: u64,
        key: MemoKey,
        cx: &Context,
    ) -> Result<Ends, ExecError> {
        let ends = match index.nodes.number(start) {
            Some(node) => match self.components_if_worth(index, key.direction, cx)? {
                Some(components) => {
                    let walk = self.walk(index, key.direction, cx)?;
                    let component = components.of(walk.start_vertex(node));
                    if components.is_cyclic(component) {
                        let shared = self.shared_ends(index, components, component, key, cx)?;
                        if !self.matches_zero() || shared.binary_search(&start).is_ok() {
                            return Ok(shared);
                        }
                        shared.to_vec()
                    } else {
                        self.ends_of_component(index, components, component, key.direction, cx)?
                    }
                }
                None => self.walked_ends(index, &[node], key.direction, cx)?,
            },
            None => Vec::new(),
        };
        let ends = self.with_zero(ends, start);
        if ends.len() >= REMEMBERED_ENDS_MIN {
            self.memo.remember(key, &ends, cx);
        }
        Ok(ends)
    }

    /// The ends from any of some starts by one walk over the index, ascending, each once.
    pub(super) fn indexed_ends_of_all(
        &self,
        index: &PathIndex,
        starts: &[u64],
        direction: Direction,
        cx: &Context,
    ) -> Result<Vec<u64>, ExecError> {
        let nodes = starts.iter().filter_map(|&start| index.nodes.number(start));
        let nodes: Vec<u32> = nodes.collect();
        self.walked_ends(index, &nodes, direction, cx)
    }

    /// The ends of one walk from some nodes, ascending, each once.
    fn walked_ends(
        &self,
        index: &PathIndex,
        nodes: &[u32],
        direction: Direction,
        cx: &Context,
    ) -> Result<Vec<u64>, ExecError> {
        let walk = self.walk(index, direction, cx)?;
        index.with_scratch(walk, cx, |scratch| {
            let walked = walk.find_ends(nodes, None, scratch, cx);
            index.note_met(direction, scratch.queue().len());
            walked.map(|()| index.sorted_ids(&mut scratch.ends))
        })
    }

    /// The ends of all starts of a component on a cycle.
    fn shared_ends(
        &self,
        index: &PathIndex,
        components: &Components,
        component: u32,
        key: MemoKey,
        cx: &Context,
    ) -> Result<Ends, ExecError> {
        let key = MemoKey {
            start: Start::Component(component),
            ..key
        };
        if let Some(ends) = self.memo.get(&key) {
            return Ok(ends);
        }
        let ends = self.ends_of_component(index, components, component, key.direction, cx)?;
        let ends: Ends = ends.into();
        self.memo.remember(key, &ends, cx);
        Ok(ends)
    }

    fn ends_of_component(
        &self,
        index: &PathIndex,
        components: &Components,
        component: u32,
        direction: Direction,
        cx: &Context,
    ) -> Result<Vec<u64>, ExecError> {
        let walk = self.walk(index, direction, cx)?;
        index.with_scratch(walk, cx, |scratch| {
            components.find_ends(component, walk, scratch, cx)?;
            Ok(index.sorted_ids(&mut scratch.ends))
        })
    }

    /// The components of a walk over an index, where enough was walked for them and there is room.
    fn components_if_worth<'i>(
        &self,
        index: &'i PathIndex,
        direction: Direction,
        cx: &Context,
    ) -> Result<Option<&'i Arc<Components>>, ExecError> {
        if !index.is_worth_components(direction) {
            return Ok(None);
        }
        match self.components(index, direction, cx) {
            Ok(components) => Ok(Some(components)),
            Err(ExecError::MemoryLimit { .. }) => {
                index.forget_met(direction);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// The components of a walk over an index.
    pub fn components<'i>(
        &self,
        index: &'i PathIndex,
        direction: Direction,
        cx: &Context,
    ) -> Result<&'i Arc<Components>, ExecError> {
        index.components(self.automaton(direction), direction, cx)
    }
}
