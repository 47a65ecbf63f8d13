//! `Values`: the numbers of some rows, as words of one type or of integers and decimals where that is possible.

use super::operand::{nearest_of_all, units_as_floating};
use crate::selection::taken;
use crate::value::{POWERS, Rank, ShortNumber};
use std::borrow::Cow;

/// The values of [`Numbers`](super::numbers::Numbers), with anything in rows that are errors.
#[derive(Clone, Debug)]
pub enum Values {
    /// `mantissa / 10^scale`, decimals or, with scale 0, integers.
    Exact {
        /// The numbers without their points.
        mantissas: Vec<i64>,
        /// Digits after each point.
        scale: u8,
        /// Whether they are decimals.
        is_decimal: bool,
    },
    /// `mantissa / 10^scale`, of which some are decimals and the others integers, whose digits after the point are zeros.
    Mixed {
        /// The numbers without their points.
        mantissas: Vec<i64>,
        /// Digits after each point.
        scale: u8,
        /// Whether each is a decimal.
        are_decimals: Vec<bool>,
    },
    /// Decimals in units of 10^-18, of which some are too long for a mantissa.
    Units(Vec<i128>),
    /// Doubles, or floats as the doubles that they are.
    Floating {
        /// The values.
        values: Vec<f64>,
        /// Whether they are floats.
        is_float: bool,
    },
    /// Numbers of several types that have no such words together.
    Various(Vec<ShortNumber>),
}

impl Values {
    /// These numbers, with anything where there is none; `None` if some integer, or integer beside decimals, is too long for a mantissa.
    pub fn of(numbers: &[Option<ShortNumber>]) -> Option<Self> {
        let known = || numbers.iter().flatten();
        let rank = known().next().map_or(Rank::Integer, |number| number.rank());
        let is_one_type = known().all(|number| number.rank() == rank);
        if !is_one_type {
            let is_floating = |number: &ShortNumber| matches!(number, ShortNumber::Floating { .. });
            if !known().any(is_floating) {
                return Self::mixed_of_all(numbers);
            }
            let zero = ShortNumber::Exact {
                mantissa: 0,
                scale: 0,
                is_decimal: false,
            };
            let all = numbers.iter().map(|number| number.unwrap_or(zero));
            return Some(Self::Various(all.collect()));
        }
        let is_decimal = rank == Rank::Decimal;
        match rank {
            Rank::Integer | Rank::Decimal => match Self::exact_of_all(numbers, is_decimal) {
                None if is_decimal => Some(Self::units_of_all(numbers)),
                exact => exact,
            },
            Rank::Float | Rank::Double => {
                let value =
                    |number: &Option<ShortNumber>| number.map_or(0.0, ShortNumber::floating);
                Some(Self::Floating {
                    values: numbers.iter().map(value).collect(),
                    is_float: rank == Rank::Float,
                })
            }
        }
    }

    /// Appends others; `None` if they are not like these.
    pub fn append(&mut self, more: &Self) -> Option<()> {
        match (self, more) {
            (
                Self::Exact {
                    mantissas,
                    scale,
                    is_decimal,
                },
                Self::Exact {
                    mantissas: others,
                    scale: other_scale,
                    is_decimal: are_decimals,
                },
            ) if scale == other_scale && is_decimal == are_decimals => {
                mantissas.extend_from_slice(others);
            }
            (Self::Units(units), Self::Units(others)) => units.extend_from_slice(others),
            (
                Self::Floating { values, is_float },
                Self::Floating {
                    values: others,
                    is_float: are_floats,
                },
            ) if is_float == are_floats => values.extend_from_slice(others),
            (Self::Various(numbers), Self::Various(others)) => numbers.extend_from_slice(others),
            _ => return None,
        }
        Some(())
    }

