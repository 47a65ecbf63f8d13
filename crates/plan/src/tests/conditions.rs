//! Where conditions are asked: which plans show it, and that each rule is what does it.

use super::{
    check_everywhere, explained, explained_with, explained_without, has, has_not, plan_with,
};
use crate::testing::FakeStatistics;
use crate::{ForceJoin, PlanOptions};

/// Checks that a plan has a line like this, and not without a rule.
fn by_rule(query: &str, rule: &str, line: &str) {
    check_everywhere(query);
    has(&explained(query), line);
    has_not(&explained_without(rule, query), line);
}

fn by_hash() -> PlanOptions {
    PlanOptions {
        force_join: Some(ForceJoin::Hash),
        ..PlanOptions::default()
    }
}

#[test]
fn conditions_on_predicates_are_asked_by_scans() {
    let query = "SELECT * { ?s ?p ?o FILTER(STRSTARTS(STR(?p), \"http\") && isLiteral(?o)) }";
    let line = "PatternScan ?s ?p ?o if STRSTARTS(STR(?p), \"http\")";
    by_rule(query, "filter_predicates", line);
    has(&explained(query), "Filter isLITERAL(?o)");
    let both = "SELECT * { ?s ?p ?o FILTER(STR(?p) < STR(?o)) }";
    has(&explained(both), "Filter (STR(?p) < STR(?o))");
}

#[test]
fn texts_are_compared_after_joins_that_leave_few_rows() {
    let query = "SELECT * { ?r :reviewFor ?p ; :reviewer ?x . ?s :reviewFor ?p ; :reviewer ?x FILTER(STR(?p) < STR(?x)) }";
    check_everywhere(query);
    let mut options = by_hash();
    let line = "Filter (STR(?p) < STR(?x))";
    has(&explained_with(query, &options), line);
    options.disabled_rules = vec!["defer_conditions".to_owned()];
    has_not(&explained_with(query, &options), line);
    // As many rows come out as go in.
    let all = "SELECT * { ?o :product ?p FILTER(STR(?o) < STR(?p)) ?p :label ?l }";
    has_not(&explained(all), "Filter (STR(?o) < STR(?p))");
}

#[test]
fn conditions_on_computed_values_become_those_of_joins() {
    let query =
        "SELECT * { ?o :price ?x . ?p :num1 ?n BIND(?n + 10 AS ?m) FILTER(?x >= ?n && ?x < ?m) }";
    by_rule(query, "push_down_filter", "in ranges of");
    let bound = "SELECT * { ?p :num1 ?n BIND(?n + 10 AS ?m) FILTER(!BOUND(?m) || ?m > 5) }";
    has(&explained(bound), "BOUND(?m)");
    let text = "SELECT * { ?p :label ?l BIND(REPLACE(?l, \"a\", \"b\") AS ?m) FILTER(?m > \"b\") }";
    has(&explained(text), "Filter (\"b\" < ?m)");
}

#[test]
fn comparisons_bound_partners() {
    let of = |condition: &str| {
        let pattern = "?a :vendor ?v ; :price ?x . ?b :vendor ?v ; :price ?y ; :webpage ?w";
        let query = format!("SELECT * {{ {pattern} FILTER({condition}) }}");
        check_everywhere(&query);
        explained_with(&query, &by_hash())
    };
    for condition in [
        "?x < ?y",
        "?x + 1 >= ?y && ?a != ?b",
        "LCASE(STR(?a)) = LCASE(?w)",
        "?x + ?y < 7",
        "?x - 2 * ?y + 1 <= 7.5",
        "ABS(?y - ?x) < 7",
        "?x - ?y < \"PT1H\"^^<http://www.w3.org/2001/XMLSchema#dayTimeDuration>",
    ] {
        has(&of(condition), "in ranges of");
    }
    for condition in [
        "STR(?a) < STR(?b)",
        "?x != ?y",
        "?x < ?y || ?a = ?b",
        "?x * ?y < 7",
        "ABS(?x - ?y) > 7",
        "?x - ?y < \"P1M\"^^<http://www.w3.org/2001/XMLSchema#yearMonthDuration>",
    ] {
        has_not(&of(condition), "in ranges of");
    }
}

#[test]
fn conditions_on_one_side_are_asked_below_lateral_joins() {
    let query = "SELECT * { ?p :num1 ?n LATERAL { SELECT ?x { ?o :price ?x FILTER(?x > ?n) } ORDER BY ?x LIMIT 1 } FILTER(?n > 1990) }";
    check_everywhere(query);
    let text = explained(query);
    has(&text, "{ num1 ?n } in Product if");
    has_not(&text, "Filter (\"1990\"");
}

