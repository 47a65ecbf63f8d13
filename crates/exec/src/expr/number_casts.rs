//! Casts of computed numbers, as columns: `xsd:integer(?x * 2)`.

use super::number_operators::Change;
use super::numbers::{Numbers, Values};
use super::numeric_cast::NumericCast;
use super::operand::{Lane, Operand};
use crate::value::{I64_LIMIT, Rounding};

/// The casts of a column; `None` where some row needs more than machine words, or a text.
pub fn cast(operand: &Operand<'_>, to: NumericCast) -> Option<Numbers> {
    let Operand::Column(numbers) = operand else {
        return None;
    };
    let values = match to {
        NumericCast::Integer => whole(numbers.values())?,
        NumericCast::Decimal => decimals(numbers.values())?,
        NumericCast::Float | NumericCast::Double => {
            let is_float = to == NumericCast::Float;
            let Lane::Each(values) = operand.floating(is_float)? else {
                return None;
            };
            let nearest_float = |value: f64| f64::from(value as f32);
            Values::Floating {
                values: match is_float {
                    true => values.iter().copied().map(nearest_float).collect(),
                    false => values.into_owned(),
                },
                is_float,
            }
        }
    };
    Some(Numbers::new(values, numbers.errors().to_vec()))
}

/// Integers: what is after the point is cut off.
fn whole(values: &Values) -> Option<Values> {
    let mantissas = match values {
        Values::Floating { values, .. } => {
            let mut whole = Vec::with_capacity(values.len());
            for &value in values {
                whole.push((value.abs() < I64_LIMIT).then_some(value as i64)?);
            }
            whole
        }
        exact => Change::Round(Rounding::Truncate)
            .of_values(exact)?
            .into_mantissas()?,
    };
    Some(Values::Exact {
        mantissas,
        scale: 0,
        is_decimal: false,
    })
}

fn decimals(values: &Values) -> Option<Values> {
    match values {
        Values::Exact {
            mantissas, scale, ..
        }
        | Values::Mixed {
            mantissas, scale, ..
        } => Some(Values::Exact {
            mantissas: mantissas.clone(),
            scale: *scale,
            is_decimal: true,
        }),
        Values::Units(units) => Some(Values::Units(units.clone())),
        // The decimal of a double is that of its shortest text.
        Values::Floating { .. } | Values::Various(_) => None,
    }
}
