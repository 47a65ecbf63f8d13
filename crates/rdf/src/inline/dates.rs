//! Inline dates: `xsd:date`, `xsd:dateTime`, `xsd:gYear`, `xsd:gYearMonth` and `xsd:time`.
//!
//! Years 0001 to 9999, real calendar days, seconds before 24:00:00; dates and times with a fraction have tags of their own ([`fractions`]), times of a day have
//! none. An `xsd:time` is counted as an `xsd:dateTime` of 1970-01-01. The zone is kept as a code
//! of twelve bits: [`ZONE_NONE`], [`ZONE_Z`], or two plus the offset in minutes plus 840 (`-00:00`
//! would not come back as written and is not inline).
//!
//! **The stored instant is the local time as written**, so that it can be written again. To compare
//! values with different zone codes, subtract the zone first: [`TermId::utc_seconds`] does.
//!
//! Cost: a few divisions per value; no tables, no allocation.

use std::ops::RangeInclusive;

use super::{durations, fractions};
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
/// Units of 10^-18 of a second.
pub const UNITS_OF_SECOND: i128 = 10_i128.pow(18);
/// Bias of days, years and months.
pub(super) const DAY_BIAS: i64 = 1 << 39;
/// Bias of seconds.
pub(super) const SECOND_BIAS: i64 = 1 << 43;
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
    era * DAYS_OF_ERA + day_of_era - DAYS_BEFORE_1970
}

/// A number of years or months whose seconds a word holds: itself, or an end that no inline date is beyond.
const fn near(number: i64) -> i64 {
    const MOST: i64 = 1 << 32;
    const LEAST: i64 = -MOST;
    match number {
        ..LEAST => LEAST,
        MOST.. => MOST,
        number => number,
    }
}

/// Days of 400 years, after which the calendar repeats.
const DAYS_OF_ERA: i64 = 146_097;
/// Days from 0000-03-01 to 1970-01-01.
const DAYS_BEFORE_1970: i64 = 719_468;

/// Year, month and day of a day counted from 1970-01-01; the inverse of [`days_from_civil`].
///
/// Multiplications and shifts of words that hold all days of years 0 to 9999 (Neri and Schneider, "Euclidean affine functions and
/// their application to calendar algorithms", Software: Practice and Experience, 2023, figure 12); other days are moved by whole eras first.
#[inline]
pub const fn civil_from_days(days: i64) -> (i64, u8, u8) {
    const DAYS_MAX: i64 = 1 << 28;
    let shifted = days + DAYS_BEFORE_1970;
    if 0 <= shifted && shifted < DAYS_MAX {
        return civil_from_march(shifted as u32);
    }
    let (year, month, day) = civil_from_march(shifted.rem_euclid(DAYS_OF_ERA) as u32);
    (year + 400 * shifted.div_euclid(DAYS_OF_ERA), month, day)
}

