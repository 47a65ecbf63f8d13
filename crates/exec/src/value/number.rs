//! `Number`: the four numeric types that operators compute in, with promotion.
//!
//! Every derived integer type computes as `xsd:integer`; mixed operands are promoted integer, decimal,
//! float, double. Exact types report overflow and division by zero as `None`. Cost: no allocation.

use crate::context::Context;
use basalt_rdf::inline::encode_integer;
use basalt_rdf::term_view::XSD;
use basalt_rdf::{TermId, TermView};
use oxsdatatypes::{Boolean, Decimal, Double, Float, Integer};
use std::cmp::Ordering;

/// A number with the type that operators compute in.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// `xsd:integer` and everything derived from it.
    Integer(Integer),
    /// `xsd:decimal`.
    Decimal(Decimal),
    /// `xsd:float`.
    Float(Float),
    /// `xsd:double`.
    Double(Double),
}

impl Number {
    /// The integer zero.
    pub fn zero() -> Self {
        Self::Integer(0.into())
    }

    /// Reads a lexical form of the XML Schema type called `name`, if that is numeric.
    pub fn parse(name: &str, text: &str) -> Option<Self> {
        match name {
            "integer" | "byte" | "short" | "int" | "long" | "unsignedByte" | "unsignedShort"
            | "unsignedInt" | "unsignedLong" | "positiveInteger" | "negativeInteger"
            | "nonPositiveInteger" | "nonNegativeInteger" => text.parse().ok().map(Self::Integer),
            "decimal" => text.parse().ok().map(Self::Decimal),
            "float" => text.parse().ok().map(Self::Float),
            "double" => text.parse().ok().map(Self::Double),
            _ => None,
        }
    }

    /// Place in the promotion order integer, decimal, float, double.
    fn rank(self) -> u8 {
        match self {
            Self::Integer(_) => 0,
            Self::Decimal(_) => 1,
            Self::Float(_) => 2,
            Self::Double(_) => 3,
        }
    }

    fn promoted(self, rank: u8) -> Self {
        match (self, rank) {
            (Self::Integer(n), 1) => Self::Decimal(n.into()),
            (Self::Integer(n), 2) => Self::Float(n.into()),
            (Self::Integer(n), 3) => Self::Double(n.into()),
            (Self::Decimal(n), 2) => Self::Float(n.into()),
            (Self::Decimal(n), 3) => Self::Double(n.into()),
            (Self::Float(n), 3) => Self::Double(n.into()),
            _ => self,
        }
    }

    /// Both numbers in the wider of their two types.
    fn promoted_pair(self, other: Self) -> (Self, Self) {
        let rank = self.rank().max(other.rank());
        (self.promoted(rank), other.promoted(rank))
    }

    /// The effective boolean value.
    pub fn to_boolean(self) -> bool {
        match self {
            Self::Integer(n) => Boolean::from(n).into(),
            Self::Decimal(n) => Boolean::from(n).into(),
            Self::Float(n) => Boolean::from(n).into(),
            Self::Double(n) => Boolean::from(n).into(),
        }
    }

    /// The order by value; `None` where one is not a number.
    pub fn compare(self, other: Self) -> Option<Ordering> {
        match self.promoted_pair(other) {
            (Self::Integer(a), Self::Integer(b)) => Some(a.cmp(&b)),
            (Self::Decimal(a), Self::Decimal(b)) => Some(a.cmp(&b)),
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b),
            (Self::Double(a), Self::Double(b)) => a.partial_cmp(&b),
            _ => None,
        }
    }

    /// `op:numeric-add`.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        match self.promoted_pair(other) {
            (Self::Integer(a), Self::Integer(b)) => a.checked_add(b).map(Self::Integer),
            (Self::Decimal(a), Self::Decimal(b)) => a.checked_add(b).map(Self::Decimal),
            (Self::Float(a), Self::Float(b)) => Some(Self::Float(a + b)),
            (Self::Double(a), Self::Double(b)) => Some(Self::Double(a + b)),
            _ => None,
        }
    }

    /// `op:numeric-subtract`.
    pub fn checked_subtract(self, other: Self) -> Option<Self> {
        match self.promoted_pair(other) {
            (Self::Integer(a), Self::Integer(b)) => a.checked_sub(b).map(Self::Integer),
            (Self::Decimal(a), Self::Decimal(b)) => a.checked_sub(b).map(Self::Decimal),
            (Self::Float(a), Self::Float(b)) => Some(Self::Float(a - b)),
            (Self::Double(a), Self::Double(b)) => Some(Self::Double(a - b)),
            _ => None,
        }
    }

    /// `op:numeric-multiply`.
    pub fn checked_multiply(self, other: Self) -> Option<Self> {
        match self.promoted_pair(other) {
            (Self::Integer(a), Self::Integer(b)) => a.checked_mul(b).map(Self::Integer),
            (Self::Decimal(a), Self::Decimal(b)) => a.checked_mul(b).map(Self::Decimal),
            (Self::Float(a), Self::Float(b)) => Some(Self::Float(a * b)),
            (Self::Double(a), Self::Double(b)) => Some(Self::Double(a * b)),
            _ => None,
        }
    }

    /// `op:numeric-divide`: two integers give a decimal, an exact division by zero is an error.
    pub fn checked_divide(self, other: Self) -> Option<Self> {
        match self.promoted_pair(other) {
            (Self::Integer(a), Self::Integer(b)) => {
                Decimal::from(a).checked_div(b).map(Self::Decimal)
            }
            (Self::Decimal(a), Self::Decimal(b)) => a.checked_div(b).map(Self::Decimal),
            (Self::Float(a), Self::Float(b)) => Some(Self::Float(a / b)),
            (Self::Double(a), Self::Double(b)) => Some(Self::Double(a / b)),
            _ => None,
        }
    }

    /// `op:numeric-unary-minus`.
    pub fn negate(self) -> Option<Self> {
        match self {
            Self::Float(n) => Some(Self::Float(-n)),
            Self::Double(n) => Some(Self::Double(-n)),
            exact => Self::zero().checked_subtract(exact),
        }
    }

    /// The id of the number in its canonical form.
    pub fn to_id(self, cx: &Context) -> u64 {
        let (text, name) = match self {
            Self::Integer(n) => {
                if let Some(id) = encode_integer(n.into()) {
                    return id.0;
                }
                (n.to_string(), "integer")
            }
            Self::Decimal(n) => (n.to_string(), "decimal"),
            Self::Float(n) => (n.to_string(), "float"),
            Self::Double(n) => {
                if let Some(id) = whole_double(n.into()) {
                    return id.0;
                }
                (n.to_string(), "double")
            }
        };
        let id = cx
            .terms()
            .intern(TermView::typed(&text, &format!("{XSD}{name}")));
        id.0
    }
}

/// The inline id of a double without a fraction, which is written as an integer is.
fn whole_double(value: f64) -> Option<TermId> {
    const LIMIT: f64 = 1e15;
    let is_negative_zero = value == 0.0 && value.is_sign_negative();
    if value.fract() == 0.0 && value.abs() < LIMIT && !is_negative_zero {
        TermId::numeric(DOUBLE_CODE, value as i64, 0)
    } else {
        None
    }
}

/// The numeric code of `xsd:double`.
const DOUBLE_CODE: u8 = 2;
