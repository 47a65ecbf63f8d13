//! Key filters: which scans get them, and what stops them on their way down.

use super::{explained_with, has, has_not, plan_with};
use crate::physical::{Node, Op};
use crate::testing::FakeStatistics;
use crate::{ForceJoin, PlanOptions};

fn hash() -> PlanOptions {
    PlanOptions {
        force_join: Some(ForceJoin::Hash),
        ..PlanOptions::default()
    }
}

/// With key filters wherever they are sound.
fn always() -> PlanOptions {
    PlanOptions {
        reduce_always: true,
        ..hash()
    }
}

const FEW_PRODUCTS: &str = "?p :type :Type0";

#[test]
fn scans_below_selective_hash_joins_are_reduced() {
    let by_object = format!("SELECT ?o ?c {{ ?o :product ?p ; :price ?c . {FEW_PRODUCTS} }}");
    has(&explained_with(&by_object, &hash()), "reduced by ?p");
    let off = PlanOptions {
        disabled_rules: vec!["reduce_scans".to_owned()],
        ..always()
    };
    has_not(&explained_with(&by_object, &off), "reduced by");
    let by_subject =
        "SELECT ?p ?n ?o { ?p :num1 ?n ; :label ?l . ?o :product ?p ; :vendor :Vendor0 }";
    has(&explained_with(by_subject, &hash()), "reduced by ?p");
    // All products have a producer, so nothing would be turned away.
    let all = "SELECT ?o ?c ?m { ?o :product ?p ; :price ?c . ?p :producer ?m }";
    has_not(&explained_with(all, &hash()), "reduced by");
    has(&explained_with(all, &always()), "reduced by ?p");
    // What is read is too little.
    let few =
        "SELECT ?v ?l ?p { ?v :country :US ; :label ?l . ?o :vendor ?v ; :product :Product0 }";
    has_not(&explained_with(few, &hash()), "reduced by");
}

#[test]
fn filters_go_down_through_what_treats_values_apart() {
    for probe in [
        "?o :product ?p ; :price ?c FILTER(?c * 2 > 30)",
        "{ ?o :product ?p ; :price ?c BIND(?c * 2 AS ?d) FILTER(?d > 30) }",
        "{ SELECT ?p (SUM(?c) AS ?n) { ?o :product ?p ; :price ?c } GROUP BY ?p }",
        "{ SELECT DISTINCT ?p ?c { ?o :product ?p ; :price ?c } }",
        "{ SELECT ?p ?c { ?o :product ?p ; :price ?c } ORDER BY ?c }",
        "{ ?o :product ?p ; :price ?c MINUS { ?o :vendor ?c } }",
        "{ ?o :product ?p ; :price ?c OPTIONAL { ?x :publisher ?o } }",
        "{ ?o :product ?p ; :price ?c FILTER NOT EXISTS { ?r :reviewFor ?o } }",
    ] {
        let query = format!("SELECT * {{ {FEW_PRODUCTS} {{ {probe} }} }}");
        has(&explained_with(&query, &always()), "reduced by ?p");
    }
    let semi = format!(
        "SELECT ?o {{ ?o :product ?p ; :price ?c FILTER EXISTS {{ {FEW_PRODUCTS} ; :label ?l }} }}"
    );
    has(&explained_with(&semi, &always()), "reduced by ?p");
    let chain = format!(
        "SELECT * {{ ?o :product ?p ; :vendor ?v ; :price ?c . {FEW_PRODUCTS} . ?v :country :US }}"
    );
    has(&explained_with(&chain, &always()), "reduced by ?");
}

/// The scans of a group that is aggregated before its join.
fn reduced_of_group(query: &str) -> [bool; 2] {
    fn group_of(node: &Node) -> Option<&Node> {
        match &node.op {
            Op::GroupThrough(_) => Some(node),
            op => op.children().into_iter().find_map(group_of),
        }
    }
    fn is_reduced(node: &Node) -> bool {
        let own = matches!(node.op, Op::StarScan { .. }) && !node.key_filters.is_empty();
        own || node.op.children().into_iter().any(is_reduced)
    }
    let plan = plan_with(query, &FakeStatistics::shop(), &always()).expect("the query plans");
    let group = group_of(&plan.root).expect("a group that is aggregated first");
    let Op::GroupThrough(group) = &group.op else {
        unreachable!("it was looked for");
    };
    [is_reduced(&group.pairs), is_reduced(&group.rows)]
}

