//! `CalendarComparison`: `YEAR` of a column of dates compared with a number, and its cast to `xsd:date` compared with a date, answered by ids.
//!
//! ```text
//! YEAR(?t) >= 2019 && YEAR(?t) < 2021      days from 2019-01-01, days to 2020-12-31, in whatever zone      ids of each tag and zone
//! ```
//!
//! Both are told by the day in the date's own zone, in which its ids are ordered; so what passes of one tag and zone lies between two ids
//! ([`IdRanges`]), and no date is taken apart. Segments whose days cannot pass are skipped.
//!
//! Cost: some 50 ns for a kind, and a subtraction and a comparison for each row.

use super::comparison::CompareOp;
use super::date_comparison::{DateComparison, date_kinds};
use super::id_ranges::{self, IdRange, IdRanges, KindBits};
use super::kernel::{Constant, Kernel, compared_with_constant};
use super::number_comparison::NumberComparison;
use super::vector::{Rows, Truth};
use basalt_rdf::TermId;
use basalt_rdf::inline::dates::{SECONDS_PER_DAY, days_from_civil, encode_date};
use basalt_rdf::inline::encode_integer;
use basalt_rdf::term_view::XSD;
use spargebra::algebra::Function;

/// Seconds by which the day of a time in one zone can begin before a time in another, twice fourteen hours and a day, rounded up.
const ZONE_SLACK_SECONDS: i64 = 3 * SECONDS_PER_DAY;

/// A comparison; see the [module documentation](self).
pub struct CalendarComparison {
    /// The column.
    pub column: usize,
    part: Part,
}

/// What of a date is compared.
enum Part {
    /// The year, with a number.
    Year(NumberComparison),
    /// The day, with a date.
    Day(DateComparison),
}

impl CalendarComparison {
    /// The comparison that a kernel is, if it is one.
    pub fn of(kernel: &Kernel) -> Option<Self> {
        let (op, call, constant) = match kernel {
            Kernel::ByValue(by_value) => return Self::of(by_value.kernel()),
            Kernel::ByKind(by_kind) => return Self::of(by_kind.kernel()),
            Kernel::Compare(op, a, b) => compared_with_constant(*op, a, b)?,
            _ => return None,
        };
        Self::of_call(op, call, constant)
    }

    fn of_call(op: CompareOp, call: &Kernel, constant: &Constant) -> Option<Self> {
        let (function, column) = match call {
            Kernel::ByValue(by_value) => return Self::of_call(op, by_value.kernel(), constant),
            Kernel::ByKind(by_kind) => return Self::of_call(op, by_kind.kernel(), constant),
            Kernel::Call(function, arguments) => match arguments.as_slice() {
                [Kernel::Column(column)] => (function, *column),
                _ => return None,
            },
            _ => return None,
        };
        let part = match function {
            Function::Year => Part::Year(NumberComparison::of_column(column, op, constant)?),
            Function::Custom(name) if name.as_str().strip_prefix(XSD) == Some("date") => {
                Part::Day(DateComparison::of_days(op, constant)?)
            }
            _ => return None,
        };
        Some(Self { column, part })
    }

    /// The rows that pass, where ids tell for all rows; `None` where they do not.
    pub fn select(&self, ids: &[u64]) -> Option<Vec<u32>> {
        id_ranges::select(self, ids)
    }

    /// Whether a row with an id between two can pass.
    pub fn zone_may_match(&self, min: u64, max: u64) -> bool {
        let (low, high) = (TermId(min), TermId(max));
        if min > max || low.tag() != high.tag() {
            return true;
        }
        match &self.part {
            // The year is the same in all zones.
            Part::Year(_) => match self.range(low) {
                Some(range) => {
                    let zone = low.zone_mask();
                    range != IdRange::NONE && range.low & !zone <= max && min <= range.high | zone
                }
                None => true,
            },
            Part::Day(comparison) => match (low.local_seconds(), high.local_seconds()) {
                (Some(first), Some(last)) => comparison
                    .may_pass_between(first - ZONE_SLACK_SECONDS, last + ZONE_SLACK_SECONDS),
                _ => true,
            },
        }
    }

    /// The first and the last day that pass, in the zone of an id, `Some(None)` if there are none; `None` if its kind does not tell.
    #[expect(clippy::option_option, reason = "no day passes, or none is told")]
    fn days(&self, like: TermId) -> Option<Option<(i64, i64)>> {
        let range = match &self.part {
            Part::Year(comparison) => comparison.range(encode_integer(0)?)?,
            Part::Day(comparison) => {
                comparison.range(encode_date(0, like.canonical_zone_code())?)?
            }
        };
        if range == IdRange::NONE {
            return Some(None);
        }
        let (low, high) = (TermId(range.low), TermId(range.high));
        Some(match &self.part {
            // Years 1 to 9999 have inline dates.
            Part::Year(_) => {
                let (first, last) = (low.mantissa().max(1), high.mantissa().min(9999));
                let days = (
                    days_from_civil(first, 1, 1),
                    days_from_civil(last + 1, 1, 1) - 1,
                );
                (first <= last).then_some(days)
            }
            Part::Day(_) => low.date_days().zip(high.date_days()),
        })
    }
}

/// Whether each row passes, if a kernel is such a comparison and ids tell for all rows.
pub fn compare_calendar(kernel: &Kernel, rows: &Rows<'_>) -> Option<Vec<Truth>> {
    let comparison = CalendarComparison::of(kernel)?;
    if rows.numbers(comparison.column).is_some() {
        return None;
    }
    let selected = comparison.select(&rows.column(comparison.column))?;
    let mut truths = vec![Truth::False; rows.len()];
    for row in selected {
        truths[row as usize] = Truth::True;
    }
    Some(truths)
}

impl IdRanges for CalendarComparison {
    #[inline]
    fn bits(&self, tag: u8) -> Option<KindBits> {
        date_kinds(tag)
    }

    fn range(&self, like: TermId) -> Option<IdRange> {
        match self.days(like)? {
            Some(days) => range_of_days(days, like),
            None => Some(IdRange::NONE),
        }
    }
}

/// The ids of the tag and zone of one on days from the first to the last; `None` of other ids than of days and times.
fn range_of_days((first, last): (i64, i64), like: TermId) -> Option<IdRange> {
    let scale = like.time_scale()?;
    // Units divide days, and all begin at the start of one.
    let time = |day: i64| scale.time_at(day * SECONDS_PER_DAY, 0);
    let (least, greatest) = (i128::from(scale.range.0), i128::from(scale.range.1));
    let (low, high) = (time(first).max(least), (time(last + 1) - 1).min(greatest));
    if low > high {
        return Some(IdRange::NONE);
    }
    Some(IdRange {
        low: like.with_time(low as i64).0,
        high: like.with_time(high as i64).0,
    })
}
