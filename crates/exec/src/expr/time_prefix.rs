//! `TimePrefix`: the part of a time that the first characters of its text tell.
//!
//! `SUBSTR(STR(?time), 1, 10)` is the same for all times of a day, so it is [evaluated](super::by_value) for one of them: logs and readings have
//! another time in each row, and some hundred days.
//!
//! ```text
//! 2026-11-30T09:36:00.5Z     up to 4 year, 7 month, 10 day, 13 hour, 16 minute, 19 second
//! ```
//!
//! Invariant: times with the same key have the same characters. Inline times have years of four digits. Cost: some nanoseconds for each row.

use super::kernel::Kernel;
use crate::value::{Number, Value};
use basalt_rdf::TermId;
use basalt_rdf::inline::dates::{SECONDS_PER_DAY, ZONE_NONE, days_from_civil, encode_date_time};
use basalt_rdf::term_id::tag;
use spargebra::algebra::Function;

/// A part of a time; see the [module documentation](self).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimePrefix {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
}

impl TimePrefix {
    /// What a kernel tells of which column, if it is such a part of a text.
    pub fn of(kernel: &Kernel) -> Option<(Self, usize)> {
        let Kernel::Call(Function::SubStr, arguments) = kernel else {
            return None;
        };
        let [text, start, length] = arguments.as_slice() else {
            return None;
        };
        let Kernel::Call(Function::Str, of) = text else {
            return None;
        };
        let [Kernel::Column(column)] = of.as_slice() else {
            return None;
        };
        let (start, length) = (integer(start)?, integer(length)?);
        let end = start.checked_add(length)?.checked_sub(1)?;
        (start >= 1).then_some(())?;
        Some((Self::up_to(end)?, *column))
    }

    /// What the characters up to one tell.
    fn up_to(end: i64) -> Option<Self> {
        match end {
            1..=4 => Some(Self::Year),
            5..=7 => Some(Self::Month),
            8..=10 => Some(Self::Day),
            11..=13 => Some(Self::Hour),
            14..=16 => Some(Self::Minute),
            17..=19 => Some(Self::Second),
            _ => None,
        }
    }

    /// For each id one that is the same for all that have this part alike; itself of what is no inline time.
    pub fn keys(self, ids: &[u64]) -> Vec<u64> {
        ids.iter()
            .map(|&id| self.key(TermId(id)).unwrap_or(id))
            .collect()
    }

    #[inline]
    fn key(self, id: TermId) -> Option<u64> {
        // A date ends with the day.
        let has_part = match id.tag() {
            tag::DATE_TIME | tag::DATE_TIME_MILLIS | tag::DATE_TIME_MICROS => true,
            tag::DATE => matches!(self, Self::Year | Self::Month | Self::Day),
            _ => false,
        };
        let seconds = id.local_seconds().filter(|_| has_part)?;
        let first = |month: Option<u8>| {
            let (year, of_year, _) = id.civil_date()?;
            Some(days_from_civil(year, month.unwrap_or(of_year), 1) * SECONDS_PER_DAY)
        };
        let begin = |length: i64| Some(seconds - seconds.rem_euclid(length));
        let begin = match self {
            Self::Year => first(Some(1)),
            Self::Month => first(None),
            Self::Day => begin(SECONDS_PER_DAY),
            Self::Hour => begin(3600),
            Self::Minute => begin(60),
            Self::Second => Some(seconds),
        };
        encode_date_time(begin?, ZONE_NONE).map(|id| id.0)
    }
}

fn integer(kernel: &Kernel) -> Option<i64> {
    match kernel {
        Kernel::Constant(constant) => match &constant.value {
            Value::Number(Number::Integer(integer)) => Some((*integer).into()),
            _ => None,
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{context, id_of};
    use super::*;
    use crate::value::Reader;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn times_of_one_key_begin_alike(
            times in prop::collection::vec((0..4_u8, 0..3_u8, 0..3_u8, 0..3_u8, 0..6_u8), 2..30),
            end in 1..21_i64,
        ) {
            let cx = context();
            let reader = &mut Reader::new(&cx);
            let xsd = "http://www.w3.org/2001/XMLSchema#";
            let literal = |&(year, day, hour, second, kind): &(u8, u8, u8, u8, u8)| {
                let date = format!("{:04}-0{}-0{}", u32::from(year) * 1999 + 1, day + 1, 3 - day);
                let time = format!("{date}T0{hour}:0{day}:0{second}");
                match kind {
                    0 => format!("\"{date}\"^^<{xsd}date>"),
                    1 => format!("\"{time}\"^^<{xsd}dateTime>"),
                    2 => format!("\"{time}Z\"^^<{xsd}dateTime>"),
                    3 => format!("\"{time}.5+02:00\"^^<{xsd}dateTime>"),
                    4 => format!("\"{time}.000125-11:00\"^^<{xsd}dateTime>"),
                    _ => format!("\"{time}\""),
                }
            };
            let ids: Vec<u64> = times.iter().map(|time| id_of(&literal(time), &cx)).collect();
            let Some(prefix) = TimePrefix::up_to(end) else {
                prop_assert!(end > 19);
                return Ok(());
            };
            let mut begin = Vec::new();
            for &id in &ids {
                let text = reader.text(id).expect("it can be read").expect("a text");
                begin.push(text.chars().take(end as usize).collect::<String>());
            }
            let keys = prefix.keys(&ids);
            for (a, x) in keys.iter().zip(&begin) {
                for (b, y) in keys.iter().zip(&begin) {
                    prop_assert!(a != b || x == y, "{} {} {}", x, y, end);
                }
            }
            // All times of a day have one key.
            if prefix == TimePrefix::Day {
                let days = |keys: &[u64]| keys.iter().filter(|&&key| TermId(key).is_temporal()).copied().collect::<std::collections::BTreeSet<u64>>();
                let texts = begin.iter().zip(&ids).filter(|(_, id)| TermId(**id).is_temporal());
                let texts: std::collections::BTreeSet<&str> = texts.map(|(text, _)| text.get(..10).unwrap_or(text)).collect();
                prop_assert_eq!(days(&keys).len(), texts.len());
            }
        }
    }
}
