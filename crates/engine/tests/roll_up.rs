//! Groups that are made from the states of a finer group: the same answers as when each reads its rows, and no states where rows differ.

mod support;

use basalt_engine::{Database, ExplainedNode, QueryOptions};
use basalt_testkit::bag::{self, Numbers};
use basalt_testkit::split_mix::SplitMix;
use support::triples::{NS, Triples, iri, number};
use support::{ask, options_without, plain_and_changed, read_rows};

const SALES: usize = 2500;
const PRODUCTS: usize = 40;

/// Rows of sales: what they say, the keys, and what is aggregated.
const ROWS: &[(&str, &[&str], &[&str])] = &[
    (
        "?s :of ?p ; :price ?x ; :year ?y . ?p :type ?t",
        &["?t", "?y", "?p"],
        &["?x", "(?x * 2)", "?y"],
    ),
    (
        "?s :of ?p ; :price ?x ; :year ?y OPTIONAL { ?p :made ?m } FILTER(?y > 1)",
        &["?m", "?y", "?p"],
        &["?x", "?m"],
    ),
    (
        "{ ?s :price ?x ; :year ?y } UNION { ?s :price ?x ; :of/:made ?m } BIND(STR(?m) AS ?n)",
        &["?y", "?m", "?n"],
        &["?x", "?y", "STRLEN(?n)"],
    ),
];

fn shop() -> String {
    let mut triples = Triples::default();
    for p in 0..PRODUCTS {
        let name = format!("p{p}");
        for of_type in 0..=p % 3 {
            triples.add(&name, "type", &iri("T", of_type));
        }
        if !p.is_multiple_of(4) {
            triples.add(&name, "made", &iri("M", p % 7));
        }
    }
    for s in 0..SALES {
        let name = format!("s{s}");
        triples.add(&name, "of", &iri("p", (s * s + s / 7) % PRODUCTS));
        let datatype = ["integer", "decimal", "double"][s % 3];
        // Terms of equal value are the same: MIN and MAX give any of them.
        triples.add(&name, "price", &number(s * 31 % 997 * 3 + s % 3, datatype));
        triples.add(&name, "year", &number(s % 5, "integer"));
    }
    triples.0
}

/// Sales of two products, of two years, and one whose price cannot be added.
const CHANGES: &str = r#"PREFIX : <http://example.org/>
    DELETE DATA { :p2 :type :T1 . :s5 :year 0 } ;
    INSERT DATA { :s9 :of :p4 . :s10 :year 7 . :s3000 :of :p1 ; :price "cheap" ; :year 3 . :p3 :made "here" }"#;

/// Groups of the same rows, joined or side by side. Variables that are not seen outside have names of their own in each.
fn query(random: &mut SplitMix) -> String {
    let (rows, keys, values) = *random.pick(ROWS).expect("some");
    let count = 2 + random.below(3);
    let joins = random.chance(40);
    let groups: Vec<String> = (0..count)
        .map(|at| {
            let own: Vec<&str> = keys.iter().copied().filter(|_| random.chance(45)).collect();
            let mut made = String::new();
            for place in 0..1 + random.below(3) {
                let function = *random
                    .pick(&["COUNT", "SUM", "MIN", "MAX", "AVG"])
                    .expect("some");
                let value = *random.pick(values).expect("some");
                let outside = if joins { at } else { 0 };
                made.push_str(&format!(" ({function}({value}) AS ?a{outside}_{place})"));
            }
            let by = match own.is_empty() {
                true => String::new(),
                false => format!("GROUP BY {}", own.join(" ")),
            };
            let group = format!("{{ SELECT {}{made} {{ {rows} }} {by} }}", own.join(" "));
            // Of other names in each.
            group
                .replace("?s ", &format!("?s{at} "))
                .replace("?x", &format!("?x{at}"))
        })
        .collect();
    let between = if joins { " " } else { " UNION " };
    format!("SELECT * {{ {} }}", groups.join(between))
}

