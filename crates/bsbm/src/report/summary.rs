//! Makes the report of a run from its executions.
//!
//! With one client rates are of query time, which leaves the driver's own work out; with several
//! they are of wall-clock time, since queries overlap. Both sums are in the report.

use super::query::{geometric_mean, mean};
use super::{MixTime, QueryReport, RampUpReport, Report, Samples, Timeline, UpdateReport};
use crate::driver::RunOptions;
use crate::queries::UseCase;
use std::time::Duration;

/// The products of scale one of power and throughput.
const SCALE_ONE_PRODUCTS: f64 = 284_826.0;
/// A server that writes an answer in two packets waits this long for the first acknowledgement.
const SHELF_S: std::ops::Range<f64> = 0.038..0.046;
/// The share of executions on that shelf that is no longer chance.
const SHELF_SHARE_MIN: f64 = 0.2;
/// Executions that are enough to speak of a shelf.
const SHELF_EXECUTIONS_MIN: u64 = 50;
/// Deletes that miss are no-ops; beyond this share the figures of deletes say little.
const MISSED_DELETES_SHARE_MAX: f64 = 0.2;

/// What is known of a run besides its executions.
pub(crate) struct RunFacts<'a> {
    pub(crate) use_case: UseCase,
    pub(crate) products: u64,
    pub(crate) options: &'a RunOptions,
    pub(crate) clients: usize,
    pub(crate) elapsed: Duration,
    pub(crate) floor_s: Option<f64>,
    pub(crate) ramp_up: Option<RampUpReport>,
    pub(crate) transactions_used_up: bool,
    pub(crate) updates: Option<UpdateReport>,
}

impl RunFacts<'_> {
    /// Mixes before measuring, unless there was a ramp-up.
    fn warmup(&self) -> u64 {
        match self.ramp_up {
            Some(_) => 0,
            None => self.options.warmup,
        }
    }
}

impl Report {
    pub(crate) fn new(facts: &RunFacts<'_>, samples: &Samples, mixes: &[MixTime]) -> Report {
        let options = facts.options;
        let elapsed_s = facts.elapsed.as_secs_f64();
        let times: Vec<f64> = samples.seconds().collect();
        let query_time_s: f64 = times.iter().sum();
        let rate_time_s = if facts.clients == 1 {
            query_time_s
        } else {
            elapsed_s
        };
        let busy_clients = if rate_time_s > 0.0 {
            query_time_s / rate_time_s
        } else {
            0.0
        };
        let queries: Vec<QueryReport> = (1..=facts.use_case.queries())
            .filter_map(|number| Some((number, samples.query(number)?)))
            .map(|(number, samples)| QueryReport::new(number, samples, busy_clients))
            .collect();
        let mix_times: Vec<f64> = mixes.iter().map(|mix| mix.seconds).collect();
        let scale = facts.products as f64 / SCALE_ONE_PRODUCTS;
        let timed = times.len() as f64;
        let runs = mixes.len() as f64;
        Report {
            driver: concat!("basalt-bsbm ", env!("CARGO_PKG_VERSION")).to_owned(),
            machine: machine(),
            use_case: facts.use_case.name().to_owned(),
            endpoint: options.endpoint.clone(),
            update_endpoint: facts
                .updates
                .as_ref()
                .map(|_| options.update_url().to_owned()),
            durability: options.durability.clone(),
            labels: options.labels.iter().cloned().collect(),
            products: facts.products,
            seed: options.seed,
            clients: facts.clients,
            warmup: facts.warmup(),
            ramp_up: facts.ramp_up.clone(),
            runs: mixes.len() as u64,
            duration_s: options.duration.map(|duration| duration.as_secs_f64()),
            transactions_used_up: facts.transactions_used_up,
            ignored: options.ignored.clone(),
            drill_down: options.drill_down,
            mix_order: options.mix_order,
            updates_at: options.updates_at,
            results_format: options.results_format,
            wording: options.wording,
            timeout_s: options.timeout.as_secs_f64(),
            floor_s: facts.floor_s,
            elapsed_s,
            query_time_s,
            qmph: per_hour(runs, rate_time_s),
            qmph_wall: per_hour(runs, elapsed_s),
            cqet_s: mean(&mix_times),
            cqet_geometric_s: geometric_mean(&mix_times),
            mix_min_s: mix_times.iter().copied().reduce(f64::min).unwrap_or(0.0),
            mix_max_s: mix_times.iter().copied().reduce(f64::max).unwrap_or(0.0),
            power: scale * per_hour(1.0, geometric_mean(&times)),
            throughput: scale * per_hour(timed, rate_time_s),
            timeouts: queries.iter().map(|query| query.timeouts).sum(),
            not_tried: queries.iter().map(|query| query.not_tried).sum(),
            errors: queries.iter().map(|query| query.errors).sum(),
            warnings: warnings(facts, samples, mixes.len()),
            updates: facts.updates.clone(),
            timeline: Timeline::new(elapsed_s, samples, mixes),
            queries,
        }
    }
}

