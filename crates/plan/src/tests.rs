//! Plans over made-up statistics: every plan validates, with every rule off and every join forced,
//! and the benchmark-like queries get the plans one would draw by hand.

mod conditions;
mod dependent;
mod generated;
mod key_filters;
mod known_plans;
mod shop_queries;

use crate::physical::Plan;
use crate::testing::FakeStatistics;
use crate::{ForceJoin, PlanError, PlanOptions, RULES, explain, plan, validate};
use spargebra::SparqlParser;

const PREFIX: &str = "PREFIX : <http://ex/> PREFIX xsd: <http://www.w3.org/2001/XMLSchema#> ";

fn plan_with(
    query: &str,
    statistics: &FakeStatistics,
    options: &PlanOptions,
) -> Result<Plan, PlanError> {
    let text = format!("{PREFIX}{query}");
    let query = SparqlParser::new()
        .parse_query(&text)
        .expect("the test's query parses");
    plan(&query, None, statistics, options)
}

/// The EXPLAIN text of a query under the default options, estimates cut off.
fn explained(query: &str) -> String {
    explained_over(query, &FakeStatistics::shop())
}

fn explained_over(query: &str, statistics: &FakeStatistics) -> String {
    let plan = plan_with(query, statistics, &PlanOptions::default()).expect("the query plans");
    let text = explain(&plan, statistics, &|id| statistics.name(id), None).to_text();
    let lines = text
        .lines()
        .map(|line| line.split("  rows=").next().unwrap_or(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// The EXPLAIN text of a query under some options.
fn explained_with(query: &str, options: &PlanOptions) -> String {
    let statistics = FakeStatistics::shop();
    let plan = plan_with(query, &statistics, options).expect("the query plans");
    explain(&plan, &statistics, &|id| statistics.name(id), None).to_text()
}

/// The EXPLAIN text of a query with a rule off.
fn explained_without(rule: &str, query: &str) -> String {
    let disabled_rules = vec![rule.to_owned()];
    let options = PlanOptions {
        disabled_rules,
        ..PlanOptions::default()
    };
    explained_with(query, &options)
}

/// Plans a query under all options and checks every plan.
fn check_everywhere(query: &str) {
    let statistics = FakeStatistics::shop();
    let mut matrix = vec![PlanOptions::default()];
    for force in [ForceJoin::Hash, ForceJoin::Index, ForceJoin::Merge] {
        matrix.push(PlanOptions {
            force_join: Some(force),
            ..PlanOptions::default()
        });
    }
    for seed in 0..4 {
        let spread = (seed % 2 == 0).then_some(100.0);
        matrix.push(PlanOptions {
            order_draw: Some(crate::OrderDraw { seed, spread }),
            ..PlanOptions::default()
        });
    }
    for rule in RULES {
        let disabled_rules = vec![(*rule).to_owned()];
        matrix.push(PlanOptions {
            disabled_rules,
            ..PlanOptions::default()
        });
    }
    let disabled_rules = RULES.iter().map(|rule| (*rule).to_owned()).collect();
    matrix.push(PlanOptions {
        disabled_rules,
        ..PlanOptions::default()
    });
    matrix.push(PlanOptions {
        union_default_graph: true,
        ..PlanOptions::default()
    });
    matrix.push(PlanOptions {
        force_join: Some(ForceJoin::Hash),
        reduce_always: true,
        ..PlanOptions::default()
    });
    for options in matrix {
        let planned = plan_with(query, &statistics, &options);
        let checked = planned.map(|plan| {
            let tree = explain(&plan, &statistics, &|id| statistics.name(id), None);
            let text = tree.to_text();
            (validate(&plan), text)
        });
        match checked {
            Ok((Ok(()), text)) => assert!(!text.is_empty()),
            Ok((Err(why), text)) => {
                assert_eq!(why, "", "{query}\n{options:?}\n{text}");
            }
            Err(error) => assert_eq!(error.to_string(), "", "{query}"),
        }
    }
}

fn has(text: &str, part: &str) {
    assert!(text.contains(part), "{part:?} is not in\n{text}");
}

fn has_not(text: &str, part: &str) {
    assert!(!text.contains(part), "{part:?} is in\n{text}");
}

#[test]
fn nested_services_are_planned_in_bounded_time() {
    let statistics = FakeStatistics::shop();
    let options = PlanOptions::default();
    let service = "SERVICE <http://e/> { ?s ?q ?x }";
    let nest = |depth: usize| {
        let open = format!("?s :label ?l . {service} OPTIONAL {{ ").repeat(depth);
        format!("SELECT * {{ {open} ?s :label ?l {} }}", "}".repeat(depth))
    };
    let start = std::time::Instant::now();
    plan_with(&nest(40), &statistics, &options).expect("it has a plan");
    assert!(start.elapsed() < std::time::Duration::from_secs(20));
    let deep = format!(
        "SELECT * {{ SERVICE <http://e/> {{ {{ ?s ?p ?o }} {} }} }}",
        "UNION { ?s ?p ?o }".repeat(500)
    );
    let error = plan_with(&deep, &statistics, &options).expect_err("it is too deep");
    assert_eq!(error.to_string(), "the query has too many nested patterns");
}

#[test]
fn unknown_constants_prune() {
    has(
        &explained("SELECT * { ?s :nothing ?o . ?s :label ?l }"),
        "Empty",
    );
    has_not(
        &explained("SELECT * { ?s :label ?l OPTIONAL { ?s :nothing ?o } }"),
        "Join",
    );
    has_not(
        &explained("SELECT * { { ?s :label ?l } UNION { ?s :nothing ?o } }"),
        "Union",
    );
    has(
        &explained("SELECT * { :unknown (:nothing|:label)* ?o }"),
        "PathJoin",
    );
}

#[test]
fn repeated_slots_are_honoured() {
    has(
        &explained("SELECT * { ?x :label ?x }"),
        "PatternScan ?x label ?x",
    );
    let text = explained("SELECT * { ?o :vendor ?v ; :publisher ?v }");
    has(&text, "sameTerm(?v, ?same#");
}

#[test]
fn equality_of_resources_becomes_a_join() {
    let query = "SELECT ?o { :Product0 :feature ?f . ?o :feature ?g FILTER(?f = ?g) }";
    let text = explained(query);
    has_not(&text, "(?f = ?g)");
    has(&text, "StarJoin by object feature");
    // With one irregular value the sides may be literals, whose equality is not that of terms.
    let mut statistics = FakeStatistics::shop();
    let feature = statistics.id("feature");
    let one = crate::statistics::IrregularStatistics {
        quads: 1,
        subjects: 1,
        objects: 1,
    };
    statistics.irregular.insert(feature, one);
    has(&explained_over(query, &statistics), "(?f = ?g)");
}

#[test]
fn equality_of_values_becomes_a_join_by_keys() {
    let text = explained("SELECT * { ?a :num1 ?x . ?b :num2 ?y FILTER(?x = ?y) }");
    has(&text, "HashJoin on ?key");
    has(&text, "(?x = ?y)");
    let text = explained("SELECT * { ?a :num1 ?x . ?b :num2 ?y FILTER(?x + 1 = ?y) }");
    has(&text, "HashJoin on ?key");
    has(&text, "equality_key(?y)");
    has(&text, "= ?y)");
    // Between a float, which an unknown value may be, and an integer equality is not transitive.
    let text = explained("SELECT * { ?a :num1 ?x . ?b ?p ?y FILTER(?x = ?y) }");
    has_not(&text, "?key");
    // Before an OPTIONAL rows without a key stay.
    let text = explained("SELECT * { ?a :num1 ?x OPTIONAL { ?b :num2 ?y FILTER(?x + 1 = ?y) } }");
    has(&text, "HashJoin left outer on ?key");
    has(&text, "COALESCE(equality_key((?x + ");
}

#[test]
fn equality_of_strings_becomes_a_join_of_parts_that_share_nothing() {
    let query = |condition: &str| {
        format!(
            "SELECT * {{ ?o :vendor ?v . ?p :label ?l ; :num1 ?n FILTER({condition} && ?n > 3) }}"
        )
    };
    let text = explained(&query("STR(?v) = LCASE(STR(?l))"));
    has(&text, "HashJoin on ?key");
    has_not(&text, "(STR(?v) = ");
    // Of the slot of a part that is a key as it is nothing is computed.
    let text = explained(&query("STR(?v) = ?l"));
    has(&text, "?l := STR(?v)");
    has_not(&text, "= ?l)");
    // Strings that may have languages are compared again.
    let text = explained(&query("LCASE(?v) = STRLANG(?l, \"en\")"));
    has(&text, "HashJoin on ?key");
    has(&text, "(LCASE(?v) = STRLANG(?l, ");
    // Parts that share a slot are joined by it.
    has_not(&explained(&query("STR(?p) = STR(?l)")), "?key");
    // Each row is rather compared with few.
    let few = "SELECT * { VALUES ?v { 1 2 } ?p :label ?l FILTER(STR(?v) = STR(?l)) }";
    has_not(&explained(few), "?key");
    let one = "SELECT * { :Product0 :label ?v . ?p :label ?l FILTER(STR(?v) = STR(?l)) }";
    has_not(&explained(one), "?key");
    let rare = "SELECT * { ?q :num1 7 ; :text1 ?v . ?p :label ?l FILTER(STR(?v) = STR(?l)) }";
    has_not(&explained(rare), "?key");
    let common =
        "SELECT * { ?q :producer :Producer0 ; :text1 ?v . ?p :label ?l FILTER(STR(?v) = STR(?l)) }";
    has(&explained(common), "HashJoin on ?key");
    // One that is not bound in every row has a key where it is, if no other part may bind it.
    let optional = "?p :label ?l OPTIONAL { ?p :num4 ?x } ?o :vendor ?v";
    let text = explained(&format!(
        "SELECT * {{ {optional} FILTER(STR(?x) = STR(?v)) }}"
    ));
    has(&text, "HashJoin on ?key");
    let made = "{ SELECT ?y { ?p :label ?l BIND(STRLEN(?l) AS ?y) } }";
    let text = explained(&format!(
        "SELECT * {{ {made} ?q :label ?m FILTER(?y = STRLEN(?m)) }}"
    ));
    has(&text, "?key#");
    has(&text, " := ?y");
    let twice = format!("{made} {{ SELECT ?y {{ ?o :vendor ?v OPTIONAL {{ ?v :label ?y }} }} }}");
    let text = explained(&format!(
        "SELECT * {{ {twice} ?q :label ?m FILTER(?y = STRLEN(?m)) }}"
    ));
    has_not(&text, "?key");
}

#[test]
fn optional_folds_only_where_the_object_is_fresh() {
    has(
        &explained("SELECT * { ?p :label ?l OPTIONAL { ?p :num4 ?n } }"),
        "optional num4",
    );
    let shared = "SELECT * { ?p :label ?l ; :num1 ?n OPTIONAL { ?p :num4 ?n } }";
    has(&explained(shared), "left outer");
    let later = "SELECT * { ?p :label ?l OPTIONAL { ?p :num4 ?n } ?q :num1 ?n }";
    has(&explained(later), "compatible ?n");
}

#[test]
fn conditions_come_to_the_patterns_that_they_are_about() {
    // The OPTIONAL part binds what comes after it, so it stays where it is.
    let query = "SELECT * { ?p :label ?l OPTIONAL { ?p :num1 ?n . ?q :num1 ?n } ?q :producer ?m FILTER(STRLEN(?l) > 3) }";
    let text = explained(query);
    has(&text, "Feature, Type if (");
    has_not(&text, "Filter (\"3\"");
    let text = explained_without("push_down_filter", query);
    has(&text, "Filter (\"3\"");
    let grouped = "SELECT * { { SELECT ?p (COUNT(?o) AS ?n) { ?o :product ?p ; :num1 ?x } GROUP BY ?p } ?p :label ?l FILTER(?n > 1) }";
    has(&explained(grouped), "Filter (\"1\"");
}

#[test]
fn absence_becomes_an_anti_join() {
    let text = explained(
        "SELECT ?p { ?p :num1 1 OPTIONAL { ?p :feature :Feature0 ; :label ?l } FILTER(!bound(?l)) }",
    );
    has(&text, "StarJoin anti by subject");
    let text = explained("SELECT ?p { ?p :num1 1 FILTER NOT EXISTS { ?p :feature :Feature0 } }");
    has(&text, "StarJoin anti by subject");
    let text = explained("SELECT ?p { ?p :num1 1 FILTER EXISTS { ?o :product ?p } }");
    has(&text, " semi");
}

#[test]
fn exists_over_uncertain_slots_is_correlated_or_of_parts() {
    let query = "SELECT * { ?p :label ?l OPTIONAL { ?p :num4 ?n } FILTER EXISTS { ?q :num1 ?n } }";
    let text = explained_without("split_unbound", query);
    has(&text, "exists:");
    has(&text, "Outer  [?n]");
    let text = explained(query);
    has(&text, "semi on ?n");
    has(&text, "Filter BOUND(?n)");
    has(&text, "Filter !BOUND(?n)");
}

#[test]
fn rows_that_lack_a_slot_are_joined_apart() {
    let query = "SELECT * { :Product1 :producer ?m OPTIONAL { ?m :country ?c } OPTIONAL { ?c :label ?l } OPTIONAL { ?c :comment ?t } }";
    let text = explained(query);
    assert_eq!(text.matches("Filter BOUND(?c)").count(), 1, "{text}");
    assert_eq!(text.matches("Filter !BOUND(?c)").count(), 1, "{text}");
    // To group all offers twice is more than to look up all countries.
    let dear = "SELECT * { { SELECT ?p (MAX(?v) AS ?f) { ?o :product ?p ; :vendor ?v } GROUP BY ?p } OPTIONAL { ?f :country ?c } }";
    has_not(&explained(dear), "BOUND(?f)");
    let query = "SELECT * { :Product1 :producer ?m BIND(IRI(STR(?m)) AS ?x) ?x :label ?l }";
    has(&explained(query), "StarJoin by subject ?x");
    let query =
        "SELECT * { VALUES (?x ?m) { (:Product1 UNDEF) (:Product2 UNDEF) } ?x :producer ?m }";
    has(&explained(query), "StarJoin by subject ?x");
}

#[test]
fn minus_without_shared_variables_is_dropped() {
    has_not(
        &explained("SELECT * { ?p :label ?l MINUS { ?x :num1 ?y } }"),
        "num1",
    );
    has(
        &explained("SELECT * { ?p :label ?l MINUS { ?p :num1 1 } }"),
        " anti",
    );
}

#[test]
fn limits_reach_the_sort() {
    let sorted = "SELECT ?p { ?p :label ?l } ORDER BY ?l LIMIT 5 OFFSET 2";
    has(&explained(sorted), "OrderBy ?l first 7");
    let distinct = "SELECT DISTINCT ?l { ?p :label ?l } ORDER BY ?l LIMIT 5";
    has(&explained(distinct), "OrderBy ?l first 5");
    // The order needs a column that DISTINCT must not see.
    let hidden = "SELECT DISTINCT ?p { ?p :label ?l } ORDER BY ?l LIMIT 5";
    has_not(&explained(hidden), "first");
}

#[test]
fn counting_reads_no_columns() {
    let text = explained("SELECT (COUNT(*) AS ?n) { ?p :label ?l ; :num1 ?x }");
    assert!(
        text.lines().last().is_some_and(|line| line.ends_with("[]")),
        "{text}"
    );
}

#[test]
fn counts_of_one_pattern_come_from_statistics() {
    for counted in [
        "SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p",
        "SELECT DISTINCT ?p { ?s ?p ?o } ORDER BY ?p",
        "SELECT (COUNT(DISTINCT ?s) AS ?n) { ?s ?p ?o }",
        "SELECT ?c (COUNT(DISTINCT ?s) AS ?n) { ?s :type ?c } GROUP BY ?c HAVING (?n > 1)",
        "SELECT ?p (COUNT(?o) AS ?n) { ?s ?p ?o FILTER (?p != :label) } GROUP BY ?p",
        "SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }",
        "SELECT (COUNT(*) AS ?n) { { SELECT ?s { ?s :type :Type0 } } }",
    ] {
        has(&explained(counted), "CountScan");
        check_everywhere(counted);
    }
    let sets = "SELECT DISTINCT ?p FROM :G1 FROM :G2 { ?s ?p ?o }";
    has(&explained(sets), "CountScan");
}

#[test]
fn triples_of_merged_graphs_are_counted_where_repeats_can_be() {
    let mut statistics = FakeStatistics::shop();
    let all = "SELECT (COUNT(*) AS ?n) FROM :G1 FROM :G2 { ?s :type ?c }";
    let of_object = "SELECT (COUNT(*) AS ?n) FROM :G1 FROM :G2 { ?s :type :Type0 }";
    let by_object = "SELECT ?c (COUNT(*) AS ?n) FROM :G1 FROM :G2 { ?s :type ?c } GROUP BY ?c";
    for counted in [all, of_object, by_object] {
        has(&explained_over(counted, &statistics), "CountScan");
        check_everywhere(counted);
    }
    // With irregular quads a triple may be in two of the graphs; those are found for all objects together.
    let some = crate::statistics::IrregularStatistics {
        quads: 100,
        subjects: 10,
        objects: 10,
    };
    let predicate = statistics.id("type");
    statistics.irregular.insert(predicate, some);
    has(&explained_over(all, &statistics), "CountScan");
    has_not(&explained_over(of_object, &statistics), "CountScan");
    has_not(&explained_over(by_object, &statistics), "CountScan");
}

#[test]
fn what_statistics_do_not_tell_is_counted_by_reading() {
    for read in [
        // Other conditions, other keys, other aggregates.
        "SELECT ?p (COUNT(*) AS ?n) { ?s ?p ?o FILTER isIRI(?o) } GROUP BY ?p",
        "SELECT ?p ?o (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?p ?o",
        "SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?s",
        "SELECT ?p (SAMPLE(?o) AS ?n) { ?s ?p ?o } GROUP BY ?p",
        "SELECT ?p (COUNT(?x) AS ?n) { ?s ?p ?o } GROUP BY ?p",
        "SELECT (COUNT(DISTINCT *) AS ?n) { ?s ?p ?o }",
        // A variable twice, a constant subject, no inverse, more than one pattern.
        "SELECT (COUNT(*) AS ?n) { ?s ?p ?s }",
        "SELECT ?p (COUNT(*) AS ?n) { :Product0 ?p ?o } GROUP BY ?p",
        "SELECT ?l (COUNT(*) AS ?n) { ?s :webpage ?l } GROUP BY ?l",
        "SELECT (COUNT(*) AS ?n) { ?s :type ?c ; :label ?l }",
        // The subject comes from outside.
        "SELECT * { ?s :type ?c FILTER EXISTS { SELECT (COUNT(*) AS ?n) { ?s :label ?l } } }",
    ] {
        let text = explained(read);
        let correlated = read.contains("EXISTS");
        assert!(correlated || !text.contains("CountScan"), "{text}");
        check_everywhere(read);
    }
}

#[test]
fn graphs_are_part_of_the_join() {
    let text = explained("SELECT * { GRAPH ?g { ?p :label ?l . ?o :product ?p } }");
    has(&text, "graph ?g");
    has(&explained("SELECT * { GRAPH ?g {} }"), "GraphNames");
    has(
        &explained("SELECT * FROM :G1 FROM :G2 { ?s :label ?o }"),
        "merge of 2 graphs",
    );
    has(
        &explained("SELECT * FROM NAMED :G1 { GRAPH ?g { ?s :label ?o } }"),
        "of 1",
    );
    has(
        &explained("SELECT * FROM NAMED :G1 { ?s :label ?o }"),
        "Empty",
    );
    has(
        &explained("SELECT * FROM NAMED :G1 { GRAPH :G2 { ?s :label ?o } }"),
        "Empty",
    );
}

#[test]
fn blank_nodes_are_variables_nobody_can_name() {
    let text = explained("SELECT * { _:a :product ?p . ?p :producer _:b . _:b :country :US }");
    has(&text, "[?p]");
    has(&text, "StarJoin by object producer");
}

#[test]
fn a_small_group_is_distributed_over_union() {
    let text = explained(
        "SELECT * { ?r :reviewFor :Product0 { ?r :rating1 ?s } UNION { ?r :rating2 ?s } }",
    );
    has(&text, "reviewFor Product0; rating1 ?s");
    has_not(&text, "HashJoin");
    let all = explained("SELECT * { ?r :text ?x { ?r :rating1 ?s } UNION { ?r :rating2 ?s } }");
    has(&all, "Union");
    // What is drawn for a row is drawn once, whatever joins it.
    let drawn = explained(
        "SELECT * { ?r :reviewFor :Product0 { ?r :text ?x OPTIONAL { ?r :label ?y } FILTER(RAND() < 0.5) }
         { ?r :rating1 ?y } UNION { ?r :rating2 ?z } }",
    );
    assert_eq!(drawn.matches("text ?x").count(), 1, "{drawn}");
}

#[test]
fn profiles_are_shown() {
    let statistics = FakeStatistics::shop();
    let plan = plan_with(
        "SELECT * { ?s :label ?o }",
        &statistics,
        &PlanOptions::default(),
    )
    .expect("the query plans");
    let profile = vec![
        crate::NodeProfile {
            rows: 7,
            own_nanos: 2_500_000,
            is_started: true,
            is_complete: true,
            ..crate::NodeProfile::default()
        };
        plan.node_count
    ];
    let tree = explain(
        &plan,
        &statistics,
        &|id| statistics.name(id),
        Some(&profile),
    );
    has(&tree.to_text(), "actual=7 time=2.500ms own=2.500ms");
}

/// The alternatives of a plan by operator, from the root.
fn alternatives(query: &str) -> Vec<(String, String)> {
    fn collect(node: &crate::ExplainedNode, out: &mut Vec<(String, String)>) {
        if let Some((way, cost)) = &node.alternative {
            assert!(*cost >= node.estimated_cost, "{} beside {way}", node.text);
            let access = node.access.clone().unwrap_or_default();
            out.push((format!("{} {access}", node.operator()), way.clone()));
        }
        node.below().for_each(|below| collect(below, out));
    }
    let statistics = FakeStatistics::shop();
    let plan = plan_with(query, &statistics, &PlanOptions::default()).expect("the query plans");
    let tree = explain(&plan, &statistics, &|id| statistics.name(id), None);
    let mut out = Vec::new();
    collect(&tree, &mut out);
    out
}

#[test]
fn what_came_second_is_said() {
    let joins = alternatives("SELECT * { ?o :vendor ?v ; :price ?c . ?v :country :US }");
    let other_way = |(chosen, other): &(String, String)| match chosen.as_str() {
        "HashJoin " => other.starts_with("StarJoin"),
        "StarJoin subject" => other == "HashJoin" || other.starts_with("StarJoin by object"),
        _ => other == "HashJoin" || other == "StarJoin by subject",
    };
    let is_join = |(chosen, _): &&(String, String)| chosen.contains("Join");
    assert!(joins.iter().filter(is_join).any(other_way), "{joins:?}");
    let scans = alternatives("SELECT * { ?v :country :US ; :label ?l }");
    let other_access = |(chosen, other): &(String, String)| {
        chosen.starts_with("StarScan object") && other == "StarScan by rows"
            || chosen == "StarScan rows" && other.starts_with("StarScan by object")
    };
    assert!(scans.iter().any(other_access), "{scans:?}");
    let exists = "SELECT ?p { ?p :num1 1 FILTER EXISTS { ?o :product ?p } }";
    let exists = alternatives(exists);
    assert!(!exists.is_empty(), "an EXISTS can always run for each row");
    assert_eq!(alternatives("SELECT * { ?s :label ?l }"), []);
}
