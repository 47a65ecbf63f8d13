//! SPARQL 1.1 Query Results TSV Format: terms in their N-Triples form, tabs between them.

use super::rows::RowFormat;
use basalt_rdf::escaped::push_escaped;
use basalt_rdf::{LiteralKind, LiteralView, TermView};

/// The format.
pub struct Tsv;

impl RowFormat for Tsv {
    fn head(&self, out: &mut Vec<u8>, variables: &[String]) {
        for (position, variable) in variables.iter().enumerate() {
            self.unbound(out, position);
            out.push(b'?');
            out.extend_from_slice(variable.as_bytes());
        }
        out.push(b'\n');
    }

    fn begin_row(&self, _: &mut Vec<u8>, _: bool) {}

    fn opening(&self, _: &str) -> Vec<u8> {
        Vec::new()
    }

    fn begin_value(&self, out: &mut Vec<u8>, position: usize, _: usize) {
        self.unbound(out, position);
    }

    fn value(&self, out: &mut Vec<u8>, term: TermView<'_>) {
        match term {
            TermView::Iri(iri) => iri_into(out, iri),
            TermView::Blank(label) => {
                out.extend_from_slice(b"_:");
                out.extend_from_slice(label.as_bytes());
            }
            TermView::Literal(literal) => literal_into(out, literal),
        }
    }

    fn unbound(&self, out: &mut Vec<u8>, position: usize) {
        if position > 0 {
            out.push(b'\t');
        }
    }

    fn end_row(&self, out: &mut Vec<u8>) {
        out.push(b'\n');
    }

    fn tail(&self, _: &mut Vec<u8>) {}

    fn boolean(&self, out: &mut Vec<u8>, value: bool) {
        out.extend_from_slice(if value { b"true" } else { b"false" });
    }
}

fn iri_into(out: &mut Vec<u8>, iri: &str) {
    out.push(b'<');
    out.extend_from_slice(iri.as_bytes());
    out.push(b'>');
}

fn literal_into(out: &mut Vec<u8>, literal: LiteralView<'_>) {
    out.push(b'"');
    let is_special = |byte: u8| matches!(byte, b'"' | b'\\' | b'\n' | b'\r' | b'\t');
    push_escaped(out, literal.lexical.as_bytes(), is_special, |out, rest| {
        out.extend_from_slice(match rest[0] {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            b'\r' => b"\\r",
            _ => b"\\t",
        });
        1
    });
    out.push(b'"');
    match literal.kind {
        LiteralKind::Simple => {}
        LiteralKind::Language(language) => {
            out.push(b'@');
            out.extend_from_slice(language.as_bytes());
        }
        LiteralKind::Typed(datatype) => {
            out.extend_from_slice(b"^^");
            iri_into(out, datatype);
        }
    }
}
