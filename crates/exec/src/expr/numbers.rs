//! `Numbers`: the computed numbers of some rows, as a column of machine words.
//!
//! ```text
//! 12.50 7.1 -> mantissas 1250 710, scale 2, decimals       1.5e0 -> doubles 1.5       10 / 3 -> units 3333333333333333333
//! ```
//!
//! Invariants: all rows have one type; a row that is an error has any number. What has no such column (numbers of several types, or of
//! more digits than two words have, and dates) is computed row by row, with the same results. Cost: eight bytes (sixteen in units) and some
//! nanoseconds a row; no id is looked for and no text made in between.

use super::vector::{Item, Vector};
use crate::context::Context;
use crate::selection::taken;
use crate::value::{
    Number, POWERS, Rank, ShortNumber, Value, nearest, nearest_f32, units, units_to_f64,
};
use basalt_rdf::term_id::{MANTISSA_MASK, tag};
use basalt_rdf::{TermBuf, TermId};
use std::borrow::Cow;

/// The numbers; see the head of this module.
#[derive(Clone, Debug)]
pub struct Numbers {
    values: Values,
    /// Whether each row is an error; empty if none is.
    errors: Vec<bool>,
}

/// The values of [`Numbers`], with anything in rows that are errors.
#[derive(Clone, Debug)]
pub enum Values {
    /// `mantissa / 10^scale`, decimals or, with scale 0, integers.
    Exact {
        /// The numbers without their points.
        mantissas: Vec<i64>,
        /// Digits after each point.
        scale: u8,
        /// Whether they are decimals.
        is_decimal: bool,
    },
    /// Decimals in units of 10^-18, of which some are too long for a mantissa.
    Units(Vec<i128>),
    /// Doubles, or floats as the doubles that they are.
    Floating {
        /// The values.
        values: Vec<f64>,
        /// Whether they are floats.
        is_float: bool,
    },
}

impl Values {
    /// Appends others; `None` if they are not like these.
    fn append(&mut self, more: &Self) -> Option<()> {
        match (self, more) {
            (
                Self::Exact {
                    mantissas,
                    scale,
                    is_decimal,
                },
                Self::Exact {
                    mantissas: others,
                    scale: other_scale,
                    is_decimal: are_decimals,
                },
            ) if scale == other_scale && is_decimal == are_decimals => {
                mantissas.extend_from_slice(others);
            }
            (Self::Units(units), Self::Units(others)) => units.extend_from_slice(others),
            (
                Self::Floating { values, is_float },
                Self::Floating {
                    values: others,
                    is_float: are_floats,
                },
            ) if is_float == are_floats => values.extend_from_slice(others),
            _ => return None,
        }
        Some(())
    }
}

impl Numbers {
    /// These values, of which some are errors.
    pub fn new(values: Values, errors: Vec<bool>) -> Self {
        Self { values, errors }
    }

    /// The numbers of ids, other terms and 0 being errors; `None` where they have no column.
    pub fn of_ids(ids: &[u64]) -> Option<Self> {
        if let Some(numbers) = Self::of_one_datatype(ids) {
            return Some(numbers);
        }
        Self::of_rows(ids.len(), |row| known_number(ids[row]))
    }

    /// The numbers of inline ids that all have one datatype, or are unbound.
    pub fn of_one_datatype(ids: &[u64]) -> Option<Self> {
        let first = *ids.iter().find(|&&id| id != 0)?;
        let number = ShortNumber::of_id(first)?;
        let is_alike = |&id: &u64| id == 0 || TermId(id).tag() == TermId(first).tag();
        if !are_alike(ids) && !ids.iter().all(is_alike) {
            return None;
        }
        match number {
            ShortNumber::Exact { is_decimal, .. } => Self::exact(ids, is_decimal),
            // No id holds one.
            ShortNumber::Units(_) => None,
            ShortNumber::Floating { is_float, .. } => {
                if !is_float && are_alike(ids) {
                    return Some(Self::doubles(doubles_of_alike(ids)));
                }
                let value = |id| ShortNumber::of_id(id).map_or(0.0, ShortNumber::floating);
                Some(Self::floating(ids, is_float, value))
            }
        }
    }

