//! The order of ORDER BY between inline ids, without decoding them.
//!
//! Invariant: what [`compare_for_order`](super::compare_for_order) says of their decoded keys, or `None`. Cost: some integer operations, of
//! numbers without a value to SPARQL at most two texts of some digits on the stack.

use super::inline::{compare_floats, compare_inline, date_type, utc_instant};
use basalt_rdf::TermId;
use basalt_rdf::inline::numeric::DecimalText;
use basalt_rdf::qualifiers::CUSTOM_NUMERIC_FIRST;
use basalt_rdf::term_id::tag;
use std::cmp::Ordering;

/// The order of two inline ids; `None` where they do not tell it.
#[inline]
pub fn order_inline(a: u64, b: u64) -> Option<Ordering> {
    let (x, y) = (TermId(a), TermId(b));
    if x.is_number() && y.is_number() {
        return match (is_custom_number(x), is_custom_number(y)) {
            (false, false) => compare_inline(a, b).or_else(|| compare_floats(a, b)),
            (true, true) => compare_written(x, y),
            _ => None,
        };
    }
    // A date without a zone counts as UTC.
    let ranks = (calendar_rank(x)?, calendar_rank(y)?);
    let by_kind = ranks.0.cmp(&ranks.1);
    Some(by_kind.then(utc_instant(x)?.cmp(&utc_instant(y)?)))
}

/// Whether it is an inline number of a datatype that is none to SPARQL: it is ordered by its text.
#[inline]
pub fn is_custom_number(id: TermId) -> bool {
    id.is_numeric() && id.numeric_datatype() >= CUSTOM_NUMERIC_FIRST
}

/// The text of an inline number.
#[inline]
pub fn written(id: TermId) -> DecimalText {
    DecimalText::new(id.mantissa(), id.scale())
}

/// Two numbers by their texts; of equal ones the datatypes decide.
fn compare_written(a: TermId, b: TermId) -> Option<Ordering> {
    let digits = |id: TermId| u64::try_from(id.mantissa()).ok()?.checked_ilog10();
    let order = match (digits(a), digits(b)) {
        // As long as each other and with the point at the same place.
        (Some(m), Some(n)) if m == n && a.scale() == b.scale() => a.mantissa().cmp(&b.mantissa()),
        _ => written(a).as_bytes().cmp(written(b).as_bytes()),
    };
    (order != Ordering::Equal).then_some(order)
}

/// The place of durations, behind dates and times.
pub const RANK_OF_DURATIONS: u8 = 8;

/// The place of the kinds of inline dates among dates, times and durations.
#[inline]
pub fn calendar_rank(id: TermId) -> Option<u8> {
    Some(match date_type(id) {
        tag::DATE_TIME => 0,
        tag::DATE => 1,
        tag::TIME => 2,
        tag::G_YEAR => 3,
        tag::G_YEAR_MONTH => 4,
        tag::DURATION => RANK_OF_DURATIONS,
        _ => return None,
    })
}
