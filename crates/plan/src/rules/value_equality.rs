//! `FILTER(YEAR(?a) = ?b)` becomes a join where nothing else joins the two sides.
//!
//! ```text
//! A . B . FILTER(f(?a) = g(?b))   ->   (A extended by f(?a) as k) joined with (B extended by g(?b) as k), on k
//! ```
//!
//! `=` compares values. Where those of both sides can only be equal if they are the same term ([`ValueKinds`]), these are the keys. Else
//! keys are [`Expr::EqualityKey`] of both, the same for equal values, and the condition is asked again; that takes an equality that
//! is transitive, as it is not between floats and exact numbers. What makes a key an error makes the condition none that is true, so rows
//! without a key go; before an OPTIONAL they stay, without a partner. Parts that are connected stay as they are: a join by what they share is better than one by what is computed. So do
//! parts of a few rows: to compare each row of the other side with those makes no keys.

use crate::estimate::pattern;
use crate::expression::{has_exists, is_pure, is_volatile, slots_of};
use crate::logical::{JoinGroup, Logical, Triple};
use crate::physical::{Constant, Expr, Position, Slot};
use crate::planner::Planner;
use crate::slot_set::SlotSet;
use crate::value_kinds::ValueKinds;
use basalt_rdf::inline::encode_boolean;
use oxrdf::Literal;

const NAME: &str = "value_equality";

/// Rows of VALUES, or up to a LIMIT, that are few, and so are the subjects that an object has on the average.
const FEW_ROWS: usize = 8;

/// The plan with every such equality of its group made a join.
pub(crate) fn apply(planner: &mut Planner<'_>, outer: SlotSet, plan: Logical) -> Logical {
    if !planner.rule(NAME) {
        return plan;
    }
    let Logical::Group(mut group) = plan else {
        return plan;
    };
    while let Some(equality) = find(planner, &group, &outer) {
        let Some(key) = equality.key(planner, &group) else {
            break;
        };
        group = equality.joined(group, key, &outer);
    }
    Logical::Group(group)
}

/// The two sides of an OPTIONAL that nothing else joins, with keys of what one of its conditions says is equal. The conditions are
/// asked again.
pub(crate) fn optional(
    planner: &mut Planner<'_>,
    outer: SlotSet,
    left: Logical,
    right: Logical,
    conditions: &[Expr],
) -> (Logical, Logical) {
    let are_joined = !left.schema().is_disjoint(&right.mentioned());
    let are_few = || {
        [&left, &right]
            .into_iter()
            .any(|plan| are_few(planner, plan))
    };
    if are_joined || !planner.rule(NAME) || are_few() {
        return (left, right);
    }
    let is_side = |plan: &Logical, expr: &Expr| {
        let slots = slots_of(expr);
        !slots.is_empty() && slots.is_subset(&plan.schema()) && slots.is_disjoint(&outer)
    };
    let of = |plan: &Logical, expr: &Expr| {
        ValueKinds::of_expr(expr, &|slot| ValueKinds::of_slot(planner, plan, slot))
    };
    let mut equality = conditions.iter().filter(|condition| is_pure(condition));
    let equality = equality.find_map(|condition| {
        let Expr::Equal(a, b) = condition else {
            return None;
        };
        let (a, b) = match is_side(&left, a) {
            true => (a, b),
            false => (b, a),
        };
        let is_usable = is_side(&left, a) && is_side(&right, b);
        (is_usable && ValueKinds::equality_is_transitive(of(&left, a), of(&right, b)))
            .then_some((a, b))
    });
    let Some((a, b)) = equality else {
        return (left, right);
    };
    let Ok(key) = planner.fresh_slot("key") else {
        return (left, right);
    };
    // A left row without a key has no partner, and stays.
    let left = Logical::Extend {
        input: Box::new(left),
        slot: key,
        expr: Expr::Coalesce(vec![key_of(a), no_key()]),
    };
    (left, keyed(right.into_group(), key, key_of(b)))
}

/// The key of an expression's value.
fn key_of(expr: &Expr) -> Expr {
    Expr::EqualityKey(Box::new(expr.clone()))
}

/// What no key is.
fn no_key() -> Expr {
    Expr::Constant(Constant {
        term: Literal::from(false).into(),
        id: Some(encode_boolean(false)),
    })
}

