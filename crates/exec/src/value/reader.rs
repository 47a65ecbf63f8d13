//! `Reader`: from ids to values and texts, with one buffer for everything.
//!
//! Made per batch and thread; it owns the buffer that dictionary terms are decoded into.

use super::{Value, inline};
use crate::context::Context;
use crate::error::ExecError;
use basalt_rdf::term_id::tag;
use basalt_rdf::{TermBuf, TermId, TermView};

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
        self.cx.terms().decode(TermId(id), &mut self.buffer)?;
        Ok(self.buffer.view())
    }

    /// The value of an id; `None` if it is unbound.
    pub fn value(&mut self, id: u64) -> Result<Option<Value>, ExecError> {
        let id = TermId(id);
        if let Some(number) = inline::number(id) {
            return Ok(Some(Value::Number(number)));
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
