//! IF and COALESCE of columns that are there already, or cost a few nanoseconds a row: all rows of both are made, and one of the two is taken in
//! each row without a branch. Picking the rows that need a value first would cost more than the values.
//!
//! Numbers stay numbers, also integers beside decimals (`IF(?days > 3, ?price, 0)`); ids stay ids. Anything else has no such column, and the
//! rows are picked.

use super::exact_operators::alike;
use super::number_values::Values;
use super::numbers::Numbers;
use super::operand::{Lane, Operand};
use super::vector::{Truth, Vector};
use crate::value::{Rank, ShortNumber};
use basalt_rdf::TermId;
use std::borrow::Cow;

/// The value of `a` where `truths` hold, of `b` where they do not, and an error where they are; `None` if these have no column of ids or numbers.
pub fn blended<'v>(truths: &[Truth], a: &Vector<'v>, b: &Vector<'v>) -> Option<Vector<'v>> {
    if let (Some(a), Some(b)) = (ids(a), ids(b)) {
        return Some(Vector::Ids(taken(truths, &a, &b, 0).into()));
    }
    let (a, b) = (numbers(a)?, numbers(b)?);
    let errors = match [a.errors(), b.errors()] {
        [[], []] if !truths.contains(&Truth::Error) => Vec::new(),
        errors => {
            let [a, b] = errors.map(|errors| match errors {
                [] => Lane::Same(false),
                errors => Lane::Each(Cow::Borrowed(errors)),
            });
            taken(truths, &a, &b, true)
        }
    };
    Some(Vector::Numbers(Cow::Owned(Numbers::new(
        values(truths, &a, &b)?,
        errors,
    ))))
}

/// Ids that need not be made.
fn ids<'v>(vector: &'v Vector<'_>) -> Option<Lane<'v, u64>> {
    match vector {
        Vector::Ids(ids) => Some(Lane::Each(Cow::Borrowed(ids))),
        Vector::Constant(constant) => Some(Lane::Same(constant.id)),
        Vector::Error => Some(Lane::Same(0)),
        _ => None,
    }
}

/// Numbers, from which the terms that the vector has come back.
fn numbers<'v>(vector: &'v Vector<'_>) -> Option<Operand<'v>> {
    let is_canonical = |id: u64| {
        let own = ShortNumber::of_id(id).and_then(ShortNumber::inline_id);
        own.is_some_and(|own| own.0 == id) || TermId(id).is_plain_double()
    };
    match vector {
        Vector::Numbers(_) => {}
        Vector::Constant(constant) if is_canonical(constant.id) => {}
        Vector::Ids(ids) if ids.iter().all(|&id| id == 0 || is_canonical(id)) => {}
        _ => return None,
    }
    Operand::of(vector)
}

/// The values taken, anything where there is an error.
fn values(truths: &[Truth], a: &Operand<'_>, b: &Operand<'_>) -> Option<Values> {
    let (Some(exact_a), Some(exact_b)) = (a.exact(), b.exact()) else {
        // Units are decimals in every row.
        if a.rank() != b.rank() || a.is_mixed() || b.is_mixed() {
            return None;
        }
        if a.rank() == Rank::Decimal {
            return Some(Values::Units(taken(truths, &a.units()?, &b.units()?, 0)));
        }
        let is_float = a.rank() == Rank::Float;
        let (a, b) = (a.floating(is_float)?, b.floating(is_float)?);
        return Some(Values::Floating {
            values: taken(truths, &a, &b, 0.0),
            is_float,
        });
    };
    let scale = exact_a.1.max(exact_b.1);
    let (mantissas_a, mantissas_b) = alike((exact_a, exact_b))?;
    let mantissas = taken(truths, &mantissas_a, &mantissas_b, 0);
    let is_one_type = a.rank() == b.rank() && !a.is_mixed() && !b.is_mixed();
    Some(match is_one_type {
        true => Values::Exact {
            mantissas,
            scale,
            is_decimal: a.rank() == Rank::Decimal,
        },
        false => Values::Mixed {
            mantissas,
            scale,
            are_decimals: taken(truths, &decimals(a), &decimals(b), false),
        },
    })
}

/// Which rows are decimals and not integers.
fn decimals<'v>(operand: &'v Operand<'_>) -> Lane<'v, bool> {
    match operand {
        Operand::Column(numbers) => match numbers.values() {
            Values::Mixed { are_decimals, .. } => Lane::Each(Cow::Borrowed(are_decimals)),
            others => Lane::Same(others.rank() == Rank::Decimal),
        },
        Operand::Constant(number) => Lane::Same(number.rank() == Rank::Decimal),
    }
}

/// The value of `a`, of `b`, or for an error that other one.
fn taken<T: Copy>(truths: &[Truth], a: &Lane<'_, T>, b: &Lane<'_, T>, error: T) -> Vec<T> {
    let choose = |truth: Truth, a: T, b: T| match truth {
        Truth::True => a,
        Truth::False => b,
        Truth::Error => error,
    };
    let rows = truths.iter();
    match (a, b) {
        (Lane::Each(a), Lane::Each(b)) => {
            let values = a.iter().zip(b.iter());
            rows.zip(values)
                .map(|(&truth, (&a, &b))| choose(truth, a, b))
                .collect()
        }
        (Lane::Each(a), Lane::Same(b)) => rows
            .zip(a.iter())
            .map(|(&truth, &a)| choose(truth, a, *b))
            .collect(),
        (Lane::Same(a), Lane::Each(b)) => rows
            .zip(b.iter())
            .map(|(&truth, &b)| choose(truth, *a, b))
            .collect(),
        (Lane::Same(a), Lane::Same(b)) => rows.map(|&truth| choose(truth, *a, *b)).collect(),
    }
}

/// Where COALESCE has a value; `None` if that is not told at once.
pub fn known(vector: &Vector<'_>, rows: usize) -> Option<Vec<Truth>> {
    let of = |is_known: bool| Truth::from(Some(is_known));
    match vector {
        Vector::Ids(ids) => Some(ids.iter().map(|&id| of(id != 0)).collect()),
        Vector::Numbers(numbers) => Some(match numbers.errors() {
            [] => vec![Truth::True; rows],
            errors => errors.iter().map(|&is_error| of(!is_error)).collect(),
        }),
        _ => None,
    }
}
