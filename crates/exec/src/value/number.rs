//! `Number`: the numeric types that operators compute in, with promotion.
//!
//! Every derived integer type computes as `xsd:integer`; mixed operands are promoted integer, decimal,
//! float, double. Integers and decimals are exact: what machine words do not hold goes on as an
//! [`Exact`], up to its limit of digits; beyond that, and for a division by zero, there is no result.
//!
//! Invariant: a number has one form. `LongInteger` and `LongDecimal` hold only what `Integer` (64 bits) and
//! `Decimal` (128 bits, 18 digits after the point) cannot. Cost: no allocation but for long numbers.

use super::decimal_text::{decimal_text, parse_decimal};
use super::exact::{Exact, Rounding};
use super::inline::nearest_f32;
use super::inline_id::{short_double, short_float, short_text};
use super::nearest_double::units_to_f64;
use super::rounding::round_floating;
use super::short_number::{POWERS, SCALE_MAX, decimal_id, of_units, stripped, units, units_of};
use crate::context::Context;
use basalt_rdf::inline::binary_doubles::encode_plain;
use basalt_rdf::inline::encode_integer;
use basalt_rdf::qualifiers::{DOUBLE, FLOAT};
use basalt_rdf::term_view::XSD;
use basalt_rdf::{TermId, TermView};
use oxsdatatypes::{Boolean, Decimal, Double, Float, Integer};
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt::Display;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// A number with the type that operators compute in.
#[derive(Clone, Debug)]
pub enum Number {
    /// `xsd:integer` and everything derived from it.
    Integer(Integer),
    /// `xsd:decimal`.
    Decimal(Decimal),
    /// `xsd:float`.
    Float(Float),
    /// `xsd:double`.
    Double(Double),
    /// An `xsd:integer` beyond 64 bits.
    LongInteger(Arc<Exact>),
    /// An `xsd:decimal` beyond 128 bits or 18 digits after the point.
    LongDecimal(Arc<Exact>),
}

/// The datatype of most computed numbers that have no inline ids.
pub const XSD_DECIMAL: &str = "http://www.w3.org/2001/XMLSchema#decimal";
/// Doubles nearer to zero than this are `i64`s without their fraction.
pub const I64_LIMIT: f64 = 9_223_372_036_854_775_808.0;

/// A numeric type, as a place in the promotion order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rank {
    /// `xsd:integer` and everything derived from it.
    Integer,
    /// `xsd:decimal`.
    Decimal,
    /// `xsd:float`.
    Float,
    /// `xsd:double`.
    Double,
}

impl Rank {
    /// Decimal or integer.
    pub fn exact(is_decimal: bool) -> Self {
        match is_decimal {
            true => Self::Decimal,
            false => Self::Integer,
        }
    }

    /// Float or double.
    pub fn floating(is_float: bool) -> Self {
        match is_float {
            true => Self::Float,
            false => Self::Double,
        }
    }
}

/// One operator on each type.
struct Operation {
    integers: fn(Integer, Integer) -> Option<Number>,
    decimals: fn(Decimal, Decimal) -> Option<Decimal>,
    exact: fn(&Exact, &Exact) -> Option<Exact>,
    floats: fn(Float, Float) -> Float,
    doubles: fn(Double, Double) -> Double,
    /// Whether two integers give a decimal.
    gives_decimal: bool,
}

const ADD: Operation = Operation {
    integers: |a, b| a.checked_add(b).map(Number::Integer),
    decimals: |a, b| a.checked_add(b),
    exact: Exact::checked_add,
    floats: |a, b| a + b,
    doubles: |a, b| a + b,
    gives_decimal: false,
};

const SUBTRACT: Operation = Operation {
    integers: |a, b| a.checked_sub(b).map(Number::Integer),
    decimals: |a, b| a.checked_sub(b),
    exact: Exact::checked_subtract,
    floats: |a, b| a - b,
    doubles: |a, b| a - b,
    gives_decimal: false,
};

const MULTIPLY: Operation = Operation {
    integers: |a, b| a.checked_mul(b).map(Number::Integer),
    decimals: multiply_decimals,
    exact: Exact::checked_multiply,
    floats: |a, b| a * b,
    doubles: |a, b| a * b,
    gives_decimal: false,
};

const DIVIDE: Operation = Operation {
    integers: |a, b| divide_integers(a.into(), b.into()).map(Number::Decimal),
    decimals: divide_decimals,
    exact: Exact::checked_divide,
    floats: |a, b| a / b,
    doubles: |a, b| a / b,
    gives_decimal: true,
};

