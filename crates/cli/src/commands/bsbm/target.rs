//! The options that `basalt bsbm run` and `basalt bsbm qualify` share: what is asked of whom.

use crate::values::duration;
use basalt_bsbm::{Patience, Question, ResultsFormat, RunOptions, UpdatesAt, UseCase, Wording};
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;

/// What is asked of whom.
#[derive(Debug, Args)]
pub struct Target {
    /// Query mix: explore, bi, explore-and-update
    #[arg(long, env = "BASALT_USE_CASE", default_value = "explore", value_parser = use_case, hide_env_values = true)]
    pub use_case: UseCase,
    /// URL that queries are posted to
    #[arg(
        long,
        env = "BASALT_ENDPOINT",
        value_name = "URL",
        default_value = "http://127.0.0.1:7420/query",
        hide_env_values = true
    )]
    pub endpoint: String,
    /// URL that updates are posted to [default: that of the queries]
    #[arg(
        long,
        env = "BASALT_UPDATE_ENDPOINT",
        value_name = "URL",
        hide_env_values = true
    )]
    update_endpoint: Option<String>,
    /// Form field with the text of an update
    #[arg(
        long,
        env = "BASALT_UPDATE_FIELD",
        value_name = "NAME",
        default_value = "update",
        hide_env_values = true
    )]
    update_field: String,
    /// More form fields of an update, for stores that want to be told the graph; repeatable
    #[arg(
        long,
        env = "BASALT_UPDATE_PARAMETER",
        value_name = "NAME=VALUE",
        value_parser = parameter,
        hide_env_values = true
    )]
    update_parameter: Vec<(String, String)>,
    /// File with update transactions
    #[arg(
        long,
        env = "BASALT_UPDATE_FILE",
        value_name = "FILE",
        hide_env_values = true
    )]
    update_file: Option<PathBuf>,
    /// Transactions of the update file to pass over, because an earlier run has sent them
    #[arg(
        long,
        env = "BASALT_FIRST_TRANSACTION",
        value_name = "N",
        default_value_t = 0,
        hide_env_values = true
    )]
    first_transaction: u64,
    /// When the updates of a mix are sent: first, last, or spread among the queries
    #[arg(long, env = "BASALT_UPDATES_AT", default_value = "first", value_parser = updates_at, hide_env_values = true)]
    updates_at: UpdatesAt,
    /// Seed of the query parameters
    #[arg(
        long,
        env = "BASALT_SEED",
        value_name = "N",
        default_value_t = 808_080,
        hide_env_values = true
    )]
    seed: u64,
    /// Longest time of a query
    #[arg(long, env = "BASALT_TIMEOUT", default_value = "60s", value_parser = duration, hide_env_values = true)]
    timeout: Duration,
    /// Timeouts of a query, at one level of its product type, after which it is not asked again
    #[arg(long, env = "BASALT_GIVE_UP", value_name = "N", hide_env_values = true)]
    give_up: Option<u64>,
    /// Query that counts as given up from the start, such as 3, or 4@0 for a level; repeatable
    #[arg(
        long,
        env = "BASALT_GIVEN_UP",
        value_name = "N@LEVEL",
        value_delimiter = ',',
        value_parser = question,
        hide_env_values = true
    )]
    given_up: Vec<Question>,
    /// How long a client waits after a timeout, for stores that go on working
    #[arg(long, env = "BASALT_TIMEOUT_PAUSE", default_value = "0s", value_parser = duration, hide_env_values = true)]
    timeout_pause: Duration,
    /// Form in which rows are asked for: json, xml
    #[arg(long, env = "BASALT_RESULTS_FORMAT", default_value = "json", value_parser = results_format, hide_env_values = true)]
    results_format: ResultsFormat,
    /// Text of queries that have two: published, or portable for stores that misread BI 5
    #[arg(long, env = "BASALT_WORDING", default_value = "published", value_parser = wording, hide_env_values = true)]
    wording: Wording,
    /// Graph to query as the default graph
    #[arg(
        long,
        env = "BASALT_DEFAULT_GRAPH",
        value_name = "IRI",
        hide_env_values = true
    )]
    default_graph: Option<String>,
    /// Number of a query to leave out; repeatable
    #[arg(
        long,
        env = "BASALT_IGNORE",
        value_name = "N",
        value_delimiter = ',',
        hide_env_values = true
    )]
    ignore: Vec<u8>,
    /// Ask BI queries with a product type of this level (the root is 0), then a random child of it, down to a leaf
    #[arg(
        long,
        env = "BASALT_DRILL_DOWN",
        value_name = "LEVEL",
        num_args = 0..=1,
        default_missing_value = "0",
        hide_env_values = true
    )]
    drill_down: Option<usize>,
}

impl Target {
    /// The options of a run that these make, with the defaults for all else.
    pub fn options(&self) -> RunOptions {
        RunOptions {
            update_endpoint: self.update_endpoint.clone(),
            update_field: self.update_field.clone(),
            update_parameters: self.update_parameter.clone(),
            update_file: self.update_file.clone(),
            first_transaction: self.first_transaction,
            updates_at: self.updates_at,
            seed: self.seed,
            timeout: self.timeout,
            patience: self.patience(),
            timeout_pause: self.timeout_pause,
            results_format: self.results_format,
            wording: self.wording,
            default_graph: self.default_graph.clone(),
            ignored: self.ignore.clone(),
            drill_down: self.drill_down,
            ..RunOptions::new(&self.endpoint)
        }
    }
}

impl Target {
    /// When to stop asking. What is given up from the start needs no limit for the rest.
    fn patience(&self) -> Option<Patience> {
        if self.give_up.is_none() && self.given_up.is_empty() {
            return None;
        }
        Some(Patience {
            timeouts_max: self.give_up.unwrap_or(u64::MAX),
            given_up: self.given_up.clone(),
        })
    }
}

fn question(text: &str) -> Result<Question, String> {
    let expected = "expected the number of a query, perhaps with a level, such as 3 or 4@0";
    Question::parse(text).ok_or_else(|| expected.to_owned())
}

fn results_format(text: &str) -> Result<ResultsFormat, String> {
    ResultsFormat::from_name(text).ok_or_else(|| "expected json or xml".to_owned())
}

fn wording(text: &str) -> Result<Wording, String> {
    Wording::from_name(text).ok_or_else(|| "expected published or portable".to_owned())
}

fn use_case(text: &str) -> Result<UseCase, String> {
    UseCase::from_name(text).ok_or_else(|| "expected explore, bi or explore-and-update".to_owned())
}

fn parameter(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("expected name=value".to_owned()),
    }
}

fn updates_at(text: &str) -> Result<UpdatesAt, String> {
    UpdatesAt::from_name(text).ok_or_else(|| "expected first, last or spread".to_owned())
}
