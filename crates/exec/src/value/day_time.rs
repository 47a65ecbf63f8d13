//! Durations: the usual forms of `xsd:dayTimeDuration` read quickly, and what orders all durations.
//!
//! A month counts as a twelfth of the mean year where it is ordered beside days, 30.436875 of them. That lies between what it is from the four dates at which
//! XML Schema compares durations, for any number of months, so it is in the order of `<` wherever that has one.

use super::{SCALE_MAX, of_units, units};
use crate::context::Context;
use basalt_rdf::TermId;
use basalt_rdf::inline::dates::UNITS_OF_SECOND as SECOND;
use basalt_rdf::inline::durations::encode_duration;
use basalt_rdf::qualifiers::InlineForms;
use oxsdatatypes::{DayTimeDuration, Duration};

/// Seconds of a month.
const MONTH: i128 = 2_629_746;
/// Digits of a number of days, hours, minutes or seconds that is read here.
const DIGITS_MAX: usize = 12;

/// An `xsd:dayTimeDuration`; `None` leaves it to the general parser.
pub fn parse(text: &str) -> Option<DayTimeDuration> {
    let bytes = text.as_bytes();
    let (is_negative, bytes) = match bytes.split_first()? {
        (b'-', rest) => (true, rest),
        _ => (false, bytes),
    };
    let mut rest = bytes.strip_prefix(b"P")?;
    let mut length: i128 = 0;
    // Units that may still come, in order.
    let mut steps: &[(u8, i64)] = &[(b'D', 86_400)];
    let (mut is_time, mut has_one) = (false, false);
    while !rest.is_empty() {
        if let Some(time) = rest.strip_prefix(b"T")
            && !is_time
        {
            (rest, is_time, has_one) = (time, true, false);
            steps = &[(b'H', 3600), (b'M', 60), (b'S', 1)];
            continue;
        }
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if digits == 0 || digits > DIGITS_MAX {
            return None;
        }
        let count = number(&rest[..digits]);
        rest = &rest[digits..];
        let mut fraction = 0;
        if let Some(after) = rest.strip_prefix(b".") {
            let digits = after
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            if digits == 0 || digits > usize::from(SCALE_MAX) || after.get(digits) != Some(&b'S') {
                return None;
            }
            fraction = units(number(&after[..digits]), digits as u8);
            rest = &after[digits..];
        }
        let (name, after) = rest.split_first()?;
        let place = steps.iter().position(|(known, _)| known == name)?;
        length += i128::from(count * steps[place].1) * SECOND + fraction;
        steps = &steps[place + 1..];
        (rest, has_one) = (after, true);
    }
    let length = if is_negative { -length } else { length };
    has_one.then(|| DayTimeDuration::new(of_units(length)))
}

/// The number that some digits are.
fn number(digits: &[u8]) -> i64 {
    let add = |number: i64, digit: &u8| number * 10 + i64::from(digit - b'0');
    digits.iter().fold(0, add)
}

/// The length of a duration in units of 10^-18 seconds, which orders them.
pub fn length(duration: Duration) -> i128 {
    let bytes = duration.to_be_bytes();
    let (months, seconds) = bytes.split_at(size_of::<i64>());
    let months = i64::from_be_bytes(months.try_into().unwrap_or_default());
    let seconds = i128::from_be_bytes(seconds.try_into().unwrap_or_default());
    let months = i128::from(months).saturating_mul(MONTH * SECOND);
    months.saturating_add(seconds)
}

/// Whether durations that a query computes are inline, as those of its store are.
pub fn are_inline(cx: &Context) -> bool {
    cx.snapshot().dictionary().qualifiers().forms() >= InlineForms::Durations
}

/// The inline id of a duration without months.
pub fn inline_id(duration: Duration) -> Option<TermId> {
    let (second, fraction) = split(length(duration));
    encode_duration(i64::try_from(second).ok()?, fraction)
}

/// Seconds near a [`length()`], in the order of lengths.
pub fn seconds(length: i128) -> f64 {
    let (second, fraction) = split(length);
    with_fraction(second as f64, fraction)
}

