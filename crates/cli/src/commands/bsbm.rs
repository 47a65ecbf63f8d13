//! `basalt bsbm`: the Berlin SPARQL Benchmark: data, and a driver for any endpoint.

use crate::error::CliError;
use crate::output::{message, write_stdout};
use crate::values::{duration, show_bytes, show_count};
use basalt_bsbm::{
    DEFAULT_SEED, Format, GenerateOptions, Output, ParameterPool, Progress, Report, RunOptions,
    UseCase, compare_reports, generate, run,
};
use clap::{Args, Subcommand};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Time between two lines of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

/// The Berlin SPARQL Benchmark: generate data, run queries, compare runs
#[derive(Debug, Subcommand)]
pub enum Bsbm {
    Generate(Generate),
    Run(Box<Run>),
    Compare(Compare),
}

/// Generate a data set, and what the driver needs to query it
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  basalt bsbm generate --products 2785 --forward-chaining --output data.nt.gz --data-dir td"
)]
pub struct Generate {
    /// Products; a product makes about 350 triples
    #[arg(
        long,
        env = "BASALT_PRODUCTS",
        value_name = "N",
        hide_env_values = true
    )]
    products: u64,
    /// Give products the types above their leaf type
    #[arg(long, env = "BASALT_FORWARD_CHAINING", hide_env_values = true)]
    forward_chaining: bool,
    /// File to write: .nt, .nq, .ttl, also .gz and .zst; `-` is N-Triples on standard output
    #[arg(
        long,
        env = "BASALT_OUTPUT",
        value_name = "FILE",
        hide_env_values = true
    )]
    output: PathBuf,
    /// Cut the output into so many numbered files
    #[arg(
        long,
        env = "BASALT_FILES",
        value_name = "K",
        default_value_t = 1,
        hide_env_values = true
    )]
    files: usize,
    /// Folder for the parameters of the driver
    #[arg(
        long,
        env = "BASALT_DATA_DIR",
        value_name = "DIR",
        hide_env_values = true
    )]
    data_dir: Option<PathBuf>,
    /// Update transactions to hold back from the data set
    #[arg(
        long,
        env = "BASALT_UPDATE_TRANSACTIONS",
        value_name = "T",
        requires = "update_output",
        hide_env_values = true
    )]
    update_transactions: Option<u64>,
    /// Products of an update transaction
    #[arg(
        long,
        env = "BASALT_PRODUCTS_PER_TRANSACTION",
        value_name = "P",
        requires = "update_transactions",
        hide_env_values = true
    )]
    products_per_transaction: Option<u64>,
    /// File for the update transactions: .nt, also .gz and .zst
    #[arg(
        long,
        env = "BASALT_UPDATE_OUTPUT",
        value_name = "FILE",
        requires = "update_transactions",
        hide_env_values = true
    )]
    update_output: Option<PathBuf>,
    /// Threads [default: one per core]
    #[arg(long, env = "BASALT_THREADS", value_name = "N", hide_env_values = true)]
    threads: Option<usize>,
    /// Seed of all random numbers
    #[arg(long, env = "BASALT_SEED", value_name = "N", default_value_t = DEFAULT_SEED, hide_env_values = true)]
    seed: u64,
}

/// Run a query mix against any SPARQL endpoint and measure it
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  basalt bsbm run --use-case explore --endpoint http://127.0.0.1:7420/query \\\n    \
    --data-dir td --report explore.json --report explore.md"
)]
pub struct Run {
    /// Query mix: explore, bi, explore-and-update
    #[arg(long, env = "BASALT_USE_CASE", default_value = "explore", value_parser = use_case, hide_env_values = true)]
    use_case: UseCase,
    /// URL that queries are posted to
    #[arg(
        long,
        env = "BASALT_ENDPOINT",
        value_name = "URL",
        default_value = "http://127.0.0.1:7420/query",
        hide_env_values = true
    )]
    endpoint: String,
    /// URL that updates are posted to [default: that of the queries]
    #[arg(
        long,
        env = "BASALT_UPDATE_ENDPOINT",
        value_name = "URL",
        hide_env_values = true
    )]
    update_endpoint: Option<String>,
    /// File with update transactions
    #[arg(
        long,
        env = "BASALT_UPDATE_FILE",
        value_name = "FILE",
        hide_env_values = true
    )]
    update_file: Option<PathBuf>,
    /// Folder that the generator wrote
    #[arg(
        long,
        env = "BASALT_DATA_DIR",
        value_name = "DIR",
        hide_env_values = true
    )]
    data_dir: PathBuf,
    /// Concurrent clients
    #[arg(
        long,
        env = "BASALT_CLIENTS",
        value_name = "N",
        default_value_t = 1,
        hide_env_values = true
    )]
    clients: usize,
    /// Mixes before measuring
    #[arg(
        long,
        env = "BASALT_WARMUP",
        value_name = "N",
        default_value_t = 50,
        hide_env_values = true
    )]
    warmup: u64,
    /// Mixes to measure
    #[arg(
        long,
        env = "BASALT_RUNS",
        value_name = "N",
        default_value_t = 500,
        hide_env_values = true
    )]
    runs: u64,
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
    /// File for the report, .json or .md; repeatable [default: Markdown on standard output]
    #[arg(
        long,
        env = "BASALT_REPORT",
        value_name = "FILE",
        value_delimiter = ',',
        hide_env_values = true
    )]
    report: Vec<PathBuf>,
}

