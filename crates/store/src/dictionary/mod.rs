//! The dictionary: the texts of resources and literals, and the way back from text to id.
//!
//! ```text
//! id -> text:  ordinal -> block or group -> front coding or FSST -> bytes
//! text -> id:  inline form, or hash -> index slot -> ordinal -> text compared
//! ```
//!
//! Resources (IRIs and blank nodes) and literals are two halves with dense ordinals from 0; inline
//! ids need neither. Each half is a file, or several: a load into a store that has data adds a layer
//! (see `layers`), and terms that were added since are in memory (see `added_terms`), seen by snapshots
//! that are not older. Invariants: every term pushed is found with exactly its id and decodes byte
//! for byte; a term that was not pushed is not found. Damaged bytes give
//! [`StoreError::Corrupt`] or, where only a deep check could tell, a text that is not there.
//!
//! Cost: decoding a literal or an IRI some 100–200 ns when the page is in memory, less for a literal near others that the thread read
//! (see `known_places`); finding costs one index slot and one decoding.

mod added_terms;
mod find_together;
mod front_coding;
mod known_places;
mod layers;
mod literal_group;
mod literals;
mod new_terms;
mod resources;
#[cfg(test)]
mod tests;
mod text_index;
mod text_starts;

use std::cell::RefCell;
use std::sync::{Arc, OnceLock};

use roaring::RoaringTreemap;

use self::added_terms::AddedTerms;
use self::layers::Layers;
use self::literal_group::ALL_CODES;
use self::literals::Literals;
pub(crate) use self::literals::forms_in;
use self::resources::Resources;
use crate::error::StoreError;
use crate::folder::Folder;
use crate::section_file::SectionFile;
use basalt_rdf::term_id::tag;
use basalt_rdf::{LiteralKind, LiteralView, Qualifiers, TermBuf, TermId, TermView, inline};

pub use literal_group::first_word;
pub use literals::LiteralWriter;
pub use new_terms::{NewLiteral, NewResource, NewTerms, TermCounts};
pub use resources::ResourceWriter;

/// The files of a layer.
pub(crate) const FILES: [&str; 2] = [resources::FILE, literals::FILE];

/// An open dictionary; cheap to clone.
#[derive(Clone, Debug)]
pub struct Dictionary {
    /// IRIs and blank nodes.
    resources: Arc<Layers<Resources>>,
    /// Literals that are not inline.
    literals: Arc<Layers<Literals>>,
    /// Datatypes and languages.
    qualifiers: Arc<Qualifiers>,
    /// The ordinals of the blank nodes of all layers, when asked for and not those of a single layer.
    blanks: Arc<OnceLock<RoaringTreemap>>,
    /// Terms that were added since, with ordinals after those of all layers.
    added: Arc<AddedTerms>,
    /// Terms from these counts on are decoded but not found: a query finds a term always or never.
    visible: TermCounts,
}

impl Dictionary {
    /// Opens a dictionary of one layer (files `resources.dict` and `literals.dict`).
    #[cfg(test)]
    pub(crate) fn open(folder: &Folder) -> Result<Self, StoreError> {
        Self::open_layers(std::slice::from_ref(folder))
    }

    /// Opens the dictionary whose layers are in these folders, the oldest first. The youngest has the
    /// codes of datatypes and languages of all.
    pub(crate) fn open_layers(folders: &[Folder]) -> Result<Self, StoreError> {
        let Some((oldest, younger)) = folders.split_first() else {
            return Err(StoreError::invalid("a dictionary has at least one layer"));
        };
        let base = Resources::open(oldest)?;
        let count = base.count();
        let mut resources = Layers::new(base, count);
        let (base, mut qualifiers) = Literals::open(oldest)?;
        let count = base.count();
        let mut literals = Layers::new(base, count);
        for folder in younger {
            let layer = Resources::open(folder)?;
            let count = layer.count();
            resources.push(layer, count);
            let (layer, codes) = Literals::open(folder)?;
            let count = layer.count();
            literals.push(layer, count);
            qualifiers = codes;
        }
        Ok(Self {
            visible: TermCounts::of(resources.count(), literals.count(), &qualifiers),
            resources: Arc::new(resources),
            literals: Arc::new(literals),
            qualifiers: Arc::new(qualifiers),
            blanks: Arc::default(),
            added: Arc::default(),
        })
    }

