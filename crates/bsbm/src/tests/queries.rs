//! Parameters and query texts.

use super::*;
use crate::{Draw, ParameterPool, QueryForm, UseCase, Value, mix, query_text};
use std::collections::{HashMap, HashSet};

const USE_CASES: [UseCase; 3] = [UseCase::Explore, UseCase::Bi, UseCase::ExploreAndUpdate];

fn draw(mix: i64, position: u32) -> Draw {
    Draw {
        seed: 808_080,
        mix,
        position,
    }
}

fn pool(products: u64) -> ParameterPool {
    ParameterPool::from_options(products, crate::DEFAULT_SEED).expect("valid options")
}

#[test]
fn all_queries_parse_with_many_draws() {
    let pool = pool(1_000);
    let parser = spargebra::SparqlParser::new();
    for use_case in USE_CASES {
        for number in 1..=use_case.queries() {
            let mut texts = HashSet::new();
            for mix in 0..50 {
                let mut parameters = pool
                    .draw(use_case, number, draw(mix, 3))
                    .expect("the number is valid");
                let form = use_case.form(number).expect("the number is valid");
                if use_case == UseCase::ExploreAndUpdate && number == 1 {
                    let block = format!("<a:b> <a:c> \"{mix}\" .");
                    parameters.set("Triples", Value::Triples(block));
                }
                let text = query_text(use_case, number, &parameters).expect("complete");
                let fault = match form {
                    QueryForm::Update => parser.clone().parse_update(&text).err(),
                    _ => parser.clone().parse_query(&text).err(),
                };
                assert!(fault.is_none(), "{text}\n{fault:?}");
                texts.insert(text);
            }
            assert!(texts.len() > 1, "{use_case:?} {number}");
        }
    }
}

#[test]
fn forms_match_the_texts() {
    let pool = pool(100);
    for number in 1..=12 {
        let parameters = pool.draw(UseCase::Explore, number, draw(0, 0));
        let text = parameters.and_then(|p| query_text(UseCase::Explore, number, &p));
        let text = text.expect("the number is valid");
        let is_graph = text.contains("\nDESCRIBE ") || text.contains("\nCONSTRUCT ");
        let expected = if is_graph {
            QueryForm::Graph
        } else {
            QueryForm::Select
        };
        assert_eq!(UseCase::Explore.form(number), Some(expected));
    }
}

#[test]
fn mixes_hold_the_published_numbers_of_queries() {
    let count = |use_case: UseCase| {
        let mut counts = HashMap::new();
        for number in mix(use_case) {
            *counts.entry(*number).or_insert(0) += 1;
        }
        let all = (1..=use_case.queries()).map(|n| counts.get(&n).copied().unwrap_or(0));
        all.collect::<Vec<u32>>()
    };
    assert_eq!(
        count(UseCase::Explore),
        [1, 6, 1, 1, 2, 0, 4, 2, 4, 2, 1, 1]
    );
    assert_eq!(count(UseCase::Bi), [1, 2, 1, 1, 3, 4, 2, 1]);
    assert_eq!(
        count(UseCase::ExploreAndUpdate),
        [2, 3, 1, 6, 1, 1, 2, 0, 4, 2, 4, 2, 1, 1]
    );
    for use_case in USE_CASES {
        assert_eq!(UseCase::from_name(use_case.name()), Some(use_case));
    }
    assert_eq!(UseCase::from_name("other"), None);
}

#[test]
fn unknown_numbers_and_missing_parameters_give_nothing() {
    let pool = pool(10);
    for use_case in USE_CASES {
        for number in [0, use_case.queries() + 1, 255] {
            assert!(pool.draw(use_case, number, draw(0, 0)).is_none());
            assert!(query_text(use_case, number, &Default::default()).is_none());
        }
    }
    assert!(query_text(UseCase::Explore, 1, &Default::default()).is_none());
}

