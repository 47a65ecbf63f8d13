//! Words in the order of values: joins find by them which values of one side `<`, `<=`, `=` and the like can be true of.
//!
//! ```text
//! kind: 4 bits | place: 60 bits
//! number      the bits of the nearest double in the order of doubles, less the last four
//! instant     of a date, or of a time as of the first day: seconds since 1970 in UTC, without a zone as if in UTC, and the fraction in units of 2^39 * 10^-18 s
//! string      its first bytes
//! duration    its length as a time after 1970, a month being 30.436875 days
//! year, month the year, or the months until then, whatever the zone
//! other       nothing: any value of the kind may be compared with any other
//! ```
//!
//! Invariant: if a comparison of two values is true, their words are of one kind and in the same order or equal, provided that a float's place is
//! widened ([`around_float`]). Where both are [`Told`] by their words in the same way, it is true if and only if it is of the words.
//! Cost: of inline ids some nanoseconds.

use super::inline::{date_type, utc_instant};
use super::inline_date::instant;
use super::order_key::first_bytes;
use super::{ShortNumber, Value, day_time};
use basalt_rdf::TermId;
use basalt_rdf::term_id::tag;
use oxsdatatypes::{DayTimeDuration, Duration};
use std::ops::RangeInclusive;
use xxhash_rust::xxh3::xxh3_64;

/// Bits of a word that tell the place among values of a kind.
const PLACE_BITS: u32 = 60;
const PLACE_MASK: u64 = (1 << PLACE_BITS) - 1;
/// Bits of a double that a place lacks.
const DROPPED_BITS: u32 = u64::BITS - PLACE_BITS;
/// Bits of a place that hold the fraction of a second, and those that a fraction of 10^-18 seconds has more.
const FRACTION_BITS: u32 = 21;
const FRACTION_DROPPED: u32 = 39;
/// Seconds before and after 1970 that a place tells apart.
const SECONDS_MAX: i64 = 1 << (PLACE_BITS - FRACTION_BITS - 1);
/// Fractions that are multiples of this, a microsecond, have a place of their own.
const FRACTION_UNIT: i64 = 1_000_000_000_000;
/// Decimals of up to 14 digits have places of their own: they differ by 10^-14 of their value at least, places by less than 2^-47.
const EXACT_MAX: u64 = 100_000_000_000_000;

/// What is added to a year, or to months, so that the earliest that are told apart have the first place.
const YEAR_BIAS: i64 = 1 << (PLACE_BITS - 1);

/// Kinds of values; a comparison of two kinds is never true. The last, and the first place, are left free.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Number = 1,
    DateTime,
    Date,
    Year,
    YearMonth,
    Text,
    Other,
    Same,
    Duration,
    Time,
}

/// What the words of two values tell of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// Where it can be true.
    Nearly,
    /// The same, once the place is widened.
    Float,
    /// Whether it is true: of numbers,
    Number,
    /// of dates and times with a zone,
    Zoned,
    /// of those without,
    Unzoned,
    /// and of durations without months.
    DayTime,
}

impl Told {
    /// What the words of all values of two sets tell.
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (a, b) if a == b => a,
            (Self::Float, _) | (_, Self::Float) => Self::Float,
            _ => Self::Nearly,
        }
    }

    /// Whether words of which this is told say whether a comparison is true.
    pub fn is_all(self) -> bool {
        !matches!(self, Self::Nearly | Self::Float)
    }
}

/// The place of a value in the order of its kind; see the head of this module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RangeWord {
    /// The kind and the place.
    pub word: u64,
    /// What it tells.
    pub told: Told,
}

impl RangeWord {
    /// The word of errors, NaN and terms that no comparison is true of: greater than all others, in no range.
    pub const NOTHING: u64 = u64::MAX;

    fn new(kind: Kind, place: u64, told: Told) -> Self {
        debug_assert!(place <= PLACE_MASK);
        let word = (kind as u64) << PLACE_BITS | place;
        Self { word, told }
    }

