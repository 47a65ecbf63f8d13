//! `Patterns`: what `REGEX`, `REPLACE` and `CONTAINS` look for, prepared once as long as it comes again.
//!
//! A pattern may come from the data: a column of words, each to be found in the texts beside it. To compile one takes ten to a hundred microseconds, so those
//! that stay small are kept by the hundred. A pattern that is a text is looked for as such: REPLACE of a comma takes a tenth of the time.

use super::call::{Fault, or_error};
use super::pattern;
use crate::context::Context;
use hashbrown::HashTable;
use memchr::memmem::Finder;
use regex::Regex;
use std::borrow::Cow;
use std::cell::OnceCell;
use xxhash_rust::xxh3::xxh3_64;

/// Patterns that are kept: some take a megabyte.
const LARGE_MAX: usize = 16;
/// Of those that are known to stay [small](is_small).
const SMALL_MAX: usize = 512;

/// The patterns of a query's expression, on one thread.
#[derive(Default)]
pub struct Patterns {
    prepared: Vec<Prepared>,
    /// Places by pattern and flags.
    places: HashTable<usize>,
    /// The one asked for last.
    last: usize,
    /// How many are not small.
    large: usize,
    part: Option<Finder<'static>>,
}

/// A pattern that was compiled.
struct Prepared {
    pattern: String,
    flags: String,
    /// `None` if it is invalid.
    regex: Option<Regex>,
    /// The text that it is, if it is one.
    text: Option<Finder<'static>>,
    /// Whether it matches where there is nothing.
    matches_empty: bool,
    /// Runs of its matches, once they are asked for; `None` if they may be others than its matches end to end.
    runs: OnceCell<Option<Regex>>,
    /// The replacement asked for last, and the same in the syntax of the crate; `None` if it is invalid.
    replacement: Option<(String, Option<String>)>,
}

/// What finds the matches of a pattern.
pub enum Matcher<'p> {
    /// The pattern is this text.
    Text(&'p Finder<'static>),
    /// Any other.
    Regex(&'p Regex),
}

impl Prepared {
    fn new(pattern: &str, flags: &str) -> Self {
        let regex = pattern::compile(pattern, flags);
        Self {
            pattern: pattern.to_owned(),
            flags: flags.to_owned(),
            matches_empty: regex.as_ref().is_some_and(|regex| regex.is_match("")),
            regex,
            text: text_of(pattern, flags).map(|text| Finder::new(&*text).into_owned()),
            runs: OnceCell::new(),
            replacement: None,
        }
    }

    fn is(&self, pattern: &str, flags: &str) -> bool {
        is_same(&self.flags, flags) && is_same(&self.pattern, pattern)
    }

    /// Learns a replacement.
    fn prepare(&mut self, text: &str) {
        let is_known = matches!(&self.replacement, Some((known, _)) if is_same(known, text));
        if !is_known {
            let regex = self.regex.as_ref();
            let other = regex.and_then(|regex| pattern::replacement(text, &self.flags, regex));
            self.replacement = Some((text.to_owned(), other));
        }
    }

    /// What takes away all matches, those that touch each other together.
    fn remover(&self) -> Option<&Regex> {
        let runs = || pattern::compile_runs(&self.pattern, &self.flags);
        self.runs.get_or_init(runs).as_ref().or(self.regex.as_ref())
    }
}

impl Patterns {
    /// A pattern; compiled anew where it is none of those kept.
    pub fn get(&mut self, pattern: &str, flags: &str, cx: &Context) -> Result<&Regex, Fault> {
        let prepared = self.prepared(pattern, flags, cx)?;
        or_error(prepared.regex.as_ref())
    }

    /// What finds the matches of a pattern, and what to put in their place, in the syntax of the crate where it is a regular expression.
    pub fn to_replace(
        &mut self,
        pattern: &str,
        flags: &str,
        replacement: &str,
        cx: &Context,
    ) -> Result<(Matcher<'_>, &str), Fault> {
        let prepared = self.prepared(pattern, flags, cx)?;
        prepared.prepare(replacement);
        let prepared = &*prepared;
        let regex = or_error(prepared.regex.as_ref())?;
        if prepared.matches_empty {
            // FORX0003: what it would put between all characters is nothing that was matched.
            return Err(Fault::Error);
        }
        let other = prepared.replacement.as_ref();
        let other = or_error(other.and_then(|(_, other)| other.as_deref()))?;
        let matcher = match (&prepared.text, other) {
            (Some(text), other) if !other.contains('$') => Matcher::Text(text),
            (_, "") => Matcher::Regex(or_error(prepared.remover())?),
            _ => Matcher::Regex(regex),
        };
        Ok((matcher, other))
    }

    fn prepared(
        &mut self,
        pattern: &str,
        flags: &str,
        cx: &Context,
    ) -> Result<&mut Prepared, Fault> {
        let is_last = |last: &Prepared| last.is(pattern, flags);
        if !self.prepared.get(self.last).is_some_and(is_last) {
            self.last = self.place(pattern, flags, cx)?;
        }
        Ok(&mut self.prepared[self.last])
    }

