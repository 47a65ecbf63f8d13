//! `compare_for_order`: the order of ORDER BY, MIN and MAX, a total preorder over all terms.
//!
//! Unbound, blank nodes, IRIs, literals. Among literals: numbers by value with NaN last, then dates,
//! times and durations kind by kind, then everything else by lexical form, datatype and language,
//! which for strings and booleans is their value.
//!
//! Invariant: transitive also where the operators are not, because sorting needs it: numbers of mixed
//! types are compared by one key, a date without a zone counts as UTC, a month of a duration
//! has its average length. Cost: inline ids of one kind compare without decoding.

use super::inline_order::{RANK_OF_DURATIONS, is_custom_number, order_inline, written};
use super::{Number, OrderClass, Reader, Value, day_time, first_word};
use crate::context::Context;
use crate::error::ExecError;
use basalt_rdf::{TermId, TermView};
use oxsdatatypes::TimezoneOffset;
use std::cmp::Ordering;

/// The order of two ids; 0 is unbound and comes first.
pub fn compare_for_order(a: u64, b: u64, cx: &Context) -> Result<Ordering, ExecError> {
    if a == b {
        return Ok(Ordering::Equal);
    }
    if a == 0 || b == 0 {
        return Ok(a.cmp(&b));
    }
    if let Some(order) = order_inline(a, b) {
        return Ok(order);
    }
    if let (Some(first), Some(second)) = (OrderClass::of(a, cx), OrderClass::of(b, cx)) {
        if first != second {
            return Ok(first.cmp(&second));
        }
        let order = match first.has_text() {
            true => compare_texts(a, b, cx)?,
            false => Ordering::Equal,
        };
        if order != Ordering::Equal {
            return Ok(order);
        }
    }
    Ok(Key::of(a, cx)?.compare(&Key::of(b, cx)?))
}

/// Appends the text of an id of a class that has one ([`OrderClass::has_text`]).
pub fn text_into(id: u64, text: &mut Vec<u8>, cx: &Context) -> Result<(), ExecError> {
    let id = TermId(id);
    if is_custom_number(id) {
        text.extend_from_slice(written(id).as_bytes());
        return Ok(());
    }
    Ok(cx.snapshot().dictionary().lexical_into(id, text)?)
}

/// The first bytes of that text, which tell most texts apart, as a number that is ordered as texts are; `scratch` is overwritten.
pub fn text_word(id: u64, scratch: &mut Vec<u8>, cx: &Context) -> Result<u128, ExecError> {
    let id = TermId(id);
    if is_custom_number(id) {
        return Ok(first_word(written(id).as_bytes()));
    }
    Ok(cx.snapshot().dictionary().text_word(id, scratch)?)
}

/// Two terms by their texts; most differ in their first bytes.
fn compare_texts(a: u64, b: u64, cx: &Context) -> Result<Ordering, ExecError> {
    cx.check_for_term()?;
    let (mut first, mut second) = (Vec::new(), Vec::new());
    let order = text_word(a, &mut first, cx)?.cmp(&text_word(b, &mut second, cx)?);
    if order != Ordering::Equal {
        return Ok(order);
    }
    first.clear();
    second.clear();
    text_into(a, &mut first, cx)?;
    text_into(b, &mut second, cx)?;
    Ok(first.cmp(&second))
}

/// A term as far as its place in the order goes.
pub(super) enum Key {
    Blank(String),
    Iri(String),
    Number(Number),
    /// A date, time or duration.
    Calendar(Value),
    /// Lexical form, datatype, language.
    Text(String, String, Option<String>),
}

impl Key {
    pub(super) fn of(id: u64, cx: &Context) -> Result<Self, ExecError> {
        let mut reader = Reader::new(cx);
        let value = reader.value(id)?;
        if let Some(Value::Number(number)) = value {
            return Ok(Self::Number(number));
        }
        if let Some(value @ (Value::DateTime(_) | Value::Date(_) | Value::Time(_))) = value {
            return Ok(Self::Calendar(value));
        }
        Ok(match (value, reader.term(id)?) {
            (_, TermView::Blank(label)) => Self::Blank(label.to_owned()),
            (_, TermView::Iri(iri)) => Self::Iri(iri.to_owned()),
            (Some(Value::Boolean(value)), TermView::Literal(literal)) => {
                Self::Text(value.to_string(), literal.datatype().to_owned(), None)
            }
            (
                None
                | Some(Value::String(_) | Value::LangString(_) | Value::IllTyped | Value::Unknown),
                TermView::Literal(literal),
            ) => {
                let language = match literal.kind {
                    basalt_rdf::LiteralKind::Language(tag) => Some(tag.to_owned()),
                    _ => None,
                };
                Self::Text(
                    literal.lexical.to_owned(),
                    literal.datatype().to_owned(),
                    language,
                )
            }
            (Some(value), TermView::Literal(_)) => Self::Calendar(value),
        })
    }