    /// The id of a term, if it is inline or in the dictionary. A blank node is found by the label
    /// that [`decode`](Self::decode) gives it.
    pub fn find(&self, term: TermView<'_>) -> Option<TermId> {
        match term {
            TermView::Iri(iri) => self.find_iri(iri),
            TermView::Blank(label) => self.find_blank(label),
            TermView::Literal(literal) => self.find_literal(literal),
        }
    }

    fn find_iri(&self, iri: &str) -> Option<TermId> {
        let hash = resources::hash_iri(iri.as_bytes());
        let mut layers = self.resources.youngest_first();
        let found = layers.find_map(|(first, layer)| {
            let ordinal = layer.find_iri(hash, || iri.as_bytes())?;
            Some(TermId::resource(first + ordinal))
        });
        found.or_else(|| self.visible_iri(iri))
    }

    /// A blank node by the label that decoding gives it.
    fn find_blank(&self, label: &str) -> Option<TermId> {
        let digits = label.strip_prefix('b')?;
        let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
        let canonical = plain && (digits == "0" || !digits.starts_with('0'));
        let ordinal = digits.parse().ok().filter(|_| canonical)?;
        if ordinal > text_index::ORDINALS_MAX {
            return None;
        }
        let id = TermId::resource(ordinal);
        self.is_blank(id).then_some(id)
    }

    /// The id of the dictionary literal with this tag, code of datatype or language, and lexical form.
    pub fn find_dictionary_literal(
        &self,
        id_tag: u8,
        qualifier: u16,
        lexical: &str,
    ) -> Option<TermId> {
        let kind = literal_group::kind_word(id_tag, qualifier);
        let hash = literal_group::hash_literal(kind, lexical.as_bytes());
        self.find_hashed_literal(hash, id_tag, qualifier, lexical)
    }

    /// The same where the hash is known.
    fn find_hashed_literal(
        &self,
        hash: u64,
        id_tag: u8,
        qualifier: u16,
        lexical: &str,
    ) -> Option<TermId> {
        let kind = literal_group::kind_word(id_tag, qualifier);
        let mut layers = self.literals.youngest_first();
        let found = layers.find_map(|(first, layer)| {
            let ordinal = layer.find(hash, kind, || lexical.as_bytes())?;
            Some(literals::literal_id(id_tag, qualifier, first + ordinal))
        });
        found.or_else(|| self.visible_literal(id_tag, qualifier, lexical))
    }

    fn find_literal(&self, literal: LiteralView<'_>) -> Option<TermId> {
        if let Some(id) = inline::encode(literal, &mut self.visible_codes()) {
            return Some(id);
        }
        let (id_tag, qualifier) = match literal.kind {
            LiteralKind::Simple => (tag::STRING, 0),
            LiteralKind::Language(name) => return self.find_tagged(literal.lexical, name),
            LiteralKind::Typed(iri) => (tag::TYPED, self.qualifiers.find_datatype(iri)?),
        };
        self.find_dictionary_literal(id_tag, qualifier, literal.lexical)
    }

    /// A literal with this tag or, if there is none, with the tag in other case: stored tags are spelled
    /// as they came, queries and computed terms have them in lower case.
    fn find_tagged(&self, lexical: &str, tag: &str) -> Option<TermId> {
        let find = |code| self.find_dictionary_literal(tag::LANGUAGE, code, lexical);
        let exact = self.qualifiers.find_language(tag).and_then(find);
        exact.or_else(|| {
            let other = |name: &str| name != tag && name.eq_ignore_ascii_case(tag);
            self.languages()
                .find_map(|(code, name)| other(name).then(|| find(code)).flatten())
        })
    }

    /// The languages that the store has, as they are spelled, with their codes.
    fn languages(&self) -> impl Iterator<Item = (u16, &str)> {
        (0..u16::MAX).map_while(|code| Some((code, self.qualifiers.language(code)?)))
    }

