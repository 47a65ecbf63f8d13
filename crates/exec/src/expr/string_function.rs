//! Functions on strings (SPARQL 1.1, section 17.4.3) with the rules for language tags.
//!
//! A string is an `xsd:string` or a language-tagged string; anything else is an error. Positions
//! count Unicode code points from one.

use super::call::{
    Arguments, Fault, Outcome, UNCOUNTED_BYTES, boolean, check_text, or_error, plain_text,
};
use super::cast::canonical_text;
use super::language_test::lang_matches;
use super::pattern;
use super::patterns::{Matcher, Patterns};
use super::texts::Texts;
use super::vector::{Vector, each_row};
use crate::context::Context;
use crate::error::ExecError;
use crate::value::{Number, Reader, Rounding, inline_integer};
use basalt_rdf::inline::encode_integer;
use basalt_rdf::term_id::tag;
use basalt_rdf::term_view::XSD_STRING;
use basalt_rdf::{LiteralKind, LiteralView, TermId};
use memchr::memchr_iter;
use oxrdf::Literal;
use spargebra::algebra::Function;
use std::borrow::Cow;
use std::ops::Range;

/// Whether two strings have the same language tag, whose case means nothing, or none.
fn are_in_one_language(a: LiteralView<'_>, b: LiteralView<'_>) -> bool {
    match (a.kind, b.kind) {
        (LiteralKind::Language(a), LiteralKind::Language(b)) => a.eq_ignore_ascii_case(b),
        (a, b) => a == b,
    }
}

/// `STRLEN` of `count` strings as ids, 0 for an error.
pub fn lengths(
    strings: &Vector<'_>,
    count: usize,
    reader: &mut Reader<'_>,
) -> Result<Vec<u64>, ExecError> {
    each_row(count, |row| {
        let string = strings.get(row).string(reader)?;
        let length = string.map(|string| string.lexical.chars().count() as i64);
        Ok(length.and_then(encode_integer).map_or(0, |id| id.0))
    })
}

/// Whether a function makes strings, which [`write()`] does.
pub fn makes_texts(function: &Function) -> bool {
    matches!(
        function,
        Function::Str
            | Function::UCase
            | Function::LCase
            | Function::EncodeForUri
            | Function::SubStr
            | Function::StrBefore
            | Function::StrAfter
            | Function::StrLang
            | Function::Concat
            | Function::Replace
    ) || matches!(function, Function::Custom(name) if name.as_str() == XSD_STRING)
}

/// Calls a string function that gives something else; `STRLEN` is [`lengths`].
pub fn call(
    function: &Function,
    arguments: &mut Arguments<'_, '_>,
    patterns: &mut Patterns,
) -> Outcome {
    match function {
        Function::Contains | Function::StrStarts | Function::StrEnds => {
            let (text, part) = text_and_part(arguments)?;
            let (text, part) = (text.lexical, part.lexical);
            Ok(boolean(match function {
                Function::StrStarts => text.starts_with(part),
                Function::StrEnds => text.ends_with(part),
                _ => patterns.find(text, part).is_some(),
            }))
        }
        Function::LangMatches => {
            let (tag, range) = arguments.two_strings()?;
            Ok(boolean(lang_matches(plain_text(tag)?, plain_text(range)?)))
        }
        Function::Regex => {
            let (flags, pattern) = (flags(arguments, 2)?, arguments.plain(1)?);
            let regex = patterns.get(&pattern, &flags, arguments.context());
            // An argument that is no string is an error like a pattern that is none.
            let text = arguments.string(0)?.lexical;
            Ok(boolean(pattern::matches(regex?, text)))
        }
        _ => Err(Fault::Error),
    }
}

