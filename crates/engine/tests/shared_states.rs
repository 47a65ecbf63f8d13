//! Groups that take away what another group of the plan has are given its states: the same answers as without, and as without
//! groups that are aggregated before a join; and no states where groups differ.

mod support;

use basalt_engine::{Database, ExplainedNode, QueryOptions};
use basalt_testkit::bag::{self, Numbers};
use support::triples::{NS, Triples, iri, number};
use support::{ask, options_without, plain_and_changed, read_rows};

const OFFERS: usize = 700;
const PRODUCTS: usize = 60;

/// The prices of products with a feature, in the ways in which queries write it.
const WITH: &[&str] = &[
    "SELECT ?f (AVG(?x) AS ?with) { ?p :type :T1 ; :feature ?f . ?o :of ?p ; :price ?x } GROUP BY ?f",
    "SELECT ?f (AVG(?y) AS ?with) { ?offer :price ?y ; :of ?q . ?q :feature ?f ; :type :T1 } GROUP BY ?f",
];

/// And of those without it.
const WITHOUT: &str = "SELECT ?f (AVG(?z) AS ?without) {
    { SELECT DISTINCT ?f { ?any :type :T1 ; :feature ?f } }
    ?r :type :T1 . ?s :of ?r ; :price ?z FILTER NOT EXISTS { ?r :feature ?f } } GROUP BY ?f";

/// Features of whatever has some.
const DOMAIN_OF_ALL: &str = "{ SELECT DISTINCT ?f { ?any :feature ?f } }";

/// Queries in which states are shared.
fn shared() -> Vec<String> {
    let mut queries: Vec<String> = WITH
        .iter()
        .flat_map(|with| {
            [
                format!("SELECT * {{ {{ {with} }} {{ {WITHOUT} }} }}"),
                format!("SELECT * {{ {{ {WITHOUT} }} {{ {with} }} }}"),
                format!("SELECT * {{ {{ {WITHOUT} }} UNION {{ {with} }} }}"),
                format!("SELECT ?f ?with {{ {{ {with} }} OPTIONAL {{ {{ {WITHOUT} }} FILTER(?without > ?with) }} }}"),
            ]
        })
        .collect();
    // Several aggregates, of which not all are read, with a condition on each side.
    let aggregates = "(COUNT(*) AS ?n) (SUM(?x) AS ?m) (COUNT(?x) AS ?k)";
    let rows = "?o :of ?p ; :price ?x ; :days ?d . ?p :type :T1 FILTER(?d < 6)";
    let with = format!(
        "SELECT ?f {aggregates} {{ {rows} . ?p :feature ?f FILTER(?f != :F3) }} GROUP BY ?f"
    );
    let domain = DOMAIN_OF_ALL;
    let without = format!(
        "SELECT ?f {aggregates} {{ {domain} {rows} FILTER NOT EXISTS {{ ?p :feature ?f FILTER(?f != :F3) }} }} GROUP BY ?f"
    );
    let without = without
        .replace("?n)", "?n2)")
        .replace("?m)", "?m2)")
        .replace("?k)", "?k2)");
    queries.push(format!(
        "SELECT ?f ?n ?m2 {{ {{ {with} }} {{ {without} }} }}"
    ));
    queries.push(format!("SELECT * {{ {{ {without} }} {{ {with} }} }}"));
    // Nothing but what is aggregated and the partners; a partner of several patterns; two values shared with the partners.
    let of_all = of_other(&[
        ("?p :type :T1 ; :feature", "?p :feature"),
        ("?r :type :T1 . ", ""),
    ]);
    let of_made = of_other(&[
        (":feature ?f . ?o", ":feature ?f ; :made :M0 . ?o"),
        ("?r :feature ?f }", "?r :feature ?f ; :made :M0 }"),
    ]);
    let of_days = of_other(&[
        (":price ?x", ":price ?x ; :days ?d . ?p :size ?d"),
        (":price ?z", ":price ?z ; :days ?e"),
        ("?r :feature ?f }", "?r :feature ?f ; :size ?e }"),
    ]);
    queries.extend([of_all, of_made, of_days]);
    queries
}

/// The prices with and without a feature, with some text in both exchanged.
fn of_other(exchanged: &[(&str, &str)]) -> String {
    let both = format!("SELECT * {{ {{ {} }} {{ {WITHOUT} }} }}", WITH[0]);
    exchanged.iter().fold(both, |query, (from, to)| {
        assert!(query.contains(from), "{from}");
        query.replace(from, to)
    })
}

/// Queries in which groups differ: by a constant, an aggregate, a condition, what partners tell.
fn unshared() -> Vec<String> {
    let others = [
        WITHOUT.replace(":T1", ":T2"),
        WITHOUT.replace("AVG", "SUM"),
        WITHOUT.replace("?s :of", "?s :days 3 ; :of"),
        WITHOUT.replace("?r :feature ?f }", "?r :feature ?f ; :like ?any }"),
        WITHOUT.replace("?r :feature ?f }", "?r :feature ?f FILTER(?f != :F2) }"),
    ];
    let both = others
        .iter()
        .map(|without| format!("SELECT * {{ {{ {} }} {{ {without} }} }}", WITH[0]));
    both.chain([WITHOUT.to_owned(), WITH[0].to_owned()])
        .collect()
}