    /// The ids of every stored term that differs from this one in nothing but the case of its language
    /// tag; of any other term the one that [`find`](Self::find) finds.
    ///
    /// Cost: a search for each spelling of the tag that the store has, besides reading all tags.
    pub fn find_all_cases(&self, term: TermView<'_>) -> Vec<TermId> {
        let TermView::Literal(LiteralView {
            lexical,
            kind: LiteralKind::Language(name),
        }) = term
        else {
            return self.find(term).into_iter().collect();
        };
        let same = self
            .languages()
            .filter(|(_, other)| other.eq_ignore_ascii_case(name));
        same.filter_map(|(code, _)| self.find_dictionary_literal(tag::LANGUAGE, code, lexical))
            .collect()
    }

    /// The ids of every stored string with this text, with each language or without one, ascending.
    ///
    /// Cost: a search for each language that the store has.
    pub fn find_in_all_languages(&self, text: &str) -> Vec<TermId> {
        let tagged = self.languages().map(|(code, _)| (tag::LANGUAGE, code));
        let mut found: Vec<TermId> = std::iter::once((tag::STRING, 0))
            .chain(tagged)
            .filter_map(|(id_tag, code)| self.find_dictionary_literal(id_tag, code, text))
            .collect();
        found.sort_unstable();
        found
    }

    /// Fills `out` with the term of an id.
    pub fn decode(&self, id: TermId, out: &mut TermBuf) -> Result<(), StoreError> {
        if !id.is_resource() && !id.is_dictionary_literal() {
            return if inline::decode(id, &self.qualifiers, out) {
                Ok(())
            } else {
                Err(unknown_id(id))
            };
        }
        with_scratch(|scratch| {
            let text = self.text(id, scratch)?;
            match id.tag() {
                tag::RESOURCE if self.is_blank(id) => out.fill_blank(text),
                tag::RESOURCE => out.fill_iri(text),
                _ => out.fill_literal(LiteralView {
                    lexical: text,
                    kind: self.literal_kind(id)?,
                }),
            }
            Ok(())
        })
    }

    /// The term of an id, owned.
    pub fn term(&self, id: TermId) -> Result<TermBuf, StoreError> {
        let mut buf = TermBuf::new();
        self.decode(id, &mut buf)?;
        Ok(buf)
    }