    /// Parts put together, each with the rows that it has, if all are of one type; `None` if not, or if some word does not hold one. All rows
    /// are in some part.
    pub fn together(count: usize, rows: &[Vec<u32>], parts: &[&Self]) -> Option<Self> {
        let rank = parts.first()?.rank();
        if parts.iter().any(|part| part.rank() != rank) {
            return None;
        }
        let parts = rows.iter().zip(parts);
        if let Rank::Float | Rank::Double = rank {
            let mut all = vec![0.0; count];
            for (rows, part) in parts {
                let Self::Floating { values, .. } = part else {
                    return None;
                };
                let rows = rows.iter().zip(values);
                rows.for_each(|(&row, &value)| all[row as usize] = value);
            }
            return Some(Self::Floating {
                values: all,
                is_float: rank == Rank::Float,
            });
        }
        let mut scale = 0;
        for (_, part) in parts.clone() {
            match part {
                Self::Exact { scale: own, .. } => scale = scale.max(*own),
                _ => return None,
            }
        }
        let mut all = vec![0; count];
        for (rows, part) in parts {
            let (mantissas, own) = part.exact()?;
            let power = POWERS[usize::from(scale - own)];
            for (&row, &mantissa) in rows.iter().zip(mantissas) {
                all[row as usize] = mantissa.checked_mul(power)?;
            }
        }
        Some(Self::Exact {
            mantissas: all,
            scale,
            is_decimal: rank == Rank::Decimal,
        })
    }

    /// Mantissas of one scale, that of the number with the most digits after its point; `None` if some word does not hold one. Anything where there
    /// is no number.
    pub fn exact_of_all(numbers: &[Option<ShortNumber>], is_decimal: bool) -> Option<Self> {
        let mut scale = 0;
        for number in numbers.iter().flatten() {
            scale = scale.max(number.exact()?.1);
        }
        let mut mantissas = Vec::with_capacity(numbers.len());
        for number in numbers {
            let (mantissa, own) = number.and_then(ShortNumber::exact).unwrap_or((0, scale));
            mantissas.push(mantissa.checked_mul(POWERS[usize::from(scale - own)])?);
        }
        Some(Self::Exact {
            mantissas,
            scale,
            is_decimal,
        })
    }

    /// Integers and decimals; `None` if there are others, or some word does not hold one.
    pub fn mixed_of_all(numbers: &[Option<ShortNumber>]) -> Option<Self> {
        let Self::Exact {
            mantissas, scale, ..
        } = Self::exact_of_all(numbers, true)?
        else {
            return None;
        };
        let is_decimal = |number: &Option<ShortNumber>| {
            number.is_some_and(|number| number.rank() == Rank::Decimal)
        };
        Some(Self::Mixed {
            mantissas,
            scale,
            are_decimals: numbers.iter().map(is_decimal).collect(),
        })
    }

    /// Integers and decimals in units of 10^-18.
    pub fn units_of_all(numbers: &[Option<ShortNumber>]) -> Self {
        let units = |number: &Option<ShortNumber>| number.map_or(0, ShortNumber::units);
        Self::Units(numbers.iter().map(units).collect())
    }

    /// The widest type of them.
    pub fn rank(&self) -> Rank {
        match self {
            Self::Exact { is_decimal, .. } => Rank::exact(*is_decimal),
            Self::Mixed { .. } | Self::Units(_) => Rank::Decimal,
            Self::Floating { is_float, .. } => Rank::floating(*is_float),
            Self::Various(numbers) => {
                let ranks = numbers.iter().map(|number| number.rank());
                ranks.max().unwrap_or(Rank::Integer)
            }
        }
    }

    /// Mantissas and scale of integers and decimals; `None` of units, of several types and others.
    pub fn exact(&self) -> Option<(&[i64], u8)> {
        match self {
            Self::Exact {
                mantissas, scale, ..
            }
            | Self::Mixed {
                mantissas, scale, ..
            } => Some((mantissas, *scale)),
            Self::Units(_) | Self::Floating { .. } | Self::Various(_) => None,
        }
    }

