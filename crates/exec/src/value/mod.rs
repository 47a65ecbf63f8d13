//! Typed values of terms, what SPARQL's operators say of two of them, and the order of ORDER BY.
//!
//! Expressions and aggregates come here when an id alone does not answer. [`Reader`] turns an id into
//! a [`Value`]: inline numbers and dates straight from the payload, everything else through its lexical form.
//! A value does not remember how it was written; whoever needs the text of a term asks for the
//! text ([`Reader::text`]).
//!
//! Invariants: a literal of a datatype that is unknown here is [`Value::Unknown`], one whose lexical form
//! is not in its datatype [`Value::IllTyped`] or `Unknown`; none of them takes part in arithmetic. Cost: an
//! inline number or date some nanoseconds; a dictionary literal one decoding and one parse.

mod compare;
pub mod day_time;
mod decimal_text;
mod equality_key;
mod exact;
mod inline;
mod inline_date;
mod inline_id;
mod inline_order;
mod inline_ranks;
mod kept_texts;
mod known_words;
mod nearest_double;
mod number;
mod order;
mod order_key;
mod range_word;
mod reader;
mod rounding;
mod short_number;
mod wide;

pub use compare::{Comparison, compare, equal};
pub use equality_key::{EqualityKey, INTEGER};
pub use exact::{Exact, Rounding};
pub use inline::{
    IdKind, InlineKind, compare_floats, compare_inline, date_part, date_type, inline_float,
    inline_integer, inline_kind, nearest_f32, order_within, to_float, utc_instant,
};
use inline_date::parse_with_fraction;
pub use inline_date::{Instant, instant};
pub use inline_order::order_inline;
pub use inline_ranks::{InlineRanks, MICROS_BITS, RankKind, utc_micros};
pub use kept_texts::KeptTexts;
pub use known_words::KnownWords;
pub use nearest_double::units_to_f64;
pub use number::{I64_LIMIT, Number, Rank, XSD_DECIMAL, divide_decimals, multiply_decimals};
pub use order::{compare_for_order, text_into, text_word};
pub use order_key::{OrderClass, OrderKey, first_bytes, ordered_as_ids};
pub use range_word::{
    RangeWord, Told, around_float, around_number, around_time, comparable, is_totally_ordered,
    number_of_word, ordered_bits,
};
pub use reader::Reader;
pub use rounding::round_floating;
pub use short_number::{
    POWERS, SCALE_MAX, ShortNumber, decimal_id, nearest, of_units, units, units_of,
};
pub use wide::Wide;

use crate::context::Context;
use basalt_rdf::inline::encode_boolean;
use basalt_rdf::term_view::XSD;
use basalt_rdf::{LiteralKind, LiteralView, TermView};
pub use basalt_store::first_word;
use oxsdatatypes::{
    Boolean, Date, DateTime, DayTimeDuration, Duration, GDay, GMonth, GMonthDay, GYear, GYearMonth,
    Time, YearMonthDuration,
};

/// The types of durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DurationType {
    /// `xsd:duration`
    Any,
    /// `xsd:yearMonthDuration`
    YearMonth,
    /// `xsd:dayTimeDuration`
    DayTime,
}

impl DurationType {
    /// The local name of the type.
    fn name(self) -> &'static str {
        match self {
            Self::Any => "duration",
            Self::YearMonth => "yearMonthDuration",
            Self::DayTime => "dayTimeDuration",
        }
    }

    /// The canonical text of a duration of this type.
    fn text(self, duration: Duration) -> String {
        let own = match self {
            Self::Any => None,
            Self::YearMonth => YearMonthDuration::try_from(duration)
                .ok()
                .map(|v| v.to_string()),
            Self::DayTime => DayTimeDuration::try_from(duration)
                .ok()
                .map(|v| v.to_string()),
        };
        own.unwrap_or_else(|| duration.to_string())
    }
}

/// What a term denotes, as far as operators care.
#[derive(Clone, Debug)]
pub enum Value {
    /// An IRI.
    Iri,
    /// A blank node.
    Blank,
    /// `xsd:string`.
    String(String),
    /// A string and its language tag.
    LangString(Box<(String, String)>),
    /// `xsd:boolean`.
    Boolean(bool),
    /// Any numeric type of XML Schema.
    Number(Number),
    /// `xsd:dateTime` and `xsd:dateTimeStamp`.
    DateTime(DateTime),
    /// `xsd:date`.
    Date(Date),
    /// `xsd:time`.
    Time(Time),
    /// `xsd:gYear`.
    Year(GYear),
    /// `xsd:gYearMonth`.
    YearMonth(GYearMonth),
    /// `xsd:gMonth`.
    Month(GMonth),
    /// `xsd:gMonthDay`.
    MonthDay(GMonthDay),
    /// `xsd:gDay`.
    Day(GDay),
    /// `xsd:duration` and its two subtypes.
    Duration(Duration, DurationType),
    /// An ill-typed literal of `xsd:boolean` or a numeric type, which is as [`Value::Unknown`] but has
    /// an effective boolean value.
    IllTyped,
    /// A literal of an unknown datatype, ill-typed, or a number too long to compute with.
    Unknown,
}

impl Value {
    /// The value of any term.
    pub fn of(term: TermView<'_>) -> Self {
        match term {
            TermView::Iri(_) => Self::Iri,
            TermView::Blank(_) => Self::Blank,
            TermView::Literal(literal) => Self::of_literal(literal),
        }
    }