#[test]
fn groups_through_pairs_are_reduced_by_their_keys() {
    let by_shared = "SELECT ?p ?a { ?p :type :Type0 { SELECT ?p (AVG(?c) AS ?a) { ?p :producer ?m . ?o :product ?p ; :price ?c } GROUP BY ?p } }";
    assert_eq!(reduced_of_group(by_shared), [true, true]);
    // Rows of a product are those of all its features.
    let by_other = "SELECT ?f ?a { ?f :label ?l FILTER(STR(?l) = \"x\") { SELECT ?f (AVG(?c) AS ?a) { ?p :feature ?f . ?o :product ?p ; :price ?c } GROUP BY ?f } }";
    assert_eq!(reduced_of_group(by_other), [true, false]);
    // What is left of all rows needs them all.
    let without =
        "SELECT ?f ?a { ?f :label ?l FILTER(STR(?l) = \"x\") { SELECT ?f (AVG(?c) AS ?a) {
        { SELECT DISTINCT ?f { ?p :type :Type0 ; :feature ?f } } ?o :product ?q ; :price ?c
        FILTER NOT EXISTS { ?q :feature ?f } } GROUP BY ?f } }";
    assert_eq!(reduced_of_group(without), [false, false]);
}

#[test]
fn filters_stop_where_rows_depend_on_others() {
    for probe in [
        "{ SELECT ?o ?p { ?o :product ?p ; :price ?c } LIMIT 190000 }",
        "{ SELECT ?o ?p { ?o :product ?p ; :price ?c } OFFSET 5 }",
        "{ SELECT ?o ?p { ?o :product ?p ; :price ?c } ORDER BY ?c LIMIT 190000 }",
        "{ ?o :product ?p ; :price ?c BIND(RAND() AS ?x) }",
        "{ ?o :product ?p ; :price ?c BIND(BNODE() AS ?x) }",
        "{ ?o :price ?c OPTIONAL { ?o :product ?p } }",
        "{ SELECT (SAMPLE(?q) AS ?p) ?c { ?o :product ?q ; :price ?c } GROUP BY ?c }",
        "{ ?o :product ?q ; :price ?c BIND(IRI(STR(?q)) AS ?p) }",
    ] {
        let query = format!("SELECT * {{ {FEW_PRODUCTS} {{ {probe} }} }}");
        has_not(&explained_with(&query, &always()), "reduced by ?p");
    }
    for query in [
        "SELECT * { ?p :type :Type0 OPTIONAL { ?o :product ?p ; :price ?c } }",
        "SELECT * { ?o :product ?p ; :price ?c OPTIONAL { ?p :type ?t ; :label ?l } }",
        "SELECT * { ?o :product ?p ; :price ?c FILTER NOT EXISTS { ?p :type :Type0 } }",
        "SELECT * { ?o :product ?p ; :price ?c MINUS { ?p :type :Type0 } }",
    ] {
        has_not(&explained_with(query, &always()), "reduced by");
    }
}

/// Of each filter the number is made by one join, and tested below it.
#[test]
fn numbers_name_a_join_and_its_scans() {
    fn tested(node: &Node) -> Vec<usize> {
        let own = match node.op {
            Op::StarScan { .. } => node.key_filters.iter().map(|f| f.number).collect(),
            _ => Vec::new(),
        };
        let below = node.op.children().into_iter().flat_map(tested);
        own.into_iter().chain(below).collect()
    }
    fn check(node: &Node, made: &mut Vec<usize>) {
        if matches!(node.op, Op::HashJoin { .. }) {
            for filter in &node.key_filters {
                assert!(tested(node).contains(&filter.number));
                made.push(filter.number);
            }
        }
        node.op
            .children()
            .into_iter()
            .for_each(|child| check(child, made));
    }
    let query = "SELECT * { ?o :product ?p ; :vendor ?v ; :price ?c . ?p :type :Type0 ; :producer ?m . ?v :country :US . ?r :reviewFor ?p }";
    let statistics = FakeStatistics::shop();
    let plan = plan_with(query, &statistics, &always()).expect("the query plans");
    let mut made = Vec::new();
    check(&plan.root, &mut made);
    let mut used = tested(&plan.root);
    made.sort_unstable();
    used.sort_unstable();
    used.dedup();
    assert!(made.len() > 1);
    assert_eq!(made, (0..made.len()).collect::<Vec<_>>());
    assert_eq!(made, used);
}
