//! `TurtleScanner`: finds the ends of statements, the directives and the graphs of a Turtle or TriG text.
//!
//! Knows as much of the lexical syntax as that takes: strings of the four kinds, IRIs, comments, escapes in
//! names, brackets. It looks at whole tokens of a text that grows: a token that is not all there is looked at
//! again when there is more.
//!
//! What the scanner finds is a proposal: whoever parses the text checks it. A text that the parser refuses may be
//! scanned as anything; the scanner reports [`Event::Doubt`] where it sees that something is wrong, so that a bad
//! text is not searched for its next statement to the end.
//!
//! Cost: one table look-up per byte outside of strings, IRIs and comments, vectorised searches inside.

use std::ops::Range;

use memchr::{memchr2, memchr3};

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// Nothing more in the text at hand.
    Exhausted,
    /// A statement that is no directive has ended, with white space behind it; the next one may begin here.
    StatementEnd(usize),
    /// A directive, complete.
    Directive(Range<usize>),
    /// A graph of TriG begins; what stands in front of its brace.
    GraphBegin(Range<usize>),
    /// The graph has ended; the next statement may begin here.
    GraphEnd(usize),
    /// The text is wrong, or too strange to be cut.
    Doubt,
}

/// A scan that goes on from call to call; see the [module documentation](self).
#[derive(Clone, Debug)]
pub(super) struct TurtleScanner {
    /// Whether the text is TriG.
    is_trig: bool,
    /// The first byte that was not scanned; between tokens.
    at: usize,
    /// Where the statement at hand begins.
    statement: usize,
    /// Brackets and parentheses that are open.
    depth: u32,
    /// Whether a brace is open.
    is_in_graph: bool,
    /// Whether the next token begins a statement.
    is_start: bool,
    /// Whether the statement at hand has a comment in it.
    has_comment: bool,
}

/// What became of a token.
enum Token {
    /// It was passed.
    Passed,
    /// The text ends within it.
    Cut,
    /// Something of it was found.
    Event(Event),
}

impl TurtleScanner {
    /// A scan of a document from its beginning.
    pub(super) fn new(is_trig: bool) -> Self {
        Self {
            is_trig,
            at: 0,
            statement: 0,
            depth: 0,
            is_in_graph: false,
            is_start: true,
            has_comment: false,
        }
    }

    /// Whether a comment stands between the beginning of the statement at hand and what was found last.
    pub(super) fn has_comment(&self) -> bool {
        self.has_comment
    }

    /// Forgets the first bytes of the text, which were scanned.
    pub(super) fn shift(&mut self, bytes: usize) {
        self.at -= bytes;
        self.statement = self.statement.saturating_sub(bytes);
    }

    /// Scans `text` from where the last call stopped to the next find.
    pub(super) fn next(&mut self, text: &[u8]) -> Event {
        // Termination: each turn passes a token or returns.
        loop {
            if !self.is_start {
                match text[self.at..]
                    .iter()
                    .position(|byte| SPECIAL[usize::from(*byte)])
                {
                    Some(length) => self.at += length,
                    None => {
                        self.at = text.len();
                        return Event::Exhausted;
                    }
                }
            }
            let token = match self.is_start {
                true => self.statement_start(text),
                false => self.token(text),
            };
            match token {
                Token::Passed => {}
                Token::Cut => return Event::Exhausted,
                Token::Event(event) => return event,
            }
        }
    }

    /// Passes white space and comments in front of a statement, or a directive.
    fn statement_start(&mut self, text: &[u8]) -> Token {
        let Some(at) = skip_space(text, self.at) else {
            return Token::Cut;
        };
        self.at = at;
        self.statement = at;
        self.has_comment = false;
        if !self.is_in_graph {
            match directive_end(text, at) {
                Some(Directive::None) => {}
                Some(Directive::Odd) => return Token::Event(Event::Doubt),
                Some(Directive::EndsAt(end)) => {
                    self.at = end;
                    return Token::Event(Event::Directive(at..end));
                }
                None => return Token::Cut,
            }
        }
        self.is_start = false;
        Token::Passed
    }

    /// Passes the token at a special byte.
    fn token(&mut self, text: &[u8]) -> Token {
        let after = self.at + 1;
        let next = match text[self.at] {
            quote @ (b'"' | b'\'') => match string_end(text, self.at, quote) {
                Ok(end) => end,
                Err(event) => return event,
            },
            b'<' => match memchr3(b'>', b'\n', b'\r', &text[after..]) {
                Some(length) if text[after + length] == b'>' => Some(after + length + 1),
                Some(_) => return Token::Event(Event::Doubt),
                None => None,
            },
            b'#' => {
                self.has_comment = true;
                memchr2(b'\n', b'\r', &text[after..]).map(|length| after + length)
            }
            b'\\' => (after < text.len()).then_some(after + 1),
            b'.' => return self.dot(text),
            b'[' | b'(' => {
                self.depth += 1;
                Some(after)
            }
            b']' | b')' => match self.depth.checked_sub(1) {
                Some(depth) => {
                    self.depth = depth;
                    Some(after)
                }
                None => return Token::Event(Event::Doubt),
            },
            _ => return Token::Event(self.brace(text[self.at])),
        };
        match next {
            Some(next) => {
                self.at = next;
                Token::Passed
            }
            None => Token::Cut,
        }
    }

