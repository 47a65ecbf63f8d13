//! Numbers that no machine word holds, in every operator, function and cast.

use super::{assert_results, context, evaluate, id_of, show};

fn integer(digits: &str) -> String {
    format!("\"{digits}\"^^<xsd:integer>")
}

#[test]
fn two_hundred_digits_are_computed_with() {
    let (nines, zeros) = ("9".repeat(200), "0".repeat(200));
    let nine = format!("\"{nines}\"^^xsd:integer");
    let zeros_less_one = &zeros[1..];
    assert_results(&[
        (&format!("{nine} + 1"), &integer(&format!("1{zeros}"))),
        (&format!("{nine} - {nine}"), &integer("0")),
        (&format!("-{nine}"), &integer(&format!("-{nines}"))),
        (
            &format!("({nine} + 1) * 10"),
            &integer(&format!("1{zeros}0")),
        ),
        (
            &format!("{nine} / 3"),
            &format!("\"{}\"^^<xsd:decimal>", "3".repeat(200)),
        ),
        (
            &format!("({nine} + 1) / 100"),
            &format!("\"1{}\"^^<xsd:decimal>", &zeros[2..]),
        ),
        (
            &format!("{nine} + 0.5"),
            &format!("\"{nines}.5\"^^<xsd:decimal>"),
        ),
        (
            &format!("{nine} * 1e0"),
            &format!("\"1{zeros}\"^^<xsd:double>"),
        ),
        (&format!("ABS(-{nine})"), &integer(&nines)),
        (
            &format!("ROUND({nine} + 0.5)"),
            &format!("\"1{zeros}\"^^<xsd:decimal>"),
        ),
        (
            &format!("CEIL({nine} - 0.5)"),
            &format!("\"{nines}\"^^<xsd:decimal>"),
        ),
        (
            &format!("FLOOR(-0.5 - {nine})"),
            &format!("\"-1{zeros}\"^^<xsd:decimal>"),
        ),
        (&format!("STR({nine} + 1)"), &format!("\"1{zeros}\"")),
        (&format!("STRLEN(STR({nine} * {nine}))"), &integer("400")),
        (&format!("DATATYPE({nine} + 1)"), "<xsd:integer>"),
        (
            &format!("({nine} + 1) - 1e0 = 1{zeros_less_one}0"),
            "\"true\"^^<xsd:boolean>",
        ),
    ]);
}

#[test]
fn long_numbers_compare_and_group_by_value() {
    let (nines, true_id) = ("9".repeat(200), "\"true\"^^<xsd:boolean>");
    let nine = format!("\"{nines}\"^^xsd:integer");
    let odd = format!("\"+00{nines}\"^^xsd:nonNegativeInteger");
    assert_results(&[
        (&format!("{nine} = {odd}"), true_id),
        (&format!("{nine} = \"{nines}.0\"^^xsd:decimal"), true_id),
        (&format!("{nine} < {nine} + 0.001"), true_id),
        (
            &format!("{nine} > 1e199 && {nine} > \"1e30\"^^xsd:float"),
            true_id,
        ),
        (&format!("-{nine} < -9223372036854775808"), true_id),
        (&format!("{nine} IN (1, {odd})"), true_id),
        (&format!("!({nine} = {nine} - 1)"), true_id),
        (&format!("isNumeric({nine}) && {nine}"), true_id),
        (
            &format!("sameTerm({nine}, {odd})"),
            "\"false\"^^<xsd:boolean>",
        ),
        (&format!("sameTerm({odd} + 0, {nine})"), true_id),
        ("9223372036854775808 > 9223372036854775807", true_id),
        ("9223372036854775808 = 9223372036854775808.0", true_id),
        ("0.10000000000000000000000000001 > 0.1", true_id),
        ("\"INF\"^^xsd:double > 100000000000000000000000", true_id),
    ]);
    // Values computed from unlike terms are one term, so that grouping by them groups values.
    let cx = context();
    let column = vec![id_of(&nine, &cx), id_of(&odd, &cx)];
    let groups = evaluate("?a + 0", vec![column], &cx);
    assert_eq!(groups[0], groups[1]);
    assert_eq!(show(groups[0], &cx), integer(&nines));
}

