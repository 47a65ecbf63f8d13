//! `REGEX` and `REPLACE`: patterns and flags, compiled once where they are constant.

use super::vector::{Argument, Truth, Vector, each_row};
use crate::error::ExecError;
use crate::value::{Reader, Value};
use basalt_rdf::{LiteralKind, TermView};
use regex::{Regex, RegexBuilder};
use std::borrow::Cow;

/// Compiles a pattern; `None` if the pattern or a flag is invalid.
pub fn compile(pattern: &str, flags: &str) -> Option<Regex> {
    let pattern = if flags.contains('q') {
        Cow::Owned(regex::escape(pattern))
    } else if flags.contains('x') {
        Cow::Owned(without_spaces(pattern))
    } else {
        Cow::Borrowed(pattern)
    };
    let mut builder = RegexBuilder::new(&pattern);
    for flag in flags.chars() {
        match flag {
            's' => builder.dot_matches_new_line(true),
            'm' => builder.multi_line(true),
            'i' => builder.case_insensitive(true),
            'x' | 'q' => &mut builder,
            _ => return None,
        };
    }
    builder.build().ok()
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

/// Whether the pattern matches in each of `count` rows; with `of_str` the text is `STR` of the rows.
pub fn matches(
    regex: &Regex,
    of_str: bool,
    text: &Vector<'_>,
    count: usize,
    reader: &mut Reader<'_>,
) -> Result<Vec<Truth>, ExecError> {
    each_row(count, |row| {
        Ok(matches_one(regex, of_str, text.get(row), reader)?.into())
    })
}

fn matches_one(
    regex: &Regex,
    of_str: bool,
    text: Argument<'_>,
    reader: &mut Reader<'_>,
) -> Result<Option<bool>, ExecError> {
    Ok(match text {
        Argument::Error => None,
        Argument::Value(Value::String(text)) => Some(regex.is_match(text)),
        Argument::Value(Value::LangString(tagged)) => Some(regex.is_match(&tagged.0)),
        Argument::Value(value) if of_str => value.to_text().map(|text| regex.is_match(&text)),
        Argument::Value(_) => None,
        other => match reader.term(other.known_id())? {
            TermView::Literal(literal) => {
                let is_string = !matches!(literal.kind, LiteralKind::Typed(_));
                (is_string || of_str).then(|| regex.is_match(literal.lexical))
            }
            TermView::Iri(iri) if of_str => Some(regex.is_match(iri)),
            _ => None,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::{compile, replacement};

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
}
