//! Small cases whose answers were worked out by hand from the specification.

use super::{NaiveError, evaluate};
use crate::dataset::{Answer, Dataset};
use crate::golden::print_answer;
use oxigraph::io::{RdfFormat, RdfParser};
use spargebra::SparqlParser;

const DATA: &str = "@prefix : <http://a/> .
    :a :p :b, :c ; :v 1 ; :n \"x\" .
    :b :p :c ; :v \"01\"^^<http://www.w3.org/2001/XMLSchema#integer> ; :n \"x\"@en .
    :c :p :a ; :v 2.5 .
    :d :v \"odd\"^^:type .
    :g1 { :a :p :z . } :g2 { :a :p :z, :b . }";

fn dataset() -> Dataset {
    let quads = RdfParser::from_format(RdfFormat::TriG).for_slice(DATA.as_bytes());
    Dataset::from_quads(quads.map(|quad| quad.expect("the data is TriG")))
}

/// The rows of a query with everything shortened that the cases do not need.
fn rows(query: &str) -> String {
    let text =
        format!("PREFIX : <http://a/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> {query}");
    let query = SparqlParser::new().parse_query(&text).expect("it parses");
    let answer = evaluate(&dataset(), &query).expect("it is supported");
    let is_ordered = text.contains("ORDER BY");
    let printed = print_answer(&answer, is_ordered);
    let lines: Vec<&str> = match answer {
        Answer::Solutions { .. } => printed.lines().skip(1).collect(),
        _ => printed.lines().collect(),
    };
    lines
        .join(" ; ")
        .replace("<http://a/", "<")
        .replace("http://www.w3.org/2001/XMLSchema#", "xsd:")
        .replace('\t', " ")
}

#[test]
fn joins_optional_and_minus() {
    assert_eq!(
        rows("SELECT * { ?x :p ?y . ?y :p ?x }"),
        "<a> <c> ; <c> <a>"
    );
    assert_eq!(
        rows("SELECT ?x ?y { ?x :v ?v OPTIONAL { ?x :p ?y FILTER(?v < 2) } }"),
        "<a> <b> ; <a> <c> ; <b> <c> ; <c>  ; <d> "
    );
    assert_eq!(
        rows("SELECT ?x { ?x :v ?v MINUS { ?x :n ?n } }"),
        "<c> ; <d>"
    );
    assert_eq!(rows("SELECT ?x { ?x :v 1 MINUS { ?y :n ?n } }"), "<a>");
    assert_eq!(
        rows("SELECT ?x { { ?x :v 1 } UNION { ?x :p :b } }"),
        "<a> ; <a>"
    );
}

#[test]
fn terms_join_by_identity_and_compare_by_value() {
    assert_eq!(rows("SELECT ?x { ?x :v 1 }"), "<a>");
    assert_eq!(rows("SELECT ?x { ?x :v ?v FILTER(?v = 1) }"), "<a> ; <b>");
    assert_eq!(rows("SELECT ?x { ?x :v ?v FILTER(?v != 1) }"), "<c>");
    assert_eq!(
        rows("SELECT ?x { ?x :v ?v FILTER(?v IN (7, 2.50)) }"),
        "<c>"
    );
    assert_eq!(rows("SELECT ?x { ?x :n \"x\" }"), "<a>");
    assert_eq!(
        rows("SELECT ?x { ?x :v ?v FILTER(?v < 1 || ?x = :d) }"),
        "<d>"
    );
    assert_eq!(rows("SELECT ?x { ?x :v ?v FILTER(?x <= :d) }"), "");
}

#[test]
fn paths_count_as_the_specification_says() {
    assert_eq!(rows("SELECT ?y { :b :p+ ?y }"), "<a> ; <b> ; <c>");
    assert_eq!(rows("SELECT ?y { :b :p/:p ?y }"), "<a>");
    assert_eq!(rows("SELECT ?y { :a (:p|:p) ?y }"), "<b> ; <b> ; <c> ; <c>");
    assert_eq!(rows("SELECT ?y { :nowhere :p* ?y }"), "<nowhere>");
    assert_eq!(rows("SELECT ?y { :c ^:p ?y }"), "<a> ; <b>");
    assert_eq!(rows("SELECT ?y { :a !(:v|:n) ?y }"), "<b> ; <c>");
    assert_eq!(rows("SELECT ?y { :a !(^:q|:p|:v) ?y }"), "\"x\" ; <c>");
}

