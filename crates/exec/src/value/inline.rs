//! Inline ids compared and taken apart without strings.
//!
//! These are the fast paths under the operators; each gives exactly what parsing the lexical form
//! would give, or `None` to say that the caller has to take the long way.
//!
//! Cost: a few integer operations; nothing is allocated.

use super::{Number, ShortNumber};
use basalt_rdf::TermId;
use basalt_rdf::inline::{binary_doubles, numeric};
use basalt_rdf::qualifiers::{CUSTOM_NUMERIC_FIRST, DECIMAL, DOUBLE, FLOAT};
use basalt_rdf::term_id::{MANTISSA_MASK, tag};
use spargebra::algebra::Function;
use std::cmp::Ordering;

/// The number of an inline numeric id of an XML Schema type.
#[inline]
pub fn number(id: TermId) -> Option<Number> {
    ShortNumber::of_id(id.0).map(ShortNumber::to_number)
}

/// The `f32` nearest to `mantissa / 10^scale`, as parsing the decimal text gives it.
#[inline]
pub fn to_float(mantissa: i64, scale: u8) -> f32 {
    match nearest_f32(numeric::to_f64(mantissa, scale)) {
        Some(float) => float,
        None => parsed_float(mantissa, scale),
    }
}

/// The same by its text.
#[cold]
fn parsed_float(mantissa: i64, scale: u8) -> f32 {
    let mut text = String::new();
    numeric::write_decimal(mantissa, scale, &mut text);
    text.parse().expect("plain decimal notation is a float")
}

/// The `f32` nearest to the decimal number whose nearest double is `nearest`; `None` if the double
/// does not tell.
///
/// Rounding twice goes wrong only where the double lies exactly between two floats: then the decimal
/// number may lie on either side of it. Numbers here are zero or in the normal range of floats.
#[inline]
pub fn nearest_f32(nearest: f64) -> Option<f32> {
    /// Bits of a double's fraction that a float does not have.
    const DROPPED_BITS: u32 = 29;
    let dropped = nearest.to_bits() & ((1 << DROPPED_BITS) - 1);
    (dropped != 1 << (DROPPED_BITS - 1)).then_some(nearest as f32)
}

/// Whether ids of this tag order as their payloads do where the scale is the same.
#[inline]
fn is_exact_or_double(id: TermId) -> bool {
    // Two different mantissas may denote one float, but never one double.
    id.is_numeric()
        && id.numeric_datatype() != FLOAT
        && id.numeric_datatype() < CUSTOM_NUMERIC_FIRST
}

/// Whether it is an inline double.
#[inline]
fn is_double(id: TermId) -> bool {
    id.datatype_tag() == tag::NUMERIC | DOUBLE
}

/// The double nearest to an inline number other than a float.
#[inline]
fn exact_or_double(id: TermId) -> Option<f64> {
    if id.is_binary_double() {
        return Some(id.binary_double());
    }
    is_exact_or_double(id).then(|| numeric::to_f64(id.mantissa(), id.scale()))
}

/// The order by value of two inline ids: numbers other than floats, or dates of one kind that both
/// have a zone or both have none.
#[inline]
pub fn compare_inline(a: u64, b: u64) -> Option<Ordering> {
    let (a, b) = (TermId(a), TermId(b));
    let are_decimal = is_exact_or_double(a) && is_exact_or_double(b);
    if are_decimal && a.scale() == b.scale() {
        return Some(a.mantissa().cmp(&b.mantissa()));
    }
    if is_double(a) || is_double(b) {
        return exact_or_double(a)?.partial_cmp(&exact_or_double(b)?);
    }
    if are_decimal {
        return Some(scaled(a, b.scale()).cmp(&scaled(b, a.scale())));
    }
    if a.is_temporal() && date_type(a) == date_type(b) {
        if a.zone_minutes().is_some() != b.zone_minutes().is_some() {
            return None;
        }
        return Some(utc_instant(a)?.cmp(&utc_instant(b)?));
    }
    None
}

/// What tells the type of an inline date or duration from others: the tag of those without a fraction of a second.
#[inline]
pub const fn date_type(id: TermId) -> u8 {
    match id.tag() {
        tag::DATE_TIME_MILLIS | tag::DATE_TIME_MICROS => tag::DATE_TIME,
        tag::DURATION_MICROS => tag::DURATION,
        other => other,
    }
}

