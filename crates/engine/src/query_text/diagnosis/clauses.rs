//! Clauses: what has to follow a word, what a list of selected things is written like, and the order of the clauses after the
//! pattern. Most of what is found here is right in another language.

use super::Page;
use super::tokens::{Kind, Token};
use super::words::{FUNCTIONS, is_in};

/// Words and what has to follow them.
const FOLLOWED: &[(&str, &[&str])] = &[
    ("OPTIONAL", &["{"]),
    ("UNION", &["{"]),
    ("MINUS", &["{"]),
    ("EXISTS", &["{"]),
    ("LATERAL", &["{"]),
    ("WHERE", &["{"]),
    ("BIND", &["("]),
    ("IN", &["("]),
    ("DROP", &["GRAPH", "DEFAULT", "NAMED", "ALL", "SILENT"]),
    ("DATA", &["{"]),
    ("CLEAR", &["GRAPH", "DEFAULT", "NAMED", "ALL", "SILENT"]),
    ("CREATE", &["GRAPH", "SILENT"]),
    ("INSERT", &["{", "DATA"]),
    ("DELETE", &["{", "DATA", "WHERE"]),
    ("NOT", &["EXISTS", "IN"]),
    ("GROUP", &["BY"]),
    ("ORDER", &["BY"]),
];

impl Page<'_> {
    /// Words without what has to follow them, and operators of other languages.
    pub(super) fn without_its_follower(&self) -> Option<String> {
        for (index, token) in self.tokens.iter().enumerate() {
            let next = self.token(index + 1);
            let what = match token.kind {
                Kind::Mark if token.text == "=" => {
                    let is_double =
                        next.is_some_and(|next| next.is_mark("=") && next.at == token.end());
                    is_double.then(|| "there is no operator «==»; equality is «=»".to_owned())
                }
                Kind::Word if token.is_one_of(&["FILTER", "HAVING"]) => {
                    let is_bare = next.is_none_or(|next| {
                        next.is_mark("!")
                            || matches!(next.kind, Kind::Variable | Kind::String | Kind::Number)
                    });
                    is_bare.then(|| {
                        let word = token.text.to_ascii_uppercase();
                        format!("the expression after {word} stands in brackets")
                    })
                }
                Kind::Word if is_in(FUNCTIONS, token.text) => {
                    let is_call = next.is_some_and(|next| next.is_mark("("));
                    (!is_call).then(|| format!("after {} a «(» is missing", token.text))
                }
                Kind::Word => {
                    let known = FOLLOWED.iter().find(|(word, _)| token.is_word(word));
                    known.and_then(|(word, wanted)| {
                        let is_there = next.is_some_and(|next| is_in(wanted, next.text));
                        (!is_there)
                            .then(|| format!("after {word} stands «{}»", wanted.join("» or «")))
                    })
                }
                _ => None,
            };
            if let Some(what) = what {
                return self.placed(&what, token.at);
            }
        }
        None
    }

    /// Places where something is missing.
    pub(super) fn missing_part(&self) -> Option<String> {
        for (index, token) in self.tokens.iter().enumerate() {
            let next = self.token(index + 1);
            let is_next = |kinds: &[Kind]| next.is_some_and(|next| kinds.contains(&next.kind));
            let what = if token.is_one_of(&["LIMIT", "OFFSET"]) {
                let is_number = is_next(&[Kind::Number]);
                (!is_number).then(|| {
                    let word = token.text.to_ascii_uppercase();
                    format!("after {word} stands a whole number")
                })
            } else if token.is_word("FROM") {
                let is_graph = is_next(&[Kind::Iri, Kind::Name, Kind::Word]);
                (!is_graph).then(|| "after FROM stands the IRI of a graph".to_owned())
            } else if token.is_word("SELECT") {
                let is_end =
                    next.is_none_or(|next| next.is_mark("{") || next.is_one_of(&["WHERE", "FROM"]));
                is_end.then(|| "after SELECT stand the variables, or a *".to_owned())
            } else if token.kind == Kind::Mark && matches!(token.text, "&" | "|" | "=" | "/" | ",")
            {
                let is_end = next.is_some_and(|next| next.is_mark(")"));
                is_end.then(|| format!("after «{}» something is missing", token.text))
            } else {
                None
            };
            if let Some(what) = what {
                return self.placed(&what, token.at);
            }
        }
        None
    }

    /// What is selected: commas, and expressions without brackets or names.
    pub(super) fn selection(&self) -> Option<String> {
        let mut depth: usize = 0;
        // The depth of the SELECT whose list is read, and whether the bracket that is open in it has an AS.
        let mut list: Option<usize> = None;
        let mut named = true;
        for token in self.tokens {
            let is_here = list == Some(depth);
            let what = match token.text {
                "{" if is_here => {
                    list = None;
                    depth += 1;
                    None
                }
                "(" | "[" | "{" if token.kind == Kind::Mark => {
                    if is_here {
                        named = false;
                    }
                    depth += 1;
                    None
                }
                ")" | "]" | "}" if token.kind == Kind::Mark => {
                    depth = depth.saturating_sub(1);
                    let is_unnamed = list == Some(depth) && !named;
                    is_unnamed.then(|| {
                        "an expression that is selected needs a name, as in (COUNT(?x) AS ?count); it ends".to_owned()
                    })
                }
                "," if is_here || depth == 0 => Some(
                    "what is selected, grouped or ordered by stands side by side, without commas"
                        .to_owned(),
                ),
                word if is_here && token.kind == Kind::Word && is_in(FUNCTIONS, word) => {
                    Some(format!(
                        "an expression that is selected stands in brackets and has a name, as in ({word}(…) AS ?name)"
                    ))
                }
                _ if is_here && token.is_one_of(&["FROM", "WHERE"]) => {
                    list = None;
                    None
                }
                _ if token.is_word("SELECT") => {
                    list = Some(depth);
                    None
                }
                _ => {
                    named |= list == depth.checked_sub(1) && token.is_word("AS");
                    None
                }
            };
            if let Some(what) = what {
                return self.placed(&what, token.at);
            }
        }
        None
    }

    /// Clauses after the pattern in a wrong order.
    pub(super) fn order_of_clauses(&self) -> Option<String> {
        const ORDER: [&str; 6] = ["GROUP", "HAVING", "ORDER", "LIMIT", "OFFSET", "VALUES"];
        let rank = |token: &Token<'_>| {
            let found = ORDER.iter().position(|word| token.is_word(word));
            // LIMIT and OFFSET stand in either order.
            found.map(|at| if at == 4 { 3 } else { at })
        };
        // Of each bracket that is open, and of the text.
        let mut last: Vec<Option<usize>> = vec![None];
        for token in self.tokens {
            match token.text {
                "(" | "[" | "{" if token.kind == Kind::Mark => last.push(None),
                ")" | "]" | "}" if token.kind == Kind::Mark => {
                    last.pop();
                }
                _ => {}
            }
            let (Some(rank), Some(before)) = (rank(token), last.last_mut()) else {
                continue;
            };
            let earlier = before
                .replace(rank)
                .filter(|earlier| *earlier > rank && *earlier < 5);
            if let Some(word) = earlier.and_then(|earlier| ORDER.get(earlier)) {
                let what = format!(
                    "{} stands before {word}, and not after it",
                    token.text.to_ascii_uppercase()
                );
                return self.placed(&what, token.at);
            }
        }
        None
    }
}
