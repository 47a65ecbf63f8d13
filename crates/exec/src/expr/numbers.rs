//! `Numbers`: the computed numbers of some rows, as a column of machine words.
//!
//! ```text
//! 12.50 7.1 -> mantissas 1250 710, scale 2, decimals       1.5e0 -> doubles 1.5       10 / 3 -> units 3333333333333333333
//! ```
//!
//! Invariants: all rows have one type, or are integers and decimals, or each says what it is; a row that is an error has any number. What has no such column (numbers of
//! more digits than two words have, and dates) is computed row by row, with the same results, as are rows of several types: see [`by_kind`](super::by_kind). Cost: eight bytes (sixteen in units) and some
//! nanoseconds a row; no id is looked for and no text made in between.

pub use super::number_values::Values;
use super::vector::Item;
use crate::context::Context;
use crate::error::ExecError;
use crate::row_kinds::Kinds;
use crate::row_numbers::hash_row;
use crate::selection::taken;
use crate::value::{Number, POWERS, Rank, Reader, ShortNumber, Value};
use basalt_rdf::term_id::{MANTISSA_MASK, tag};
use basalt_rdf::{TermBuf, TermId};
use std::borrow::Cow;

/// Terms whose numbers are remembered while those of a batch are read.
pub const READ_TOGETHER: usize = 256;

/// The numbers; see the head of this module.
#[derive(Clone, Debug)]
pub struct Numbers {
    values: Values,
    /// Whether each row is an error; empty if none is.
    errors: Vec<bool>,
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

    /// The same, where the terms of ids that do not tell their numbers are read.
    pub fn read(ids: &[u64], reader: &mut Reader<'_>) -> Result<Option<Self>, ExecError> {
        if let Some(numbers) = Self::of_ids(ids) {
            return Ok(Some(numbers));
        }
        let mut numbers: Vec<Option<ShortNumber>> = Vec::with_capacity(ids.len());
        // What joins repeat is read once, as long as no other id takes its place here.
        let mut rows_read = [(0, 0); READ_TOGETHER];
        for (row, &id) in ids.iter().enumerate() {
            if let Some(known) = known_number(id) {
                numbers.push(known);
                continue;
            }
            let (read, at) = &mut rows_read[hash_row(&[id]) as usize % READ_TOGETHER];
            let number = match *read == id {
                true => numbers[*at],
                false => reader.number(id)?.as_ref().and_then(ShortNumber::of),
            };
            if number.is_none() {
                // Dates, for one, are computed with row by row.
                return Ok(None);
            }
            (*read, *at) = (id, row);
            numbers.push(number);
        }
        Ok(Self::of_rows(ids.len(), |row| Some(numbers[row])))
    }

    /// The numbers of inline ids that all have one datatype, or are unbound.
    pub fn of_one_datatype(ids: &[u64]) -> Option<Self> {
        let first = *ids.iter().find(|&&id| id != 0)?;
        let number = ShortNumber::of_id(first)?;
        if ids.iter().all(|&id| TermId(id).is_binary_double()) {
            let values = ids.iter().map(|&id| TermId(id).binary_double());
            return Some(Self::doubles(values.collect()));
        }
        let of_type = TermId(first).datatype_tag();
        let is_alike = |&id: &u64| id == 0 || TermId(id).datatype_tag() == of_type;
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
    pub fn of_items(items: &[Item]) -> Option<Self> {
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

    /// The numbers of rows, `Some(None)` being an error; `None` where there is none.
    fn of_rows(rows: usize, of: impl Fn(usize) -> Option<Option<ShortNumber>>) -> Option<Self> {
        let mut numbers = Vec::with_capacity(rows);
        for row in 0..rows {
            numbers.push(of(row)?);
        }
        let values = Values::of(&numbers)?;
        let errors = match numbers.contains(&None) {
            false => Vec::new(),
            true => numbers.iter().map(Option::is_none).collect(),
        };
        Some(Self::new(values, errors))
    }

    /// Parts put together, each with the rows that it has; `None` where these have no column. All rows are in some part.
    pub fn together(count: usize, rows: &[Vec<u32>], parts: &[&Self]) -> Option<Self> {
        if parts.iter().all(|part| part.errors.is_empty()) {
            let values: Vec<&Values> = parts.iter().map(|part| &part.values).collect();
            if let Some(values) = Values::together(count, rows, &values) {
                return Some(Self::new(values, Vec::new()));
            }
        }
        let mut numbers = vec![None; count];
        for (rows, part) in rows.iter().zip(parts) {
            for (place, &row) in rows.iter().enumerate() {
                numbers[row as usize] = part.get(place);
            }
        }
        Self::of_rows(count, |row| Some(numbers[row]))
    }

    /// The kinds of rows where numbers are of several types; `None` where they have words together.
    pub fn kinds(&self) -> Option<Kinds> {
        let Values::Various(numbers) = &self.values else {
            return None;
        };
        let kind = |number: &ShortNumber| match number.rank() {
            Rank::Integer | Rank::Decimal => 0,
            Rank::Float => 1,
            Rank::Double => 2,
        };
        Some(Kinds::of_rows(numbers.iter().map(kind).collect()))
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
        self.values.nearest_doubles()
    }

    /// The numbers of the rows at these positions.
    pub fn take(&self, positions: &[u32]) -> Self {
        let errors = match self.errors.as_slice() {
            [] => Vec::new(),
            errors => taken(errors, positions).collect(),
        };
        Self::new(self.values.take(positions), errors)
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
        self.values.bytes() + self.errors.len()
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.values.rows()
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
        (!self.is_error(row)).then(|| self.values.number(row))
    }
}

/// The number of an id, `Some(None)` if arithmetic knows none; `None` if it may be a long number or a date.
fn known_number(id: u64) -> Option<Option<ShortNumber>> {
    let number = ShortNumber::of_id(id);
    (number.is_some() || !may_be_known(TermId(id))).then_some(number)
}

/// Whether arithmetic may know the value of a term that is no inline number: a date, or a number or duration that its id does not tell.
pub fn may_be_known(id: TermId) -> bool {
    id.is_temporal() || matches!(id.tag(), tag::TYPED | tag::LOCAL)
}

/// Whether ids are inline numbers that differ in their mantissas alone.
pub fn are_alike(ids: &[u64]) -> bool {
    ids.first().is_none_or(|&first| {
        let differing = ids.iter().fold(0, |bits, id| bits | (id ^ first));
        TermId(first).is_numeric() && differing & !MANTISSA_MASK == 0
    })
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
