//! `+ - * /` on vectors of numbers, with type promotion; an exact division by zero is an error.
//!
//! Cost: two decoded numbers and one operation per row; no strings for inline operands, and of integers ids alone.

use super::vector::{Argument, Item, Vector, each_row};
use crate::error::ExecError;
use crate::value::{Number, Reader, Value, inline_integer};
use basalt_rdf::inline::encode_integer;

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

fn number(argument: Argument<'_>, reader: &mut Reader<'_>) -> Result<Option<Number>, ExecError> {
    // Values of ids are not made for their numbers.
    Ok(match argument {
        Argument::Id(id) => reader.number(id)?,
        Argument::Constant(constant) => constant.value.number(),
        Argument::Value(value) => value.number(),
        Argument::Error | Argument::Text(_) | Argument::Boolean(_) => None,
    })
}

/// The ids of `+`, `-` or `*` in each of `count` rows where both sides are inline integers and so is the result; `None` where some row has
/// others.
pub fn integers(
    operator: Operator,
    a: &Vector<'_>,
    b: &Vector<'_>,
    count: usize,
) -> Option<Vec<u64>> {
    let of = match operator {
        Operator::Add => i64::checked_add,
        Operator::Subtract => i64::checked_sub,
        Operator::Multiply => i64::checked_mul,
        Operator::Divide => return None,
    };
    let mut results = Vec::with_capacity(count);
    for row in 0..count {
        let a = inline_integer(a.get(row).known_id())?;
        let b = inline_integer(b.get(row).known_id())?;
        results.push(encode_integer(of(a, b)?)?.0);
    }
    Some(results)
}

fn item(number: Option<Number>) -> Item {
    number.map_or(Item::Error, |number| Item::Value(Value::Number(number)))
}

/// The operator in each of `count` rows.
pub fn binary(
    operator: Operator,
    a: &Vector<'_>,
    b: &Vector<'_>,
    count: usize,
    reader: &mut Reader<'_>,
) -> Result<Vec<Item>, ExecError> {
    each_row(count, |row| {
        let pair = (number(a.get(row), reader)?, number(b.get(row), reader)?);
        Ok(item(match pair {
            (Some(a), Some(b)) => operator.apply(a, b),
            _ => None,
        }))
    })
}

/// `+a`, or `-a` with `negate`, in each of `count` rows.
pub fn sign(
    negate: bool,
    a: &Vector<'_>,
    count: usize,
    reader: &mut Reader<'_>,
) -> Result<Vec<Item>, ExecError> {
    each_row(count, |row| {
        let number = number(a.get(row), reader)?;
        Ok(item(if negate {
            number.and_then(|number| number.negate())
        } else {
            number
        }))
    })
}
