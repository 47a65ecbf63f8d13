//! The rewriting rules, one per file; each can be switched off by its name and the plan stays right.
//!
//! `hoist_left_join`, `fold_optional`, `push_down_filter`, `unbound_to_anti`, `term_equality`, `value_equality`,
//! `rewrite_path`, `minus_to_anti`, `lateral_to_join`, `split_exists`, `split_disjunction` and `remove_distinct` rewrite the logical plan as the translator builds it, and `constant_equality` and `seed_paths` when it is whole;
//! `distribute_union`, `listed_predicates`, `count_scan`, `count_first`, `aggregate_parts`, `count_unequal`, `group_through`, `roll_up`, `partner_sets`, `exists_to_join`, `seed_join`, `split_unbound`, `prune_tables`, `split_stars`, `top_k` and `known_orders` take effect in lowering, `known_plans` before all others; `nearest_partners`, `defer_conditions`, `share_states`, `hoist_expressions`, `compute_early`, `filter_predicates`, `prune_columns`, `early_distinct`, `keep_builds`, `share_subplans` and `reduce_scans` run over the physical plan, and `cut_early` when its nodes have their numbers.

pub(crate) mod aggregate_parts;
pub(crate) mod compute_early;
pub(crate) mod constant_equality;
pub(crate) mod count_first;
pub(crate) mod count_scan;
pub(crate) mod count_unequal;
pub(crate) mod cut_early;
pub(crate) mod defer_conditions;
pub(crate) mod distribute_union;
pub(crate) mod early_distinct;
pub(crate) mod filter_predicates;
pub(crate) mod fold_optional;
pub(crate) mod group_through;
pub(crate) mod hoist_expressions;
pub(crate) mod hoist_left_join;
pub(crate) mod keep_builds;
pub(crate) mod lateral_to_join;
pub(crate) mod listed_predicates;
pub(crate) mod minus_to_anti;
pub(crate) mod nearest_partners;
pub(crate) mod partner_sets;
pub(crate) mod prune_columns;
pub(crate) mod push_down_filter;
pub(crate) mod reduce_scans;
pub(crate) mod remove_distinct;
pub(crate) mod rewrite_path;
pub(crate) mod roll_up;
mod seed_paths;
pub(crate) mod share_states;
pub(crate) mod share_subplans;
pub(crate) mod split_disjunction;
pub(crate) mod split_exists;
pub(crate) mod term_equality;
pub(crate) mod value_equality;

/// Names of all rules.
pub const RULES: &[&str] = &[
    "hoist_left_join",
    "fold_optional",
    "push_down_filter",
    "unbound_to_anti",
    "term_equality",
    "value_equality",
    "rewrite_path",
    "minus_to_anti",
    "lateral_to_join",
    "split_exists",
    "split_disjunction",
    "remove_distinct",
    "constant_equality",
    "seed_paths",
    "distribute_union",
    "listed_predicates",
    "count_scan",
    "count_first",
    "aggregate_parts",
    "count_unequal",
    "group_through",
    "roll_up",
    "partner_sets",
    "exists_to_join",
    "mark_exists",
    "seed_join",
    "split_unbound",
    "prune_tables",
    "split_stars",
    "top_k",
    "known_orders",
    "known_plans",
    "nearest_partners",
    "defer_conditions",
    "share_states",
    "hoist_expressions",
    "compute_early",
    "filter_predicates",
    "prune_columns",
    "early_distinct",
    "keep_builds",
    "share_subplans",
    "reduce_scans",
    "cut_early",
];
