//! How good the plans are that the planner chooses, beside others for the same queries.
//!
//! Of each query the planner's plan is compared with a sample of all that its join search could have chosen
//! ([`OrderDraw`]): half of the draws are near the chosen one, since costs are only shaken, half are from anywhere. Plans that do the same are
//! one. Runs are on one thread. What is compared is either time, the least of several runs, or *rows touched*: rows that operators
//! read from the store, and rows that joins give ([`touched`]).
//!
//! Invariant: all plans of a query have the same number of rows, or [`compare`] says so.

// Each program uses a part of this.
#![allow(dead_code)]

use basalt_engine::{Database, ExplainedNode, OrderDraw, PlanReport, QueryOptions};
use std::collections::HashSet;
use std::time::Duration;

/// By how much costs are shaken for plans near the chosen one.
const SPREAD: f64 = 30.0;
/// Runs of a plan of which the least time counts.
const RUNS: usize = 3;
/// Rounds in which the chosen plan and the best one are run by turns at last.
const ROUNDS: usize = 5;
/// What a plan may take beyond the best before it is given up, besides a half.
const GRACE: Duration = Duration::from_millis(3);

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Draws for each query.
    pub draws: u64,
    /// Queries whose chosen plan takes longer are left out.
    pub time_max: Duration,
}

/// A plan that was run.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The plan with what it took.
    pub report: PlanReport,
    /// The least time of all runs.
    pub time: Duration,
}

/// The plan chosen and the best of all.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The query.
    pub text: String,
    /// Different plans that were tried, the chosen one included.
    pub plans: usize,
    /// What the planner chose.
    pub chosen: Ran,
    /// What was best; the chosen one where no other was better.
    pub best: Ran,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The least time of some runs.
    Time,
    /// Rows touched, by one run.
    Touched,
}

impl Choice {
    /// How many times more the chosen plan takes than the best, at least 1.
    pub fn factor(&self, measure: Measure) -> f64 {
        let of = |ran: &Ran| match measure {
            Measure::Time => ran.time.as_secs_f64(),
            Measure::Touched => touched(&ran.report.root) as f64,
        };
        (of(&self.chosen) / of(&self.best).max(f64::MIN_POSITIVE)).max(1.0)
    }
}

/// Rows touched by a run: those that operators read from the store, and those that joins give.
pub fn touched(node: &ExplainedNode) -> u64 {
    let is_join = node.operator().ends_with("Join");
    let own = node.actual.map_or(0, |actual| {
        actual.read_rows + if is_join { actual.rows } else { 0 }
    });
    own + node.below().map(touched).sum::<u64>()
}

/// Options of a run on one thread.
pub fn options(time_max: Duration) -> QueryOptions {
    let mut options = QueryOptions::default();
    options.exec.threads = 1;
    options.exec.timeout = Some(time_max);
    options
}

/// What a plan does, without estimates.
fn outline(node: &ExplainedNode, out: &mut String) {
    out.push_str(&format!("({}", node.text));
    node.below().for_each(|below| outline(below, out));
    out.push(')');
}

/// Runs a plan; `None` if it takes too long.
fn run(database: &Database, text: &str, options: &QueryOptions) -> Option<Ran> {
    let prepared = database.prepare(text, options).ok()?;
    let report = prepared.profile(options).ok()?;
    let time = report.run?.time;
    Some(Ran { report, time })
}

fn rows(ran: &Ran) -> u64 {
    ran.report.run.map_or(0, |run| run.rows)
}

/// The best run of a plan that was run once: more runs where time is measured.
fn repeated(
    database: &Database,
    text: &str,
    options: &QueryOptions,
    measure: Measure,
    known: Ran,
) -> Ran {
    let again = match measure {
        Measure::Time => RUNS - 1,
        Measure::Touched => 0,
    };
    let more = (0..again).filter_map(|_| run(database, text, options));
    more.fold(known, |least, ran| match ran.time < least.time {
        true => ran,
        false => least,
    })
}

/// Whether a run is better than another.
fn is_better(ran: &Ran, than: &Ran, measure: Measure) -> bool {
    match measure {
        Measure::Time => ran.time < than.time,
        Measure::Touched => touched(&ran.report.root) < touched(&than.report.root),
    }
}

/// Runs the chosen plan and others for a query; `None` if it takes too long or there are no plans to compare.
pub fn compare(
    database: &Database,
    text: &str,
    effort: Effort,
    measure: Measure,
) -> Result<Option<Choice>, String> {
    let plain = options(effort.time_max);
    let Some(chosen) = run(database, text, &plain) else {
        return Ok(None);
    };
    let mut choice = Choice {
        text: text.to_owned(),
        plans: 1,
        chosen: repeated(database, text, &plain, measure, chosen.clone()),
        best: chosen,
    };
    choice.best = choice.chosen.clone();
    let mut best_options = None;
    let mut known = HashSet::new();
    let mut is_new = |node: &ExplainedNode| {
        let mut text = String::new();
        outline(node, &mut text);
        known.insert(text)
    };
    is_new(&choice.chosen.report.root);
    for seed in 0..effort.draws {
        let spread = (seed % 2 == 0).then_some(SPREAD);
        let mut other = options(match measure {
            Measure::Time => choice.best.time.mul_f64(1.5) + GRACE,
            Measure::Touched => effort.time_max,
        });
        other.order_draw = Some(OrderDraw { seed, spread });
        let prepared = database.prepare(text, &other).map_err(|e| e.to_string())?;
        if !is_new(&prepared.explain().root) {
            continue;
        }
        choice.plans += 1;
        let Some(ran) = run(database, text, &other) else {
            continue;
        };
        if rows(&ran) != rows(&choice.chosen) {
            return Err(format!(
                "{text}\n{} rows, but {} of\n{}",
                rows(&choice.chosen),
                rows(&ran),
                ran.report.to_text()
            ));
        }
        if is_better(&ran, &choice.best, measure) {
            choice.best = repeated(database, text, &other, measure, ran);
            best_options = Some(other);
        }
    }
    if let (Some(best_options), Measure::Time) = (best_options, measure) {
        by_turns(database, &mut choice, [&plain, &best_options]);
    }
    Ok(Some(choice))
}

/// Runs the chosen plan and the best one by turns, so that a moment's noise does not decide.
fn by_turns(database: &Database, choice: &mut Choice, options: [&QueryOptions; 2]) {
    let mut least = [Duration::MAX; 2];
    for _ in 0..ROUNDS {
        for (least, options) in least.iter_mut().zip(options) {
            let mut options = options.clone();
            options.exec.timeout = Some(choice.chosen.time * 20 + GRACE);
            if let Some(ran) = run(database, &choice.text, &options) {
                *least = (*least).min(ran.time);
            }
        }
    }
    [choice.chosen.time, choice.best.time] = least;
}
