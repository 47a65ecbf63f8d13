//! Operators: three-valued logic, arithmetic, equality and order of SPARQL 1.1 sections 17.2 and 17.3.

use super::{assert_results, context, evaluate, id_of, parse, show};
use crate::batch::Batch;
use crate::expr::CompiledExpr;
use basalt_plan::physical::Slot;

const TRUE: &str = "\"true\"^^<xsd:boolean>";
const FALSE: &str = "\"false\"^^<xsd:boolean>";

#[test]
fn logic_with_errors() {
    assert_results(&[
        ("true || ?a", TRUE),
        ("?a || true", TRUE),
        ("false || ?a", "error"),
        ("?a && false", FALSE),
        ("true && ?a", "error"),
        ("!?a", "error"),
        ("!\"\"", TRUE),
        ("IF(1 = 1, \"yes\", ?a)", "\"yes\""),
        ("IF(?a, 1, 2)", "error"),
        ("COALESCE(?a, 1/0, 3)", "\"3\"^^<xsd:integer>"),
        ("COALESCE(?a)", "error"),
        ("BOUND(?a)", FALSE),
        ("1 IN (2, 1.0)", TRUE),
        ("1 IN (2, ?a)", "error"),
        ("1 IN (1, ?a)", TRUE),
        ("1 NOT IN (2, 3)", TRUE),
        ("1 IN ()", FALSE),
        ("\"x\"^^xsd:integer || false", FALSE),
        ("!\"x\"^^xsd:boolean", TRUE),
        ("!\"300\"^^xsd:byte", TRUE),
        ("!\"x\"^^xsd:date", "error"),
        ("!\"\"@en", "error"),
    ]);
}

#[test]
fn arithmetic() {
    assert_results(&[
        ("1 + 1", "\"2\"^^<xsd:integer>"),
        ("1 / 4", "\"0.25\"^^<xsd:decimal>"),
        ("1 / 0", "error"),
        ("1e0 / 0", "\"INF\"^^<xsd:double>"),
        ("1.5 * 2", "\"3\"^^<xsd:decimal>"),
        ("\"1\"^^xsd:float + 0.5", "\"1.5\"^^<xsd:float>"),
        ("\"1\"^^xsd:float + 0.5e0", "\"1.5\"^^<xsd:double>"),
        (
            "9223372036854775807 + 1",
            "\"9223372036854775808\"^^<xsd:integer>",
        ),
        ("\"300\"^^xsd:byte + 1", "error"),
        ("-(\"5\"^^xsd:byte)", "\"-5\"^^<xsd:integer>"),
        ("+\"x\"", "error"),
        ("\"1\"^^<http://e/USD> + 1", "error"),
    ]);
}

#[test]
fn equality() {
    assert_results(&[
        ("1 = 1.0", TRUE),
        ("1 = \"01\"^^xsd:int", TRUE),
        ("1 = \"1\"", FALSE),
        ("\"a\" = \"a\"@en", FALSE),
        ("\"a\"^^<http://e/t> = \"a\"^^<http://e/t>", TRUE),
        ("\"a\"^^<http://e/t> = \"b\"^^<http://e/t>", "error"),
        ("\"a\"^^<http://e/t> != \"a\"^^<http://e/t>", FALSE),
        ("\"a\"^^<http://e/t> != 1", "error"),
        ("\"x\"^^xsd:integer = \"x\"^^xsd:integer", TRUE),
        ("\"x\"^^xsd:integer = 1", "error"),
        ("\"300\"^^xsd:byte = 300", "error"),
        ("\"a\" = \"a\"^^xsd:string", TRUE),
        ("0.1 = \"0.1\"^^xsd:float", TRUE),
        ("\"0.1\"^^xsd:float = 0.1e0", FALSE),
        ("\"-0\"^^xsd:double = 0", TRUE),
        ("sameTerm(\"-0\"^^xsd:double, \"0\"^^xsd:double)", FALSE),
        ("\"INF\"^^xsd:float = \"INF\"^^xsd:double", TRUE),
        ("\"inf\"^^xsd:double = \"INF\"^^xsd:double", "error"),
        ("\"a\"^^<http://e/t> = <http://e/a>", FALSE),
        ("\"NaN\"^^xsd:double = \"NaN\"^^xsd:double", FALSE),
        ("sameTerm(\"NaN\"^^xsd:double, \"NaN\"^^xsd:double)", TRUE),
        ("sameTerm(1, 1.0)", FALSE),
        ("sameTerm(1 + 1, 2)", TRUE),
        ("<http://e/a> = <http://e/a>", TRUE),
        ("<http://e/a> != <http://e/b>", TRUE),
        (
            "\"2000-01-01T12:00:00Z\"^^xsd:dateTime = \"2000-01-01T13:00:00+01:00\"^^xsd:dateTime",
            TRUE,
        ),
        (
            "\"P1Y\"^^xsd:duration = \"P12M\"^^xsd:yearMonthDuration",
            TRUE,
        ),
    ]);
}