#[test]
fn long_decimals_are_exact() {
    assert_results(&[
        (
            "0.1234567890123456789 * 0.1",
            "\"0.01234567890123456789\"^^<xsd:decimal>",
        ),
        (
            "0.123456789012 * 0.123456789012",
            "\"0.015241578753153483936144\"^^<xsd:decimal>",
        ),
        (
            "1 + 0.000000000000000000000000000001",
            "\"1.000000000000000000000000000001\"^^<xsd:decimal>",
        ),
        ("1.0 / 3", "\"0.333333333333333333\"^^<xsd:decimal>"),
        ("0 / 0.3", "\"0\"^^<xsd:decimal>"),
        ("100000000000000000000.0 / 0", "error"),
        ("ROUND(0.49999999999999999999999)", "\"0\"^^<xsd:decimal>"),
        ("ROUND(-0.5)", "\"0\"^^<xsd:decimal>"),
        (
            "STR(\"1.500000000000000000000000\"^^xsd:decimal + 0)",
            "\"1.5\"",
        ),
    ]);
}

#[test]
fn casts_between_long_numbers() {
    assert_results(&[
        (
            "xsd:integer(\"123456789012345678901234567890\")",
            &integer("123456789012345678901234567890"),
        ),
        (
            "xsd:integer(-123456789012345678901234567890.9)",
            &integer("-123456789012345678901234567890"),
        ),
        (
            "xsd:integer(1e30)",
            &integer("1000000000000000019884624838656"),
        ),
        ("xsd:integer(\"1e10\"^^xsd:float)", &integer("10000000000")),
        (
            "xsd:integer(9007199254740992e0)",
            &integer("9007199254740992"),
        ),
        ("xsd:integer(1e-300)", &integer("0")),
        ("xsd:integer(\"INF\"^^xsd:double)", "error"),
        ("xsd:integer(\"NaN\"^^xsd:float)", "error"),
        ("xsd:decimal(0.1e0)", "\"0.1\"^^<xsd:decimal>"),
        (
            "xsd:decimal(1e30)",
            "\"1000000000000000019884624838656\"^^<xsd:decimal>",
        ),
        ("xsd:decimal(\"-INF\"^^xsd:float)", "error"),
        (
            "xsd:double(123456789012345678901234567890)",
            "\"123456789012345680000000000000\"^^<xsd:double>",
        ),
        ("xsd:float(\"1e39\"^^xsd:double)", "\"INF\"^^<xsd:float>"),
        (
            "xsd:boolean(123456789012345678901234567890)",
            "\"true\"^^<xsd:boolean>",
        ),
        (
            "xsd:string(\"+0123456789012345678901\"^^xsd:integer)",
            "\"123456789012345678901\"",
        ),
        ("xsd:integer(\" 42\\n\")", &integer("42")),
        ("xsd:boolean(\" true \")", "\"true\"^^<xsd:boolean>"),
        ("xsd:double(\" INF\")", "\"INF\"^^<xsd:double>"),
        ("xsd:double(\"inf\")", "error"),
        ("xsd:date(\" 2000-01-01 \")", "\"2000-01-01\"^^<xsd:date>"),
        ("xsd:integer(\"4 2\")", "error"),
    ]);
}

#[test]
fn results_beyond_the_limit_of_digits_are_errors() {
    let cx = context();
    // A hundred digits, squared again and again.
    let mut id = id_of(&format!("\"{}\"^^xsd:integer", "9".repeat(100)), &cx);
    let mut squared = 0;
    while id != 0 {
        assert!(squared < 20, "the limit is reached");
        id = evaluate("?a * ?a", vec![vec![id]], &cx)[0];
        squared += 1;
    }
    assert_eq!(squared, 7, "6,400 digits are the last that fit");
}
