//! ORDER BY, with and without a limit, MIN and MAX over values whose ids tell their order: numbers of datatypes that are none to SPARQL, which
//! are ordered as texts, numbers of several types, and dates with and without a zone; beside changes too.

mod support;

use basalt_engine::{Database, QueryOptions};
use basalt_testkit::Answer;
use oxrdf::{Literal, NamedNode, Term};
use support::triples::{NS, Triples};
use support::{ask, plain_and_changed};

const XSD: &str = "http://www.w3.org/2001/XMLSchema#";

/// A literal with its datatype.
fn typed(text: &str, datatype: &str) -> Literal {
    Literal::new_typed_literal(text, NamedNode::new_unchecked(datatype))
}

/// Amounts of two currencies, of many sizes and scales, in the order of their texts.
fn amounts() -> Vec<Literal> {
    let mut amounts = Vec::new();
    for n in 0..120_i64 {
        let mantissa = (n * n * 7919 + n * 31) % 100_000 - 20_000;
        for scale in [0, 1, 2, 5] {
            let text = format!(
                "{:.1$}",
                mantissa as f64 / 10_f64.powi(scale),
                scale as usize
            );
            let currency = ["EUR", "USD"][(n as usize + scale as usize) % 2];
            amounts.push((text, format!("{NS}{currency}")));
        }
    }
    for currency in ["EUR", "USD"] {
        amounts.push(("12.50".to_owned(), format!("{NS}{currency}")));
        // Not as a number is written, which is a text of the dictionary.
        amounts.push(("012.50".to_owned(), format!("{NS}{currency}")));
        amounts.push(("cheap".to_owned(), format!("{NS}{currency}")));
    }
    amounts.retain(|(text, _)| !text.starts_with("-0"));
    amounts.sort();
    amounts.dedup();
    let literals = amounts.iter().map(|(text, datatype)| typed(text, datatype));
    literals.collect()
}

/// Numbers of XML Schema in the order of their values.
fn numbers() -> Vec<Literal> {
    let mut numbers: Vec<(f64, Literal)> = Vec::new();
    for n in 0..200_i32 {
        let (value, name) = match n % 4 {
            0 => (f64::from(n * 37 % 101 - 50), "integer"),
            1 => (f64::from(n * 53 % 211) - 99.75, "decimal"),
            2 => (f64::from(n * 29 % 307) + 0.125, "float"),
            _ => (f64::from(n * 17 % 401) - 200.5, "double"),
        };
        numbers.push((value, typed(&value.to_string(), &format!("{XSD}{name}"))));
    }
    numbers.sort_by(|a, b| a.0.total_cmp(&b.0));
    numbers.dedup_by(|a, b| a.0 == b.0);
    numbers.into_iter().map(|(_, literal)| literal).collect()
}

/// Dates in their order: kind by kind, those without a zone as of UTC.
fn dates() -> Vec<Literal> {
    let written = [
        ("1999-12-31T23:59:59Z", "dateTime"),
        ("1999-12-31T23:59:59.000001", "dateTime"),
        ("2000-01-01T00:59:59.999+01:00", "dateTime"),
        ("2000-01-01T00:59:59.999999+01:00", "dateTime"),
        ("1999-12-31T23:59:59.9999999", "dateTime"),
        ("2000-01-01T00:00:00", "dateTime"),
        ("1999-12-31T23:00:00.001-01:00", "dateTime"),
        ("2000-01-01T02:00:00+01:00", "dateTime"),
        ("2000-01-01T01:00:01", "dateTime"),
        ("1969-12-31", "date"),
        ("1999-12-31+14:00", "date"),
        ("1999-12-31", "date"),
        ("2000-01-01+00:30", "date"),
        ("2000-01-01Z", "date"),
        ("2000-01-01-05:00", "date"),
        ("2000-01-02", "date"),
        ("1999", "gYear"),
        ("2000Z", "gYear"),
        ("2001", "gYear"),
        ("1999-02", "gYearMonth"),
        ("1999-03Z", "gYearMonth"),
    ];
    let typed = |(text, name)| typed(text, &format!("{XSD}{name}"));
    written.into_iter().map(typed).collect()
}

/// The values of `?v` in the rows.
fn values(database: &Database, query: &str) -> Vec<Literal> {
    let text = format!("PREFIX : <{NS}> {query}");
    let rows = match ask(database, &text, &QueryOptions::default()) {
        Ok(Answer::Solutions { rows, .. }) => rows,
        other => unreachable!("{query}: {other:?}"),
    };
    let value = |row: Vec<Option<Term>>| match row.into_iter().next() {
        Some(Some(Term::Literal(literal))) => literal,
        other => unreachable!("{query}: {other:?}"),
    };
    rows.into_iter().map(value).collect()
}

#[test]
fn values_come_in_their_order() {
    for mut expected in [amounts(), numbers(), dates()] {
        let mut triples = Triples::default();
        let mut inserted = String::new();
        for (n, value) in expected.iter().enumerate() {
            // In no order, and every fifth one later.
            let subject = format!("s{}", n * 7919 % 1009);
            match n % 5 {
                0 => inserted.push_str(&format!("<{NS}{subject}> <{NS}value> {value} . ")),
                _ => triples.add(&subject, "value", &value.to_string()),
            }
        }
        let changes = format!("INSERT DATA {{ {inserted} }}");
        let [_, database] = plain_and_changed(&triples.0, &changes);
        let all = "SELECT ?v { ?s :value ?v } ORDER BY";
        assert_eq!(values(&database, &format!("{all} ?v")), expected);
        assert_eq!(
            values(&database, &format!("{all} ?v LIMIT 9")),
            expected[..9]
        );
        let least = values(&database, "SELECT (MIN(?v) AS ?m) { ?s :value ?v }");
        assert_eq!(least, expected[..1]);
        let greatest = values(&database, "SELECT (MAX(?v) AS ?m) { ?s :value ?v }");
        assert_eq!(greatest, expected[expected.len() - 1..]);
        expected.reverse();
        assert_eq!(values(&database, &format!("{all} DESC(?v)")), expected);
        assert_eq!(
            values(&database, &format!("{all} DESC(?v) OFFSET 3 LIMIT 9")),
            expected[3..12]
        );
    }
}
