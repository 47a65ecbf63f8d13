//! `TermId`: the 64-bit id of a term, a tag (kind, datatype) and a payload.
//!
//! Every layer above the readers speaks of terms by these ids. Equal terms have equal ids and
//! different terms have different ids, so joins, DISTINCT and GROUP BY compare integers.
//!
//! ```text
//! bit 63      56 55                                                       0
//!    +----------+---------------------------------------------------------+
//!    |   tag    |                        payload                          |
//!    +----------+---------------------------------------------------------+
//! 0x00 unbound      0                        (the whole id is 0; never stored)
//! 0x01 resource     ordinal                  (an IRI or a blank node; dense from 0)
//! 0x02 boolean      0 | 1                    ("false", "true" only)
//! 0x03 date         (days since 1970-01-01 + 2^39) << 12 | zone code
//! 0x04 dateTime     (seconds since 1970-01-01T00:00:00 + 2^43) << 12 | zone code
//! 0x05 gYear        (year + 2^39) << 12 | zone code
//! 0x06 gYearMonth   (year * 12 + month - 1 + 2^39) << 12 | zone code
//! 0x07 dateTime     milliseconds since 0001-01-01T00:00:00 << 7 | narrow zone
//! 0x08 dateTime     microseconds since 1900-01-01T00:00:00 << 3 | narrow zone
//! 0x09 time         (seconds of the day + 2^43) << 12 | zone code
//! 0x0A dayTimeDuration  (seconds + 2^51) << 4 | parts that are written
//! 0x0B dayTimeDuration  (microseconds + 2^48) << 7 | digits of a second << 4 | parts that are written
//! 0x10 string       literal ordinal          (xsd:string, text in the dictionary)
//! 0x11 language     language code << 40 | literal ordinal
//! 0x12 typed        datatype code << 40 | literal ordinal
//! 0x13 local        ordinal in the term table of one running query; never stored
//! 0x40..=0x7F numeric  tag & 0x3F is the numeric datatype; scale << 52 | (mantissa + 2^51)
//! 0x80..=0xDF double  (place of the value << 3 | notation) counted through all of these tags
//! 0xFF default graph   0                     (only in the graph position)
//! ```
//!
//! Invariants: an inline id gives back the exact lexical form; a lexical form that an inline kind
//! can hold is never in the dictionary; payloads preserve order where tag and scale (numbers),
//! tag and zone code (dates) or the tag (durations) are constant, and ids of doubles by their bits among all of these.

use std::fmt;

/// The id of one term; see the [module documentation](self) for the layout.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(transparent)]
pub struct TermId(pub u64);

/// Bits of the payload.
pub const PAYLOAD_BITS: u32 = 56;
/// Mask of the payload.
pub const PAYLOAD_MASK: u64 = (1 << PAYLOAD_BITS) - 1;
/// Bits of a literal ordinal inside the payload of dictionary literals.
pub const LITERAL_ORDINAL_BITS: u32 = 40;
/// Mask of a literal ordinal.
pub const LITERAL_ORDINAL_MASK: u64 = (1 << LITERAL_ORDINAL_BITS) - 1;
/// Bits of the mantissa of an inline number, below its tag and scale.
pub const MANTISSA_BITS: u32 = 52;
/// Bias of the mantissa of an inline number.
pub const MANTISSA_BIAS: i64 = 1 << 51;
/// Mask of the biased mantissa.
pub const MANTISSA_MASK: u64 = (1 << MANTISSA_BITS) - 1;

/// Tags, the top byte of an id.
pub mod tag {
    /// No term: an unbound variable or an empty cell.
    pub const UNBOUND: u8 = 0x00;
    /// An IRI or a blank node.
    pub const RESOURCE: u8 = 0x01;
    /// `xsd:boolean` written `true` or `false`.
    pub const BOOLEAN: u8 = 0x02;
    /// `xsd:date`.
    pub const DATE: u8 = 0x03;
    /// `xsd:dateTime` with whole seconds.
    pub const DATE_TIME: u8 = 0x04;
    /// `xsd:gYear`.
    pub const G_YEAR: u8 = 0x05;
    /// `xsd:gYearMonth`.
    pub const G_YEAR_MONTH: u8 = 0x06;
    /// `xsd:dateTime` with three digits of a second.
    pub const DATE_TIME_MILLIS: u8 = 0x07;
    /// `xsd:dateTime` with six digits of a second.
    pub const DATE_TIME_MICROS: u8 = 0x08;
    /// `xsd:time` with whole seconds.
    pub const TIME: u8 = 0x09;
    /// `xsd:dayTimeDuration` with whole seconds.
    pub const DURATION: u8 = 0x0A;
    /// `xsd:dayTimeDuration` with up to six digits of a second.
    pub const DURATION_MICROS: u8 = 0x0B;
    /// A plain string in the dictionary.
    pub const STRING: u8 = 0x10;
    /// A language-tagged string in the dictionary.
    pub const LANGUAGE: u8 = 0x11;
    /// Any other typed literal in the dictionary.
    pub const TYPED: u8 = 0x12;
    /// A term that only one running query knows.
    pub const LOCAL: u8 = 0x13;
    /// First tag of the inline numbers; the low six bits are the numeric datatype.
    pub const NUMERIC: u8 = 0x40;
    /// Last tag of the inline numbers.
    pub const NUMERIC_LAST: u8 = 0x7F;
    /// First tag of `xsd:double`s by their bits.
    pub const DOUBLE: u8 = 0x80;
    /// Last tag of `xsd:double`s by their bits.
    pub const DOUBLE_LAST: u8 = 0xDF;
    /// The default graph, in the graph position only.
    pub const DEFAULT_GRAPH: u8 = 0xFF;
}

