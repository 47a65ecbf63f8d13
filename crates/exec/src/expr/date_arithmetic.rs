//! `+` and `-` of dates, times and durations (SPARQL 1.2 community group, SEP 2): the difference of two of a kind, one a duration later or
//! earlier, sums and differences of durations. Anything else is an error.

use super::arithmetic::Operator;
use super::comparison::CompareOp;
use super::kernel::{Kernel, compared_with_constant};
use super::number_operators;
use super::numbers::{Numbers, Values};
use super::operand::Operand;
use super::vector::{Rows, Truth};
use crate::error::ExecError;
use crate::value::{
    DurationType, Number, Reader, ShortNumber, Value, date_type, day_time, of_units, units,
    utc_instant,
};
use basalt_rdf::TermId;
use basalt_rdf::inline::dates::{SECONDS_PER_DAY, encode_date, encode_date_time};
use basalt_rdf::inline::durations::encode_duration;
use basalt_rdf::term_id::{PAYLOAD_MASK, tag};
use oxsdatatypes::{DayTimeDuration, Duration};
use std::borrow::Cow;

/// The result of the operator; `None` is an error.
pub fn apply(operator: Operator, a: &Value, b: &Value) -> Option<Value> {
    match operator {
        Operator::Add => add(a, b),
        Operator::Subtract => subtract(a, b),
        Operator::Multiply | Operator::Divide => None,
    }
}

/// The difference of two inline dates of one type, both with a zone or both without, in seconds and units of 10^-18; `None` leaves it to their values.
#[inline]
fn length_between(a: TermId, b: TermId) -> Option<(i64, i64)> {
    let is_known = a.is_temporal()
        && date_type(a) == date_type(b)
        && matches!(date_type(a), tag::DATE | tag::DATE_TIME | tag::TIME)
        && a.zone_minutes().is_some() == b.zone_minutes().is_some();
    if !is_known {
        return None;
    }
    let (later, earlier) = (utc_instant(a)?, utc_instant(b)?);
    Some((later.0 - earlier.0, later.1 - earlier.1))
}

/// The same as a value.
pub fn between_inline(a: TermId, b: TermId) -> Option<Value> {
    let (seconds, fraction) = length_between(a, b)?;
    let between = units(seconds, 0) + i128::from(fraction);
    let between = DayTimeDuration::new(of_units(between));
    Some(Value::Duration(between.into(), DurationType::DayTime))
}

/// The result of the operator on inline dates and durations as an inline id; `None` leaves it to their values.
pub fn of_inline(operator: Operator, a: TermId, b: TermId) -> Option<TermId> {
    let Some((seconds, fraction)) = b.duration() else {
        let (seconds, fraction) = match operator {
            Operator::Subtract => length_between(a, b)?,
            _ => return None,
        };
        return encode_duration(seconds, fraction);
    };
    let Some((first, first_fraction)) = a.duration() else {
        return match fraction {
            0 => shifted(operator, a, seconds),
            _ => None,
        };
    };
    match operator {
        Operator::Add => encode_duration(first + seconds, first_fraction + fraction),
        Operator::Subtract => encode_duration(first - seconds, first_fraction - fraction),
        Operator::Multiply | Operator::Divide => None,
    }
}

/// The difference of two dateTimes of which some have a fraction of a second that no inline one has; `None` leaves it to their values.
pub fn between_read(
    a: TermId,
    b: TermId,
    reader: &mut Reader<'_>,
) -> Result<Option<TermId>, ExecError> {
    let mut split = |id: TermId| match id.split_second() {
        None => reader.split_date_time(id.0),
        inline => Ok(inline),
    };
    let (Some((later, more)), Some((earlier, less))) = (split(a)?, split(b)?) else {
        return Ok(None);
    };
    let between = length_between(later, earlier);
    Ok(between.and_then(|(seconds, _)| encode_duration(seconds, more - less)))
}

/// An inline date or time of whole seconds so much later or earlier, where that is one too; `None` leaves it to the values.
pub fn shifted_inline(operator: Operator, date: TermId, by: &Value) -> Option<TermId> {
    let Value::Duration(duration, _) = by else {
        return None;
    };
    // Months are of different lengths.
    DayTimeDuration::try_from(*duration).ok()?;
    let (seconds, 0) = day_time::split(day_time::length(*duration)) else {
        return None;
    };
    shifted(operator, date, i64::try_from(seconds).ok()?)
}

/// The same of whole seconds.
fn shifted(operator: Operator, date: TermId, seconds: i64) -> Option<TermId> {
    let seconds = match operator {
        Operator::Add => seconds,
        Operator::Subtract => seconds.checked_neg()?,
        Operator::Multiply | Operator::Divide => return None,
    };
    let zone = date.canonical_zone_code();
    match date.tag() {
        tag::DATE_TIME => encode_date_time(date.date_time_seconds()?.checked_add(seconds)?, zone),
        tag::DATE if seconds % SECONDS_PER_DAY == 0 => {
            let days = seconds / SECONDS_PER_DAY;
            encode_date(date.date_days()?.checked_add(days)?, zone)
        }
        _ => None,
    }
}

