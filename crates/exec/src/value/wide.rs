//! `Wide`: a whole number of 256 bits, as products of decimals in units of 10^-18 need it, and sums of these.
//!
//! ```text
//! 2.5 * 0.1  ->  2500000000000000000 * 100000000000000000 in units of 10^-36
//! ```
//!
//! Invariant: `high * 2^128 + low`. Cost: a product is four multiplications of words, a sum two additions.

use super::exact::Exact;
use super::number::Number;

/// The number; see the head of this module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wide {
    high: i128,
    low: u128,
}

/// Bits of half a factor.
const HALF: u32 = 64;

fn halves(number: u128) -> (u128, u128) {
    (number >> HALF, number & u128::from(u64::MAX))
}

impl Wide {
    /// The product, which always fits.
    #[inline]
    pub fn product(a: i128, b: i128) -> Self {
        let ((a1, a0), (b1, b0)) = (halves(a.unsigned_abs()), halves(b.unsigned_abs()));
        let (outer, inner) = (a1 * b0, a0 * b1);
        let (lowest_high, lowest) = halves(a0 * b0);
        let middle = lowest_high + halves(outer).1 + halves(inner).1;
        let high = a1 * b1 + halves(outer).0 + halves(inner).0 + halves(middle).0;
        let absolute = Self {
            high: high as i128,
            low: middle << HALF | lowest,
        };
        match (a < 0) == (b < 0) {
            true => absolute,
            false => absolute.negated(),
        }
    }

    /// Of a number whose negative fits.
    fn negated(self) -> Self {
        let (low, is_zero) = (!self.low).overflowing_add(1);
        Self {
            high: (!self.high).wrapping_add(i128::from(is_zero)),
            low,
        }
    }

    /// The sum; `None` if it may not fit.
    #[inline]
    pub fn checked_add(self, other: Self) -> Option<Self> {
        let (low, carry) = self.low.overflowing_add(other.low);
        let high = self.high.checked_add(other.high)?;
        Some(Self {
            high: high.checked_add(i128::from(carry))?,
            low,
        })
    }

    /// The decimal of so many units of 10^-36.
    pub fn to_decimal(self) -> Number {
        Number::from_decimal(Exact::of_square_units(self.high, self.low))
    }

    /// Whether it is zero.
    pub fn is_zero(self) -> bool {
        self == Self::default()
    }
}

#[cfg(test)]
mod tests {
    use super::super::short_number::of_units;
    use super::*;
    use num_bigint::BigInt;
    use proptest::prelude::*;

    fn whole(wide: Wide) -> BigInt {
        (BigInt::from(wide.high) << 128) + wide.low
    }

    proptest! {
        #[test]
        fn products_and_sums_are_those_of_long_numbers(
            factors: [i128; 4],
            shifts in prop::array::uniform4(0..128_u32),
        ) {
            let [a, b, c, d] = std::array::from_fn(|idx| factors[idx] >> shifts[idx]);
            for (a, b) in [(a, b), (c, d), (i128::MIN, b), (i128::MIN, i128::MIN), (i128::MAX, c), (0, d)] {
                let product = Wide::product(a, b);
                prop_assert_eq!(whole(product), BigInt::from(a) * b, "{} * {}", a, b);
                let other = Wide::product(c, d);
                let sum = product.checked_add(other).map(whole);
                prop_assert_eq!(sum, Some(BigInt::from(a) * b + BigInt::from(c) * d));
                let number = |units| Number::Decimal(of_units(units));
                let text = |number: Option<Number>| number.map(|number| number.to_text());
                let expected = number(a).checked_multiply(&number(b));
                prop_assert_eq!(text(Some(product.to_decimal())), text(expected));
            }
        }
    }

    #[test]
    fn a_sum_that_does_not_fit_is_none() {
        let most = Wide {
            high: i128::MAX,
            low: u128::MAX,
        };
        let (one, less) = (Wide::product(1, 1), Wide::product(-1, 1));
        assert_eq!(most.checked_add(one), None);
        assert_eq!(most.checked_add(less).map(whole), Some(whole(most) - 1));
        assert_eq!(most.negated().checked_add(most.negated()), None);
    }
}
