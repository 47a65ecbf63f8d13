//! `DateComparison`: a column of dates compared with one, answered by ids: those of one zone order as their instants do.
//!
//! The constant may have a fraction of a second, as many programs write it. Dates with a zone and without are left to the general way: they
//! are compared with fourteen hours in between (XML Schema, section 3.2.7.4).

use super::comparison::CompareOp;
use super::id_ranges::{IdRange, IdRanges, passing};
use super::kernel::Constant;
use crate::value::{Instant, instant};
use basalt_rdf::TermId;
use basalt_rdf::inline::dates::{SECONDS_PER_DAY, ZONE_MASK, date_range, date_time_range};
use basalt_rdf::term_id::tag;

/// A comparison with a date; see the [module documentation](self).
pub struct DateComparison {
    op: CompareOp,
    /// The date.
    constant: Instant,
}

impl DateComparison {
    /// The comparison with this constant, if it is an `xsd:date` or `xsd:dateTime`.
    pub fn of(op: CompareOp, constant: &Constant) -> Option<Self> {
        let constant = instant(&constant.value)?;
        Some(Self { op, constant })
    }

    /// Whether a date passes that is so many units of 10^-18 seconds later than an inline `xsd:dateTime`; `None` if that is not told.
    pub fn passes(&self, second: TermId, fraction: i64) -> Option<bool> {
        let constant = &self.constant;
        if constant.tag != second.tag() || second.zone_minutes().is_some() != constant.has_zone {
            return None;
        }
        let order = (second.utc_seconds()?, fraction).cmp(&(constant.second, constant.fraction));
        Some(self.op.accepts(order))
    }
}

impl IdRanges for DateComparison {
    #[inline]
    fn kind(&self, id: u64) -> Option<usize> {
        let is_alike = TermId(id).tag() == self.constant.tag;
        is_alike.then_some((id & ZONE_MASK) as usize)
    }

    fn range(&self, like: TermId) -> Option<IdRange> {
        if like.zone_minutes().is_some() != self.constant.has_zone {
            return None;
        }
        let to_local = i64::from(like.zone_minutes().unwrap_or(0)) * 60;
        let (unit, (least, greatest)) = match self.constant.tag {
            tag::DATE => (SECONDS_PER_DAY, date_range()),
            _ => (1, date_time_range()),
        };
        // The first that begins then or later.
        let first = |second: i64| i128::from((second + to_local - 1).div_euclid(unit) + 1);
        let Instant {
            second, fraction, ..
        } = self.constant;
        let ends = (first(second + i64::from(fraction > 0)), first(second + 1));
        let Some((low, high)) = passing(self.op, ends, (least, greatest)) else {
            return Some(IdRange::NONE);
        };
        let id = |value| match self.constant.tag {
            tag::DATE => like.with_days(value).0,
            _ => like.with_seconds(value).0,
        };
        Some(IdRange {
            low: id(low),
            high: id(high),
        })
    }
}