/// The same of a day counted from 0000-03-01, below 2^28.
#[inline]
const fn civil_from_march(day: u32) -> (i64, u8, u8) {
    let quarters = 4 * day + 3;
    let (century, day_of_century) = (quarters / 146_097, quarters % 146_097 / 4);
    let product = 2_939_745 * (4 * day_of_century + 3) as u64;
    let year_of_century = (product >> 32) as u32;
    let day_of_year = product as u32 / 2_939_745 / 4;
    let months = 2141 * day_of_year + 197_913;
    let (march_month, day) = ((months >> 16) as u8, (months as u16 / 2141) as u8 + 1);
    // Years are counted from March here.
    let is_next_year = day_of_year >= 306;
    let year = (100 * century + year_of_century) as i64 + is_next_year as i64;
    let month = if is_next_year {
        march_month - 12
    } else {
        march_month
    };
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

/// The id of an `xsd:gYear`; `None` outside years 1 to 9999.
pub fn encode_year(year: i64, zone_code: u16) -> Option<TermId> {
    is_year_and_zone(year, zone_code).then(|| pack(tag::G_YEAR, year + DAY_BIAS, zone_code))
}

/// The id of an `xsd:gYearMonth`, the month counting from 1; `None` outside years 1 to 9999.
pub fn encode_year_month(year: i64, month: u8, zone_code: u16) -> Option<TermId> {
    let months = year * 12 + i64::from(month) - 1;
    let is_month = (1..=12).contains(&month);
    (is_month && is_year_and_zone(year, zone_code))
        .then(|| pack(tag::G_YEAR_MONTH, months + DAY_BIAS, zone_code))
}

/// The id of an `xsd:time` by its lexical form.
pub(super) fn encode_time_form(lexical: &[u8]) -> Option<TermId> {
    let (seconds, rest) = take_time_of_day(lexical, None)?;
    Some(pack(tag::TIME, seconds + SECOND_BIAS, parse_zone(rest)?))
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
    /// Whether it is an inline date of any type, a time of a day or a duration.
    #[inline]
    pub const fn is_temporal(self) -> bool {
        matches!(self.tag(), tag::DATE..=tag::DURATION_MICROS)
    }

    /// The zone code of an inline date, a duration being without a zone; meaningless for other ids.
    #[inline]
    pub const fn zone_code(self) -> u16 {
        match fractions::zone_code(self) {
            None if self.is_duration() => ZONE_NONE,
            Some(code) => code,
            None => (self.payload() & ZONE_MASK) as u16,
        }
    }

    /// The zone code of an inline date as its value is written: `Z` of an offset of nothing.
    #[inline]
    pub const fn canonical_zone_code(self) -> u16 {
        let code = self.zone_code();
        if code == ZONE_ZERO_OFFSET as u16 {
            ZONE_Z
        } else {
            code
        }
    }

    /// The offset from UTC in minutes of an inline date; `None` without a zone.
    #[inline]
    pub const fn zone_minutes(self) -> Option<i16> {
        match self.zone_code() {
            ZONE_NONE => None,
            ZONE_Z => Some(0),
            code => Some(offset_of_zone_code(code)),
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

    /// Seconds since 1970-01-01T00:00:00 of an `xsd:dateTime` with whole seconds, in its own zone.
    #[inline]
    pub const fn date_time_seconds(self) -> Option<i64> {
        if self.tag() == tag::DATE_TIME {
            Some(unpack(self, SECOND_BIAS))
        } else {
            None
        }
    }

    /// The second of its day in which an inline `xsd:dateTime` or `xsd:time` is, in its own zone.
    #[inline]
    pub const fn second_of_day(self) -> Option<i64> {
        let has_time = self.has_fraction() || matches!(self.tag(), tag::DATE_TIME | tag::TIME);
        match self.local_seconds() {
            Some(seconds) if has_time => Some(seconds.rem_euclid(SECONDS_PER_DAY)),
            _ => None,
        }
    }

    /// How inline `xsd:date`s, `xsd:dateTime`s, `xsd:time`s and durations of this tag count time.
    pub fn time_scale(self) -> Option<TimeScale> {
        match self.tag() {
            tag::DATE => Some(TimeScale {
                origin: 0,
                unit: UNITS_OF_SECOND * i128::from(SECONDS_PER_DAY),
                range: (*DAYS.start(), *DAYS.end()),
            }),
            tag::DATE_TIME => Some(TimeScale {
                origin: 0,
                unit: UNITS_OF_SECOND,
                range: (
                    *DAYS.start() * SECONDS_PER_DAY,
                    (*DAYS.end() + 1) * SECONDS_PER_DAY - 1,
                ),
            }),
            tag::TIME => Some(TimeScale {
                origin: 0,
                unit: UNITS_OF_SECOND,
                range: (0, SECONDS_PER_DAY - 1),
            }),
            _ => fractions::scale(self).or_else(|| durations::scale(self)),
        }
    }

    /// That of this tag and zone at another local time, which is in the range of its [`TimeScale`].
    pub fn with_time(self, time: i64) -> Self {
        let other = fractions::with_time(self, time);
        match other.or_else(|| durations::with_length(self, time)) {
            Some(id) => id,
            None if self.tag() == tag::DATE => pack(tag::DATE, time + DAY_BIAS, self.zone_code()),
            None if self.tag() == tag::TIME => {
                pack(tag::TIME, time + SECOND_BIAS, self.zone_code())
            }
            None => pack_seconds(time, self.zone_code()),
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

    /// Year, month and day of an `xsd:date` or `xsd:dateTime`, in its own zone.
    #[inline]
    pub const fn civil_date(self) -> Option<(i64, u8, u8)> {
        /// Seconds before and after 1970 of years that words hold as unsigned ones.
        const BEFORE_1970: i64 = DAYS_BEFORE_1970 * SECONDS_PER_DAY;
        const AFTER_1970: i64 = *DAYS.end() * SECONDS_PER_DAY;
        match self.tag() {
            tag::DATE_TIME => {
                let seconds = unpack(self, SECOND_BIAS);
                if -BEFORE_1970 <= seconds && seconds < AFTER_1970 {
                    let day = (seconds + BEFORE_1970) as u64 / SECONDS_PER_DAY as u64;
                    return Some(civil_from_march(day as u32));
                }
                Some(civil_from_days(seconds.div_euclid(SECONDS_PER_DAY)))
            }
            tag::DATE => Some(civil_from_days(unpack(self, DAY_BIAS))),
            _ => match fractions::local_day(self) {
                Some(day) => Some(civil_from_days(day)),
                None => None,
            },
        }
    }

    /// The second in which an inline date of any type begins, in its own zone; the whole seconds of a duration.
    ///
    /// Ascends with the ids of a tag, those that no value has among them: searches for the ends of an interval of ids meet them.
    #[inline]
    pub const fn local_seconds(self) -> Option<i64> {
        let days = match self.tag() {
            tag::DATE_TIME | tag::TIME => return Some(unpack(self, SECOND_BIAS)),
            tag::DATE => unpack(self, DAY_BIAS),
            tag::G_YEAR => days_from_civil(near(unpack(self, DAY_BIAS)), 1, 1),
            tag::G_YEAR_MONTH => {
                let months = near(unpack(self, DAY_BIAS));
                days_from_civil(months.div_euclid(12), months.rem_euclid(12) as u8 + 1, 1)
            }
            _ => {
                return match self.duration() {
                    Some((seconds, _)) => Some(seconds),
                    None => fractions::local_second(self),
                };
            }
        };
        Some(days * SECONDS_PER_DAY)
    }

    /// The second in which an inline date begins, in UTC; a value without a zone is taken as if in UTC.
    #[inline]
    pub const fn utc_seconds(self) -> Option<i64> {
        match (self.local_seconds(), self.zone_minutes()) {
            (Some(seconds), Some(minutes)) => Some(seconds - minutes as i64 * 60),
            (seconds, _) => seconds,
        }
    }
}

/// How inline dates of one tag count local time: the value `v` stands for `origin` seconds and `v` units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeScale {
    /// Seconds from 1970-01-01T00:00:00.
    pub origin: i64,
    /// Its unit, in units of 10^-18 seconds.
    pub unit: i128,
    /// The least and the greatest value.
    pub range: (i64, i64),
}

impl TimeScale {
    /// The last value that is not after a local time, told in seconds and units of 10^-18 seconds.
    pub fn time_at(&self, second: i64, fraction: i64) -> i128 {
        let since = i128::from(second - self.origin) * UNITS_OF_SECOND + i128::from(fraction);
        since.div_euclid(self.unit)
    }
}

/// The offset of a zone code that is neither [`ZONE_NONE`] nor [`ZONE_Z`], in minutes.
pub(super) const fn offset_of_zone_code(code: u16) -> i16 {
    code as i16 - ZONE_ZERO_OFFSET
}

/// The `xsd:dateTime` of local seconds from years 1 to 9999.
pub(super) const fn pack_seconds(local_seconds: i64, zone_code: u16) -> TermId {
    pack(tag::DATE_TIME, local_seconds + SECOND_BIAS, zone_code)
}

/// Puts an id together from a biased number and a zone code.
const fn pack(tag: u8, biased: i64, zone_code: u16) -> TermId {
    debug_assert!(biased > 0);
    TermId::new(tag, (biased as u64) << ZONE_BITS | zone_code as u64)
}

/// The number in an id, without its bias.
pub(super) const fn unpack(id: TermId, bias: i64) -> i64 {
    (id.payload() >> ZONE_BITS) as i64 - bias
}

pub(super) fn is_year_and_zone(year: i64, zone_code: u16) -> bool {
    is_year(year) && is_zone_code(zone_code)
}

fn is_year(year: i64) -> bool {
    (1..=9999).contains(&year)
}

pub(super) fn is_zone_code(code: u16) -> bool {
    i32::from(code) <= i32::from(ZONE_ZERO_OFFSET + ZONE_MINUTES_MAX)
}

/// The number of exactly these digits.
pub(super) fn digits(bytes: &[u8]) -> Option<i64> {
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

/// Local seconds since 1970-01-01T00:00:00 up to the whole second, and the rest of the lexical form.
fn take_seconds(lexical: &[u8]) -> Option<(i64, &[u8])> {
    let (days, rest) = take_day(lexical)?;
    let (seconds, rest) = take_time_of_day(rest, Some(b'T'))?;
    Some((days * SECONDS_PER_DAY + seconds, rest))
}

/// Seconds of a day, after a separator if there is one, and the rest of the lexical form.
fn take_time_of_day(lexical: &[u8], separator: Option<u8>) -> Option<(i64, &[u8])> {
    let rest = match separator {
        Some(separator) => lexical.strip_prefix(&[separator])?,
        None => lexical,
    };
    let (hour, rest) = rest.split_at_checked(2)?;
    let hour = digits(hour).filter(|hour| *hour < 24)?;
    let (minute, rest) = take_two(rest, b':', 0, 59)?;
    let (second, rest) = take_two(rest, b':', 0, 59)?;
    Some((hour * 3600 + minute * 60 + second, rest))
}

/// The digits of a fraction of a second, and the zone code behind them.
fn take_fraction(rest: &[u8]) -> Option<(&[u8], u16)> {
    let rest = rest.strip_prefix(b".")?;
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, zone) = rest.split_at(count);
    Some((digits, parse_zone(zone)?))
}

/// The id of an `xsd:dateTime` by its lexical form, with a fraction of a second only if such are inline.
pub(super) fn encode_date_time_form(lexical: &[u8], with_fractions: bool) -> Option<TermId> {
    let (seconds, rest) = take_seconds(lexical)?;
    if !rest.starts_with(b".") {
        return Some(pack_seconds(seconds, parse_zone(rest)?));
    }
    let (digits, zone) = take_fraction(rest).filter(|_| with_fractions)?;
    fractions::encode(seconds, digits, zone)
}

/// The id of the second in which an `xsd:dateTime` with a fraction of a second is, by its lexical form, and the fraction in units of
/// 10^-18; `None` of other forms, and of fractions of more digits.
pub fn split_fraction(lexical: &[u8]) -> Option<(TermId, i64)> {
    const DIGITS_MAX: usize = 18;
    let (seconds, rest) = take_seconds(lexical)?;
    let (fraction, zone) = take_fraction(rest)?;
    if !(1..=DIGITS_MAX).contains(&fraction.len()) {
        return None;
    }
    let power = 10_i64.pow((DIGITS_MAX - fraction.len()) as u32);
    Some((pack_seconds(seconds, zone), digits(fraction)? * power))
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