    /// What the mantissas and scales of inline numbers say, whatever their datatypes; `None` if one is too long. Unbound is an error.
    pub fn exact(ids: &[u64], is_decimal: bool) -> Option<Self> {
        if are_alike(ids) {
            let mantissas = ids.iter().map(|&id| TermId(id).mantissa()).collect();
            let scale = ids.first().map_or(0, |&id| TermId(id).scale());
            let values = Values::Exact {
                mantissas,
                scale,
                is_decimal,
            };
            return Some(Self::new(values, Vec::new()));
        }
        let scales = ids.iter().map(|&id| TermId(id).scale());
        let scale = scales.max().unwrap_or_default();
        let mut overflowed = false;
        let mantissa = |&id: &u64| {
            let id = TermId(id);
            let power = POWERS[usize::from(scale - id.scale())];
            let (mantissa, over) = id.mantissa().overflowing_mul(power);
            overflowed |= over && id.is_bound();
            if id.is_bound() { mantissa } else { 0 }
        };
        let values = Values::Exact {
            mantissas: ids.iter().map(mantissa).collect(),
            scale,
            is_decimal,
        };
        (!overflowed).then(|| Self::new(values, unbound(ids)))
    }

    /// Doubles, none of which is an error.
    pub fn doubles(values: Vec<f64>) -> Self {
        let values = Values::Floating {
            values,
            is_float: false,
        };
        Self::new(values, Vec::new())
    }

    /// The value of each id as a float or double, unbound being an error.
    pub fn floating(ids: &[u64], is_float: bool, value: impl Fn(u64) -> f64) -> Self {
        let values = ids.iter().map(|&id| match id {
            0 => 0.0,
            id => value(id),
        });
        let values = Values::Floating {
            values: values.collect(),
            is_float,
        };
        Self::new(values, unbound(ids))
    }

    /// The numbers of items, likewise.
    fn of_items(items: &[Item]) -> Option<Self> {
        Self::of_rows(items.len(), |row| match &items[row] {
            Item::Error => Some(None),
            Item::Id(id) => known_number(*id),
            Item::Value(Value::Number(number)) => ShortNumber::of(number).map(Some),
            Item::Value(
                Value::DateTime(_) | Value::Date(_) | Value::Time(_) | Value::Duration(..),
            ) => None,
            Item::Value(_) => Some(None),
        })
    }

    /// These numbers, `None` being an error; `None` where they have no column.
    pub fn of_numbers(numbers: &[Option<Number>]) -> Option<Self> {
        Self::of_rows(numbers.len(), |row| match &numbers[row] {
            None => Some(None),
            Some(number) => ShortNumber::of(number).map(Some),
        })
    }

    /// The numbers of rows, `Some(None)` being an error; `None` where there is none, and if not all have one type.
    fn of_rows(rows: usize, of: impl Fn(usize) -> Option<Option<ShortNumber>>) -> Option<Self> {
        let mut numbers = Vec::with_capacity(rows);
        for row in 0..rows {
            numbers.push(of(row)?);
        }
        let known = || numbers.iter().flatten();
        let rank = known().next().map_or(Rank::Integer, |number| number.rank());
        if known().any(|number| number.rank() != rank) {
            return None;
        }
        let values = match rank {
            Rank::Integer | Rank::Decimal => {
                let is_decimal = rank == Rank::Decimal;
                match exact_of_all(&numbers, is_decimal) {
                    Some(values) => values,
                    None if is_decimal => Values::Units(units_of_all(&numbers)),
                    None => return None,
                }
            }
            Rank::Float | Rank::Double => {
                let value =
                    |number: &Option<ShortNumber>| number.map_or(0.0, ShortNumber::floating);
                Values::Floating {
                    values: numbers.iter().map(value).collect(),
                    is_float: rank == Rank::Float,
                }
            }
        };
        let errors = match known().count() == rows {
            true => Vec::new(),
            false => numbers.iter().map(Option::is_none).collect(),
        };
        Some(Self::new(values, errors))
    }

    /// The ids of all rows, 0 for an error.
    pub fn ids(&self, cx: &Context) -> Vec<u64> {
        let number = |row| self.get(row).map_or(0, |number| number.to_id(cx));
        (0..self.rows()).map(number).collect()
    }

    /// The id of a row, 0 for an error; `None` of a number that no id holds.
    pub fn inline_id(&self, row: usize) -> Option<u64> {
        match self.get(row) {
            None => Some(0),
            Some(number) => number.inline_id().map(|id| id.0),
        }
    }

    /// Puts the literal of a row that is no error into a buffer.
    pub fn term_into(&self, row: usize, out: &mut TermBuf) {
        if let Some(number) = self.get(row) {
            number.to_number().with_term(|term| out.fill(term));
        }
    }

