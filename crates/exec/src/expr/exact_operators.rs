//! Arithmetic of integers and decimals in columns: of mantissas where words hold them, else of decimals in units of 10^-18.
//!
//! ```text
//! 12.50 / 100 -> mantissas 1250, scale 4       10 / 3 -> units 3333333333333333333
//! ```
//!
//! A quotient is cut off after 18 digits, as [`Number`](crate::value::Number) does; a divisor of twos and fives alone leaves so few digits that
//! mantissas go on holding it. `None` is given where a row needs more than two words: then the rows are computed one by one.

use super::arithmetic::Operator;
use super::numbers::Values;
use super::operand::{Lane, Operand, zip};
use crate::value::{
    POWERS, Rank, SCALE_MAX, divide_decimals, multiply_decimals, of_units, units, units_of,
};

/// Digits of a quotient that one division of words gives.
const HALF_DIGITS: usize = SCALE_MAX as usize / 2;
/// Divisors below this leave remainders that `HALF_DIGITS` more digits fit behind.
const DIVISOR_MAX: u64 = i64::MAX as u64 / POWERS[HALF_DIGITS] as u64;

/// The values of the operator, and which rows divide by zero (empty if none does).
pub fn exact_binary(
    operator: Operator,
    a: &Operand<'_>,
    b: &Operand<'_>,
) -> Option<(Values, Vec<bool>)> {
    let is_decimal = a.rank().max(b.rank()) == Rank::Decimal;
    if operator == Operator::Divide {
        return divided(a, b);
    }
    // Whether an integer comes out depends on the row, unless one side has decimals alone.
    let has_decimals = |side: &Operand<'_>| side.rank() == Rank::Decimal && !side.is_mixed();
    if (a.is_mixed() || b.is_mixed()) && !has_decimals(a) && !has_decimals(b) {
        return None;
    }
    let of_mantissas = a.exact().zip(b.exact()).and_then(|(a, b)| {
        let (mantissas, scale) = match operator {
            Operator::Add => added(a, b, i64::overflowing_add)?,
            Operator::Subtract => added(a, b, i64::overflowing_sub)?,
            Operator::Multiply | Operator::Divide => multiplied(&a, &b)?,
        };
        Some(Values::Exact {
            mantissas,
            scale,
            is_decimal,
        })
    });
    let values = match of_mantissas {
        Some(values) => values,
        None if is_decimal => Values::Units(of_units_of_both(operator, a, b)?),
        None => return None,
    };
    Some((values, Vec::new()))
}

