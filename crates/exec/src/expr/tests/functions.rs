//! Functions against the examples of SPARQL 1.1 section 17.4 and of XPath functions.

use super::{assert_results, context, evaluate, id_of, parse, show};
use crate::expr::CompiledExpr;

#[test]
fn functions_on_terms() {
    assert_results(&[
        ("STR(<http://e/a>)", "\"http://e/a\""),
        ("STR(01)", "\"01\""),
        ("STR(\"x\"@en)", "\"x\""),
        ("LANG(\"x\"@en-GB)", "\"en-gb\""),
        ("LANG(1)", "\"\""),
        ("LANG(<http://e/a>)", "error"),
        ("DATATYPE(1.5)", "<xsd:decimal>"),
        ("DATATYPE(\"x\")", "<xsd:string>"),
        ("DATATYPE(1 + 1)", "<xsd:integer>"),
        ("IRI(\"http://e/a\")", "<http://e/a>"),
        ("IRI(\"no iri\")", "error"),
        ("IRI(1)", "error"),
        ("isIRI(<http://e/a>)", "\"true\"^^<xsd:boolean>"),
        ("isIRI(\"http://e/a\")", "\"false\"^^<xsd:boolean>"),
        ("isBlank(BNODE())", "\"true\"^^<xsd:boolean>"),
        ("isIRI(BNODE(\"x\"))", "\"false\"^^<xsd:boolean>"),
        ("isLiteral(BNODE(\"x\"))", "\"false\"^^<xsd:boolean>"),
        (
            "sameTerm(BNODE(\"x\"), BNODE(\"x\"))",
            "\"true\"^^<xsd:boolean>",
        ),
        ("isLiteral(1 + 1)", "\"true\"^^<xsd:boolean>"),
        (
            "isNumeric(\"12\"^^xsd:nonNegativeInteger)",
            "\"true\"^^<xsd:boolean>",
        ),
        ("isNumeric(\"x\"^^xsd:integer)", "\"false\"^^<xsd:boolean>"),
        ("isNumeric(\"1200\"^^xsd:byte)", "\"false\"^^<xsd:boolean>"),
        (
            "isNumeric(\"18446744073709551615\"^^xsd:unsignedLong)",
            "\"true\"^^<xsd:boolean>",
        ),
        (
            "isNumeric(\"18446744073709551616\"^^xsd:unsignedLong)",
            "\"false\"^^<xsd:boolean>",
        ),
        (
            "isNumeric(\"12\"^^<http://e/USD>)",
            "\"false\"^^<xsd:boolean>",
        ),
        ("STRDT(\"01\", xsd:integer)", "\"01\"^^<xsd:integer>"),
        ("STRLANG(\"chat\", \"fr\")", "\"chat\"@fr"),
        ("isIRI(UUID())", "\"true\"^^<xsd:boolean>"),
        ("STRLEN(STRUUID())", "\"36\"^^<xsd:integer>"),
    ]);
}

#[test]
fn functions_on_numbers() {
    assert_results(&[
        ("ABS(-1.5)", "\"1.5\"^^<xsd:decimal>"),
        ("ROUND(2.4999)", "\"2\"^^<xsd:decimal>"),
        ("ROUND(-2.5)", "\"-2\"^^<xsd:decimal>"),
        ("CEIL(10.5)", "\"11\"^^<xsd:decimal>"),
        ("FLOOR(-10.5)", "\"-11\"^^<xsd:decimal>"),
        ("FLOOR(1.5e0)", "\"1\"^^<xsd:double>"),
        ("CEIL(7)", "\"7\"^^<xsd:integer>"),
        ("RAND() >= 0 && RAND() < 1", "\"true\"^^<xsd:boolean>"),
        ("ABS(\"x\")", "error"),
    ]);
}

