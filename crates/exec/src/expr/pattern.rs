//! `REGEX` and `REPLACE`: patterns and flags, compiled once where they are constant.

use regex::{Regex, bytes};
use std::borrow::Cow;

/// Compiles a pattern; `None` if the pattern or a flag is invalid.
pub fn compile(pattern: &str, flags: &str) -> Option<Regex> {
    Regex::new(&translated(pattern, flags)?).ok()
}

/// The same for the bytes of texts, of which nobody need know that they are characters.
pub fn compile_for_bytes(pattern: &str, flags: &str) -> Option<bytes::Regex> {
    bytes::Regex::new(&translated(pattern, flags)?).ok()
}

/// The matches of a valid pattern that touch each other taken together: where all are taken away, it comes to the same, and `[^ ]` matches once for each word and not
/// for each character. `None` if the pattern may say where it matches, or match nothing: then a run of it could be something else.
pub fn compile_runs(pattern: &str, flags: &str) -> Option<Regex> {
    let is_plain = flags.contains('q');
    if !is_plain
        && (pattern.contains(['^', '$', '*', '?', '{']) && !is_class(pattern) || has_place(pattern))
    {
        return None;
    }
    Regex::new(&format!("(?:{})+", translated(pattern, flags)?)).ok()
}

/// Whether a pattern is one character class alone, without another in it.
fn is_class(pattern: &str) -> bool {
    let inside = pattern
        .strip_prefix('[')
        .and_then(|rest| rest.strip_suffix(']'));
    inside.is_some_and(|inside| !inside.contains(['[', ']']))
}

/// Whether a pattern may name a place between characters.
fn has_place(pattern: &str) -> bool {
    ["\\b", "\\B", "\\A", "\\z", "\\<", "\\>"]
        .iter()
        .any(|place| pattern.contains(place))
}

/// Whether a pattern is somewhere in a text. `is_match` of the crate simulates the automaton state by state (7 times as long) for the rest of a text
/// once literals at the end of the pattern have been found too often in vain, as in `ab.*cd`; where a match ends is told by its DFA.
#[inline]
pub fn matches(pattern: &Regex, text: &str) -> bool {
    pattern.shortest_match(text).is_some()
}

/// [`matches`] in the bytes of a text.
#[inline]
pub fn matches_bytes(pattern: &bytes::Regex, text: &[u8]) -> bool {
    pattern.shortest_match(text).is_some()
}

/// A pattern with its flags in the syntax of the `regex` crate; `None` if a flag is invalid.
fn translated(pattern: &str, flags: &str) -> Option<String> {
    if !flags.chars().all(|flag| "smixq".contains(flag)) {
        return None;
    }
    let pattern = if flags.contains('q') {
        Cow::Owned(regex::escape(pattern))
    } else if flags.contains('x') {
        Cow::Owned(without_spaces(pattern))
    } else {
        Cow::Borrowed(pattern)
    };
    // A flag may stand there twice.
    let modes: String = "smi".chars().filter(|&mode| flags.contains(mode)).collect();
    Some(match modes.as_str() {
        "" => pattern.into_owned(),
        modes => format!("(?{modes}){pattern}"),
    })
}

/// The flag `x` of XPath: a pattern without its white space, but for that in character classes. (The mode of
/// this name of the `regex` crate drops that too, and knows comments.)
fn without_spaces(pattern: &str) -> String {
    let mut depth = 0_usize;
    let mut is_escaped = false;
    let is_kept = |character: &char| {
        let is_space = matches!(character, ' ' | '\t' | '\n' | '\r');
        if is_space && depth == 0 {
            return false;
        }
        match character {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '[' => depth += 1,
            ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        true
    };
    pattern.chars().filter(is_kept).collect()
}

/// A replacement in the syntax of `fn:replace` (XPath functions, section 5.6.4) put into that of the
/// `regex` crate: `$1` is a group whatever follows, `\\$` and `\\\\` are the plain characters. `None` if it is
/// invalid.
///
/// Of several digits as many are taken as still name a group of the pattern; the rest is text.
pub fn replacement(text: &str, flags: &str, regex: &Regex) -> Option<String> {
    if flags.contains('q') {
        return Some(text.replace('$', "$$"));
    }
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '\\' => match characters.next()? {
                '$' => out.push_str("$$"),
                '\\' => out.push('\\'),
                _ => return None,
            },
            '$' => {
                let mut group = characters.next()?.to_digit(10)? as usize;
                while let Some(digit) = characters.peek().and_then(|c| c.to_digit(10)) {
                    let longer = group * 10 + digit as usize;
                    if longer >= regex.captures_len() {
                        break;
                    }
                    group = longer;
                    characters.next();
                }
                out.push_str(&format!("${{{group}}}"));
            }
            other => out.push(other),
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::{compile, compile_runs, replacement};
    use proptest::prelude::*;

    #[test]
    fn replacements_name_groups_by_digits() {
        let regex = compile("(b)(c)", "").expect("a valid pattern");
        let replaced = |text: &str, flags: &str| {
            let new = replacement(text, flags, &regex)?;
            Some(regex.replace_all("abcd", new.as_str()).into_owned())
        };
        assert_eq!(replaced("$2$1", ""), Some("acbd".to_owned()));
        assert_eq!(replaced("$1x", ""), Some("abxd".to_owned()));
        assert_eq!(replaced("$12", ""), Some("ab2d".to_owned()));
        assert_eq!(replaced("$0$9", ""), Some("abcd".to_owned()));
        assert_eq!(replaced(r"\$1\\", ""), Some(r"a$1\d".to_owned()));
        assert_eq!(replaced("$1", "q"), Some("a$1d".to_owned()));
        assert_eq!(replaced("$", ""), None);
        assert_eq!(replaced("$x", ""), None);
        assert_eq!(replaced(r"\n", ""), None);
    }

    proptest! {
        #[test]
        fn runs_are_matches_end_to_end(
            parts in prop::collection::vec("[abc]|[abc]\\+|\\[\\^?[abc -]{1,3}\\]|\\||\\(b\\|bc\\)|\\.|\\\\w|b\\+?|\\{2\\}|\\$", 1..4),
            flags in "|i|s|x|q",
            text in "[abc A\n]{0,24}",
        ) {
            let pattern = parts.concat();
            let Some(regex) = compile(&pattern, &flags).filter(|regex| !regex.is_match("")) else {
                return Ok(());
            };
            let runs = compile_runs(&pattern, &flags);
            let may_differ = pattern.contains(['$', '*', '?', '{', '^']);
            prop_assert!(runs.is_some() || may_differ);
            if let Some(runs) = runs {
                prop_assert_eq!(runs.replace_all(&text, ""), regex.replace_all(&text, ""), "{}", pattern);
            }
        }
    }
}
