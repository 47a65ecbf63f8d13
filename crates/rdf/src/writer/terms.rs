//! The bytes of terms, the same in all four formats.
//!
//! Strings escape `"`, `\`, line feed and carriage return only; other characters stand as they are.
//! IRIs escape what may not stand between angle brackets, so that no term can break out of its place.

use memchr::memchr3;

use crate::term_view::{LiteralKind, LiteralView, QuadView, TermView};

/// Appends a statement and its line end.
pub(super) fn push_line(text: &mut Vec<u8>, quad: QuadView<'_>) {
    for term in [quad.subject, quad.predicate, quad.object]
        .into_iter()
        .chain(quad.graph)
    {
        push_term(text, term);
        text.push(b' ');
    }
    text.extend_from_slice(b".\n");
}

/// Appends a term in its full form.
pub(super) fn push_term(text: &mut Vec<u8>, term: TermView<'_>) {
    match term {
        TermView::Iri(iri) => push_iri(text, iri),
        TermView::Blank(label) => {
            text.extend_from_slice(b"_:");
            text.extend_from_slice(label.as_bytes());
        }
        TermView::Literal(literal) => push_literal(text, literal),
    }
}

fn push_literal(text: &mut Vec<u8>, literal: LiteralView<'_>) {
    push_string(text, literal.lexical);
    match literal.kind {
        LiteralKind::Simple => {}
        LiteralKind::Language(tag) => {
            text.push(b'@');
            text.extend_from_slice(tag.as_bytes());
        }
        LiteralKind::Typed(datatype) => {
            text.extend_from_slice(b"^^");
            push_iri(text, datatype);
        }
    }
}

/// Appends an IRI between its brackets.
pub(super) fn push_iri(text: &mut Vec<u8>, iri: &str) {
    text.push(b'<');
    // Nearly every IRI is copied at once; without a branch inside, the check is done by vectors.
    if iri
        .bytes()
        .fold(0, |bad, byte| bad | is_escaped_in_iri(byte))
        == 0
    {
        text.extend_from_slice(iri.as_bytes());
    } else {
        for byte in iri.bytes() {
            match is_escaped_in_iri(byte) {
                0 => text.push(byte),
                _ => text.extend_from_slice(format!("\\u{byte:04X}").as_bytes()),
            }
        }
    }
    text.push(b'>');
}

/// 1 for what may not stand between angle brackets.
#[inline]
fn is_escaped_in_iri(byte: u8) -> u8 {
    u8::from(byte <= b' ')
        | u8::from(byte == b'<')
        | u8::from(byte == b'>')
        | u8::from(byte == b'"')
        | u8::from(byte == b'{')
        | u8::from(byte == b'}')
        | u8::from(byte == b'|')
        | u8::from(byte == b'^')
        | u8::from(byte == b'`')
        | u8::from(byte == b'\\')
}

/// Appends a string between quotes.
pub(super) fn push_string(text: &mut Vec<u8>, lexical: &str) {
    text.push(b'"');
    let mut rest = lexical.as_bytes();
    // Termination: `rest` shrinks with each turn.
    while let Some(at) = next_escape(rest) {
        text.extend_from_slice(&rest[..at]);
        text.extend_from_slice(match rest[at] {
            b'"' => b"\\\"",
            b'\\' => b"\\\\",
            b'\n' => b"\\n",
            _ => b"\\r",
        });
        rest = &rest[at + 1..];
    }
    text.extend_from_slice(rest);
    text.push(b'"');
}

/// The first byte that must be escaped in a string.
fn next_escape(bytes: &[u8]) -> Option<usize> {
    let first = memchr3(b'"', b'\\', b'\n', bytes);
    memchr::memchr(b'\r', &bytes[..first.unwrap_or(bytes.len())]).or(first)
}
