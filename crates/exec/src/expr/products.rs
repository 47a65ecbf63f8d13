//! `Products`: products of decimals with more digits than a column of numbers holds, left as they are for whoever adds them up.
//!
//! ```text
//! SUM((?x - ?mean) * (?x - ?mean))     18 digits after the point, squared: 36
//! ```
//!
//! Cost: 32 bytes for each row, and no allocation for each as long numbers have one.

use super::arithmetic::{self, Operator};
use super::number_operators;
use super::operand::{Lane, Operand, either, zip};
use super::vector::{Item, Vector};
use crate::error::ExecError;
use crate::value::{Rank, Reader, SCALE_MAX, Value, Wide};
use std::borrow::Cow;

/// The products; see the head of this module.
pub struct Products {
    values: Vec<Wide>,
    /// Whether each row is an error; empty if none is.
    errors: Vec<bool>,
}

/// The values of some rows for whoever adds them up.
pub enum Summed<'v> {
    /// As anybody has them.
    Vector(Vector<'v>),
    /// Long products.
    Products(Products),
}

impl<'v> Summed<'v> {
    /// As anybody has them.
    pub fn into_vector(self) -> Vector<'v> {
        match self {
            Self::Vector(values) => values,
            Self::Products(products) => {
                let rows = 0..products.rows();
                Vector::Items(rows.map(|row| products.item(row)).collect())
            }
        }
    }
}

impl Products {
    /// The values of some parts of so many rows, if some are long products and all are decimals.
    pub fn together(rows: usize, parts: &[Vec<u32>], values: &[Summed<'_>]) -> Option<Self> {
        let are_long = |values: &Summed<'_>| matches!(values, Summed::Products(_));
        if !values.iter().any(are_long) {
            return None;
        }
        let mut all = Self {
            values: vec![Wide::default(); rows],
            errors: vec![true; rows],
        };
        let mut of_parts = parts.iter().zip(values);
        of_parts
            .all(|(part, values)| all.put(part, values))
            .then_some(all)
    }

    /// Those of two sides; `None` where a row might not be a decimal.
    fn of(a: &Operand<'_>, b: &Operand<'_>) -> Option<Self> {
        let are_decimals = |side: &Operand<'_>| side.rank() == Rank::Decimal && !side.is_mixed();
        if a.rank().max(b.rank()) != Rank::Decimal || !are_decimals(a) && !are_decimals(b) {
            return None;
        }
        Some(Self {
            values: zip(&a.units()?, &b.units()?, Wide::product),
            errors: either(a.errors(), b.errors()),
        })
    }

    /// The products of two vectors in so many rows, long ones where they have to be.
    pub fn of_vectors<'v>(
        a: &Vector<'_>,
        b: &Vector<'_>,
        rows: usize,
        reader: &mut Reader<'_>,
    ) -> Result<Summed<'v>, ExecError> {
        let are_constants = matches!((a, b), (Vector::Constant(_), Vector::Constant(_)));
        if !are_constants
            && let Some(left) = Operand::read(a, reader)?
            && let Some(right) = Operand::read(b, reader)?
        {
            if let Some(numbers) = number_operators::binary(Operator::Multiply, &left, &right) {
                return Ok(Summed::Vector(Vector::Numbers(Cow::Owned(numbers))));
            }
            if let Some(products) = Self::of(&left, &right) {
                return Ok(Summed::Products(products));
            }
        }
        arithmetic::binary(Operator::Multiply, a, b, rows, reader).map(Summed::Vector)
    }

    /// Puts the values of some rows in their places; false if they are not all decimals.
    fn put(&mut self, rows: &[u32], values: &Summed<'_>) -> bool {
        let one = 10_i128.pow(SCALE_MAX.into());
        let decimals = match values {
            Summed::Products(products) => {
                for (place, &row) in rows.iter().enumerate() {
                    self.set(row, products.get(place));
                }
                return true;
            }
            Summed::Vector(Vector::Numbers(numbers)) => numbers,
            Summed::Vector(_) => return false,
        };
        let column = Operand::Column(Cow::Borrowed(&**decimals));
        let are_decimals = column.rank() == Rank::Decimal && !column.is_mixed();
        let Some(Lane::Each(units)) = column.units().filter(|_| are_decimals) else {
            return false;
        };
        for (place, (&row, &units)) in rows.iter().zip(units.iter()).enumerate() {
            let is_error = column.errors().get(place) == Some(&true);
            self.set(row, (!is_error).then(|| Wide::product(units, one)));
        }
        true
    }

    fn set(&mut self, row: u32, value: Option<Wide>) {
        if let Some(value) = value {
            self.values[row as usize] = value;
            self.errors[row as usize] = false;
        }
    }

    /// In units of 10^-36, `None` for an error.
    #[inline]
    pub fn get(&self, row: usize) -> Option<Wide> {
        let is_error = self.errors.get(row) == Some(&true);
        (!is_error).then(|| self.values[row])
    }

    /// The value in a row.
    pub fn item(&self, row: usize) -> Item {
        let number = self.get(row).map(Wide::to_decimal);
        number.map_or(Item::Error, |number| Item::Value(Value::Number(number)))
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.values.len()
    }
}
