//! What is done early, late or once, against the plans without it, in every layout: counts before joins, conditions
//! computed below a join, EXISTS for many rows at once, sort keys of rows that have a chance, repeats that nobody counts, rows that lack
//! what others are joined by, groups of what some rows need, joins by one thing or another.
//!
//! The data are a shop with so many offers for each product that the planner takes these ways by cost. The second opinion
//! is the same query with the rule off and, for EXISTS, with every way of joining; the naive oracle would take too long.

mod support;

use basalt_engine::{ForceJoin, Layout};
use std::fmt::Write as _;
use support::{Configuration, LAYOUTS, ask, load_nquads, query_options, same_answers};

const NS: &str = "http://example.org/";

/// Queries, the rule to switch off, and a word of the plan with the rule over tables.
const QUERIES: &[(&str, &str, &str)] = &[
    (
        "SELECT ?p (COUNT(?o) AS ?n) { ?p :type :T1 . ?o :of ?p } GROUP BY ?p",
        "count_first",
        ":= quads",
    ),
    (
        "SELECT ?f (COUNT(?o) AS ?n) (COUNT(*) AS ?m) { ?p :type :T1 ; :feature ?f . ?o :of ?p } GROUP BY ?f",
        "count_first",
        ":= quads",
    ),
    (
        "SELECT (COUNT(?o) AS ?n) { ?p :type :T1 FILTER(?p != :p5) ?o :of ?p }",
        "count_first",
        ":= quads",
    ),
    (
        "SELECT ?p ?f (COUNT(?o) AS ?n) { ?p :feature ?f . ?o :of ?p } GROUP BY ?p ?f",
        "count_first",
        ":= quads",
    ),
    // None of these can be counted first.
    (
        "SELECT ?p (COUNT(DISTINCT ?o) AS ?n) { ?p :type :T1 . ?o :of ?p } GROUP BY ?p",
        "count_first",
        "",
    ),
    (
        "SELECT ?p (COUNT(?x) AS ?n) { ?p :type :T1 . ?o :of ?p OPTIONAL { ?o :extra ?x } } GROUP BY ?p",
        "count_first",
        "",
    ),
    (
        "SELECT ?p (COUNT(?o) AS ?n) { ?p :type :T1 . ?o :of ?p FILTER(?o != :o7) } GROUP BY ?p",
        "count_first",
        "",
    ),
    (
        "SELECT ?q (COUNT(?o) AS ?n) { ?p :type :T1 . ?o :of ?p } GROUP BY ?q",
        "count_first",
        "",
    ),
    (
        "SELECT DISTINCT ?q ?name { :p3 :feature ?f ; :size ?given . ?q :feature ?f ; :name ?name ; :size ?s
         FILTER(?q != :p3 && ?s < (?given + 9) && ?s > (?given - 9)) } ORDER BY ?name ?q LIMIT 5",
        "hoist_expressions",
        "?part",
    ),
    (
        "SELECT ?q ?s { :p3 :feature ?f ; :size ?given . ?q :feature ?f ; :size ?s
         FILTER(?s IN (?given + 1, ?given * 2, ?given) || COALESCE(STRLEN(?given), ?given - 1) = ?s) }",
        "hoist_expressions",
        "?part",
    ),
    (
        "SELECT ?o ?price ?extra { ?p :type :T1 ; :size ?size . ?o :of ?p ; :price ?price
         OPTIONAL { ?o :extra ?extra } FILTER(?price > ?size * 3 || ?extra = ?size + ?price) }",
        "hoist_expressions",
        "",
    ),
    (
        "SELECT ?p ?n { { SELECT ?p (COUNT(?o) AS ?n) { ?o :of ?p } GROUP BY ?p ORDER BY DESC(?n) ?p LIMIT 40 }
         FILTER NOT EXISTS { ?o :of ?p ; :by ?v . ?v :in ?c FILTER(?c = :C1) } }",
        "exists_to_join",
        "",
    ),
    (
        "SELECT ?p { ?p :type :T0 ; :size ?size FILTER EXISTS { ?o :of ?p ; :price ?price ; :by ?v . ?v :in :C2 FILTER(?price < ?size) } }",
        "exists_to_join",
        "",
    ),
    (
        "SELECT ?p ?any { ?p :type ?t BIND(EXISTS { ?o :of ?p ; :by ?v . ?v :in :C3 } || ?t = :T2 AS ?any) }",
        "exists_to_join",
        "",
    ),
    (
        "SELECT ?p { ?p :type ?t OPTIONAL { ?p :rare ?r } FILTER NOT EXISTS { ?o :of ?p ; :price ?r ; :by ?v . ?v :in ?c } }",
        "exists_to_join",
        "",
    ),
    (
        "SELECT ?p ?n ?name { ?p :name ?name { SELECT ?p (COUNT(?o) AS ?n) { ?o :of ?p } GROUP BY ?p } }
         ORDER BY DESC(?n) ?name DESC(?p) LIMIT 7",
        "top_k",
        "first 7",
    ),
    (
        "SELECT DISTINCT ?c { ?o :of ?p ; :by ?v . ?v :in ?c . ?p :feature ?f }",
        "early_distinct",
        "PartialDistinct",
    ),
    (
        "SELECT DISTINCT ?p { ?p :type ?t ; :feature ?f . ?o :of ?p }",
        "early_distinct",
        " semi ",
    ),
    (
        "SELECT DISTINCT ?t { ?p :type ?t ; :feature ?f ; :feature ?g OPTIONAL { ?p :rare ?r } OPTIONAL { ?o :of ?p ; :extra ?e } }",
        "early_distinct",
        "any <http://example.org/feature>",
    ),
    (
        "SELECT ?v (COUNT(DISTINCT ?t) AS ?n) (MIN(?size) AS ?m) { ?o :by ?v ; :of ?p . ?p :type ?t ; :size ?size ; :feature ?f } GROUP BY ?v",
        "early_distinct",
        "any ",
    ),
    (
        "SELECT ?v (COUNT(?t) AS ?n) (COUNT(DISTINCT ?f) AS ?m) { ?o :by ?v ; :of ?p . ?p :type ?t ; :feature ?f } GROUP BY ?v",
        "early_distinct",
        "",
    ),
    (
        "SELECT ?v { ?v :in ?c FILTER NOT EXISTS { ?o :by ?v ; :of ?p ; :price ?x . ?p :feature ?f FILTER(?x > 88) } }",
        "early_distinct",
        "any ",
    ),
    (
        "SELECT ?n { ?v :name ?n MINUS { ?o :by ?v ; :of ?p . ?p :rare ?r ; :feature ?f } }",
        "early_distinct",
        "",
    ),
    (
        "SELECT DISTINCT ?c { { ?o :by ?v . ?v :in ?c } UNION { ?p :type ?c ; :feature ?f } ?q :size ?s }",
        "early_distinct",
        "any ",
    ),
    (
        "SELECT (COUNT(*) AS ?n) { { SELECT DISTINCT ?a ?b { ?o :of ?a ; :by ?v . ?q :of ?b ; :by ?v } } }",
        "early_distinct",
        "",
    ),
    (
        "SELECT DISTINCT ?c { ?o :of ?p ; :by ?v . ?v :in ?c . ?p :type ?t FILTER(?t = :T1 || RAND() < 2) }",
        "early_distinct",
        "",
    ),
    (
        "SELECT ?p ?r ?e { ?p :name 'name 9' OPTIONAL { ?p :rare ?r } OPTIONAL { ?q :size ?r ; :name ?e } }",
        "split_unbound",
        "",
    ),
    (
        "SELECT ?o ?c ?n { :o7 :of ?p OPTIONAL { ?o :of ?p ; :price 0 ; :by ?v } OPTIONAL { ?v :in ?c } OPTIONAL { ?v :name ?n } }",
        "split_unbound",
        "",
    ),
    (
        "SELECT ?x ?c { VALUES ?x { :v1 :o3 :p2 } OPTIONAL { ?x :by ?v } FILTER EXISTS { ?v :in ?c } OPTIONAL { ?x :in ?c } }",
        "split_unbound",
        "",
    ),
    (
        "SELECT ?p ?x ?n { :o7 :of ?p BIND(IRI(STR(?p)) AS ?x) ?x :name ?n }",
        "split_unbound",
        "",
    ),
    (
        "SELECT ?o ?q { ?o :by ?p ; :price ?x BIND(<http://www.w3.org/2001/XMLSchema#integer>(STR(?x)) - 13 AS ?u) ?q :by ?p ; :price ?u }",
        "split_unbound",
        "Union",
    ),
    (
        "SELECT ?o ?x { ?o :by ?p ; :price ?x BIND(IF(?x > 20, ?x - 13, ?none) AS ?u) OPTIONAL { ?q :by ?p ; :price ?u } FILTER(BOUND(?q)) }",
        "split_unbound",
        "",
    ),
    (
        "SELECT ?o ?x { ?o :by ?p ; :price ?x BIND(IF(?x > 20, ?x - 13, ?none) AS ?u) MINUS { ?q :by ?p ; :price ?u } }",
        "split_unbound",
        "",
    ),
    (
        "SELECT ?p { ?p :type ?t FILTER NOT EXISTS { ?p :rare|^:of ?r } }",
        "split_exists",
        "anti",
    ),
    (
        "SELECT ?v ?c ?n { VALUES (?v ?c) { (:v1 UNDEF) (UNDEF :C2) (:v3 :C1) (:v3 :C3) (UNDEF UNDEF) } ?v :in ?c ; :name ?n }",
        "split_unbound",
        "",
    ),
    (
        "SELECT ?p ?m { ?p :name 'name 9' OPTIONAL { SELECT ?p (MAX(?x) AS ?m) (COUNT(?e) AS ?n) { ?o :of ?p ; :price ?x OPTIONAL { ?o :extra ?e } } GROUP BY ?p HAVING(COUNT(*) > 2) } }",
        "seed_join",
        "Distinct",
    ),
    (
        "SELECT ?p ?x { ?p :name 'name 9' OPTIONAL { SELECT DISTINCT ?p ?x { { ?o :of ?p ; :price ?x } UNION { ?p :feature ?x } } } }",
        "seed_join",
        "",
    ),
    (
        "SELECT ?p { ?p :type :T2 ; :size ?s FILTER NOT EXISTS { SELECT ?p { ?o :of ?p ; :price ?x } GROUP BY ?p HAVING(SUM(?x) > 1200) } }",
        "seed_join",
        "",
    ),
    (
        "SELECT ?o ?q { ?o :of ?p ; :price ?x . ?q :size ?s ; :rare ?r FILTER(?x = ?s || ?x = ?r || ?p = ?q) }",
        "split_disjunction",
        "Union",
    ),
    (
        "SELECT ?o ?q { ?o :of ?p ; :price ?x . ?q :size ?s ; :rare ?r FILTER(?x IN (?s, ?r)) }",
        "split_disjunction",
        "Union",
    ),
    (
        "SELECT ?o { ?o :of ?p ; :price ?x FILTER NOT EXISTS { ?q :size ?s ; :rare ?r FILTER(?x = ?s || ?p = ?q) } }",
        "split_disjunction",
        "anti",
    ),
    (
        "SELECT ?p ?v ?k { ?p :name ?a . ?v :name ?b ; :in ?c BIND(SUBSTR(?a, 6) AS ?k) FILTER(?k = SUBSTR(?b, 8)) }",
        "push_down_filter",
        "HashJoin",
    ),
];