/// Whether a plan has a few rows, as far as that is plain.
fn are_few(planner: &Planner<'_>, plan: &Logical) -> bool {
    match plan {
        Logical::Group(group) => is_few(planner, group, &group.schema()),
        other => has_few_rows(other),
    }
}

/// One side of an equality.
struct Side {
    /// What makes the key.
    key: Expr,
    /// The slots of what has to be joined for it.
    slots: SlotSet,
}

/// An equality between two parts of a group.
struct Equality {
    filter_idx: usize,
    sides: [Side; 2],
    /// Whether equal keys are all that it asks.
    is_exact: bool,
}

/// The first usable equality.
fn find(planner: &Planner<'_>, group: &JoinGroup, outer: &SlotSet) -> Option<Equality> {
    let equalities = group.filters.iter().enumerate();
    equalities
        .filter(|(_, filter)| is_pure(filter))
        .find_map(|(filter_idx, filter)| {
            let Expr::Equal(a, b) = filter else {
                return None;
            };
            let [of_a, of_b] = apart(planner, group, outer, a, b)?;
            // Most sides are connected, so that only now it is asked what their values are.
            let is_exact = is_by_term(planner, group, a, b)?;
            let side = |expr: &Expr, slots: SlotSet| Side {
                key: match is_exact {
                    true => expr.clone(),
                    false => key_of(expr),
                },
                slots,
            };
            Some(Equality {
                filter_idx,
                sides: [side(a, of_a), side(b, of_b)],
                is_exact,
            })
        })
}

/// The slots of the parts of a group that two expressions are about, if nothing joins those, and neither has a few rows.
fn apart(
    planner: &Planner<'_>,
    group: &JoinGroup,
    outer: &SlotSet,
    a: &Expr,
    b: &Expr,
) -> Option<[SlotSet; 2]> {
    let of_a = connected(group, slots_of(a), outer)?;
    let of_b = connected(group, slots_of(b), outer)?;
    let are_few = || [&of_a, &of_b].iter().any(|of| is_few(planner, group, of));
    (of_a.is_disjoint(&of_b) && !are_few()).then_some([of_a, of_b])
}

/// Whether a condition is an equality of which there are keys, between two parts of a group that nothing joins.
pub(super) fn is_between_parts(
    planner: &Planner<'_>,
    group: &JoinGroup,
    outer: &SlotSet,
    condition: &Expr,
) -> bool {
    let (a, b) = match condition {
        Expr::Equal(a, b) | Expr::SameTerm(a, b) => (a, b),
        _ => return false,
    };
    let is_same = matches!(condition, Expr::SameTerm(..));
    apart(planner, group, outer, a, b).is_some()
        && (is_same || is_by_term(planner, group, a, b).is_some())
}

/// Whether two expressions are equal only if they are the same term; `None` if there are no keys of them.
fn is_by_term(planner: &Planner<'_>, group: &JoinGroup, a: &Expr, b: &Expr) -> Option<bool> {
    let of_slot = |slot| ValueKinds::in_group(planner, group, slot);
    let (a, b) = (
        ValueKinds::of_expr(a, &of_slot),
        ValueKinds::of_expr(b, &of_slot),
    );
    let is_by_term = ValueKinds::equal_themselves_alone(a, b);
    (is_by_term || ValueKinds::equality_is_transitive(a, b)).then_some(is_by_term)
}

/// The slots of all parts of a group that have some of these, or share some with such a part; `None` if there is none of
/// these, some is not certain and in several parts, of which another may bind it, or rows around the group may.
fn connected(group: &JoinGroup, slots: SlotSet, outer: &SlotSet) -> Option<SlotSet> {
    let parts = parts(group);
    let in_one = |slot: &Slot| parts.iter().filter(|part| part.contains(*slot)).count() == 1;
    let uncertain = slots.minus(group.certain()).to_vec();
    if slots.is_empty() || !uncertain.iter().all(in_one) {
        return None;
    }
    let mut all = slots;
    loop {
        let joined = parts.iter().filter(|part| !part.is_disjoint(&all));
        let more = joined.fold(all, |all, part| all.union(*part));
        if more == all {
            return all.is_disjoint(outer).then_some(all);
        }
        all = more;
    }
}

