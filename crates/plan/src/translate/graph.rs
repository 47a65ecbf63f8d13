//! GRAPH to the logical plan.
//!
//! Patterns under `GRAPH ?g` are evaluated for all graphs at once: each sub-plan carries the graph's
//! slot, joins compare it, groups have it as a key, and what the standard counts for each graph alone
//! (LIMIT, OFFSET, an aggregate without GROUP BY) is counted for each value of the slot. The answer is the
//! same as that of evaluating graph by graph, without starting the inside for each of many graphs.

use super::{Scope, Translation};
use crate::expression::not_bound;
use crate::logical::Logical;
use crate::physical::{Aggregate, AggregateFunction, Constant, Expr, Graphs, Slot};
use crate::planner::PlanError;
use crate::rules;
use crate::statistics::constant;
use basalt_rdf::TermId;
use oxrdf::{Literal, Term};
use spargebra::algebra::GraphPattern;
use spargebra::term::NamedNodePattern;

impl Translation<'_, '_> {
    /// GRAPH, inside the given graphs.
    pub(super) fn graph(
        &mut self,
        name: &NamedNodePattern,
        inner: &GraphPattern,
        around: &Graphs,
        scope: &mut Scope,
    ) -> Result<Logical, PlanError> {
        let inside = self.graph_alone(name, inner, scope)?;
        Ok(match around {
            // It carries the graph of an enclosing `GRAPH ?g` too.
            Graphs::Variable { .. } => {
                rules::hoist_left_join::join(self.planner, Self::unit(around), inside)
            }
            Graphs::One(_) | Graphs::Merge { .. } => inside,
        })
    }

    fn graph_alone(
        &mut self,
        name: &NamedNodePattern,
        inner: &GraphPattern,
        scope: &mut Scope,
    ) -> Result<Logical, PlanError> {
        let graphs = match name {
            NamedNodePattern::NamedNode(node) => {
                let allowed = self.named.as_ref().is_none_or(|named| named.contains(node));
                match self.planner.statistics.term_id(&node.clone().into()) {
                    Some(id) if allowed => Graphs::One(id),
                    _ => return Ok(Logical::Empty),
                }
            }
            NamedNodePattern::Variable(variable) => {
                let slot = self.variable(variable.as_str(), scope)?;
                let statistics = self.planner.statistics;
                let among = self.named.as_ref().map(|named| {
                    let ids = named
                        .iter()
                        .filter_map(|n| statistics.term_id(&n.clone().into()));
                    let mut ids: Vec<TermId> = ids.collect();
                    ids.sort_unstable();
                    ids.dedup();
                    ids
                });
                if among.as_ref().is_some_and(Vec::is_empty) {
                    return Ok(Logical::Empty);
                }
                Graphs::Variable { slot, among }
            }
        };
        let logical = match name {
            NamedNodePattern::NamedNode(_) => self.translate(inner, &graphs, scope)?,
            NamedNodePattern::Variable(variable) => {
                self.inside_graph_variable(variable.as_str(), &graphs, inner, scope)?
            }
        };
        let touches = matches!(&logical, Logical::Group(group)
            if group.triples.iter().any(|triple| !triple.optional && triple.graphs == graphs));
        if touches || logical == Logical::Empty {
            return Ok(logical);
        }
        // A graph that holds nothing is not there, and then its GRAPH has no solutions.
        let Graphs::One(id) = graphs else {
            return Ok(logical);
        };
        let names = Logical::GraphNames {
            slot: self.planner.fresh_slot("graph")?,
            among: Some(vec![id]),
        };
        let exists = Logical::Project {
            input: Box::new(names),
            slots: Vec::new(),
        };
        Ok(rules::hoist_left_join::join(self.planner, exists, logical))
    }

    /// The inside of `GRAPH ?g`, where `?g` is not bound yet: a `?g` in there is a variable of its own
    /// that is joined with the graph's name at the end. Inside EXISTS and LATERAL a `?g` of the row around stands for its value there, too.
    fn inside_graph_variable(
        &mut self,
        name: &str,
        graphs: &Graphs,
        inner: &GraphPattern,
        scope: &mut Scope,
    ) -> Result<Logical, PlanError> {
        let is_given = graphs.slot().is_some_and(|slot| self.outer.contains(slot));
        if is_given && !computes(inner, name) {
            return self.translate(inner, graphs, scope);
        }
        let outside = scope.slots.remove(name);
        let logical = self.translate(inner, graphs, scope);
        let inside = scope.slots.remove(name);
        scope
            .slots
            .extend(outside.map(|slot| (name.to_owned(), slot)));
        let logical = logical?;
        let (Some(inside), Some(slot)) = (inside, graphs.slot()) else {
            return Ok(logical);
        };
        if !logical.schema().contains(inside) {
            return Ok(logical);
        }
        let same = Expr::SameTerm(Box::new(Expr::Slot(inside)), Box::new(Expr::Slot(slot)));
        let condition = Expr::Or(vec![not_bound(inside), same]);
        let outer = self.outer;
        Ok(rules::push_down_filter::filter(
            self.planner,
            outer,
            logical,
            condition,
        ))
    }

