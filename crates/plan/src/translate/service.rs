//! SERVICE to the logical plan: which variables a remote pattern binds, and how many solutions to
//! expect of it.
//!
//! The pattern itself stays algebra: the endpoint gets it as text. Only its variables in scope become
//! slots, those that every solution binds are certain.

use super::{DEPTH_MAX, Scope, Translation};
use crate::cost_constants::{SELECTIVITY_DEFAULT, SERVICE_ROWS, SERVICE_ROWS_SELECTIVE};
use crate::logical::Logical;
use crate::physical::{Endpoint, Graphs, ServicePattern};
use crate::planner::PlanError;
use crate::rules;
use crate::service_text::arrange;
use crate::statistics::constant;
use oxrdf::Variable;
use oxrdf::vocab::rdf;
use spargebra::algebra::GraphPattern;
use spargebra::term::{NamedNodePattern, TermPattern, TriplePattern};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Translation<'_, '_> {
    pub(super) fn service(
        &mut self,
        name: &NamedNodePattern,
        inner: &GraphPattern,
        silent: bool,
        graphs: &Graphs,
        scope: &mut Scope,
    ) -> Result<Logical, PlanError> {
        let endpoint = match name {
            NamedNodePattern::NamedNode(node) => {
                Endpoint::Constant(constant(self.planner.statistics, &node.clone().into()))
            }
            NamedNodePattern::Variable(variable) => {
                Endpoint::Slot(self.variable(variable.as_str(), scope)?)
            }
        };
        if !is_within(inner, DEPTH_MAX) {
            return Err(PlanError::TooLarge("nested patterns"));
        }
        let mut names: Vec<&str> = Vec::new();
        inner.on_in_scope_variable(|variable| {
            if !names.contains(&variable.as_str()) {
                names.push(variable.as_str());
            }
        });
        let bound = bound_variables(inner);
        let mut variables = Vec::new();
        let mut certain = Vec::new();
        for name in names {
            let slot = self.variable(name, scope)?;
            variables.push((slot, name.to_owned()));
            if !silent && bound.contains(name) {
                certain.push(slot);
            }
        }
        let service = Logical::Service(ServicePattern {
            endpoint,
            silent,
            pattern: Arc::new(arrange(inner.clone())),
            variables,
            certain,
            rows: expected_rows(inner),
        });
        let unit = Self::unit(graphs);
        Ok(rules::hoist_left_join::join(self.planner, unit, service))
    }
}

