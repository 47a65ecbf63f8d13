//! Finding many terms at a time, so that waits for memory overlap or are fewer.

use super::{Dictionary, literal_group, resources};
use basalt_rdf::term_id::tag;
use basalt_rdf::{LiteralKind, LiteralView, TermId, TermView};

impl Dictionary {
    /// The ids of strings, with or without a language, in their order: for each what [`find`](Self::find) finds. Where nothing is
    /// stored, which is what a hash tells in nearly every case, that takes no more than the line of the index that was asked
    /// for before.
    pub fn find_strings(&self, strings: &[LiteralView<'_>]) -> Vec<Option<TermId>> {
        let qualifier = |kind: LiteralKind<'_>| match kind {
            LiteralKind::Simple => Some((tag::STRING, 0)),
            LiteralKind::Language(name) => {
                let code = self.qualifiers.find_language(name);
                code.map(|code| (tag::LANGUAGE, code))
            }
            LiteralKind::Typed(_) => None,
        };
        let hashed = |string: &LiteralView<'_>| {
            let (id_tag, code) = qualifier(string.kind)?;
            let kind = literal_group::kind_word(id_tag, code);
            let hash = literal_group::hash_literal(kind, string.lexical.as_bytes());
            for (_, layer) in self.literals.youngest_first() {
                layer.prefetch(hash);
            }
            Some(hash)
        };
        let hashes: Vec<Option<u64>> = strings.iter().map(hashed).collect();
        let found = strings.iter().zip(hashes);
        found
            .map(|(string, hash)| match (string.kind, hash) {
                (LiteralKind::Simple, Some(hash)) => {
                    self.find_hashed_literal(hash, tag::STRING, 0, string.lexical)
                }
                // Another spelling of the language may be stored.
                _ => self.find(TermView::Literal(*string)),
            })
            .collect()
    }

    /// The ordinals of many IRIs of the layers, in their order. Each layer is asked in the order of its index, so that
    /// finding takes a few cache misses for each IRI fewer than one by one; what is in the order of the IRIs is touched for
    /// those alone whose hash a layer has.
    pub fn find_iris<'t>(&self, iris: impl Iterator<Item = &'t [u8]>) -> Vec<Option<u64>> {
        // A text is hashed when it is come upon: it may be far from the one before.
        let (mut wanted, mut texts) = (Vec::new(), Vec::new());
        for iri in iris {
            wanted.push((resources::hash_iri(iri), texts.len()));
            texts.push(iri);
        }
        wanted.sort_unstable();
        let mut found = vec![None; texts.len()];
        for (first, layer) in self.resources.youngest_first() {
            wanted.retain(|&(hash, at)| {
                let ordinal = layer.find_iri(hash, || texts[at]);
                if let Some(ordinal) = ordinal {
                    found[at] = Some(first + ordinal);
                }
                ordinal.is_none()
            });
        }
        found
    }

    /// As [`Self::find_iris`], the ordinals of dictionary literals of the layers with these tags, codes of datatype or
    /// language, and lexical forms.
    pub fn find_dictionary_literals<'t>(
        &self,
        literals: impl Iterator<Item = (u8, u16, &'t [u8])>,
    ) -> Vec<Option<u64>> {
        let (mut wanted, mut texts) = (Vec::new(), Vec::new());
        for (id_tag, qualifier, lexical) in literals {
            let kind = literal_group::kind_word(id_tag, qualifier);
            let hash = literal_group::hash_literal(kind, lexical);
            wanted.push((hash, kind, texts.len()));
            texts.push(lexical);
        }
        wanted.sort_unstable();
        let mut found = vec![None; texts.len()];
        for (first, layer) in self.literals.youngest_first() {
            wanted.retain(|&(hash, kind, at)| {
                let ordinal = layer.find(hash, kind, || texts[at]);
                if let Some(ordinal) = ordinal {
                    found[at] = Some(first + ordinal);
                }
                ordinal.is_none()
            });
        }
        found
    }
}
