//! Triple patterns, paths and VALUES to the logical plan.
//!
//! Paths that are plain triples in disguise (a name, an inverse, a sequence) are rewritten to
//! triples, which keeps the number of solutions as the standard defines it.

use super::{Scope, Translation};
use crate::logical::{JoinGroup, Logical, Triple};
use crate::physical::{Constant, Endpoint, Graphs, PathPattern, Position};
use crate::planner::PlanError;
use crate::rules;
use crate::statistics::constant;
use oxrdf::{Term, Variable};
use spargebra::algebra::PropertyPathExpression;
use spargebra::term::{GroundTerm, NamedNodePattern, TermPattern, TriplePattern};

impl Translation<'_, '_> {
    pub(super) fn triples(
        &mut self,
        patterns: &[TriplePattern],
        graphs: &Graphs,
        scope: &mut Scope,
    ) -> Result<Logical, PlanError> {
        if patterns.is_empty() {
            return Ok(Self::unit(graphs));
        }
        let mut group = JoinGroup::default();
        let mut known = reads_something(graphs);
        for pattern in patterns {
            let subject = self.endpoint(&pattern.subject, scope)?;
            let predicate = match &pattern.predicate {
                NamedNodePattern::NamedNode(node) => {
                    Endpoint::Constant(constant(self.planner.statistics, &node.clone().into()))
                }
                NamedNodePattern::Variable(variable) => {
                    Endpoint::Slot(self.variable(variable.as_str(), scope)?)
                }
            };
            let object = self.endpoint(&pattern.object, scope)?;
            match (position(&subject), position(&predicate), position(&object)) {
                (Some(subject), Some(predicate), Some(object)) => {
                    let graphs = graphs.clone();
                    let triple = Triple {
                        subject,
                        predicate,
                        object,
                        graphs,
                        optional: false,
                    };
                    known &= self.may_match(&triple);
                    // Repeated patterns say nothing new.
                    if !group.triples.contains(&triple) {
                        group.triples.push(triple);
                    }
                }
                _ => known = false,
            }
        }
        Ok(if known {
            Logical::Group(group)
        } else {
            Logical::Empty
        })
    }

    /// Whether any quad at all has the predicate of the pattern.
    fn may_match(&self, triple: &Triple) -> bool {
        match triple.predicate {
            Position::Id(predicate) => self.planner.statistics.predicate_quads(predicate) > 0,
            Position::Slot(_) => self.planner.statistics.quad_count() > 0,
        }
    }

    pub(super) fn path(
        &mut self,
        subject: &TermPattern,
        path: &PropertyPathExpression,
        object: &TermPattern,
        graphs: &Graphs,
        scope: &mut Scope,
    ) -> Result<Logical, PlanError> {
        match path {
            PropertyPathExpression::NamedNode(node) => {
                let triple = TriplePattern {
                    subject: subject.clone(),
                    predicate: node.clone().into(),
                    object: object.clone(),
                };
                self.triples(&[triple], graphs, scope)
            }
            PropertyPathExpression::Reverse(inner) => {
                self.path(object, inner, subject, graphs, scope)
            }
            PropertyPathExpression::Sequence(first, second) => {
                let name = format!(" path{}", self.planner.names.len());
                let middle = TermPattern::Variable(Variable::new_unchecked(name));
                let left = self.path(subject, first, &middle, graphs, scope)?;
                let right = self.path(&middle, second, object, graphs, scope)?;
                Ok(rules::hoist_left_join::join(self.planner, left, right))
            }
            _ => {
                let pattern = PathPattern {
                    subject: self.endpoint(subject, scope)?,
                    path: path.clone(),
                    object: self.endpoint(object, scope)?,
                    graphs: graphs.clone(),
                };
                let paths = vec![pattern];
                Ok(Logical::Group(JoinGroup {
                    paths,
                    ..JoinGroup::default()
                }))
            }
        }
    }

    fn endpoint(
        &mut self,
        position: &TermPattern,
        scope: &mut Scope,
    ) -> Result<Endpoint, PlanError> {
        let term = match position {
            TermPattern::Variable(variable) => {
                return Ok(Endpoint::Slot(self.variable(variable.as_str(), scope)?));
            }
            TermPattern::BlankNode(node) => {
                let name = format!(" _:{}", node.as_str());
                return Ok(Endpoint::Slot(self.variable(&name, scope)?));
            }
            TermPattern::NamedNode(node) => Term::from(node.clone()),
            TermPattern::Literal(literal) => Term::from(literal.clone()),
        };
        Ok(Endpoint::Constant(constant(self.planner.statistics, &term)))
    }

    pub(super) fn values(
        &mut self,
        variables: &[Variable],
        bindings: &[Vec<Option<GroundTerm>>],
        scope: &mut Scope,
    ) -> Result<Logical, PlanError> {
        let slots = variables.iter().map(|v| self.variable(v.as_str(), scope));
        let slots = slots.collect::<Result<Vec<_>, _>>()?;
        if bindings.is_empty() {
            return Ok(Logical::Empty);
        }
        let cell = |term: &Option<GroundTerm>| -> Option<Constant> {
            let term = match term.as_ref()? {
                GroundTerm::NamedNode(node) => Term::from(node.clone()),
                GroundTerm::Literal(literal) => Term::from(literal.clone()),
            };
            Some(constant(self.planner.statistics, &term))
        };
        let rows = bindings
            .iter()
            .map(|row| row.iter().map(cell).collect())
            .collect();
        Ok(Logical::Values { slots, rows })
    }
}

/// The position for an end, `None` for a term that the store does not know.
fn position(endpoint: &Endpoint) -> Option<Position> {
    match endpoint {
        Endpoint::Slot(slot) => Some(Position::Slot(*slot)),
        Endpoint::Constant(constant) => constant.id.map(Position::Id),
    }
}

/// Whether there is a graph to read at all.
fn reads_something(graphs: &Graphs) -> bool {
    match graphs {
        Graphs::One(_) => true,
        Graphs::Variable { among, .. } | Graphs::Merge { among } => {
            among.as_ref().is_none_or(|among| !among.is_empty())
        }
    }
}
