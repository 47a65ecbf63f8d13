//! `SumState`: SUM and AVG of one group, exact for every numeric type; those of all groups are [`SumStates`](super::sum_states::SumStates).
//!
//! The result has the widest type of its terms; a value that is no number or an error makes the
//! whole an error. Integers and decimals are exact however long they grow (up to the limit of
//! [`Exact`]); floats and doubles are added without rounding ([`FloatSum`]) and rounded once at the end, so that
//! the sum depends neither on the order of rows nor on threads. NaN and the infinities are counted.
//!
//! A part of the values can be taken away again.

use super::float_sum::FloatSum;
use crate::error::ExecError;
use crate::expr::{Numbers, Values, quotient};
use crate::value::{Exact, Number, Reader, ShortNumber, Wide, inline_integer, of_units, units};
use oxsdatatypes::{Double, Float};

/// What few groups have: made with the first such value.
#[derive(Clone)]
pub struct Rare {
    /// Sum of integers and decimals that do not fit elsewhere; `None` when it has too many digits.
    decimals: Option<Number>,
    /// Sum of decimals, in units of 10^-18.
    units: i128,
    /// Sum of long products, in units of 10^-36.
    products: Wide,
    /// Number of decimals.
    decimal_count: u64,
    /// Number of errors, and of values that are no numbers.
    errors: u64,
    nans: u64,
    infinities: u64,
    negative_infinities: u64,
}

impl Default for Rare {
    fn default() -> Self {
        Self {
            decimals: Some(Number::zero()),
            units: 0,
            products: Wide::default(),
            decimal_count: 0,
            errors: 0,
            nans: 0,
            infinities: 0,
            negative_infinities: 0,
        }
    }
}

/// The running sum; see the [module documentation](self).
#[derive(Clone, Default)]
pub struct SumState {
    /// Sum of the finite floats and doubles.
    floating: FloatSum,
    /// Sum of the inline integers, apart so that adding one is an addition of two words.
    integers: i64,
    /// Number of integers.
    integer_count: u64,
    /// Number of floats.
    float_count: u64,
    /// Number of doubles.
    double_count: u64,
    /// The rest.
    rare: Option<Box<Rare>>,
}

// Sums of many groups are read in any order: a state is one line of the caches.
const _: () = assert!(size_of::<SumState>() <= 64);

impl SumState {
    /// Adds a number.
    #[inline]
    pub fn add_number(&mut self, number: ShortNumber) {
        match number {
            ShortNumber::Floating { value, is_float } => self.add_floating(value, is_float),
            ShortNumber::Exact {
                mantissa,
                is_decimal: false,
                ..
            } => self.add_integers(mantissa, 1),
            ShortNumber::Exact {
                mantissa, scale, ..
            } => self.add_units(units(mantissa, scale), 1),
            ShortNumber::Units(units) => self.add_units(units, 1),
        }
    }

    /// Adds numbers without an error among them; false, and nothing, if their sum is too long.
    pub fn add_all(&mut self, numbers: &Numbers) -> bool {
        match numbers.values() {
            Values::Exact {
                mantissas,
                scale,
                is_decimal,
            } => {
                let sum: i128 = mantissas.iter().copied().map(i128::from).sum();
                let Ok(sum) = i64::try_from(sum) else {
                    return false;
                };
                let count = mantissas.len() as u64;
                match is_decimal {
                    true => self.add_units(units(sum, *scale), count),
                    false => self.add_integers(sum, count),
                }
            }
            Values::Mixed {
                mantissas,
                scale,
                are_decimals,
            } => {
                for (&mantissa, &is_decimal) in mantissas.iter().zip(are_decimals) {
                    self.add_mixed(units(mantissa, *scale), is_decimal);
                }
            }
            Values::Units(all) => all.iter().for_each(|&units| self.add_units(units, 1)),
            Values::Various(numbers) => numbers.iter().for_each(|&number| self.add_number(number)),
            Values::Floating { values, is_float } => {
                let (sum, others) = FloatSum::of(values);
                if self.floating.merge(&sum).is_none() {
                    self.rare().decimals = None;
                }
                self.count_floating((values.len() - others.len()) as u64, *is_float);
                for value in others {
                    self.add_floating(value, *is_float);
                }
            }
        }
        true
    }

