//! Walking [`physical`](crate::physical) plans: the inputs and expressions of operators, the slots
//! of patterns.
//!
//! One match for each question, so that a new operator is added in few places.

use crate::join_ranges::probe_and_build;
use crate::physical::{
    Aggregate, Domain, Endpoint, Expr, Graphs, JoinKind, Node, Op, PathPattern, Pattern, Position,
    ServicePattern, Slot, Star, Total, group_slots,
};
use std::sync::Arc;

impl Op {
    /// The inputs, in EXPLAIN order; plans inside EXISTS are not among them.
    pub fn children(&self) -> Vec<&Node> {
        match self {
            Self::Unit
            | Self::Empty
            | Self::Outer
            | Self::Values { .. }
            | Self::GraphNames { .. }
            | Self::StarScan { .. }
            | Self::CountScan { .. }
            | Self::PatternScan { .. } => Vec::new(),
            Self::StarJoin { input, .. }
            | Self::PatternJoin { input, .. }
            | Self::CountJoin { input, .. }
            | Self::PathJoin { input, .. }
            | Self::Service { input, .. }
            | Self::Filter { input, .. }
            | Self::Extend { input, .. }
            | Self::Project { input }
            | Self::Distinct { input }
            | Self::PartialDistinct { input }
            | Self::OrderBy { input, .. }
            | Self::Slice { input, .. }
            | Self::SlicePer { input, .. }
            | Self::Spool { input, .. }
            | Self::Group { input, .. } => vec![input],
            Self::HashJoin { left, right, .. }
            | Self::MergeJoin { left, right, .. }
            | Self::LateralJoin { left, right }
            | Self::Minus { left, right, .. } => vec![left, right],
            Self::GroupThrough(group) => [&group.rows, &group.pairs]
                .into_iter()
                .chain(group.without.as_ref().and_then(Domain::node))
                .chain(group.total.as_ref().and_then(Total::node))
                .collect(),
            Self::RollUp(roll_up) => vec![&roll_up.finer],
            Self::Union { inputs } => inputs.iter().collect(),
        }
    }

    /// The input whose rows an operator hands on as they come, joined or not; `None` of others.
    pub fn streamed_input(&self) -> Option<&Node> {
        match self {
            Self::StarJoin { input, .. }
            | Self::PatternJoin { input, .. }
            | Self::CountJoin { input, .. }
            | Self::PathJoin {
                input,
                at_once: false,
                ..
            }
            | Self::Filter { input, .. }
            | Self::Extend { input, .. }
            | Self::PartialDistinct { input }
            | Self::Project { input } => Some(input),
            Self::HashJoin { .. } => probe_and_build(self).map(|(probe, _)| probe),
            _ => None,
        }
    }

    /// The key of a semi or anti join by hash that asks for nothing but whether the other side has it.
    pub fn sole_key(&self) -> Option<Slot> {
        match self {
            Self::HashJoin {
                keys,
                compatible,
                kind: JoinKind::Semi | JoinKind::Anti,
                filter: None,
                ..
            } if compatible.is_empty() => match keys.as_slice() {
                [key] => Some(*key),
                _ => None,
            },
            _ => None,
        }
    }

    /// What a group makes: its keys, then its aggregates; nothing of other operators.
    pub fn made_slots(&self) -> Vec<Slot> {
        match self {
            Self::Group {
                keys, aggregates, ..
            } => group_slots(keys, aggregates),
            Self::GroupThrough(group) => group_slots(&group.keys, &group.aggregates),
            Self::RollUp(group) => group.slots(),
            _ => Vec::new(),
        }
    }

    /// The inputs, mutably.
    pub fn children_mut(&mut self) -> Vec<&mut Node> {
        match self {
            Self::Unit
            | Self::Empty
            | Self::Outer
            | Self::Values { .. }
            | Self::GraphNames { .. }
            | Self::StarScan { .. }
            | Self::CountScan { .. }
            | Self::PatternScan { .. } => Vec::new(),
            Self::StarJoin { input, .. }
            | Self::PatternJoin { input, .. }
            | Self::CountJoin { input, .. }
            | Self::PathJoin { input, .. }
            | Self::Service { input, .. }
            | Self::Filter { input, .. }
            | Self::Extend { input, .. }
            | Self::Project { input }
            | Self::Distinct { input }
            | Self::PartialDistinct { input }
            | Self::OrderBy { input, .. }
            | Self::Slice { input, .. }
            | Self::SlicePer { input, .. }
            | Self::Spool { input, .. }
            | Self::Group { input, .. } => vec![Arc::make_mut(input)],
            Self::HashJoin { left, right, .. }
            | Self::MergeJoin { left, right, .. }
            | Self::LateralJoin { left, right }
            | Self::Minus { left, right, .. } => vec![Arc::make_mut(left), Arc::make_mut(right)],
            Self::GroupThrough(group) => [&mut group.rows, &mut group.pairs]
                .into_iter()
                .chain(group.without.as_mut().and_then(Domain::node_mut))
                .chain(group.total.as_mut().and_then(Total::node_mut))
                .collect(),
            Self::RollUp(roll_up) => vec![&mut roll_up.finer],
            Self::Union { inputs } => inputs.iter_mut().collect(),
        }
    }

