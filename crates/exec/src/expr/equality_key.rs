//! Keys of a column of values: equal values have equal keys.

use super::vector::{Argument, Vector};
use crate::error::ExecError;
use crate::value::{EqualityKey, Reader};
use basalt_rdf::TermId;

/// The key of each of `count` values, 0 of an error and of what is equal to nothing.
pub fn column(
    values: &Vector<'_>,
    count: usize,
    reader: &mut Reader<'_>,
) -> Result<Vec<u64>, ExecError> {
    (0..count).map(|row| key(values.get(row), reader)).collect()
}

fn key(value: Argument<'_>, reader: &mut Reader<'_>) -> Result<u64, ExecError> {
    let known = match value {
        Argument::Error => return Ok(0),
        Argument::Number(number) => Some(EqualityKey::of_short(number)),
        other => EqualityKey::of_inline(TermId(other.known_id())),
    };
    let key = match known {
        Some(key) => key,
        None => match value.value(reader)? {
            Some(value) => EqualityKey::of_value(&value),
            None => return Ok(0),
        },
    };
    Ok(id(key, value, reader))
}

/// The id of a key, that of the value if it is the term's, 0 of what is equal to nothing.
pub fn id(key: EqualityKey, value: Argument<'_>, reader: &Reader<'_>) -> u64 {
    match key {
        EqualityKey::Shared(id) => id,
        EqualityKey::Term => value.id(reader.context()),
        EqualityKey::Nothing => 0,
    }
}