    /// The text of an id, read into a buffer whose contents go: an IRI, the label of a blank node, or a lexical form.
    pub fn text<'b>(&self, id: TermId, buffer: &'b mut Vec<u8>) -> Result<&'b str, StoreError> {
        buffer.clear();
        self.lexical_into(id, buffer)?;
        std::str::from_utf8(buffer).map_err(|_| self.not_utf8(id))
    }

    /// Appends the text of an id: an IRI, the label of a blank node, or a lexical form.
    pub fn lexical_into(&self, id: TermId, out: &mut Vec<u8>) -> Result<(), StoreError> {
        if id.is_dictionary_literal() {
            if let Some(literal) = self.added_literal(id.literal_ordinal()) {
                out.extend_from_slice(literal.lexical.as_bytes());
                return Ok(());
            }
            let (layer, ordinal) = self.literals.locate(id.literal_ordinal());
            return layer.lexical_into(ordinal, ALL_CODES, out);
        }
        if let Some(ordinal) = id.resource_ordinal() {
            if self.is_blank(id) {
                out.extend_from_slice(format!("b{ordinal}").as_bytes());
                return Ok(());
            }
            if let Some(iri) = self.added_iri(ordinal) {
                out.extend_from_slice(iri.as_bytes());
                return Ok(());
            }
            let (layer, local) = self.resources.locate(ordinal);
            return layer.iri_into(local, out);
        }
        if inline::write_lexical_bytes(id, out) {
            Ok(())
        } else {
            Err(unknown_id(id))
        }
    }

    /// Whether an id is a blank node.
    #[inline]
    pub fn is_blank(&self, id: TermId) -> bool {
        id.resource_ordinal().is_some_and(|ordinal| {
            match ordinal.checked_sub(self.resources.count()) {
                Some(position) => self.added.is_blank(position),
                None => {
                    let (layer, local) = self.resources.locate(ordinal);
                    layer.is_blank(local)
                }
            }
        })
    }

    /// The ordinals of the blank nodes of the layers.
    pub fn blanks(&self) -> &RoaringTreemap {
        let mut layers = self.resources.oldest_first();
        if let (Some((_, only)), None) = (layers.next(), layers.next()) {
            return only.blanks();
        }
        self.blanks.get_or_init(|| {
            let layers = self.resources.oldest_first();
            layers
                .flat_map(|(first, layer)| layer.blanks().iter().map(move |local| first + local))
                .collect()
        })
    }

    /// The files, two for each layer, to verify them.
    pub(crate) fn files(&self) -> Vec<&SectionFile> {
        let resources = self.resources.oldest_first().map(|(_, layer)| &layer.file);
        let literals = self.literals.oldest_first().map(|(_, layer)| &layer.file);
        resources.chain(literals).collect()
    }

    /// Terms of each layer, resources and dictionary literals, the oldest first.
    pub fn layer_terms(&self) -> Vec<(u64, u64)> {
        let resources = self.resources.oldest_first().map(|(_, l)| l.count());
        let literals = self.literals.oldest_first().map(|(_, l)| l.count());
        resources.zip(literals).collect()
    }

    /// Datatypes and languages.
    pub fn qualifiers(&self) -> &Arc<Qualifiers> {
        &self.qualifiers
    }

    /// Number of IRIs and blank nodes; their ordinals are below it.
    pub fn resource_count(&self) -> u64 {
        self.visible.resources
    }

    /// Number of dictionary literals; their ordinals are below it.
    pub fn literal_count(&self) -> u64 {
        self.visible.literals
    }

    /// The id of the dictionary literal with this ordinal.
    pub fn literal_id(&self, ordinal: u64) -> Result<TermId, StoreError> {
        if let Some(added) = self.added_literal(ordinal) {
            return Ok(literals::literal_id(added.id_tag, added.qualifier, ordinal));
        }
        let (layer, local) = self.literals.locate(ordinal);
        let (id_tag, qualifier) = layer.kind(local)?;
        Ok(literals::literal_id(id_tag, qualifier, ordinal))
    }

    /// Verifies the checksum of every section, then that every term decodes and is found again.
    /// Reads everything.
    pub fn check_deep(&self) -> Result<(), StoreError> {
        self.files().into_iter().try_for_each(SectionFile::verify)?;
        let mut buf = TermBuf::new();
        for ordinal in 0..self.resource_count() {
            let id = TermId::resource(ordinal);
            self.decode(id, &mut buf)?;
            self.check_found(id, &buf, &self.resources.locate(ordinal).0.file)?;
        }
        for ordinal in 0..self.literal_count() {
            let id = self.literal_id(ordinal)?;
            self.decode(id, &mut buf)?;
            self.check_found(id, &buf, &self.literals.locate(ordinal).0.file)?;
        }
        Ok(())
    }

    fn check_found(&self, id: TermId, buf: &TermBuf, file: &SectionFile) -> Result<(), StoreError> {
        let found = self.find(buf.view());
        if found == Some(id) {
            return Ok(());
        }
        let what = format!("{} has id {id:?} but is found as {found:?}", buf.view());
        Err(file.corrupt(file.section_offset("index"), what))
    }

    /// The language or datatype of a dictionary literal.
    fn literal_kind(&self, id: TermId) -> Result<LiteralKind<'_>, StoreError> {
        let kind = match id.tag() {
            tag::LANGUAGE => self
                .qualifiers
                .language(id.qualifier())
                .map(LiteralKind::Language),
            tag::TYPED => self
                .qualifiers
                .datatype(id.qualifier())
                .map(LiteralKind::Typed),
            _ => Some(LiteralKind::Simple),
        };
        kind.ok_or_else(|| unknown_id(id))
    }

    fn not_utf8(&self, id: TermId) -> StoreError {
        let (file, section) = if id.is_resource() {
            (&self.resources.locate(id.payload()).0.file, "iris")
        } else {
            (&self.literals.locate(id.literal_ordinal()).0.file, "texts")
        };
        file.corrupt(
            file.section_offset(section),
            format!("the text of {id:?} is not UTF-8"),
        )
    }
}

/// Writes the dictionary of a version: resources and literals, independently of each other, each in
/// the order of its ordinals. Nobody checks that a term is pushed only once.
#[derive(Debug)]
pub struct DictionaryWriter {
    /// IRIs and blank nodes.
    resources: ResourceWriter,
    /// Literals.
    literals: LiteralWriter,
}

