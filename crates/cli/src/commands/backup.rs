//! `basalt backup`: a consistent copy of a store, whoever else has it open.
//!
//! A signal to stop ends the copying at its next step, and what was copied is removed.

use crate::error::CliError;
use crate::output::{message, write_stdout};
use crate::values::{show_bytes, show_count};
use basalt_engine::{BackupReport, Database};
use basalt_server::on_stop_signal;
use clap::Args;
use serde_json::json;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// Between two lines of progress.
const INTERVAL: Duration = Duration::from_secs(5);

/// Copy a store as it is now, while others read and write it
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  basalt backup --location store --destination /backups/monday\n\n\
    The copy has every commit that was acknowledged before the command began. It is verified before it\n\
    becomes a store. To restore it, copy its folder back or serve it where it is."
)]
pub struct Backup {
    /// Folder of the store
    #[arg(
        long,
        env = "BASALT_LOCATION",
        value_name = "DIR",
        hide_env_values = true
    )]
    location: PathBuf,
    /// Folder for the copy, new or empty
    #[arg(
        long,
        env = "BASALT_DESTINATION",
        value_name = "DIR",
        hide_env_values = true
    )]
    destination: PathBuf,
    /// Print the summary as JSON on standard output
    #[arg(long, env = "BASALT_JSON", hide_env_values = true)]
    json: bool,
}

impl Backup {
    /// Runs it.
    pub fn run(self) -> Result<(), CliError> {
        let start = Instant::now();
        let stopped = Arc::new(OnceLock::new());
        let signalled = Arc::clone(&stopped);
        on_stop_signal(move |signal| {
            // There is one signal, so nothing was set before.
            let _ = signalled.set(signal);
        })?;
        let mut told = start;
        let mut progress = |done: u64, total: u64| {
            if told.elapsed() >= INTERVAL {
                told = Instant::now();
                message(&copied(start, done, total));
            }
            match stopped.get() {
                None => ControlFlow::Continue(()),
                Some(_) => ControlFlow::Break(()),
            }
        };
        let made = Database::back_up(&self.location, &self.destination, &mut progress);
        if let (Err(_), Some(signal)) = (&made, stopped.get()) {
            message("error: stopped by a signal; there is no backup");
            std::process::exit(i32::from(signal.exit_code()));
        }
        let report = made?;
        match self.json {
            true => write_stdout(&format!("{}\n", to_json(&report, start.elapsed()))),
            false => {
                message(&self.to_text(&report, start.elapsed()));
                Ok(())
            }
        }
    }

    /// The summary for people.
    fn to_text(&self, report: &BackupReport, elapsed: Duration) -> String {
        format!(
            "{} quads, up to commit {}, are in '{}': {} files, {}, copied and verified in {:.2} s",
            show_count(report.quads),
            report.commit_number,
            self.destination.display(),
            report.files,
            show_bytes(report.bytes),
            elapsed.as_secs_f64()
        )
    }
}

/// A line of progress.
fn copied(start: Instant, done: u64, total: u64) -> String {
    format!(
        "{:.0} s: {} of {} copied",
        start.elapsed().as_secs_f64(),
        show_bytes(done),
        show_bytes(total)
    )
}

/// The summary as one JSON object.
fn to_json(report: &BackupReport, elapsed: Duration) -> serde_json::Value {
    json!({
        "version": report.version,
        "commit": report.commit_number,
        "quads": report.quads,
        "files": report.files,
        "bytes": report.bytes,
        "seconds": elapsed.as_secs_f64(),
    })
}
