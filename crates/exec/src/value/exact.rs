//! `Exact`: an integer or decimal of any length, the slow path under [`Number`](super::Number).
//!
//! ```text
//! value = mantissa / 10^scale        the last digit of the mantissa is not 0 where scale > 0
//! ```
//!
//! Sums, differences and products are exact. A quotient is exact if it ends within the digits kept, otherwise
//! its further digits are dropped: 18 digits after the point are kept, and where an operand has more
//! than 18 itself, 18 more than it has.
//!
//! Invariant: no number has more than [`DIGITS_MAX`] digits; a text or a result beyond is no value. Cost:
//! allocates; quotients and conversions to text are quadratic in the digits, about a millisecond at the limit,
//! which keeps a whole batch of such numbers within the time that a cancelled query may still take.

use super::short_number::units_of;
use num_bigint::{BigInt, Sign};
use oxsdatatypes::Decimal;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::LazyLock;

/// Most digits before and after the point together.
pub const DIGITS_MAX: usize = 10_000;
/// Bits that so many digits take.
const BITS_MAX: u64 = 33_220;
/// Digits after the point that a quotient keeps at least.
const QUOTIENT_SCALE: u32 = 18;
/// Digits after the point of the decimals of the fast path.
const SMALL_SCALE: u32 = 18;

/// A number without a limit that anybody meets, see the head of this module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exact {
    mantissa: BigInt,
    scale: u32,
}

/// Which neighbouring integer a number goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Towards zero.
    Truncate,
    /// Down.
    Floor,
    /// Up.
    Ceiling,
    /// To the nearest, and up from the middle between two.
    HalfUp,
}

/// Powers that are made once: those that decimals of 128 bits and their products are brought to one scale with, and some more.
const POWERS_MADE: u32 = 128;

fn power_of_ten(exponent: u32) -> Cow<'static, BigInt> {
    static MADE: LazyLock<Vec<BigInt>> = LazyLock::new(|| {
        let powers = 0..POWERS_MADE;
        powers.map(|power| BigInt::from(10).pow(power)).collect()
    });
    match MADE.get(exponent as usize) {
        Some(power) => Cow::Borrowed(power),
        None => Cow::Owned(BigInt::from(10).pow(exponent)),
    }
}

/// Whether the last digit is a zero.
fn ends_in_zero(mantissa: &BigInt) -> bool {
    // 2^64 is one more than a multiple of five, so a number and the sum of its words leave the same rest.
    let words = mantissa.iter_u64_digits();
    let is_even = mantissa.trailing_zeros() != Some(0);
    is_even && words.map(|word| word % 5).sum::<u64>() % 5 == 0
}

impl Exact {
    /// Makes a number of parts, without zeros at the end; `None` beyond the limit.
    fn new(mantissa: BigInt, scale: u32) -> Option<Self> {
        let number = Self { mantissa, scale }.stripped();
        let is_short = number.mantissa.bits() <= BITS_MAX && number.scale as usize <= DIGITS_MAX;
        is_short.then_some(number)
    }

    /// Drops zeros at the end of the fraction: many at a time first, then fewer.
    fn stripped(mut self) -> Self {
        if self.mantissa.sign() == Sign::NoSign {
            self.scale = 0;
        }
        if self.scale == 0 || !ends_in_zero(&self.mantissa) {
            return self;
        }
        let mut step = self.scale.checked_ilog2().map_or(0, |log| 1_u32 << log);
        while step > 0 {
            let may_divide = self.mantissa.trailing_zeros() >= Some(u64::from(step));
            if step <= self.scale && may_divide {
                let power = power_of_ten(step);
                let quotient = &self.mantissa / &*power;
                if &quotient * &*power == self.mantissa {
                    self.mantissa = quotient;
                    self.scale -= step;
                    continue;
                }
            }
            step /= 2;
        }
        self
    }

