//! Inline `xsd:double`s that few digits in plain notation do not hold: by their bits, in the order of their values.
//!
//! ```text
//! bit 63 = 1                                          3 2        0
//!    +-------------------------------------------------+----------+
//!    |   place of the value among all that are inline  | notation |      counted from the first id of the tags
//!    +-------------------------------------------------+----------+
//! place       negative values from -2^47 on, zero, positive ones from 2^-48 to below 2^47
//! notation    0 plain   1 1.5E7, 1.0E7   2 1E7   3 1.5e7, 1.0e7   4 1e7   5 1.5e+07, 1e-07   6 1.5E+07, 1E-07   7 15.0e0
//! ```
//!
//! Programs write a double with as few digits as tell it from its neighbours, up to seventeen, and with one of some notations of the
//! exponent. Both are told by the value and the notation, so a text is inline if the value, written in a notation, gives it back; of notations
//! that give the same text the first counts. Zeros at the end that tell nothing, a negative zero and what is not in range belong to the dictionary.
//!
//! Invariants: `decode(encode(l)) == l`; a literal that plain notation holds ([`numeric`](super::numeric)) has no id here; ids are ordered by their
//! values, and of one notation only equal ids have equal values.
//!
//! Cost: a value from its id takes some integer operations; a text the shortest digits, some 100 ns.

use crate::term_id::{PAYLOAD_BITS, TermId, tag};
use std::fmt::{self, Write};

/// Bits of the notation.
const NOTATION_BITS: u32 = 3;
/// Binary exponents of the values that are inline: the first, and the one after the last.
const EXPONENTS: (i64, i64) = (-48, 47);
/// Bits of the least positive value.
const LEAST_BITS: u64 = bits_of_power(EXPONENTS.0);
/// Number of positive values.
const COUNT: u64 = bits_of_power(EXPONENTS.1) - LEAST_BITS;
/// The place after the last.
const PLACES: u64 = 2 * COUNT + 1;
/// The id of the first place.
const FIRST: u64 = (tag::DOUBLE as u64) << PAYLOAD_BITS;
const _: () =
    assert!((FIRST + (PLACES << NOTATION_BITS) - 1) >> PAYLOAD_BITS == tag::DOUBLE_LAST as u64);
/// Bytes of the longest text: the least value in plain notation, with a sign, seventeen digits and an exponent.
const TEXT_MAX: usize = 40;
/// Digits that tell every double, at most.
const DIGITS_MAX: usize = 17;

/// The bits of two binary doubles that are alike in ids of one notation: the order of these is that of the values, and equal ids alone have
/// equal values.
pub const ORDER_MASK: u64 = 1 << 63 | NOTATION_MASK;
const NOTATION_MASK: u64 = (1 << NOTATION_BITS) - 1;

/// The bits of two to the power of an exponent.
const fn bits_of_power(exponent: i64) -> u64 {
    ((exponent + 1023) as u64) << (f64::MANTISSA_DIGITS - 1)
}

/// How a value is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Notation {
    /// `0.1`, `-120.5`
    Plain,
    /// `1.5E7`, `1.0E7`: the canonical one of XML Schema.
    Upper,
    /// `1E7`
    UpperBare,
    /// `1.5e7`, `1.0e7`
    Lower,
    /// `1e7`
    LowerBare,
    /// `1.5e+07`, `1e-07`: of `printf` and what follows it.
    LowerSigned,
    /// `1.5E+07`, `1E-07`
    UpperSigned,
    /// `15.5e0`, `15.0e0`
    PlainLower,
}

impl Notation {
    /// All, by their numbers.
    const ALL: [Self; 1 << NOTATION_BITS] = [
        Self::Plain,
        Self::Upper,
        Self::UpperBare,
        Self::Lower,
        Self::LowerBare,
        Self::LowerSigned,
        Self::UpperSigned,
        Self::PlainLower,
    ];

    /// The letter before its exponent, if it has one.
    const fn letter(self) -> Option<u8> {
        match self {
            Self::Plain => None,
            Self::Upper | Self::UpperBare | Self::UpperSigned => Some(b'E'),
            Self::Lower | Self::LowerBare | Self::LowerSigned | Self::PlainLower => Some(b'e'),
        }
    }
}