    /// The empty group: one row, or one for each named graph inside `GRAPH ?g`.
    pub(super) fn unit(graphs: &Graphs) -> Logical {
        match graphs {
            Graphs::Variable { slot, among } => Logical::GraphNames {
                slot: *slot,
                among: among.clone(),
            },
            Graphs::One(_) | Graphs::Merge { .. } => Logical::unit(),
        }
    }

    /// An aggregate without GROUP BY inside `GRAPH ?g`: a row for each graph, also where nothing
    /// matches.
    ///
    /// Grouping by the graph gives no row there, so the names of the graphs are left joined with the
    /// groups, and aggregates get the value that they have of no rows.
    pub(super) fn aggregate_per_graph(
        &mut self,
        input: Logical,
        graphs: (Slot, Option<Vec<TermId>>),
        aggregates: Vec<Aggregate>,
    ) -> Result<Logical, PlanError> {
        let (slot, among) = graphs;
        let has_rows = self.planner.fresh_slot("rows")?;
        let mut grouped = vec![Aggregate {
            slot: has_rows,
            function: AggregateFunction::Count,
            argument: None,
            distinct: false,
        }];
        let mut filled = Vec::new();
        for mut aggregate in aggregates {
            if let Some(default) = self.value_of_no_rows(&aggregate.function) {
                let result = self.planner.fresh_slot("aggregate")?;
                filled.push((aggregate.slot, result, default));
                aggregate.slot = result;
            }
            grouped.push(aggregate);
        }
        let groups = Logical::Aggregate {
            input: Box::new(input),
            keys: vec![slot],
            aggregates: grouped,
        };
        let joined = Logical::LeftJoin {
            left: Box::new(Logical::GraphNames { slot, among }),
            right: Box::new(groups),
            conditions: Vec::new(),
        };
        let fill = |plan, (slot, result, default)| Logical::Extend {
            input: Box::new(plan),
            slot,
            expr: Expr::If(
                Box::new(Expr::Bound(has_rows)),
                Box::new(Expr::Slot(result)),
                Box::new(Expr::Constant(default)),
            ),
        };
        Ok(filled.into_iter().fold(joined, fill))
    }

    /// What an aggregate of no rows is; `None` where it is unbound.
    fn value_of_no_rows(&self, function: &AggregateFunction) -> Option<Constant> {
        let literal = match function {
            AggregateFunction::Count | AggregateFunction::Sum | AggregateFunction::Avg => {
                Literal::from(0)
            }
            AggregateFunction::GroupConcat { .. } => Literal::new_simple_literal(""),
            AggregateFunction::Min | AggregateFunction::Max | AggregateFunction::Sample => {
                return None;
            }
        };
        Some(constant(self.planner.statistics, &Term::from(literal)))
    }
}

/// Whether a pattern gives a variable the value of an expression somewhere.
fn computes(pattern: &GraphPattern, name: &str) -> bool {
    let mut left = vec![pattern];
    while let Some(pattern) = left.pop() {
        match pattern {
            GraphPattern::Extend {
                inner, variable, ..
            } => {
                if variable.as_str() == name {
                    return true;
                }
                left.push(inner);
            }
            GraphPattern::Join { left: a, right: b }
            | GraphPattern::LeftJoin {
                left: a, right: b, ..
            }
            | GraphPattern::Lateral { left: a, right: b }
            | GraphPattern::Union { left: a, right: b }
            | GraphPattern::Minus { left: a, right: b } => left.extend([&**a, &**b]),
            GraphPattern::Filter { inner, .. }
            | GraphPattern::Graph { inner, .. }
            | GraphPattern::OrderBy { inner, .. }
            | GraphPattern::Project { inner, .. }
            | GraphPattern::Distinct { inner }
            | GraphPattern::Reduced { inner }
            | GraphPattern::Slice { inner, .. }
            | GraphPattern::Group { inner, .. }
            | GraphPattern::Service { inner, .. } => left.push(inner),
            GraphPattern::Bgp { .. } | GraphPattern::Path { .. } | GraphPattern::Values { .. } => {}
        }
    }
    false
}
