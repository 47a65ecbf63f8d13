//! The value that a term denotes, and what SPARQL's operators say of two values.
//!
//! `=` and `<` are the operator table of section 17.3, extended as the section allows to the XSD
//! date and duration types; [`compare_for_order`] is the order of ORDER BY, MIN and MAX
//! (section 15.1), which puts any two terms in some order. Cost: parses the lexical form each time.

use super::number::{INTEGER_TYPES, Number};
use oxrdf::{Literal, Term};
use oxsdatatypes::{
    Boolean, Date, DateTime, DayTimeDuration, Duration, GDay, GMonth, GMonthDay, GYear, GYearMonth,
    Time, YearMonthDuration,
};
use std::cmp::Ordering;

/// What a term denotes, as far as operators care.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    /// An IRI.
    Iri,
    /// A blank node.
    Blank,
    /// xsd:string.
    String(String),
    /// A string with a language tag.
    LangString(String, String),
    /// xsd:boolean.
    Boolean(bool),
    /// Any numeric type.
    Number(Number),
    /// xsd:dateTime and xsd:dateTimeStamp.
    DateTime(DateTime),
    /// xsd:date.
    Date(Date),
    /// xsd:time.
    Time(Time),
    /// xsd:gYear.
    Year(GYear),
    /// xsd:gYearMonth.
    YearMonth(GYearMonth),
    /// xsd:gMonth.
    Month(GMonth),
    /// xsd:gMonthDay.
    MonthDay(GMonthDay),
    /// xsd:gDay.
    Day(GDay),
    /// xsd:duration and its two subtypes.
    Duration(Duration),
    /// A literal whose datatype is unknown or whose lexical form is not in its datatype.
    Unknown,
}

const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

/// The XSD name of a literal's datatype, or nothing for another namespace.
pub(crate) fn xsd_name(literal: &Literal) -> Option<&str> {
    literal.datatype().as_str().strip_prefix(XSD)
}

impl Value {
    /// The value of any term.
    pub(crate) fn of(term: &Term) -> Self {
        match term {
            Term::NamedNode(_) => Self::Iri,
            Term::BlankNode(_) => Self::Blank,
            Term::Literal(literal) => Self::of_literal(literal),
        }
    }

    fn of_literal(literal: &Literal) -> Self {
        let text = literal.value();
        if let Some(language) = literal.language() {
            return Self::LangString(text.to_owned(), language.to_owned());
        }
        let value = xsd_name(literal).and_then(|name| match name {
            "string" => Some(Self::String(text.to_owned())),
            "boolean" => text
                .parse::<Boolean>()
                .ok()
                .map(|b| Self::Boolean(b.into())),
            "dateTime" | "dateTimeStamp" => text.parse().ok().map(Self::DateTime),
            "date" => text.parse().ok().map(Self::Date),
            "time" => text.parse().ok().map(Self::Time),
            "gYear" => text.parse().ok().map(Self::Year),
            "gYearMonth" => text.parse().ok().map(Self::YearMonth),
            "gMonth" => text.parse().ok().map(Self::Month),
            "gMonthDay" => text.parse().ok().map(Self::MonthDay),
            "gDay" => text.parse().ok().map(Self::Day),
            "duration" => text.parse().ok().map(Self::Duration),
            "yearMonthDuration" => {
                let months: YearMonthDuration = text.parse().ok()?;
                Some(Self::Duration(months.into()))
            }
            "dayTimeDuration" => {
                let seconds: DayTimeDuration = text.parse().ok()?;
                Some(Self::Duration(seconds.into()))
            }
            other => Number::parse(other, text).map(Self::Number),
        });
        value.unwrap_or(Self::Unknown)
    }

    /// Whether the value is a literal's.
    fn is_literal(&self) -> bool {
        !matches!(self, Self::Iri | Self::Blank)
    }

    /// The effective boolean value (section 17.2.2), or nothing for a type error.
    pub(crate) fn effective_boolean(&self) -> Option<bool> {
        match self {
            Self::Boolean(value) => Some(*value),
            Self::String(text) => Some(!text.is_empty()),
            Self::Number(number) => Some(number.to_boolean()),
            _ => None,
        }
    }
}

/// Whether a literal claims to be a number or a boolean, be its text one or not.
pub(crate) fn is_number_or_boolean_by_name(term: &Term) -> bool {
    let Term::Literal(literal) = term else {
        return false;
    };
    xsd_name(literal).is_some_and(|name| {
        ["boolean", "decimal", "float", "double"].contains(&name) || INTEGER_TYPES.contains(&name)
    })
}

/// The number a numeric literal denotes.
pub(crate) fn number(term: &Term) -> Option<Number> {
    match Value::of(term) {
        Value::Number(number) => Some(number),
        _ => None,
    }
}