/// Compare JSON reports side by side, as Markdown
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  basalt bsbm compare basalt.json other.json")]
pub struct Compare {
    /// JSON reports; the first one is the measure of the others
    #[arg(required = true, num_args = 2..)]
    reports: Vec<PathBuf>,
}

impl Bsbm {
    /// Runs it.
    pub fn run(self) -> Result<(), CliError> {
        match self {
            Self::Generate(command) => command.run(),
            Self::Run(command) => command.run(),
            Self::Compare(command) => command.run(),
        }
    }
}

impl Generate {
    fn run(self) -> Result<(), CliError> {
        let mut options = GenerateOptions {
            forward_chaining: self.forward_chaining,
            seed: self.seed,
            threads: self.threads.unwrap_or(0),
            files: self.files,
            update_transactions: self.update_transactions.unwrap_or(0),
            products_per_transaction: self.products_per_transaction.unwrap_or(1),
            update_output: self.update_output,
            data_dir: self.data_dir,
            ..GenerateOptions::new(self.products)
        };
        if self.output.as_os_str() != "-" {
            let (format, compression) = Format::from_path(&self.output)?;
            (options.format, options.compression) = (format, compression);
            options.output = Output::File(self.output);
        }
        let start = Instant::now();
        let mut last = start;
        let manifest = generate(&options, &mut |progress: Progress| {
            if last.elapsed() >= PROGRESS_INTERVAL {
                last = Instant::now();
                show_progress(start, progress);
            }
        })?;
        let seconds = start.elapsed().as_secs_f64();
        let (triples, products) = (
            show_count(manifest.triples()),
            show_count(manifest.products),
        );
        message(&format!(
            "{triples} triples of {products} products in {seconds:.2} s"
        ));
        Ok(())
    }
}

fn show_progress(start: Instant, progress: Progress) {
    let seconds = start.elapsed().as_secs_f64().max(1e-3);
    let left = progress.triples_expected.saturating_sub(progress.triples) as f64
        / progress.triples.max(1) as f64;
    message(&format!(
        "{seconds:.0} s: {} triples, {}/s, about {:.0} s left",
        show_count(progress.triples),
        show_bytes((progress.plain_bytes as f64 / seconds) as u64),
        left * seconds
    ));
}

impl Run {
    fn run(self) -> Result<(), CliError> {
        for path in &self.report {
            report_kind(path)?;
        }
        let pool = ParameterPool::open(&self.data_dir)?;
        let options = RunOptions {
            update_endpoint: self.update_endpoint,
            update_file: self.update_file,
            clients: self.clients,
            warmup: self.warmup,
            runs: self.runs,
            seed: self.seed,
            timeout: self.timeout,
            default_graph: self.default_graph,
            ignored: self.ignore,
            ..RunOptions::new(&self.endpoint)
        };
        let report = run(self.use_case, &pool, &options, &mut message)?;
        for path in &self.report {
            let text = match report_kind(path)? {
                ReportKind::Json => report.to_json(),
                ReportKind::Markdown => report.to_markdown(),
            };
            std::fs::write(path, text).map_err(CliError::file("write", path))?;
        }
        if self.report.is_empty() {
            write_stdout(&report.to_markdown())?;
        }
        match report.errors {
            0 => Ok(()),
            errors => {
                let first = report
                    .queries
                    .iter()
                    .find_map(|query| query.first_error.as_deref());
                let first = first.unwrap_or("unknown");
                Err(CliError::Other(format!(
                    "{errors} executions failed, the first: {first}"
                )))
            }
        }
    }
}

enum ReportKind {
    Json,
    Markdown,
}

fn report_kind(path: &Path) -> Result<ReportKind, CliError> {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("json") => Ok(ReportKind::Json),
        Some("md") => Ok(ReportKind::Markdown),
        _ => {
            let name = path.display();
            Err(CliError::Other(format!(
                "cannot tell the kind of report '{name}', use .json or .md"
            )))
        }
    }
}

fn use_case(text: &str) -> Result<UseCase, String> {
    UseCase::from_name(text).ok_or_else(|| "expected explore, bi or explore-and-update".to_owned())
}

impl Compare {
    fn run(self) -> Result<(), CliError> {
        let mut reports = Vec::new();
        for path in &self.reports {
            let text = std::fs::read_to_string(path).map_err(CliError::file("read", path))?;
            let report: Report = serde_json::from_str(&text).map_err(|error| {
                CliError::Other(format!("'{}' is not a report: {error}", path.display()))
            })?;
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            reports.push((name, report));
        }
        let named: Vec<(&str, &Report)> = reports
            .iter()
            .map(|(name, report)| (name.as_str(), report))
            .collect();
        write_stdout(&compare_reports(&named))
    }
}
