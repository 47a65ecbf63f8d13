//! `Operand`: a column of numbers or one that is the same in every row, as lanes of mantissas, units or doubles.

use super::number_values::Values;
use super::numbers::Numbers;
use super::vector::Vector;
use crate::error::ExecError;
use crate::value::{Rank, Reader, ShortNumber, nearest, nearest_f32, units, units_to_f64};
use std::borrow::Cow;

/// An operand: a column, or a number that is the same in every row.
pub enum Operand<'v> {
    /// A column.
    Column(Cow<'v, Numbers>),
    /// The same number.
    Constant(ShortNumber),
}

/// Values of each row, or the same in every row.
#[derive(Clone)]
pub enum Lane<'v, T: Clone> {
    /// Of each row.
    Each(Cow<'v, [T]>),
    /// The same.
    Same(T),
}

impl<T: Copy> Lane<'_, T> {
    /// What `of` gives for each.
    pub fn map<'r, R: Clone>(&self, of: impl Fn(T) -> R) -> Lane<'r, R> {
        match self {
            Self::Each(values) => Lane::Each(values.iter().map(|&value| of(value)).collect()),
            Self::Same(value) => Lane::Same(of(*value)),
        }
    }
}

impl<'v> Operand<'v> {
    /// The numbers of a vector; `None` where they have no column.
    pub fn of(vector: &'v Vector<'_>) -> Option<Self> {
        Some(match vector {
            Vector::Numbers(numbers) => Self::Column(Cow::Borrowed(&**numbers)),
            Vector::Ids(ids) => Self::Column(Cow::Owned(Numbers::of_ids(ids)?)),
            Vector::Items(items) => Self::Column(Cow::Owned(Numbers::of_items(items)?)),
            Vector::Constant(constant) => {
                Self::Constant(ShortNumber::of(&constant.value.number()?)?)
            }
            Vector::Truths(_) | Vector::Texts(_) | Vector::Error => return None,
        })
    }

    /// The same, where the terms of ids that do not tell their numbers are read.
    pub fn read(
        vector: &'v Vector<'_>,
        reader: &mut Reader<'_>,
    ) -> Result<Option<Self>, ExecError> {
        Ok(match vector {
            Vector::Ids(ids) => {
                let numbers = Numbers::read(ids, reader)?;
                numbers.map(|numbers| Self::Column(Cow::Owned(numbers)))
            }
            other => Self::of(other),
        })
    }