    /// The place of a pattern, which is put there if it is none of those kept. When there are as many as may be, all go.
    fn place(&mut self, pattern: &str, flags: &str, cx: &Context) -> Result<usize, Fault> {
        let hash = xxh3_64(pattern.as_bytes());
        let is_asked = |place: &usize| self.prepared[*place].is(pattern, flags);
        if let Some(place) = self.places.find(hash, is_asked) {
            return Ok(*place);
        }
        // To compile a pattern may take as long as many rows.
        cx.check()?;
        let is_large = !is_small(pattern);
        if self.prepared.len() == SMALL_MAX || is_large && self.large == LARGE_MAX {
            self.prepared.clear();
            self.places.clear();
            self.large = 0;
        }
        self.large += usize::from(is_large);
        let place = self.prepared.len();
        self.prepared.push(Prepared::new(pattern, flags));
        let prepared = &self.prepared;
        let hash_of = |place: &usize| xxh3_64(prepared[*place].pattern.as_bytes());
        self.places.insert_unique(hash, place, hash_of);
        Ok(place)
    }

    /// Where a part begins in a text.
    pub fn find(&mut self, text: &str, part: &str) -> Option<usize> {
        let known = self.part.take();
        let known = known.filter(|finder| finder.needle() == part.as_bytes());
        let finder = known.unwrap_or_else(|| Finder::new(part).into_owned());
        self.part.insert(finder).find(text.as_bytes())
    }
}

/// Whether two texts are the same. Empty ones, as flags mostly are, have no memory: to compare none of it by wide instructions takes 150 ns, as they look
/// for a page that is not there.
#[inline]
fn is_same(a: &str, b: &str) -> bool {
    a.len() == b.len() && (a.is_empty() || a == b)
}

/// Whether a compiled pattern takes some tens of kilobytes at most: a word or two, their ends and alternatives, no classes of characters and no counts.
fn is_small(pattern: &str) -> bool {
    const BYTES_MAX: usize = 64;
    let others = pattern.replace("\\b", "");
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b" -_.,:/|()^$".contains(&byte);
    pattern.len() <= BYTES_MAX && others.bytes().all(is_plain)
}

/// The text that a pattern is: characters that mean themselves, some written `\\.` or `[.]`. `None` if it is no text, or an empty one.
fn text_of<'p>(pattern: &'p str, flags: &str) -> Option<Cow<'p, str>> {
    const SPECIAL: &str = "\\^$.|?*+()[]{}";
    let is_special = |character: char| SPECIAL.contains(character);
    if pattern.is_empty() || !matches!(flags, "" | "q") {
        return None;
    }
    if flags == "q" || !pattern.contains(is_special) {
        return Some(Cow::Borrowed(pattern));
    }
    let mut text = String::new();
    let mut rest = pattern.chars();
    while let Some(character) = rest.next() {
        text.push(match character {
            '\\' => rest.next().filter(|escaped| is_special(*escaped))?,
            '[' => {
                let only = rest.next()?;
                let is_alone = !"^\\[]".contains(only) && rest.next() == Some(']');
                is_alone.then_some(only)?
            }
            other if is_special(other) => return None,
            other => other,
        });
    }
    Some(Cow::Owned(text))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expr::tests::context;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn texts_are_found_where_patterns_match(
            parts in prop::collection::vec("[abé ]|\\\\[.^$|?*+(){}\\[\\]\\\\]|\\[[ab.*+?$|(){}-]\\]|[.+]", 1..4),
            flags in "|q|i",
            text in "[abé .*+?^$|(){}\\[\\]\\\\-]{0,24}",
        ) {
            let pattern = parts.concat();
            let Some(found) = text_of(&pattern, &flags) else {
                return Ok(());
            };
            let regex = pattern::compile(&pattern, &flags).expect("it is a text");
            let by_regex: Vec<usize> = regex.find_iter(&text).map(|found| found.start()).collect();
            let by_text: Vec<usize> = Finder::new(&*found).find_iter(text.as_bytes()).collect();
            prop_assert_eq!(by_text, by_regex, "{} in {}", pattern, text);
        }
    }

    #[test]
    fn patterns_are_texts_or_not() {
        for (pattern, flags, text) in [
            ("a b", "", Some("a b")),
            ("\\.5[,]", "", Some(".5,")),
            ("a.b", "q", Some("a.b")),
            ("a.b", "", None),
            ("a", "i", None),
            ("\\d", "", None),
            ("[ab]", "", None),
            ("[^]", "", None),
            ("", "", None),
        ] {
            assert_eq!(text_of(pattern, flags).as_deref(), text, "{pattern}");
        }
    }

    #[test]
    fn so_many_patterns_are_kept_and_no_more() {
        let cx = context();
        let mut patterns = Patterns::default();
        for word in 0..2 * SMALL_MAX {
            let pattern = format!("\\bword{word}\\b");
            for text in [format!("a word{word}."), "word".to_owned()] {
                let regex = patterns.get(&pattern, "i", &cx).ok().expect("it is valid");
                assert_eq!(regex.is_match(&text), text.len() > 4);
            }
            assert!(patterns.prepared.len() <= SMALL_MAX);
        }
        for word in 0..2 * LARGE_MAX {
            let pattern = format!("\\w+{word}");
            assert!(patterns.get(&pattern, "", &cx).is_ok());
            assert!(patterns.large <= LARGE_MAX);
        }
    }
}
