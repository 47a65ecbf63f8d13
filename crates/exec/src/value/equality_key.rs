//! Keys of values that are equal: hash joins find by them what `=` says is equal.
//!
//! ```text
//! 5  5.0  05  5.0e0                       all integers, decimals and doubles by their nearest double
//! 2026-01-01T01:00:00+01:00  ...T00Z      dates and times by their instant
//! <iri>  "text"  "P1"^^<unknown>          by the term itself
//! ```
//!
//! Invariant: values for which [`equal`](super::equal) is true have one key, provided that no float is compared with an integer or a decimal: several of
//! these have one nearest float. Values that are not equal may have one key, too, if seldom. A key is a short integer's id, or the term's, and
//! stands for no value. Cost: of inline ids some nanoseconds.

use super::inline::{date_type, utc_instant};
use super::inline_date::instant;
use super::{ShortNumber, Value};
use crate::row_numbers::hash_row;
use basalt_rdf::TermId;
use basalt_rdf::term_id::{MANTISSA_BITS, tag};
use xxhash_rust::xxh3::xxh3_64;

/// The code of `xsd:integer`, whose ids keys are.
pub const INTEGER: u8 = 0;

/// Kinds of which keys are made; values of two of them are never equal.
#[derive(Clone, Copy)]
enum Kind {
    Number = 1,
    Boolean,
    Tagged,
    Instant,
    Year,
    YearMonth,
    Month,
    MonthDay,
    Day,
    Duration,
}

/// What the key of a term is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EqualityKey {
    /// An id that many terms may share.
    Shared(u64),
    /// The id of the term.
    Term,
    /// It is equal to nothing, not even to itself.
    Nothing,
}

impl EqualityKey {
    /// Of an inline id; `None` of other ids.
    #[inline]
    pub fn of_inline(id: TermId) -> Option<Self> {
        if id.is_number() {
            let number = ShortNumber::of_id(id.0);
            return Some(number.map_or(Self::Term, Self::of_short));
        }
        Some(match id.tag() {
            tag::RESOURCE | tag::STRING => Self::Term,
            tag::BOOLEAN => shared(Kind::Boolean, [id.payload(), 0]),
            tag::G_YEAR => shared(Kind::Year, [id.g_year()? as u64, 0]),
            tag::G_YEAR_MONTH => {
                let (year, month) = id.g_year_month()?;
                shared(Kind::YearMonth, [year as u64, u64::from(month)])
            }
            _ if id.is_temporal() => of_instant(date_type(id), utc_instant(id)?),
            _ => return None,
        })
    }

    /// Of a number.
    #[inline]
    pub fn of_short(number: ShortNumber) -> Self {
        match number.nearest_double() {
            Some(nearest) => of_double(nearest),
            None => of_double(number.to_number().to_double().into()),
        }
    }

    /// Of a value.
    pub fn of_value(value: &Value) -> Self {
        let of_bytes = |kind, bytes: [u8; 18]| {
            // The zone, which comes last, is in the instant already.
            let word = |at: usize| {
                bytes[at..]
                    .first_chunk()
                    .map_or(0, |word| u64::from_be_bytes(*word))
            };
            shared(kind, [word(0), word(8)])
        };
        match value {
            Value::Number(number) => of_double(number.to_double().into()),
            Value::Boolean(value) => shared(Kind::Boolean, [u64::from(*value), 0]),
            Value::LangString(tagged) => shared(Kind::Tagged, [xxh3_64(tagged.0.as_bytes()), 0]),
            Value::DateTime(_) | Value::Date(_) | Value::Time(_) => match instant(value) {
                Some(instant) => of_instant(instant.tag, (instant.second, instant.fraction)),
                // Years that no inline date has: few, and all with one key.
                None => shared(Kind::Instant, [0, 0]),
            },
            Value::Year(year) => shared(Kind::Year, [year.year() as u64, 0]),
            Value::YearMonth(month) => shared(
                Kind::YearMonth,
                [month.year() as u64, u64::from(month.month())],
            ),
            Value::Month(month) => of_bytes(Kind::Month, month.to_be_bytes()),
            Value::MonthDay(day) => of_bytes(Kind::MonthDay, day.to_be_bytes()),
            Value::Day(day) => of_bytes(Kind::Day, day.to_be_bytes()),
            Value::Duration(duration, _) => match instant(value) {
                Some(length) => of_instant(length.tag, (length.second, length.fraction)),
                // With months, or longer than any inline one.
                None => shared(Kind::Duration, [xxh3_64(&duration.to_be_bytes()), 0]),
            },
            Value::Iri | Value::Blank | Value::String(_) | Value::IllTyped | Value::Unknown => {
                Self::Term
            }
        }
    }
}

/// Of the double nearest to a number.
#[inline]
fn of_double(nearest: f64) -> EqualityKey {
    if nearest.is_nan() {
        return EqualityKey::Nothing;
    }
    // Both zeros are equal.
    shared(Kind::Number, [(nearest + 0.0).to_bits(), 0])
}

