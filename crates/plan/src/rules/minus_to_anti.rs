//! MINUS: dropped where the sides share no variable, an anti join where a shared slot is certain.
//!
//! With one shared slot bound on both sides in every row, "compatible and sharing a binding" is
//! just "compatible", which the anti join checks by id.

use crate::logical::Logical;
use crate::physical::Slot;
use crate::planner::Planner;
use crate::slot_set::SlotSet;

/// The left rows that MINUS keeps.
pub(crate) fn minus(
    planner: &Planner<'_>,
    left: Logical,
    right: Logical,
    graph: Option<Slot>,
) -> Logical {
    let mut shared = left.schema().intersect(right.schema());
    if let Some(graph) = graph {
        shared.remove(graph);
    }
    let (left, right) = match (left, right) {
        (left, Logical::Empty) => return left,
        (Logical::Empty, _) => return Logical::Empty,
        sides => sides,
    };
    if shared.is_empty() {
        return left;
    }
    let certain: SlotSet = left.certain().intersect(right.certain()).intersect(shared);
    let (left, right) = (Box::new(left), Box::new(right));
    if !certain.is_empty() && planner.rule("minus_to_anti") {
        return Logical::AntiJoin {
            left,
            right,
            conditions: Vec::new(),
        };
    }
    Logical::Minus { left, right, graph }
}