/// Calls a function that [makes strings](makes_texts): the string is the next row of `out`. After an error a part of it may be
/// there.
pub fn write(
    function: &Function,
    arguments: &mut Arguments<'_, '_>,
    patterns: &mut Patterns,
    out: &mut Texts,
) -> Result<(), Fault> {
    match function {
        Function::Str => return text_of(arguments, out),
        Function::Custom(_) => {
            let of_value = match arguments.get(0)?.known_id() {
                id if matches!(TermId(id).tag(), tag::STRING | tag::LANGUAGE) => None,
                _ => canonical_text(arguments.value(0)?.as_ref()),
            };
            match of_value {
                Some(text) => out.push(&text, LiteralKind::Simple),
                None => return text_of(arguments, out),
            }
        }
        Function::UCase | Function::LCase => {
            let id = arguments.get(0)?.known_id();
            let string = arguments.string(0)?;
            let is_upper = *function == Function::UCase;
            let is_same = push_in_case(string.lexical, is_upper, out.buffer());
            out.end_as(string.kind, if is_same { id } else { 0 });
        }
        Function::EncodeForUri => {
            let cx = arguments.context();
            let text = arguments.string(0)?.lexical;
            check_text(text.len() * 3, cx)?;
            percent_encoded(text, out.buffer());
            out.end(LiteralKind::Simple);
        }
        Function::SubStr => return substring(arguments, out),
        Function::StrBefore | Function::StrAfter => {
            let (text, part) = text_and_part(arguments)?;
            let whole = text.lexical;
            match patterns.find(whole, part.lexical) {
                None => out.end(LiteralKind::Simple),
                Some(at) if *function == Function::StrBefore => {
                    out.push(&whole[..at], text.kind);
                }
                Some(at) => out.push(&whole[at + part.lexical.len()..], text.kind),
            }
        }
        Function::StrLang => {
            let (text, language) = arguments.two_strings()?;
            let (text, language) = (plain_text(text)?, plain_text(language)?);
            // Its letters stay as they are, as those of stored tags do.
            or_error(Literal::new_language_tagged_literal("", language).ok())?;
            out.push(text, LiteralKind::Language(language));
        }
        Function::Concat => return concat(arguments, out),
        Function::Replace => return replace(arguments, patterns, out),
        _ => return Err(Fault::Error),
    }
    Ok(())
}

/// `STR`, and the cast to `xsd:string` of all but booleans and numbers.
fn text_of(arguments: &mut Arguments<'_, '_>, out: &mut Texts) -> Result<(), Fault> {
    let argument = arguments.get(0)?;
    let text = or_error(argument.text(arguments.reader)?)?;
    out.buffer().push_str(&text);
    let id = TermId(argument.known_id());
    let same = if id.tag() == tag::STRING { id.0 } else { 0 };
    out.end_as(LiteralKind::Simple, same);
    Ok(())
}

/// Appends a text in upper or lower case; whether it is the same text.
fn push_in_case(text: &str, is_upper: bool, out: &mut String) -> bool {
    let start = out.len();
    match (text.is_ascii(), is_upper) {
        (true, true) => {
            out.push_str(text);
            out[start..].make_ascii_uppercase();
        }
        (true, false) => {
            out.push_str(text);
            out[start..].make_ascii_lowercase();
        }
        // Some characters depend on those around them.
        (false, true) => out.push_str(&text.to_uppercase()),
        (false, false) => out.push_str(&text.to_lowercase()),
    }
    out[start..] == *text
}

/// `REPLACE`.
fn replace(
    arguments: &mut Arguments<'_, '_>,
    patterns: &mut Patterns,
    out: &mut Texts,
) -> Result<(), Fault> {
    let (flags, pattern) = (flags(arguments, 3)?, arguments.plain(1)?);
    let replacement = arguments.plain(2)?;
    let cx = arguments.context();
    let (finder, replacement) = patterns.to_replace(&pattern, &flags, &replacement, cx)?;
    let id = arguments.get(0)?.known_id();
    let string = arguments.string(0)?;
    let has_any = replaced(finder, string.lexical, replacement, out.buffer(), cx)?;
    out.end_as(string.kind, if has_any { 0 } else { id });
    Ok(())
}

/// A text on its way to another with matches replaced. A replacement may stand for a text of any length, so its memory and time are
/// looked at meanwhile.
struct Replaced<'a> {
    text: &'a str,
    out: &'a mut String,
    /// Bytes of `out` before it.
    start: usize,
    /// The end of the last match.
    end: usize,
    /// Bytes that there is room for.
    checked: usize,
}

impl Replaced<'_> {
    /// Puts a text in the place of the next match.
    fn put(&mut self, found: Range<usize>, other: &str, cx: &Context) -> Result<(), ExecError> {
        let kept = &self.text[self.end..found.start];
        let bytes = self.out.len() - self.start + kept.len() + other.len();
        if bytes > self.checked {
            self.checked = bytes * 2;
            cx.check()?;
            // It may grow to that before the next look.
            check_text(self.checked, cx)?;
        }
        self.out.push_str(kept);
        self.out.push_str(other);
        self.end = found.end;
        Ok(())
    }
}