#[inline]
fn of_instant(date_type: u8, (second, fraction): (i64, i64)) -> EqualityKey {
    let second = (second as u64) << u8::BITS | u64::from(date_type);
    shared(Kind::Instant, [second, fraction as u64])
}

/// A short integer's id, of all values that have these words.
#[inline]
fn shared(kind: Kind, words: [u64; 2]) -> EqualityKey {
    let hash = hash_row(&[kind as u64, words[0], words[1]]);
    let mantissa = hash >> (u64::BITS - MANTISSA_BITS + 1);
    let id = TermId::numeric(INTEGER, mantissa as i64, 0);
    id.map_or(EqualityKey::Term, |id| EqualityKey::Shared(id.0))
}

#[cfg(test)]
mod tests {
    use super::super::tests::typed;
    use super::super::{Number, equal};
    use super::*;
    use proptest::prelude::*;

    /// Literals of which many are equal to others.
    fn literal() -> impl Strategy<Value = (String, &'static str)> {
        let decimal = "(0|-|)[0-3](\\.[05]{0,3}|)";
        let long = "0?123456789012345678[0-2](\\.0{0,20}|)";
        let day = "0?200[01]-0[12]-0[12](Z|[+-]0[01]:00|)";
        let time = "2000-01-0[12]T(0[0-2]|24):00:0[01](\\.[05]{1,7}|)(Z|[+-]0[01]:00|)";
        prop_oneof![
            (
                decimal,
                prop::sample::select(vec!["integer", "decimal", "double", "byte", "boolean"])
            ),
            (
                long,
                prop::sample::select(vec!["integer", "decimal", "double"])
            ),
            ("[0-3]e[0-2]|NaN|INF|-0", Just("double")),
            ("[0-2](\\.[05]|)|16777217", Just("float")),
            ("true|false|1|0", Just("boolean")),
            (day, Just("date")),
            (time, Just("dateTime")),
            ("(-|)200[01](Z|[+-]0[01]:00|)", Just("gYear")),
            ("200[01]-0[12](Z|[+]00:00|)", Just("gYearMonth")),
            ("(0[0-2]|24):00:00(\\.0|)(Z|[+-]0[01]:00|)", Just("time")),
            ("--0[12](Z|[+]00:00|)", Just("gMonth")),
            ("--0[12]-0[12](Z|)", Just("gMonthDay")),
            ("---0[12](Z|)", Just("gDay")),
            ("P(1Y|12M|1M|1D)", Just("duration")),
            ("P(1Y|12M)", Just("yearMonthDuration")),
            ("PT?(24H|1D|3600S|1H|0.50S|0.5S)", Just("dayTimeDuration")),
            ("[ab]", Just("string")),
        ]
    }

    /// The key as executors make it: of the id where it tells, else of the value, and in either way the same.
    fn key(text: &str, name: &str) -> (Value, EqualityKey) {
        let (value, id) = typed(text, name);
        let key = EqualityKey::of_value(&value);
        if let Some(id) = id {
            let of_id = EqualityKey::of_inline(id).expect("it is inline");
            assert_eq!(of_id, key, "{text} {name}");
        }
        (value, key)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4_000))]
        #[test]
        fn equal_values_have_equal_keys(a in literal(), b in literal()) {
            let is_exact = |value: &Value| value.number().is_some_and(|number| !matches!(number, Number::Float(_) | Number::Double(_)));
            let is_float = |value: &Value| matches!(value, Value::Number(Number::Float(_)));
            let ((x, of_x), (y, of_y)) = (key(&a.0, a.1), key(&b.0, b.1));
            let is_transitive = !(is_exact(&x) && is_float(&y) || is_float(&x) && is_exact(&y));
            if is_transitive && equal(&x, &y, a == b) == Some(true) {
                prop_assert_eq!(of_x, of_y, "{:?} {:?}", a, b);
                prop_assert!(of_x != EqualityKey::Nothing);
            }
        }
    }

    #[test]
    fn keys_tell_what_is_not_equal_apart() {
        let of = |text: &str, name: &str| key(text, name).1;
        let different = [
            of("5", "integer"),
            of("6", "decimal"),
            of("true", "boolean"),
            of("2000", "gYear"),
            of("2000-01", "gYearMonth"),
            of("2000-01-01", "date"),
            of("2000-01-01T00:00:00", "dateTime"),
            of("2000-01-01T00:00:00.5", "dateTime"),
            of("P1D", "duration"),
            of("PT1S", "duration"),
            of("P1M", "duration"),
        ];
        for (idx, a) in different.iter().enumerate() {
            assert!(matches!(a, EqualityKey::Shared(_)));
            assert!(!different[..idx].contains(a), "{idx}");
        }
        assert_eq!(of("NaN", "double"), EqualityKey::Nothing);
        for (text, name) in [("x", "string"), ("x", "integer"), ("x", "anyURI")] {
            assert_eq!(of(text, name), EqualityKey::Term, "{name}");
        }
    }
}
