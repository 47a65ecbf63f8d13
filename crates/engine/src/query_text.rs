//! The text of a query before it is parsed: two rules of SPARQL's tokens that the parser does not know, and [names](select_names) that it does not take.
//!
//! - The keywords `true` and `false` may be written in any case: [`with_lower_case_booleans`] writes them
//!   in lower case.
//! - The longest token wins: `?x<?a&&?b>?y` has the IRI `<?a&&?b>` in it, so it is no pair of
//!   comparisons. [`iri_taken_for_comparison`] finds an IRI that the parser read otherwise.
//!
//! Invariants: nothing inside strings, IRIs, comments, names, variables and language tags is altered, and
//! no length changes, so that the places in error messages stay. A text without such keywords comes back as it is.
//! Cost: one pass over the text; a second parse only for the rare IRIs that could be read as something else.

use lengths::{iri_length, local_length, number_length, prefix_length, string_end};
use std::borrow::Cow;
use std::ops::Range;

pub mod data_parts;
pub(crate) mod diagnosis;
pub mod escapes;
mod lengths;
pub mod lift;
pub mod nesting;
pub mod select_names;
pub mod update_pieces;

#[cfg(test)]
mod tests;

/// Functions that read groups.
const AGGREGATES: &[&str] = &[
    "COUNT",
    "SUM",
    "MIN",
    "MAX",
    "AVG",
    "SAMPLE",
    "GROUP_CONCAT",
];

/// The text, whose codepoint escapes are [`decoded`](escapes::decoded), with `TRUE` and `FALSE`, where they are keywords, in
/// lower case.
pub fn with_lower_case_booleans(text: &str) -> Cow<'_, str> {
    let mut changed: Option<String> = None;
    for (kind, range) in Tokens::new(text) {
        let word = &text[range.clone()];
        if kind != Kind::Word
            || !["true", "false"]
                .iter()
                .any(|boolean| word.eq_ignore_ascii_case(boolean))
            || !word.bytes().any(|byte| byte.is_ascii_uppercase())
        {
            continue;
        }
        let lower = word.to_ascii_lowercase();
        changed
            .get_or_insert_with(|| text.to_owned())
            .replace_range(range, &lower);
    }
    changed.map_or(Cow::Borrowed(text), Cow::Owned)
}

/// Where an IRI stands that the parser took for comparisons and what is between them; `parses` says
/// whether a text is a query.
///
/// An IRI that could be read so is put in place of another that could not. After an operand no IRI can
/// follow inside an expression, so where the parser read comparisons the text no longer parses; everywhere
/// else one IRI is as good as another.
pub fn iri_taken_for_comparison(text: &str, parses: impl Fn(&str) -> bool) -> Option<Range<usize>> {
    let doubtful: Vec<Range<usize>> = Tokens::new(text)
        .filter(|(kind, range)| *kind == Kind::Iri && may_be_comparisons(&text[range.clone()]))
        .map(|(_, range)| range)
        .collect();
    if doubtful.is_empty() || parses(&with_plain_iris(text, &doubtful)) {
        return None;
    }
    // Once a comparison is replaced the text parses no more, however many follow: the first such count is searched for by halves.
    let counts: Vec<usize> = (1..=doubtful.len()).collect();
    let first = counts.partition_point(|&count| parses(&with_plain_iris(text, &doubtful[..count])));
    doubtful.into_iter().nth(first)
}

/// The text with these IRIs replaced by one that is nothing but an IRI.
fn with_plain_iris(text: &str, iris: &[Range<usize>]) -> String {
    let mut out = String::with_capacity(text.len());
    let mut end = 0;
    for range in iris {
        out.push_str(&text[end..range.start]);
        out.push_str("<http://example.org/>");
        end = range.end;
    }
    out.push_str(&text[end..]);
    out
}