    /// Of an inline id for `<` and `<=`; `None` of other ids, whose values must be read.
    #[inline]
    pub fn of_inline(id: TermId) -> Option<Option<Self>> {
        if id.is_number() {
            return Some(ShortNumber::of_id(id.0).and_then(Self::of_short));
        }
        match id.tag() {
            tag::RESOURCE => Some(None),
            tag::G_YEAR => {
                let has_zone = id.zone_minutes().is_some();
                Some(Some(Self::of_year(Kind::Year, id.g_year()?, has_zone)))
            }
            tag::G_YEAR_MONTH => {
                let has_zone = id.zone_minutes().is_some();
                let months = months(id.g_year_month()?);
                Some(Some(Self::of_year(Kind::YearMonth, months, has_zone)))
            }
            _ if id.is_duration() => {
                let of_length = |length| Self::of_seconds(Kind::Duration, length, Told::DayTime);
                Some(id.duration().map(of_length))
            }
            _ => match date_type(id) {
                date_type @ (tag::DATE | tag::DATE_TIME | tag::TIME) => {
                    let has_zone = id.zone_minutes().is_some();
                    Some(utc_instant(id).map(|at| Self::of_instant(date_type, at, has_zone)))
                }
                _ => None,
            },
        }
    }

    /// Of a number; `None` of NaN.
    #[inline]
    pub fn of_short(number: ShortNumber) -> Option<Self> {
        let nearest = number.nearest_double();
        let nearest = nearest.unwrap_or_else(|| number.to_number().to_double().into());
        let told = match number {
            ShortNumber::Exact { mantissa, .. } if mantissa.unsigned_abs() < EXACT_MAX => {
                Told::Number
            }
            ShortNumber::Floating { is_float: true, .. } => Told::Float,
            _ => Told::Nearly,
        };
        Self::of_double(nearest, told)
    }

