//! Plans can be trusted: they touch hardly more rows than the best order would, and a query that asks for more is not dearer.
//!
//! Both are about rows touched (see `plan_choices`), which do not depend on the machine. *Monotone*: let q be a query and q+p the
//! same with one more pattern or condition that leaves no more rows. Looking p up for every row of q's answer is always a way to
//! answer q+p: it reads and gives at most a row for each row before and after. So q+p may touch a tenth more than q, and that. What
//! this says exactly, and how to run more of it, is told in `docs/testing.md`.

mod estimate_errors;
mod plan_choices;
mod real_sets;

use basalt_engine::{Database, Layout, PlanReport};
use basalt_testkit::walked_query::{WalkedTriples, walked_pair};
use estimate_errors::{bsbm, bsbm_queries, triples_of, walked_queries};
use plan_choices::{Choice, Effort, Measure, compare, options, touched};
use std::time::Duration;

/// Products in the data.
const PRODUCTS: u64 = 100;
/// A query that takes longer is left out.
const TIME_MAX: Duration = Duration::from_secs(5);
/// What q+p may touch of q's rows.
const SHARE: f64 = 1.1;
/// Rows that may always be touched: less than reading one of them by index costs is not worth a look.
const FREE: f64 = 200.0;

/// A number from the environment.
fn number(name: &str, default: u64) -> u64 {
    let text = std::env::var(name).ok();
    text.and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn profile(database: &Database, text: &str) -> Option<PlanReport> {
    let options = options(TIME_MAX);
    database
        .prepare(text, &options)
        .ok()?
        .profile(&options)
        .ok()
}

/// The pairs of some seeds that break the rule, as text; and how many were compared.
fn breaches(database: &Database) -> (Vec<String>, u64) {
    let triples = WalkedTriples::of_lines(&triples_of(database));
    let first = number("BASALT_MONOTONE_SEED", 0);
    let seeds = first..first + number("BASALT_MONOTONE_QUERIES", 300);
    let (mut found, mut compared) = (Vec::new(), 0);
    for seed in seeds {
        let Some([less, more]) = walked_pair(&triples, seed) else {
            continue;
        };
        let (Some(q), Some(both)) = (profile(database, &less), profile(database, &more)) else {
            continue;
        };
        let rows = |report: &PlanReport| report.run.map_or(0, |run| run.rows) as f64;
        if rows(&both) > rows(&q) {
            continue;
        }
        compared += 1;
        let (before, after) = (touched(&q.root) as f64, touched(&both.root) as f64);
        let limit = SHARE * before + rows(&q) + 2.0 * rows(&both) + FREE;
        if after > limit {
            found.push(format!(
                "seed {seed}: {after} rows touched, {before} without what was added, {limit:.0} allowed\n{less}\n{}{more}\n{}",
                q.to_text(),
                both.to_text()
            ));
        }
    }
    (found, compared)
}

fn check_monotone(name: &str, database: &Database) {
    let (found, compared) = breaches(database);
    let asked = number("BASALT_MONOTONE_QUERIES", 300);
    assert!(compared * 4 > asked, "{name}: only {compared} pairs");
    let first: Vec<&str> = found.iter().take(3).map(String::as_str).collect();
    let first = first.join("\n");
    assert!(
        found.is_empty(),
        "{name}: {} of {compared} pairs\n{first}",
        found.len()
    );
}

#[test]
fn asking_for_more_touches_no_more_on_the_benchmark() {
    check_monotone("benchmark", &bsbm(PRODUCTS));
}

#[test]
fn asking_for_more_touches_no_more_on_real_data() {
    if let Some(files) = real_sets::files_of(real_sets::QUDT) {
        check_monotone("qudt", &real_sets::loaded(&files, Layout::Discover));
    }
}

#[test]
fn no_order_of_joins_changes_the_rows_or_is_far_better() {
    let database = bsbm(PRODUCTS);
    let mut queries = bsbm_queries(PRODUCTS, 1);
    queries.extend(walked_queries(&database, 0..60));
    let effort = Effort {
        draws: 12,
        time_max: TIME_MAX,
        query_time_max: TIME_MAX * 12,
    };
    let mut choices: Vec<Choice> = Vec::new();
    for text in &queries {
        match compare(&database, text, effort, Measure::Touched) {
            Ok(choice) => choices.extend(choice.filter(|choice| choice.plans > 1)),
            Err(message) => assert_eq!(message, "", "the rows of a plan differ"),
        }
    }
    let factor = |choice: &Choice| choice.factor(Measure::Touched);
    choices.sort_by(|a, b| factor(b).total_cmp(&factor(a)));
    assert!(choices.len() > 20, "{} queries have plans", choices.len());
    let far: Vec<&Choice> = choices.iter().filter(|c| factor(c) > 2.0).collect();
    let shown = far.first().map_or(String::new(), |choice| {
        let plans = [&choice.chosen, &choice.best].map(|ran| ran.report.to_text());
        format!(
            "{:.1}: {}\n{}",
            factor(choice),
            choice.text,
            plans.join("\n")
        )
    });
    assert!(far.len() * 10 <= choices.len(), "{}: {shown}", far.len());
}
