//! Of partners in a range those at its end are joined alone where a NOT EXISTS drops the others, and the answers are those of joining all: over numbers, times of one
//! zone, and values of which no words tell the order.

mod support;

use std::fmt::Write as _;
use support::triples::{NS, Triples, iri, number};
use support::{plain_and_changed, plan_without, same_without};

const KEYS: usize = 12;
const ROWS: usize = 30;

/// Events of some keys with a number, a time, and a value that is one of many kinds; some are alike.
fn events() -> String {
    let mut triples = Triples::default();
    for key in 0..KEYS {
        for row in 0..ROWS {
            let at = (row * 7 + key * 3) % 19;
            for (class, shift) in [("a", 0), ("b", key % 3)] {
                let name = format!("{class}{key}_{row}");
                let at = at + shift;
                triples.add(&name, &format!("{class}Key"), &iri("k", key));
                triples.add(&name, &format!("{class}Size"), &number(at, "integer"));
                triples.add(
                    &name,
                    &format!("{class}Time"),
                    &time(at, row % 2 == 0 && key % 2 == 0),
                );
                triples.add(&name, &format!("{class}Value"), &value(at, row + key));
            }
            triples.add(&format!("b{key}_{row}"), "bPlace", &iri("p", row % 5));
            if row % 4 != 1 {
                triples.add(&format!("b{key}_{row}"), "bTold", &number(row, "integer"));
            }
        }
    }
    for place in 0..5 {
        triples.add(&format!("p{place}"), "pName", &number(place % 3, "integer"));
    }
    triples.0
}

/// A time, in two writings of the same zone.
fn time(hour: usize, is_written_otherwise: bool) -> String {
    let zone = if is_written_otherwise { "+00:00" } else { "Z" };
    format!("\"2024-05-01T{hour:02}:30:00{zone}\"^^<http://www.w3.org/2001/XMLSchema#dateTime>")
}

fn value(n: usize, kind: usize) -> String {
    const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
    match kind % 7 {
        0 | 1 => number(n, "integer"),
        2 => number(n, "double"),
        3 => format!("\"{n}.5\"^^<{XSD}decimal>"),
        4 => format!("\"2024-05-01T{n:02}:00:00\"^^<{XSD}dateTime>"),
        5 => format!("\"2024-05-01T{n:02}:00:00Z\"^^<{XSD}dateTime>"),
        _ => format!("\"{n}\""),
    }
}

const SECONDS: &str = "^^<http://www.w3.org/2001/XMLSchema#dayTimeDuration>";

