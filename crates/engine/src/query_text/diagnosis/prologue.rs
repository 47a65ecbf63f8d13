//! How a text begins: its declarations, the first word after them, and whether every prefix that it uses is declared before. Here
//! it also shows that a query was sent as an update, or the other way round.

use super::places::{part, placed, shortened};
use super::tokens::{Kind, prefix_of};
use super::words::{QUERY_WORDS, UPDATE_WORDS, is_in, meant};
use super::{PLACE_SHOWN, Page, Wanted};
use std::collections::HashSet;

impl<'a> Page<'a> {
    /// The prefixes that are declared anywhere.
    pub(super) fn declared_anywhere(&self) -> HashSet<&'a str> {
        let pairs = self.tokens.windows(2);
        pairs
            .filter_map(|pair| match pair {
                [word, name] if word.is_word("PREFIX") => Some(prefix_of(name.text)),
                _ => None,
            })
            .collect()
    }

    /// The place after the declarations at the beginning; what is wrong where one of them is.
    fn declarations(&self) -> Result<usize, String> {
        let mut index = 0;
        // Termination: every round goes on by a declaration.
        while let Some(word) = self.token(index) {
            let (kind, next) = (
                |i| self.token(i).map(|token| token.kind),
                self.token(index + 1),
            );
            if word.is_word("PREFIX") {
                let is_prefix = next.is_some_and(|name| {
                    name.kind == Kind::Name && prefix_of(name.text).len() + 1 == name.text.len()
                });
                if !is_prefix || kind(index + 2) != Some(Kind::Iri) {
                    let what = "a prefix is declared as in PREFIX ex: <http://example.org/>, with the colon and the angle brackets";
                    return Err(placed(self.text, what, word.at));
                }
                index += 3;
            } else if word.is_word("BASE") {
                if kind(index + 1) != Some(Kind::Iri) {
                    let what = "after BASE stands an IRI in angle brackets";
                    return Err(placed(self.text, what, word.at));
                }
                index += 2;
            } else if word.is_word("VERSION") && kind(index + 1) == Some(Kind::String) {
                index += 2;
            } else if word.kind == Kind::Language && is_in(&["@prefix", "@base"], word.text) {
                let keyword = part(word.text, 1, word.text.len()).to_ascii_uppercase();
                let what = format!(
                    "here it is {keyword} and not «{}», and no dot stands after the IRI",
                    word.text
                );
                return Err(placed(self.text, &what, word.at));
            } else if index > 0 && [".", ";", ","].iter().any(|mark| word.is_mark(mark)) {
                let what = format!("no «{}» stands after a declaration", word.text);
                return Err(placed(self.text, &what, word.at));
            } else {
                break;
            }
        }
        Ok(index)
    }

    pub(super) fn first_word(&self) -> Option<String> {
        let index = match self.declarations() {
            Ok(index) => index,
            Err(mistake) => return Some(mistake),
        };
        let Some(first) = self.token(index) else {
            let is_query = self.wanted == Wanted::Query;
            return is_query.then(|| "the query ends after its declarations".to_owned());
        };
        let (own, other) = match self.wanted {
            Wanted::Query => (QUERY_WORDS, UPDATE_WORDS),
            Wanted::Update => (UPDATE_WORDS, QUERY_WORDS),
        };
        // Escapes may stand for any letters.
        if first.is_one_of(own) || first.text.contains('\\') {
            return None;
        }
        let what = match (self.wanted, first.is_one_of(other)) {
            (Wanted::Query, true) => {
                "it is an update; updates go to the update endpoint".to_owned()
            }
            (Wanted::Update, true) => "it is a query; queries go to the query endpoint".to_owned(),
            (_, false) => {
                let list = match own.split_last() {
                    Some((last, others)) => format!("{} or {last}", others.join(", ")),
                    None => String::new(),
                };
                let article = if self.wanted == Wanted::Query {
                    "a"
                } else {
                    "an"
                };
                let name = self.wanted_name();
                let word = shortened(first.text, PLACE_SHOWN);
                let meant = meant(first.text, &[own]);
                format!("{article} {name} begins with {list}, and not with «{word}»{meant}")
            }
        };
        self.placed(&what, first.at)
    }

    /// A prefixed name whose prefix is not declared before it.
    pub(super) fn undeclared_prefix(&self) -> Option<String> {
        let mut declared = HashSet::new();
        for (index, token) in self.tokens.iter().enumerate() {
            if token.kind != Kind::Name {
                continue;
            }
            let prefix = prefix_of(token.text);
            if self
                .before(index)
                .is_some_and(|word| word.is_word("PREFIX"))
            {
                declared.insert(prefix);
            } else if !declared.contains(prefix) {
                let is_iri = part(self.text, token.end(), self.text.len()).starts_with("//");
                let name = shortened(token.text, 2 * PLACE_SHOWN);
                let prefix = shortened(prefix, PLACE_SHOWN);
                let what = match is_iri {
                    true => format!(
                        "the prefix «{prefix}:» is not declared; an IRI stands in angle brackets, as in <{prefix}://example.org/>"
                    ),
                    false => format!("the prefix «{prefix}:» is not declared: «{name}»"),
                };
                return self.placed(&what, token.at);
            }
        }
        None
    }
}
