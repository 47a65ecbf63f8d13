//! Inline dates: `xsd:date`, `xsd:dateTime`, `xsd:gYear` and `xsd:gYearMonth`.
//!
//! Years 0001 to 9999, real calendar days, whole seconds before 24:00:00. The zone is kept as a code
//! of twelve bits: [`ZONE_NONE`], [`ZONE_Z`], or two plus the offset in minutes plus 840 (`-00:00`
//! would not come back as written and is not inline).
//!
//! **The stored instant is the local time as written**, so that it can be written again. To compare
//! values with different zone codes, subtract the zone first: [`TermId::utc_seconds`] does.
//!
//! Cost: a few divisions per value; no tables, no allocation.

use std::ops::RangeInclusive;

use crate::term_id::{TermId, tag};

/// Zone code of a value without a zone.
pub const ZONE_NONE: u16 = 0;
/// Zone code of `Z`.
pub const ZONE_Z: u16 = 1;
/// Bits of the zone code.
pub const ZONE_BITS: u32 = 12;
/// Mask of the zone code in the payload.
pub const ZONE_MASK: u64 = (1 << ZONE_BITS) - 1;
/// Minutes of the widest offset, 14 hours.
const ZONE_MINUTES_MAX: i16 = 14 * 60;
/// Zone code of the offset `+00:00`.
const ZONE_ZERO_OFFSET: i16 = 2 + ZONE_MINUTES_MAX;
/// Bias of days, years and months.
const DAY_BIAS: i64 = 1 << 39;
/// Bias of seconds.
const SECOND_BIAS: i64 = 1 << 43;
/// Seconds of a day.
pub const SECONDS_PER_DAY: i64 = 86_400;

/// The days that can be inline: 0001-01-01 to 9999-12-31.
const DAYS: RangeInclusive<i64> = days_from_civil(1, 1, 1)..=days_from_civil(9999, 12, 31);

/// Days from 1970-01-01 to a day of the proleptic Gregorian calendar.
///
/// Years are counted from March, so that the leap day is the last of its year; 719,468 days lie
/// between 0000-03-01 and 1970-01-01.
pub const fn days_from_civil(year: i64, month: u8, day: u8) -> i64 {
    let march_year = if month <= 2 { year - 1 } else { year };
    let era = march_year.div_euclid(400);
    let year_of_era = march_year.rem_euclid(400);
    let march_month = (month as i64 + 9) % 12;
    let day_of_year = (153 * march_month + 2) / 5 + day as i64 - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Year, month and day of a day counted from 1970-01-01; the inverse of [`days_from_civil`].
pub const fn civil_from_days(days: i64) -> (i64, u8, u8) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * day_of_year + 2) / 153;
    let day = (day_of_year - (153 * march_month + 2) / 5 + 1) as u8;
    let month = if march_month < 10 {
        march_month + 3
    } else {
        march_month - 9
    } as u8;
    let year = year_of_era + era * 400 + (month <= 2) as i64;
    (year, month, day)
}

/// Days of a month.
const fn days_in_month(year: i64, month: u8) -> u8 {
    match month {
        4 | 6 | 9 | 11 => 30,
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        _ => 31,
    }
}

/// The id of an `xsd:date`, by days since 1970-01-01; `None` outside years 1 to 9999.
pub fn encode_date(days: i64, zone_code: u16) -> Option<TermId> {
    (DAYS.contains(&days) && is_zone_code(zone_code))
        .then(|| pack(tag::DATE, days + DAY_BIAS, zone_code))
}

/// The id of an `xsd:dateTime`, by seconds of the local time since 1970-01-01T00:00:00; `None`
/// outside years 1 to 9999.
pub fn encode_date_time(local_seconds: i64, zone_code: u16) -> Option<TermId> {
    (DAYS.contains(&local_seconds.div_euclid(SECONDS_PER_DAY)) && is_zone_code(zone_code))
        .then(|| pack(tag::DATE_TIME, local_seconds + SECOND_BIAS, zone_code))
}

/// The code of an offset from UTC in minutes, as `±hh:mm`; `None` beyond 14 hours.
pub const fn zone_code_of_offset(minutes: i16) -> Option<u16> {
    if minutes >= -ZONE_MINUTES_MAX && minutes <= ZONE_MINUTES_MAX {
        Some((minutes + ZONE_ZERO_OFFSET) as u16)
    } else {
        None
    }
}

impl TermId {
    /// The zone code of an inline date; meaningless for other ids.
    #[inline]
    pub const fn zone_code(self) -> u16 {
        (self.payload() & ZONE_MASK) as u16
    }

