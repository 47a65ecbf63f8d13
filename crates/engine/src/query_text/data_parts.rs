//! The data of a long INSERT DATA in parts that are requests themselves, so that no more than one is parsed at a time.
//!
//! ```text
//! PREFIX e: <..> INSERT DATA { e:a e:p 1 . GRAPH e:g { e:b e:p 2 . e:c e:p 3 } }
//!   -> PREFIX e: <..> INSERT DATA { e:a e:p 1 . GRAPH e:g { e:b e:p 2 . } }
//!   -> PREFIX e: <..> INSERT DATA { GRAPH e:g { e:c e:p 3 } }
//! ```
//!
//! The text is cut after full stops that are tokens of their own, outside of all brackets but those of the data and of
//! a graph. What the parts mean, and whether they are right, is the parser's business. Cost: one pass over the tokens to see that the
//! text is like that, another that cuts it.

use super::{Kind, Tokens, has_ascii_escape};
use std::ops::Range;

/// Bytes of a head at most: every part has it.
const HEAD_BYTES_MAX: usize = 64 << 10;

/// A text that is one INSERT DATA and nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataText<'t> {
    text: &'t str,
    /// From the start to the bracket that opens the data, which is in it.
    head: Range<usize>,
    /// Between the brackets.
    data: Range<usize>,
}

fn is_blank(token: &str) -> bool {
    token.starts_with('#') || token.chars().all(char::is_whitespace)
}

impl<'t> DataText<'t> {
    /// A text whose only operation is INSERT DATA; `None` for others, for texts whose brackets are not in pairs, and for those
    /// with a long head.
    pub fn of(text: &'t str) -> Option<Self> {
        if has_ascii_escape(text) {
            return None;
        }
        let mut words: [&str; 2] = ["", ""];
        let mut open = None;
        let mut close: Option<usize> = None;
        let mut depth = 0usize;
        for (kind, range) in Tokens::new(text) {
            let token = &text[range.clone()];
            if close.is_some() && !is_blank(token) && token != ";" {
                return None;
            }
            match token {
                "{" if depth == 0 => {
                    let [first, second] = words;
                    let is_data =
                        first.eq_ignore_ascii_case("INSERT") && second.eq_ignore_ascii_case("DATA");
                    if !is_data || range.end > HEAD_BYTES_MAX {
                        return None;
                    }
                    open = Some(range.end);
                    depth = 1;
                }
                "{" | "[" | "(" => depth += 1,
                "}" if depth == 1 => {
                    depth = 0;
                    close = Some(range.start);
                }
                "}" | "]" | ")" => depth = depth.checked_sub(1)?,
                // Several operations, or the end of one before this.
                ";" if depth == 0 && close.is_none() => return None,
                _ if depth == 0 && kind == Kind::Word => words = [words[1], token],
                _ => {}
            }
        }
        let (open, close) = (open?, close?);
        Some(Self {
            text,
            head: 0..open,
            data: open..close,
        })
    }

    /// All of it.
    pub fn text(&self) -> &'t str {
        self.text
    }

    /// The parts, of about so many bytes of data each.
    pub fn parts(&self, bytes: usize) -> Parts<'t> {
        Parts {
            text: self.text,
            head: self.head.clone(),
            tokens: Tokens {
                text: &self.text[..self.data.end],
                at: self.data.start,
            },
            start: self.data.start,
            graph: None,
            word: None,
            depth: 1,
            is_after_graph: false,
            bytes,
            pending: String::new(),
        }
    }
}

/// The parts of a [`DataText`], each a request.
pub struct Parts<'t> {
    text: &'t str,
    head: Range<usize>,
    tokens: Tokens<'t>,
    /// Where what is not in a part yet begins.
    start: usize,
    /// From the word GRAPH to its bracket, which is in it, inside of that.
    graph: Option<Range<usize>>,
    /// Where the last word outside of graphs stands.
    word: Option<usize>,
    /// Open brackets.
    depth: usize,
    /// A graph was closed, and a full stop that may follow it has not come.
    is_after_graph: bool,
    bytes: usize,
    /// Data of the part to be.
    pending: String,
}

