//! SPARQL 1.1 Query Results CSV Format: values without their kind, lines ended by CR LF.

use super::RowFormat;
use basalt_rdf::TermView;

/// The format.
pub struct Csv;

impl RowFormat for Csv {
    fn head(&self, out: &mut Vec<u8>, variables: &[String]) {
        out.extend_from_slice(variables.join(",").as_bytes());
        out.extend_from_slice(b"\r\n");
    }

    fn begin_row(&self, _: &mut Vec<u8>, _: bool) {}

    fn value(&self, out: &mut Vec<u8>, position: usize, _: usize, _: &str, term: TermView<'_>) {
        self.unbound(out, position);
        match term {
            TermView::Iri(iri) => field(out, iri),
            TermView::Blank(label) => {
                out.extend_from_slice(b"_:");
                field(out, label);
            }
            TermView::Literal(literal) => field(out, literal.lexical),
        }
    }

    fn unbound(&self, out: &mut Vec<u8>, position: usize) {
        if position > 0 {
            out.push(b',');
        }
    }

    fn end_row(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\r\n");
    }

    fn tail(&self, _: &mut Vec<u8>) {}

    fn boolean(&self, out: &mut Vec<u8>, value: bool) {
        out.extend_from_slice(if value { b"true" } else { b"false" });
    }
}

fn field(out: &mut Vec<u8>, text: &str) {
    if !text
        .bytes()
        .any(|byte| matches!(byte, b'"' | b',' | b'\n' | b'\r'))
    {
        out.extend_from_slice(text.as_bytes());
        return;
    }
    out.push(b'"');
    for byte in text.bytes() {
        if byte == b'"' {
            out.push(b'"');
        }
        out.push(byte);
    }
    out.push(b'"');
}
