//! `Qualifiers`: the registry that gives datatype IRIs and language tags their small codes.
//!
//! A literal's id carries the code of its datatype or language, so the codes must never change: the
//! registry only grows, and its lists are stored with the data. There are three tables: datatypes
//! and languages of dictionary literals (16-bit codes), and custom datatypes of inline numbers
//! (6-bit codes 16..=63; the first sixteen are the fixed XML Schema ones of [`XSD_NUMERIC`]).
//!
//! Invariants: a code once given names the same text forever; a custom numeric datatype is registered
//! at the first literal of it in plain decimal notation, and when all codes are taken no further one
//! is ever registered, so whether a form is inline never changes.
//!
//! Cost: code to text takes no lock. Text to code takes a read lock; a loader thread uses a
//! [`QualifierCache`] and takes the lock once per distinct text.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

use xxhash_rust::xxh3::xxh3_64;

use crate::term_view::{RDF, XSD};

/// Most datatypes, and most languages, that a registry holds; below the 16-bit limit so that some
/// codes stay free for marks.
pub const QUALIFIERS_MAX: usize = 65_000;
/// The numeric code of `xsd:decimal`. Codes below [`CUSTOM_NUMERIC_FIRST`] that are neither this nor floating are integers.
pub const DECIMAL: u8 = 1;
/// The numeric code of `xsd:double`.
pub const DOUBLE: u8 = 2;
/// The numeric code of `xsd:float`.
pub const FLOAT: u8 = 3;
/// The first numeric code of custom datatypes.
pub const CUSTOM_NUMERIC_FIRST: u8 = 16;
/// Most custom numeric datatypes.
pub const CUSTOM_NUMERIC_MAX: usize = 64 - CUSTOM_NUMERIC_FIRST as usize;
/// Names per chunk of a table; tables grow by chunks so that names never move.
const CHUNK_NAMES: usize = 1024;

/// The XML Schema datatypes with fixed numeric codes: the code is the position.
pub const XSD_NUMERIC: [&str; CUSTOM_NUMERIC_FIRST as usize] = [
    "http://www.w3.org/2001/XMLSchema#integer",
    "http://www.w3.org/2001/XMLSchema#decimal",
    "http://www.w3.org/2001/XMLSchema#double",
    "http://www.w3.org/2001/XMLSchema#float",
    "http://www.w3.org/2001/XMLSchema#int",
    "http://www.w3.org/2001/XMLSchema#long",
    "http://www.w3.org/2001/XMLSchema#short",
    "http://www.w3.org/2001/XMLSchema#byte",
    "http://www.w3.org/2001/XMLSchema#nonNegativeInteger",
    "http://www.w3.org/2001/XMLSchema#positiveInteger",
    "http://www.w3.org/2001/XMLSchema#nonPositiveInteger",
    "http://www.w3.org/2001/XMLSchema#negativeInteger",
    "http://www.w3.org/2001/XMLSchema#unsignedLong",
    "http://www.w3.org/2001/XMLSchema#unsignedInt",
    "http://www.w3.org/2001/XMLSchema#unsignedShort",
    "http://www.w3.org/2001/XMLSchema#unsignedByte",
];

/// Why a registry could not be made or extended.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QualifierError {
    /// The table is full.
    #[error("too many different {what}: no code is left for '{name}'")]
    TooManyQualifiers {
        /// "datatypes" or "languages".
        what: &'static str,
        /// The text that found no room.
        name: String,
    },
    /// A stored list names a text twice.
    #[error("the stored list of {what} holds '{name}' twice")]
    Duplicate {
        /// Which list.
        what: &'static str,
        /// The repeated text.
        name: String,
    },
}

/// Which literals are inline. A store keeps the forms that it began with: whether a literal is inline must never change.
/// Later ones are inline in addition to those before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum InlineForms {
    /// Of `xsd:dateTime`s those with whole seconds alone.
    WholeSeconds,
    /// Those with three or six digits of a second, too.
    Fractions,
    /// And `xsd:double`s with an exponent, or with as many digits as they need.
    Doubles,
    /// And `xsd:time`s with whole seconds.
    Times,
    /// And `xsd:dayTimeDuration`s.
    #[default]
    Durations,
}

