//! N-Triples and N-Quads: one block of whole lines to quads.
//!
//! A plain line is cut with a few memory searches and handed out as slices of the block: no copy, no
//! allocation. Only literals with the short escapes (`\n`, `\"`, ...) are copied, once. A line that is
//! anything else (unicode escapes, comments behind the dot, unusual labels or tags, errors) goes to
//! rio_turtle, alone.
//!
//! Invariant: a plain line is one that rio_turtle accepts with the same terms, so the language of the
//! reader is rio_turtle's. Two things are done in front of it: a lone carriage return ends a line, as
//! the grammars say, and language tags keep their case.
//!
//! Blocks are independent: many threads can parse one file. Blank node labels are reported as written.

use std::ops::ControlFlow;

use memchr::{memchr, memchr3, memrchr};

use super::single_line::{LineFault, parse_single_line};
use super::{LineFormat, QuadSink, ReadError, SyntaxError};
use crate::term_view::{LiteralView, QuadView, TermView};

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
    // Termination: each turn with an error moves past at least one line.
    loop {
        let error = match std::str::from_utf8(rest) {
            Ok(text) => {
                run.parse_text(text, scratch, sink, on_error)?;
                return Ok(run.quad_count);
            }
            Err(error) => error,
        };
        let bad_at = error.valid_up_to();
        let line_start = memrchr(b'\n', &rest[..bad_at]).map_or(0, |at| at + 1);
        let line_end = memchr(b'\n', &rest[bad_at..]).map_or(rest.len(), |at| bad_at + at + 1);
        let before = std::str::from_utf8(&rest[..line_start]).expect("valid up to the bad byte");
        run.parse_text(before, scratch, sink, on_error)?;
        let line = &rest[line_start..line_end];
        let fault = invalid_utf8(run.line, line, bad_at - line_start).with_raw_line(line);
        if let ControlFlow::Break(error) = on_error(fault) {
            return Err(error.into());
        }
        run.line += 1;
        rest = &rest[line_end..];
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
    fn parse_text<S: QuadSink>(
        &mut self,
        text: &str,
        scratch: &mut LineScratch,
        sink: &mut S,
        on_error: &mut impl FnMut(SyntaxError) -> ControlFlow<SyntaxError>,
    ) -> Result<(), ReadError<S::Error>> {
        let mut rest = text;
        while !rest.is_empty() {
            let end = memchr(b'\n', rest.as_bytes());
            let (line, after) = match end {
                Some(at) => (&rest[..at], &rest[at + 1..]),
                None => (rest, ""),
            };
            match plain_line(line, self.format, &mut scratch.lexical) {
                Some(PlainLine::Quad(quad)) => {
                    sink.quad(quad).map_err(ReadError::Sink)?;
                    self.quad_count += 1;
                }
                Some(PlainLine::Empty) => {}
                None => self.parse_unusual(line, sink, on_error)?,
            }
            self.line += 1;
            rest = after;
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

/// What a plain line holds.
enum PlainLine<'a> {
    /// White space or a comment.
    Empty,
    /// A statement.
    Quad(QuadView<'a>),
}

/// Cuts a plain line; `None` if it is not plain, which may well be an error.
fn plain_line<'a>(
    line: &'a str,
    format: LineFormat,
    lexical: &'a mut String,
) -> Option<PlainLine<'a>> {
    let mut cursor = Cursor { text: line, at: 0 };
    cursor.skip_blanks();
    let subject = match cursor.peek() {
        Some(b'<') => TermView::Iri(cursor.iri()?),
        Some(b'_') => TermView::Blank(cursor.blank_label()?),
        None | Some(b'\r') => return cursor.is_line_end().then_some(PlainLine::Empty),
        Some(b'#') => {
            let comment = line.strip_suffix('\r').unwrap_or(line);
            return memchr(b'\r', comment.as_bytes())
                .is_none()
                .then_some(PlainLine::Empty);
        }
        _ => return None,
    };
    cursor.skip_blanks();
    let predicate = TermView::Iri(cursor.iri()?);
    cursor.skip_blanks();
    let object = match cursor.peek()? {
        b'<' => TermView::Iri(cursor.iri()?),
        b'_' => TermView::Blank(cursor.blank_label()?),
        b'"' => TermView::Literal(cursor.literal(lexical)?),
        _ => return None,
    };
    cursor.skip_blanks();
    let graph = match (format, cursor.peek()?) {
        (_, b'.') => None,
        (LineFormat::NQuads, b'<') => Some(TermView::Iri(cursor.iri()?)),
        (LineFormat::NQuads, b'_') => Some(TermView::Blank(cursor.blank_label()?)),
        _ => return None,
    };
    cursor.skip_blanks();
    if cursor.peek()? != b'.' {
        return None;
    }
    cursor.at += 1;
    cursor.skip_blanks();
    cursor.is_line_end().then_some(PlainLine::Quad(QuadView {
        subject,
        predicate,
        object,
        graph,
    }))
}

/// A place in a line.
struct Cursor<'a> {
    /// The line, without its line feed.
    text: &'a str,
    /// Byte offset; always on a character boundary.
    at: usize,
}

