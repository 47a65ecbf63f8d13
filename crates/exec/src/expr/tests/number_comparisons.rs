//! Columns and casts compared with a number by ids against the same row by row.

use super::super::comparison::CompareOp;
use super::super::kernel::{Constant, Kernel};
use super::super::number_comparison::NumberComparison;
use super::super::numeric_cast::{CastOf, NumericCast};
use super::super::vector::{Argument, Truth, Vector};
use super::{COMPARISONS, context, id_of};
use crate::value::{Number, Reader, Value};
use basalt_rdf::TermId;
use basalt_rdf::inline::numeric::write_decimal;
use basalt_rdf::qualifiers::{CUSTOM_NUMERIC_FIRST, DECIMAL, DOUBLE, FLOAT};
use proptest::prelude::*;

/// Code of `xsd:integer`.
const INTEGER: u8 = 0;

/// A cast, or none.
type Cast = Option<(NumericCast, CastOf)>;

fn kernel(op: CompareOp, cast: Cast, constant: Constant, is_flipped: bool) -> Kernel {
    let Some((cast, of)) = cast else {
        return Kernel::CompareConstant {
            column: 0,
            op,
            constant,
        };
    };
    let column = 0;
    let cast = Box::new(Kernel::CastNumber { column, cast, of });
    let constant = Box::new(Kernel::Constant(constant));
    match is_flipped {
        true => Kernel::Compare(op.flipped(), constant, cast),
        false => Kernel::Compare(op, cast, constant),
    }
}

/// A mantissa of some size.
fn mantissa() -> impl Strategy<Value = i64> {
    (0..51_u32, any::<i64>()).prop_map(|(shift, bits)| bits >> 12 >> shift)
}

fn casts() -> impl Strategy<Value = Cast> {
    let of = prop::sample::select(vec![CastOf::Value, CastOf::Written, CastOf::Canonical]);
    let cast = prop::sample::select(vec![
        NumericCast::Integer,
        NumericCast::Decimal,
        NumericCast::Double,
        NumericCast::Float,
    ]);
    prop::option::of((cast, of))
}

/// The rows that pass, each asked alone.
fn passing_rows(
    ids: &[u64],
    cast: Cast,
    op: CompareOp,
    constant: &Constant,
    reader: &mut Reader<'_>,
) -> Vec<u32> {
    let items = match cast {
        None => Vector::Ids(ids.into()),
        Some((cast, of)) => Vector::Items(cast.column(ids, of, reader).expect("terms can be read")),
    };
    let mut passing = Vec::new();
    for row in 0..ids.len() {
        let truth = op.apply(items.get(row), Argument::Constant(constant), reader);
        if truth.expect("terms can be read") == Truth::True {
            passing.push(row as u32);
        }
    }
    passing
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn ids_tell_what_rows_do(
        code in prop::sample::select(vec![INTEGER, DECIMAL, DOUBLE, FLOAT, CUSTOM_NUMERIC_FIRST]),
        scale in 0..16_u8,
        mantissas in prop::collection::vec(mantissa(), 1..24),
        (near, step) in (0..24_usize, -2..3_i64),
        (other, other_scale, other_type) in (mantissa(), 0..16_u8, 0..4_usize),
        cast in casts(),
        is_flipped in any::<bool>(),
    ) {
        let scale = if code == INTEGER { 0 } else { scale };
        let ids: Vec<u64> = mantissas
            .iter()
            .filter_map(|&mantissa| TermId::numeric(code, mantissa, scale))
            .map(|id| id.0)
            .collect();
        prop_assume!(!ids.is_empty());
        // Half of the constants lie at a row's number or next to it.
        let (mantissa, digits) = match near < 12 {
            true => (TermId(ids[near % ids.len()]).mantissa() + step, scale),
            false => (other, other_scale),
        };
        let mut text = String::new();
        write_decimal(mantissa, digits, &mut text);
        let datatype = ["integer", "decimal", "double", "float"][other_type];
        let text = match datatype {
            "integer" => mantissa.to_string(),
            _ => text,
        };
        let cx = context();
        let reader = &mut Reader::new(&cx);
        let Some(number) = Number::parse(datatype, &text) else {
            return Ok(());
        };
        let literal = format!("\"{text}\"^^<http://www.w3.org/2001/XMLSchema#{datatype}>");
        for op in COMPARISONS {
            let constant = Constant {
                id: id_of(&literal, &cx),
                value: Value::Number(number.clone()),
            };
            let expected = passing_rows(&ids, cast, op, &constant, reader);
            let comparison = NumberComparison::of(&kernel(op, cast, constant, is_flipped));
            let comparison = comparison.expect("a comparison with a number");
            if let Some(selected) = comparison.select(&ids) {
                prop_assert_eq!(&selected, &expected, "{:?} {:?} of {:?} and {}", op, cast, &ids, literal);
            }
            let (min, max) = (ids.iter().min().expect("a row"), ids.iter().max().expect("a row"));
            prop_assert!(expected.is_empty() || comparison.zone_may_match(*min, *max));
            if let [only] = ids[..] && comparison.select(&ids).is_some() {
                prop_assert_eq!(comparison.zone_may_match(only, only), !expected.is_empty());
            }
        }
    }
}

