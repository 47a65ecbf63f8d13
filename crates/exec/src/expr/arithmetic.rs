//! `+ - * /` on vectors of numbers, with type promotion; an exact division by zero is an error. Rows of dates and durations: [`date_arithmetic`].
//!
//! Columns of numbers are computed as such ([`number_operators`]), anything else row by row: two decoded numbers and one operation, no
//! strings for inline operands.

use super::number_operators::Change;
use super::numbers::may_be_known;
use super::operand::Operand;
use super::vector::{Argument, Item, Vector, each_row};
use super::{date_arithmetic, number_operators};
use crate::error::ExecError;
use crate::value::{Number, Reader, Value, day_time};
use basalt_rdf::TermId;
use std::borrow::Cow;

/// A binary operator on numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
}

impl Operator {
    fn apply(self, a: Number, b: Number) -> Option<Number> {
        match self {
            Self::Add => a.checked_add(&b),
            Self::Subtract => a.checked_subtract(&b),
            Self::Multiply => a.checked_multiply(&b),
            Self::Divide => a.checked_divide(&b),
        }
    }
}

fn item(number: Option<Number>) -> Item {
    number.map_or(Item::Error, |number| Item::Value(Value::Number(number)))
}

/// The operator in each of `count` rows, as a column of numbers if these are such.
pub fn binary<'v>(
    operator: Operator,
    a: &Vector<'_>,
    b: &Vector<'_>,
    count: usize,
    reader: &mut Reader<'_>,
) -> Result<Vector<'v>, ExecError> {
    if let Some(left) = Operand::read(a, reader)?
        && let Some(right) = Operand::read(b, reader)?
    {
        if let Some(numbers) = number_operators::binary(operator, &left, &right) {
            return Ok(Vector::Numbers(Cow::Owned(numbers)));
        }
        // What was read once need not be read again.
        let (left, right) = (left.into_vector(), right.into_vector());
        let (a, b) = (left.as_ref().unwrap_or(a), right.as_ref().unwrap_or(b));
        return Ok(Vector::Items(binary_rows(operator, a, b, count, reader)?));
    }
    if let Some(ids) = of_inline_dates(operator, a, b, count, reader)? {
        return Ok(Vector::Ids(Cow::Owned(ids)));
    }
    Ok(Vector::Items(binary_rows(operator, a, b, count, reader)?))
}

/// The operator in each of `count` rows.
pub fn binary_rows(
    operator: Operator,
    a: &Vector<'_>,
    b: &Vector<'_>,
    count: usize,
    reader: &mut Reader<'_>,
) -> Result<Vec<Item>, ExecError> {
    each_row(count, |row| {
        let (a, b) = (a.get(row), b.get(row));
        if let Some(item) = of_inline_date(operator, a, b) {
            return Ok(item);
        }
        match (a.number(reader)?, b.number(reader)?) {
            (Some(a), Some(b)) => Ok(item(operator.apply(a, b))),
            (None, None) if may_be_date(a) && may_be_date(b) => dates(operator, a, b, reader),
            _ => Ok(Item::Error),
        }
    })
}

/// The operator on columns of dates and durations that are inline, or dateTimes with a fraction of a second; `None` if these do not tell the result of some row.
fn of_inline_dates(
    operator: Operator,
    a: &Vector<'_>,
    b: &Vector<'_>,
    count: usize,
    reader: &mut Reader<'_>,
) -> Result<Option<Vec<u64>>, ExecError> {
    let are_inline = day_time::are_inline(reader.context());
    let has_ids = |vector: &Vector<'_>| matches!(vector, Vector::Ids(_) | Vector::Constant(_));
    if !are_inline || !has_ids(a) || !has_ids(b) {
        return Ok(None);
    }
    let mut ids = Vec::with_capacity(count);
    for row in 0..count {
        ids.push(match (a.get(row), b.get(row)) {
            (Argument::Error, _) | (_, Argument::Error) => 0,
            (a, b) => {
                let (a, b) = (TermId(a.known_id()), TermId(b.known_id()));
                let told = match date_arithmetic::of_inline(operator, a, b) {
                    None if operator == Operator::Subtract => {
                        date_arithmetic::between_read(a, b, reader)?
                    }
                    told => told,
                };
                match told {
                    Some(id) => id.0,
                    None => return Ok(None),
                }
            }
        });
    }
    Ok(Some(ids))
}

/// The difference of two inline dates, or one later or earlier by a known duration; `None` leaves it to their values.
#[inline]
fn of_inline_date(operator: Operator, a: Argument<'_>, b: Argument<'_>) -> Option<Item> {
    let date = TermId(a.known_id());
    if !date.is_temporal() {
        return None;
    }
    let by = match b {
        Argument::Constant(constant) => Some(&constant.value),
        Argument::Value(value) => Some(value),
        _ => None,
    };
    if let Some(by) = by
        && let Some(shifted) = date_arithmetic::shifted_inline(operator, date, by)
    {
        return Some(Item::Id(shifted.0));
    }
    let other = TermId(b.known_id());
    let is_difference = operator == Operator::Subtract && other.0 != 0;
    let between = is_difference.then(|| date_arithmetic::between_inline(date, other));
    between.flatten().map(Item::Value)
}

/// Whether it may be a date, a time or a duration.
fn may_be_date(argument: Argument<'_>) -> bool {
    match argument {
        Argument::Id(id) => may_be_known(TermId(id)),
        Argument::Constant(_) | Argument::Value(_) => true,
        Argument::Error | Argument::Text(_) | Argument::Boolean(_) | Argument::Number(_) => false,
    }
}

fn dates(
    operator: Operator,
    a: Argument<'_>,
    b: Argument<'_>,
    reader: &mut Reader<'_>,
) -> Result<Item, ExecError> {
    let (Some(a), Some(b)) = (a.value(reader)?, b.value(reader)?) else {
        return Ok(Item::Error);
    };
    let result = date_arithmetic::apply(operator, &a, &b);
    Ok(result.map_or(Item::Error, Item::Value))
}

/// `+a`, or `-a` with `negate`, in each of `count` rows.
pub fn sign<'v>(
    negate: bool,
    a: &Vector<'_>,
    count: usize,
    reader: &mut Reader<'_>,
) -> Result<Vector<'v>, ExecError> {
    let column = match Operand::read(a, reader)? {
        Some(Operand::Column(numbers)) if !negate => Some(numbers.into_owned()),
        Some(operand) => number_operators::changed(&operand, Change::Negate),
        None => None,
    };
    if let Some(numbers) = column {
        return Ok(Vector::Numbers(Cow::Owned(numbers)));
    }
    let items = each_row(count, |row| {
        let argument = a.get(row);
        let Some(number) = argument.number(reader)? else {
            let value = match may_be_date(argument) {
                true => argument.value(reader)?,
                false => None,
            };
            let signed = value.and_then(|value| date_arithmetic::signed(&value, negate));
            return Ok(signed.map_or(Item::Error, Item::Value));
        };
        Ok(item(if negate {
            number.negate()
        } else {
            Some(number)
        }))
    })?;
    Ok(Vector::Items(items))
}