#[test]
fn order() {
    assert_results(&[
        ("1 < 1.5", TRUE),
        ("1.50 <= 1.5e0", TRUE),
        ("\"a\" < \"b\"", TRUE),
        ("\"a\"@en < \"b\"@en", "error"),
        ("1 < \"2\"", "error"),
        ("false < true", TRUE),
        ("\"NaN\"^^xsd:double < 1", FALSE),
        ("<http://e/a> < <http://e/b>", "error"),
        ("\"2000-01-01\"^^xsd:date < \"2000-01-02\"^^xsd:date", TRUE),
        (
            "\"2000-01-01T00:00:00\"^^xsd:dateTime < \"2000-01-01T01:00:00Z\"^^xsd:dateTime",
            "error",
        ),
        (
            "\"2000-01-01T00:00:00\"^^xsd:dateTime < \"2000-01-03T01:00:00Z\"^^xsd:dateTime",
            TRUE,
        ),
        (
            "\"2000-01-01T23:30:00Z\"^^xsd:dateTime > \"2000-01-01T23:45:00+01:00\"^^xsd:dateTime",
            TRUE,
        ),
    ]);
}

#[test]
fn branches_run_only_where_they_are_taken() {
    let cx = context();
    let column = ["1", "\"x\"", "\"\"", "2.5"]
        .map(|text| id_of(text, &cx))
        .to_vec();
    let ids = evaluate(
        "IF(isNumeric(?a), ?a * 2, COALESCE(1 / ?a, ?a))",
        vec![column],
        &cx,
    );
    let results: Vec<_> = ids.into_iter().map(|id| show(id, &cx)).collect();
    let expected = [
        "\"2\"^^<xsd:integer>",
        "\"x\"",
        "\"\"",
        "\"5\"^^<xsd:decimal>",
    ];
    assert_eq!(results, expected);
}

#[test]
fn select_keeps_true_rows_only() {
    let cx = context();
    let column = ["1", "5", "\"x\"", "7.5"]
        .map(|text| id_of(text, &cx))
        .to_vec();
    let batch = Batch::from_vectors(vec![column, vec![0; 4]], 4);
    let select = |text: &str| {
        CompiledExpr::compile(&parse(text), &[Slot(0), Slot(1)], &cx)
            .and_then(|compiled| compiled.select(&batch, &cx))
            .expect("the expression runs")
    };
    assert_eq!(select("?a > 3"), [1, 3]);
    assert_eq!(select("!(?a > 3)"), [0]);
    assert_eq!(select("?a > 3 || ?a = \"x\""), [1, 2, 3]);
    assert_eq!(select("?a > 3 && ?a < 6"), [1]);
    assert_eq!(select("?b"), [0; 0]);
    assert_eq!(select("BOUND(?a) && !BOUND(?b)"), [0, 1, 2, 3]);
}

#[test]
fn local_strings_compare_like_stored_ones() {
    let cx = context();
    let column = vec![
        id_of("\"a\"@en", &cx),
        id_of("\"a\"", &cx),
        id_of("<http://e/a>", &cx),
        0,
    ];
    let ids = evaluate("?a = \"a\"", vec![column.clone()], &cx);
    assert_eq!(
        ids.iter().map(|&id| show(id, &cx)).collect::<Vec<_>>(),
        [FALSE, TRUE, FALSE, "error"]
    );
    let ids = evaluate("langMatches(LANG(?a), \"EN\")", vec![column.clone()], &cx);
    assert_eq!(
        ids.iter().map(|&id| show(id, &cx)).collect::<Vec<_>>(),
        [TRUE, FALSE, "error", "error"]
    );
    let ids = evaluate("LANG(?a) = \"\"", vec![column], &cx);
    assert_eq!(
        ids.iter().map(|&id| show(id, &cx)).collect::<Vec<_>>(),
        [FALSE, TRUE, "error", "error"]
    );
}

