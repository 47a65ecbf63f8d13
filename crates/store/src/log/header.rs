//! The header of a log: to which version it belongs, and the salt of its checksums.
//!
//! The salt is a random number, new for each log. Records whose checksum was made with another salt are not records:
//! neither bytes of an older file that a file system brings back nor a text in a literal that looks like
//! a record are taken for one.

use crate::error::StoreError;
use std::hash::{BuildHasher, RandomState};
use xxhash_rust::xxh3::xxh3_64;

/// Bytes of the header.
pub(crate) const HEADER_BYTES: usize = 64;
/// Bytes of the header that its checksum covers.
const CHECKED_BYTES: usize = HEADER_BYTES - 8;
/// The first bytes of the file.
const MAGIC: [u8; 8] = *b"BASALT\r\n";
/// What the file is.
const KIND: [u8; 8] = *b"log     ";
/// Version of the header and of all that is in the file.
const FORMAT: u32 = 1;

/// The header of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    /// The version that the log belongs to.
    pub(super) version: u64,
    /// A checksum of what the manifest lists, so that the log of another store's version of this number is not
    /// taken for its own.
    pub(super) identity: u64,
    /// Seed of the checksums of the records.
    pub(super) salt: u64,
    /// The commit before the first of the log.
    pub(super) commits_before: u64,
}

impl Header {
    /// The header of a new log.
    pub(super) fn new(version: u64, identity: u64, commits_before: u64) -> Self {
        Self {
            version,
            identity,
            // The keys of each state are random.
            salt: RandomState::new().hash_one(version),
            commits_before,
        }
    }

    /// Its bytes.
    pub(super) fn to_bytes(self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        bytes[0..8].copy_from_slice(&MAGIC);
        bytes[8..16].copy_from_slice(&KIND);
        bytes[16..20].copy_from_slice(&FORMAT.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.version.to_le_bytes());
        bytes[32..40].copy_from_slice(&self.identity.to_le_bytes());
        bytes[40..48].copy_from_slice(&self.salt.to_le_bytes());
        bytes[48..56].copy_from_slice(&self.commits_before.to_le_bytes());
        let checksum = xxh3_64(&bytes[..CHECKED_BYTES]);
        bytes[CHECKED_BYTES..].copy_from_slice(&checksum.to_le_bytes());
        bytes
    }

    /// Reads the header at the start of a log; `None` if the file ends within or right after a header that is not whole:
    /// it was being made, and no record was written.
    pub(super) fn read(bytes: &[u8], file: &str) -> Result<Option<Self>, StoreError> {
        let corrupt = |what: &str| Err(StoreError::corrupt(file, 0, what));
        let Some(header) = bytes.first_chunk::<HEADER_BYTES>() else {
            return Ok(None);
        };
        let long = |at: usize| u64::from_le_bytes(array_at(header, at));
        if long(CHECKED_BYTES) != xxh3_64(&header[..CHECKED_BYTES]) {
            return match bytes.len() {
                HEADER_BYTES => Ok(None),
                _ => corrupt("the checksum of the header is wrong"),
            };
        }
        if header[0..8] != MAGIC || header[8..16] != KIND {
            return corrupt("it does not begin as a log");
        }
        let format = u32::from_le_bytes(array_at(header, 16));
        if format != FORMAT {
            return Err(StoreError::UnknownFormat {
                file: file.to_owned(),
                found: format,
                supported: FORMAT,
            });
        }
        Ok(Some(Self {
            version: long(24),
            identity: long(32),
            salt: long(40),
            commits_before: long(48),
        }))
    }
}

/// The bytes of a number within a header, whose length is known.
pub(super) fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes_and_notices_every_bit() {
        let header = Header::new(7, 8, 9);
        let bytes = header.to_bytes();
        assert_eq!(Header::read(&bytes, "log-7").expect("whole"), Some(header));
        let longer = |bytes: [u8; HEADER_BYTES]| [&bytes[..], b"x"].concat();
        for bit in 0..HEADER_BYTES * 8 {
            let mut damaged = bytes;
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(Header::read(&damaged, "log-7").expect("torn"), None);
            let read = Header::read(&longer(damaged), "log-7");
            assert!(matches!(read, Err(StoreError::Corrupt { .. })), "{bit}");
        }
        for length in 0..HEADER_BYTES {
            let read = Header::read(&bytes[..length], "log-7").expect("torn");
            assert_eq!(read, None, "{length}");
        }
    }

    #[test]
    fn two_logs_have_two_salts() {
        assert_ne!(Header::new(1, 1, 1).salt, Header::new(1, 1, 1).salt);
    }

    #[test]
    fn a_later_format_is_refused_with_its_number() {
        let mut bytes = Header::new(1, 1, 1).to_bytes();
        bytes[16] = 2;
        let checksum = xxh3_64(&bytes[..CHECKED_BYTES]);
        bytes[CHECKED_BYTES..].copy_from_slice(&checksum.to_le_bytes());
        let read = Header::read(&bytes, "log-1");
        assert!(matches!(
            read,
            Err(StoreError::UnknownFormat { found: 2, .. })
        ));
    }
}
