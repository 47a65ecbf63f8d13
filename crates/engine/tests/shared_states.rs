//! Groups that take away what another group of the plan has are given its states: the same answers as without, and as without
//! groups that are aggregated before a join; and no states where groups differ.

mod support;

use basalt_engine::{Database, ExplainedNode, QueryOptions};
use basalt_testkit::bag::{self, Numbers};
use support::triples::{NS, Triples, iri, number};
use support::{Configuration, ask, plain_and_changed, query_options, read_rows};

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
    let domain = "{ SELECT DISTINCT ?f { ?any :feature ?f } }";
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
    queries
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

fn options(batch_rows: usize, threads: usize, rules_off: &[&str]) -> QueryOptions {
    let mut options = query_options(&Configuration::default());
    options.exec.batch_rows = batch_rows;
    options.exec.threads = threads;
    options.exec.alone_for = std::time::Duration::ZERO;
    options.disabled_rules = rules_off.iter().map(|&rule| rule.to_owned()).collect();
    options
}

#[test]
fn answers_are_those_without_shared_states() {
    for database in databases() {
        for query in shared().iter().chain(&unshared()) {
            let text = format!("PREFIX : <{NS}> {query}");
            let answer = |batch_rows, threads, rules_off: &[&str]| {
                let options = options(batch_rows, threads, rules_off);
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

/// How many groups of a plan share states.
fn sharing(node: &ExplainedNode) -> usize {
    let own = node.text.starts_with("GroupThrough") && node.text.contains(" shared 0");
    usize::from(own) + node.below().map(sharing).sum::<usize>()
}

#[test]
fn states_are_shared_where_groups_are_the_same() {
    let options = QueryOptions::default();
    for database in databases() {
        let count = |query: &String| {
            let text = format!("PREFIX : <{NS}> {query}");
            let prepared = database.prepare(&text, &options).expect("it plans");
            sharing(&prepared.explain().root)
        };
        for query in shared() {
            assert_eq!(count(&query), 2, "{query}");
        }
        for query in unshared() {
            assert_eq!(count(&query), 0, "{query}");
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
        let options = options(2048, 1, rules_off);
        let prepared = database.prepare(&text, &options).expect("it plans");
        read_rows(&prepared.profile(&options).expect("it runs").root)
    };
    let (once, twice) = (read(&[]), read(&["share_states"]));
    assert!(once < twice, "{once} of {twice} rows");
}
