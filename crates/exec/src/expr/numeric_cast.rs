//! Casts of a column to numbers, of its values or of their texts: `xsd:float(?x)`, `xsd:float(xsd:string(?x))`, `xsd:double(str(?x))` and
//! the like.
//!
//! By their texts queries read numbers of datatypes that are not numeric to SPARQL. The text of an inline
//! number, whatever its datatype, is its mantissa and scale, so no text is made or parsed; the
//! result is the same as if it were.

use super::cast::{canonical_text, collapsed, to_number};
use super::number_casts::cast;
use super::numbers::{Numbers, Values, are_alike, doubles_of_alike};
use super::operand::Operand;
use super::vector::{Item, each_row};
use crate::error::ExecError;
use crate::value::{Number, Reader, Value, decimal_id, to_float};
use basalt_rdf::TermId;
use basalt_rdf::inline::{encode_boolean, encode_integer, numeric};
use basalt_rdf::qualifiers::{CUSTOM_NUMERIC_FIRST, DECIMAL, DOUBLE, FLOAT};
use basalt_rdf::term_id::tag;
use basalt_rdf::term_view::XSD;
use oxsdatatypes::Decimal;
use spargebra::algebra::Function;
use std::borrow::Cow;

/// Numeric codes of both.
const FLOATING: std::ops::RangeInclusive<u8> = DOUBLE..=FLOAT;

/// What is cast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CastOf {
    /// The value itself.
    Value,
    /// The text that `STR` gives: as written.
    Written,
    /// The text that `xsd:string` gives: canonical for numbers and booleans of XML Schema, else as written.
    Canonical,
}

impl CastOf {
    /// Whether what is cast is the decimal number that an inline id says.
    #[inline]
    fn is_decimal(self, id: TermId) -> bool {
        let from = id.numeric_datatype();
        // To SPARQL numbers of other datatypes are none.
        let is_number = from < CUSTOM_NUMERIC_FIRST || self != Self::Value;
        id.is_numeric() && is_number && !FLOATING.contains(&from)
    }
}

/// The type that is cast to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumericCast {
    /// `xsd:integer`
    Integer,
    /// `xsd:decimal`
    Decimal,
    /// `xsd:float`
    Float,
    /// `xsd:double`
    Double,
}

/// A cast of a column.
#[derive(Clone, Copy, Debug)]
pub struct ColumnCast {
    /// The column.
    pub column: usize,
    cast: NumericCast,
    of: CastOf,
}

/// Booleans as the numbers that they are cast to; `None` if there are others. Unbound is an error.
fn of_booleans(ids: &[u64]) -> Option<Numbers> {
    let is_boolean = |&id: &u64| id == 0 || TermId(id).tag() == tag::BOOLEAN;
    if !ids.iter().all(is_boolean) {
        return None;
    }
    let is_true = |&id: &u64| i64::from(id == encode_boolean(true).0);
    let values = Values::Exact {
        mantissas: ids.iter().map(is_true).collect(),
        scale: 0,
        is_decimal: false,
    };
    let errors = match ids.contains(&0) {
        true => ids.iter().map(|&id| id == 0).collect(),
        false => Vec::new(),
    };
    Some(Numbers::new(values, errors))
}

impl ColumnCast {
    /// The cast of a column to a type.
    pub fn new(column: usize, cast: NumericCast, of: CastOf) -> Self {
        Self { column, cast, of }
    }

    /// Whether ids tell all casts: then at least one of [`Self::numbers`] and [`Self::ids`] is there.
    pub fn is_told(self, ids: &[u64]) -> bool {
        self.cast.is_told(ids, self.of)
    }

    /// The numbers of the casts of these ids; `None` where they have no column.
    pub fn numbers(self, ids: &[u64]) -> Option<Numbers> {
        self.cast.numbers(ids, self.of)
    }

    /// The ids of the casts of these ids, if they are inline numbers with few digits.
    pub fn ids(self, ids: &[u64]) -> Option<Vec<u64>> {
        self.cast.short_column(ids, self.of)
    }
}

impl NumericCast {
    /// The cast that a function is, if it is one.
    pub fn of(function: &Function) -> Option<Self> {
        match function {
            Function::Custom(name) => Self::named(name.as_str().strip_prefix(XSD)?),
            _ => None,
        }
    }

    /// The cast with this local name in the XML Schema namespace.
    fn named(name: &str) -> Option<Self> {
        match name {
            "integer" => Some(Self::Integer),
            "decimal" => Some(Self::Decimal),
            "float" => Some(Self::Float),
            "double" => Some(Self::Double),
            _ => None,
        }
    }

