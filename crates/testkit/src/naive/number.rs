//! Numbers as SPARQL computes with them: integers and decimals exact whatever their length, floats and
//! doubles as IEEE 754 has them (section 17.3 and the XPath functions it names).
//!
//! The standard leaves open how many digits a quotient of decimals has; here it is cut after
//! [`QUOTIENT_DIGITS`] digits after the point, unless fewer say it exactly.

use num_bigint::{BigInt, Sign};
use oxrdf::vocab::xsd;
use oxrdf::{Literal, Term};
use oxsdatatypes::{Double, Float};
use std::cmp::Ordering;

/// Digits after the point of a quotient that has no end.
pub(crate) const QUOTIENT_DIGITS: u32 = 18;

/// The integer types of XML Schema.
pub(crate) const INTEGER_TYPES: [&str; 13] = [
    "integer",
    "byte",
    "short",
    "int",
    "long",
    "unsignedByte",
    "unsignedShort",
    "unsignedInt",
    "unsignedLong",
    "positiveInteger",
    "negativeInteger",
    "nonPositiveInteger",
    "nonNegativeInteger",
];

/// A decimal: `mantissa` divided by ten to the power of `scale`.
#[derive(Debug, Clone)]
pub(crate) struct BigDecimal {
    /// All digits.
    mantissa: BigInt,
    /// How many of them are after the point.
    scale: u32,
}

impl BigDecimal {
    /// Reads `-1.50`, `.5` or `7.`, nothing else.
    fn parse(text: &str) -> Option<Self> {
        let (is_negative, digits) = signed(text);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let magnitude = natural(&format!("{whole}{fraction}"))?;
        Some(Self {
            mantissa: if is_negative { -magnitude } else { magnitude },
            scale: u32::try_from(fraction.len()).ok()?,
        })
    }

    /// The same value with a larger scale.
    fn mantissa_at(&self, scale: u32) -> BigInt {
        &self.mantissa * BigInt::from(10).pow(scale - self.scale)
    }

    /// Both mantissas at the larger scale.
    fn aligned(&self, other: &Self) -> (BigInt, BigInt, u32) {
        let scale = self.scale.max(other.scale);
        (self.mantissa_at(scale), other.mantissa_at(scale), scale)
    }

    fn divide(&self, other: &Self) -> Option<Self> {
        let (a, b, _) = self.aligned(other);
        if b.sign() == Sign::NoSign {
            return None;
        }
        // Of operands with more digits the quotient has as many more than the longer one.
        let longest = self.scale.max(other.scale);
        let scale = if longest > QUOTIENT_DIGITS {
            longest + QUOTIENT_DIGITS
        } else {
            QUOTIENT_DIGITS
        };
        Some(Self {
            mantissa: a * BigInt::from(10).pow(scale) / b,
            scale,
        })
    }

    /// The greatest integer that is not greater.
    fn floor(&self) -> BigInt {
        let unit = BigInt::from(10).pow(self.scale);
        let quotient = &self.mantissa / &unit;
        let has_rest = &quotient * &unit != self.mantissa;
        if has_rest && self.mantissa.sign() == Sign::Minus {
            quotient - 1
        } else {
            quotient
        }
    }

    /// Without what is after the point.
    fn truncated(&self) -> BigInt {
        &self.mantissa / BigInt::from(10).pow(self.scale)
    }

    /// The canonical form: no zero that can be left out, and no point at the end.
    fn text(&self) -> String {
        let sign = if self.mantissa.sign() == Sign::Minus {
            "-"
        } else {
            ""
        };
        let digits = self.mantissa.magnitude().to_string();
        let scale = usize::try_from(self.scale).unwrap_or(usize::MAX);
        let padded = format!("{digits:0>width$}", width = scale + 1);
        let (whole, fraction) = padded.split_at(padded.len() - scale);
        let fraction = fraction.trim_end_matches('0');
        if fraction.is_empty() {
            format!("{sign}{whole}")
        } else {
            format!("{sign}{whole}.{fraction}")
        }
    }
}

impl From<BigInt> for BigDecimal {
    fn from(mantissa: BigInt) -> Self {
        Self { mantissa, scale: 0 }
    }
}

