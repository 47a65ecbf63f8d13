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
//! Texts of users are in the log as they are, and can look like the start of a record whose length reaches far on. Only its checksum
//! tells, so how much is hashed for that is bounded; a tail with more such texts is refused, as a torn one cannot be told
//! from damage then, and an acknowledged commit might be cut off.
//!
//! Cost: one pass of checksums; after a place that is not whole one pass that looks for marks, and hashing
//! 16 times the bytes of the tail and 1 MiB at most.

use crate::error::StoreError;
use crate::log::header::{HEADER_BYTES, array_at};
use xxhash_rust::xxh3::xxh3_64_with_seed;

/// What each record begins with.
const MARK: [u8; 8] = *b"\rCOMMIT\n";
/// Bytes of a record before its payload: mark, length of the payload, number, bytes synced.
const HEAD_BYTES: usize = 32;
/// Bytes of a record besides its payload: its head and its checksum.
pub(super) const FRAME_BYTES: usize = HEAD_BYTES + 8;
/// How many times the bytes of a tail are hashed at most to judge it.
const HASHED_TIMES: u64 = 16;
/// Bytes that are hashed besides, so that short tails are judged whatever is in them.
const HASHED_MIN: u64 = 1 << 20;

/// What is after the whole records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tail {
    /// Nothing, or commits that were never acknowledged.
    Torn,
    /// A commit that was acknowledged.
    Damaged,
    /// One of the two: too much looks like records.
    Unclear,
}

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

/// What is before the payload of a record, or of what looks like one.
#[derive(Clone, Copy, Debug)]
struct Head {
    number: u64,
    synced: u64,
    /// Where the record begins.
    start: usize,
    /// Where its checksum begins.
    checked: usize,
}

impl Head {
    /// What stands at a place, if it has a mark and the file is long enough for it.
    fn at(bytes: &[u8], start: usize) -> Option<Self> {
        let head = bytes.get(start..)?.first_chunk::<HEAD_BYTES>()?;
        if head[..MARK.len()] != MARK {
            return None;
        }
        let long = |at: usize| u64::from_le_bytes(array_at(head, at));
        let length = usize::try_from(long(8)).ok()?;
        let checked = start.checked_add(HEAD_BYTES)?.checked_add(length)?;
        bytes.get(checked..)?.first_chunk::<8>()?;
        Some(Self {
            number: long(16),
            synced: long(24),
            start,
            checked,
        })
    }

    /// Whether it can be that of a commit after the one that is missing at a place, appended when that place was synced.
    fn is_witness(&self, place: usize, missing: u64) -> bool {
        let records_max = (self.start.saturating_sub(place) / FRAME_BYTES) as u64;
        let after = self.number.saturating_sub(missing);
        (1..=records_max).contains(&after)
            && self.synced > place as u64
            && self.synced <= self.start as u64
    }

    /// The record, if its checksum is right.
    fn record<'a>(&self, bytes: &'a [u8], salt: u64) -> Option<RawRecord<'a>> {
        let checksum = bytes.get(self.checked..)?.first_chunk::<8>()?;
        if u64::from_le_bytes(*checksum)
            != xxh3_64_with_seed(&bytes[self.start..self.checked], salt)
        {
            return None;
        }
        Some(RawRecord {
            number: self.number,
            synced: self.synced,
            payload: &bytes[self.start + HEAD_BYTES..self.checked],
            start: self.start as u64,
            end: (self.checked + checksum.len()) as u64,
        })
    }
}

/// The record that begins at a place, if it is whole.
fn record_at(bytes: &[u8], start: usize, salt: u64) -> Option<RawRecord<'_>> {
    Head::at(bytes, start)?.record(bytes, salt)
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
    let missing = commits_before + records.len() as u64 + 1;
    let (tail, _) = judge(bytes, place, missing, salt);
    let what = match tail {
        Tail::Torn => return Ok(records),
        Tail::Damaged => format!("commit {missing} is damaged, and a later one is whole"),
        Tail::Unclear => format!(
            "commit {missing} is not whole, and so much after it looks like records that damage cannot be told from a \
             commit that was never acknowledged"
        ),
    };
    Err(StoreError::corrupt(file, place as u64, what))
}

/// What stands at a place without a whole record, where the commit with this number is missing: damage if a whole record
/// further on says that the place was synced. The second part is how many bytes were hashed.
pub(super) fn judge(bytes: &[u8], place: usize, missing: u64, salt: u64) -> (Tail, u64) {
    let tail_bytes = bytes.len().saturating_sub(place) as u64;
    let hashed_max = tail_bytes * HASHED_TIMES + HASHED_MIN;
    let (mut hashed, mut from) = (0, place);
    while let Some(found) = find_mark(bytes, from) {
        from = found + 1;
        let Some(head) = Head::at(bytes, found).filter(|head| head.is_witness(place, missing))
        else {
            continue;
        };
        let length = (head.checked - head.start) as u64;
        if hashed + length > hashed_max {
            return (Tail::Unclear, hashed);
        }
        hashed += length;
        if head.record(bytes, salt).is_some() {
            return (Tail::Damaged, hashed);
        }
    }
    (Tail::Torn, hashed)
}

fn find_mark(bytes: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    let found = rest.windows(MARK.len()).position(|bytes| bytes == MARK)?;
    Some(from + found)
}
