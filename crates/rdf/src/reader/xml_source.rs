//! `XmlSource`: what stands between the bytes and oxrdfio's parser of RDF/XML.
//!
//! The text is handed out tag by tag: no piece goes beyond the end of a tag, so whatever the parser
//! reports has to do with the last tag handed out. That gives two things that the parser does not:
//!
//! * the place of an error: the tag at hand, or the last one before the text at hand;
//! * language tags as they were written: the parser writes them in lower case. A stack of the open elements
//!   keeps each `xml:lang`; the innermost one is the tag of the literal being reported.
//!
//! Line ends become single line feeds, as XML asks (section 2.11). Entities of the document that expand to
//! more than [`ENTITY_BYTES_MAX`] are refused, because a few lines of them can expand to gigabytes.
//!
//! Cost: a step of a state machine for each byte of a tag, a search for the next tag in text.

use std::cell::RefCell;
use std::collections::HashMap;
use std::io::{self, Read};
use std::rc::Rc;

use memchr::{memchr, memchr_iter, memrchr};

use super::SyntaxError;
use super::utf8_chunks::{TextLog, Utf8Chunks};

/// Bytes to which one entity may expand; those in use stand for the beginning of an IRI.
const ENTITY_BYTES_MAX: usize = 4096;

/// What was noted about the text that was handed out.
#[derive(Debug, Default)]
pub(super) struct XmlLog {
    /// The text, for errors.
    pub(super) text: TextLog,
    /// A document that may not be read on.
    pub(super) refused: Option<SyntaxError>,
    /// `xml:lang` of the open elements, the innermost one last.
    languages: Vec<Option<Box<str>>>,
    /// Whether the innermost element has ended; it counts until the next tag begins.
    has_ended: bool,
    /// Whether there was an element.
    has_element: bool,
    /// Whether there was anything but white space.
    has_content: bool,
    /// Line of the last tag, from 1.
    tag_line: u64,
    /// Byte of that line, from 1.
    tag_byte: u64,
}

impl XmlLog {
    /// A tag of the parser as it was written, if the innermost `xml:lang` is that tag.
    pub(super) fn written_tag(&self, tag: &str) -> Option<Box<str>> {
        let innermost = self.languages.iter().rev().find_map(Option::as_ref)?;
        innermost
            .eq_ignore_ascii_case(tag)
            .then(|| innermost.clone())
    }

    /// What is missing at the end of the text, of which the parser takes any for the end of the document. An
    /// empty file is one without triples in every format.
    pub(super) fn missing_end(&self) -> Option<SyntaxError> {
        let open = self.languages.len() - usize::from(self.has_ended);
        let message = match open {
            0 if self.has_element || !self.has_content => return None,
            0 => "there is no element of XML".to_owned(),
            1 => "the text ends within an element".to_owned(),
            _ => format!("the text ends within {open} elements"),
        };
        Some(self.syntax_error(message))
    }

    /// An error at the last tag.
    pub(super) fn syntax_error(&self, message: String) -> SyntaxError {
        self.text
            .syntax_error(self.tag_line.max(1), self.tag_byte.max(1), message)
    }
}

/// A reader that hands out tag by tag; see the [module documentation](self).
pub(super) struct XmlSource<R> {
    /// The text.
    chunks: Utf8Chunks<R>,
    /// The chunk at hand with its line ends made equal.
    buffer: Vec<u8>,
    /// First byte of it not yet handed out.
    start: usize,
    /// Whether the last byte read was a carriage return.
    is_behind_return: bool,
    /// Where in the syntax the text handed out ends.
    scanner: XmlScanner,
    /// The notes, shared with whoever reads the parser's triples.
    log: Rc<RefCell<XmlLog>>,
}

impl<R: Read> XmlSource<R> {
    pub(super) fn new(reader: R, log: Rc<RefCell<XmlLog>>) -> Self {
        Self {
            chunks: Utf8Chunks::new(reader),
            buffer: Vec::new(),
            start: 0,
            is_behind_return: false,
            scanner: XmlScanner::default(),
            log,
        }
    }

