//! `FloatSum`: sums of floats and doubles without rounding.
//!
//! ```text
//! units   128-bit count of 2^-64: every value that is a multiple of it, up to 2^62
//! rest    64-bit count of 2^-128, always less than a unit: values under 2^-12, such as products of shares;
//!         all other finite values, as an exact decimal (rare: under 2^-75 or huge)
//! ```
//!
//! Exact sums do not depend on the order of rows or threads, and taking a part away again leaves just
//! the sum of the others. The result is rounded once. Cost: a shift and an addition of two words; of many values at once some
//! additions of doubles, four values side by side.

use crate::value::Exact;
use std::ops::Range;

/// Bits after the point of a unit.
const UNIT_BITS: i32 = 64;
/// Bits of the significand of a double, the hidden one included.
const SIGNIFICAND_BITS: i32 = 53;
/// Bits after the point of what a unit has 2^64 of.
const PART_BITS: i32 = 128;

/// Bits of the number of values that are added in two bins at a time.
const BINNED_BITS: i32 = 12;
const BINNED_MAX: usize = 1 << BINNED_BITS;
/// The powers of two that cut values in bins, beside that of the largest value.
const FIRST_BIN: i32 = BINNED_BITS + 1;
const SECOND_BIN: i32 = FIRST_BIN - (SIGNIFICAND_BITS - BINNED_BITS);
/// Exponents, with 1023 added, that the largest value may have: powers for both bins, and multiples in the second, are normal numbers then.
const BINNED_EXPONENTS: Range<i32> = SIGNIFICAND_BITS - SECOND_BIN..2047 - FIRST_BIN;

/// The exact sum of finite values.
#[derive(Clone, Default)]
pub struct FloatSum {
    /// The 128 bits of the units, low word first: an `i128` would make every state a third larger.
    units: [u64; 2],
    rest: Option<Box<Rest>>,
}

/// What is no whole number of units.
#[derive(Clone, Default)]
struct Rest {
    /// Parts of which 2^64 are a unit.
    parts: u64,
    exact: Option<Exact>,
}

impl FloatSum {
    #[inline]
    fn units(&self) -> i128 {
        (u128::from(self.units[1]) << u64::BITS | u128::from(self.units[0])) as i128
    }

    #[inline]
    fn set_units(&mut self, units: i128) {
        self.units = [units as u64, (units >> u64::BITS) as u64];
    }

    /// The sum of all values that are a whole number of units while it is one, and the others.
    pub fn of(values: &[f64]) -> (Self, Vec<f64>) {
        let (mut units, mut others) = (0_i128, Vec::new());
        let more = |units: i128, value| to_units(value).and_then(|more| units.checked_add(more));
        for some in values.chunks(BINNED_MAX) {
            let binned = in_two_bins(some)
                .and_then(|[high, low]| more(units, high).and_then(|units| more(units, low)));
            if let Some(sum) = binned {
                units = sum;
                continue;
            }
            for &value in some {
                match more(units, value) {
                    Some(sum) => units = sum,
                    None => others.push(value),
                }
            }
        }
        let mut sum = Self::default();
        sum.set_units(units);
        (sum, others)
    }

    /// Adds a value if it is a whole number of units and the sum is in range; false, and nothing, otherwise.
    #[inline]
    pub fn add_units(&mut self, value: f64) -> bool {
        let sum = to_units(value).and_then(|units| self.units().checked_add(units));
        if let Some(sum) = sum {
            self.set_units(sum);
        }
        sum.is_some()
    }

    /// Adds a finite value; `None` if the sum has too many digits.
    pub fn add(&mut self, value: f64) -> Option<()> {
        if self.add_units(value) {
            return Some(());
        }
        let parts = to_multiples(value, PART_BITS);
        match parts.and_then(|parts| self.add_parts(parts)) {
            Some(()) => Some(()),
            None => self.add_rest(&Exact::from_f64(value)?),
        }
    }

    /// Adds another sum; `None` if the sum has too many digits.
    pub fn merge(&mut self, other: &Self) -> Option<()> {
        if let Some(rest) = &other.rest {
            self.add_small(rest.parts.into())?;
            rest.exact
                .as_ref()
                .map_or(Some(()), |exact| self.add_rest(exact))?;
        }
        match self.units().checked_add(other.units()) {
            Some(sum) => self.set_units(sum),
            None => self.add_rest(&exact_units(other.units())?)?,
        }
        Some(())
    }

