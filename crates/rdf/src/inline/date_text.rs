//! The lexical forms of inline dates and times, put together on the stack.

use super::dates::{
    DAY_BIAS, SECOND_BIAS, SECONDS_PER_DAY, ZONE_NONE, ZONE_Z, civil_from_days, days_from_civil,
    is_year_and_zone, is_zone_code, offset_of_zone_code, unpack,
};
use super::fractions;
use crate::term_id::{TermId, tag};

/// The lexical form of an inline date; `None` if its payload is not a valid one.
pub(super) fn lexical(id: TermId) -> Option<DateText> {
    let zone_code = id.zone_code();
    let fraction = fractions::parts(id);
    let at_second = |seconds: i64| {
        let day = seconds.div_euclid(SECONDS_PER_DAY);
        (day, seconds.rem_euclid(SECONDS_PER_DAY))
    };
    if id.tag() == tag::TIME {
        return time_text(unpack(id, SECOND_BIAS), zone_code);
    }
    let (days, second_of_day) = match id.tag() {
        tag::DATE_TIME => at_second(unpack(id, SECOND_BIAS)),
        tag::DATE_TIME_MILLIS | tag::DATE_TIME_MICROS => at_second(fraction?.0),
        tag::DATE => (unpack(id, DAY_BIAS), 0),
        tag::G_YEAR => (days_from_civil(unpack(id, DAY_BIAS), 1, 1), 0),
        _ => match id.g_year_month() {
            Some((year, month)) => (days_from_civil(year, month, 1), 0),
            None => return None,
        },
    };
    let (year, month, day) = civil_from_days(days);
    if !is_year_and_zone(year, zone_code) {
        return None;
    }
    let mut written = DateText::default();
    written.push_two(year / 100);
    written.push_two(year % 100);
    if id.tag() != tag::G_YEAR {
        written.push(b'-');
        written.push_two(i64::from(month));
    }
    if !matches!(id.tag(), tag::G_YEAR | tag::G_YEAR_MONTH) {
        written.push(b'-');
        written.push_two(i64::from(day));
    }
    if id.tag() == tag::DATE_TIME || id.has_fraction() {
        written.push(b'T');
        written.push_time(second_of_day);
    }
    if let Some((_, units, digits)) = fraction {
        written.push_fraction(units, digits);
    }
    written.push_zone(zone_code);
    Some(written)
}

/// The lexical form of an `xsd:time`; `None` beyond a day.
fn time_text(second_of_day: i64, zone_code: u16) -> Option<DateText> {
    if !(0..SECONDS_PER_DAY).contains(&second_of_day) || !is_zone_code(zone_code) {
        return None;
    }
    let mut written = DateText::default();
    written.push_time(second_of_day);
    written.push_zone(zone_code);
    Some(written)
}

/// The text of a date, put together on the stack.
#[derive(Default)]
pub(super) struct DateText {
    /// The longest is that of an `xsd:dateTime` with microseconds and an offset.
    bytes: [u8; "9999-12-31T23:59:59.999999+14:00".len()],
    len: usize,
}

impl DateText {
    fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    /// Two digits of a number below 100.
    fn push_two(&mut self, number: i64) {
        let number = number as u8;
        self.push(b'0' + number / 10);
        self.push(b'0' + number % 10);
    }

    /// Hours, minutes and seconds.
    fn push_time(&mut self, second_of_day: i64) {
        self.push_two(second_of_day / 3600);
        self.push(b':');
        self.push_two(second_of_day / 60 % 60);
        self.push(b':');
        self.push_two(second_of_day % 60);
    }

    /// A point and so many digits.
    fn push_fraction(&mut self, units: i64, digits: u32) {
        self.push(b'.');
        for place in (0..digits).rev() {
            self.push(b'0' + (units / 10_i64.pow(place) % 10) as u8);
        }
    }

    fn push_zone(&mut self, zone_code: u16) {
        match zone_code {
            ZONE_NONE => {}
            ZONE_Z => self.push(b'Z'),
            code => {
                let offset = offset_of_zone_code(code);
                self.push(if offset < 0 { b'-' } else { b'+' });
                self.push_two(i64::from(offset.abs() / 60));
                self.push(b':');
                self.push_two(i64::from(offset.abs() % 60));
            }
        }
    }

    /// Digits and separators, which are ASCII.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}
