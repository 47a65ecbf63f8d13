//! `Reader`: from ids to values and texts, with buffers that are used again and again.
//!
//! Made per batch and thread; it owns the buffers that dictionary terms are decoded into. A text that is read on its own is decoded
//! where it is looked at. With each term that is read the query may end.

use super::inline_date::date_value;
use super::{Number, Value, inline};
use crate::context::Context;
use crate::error::ExecError;
use basalt_rdf::inline::XSD_DATE_TIME;
use basalt_rdf::inline::dates::split_fraction;
use basalt_rdf::term_id::tag;
use basalt_rdf::term_view::XSD;
use basalt_rdf::{LiteralKind, LiteralView, TermBuf, TermId, TermView};
use std::ops::RangeInclusive;

/// Characters that are worth reading without the rest of a text.
const START_CHARACTERS_MAX: usize = 256;

/// The integer that digits, with or without a sign, are; `None` of anything else, and of what 64 bits do not hold.
fn integer_of_digits(text: &[u8]) -> Option<i64> {
    /// So many digits are never too long.
    const SHORT: usize = 18;
    let (is_negative, digits) = match text.split_first()? {
        (b'-', digits) => (true, digits),
        (b'+', digits) => (false, digits),
        _ => (false, text),
    };
    if digits.is_empty() || digits.len() > SHORT + 1 || !digits.iter().all(u8::is_ascii_digit) {
        return None;
    }
    let (short, last) = digits.split_at(digits.len().min(SHORT));
    let add = |number: i64, digit: &u8| number * 10 - i64::from(digit - b'0');
    // The negative numbers have one more.
    let mut number = short.iter().fold(0, add);
    if let [last] = last {
        number = number
            .checked_mul(10)?
            .checked_sub(i64::from(last - b'0'))?;
    }
    match is_negative {
        true => Some(number),
        false => number.checked_neg(),
    }
}

/// Reads values and texts of ids.
pub struct Reader<'c> {
    cx: &'c Context,
    buffer: TermBuf,
    text: Vec<u8>,
    /// The number that was read last, and its id: those of groups come several times.
    last: Option<(u64, Number)>,
    /// The datatype that was asked for last, and its values if it is one of integers.
    last_type: Option<(u16, Option<RangeInclusive<i64>>)>,
}