#[test]
fn graphs_and_dataset_clauses() {
    assert_eq!(
        rows("SELECT ?g ?y { GRAPH ?g { :a :p ?y } }"),
        "<g1> <z> ; <g2> <b> ; <g2> <z>"
    );
    assert_eq!(rows("SELECT ?y { GRAPH :g2 { :a :p ?y } }"), "<b> ; <z>");
    assert_eq!(
        rows("SELECT ?y FROM :g1 FROM :g2 { :a :p ?y }"),
        "<b> ; <z>"
    );
    assert_eq!(
        rows("SELECT ?g FROM NAMED :g1 { GRAPH ?g { :a :p ?y } }"),
        "<g1>"
    );
    assert_eq!(rows("ASK { GRAPH :none { } }"), "false");
}

#[test]
fn aggregates() {
    assert_eq!(
        rows("SELECT ?x (COUNT(?y) AS ?n) { ?x :v ?v OPTIONAL { ?x :p ?y } } GROUP BY ?x"),
        "<a> \"2\"^^<xsd:integer> ; <b> \"1\"^^<xsd:integer> ; <c> \"1\"^^<xsd:integer> ; <d> \"0\"^^<xsd:integer>"
    );
    assert_eq!(
        rows("SELECT (SUM(?v) AS ?s) { ?x :v ?v . ?x :p ?y }"),
        "\"5.5\"^^<xsd:decimal>"
    );
    assert_eq!(
        rows("SELECT (SUM(?v) AS ?s) (COUNT(*) AS ?n) { ?x :v ?v }"),
        " \"4\"^^<xsd:integer>"
    );
    assert_eq!(
        rows("SELECT (AVG(?v) AS ?s) { ?x :none ?v }"),
        "\"0\"^^<xsd:integer>"
    );
    assert_eq!(rows("SELECT (MAX(?v) AS ?s) { ?x :none ?v }"), "");
    assert_eq!(
        rows("SELECT ?x { ?x :p ?y } GROUP BY ?x HAVING (COUNT(*) > 1)"),
        "<a>"
    );
    assert_eq!(rows("SELECT ?x { ?x :none ?y } GROUP BY ?x"), "");
}

#[test]
fn modifiers_and_subqueries() {
    assert_eq!(
        rows("SELECT DISTINCT ?x { ?x :p ?y } ORDER BY DESC(?x)"),
        "<c> ; <b> ; <a>"
    );
    assert_eq!(
        rows("SELECT ?x { ?x :v ?v } ORDER BY ?x LIMIT 2 OFFSET 1"),
        "<b> ; <c>"
    );
    assert_eq!(
        rows("SELECT ?x ?n { ?x :v 2.5 { SELECT ?x (COUNT(*) AS ?n) { ?x :p ?y } GROUP BY ?x } }"),
        "<c> \"1\"^^<xsd:integer>"
    );
    assert_eq!(
        rows("SELECT ?x ?v { VALUES (?x ?v) { (:a 1) (UNDEF 3) } } ORDER BY ?x"),
        " \"3\"^^<xsd:integer> ; <a> \"1\"^^<xsd:integer>"
    );
}

#[test]
fn exists_substitutes() {
    assert_eq!(
        rows("SELECT ?x { ?x :v ?v FILTER EXISTS { ?x :p :c } }"),
        "<a> ; <b>"
    );
    assert_eq!(
        rows("SELECT ?x { ?x :v ?v FILTER NOT EXISTS { ?y :p ?x } }"),
        "<d>"
    );
    assert_eq!(
        rows("SELECT ?x { ?x :v ?v FILTER EXISTS { ?y :v ?w FILTER(?w > ?v) } }"),
        "<a> ; <b>"
    );
}

