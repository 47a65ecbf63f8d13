//! The ranges of hash joins.

use super::column_of;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::CompiledExpr;
use crate::operators::range_order::{MovedWords, RangeBound, RangeExpr, RangeExprs};
use basalt_plan::physical::{Expr, Op, Slot};
use basalt_plan::{JoinBound, JoinRange, Moved, for_each_operand, join_ranges, probe_and_build};

/// The ranges of a hash join, and the rest of its condition.
pub fn ranges(join: &Op, cx: &Context) -> Result<Option<(RangeExprs, Option<Expr>)>, ExecError> {
    let (Some(found), Some((probe, build))) = (join_ranges(join), probe_and_build(join)) else {
        return Ok(None);
    };
    let range = |range: &JoinRange| {
        let mut slots = Vec::new();
        add_slots(&range.of, &mut slots);
        let columns = slots.iter().map(|&slot| column_of(&build.schema, slot));
        let columns = columns.collect::<Result<_, _>>()?;
        let of = CompiledExpr::compile_operand(&range.of, &slots, cx)?;
        let compiled = |expr: &Expr| CompiledExpr::compile_operand(expr, &probe.schema, cx);
        let bounds = range.bounds.iter().map(|bound: &JoinBound| {
            Ok(RangeBound {
                bound: bound.bound,
                by: compiled(&bound.by)?,
                moved: match &bound.moved {
                    None => None,
                    Some(Moved::Numbers(sizes)) => {
                        Some(MovedWords::Numbers(Box::new(compiled(sizes)?)))
                    }
                    Some(Moved::Times) => Some(MovedWords::Times),
                },
            })
        });
        Ok(RangeExpr {
            of: (columns, of),
            bounds: bounds.collect::<Result<_, ExecError>>()?,
        })
    };
    let ranges = found.ranges.iter().map(range);
    let ranges = ranges.collect::<Result<_, ExecError>>()?;
    Ok(Some((RangeExprs(ranges), found.rest)))
}

/// Adds the slots that an expression reads.
fn add_slots(expr: &Expr, slots: &mut Vec<Slot>) {
    if let Expr::Slot(slot) | Expr::Bound(slot) = expr
        && !slots.contains(slot)
    {
        slots.push(*slot);
    }
    for_each_operand(expr, &mut |operand| add_slots(operand, slots));
}