    /// Reads `[+-]? [0-9]+`, and the lexical forms of `xsd:decimal` if there may be a point.
    pub fn parse(text: &str, may_have_point: bool) -> Option<Self> {
        let (sign, unsigned) = match text.as_bytes() {
            [b'-', rest @ ..] => (Sign::Minus, rest),
            [b'+', rest @ ..] => (Sign::Plus, rest),
            all => (Sign::Plus, all),
        };
        let point = unsigned.iter().position(|&byte| byte == b'.');
        let (whole, fraction) = match point {
            Some(at) if may_have_point => (&unsigned[..at], &unsigned[at + 1..]),
            Some(_) => return None,
            None => (unsigned, &[][..]),
        };
        let is_empty = whole.is_empty() && fraction.is_empty();
        if is_empty || !whole.iter().chain(fraction).all(u8::is_ascii_digit) {
            return None;
        }
        let is_zero = |byte: &&u8| **byte == b'0';
        let leading = whole.iter().take_while(is_zero).count();
        let trailing = fraction.iter().rev().take_while(is_zero).count();
        let (whole, fraction) = (&whole[leading..], &fraction[..fraction.len() - trailing]);
        let digits = [whole, fraction].concat();
        if digits.len() > DIGITS_MAX {
            return None;
        }
        let mantissa = match digits.as_slice() {
            [] => BigInt::ZERO,
            digits => BigInt::parse_bytes(digits, 10)?,
        };
        let scale = u32::try_from(fraction.len()).ok()?;
        let mantissa = if sign == Sign::Minus {
            -mantissa
        } else {
            mantissa
        };
        Self::new(mantissa, scale)
    }

    /// The order beside `units / 10^scale`, if words hold both with as many digits after the point.
    pub fn compare_units(&self, units: i128, scale: u32) -> Option<Ordering> {
        let of_ten = |digits: u32| 10_i128.checked_pow(digits);
        let own = i128::try_from(&self.mantissa).ok()?;
        let longest = self.scale.max(scale);
        let own = own.checked_mul(of_ten(longest - self.scale)?)?;
        Some(own.cmp(&units.checked_mul(of_ten(longest - scale)?)?))
    }

    /// `mantissa` divided by two to the power of `fraction_bits`; `None` beyond the limit.
    pub fn from_binary(mantissa: i128, fraction_bits: u32) -> Option<Self> {
        if mantissa == 0 {
            // All of its bits are trailing zeros.
            return Self::new(BigInt::ZERO, 0);
        }
        let spare = mantissa.trailing_zeros().min(fraction_bits);
        let scale = fraction_bits - spare;
        // m / 2^k is m * 5^k / 10^k.
        Self::new(
            BigInt::from(mantissa >> spare) * BigInt::from(5).pow(scale),
            scale,
        )
    }

    /// `high * 2^128 + low` in units of 10^-36.
    pub fn of_square_units(high: i128, low: u128) -> Self {
        let number = Self {
            mantissa: (BigInt::from(high) << u128::BITS) + low,
            scale: 2 * SMALL_SCALE,
        };
        number.stripped()
    }

    /// The exact value of a double; `None` for infinities and NaN.
    pub fn from_f64(value: f64) -> Option<Self> {
        const FRACTION_BITS: u32 = 52;
        const BIAS: i32 = 1075;
        if !value.is_finite() {
            return None;
        }
        let bits = value.to_bits();
        let fraction = bits & ((1 << FRACTION_BITS) - 1);
        let exponent = (bits >> FRACTION_BITS & 0x7ff) as i32;
        let (significand, exponent) = match exponent {
            0 => (fraction, 1 - BIAS),
            _ => (fraction | 1 << FRACTION_BITS, exponent - BIAS),
        };
        let mut mantissa = i128::from(significand);
        if value.is_sign_negative() {
            mantissa = -mantissa;
        }
        match exponent >= 0 {
            true => Self::new(BigInt::from(mantissa) << exponent, 0),
            false => Self::from_binary(mantissa, exponent.unsigned_abs()),
        }
    }

    /// The number as one of the fast path, if it is small enough.
    pub fn to_small(&self) -> Option<Decimal> {
        if self.scale > SMALL_SCALE {
            return None;
        }
        let mantissa = i128::try_from(&self.mantissa).ok()?;
        Decimal::new(mantissa, self.scale).ok()
    }

    /// The number as an `i64`, if it is a small integer.
    pub fn to_i64(&self) -> Option<i64> {
        match self.scale {
            0 => i64::try_from(&self.mantissa).ok(),
            _ => None,
        }
    }

    /// Whether it is zero.
    pub fn is_zero(&self) -> bool {
        self.mantissa.sign() == Sign::NoSign
    }

    /// The order of the number and zero.
    pub fn compare_to_zero(&self) -> Ordering {
        self.mantissa.sign().cmp(&Sign::NoSign)
    }

