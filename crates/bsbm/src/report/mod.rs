//! What a run of the driver found: figures for the mix and per query.
//!
//! The JSON form is the main one and holds everything; the pages (Markdown, HTML) and the XML that
//! scripts of the original tools read are made from it. Executions that failed are counted but
//! not timed, those that timed out, or were given up after others had, are counted and timed with
//! the whole timeout. The rate of
//! mixes is only as good as its executions: read it together with `errors` and `timeouts`.
//! Fields that older reports lack have defaults, so those can still be compared.

mod histogram;
mod html;
mod html_charts;
mod markdown;
mod query;
mod samples;
mod summary;
mod timeline;
mod xml;

pub use histogram::Bucket;
pub use html::html_page;
pub use query::{LevelReport, QueryReport};
pub(crate) use samples::Samples;
pub(crate) use summary::RunFacts;
pub use timeline::{SliceTimes, Timeline, WorstSlices};

use crate::answer::ResultsFormat;
use crate::driver::{MixOrder, UpdatesAt};
use crate::queries::{QueryForm, Wording};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The result of a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Report {
    /// The program and version that measured.
    pub driver: String,
    /// The machine that the driver ran on: system, architecture, cores.
    #[serde(default)]
    pub machine: String,
    /// The name of the use case.
    pub use_case: String,
    /// The endpoint queried.
    pub endpoint: String,
    /// The endpoint updated, if the use case has updates.
    #[serde(default)]
    pub update_endpoint: Option<String>,
    /// What a commit survives, in the words of who ran it.
    #[serde(default)]
    pub durability: Option<String>,
    /// Facts about the setting, as given.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// The number of products, which is the scale factor.
    pub products: u64,
    /// The seed of the parameters.
    pub seed: u64,
    /// Concurrent clients.
    pub clients: usize,
    /// Mixes run before measuring, over all clients, if there was no ramp-up.
    pub warmup: u64,
    /// How a steady state was reached, if it was waited for.
    #[serde(default)]
    pub ramp_up: Option<RampUpReport>,
    /// Mixes measured, over all clients.
    pub runs: u64,
    /// How long mixes were begun, if the clock ended the run and not their number.
    #[serde(default)]
    pub duration_s: Option<f64>,
    /// Whether the run ended before that, because no update transactions were left.
    #[serde(default)]
    pub transactions_used_up: bool,
    /// Numbers of queries that were left out.
    #[serde(default)]
    pub ignored: Vec<u8>,
    /// The level that flights began on, if queries were drilled down.
    #[serde(default)]
    pub drill_down: Option<usize>,
    /// The order of the queries of a mix.
    #[serde(default)]
    pub mix_order: MixOrder,
    /// When the updates of a mix were sent.
    #[serde(default)]
    pub updates_at: UpdatesAt,
    /// The form in which rows were asked for.
    #[serde(default)]
    pub results_format: ResultsFormat,
    /// Which of two texts was asked where there are two that mean the same.
    #[serde(default)]
    pub wording: Wording,
    /// The time limit of one execution.
    pub timeout_s: f64,
    /// The median time of a question that needs no data.
    #[serde(default)]
    pub floor_s: Option<f64>,
    /// Wall-clock time of the measured mixes.
    pub elapsed_s: f64,
    /// Time of all measured executions together.
    pub query_time_s: f64,
    /// Query mixes per hour: of query time with one client, of wall-clock time with several.
    pub qmph: f64,
    /// Query mixes per hour of wall-clock time.
    pub qmph_wall: f64,
    /// Mean time of the executions of one mix.
    pub cqet_s: f64,
    /// Geometric mean of the times of mixes.
    #[serde(default)]
    pub cqet_geometric_s: f64,
    /// The shortest time of a mix.
    #[serde(default)]
    pub mix_min_s: f64,
    /// The longest time of a mix.
    #[serde(default)]
    pub mix_max_s: f64,
    /// Queries per hour at the geometric mean of their times, at the scale of 284,826 products.
    #[serde(default)]
    pub power: f64,
    /// Queries per hour at the scale of 284,826 products.
    #[serde(default)]
    pub throughput: f64,
    /// Executions that ran out of time.
    pub timeouts: u64,
    /// Executions that were left out, since the query had run out of time before; they are timed
    /// with the limit.
    #[serde(default)]
    pub not_tried: u64,
    /// Executions that failed otherwise.
    pub errors: u64,
    /// What updates did, if the use case has them.
    #[serde(default)]
    pub updates: Option<UpdateReport>,
    /// What a reader should know before using the figures.
    #[serde(default)]
    pub warnings: Vec<String>,
    /// Executions and mixes over time.
    #[serde(default)]
    pub timeline: Timeline,
    /// Figures per query; queries that were never run are left out.
    pub queries: Vec<QueryReport>,
}

/// How a ramp-up went.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RampUpReport {
    /// Mixes of a period.
    pub period_mixes: u64,
    /// The share by which the last periods could differ.
    pub tolerance: f64,
    /// The time of each period.
    pub periods_s: Vec<f64>,
    /// Whether the rate settled; measuring began all the same.
    pub is_settled: bool,
}

/// What updates did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UpdateReport {
    /// Blocks of the update file whose insert was confirmed.
    pub inserted_blocks: u64,
    /// Their triples.
    pub inserted_triples: u64,
    /// Deletes of an offer that were confirmed.
    pub deletes: u64,
    /// Those of an offer that was in the store at the time.
    pub deletes_that_hit: u64,
    /// Different offers among those of confirmed deletes.
    #[serde(default)]
    pub offers_deleted: u64,
    /// Offers that were both inserted and deleted. With several clients it depends on which of them
    /// came first whether these are in the store.
    #[serde(default)]
    pub inserted_and_deleted: Vec<String>,
    /// Subjects of which the store was asked, after the run, how many triples they have.
    pub verified: u64,
    /// Those that did not have what the confirmed updates leave.
    pub wrong: u64,
    /// The first of these, in words.
    pub first_wrong: Option<String>,
}

impl Report {
    /// The report as JSON.
    pub fn to_json(&self) -> String {
        // Only maps with odd keys and failing writers make this fail; there are none here.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Whether every execution was answered and every verified update was there: if not, the
    /// rate of mixes says nothing, since failures can be fast.
    pub fn is_sound(&self) -> bool {
        let wrong_updates = self.updates.as_ref().map_or(0, |updates| updates.wrong);
        self.errors == 0 && wrong_updates == 0
    }
}

/// One measured execution, before [`Samples`] take what they need of it.
#[derive(Clone, Debug)]
pub(crate) struct Execution {
    pub(crate) number: u8,
    pub(crate) form: QueryForm,
    /// The level of the product type in the tree, if it can be of several.
    pub(crate) level: Option<usize>,
    pub(crate) outcome: Outcome,
    /// Time taken: the whole timeout if it ran out or was not tried, nothing if it failed.
    pub(crate) seconds: Option<f64>,
    /// When it ended, from the start of measuring.
    pub(crate) ended_s: f64,
    pub(crate) rows: u64,
    /// A hash of the answer and of the place of the execution in the run.
    pub(crate) hash: u64,
}

/// How an execution ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Answered,
    TimedOut,
    /// It was given up before.
    NotTried,
    /// It failed, in words.
    Failed(String),
}

/// One measured mix.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MixTime {
    /// Time of its executions together.
    pub(crate) seconds: f64,
    /// When it ended, from the start of measuring.
    pub(crate) ended_s: f64,
}
