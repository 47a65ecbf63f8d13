//! Arithmetic, comparisons and rounding of [`Numbers`].
//!
//! Each gives what [`Number`] gives row by row, or `None` where some row needs more than a machine word: then the
//! rows are computed one by one.

use super::arithmetic::Operator;
use super::comparison::CompareOp;
use super::numbers::{Lane, Numbers, Operand, Values, either, zip};
use super::vector::{Truth, Vector};
use crate::value::{Number, POWERS, Rank, Rounding, SCALE_MAX, Value, round_floating};
use spargebra::algebra::Function;

/// The operator on two operands of which one is a column.
pub fn binary(operator: Operator, a: &Operand<'_>, b: &Operand<'_>) -> Option<Numbers> {
    if let (Operand::Constant(_), Operand::Constant(_)) = (a, b) {
        return None;
    }
    let rank = a.rank().max(b.rank());
    let values = match rank {
        Rank::Integer | Rank::Decimal => {
            let ((a, scale_a), (b, scale_b)) = (a.exact()?, b.exact()?);
            let (mantissas, scale) = match operator {
                Operator::Add => added(&a, scale_a, &b, scale_b, i64::overflowing_add)?,
                Operator::Subtract => added(&a, scale_a, &b, scale_b, i64::overflowing_sub)?,
                Operator::Multiply => multiplied(&a, scale_a, &b, scale_b)?,
                // A quotient has any number of digits.
                Operator::Divide => return None,
            };
            Values::Exact {
                mantissas,
                scale,
                is_decimal: rank == Rank::Decimal,
            }
        }
        Rank::Float => {
            let (a, b) = (a.floating(true)?, b.floating(true)?);
            let of = |a: f64, b: f64, of: fn(f32, f32) -> f32| of(a as f32, b as f32).into();
            Values::Floating {
                values: match operator {
                    Operator::Add => zip(&a, &b, |a, b| of(a, b, |a, b| a + b)),
                    Operator::Subtract => zip(&a, &b, |a, b| of(a, b, |a, b| a - b)),
                    Operator::Multiply => zip(&a, &b, |a, b| of(a, b, |a, b| a * b)),
                    Operator::Divide => zip(&a, &b, |a, b| of(a, b, |a, b| a / b)),
                },
                is_float: true,
            }
        }
        Rank::Double => {
            let (a, b) = (a.floating(false)?, b.floating(false)?);
            Values::Floating {
                values: match operator {
                    Operator::Add => zip(&a, &b, |a, b| a + b),
                    Operator::Subtract => zip(&a, &b, |a, b| a - b),
                    Operator::Multiply => zip(&a, &b, |a, b| a * b),
                    Operator::Divide => zip(&a, &b, |a, b| a / b),
                },
                is_float: false,
            }
        }
    };
    Some(Numbers::new(values, either(a.errors(), b.errors())))
}

/// Sums or differences of mantissas, brought to the larger scale.
fn added(
    a: &Lane<'_, i64>,
    scale_a: u8,
    b: &Lane<'_, i64>,
    scale_b: u8,
    of: fn(i64, i64) -> (i64, bool),
) -> Option<(Vec<i64>, u8)> {
    let scale = scale_a.max(scale_b);
    let (power_a, power_b) = (
        POWERS[usize::from(scale - scale_a)],
        POWERS[usize::from(scale - scale_b)],
    );
    let mut overflowed = false;
    let mantissas = zip(a, b, |a, b| {
        let (a, over_a) = a.overflowing_mul(power_a);
        let (b, over_b) = b.overflowing_mul(power_b);
        let (result, over) = of(a, b);
        overflowed |= over_a | over_b | over;
        result
    });
    (!overflowed).then_some((mantissas, scale))
}

/// Products of mantissas.
fn multiplied(
    a: &Lane<'_, i64>,
    scale_a: u8,
    b: &Lane<'_, i64>,
    scale_b: u8,
) -> Option<(Vec<i64>, u8)> {
    let scale = scale_a + scale_b;
    if scale > SCALE_MAX {
        return None;
    }
    let mut overflowed = false;
    let mantissas = zip(a, b, |a, b| {
        let (result, over) = a.overflowing_mul(b);
        overflowed |= over;
        result
    });
    (!overflowed).then_some((mantissas, scale))
}

/// How a number becomes another of its type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// `-a`
    Negate,
    /// `ABS`
    Absolute,
    /// `FLOOR`, `CEIL` and `ROUND`
    Round(Rounding),
}

impl Change {
    /// What a function does with a number, if it is such a one.
    pub fn of(function: &Function) -> Option<Self> {
        Some(match function {
            Function::Abs => Self::Absolute,
            Function::Floor => Self::Round(Rounding::Floor),
            Function::Ceil => Self::Round(Rounding::Ceiling),
            Function::Round => Self::Round(Rounding::HalfUp),
            _ => return None,
        })
    }

    /// The number, changed so.
    pub fn apply(self, number: &Number) -> Option<Number> {
        match self {
            Self::Negate => number.negate(),
            Self::Absolute => number.abs(),
            Self::Round(rounding) => number.rounded(rounding),
        }
    }

