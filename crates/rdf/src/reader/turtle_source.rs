//! `TurtleSource`: what stands between the bytes and rio_turtle's Turtle and TriG parsers.
//!
//! The bytes pass unchanged; on the way they are checked and noted, because rio does not:
//!
//! * they must be UTF-8 everywhere, comments included;
//! * language tags written with capitals are remembered, since rio reports them in lower case. Rio
//!   reports literals in the order of the text, so the n-th tag reported is the n-th seen here;
//! * the last lines are kept, so that an error can quote its text.
//!
//! Cost: one small step of a state machine per byte, a fraction of what rio spends on it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use memchr::{memchr_iter, memrchr};

use super::SyntaxError;
use super::lines::invalid_utf8;

/// Bytes read at once.
const CHUNK_BYTES: usize = 64 << 10;
/// Bytes kept for quoting; rio reads ahead by less.
const RECENT_BYTES: usize = 64 << 10;

/// What was noted about the bytes that have passed.
#[derive(Debug, Default)]
pub(super) struct SourceLog {
    /// Number and text of the tags with capitals that rio has not yet reported.
    capital_tags: VecDeque<(u64, Box<str>)>,
    /// Tags reported by rio.
    reported_tags: u64,
    /// The last bytes passed.
    recent: Vec<u8>,
    /// The line number of the first of them.
    recent_line: u64,
    /// Bytes that are not UTF-8.
    pub(super) utf8_error: Option<SyntaxError>,
    /// Why the bytes could not be read; rio hides some of these.
    pub(super) io_error: Option<io::Error>,
}

impl SourceLog {
    /// The next tag that rio reports, as it was written, if it had capitals.
    pub(super) fn next_tag(&mut self) -> Option<Box<str>> {
        let number = self.reported_tags;
        self.reported_tags += 1;
        while self.capital_tags.front().is_some_and(|(n, _)| *n < number) {
            self.capital_tags.pop_front();
        }
        match self.capital_tags.front() {
            Some((n, _)) if *n == number => self.capital_tags.pop_front().map(|(_, tag)| tag),
            _ => None,
        }
    }

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

/// A reader that checks and notes; see the [module documentation](self).
pub(super) struct TurtleSource<R> {
    /// The bytes.
    reader: R,
    /// What was read; `start..end` is checked and not yet taken, the rest is a cut character.
    buffer: Vec<u8>,
    /// First byte not yet taken.
    start: usize,
    /// End of the checked bytes.
    end: usize,
    /// Where in the syntax the checked bytes end.
    scanner: TagScanner,
    /// The notes, shared with whoever reads rio's terms.
    log: Rc<RefCell<SourceLog>>,
}

impl<R: Read> TurtleSource<R> {
    pub(super) fn new(reader: R, log: Rc<RefCell<SourceLog>>) -> Self {
        let scanner = TagScanner::default();
        Self {
            reader,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            scanner,
            log,
        }
    }

    /// Reads, checks and notes the next chunk; leaves nothing at the end and after a failure.
    fn fill(&mut self) -> io::Result<()> {
        let mut log = self.log.borrow_mut();
        if log.utf8_error.is_some() || log.io_error.is_some() {
            return Err(io::Error::other("an earlier read failed"));
        }
        self.buffer.drain(..self.end);
        (self.start, self.end) = (0, 0);
        let carried = self.buffer.len();
        let mut chunk = self.reader.by_ref().take(CHUNK_BYTES as u64);
        if let Err(error) = chunk.read_to_end(&mut self.buffer) {
            log.io_error = Some(error);
            return Err(io::Error::other("the read failed"));
        }
        let is_end = self.buffer.len() - carried < CHUNK_BYTES;
        let valid = match std::str::from_utf8(&self.buffer) {
            Ok(_) => self.buffer.len(),
            Err(error) if error.error_len().is_none() && !is_end => error.valid_up_to(),
            Err(error) => {
                let at = error.valid_up_to();
                let line_start = memrchr(b'\n', &self.buffer[..at]).map_or(0, |i| i + 1);
                log.remember(&self.buffer[..line_start]);
                let lines = memchr_iter(b'\n', &log.recent).count() as u64;
                let line = log.recent_line + lines;
                let fault = invalid_utf8(line, &self.buffer[line_start..], at - line_start);
                log.utf8_error = Some(fault);
                return Err(io::Error::other("not UTF-8"));
            }
        };
        self.end = valid;
        let checked = &self.buffer[..valid];
        log.remember(checked);
        self.scanner.scan(checked, &mut log.capital_tags);
        Ok(())
    }
}

impl<R: Read> BufRead for TurtleSource<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.end {
            self.fill()?;
        }
        Ok(&self.buffer[self.start..self.end])
    }

    fn consume(&mut self, amount: usize) {
        self.start = (self.start + amount).min(self.end);
    }
}

