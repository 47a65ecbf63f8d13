//! The ranges of hash joins.

use super::column_of;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::CompiledExpr;
use crate::operators::pairing::SetFunction;
use crate::operators::range_order::{MovedWords, RangeBound, RangeExpr, RangeExprs, SetsWanted};
use basalt_plan::physical::{Expr, Op, PartnerFunction, RangeEnd, Slot};
use basalt_plan::{JoinBound, JoinRange, Moved, for_each_operand, join_ranges, probe_and_build};

/// The ranges of a hash join, and the rest of its condition.
pub fn ranges(join: &Op, cx: &Context) -> Result<Option<(RangeExprs, Option<Expr>)>, ExecError> {
    let (Some(found), Some((probe, build))) = (join_ranges(join), probe_and_build(join)) else {
        return Ok(None);
    };
    let range = |range: &JoinRange| {
        let of = |expr: &Expr| {
            let mut slots = Vec::new();
            add_slots(expr, &mut slots);
            let columns = slots.iter().map(|&slot| column_of(&build.schema, slot));
            let columns = columns.collect::<Result<_, _>>()?;
            let of = CompiledExpr::compile_operand(expr, &slots, cx)?;
            Ok::<(Vec<usize>, CompiledExpr), ExecError>((columns, of))
        };
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
        Ok::<RangeExpr, ExecError>(RangeExpr {
            of: range.of.iter().map(of).collect::<Result<_, _>>()?,
            bounds: bounds.collect::<Result<_, ExecError>>()?,
        })
    };
    let ranges = found.ranges.iter().map(range);
    let exprs: Vec<RangeExpr> = ranges.collect::<Result<_, _>>()?;
    let functions = set_functions(join)?;
    let is_told = exprs.len() == 1 && found.rest.is_none() && !exprs[0].is_equality();
    let sets = (is_told && !functions.is_empty()).then(|| SetsWanted::of(&functions));
    Ok(Some((RangeExprs { exprs, sets }, found.rest)))
}

/// At which end of the only range of a hash join partners are enough, if at one.
pub fn nearest_end(join: &Op) -> Option<RangeEnd> {
    let (Op::HashJoin { nearest, .. }, Some(found)) = (join, join_ranges(join)) else {
        return None;
    };
    let nearest = nearest.as_ref()?;
    matches!(&found.ranges[..], [only] if only.is_of_slot(nearest.slot)).then_some(nearest.end)
}

/// What the rows of a hash join tell of sets of pairs.
pub fn set_functions(join: &Op) -> Result<Vec<SetFunction>, ExecError> {
    let (Op::HashJoin { partners, .. }, Some((_, build))) = (join, probe_and_build(join)) else {
        return Ok(Vec::new());
    };
    let ranges = join_ranges(join).map_or_else(Vec::new, |found| found.ranges);
    let is_range = |slot: Slot| ranges.iter().any(|range| range.is_of_slot(slot));
    let (mut sums, mut others) = (0.., 0..);
    let function = |own: PartnerFunction| {
        let column = |slot| column_of(&build.schema, slot);
        Ok(match own {
            PartnerFunction::Count => SetFunction::Count,
            PartnerFunction::Rows => SetFunction::Rows,
            PartnerFunction::Least(slot) if is_range(slot) => SetFunction::Least(column(slot)?),
            PartnerFunction::Greatest(slot) if is_range(slot) => {
                SetFunction::Greatest(column(slot)?)
            }
            PartnerFunction::Least(slot) => {
                SetFunction::LeastOther(column(slot)?, others.next().unwrap_or_default())
            }
            PartnerFunction::Greatest(slot) => {
                SetFunction::GreatestOther(column(slot)?, others.next().unwrap_or_default())
            }
            PartnerFunction::Sum(slot) => {
                SetFunction::Sum(column(slot)?, sums.next().unwrap_or_default())
            }
        })
    };
    partners
        .iter()
        .map(|own| own.function)
        .map(function)
        .collect()
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
