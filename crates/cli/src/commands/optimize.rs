//! `basalt optimize`: a store written anew, as if all its data had been loaded at once, changes since then
//! merged.

use crate::error::CliError;
use crate::interrupt::{Work, unless_stopped};
use crate::output::message;
use crate::progress::LoadProgress;
use crate::values::{show_bytes, show_count};
use basalt_engine::Database;
use clap::Args;
use std::path::PathBuf;
use std::time::Instant;

/// Rewrite a store that has grown by many loads and updates as if all of it had been loaded at once; readers go
/// on meanwhile
#[derive(Debug, Args)]
#[command(after_help = "Example:\n  basalt optimize --location store")]
pub struct Optimize {
    /// Folder of the store
    #[arg(
        long,
        env = "BASALT_LOCATION",
        value_name = "DIR",
        hide_env_values = true
    )]
    location: PathBuf,
}

impl Optimize {
    /// Runs it.
    pub fn run(self) -> Result<(), CliError> {
        let start = Instant::now();
        let database = Database::open(&self.location)?;
        let before = database.snapshot();
        let changes = before.delta_size();
        let progress = LoadProgress::new(&[]);
        let optimize = || database.optimize(&progress);
        let report =
            progress.show_during(|| unless_stopped(&self.location, Work::Load, optimize))??;
        let after = database.snapshot();
        message(&format!(
            "{} quads rewritten in {:.2} s: {} tables before, {} now; {} irregular quads before, {} now; \
             {} before, {} now; {} changed quads merged",
            show_count(report.quads_stored),
            start.elapsed().as_secs_f64(),
            show_count(before.tables().len() as u64),
            show_count(after.tables().len() as u64),
            show_count(before.quad_table().quad_count()),
            show_count(report.irregular_quads),
            show_bytes(before.file_bytes()),
            show_bytes(after.file_bytes()),
            show_count(changes.added + changes.removed)
        ));
        Ok(())
    }
}