impl Number {
    /// The integer zero.
    pub fn zero() -> Self {
        Self::Integer(0.into())
    }

    /// Reads a lexical form of the XML Schema type called `name`, if that is numeric and has such a value.
    pub fn parse(name: &str, text: &str) -> Option<Self> {
        match name {
            "integer" => parse_integer(text),
            "decimal" => match parse_decimal(text).map_or_else(|| text.parse().ok(), Some) {
                Some(small) => Some(Self::Decimal(small)),
                None => Exact::parse(text, true).map(Self::from_decimal),
            },
            "float" => floating(text)?.parse().ok().map(Self::Float),
            "double" => floating(text)?.parse().ok().map(Self::Double),
            _ => {
                let (low, high) = derived_bounds(name)?;
                let number = parse_integer(text)?;
                let is_within = |bound: Option<i128>, wrong: Ordering| {
                    bound.is_none_or(|bound| number.compare_integer(bound) != wrong)
                };
                let is_value = is_within(low, Ordering::Less) && is_within(high, Ordering::Greater);
                is_value.then_some(number)
            }
        }
    }

    /// The least and the greatest value of 64 bits of the type called `name`, if that is one of integers.
    pub fn bounds_of(name: &str) -> Option<RangeInclusive<i64>> {
        let (low, high) = match name {
            "integer" => (None, None),
            name => derived_bounds(name)?,
        };
        let within = |bound: i128| bound.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        Some(low.map_or(i64::MIN, within)..=high.map_or(i64::MAX, within))
    }

    /// Whether the XML Schema type called `name` is a numeric one.
    pub fn is_type(name: &str) -> bool {
        matches!(name, "integer" | "decimal" | "float" | "double") || derived_bounds(name).is_some()
    }

    /// The integer, in the form that it has by its size.
    fn from_integer(exact: Exact) -> Self {
        match exact.to_i64() {
            Some(small) => Self::Integer(small.into()),
            None => Self::LongInteger(Arc::new(exact)),
        }
    }

    /// The decimal, in the form that it has by its size.
    pub fn from_decimal(exact: Exact) -> Self {
        match exact.to_small() {
            Some(small) => Self::Decimal(small),
            None => Self::LongDecimal(Arc::new(exact)),
        }
    }

    fn rank(&self) -> Rank {
        match self {
            Self::Integer(_) | Self::LongInteger(_) => Rank::Integer,
            Self::Decimal(_) | Self::LongDecimal(_) => Rank::Decimal,
            Self::Float(_) => Rank::Float,
            Self::Double(_) => Rank::Double,
        }
    }

    /// An integer or decimal of the fast path as a decimal.
    pub(super) fn small_decimal(&self) -> Option<Decimal> {
        match self {
            Self::Integer(n) => Some((*n).into()),
            Self::Decimal(n) => Some(*n),
            _ => None,
        }
    }

    /// Whether it is an `xsd:decimal`.
    pub fn is_decimal(&self) -> bool {
        matches!(self, Self::Decimal(_) | Self::LongDecimal(_))
    }

    /// Whether it is the integer zero.
    pub fn is_integer_zero(&self) -> bool {
        matches!(self, Self::Integer(n) if i64::from(*n) == 0)
    }

