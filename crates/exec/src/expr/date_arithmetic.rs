//! `+` and `-` of dates, times and durations (SPARQL 1.2 community group, SEP 2): the difference of two of a kind, one a duration later or
//! earlier, sums and differences of durations. Anything else is an error.

use super::arithmetic::Operator;
use crate::value::{DurationType, Value};
use basalt_rdf::TermId;
use basalt_rdf::term_id::tag;
use oxsdatatypes::{DayTimeDuration, Duration};

/// The result of the operator; `None` is an error.
pub fn apply(operator: Operator, a: &Value, b: &Value) -> Option<Value> {
    match operator {
        Operator::Add => add(a, b),
        Operator::Subtract => subtract(a, b),
        Operator::Multiply | Operator::Divide => None,
    }
}

/// The difference of two inline dates of one type, both with a zone or both without; `None` leaves it to their values.
pub fn between_inline(a: TermId, b: TermId) -> Option<Value> {
    let is_known = a.tag() == b.tag()
        && matches!(a.tag(), tag::DATE | tag::DATE_TIME)
        && a.zone_minutes().is_some() == b.zone_minutes().is_some();
    if !is_known {
        return None;
    }
    let seconds = a.utc_seconds()?.checked_sub(b.utc_seconds()?)?;
    let between = DayTimeDuration::new(seconds);
    Some(Value::Duration(between.into(), DurationType::DayTime))
}

/// `+a`, or `-a` with `negate`, of a duration; `None` is an error.
pub fn signed(value: &Value, negate: bool) -> Option<Value> {
    match value {
        Value::Duration(duration, of_type) if negate => {
            Some(Value::Duration(duration.checked_neg()?, *of_type))
        }
        Value::Duration(..) => Some(value.clone()),
        _ => None,
    }
}

fn add(a: &Value, b: &Value) -> Option<Value> {
    let Value::Duration(b, of_type) = b else {
        return None;
    };
    match a {
        Value::DateTime(a) => a.checked_add_duration(*b).map(Value::DateTime),
        Value::Date(a) => a.checked_add_duration(*b).map(Value::Date),
        Value::Time(a) if *of_type != DurationType::YearMonth => {
            a.checked_add_duration(*b).map(Value::Time)
        }
        Value::Duration(a, other) => of_both(a.checked_add(*b)?, *other, *of_type),
        _ => None,
    }
}

fn subtract(a: &Value, b: &Value) -> Option<Value> {
    let between = |difference: Option<DayTimeDuration>| {
        difference.map(|difference| Value::Duration(difference.into(), DurationType::DayTime))
    };
    match (a, b) {
        (Value::DateTime(a), Value::DateTime(b)) => between(a.checked_sub(*b)),
        (Value::Date(a), Value::Date(b)) => between(a.checked_sub(*b)),
        (Value::Time(a), Value::Time(b)) => between(a.checked_sub(*b)),
        (Value::DateTime(a), Value::Duration(b, _)) => {
            a.checked_sub_duration(*b).map(Value::DateTime)
        }
        (Value::Date(a), Value::Duration(b, _)) => a.checked_sub_duration(*b).map(Value::Date),
        (Value::Time(a), Value::Duration(b, of_type)) if *of_type != DurationType::YearMonth => {
            a.checked_sub_duration(*b).map(Value::Time)
        }
        (Value::Duration(a, other), Value::Duration(b, of_type)) => {
            of_both(a.checked_sub(*b)?, *other, *of_type)
        }
        _ => None,
    }
}

/// A duration of the type of both, or of the one that has all of them.
fn of_both(duration: Duration, a: DurationType, b: DurationType) -> Option<Value> {
    let of_type = if a == b { a } else { DurationType::Any };
    Some(Value::Duration(duration, of_type))
}
