//! Triples of too many or too few terms, which is what a forgotten dot makes of them. Only terms that stand side by side are
//! counted, so that no path, bracket or keyword is taken for a mistake.

use super::places::shortened;
use super::tokens::{Kind, Token};
use super::{PLACE_SHOWN, Page};

/// A bracket that is open, as far as its triples are read.
struct Level<'a> {
    is_group: bool,
    /// Rows of values: no triples.
    is_rows: bool,
    are_rows_next: bool,
    /// The terms of the triple so far; nothing where there is more than terms.
    terms: Option<usize>,
    /// The first of them, where it is a subject.
    first: Option<Token<'a>>,
}

impl Page<'_> {
    /// Triples of too many or too few terms; only what stands between marks without any path, bracket or keyword is looked at.
    pub(super) fn triples(&self) -> Option<String> {
        let level = |is_group, is_rows| Level {
            is_group,
            is_rows,
            are_rows_next: false,
            terms: Some(0),
            first: None,
        };
        let mut levels = vec![level(false, false)];
        for token in self.tokens {
            let current = levels.last_mut()?;
            let ends = token.is_mark(".") || token.is_mark("}");
            if ends && let Some(what) = short_triple(current) {
                return self.placed(&what, current.first.map_or(token.at, |first| first.at));
            }
            match token.kind {
                Kind::Mark => match token.text {
                    "(" | "[" | "{" => {
                        let is_rows =
                            std::mem::take(&mut current.are_rows_next) && token.text == "{";
                        // The names of values stand in brackets between the word and the rows.
                        current.are_rows_next =
                            token.text != "{" && !is_rows && current.terms.is_none();
                        current.terms = None;
                        levels.push(level(token.text == "{", is_rows));
                    }
                    ")" | "]" | "}" => {
                        levels.pop();
                        let around = levels.last_mut()?;
                        around.first = None;
                        around.terms = (token.text == "}").then_some(0);
                    }
                    "." => (current.terms, current.first) = (Some(0), None),
                    ";" => (current.terms, current.first) = (Some(1), None),
                    "," => (current.terms, current.first) = (Some(2), None),
                    _ => current.terms = None,
                },
                Kind::Word if !matches!(token.text, "a" | "true" | "false") => {
                    current.terms = None;
                    current.are_rows_next = token.is_word("VALUES");
                }
                Kind::Language => {}
                _ => {
                    if current.terms == Some(0) {
                        current.first = Some(*token);
                    }
                    current.terms = current.terms.map(|terms| terms + 1);
                    if current.terms == Some(4) && current.is_group && !current.is_rows {
                        let term = shortened(token.text, PLACE_SHOWN);
                        let what = format!(
                            "a triple has three parts, so a «.» is missing before «{term}»"
                        );
                        return self.placed(&what, token.at);
                    }
                }
            }
        }
        None
    }
}

fn short_triple(level: &Level<'_>) -> Option<String> {
    let first = level.first.filter(|_| level.is_group && !level.is_rows)?;
    let terms = level.terms.filter(|terms| matches!(terms, 1 | 2))?;
    let first = shortened(first.text, PLACE_SHOWN);
    Some(format!(
        "a triple has three parts, and the one that begins with «{first}» has {terms}"
    ))
}