#[test]
fn what_a_group_has_is_a_key() {
    let of = |select: &str| {
        format!(
            "SELECT * {{ {{ SELECT ?v {select} {{ ?o :vendor ?v ; :price ?x }} GROUP BY ?v }} ?o2 :vendor ?v ; :price ?y }}"
        )
    };
    let greatest = of("(MAX(?x) AS ?y)");
    check_everywhere(&greatest);
    has_not(&explained(&greatest), "compatible ?y");
    // An average may be an error.
    has(&explained(&of("(AVG(?x) AS ?y)")), "compatible ?y");
}

#[test]
fn the_greatest_of_groups_are_as_many_as_the_values() {
    let rows = |select: &str| {
        let query = format!(
            "SELECT * {{ {{ SELECT ?v ?p ({select} AS ?m) {{ ?o :vendor ?v ; :product ?p ; :price ?x }} GROUP BY ?v ?p }} ?o2 :vendor ?v ; :price ?m }}"
        );
        let plan = plan_with(&query, &FakeStatistics::shop(), &by_hash());
        plan.expect("the query plans").root.estimated_rows
    };
    // Sums may all be different.
    let (greatest, sums) = (rows("MAX(?x)"), rows("SUM(?x)"));
    assert!(greatest > sums * 2.0, "{greatest} and {sums}");
    assert!((rows("SAMPLE(?x)") - greatest).abs() < 1.0);
}

#[test]
fn parts_of_one_side_are_computed_there() {
    let query = "SELECT * { ?p :label ?l . ?w :title ?t FILTER(CONTAINS(LCASE(?t), ?l)) }";
    by_rule(query, "hoist_expressions", "CONTAINS(?part");
}

#[test]
fn what_is_computed_of_few_rows_is_computed_before_they_repeat() {
    let query = "SELECT ?k (COUNT(*) AS ?n) { ?v :label ?l . ?o :vendor ?v ; :price ?x BIND(UCASE(?l) AS ?k) } GROUP BY ?k";
    check_everywhere(query);
    let of_vendors = |text: &str| {
        let lines: Vec<&str> = text.lines().map(str::trim_start).collect();
        let computed = lines.iter().position(|line| line.starts_with("Extend ?k"));
        computed.is_some_and(|at| lines[at + 1].starts_with("StarScan by rows ?v"))
    };
    assert!(of_vendors(&explained(query)), "{}", explained(query));
    assert!(!of_vendors(&explained_without("compute_early", query)));
    // A limit asks for few rows, unless all are sorted first.
    let rows = "SELECT ?k { ?v :label ?l . ?o :vendor ?v ; :price ?x BIND(UCASE(?l) AS ?k) }";
    assert!(of_vendors(&explained(rows)));
    assert!(!of_vendors(&explained(&format!("{rows} LIMIT 10"))));
    assert!(of_vendors(&explained(&format!(
        "{rows} ORDER BY ?k LIMIT 10"
    ))));
    // What an OPTIONAL part may bind is computed of what comes out.
    let open = "SELECT * { ?o :vendor ?v OPTIONAL { ?v :label ?l } BIND(UCASE(?l) AS ?k) }";
    let plan = explained(open);
    let above = plan.lines().map(str::trim_start).nth(1);
    assert!(
        above.is_some_and(|line| line.starts_with("Extend ?k")),
        "{plan}"
    );
}

#[test]
fn computed_values_of_two_sides_join_them() {
    let query = "SELECT * { ?p :label ?l . ?w :title ?t BIND(LCASE(?l) AS ?a) BIND(LCASE(?t) AS ?b) FILTER(?a = ?b) }";
    check_everywhere(query);
    has(&explained(query), "in ranges of");
    has_not(
        &explained_without("push_down_filter", query),
        "in ranges of",
    );
}

#[test]
fn an_aggregate_of_an_aggregate_is_refused() {
    let plan = |query: &str| plan_with(query, &FakeStatistics::shop(), &PlanOptions::default());
    for nested in ["MAX(COUNT(?p))", "COUNT(?p) + MAX(1 + SUM(?p))"] {
        let refused = plan(&format!("SELECT ({nested} AS ?n) {{ ?p :label ?l }}"));
        let message = refused.err().map(|error| error.to_string());
        let message = message.unwrap_or_default();
        assert!(
            message.starts_with("an aggregate of an aggregate"),
            "{nested}: {message}"
        );
    }
    let apart = "SELECT (MAX(?n) + COUNT(*) AS ?m) { { SELECT ?l (COUNT(?p) AS ?n) { ?p :label ?l } GROUP BY ?l } }";
    assert!(plan(apart).is_ok());
}
