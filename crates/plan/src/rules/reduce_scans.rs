//! Key filters: scans on the probe side of a hash join test the keys of its build side.
//!
//! ```text
//! HashJoin on ?p build right          makes filter 0 of the keys it has built
//!   StarJoin by subject ?r { .. }
//!     StarScan ?o { .. ?p; .. ?r }    reduced by ?p: drops rows that filter 0 does not have, before it reads the rest of them
//!   StarScan ?p { .. }
//! ```
//!
//! The join reads its build side before the first row of the other one, so what is built can tell the scan below which rows are going to
//! find a partner.
//!
//! Sound where an operator *is parted by* the slot on the way: what it gives with one value of the slot depends on nothing but those of its
//! input's rows that have the same value, which is certain. Then dropping rows of other values drops what the join would
//! drop. So it holds for whatever treats rows one by one, for joins, for groups by the slot, and not where rows are
//! counted off (limits), read by others too (spools), sent away (services), or numbered by something volatile. Plans inside EXISTS and right sides
//! of lateral joins run anew for each row, and are left alone.
//!
//! A star join tests the keys that it binds itself when its rows are made: that saves what is between it and the join.
//!
//! Runs last, over the finished plan: orders of joins are chosen without. Cost: a walk down for each key of a hash join.

use crate::cost_constants::{
    EMIT_ROW, HASH_PROBE, KEY_FILTER_PUT, KEY_FILTER_SHARE_MAX, KEY_FILTER_TEST, START,
};
use crate::estimate::groups;
use crate::expression::is_volatile_operator;
use crate::physical::{JoinKind, KeyFilter, Node, Op, Slot, Star};
use crate::planner::Planner;
use std::sync::Arc;

/// Passes key filters of hash joins down to scans.
pub(crate) fn apply(root: &mut Node, planner: &Planner<'_>) {
    if planner.rule("reduce_scans") {
        visit(root, planner, &mut 0);
    }
}

fn visit(node: &mut Node, planner: &Planner<'_>, made: &mut usize) {
    pass_keys(node, planner, made);
    if let Op::LateralJoin { left, .. } = &mut node.op {
        visit(Arc::make_mut(left), planner, made);
        return;
    }
    for child in node.op.children_mut() {
        visit(child, planner, made);
    }
}

/// Passes the keys of a hash join down its probe side.
fn pass_keys(node: &mut Node, planner: &Planner<'_>, made: &mut usize) {
    let Op::HashJoin {
        left,
        right,
        keys,
        kind,
        build_left,
        ..
    } = &mut node.op
    else {
        return;
    };
    let (probe, build) = match kind {
        JoinKind::Inner if *build_left => (right, left),
        JoinKind::Inner | JoinKind::Semi => (left, right),
        JoinKind::LeftOuter | JoinKind::Anti => return,
    };
    for &slot in &*keys {
        let rows = build.estimated_rows;
        let passed = Passed {
            planner,
            filter: KeyFilter {
                slot,
                number: *made,
            },
            rows,
            values: groups::distinct(planner, build, slot).unwrap_or(rows),
        };
        if passed.down(Arc::make_mut(probe)) < 1.0 {
            node.key_filters.push(passed.filter);
            *made += 1;
        }
    }
}

/// A key filter on its way down.
struct Passed<'p, 's> {
    planner: &'p Planner<'s>,
    filter: KeyFilter,
    /// Rows expected of the build side.
    rows: f64,
    /// Different keys expected among them.
    values: f64,
}