/// The contents of a registry in the order of the codes, for storage.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QualifierLists {
    /// Which literals are inline.
    pub forms: InlineForms,
    /// Datatypes; the code is the position.
    pub datatypes: Vec<String>,
    /// Language tags; the code is the position.
    pub languages: Vec<String>,
    /// Custom numeric datatypes; the code is [`CUSTOM_NUMERIC_FIRST`] plus the position.
    pub numerics: Vec<String>,
}

/// The numbers of names in a registry, which are the codes to be given next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QualifierCounts {
    /// Datatypes.
    pub datatypes: usize,
    /// Language tags.
    pub languages: usize,
    /// Custom numeric datatypes.
    pub numerics: usize,
}

/// The registry; see the [module documentation](self).
#[derive(Debug)]
pub struct Qualifiers {
    /// Which literals are inline.
    forms: InlineForms,
    /// Datatypes of dictionary literals.
    datatypes: NameTable,
    /// Language tags.
    languages: NameTable,
    /// Custom datatypes of inline numbers.
    numerics: NameTable,
}

impl Default for Qualifiers {
    fn default() -> Self {
        Self::of_forms(InlineForms::default())
    }
}

impl Qualifiers {
    /// An empty registry.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty registry of a store of which these literals are inline.
    pub fn of_forms(forms: InlineForms) -> Self {
        Self {
            forms,
            datatypes: NameTable::new("datatypes", QUALIFIERS_MAX),
            languages: NameTable::new("languages", QUALIFIERS_MAX),
            numerics: NameTable::new("numeric datatypes", CUSTOM_NUMERIC_MAX),
        }
    }
    /// Which literals are inline.
    pub fn forms(&self) -> InlineForms {
        self.forms
    }

    /// The datatype with this code.
    pub fn datatype(&self, code: u16) -> Option<&str> {
        self.datatypes.name(code)
    }

    /// The language tag with this code.
    pub fn language(&self, code: u16) -> Option<&str> {
        self.languages.name(code)
    }

    /// The datatype of inline numbers with this code.
    pub fn numeric_datatype(&self, code: u8) -> Option<&str> {
        match XSD_NUMERIC.get(usize::from(code)) {
            Some(name) => Some(name),
            None => self.numerics.name(u16::from(code - CUSTOM_NUMERIC_FIRST)),
        }
    }

    /// The code of a datatype, if it has one.
    pub fn find_datatype(&self, iri: &str) -> Option<u16> {
        self.datatypes.find(iri)
    }

    /// The code of a language tag, if it has one.
    pub fn find_language(&self, tag: &str) -> Option<u16> {
        self.languages.find(tag)
    }

    /// The numeric code of a datatype, if it has one.
    pub fn find_numeric(&self, iri: &str) -> Option<u8> {
        match xsd_numeric_code(iri) {
            Some(code) => Some(code),
            None => self.numerics.find(iri).map(custom_code),
        }
    }

    /// The code of a datatype, given now if it had none.
    pub fn intern_datatype(&self, iri: &str) -> Result<u16, QualifierError> {
        self.datatypes.intern(iri)
    }

    /// The code of a language tag, given now if it had none.
    pub fn intern_language(&self, tag: &str) -> Result<u16, QualifierError> {
        self.languages.intern(tag)
    }

    /// The numeric code of a datatype, given now if it had none.
    ///
    /// `None` for datatypes that never hold inline numbers, and for custom ones that came after all
    /// codes were taken; this never changes for a datatype once it was asked for.
    pub fn intern_numeric(&self, iri: &str) -> Option<u8> {
        if let Some(code) = xsd_numeric_code(iri) {
            return Some(code);
        }
        if !is_custom_datatype(iri) {
            return None;
        }
        self.numerics.intern(iri).ok().map(custom_code)
    }

    /// The contents, for storage.
    pub fn to_lists(&self) -> QualifierLists {
        self.lists_since(QualifierCounts::default())
    }

    /// How many names there are.
    pub fn counts(&self) -> QualifierCounts {
        QualifierCounts {
            datatypes: self.datatypes.count(),
            languages: self.languages.count(),
            numerics: self.numerics.count(),
        }
    }