impl Parts<'_> {
    /// Adds the text up to a place to the part to be.
    fn add(&mut self, end: usize) {
        let data = &self.text[self.start..end];
        self.start = end;
        if data.trim().is_empty() {
            return;
        }
        match self.graph.clone() {
            None => self.pending.push_str(data),
            Some(graph) => {
                self.pending.push_str(&self.text[graph]);
                self.pending.push_str(data);
                // The data could end with a comment.
                self.pending.push_str("\n}");
            }
        }
        self.pending.push('\n');
    }

    fn take(&mut self) -> String {
        let data = std::mem::take(&mut self.pending);
        format!("{}{data}\n}}", &self.text[self.head.clone()])
    }

    /// Goes on by a token; whether a part is full.
    fn step(&mut self, kind: Kind, range: Range<usize>) -> bool {
        let token = &self.text[range.clone()];
        if std::mem::take(&mut self.is_after_graph) {
            if is_blank(token) {
                self.is_after_graph = true;
                return false;
            }
            if token == "." {
                self.start = range.end;
                return false;
            }
        }
        let inside = 1 + usize::from(self.graph.is_some());
        match token {
            "{" if self.depth == 1 && self.graph.is_none() => {
                let word = self.word.take().unwrap_or(range.start);
                self.add(word);
                self.graph = Some(word..range.end);
                self.start = range.end;
                self.depth = 2;
            }
            "{" | "[" | "(" => self.depth += 1,
            "}" if self.depth == 2 && self.graph.is_some() => {
                self.add(range.start);
                self.graph = None;
                self.start = range.end;
                self.depth = 1;
                self.is_after_graph = true;
                return self.pending.len() >= self.bytes;
            }
            "}" | "]" | ")" => self.depth = self.depth.saturating_sub(1),
            "." if self.depth == inside => {
                let length = self.pending.len() + (range.end - self.start);
                if length >= self.bytes {
                    self.add(range.end);
                    return true;
                }
            }
            _ if kind == Kind::Word && self.depth == 1 => self.word = Some(range.start),
            _ => {}
        }
        false
    }
}

impl Iterator for Parts<'_> {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        while let Some((kind, range)) = self.tokens.next() {
            if self.step(kind, range) {
                return Some(self.take());
            }
        }
        let end = self.tokens.text.len();
        if self.start < end {
            self.add(end);
        }
        (!self.pending.is_empty()).then(|| self.take())
    }
}

#[cfg(test)]
mod tests {
    use super::{DataText, HEAD_BYTES_MAX};
    use spargebra::{GraphUpdateOperation, SparqlParser};
    use std::collections::BTreeSet;

    fn quads(text: &str) -> BTreeSet<String> {
        let update = SparqlParser::new().parse_update(text);
        let update = update.unwrap_or_else(|error| unreachable!("{text}: {error}"));
        let operations = update.operations.into_iter();
        operations
            .flat_map(|operation| match operation {
                GraphUpdateOperation::InsertData { data } => data,
                other => unreachable!("{other}"),
            })
            .map(|quad| quad.to_string())
            .collect()
    }

    const TEXTS: [&str; 5] = [
        "INSERT DATA { <e:a> <e:p> 1 , 2.5 , 3. <e:b> <e:p> 'a } . {' ; <e:q> 1.e3 . <e:c> a <e:D> }",
        "PREFIX e: <http://e/> # . {\nBASE <http://b/>\ninsert Data{ e:a.b e:p _:x.y . <r> e:p \"\"\"x\n. } \"\"\"@en . \
         GRAPH e:g { e:a e:p 1 . e:b e:p true . e:c e:p -2 # .\n } . e:d e:p 4 . graph <g2> { } GRAPH e:h { e:a e:p TRUE.} \
         e:z e:p e:z } # end . }\n;",
        "PREFIX GRAPH: <http://g/> INSERT DATA { GRAPH:a GRAPH:b GRAPH:c . GRAPH GRAPH:g { GRAPH:a a GRAPH:c } GRAPH:x a GRAPH:y }",
        "INSERT DATA { <e:a> <e:p> <e:b#.> . <e:a> <e:p> '\\'. {' , '.' }",
        "INSERT DATA { }",
    ];

    #[test]
    fn the_parts_together_say_what_the_text_says() {
        for text in TEXTS {
            let text = text.replace("TRUE", "true");
            let expected = quads(&text);
            for bytes in [1, 20, 60, 1000] {
                let data = DataText::of(&text).expect("one INSERT DATA");
                let parts: Vec<String> = data.parts(bytes).collect();
                let found = parts.iter().flat_map(|part| quads(part));
                assert_eq!(found.collect::<BTreeSet<_>>(), expected, "{parts:#?}");
                assert!(bytes > 1 || parts.len() * 3 >= expected.len(), "{parts:#?}");
            }
        }
    }

    #[test]
    fn a_long_head_is_not_copied_into_parts() {
        let data = "INSERT DATA {";
        let text = |bytes: usize| {
            let head = " ".repeat(bytes - data.len());
            format!("{head}{data} <e:a> <e:p> 1 }}")
        };
        assert!(DataText::of(&text(HEAD_BYTES_MAX)).is_some());
        assert_eq!(DataText::of(&text(HEAD_BYTES_MAX + 1)), None);
    }

    #[test]
    fn other_texts_are_left_alone() {
        for text in [
            "",
            "INSERT { <e:a> <e:p> 1 } WHERE { }",
            "DELETE DATA { <e:a> <e:p> 1 }",
            "INSERT DATA { <e:a> <e:p> 1 } ; CLEAR ALL",
            "CLEAR ALL ; INSERT DATA { <e:a> <e:p> 1 }",
            "INSERT DATA { <e:a> <e:p> 1",
            "INSERT DATA { <e:a> <e:p> 1 } }",
            "INSERT DATA { <e:a> <e:p> '\\u002E' }",
        ] {
            assert_eq!(DataText::of(text), None, "{text}");
        }
    }
}
