//! Which slots of a plan are nodes of a graph for certain.
//!
//! A path of length zero from a variable that is bound already matches nodes of the graph only, and to look a term up in every
//! column takes as long as the columns are. A term that a triple of the same graph has bound is such a node.

use crate::physical::{Endpoint, Graphs, JoinKind, Node, Op, Position, Slot, Star};

/// Whether every value of a slot in the rows of a plan is a subject or an object in these graphs.
pub fn is_graph_node(node: &Node, slot: Slot, graphs: &Graphs) -> bool {
    let below = |input: &Node| input.schema.contains(&slot) && is_graph_node(input, slot, graphs);
    let binds = |star: &Star| star.graphs == *graphs && star_binds(star, slot);
    match &node.op {
        Op::StarScan { star, .. } => binds(star),
        Op::StarJoin {
            input, star, kind, ..
        } => below(input) || keeps_partners(*kind) && binds(star),
        Op::PatternScan { pattern, .. } => {
            pattern.graphs == *graphs && are_ends([pattern.subject, pattern.object], slot)
        }
        Op::PatternJoin {
            input,
            pattern,
            kind,
            ..
        } => {
            let is_end = are_ends([pattern.subject, pattern.object], slot);
            below(input) || keeps_partners(*kind) && pattern.graphs == *graphs && is_end
        }
        // Where an end is a constant, that may be no node and be its own other end.
        Op::PathJoin { input, pattern, .. } => {
            let ends = [&pattern.subject, &pattern.object];
            let has_slot = |end: &&Endpoint| **end == Endpoint::Slot(slot);
            let is_slot = |end: &&Endpoint| matches!(end, Endpoint::Slot(_));
            let binds =
                pattern.graphs == *graphs && ends.iter().all(is_slot) && ends.iter().any(has_slot);
            below(input) || binds
        }
        Op::HashJoin {
            left,
            right,
            kind: JoinKind::Inner,
            ..
        }
        | Op::MergeJoin { left, right, .. } => below(left) || below(right),
        Op::HashJoin { left: input, .. }
        | Op::Minus { left: input, .. }
        | Op::LateralJoin { left: input, .. }
        | Op::CountJoin { input, .. }
        | Op::Filter { input, .. }
        | Op::Extend { input, .. }
        | Op::Project { input }
        | Op::Distinct { input }
        | Op::PartialDistinct { input }
        | Op::OrderBy { input, .. }
        | Op::Slice { input, .. }
        | Op::SlicePer { input, .. }
        | Op::Group { input, .. }
        | Op::Spool { input, .. } => below(input),
        Op::Union { inputs } => inputs.iter().all(below),
        Op::Unit
        | Op::Empty
        | Op::Outer
        | Op::GraphNames { .. }
        | Op::Values { .. }
        | Op::Service { .. }
        | Op::GroupThrough(_)
        | Op::RollUp(_)
        | Op::CountScan { .. } => false,
    }
}

/// Whether every row that comes out has a partner.
fn keeps_partners(kind: JoinKind) -> bool {
    matches!(kind, JoinKind::Inner | JoinKind::Semi)
}

fn are_ends(ends: [Position; 2], slot: Slot) -> bool {
    ends.contains(&Position::Slot(slot))
}

fn star_binds(star: &Star, slot: Slot) -> bool {
    let mut required = star.patterns.iter().filter(|pattern| !pattern.optional);
    star.subject == Position::Slot(slot)
        || required.any(|pattern| pattern.object == Position::Slot(slot))
}