#[test]
fn functions_on_strings() {
    assert_results(&[
        ("STRLEN(\"chaté\")", "\"5\"^^<xsd:integer>"),
        ("SUBSTR(\"foobar\"@en, 4)", "\"bar\"@en"),
        ("SUBSTR(\"foobar\", 4, 1)", "\"b\""),
        ("SUBSTR(\"foobar\", 0, 3)", "\"fo\""),
        ("UCASE(\"foo\"@en)", "\"FOO\"@en"),
        ("LCASE(\"BAR\")", "\"bar\""),
        (
            "STRSTARTS(\"foobar\"@en, \"foo\")",
            "\"true\"^^<xsd:boolean>",
        ),
        ("STRENDS(\"foobar\", \"bar\"@en)", "error"),
        (
            "CONTAINS(\"foobar\"@en, \"oba\"@en)",
            "\"true\"^^<xsd:boolean>",
        ),
        ("STRBEFORE(\"abc\"@en, \"b\")", "\"a\"@en"),
        ("STRBEFORE(\"abc\"@en, \"xyz\")", "\"\""),
        ("STRAFTER(\"abc\", \"b\")", "\"c\""),
        ("STRAFTER(\"abc\"@en, \"\")", "\"abc\"@en"),
        ("STRAFTER(\"abc\"@en, \"z\"@en)", "\"\""),
        ("STRAFTER(\"abc\", \"b\"@en)", "error"),
        ("STRBEFORE(\"abc\"@en, \"\")", "\"\"@en"),
        ("STRBEFORE(\"abc\"@en, \"b\"@cy)", "error"),
        (
            "ENCODE_FOR_URI(\"Los Angeles/é\")",
            "\"Los%20Angeles%2F%C3%A9\"",
        ),
        ("CONCAT(\"foo\"@en, \"bar\"@en)", "\"foobar\"@en"),
        ("CONCAT(\"foo\"@en, \"bar\")", "\"foobar\""),
        ("CONCAT()", "\"\""),
        ("CONCAT(\"foo\", 1)", "error"),
        (
            "langMatches(\"de-CH-1996\", \"de-ch\")",
            "\"true\"^^<xsd:boolean>",
        ),
        ("langMatches(\"deu\", \"de\")", "\"false\"^^<xsd:boolean>"),
        ("langMatches(\"\", \"*\")", "\"false\"^^<xsd:boolean>"),
        ("langMatches(\"en\", \"*\")", "\"true\"^^<xsd:boolean>"),
        ("langMatches(\"en\", \"en-gb\")", "\"false\"^^<xsd:boolean>"),
        ("langMatches(\"en\"@en, \"en\")", "error"),
        (
            "REGEX(\"Alice\"@en, \"^ali\", \"i\")",
            "\"true\"^^<xsd:boolean>",
        ),
        ("REGEX(\"a.c\", \"a.c\", \"q\")", "\"true\"^^<xsd:boolean>"),
        ("REGEX(\"abc\", \"(\")", "error"),
        ("REGEX(1, \"1\")", "error"),
        ("REGEX(STR(1), \"1\")", "\"true\"^^<xsd:boolean>"),
        ("REPLACE(\"abcd\"@en, \"b(.)\", \"[$1]\")", "\"a[c]d\"@en"),
        ("MD5(\"abc\")", "\"900150983cd24fb0d6963f7d28e17f72\""),
        (
            "SHA1(\"abc\")",
            "\"a9993e364706816aba3e25717850c26c9cd0d89d\"",
        ),
        (
            "SHA256(\"abc\")",
            "\"ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad\"",
        ),
        ("MD5(\"é\")", "\"66ddcd97cfdeabb2f6fb8a999b4bc76f\""),
        (
            "SHA1(\"日本\")",
            "\"44da6bbcf285cdb317aa91174217990d1b94d64d\"",
        ),
        ("SHA1(\"a\"@en)", "error"),
        ("STRLEN(SHA384(\"abc\"))", "\"96\"^^<xsd:integer>"),
        ("SUBSTR(SHA512(\"abc\"), 1, 8)", "\"ddaf35a1\""),
    ]);
}

