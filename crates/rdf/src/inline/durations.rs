//! Inline `xsd:dayTimeDuration`s: whole seconds, or up to six digits of a second.
//!
//! ```text
//! bit 55                                                            0
//!    +--------------------------------------------+--------+---------+
//!    |  length in seconds + 2^51                  |        |  parts  |      whole seconds: 52 and 4 bits
//!    |  length in microseconds + 2^48             | digits |  parts  |      with a fraction: 49, 3 and 4 bits
//!    +--------------------------------------------+--------+---------+
//! parts     which of days (8), hours (4), minutes (2) and seconds (1) are written
//! digits    how many are written after the point, 1 to 6
//! ```
//!
//! A length and the parts tell the text where each part is less than one of the next greater part that is written: `PT90M` and `P1DT2H` come back, `PT1H90M`
//! would not and belongs to the dictionary, as do leading zeros, `-PT0S` and more digits. So `PT90M` and `PT1H30M` are two ids of one length. A duration counts as
//! a date without a zone that begins its length after 1970 wherever dates are ordered, compared and grouped by their ids.
//!
//! Cost: a pass over the text; a division for each part to write it.

use super::dates::{self, TimeScale, UNITS_OF_SECOND};
use crate::term_id::{TermId, tag};

/// Bits of the parts.
const PARTS_BITS: u32 = 4;
/// Bits of the parts and of the number of digits.
const FORM_BITS: u32 = PARTS_BITS + 3;
/// Digits of the units of a length with a fraction.
const DIGITS: u32 = 6;
/// Units of a second with a fraction.
const MICROS: i64 = 10_i64.pow(DIGITS);
/// Bias of lengths in seconds.
const SECOND_BIAS: i64 = 1 << 51;
/// Bias of lengths in microseconds.
const MICRO_BIAS: i64 = 1 << 48;
/// What is written behind the number of each part, its seconds and its bit, in order.
const PARTS: [(u8, i64, u64); 4] = [
    (b'D', 86_400, 8),
    (b'H', 3600, 4),
    (b'M', 60, 2),
    (b'S', 1, SECONDS),
];
/// The bit of seconds.
const SECONDS: u64 = 1;
/// The bits of what is behind a T.
const TIME: u64 = 7;
/// Digits of the number of a part, which words hold in seconds.
const NUMBER_DIGITS_MAX: usize = 12;

/// How ids of one tag hold lengths.
struct Layout {
    /// Bits below the length.
    bits: u32,
    bias: i64,
    /// Units of a second.
    per_second: i64,
}

impl Layout {
    #[inline]
    const fn of(of_tag: u8) -> Option<&'static Self> {
        const WHOLE: Layout = Layout {
            bits: PARTS_BITS,
            bias: SECOND_BIAS,
            per_second: 1,
        };
        const FRACTION: Layout = Layout {
            bits: FORM_BITS,
            bias: MICRO_BIAS,
            per_second: MICROS,
        };
        match of_tag {
            tag::DURATION => Some(&WHOLE),
            tag::DURATION_MICROS => Some(&FRACTION),
            _ => None,
        }
    }

    #[inline]
    const fn length(&self, id: TermId) -> i64 {
        (id.payload() >> self.bits) as i64 - self.bias
    }
}

/// The id of a length in the units of a tag; `None` if it has no room for it.
#[inline]
fn pack_length(of_tag: u8, length: i64, form: u64) -> Option<TermId> {
    let layout = Layout::of(of_tag)?;
    let is_held = -layout.bias < length && length < layout.bias;
    is_held.then(|| {
        TermId::new(
            of_tag,
            ((length + layout.bias) as u64) << layout.bits | form,
        )
    })
}

