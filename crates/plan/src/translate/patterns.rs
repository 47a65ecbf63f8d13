//! Triple patterns, paths and VALUES to the logical plan.
//!
//! Paths become triples as far as [`rewrite_path`](crate::rules::rewrite_path) can make them.
//!
//! The parser writes language tags in lower case, so a literal of the query stands for every stored term that
//! differs from it in the case of the tag alone. Where that is one term it is a constant like any other.

use super::{Scope, Translation};
use crate::logical::{JoinGroup, Logical, Triple};
use crate::physical::{Constant, Endpoint, Graphs, Position, Slot};
use crate::planner::PlanError;
use crate::rules;
use crate::statistics::{constant, spellings};
use oxrdf::{Term, Variable};
use spargebra::algebra::PropertyPathExpression;
use spargebra::term::{GroundTerm, NamedNodePattern, TermPattern, TriplePattern};
use std::collections::HashSet;

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
        let mut spelled = Vec::new();
        let mut known = reads_something(graphs);
        let mut seen = HashSet::new();
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
            let object = match self.spelled_slot(pattern, &mut spelled, &mut group)? {
                Some(slot) => Endpoint::Slot(slot),
                None => self.endpoint(&pattern.object, scope)?,
            };
            match (position(&subject), position(&predicate), position(&object)) {
                (Some(subject), Some(predicate), Some(object)) => {
                    // Repeated patterns say nothing new.
                    if !seen.insert((subject, predicate, object)) {
                        continue;
                    }
                    let triple = Triple {
                        subject,
                        predicate,
                        object,
                        graphs: graphs.clone(),
                        optional: false,
                    };
                    known &= self.may_match(&triple);
                    group.triples.push(triple);
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

    /// The slot that stands for an object of which several spellings are stored; it is joined with their
    /// ids. Equal patterns have one slot, others each their own: one may match this spelling, one that.
    fn spelled_slot<'t>(
        &mut self,
        pattern: &'t TriplePattern,
        known: &mut Vec<(&'t TriplePattern, Slot)>,
        group: &mut JoinGroup,
    ) -> Result<Option<Slot>, PlanError> {
        let TermPattern::Literal(literal) = &pattern.object else {
            return Ok(None);
        };
        if let Some((_, slot)) = known.iter().find(|(other, _)| *other == pattern) {
            return Ok(Some(*slot));
        }
        let term = Term::from(literal.clone());
        let Some(constants) = spellings(self.planner.statistics, &term) else {
            return Ok(None);
        };
        let slot = self.planner.fresh_slot("spelled")?;
        group.children.push(Logical::Values {
            slots: vec![slot],
            rows: constants.into_iter().map(|c| vec![Some(c)]).collect(),
        });
        known.push((pattern, slot));
        Ok(Some(slot))
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
        let path = rules::rewrite_path::simplify(path);
        let objects = self.path_ends(object, scope)?;
        let mut branches = Vec::new();
        for subject in self.path_ends(subject, scope)? {
            for object in &objects {
                let planner = &mut *self.planner;
                branches.push(rules::rewrite_path::plan(
                    planner, &subject, &path, object, graphs,
                )?);
            }
        }
        Ok(match branches.len() {
            1 => branches.swap_remove(0),
            _ => Logical::Union(branches),
        })
    }

    /// The end of a path; several for a literal of which several spellings are stored.
    fn path_ends(
        &mut self,
        position: &TermPattern,
        scope: &mut Scope,
    ) -> Result<Vec<Endpoint>, PlanError> {
        if let TermPattern::Literal(literal) = position
            && let Some(constants) = spellings(self.planner.statistics, &literal.clone().into())
        {
            return Ok(constants.into_iter().map(Endpoint::Constant).collect());
        }
        Ok(vec![self.endpoint(position, scope)?])
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
        let rows = bindings.iter().flat_map(|row| self.values_rows(row));
        let rows = rows.collect();
        Ok(Logical::Values { slots, rows })
    }

    /// A row of VALUES; several where a literal has several stored spellings.
    fn values_rows(&self, row: &[Option<GroundTerm>]) -> Vec<Vec<Option<Constant>>> {
        let mut rows = vec![Vec::new()];
        for cell in row {
            let term = match cell {
                None => None,
                Some(GroundTerm::NamedNode(node)) => Some(Term::from(node.clone())),
                Some(GroundTerm::Literal(literal)) => Some(Term::from(literal.clone())),
            };
            let statistics = self.planner.statistics;
            let cells: Vec<Option<Constant>> = match term {
                None => vec![None],
                Some(term) => match spellings(statistics, &term) {
                    Some(constants) => constants.into_iter().map(Some).collect(),
                    None => vec![Some(constant(statistics, &term))],
                },
            };
            let extended = rows.iter().flat_map(|row| {
                let with = |cell: &Option<Constant>| {
                    let mut row: Vec<Option<Constant>> = row.clone();
                    row.push(cell.clone());
                    row
                };
                cells.iter().map(with).collect::<Vec<_>>()
            });
            rows = extended.collect();
        }
        rows
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