/// Sums or differences of mantissas, brought to the larger scale.
fn added(
    (a, scale_a): (Lane<'_, i64>, u8),
    (b, scale_b): (Lane<'_, i64>, u8),
    of: fn(i64, i64) -> (i64, bool),
) -> Option<(Vec<i64>, u8)> {
    let scale = scale_a.max(scale_b);
    let (power_a, power_b) = (
        POWERS[usize::from(scale - scale_a)],
        POWERS[usize::from(scale - scale_b)],
    );
    let mut overflowed = false;
    let mantissas = zip(&a, &b, |a, b| {
        let (a, over_a) = a.overflowing_mul(power_a);
        let (b, over_b) = b.overflowing_mul(power_b);
        let (result, over) = of(a, b);
        overflowed |= over_a | over_b | over;
        result
    });
    (!overflowed).then_some((mantissas, scale))
}

/// Products of mantissas.
fn multiplied(
    (a, scale_a): &(Lane<'_, i64>, u8),
    (b, scale_b): &(Lane<'_, i64>, u8),
) -> Option<(Vec<i64>, u8)> {
    let scale = scale_a + scale_b;
    if scale > SCALE_MAX {
        return None;
    }
    let mut overflowed = false;
    let mantissas = zip(a, b, |a, b| {
        let (result, over) = a.overflowing_mul(b);
        overflowed |= over;
        result
    });
    (!overflowed).then_some((mantissas, scale))
}

/// Sums, differences or products in units.
fn of_units_of_both(operator: Operator, a: &Operand<'_>, b: &Operand<'_>) -> Option<Vec<i128>> {
    let product = |a, b| Some(units_of(multiply_decimals(of_units(a), of_units(b))?));
    if operator == Operator::Multiply {
        // A whole number beside units leaves as many digits.
        let is_whole = |side: &Operand<'_>| side.exact().is_some_and(|(_, scale)| scale == 0);
        if is_whole(a) || is_whole(b) {
            let (units, whole) = if is_whole(b) { (a, b) } else { (b, a) };
            let whole = whole.exact()?.0.map(i128::from);
            return all_of(&units.units()?, &whole, i128::checked_mul);
        }
    }
    let (a, b) = (a.units()?, b.units()?);
    let of = match operator {
        Operator::Add => i128::checked_add,
        Operator::Subtract => i128::checked_sub,
        Operator::Multiply | Operator::Divide => product,
    };
    all_of(&a, &b, of)
}

/// What `of` gives in each row, if it gives something in all.
fn all_of(
    a: &Lane<'_, i128>,
    b: &Lane<'_, i128>,
    of: impl Fn(i128, i128) -> Option<i128>,
) -> Option<Vec<i128>> {
    let mut is_complete = true;
    let results = zip(a, b, |a, b| {
        // Where one row has too many digits, most have.
        let result = if is_complete { of(a, b) } else { None };
        is_complete &= result.is_some();
        result.unwrap_or_default()
    });
    is_complete.then_some(results)
}

/// Quotients, and which rows divide by zero.
fn divided(a: &Operand<'_>, b: &Operand<'_>) -> Option<(Values, Vec<bool>)> {
    if let (Some(a), Some((Lane::Same(divisor), scale))) = (a.exact(), b.exact())
        && let Some(values) = short_quotients(a, divisor, scale)
    {
        return Some((values, Vec::new()));
    }
    let (mut by_zero, mut is_complete) = (Vec::new(), true);
    let mut noted = |is_zero: bool, result: Option<i128>| {
        by_zero.push(is_zero);
        is_complete &= is_zero || result.is_some();
        result.unwrap_or_default()
    };
    let results = match a.exact().zip(b.exact()).and_then(alike) {
        Some((a, b)) => zip(&a, &b, |a, b| noted(b == 0, quotient(a, b))),
        None => {
            let of = |a, b| Some(units_of(divide_decimals(of_units(a), of_units(b))?));
            zip(&a.units()?, &b.units()?, |a, b| {
                let result = if b == 0 { None } else { of(a, b) };
                noted(b == 0, result)
            })
        }
    };
    if !by_zero.contains(&true) {
        by_zero.clear();
    }
    is_complete.then_some((Values::Units(results), by_zero))
}

/// Quotients by a constant whose only prime factors are two and five, if they have no more than 18 digits after their points.
fn short_quotients((a, scale_a): (Lane<'_, i64>, u8), divisor: i64, scale_b: u8) -> Option<Values> {
    // `a / divisor = a * factor / 10^digits`
    let of_power = |&digits: &u8| {
        let power = POWERS[usize::from(digits)];
        (divisor != 0 && power % divisor == 0).then(|| (digits, power / divisor))
    };
    let (digits, factor) = (0..=SCALE_MAX).find_map(|digits| of_power(&digits))?;
    let (scale, missing) = match (scale_a + digits).checked_sub(scale_b) {
        Some(scale) => (scale, 0),
        None => (0, scale_b - scale_a - digits),
    };
    let factor = factor.checked_mul(POWERS[usize::from(missing)])?;
    let (mantissas, scale) = multiplied(&(a, scale), &(Lane::Same(factor), 0))?;
    Some(Values::Exact {
        mantissas,
        scale,
        is_decimal: true,
    })
}

/// Mantissas of both at one scale; `None` if some word does not hold one.
pub fn alike<'v>(
    ((a, scale_a), (b, scale_b)): ((Lane<'v, i64>, u8), (Lane<'v, i64>, u8)),
) -> Option<(Lane<'v, i64>, Lane<'v, i64>)> {
    let scale = scale_a.max(scale_b);
    Some((scaled(a, scale - scale_a)?, scaled(b, scale - scale_b)?))
}

/// Mantissas with more digits after the point; `None` if some do not fit.
fn scaled(lane: Lane<'_, i64>, digits: u8) -> Option<Lane<'_, i64>> {
    let power = POWERS[usize::from(digits)];
    if power == 1 {
        return Some(lane);
    }
    Some(match lane {
        Lane::Same(value) => Lane::Same(value.checked_mul(power)?),
        Lane::Each(values) => {
            let mut scaled = Vec::with_capacity(values.len());
            for value in values.iter() {
                scaled.push(value.checked_mul(power)?);
            }
            Lane::Each(scaled.into())
        }
    })
}

/// `a / b` in units, cut off there; `None` for a division by zero.
#[inline]
pub fn quotient(a: i64, b: i64) -> Option<i128> {
    if b == 0 {
        return None;
    }
    let (dividend, divisor) = (a.unsigned_abs(), b.unsigned_abs());
    if divisor > DIVISOR_MAX {
        return Some(units(a, 0) / i128::from(b));
    }
    let power = POWERS[HALF_DIGITS] as u64;
    let (whole, rest) = (dividend / divisor, dividend % divisor * power);
    let (high, rest) = (rest / divisor, rest % divisor * power);
    let units =
        u128::from(whole) * u128::from(power * power) + u128::from(high * power + rest / divisor);
    let units = units as i128;
    Some(if (a < 0) == (b < 0) { units } else { -units })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn quotients_are_those_of_long_division(a: i64, b: i64, shifts in (0..64_u32, 0..64_u32)) {
            for (a, b) in [(a >> shifts.0, b >> shifts.1), (i64::MIN, b >> shifts.1), (a >> shifts.0, i64::MIN)] {
                let expected = units(a, 0).checked_div(b.into());
                prop_assert_eq!(quotient(a, b), expected, "{} / {}", a, b);
            }
        }
    }
}
