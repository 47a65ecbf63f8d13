//! Groups over partners in range that are never paired: ranks, running totals, medians and last values before a time, compared with the
//! same without sets.

mod sorted_rows;
mod support;

use basalt_engine::{Database, QueryOptions};
use sorted_rows::sorted_rows;
use support::plain_and_changed;
use support::triples::{Triples, iri, number};

const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
const PREFIXES: &str =
    "PREFIX : <http://example.org/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> ";

/// Readings of some sensors: counts, prices, levels, names, times, some of which have no zone, and notes of some.
fn data() -> String {
    let mut triples = Triples::default();
    for n in 0..3_000 {
        let (subject, spread) = (format!("r{n}"), n * 7_919 % 1_009);
        let mut add = |predicate: &str, object: &str| triples.add(&subject, predicate, object);
        let typed = |text: String, datatype: &str| format!("\"{text}\"^^<{XSD}{datatype}>");
        add("of", &iri("s", n % 7));
        add("count", &number(spread, "integer"));
        let price = format!("{}.{:02}", spread / 3, spread % 100);
        add("price", &typed(price, "decimal"));
        let level = format!("{}.{}7e{}", spread % 10, n % 10_000, n % 4);
        add("level", &typed(level, "double"));
        add("name", &format!("\"reading number {}\"", spread % 600));
        let zone = match n % 7 {
            3 => ["", "Z", "+02:00"][n / 7 % 3],
            _ => "Z",
        };
        let day = 1 + n * 31 % 28;
        let at = format!("2020-01-{day:02}T{:02}:{:02}:00{zone}", n % 24, n % 60);
        add("at", &typed(at, "dateTime"));
        if n % 5 == 0 {
            add("note", &number(n % 40, "integer"));
        }
    }
    triples.0
}

