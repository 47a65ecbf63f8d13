//! Terms, ids, readers and writers of RDF; knows nothing of storage.
//!
//! The way in: [`reader`] cuts and parses files into [`QuadView`]s, [`inline`] and [`Qualifiers`] turn
//! literals into [`TermId`]s. The way out: [`inline::decode`] fills a [`TermBuf`], [`writer`] writes.

pub mod escaped;
pub mod inline;
pub mod qualifiers;
pub mod reader;
pub mod term_id;
pub mod term_view;
pub mod writer;

pub use qualifiers::{
    InlineForms, QualifierCache, QualifierCounts, QualifierError, QualifierLists, Qualifiers,
};
pub use reader::{GraphFormat, LineFormat, QuadSink, ReadError, SyntaxError};
pub use term_id::TermId;
pub use term_view::{LiteralKind, LiteralView, QuadView, TermBuf, TermView};
pub use writer::QuadWriter;
