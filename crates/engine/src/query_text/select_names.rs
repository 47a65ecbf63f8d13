//! Names that a grouped SELECT gives and uses again, which the parser does not let it do.
//!
//! ```text
//! SELECT (COUNT(*) AS ?n) (?n / 2 AS ?half) { .. }         COALESCE(?n) / 2
//! SELECT ?w { .. } GROUP BY (?v AS ?w)                     (COALESCE(?v) AS ?w)
//! ```
//!
//! The parser takes a name for one that nothing binds, but looks into no COALESCE, and that of one variable is the variable. HAVING comes before
//! the names, and does not see them.
//!
//! Invariant: texts without such names come back as none; nothing inside strings, IRIs and comments is altered. Cost: one pass over the text.

use super::{AGGREGATES, Kind, Tokens};
use std::ops::Range;

/// What `parse` makes of a text with such names. Places in messages are those of the text as it is.
pub fn with_names<T, E>(text: &str, parse: impl Fn(&str) -> Result<T, E>) -> Result<T, E> {
    match told(text) {
        None => parse(text),
        Some(told) => parse(&told).or_else(|_| parse(text)),
    }
}

/// The text as the parser understands it; `None` if it does already.
fn told(text: &str) -> Option<String> {
    let mut pass = Pass {
        text,
        around: Vec::new(),
        level: Level::default(),
        edits: Vec::new(),
    };
    for (kind, range) in Tokens::new(text) {
        let token = &text[range.clone()];
        if !is_blank(token) {
            pass.token(kind, token, range);
        }
    }
    while pass.close() {}
    pass.edits.sort_by_key(|edit| edit.place.start);
    (!pass.edits.is_empty()).then(|| edited(text, &pass.edits))
}

/// Something else in place of a token.
struct Edit {
    place: Range<usize>,
    text: String,
}

/// The text with what was edited in it, in order.
fn edited(text: &str, edits: &[Edit]) -> String {
    let mut out = String::new();
    let mut end = 0;
    for edit in edits {
        out.push_str(&text[end..edit.place.start]);
        out.push_str(&edit.text);
        end = edit.place.end;
    }
    out.push_str(&text[end..]);
    out
}

/// The part of a query that a token belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Clause {
    #[default]
    Pattern,
    Select,
    GroupBy,
    /// HAVING and what comes after it.
    Rest,
}

/// A group, or the text outside of all: at most one SELECT.
#[derive(Default)]
struct Level<'a> {
    clause: Clause,
    /// Brackets that are open.
    depth: usize,
    /// The bracket of a function inside which names are not there.
    closed_from: Option<usize>,
    is_grouped: bool,
    names: Vec<&'a str>,
    /// The last token.
    last: &'a str,
    /// Where the expression at hand begins.
    start: usize,
    /// What is edited if the query is grouped.
    edits: Vec<Edit>,
}

struct Pass<'a> {
    text: &'a str,
    around: Vec<Level<'a>>,
    level: Level<'a>,
    edits: Vec<Edit>,
}

impl<'a> Pass<'a> {
    fn token(&mut self, kind: Kind, token: &'a str, range: Range<usize>) {
        match token {
            "{" => {
                if self.level.depth == 0 {
                    self.level.clause = Clause::Pattern;
                }
                self.level.last = token;
                self.around.push(std::mem::take(&mut self.level));
                return;
            }
            "}" => {
                self.close();
                return;
            }
            "(" => self.level.open(range.end),
            ")" => self.level.close(),
            _ if kind == Kind::Word => self.word(token, range),
            _ if token.len() > 1 && token.starts_with(['?', '$']) => self.variable(token, range),
            _ => {}
        }
        self.level.last = token;
    }

    /// Ends a group, and goes on in the one around it, if there is one.
    fn close(&mut self) -> bool {
        let around = self.around.pop();
        let is_inner = around.is_some();
        let level = std::mem::replace(&mut self.level, around.unwrap_or_default());
        if level.is_grouped {
            self.edits.extend(level.edits);
        }
        is_inner
    }

    fn word(&mut self, word: &'a str, range: Range<usize>) {
        let level = &mut self.level;
        let is = |other: &str| word.eq_ignore_ascii_case(other);
        if is("AS") && level.depth == 1 && level.clause == Clause::GroupBy {
            level.group(self.text, range.start);
        }
        if level.depth > 0 {
            return;
        }
        level.clause = match level.clause {
            _ if is("SELECT") => {
                *level = Level::default();
                Clause::Select
            }
            Clause::Select if is("WHERE") || is("FROM") => Clause::Pattern,
            Clause::Select => Clause::Select,
            _ if is("GROUP") => {
                level.is_grouped = true;
                Clause::GroupBy
            }
            _ if is("HAVING") || is("ORDER") || is("LIMIT") || is("OFFSET") || is("VALUES") => {
                Clause::Rest
            }
            clause => clause,
        };
    }

    fn variable(&mut self, token: &'a str, range: Range<usize>) {
        let (name, level) = (&token[1..], &mut self.level);
        if level.clause != Clause::Select || level.depth == 0 {
            return;
        }
        if level.last.eq_ignore_ascii_case("AS") && level.depth == 1 {
            level.names.push(name);
        } else if level.closed_from.is_none() && level.names.contains(&name) {
            level.edits.push(Edit {
                place: range,
                text: format!("COALESCE({token})"),
            });
        }
    }
}

