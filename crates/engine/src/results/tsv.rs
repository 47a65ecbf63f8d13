//! SPARQL 1.1 Query Results TSV Format: terms in their N-Triples form, tabs between them.

use super::RowFormat;
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

    fn value(&self, out: &mut Vec<u8>, position: usize, _: usize, _: &str, term: TermView<'_>) {
        self.unbound(out, position);
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
    for byte in literal.lexical.bytes() {
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => out.push(byte),
        }
    }
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
