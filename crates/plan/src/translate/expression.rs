//! Expressions and aggregates to the plan's own, EXISTS to placeholders.
//!
//! `>` and `>=` become `<` and `<=` with sides exchanged; chains of `&&` and `||` become lists.

use super::{Scope, Translation};
use crate::expression::{is_pure, slots_of};
use crate::logical::Logical;
use crate::physical::{Aggregate, AggregateFunction, Expr, Graphs, Slot};
use crate::planner::PlanError;
use crate::rules::{constant_equality, split_exists};
use crate::slot_set::SlotSet;
use crate::statistics::constant;
use spargebra::algebra::{
    AggregateExpression, AggregateFunction as AlgebraFunction, Expression, GraphPattern,
};
use spargebra::term::Variable;

impl Translation<'_, '_> {
    pub(super) fn expression(
        &mut self,
        expression: &Expression,
        graphs: &Graphs,
        scope: &mut Scope,
        visible: SlotSet,
    ) -> Result<Expr, PlanError> {
        self.depth += 1;
        if self.depth > super::DEPTH_MAX {
            return Err(PlanError::TooLarge("nested expressions"));
        }
        let expr = self.translate_expression(expression, graphs, scope, visible);
        self.depth -= 1;
        expr
    }

    fn translate_expression(
        &mut self,
        expression: &Expression,
        graphs: &Graphs,
        scope: &mut Scope,
        visible: SlotSet,
    ) -> Result<Expr, PlanError> {
        let mut pair = |a: &Expression, b: &Expression| -> Result<_, PlanError> {
            let a = Box::new(self.expression(a, graphs, scope, visible)?);
            Ok((a, Box::new(self.expression(b, graphs, scope, visible)?)))
        };
        Ok(match expression {
            Expression::Equal(a, b) => pair(a, b).map(|(a, b)| Expr::Equal(a, b))?,
            Expression::SameTerm(a, b) => pair(a, b).map(|(a, b)| Expr::SameTerm(a, b))?,
            Expression::Greater(a, b) => pair(b, a).map(|(a, b)| Expr::Less(a, b))?,
            Expression::GreaterOrEqual(a, b) => pair(b, a).map(|(a, b)| Expr::LessOrEqual(a, b))?,
            Expression::Less(a, b) => pair(a, b).map(|(a, b)| Expr::Less(a, b))?,
            Expression::LessOrEqual(a, b) => pair(a, b).map(|(a, b)| Expr::LessOrEqual(a, b))?,
            Expression::Add(a, b) => pair(a, b).map(|(a, b)| Expr::Add(a, b))?,
            Expression::Subtract(a, b) => pair(a, b).map(|(a, b)| Expr::Subtract(a, b))?,
            Expression::Multiply(a, b) => pair(a, b).map(|(a, b)| Expr::Multiply(a, b))?,
            Expression::Divide(a, b) => pair(a, b).map(|(a, b)| Expr::Divide(a, b))?,
            Expression::NamedNode(node) => {
                Expr::Constant(constant(self.planner.statistics, &node.clone().into()))
            }
            Expression::Literal(literal) => {
                Expr::Constant(constant(self.planner.statistics, &literal.clone().into()))
            }
            Expression::Variable(variable) => Expr::Slot(self.variable(variable.as_str(), scope)?),
            Expression::Bound(variable) => Expr::Bound(self.variable(variable.as_str(), scope)?),
            Expression::Or(..) | Expression::And(..) => {
                return self.chain(expression, graphs, scope, visible);
            }
            Expression::In(a, list) => {
                let a = Box::new(self.expression(a, graphs, scope, visible)?);
                among(*a, self.list(list, graphs, scope, visible)?)
            }
            Expression::UnaryPlus(a) => {
                Expr::UnaryPlus(Box::new(self.expression(a, graphs, scope, visible)?))
            }
            Expression::UnaryMinus(a) => {
                Expr::UnaryMinus(Box::new(self.expression(a, graphs, scope, visible)?))
            }
            Expression::Not(a) => {
                split_exists::negation(self.expression(a, graphs, scope, visible)?)
            }
            Expression::Exists(pattern) => self.exists(pattern, graphs, scope, visible)?,
            Expression::If(a, b, c) => {
                let a = Box::new(self.expression(a, graphs, scope, visible)?);
                let b = Box::new(self.expression(b, graphs, scope, visible)?);
                Expr::If(a, b, Box::new(self.expression(c, graphs, scope, visible)?))
            }
            Expression::Coalesce(list) if list.len() == 1 => {
                self.expression(&list[0], graphs, scope, visible)?
            }
            Expression::Coalesce(list) => Expr::Coalesce(self.list(list, graphs, scope, visible)?),
            Expression::FunctionCall(function, list) => {
                Expr::Call(function.clone(), self.list(list, graphs, scope, visible)?)
            }
        })
    }

