//! Tests of long numbers: against machine words where those suffice, against laws of arithmetic beyond, and
//! against the standard library's exact texts of doubles.

use crate::value::{Exact, Number, Rounding, of_units};
use num_bigint::BigInt;
use oxsdatatypes::Decimal;
use proptest::prelude::*;
use std::cmp::Ordering;

fn exact(text: &str) -> Exact {
    Exact::parse(text, true).expect("a decimal")
}

fn number(text: &str) -> Number {
    let name = if text.contains('.') {
        "decimal"
    } else {
        "integer"
    };
    Number::parse(name, text).expect("a number")
}

fn text(number: Option<Number>) -> String {
    number.map_or_else(|| "error".to_owned(), |number| number.to_text().0)
}

#[test]
fn texts_are_read_and_written_in_canonical_form() {
    for (given, canonical) in [
        ("0", "0"),
        ("-0.000", "0"),
        ("+007", "7"),
        (".5", "0.5"),
        ("5.", "5"),
        ("-00.0500", "-0.05"),
        ("100", "100"),
        ("100.00", "100"),
    ] {
        assert_eq!(exact(given).to_string(), canonical, "{given}");
    }
    for wrong in [
        "", ".", "+", "-", "1e3", "1_000", " 1", "1.2.3", "--1", "\u{661}",
    ] {
        assert_eq!(Exact::parse(wrong, true), None, "{wrong}");
    }
    assert_eq!(Exact::parse("1.0", false), None);
}

#[test]
fn numbers_have_one_form() {
    let is_small = |number: &Number| matches!(number, Number::Integer(_) | Number::Decimal(_));
    assert!(is_small(&number("9223372036854775807")));
    let long = number("9223372036854775808");
    assert!(!is_small(&long));
    let back = long.checked_subtract(&number("1")).expect("a number");
    assert!(is_small(&back));
    assert_eq!(text(Some(back)), "9223372036854775807");
    let long = number("0.0000000000000000001");
    assert!(!is_small(&long));
    assert!(is_small(
        &long.checked_multiply(&number("10")).expect("a number")
    ));
    assert!(is_small(&number("1.00000000000000000000000000000000")));
}

#[test]
fn numbers_of_more_digits_than_allowed_are_no_values() {
    let most = "9".repeat(10_000);
    let number = Number::parse("integer", &most).expect("at the limit");
    assert_eq!(text(Some(number.clone())).len(), 10_000);
    assert!(Number::parse("integer", &format!("{most}9")).is_none());
    assert!(Number::parse("integer", &format!("000{most}")).is_some());
    assert!(Number::parse("decimal", &format!("0.{most}1")).is_none());
    assert!(number.checked_multiply(&number).is_none());
    assert!(number.checked_multiply(&super::Number::zero()).is_some());
    assert_eq!(number.compare(&number), Some(Ordering::Equal));
}

#[test]
fn quotients_keep_eighteen_digits_more_than_long_operands_have() {
    for (a, b, quotient) in [
        ("1", "3", "0.333333333333333333"),
        ("-2", "3", "-0.666666666666666666"),
        ("0", "0.3", "0"),
        ("0.0", "7", "0"),
        ("1", "8", "0.125"),
        (
            "170141183460469231731687303715884105727",
            "1",
            "170141183460469231731687303715884105727",
        ),
        (
            "100000000000000000000",
            "3",
            "33333333333333333333.333333333333333333",
        ),
        (
            "0.0000000000000000000000000005",
            "2",
            "0.00000000000000000000000000025",
        ),
        (
            "0.0000000000000000001",
            "3",
            "0.0000000000000000000333333333333333333",
        ),
    ] {
        assert_eq!(
            text(number(a).checked_divide(&number(b))),
            quotient,
            "{a} / {b}"
        );
    }
    assert!(
        number("100000000000000000000")
            .checked_divide(&Number::zero())
            .is_none()
    );
}

#[test]
fn rounding_goes_where_its_name_says() {
    for (given, [truncated, floor, ceiling, half_up]) in [
        ("2.5", ["2", "2", "3", "3"]),
        ("-2.5", ["-2", "-3", "-2", "-2"]),
        ("-2.6", ["-2", "-3", "-2", "-3"]),
        ("0.4", ["0", "0", "1", "0"]),
        ("-0.4", ["0", "-1", "0", "0"]),
        ("7", ["7", "7", "7", "7"]),
    ] {
        let given = exact(given);
        let to = |rounding| given.rounded(rounding).to_string();
        assert_eq!(to(Rounding::Truncate), truncated, "{given}");
        assert_eq!(to(Rounding::Floor), floor, "{given}");
        assert_eq!(to(Rounding::Ceiling), ceiling, "{given}");
        assert_eq!(to(Rounding::HalfUp), half_up, "{given}");
    }
}