#[test]
fn functions() {
    let value = |expression: &str| rows(&format!("SELECT ({expression} AS ?r) {{}}"));
    assert_eq!(value("1 / 2"), "\"0.5\"^^<xsd:decimal>");
    assert_eq!(value("1 / 0"), "");
    assert_eq!(value("1 + 1.5e0"), "\"2.5\"^^<xsd:double>");
    assert_eq!(value("SUBSTR(\"metadata\"@en, 4, 3)"), "\"ada\"@en");
    assert_eq!(value("STRBEFORE(\"abc\", \"z\"@en)"), "");
    assert_eq!(value("STRAFTER(\"abc\"@en, \"b\")"), "\"c\"@en");
    assert_eq!(value("REPLACE(\"abcb\", \"B\", \"z\", \"i\")"), "\"azcz\"");
    assert_eq!(value("CONCAT(\"a\"@en, \"b\"@en)"), "\"ab\"@en");
    assert_eq!(value("ENCODE_FOR_URI(\"a \u{e9}\")"), "\"a%20%C3%A9\"");
    assert_eq!(
        value("xsd:integer(\"7\") + xsd:integer(true)"),
        "\"8\"^^<xsd:integer>"
    );
    assert_eq!(value("xsd:integer(\"x\")"), "");
    assert_eq!(value("COALESCE(1/0, ?none, \"ok\")"), "\"ok\"");
    assert_eq!(value("IF(1/0, 1, 2)"), "");
    assert_eq!(value("(1/0 || true)"), "\"true\"^^<xsd:boolean>");
    assert_eq!(value("(1/0 && true)"), "");
    assert_eq!(
        value("LANGMATCHES(\"en-GB\", \"en\")"),
        "\"true\"^^<xsd:boolean>"
    );
    assert_eq!(
        value("DATATYPE(\"a\"@en) = <http://www.w3.org/1999/02/22-rdf-syntax-ns#langString>"),
        "\"true\"^^<xsd:boolean>"
    );
    assert_eq!(
        value("TZ(\"2020-01-01T00:00:00-08:00\"^^xsd:dateTime)"),
        "\"-08:00\""
    );
    assert_eq!(
        value("SECONDS(\"2020-01-01T00:00:01.5Z\"^^xsd:dateTime)"),
        "\"1.5\"^^<xsd:decimal>"
    );
    assert_eq!(value("ROUND(2.5)"), "\"3\"^^<xsd:decimal>");
}

#[test]
fn construct_makes_a_set_of_well_formed_triples() {
    assert_eq!(
        rows("CONSTRUCT { :k :q ?x . ?v :q :k } { ?x :v ?v . ?x :p ?y }"),
        "<k> <q> <a> . ; <k> <q> <b> . ; <k> <q> <c> ."
    );
}

#[test]
fn what_is_not_supported_is_said() {
    for text in [
        "SELECT * { SERVICE <http://a/s> { ?x ?y ?z } }",
        "SELECT (RAND() AS ?r) {}",
        "SELECT (MD5(\"a\") AS ?r) {}",
    ] {
        let query = SparqlParser::new().parse_query(text).expect("it parses");
        let result = evaluate(&dataset(), &query);
        assert!(
            matches!(result, Err(NaiveError::Unsupported(_))),
            "{text}: {result:?}"
        );
    }
}

#[test]
fn what_the_standard_leaves_open_is_said() {
    for text in [
        "SELECT * { { SELECT ?x { ?x ?y ?z } LIMIT 1 } }",
        "SELECT (SAMPLE(?x) AS ?y) { ?x <http://a/p> ?z }",
        "SELECT (MIN(?v) AS ?m) { VALUES ?v { 1 1.0 } }",
        "SELECT (SUM(?v) AS ?m) { VALUES ?v { 0.1e0 2.0e0 } }",
    ] {
        let query = SparqlParser::new().parse_query(text).expect("it parses");
        let result = evaluate(&dataset(), &query);
        assert!(
            matches!(result, Err(NaiveError::Ambiguous(_))),
            "{text}: {result:?}"
        );
    }
    assert_eq!(
        rows("SELECT (MIN(?v) AS ?m) { VALUES ?v { 2 1.0 } }"),
        "\"1.0\"^^<xsd:decimal>"
    );
    assert_eq!(rows("DESCRIBE :d"), "<d> <v> \"odd\"^^<type> .");
}
