//! Twenty queries in the manner of the benchmark's explore and analytic mixes.

use super::{check_everywhere, explained, explained_with, has, has_not, plan_with};
use crate::PlanOptions;
use crate::physical::{Node, Op};
use crate::testing::FakeStatistics;

const QUERIES: &[&str] = &[
    // Explore 1 to 12.
    "SELECT DISTINCT ?p ?l { ?p :label ?l ; :type :Type0 ; :feature :Feature0, :Feature1 ; :num1 ?v
     FILTER(?v > 300) } ORDER BY ?l LIMIT 10",
    "SELECT * { :Product0 :label ?l ; :comment ?c ; :producer ?m . ?m :label ?ml .
     :Product0 :publisher ?m ; :feature ?f . ?f :label ?fl . :Product0 :text1 ?t1 ; :num1 ?n1
     OPTIONAL { :Product0 :text4 ?t4 } OPTIONAL { :Product0 :text5 ?t5 } OPTIONAL { :Product0 :num4 ?n4 } }",
    "SELECT ?p ?l { ?p :label ?l ; :type :Type0 ; :feature :Feature0 ; :num1 ?a FILTER(?a > 100)
     ?p :num3 ?b FILTER(?b < 500) OPTIONAL { ?p :feature :Feature1 ; :label ?test }
     FILTER(!bound(?test)) } ORDER BY ?l LIMIT 10",
    "SELECT DISTINCT ?p ?l ?t {
     { ?p :label ?l ; :type :Type0 ; :feature :Feature0, :Feature1 ; :text1 ?t ; :num1 ?a FILTER(?a > 5) }
     UNION { ?p :label ?l ; :type :Type0 ; :feature :Feature0, :Feature2 ; :text1 ?t ; :num2 ?b FILTER(?b > 9) }
     } ORDER BY ?l OFFSET 5 LIMIT 10",
    "SELECT DISTINCT ?p ?l { ?p :label ?l FILTER(:Product0 != ?p) :Product0 :feature ?f . ?p :feature ?f .
     :Product0 :num1 ?o1 . ?p :num1 ?s1 FILTER(?s1 < (?o1 + 120) && ?s1 > (?o1 - 120))
     :Product0 :num2 ?o2 . ?p :num2 ?s2 FILTER(?s2 < (?o2 + 170) && ?s2 > (?o2 - 170)) } ORDER BY ?l LIMIT 5",
    "SELECT ?p ?l { ?p :label ?l ; :producer ?x FILTER regex(?l, 'word') }",
    "SELECT * { :Product0 :label ?l
     OPTIONAL { ?o :product :Product0 ; :price ?price ; :vendor ?v . ?v :label ?vl ; :country :DE .
     ?o :publisher ?v ; :validTo ?to FILTER(?to > 100) }
     OPTIONAL { ?r :reviewFor :Product0 ; :reviewer ?u . ?u :name ?n . ?r :title ?t
     OPTIONAL { ?r :rating1 ?r1 } OPTIONAL { ?r :rating2 ?r2 } } }",
    "SELECT * { ?r :reviewFor :Product0 ; :title ?t ; :text ?x FILTER langMatches(lang(?x), 'EN')
     ?r :reviewDate ?d ; :reviewer ?u . ?u :name ?n OPTIONAL { ?r :rating1 ?r1 }
     OPTIONAL { ?r :rating2 ?r2 } OPTIONAL { ?r :rating3 ?r3 } OPTIONAL { ?r :rating4 ?r4 } }
     ORDER BY DESC(?d) LIMIT 20",
    "DESCRIBE ?x { :Review0 :reviewer ?x }",
    "SELECT DISTINCT ?o ?price { ?o :product :Product0 ; :vendor ?v ; :publisher ?v . ?v :country :US .
     ?o :deliveryDays ?d FILTER(?d <= 3) ?o :price ?price ; :validTo ?to FILTER(?to > 100) }
     ORDER BY xsd:double(str(?price)) LIMIT 10",
    "SELECT ?property ?hasValue ?isValueOf { { :Offer0 ?property ?hasValue } UNION { ?isValueOf ?property :Offer0 } }",
    "CONSTRUCT { :Offer0 :product ?p . :Offer0 :vendor ?vl } { :Offer0 :product ?p . ?p :label ?pl .
     :Offer0 :vendor ?v . ?v :label ?vl ; :homepage ?h . :Offer0 :price ?price ; :validTo ?to }",
    // Analytic 1 to 8.
    "SELECT ?t ?count { { SELECT ?t (COUNT(?r) AS ?count) { ?t :type :Special . ?p :type ?t ; :producer ?m .
     ?m :country :US . ?r :reviewFor ?p ; :reviewer ?u . ?u :country :DE } GROUP BY ?t } }
     ORDER BY DESC(?count) ?t LIMIT 10",
    "SELECT ?o ?same { ?o :producer ?any { SELECT ?o (COUNT(?of) AS ?same) {
     :Product0 :feature ?f . ?o :feature ?of FILTER(?f = ?of) } GROUP BY ?o } FILTER(?o != :Product0) }
     ORDER BY DESC(?same) ?o LIMIT 10",
    "SELECT ?p (xsd:float(?m2)/?m1 AS ?ratio) {
     { SELECT ?p (COUNT(?r) AS ?m2) { ?r :reviewFor ?p ; :date ?d FILTER(?d >= 10 && ?d < 38) } GROUP BY ?p }
     { SELECT ?p (COUNT(?r) AS ?m1) { ?r :reviewFor ?p ; :date ?d FILTER(?d >= 38 && ?d < 66) } GROUP BY ?p HAVING(COUNT(?r) > 0) } }
     ORDER BY DESC(xsd:float(?m2)/?m1) ?p LIMIT 10",
    "SELECT ?f (?with/?without AS ?ratio) {
     { SELECT ?f (AVG(xsd:float(xsd:string(?price))) AS ?with) { ?p :type :Type0 ; :feature ?f . ?o :product ?p ; :price ?price } GROUP BY ?f }
     { SELECT ?f (AVG(xsd:float(xsd:string(?price))) AS ?without) {
       { SELECT DISTINCT ?f { ?p :type :Type0 ; :feature ?f } }
       ?p :type :Type0 . ?o :product ?p ; :price ?price FILTER NOT EXISTS { ?p :feature ?f } } GROUP BY ?f } }
     ORDER BY DESC(?ratio) ?f LIMIT 10",
    "SELECT ?country ?p ?n ?avg {
     { SELECT ?country (MAX(?n0) AS ?max) { { SELECT ?country ?p (COUNT(?r) AS ?n0) {
       ?p :type :Type0 . ?r :reviewFor ?p ; :reviewer ?u . ?u :country ?country } GROUP BY ?country ?p } } GROUP BY ?country }
     { SELECT ?country ?p (AVG(xsd:float(xsd:string(?price))) AS ?avg) { ?p :type :Type0 . ?o :product ?p ; :price ?price } GROUP BY ?country ?p }
     { SELECT ?country ?p (COUNT(?r) AS ?n) { ?p :type :Type0 . ?r :reviewFor ?p ; :reviewer ?u . ?u :country ?country } GROUP BY ?country ?p }
     FILTER(?n = ?max) } ORDER BY DESC(?n) ?country ?p",
    "SELECT ?u (AVG(xsd:float(?s)) AS ?score) {
     { SELECT (AVG(xsd:float(?s1)) AS ?all) { ?p :producer :Producer0 . ?r :reviewFor ?p .
       { ?r :rating1 ?s1 } UNION { ?r :rating2 ?s1 } UNION { ?r :rating3 ?s1 } UNION { ?r :rating4 ?s1 } } }
     ?p :producer :Producer0 . ?r :reviewFor ?p ; :reviewer ?u .
     { ?r :rating1 ?s } UNION { ?r :rating2 ?s } UNION { ?r :rating3 ?s } UNION { ?r :rating4 ?s } }
     GROUP BY ?u HAVING(AVG(xsd:float(?s)) > MIN(?all) * 1.5)",
    "SELECT ?p { { SELECT ?p { { SELECT ?p (COUNT(?o) AS ?n) { ?p :type :Type0 . ?o :product ?p } GROUP BY ?p }
     } ORDER BY DESC(?n) LIMIT 1000 }
     FILTER NOT EXISTS { ?o :product ?p ; :vendor ?v . ?v :country ?c FILTER(?c = :DE) } }",
    "SELECT ?v (xsd:float(?below)/?n AS ?ratio) {
     { SELECT ?v (COUNT(?o) AS ?below) {
       { ?p :type :Type0 . ?o :product ?p ; :vendor ?v ; :price ?price
         { SELECT ?p (AVG(xsd:float(xsd:string(?pr))) AS ?avg) { ?p :type :Type0 . ?x :product ?p ; :vendor ?y ; :price ?pr } GROUP BY ?p } }
       FILTER(xsd:float(xsd:string(?price)) < ?avg) } GROUP BY ?v }
     { SELECT ?v (COUNT(?o) AS ?n) { ?p :type :Type0 . ?o :product ?p ; :vendor ?v } GROUP BY ?v } }
     ORDER BY DESC(xsd:float(?below)/?n) ?v LIMIT 10",
];