    /// The same of a double or, as the double that it is, a float.
    fn apply_floating(self, value: f64) -> f64 {
        match self {
            Self::Negate => -value,
            Self::Absolute => value.abs(),
            Self::Round(rounding) => round_floating(value, rounding),
        }
    }

    /// The same of `mantissa`, of whose digits those below `power` are after the point; rounded to the digits before it.
    fn apply_exact(self, mantissa: i64, power: i64) -> Option<i64> {
        let (whole, rest) = (mantissa.div_euclid(power), mantissa.rem_euclid(power));
        match self {
            Self::Negate => mantissa.checked_neg(),
            Self::Absolute => mantissa.checked_abs(),
            Self::Round(Rounding::Truncate) => Some(mantissa / power),
            Self::Round(Rounding::Floor) => Some(whole),
            Self::Round(Rounding::Ceiling) => Some(whole + i64::from(rest > 0)),
            Self::Round(Rounding::HalfUp) => Some(whole + i64::from(rest > (power - 1) / 2)),
        }
    }
}

/// The numbers, changed so.
pub fn changed(operand: &Operand<'_>, change: Change) -> Option<Numbers> {
    let Operand::Column(numbers) = operand else {
        return None;
    };
    let values = match numbers.values() {
        Values::Exact {
            mantissas,
            scale,
            is_decimal,
        } => {
            let power = POWERS[usize::from(*scale)];
            let mut changed = Vec::with_capacity(mantissas.len());
            for &mantissa in mantissas {
                changed.push(change.apply_exact(mantissa, power)?);
            }
            let is_whole = matches!(change, Change::Round(_));
            Values::Exact {
                mantissas: changed,
                scale: if is_whole { 0 } else { *scale },
                is_decimal: *is_decimal,
            }
        }
        Values::Floating { values, is_float } => Values::Floating {
            values: values
                .iter()
                .map(|&value| change.apply_floating(value))
                .collect(),
            is_float: *is_float,
        },
    };
    Some(Numbers::new(values, numbers.errors().to_vec()))
}

/// Two vectors compared as columns of numbers, if one of them is such already, or a number.
pub fn compare_vectors(op: CompareOp, a: &Vector<'_>, b: &Vector<'_>) -> Option<Vec<Truth>> {
    let are_numbers = |vector: &Vector<'_>| match vector {
        Vector::Numbers(_) => true,
        Vector::Constant(constant) => matches!(constant.value, Value::Number(_)),
        _ => false,
    };
    if !are_numbers(a) && !are_numbers(b) {
        return None;
    }
    // A term that is no number is an error to arithmetic, but it may well be unequal.
    let has_others = |vector: &Vector<'_>, operand: &Operand<'_>| {
        !are_numbers(vector) && !operand.errors().is_empty()
    };
    let (left, right) = (Operand::of(a)?, Operand::of(b)?);
    if op == CompareOp::Equal && (has_others(a, &left) || has_others(b, &right)) {
        return None;
    }
    compare(op, &left, &right)
}

/// The operator between two operands of which one is a column.
pub fn compare(op: CompareOp, a: &Operand<'_>, b: &Operand<'_>) -> Option<Vec<Truth>> {
    if let (Operand::Constant(_), Operand::Constant(_)) = (a, b) {
        return None;
    }
    let mut truths = match a.rank().max(b.rank()) {
        Rank::Integer | Rank::Decimal => {
            let ((a, scale_a), (b, scale_b)) = (a.exact()?, b.exact()?);
            let scale = scale_a.max(scale_b);
            let (a, b) = (scaled(a, scale - scale_a)?, scaled(b, scale - scale_b)?);
            compared(op, &a, &b)
        }
        rank => {
            let is_float = rank == Rank::Float;
            compared(op, &a.floating(is_float)?, &b.floating(is_float)?)
        }
    };
    for errors in [a.errors(), b.errors()] {
        let rows = truths.iter_mut().zip(errors);
        rows.filter(|(_, is_error)| **is_error)
            .for_each(|(truth, _)| *truth = Truth::Error);
    }
    Some(truths)
}

/// Mantissas with more digits after the point; `None` if some do not fit.
fn scaled(lane: Lane<'_, i64>, digits: u8) -> Option<Lane<'_, i64>> {
    let power = POWERS[usize::from(digits)];
    if power == 1 {
        return Some(lane);
    }
    Some(match lane {
        Lane::Same(value) => Lane::Same(value.checked_mul(power)?),
        Lane::Each(values) => {
            let mut scaled = Vec::with_capacity(values.len());
            for value in values.iter() {
                scaled.push(value.checked_mul(power)?);
            }
            Lane::Each(scaled.into())
        }
    })
}

fn compared<T: Copy + PartialOrd>(op: CompareOp, a: &Lane<'_, T>, b: &Lane<'_, T>) -> Vec<Truth> {
    let truth = |holds: bool| Some(holds).into();
    match op {
        CompareOp::Equal => zip(a, b, |a, b| truth(a == b)),
        CompareOp::Less => zip(a, b, |a, b| truth(a < b)),
        CompareOp::LessOrEqual => zip(a, b, |a, b| truth(a <= b)),
        CompareOp::Greater => zip(a, b, |a, b| truth(a > b)),
        CompareOp::GreaterOrEqual => zip(a, b, |a, b| truth(a >= b)),
    }
}