    /// Reads until there is something to hand out; leaves nothing at the end.
    fn fill(&mut self) -> io::Result<()> {
        self.buffer.clear();
        self.start = 0;
        // Termination: each turn reads a chunk; the last one is empty.
        while self.buffer.is_empty() {
            self.chunks.next_chunk(&mut self.log.borrow_mut().text)?;
            let mut rest = self.chunks.chunk();
            if rest.is_empty() {
                return Ok(());
            }
            if !rest.iter().all(u8::is_ascii_whitespace) {
                self.log.borrow_mut().has_content = true;
            }
            if self.is_behind_return && rest[0] == b'\n' {
                rest = &rest[1..];
            }
            self.is_behind_return = self.chunks.chunk().last() == Some(&b'\r');
            while let Some(at) = memchr(b'\r', rest) {
                self.buffer.extend_from_slice(&rest[..at]);
                self.buffer.push(b'\n');
                rest = rest[at + 1..]
                    .strip_prefix(b"\n")
                    .unwrap_or(&rest[at + 1..]);
            }
            self.buffer.extend_from_slice(rest);
        }
        Ok(())
    }
}

impl<R: Read> Read for XmlSource<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        if self.log.borrow().refused.is_some() {
            return Err(io::Error::other("the document was refused"));
        }
        if self.start == self.buffer.len() {
            self.fill()?;
        }
        let rest = &self.buffer[self.start..];
        let end = memchr(b'>', rest).map_or(rest.len(), |at| at + 1);
        let piece = &rest[..end.min(target.len())];
        target[..piece.len()].copy_from_slice(piece);
        self.start += piece.len();
        let mut log = self.log.borrow_mut();
        self.scanner.scan(piece, &mut log);
        match log.refused {
            Some(_) => Err(io::Error::other("the document was refused")),
            None => Ok(piece.len()),
        }
    }
}

/// Where in the syntax of XML a byte stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    /// Between tags.
    #[default]
    Text,
    /// Behind `<`, and it is not yet clear what begins.
    Open,
    /// In the tag of an element.
    Tag,
    /// In a value of an attribute, behind this quote.
    Value(u8),
    /// In something that ends with these bytes: a comment, a section of plain text, an instruction.
    Until(&'static [u8]),
    /// In a declaration, with so many brackets open.
    Declaration(u32),
}

/// Follows the tags of a document.
#[derive(Debug, Default)]
struct XmlScanner {
    /// Where the scan stands.
    state: State,
    /// The tag or declaration at hand, or the last bytes of something else.
    markup: Vec<u8>,
    /// Line feeds passed.
    lines: u64,
    /// Bytes of the line passed.
    line_bytes: u64,
    /// Bytes to which the entities of the document expand.
    entities: HashMap<String, usize>,
}

impl XmlScanner {
    fn scan(&mut self, piece: &[u8], log: &mut XmlLog) {
        let mut rest = piece;
        // Termination: `rest` shrinks with each turn.
        while !rest.is_empty() {
            if self.state == State::Text {
                let tag = memchr(b'<', rest).unwrap_or(rest.len());
                self.pass(&rest[..tag]);
                rest = &rest[tag..];
            }
            let Some((first, after)) = rest.split_first() else {
                return;
            };
            if self.state == State::Text {
                self.begin(log);
            }
            self.pass(&rest[..1]);
            self.step(*first, log);
            rest = after;
        }
    }

    /// Counts lines and bytes.
    fn pass(&mut self, bytes: &[u8]) {
        self.line_bytes += bytes.len() as u64;
        if let Some(last) = memrchr(b'\n', bytes) {
            self.lines += memchr_iter(b'\n', bytes).count() as u64;
            self.line_bytes = (bytes.len() - last - 1) as u64;
        }
    }

    /// Notes that a tag begins here.
    fn begin(&mut self, log: &mut XmlLog) {
        if std::mem::take(&mut log.has_ended) {
            log.languages.pop();
        }
        log.tag_line = self.lines + 1;
        log.tag_byte = self.line_bytes + 1;
        self.markup.clear();
    }

