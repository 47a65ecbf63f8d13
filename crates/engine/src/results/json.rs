//! SPARQL 1.1 Query Results JSON Format.

use super::RowFormat;
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
            string(out, variable);
        }
        out.extend_from_slice(b"]},\"results\":{\"bindings\":[");
    }

    fn begin_row(&self, out: &mut Vec<u8>, first: bool) {
        out.extend_from_slice(if first { b"\n{" } else { b",\n{" });
    }

    fn value(
        &self,
        out: &mut Vec<u8>,
        _: usize,
        bound_before: usize,
        variable: &str,
        term: TermView<'_>,
    ) {
        if bound_before > 0 {
            out.push(b',');
        }
        string(out, variable);
        let (kind, text): (&[u8], &str) = match term {
            TermView::Iri(iri) => (b"uri", iri),
            TermView::Blank(label) => (b"bnode", label),
            TermView::Literal(literal) => (b"literal", literal.lexical),
        };
        out.extend_from_slice(b":{\"type\":\"");
        out.extend_from_slice(kind);
        out.extend_from_slice(b"\",\"value\":");
        string(out, text);
        if let TermView::Literal(literal) = term {
            match literal.kind {
                LiteralKind::Simple => {}
                LiteralKind::Language(language) => {
                    out.extend_from_slice(b",\"xml:lang\":");
                    string(out, language);
                }
                LiteralKind::Typed(datatype) => {
                    out.extend_from_slice(b",\"datatype\":");
                    string(out, datatype);
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

/// A JSON string; copies the stretches between characters that need an escape.
fn string(out: &mut Vec<u8>, text: &str) {
    out.push(b'"');
    let bytes = text.as_bytes();
    let mut start = 0;
    for (position, &byte) in bytes.iter().enumerate() {
        if byte >= 0x20 && byte != b'"' && byte != b'\\' {
            continue;
        }
        out.extend_from_slice(&bytes[start..position]);
        start = position + 1;
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            _ => out.extend_from_slice(format!("\\u{byte:04x}").as_bytes()),
        }
    }
    out.extend_from_slice(&bytes[start..]);
    out.push(b'"');
}