/// Seconds and units of 10^-18 seconds, in the order of both.
#[inline]
pub fn with_fraction(second: f64, fraction: i64) -> f64 {
    second + fraction as f64 / SECOND as f64
}

/// The whole seconds of a length, and the units of the fraction that is left, which is not negative.
///
/// Of usual lengths the nearest double tells the seconds but for one or two, which the rest shows: dividing takes several times as long.
#[inline]
pub fn split(length: i128) -> (i128, i64) {
    /// Seconds of which doubles tell all.
    const TOLD_MAX: f64 = (1_i64 << 52) as f64;
    let near = length as f64 / SECOND as f64;
    if near.abs() >= TOLD_MAX {
        return (length.div_euclid(SECOND), length.rem_euclid(SECOND) as i64);
    }
    let mut second = near as i64;
    let mut rest = length - i128::from(second) * SECOND;
    // Termination: the double is off by less than a second, and cutting its fraction off by less than another.
    while rest < 0 {
        (second, rest) = (second - 1, rest + SECOND);
    }
    while rest >= SECOND {
        (second, rest) = (second + 1, rest - SECOND);
    }
    (second.into(), rest as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxsdatatypes::Decimal;
    use proptest::prelude::*;
    use std::cmp::Ordering;

    proptest! {
        #[test]
        fn what_is_read_is_what_the_parser_reads(
            odd in "-?P([0-9]{1,3}D)?(T?([0-9]{1,2}H)?([0-9]{1,14}M)?([0-9]{0,3}(\\.[0-9]{0,19})?S)?)?( |M|1Y|x)?",
            usual in "-?P[0-9]{1,12}D|-?P([0-9]{1,3}D)?T[0-9]{1,2}H([0-9]{1,12}M)?([0-9]{1,3}(\\.[0-9]{1,18})?S)?",
        ) {
            let known = |text: &str| text.parse::<DayTimeDuration>().ok();
            let read = parse(&odd);
            prop_assert!(read.is_none() || read == known(&odd), "{odd}: {read:?}");
            let read = parse(&usual);
            prop_assert!(read.is_some() && read == known(&usual), "{usual}: {read:?}");
        }

        #[test]
        fn lengths_are_split_as_by_division(
            (seconds, shift) in (any::<i64>(), 0..64_u32),
            near in -3..3_i128,
            fraction in prop_oneof![Just(0), 0..SECOND],
        ) {
            let length = i128::from(seconds >> shift) * SECOND + fraction + near;
            prop_assert_eq!(split(length), (length.div_euclid(SECOND), length.rem_euclid(SECOND) as i64));
        }

        #[test]
        fn lengths_are_in_the_order_of_comparison(
            (a, b) in ((-2000..2000_i64, -900..900_i64), (-2000..2000_i64, -900..900_i64)),
            (near, part) in (0..3_i64, 0..3_i64),
        ) {
            let duration = |months: i64, days: i64, units: i64| {
                let units = i128::from(days) * 86_400 * SECOND + i128::from(units);
                // Of two signs there is none.
                let same = months == 0 || units == 0 || (months > 0) == (units > 0);
                let months = if same { months } else { 0 };
                Duration::new(months, Decimal::from_be_bytes(units.to_be_bytes())).ok()
            };
            let (Some(x), Some(y)) = (duration(a.0, a.1, part), duration(b.0, b.1, 0)) else {
                return Ok(());
            };
            // About as many days as the months have.
            let days = (a.0 * 30_436_875).div_euclid(1_000_000) + near - 1;
            let z = duration(0, days, part).expect("days alone");
            let months = duration(a.0, 0, 0).expect("months alone");
            for (x, y) in [(x, y), (months, z), (z, months)] {
                match x.partial_cmp(&y) {
                    Some(Ordering::Equal) => prop_assert_eq!(length(x), length(y)),
                    Some(order) => prop_assert_eq!(length(x).cmp(&length(y)), order, "{} {}", x, y),
                    None => {}
                }
            }
            let (second, fraction) = split(length(x));
            prop_assert_eq!(second * SECOND + i128::from(fraction), length(x));
        }
    }
}
