//! The constructor functions of the XML Schema types (SPARQL 1.1, section 17.5).

use super::call::{Arguments, Fault, Outcome, boolean, or_error};
use super::vector::Item;
use crate::value::{Number, Value};
use basalt_rdf::term_view::XSD;
use oxsdatatypes::{Boolean, Date, DateTime, DayTimeDuration, Duration, Time, YearMonthDuration};

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

/// Casts the first argument to the type with this local name, which is not `string`: see [`string_function`](super::string_function).
pub fn cast(name: &str, arguments: &mut Arguments<'_, '_>) -> Outcome {
    let value = arguments.value(0)?.into_owned();
    match name {
        "boolean" => match value {
            Value::String(text) => {
                let parsed: Boolean = or_error(collapsed(&text).parse().ok())?;
                Ok(boolean(parsed.into()))
            }
            Value::Boolean(_) | Value::Number(_) => {
                or_error(value.effective_boolean()).map(boolean)
            }
            _ => Err(Fault::Error),
        },
        "integer" | "decimal" | "float" | "double" => {
            or_error(to_number(name, &value)).map(|number| Item::Value(Value::Number(number)))
        }
        "duration" | "yearMonthDuration" | "dayTimeDuration" => {
            let text = or_error(to_duration(name, &value))?;
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

/// A text without the white space at its ends, which casts take no notice of.
pub fn collapsed(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\r'])
}

/// A value in the numeric type called `name`.
pub fn to_number(name: &str, value: &Value) -> Option<Number> {
    let number = match value {
        Value::String(text) => return Number::parse(name, collapsed(text)),
        Value::Boolean(value) => Number::Integer((*value).into()),
        Value::Number(number) => number.clone(),
        _ => return None,
    };
    match name {
        "integer" => number.to_integer(),
        "decimal" => number.to_decimal(),
        "float" => Some(Number::Float(number.to_float())),
        _ => Some(Number::Double(number.to_double())),
    }
}

/// The canonical text of a duration of the type called `name`.
fn to_duration(name: &str, value: &Value) -> Option<String> {
    match (name, value) {
        ("yearMonthDuration", Value::Duration(v, _)) => {
            YearMonthDuration::try_from(*v).ok().map(|v| v.to_string())
        }
        ("dayTimeDuration", Value::Duration(v, _)) => {
            DayTimeDuration::try_from(*v).ok().map(|v| v.to_string())
        }
        (_, Value::Duration(v, _)) => Some(v.to_string()),
        (_, Value::String(text)) => {
            let text = collapsed(text);
            match name {
                "yearMonthDuration" => text.parse().ok().map(|v: YearMonthDuration| v.to_string()),
                "dayTimeDuration" => text.parse().ok().map(|v: DayTimeDuration| v.to_string()),
                _ => text.parse().ok().map(|v: Duration| v.to_string()),
            }
        }
        _ => None,
    }
}

/// A value of the date or time type called `name`.
fn to_calendar(name: &str, value: Value) -> Option<Value> {
    match (name, value) {
        (_, Value::String(text)) => Value::parse(name, collapsed(&text)),
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
