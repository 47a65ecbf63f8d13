//! What is wrong with a query or an update that does not parse, in words for the one who wrote it. The parser says where its
//! furthest attempt ended, which is mostly the end of the text, and what it would have liked there, which is mostly misleading.
//! So [`diagnose`] looks through the text by itself for the mistakes that people make, the plainest first: strings without end, a
//! wrong first word, prefixes that are not declared, brackets, names of functions, keywords, and habits of other languages. Only
//! where it finds none does it say what the parser said, without what nobody can read.

mod brackets;
mod characters;
mod clauses;
mod operations;
mod places;
mod prologue;
#[cfg(test)]
mod right_texts;
mod said;
mod scopes;
#[cfg(test)]
mod tests;
mod tokens;
mod triples;
mod words;
#[cfg(test)]
mod wrong_texts;

use places::placed;
use said::Said;
use tokens::{Token, Tokens};

/// What a text was to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Query,
    Update,
}

/// Characters that a message shows of what stands at a place.
const PLACE_SHOWN: usize = 30;

/// What is wrong with a text that the parser has refused with this message, as far as that is plain; else the parser's message
/// made readable.
///
/// ```text
/// error at 1:27: expected one of BIND, [_]
///   -> a string ends before «s», with no blank or mark after it; inside quotes write \', at line 1, column 23, in «…»
/// ```
///
/// Invariants: it is called for refused texts, but finds nothing in a right one either; no text makes it panic; it does not
/// recurse. Cost: some passes over the text, and the list of its tokens.
pub(crate) fn diagnose(text: &str, wanted: Wanted, parser_message: &str) -> String {
    let tokens = Tokens::of(text);
    let page = Page {
        text,
        tokens: &tokens,
        wanted,
    };
    if let Some(mistake) = page.mistake() {
        return mistake;
    }
    let Some(said) = Said::of(text, parser_message) else {
        return parser_message.to_owned();
    };
    page.said_sentence(&said)
        .or_else(|| page.value_twice())
        .unwrap_or_else(|| said.readable(text))
}

/// A text that was refused, to be looked through.
struct Page<'a> {
    text: &'a str,
    tokens: &'a [Token<'a>],
    wanted: Wanted,
}

impl<'a> Page<'a> {
    /// What is plainly wrong, whatever the parser says.
    fn mistake(&self) -> Option<String> {
        self.empty()
            .or_else(|| self.characters())
            .or_else(|| self.first_word())
            .or_else(|| self.undeclared_prefix())
            .or_else(|| self.brackets())
            .or_else(|| self.unknown_function())
            .or_else(|| self.unknown_keyword())
            .or_else(|| self.without_its_follower())
            .or_else(|| self.missing_part())
            .or_else(|| self.selection())
            .or_else(|| self.order_of_clauses())
            .or_else(|| self.operations())
            .or_else(|| self.triples())
    }

    fn wanted_name(&self) -> &'static str {
        match self.wanted {
            Wanted::Query => "query",
            Wanted::Update => "update",
        }
    }

    fn token(&self, index: usize) -> Option<&'a Token<'a>> {
        self.tokens.get(index)
    }

    fn before(&self, index: usize) -> Option<&'a Token<'a>> {
        self.token(index.checked_sub(1)?)
    }

    fn is_mark(&self, index: usize, mark: &str) -> bool {
        self.token(index).is_some_and(|token| token.is_mark(mark))
    }

    /// What is wrong, and where.
    fn placed(&self, what: &str, at: usize) -> Option<String> {
        Some(placed(self.text, what, at))
    }

    fn empty(&self) -> Option<String> {
        let is_empty = self.tokens.is_empty();
        is_empty.then(|| format!("the {} is empty", self.wanted_name()))
    }
}
