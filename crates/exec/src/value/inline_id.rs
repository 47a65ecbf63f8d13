//! The inline ids of computed numbers: those of their canonical texts, where these are short and in plain notation.
//!
//! Most texts of floats need not be written: the shortest decimal number that is nearest to a float is found by arithmetic
//! ([`short_float`]), some 30 ns instead of 110.

use super::inline::nearest_f32;
use basalt_rdf::TermId;
use basalt_rdf::inline::numeric::{parse_plain_decimal, to_f64};
use basalt_rdf::qualifiers::{DOUBLE, FLOAT};
use basalt_rdf::term_id::MANTISSA_BIAS;
use std::fmt::{Display, Write};

/// Digits that tell every float, at most.
const FLOAT_DIGITS_MAX: u8 = 9;
/// Digits that a decimal number may have to be the only one of so many with its nearest double.
const DOUBLE_DIGITS: u8 = 15;
/// Digits that most floats with a fraction need.
const FLOAT_DIGITS: u8 = 7;
/// Floats from the one to below the other are found by arithmetic.
const FLOAT_MIN: f64 = 1e-2;
const FLOAT_LIMIT: f64 = 1e7;
/// Two decimal numbers count as equally near if the float is so near to the middle between them: many times what
/// rounding makes of it.
const MIDDLE: f64 = 1e-3;

/// The inline id of a float of common size; `None` leaves it to [`short_text`].
///
/// Of the numbers with so many digits after the point the nearest is what the text has if any of them denotes the float, so the
/// fewest digits are sought. What is multiplied and divided here are integers and floats of so few digits that doubles hold the
/// result, rounded once.
pub fn short_float(value: f32) -> Option<TermId> {
    let size = f64::from(value.abs());
    if !(FLOAT_MIN..FLOAT_LIMIT).contains(&size) {
        return None;
    }
    let (mut places, mut power) = (0, 1.0);
    while power <= size {
        places += 1;
        power *= 10.0;
    }
    let tried = FLOAT_DIGITS.saturating_sub(places);
    let mut scale = tried;
    let mut mantissa = loop {
        match denoting(size, scale)? {
            Some(mantissa) => break mantissa,
            None if scale < FLOAT_DIGITS_MAX => scale += 1,
            // A small one, whose leading zeros count here.
            None => return None,
        }
    };
    // Where more digits were needed, fewer are known not to do.
    let may_be_shorter = scale == tried;
    while may_be_shorter && scale > 0 {
        if mantissa % 10 == 0 {
            // The same number, which is the nearest with one digit less too.
            mantissa /= 10;
        } else if let Some(shorter) = denoting(size, scale - 1)? {
            mantissa = shorter;
        } else {
            break;
        }
        scale -= 1;
    }
    let mantissa = if value < 0.0 { -mantissa } else { mantissa };
    TermId::numeric(FLOAT, mantissa, scale)
}

/// The nearest multiple of 10^-scale, times 10^scale, if it denotes the float; nothing at all if that is not known, or if two
/// multiples are as near.
fn denoting(size: f64, scale: u8) -> Option<Option<i64>> {
    let multiple = size * POWERS[usize::from(scale)];
    let mantissa = multiple.round();
    if f64::from(nearest_f32(to_f64(mantissa as i64, scale))?) != size {
        return Some(None);
    }
    let is_between = (multiple.fract() - 0.5).abs() < MIDDLE;
    (!is_between).then_some(Some(mantissa as i64))
}

/// Ten to the power of each scale that is tried.
const POWERS: [f64; FLOAT_DIGITS_MAX as usize + 1] =
    [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];

/// The inline id of a double that is the nearest one to a decimal number of few digits, which are those of its text then; that it has none if
/// its text has more digits than any id; `None` leaves it to [`short_text`].
///
/// No two numbers of so many digits have the same nearest double (`DBL_DIG` of C), so the text, which has as few digits as any that
/// denotes the double, has those of the only such number. Multiplying is off by less than half of its last digit, and the division
/// is of integers that doubles hold, rounded once.
pub fn short_double(value: f64) -> Option<Option<TermId>> {
    const LIMIT: f64 = 1e15;
    let size = value.abs();
    let is_negative_zero = value == 0.0 && value.is_sign_negative();
    if !(0.0..LIMIT).contains(&size) || is_negative_zero {
        return None;
    }
    // The value is far from what words hold.
    let whole = value as i64;
    if whole as f64 == value {
        return Some(TermId::numeric(DOUBLE, whole, 0));
    }
    let mut scale = DOUBLE_DIGITS;
    let mut whole = size;
    while whole >= 1.0 && scale > 0 {
        whole /= 10.0;
        scale -= 1;
    }
    let power = ten_to(scale);
    let multiple = (size * power).round();
    if multiple >= LIMIT || multiple / power != size {
        // One digit more, behind the point or in the mantissa, may still be short.
        let is_long = scale == DOUBLE_DIGITS || multiple * 10.0 > 1.01 * MANTISSA_BIAS as f64;
        return is_long.then_some(None);
    }
    let mut mantissa = multiple as i64;
    while scale > 0 && mantissa % 10 == 0 {
        mantissa /= 10;
        scale -= 1;
    }
    let mantissa = if value < 0.0 { -mantissa } else { mantissa };
    Some(TermId::numeric(DOUBLE, mantissa, scale))
}

