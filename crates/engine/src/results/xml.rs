//! SPARQL Query Results XML Format.

use super::rows::RowFormat;
use basalt_rdf::escaped::push_escaped;
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

    fn opening(&self, variable: &str) -> Vec<u8> {
        let mut opening = b"<binding name=\"".to_vec();
        escape(&mut opening, variable, true);
        opening.extend_from_slice(b"\">");
        opening
    }

    fn begin_value(&self, _: &mut Vec<u8>, _: usize, _: usize) {}

    fn value(&self, out: &mut Vec<u8>, term: TermView<'_>) {
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
    match attribute {
        true => push_escaped(out, bytes, is_special_in_attribute, replace),
        false => push_escaped(out, bytes, is_special, replace),
    }
}

/// What must be replaced in text, or may have to be: 0xEF begins U+FFFE, and others.
fn is_special(byte: u8) -> bool {
    matches!(byte, b'<' | b'>' | b'&' | 0xEF) || (byte < 0x20 && byte != b'\n' && byte != b'\t')
}

fn is_special_in_attribute(byte: u8) -> bool {
    is_special(byte) || matches!(byte, b'"' | b'\n' | b'\t')
}

fn replace(out: &mut Vec<u8>, rest: &[u8]) -> usize {
    let mut replaced = 1;
    let replacement: &[u8] = match rest[0] {
        b'<' => b"&lt;",
        b'>' => b"&gt;",
        b'&' => b"&amp;",
        b'"' => b"&quot;",
        b'\r' => b"&#xD;",
        b'\n' => b"&#xA;",
        b'\t' => b"&#x9;",
        0xEF if !matches!(rest, [_, 0xBF, 0xBE | 0xBF, ..]) => &rest[..1],
        0xEF => {
            replaced = 3;
            "\u{FFFD}".as_bytes()
        }
        _ => "\u{FFFD}".as_bytes(),
    };
    out.extend_from_slice(replacement);
    replaced
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