#[test]
fn all_plan_under_all_options() {
    for query in QUERIES {
        check_everywhere(query);
    }
}

#[test]
fn explore_starts_from_the_constants() {
    let text = explained(QUERIES[0]);
    has(&text, "StarScan by object feature ?p");
    has(&text, "OrderBy ?l first 10");
    has(&explained(QUERIES[2]), "StarJoin anti by subject ?p");
    let similar = explained(QUERIES[4]);
    has(&similar, "StarJoin by object feature ?p");
    has(&similar, "StarScan by subject Product0");
    let product = explained(QUERIES[6]);
    has(&product, "StarScan by object product ?o");
    has(&product, "StarScan by object reviewFor ?r");
    has(&product, "optional rating1 ?r1; optional rating2 ?r2");
    has(&explained(QUERIES[7]), "StarScan by object reviewFor ?r");
    has(&explained(QUERIES[8]), "StarScan by subject Review0");
    has(&explained(QUERIES[9]), "StarScan by object product ?o");
    has(
        &explained(QUERIES[10]),
        "PatternScan Offer0 ?property ?hasValue",
    );
}

#[test]
fn analysis_starts_from_the_selective_side() {
    let discussed = explained(QUERIES[12]);
    has(&discussed, "?m#3 { country US } in Producer");
    has(&discussed, "StarJoin by object producer ?p");
    let features = explained(QUERIES[13]);
    has_not(&features, "(?f = ?of)");
    has(&explained(QUERIES[17]), "rating1 ?s");
    let cheap = explained(QUERIES[18]);
    has(&cheap, "OrderBy ?n#1 desc first 1000");
}

