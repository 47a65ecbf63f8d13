//! Functions of one value: terms, numbers, dates, casts (sections 17.4.2, 17.4.4, 17.4.5 and 17.5).
//!
//! Functions on strings are in [`super::string_function`]. Arguments arrive evaluated: none of these
//! forms is lazy. Functions whose result differs from call to call (RAND, UUID), BNODE with a label
//! (a node per solution) and the hash functions are refused rather than guessed.

use super::expression::{Fault, Outcome, boolean, or_error};
use super::number::{BigDecimal, Number};
use super::value::{Value, number};
use super::{Context, NaiveError, string_function};
use num_bigint::BigInt;
use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNode, Term};
use oxsdatatypes::{Date, DateTime, DayTimeDuration, Double, Float, Time, TimezoneOffset};
use spargebra::algebra::Function;

/// Calls a function with evaluated arguments.
pub(crate) fn call(context: &Context, function: &Function, arguments: &[Term]) -> Outcome {
    let Some(first) = arguments.first() else {
        return match function {
            Function::Now => Ok(Literal::from(context.now).into()),
            Function::BNode => Ok(context.fresh_blank().into()),
            Function::Concat => string_function::call(function, arguments),
            other => Err(unsupported(&other.to_string())),
        };
    };
    match function {
        Function::Str => string_form(first),
        Function::Lang => match first {
            Term::Literal(literal) => Ok(simple(literal.language().unwrap_or_default())),
            _ => Err(Fault::Error),
        },
        Function::Datatype => match first {
            Term::Literal(literal) => Ok(literal.datatype().into_owned().into()),
            _ => Err(Fault::Error),
        },
        Function::Iri => match (first, Value::of(first)) {
            (Term::NamedNode(_), _) => Ok(first.clone()),
            (_, Value::String(text)) => {
                Ok(NamedNode::new_unchecked(or_error((context.resolve)(&text))?).into())
            }
            _ => Err(Fault::Error),
        },
        Function::StrDt => match (Value::of(first), arguments.get(1)) {
            (Value::String(text), Some(Term::NamedNode(datatype))) => {
                Ok(Literal::new_typed_literal(text, datatype.clone()).into())
            }
            _ => Err(Fault::Error),
        },
        Function::IsIri => Ok(boolean(matches!(first, Term::NamedNode(_)))),
        Function::IsBlank => Ok(boolean(matches!(first, Term::BlankNode(_)))),
        Function::IsLiteral => Ok(boolean(matches!(first, Term::Literal(_)))),
        Function::IsNumeric => Ok(boolean(number(first).is_some())),
        Function::Abs | Function::Ceil | Function::Floor | Function::Round => {
            Ok(rounding(function, or_error(number(first))?).into())
        }
        Function::Year
        | Function::Month
        | Function::Day
        | Function::Hours
        | Function::Minutes
        | Function::Seconds => or_error(date_part(function, &Value::of(first))),
        Function::Timezone | Function::Tz => zone(function, &Value::of(first)),
        Function::Custom(name) => cast(name, arguments),
        other => string_function::call(other, arguments),
    }
}

/// The error for a function outside this oracle.
pub(crate) fn unsupported(name: &str) -> Fault {
    Fault::Stop(NaiveError::Unsupported(format!("function {name}")))
}

/// A simple literal as a term.
pub(crate) fn simple(text: impl Into<String>) -> Term {
    Literal::new_simple_literal(text).into()
}

fn string_form(term: &Term) -> Outcome {
    match term {
        Term::NamedNode(iri) => Ok(simple(iri.as_str())),
        Term::Literal(literal) => Ok(simple(literal.value())),
        Term::BlankNode(_) => Err(Fault::Error),
    }
}

fn rounding(function: &Function, number: Number) -> Number {
    match function {
        Function::Abs => number.abs(),
        Function::Ceil => number.ceil(),
        Function::Floor => number.floor(),
        _ => number.round(),
    }
}

fn date_part(function: &Function, value: &Value) -> Option<Term> {
    let part: i64 = match (function, value) {
        (Function::Year, Value::DateTime(v)) => v.year(),
        (Function::Year, Value::Date(v)) => v.year(),
        (Function::Year, Value::YearMonth(v)) => v.year(),
        (Function::Year, Value::Year(v)) => v.year(),
        (Function::Month, Value::DateTime(v)) => v.month().into(),
        (Function::Month, Value::Date(v)) => v.month().into(),
        (Function::Month, Value::YearMonth(v)) => v.month().into(),
        (Function::Month, Value::MonthDay(v)) => v.month().into(),
        (Function::Month, Value::Month(v)) => v.month().into(),
        (Function::Day, Value::DateTime(v)) => v.day().into(),
        (Function::Day, Value::Date(v)) => v.day().into(),
        (Function::Day, Value::MonthDay(v)) => v.day().into(),
        (Function::Day, Value::Day(v)) => v.day().into(),
        (Function::Hours, Value::DateTime(v)) => v.hour().into(),
        (Function::Hours, Value::Time(v)) => v.hour().into(),
        (Function::Minutes, Value::DateTime(v)) => v.minute().into(),
        (Function::Minutes, Value::Time(v)) => v.minute().into(),
        (Function::Seconds, Value::DateTime(v)) => return Some(Literal::from(v.second()).into()),
        (Function::Seconds, Value::Time(v)) => return Some(Literal::from(v.second()).into()),
        _ => return None,
    };
    Some(Literal::from(part).into())
}

