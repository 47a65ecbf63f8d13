//! `basalt dump`: everything that is in a store, or one graph of it.

use crate::error::CliError;
use crate::output::{Output, message};
use crate::values::{graph_format, show_count};
use basalt_engine::dump::{DumpGraph, dump};
use basalt_engine::{Database, GraphFormat, Snapshot};
use clap::Args;
use std::path::{Path, PathBuf};

/// Write all quads of a store, or one graph
#[derive(Debug, Args)]
#[command(
    after_help = "Example:\n  basalt dump --location store --output all.nq\n  \
    basalt dump --location store --graph default --format ttl | less"
)]
pub struct Dump {
    /// Folder of the store
    #[arg(
        long,
        env = "BASALT_LOCATION",
        value_name = "DIR",
        hide_env_values = true
    )]
    location: PathBuf,
    /// Format: nt, nq, ttl, trig, rdfxml, jsonld [default: by the name of the output, else nq, or nt for
    /// one graph]
    #[arg(long, env = "BASALT_FORMAT", value_parser = graph_format, hide_env_values = true)]
    format: Option<GraphFormat>,
    /// Write only this graph, as triples; `default` is the default graph
    #[arg(long, env = "BASALT_GRAPH", value_name = "IRI", hide_env_values = true)]
    graph: Option<String>,
    /// File to write, also .gz, .zst and .bz2 [default: standard output]
    #[arg(
        long,
        env = "BASALT_OUTPUT",
        value_name = "FILE",
        hide_env_values = true
    )]
    output: Option<PathBuf>,
}

impl Dump {
    /// Runs it.
    pub fn run(self) -> Result<(), CliError> {
        let graph = match self.graph.as_deref() {
            None => DumpGraph::All,
            Some("default") => DumpGraph::Default,
            Some(iri) => DumpGraph::Named(iri),
        };
        let output = self.output.as_deref();
        let usual = match graph {
            DumpGraph::All => GraphFormat::NQuads,
            DumpGraph::Default | DumpGraph::Named(_) => GraphFormat::NTriples,
        };
        let format = output_format(self.format, output, Some(usual))?;
        let database = Database::open(&self.location)?;
        let quads = write_dump(&database.snapshot(), format, graph, output)?;
        if output.is_some() {
            message(&format!("{} quads written", show_count(quads)));
        }
        Ok(())
    }
}

/// The format given, else that of the output's name, else the usual one.
pub fn output_format(
    given: Option<GraphFormat>,
    output: Option<&Path>,
    usual: Option<GraphFormat>,
) -> Result<GraphFormat, CliError> {
    let output = output.filter(|path| path.as_os_str() != "-");
    let known = given.or_else(|| output.and_then(GraphFormat::from_path));
    known.or(usual.filter(|_| output.is_none())).ok_or_else(|| {
        let name = output.map_or_else(
            || "standard output".to_owned(),
            |path| format!("'{}'", path.display()),
        );
        CliError::Other(format!(
            "cannot tell the format of {name}: no known extension and no format given"
        ))
    })
}

/// Writes a dump and returns the number of quads.
pub fn write_dump(
    snapshot: &Snapshot,
    format: GraphFormat,
    graph: DumpGraph<'_>,
    output: Option<&Path>,
) -> Result<u64, CliError> {
    let named = snapshot.named_graphs().len();
    if graph == DumpGraph::All && named > 0 && !format.has_graphs() {
        return Err(CliError::Other(format!(
            "there are {named} named graphs, which {} cannot hold: use nq, trig or jsonld, or one graph",
            format.name()
        )));
    }
    let mut output = Output::open(output)?;
    let quads = dump(snapshot, &mut output, format, graph)?;
    output.finish()?;
    Ok(quads)
}
