//! `Reader`: from ids to values and texts, with one buffer for everything.
//!
//! Made per batch and thread; it owns the buffer that dictionary terms are decoded into.

use super::inline_date::date_value;
use super::{Number, Value, inline};
use crate::context::Context;
use crate::error::ExecError;
use basalt_rdf::term_id::tag;
use basalt_rdf::{LiteralKind, TermBuf, TermId, TermView};

/// Reads values and texts of ids.
pub struct Reader<'c> {
    cx: &'c Context,
    buffer: TermBuf,
}

impl<'c> Reader<'c> {
    /// A reader of this query's terms.
    pub fn new(cx: &'c Context) -> Self {
        Self {
            cx,
            buffer: TermBuf::new(),
        }
    }

    /// The query.
    pub fn context(&self) -> &'c Context {
        self.cx
    }

    /// The term of a bound id.
    pub fn term(&mut self, id: u64) -> Result<TermView<'_>, ExecError> {
        self.cx.decode(TermId(id), &mut self.buffer)?;
        Ok(self.buffer.view())
    }

    /// The value of an id; `None` if it is unbound.
    pub fn value(&mut self, id: u64) -> Result<Option<Value>, ExecError> {
        let id = TermId(id);
        if let Some(number) = inline::number(id) {
            return Ok(Some(Value::Number(number)));
        }
        if let Some(date) = date_value(id) {
            return Ok(Some(date));
        }
        Ok(match id.tag() {
            tag::UNBOUND => None,
            tag::BOOLEAN => Some(Value::Boolean(id.payload() != 0)),
            tag::RESOURCE if self.cx.terms().is_blank(id) => Some(Value::Blank),
            tag::RESOURCE => Some(Value::Iri),
            // A number of a datatype that is not XML Schema's.
            _ if id.is_numeric() => Some(Value::Unknown),
            _ => Some(Value::of(self.term(id.0)?)),
        })
    }

    /// The number of an id; `None` if it is unbound or no number.
    pub fn number(&mut self, id: u64) -> Result<Option<Number>, ExecError> {
        match inline::number(TermId(id)) {
            None => Ok(self.value(id)?.and_then(|value| value.number())),
            known => Ok(known),
        }
    }

    /// Datatype or language of a literal, `None` of anything else and of unbound. Of a stored literal they
    /// stand in its id, so no text is read.
    pub fn literal_kind(&mut self, id: u64) -> Result<Option<LiteralKind<'_>>, ExecError> {
        let (id, cx) = (TermId(id), self.cx);
        let qualifiers = cx.snapshot().dictionary().qualifiers();
        let in_id = match id.tag() {
            tag::UNBOUND | tag::RESOURCE | tag::DEFAULT_GRAPH => return Ok(None),
            tag::STRING => Some(LiteralKind::Simple),
            tag::LANGUAGE => qualifiers
                .language(id.qualifier())
                .map(LiteralKind::Language),
            tag::TYPED => qualifiers.datatype(id.qualifier()).map(LiteralKind::Typed),
            _ => basalt_rdf::inline::datatype(id, qualifiers).map(LiteralKind::Typed),
        };
        if in_id.is_some() {
            return Ok(in_id);
        }
        // A computed term, or an id that nobody knows, which decoding tells.
        Ok(match self.term(id.0)? {
            TermView::Literal(literal) => Some(literal.kind),
            _ => None,
        })
    }

    /// What `STR` gives for an id: the IRI or the lexical form; `None` for blank nodes and unbound.
    pub fn text(&mut self, id: u64) -> Result<Option<&str>, ExecError> {
        if id == 0 {
            return Ok(None);
        }
        Ok(match self.term(id)? {
            TermView::Iri(iri) => Some(iri),
            TermView::Blank(_) => None,
            TermView::Literal(literal) => Some(literal.lexical),
        })
    }
}
