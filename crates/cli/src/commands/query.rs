//! `basalt query` and `basalt explain`: one query on a store, or on files in memory.

use crate::commands::limits::Limits;
use crate::commands::load::load_in_memory;
use crate::commands::stats::read_statistics;
use crate::error::CliError;
use crate::output::{Output, message, write_stdout};
use crate::values::{AnswerFormat, answer_format, show_bytes, show_count};
use basalt_engine::results::{write_boolean, write_graph, write_solutions};
use basalt_engine::{
    Answer, Database, GraphFormat, PlanReport, PlannerStatistics, QueryOptions, ResultsFormat,
    RunReport,
};
use clap::{Args, ValueEnum};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

/// Run one query on a store, or on files in memory
#[derive(Debug, Args)]
#[command(after_help = "Examples:\n  \
    basalt query --location store --query 'SELECT (COUNT(*) AS ?n) { ?s ?p ?o }'\n  \
    basalt query --data data.ttl --query-file q.rq --results-format json\n  \
    echo 'ASK { ?s a ?class }' | basalt query --location store")]
pub struct QueryCommand {
    #[command(flatten)]
    source: Source,
    /// Format of the answer: json, xml, csv, tsv, arrow; for graphs nt, nq, ttl, trig, rdfxml, jsonld
    /// [default: tsv, nt]
    #[arg(long, env = "BASALT_RESULTS_FORMAT", value_name = "FORMAT", value_parser = answer_format,
        hide_env_values = true)]
    results_format: Option<AnswerFormat>,
    /// Print the plan with estimates instead of running the query, as text or json [default: text]
    #[arg(long, env = "BASALT_EXPLAIN", value_name = "FORMAT", num_args = 0..=1,
        default_missing_value = "text", value_parser = plan_option, conflicts_with = "profile",
        hide_env_values = true)]
    explain: Option<PlanOption>,
    /// Run the query and print the plan with actual rows, times and memory instead of the answer, as text or
    /// json [default: text]
    #[arg(long, env = "BASALT_PROFILE", value_name = "FORMAT", num_args = 0..=1,
        default_missing_value = "text", value_parser = plan_option, hide_env_values = true)]
    profile: Option<PlanOption>,
    /// Print the plan by these statistics, which `stats export` wrote, and not by those of a store
    #[arg(
        long,
        env = "BASALT_STATS",
        value_name = "FILE",
        requires = "explain",
        hide_env_values = true
    )]
    stats: Option<PathBuf>,
}

/// Whether a plan is printed, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PlanOption {
    /// It is not: what an environment variable can say.
    Off,
    /// As this.
    Print(PlanFormat),
}

/// How a plan is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PlanFormat {
    Text,
    Json,
}

impl PlanFormat {
    fn render(self, report: &PlanReport) -> String {
        match self {
            Self::Text => report.to_text() + &report.times_text(),
            Self::Json => format!("{:#}\n", report.to_json()),
        }
    }
}

impl PlanOption {
    fn format(chosen: Option<Self>) -> Option<PlanFormat> {
        match chosen {
            Some(Self::Print(format)) => Some(format),
            Some(Self::Off) | None => None,
        }
    }
}

/// A format of plans by name; yes and no as other flags take them from the environment.
fn plan_option(text: &str) -> Result<PlanOption, String> {
    Ok(match text.to_ascii_lowercase().as_str() {
        "text" | "true" | "1" | "yes" | "on" => PlanOption::Print(PlanFormat::Text),
        "json" => PlanOption::Print(PlanFormat::Json),
        "" | "false" | "0" | "no" | "off" => PlanOption::Off,
        _ => return Err("expected text or json".to_owned()),
    })
}