#[test]
fn draws_depend_on_seed_mix_and_position_alone() {
    let pool = pool(1_000);
    let first = pool.draw(UseCase::Explore, 2, draw(5, 1));
    pool.draw(UseCase::Explore, 1, draw(5, 0));
    assert_eq!(first, pool.draw(UseCase::Explore, 2, draw(5, 1)));
    assert_ne!(first, pool.draw(UseCase::Explore, 2, draw(5, 2)));
    assert_ne!(first, pool.draw(UseCase::Explore, 2, draw(-5, 1)));
    let other = Draw {
        seed: 1,
        ..draw(5, 1)
    };
    assert_ne!(first, pool.draw(UseCase::Explore, 2, other));
}

#[test]
fn parameters_name_things_that_exist() {
    let text = text_of(&options(100));
    let triples = triples(&text);
    let subjects: HashSet<&str> = triples.iter().map(|t| t.subject).collect();
    let labels: HashSet<&str> = triples.iter().map(|t| t.object).collect();
    let pool = pool(100);
    for use_case in [UseCase::Explore, UseCase::Bi] {
        for number in 1..=use_case.queries() {
            for mix in 0..20 {
                let drawn = pool.draw(use_case, number, draw(mix, 0));
                for (name, value) in drawn.expect("the number is valid").iter() {
                    match value {
                        Value::Iri(iri) if iri.contains("/instances/") => {
                            assert!(subjects.contains(iri.as_str()), "{name}: {iri}");
                        }
                        Value::Text(word) => {
                            let has_word = |label: &&str| label.contains(word.as_str());
                            assert!(labels.iter().any(has_word), "{word}");
                        }
                        _ => {}
                    }
                }
            }
        }
    }
}

#[test]
fn features_are_distinct_and_fit_the_type() {
    let world = crate::world::World::new(1_000, crate::DEFAULT_SEED).expect("valid options");
    let pool = pool(1_000);
    let number = |value: Option<&Value>, name: &str| -> u64 {
        let Some(Value::Iri(iri)) = value else {
            return 0;
        };
        let digits = iri.rsplit(name).next().expect("a split has a part");
        digits.parse().expect("a number")
    };
    for mix in 0..2_000 {
        let drawn = pool.draw(UseCase::Explore, 4, draw(mix, 6));
        let drawn = drawn.expect("the number is valid");
        let leaf = number(drawn.get("ProductType"), "ProductType");
        assert!(leaf > world.tree.types() - world.tree.leaves());
        let features = ["Feature1", "Feature2", "Feature3"]
            .map(|name| number(drawn.get(name), "ProductFeature"));
        assert_eq!(features.iter().collect::<HashSet<_>>().len(), 3);
        for feature in features {
            let mut lineage = world.tree.lineage(leaf);
            assert!(lineage.any(|of| world.tree.features_of(of).contains(&feature)));
        }
        for name in ["X", "Y"] {
            let Some(Value::Integer(value)) = drawn.get(name) else {
                unreachable!("{name} is an integer");
            };
            assert!((1..=500).contains(value));
        }
    }
}