/// The shop, as N-Quads: some rows lack a column or have a value of another kind.
fn shop() -> String {
    let mut text = String::new();
    let mut quad = |s: String, p: &str, o: String| {
        let o = if o.starts_with('"') {
            o
        } else {
            format!("<{NS}{o}>")
        };
        writeln!(text, "<{NS}{s}> <{NS}{p}> {o} .").expect("text takes all");
    };
    let number = |n: usize| format!("\"{n}\"^^<http://www.w3.org/2001/XMLSchema#integer>");
    for p in 0..48 {
        let name = |what: &str| format!("{what}{p}");
        quad(name("p"), "type", format!("T{}", p % 3));
        quad(name("p"), "name", format!("\"name {}\"", p % 20));
        let size = if p == 30 {
            "\"large\"".to_owned()
        } else {
            number(p * 7 % 40)
        };
        quad(name("p"), "size", size);
        if p % 9 == 0 {
            quad(name("p"), "rare", number(p));
        }
        for f in (0..10).filter(|f| (p * 5 + f * 3) % 7 < 3) {
            quad(name("p"), "feature", format!("f{f}"));
        }
    }
    for v in 0..9 {
        quad(format!("v{v}"), "in", format!("C{}", v % 4));
        quad(format!("v{v}"), "name", format!("\"vendor {v}\""));
    }
    for o in 0..1200 {
        let name = || format!("o{o}");
        // The last products have no offers.
        let p = (o * o + o / 5) % 45;
        quad(name(), "of", format!("p{p}"));
        quad(name(), "by", format!("v{}", (p + o / 3 % 3) % 9));
        quad(name(), "price", number(o * 13 % 90));
        if o % 11 == 0 {
            quad(name(), "extra", number(o % 60));
        }
    }
    text
}

