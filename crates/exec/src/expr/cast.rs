//! The constructor functions of the XML Schema types (SPARQL 1.1, section 17.5).

use super::call::{Arguments, Fault, Outcome, boolean, or_error, simple};
use super::vector::Item;
use crate::value::{Number, Value};
use basalt_rdf::term_view::XSD;
use oxsdatatypes::{
    Boolean, Date, DateTime, DayTimeDuration, Decimal, Double, Duration, Float, Integer, Time,
    YearMonthDuration,
};

/// Whether there is a cast to the type with this local name.
pub fn is_supported(name: &str) -> bool {
    matches!(
        name,
        "string"
            | "boolean"
            | "integer"
            | "decimal"
            | "float"
            | "double"
            | "dateTime"
            | "date"
            | "time"
            | "gYear"
            | "gYearMonth"
            | "gMonth"
            | "gMonthDay"
            | "gDay"
            | "duration"
            | "yearMonthDuration"
            | "dayTimeDuration"
    )
}

/// Casts the first argument to the type with this local name.
pub fn cast(name: &str, arguments: &mut Arguments<'_, '_>) -> Outcome {
    let value = arguments.value(0)?.into_owned();
    if name == "string" {
        if let Some(text) = canonical_text(&value) {
            return Ok(simple(text));
        }
        let argument = arguments.get(0)?;
        return or_error(argument.text(arguments.reader)?).map(simple);
    }
    let number =
        |number: Option<Number>| or_error(number).map(|number| Item::Value(Value::Number(number)));
    match name {
        "boolean" => match value {
            Value::String(text) => {
                let parsed: Boolean = or_error(text.parse().ok())?;
                Ok(boolean(parsed.into()))
            }
            Value::Boolean(_) | Value::Number(_) => {
                or_error(value.effective_boolean()).map(boolean)
            }
            _ => Err(Fault::Error),
        },
        "integer" => number(to_integer(&value).map(Number::Integer)),
        "decimal" => number(to_decimal(&value).map(Number::Decimal)),
        "float" => number(to_float(&value).map(Number::Float)),
        "double" => number(to_double(&value).map(Number::Double)),
        "duration" | "yearMonthDuration" | "dayTimeDuration" => {
            let text = or_error(to_duration(name, value))?;
            Ok(arguments.literal(&text, &format!("{XSD}{name}")))
        }
        _ => or_error(to_calendar(name, value)).map(Item::Value),
    }
}

/// What `xsd:string` makes of a boolean or a number: the canonical text of the value, unlike `STR`; other
/// terms keep their text.
pub fn canonical_text(value: &Value) -> Option<String> {
    match value {
        Value::Boolean(_) | Value::Number(_) => value.to_text(),
        _ => None,
    }
}

fn to_integer(value: &Value) -> Option<Integer> {
    match value {
        Value::Number(Number::Integer(n)) => Some(*n),
        Value::Number(Number::Decimal(n)) => (*n).try_into().ok(),
        Value::Number(Number::Float(n)) => (*n).try_into().ok(),
        Value::Number(Number::Double(n)) => (*n).try_into().ok(),
        Value::Boolean(b) => Some((*b).into()),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

fn to_decimal(value: &Value) -> Option<Decimal> {
    match value {
        Value::Number(Number::Integer(n)) => Some((*n).into()),
        Value::Number(Number::Decimal(n)) => Some(*n),
        Value::Number(Number::Float(n)) => (*n).try_into().ok(),
        Value::Number(Number::Double(n)) => (*n).try_into().ok(),
        Value::Boolean(b) => Some((*b).into()),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

fn to_float(value: &Value) -> Option<Float> {
    match value {
        Value::Number(Number::Integer(n)) => Some((*n).into()),
        Value::Number(Number::Decimal(n)) => Some((*n).into()),
        Value::Number(Number::Float(n)) => Some(*n),
        Value::Number(Number::Double(n)) => Some((*n).into()),
        Value::Boolean(b) => Some(Boolean::from(*b).into()),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

fn to_double(value: &Value) -> Option<Double> {
    match value {
        Value::Number(Number::Integer(n)) => Some((*n).into()),
        Value::Number(Number::Decimal(n)) => Some((*n).into()),
        Value::Number(Number::Float(n)) => Some((*n).into()),
        Value::Number(Number::Double(n)) => Some(*n),
        Value::Boolean(b) => Some(Boolean::from(*b).into()),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

/// The canonical text of a duration of the type called `name`.
fn to_duration(name: &str, value: Value) -> Option<String> {
    match (name, value) {
        ("yearMonthDuration", Value::Duration(v)) => {
            YearMonthDuration::try_from(v).ok().map(|v| v.to_string())
        }
        ("dayTimeDuration", Value::Duration(v)) => {
            DayTimeDuration::try_from(v).ok().map(|v| v.to_string())
        }
        (_, Value::Duration(v)) => Some(v.to_string()),
        ("yearMonthDuration", Value::String(text)) => text
            .parse::<YearMonthDuration>()
            .ok()
            .map(|v| v.to_string()),
        ("dayTimeDuration", Value::String(text)) => {
            text.parse::<DayTimeDuration>().ok().map(|v| v.to_string())
        }
        (_, Value::String(text)) => text.parse::<Duration>().ok().map(|v| v.to_string()),
        _ => None,
    }
}

/// A value of the date or time type called `name`.
fn to_calendar(name: &str, value: Value) -> Option<Value> {
    match (name, value) {
        (_, Value::String(text)) => Value::parse(name, &text),
        ("dateTime", Value::DateTime(v)) => Some(Value::DateTime(v)),
        ("dateTime", Value::Date(v)) => DateTime::try_from(v).ok().map(Value::DateTime),
        ("date", Value::Date(v)) => Some(Value::Date(v)),
        ("date", Value::DateTime(v)) => Date::try_from(v).ok().map(Value::Date),
        ("time", Value::Time(v)) => Some(Value::Time(v)),
        ("time", Value::DateTime(v)) => Some(Value::Time(Time::from(v))),
        ("gYear", Value::Year(v)) => Some(Value::Year(v)),
        ("gYear", Value::DateTime(v)) => v.try_into().ok().map(Value::Year),
        ("gYear", Value::Date(v)) => v.try_into().ok().map(Value::Year),
        ("gYearMonth", Value::YearMonth(v)) => Some(Value::YearMonth(v)),
        ("gYearMonth", Value::DateTime(v)) => v.try_into().ok().map(Value::YearMonth),
        ("gYearMonth", Value::Date(v)) => Some(Value::YearMonth(v.into())),
        ("gMonth", Value::Month(v)) => Some(Value::Month(v)),
        ("gMonth", Value::DateTime(v)) => Some(Value::Month(v.into())),
        ("gMonth", Value::Date(v)) => Some(Value::Month(v.into())),
        ("gMonthDay", Value::MonthDay(v)) => Some(Value::MonthDay(v)),
        ("gMonthDay", Value::DateTime(v)) => Some(Value::MonthDay(v.into())),
        ("gMonthDay", Value::Date(v)) => Some(Value::MonthDay(v.into())),
        ("gDay", Value::Day(v)) => Some(Value::Day(v)),
        ("gDay", Value::DateTime(v)) => Some(Value::Day(v.into())),
        ("gDay", Value::Date(v)) => Some(Value::Day(v.into())),
        _ => None,
    }
}
