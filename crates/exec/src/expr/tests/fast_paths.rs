//! Fast kernels against the general form, and zones against the rows they skip.

use super::{context, evaluate, id_of, parse};
use crate::batch::Batch;
use crate::expr::CompiledExpr;
use crate::selection::positions;
use crate::value::to_float;
use basalt_plan::physical::Slot;
use basalt_rdf::TermId;
use basalt_rdf::inline::{dates, numeric};
use proptest::prelude::*;

const OPERATORS: [&str; 6] = ["=", "!=", "<", "<=", ">", ">="];

/// Numbers close together in many datatypes and scales, dates in several zones, and odd ones.
pub fn literal() -> impl Strategy<Value = String> {
    let number = (
        prop::sample::select(vec![
            "integer", "decimal", "double", "float", "int", "short",
        ]),
        -30_i64..30,
        0_u8..3,
    )
        .prop_map(|(name, mantissa, scale)| {
            let scale = if matches!(name, "integer" | "int" | "short") {
                0
            } else {
                scale
            };
            let mut text = String::new();
            numeric::write_decimal(mantissa, scale, &mut text);
            format!("\"{text}\"^^xsd:{name}")
        });
    let date = (
        prop::sample::select(vec!["", "Z", "+14:00", "-05:00"]),
        1_u8..4,
        0_u8..24,
        prop::sample::select(vec![
            "", "", ".000", ".25", ".250", ".250000", ".000001", ".0000001",
        ]),
        any::<bool>(),
    )
        .prop_map(|(zone, day, hour, fraction, has_time)| match has_time {
            true => format!("\"2000-01-0{day}T{hour:02}:00:00{fraction}{zone}\"^^xsd:dateTime"),
            false => format!("\"2000-01-0{day}{zone}\"^^xsd:date"),
        });
    let odd = prop::sample::select(vec![
        "\"a\"",
        "\"b\"",
        "\"a\"@en",
        "true",
        "<http://e/a>",
        "\"NaN\"^^xsd:double",
        "\"1.0e0\"^^xsd:double",
        "\"01\"^^xsd:integer",
        "\"1\"^^<http://e/t>",
        "\"x\"^^xsd:integer",
        "\"A\"@EN",
        "\"300\"^^xsd:byte",
        "\"-1\"^^xsd:unsignedInt",
        "\"9223372036854775808\"^^xsd:integer",
        "\"9223372036854775808.0\"^^xsd:decimal",
        "\"+0000009223372036854775807\"^^xsd:long",
        "\"9223372036854775807\"^^xsd:double",
        "\"0.10000000000000000000001\"^^xsd:decimal",
        "\"1e999\"^^xsd:float",
        "\"2000-01-02Z\"^^xsd:date",
        "\"2000\"^^xsd:gYear",
        "\"12:00:00\"^^xsd:time",
        "\"12:00:00Z\"^^xsd:time",
        "\"13:00:00+01:00\"^^xsd:time",
        "\"09:30:15\"^^xsd:time",
        "\"12:00:00.5\"^^xsd:time",
        "\"PT36H\"^^xsd:dayTimeDuration",
        "\"P1DT12H\"^^xsd:dayTimeDuration",
        "\"P1DT12H\"^^xsd:duration",
        "\"PT0.5S\"^^xsd:dayTimeDuration",
        "\"-PT5M\"^^xsd:dayTimeDuration",
        "\"PT05M\"^^xsd:dayTimeDuration",
        "\"P1M\"^^xsd:duration",
    ])
    .prop_map(str::to_owned);
    prop_oneof![4 => number, 1 => double(), 2 => date, 1 => odd]
}