    /// Takes away a sum that is part of this one; `None` if the difference has too many digits.
    pub fn subtract(&mut self, part: &Self) -> Option<()> {
        if let Some(rest) = &part.rest {
            self.add_small(-i128::from(rest.parts))?;
            if let Some(exact) = &rest.exact {
                self.add_rest(&Exact::from(0).checked_subtract(exact)?)?;
            }
        }
        match self.units().checked_sub(part.units()) {
            Some(difference) => self.set_units(difference),
            None => {
                let units = Exact::from(0).checked_subtract(&exact_units(part.units())?)?;
                self.add_rest(&units)?;
            }
        }
        Some(())
    }

    /// The sum as the nearest double, if it needs no decimals.
    pub fn to_f64(&self) -> Option<f64> {
        match &self.rest {
            // The conversion rounds to nearest, and dividing by a power of two that is in range is exact.
            None => Some(self.units() as f64 / 2_f64.powi(UNIT_BITS)),
            Some(rest) => {
                let nearest = nearest(self.units(), rest.parts);
                rest.exact.is_none().then_some(nearest)
            }
        }
    }

    /// The sum as the nearest float, if it needs no decimals.
    pub fn to_f32(&self) -> Option<f32> {
        let units = self.units() as f32 / 2_f32.powi(UNIT_BITS);
        self.rest.is_none().then_some(units)
    }

    /// The sum as a decimal; `None` if it has too many digits.
    pub fn to_exact(&self) -> Option<Exact> {
        let units = exact_units(self.units())?;
        let Some(rest) = &self.rest else {
            return Some(units);
        };
        let sum = units.checked_add(&exact_parts(rest.parts.into())?)?;
        match &rest.exact {
            None => Some(sum),
            Some(exact) => sum.checked_add(exact),
        }
    }

    /// Adds parts of units, or takes some away; `None`, and nothing is added, if there are too many units then.
    fn add_parts(&mut self, parts: i128) -> Option<()> {
        let known = self.rest.as_ref().map_or(0, |rest| rest.parts);
        let sum = parts.checked_add(known.into())?;
        self.set_units(self.units().checked_add(sum >> u64::BITS)?);
        self.rest.get_or_insert_default().parts = sum as u64;
        self.drop_empty_rest();
        Some(())
    }

    /// The same of a part of another sum.
    fn add_small(&mut self, parts: i128) -> Option<()> {
        match self.add_parts(parts) {
            Some(()) => Some(()),
            None => self.add_rest(&exact_parts(parts)?),
        }
    }

    fn add_rest(&mut self, value: &Exact) -> Option<()> {
        let rest = self.rest.get_or_insert_default();
        let sum = match &rest.exact {
            None => value.clone(),
            Some(exact) => exact.checked_add(value)?,
        };
        rest.exact = (!sum.is_zero()).then_some(sum);
        self.drop_empty_rest();
        Some(())
    }

    fn drop_empty_rest(&mut self) {
        let is_empty = |rest: &mut Box<Rest>| rest.parts == 0 && rest.exact.is_none();
        self.rest.take_if(is_empty);
    }
}

