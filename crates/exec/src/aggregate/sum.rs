//! `SumState`: SUM and AVG of one group, exact for every numeric type.
//!
//! The result has the widest type of its terms; a value that is no number or an error makes the
//! whole an error. Integers and decimals are exact however long they grow (up to the limit of
//! [`Exact`]); floats and doubles are added without rounding ([`FloatSum`]) and rounded once at the end, so that
//! the sum depends neither on the order of rows nor on threads. NaN and the infinities are counted.
//!
//! A part of the values can be taken away again ([`SumStates::subtract`]).

use super::float_sum::FloatSum;
use crate::error::ExecError;
use crate::expr::{FloatingCast, Numbers, Values};
use crate::value::{Exact, Number, Reader, ShortNumber, inline_integer, of_units, units};
use basalt_columns::{PREFETCH_ROWS, prefetch};
use oxsdatatypes::{Double, Float};

/// What few groups have: made with the first such value.
#[derive(Clone)]
struct Rare {
    /// Sum of integers and decimals that do not fit elsewhere; `None` when it has too many digits.
    decimals: Option<Number>,
    /// Sum of decimals, in units of 10^-18.
    units: i128,
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
    /// Number of values.
    count: u64,
    /// Of these, floats.
    float_count: u64,
    /// Of these, doubles.
    double_count: u64,
    /// The rest.
    rare: Option<Box<Rare>>,
}

// Sums of many groups are read in any order: a state is one line of the caches.
const _: () = assert!(size_of::<SumState>() <= 64);

impl SumState {
    /// Adds a number.
    #[inline]
    fn add_number(&mut self, number: ShortNumber) {
        self.count += 1;
        match number {
            ShortNumber::Floating { value, is_float } => {
                self.float_count += u64::from(is_float);
                self.double_count += u64::from(!is_float);
                self.add_floating(value);
            }
            ShortNumber::Exact {
                mantissa,
                is_decimal: false,
                ..
            } => self.add_integer(mantissa),
            ShortNumber::Exact {
                mantissa, scale, ..
            } => self.add_units(units(mantissa, scale), 1),
        }
    }

    /// Adds integers or decimals without an error among them; `None`, and nothing, if there are others or their sum is too long.
    fn add_all(&mut self, numbers: &Numbers) -> Option<()> {
        let Values::Exact {
            mantissas,
            scale,
            is_decimal,
        } = numbers.values()
        else {
            return None;
        };
        if !numbers.errors().is_empty() {
            return None;
        }
        let sum: i128 = mantissas.iter().copied().map(i128::from).sum();
        let sum = i64::try_from(sum).ok()?;
        let count = mantissas.len() as u64;
        self.count += count;
        match is_decimal {
            true => self.add_units(units(sum, *scale), count),
            false => self.add_integer(sum),
        }
        Some(())
    }

    /// Adds what is no number.
    fn add_error(&mut self) {
        self.count += 1;
        self.rare().errors += 1;
    }