/// Whether operators are nested at most this deep, so that walking the pattern keeps within the stack.
fn is_within(pattern: &GraphPattern, depth_max: usize) -> bool {
    if depth_max == 0 {
        return false;
    }
    let below = depth_max - 1;
    match pattern {
        GraphPattern::Bgp { .. } | GraphPattern::Path { .. } | GraphPattern::Values { .. } => true,
        GraphPattern::Join { left, right }
        | GraphPattern::Lateral { left, right }
        | GraphPattern::LeftJoin { left, right, .. }
        | GraphPattern::Union { left, right }
        | GraphPattern::Minus { left, right } => is_within(left, below) && is_within(right, below),
        GraphPattern::Filter { inner, .. }
        | GraphPattern::Graph { inner, .. }
        | GraphPattern::Extend { inner, .. }
        | GraphPattern::Service { inner, .. }
        | GraphPattern::OrderBy { inner, .. }
        | GraphPattern::Project { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Slice { inner, .. }
        | GraphPattern::Group { inner, .. } => is_within(inner, below),
    }
}

fn name_of(name: &NamedNodePattern) -> Option<&str> {
    match name {
        NamedNodePattern::Variable(variable) => Some(variable.as_str()),
        NamedNodePattern::NamedNode(_) => None,
    }
}

fn end_of(position: &TermPattern) -> Option<&str> {
    match position {
        TermPattern::Variable(variable) => Some(variable.as_str()),
        _ => None,
    }
}

/// The variables that every solution binds, as far as the form of the pattern tells.
fn bound_variables(pattern: &GraphPattern) -> BTreeSet<&str> {
    match pattern {
        GraphPattern::Bgp { patterns } => patterns
            .iter()
            .flat_map(|triple| {
                let ends = [end_of(&triple.subject), end_of(&triple.object)];
                ends.into_iter().chain([name_of(&triple.predicate)])
            })
            .flatten()
            .collect(),
        GraphPattern::Path {
            subject, object, ..
        } => [subject, object].into_iter().filter_map(end_of).collect(),
        GraphPattern::Join { left, right } | GraphPattern::Lateral { left, right } => {
            let mut bound = bound_variables(left);
            bound.extend(bound_variables(right));
            bound
        }
        GraphPattern::Union { left, right } => {
            let right = bound_variables(right);
            let mut bound = bound_variables(left);
            bound.retain(|name| right.contains(name));
            bound
        }
        GraphPattern::LeftJoin { left: inner, .. }
        | GraphPattern::Minus { left: inner, .. }
        | GraphPattern::Filter { inner, .. }
        | GraphPattern::Extend { inner, .. }
        | GraphPattern::OrderBy { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Slice { inner, .. } => bound_variables(inner),
        GraphPattern::Graph { name, inner } => {
            let mut bound = bound_variables(inner);
            bound.extend(name_of(name));
            bound
        }
        GraphPattern::Service { silent: true, .. } => BTreeSet::new(),
        GraphPattern::Service { inner, .. } => bound_variables(inner),
        GraphPattern::Values {
            variables,
            bindings,
        } => {
            let is_full = |column: usize| bindings.iter().all(|row| row[column].is_some());
            let names = variables.iter().enumerate();
            names
                .filter(|(column, _)| is_full(*column))
                .map(|(_, variable)| variable.as_str())
                .collect()
        }
        GraphPattern::Project { inner, variables }
        | GraphPattern::Group {
            inner, variables, ..
        } => among(bound_variables(inner), variables),
    }
}

fn among<'a>(mut bound: BTreeSet<&'a str>, variables: &[Variable]) -> BTreeSet<&'a str> {
    bound.retain(|name| variables.iter().any(|variable| variable.as_str() == *name));
    bound
}

/// How many solutions to expect, from the form of the pattern alone.
fn expected_rows(pattern: &GraphPattern) -> f64 {
    match pattern {
        GraphPattern::Bgp { patterns } if patterns.is_empty() => 1.0,
        GraphPattern::Bgp { patterns } => {
            if patterns.iter().any(names_an_end) {
                SERVICE_ROWS_SELECTIVE
            } else {
                SERVICE_ROWS
            }
        }
        GraphPattern::Path {
            subject, object, ..
        } => {
            let free = [subject, object].into_iter().all(is_free);
            if free {
                SERVICE_ROWS
            } else {
                SERVICE_ROWS_SELECTIVE
            }
        }
        GraphPattern::Join { left, right } | GraphPattern::Lateral { left, right } => {
            expected_rows(left).min(expected_rows(right))
        }
        GraphPattern::Union { left, right } => expected_rows(left) + expected_rows(right),
        GraphPattern::Filter { inner, .. } => expected_rows(inner) * SELECTIVITY_DEFAULT,
        GraphPattern::Slice { inner, length, .. } => {
            let limit = length.map_or(f64::INFINITY, |length| length as f64);
            expected_rows(inner).min(limit)
        }
        GraphPattern::Values { bindings, .. } => bindings.len() as f64,
        GraphPattern::Group { variables, .. } if variables.is_empty() => 1.0,
        GraphPattern::LeftJoin { left: inner, .. }
        | GraphPattern::Minus { left: inner, .. }
        | GraphPattern::Extend { inner, .. }
        | GraphPattern::OrderBy { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Graph { inner, .. }
        | GraphPattern::Service { inner, .. }
        | GraphPattern::Project { inner, .. }
        | GraphPattern::Group { inner, .. } => expected_rows(inner),
    }
}

fn is_free(position: &TermPattern) -> bool {
    matches!(
        position,
        TermPattern::Variable(_) | TermPattern::BlankNode(_)
    )
}

/// Whether the triple names its subject, or its object where that is more than a class.
fn names_an_end(triple: &TriplePattern) -> bool {
    let is_type =
        matches!(&triple.predicate, NamedNodePattern::NamedNode(node) if *node == rdf::TYPE);
    !is_free(&triple.subject) || !(is_free(&triple.object) || is_type)
}
