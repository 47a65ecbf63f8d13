//! `=`, `<` and `>` between values: the operator table of SPARQL 1.1 (section 17.3), extended, as the
//! section allows, to the date and duration types of XML Schema.

use super::Value;
use oxsdatatypes::{DayTimeDuration, Duration, YearMonthDuration};
use std::cmp::Ordering;

/// The operator `=` between values; `None` is a type error.
///
/// `same_term` says whether the two are the same term, as far as their values do not tell. The same
/// term is equal to itself, except that NaN is not; two literals of which one has an unknown value
/// are an error unless they are the same term; values of two known, unlike types are different. Language tags
/// are compared without regard to case, in which their values do not differ.
pub fn equal(a: &Value, b: &Value, same_term: bool) -> Option<bool> {
    match (a, b) {
        (Value::Number(x), Value::Number(y)) => Some(x.compare(y) == Some(Ordering::Equal)),
        (Value::Boolean(x), Value::Boolean(y)) => Some(x == y),
        (Value::String(x), Value::String(y)) => Some(x == y),
        (Value::LangString(x), Value::LangString(y)) => {
            Some(x.0 == y.0 && x.1.eq_ignore_ascii_case(&y.1))
        }
        (Value::DateTime(x), Value::DateTime(y)) => Some(x == y),
        (Value::Date(x), Value::Date(y)) => Some(x == y),
        (Value::Time(x), Value::Time(y)) => Some(x == y),
        (Value::Year(x), Value::Year(y)) => Some(x == y),
        (Value::YearMonth(x), Value::YearMonth(y)) => Some(x == y),
        (Value::Month(x), Value::Month(y)) => Some(x == y),
        (Value::MonthDay(x), Value::MonthDay(y)) => Some(x == y),
        (Value::Day(x), Value::Day(y)) => Some(x == y),
        (Value::Duration(x, _), Value::Duration(y, _)) => Some(x == y),
        _ if same_term => Some(true),
        (Value::LangString(_), _) | (_, Value::LangString(_)) => Some(false),
        (unknown, other) | (other, unknown) if unknown.is_unknown() && other.is_literal() => None,
        _ => Some(false),
    }
}

/// What the operators `<`, `>`, `<=` and `>=` look at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// The values are in this order.
    Ordered(Ordering),
    /// A comparison with NaN, which is never true.
    NotANumber,
    /// No operator is defined for the operands, or dates of which one has no zone do not tell.
    TypeError,
}

/// Compares two values with the operator table.
pub fn compare(a: &Value, b: &Value) -> Comparison {
    let order = match (a, b) {
        (Value::Number(x), Value::Number(y)) => {
            return x
                .compare(y)
                .map_or(Comparison::NotANumber, Comparison::Ordered);
        }
        (Value::Boolean(x), Value::Boolean(y)) => Some(x.cmp(y)),
        (Value::String(x), Value::String(y)) => Some(x.cmp(y)),
        (Value::DateTime(x), Value::DateTime(y)) => x.partial_cmp(y),
        (Value::Date(x), Value::Date(y)) => x.partial_cmp(y),
        (Value::Time(x), Value::Time(y)) => x.partial_cmp(y),
        (Value::Year(x), Value::Year(y)) => x.partial_cmp(y),
        (Value::YearMonth(x), Value::YearMonth(y)) => x.partial_cmp(y),
        (Value::Month(x), Value::Month(y)) => x.partial_cmp(y),
        (Value::MonthDay(x), Value::MonthDay(y)) => x.partial_cmp(y),
        (Value::Day(x), Value::Day(y)) => x.partial_cmp(y),
        (Value::Duration(x, _), Value::Duration(y, _)) => compare_durations(*x, *y),
        _ => None,
    };
    order.map_or(Comparison::TypeError, Comparison::Ordered)
}

/// Two durations. Seconds alone are compared as such, and months; months beside seconds are added to some dates, which takes long.
fn compare_durations(a: Duration, b: Duration) -> Option<Ordering> {
    if let (Ok(a), Ok(b)) = (DayTimeDuration::try_from(a), DayTimeDuration::try_from(b)) {
        return Some(a.cmp(&b));
    }
    if let (Ok(a), Ok(b)) = (
        YearMonthDuration::try_from(a),
        YearMonthDuration::try_from(b),
    ) {
        return Some(a.cmp(&b));
    }
    a.partial_cmp(&b)
}