    /// A full stop: the end of a statement, or a byte of a name or a number.
    fn dot(&mut self, text: &[u8]) -> Token {
        let after = self.at + 1;
        let Some(next) = text.get(after) else {
            return Token::Cut;
        };
        if !matches!(next, b' ' | b'\t' | b'\r' | b'\n' | b'#' | b'@' | b'<') {
            self.at = after;
            return Token::Passed;
        }
        if self.depth > 0 {
            return Token::Event(Event::Doubt);
        }
        self.is_start = true;
        self.at = after;
        if matches!(next, b'#' | b'@' | b'<') {
            return Token::Passed;
        }
        // Blocks had better begin where lines do.
        let blanks = (text[after..].iter())
            .take_while(|byte| matches!(byte, b' ' | b'\t' | b'\r'))
            .count();
        self.at = match text.get(after + blanks) {
            Some(b'\n') => after + blanks + 1,
            _ => after + 1,
        };
        Token::Event(Event::StatementEnd(self.at))
    }

    fn brace(&mut self, byte: u8) -> Event {
        let is_open = byte == b'{';
        if !self.is_trig || self.is_in_graph == is_open || self.depth > 0 {
            return Event::Doubt;
        }
        self.is_in_graph = is_open;
        self.is_start = true;
        self.at += 1;
        if is_open {
            Event::GraphBegin(self.statement..self.at - 1)
        } else {
            Event::GraphEnd(self.at)
        }
    }
}

/// The bytes at which something begins or ends.
const SPECIAL: [bool; 256] = {
    let mut table = [false; 256];
    let bytes = b"\"'<#\\.[](){}";
    let mut i = 0;
    while i < bytes.len() {
        table[bytes[i] as usize] = true;
        i += 1;
    }
    table
};

/// The end of the string whose first quote is at `at`; `None` if the text ends within it.
fn string_end(text: &[u8], at: usize, quote: u8) -> Result<Option<usize>, Token> {
    let (Some(second), third) = (text.get(at + 1), text.get(at + 2)) else {
        return Ok(None);
    };
    if *second == quote {
        return Ok(match third {
            Some(third) if *third == quote => long_string_end(text, at + 3, quote),
            Some(_) => Some(at + 2),
            None => None,
        });
    }
    let mut from = at + 1;
    // Termination: `from` grows with each turn.
    while let Some(length) = memchr3(quote, b'\\', b'\n', text.get(from..).unwrap_or_default()) {
        let stop = from + length;
        match text[stop] {
            b'\\' => from = stop + 2,
            b'\n' => return Err(Token::Event(Event::Doubt)),
            _ => return Ok(Some(stop + 1)),
        }
    }
    Ok(None)
}

/// The end of a long string whose content begins at `from`.
fn long_string_end(text: &[u8], mut from: usize, quote: u8) -> Option<usize> {
    // Termination: `from` grows with each turn.
    loop {
        let stop = from + memchr2(quote, b'\\', text.get(from..)?)?;
        if text[stop] == b'\\' {
            from = stop + 2;
        } else if text.get(stop + 1..stop + 3)? == [quote; 2] {
            return Some(stop + 3);
        } else {
            from = stop + 1;
        }
    }
}

/// The first byte from `at` on that is neither white space nor in a comment; `None` if the text ends before.
fn skip_space(text: &[u8], mut at: usize) -> Option<usize> {
    // Termination: `at` grows with each turn.
    loop {
        match text.get(at)? {
            b' ' | b'\t' | b'\r' | b'\n' => at += 1,
            b'#' => at += memchr2(b'\n', b'\r', &text[at..])?,
            _ => return Some(at),
        }
    }
}

/// What stands at the beginning of a statement.
enum Directive {
    /// No directive.
    None,
    /// A directive that ends here.
    EndsAt(usize),
    /// A directive that is wrong.
    Odd,
}