    /// The column, where it is one.
    pub fn into_vector(self) -> Option<Vector<'v>> {
        match self {
            Self::Column(numbers) => Some(Vector::Numbers(numbers)),
            Self::Constant(_) => None,
        }
    }

    /// Whether they are of several types.
    pub fn is_mixed(&self) -> bool {
        match self {
            Self::Constant(_) => false,
            Self::Column(numbers) => {
                matches!(numbers.values(), Values::Mixed { .. } | Values::Various(_))
            }
        }
    }

    /// The widest type.
    pub fn rank(&self) -> Rank {
        match self {
            Self::Constant(number) => number.rank(),
            Self::Column(numbers) => numbers.values().rank(),
        }
    }

    /// Whether each row is an error; empty if none is.
    pub fn errors(&self) -> &[bool] {
        match self {
            Self::Column(numbers) => numbers.errors(),
            Self::Constant(_) => &[],
        }
    }

    /// Mantissas and scale of integers or decimals; `None` of those in units too.
    pub fn exact(&self) -> Option<(Lane<'_, i64>, u8)> {
        match self {
            Self::Constant(ShortNumber::Exact {
                mantissa, scale, ..
            }) => Some((Lane::Same(*mantissa), *scale)),
            Self::Column(numbers) => {
                let (mantissas, scale) = numbers.values().exact()?;
                Some((Lane::Each(Cow::Borrowed(mantissas)), scale))
            }
            Self::Constant(ShortNumber::Units(_) | ShortNumber::Floating { .. }) => None,
        }
    }

    /// Integers or decimals in units of 10^-18.
    pub fn units(&self) -> Option<Lane<'_, i128>> {
        match self {
            Self::Constant(ShortNumber::Units(units)) => return Some(Lane::Same(*units)),
            Self::Column(numbers) => {
                if let Values::Units(units) = numbers.values() {
                    return Some(Lane::Each(Cow::Borrowed(units)));
                }
            }
            Self::Constant(_) => {}
        }
        let (mantissas, scale) = self.exact()?;
        Some(mantissas.map(|mantissa| units(mantissa, scale)))
    }

    /// All of them as doubles or, with `to_float`, as the doubles that the nearest floats are; `None` where one is not found quickly.
    pub fn floating(&self, to_float: bool) -> Option<Lane<'_, f64>> {
        if let Some((mantissas, scale)) = self.exact() {
            return Some(match mantissas {
                Lane::Same(mantissa) => Lane::Same(nearest(mantissa, scale, to_float)?),
                Lane::Each(mantissas) => {
                    Lane::Each(nearest_of_all(&mantissas, scale, to_float)?.into())
                }
            });
        }
        // A float stays the double that it is; a double never becomes a float, which comes before it in the promotion order.
        match self {
            Self::Constant(ShortNumber::Floating { value, .. }) => Some(Lane::Same(*value)),
            Self::Column(numbers) => match numbers.values() {
                Values::Floating { values, .. } => Some(Lane::Each(Cow::Borrowed(values))),
                Values::Units(units) => {
                    Some(Lane::Each(units_as_floating(units, to_float)?.into()))
                }
                Values::Exact { .. } | Values::Mixed { .. } | Values::Various(_) => None,
            },
            Self::Constant(ShortNumber::Units(units)) => {
                Some(Lane::Same(unit_as_floating(*units, to_float)?))
            }
            Self::Constant(ShortNumber::Exact { .. }) => None,
        }
    }
}

/// What `of` gives for the values of each row; at least one lane has a value for each.
#[inline]
pub fn zip<T: Copy, R>(a: &Lane<'_, T>, b: &Lane<'_, T>, mut of: impl FnMut(T, T) -> R) -> Vec<R> {
    match (a, b) {
        (Lane::Each(a), Lane::Each(b)) => a.iter().zip(b.iter()).map(|(&a, &b)| of(a, b)).collect(),
        (Lane::Each(a), Lane::Same(b)) => a.iter().map(|&a| of(a, *b)).collect(),
        (Lane::Same(a), Lane::Each(b)) => b.iter().map(|&b| of(*a, b)).collect(),
        (Lane::Same(a), Lane::Same(b)) => vec![of(*a, *b)],
    }
}

/// Rows that are errors on one of two sides; empty if none is.
pub fn either(a: &[bool], b: &[bool]) -> Vec<bool> {
    match (a, b) {
        ([], other) | (other, []) => other.to_vec(),
        (a, b) => a.iter().zip(b).map(|(&a, &b)| a || b).collect(),
    }
}

/// The nearest double or, with `to_float`, the double that the nearest float is, of each `mantissa / 10^scale`; `None` where one is not found quickly.
pub fn nearest_of_all(mantissas: &[i64], scale: u8, to_float: bool) -> Option<Vec<f64>> {
    let mut values = Vec::with_capacity(mantissas.len());
    for &mantissa in mantissas {
        values.push(nearest(mantissa, scale, to_float)?);
    }
    Some(values)
}

/// The nearest double or, with `to_float`, the double that the nearest float is; `None` where that is not found quickly.
fn unit_as_floating(units: i128, to_float: bool) -> Option<f64> {
    let double = units_to_f64(units);
    match to_float {
        true => nearest_f32(double).map(f64::from),
        false => Some(double),
    }
}

/// The same of each.
pub fn units_as_floating(units: &[i128], to_float: bool) -> Option<Vec<f64>> {
    let mut values = Vec::with_capacity(units.len());
    for &units in units {
        values.push(unit_as_floating(units, to_float)?);
    }
    Some(values)
}
