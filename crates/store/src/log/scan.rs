//! Finding the whole records of a log, and telling a torn tail from damage.
//!
//! A crash can leave any part of what was written since the last sync: the log can end in the middle of a
//! record, and of several records that were appended in one group a later one can be whole while an earlier one is not.
//! None of them was acknowledged, so all from the first that is not whole on are a torn tail.
//!
//! Each record says how much of the log was synced when it was appended. If a whole record stands somewhere after a
//! place that is not whole, and says that this place was synced, then an acknowledged commit was damaged later:
//! that is corruption, and nothing is guessed. Damage to the very last group has no such witness and is taken for a torn tail.
//!
//! Cost: one pass of checksums; after a place that is not whole one pass that looks for marks.

use crate::error::StoreError;
use crate::log::header::{HEADER_BYTES, array_at};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// What each record begins with.
const MARK: [u8; 8] = *b"\rCOMMIT\n";
/// Bytes of a record before its payload: mark, length of the payload, number, bytes synced.
const HEAD_BYTES: usize = 32;
/// Bytes of a record besides its payload: its head and its checksum.
pub(super) const FRAME_BYTES: usize = HEAD_BYTES + 8;

/// A whole record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RawRecord<'a> {
    /// The number of the commit.
    pub(super) number: u64,
    /// Bytes of the log that were synced when it was appended.
    pub(super) synced: u64,
    /// What was committed.
    pub(super) payload: &'a [u8],
    /// Where the record begins.
    pub(super) start: u64,
    /// Where it ends.
    pub(super) end: u64,
}

/// The bytes of a record.
pub(super) fn frame(number: u64, synced: u64, payload: &[u8], salt: u64) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(payload.len() + FRAME_BYTES);
    bytes.extend_from_slice(&MARK);
    bytes.extend_from_slice(&(payload.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&number.to_le_bytes());
    bytes.extend_from_slice(&synced.to_le_bytes());
    bytes.extend_from_slice(payload);
    let checksum = xxh3_64_with_seed(&bytes, salt);
    bytes.extend_from_slice(&checksum.to_le_bytes());
    bytes
}

/// The record that begins at a place, if it is whole.
fn record_at(bytes: &[u8], start: usize, salt: u64) -> Option<RawRecord<'_>> {
    let head = bytes.get(start..)?.first_chunk::<HEAD_BYTES>()?;
    if head[..MARK.len()] != MARK {
        return None;
    }
    let long = |at: usize| u64::from_le_bytes(array_at(head, at));
    let length = usize::try_from(long(8)).ok()?;
    let checked = start.checked_add(HEAD_BYTES)?.checked_add(length)?;
    let checksum = bytes.get(checked..)?.first_chunk::<8>()?;
    if u64::from_le_bytes(*checksum) != xxh3_64_with_seed(&bytes[start..checked], salt) {
        return None;
    }
    Some(RawRecord {
        number: long(16),
        synced: long(24),
        payload: &bytes[start + HEAD_BYTES..checked],
        start: start as u64,
        end: (checked + checksum.len()) as u64,
    })
}

/// The whole records at the start of a log, whose header is whole; they end where the last one does.
/// `commits_before` is the number before the first.
pub(super) fn scan<'a>(
    bytes: &'a [u8],
    salt: u64,
    commits_before: u64,
    file: &str,
) -> Result<Vec<RawRecord<'a>>, StoreError> {
    let mut records: Vec<RawRecord<'a>> = Vec::new();
    let mut place = HEADER_BYTES;
    // Termination: each record ends after it begins.
    while let Some(record) = record_at(bytes, place, salt) {
        let expected = commits_before + records.len() as u64 + 1;
        if record.number != expected || record.synced > record.start {
            let what = format!("commit {expected} is expected here");
            return Err(StoreError::corrupt(file, record.start, what));
        }
        place = record.end as usize;
        records.push(record);
    }
    match is_witnessed(bytes, place, salt) {
        false => Ok(records),
        true => {
            let what = format!(
                "commit {} is damaged, and a later one is whole",
                commits_before + records.len() as u64 + 1
            );
            Err(StoreError::corrupt(file, place as u64, what))
        }
    }
}

/// Whether a whole record further on says that this place, where there is none, was synced.
fn is_witnessed(bytes: &[u8], place: usize, salt: u64) -> bool {
    let mut from = place;
    while let Some(found) = find_mark(bytes, from) {
        if record_at(bytes, found, salt).is_some_and(|r| r.synced > place as u64) {
            return true;
        }
        from = found + 1;
    }
    false
}

fn find_mark(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let found = rest.windows(MARK.len()).position(|bytes| bytes == MARK)?;
    Some(from + found)
}