/// TIMEZONE (an error without zone) and TZ (empty without zone).
fn zone(function: &Function, value: &Value) -> Outcome {
    let offset: Option<TimezoneOffset> = match value {
        Value::DateTime(v) => v.timezone_offset(),
        Value::Time(v) => v.timezone_offset(),
        Value::Date(v) => v.timezone_offset(),
        Value::YearMonth(v) => v.timezone_offset(),
        Value::Year(v) => v.timezone_offset(),
        Value::MonthDay(v) => v.timezone_offset(),
        Value::Day(v) => v.timezone_offset(),
        Value::Month(v) => v.timezone_offset(),
        _ => return Err(Fault::Error),
    };
    match function {
        Function::Tz => Ok(simple(offset.map_or_else(String::new, |o| o.to_string()))),
        _ => {
            let duration = DayTimeDuration::from(or_error(offset)?);
            Ok(Literal::from(duration).into())
        }
    }
}

/// The constructor functions of section 17.5.
fn cast(name: &NamedNode, arguments: &[Term]) -> Outcome {
    let [argument] = arguments else {
        return Err(unsupported(name.as_str()));
    };
    let value = Value::of(argument);
    match name.as_ref() {
        // XPath casts to the canonical text of the value, unlike STR.
        xsd::STRING => match value {
            Value::Boolean(b) => Ok(simple(b.to_string())),
            Value::Number(number) => string_form(&number.into()),
            _ => string_form(argument),
        },
        xsd::BOOLEAN => match value {
            Value::Boolean(b) => Ok(boolean(b)),
            Value::Number(_) => Ok(boolean(or_error(value.effective_boolean())?)),
            Value::String(text) => {
                let parsed: oxsdatatypes::Boolean = or_error(text.parse().ok())?;
                Ok(boolean(parsed.into()))
            }
            _ => Err(Fault::Error),
        },
        xsd::INTEGER => or_error(to_integer(value).map(|n| Number::Integer(n).into())),
        xsd::DECIMAL => {
            let is_shortened = matches!(&value, Value::Number(number) if number.is_shortened());
            let decimal = or_error(to_decimal(value))?;
            // A binary fraction can have hundreds of digits, of which an engine keeps as many as it likes.
            if is_shortened {
                return Err(NaiveError::Ambiguous("digits of the decimal of a double").into());
            }
            Ok(Number::Decimal(decimal).into())
        }
        xsd::FLOAT => or_error(to_float(value).map(|n| Literal::from(n).into())),
        xsd::DOUBLE => or_error(to_double(value).map(|n| Literal::from(n).into())),
        xsd::DATE_TIME => {
            let result: Option<DateTime> = match value {
                Value::DateTime(v) => Some(v),
                Value::Date(v) => v.try_into().ok(),
                Value::String(text) => text.parse().ok(),
                _ => None,
            };
            or_error(result.map(|v| Literal::from(v).into()))
        }
        xsd::DATE => {
            let result: Option<Date> = match value {
                Value::DateTime(v) => v.try_into().ok(),
                Value::Date(v) => Some(v),
                Value::String(text) => text.parse().ok(),
                _ => None,
            };
            or_error(result.map(|v| Literal::from(v).into()))
        }
        xsd::TIME => {
            let result: Option<Time> = match value {
                Value::DateTime(v) => Some(v.into()),
                Value::Time(v) => Some(v),
                Value::String(text) => text.parse().ok(),
                _ => None,
            };
            or_error(result.map(|v| Literal::from(v).into()))
        }
        _ => Err(unsupported(name.as_str())),
    }
}

fn to_integer(value: Value) -> Option<BigInt> {
    match value {
        Value::Number(number) => number.to_integer(),
        Value::Boolean(b) => Some(u8::from(b).into()),
        Value::String(text) => match Number::parse("integer", &text) {
            Some(Number::Integer(n)) => Some(n),
            _ => None,
        },
        _ => None,
    }
}

fn to_decimal(value: Value) -> Option<BigDecimal> {
    match value {
        Value::Number(number) => number.to_decimal(),
        Value::Boolean(b) => Some(BigInt::from(u8::from(b)).into()),
        Value::String(text) => Number::parse("decimal", &text)?.to_decimal(),
        _ => None,
    }
}

fn to_float(value: Value) -> Option<Float> {
    match value {
        Value::Number(number) => Some(number.to_float()),
        Value::Boolean(b) => Some(f32::from(u8::from(b)).into()),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}

fn to_double(value: Value) -> Option<Double> {
    match value {
        Value::Number(number) => Some(number.to_double()),
        Value::Boolean(b) => Some(f64::from(u8::from(b)).into()),
        Value::String(text) => text.parse().ok(),
        _ => None,
    }
}
