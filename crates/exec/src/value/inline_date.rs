//! The values of inline dates, without their texts, and the instants of values.

use super::{DurationType, POWERS, SCALE_MAX, Value, day_time, of_units, units};
use basalt_rdf::TermId;
use basalt_rdf::inline::dates::{SECONDS_PER_DAY, days_from_civil, split_fraction};
use basalt_rdf::term_id::tag;
use oxsdatatypes::{Date, DateTime, DayTimeDuration, Decimal, Duration, Time};

/// Seconds from 0001-01-01T00:00:00, from where the library counts, to 1970-01-01T00:00:00.
const SECONDS_BEFORE_1970: i64 = -days_from_civil(1, 1, 1) * SECONDS_PER_DAY;
/// What the library has in place of a zone where there is none.
/// The second in which the day begins that values of times of a day are of (XML Schema 1.1, section 3.3.8: 1972-12-31), from 1970.
const DAY_OF_TIMES: i64 = days_from_civil(1972, 12, 31) * SECONDS_PER_DAY;
const NO_ZONE: [u8; 2] = [u8::MAX; 2];

/// The value of an inline `xsd:date`, `xsd:dateTime`, `xsd:time` or `xsd:dayTimeDuration`, as parsing its text gives it; `None` of other ids.
pub fn date_value(id: TermId) -> Option<Value> {
    if let Some((second, fraction)) = id.duration() {
        let length = of_units(units(second, 0) + i128::from(fraction));
        let duration = DayTimeDuration::new(length).into();
        return Some(Value::Duration(duration, DurationType::DayTime));
    }
    match id.split_second() {
        Some((second, fraction)) => with_fraction(second, fraction),
        None => with_fraction(id, 0),
    }
}

/// The same so many units of 10^-18 seconds later, fewer than of a second.
fn with_fraction(id: TermId, fraction: i64) -> Option<Value> {
    let origin = SECONDS_BEFORE_1970
        + match id.tag() {
            tag::DATE | tag::DATE_TIME => 0,
            tag::TIME => DAY_OF_TIMES,
            _ => return None,
        };
    let units = units(id.utc_seconds()? + origin, 0) + i128::from(fraction);
    let mut bytes = [0; 18];
    let (instant, zone) = bytes.split_at_mut(size_of::<Decimal>());
    instant.copy_from_slice(&units.to_be_bytes());
    zone.copy_from_slice(&id.zone_minutes().map_or(NO_ZONE, i16::to_be_bytes));
    Some(match id.tag() {
        tag::DATE => Value::Date(Date::from_be_bytes(bytes)),
        tag::TIME => Value::Time(Time::from_be_bytes(bytes)),
        _ => Value::DateTime(DateTime::from_be_bytes(bytes)),
    })
}

/// The value of an `xsd:dateTime` with a fraction of a second, by its text; `None` of what is not of the common form.
pub fn parse_with_fraction(text: &str) -> Option<Value> {
    let (second, fraction) = split_fraction(text.as_bytes())?;
    with_fraction(second, fraction)
}

/// When an `xsd:date`, `xsd:dateTime` or `xsd:time` begins, or how long a duration without months is.
pub struct Instant {
    /// The tag of inline ids of its type without a fraction of a second.
    pub tag: u8,
    /// The second in which it is, in UTC, since 1970-01-01T00:00:00; without a zone as if in UTC.
    pub second: i64,
    /// What has gone by of it, in units of 10^-18 seconds.
    pub fraction: i64,
    /// Whether it has a zone.
    pub has_zone: bool,
}

/// The instant of a value; `None` of other values and of years that no inline date has.
pub fn instant(value: &Value) -> Option<Instant> {
    let (tag, bytes, origin) = match value {
        Value::Date(date) => (tag::DATE, date.to_be_bytes(), 0),
        Value::DateTime(date_time) => (tag::DATE_TIME, date_time.to_be_bytes(), 0),
        Value::Time(time) => (tag::TIME, time.to_be_bytes(), DAY_OF_TIMES),
        Value::Duration(duration, _) => return of_length(*duration),
        _ => return None,
    };
    let (instant, zone) = bytes.split_at(size_of::<Decimal>());
    let units = i128::from_be_bytes(instant.try_into().ok()?);
    let unit = i128::from(POWERS[usize::from(SCALE_MAX)]);
    let second = i64::try_from(units.div_euclid(unit)).ok()?;
    Some(Instant {
        tag,
        second: second.checked_sub(SECONDS_BEFORE_1970 + origin)?,
        fraction: units.rem_euclid(unit) as i64,
        has_zone: zone != NO_ZONE,
    })
}

/// That of a duration; `None` of one that has months, or is longer than any inline one.
fn of_length(duration: Duration) -> Option<Instant> {
    DayTimeDuration::try_from(duration).ok()?;
    let (second, fraction) = day_time::split(day_time::length(duration));
    Some(Instant {
        tag: tag::DURATION,
        second: i64::try_from(second).ok()?,
        fraction,
        has_zone: false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fractions_are_parsed_as_the_library_does(
            text in "[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-6][0-9]:[0-6][0-9]\\.[0-9]{0,20}(Z|[-+][01][0-9]:[0-5][0-9]|)",
        ) {
            let quick = parse_with_fraction(&text);
            let parsed: Option<DateTime> = text.parse().ok();
            if let Some(quick) = &quick {
                let Value::DateTime(quick) = quick else {
                    return Err(TestCaseError::fail("a dateTime"));
                };
                prop_assert_eq!(Some(quick.to_be_bytes()), parsed.map(|v| v.to_be_bytes()), "{}", text);
            }
        }

        #[test]
        fn instants_are_those_of_values(seconds in -60_000_000_000_i64..250_000_000_000, fraction in 0..1_000_i64, zone in 0..3_usize) {
            let id = basalt_rdf::inline::dates::encode_date_time(seconds, [0, 1, 900][zone]).expect("the year is common");
            let value = with_fraction(id, fraction * 10_i64.pow(15)).expect("a dateTime");
            let instant = instant(&value).expect("a dateTime");
            prop_assert_eq!(Some(instant.second), id.utc_seconds());
            prop_assert_eq!((instant.fraction, instant.has_zone), (fraction * 10_i64.pow(15), zone > 0));
        }
    }
}