    fn class(&self) -> u8 {
        match self {
            Self::Blank(_) => 0,
            Self::Iri(_) => 1,
            Self::Number(_) => 2,
            Self::Calendar(value) => 3 + calendar_rank(value),
            Self::Text(..) => u8::MAX,
        }
    }

    /// The double nearest to a number, by which numbers are compared first; `None` if it is none or NaN.
    pub(super) fn nearest_double(&self) -> Option<f64> {
        match self {
            Self::Number(number) => number.nearest_double(),
            _ => None,
        }
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Blank(a), Self::Blank(b)) | (Self::Iri(a), Self::Iri(b)) => a.cmp(b),
            (Self::Number(a), Self::Number(b)) => compare_numbers(a, b),
            (Self::Calendar(a), Self::Calendar(b)) => compare_calendar(a, b),
            (Self::Text(a, p, x), Self::Text(b, q, y)) => (a, p, x).cmp(&(b, q, y)),
            (a, b) => a.class().cmp(&b.class()),
        }
    }
}

/// Numbers by the nearest double, then exactly: the two zeros equal, infinities at the ends, NaN last.
fn compare_numbers(a: &Number, b: &Number) -> Ordering {
    if let (Some(a), Some(b)) = (a.small_decimal(), b.small_decimal()) {
        return a.cmp(&b);
    }
    let (x, y) = (f64::from(a.to_double()), f64::from(b.to_double()));
    let by_double = x
        .partial_cmp(&y)
        .unwrap_or_else(|| x.is_nan().cmp(&y.is_nan()));
    by_double.then_with(|| match (a.order_key(), b.order_key()) {
        (Some(a), Some(b)) => a.cmp(&b),
        // A long number may be as near to infinity as doubles tell, but it is not there.
        (Some(_), None) if x > 0.0 => Ordering::Less,
        (None, Some(_)) if x > 0.0 => Ordering::Greater,
        (a, b) => a.is_some().cmp(&b.is_some()),
    })
}

fn calendar_rank(value: &Value) -> u8 {
    match value {
        Value::DateTime(_) => 0,
        Value::Date(_) => 1,
        Value::Time(_) => 2,
        Value::Year(_) => 3,
        Value::YearMonth(_) => 4,
        Value::Month(_) => 5,
        Value::MonthDay(_) => 6,
        Value::Day(_) => 7,
        _ => RANK_OF_DURATIONS,
    }
}

/// The value with a zone; one that has a zone stays as it is, because a day moved to another zone would
/// start at another instant.
macro_rules! with_zone {
    ($value:expr) => {
        match $value.timezone_offset() {
            Some(_) => *$value,
            None => $value.adjust(Some(TimezoneOffset::UTC)).unwrap_or(*$value),
        }
    };
}

/// Compares with UTC as the zone of a side that has none, which makes the order of one kind total.
macro_rules! in_utc {
    ($a:expr, $b:expr) => {{
        let (a, b) = (with_zone!($a), with_zone!($b));
        a.partial_cmp(&b).unwrap_or(Ordering::Equal)
    }};
}

fn compare_calendar(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::DateTime(a), Value::DateTime(b)) => in_utc!(a, b),
        (Value::Date(a), Value::Date(b)) => in_utc!(a, b),
        (Value::Time(a), Value::Time(b)) => in_utc!(a, b),
        (Value::Year(a), Value::Year(b)) => in_utc!(a, b),
        (Value::YearMonth(a), Value::YearMonth(b)) => in_utc!(a, b),
        (Value::Month(a), Value::Month(b)) => in_utc!(a, b),
        (Value::MonthDay(a), Value::MonthDay(b)) => in_utc!(a, b),
        (Value::Day(a), Value::Day(b)) => in_utc!(a, b),
        (Value::Duration(a, _), Value::Duration(b, _)) => {
            day_time::length(*a).cmp(&day_time::length(*b))
        }
        (a, b) => calendar_rank(a).cmp(&calendar_rank(b)),
    }
}