/// A number with the type that operators compute in.
#[derive(Debug, Clone)]
pub(crate) enum Number {
    /// xsd:integer and everything derived from it.
    Integer(BigInt),
    /// xsd:decimal.
    Decimal(BigDecimal),
    /// xsd:float.
    Float(Float),
    /// xsd:double.
    Double(Double),
}

/// The four operators of arithmetic.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Operator {
    /// op:numeric-add
    Add,
    /// op:numeric-subtract
    Subtract,
    /// op:numeric-multiply
    Multiply,
    /// op:numeric-divide
    Divide,
}

impl Number {
    /// Reads a lexical form of the XSD type called `name`, if that is numeric.
    pub(crate) fn parse(name: &str, text: &str) -> Option<Self> {
        match name {
            "decimal" => BigDecimal::parse(text).map(Self::Decimal),
            "float" => text.parse().ok().map(Self::Float),
            "double" => text.parse().ok().map(Self::Double),
            _ if INTEGER_TYPES.contains(&name) => {
                let (is_negative, digits) = signed(text);
                let magnitude = natural(digits)?;
                Some(Self::Integer(if is_negative {
                    -magnitude
                } else {
                    magnitude
                }))
            }
            _ => None,
        }
    }

    /// A count.
    pub(crate) fn count(count: usize) -> Self {
        Self::Integer(count.into())
    }

    /// Place in the promotion order integer, decimal, float, double.
    fn rank(&self) -> u8 {
        match self {
            Self::Integer(_) => 0,
            Self::Decimal(_) => 1,
            Self::Float(_) => 2,
            Self::Double(_) => 3,
        }
    }

    fn promoted(&self, rank: u8) -> Self {
        match (self, rank) {
            (Self::Integer(n), 1) => Self::Decimal(n.clone().into()),
            (_, 2) => Self::Float(self.to_float()),
            (_, 3) => Self::Double(self.to_double()),
            _ => self.clone(),
        }
    }

    /// Both numbers in the wider of their two types (section 17.3, "numeric type promotions").
    fn promoted_pair(&self, other: &Self) -> (Self, Self) {
        let rank = self.rank().max(other.rank());
        (self.promoted(rank), other.promoted(rank))
    }

