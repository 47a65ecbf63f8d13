//! `Nesting`: how deep a text is nested, known before it is parsed.
//!
//! The parser goes down a bracket by calling itself some ten times, and what it makes of a chain of operators is a tree as deep as the
//! chain is long, which is walked and dropped the same way. So a text of some kilobytes could use up the stack, and the program
//! would end. Here brackets, chains and negations are counted first: what goes beyond a limit is refused, and what is deeper than
//! usual is parsed by a thread of its own with a stack that is large enough.
//!
//! Counts may be too high, but not too low: signs of numbers count as operators, and brackets within IRIs as brackets, since the
//! parser may take such an IRI for comparisons. Cost: one pass over the text; a thread for the rare deep ones.

use super::{Kind, Tokens};
use crate::error::Error;
use std::panic::resume_unwind;
use std::thread::{Builder, scope};

/// Brackets within each other.
const LEVELS_MAX: usize = 400;
/// Groups within each other: each becomes operators within each other, which call themselves when they are planned and when they run.
const GROUPS_MAX: usize = 100;
/// Operators and elements of groups that make one deep tree.
const CHAIN_MAX: usize = 20_000;
/// Negations within each other: the parser reads what each of them stands before twice, so time doubles with every one.
const NEGATIONS_MAX: usize = 16;
/// Brackets, and links of a chain, that are parsed on the stack of the caller.
const LEVELS_USUAL: usize = 32;
const CHAIN_USUAL: usize = 1_000;
/// What the parser takes of the stack for a bracket; some 4 KB, several times as much without optimisation.
const LEVEL_BYTES: usize = 128 << 10;
/// The same for a link of a chain: walks and drops take less than a tenth of it.
const LINK_BYTES: usize = 1 << 10;
/// What the rest takes.
const OTHER_BYTES: usize = 2 << 20;
/// Bytes of an IRI from which on it counts as a chain of as many operators as could be in it.
const LONG_IRI: usize = 1_000;

/// See the [module documentation](self).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nesting {
    /// Brackets within each other.
    levels: usize,
    /// Braces among them.
    groups: usize,
    /// Operators and elements of groups, of one bracket and those around it.
    chain: usize,
    /// Negations within each other.
    negations: usize,
}

/// What stands in an open bracket, or outside of all.
#[derive(Clone, Copy, Debug, Default)]
struct Level {
    is_group: bool,
    /// Quads that are named one by one, of which no tree is made.
    is_data: bool,
    /// Elements of a group, which make one tree.
    elements: usize,
    /// Operators of the expression or path that has not ended yet.
    operators: usize,
    negations: usize,
}

impl Level {
    fn chain(self) -> usize {
        self.elements + self.operators
    }
}

/// The sums over the levels around one, and the largest so far.
#[derive(Default)]
struct Count {
    around: Vec<Level>,
    outer: Nesting,
    deepest: Nesting,
}

impl Count {
    /// Notes what the levels so far and the current one come to.
    fn note(&mut self, level: Level) {
        let Nesting {
            levels,
            groups,
            chain,
            negations,
        } = &mut self.deepest;
        *levels = self.around.len().max(*levels);
        *groups = (self.outer.groups + usize::from(level.is_group)).max(*groups);
        *chain = (self.outer.chain + level.chain()).max(*chain);
        *negations = (self.outer.negations + level.negations).max(*negations);
    }

    fn open(&mut self, level: Level) {
        self.outer.groups += usize::from(level.is_group);
        self.outer.chain += level.chain();
        self.outer.negations += level.negations;
        self.around.push(level);
    }

    /// The level around; nothing where no bracket is open.
    fn close(&mut self) -> Option<Level> {
        let level = self.around.pop()?;
        self.outer.groups -= usize::from(level.is_group);
        self.outer.chain -= level.chain();
        self.outer.negations -= level.negations;
        Some(level)
    }
}

impl Nesting {
    /// That of a text.
    pub fn of(text: &str) -> Self {
        let (mut count, mut level) = (Count::default(), Level::default());
        let mut is_data_next = false;
        for (kind, range) in Tokens::new(text) {
            let token = &text[range];
            match kind {
                Kind::Word if is_element(token) => level.elements += 1,
                Kind::Word => is_data_next = token.eq_ignore_ascii_case("DATA"),
                Kind::Iri => {
                    count.note(level);
                    let inner = Self::of_iri(token);
                    let deepest = &mut count.deepest;
                    deepest.levels = deepest.levels.max(count.around.len() + inner.levels);
                    deepest.chain = deepest.chain.max(count.outer.chain + inner.chain);
                    level.negations += inner.negations;
                }
                Kind::Other => match token {
                    "(" | "[" | "{" => {
                        count.note(level);
                        count.open(level);
                        level = Level {
                            is_group: token == "{",
                            is_data: std::mem::take(&mut is_data_next),
                            ..Level::default()
                        };
                    }
                    ")" | "]" | "}" => {
                        count.note(level);
                        level = count.close().unwrap_or_default();
                        // Operations of a request stand beside each other, and so do graphs of data.
                        let is_element = token == "}" && level.is_group && !level.is_data;
                        level.elements += usize::from(is_element);
                    }
                    "." | ";" | "," => {
                        count.note(level);
                        level.operators = 0;
                        level.negations = 0;
                    }
                    "!" => {
                        level.operators += 1;
                        level.negations += 1;
                    }
                    "|" | "&" => {
                        count.note(level);
                        level.operators += 1;
                        level.negations = 0;
                    }
                    "/" | "^" | "=" | "<" => level.operators += 1,
                    // In a group they belong to numbers and to the end of a path.
                    "+" | "-" | "*" if !level.is_group => level.operators += 1,
                    _ => {}
                },
            }
        }
        count.note(level);
        count.deepest
    }