#[test]
fn positions_in_strings_are_rounded() {
    assert_results(&[
        ("SUBSTR(\"motor car\", 6)", "\" car\""),
        ("SUBSTR(\"12345\", 1.5, 2.6)", "\"234\""),
        ("SUBSTR(\"12345\", -3, 5)", "\"1\""),
        ("SUBSTR(\"12345\", 5, -3)", "\"\""),
        ("SUBSTR(\"12345\"@en, \"NaN\"^^xsd:double, 3)", "\"\"@en"),
        ("SUBSTR(\"12345\", 1, \"NaN\"^^xsd:double)", "\"\""),
        ("SUBSTR(\"12345\", -42, \"INF\"^^xsd:double)", "\"12345\""),
        ("SUBSTR(\"12345\", \"-INF\"^^xsd:double)", "\"12345\""),
        (
            "SUBSTR(\"12345\", \"-INF\"^^xsd:double, \"INF\"^^xsd:double)",
            "\"\"",
        ),
        ("SUBSTR(\"12345\", 2.5e0)", "\"345\""),
        ("SUBSTR(\"12345\", 99999999999999999999)", "\"\""),
        (
            "SUBSTR(\"12345\", -9223372036854775808, 9223372036854775807)",
            "\"\"",
        ),
        ("SUBSTR(\"\u{1f600}\u{e9}x\", 2, 1)", "\"\u{e9}\""),
        ("SUBSTR(\"12345\", \"1\")", "error"),
    ]);
}

#[test]
fn replacements_follow_the_rules_of_xpath() {
    assert_results(&[
        ("REPLACE(\"abracadabra\", \"bra\", \"*\")", "\"a*cada*\""),
        ("REPLACE(\"abracadabra\", \"a.*?a\", \"*\")", "\"*c*bra\""),
        ("REPLACE(\"AAAA\", \"A+\", \"b\")", "\"b\""),
        ("REPLACE(\"AAAA\", \"A+?\", \"b\")", "\"bbbb\""),
        (
            "REPLACE(\"darted\", \"^(.*?)d(.*)$\", \"$1c$2\")",
            "\"carted\"",
        ),
        ("REPLACE(\"abc\", \"b\", \"[$0]\")", "\"a[b]c\""),
        ("REPLACE(\"abc\", \"b\", \"\\\\$1\")", "\"a$1c\""),
        // A pattern that matches nothing at all is an error (FORX0003).
        ("REPLACE(\"abracadabra\", \".*?\", \"$1\")", "error"),
        ("REPLACE(\"abc\", \"x*\", \"-\")", "error"),
        ("REPLACE(\"abc\", \"\", \"-\")", "error"),
        ("REPLACE(\"abc\", \"x?|b\", \"-\")", "error"),
        ("REPLACE(\"abc\", \"b\", \"$\")", "error"),
        ("REPLACE(\"abc\", \"b\", \"\\\\n\")", "error"),
        ("REPLACE(\"abc\", \"b\", \"x\", \"w\")", "error"),
        ("REPLACE(\"a.c\", \".\", \"$0\", \"q\")", "\"a$0c\""),
        ("REPLACE(\"aBc\"@en, \"b\", \"x\", \"i\")", "\"axc\"@en"),
        (
            "REGEX(\"helloworld\", \"hello world\", \"x\")",
            "\"true\"^^<xsd:boolean>",
        ),
        (
            "REGEX(\"a b\", \"a[ ]b\", \"x\")",
            "\"true\"^^<xsd:boolean>",
        ),
        ("REGEX(\"a#b\", \"a #b\", \"x\")", "\"true\"^^<xsd:boolean>"),
        ("REGEX(\"a\\nb\", \"a.b\")", "\"false\"^^<xsd:boolean>"),
        (
            "REGEX(\"a\\nb\", \"a.b\", \"s\")",
            "\"true\"^^<xsd:boolean>",
        ),
        ("REGEX(\"a\\nb\", \"^b\", \"m\")", "\"true\"^^<xsd:boolean>"),
    ]);
}

