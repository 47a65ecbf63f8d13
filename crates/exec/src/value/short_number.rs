//! `ShortNumber`: a number in machine words, of which columns of computed numbers are made.
//!
//! Every inline id has one, and so have all results but integers and decimals beyond 64 and 128 bits, which are a [`Number`] alone.

use super::inline::{nearest_f32, to_float};
use super::nearest_double::units_to_f64;
use super::number::{Number, Rank};
use crate::context::Context;
use basalt_rdf::TermId;
use basalt_rdf::inline::{encode_integer, numeric};
use basalt_rdf::qualifiers::{CUSTOM_NUMERIC_FIRST, DECIMAL, DOUBLE, FLOAT};
use oxsdatatypes::Decimal;

/// Most digits after the point.
pub const SCALE_MAX: u8 = 18;

/// Ten to the power of each scale.
pub const POWERS: [i64; SCALE_MAX as usize + 1] = numeric::powers_of_ten();

/// Integers up to here are doubles, as all powers of ten above are, which makes one division correctly rounded.
const EXACT_MAX: u64 = 1 << f64::MANTISSA_DIGITS;

/// A number of few enough digits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ShortNumber {
    /// `mantissa / 10^scale`, a decimal or, with scale 0, an integer.
    Exact {
        /// The number without its point.
        mantissa: i64,
        /// Digits after the point, at most [`SCALE_MAX`].
        scale: u8,
        /// Whether it is a decimal.
        is_decimal: bool,
    },
    /// A decimal in units of 10^-[`SCALE_MAX`]: one whose mantissa no word holds, or of a column that has such.
    Units(i128),
    /// A double, or a float as the double that it is.
    Floating {
        /// The value.
        value: f64,
        /// Whether it is a float.
        is_float: bool,
    },
}

impl ShortNumber {
    /// The number of an inline id; `None` of other terms.
    #[inline]
    pub fn of_id(id: u64) -> Option<Self> {
        let id = TermId(id);
        let code = id.numeric_datatype();
        if !id.is_numeric() || code >= CUSTOM_NUMERIC_FIRST {
            return id.is_binary_double().then(|| Self::Floating {
                value: id.binary_double(),
                is_float: false,
            });
        }
        let (mantissa, scale) = (id.mantissa(), id.scale());
        Some(match code {
            DOUBLE => Self::Floating {
                value: numeric::to_f64(mantissa, scale),
                is_float: false,
            },
            FLOAT => Self::Floating {
                value: to_float(mantissa, scale).into(),
                is_float: true,
            },
            code => Self::Exact {
                mantissa,
                scale,
                is_decimal: code == DECIMAL,
            },
        })
    }

    /// The same number; `None` of one that does not fit.
    pub fn of(number: &Number) -> Option<Self> {
        Some(match number {
            Number::Integer(n) => Self::Exact {
                mantissa: (*n).into(),
                scale: 0,
                is_decimal: false,
            },
            Number::Decimal(n) => match stripped(*n) {
                Some((mantissa, scale)) => Self::Exact {
                    mantissa,
                    scale,
                    is_decimal: true,
                },
                None => Self::Units(units_of(*n)),
            },
            Number::Float(n) => Self::Floating {
                value: f32::from(*n).into(),
                is_float: true,
            },
            Number::Double(n) => Self::Floating {
                value: (*n).into(),
                is_float: false,
            },
            Number::LongInteger(_) | Number::LongDecimal(_) => return None,
        })
    }

    /// Its type.
    pub fn rank(self) -> Rank {
        match self {
            Self::Exact { is_decimal, .. } => Rank::exact(is_decimal),
            Self::Units(_) => Rank::Decimal,
            Self::Floating { is_float, .. } => Rank::floating(is_float),
        }
    }

    /// The same number.
    pub fn to_number(self) -> Number {
        match self {
            Self::Exact {
                mantissa,
                is_decimal: false,
                ..
            } => Number::Integer(mantissa.into()),
            Self::Exact {
                mantissa, scale, ..
            } => Number::Decimal(of_units(units(mantissa, scale))),
            Self::Units(units) => Number::Decimal(of_units(units)),
            Self::Floating {
                value,
                is_float: true,
            } => Number::Float((value as f32).into()),
            Self::Floating { value, .. } => Number::Double(value.into()),
        }
    }

    /// The id of its canonical form, if that holds it.
    #[inline]
    pub fn inline_id(self) -> Option<TermId> {
        match self {
            Self::Exact {
                mantissa,
                is_decimal: false,
                ..
            } => encode_integer(mantissa),
            Self::Exact {
                mantissa, scale, ..
            } => decimal_id(mantissa, scale),
            Self::Units(_) | Self::Floating { .. } => self.to_number().inline_id(),
        }
    }

    /// The id of its canonical form.
    #[inline]
    pub fn to_id(self, cx: &Context) -> u64 {
        let inline = match self {
            Self::Exact { .. } => self.inline_id(),
            Self::Units(_) | Self::Floating { .. } => None,
        };
        inline.map_or_else(|| self.to_number().to_id(cx), |id| id.0)
    }

    /// Mantissa and scale of an integer or decimal; `None` if no word holds it.
    pub fn exact(self) -> Option<(i64, u8)> {
        match self {
            Self::Exact {
                mantissa, scale, ..
            } => Some((mantissa, scale)),
            Self::Units(_) | Self::Floating { .. } => None,
        }
    }