    /// What an IRI may add where it is read as comparisons.
    fn of_iri(iri: &str) -> Self {
        let mut found = Self {
            chain: if iri.len() < LONG_IRI { 0 } else { iri.len() },
            ..Self::default()
        };
        for byte in iri.bytes() {
            found.levels += usize::from(byte == b'(' || byte == b'[');
            found.negations += usize::from(byte == b'!');
        }
        found
    }

    /// An error where a limit is passed.
    pub fn check(self) -> Result<(), Error> {
        let limits = [
            (self.levels, LEVELS_MAX, "nested brackets"),
            (self.groups, GROUPS_MAX, "nested groups"),
            (self.chain, CHAIN_MAX, "operators or elements in a chain"),
            (self.negations, NEGATIONS_MAX, "nested negations"),
        ];
        match limits.iter().find(|(found, max, _)| found > max) {
            None => Ok(()),
            Some((found, max, what)) => Err(Error::Limit(format!(
                "the text has {found} {what}; more than {max} are not taken"
            ))),
        }
    }

    fn is_usual(self) -> bool {
        self.levels <= LEVELS_USUAL && self.chain <= CHAIN_USUAL
    }
}

/// Whether a text is parsed on the caller's stack.
pub fn is_usual(text: &str) -> bool {
    Nesting::of(text).is_usual()
}

/// Whether a keyword begins an element that is put around those before it.
fn is_element(word: &str) -> bool {
    const ELEMENTS: [&str; 7] = [
        "OPTIONAL", "UNION", "MINUS", "FILTER", "BIND", "VALUES", "LATERAL",
    ];
    ELEMENTS
        .iter()
        .any(|element| word.eq_ignore_ascii_case(element))
}

/// Runs what recurses over a text: on the caller's stack where the text is nested as usual, else on one that is large enough. A text that is
/// nested too deep is an error.
pub fn on_large_stack<T: Send>(text: &str, parse: impl FnOnce() -> T + Send) -> Result<T, Error> {
    let nesting = Nesting::of(text);
    nesting.check()?;
    if nesting.is_usual() {
        return Ok(parse());
    }
    let bytes = OTHER_BYTES + nesting.levels * LEVEL_BYTES + nesting.chain * LINK_BYTES;
    scope(|scope| {
        let thread = Builder::new()
            .name("parser".to_owned())
            .stack_size(bytes)
            .spawn_scoped(scope, parse);
        let thread = thread.map_err(|error| {
            Error::Limit(format!("no thread for a deeply nested text: {error}"))
        })?;
        Ok(thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nesting(levels: usize, groups: usize, chain: usize, negations: usize) -> Nesting {
        Nesting {
            levels,
            groups,
            chain,
            negations,
        }
    }

    #[test]
    fn brackets_chains_and_negations_are_counted() {
        for (text, expected) in [
            ("", nesting(0, 0, 0, 0)),
            ("ASK { ?s ?p ?o }", nesting(1, 1, 0, 0)),
            ("ASK { ?s :p/:q/^:r ?o . ?o :p/:q 1 }", nesting(1, 1, 3, 0)),
            ("ASK { FILTER(1 + 1 - -1 > 0) }", nesting(2, 1, 4, 0)),
            ("ASK { ?s ?p -1 , +1 ; ?q -2 }", nesting(1, 1, 0, 0)),
            ("ASK { {} UNION {} UNION {} }", nesting(2, 2, 5, 0)),
            ("ASK { FILTER(!(!?x && !!?y)) }", nesting(3, 1, 7, 3)),
            ("ASK { FILTER(?x != 1) }", nesting(2, 1, 3, 1)),
            ("ASK { FILTER(1 <((1))>0) }", nesting(4, 1, 1, 0)),
            (
                "ASK { ?s ?p '((((' , \"\"\"{{\"\"\" } # ((((",
                nesting(1, 1, 0, 0),
            ),
            (
                "INSERT DATA {} ; INSERT DATA {} ; CLEAR ALL",
                nesting(1, 1, 0, 0),
            ),
            (
                "INSERT DATA { GRAPH :g {} GRAPH :h {} GRAPH :i {} }",
                nesting(2, 2, 0, 0),
            ),
            (")))]]]}}}", nesting(0, 0, 0, 0)),
        ] {
            assert_eq!(Nesting::of(text), expected, "{text}");
        }
    }

    #[test]
    fn limits_are_said() {
        let text = format!(
            "ASK {{ FILTER({}true{}) }}",
            "(".repeat(500),
            ")".repeat(500)
        );
        let error = on_large_stack(&text, || ()).expect_err("too deep");
        assert!(error.to_string().contains("502 nested brackets"), "{error}");
    }

    #[test]
    fn what_is_deep_has_a_large_stack() {
        fn deep(levels: usize) -> usize {
            let frame = std::hint::black_box([levels; 1024]);
            match levels {
                0 => 0,
                _ => 1 + deep(frame[7] - 1),
            }
        }
        // 3,000 frames of 8 KB are more than a thread of a test has.
        let text = "(".repeat(390) + &")".repeat(390);
        assert_eq!(
            on_large_stack(&text, || deep(3_000)).expect("within limits"),
            3_000
        );
    }
}