    /// The value of an integer or decimal.
    fn exact(&self) -> Option<Cow<'_, Exact>> {
        match self {
            Self::Integer(n) => Some(Cow::Owned(i64::from(*n).into())),
            Self::Decimal(n) => Some(Cow::Owned((*n).into())),
            Self::LongInteger(n) | Self::LongDecimal(n) => Some(Cow::Borrowed(n)),
            Self::Float(_) | Self::Double(_) => None,
        }
    }

    /// A key that orders numbers of all types exactly, a float or double by its shortest text, which is the
    /// decimal number that people mean by it; `None` for infinities and NaN.
    pub fn order_key(&self) -> Option<Exact> {
        match self {
            Self::Float(n) => Exact::parse(&n.to_string(), true),
            Self::Double(n) => Exact::parse(&n.to_string(), true),
            exact => exact.exact().map(Cow::into_owned),
        }
    }

    /// The nearest float.
    pub fn to_float(&self) -> Float {
        match self {
            Self::Integer(n) => (*n).into(),
            Self::Decimal(n) => nearest_f32(units_to_f64(units_of(*n)))
                .unwrap_or_else(|| Exact::from(*n).to_f32())
                .into(),
            Self::Float(n) => *n,
            Self::Double(n) => (*n).into(),
            Self::LongInteger(n) | Self::LongDecimal(n) => n.to_f32().into(),
        }
    }

    /// The nearest double; `None` of NaN.
    pub fn nearest_double(&self) -> Option<f64> {
        Some(f64::from(self.to_double())).filter(|double| !double.is_nan())
    }

    /// The nearest double.
    pub fn to_double(&self) -> Double {
        match self {
            Self::Integer(n) => (*n).into(),
            Self::Decimal(n) => units_to_f64(units_of(*n)).into(),
            Self::Float(n) => (*n).into(),
            Self::Double(n) => *n,
            Self::LongInteger(n) | Self::LongDecimal(n) => n.to_f64().into(),
        }
    }

    /// The cast to `xsd:integer`: towards zero; infinities and NaN have none.
    pub fn to_integer(&self) -> Option<Self> {
        let truncated = |exact: Exact| Self::from_integer(exact.rounded(Rounding::Truncate));
        let from_double = |value: f64| {
            if value.abs() < I64_LIMIT {
                return Some(Self::Integer((value as i64).into()));
            }
            Exact::from_f64(value).map(truncated)
        };
        match self {
            Self::Integer(_) | Self::LongInteger(_) => Some(self.clone()),
            Self::Decimal(n) => match (*n).try_into() {
                Ok(small) => Some(Self::Integer(small)),
                Err(_) => Some(truncated((*n).into())),
            },
            Self::LongDecimal(n) => Some(truncated(n.as_ref().clone())),
            Self::Float(n) => from_double(f32::from(*n).into()),
            Self::Double(n) => from_double((*n).into()),
        }
    }

    /// The cast to `xsd:decimal`. A float or double with a fraction becomes the decimal of its shortest text, a whole
    /// one exactly what it is; infinities and NaN have none.
    pub fn to_decimal(&self) -> Option<Self> {
        let from_double = |value: f64, shortest: &dyn Display| {
            let exact = match value.fract() == 0.0 {
                true => Exact::from_f64(value),
                false => Exact::parse(&shortest.to_string(), true),
            };
            exact.map(Self::from_decimal)
        };
        match self {
            Self::Float(n) => {
                let value = f32::from(*n);
                from_double(value.into(), &value)
            }
            Self::Double(n) => {
                let value = f64::from(*n);
                from_double(value, &value)
            }
            Self::Integer(n) => Some(Self::Decimal((*n).into())),
            Self::LongInteger(n) => Some(Self::from_decimal(n.as_ref().clone())),
            Self::Decimal(_) | Self::LongDecimal(_) => Some(self.clone()),
        }
    }

    /// The effective boolean value.
    pub fn to_boolean(&self) -> bool {
        match self {
            Self::Integer(n) => Boolean::from(*n).into(),
            Self::Decimal(n) => Boolean::from(*n).into(),
            Self::Float(n) => Boolean::from(*n).into(),
            Self::Double(n) => Boolean::from(*n).into(),
            Self::LongInteger(n) | Self::LongDecimal(n) => !n.is_zero(),
        }
    }

    /// An integer against another.
    fn compare_integer(&self, other: i128) -> Ordering {
        match self {
            Self::Integer(n) => i128::from(i64::from(*n)).cmp(&other),
            // Beyond 64 bits; a bound may be there too.
            long => match (long.exact(), Exact::parse(&other.to_string(), false)) {
                (Some(a), Some(b)) => a.as_ref().cmp(&b),
                _ => Ordering::Equal,
            },
        }
    }

    /// The order by value; `None` where one is not a number.
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Integer(a), Self::Integer(b)) => return Some(a.cmp(b)),
            // Long integers are outside the range of short ones.
            (Self::LongInteger(a), Self::Integer(_)) => return Some(a.compare_to_zero()),
            (Self::Integer(_), Self::LongInteger(b)) => {
                return Some(b.compare_to_zero().reverse());
            }
            _ => {}
        }
        match self.rank().max(other.rank()) {
            Rank::Float => self.to_float().partial_cmp(&other.to_float()),
            Rank::Double => self.to_double().partial_cmp(&other.to_double()),
            Rank::Integer | Rank::Decimal => match (self.small_decimal(), other.small_decimal()) {
                (Some(a), Some(b)) => Some(a.cmp(&b)),
                (Some(a), None) => Some(other.compare_long(a)?.reverse()),
                (None, Some(b)) => self.compare_long(b),
                (None, None) => Some(self.exact()?.as_ref().cmp(other.exact()?.as_ref())),
            },
        }
    }

    /// A long number against a decimal.
    fn compare_long(&self, other: Decimal) -> Option<Ordering> {
        let exact = self.exact()?;
        let quick = exact.compare_units(units_of(other), SCALE_MAX.into());
        Some(quick.unwrap_or_else(|| exact.as_ref().cmp(&Exact::from(other))))
    }

    #[inline]
    fn apply(&self, other: &Self, operation: &Operation) -> Option<Self> {
        if let (Self::Integer(a), Self::Integer(b)) = (self, other)
            && let Some(result) = (operation.integers)(*a, *b)
        {
            return Some(result);
        }
        let rank = self.rank().max(other.rank());
        match rank {
            Rank::Float => {
                let result = (operation.floats)(self.to_float(), other.to_float());
                return Some(Self::Float(result));
            }
            Rank::Double => {
                let result = (operation.doubles)(self.to_double(), other.to_double());
                return Some(Self::Double(result));
            }
            Rank::Integer => {}
            Rank::Decimal => {
                if let (Some(a), Some(b)) = (self.small_decimal(), other.small_decimal())
                    && let Some(result) = (operation.decimals)(a, b)
                {
                    return Some(Self::Decimal(result));
                }
            }
        }
        let (a, b) = (self.exact()?, other.exact()?);
        let result = (operation.exact)(&a, &b)?;
        Some(if rank == Rank::Integer && !operation.gives_decimal {
            Self::from_integer(result)
        } else {
            Self::from_decimal(result)
        })
    }

    /// `op:numeric-add`.
    pub fn checked_add(&self, other: &Self) -> Option<Self> {
        self.apply(other, &ADD)
    }

    /// `op:numeric-subtract`.
    pub fn checked_subtract(&self, other: &Self) -> Option<Self> {
        self.apply(other, &SUBTRACT)
    }

    /// `op:numeric-multiply`.
    pub fn checked_multiply(&self, other: &Self) -> Option<Self> {
        self.apply(other, &MULTIPLY)
    }

    /// `op:numeric-divide`: two integers give a decimal, an exact division by zero is an error.
    pub fn checked_divide(&self, other: &Self) -> Option<Self> {
        self.apply(other, &DIVIDE)
    }

    /// `op:numeric-unary-minus`.
    pub fn negate(&self) -> Option<Self> {
        match self {
            Self::Float(n) => Some(Self::Float(-*n)),
            Self::Double(n) => Some(Self::Double(-*n)),
            exact => Self::zero().checked_subtract(exact),
        }
    }

    /// `fn:abs`.
    pub fn abs(&self) -> Option<Self> {
        match self {
            Self::Float(n) => Some(Self::Float(n.abs())),
            Self::Double(n) => Some(Self::Double(n.abs())),
            exact if exact.compare(&Self::zero()) == Some(Ordering::Less) => exact.negate(),
            exact => Some(exact.clone()),
        }
    }

    /// `fn:floor`, `fn:ceiling` and `fn:round`; the type stays.
    pub fn rounded(&self, rounding: Rounding) -> Option<Self> {
        match self {
            Self::Integer(_) | Self::LongInteger(_) => Some(self.clone()),
            Self::Decimal(n) => {
                let fast = match rounding {
                    Rounding::Truncate => None,
                    Rounding::Floor => n.checked_floor(),
                    Rounding::Ceiling => n.checked_ceil(),
                    Rounding::HalfUp => n.checked_round(),
                };
                Some(match fast {
                    Some(fast) => Self::Decimal(fast),
                    None => Self::from_decimal(Exact::from(*n).rounded(rounding)),
                })
            }
            Self::LongDecimal(n) => Some(Self::from_decimal(n.rounded(rounding))),
            Self::Float(n) => {
                let rounded = round_floating(f32::from(*n).into(), rounding) as f32;
                Some(Self::Float(rounded.into()))
            }
            Self::Double(n) => {
                let rounded = round_floating((*n).into(), rounding);
                Some(Self::Double(rounded.into()))
            }
        }
    }

    /// The canonical lexical form and the local name of the type.
    pub fn to_text(&self) -> (String, &'static str) {
        match self {
            Self::Integer(n) => (n.to_string(), "integer"),
            Self::Decimal(n) => (decimal_text(*n), "decimal"),
            Self::Float(n) => (n.to_string(), "float"),
            Self::Double(n) => (n.to_string(), "double"),
            Self::LongInteger(n) => (n.to_string(), "integer"),
            Self::LongDecimal(n) => (n.to_string(), "decimal"),
        }
    }

    /// The id of the number in its canonical form, if that holds it.
    pub fn inline_id(&self) -> Option<TermId> {
        match self {
            Self::Integer(n) => encode_integer((*n).into()),
            Self::Double(n) => short_double((*n).into()).unwrap_or_else(|| short_text(DOUBLE, n)),
            Self::Float(n) => short_float((*n).into()).or_else(|| short_text(FLOAT, n)),
            Self::Decimal(n) => {
                stripped(*n).and_then(|(mantissa, scale)| decimal_id(mantissa, scale))
            }
            _ => None,
        }
    }

    /// The id of the number in its canonical form.
    pub fn to_id(&self, cx: &Context) -> u64 {
        let plain = || match self {
            // Beside those of few digits, of which it is none.
            Self::Double(n) if cx.terms().has_binary_doubles() => encode_plain((*n).into()),
            _ => None,
        };
        match self.inline_id().or_else(plain) {
            Some(id) => id.0,
            None => self.with_term(|term| cx.terms().intern(term).0),
        }
    }

    /// Looks at the literal in its canonical form.
    pub fn with_term<R>(&self, look: impl FnOnce(TermView<'_>) -> R) -> R {
        let (text, name) = self.to_text();
        let datatype = match self {
            Self::Decimal(_) => Cow::Borrowed(XSD_DECIMAL),
            _ => Cow::Owned(format!("{XSD}{name}")),
        };
        look(TermView::typed(&text, &datatype))
    }
}

