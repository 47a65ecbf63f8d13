//! The values of inline dates, without their texts.

use super::Value;
use basalt_rdf::TermId;
use basalt_rdf::inline::dates::{SECONDS_PER_DAY, days_from_civil};
use basalt_rdf::term_id::tag;
use oxsdatatypes::{Date, DateTime, Decimal};

/// Seconds from 0001-01-01T00:00:00, from where the library counts, to 1970-01-01T00:00:00.
const SECONDS_BEFORE_1970: i64 = -days_from_civil(1, 1, 1) * SECONDS_PER_DAY;
/// What the library has in place of a zone where there is none.
const NO_ZONE: [u8; 2] = [u8::MAX; 2];

/// The value of an inline `xsd:date` or `xsd:dateTime`, as parsing its text gives it; `None` of other ids.
pub fn date_value(id: TermId) -> Option<Value> {
    let is_known = matches!(id.tag(), tag::DATE | tag::DATE_TIME);
    let seconds = id.utc_seconds().filter(|_| is_known)?;
    let mut bytes = [0; 18];
    let (instant, zone) = bytes.split_at_mut(16);
    instant.copy_from_slice(&Decimal::from(seconds + SECONDS_BEFORE_1970).to_be_bytes());
    zone.copy_from_slice(&id.zone_minutes().map_or(NO_ZONE, i16::to_be_bytes));
    Some(match id.tag() {
        tag::DATE => Value::Date(Date::from_be_bytes(bytes)),
        _ => Value::DateTime(DateTime::from_be_bytes(bytes)),
    })
}