/// The id of an `xsd:dayTimeDuration` by its lexical form.
pub(super) fn encode_form(lexical: &[u8]) -> Option<TermId> {
    let (is_negative, rest) = match lexical.strip_prefix(b"-") {
        Some(rest) => (true, rest),
        None => (false, lexical),
    };
    let mut rest = rest.strip_prefix(b"P")?;
    let (mut whole, mut micros, mut parts, mut digits) = (0_i64, 0, 0, 0);
    let mut is_time = false;
    // Seconds of the last part.
    let mut greater = i64::MAX;
    while !rest.is_empty() {
        if let Some(time) = rest.strip_prefix(b"T")
            && !is_time
        {
            (rest, is_time) = (time, true);
            if rest.is_empty() {
                return None;
            }
        }
        let (number, after) = take_number(rest)?;
        let (fraction, written, after) = take_fraction(after)?;
        let (name, after) = after.split_first()?;
        let (_, seconds, bit) = *PARTS.iter().find(|(known, ..)| known == name)?;
        let is_here = is_time == (bit & TIME != 0) && seconds < greater;
        let is_whole = written == 0 || bit == SECONDS;
        // One of the greater part, if there is one.
        let is_less = parts == 0 || number * seconds < greater;
        if !is_here || !is_whole || !is_less {
            return None;
        }
        // Numbers of twelve digits of parts whose seconds have five.
        whole += number * seconds;
        micros += fraction;
        (parts, digits, greater, rest) = (parts | bit, written, seconds, after);
    }
    let (of_tag, length) = match digits {
        0 => (tag::DURATION, whole),
        _ => (
            tag::DURATION_MICROS,
            whole.checked_mul(MICROS)?.checked_add(micros)?,
        ),
    };
    if parts == 0 || is_negative && length == 0 {
        return None;
    }
    let form = u64::from(digits) << PARTS_BITS | parts;
    pack_length(of_tag, if is_negative { -length } else { length }, form)
}

/// A number without leading zeros, and what comes behind it.
fn take_number(bytes: &[u8]) -> Option<(i64, &[u8])> {
    let count = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (digits, rest) = bytes.split_at(count);
    let is_plain = matches!(digits, [b'0'] | [b'1'..=b'9', ..]) && count <= NUMBER_DIGITS_MAX;
    match is_plain {
        true => Some((dates::digits(digits)?, rest)),
        false => None,
    }
}

/// The microseconds that digits behind a point are, how many there are, and what comes behind them.
fn take_fraction(bytes: &[u8]) -> Option<(i64, u32, &[u8])> {
    let Some(rest) = bytes.strip_prefix(b".") else {
        return Some((0, 0, bytes));
    };
    let count = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let written = u32::try_from(count).ok()?;
    if !(1..=DIGITS).contains(&written) {
        return None;
    }
    let (digits, rest) = rest.split_at(count);
    let micros = dates::digits(digits)? * 10_i64.pow(DIGITS - written);
    Some((micros, written, rest))
}

/// The id of the `xsd:dayTimeDuration` of so many seconds and units of 10^-18 seconds, as the canonical form writes it; `None` if it is not inline.
#[inline]
pub fn encode_duration(seconds: i64, fraction: i64) -> Option<TermId> {
    const UNITS_OF_MICRO: i64 = UNITS_OF_SECOND as i64 / MICROS;
    if fraction % UNITS_OF_MICRO != 0 {
        return None;
    }
    let micros = fraction / UNITS_OF_MICRO;
    if micros % MICROS == 0 {
        let seconds = seconds.checked_add(micros / MICROS)?;
        return pack_length(
            tag::DURATION,
            seconds,
            parts_of(seconds.unsigned_abs(), false),
        );
    }
    let micros = seconds.checked_mul(MICROS)?.checked_add(micros)?;
    let (mut digits, mut fraction) = (DIGITS, micros.unsigned_abs() % MICROS as u64);
    while fraction % 10 == 0 {
        (digits, fraction) = (digits - 1, fraction / 10);
    }
    let parts = parts_of(micros.unsigned_abs() / MICROS as u64, true);
    let form = u64::from(digits) << PARTS_BITS | parts;
    pack_length(tag::DURATION_MICROS, micros, form)
}

/// The parts of a number of seconds that are not zero, or have a fraction.
#[inline]
fn parts_of(seconds: u64, has_fraction: bool) -> u64 {
    let (mut rest, mut parts) = (seconds, 0);
    for (_, seconds, bit) in PARTS {
        if rest >= seconds as u64 {
            parts |= bit;
            rest %= seconds as u64;
        }
    }
    match has_fraction || parts == 0 {
        true => parts | SECONDS,
        false => parts,
    }
}

/// How an inline duration counts its length.
pub(super) fn scale(id: TermId) -> Option<TimeScale> {
    let layout = Layout::of(id.tag())?;
    Some(TimeScale {
        origin: 0,
        unit: UNITS_OF_SECOND / i128::from(layout.per_second),
        range: (1 - layout.bias, layout.bias - 1),
    })
}

