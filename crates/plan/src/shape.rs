//! The shape of a plan: what plans of one query template have in common, whatever their constants.
//!
//! Operators, slots, predicates, tables and the structure of conditions make the shape, and the magnitude of what the plan is expected to
//! cost; ids and terms of constants do not. It serves to tell by earlier runs how long a plan will take, so two plans that have a shape by
//! chance do no harm, and the offers of all products are not taken for those of a few.
//!
//! Cost: one walk over the plan, in the order of a microsecond for ten operators.

use crate::expression::for_each_operand;
use crate::physical::{Expr, Node, Op, Plan, Position, Star};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::mem::discriminant;

/// What plans of one template have in common, as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlanShape {
    /// Equal for plans of the same shape, within one process.
    pub hash: u64,
    /// Whether remote endpoints are asked.
    pub asks_services: bool,
    /// Whether patterns are read by threads of their own, whose work the thread of the query does not see.
    pub starts_threads: bool,
}

impl PlanShape {
    /// The shape of a plan.
    pub fn of(plan: &Plan) -> Self {
        let mut walk = Walk {
            hasher: DefaultHasher::new(),
            asks_services: false,
            starts_threads: false,
        };
        discriminant(&plan.form).hash(&mut walk.hasher);
        walk.node(&plan.root);
        magnitude(plan.root.estimated_cost).hash(&mut walk.hasher);
        Self {
            hash: walk.hasher.finish(),
            asks_services: walk.asks_services,
            starts_threads: walk.starts_threads,
        }
    }
}

/// A cost in powers of four.
fn magnitude(cost: f64) -> i32 {
    (cost.max(1.0).log2() / 2.0) as i32
}

struct Walk {
    hasher: DefaultHasher,
    asks_services: bool,
    starts_threads: bool,
}

impl Walk {
    fn node(&mut self, node: &Node) {
        discriminant(&node.op).hash(&mut self.hasher);
        node.schema.hash(&mut self.hasher);
        match &node.op {
            Op::StarScan { star, .. } | Op::StarJoin { star, .. } => self.star(star),
            Op::PatternScan { pattern, .. } => {
                let is_id = |position: &Position| matches!(position, Position::Id(_));
                self.starts_threads |= !is_id(&pattern.subject) && !is_id(&pattern.object);
                pattern.predicate.hash(&mut self.hasher);
            }
            Op::PatternJoin { pattern, .. } => pattern.predicate.hash(&mut self.hasher),
            Op::Service { .. } => self.asks_services = true,
            _ => {}
        }
        for expr in node.op.expressions() {
            self.expression(expr);
        }
        let children = node.op.children();
        children.len().hash(&mut self.hasher);
        children.into_iter().for_each(|child| self.node(child));
    }

    fn star(&mut self, star: &Star) {
        matches!(star.subject, Position::Id(_)).hash(&mut self.hasher);
        star.tables.hash(&mut self.hasher);
        for pattern in &star.patterns {
            pattern.predicate.hash(&mut self.hasher);
            matches!(pattern.object, Position::Id(_)).hash(&mut self.hasher);
        }
    }

    fn expression(&mut self, expr: &Expr) {
        discriminant(expr).hash(&mut self.hasher);
        match expr {
            Expr::Exists(node) => self.node(node),
            _ => for_each_operand(expr, &mut |operand| self.expression(operand)),
        }
    }
}