impl Level<'_> {
    /// An opening bracket, which ends here.
    fn open(&mut self, end: usize) {
        let before = self.last;
        let is_aggregate = is_one_of(before, AGGREGATES);
        self.is_grouped |= is_aggregate && self.clause != Clause::Pattern;
        self.depth += 1;
        if self.closed_from.is_none() && (is_aggregate || is_one_of(before, &["BOUND"])) {
            self.closed_from = Some(self.depth);
        }
        if self.depth == 1 {
            self.start = end;
        }
    }

    fn close(&mut self) {
        if self.closed_from == Some(self.depth) {
            self.closed_from = None;
        }
        self.depth = self.depth.saturating_sub(1);
    }

    /// The expression at hand of GROUP BY, which ends here, gets a name; the parser forgets that of what is nothing but a variable.
    fn group(&mut self, text: &str, end: usize) {
        let expression = &text[self.start..end];
        let tokens = Tokens::new(expression).map(|(_, range)| &expression[range]);
        let tokens: Vec<&str> = tokens
            .filter(|token| !is_blank(token) && !["(", ")"].contains(token))
            .collect();
        let is_variable = matches!(tokens[..], [one] if one.starts_with(['?', '$']));
        if is_variable {
            self.edits.push(Edit {
                place: self.start..end,
                text: format!("COALESCE({expression})"),
            });
        }
    }
}

/// Whether a token is between others.
fn is_blank(token: &str) -> bool {
    token.starts_with('#') || token.starts_with(char::is_whitespace)
}

fn is_one_of(word: &str, words: &[&str]) -> bool {
    words.iter().any(|known| word.eq_ignore_ascii_case(known))
}

#[cfg(test)]
mod tests {
    use super::{told, with_names};
    use spargebra::SparqlParser;

    #[test]
    fn names_stand_for_what_they_are_given() {
        let cases = [
            (
                "SELECT (COUNT(*) AS ?n) (?n/2 AS ?half) {}",
                "SELECT (COUNT(*) AS ?n) (COALESCE(?n)/2 AS ?half) {}",
            ),
            (
                "select (sum(?x) as $n) (?n + $n as ?m) (bound(?n) as ?b) {}",
                "select (sum(?x) as $n) (COALESCE(?n) + COALESCE($n) as ?m) (bound(?n) as ?b) {}",
            ),
            (
                "SELECT ?k (?k AS ?j) (?j AS ?i) {} GROUP BY ?k",
                "SELECT ?k (?k AS ?j) (COALESCE(?j) AS ?i) {} GROUP BY ?k",
            ),
            (
                "SELECT ?w {} GROUP BY (?v AS ?w) ( ((?v)) # )\nAS ?u) (?v + 1 AS ?x) ?v",
                "SELECT ?w {} GROUP BY (COALESCE(?v )AS ?w) (COALESCE( ((?v)) # )\n)AS ?u) (?v + 1 AS ?x) ?v",
            ),
            (
                "SELECT (COUNT(*) AS ?n) (?n+1 AS ?m) {} HAVING(?n > 1) ORDER BY ?n LIMIT 1",
                "SELECT (COUNT(*) AS ?n) (COALESCE(?n)+1 AS ?m) {} HAVING(?n > 1) ORDER BY ?n LIMIT 1",
            ),
            (
                "SELECT * { { SELECT (MIN(?x) AS ?n) (?n AS ?m) { } } UNION { SELECT (?n AS ?m) {} } ?n ?m ?l }",
                "SELECT * { { SELECT (MIN(?x) AS ?n) (COALESCE(?n) AS ?m) { } } UNION { SELECT (?n AS ?m) {} } ?n ?m ?l }",
            ),
            (
                "ASK { SELECT (MIN(?x) AS ?n) (EXISTS { ?n ?p ?q } && ?n > 1 AS ?m) {} }",
                "ASK { SELECT (MIN(?x) AS ?n) (EXISTS { ?n ?p ?q } && COALESCE(?n) > 1 AS ?m) {} }",
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(told(text).as_deref(), Some(expected), "{text}");
            assert!(
                SparqlParser::new().parse_query(expected).is_ok(),
                "{expected}"
            );
        }
    }

    #[test]
    fn all_else_stays() {
        let texts = [
            "SELECT (?x + 1 AS ?y) (?y + 1 AS ?z) { ?s ?p ?x }",
            "SELECT ('?n' AS ?n) (<?n> AS ?m) (COUNT(?n) AS ?o) {}",
            "SELECT ?n { { SELECT (COUNT(*) AS ?n) {} } FILTER(?n > 1) BIND(?n + 1 AS ?m) }",
            "SELECT (MAX(?n) AS ?n) { ?s ?p ?n } HAVING(?n > 1)",
            "SELECT (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?s ORDER BY (?n + 1)",
            "SELECT ?s { ?s ?p ?o } GROUP BY ?s (STR(?s) AS ?n) HAVING(COUNT(*) > 1)",
            "INSERT { ?s ?p ?n } WHERE { { SELECT ?s (COUNT(*) AS ?n) { ?s ?p ?o } GROUP BY ?s } }",
            "SELECT (COUNT(*) AS ?n",
            ") } ( SELECT AS ?n ) } AS",
            "",
        ];
        for text in texts {
            assert_eq!(told(text), None, "{text}");
        }
    }

    #[test]
    fn errors_are_those_of_the_text_as_it_is() {
        let text = "SELECT (COUNT(*) AS ?n) (?n AS ?m) {} ORDER";
        let parse = |text: &str| {
            SparqlParser::new()
                .parse_query(text)
                .map_err(|e| e.to_string())
        };
        assert_eq!(with_names(text, parse), parse(text));
    }
}
