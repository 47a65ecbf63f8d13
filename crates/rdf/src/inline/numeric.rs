//! Plain decimal notation: the one form in which numbers are inline.
//!
//! `-? (0 | [1-9][0-9]*) ('.' [0-9]+)?`, without a negative zero, is exactly what a mantissa and a
//! scale rebuild. Whether the number also lies in the value space of its XML Schema datatype is
//! checked apart, because an ill-typed literal must never take part in arithmetic.

use crate::term_id::MANTISSA_BIAS;

/// Most digits after the point.
pub const SCALE_MAX: u8 = 15;

/// Ten to the power of each scale.
const POWERS: [i64; SCALE_MAX as usize + 1] = powers_of_ten();

/// The first powers of ten.
pub const fn powers_of_ten<const COUNT: usize>() -> [i64; COUNT] {
    let mut powers = [1; COUNT];
    let mut i = 1;
    while i < COUNT {
        powers[i] = powers[i - 1] * 10;
        i += 1;
    }
    powers
}

/// Numeric codes of the datatypes that have no digits after the point, with their bounds.
const INTEGER_BOUNDS: [Option<(i64, i64)>; 16] = [
    Some((i64::MIN, i64::MAX)),
    None,
    None,
    None,
    Some((i32::MIN as i64, i32::MAX as i64)),
    Some((i64::MIN, i64::MAX)),
    Some((i16::MIN as i64, i16::MAX as i64)),
    Some((i8::MIN as i64, i8::MAX as i64)),
    Some((0, i64::MAX)),
    Some((1, i64::MAX)),
    Some((i64::MIN, 0)),
    Some((i64::MIN, -1)),
    Some((0, i64::MAX)),
    Some((0, u32::MAX as i64)),
    Some((0, u16::MAX as i64)),
    Some((0, u8::MAX as i64)),
];

/// Mantissa and scale of a number in plain decimal notation, if they fit in an id.
pub fn parse_plain_decimal(lexical: &[u8]) -> Option<(i64, u8)> {
    let (negative, digits) = match lexical {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, lexical),
    };
    // The bound (sixteen digits of mantissa, a point) keeps the sum below in range.
    if digits.is_empty() || digits.len() > 18 {
        return None;
    }
    if digits[0] == b'0' && digits.len() > 1 && digits[1] != b'.' {
        return None;
    }
    let mut mantissa: i64 = 0;
    let mut point = None;
    for (i, &byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => mantissa = mantissa * 10 + i64::from(byte - b'0'),
            b'.' if point.is_none() && i > 0 => point = Some(i),
            _ => return None,
        }
    }
    let scale = match point {
        None => 0,
        Some(at) => digits.len() - at - 1,
    };
    let is_open = point.is_some() && scale == 0;
    let is_negative_zero = negative && mantissa == 0;
    if is_open || is_negative_zero || scale > usize::from(SCALE_MAX) || mantissa >= MANTISSA_BIAS {
        return None;
    }
    Some((if negative { -mantissa } else { mantissa }, scale as u8))
}

/// Whether the number is a value of the datatype with this numeric code.
pub fn is_in_value_space(code: u8, mantissa: i64, scale: u8) -> bool {
    match INTEGER_BOUNDS.get(usize::from(code)) {
        Some(Some((low, high))) => scale == 0 && *low <= mantissa && mantissa <= *high,
        _ => true,
    }
}

/// The nearest double; exact operands make the one division correctly rounded.
#[inline]
pub fn to_f64(mantissa: i64, scale: u8) -> f64 {
    match scale {
        0 => mantissa as f64,
        _ => mantissa as f64 / POWERS[usize::from(scale & 15)] as f64,
    }
}

/// `mantissa / 10^scale` in plain decimal notation, with trailing zeros.
#[derive(Clone, Copy, Debug)]
pub struct DecimalText {
    /// Nineteen digits of a 64-bit number, or as many as the scale and one, with point and sign; filled from the end.
    bytes: [u8; 24],
    start: u8,
}

impl DecimalText {
    /// The text of a number.
    pub fn new(mantissa: i64, scale: u8) -> Self {
        let scale = usize::from(scale.min(SCALE_MAX));
        let mut bytes = [0_u8; 24];
        let mut at = bytes.len();
        let mut rest = mantissa.unsigned_abs();
        let mut written = 0;
        while rest > 0 || written <= scale {
            if written == scale && scale > 0 {
                at -= 1;
                bytes[at] = b'.';
            }
            at -= 1;
            bytes[at] = b'0' + (rest % 10) as u8;
            rest /= 10;
            written += 1;
        }
        if mantissa < 0 {
            at -= 1;
            bytes[at] = b'-';
        }
        let start = at as u8;
        Self { bytes, start }
    }

    /// The characters, which are ASCII.
    #[inline]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[usize::from(self.start)..]
    }
}

/// Appends `mantissa / 10^scale` in plain decimal notation, keeping trailing zeros.
pub fn write_decimal(mantissa: i64, scale: u8, text: &mut String) {
    let number = DecimalText::new(mantissa, scale);
    text.extend(number.as_bytes().iter().map(|&byte| char::from(byte)));
}
