//! Inline terms: literals whose whole value fits in a [`TermId`].
//!
//! [`encode`] turns a literal into an id if it is written in the one form that [`decode`] rebuilds:
//! booleans `true` and `false`, numbers in plain decimal notation ([`numeric`]), doubles in other notations or with more digits
//! ([`binary_doubles`]), dates ([`dates`], [`fractions`]) and durations ([`durations`]). Everything else (`"01"`, `"+1"`, `"-0"`, ill-typed or out of range) is `None`
//! and belongs to the dictionary, so equal terms have equal ids.
//!
//! Invariants: `decode(encode(l)) == l` exactly; where tag and scale (or tag and zone) are equal,
//! ids are ordered as their values.
//!
//! Cost: one pass over the lexical form; no allocation, no lock.

pub mod binary_doubles;
mod date_text;
pub mod dates;
pub mod durations;
pub mod fractions;
pub mod numeric;

use crate::qualifiers::{DOUBLE, InlineForms, NumericCodes, Qualifiers};
use crate::term_id::{TermId, tag};
use crate::term_view::{BufKind, LiteralKind, LiteralView, TermBuf, XSD};

/// The IRI of `xsd:boolean`.
pub const XSD_BOOLEAN: &str = "http://www.w3.org/2001/XMLSchema#boolean";
/// The IRI of `xsd:date`.
pub const XSD_DATE: &str = "http://www.w3.org/2001/XMLSchema#date";
/// The IRI of `xsd:dateTime`.
pub const XSD_DATE_TIME: &str = "http://www.w3.org/2001/XMLSchema#dateTime";
/// The IRI of `xsd:time`.
pub const XSD_TIME: &str = "http://www.w3.org/2001/XMLSchema#time";
/// The IRI of `xsd:dayTimeDuration`.
pub const XSD_DAY_TIME_DURATION: &str = "http://www.w3.org/2001/XMLSchema#dayTimeDuration";
/// The IRI of `xsd:double`.
pub const XSD_DOUBLE: &str = "http://www.w3.org/2001/XMLSchema#double";
/// The IRI of `xsd:gYear`.
pub const XSD_G_YEAR: &str = "http://www.w3.org/2001/XMLSchema#gYear";
/// The IRI of `xsd:gYearMonth`.
pub const XSD_G_YEAR_MONTH: &str = "http://www.w3.org/2001/XMLSchema#gYearMonth";

/// The inline id of a literal, or `None` if it belongs to the dictionary.
///
/// `codes` is a [`QualifierCache`](crate::QualifierCache) when loading and `&mut &Qualifiers` when
/// querying.
pub fn encode(literal: LiteralView<'_>, codes: &mut impl NumericCodes) -> Option<TermId> {
    let LiteralKind::Typed(datatype) = literal.kind else {
        return None;
    };
    let lexical = literal.lexical.as_bytes();
    if let Some(local) = datatype.strip_prefix(XSD) {
        match local {
            "boolean" => return encode_boolean_form(lexical),
            "date" => return dates::encode_date_form(lexical),
            "dateTime" => {
                let with_fractions = codes.forms() >= InlineForms::Fractions;
                return dates::encode_date_time_form(lexical, with_fractions);
            }
            "dayTimeDuration" => {
                return match codes.forms() >= InlineForms::Durations {
                    true => durations::encode_form(lexical),
                    false => None,
                };
            }
            "gYear" => return dates::encode_year_form(lexical),
            "gYearMonth" => return dates::encode_year_month_form(lexical),
            "time" => {
                return match codes.forms() >= InlineForms::Times {
                    true => dates::encode_time_form(lexical),
                    false => None,
                };
            }
            "double" => {
                let plain = numeric::parse_plain_decimal(lexical);
                let plain = plain.and_then(|(m, scale)| TermId::numeric(DOUBLE, m, scale));
                return plain.or_else(|| match codes.forms() >= InlineForms::Doubles {
                    true => binary_doubles::encode_form(lexical),
                    false => None,
                });
            }
            _ => {}
        }
    }
    let (mantissa, scale) = numeric::parse_plain_decimal(lexical)?;
    let code = codes.numeric_code(datatype)?;
    if !numeric::is_in_value_space(code, mantissa, scale) {
        return None;
    }
    TermId::numeric(code, mantissa, scale)
}

/// Rebuilds the literal of an inline id; `false`, with `buf` unspecified, if the id is not a valid
/// inline one.
pub fn decode(id: TermId, qualifiers: &Qualifiers, buf: &mut TermBuf) -> bool {
    let Some(datatype) = datatype(id, qualifiers) else {
        return false;
    };
    let (text, extra) = buf.clear_as(BufKind::Typed);
    extra.push_str(datatype);
    write_lexical(id, text)
}