#[test]
fn months_follow_one_another() {
    let pool = pool(10);
    let mut starts = HashSet::new();
    for mix in 0..500 {
        let drawn = pool.draw(UseCase::Bi, 3, draw(mix, 1)).expect("valid");
        let dates: Vec<&str> = drawn
            .iter()
            .filter_map(|(_, value)| match value {
                Value::Date(date) => Some(date.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(dates.len(), 3);
        assert!("2007-06-20" <= dates[0] && dates[0] < dates[1] && dates[1] < dates[2]);
        assert!(dates[2] <= "2008-06-19");
        starts.insert(dates[0].to_owned());
    }
    assert!(starts.len() > 200);
}

#[test]
fn levels_are_drawn_evenly_and_on_demand() {
    let pool = pool(1_000);
    let mut levels = [0; 4];
    for mix in 0..4_000 {
        let drawn = pool.draw(UseCase::Bi, 8, draw(mix, 12)).expect("valid");
        levels[drawn.level().expect("a level is drawn")] += 1;
        let lower = pool.draw(UseCase::Bi, 4, draw(mix, 4)).expect("valid");
        assert!(lower.level() >= Some(1));
    }
    assert!(levels.iter().all(|count| (850..1_150).contains(count)));
    let root = pool.draw_at_level(UseCase::Bi, 8, draw(0, 0), 0);
    let iri = root.as_ref().and_then(|p| p.get("ProductType"));
    let expected = Value::Iri(format!("{INSTANCES}ProductType1"));
    assert_eq!(iri, Some(&expected));
}

#[test]
fn drilling_down_goes_from_parent_to_child() {
    let world = crate::world::World::new(1_000, crate::DEFAULT_SEED).expect("valid options");
    let pool = pool(1_000);
    for mix in 0..50 {
        let flight = pool
            .drill_down(UseCase::Bi, 7, draw(mix, 2), 0)
            .expect("the number is valid");
        let levels: Vec<_> = flight.iter().filter_map(|p| p.level()).collect();
        assert_eq!(levels, [0, 1, 2, 3]);
        let types: Vec<u64> = flight
            .iter()
            .filter_map(|p| p.product_type())
            .map(|(_, number)| number)
            .collect();
        for pair in types.windows(2) {
            assert_eq!(world.tree.parent(pair[1]), Some(pair[0]));
        }
        let countries: HashSet<String> = flight
            .iter()
            .map(|p| format!("{:?}", p.get("Country")))
            .collect();
        assert_eq!(countries.len(), 1);
    }
    let single = pool.drill_down(UseCase::Bi, 2, draw(0, 0), 0);
    assert_eq!(single.map(|flight| flight.len()), Some(1));
    assert!(UseCase::Bi.can_drill_down(7) && !UseCase::Bi.can_drill_down(2));
}

#[test]
fn values_are_escaped() {
    let mut parameters = crate::Parameters::default();
    parameters.set("Word", Value::Text("a\"b\\c\n${Word}".into()));
    let text = query_text(UseCase::Explore, 6, &parameters).expect("complete");
    assert!(text.contains(r#""a\"b\\c\n${Word}""#), "{text}");
    parameters.set("Product", Value::Iri("http://x/> ?s ?p ?o".into()));
    let text = query_text(UseCase::Explore, 2, &parameters).expect("complete");
    assert!(text.contains("<http://x/%3E%20?s%20?p%20?o>"), "{text}");
}

#[test]
fn damaged_parameter_files_are_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let good = serde_json::to_value(pool(10)).expect("parameters can be written");
    let refused = |value: &serde_json::Value| {
        let path = folder.path().join("parameters.json");
        std::fs::write(&path, value.to_string()).expect("the folder can be written");
        ParameterPool::open(folder.path()).is_err()
    };
    assert!(!refused(&good));
    for (pointer, damage) in [
        ("/version", "2"),
        ("/today", "\"2020-01-01\""),
        ("/products", "11"),
        ("/level_last_type", "[]"),
        ("/level_last_type", "[1]"),
        ("/level_last_type", "[1, 2, 7]"),
        ("/level_last_type", "[1, 3, 8]"),
        ("/types", "[]"),
        ("/types/0/parent", "1"),
        ("/types/3/parent", "5"),
        ("/types/3/parent", "1"),
        ("/types/3/last_feature", "0"),
        ("/types/3/last_feature", "18446744073709551615"),
        ("/producer_last_product", "[0]"),
        ("/vendor_last_offer", "[]"),
        ("/site_last_review", "[0, 7, 7]"),
        ("/label_words", "[]"),
        ("/label_words", "7"),
    ] {
        let mut damaged = good.clone();
        let place = damaged.pointer_mut(pointer).expect("the place exists");
        *place = serde_json::from_str(damage).expect("valid json");
        assert!(refused(&damaged), "{pointer} {damage}");
    }
    assert!(ParameterPool::open(&folder.path().join("nothing here")).is_err());
}
