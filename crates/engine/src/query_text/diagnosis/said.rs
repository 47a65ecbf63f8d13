//! The parser's own message, made readable: its sentences as they are, else its place and a short list of what it expected. It
//! is said only where no mistake was found in the text.

use super::places::{byte_of, part, shortened, within};
use super::tokens::{Kind, Token};
use super::{PLACE_SHOWN, Page};
use crate::query_text::lengths::prefix_length;

/// Things that a message says were expected.
const EXPECTED_SHOWN: usize = 8;

/// What the parser said.
pub(super) struct Said<'m> {
    line: usize,
    column: usize,
    /// The byte of that place, where the text has it.
    at: Option<usize>,
    items: Vec<&'m str>,
}

impl<'m> Said<'m> {
    /// Nothing where the message is none that has a place.
    pub(super) fn of(text: &str, message: &'m str) -> Option<Self> {
        let (_, rest) = message.split_once("error at ")?;
        let (line, rest) = rest.split_once(':')?;
        let (column, rest) = rest.split_once(": expected ")?;
        let (line, column) = (line.parse().ok()?, column.parse().ok()?);
        let list = rest.strip_prefix("one of ").unwrap_or(rest);
        let at = byte_of(text, line, column);
        let items = list.split(", ").map(str::trim).collect();
        Some(Self {
            line,
            column,
            at,
            items,
        })
    }

    /// The message without what nobody can read.
    pub(super) fn readable(&self, text: &str) -> String {
        let is_shown = |item: &&str| {
            !item.is_empty() && !item.starts_with(['[', '<']) && *item != "Prefix not found"
        };
        let items: Vec<&str> = self
            .items
            .iter()
            .copied()
            .filter(is_shown)
            .take(EXPECTED_SHOWN)
            .collect();
        let (line, column) = (self.line, self.column);
        let at = self.at.unwrap_or(text.len());
        let rest = part(text, at, text.len());
        let there = match rest.trim_start() {
            "" => "the end".to_owned(),
            rest => format!("«{}»", shortened(rest, PLACE_SHOWN)),
        };
        let what = match items.is_empty() {
            true => "it cannot be read from here on".to_owned(),
            false => format!("expected {}", items.join(", ")),
        };
        format!(
            "error at {line}:{column}: {what}, where {there} stands{}",
            within(text, at)
        )
    }
}

impl Page<'_> {
    /// What the parser says in words.
    pub(super) fn said_sentence(&self, said: &Said<'_>) -> Option<String> {
        let is_sentence = |item: &&&str| {
            item.split_whitespace().count() >= 3 && !item.starts_with(['[', '"', '\'', '<'])
        };
        let mut items = said.items.iter().filter(is_sentence);
        let sentence = items.find(|item| **item != "Prefix not found")?;
        if sentence.contains("overrid")
            && let Some(twice) = self.value_twice()
        {
            return Some(twice);
        }
        let iri = self.tokens.iter().filter(|token| token.kind == Kind::Iri);
        let has_base = self.tokens.iter().any(|token| token.is_word("BASE"));
        let what = match *sentence {
            "The SELECT contains a variable that is unbound" => {
                return Some(
                    "a variable is selected that is neither in GROUP BY nor in an aggregate"
                        .to_owned(),
                );
            }
            "The SELECT contains an expression with a variable that is unbound" => {
                return Some("an expression that is selected has a variable that is neither in GROUP BY nor in an aggregate".to_owned());
            }
            "IRI parsing failed" => match iri.clone().find(|iri| !has_scheme(iri.text)) {
                Some(iri) if !has_base => {
                    let what = format!(
                        "the IRI {} is relative, and there is no BASE",
                        shortened(iri.text, 2 * PLACE_SHOWN)
                    );
                    return self.placed(&what, iri.at);
                }
                _ => "an IRI cannot be read".to_owned(),
            },
            sentence if sentence.starts_with("Variables are not allowed in ") => {
                let what = with_small_start(sentence);
                return match self.variable_in_data() {
                    Some(variable) => {
                        let what = format!("{what}: «{}»", variable.text);
                        self.placed(&what, variable.at)
                    }
                    None => Some(what),
                };
            }
            sentence => with_small_start(sentence.trim_end_matches('.')),
        };
        let at = said.at?;
        let is_end = !self.tokens.iter().any(|token| token.end() > at);
        match is_end {
            true => Some(what),
            false => self.placed(&what, at),
        }
    }

    /// The first variable within INSERT DATA or DELETE DATA.
    fn variable_in_data(&self) -> Option<&Token<'_>> {
        let mut depth: Option<usize> = None;
        for (index, token) in self.tokens.iter().enumerate() {
            let is_data = token.is_word("DATA")
                && self
                    .before(index)
                    .is_some_and(|word| word.is_one_of(&["INSERT", "DELETE"]));
            depth = match depth {
                None => is_data.then_some(0),
                Some(_) if token.kind == Kind::Variable => return Some(token),
                Some(within) if token.is_mark("{") => Some(within + 1),
                Some(within) if token.is_mark("}") => (within > 1).then(|| within - 1),
                within => within,
            };
        }
        None
    }
}

fn has_scheme(iri: &str) -> bool {
    let inner = part(iri, 1, iri.len());
    let scheme = prefix_length(inner, |c| {
        c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.')
    });
    scheme > 0 && part(inner, scheme, inner.len()).starts_with(':')
}

/// A sentence as a part of another; abbreviations and keywords keep their letters.
fn with_small_start(sentence: &str) -> String {
    let mut characters = sentence.chars();
    let (first, second) = (characters.next(), characters.next());
    match (first, second) {
        (Some(first), Some(second)) if !second.is_uppercase() => {
            let rest = part(sentence, first.len_utf8(), sentence.len());
            first.to_lowercase().chain(rest.chars()).collect()
        }
        _ => sentence.to_owned(),
    }
}