    /// The offset from UTC in minutes of an inline date; `None` without a zone.
    #[inline]
    pub const fn zone_minutes(self) -> Option<i16> {
        match self.zone_code() {
            ZONE_NONE => None,
            ZONE_Z => Some(0),
            code => Some(code as i16 - ZONE_ZERO_OFFSET),
        }
    }

    /// Days since 1970-01-01 of an `xsd:date`, in its own zone.
    #[inline]
    pub const fn date_days(self) -> Option<i64> {
        if self.tag() == tag::DATE {
            Some(unpack(self, DAY_BIAS))
        } else {
            None
        }
    }

    /// Seconds since 1970-01-01T00:00:00 of an `xsd:dateTime`, in its own zone.
    #[inline]
    pub const fn date_time_seconds(self) -> Option<i64> {
        if self.tag() == tag::DATE_TIME {
            Some(unpack(self, SECOND_BIAS))
        } else {
            None
        }
    }

    /// The year of an `xsd:gYear`.
    #[inline]
    pub const fn g_year(self) -> Option<i64> {
        if self.tag() == tag::G_YEAR {
            Some(unpack(self, DAY_BIAS))
        } else {
            None
        }
    }

    /// Year and month (1 to 12) of an `xsd:gYearMonth`.
    #[inline]
    pub const fn g_year_month(self) -> Option<(i64, u8)> {
        if self.tag() != tag::G_YEAR_MONTH {
            return None;
        }
        let months = unpack(self, DAY_BIAS);
        Some((months.div_euclid(12), months.rem_euclid(12) as u8 + 1))
    }

    /// First second of an inline date of any of the four kinds, in its own zone.
    pub const fn local_seconds(self) -> Option<i64> {
        let days = match self.tag() {
            tag::DATE_TIME => return Some(unpack(self, SECOND_BIAS)),
            tag::DATE => unpack(self, DAY_BIAS),
            tag::G_YEAR => days_from_civil(unpack(self, DAY_BIAS), 1, 1),
            tag::G_YEAR_MONTH => {
                let months = unpack(self, DAY_BIAS);
                days_from_civil(months.div_euclid(12), months.rem_euclid(12) as u8 + 1, 1)
            }
            _ => return None,
        };
        Some(days * SECONDS_PER_DAY)
    }

    /// First second of an inline date in UTC; a value without a zone is taken as if in UTC.
    pub const fn utc_seconds(self) -> Option<i64> {
        match (self.local_seconds(), self.zone_minutes()) {
            (Some(seconds), Some(minutes)) => Some(seconds - minutes as i64 * 60),
            (seconds, _) => seconds,
        }
    }
}

/// Puts an id together from a biased number and a zone code.
fn pack(tag: u8, biased: i64, zone_code: u16) -> TermId {
    debug_assert!(biased > 0);
    TermId::new(tag, (biased as u64) << ZONE_BITS | u64::from(zone_code))
}

/// The number in an id, without its bias.
const fn unpack(id: TermId, bias: i64) -> i64 {
    (id.payload() >> ZONE_BITS) as i64 - bias
}

fn is_year_and_zone(year: i64, zone_code: u16) -> bool {
    is_year(year) && is_zone_code(zone_code)
}

fn is_year(year: i64) -> bool {
    (1..=9999).contains(&year)
}

fn is_zone_code(code: u16) -> bool {
    i32::from(code) <= i32::from(ZONE_ZERO_OFFSET + ZONE_MINUTES_MAX)
}

/// The number of exactly these digits.
fn digits(bytes: &[u8]) -> Option<i64> {
    let mut value = 0;
    for &byte in bytes {
        if !byte.is_ascii_digit() {
            return None;
        }
        value = value * 10 + i64::from(byte - b'0');
    }
    Some(value)
}

/// `YYYY` at the start.
fn take_year(lexical: &[u8]) -> Option<(i64, &[u8])> {
    let (year, rest) = lexical.split_at_checked(4)?;
    let year = digits(year)?;
    is_year(year).then_some((year, rest))
}

/// A separator and two digits between the bounds.
fn take_two(lexical: &[u8], separator: u8, low: i64, high: i64) -> Option<(i64, &[u8])> {
    let [first, tens, ones, rest @ ..] = lexical else {
        return None;
    };
    let value = digits(&[*tens, *ones])?;
    (*first == separator && low <= value && value <= high).then_some((value, rest))
}

fn take_day(lexical: &[u8]) -> Option<(i64, &[u8])> {
    let (year, rest) = take_year(lexical)?;
    let (month, rest) = take_two(rest, b'-', 1, 12)?;
    let (day, rest) = take_two(rest, b'-', 1, i64::from(days_in_month(year, month as u8)))?;
    Some((days_from_civil(year, month as u8, day as u8), rest))
}