/// The datatype of an inline id; `None` if it is not inline or its code is unknown.
pub fn datatype(id: TermId, qualifiers: &Qualifiers) -> Option<&str> {
    match id.tag() {
        tag::BOOLEAN => Some(XSD_BOOLEAN),
        tag::DATE => Some(XSD_DATE),
        tag::DATE_TIME | tag::DATE_TIME_MILLIS | tag::DATE_TIME_MICROS => Some(XSD_DATE_TIME),
        tag::TIME => Some(XSD_TIME),
        tag::DURATION | tag::DURATION_MICROS => Some(XSD_DAY_TIME_DURATION),
        tag::G_YEAR => Some(XSD_G_YEAR),
        tag::G_YEAR_MONTH => Some(XSD_G_YEAR_MONTH),
        _ if id.is_numeric() => qualifiers.numeric_datatype(id.numeric_datatype()),
        _ if id.is_binary_double() => Some(XSD_DOUBLE),
        _ => None,
    }
}

/// The lexical form of an inline id, on the stack.
enum Lexical {
    Boolean(&'static str),
    Date(date_text::DateText),
    Duration(durations::DurationText),
    Number(numeric::DecimalText),
    Double(binary_doubles::Text),
}

impl Lexical {
    /// That of an id; `None` if it is not a valid inline one.
    fn of(id: TermId) -> Option<Self> {
        Some(match id.tag() {
            tag::BOOLEAN => match id.payload() {
                0 => Self::Boolean("false"),
                1 => Self::Boolean("true"),
                _ => return None,
            },
            _ if id.is_duration() => Self::Duration(durations::DurationText::of(id)?),
            _ if id.is_temporal() => Self::Date(date_text::lexical(id)?),
            _ if id.is_numeric() => {
                Self::Number(numeric::DecimalText::new(id.mantissa(), id.scale()))
            }
            _ if id.is_binary_double() => Self::Double(binary_doubles::lexical(id)),
            _ => return None,
        })
    }

    /// Its bytes, which are ASCII.
    fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Boolean(text) => text.as_bytes(),
            Self::Date(text) => text.as_bytes(),
            Self::Duration(text) => text.as_bytes(),
            Self::Number(text) => text.as_bytes(),
            Self::Double(text) => text.as_bytes(),
        }
    }
}

/// Appends the lexical form of an inline id; `false`, having appended nothing, if the id is not a
/// valid inline one.
pub fn write_lexical(id: TermId, text: &mut String) -> bool {
    let lexical = Lexical::of(id);
    if let Some(lexical) = &lexical {
        text.extend(lexical.as_bytes().iter().map(|&byte| char::from(byte)));
    }
    lexical.is_some()
}

/// The same as bytes, of which no text is made first.
pub fn write_lexical_bytes(id: TermId, bytes: &mut Vec<u8>) -> bool {
    let lexical = Lexical::of(id);
    if let Some(lexical) = &lexical {
        bytes.extend_from_slice(lexical.as_bytes());
    }
    lexical.is_some()
}

/// The id of a boolean.
pub const fn encode_boolean(value: bool) -> TermId {
    TermId::new(tag::BOOLEAN, value as u64)
}

/// The id of an `xsd:integer`, if it fits.
pub const fn encode_integer(value: i64) -> Option<TermId> {
    TermId::numeric(0, value, 0)
}

fn encode_boolean_form(lexical: &[u8]) -> Option<TermId> {
    match lexical {
        b"true" => Some(encode_boolean(true)),
        b"false" => Some(encode_boolean(false)),
        _ => None,
    }
}

impl TermId {
    /// Whether the id alone holds the literal.
    #[inline]
    pub const fn is_inline(self) -> bool {
        self.is_number() || self.is_temporal() || self.tag() == tag::BOOLEAN
    }

    /// Whether it is an inline number of any datatype.
    #[inline]
    pub const fn is_number(self) -> bool {
        self.is_numeric() || self.is_binary_double()
    }

    /// The value of a boolean.
    #[inline]
    pub const fn as_boolean(self) -> Option<bool> {
        if self.tag() == tag::BOOLEAN {
            Some(self.payload() != 0)
        } else {
            None
        }
    }

    /// The value of an inline number of any datatype, correctly rounded.
    #[inline]
    pub fn as_f64(self) -> Option<f64> {
        if self.is_numeric() {
            Some(numeric::to_f64(self.mantissa(), self.scale()))
        } else if self.is_binary_double() {
            Some(self.binary_double())
        } else {
            None
        }
    }

    /// The value of an inline number that has no digits after the point.
    #[inline]
    pub const fn as_i64(self) -> Option<i64> {
        if self.is_numeric() && self.scale() == 0 {
            Some(self.mantissa())
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests;
