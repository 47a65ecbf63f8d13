//! Records to buckets: many streams in one file.
//!
//! Each bucket has a buffer; a full one is appended to the file and its place remembered. A bucket is
//! read back from its pieces, whose offsets ascend.
//!
//! Memory: the buffers (those that were used), 16 bytes for each piece.

use std::sync::Arc;

use super::{Extent, SpillFile, SpillFolder};
use crate::error::LoadError;

/// A larger buffer makes no better I/O.
const BUFFER_BYTES_MAX: usize = 1 << 20;
/// A smaller one makes none worth the name.
const BUFFER_BYTES_MIN: usize = 1 << 10;
/// Bytes that a reader takes at a time.
const READ_BYTES: usize = 1 << 20;

/// Streams of bytes that are written at the same time.
pub(crate) struct Buckets {
    file: SpillFile,
    buffers: Vec<Vec<u8>>,
    pieces: Vec<Vec<Extent>>,
    buffer_bytes: usize,
}

impl Buckets {
    /// Empty buckets whose buffers together have about `bytes`.
    pub(crate) fn create(
        folder: &Arc<SpillFolder>,
        count: usize,
        bytes: usize,
    ) -> Result<Self, LoadError> {
        let share = bytes / count.max(1);
        Ok(Self {
            file: SpillFile::create(folder)?,
            buffers: vec![Vec::new(); count],
            pieces: vec![Vec::new(); count],
            buffer_bytes: share.clamp(BUFFER_BYTES_MIN, BUFFER_BYTES_MAX),
        })
    }

    /// Appends a record that consists of two parts.
    #[inline]
    pub(crate) fn push(
        &mut self,
        bucket: usize,
        head: &[u8],
        body: &[u8],
    ) -> Result<(), LoadError> {
        let buffer = &mut self.buffers[bucket];
        if buffer.len() + head.len() + body.len() > self.buffer_bytes && !buffer.is_empty() {
            self.pieces[bucket].push(self.file.append(buffer)?);
            buffer.clear();
        }
        if buffer.capacity() == 0 {
            buffer.reserve_exact(self.buffer_bytes);
        }
        buffer.extend_from_slice(head);
        buffer.extend_from_slice(body);
        if buffer.len() > 2 * self.buffer_bytes {
            // A long record: it must not stay in memory, nor its buffer.
            self.pieces[bucket].push(self.file.append(buffer)?);
            *buffer = Vec::new();
        }
        Ok(())
    }

    /// Bytes in a bucket.
    pub(crate) fn bytes(&self, bucket: usize) -> u64 {
        let written: u64 = self.pieces[bucket].iter().map(|p| p.bytes as u64).sum();
        written + self.buffers[bucket].len() as u64
    }

    /// Appends all buffers to the file and frees them.
    pub(crate) fn flush(&mut self) -> Result<(), LoadError> {
        for (buffer, pieces) in self.buffers.iter_mut().zip(&mut self.pieces) {
            if !buffer.is_empty() {
                pieces.push(self.file.append(buffer)?);
            }
            *buffer = Vec::new();
        }
        Ok(())
    }

    /// Reads a bucket from its start: what is in the file, then the buffer.
    pub(crate) fn reader(&self, bucket: usize) -> BucketReader<'_> {
        BucketReader {
            file: &self.file,
            pieces: &self.pieces[bucket],
            rest: &self.buffers[bucket],
            skip: 0,
        }
    }

    /// Whether nothing is in a bucket.
    pub(crate) fn is_empty(&self, bucket: usize) -> bool {
        self.pieces[bucket].is_empty() && self.buffers[bucket].is_empty()
    }
}

/// Reads one stream from its start.
pub(crate) struct BucketReader<'b> {
    file: &'b SpillFile,
    pieces: &'b [Extent],
    /// What comes after the pieces.
    rest: &'b [u8],
    /// Bytes of the first piece that were read already.
    skip: usize,
}

impl<'b> BucketReader<'b> {
    /// Reads these pieces of a file.
    pub(crate) fn of_pieces(file: &'b SpillFile, pieces: &'b [Extent]) -> Self {
        Self {
            file,
            pieces,
            rest: &[],
            skip: 0,
        }
    }

    /// Appends some bytes to `out`; returns how many, 0 at the end.
    pub(crate) fn read(&mut self, out: &mut Vec<u8>) -> Result<usize, LoadError> {
        // Termination: each round drops a piece.
        while let Some(&piece) = self.pieces.first() {
            let read = self.file.read_part(piece, self.skip, READ_BYTES, out)?;
            self.skip += read;
            if self.skip >= piece.bytes {
                self.pieces = &self.pieces[1..];
                self.skip = 0;
            }
            if read > 0 {
                return Ok(read);
            }
        }
        let rest = std::mem::take(&mut self.rest);
        out.extend_from_slice(rest);
        Ok(rest.len())
    }

    /// Appends bytes to `out` until it has `bytes` of them; `false` if there are no more.
    pub(crate) fn fill(&mut self, bytes: usize, out: &mut Vec<u8>) -> Result<bool, LoadError> {
        while out.len() < bytes {
            if self.read(out)? == 0 {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_keep_their_order() {
        let dir = tempfile::tempdir().expect("a temporary folder");
        let folder = Arc::new(SpillFolder::new(dir.path().to_path_buf()));
        let mut buckets = Buckets::create(&folder, 3, 0).expect("created");
        let mut expected = vec![Vec::new(); 3];
        for i in 0..3_000usize {
            let body = vec![i as u8; i * 7 % 50 + usize::from(i == 1_500) * 5_000];
            let bucket = i * i % 2 * 2;
            buckets.push(bucket, &[7], &body).expect("pushed");
            expected[bucket].push(7);
            expected[bucket].extend(body);
        }
        for flushed in [false, true] {
            if flushed {
                buckets.flush().expect("flushed");
            }
            for (bucket, expected) in expected.iter().enumerate() {
                let mut reader = buckets.reader(bucket);
                let mut out = Vec::new();
                while reader.read(&mut out).expect("read") > 0 {}
                assert!(&out == expected, "bucket {bucket}");
                assert_eq!(buckets.bytes(bucket), out.len() as u64);
                assert_eq!(buckets.is_empty(bucket), out.is_empty());
            }
        }
    }
}