/// Pairs of dates, mostly of one type and with zones, of which there are several.
fn pairs_of_dates() -> impl Strategy<Value = Vec<(String, String)>> {
    let text = |(zone, day, hour, fraction): (&str, u8, u8, &str)| {
        format!("\"2000-01-0{day}T{hour:02}:00:00{fraction}{zone}\"^^xsd:dateTime")
    };
    let date = move || {
        let zone = prop::sample::select(vec!["Z", "+00:00", "+14:00", "-05:00", "+01:30"]);
        let fraction = prop::sample::select(vec!["", "", ".25", ".250000"]);
        (zone, 1_u8..3, 0_u8..24, fraction).prop_map(text)
    };
    prop::collection::vec((date(), date()), 1..12)
}

/// Doubles close together, with exponents or many digits.
fn double() -> impl Strategy<Value = String> {
    (-30_i64..30, 0_i32..3, 0_u8..6).prop_map(|(mantissa, scale, form)| {
        let value = mantissa as f64 / 10_f64.powi(scale);
        let text = match form {
            0 => format!("{value:e}"),
            1 => format!("{value:E}"),
            2 => format!("{value:e}")
                .replace('e', "e+0")
                .replace("+0-", "-0"),
            3 => format!("{value}e0"),
            4 => (value + 1e-15).to_string(),
            _ => (value / 3.0).to_string(),
        };
        format!("\"{text}\"^^xsd:double")
    })
}

/// Pairs of numbers of one datatype, in scales of their own or in one.
fn pairs_of(name: &'static str) -> impl Strategy<Value = Vec<(String, String)>> {
    let number = move |mantissa: i64, scale: u8| {
        let mut text = String::new();
        numeric::write_decimal(mantissa, scale, &mut text);
        format!("\"{text}\"^^xsd:{name}")
    };
    let pair = (-200_i64..200, -200_i64..200, 0_u8..3);
    (
        prop::collection::vec(pair, 1..12),
        prop::option::of(0_u8..3),
    )
        .prop_map(move |(rows, scale_of_all)| {
            let texts = |(a, b, scale): (i64, i64, u8)| {
                let other = scale_of_all.unwrap_or(2 - scale);
                (number(a, scale_of_all.unwrap_or(scale)), number(b, other))
            };
            rows.into_iter().map(texts).collect()
        })
}

/// What `LANG` and `DATATYPE` give, from the whole term.
fn annotations(id: u64, cx: &crate::context::Context) -> [String; 2] {
    match cx.terms().term(TermId(id)).expect("the id is known") {
        oxrdf::Term::Literal(literal) => [
            oxrdf::Literal::new_simple_literal(literal.language().unwrap_or_default()).to_string(),
            literal.datatype().into_owned().to_string(),
        ],
        _ => ["error".to_owned(), "error".to_owned()],
    }
}

