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
        let direction = key.direction;
        let mut ends = Vec::new();
        if let Some(node) = index.nodes.number(start) {
            let walk = index.walk(self.automaton(direction), direction, cx)?;
            if let Some(components) = self.components_if_worth(index, direction, cx)? {
                let component = components.of(walk.start_vertex(node));
                if components.is_cyclic(component) {
                    let shared = self.shared_ends(index, components, component, key, cx)?;
                    if !self.matches_zero() || shared.binary_search(&start).is_ok() {
                        return Ok(shared);
                    }
                    ends.extend_from_slice(&shared);
                } else {
                    self.ends_of_component(index, components, component, direction, &mut ends, cx)?;
                }
            } else {
                let mut scratch = index.scratch(walk.vertex_count(), cx)?;
                let walked = walk.find_ends(&[node], None, &mut scratch, cx);
                index.note_met(direction, scratch.queue().len());
                if walked.is_ok() {
                    index.sorted_ids_into(&mut scratch.ends, &mut ends);
                }
                index.put_back(scratch);
                walked?;
            }
        }
        let ends = self.with_zero(ends, start);
        if ends.len() >= REMEMBERED_ENDS_MIN {
            self.memo.remember(key, &ends, cx);
        }
        Ok(ends)
    }

    /// Appends the ends from any of some starts by one walk over the index, ascending, each once.
    pub(super) fn indexed_ends_of_all(
        &self,
        index: &PathIndex,
        starts: &[u64],
        direction: Direction,
        ends: &mut Vec<u64>,
        cx: &Context,
    ) -> Result<(), ExecError> {
        let walk = self.walk(index, direction, cx)?;
        let nodes = starts.iter().filter_map(|&start| index.nodes.number(start));
        let nodes: Vec<u32> = nodes.collect();
        let mut scratch = index.scratch(walk.vertex_count(), cx)?;
        let walked = walk.find_ends(&nodes, None, &mut scratch, cx);
        if walked.is_ok() {
            index.sorted_ids_into(&mut scratch.ends, ends);
        }
        index.put_back(scratch);
        walked
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
        let mut ends = Vec::new();
        self.ends_of_component(index, components, component, key.direction, &mut ends, cx)?;
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
        ends: &mut Vec<u64>,
        cx: &Context,
    ) -> Result<(), ExecError> {
        let walk = self.walk(index, direction, cx)?;
        let mut scratch = index.scratch(walk.vertex_count(), cx)?;
        let walked = components.find_ends(component, walk, &mut scratch, cx);
        if walked.is_ok() {
            index.sorted_ids_into(&mut scratch.ends, ends);
        }
        index.put_back(scratch);
        walked
    }

    /// The components of a walk over an index, where enough was walked for them and there is room.
    fn components_if_worth<'i>(
        &self,
        index: &'i PathIndex,
        direction: Direction,
        cx: &Context,
    ) -> Result<Option<&'i Components>, ExecError> {
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
    ) -> Result<&'i Components, ExecError> {
        index.components(self.automaton(direction), direction, cx)
    }
}