impl Passed<'_, '_> {
    /// Passes the filter to the scans below a node; gives the share of its rows that are expected to be left, which is
    /// less than one if some scan takes it.
    fn down(&self, node: &mut Node) -> f64 {
        let slot = self.filter.slot;
        if !node.certain.contains(&slot) || is_volatile_operator(node) {
            return 1.0;
        }
        let share = match &mut node.op {
            Op::StarScan { star, .. } => {
                let share = self.share_of(star, node.estimated_rows);
                if share < 1.0 {
                    node.key_filters.push(self.filter);
                }
                share
            }
            Op::StarJoin { input, star, .. } if !input.certain.contains(&slot) => {
                let share = self.share_of(star, node.estimated_rows);
                if share < 1.0 {
                    node.key_filters.push(self.filter);
                }
                share
            }
            Op::StarJoin { input, .. }
            | Op::PatternJoin { input, .. }
            | Op::CountJoin { input, .. }
            | Op::PathJoin { input, .. }
            | Op::Filter { input, .. }
            | Op::Extend { input, .. }
            | Op::Project { input }
            | Op::Distinct { input }
            | Op::PartialDistinct { input }
            | Op::OrderBy {
                input, limit: None, ..
            }
            | Op::Minus { left: input, .. } => self.down(Arc::make_mut(input)),
            Op::Group { input, keys, .. } if keys.contains(&slot) => {
                self.down(Arc::make_mut(input))
            }
            // States that other groups share, and all rows from which some are taken away, must be whole.
            Op::GroupThrough(group)
                if group.keys.contains(&slot)
                    && group.without.is_none()
                    && group.shared.is_none() =>
            {
                let of_pairs = self.down(&mut group.pairs);
                let of_rows = match group.via.contains(&slot) {
                    true => self.down(&mut group.rows),
                    false => 1.0,
                };
                of_pairs.min(of_rows)
            }
            Op::HashJoin {
                left,
                right,
                keys,
                kind,
                ..
            } => self.down_join((left, right), keys.contains(&slot), *kind),
            Op::Union { inputs } => self.down_union(inputs, node.estimated_rows),
            _ => 1.0,
        };
        node.estimated_rows *= share;
        share
    }

    /// The same of the sides of a hash join, of which the slot may be a key.
    fn down_join(
        &self,
        (left, right): (&mut Arc<Node>, &mut Arc<Node>),
        is_key: bool,
        kind: JoinKind,
    ) -> f64 {
        let is_left = left.certain.contains(&self.filter.slot);
        let of_left = match is_left {
            true => self.down(Arc::make_mut(left)),
            false => 1.0,
        };
        // Of rows of the right side whose value does not pass none is wanted, whatever becomes of those of the left one.
        let of_right = match is_key || kind == JoinKind::Inner && !is_left {
            true => self.down(Arc::make_mut(right)),
            false => 1.0,
        };
        of_left.min(of_right)
    }

    fn down_union(&self, inputs: &mut [Node], rows: f64) -> f64 {
        let mut left = 0.0;
        let mut is_taken = false;
        for input in inputs {
            is_taken |= self.down(input) < 1.0;
            left += input.estimated_rows;
        }
        match is_taken {
            true => (left / rows.max(f64::MIN_POSITIVE)).min(1.0 - f64::EPSILON),
            false => 1.0,
        }
    }

    /// The share of a star's rows that the filter is expected to leave; one if the star does not take it.
    fn share_of(&self, star: &Star, rows: f64) -> f64 {
        if !makes_always(star, self.filter.slot) {
            return 1.0;
        }
        let values = groups::of_star(self.planner, star, self.filter.slot);
        let share = values.map_or(1.0, |values| self.values / values.max(1.0));
        if self.planner.options.reduce_always {
            return share.min(1.0 - f64::EPSILON);
        }
        let saved = rows * (1.0 - share) * (HASH_PROBE + EMIT_ROW);
        let spent = self.rows * KEY_FILTER_PUT + rows * KEY_FILTER_TEST;
        match share <= KEY_FILTER_SHARE_MAX && saved > spent + START {
            true => share,
            false => 1.0,
        }
    }
}

/// Whether a star binds the slot as its subject, as its graph, or as an object that it must have.
fn makes_always(star: &Star, slot: Slot) -> bool {
    let mut required = star.patterns.iter().filter(|pattern| !pattern.optional);
    [star.subject.slot(), star.graphs.slot()].contains(&Some(slot))
        || required.any(|pattern| pattern.object.slot() == Some(slot))
}
