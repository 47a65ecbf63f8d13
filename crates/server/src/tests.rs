//! Tests of the pure parts: forms, negotiation, durations.

use crate::form::decode_form;
use crate::negotiate::{Accept, GRAPH_OFFERS, SOLUTION_OFFERS};
use crate::options::parse_duration;
use std::time::Duration;

#[test]
fn forms_decode_and_refuse_broken_escapes() {
    let pairs = decode_form("query=a+%3Fs%20b&x&&y=1=2").expect("a good form");
    let expected = [("query", "a ?s b"), ("x", ""), ("y", "1=2")];
    let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
    assert_eq!(pairs, expected);
    for bad in ["q=%", "q=%4", "q=%zz", "q=%ff", "q=%C3"] {
        assert!(decode_form(bad).is_err(), "{bad}");
    }
    assert!(decode_form("").expect("an empty form").is_empty());
}

#[test]
fn the_best_offer_wins() {
    let solutions = |header: &str| {
        Accept::parse(header)
            .best(&SOLUTION_OFFERS)
            .map(|offer| offer.0)
    };
    let json = Some("application/sparql-results+json");
    assert_eq!(solutions(""), json);
    assert_eq!(solutions("*/*"), json);
    assert_eq!(solutions("application/*"), json);
    assert_eq!(solutions("text/*"), Some("text/csv"));
    assert_eq!(
        solutions("text/csv;q=0.5, text/tab-separated-values;q=0.9"),
        Some("text/tab-separated-values")
    );
    assert_eq!(
        solutions("application/sparql-results+json;q=0, */*"),
        Some("application/json")
    );
    assert_eq!(solutions("image/png"), None);
    assert_eq!(solutions("text/csv;q=0"), None);
    assert_eq!(solutions("Text/CSV ; Q=0.3"), Some("text/csv"));
    let graphs = |header: &str| {
        Accept::parse(header)
            .best(&GRAPH_OFFERS)
            .map(|offer| offer.0)
    };
    assert_eq!(graphs("application/rdf+xml"), None);
    assert_eq!(
        graphs("application/rdf+xml, */*;q=0.1"),
        Some("application/n-triples")
    );
    assert_eq!(
        graphs("application/rdf+xml, text/turtle;q=0.9"),
        Some("text/turtle")
    );
}

#[test]
fn durations_have_units() {
    let milli = Duration::from_millis(1);
    assert_eq!(
        parse_duration("250", milli),
        Some(Duration::from_millis(250))
    );
    assert_eq!(parse_duration("10s", milli), Some(Duration::from_secs(10)));
    assert_eq!(parse_duration("1.5m", milli), Some(Duration::from_secs(90)));
    assert_eq!(
        parse_duration(" 20 ms ", milli),
        Some(Duration::from_millis(20))
    );
    for bad in [
        "",
        "s",
        "-1",
        "1e9",
        "10 years",
        "1.2.3",
        "99999999999999999999999h",
    ] {
        assert_eq!(parse_duration(bad, milli), None, "{bad}");
    }
}