impl<R: Read> Read for TurtleSource<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        let available = self.fill_buf()?;
        let count = available.len().min(target.len());
        target[..count].copy_from_slice(&available[..count]);
        self.consume(count);
        Ok(count)
    }
}

/// Where in Turtle's lexical syntax a byte stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Between tokens or in a name.
    #[default]
    Plain,
    /// Behind a backslash in a name.
    PlainEscape,
    /// In a comment, until the end of the line.
    Comment,
    /// Between angle brackets.
    Iri,
    /// Behind one quote.
    OneQuote(u8),
    /// Behind two quotes: an empty string or the beginning of a long one.
    TwoQuotes(u8),
    /// In a string of one line.
    Short(u8),
    /// Behind a backslash in a string of one line.
    ShortEscape(u8),
    /// In a long string, behind so many quotes.
    Long(u8, u8),
    /// Behind a backslash in a long string.
    LongEscape(u8),
    /// In a language tag.
    Tag,
}

/// Finds language tags; knows just enough of the syntax not to look into strings.
#[derive(Debug, Default)]
struct TagScanner {
    /// Where the scan stands.
    state: State,
    /// Whether the last token was a string, so that `@` begins a tag and not a directive.
    is_behind_string: bool,
    /// The tag at hand.
    tag: String,
    /// Tags seen.
    tag_count: u64,
}

impl TagScanner {
    /// Scans the next bytes and notes the tags with capitals that end in them.
    fn scan(&mut self, bytes: &[u8], capital_tags: &mut VecDeque<(u64, Box<str>)>) {
        for &byte in bytes {
            self.state = match self.state {
                State::Plain => self.plain(byte),
                State::PlainEscape => State::Plain,
                State::Comment if matches!(byte, b'\n' | b'\r') => State::Plain,
                State::Comment => State::Comment,
                State::Iri if byte == b'>' => State::Plain,
                State::Iri => State::Iri,
                State::OneQuote(quote) if byte == quote => State::TwoQuotes(quote),
                State::TwoQuotes(quote) if byte == quote => State::Long(quote, 0),
                State::TwoQuotes(_) => {
                    self.is_behind_string = true;
                    self.plain(byte)
                }
                State::OneQuote(quote) | State::Short(quote) => match byte {
                    b'\\' => State::ShortEscape(quote),
                    _ if byte == quote => self.string_end(),
                    _ => State::Short(quote),
                },
                State::ShortEscape(quote) => State::Short(quote),
                State::Long(quote, quotes) => match byte {
                    b'\\' => State::LongEscape(quote),
                    _ if byte == quote && quotes == 2 => self.string_end(),
                    _ if byte == quote => State::Long(quote, quotes + 1),
                    _ => State::Long(quote, 0),
                },
                State::LongEscape(quote) => State::Long(quote, 0),
                State::Tag if byte.is_ascii_alphanumeric() || byte == b'-' => {
                    self.tag.push(char::from(byte));
                    State::Tag
                }
                State::Tag => {
                    self.note_tag(capital_tags);
                    self.plain(byte)
                }
            };
        }
    }

    /// The state behind a byte outside of strings, IRIs and comments.
    fn plain(&mut self, byte: u8) -> State {
        let was_behind_string = self.is_behind_string;
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => return State::Plain,
            b'#' => return State::Comment,
            _ => self.is_behind_string = false,
        }
        match byte {
            b'<' => State::Iri,
            b'"' | b'\'' => State::OneQuote(byte),
            b'\\' => State::PlainEscape,
            b'@' if was_behind_string => State::Tag,
            _ => State::Plain,
        }
    }

    fn string_end(&mut self) -> State {
        self.is_behind_string = true;
        State::Plain
    }

    fn note_tag(&mut self, capital_tags: &mut VecDeque<(u64, Box<str>)>) {
        if self.tag.bytes().any(|byte| byte.is_ascii_uppercase()) {
            capital_tags.push_back((self.tag_count, self.tag.as_str().into()));
        }
        self.tag.clear();
        self.tag_count += 1;
    }
}
