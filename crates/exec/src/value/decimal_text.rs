//! Texts of decimals: the canonical one, and back, without a division of 128 bits for each digit.

use super::short_number::{POWERS, SCALE_MAX, of_units, units_of};
use oxsdatatypes::Decimal;

/// Units of 10^-18 in one.
const UNIT: u128 = POWERS[SCALE_MAX as usize] as u128;
/// Digits that a word holds, whatever they are.
const WORD_DIGITS: usize = 19;

/// The canonical text: no zeros at either end, and no point without digits behind it.
pub fn decimal_text(value: Decimal) -> String {
    let units = units_of(value);
    let (size, sign) = (units.unsigned_abs(), if units < 0 { "-" } else { "" });
    let (whole, mut fraction) = (size / UNIT, (size % UNIT) as u64);
    if fraction == 0 {
        return format!("{sign}{whole}");
    }
    let mut digits = usize::from(SCALE_MAX);
    while fraction % 10 == 0 {
        fraction /= 10;
        digits -= 1;
    }
    format!("{sign}{whole}.{fraction:0digits$}")
}

/// The decimal of a text of digits with a point among them or none, and of few enough; `None` leaves it to the general parser.
pub fn parse_decimal(text: &str) -> Option<Decimal> {
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() || fraction.len() > usize::from(SCALE_MAX) {
        return None;
    }
    let missing = usize::from(SCALE_MAX) - fraction.len();
    let fraction = u128::from(word(fraction)?) * POWERS[missing] as u128;
    // 10^19 * 10^18 is less than 2^127.
    let size = (u128::from(word(whole)?) * UNIT + fraction) as i128;
    let units = if is_negative { -size } else { size };
    Some(of_units(units))
}

/// The number of some digits, at most [`WORD_DIGITS`].
fn word(digits: &str) -> Option<u64> {
    if digits.len() > WORD_DIGITS {
        return None;
    }
    digits.bytes().try_fold(0_u64, |word, byte| {
        let digit = byte.wrapping_sub(b'0');
        (digit < 10).then(|| word * 10 + u64::from(digit))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn texts_are_those_of_the_library(units: i128, shift in 0..127_u32, zeros in 0..37_u32) {
            let units = units >> shift;
            let units = units - units % 10_i128.pow(zeros);
            let text = decimal_text(of_units(units));
            prop_assert_eq!(&text, &of_units(units).to_string());
            let parsed = parse_decimal(&text);
            prop_assert!(parsed.is_none_or(|parsed| parsed == of_units(units)));
            prop_assert!(parsed.is_some() || text.len() > WORD_DIGITS);
        }

        #[test]
        fn any_text_is_read_as_the_library_does(text in "[-+]?[0-9]{0,21}[.]?[0-9]{0,20}[ae]?") {
            if let Some(parsed) = parse_decimal(&text) {
                prop_assert_eq!(Some(parsed), text.parse().ok());
            }
        }
    }
}