/// The id of a literal's text, if it is that of a value in one of the notations. Plain notation of few digits is not looked for.
pub fn encode_form(lexical: &[u8]) -> Option<TermId> {
    let value = value_of(lexical)?;
    let place = place_of(value)?;
    let digits = Digits::of(value);
    let letter = lexical.iter().copied().find(u8::is_ascii_alphabetic);
    let notations = Notation::ALL.into_iter().filter(|n| n.letter() == letter);
    let mut fitting = notations.filter(|&n| digits.written(n).as_bytes() == lexical);
    Some(id_of(place, fitting.next()?))
}

/// The id of a value in plain notation, of which that notation's own ids are known not to hold the text.
pub fn encode_plain(value: f64) -> Option<TermId> {
    place_of(value).map(|place| id_of(place, Notation::Plain))
}

/// What the text of a number denotes; `None` of what cannot be inline.
fn value_of(lexical: &[u8]) -> Option<f64> {
    let is_of_number = |byte: &u8| matches!(byte, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E');
    if lexical.len() > TEXT_MAX || !lexical.iter().all(is_of_number) {
        return None;
    }
    std::str::from_utf8(lexical).ok()?.parse().ok()
}

const fn id_of(place: u64, notation: Notation) -> TermId {
    TermId(FIRST + (place << NOTATION_BITS | notation as u64))
}

/// The place of a value that is inline.
fn place_of(value: f64) -> Option<u64> {
    let (at_least, above) = places(value)?;
    let is_negative_zero = value == 0.0 && value.is_sign_negative();
    (at_least < above && !is_negative_zero).then_some(at_least)
}

/// The first place whose value is not below a number, and the first whose value is above; `None` of NaN.
fn places(value: f64) -> Option<(u64, u64)> {
    if value.is_nan() {
        return None;
    }
    let bits = value.abs().to_bits();
    // The positive values that are inline up to the size of this one.
    let smaller = (bits + 1).saturating_sub(LEAST_BITS).min(COUNT);
    let is_inline = value == 0.0 || smaller > 0 && bits < LEAST_BITS + COUNT;
    Some(match (value < 0.0, is_inline) {
        (false, true) => (COUNT + smaller, COUNT + smaller + 1),
        (false, false) => (COUNT + smaller + 1, COUNT + smaller + 1),
        (true, true) => (COUNT - smaller, COUNT - smaller + 1),
        (true, false) => (COUNT - smaller, COUNT - smaller),
    })
}

/// Ids of all notations, by the values: the places that [`ids_of_places`] takes.
pub const ALL_PLACES: (i64, i64) = (0, PLACES as i64 - 1);

/// The first place whose value is not below a number, and the first whose value is above; `None` of NaN.
pub fn places_at(value: f64) -> Option<(i64, i64)> {
    places(value).map(|(at_least, above)| (at_least as i64, above as i64))
}

/// The ids with places from one to another: the least and the greatest.
pub const fn ids_of_places((low, high): (i64, i64)) -> (u64, u64) {
    (
        FIRST + ((low as u64) << NOTATION_BITS),
        FIRST + ((high as u64) << NOTATION_BITS | NOTATION_MASK),
    )
}

impl TermId {
    /// Whether it is a double by its bits; see the [module documentation](self).
    #[inline]
    pub const fn is_binary_double(self) -> bool {
        self.0.wrapping_sub(FIRST) < PLACES << NOTATION_BITS
    }

    /// The value of a double by its bits; any number of other ids.
    #[inline]
    pub const fn binary_double(self) -> f64 {
        let place = (self.0.wrapping_sub(FIRST) >> NOTATION_BITS) as i64 - COUNT as i64;
        let bits = match place {
            0 => 0,
            _ => place.unsigned_abs() + LEAST_BITS - 1,
        };
        f64::from_bits(bits | place as u64 & 1 << 63)
    }

    /// Whether it is such a double in plain notation, as computed ones are written.
    #[inline]
    pub const fn is_plain_double(self) -> bool {
        self.is_binary_double() && self.0 & NOTATION_MASK == Notation::Plain as u64
    }

    /// The tag of its datatype: that of doubles with few digits for those by their bits, and its own for all others.
    #[inline]
    pub const fn datatype_tag(self) -> u8 {
        if self.is_binary_double() {
            tag::NUMERIC | crate::qualifiers::DOUBLE
        } else {
            self.tag()
        }
    }
}

/// The text of a double by its bits.
pub(super) fn lexical(id: TermId) -> Text {
    let notation = Notation::ALL[(id.0 & NOTATION_MASK) as usize];
    Digits::of(id.binary_double()).written(notation)
}

/// The shortest digits that denote a value: the first is before the point.
struct Digits {
    is_negative: bool,
    digits: [u8; DIGITS_MAX],
    count: usize,
    exponent: i32,
}

impl Digits {
    fn of(value: f64) -> Self {
        let mut text = Text::default();
        write!(text, "{:e}", value.abs()).expect("it has room for the shortest digits");
        let (mut digits, mut count, mut exponent) = ([0; DIGITS_MAX], 0, 0);
        let mut bytes = text.as_bytes().iter();
        for &byte in bytes.by_ref().take_while(|&&byte| byte != b'e') {
            if byte != b'.' {
                digits[count] = byte;
                count += 1;
            }
        }
        let mut sign = 1;
        for &byte in bytes {
            match byte {
                b'-' => sign = -1,
                digit => exponent = exponent * 10 + i32::from(digit - b'0'),
            }
        }
        Self {
            is_negative: value.is_sign_negative(),
            digits,
            count,
            exponent: sign * exponent,
        }
    }

    fn written(&self, notation: Notation) -> Text {
        let mut text = Text::default();
        if self.is_negative {
            text.push(b'-');
        }
        let (letter, has_point) = match notation {
            Notation::Plain | Notation::PlainLower => {
                self.write_plain(&mut text, notation != Notation::Plain);
                if notation == Notation::PlainLower {
                    text.extend(b"e0");
                }
                return text;
            }
            Notation::Upper => (b'E', true),
            Notation::Lower => (b'e', true),
            Notation::UpperBare | Notation::UpperSigned => (b'E', self.count > 1),
            Notation::LowerBare | Notation::LowerSigned => (b'e', self.count > 1),
        };
        text.push(self.digits[0]);
        if has_point {
            text.push(b'.');
            match &self.digits[1..self.count] {
                [] => text.push(b'0'),
                more => text.extend(more),
            }
        }
        text.push(letter);
        let is_signed = matches!(notation, Notation::LowerSigned | Notation::UpperSigned);
        let exponent = self.exponent.unsigned_abs();
        match self.exponent < 0 {
            true => text.push(b'-'),
            false if is_signed => text.push(b'+'),
            false => {}
        }
        // No value that is inline has an exponent of three digits.
        if is_signed || exponent > 9 {
            text.push(b'0' + (exponent / 10) as u8);
        }
        text.push(b'0' + (exponent % 10) as u8);
        text
    }

    /// Without an exponent, as `{}` writes it.
    fn write_plain(&self, text: &mut Text, always_has_point: bool) {
        let digits = &self.digits[..self.count];
        if self.exponent < 0 {
            text.extend(b"0.");
            for _ in 1..-self.exponent {
                text.push(b'0');
            }
            text.extend(digits);
            return;
        }
        let whole = self.exponent as usize + 1;
        for place in 0..whole {
            text.push(*digits.get(place).unwrap_or(&b'0'));
        }
        match digits.get(whole..) {
            Some(more @ [_, ..]) => {
                text.push(b'.');
                text.extend(more);
            }
            _ if always_has_point => text.extend(b".0"),
            _ => {}
        }
    }
}

/// A text on the stack, in ASCII.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text {
    bytes: [u8; TEXT_MAX],
    len: usize,
}

impl Default for Text {
    fn default() -> Self {
        Self {
            bytes: [0; TEXT_MAX],
            len: 0,
        }
    }
}

impl Text {
    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    fn push(&mut self, byte: u8) {
        self.extend(&[byte]);
    }

    fn extend(&mut self, more: &[u8]) {
        self.bytes[self.len..self.len + more.len()].copy_from_slice(more);
        self.len += more.len();
    }
}

impl Write for Text {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        if self.len + more.len() > TEXT_MAX {
            return Err(fmt::Error);
        }
        self.extend(more.as_bytes());
        Ok(())
    }
}
