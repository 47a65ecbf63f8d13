//! Little-endian reading and writing of the small metadata sections.
//!
//! Definitions, directories and statistics are flat sequences of integers and short texts. The
//! reader checks every length before it uses it and turns shortfalls into
//! [`StoreError::Corrupt`]. Cost: linear in the bytes.

use crate::error::StoreError;
use basalt_rdf::TermId;

/// Appends integers and texts to bytes.
#[derive(Debug, Default)]
pub(crate) struct ByteWriter {
    bytes: Vec<u8>,
}

impl ByteWriter {
    /// No bytes yet.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    /// Appends a byte.
    pub(crate) fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    /// Appends 16 bits.
    pub(crate) fn short(&mut self, value: u16) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends 32 bits.
    pub(crate) fn word(&mut self, value: u32) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends 64 bits.
    pub(crate) fn long(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    /// Appends an id.
    pub(crate) fn id(&mut self, value: TermId) {
        self.long(value.0);
    }

    /// Appends a length and bytes.
    pub(crate) fn blob(&mut self, value: &[u8]) {
        self.long(value.len() as u64);
        self.bytes.extend_from_slice(value);
    }

    /// The bytes so far.
    pub(crate) fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

/// Takes integers and texts from bytes.
pub(crate) struct ByteReader<'a> {
    bytes: &'a [u8],
    at: usize,
    file: &'a str,
    section: &'a str,
}

impl<'a> ByteReader<'a> {
    /// Reads from the start of a section; file and section name are for errors.
    pub(crate) fn new(bytes: &'a [u8], file: &'a str, section: &'a str) -> Self {
        Self {
            bytes,
            at: 0,
            file,
            section,
        }
    }

    /// A corruption error for this place.
    pub(crate) fn corrupt(&self, what: &str) -> StoreError {
        StoreError::corrupt(
            self.file,
            self.at as u64,
            format!("section `{}`: {what}", self.section),
        )
    }

    /// The next bytes.
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], StoreError> {
        let end = self
            .at
            .checked_add(count)
            .filter(|&e| e <= self.bytes.len());
        let Some(end) = end else {
            return Err(self.corrupt("it ends too early"));
        };
        let taken = &self.bytes[self.at..end];
        self.at = end;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], StoreError> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    /// Takes a byte.
    pub(crate) fn byte(&mut self) -> Result<u8, StoreError> {
        Ok(self.array::<1>()?[0])
    }

    /// Takes 16 bits.
    pub(crate) fn short(&mut self) -> Result<u16, StoreError> {
        Ok(u16::from_le_bytes(self.array()?))
    }

    /// Takes 32 bits.
    pub(crate) fn word(&mut self) -> Result<u32, StoreError> {
        Ok(u32::from_le_bytes(self.array()?))
    }

    /// Takes 64 bits.
    pub(crate) fn long(&mut self) -> Result<u64, StoreError> {
        Ok(u64::from_le_bytes(self.array()?))
    }

    /// Takes an id.
    pub(crate) fn id(&mut self) -> Result<TermId, StoreError> {
        Ok(TermId(self.long()?))
    }

    /// Takes a number of things that need at least `bytes_each` bytes each, so that a corrupt
    /// count cannot make anyone reserve memory that the section could not fill.
    pub(crate) fn count(&mut self, bytes_each: usize) -> Result<usize, StoreError> {
        let count = self.long()?;
        let left = (self.bytes.len() - self.at) / bytes_each.max(1);
        if count > left as u64 {
            return Err(self.corrupt("a count is larger than the section"));
        }
        Ok(count as usize)
    }

    /// Takes a list of pairs of an id and a number.
    pub(crate) fn counted_ids(&mut self) -> Result<Vec<(TermId, u64)>, StoreError> {
        let count = self.count(16)?;
        let mut pairs = Vec::with_capacity(count);
        for _ in 0..count {
            pairs.push((self.id()?, self.long()?));
        }
        Ok(pairs)
    }

    /// Takes a length and that many bytes.
    pub(crate) fn blob(&mut self) -> Result<&'a [u8], StoreError> {
        let length = self.count(1)?;
        self.take(length)
    }

    /// Takes a text.
    pub(crate) fn text(&mut self) -> Result<&'a str, StoreError> {
        let bytes = self.blob()?;
        std::str::from_utf8(bytes).map_err(|_| self.corrupt("a name is not UTF-8"))
    }

    /// Confirms that nothing is left.
    pub(crate) fn finish(self) -> Result<(), StoreError> {
        if self.at == self.bytes.len() {
            Ok(())
        } else {
            Err(self.corrupt("it is longer than its contents"))
        }
    }
}
