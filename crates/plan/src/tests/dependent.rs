//! Plans that depend on a row around them, and subselects inside GRAPH with a variable.

use super::{check_everywhere, explained, has, has_not, plan_with};
use crate::physical::{Node, Op};
use crate::testing::FakeStatistics;
use crate::{PlanOptions, outer_slots};

#[test]
fn lateral_triples_are_joined() {
    let query = "SELECT * { ?o :product ?p LATERAL { ?p :label ?l FILTER(?l != \"x\") } }";
    has_not(&explained(query), "LateralJoin");
    check_everywhere(query);
}

#[test]
fn lateral_with_a_limit_runs_for_each_row() {
    let query = "SELECT * { ?p :producer ?x LATERAL { SELECT ?p ?o { ?o :product ?p } LIMIT 2 } }";
    let plan = explained(query);
    has(&plan, "LateralJoin");
    has(&plan, "Outer  [?p]");
    check_everywhere(query);
}

#[test]
fn lateral_takes_values_of_the_exists_around_it_through_its_left_side() {
    let query = "SELECT * { ?o :product ?p FILTER EXISTS { ?p :producer ?x LATERAL { SELECT ?o ?p ?v \
                 { ?o :vendor ?v ; :product ?p } LIMIT 1 } } }";
    let statistics = FakeStatistics::shop();
    let plan = plan_with(query, &statistics, &PlanOptions::default()).expect("the query plans");
    let laterals = lateral_joins(&plan.root);
    assert_eq!(laterals.len(), 1);
    let (left, right) = laterals[0];
    let needed = outer_slots(right);
    assert!(!needed.is_empty());
    assert!(needed.iter().all(|slot| left.schema.contains(slot)));
    check_everywhere(query);
}

/// The sides of every lateral join of a plan, those inside EXISTS included.
fn lateral_joins(node: &Node) -> Vec<(&Node, &Node)> {
    let mut found = Vec::new();
    if let Op::LateralJoin { left, right } = &node.op {
        found.push((&**left, &**right));
    }
    for child in node.op.children() {
        found.extend(lateral_joins(child));
    }
    for expr in node.op.expressions() {
        if let crate::physical::Expr::Exists(inside) = expr {
            found.extend(lateral_joins(inside));
        }
    }
    found
}

#[test]
fn what_counts_rows_inside_graph_counts_for_each_graph() {
    let limited = "SELECT * { GRAPH ?g { SELECT ?p { ?p :label ?l } ORDER BY ?l LIMIT 3 } }";
    has(&explained(limited), "SlicePer ?g offset 0 limit 3");
    check_everywhere(limited);
    let counted = "SELECT * { GRAPH ?g { SELECT (COUNT(*) AS ?n) { ?p :label ?l } } }";
    has(&explained(counted), "GraphNames");
    check_everywhere(counted);
    let grouped =
        "SELECT * { GRAPH ?g { SELECT ?l (COUNT(*) AS ?n) { ?p :label ?l } GROUP BY ?l } }";
    has_not(&explained(grouped), "GraphNames");
    check_everywhere(grouped);
    check_everywhere("SELECT * { GRAPH ?g { GRAPH ?h { ?p :label ?l } } }");
}

#[test]
fn correlated_joins_hash_the_side_that_stays() {
    let query = "SELECT * { ?p :num1 ?n FILTER EXISTS { { SELECT ?n (COUNT(*) AS ?k) { ?q :num2 ?n } GROUP BY ?n } \
                 ?p :producer ?x FILTER(?k > 2) } }";
    check_everywhere(query);
    let inner = "SELECT * { ?p :num1 ?n FILTER EXISTS { { SELECT ?x (MAX(?m) AS ?k) { ?q :producer ?x ; :num1 ?m } GROUP BY ?x } \
                 ?p :producer ?x FILTER(?k > ?n) } }";
    let plan = explained(inner);
    let group = plan.find("Group by ?x").expect("the group is in the plan");
    let join = plan[..group]
        .rfind("HashJoin")
        .expect("it is joined by hash");
    let sides: Vec<&str> = plan[join..].lines().take(2).collect();
    let group_is_left = sides[1].contains("Group by") || sides[1].contains("Project");
    assert_eq!(sides[0].contains("build left"), group_is_left, "{plan}");
}
