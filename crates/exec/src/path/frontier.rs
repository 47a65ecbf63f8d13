//! `Side`: one side of a walk over the store, a whole frontier at a time.

use super::automaton::Automaton;
use super::graph::{Label, PathGraph};
use super::node_set::NodeSet;
use crate::context::Context;
use crate::error::ExecError;
use basalt_store::Direction;

/// Lookups that one call costs beside those of its nodes: tables and columns are found, lists made.
const LOOKUPS_PER_CALL: u64 = 3;
/// Lookups for a node where the predicate is not given: all columns and predicates are tried.
const LOOKUPS_PER_NEGATED: u64 = 16;

/// The nodes met on one side of a walk, by state, and those to go on from.
pub struct Side<'a> {
    automaton: &'a Automaton,
    /// The nodes met, by state.
    pub met: Vec<NodeSet>,
    frontier: Vec<Vec<u64>>,
}

impl<'a> Side<'a> {
    /// At some nodes.
    pub fn new(automaton: &'a Automaton, starts: &[u64]) -> Self {
        let states = automaton.states.len();
        let mut frontier = vec![Vec::new(); states];
        frontier[automaton.start].extend_from_slice(starts);
        Self {
            automaton,
            met: (0..states).map(|_| NodeSet::default()).collect(),
            frontier,
        }
    }

    /// Nodes to go on from.
    pub fn width(&self) -> usize {
        self.frontier.iter().map(Vec::len).sum()
    }

    /// What it takes.
    pub fn bytes(&self) -> usize {
        self.met.iter().map(NodeSet::bytes).sum::<usize>() + self.width() * 8
    }

    /// The lookups of one more level.
    pub fn lookups(&self) -> u64 {
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
    pub fn advance(&mut self, graph: &PathGraph, cx: &Context) -> Result<(), ExecError> {
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

    /// Whether a node has just been met in an accepting state (or ever was).
    pub fn finds(&self, node: u64) -> bool {
        let states = self.met.iter().zip(&self.automaton.accepting);
        states
            .into_iter()
            .any(|(met, accepts)| *accepts && met.contains(node))
    }

    /// Whether a node that the last level found was met on the other side, in whatever state.
    /// What earlier levels of either side found was compared then.
    pub fn meets(&self, other: &Side<'_>) -> bool {
        let mut found = self.frontier.iter().flatten();
        found.any(|&node| other.met.iter().any(|met| met.contains(node)))
    }
}