    /// What was added since there were so many names.
    pub fn lists_since(&self, from: QualifierCounts) -> QualifierLists {
        QualifierLists {
            forms: self.forms,
            datatypes: self.datatypes.to_list(from.datatypes),
            languages: self.languages.to_list(from.languages),
            numerics: self.numerics.to_list(from.numerics),
        }
    }

    /// Adds names that another registry gave after these; each must be new here and gets the code
    /// that it has there.
    pub fn restore(&self, lists: &QualifierLists) -> Result<(), QualifierError> {
        self.datatypes.restore(&lists.datatypes)?;
        self.languages.restore(&lists.languages)?;
        self.numerics.restore(&lists.numerics)
    }

    /// A registry with stored contents.
    pub fn from_lists(lists: &QualifierLists) -> Result<Self, QualifierError> {
        let qualifiers = Self::of_forms(lists.forms);
        qualifiers.restore(lists)?;
        Ok(qualifiers)
    }
}

/// The fixed numeric code of an XML Schema datatype.
pub fn xsd_numeric_code(iri: &str) -> Option<u8> {
    let code = match iri.strip_prefix(XSD)? {
        "integer" => 0,
        "decimal" => 1,
        "double" => 2,
        "float" => 3,
        "int" => 4,
        "long" => 5,
        "short" => 6,
        "byte" => 7,
        "nonNegativeInteger" => 8,
        "positiveInteger" => 9,
        "nonPositiveInteger" => 10,
        "negativeInteger" => 11,
        "unsignedLong" => 12,
        "unsignedInt" => 13,
        "unsignedShort" => 14,
        "unsignedByte" => 15,
        _ => return None,
    };
    Some(code)
}

/// Whether inline numbers of this datatype get a code of their own: it is neither of XML Schema nor
/// of RDF, whose other datatypes hold text, dates or markup.
pub fn is_custom_datatype(iri: &str) -> bool {
    !iri.starts_with(XSD) && !iri.starts_with(RDF)
}

/// The numeric code of the custom datatype at this position.
fn custom_code(position: u16) -> u8 {
    debug_assert!(usize::from(position) < CUSTOM_NUMERIC_MAX);
    CUSTOM_NUMERIC_FIRST + position as u8
}

/// One chunk of names that never move.
type NameChunk = Box<[OnceLock<Box<str>>]>;

/// An append-only list of distinct names; the code of a name is its position.
#[derive(Debug)]
struct NameTable {
    /// What the names are, for errors.
    what: &'static str,
    /// Most names.
    names_max: usize,
    /// Position to name, without a lock; chunks are made when first needed.
    chunks: Box<[OnceLock<NameChunk>]>,
    /// Name to position; its length is the number of names.
    codes: RwLock<HashMap<Box<str>, u16>>,
}

impl NameTable {
    fn new(what: &'static str, names_max: usize) -> Self {
        let chunk_count = names_max.div_ceil(CHUNK_NAMES);
        Self {
            what,
            names_max,
            chunks: (0..chunk_count).map(|_| OnceLock::new()).collect(),
            codes: RwLock::default(),
        }
    }

    fn name(&self, code: u16) -> Option<&str> {
        let position = usize::from(code);
        let chunk = self.chunks.get(position / CHUNK_NAMES)?.get()?;
        chunk[position % CHUNK_NAMES].get().map(AsRef::as_ref)
    }

    fn find(&self, name: &str) -> Option<u16> {
        let codes = self.codes.read().unwrap_or_else(PoisonError::into_inner);
        codes.get(name).copied()
    }

    fn intern(&self, name: &str) -> Result<u16, QualifierError> {
        if let Some(code) = self.find(name) {
            return Ok(code);
        }
        let mut codes = self.codes.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(&code) = codes.get(name) {
            return Ok(code);
        }
        let position = codes.len();
        if position >= self.names_max {
            let (what, name) = (self.what, name.to_owned());
            return Err(QualifierError::TooManyQualifiers { what, name });
        }
        let chunk = self.chunks[position / CHUNK_NAMES]
            .get_or_init(|| (0..CHUNK_NAMES).map(|_| OnceLock::new()).collect());
        let fresh = chunk[position % CHUNK_NAMES].set(name.into()).is_ok();
        assert!(fresh, "positions are handed out under the write lock");
        codes.insert(name.into(), position as u16);
        Ok(position as u16)
    }

