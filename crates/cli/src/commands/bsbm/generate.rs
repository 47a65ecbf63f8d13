//! `basalt bsbm generate`: BSBM data, with the parameters of the driver and update transactions.

use crate::error::CliError;
use crate::output::message;
use crate::values::{show_bytes, show_count};
use basalt_bsbm::{DEFAULT_SEED, Format, GenerateOptions, Output, Progress, generate};
use clap::Args;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// Time between two lines of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(2);

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

impl Generate {
    /// Generates.
    pub fn run(self) -> Result<(), CliError> {
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