    /// The canonical lexical form.
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Integer(n) => n.to_string(),
            Self::Decimal(n) => n.text(),
            Self::Float(n) => Literal::from(*n).value().to_owned(),
            Self::Double(n) => Literal::from(*n).value().to_owned(),
        }
    }

    /// The nearest float; of an exact number by way of its text, which rounds once.
    pub(crate) fn to_float(&self) -> Float {
        match self {
            Self::Float(n) => *n,
            #[expect(clippy::cast_possible_truncation, reason = "the nearest is meant")]
            Self::Double(n) => (f64::from(*n) as f32).into(),
            exact => exact.text().parse::<f32>().unwrap_or(f32::NAN).into(),
        }
    }

    /// The nearest double.
    pub(crate) fn to_double(&self) -> Double {
        match self {
            Self::Float(n) => f64::from(f32::from(*n)).into(),
            Self::Double(n) => *n,
            exact => exact.text().parse::<f64>().unwrap_or(f64::NAN).into(),
        }
    }

    /// The decimal of the same value; nothing for what is not finite.
    pub(crate) fn to_decimal(&self) -> Option<BigDecimal> {
        match self {
            Self::Integer(n) => Some(n.clone().into()),
            Self::Decimal(n) => Some(n.clone()),
            Self::Float(n) => finite(f64::from(f32::from(*n))),
            Self::Double(n) => finite(f64::from(*n)),
        }
    }

    /// Whether a float or double has a fraction that its shortest text does not say to the last digit.
    pub(crate) fn is_shortened(&self) -> bool {
        let shortest = match self {
            Self::Float(n) => f32::from(*n).to_string(),
            Self::Double(n) => f64::from(*n).to_string(),
            Self::Integer(_) | Self::Decimal(_) => return false,
        };
        match (self.to_decimal(), BigDecimal::parse(&shortest)) {
            (Some(exact), Some(short)) => {
                exact.text().contains('.') && exact.text() != short.text()
            }
            _ => false,
        }
    }

    /// The integer that is left when what is after the point is dropped.
    pub(crate) fn to_integer(&self) -> Option<BigInt> {
        self.to_decimal().map(|decimal| decimal.truncated())
    }

    /// Neither zero nor NaN.
    pub(crate) fn to_boolean(&self) -> bool {
        match self {
            Self::Integer(n) => n.sign() != Sign::NoSign,
            Self::Decimal(n) => n.mantissa.sign() != Sign::NoSign,
            Self::Float(_) | Self::Double(_) => {
                let value = f64::from(self.to_double());
                value != 0.0 && !value.is_nan()
            }
        }
    }

    /// The order of the values; nothing if one is NaN.
    pub(crate) fn compare(&self, other: &Self) -> Option<Ordering> {
        match self.promoted_pair(other) {
            (Self::Integer(a), Self::Integer(b)) => Some(a.cmp(&b)),
            (Self::Decimal(a), Self::Decimal(b)) => {
                let (a, b, _) = a.aligned(&b);
                Some(a.cmp(&b))
            }
            (Self::Float(a), Self::Float(b)) => a.partial_cmp(&b),
            (Self::Double(a), Self::Double(b)) => a.partial_cmp(&b),
            _ => None,
        }
    }

    /// The result of an operator; nothing for a division of exact numbers by zero.
    pub(crate) fn compute(&self, operator: Operator, other: &Self) -> Option<Self> {
        match self.promoted_pair(other) {
            (Self::Integer(a), Self::Integer(b)) => match operator {
                Operator::Add => Some(Self::Integer(a + b)),
                Operator::Subtract => Some(Self::Integer(a - b)),
                Operator::Multiply => Some(Self::Integer(a * b)),
                Operator::Divide => BigDecimal::from(a).divide(&b.into()).map(Self::Decimal),
            },
            (Self::Decimal(a), Self::Decimal(b)) => {
                let (x, y, scale) = a.aligned(&b);
                let (mantissa, scale) = match operator {
                    Operator::Add => (x + y, scale),
                    Operator::Subtract => (x - y, scale),
                    Operator::Multiply => (a.mantissa * b.mantissa, a.scale + b.scale),
                    Operator::Divide => return a.divide(&b).map(Self::Decimal),
                };
                Some(Self::Decimal(BigDecimal { mantissa, scale }))
            }
            (Self::Float(a), Self::Float(b)) => Some(Self::Float(match operator {
                Operator::Add => a + b,
                Operator::Subtract => a - b,
                Operator::Multiply => a * b,
                Operator::Divide => a / b,
            })),
            (Self::Double(a), Self::Double(b)) => Some(Self::Double(match operator {
                Operator::Add => a + b,
                Operator::Subtract => a - b,
                Operator::Multiply => a * b,
                Operator::Divide => a / b,
            })),
            _ => None,
        }
    }

    /// op:numeric-unary-minus
    pub(crate) fn negated(self) -> Self {
        match self {
            Self::Integer(n) => Self::Integer(-n),
            Self::Decimal(n) => Self::Decimal(BigDecimal {
                mantissa: -n.mantissa,
                scale: n.scale,
            }),
            Self::Float(n) => Self::Float(-n),
            Self::Double(n) => Self::Double(-n),
        }
    }

    /// fn:abs
    pub(crate) fn abs(self) -> Self {
        match self {
            Self::Float(n) => Self::Float(n.abs()),
            Self::Double(n) => Self::Double(n.abs()),
            exact if exact.compare(&Self::count(0)) == Some(Ordering::Less) => exact.negated(),
            exact => exact,
        }
    }

    /// fn:floor
    pub(crate) fn floor(self) -> Self {
        match self {
            Self::Decimal(n) => Self::Decimal(n.floor().into()),
            Self::Float(n) => Self::Float(n.floor()),
            Self::Double(n) => Self::Double(n.floor()),
            whole => whole,
        }
    }

    /// fn:ceiling
    pub(crate) fn ceil(self) -> Self {
        match self {
            Self::Float(n) => Self::Float(n.ceil()),
            Self::Double(n) => Self::Double(n.ceil()),
            exact => exact.negated().floor().negated(),
        }
    }

    /// fn:round: the nearest integer, of two the greater.
    pub(crate) fn round(self) -> Self {
        match self {
            Self::Decimal(n) => {
                // The floor of one half more, with one digit more to say it.
                let half = BigInt::from(5) * BigInt::from(10).pow(n.scale);
                let more = BigDecimal {
                    mantissa: n.mantissa * 10 + half,
                    scale: n.scale + 1,
                };
                Self::Decimal(more.floor().into())
            }
            Self::Float(n) => Self::Float(n.round()),
            Self::Double(n) => Self::Double(n.round()),
            whole => whole,
        }
    }

    /// Whether sums with doubles are the same in every order: a small multiple of a quarter.
    pub(crate) fn adds_in_any_order(&self) -> bool {
        let value = f64::from(self.to_double());
        let quarters = value * 4.0;
        // A thousand of them still fit the 24 bits of a float.
        quarters.fract() == 0.0
            && quarters.abs() < 16_384.0
            && self.compare(&Self::Double(value.into())) == Some(Ordering::Equal)
    }
}