    /// An integer or decimal in units of 10^-[`SCALE_MAX`]; 0 for others.
    pub fn units(self) -> i128 {
        match self {
            Self::Exact {
                mantissa, scale, ..
            } => units(mantissa, scale),
            Self::Units(units) => units,
            Self::Floating { .. } => 0,
        }
    }

    /// The value of a float or double; 0 for others.
    pub fn floating(self) -> f64 {
        match self {
            Self::Floating { value, .. } => value,
            Self::Exact { .. } | Self::Units(_) => 0.0,
        }
    }

    /// The nearest double, if it is found quickly.
    #[inline]
    pub fn nearest_double(self) -> Option<f64> {
        match self {
            Self::Exact {
                mantissa, scale, ..
            } => nearest(mantissa, scale, false),
            Self::Units(units) => Some(units_to_f64(units)),
            Self::Floating { value, .. } => Some(value),
        }
    }

    /// The effective boolean value.
    pub fn to_boolean(self) -> bool {
        match self {
            Self::Exact { mantissa, .. } => mantissa != 0,
            Self::Units(units) => units != 0,
            Self::Floating { value, .. } => value != 0.0 && !value.is_nan(),
        }
    }
}

/// `mantissa / 10^scale` in units of 10^-[`SCALE_MAX`], with a scale up to that.
#[inline]
pub fn units(mantissa: i64, scale: u8) -> i128 {
    let power = POWERS[usize::from(SCALE_MAX - scale)];
    // 2^63 * 10^18 is less than 2^127.
    i128::from(mantissa) * i128::from(power)
}

/// The units that a decimal is.
#[inline]
pub fn units_of(value: Decimal) -> i128 {
    i128::from_be_bytes(value.to_be_bytes())
}

/// The decimal of so many units.
#[inline]
pub fn of_units(units: i128) -> Decimal {
    Decimal::from_be_bytes(units.to_be_bytes())
}

/// Mantissa and scale of a decimal with as few digits after the point as it has; `None` if they do not fit.
pub fn stripped(value: Decimal) -> Option<(i64, u8)> {
    /// Digits that one division takes off.
    const HALF: u8 = SCALE_MAX / 2;
    let (mut units, mut scale) = (units_of(value), SCALE_MAX);
    let power = i128::from(POWERS[usize::from(HALF)]);
    while scale > 0 && i64::try_from(units).is_err() {
        let (divisor, digits) = match units % power {
            0 if scale >= HALF => (power, HALF),
            _ => (10, 1),
        };
        if units % divisor != 0 {
            return None;
        }
        units /= divisor;
        scale -= digits;
    }
    Some(without_zeros(i64::try_from(units).ok()?, scale))
}

/// The same number without zeros at its end.
#[inline]
fn without_zeros(mut mantissa: i64, mut scale: u8) -> (i64, u8) {
    while scale > 0 && mantissa % 10 == 0 {
        mantissa /= 10;
        scale -= 1;
    }
    (mantissa, scale)
}

/// The inline id of a decimal, if it is short enough.
#[inline]
pub fn decimal_id(mantissa: i64, scale: u8) -> Option<TermId> {
    let (mantissa, scale) = without_zeros(mantissa, scale);
    TermId::numeric(DECIMAL, mantissa, scale)
}

/// The double nearest to `mantissa / 10^scale`; `None` if that is not found by one division.
#[inline]
pub fn nearest_f64(mantissa: i64, scale: u8) -> Option<f64> {
    let is_exact = mantissa.unsigned_abs() <= EXACT_MAX;
    is_exact.then(|| mantissa as f64 / POWERS[usize::from(scale)] as f64)
}

/// The number as a double or, with `is_float`, as the double that the nearest float is; `None` if that is not found quickly.
#[inline]
pub fn nearest(mantissa: i64, scale: u8, is_float: bool) -> Option<f64> {
    let double = nearest_f64(mantissa, scale)?;
    match is_float {
        true => nearest_f32(double).map(f64::from),
        false => Some(double),
    }
}

#[cfg(test)]
mod tests {
    use super::super::inline_id::short_text;
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn decimals_have_the_ids_of_their_texts(units: i128, shift in 0..127_u32, zeros in 0..37_u32) {
            let units = units >> shift;
            let value = of_units(units - units % 10_i128.pow(zeros));
            let text = short_text(DECIMAL, &value);
            match stripped(value) {
                Some((mantissa, scale)) => {
                    prop_assert_eq!(of_units(super::units(mantissa, scale)), value);
                    prop_assert!(scale == 0 || mantissa % 10 != 0);
                    prop_assert_eq!(decimal_id(mantissa, scale), text);
                }
                None => prop_assert_eq!(text, None),
            }
        }

        #[test]
        fn numbers_come_back(mantissa: i64, scale in 0..=SCALE_MAX, value: f64, is_decimal: bool) {
            let exact = ShortNumber::Exact { mantissa, scale: if is_decimal { scale } else { 0 }, is_decimal };
            let floats = [true, false].map(|is_float| ShortNumber::Floating {
                value: if is_float { f64::from(value as f32) } else { value },
                is_float,
            });
            for number in [exact, floats[0], floats[1]] {
                let back = ShortNumber::of(&number.to_number()).expect("it is short");
                prop_assert_eq!(back.to_number().to_text(), number.to_number().to_text());
                prop_assert_eq!(back.rank(), number.rank());
                prop_assert_eq!(number.to_boolean(), number.to_number().to_boolean());
            }
        }
    }
}
