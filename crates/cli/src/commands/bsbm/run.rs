//! `basalt bsbm run`: query mixes against an endpoint, measured.

use super::target::Target;
use crate::error::CliError;
use crate::output::{message, write_stdout};
use crate::values::duration;
use basalt_bsbm::{MixOrder, ParameterPool, RampUp, Report, RunOptions, html_page, run};
use clap::Args;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Run a query mix against any SPARQL endpoint and measure it
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  basalt bsbm run --use-case explore --endpoint http://127.0.0.1:7420/query \\\n    \
    --data-dir td --report explore.json --report explore.html"
)]
pub struct Run {
    #[command(flatten)]
    target: Target,
    /// Folder that the generator wrote
    #[arg(
        long,
        env = "BASALT_DATA_DIR",
        value_name = "DIR",
        hide_env_values = true
    )]
    data_dir: PathBuf,
    /// Concurrent clients, which take mixes from one list
    #[arg(
        long,
        env = "BASALT_CLIENTS",
        value_name = "N",
        default_value_t = 1,
        hide_env_values = true
    )]
    clients: usize,
    /// Mixes before measuring, over all clients
    #[arg(
        long,
        env = "BASALT_WARMUP",
        value_name = "N",
        default_value_t = 50,
        hide_env_values = true
    )]
    warmup: u64,
    /// Warm up until the rate of mixes settles, instead of a number of mixes
    #[arg(long, env = "BASALT_RAMP_UP", hide_env_values = true)]
    ramp_up: bool,
    /// Mixes of a period of the ramp-up; five periods have to be alike within 5 %
    #[arg(
        long,
        env = "BASALT_RAMP_UP_PERIOD",
        value_name = "N",
        default_value_t = RampUp::default().period_mixes,
        hide_env_values = true
    )]
    ramp_up_period: u64,
    /// Mixes to measure, over all clients
    #[arg(
        long,
        env = "BASALT_RUNS",
        value_name = "N",
        default_value_t = 500,
        hide_env_values = true
    )]
    runs: u64,
    /// Measure for so long, such as 30m, instead of a number of mixes
    #[arg(
        long,
        env = "BASALT_DURATION",
        value_name = "TIME",
        value_parser = some_time,
        conflicts_with = "runs",
        hide_env_values = true
    )]
    duration: Option<Duration>,
    /// Permute the queries of every mix, by the seed
    #[arg(long, env = "BASALT_SHUFFLE", hide_env_values = true)]
    shuffle: bool,
    /// What a commit of the store survives, for the report, such as 'synced to disk'
    #[arg(
        long,
        env = "BASALT_DURABILITY",
        value_name = "TEXT",
        hide_env_values = true
    )]
    durability: Option<String>,
    /// Fact for the report, such as 'store=basalt 0.1'; repeatable
    #[arg(long, env = "BASALT_LABEL", value_name = "NAME=VALUE", value_parser = label, hide_env_values = true)]
    label: Vec<(String, String)>,
    /// File for the report: .json, .html, .md or .xml; repeatable [default: Markdown on standard output]
    #[arg(
        long,
        env = "BASALT_REPORT",
        value_name = "FILE",
        value_delimiter = ',',
        hide_env_values = true
    )]
    report: Vec<PathBuf>,
}

impl Run {
    /// Runs the mixes and writes the reports; fails if executions failed, or if a run by the clock had to end early.
    pub fn run(self) -> Result<(), CliError> {
        for path in &self.report {
            report_kind(path)?;
        }
        let pool = ParameterPool::open(&self.data_dir)?;
        let options = RunOptions {
            clients: self.clients,
            warmup: self.warmup,
            ramp_up: self.ramp_up.then(|| RampUp {
                period_mixes: self.ramp_up_period,
                ..RampUp::default()
            }),
            runs: self.runs,
            duration: self.duration,
            mix_order: match self.shuffle {
                true => MixOrder::Shuffled,
                false => MixOrder::Classic,
            },
            durability: self.durability,
            labels: self.label,
            ..self.target.options()
        };
        let mut show = |progress: &basalt_bsbm::RunProgress| message(&progress.to_string());
        let report = run(self.target.use_case, &pool, &options, &mut show)?;
        for warning in &report.warnings {
            message(&format!("warning: {warning}"));
        }
        for path in &self.report {
            let text = match report_kind(path)? {
                ReportKind::Json => report.to_json(),
                ReportKind::Markdown => report.to_markdown(),
                ReportKind::Xml => report.to_xml(),
                ReportKind::Html => html_page(&[(&report_name(path), &report)]),
            };
            std::fs::write(path, text).map_err(CliError::file("write", path))?;
        }
        if self.report.is_empty() {
            write_stdout(&report.to_markdown())?;
        }
        match failure(&report) {
            None => Ok(()),
            Some(text) => Err(CliError::Other(text)),
        }
    }
}

/// What makes a run fail, in words.
fn failure(report: &Report) -> Option<String> {
    if report.errors > 0 {
        let queries = report.queries.iter();
        let first = queries
            .filter_map(|query| query.first_error.as_deref())
            .next();
        let first = first.unwrap_or("unknown");
        return Some(format!(
            "{} executions failed, the first: {first}",
            report.errors
        ));
    }
    let wrong = report.updates.as_ref();
    if let Some(updates) = wrong.filter(|updates| updates.wrong > 0) {
        let first = updates.first_wrong.as_deref().unwrap_or("unknown");
        return Some(format!(
            "{} updates were confirmed and are not there, the first: {first}",
            updates.wrong
        ));
    }
    let duration_s = report.duration_s.filter(|_| report.transactions_used_up)?;
    Some(format!(
        "the update transactions were used up after {:.1} s of {duration_s} s, by {} mixes: generate more with --update-transactions",
        report.elapsed_s, report.runs
    ))
}

enum ReportKind {
    Json,
    Markdown,
    Xml,
    Html,
}

fn report_kind(path: &Path) -> Result<ReportKind, CliError> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => Ok(ReportKind::Json),
        Some("md") => Ok(ReportKind::Markdown),
        Some("xml") => Ok(ReportKind::Xml),
        Some("html" | "htm") => Ok(ReportKind::Html),
        _ => {
            let name = path.display();
            Err(CliError::Other(format!(
                "cannot tell the kind of report '{name}', use .json, .html, .md or .xml"
            )))
        }
    }
}

/// The name of a report: that of its file, without folder and ending.
pub fn report_name(path: &Path) -> String {
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

fn some_time(text: &str) -> Result<Duration, String> {
    match duration(text)? {
        Duration::ZERO => Err("expected a time above 0 s".to_owned()),
        duration => Ok(duration),
    }
}

fn label(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        _ => Err("expected name=value".to_owned()),
    }
}