    /// Every expression of the operator itself, mutably.
    pub fn expressions_mut(&mut self) -> Vec<&mut Expr> {
        match self {
            Self::StarScan { star, .. } | Self::StarJoin { star, .. } => {
                star.filters.iter_mut().collect()
            }
            Self::PatternScan { filter, .. }
            | Self::PatternJoin { filter, .. }
            | Self::HashJoin { filter, .. }
            | Self::Service { filter, .. } => filter.iter_mut().collect(),
            Self::Filter { condition, .. } => vec![condition],
            Self::Extend { expr, .. } => vec![expr],
            Self::OrderBy { keys, .. } => keys.iter_mut().map(|key| &mut key.expr).collect(),
            Self::Group { aggregates, .. } => arguments_mut(aggregates),
            Self::GroupThrough(group) => arguments_mut(&mut group.aggregates),
            _ => Vec::new(),
        }
    }

    /// Every expression of the operator itself.
    pub fn expressions(&self) -> Vec<&Expr> {
        match self {
            Self::StarScan { star, .. } | Self::StarJoin { star, .. } => {
                star.filters.iter().collect()
            }
            Self::PatternScan { filter, .. }
            | Self::PatternJoin { filter, .. }
            | Self::HashJoin { filter, .. }
            | Self::Service { filter, .. } => filter.iter().collect(),
            Self::Filter { condition, .. } => vec![condition],
            Self::Extend { expr, .. } => vec![expr],
            Self::OrderBy { keys, .. } => keys.iter().map(|key| &key.expr).collect(),
            Self::Group { aggregates, .. } => arguments(aggregates),
            Self::GroupThrough(group) => arguments(&group.aggregates),
            _ => Vec::new(),
        }
    }
}

fn arguments(aggregates: &[Aggregate]) -> Vec<&Expr> {
    let arguments = aggregates.iter().map(|a| a.argument.as_ref());
    arguments.flatten().collect()
}

fn arguments_mut(aggregates: &mut [Aggregate]) -> Vec<&mut Expr> {
    let arguments = aggregates.iter_mut().map(|a| a.argument.as_mut());
    arguments.flatten().collect()
}

impl Graphs {
    /// The slot of `GRAPH ?g`.
    pub fn slot(&self) -> Option<Slot> {
        match self {
            Self::Variable { slot, .. } => Some(*slot),
            Self::One(_) | Self::Merge { .. } => None,
        }
    }
}

impl Position {
    /// The slot, if this is a variable.
    pub fn slot(self) -> Option<Slot> {
        match self {
            Self::Slot(slot) => Some(slot),
            Self::Id(_) => None,
        }
    }
}

impl Star {
    /// The slots the star binds: graph, subject, objects, in this order.
    pub fn slots(&self) -> Vec<Slot> {
        let objects = self
            .patterns
            .iter()
            .filter_map(|pattern| pattern.object.slot());
        self.graphs
            .slot()
            .into_iter()
            .chain(self.subject.slot())
            .chain(objects)
            .collect()
    }
}

impl Pattern {
    /// The slots the pattern binds, each once.
    pub fn slots(&self) -> Vec<Slot> {
        let mut slots: Vec<Slot> = self.graphs.slot().into_iter().collect();
        for position in [self.subject, self.predicate, self.object] {
            if let Some(slot) = position.slot()
                && !slots.contains(&slot)
            {
                slots.push(slot);
            }
        }
        slots
    }
}

impl PathPattern {
    /// The slots the path binds, each once.
    pub fn slots(&self) -> Vec<Slot> {
        let mut slots: Vec<Slot> = self.graphs.slot().into_iter().collect();
        for endpoint in [&self.subject, &self.object] {
            if let Endpoint::Slot(slot) = endpoint
                && !slots.contains(slot)
            {
                slots.push(*slot);
            }
        }
        slots
    }
}

impl ServicePattern {
    /// The slots that solutions of the pattern may bind; the endpoint's is not among them.
    pub fn slots(&self) -> Vec<Slot> {
        self.variables.iter().map(|(slot, _)| *slot).collect()
    }

    /// The slot of the endpoint, if it is a variable.
    pub fn endpoint_slot(&self) -> Option<Slot> {
        match self.endpoint {
            Endpoint::Slot(slot) => Some(slot),
            Endpoint::Constant(_) => None,
        }
    }
}
