//! Doubles rounded to whole numbers, without a call where the processor may lack an instruction for it.

use super::exact::Rounding;
use oxsdatatypes::Double;

/// A double or, as the double that it is, a float rounded to a whole number, which is again one.
pub fn round_floating(value: f64, rounding: Rounding) -> f64 {
    match rounding {
        Rounding::Truncate => value.trunc(),
        Rounding::Floor => floor(value),
        Rounding::Ceiling => -floor(-value),
        Rounding::HalfUp => Double::from(value).round().into(),
    }
}

/// The largest whole number that is not above a value.
#[inline]
fn floor(value: f64) -> f64 {
    // From here on all values are whole; a smaller one is rounded to a whole number where this is added.
    const WHOLE_FROM: f64 = (1_u64 << 52) as f64;
    let size = value.abs();
    let near = ((size + WHOLE_FROM) - WHOLE_FROM).copysign(value);
    let below = near - f64::from(u8::from(near > value));
    // Zeros keep their sign.
    let below = below.copysign(value);
    if size < WHOLE_FROM { below } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn is_floor(value: f64) -> bool {
        floor(value).to_bits() == value.floor().to_bits()
    }

    #[test]
    fn odd_values_have_the_floor_of_the_library() {
        let whole = (1_u64 << 52) as f64;
        for size in [
            0.0,
            0.49999999999999994,
            0.5,
            1.0,
            1.5,
            2.5,
            whole - 0.5,
            whole,
            f64::MAX,
            f64::MIN_POSITIVE,
            f64::INFINITY,
        ] {
            assert!(is_floor(size) && is_floor(-size), "{size}");
        }
        assert!(floor(f64::NAN).is_nan());
    }

    proptest! {
        #[test]
        fn any_value_has_the_floor_of_the_library(bits: u64, near in -1e6..1e6) {
            let value = f64::from_bits(bits);
            prop_assert!(value.is_nan() || is_floor(value), "{}", value);
            prop_assert!(is_floor(near), "{}", near);
        }
    }
}
