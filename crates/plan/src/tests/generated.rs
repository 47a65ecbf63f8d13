//! Thousands of queries from a small grammar: each plan must validate.

use super::{check_everywhere, plan_with};
use crate::testing::FakeStatistics;
use crate::{PlanOptions, validate};
use proptest::prelude::*;

fn term() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (0..5).prop_map(|n| format!("?v{n}")),
        1 => Just(":Product0".to_owned()),
        1 => Just(":Feature1".to_owned()),
    ]
}

fn triple() -> impl Strategy<Value = String> {
    let predicate = prop_oneof![
        8 => prop::sample::select(vec![":label", ":feature", ":product", ":num1", ":num4", ":producer"]),
        1 => Just("?v5"),
        1 => Just(":nothing"),
        1 => prop::sample::select(vec![":product/:producer", "(:type|:feature)*", "^:vendor"]),
    ];
    let object = prop_oneof![6 => term(), 1 => Just("7".to_owned()), 1 => Just("[]".to_owned())];
    (term(), predicate, object).prop_map(|(s, p, o)| format!("{s} {p} {o} ."))
}

fn condition() -> impl Strategy<Value = String> {
    prop_oneof![
        (0..6, 0..6).prop_map(|(a, b)| format!("?v{a} = ?v{b}")),
        (0..6, 0..6).prop_map(|(a, b)| format!("STR(?v{a}) = LCASE(?v{b})")),
        (0..6).prop_map(|a| format!("!bound(?v{a})")),
        (0..6, 1..9).prop_map(|(a, n)| format!("?v{a} > {n} && ?v{a} < {n}0")),
        (triple(), 0..6).prop_map(|(t, a)| format!("NOT EXISTS {{ {t} FILTER(?v{a} > 3) }}")),
        (triple(), triple()).prop_map(|(a, b)| format!("EXISTS {{ {a} OPTIONAL {{ {b} }} }}")),
        (triple(), 0..6)
            .prop_map(|(t, a)| { format!("?v{a} = 1 || EXISTS {{ {{ SELECT ?v0 {{ {t} }} }} }}") }),
    ]
}

fn group() -> impl Strategy<Value = String> {
    let block = prop::collection::vec(triple(), 0..4)
        .prop_map(|list| list.join(" "))
        .boxed();
    let leaf = block.clone();
    leaf.prop_recursive(3, 12, 3, move |inner| {
        let triples = block.clone().boxed();
        prop_oneof![
            (triples.clone(), inner.clone()).prop_map(|(a, b)| format!("{a} OPTIONAL {{ {b} }}")),
            (inner.clone(), triples.clone()).prop_map(|(a, b)| format!("{{ {a} }} {b}")),
            (inner.clone(), inner.clone(), triples.clone())
                .prop_map(|(a, b, c)| format!("{{ {a} }} UNION {{ {b} }} {c}")),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("{{ {a} }} MINUS {{ {b} }}")),
            (inner.clone(), condition()).prop_map(|(a, c)| format!("{{ {a} FILTER({c}) }}")),
            (inner.clone(), condition(), triples.clone())
                .prop_map(|(a, c, t)| format!("{t} OPTIONAL {{ {a} FILTER({c}) }}")),
            inner.clone().prop_map(|a| format!("GRAPH ?v4 {{ {a} }}")),
            inner.clone().prop_map(|a| format!("GRAPH :G1 {{ {a} }}")),
            inner
                .clone()
                .prop_map(|a| format!("{{ SELECT DISTINCT ?v0 ?v1 {{ {a} }} }}")),
            (inner.clone(), triples).prop_map(|(a, t)| format!(
                "{t} {{ SELECT ?v0 (COUNT(?v1) AS ?v2) {{ {a} }} GROUP BY ?v0 }}"
            )),
            inner.prop_map(|a| format!("{{ {a} }} VALUES (?v0 ?v2) {{ (1 UNDEF) (:Product0 2) }}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 3000, ..ProptestConfig::default() })]

    #[test]
    fn plans_validate(body in group(), condition in condition()) {
        let statistics = FakeStatistics::shop();
        let query = format!("SELECT ?v0 ?v3 {{ {body} FILTER({condition}) }} ORDER BY ?v1 LIMIT 3");
        match plan_with(&query, &statistics, &PlanOptions::default()) {
            Ok(plan) => prop_assert_eq!(validate(&plan), Ok(()), "{}", query),
            Err(error) => prop_assert_eq!(error.to_string(), "", "{}", query),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 150, ..ProptestConfig::default() })]

    #[test]
    fn plans_validate_under_all_options(body in group(), condition in condition()) {
        check_everywhere(&format!("SELECT DISTINCT ?v0 ?v1 {{ {body} FILTER({condition}) }}"));
    }
}