    /// Adds a decimal or, as the decimal that it is, an integer, without asking which.
    #[inline]
    pub fn add_mixed(&mut self, units: i128, is_decimal: bool) {
        self.integer_count += u64::from(!is_decimal);
        self.add_units(units, u64::from(is_decimal));
    }

    /// Adds what is no number.
    pub fn add_error(&mut self) {
        self.rare().errors += 1;
    }

    /// Adds the value of an id; 0 is an error.
    #[inline]
    pub fn add(&mut self, id: u64, reader: &mut Reader<'_>) -> Result<(), ExecError> {
        if let Some(integer) = inline_integer(id) {
            self.add_integers(integer, 1);
            return Ok(());
        }
        match ShortNumber::of_id(id) {
            Some(number) => self.add_number(number),
            None => self.add_other(id, reader)?,
        }
        Ok(())
    }

    /// Adds the value of an id that is no inline number.
    fn add_other(&mut self, id: u64, reader: &mut Reader<'_>) -> Result<(), ExecError> {
        match reader.number(id)? {
            Some(number) => self.add_any(&number),
            None => self.add_error(),
        }
        Ok(())
    }

    /// Adds a number, however long.
    pub fn add_any(&mut self, number: &Number) {
        match ShortNumber::of(number) {
            Some(number) => self.add_number(number),
            None => {
                match number.is_decimal() {
                    true => self.rare().decimal_count += 1,
                    false => self.integer_count += 1,
                }
                self.add_decimal(number);
            }
        }
    }

