//! A term as bytes, in memory and in files.
//!
//! ```text
//! kind (1 byte) | bytes of what goes before the text (4, little-endian) | tag, datatype or value | text
//! ```
//!
//! Before the text of an `xsd:decimal` or `xsd:double` is its value: results of aggregates are looked at for that more often than for
//! their texts. Whoever writes a record keeps where it begins and how long it is. Equal terms have equal records.

use crate::value::{Number, Value, XSD_DECIMAL, of_units, units_of};
use basalt_rdf::{LiteralKind, LiteralView, TermView};

/// Bytes before the tag, datatype or value.
const HEAD_BYTES: usize = 1 + size_of::<u32>();
/// The kind of a blank node.
const BLANK: u8 = 1;
/// That of an `xsd:string`.
const SIMPLE: u8 = 2;
/// That of a decimal: its units of 10^-18, or nothing if it has too many digits or is none.
const DECIMAL: u8 = 5;
/// That of a double.
const DOUBLE: u8 = 6;

const XSD_DOUBLE: &str = "http://www.w3.org/2001/XMLSchema#double";

/// Kind, tag or datatype where the kind does not tell it, and text of a term.
fn parts(term: TermView<'_>) -> (u8, &str, &str) {
    match term {
        TermView::Iri(iri) => (0, "", iri),
        TermView::Blank(label) => (BLANK, "", label),
        TermView::Literal(LiteralView { lexical, kind }) => match kind {
            LiteralKind::Simple => (SIMPLE, "", lexical),
            LiteralKind::Language(tag) => (3, tag, lexical),
            LiteralKind::Typed(XSD_DECIMAL) => (DECIMAL, "", lexical),
            LiteralKind::Typed(XSD_DOUBLE) => (DOUBLE, "", lexical),
            LiteralKind::Typed(datatype) => (4, datatype, lexical),
        },
    }
}

/// The record of a term that is about to be written.
pub struct Record<'t> {
    kind: u8,
    tag: &'t str,
    value: [u8; size_of::<i128>()],
    value_bytes: usize,
    text: &'t str,
}

impl<'t> Record<'t> {
    /// That of a term.
    pub fn of(term: TermView<'t>) -> Self {
        let (kind, tag, text) = parts(term);
        let (mut value, mut value_bytes) = ([0; size_of::<i128>()], 0);
        if kind == DECIMAL || kind == DOUBLE {
            let mut put = |bytes: &[u8]| {
                value[..bytes.len()].copy_from_slice(bytes);
                value_bytes = bytes.len();
            };
            match Value::of(term) {
                Value::Number(Number::Decimal(decimal)) => put(&units_of(decimal).to_le_bytes()),
                Value::Number(Number::Double(double)) => put(&f64::from(double).to_le_bytes()),
                _ => {}
            }
        }
        Self {
            kind,
            tag,
            value,
            value_bytes,
            text,
        }
    }

    /// Its bytes.
    pub fn length(&self) -> usize {
        HEAD_BYTES + self.tag.len() + self.value_bytes + self.text.len()
    }

    /// Appends it.
    pub fn write(&self, out: &mut Vec<u8>) {
        let before = self.tag.len() + self.value_bytes;
        out.push(self.kind);
        out.extend_from_slice(&(before as u32).to_le_bytes());
        out.extend_from_slice(self.tag.as_bytes());
        out.extend_from_slice(&self.value[..self.value_bytes]);
        out.extend_from_slice(self.text.as_bytes());
    }
}

/// The kind of a record, what goes before its text, and that; `None` if the bytes are none.
#[inline]
fn split(record: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (head, rest) = record.split_at_checked(HEAD_BYTES)?;
    let before = u32::from_le_bytes(head[1..].try_into().ok()?) as usize;
    let (before, text) = rest.split_at_checked(before)?;
    Some((head[0], before, text))
}

/// The term of a record; `None` if the bytes are none.
pub fn read(record: &[u8]) -> Option<TermView<'_>> {
    let (kind, before, text) = split(record)?;
    let text = str::from_utf8(text).ok()?;
    Some(match kind {
        0 => TermView::Iri(text),
        BLANK => TermView::Blank(text),
        SIMPLE => TermView::simple(text),
        3 => TermView::language(text, str::from_utf8(before).ok()?),
        4 => TermView::typed(text, str::from_utf8(before).ok()?),
        DECIMAL => TermView::typed(text, XSD_DECIMAL),
        DOUBLE => TermView::typed(text, XSD_DOUBLE),
        _ => return None,
    })
}

/// The number of a record, if it has one before its text.
#[inline]
pub fn number(record: &[u8]) -> Option<Number> {
    let (kind, before, _) = split(record)?;
    match kind {
        DECIMAL => {
            let units = i128::from_le_bytes(before.try_into().ok()?);
            Some(Number::Decimal(of_units(units)))
        }
        DOUBLE => {
            let double = f64::from_le_bytes(before.try_into().ok()?);
            Some(Number::Double(double.into()))
        }
        _ => None,
    }
}

/// Whether a record is that of a term.
#[inline]
pub fn is_of(record: &[u8], term: TermView<'_>) -> bool {
    let (kind, tag, text) = parts(term);
    split(record).is_some_and(|(known, before, known_text)| {
        let is_value = known == DECIMAL || known == DOUBLE;
        // Two empty slices are not compared: `memcmp` of no bytes may look, in vain and slowly, at the address that such a slice has.
        let is_tag = || before.len() == tag.len() && (tag.is_empty() || before == tag.as_bytes());
        known == kind && known_text == text.as_bytes() && (is_value || is_tag())
    })
}

/// Whether a record is that of a blank node.
pub fn is_blank(record: &[u8]) -> bool {
    record.first() == Some(&BLANK)
}

/// The text of a record, if it is that of an `xsd:string`.
#[inline]
pub fn simple(record: &[u8]) -> Option<&[u8]> {
    match split(record) {
        Some((SIMPLE, _, text)) => Some(text),
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
            TermView::typed("ab", XSD_DECIMAL),
            TermView::typed("1.50", XSD_DECIMAL),
            TermView::typed("1.5", XSD_DECIMAL),
            TermView::typed("1.5", XSD_DOUBLE),
            TermView::typed(" 1.5", XSD_DOUBLE),
            TermView::typed("1.234567890123456789012345678901", XSD_DECIMAL),
        ];
        for a in terms {
            let mut record = Vec::new();
            Record::of(a).write(&mut record);
            assert_eq!(record.len(), Record::of(a).length());
            if let Some(number) = number(&record) {
                let expected = Value::of(a).number().map(|number| number.to_text());
                assert_eq!(Some(number.to_text()), expected);
            }
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
        let with_numbers = terms.map(|term| {
            let mut record = Vec::new();
            Record::of(term).write(&mut record);
            number(&record).is_some()
        });
        assert_eq!(with_numbers.iter().filter(|&&has| has).count(), 3);
    }
}
