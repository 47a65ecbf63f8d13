//! Inline `xsd:dateTime`s with a fraction of a second: three digits of years 0001 to 9999, six of years 1900 to 2184.
//!
//! ```text
//! bit 55                                          zone bits        0
//!    +---------------------------------------------+---------------+
//!    |  local time in units from a first second on |  narrow zone  |      milliseconds: 49 and 7 bits, microseconds: 53 and 3
//!    +---------------------------------------------+---------------+
//! narrow zone     0 none, 1 Z, then offsets by their size: +00:00, one unit west, one east, two west, ...
//! ```
//!
//! An offset is inline if it is a multiple of a quarter of an hour, beside microseconds of an hour and from three hours west to two east. Programs
//! write three digits (milliseconds) or six, trailing zeros included; other fractions belong to the dictionary.
//!
//! Cost: a multiplication and a division by a constant each way.

use super::dates::{
    self, SECONDS_PER_DAY, TimeScale, ZONE_MASK, ZONE_NONE, ZONE_Z, days_from_civil,
    zone_code_of_offset,
};
use super::durations;
use crate::term_id::{PAYLOAD_MASK, TermId, tag};

/// Digits of the units in which fractions are told, of which a second has 10^18.
const UNIT_DIGITS: u32 = 18;

/// How the ids of one tag hold times.
struct Layout {
    tag: u8,
    /// Digits of a second.
    digits: u32,
    /// The seconds of local time that it holds, from 1970-01-01T00:00:00: the first and the last.
    seconds: (i64, i64),
    /// Bits of the narrow zone.
    zone_bits: u32,
    /// Minutes between offsets that it holds.
    zone_unit: i16,
}

const MILLIS: Layout = Layout {
    tag: tag::DATE_TIME_MILLIS,
    digits: 3,
    seconds: seconds_of_years(1, 9999),
    zone_bits: 7,
    zone_unit: 15,
};

const MICROS: Layout = Layout {
    tag: tag::DATE_TIME_MICROS,
    digits: 6,
    seconds: seconds_of_years(1900, 2184),
    zone_bits: 3,
    zone_unit: 60,
};

const fn seconds_of_years(first: i64, last: i64) -> (i64, i64) {
    (
        days_from_civil(first, 1, 1) * SECONDS_PER_DAY,
        days_from_civil(last + 1, 1, 1) * SECONDS_PER_DAY - 1,
    )
}

impl Layout {
    const fn of(tag: u8) -> Option<&'static Self> {
        match tag {
            tag::DATE_TIME_MILLIS => Some(&MILLIS),
            tag::DATE_TIME_MICROS => Some(&MICROS),
            _ => None,
        }
    }

    /// Its units in a second.
    const fn per_second(&self) -> i64 {
        10_i64.pow(self.digits)
    }

    /// Units of 10^-18 seconds in one of its own.
    const fn unit(&self) -> i64 {
        10_i64.pow(UNIT_DIGITS - self.digits)
    }

    const fn zone_mask(&self) -> u64 {
        (1 << self.zone_bits) - 1
    }

    /// The zone code of a narrow zone; none that is valid of a narrow zone that is not.
    #[inline]
    const fn zone_code(&self, narrow: u64) -> u16 {
        match narrow as u16 {
            code @ (ZONE_NONE | ZONE_Z) => code,
            offset => {
                let place = offset as i16 - 2;
                let size = (place + 1) / 2 * self.zone_unit;
                let minutes = if place % 2 == 0 { size } else { -size };
                match zone_code_of_offset(minutes) {
                    Some(code) => code,
                    None => ZONE_MASK as u16,
                }
            }
        }
    }

    /// The narrow zone of a zone code, if there is one.
    const fn narrow_zone(&self, code: u16) -> Option<u64> {
        if code == ZONE_NONE || code == ZONE_Z {
            return Some(code as u64);
        }
        let minutes = dates::offset_of_zone_code(code);
        let units = minutes.unsigned_abs() / self.zone_unit as u16;
        let narrow = 2 + 2 * units as u64 - (minutes < 0) as u64;
        if minutes % self.zone_unit == 0 && narrow <= self.zone_mask() {
            Some(narrow)
        } else {
            None
        }
    }

    /// The local second of a payload, and its units since. Of a layout that is known when compiled, which makes the divisions multiplications.
    #[inline(always)]
    const fn split(&self, payload: u64) -> (i64, i64) {
        let units = payload >> self.zone_bits;
        let per_second = self.per_second() as u64;
        let second = (units / per_second) as i64;
        (self.seconds.0 + second, (units % per_second) as i64)
    }

    /// The day in which a payload is, from 1970-01-01; the same holds.
    #[inline(always)]
    const fn day(&self, payload: u64) -> i64 {
        let per_day = (self.per_second() * SECONDS_PER_DAY) as u64;
        let day = (payload >> self.zone_bits) / per_day;
        self.seconds.0 / SECONDS_PER_DAY + day as i64
    }

    /// The id of a local second, units since then and a zone; `None` if it has no room for them.
    const fn id(&self, second: i64, units: i64, zone_code: u16) -> Option<TermId> {
        let is_held = self.seconds.0 <= second && second <= self.seconds.1;
        match self.narrow_zone(zone_code) {
            Some(zone) if is_held => {
                let units = (second - self.seconds.0) * self.per_second() + units;
                Some(TermId::new(
                    self.tag,
                    (units as u64) << self.zone_bits | zone,
                ))
            }
            _ => None,
        }
    }
}

