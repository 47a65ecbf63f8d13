//! SPARQL 1.1 Query Results JSON Format.

use super::rows::RowFormat;
use basalt_rdf::escaped::push_json_string;
use basalt_rdf::{LiteralKind, TermView};

/// The format.
pub struct Json;

impl RowFormat for Json {
    fn head(&self, out: &mut Vec<u8>, variables: &[String]) {
        out.extend_from_slice(b"{\"head\":{\"vars\":[");
        for (position, variable) in variables.iter().enumerate() {
            if position > 0 {
                out.push(b',');
            }
            push_json_string(out, variable);
        }
        out.extend_from_slice(b"]},\"results\":{\"bindings\":[");
    }

    fn begin_row(&self, out: &mut Vec<u8>, first: bool) {
        out.extend_from_slice(if first { b"\n{" } else { b",\n{" });
    }

    fn opening(&self, variable: &str) -> Vec<u8> {
        let mut opening = Vec::new();
        push_json_string(&mut opening, variable);
        opening.push(b':');
        opening
    }

    fn begin_value(&self, out: &mut Vec<u8>, _: usize, bound_before: usize) {
        if bound_before > 0 {
            out.push(b',');
        }
    }

    fn value(&self, out: &mut Vec<u8>, term: TermView<'_>) {
        let (kind, text): (&[u8], &str) = match term {
            TermView::Iri(iri) => (b"uri", iri),
            TermView::Blank(label) => (b"bnode", label),
            TermView::Literal(literal) => (b"literal", literal.lexical),
        };
        out.extend_from_slice(b"{\"type\":\"");
        out.extend_from_slice(kind);
        out.extend_from_slice(b"\",\"value\":");
        push_json_string(out, text);
        if let TermView::Literal(literal) = term {
            match literal.kind {
                LiteralKind::Simple => {}
                LiteralKind::Language(language) => {
                    out.extend_from_slice(b",\"xml:lang\":");
                    push_json_string(out, language);
                }
                LiteralKind::Typed(datatype) => {
                    out.extend_from_slice(b",\"datatype\":");
                    push_json_string(out, datatype);
                }
            }
        }
        out.push(b'}');
    }

    fn unbound(&self, _: &mut Vec<u8>, _: usize) {}

    fn end_row(&self, out: &mut Vec<u8>) {
        out.push(b'}');
    }

    fn tail(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\n]}}\n");
    }

    fn boolean(&self, out: &mut Vec<u8>, value: bool) {
        out.extend_from_slice(format!("{{\"head\":{{}},\"boolean\":{value}}}\n").as_bytes());
    }
}
