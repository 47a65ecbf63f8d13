//! `dump`: every quad, or those of one graph, written out.
//!
//! Quads come in the order of the store, subjects of one table together; a quad writer groups them.
//! Memory: constant.

use crate::error::Error;
use basalt_rdf::writer::QuadWriter;
use basalt_rdf::{GraphFormat, QuadView, TermBuf, TermId, TermView};
use basalt_store::{QuadIds, QuadPattern, Snapshot, StoreError};
use std::io::Write;
use std::ops::ControlFlow;

/// Which graphs to dump.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DumpGraph<'a> {
    /// All, as quads.
    #[default]
    All,
    /// The default graph only.
    Default,
    /// One named graph, as triples.
    Named(&'a str),
}

/// Writes quads and returns how many there were.
pub fn dump<W: Write>(
    snapshot: &Snapshot,
    target: W,
    format: GraphFormat,
    graph: DumpGraph<'_>,
) -> Result<u64, Error> {
    let wanted = match graph {
        DumpGraph::All => None,
        DumpGraph::Default => Some(TermId::DEFAULT_GRAPH),
        DumpGraph::Named(iri) => match snapshot.dictionary().find(TermView::Iri(iri)) {
            Some(id) => Some(id),
            None => {
                QuadWriter::new(target, format).finish()?;
                return Ok(0);
            }
        },
    };
    let mut dump = Dump {
        snapshot,
        writer: QuadWriter::new(target, format),
        terms: std::array::from_fn(|_| (TermId::UNBOUND, TermBuf::new())),
    };
    let with_graph = graph == DumpGraph::All;
    let mut count = 0;
    let mut failed: Option<Error> = None;
    let pattern = QuadPattern {
        graph: wanted,
        ..QuadPattern::default()
    };
    snapshot.matching(&pattern, &mut |quad| match dump.quad(quad, with_graph) {
        Ok(()) => {
            count += 1;
            ControlFlow::Continue(())
        }
        Err(error) => {
            failed = Some(error);
            ControlFlow::Break(())
        }
    })?;
    match failed {
        Some(error) => Err(error),
        None => {
            dump.writer.finish()?.flush()?;
            Ok(count)
        }
    }
}

struct Dump<'a, W> {
    snapshot: &'a Snapshot,
    writer: QuadWriter<W>,
    /// Subject, predicate, object, graph: the last ids and their terms.
    terms: [(TermId, TermBuf); 4],
}

impl<W: Write> Dump<'_, W> {
    fn quad(&mut self, quad: QuadIds, with_graph: bool) -> Result<(), Error> {
        let graph = if with_graph && quad.graph != TermId::DEFAULT_GRAPH {
            quad.graph
        } else {
            TermId::UNBOUND
        };
        self.decode(0, quad.subject)?;
        self.decode(1, quad.predicate)?;
        self.decode(2, quad.object)?;
        self.decode(3, graph)?;
        let [subject, predicate, object, graph_term] = &self.terms;
        let view = QuadView {
            subject: subject.1.view(),
            predicate: predicate.1.view(),
            object: object.1.view(),
            graph: graph.is_bound().then(|| graph_term.1.view()),
        };
        self.writer.quad(view).map_err(Error::of_writer)
    }

    /// Decodes a term unless the same one stands there already.
    fn decode(&mut self, place: usize, id: TermId) -> Result<(), StoreError> {
        let (known, buffer) = &mut self.terms[place];
        if *known != id && id.is_bound() {
            self.snapshot.dictionary().decode(id, buffer)?;
            *known = id;
        }
        Ok(())
    }
}
