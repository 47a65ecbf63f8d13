//! Groups that are made through pairs: what leads to the keys by way of the counted rows only is joined with these, and the answers are those of plain groups.

mod estimate_errors;
mod sorted_rows;

use basalt_engine::{Database, QueryOptions};
use estimate_errors::bsbm;
use sorted_rows::sorted_rows;

/// Products in the data.
const PRODUCTS: u64 = 400;

const PREFIXES: &str = "PREFIX bsbm: <http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/vocabulary/>
PREFIX rev: <http://purl.org/stuff/rev#>
PREFIX c: <http://downlode.org/rdf/iso-3166/countries#>
PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>
";

/// Each with how often its plan has a group through pairs.
const QUERIES: [(&str, usize); 12] = [
    // Reviewers lead to types by way of reviews only.
    (
        "SELECT ?type (COUNT(?r) AS ?n) { ?p a ?type ; bsbm:producer ?m . ?r bsbm:reviewFor ?p ; rev:reviewer ?who . ?who bsbm:country c:US } GROUP BY ?type",
        1,
    ),
    // So do they and what they are compared with.
    (
        "SELECT ?f (AVG(?x) AS ?mean) (COUNT(?who) AS ?n) { ?p bsbm:productFeature ?f . ?r bsbm:reviewFor ?p ; bsbm:rating1 ?x ; rev:reviewer ?who .
         ?who bsbm:country ?c FILTER(?c != c:US) } GROUP BY ?f",
        1,
    ),
    // Producers lead to features by way of products, and are no part of what is averaged.
    (
        "SELECT ?f (AVG(?price) AS ?mean) { ?p bsbm:productFeature ?f ; bsbm:producer ?m . ?m bsbm:country c:US . ?o bsbm:product ?p ; bsbm:price ?price ;
         bsbm:vendor ?v . ?v bsbm:country c:US } GROUP BY ?f",
        1,
    ),
    // Two keys, one of which is the vendors'.
    (
        "SELECT ?f ?c (COUNT(?o) AS ?n) { ?p bsbm:productFeature ?f . ?o bsbm:product ?p ; bsbm:vendor ?v . ?v bsbm:country ?c } GROUP BY ?f ?c",
        0,
    ),
    // The key is read together with what is counted.
    (
        "SELECT ?d (COUNT(?o) AS ?n) { ?o bsbm:product ?p ; bsbm:deliveryDays ?d ; bsbm:vendor ?v . ?v bsbm:country c:US } GROUP BY ?d",
        0,
    ),
    // The countries of vendor and producer are the same, so vendors lead to products also without offers.
    (
        "SELECT ?f (COUNT(?o) AS ?n) { ?p bsbm:productFeature ?f ; bsbm:producer ?m . ?m bsbm:country ?c . ?o bsbm:product ?p ; bsbm:vendor ?v . ?v bsbm:country ?c } GROUP BY ?f",
        0,
    ),
    // A path leads to the keys, from its beginning or its end, with what is known of them.
    (
        "SELECT ?class (COUNT(*) AS ?n) (AVG(?x) AS ?mean) (MAX(?x) AS ?most) { ?p a ?type ; bsbm:productPropertyNumeric1 ?x . ?type rdfs:subClassOf* ?class } GROUP BY ?class",
        1,
    ),
    (
        "SELECT ?label ?class (SUM(?x) AS ?n) { ?p a ?type ; bsbm:productPropertyNumeric1 ?x . ?type rdfs:subClassOf* ?class . ?class rdfs:label ?label
         FILTER(?x > 1) FILTER(STRLEN(?label) > 2) } GROUP BY ?class ?label",
        1,
    ),
    (
        "SELECT ?class (COUNT(?r) AS ?n) { ?r bsbm:reviewFor ?p ; rev:reviewer ?who . ?p a ?type . ?class ^rdfs:subClassOf* ?type } GROUP BY ?class",
        1,
    ),
    // The key is where the path begins, which is what rows have.
    (
        "SELECT ?type (COUNT(*) AS ?n) { ?p a ?type ; bsbm:productPropertyNumeric1 ?x . ?type rdfs:subClassOf* ?class } GROUP BY ?type",
        1,
    ),
    // A condition on both, and what is counted beyond the path.
    (
        "SELECT ?class (COUNT(*) AS ?n) { ?p a ?type ; bsbm:productPropertyNumeric1 ?x . ?type rdfs:subClassOf* ?class FILTER(?type != ?class) } GROUP BY ?class",
        1,
    ),
    (
        "SELECT ?class (COUNT(?class) AS ?n) { ?p a ?type . ?type rdfs:subClassOf* ?class } GROUP BY ?class",
        0,
    ),
];

fn answer(database: &Database, text: &str, options: &QueryOptions) -> (Vec<String>, usize) {
    let text = format!("{PREFIXES}{text}");
    let prepared = database.prepare(&text, options).expect("it plans");
    let plan = prepared.explain().to_text();
    let rows = sorted_rows(&prepared, options);
    (rows, plan.matches("GroupThrough").count())
}

#[test]
fn groups_through_pairs_have_the_answers_of_plain_groups() {
    let database = bsbm(PRODUCTS);
    for (text, through) in QUERIES {
        let options = QueryOptions::default();
        let plain = QueryOptions {
            disabled_rules: vec!["group_through".into(), "count_first".into()],
            ..QueryOptions::default()
        };
        let seedless = QueryOptions {
            disabled_rules: vec!["seed_join".into()],
            ..QueryOptions::default()
        };
        let (rows, found) = answer(&database, text, &options);
        let (expected, _) = answer(&database, text, &plain);
        assert!(expected.len() > 3, "{text}");
        assert_eq!(rows, expected, "{text}");
        assert_eq!(answer(&database, text, &seedless).0, expected, "{text}");
        assert_eq!(found, through, "{text}");
    }
}
