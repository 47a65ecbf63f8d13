//! The type classes of column values.
//!
//! A column holds values of one class, so that its integers are comparable and pack well. The
//! class is read off the tag of a [`TermId`]; no dictionary is asked.

use basalt_rdf::TermId;
use basalt_rdf::term_id::tag;

/// The class of a term as a column value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum TypeClass {
    /// IRIs and blank nodes.
    Resource,
    /// `xsd:boolean`.
    Boolean,
    /// Dates, times and years with an inline value.
    Temporal,
    /// Strings, with or without a language, and every literal whose text is in the dictionary.
    Text,
    /// Numbers with an inline value.
    Number,
}

impl TypeClass {
    /// All classes, in the order of their tags.
    pub const ALL: [Self; 5] = [
        Self::Resource,
        Self::Boolean,
        Self::Temporal,
        Self::Text,
        Self::Number,
    ];

    /// The class of a term.
    #[inline]
    pub fn of(id: TermId) -> Self {
        match id.tag() {
            tag::RESOURCE => Self::Resource,
            tag::BOOLEAN => Self::Boolean,
            _ if id.is_temporal() => Self::Temporal,
            _ if id.is_number() => Self::Number,
            _ => Self::Text,
        }
    }

    /// The word for this class in schemas and plans.
    pub fn name(self) -> &'static str {
        match self {
            Self::Resource => "resource",
            Self::Boolean => "boolean",
            Self::Temporal => "temporal",
            Self::Text => "text",
            Self::Number => "number",
        }
    }
}