proptest! {
    #[test]
    fn language_and_datatype_are_those_of_the_whole_term(rows in prop::collection::vec(literal(), 1..12)) {
        let cx = context();
        let column: Vec<u64> = rows.iter().map(|text| id_of(text, &cx)).collect();
        let run = |text: &str| evaluate(text, vec![column.clone()], &cx);
        let answers = [run("LANG(?a)"), run("DATATYPE(?a)")];
        let tests = [
            (run("LANG(?a) IN (\"en\", \"\")"), run("LANG(?a) = \"en\" || LANG(?a) = \"\"")),
            (run("LANG(?a) IN (\"en\", \"\")"), run("CONCAT(LANG(?a)) IN (\"en\", \"\")")),
            (run("DATATYPE(?a) = xsd:integer"), run("STR(DATATYPE(?a)) = STR(xsd:integer)")),
        ];
        for (fast, general) in tests {
            prop_assert_eq!(fast, general);
        }
        let full = |id| match id {
            0 => "error".to_owned(),
            id => cx.terms().term(TermId(id)).expect("the id is known").to_string(),
        };
        for (row, &id) in column.iter().enumerate() {
            let given = [full(answers[0][row]), full(answers[1][row])];
            prop_assert_eq!(given, annotations(id, &cx), "{}", rows[row]);
        }
    }

    #[test]
    fn comparison_with_a_constant_is_the_general_comparison(
        rows in prop::collection::vec(literal(), 1..12),
        constant in literal(),
        operator in prop::sample::select(OPERATORS.to_vec()),
    ) {
        let cx = context();
        let column: Vec<u64> = rows.iter().map(|text| id_of(text, &cx)).collect();
        let fast = evaluate(&format!("?a {operator} {constant}"), vec![column.clone()], &cx);
        let flipped = evaluate(&format!("{constant} {operator} ?a"), vec![column.clone()], &cx);
        let other = vec![id_of(&constant, &cx); column.len()];
        let general =
            evaluate(&format!("?a {operator} ?b"), vec![column.clone(), other.clone()], &cx);
        let general_flipped = evaluate(&format!("?a {operator} ?b"), vec![other, column], &cx);
        // Folding works on values that were decoded before, the kernels on ids.
        for (text, &id) in rows.iter().zip(&fast) {
            prop_assert_eq!(id, id_of(&format!("({text}) {operator} ({constant})"), &cx), "{}", text);
        }
        prop_assert_eq!(fast, general);
        prop_assert_eq!(flipped, general_flipped);
    }

    #[test]
    fn two_columns_compare_as_their_values_do(
        rows in prop_oneof![
            prop::collection::vec((literal(), literal()), 1..6),
            pairs_of("float"),
            pairs_of("decimal"),
            pairs_of("double"),
            pairs_of_dates(),
        ],
        odd in prop_oneof![4 => Just(None), 1 => literal().prop_map(Some)],
        operator in prop::sample::select(OPERATORS.to_vec()),
    ) {
        let cx = context();
        let mut rows = rows;
        rows.extend(odd.map(|odd| (odd.clone(), odd)));
        let ids = |of: fn(&(String, String)) -> &String| -> Vec<u64> {
            rows.iter().map(|pair| id_of(of(pair), &cx)).collect()
        };
        let columns = vec![ids(|pair| &pair.0), ids(|pair| &pair.1)];
        let fast = evaluate(&format!("?a {operator} ?b"), columns, &cx);
        for ((a, b), id) in rows.iter().zip(fast) {
            // Folding works on values that were decoded before, the kernels on ids.
            prop_assert_eq!(id, id_of(&format!("({a}) {operator} ({b})"), &cx), "{} {}", a, b);
        }
    }

    #[test]
    fn rows_selected_by_a_comparison_are_those_where_it_is_true(
        rows in prop_oneof![
            prop::collection::vec(literal(), 1..4),
            prop::collection::vec((1..9_u8).prop_map(|day| format!("\"2000-01-0{day}Z\"^^xsd:date")), 1..12),
            prop::collection::vec((-9..9_i8).prop_map(|n| format!("\"{n}\"^^xsd:integer")), 1..12),
        ],
        constant in prop_oneof![literal(), Just("\"2000-01-04Z\"^^xsd:date".to_owned())],
        operator in prop::sample::select(OPERATORS.to_vec()),
    ) {
        let cx = context();
        let column: Vec<u64> = rows.iter().map(|text| id_of(text, &cx)).collect();
        let text = format!("?a {operator} {constant}");
        let compiled = CompiledExpr::compile(&parse(&text), &[Slot(0)], &cx).expect("compiles");
        let batch = Batch::from_vectors(vec![column.clone()], column.len());
        let selected = compiled.select(&batch, &cx).expect("nothing can fail");
        let other = vec![id_of(&constant, &cx); column.len()];
        let general = evaluate(&format!("?a {operator} ?b"), vec![column, other], &cx);
        let is_true = basalt_rdf::inline::encode_boolean(true).0;
        let expected: Vec<u32> =
            (0..).zip(general).filter(|(_, id)| *id == is_true).map(|(row, _)| row).collect();
        prop_assert_eq!(selected, expected);
    }

    #[test]
    fn inline_comparison_is_the_comparison_of_values(a in literal(), b in literal()) {
        use crate::value::{Comparison, Reader, compare, compare_inline};
        let cx = context();
        let (a, b) = (id_of(&a, &cx), id_of(&b, &cx));
        if let Some(order) = compare_inline(a, b) {
            let mut reader = Reader::new(&cx);
            let value = |id, reader: &mut Reader<'_>| reader.value(id).expect("decodes").expect("bound");
            let (a, b) = (value(a, &mut reader), value(b, &mut reader));
            prop_assert_eq!(compare(&a, &b), Comparison::Ordered(order));
        }
    }

    #[test]
    fn a_skipped_zone_has_no_match(
        rows in prop::collection::vec(literal(), 1..8),
        constant in literal(),
        operator in prop::sample::select(OPERATORS.to_vec()),
    ) {
        let cx = context();
        let ids: Vec<u64> = rows.iter().map(|text| id_of(text, &cx)).collect();
        let min = *ids.iter().min().expect("there are rows");
        let max = *ids.iter().max().expect("there are rows");
        let text = format!("?a {operator} {constant} && BOUND(?a)");
        let compiled = CompiledExpr::compile(&parse(&text), &[Slot(0)], &cx).expect("compiles");
        if !compiled.zone_may_match(Slot(0), min, max) {
            let count = ids.len();
            let batch = Batch::from_vectors(vec![ids], count);
            let selected = compiled.select(&batch, &cx).expect("runs");
            prop_assert!(selected.is_empty(), "{} over {:?}", text, rows);
        }
    }

    #[test]
    fn casts_of_inline_text_are_casts_of_the_text(mantissa in -(1_i64 << 51) + 1..1 << 51, scale in 0_u8..16) {
        let mut text = String::new();
        numeric::write_decimal(mantissa, scale, &mut text);
        prop_assert_eq!(to_float(mantissa, scale).to_bits(), text.parse::<f32>().expect("a float").to_bits());
        let cx = context();
        for (code, datatype) in ["integer", "decimal", "double", "float"].iter().enumerate() {
            if code == 0 && scale > 0 {
                continue;
            }
            let column = vec![TermId::numeric(code as u8, mantissa, scale).expect("fits").0];
            for name in ["integer", "decimal", "float", "double"] {
                let fast = evaluate(&format!("xsd:{name}(STR(?a))"), vec![column.clone()], &cx);
                let slow = id_of(&format!("xsd:{name}(\"{text}\")"), &cx);
                prop_assert_eq!(fast[0], slow, "{} {} {}", name, text, datatype);
                let fast = evaluate(&format!("xsd:{name}(xsd:string(?a))"), vec![column.clone()], &cx);
                let slow = id_of(&format!("xsd:{name}(xsd:string(\"{text}\"^^xsd:{datatype}))"), &cx);
                prop_assert_eq!(fast[0], slow, "{} {} {}", name, text, datatype);
                let fast = evaluate(&format!("xsd:{name}(?a)"), vec![column.clone()], &cx);
                let slow = id_of(&format!("xsd:{name}(\"{text}\"^^xsd:{datatype})"), &cx);
                prop_assert_eq!(fast[0], slow, "{} {} {}", name, text, datatype);
            }
        }
    }

    #[test]
    fn years_and_days_are_compared_by_ids_as_by_value(
        rows in prop::collection::vec((calendar_days(), 0..5_usize, 0..6_usize), 1..40),
        constant in calendar_constant(),
        (kind, zone) in (prop::option::of(0..5_usize), prop::option::of(0..6_usize)),
        is_flipped in any::<bool>(),
    ) {
        let cx = context();
        // Half of the columns have one kind or zone, which their zones need to prove something.
        let texts = rows.iter().map(|&(days, row_kind, row_zone)| {
            calendar_text(days, kind.unwrap_or(row_kind), zone.unwrap_or(row_zone))
        });
        let texts: Vec<String> = texts.collect();
        let column: Vec<u64> = texts.iter().map(|text| id_of(text, &cx)).collect();
        let (function, constant) = constant;
        for op in ["=", "!=", "<", "<=", ">", ">="] {
            let compared = |of: &str| match is_flipped {
                false => format!("{function}({of}) {op} {constant}"),
                true => format!("{constant} {op} {function}({of})"),
            };
            let condition = compared("?a");
            let fast = evaluate(&condition, vec![column.clone()], &cx);
            let general = evaluate(&compared("COALESCE(?a)"), vec![column.clone()], &cx);
            prop_assert_eq!(&fast, &general, "{} of {:?}", condition, texts);
            let compiled = CompiledExpr::compile(&parse(&condition), &[Slot(0)], &cx).expect("compiles");
            let passing = |truths: &[u64]| positions(truths, |id| TermId(id).as_boolean() == Some(true));
            if let Some(selected) = compiled.select_ids(|_| &column) {
                prop_assert_eq!(selected, passing(&general), "{} of {:?}", condition, texts);
            }
            let (min, max) = (column.iter().min(), column.iter().max());
            let (min, max) = (*min.expect("a row"), *max.expect("a row"));
            if !compiled.zone_may_match(Slot(0), min, max) {
                prop_assert!(passing(&general).is_empty(), "{} of {:?}", condition, texts);
            }
        }
    }

    #[test]
    fn casts_of_a_column_are_casts_of_its_values(rows in prop::collection::vec(literal(), 1..12)) {
        let cx = context();
        let column: Vec<u64> = rows.iter().map(|text| id_of(text, &cx)).collect();
        for name in ["integer", "decimal", "float", "double"] {
            let fast = evaluate(&format!("xsd:{name}(?a)"), vec![column.clone()], &cx);
            let general = evaluate(&format!("xsd:{name}(COALESCE(?a))"), vec![column.clone()], &cx);
            prop_assert_eq!(fast, general, "{} of {:?}", name, rows);
        }
    }

    #[test]
    fn parts_of_inline_dates_are_parts_of_the_text(
        seconds in -1_000_000_000_i64..4_000_000_000, zone in 0_u16..3, fraction in prop::sample::select(vec!["", ".007", ".999999"]),
    ) {
        let cx = context();
        let id = dates::encode_date_time(seconds, zone).expect("in range");
        let mut text = String::new();
        prop_assert!(basalt_rdf::inline::write_lexical(id, &mut text));
        // A fraction keeps the same instant out of the inline kinds.
        let at = text.find(['Z', '+']).unwrap_or(text.len()).min(19);
        let odd = format!("\"{}.5{}\"^^xsd:dateTime", &text[..at], &text[at..]);
        let id = id_of(&format!("\"{}{fraction}{}\"^^xsd:dateTime", &text[..at], &text[at..]), &cx);
        for name in ["YEAR", "MONTH", "DAY", "HOURS", "MINUTES"] {
            let fast = evaluate(&format!("{name}(?a)"), vec![vec![id]], &cx);
            prop_assert_eq!(fast[0], id_of(&format!("{name}({odd})"), &cx), "{} {}", name, text);
        }
    }
}

