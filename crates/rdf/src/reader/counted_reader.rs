//! `CountedReader`: a stream that tells others how much of it was read.
//!
//! Stands between a file and its decompressor, so that whoever shows progress can compare the bytes read
//! with the size of the file, also where the text is larger. Cost: one addition per read.

use std::io::{self, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A reader that adds the bytes it gives to a counter.
#[derive(Debug)]
pub struct CountedReader<R> {
    /// The stream.
    inner: R,
    /// Bytes read, from this stream and all others that share the counter.
    bytes: Arc<AtomicU64>,
}

impl<R> CountedReader<R> {
    /// Counts what is read from `inner` in `bytes`.
    pub fn new(inner: R, bytes: Arc<AtomicU64>) -> Self {
        Self { inner, bytes }
    }
}

impl<R: Read> Read for CountedReader<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(target)?;
        self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        Ok(count)
    }
}
