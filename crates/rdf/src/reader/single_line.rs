//! One line of N-Triples or N-Quads by rio_turtle, and rio's terms as views.
//!
//! Here end the lines that the fast path of [`lines`](super::lines) leaves alone, including all bad
//! ones: the message of every error is rio's. Quoted triples, which rio knows, are not RDF 1.1 and are
//! refused; language tags, which rio writes in lower case, are read from the line again.
//!
//! Cost: about two microseconds a line, for a parser of its own.

use rio_api::model::{GraphName, Literal, Subject, Term};
use rio_api::parser::{ParseError, QuadsParser, TriplesParser};
use rio_turtle::{NQuadsParser, NTriplesParser, TurtleError};

use super::{LineFormat, QuadSink};
use crate::term_view::{LiteralView, QuadView, TermView};

/// The message for a construct of RDF-star.
pub(super) const QUOTED_TRIPLE: &str = "quoted triples are not RDF 1.1";

/// Why a line was not taken.
pub(super) enum LineFault<E> {
    /// The line is bad.
    Syntax {
        /// Byte offset in the line.
        offset: usize,
        /// What is wrong.
        message: String,
    },
    /// The sink refused the quad.
    Sink(E),
}

/// What comes out of rio's callback.
enum StepError<E> {
    /// Rio found an error.
    Rio(TurtleError),
    /// A quoted triple.
    Star,
    /// The sink refused the quad.
    Sink(E),
}

impl<E> From<TurtleError> for StepError<E> {
    fn from(error: TurtleError) -> Self {
        Self::Rio(error)
    }
}

/// Parses one line without its line end; the number of quads is 0 or 1.
pub(super) fn parse_single_line<S: QuadSink>(
    line: &str,
    format: LineFormat,
    sink: &mut S,
) -> Result<u64, LineFault<S::Error>> {
    let mut taker = Taker {
        line,
        count: 0,
        sink,
    };
    let result = match format {
        LineFormat::NTriples => NTriplesParser::new(line.as_bytes())
            .parse_all(&mut |t| taker.take(t.subject, t.predicate.iri, t.object, None)),
        LineFormat::NQuads => NQuadsParser::new(line.as_bytes())
            .parse_all(&mut |q| taker.take(q.subject, q.predicate.iri, q.object, q.graph_name)),
    };
    let count = taker.count;
    match result {
        Ok(()) => Ok(count),
        Err(StepError::Sink(error)) => Err(LineFault::Sink(error)),
        Err(StepError::Star) => {
            let offset = line.find("<<").unwrap_or(0);
            Err(LineFault::Syntax {
                offset,
                message: QUOTED_TRIPLE.to_owned(),
            })
        }
        Err(StepError::Rio(error)) => {
            let column = error.textual_position().map_or(1, |at| at.byte_number());
            let offset = usize::try_from(column.saturating_sub(1)).unwrap_or(usize::MAX);
            let message = match rio_message(&error) {
                message if message == "premature end of file" => "the line ends too early".into(),
                message => message,
            };
            Err(LineFault::Syntax {
                offset: offset.min(line.len()),
                message,
            })
        }
    }
}

/// Hands what rio found in a line to the sink.
struct Taker<'l, S> {
    /// The line.
    line: &'l str,
    /// Quads handed out.
    count: u64,
    /// Where they go.
    sink: &'l mut S,
}

impl<S: QuadSink> Taker<'_, S> {
    fn take(
        &mut self,
        subject: Subject<'_>,
        predicate: &str,
        object: Term<'_>,
        graph: Option<GraphName<'_>>,
    ) -> Result<(), StepError<S::Error>> {
        let view = quad_view(subject, predicate, object, graph, || {
            original_tag(self.line)
        });
        self.sink
            .quad(view.ok_or(StepError::Star)?)
            .map_err(StepError::Sink)?;
        self.count += 1;
        Ok(())
    }
}

/// Rio's message without the position at its end, which counts lines of its own.
pub(super) fn rio_message(error: &TurtleError) -> String {
    let mut message = error.to_string();
    if error.textual_position().is_some()
        && let Some(at) = message.rfind(" on line ")
    {
        message.truncate(at);
    }
    message
}

/// Rio's terms as a view; `None` for quoted triples.
///
/// `original_tag` gives a language tag as it was written, if it can: rio's is in lower case.
pub(super) fn quad_view<'a>(
    subject: Subject<'a>,
    predicate: &'a str,
    object: Term<'a>,
    graph: Option<GraphName<'a>>,
    original_tag: impl FnOnce() -> Option<&'a str>,
) -> Option<QuadView<'a>> {
    let subject = match subject {
        Subject::NamedNode(node) => TermView::Iri(node.iri),
        Subject::BlankNode(node) => TermView::Blank(node.id),
        Subject::Triple(_) => return None,
    };
    let object = match object {
        Term::NamedNode(node) => TermView::Iri(node.iri),
        Term::BlankNode(node) => TermView::Blank(node.id),
        Term::Literal(literal) => TermView::Literal(match literal {
            Literal::Simple { value } => LiteralView::simple(value),
            Literal::Typed { value, datatype } => LiteralView::typed(value, datatype.iri),
            Literal::LanguageTaggedString { value, language } => {
                let original = original_tag().filter(|tag| tag.eq_ignore_ascii_case(language));
                LiteralView::language(value, original.unwrap_or(language))
            }
        }),
        Term::Triple(_) => return None,
    };
    let graph = graph.map(|graph| match graph {
        GraphName::NamedNode(node) => TermView::Iri(node.iri),
        GraphName::BlankNode(node) => TermView::Blank(node.id),
    });
    Some(QuadView {
        subject,
        predicate: TermView::Iri(predicate),
        object,
        graph,
    })
}

/// The language tag behind the literal of a line that rio accepted: the first quote of the line opens
/// the literal, since neither IRIs nor labels can hold one.
fn original_tag(line: &str) -> Option<&str> {
    let (_, mut rest) = line.split_once('"')?;
    // Termination: `rest` shrinks with each turn.
    loop {
        let stop = rest.find(['"', '\\'])?;
        if rest.as_bytes()[stop] == b'"' {
            rest = &rest[stop + 1..];
            break;
        }
        let mut after = rest[stop + 1..].chars();
        after.next()?;
        rest = after.as_str();
    }
    let tag = rest.trim_start_matches([' ', '\t']).strip_prefix('@')?;
    let end = tag
        .find(|c: char| !(c.is_ascii_alphanumeric() || c == '-'))
        .unwrap_or(tag.len());
    Some(&tag[..end])
}
