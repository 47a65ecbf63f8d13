//! Growing a dictionary: interning terms, and taking out and putting back what was added.
//!
//! All dictionaries over one version share the added terms. Each finds those that were there when it was made, so
//! that a query that computes a term gets the same answer whenever it asks; it decodes all.
//! The rules of interning are the loader's: numbers in plain decimal notation are inline, a
//! datatype of such numbers that is not of XML Schema gets its code at the first one, and language tags
//! keep their case.

use super::added_terms::AddedLiteral;
use super::{Dictionary, literals};
use crate::error::StoreError;
use basalt_rdf::qualifiers::{CUSTOM_NUMERIC_FIRST, NumericCodes};
use basalt_rdf::term_id::tag;
use basalt_rdf::{
    InlineForms, LiteralKind, LiteralView, QualifierCounts, QualifierError, QualifierLists,
    Qualifiers, TermId, TermView, inline,
};

/// Numbers of terms: of resources and dictionary literals the next ordinals, of the rest the next codes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TermCounts {
    /// IRIs and blank nodes.
    pub resources: u64,
    /// Dictionary literals.
    pub literals: u64,
    /// Datatypes of dictionary literals.
    pub datatypes: u64,
    /// Language tags.
    pub languages: u64,
    /// Datatypes of inline numbers that are not of XML Schema.
    pub numerics: u64,
}

impl TermCounts {
    pub(super) fn of(resources: u64, literals: u64, qualifiers: &Qualifiers) -> Self {
        let counts = qualifiers.counts();
        Self {
            resources,
            literals,
            datatypes: counts.datatypes as u64,
            languages: counts.languages as u64,
            numerics: counts.numerics as u64,
        }
    }

    /// Terms of all kinds.
    pub fn total(&self) -> u64 {
        let codes = self.datatypes + self.languages + self.numerics;
        self.resources + self.literals + codes
    }
}

/// A resource that was added.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NewResource {
    /// An IRI.
    Iri(String),
    /// A blank node; its ordinal is its name.
    Blank,
}

/// A dictionary literal that was added.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NewLiteral {
    /// The tag of its id.
    pub id_tag: u8,
    /// The code of its datatype or language; 0 for a plain string.
    pub qualifier: u16,
    /// The lexical form.
    pub lexical: String,
}

/// Terms in the order of their ordinals, or codes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NewTerms {
    /// IRIs and blank nodes.
    pub resources: Vec<NewResource>,
    /// Dictionary literals.
    pub literals: Vec<NewLiteral>,
    /// Datatypes of dictionary literals.
    pub datatypes: Vec<String>,
    /// Language tags.
    pub languages: Vec<String>,
    /// Datatypes of inline numbers that are not of XML Schema.
    pub numerics: Vec<String>,
}

impl NewTerms {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// Registers the datatypes of numbers.
struct Registering<'a>(&'a Qualifiers);

impl NumericCodes for Registering<'_> {
    fn forms(&self) -> InlineForms {
        self.0.forms()
    }

    fn numeric_code(&mut self, datatype: &str) -> Option<u8> {
        self.0.intern_numeric(datatype)
    }
}

/// Finds the datatypes of numbers that a dictionary may know.
pub(super) struct VisibleCodes<'a> {
    qualifiers: &'a Qualifiers,
    numerics: u64,
}

impl NumericCodes for VisibleCodes<'_> {
    fn forms(&self) -> InlineForms {
        self.qualifiers.forms()
    }

    fn numeric_code(&mut self, datatype: &str) -> Option<u8> {
        let code = self.qualifiers.find_numeric(datatype)?;
        let end = u64::from(CUSTOM_NUMERIC_FIRST) + self.numerics;
        (u64::from(code) < end).then_some(code)
    }
}

impl Dictionary {
    /// A dictionary over the same terms that finds all there are now.
    pub(crate) fn refreshed(&self) -> Self {
        Self {
            visible: self.counts(),
            ..self.clone()
        }
    }

    /// The terms that are found.
    pub(crate) fn visible(&self) -> TermCounts {
        self.visible
    }

    /// Datatypes and languages, those that this dictionary knows. The registry can have more: codes that a
    /// change gave which came to nothing, and that no file has.
    pub fn qualifier_lists(&self) -> QualifierLists {
        let mut lists = self.qualifiers.to_lists();
        lists.datatypes.truncate(self.visible.datatypes as usize);
        lists.languages.truncate(self.visible.languages as usize);
        lists.numerics.truncate(self.visible.numerics as usize);
        lists
    }

