//! Tests of single parts: forms, negotiation, durations, attempts.

use crate::form::decode_form;
use crate::in_place::{InPlace, try_in_place};
use crate::negotiate::{Accept, Coding, GRAPH_OFFERS, SOLUTION_OFFERS};
use crate::options::{ServerOptions, parse_duration};
use crate::protocol::{QueryRequest, Requested, Takes, read_request};
use crate::state::AppState;
use axum::body::Bytes;
use axum::http::{HeaderValue, Method, header};
use basalt_engine::{Database, GraphFormat, QueryOptions};
use std::sync::Arc;
use std::time::{Duration, Instant};

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
    assert_eq!(graphs("application/n3"), None);
    assert_eq!(
        graphs("application/rdf+xml, */*;q=0.1"),
        Some("application/rdf+xml")
    );
    assert_eq!(
        graphs("application/ld+json;profile=\"http://www.w3.org/ns/json-ld#expanded\""),
        Some("application/ld+json")
    );
    assert_eq!(
        graphs("application/rdf+xml;q=0.8, text/turtle;q=0.9"),
        Some("text/turtle")
    );
}

#[test]
fn codings_are_chosen_by_quality() {
    let cases = [
        ("", None),
        ("gzip", Some(Coding::Gzip)),
        ("gzip, deflate, br, zstd", Some(Coding::Zstd)),
        ("GZIP;q=1.0, zstd; Q=0.5", Some(Coding::Gzip)),
        ("x-gzip", Some(Coding::Gzip)),
        ("br", None),
        ("*", Some(Coding::Zstd)),
        ("zstd;q=0, *", Some(Coding::Gzip)),
        ("gzip;q=0", None),
        ("identity, gzip;q=0.5", None),
        ("identity;q=0.5, gzip", Some(Coding::Gzip)),
        ("identity;q=0, gzip;q=0.1", Some(Coding::Gzip)),
    ];
    for (header, expected) in cases {
        assert_eq!(Coding::choose(header), Ok(expected), "{header}");
    }
    for header in ["identity;q=0", "br, *;q=0", "*;q=0"] {
        assert!(Coding::choose(header).is_err(), "{header}");
    }
    assert_eq!(Coding::choose("*;q=0, identity;q=0.1"), Ok(None));
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

/// A request with a query, as clients send it.
fn query_request(text: &str) -> QueryRequest {
    let encoded: String = text.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let uri = format!("/query?query={encoded}").parse();
    let headers = [(header::HOST, HeaderValue::from_static("localhost"))];
    let requested = read_request(
        Takes::Queries,
        &Method::GET,
        &uri.expect("an address"),
        &headers.into_iter().collect(),
        &Bytes::new(),
    );
    match requested {
        Ok(Requested::Query(request)) => *request,
        other => unreachable!("it is a query: {other:?}"),
    }
}

#[test]
fn texts_that_differ_in_constants_are_not_parsed() {
    let state = AppState::new(
        Arc::new(Database::in_memory()),
        ServerOptions::default(),
        None,
    );
    for number in 0..5 {
        let text = format!("SELECT * {{ <http://e/{number}> <p> ?o FILTER(?o > {number}) }}");
        let tried = try_in_place(&state, &query_request(&text), &Arc::default());
        assert!(matches!(tried, InPlace::Ended(Ok(_))));
    }
    assert_eq!(state.database.plan_cache_status().by_template, 3);
}

#[test]
fn a_slow_query_taken_for_quick_is_handed_over() {
    let database = Database::in_memory();
    let data: String = (0..60)
        .map(|i| format!("<http://e/s{i}> <http://e/p> {i} .\n"))
        .collect();
    database
        .load_text(&data, GraphFormat::Turtle)
        .expect("the data can be loaded");
    let state = AppState::new(Arc::new(database), ServerOptions::default(), None);
    let stars: String = (0..7)
        .map(|i| format!("?x{i} <http://e/p> ?y{i} . "))
        .collect();
    let text = format!("SELECT (COUNT(*) AS ?n) {{ {stars} FILTER(?y0 + ?y3 + ?y6 < 0) }}");
    let request = query_request(&text);
    let options = QueryOptions::default();
    let prepared = state.database.prepare(&text, &options).expect("a query");
    let shape = prepared.shape;
    // First it is known to be quick, then to be slow.
    state.pace.note(shape.hash, Duration::from_micros(1));
    for _ in 0..2 {
        let cancel = Arc::default();
        let start = Instant::now();
        let tried = try_in_place(&state, &request, &cancel);
        assert!(matches!(tried, InPlace::HandOver(Some(_))));
        // Far from the centuries that the query would take, also on a machine that does much else.
        assert!(start.elapsed() < Duration::from_secs(5));
        assert!(state.pace.of(shape.hash) > Some(Duration::from_micros(1)));
    }
}
