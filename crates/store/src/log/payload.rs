//! What a record holds: the new terms of a commit, and the quads that it removed and added.
//!
//! Numbers are of variable length, seven bits a byte. Quads ascend, and each is written as the differences of its four ids to those
//! of the quad before, so that a quad with the subject and the graph of the one before takes some five bytes.
//!
//! Invariant: decoding checks every length before it is used, and takes only what encoding gives.

use crate::dictionary::{NewLiteral, NewResource, NewTerms, TermCounts};
use crate::matching::QuadIds;
use basalt_rdf::TermId;

/// A commit, as the log holds it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitRecord {
    /// Its number in the store.
    pub number: u64,
    /// How many terms there were before `terms`.
    pub terms_from: TermCounts,
    /// The terms that were added since the commit before.
    pub terms: NewTerms,
    /// Quads that are gone, ascending.
    pub removed: Vec<QuadIds>,
    /// Quads that are new, ascending.
    pub added: Vec<QuadIds>,
}

/// A resource is a blank node.
const BLANK: u64 = 0;
/// A resource is an IRI of length 0; longer ones count up from here.
const IRI: u64 = 1;

impl CommitRecord {
    /// How many terms there are after it.
    pub fn terms_after(&self) -> TermCounts {
        let (from, terms) = (&self.terms_from, &self.terms);
        TermCounts {
            resources: from.resources + terms.resources.len() as u64,
            literals: from.literals + terms.literals.len() as u64,
            datatypes: from.datatypes + terms.datatypes.len() as u64,
            languages: from.languages + terms.languages.len() as u64,
            numerics: from.numerics + terms.numerics.len() as u64,
        }
    }

    /// The payload of its record.
    pub(super) fn to_payload(&self) -> Vec<u8> {
        let mut out = Encoder::default();
        let from = &self.terms_from;
        for count in [
            from.resources,
            from.literals,
            from.datatypes,
            from.languages,
            from.numerics,
        ] {
            out.number(count);
        }
        out.terms(&self.terms);
        out.quads(&self.removed);
        out.quads(&self.added);
        out.bytes
    }

    /// The commit that a payload holds, or what is wrong with it.
    pub(super) fn from_payload(number: u64, payload: &[u8]) -> Result<Self, &'static str> {
        let mut from = Decoder(payload);
        let record = Self {
            number,
            terms_from: TermCounts {
                resources: from.number()?,
                literals: from.number()?,
                datatypes: from.number()?,
                languages: from.number()?,
                numerics: from.number()?,
            },
            terms: from.terms()?,
            removed: from.quads()?,
            added: from.quads()?,
        };
        match from.0 {
            [] => Ok(record),
            _ => Err("the record of a commit is longer than its contents"),
        }
    }
}

#[derive(Default)]
struct Encoder {
    bytes: Vec<u8>,
}

impl Encoder {
    fn number(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    fn text(&mut self, text: &str) {
        self.number(text.len() as u64);
        self.bytes.extend_from_slice(text.as_bytes());
    }

    fn terms(&mut self, terms: &NewTerms) {
        for names in [&terms.datatypes, &terms.languages, &terms.numerics] {
            self.number(names.len() as u64);
            names.iter().for_each(|name| self.text(name));
        }
        self.number(terms.resources.len() as u64);
        for resource in &terms.resources {
            match resource {
                NewResource::Blank => self.number(BLANK),
                NewResource::Iri(iri) => {
                    self.number(iri.len() as u64 + IRI);
                    self.bytes.extend_from_slice(iri.as_bytes());
                }
            }
        }
        self.number(terms.literals.len() as u64);
        for literal in &terms.literals {
            self.bytes.push(literal.id_tag);
            self.number(u64::from(literal.qualifier));
            self.text(&literal.lexical);
        }
    }

    fn quads(&mut self, quads: &[QuadIds]) {
        self.number(quads.len() as u64);
        let mut before = [0; 4];
        for quad in quads {
            let ids = [quad.subject, quad.predicate, quad.object, quad.graph].map(|id| id.0);
            for (id, before) in ids.into_iter().zip(before) {
                let difference = id.wrapping_sub(before) as i64;
                // The sign goes to the lowest bit, so that small differences of both signs are short.
                self.number(((difference << 1) ^ (difference >> 63)) as u64);
            }
            before = ids;
        }
    }
}

/// What is left of a payload.
struct Decoder<'a>(&'a [u8]);

const TOO_SHORT: &str = "the record of a commit ends too early";

