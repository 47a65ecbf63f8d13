//! Cutting plain lines out of a text, one after the other.
//!
//! A line is read once, from left to right, and its end is where the statement ends: nobody looks for the
//! line feed first. Dumps are grouped by subject, so the subject of the line before is compared before anything
//! else; a subject (or graph) that is written like the last one is not looked at again.
//!
//! Invariant: a plain line is one that rio_turtle accepts with the same terms.
//!
//! Cost: one comparison for a subject as before, one pass over the bytes of everything else.

use memchr::{memchr, memchr2};

use super::iri::{KnownPrefixes, begins_with, plain_iri_end};
use super::stops::{first_stop, skip_windows};
use crate::reader::LineFormat;
use crate::term_view::{LiteralView, QuadView, TermView};

/// Bytes of a literal looked at together: texts are long.
const TEXT_WINDOW: usize = 64;

/// What a plain line holds.
pub(super) enum PlainLine<'a> {
    /// White space or a comment.
    Empty,
    /// A statement.
    Quad(QuadView<'a>),
}

/// The lines of a text.
pub(super) struct PlainLines<'t> {
    /// The lines; only the last may lack its line feed.
    text: &'t str,
    /// The format of the lines.
    format: LineFormat,
    /// Where the next line begins.
    at: usize,
    /// The last subject.
    subject: Known<'t>,
    /// The last graph that was named.
    graph: Known<'t>,
    /// How the last IRIs in each place began.
    prefixes: Prefixes<'t>,
}

/// How the last IRIs in each place of a line began.
#[derive(Default)]
struct Prefixes<'t> {
    /// Predicates.
    predicate: KnownPrefixes<'t>,
    /// Objects that are IRIs.
    object: KnownPrefixes<'t>,
    /// Datatypes of literals.
    datatype: KnownPrefixes<'t>,
}

/// A term that was read before, as it was written.
struct Known<'t> {
    /// All of it, and the blank behind it, without which a label could go on; empty if there is none.
    written: &'t [u8],
    /// What it means.
    term: TermView<'t>,
    /// How the last IRIs in this place began.
    prefixes: KnownPrefixes<'t>,
}

impl Known<'_> {
    /// Nothing yet.
    fn none() -> Self {
        Self {
            written: &[],
            term: TermView::Iri(""),
            prefixes: KnownPrefixes::default(),
        }
    }
}

impl<'t> PlainLines<'t> {
    /// The lines of this text.
    pub(super) fn new(text: &'t str, format: LineFormat) -> Self {
        Self {
            text,
            format,
            at: 0,
            subject: Known::none(),
            graph: Known::none(),
            prefixes: Prefixes::default(),
        }
    }

    /// Whether nothing is left.
    #[inline]
    pub(super) fn is_end(&self) -> bool {
        self.at >= self.text.len()
    }

    /// Cuts the next line; `None` if it is not plain, which may well be an error: then it is still to be
    /// [taken](Self::take_line).
    #[inline]
    pub(super) fn next<'s>(&mut self, lexical: &'s mut String) -> Option<PlainLine<'s>>
    where
        't: 's,
    {
        let mut cursor = Cursor {
            text: self.text,
            at: self.at,
        };
        cursor.skip_blanks();
        if !matches!(cursor.peek(), Some(b'<' | b'_')) {
            return self.empty_line(cursor);
        }
        let subject = cursor.resource(&mut self.subject)?;
        cursor.skip_blanks();
        let prefixes = &mut self.prefixes;
        let predicate = TermView::Iri(cursor.iri(&mut prefixes.predicate)?);
        cursor.skip_blanks();
        let object = match cursor.peek()? {
            b'<' => TermView::Iri(cursor.iri(&mut prefixes.object)?),
            b'"' => TermView::Literal(cursor.literal(lexical, &mut prefixes.datatype)?),
            b'_' => TermView::Blank(cursor.blank_label()?),
            _ => return None,
        };
        cursor.skip_blanks();
        let graph = match (self.format, cursor.peek()?) {
            (_, b'.') => None,
            (LineFormat::NQuads, _) => {
                let graph = cursor.resource(&mut self.graph)?;
                cursor.skip_blanks();
                Some(graph)
            }
            (LineFormat::NTriples, _) => return None,
        };
        cursor.end_statement()?;
        self.at = cursor.at;
        Some(PlainLine::Quad(QuadView {
            subject,
            predicate,
            object,
            graph,
        }))
    }

    /// Takes the next line as it is, without its line feed.
    pub(super) fn take_line(&mut self) -> &'t str {
        let rest = &self.text[self.at..];
        let length = memchr(b'\n', rest.as_bytes()).unwrap_or(rest.len());
        self.at += length + 1;
        &rest[..length]
    }

    /// Takes a line without a statement. The cursor is behind its blanks.
    fn empty_line(&mut self, mut cursor: Cursor<'t>) -> Option<PlainLine<'static>> {
        if cursor.peek() == Some(b'#') {
            let rest = &cursor.text.as_bytes()[cursor.at..];
            cursor.at += memchr2(b'\r', b'\n', rest).unwrap_or(rest.len());
        }
        cursor.end_line()?;
        self.at = cursor.at;
        Some(PlainLine::Empty)
    }
}

/// A place in a text. What is not plain is `None`, and the place is then of no meaning.
struct Cursor<'t> {
    /// The lines.
    text: &'t str,
    /// Byte offset; always on a character boundary.
    at: usize,
}

impl<'t> Cursor<'t> {
    #[inline]
    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    #[inline]
    fn skip_blanks(&mut self) {
        while let Some(b' ' | b'\t') = self.peek() {
            self.at += 1;
        }
    }

