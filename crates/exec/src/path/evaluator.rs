//! `PathEvaluator`: a whole path, as a tree of parts that keep duplicates over closures that do not.
//!
//! Most paths are one closure: the planner has turned sequences, alternatives and negated sets
//! around it into joins and unions where that is cheaper. What is left of them is evaluated here for
//! many starts at once.

use super::closure::Closure;
use super::closure_scan::ClosureScan;
use super::graph::{Label, PathGraph, PathGraphs, flipped};
use super::reservation::{OPERATOR, Reservation};
use super::step::Step;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use basalt_store::Direction;
use spargebra::algebra::PropertyPathExpression;
use std::sync::Arc;

/// The ends that a path has from one start; ascending for a closure.
pub type Ends = Arc<[u64]>;

/// Pairs asked of a closure at a time where all of them are wanted.
const PAIRS_AT_ONCE: usize = 1 << 16;

/// How closures find links.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathAccess {
    /// From the store until that has cost what an index of all links would, then from the index.
    #[default]
    Adaptive,
    /// Always from the store, except where both ends are free.
    Probe,
    /// Always from an index.
    Index,
}

enum Part {
    Edge { label: Label, inverse: bool },
    Sequence(Vec<Part>),
    Alternative(Vec<Part>),
    Closure(Arc<Closure>),
}

/// A path over some graphs, ready to be evaluated by any number of threads.
pub struct PathEvaluator {
    root: Part,
    graphs: PathGraphs,
}

/// The pairs that a path connects, both ends free.
pub enum AllPairs {
    /// Found already, and counted.
    Listed(std::vec::IntoIter<(u64, u64)>, HeldMemory),
    /// Found start by start.
    Closure(Box<ClosureScan>),
}

impl PathEvaluator {
    /// Resolves a path.
    pub fn new(path: &PropertyPathExpression, graphs: PathGraphs, cx: &Context) -> Self {
        let root = Part::new(&Step::new(path, false, cx), &graphs, cx);
        Self { root, graphs }
    }

    /// The graphs that it is evaluated over.
    pub fn graphs(&self) -> &PathGraphs {
        &self.graphs
    }

    /// The closure that the path is, if it is one.
    pub fn closure(&self) -> Option<&Closure> {
        match &self.root {
            Part::Closure(closure) => Some(closure),
            _ => None,
        }
    }

    /// Whether the path can match without any link.
    pub fn matches_zero(&self) -> bool {
        self.root.matches_zero()
    }

    /// For each of some starts, which ascend without repeats, its ends.
    pub fn ends_of(
        &self,
        starts: &[u64],
        direction: Direction,
        graph: &PathGraph,
        cx: &Context,
    ) -> Result<Vec<Ends>, ExecError> {
        if let Part::Closure(closure) = &self.root {
            let ends = |&start| closure.ends(start, direction, graph, cx);
            return starts.iter().map(ends).collect();
        }
        let mut held = Reservation::new(cx);
        let mut found = self.root.follow(starts, direction, graph, &mut held, cx)?;
        found.sort_unstable_by_key(|(position, _)| *position);
        let mut found = found.into_iter().peekable();
        let ends = (0..starts.len() as u32).map(|position| {
            let of_start = std::iter::from_fn(|| found.next_if(|(p, _)| *p == position));
            of_start.map(|(_, end)| end).collect()
        });
        Ok(ends.collect())
    }

    /// All pairs; with `loops_only` the caller drops those of two different nodes anyway.
    pub fn all(
        &self,
        graph: &PathGraph,
        loops_only: bool,
        cx: &Context,
    ) -> Result<AllPairs, ExecError> {
        self.root.all(graph, loops_only, cx)
    }
}

impl Part {
    fn new(step: &Step, graphs: &PathGraphs, cx: &Context) -> Self {
        let parts = |steps: &[Step]| steps.iter().map(|s| Self::new(s, graphs, cx)).collect();
        match step {
            Step::Edge { label, inverse } => Self::Edge {
                label: label.clone(),
                inverse: *inverse,
            },
            Step::Sequence(steps) => Self::Sequence(parts(steps)),
            Step::Alternative(steps) => Self::Alternative(parts(steps)),
            Step::ZeroOrOne(_) | Step::ZeroOrMore(_) | Step::OneOrMore(_) => {
                let access = cx.options().path_access;
                Self::Closure(Arc::new(Closure::new(step, graphs.clone(), access, cx)))
            }
        }
    }

    fn matches_zero(&self) -> bool {
        match self {
            Self::Edge { .. } => false,
            Self::Sequence(parts) => parts.iter().all(Self::matches_zero),
            Self::Alternative(parts) => parts.iter().any(Self::matches_zero),
            Self::Closure(closure) => closure.matches_zero(),
        }
    }