#[test]
fn words_of_floats_are_those_of_the_schema() {
    for name in ["float", "double"] {
        for right in ["INF", "+INF", "-INF", "NaN", "1e5", "1.E-5", ".5"] {
            assert!(Number::parse(name, right).is_some(), "{right}");
        }
        for wrong in [
            "inf", "Infinity", "nan", "+NaN", "e5", "", ".", "0x10", "1 ",
        ] {
            assert!(Number::parse(name, wrong).is_none(), "{wrong}");
        }
    }
}

fn digits_after_the_point(number: &Exact) -> usize {
    let text = number.to_string();
    text.find('.').map_or(0, |at| text.len() - at - 1)
}

/// Digits, a point perhaps, digits; long ones now and then.
fn decimal() -> impl Strategy<Value = String> {
    prop_oneof![
        "-?[0-9]{1,6}(\\.[0-9]{1,6})?",
        "-?[0-9]{15,45}(\\.[0-9]{10,40})?",
        "-?[0-9]{100,300}",
    ]
}

proptest! {
    #[test]
    fn short_arithmetic_is_that_of_machine_words(a in any::<i64>(), b in any::<i64>()) {
        let (x, y) = (Number::Integer(a.into()), Number::Integer(b.into()));
        let (wide_a, wide_b) = (i128::from(a), i128::from(b));
        prop_assert_eq!(text(x.checked_add(&y)), (wide_a + wide_b).to_string());
        prop_assert_eq!(text(x.checked_subtract(&y)), (wide_a - wide_b).to_string());
        prop_assert_eq!(text(x.checked_multiply(&y)), (wide_a * wide_b).to_string());
        prop_assert_eq!(x.compare(&y), Some(a.cmp(&b)));
        prop_assert_eq!(text(x.abs()), wide_a.abs().to_string());
        prop_assert_eq!(text(x.negate()), (-wide_a).to_string());
    }

    #[test]
    fn the_fast_decimals_and_the_long_ones_agree(
        a in -1_000_000_000_000_i64..1_000_000_000_000, m in 0_u32..10,
        b in -1_000_000_000_000_i64..1_000_000_000_000, n in 0_u32..10,
    ) {
        let decimal = |value: i64, scale| Decimal::new(value.into(), scale).expect("fits");
        let (a, b) = (decimal(a, m), decimal(b, n));
        let (x, y) = (Exact::from(a), Exact::from(b));
        let shown = |exact: Option<Exact>| exact.map(|exact| exact.to_string());
        let small = |decimal: Option<Decimal>| decimal.map(|decimal| decimal.to_string());
        prop_assert_eq!(x.to_string(), a.to_string());
        prop_assert_eq!(shown(x.checked_add(&y)), small(a.checked_add(b)));
        prop_assert_eq!(shown(x.checked_subtract(&y)), small(a.checked_sub(b)));
        if let Some(product) = a.checked_mul(b) {
            prop_assert_eq!(shown(x.checked_multiply(&y)), small(Some(product)));
        }
        if let Some(quotient) = a.checked_div(b) {
            prop_assert_eq!(shown(x.checked_divide(&y)), small(Some(quotient)));
        }
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        let rounded = |rounding| Some(x.rounded(rounding));
        prop_assert_eq!(shown(rounded(Rounding::Floor)), small(a.checked_floor()));
        prop_assert_eq!(shown(rounded(Rounding::Ceiling)), small(a.checked_ceil()));
        prop_assert_eq!(shown(rounded(Rounding::HalfUp)), small(a.checked_round()));
        prop_assert_eq!(x.to_small(), Some(a));
    }

    #[test]
    fn arithmetic_of_any_length_can_be_undone(a in decimal(), b in decimal()) {
        let (x, y) = (exact(&a), exact(&b));
        let sum = x.checked_add(&y).expect("short enough");
        prop_assert_eq!(&sum.checked_subtract(&y).expect("short enough"), &x);
        let product = x.checked_multiply(&y).expect("short enough");
        // What a quotient keeps at least is enough for the digits of `x`.
        if !y.is_zero() && digits_after_the_point(&x) <= 18 {
            prop_assert_eq!(&product.checked_divide(&y).expect("short enough"), &x);
        }
        let difference = x.checked_subtract(&y).expect("short enough");
        let zero = Exact::from(0);
        prop_assert_eq!(difference.cmp(&zero), x.cmp(&y));
        prop_assert_eq!(&exact(&x.to_string()), &x);
        // The same values by way of numbers, which choose between the two forms.
        let (p, q) = (number(&a), number(&b));
        prop_assert_eq!(text(p.checked_add(&q)), sum.to_string());
        prop_assert_eq!(text(p.checked_multiply(&q)), product.to_string());
        prop_assert_eq!(p.compare(&q), Some(x.cmp(&y)));
    }

    #[test]
    fn doubles_become_what_they_are(value in any::<f64>()) {
        // A double has at most 1074 digits after the point, and is written exactly with so many.
        let expected = Exact::parse(&format!("{value:.1074}"), true);
        prop_assert_eq!(Exact::from_f64(value), expected.clone());
        if let Some(expected) = expected {
            prop_assert_eq!(expected.to_f64(), value);
            let decimal = Number::Double(value.into()).to_decimal();
            let shortest = match value.fract() == 0.0 {
                true => expected.to_string(),
                false => value.to_string(),
            };
            prop_assert_eq!(text(decimal), shortest);
            let integer = Number::Double(value.into()).to_integer();
            prop_assert_eq!(text(integer), expected.rounded(Rounding::Truncate).to_string());
        }
    }

    #[test]
    fn decimals_go_to_the_nearest_float(mantissa in any::<i64>(), scale in 0_u32..=18) {
        let decimal = Decimal::new(mantissa.into(), scale).expect("fits");
        let number = Number::Decimal(decimal);
        let text = decimal.to_string();
        let (float, double): (f32, f64) = (number.to_float().into(), number.to_double().into());
        prop_assert_eq!(float.to_bits(), text.parse::<f32>().expect("a float").to_bits());
        prop_assert_eq!(double.to_bits(), text.parse::<f64>().expect("a double").to_bits());
    }

    #[test]
    fn long_integers_are_those_of_the_library(a in "[1-9][0-9]{20,80}", b in "[1-9][0-9]{20,80}") {
        let big = |text: &str| text.parse::<BigInt>().expect("an integer");
        let (x, y) = (number(&a), number(&b));
        prop_assert_eq!(text(x.checked_multiply(&y)), (big(&a) * big(&b)).to_string());
        prop_assert_eq!(text(x.checked_subtract(&y)), (big(&a) - big(&b)).to_string());
        prop_assert_eq!(x.compare(&y), Some(big(&a).cmp(&big(&b))));
        // Against short ones, from both sides and on both sides of zero.
        let minus = x.negate().expect("short enough");
        for short in [0, 1, i64::MIN, i64::MAX] {
            let short = Number::Integer(short.into());
            prop_assert_eq!(x.compare(&short), Some(Ordering::Greater));
            prop_assert_eq!(short.compare(&x), Some(Ordering::Less));
            prop_assert_eq!(minus.compare(&short), Some(Ordering::Less));
            prop_assert_eq!(short.compare(&minus), Some(Ordering::Greater));
        }
    }
}

