//! `TurtleSource`: what stands between the bytes and rio_turtle's Turtle and TriG parsers.
//!
//! The bytes pass unchanged; on the way they are checked and noted, because rio does not:
//!
//! * they must be UTF-8 everywhere, comments included ([`Utf8Chunks`], which also keeps the last lines
//!   for errors to quote);
//! * language tags written with capitals are remembered, since rio reports them in lower case. Rio
//!   reports literals in the order of the text, so the n-th tag reported is the n-th seen here.
//!
//! Cost: a table look-up per byte between tokens and a vectorised search in strings, IRIs and comments; a fraction of
//! what rio spends.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::io::{self, BufRead, Read};
use std::rc::Rc;

use memchr::{memchr, memchr2};

use super::utf8_chunks::{TextLog, Utf8Chunks};

/// What was noted about the bytes that have passed.
#[derive(Debug, Default)]
pub(super) struct SourceLog {
    /// The text, for errors.
    pub(super) text: TextLog,
    /// Number and text of the tags with capitals that rio has not yet reported.
    capital_tags: VecDeque<(u64, Box<str>)>,
    /// Tags reported by rio.
    reported_tags: u64,
}

impl SourceLog {
    /// Nothing noted, of a text that begins where `text` says.
    pub(super) fn new(text: TextLog) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }

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
}

/// A reader that checks and notes; see the [module documentation](self).
pub(super) struct TurtleSource<R> {
    /// The text.
    chunks: Utf8Chunks<R>,
    /// First byte of the chunk not yet taken.
    start: usize,
    /// Where in the syntax the chunk ends.
    scanner: TagScanner,
    /// The notes, shared with whoever reads rio's terms.
    log: Rc<RefCell<SourceLog>>,
}

impl<R: Read> TurtleSource<R> {
    pub(super) fn new(reader: R, log: Rc<RefCell<SourceLog>>) -> Self {
        Self {
            chunks: Utf8Chunks::new(reader),
            start: 0,
            scanner: TagScanner::default(),
            log,
        }
    }

    /// Reads, checks and notes the next chunk; leaves nothing at the end and after a failure.
    fn fill(&mut self) -> io::Result<()> {
        let mut log = self.log.borrow_mut();
        self.start = 0;
        self.chunks.next_chunk(&mut log.text)?;
        self.scanner
            .scan(self.chunks.chunk(), &mut log.capital_tags);
        Ok(())
    }
}

impl<R: Read> BufRead for TurtleSource<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        if self.start == self.chunks.chunk().len() {
            self.fill()?;
        }
        Ok(&self.chunks.chunk()[self.start..])
    }

    fn consume(&mut self, amount: usize) {
        self.start = (self.start + amount).min(self.chunks.chunk().len());
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

/// The bytes that lead out of [`State::Plain`] where no tag can stand.
const OPENS: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = b"#<\"'\\";
    let mut i = 0;
    while i < bytes.len() {
        table[bytes[i] as usize] = true;
        i += 1;
    }
    table
};

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
        let mut at = 0;
        // Termination: each turn passes a byte.
        loop {
            at += self.unchanging(&bytes[at..]);
            let Some(&byte) = bytes.get(at) else { return };
            at += 1;
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

    /// The bytes in front that leave the scan where it stands.
    fn unchanging(&self, bytes: &[u8]) -> usize {
        let next = match self.state {
            State::Plain if !self.is_behind_string => {
                bytes.iter().position(|b| OPENS[usize::from(*b)])
            }
            State::Comment => memchr2(b'\n', b'\r', bytes),
            State::Iri => memchr(b'>', bytes),
            State::Short(quote) | State::Long(quote, 0) => memchr2(quote, b'\\', bytes),
            _ => Some(0),
        };
        next.unwrap_or(bytes.len())
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