/// The difference of two columns compared with a duration, as seconds, where the dates are inline and alike; `None` leaves it to each row.
pub fn compare_difference(
    op: CompareOp,
    a: &Kernel,
    b: &Kernel,
    rows: &Rows<'_>,
) -> Option<Vec<Truth>> {
    let (op, difference, constant) = compared_with_constant(op, a, b)?;
    let Kernel::Arithmetic(Operator::Subtract, later, earlier) = difference else {
        return None;
    };
    let (Kernel::Column(later), Kernel::Column(earlier)) = (&**later, &**earlier) else {
        return None;
    };
    let Value::Duration(duration, DurationType::DayTime) = &constant.value else {
        return None;
    };
    let seconds = Number::Decimal(of_units(day_time::length(*duration)));
    let difference = seconds_between(&rows.column(*later), &rows.column(*earlier))?;
    let difference = Operand::Column(Cow::Owned(Numbers::new(difference, Vec::new())));
    number_operators::compare(
        op,
        &difference,
        &Operand::Constant(ShortNumber::of(&seconds)?),
    )
}

/// The seconds between the dates of each row, if all are inline, of one type and of one zone.
fn seconds_between(later: &[u64], earlier: &[u64]) -> Option<Values> {
    let first = *later.first()?;
    let (factor, scale) = match TermId(first).tag() {
        tag::DATE => (SECONDS_PER_DAY, 0),
        tag::DATE_TIME | tag::TIME => (1, 0),
        tag::DATE_TIME_MILLIS => (1, 3),
        tag::DATE_TIME_MICROS => (1, 6),
        _ => return None,
    };
    let differing = |ids: &[u64]| ids.iter().fold(0, |bits, id| bits | (id ^ first));
    if (differing(later) | differing(earlier)) & TermId(first).date_kind_mask() != 0 {
        return None;
    }
    let zone_bits = TermId(first).zone_bits();
    let time = |id: u64| ((id & PAYLOAD_MASK) >> zone_bits) as i64;
    let rows = later.iter().zip(earlier);
    Some(Values::Exact {
        mantissas: rows
            .map(|(&later, &earlier)| (time(later) - time(earlier)) * factor)
            .collect(),
        scale,
        is_decimal: true,
    })
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

#[cfg(test)]
mod tests {
    use super::super::arithmetic::binary_rows;
    use super::super::kernel::Constant;
    use super::super::tests::{context, id_of};
    use super::super::vector::{Argument, Vector};
    use super::*;
    use crate::batch::Batch;
    use basalt_rdf::inline::write_lexical;
    use proptest::prelude::*;

    fn date(days: i64, kind: usize) -> String {
        let day = 1 + days.rem_euclid(28);
        let month = 1 + days.div_euclid(28).rem_euclid(12);
        let text = format!("{}-{month:02}-{day:02}", 2000 + days.div_euclid(28 * 12));
        let xsd = "http://www.w3.org/2001/XMLSchema#";
        let hour = days.rem_euclid(24);
        match kind {
            0 => format!("\"{text}\"^^<{xsd}date>"),
            1 => format!("\"{text}T{hour:02}:00:07\"^^<{xsd}dateTime>"),
            2 => format!("\"{text}T{hour:02}:00:00Z\"^^<{xsd}dateTime>"),
            3 => format!("\"{text}T{hour:02}:00:00.0{hour:02}\"^^<{xsd}dateTime>"),
            4 => format!("\"{text}T{hour:02}:00:00.0001{hour:02}Z\"^^<{xsd}dateTime>"),
            5 => format!("\"{hour:02}:{month:02}:{day:02}\"^^<{xsd}time>"),
            _ => format!("\"{text}T{hour:02}:00:00+02:00\"^^<{xsd}dateTime>"),
        }
    }

    proptest! {
        #[test]
        fn shifted_dates_are_those_of_their_values(
            (days, kind) in (-900_000..900_000_i64, 0..7_usize),
            duration in "-?P([1-9]D|400000D|1Y|1M)?(T(1H|24H|48H|3S|0.5S|0S))?",
            is_later in any::<bool>(),
        ) {
            let cx = context();
            let reader = &mut Reader::new(&cx);
            let text = match kind {
                6 => date(days, 2).replace("Z\"", "+00:00\""),
                kind => date(days, kind),
            };
            let id = TermId(id_of(&text, &cx));
            let by = Value::parse("duration", &duration).filter(|_| id.is_temporal());
            let operator = if is_later { Operator::Add } else { Operator::Subtract };
            if let Some(by) = by
                && let Some(quick) = shifted_inline(operator, id, &by)
            {
                let value = reader.value(id.0).expect("it can be read").expect("a date");
                let expected = apply(operator, &value, &by).map(|value| value.to_id(&cx));
                prop_assert_eq!(Some(quick.0), expected, "{} {}", text, duration);
            }
        }

        #[test]
        fn inline_results_are_those_of_values(
            (days, kind) in (-900_000..900_000_i64, 0..7_usize),
            (earlier, other) in (-900_000..900_000_i64, 0..7_usize),
            (a, b) in ("-?P[0-9]{1,3}D|-?PT([1-9]H)?[0-9]{1,3}M|-?PT[0-9](\\.[0-9]{1,6})?S", "-?P[1-9]DT[0-9]H|-?PT[0-9](\\.[0-9]{1,6})?S"),
            operator in prop::sample::select(vec![Operator::Add, Operator::Subtract, Operator::Multiply]),
        ) {
            let cx = context();
            let reader = &mut Reader::new(&cx);
            let duration = |text: &str| format!("\"{text}\"^^<http://www.w3.org/2001/XMLSchema#dayTimeDuration>");
            let texts = [date(days, kind), date(earlier, other), duration(&a), duration(&b)];
            let ids = texts.each_ref().map(|text| TermId(id_of(text, &cx)));
            for (x, a) in ids.into_iter().enumerate() {
                for (y, b) in ids.into_iter().enumerate() {
                    let Some(quick) = of_inline(operator, a, b) else {
                        continue;
                    };
                    let mut value = |id: TermId| reader.value(id.0).expect("it can be read").expect("it is known");
                    let expected = apply(operator, &value(a), &value(b)).expect("it has a result");
                    let mut written = String::new();
                    prop_assert!(write_lexical(quick, &mut written));
                    let expected = match expected {
                        Value::Duration(duration, DurationType::DayTime) => duration.to_string(),
                        date => {
                            let mut written = String::new();
                            prop_assert!(write_lexical(TermId(date.to_id(&cx)), &mut written));
                            written
                        }
                    };
                    prop_assert_eq!(written, expected, "{} {:?} {}", &texts[x], operator, &texts[y]);
                }
            }
        }

        #[test]
        fn differences_compare_as_row_by_row(
            rows in prop::collection::vec((-900..900_i64, -900..900_i64), 1..20),
            (kind, other) in (0..7_usize, 0..7_usize),
            is_mixed in any::<bool>(),
            duration in prop::sample::select(vec![
                "P60D", "-P3DT1S", "PT0S", "P1DT1H1M1.5S", "PT1H", "P2Y", "PT0.000000000000000001S",
            ]),
            is_flipped in any::<bool>(),
        ) {
            let cx = context();
            let reader = &mut Reader::new(&cx);
            let other = if is_mixed { other } else { kind };
            let ids = |of: &dyn Fn(&(i64, i64)) -> String| -> Vec<u64> {
                rows.iter().map(|row| id_of(&of(row), &cx)).collect()
            };
            let (later, earlier) = (ids(&|row| date(row.0, kind)), ids(&|row| date(row.1, other)));
            let datatype = if duration == "P2Y" { "yearMonthDuration" } else { "dayTimeDuration" };
            let literal = format!("\"{duration}\"^^<http://www.w3.org/2001/XMLSchema#{datatype}>");
            let constant = id_of(&literal, &cx);
            let value = reader.value(constant).expect("it can be read").expect("a duration");
            let constant = Constant { id: constant, value };
            let columns = (Vector::Ids(later.as_slice().into()), Vector::Ids(earlier.as_slice().into()));
            let items = binary_rows(Operator::Subtract, &columns.0, &columns.1, rows.len(), reader);
            let between = Vector::Items(items.expect("terms can be read"));
            let batch = Batch::from_vectors(vec![later.clone(), earlier.clone()], rows.len());
            for (&a, &b) in later.iter().zip(&earlier) {
                if let Some(quick) = between_inline(TermId(a), TermId(b)) {
                    let mut value = |id| reader.value(id).expect("it can be read").expect("a date");
                    let expected = apply(Operator::Subtract, &value(a), &value(b));
                    prop_assert_eq!(Some(format!("{quick:?}")), expected.map(|value| format!("{value:?}")));
                }
            }
            for op in [CompareOp::Equal, CompareOp::Less, CompareOp::LessOrEqual, CompareOp::Greater] {
                let column = |column| Box::new(Kernel::Column(column));
                let difference = Kernel::Arithmetic(Operator::Subtract, column(0), column(1));
                let kernel = Kernel::Constant(constant.clone());
                let truths = match is_flipped {
                    true => compare_difference(op.flipped(), &kernel, &difference, &Rows::all(&batch)),
                    false => compare_difference(op, &difference, &kernel, &Rows::all(&batch)),
                };
                // Months have no seconds.
                prop_assert_eq!(truths.is_some(), kind == other && duration != "P2Y");
                for (row, truth) in truths.into_iter().flatten().enumerate() {
                    let expected = op.apply(between.get(row), Argument::Constant(&constant), reader);
                    prop_assert_eq!(truth, expected.expect("terms can be read"), "{:?} {}", op, row);
                }
            }
        }
    }
}
