//! Plans, measured: `cargo xtask bench plans [SET]...` prints how much longer the plans chosen take than the best.
//!
//! For the benchmark's own queries and for 200 generated star and chain queries on each data set: up to 32 other plans of
//! each are run on one thread ([`plan_choices`]), and the median time of the chosen one is divided by that of the fastest. Printed are the
//! shares of queries within factors, the same of the chosen plan beside itself (noise), and the ten worst with both plans. Counted apart are queries that
//! have only one plan, that took too long, and of which not all plans could be tried in time. Sets that are not there (see
//! `BASALT_REAL_DATA_DIR`) are said to be skipped.

#[path = "../../cli/src/allocator.rs"]
mod allocator;
#[path = "../tests/estimate_errors/mod.rs"]
mod estimate_errors;
#[path = "../tests/plan_choices/mod.rs"]
mod plan_choices;
mod query_sets;
#[path = "../tests/real_sets/mod.rs"]
mod real_sets;

use basalt_engine::Database;
use plan_choices::{Choice, Effort, Measure, compare};
use query_sets::{Sizes, for_each_set};
use std::io::{self, Write};
use std::time::Duration;

/// How many queries there are.
const SIZES: Sizes = Sizes {
    draws: 3,
    walked: 200,
};
/// Queries shown with their plans.
const WORST: usize = 10;
/// Plans that are drawn for each query, the longest time of the chosen one, and that of all.
const EFFORT: Effort = Effort {
    draws: 32,
    time_max: Duration::from_millis(500),
    query_time_max: Duration::from_secs(6),
};
/// What a plan may take more than the best without being noticed: less than a query takes besides.
const UNNOTICED: Duration = Duration::from_micros(50);
/// Factors of time whose shares are printed.
const FACTORS: [f64; 5] = [1.1, 1.5, 2.0, 4.0, 10.0];

fn measure(
    out: &mut impl Write,
    name: &str,
    database: &Database,
    queries: &[String],
) -> io::Result<()> {
    let mut choices: Vec<Choice> = Vec::new();
    let (mut left_out, mut without_choice) = (0, 0);
    for text in queries {
        match compare(database, text, EFFORT, Measure::Time) {
            Ok(Some(choice)) if choice.plans > 1 => choices.push(choice),
            Ok(Some(_)) => without_choice += 1,
            Ok(None) => left_out += 1,
            Err(message) => return Err(io::Error::other(message)),
        }
    }
    let factor = |choice: &Choice| choice.factor(Measure::Time);
    choices.sort_by(|a, b| factor(b).total_cmp(&factor(a)));
    let plans: usize = choices.iter().map(|choice| choice.plans).sum();
    let count = choices.len().max(1);
    let cut = choices.iter().filter(|choice| !choice.is_whole).count();
    writeln!(
        out,
        "\n{name}: {} queries with {:.1} plans each, {cut} of them with fewer than could be drawn; {without_choice} have one plan, {left_out} took too long",
        choices.len(),
        plans as f64 / count as f64
    )?;
    let share = |is_within: &dyn Fn(&Choice) -> bool| {
        let within = choices.iter().filter(|choice| is_within(choice));
        100.0 * within.count() as f64 / count as f64
    };
    for limit in FACTORS {
        let (chosen, noise) = (
            share(&|choice| factor(choice) <= limit),
            share(&|choice| choice.noise() <= limit),
        );
        writeln!(
            out,
            "- within {limit}: {chosen:.1} %; beside itself {noise:.1} %"
        )?;
    }
    let unnoticed = share(&|choice| {
        factor(choice) <= 2.0 || choice.chosen.time <= choice.best.time + UNNOTICED
    });
    let touched = share(&|choice| choice.factor(Measure::Touched) <= 2.0);
    writeln!(
        out,
        "- within 2 or {} µs: {unnoticed:.1} %\n- rows touched within twice the fastest: {touched:.1} %\n",
        UNNOTICED.as_micros()
    )?;
    for choice in choices.iter().take(WORST) {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        writeln!(
            out,
            "- {:.1}: {:.3} ms, the best of {} plans {:.3} ms\n\n```text\n{}\n{}{}```\n",
            factor(choice),
            ms(choice.chosen.time),
            choice.plans,
            ms(choice.best.time),
            choice.text.trim(),
            choice.chosen.report.to_text(),
            choice.best.report.to_text()
        )?;
    }
    Ok(())
}

fn main() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for_each_set(SIZES, |name, database, queries| {
        measure(&mut out, name, database, queries)
    })
}
