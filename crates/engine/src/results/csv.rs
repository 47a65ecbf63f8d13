//! SPARQL 1.1 Query Results CSV Format: values without their kind, lines ended by CR LF.

use super::rows::RowFormat;
use basalt_rdf::TermView;
use basalt_rdf::escaped::{first_special, push_escaped};

/// The format.
pub struct Csv;

impl RowFormat for Csv {
    fn head(&self, out: &mut Vec<u8>, variables: &[String]) {
        out.extend_from_slice(variables.join(",").as_bytes());
        out.extend_from_slice(b"\r\n");
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
    let bytes = text.as_bytes();
    let is_special = |byte: u8| matches!(byte, b'"' | b',' | b'\n' | b'\r');
    if first_special(bytes, &is_special).is_none() {
        out.extend_from_slice(bytes);
        return;
    }
    out.push(b'"');
    push_escaped(
        out,
        bytes,
        |byte| byte == b'"',
        |out, _| {
            out.extend_from_slice(b"\"\"");
            1
        },
    );
    out.push(b'"');
}
