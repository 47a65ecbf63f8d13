//! The tokens of a text: what its characters are read as, so that nothing in a string, an IRI or a comment is taken for anything
//! else. It is more lenient than the grammar: what is wrong has to become tokens too.

use super::places::part;
use super::words::is_in;
use crate::query_text::lengths::{self, iri_length, number_length, prefix_length, string_end};

/// What tokens are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Letters that are no part of a name: a keyword.
    Word,
    /// A prefixed name, or a prefix alone.
    Name,
    Blank,
    Iri,
    String,
    /// A string that has no end: what follows of its line, or of the text.
    Unended,
    Variable,
    Language,
    Number,
    Mark,
    /// A character that stands in no token.
    Foreign,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind,
    pub(super) text: &'a str,
    /// The byte it begins at.
    pub(super) at: usize,
}

impl Token<'_> {
    pub(super) fn end(&self) -> usize {
        self.at + self.text.len()
    }

    pub(super) fn is_mark(&self, mark: &str) -> bool {
        self.kind == Kind::Mark && self.text == mark
    }

    pub(super) fn is_word(&self, word: &str) -> bool {
        self.kind == Kind::Word && self.text.eq_ignore_ascii_case(word)
    }

    pub(super) fn is_one_of(&self, words: &[&str]) -> bool {
        self.kind == Kind::Word && is_in(words, self.text)
    }
}

/// The tokens of a text, without blanks and comments.
pub(super) struct Tokens<'a> {
    text: &'a str,
    /// Up to here no prefix ends: so a long run of words and dots is looked through once.
    no_prefix_before: usize,
}

impl<'a> Tokens<'a> {
    pub(super) fn of(text: &'a str) -> Vec<Token<'a>> {
        let mut scan = Self {
            text,
            no_prefix_before: 0,
        };
        let mut tokens = Vec::new();
        let mut at = 0;
        // Termination: every round goes on by a character.
        while let Some(first) = part(text, at, text.len()).chars().next() {
            let (kind, length) = scan.token(at, first);
            let end = at + length.max(first.len_utf8());
            if let Some(kind) = kind {
                let text = part(text, at, end);
                tokens.push(Token { kind, text, at });
            }
            at = end;
        }
        tokens
    }

    /// The kind of a token, if it is one, and its bytes.
    fn token(&mut self, at: usize, first: char) -> (Option<Kind>, usize) {
        let rest = part(self.text, at, self.text.len());
        let (kind, length) = match first {
            ' ' | '\t' | '\r' | '\n' => return (None, 1),
            '#' => return (None, prefix_length(rest, |c| c != '\n' && c != '\r')),
            '\u{FEFF}' if at == 0 => return (None, first.len_utf8()),
            '"' | '\'' => string_length(rest, first),
            '<' => iri_length(rest).map_or((Kind::Mark, 1), |length| (Kind::Iri, length)),
            '?' | '$' => {
                match prefix_length(part(rest, 1, rest.len()), |c| is_name_char(c) && c != '-') {
                    0 => (Kind::Mark, 1),
                    length => (Kind::Variable, 1 + length),
                }
            }
            '@' => (
                Kind::Language,
                1 + prefix_length(part(rest, 1, rest.len()), |c| {
                    c.is_ascii_alphanumeric() || c == '-'
                }),
            ),
            ':' => (Kind::Name, 1 + local_length(part(rest, 1, rest.len()))),
            '0'..='9' => (Kind::Number, number_length(rest)),
            '.' => match number_length(rest) {
                0 | 1 => (Kind::Mark, 1),
                length => (Kind::Number, length),
            },
            '-' => (Kind::Mark, 1),
            c if is_name_char(c) => self.word_or_name(at, rest),
            c if c.is_ascii() => (Kind::Mark, 1),
            c => (Kind::Foreign, c.len_utf8()),
        };
        (Some(kind), length)
    }

    /// A prefixed name, a blank node, or a word.
    fn word_or_name(&mut self, at: usize, rest: &str) -> (Kind, usize) {
        if at >= self.no_prefix_before {
            let prefix = prefix_length(rest, |c| is_name_char(c) || c == '.');
            let after = part(rest, prefix, rest.len());
            if after.starts_with(':') && !part(rest, 0, prefix).ends_with('.') {
                let local = part(after, 1, after.len());
                return match part(rest, 0, prefix) {
                    "_" => (Kind::Blank, 2 + label_length(local)),
                    _ => (Kind::Name, prefix + 1 + local_length(local)),
                };
            }
            self.no_prefix_before = at + prefix;
        }
        let word = prefix_length(rest, |c| is_name_char(c) && c != '-');
        (Kind::Word, word)
    }
}

/// Whether a character may be in a name; a backslash begins an escape, which stands for one that may.
fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric()
        || matches!(c,
            '_' | '-' | '\\' | '\u{B7}' | '\u{C0}'..='\u{D6}' | '\u{D8}'..='\u{F6}' | '\u{F8}'..='\u{1FFF}'
            | '\u{200C}' | '\u{200D}' | '\u{203F}' | '\u{2040}' | '\u{2070}'..='\u{218F}'
            | '\u{2C00}'..='\u{2FEF}' | '\u{3001}'..='\u{D7FF}' | '\u{F900}'..='\u{FDCF}'
            | '\u{FDF0}'..='\u{FEFE}' | '\u{FF00}'..='\u{FFFC}' | '\u{10000}'..='\u{EFFFF}')
}

/// The part of a prefixed name after the colon, which begins with neither of these.
fn local_length(text: &str) -> usize {
    match text.starts_with(['.', '-']) {
        true => 0,
        false => lengths::local_length(text, is_name_char),
    }
}

/// The label of a blank node, which has no dot at its end.
fn label_length(text: &str) -> usize {
    let run = prefix_length(text, |c| is_name_char(c) && c != '\\' || c == '.');
    part(text, 0, run).trim_end_matches('.').len()
}

/// A string with its quotes, whose kind says whether it has an end.
fn string_length(text: &str, quote: char) -> (Kind, usize) {
    match string_end(text, quote) {
        Ok(length) => (Kind::String, length),
        Err(length) => (Kind::Unended, length),
    }
}

/// The prefix of a name, without the colon.
pub(super) fn prefix_of(name: &str) -> &str {
    name.split(':').next().unwrap_or_default()
}