#[test]
fn everyday_comparisons_are_told_by_ids() {
    let cx = context();
    let price = |cents| {
        TermId::numeric(CUSTOM_NUMERIC_FIRST, cents, 2)
            .expect("few digits")
            .0
    };
    let prices = [price(49_999), price(50_000), price(50_001), price(-1)];
    let constant = || Constant {
        id: id_of("\"500\"^^<http://www.w3.org/2001/XMLSchema#integer>", &cx),
        value: Value::Number(Number::Integer(500.into())),
    };
    for (cast, op, expected) in [
        (NumericCast::Decimal, CompareOp::Greater, vec![2]),
        (NumericCast::Decimal, CompareOp::Equal, vec![1]),
        (NumericCast::Double, CompareOp::LessOrEqual, vec![0, 1, 3]),
        (NumericCast::Double, CompareOp::Less, vec![0, 3]),
    ] {
        let kernel = kernel(op, Some((cast, CastOf::Written)), constant(), true);
        let comparison = NumberComparison::of(&kernel).expect("a comparison with a number");
        assert_eq!(
            comparison.select(&prices),
            Some(expected),
            "{cast:?} {op:?}"
        );
        assert!(comparison.zone_may_match(price(-1), price(50_001)));
        assert_eq!(
            comparison.zone_may_match(price(60_000), price(70_000)),
            op == CompareOp::Greater
        );
        // Ids of two scales have two ranges, and a string has none.
        let mut mixed = vec![
            price(50_001),
            TermId::numeric(CUSTOM_NUMERIC_FIRST, 5000, 1)
                .expect("few digits")
                .0,
        ];
        let passing = match op {
            CompareOp::Greater => vec![0],
            CompareOp::Less => vec![],
            _ => vec![1],
        };
        assert_eq!(comparison.select(&mixed), Some(passing));
        // A column of computed numbers has no ids to ask.
        assert_eq!(comparison.select(&[]), None);
        mixed.push(id_of("\"500\"", &cx));
        assert_eq!(comparison.select(&mixed), None);
    }
}

proptest! {
    #[test]
    fn doubles_by_their_bits_are_compared_as_row_by_row(
        rows in prop::collection::vec((-40_i64..40, 0..3_i32, 0..5_u8), 1..24),
        (near, nudge) in (0..24_usize, -1..2_i64),
        other_type in 0..4_usize,
        cast in casts(),
        is_flipped in any::<bool>(),
    ) {
        let value = |(mantissa, scale, _): (i64, i32, u8)| mantissa as f64 / 10_f64.powi(scale);
        let text = |row: (i64, i32, u8)| match (row.2, value(row)) {
            (0, value) => format!("{value}"),
            (1, value) => format!("{value:e}"),
            (2, value) => format!("{value:E}"),
            (3, value) => format!("{value:e}").replace('e', "e+0").replace("+0-", "-0"),
            (_, value) => format!("{}", value + 1e-15),
        };
        let cx = context();
        let double = |text: String| format!("\"{text}\"^^<http://www.w3.org/2001/XMLSchema#double>");
        let ids: Vec<u64> = rows.iter().map(|&row| id_of(&double(text(row)), &cx)).collect();
        let near = value(rows[near % rows.len()]);
        let near = f64::from_bits(near.to_bits().saturating_add_signed(nudge));
        let datatype = ["integer", "decimal", "double", "float"][other_type];
        let written = match datatype {
            "integer" => near.round().to_string(),
            _ => near.to_string(),
        };
        let Some(number) = Number::parse(datatype, &written) else {
            return Ok(());
        };
        let literal = format!("\"{written}\"^^<http://www.w3.org/2001/XMLSchema#{datatype}>");
        let reader = &mut Reader::new(&cx);
        for op in COMPARISONS {
            let constant = Constant {
                id: id_of(&literal, &cx),
                value: Value::Number(number.clone()),
            };
            let expected = passing_rows(&ids, cast, op, &constant, reader);
            // Not of a number with very many digits.
            let comparison = NumberComparison::of(&kernel(op, cast, constant, is_flipped));
            let Some(comparison) = comparison else {
                return Ok(());
            };
            let selected = comparison.select(&ids);
            prop_assert!(selected.is_some() || cast.is_some());
            if let Some(selected) = selected {
                prop_assert_eq!(&selected, &expected, "{:?} {:?} of {:?} and {}", op, cast, &rows, literal);
            }
            let (min, max) = (ids.iter().min().expect("a row"), ids.iter().max().expect("a row"));
            prop_assert!(expected.is_empty() || comparison.zone_may_match(*min, *max));
        }
    }
}