/// Appends the text with each match replaced; whether there is one.
fn replaced(
    finder: Matcher<'_>,
    text: &str,
    replacement: &str,
    out: &mut String,
    cx: &Context,
) -> Result<bool, ExecError> {
    let mut replaced = Replaced {
        text,
        start: out.len(),
        out,
        end: 0,
        checked: UNCOUNTED_BYTES,
    };
    match finder {
        Matcher::Text(finder) if finder.needle().len() == 1 => {
            for start in memchr_iter(finder.needle()[0], text.as_bytes()) {
                replaced.put(start..start + 1, replacement, cx)?;
            }
        }
        Matcher::Text(finder) => {
            let length = finder.needle().len();
            for start in finder.find_iter(text.as_bytes()) {
                replaced.put(start..start + length, replacement, cx)?;
            }
        }
        Matcher::Regex(regex) if replacement.contains('$') => {
            let mut expanded = String::new();
            for captures in regex.captures_iter(text) {
                expanded.clear();
                captures.expand(replacement, &mut expanded);
                replaced.put(captures.get_match().range(), &expanded, cx)?;
            }
        }
        // Which groups have matched need not be known.
        Matcher::Regex(regex) => {
            for found in regex.find_iter(text) {
                replaced.put(found.range(), replacement, cx)?;
            }
        }
    }
    let end = replaced.end;
    out.push_str(&text[end..]);
    Ok(end > 0)
}

fn flags<'a>(arguments: &mut Arguments<'a, '_>, idx: usize) -> Result<Cow<'a, str>, Fault> {
    if arguments.count() > idx {
        arguments.plain(idx)
    } else {
        Ok(Cow::Borrowed(""))
    }
}

/// `CONCAT`: keeps a language tag that all arguments have.
fn concat(arguments: &mut Arguments<'_, '_>, out: &mut Texts) -> Result<(), Fault> {
    let cx = arguments.context();
    let mut language: Option<String> = None;
    let mut bytes = 0;
    for idx in 0..arguments.count() {
        let part = arguments.string(idx)?;
        bytes += part.lexical.len();
        check_text(bytes, cx)?;
        out.buffer().push_str(part.lexical);
        match part.kind {
            LiteralKind::Language(name) if idx == 0 => language = Some(name.to_owned()),
            LiteralKind::Language(name)
                if language
                    .as_ref()
                    .is_some_and(|first| first.eq_ignore_ascii_case(name)) => {}
            _ => language = None,
        }
    }
    out.end(match &language {
        Some(name) => LiteralKind::Language(name),
        None => LiteralKind::Simple,
    });
    Ok(())
}

/// A position among characters: the nearest integer, and the end of the range beyond it; `None` is NaN.
fn position(arguments: &mut Arguments<'_, '_>, idx: usize) -> Result<Option<i128>, Fault> {
    if let Some(position) = inline_integer(arguments.get(idx)?.known_id()) {
        return Ok(Some(position.into()));
    }
    let number = arguments.number(idx)?;
    if let Number::Integer(n) = number {
        return Ok(Some(i64::from(n).into()));
    }
    let rounded = or_error(number.rounded(Rounding::HalfUp))?;
    let value = f64::from(rounded.to_double());
    Ok((!value.is_nan()).then_some(value as i128))
}

/// `SUBSTR`: the characters at the positions from the start to before start plus length (`fn:substring`),
/// none if one of them is not a number.
fn substring(arguments: &mut Arguments<'_, '_>, out: &mut Texts) -> Result<(), Fault> {
    let has_length = arguments.count() > 2;
    let start = position(arguments, 1)?;
    let length = match has_length {
        true => position(arguments, 2)?,
        false => Some(i128::MAX),
    };
    let (Some(start), Some(length)) = (start, length) else {
        let kind = arguments.string(0)?.kind;
        out.push("", kind);
        return Ok(());
    };
    let end = match has_length {
        true => start.saturating_add(length),
        false => i128::MAX,
    };
    let (first, end) = (start.max(1) - 1, end.max(1) - 1);
    let string = arguments.string_start(0, end)?;
    let rest = after_characters(string.lexical, first);
    let kept = rest.len() - after_characters(rest, end.saturating_sub(first)).len();
    out.push(&rest[..kept], string.kind);
    Ok(())
}

/// What is left of a text after so many characters.
fn after_characters(text: &str, count: i128) -> &str {
    let Ok(count) = usize::try_from(count.max(0)) else {
        return "";
    };
    let at = text.char_indices().nth(count).map(|(at, _)| at);
    &text[at.unwrap_or(text.len())..]
}

/// A string and another that is looked for in it (argument compatibility: section 17.4.3.1.2).
fn text_and_part<'a>(
    arguments: &'a mut Arguments<'_, '_>,
) -> Result<(LiteralView<'a>, LiteralView<'a>), Fault> {
    let (text, part) = arguments.two_strings()?;
    match part.kind != LiteralKind::Simple && !are_in_one_language(text, part) {
        true => Err(Fault::Error),
        false => Ok((text, part)),
    }
}

/// Appends a text with all but unreserved characters as percents and digits.
fn percent_encoded(text: &str, encoded: &mut String) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.push(char::from(DIGITS[usize::from(byte >> 4)]));
            encoded.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
}