#[test]
fn the_case_of_a_language_tag_is_none_of_its_value() {
    let cx = context();
    let tagged = |tag| {
        cx.terms()
            .intern(basalt_rdf::TermView::language("chat", tag))
            .0
    };
    let column = vec![
        tagged("fr-BE"),
        tagged("FR-be"),
        tagged("fr"),
        id_of("\"chat\"", &cx),
    ];
    let results = |text: &str| -> Vec<_> {
        let other = vec![column[0]; column.len()];
        let ids = evaluate(text, vec![column.clone(), other], &cx);
        ids.into_iter().map(|id| show(id, &cx)).collect()
    };
    let expected = [TRUE, TRUE, FALSE, FALSE];
    assert_eq!(results("?a = ?b"), expected);
    assert_eq!(results("?a = \"chat\"@fr-be"), expected);
    assert_eq!(results("?a IN (\"chat\"@FR-BE)"), expected);
    assert_eq!(results("sameTerm(?a, ?b)"), [TRUE, FALSE, FALSE, FALSE]);
    assert_eq!(
        results("LANG(CONCAT(?a, ?b)) != \"\""),
        [TRUE, TRUE, FALSE, FALSE]
    );
    assert_eq!(results("STRSTARTS(?b, ?a)"), [TRUE, TRUE, "error", TRUE]);
}

#[test]
fn dates_times_and_durations_are_added_and_subtracted() {
    let typed = |text: &str, name: &str| format!("\"{text}\"^^<xsd:{name}>");
    assert_results(&[
        (
            "xsd:dateTime(\"2000-10-30T06:12:00-05:00\") - xsd:dateTime(\"1999-11-28T09:00:00Z\")",
            &typed("P337DT2H12M", "dayTimeDuration"),
        ),
        (
            "xsd:date(\"2000-10-30\") - xsd:date(\"1999-11-28\")",
            &typed("P337D", "dayTimeDuration"),
        ),
        (
            "xsd:time(\"11:12:00Z\") - xsd:time(\"04:00:00Z\")",
            &typed("PT7H12M", "dayTimeDuration"),
        ),
        (
            "xsd:dateTime(\"2000-10-30T11:12:00\") + xsd:yearMonthDuration(\"P1Y2M\")",
            &typed("2001-12-30T11:12:00", "dateTime"),
        ),
        (
            "xsd:dateTime(\"2000-10-30T11:12:00\") - xsd:dayTimeDuration(\"P3DT1H15M\")",
            &typed("2000-10-27T09:57:00", "dateTime"),
        ),
        (
            "xsd:date(\"2004-10-30Z\") + xsd:dayTimeDuration(\"P2DT2H30M0S\")",
            &typed("2004-11-01Z", "date"),
        ),
        (
            "xsd:time(\"23:12:00+03:00\") + xsd:dayTimeDuration(\"P1DT3H15M\")",
            &typed("02:27:00+03:00", "time"),
        ),
        (
            "xsd:yearMonthDuration(\"P2Y11M\") - xsd:yearMonthDuration(\"P3Y3M\")",
            &typed("-P4M", "yearMonthDuration"),
        ),
        (
            "xsd:dayTimeDuration(\"P2DT12H5M\") + xsd:dayTimeDuration(\"P5DT12H\")",
            &typed("P8DT5M", "dayTimeDuration"),
        ),
        (
            "xsd:yearMonthDuration(\"P1Y\") + xsd:dayTimeDuration(\"P1D\")",
            &typed("P1Y1D", "duration"),
        ),
        (
            "xsd:date(\"2000-03-01\") - xsd:date(\"2000-02-01\") = xsd:dayTimeDuration(\"P29D\")",
            "\"true\"^^<xsd:boolean>",
        ),
        (
            "-xsd:dayTimeDuration(\"P1DT2H\")",
            &typed("-P1DT2H", "dayTimeDuration"),
        ),
        (
            "+xsd:yearMonthDuration(\"P13M\")",
            &typed("P1Y1M", "yearMonthDuration"),
        ),
    ]);
}

#[test]
fn other_sums_of_dates_are_errors() {
    assert_results(&[
        ("-xsd:date(\"2000-10-30\")", "error"),
        (
            "xsd:time(\"23:12:00\") + xsd:yearMonthDuration(\"P1Y\")",
            "error",
        ),
        (
            "xsd:date(\"2000-10-30\") - xsd:dateTime(\"2000-10-30T00:00:00\")",
            "error",
        ),
        (
            "xsd:date(\"2000-10-30\") + xsd:date(\"2000-10-30\")",
            "error",
        ),
        ("xsd:date(\"2000-10-30\") + 1", "error"),
        ("\"P1D\" + xsd:dayTimeDuration(\"P1D\")", "error"),
        (
            "xsd:dayTimeDuration(\"P1D\") * xsd:dayTimeDuration(\"P1D\")",
            "error",
        ),
    ]);
}
