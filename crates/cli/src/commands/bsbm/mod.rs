//! `basalt bsbm`: the Berlin SPARQL Benchmark: data, and a driver for any endpoint.

mod compare;
mod generate;
mod qualify;
mod run;
mod target;

use crate::error::CliError;
use clap::Subcommand;

/// The Berlin SPARQL Benchmark: generate data, run queries, compare runs and answers
#[derive(Debug, Subcommand)]
pub enum Bsbm {
    Generate(generate::Generate),
    Run(Box<run::Run>),
    Compare(compare::Compare),
    Qualify(Box<qualify::Qualify>),
}

impl Bsbm {
    /// Runs it.
    pub fn run(self) -> Result<(), CliError> {
        match self {
            Self::Generate(command) => command.run(),
            Self::Run(command) => command.run(),
            Self::Compare(command) => command.run(),
            Self::Qualify(command) => command.run(),
        }
    }
}