/// What a count in some time is in an hour; 0 if no time has passed.
fn per_hour(count: f64, seconds: f64) -> f64 {
    match seconds > 0.0 {
        true => 3_600.0 * count / seconds,
        false => 0.0,
    }
}

fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(0, usize::from);
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    format!("{os} {arch}, {cores} cores")
}

fn warnings(facts: &RunFacts<'_>, samples: &Samples, mixes: usize) -> Vec<String> {
    let mut warnings = Vec::new();
    let errors = samples.sum(|query| query.errors);
    if errors > 0 {
        warnings.push(format!(
            "{errors} executions failed and are in no time: the rate of mixes is void"
        ));
    }
    let timeouts = samples.sum(|query| query.timeouts);
    if timeouts > 0 {
        warnings.push(format!(
            "{timeouts} executions ran out of time and are timed with the limit: real times are longer"
        ));
    }
    let not_tried = samples.sum(|query| query.not_tried);
    if not_tried > 0 {
        let rate = if facts.clients == 1 {
            ""
        } else {
            ", and the rate of mixes is void"
        };
        warnings.push(format!(
            "{not_tried} executions were not tried, since such queries had run out of time: they are timed with the limit{rate}"
        ));
    }
    let on_shelf = samples
        .seconds()
        .filter(|seconds| SHELF_S.contains(seconds));
    let executions = samples.sum(|query| query.count);
    let share = on_shelf.count() as f64 / executions.max(1) as f64;
    if executions >= SHELF_EXECUTIONS_MIN && share > SHELF_SHARE_MIN {
        warnings.push(format!(
            "{:.0} % of the executions took about 40 ms: this may be a delayed acknowledgement of the network, not the store",
            share * 100.0
        ));
    }
    if facts
        .ramp_up
        .as_ref()
        .is_some_and(|ramp_up| !ramp_up.is_settled)
    {
        warnings.push("the ramp-up ended before the rate of mixes settled".to_owned());
    }
    if let (true, Some(duration)) = (facts.transactions_used_up, facts.options.duration) {
        warnings.push(format!(
            "the update transactions were used up by {mixes} mixes, after {:.1} s of {} s",
            facts.elapsed.as_secs_f64(),
            duration.as_secs_f64()
        ));
    }
    if let Some(updates) = &facts.updates {
        warnings.extend(update_warnings(facts, updates));
    }
    warnings
}

fn update_warnings(facts: &RunFacts<'_>, updates: &UpdateReport) -> Vec<String> {
    let mut warnings = Vec::new();
    let missed = updates.deletes - updates.deletes_that_hit;
    if missed as f64 > MISSED_DELETES_SHARE_MAX * updates.deletes as f64 {
        warnings.push(format!(
            "{missed} of {} deletes were of offers that are not in the store, which is fast",
            updates.deletes
        ));
    }
    if let Some(first) = &updates.first_wrong {
        let (wrong, verified) = (updates.wrong, updates.verified);
        warnings.push(format!(
            "{wrong} of {verified} subjects are not what the confirmed updates leave: {first}"
        ));
    }
    if facts.options.durability.is_none() {
        warnings.push("what a commit survives was not stated".to_owned());
    }
    warnings
}