/// The zone code of the rest of a lexical form.
fn parse_zone(rest: &[u8]) -> Option<u16> {
    let sign = match rest {
        [] => return Some(ZONE_NONE),
        b"Z" => return Some(ZONE_Z),
        [b'+', ..] => 1,
        [b'-', ..] => -1,
        _ => return None,
    };
    let (hours, after) = take_two(rest, rest[0], 0, 14)?;
    let (minutes, after) = take_two(after, b':', 0, 59)?;
    let offset = sign * (hours * 60 + minutes) as i16;
    if !after.is_empty() || (sign < 0 && offset == 0) {
        return None;
    }
    zone_code_of_offset(offset)
}

/// The id of an `xsd:date` by its lexical form.
pub(super) fn encode_date_form(lexical: &[u8]) -> Option<TermId> {
    let (days, rest) = take_day(lexical)?;
    Some(pack(tag::DATE, days + DAY_BIAS, parse_zone(rest)?))
}

/// The id of an `xsd:dateTime` by its lexical form.
pub(super) fn encode_date_time_form(lexical: &[u8]) -> Option<TermId> {
    let (days, rest) = take_day(lexical)?;
    let (hour, rest) = take_two(rest, b'T', 0, 23)?;
    let (minute, rest) = take_two(rest, b':', 0, 59)?;
    let (second, rest) = take_two(rest, b':', 0, 59)?;
    let seconds = days * SECONDS_PER_DAY + hour * 3600 + minute * 60 + second;
    Some(pack(
        tag::DATE_TIME,
        seconds + SECOND_BIAS,
        parse_zone(rest)?,
    ))
}

/// The id of an `xsd:gYear` by its lexical form.
pub(super) fn encode_year_form(lexical: &[u8]) -> Option<TermId> {
    let (year, rest) = take_year(lexical)?;
    Some(pack(tag::G_YEAR, year + DAY_BIAS, parse_zone(rest)?))
}

/// The id of an `xsd:gYearMonth` by its lexical form.
pub(super) fn encode_year_month_form(lexical: &[u8]) -> Option<TermId> {
    let (year, rest) = take_year(lexical)?;
    let (month, rest) = take_two(rest, b'-', 1, 12)?;
    Some(pack(
        tag::G_YEAR_MONTH,
        year * 12 + month - 1 + DAY_BIAS,
        parse_zone(rest)?,
    ))
}

/// Appends the lexical form of an inline date; `false`, having appended nothing, if its payload is
/// not a valid one.
pub(super) fn write_lexical(id: TermId, text: &mut String) -> bool {
    let zone_code = id.zone_code();
    let (days, second_of_day) = match id.tag() {
        tag::DATE_TIME => {
            let seconds = unpack(id, SECOND_BIAS);
            (
                seconds.div_euclid(SECONDS_PER_DAY),
                seconds.rem_euclid(SECONDS_PER_DAY),
            )
        }
        tag::DATE => (unpack(id, DAY_BIAS), 0),
        tag::G_YEAR => (days_from_civil(unpack(id, DAY_BIAS), 1, 1), 0),
        _ => match id.g_year_month() {
            Some((year, month)) => (days_from_civil(year, month, 1), 0),
            None => return false,
        },
    };
    let (year, month, day) = civil_from_days(days);
    if !is_year_and_zone(year, zone_code) {
        return false;
    }
    push_two(text, year / 100);
    push_two(text, year % 100);
    if id.tag() != tag::G_YEAR {
        text.push('-');
        push_two(text, i64::from(month));
    }
    if matches!(id.tag(), tag::DATE | tag::DATE_TIME) {
        text.push('-');
        push_two(text, i64::from(day));
    }
    if id.tag() == tag::DATE_TIME {
        text.push('T');
        push_two(text, second_of_day / 3600);
        text.push(':');
        push_two(text, second_of_day / 60 % 60);
        text.push(':');
        push_two(text, second_of_day % 60);
    }
    push_zone(text, zone_code);
    true
}

fn push_two(text: &mut String, number: i64) {
    text.push(char::from(b'0' + (number / 10) as u8));
    text.push(char::from(b'0' + (number % 10) as u8));
}

fn push_zone(text: &mut String, zone_code: u16) {
    match zone_code {
        ZONE_NONE => {}
        ZONE_Z => text.push('Z'),
        code => {
            let offset = code as i16 - ZONE_ZERO_OFFSET;
            text.push(if offset < 0 { '-' } else { '+' });
            push_two(text, i64::from(offset.abs() / 60));
            text.push(':');
            push_two(text, i64::from(offset.abs() % 60));
        }
    }
}
