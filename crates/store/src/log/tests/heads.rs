//! Texts that are full of heads of records: how a torn tail with them is judged, and how much is hashed for it.

use super::{BEFORE, is_corrupt, manifest, read};
use crate::log::header::{HEADER_BYTES, Header};
use crate::log::payload::CommitRecord;
use crate::log::scan::{Tail, frame, judge};
use crate::{NewLiteral, NewTerms, TermCounts};

/// The bytes of a log with one commit, and its salt. The commit has a text of 1 MiB that is full of heads of records with 512 KiB, which
/// tell this number and that so much was synced.
fn with_heads(number: u64, synced: u64) -> (Vec<u8>, u64) {
    let fields = [512 << 10, number, synced].map(u64::to_le_bytes).concat();
    let head = [&b"\rCOMMIT\n"[..], &fields[..]].concat();
    let heads = head.repeat((1 << 20) / head.len());
    let literal = NewLiteral {
        id_tag: 0x10,
        qualifier: 0,
        lexical: String::from_utf8(heads).expect("it is ASCII"),
    };
    let record = CommitRecord {
        number: BEFORE + 1,
        terms_from: TermCounts::default(),
        terms: NewTerms {
            literals: vec![literal],
            ..NewTerms::default()
        },
        removed: Vec::new(),
        added: Vec::new(),
    };
    let header = Header::new(7, manifest().identity(), BEFORE);
    let mut bytes = header.to_bytes().to_vec();
    let synced = bytes.len() as u64;
    let payload = record.to_payload();
    bytes.extend(frame(record.number, synced, &payload, header.salt));
    (bytes, header.salt)
}

#[test]
fn heads_in_a_text_that_cannot_be_of_later_commits_are_not_hashed() {
    let start = HEADER_BYTES as u64;
    // A number before, and one that so few bytes have no room for; not synced, and synced before it was written.
    for (number, synced) in [
        (BEFORE + 1, start + 1),
        (BEFORE + (1 << 20), start + 1),
        (BEFORE + 2, start),
        (BEFORE + 2, 4 << 20),
    ] {
        let (bytes, salt) = with_heads(number, synced);
        assert_eq!(read(&bytes).expect("it is whole").records.len(), 1);
        let torn = &bytes[..bytes.len() - 1];
        let judged = judge(torn, HEADER_BYTES, BEFORE + 1, salt);
        assert_eq!(judged, (Tail::Torn, 0), "{number} {synced}");
        assert!(read(torn).expect("a torn tail").records.is_empty());
    }
}

#[test]
fn heads_in_a_text_that_could_be_of_later_commits_are_hashed_within_bounds() {
    let (bytes, salt) = with_heads(BEFORE + 2, HEADER_BYTES as u64 + 1);
    assert_eq!(read(&bytes).expect("it is whole").records.len(), 1);
    let torn = &bytes[..bytes.len() - 1];
    let (tail, hashed) = judge(torn, HEADER_BYTES, BEFORE + 1, salt);
    // It may be damaged as well: no commit that was acknowledged is dropped.
    assert_eq!(tail, Tail::Unclear);
    assert!(is_corrupt(&read(torn)));
    let times = hashed / torn.len() as u64;
    assert!((8..20).contains(&times), "{hashed} bytes");
    // A tail with a few of them is judged.
    let few = &bytes[..HEADER_BYTES + (512 << 10) + 320];
    let (tail, hashed) = judge(few, HEADER_BYTES, BEFORE + 1, salt);
    assert_eq!(tail, Tail::Torn);
    assert!(hashed >= 512 << 10, "{hashed} bytes");
    assert!(read(few).expect("a torn tail").records.is_empty());
}