/// An inline duration with the same parts of another length in the units of its tag, which is in the range of its [`TimeScale`].
pub(super) fn with_length(id: TermId, length: i64) -> Option<TermId> {
    let layout = Layout::of(id.tag())?;
    let form = id.payload() & id.zone_mask();
    let biased = (length + layout.bias) as u64;
    Some(TermId::new(id.tag(), biased << layout.bits | form))
}

/// Bits below the length of an inline duration.
#[inline]
pub(super) const fn form_bits(id: TermId) -> Option<u32> {
    match Layout::of(id.tag()) {
        Some(layout) => Some(layout.bits),
        None => None,
    }
}

impl TermId {
    /// Whether it is an inline `xsd:dayTimeDuration`.
    #[inline]
    pub const fn is_duration(self) -> bool {
        matches!(self.tag(), tag::DURATION | tag::DURATION_MICROS)
    }

    /// The whole seconds of an inline duration, and the units of 10^-18 that are left, which are not negative.
    #[inline]
    pub const fn duration(self) -> Option<(i64, i64)> {
        match Layout::of(self.tag()) {
            Some(layout) => {
                let length = layout.length(self);
                let units = UNITS_OF_SECOND as i64 / layout.per_second;
                Some((
                    length.div_euclid(layout.per_second),
                    length.rem_euclid(layout.per_second) * units,
                ))
            }
            None => None,
        }
    }
}

/// The longest has all parts, of which days have as many digits as a number of seconds may have.
const TEXT_MAX: usize = "-P2251799813685247DT23H59M59.123456S".len();

/// The text of a duration, put together on the stack.
pub(super) struct DurationText {
    bytes: [u8; TEXT_MAX],
    len: usize,
}

impl DurationText {
    /// The lexical form of an inline duration; `None` if its payload is not a valid one.
    pub(super) fn of(id: TermId) -> Option<Self> {
        let layout = Layout::of(id.tag())?;
        let length = layout.length(id);
        let form = id.payload() & id.zone_mask();
        let (parts, digits) = (form & ((1 << PARTS_BITS) - 1), (form >> PARTS_BITS) as u32);
        let is_whole = digits == 0;
        let has_fraction = id.tag() == tag::DURATION_MICROS;
        let is_valid = parts != 0
            && length > -layout.bias
            && has_fraction != is_whole
            && digits <= DIGITS
            && (is_whole || parts & SECONDS != 0);
        if !is_valid {
            return None;
        }
        let mut text = Self {
            bytes: [0; TEXT_MAX],
            len: 0,
        };
        if length < 0 {
            text.push(b'-');
        }
        text.push(b'P');
        let mut rest = length.unsigned_abs() / layout.per_second as u64;
        let fraction = length.unsigned_abs() % layout.per_second as u64;
        let mut is_time = false;
        for (name, seconds, bit) in PARTS {
            if parts & bit == 0 {
                continue;
            }
            if bit & TIME != 0 && !is_time {
                text.push(b'T');
                is_time = true;
            }
            text.push_number(rest / seconds as u64);
            rest %= seconds as u64;
            if bit == SECONDS && !is_whole {
                text.push_fraction(fraction, digits)?;
            }
            text.push(name);
        }
        // Less than the last part is nothing that was written.
        (rest == 0).then_some(text)
    }

    fn push(&mut self, byte: u8) {
        self.bytes[self.len] = byte;
        self.len += 1;
    }

    fn push_number(&mut self, number: u64) {
        let digits = number.checked_ilog10().unwrap_or(0);
        for place in (0..=digits).rev() {
            self.push(b'0' + (number / 10_u64.pow(place) % 10) as u8);
        }
    }

    /// A point and so many digits; `None` if more would be needed.
    fn push_fraction(&mut self, micros: u64, digits: u32) -> Option<()> {
        let unit = 10_u64.pow(DIGITS - digits);
        self.push(b'.');
        for place in (0..digits).rev() {
            self.push(b'0' + (micros / unit / 10_u64.pow(place) % 10) as u8);
        }
        micros.is_multiple_of(unit).then_some(())
    }

    /// Digits and letters, which are ASCII.
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}
