//! Columns of computed numbers against the same row by row: operators, comparisons, functions, and what follows on them.

use super::super::arithmetic::{Operator, binary, binary_rows};
use super::super::kernel::Constant;
use super::super::nearest_comparison::compare_nearest;
use super::super::number_casts::cast;
use super::super::number_operators::{self, Change};
use super::super::numbers::Numbers;
use super::super::numeric_cast::NumericCast;
use super::super::operand::Operand;
use super::super::vector::{Argument, Item, Truth, Vector};
use super::{COMPARISONS, context, id_of};
use crate::context::Context;
use crate::value::{Number, Reader, Rounding, Value};
use proptest::prelude::*;
use std::borrow::Cow;

const OPERATORS: [Operator; 4] = [
    Operator::Add,
    Operator::Subtract,
    Operator::Multiply,
    Operator::Divide,
];
const CHANGES: [Change; 5] = [
    Change::Negate,
    Change::Absolute,
    Change::Round(Rounding::Floor),
    Change::Round(Rounding::Ceiling),
    Change::Round(Rounding::HalfUp),
];
/// Types, and words that are numbers of some.
const TYPES: [&str; 4] = ["integer", "decimal", "float", "double"];

/// A term: of these types one, or none at all.
fn term(datatype: &'static str, is_long: bool) -> impl Strategy<Value = String> {
    let digits = match is_long {
        true => 1..1_i64 << 50,
        false => -5000..5000,
    };
    let number = (digits, 0..6_u32, any::<bool>()).prop_map(move |(digits, scale, is_negative)| {
        let sign = if is_negative && digits > 0 { "-" } else { "" };
        let text = match datatype {
            "integer" => digits.to_string(),
            _ => {
                let power = 10_i64.pow(scale);
                let rest = digits.unsigned_abs() % power.unsigned_abs();
                let point = if scale > 0 { "." } else { "" };
                let rest = format!("{rest:0width$}", width = scale as usize);
                let rest = if scale > 0 { rest } else { String::new() };
                format!("{}{point}{rest}", digits / power)
            }
        };
        format!("\"{sign}{text}\"^^<http://www.w3.org/2001/XMLSchema#{datatype}>")
    });
    prop_oneof![
        40 => number,
        1 => Just("\"word\"".to_owned()),
        1 => Just("<http://example.org/iri>".to_owned()),
        1 => Just(String::new()),
    ]
}

/// A column of one type or, rarely, of two.
pub fn column() -> impl Strategy<Value = Vec<String>> {
    let kinds = (prop::sample::select(&TYPES[..]), any::<bool>(), 0..8_u8);
    kinds.prop_flat_map(|(datatype, is_long, other)| {
        let other = if other == 0 { "integer" } else { datatype };
        let one = prop_oneof![30 => term(datatype, is_long), 1 => term(other, false)];
        prop::collection::vec(one, 24)
    })
}

pub fn ids(column: &[String], cx: &Context) -> Vec<u64> {
    let id = |text: &String| if text.is_empty() { 0 } else { id_of(text, cx) };
    column.iter().map(id).collect()
}

fn number(argument: Argument<'_>, reader: &mut Reader<'_>) -> Option<Number> {
    let value = argument.value(reader).expect("terms can be read");
    value.and_then(|value| value.number())
}

