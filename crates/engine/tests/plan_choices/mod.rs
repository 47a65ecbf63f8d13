//! How good the plans are that the planner chooses, beside others for the same queries.
//!
//! Of each query the planner's plan is compared with a sample of all that its join search could have chosen
//! ([`OrderDraw`]): half of the draws are near the chosen one, since costs are only shaken, half are from anywhere. Plans that do the same are
//! one. Runs are on one thread. What is compared is either time or *rows touched*: rows that operators read from the store, and rows
//! that joins give ([`touched`]). Of times the least of some runs picks the best plan. Then it and the chosen one are run by turns, and the
//! medians are compared; the chosen one has two places in each turn, so that what differs between these is noise.
//!
//! A query ends in bounded time: each run has a limit, and so have all runs of a query together.
//!
//! Invariant: all plans of a query have the same number of rows, or [`compare`] says so.

// Each program uses a part of this.
#![allow(dead_code)]

use basalt_engine::{Database, ExplainedNode, OrderDraw, PlanReport, QueryOptions};
use std::collections::HashSet;
use std::time::{Duration, Instant};

/// By how much costs are shaken for plans near the chosen one.
const SPREAD: f64 = 30.0;
/// Runs of a plan of which the least time counts.
const RUNS: usize = 3;
/// Rounds in which the chosen plan and the best one are run by turns at last, at least and at most.
const ROUNDS: std::ops::RangeInclusive<usize> = 5..=41;
/// No more than the least number of rounds are run after this.
const ROUNDS_TIME: Duration = Duration::from_millis(300);
/// What a plan may take beyond the best before it is given up, besides a half.
const GRACE: Duration = Duration::from_millis(3);

/// How much is tried.
#[derive(Clone, Copy, Debug)]
pub struct Effort {
    /// Draws for each query.
    pub draws: u64,
    /// No plan may take longer.
    pub time_max: Duration,
    /// No more plans of a query are tried after this.
    pub query_time_max: Duration,
}

/// A plan that was run.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The plan with what it took.
    pub report: PlanReport,
    /// The least time of all runs; at last the median of the rounds.
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
    /// The median of the chosen plan in its second place of each round.
    pub again: Duration,
    /// Whether there was time for all draws.
    pub is_whole: bool,
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

    /// How many times more the chosen plan takes than itself, at least 1.
    pub fn noise(&self) -> f64 {
        let times = [self.chosen.time, self.again].map(|time| time.as_secs_f64());
        let [less, more] = [times[0].min(times[1]), times[0].max(times[1])];
        (more / less.max(f64::MIN_POSITIVE)).max(1.0)
    }
}

/// Rows of which packed values are compared in the time that reading one row takes, or less: 0.3 ns to 8 (`cost_constants.rs`).
const COMPARED_FOR_ROW: u64 = 16;

/// Rows touched by a run: those that operators read from the store, one for so many of which they only compared packed values, and those
/// that joins give.
pub fn touched(node: &ExplainedNode) -> u64 {
    let is_join = node.operator().ends_with("Join");
    let own = node.actual.map_or(0, |actual| {
        let compared = actual.compared_rows.div_ceil(COMPARED_FOR_ROW);
        actual.read_rows + compared + if is_join { actual.rows } else { 0 }
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

/// The rows of a run that came to its end.
fn rows(ran: &Ran) -> Option<u64> {
    ran.report.run.map(|run| run.rows)
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

/// The run of the chosen plan. One that takes too long has no rows and the longest time, where times are compared.
fn run_chosen(database: &Database, text: &str, effort: Effort, measure: Measure) -> Option<Ran> {
    let options = options(effort.time_max);
    if let Some(ran) = run(database, text, &options) {
        return Some(repeated(database, text, &options, measure, ran));
    }
    let prepared = database.prepare(text, &options).ok()?;
    (measure == Measure::Time).then(|| Ran {
        report: prepared.explain(),
        time: effort.time_max,
    })
}

/// Runs the chosen plan and others for a query; `None` if it takes too long. Where times are compared and another plan does come to its
/// end, the chosen one counts with the longest time.
pub fn compare(
    database: &Database,
    text: &str,
    effort: Effort,
    measure: Measure,
) -> Result<Option<Choice>, String> {
    let started = Instant::now();
    let plain = options(effort.time_max);
    let Some(chosen) = run_chosen(database, text, effort, measure) else {
        return Ok(None);
    };
    let mut choice = Choice {
        text: text.to_owned(),
        plans: 1,
        again: chosen.time,
        best: chosen.clone(),
        chosen,
        is_whole: true,
    };
    let mut best_options = None;
    let mut known = HashSet::new();
    let mut is_new = |node: &ExplainedNode| {
        let mut text = String::new();
        outline(node, &mut text);
        known.insert(text)
    };
    is_new(&choice.chosen.report.root);
    for seed in 0..effort.draws {
        if started.elapsed() > effort.query_time_max {
            choice.is_whole = false;
            break;
        }
        let spread = (seed % 2 == 0).then_some(SPREAD);
        let mut other = options(match measure {
            Measure::Time => (choice.best.time.mul_f64(1.5) + GRACE).min(effort.time_max),
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
        if let (Some(known), Some(rows)) = (rows(&choice.best), rows(&ran))
            && rows != known
        {
            return Err(format!(
                "{text}\n{known} rows, but {rows} of\n{}",
                ran.report.to_text()
            ));
        }
        // A first run pays for what later ones find in caches.
        let ran = repeated(database, text, &other, measure, ran);
        if is_better(&ran, &choice.best, measure) {
            choice.best = ran;
            best_options = Some(other);
        }
    }
    match (best_options, rows(&choice.chosen)) {
        (None, None) => return Ok(None),
        (Some(best_options), Some(_)) if measure == Measure::Time => {
            by_turns(database, &mut choice, [&plain, &best_options]);
        }
        _ => {}
    }
    Ok(Some(choice))
}

/// Runs the chosen plan, the best one and the chosen one again by turns, so that a moment's noise does not decide.
fn by_turns(database: &Database, choice: &mut Choice, options: [&QueryOptions; 2]) {
    let started = Instant::now();
    let mut times = [const { Vec::new() }; 3];
    let [chosen, best] = options;
    for round in 0..*ROUNDS.end() {
        if round >= *ROUNDS.start() && started.elapsed() > ROUNDS_TIME {
            break;
        }
        for (times, options) in times.iter_mut().zip([chosen, best, chosen]) {
            let mut options = options.clone();
            options.exec.timeout = Some(choice.chosen.time * 4 + GRACE);
            times.extend(run(database, &choice.text, &options).map(|ran| ran.time));
        }
    }
    let [chosen, best, again] = times.map(median);
    choice.chosen.time = chosen.unwrap_or(choice.chosen.time);
    choice.best.time = best.unwrap_or(choice.best.time);
    choice.again = again.unwrap_or(choice.chosen.time);
}

fn median(mut times: Vec<Duration>) -> Option<Duration> {
    times.sort_unstable();
    times.get(times.len() / 2).copied()
}
