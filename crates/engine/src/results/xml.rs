//! SPARQL Query Results XML Format.

use super::RowFormat;
use basalt_rdf::{LiteralKind, TermView};

/// The format.
pub struct Xml;

const OPEN: &[u8] =
    b"<?xml version=\"1.0\"?>\n<sparql xmlns=\"http://www.w3.org/2005/sparql-results#\"><head>";

impl RowFormat for Xml {
    fn head(&self, out: &mut Vec<u8>, variables: &[String]) {
        out.extend_from_slice(OPEN);
        for variable in variables {
            out.extend_from_slice(b"<variable name=\"");
            escape(out, variable, true);
            out.extend_from_slice(b"\"/>");
        }
        out.extend_from_slice(b"</head><results>");
    }

    fn begin_row(&self, out: &mut Vec<u8>, _: bool) {
        out.extend_from_slice(b"\n<result>");
    }

    fn value(&self, out: &mut Vec<u8>, _: usize, _: usize, variable: &str, term: TermView<'_>) {
        out.extend_from_slice(b"<binding name=\"");
        escape(out, variable, true);
        out.extend_from_slice(b"\">");
        match term {
            TermView::Iri(iri) => element(out, b"uri", iri),
            TermView::Blank(label) => element(out, b"bnode", label),
            TermView::Literal(literal) => {
                match literal.kind {
                    LiteralKind::Simple => out.extend_from_slice(b"<literal>"),
                    LiteralKind::Language(language) => {
                        out.extend_from_slice(b"<literal xml:lang=\"");
                        escape(out, language, true);
                        out.extend_from_slice(b"\">");
                    }
                    LiteralKind::Typed(datatype) => {
                        out.extend_from_slice(b"<literal datatype=\"");
                        escape(out, datatype, true);
                        out.extend_from_slice(b"\">");
                    }
                }
                escape(out, literal.lexical, false);
                out.extend_from_slice(b"</literal>");
            }
        }
        out.extend_from_slice(b"</binding>");
    }

    fn unbound(&self, _: &mut Vec<u8>, _: usize) {}

    fn end_row(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"</result>");
    }

    fn tail(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(b"\n</results></sparql>\n");
    }

    fn boolean(&self, out: &mut Vec<u8>, value: bool) {
        out.extend_from_slice(OPEN);
        out.extend_from_slice(format!("</head><boolean>{value}</boolean></sparql>\n").as_bytes());
    }
}

fn element(out: &mut Vec<u8>, name: &[u8], text: &str) {
    out.push(b'<');
    out.extend_from_slice(name);
    out.push(b'>');
    escape(out, text, false);
    out.extend_from_slice(b"</");
    out.extend_from_slice(name);
    out.push(b'>');
}

/// Text with the characters that XML reserves replaced. A carriage return would be normalised away by
/// readers, so it is written as a reference; in attributes so are tabs and line ends. XML 1.0 cannot hold
/// other control characters, U+FFFE and U+FFFF at all: they are written as U+FFFD.
fn escape(out: &mut Vec<u8>, text: &str, attribute: bool) {
    let bytes = text.as_bytes();
    let mut start = 0;
    for (position, &byte) in bytes.iter().enumerate() {
        let mut replaced = 1;
        let replacement: &[u8] = match byte {
            b'<' => b"&lt;",
            b'>' => b"&gt;",
            b'&' => b"&amp;",
            b'"' if attribute => b"&quot;",
            b'\r' => b"&#xD;",
            b'\n' if attribute => b"&#xA;",
            b'\t' if attribute => b"&#x9;",
            b'\n' | b'\t' => continue,
            0..0x20 => "\u{FFFD}".as_bytes(),
            0xEF if matches!(bytes[position..], [_, 0xBF, 0xBE | 0xBF, ..]) => {
                replaced = 3;
                "\u{FFFD}".as_bytes()
            }
            _ => continue,
        };
        out.extend_from_slice(&bytes[start..position]);
        out.extend_from_slice(replacement);
        start = position + replaced;
    }
    out.extend_from_slice(&bytes[start..]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_xml_cannot_hold_is_replaced() {
        let written = |text: &str| {
            let mut out = Vec::new();
            escape(&mut out, text, false);
            String::from_utf8(out).expect("text")
        };
        assert_eq!(written("a<b\r\u{1}"), "a&lt;b&#xD;\u{FFFD}");
        assert_eq!(written("\u{FFFE}x\u{FFFF}"), "\u{FFFD}x\u{FFFD}");
        let kept = "\u{FFFD}\u{FFFB}\u{1FFFF}\u{EFFF}\t\n";
        assert_eq!(written(kept), kept);
    }
}