impl<'a> Decoder<'a> {
    fn byte(&mut self) -> Result<u8, &'static str> {
        let (&byte, rest) = self.0.split_first().ok_or(TOO_SHORT)?;
        self.0 = rest;
        Ok(byte)
    }

    fn number(&mut self) -> Result<u64, &'static str> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err("a number in the record of a commit is too large")
    }

    /// The number of things of at least so many bytes each.
    fn count(&mut self, bytes_each: usize) -> Result<usize, &'static str> {
        let count = usize::try_from(self.number()?).map_err(|_| TOO_SHORT)?;
        match count <= self.0.len() / bytes_each {
            true => Ok(count),
            false => Err(TOO_SHORT),
        }
    }

    fn text(&mut self, bytes: usize) -> Result<String, &'static str> {
        let (text, rest) = self.0.split_at_checked(bytes).ok_or(TOO_SHORT)?;
        self.0 = rest;
        let text = std::str::from_utf8(text);
        let text = text.map_err(|_| "a term in the record of a commit is not UTF-8")?;
        Ok(text.to_owned())
    }

    fn names(&mut self) -> Result<Vec<String>, &'static str> {
        let count = self.count(1)?;
        (0..count)
            .map(|_| {
                let bytes = self.count(1)?;
                self.text(bytes)
            })
            .collect()
    }

    fn terms(&mut self) -> Result<NewTerms, &'static str> {
        let (datatypes, languages, numerics) = (self.names()?, self.names()?, self.names()?);
        let count = self.count(1)?;
        let resources = (0..count).map(|_| {
            let kind = self.number()?;
            if kind == BLANK {
                return Ok(NewResource::Blank);
            }
            let bytes = usize::try_from(kind - IRI).map_err(|_| TOO_SHORT)?;
            Ok(NewResource::Iri(self.text(bytes)?))
        });
        let resources = resources.collect::<Result<_, &'static str>>()?;
        let count = self.count(3)?;
        let literals = (0..count).map(|_| {
            let id_tag = self.byte()?;
            let qualifier = self.number()?;
            let qualifier = u16::try_from(qualifier);
            let bytes = self.count(1)?;
            Ok(NewLiteral {
                id_tag,
                qualifier: qualifier.map_err(|_| "a literal in a commit has no such kind")?,
                lexical: self.text(bytes)?,
            })
        });
        Ok(NewTerms {
            resources,
            literals: literals.collect::<Result<_, &'static str>>()?,
            datatypes,
            languages,
            numerics,
        })
    }

    fn quads(&mut self) -> Result<Vec<QuadIds>, &'static str> {
        let count = self.count(4)?;
        let mut quads: Vec<QuadIds> = Vec::with_capacity(count);
        let mut ids = [0_u64; 4];
        for _ in 0..count {
            for id in &mut ids {
                let written = self.number()?;
                let difference = (written >> 1) ^ (written & 1).wrapping_neg();
                *id = id.wrapping_add(difference);
            }
            let [subject, predicate, object, graph] = ids.map(TermId);
            let quad = QuadIds {
                subject,
                predicate,
                object,
                graph,
            };
            if quads.last().is_some_and(|last| *last >= quad) {
                return Err("the quads of a commit are not in order");
            }
            quads.push(quad);
        }
        Ok(quads)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_all_lengths() {
        let numbers = (0..64).flat_map(|bit| [(1_u64 << bit) - 1, 1 << bit, (1 << bit) + 1]);
        for number in numbers.chain([u64::MAX - 1, u64::MAX]) {
            let mut out = Encoder::default();
            out.number(number);
            assert_eq!(Decoder(&out.bytes).number(), Ok(number));
            let short = &out.bytes[..out.bytes.len() - 1];
            assert_eq!(Decoder(short).number(), Err(TOO_SHORT), "{number}");
        }
        let too_large = [[0xff; 9].as_slice(), &[2]].concat();
        assert!(Decoder(&too_large).number().is_err());
        assert!(Decoder(&[0x80; 11]).number().is_err());
    }

    #[test]
    fn a_count_that_cannot_be_reserves_nothing() {
        let mut out = Encoder::default();
        (0..5).for_each(|_| out.number(0));
        out.number(u64::MAX);
        assert!(CommitRecord::from_payload(1, &out.bytes).is_err());
    }

    #[test]
    fn quads_of_one_subject_are_short() {
        let quad = |i: u64| QuadIds {
            subject: TermId::resource(1_000_000),
            predicate: TermId::resource(2_000 + i),
            object: TermId::resource(3_000_000 + i),
            graph: TermId::DEFAULT_GRAPH,
        };
        let mut out = Encoder::default();
        out.quads(&(0..100).map(quad).collect::<Vec<_>>());
        assert!(out.bytes.len() < 500, "{}", out.bytes.len());
    }
}