impl<'a> Cursor<'a> {
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// Whether nothing is left but the carriage return of a line end.
    fn is_line_end(&self) -> bool {
        matches!(&self.text.as_bytes()[self.at..], [] | [b'\r'])
    }

    /// An absolute IRI without escapes, between its brackets.
    fn iri(&mut self) -> Option<&'a str> {
        if self.peek() != Some(b'<') {
            return None;
        }
        let start = self.at + 1;
        let length = memchr(b'>', &self.text.as_bytes()[start..])?;
        let iri = &self.text[start..start + length];
        self.at = start + length + 1;
        is_absolute_iri(iri).then_some(iri)
    }

    /// A blank node label of ASCII letters, digits, underscores and hyphens.
    fn blank_label(&mut self) -> Option<&'a str> {
        let bytes = &self.text.as_bytes()[self.at..];
        let ([b'_', b':', rest @ ..], true) = (bytes, bytes.len() > 2) else {
            return None;
        };
        let length = rest
            .iter()
            .position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-')))?;
        let ends = match rest[length..] {
            [b' ' | b'\t', ..] => true,
            [b'.', ref after @ ..] => matches!(after, [] | [b' ' | b'\t' | b'\r', ..]),
            _ => false,
        };
        if length == 0 || rest[0] == b'-' || !ends {
            return None;
        }
        let start = self.at + 2;
        self.at = start + length;
        Some(&self.text[start..start + length])
    }

    /// A literal; its lexical form is a slice of the line, or of `lexical` if it had escapes.
    fn literal(&mut self, lexical: &'a mut String) -> Option<LiteralView<'a>> {
        let start = self.at + 1;
        let bytes = self.text.as_bytes();
        let stop = start + memchr3(b'"', b'\\', b'\r', &bytes[start..])?;
        self.at = stop;
        let value: &'a str = match bytes[stop] {
            b'"' => &self.text[start..stop],
            b'\\' => {
                lexical.clear();
                lexical.push_str(&self.text[start..stop]);
                self.unescape(lexical)?;
                lexical
            }
            _ => return None,
        };
        self.at += 1;
        match self.peek() {
            Some(b'@') => {
                self.at += 1;
                Some(LiteralView::language(value, self.language_tag()?))
            }
            Some(b'^') => {
                if bytes.get(self.at + 1) != Some(&b'^') {
                    return None;
                }
                self.at += 2;
                Some(LiteralView::typed(value, self.iri()?))
            }
            _ => Some(LiteralView::simple(value)),
        }
    }

    /// Copies the rest of a literal, from its first escape to its closing quote.
    fn unescape(&mut self, lexical: &mut String) -> Option<()> {
        let bytes = self.text.as_bytes();
        // Invariant: `at` is on a backslash, a quote or a carriage return.
        while bytes[self.at] == b'\\' {
            lexical.push(match bytes.get(self.at + 1)? {
                b't' => '\t',
                b'b' => '\u{8}',
                b'n' => '\n',
                b'r' => '\r',
                b'f' => '\u{C}',
                b'"' => '"',
                b'\'' => '\'',
                b'\\' => '\\',
                _ => return None,
            });
            let start = self.at + 2;
            self.at = start + memchr3(b'"', b'\\', b'\r', &bytes[start..])?;
            lexical.push_str(&self.text[start..self.at]);
        }
        (bytes[self.at] == b'"').then_some(())
    }

    /// A tag of the common forms: language, script, region.
    fn language_tag(&mut self) -> Option<&'a str> {
        let rest = &self.text[self.at..];
        let is_tag_byte = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
        let length = rest.bytes().position(|byte| !is_tag_byte(&byte))?;
        let tag = &rest[..length];
        self.at += length;
        is_common_tag(tag).then_some(tag)
    }
}