fn shop() -> String {
    let mut triples = Triples::default();
    for p in 0..PRODUCTS {
        let name = format!("p{p}");
        for of_type in 0..=p % 3 {
            triples.add(&name, "type", &iri("T", of_type));
        }
        for f in 0..p % 9 {
            triples.add(&name, "feature", &iri("F", (p * 7 + f * 3) % 11));
        }
        triples.add(&name, "like", &iri("p", (p * p + 1) % PRODUCTS));
        triples.add(&name, "like", &iri("p", (p + 5) % PRODUCTS));
        triples.add(&name, "made", &iri("M", p % 10 / 9));
        triples.add(&name, "size", &number(p % 7, "integer"));
    }
    // Without an offer, as its feature is.
    for (predicate, object) in [("type", "T1"), ("feature", "F50"), ("feature", "F2")] {
        triples.add("unsold", predicate, &format!("<{NS}{object}>"));
    }
    for o in 0..OFFERS {
        let name = format!("o{o}");
        triples.add(&name, "of", &iri("p", (o * o + o / 7) % PRODUCTS));
        let datatype = ["integer", "decimal", "double"][o % 3];
        triples.add(&name, "price", &number(o * 31 % 997, datatype));
        if o.is_multiple_of(50) {
            triples.add(&name, "price", &number(o, "double"));
        }
        triples.add(&name, "days", &number(o % 9, "integer"));
    }
    triples.0
}

/// Offers of two products, products and features that come and go; a price that cannot be added.
const CHANGES: &str = r#"PREFIX : <http://example.org/>
    DELETE DATA { :p2 :feature :F3 . :o5 :price 155 . :p7 :type :T1 } ;
    INSERT DATA { :o9 :of :p4 . :p100 :type :T1 ; :feature :F1 , :F20 . :o1000 :of :p100 , :p4 ; :price 12 ; :days 1 .
        :o1001 :of :p100 ; :price "cheap" ; :days 2 }"#;

fn databases() -> [Database; 2] {
    plain_and_changed(&shop(), CHANGES)
}

#[test]
fn answers_are_those_without_shared_states() {
    for database in databases() {
        for query in shared().iter().chain(&unshared()) {
            let text = format!("PREFIX : <{NS}> {query}");
            let answer = |batch_rows, threads, rules_off: &[&str]| {
                let options = options_without(batch_rows, threads, rules_off);
                ask(&database, &text, &options).expect("the query runs")
            };
            let joined = answer(2048, 1, &["group_through"]);
            for (batch_rows, threads) in [(2048, 1), (2048, 2), (7, 2), (1, 1)] {
                for rules_off in [&[][..], &["share_states"], &["prune_columns"]] {
                    let other = answer(batch_rows, threads, rules_off);
                    if let Err(difference) = bag::compare(&joined, &other, Numbers::ByValue) {
                        assert_eq!(
                            difference.to_string(),
                            "",
                            "{query} {batch_rows} {rules_off:?}"
                        );
                    }
                }
            }
        }
    }
}

/// How many groups of a plan share states in this way.
fn sharing(node: &ExplainedNode, way: &str) -> usize {
    let own = node.text.starts_with("GroupThrough") && node.text.contains(way);
    let below = node.below().map(|below| sharing(below, way));
    usize::from(own) + below.sum::<usize>()
}

#[test]
fn states_are_shared_where_groups_are_the_same() {
    let options = QueryOptions::default();
    for database in databases() {
        let count = |query: &String, way: &str| {
            let text = format!("PREFIX : <{NS}> {query}");
            let prepared = database.prepare(&text, &options).expect("it plans");
            sharing(&prepared.explain().root, way)
        };
        for query in shared() {
            assert_eq!(count(&query, " shared 0"), 2, "{query}");
        }
        for query in unshared() {
            assert_eq!(count(&query, " shared 0"), 0, "{query}");
        }
        let ways = [
            (":type :T1", "with its parts and keys:", 1),
            (DOMAIN_OF_ALL, "with its parts:", 1),
            ("    ?s :of", "with its parts", 1),
            // Not all rows are of a product that is told by the same.
            (":made", "parts", 0),
            (":size", "parts", 0),
        ];
        for (part, way, groups) in ways {
            let query = shared().into_iter().find(|query| query.contains(part));
            let query = query.expect("there is one");
            assert_eq!(count(&query, way), groups, "{query}");
        }
    }
}

/// What groups share is made by one of them.
#[test]
fn shared_states_are_made_once() {
    let [database, _] = databases();
    let query = &shared()[0];
    let text = format!("PREFIX : <{NS}> {query}");
    let read = |rules_off: &[&str]| {
        let options = options_without(2048, 1, rules_off);
        let prepared = database.prepare(&text, &options).expect("it plans");
        read_rows(&prepared.profile(&options).expect("it runs").root)
    };
    let (once, twice) = (read(&[]), read(&["share_states"]));
    assert!(once < twice, "{once} of {twice} rows");
}
