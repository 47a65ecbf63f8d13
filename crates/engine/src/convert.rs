//! `convert`: from one RDF syntax to another, reader to writer, without a store.
//!
//! Quads come out in the order of the text, repeated ones too, every literal as it was written. Labels of
//! blank nodes are kept if there is one input, else each input puts its number in front of its own, so that
//! nodes of different inputs stay different.
//!
//! Memory: constant, except for what the reader of a syntax holds (one top-level object of JSON-LD).

use crate::error::Error;
use basalt_loader::{Input, InputSource, LoadError};
use basalt_rdf::reader::document::read_document;
use basalt_rdf::reader::input::Input as OpenInput;
use basalt_rdf::writer::QuadWriter;
use basalt_rdf::{GraphFormat, QuadView, ReadError, SyntaxError, TermView};
use std::io::{self, Write};
use std::ops::ControlFlow;

/// Bad lines that a report quotes.
const QUOTED_ERRORS_MAX: usize = 100;

/// Which quads to write.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ConvertGraph {
    /// All.
    #[default]
    All,
    /// Those of the default graph.
    Default,
    /// Those of one named graph, as triples.
    Named(String),
}

/// What to convert and how.
pub struct ConvertOptions {
    /// The inputs, in this order.
    pub inputs: Vec<Input>,
    /// The syntax to write.
    pub format: GraphFormat,
    /// Which quads to write.
    pub graph: ConvertGraph,
    /// Pairs of a prefix name and a namespace, to shorten IRIs where the syntax knows prefixes.
    pub prefixes: Vec<(String, String)>,
    /// The IRI that resolves relative IRIs.
    pub base: Option<String>,
    /// Whether to skip bad lines of N-Triples and N-Quads.
    pub lenient: bool,
    /// With `lenient`, the bad lines to bear before giving up.
    pub errors_max: u64,
}

/// What a conversion did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConvertReport {
    /// Quads written.
    pub quads: u64,
    /// Bad lines skipped.
    pub skipped_lines: u64,
    /// The first of them.
    pub skipped: Vec<SyntaxError>,
}

/// Reads all inputs and writes them to one target.
pub fn convert<W: Write>(options: ConvertOptions, target: W) -> Result<ConvertReport, Error> {
    let prefixes = options.prefixes.iter();
    let prefixes = prefixes.map(|(name, namespace)| (name.as_str(), namespace.as_str()));
    let mut run = Run {
        writer: QuadWriter::with_prefixes(target, options.format, prefixes)
            .map_err(Error::of_writer)?,
        graph: options.graph,
        scope: None,
        labels: Default::default(),
        quads: 0,
    };
    let is_one = options.inputs.len() == 1;
    let mut report = ConvertReport::default();
    let limits = Limits {
        base: options.base.as_deref(),
        lenient: options.lenient,
        errors_max: options.errors_max,
    };
    for (number, input) in options.inputs.into_iter().enumerate() {
        run.scope = (!is_one).then_some(number + 1);
        convert_input(input, &limits, &mut run, &mut report)?;
    }
    report.quads = run.quads;
    run.writer.finish()?.flush()?;
    Ok(report)
}

/// How to read.
struct Limits<'a> {
    base: Option<&'a str>,
    lenient: bool,
    errors_max: u64,
}

fn convert_input<W: Write>(
    input: Input,
    limits: &Limits<'_>,
    run: &mut Run<W>,
    report: &mut ConvertReport,
) -> Result<(), Error> {
    let open = match input.source {
        InputSource::Path(path) => OpenInput::open(&path),
        InputSource::Reader { name, reader } => OpenInput::from_reader(&name, None, reader),
    };
    let open = open.map_err(LoadError::from)?;
    let name = open.name().to_owned();
    let Some(format) = input.format.or_else(|| open.format()) else {
        return Err(LoadError::UnknownFormat { name }.into());
    };
    let mut too_many = None;
    let mut on_error = |error: SyntaxError| {
        if !limits.lenient {
            return ControlFlow::Break(error);
        }
        report.skipped_lines += 1;
        if report.skipped_lines > limits.errors_max {
            too_many = Some(report.skipped_lines);
            return ControlFlow::Break(error);
        }
        if report.skipped.len() < QUOTED_ERRORS_MAX {
            report.skipped.push(error.in_file(&name));
        }
        ControlFlow::Continue(())
    };
    let mut sink = |quad: QuadView<'_>| run.quad(quad);
    let reader = open.into_reader();
    let result = read_document(reader, format, limits.base, &mut sink, &mut on_error);
    match result.map_err(|error| error.in_file(&name)) {
        Ok(_) => Ok(()),
        Err(ReadError::Sink(error)) => Err(Error::of_writer(error)),
        Err(ReadError::Io { file, source }) => Err(LoadError::Read { file, source }.into()),
        Err(ReadError::Syntax(error)) => {
            let last = Box::new(error);
            Err(match too_many {
                Some(count) => LoadError::TooManyErrors { count, last }.into(),
                None if limits.lenient => LoadError::StrictDocument(last).into(),
                None => LoadError::Syntax(last).into(),
            })
        }
    }
}

/// The way from a reader to the writer.
struct Run<W> {
    writer: QuadWriter<W>,
    graph: ConvertGraph,
    /// The number of the input, if there are several.
    scope: Option<usize>,
    /// The labels of subject, object and graph, if there are several inputs.
    labels: [String; 3],
    /// Quads written.
    quads: u64,
}

impl<W: Write> Run<W> {
    fn quad(&mut self, quad: QuadView<'_>) -> io::Result<()> {
        let graph = match (&self.graph, quad.graph) {
            (ConvertGraph::All, graph) => graph,
            (ConvertGraph::Default, None) => None,
            (ConvertGraph::Named(wanted), Some(TermView::Iri(iri))) if iri == wanted => None,
            _ => return Ok(()),
        };
        let quad = QuadView { graph, ..quad };
        self.quads += 1;
        let Some(scope) = self.scope else {
            return self.writer.quad(quad);
        };
        let [subject, object, graph] = &mut self.labels;
        self.writer.quad(QuadView {
            subject: scoped(quad.subject, scope, subject),
            object: scoped(quad.object, scope, object),
            graph: quad.graph.map(|term| scoped(term, scope, graph)),
            ..quad
        })
    }
}

/// A blank node with the number of its input in front of its label; other terms as they are.
fn scoped<'a>(term: TermView<'a>, scope: usize, label: &'a mut String) -> TermView<'a> {
    let TermView::Blank(written) = term else {
        return term;
    };
    label.clear();
    label.push_str(&format!("f{scope}x"));
    label.push_str(written);
    TermView::Blank(label)
}
