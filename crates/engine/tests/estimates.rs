//! Row estimates stay near what comes out: the queries of the benchmark and generated ones over its data.
//!
//! `cargo xtask bench estimates` measures the same over more data and says more. The bounds here are loose, because
//! the data is small: they are to find out when estimates rot.

mod estimate_errors;

use basalt_engine::query::Prepared;
use basalt_engine::{Database, GraphFormat, QueryOptions};
use estimate_errors::{Estimates, Summary, bsbm, bsbm_queries, walked_queries};
use std::fmt::Write;

/// Products in the data.
const PRODUCTS: u64 = 100;

/// Asks the queries and holds the errors against bounds; most queries must have answers.
fn check(name: &str, database: &basalt_engine::Database, queries: &[String]) {
    let mut estimates = Estimates::default();
    for text in queries {
        estimates.ask(database, text);
    }
    let Some(Summary {
        count, median, p95, ..
    }) = estimates.summary()
    else {
        unreachable!("every query has a scan");
    };
    let worst: Vec<String> = estimates
        .worst(5)
        .into_iter()
        .map(|(e, text)| format!("{:.1}: {} of {}\n{text}", e.error(), e.line, e.actual))
        .collect();
    let worst = worst.join("\n");
    assert!(count >= queries.len(), "{name}: {count} estimates");
    // A walk may go through something that very many share; how soon its answer is there is the machine's.
    assert!(estimates.left_out * 20 <= queries.len(), "{name}");
    assert!(estimates.without_rows * 2 < queries.len(), "{name}");
    assert!(median <= 2.0, "{name}: the median is {median}\n{worst}");
    assert!(p95 <= 20.0, "{name}: the 95th percentile is {p95}\n{worst}");
}

#[test]
fn estimates_are_near_on_the_benchmark() {
    let database = bsbm(PRODUCTS);
    check("benchmark", &database, &bsbm_queries(PRODUCTS, 4));
    check("walks", &database, &walked_queries(&database, 0..100));
}

#[test]
fn plans_after_others_are_those_of_planning_alone() {
    let database = bsbm(PRODUCTS);
    let mut queries = bsbm_queries(PRODUCTS, 4);
    queries.extend(walked_queries(&database, 0..100));
    // Joins may be ordered as those of other constants were, or whole plans taken.
    let options = QueryOptions {
        disabled_rules: vec!["known_orders".into(), "known_plans".into()],
        ..QueryOptions::default()
    };
    // The second time everything that is kept about stars is there.
    for _ in 0..2 {
        for text in &queries {
            let after = database.prepare(text, &options).expect("a query");
            let alone = Prepared::new(database.snapshot(), text, &options).expect("a query");
            // Names that the parser makes up differ, and are no part of what is explained.
            assert_eq!(explained(&after), explained(&alone), "{text}");
        }
    }
}

fn explained(prepared: &Prepared) -> String {
    format!("{:?}", prepared.explain().root)
}

/// Writes a triple: names of subject and predicate, and the object as it stands in a line.
fn write_triple(text: &mut String, subject: &str, predicate: &str, object: &str) {
    let line = writeln!(
        text,
        "<http://e/{subject}> <http://e/{predicate}> {object} ."
    );
    line.expect("text takes lines");
}

/// People who went to schools: seven of ten to one of eight universities, the others to one of 400 schools. Schools have one of six
/// types, and types have labels. A friend mostly went to a university, too. Every fifth person is a member of a club in quads that are in no
/// table's cells, of ten the most in the first.
fn schools() -> String {
    let mut text = String::new();
    let mut triple = |subject: &str, predicate: &str, object: &str| {
        write_triple(&mut text, subject, predicate, object);
    };
    for person in 0..2_000 {
        let subject = format!("person{person}");
        let school = match person % 10 {
            0..7 => person / 10 % 8,
            _ => 8 + person * 7 % 400,
        };
        let friend = match person % 4 {
            0 => person * 37 % 2_000,
            _ => person / 90 * 10,
        };
        triple(&subject, "name", &format!("\"person {person}\""));
        triple(&subject, "school", &format!("<http://e/school{school}>"));
        triple(&subject, "friend", &format!("<http://e/person{friend}>"));
        if person % 5 == 0 {
            let club = if person % 50 == 0 { 1 + person % 9 } else { 0 };
            triple(
                &format!("ticket{person}"),
                &format!("odd{}", person % 400),
                &format!("<http://e/{subject}>"),
            );
            triple(
                &format!("ticket{person}"),
                "club",
                &format!("<http://e/club{club}>"),
            );
        }
    }
    for school in 0..408 {
        let subject = format!("school{school}");
        let kind = if school < 8 { 0 } else { 1 + school % 5 };
        triple(&subject, "type", &format!("<http://e/type{kind}>"));
        triple(&subject, "city", &format!("<http://e/city{}>", school % 30));
    }
    for kind in 0..6 {
        let label = ["university", "music", "dance", "trade", "law", "art"][kind];
        triple(&format!("type{kind}"), "label", &format!("\"{label}\""));
    }
    text
}

