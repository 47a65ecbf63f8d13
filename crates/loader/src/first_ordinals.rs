//! Terms that have several provisional ordinals, and the first of each, which stands for all.
//!
//! A term gets another ordinal when it is met again after the part of the index that knew it has left memory
//! ([`IndexRun`](crate::spill::IndexRun)). Its later ordinals are replaced where quads are read for the first
//! time, and no other stage meets them: a text that is kept under one is that of a term in no quad.
//!
//! ```text
//! for 64 ordinals: | a bit for each that is not the first of its term u64 | such bits in front u32 |
//! for each such ordinal: | the first one u32 |
//! ```
//!
//! Memory: a quarter of a byte for each ordinal and 4 bytes for each that is replaced; 8 more for these while it is made; nothing if there are none.

use basalt_rdf::TermId;
use basalt_rdf::term_id::LITERAL_ORDINAL_MASK;

use crate::encoder::RawQuad;

/// 64 ordinals.
#[derive(Clone, Copy, Default)]
struct Word {
    /// Those that are not the first of their term.
    later: u64,
    /// How many such are in front of these.
    before: u32,
}

/// First ordinals of one table.
#[derive(Default)]
pub(crate) struct FirstOrdinals {
    words: Vec<Word>,
    /// The first ordinal for each that is not.
    firsts: Vec<u32>,
}

impl FirstOrdinals {
    /// From ordinals that are not the first of their term, each with the one that is. `bound` is above them all.
    pub(crate) fn new(mut later: Vec<(u32, u32)>, bound: usize) -> Self {
        if later.is_empty() {
            return Self::default();
        }
        later.sort_unstable();
        let mut words = vec![Word::default(); bound.div_ceil(64)];
        for (ordinal, _) in &later {
            words[*ordinal as usize / 64].later |= 1 << (ordinal % 64);
        }
        let mut before = 0;
        for word in &mut words {
            word.before = before;
            before += word.later.count_ones();
        }
        Self {
            words,
            firsts: later.into_iter().map(|(_, first)| first).collect(),
        }
    }

    /// Whether every ordinal is the first of its term.
    pub(crate) fn is_empty(&self) -> bool {
        self.firsts.is_empty()
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        (self.words.len() * size_of::<Word>() + self.firsts.len() * size_of::<u32>()) as u64
    }

    /// The first ordinal of the term that has this one.
    #[inline]
    pub(crate) fn first(&self, ordinal: u32) -> u32 {
        let Some(word) = self.words.get(ordinal as usize / 64) else {
            return ordinal;
        };
        let bit = 1 << (ordinal % 64);
        match word.later & bit {
            0 => ordinal,
            _ => {
                let here = (word.later & (bit - 1)).count_ones();
                self.firsts[(word.before + here) as usize]
            }
        }
    }
}

/// First ordinals of all terms.
#[derive(Default)]
pub(crate) struct FirstTerms {
    /// Of IRIs and blank nodes.
    pub resources: FirstOrdinals,
    /// Of dictionary literals.
    pub literals: FirstOrdinals,
}

impl FirstTerms {
    /// Whether every ordinal is the first of its term.
    pub(crate) fn is_empty(&self) -> bool {
        self.resources.is_empty() && self.literals.is_empty()
    }

    /// Bytes of memory.
    pub(crate) fn bytes(&self) -> u64 {
        self.resources.bytes() + self.literals.bytes()
    }

    /// Replaces the ordinals in quads by the first of their terms.
    pub(crate) fn replace_in(&self, quads: &mut [RawQuad]) {
        if self.is_empty() {
            return;
        }
        for quad in quads {
            quad.subject = self.resources.first(quad.subject);
            (quad.predicate, quad.graph) = self.of_pair((quad.predicate, quad.graph));
            quad.object = self.of_object(quad.object);
        }
    }

    /// The first ordinals of a predicate and a graph, the latter as in [`RawQuad::graph`].
    #[inline]
    pub(crate) fn of_pair(&self, (predicate, graph): (u32, u32)) -> (u32, u32) {
        let graph = match graph.checked_sub(1) {
            Some(graph) => self.resources.first(graph) + 1,
            None => 0,
        };
        (self.resources.first(predicate), graph)
    }

    /// The id of an object with the first ordinal of its term.
    #[inline]
    pub(crate) fn of_object(&self, id: TermId) -> TermId {
        if let Some(ordinal) = id.resource_ordinal() {
            return TermId::resource(u64::from(self.resources.first(ordinal as u32)));
        }
        if !id.is_dictionary_literal() {
            return id;
        }
        let first = self.literals.first(id.literal_ordinal() as u32);
        TermId(id.0 & !LITERAL_ORDINAL_MASK | u64::from(first))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoder::{literal_id, literal_kind};
    use basalt_rdf::term_id::tag;

    #[test]
    fn later_ordinals_are_replaced_and_others_stay() {
        let bound = 1_000;
        // In any order; those that are multiples of 7 are first ones.
        let later = |ordinal: u32| !ordinal.is_multiple_of(7) && ordinal % 5 < 2;
        let mut pairs: Vec<(u32, u32)> = (0..bound)
            .filter(|o| later(*o))
            .map(|o| (o, o / 7 * 7))
            .collect();
        pairs.sort_by_key(|(o, _)| o.wrapping_mul(0x9E37_79B9));
        let count = pairs.len() as u64;
        let firsts = FirstOrdinals::new(pairs, bound as usize);
        for ordinal in 0..bound {
            let expected = if later(ordinal) {
                ordinal / 7 * 7
            } else {
                ordinal
            };
            assert_eq!(firsts.first(ordinal), expected);
        }
        assert!(!firsts.is_empty());
        assert_eq!(firsts.bytes(), 16 * 16 + 4 * count);
        let none = FirstOrdinals::new(Vec::new(), bound as usize);
        assert_eq!((none.first(17), none.bytes()), (17, 0));
    }

    #[test]
    fn every_place_of_a_quad_is_looked_at() {
        let firsts = FirstTerms {
            resources: FirstOrdinals::new(vec![(9, 2), (70, 3)], 100),
            literals: FirstOrdinals::new(vec![(9, 4)], 100),
        };
        let kind = literal_kind(tag::LANGUAGE, 5);
        let number = TermId::numeric(0, 9, 0).expect("small");
        let quad = |subject, predicate, graph, object| RawQuad {
            subject,
            predicate,
            graph,
            object,
        };
        let mut quads = [
            quad(9, 70, 10, TermId::resource(70)),
            quad(1, 9, 0, literal_id(kind, 9)),
            quad(70, 2, 71, literal_id(kind, 70)),
            quad(4, 4, 9, number),
        ];
        firsts.replace_in(&mut quads);
        let expected = [
            quad(2, 3, 3, TermId::resource(3)),
            quad(1, 2, 0, literal_id(kind, 4)),
            quad(3, 2, 4, literal_id(kind, 70)),
            quad(4, 4, 9, number),
        ];
        assert_eq!(quads, expected);
        FirstTerms::default().replace_in(&mut quads);
        assert_eq!(quads, expected);
    }
}
