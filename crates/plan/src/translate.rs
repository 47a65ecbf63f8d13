//! spargebra algebra to the logical plan: variables become slots, constants become ids.
//!
//! Rules that need only local knowledge run here, each from its own file under `rules/`, as the
//! tree is built from the leaves up. A pattern with an unknown constant becomes [`Logical::Empty`],
//! which prunes upward. Blank nodes of the query are variables that nobody can name.
//!
//! Invariant: see [`crate::logical`]. Cost: linear in the query, times its depth for schemas.

mod expression;
mod graph;
mod patterns;
mod service;

use crate::expression::{into_conjuncts, is_pure};
use crate::logical::Logical;
use crate::physical::{Expr, Graphs, Slot, SortKey};
use crate::planner::{PlanError, Planner};
use crate::rules;
use crate::slot_set::SlotSet;
use basalt_rdf::TermId;
use oxrdf::NamedNode;
use spargebra::algebra::{
    AggregateExpression, Expression, GraphPattern, OrderExpression, QueryDataset,
};
use spargebra::term::Variable;
use std::collections::HashMap;

/// Nested operators a query may have; keeps recursion within the stack.
const DEPTH_MAX: usize = 400;

/// The variables of the query or of one subselect, by name.
#[derive(Default)]
pub(crate) struct Scope {
    slots: HashMap<String, Slot>,
    subselect: bool,
}

impl Scope {
    /// The slot of a variable that occurred already.
    pub(crate) fn get(&self, name: &str) -> Option<Slot> {
        self.slots.get(name).copied()
    }
}

/// The translation of one query.
pub(crate) struct Translation<'p, 'a> {
    planner: &'p mut Planner<'a>,
    /// What patterns outside GRAPH read.
    default_graphs: Graphs,
    /// The graphs of GRAPH; `None` is every named graph.
    named: Option<Vec<NamedNode>>,
    /// Slots visible around the EXISTS being translated; the inside may not treat them as fresh.
    outer: SlotSet,
    depth: usize,
}

impl<'p, 'a> Translation<'p, 'a> {
    pub(crate) fn new(planner: &'p mut Planner<'a>, dataset: Option<&QueryDataset>) -> Self {
        let ids = |graphs: &[NamedNode]| -> Vec<TermId> {
            let mut ids: Vec<TermId> = Vec::new();
            for graph in graphs {
                if let Some(id) = planner.statistics.term_id(&graph.clone().into())
                    && !ids.contains(&id)
                {
                    ids.push(id);
                }
            }
            ids
        };
        // What merges graphs of which only one has quads reads that one.
        let merge = |among: Option<Vec<TermId>>| {
            let only = planner.statistics.only_graph(among.as_deref());
            only.map_or(Graphs::Merge { among }, Graphs::One)
        };
        let default_graphs = match dataset {
            None if planner.options.union_default_graph => merge(None),
            None => Graphs::One(TermId::DEFAULT_GRAPH),
            Some(dataset) => match ids(&dataset.default).as_slice() {
                [one] => Graphs::One(*one),
                many => merge(Some(many.to_vec())),
            },
        };
        let named = dataset.and_then(|dataset| dataset.named.clone());
        Self {
            planner,
            default_graphs,
            named,
            outer: SlotSet::default(),
            depth: 0,
        }
    }

    /// The whole query and the slots it projects; its own variables keep their plain names.
    pub(crate) fn translate_root(
        &mut self,
        pattern: &GraphPattern,
        scope: &mut Scope,
    ) -> Result<(Logical, Vec<Slot>), PlanError> {
        let graphs = self.default_graphs.clone();
        let (logical, projected) = match pattern {
            GraphPattern::Project { inner, variables } => {
                let input = self.translate(inner, &graphs, scope)?;
                let slots = variables.iter().map(|v| self.variable(v.as_str(), scope));
                let slots = slots.collect::<Result<Vec<_>, _>>()?;
                let project = Logical::Project {
                    input: Box::new(input),
                    slots: slots.clone(),
                };
                (project, slots)
            }
            GraphPattern::Distinct { inner } => {
                let (input, slots) = self.translate_root(inner, scope)?;
                (rules::remove_distinct::distinct(self.planner, input), slots)
            }
            GraphPattern::Reduced { inner } => self.translate_root(inner, scope)?,
            GraphPattern::Slice {
                inner,
                start,
                length,
            } => {
                let (input, slots) = self.translate_root(inner, scope)?;
                (slice(input, *start, *length), slots)
            }
            other => {
                let logical = self.translate(other, &graphs, scope)?;
                let mut names = Vec::new();
                other.on_in_scope_variable(|v| names.push(v.as_str()));
                names.sort_unstable();
                names.dedup();
                let slots = names.into_iter().map(|name| self.variable(name, scope));
                (logical, slots.collect::<Result<Vec<_>, _>>()?)
            }
        };
        Ok((logical, projected))
    }

