//! `SumState`: SUM and AVG of one group, exact for every numeric type.
//!
//! The result has the widest type of its terms; a value that is no number or an error makes the
//! whole an error. Integers and decimals are exact however long they grow (up to the limit of
//! [`Exact`]); floats and doubles are added without rounding ([`FloatSum`]) and rounded once at the end, so that
//! the sum depends neither on the order of rows nor on threads. NaN and the infinities are counted.
//!
//! A part of the values can be taken away again ([`SumState::subtract`]).

use super::float_sum::FloatSum;
use crate::error::ExecError;
use crate::value::{Exact, Number, Reader};
use basalt_rdf::TermId;
use basalt_rdf::qualifiers::CUSTOM_NUMERIC_FIRST;
use oxsdatatypes::{Double, Float};

/// Numeric codes of decimal, double and float; every other code below the custom ones is an integer.
const NOT_INTEGER: std::ops::RangeInclusive<u8> = 1..=3;

/// How many values of a kind there are.
#[derive(Clone, Default)]
struct Odd {
    /// Errors, and values that are no numbers.
    errors: u64,
    nans: u64,
    infinities: u64,
    negative_infinities: u64,
}

/// The running sum; see the [module documentation](self).
#[derive(Clone)]
pub struct SumState {
    /// Sum of the inline integers, apart so that adding one is an addition of two words.
    integers: i64,
    /// Sum of all other integers and of decimals; `None` when it has too many digits.
    decimals: Option<Number>,
    /// Sum of the finite floats and doubles.
    floating: FloatSum,
    /// Number of values.
    count: u64,
    /// Of these, decimals.
    decimal_count: u64,
    /// Of these, floats.
    float_count: u64,
    /// Of these, doubles.
    double_count: u64,
    /// Of these, what has no finite value.
    odd: Option<Box<Odd>>,
}

impl Default for SumState {
    fn default() -> Self {
        Self {
            integers: 0,
            decimals: Some(Number::zero()),
            floating: FloatSum::default(),
            count: 0,
            decimal_count: 0,
            float_count: 0,
            double_count: 0,
            odd: None,
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
        match reader.value(id)?.and_then(|value| value.number()) {
            None => self.odd().errors += 1,
            Some(Number::Double(value)) => {
                self.double_count += 1;
                self.add_floating(value.into());
            }
            Some(Number::Float(value)) => {
                self.float_count += 1;
                self.add_floating(f64::from(f32::from(value)));
            }
            Some(number) => {
                self.decimal_count += u64::from(number.is_decimal());
                self.add_decimal(&number);
            }
        }
        Ok(())
    }

    fn odd(&mut self) -> &mut Odd {
        self.odd.get_or_insert_default()
    }

    fn add_floating(&mut self, value: f64) {
        if value.is_nan() {
            self.odd().nans += 1;
        } else if value == f64::INFINITY {
            self.odd().infinities += 1;
        } else if value == f64::NEG_INFINITY {
            self.odd().negative_infinities += 1;
        } else if self.floating.add(value).is_none() {
            self.decimals = None;
        }
    }

    fn add_decimal(&mut self, number: &Number) {
        self.decimals = self.decimals.take().and_then(|sum| sum.checked_add(number));
    }

    /// Adds a small integer; a sum that outgrows its word moves to the decimals.
    #[inline]
    fn add_integer(&mut self, integer: i64) {
        match self.integers.checked_add(integer) {
            Some(sum) => self.integers = sum,
            None => {
                let full = Number::Integer(std::mem::replace(&mut self.integers, integer).into());
                self.add_decimal(&full);
            }
        }
    }

    /// Adds another part of the same group.
    pub fn merge(&mut self, other: &Self) {
        self.add_integer(other.integers);
        match &other.decimals {
            Some(sum) => self.add_decimal(sum),
            None => self.decimals = None,
        }
        if self.floating.merge(&other.floating).is_none() {
            self.decimals = None;
        }
        self.count += other.count;
        self.decimal_count += other.decimal_count;
        self.float_count += other.float_count;
        self.double_count += other.double_count;
        if let Some(more) = &other.odd {
            let odd = self.odd();
            odd.errors += more.errors;
            odd.nans += more.nans;
            odd.infinities += more.infinities;
            odd.negative_infinities += more.negative_infinities;
        }
    }

    /// Takes away the sum of some of the values that were added.
    pub fn subtract(&mut self, part: &Self) {
        let integers = Number::Integer(part.integers.into());
        let minus = |sum: Number| {
            let sum = sum.checked_subtract(part.decimals.as_ref()?)?;
            sum.checked_subtract(&integers)
        };
        self.decimals = self.decimals.take().and_then(minus);
        if self.floating.subtract(&part.floating).is_none() {
            self.decimals = None;
        }
        self.count -= part.count;
        self.decimal_count -= part.decimal_count;
        self.float_count -= part.float_count;
        self.double_count -= part.double_count;
        if let Some(less) = &part.odd {
            let odd = self.odd();
            odd.errors -= less.errors;
            odd.nans -= less.nans;
            odd.infinities -= less.infinities;
            odd.negative_infinities -= less.negative_infinities;
        }
    }

    /// The sum; `None` is an error.
    pub fn sum(self) -> Option<Number> {
        if self.odd.as_ref().is_some_and(|odd| odd.errors > 0) {
            return None;
        }
        let whole = Number::Integer(self.integers.into());
        let decimals = self.decimals.as_ref()?.checked_add(&whole)?;
        if self.float_count + self.double_count == 0 {
            return match self.decimal_count {
                // A decimal that was taken away again leaves a whole number behind.
                0 => decimals.to_integer(),
                _ => decimals.to_decimal(),
            };
        }
        let odd = self.odd.as_deref().and_then(Odd::sum);
        if self.double_count > 0 {
            let sum = match odd {
                Some(odd) => odd,
                None => self.rounded(&decimals, FloatSum::to_f64, Exact::to_f64)?,
            };
            return Some(Number::Double(Double::from(sum)));
        }
        let sum = match odd {
            Some(odd) => odd as f32,
            None => self.rounded(&decimals, FloatSum::to_f32, Exact::to_f32)?,
        };
        Some(Number::Float(Float::from(sum)))
    }

    /// All finite values together, rounded once.
    fn rounded<T>(
        &self,
        decimals: &Number,
        quick: fn(&FloatSum) -> Option<T>,
        exact: fn(&Exact) -> T,
    ) -> Option<T> {
        if decimals.is_integer_zero()
            && let Some(sum) = quick(&self.floating)
        {
            return Some(sum);
        }
        let decimals = decimals.order_key()?;
        let sum = self.floating.to_exact()?.checked_add(&decimals)?;
        Some(exact(&sum))
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

impl Odd {
    /// What the values without a finite value sum up to with any finite ones, if there are any.
    fn sum(&self) -> Option<f64> {
        let both = self.infinities > 0 && self.negative_infinities > 0;
        if self.nans > 0 || both {
            Some(f64::NAN)
        } else if self.infinities > 0 {
            Some(f64::INFINITY)
        } else if self.negative_infinities > 0 {
            Some(f64::NEG_INFINITY)
        } else {
            None
        }
    }
}