    /// All terms there are, also those that came later than this dictionary.
    pub(crate) fn counts(&self) -> TermCounts {
        TermCounts::of(
            self.resources.count() + self.added.resource_count(),
            self.literals.count() + self.added.literal_count(),
            &self.qualifiers,
        )
    }

    /// Bytes of memory that added terms take, about.
    pub(crate) fn added_bytes(&self) -> u64 {
        self.added.bytes()
    }

    pub(super) fn visible_codes(&self) -> VisibleCodes<'_> {
        VisibleCodes {
            qualifiers: &self.qualifiers,
            numerics: self.visible.numerics,
        }
    }

    /// An added IRI, if this dictionary finds it.
    pub(super) fn visible_iri(&self, iri: &str) -> Option<TermId> {
        let first = self.resources.count();
        if self.visible.resources == first {
            return None;
        }
        let ordinal = first + self.added.find_iri(iri)?;
        (ordinal < self.visible.resources).then(|| TermId::resource(ordinal))
    }

    /// An added literal, if this dictionary finds it.
    pub(super) fn visible_literal(
        &self,
        id_tag: u8,
        qualifier: u16,
        lexical: &str,
    ) -> Option<TermId> {
        let first = self.literals.count();
        if self.visible.literals == first {
            return None;
        }
        let ordinal = first + self.added.find_literal(id_tag, qualifier, lexical)?;
        (ordinal < self.visible.literals).then(|| literals::literal_id(id_tag, qualifier, ordinal))
    }

    /// The added literal with this ordinal.
    pub(super) fn added_literal(&self, ordinal: u64) -> Option<&AddedLiteral> {
        let position = ordinal.checked_sub(self.literals.count())?;
        self.added.literal(position)
    }

    /// The added IRI with this ordinal.
    pub(super) fn added_iri(&self, ordinal: u64) -> Option<&str> {
        let position = ordinal.checked_sub(self.resources.count())?;
        self.added.resource(position)?
    }

    /// The id of a term, given now if it had none. A blank node must be there, by the label that
    /// [`decode`](Self::decode) gives it.
    pub(crate) fn intern(&self, term: TermView<'_>) -> Result<TermId, StoreError> {
        match term {
            TermView::Iri(iri) => {
                if let Some(id) = self.find_iri(iri) {
                    return Ok(id);
                }
                let first = self.resources.count();
                let position = self.added.intern_iri(iri, first)?;
                Ok(TermId::resource(first + position))
            }
            TermView::Blank(label) => self
                .find_blank(label)
                .ok_or_else(|| StoreError::invalid(format!("there is no blank node «_:{label}»"))),
            TermView::Literal(literal) => self.intern_literal(literal),
        }
    }

    fn intern_literal(&self, literal: LiteralView<'_>) -> Result<TermId, StoreError> {
        if let Some(id) = inline::encode(literal, &mut Registering(&self.qualifiers)) {
            return Ok(id);
        }
        let (id_tag, qualifier) = match literal.kind {
            LiteralKind::Simple => (tag::STRING, Ok(0)),
            LiteralKind::Language(name) => (tag::LANGUAGE, self.qualifiers.intern_language(name)),
            LiteralKind::Typed(iri) => (tag::TYPED, self.qualifiers.intern_datatype(iri)),
        };
        let qualifier = qualifier.map_err(no_room)?;
        if let Some(id) = self.find_dictionary_literal(id_tag, qualifier, literal.lexical) {
            return Ok(id);
        }
        let first = self.literals.count();
        let position = self
            .added
            .intern_literal(id_tag, qualifier, literal.lexical, first)?;
        Ok(literals::literal_id(id_tag, qualifier, first + position))
    }

    /// A blank node that was not there before.
    pub(crate) fn new_blank(&self) -> Result<TermId, StoreError> {
        let first = self.resources.count();
        let position = self.added.push_blank(first)?;
        Ok(TermId::resource(first + position))
    }

    /// The terms that were added since there were so many; terms of the layers are never among them.
    pub(crate) fn terms_since(&self, from: TermCounts) -> NewTerms {
        let now = self.counts();
        let resource = |ordinal| match self.added_iri(ordinal) {
            Some(iri) => NewResource::Iri(iri.to_owned()),
            None => NewResource::Blank,
        };
        let literal = |added: &AddedLiteral| NewLiteral {
            id_tag: added.id_tag,
            qualifier: added.qualifier,
            lexical: added.lexical.to_string(),
        };
        let QualifierLists {
            forms: _,
            datatypes,
            languages,
            numerics,
        } = self.qualifiers.lists_since(QualifierCounts {
            datatypes: from.datatypes as usize,
            languages: from.languages as usize,
            numerics: from.numerics as usize,
        });
        let resources = from.resources.max(self.resources.count())..now.resources;
        let literals = from.literals.max(self.literals.count())..now.literals;
        let literals = literals.filter_map(|ordinal| self.added_literal(ordinal));
        NewTerms {
            resources: resources.map(resource).collect(),
            literals: literals.map(literal).collect(),
            datatypes,
            languages,
            numerics,
        }
    }

    /// Adds terms that were taken out of a dictionary over the same version when it had these counts;
    /// they get the ids that they had there.
    pub(crate) fn restore_terms(
        &self,
        from: TermCounts,
        terms: &NewTerms,
    ) -> Result<(), StoreError> {
        let now = self.counts();
        if now != from {
            let what = format!("the terms follow on {from:?}, but there are {now:?}");
            return Err(StoreError::invalid(what));
        }
        let lists = QualifierLists {
            forms: self.qualifiers.forms(),
            datatypes: terms.datatypes.clone(),
            languages: terms.languages.clone(),
            numerics: terms.numerics.clone(),
        };
        let restored = self.qualifiers.restore(&lists);
        restored.map_err(|error| StoreError::invalid(error.to_string()))?;
        let all = self.refreshed();
        for (ordinal, resource) in (from.resources..).zip(&terms.resources) {
            let id = match resource {
                NewResource::Blank => self.new_blank()?,
                NewResource::Iri(iri) => all.intern(TermView::Iri(iri))?,
            };
            all.check_restored(id, TermId::resource(ordinal))?;
        }
        let counts = self.qualifiers.counts();
        for (ordinal, literal) in (from.literals..).zip(&terms.literals) {
            let (id_tag, qualifier) = (literal.id_tag, literal.qualifier);
            let is_known = match id_tag {
                tag::STRING => qualifier == 0,
                tag::LANGUAGE => usize::from(qualifier) < counts.languages,
                tag::TYPED => usize::from(qualifier) < counts.datatypes,
                _ => false,
            };
            if !is_known {
                let what = format!("the kind of the literal «{}» is unknown", literal.lexical);
                return Err(StoreError::invalid(what));
            }
            let id = match all.find_dictionary_literal(id_tag, qualifier, &literal.lexical) {
                Some(known) => known,
                None => {
                    let first = self.literals.count();
                    let text = &literal.lexical;
                    let position = self.added.intern_literal(id_tag, qualifier, text, first)?;
                    literals::literal_id(id_tag, qualifier, first + position)
                }
            };
            all.check_restored(id, literals::literal_id(id_tag, qualifier, ordinal))?;
        }
        Ok(())
    }

    /// Refuses a term that was there before, so that what was added is not what was taken out.
    fn check_restored(&self, id: TermId, expected: TermId) -> Result<(), StoreError> {
        if id == expected {
            return Ok(());
        }
        let what = format!("an added term has the id {id:?} and not {expected:?}");
        Err(StoreError::invalid(what))
    }

    /// Decodes every added term that is found and finds it again.
    pub(crate) fn check_added(&self) -> Result<(), StoreError> {
        let resources = (self.resources.count()..self.visible.resources).map(TermId::resource);
        let literals = self.literals.count()..self.visible.literals;
        let literals = literals.map(|ordinal| self.literal_id(ordinal));
        for id in resources.map(Ok).chain(literals) {
            let id = id?;
            let term = self.term(id)?;
            let found = self.find(term.view());
            if found != Some(id) {
                let what = format!("{:?} has id {id:?} but is found as {found:?}", term.view());
                return Err(StoreError::invalid(what));
            }
        }
        Ok(())
    }
}

/// The error of a registry that is full.
fn no_room(error: QualifierError) -> StoreError {
    match error {
        QualifierError::TooManyQualifiers { what, .. } => StoreError::Limit {
            what,
            limit: basalt_rdf::qualifiers::QUALIFIERS_MAX as u64,
        },
        QualifierError::Duplicate { .. } => StoreError::invalid(error.to_string()),
    }
}
