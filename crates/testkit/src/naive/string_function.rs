//! Functions on strings (section 17.4.3), with the rules for language tags and compatible arguments.
//!
//! A string is an xsd:string or a language-tagged string; anything else is a type error. Positions
//! count Unicode code points from one.

use super::expression::{Fault, Outcome, boolean, or_error};
use super::function::{simple, unsupported};
use super::value::{Value, number};
use oxrdf::{Literal, Term};
use regex::{Captures, Regex, RegexBuilder};
use spargebra::algebra::Function;
use std::fmt::Write as _;

/// A string and its language tag.
type Tagged = (String, Option<String>);

/// Calls a string function; any other name is unsupported.
pub(crate) fn call(function: &Function, arguments: &[Term]) -> Outcome {
    match (function, arguments) {
        (Function::Concat, _) => concat(arguments),
        (Function::StrLen, [text]) => {
            let count = i64::try_from(string(text)?.0.chars().count());
            or_error(count.ok().map(|n| Literal::from(n).into()))
        }
        (Function::UCase, [text]) => {
            let (text, language) = string(text)?;
            Ok(tagged(text.to_uppercase(), language))
        }
        (Function::LCase, [text]) => {
            let (text, language) = string(text)?;
            Ok(tagged(text.to_lowercase(), language))
        }
        (Function::EncodeForUri, [text]) => Ok(simple(percent_encoded(&string(text)?.0))),
        (Function::SubStr, [text, start]) => substring(text, start, None),
        (Function::SubStr, [text, start, length]) => substring(text, start, Some(length)),
        (
            Function::Contains
            | Function::StrStarts
            | Function::StrEnds
            | Function::StrBefore
            | Function::StrAfter,
            [text, part],
        ) => search(function, text, part),
        (Function::LangMatches, [tag, range]) => {
            Ok(boolean(lang_matches(&plain(tag)?, &plain(range)?)))
        }
        (Function::StrLang, [text, language]) => {
            let literal = Literal::new_language_tagged_literal(plain(text)?, plain(language)?);
            or_error(literal.ok().map(Term::from))
        }
        (Function::Regex, [text, pattern, flags @ ..]) => {
            let pattern = compiled(pattern, flags.first())?;
            Ok(boolean(pattern.is_match(&string(text)?.0)))
        }
        (Function::Replace, [text, pattern, replacement, flags @ ..]) => {
            let is_literal = match flags.first() {
                Some(flags) => plain(flags)?.contains('q'),
                None => false,
            };
            let pattern = compiled(pattern, flags.first())?;
            let (text, language) = string(text)?;
            let replacement = plain(replacement)?;
            // fn:replace: a pattern that matches the empty string is an error (FORX0003).
            if pattern.is_match("") {
                return Err(Fault::Error);
            }
            let pieces = match is_literal {
                true => vec![Piece::Text(replacement)],
                false => or_error(replacement_pieces(&replacement))?,
            };
            let replaced = pattern.replace_all(&text, |found: &Captures<'_>| -> String {
                let piece = |piece: &Piece| match piece {
                    Piece::Text(text) => text.clone(),
                    Piece::Group(number) => found
                        .get(*number)
                        .map_or_else(String::new, |group| group.as_str().to_owned()),
                };
                pieces.iter().map(piece).collect()
            });
            Ok(tagged(replaced.into_owned(), language))
        }
        _ => Err(unsupported(&function.to_string())),
    }
}

/// A part of the replacement string of fn:replace.
enum Piece {
    /// Text as it is.
    Text(String),
    /// What the group with this number has matched.
    Group(usize),
}

/// Reads a replacement string: `$N` is a group, `\\` and `\$` are characters, and any other `\` or `$` an error.
fn replacement_pieces(text: &str) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut rest = text.chars();
    while let Some(character) = rest.next() {
        pieces.push(match character {
            '\\' => match rest.next()? {
                escaped @ ('\\' | '$') => Piece::Text(escaped.to_string()),
                _ => return None,
            },
            '$' => Piece::Group(usize::try_from(rest.next()?.to_digit(10)?).ok()?),
            other => Piece::Text(other.to_string()),
        });
    }
    Some(pieces)
}

fn string(term: &Term) -> Result<Tagged, Fault> {
    match Value::of(term) {
        Value::String(text) => Ok((text, None)),
        Value::LangString(text, language) => Ok((text, Some(language))),
        _ => Err(Fault::Error),
    }
}