    /// Whether it has what few groups have.
    #[inline]
    pub fn has_rare(&self) -> bool {
        self.rare.is_some()
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    /// Adds a double or, as the double that it is, a float.
    #[inline]
    pub fn add_floating(&mut self, value: f64, is_float: bool) {
        self.count_floating(1, is_float);
        if !self.floating.add_units(value) {
            self.add_odd(value);
        }
    }

    #[inline]
    fn count_floating(&mut self, count: u64, is_float: bool) {
        match is_float {
            true => self.float_count += count,
            false => self.double_count += count,
        }
    }

    /// Adds a double that is not finite, or not a whole number of units.
    #[cold]
    fn add_odd(&mut self, value: f64) {
        if value.is_nan() {
            self.rare().nans += 1;
        } else if value == f64::INFINITY {
            self.rare().infinities += 1;
        } else if value == f64::NEG_INFINITY {
            self.rare().negative_infinities += 1;
        } else if self.floating.add(value).is_none() {
            self.rare().decimals = None;
        }
    }

    /// Adds the sum of so many decimals, in units of 10^-18.
    #[inline]
    pub fn add_units(&mut self, units: i128, count: u64) {
        let rare = self.rare();
        rare.decimal_count += count;
        match rare.units.checked_add(units) {
            Some(units) => rare.units = units,
            None => {
                let full = std::mem::replace(&mut rare.units, units);
                self.add_decimal(&Number::Decimal(of_units(full)));
            }
        }
    }

    /// Adds the sum of so many products of decimals, in units of 10^-36.
    #[inline]
    pub fn add_products(&mut self, products: Wide, count: u64) {
        let rare = self.rare();
        rare.decimal_count += count;
        match rare.products.checked_add(products) {
            Some(products) => rare.products = products,
            None => {
                let full = std::mem::replace(&mut rare.products, products);
                self.add_decimal(&full.to_decimal());
            }
        }
    }

    fn add_decimal(&mut self, number: &Number) {
        let sum = &mut self.rare().decimals;
        *sum = sum.take().and_then(|sum| sum.checked_add(number));
    }

    /// Adds the sum of so many integers; a sum that outgrows its word moves to the decimals.
    #[inline]
    pub fn add_integers(&mut self, sum: i64, count: u64) {
        self.integer_count += count;
        match self.integers.checked_add(sum) {
            Some(sum) => self.integers = sum,
            None => {
                let full = Number::Integer(std::mem::replace(&mut self.integers, sum).into());
                self.add_decimal(&full);
            }
        }
    }

    /// Number of values.
    fn count(&self) -> u64 {
        let rare = self.rare.as_deref();
        let others = rare.map_or(0, |rare| rare.decimal_count + rare.errors);
        self.integer_count + self.float_count + self.double_count + others
    }

    /// Adds another part of the same group.
    #[inline]
    pub fn merge(&mut self, other: &Self) {
        self.add_integers(other.integers, other.integer_count);
        if self.floating.merge(&other.floating).is_none() {
            self.rare().decimals = None;
        }
        self.float_count += other.float_count;
        self.double_count += other.double_count;
        if let Some(more) = &other.rare {
            self.merge_rare(more);
        }
    }

    fn merge_rare(&mut self, more: &Rare) {
        match &more.decimals {
            Some(sum) => self.add_decimal(sum),
            None => self.rare().decimals = None,
        }
        self.add_units(more.units, 0);
        self.add_products(more.products, 0);
        let rare = self.rare();
        rare.decimal_count += more.decimal_count;
        rare.errors += more.errors;
        rare.nans += more.nans;
        rare.infinities += more.infinities;
        rare.negative_infinities += more.negative_infinities;
    }

    /// Takes away the sum of some of the values that were added.
    pub fn subtract(&mut self, part: &Self) {
        match self.integers.checked_sub(part.integers) {
            Some(rest) => self.integers = rest,
            None => {
                let less = Number::Integer(part.integers.into());
                let sum = &mut self.rare().decimals;
                *sum = sum.take().and_then(|sum| sum.checked_subtract(&less));
            }
        }
        if self.floating.subtract(&part.floating).is_none() {
            self.rare().decimals = None;
        }
        self.integer_count -= part.integer_count;
        self.float_count -= part.float_count;
        self.double_count -= part.double_count;
        if let Some(less) = &part.rare {
            let rare = self.rare();
            let sums = rare.sum().zip(less.sum());
            rare.decimals = sums.and_then(|(sum, less)| sum.checked_subtract(&less));
            rare.units = 0;
            rare.products = Wide::default();
            rare.decimal_count -= less.decimal_count;
            rare.errors -= less.errors;
            rare.nans -= less.nans;
            rare.infinities -= less.infinities;
            rare.negative_infinities -= less.negative_infinities;
        }
    }

    /// The sum; `None` is an error.
    pub fn sum(&self) -> Option<Number> {
        let rare = self.rare.as_deref();
        if rare.is_some_and(|rare| rare.errors > 0) {
            return None;
        }
        let mut decimals = Number::Integer(self.integers.into());
        if let Some(rare) = rare {
            decimals = rare.sum()?.checked_add(&decimals)?;
        }
        if self.float_count + self.double_count == 0 {
            return match rare.map_or(0, |rare| rare.decimal_count) {
                // A decimal that was taken away again leaves a whole number behind.
                0 => decimals.to_integer(),
                _ => decimals.to_decimal(),
            };
        }
        let odd = rare.and_then(Rare::sum_of_odd);
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

    /// The average of integers and decimals in units of 10^-18; `None` if there are none, too many, or something else.
    pub fn average_in_units(&self) -> Option<i128> {
        let count = i64::try_from(self.count()).ok()?;
        if self.float_count + self.double_count > 0 {
            return None;
        }
        let Some(rare) = self.rare.as_deref() else {
            return quotient(self.integers, count);
        };
        let are_units = rare.decimals.as_ref().is_some_and(Number::is_integer_zero);
        if !are_units || !rare.products.is_zero() || rare.errors > 0 {
            return None;
        }
        let sum = units(self.integers, 0).checked_add(rare.units)?;
        sum.checked_div(count.into())
    }

    /// The average; of nothing it is the integer zero.
    pub fn average(&self) -> Option<Number> {
        if self.count() == 0 {
            return Some(Number::zero());
        }
        let count = i64::try_from(self.count()).ok()?;
        self.sum()?.checked_divide(&Number::Integer(count.into()))
    }
}

impl Rare {
    /// The sum of its integers and decimals; `None` when it has too many digits.
    fn sum(&self) -> Option<Number> {
        let mut sum = self.decimals.clone()?;
        if self.units != 0 {
            sum = sum.checked_add(&Number::Decimal(of_units(self.units)))?;
        }
        match self.products.is_zero() {
            true => Some(sum),
            false => sum.checked_add(&self.products.to_decimal()),
        }
    }

    /// What the values without a finite value sum up to with any finite ones, if there are any.
    fn sum_of_odd(&self) -> Option<f64> {
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