/// The id of an `xsd:dateTime` by the id of its second, its digits after that and its zone.
pub(super) fn encode(second: i64, digits: &[u8], zone_code: u16) -> Option<TermId> {
    let layout = match digits.len() {
        3 => &MILLIS,
        6 => &MICROS,
        _ => return None,
    };
    layout.id(second, dates::digits(digits)?, zone_code)
}

/// The local second of an id, its units since then and how many digits they have; `None` of other tags and times that the tag does not hold.
pub(super) fn parts(id: TermId) -> Option<(i64, i64, u32)> {
    let layout = Layout::of(id.tag())?;
    let (second, units) = split(id)?;
    let is_held = second <= layout.seconds.1;
    is_held.then_some((second, units, layout.digits))
}

impl TermId {
    /// Whether it is an inline `xsd:dateTime` with a fraction of a second.
    #[inline]
    pub const fn has_fraction(self) -> bool {
        matches!(self.tag(), tag::DATE_TIME_MILLIS | tag::DATE_TIME_MICROS)
    }

    /// Bits of the zone at the end of an inline date, of the parts of a duration: of ids of one tag that have them alike the payloads are ordered as the values.
    #[inline]
    pub const fn zone_bits(self) -> u32 {
        match self.tag() {
            tag::DATE_TIME_MILLIS => MILLIS.zone_bits,
            tag::DATE_TIME_MICROS => MICROS.zone_bits,
            _ => match durations::form_bits(self) {
                Some(bits) => bits,
                None => dates::ZONE_BITS,
            },
        }
    }

    /// The bits of the zone, or of what is written of a duration.
    #[inline]
    pub const fn zone_mask(self) -> u64 {
        (1 << self.zone_bits()) - 1
    }

    /// The bits that tell the tag and the zone of an inline date.
    #[inline]
    pub const fn date_kind_mask(self) -> u64 {
        !PAYLOAD_MASK | self.zone_mask()
    }

    /// The inline `xsd:dateTime` of the second in which one is, and how much of that has gone by, in units of 10^-18 seconds.
    #[inline]
    pub const fn split_second(self) -> Option<(Self, i64)> {
        if self.tag() == tag::DATE_TIME {
            return Some((self, 0));
        }
        let Some((second, units)) = split(self) else {
            return None;
        };
        let second = dates::pack_seconds(second, self.zone_code());
        let unit = match self.tag() {
            tag::DATE_TIME_MILLIS => MILLIS.unit(),
            _ => MICROS.unit(),
        };
        Some((second, units * unit))
    }
}

/// The narrow zone of an id with a fraction, as a zone code.
#[inline]
pub(super) const fn zone_code(id: TermId) -> Option<u16> {
    match Layout::of(id.tag()) {
        Some(layout) => Some(layout.zone_code(id.payload() & layout.zone_mask())),
        None => None,
    }
}

/// The local second of an id with a fraction.
#[inline]
pub(super) const fn local_second(id: TermId) -> Option<i64> {
    match split(id) {
        Some((second, _)) => Some(second),
        None => None,
    }
}

/// The local day of an id with a fraction.
#[inline]
pub(super) const fn local_day(id: TermId) -> Option<i64> {
    match id.tag() {
        tag::DATE_TIME_MILLIS => Some(MILLIS.day(id.payload())),
        tag::DATE_TIME_MICROS => Some(MICROS.day(id.payload())),
        _ => None,
    }
}

/// The local second of an id with a fraction, and its units since.
#[inline]
const fn split(id: TermId) -> Option<(i64, i64)> {
    match id.tag() {
        tag::DATE_TIME_MILLIS => Some(MILLIS.split(id.payload())),
        tag::DATE_TIME_MICROS => Some(MICROS.split(id.payload())),
        _ => None,
    }
}

/// How an id with a fraction counts time.
pub(super) fn scale(id: TermId) -> Option<TimeScale> {
    let layout = Layout::of(id.tag())?;
    let (first, last) = layout.seconds;
    Some(TimeScale {
        origin: first,
        unit: layout.unit().into(),
        range: (0, (last - first + 1) * layout.per_second() - 1),
    })
}

/// An id with a fraction, of another time in the units of its tag, which are in the range of its [`TimeScale`].
pub(super) fn with_time(id: TermId, time: i64) -> Option<TermId> {
    let layout = Layout::of(id.tag())?;
    let zone = id.payload() & layout.zone_mask();
    Some(TermId::new(
        id.tag(),
        (time as u64) << layout.zone_bits | zone,
    ))
}
