//! How to run the driver: what is asked of whom, how often and how patiently.

use super::give_up::Patience;
use crate::answer::ResultsFormat;
use crate::error::BsbmError;
use crate::http::Endpoint;
use crate::parameters::ParameterPool;
use crate::queries::{UseCase, Wording};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// How to run the driver.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// The URL that queries are posted to.
    pub endpoint: String,
    /// The URL that updates are posted to, if it is another one.
    pub update_endpoint: Option<String>,
    /// The form field that holds the text of an update.
    pub update_field: String,
    /// More form fields of an update, as names and values: a store may want to be told the graph.
    pub update_parameters: Vec<(String, String)>,
    /// The update file; needed for updates.
    pub update_file: Option<PathBuf>,
    /// The first transaction of the update file to send, counted from 0: a second run on the same
    /// store goes on where the first one ended.
    pub first_transaction: u64,
    /// When the updates of a mix are sent.
    pub updates_at: UpdatesAt,
    /// Concurrent clients.
    pub clients: usize,
    /// Mixes to run before measuring, over all clients; none with a ramp-up.
    pub warmup: u64,
    /// Warm up until the rate of mixes settles.
    pub ramp_up: Option<RampUp>,
    /// Mixes to measure, over all clients; not looked at if there is a duration.
    pub runs: u64,
    /// Measure for so long: mixes are begun until then, and ended.
    pub duration: Option<Duration>,
    /// The seed of the parameters.
    pub seed: u64,
    /// The time limit of one execution.
    pub timeout: Duration,
    /// When to stop asking a question that runs out of time; without it none is given up.
    pub patience: Option<Patience>,
    /// How long a client waits after a timeout, so that a store that goes on working for a client
    /// that has gone does not do so while the next query is measured.
    pub timeout_pause: Duration,
    /// The form in which rows are asked for.
    pub results_format: ResultsFormat,
    /// Which of two texts is asked where there are two that mean the same.
    pub wording: Wording,
    /// The graph that queries are asked of.
    pub default_graph: Option<String>,
    /// Numbers of queries to leave out.
    pub ignored: Vec<u8>,
    /// Ask queries with a product type from this level of the tree (the root is 0) down to a leaf.
    pub drill_down: Option<usize>,
    /// The order of the queries of a mix.
    pub mix_order: MixOrder,
    /// What a commit of the store survives, in the words of who runs it; for the report only.
    pub durability: Option<String>,
    /// Facts about the setting, as names and values; for the report only.
    pub labels: Vec<(String, String)>,
    /// Time between two calls of `progress`.
    pub progress_interval: Duration,
}

impl RunOptions {
    /// The usual options: one client, 50 mixes of warm-up, 500 measured, a minute per query.
    pub fn new(endpoint: &str) -> RunOptions {
        RunOptions {
            endpoint: endpoint.to_owned(),
            update_endpoint: None,
            update_field: "update".to_owned(),
            update_parameters: Vec::new(),
            update_file: None,
            first_transaction: 0,
            updates_at: UpdatesAt::First,
            clients: 1,
            warmup: 50,
            ramp_up: None,
            runs: 500,
            duration: None,
            seed: 808_080,
            timeout: Duration::from_secs(60),
            patience: None,
            timeout_pause: Duration::ZERO,
            results_format: ResultsFormat::Json,
            wording: Wording::Published,
            default_graph: None,
            ignored: Vec::new(),
            drill_down: None,
            mix_order: MixOrder::Classic,
            durability: None,
            labels: Vec::new(),
            progress_interval: Duration::from_secs(5),
        }
    }

    /// Refuses what cannot be run.
    pub(crate) fn check(&self, use_case: UseCase, pool: &ParameterPool) -> Result<(), BsbmError> {
        if let Some(number) = self.ignored.iter().find(|n| use_case.form(**n).is_none()) {
            return Err(BsbmError::UnknownQuery {
                number: *number,
                use_case: use_case.name(),
                last: use_case.queries(),
            });
        }
        if let Some(patience) = &self.patience {
            patience.check()?;
        }
        if self.duration == Some(Duration::ZERO) {
            return Err(BsbmError::NoDuration);
        }
        let Some(level) = self.drill_down else {
            return Ok(());
        };
        let numbers = 1..=use_case.queries();
        if !numbers.into_iter().any(|n| use_case.can_drill_down(n)) {
            return Err(BsbmError::NothingToDrillDown {
                use_case: use_case.name(),
            });
        }
        match level <= pool.depth() {
            true => Ok(()),
            false => Err(BsbmError::NoSuchLevel {
                level,
                depth: pool.depth(),
            }),
        }
    }

    pub(crate) fn update_url(&self) -> &str {
        self.update_endpoint.as_ref().unwrap_or(&self.endpoint)
    }
}

/// Takes an address apart.
pub(crate) fn parse_endpoint(url: &str) -> Result<Endpoint, BsbmError> {
    Endpoint::parse(url).ok_or_else(|| BsbmError::BadEndpoint {
        url: url.to_owned(),
    })
}

/// When the updates of a mix are sent. The parameters of a query do not depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum UpdatesAt {
    /// Before the queries, as published.
    #[default]
    First,
    /// After the queries.
    Last,
    /// At equal distances among the queries.
    Spread,
}

impl UpdatesAt {
    /// The choice of a name as the command line spells it.
    pub fn from_name(name: &str) -> Option<UpdatesAt> {
        let all = [UpdatesAt::First, UpdatesAt::Last, UpdatesAt::Spread];
        all.into_iter().find(|choice| choice.name() == name)
    }

    /// The name as the command line spells it.
    pub fn name(self) -> &'static str {
        match self {
            UpdatesAt::First => "first",
            UpdatesAt::Last => "last",
            UpdatesAt::Spread => "spread",
        }
    }
}

/// The order of the queries of a mix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MixOrder {
    /// As published.
    #[default]
    Classic,
    /// Permuted, in a way that follows from the seed and the number of the mix.
    Shuffled,
}

/// When a warm-up has reached a steady state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RampUp {
    /// Mixes of a period, over all clients.
    pub period_mixes: u64,
    /// The share by which the last periods may differ.
    pub tolerance: f64,
    /// Periods after which measuring begins all the same.
    pub periods_max: usize,
}

impl Default for RampUp {
    fn default() -> RampUp {
        RampUp {
            period_mixes: 50,
            tolerance: 0.05,
            periods_max: 60,
        }
    }
}