    fn count(&self) -> usize {
        let codes = self.codes.read().unwrap_or_else(PoisonError::into_inner);
        codes.len()
    }

    /// The names from a position on.
    fn to_list(&self, from: usize) -> Vec<String> {
        (from..self.count())
            .filter_map(|code| self.name(code as u16))
            .map(str::to_owned)
            .collect()
    }

    /// Adds names to the end, none of which is there yet.
    fn restore(&self, names: &[String]) -> Result<(), QualifierError> {
        let first = self.count();
        for (position, name) in (first..).zip(names) {
            if usize::from(self.intern(name)?) != position {
                let (what, name) = (self.what, name.clone());
                return Err(QualifierError::Duplicate { what, name });
            }
        }
        Ok(())
    }
}

/// Hashes short texts by xxh3: the cache is asked once per literal.
#[derive(Clone, Copy, Default)]
struct TextHasher(u64);

impl Hasher for TextHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        self.0 = self.0.rotate_left(23) ^ xxh3_64(bytes);
    }

    fn write_u8(&mut self, byte: u8) {
        self.0 = self.0.rotate_left(8) ^ u64::from(byte);
    }
}

/// A map from texts, for one thread.
type TextMap<V> = HashMap<Box<str>, V, BuildHasherDefault<TextHasher>>;

/// One thread's memory of codes, so that interning takes no lock for texts seen before.
pub struct QualifierCache {
    /// The registry that all threads share.
    shared: Arc<Qualifiers>,
    /// Datatypes seen by this thread.
    datatypes: TextMap<u16>,
    /// Languages seen by this thread.
    languages: TextMap<u16>,
    /// Custom numeric datatypes seen by this thread; `None` came too late for a code.
    numerics: TextMap<Option<u8>>,
}

impl QualifierCache {
    /// An empty cache of this registry.
    pub fn new(shared: Arc<Qualifiers>) -> Self {
        Self {
            shared,
            datatypes: TextMap::default(),
            languages: TextMap::default(),
            numerics: TextMap::default(),
        }
    }

    /// The registry behind this cache.
    pub fn shared(&self) -> &Arc<Qualifiers> {
        &self.shared
    }

    /// The code of a datatype, given now if it had none.
    pub fn datatype(&mut self, iri: &str) -> Result<u16, QualifierError> {
        if let Some(&code) = self.datatypes.get(iri) {
            return Ok(code);
        }
        let code = self.shared.intern_datatype(iri)?;
        self.datatypes.insert(iri.into(), code);
        Ok(code)
    }

    /// The code of a language tag, given now if it had none.
    pub fn language(&mut self, tag: &str) -> Result<u16, QualifierError> {
        if let Some(&code) = self.languages.get(tag) {
            return Ok(code);
        }
        let code = self.shared.intern_language(tag)?;
        self.languages.insert(tag.into(), code);
        Ok(code)
    }

    /// The numeric code of a datatype, as by [`Qualifiers::intern_numeric`].
    pub fn numeric(&mut self, iri: &str) -> Option<u8> {
        if let Some(code) = xsd_numeric_code(iri) {
            return Some(code);
        }
        if let Some(&code) = self.numerics.get(iri) {
            return code;
        }
        let code = self.shared.intern_numeric(iri);
        self.numerics.insert(iri.into(), code);
        code
    }
}

/// Where [`encode`](crate::inline::encode) asks which literals are inline, and for the numeric code of a datatype.
pub trait NumericCodes {
    /// Which literals are inline.
    fn forms(&self) -> InlineForms;
    /// The code, if numbers of this datatype are inline; called only for plain decimal notation.
    fn numeric_code(&mut self, datatype: &str) -> Option<u8>;
}

/// Registers: for loading.
impl NumericCodes for QualifierCache {
    fn forms(&self) -> InlineForms {
        self.shared.forms
    }

    fn numeric_code(&mut self, datatype: &str) -> Option<u8> {
        self.numeric(datatype)
    }
}

/// Finds only: for queries.
impl NumericCodes for &Qualifiers {
    fn forms(&self) -> InlineForms {
        self.forms
    }

    fn numeric_code(&mut self, datatype: &str) -> Option<u8> {
        self.find_numeric(datatype)
    }
}

#[cfg(test)]
mod tests;
