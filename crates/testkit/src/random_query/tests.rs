//! What the generator promises: texts that parse, seeds that last, and every part of the grammar in use.

use super::{QueryOptions, query_of, random_query};
use crate::choices::Choices;
use crate::expectation::expectation;
use crate::naive::NaiveError;
use crate::random_data::{DataOptions, random_dataset};
use spargebra::SparqlParser;
use std::collections::HashSet;

#[test]
fn every_text_parses_and_a_seed_always_means_the_same_query() {
    let mut texts = HashSet::new();
    let mut broken = Vec::new();
    for seed in 0..2000 {
        let query = random_query(seed, QueryOptions::default());
        assert_eq!(query, random_query(seed, QueryOptions::default()));
        let text = query.to_string();
        if let Err(error) = SparqlParser::new().parse_query(&text) {
            broken.push(format!("seed {seed}: {text} {error}"));
        }
        texts.insert(text);
    }
    broken.sort_by_key(String::len);
    assert!(broken.is_empty(), "{}: {}", broken.len(), broken[0]);
    assert!(texts.len() > 1950, "only {} different queries", texts.len());
}

#[test]
fn any_bytes_are_a_query() {
    let mut random = Choices::from_seed(7);
    for length in 0..200 {
        let bytes: Vec<u8> = (0..length)
            .map(|_| u8::try_from(random.below(256)).unwrap_or(0))
            .collect();
        let query = query_of(Choices::from_bytes(&bytes), QueryOptions::default());
        let parsed = SparqlParser::new().parse_query(&query.to_string());
        assert!(parsed.is_ok(), "{query} {parsed:?}");
    }
}

#[test]
fn options_leave_constructs_out() {
    for seed in 0..500 {
        let text = random_query(seed, QueryOptions::simple()).to_string();
        for word in [
            "GRAPH",
            "OPTIONAL",
            "EXISTS",
            "GROUP",
            "FROM",
            "CONSTRUCT",
            ")*",
        ] {
            assert!(!text.contains(word), "seed {seed}: {text}");
        }
    }
}

#[test]
fn every_part_of_the_grammar_occurs() {
    let texts: Vec<String> = (0..3000)
        .map(|seed| random_query(seed, QueryOptions::default()).to_string())
        .collect();
    for words in [
        "OPTIONAL UNION MINUS EXISTS BIND VALUES UNDEF GRAPH FROM NAMED DISTINCT REDUCED",
        "ASK CONSTRUCT DESCRIBE HAVING GROUP_CONCAT SAMPLE SUM AVG MIN MAX COUNT LIMIT OFFSET",
        "IF COALESCE IN STRLANG STRDT REPLACE SUBSTR TZ TIMEZONE REGEX LANGMATCHES IRI BASE",
        "sameTerm isNumeric ENCODE_FOR_URI STRBEFORE STRAFTER SECONDS ROUND DESC BOUND DATATYPE",
    ] {
        for word in words.split(' ') {
            assert!(texts.iter().any(|text| text.contains(word)), "no {word}");
        }
    }
    for operator in [")*", ")+", ")?", "!(", "^", "|", "/"] {
        let found = texts.iter().any(|text| text.contains(operator));
        assert!(found, "no {operator}");
    }
}

#[test]
fn most_queries_have_answers() {
    let (mut asked, mut some, mut open, mut large) = (0, 0, 0, 0);
    for seed in 0..400 {
        let dataset = random_dataset(seed / 10, DataOptions::default());
        let text = random_query(seed, QueryOptions::default()).to_string();
        let query = SparqlParser::new().parse_query(&text).expect("it parses");
        asked += 1;
        match expectation(&dataset, &query) {
            Ok(expected) => some += usize::from(!expected.answer().is_empty()),
            Err(NaiveError::Ambiguous(_)) => open += 1,
            Err(NaiveError::TooLarge(_)) => large += 1,
            Err(NaiveError::Unsupported(what)) => unreachable!("{what}: {text}"),
        }
    }
    eprintln!("{some} of {asked} answers have rows, {open} are open, {large} too large");
    assert!(some * 100 >= asked * 45, "only {some} of {asked} have rows");
    assert!(open * 100 <= asked * 10, "{open} of {asked} are open");
    assert!(large * 100 <= asked * 4, "{large} of {asked} are too large");
}
