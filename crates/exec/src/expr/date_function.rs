//! Functions on dates and times (SPARQL 1.1, section 17.4.5, and ADJUST of SEP-0002), row by row; of columns of inline dates:
//! [`date_columns`](super::date_columns).

use super::call::{Arguments, Fault, Outcome, integer, or_error, simple};
use super::vector::Item;
use crate::value::{Number, Value, date_part};
use basalt_rdf::TermId;
use basalt_rdf::inline::dates;
use basalt_rdf::term_view::XSD;
use oxsdatatypes::{DayTimeDuration, TimezoneOffset};
use spargebra::algebra::Function;
use std::time::{SystemTime, UNIX_EPOCH};

/// Calls a function on dates.
pub fn call(function: &Function, arguments: &mut Arguments<'_, '_>) -> Outcome {
    if *function == Function::Now {
        return or_error(now(arguments.context().now())).map(Item::Value);
    }
    let id = TermId(arguments.get(0)?.known_id());
    if let Some(part) = date_part(function, id) {
        return Ok(integer(part));
    }
    let value = arguments.value(0)?;
    match function {
        Function::Timezone | Function::Tz => zone(function, &value, arguments),
        Function::Adjust => adjust(&value, arguments),
        Function::Seconds => match value.as_ref() {
            Value::DateTime(v) => Ok(Item::Value(Value::Number(Number::Decimal(v.second())))),
            Value::Time(v) => Ok(Item::Value(Value::Number(Number::Decimal(v.second())))),
            _ => Err(Fault::Error),
        },
        _ => or_error(part(function, &value)).map(integer),
    }
}

/// The start of the query as an `xsd:dateTime` in UTC, to the microsecond.
fn now(instant: SystemTime) -> Option<Value> {
    let since = instant.duration_since(UNIX_EPOCH).ok()?;
    let seconds = i64::try_from(since.as_secs()).ok()?;
    let (year, month, day) = dates::civil_from_days(seconds.div_euclid(dates::SECONDS_PER_DAY));
    let second = seconds.rem_euclid(dates::SECONDS_PER_DAY);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let micros = since.subsec_micros();
    let text =
        format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z");
    Value::parse("dateTime", &text)
}

fn part(function: &Function, value: &Value) -> Option<i64> {
    Some(match (function, value) {
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
        _ => return None,
    })
}

/// TIMEZONE (an error without zone) and TZ (empty without zone).
fn zone(function: &Function, value: &Value, arguments: &Arguments<'_, '_>) -> Outcome {
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
    if *function == Function::Tz {
        return Ok(simple(
            offset.map_or_else(String::new, |offset| offset.to_string()),
        ));
    }
    let duration = DayTimeDuration::from(or_error(offset)?);
    Ok(arguments.literal(&duration.to_string(), &format!("{XSD}dayTimeDuration")))
}

/// ADJUST to an offset, or to none with the empty string.
fn adjust(value: &Value, arguments: &mut Arguments<'_, '_>) -> Outcome {
    let offset = match arguments.value(1)?.as_ref() {
        Value::Duration(duration, _) => Some(or_error(TimezoneOffset::try_from(*duration).ok())?),
        Value::String(text) if text.is_empty() => None,
        _ => return Err(Fault::Error),
    };
    let adjusted = match value {
        Value::DateTime(v) => v.adjust(offset).map(Value::DateTime),
        Value::Time(v) => v.adjust(offset).map(Value::Time),
        Value::Date(v) => v.adjust(offset).map(Value::Date),
        Value::YearMonth(v) => v.adjust(offset).map(Value::YearMonth),
        Value::Year(v) => v.adjust(offset).map(Value::Year),
        Value::MonthDay(v) => v.adjust(offset).map(Value::MonthDay),
        Value::Day(v) => v.adjust(offset).map(Value::Day),
        Value::Month(v) => v.adjust(offset).map(Value::Month),
        _ => None,
    };
    or_error(adjusted).map(Item::Value)
}