/// The exact sum of at most [`BINNED_MAX`] values as two doubles; `None` if they are too many powers of two apart, or not finite.
///
/// With the largest below `2^(e + 1)`, each value is cut in two: what is a multiple of `2^(e - 39)`, and what is left and is one of `2^(e - 80)`.
/// Adding a number of `2^k` rounds to multiples of `2^(k - 52)`, and taking it away again is exact. So many multiples have a sum
/// with at most 53 bits, so that adding them in any order rounds nothing (Demmel and Nguyen, Fast Reproducible
/// Floating-Point Summation, 2013, section III).
fn in_two_bins(values: &[f64]) -> Option<[f64; 2]> {
    const LANES: usize = 4;
    let (groups, rest) = values.as_chunks::<LANES>();
    let mut last = [0.0; LANES];
    last[..rest.len()].copy_from_slice(rest);
    let groups = || groups.iter().chain(std::iter::once(&last));
    let mut largest = [0.0_f64; LANES];
    for group in groups() {
        for (largest, value) in largest.iter_mut().zip(group) {
            let size = value.abs();
            // One that is not a number stays out; the sums will not be finite.
            *largest = if size > *largest { size } else { *largest };
        }
    }
    let largest = largest.into_iter().fold(0.0, f64::max);
    let exponent = (largest.to_bits() >> (SIGNIFICAND_BITS - 1)) as i32;
    if largest == 0.0 {
        return values.iter().all(|value| *value == 0.0).then_some([0.0; 2]);
    }
    if !BINNED_EXPONENTS.contains(&exponent) {
        return None;
    }
    let one_and_a_half = |exponent: i32| {
        let half = 1 << (SIGNIFICAND_BITS - 2);
        f64::from_bits((exponent as u64) << (SIGNIFICAND_BITS - 1) | half)
    };
    let (first, second) = (
        one_and_a_half(exponent + FIRST_BIN),
        one_and_a_half(exponent + SECOND_BIN),
    );
    let (mut high, mut low, mut left) = ([0.0; LANES], [0.0; LANES], [0_u64; LANES]);
    for group in groups() {
        for lane in 0..LANES {
            let value = group[lane];
            let multiple = (value + first) - first;
            let part = value - multiple;
            let small = (part + second) - second;
            high[lane] += multiple;
            low[lane] += small;
            left[lane] |= (part - small).to_bits();
        }
    }
    let sums = [high, low].map(|lanes| lanes.into_iter().sum::<f64>());
    let is_exact = left.iter().all(|&bits| f64::from_bits(bits) == 0.0);
    (is_exact && sums.iter().all(|sum| sum.is_finite())).then_some(sums)
}

/// The value in units, if it is a whole number of them and in range.
#[inline]
fn to_units(value: f64) -> Option<i128> {
    to_multiples(value, UNIT_BITS)
}

/// The value in multiples of `2^-unit_bits`, if it is a whole number of them and less than `2^126` of them.
#[inline]
fn to_multiples(value: f64, unit_bits: i32) -> Option<i128> {
    let bits = value.to_bits();
    let exponent = (bits >> (SIGNIFICAND_BITS - 1) & 0x7FF) as i32;
    let fraction = bits & ((1 << (SIGNIFICAND_BITS - 1)) - 1);
    // Those of NaN and the infinities are the largest.
    if exponent >= 1023 + 126 - unit_bits {
        return None;
    }
    if exponent == 0 {
        // Zeros; the subnormal ones are far below a unit.
        return (fraction == 0).then_some(0);
    }
    let significand = i128::from(fraction | 1 << (SIGNIFICAND_BITS - 1));
    // value = significand * 2^(exponent - 1075)
    let shift = exponent - 1075 + unit_bits;
    let units = if shift >= 0 {
        significand << shift
    } else if significand.trailing_zeros() as i32 >= -shift {
        significand >> -shift
    } else {
        return None;
    };
    Some(if value.is_sign_negative() {
        -units
    } else {
        units
    })
}

/// The double nearest to so many units and parts of a unit.
fn nearest(units: i128, parts: u64) -> f64 {
    let (whole, parts) = match (units < 0, parts) {
        (false, _) => (units.unsigned_abs(), parts),
        (true, 0) => (units.unsigned_abs(), 0),
        (true, _) => (units.unsigned_abs() - 1, parts.wrapping_neg()),
    };
    // As many bits as a word holds from the highest one on, and whether there are others: more than tell how a double is rounded.
    let shift = whole.leading_zeros().min(u64::BITS);
    let all = u128::from(parts) << shift;
    let highest = whole.unbounded_shl(shift) | all >> u64::BITS;
    let highest = highest | u128::from(all as u64 != 0);
    let size = highest as f64 / 2_f64.powi(UNIT_BITS) / 2_f64.powi(shift as i32);
    if units < 0 { -size } else { size }
}

/// A number of parts of units as a decimal.
fn exact_parts(parts: i128) -> Option<Exact> {
    Exact::from_binary(parts, PART_BITS.unsigned_abs())
}