fn configurations() -> Vec<Configuration> {
    let both = LAYOUTS.into_iter().enumerate();
    both.map(|(idx, layout)| Configuration {
        layout,
        threads: 1 + idx % 2,
        batch_rows: [2048, 7, 64][idx % 3],
        is_changed: idx % 2 == 1,
        ..Configuration::default()
    })
    .collect()
}

#[test]
fn answers_are_the_same_without() {
    for configuration in configurations() {
        let loaded = load_nquads(shop(), &configuration);
        for (query, rule, word) in QUERIES {
            let text = format!("PREFIX : <{NS}> {query}");
            let with = query_options(&configuration);
            let plan = loaded.database.prepare(&text, &with).expect("it plans");
            let plan = plan.explain().to_text();
            if configuration.layout == Layout::Discover {
                assert!(plan.contains(word), "no {word} in\n{plan}");
            }
            let answer = ask(&loaded.database, &text, &with).expect("it runs");
            let mut others = vec![with.clone(), with.clone(), with];
            others[0].disabled_rules.push((*rule).to_owned());
            others[1].force_join = Some(ForceJoin::Hash);
            others[2].force_join = Some(ForceJoin::Index);
            for other in others {
                let expected = ask(&loaded.database, &text, &other).expect("it runs");
                let what = format!("{configuration:?}\n{text}\n{plan}");
                same_answers(&expected, &answer, &what);
            }
        }
    }
}

/// The questions are not of the empty set.
#[test]
fn the_shop_has_answers() {
    let configuration = Configuration::default();
    let loaded = load_nquads(shop(), &configuration);
    for (query, _, _) in QUERIES {
        let text = format!("ASK {}", &query[query.find('{').expect("a pattern")..]);
        let end = text.rfind('}').expect("a pattern");
        let text = format!("PREFIX : <{NS}> {}", &text[..=end]);
        let answer = ask(&loaded.database, &text, &query_options(&configuration)).expect("it runs");
        let shown = format!("{answer:?}");
        assert!(shown.contains("true"), "{shown}: {text}");
    }
}
