//! The beginnings of texts, which tell most of them apart.
//!
//! A text is compressed in codes of one to eight bytes each, so a beginning of it costs a part of its codes. Cost of a word: finding the
//! text, and some four codes.

use super::Dictionary;
use super::literal_group::first_word;
use crate::error::StoreError;
use basalt_rdf::TermId;

impl Dictionary {
    /// The text of an id, or a beginning of it with at least so many characters: the rest need not be decompressed.
    pub fn text_start<'b>(
        &self,
        id: TermId,
        characters: usize,
        buffer: &'b mut Vec<u8>,
    ) -> Result<&'b str, StoreError> {
        buffer.clear();
        // A code stands for a character or more, but for an escape, or characters of some bytes.
        self.lexical_start_into(id, characters, buffer)?;
        if let Err(error) = std::str::from_utf8(buffer) {
            buffer.truncate(error.valid_up_to());
        }
        let start = std::str::from_utf8(buffer);
        if !start.is_ok_and(|start| start.chars().count() >= characters) {
            return self.text(id, buffer);
        }
        std::str::from_utf8(buffer).map_err(|_| self.not_utf8(id))
    }

    /// Appends the beginning of the text of an id, or all of it: of a compressed text what the first
    /// `codes` codes stand for. The end may lie within a character.
    pub fn lexical_start_into(
        &self,
        id: TermId,
        codes: usize,
        out: &mut Vec<u8>,
    ) -> Result<(), StoreError> {
        if id.is_dictionary_literal() && id.literal_ordinal() < self.literals.count() {
            let (layer, ordinal) = self.literals.locate(id.literal_ordinal());
            return layer.lexical_into(ordinal, codes, out);
        }
        self.lexical_into(id, out)
    }

    /// The first sixteen bytes of the text of an id, with zeros behind a shorter one, as a number with the first byte highest: where two
    /// differ, the texts are ordered as they are. `scratch` is overwritten.
    pub fn text_word(&self, id: TermId, scratch: &mut Vec<u8>) -> Result<u128, StoreError> {
        if id.is_dictionary_literal() && id.literal_ordinal() < self.literals.count() {
            let (layer, ordinal) = self.literals.locate(id.literal_ordinal());
            return layer.text_word(ordinal);
        }
        scratch.clear();
        self.lexical_into(id, scratch)?;
        Ok(first_word(scratch))
    }
}
