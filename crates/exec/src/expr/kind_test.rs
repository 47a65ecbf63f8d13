//! `isIRI`, `isBLANK`, `isLITERAL` and `isNUMERIC`, a column at a time.
//!
//! The tag of an id tells nearly everything; computed terms are looked at, and of literals that are no inline numbers the value is
//! read.

use super::vector::{Argument, Truth, Vector, each_row};
use crate::error::ExecError;
use crate::value::Reader;
use basalt_rdf::term_id::tag;
use basalt_rdf::{TermId, TermView};
use spargebra::algebra::Function;

/// Which kind of term is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KindTest {
    /// `isIRI`
    Iri,
    /// `isBLANK`
    Blank,
    /// `isLITERAL`
    Literal,
    /// `isNUMERIC`
    Numeric,
}

impl KindTest {
    /// What a function asks, if it is one of these.
    pub fn of(function: &Function) -> Option<Self> {
        match function {
            Function::IsIri => Some(Self::Iri),
            Function::IsBlank => Some(Self::Blank),
            Function::IsLiteral => Some(Self::Literal),
            Function::IsNumeric => Some(Self::Numeric),
            _ => None,
        }
    }

    /// The answers for `count` terms.
    pub fn column(
        self,
        terms: &Vector<'_>,
        count: usize,
        reader: &mut Reader<'_>,
    ) -> Result<Vec<Truth>, ExecError> {
        each_row(count, |row| match terms.get(row) {
            Argument::Error => Ok(Truth::Error),
            argument => Ok(Some(self.holds(argument, reader)?).into()),
        })
    }

    /// Whether a term that is no error is of the kind.
    #[inline]
    pub fn holds(self, argument: Argument<'_>, reader: &mut Reader<'_>) -> Result<bool, ExecError> {
        let id = TermId(argument.known_id());
        Ok(match id.tag() {
            tag::RESOURCE => match self {
                Self::Iri => !reader.context().terms().is_blank(id),
                Self::Blank => reader.context().terms().is_blank(id),
                Self::Literal | Self::Numeric => false,
            },
            tag::LOCAL => {
                if self == Self::Numeric {
                    return Ok(reader.number(id.0)?.is_some());
                }
                match reader.term(id.0)? {
                    TermView::Iri(_) => self == Self::Iri,
                    TermView::Blank(_) => self == Self::Blank,
                    TermView::Literal(_) => self == Self::Literal,
                }
            }
            // Of a computed value that has no id yet there is a literal.
            _ => match self {
                Self::Iri | Self::Blank => false,
                Self::Literal => true,
                Self::Numeric => is_number(argument, reader)?,
            },
        })
    }
}

/// Whether a literal is a number; strings are none whatever their texts.
fn is_number(argument: Argument<'_>, reader: &mut Reader<'_>) -> Result<bool, ExecError> {
    match argument {
        Argument::Id(id) => match TermId(id).tag() {
            tag::STRING | tag::LANGUAGE => Ok(false),
            _ => Ok(reader.number(id)?.is_some()),
        },
        other => {
            let value = other.value(reader)?;
            Ok(value.is_some_and(|value| value.number().is_some()))
        }
    }
}