/// When an inline date begins, in seconds and units of 10^-18 since; without a zone as if in UTC. The length of a duration.
#[inline]
pub const fn utc_instant(id: TermId) -> Option<(i64, i64)> {
    if id.is_duration() {
        return id.duration();
    }
    let (start, fraction) = match id.split_second() {
        Some(split) => split,
        None => (id, 0),
    };
    match start.utc_seconds() {
        Some(second) => Some((second, fraction)),
        None => None,
    }
}

/// The bits of an id that another id must share for the two to be in the order of their values, and equal if these are: tag and scale of
/// numbers other than floats, the notation of doubles by their bits, tag and zone of dates, all of booleans but which it is. `None` where ids tell no order.
#[inline]
pub fn order_within(id: TermId) -> Option<u64> {
    if is_exact_or_double(id) {
        return Some(!MANTISSA_MASK);
    }
    if id.is_binary_double() {
        return Some(binary_doubles::ORDER_MASK);
    }
    if id.tag() == tag::BOOLEAN {
        return Some(!1);
    }
    id.is_temporal().then(|| id.date_kind_mask())
}

/// The order by value of two inline floats.
#[inline]
pub fn compare_floats(a: u64, b: u64) -> Option<Ordering> {
    inline_float(a)?.partial_cmp(&inline_float(b)?)
}

/// Kinds of inline values; no operator compares values of two of them, which are different.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InlineKind {
    /// Any numeric type of XML Schema.
    Number,
    /// The type of this tag: booleans, and dates without a fraction of a second.
    Of(u8),
}

/// The kind of an id, if it is inline and its value is known.
#[inline]
pub fn inline_kind(id: u64) -> Option<InlineKind> {
    let id = TermId(id);
    match id.tag() {
        tag::BOOLEAN => Some(InlineKind::Of(tag::BOOLEAN)),
        _ if id.is_temporal() => Some(InlineKind::Of(date_type(id))),
        _ if id.is_numeric() && id.numeric_datatype() < CUSTOM_NUMERIC_FIRST => {
            Some(InlineKind::Number)
        }
        _ if id.is_binary_double() => Some(InlineKind::Number),
        _ => None,
    }
}

/// Kinds of terms that ids tell, though not always their values. Terms of two of these kinds are not equal, and no operator orders them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IdKind {
    /// An inline value.
    Inline(InlineKind),
    /// A string without a language.
    String,
    /// A string with one.
    Tagged,
    /// An IRI or a blank node.
    Resource,
}

impl IdKind {
    /// The kind of an id, if it tells one.
    #[inline]
    pub fn of(id: u64) -> Option<Self> {
        match TermId(id).tag() {
            tag::STRING => Some(Self::String),
            tag::LANGUAGE => Some(Self::Tagged),
            tag::RESOURCE => Some(Self::Resource),
            _ => inline_kind(id).map(Self::Inline),
        }
    }

    /// Whether operators order terms of this kind.
    pub fn has_order(self) -> bool {
        matches!(self, Self::Inline(_) | Self::String)
    }
}

/// The value of an inline integer, of any type derived from `xsd:integer`.
#[inline]
pub fn inline_integer(id: u64) -> Option<i64> {
    let id = TermId(id);
    let code = id.numeric_datatype();
    let is_integer = id.is_numeric() && code < CUSTOM_NUMERIC_FIRST;
    (is_integer && !(DECIMAL..=FLOAT).contains(&code)).then(|| id.mantissa())
}

/// The value of an inline float.
#[inline]
pub fn inline_float(id: u64) -> Option<f32> {
    let id = TermId(id);
    let is_float = id.is_numeric() && id.numeric_datatype() == FLOAT;
    is_float.then(|| to_float(id.mantissa(), id.scale()))
}

/// The mantissa brought to the sum of both scales.
fn scaled(id: TermId, other_scale: u8) -> i128 {
    i128::from(id.mantissa()) * 10_i128.pow(u32::from(other_scale))
}

/// `YEAR`, `MONTH`, `DAY`, `HOURS` and `MINUTES` of an inline date, where its type has that part.
#[inline]
pub fn date_part(function: &Function, id: TermId) -> Option<i64> {
    match function {
        Function::Year => match id.civil_date() {
            Some((year, ..)) => Some(year),
            None => id
                .g_year()
                .or_else(|| id.g_year_month().map(|(year, _)| year)),
        },
        Function::Month => match id.civil_date() {
            Some((_, month, _)) => Some(month.into()),
            None => id.g_year_month().map(|(_, month)| month.into()),
        },
        Function::Day => id.civil_date().map(|(.., day)| day.into()),
        Function::Hours => id.second_of_day().map(|second| second / 3600),
        Function::Minutes => id.second_of_day().map(|second| second / 60 % 60),
        _ => None,
    }
}
