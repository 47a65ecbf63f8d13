//! `DateComparison`: a column of dates compared with one, answered by ids: those of one zone order as their instants do.
//!
//! The constant may have a fraction of a second, as many programs write it. Dates with a zone and without are left to the general way: they
//! are compared with fourteen hours in between (XML Schema, section 3.2.7.4).

use super::comparison::CompareOp;
use super::id_ranges::{IdRange, IdRanges, KindBits, passing};
use super::kernel::Constant;
use crate::value::{Instant, date_type, instant};
use basalt_rdf::TermId;
use basalt_rdf::inline::dates::ZONE_MASK;
use basalt_rdf::term_id::tag;

/// A comparison with a date; see the [module documentation](self).
pub struct DateComparison {
    op: CompareOp,
    /// The date.
    constant: Instant,
}

impl DateComparison {
    /// The comparison with this constant, if it is an `xsd:date`, `xsd:dateTime`, `xsd:time` or a duration without months.
    pub fn of(op: CompareOp, constant: &Constant) -> Option<Self> {
        let constant = instant(&constant.value)?;
        Some(Self { op, constant })
    }

    /// The same with an `xsd:date` alone.
    pub fn of_days(op: CompareOp, constant: &Constant) -> Option<Self> {
        Self::of(op, constant).filter(|comparison| comparison.constant.tag == tag::DATE)
    }

    /// Whether an instant from one second to another can pass.
    pub fn may_pass_between(&self, first: i64, last: i64) -> bool {
        let second = self.constant.second;
        self.op
            .range_may_match(first.cmp(&second), last.cmp(&second))
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

/// The kinds of `xsd:time`s, which are compared with no dates.
const TIME_KINDS: KindBits = KindBits {
    shift: 0,
    mask: ZONE_MASK,
    first: 0,
};

/// The kinds of durations, which are the parts that are written; those with a fraction come behind the others.
#[inline]
fn duration_kinds(tag: u8) -> KindBits {
    let mask = TermId::new(tag, 0).zone_mask();
    let first = match tag {
        tag::DURATION => 0,
        _ => 1 << TermId::new(tag::DURATION, 0).zone_bits(),
    };
    KindBits {
        shift: 0,
        mask,
        first,
    }
}

/// The kinds of the tags of `xsd:date` and `xsd:dateTime`, which are zones.
#[inline]
pub fn date_kinds(tag: u8) -> Option<KindBits> {
    // Bits of zones are twelve at most, seven of milliseconds and three of microseconds.
    let first = match tag {
        tag::DATE => 0,
        tag::DATE_TIME => 1 << 12,
        tag::DATE_TIME_MILLIS => 2 << 12,
        tag::DATE_TIME_MICROS => (2 << 12) + (1 << 7),
        _ => return None,
    };
    Some(KindBits {
        shift: 0,
        mask: TermId::new(tag, 0).zone_mask(),
        first,
    })
}

impl IdRanges for DateComparison {
    #[inline]
    fn bits(&self, tag: u8) -> Option<KindBits> {
        let is_alike = date_type(TermId::new(tag, 0)) == self.constant.tag;
        match (is_alike, tag) {
            (false, _) => None,
            (true, tag::TIME) => Some(TIME_KINDS),
            (true, tag::DURATION | tag::DURATION_MICROS) => Some(duration_kinds(tag)),
            (true, _) => date_kinds(tag),
        }
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
        // The first that begins then or later, which is behind all before, and the first that begins later.
        let after = |fraction| scale.time_at(second + to_local, fraction) + 1;
        let ends = (after(fraction - 1), after(fraction));
        let Some((low, high)) = passing(self.op, ends, scale.range) else {
            return Some(IdRange::NONE);
        };
        Some(IdRange {
            low: like.with_time(low).0,
            high: like.with_time(high).0,
        })
    }
}