fn plain(term: &Term) -> Result<String, Fault> {
    match Value::of(term) {
        Value::String(text) => Ok(text),
        _ => Err(Fault::Error),
    }
}

fn tagged(text: String, language: Option<String>) -> Term {
    match language {
        Some(language) => Literal::new_language_tagged_literal_unchecked(text, language).into(),
        None => simple(text),
    }
}

/// Joins strings; the result keeps a language tag that all of them have.
fn concat(arguments: &[Term]) -> Outcome {
    let parts = arguments
        .iter()
        .map(string)
        .collect::<Result<Vec<_>, _>>()?;
    let language = match parts.split_first() {
        Some(((_, language), rest)) if rest.iter().all(|(_, other)| other == language) => {
            language.clone()
        }
        _ => None,
    };
    let texts = parts.into_iter().map(|(text, _)| text);
    Ok(tagged(texts.collect(), language))
}

/// Joins strings with a separator between them to a simple literal, as GROUP_CONCAT does; nothing if
/// some argument is no string.
pub(crate) fn group_concat(arguments: &[Term], separator: &str) -> Option<Term> {
    let texts: Option<Vec<String>> = arguments
        .iter()
        .map(|term| string(term).ok().map(|(text, _)| text))
        .collect();
    Some(simple(texts?.join(separator)))
}

/// fn:substring: the characters at positions from the rounded start to before the rounded end, computed in
/// doubles, so that NaN and infinities mean what comparisons with them mean.
fn substring(text: &Term, start: &Term, length: Option<&Term>) -> Outcome {
    let rounded = |term: &Term| -> Result<f64, Fault> {
        let rounded = or_error(number(term))?.round();
        Ok(rounded.to_double().into())
    };
    let (text, language) = string(text)?;
    let start = rounded(start)?;
    let end = match length {
        Some(length) => start + rounded(length)?,
        None => f64::INFINITY,
    };
    let kept = text
        .chars()
        .zip(1_u32..)
        .filter(|(_, position)| start <= f64::from(*position) && f64::from(*position) < end)
        .map(|(character, _)| character)
        .collect();
    Ok(tagged(kept, language))
}

/// The functions that look for one string in another (argument compatibility: section 17.4.3.1.2).
fn search(function: &Function, text: &Term, part: &Term) -> Outcome {
    let (text, language) = string(text)?;
    let (part, part_language) = string(part)?;
    if part_language.is_some() && part_language != language {
        return Err(Fault::Error);
    }
    let found = text.find(&part);
    Ok(match (function, found) {
        (Function::Contains, _) => boolean(found.is_some()),
        (Function::StrStarts, _) => boolean(text.starts_with(&part)),
        (Function::StrEnds, _) => boolean(text.ends_with(&part)),
        (_, None) => simple(""),
        (Function::StrBefore, Some(position)) => tagged(text[..position].to_owned(), language),
        (_, Some(position)) => tagged(text[position + part.len()..].to_owned(), language),
    })
}

/// Basic filtering of RFC 4647: the range is `*` or a prefix of the tag, subtag by subtag.
fn lang_matches(tag: &str, range: &str) -> bool {
    if range == "*" {
        return !tag.is_empty();
    }
    let tag: Vec<String> = tag.split('-').map(str::to_ascii_lowercase).collect();
    let range: Vec<String> = range.split('-').map(str::to_ascii_lowercase).collect();
    tag.starts_with(&range)
}

fn percent_encoded(text: &str) -> String {
    let mut encoded = String::new();
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            write!(encoded, "%{byte:02X}").expect("writing to a string cannot fail");
        }
    }
    encoded
}

fn compiled(pattern: &Term, flags: Option<&Term>) -> Result<Regex, Fault> {
    let flags = flags.map(plain).transpose()?.unwrap_or_default();
    let pattern = plain(pattern)?;
    let pattern = if flags.contains('q') {
        regex::escape(&pattern)
    } else {
        pattern
    };
    let mut builder = RegexBuilder::new(&pattern);
    for flag in flags.chars() {
        match flag {
            's' => builder.dot_matches_new_line(true),
            'm' => builder.multi_line(true),
            'i' => builder.case_insensitive(true),
            'x' => builder.ignore_whitespace(true),
            'q' => &mut builder,
            _ => return Err(Fault::Error),
        };
    }
    or_error(builder.build().ok())
}
