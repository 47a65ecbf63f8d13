//! `basalt convert`: from one RDF syntax to another.
//!
//! The files go through a store in memory: repeated quads are dropped, blank nodes get new labels,
//! and memory grows with the data.

use crate::commands::dump::{output_format, write_dump};
use crate::commands::load::load_in_memory;
use crate::error::CliError;
use crate::values::graph_format;
use basalt_engine::GraphFormat;
use basalt_engine::dump::DumpGraph;
use clap::Args;
use std::path::PathBuf;

/// Convert between RDF syntaxes, in memory; repeated quads are dropped, blank nodes relabelled
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  basalt convert data.ttl --output data.nt\n  \
    curl -s URL | basalt convert - --from-format ttl --to-format nt"
)]
pub struct Convert {
    /// Files, also .gz, .zst and .bz2; `-` is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Format of the files: nt, nq, ttl, trig [default: by file name]
    #[arg(long, env = "BASALT_FROM_FORMAT", value_name = "FORMAT", value_parser = graph_format,
        hide_env_values = true)]
    from_format: Option<GraphFormat>,
    /// Format to write [default: by the name of the output]
    #[arg(long, env = "BASALT_TO_FORMAT", value_name = "FORMAT", value_parser = graph_format,
        hide_env_values = true)]
    to_format: Option<GraphFormat>,
    /// IRI that resolves relative IRIs
    #[arg(long, env = "BASALT_BASE", value_name = "IRI", hide_env_values = true)]
    base: Option<String>,
    /// File to write [default: standard output]
    #[arg(
        long,
        env = "BASALT_OUTPUT",
        value_name = "FILE",
        hide_env_values = true
    )]
    output: Option<PathBuf>,
}

impl Convert {
    /// Runs it.
    pub fn run(self) -> Result<(), CliError> {
        let output = self.output.as_deref();
        let format = output_format(self.to_format, output, None)?;
        let database = load_in_memory(&self.files, self.from_format, self.base)?;
        write_dump(&database.snapshot(), format, DumpGraph::All, output)?;
        Ok(())
    }
}