    /// Of a value for `<` and `<=`; `None` if no such comparison is true of it.
    pub fn of_value(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => {
                let told = match ShortNumber::of(number) {
                    Some(short) => return Self::of_short(short),
                    None => Told::Nearly,
                };
                Self::of_double(number.to_double().into(), told)
            }
            Value::String(text) => {
                let first = first_bytes(text.as_bytes());
                let place = first >> DROPPED_BITS;
                Some(Self::new(Kind::Text, place, Told::Nearly))
            }
            Value::DateTime(_) | Value::Date(_) | Value::Time(_) => Some(match instant(value) {
                Some(at) => Self::of_instant(at.tag, (at.second, at.fraction), at.has_zone),
                None => Self::far_off(value),
            }),
            Value::Year(year) => {
                let has_zone = year.timezone_offset().is_some();
                Some(Self::of_year(Kind::Year, year.year(), has_zone))
            }
            Value::YearMonth(month) => {
                let has_zone = month.timezone_offset().is_some();
                let months = months((month.year(), month.month()));
                Some(Self::of_year(Kind::YearMonth, months, has_zone))
            }
            Value::Duration(duration, _) => Some(Self::of_duration(*duration)),
            Value::Iri | Value::Blank | Value::LangString(_) | Value::IllTyped | Value::Unknown => {
                None
            }
            _ => Some(Self::new(Kind::Other, 0, Told::Nearly)),
        }
    }

    /// For `=` of a term that is no number, whose [key](super::EqualityKey) is that id.
    pub fn of_equality_key(key: u64) -> Self {
        let place = xxh3_64(&key.to_le_bytes()) & PLACE_MASK;
        Self::new(Kind::Same, place, Told::Nearly)
    }

    #[inline]
    fn of_double(nearest: f64, told: Told) -> Option<Self> {
        if nearest.is_nan() {
            return None;
        }
        // Both zeros are equal.
        let place = ordered_bits(nearest + 0.0) >> DROPPED_BITS;
        Some(Self::new(Kind::Number, place, told))
    }

    #[inline]
    fn of_instant(date_type: u8, (second, fraction): (i64, i64), has_zone: bool) -> Self {
        let told = if has_zone { Told::Zoned } else { Told::Unzoned };
        let kind = match date_type {
            tag::DATE => Kind::Date,
            tag::TIME => Kind::Time,
            _ => Kind::DateTime,
        };
        Self::of_seconds(kind, (second, fraction), told)
    }

    /// Of a duration: of one that has months `<` and `<=` are only true of what is longer.
    #[inline]
    fn of_duration(duration: Duration) -> Self {
        let (second, fraction) = day_time::split(day_time::length(duration));
        let second = i64::try_from(second).unwrap_or(match second < 0 {
            true => i64::MIN,
            false => i64::MAX,
        });
        let told = match DayTimeDuration::try_from(duration) {
            Ok(_) => Told::DayTime,
            Err(_) => Told::Nearly,
        };
        Self::of_seconds(Kind::Duration, (second, fraction), told)
    }

    /// Of so many seconds and units of 10^-18.
    #[inline]
    fn of_seconds(kind: Kind, (second, fraction): (i64, i64), told: Told) -> Self {
        let told = match fraction % FRACTION_UNIT {
            0 => told,
            _ => Told::Nearly,
        };
        // Beyond the seconds that are told apart fractions are not, either.
        if second < -SECONDS_MAX {
            return Self::new(kind, 0, Told::Nearly);
        }
        if second >= SECONDS_MAX {
            return Self::new(kind, PLACE_MASK, Told::Nearly);
        }
        let place = ((second + SECONDS_MAX) as u64) << FRACTION_BITS;
        Self::new(kind, place | fraction as u64 >> FRACTION_DROPPED, told)
    }

    /// Of a year or a month, which begins some hours earlier or later in another zone, and not before the one before.
    #[inline]
    fn of_year(kind: Kind, number: i64, has_zone: bool) -> Self {
        let near = number.clamp(-YEAR_BIAS, YEAR_BIAS - 1);
        let told = match has_zone || near != number {
            true => Told::Nearly,
            false => Told::Unzoned,
        };
        Self::new(kind, (near + YEAR_BIAS) as u64, told)
    }

    /// Of a date or time in a year beyond those of 64-bit seconds: at the end where it is.
    fn far_off(value: &Value) -> Self {
        let (is_before, kind) = match value {
            Value::Date(date) => (date.year() < 0, Kind::Date),
            Value::DateTime(time) => (time.year() < 0, Kind::DateTime),
            _ => (false, Kind::Other),
        };
        let place = if is_before { 0 } else { PLACE_MASK };
        Self::new(kind, place, Told::Nearly)
    }
}

/// Months from the year 0 to a month of a year.
#[inline]
fn months((year, month): (i64, u8)) -> i64 {
    year.saturating_mul(12).saturating_add(i64::from(month))
}

/// The words of all values that one can be compared with.
#[inline]
pub fn comparable(word: u64) -> RangeInclusive<u64> {
    let kind = word & !PLACE_MASK;
    kind..=kind | PLACE_MASK
}

/// Whether of two values whose words differ and are of that kind the words tell the order, whatever they tell besides. Dates and times with a zone and
/// without one may have none.
pub fn is_totally_ordered(word: u64) -> bool {
    let kind = word >> PLACE_BITS;
    kind == Kind::Number as u64 || kind == Kind::Text as u64
}