    /// The slot of a variable, made on first sight.
    fn variable(&mut self, name: &str, scope: &mut Scope) -> Result<Slot, PlanError> {
        if let Some(slot) = scope.slots.get(name) {
            return Ok(*slot);
        }
        let slot = if scope.subselect {
            self.planner.fresh_slot(name)?
        } else {
            self.planner.new_slot(name.to_owned())?
        };
        scope.slots.insert(name.to_owned(), slot);
        Ok(slot)
    }

    fn translate(
        &mut self,
        pattern: &GraphPattern,
        graphs: &Graphs,
        scope: &mut Scope,
    ) -> Result<Logical, PlanError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(PlanError::TooLarge("nested patterns"));
        }
        let logical = self.translate_operator(pattern, graphs, scope);
        self.depth -= 1;
        logical
    }

    fn translate_operator(
        &mut self,
        pattern: &GraphPattern,
        graphs: &Graphs,
        scope: &mut Scope,
    ) -> Result<Logical, PlanError> {
        match pattern {
            GraphPattern::Bgp { patterns } => self.triples(patterns, graphs, scope),
            GraphPattern::Path {
                subject,
                path,
                object,
            } => self.path(subject, path, object, graphs, scope),
            GraphPattern::Join { left, right } => {
                let left = self.translate(left, graphs, scope)?;
                let right = self.translate(right, graphs, scope)?;
                Ok(rules::hoist_left_join::join(self.planner, left, right))
            }
            GraphPattern::LeftJoin { .. } | GraphPattern::Filter { .. } => {
                self.conditional(pattern, graphs, scope)
            }
            GraphPattern::Union { .. } => self.union(pattern, graphs, scope),
            GraphPattern::Graph { name, inner } => self.graph(name, inner, graphs, scope),
            GraphPattern::Extend {
                inner,
                variable,
                expression,
            } => self.extend((inner, variable, expression), graphs, scope),
            GraphPattern::Minus { left, right } => {
                let left = self.translate(left, graphs, scope)?;
                let right = self.translate(right, graphs, scope)?;
                Ok(rules::minus_to_anti::minus(
                    self.planner,
                    left,
                    right,
                    graphs.slot(),
                ))
            }
            GraphPattern::Values {
                variables,
                bindings,
            } => {
                let values = self.values(variables, bindings, scope)?;
                let unit = Self::unit(graphs);
                Ok(rules::hoist_left_join::join(self.planner, unit, values))
            }
            GraphPattern::Lateral { left, right } => self.lateral(left, right, graphs, scope),
            GraphPattern::Service {
                name,
                inner,
                silent,
            } => self.service(name, inner, *silent, graphs, scope),
            modifier => self.modifier(modifier, graphs, scope),
        }
    }

    /// BIND, and what SELECT and GROUP BY compute.
    fn extend(
        &mut self,
        (inner, variable, expression): (&GraphPattern, &Variable, &Expression),
        graphs: &Graphs,
        scope: &mut Scope,
    ) -> Result<Logical, PlanError> {
        let input = self.translate(inner, graphs, scope)?;
        if input == Logical::Empty {
            return Ok(input);
        }
        let slot = self.variable(variable.as_str(), scope)?;
        // The parser looks at BIND and SELECT, but not at GROUP BY.
        if input.schema().contains(slot) {
            return Err(PlanError::HasValue(variable.as_str().to_owned()));
        }
        let expr = self.expression(expression, graphs, scope, input.schema())?;
        Ok(Logical::Extend {
            input: Box::new(input),
            slot,
            expr,
        })
    }

    /// LATERAL: to the right side the slots of the left one are those of a row around it.
    fn lateral(
        &mut self,
        left: &GraphPattern,
        right: &GraphPattern,
        graphs: &Graphs,
        scope: &mut Scope,
    ) -> Result<Logical, PlanError> {
        let left = self.translate(left, graphs, scope)?;
        let outer = self.outer;
        self.outer = outer.union(left.schema());
        let right = self.translate(right, graphs, scope);
        self.outer = outer;
        Ok(rules::lateral_to_join::lateral(self.planner, left, right?))
    }

    /// Subselects and what stands around them.
    fn modifier(
        &mut self,
        pattern: &GraphPattern,
        graphs: &Graphs,
        scope: &mut Scope,
    ) -> Result<Logical, PlanError> {
        match pattern {
            GraphPattern::Project { inner, variables } => {
                let mut inner_scope = Scope {
                    slots: HashMap::new(),
                    subselect: true,
                };
                let mut slots = Vec::new();
                for variable in variables {
                    let slot = self.variable(variable.as_str(), scope)?;
                    inner_scope.slots.insert(variable.as_str().to_owned(), slot);
                    slots.push(slot);
                }
                slots.extend(graphs.slot().filter(|slot| !slots.contains(slot)));
                let input = self.translate(inner, graphs, &mut inner_scope)?;
                if input == Logical::Empty {
                    return Ok(input);
                }
                Ok(Logical::Project {
                    input: Box::new(input),
                    slots,
                })
            }
            GraphPattern::Distinct { inner } => {
                let input = self.translate(inner, graphs, scope)?;
                Ok(rules::remove_distinct::distinct(self.planner, input))
            }
            GraphPattern::Reduced { inner } => self.translate(inner, graphs, scope),
            GraphPattern::Slice {
                inner,
                start,
                length,
            } => {
                let input = self.translate(inner, graphs, scope)?;
                if input == Logical::Empty {
                    return Ok(input);
                }
                Ok(Logical::Slice {
                    input: Box::new(input),
                    offset: *start,
                    limit: *length,
                    per: graphs.slot(),
                })
            }
            other => self.sorted_or_grouped(other, graphs, scope),
        }
    }

    /// OPTIONAL and FILTER.
    fn conditional(
        &mut self,
        pattern: &GraphPattern,
        graphs: &Graphs,
        scope: &mut Scope,
    ) -> Result<Logical, PlanError> {
        match pattern {
            GraphPattern::LeftJoin {
                left,
                right,
                expression,
            } => {
                let left = self.translate(left, graphs, scope)?;
                let right = self.translate(right, graphs, scope)?;
                let visible = left.schema().union(right.schema());
                let conditions = match expression {
                    Some(expression) => self.conjuncts(expression, graphs, scope, visible)?,
                    None => Vec::new(),
                };
                Ok(rules::fold_optional::left_join(
                    self.planner,
                    self.outer,
                    left,
                    right,
                    conditions,
                ))
            }
            GraphPattern::Filter { expr, inner } => {
                let mut input = self.translate(inner, graphs, scope)?;
                for condition in self.conjuncts(expr, graphs, scope, input.schema())? {
                    let outer = self.outer;
                    input = rules::push_down_filter::filter(self.planner, outer, input, condition);
                }
                Ok(self.join_by_equalities(input))
            }
            _ => Err(PlanError::Unsupported("this kind of pattern".to_owned())),
        }
    }

    /// A plan with its conditions, of which those that say what is equal join what nothing else does.
    fn join_by_equalities(&mut self, plan: Logical) -> Logical {
        let plan = rules::term_equality::apply(self.planner, self.outer, plan);
        let plan = rules::value_equality::apply(self.planner, self.outer, plan);
        let Logical::Group(group) = &plan else {
            return plan;
        };
        match rules::split_disjunction::branches(self.planner, &self.outer, group) {
            Some(branches) => {
                let branches = branches.into_iter().map(Logical::Group);
                Logical::Union(branches.map(|b| self.join_by_equalities(b)).collect())
            }
            None => plan,
        }
    }

    /// ORDER BY and GROUP BY.
    fn sorted_or_grouped(
        &mut self,
        pattern: &GraphPattern,
        graphs: &Graphs,
        scope: &mut Scope,
    ) -> Result<Logical, PlanError> {
        match pattern {
            GraphPattern::OrderBy { inner, expression } => {
                let input = self.translate(inner, graphs, scope)?;
                let mut keys = Vec::new();
                for key in expression {
                    let (expression, descending) = match key {
                        OrderExpression::Asc(expression) => (expression, false),
                        OrderExpression::Desc(expression) => (expression, true),
                    };
                    let expr = self.expression(expression, graphs, scope, input.schema())?;
                    let expr = computed_below(&input, &expr).map_or(expr, Expr::Slot);
                    keys.push(SortKey { expr, descending });
                }
                Ok(Logical::OrderBy {
                    input: Box::new(input),
                    keys,
                })
            }
            GraphPattern::Group {
                inner,
                variables,
                aggregates,
            } => {
                let mut input = self.translate(inner, graphs, scope)?;
                if aggregates
                    .iter()
                    .any(|(_, aggregate)| counts_distinct_rows(aggregate))
                {
                    input = self.visible(inner, input, graphs, scope)?;
                }
                let mut keys: Vec<Slot> = graphs.slot().into_iter().collect();
                for variable in variables {
                    let slot = self.variable(variable.as_str(), scope)?;
                    if !keys.contains(&slot) {
                        keys.push(slot);
                    }
                }
                let out = self.aggregates(aggregates, graphs, scope, input.schema())?;
                if variables.is_empty()
                    && let Graphs::Variable { slot, among } = graphs
                {
                    return self.aggregate_per_graph(input, (*slot, among.clone()), out);
                }
                Ok(Logical::Aggregate {
                    input: Box::new(input),
                    keys,
                    aggregates: out,
                })
            }
            _ => Err(PlanError::Unsupported("this kind of pattern".to_owned())),
        }
    }

    /// The variables of a pattern alone: two solutions do not differ by a blank node of the query.
    fn visible(
        &mut self,
        pattern: &GraphPattern,
        input: Logical,
        graphs: &Graphs,
        scope: &mut Scope,
    ) -> Result<Logical, PlanError> {
        let mut names = Vec::new();
        pattern.on_in_scope_variable(|v| names.push(v.as_str()));
        let mut slots: Vec<Slot> = graphs.slot().into_iter().collect();
        for name in names {
            let slot = self.variable(name, scope)?;
            if !slots.contains(&slot) {
                slots.push(slot);
            }
        }
        if input == Logical::Empty {
            return Ok(input);
        }
        let input = Box::new(input);
        Ok(Logical::Project { input, slots })
    }

    /// A chain of UNIONs as one operator; a long chain does not recurse.
    fn union(
        &mut self,
        pattern: &GraphPattern,
        graphs: &Graphs,
        scope: &mut Scope,
    ) -> Result<Logical, PlanError> {
        let mut branches = Vec::new();
        let mut rest = pattern;
        while let GraphPattern::Union { left, right } = rest {
            branches.push(&**right);
            rest = left;
        }
        branches.push(rest);
        let mut inputs = Vec::new();
        for branch in branches.into_iter().rev() {
            match self.translate(branch, graphs, scope)? {
                Logical::Empty => {}
                Logical::Union(nested) => inputs.extend(nested),
                input => inputs.push(input),
            }
        }
        match inputs.len() {
            0 => Ok(Logical::Empty),
            1 => Ok(inputs.swap_remove(0)),
            _ => Ok(Logical::Union(inputs)),
        }
    }

    fn conjuncts(
        &mut self,
        expression: &spargebra::algebra::Expression,
        graphs: &Graphs,
        scope: &mut Scope,
        visible: SlotSet,
    ) -> Result<Vec<Expr>, PlanError> {
        let mut conjuncts = Vec::new();
        into_conjuncts(
            self.expression(expression, graphs, scope, visible)?,
            &mut conjuncts,
        );
        Ok(conjuncts)
    }
}

/// Whether the aggregate is `COUNT(DISTINCT *)`.
fn counts_distinct_rows(aggregate: &AggregateExpression) -> bool {
    matches!(
        aggregate,
        AggregateExpression::CountSolutions { distinct: true }
    )
}

/// The slot in which an expression is computed already, as a SELECT expression by which rows are sorted.
fn computed_below(plan: &Logical, wanted: &Expr) -> Option<Slot> {
    match plan {
        Logical::Extend { slot, expr, .. } if expr == wanted && is_pure(expr) => Some(*slot),
        Logical::Extend { input, .. } => computed_below(input, wanted),
        _ => None,
    }
}

fn slice(input: Logical, offset: usize, limit: Option<usize>) -> Logical {
    Logical::Slice {
        input: Box::new(input),
        offset,
        limit,
        per: None,
    }
}
