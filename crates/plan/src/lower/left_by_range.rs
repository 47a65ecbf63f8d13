//! How many rows are left by an anti join that asks for one of their own kind further on.
//!
//! ```text
//! ?b :key ?k ; :at ?u  FILTER NOT EXISTS { ?c :key ?k ; :at ?w FILTER(?w > ?u) }      of the rows of a key the last alone
//! ```
//!
//! Of as many rows in a range as there are, each is the last as often as any other, so one of them is left.

use crate::cost_constants::{SELECTIVITY_DEFAULT, SELECTIVITY_EXISTS};
use crate::physical::{Expr, Node, Op, Position, Slot, Star};
use crate::rules::nearest_partners::scanned;
use basalt_rdf::TermId;

/// The share of the left rows that such an anti join leaves, where each has so many partners but for the condition.
pub(super) fn share(left: &Node, star: &Star, conditions: &[Expr], partners: f64) -> f64 {
    let is_of_own_kind = conditions.iter().any(|condition| {
        let (Expr::Less(a, b) | Expr::LessOrEqual(a, b)) = condition else {
            return false;
        };
        let (Expr::Slot(a), Expr::Slot(b)) = (&**a, &**b) else {
            return false;
        };
        let is_kind = |own: Slot, other: Slot| {
            predicate_of(star, own).is_some_and(|predicate| has(left, predicate, other))
        };
        is_kind(*a, *b) || is_kind(*b, *a)
    });
    match is_of_own_kind {
        true => SELECTIVITY_EXISTS.min(1.0 / (1.0 + partners * SELECTIVITY_DEFAULT)),
        false => SELECTIVITY_EXISTS,
    }
}

/// The same of an anti join by hash, whose rows have so many partners in all but for the condition.
pub(super) fn share_of(join: &Node, conditions: &[Expr], partners: f64) -> f64 {
    let Op::HashJoin { left, right, .. } = &join.op else {
        return SELECTIVITY_EXISTS;
    };
    scanned(right).map_or(SELECTIVITY_EXISTS, |star| {
        let partners = partners / left.estimated_rows.max(1.0);
        share(left, star, conditions, partners)
    })
}

/// The predicate whose object a slot is in a star.
fn predicate_of(star: &Star, slot: Slot) -> Option<TermId> {
    let mut patterns = star.patterns.iter();
    let is_object = |object: Position| object == Position::Slot(slot);
    patterns.find_map(|pattern| is_object(pattern.object).then_some(pattern.predicate))
}

/// Whether a slot of a plan is the object of a predicate in one of its stars.
fn has(plan: &Node, predicate: TermId, slot: Slot) -> bool {
    let own = match &plan.op {
        Op::StarScan { star, .. } | Op::StarJoin { star, .. } => predicate_of(star, slot),
        _ => None,
    };
    let mut inputs = plan.op.children().into_iter();
    own == Some(predicate) || inputs.any(|input| has(input, predicate, slot))
}
