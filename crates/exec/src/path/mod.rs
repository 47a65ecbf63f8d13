//! Property paths over the quads of a snapshot (SPARQL 1.1, sections 9 and 18.4).
//!
//! [`PathEvaluator`] is a path with its predicates resolved, shared by all threads of a query.
//! Links, sequences, alternatives and negated sets keep duplicates; `?`, `*` and `+` give each pair
//! once. Everything inside one of those is a [`Automaton`]: a closure is a walk over pairs of node
//! and state, so that no relation inside a closure is ever made.
//!
//! Two ways find the links, and the answers are the same ([`PathAccess`]): *probing* asks the store
//! for the neighbours of a whole frontier; the [`PathIndex`] is all links of the path's predicates
//! read once, over dense numbers. Adaptive evaluation probes until that has cost what the index
//! would have, and then builds it, so the work is at most about twice the best possible whatever
//! the data looks like. Both ends free needs the index: its strongly connected components are
//! walked instead of its nodes ([`ClosureScan`]).
//!
//! A zero-length path matches any given end, whether the data has it or not; ends that are
//! variables stand for nodes of the graph only ([`PathGraph::has_node`]). No recursion over data:
//! a chain of any length takes constant stack. Design: `docs/property-paths.md`.

mod automaton;
mod closure;
mod closure_scan;
mod components;
mod evaluator;
mod frontier;
mod graph;
mod index;
mod indexed_ends;
mod known_indexes;
mod memo;
mod node_set;
mod numbering;
mod reservation;
mod step;

pub use automaton::Automaton;
pub use closure::Closure;
pub use closure_scan::ClosureScan;
pub use evaluator::{AllPairs, Ends, PathAccess, PathEvaluator};
pub use graph::{PathGraph, PathGraphs, graphs_of};
pub use index::{PathIndex, Walk};
pub use known_indexes::KnownPathIndexes;
