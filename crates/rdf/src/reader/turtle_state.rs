//! `TurtleState`: what the directives of a Turtle or TriG text have declared up to some place.
//!
//! A block in the middle of a document is parsed with this state in front of it ([`TurtleState::prologue`]). The
//! IRIs in it are resolved, by rio itself: each directive is given to a parser of its own, together with the base
//! in force, and the outcome is read from the parser's prefixes. [`PROBE`], two declarations behind a text, tells
//! whether a parser was at the end of a statement there (else they are not read as declarations) and which
//! base it had; so [`TurtleState::is_reached`] proves that a block left the state that the next block was
//! given.
//!
//! Cost: some microseconds for a directive.

use std::collections::{BTreeMap, HashMap};

use rio_api::parser::TriplesParser;
use rio_turtle::{TurtleError, TurtleParser};

/// Declared behind a text, by an IRI that needs no base.
const END: &str = "basalt-end";
/// Declared behind [`END`], as the base without its fragment; an error if there is no base.
const BASE: &str = "basalt-base";
/// The two declarations; on the line on which the text ends, so that a comment there swallows them.
pub(super) const PROBE: &str = " @prefix basalt-end: <x:> . @prefix basalt-base: <> .";
/// Prefixes that are carried from block to block: with more, repeating them costs too much.
const PREFIXES_MAX: usize = 1_000;

/// Base and prefixes in force.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TurtleState {
    /// The base, absolute and without fragment (which does not matter for resolving).
    base: Option<String>,
    /// IRIs by prefix, absolute.
    prefixes: BTreeMap<String, String>,
}

/// What a directive does to the state.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Another base.
    Base(String),
    /// A prefix and its IRI.
    Prefix(String, String),
}

impl TurtleState {
    /// The state in front of a text with this base. `None` if the base cannot be resolved against.
    pub(super) fn new(base: Option<&str>) -> Option<Self> {
        let mut state = Self::default();
        if let Some(base) = base {
            let effect = state.effect(&format!("@base <{base}> ."))?;
            state.apply(effect);
        }
        Some(state)
    }

    /// The directives that declare this state, on one line. Prefixes come first, so that no base changes
    /// their IRIs.
    pub(super) fn prologue(&self) -> String {
        let mut text = String::new();
        for (prefix, iri) in &self.prefixes {
            text.extend(["@prefix ", prefix, ": <", iri, "> . "]);
        }
        if let Some(base) = &self.base {
            text.extend(["@base <", base, "> . "]);
        }
        text
    }

    /// What a directive declares; `None` if it is wrong or cannot be carried.
    pub(super) fn effect(&self, directive: &str) -> Option<Effect> {
        if directive.contains(END) || directive.contains(BASE) {
            return None;
        }
        let base = self.base.as_ref().map(|base| format!("@base <{base}> . "));
        let text = [base.as_deref().unwrap_or_default(), directive, PROBE].concat();
        let mut parser = TurtleParser::new(text.as_bytes(), None);
        let parsed = parser.parse_all(&mut |_| Ok::<(), TurtleError>(()));
        let mut prefixes = parser.prefixes().clone();
        prefixes.remove(END)?;
        let base = prefixes.remove(BASE).filter(|_| parsed.is_ok());
        match (prefixes.into_iter().next(), base) {
            (Some((prefix, iri)), _) => Some(Effect::Prefix(prefix, iri)),
            (None, Some(base)) => Some(Effect::Base(base)),
            (None, None) => None,
        }
    }

    /// Whether an effect changes anything.
    pub(super) fn is_changed_by(&self, effect: &Effect) -> bool {
        match effect {
            Effect::Base(base) => self.base.as_ref() != Some(base),
            Effect::Prefix(prefix, iri) => self.prefixes.get(prefix) != Some(iri),
        }
    }

    /// Declares it.
    pub(super) fn apply(&mut self, effect: Effect) {
        match effect {
            Effect::Base(base) => self.base = Some(base),
            Effect::Prefix(prefix, iri) => drop(self.prefixes.insert(prefix, iri)),
        }
    }

    /// Whether there is more than is carried from block to block.
    pub(super) fn is_large(&self) -> bool {
        self.prefixes.len() > PREFIXES_MAX
    }

    /// Whether a parser had exactly this state in front of [`PROBE`]: told by its prefixes behind it and by
    /// whether it read all of it.
    pub(super) fn is_reached(&self, prefixes: &HashMap<String, String>, is_read: bool) -> bool {
        let probed = 1 + usize::from(is_read);
        prefixes.contains_key(END)
            && self.base.as_ref() == prefixes.get(BASE).filter(|_| is_read)
            && prefixes.len() == self.prefixes.len() + probed
            && (self.prefixes.iter()).all(|(prefix, iri)| prefixes.get(prefix) == Some(iri))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(base: Option<&str>, directives: &[&str]) -> TurtleState {
        let mut state = TurtleState::new(base).expect("a good base");
        for directive in directives {
            let effect = state.effect(directive).expect("a good directive");
            state.apply(effect);
        }
        state
    }

    #[test]
    fn directives_are_resolved_as_rio_does() {
        let state = state(
            Some("http://a/b/c#d"),
            &[
                "@prefix x: <y\\u0061> .",
                "PREFIX :<../z#>",
                "BASE<e/f>",
                "@prefix # a comment >\n é.1:  <>\n.",
                "@base <http://h/../i> .",
            ],
        );
        assert_eq!(
            state.prologue(),
            "@prefix : <http://a/z#> . @prefix x: <http://a/b/ya> . \
             @prefix é.1: <http://a/b/e/f> . @base <http://h/../i> . "
        );
    }

    #[test]
    fn what_is_wrong_or_reserved_has_no_effect() {
        let state = TurtleState::default();
        for text in [
            "@prefix x: <y> .",
            "@base <y> .",
            "@prefix x <z:> .",
            "PREFIX x: <z:> .",
        ] {
            assert_eq!(state.effect(text), None, "{text}");
        }
        assert_eq!(state.effect("@prefix basalt-end: <z:> ."), None);
        assert_eq!(TurtleState::new(Some("x> .")), None);
    }

    #[test]
    fn a_state_is_reached_only_at_the_end_of_a_statement() {
        let is_reached = |state: &TurtleState, text: &str| {
            let text = [&state.prologue(), text, PROBE].concat();
            let mut parser = TurtleParser::new(text.as_bytes(), None);
            let parsed = parser.parse_all(&mut |_| Ok::<(), TurtleError>(()));
            state.is_reached(parser.prefixes(), parsed.is_ok())
        };
        for base in [None, Some("http://b/")] {
            let state = state(base, &["@prefix x: <http://y/> ."]);
            assert!(is_reached(&state, ""));
            assert!(is_reached(&state, "x:a x:b 1 ."));
            assert!(is_reached(&state, "x:a x:b 1 . # comment\n"));
            assert!(is_reached(&state, "@prefix x: <http://y/> ."));
            assert!(!is_reached(&state, "x:a x:b 1 . # comment"));
            assert!(!is_reached(&state, "x:a x:b 1"));
            assert!(!is_reached(&state, "x:a x:b \"\"\"1 ."));
            assert!(!is_reached(&state, "@prefix x: <http://z/> ."));
            assert!(!is_reached(&state, "@prefix y: <http://z/> ."));
            assert!(!is_reached(&state, "@base <http://z/> ."));
        }
    }
}