#[test]
fn what_conditions_compute_of_the_input_goes_below_the_join() {
    let off = PlanOptions {
        disabled_rules: vec!["hoist_expressions".to_owned()],
        ..PlanOptions::default()
    };
    has(&explained(QUERIES[4]), "(?s1 < ?part");
    has_not(&explained_with(QUERIES[4], &off), "?part");
    let with = |condition: &str| {
        format!(
            "SELECT ?p {{ :Product0 :feature ?f ; :num1 ?o1 . ?p :feature ?f ; :num1 ?s1 FILTER({condition}) }}"
        )
    };
    has(&explained(&with("?s1 < ?o1 * 2 || ?s1 > ?o1 * 2")), "?part");
    // Volatile; nothing of the input; what both sides bind; a part alone.
    for condition in [
        "?s1 < ?o1 * RAND()",
        "?s1 < ?s1 * 2",
        "?s1 < ?o1 + ?s1",
        "?s1 < ?o1",
    ] {
        has_not(&explained(&with(condition)), "?part");
    }
}

#[test]
fn what_is_only_counted_is_counted_first() {
    let off = PlanOptions {
        disabled_rules: vec!["count_first".to_owned()],
        ..PlanOptions::default()
    };
    let each = "SELECT ?m ?c (COUNT(?p) AS ?n) { ?m :country ?c . ?p :producer ?m } GROUP BY ?m ?c";
    has(&explained(each), "CountScan");
    has_not(&explained_with(each, &off), "CountScan");
    // Of few products only their own offers are counted.
    has_not(&explained(QUERIES[18]), "CountScan");
    let by_country = "SELECT ?c (COUNT(*) AS ?n) { ?p :producer ?m . ?m :country ?c } GROUP BY ?c";
    has(&explained(by_country), "Sum(?count");
    for query in [
        "SELECT ?m (COUNT(DISTINCT ?p) AS ?n) { ?m :country ?c . ?p :producer ?m } GROUP BY ?m",
        "SELECT ?m (COUNT(?x) AS ?n) { ?m :country ?c . ?p :producer ?m OPTIONAL { ?p :num4 ?x } } GROUP BY ?m",
        "SELECT ?m (COUNT(?p) AS ?n) { ?m :country ?c . ?p :producer ?m FILTER(?p != :Product0) } GROUP BY ?m",
        "SELECT ?m (COUNT(?p) AS ?n) { ?m :country ?c . ?p :producer ?m ; :publisher ?m } GROUP BY ?m",
        "SELECT ?m ?p (COUNT(?p) AS ?n) { ?m :country ?c . ?p :producer ?m } GROUP BY ?m ?p",
    ] {
        has_not(&explained(query), "CountScan");
    }
}