#[test]
fn odd_dates_have_their_parts() {
    let at = |text: &str| format!("\"{text}\"^^xsd:dateTime");
    let cases = [
        (
            "TIMEZONE",
            "2024-06-01T12:00:00+14:00",
            "\"PT14H\"^^<xsd:dayTimeDuration>",
        ),
        (
            "TIMEZONE",
            "2024-06-01T12:00:00-14:00",
            "\"-PT14H\"^^<xsd:dayTimeDuration>",
        ),
        (
            "TIMEZONE",
            "2024-06-01T12:00:00Z",
            "\"PT0S\"^^<xsd:dayTimeDuration>",
        ),
        (
            "TIMEZONE",
            "2024-06-01T12:00:00+05:45",
            "\"PT5H45M\"^^<xsd:dayTimeDuration>",
        ),
        ("TZ", "2024-06-01T12:00:00-14:00", "\"-14:00\""),
        ("TZ", "2024-06-01T12:00:00+05:45", "\"+05:45\""),
        ("TZ", "2024-06-01T12:00:00+14:01", "error"),
        // The end of a day is the start of the next.
        ("HOURS", "2024-12-31T24:00:00", "\"0\"^^<xsd:integer>"),
        ("YEAR", "2024-12-31T24:00:00", "\"2025\"^^<xsd:integer>"),
        ("DAY", "2024-12-31T24:00:00Z", "\"1\"^^<xsd:integer>"),
        ("HOURS", "2024-12-31T24:00:01", "error"),
        ("YEAR", "12024-06-01T12:00:00Z", "\"12024\"^^<xsd:integer>"),
        ("YEAR", "-0044-03-15T12:00:00", "\"-44\"^^<xsd:integer>"),
        ("MONTH", "-0044-03-15T12:00:00", "\"3\"^^<xsd:integer>"),
        ("DAY", "-0001-02-28T23:59:59", "\"28\"^^<xsd:integer>"),
        ("SECONDS", "2024-06-01T12:00:05", "\"5\"^^<xsd:decimal>"),
        (
            "SECONDS",
            "2024-06-01T12:00:05.123456789012345678",
            "\"5.123456789012345678\"^^<xsd:decimal>",
        ),
        ("MINUTES", "2023-02-29T12:00:00", "error"),
    ];
    for (function, text, expected) in cases {
        assert_results(&[(&format!("{function}({})", at(text)), expected)]);
    }
}

#[test]
fn dates_in_odd_zones_compare_by_their_instant() {
    let at = |text: &str| format!("\"{text}\"^^xsd:dateTime");
    let (east, west) = (
        at("2024-06-02T02:00:00+14:00"),
        at("2024-05-31T22:00:00-14:00"),
    );
    let (east_day, west_day) = (
        "\"2024-06-02+14:00\"^^xsd:date",
        "\"2024-06-01-10:00\"^^xsd:date",
    );
    assert_results(&[
        (&format!("{east} = {west}"), "\"true\"^^<xsd:boolean>"),
        (
            &format!("sameTerm({east}, {west})"),
            "\"false\"^^<xsd:boolean>",
        ),
        (
            &format!(
                "{} = {}",
                at("2024-12-31T24:00:00Z"),
                at("2025-01-01T00:00:00Z")
            ),
            "\"true\"^^<xsd:boolean>",
        ),
        (
            &format!("{east_day} != {west_day}"),
            "\"false\"^^<xsd:boolean>",
        ),
    ]);
}

#[test]
fn functions_on_dates() {
    let at = "\"2011-01-10T14:45:13.815-05:00\"^^xsd:dateTime";
    let whole = "\"2011-01-10T14:45:13Z\"^^xsd:dateTime";
    for (call, expected) in [
        ("YEAR", "\"2011\"^^<xsd:integer>"),
        ("MONTH", "\"1\"^^<xsd:integer>"),
        ("DAY", "\"10\"^^<xsd:integer>"),
        ("HOURS", "\"14\"^^<xsd:integer>"),
        ("MINUTES", "\"45\"^^<xsd:integer>"),
    ] {
        let (slow, fast) = (format!("{call}({at})"), format!("{call}({whole})"));
        assert_results(&[(&slow, expected), (&fast, expected)]);
    }
    assert_results(&[
        (&format!("SECONDS({at})"), "\"13.815\"^^<xsd:decimal>"),
        (
            &format!("TIMEZONE({at})"),
            "\"-PT5H\"^^<xsd:dayTimeDuration>",
        ),
        (&format!("TZ({whole})"), "\"Z\""),
        ("TZ(\"2011-01-10T14:45:13\"^^xsd:dateTime)", "\"\""),
        ("TIMEZONE(\"2011-01-10T14:45:13\"^^xsd:dateTime)", "error"),
        (
            "YEAR(\"2011-01\"^^xsd:gYearMonth)",
            "\"2011\"^^<xsd:integer>",
        ),
        ("DAY(\"2011-01\"^^xsd:gYearMonth)", "error"),
        ("HOURS(\"2011-01-10\"^^xsd:date)", "error"),
        ("NOW() = NOW()", "\"true\"^^<xsd:boolean>"),
        ("YEAR(NOW()) >= 2024", "\"true\"^^<xsd:boolean>"),
    ]);
}