/// The words of all values of that kind as far as they must be in the range of one where one of both is a float: they are compared as floats, to which many
/// values are rounded. The word itself if it is of no number.
pub fn around_float(word: u64) -> RangeInclusive<u64> {
    let comparable = comparable(word);
    if word >> PLACE_BITS != Kind::Number as u64 {
        return word..=word;
    }
    let least = (word & PLACE_MASK) << DROPPED_BITS;
    let most = least | ((1 << DROPPED_BITS) - 1);
    // Rounding twice may be off by one float.
    let below = (of_ordered(least) as f32).next_down().next_down();
    let above = (of_ordered(most) as f32).next_up().next_up();
    let place = |float: f32| ordered_bits(f64::from(float)) >> DROPPED_BITS;
    let (below, above) = match (below.is_nan(), above.is_nan()) {
        (false, false) => (place(below), place(above)),
        _ => (0, PLACE_MASK),
    };
    comparable.start() | below..=comparable.start() | above
}

/// The words of all numbers that differ by so much at most from one with a word, or a little more; `None` if that is none of a number, or is not finite.
pub fn around_number(word: u64, off: f64) -> Option<RangeInclusive<u64>> {
    let most = number_of_word(word)?;
    let least = of_ordered((word & PLACE_MASK) << DROPPED_BITS);
    let (least, most) = (least - off, most + off);
    let word = |double: f64| Some(RangeWord::of_double(double, Told::Nearly)?.word);
    (off.is_finite() && least.is_finite() && most.is_finite()).then_some(word(least)?..=word(most)?)
}

/// The words of the times that a time and a duration may add up to, given that of the sum: dates have no time of day, so of these it is up to a day more. `None` if it is
/// no date or time.
pub fn around_time(word: u64) -> Option<RangeInclusive<u64>> {
    const DAY: u64 = 86_400 << FRACTION_BITS;
    match word >> PLACE_BITS {
        kind if kind == Kind::DateTime as u64 => Some(word..=word),
        kind if kind == Kind::Date as u64 => {
            let (first, last) = comparable(word).into_inner();
            Some(word.saturating_sub(DAY).max(first)..=word.saturating_add(DAY).min(last))
        }
        _ => None,
    }
}

/// The greatest double of a word; `None` if that is not one of a number.
pub fn number_of_word(word: u64) -> Option<f64> {
    let is_number = word >> PLACE_BITS == Kind::Number as u64;
    is_number.then(|| of_ordered((word & PLACE_MASK) << DROPPED_BITS | ((1 << DROPPED_BITS) - 1)))
}

/// Bits of doubles in their order.
#[inline]
pub fn ordered_bits(double: f64) -> u64 {
    let bits = double.to_bits();
    match bits >> (u64::BITS - 1) {
        0 => bits | 1 << (u64::BITS - 1),
        _ => !bits,
    }
}

/// The double of such bits.
fn of_ordered(bits: u64) -> f64 {
    f64::from_bits(match bits >> (u64::BITS - 1) {
        0 => !bits,
        _ => bits & !(1 << (u64::BITS - 1)),
    })
}

#[cfg(test)]
mod tests {
    use super::super::tests::typed;
    use super::super::{Comparison, compare};
    use super::*;
    use proptest::prelude::*;
    use std::cmp::Ordering;

    /// Literals of which many are near others.
    fn literal() -> impl Strategy<Value = (String, &'static str)> {
        let decimal = "(-|)[0-3](\\.[05]{0,3}|)";
        let near = "1677721[5-8](\\.[05]|)";
        let long = "(-|)123456789012345678[0-2](\\.[0-2]{0,20}|)";
        let digits = "1234567890123[0-9]|0.1234567890123[0-9]|0.[0-9]{13}|99999999999999";
        let exact = || prop::sample::select(vec!["integer", "decimal", "double", "float", "byte"]);
        let day = "200[01]-0[12]-0[12](Z|[+-]0[19]:00|)";
        let time = "2000-01-0[12]T(0[0-2]|24):00:0[01](\\.[05]{1,7}|)(Z|[+-]0[01]:00|)";
        prop_oneof![
            4 => (decimal, exact()),
            2 => (near, exact()),
            2 => (long, exact()),
            2 => (digits, exact()),
            1 => ("(-|)[0-3]e[0-2]|NaN|INF|-INF|-0|1e300|-1e300|1e39|3.5e38", prop::sample::select(vec!["double", "float"])),
            2 => (day, Just("date")),
            3 => (time, Just("dateTime")),
            1 => ("(-|)[0-9]{5,18}-01-01T00:00:00(Z|)", Just("dateTime")),
            1 => ("(-|)1(0[67][0-9]{2}|2345)-01-0[12]T00:00:0[01](\\.[05]|)(Z|)", Just("dateTime")),
            2 => ("(-|)200[01](Z|[+-]0[01]:00|)", Just("gYear")),
            2 => ("(-|)200[01]-(01|12)(Z|[+-]1[34]:00|)", Just("gYearMonth")),
            1 => ("(0[0-2]|24):00:00(\\.0|)(Z|[+-]0[01]:00|)", Just("time")),
            1 => ("PT?(24H|1D|3600S|1H|0.50S|0.5S)", Just("dayTimeDuration")),
            1 => ("[ab]{0,10}", Just("string")),
            1 => ("true|false", Just("boolean")),
        ]
    }

