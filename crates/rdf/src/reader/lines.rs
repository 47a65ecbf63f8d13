//! N-Triples and N-Quads: one block of whole lines to quads.
//!
//! A plain line is cut in one pass, sixteen bytes at once, and handed out as slices of the block:
//! no copy, no allocation. Only literals with the short escapes (`\n`, `\"`, ...) are copied, once. A line
//! that is anything else (unicode escapes, comments behind the dot, unusual labels or tags, errors) goes
//! to rio_turtle, alone.
//!
//! Invariant: a plain line is one that rio_turtle accepts with the same terms, so the language of the
//! reader is rio_turtle's. Two things are done in front of it: a lone carriage return ends a line, as
//! the grammars say, and language tags keep their case.
//!
//! Blocks are independent: many threads can parse one file. Blank node labels are reported as written.
//!
//! Cost: bytes are fetched from memory once, for the check that they are UTF-8; what `docs/life-of-a-load.md`
//! says of the rest is measured by `benches/tokenize.rs`.

mod iri;
mod plain_line;
mod stops;

use std::ops::ControlFlow;

use memchr::{memchr, memchr2, memrchr, memrchr2};

use super::single_line::{LineFault, parse_single_line};
use super::{LineFormat, QuadSink, ReadError, SyntaxError};
use plain_line::{PlainLine, PlainLines};

/// Bytes that are checked and then cut, while they are in the caches of the core.
const PIECE_BYTES: usize = 64 << 10;

/// Memory that parsing reuses from line to line; one per thread.
#[derive(Debug, Default)]
pub struct LineScratch {
    /// The unescaped lexical form of the literal at hand.
    lexical: String,
}

impl LineScratch {
    /// Empty memory.
    pub fn new() -> Self {
        Self::default()
    }
}

/// The error callback that stops at the first error.
pub fn strict(error: SyntaxError) -> ControlFlow<SyntaxError> {
    ControlFlow::Break(error)
}

/// Parses a block of whole lines (the last may lack its line end) and returns the number of quads.
///
/// `first_line` is the number of the block's first line, from 1. Each bad line goes to `on_error`,
/// which says whether to stop with the error ([`strict`]) or to skip the line; bytes that are not UTF-8
/// make a bad line like any other.
pub fn parse_block<S: QuadSink>(
    block: &[u8],
    format: LineFormat,
    first_line: u64,
    scratch: &mut LineScratch,
    sink: &mut S,
    on_error: &mut impl FnMut(SyntaxError) -> ControlFlow<SyntaxError>,
) -> Result<u64, ReadError<S::Error>> {
    let mut run = BlockRun {
        format,
        line: first_line,
        quad_count: 0,
    };
    let mut rest = block;
    // Termination: each piece holds at least one line.
    while !rest.is_empty() {
        let (piece, after) = rest.split_at(piece_length(rest));
        run.parse_piece(piece, scratch, sink, on_error)?;
        rest = after;
    }
    Ok(run.quad_count)
}

/// The length of the next whole lines, [`PIECE_BYTES`] if they are not longer than that.
fn piece_length(bytes: &[u8]) -> usize {
    let Some((start, after)) = bytes.split_at_checked(PIECE_BYTES) else {
        return bytes.len();
    };
    match memrchr(b'\n', start) {
        Some(at) => at + 1,
        None => memchr(b'\n', after).map_or(bytes.len(), |at| start.len() + at + 1),
    }
}

/// The error for bytes that are not UTF-8 at an offset of a line.
pub(super) fn invalid_utf8(line: u64, bytes: &[u8], offset: usize) -> SyntaxError {
    let valid = std::str::from_utf8(&bytes[..offset]).unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    let message = match bytes.get(offset) {
        Some(byte) => format!("the byte 0x{byte:02X} is not UTF-8 here"),
        None => "a character is cut off".to_owned(),
    };
    SyntaxError::at(line, &text, valid.len(), message)
}

/// The state of one call of [`parse_block`].
struct BlockRun {
    /// The format of the lines.
    format: LineFormat,
    /// The number of the line at hand.
    line: u64,
    /// Quads handed out.
    quad_count: u64,
}

impl BlockRun {
    fn parse_piece<S: QuadSink>(
        &mut self,
        piece: &[u8],
        scratch: &mut LineScratch,
        sink: &mut S,
        on_error: &mut impl FnMut(SyntaxError) -> ControlFlow<SyntaxError>,
    ) -> Result<(), ReadError<S::Error>> {
        let mut rest = piece;
        // Termination: each turn with an error moves past at least one line.
        loop {
            let error = match std::str::from_utf8(rest) {
                Ok(text) => return self.parse_text(text, scratch, sink, on_error),
                Err(error) => error,
            };
            let bad_at = error.valid_up_to();
            let line_start = memrchr2(b'\n', b'\r', &rest[..bad_at]).map_or(0, |at| at + 1);
            let line_end = memchr2(b'\n', b'\r', &rest[bad_at..]);
            let line_end = line_end.map_or(rest.len(), |at| bad_at + at + 1);
            let before =
                std::str::from_utf8(&rest[..line_start]).expect("valid up to the bad byte");
            self.parse_text(before, scratch, sink, on_error)?;
            // Lines have numbers by their line feeds.
            self.line -= u64::from(before.ends_with('\r'));
            let line = &rest[line_start..line_end];
            let fault = invalid_utf8(self.line, line, bad_at - line_start).with_raw_line(line);
            if let ControlFlow::Break(error) = on_error(fault) {
                return Err(error.into());
            }
            self.line += u64::from(!line.ends_with(b"\r"));
            rest = &rest[line_end..];
        }
    }

    fn parse_text<S: QuadSink>(
        &mut self,
        text: &str,
        scratch: &mut LineScratch,
        sink: &mut S,
        on_error: &mut impl FnMut(SyntaxError) -> ControlFlow<SyntaxError>,
    ) -> Result<(), ReadError<S::Error>> {
        let mut lines = PlainLines::new(text, self.format);
        while !lines.is_end() {
            match lines.next(&mut scratch.lexical) {
                Some(PlainLine::Quad(quad)) => {
                    sink.quad(quad).map_err(ReadError::Sink)?;
                    self.quad_count += 1;
                }
                Some(PlainLine::Empty) => {}
                None => self.parse_unusual(lines.take_line(), sink, on_error)?,
            }
            self.line += 1;
        }
        Ok(())
    }

    /// Gives one line to rio_turtle, each piece between carriage returns as a line of its own.
    #[cold]
    fn parse_unusual<S: QuadSink>(
        &mut self,
        line: &str,
        sink: &mut S,
        on_error: &mut impl FnMut(SyntaxError) -> ControlFlow<SyntaxError>,
    ) -> Result<(), ReadError<S::Error>> {
        let mut piece_start = 0;
        for piece in line.split('\r') {
            match parse_single_line(piece, self.format, sink) {
                Ok(count) => self.quad_count += count,
                Err(LineFault::Sink(error)) => return Err(ReadError::Sink(error)),
                Err(LineFault::Syntax { offset, message }) => {
                    let fault = SyntaxError::at(self.line, line, piece_start + offset, message)
                        .with_raw_line(piece.as_bytes());
                    if let ControlFlow::Break(error) = on_error(fault) {
                        return Err(error.into());
                    }
                }
            }
            piece_start += piece.len() + 1;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
