//! The distributions that give BSBM its shape: truncated normal sizes, skewed choices, countries.
//!
//! All of them are built on an accurate inverse of the normal CDF: Wichura's PPND16, algorithm AS
//! 241 (Applied Statistics 37, 1988), relative error about 1e-16. Rejection keeps each variate in
//! its range; the loops end with probability one and after a few rounds on average.

use crate::random::Stream;

/// The countries of producers, vendors and persons: code, cumulative percentage, language tag.
pub(crate) const COUNTRIES: [(&str, u64, &str); 10] = [
    ("US", 40, "en"),
    ("GB", 50, "en"),
    ("JP", 60, "ja"),
    ("CN", 70, "zh"),
    ("DE", 75, "de"),
    ("FR", 80, "fr"),
    ("ES", 85, "es"),
    ("RU", 90, "ru"),
    ("KR", 95, "ko"),
    ("AT", 100, "de"),
];

/// An index into [`COUNTRIES`], drawn by weight.
pub(crate) fn country(stream: &mut Stream) -> usize {
    let percentile = stream.below(100);
    COUNTRIES
        .iter()
        .position(|(_, bound, _)| percentile < *bound)
        .expect("the last cumulative percentage is 100")
}

/// A group size with the given mean, possibly zero: Normal(3, 1) cut at zero and stretched.
pub(crate) fn group_size_from_zero(stream: &mut Stream, average: u64) -> u64 {
    loop {
        let variate = stream.normal(3.0);
        if variate >= 0.0 {
            return (variate / 3.0 * average as f64).floor() as u64;
        }
    }
}

/// A group size with the given mean, at least one.
pub(crate) fn group_size(stream: &mut Stream, average: u64) -> u64 {
    group_size_from_zero(stream, average) + 1
}

/// A number in `1..=max`: Normal(`mean`, 1) cut to `0..=limit`, the limit stretched to `max`.
pub(crate) fn bell(stream: &mut Stream, mean: f64, limit: f64, max: u64) -> u64 {
    loop {
        let variate = stream.normal(mean);
        if (0.0..=limit).contains(&variate) {
            let value = (variate / limit * max as f64 + 1.0).floor() as u64;
            return value.min(max);
        }
    }
}

/// The number of standard deviations below which a normal variate stays with probability `p`.
pub(crate) fn inverse_normal_cdf(p: f64) -> f64 {
    debug_assert!(p > 0.0 && p < 1.0);
    let q = p - 0.5;
    if q.abs() <= 0.425 {
        let r = 0.180625 - q * q;
        return q * polynomial(&CENTRE_ABOVE, r) / polynomial(&CENTRE_BELOW, r);
    }
    let tail = if q < 0.0 { p } else { 1.0 - p };
    let r = (-tail.ln()).sqrt();
    let value = if r <= 5.0 {
        polynomial(&MIDDLE_ABOVE, r - 1.6) / polynomial(&MIDDLE_BELOW, r - 1.6)
    } else {
        polynomial(&FAR_ABOVE, r - 5.0) / polynomial(&FAR_BELOW, r - 5.0)
    };
    if q < 0.0 { -value } else { value }
}

fn polynomial(coefficients: &[f64; 8], x: f64) -> f64 {
    coefficients.iter().rev().fold(0.0, |sum, c| sum * x + c)
}

#[rustfmt::skip]
const CENTRE_ABOVE: [f64; 8] = [
    3.387_132_872_796_366_5, 1.331_416_678_917_843_8e2, 1.971_590_950_306_551_3e3, 1.373_169_376_550_946e4,
    4.592_195_393_154_987e4, 6.726_577_092_700_87e4, 3.343_057_558_358_813e4, 2.509_080_928_730_122_7e3,
];
#[rustfmt::skip]
const CENTRE_BELOW: [f64; 8] = [
    1.0, 4.231_333_070_160_091e1, 6.871_870_074_920_579e2, 5.394_196_021_424_751e3,
    2.121_379_430_158_659_7e4, 3.930_789_580_009_271e4, 2.872_908_573_572_194_3e4, 5.226_495_278_852_854e3,
];
#[rustfmt::skip]
const MIDDLE_ABOVE: [f64; 8] = [
    1.423_437_110_749_683_5, 4.630_337_846_156_546, 5.769_497_221_460_691, 3.647_848_324_763_204_5,
    1.270_458_252_452_368_4, 2.417_807_251_774_506e-1, 2.272_384_498_926_918_4e-2, 7.745_450_142_783_414e-4,
];
#[rustfmt::skip]
const MIDDLE_BELOW: [f64; 8] = [
    1.0, 2.053_191_626_637_759, 1.676_384_830_183_803_8, 6.897_673_349_851e-1,
    1.481_039_764_274_800_8e-1, 1.519_866_656_361_645_7e-2, 5.475_938_084_995_345e-4, 1.050_750_071_644_416_9e-9,
];
#[rustfmt::skip]
const FAR_ABOVE: [f64; 8] = [
    6.657_904_643_501_103, 5.463_784_911_164_114, 1.784_826_539_917_291_3, 2.965_605_718_285_048_7e-1,
    2.653_218_952_657_612_4e-2, 1.242_660_947_388_078_4e-3, 2.711_555_568_743_487_6e-5, 2.010_334_399_292_288_1e-7,
];
#[rustfmt::skip]
const FAR_BELOW: [f64; 8] = [
    1.0, 5.998_322_065_558_88e-1, 1.369_298_809_227_358e-1, 1.487_536_129_085_061_5e-2,
    7.868_691_311_456_133e-4, 1.846_318_317_510_054_8e-5, 1.421_511_758_316_446e-7, 2.044_263_103_389_94e-15,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverse_normal_agrees_with_known_quantiles() {
        for (p, expected) in [
            (0.5, 0.0),
            (0.75, 0.674_489_750_196_081_7),
            (0.975, 1.959_963_984_540_054),
            (0.01, -2.326_347_874_040_840_8),
            (0.999, 3.090_232_306_167_813),
            (1e-6, -4.753_424_308_822_899),
            (1e-10, -6.361_340_902_404_056),
            (1e-14, -7.650_628_092_935_273),
        ] {
            let got = inverse_normal_cdf(p);
            assert!((got - expected).abs() < 1e-9, "{p}: {got} != {expected}");
        }
    }
}