    /// Adds the value of an id; 0 is an error.
    #[inline]
    fn add(&mut self, id: u64, reader: &mut Reader<'_>) -> Result<(), ExecError> {
        if let Some(integer) = inline_integer(id) {
            self.count += 1;
            self.add_integer(integer);
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
        let Some(number) = reader.number(id)? else {
            self.add_error();
            return Ok(());
        };
        match ShortNumber::of(&number) {
            Some(number) => self.add_number(number),
            None => {
                self.count += 1;
                self.rare().decimal_count += u64::from(number.is_decimal());
                self.add_decimal(&number);
            }
        }
        Ok(())
    }

    fn rare(&mut self) -> &mut Rare {
        self.rare.get_or_insert_default()
    }

    #[inline]
    fn add_floating(&mut self, value: f64) {
        if !value.is_finite() {
            let rare = self.rare();
            if value.is_nan() {
                rare.nans += 1;
            } else if value > 0.0 {
                rare.infinities += 1;
            } else {
                rare.negative_infinities += 1;
            }
        } else if self.floating.add(value).is_none() {
            self.rare().decimals = None;
        }
    }

    /// Adds the sum of so many decimals, in units of 10^-18.
    #[inline]
    fn add_units(&mut self, units: i128, count: u64) {
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

    fn add_decimal(&mut self, number: &Number) {
        let sum = &mut self.rare().decimals;
        *sum = sum.take().and_then(|sum| sum.checked_add(number));
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
    #[inline]
    fn merge(&mut self, other: &Self) {
        self.add_integer(other.integers);
        if self.floating.merge(&other.floating).is_none() {
            self.rare().decimals = None;
        }
        self.count += other.count;
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
        let rare = self.rare();
        rare.decimal_count += more.decimal_count;
        rare.errors += more.errors;
        rare.nans += more.nans;
        rare.infinities += more.infinities;
        rare.negative_infinities += more.negative_infinities;
    }

    /// Takes away the sum of some of the values that were added.
    fn subtract(&mut self, part: &Self) {
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
        self.count -= part.count;
        self.float_count -= part.float_count;
        self.double_count -= part.double_count;
        if let Some(less) = &part.rare {
            let rare = self.rare();
            let sums = rare.sum().zip(less.sum());
            rare.decimals = sums.and_then(|(sum, less)| sum.checked_subtract(&less));
            rare.units = 0;
            rare.decimal_count -= less.decimal_count;
            rare.errors -= less.errors;
            rare.nans -= less.nans;
            rare.infinities -= less.infinities;
            rare.negative_infinities -= less.negative_infinities;
        }
    }

    /// The sum; `None` is an error.
    pub fn sum(self) -> Option<Number> {
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

    /// The average; of nothing it is the integer zero.
    pub fn average(self) -> Option<Number> {
        if self.count == 0 {
            return Some(Number::zero());
        }
        let count = i64::try_from(self.count).ok()?;
        self.sum()?.checked_divide(&Number::Integer(count.into()))
    }
}

/// The states of SUM or AVG of all groups.
#[derive(Clone, Default)]
pub struct SumStates {
    states: Vec<SumState>,
    /// Whether some state may have a [`Rare`].
    any_rare: bool,
}

impl SumStates {
    /// Makes empty states up to this number of groups.
    pub fn resize(&mut self, count: usize) {
        self.states.resize(count, SumState::default());
    }

    /// Adds the values of rows: (group, id).
    pub fn update(
        &mut self,
        rows: impl Iterator<Item = (usize, u64)> + Clone,
        reader: &mut Reader<'_>,
    ) -> Result<(), ExecError> {
        self.add_while(rows, |state, id| state.add(id, reader).map(|()| true))?;
        Ok(())
    }

    /// Adds the casts of the first rows, (group, id), up to one that its id does not tell; how many those are.
    pub fn update_casts(
        &mut self,
        rows: impl Iterator<Item = (usize, u64)> + Clone,
        cast: FloatingCast,
    ) -> Result<usize, ExecError> {
        self.add_while(rows, |state, id| {
            let number = cast.value(id);
            if let Some(number) = number {
                state.add_number(number);
            }
            Ok(number.is_some())
        })
    }

    /// Adds computed numbers: (group, row).
    pub fn update_numbers(
        &mut self,
        rows: impl Iterator<Item = (usize, usize)> + Clone,
        numbers: &Numbers,
    ) -> Result<(), ExecError> {
        if let [only] = self.states.as_mut_slice()
            && rows.size_hint() == (numbers.rows(), Some(numbers.rows()))
            && only.add_all(numbers).is_some()
        {
            self.any_rare |= only.rare.is_some();
            return Ok(());
        }
        self.add_while(rows, |state, row| {
            match numbers.get(row) {
                Some(number) => state.add_number(number),
                None => state.add_error(),
            }
            Ok(true)
        })?;
        Ok(())
    }

    /// Adds rows to the states of their groups, some of which are asked for ahead, as long as `add` does; how many those are.
    #[inline]
    fn add_while<T>(
        &mut self,
        rows: impl Iterator<Item = (usize, T)> + Clone,
        mut add: impl FnMut(&mut SumState, T) -> Result<bool, ExecError>,
    ) -> Result<usize, ExecError> {
        let mut ahead = rows.clone().skip(PREFETCH_ROWS);
        let mut done = 0;
        for (group, value) in rows {
            if let Some((group, _)) = ahead.next() {
                prefetch(&self.states, group);
            }
            let state = &mut self.states[group];
            if !add(state, value)? {
                break;
            }
            self.any_rare |= state.rare.is_some();
            done += 1;
        }
        Ok(done)
    }

    /// Adds states of others: state `from` to group `to`, for each pair.
    pub fn merge(&mut self, other: &Self, pairs: impl Iterator<Item = (usize, usize)> + Clone) {
        self.any_rare |= other.any_rare;
        let mut ahead = pairs.clone().skip(PREFETCH_ROWS);
        for (from, to) in pairs {
            if let Some((from, to)) = ahead.next() {
                prefetch(&other.states, from);
                prefetch(&self.states, to);
            }
            self.states[to].merge(&other.states[from]);
        }
    }

    /// `count` copies of the only state.
    pub fn repeated(&self, count: usize) -> Self {
        let first = self.states.first().cloned().unwrap_or_default();
        Self {
            states: vec![first; count],
            any_rare: self.any_rare,
        }
    }

    /// Takes away states of others: state `from` from group `to`, for each pair.
    pub fn subtract(&mut self, other: &Self, pairs: impl Iterator<Item = (usize, usize)>) {
        self.any_rare |= other.any_rare;
        for (from, to) in pairs {
            self.states[to].subtract(&other.states[from]);
        }
    }

    /// The states, by group.
    pub fn into_states(self) -> Vec<SumState> {
        self.states
    }

    /// Bytes held; if some state has a [`Rare`], as if all had.
    pub fn bytes(&self) -> usize {
        let rare = usize::from(self.any_rare) * size_of::<Rare>();
        self.states.capacity() * (size_of::<SumState>() + rare)
    }
}

impl Rare {
    /// The sum of its integers and decimals; `None` when it has too many digits.
    fn sum(&self) -> Option<Number> {
        let decimals = self.decimals.as_ref()?;
        match self.units {
            0 => Some(decimals.clone()),
            units => decimals.checked_add(&Number::Decimal(of_units(units))),
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
