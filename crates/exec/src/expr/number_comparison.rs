//! `NumberComparison`: a column, or a cast of it, compared with a number, answered by ids where these are alike.
//!
//! Ids that differ in their mantissas alone order as the numbers do that they say, and as the casts of these do. So those that pass are the
//! ids between two, which are found once for a column: by arithmetic on digits where both sides are exact, and by trying
//! the mantissas next to the constant where they are compared as doubles. Floats are left to the general way.
//!
//! Cost: some 30 ns for a column, and a subtraction and a comparison for each row.

use super::comparison::CompareOp;
use super::kernel::Kernel;
use super::numbers::are_alike;
use super::numeric_cast::{CastOf, NumericCast};
use crate::selection::positions;
use crate::value::{POWERS, ShortNumber, Value};
use basalt_rdf::TermId;
use basalt_rdf::inline::numeric;
use basalt_rdf::term_id::{MANTISSA_BIAS, MANTISSA_MASK};

/// The least and the greatest mantissa of an id.
const MANTISSAS: (i64, i64) = (1 - MANTISSA_BIAS, MANTISSA_BIAS - 1);
/// Mantissas next to the constant that are tried: multiplying it by a power of ten is off by one at most.
const TRIED: usize = 4;

/// A comparison of a column with a number; see the [module documentation](self).
pub struct NumberComparison {
    /// The column.
    pub column: usize,
    cast: Option<(NumericCast, CastOf)>,
    op: CompareOp,
    constant: ShortNumber,
}

/// Ids that pass, both ends included; none if the least is above the greatest.
#[derive(Clone, Copy, Debug)]
struct IdRange {
    low: u64,
    high: u64,
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
            } => (*column, None, *op, constant),
            Kernel::Compare(op, a, b) => match (&**a, &**b) {
                (Kernel::CastNumber { column, cast, of }, Kernel::Constant(constant)) => {
                    (*column, Some((*cast, *of)), *op, constant)
                }
                (Kernel::Constant(constant), Kernel::CastNumber { column, cast, of }) => {
                    (*column, Some((*cast, *of)), op.flipped(), constant)
                }
                _ => return None,
            },
            _ => return None,
        };
        let Value::Number(number) = &constant.value else {
            return None;
        };
        Some(Self {
            column,
            cast,
            op,
            constant: ShortNumber::of(number)?,
        })
    }

    /// The rows that pass, where ids tell for all rows; `None` where they do not.
    pub fn select(&self, ids: &[u64]) -> Option<Vec<u32>> {
        let first = *ids.first()?;
        if !are_alike(ids) {
            return None;
        }
        let IdRange { low, high } = self.range(TermId(first))?;
        Some(positions(ids, |id| low <= id && id <= high))
    }

    /// Whether a row with an id between two can pass.
    pub fn zone_may_match(&self, min: u64, max: u64) -> bool {
        if min > max || !are_alike(&[min, max]) {
            return true;
        }
        let range = self.range(TermId(min));
        range.is_none_or(|range| range.low.max(min) <= range.high.min(max))
    }

    /// Those ids that pass of all that are like this one; `None` if ids do not tell.
    fn range(&self, like: TermId) -> Option<IdRange> {
        let (at_least, above) = match (self.is_double(like)?, self.constant) {
            (
                false,
                ShortNumber::Exact {
                    mantissa, scale, ..
                },
            ) => exact_ends(mantissa, scale, like.scale()),
            (false, ShortNumber::Units(_) | ShortNumber::Floating { is_float: true, .. }) => {
                return None;
            }
            (_, constant) => double_ends(constant.nearest_double()?, like.scale())?,
        };
        let (least, greatest) = (i128::from(MANTISSAS.0), i128::from(MANTISSAS.1));
        let (low, high) = match self.op {
            CompareOp::Equal => (at_least, above - 1),
            CompareOp::Less => (least, at_least - 1),
            CompareOp::LessOrEqual => (least, above - 1),
            CompareOp::Greater => (above, greatest),
            CompareOp::GreaterOrEqual => (at_least, greatest),
        };
        let (low, high) = (low.max(least), high.min(greatest));
        if low > high {
            return Some(IdRange { low: 1, high: 0 });
        }
        let id = |mantissa: i128| {
            like.0 & !MANTISSA_MASK | (mantissa + i128::from(MANTISSA_BIAS)) as u64
        };
        Some(IdRange {
            low: id(low),
            high: id(high),
        })
    }

    /// Whether ids like this one are compared as doubles, and not as what their digits say; `None` if they are neither.
    fn is_double(&self, like: TermId) -> Option<bool> {
        match self.cast {
            None => match ShortNumber::of_id(like.0)? {
                ShortNumber::Exact { .. } | ShortNumber::Units(_) => Some(false),
                ShortNumber::Floating { is_float, .. } => (!is_float).then_some(true),
            },
            Some((cast, of)) => {
                let is_told = cast.is_told(&[like.0], of);
                match cast {
                    NumericCast::Integer | NumericCast::Decimal => is_told.then_some(false),
                    NumericCast::Double => is_told.then_some(true),
                    NumericCast::Float => None,
                }
            }
        }
    }
}

/// The first mantissa with so many digits after the point whose number is not below `mantissa / 10^scale`, and the first whose number
/// is above.
fn exact_ends(mantissa: i64, scale: u8, digits: u8) -> (i128, i128) {
    let power = |digits: u8| i128::from(POWERS[usize::from(digits)]);
    let mantissa = i128::from(mantissa);
    if digits >= scale {
        let same = mantissa * power(digits - scale);
        return (same, same + 1);
    }
    let power = power(scale - digits);
    let below = mantissa.div_euclid(power);
    let at_least = below + i128::from(mantissa.rem_euclid(power) > 0);
    (at_least, below + 1)
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