#[test]
fn exists_for_many_rows_keeps_what_tells_them_apart() {
    let options = PlanOptions {
        disabled_rules: vec!["exists_to_join".to_owned()],
        ..PlanOptions::default()
    };
    let text = explained_with(QUERIES[18], &options);
    has(&text, "Outer  [?p]");
    let inside = text
        .lines()
        .find(|line| line.contains("StarJoin by subject ?v"));
    has(inside.unwrap_or(&text), "[?p]");
}

#[test]
fn a_group_that_stands_twice_is_made_once() {
    let reviewed = explained(QUERIES[16]);
    assert_eq!(reviewed.matches("Spool 0").count(), 2, "{reviewed}");
    has_not(&reviewed, "Spool 1");
    // The mean prices have the same keys, and are another group.
    assert_eq!(
        reviewed.matches("Group by ?country ?p").count(),
        3,
        "{reviewed}"
    );
    let options = PlanOptions {
        disabled_rules: vec!["share_subplans".to_owned()],
        ..PlanOptions::default()
    };
    has_not(&explained_with(QUERIES[16], &options), "Spool");
}

#[test]
fn matches_of_triples_are_distinct_by_all_their_variables() {
    for query in [
        "SELECT DISTINCT ?p ?f { ?p :type :Type0 ; :feature ?f }",
        "SELECT DISTINCT ?p ?l { ?p :label ?l FILTER(?l > 'a') }",
        "SELECT DISTINCT ?g ?p ?f { GRAPH ?g { ?p :feature ?f } }",
    ] {
        has_not(&explained(query), "Distinct");
    }
    for query in [
        "SELECT DISTINCT ?f { ?p :type :Type0 ; :feature ?f }",
        "SELECT DISTINCT ?p ?f { ?p :feature ?f, [] }",
        "SELECT DISTINCT ?p ?f { GRAPH ?g { ?p :feature ?f } }",
        "SELECT DISTINCT ?p ?f { ?p :feature ?f VALUES ?x { 1 2 } }",
        "SELECT DISTINCT ?p ?f { { ?p :feature ?f } UNION { ?p :label ?f } }",
    ] {
        has(&explained(query), "Distinct");
    }
    // The pairs of what is taken away need not be made distinct either, nor are they then read by one thread. Products that rows are looked up for are.
    let options = PlanOptions {
        disabled_rules: vec!["seed_join".to_owned()],
        ..PlanOptions::default()
    };
    let plan = explained_with(QUERIES[15], &options);
    assert_eq!(plan.matches("Distinct").count(), 1);
}