/// `a / b` with 18 digits after the point, cut off there; `None` for a division by zero.
fn divide_integers(a: i64, b: i64) -> Option<Decimal> {
    let units = units(a, 0).checked_div(b.into())?;
    Some(of_units(units))
}

/// The same of decimals; `None` also of what has too many digits on the way.
pub fn divide_decimals(a: Decimal, b: Decimal) -> Option<Decimal> {
    let quick = stripped(b).and_then(|(mantissa, scale)| {
        let power = i128::from(POWERS[usize::from(scale)]);
        let units = units_of(a)
            .checked_mul(power)?
            .checked_div(mantissa.into())?;
        Some(of_units(units))
    });
    quick.or_else(|| a.checked_div(b))
}

/// `a * b`; `None` if the product has more than 18 digits after the point, or too many before it.
pub fn multiply_decimals(a: Decimal, b: Decimal) -> Option<Decimal> {
    let quick = stripped(a).zip(stripped(b)).and_then(|(x, y)| {
        let missing = SCALE_MAX.checked_sub(x.1 + y.1)?;
        let product = i128::from(x.0) * i128::from(y.0);
        Some(of_units(
            product.checked_mul(POWERS[usize::from(missing)].into())?,
        ))
    });
    quick.or_else(|| a.checked_mul(b))
}