    /// A chain of `&&` or of `||` (built leftwards by the parser) without recursion along it.
    fn chain(
        &mut self,
        expression: &Expression,
        graphs: &Graphs,
        scope: &mut Scope,
        visible: SlotSet,
    ) -> Result<Expr, PlanError> {
        let is_and = matches!(expression, Expression::And(..));
        let mut stack = vec![expression];
        let mut list = Vec::new();
        while let Some(top) = stack.pop() {
            match top {
                Expression::And(a, b) if is_and => stack.extend([&**b, &**a]),
                Expression::Or(a, b) if !is_and => stack.extend([&**b, &**a]),
                other => list.push(self.expression(other, graphs, scope, visible)?),
            }
        }
        Ok(if is_and {
            Expr::And(list)
        } else {
            Expr::Or(list)
        })
    }

    fn list(
        &mut self,
        list: &[Expression],
        graphs: &Graphs,
        scope: &mut Scope,
        visible: SlotSet,
    ) -> Result<Vec<Expr>, PlanError> {
        list.iter()
            .map(|e| self.expression(e, graphs, scope, visible))
            .collect()
    }

    /// EXISTS, with placeholders (see `crate::expression`) for what may exist.
    fn exists(
        &mut self,
        pattern: &GraphPattern,
        graphs: &Graphs,
        scope: &mut Scope,
        visible: SlotSet,
    ) -> Result<Expr, PlanError> {
        let outer = self.outer;
        let around = outer.union(visible);
        self.outer = around;
        let inside = self.translate(pattern, graphs, scope);
        self.outer = outer;
        let inside = constant_equality::apply(self.planner, inside?, around, around);
        if inside == Logical::Empty {
            return Ok(self.planner.constant_false());
        }
        let parts: Vec<Expr> = split_exists::parts(self.planner, &around, inside)?
            .into_iter()
            .map(|part| self.planner.placeholder(part))
            .collect();
        Ok(any_of(parts))
    }

    /// The aggregates of a group.
    pub(super) fn aggregates(
        &mut self,
        aggregates: &[(Variable, AggregateExpression)],
        graphs: &Graphs,
        scope: &mut Scope,
        visible: SlotSet,
    ) -> Result<Vec<Aggregate>, PlanError> {
        let mut slots = SlotSet::default();
        let mut all = Vec::new();
        for (variable, aggregate) in aggregates {
            // The parser's name for it is random; EXPLAIN should not be.
            let slot = self.planner.fresh_slot("aggregate")?;
            scope.slots.insert(variable.as_str().to_owned(), slot);
            slots.insert(slot);
            all.push(self.aggregate(slot, aggregate, graphs, scope, visible)?);
        }
        let mut arguments = all.iter().filter_map(|one| one.argument.as_ref());
        if arguments.any(|of| !slots_of(of).is_disjoint(&slots)) {
            let what = "an aggregate of an aggregate (but for one of a sub-select)";
            return Err(PlanError::Unsupported(what.to_owned()));
        }
        Ok(all)
    }

    fn aggregate(
        &mut self,
        slot: Slot,
        aggregate: &AggregateExpression,
        graphs: &Graphs,
        scope: &mut Scope,
        visible: SlotSet,
    ) -> Result<Aggregate, PlanError> {
        let (function, argument, distinct) = match aggregate {
            AggregateExpression::CountSolutions { distinct } => {
                (AggregateFunction::Count, None, *distinct)
            }
            AggregateExpression::FunctionCall {
                name,
                expr,
                distinct,
            } => {
                let function = match name {
                    AlgebraFunction::Count => AggregateFunction::Count,
                    AlgebraFunction::Sum => AggregateFunction::Sum,
                    AlgebraFunction::Avg => AggregateFunction::Avg,
                    AlgebraFunction::Min => AggregateFunction::Min,
                    AlgebraFunction::Max => AggregateFunction::Max,
                    AlgebraFunction::Sample => AggregateFunction::Sample,
                    AlgebraFunction::GroupConcat { separator } => AggregateFunction::GroupConcat {
                        separator: separator.clone().unwrap_or_else(|| " ".to_owned()),
                    },
                    AlgebraFunction::Custom(name) => {
                        let what = format!("the aggregate function {name}");
                        return Err(PlanError::Unsupported(what));
                    }
                };
                let argument = self.expression(expr, graphs, scope, visible)?;
                (function, Some(argument), *distinct)
            }
        };
        Ok(Aggregate {
            slot,
            function,
            argument,
            distinct,
        })
    }
}

/// `a IN (...)`. Among variables it is what is said to be the same, `a = ?x || a = ?y`, of which each may join.
fn among(a: Expr, list: Vec<Expr>) -> Expr {
    let is_constant = |item: &Expr| matches!(item, Expr::Constant(_));
    if list.iter().all(is_constant) || !is_pure(&a) {
        return Expr::In(Box::new(a), list);
    }
    let equal = |item: Expr| Expr::Equal(Box::new(a.clone()), Box::new(item));
    any_of(list.into_iter().map(equal).collect())
}

/// `a || b || ...`, or the only condition.
fn any_of(mut parts: Vec<Expr>) -> Expr {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        last => {
            parts.extend(last);
            Expr::Or(parts)
        }
    }
}