/// A number of units as a decimal: `n / 2^64` is `n * 5^64 / 10^64`.
fn exact_units(units: i128) -> Option<Exact> {
    Exact::from_binary(units, UNIT_BITS.unsigned_abs())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(values: &[f64]) -> FloatSum {
        let mut sum = FloatSum::default();
        for &value in values {
            sum.add(value).expect("few digits");
        }
        sum
    }

    /// Finite doubles: all of them, and many of everyday size.
    fn finite() -> impl Strategy<Value = f64> {
        prop_oneof![
            any::<i32>().prop_map(|cents| f64::from(cents) / 100.0),
            any::<f32>().prop_map(f64::from),
            -1e-3..1e-3,
            any::<f64>(),
        ]
        .prop_filter("finite", |value| value.is_finite())
    }

    fn exact(values: &[f64]) -> Exact {
        let add = |sum: Exact, value: &f64| {
            let value = Exact::from_f64(*value).expect("finite");
            sum.checked_add(&value).expect("few digits")
        };
        values.iter().fold(Exact::from(0), add)
    }

    #[test]
    fn everyday_values_go_into_bins() {
        let prices: Vec<f64> = (0..5_000).map(|i| 50.0 + f64::from(i) * 1.19).collect();
        let (whole, others) = FloatSum::of(&prices);
        assert!(others.is_empty());
        assert_eq!(whole.to_f64(), sum(&prices).to_f64());
        assert!(in_two_bins(&prices[..4_096]).is_some());
        assert_eq!(in_two_bins(&[0.0, -0.0]), Some([0.0; 2]));
        for odd in [f64::NAN, f64::INFINITY, f64::MAX, f64::MIN_POSITIVE] {
            assert_eq!(in_two_bins(&[1.0, odd]), None);
            assert_eq!(in_two_bins(&[odd]), None);
        }
        // The largest size with every value at the far end of its bin.
        let most = vec![f64::from_bits(1.0_f64.to_bits() - 1); BINNED_MAX];
        assert_eq!(
            in_two_bins(&most).map(|bins| exact(&bins).to_string()),
            Some(exact(&most).to_string())
        );
    }

    proptest! {
        #[test]
        fn bins_are_exact(
            values in prop_oneof![
                prop::collection::vec(-1e4..1e4, 0..50),
                prop::collection::vec(finite(), 0..6),
            ],
            power in -1022..960_i32,
        ) {
            let scaled: Vec<f64> = values.iter().map(|value| value * 2_f64.powi(power)).collect();
            for values in [&values, &scaled] {
                let Some(bins) = in_two_bins(values) else {
                    continue;
                };
                prop_assert_eq!(exact(values).cmp(&exact(&bins)), std::cmp::Ordering::Equal);
            }
        }

        #[test]
        fn sums_are_exact(values in prop::collection::vec(finite(), 0..20)) {
            let (sum, exact) = (sum(&values), exact(&values));
            prop_assert_eq!(sum.to_exact().expect("few digits"), exact.clone());
            if let Some(double) = sum.to_f64() {
                prop_assert_eq!(double, exact.to_f64());
            }
            if let Some(float) = sum.to_f32() {
                prop_assert_eq!(float, exact.to_f32());
            }
        }

        #[test]
        fn parts_merge_and_can_be_taken_away(
            first in prop::collection::vec(finite(), 0..12),
            second in prop::collection::vec(finite(), 0..12),
        ) {
            let mut all = sum(&first);
            all.merge(&sum(&second)).expect("few digits");
            let both = [first.as_slice(), &second].concat();
            prop_assert_eq!(all.to_exact(), sum(&both).to_exact());
            all.subtract(&sum(&second)).expect("few digits");
            prop_assert_eq!(all.to_exact(), sum(&first).to_exact());
        }
    }

    #[test]
    fn everyday_numbers_stay_in_units() {
        let prices: Vec<f64> = (0..1000).map(|i| f64::from(i) * 9.99).collect();
        assert!(sum(&prices).rest.is_none());
        assert!(sum(&[1e300]).rest.is_some() && sum(&[1e-9]).rest.is_some());
        assert!(sum(&[1e300, -1e300]).rest.is_none());
    }
}
