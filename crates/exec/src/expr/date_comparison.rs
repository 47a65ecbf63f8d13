//! `DateComparison`: a column of dates compared with one, answered by ids: those of one zone order as their instants do.
//!
//! The constant may have a fraction of a second, as many programs write it. Dates with a zone and without are left to the general way: they
//! are compared with fourteen hours in between (XML Schema, section 3.2.7.4).

use super::comparison::CompareOp;
use super::id_ranges::{IdRange, IdRanges, passing};
use super::kernel::Constant;
use crate::value::{Instant, date_type, instant};
use basalt_rdf::TermId;
use basalt_rdf::term_id::tag;

/// Units of 10^-18 of a second.
const UNITS_OF_SECOND: i128 = 10_i128.pow(18);

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

/// The first number of the kinds of a tag; zone codes of those without a fraction are below 2^11.
#[inline]
fn first_kind(id: TermId) -> usize {
    match id.tag() {
        tag::DATE_TIME_MILLIS => 1 << 11,
        tag::DATE_TIME_MICROS => (1 << 11) + (1 << 7),
        _ => 0,
    }
}

impl IdRanges for DateComparison {
    #[inline]
    fn kind(&self, id: u64) -> Option<usize> {
        let id = TermId(id);
        let zone = id.payload() & ((1 << id.zone_bits()) - 1);
        let is_alike = date_type(id) == self.constant.tag;
        is_alike.then_some(first_kind(id) + zone as usize)
    }

    fn range(&self, like: TermId) -> Option<IdRange> {
        if like.zone_minutes().is_some() != self.constant.has_zone {
            return None;
        }
        let scale = like.time_scale()?;
        let to_local = i64::from(like.zone_minutes().unwrap_or(0)) * 60;
        let Instant {
            second, fraction, ..
        } = self.constant;
        let since = i128::from(second + to_local - scale.origin) * UNITS_OF_SECOND;
        let since = since + i128::from(fraction);
        // The first that begins then or later, and the first that begins later.
        let at_least = (since - 1).div_euclid(scale.unit) + 1;
        let ends = (at_least, since.div_euclid(scale.unit) + 1);
        let Some((low, high)) = passing(self.op, ends, scale.range) else {
            return Some(IdRange::NONE);
        };
        Some(IdRange {
            low: like.with_time(low).0,
            high: like.with_time(high).0,
        })
    }
}
