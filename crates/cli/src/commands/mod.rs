//! The subcommands, one file each.

mod backup;
mod bsbm;
mod check;
mod convert;
mod demo;
mod dump;
mod limits;
mod load;
mod optimize;
mod query;
mod schema;
mod serve;
mod stats;
mod update;

use crate::error::CliError;
use clap::{Parser, Subcommand};

/// An RDF quad store that finds the tables hidden in RDF data and runs SPARQL on them.
#[derive(Debug, Parser)]
#[command(
    name = "basalt",
    version,
    arg_required_else_help = true,
    max_term_width = 100
)]
#[command(
    after_help = "Every option can also be given as an environment variable BASALT_<OPTION>, as in \
    BASALT_LOCATION=store.\nSizes accept 512M and 4G, durations 500ms, 30s and 5m."
)]
pub struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Load(load::Load),
    Serve(serve::Serve),
    Query(Box<query::QueryCommand>),
    Update(Box<update::Update>),
    Explain(Box<query::Explain>),
    Schema(schema::Schema),
    #[command(subcommand)]
    Stats(stats::Stats),
    Dump(dump::Dump),
    Check(check::Check),
    Backup(backup::Backup),
    Optimize(optimize::Optimize),
    Convert(convert::Convert),
    Demo(demo::Demo),
    #[command(subcommand)]
    Bsbm(bsbm::Bsbm),
}

/// Runs the command that was asked for.
pub fn run(arguments: Arguments) -> Result<(), CliError> {
    match arguments.command {
        Command::Load(command) => command.run(),
        Command::Serve(command) => command.run(),
        Command::Query(command) => command.run(),
        Command::Update(command) => command.run(),
        Command::Explain(command) => command.run(),
        Command::Schema(command) => command.run(),
        Command::Stats(command) => command.run(),
        Command::Dump(command) => command.run(),
        Command::Check(command) => command.run(),
        Command::Backup(command) => command.run(),
        Command::Optimize(command) => command.run(),
        Command::Convert(command) => command.run(),
        Command::Demo(command) => command.run(),
        Command::Bsbm(command) => command.run(),
    }
}
