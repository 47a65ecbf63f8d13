//! The template of a query: its text with marks in place of the constants that differ from call to call.
//!
//! ```text
//! SELECT ?r { ?r :for <http://e/p1> ; :stars ?n FILTER(?n > 3 && ?n != 3) }
//! SELECT ?r { ?r :for ▢i0 ; :stars ?n FILTER(?n > ▢n1 && ?n != ▢n1) }      and http://e/p1, 3
//! ```
//!
//! Lifted are absolute IRIs in angle brackets without dot segments, which a base leaves as they are, short strings without escapes, and numbers
//! without sign and exponent after a comparison, from the first brace on. What stands before it (prefixes, datasets, the heads of queries) and all other numbers (of LIMIT, say) are part of
//! the template, and so are language tags and datatypes. Equal constants have the same mark, since a parser may treat two equal
//! expressions as one.
//!
//! Invariant: texts of one template are the same but for constants of the same kind at the same places, of which none can be read as
//! anything else by the parser. Cost: one pass over the text.

use super::escapes::has_escape;
use super::{Kind, Tokens, may_be_comparisons};
use std::borrow::Cow;
use std::fmt::Write;

/// Longer texts, and those with more constants, are no templates.
const BYTES_MAX: usize = 8192;
const CONSTANTS_MAX: usize = 64;

/// What placeholders of IRIs and strings begin with, and those of numbers.
const PLACEHOLDER_TEXT: &str = "http://placeholder.invalid/";
const PLACEHOLDER_DIGITS: &str = "91827364";

/// What begins and ends a mark; texts with it are no templates.
const MARK: char = '\u{1}';

/// What a constant is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConstantKind {
    /// An IRI.
    Iri,
    /// A string, with or without a language or a datatype.
    Text,
    /// Digits.
    Integer,
    /// Digits, a dot and digits.
    Decimal,
}

impl ConstantKind {
    fn letter(self) -> char {
        match self {
            Self::Iri => 'i',
            Self::Text => 't',
            Self::Integer => 'n',
            Self::Decimal => 'd',
        }
    }

    /// A constant of this kind that nobody uses, for each place another.
    pub fn placeholder(self, place: usize) -> String {
        match self {
            Self::Iri | Self::Text => format!("{PLACEHOLDER_TEXT}{place}"),
            Self::Integer => format!("{PLACEHOLDER_DIGITS}{place}"),
            Self::Decimal => format!("{PLACEHOLDER_DIGITS}{place}.5"),
        }
    }
}

/// A constant of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Constant<'a> {
    /// What it is.
    pub kind: ConstantKind,
    /// The constant without brackets or quotes.
    pub text: &'a str,
}

/// A text that is taken apart.
#[derive(Debug)]
pub struct Lifted<'a> {
    /// The template.
    pub template: String,
    /// The constants, each once, in the order of their marks.
    pub constants: Vec<Constant<'a>>,
}

impl Lifted<'_> {
    /// The text with placeholders in place of the constants, each of the kind of its constant; `None` if the text itself has what looks like
    /// one.
    pub fn with_placeholders(&self) -> Option<String> {
        if [PLACEHOLDER_TEXT, PLACEHOLDER_DIGITS]
            .iter()
            .any(|placeholder| self.template.contains(placeholder))
        {
            return None;
        }
        Some(self.with(|place, constant| match constant.kind {
            ConstantKind::Iri => format!("<{}>", constant.kind.placeholder(place)),
            ConstantKind::Text => format!("\"{}\"", constant.kind.placeholder(place)),
            ConstantKind::Integer | ConstantKind::Decimal => constant.kind.placeholder(place),
        }))
    }

    /// The template with what is written for each constant, of which the place is given too.
    pub fn with(&self, write: impl Fn(usize, Constant<'_>) -> String) -> String {
        let parts = self.template.split(MARK).enumerate();
        let written = parts.map(|(part_idx, part)| match part_idx % 2 {
            0 => Cow::Borrowed(part),
            // A letter and a place.
            _ => {
                let place = part[1..].parse::<usize>().unwrap_or_default();
                Cow::Owned(write(place, self.constants[place]))
            }
        });
        written.collect()
    }
}

impl<'a> Lifted<'a> {
    /// Puts the mark of a constant; `None` if there are too many.
    fn mark(&mut self, constant: Constant<'a>) -> Option<()> {
        let known = self.constants.iter().position(|known| *known == constant);
        let place = known.unwrap_or(self.constants.len());
        if known.is_none() {
            self.constants.push(constant);
        }
        let letter = constant.kind.letter();
        write!(self.template, "{MARK}{letter}{place}{MARK}").ok()?;
        (place < CONSTANTS_MAX).then_some(())
    }
}

/// Takes a text apart; `None` if it sets a base, has escapes of codepoints, or too many constants, or none.
pub fn lift(text: &str) -> Option<Lifted<'_>> {
    if text.len() > BYTES_MAX || text.contains(MARK) || has_escape(text) {
        return None;
    }
    let mut lifted = Lifted {
        template: String::with_capacity(text.len()),
        constants: Vec::new(),
    };
    let mut copied = 0;
    let (mut is_in_body, mut is_separator) = (false, false);
    let mut before = "";
    for (kind, range) in Tokens::new(text) {
        let token = &text[range.clone()];
        if token.starts_with(|c: char| c.is_whitespace() || c == '#') {
            continue;
        }
        if !is_in_body {
            if kind == Kind::Word && token.eq_ignore_ascii_case("BASE") {
                return None;
            }
            is_in_body = token == "{";
        } else if !is_separator && let Some(constant) = constant(kind, token, before) {
            lifted.template.push_str(&text[copied..range.start]);
            lifted.mark(constant)?;
            copied = range.end;
        }
        // The separator of GROUP_CONCAT is no term.
        let is_equals = is_separator && token == "=";
        is_separator = is_equals || token.eq_ignore_ascii_case("SEPARATOR");
        before = token;
    }
    if lifted.constants.is_empty() {
        return None;
    }
    lifted.template.push_str(&text[copied..]);
    Some(lifted)
}