    /// (position of the start, end) for ascending starts without repeats.
    fn follow(
        &self,
        starts: &[u64],
        direction: Direction,
        graph: &PathGraph,
        held: &mut Reservation<'_>,
        cx: &Context,
    ) -> Result<Vec<(u32, u64)>, ExecError> {
        let found = match self {
            Self::Edge { label, inverse } => {
                let direction = if *inverse {
                    flipped(direction)
                } else {
                    direction
                };
                graph.links(label, direction, starts, cx)?
            }
            Self::Alternative(parts) => {
                let mut found = Vec::new();
                for part in parts {
                    found.append(&mut part.follow(starts, direction, graph, held, cx)?);
                }
                found
            }
            Self::Closure(closure) => {
                let mut found = Vec::new();
                for (position, &start) in starts.iter().enumerate() {
                    let ends = closure.ends(start, direction, graph, cx)?;
                    found.extend(ends.iter().map(|&end| (position as u32, end)));
                }
                found
            }
            Self::Sequence(parts) => {
                let start = |(position, &start): (usize, &u64)| (position as u32, start);
                let mut at: Vec<(u32, u64)> = starts.iter().enumerate().map(start).collect();
                let mut parts: Vec<&Self> = parts.iter().collect();
                if direction == Direction::Backward {
                    parts.reverse();
                }
                for part in parts {
                    at = part.follow_pairs(&at, direction, graph, held, cx)?;
                }
                at
            }
        };
        held.grow_to(found.capacity() * size_of::<(u32, u64)>())?;
        Ok(found)
    }

    /// Extends pairs of an origin and a node by the part: pairs of the origin and an end.
    fn follow_pairs(
        &self,
        at: &[(u32, u64)],
        direction: Direction,
        graph: &PathGraph,
        held: &mut Reservation<'_>,
        cx: &Context,
    ) -> Result<Vec<(u32, u64)>, ExecError> {
        let mut nodes: Vec<u64> = at.iter().map(|(_, node)| *node).collect();
        nodes.sort_unstable();
        nodes.dedup();
        let mut found = self.follow(&nodes, direction, graph, held, cx)?;
        found.sort_unstable_by_key(|(position, _)| *position);
        let mut extended = Vec::new();
        for (count, &(origin, node)) in at.iter().enumerate() {
            if count.is_multiple_of(1024) {
                cx.check()?;
                held.grow_to(extended.capacity() * size_of::<(u32, u64)>())?;
            }
            let position = nodes.binary_search(&node).expect("it was put there") as u32;
            let first = found.partition_point(|(p, _)| *p < position);
            let of_node = found[first..].iter().take_while(|(p, _)| *p == position);
            extended.extend(of_node.map(|(_, end)| (origin, *end)));
        }
        Ok(extended)
    }

    fn all(
        &self,
        graph: &PathGraph,
        loops_only: bool,
        cx: &Context,
    ) -> Result<AllPairs, ExecError> {
        if let Self::Closure(closure) = self {
            let scan = ClosureScan::new(Arc::clone(closure), graph.clone(), loops_only, cx)?;
            return Ok(AllPairs::Closure(Box::new(scan)));
        }
        let mut held = Reservation::new(cx);
        let pairs = self.listed(graph, &mut held, cx)?;
        drop(held);
        let mut kept = HeldMemory::default();
        kept.grow_to(pairs.capacity() * size_of::<(u64, u64)>(), OPERATOR, cx)?;
        Ok(AllPairs::Listed(pairs.into_iter(), kept))
    }

    /// All pairs in a list.
    fn listed(
        &self,
        graph: &PathGraph,
        held: &mut Reservation<'_>,
        cx: &Context,
    ) -> Result<Vec<(u64, u64)>, ExecError> {
        let mut pairs = Vec::new();
        match self {
            Self::Edge { label, inverse } => {
                pairs = graph.all_links(label, cx)?;
                if *inverse {
                    pairs.iter_mut().for_each(|(s, o)| std::mem::swap(s, o));
                }
            }
            Self::Alternative(parts) => {
                for part in parts {
                    pairs.append(&mut part.listed(graph, held, cx)?);
                }
            }
            Self::Closure(_) => {
                let mut all = self.all(graph, false, cx)?;
                let mut before = usize::MAX;
                while pairs.len() != before {
                    before = pairs.len();
                    all.next(before + PAIRS_AT_ONCE, &mut pairs, cx)?;
                    held.grow_to(pairs.capacity() * size_of::<(u64, u64)>())?;
                }
            }
            Self::Sequence(parts) => {
                let Some((first, rest)) = parts.split_first() else {
                    return Ok(pairs);
                };
                let first = first.listed(graph, held, cx)?;
                let numbered = first.iter().enumerate();
                let mut at: Vec<(u32, u64)> = numbered
                    .map(|(position, (_, middle))| (position as u32, *middle))
                    .collect();
                for part in rest {
                    at = part.follow_pairs(&at, Direction::Forward, graph, held, cx)?;
                }
                let ends = at.into_iter();
                pairs.extend(ends.map(|(position, end)| (first[position as usize].0, end)));
            }
        }
        held.grow_to(pairs.capacity() * size_of::<(u64, u64)>())?;
        Ok(pairs)
    }
}

impl AllPairs {
    /// Appends pairs until there are about `count`; none are appended at the end.
    pub fn next(
        &mut self,
        count: usize,
        out: &mut Vec<(u64, u64)>,
        cx: &Context,
    ) -> Result<(), ExecError> {
        match self {
            Self::Listed(pairs, _) => {
                let wanted = count.saturating_sub(out.len());
                out.extend(pairs.take(wanted));
                Ok(())
            }
            Self::Closure(scan) => scan.next(count, out, cx),
        }
    }
}
