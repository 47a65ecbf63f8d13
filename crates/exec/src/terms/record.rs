//! A term as bytes, in memory and in files.
//!
//! ```text
//! kind (1 byte) | bytes of the tag or datatype (4, little-endian) | tag or datatype | text
//! ```
//!
//! Whoever writes a record keeps where it begins and how long it is. Equal terms have equal records.

use basalt_rdf::{LiteralKind, LiteralView, TermView};

/// Bytes before the tag or datatype.
const HEAD_BYTES: usize = 1 + size_of::<u32>();
/// The kind of a blank node.
const BLANK: u8 = 1;
/// That of an `xsd:string`.
const SIMPLE: u8 = 2;

/// Kind, tag or datatype, and text of a term.
fn parts(term: TermView<'_>) -> (u8, &str, &str) {
    match term {
        TermView::Iri(iri) => (0, "", iri),
        TermView::Blank(label) => (BLANK, "", label),
        TermView::Literal(LiteralView { lexical, kind }) => match kind {
            LiteralKind::Simple => (SIMPLE, "", lexical),
            LiteralKind::Language(tag) => (3, tag, lexical),
            LiteralKind::Typed(datatype) => (4, datatype, lexical),
        },
    }
}

/// Bytes of the record of a term.
pub fn length(term: TermView<'_>) -> usize {
    let (_, extra, text) = parts(term);
    HEAD_BYTES + extra.len() + text.len()
}

/// Appends the record of a term.
pub fn write(term: TermView<'_>, out: &mut Vec<u8>) {
    let (kind, extra, text) = parts(term);
    out.push(kind);
    out.extend_from_slice(&(extra.len() as u32).to_le_bytes());
    out.extend_from_slice(extra.as_bytes());
    out.extend_from_slice(text.as_bytes());
}

/// The term of a record; `None` if the bytes are none.
pub fn read(record: &[u8]) -> Option<TermView<'_>> {
    let (head, rest) = record.split_at_checked(HEAD_BYTES)?;
    let extra_bytes = u32::from_le_bytes(head[1..].try_into().ok()?) as usize;
    let (extra, text) = rest.split_at_checked(extra_bytes)?;
    let (extra, text) = (str::from_utf8(extra).ok()?, str::from_utf8(text).ok()?);
    Some(match head[0] {
        0 => TermView::Iri(text),
        BLANK => TermView::Blank(text),
        SIMPLE => TermView::simple(text),
        3 => TermView::language(text, extra),
        4 => TermView::typed(text, extra),
        _ => return None,
    })
}

/// Whether a record is that of a term.
#[inline]
pub fn is_of(record: &[u8], term: TermView<'_>) -> bool {
    let (kind, extra, text) = parts(term);
    let Some((head, rest)) = record.split_at_checked(HEAD_BYTES) else {
        return false;
    };
    head[0] == kind
        && head[1..] == (extra.len() as u32).to_le_bytes()
        && rest.len() == extra.len() + text.len()
        && rest[extra.len()..] == *text.as_bytes()
        && rest[..extra.len()] == *extra.as_bytes()
}

/// Whether a record is that of a blank node.
pub fn is_blank(record: &[u8]) -> bool {
    record.first() == Some(&BLANK)
}

/// The text of a record, if it is that of an `xsd:string`.
#[inline]
pub fn simple(record: &[u8]) -> Option<&[u8]> {
    match record.split_at_checked(HEAD_BYTES) {
        Some((head, text)) if head[0] == SIMPLE => Some(text),
        _ => None,
    }
}

/// The hash of a term, with a seed that others do not know.
#[inline]
pub fn hash(term: TermView<'_>, seed: u64) -> u64 {
    let (kind, extra, text) = parts(term);
    let seed = seed ^ u64::from(kind);
    let seed = match extra {
        "" => seed,
        extra => xxhash_rust::xxh3::xxh3_64_with_seed(extra.as_bytes(), seed),
    };
    xxhash_rust::xxh3::xxh3_64_with_seed(text.as_bytes(), seed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_are_told_apart_and_read_back() {
        let terms = [
            TermView::Iri("ab"),
            TermView::Blank("ab"),
            TermView::simple("ab"),
            TermView::simple(""),
            TermView::language("b", "a"),
            TermView::language("ab", "en"),
            TermView::language("ab", "en-GB"),
            TermView::typed("ab", "http://e/t"),
        ];
        for a in terms {
            let mut record = Vec::new();
            write(a, &mut record);
            assert_eq!(record.len(), length(a));
            assert_eq!(read(&record), Some(a));
            assert_eq!(is_blank(&record), matches!(a, TermView::Blank(_)));
            let text = simple(&record).and_then(|text| str::from_utf8(text).ok());
            let is_simple = text.is_some_and(|text| a == TermView::simple(text));
            assert_eq!(
                is_simple,
                matches!(a, TermView::Literal(l) if l.kind == LiteralKind::Simple)
            );
            for b in terms {
                assert_eq!(is_of(&record, b), a == b, "{a} {b}");
                assert_eq!(hash(a, 7) == hash(b, 7), a == b, "{a} {b}");
            }
            assert!(!is_of(&record[..3], a));
            assert_ne!(hash(a, 7), hash(a, 8));
        }
        assert_eq!(read(&[2, 9, 0, 0, 0, b'a']), None);
        assert_eq!(read(&[9, 0, 0, 0, 0]), None);
    }
}
