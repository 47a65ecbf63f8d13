//! `basalt convert`: from one RDF syntax to another, as a stream.
//!
//! Repeated quads stay, literals stay as written, memory does not grow with the data.

use crate::commands::dump::output_format;
use crate::commands::load::{inputs, show_skipped};
use crate::error::CliError;
use crate::output::{Output, message};
use crate::values::{graph_format, prefix, show_count};
use basalt_engine::GraphFormat;
use basalt_engine::convert::{ConvertGraph, ConvertOptions, convert};
use clap::Args;
use std::path::PathBuf;

/// Convert between RDF syntaxes and compressions, as a stream
#[derive(Debug, Args)]
#[command(
    after_help = "Examples:\n  basalt convert data.ttl.gz --output data.nt.zst\n  \
    curl -s URL | basalt convert - --from-format ttl --to-format nt\n  \
    basalt convert data.nq --graph http://example.org/g --prefix ex=http://example.org/ --to-format rdfxml\n\n\
    Quads come in the order of the files, repeated ones too. Blank node labels are kept if there is\n\
    one file and made different if there are several."
)]
pub struct Convert {
    /// Files, also .gz, .zst and .bz2; `-` is standard input
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Format of the files: nt, nq, ttl, trig, rdfxml, jsonld [default: by file name]
    #[arg(long, env = "BASALT_FROM_FORMAT", value_name = "FORMAT", value_parser = graph_format,
        hide_env_values = true)]
    from_format: Option<GraphFormat>,
    /// Format to write [default: by the name of the output]
    #[arg(long, env = "BASALT_TO_FORMAT", value_name = "FORMAT", value_parser = graph_format,
        hide_env_values = true)]
    to_format: Option<GraphFormat>,
    /// Write only this graph, as triples; `default` is the default graph
    #[arg(long, env = "BASALT_GRAPH", value_name = "IRI", hide_env_values = true)]
    graph: Option<String>,
    /// Prefix for Turtle, TriG and RDF/XML; repeatable
    #[arg(long, env = "BASALT_PREFIX", value_name = "NAME=IRI", value_parser = prefix,
        hide_env_values = true)]
    prefix: Vec<(String, String)>,
    /// IRI that resolves relative IRIs
    #[arg(long, env = "BASALT_BASE", value_name = "IRI", hide_env_values = true)]
    base: Option<String>,
    /// Skip bad lines of N-Triples and N-Quads, and report them; an error in any other format is final
    #[arg(long, env = "BASALT_LENIENT", hide_env_values = true)]
    lenient: bool,
    /// Bad lines to skip before giving up
    #[arg(
        long,
        env = "BASALT_MAX_ERRORS",
        value_name = "N",
        requires = "lenient",
        hide_env_values = true
    )]
    max_errors: Option<u64>,
    /// File to write, also .gz, .zst and .bz2 [default: standard output]
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
        let options = ConvertOptions {
            inputs: inputs(&self.files, self.from_format),
            format,
            graph: match self.graph {
                None => ConvertGraph::All,
                Some(name) if name == "default" => ConvertGraph::Default,
                Some(iri) => ConvertGraph::Named(iri),
            },
            prefixes: self.prefix,
            base: self.base,
            lenient: self.lenient,
            errors_max: self.max_errors.unwrap_or(u64::MAX),
        };
        let mut target = Output::open(output)?;
        let report = convert(options, &mut target)?;
        target.finish()?;
        show_skipped(&report.skipped, report.skipped_lines);
        if output.is_some() {
            message(&format!("{} quads written", show_count(report.quads)));
        }
        Ok(())
    }
}