    /// The value of a literal.
    pub fn of_literal(literal: LiteralView<'_>) -> Self {
        let text = literal.lexical;
        match literal.kind {
            LiteralKind::Simple => Self::String(text.to_owned()),
            LiteralKind::Language(tag) => {
                Self::LangString(Box::new((text.to_owned(), tag.to_owned())))
            }
            LiteralKind::Typed(datatype) => match datatype.strip_prefix(XSD) {
                Some(name) => Self::parse(name, text).unwrap_or_else(|| without_value(name, text)),
                None => Self::Unknown,
            },
        }
    }

    /// The value of a lexical form in the XML Schema type called `name`.
    pub fn parse(name: &str, text: &str) -> Option<Self> {
        match name {
            "string" => Some(Self::String(text.to_owned())),
            "boolean" => text
                .parse::<Boolean>()
                .ok()
                .map(|b| Self::Boolean(b.into())),
            "dateTime" | "dateTimeStamp" => {
                parse_with_fraction(text).or_else(|| text.parse().ok().map(Self::DateTime))
            }
            "date" => text.parse().ok().map(Self::Date),
            "time" => text.parse().ok().map(Self::Time),
            "gYear" => text.parse().ok().map(Self::Year),
            "gYearMonth" => text.parse().ok().map(Self::YearMonth),
            "gMonth" => text.parse().ok().map(Self::Month),
            "gMonthDay" => text.parse().ok().map(Self::MonthDay),
            "gDay" => text.parse().ok().map(Self::Day),
            "duration" => {
                let duration = text.parse().ok()?;
                Some(Self::Duration(duration, DurationType::Any))
            }
            "yearMonthDuration" => {
                let months: YearMonthDuration = text.parse().ok()?;
                Some(Self::Duration(months.into(), DurationType::YearMonth))
            }
            "dayTimeDuration" => {
                let seconds = day_time::parse(text).or_else(|| text.parse().ok())?;
                Some(Self::Duration(seconds.into(), DurationType::DayTime))
            }
            other => Number::parse(other, text).map(Self::Number),
        }
    }

    /// Whether the value is a literal's.
    pub fn is_literal(&self) -> bool {
        !matches!(self, Self::Iri | Self::Blank)
    }

    /// The string, with or without a language, if it is one.
    #[inline]
    pub fn as_string(&self) -> Option<LiteralView<'_>> {
        match self {
            Self::String(text) => Some(LiteralView::simple(text)),
            Self::LangString(tagged) => Some(LiteralView::language(&tagged.0, &tagged.1)),
            _ => None,
        }
    }

    /// The number, if it is one.
    pub fn number(&self) -> Option<Number> {
        match self {
            Self::Number(number) => Some(number.clone()),
            _ => None,
        }
    }

    /// Whether it is a literal of which no value is known.
    pub fn is_unknown(&self) -> bool {
        matches!(self, Self::Unknown | Self::IllTyped)
    }

    /// The effective boolean value (section 17.2.2); `None` is a type error. Ill-typed booleans and
    /// numbers are false.
    pub fn effective_boolean(&self) -> Option<bool> {
        match self {
            Self::Boolean(value) => Some(*value),
            Self::IllTyped => Some(false),
            Self::String(text) => Some(!text.is_empty()),
            Self::Number(number) => Some(number.to_boolean()),
            _ => None,
        }
    }

    /// The canonical lexical form and the local name of the XML Schema type, for values that have
    /// one.
    fn canonical(&self) -> Option<(String, &'static str)> {
        Some(match self {
            Self::Boolean(value) => (value.to_string(), "boolean"),
            Self::Number(number) => number.to_text(),
            Self::DateTime(v) => (v.to_string(), "dateTime"),
            Self::Date(v) => (v.to_string(), "date"),
            Self::Time(v) => (v.to_string(), "time"),
            Self::Year(v) => (v.to_string(), "gYear"),
            Self::YearMonth(v) => (v.to_string(), "gYearMonth"),
            Self::Month(v) => (v.to_string(), "gMonth"),
            Self::MonthDay(v) => (v.to_string(), "gMonthDay"),
            Self::Day(v) => (v.to_string(), "gDay"),
            Self::Duration(v, of_type) => (of_type.text(*v), of_type.name()),
            Self::String(_)
            | Self::LangString(_)
            | Self::Iri
            | Self::Blank
            | Self::IllTyped
            | Self::Unknown => return None,
        })
    }

    /// What `STR` gives for a computed value; `None` if the value alone does not know its text.
    pub fn to_text(&self) -> Option<String> {
        match self {
            Self::String(text) => Some(text.clone()),
            Self::LangString(tagged) => Some(tagged.0.clone()),
            other => other.canonical().map(|(text, _)| text),
        }
    }

    /// The id of a computed value in its canonical form; 0 if the value alone does not say which
    /// term it is.
    pub fn to_id(&self, cx: &Context) -> u64 {
        let terms = cx.terms();
        let id = match self {
            Self::Boolean(value) => encode_boolean(*value),
            Self::String(text) => terms.intern(TermView::simple(text)),
            Self::LangString(tagged) => terms.intern(TermView::language(&tagged.0, &tagged.1)),
            Self::Number(number) => return number.to_id(cx),
            Self::Duration(duration, DurationType::DayTime)
                if day_time::are_inline(cx)
                    && let Some(id) = day_time::inline_id(*duration) =>
            {
                id
            }
            other => match other.canonical() {
                Some((text, name)) => terms.intern(TermView::typed(&text, &format!("{XSD}{name}"))),
                None => return 0,
            },
        };
        id.0
    }
}

/// What a literal of the XML Schema type called `name` is if [`Value::parse`] finds no value.
fn without_value(name: &str, text: &str) -> Value {
    let is_long_number = text.len() > exact::DIGITS_MAX;
    if (name == "boolean" || Number::is_type(name)) && !is_long_number {
        Value::IllTyped
    } else {
        Value::Unknown
    }
}

#[cfg(test)]
mod tests;