/// Whether `<...>` could be `<`, something, `>` of an expression. Comparisons do not chain, so there must be
/// a token between them that ends an operand of the first; and no expression has `http://` in it.
fn may_be_comparisons(iri: &str) -> bool {
    let inner = &iri[1..iri.len() - 1];
    let scheme_len = inner
        .find(|c: char| !c.is_ascii_alphanumeric())
        .unwrap_or(0);
    let is_hierarchical = scheme_len > 0 && inner[scheme_len..].starts_with("://");
    !is_hierarchical && (inner.contains("&&") || inner.contains([',', ')']))
}

/// Bytes of a text that is quick to parse.
const QUICK_BYTES_MAX: usize = 4096;
/// Negations in a text that is quick to parse: the parser reads what each of them stands before twice, so time doubles with
/// every one inside another.
const QUICK_NEGATIONS_MAX: usize = 6;

/// Whether parsing and planning a text takes some milliseconds at most, whatever it says.
pub fn is_quick_to_parse(text: &str) -> bool {
    let bytes = text.as_bytes();
    let is_negation = |pair: &[u8]| pair[0] == b'!' && pair[1] != b'=';
    bytes.len() <= QUICK_BYTES_MAX
        && bytes.windows(2).filter(|pair| is_negation(pair)).count() <= QUICK_NEGATIONS_MAX
        && !has_ascii_escape(text)
}

/// Whether a codepoint escape stands for an ASCII character (or for nothing): it could begin or end tokens.
fn has_ascii_escape(text: &str) -> bool {
    text.match_indices('\\').any(|(at, _)| {
        let digits_len = match text.as_bytes().get(at + 1) {
            Some(b'u') => 4,
            Some(b'U') => 8,
            _ => return false,
        };
        let digits = text.get(at + 2..at + 2 + digits_len);
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        code.is_none_or(|code| code < 0x80)
    })
}

/// What tokens are told apart by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Letters that are no part of a name: a keyword.
    Word,
    /// An IRI in angle brackets.
    Iri,
    /// Anything else, also blanks.
    Other,
}

/// The tokens of a text; together they are the whole text.
struct Tokens<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Tokens<'a> {
    fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }
}

impl Iterator for Tokens<'_> {
    type Item = (Kind, Range<usize>);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = &self.text[self.at..];
        let first = rest.chars().next()?;
        let (kind, length) = match first {
            '#' => (Kind::Other, rest.find(['\r', '\n']).unwrap_or(rest.len())),
            '"' | '\'' => (Kind::Other, string_length(rest, first)),
            '<' => iri_length(rest).map_or((Kind::Other, 1), |length| (Kind::Iri, length)),
            '?' | '$' => {
                let name = prefix_length(&rest[1..], |c| is_name_char(c) && c != '-');
                (Kind::Other, 1 + name)
            }
            '@' => (Kind::Other, 1 + prefix_length(&rest[1..], is_name_char)),
            ':' => (Kind::Other, 1 + local_length(&rest[1..], is_name_char)),
            '0'..='9' => (Kind::Other, number_length(rest)),
            '-' => (Kind::Other, 1),
            c if is_name_char(c) => word_or_name(rest),
            c => (Kind::Other, c.len_utf8()),
        };
        let range = self.at..self.at + length;
        self.at = range.end;
        Some((kind, range))
    }
}

/// Whether a character may be in a name; a backslash begins an escape, which stands for one that may.
fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '\\') || !c.is_ascii()
}

/// A prefixed name, a blank node, or a word.
fn word_or_name(text: &str) -> (Kind, usize) {
    let prefix = prefix_length(text, |c| is_name_char(c) || c == '.');
    if text[prefix..].starts_with(':') && !text[..prefix].ends_with('.') {
        return (
            Kind::Other,
            prefix + 1 + local_length(&text[prefix + 1..], is_name_char),
        );
    }
    let run = prefix_length(text, is_name_char);
    let word = prefix_length(text, |c| c.is_ascii_alphanumeric() || c == '_');
    match text[word..run].chars().next() {
        None | Some('-') => (Kind::Word, word),
        Some(_) => (Kind::Other, run),
    }
}

/// A string with its quotes; one without end is all that follows.
fn string_length(text: &str, quote: char) -> usize {
    string_end(text, quote).unwrap_or(text.len())
}
