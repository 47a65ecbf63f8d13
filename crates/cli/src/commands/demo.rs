//! `basalt demo`: generate, load, look at the shapes, ask every query of the benchmark, serve.

use crate::commands::load::inputs;
use crate::commands::query::write_answer;
use crate::commands::serve::Endpoint;
use crate::error::CliError;
use crate::load_summary::{summary, to_text};
use crate::output::{message, write_stdout};
use crate::progress::LoadProgress;
use crate::values::{AnswerFormat, show_count};
use basalt_bsbm::{
    DEFAULT_SEED, Draw, GenerateOptions, Output, ParameterPool, QueryForm, UseCase, generate, mix,
    query_text,
};
use basalt_engine::{Database, LoadOptions, QueryOptions, ResultsFormat, SchemaReport};
use clap::Args;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Seed of the query parameters.
const QUERY_SEED: u64 = 808_080;

/// Show it all: generate benchmark data, load, print the shapes, run every query, serve
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  basalt demo --no-serve")]
pub struct Demo {
    /// Products of the benchmark data; a product makes about 350 triples
    #[arg(
        long,
        env = "BASALT_PRODUCTS",
        value_name = "N",
        default_value_t = 2785,
        hide_env_values = true
    )]
    products: u64,
    /// Folder for the store [default: a temporary one, removed at the end]
    #[arg(
        long,
        env = "BASALT_LOCATION",
        value_name = "DIR",
        hide_env_values = true
    )]
    location: Option<PathBuf>,
    /// Stop after the queries
    #[arg(long, env = "BASALT_NO_SERVE", hide_env_values = true)]
    no_serve: bool,
    #[command(flatten)]
    endpoint: Endpoint,
}

/// A folder that is removed at the end.
struct Scratch(PathBuf);

impl Scratch {
    fn new() -> Result<Self, CliError> {
        let path = std::env::temp_dir().join(format!("basalt-demo-{}", std::process::id()));
        std::fs::create_dir(&path).map_err(CliError::file("create", &path))?;
        Ok(Self(path))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // The system cleans its folder for temporary files if this cannot.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

impl Demo {
    /// Runs it.
    pub fn run(self) -> Result<(), CliError> {
        let scratch = Scratch::new()?;
        let location = self
            .location
            .clone()
            .unwrap_or_else(|| scratch.0.join("store"));
        let database = Database::open_or_empty(&location)?;
        if database.snapshot().quad_count() > 0 {
            let text = format!(
                "'{}' holds data already, the demo needs a new folder",
                location.display()
            );
            return Err(CliError::Other(text));
        }
        let data = scratch.0.join("data.nt");
        generate_data(&data, self.products)?;
        load(&database, &data)?;
        std::fs::remove_file(&data).map_err(CliError::file("remove", &data))?;
        write_stdout(&format!(
            "\n{}\n",
            SchemaReport::new(&database.snapshot())?.to_text()
        ))?;
        let pool = ParameterPool::from_options(self.products, DEFAULT_SEED)?;
        let mut failures = run_mix(&database, &pool, UseCase::Explore)?;
        failures += run_mix(&database, &pool, UseCase::Bi)?;
        if failures > 0 {
            return Err(CliError::Other(format!("{failures} queries failed")));
        }
        match self.no_serve {
            true => Ok(()),
            false => self.endpoint.serve(database),
        }
    }
}

fn generate_data(path: &Path, products: u64) -> Result<(), CliError> {
    let start = Instant::now();
    let options = GenerateOptions {
        forward_chaining: true,
        output: Output::File(path.to_owned()),
        ..GenerateOptions::new(products)
    };
    let manifest = generate(&options, &mut |_| ())?;
    let seconds = start.elapsed().as_secs_f64();
    message(&format!(
        "{} triples of {products} products generated in {seconds:.2} s",
        show_count(manifest.triples())
    ));
    Ok(())
}

fn load(database: &Database, data: &Path) -> Result<(), CliError> {
    let start = Instant::now();
    let options = LoadOptions {
        inputs: inputs(&[data.to_owned()], None),
        ..LoadOptions::default()
    };
    let progress = LoadProgress::new(&[data.to_owned()]);
    let report = progress.show_during(|| database.load(options, &progress))?;
    message(&to_text(&summary(database, &report, start, None)?));
    Ok(())
}

/// What the executions of one query did.
#[derive(Default)]
struct Tally {
    count: u32,
    rows: u64,
    time: Duration,
    error: Option<String>,
}

/// Runs one mix and every query that the mix leaves out; returns the number of queries that failed.
fn run_mix(
    database: &Database,
    pool: &ParameterPool,
    use_case: UseCase,
) -> Result<usize, CliError> {
    let in_mix = mix(use_case);
    let left_out = (1..=use_case.queries()).filter(|number| !in_mix.contains(number));
    let mut tallies: BTreeMap<u8, Tally> = BTreeMap::new();
    for (position, number) in (0..).zip(in_mix.iter().copied().chain(left_out)) {
        let tally = tallies.entry(number).or_default();
        let draw = Draw {
            seed: QUERY_SEED,
            mix: 0,
            position,
        };
        let start = Instant::now();
        match run_query(database, pool, use_case, number, draw) {
            Ok(rows) => tally.rows += rows,
            Err(error) => tally.error = Some(error.one_line()),
        }
        tally.time += start.elapsed();
        tally.count += 1;
    }
    let mut out = format!(
        "\n{:<8} {:>5} {:>5} {:>9} {:>10}\n",
        use_case.name(),
        "query",
        "runs",
        "rows",
        "mean ms"
    );
    for (number, tally) in &tallies {
        let ms = tally.time.as_secs_f64() * 1e3 / f64::from(tally.count);
        let line = format!(
            "{:<8} {number:>5} {:>5} {:>9} {ms:>10.2}",
            "", tally.count, tally.rows
        );
        out.push_str(&line);
        if let Some(error) = &tally.error {
            out.push_str(&format!("  failed: {error}"));
        }
        out.push('\n');
    }
    write_stdout(&out)?;
    Ok(tallies
        .values()
        .filter(|tally| tally.error.is_some())
        .count())
}

fn run_query(
    database: &Database,
    pool: &ParameterPool,
    use_case: UseCase,
    number: u8,
    draw: Draw,
) -> Result<u64, CliError> {
    let missing = || CliError::Other(format!("{} has no query {number}", use_case.name()));
    let parameters = pool.draw(use_case, number, draw).ok_or_else(missing)?;
    let text = query_text(use_case, number, &parameters).ok_or_else(missing)?;
    let format = match use_case.form(number) {
        Some(QueryForm::Select) => Some(AnswerFormat::Results(ResultsFormat::Json)),
        Some(QueryForm::Graph | QueryForm::Update) | None => None,
    };
    let answer = database.query(&text, &QueryOptions::default())?;
    write_answer(answer, format, &mut std::io::sink())
}