/// Whether the parts of a group with these slots have a few rows, as far as that is plain: one speaks of a constant subject, or of a
/// constant object such as few have, or is a few rows by itself.
fn is_few(planner: &Planner<'_>, group: &JoinGroup, slots: &SlotSet) -> bool {
    let is_part = |of: SlotSet| !of.is_disjoint(slots);
    let mut triples = group.triples.iter();
    let mut children = group.children.iter();
    triples.any(|triple| is_part(triple.slots()) && has_few_solutions(planner, triple))
        || children.any(|child| is_part(child.mentioned()) && has_few_rows(child))
}

fn has_few_solutions(planner: &Planner<'_>, triple: &Triple) -> bool {
    match (triple.subject, triple.predicate, triple.object) {
        (Position::Id(_), ..) => true,
        (_, Position::Id(predicate), Position::Id(_)) => {
            let quads = planner.statistics.predicate_quads(predicate) as f64;
            quads <= FEW_ROWS as f64 * pattern::objects(planner, predicate)
        }
        _ => false,
    }
}

fn has_few_rows(plan: &Logical) -> bool {
    match plan {
        Logical::Values { rows, .. } => rows.len() <= FEW_ROWS,
        Logical::Slice { limit, .. } => limit.is_some_and(|limit| limit <= FEW_ROWS),
        Logical::Aggregate { keys, .. } => keys.is_empty(),
        Logical::Extend { input, .. }
        | Logical::Filter { input, .. }
        | Logical::Project { input, .. }
        | Logical::Distinct { input } => has_few_rows(input),
        Logical::Group(group) => *group == JoinGroup::default(),
        _ => false,
    }
}

/// The slots of each part of a group, those that an enclosing row could give included.
fn parts(group: &JoinGroup) -> Vec<SlotSet> {
    let triples = group.triples.iter().map(|triple| triple.slots());
    let paths = group.paths.iter().map(|path| SlotSet::of(&path.slots()));
    let children = group.children.iter().map(Logical::mentioned);
    triples.chain(paths).chain(children).collect()
}

impl Equality {
    /// The slot of the key: one that a side has in every row, or a new one.
    fn key(&self, planner: &mut Planner<'_>, group: &JoinGroup) -> Option<Slot> {
        let certain = group.certain();
        let known = self.sides.iter().find_map(|side| match side.key {
            Expr::Slot(slot) if certain.contains(slot) => Some(slot),
            _ => None,
        });
        known.or_else(|| planner.fresh_slot("key").ok())
    }

    /// The group with both sides joined by the key.
    fn joined(self, mut group: JoinGroup, key: Slot, outer: &SlotSet) -> JoinGroup {
        if self.is_exact {
            group.filters.remove(self.filter_idx);
        }
        for side in self.sides {
            // A slot of the side itself is its key.
            if side.key != Expr::Slot(key) {
                let part = take_part(&mut group, &side.slots, outer);
                group.children.push(keyed(part, key, side.key));
            }
        }
        group
    }
}

/// What has these slots, taken out of a group with the conditions that are about it alone.
fn take_part(group: &mut JoinGroup, slots: &SlotSet, outer: &SlotSet) -> JoinGroup {
    let is_part = |of: SlotSet| !of.is_disjoint(slots);
    JoinGroup {
        triples: group
            .triples
            .extract_if(.., |triple| is_part(triple.slots()))
            .collect(),
        paths: group
            .paths
            .extract_if(.., |path| is_part(SlotSet::of(&path.slots())))
            .collect(),
        children: group
            .children
            .extract_if(.., |child| is_part(child.mentioned()))
            .collect(),
        filters: group
            .filters
            .extract_if(.., |filter| {
                let of = slots_of(filter);
                !of.is_empty()
                    && of.is_subset(slots)
                    && of.is_disjoint(outer)
                    && !has_exists(filter)
                    && !is_volatile(filter)
            })
            .collect(),
    }
}

/// A part with its key, and only the rows that have one.
fn keyed(part: JoinGroup, key: Slot, expr: Expr) -> Logical {
    Logical::Filter {
        input: Box::new(Logical::Extend {
            input: Box::new(Logical::Group(part)),
            slot: key,
            expr,
        }),
        conditions: vec![Expr::Bound(key)],
    }
}