    /// The mantissas, if it has some.
    pub fn into_mantissas(self) -> Option<Vec<i64>> {
        match self {
            Self::Exact { mantissas, .. } | Self::Mixed { mantissas, .. } => Some(mantissas),
            Self::Units(_) | Self::Floating { .. } | Self::Various(_) => None,
        }
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Self::Exact { mantissas, .. } | Self::Mixed { mantissas, .. } => mantissas.len(),
            Self::Units(units) => units.len(),
            Self::Floating { values, .. } => values.len(),
            Self::Various(numbers) => numbers.len(),
        }
    }

    /// The number of a row.
    #[inline]
    pub fn number(&self, row: usize) -> ShortNumber {
        match self {
            Self::Exact {
                mantissas,
                scale,
                is_decimal,
            } => ShortNumber::Exact {
                mantissa: mantissas[row],
                scale: *scale,
                is_decimal: *is_decimal,
            },
            Self::Mixed {
                mantissas,
                scale,
                are_decimals,
            } => match are_decimals[row] {
                true => ShortNumber::Exact {
                    mantissa: mantissas[row],
                    scale: *scale,
                    is_decimal: true,
                },
                false => ShortNumber::Exact {
                    mantissa: mantissas[row] / POWERS[usize::from(*scale)],
                    scale: 0,
                    is_decimal: false,
                },
            },
            Self::Units(units) => ShortNumber::Units(units[row]),
            Self::Floating { values, is_float } => ShortNumber::Floating {
                value: values[row],
                is_float: *is_float,
            },
            Self::Various(numbers) => numbers[row],
        }
    }

    /// The numbers of the rows at these positions.
    pub fn take(&self, positions: &[u32]) -> Self {
        match self {
            Self::Exact {
                mantissas,
                scale,
                is_decimal,
            } => Self::Exact {
                mantissas: taken(mantissas, positions).collect(),
                scale: *scale,
                is_decimal: *is_decimal,
            },
            Self::Mixed {
                mantissas,
                scale,
                are_decimals,
            } => Self::Mixed {
                mantissas: taken(mantissas, positions).collect(),
                scale: *scale,
                are_decimals: taken(are_decimals, positions).collect(),
            },
            Self::Units(units) => Self::Units(taken(units, positions).collect()),
            Self::Floating { values, is_float } => Self::Floating {
                values: taken(values, positions).collect(),
                is_float: *is_float,
            },
            Self::Various(numbers) => {
                let numbers: Vec<_> = taken(numbers, positions).map(Some).collect();
                let several = || Self::Various(numbers.iter().flatten().copied().collect());
                // Those of one type are words again.
                Self::of(&numbers).unwrap_or_else(several)
            }
        }
    }

    /// The double nearest to each; `None` where one is not found quickly.
    pub fn nearest_doubles(&self) -> Option<Cow<'_, [f64]>> {
        match self {
            Self::Floating { values, .. } => Some(Cow::Borrowed(values)),
            Self::Units(units) => units_as_floating(units, false).map(Cow::Owned),
            Self::Exact { .. } | Self::Mixed { .. } => {
                let (mantissas, scale) = self.exact()?;
                nearest_of_all(mantissas, scale, false).map(Cow::Owned)
            }
            Self::Various(numbers) => {
                let doubles = numbers.iter().map(|number| number.nearest_double());
                doubles.collect::<Option<Vec<_>>>().map(Cow::Owned)
            }
        }
    }

    /// Bytes that they take.
    pub fn bytes(&self) -> usize {
        match self {
            Self::Exact { mantissas, .. } => size_of_val(mantissas.as_slice()),
            Self::Mixed {
                mantissas,
                are_decimals,
                ..
            } => size_of_val(mantissas.as_slice()) + are_decimals.len(),
            Self::Units(units) => size_of_val(units.as_slice()),
            Self::Floating { values, .. } => size_of_val(values.as_slice()),
            Self::Various(numbers) => size_of_val(numbers.as_slice()),
        }
    }
}