impl TermId {
    /// No term: an unbound variable or an empty cell.
    pub const UNBOUND: Self = Self(0);
    /// The default graph, in the graph position only.
    pub const DEFAULT_GRAPH: Self = Self((tag::DEFAULT_GRAPH as u64) << PAYLOAD_BITS);

    /// Puts a tag and a payload together.
    #[inline]
    pub const fn new(tag: u8, payload: u64) -> Self {
        debug_assert!(payload <= PAYLOAD_MASK);
        Self((tag as u64) << PAYLOAD_BITS | payload)
    }

    /// The id of the resource with this ordinal.
    #[inline]
    pub const fn resource(ordinal: u64) -> Self {
        Self::new(tag::RESOURCE, ordinal)
    }

    /// The top byte.
    #[inline]
    pub const fn tag(self) -> u8 {
        (self.0 >> PAYLOAD_BITS) as u8
    }

    /// The lower 56 bits.
    #[inline]
    pub const fn payload(self) -> u64 {
        self.0 & PAYLOAD_MASK
    }

    /// Whether this is a term at all.
    #[inline]
    pub const fn is_bound(self) -> bool {
        self.0 != 0
    }

    /// Whether this is an IRI or a blank node.
    #[inline]
    pub const fn is_resource(self) -> bool {
        self.tag() == tag::RESOURCE
    }

    /// The ordinal, if this is a resource.
    #[inline]
    pub const fn resource_ordinal(self) -> Option<u64> {
        if self.is_resource() {
            Some(self.payload())
        } else {
            None
        }
    }

    /// Whether the text of this literal stands in the dictionary.
    #[inline]
    pub const fn is_dictionary_literal(self) -> bool {
        matches!(self.tag(), tag::STRING | tag::LANGUAGE | tag::TYPED)
    }

    /// The ordinal of a dictionary literal.
    #[inline]
    pub const fn literal_ordinal(self) -> u64 {
        self.payload() & LITERAL_ORDINAL_MASK
    }

    /// The language or datatype code of a dictionary literal; 0 for a plain string.
    #[inline]
    pub const fn qualifier(self) -> u16 {
        (self.payload() >> LITERAL_ORDINAL_BITS) as u16
    }

    /// Whether this is an inline number.
    #[inline]
    pub const fn is_numeric(self) -> bool {
        self.tag() & 0xC0 == tag::NUMERIC
    }

    /// The numeric datatype code (0..64) of an inline number.
    #[inline]
    pub const fn numeric_datatype(self) -> u8 {
        self.tag() & 0x3F
    }

    /// Digits after the point of an inline number.
    #[inline]
    pub const fn scale(self) -> u8 {
        (self.payload() >> 52) as u8
    }

    /// The mantissa of an inline number: the value is `mantissa / 10^scale`.
    #[inline]
    pub const fn mantissa(self) -> i64 {
        (self.payload() & MANTISSA_MASK) as i64 - MANTISSA_BIAS
    }

    /// An inline number, if the mantissa and the scale fit.
    #[inline]
    pub const fn numeric(datatype: u8, mantissa: i64, scale: u8) -> Option<Self> {
        if datatype < 64 && scale < 16 && mantissa > -MANTISSA_BIAS && mantissa < MANTISSA_BIAS {
            let payload = (scale as u64) << 52 | (mantissa + MANTISSA_BIAS) as u64;
            Some(Self::new(tag::NUMERIC | datatype, payload))
        } else {
            None
        }
    }
}

impl fmt::Debug for TermId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tag() {
            tag::UNBOUND => f.write_str("unbound"),
            tag::DEFAULT_GRAPH => f.write_str("default"),
            tag::RESOURCE => write!(f, "r{}", self.payload()),
            tag::LOCAL => write!(f, "local{}", self.payload()),
            t if self.is_numeric() => {
                write!(f, "n{}:{}e-{}", t & 0x3F, self.mantissa(), self.scale())
            }
            _ if self.is_binary_double() => {
                write!(f, "d{:?}:{}", self.binary_double(), self.0 & 7)
            }
            tag => write!(f, "{tag:#04x}:{:#x}", self.payload()),
        }
    }
}