/// Each with whether it is answered in sets.
const QUERIES: [(&str, bool); 25] = [
    // Ranks, within a sensor and among all.
    (
        "SELECT ?x (COUNT(*) AS ?n) { ?x :of ?s ; :count ?c . ?y :of ?s ; :count ?d FILTER(?d > ?c) } GROUP BY ?x",
        true,
    ),
    (
        "SELECT ?x (COUNT(?y) AS ?n) { ?x :count ?c . ?y :level ?d FILTER(?d <= ?c) } GROUP BY ?x",
        true,
    ),
    (
        "SELECT ?x ?c (COUNT(?y) AS ?n) { ?x :of ?s ; :count ?c OPTIONAL { ?y :of ?s ; :count ?d FILTER(?d > ?c) } } GROUP BY ?x ?c",
        true,
    ),
    (
        "SELECT ?x ?c (COUNT(*) AS ?n) (SUM(?d) AS ?t) { ?x :of ?s ; :count ?c OPTIONAL { ?y :of ?s ; :count ?d FILTER(?d > ?c) } } GROUP BY ?x ?c",
        true,
    ),
    // A median by counting.
    (
        "SELECT ?c (COUNT(*) AS ?n) { { SELECT DISTINCT ?c { ?x :count ?c } } ?y :count ?d FILTER(?d <= ?c) } GROUP BY ?c",
        true,
    ),
    // Running totals and means; of times with a zone and without one, too.
    (
        "SELECT ?x (SUM(?p) AS ?t) (AVG(?p) AS ?m) { ?x :of ?s ; :at ?a . ?y :of ?s ; :at ?b ; :price ?p FILTER(?b <= ?a) } GROUP BY ?x",
        true,
    ),
    (
        "SELECT ?a (SUM(?c) AS ?t) (COUNT(?c) AS ?n) { ?x :of :s1 ; :at ?a . ?y :of :s1 ; :at ?b ; :count ?c FILTER(?b <= ?a && ?b > ?a - \"P3D\"^^xsd:dayTimeDuration) } GROUP BY ?a",
        true,
    ),
    // The last before, and the first after.
    (
        "SELECT ?x (MAX(?b) AS ?last) { ?x :of ?s ; :at ?a ; :note ?k . ?y :of ?s ; :at ?b FILTER(?b < ?a) } GROUP BY ?x",
        true,
    ),
    (
        "SELECT ?x (MIN(?d) AS ?next) { ?x :of ?s ; :level ?c . ?y :of ?s ; :level ?d FILTER(?d > ?c) } GROUP BY ?x",
        true,
    ),
    (
        "SELECT ?x (MAX(?d) AS ?last) (COUNT(*) AS ?n) { ?x :of ?s ; :name ?c . ?y :of ?s ; :name ?d FILTER(?d < ?c) } GROUP BY ?x",
        true,
    ),
    // By the sensor, by what is computed, and of all.
    (
        "SELECT ?s (COUNT(*) AS ?n) (SAMPLE(?k) AS ?one) { ?x :of ?s ; :count ?c ; :of ?k . ?y :of ?s ; :count ?d FILTER(?d < ?c) } GROUP BY ?s",
        true,
    ),
    (
        "SELECT ?h (SUM(?d) AS ?n) { ?x :of ?s ; :at ?a ; :count ?c . ?y :of ?s ; :count ?d FILTER(?d < ?c) } GROUP BY (HOURS(?a) AS ?h)",
        true,
    ),
    (
        "SELECT (COUNT(*) AS ?n) (MAX(?d) AS ?m) (SUM(?d) AS ?t) { ?x :count ?c . ?y :note ?d FILTER(?d < ?c) }",
        true,
    ),
    // Sums of doubles are of pairs.
    (
        "SELECT ?x (COUNT(*) AS ?n) (MAX(?d) AS ?m) { ?x :of ?s ; :note ?c . ?y :of ?s ; :note ?d FILTER(?d < ?c) } GROUP BY ?x HAVING(COUNT(*) > 5)",
        true,
    ),
    // Running and moving extremes of what is not compared; of texts, words do not tell the order.
    (
        "SELECT ?x (MAX(?p) AS ?high) (MIN(?p) AS ?low) { ?x :of ?s ; :at ?a . ?y :of ?s ; :at ?b ; :price ?p FILTER(?b < ?a) } GROUP BY ?x",
        true,
    ),
    (
        "SELECT ?a (MAX(?l) AS ?high) (MIN(?c) AS ?low) (SUM(?c) AS ?t) { ?x :of :s1 ; :at ?a . ?y :of :s1 ; :at ?b ; :level ?l ; :count ?c FILTER(?b <= ?a && ?b > ?a - \"P3D\"^^xsd:dayTimeDuration) } GROUP BY ?a",
        true,
    ),
    (
        "SELECT ?x ?c (MIN(?b) AS ?first) (MAX(?d) AS ?most) { ?x :of ?s ; :count ?c OPTIONAL { ?y :of ?s ; :count ?d ; :at ?b FILTER(?d > ?c) } } GROUP BY ?x ?c",
        true,
    ),
    (
        "SELECT ?x (MAX(?n) AS ?last) { ?x :of ?s ; :count ?c ; :note ?k . ?y :of ?s ; :count ?d ; :name ?n FILTER(?d < ?c) } GROUP BY ?x",
        true,
    ),
    // Ends of runs: an EXISTS asks of one side.
    (
        "SELECT ?x (MIN(?d) AS ?end) { ?x :of ?s ; :count ?c . ?y :of ?s ; :count ?d FILTER(?d >= ?c) FILTER NOT EXISTS { ?z :of ?s ; :count ?e FILTER(?e = ?d + 1) } } GROUP BY ?x",
        true,
    ),
    (
        "SELECT ?x (MAX(?d) AS ?last) (COUNT(*) AS ?n) { ?x :of ?s ; :count ?c FILTER EXISTS { ?x :note ?k } ?y :of ?s ; :count ?d FILTER(?d < ?c) FILTER NOT EXISTS { ?y :note ?l } } GROUP BY ?x",
        true,
    ),
    (
        "SELECT ?x (MIN(?d) AS ?end) { ?x :of ?s ; :count ?c . ?y :of ?s ; :count ?d FILTER(?d >= ?c) FILTER NOT EXISTS { ?z :of ?s ; :count ?e FILTER(?e > ?c && ?e < ?d) } } GROUP BY ?x",
        false,
    ),
    // What is no range alone, or asks for more than sets tell.
    (
        "SELECT ?x (COUNT(*) AS ?n) { ?x :of ?s ; :count ?c . ?y :of ?s ; :count ?d FILTER(?d > ?c) FILTER(RAND() < 2) } GROUP BY ?x",
        false,
    ),
    (
        "SELECT ?x (COUNT(*) AS ?n) { ?x :of ?s ; :count ?c . ?y :of ?s ; :count ?d FILTER(?d > ?c) FILTER(?x != ?y) } GROUP BY ?x",
        false,
    ),
    (
        "SELECT ?x (COUNT(DISTINCT ?d) AS ?n) { ?x :of ?s ; :note ?c . ?y :of ?s ; :note ?d FILTER(?d > ?c) } GROUP BY ?x",
        false,
    ),
    (
        "SELECT ?x (SUM(?c) AS ?n) { ?x :of ?s ; :note ?c . ?y :of ?s ; :note ?d FILTER(?d > ?c) } GROUP BY ?x",
        false,
    ),
];

fn answer(database: &Database, text: &str, options: &QueryOptions) -> (Vec<String>, bool) {
    let text = format!("{PREFIXES}{text}");
    let prepared = database.prepare(&text, options).expect("it plans");
    let plan = prepared.explain().to_text();
    (
        sorted_rows(&prepared, options),
        plan.contains(" in sets of "),
    )
}

#[test]
fn sets_have_the_answers_of_pairs() {
    let update = format!(
        "{PREFIXES}DELETE {{ ?r :count ?c }} INSERT {{ ?r :count ?d }} WHERE {{ ?r :note ?k ; :count ?c BIND(?c + ?k AS ?d) }}"
    );
    let databases = plain_and_changed(&data(), &update);
    let pairs = QueryOptions {
        disabled_rules: vec!["partner_sets".into()],
        ..QueryOptions::default()
    };
    for database in databases {
        for (text, in_sets) in QUERIES {
            let (expected, _) = answer(&database, text, &pairs);
            let (rows, found) = answer(&database, text, &QueryOptions::default());
            assert!(!expected.is_empty(), "{text}");
            assert_eq!(rows, expected, "{text}");
            assert_eq!(found, in_sets, "{text}");
        }
    }
}
