//! `NumberComparison`: a column, or a cast of it, compared with a number, answered by ids where these are alike.
//!
//! Ids that differ in their mantissas alone order as the numbers do that they say, and as the casts of these do; ids of doubles by their bits all do. So those that pass of one kind are the
//! ids between two ([`IdRanges`]), which are found once for a batch: by arithmetic on digits where both sides are exact, by trying
//! the mantissas next to the constant where they are compared as doubles, and by halving where they are compared as floats.
//!
//! Cost: some 30 ns for a kind, of floats 300, and a subtraction and a comparison for each row.

use super::comparison::CompareOp;
use super::id_ranges::{self, IdRange, IdRanges, KindBits, passing};
use super::kernel::{Constant, Kernel, compared_with_constant};
use super::numbers::are_alike;
use super::numeric_cast::{CastOf, NumericCast};
use crate::value::{POWERS, Rank, SCALE_MAX, ShortNumber, Value, to_float};
use basalt_rdf::TermId;
use basalt_rdf::inline::{binary_doubles, numeric};
use basalt_rdf::qualifiers::FLOAT;
use basalt_rdf::term_id::{MANTISSA_BIAS, MANTISSA_BITS, MANTISSA_MASK, tag};

/// The least and the greatest mantissa of an id.
const MANTISSAS: (i64, i64) = (1 - MANTISSA_BIAS, MANTISSA_BIAS - 1);
/// Mantissas next to the constant that are tried: multiplying it by a power of ten is off by one at most.
const TRIED: usize = 4;

/// The kind of doubles by their bits, after those of tag and scale.
const DOUBLES: usize = 1 << (u64::BITS - MANTISSA_BITS);

/// A comparison of a column with a number; see the [module documentation](self).
pub struct NumberComparison {
    /// The column.
    pub column: usize,
    cast: Option<(NumericCast, CastOf)>,
    op: CompareOp,
    constant: ShortNumber,
}

impl NumberComparison {
    /// The comparison that a kernel is, if it is one.
    pub fn of(kernel: &Kernel) -> Option<Self> {
        let (column, cast, op, constant) = match kernel {
            Kernel::ByValue(by_value) => return Self::of(by_value.kernel()),
            Kernel::CompareConstant {
                column,
                op,
                constant,
            } => return Self::of_column(*column, *op, constant),
            Kernel::Compare(op, a, b) => match compared_with_constant(*op, a, b)? {
                (op, Kernel::CastNumber { column, cast, of }, constant) => {
                    (*column, (*cast, *of), op, constant)
                }
                _ => return None,
            },
            _ => return None,
        };
        Some(Self {
            cast: Some(cast),
            ..Self::of_column(column, op, constant)?
        })
    }

    /// A column compared with this constant, if it is a number.
    pub fn of_column(column: usize, op: CompareOp, constant: &Constant) -> Option<Self> {
        let Value::Number(number) = &constant.value else {
            return None;
        };
        Some(Self {
            column,
            cast: None,
            op,
            constant: ShortNumber::of(number)?,
        })
    }

    /// The rows that pass, where ids tell for all rows; `None` where they do not.
    pub fn select(&self, ids: &[u64]) -> Option<Vec<u32>> {
        id_ranges::select(self, ids)
    }

    /// Whether a row with an id between two can pass.
    pub fn zone_may_match(&self, min: u64, max: u64) -> bool {
        let are_doubles = TermId(min).is_binary_double() && TermId(max).is_binary_double();
        if min > max || !are_doubles && !are_alike(&[min, max]) {
            return true;
        }
        let range = self.range(TermId(min));
        range.is_none_or(|range| range.low.max(min) <= range.high.min(max))
    }

    /// The type in which ids like this one are compared with the constant; `None` if they are no numbers, or that is not known.
    fn compared_as(&self, like: TermId) -> Option<Rank> {
        let own = match self.cast {
            None => ShortNumber::of_id(like.0)?.rank(),
            Some((NumericCast::Double, _)) if like.is_binary_double() => Rank::Double,
            Some((cast, of)) => match cast {
                _ if !cast.is_told(&[like.0], of) => return None,
                NumericCast::Integer | NumericCast::Decimal => Rank::Decimal,
                NumericCast::Double => Rank::Double,
                NumericCast::Float => return None,
            },
        };
        Some(own.max(self.constant.rank()))
    }

    /// The double nearest to the constant.
    fn nearest(&self) -> f64 {
        let found = self.constant.nearest_double();
        found.unwrap_or_else(|| self.constant.to_number().to_double().into())
    }

