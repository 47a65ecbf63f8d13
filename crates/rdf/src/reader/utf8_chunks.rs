//! `Utf8Chunks` and `TextLog`: the text of a document in checked pieces, and what an error needs to quote.
//!
//! Stands in front of the parsers of others (rio_turtle, oxrdfio), which neither check every byte for
//! UTF-8 nor quote the text at fault. The last lines are kept, so that an error can quote its own.
//!
//! Memory: a chunk and the recent text. Cost: one check for UTF-8 and one copy of each byte.

use std::io::{self, Read};

use memchr::{memchr, memchr_iter, memrchr};

use super::SyntaxError;
use super::lines::invalid_utf8;

/// Bytes read at once.
const CHUNK_BYTES: usize = 64 << 10;
/// Bytes kept for quoting; the parsers read ahead by less.
const RECENT_BYTES: usize = 64 << 10;

/// The end of the text read so far, and why there is no more.
#[derive(Debug, Default)]
pub(super) struct TextLog {
    /// The last bytes passed.
    recent: Vec<u8>,
    /// The line number of the first of them.
    recent_line: u64,
    /// Bytes that are not UTF-8.
    pub(super) utf8_error: Option<SyntaxError>,
    /// Why the bytes could not be read; the parsers hide some of these.
    pub(super) io_error: Option<io::Error>,
}

impl TextLog {
    /// A syntax error at a line and a byte of it, both from 1, with the text if it is still known.
    pub(super) fn syntax_error(&self, line: u64, byte: u64, message: String) -> SyntaxError {
        let mut lines = self.recent.split(|byte| *byte == b'\n');
        let skip = line.checked_sub(self.recent_line.max(1));
        let bytes = skip
            .and_then(|skip| lines.nth(usize::try_from(skip).ok()?))
            .unwrap_or(&[]);
        let text = String::from_utf8_lossy(bytes);
        let offset = usize::try_from(byte.saturating_sub(1)).unwrap_or(usize::MAX);
        SyntaxError::at(line, &text, offset, message)
    }

    /// The error for bytes that are not UTF-8 and follow what was remembered.
    fn invalid_utf8(&self, bytes: &[u8]) -> SyntaxError {
        let line = self.recent_line.max(1) + memchr_iter(b'\n', &self.recent).count() as u64;
        let line_start = memrchr(b'\n', &self.recent).map_or(0, |at| at + 1);
        let line_end = memchr(b'\n', bytes).unwrap_or(bytes.len());
        let content = [&self.recent[line_start..], &bytes[..line_end]].concat();
        invalid_utf8(line, &content, self.recent.len() - line_start)
    }

    /// A log of a text that begins behind `line_start` on the line of this number.
    pub(super) fn starting_at(line: u64, line_start: &[u8]) -> Self {
        Self {
            recent: line_start.to_vec(),
            recent_line: line,
            ..Self::default()
        }
    }

    /// Appends to the recent bytes and drops old ones by whole lines where it can.
    fn remember(&mut self, bytes: &[u8]) {
        self.recent_line = self.recent_line.max(1);
        if self.recent.len() > RECENT_BYTES {
            let old = self.recent.len() - RECENT_BYTES / 2;
            let end = memrchr(b'\n', &self.recent[..old]).map_or(old, |at| at + 1);
            self.recent_line += memchr_iter(b'\n', &self.recent[..end]).count() as u64;
            self.recent.drain(..end);
        }
        self.recent.extend_from_slice(bytes);
    }
}

/// Reads a stream in chunks of whole characters.
pub(super) struct Utf8Chunks<R> {
    /// The bytes.
    reader: R,
    /// What was read; the rest behind `end` is a cut character.
    buffer: Vec<u8>,
    /// End of the checked bytes.
    end: usize,
    /// Why the reader gives no more, while what it gave is not handed out.
    failure: Option<io::Error>,
}

impl<R: Read> Utf8Chunks<R> {
    pub(super) fn new(reader: R) -> Self {
        Self {
            reader,
            buffer: Vec::new(),
            end: 0,
            failure: None,
        }
    }

    /// The chunk read last.
    pub(super) fn chunk(&self) -> &[u8] {
        &self.buffer[..self.end]
    }

    /// Reads, checks and remembers the next chunk; it is empty at the end. Fails again after a failure,
    /// whose reason is in the log. What stands in front of a failure is a chunk of its own, so that a parser
    /// has seen all of it.
    pub(super) fn next_chunk(&mut self, log: &mut TextLog) -> io::Result<()> {
        if log.utf8_error.is_some() || log.io_error.is_some() {
            return Err(io::Error::other("an earlier read failed"));
        }
        self.buffer.drain(..self.end);
        self.end = 0;
        let mut is_end = false;
        if self.failure.is_none() {
            let mut chunk = self.reader.by_ref().take(CHUNK_BYTES as u64);
            match chunk.read_to_end(&mut self.buffer) {
                Ok(count) => is_end = count < CHUNK_BYTES,
                Err(error) => self.failure = Some(error),
            }
        }
        let (valid, is_cut) = match std::str::from_utf8(&self.buffer) {
            Ok(_) => (self.buffer.len(), true),
            Err(error) => (error.valid_up_to(), error.error_len().is_none()),
        };
        if valid == 0 {
            if is_cut && let Some(error) = self.failure.take() {
                log.io_error = Some(error);
                return Err(io::Error::other("the read failed"));
            }
            if !self.buffer.is_empty() && (is_end || !is_cut) {
                log.utf8_error = Some(log.invalid_utf8(&self.buffer));
                return Err(io::Error::other("not UTF-8"));
            }
        }
        self.end = valid;
        log.remember(&self.buffer[..valid]);
        Ok(())
    }
}
