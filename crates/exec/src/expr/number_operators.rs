//! Arithmetic, comparisons and rounding of [`Numbers`].
//!
//! Each gives what [`Number`] gives row by row, or `None` where some row needs more than a machine word: then the
//! rows are computed one by one.

use super::arithmetic::Operator;
use super::comparison::CompareOp;
use super::exact_operators::{alike, exact_binary};
use super::numbers::{Numbers, Values};
use super::operand::{Lane, Operand, either, zip};
use super::vector::{Truth, Vector};
use crate::error::ExecError;
use crate::value::{Number, POWERS, Rank, Reader, Rounding, SCALE_MAX, Value, round_floating};
use basalt_rdf::TermId;
use basalt_rdf::term_id::tag;
use spargebra::algebra::Function;

/// The operator on two operands of which one is a column.
pub fn binary(operator: Operator, a: &Operand<'_>, b: &Operand<'_>) -> Option<Numbers> {
    if let (Operand::Constant(_), Operand::Constant(_)) = (a, b) {
        return None;
    }
    let rank = a.rank().max(b.rank());
    let values = match rank {
        Rank::Integer | Rank::Decimal => {
            let (values, by_zero) = exact_binary(operator, a, b)?;
            let errors = either(&either(a.errors(), b.errors()), &by_zero);
            return Some(Numbers::new(values, errors));
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

    /// Digits after the point of what had so many.
    fn scale(self, before: u8) -> u8 {
        match self {
            Self::Round(_) => 0,
            Self::Negate | Self::Absolute => before,
        }
    }

    /// The same of mantissas, of whose digits those below `power` are after the point; rounded to the digits before it.
    fn apply_exact(self, mantissas: &[i64], power: i64) -> Option<Vec<i64>> {
        match self {
            Self::Negate => each(mantissas, i64::checked_neg),
            Self::Absolute => each(mantissas, i64::checked_abs),
            Self::Round(rounding) => each(mantissas, |mantissa| {
                let (whole, rest) = (mantissa.div_euclid(power), mantissa.rem_euclid(power));
                let up = goes_up(rounding, mantissa < 0, rest, power);
                Some(whole + i64::from(up))
            }),
        }
    }

    /// The same of all values; `None` if one becomes too long.
    pub fn of_values(self, values: &Values) -> Option<Values> {
        Some(match values {
            Values::Exact {
                mantissas,
                scale,
                is_decimal,
            } => {
                let power = POWERS[usize::from(*scale)];
                let changed = self.apply_exact(mantissas, power)?;
                Values::Exact {
                    mantissas: changed,
                    scale: self.scale(*scale),
                    is_decimal: *is_decimal,
                }
            }
            Values::Mixed {
                mantissas,
                scale,
                are_decimals,
            } => {
                let power = POWERS[usize::from(*scale)];
                Values::Mixed {
                    mantissas: self.apply_exact(mantissas, power)?,
                    scale: self.scale(*scale),
                    are_decimals: are_decimals.clone(),
                }
            }
            Values::Units(units) => self.apply_units(units)?,
            Values::Various(_) => return None,
            Values::Floating { values, is_float } => Values::Floating {
                values: values
                    .iter()
                    .map(|&value| self.apply_floating(value))
                    .collect(),
                is_float: *is_float,
            },
        })
    }

    /// The same of decimals in units; `None` if one becomes too long.
    fn apply_units(self, all: &[i128]) -> Option<Values> {
        let power = POWERS[usize::from(SCALE_MAX)];
        match self {
            Self::Negate => each(all, |units| units.checked_neg()).map(Values::Units),
            Self::Absolute => each(all, |units| units.checked_abs()).map(Values::Units),
            Self::Round(rounding) => {
                let whole = |units: i128| {
                    let (whole, rest) = (
                        units.div_euclid(power.into()),
                        units.rem_euclid(power.into()),
                    );
                    let up = goes_up(rounding, units < 0, rest as i64, power);
                    i64::try_from(whole + i128::from(up)).ok()
                };
                Some(Values::Exact {
                    mantissas: each(all, whole)?,
                    scale: 0,
                    is_decimal: true,
                })
            }
        }
    }
}

/// Whether a number between two whole ones is rounded to the larger: `rest / power` is what it is above the smaller.
#[inline]
fn goes_up(rounding: Rounding, is_negative: bool, rest: i64, power: i64) -> bool {
    match rounding {
        Rounding::Truncate => is_negative && rest > 0,
        Rounding::Floor => false,
        Rounding::Ceiling => rest > 0,
        Rounding::HalfUp => rest > (power - 1) / 2,
    }
}

/// What `of` gives for each value, if it gives something for all.
fn each<T: Copy, R>(values: &[T], of: impl Fn(T) -> Option<R>) -> Option<Vec<R>> {
    let mut results = Vec::with_capacity(values.len());
    for &value in values {
        results.push(of(value)?);
    }
    Some(results)
}

/// The numbers, changed so.
pub fn changed(operand: &Operand<'_>, change: Change) -> Option<Numbers> {
    let Operand::Column(numbers) = operand else {
        return None;
    };
    let values = change.of_values(numbers.values())?;
    Some(Numbers::new(values, numbers.errors().to_vec()))
}

/// Two vectors compared as columns of numbers, if one of them is such already, or a number.
pub fn compare_vectors(op: CompareOp, a: &Vector<'_>, b: &Vector<'_>) -> Option<Vec<Truth>> {
    if !are_numbers(a) && !are_numbers(b) {
        return None;
    }
    compare_known(op, (a, &Operand::of(a)?), (b, &Operand::of(b)?))
}

/// Whether all of a vector are numbers or errors.
fn are_numbers(vector: &Vector<'_>) -> bool {
    match vector {
        Vector::Numbers(_) => true,
        Vector::Constant(constant) => matches!(constant.value, Value::Number(_)),
        _ => false,
    }
}

/// Vectors compared by their numbers; `None` where those do not tell.
fn compare_known(
    op: CompareOp,
    a: (&Vector<'_>, &Operand<'_>),
    b: (&Vector<'_>, &Operand<'_>),
) -> Option<Vec<Truth>> {
    // A term that is no number is an error to arithmetic, but it may well be unequal.
    let has_others = |(vector, operand): (&Vector<'_>, &Operand<'_>)| {
        !are_numbers(vector) && !operand.errors().is_empty()
    };
    if op == CompareOp::Equal && (has_others(a) || has_others(b)) {
        return None;
    }
    compare(op, a.1, b.1)
}

/// The same of vectors of which one has numbers that its ids do not tell, which are read; those of keys that a join repeats once for all rows.
pub fn compare_read(
    op: CompareOp,
    a: &Vector<'_>,
    b: &Vector<'_>,
    reader: &mut Reader<'_>,
) -> Result<Option<Vec<Truth>>, ExecError> {
    let may_be_read = |vector: &Vector<'_>| match vector {
        Vector::Ids(ids) => ids
            .first()
            .is_some_and(|&id| matches!(TermId(id).tag(), tag::LOCAL | tag::TYPED)),
        _ => false,
    };
    if !may_be_read(a) && !may_be_read(b) {
        return Ok(None);
    }
    let (Some(left), Some(right)) = (Operand::read(a, reader)?, Operand::read(b, reader)?) else {
        return Ok(None);
    };
    Ok(compare_known(op, (a, &left), (b, &right)))
}

/// The operator between two operands of which one is a column.
pub fn compare(op: CompareOp, a: &Operand<'_>, b: &Operand<'_>) -> Option<Vec<Truth>> {
    if let (Operand::Constant(_), Operand::Constant(_)) = (a, b) {
        return None;
    }
    let mut truths = match a.rank().max(b.rank()) {
        Rank::Integer | Rank::Decimal => match a.exact().zip(b.exact()).and_then(alike) {
            Some((a, b)) => compared(op, &a, &b),
            None => compared(op, &a.units()?, &b.units()?),
        },
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