    /// The mantissa for a larger scale.
    fn mantissa_at(&self, scale: u32) -> BigInt {
        match scale - self.scale {
            0 => self.mantissa.clone(),
            more => &self.mantissa * &*power_of_ten(more),
        }
    }

    /// Both mantissas for the larger of the scales, and that.
    fn aligned(&self, other: &Self) -> (BigInt, BigInt, u32) {
        let scale = self.scale.max(other.scale);
        (self.mantissa_at(scale), other.mantissa_at(scale), scale)
    }

    /// The sum.
    pub fn checked_add(&self, other: &Self) -> Option<Self> {
        let (a, b, scale) = self.aligned(other);
        Self::new(a + b, scale)
    }

    /// The difference.
    pub fn checked_subtract(&self, other: &Self) -> Option<Self> {
        let (a, b, scale) = self.aligned(other);
        Self::new(a - b, scale)
    }

    /// The product; too many digits are noticed before it is computed.
    pub fn checked_multiply(&self, other: &Self) -> Option<Self> {
        if self.mantissa.bits() + other.mantissa.bits() > BITS_MAX + 1 {
            return None;
        }
        Self::new(&self.mantissa * &other.mantissa, self.scale + other.scale)
    }

    /// The quotient; the head of this module says which digits are kept.
    pub fn checked_divide(&self, other: &Self) -> Option<Self> {
        if other.is_zero() {
            return None;
        }
        let longest = self.scale.max(other.scale);
        let scale = if longest > SMALL_SCALE {
            longest + QUOTIENT_SCALE
        } else {
            QUOTIENT_SCALE
        };
        let dividend = &self.mantissa * &*power_of_ten(scale + other.scale - self.scale);
        Self::new(dividend / &other.mantissa, scale)
    }

    /// A neighbouring integer.
    pub fn rounded(&self, rounding: Rounding) -> Self {
        if self.scale == 0 {
            return self.clone();
        }
        let unit = &*power_of_ten(self.scale);
        let floor = |mantissa: &BigInt, unit: &BigInt| {
            let (quotient, is_exact) = (mantissa / unit, (mantissa % unit).sign() == Sign::NoSign);
            match mantissa.sign() {
                Sign::Minus if !is_exact => quotient - 1,
                _ => quotient,
            }
        };
        let mantissa = match rounding {
            Rounding::Truncate => &self.mantissa / unit,
            Rounding::Floor => floor(&self.mantissa, unit),
            // The scale is not 0, so the number is no integer.
            Rounding::Ceiling => floor(&self.mantissa, unit) + 1,
            Rounding::HalfUp => floor(&(&self.mantissa * 2 + unit), &(unit * 2)),
        };
        Self { mantissa, scale: 0 }
    }

    /// The nearest double; infinite beyond the largest.
    pub fn to_f64(&self) -> f64 {
        self.to_string()
            .parse()
            .expect("plain decimal notation is a double")
    }

    /// The nearest float; infinite beyond the largest.
    pub fn to_f32(&self) -> f32 {
        self.to_string()
            .parse()
            .expect("plain decimal notation is a float")
    }
}

impl From<i64> for Exact {
    fn from(value: i64) -> Self {
        Self {
            mantissa: value.into(),
            scale: 0,
        }
    }
}

impl From<Decimal> for Exact {
    fn from(value: Decimal) -> Self {
        let number = Self {
            mantissa: units_of(value).into(),
            scale: SMALL_SCALE,
        };
        number.stripped()
    }
}

impl Ord for Exact {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.scale == other.scale {
            return self.mantissa.cmp(&other.mantissa);
        }
        let (a, b, _) = self.aligned(other);
        a.cmp(&b)
    }
}

impl PartialOrd for Exact {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The canonical form: no zeros at either end that are not needed, no point in an integer.
impl std::fmt::Display for Exact {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let digits = self.mantissa.magnitude().to_string();
        let scale = self.scale as usize;
        if self.mantissa.sign() == Sign::Minus {
            f.write_str("-")?;
        }
        if scale == 0 {
            return f.write_str(&digits);
        }
        let (whole, fraction) = match digits.len().checked_sub(scale) {
            Some(at) if at > 0 => digits.split_at(at),
            _ => ("0", digits.as_str()),
        };
        write!(f, "{whole}.{fraction:0>scale$}")
    }
}
