//! `SumState`: SUM and AVG of one group, exact for integers and decimals.
//!
//! Starts from the integer zero and adds with type promotion, so the result has the widest type of
//! its terms; a value that is no number or an error makes the whole an error. Integers and decimals are exact
//! however long they grow (up to the limit of [`Exact`](crate::value::Exact)).

use crate::error::ExecError;
use crate::value::{Number, Reader};
use basalt_rdf::TermId;
use basalt_rdf::qualifiers::CUSTOM_NUMERIC_FIRST;

/// Numeric codes of decimal, double and float; every other code below the custom ones is an integer.
const NOT_INTEGER: std::ops::RangeInclusive<u8> = 1..=3;

/// The running sum; see the [module documentation](self).
#[derive(Clone)]
pub struct SumState {
    /// Sum of the inline integers, apart so that adding one is an addition of two words.
    integers: i64,
    /// Sum of everything else; `None` after an error.
    others: Option<Number>,
    /// Number of values.
    count: u64,
}

impl Default for SumState {
    fn default() -> Self {
        Self {
            integers: 0,
            others: Some(Number::zero()),
            count: 0,
        }
    }
}

impl SumState {
    /// Adds the value of an id; 0 is an error.
    #[inline]
    pub fn add(&mut self, id: u64, reader: &mut Reader<'_>) -> Result<(), ExecError> {
        self.count += 1;
        let term_id = TermId(id);
        let code = term_id.numeric_datatype();
        if term_id.is_numeric() && code < CUSTOM_NUMERIC_FIRST && !NOT_INTEGER.contains(&code) {
            self.add_integer(term_id.mantissa());
            return Ok(());
        }
        let number = reader.value(id)?.and_then(|value| value.number());
        self.others = match (self.others.take(), number) {
            (Some(sum), Some(number)) => sum.checked_add(&number),
            _ => None,
        };
        Ok(())
    }

    /// Adds a small integer; a sum that outgrows its word moves to the others.
    #[inline]
    fn add_integer(&mut self, integer: i64) {
        match self.integers.checked_add(integer) {
            Some(sum) => self.integers = sum,
            None => {
                let full = Number::Integer(std::mem::replace(&mut self.integers, integer).into());
                self.others = self.others.take().and_then(|sum| sum.checked_add(&full));
            }
        }
    }

    /// Adds another part of the same group.
    pub fn merge(&mut self, other: Self) {
        self.count += other.count;
        self.others = match (self.others.take(), other.others) {
            (Some(a), Some(b)) => a.checked_add(&b),
            _ => None,
        };
        self.add_integer(other.integers);
    }

    /// The sum; `None` is an error.
    pub fn sum(self) -> Option<Number> {
        self.others?
            .checked_add(&Number::Integer(self.integers.into()))
    }

    /// The average; of nothing it is the integer zero.
    pub fn average(self) -> Option<Number> {
        if self.count == 0 {
            return Some(Number::zero());
        }
        let count = i64::try_from(self.count).ok()?;
        self.sum()?.checked_divide(&Number::Integer(count.into()))
    }
}