/// Asks for these patterns; each estimate must be within twice of what comes out, and something must.
fn check_each(triples: &str, patterns: &[&str]) {
    let database = Database::in_memory();
    database
        .load_text(triples, GraphFormat::NTriples)
        .expect("the data loads");
    for pattern in patterns {
        let mut estimates = Estimates::default();
        let text = format!("PREFIX : <http://e/> SELECT * {{ {pattern} }}");
        estimates.ask(&database, &text);
        assert_eq!(
            (estimates.left_out, estimates.without_rows),
            (0, 0),
            "{text}"
        );
        for estimate in &estimates.all {
            let (error, actual) = (estimate.error(), estimate.actual);
            let (expected, line) = (estimate.estimated, &estimate.line);
            assert!(
                error <= 2.0,
                "{text}\n{error:.1}: {expected:.1} of {actual}, {line}"
            );
        }
    }
}

#[test]
fn joins_over_what_is_popular_are_near() {
    let patterns = [
        "?x :school ?s . ?s :type ?t . ?t :label \"university\"",
        "?x :school ?s . ?s :type ?t . ?t :label \"dance\"",
        "?x :school ?s ; :name ?n . ?s :type ?t ; :city ?c . ?t :label \"university\"",
        "?x :friend ?y . ?y :school ?s . ?s :type ?t . ?t :label \"university\"",
        "?x :school ?s . ?y :school ?s . ?s :city ?c",
        "?x :friend ?y . ?z :friend ?y . ?y :school ?s . ?s :type :type0",
        "?k :club ?c ; :odd0 ?x . ?x :school ?s . ?s :type :type0",
        "?x :friend ?y . ?k :odd0 ?y . ?k :club ?c",
    ];
    check_each(&schools(), &patterns);
}

/// Documents that are their own version, but for every fourth; some parts of each, one of which is the document; and few that have one odd
/// predicate each and are their own source.
fn versions() -> String {
    let mut text = String::new();
    let mut triple = |subject: &str, predicate: &str, object: &str| {
        write_triple(
            &mut text,
            subject,
            predicate,
            &format!("<http://e/{object}>"),
        );
    };
    for document in 0..1_000 {
        let subject = format!("document{document}");
        let version = match document % 4 {
            0 => document + 1,
            _ => document,
        };
        triple(&subject, "version", &format!("document{version}"));
        triple(&subject, "author", &format!("person{}", document % 30));
        for part in 0..3 {
            triple(&subject, "part", &format!("document{}", document + part));
        }
        if document % 50 == 0 {
            let odd = format!("odd{document}");
            triple(&odd, &odd, &subject);
            triple(&odd, "source", &odd);
        }
    }
    text
}

#[test]
fn what_points_at_itself_is_counted() {
    let patterns = [
        "?x :version ?x",
        "?x :part ?x",
        "?x :version ?x ; :author ?a",
        "?x :version ?x ; :part ?x",
        "?x :source ?x",
    ];
    check_each(&versions(), &patterns);
}

#[test]
fn errors_are_summed_up_rightly() {
    let summary = Summary::of((1..=100).rev().map(f64::from).collect());
    let expected = Summary {
        count: 100,
        median: 51.0,
        p90: 90.0,
        p95: 95.0,
        max: 100.0,
    };
    assert_eq!(summary, Some(expected));
    assert_eq!(Summary::of(Vec::new()), None);
    let database = bsbm(5);
    let mut estimates = Estimates::default();
    estimates.ask(
        &database,
        "SELECT * { ?s a ?t . ?s ?p ?o FILTER(?t = ?nothing) }",
    );
    estimates.ask(&database, "no query");
    assert_eq!((estimates.without_rows, estimates.left_out), (1, 1));
    assert!(!estimates.by_operator().is_empty());
}
