//! Strings and IRIs without end, escapes that there are not, and characters that nothing is written with. They come first, since
//! after one of them the rest of a text is read as what it is not.

use super::places::{part, shortened};
use super::tokens::{Kind, Token, prefix_of};
use super::words::{KEYWORDS, is_in};
use super::{PLACE_SHOWN, Page};
use crate::query_text::lengths::{iri_inner_length, prefix_length};
use std::collections::HashSet;

impl Page<'_> {
    /// Strings and IRIs without end, and characters that nothing is written with.
    pub(super) fn characters(&self) -> Option<String> {
        let mut prefixes: Option<HashSet<&str>> = None;
        let mut brackets = Vec::new();
        for (index, token) in self.tokens.iter().enumerate() {
            let what = match token.kind {
                Kind::Unended => Some(unended_string(token.text)),
                Kind::Foreign => Some(foreign(token.text)),
                Kind::String => {
                    if let Some((escape, at)) = wrong_escape(token.text) {
                        let what = format!(
                            "a string has the escape «{escape}», which there is not; a backslash is written \\\\"
                        );
                        return self.placed(&what, token.at + at);
                    }
                    let next = self.token(index + 1).filter(|next| next.at == token.end());
                    let next = next.filter(|next| match next.kind {
                        Kind::Word => !is_in(KEYWORDS, next.text),
                        Kind::Name => {
                            let known = prefixes.get_or_insert_with(|| self.declared_anywhere());
                            !known.contains(prefix_of(next.text))
                        }
                        _ => false,
                    });
                    next.map(|next| {
                        let quote = part(token.text, 0, 1);
                        format!(
                            "a string ends before «{}», with no blank or mark after it; inside quotes write \\{quote}",
                            shortened(next.text, PLACE_SHOWN)
                        )
                    })
                }
                Kind::Mark => match token.text {
                    "(" | "[" | "{" => {
                        brackets.push(token.text);
                        None
                    }
                    ")" | "]" | "}" => {
                        brackets.pop();
                        None
                    }
                    "<" => self.unended_iri(token, brackets.last() == Some(&"(")),
                    _ => None,
                },
                _ => None,
            };
            // A string that ends too early is shown where what follows it stands.
            let at = if token.kind == Kind::String {
                token.end()
            } else {
                token.at
            };
            if let Some(what) = what {
                return self.placed(&what, at);
            }
        }
        None
    }

    /// What is wrong with a `<` that begins an IRI and is not ended; nothing where it may be an operator.
    fn unended_iri(&self, token: &Token<'_>, in_parentheses: bool) -> Option<String> {
        let rest = part(self.text, token.at, self.text.len());
        let inner = part(rest, 1, 1 + iri_inner_length(rest));
        let scheme = prefix_length(inner, |c| c.is_ascii_alphanumeric());
        let after = part(inner, scheme, inner.len());
        let is_iri = scheme > 0 && after.starts_with("://")
            || !in_parentheses
                && inner.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/' || c == '#');
        if !is_iri {
            return None;
        }
        let stop = match part(rest, 1 + inner.len(), rest.len()).chars().next() {
            None => String::new(),
            Some('\n' | '\r') => ": there is no «>» before the end of the line".to_owned(),
            Some(c) if c <= ' ' => ": there is no «>» before the blank".to_owned(),
            Some(c) => format!(": there is no «>» before the «{c}»"),
        };
        let start = shortened(part(rest, 0, 1 + inner.len()), 2 * PLACE_SHOWN);
        Some(format!(
            "the IRI that begins with «{start}» has no end{stop}"
        ))
    }
}

fn unended_string(text: &str) -> String {
    let quote = prefix_length(text, |c| c == '"' || c == '\'');
    let is_long = quote >= 3;
    let hint = match is_long {
        true => "",
        false => " on its line",
    };
    format!(
        "the text that begins with «{}» has no end{hint}",
        shortened(text, PLACE_SHOWN)
    )
}

fn foreign(text: &str) -> String {
    match text.chars().next() {
        Some(c @ ('“' | '”' | '„' | '‘' | '’' | '«' | '»')) => {
            format!("the quote «{c}» begins no string; it is \" or '")
        }
        Some(c) if c.is_whitespace() || c == '\u{200B}' || c == '\u{FEFF}' => {
            format!(
                "the character U+{:04X} looks like a blank and is none here",
                u32::from(c)
            )
        }
        Some(c) => format!("the character «{c}» stands only in strings, IRIs and comments"),
        None => String::new(),
    }
}

/// An escape that strings do not have, and where in the string it is.
fn wrong_escape(string: &str) -> Option<(String, usize)> {
    let mut characters = string.char_indices();
    while let Some((at, c)) = characters.next() {
        if c != '\\' {
            continue;
        }
        let (_, escaped) = characters.next()?;
        if !"tbnrf\"'\\uU".contains(escaped) {
            let shown = if escaped.is_control() { ' ' } else { escaped };
            return Some((format!("\\{shown}"), at));
        }
    }
    None
}