#[test]
fn groups_by_a_scanned_subject_are_as_many_as_the_subjects() {
    fn rows_of(node: &Node, is_wanted: &dyn Fn(&Op) -> bool) -> Option<f64> {
        let own = is_wanted(&node.op).then_some(node.estimated_rows);
        let below = || {
            let mut children = node.op.children().into_iter();
            children.find_map(|child| rows_of(child, is_wanted))
        };
        own.or_else(below)
    }
    let rows = |query: &str| {
        let plan = plan_with(query, &FakeStatistics::shop(), &PlanOptions::default());
        let root = plan.expect("the query plans").root;
        let of = |is_wanted: &dyn Fn(&Op) -> bool| rows_of(&root, is_wanted);
        (
            of(&|op| matches!(op, Op::Group { .. })),
            of(&|op| matches!(op, Op::StarScan { .. })),
        )
    };
    // Twenty features each.
    let (groups, read) =
        rows("SELECT ?p (MIN(?f) AS ?n) { ?p :type :Type0 ; :feature ?f } GROUP BY ?p");
    let (groups, read) = (groups.expect("a group"), read.expect("a scan"));
    assert!(
        (groups * 20.0 - read).abs() < read * 1e-6,
        "{groups} of {read}"
    );
    // Of features that a condition drops nobody knows how many are left.
    let (groups, read) = rows(
        "SELECT ?p (MIN(?f) AS ?n) { ?p :type :Type0 ; :feature ?f FILTER(?f != :Feature0) } GROUP BY ?p",
    );
    let (groups, read) = (groups.expect("a group"), read.expect("a scan"));
    assert!(groups * 20.0 > read * 1.5, "{groups} of {read}");
    // A state for each product would be put into one group each.
    let mean =
        "SELECT ?p (AVG(?c) AS ?mean) { ?p :type :Type0 . ?o :product ?p ; :price ?c } GROUP BY ?p";
    has_not(&explained(mean), "GroupThrough");
}

#[test]
fn groups_that_only_look_alike_are_not_shared() {
    for (what, one, other) in [
        ("a constant", "?p :type :Type0", "?p :type :Type1"),
        (
            "an operator",
            "?p :num1 ?x FILTER(?x > 5)",
            "?p :num1 ?x FILTER(?x >= 5)",
        ),
        (
            "a volatile call",
            "?p :num1 ?x FILTER(RAND() > 0.5)",
            "?p :num1 ?x FILTER(RAND() > 0.5)",
        ),
    ] {
        let query = format!(
            "SELECT * {{ {{ SELECT ?m (COUNT(?p) AS ?a) {{ ?p :producer ?m . {one} }} GROUP BY ?m }}
             {{ SELECT ?m (COUNT(?q) AS ?b) {{ ?q :producer ?m . {} }} GROUP BY ?m }} }}",
            other.replace("?p", "?q")
        );
        assert!(!explained(&query).contains("Spool"), "{what}: {query}");
    }
    let twice = "SELECT * { { SELECT ?m (COUNT(?p) AS ?a) { ?p :producer ?m . ?p :type :Type0 } GROUP BY ?m }
         { SELECT ?m (COUNT(?q) AS ?b) { ?q :producer ?m . ?q :type :Type0 } GROUP BY ?m } }";
    has(&explained(twice), "Spool 0");
}

#[test]
fn planning_takes_little_time() {
    let statistics = FakeStatistics::shop();
    let start = std::time::Instant::now();
    for query in QUERIES {
        plan_with(query, &statistics, &PlanOptions::default()).expect("the query plans");
    }
    // Far above the target for optimised builds: this only finds exponential behaviour.
    let each = start.elapsed() / QUERIES.len() as u32;
    assert!(each.as_millis() < 200, "{each:?} for each query");
}