/// Print the plan of a query with estimates
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  basalt explain --location store --query-file q.rq\n  \
    basalt explain --stats statistics.json --query-file q.rq"
)]
pub struct Explain {
    #[command(flatten)]
    source: Source,
    /// How to print
    #[arg(long, env = "BASALT_FORMAT", value_enum, default_value_t = PlanFormat::Text, hide_env_values = true)]
    format: PlanFormat,
    /// Plan by these statistics, which `stats export` wrote, and not by those of a store
    #[arg(
        long,
        env = "BASALT_STATS",
        value_name = "FILE",
        hide_env_values = true
    )]
    stats: Option<PathBuf>,
}

/// Which query on which data, within which limits.
#[derive(Debug, Args)]
struct Source {
    /// Folder of the store
    #[arg(
        long,
        env = "BASALT_LOCATION",
        value_name = "DIR",
        required_unless_present_any = ["data", "stats"],
        hide_env_values = true
    )]
    location: Option<PathBuf>,
    /// Files to query in memory instead of a store
    #[arg(long, env = "BASALT_DATA", value_name = "FILES", num_args = 1.., value_delimiter = ' ',
        conflicts_with = "location", hide_env_values = true)]
    data: Vec<PathBuf>,
    /// The query [default: standard input]
    #[arg(long, env = "BASALT_QUERY", hide_env_values = true)]
    query: Option<String>,
    /// File with the query; `-` is standard input
    #[arg(
        long,
        env = "BASALT_QUERY_FILE",
        value_name = "FILE",
        conflicts_with = "query",
        hide_env_values = true
    )]
    query_file: Option<PathBuf>,
    /// IRI that resolves relative IRIs of the query
    #[arg(long, env = "BASALT_BASE", value_name = "IRI", hide_env_values = true)]
    base: Option<String>,
    /// Graph to query as the default graph, instead of FROM; repeatable
    #[arg(
        long,
        env = "BASALT_DEFAULT_GRAPH",
        value_name = "IRI",
        hide_env_values = true
    )]
    default_graph: Vec<String>,
    /// Graph to query as a named graph, instead of FROM NAMED; repeatable
    #[arg(
        long,
        env = "BASALT_NAMED_GRAPH",
        value_name = "IRI",
        hide_env_values = true
    )]
    named_graph: Vec<String>,
    /// Let a query without FROM see the union of all graphs
    #[arg(long, env = "BASALT_UNION_DEFAULT_GRAPH", hide_env_values = true)]
    union_default_graph: bool,
    #[command(flatten)]
    limits: Limits,
}

impl Explain {
    /// Runs it.
    pub fn run(self) -> Result<(), CliError> {
        let report = self.source.explain(self.stats.as_deref())?;
        write_stdout(&self.format.render(&report))
    }
}

impl QueryCommand {
    /// Runs it.
    pub fn run(self) -> Result<(), CliError> {
        if let Some(format) = PlanOption::format(self.explain) {
            let report = self.source.explain(self.stats.as_deref())?;
            return write_stdout(&format.render(&report));
        }
        if self.stats.is_some() {
            let text = "a query runs by the statistics of its store: --stats is for --explain";
            return Err(CliError::Other(text.to_owned()));
        }
        let (database, text, options) = self.source.open()?;
        let prepared = database.prepare(&text, &options)?;
        if let Some(format) = PlanOption::format(self.profile) {
            let report = prepared.profile(&options)?;
            write_stdout(&format.render(&report))?;
            report.run.iter().for_each(say_run);
            return Ok(());
        }
        let mut output = Output::open(None)?;
        write_answer(prepared.run(&options)?, self.results_format, &mut output)?;
        output.finish()
    }
}

impl Source {
    /// The plan, by statistics of a file, or by those that an empty store keeps, or by the data.
    fn explain(self, stats: Option<&Path>) -> Result<PlanReport, CliError> {
        if let Some(path) = stats {
            let statistics = read_statistics(path)?;
            let (text, options, _) = self.request()?;
            return Ok(statistics.explain(&text, &options)?);
        }
        let location = self.location.clone();
        let (database, text, options) = self.open()?;
        if let Some(location) = location
            && database.snapshot().quad_count() == 0
            && let Some(statistics) = PlannerStatistics::kept_in(&location)?
        {
            message("the store is empty, and the plan is by its imported statistics");
            return Ok(statistics.explain(&text, &options)?);
        }
        Ok(database.prepare(&text, &options)?.explain())
    }

