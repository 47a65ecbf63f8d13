//! `compare_nearest`: comparisons of numbers that have no common column, by the doubles nearest to them.
//!
//! Integers and decimals mixed, and decimals of more digits than a word has (means), are not scaled to each other: of two numbers whose
//! nearest doubles differ, the order is that of the doubles, since rounding keeps the order. Only where those are equal, and for whatever
//! is no such number, the operator looks at the values. Floats are left out: a decimal becomes a float beside one.

use super::comparison::CompareOp;
use super::operand::{Lane, Operand};
use super::vector::{Truth, Vector, each_row};
use crate::error::ExecError;
use crate::value::{Number, Rank, Reader, ShortNumber};

/// The doubles of one side.
enum Side<'v> {
    /// Of numbers.
    Numbers(Lane<'v, f64>),
    /// Of ids, of which those that were read last are known.
    Ids {
        ids: &'v [u64],
        last: (u64, Option<f64>),
    },
}

impl Side<'_> {
    /// The double of a row; `None` if the row has to be looked at.
    #[inline]
    fn double(&mut self, row: usize, reader: &mut Reader<'_>) -> Result<Option<f64>, ExecError> {
        Ok(match self {
            Self::Numbers(Lane::Same(double)) => Some(*double),
            Self::Numbers(Lane::Each(doubles)) => Some(doubles[row]),
            Self::Ids { ids, last } => {
                let id = ids[row];
                if last.0 != id {
                    *last = (id, double_of(id, reader)?);
                }
                last.1
            }
        })
    }
}

/// The double nearest to the number of an id; `None` if it is a float, or no number.
fn double_of(id: u64, reader: &mut Reader<'_>) -> Result<Option<f64>, ExecError> {
    Ok(match ShortNumber::of_id(id) {
        Some(ShortNumber::Floating { is_float: true, .. }) => None,
        Some(number) if number.nearest_double().is_some() => number.nearest_double(),
        _ => match reader.number(id)? {
            None | Some(Number::Float(_)) => None,
            Some(number) => Some(number.to_double().into()),
        },
    })
}

/// Two vectors compared row by row, if one is a column of numbers and the other has ids.
pub fn compare_nearest(
    op: CompareOp,
    a: &Vector<'_>,
    b: &Vector<'_>,
    count: usize,
    reader: &mut Reader<'_>,
) -> Result<Option<Vec<Truth>>, ExecError> {
    let (numbers, ids) = match (a, b) {
        (Vector::Numbers(_), Vector::Ids(ids)) => (a, ids),
        (Vector::Ids(ids), Vector::Numbers(_)) => (b, ids),
        _ => return Ok(None),
    };
    let Some(operand) = Operand::of(numbers).filter(|operand| operand.rank() != Rank::Float) else {
        return Ok(None);
    };
    let Some(doubles) = operand.floating(false) else {
        return Ok(None);
    };
    let mut numbers = Side::Numbers(doubles);
    let mut others = Side::Ids {
        ids,
        last: (0, None),
    };
    let is_first = matches!(a, Vector::Numbers(_));
    let other = &mut Reader::new(reader.context());
    let truths = each_row(count, |row| {
        let is_error = operand.errors().get(row).is_some_and(|&is_error| is_error);
        if !is_error
            && let (Some(x), Some(y)) = (numbers.double(row, reader)?, others.double(row, reader)?)
            && let Some(order) = x.partial_cmp(&y).filter(|order| order.is_ne())
        {
            let order = if is_first { order } else { order.reverse() };
            return Ok(Some(op.accepts(order)).into());
        }
        op.apply_read(a.get(row), b.get(row), reader, other)
    })?;
    Ok(Some(truths))
}