/// Units of decimals of any length, with zeros at the end or none.
fn units() -> impl Strategy<Value = i128> {
    (any::<i128>(), 0..127_u32, 0..37_u32).prop_map(|(units, shift, zeros)| {
        let units = units >> shift;
        units - units % 10_i128.pow(zeros)
    })
}

proptest! {
    #[test]
    fn decimals_are_computed_as_long_numbers_are(a in units(), b in units()) {
        let (x, y) = (Number::Decimal(of_units(a)), Number::Decimal(of_units(b)));
        let (long_x, long_y) = (Exact::from(of_units(a)), Exact::from(of_units(b)));
        let long = |exact: Option<Exact>| exact.map_or_else(|| "error".to_owned(), |exact| exact.to_string());
        prop_assert_eq!(text(x.checked_multiply(&y)), long(long_x.checked_multiply(&long_y)));
        prop_assert_eq!(text(x.checked_divide(&y)), long(long_x.checked_divide(&long_y)));
        prop_assert_eq!(f64::from(x.to_double()), long_x.to_f64());
        prop_assert_eq!(x.compare(&y), Some(long_x.cmp(&long_y)));
        if let Some(product) = x.checked_multiply(&y) {
            let long_product = long_x.checked_multiply(&long_y).expect("it has a text");
            prop_assert_eq!(product.compare(&y), Some(long_product.cmp(&long_y)));
            prop_assert_eq!(y.compare(&product), Some(long_y.cmp(&long_product)));
        }
    }

    #[test]
    fn decimals_between_two_doubles_are_the_nearer_one(mantissa in 1_i64 << 52..1 << 53, shift in 0..40_u32, off in -2..3_i128) {
        // The middle between two doubles that are whole numbers, and decimals next to it.
        let middle = (2 * i128::from(mantissa) + 1) << shift >> 1;
        let Some(units) = middle.checked_mul(10_i128.pow(18)).and_then(|units| units.checked_add(off)) else {
            return Ok(());
        };
        let number = Number::Decimal(of_units(units));
        prop_assert_eq!(f64::from(number.to_double()), Exact::from(of_units(units)).to_f64());
    }

    #[test]
    fn any_units_have_the_nearest_double(units: i128, shift in 0..127_u32, zeros in 0..64_u32) {
        let units = units >> shift >> zeros << zeros;
        let number = Number::Decimal(of_units(units));
        prop_assert_eq!(f64::from(number.to_double()), Exact::from(of_units(units)).to_f64());
    }
}
