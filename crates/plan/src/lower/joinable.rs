//! What may be joined to rows as a whole instead of being evaluated for each.

use crate::expression::{any, has_exists, is_volatile, slots_of, slots_of_all};
use crate::graph_nodes::is_graph_node;
use crate::logical::{JoinGroup, Logical, Triple};
use crate::physical::{Endpoint, Expr, JoinKind, Node, Op, PathPattern, Position, Slot};
use crate::slot_set::SlotSet;

/// Whether a group is patterns and conditions alone, without EXISTS.
pub(super) fn is_plain(group: &JoinGroup) -> bool {
    group.children.is_empty() && group.paths.is_empty() && !group.filters.iter().any(has_exists)
}

/// Whether a group is plain but for closures, and for parts that are [whole](is_whole), and so can be joined to rows as a whole: as the partner of
/// OPTIONAL and MINUS, which join what it has alone. EXISTS puts the row's terms in its place, where a path without links leads from each term to itself, node or not: the same
/// where an end of it is [given](is_given), or is a node in all rows.
pub(super) fn is_joinable(group: &JoinGroup, kind: JoinKind, rows: &Node) -> bool {
    let is_node = |path: &PathPattern, end: &Endpoint| match end {
        Endpoint::Slot(slot) => {
            rows.certain.contains(slot) && is_graph_node(rows, *slot, &path.graphs)
        }
        Endpoint::Constant(_) => false,
    };
    let may_be_zero = |path: &PathPattern| {
        kind == JoinKind::LeftOuter
            || !path.matches_zero()
            || is_given(path, group)
            || is_node(path, &path.subject)
            || is_node(path, &path.object)
    };
    let mut paths = group.paths.iter();
    let are_right = paths.all(|path| path.is_closure() && may_be_zero(path));
    // OPTIONAL has a way of its own for other partners.
    let are_whole = match kind {
        JoinKind::LeftOuter => group.children.is_empty(),
        _ => group.children.iter().all(is_whole),
    };
    are_right && are_whole && !group.filters.iter().any(has_exists)
}

/// Whether joining the rows of a plan is the same as evaluating it for a row that has some of its slots: patterns, VALUES, conditions and computed
/// values are asked of each row by itself, and groups that differ in what they are grouped by lose none of their rows. No condition may use
/// a slot that the plan has not, nor may a path lead from a term to itself.
pub(super) fn is_whole(plan: &Logical) -> bool {
    let is_own = |exprs: &[Expr], schema: SlotSet| {
        slots_of_all(exprs).is_subset(&schema)
            && !exprs
                .iter()
                .any(|expr| has_exists(expr) || is_volatile(expr))
    };
    match plan {
        Logical::Group(group) => {
            group.paths.is_empty()
                && is_own(&group.filters, group.schema())
                && group.children.iter().all(is_whole)
        }
        Logical::Filter { input, conditions } => {
            is_own(conditions, input.schema()) && is_whole(input)
        }
        Logical::Extend { input, expr, .. } => {
            is_own(std::slice::from_ref(expr), input.schema()) && is_whole(input)
        }
        Logical::Aggregate {
            input, aggregates, ..
        } => {
            let arguments = aggregates.iter().filter_map(|a| a.argument.clone());
            let arguments: Vec<Expr> = arguments.collect();
            is_own(&arguments, input.schema()) && is_whole(input)
        }
        Logical::Project { input, .. } | Logical::Distinct { input } => is_whole(input),
        Logical::Union(inputs) => inputs.iter().all(is_whole),
        Logical::Values { .. } => true,
        _ => false,
    }
}

/// Whether an end of a path is a constant, or a node for certain since a pattern of the group has it in the same graphs.
fn is_given(path: &PathPattern, group: &JoinGroup) -> bool {
    let is_node = |slot: Slot| {
        let has = |triple: &Triple| {
            let ends = [triple.subject, triple.object];
            !triple.optional && triple.graphs == path.graphs && ends.contains(&Position::Slot(slot))
        };
        group.triples.iter().any(has)
    };
    [&path.subject, &path.object]
        .into_iter()
        .any(|end| match end {
            Endpoint::Constant(_) => true,
            Endpoint::Slot(slot) => is_node(*slot),
        })
}

/// The slots that a group shares with rows, all of them certain on both sides; `None` if that is not so.
pub(super) fn shared_certain(rows: &Node, group: &JoinGroup) -> Option<SlotSet> {
    let shared = group.schema().intersect(SlotSet::of(&rows.schema));
    let certain =
        shared.is_subset(&SlotSet::of(&rows.certain)) && shared.is_subset(&group.certain());
    certain.then_some(shared)
}

/// The same of a plain group.
pub(super) fn shared_by_plain(rows: &Node, group: &JoinGroup) -> Option<SlotSet> {
    shared_certain(rows, group).filter(|_| is_plain(group))
}

/// Whether a condition of a group inside an EXISTS uses nothing of the row around but what the group has too.
pub(super) fn is_own(filter: &Expr, group: &JoinGroup, row: &Node) -> bool {
    let of_row = slots_of(filter).intersect(SlotSet::of(&row.schema));
    of_row.is_subset(&group.schema())
}

/// Whether evaluating the plan twice gives the same rows.
pub(super) fn is_repeatable(plan: &Node) -> bool {
    if matches!(plan.op, Op::Spool { .. }) {
        return true;
    }
    let limited = matches!(
        plan.op,
        Op::Slice { .. }
            | Op::SlicePer { .. }
            | Op::OrderBy { limit: Some(_), .. }
            | Op::Service { .. }
    );
    let exists = |e: &Expr| any(e, &|e| matches!(e, Expr::Exists(_)));
    // A row of an enclosing EXISTS is cheap, but its seed gains nothing.
    !limited
        && !matches!(plan.op, Op::Outer)
        && !plan
            .op
            .expressions()
            .into_iter()
            .any(|e| is_volatile(e) || exists(e))
        && plan.op.children().into_iter().all(is_repeatable)
}
