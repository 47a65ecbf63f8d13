//! Stored strings compared with constants by their beginnings: which pass is what comparing whole texts says.

mod support;

use basalt_engine::Database;
use basalt_testkit::Answer;
use std::fmt::Write;
use support::{Configuration, LAYOUTS, ask, load_nquads, query_options};

/// Characters of one to four bytes, and those beside them in the order.
const CHARACTERS: [char; 7] = ['a', 'm', 'n', 'é', '\u{7ff}', '\u{e000}', '\u{1f600}'];

/// An operator, and what it says of two texts.
type Comparison = (&'static str, fn(&str, &str) -> bool);

const OPERATORS: [Comparison; 5] = [
    ("<", |a, b| a < b),
    ("<=", |a, b| a <= b),
    (">", |a, b| a > b),
    (">=", |a, b| a >= b),
    ("=", |a, b| a == b),
];

/// Texts of which many begin with others: none, short ones, and some that are longer than any beginning that is read.
fn texts() -> Vec<String> {
    let mut texts = vec![String::new()];
    for &first in &CHARACTERS {
        texts.push(first.to_string());
        for &second in &CHARACTERS {
            texts.push(format!("{first}{second}"));
            for count in [1, 6, 7, 30, 400] {
                texts.push(format!("{first}{second}{}", "moth ".repeat(count)));
                texts.push(format!("{first}{}{second}", "moth ".repeat(count)));
            }
        }
    }
    texts.sort();
    texts.dedup();
    texts
}

/// Checks the count that a query gives.
fn check_count(database: &Database, configuration: &Configuration, query: &str, expected: usize) {
    let answer = ask(database, query, &query_options(configuration));
    let Ok(Answer::Solutions { rows, .. }) = answer else {
        unreachable!("{query}: {answer:?}");
    };
    let found = rows[0][0].as_ref().expect("a count").to_string();
    assert!(
        found.starts_with(&format!("\"{expected}\"")),
        "{query}: {found}, not {expected}"
    );
}

#[test]
fn strings_pass_as_their_whole_texts_do() {
    let texts = texts();
    let mut quads = String::new();
    for (i, text) in texts.iter().enumerate() {
        let line = format!(
            "<http://e/s{i}> <http://e/text> \"{text}\" .\n<http://e/s{i}> <http://e/number> \"{i}\" ."
        );
        writeln!(quads, "{line}").expect("text grows");
    }
    // Neither tagged strings nor numbers are ordered beside a string.
    quads.push_str("<http://e/x> <http://e/text> \"m\"@en .\n<http://e/y> <http://e/text> \"7\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n");
    for layout in LAYOUTS {
        let configuration = Configuration {
            layout,
            ..Configuration::default()
        };
        let loaded = load_nquads(quads.clone(), &configuration);
        for constant in texts.iter().step_by(3).chain(&texts[..3]) {
            for (operator, passes) in OPERATORS {
                let query = format!(
                    "SELECT (COUNT(*) AS ?n) {{ ?s <http://e/text> ?t FILTER(?t {operator} \"{constant}\") }}"
                );
                let expected = texts.iter().filter(|text| passes(text, constant)).count();
                check_count(&loaded.database, &configuration, &query, expected);
            }
        }
    }
}

#[test]
fn what_str_gives_is_a_text_whatever_the_term() {
    let texts: Vec<String> = texts().into_iter().step_by(5).collect();
    let mut terms: Vec<(String, &str)> = Vec::new();
    for (i, text) in texts.iter().enumerate() {
        let kinds = ["", "@en", "@EN", "@de-AT", "^^<http://e/type>"];
        let of_text = kinds.iter().enumerate().filter(|(at, _)| i % (at + 1) == 0);
        terms.extend(of_text.map(|(_, kind)| (format!("\"{text}\"{kind}"), &text[..])));
    }
    let integer = "^^<http://www.w3.org/2001/XMLSchema#integer>";
    let numbers = [
        ("\"7\"", "7"),
        ("\"7\"@en", "7"),
        ("<http://e/7>", "http://e/7"),
    ];
    terms.extend(numbers.map(|(term, text)| (term.to_owned(), text)));
    terms.extend(["7", "07"].map(|text| (format!("\"{text}\"{integer}"), text)));
    let mut quads = String::new();
    for (i, (term, _)) in terms.iter().enumerate() {
        writeln!(quads, "<http://e/s{i}> <http://e/text> {term} .").expect("text grows");
    }
    for layout in LAYOUTS {
        let configuration = Configuration {
            layout,
            ..Configuration::default()
        };
        let loaded = load_nquads(quads.clone(), &configuration);
        let constants = texts.iter().step_by(4).map(String::as_str);
        for constant in constants.chain(["7", "07", "http://e/7", "none"]) {
            let same = terms.iter().filter(|(_, text)| *text == constant).count();
            for (operator, expected) in [("=", same), ("!=", terms.len() - same)] {
                let query = format!(
                    "SELECT (COUNT(*) AS ?n) {{ ?s <http://e/text> ?t FILTER(STR(?t) {operator} \"{constant}\") }}"
                );
                check_count(&loaded.database, &configuration, &query, expected);
            }
        }
    }
}