    /// The double nearest to each, anything for an error; `None` where one is not found quickly.
    pub fn nearest_doubles(&self) -> Option<Cow<'_, [f64]>> {
        match &self.values {
            Values::Floating { values, .. } => Some(Cow::Borrowed(values)),
            Values::Exact {
                mantissas, scale, ..
            } => nearest_of_all(mantissas, *scale, false).map(Cow::Owned),
            Values::Units(units) => units_as_floating(units, false).map(Cow::Owned),
        }
    }

    /// The numbers of the rows at these positions.
    pub fn take(&self, positions: &[u32]) -> Self {
        let errors = match self.errors.as_slice() {
            [] => Vec::new(),
            errors => taken(errors, positions).collect(),
        };
        let values = match &self.values {
            Values::Exact {
                mantissas,
                scale,
                is_decimal,
            } => Values::Exact {
                mantissas: taken(mantissas, positions).collect(),
                scale: *scale,
                is_decimal: *is_decimal,
            },
            Values::Units(units) => Values::Units(taken(units, positions).collect()),
            Values::Floating { values, is_float } => Values::Floating {
                values: taken(values, positions).collect(),
                is_float: *is_float,
            },
        };
        Self::new(values, errors)
    }

    /// The rows of these, one after the other; `None` if they do not have one type and as many digits.
    pub fn concat(parts: &[&Self]) -> Option<Self> {
        let (first, more) = parts.split_first()?;
        let mut values = first.values.clone();
        for part in more {
            values.append(&part.values)?;
        }
        let errors = match parts.iter().all(|part| part.errors.is_empty()) {
            true => Vec::new(),
            false => {
                let rows = |part: &&Self| {
                    (0..part.rows())
                        .map(|row| part.is_error(row))
                        .collect::<Vec<bool>>()
                };
                parts.iter().flat_map(rows).collect()
            }
        };
        Some(Self::new(values, errors))
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        let values = match &self.values {
            Values::Exact { mantissas, .. } => size_of_val(mantissas.as_slice()),
            Values::Units(units) => size_of_val(units.as_slice()),
            Values::Floating { values, .. } => size_of_val(values.as_slice()),
        };
        values + self.errors.len()
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        match &self.values {
            Values::Exact { mantissas, .. } => mantissas.len(),
            Values::Units(units) => units.len(),
            Values::Floating { values, .. } => values.len(),
        }
    }

    /// The values.
    pub fn values(&self) -> &Values {
        &self.values
    }

    /// Whether each row is an error; empty if none is.
    pub fn errors(&self) -> &[bool] {
        &self.errors
    }

    /// Whether a row is an error.
    #[inline]
    pub fn is_error(&self, row: usize) -> bool {
        self.errors.get(row).is_some_and(|&is_error| is_error)
    }

    /// The number of a row; `None` for an error.
    #[inline]
    pub fn get(&self, row: usize) -> Option<ShortNumber> {
        (!self.is_error(row)).then(|| match &self.values {
            Values::Exact {
                mantissas,
                scale,
                is_decimal,
            } => ShortNumber::Exact {
                mantissa: mantissas[row],
                scale: *scale,
                is_decimal: *is_decimal,
            },
            Values::Units(units) => ShortNumber::Units(units[row]),
            Values::Floating { values, is_float } => ShortNumber::Floating {
                value: values[row],
                is_float: *is_float,
            },
        })
    }
}

/// The number of an id, `Some(None)` if arithmetic knows none; `None` if it may be a long number or a date.
fn known_number(id: u64) -> Option<Option<ShortNumber>> {
    let number = ShortNumber::of_id(id);
    (number.is_some() || !may_be_known(TermId(id))).then_some(number)
}

/// Whether arithmetic may know the value of a term that is no inline number: a date, or a number or duration that its id does not tell.
pub fn may_be_known(id: TermId) -> bool {
    matches!(
        id.tag(),
        tag::DATE..=tag::G_YEAR_MONTH | tag::TYPED | tag::LOCAL
    )
}

/// Whether ids are bound and differ in their mantissas alone.
pub fn are_alike(ids: &[u64]) -> bool {
    ids.first().is_none_or(|&first| {
        let differing = ids.iter().fold(0, |bits, id| bits | (id ^ first));
        first != 0 && differing & !MANTISSA_MASK == 0
    })
}

/// The nearest double or, with `to_float`, the double that the nearest float is, of each `mantissa / 10^scale`; `None` where one is not found quickly.
fn nearest_of_all(mantissas: &[i64], scale: u8, to_float: bool) -> Option<Vec<f64>> {
    let mut values = Vec::with_capacity(mantissas.len());
    for &mantissa in mantissas {
        values.push(nearest(mantissa, scale, to_float)?);
    }
    Some(values)
}