/// The operators on two vectors, as columns and row by row; what the columns are.
fn assert_alike(a: &Vector<'_>, b: &Vector<'_>, count: usize) -> Vec<Numbers> {
    let cx = context();
    let (reader, other) = (&mut Reader::new(&cx), &mut Reader::new(&cx));
    let (Some(left), Some(right)) = (Operand::of(a), Operand::of(b)) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for operator in OPERATORS {
        let items = binary_rows(operator, a, b, count, reader).expect("terms can be read");
        let expected = Vector::Items(items).into_ids(count, &cx);
        if let Some(numbers) = number_operators::binary(operator, &left, &right) {
            assert_eq!(numbers.ids(&cx), expected, "{operator:?}");
            all.push(numbers);
        }
    }
    for op in COMPARISONS {
        let Some(truths) = number_operators::compare(op, &left, &right) else {
            continue;
        };
        for (row, truth) in truths.into_iter().enumerate() {
            let (a, b) = (a.get(row), b.get(row));
            let are_numbers = number(a, reader).is_some() && number(b, reader).is_some();
            let expected = match are_numbers {
                true => op.apply(a, b, reader).expect("terms can be read"),
                false => Truth::Error,
            };
            assert_eq!(truth, expected, "{op:?} of {a:?} and {b:?}");
        }
    }
    for change in CHANGES {
        let Some(numbers) = number_operators::changed(&left, change) else {
            continue;
        };
        let expected: Vec<u64> = (0..count)
            .map(|row| {
                let number = number(a.get(row), other).and_then(|number| match change {
                    Change::Negate => number.negate(),
                    Change::Absolute => number.abs(),
                    Change::Round(rounding) => number.rounded(rounding),
                });
                number.map_or(0, |number| number.to_id(&cx))
            })
            .collect();
        assert_eq!(numbers.ids(&cx), expected, "{change:?}");
    }
    for to in [
        NumericCast::Integer,
        NumericCast::Decimal,
        NumericCast::Float,
        NumericCast::Double,
    ] {
        let Some(numbers) = cast(&left, to) else {
            continue;
        };
        let mut cast_row = |row| {
            let number = number(a.get(row), other)?;
            match to {
                NumericCast::Integer => number.to_integer(),
                NumericCast::Decimal => number.to_decimal(),
                NumericCast::Float => Some(Number::Float(number.to_float())),
                NumericCast::Double => Some(Number::Double(number.to_double())),
            }
        };
        let expected =
            (0..count).map(|row| cast_row(row).map_or(0, |number: Number| number.to_id(&cx)));
        let expected: Vec<u64> = expected.collect();
        assert_eq!(numbers.ids(&cx), expected, "{to:?}");
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn columns_are_what_their_rows_are(a in column(), b in column()) {
        let cx = context();
        let (a, b) = (ids(&a, &cx), ids(&b, &cx));
        let (a, b) = (Vector::Ids(a.into()), Vector::Ids(b.into()));
        for results in [assert_alike(&a, &b, 24), assert_alike(&b, &a, 24)] {
            for result in results {
                let computed = Vector::Numbers(Cow::Owned(result));
                for more in assert_alike(&computed, &b, 24) {
                    assert_alike(&Vector::Numbers(Cow::Owned(more)), &computed, 24);
                }
                // The same as values one by one.
                let items = (0..24).map(|row| computed.get(row).to_item()).collect();
                assert_alike(&Vector::Items(items), &a, 24);
                assert_alike(&computed, &a, 24);
            }
        }
    }
}

proptest! {
    /// Numbers beside ids of any terms, among them numbers of other types and with more digits.
    #[test]
    fn doubles_tell_the_order_that_values_have(
        a in column(),
        b in prop::collection::vec(prop_oneof![
            4 => prop::sample::select(&TYPES[..]).prop_flat_map(|datatype| (any::<bool>(), Just(datatype)))
                .prop_flat_map(|(is_long, datatype)| term(datatype, is_long)),
            1 => term("integer", true),
        ], 24),
        same in 0..24_usize,
    ) {
        let cx = context();
        let (a, mut b) = (ids(&a, &cx), ids(&b, &cx));
        b[same] = a[same];
        let reader = &mut Reader::new(&cx);
        let Some(numbers) = Numbers::of_ids(&a) else {
            return Ok(());
        };
        let (a, b) = (Vector::Numbers(Cow::Owned(numbers)), Vector::Ids(b.into()));
        for op in COMPARISONS {
            for (a, b) in [(&a, &b), (&b, &a)] {
                let found = compare_nearest(op, a, b, 24, reader).expect("terms can be read");
                for (row, truth) in found.into_iter().flatten().enumerate() {
                    let (a, b) = (a.get(row), b.get(row));
                    let expected = op.apply(a, b, reader).expect("terms can be read");
                    prop_assert_eq!(truth, expected, "{:?} of {:?} and {:?}", op, a, b);
                }
            }
        }
    }
}

proptest! {
    /// Constants, among them divisors that leave few digits, and none at all.
    #[test]
    fn columns_with_constants_are_what_their_rows_are(a in column(), few in 0..8_usize, digits in 1_i64..1000, scale in 0..4_u32) {
        let cx = context();
        let power = 10_i64.pow(scale);
        let any = format!("{}.{:0>3}", digits / power, digits % power);
        let text = ["100", "0", "2.5", "-0.008", "1024", "3", "1000000000000000000", any.as_str()][few];
        let name = if text.contains('.') { "decimal" } else { "integer" };
        let number = Number::parse(name, text).expect("it is a number");
        let constant = Constant { id: number.to_id(&cx), value: Value::Number(number) };
        let (a, b) = (Vector::Ids(ids(&a, &cx).into()), Vector::Constant(&constant));
        for results in [assert_alike(&a, &b, 24), assert_alike(&b, &a, 24)] {
            for result in results {
                assert_alike(&Vector::Numbers(Cow::Owned(result)), &b, 24);
            }
        }
    }
}

proptest! {
    /// Numbers whose ids do not tell them, which are read, dates among them now and then, and what the operators do with each row of them.
    #[test]
    fn numbers_that_are_read_are_computed_as_row_by_row(
        column in prop::collection::vec((0..12_usize, 0..3_u8), 24),
        kind in 0..4_usize,
        other in column(),
    ) {
        let cx = context();
        let xsd = |text: &str, name: &str| format!("\"{text}\"^^<http://www.w3.org/2001/XMLSchema#{name}>");
        let long = |n: usize, repeats: u8| match kind {
            0 => xsd(&format!("{n}.{}{repeats}", "3".repeat(17)), "decimal"),
            1 => xsd(&format!("0.12345678901234567{n}e{repeats}"), "double"),
            2 => xsd(&format!("{n}{}", "9".repeat(20)), "integer"),
            _ => xsd(&format!("{n}.{}", "7".repeat(30)), "decimal"),
        };
        let term = |&(n, repeats): &(usize, u8)| match n {
            0 => xsd("2000-01-01", "date"),
            1 => String::new(),
            n => long(n, repeats),
        };
        // Without a date most of the time.
        let terms: Vec<String> = column.iter().map(|&(n, repeats)| term(&(n.max(usize::from(column[0].0 > 0)), repeats))).collect();
        let (a, b) = (Vector::Ids(ids(&terms, &cx).into()), Vector::Ids(ids(&other, &cx).into()));
        let reader = &mut Reader::new(&cx);
        for operator in OPERATORS {
            for (a, b) in [(&a, &b), (&b, &a), (&a, &a)] {
                let found = binary(operator, a, b, 24, reader).expect("terms can be read");
                let rows = binary_rows(operator, a, b, 24, reader).expect("terms can be read");
                prop_assert_eq!(found.into_ids(24, &cx), Vector::Items(rows).into_ids(24, &cx), "{:?}", operator);
            }
        }
    }
}

#[test]
fn numbers_of_one_type_have_columns() {
    let cx = context();
    for datatype in TYPES {
        let column: Vec<String> = (0..24)
            .map(|n| format!("\"{n}\"^^<http://www.w3.org/2001/XMLSchema#{datatype}>"))
            .collect();
        let a = Vector::Ids(ids(&column, &cx).into());
        let found = assert_alike(&a, &a, 24).len();
        assert_eq!(found, OPERATORS.len(), "{datatype}");
    }
}

#[test]
fn what_no_word_holds_has_no_column() {
    let cx = context();
    let long = format!(
        "\"{}\"^^<http://www.w3.org/2001/XMLSchema#integer>",
        "9".repeat(30)
    );
    let a = Vector::Ids(ids(&[long], &cx).into());
    assert!(Operand::of(&a).is_none());
    let most = Vector::Items(vec![Item::Value(Value::Number(Number::Integer(
        i64::MAX.into(),
    )))]);
    let operand = Operand::of(&most).expect("it fits a word");
    for operator in [Operator::Add, Operator::Multiply] {
        assert!(number_operators::binary(operator, &operand, &operand).is_none());
    }
    assert_alike(&most, &most, 1);
}

proptest! {
    #[test]
    fn differences_of_inline_dates_are_those_of_their_values(
        dates in prop::collection::vec((1_i32..3000, 1..13_u8, 1..29_u8, 0..24_u8, 0..5_usize, 0..3_u8), 24),
    ) {
        let cx = context();
        let dates = dates.into_iter().map(|(year, month, day, hour, zone, kind)| {
            let zone = ["", "", "Z", "+14:00", "-05:30"][zone];
            let (time, name) = match kind {
                0 => (String::new(), "date"),
                _ => (format!("T{hour:02}:59:07"), "dateTime"),
            };
            format!("\"{year:04}-{month:02}-{day:02}{time}{zone}\"^^<http://www.w3.org/2001/XMLSchema#{name}>")
        });
        let a = ids(&dates.collect::<Vec<_>>(), &cx);
        let b: Vec<u64> = a.iter().rev().copied().collect();
        let mut reader = Reader::new(&cx);
        let values = |ids: &[u64], reader: &mut Reader<'_>| {
            let value = |&id: &u64| reader.value(id).expect("it is read").expect("it is bound");
            Vector::Items(ids.iter().map(value).map(Item::Value).collect())
        };
        let slow = [values(&a, &mut reader), values(&b, &mut reader)];
        let fast = [Vector::Ids(a.into()), Vector::Ids(b.into())];
        let results = [slow, fast].map(|[a, b]| {
            let items = binary_rows(Operator::Subtract, &a, &b, 24, &mut reader).expect("terms can be read");
            Vector::Items(items).into_ids(24, &cx)
        });
        prop_assert_eq!(&results[0], &results[1]);
    }
}