fn parse_integer(text: &str) -> Option<Number> {
    match text.parse() {
        Ok(small) => Some(Number::Integer(small)),
        Err(_) => Exact::parse(text, false).map(Number::from_integer),
    }
}

/// The least and the greatest value of a type derived from `xsd:integer`.
fn derived_bounds(name: &str) -> Option<(Option<i128>, Option<i128>)> {
    let signed = |bits: u32| {
        (
            Some(-(1_i128 << (bits - 1))),
            Some((1_i128 << (bits - 1)) - 1),
        )
    };
    let unsigned = |bits: u32| (Some(0), Some((1_i128 << bits) - 1));
    Some(match name {
        "long" => signed(64),
        "int" => signed(32),
        "short" => signed(16),
        "byte" => signed(8),
        "unsignedLong" => unsigned(64),
        "unsignedInt" => unsigned(32),
        "unsignedShort" => unsigned(16),
        "unsignedByte" => unsigned(8),
        "nonNegativeInteger" => (Some(0), None),
        "positiveInteger" => (Some(1), None),
        "nonPositiveInteger" => (None, Some(0)),
        "negativeInteger" => (None, Some(-1)),
        _ => return None,
    })
}

/// A text that may be a float or double: of words there are three, in this spelling alone.
fn floating(text: &str) -> Option<&str> {
    let is_word = text
        .bytes()
        .any(|b| b.is_ascii_alphabetic() && !matches!(b, b'e' | b'E'));
    let is_known = matches!(text, "INF" | "+INF" | "-INF" | "NaN");
    (!is_word || is_known).then_some(text)
}