/// A cube, a share of the total, what is computed of the rows, and one by one.
const ROLLED_UP: &[(&str, usize)] = &[
    (
        "SELECT * { { SELECT ?t ?y (SUM(?x) AS ?a) (COUNT(*) AS ?n) { ?s :of ?p ; :price ?x ; :year ?y . ?p :type ?t } GROUP BY ?t ?y }
            UNION { SELECT ?t (SUM(?z) AS ?a) (COUNT(*) AS ?n) { ?q :of ?r ; :price ?z ; :year ?u . ?r :type ?t } GROUP BY ?t }
            UNION { SELECT ?y (SUM(?x) AS ?a) (COUNT(*) AS ?n) { ?s :of ?p ; :price ?x ; :year ?y . ?p :type ?t } GROUP BY ?y }
            UNION { SELECT (SUM(?x) AS ?a) (COUNT(*) AS ?n) { ?s :of ?p ; :price ?x ; :year ?y . ?p :type ?t } } }",
        4,
    ),
    (
        "SELECT ?t (?a / ?all AS ?share) { { SELECT ?t (SUM(?x) AS ?a) { ?s :of ?p ; :price ?x . ?p :type ?t } GROUP BY ?t }
            { SELECT (SUM(?x) AS ?all) { ?s :of ?p ; :price ?x . ?p :type ?t } } }",
        2,
    ),
    (
        "SELECT * { { SELECT ?b (AVG(?x) AS ?a) { ?s :price ?x ; :year ?y BIND(?y * 3 AS ?b) } GROUP BY ?b }
            UNION { SELECT ?k (MAX(?x) AS ?a) { ?s :price ?x ; :year ?y } GROUP BY (?y + 1 AS ?k) }
            UNION { SELECT ?b (MIN(?x) AS ?a) { ?s :price ?x ; :year ?y BIND(?y * 2 AS ?b) } GROUP BY ?b } }",
        3,
    ),
    (
        "SELECT * { { SELECT ?y (SUM(?x) AS ?a) { ?s :price ?x ; :year ?y } GROUP BY ?y } { SELECT ?y (AVG(?x) AS ?b) { ?s :price ?x ; :year ?y } GROUP BY ?y } }",
        2,
    ),
    // A condition, a pattern, a constant more; distinct values; other values in each evaluation; a variable that only one has.
    (
        "SELECT * { { SELECT ?y (SUM(?x) AS ?a) { ?s :price ?x ; :year ?y FILTER(?x > 3) } GROUP BY ?y } { SELECT (SUM(?x) AS ?b) { ?s :price ?x ; :year ?y } } }",
        0,
    ),
    (
        "SELECT * { { SELECT ?y (SUM(?x) AS ?a) { ?s :price ?x ; :year ?y } GROUP BY ?y } { SELECT (SUM(?x) AS ?b) { ?s :price ?x ; :year ?y ; :of ?p } } }",
        0,
    ),
    (
        "SELECT * { { SELECT (SUM(?x) AS ?a) { ?s :price ?x ; :year 1 } } { SELECT (AVG(?x) AS ?b) { ?s :price ?x ; :year 2 } } }",
        0,
    ),
    (
        "SELECT * { { SELECT ?y (COUNT(DISTINCT ?x) AS ?a) { ?s :price ?x ; :year ?y } GROUP BY ?y } { SELECT (SUM(?x) AS ?b) { ?s :price ?x ; :year ?y } } }",
        0,
    ),
    (
        "SELECT * { { SELECT ?y (SUM(?x) AS ?a) { ?s :price ?x ; :year ?y FILTER(RAND() < 2) } GROUP BY ?y } { SELECT (SUM(?x) AS ?b) { ?s :price ?x ; :year ?y FILTER(RAND() < 2) } } }",
        0,
    ),
    (
        "SELECT * { { SELECT ?k (SUM(?x) AS ?a) { ?s :price ?x ; :year ?y BIND(?y AS ?k) } GROUP BY ?k } { SELECT ?k (SUM(?x) AS ?b) { ?s :price ?x ; :year ?z BIND(?y AS ?k) } GROUP BY ?k } }",
        0,
    ),
];

fn databases() -> [Database; 2] {
    plain_and_changed(&shop(), CHANGES)
}

fn rolled_up(node: &ExplainedNode) -> usize {
    let own = node.text.starts_with("RollUp");
    usize::from(own) + node.below().map(rolled_up).sum::<usize>()
}

fn groups_rolled_up(database: &Database, text: &str) -> usize {
    let prepared = database.prepare(text, &QueryOptions::default());
    rolled_up(&prepared.expect("it plans").explain().root)
}

fn check(database: &Database, query: &str) {
    let text = format!("PREFIX : <{NS}> {query}");
    let answer = |batch_rows, threads, rules_off: &[&str]| {
        let options = options_without(batch_rows, threads, rules_off);
        ask(database, &text, &options).expect("the query runs")
    };
    let alone = answer(2048, 1, &["roll_up", "group_through", "share_subplans"]);
    for (batch_rows, threads) in [(2048, 1), (2048, 2), (7, 2)] {
        for rules_off in [&[][..], &["group_through"], &["prune_columns"]] {
            let other = answer(batch_rows, threads, rules_off);
            let difference = bag::compare(&alone, &other, Numbers::ByValue).err();
            let difference = difference.map(|difference| difference.to_string());
            assert_eq!(difference, None, "{query} {batch_rows} {rules_off:?}");
        }
    }
}

#[test]
fn answers_are_those_of_groups_alone() {
    for database in databases() {
        for (query, _) in ROLLED_UP {
            check(&database, query);
        }
    }
}

#[test]
fn random_groups_are_those_of_groups_alone() {
    let mut random = SplitMix::new(63);
    let mut made = 0;
    for database in databases() {
        for _ in 0..60 {
            let query = query(&mut random);
            check(&database, &query);
            let text = format!("PREFIX : <{NS}> {query}");
            made += usize::from(groups_rolled_up(&database, &text) > 0);
        }
    }
    assert!(made > 40, "{made} of 120");
}

#[test]
fn groups_of_the_same_rows_are_rolled_up() {
    let [database, _] = databases();
    for (query, groups) in ROLLED_UP {
        let text = format!("PREFIX : <{NS}> {query}");
        assert_eq!(groups_rolled_up(&database, &text), *groups, "{query}");
    }
}

#[test]
fn rows_are_read_once() {
    let [database, _] = databases();
    let text = format!("PREFIX : <{NS}> {}", ROLLED_UP[0].0);
    let read = |rules_off: &[&str]| {
        let options = options_without(2048, 1, rules_off);
        let prepared = database.prepare(&text, &options).expect("it plans");
        read_rows(&prepared.profile(&options).expect("it runs").root)
    };
    let (once, often) = (read(&[]), read(&["roll_up"]));
    assert!(3 * once < often, "{once} of {often} rows");
}
