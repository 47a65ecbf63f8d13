//! The doubles nearest to decimals in units of 10^-18.

use super::exact::Exact;
use super::short_number::of_units;

/// The double nearest to a decimal in units.
pub fn units_to_f64(units: i128) -> f64 {
    const UNIT: f64 = 1e18;
    /// Many times the share of the rest that rounding may add to it or take away.
    const SLACK: f64 = 1e-9;
    // The quotient of two doubles, and what is left over, which is less than a unit of its last place.
    let (high, low) = as_two_doubles(units);
    let quotient = high / UNIT;
    let rest = ((-quotient).mul_add(UNIT, high) + low) / UNIT;
    let (less, more) = (
        quotient + rest * (1.0 - SLACK),
        quotient + rest * (1.0 + SLACK),
    );
    match less == more {
        true => less,
        // So near to the middle between two doubles that it takes all digits to tell on which side.
        false => Exact::from(of_units(units)).to_f64(),
    }
}

/// A double near a number of units, and what it lacks; their sum is off by far less than the last place of the second.
#[inline]
fn as_two_doubles(units: i128) -> (f64, f64) {
    const WORD: f64 = 18_446_744_073_709_551_616.0;
    const HALF_WORD: f64 = 4_294_967_296.0;
    let (words, rest) = ((units >> 64) as i64, units as u64);
    if words.unsigned_abs() >= 1 << f64::MANTISSA_DIGITS {
        let high = units as f64;
        return (high, (units - high as i128) as f64);
    }
    // Each is a double, and larger than the next: what an addition rounds off is told by taking away again.
    let all = words as f64 * WORD;
    let (upper, lower) = ((rest >> 32) as f64 * HALF_WORD, (rest as u32) as f64);
    let most = all + upper;
    let lost = upper - (most - all);
    let high = most + lower;
    (high, lost + (lower - (high - most)))
}