    fn open(self) -> Result<(Database, String, QueryOptions), CliError> {
        let (text, options, (location, data)) = self.request()?;
        let database = match &location {
            Some(location) => Database::open(location)?,
            None => load_in_memory(&data, None, None)?,
        };
        Ok((database, text, options))
    }

    /// The query and its options, and where the data is: a store, or files.
    #[allow(clippy::type_complexity, reason = "it is taken apart at once")]
    fn request(self) -> Result<(String, QueryOptions, (Option<PathBuf>, Vec<PathBuf>)), CliError> {
        let limits = self.limits.options()?;
        let text = request_text(
            self.query,
            self.query_file.as_deref(),
            "read the query from standard input",
        )?;
        let options = QueryOptions {
            base: self.base,
            default_graphs: self.default_graph,
            named_graphs: self.named_graph,
            union_default_graph: self.union_default_graph,
            ..limits
        };
        Ok((text, options, (self.location, self.data)))
    }
}

/// The text of a query or an update: as given, of a file, or of standard input, where `op` tells what failed.
pub fn request_text(
    text: Option<String>,
    file: Option<&Path>,
    op: &'static str,
) -> Result<String, CliError> {
    match (text, file) {
        (Some(text), _) => Ok(text),
        (None, Some(path)) if path.as_os_str() != "-" => {
            std::fs::read_to_string(path).map_err(CliError::file("read", path))
        }
        _ => {
            let mut text = String::new();
            let read = std::io::stdin().read_to_string(&mut text);
            read.map_err(|source| CliError::Stream { op, source })?;
            Ok(text)
        }
    }
}

/// Says beside the plan how many rows there were, how soon, and what they took.
fn say_run(run: &RunReport) {
    let ms = run.time.as_secs_f64() * 1e3;
    let mut text = format!("{} rows in {ms:.1} ms", show_count(run.rows));
    for (what, bytes) in [
        ("of memory", run.memory_bytes),
        ("written to temporary files", run.spilled_bytes),
    ] {
        if bytes > 0 {
            text.push_str(&format!(", {} {what}", show_bytes(bytes)));
        }
    }
    message(&text);
}

/// Writes an answer in a format, or in the usual one of its kind, and returns the rows or triples.
pub fn write_answer(
    answer: Answer,
    format: Option<AnswerFormat>,
    target: &mut dyn Write,
) -> Result<u64, CliError> {
    let results = || match format {
        None => Ok(ResultsFormat::Tsv),
        Some(AnswerFormat::Results(format)) => Ok(format),
        Some(AnswerFormat::Graph(format)) => Err(CliError::Other(format!(
            "{} cannot hold solutions, use json, xml, csv, tsv or arrow",
            format.name()
        ))),
    };
    match answer {
        Answer::Solutions(mut solutions) => {
            Ok(write_solutions(&mut solutions, results()?, target)?)
        }
        Answer::Boolean(value) => {
            write_boolean(value, results()?, target)?;
            Ok(1)
        }
        Answer::Graph(mut graph) => match format {
            None => Ok(write_graph(&mut graph, GraphFormat::NTriples, target)?),
            Some(AnswerFormat::Graph(format)) => Ok(write_graph(&mut graph, format, target)?),
            Some(AnswerFormat::Results(ResultsFormat::Xml)) => {
                Ok(write_graph(&mut graph, GraphFormat::RdfXml, target)?)
            }
            Some(AnswerFormat::Results(_)) => {
                let text =
                    "the answer is a graph, use nt, nq, ttl, trig, rdfxml or jsonld as its format";
                Err(CliError::Other(text.to_owned()))
            }
        },
    }
}