/// Looks for a directive; `None` if the text ends too early to tell.
fn directive_end(text: &[u8], at: usize) -> Option<Directive> {
    let (keyword, is_prefix) = match text[at] {
        b'@' if text.get(at..at + 5)? == b"@base" => ("@base", false),
        b'@' if text.get(at..at + 7)? == b"@prefix" => ("@prefix", true),
        b'@' => return Some(Directive::Odd),
        b'B' | b'b' if is_word(text, at, "BASE", b"<")? => ("BASE", false),
        b'P' | b'p' if is_word(text, at, "PREFIX", b"")? => ("PREFIX", true),
        _ => return Some(Directive::None),
    };
    let mut end = skip_space(text, at + keyword.len())?;
    if is_prefix {
        let is_stop = |byte: &u8| matches!(byte, b':' | b'<' | b' ' | b'\t' | b'\r' | b'\n' | b'#');
        end += text[end..].iter().position(is_stop)?;
        if text[end] != b':' {
            return Some(Directive::Odd);
        }
        end = skip_space(text, end + 1)?;
    }
    if text[end] != b'<' {
        return Some(Directive::Odd);
    }
    end += memchr3(b'>', b'\n', b'\r', &text[end..])?;
    if text[end] != b'>' {
        return Some(Directive::Odd);
    }
    end += 1;
    if keyword.starts_with('@') {
        end = skip_space(text, end)?;
        if text[end] != b'.' {
            return Some(Directive::Odd);
        }
        end += 1;
    }
    Some(Directive::EndsAt(end))
}

/// Whether a keyword in any case stands here, with white space or one of `others` behind it.
fn is_word(text: &[u8], at: usize, word: &str, others: &[u8]) -> Option<bool> {
    let rest = &text[at..];
    let length = rest.len().min(word.len());
    if !rest[..length].eq_ignore_ascii_case(&word.as_bytes()[..length]) {
        return Some(false);
    }
    let next = rest.get(word.len())?;
    // Rio takes any ASCII white space here, form feeds too.
    Some(next.is_ascii_whitespace() || others.contains(next))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All finds, scanning the text as it grows byte by byte.
    fn events(text: &str, is_trig: bool) -> Vec<Event> {
        let mut scanner = TurtleScanner::new(is_trig);
        let mut events = Vec::new();
        for end in 1..=text.len() {
            loop {
                match scanner.next(&text.as_bytes()[..end]) {
                    Event::Exhausted => break,
                    Event::Doubt => {
                        events.push(Event::Doubt);
                        return events;
                    }
                    event => events.push(event),
                }
            }
        }
        let mut at_once = TurtleScanner::new(is_trig);
        let mut others = Vec::new();
        loop {
            match at_once.next(text.as_bytes()) {
                Event::Exhausted => break,
                event => others.push(event),
            }
        }
        let strings = |events: &[Event]| -> Vec<String> {
            // Blanks in front of a line end are passed only if they are there.
            let kind = |event: &Event| match event {
                Event::StatementEnd(_) => "end".to_owned(),
                event => format!("{event:?}"),
            };
            events.iter().map(kind).collect()
        };
        assert_eq!(strings(&events), strings(&others), "{text}");
        others
    }

    #[test]
    fn statements_end_at_stops_outside_of_everything() {
        let text = "a:b.c <p.> \". \\\". \", '''.'. ''. ''', \"\"\"\"x. \"\"\" . a:b\\. . # . \n 1.5 .5 1. \n( [ 1.e3 ] ) .\n";
        let ends: Vec<usize> = (events(text, false).iter())
            .map(|event| match event {
                Event::StatementEnd(at) => *at,
                other => unreachable!("{other:?}"),
            })
            .collect();
        let before: Vec<&str> = ends.iter().map(|end| &text[..*end]).collect();
        assert_eq!(before.len(), 4, "{before:?}");
        assert!(before[0].ends_with("\"\"\" . "));
        assert!(before[1].ends_with("\\. . "));
        assert!(before[2].ends_with("1. \n"));
        assert!(before[3].ends_with(") .\n"));
    }

    #[test]
    fn directives_and_graphs_are_found() {
        let text = "@prefix a.b: <x#y> .base <z>#c\nPrefix :<u> base:x a:b 1 . GRAPH <g> { a:a a:b 2. prefix:x a:b 3 } [] {}";
        let found: Vec<String> = (events(text, true).into_iter())
            .map(|event| match event {
                Event::Directive(range) => text[range].to_owned(),
                Event::GraphBegin(range) => format!("graph {}", &text[range]),
                Event::StatementEnd(at) => format!("end {}", &text[at..at + 1]),
                Event::GraphEnd(_) => "graph end".to_owned(),
                other => unreachable!("{other:?}"),
            })
            .collect();
        let expected = [
            "@prefix a.b: <x#y> .",
            "base <z>",
            "Prefix :<u>",
            "end G",
            "graph GRAPH <g> ",
            "end p",
            "graph end",
            "graph [] ",
            "graph end",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn wrong_texts_are_doubtful() {
        for text in [
            "<a\n",
            "\"a\n",
            "[ . ",
            ") ",
            "{ ",
            "@pre xy",
            "@prefix <a> .",
            "@base <a> ;",
            "BASE x ",
            "prefix :< a\n",
        ] {
            let found = events(text, false);
            assert_eq!(found.last(), Some(&Event::Doubt), "{text}");
        }
        assert_eq!(events("{ { ", true).last(), Some(&Event::Doubt));
        assert_eq!(events("} ", true).last(), Some(&Event::Doubt));
    }
}