impl From<Number> for Term {
    fn from(number: Number) -> Self {
        let datatype = match number {
            Number::Integer(_) => xsd::INTEGER,
            Number::Decimal(_) => xsd::DECIMAL,
            Number::Float(_) => xsd::FLOAT,
            Number::Double(_) => xsd::DOUBLE,
        };
        Literal::new_typed_literal(number.text(), datatype).into()
    }
}

/// The sign and the rest.
fn signed(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

/// Digits only.
fn natural(digits: &str) -> Option<BigInt> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok()).flatten()
}

/// The exact decimal of a double, which the formatter writes out in full.
fn finite(value: f64) -> Option<BigDecimal> {
    BigDecimal::parse(&format!("{value:.1074}"))
}

#[cfg(test)]
mod tests {
    use super::{Number, Operator};

    fn decimal(text: &str) -> Number {
        Number::parse("decimal", text).expect("it is a decimal")
    }

    fn integer(text: &str) -> Number {
        Number::parse("integer", text).expect("it is an integer")
    }

    #[test]
    fn exact_numbers_have_no_limit() {
        let long = format!("1{}", "0".repeat(60));
        let product = integer(&long).compute(Operator::Multiply, &integer("-3"));
        assert_eq!(
            product.map(|n| n.text()),
            Some(format!("-3{}", "0".repeat(60)))
        );
        let sum = decimal("0.00000000000000000000001").compute(Operator::Add, &decimal("1.50"));
        assert_eq!(
            sum.map(|n| n.text()),
            Some("1.50000000000000000000001".into())
        );
        let third = integer("1").compute(Operator::Divide, &integer("3"));
        assert_eq!(third.map(|n| n.text()), Some("0.333333333333333333".into()));
        assert!(
            integer("1")
                .compute(Operator::Divide, &integer("0"))
                .is_none()
        );
        assert!(Number::parse("integer", "1_0").is_none());
        assert!(Number::parse("decimal", ".").is_none());
        assert_eq!(decimal("-.50").text(), "-0.5");
    }

    #[test]
    fn halves_are_rounded_up() {
        for (text, round, floor, ceil) in [
            ("2.5", "3", "2", "3"),
            ("-2.5", "-2", "-3", "-2"),
            ("-2.51", "-3", "-3", "-2"),
            ("7", "7", "7", "7"),
            ("-0.2", "0", "-1", "0"),
        ] {
            assert_eq!(decimal(text).round().text(), round, "{text}");
            assert_eq!(decimal(text).floor().text(), floor, "{text}");
            assert_eq!(decimal(text).ceil().text(), ceil, "{text}");
        }
        let double = Number::parse("double", "-1.25E1").expect("it is a double");
        assert_eq!(
            double.to_integer().map(|n| n.to_string()),
            Some("-12".into())
        );
        assert_eq!(double.to_decimal().map(|n| n.text()), Some("-12.5".into()));
        let infinite = Number::parse("double", "INF").expect("it is a double");
        assert!(infinite.to_decimal().is_none());
    }
}