/// Mantissas of one scale, that of the number with the most digits after its point; `None` if some word does not hold one.
fn exact_of_all(numbers: &[Option<ShortNumber>], is_decimal: bool) -> Option<Values> {
    let mut scale = 0;
    for number in numbers.iter().flatten() {
        scale = scale.max(number.exact()?.1);
    }
    let mut mantissas = Vec::with_capacity(numbers.len());
    for number in numbers {
        let (mantissa, own) = number.and_then(ShortNumber::exact).unwrap_or((0, scale));
        mantissas.push(mantissa.checked_mul(POWERS[usize::from(scale - own)])?);
    }
    Some(Values::Exact {
        mantissas,
        scale,
        is_decimal,
    })
}

/// The same in units.
fn units_of_all(numbers: &[Option<ShortNumber>]) -> Vec<i128> {
    let units = |number: &Option<ShortNumber>| number.map_or(0, ShortNumber::units);
    numbers.iter().map(units).collect()
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
fn units_as_floating(units: &[i128], to_float: bool) -> Option<Vec<f64>> {
    let mut values = Vec::with_capacity(units.len());
    for &units in units {
        values.push(unit_as_floating(units, to_float)?);
    }
    Some(values)
}

/// The nearest double of each of ids that are [alike](are_alike).
pub fn doubles_of_alike(ids: &[u64]) -> Vec<f64> {
    let mantissas = ids.iter().map(|&id| TermId(id).mantissa() as f64);
    match ids.first().map_or(0, |&id| TermId(id).scale()) {
        0 => mantissas.collect(),
        scale => {
            let power = POWERS[usize::from(scale)] as f64;
            mantissas.map(|mantissa| mantissa / power).collect()
        }
    }
}

/// Which ids are unbound; empty if none is.
fn unbound(ids: &[u64]) -> Vec<bool> {
    match ids.contains(&0) {
        true => ids.iter().map(|&id| id == 0).collect(),
        false => Vec::new(),
    }
}

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

    /// The type.
    pub fn rank(&self) -> Rank {
        match self {
            Self::Constant(number) => number.rank(),
            Self::Column(numbers) => match numbers.values {
                Values::Exact { is_decimal, .. } => Rank::exact(is_decimal),
                Values::Units(_) => Rank::Decimal,
                Values::Floating { is_float, .. } => Rank::floating(is_float),
            },
        }
    }

    /// Whether each row is an error; empty if none is.
    pub fn errors(&self) -> &[bool] {
        match self {
            Self::Column(numbers) => &numbers.errors,
            Self::Constant(_) => &[],
        }
    }

    /// Mantissas and scale of integers or decimals; `None` of those in units too.
    pub fn exact(&self) -> Option<(Lane<'_, i64>, u8)> {
        match self {
            Self::Constant(ShortNumber::Exact {
                mantissa, scale, ..
            }) => Some((Lane::Same(*mantissa), *scale)),
            Self::Column(numbers) => match &numbers.values {
                Values::Exact {
                    mantissas, scale, ..
                } => Some((Lane::Each(Cow::Borrowed(mantissas)), *scale)),
                Values::Units(_) | Values::Floating { .. } => None,
            },
            Self::Constant(ShortNumber::Units(_) | ShortNumber::Floating { .. }) => None,
        }
    }

    /// Integers or decimals in units of 10^-18.
    pub fn units(&self) -> Option<Lane<'_, i128>> {
        match self {
            Self::Constant(ShortNumber::Units(units)) => return Some(Lane::Same(*units)),
            Self::Column(numbers) => {
                if let Values::Units(units) = &numbers.values {
                    return Some(Lane::Each(Cow::Borrowed(units)));
                }
            }
            Self::Constant(_) => {}
        }
        let (mantissas, scale) = self.exact()?;
        Some(match mantissas {
            Lane::Same(mantissa) => Lane::Same(units(mantissa, scale)),
            Lane::Each(mantissas) => {
                let each = mantissas.iter().map(|&mantissa| units(mantissa, scale));
                Lane::Each(each.collect())
            }
        })
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
            Self::Column(numbers) => match &numbers.values {
                Values::Floating { values, .. } => Some(Lane::Each(Cow::Borrowed(values))),
                Values::Units(units) => {
                    Some(Lane::Each(units_as_floating(units, to_float)?.into()))
                }
                Values::Exact { .. } => None,
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