/// Whether a language tag is of two or three letters, followed at most by a script of four letters
/// and a region of two: every such tag is well-formed.
fn is_common_tag(tag: &str) -> bool {
    let is_letters = |part: &str| part.bytes().all(|byte| byte.is_ascii_alphabetic());
    let mut parts = tag.split('-');
    let language = parts.next().unwrap_or_default();
    if !matches!(language.len(), 2 | 3) || !is_letters(language) {
        return false;
    }
    let mut next = parts.next();
    if next.is_some_and(|part| part.len() == 4 && is_letters(part)) {
        next = parts.next();
    }
    match next {
        None => true,
        Some(region) => region.len() == 2 && is_letters(region) && parts.next().is_none(),
    }
}

/// Whether this is an absolute IRI, as strictly as rio_turtle asks.
///
/// Web addresses of plain characters are checked by vectors of bytes; everything else (ports, percent signs,
/// other schemes, other scripts) by the full grammar.
fn is_absolute_iri(iri: &str) -> bool {
    is_plain_web_iri(iri.as_bytes()) || oxrdf::NamedNodeRef::new(iri).is_ok()
}

/// Whether this is `http(s)://host/path?query#fragment` of plain characters.
fn is_plain_web_iri(iri: &[u8]) -> bool {
    let rest = match iri {
        [b'h', b't', b't', b'p', b':', b'/', b'/', rest @ ..] => rest,
        [b'h', b't', b't', b'p', b's', b':', b'/', b'/', rest @ ..] => rest,
        _ => return false,
    };
    let host_end = memchr3(b'/', b'?', b'#', rest).unwrap_or(rest.len());
    let (host, tail) = rest.split_at(host_end);
    if !has_none(host, not_host_byte) {
        return false;
    }
    match memchr(b'#', tail) {
        None => has_none(tail, not_tail_byte),
        Some(at) => {
            has_none(&tail[..at], not_tail_byte) && has_none(&tail[at + 1..], not_tail_byte)
        }
    }
}

/// Bytes checked at once, the width of a vector register on every machine.
const LANES: usize = 16;

/// Whether `is_bad` is 0 for all bytes.
///
/// Whole vectors without a branch inside; the last one overlaps the one before it.
#[inline]
fn has_none(bytes: &[u8], is_bad: impl Fn(u8) -> u8) -> bool {
    let has_bad = |bytes: &[u8]| bytes.iter().fold(0, |bad, &b| bad | is_bad(b)) != 0;
    let (vectors, rest) = bytes.as_chunks::<LANES>();
    if vectors.iter().any(|vector| has_bad(vector)) {
        return false;
    }
    match bytes.last_chunk::<LANES>() {
        Some(last) => !has_bad(last),
        None => !has_bad(rest),
    }
}

/// 1 for what may not stand in a host, or would begin a port or end a user name.
#[inline]
fn not_host_byte(byte: u8) -> u8 {
    not_tail_byte(byte) | u8::from(byte == b':') | u8::from(byte == b'@')
}

/// 1 for all but letters, digits and `-._~!$&'()*+,;=:@/?`, in the form of comparisons that compilers
/// turn into vector instructions.
#[inline]
fn not_tail_byte(byte: u8) -> u8 {
    u8::from(byte.wrapping_sub(0x21) > 0x7E - 0x21)
        | u8::from(byte == b'"')
        | u8::from(byte == b'#')
        | u8::from(byte == b'%')
        | u8::from(byte == b'<')
        | u8::from(byte == b'>')
        | u8::from(byte.wrapping_sub(b'[') <= b'^' - b'[')
        | u8::from(byte == b'`')
        | u8::from(byte.wrapping_sub(b'{') <= b'}' - b'{')
}

#[cfg(test)]
mod tests;