    /// The value and its word as executors make it: of the id where it tells, else of the value, and in either way the same.
    fn word(text: &str, name: &str) -> (Value, Option<RangeWord>) {
        let (value, id) = typed(text, name);
        let word = RangeWord::of_value(&value);
        if let Some(of_id) = id.and_then(RangeWord::of_inline) {
            assert_eq!(of_id, word, "{text} {name}");
        }
        (value, word)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(20_000))]
        #[test]
        fn comparisons_are_true_within_the_range_of_words(a in literal(), b in literal()) {
            let ((x, of_x), (y, of_y)) = (word(&a.0, a.1), word(&b.0, b.1));
            let order = match compare(&x, &y) {
                Comparison::Ordered(order) => Some(order),
                Comparison::NotANumber | Comparison::TypeError => None,
            };
            let (Some(of_x), Some(of_y)) = (of_x, of_y) else {
                prop_assert_eq!(order, None, "{:?} {:?}", a, b);
                return Ok(());
            };
            let told = of_x.told.and(of_y.told);
            let near = match told {
                Told::Float => around_float(of_y.word),
                _ => of_y.word..=of_y.word,
            };
            let of_kind = comparable(of_y.word);
            match order {
                Some(Ordering::Less) => prop_assert!((*of_kind.start()..=*near.end()).contains(&of_x.word), "{:?} {:?}", a, b),
                Some(Ordering::Equal) => prop_assert!(near.contains(&of_x.word), "{:?} {:?}", a, b),
                Some(Ordering::Greater) => prop_assert!((*near.start()..=*of_kind.end()).contains(&of_x.word), "{:?} {:?}", a, b),
                None => {}
            }
            if told.is_all() {
                let by_words = of_kind.contains(&of_x.word).then(|| of_x.word.cmp(&of_y.word));
                prop_assert_eq!(by_words, order, "{:?} {:?}", a, b);
            }
        }
    }

    #[test]
    fn words_tell_numbers_and_times_apart() {
        let told = |text, name| word(text, name).1.map(|word| word.told);
        assert_eq!(told("99999999999999", "integer"), Some(Told::Number));
        assert_eq!(told("100000000000000", "integer"), Some(Told::Nearly));
        assert_eq!(told("0.5", "double"), Some(Told::Nearly));
        assert_eq!(told("0.5", "float"), Some(Told::Float));
        assert_eq!(
            told("2000-01-01T00:00:00.123456Z", "dateTime"),
            Some(Told::Zoned)
        );
        assert_eq!(
            told("2000-01-01T00:00:00.1234567Z", "dateTime"),
            Some(Told::Nearly)
        );
        assert_eq!(told("2000-01-01", "date"), Some(Told::Unzoned));
        for (text, name) in [("NaN", "double"), ("x", "integer"), ("x", "anyURI")] {
            assert_eq!(told(text, name), None, "{name}");
        }
    }
}