#[test]
fn casts() {
    assert_results(&[
        ("xsd:string(1.50)", "\"1.5\""),
        ("xsd:string(\"1\"^^xsd:boolean)", "\"true\""),
        ("xsd:string(\"1.50\"^^<http://e/USD>)", "\"1.50\""),
        ("xsd:string(<http://e/a>)", "\"http://e/a\""),
        ("xsd:boolean(\"1\")", "\"true\"^^<xsd:boolean>"),
        ("xsd:boolean(0.0)", "\"false\"^^<xsd:boolean>"),
        ("xsd:integer(\"42\")", "\"42\"^^<xsd:integer>"),
        ("xsd:integer(3.9)", "\"3\"^^<xsd:integer>"),
        ("xsd:integer(\"3.9\")", "error"),
        ("xsd:decimal(\"3.90\")", "\"3.9\"^^<xsd:decimal>"),
        ("xsd:decimal(-2.5e0)", "\"-2.5\"^^<xsd:decimal>"),
        (
            "xsd:decimal(2e0 / 3)",
            "\"0.6666666666666666\"^^<xsd:decimal>",
        ),
        ("xsd:decimal(\"0.1\"^^xsd:float)", "\"0.1\"^^<xsd:decimal>"),
        ("xsd:decimal(\"INF\"^^xsd:double)", "error"),
        ("xsd:float(\"1.5\")", "\"1.5\"^^<xsd:float>"),
        ("xsd:double(\"INF\")", "\"INF\"^^<xsd:double>"),
        ("xsd:double(true)", "\"1\"^^<xsd:double>"),
        (
            "xsd:dateTime(\"2011-01-10T14:45:13Z\")",
            "\"2011-01-10T14:45:13Z\"^^<xsd:dateTime>",
        ),
        (
            "xsd:date(\"2011-01-10T14:45:13Z\"^^xsd:dateTime)",
            "\"2011-01-10Z\"^^<xsd:date>",
        ),
        (
            "xsd:time(\"2011-01-10T14:45:13Z\"^^xsd:dateTime)",
            "\"14:45:13Z\"^^<xsd:time>",
        ),
        (
            "xsd:gYear(\"2011-01-10\"^^xsd:date)",
            "\"2011\"^^<xsd:gYear>",
        ),
        ("xsd:duration(\"P1Y\")", "\"P1Y\"^^<xsd:duration>"),
        (
            "xsd:dayTimeDuration(\"P1DT2H\"^^xsd:duration)",
            "\"P1DT2H\"^^<xsd:dayTimeDuration>",
        ),
        ("xsd:date(\"x\")", "error"),
    ]);
}

#[test]
fn unknown_functions_are_refused_by_name() {
    let cx = context();
    let result = CompiledExpr::compile(&parse("<http://e/f>(1)"), &[], &cx);
    let message = result
        .map(|_| ())
        .expect_err("there is no such function")
        .to_string();
    assert!(message.contains("http://e/f"), "{message}");
}

#[test]
fn unfolded_functions_run_in_each_row() {
    let cx = context();
    let column = vec![
        id_of("\"ab\"@en", &cx),
        id_of("\"cde\"", &cx),
        id_of("1", &cx),
        0,
    ];
    let results: Vec<_> = evaluate("STRLEN(UCASE(?a))", vec![column], &cx)
        .into_iter()
        .map(|id| show(id, &cx))
        .collect();
    assert_eq!(
        results,
        [
            "\"2\"^^<xsd:integer>",
            "\"3\"^^<xsd:integer>",
            "error",
            "error"
        ]
    );
    let nodes = evaluate("BNODE()", vec![vec![0, 0]], &cx);
    assert_ne!(nodes[0], nodes[1]);
}