    /// The local name of the type.
    fn name(self) -> &'static str {
        match self {
            Self::Integer => "integer",
            Self::Decimal => "decimal",
            Self::Float => "float",
            Self::Double => "double",
        }
    }

    /// The cast of a text; `None` if it is not in the type.
    fn of_text(self, text: &str) -> Option<Number> {
        Number::parse(self.name(), collapsed(text))
    }

    /// The cast of the text of an inline number.
    fn of_inline(self, id: TermId) -> Option<Number> {
        let (mantissa, scale) = (id.mantissa(), id.scale());
        match self {
            Self::Integer => (scale == 0).then(|| Number::Integer(mantissa.into())),
            Self::Decimal => Decimal::new(i128::from(mantissa), u32::from(scale))
                .ok()
                .map(Number::Decimal),
            Self::Float => Some(Number::Float(to_float(mantissa, scale).into())),
            Self::Double => Some(Number::Double(numeric::to_f64(mantissa, scale).into())),
        }
    }

    /// The id of the cast of an inline number, or of its text; to floats and doubles of one with so few digits that the shortest text of
    /// the nearest one has the same (6 and 15: `FLT_DIG` and `DBL_DIG` of C).
    #[inline]
    fn short_inline(self, id: TermId, of: CastOf) -> Option<TermId> {
        if !of.is_decimal(id) {
            return None;
        }
        let (mut mantissa, mut scale) = (id.mantissa(), id.scale());
        let (code, limit) = match self {
            Self::Float => (FLOAT, 1_000_000),
            Self::Double => (DOUBLE, 1_000_000_000_000_000),
            Self::Decimal => return decimal_id(mantissa, scale),
            Self::Integer if scale == 0 => return encode_integer(mantissa),
            Self::Integer => return None,
        };
        while scale > 0 && mantissa % 10 == 0 {
            mantissa /= 10;
            scale -= 1;
        }
        (mantissa.abs() < limit).then(|| TermId::numeric(code, mantissa, scale))?
    }

    /// Whether mantissa and scale say what the cast of the text is.
    fn knows_inline(self, id: TermId, of: CastOf) -> bool {
        let code = id.numeric_datatype();
        if of == CastOf::Value {
            return false;
        }
        if of == CastOf::Written || code >= CUSTOM_NUMERIC_FIRST {
            return true;
        }
        // Canonical text drops digits after the point: all of floats' beyond their precision, and
        // zeros, after which a decimal may be an integer.
        !FLOATING.contains(&code) && (code != DECIMAL || self != Self::Integer)
    }

    /// The cast of an inline number, or of its text, as the nearest float or double, if mantissa and scale say what it is.
    #[inline]
    fn inline_floating(self, id: TermId, of: CastOf) -> Option<f64> {
        if !of.is_decimal(id) {
            return None;
        }
        match self {
            Self::Float => Some(to_float(id.mantissa(), id.scale()).into()),
            Self::Double => Some(numeric::to_f64(id.mantissa(), id.scale())),
            Self::Integer | Self::Decimal => None,
        }
    }

    /// The ids of the casts in a column of inline numbers with few digits; `None` if it has others.
    pub fn short_column(self, ids: &[u64], of: CastOf) -> Option<Vec<u64>> {
        let mut casts = Vec::with_capacity(ids.len());
        for &id in ids {
            casts.push(match id {
                0 => 0,
                id => self.short_inline(TermId(id), of)?.0,
            });
        }
        Some(casts)
    }

    /// Whether all ids are inline numbers, which tell their casts, or unbound.
    pub fn is_told(self, ids: &[u64], of: CastOf) -> bool {
        // What is asked of ids that differ in their mantissas alone has one answer.
        let looked_at = if are_alike(ids) { 1 } else { ids.len() };
        let ids = ids.iter().take(looked_at).map(|&id| TermId(id));
        ids.filter(|id| id.is_bound())
            .all(|id| of.is_decimal(id) && (self != Self::Integer || id.scale() == 0))
    }

    /// The casts in a column of inline numbers with any digits, or with values of one datatype, as numbers; `None` if it has others.
    pub fn numbers(self, ids: &[u64], of: CastOf) -> Option<Numbers> {
        if !self.is_told(ids, of) {
            // Values of one datatype are cast as computed ones are.
            let numbers = match of {
                CastOf::Value => of_booleans(ids).or_else(|| Numbers::of_one_datatype(ids))?,
                CastOf::Written | CastOf::Canonical => return None,
            };
            return cast(&Operand::Column(Cow::Owned(numbers)), self);
        }
        match self {
            Self::Integer | Self::Decimal => Numbers::exact(ids, self == Self::Decimal),
            Self::Double if are_alike(ids) => Some(Numbers::doubles(doubles_of_alike(ids))),
            Self::Float | Self::Double => {
                let value = |id| self.inline_floating(TermId(id), of).unwrap_or_default();
                Some(Numbers::floating(ids, self == Self::Float, value))
            }
        }
    }

    /// The cast in each row of a column.
    pub fn column(
        self,
        ids: &[u64],
        of: CastOf,
        reader: &mut Reader<'_>,
    ) -> Result<Vec<Item>, ExecError> {
        each_row(ids.len(), |row| {
            let (id, term_id) = (ids[row], TermId(ids[row]));
            if let Some(known) = self.short_inline(term_id, of) {
                return Ok(Item::Id(known.0));
            }
            let number = if term_id.is_numeric() && self.knows_inline(term_id, of) {
                self.of_inline(term_id)
            } else {
                self.of_id(id, of, reader)?
            };
            Ok(number.map_or(Item::Error, |number| Item::Value(Value::Number(number))))
        })
    }

    /// The cast of any id.
    fn of_id(
        self,
        id: u64,
        of: CastOf,
        reader: &mut Reader<'_>,
    ) -> Result<Option<Number>, ExecError> {
        match of {
            CastOf::Value => {
                let value = reader.value(id)?;
                return Ok(value.and_then(|value| to_number(self.name(), &value)));
            }
            CastOf::Canonical => {
                if let Some(canonical) = reader.value(id)?.as_ref().and_then(canonical_text) {
                    return Ok(self.of_text(&canonical));
                }
            }
            CastOf::Written => {}
        }
        Ok(reader.text(id)?.and_then(|text| self.of_text(text)))
    }
}