const CHANGES: &str = r"PREFIX : <http://example.org/>
    DELETE DATA { :a1_3 :aSize 5 . :b2_2 :bKey :k2 } ;
    INSERT DATA { :b99 :bKey :k0 , :k1 ; :bSize 3.5 ; :bTime '2024-05-01T05:30:00+01:00'^^<http://www.w3.org/2001/XMLSchema#dateTime> ; :bValue 4.25 .
        :a99 :aKey :k0 ; :aSize 1e1 ; :aTime '2024-05-01T05:30:00'^^<http://www.w3.org/2001/XMLSchema#dateTime> ; :aValue 4 }";

/// What is asked of each pair, and which end is joined alone; `VALUE` is one of the three.
const QUESTIONS: &[(&str, Option<&str>)] = &[
    (
        "?x :aKey ?k ; :aVALUE ?v . ?y :bKey ?k ; :bVALUE ?w FILTER(?w <= ?v)
            FILTER NOT EXISTS { ?z :bKey ?k ; :bVALUE ?u FILTER(?u > ?w && ?u <= ?v) }",
        Some("greatest ?w alone"),
    ),
    (
        "?x :aKey ?k ; :aVALUE ?v . ?y :bKey ?k ; :bVALUE ?w FILTER(?v < ?w)
            FILTER NOT EXISTS { ?z :bKey ?k ; :bVALUE ?u FILTER(?u < ?w && ?u > ?v) }",
        Some("least ?w alone"),
    ),
    (
        "?x :bKey ?k ; :bVALUE ?v . ?y :bKey ?k ; :bVALUE ?w ; :bTold ?t FILTER(?w > ?v && ?x != ?y)
            FILTER NOT EXISTS { ?z :bVALUE ?u ; :bKey ?k FILTER(?u > ?v && ?w > ?u) }",
        Some("least ?w alone"),
    ),
    (
        "?x :aKey ?k ; :aVALUE ?v . ?y :bKey ?k ; :bVALUE ?w FILTER(?w <= ?v)
            FILTER NOT EXISTS { ?z :bKey ?k ; :bVALUE ?u FILTER(?u < ?w && ?u <= ?v) }",
        Some("least ?w alone"),
    ),
    // What is further is so whatever its key.
    (
        "?x :aKey ?k ; :aVALUE ?v . ?y :bKey ?k ; :bVALUE ?w FILTER(?w <= ?v)
            FILTER NOT EXISTS { ?z :bKey ?l ; :bVALUE ?u FILTER(?u > ?w && ?u <= ?v) }",
        Some("greatest ?w alone"),
    ),
    // The condition says more than that one is less than the other.
    (
        "?x :aKey ?k ; :aVALUE ?v . ?y :bKey ?k ; :bVALUE ?w FILTER(?w - ?v > DISTANCE)
            FILTER NOT EXISTS { ?z :bKey ?k ; :bVALUE ?u FILTER(?u > ?v && ?u < ?w) }",
        Some("least ?w alone"),
    ),
    (
        "?x :aKey ?k ; :aVALUE ?v . ?y :bKey ?k ; :bVALUE ?w FILTER(DISTANCE <= ?v - ?w)
            FILTER NOT EXISTS { ?z :bKey ?k ; :bVALUE ?u FILTER(?u <= ?v && ?u > ?w) }",
        Some("greatest ?w alone"),
    ),
    (
        "?x :aKey ?k ; :aVALUE ?v . ?y :bKey ?k ; :bVALUE ?w FILTER(?v + DISTANCE < ?w)
            FILTER NOT EXISTS { ?z :bKey ?k ; :bVALUE ?u FILTER(?u > ?v && ?u < ?w) }",
        Some("least ?w alone"),
    ),
    (
        "?x :aKey ?k ; :aVALUE ?v . ?y :bKey ?k ; :bVALUE ?w FILTER(?v - DISTANCE > ?w)
            FILTER NOT EXISTS { ?z :bKey ?k ; :bVALUE ?u FILTER(?u < ?v && ?u > ?w) }",
        Some("greatest ?w alone"),
    ),
    (
        "?x :aKey ?k ; :aVALUE ?v . ?y :bKey ?k ; :bVALUE ?w FILTER(?w - ?v > -DISTANCE)
            FILTER NOT EXISTS { ?z :bKey ?k ; :bVALUE ?u FILTER(?u > ?v && ?u < ?w) }",
        None,
    ),
    // Constants without ids, which a plan of the same query may get in place of each other.
    (
        "?x :aKey ?k ; :aVALUE ?v . ?y :bKey ?k ; :bVALUE ?w FILTER(?w - ?v > 1.00000000000000000000000001)
            FILTER NOT EXISTS { ?z :bKey ?k ; :bVALUE ?u FILTER(?u > ?v && ?u < ?w) }",
        Some("least ?w alone"),
    ),
    (
        "?x :aKey ?k ; :aVALUE ?v . ?y :bKey ?k ; :bVALUE ?w FILTER(?w - ?v > -1.00000000000000000000000001)
            FILTER NOT EXISTS { ?z :bKey ?k ; :bVALUE ?u FILTER(?u > ?v && ?u < ?w) }",
        None,
    ),
    // More than the star of the range is built.
    (
        "?x :aKey ?k ; :aVALUE ?v . ?y :bKey ?k ; :bVALUE ?w ; :bPlace/:pName ?n FILTER(?w <= ?v)
            FILTER NOT EXISTS { ?z :bKey ?k ; :bVALUE ?u FILTER(?u > ?w && ?u <= ?v) }",
        Some("greatest ?w alone"),
    ),
    // Others than those that are in range may be what is further.
    (
        "?x :aKey ?k ; :aVALUE ?v . ?y :bKey ?k ; :bVALUE ?w FILTER(?w <= ?v)
            FILTER NOT EXISTS { ?z :bKey ?k ; :bVALUE ?u FILTER(?u > ?w && ?u < ?v) }",
        None,
    ),
    // Nothing may be further that lacks what is told.
    (
        "?x :aKey ?k ; :aVALUE ?v . ?y :bKey ?k ; :bVALUE ?w FILTER(?w <= ?v)
            FILTER NOT EXISTS { ?z :bKey ?k ; :bVALUE ?u ; :bTold ?t FILTER(?u > ?w && ?u <= ?v) }",
        None,
    ),
    (
        "?x :aKey ?k ; :aVALUE ?v . ?y :bKey ?k ; :bVALUE ?w FILTER(?w <= ?v)
            FILTER NOT EXISTS { ?z :bKey ?k ; :bVALUE ?u FILTER(?u > ?w && ?u <= ?v && ?z != ?x) }",
        None,
    ),
];

#[test]
fn partners_at_the_end_of_a_range_are_enough() {
    for database in plain_and_changed(&events(), CHANGES) {
        for (pattern, end) in QUESTIONS {
            for value in ["Size", "Time", "Value"] {
                let (distance, opposite) = match value {
                    "Time" => (format!("'PT2H'{SECONDS}"), format!("'-PT2H'{SECONDS}")),
                    _ => ("3".to_owned(), "-3".to_owned()),
                };
                let pattern = pattern.replace("-DISTANCE", &opposite);
                let pattern = pattern.replace("DISTANCE", &distance);
                let pattern = pattern.replace("VALUE", value);
                let mut text = format!("PREFIX : <{NS}> SELECT * {{ ");
                write!(text, "{pattern} }}").expect("text takes all");
                let ways = [(2048, 1), (64, 2), (7, 2)];
                same_without("nearest_partners", &database, &text, &ways);
                let plan = plan_without(&[], &database, &text);
                match end {
                    Some(end) => assert!(plan.contains(end), "{text}\n{plan}"),
                    None => assert!(!plan.contains(" alone"), "{text}\n{plan}"),
                }
            }
        }
    }
}
