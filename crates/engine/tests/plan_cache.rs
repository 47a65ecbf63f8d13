//! Queries that come again while the data changes: the answer with the cache of plans is what the oracle says.
//!
//! Each of some random queries is asked several times on each state of a store, so that it finds nothing, its algebra and
//! its plan in turn; updates and a merge come in between.

mod duel;
mod support;
mod updates;

use basalt_engine::{Database, GraphFormat, PlanReport, QueryOptions};
use basalt_testkit::random_data::{DataOptions, random_dataset};
use basalt_testkit::random_query::update::random_update;
use basalt_testkit::random_query::{QueryOptions as Grammar, random_query};
use duel::{Outcome, duel, expected, parsed};
use support::{load, matrix};
use updates::{data_of, update_options};

/// Stores.
const STORES: u64 = 24;
/// Queries of a store.
const QUERIES: u64 = 6;
/// States of a store.
const STATES: u64 = 5;

#[test]
fn a_query_that_comes_again_is_answered_from_the_data_as_it_is() {
    let grammar = Grammar {
        odd_literals: false,
        depth_max: 2,
        ..Grammar::default()
    };
    let configurations = matrix();
    let (mut asked, mut hits, mut replanned) = (0, 0, 0);
    for seed in 0..STORES {
        let configuration = &configurations[seed as usize % configurations.len()];
        let options = DataOptions {
            quads_max: 60,
            ..DataOptions::default()
        };
        let loaded = load(&random_dataset(seed, options), configuration);
        let queries: Vec<String> = (0..QUERIES)
            .map(|number| random_query(seed * QUERIES + number, grammar).to_string())
            .collect();
        for state in 0..STATES {
            let data = data_of(&loaded.database);
            for text in &queries {
                let Some(Ok(expected)) = parsed(text).map(|query| expected(&data, &query)) else {
                    continue;
                };
                for _ in 0..3 {
                    asked += 1;
                    if let Outcome::Wrong(fault) = duel(&loaded, configuration, text, &expected) {
                        unreachable!(
                            "seed {seed}, state {state}: {fault:?} of\n{text}\nin {configuration:?} on\n{}",
                            data.to_nquads()
                        );
                    }
                }
            }
            let operations = random_update(seed * STATES + state, grammar, &data);
            // One that is refused changes nothing, which is a state too.
            let _ = loaded
                .database
                .update(&operations.join(" ;\n"), &update_options(configuration));
            if state == 2 {
                loaded.database.merge_now().expect("a merge succeeds");
            }
        }
        let status = loaded.database.plan_cache_status();
        hits += status.hits;
        replanned += status.replanned;
    }
    assert!(asked > 1000, "{asked} questions");
    assert!(hits > asked / 3, "{hits} plans found for {asked} questions");
    assert!(
        replanned > asked / 10,
        "{replanned} of {asked} planned anew"
    );
}

#[test]
fn reports_tell_whether_the_plan_was_found() {
    let database = Database::in_memory();
    let text = "SELECT * { ?s <http://e/p> ?o }";
    let report = |options: &QueryOptions| -> PlanReport {
        let prepared = database.prepare(text, options).expect("a query");
        prepared.explain()
    };
    let options = QueryOptions::default();
    let found = [0; 3].map(|_| report(&options).is_cached);
    assert_eq!(found, [false, false, true]);
    assert!(report(&options).times_text().contains("cached: yes"));
    assert_eq!(report(&options).to_json()["cached"], true);
    // The unknown predicate made the plan empty; with data it must not stay so.
    database
        .load_text("<http://e/s> <http://e/p> 1 .", GraphFormat::Turtle)
        .expect("the data can be loaded");
    assert!(!report(&options).is_cached);
    let rows = database.query(text, &options).expect("an answer");
    let basalt_engine::Answer::Solutions(rows) = rows else {
        unreachable!("SELECT gives solutions")
    };
    assert_eq!(rows.into_rows().expect("rows").len(), 1);
    let union = QueryOptions {
        union_default_graph: true,
        ..QueryOptions::default()
    };
    assert!(!report(&union).is_cached);
    assert!(report(&options).is_cached);
}
