//! Reads SPARQL results in XML, as the same stream of cells that [`super::rows`] gives for JSON.
//!
//! The parser is one that others have written; what it gives is put into the words of the JSON
//! format, so that the same answer counts as the same in both. Blanks at the ends of a text are lost
//! unless they are escaped; no text of the benchmark has any. A document that ends early is an error.
//! Cost: a few allocations a cell, which the JSON reader has not: it is outside the clock.

use super::XSD;
use super::rows::{RowSink, Term, Text};
use oxrdf::TermRef;
use sparesults::{QueryResultsFormat, QueryResultsParser, SliceQueryResultsParserOutput};
use std::borrow::Cow;

/// Reads a whole document; returns in words what is wrong with it.
pub(super) fn read_xml_rows(body: &[u8], sink: &mut dyn RowSink) -> Result<(), String> {
    let unreadable = |error: &dyn std::fmt::Display| format!("unreadable results: {error}");
    if !is_whole(body) {
        return Err(unreadable(&"the document ends early"));
    }
    let parser = QueryResultsParser::from_format(QueryResultsFormat::Xml);
    match parser.for_slice(body).map_err(|e| unreadable(&e))? {
        SliceQueryResultsParserOutput::Boolean(value) => sink.boolean(value),
        SliceQueryResultsParserOutput::Solutions(solutions) => {
            let names = solutions.variables().iter();
            sink.variables(names.map(|name| name.as_str().to_owned()).collect());
            for solution in solutions {
                let solution = solution.map_err(|e| unreadable(&e))?;
                for (variable, term) in &solution {
                    let cell = cell(term.as_ref())
                        .ok_or_else(|| format!("?{} has a triple", variable.as_str()))?;
                    sink.cell(variable.as_str(), &cell);
                }
                sink.end_row();
            }
        }
    }
    Ok(())
}

/// Whether a document ends with the end of its outermost element: the parser takes one that was cut between two rows for a shorter one.
fn is_whole(body: &[u8]) -> bool {
    let inside = body.trim_ascii_end().strip_suffix(b">");
    inside.is_some_and(|tag| tag.trim_ascii_end().ends_with(b"sparql"))
}

/// A term as JSON spells it; nothing for what the benchmark cannot hold.
fn cell(term: TermRef<'_>) -> Option<Term<'_>> {
    let text = |text| Text(Cow::Borrowed(text));
    let plain = |kind, value| Term {
        kind: text(kind),
        value: text(value),
        datatype: None,
        language: None,
    };
    match term {
        TermRef::NamedNode(node) => Some(plain("uri", node.as_str())),
        TermRef::BlankNode(node) => Some(plain("bnode", node.as_str())),
        TermRef::Literal(literal) => {
            let datatype = literal.datatype().as_str();
            let is_plain =
                literal.language().is_some() || datatype.strip_prefix(XSD) == Some("string");
            Some(Term {
                datatype: (!is_plain).then(|| text(datatype)),
                language: literal.language().map(text),
                ..plain("literal", literal.value())
            })
        }
        #[allow(
            unreachable_patterns,
            reason = "triple terms are a feature of the parser"
        )]
        _ => None,
    }
}