    /// The point, and the end of the line.
    #[inline]
    fn end_statement(&mut self) -> Option<()> {
        if self.peek()? != b'.' {
            return None;
        }
        self.at += 1;
        self.skip_blanks();
        self.end_line()
    }

    /// The end of the line or of the text.
    #[inline]
    fn end_line(&mut self) -> Option<()> {
        match self.text.as_bytes().get(self.at..)? {
            [] | [b'\r'] => self.at = self.text.len(),
            [b'\n', ..] => self.at += 1,
            [b'\r', b'\n', ..] => self.at += 2,
            _ => return None,
        }
        Some(())
    }

    /// An IRI or a blank node, perhaps the same as the last.
    #[inline]
    fn resource(&mut self, known: &mut Known<'t>) -> Option<TermView<'t>> {
        let text = self.text;
        let start = self.at;
        if begins_with(&text.as_bytes()[start..], known.written) {
            self.at += known.written.len();
            return Some(known.term);
        }
        let term = match self.peek()? {
            b'<' => TermView::Iri(self.iri(&mut known.prefixes)?),
            b'_' => TermView::Blank(self.blank_label()?),
            _ => return None,
        };
        if self.peek() == Some(b' ') {
            known.written = &text.as_bytes()[start..=self.at];
            known.term = term;
        }
        Some(term)
    }

    /// An absolute IRI without escapes, between its brackets.
    #[inline]
    fn iri(&mut self, known: &mut KnownPrefixes<'t>) -> Option<&'t str> {
        if self.peek() != Some(b'<') {
            return None;
        }
        let start = self.at + 1;
        let end = match plain_iri_end(self.text, start, known) {
            Some(end) => end,
            None => rare_iri_end(self.text, start)?,
        };
        self.at = end + 1;
        Some(&self.text[start..end])
    }

    /// A blank node label of ASCII letters, digits, underscores and hyphens.
    #[inline]
    fn blank_label(&mut self) -> Option<&'t str> {
        let [b'_', b':', label @ ..] = &self.text.as_bytes()[self.at..] else {
            return None;
        };
        let is_label_byte = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
        let length = label.iter().position(|byte| !is_label_byte(*byte))?;
        let ends = match label[length..] {
            [b' ' | b'\t', ..] => true,
            [b'.', ref after @ ..] => matches!(after, [] | [b' ' | b'\t' | b'\r' | b'\n', ..]),
            _ => false,
        };
        if length == 0 || label[0] == b'-' || !ends {
            return None;
        }
        let start = self.at + 2;
        self.at = start + length;
        Some(&self.text[start..start + length])
    }

    /// A literal; its lexical form is a slice of the text, or of `lexical` if it had escapes.
    #[inline]
    fn literal<'s>(
        &mut self,
        lexical: &'s mut String,
        datatype: &mut KnownPrefixes<'t>,
    ) -> Option<LiteralView<'s>>
    where
        't: 's,
    {
        let text = self.text;
        let start = self.at + 1;
        self.at = text_stop(text.as_bytes(), start);
        let value: &'s str = match self.peek()? {
            b'"' => &text[start..self.at],
            b'\\' => {
                lexical.clear();
                lexical.push_str(&text[start..self.at]);
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
                if text.as_bytes().get(self.at + 1) != Some(&b'^') {
                    return None;
                }
                self.at += 2;
                Some(LiteralView::typed(value, self.iri(datatype)?))
            }
            _ => Some(LiteralView::simple(value)),
        }
    }

    /// Copies the rest of a literal, from its first escape to its closing quote.
    fn unescape(&mut self, lexical: &mut String) -> Option<()> {
        let bytes = self.text.as_bytes();
        // Invariant: `at` is on a byte of the class [`is_text_stop`]. Termination: it moves on with each turn.
        while self.peek()? == b'\\' {
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
            self.at = text_stop(bytes, start);
            lexical.push_str(&self.text[start..self.at]);
        }
        (self.peek()? == b'"').then_some(())
    }

    /// A tag of the common forms: language, script, region.
    #[inline]
    fn language_tag(&mut self) -> Option<&'t str> {
        let rest = &self.text[self.at..];
        let is_tag_byte = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
        let length = rest.bytes().position(|byte| !is_tag_byte(&byte))?;
        let tag = &rest[..length];
        self.at += length;
        is_common_tag(tag).then_some(tag)
    }
}

/// Where an IRI ends that is not plain but is one.
#[cold]
fn rare_iri_end(text: &str, start: usize) -> Option<usize> {
    let length = memchr2(b'>', b'\n', &text.as_bytes()[start..])?;
    let iri = &text[start..start + length];
    let is_closed = text.as_bytes()[start + length] == b'>';
    (is_closed && oxrdf::NamedNodeRef::new(iri).is_ok()).then_some(start + length)
}

/// The first byte that ends a literal, needs to be unescaped, or may not stand in one.
#[inline]
fn text_stop(bytes: &[u8], start: usize) -> usize {
    let start = skip_windows::<TEXT_WINDOW>(bytes, start, is_text_stop);
    first_stop(bytes, start, is_text_stop)
}

#[inline]
fn is_text_stop(byte: u8) -> u8 {
    u8::from(byte == b'"')
        | u8::from(byte == b'\\')
        | u8::from(byte == b'\n')
        | u8::from(byte == b'\r')
}

/// Whether a language tag is of two or three letters, followed at most by a script of four letters
/// and a region of two: every such tag is well-formed.
#[inline]
fn is_common_tag(tag: &str) -> bool {
    match tag.as_bytes() {
        [a, b] => a.is_ascii_alphabetic() && b.is_ascii_alphabetic(),
        _ => is_longer_common_tag(tag),
    }
}

fn is_longer_common_tag(tag: &str) -> bool {
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