    /// Takes a byte that is not in text.
    fn step(&mut self, byte: u8, log: &mut XmlLog) {
        self.markup.push(byte);
        self.state = match self.state {
            State::Text => State::Open,
            State::Open => self.kind(),
            State::Tag if matches!(byte, b'"' | b'\'') => State::Value(byte),
            State::Value(quote) if byte == quote => State::Tag,
            State::Tag if byte == b'>' => {
                self.end_tag(log);
                State::Text
            }
            State::Until(end) if self.markup.ends_with(end) => State::Text,
            State::Until(end) => {
                let old = self.markup.len().saturating_sub(end.len());
                self.markup.drain(..old);
                State::Until(end)
            }
            State::Declaration(open) => match (byte, open) {
                (b'<', _) => State::Declaration(open + 1),
                (b'>', 0) => {
                    self.end_declaration(log);
                    State::Text
                }
                (b'>', _) => State::Declaration(open - 1),
                _ => State::Declaration(open),
            },
            state => state,
        };
    }

    /// What the markup read so far begins.
    fn kind(&mut self) -> State {
        let state = match self.markup.as_slice() {
            b"<!" | b"<!-" => return State::Open,
            b"<!--" => State::Until(b"-->"),
            [b'<', b'?', ..] => State::Until(b"?>"),
            [b'<', b'!', b'[', ..] => State::Until(b"]]>"),
            [b'<', b'!', ..] => return State::Declaration(0),
            [b'<', b'>', ..] => return State::Text,
            _ => return State::Tag,
        };
        self.markup.clear();
        state
    }

    fn end_tag(&mut self, log: &mut XmlLog) {
        if self.markup.starts_with(b"</") {
            // The parser refuses an end without a beginning.
            log.has_ended = !log.languages.is_empty();
            return;
        }
        let tag = std::str::from_utf8(&self.markup).unwrap_or_default();
        log.has_element = true;
        log.languages.push(xml_lang(tag).map(Into::into));
        log.has_ended = tag.ends_with("/>");
    }

    /// Adds up to what the entities of the document expand.
    fn end_declaration(&mut self, log: &mut XmlLog) {
        let text = String::from_utf8_lossy(&self.markup);
        for declaration in text.split("<!ENTITY").skip(1) {
            let Some((name, value)) = entity(declaration) else {
                let message = "an entity declaration is not a name and a value in double quotes";
                log.refused = Some(log.syntax_error(message.to_owned()));
                return;
            };
            let mut bytes = value.len();
            for reference in value.split('&').skip(1) {
                let known = reference.split(';').next().unwrap_or_default();
                bytes += self.entities.get(known).copied().unwrap_or(0);
            }
            if bytes > ENTITY_BYTES_MAX {
                let message =
                    format!("the entity '{name}' expands to more than {ENTITY_BYTES_MAX} bytes");
                log.refused = Some(log.syntax_error(message));
                return;
            }
            self.entities.insert(name.to_owned(), bytes);
        }
    }
}

/// The name and the value of a declaration, by the steps of the parser behind this: what it takes for a name must be the one whose
/// size is known.
fn entity(declaration: &str) -> Option<(&str, &str)> {
    let text = declaration.trim_start();
    let text = text.strip_prefix('%').unwrap_or(text).trim_start();
    let (name, value) = text.split_once(|c: char| c.is_ascii_whitespace())?;
    value
        .trim_start()
        .strip_prefix('"')?
        .split_once('"')
        .map(|(value, _)| (name, value))
}

/// The value of `xml:lang` in the tag of an element.
fn xml_lang(tag: &str) -> Option<&str> {
    let mut rest = tag.split_once(char::is_whitespace)?.1;
    // Termination: `rest` shrinks with each turn.
    loop {
        let (name, after) = rest.split_once('=')?;
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        let (value, next) = after[1..].split_once(quote)?;
        if name.trim() == "xml:lang" {
            return Some(value);
        }
        rest = next;
    }
}