/// The operator `=`; nothing is a type error.
///
/// Equal terms are equal, except that NaN is not; terms of which one has an unknown value are an error
/// when both are literals (RDFterm-equal); values of two known, unlike types are different.
pub(crate) fn equal(a: &Term, b: &Term) -> Option<bool> {
    let (va, vb) = (Value::of(a), Value::of(b));
    match (&va, &vb) {
        (Value::Number(x), Value::Number(y)) => Some(x.compare(y) == Some(Ordering::Equal)),
        (Value::Boolean(x), Value::Boolean(y)) => Some(x == y),
        (Value::DateTime(x), Value::DateTime(y)) => Some(x == y),
        (Value::Date(x), Value::Date(y)) => Some(x == y),
        (Value::Time(x), Value::Time(y)) => Some(x == y),
        (Value::Year(x), Value::Year(y)) => Some(x == y),
        (Value::YearMonth(x), Value::YearMonth(y)) => Some(x == y),
        (Value::Month(x), Value::Month(y)) => Some(x == y),
        (Value::MonthDay(x), Value::MonthDay(y)) => Some(x == y),
        (Value::Day(x), Value::Day(y)) => Some(x == y),
        (Value::Duration(x), Value::Duration(y)) => Some(x == y),
        // Language tags that differ in case are the same tag (RDF 1.1, section 3.3).
        (Value::LangString(x, p), Value::LangString(y, q)) => {
            Some(x == y && p.eq_ignore_ascii_case(q))
        }
        _ if a == b => Some(true),
        (Value::LangString(..), _) | (_, Value::LangString(..)) => Some(false),
        (Value::Unknown, other) | (other, Value::Unknown) if other.is_literal() => None,
        _ => Some(false),
    }
}

/// What the operators `<`, `>`, `<=` and `>=` look at.
pub(crate) enum Comparison {
    /// The values are in this order.
    Ordered(Ordering),
    /// The values are of one type and not ordered (NaN, dates of which one has no zone): every
    /// comparison is false or an error, depending on the operator table.
    Unordered,
    /// No operator is defined for the operands.
    TypeError,
}

/// Compares two values with the operator table.
pub(crate) fn compare(a: &Term, b: &Term) -> Comparison {
    let order = match (Value::of(a), Value::of(b)) {
        (Value::Boolean(x), Value::Boolean(y)) => Some(x.cmp(&y)),
        (Value::LangString(..), _) | (_, Value::LangString(..)) => return Comparison::TypeError,
        (x, y) => match compare_values(&x, &y) {
            Some(order) => order,
            None => return Comparison::TypeError,
        },
    };
    order.map_or(Comparison::Unordered, Comparison::Ordered)
}

/// The order of two values of one type; outer nothing if they are of unlike types.
fn compare_values(a: &Value, b: &Value) -> Option<Option<Ordering>> {
    Some(match (a, b) {
        (Value::Number(x), Value::Number(y)) => x.compare(y),
        (Value::String(x), Value::String(y)) => Some(x.cmp(y)),
        (Value::LangString(x, p), Value::LangString(y, q)) if p == q => Some(x.cmp(y)),
        (Value::DateTime(x), Value::DateTime(y)) => x.partial_cmp(y),
        (Value::Date(x), Value::Date(y)) => x.partial_cmp(y),
        (Value::Time(x), Value::Time(y)) => x.partial_cmp(y),
        (Value::Year(x), Value::Year(y)) => x.partial_cmp(y),
        (Value::YearMonth(x), Value::YearMonth(y)) => x.partial_cmp(y),
        (Value::Month(x), Value::Month(y)) => x.partial_cmp(y),
        (Value::MonthDay(x), Value::MonthDay(y)) => x.partial_cmp(y),
        (Value::Day(x), Value::Day(y)) => x.partial_cmp(y),
        (Value::Duration(x), Value::Duration(y)) => x.partial_cmp(y),
        _ => return None,
    })
}

/// The order of ORDER BY as far as section 15.1 lays it down: unbound, blank nodes, IRIs, literals; IRIs as
/// simple literals, literals by `<`. Nothing where it is left to the engine.
pub(crate) fn order(a: Option<&Term>, b: Option<&Term>) -> Option<Ordering> {
    match (a, b) {
        _ if a == b => Some(Ordering::Equal),
        (Some(Term::NamedNode(x)), Some(Term::NamedNode(y))) => Some(x.as_str().cmp(y.as_str())),
        (Some(Term::BlankNode(_)), Some(Term::BlankNode(_))) => None,
        (Some(Term::Literal(_)), Some(Term::Literal(_))) => match compare(a?, b?) {
            // Two numbers that a double cannot tell apart may still be put in their exact order, which unlike
            // `<` is one order of all numbers.
            Comparison::Ordered(Ordering::Equal) if differ_exactly(a?, b?) => None,
            Comparison::Ordered(order) => Some(order),
            Comparison::Unordered | Comparison::TypeError => None,
        },
        _ => Some(class(a).cmp(&class(b))),
    }
}

/// Whether both terms are numbers of unlike exact values.
fn differ_exactly(a: &Term, b: &Term) -> bool {
    let exact = |term: &Term| Some(Number::Decimal(number(term)?.to_decimal()?));
    match (exact(a), exact(b)) {
        (Some(a), Some(b)) => a.compare(&b) != Some(Ordering::Equal),
        _ => false,
    }
}

/// The place of a kind of terms in the order of ORDER BY.
fn class(term: Option<&Term>) -> u8 {
    match term {
        None => 0,
        Some(Term::BlankNode(_)) => 1,
        Some(Term::NamedNode(_)) => 2,
        Some(Term::Literal(_)) => 3,
    }
}

/// The order of [`order`], and some other where it leaves the choice: by lexical form, datatype and
/// language.
pub(crate) fn compare_for_order(a: Option<&Term>, b: Option<&Term>) -> Ordering {
    order(a, b).unwrap_or_else(|| match (a, b) {
        (Some(Term::BlankNode(x)), Some(Term::BlankNode(y))) => x.as_str().cmp(y.as_str()),
        (Some(Term::Literal(x)), Some(Term::Literal(y))) => {
            (x.value(), x.datatype(), x.language()).cmp(&(y.value(), y.datatype(), y.language()))
        }
        _ => Ordering::Equal,
    })
}
