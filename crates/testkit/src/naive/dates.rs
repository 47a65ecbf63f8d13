//! Sums and differences of dates, times and durations, by the names of their types.

use super::value::xsd_name;
use oxrdf::vocab::xsd;
use oxrdf::{Literal, Term};
use oxsdatatypes::{Date, DateTime, DayTimeDuration, Duration, Time, YearMonthDuration};

/// A literal's text and the XSD name of its type.
fn parts(term: &Term) -> Option<(&str, &str)> {
    let Term::Literal(literal) = term else {
        return None;
    };
    let name = match xsd_name(literal)? {
        "dateTimeStamp" => "dateTime",
        other => other,
    };
    Some((literal.value(), name))
}

/// Any duration as one of the type that has all.
fn duration(text: &str, name: &str) -> Option<Duration> {
    match name {
        "duration" => text.parse().ok(),
        "yearMonthDuration" => Some(text.parse::<YearMonthDuration>().ok()?.into()),
        "dayTimeDuration" => Some(text.parse::<DayTimeDuration>().ok()?.into()),
        _ => None,
    }
}

/// `a + b`
pub(crate) fn sum(a: &Term, b: &Term) -> Option<Term> {
    let ((a, type_a), (b, type_b)) = (parts(a)?, parts(b)?);
    later(a, type_a, duration(b, type_b)?, type_b)
}

/// What is a duration of the second type later than `a`, or the sum of two durations.
fn later(a: &str, type_a: &str, by: Duration, type_b: &str) -> Option<Term> {
    let result: Literal = match (type_a, type_b) {
        ("dateTime", _) => a.parse::<DateTime>().ok()?.checked_add_duration(by)?.into(),
        ("date", _) => a.parse::<Date>().ok()?.checked_add_duration(by)?.into(),
        ("time", "yearMonthDuration") => return None,
        ("time", _) => a.parse::<Time>().ok()?.checked_add_duration(by)?.into(),
        _ => typed(duration(a, type_a)?.checked_add(by)?, type_a, type_b)?,
    };
    Some(result.into())
}

/// `a - b`
pub(crate) fn difference(a: &Term, b: &Term) -> Option<Term> {
    let ((a, type_a), (b, type_b)) = (parts(a)?, parts(b)?);
    if type_a == type_b && matches!(type_a, "dateTime" | "date" | "time") {
        let between = match type_a {
            "dateTime" => {
                let (a, b): (DateTime, DateTime) = (a.parse().ok()?, b.parse().ok()?);
                a.checked_sub(b)?
            }
            "date" => {
                let (a, b): (Date, Date) = (a.parse().ok()?, b.parse().ok()?);
                a.checked_sub(b)?
            }
            _ => {
                let (a, b): (Time, Time) = (a.parse().ok()?, b.parse().ok()?);
                a.checked_sub(b)?
            }
        };
        return Some(Literal::from(between).into());
    }
    later(a, type_a, duration(b, type_b)?.checked_neg()?, type_b)
}

/// `-a`, or `+a`, of a duration.
pub(crate) fn signed(a: &Term, is_negative: bool) -> Option<Term> {
    let (text, name) = parts(a)?;
    let value = duration(text, name)?;
    let value = if is_negative {
        value.checked_neg()?
    } else {
        value
    };
    typed(value, name, name).map(Term::from)
}

/// A duration of the type of both operands, or of the one that has all.
fn typed(value: Duration, type_a: &str, type_b: &str) -> Option<Literal> {
    Some(match (type_a, type_b) {
        ("yearMonthDuration", "yearMonthDuration") => {
            let months: YearMonthDuration = value.try_into().ok()?;
            Literal::new_typed_literal(months.to_string(), xsd::YEAR_MONTH_DURATION)
        }
        ("dayTimeDuration", "dayTimeDuration") => {
            let seconds: DayTimeDuration = value.try_into().ok()?;
            Literal::new_typed_literal(seconds.to_string(), xsd::DAY_TIME_DURATION)
        }
        _ => Literal::new_typed_literal(value.to_string(), xsd::DURATION),
    })
}
