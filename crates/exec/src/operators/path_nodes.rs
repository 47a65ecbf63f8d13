//! `PathNodes`: whether terms are nodes of a graph, as far as it was asked.
//!
//! A path without any link leads from each node of the graph to itself, and what a row binds may be no node of it.

use crate::context::Context;
use crate::error::ExecError;
use crate::path::{Ends, PathGraph};
use basalt_rdf::TermId;
use hashbrown::HashMap;
use std::hash::RandomState;

/// Terms of which it is remembered.
const KNOWN_MAX: usize = 1 << 18;

/// See the [module documentation](self).
#[derive(Default)]
pub struct PathNodes {
    /// By graph and term.
    known: HashMap<(u64, u64), bool, RandomState>,
}

impl PathNodes {
    /// Whether a term is a node of a graph.
    pub fn has(&mut self, graph: &PathGraph, term: u64, cx: &Context) -> Result<bool, ExecError> {
        let key = (graph.key(), term);
        if let Some(&known) = self.known.get(&key) {
            return Ok(known);
        }
        let is_node = graph.has_node(TermId(term), cx)?;
        if self.known.len() == KNOWN_MAX {
            self.known.clear();
        }
        self.known.insert(key, is_node);
        Ok(is_node)
    }

    /// Takes each start out of its own ends, which ascend, if it is no node.
    pub fn keep_nodes(
        &mut self,
        graph: &PathGraph,
        starts: &[u64],
        found: &mut [Ends],
        cx: &Context,
    ) -> Result<(), ExecError> {
        for (&start, ends) in starts.iter().zip(found) {
            if let Ok(at) = ends.binary_search(&start)
                && !self.has(graph, start, cx)?
            {
                *ends = [&ends[..at], &ends[at + 1..]].concat().into();
            }
        }
        Ok(())
    }
}
