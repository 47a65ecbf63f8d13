//! One run of rio_turtle over a text of Turtle or TriG: a whole document, or a part of one.
//!
//! A part needs what the text in front of it has declared, and its errors need their place in the whole. So a
//! [`TurtleText`] has a prologue (directives in front of the text, on one line), an epilogue behind it, and
//! the place where the text begins.
//!
//! **Blank nodes**: for `[]` and collections rio makes up labels of `riog` and eight digits, and changes written
//! labels of that form. In a part of a document these labels get the number of the part in brackets, which no
//! written label can hold, so that parts can be read apart from each other and put together.
//!
//! Cost: that of rio, with [`TurtleSource`] in front of it.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Write;
use std::io::Read;
use std::rc::Rc;

use rio_api::model::{GraphName, Literal, Subject, Term};
use rio_api::parser::{ParseError, QuadsParser, TriplesParser};
use rio_turtle::{TriGParser, TurtleError, TurtleParser};

use super::single_line::{QUOTED_TRIPLE, quad_view, rio_message};
use super::turtle_source::{SourceLog, TurtleSource};
use super::utf8_chunks::TextLog;
use super::{QuadSink, ReadError, SyntaxError};
use crate::term_view::{QuadView, TermView};

/// What stands around a text, and where it begins.
pub(super) struct TurtleText<'t> {
    /// Whether it is TriG.
    pub(super) is_trig: bool,
    /// What is read in front of the text; without line ends.
    pub(super) prologue: &'t str,
    /// What is read behind the text.
    pub(super) epilogue: &'t str,
    /// The number of the text's first line, from 1.
    pub(super) line: u64,
    /// What stands on this line in front of the text.
    pub(super) line_start: &'t [u8],
    /// The number of this part of the document, if it is one.
    pub(super) part: Option<usize>,
}

/// How a run ended.
pub(super) struct TurtleEnd<E> {
    /// Quads handed to the sink.
    pub(super) count: u64,
    /// Whether the text was read to its end.
    pub(super) result: Result<(), ReadError<E>>,
    /// The prefixes in force there.
    pub(super) prefixes: HashMap<String, String>,
}

/// Why rio stopped.
enum Stop<E> {
    /// Rio found an error.
    Rio(TurtleError),
    /// A quoted triple.
    Star,
    /// The sink refused the quad.
    Sink(E),
}

impl<E> From<TurtleError> for Stop<E> {
    fn from(error: TurtleError) -> Self {
        Self::Rio(error)
    }
}

/// Hands rio's terms to the sink.
struct Handover<'s, S> {
    /// Notes about the text: language tags as written.
    log: Rc<RefCell<SourceLog>>,
    /// Where the quads go.
    sink: &'s mut S,
    /// Quads handed over.
    count: u64,
    /// The number of this part of the document, if it is one.
    part: Option<usize>,
    /// Memory for the labels that are made up, of subject, object and graph.
    labels: [String; 3],
}

impl<S: QuadSink> Handover<'_, S> {
    fn take(
        &mut self,
        subject: Subject<'_>,
        predicate: &str,
        object: Term<'_>,
        graph: Option<GraphName<'_>>,
    ) -> Result<(), Stop<S::Error>> {
        let tag = match object {
            Term::Literal(Literal::LanguageTaggedString { .. }) => self.log.borrow_mut().next_tag(),
            _ => None,
        };
        let quad = quad_view(subject, predicate, object, graph, || tag.as_deref());
        let mut quad = quad.ok_or(Stop::Star)?;
        if let Some(part) = self.part {
            let [subject, object, graph] = &mut self.labels;
            quad = QuadView {
                subject: in_part(quad.subject, part, subject),
                predicate: quad.predicate,
                object: in_part(quad.object, part, object),
                graph: quad.graph.map(|name| in_part(name, part, graph)),
            };
        }
        self.sink.quad(quad).map_err(Stop::Sink)?;
        self.count += 1;
        Ok(())
    }
}

/// A term of a part of a document: labels made up by rio get the number of the part.
fn in_part<'t>(term: TermView<'t>, part: usize, label: &'t mut String) -> TermView<'t> {
    match term {
        TermView::Blank(text) if is_made_up(text) => {
            label.clear();
            write!(label, "[{part}]{}", &text[4..]).expect("memory can be written");
            TermView::Blank(label)
        }
        _ => term,
    }
}

/// Whether rio made up this label: it lengthens written ones of this form.
fn is_made_up(label: &str) -> bool {
    label.len() == 12
        && label.starts_with("riog")
        && label.as_bytes()[4..].iter().all(u8::is_ascii_digit)
}

/// Reads a text to its end.
pub(super) fn read_turtle_text<S: QuadSink>(
    text: &TurtleText<'_>,
    reader: impl Read,
    sink: &mut S,
) -> TurtleEnd<S::Error> {
    let log = SourceLog::new(TextLog::starting_at(text.line, text.line_start));
    let log = Rc::new(RefCell::new(log));
    let mut handover = Handover {
        log: Rc::clone(&log),
        sink,
        count: 0,
        part: text.part,
        labels: Default::default(),
    };
    let source = TurtleSource::new(reader, Rc::clone(&log));
    let source = text.prologue.as_bytes().chain(source);
    let source = source.chain(text.epilogue.as_bytes());
    let (result, prefixes) = if text.is_trig {
        let mut parser = TriGParser::new(source, None);
        let result = parser
            .parse_all(&mut |q| handover.take(q.subject, q.predicate.iri, q.object, q.graph_name));
        (result, parser.prefixes().clone())
    } else {
        let mut parser = TurtleParser::new(source, None);
        let result =
            parser.parse_all(&mut |t| handover.take(t.subject, t.predicate.iri, t.object, None));
        (result, parser.prefixes().clone())
    };
    TurtleEnd {
        count: handover.count,
        result: verdict(result, text, &mut log.borrow_mut().text),
        prefixes,
    }
}

/// What rio's verdict means for the text.
fn verdict<E>(
    result: Result<(), Stop<E>>,
    text: &TurtleText<'_>,
    log: &mut TextLog,
) -> Result<(), ReadError<E>> {
    // Rio hides some read errors as an early end, so these come before its own verdict.
    if let Some(error) = log.utf8_error.take() {
        return Err(error.into());
    }
    if let Some(error) = log.io_error.take() {
        return Err(ReadError::io(error));
    }
    match result {
        Ok(()) => Ok(()),
        Err(Stop::Sink(error)) => Err(ReadError::Sink(error)),
        Err(Stop::Star) => Err(SyntaxError::unplaced(QUOTED_TRIPLE).into()),
        Err(Stop::Rio(error)) => {
            let Some(place) = error.textual_position() else {
                return Err(ReadError::io(error.into()));
            };
            // The prologue stands on the first line in front of the text.
            let (line, mut byte) = (place.line_number(), place.byte_number());
            if line <= 1 {
                byte = byte.saturating_sub(text.prologue.len() as u64);
                byte += text.line_start.len() as u64;
            }
            let line = text.line + line.saturating_sub(1);
            Err(log.syntax_error(line, byte, rio_message(&error)).into())
        }
    }
}