impl<'c> Reader<'c> {
    /// A reader of this query's terms.
    pub fn new(cx: &'c Context) -> Self {
        Self {
            cx,
            buffer: TermBuf::new(),
            text: Vec::new(),
            last: None,
            last_type: None,
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
            _ => {
                if let Some(number) = self.cx.terms().local_number(id) {
                    self.cx.check_for_term()?;
                    return Ok(Some(Value::Number(number)));
                }
                if let Some((last, number)) = &self.last
                    && *last == id.0
                {
                    return Ok(Some(Value::Number(number.clone())));
                }
                if let Some(integer) = self.stored_integer(id.0)? {
                    return Ok(Some(Value::Number(Number::Integer(integer.into()))));
                }
                let value = Value::of(self.term(id.0)?);
                if let Value::Number(number) = &value {
                    self.last = Some((id.0, number.clone()));
                }
                Some(value)
            }
        })
    }

    /// The number of an id; `None` if it is unbound or no number.
    pub fn number(&mut self, id: u64) -> Result<Option<Number>, ExecError> {
        match inline::number(TermId(id)) {
            None => Ok(self.value(id)?.and_then(|value| value.number())),
            known => Ok(known),
        }
    }

    /// The value of a stored `xsd:integer`, or of a type derived from it, that is too long for an id or written in another form, if 64 bits hold it;
    /// `None` of other terms, of uncommon forms and of what is no value of the type.
    #[inline]
    pub fn stored_integer(&mut self, id: u64) -> Result<Option<i64>, ExecError> {
        let term = TermId(id);
        if term.tag() != tag::TYPED {
            return Ok(None);
        }
        let Some(bounds) = self.bounds_of(term.qualifier()) else {
            return Ok(None);
        };
        let integer = self.text_bytes(id)?.and_then(integer_of_digits);
        Ok(integer.filter(|integer| bounds.contains(integer)))
    }

    /// The least and the greatest value of a datatype, if it is one of integers.
    #[inline]
    fn bounds_of(&mut self, qualifier: u16) -> Option<RangeInclusive<i64>> {
        if let Some((known, bounds)) = &self.last_type
            && *known == qualifier
        {
            return bounds.clone();
        }
        let datatype = self
            .cx
            .snapshot()
            .dictionary()
            .qualifiers()
            .datatype(qualifier);
        let name = datatype.and_then(|datatype| datatype.strip_prefix(XSD));
        let bounds = name.and_then(Number::bounds_of);
        self.last_type = Some((qualifier, bounds.clone()));
        bounds
    }

    /// Datatype or language of a literal, `None` of anything else and of unbound. Of a stored literal they
    /// stand in its id, so no text is read.
    pub fn literal_kind(&mut self, id: u64) -> Result<Option<LiteralKind<'_>>, ExecError> {
        let (id, cx) = (TermId(id), self.cx);
        let qualifiers = cx.snapshot().dictionary().qualifiers();
        let in_id = match id.tag() {
            tag::UNBOUND | tag::RESOURCE | tag::DEFAULT_GRAPH => return Ok(None),
            tag::STRING => Some(LiteralKind::Simple),
            tag::LANGUAGE => self.stored_language(id.0).map(LiteralKind::Language),
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

    /// The language of a stored string; `None` of any other term.
    #[inline]
    pub fn stored_language(&self, id: u64) -> Option<&'c str> {
        let id = TermId(id);
        let qualifiers = self.cx.snapshot().dictionary().qualifiers();
        match id.tag() {
            tag::LANGUAGE => qualifiers.language(id.qualifier()),
            _ => None,
        }
    }

    /// The first bytes of the text of a stored string, with or without a language, as a number that is ordered as texts are; `None` of any
    /// other term and of unbound.
    #[inline]
    pub fn string_word(&mut self, id: u64) -> Result<Option<u128>, ExecError> {
        let id = TermId(id);
        if !matches!(id.tag(), tag::STRING | tag::LANGUAGE) {
            return Ok(None);
        }
        self.cx.check_for_term()?;
        let dictionary = self.cx.snapshot().dictionary();
        Ok(Some(dictionary.text_word(id, &mut self.text)?))
    }

    /// The string of an id, with or without a language; `None` of any other term and of unbound.
    #[inline]
    pub fn string(&mut self, id: u64) -> Result<Option<LiteralView<'_>>, ExecError> {
        self.string_start(id, usize::MAX)
    }

    /// The same, or a beginning of it with at least so many characters.
    #[inline]
    pub fn string_start(
        &mut self,
        id: u64,
        characters: usize,
    ) -> Result<Option<LiteralView<'_>>, ExecError> {
        let (id, cx) = (TermId(id), self.cx);
        let dictionary = cx.snapshot().dictionary();
        let kind = match id.tag() {
            tag::STRING => Some(LiteralKind::Simple),
            tag::LANGUAGE => self.stored_language(id.0).map(LiteralKind::Language),
            tag::LOCAL => None,
            _ => return Ok(None),
        };
        if let Some(kind) = kind {
            cx.check_for_term()?;
            let lexical = match characters <= START_CHARACTERS_MAX {
                true => dictionary.text_start(id, characters, &mut self.text)?,
                false => dictionary.text(id, &mut self.text)?,
            };
            return Ok(Some(LiteralView { lexical, kind }));
        }
        Ok(match self.term(id.0)? {
            TermView::Literal(literal) if !matches!(literal.kind, LiteralKind::Typed(_)) => {
                Some(literal)
            }
            _ => None,
        })
    }

    /// The second in which an `xsd:dateTime` with a fraction of a second is, as an inline id, and the fraction in units of 10^-18; `None` of all
    /// other terms, and of uncommon forms.
    pub fn split_date_time(&mut self, id: u64) -> Result<Option<(TermId, i64)>, ExecError> {
        let id = TermId(id);
        if id.has_fraction() {
            return Ok(id.split_second());
        }
        let qualifiers = self.cx.snapshot().dictionary().qualifiers();
        match id.tag() {
            tag::TYPED if qualifiers.datatype(id.qualifier()) == Some(XSD_DATE_TIME) => {
                let text = self.text_bytes(id.0)?;
                Ok(text.and_then(split_fraction))
            }
            tag::LOCAL => Ok(match self.term(id.0)? {
                TermView::Literal(literal) if literal.datatype() == XSD_DATE_TIME => {
                    split_fraction(literal.lexical.as_bytes())
                }
                _ => None,
            }),
            _ => Ok(None),
        }
    }

    /// The bytes of a string, as [`Self::string_start`] gives it, of which nobody has made sure that they are UTF-8; of damaged ones they
    /// may be anything.
    #[inline]
    pub fn string_bytes(&mut self, id: u64, characters: usize) -> Result<Option<&[u8]>, ExecError> {
        let term = TermId(id);
        if !matches!(term.tag(), tag::STRING | tag::LANGUAGE) || characters <= START_CHARACTERS_MAX
        {
            let string = self.string_start(id, characters)?;
            return Ok(string.map(|string| string.lexical.as_bytes()));
        }
        self.text_bytes(id)
    }

    /// The bytes of [`Self::text`], likewise.
    #[inline]
    pub fn text_bytes(&mut self, id: u64) -> Result<Option<&[u8]>, ExecError> {
        if !self.has_stored_text(id) {
            return Ok(self.text(id)?.map(str::as_bytes));
        }
        self.cx.check_for_term()?;
        self.text.clear();
        let dictionary = self.cx.snapshot().dictionary();
        dictionary.lexical_into(TermId(id), &mut self.text)?;
        Ok(Some(&self.text))
    }

    /// What `STR` gives for an id: the IRI or the lexical form; `None` for blank nodes and unbound.
    pub fn text(&mut self, id: u64) -> Result<Option<&str>, ExecError> {
        if self.has_stored_text(id) {
            self.cx.check_for_term()?;
            let dictionary = self.cx.snapshot().dictionary();
            return Ok(Some(dictionary.text(TermId(id), &mut self.text)?));
        }
        if TermId(id).tag() != tag::LOCAL {
            return Ok(None);
        }
        Ok(match self.term(id)? {
            TermView::Iri(iri) => Some(iri),
            TermView::Blank(_) => None,
            TermView::Literal(literal) => Some(literal.lexical),
        })
    }

    /// Whether `STR` of an id is what the dictionary has, or the id itself.
    #[inline]
    pub fn has_stored_text(&self, id: u64) -> bool {
        let id = TermId(id);
        match id.tag() {
            tag::UNBOUND | tag::LOCAL => false,
            tag::RESOURCE => !self.cx.terms().is_blank(id),
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_integers() {
        for number in [
            0,
            7,
            -7,
            i64::MAX,
            i64::MIN,
            1 << 51,
            -(1 << 53),
            999_999_999_999_999_999,
        ] {
            assert_eq!(
                integer_of_digits(number.to_string().as_bytes()),
                Some(number)
            );
        }
        assert_eq!(integer_of_digits(b"007"), Some(7));
        assert_eq!(integer_of_digits(b"+7"), Some(7));
        for text in [
            "",
            "-",
            "+",
            "+-7",
            "1.0",
            " 1",
            "1e3",
            "9223372036854775808",
            "-9223372036854775809",
            "0000000000000000000001",
        ] {
            assert_eq!(integer_of_digits(text.as_bytes()), None, "{text}");
        }
    }
}