/// Days since 1970-01-01, often next to the end of a year.
fn calendar_days() -> impl Strategy<Value = i64> {
    let near = (2018..2022_i64, -2..2_i64);
    let near = near.prop_map(|(year, days)| dates::days_from_civil(year, 1, 1) + days);
    prop_oneof![4 => near, 1 => -719_162..2_932_897_i64]
}

/// A date of a type with a zone.
fn calendar_text(days: i64, kind: usize, zone: usize) -> String {
    let (year, month, day) = dates::civil_from_days(days);
    let zone = ["", "Z", "+00:00", "-14:00", "+14:00", "+02:00"][zone];
    let date = format!("{year:04}-{month:02}-{day:02}");
    let time = ["00:00:00", "12:34:56", "23:59:59"][days.rem_euclid(3) as usize];
    let fraction = ["", "", ".999", ".999999", ".5"][kind];
    match kind {
        0 => format!("\"{date}{zone}\"^^xsd:date"),
        _ => format!("\"{date}T{time}{fraction}{zone}\"^^xsd:dateTime"),
    }
}

/// What is compared, and with what.
fn calendar_constant() -> impl Strategy<Value = (&'static str, String)> {
    let year = prop::sample::select(vec![
        "2019", "2020", "2020.0", "2019.5", "2.02e3", "2021", "0", "1", "9999", "10000", "-1",
        "1e30",
    ]);
    let year = prop_oneof![
        3 => year.prop_map(str::to_owned),
        1 => Just("\"x\"".to_owned()),
        1 => Just("\"NaN\"^^xsd:double".to_owned()),
    ];
    let day = (calendar_days(), 0..6_usize).prop_map(|(days, zone)| calendar_text(days, 0, zone));
    prop_oneof![
        year.prop_map(|year| ("YEAR", year)),
        day.prop_map(|day| ("xsd:date", day))
    ]
}