    /// The doubles by their bits that pass, of all notations.
    fn range_of_doubles(&self, like: TermId) -> Option<IdRange> {
        self.compared_as(like)?;
        let (at_least, above) = binary_doubles::places_at(self.nearest())?;
        let ends = (i128::from(at_least), i128::from(above));
        let passing = passing(self.op, ends, binary_doubles::ALL_PLACES);
        Some(passing.map_or(IdRange::NONE, |places| {
            let (low, high) = binary_doubles::ids_of_places(places);
            IdRange { low, high }
        }))
    }
}

impl IdRanges for NumberComparison {
    #[inline]
    fn bits(&self, of_tag: u8) -> Option<KindBits> {
        Some(match of_tag {
            tag::DOUBLE..=tag::DOUBLE_LAST => KindBits {
                shift: u64::BITS - 1,
                mask: 0,
                first: DOUBLES,
            },
            _ => KindBits {
                shift: MANTISSA_BITS,
                mask: u64::MAX >> MANTISSA_BITS,
                first: 0,
            },
        })
    }

    fn range(&self, like: TermId) -> Option<IdRange> {
        if like.is_binary_double() {
            return self.range_of_doubles(like);
        }
        let float = |mantissa| to_float(mantissa, like.scale()).into();
        let ends = match self.compared_as(like)? {
            Rank::Integer | Rank::Decimal => exact_ends(self.constant, like.scale()),
            Rank::Float => {
                let value = self.constant.to_number().to_float();
                halved_ends(f32::from(value).into(), float)?
            }
            // A float is the double that it is.
            Rank::Double if self.cast.is_none() && is_float(like) => {
                halved_ends(self.nearest(), float)?
            }
            Rank::Double => double_ends(self.nearest(), like.scale())?,
        };
        let Some((low, high)) = passing(self.op, ends, MANTISSAS) else {
            return Some(IdRange::NONE);
        };
        let id = |mantissa: i64| like.0 & !MANTISSA_MASK | (mantissa + MANTISSA_BIAS) as u64;
        Some(IdRange {
            low: id(low),
            high: id(high),
        })
    }
}

/// Whether it is an inline float.
fn is_float(id: TermId) -> bool {
    id.is_numeric() && id.numeric_datatype() == FLOAT
}

/// The first mantissa with so many digits after the point whose number is not below an integer or decimal, and the first whose number
/// is above.
fn exact_ends(constant: ShortNumber, digits: u8) -> (i128, i128) {
    let power = |digits: u8| i128::from(POWERS[usize::from(digits)]);
    let (mantissa, scale) = match constant.exact() {
        Some((mantissa, scale)) => (i128::from(mantissa), scale),
        None => (constant.units(), SCALE_MAX),
    };
    if digits >= scale {
        // Of units the scale is not below that of any id.
        let same = mantissa * power(digits - scale);
        return (same, same + 1);
    }
    let power = power(scale - digits);
    let below = mantissa.div_euclid(power);
    let at_least = below + i128::from(mantissa.rem_euclid(power) > 0);
    (at_least, below + 1)
}

/// The same of numbers that are compared as floats, of which each is that of many mantissas; `None` of NaN.
fn halved_ends(value: f64, number: impl Fn(i64) -> f64) -> Option<(i128, i128)> {
    if value.is_nan() {
        return None;
    }
    let first = |passes: &dyn Fn(f64) -> bool| {
        let (mut low, mut high) = (MANTISSAS.0, MANTISSAS.1 + 1);
        // Invariant: all below `low` do not pass, and all from `high` on do.
        while low < high {
            let middle = low + (high - low) / 2;
            match passes(number(middle)) {
                true => high = middle,
                false => low = middle + 1,
            }
        }
        i128::from(low)
    };
    Some((
        first(&|number| number >= value),
        first(&|number| number > value),
    ))
}

/// The same of numbers that are compared as the nearest doubles; `None` if they are not near where arithmetic finds them.
fn double_ends(value: f64, digits: u8) -> Option<(i128, i128)> {
    if value.is_nan() {
        return None;
    }
    let near = (value * POWERS[usize::from(digits)] as f64) as i64;
    let first = |passes: &dyn Fn(f64) -> bool| {
        let passes = |mantissa| passes(numeric::to_f64(mantissa, digits));
        let mut mantissa = near.clamp(MANTISSAS.0, MANTISSAS.1 + 1);
        // Termination: all below the first one do not pass, and all from there on do.
        for _ in 0..TRIED {
            if mantissa > MANTISSAS.0 && passes(mantissa - 1) {
                mantissa -= 1;
            } else if mantissa <= MANTISSAS.1 && !passes(mantissa) {
                mantissa += 1;
            } else {
                return Some(i128::from(mantissa));
            }
        }
        None
    };
    Some((
        first(&|number| number >= value)?,
        first(&|number| number > value)?,
    ))
}