impl DictionaryWriter {
    /// Starts the files of the dictionary in the folder.
    pub(crate) fn create(folder: &Folder) -> Result<Self, StoreError> {
        Ok(Self {
            resources: ResourceWriter::create(folder)?,
            literals: LiteralWriter::create(folder)?,
        })
    }

    /// The two writers, for two threads; each must be finished.
    pub fn into_parts(self) -> (ResourceWriter, LiteralWriter) {
        (self.resources, self.literals)
    }

    /// Adds an IRI that is not there yet and returns its ordinal.
    pub fn push_iri(&mut self, iri: &str) -> Result<u64, StoreError> {
        self.resources.push_iri(iri)
    }

    /// Adds a blank node and returns its ordinal.
    pub fn push_blank(&mut self) -> Result<u64, StoreError> {
        self.resources.push_blank()
    }

    /// Adds a literal that is not there yet and returns its ordinal; see
    /// [`LiteralWriter::push_literal`].
    pub fn push_literal(
        &mut self,
        id_tag: u8,
        qualifier: u16,
        lexical: &str,
    ) -> Result<u64, StoreError> {
        self.literals.push_literal(id_tag, qualifier, lexical)
    }

    /// Tells that the literals to come are of another column; see [`LiteralWriter::end_run`].
    pub fn end_run(&mut self) -> Result<(), StoreError> {
        self.literals.end_run()
    }

    /// Adds the terms of the youngest layers of another dictionary, which this one takes in: so many
    /// resources and literals, in the order of their ordinals. Nothing may have been pushed before.
    pub fn take_in(
        &mut self,
        other: &Dictionary,
        resources: u64,
        literals: u64,
    ) -> Result<(), StoreError> {
        let mut text = Vec::new();
        let count = other.resource_count();
        for ordinal in count.saturating_sub(resources)..count {
            let id = TermId::resource(ordinal);
            if other.is_blank(id) {
                self.push_blank()?;
                continue;
            }
            text.clear();
            other.lexical_into(id, &mut text)?;
            let iri = std::str::from_utf8(&text).map_err(|_| other.not_utf8(id))?;
            self.push_iri(iri)?;
        }
        let count = other.literal_count();
        for ordinal in count.saturating_sub(literals)..count {
            let id = other.literal_id(ordinal)?;
            text.clear();
            other.lexical_into(id, &mut text)?;
            let lexical = std::str::from_utf8(&text).map_err(|_| other.not_utf8(id))?;
            self.push_literal(id.tag(), id.qualifier(), lexical)?;
        }
        self.end_run()
    }

    /// Writes what is left and makes the files durable.
    pub fn finish(self, qualifiers: &Qualifiers) -> Result<(), StoreError> {
        self.resources.finish()?;
        self.literals.finish(qualifiers)
    }
}

thread_local! {
    /// Where texts are decoded before they are compared or copied.
    static SCRATCH: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A scratch buffer longer than this is given back, lest one huge literal stays for ever.
const SCRATCH_BYTES_MAX: usize = 1 << 20;

/// Lends this thread's scratch buffer, with leftovers; must not be nested.
fn with_scratch<T>(use_it: impl FnOnce(&mut Vec<u8>) -> T) -> T {
    SCRATCH.with_borrow_mut(|scratch| {
        let result = use_it(scratch);
        if scratch.capacity() > SCRATCH_BYTES_MAX {
            *scratch = Vec::new();
        }
        result
    })
}

/// The number of terms that a file says it holds.
fn read_count(file: &SectionFile) -> Result<u64, StoreError> {
    let bytes = file.verified_section("counts")?;
    let count = <[u8; 8]>::try_from(bytes).map(u64::from_le_bytes).ok();
    let offset = file.section_offset("counts");
    count
        .filter(|&count| count <= text_index::ORDINALS_MAX + 1)
        .ok_or_else(|| file.corrupt(offset, "the number of terms is not one"))
}

fn unknown_ordinal(what: &str, ordinal: u64) -> StoreError {
    StoreError::invalid(format!("no {what} has ordinal {ordinal}"))
}

fn unknown_id(id: TermId) -> StoreError {
    StoreError::invalid(format!("no term has id {id:?}"))
}
