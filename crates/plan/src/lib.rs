//! SPARQL algebra to physical plans: rules, estimates, costs. Sees data only through
//! [`statistics::Statistics`] and does no I/O.
//!
//! The way of a query: spargebra algebra → a logical plan (variables become slots, constants become
//! ids, joins are flattened into groups, rules rewrite) → stars and other units, ordered by dynamic
//! programming → [`physical::Plan`] (columns pruned, nodes numbered) → the executor or [`explain()`].

mod agreement;
mod alike;
mod alternative;
mod cost_constants;
mod estimate;
mod explain;
mod expression;
mod graph_nodes;
mod inputs;
mod join_order;
mod join_ranges;
mod known_plans;
mod known_stars;
mod logical;
mod looked_at;
mod lower;
mod moved_terms;
mod once;
pub mod physical;
mod plan_template;
mod planner;
mod rename_slots;
mod repeatable;
mod row_chain;
mod rules;
mod service_text;
mod shape;
mod slot_set;
pub mod statistics;
mod translate;
mod validate;
mod value_kinds;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use alternative::{Alternative, Way};
pub use estimate::reads_texts;
pub use explain::{ExplainedNode, NodeProfile, explain};
pub use expression::{for_each_operand, is_constant, is_volatile, is_volatile_plan, outer_slots};
pub use graph_nodes::is_graph_node;
pub use join_order::OrderDraw;
pub use join_ranges::{Bound, JoinBound, JoinRange, JoinRanges, join_ranges, probe_and_build};
pub use known_plans::{InstancePlan, TemplateInstance, is_made_by_planner, plan_instance};
pub use known_stars::KnownStars;
pub use looked_at::{FIRST_PARTNERS, WAVE_GROWTH};
pub use moved_terms::Moved;
pub use planner::{ForceJoin, PlanError, PlanOptions, plan};
pub use row_chain::{ManyOuterRows, many_outer_rows};
pub use rules::RULES;
pub use shape::PlanShape;
pub use validate::validate;