/// The constant that a token is, if it may be lifted; `before` is the token before it.
fn constant<'a>(kind: Kind, token: &'a str, before: &str) -> Option<Constant<'a>> {
    let inner = |kind| {
        let text = &token[1..token.len() - 1];
        Some(Constant { kind, text })
    };
    let first = token.as_bytes()[0];
    match first {
        // After `^` it is a datatype.
        b'<' if kind == Kind::Iri && before != "^" && is_plain_iri(token) => {
            inner(ConstantKind::Iri)
        }
        b'"' | b'\'' if is_short_string(token, first) => inner(ConstantKind::Text),
        b'0'..=b'9' if matches!(before, "<" | ">" | "=") => number(token),
        _ => None,
    }
}

/// Whether `<...>` is an absolute IRI that no base changes, and nothing else.
fn is_plain_iri(token: &str) -> bool {
    let scheme = token[1..].split_once(':').map_or("", |(scheme, _)| scheme);
    let is_scheme = scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'));
    let has_dot_segment = |pair: &[u8]| pair[1] == b'.' && matches!(pair[0], b'/' | b':');
    is_scheme && !token.as_bytes().windows(2).any(has_dot_segment) && !may_be_comparisons(token)
}

/// Whether a string ends, has simple quotes and no escapes.
fn is_short_string(token: &str, quote: u8) -> bool {
    let bytes = token.as_bytes();
    let [_, inner @ .., last] = bytes else {
        return false;
    };
    let is_plain = |byte: &u8| *byte != quote && !matches!(byte, b'\\' | b'\n' | b'\r');
    *last == quote && inner.iter().all(is_plain)
}

fn number(token: &str) -> Option<Constant<'_>> {
    let are_digits = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let kind = match token.split_once('.') {
        None if are_digits(token) => ConstantKind::Integer,
        Some((whole, fraction)) if are_digits(whole) && are_digits(fraction) => {
            ConstantKind::Decimal
        }
        _ => return None,
    };
    Some(Constant { kind, text: token })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A template with `▢` in place of marks, and the constants.
    fn lifted(text: &str) -> Option<(String, Vec<&str>)> {
        let lifted = lift(text)?;
        let template = lifted.with(|place, constant| format!("▢{}{place}", constant.kind.letter()));
        let constants = lifted.constants.iter().map(|constant| constant.text);
        Some((template, constants.collect()))
    }

    #[test]
    fn constants_are_lifted_from_the_first_brace_on() {
        for (text, template, constants) in [
            (
                "PREFIX e: <http://e/> SELECT * FROM <http://g> { <http://s> e:p \"o\"@en, '1'^^<http://t> }",
                "PREFIX e: <http://e/> SELECT * FROM <http://g> { ▢i0 e:p ▢t1@en, ▢t2^^<http://t> }",
                vec!["http://s", "o", "1"],
            ),
            (
                "{ ?s ?p 1 FILTER(?x>=1&&?y != 1.50 || 2 < ?z && ?z < -3 && ?z < 1e3) } LIMIT 4",
                "{ ?s ?p 1 FILTER(?x>=▢n0&&?y != ▢d1 || 2 < ?z && ?z < -3 && ?z < 1e3) } LIMIT 4",
                vec!["1", "1.50"],
            ),
            (
                "{ ?s ?p <http://a>, <http://b>, <http://a>, \"http://a\", '''x''', 'a\\n', \"\" } # <http://c>",
                "{ ?s ?p ▢i0, ▢i1, ▢i0, ▢t2, '''x''', 'a\\n', ▢t3 } # <http://c>",
                vec!["http://a", "http://b", "http://a", ""],
            ),
            (
                "{ SELECT (GROUP_CONCAT(?x ; separator = ', ') AS ?c) { ?x ?p ', ' } }",
                "{ SELECT (GROUP_CONCAT(?x ; separator = ', ') AS ?c) { ?x ?p ▢t0 } }",
                vec![", "],
            ),
            (
                "{ ?s <p>, <a:b>, <http://e/a/../b>, <http://e/a.b>, </a:b>, <1:2>, <a:./b> ?o }",
                "{ ?s <p>, ▢i0, <http://e/a/../b>, ▢i1, </a:b>, <1:2>, <a:./b> ?o }",
                vec!["a:b", "http://e/a.b"],
            ),
            (
                "{ FILTER(?a <b,c> ?d || ?a <http://e/(x)> ?d) }",
                "{ FILTER(?a <b,c> ?d || ?a ▢i0 ?d) }",
                vec!["http://e/(x)"],
            ),
        ] {
            assert_eq!(
                lifted(text),
                Some((template.to_owned(), constants)),
                "{text}"
            );
        }
    }

    #[test]
    fn texts_that_are_no_templates_stay_whole() {
        let many: String = (0..65)
            .map(|number| format!("<http://e/{number}> "))
            .collect();
        for text in [
            "{ ?s ?p ?o }",
            "BASE <http://e/> SELECT * { ?s <http://p> ?o }",
            "{ ?s <http://p> '\\u0041' }",
            "{ ?s <http://p> '\u{1}' }",
            "{ ?s ?p 'a }",
            &format!("{{ VALUES ?s {{ {many} }} }}"),
            &format!("{{ ?s <http://p> ?o }} # {}", "x".repeat(BYTES_MAX)),
        ] {
            assert_eq!(lifted(text), None, "{text}");
        }
    }
}