#[test]
fn floats_between_two_neighbours_round_as_their_text() {
    // 16777217 lies exactly between two floats, and so do the doubles next to these decimals.
    for (mantissa, scale) in [
        (16_777_217, 0),
        (167_772_170_000_001, 7),
        (167_772_169_999_999, 7),
    ] {
        let mut text = String::new();
        numeric::write_decimal(mantissa, scale, &mut text);
        assert_eq!(
            to_float(mantissa, scale),
            text.parse::<f32>().expect("a float"),
            "{text}"
        );
    }
}

#[test]
fn zones_are_skipped_when_that_is_proven() {
    let cx = context();
    let may_match = |text: &str, min: &str, max: &str| {
        CompiledExpr::compile(&parse(text), &[Slot(0)], &cx)
            .expect("compiles")
            .zone_may_match(Slot(0), id_of(min, &cx), id_of(max, &cx))
    };
    assert!(!may_match("?a > 10", "1", "10"));
    assert!(may_match("?a >= 10", "1", "10"));
    assert!(!may_match("?a < 1.5", "2", "9"));
    assert!(!may_match("?a > 3 && ?a < 5", "5", "9"));
    assert!(may_match("?a > 3 && ?a != 7", "5", "9"));
    assert!(!may_match("?a = 4 || ?a = 20", "5", "9"));
    // Another scale between the bounds is not excluded.
    assert!(may_match("?a > 10", "1", "1.5"));
    let (low, high) = ("\"2000-01-01\"^^xsd:date", "\"2000-02-01\"^^xsd:date");
    assert!(!may_match("?a > \"2001-01-01\"^^xsd:date", low, high));
    assert!(may_match("?a > \"2000-02-02\"^^xsd:date", low, high));
    let at = |text: &str| format!("\"{text}\"^^xsd:dateTime");
    let (low, high) = (
        at("2000-01-01T00:00:00.500Z"),
        at("2000-02-01T00:00:00.000Z"),
    );
    let later = |than: &str| may_match(&format!("?a > {}", at(than)), &low, &high);
    assert!(!later("2000-02-03T00:00:00Z") && !later("2000-02-03T00:00:00.000001Z"));
    assert!(later("2000-02-02T00:00:00Z") && later("2000-02-02T00:00:00.0001Z"));
}

#[test]
fn a_simple_comparison_is_told() {
    let cx = context();
    let compiled = CompiledExpr::compile(&parse("5 < ?a"), &[Slot(0)], &cx).expect("compiles");
    let five = TermId(id_of("5", &cx));
    assert_eq!(
        compiled.simple_comparison(),
        Some((Slot(0), crate::expr::CompareOp::Greater, five))
    );
    let compiled = CompiledExpr::compile(&parse("5 < ?a + 1"), &[Slot(0)], &cx).expect("compiles");
    assert_eq!(compiled.simple_comparison(), None);
}