/// Ten to a power of few digits, exactly.
fn ten_to(power: u8) -> f64 {
    super::short_number::POWERS[usize::from(power)] as f64
}

/// The inline id of a number by its canonical text, if that is short and in plain notation.
pub fn short_text(code: u8, number: &impl Display) -> Option<TermId> {
    let mut text = ShortText::default();
    write!(text, "{number}").ok()?;
    let (mantissa, scale) = parse_plain_decimal(&text.bytes[..text.len])?;
    TermId::numeric(code, mantissa, scale)
}

/// A text of a few bytes that takes no allocation; what is longer is an error.
#[derive(Default)]
struct ShortText {
    bytes: [u8; 24],
    len: usize,
}

impl Write for ShortText {
    fn write_str(&mut self, more: &str) -> std::fmt::Result {
        let end = self.len + more.len();
        let place = self.bytes.get_mut(self.len..end).ok_or(std::fmt::Error)?;
        place.copy_from_slice(more.as_bytes());
        self.len = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxsdatatypes::{Double, Float};
    use proptest::prelude::*;

    fn check(value: f32) {
        let text = short_text(FLOAT, &Float::from(value));
        let id = short_float(value);
        assert!(id.is_none() || id == text, "{value}: {id:?} {text:?}");
    }

    #[test]
    fn floats_have_the_ids_of_their_texts() {
        let (first, last) = (1e-3_f32.to_bits(), 1e8_f32.to_bits());
        for bits in (first..last).step_by(1009) {
            check(f32::from_bits(bits));
            check(-f32::from_bits(bits));
        }
        // Short ones, and their neighbours.
        for mantissa in 0..20_000_u32 {
            for power in [1.0, 10.0, 100.0, 1e3, 1e4, 1e6] {
                let value = (f64::from(mantissa) / power) as f32;
                check(value);
                check(f32::from_bits(value.to_bits() + 1));
            }
        }
    }

    proptest! {
        #[test]
        fn doubles_have_the_ids_of_their_texts(
            mantissa in -(1_i64 << 53)..1 << 53,
            shift in 0..53_u32,
            scale in 0..20_i32,
            ulps in -1..2_i64,
            any: f64,
        ) {
            let short = (mantissa >> shift) as f64 / 10_f64.powi(scale);
            let near = f64::from_bits(short.to_bits().saturating_add_signed(ulps));
            for value in [short, near, any, any.trunc(), f64::from(any as f32)] {
                let id = short_double(value);
                let text = short_text(DOUBLE, &Double::from(value));
                prop_assert!(id.is_none_or(|id| id == text), "{value}: {id:?} {text:?}");
            }
        }
    }

    #[test]
    fn short_doubles_need_no_text() {
        for cents in (1..10_000_000_i64).step_by(37) {
            assert!(short_double(cents as f64 / 100.0).is_some(), "{cents}");
        }
        for value in [-0.0, f64::NAN, f64::INFINITY, 1e15, 4.0 / 3.0] {
            assert_eq!(short_double(value), None, "{value}");
        }
        for value in [1.0 / 3.0, 1e-9 / 7.0, 20.0 / 3.0, 1e14 / 3.0] {
            assert_eq!(short_double(value), Some(None), "{value}");
        }
    }

    #[test]
    fn middles_are_left_to_the_text() {
        // Halfway between two numbers of one digit after the point, both of which denote it.
        assert_eq!(short_float(1_048_576.0 + 0.25), None);
        for eighth in 0..8_u16 {
            check(1_048_576.0 + f32::from(eighth) / 8.0);
        }
        for value in [
            0.0,
            -0.0,
            f32::NAN,
            f32::INFINITY,
            f32::MIN_POSITIVE,
            f32::MAX,
        ] {
            assert_eq!(short_float(value), None);
        }
    }

    #[test]
    fn most_common_floats_need_no_text() {
        let values = (1..100_000_u32).map(|n| n as f32 / 97.0);
        let found = values.filter(|&value| short_float(value).is_some());
        assert!(found.count() > 99_000);
    }
}
