//! Functions on strings (SPARQL 1.1, section 17.4.3) with the rules for language tags.
//!
//! A string is an `xsd:string` or a language-tagged string; anything else is an error. Positions
//! count Unicode code points from one.

use super::call::{
    Arguments, Fault, Outcome, UNCOUNTED_BYTES, boolean, check_text, integer, or_error, simple,
};
use super::language_test::lang_matches;
use super::pattern;
use super::vector::{Argument, Item};
use crate::context::Context;
use crate::error::ExecError;
use crate::value::{Number, Rounding, Value};
use basalt_rdf::{LiteralKind, TermView};
use oxrdf::Literal;
use regex::Regex;
use spargebra::algebra::Function;
use std::borrow::Cow;
use std::ops::Range;

/// The pattern compiled last, for calls whose pattern is not a constant.
#[derive(Default)]
pub struct Patterns {
    last: Option<(String, String, Option<Regex>)>,
}

impl Patterns {
    fn get(&mut self, pattern: &str, flags: &str, cx: &Context) -> Result<&Regex, Fault> {
        if !matches!(&self.last, Some((p, f, _)) if p == pattern && f == flags) {
            // To compile a pattern may take as long as many rows.
            cx.check()?;
            let regex = pattern::compile(pattern, flags);
            self.last = Some((pattern.to_owned(), flags.to_owned(), regex));
        }
        match &self.last {
            Some((_, _, Some(regex))) => Ok(regex),
            _ => Err(Fault::Error),
        }
    }
}

/// A string and its language tag.
struct Tagged<'a> {
    text: Cow<'a, str>,
    language: Option<Cow<'a, str>>,
}

impl<'a> Tagged<'a> {
    /// Of a value, if it is a string.
    fn of(value: &'a Value) -> Option<Self> {
        let (text, language) = match value {
            Value::String(text) => (text, None),
            Value::LangString(tagged) => (&tagged.0, Some(Cow::Borrowed(tagged.1.as_str()))),
            _ => return None,
        };
        let text = Cow::Borrowed(text.as_str());
        Some(Self { text, language })
    }

    fn copied(text: &str, language: Option<&str>) -> Self {
        Self {
            text: Cow::Owned(text.to_owned()),
            language: language.map(|tag| Cow::Owned(tag.to_owned())),
        }
    }

    fn text(&self) -> &str {
        &self.text
    }

    fn language(&self) -> Option<&str> {
        self.language.as_deref()
    }

    /// Whether both have the same language tag, whose case means nothing, or none.
    fn is_in_language_of(&self, other: &Self) -> bool {
        match (self.language(), other.language()) {
            (Some(a), Some(b)) => a.eq_ignore_ascii_case(b),
            (a, b) => a == b,
        }
    }

    /// Another text in the same language.
    fn with_text(&self, text: impl Into<String>) -> Item {
        tagged(text.into(), self.language())
    }
}

fn tagged(text: String, language: Option<&str>) -> Item {
    Item::Value(match language {
        Some(language) => Value::LangString(Box::new((text, language.to_owned()))),
        None => Value::String(text),
    })
}

/// A string argument.
fn string<'a>(arguments: &mut Arguments<'a, '_>, idx: usize) -> Result<Tagged<'a>, Fault> {
    or_error(match arguments.get(idx)? {
        Argument::Constant(constant) => Tagged::of(&constant.value),
        Argument::Value(value) => Tagged::of(value),
        Argument::Error | Argument::Boolean(_) => None,
        Argument::Id(id) => match arguments.reader.term(id)? {
            TermView::Literal(literal) => match literal.kind {
                LiteralKind::Simple => Some(Tagged::copied(literal.lexical, None)),
                LiteralKind::Language(tag) => Some(Tagged::copied(literal.lexical, Some(tag))),
                LiteralKind::Typed(_) => None,
            },
            _ => None,
        },
    })
}

/// Calls a string function.
pub fn call(
    function: &Function,
    arguments: &mut Arguments<'_, '_>,
    patterns: &mut Patterns,
) -> Outcome {
    match function {
        Function::Concat => concat(arguments),
        Function::StrLen => {
            let count = string(arguments, 0)?.text().chars().count();
            Ok(integer(or_error(i64::try_from(count).ok())?))
        }
        Function::UCase => {
            let text = string(arguments, 0)?;
            Ok(text.with_text(text.text().to_uppercase()))
        }
        Function::LCase => {
            let text = string(arguments, 0)?;
            Ok(text.with_text(text.text().to_lowercase()))
        }
        Function::EncodeForUri => {
            let text = string(arguments, 0)?;
            check_text(text.text().len() * 3, arguments.context())?;
            Ok(simple(percent_encoded(text.text())))
        }
        Function::SubStr => substring(arguments),
        Function::Contains
        | Function::StrStarts
        | Function::StrEnds
        | Function::StrBefore
        | Function::StrAfter => search(function, arguments),
        Function::LangMatches => {
            let (tag, range) = (arguments.plain(0)?, arguments.plain(1)?);
            Ok(boolean(lang_matches(&tag, &range)))
        }
        Function::StrLang => {
            let (text, language) = (arguments.plain(0)?, arguments.plain(1)?);
            let literal = Literal::new_language_tagged_literal(text.as_ref(), language.as_ref());
            let literal = or_error(literal.ok())?;
            Ok(tagged(text.into_owned(), literal.language()))
        }
        Function::Regex => {
            let text = string(arguments, 0)?;
            let flags = flags(arguments, 2)?;
            let pattern = arguments.plain(1)?;
            Ok(boolean(
                patterns
                    .get(&pattern, &flags, arguments.context())?
                    .is_match(text.text()),
            ))
        }
        Function::Replace => {
            let text = string(arguments, 0)?;
            let flags = flags(arguments, 3)?;
            let pattern = arguments.plain(1)?;
            let replacement = arguments.plain(2)?;
            let regex = patterns.get(&pattern, &flags, arguments.context())?;
            if regex.is_match("") {
                // FORX0003: what it would put between all characters is nothing that was matched.
                return Err(Fault::Error);
            }
            let replacement = or_error(pattern::replacement(&replacement, &flags, regex))?;
            let replaced = replaced(regex, text.text(), &replacement, arguments.context())?;
            Ok(text.with_text(replaced))
        }
        _ => Err(Fault::Error),
    }
}

/// A text on its way to another with matches replaced. A replacement may stand for a text of any length, so its memory and time are
/// looked at meanwhile.
struct Replaced<'a> {
    text: &'a str,
    out: String,
    /// The end of the last match.
    end: usize,
    /// Bytes that there is room for.
    checked: usize,
}

impl Replaced<'_> {
    /// Puts a text in the place of the next match.
    fn put(&mut self, found: Range<usize>, other: &str, cx: &Context) -> Result<(), ExecError> {
        let kept = &self.text[self.end..found.start];
        let bytes = self.out.len() + kept.len() + other.len();
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

/// The text with each match replaced.
fn replaced(
    regex: &Regex,
    text: &str,
    replacement: &str,
    cx: &Context,
) -> Result<String, ExecError> {
    let mut replaced = Replaced {
        text,
        out: String::with_capacity(text.len()),
        end: 0,
        checked: UNCOUNTED_BYTES,
    };
    if replacement.contains('$') {
        let mut expanded = String::new();
        for captures in regex.captures_iter(text) {
            expanded.clear();
            captures.expand(replacement, &mut expanded);
            replaced.put(captures.get_match().range(), &expanded, cx)?;
        }
    } else {
        // Which groups have matched need not be known.
        for found in regex.find_iter(text) {
            replaced.put(found.range(), replacement, cx)?;
        }
    }
    let Replaced { mut out, end, .. } = replaced;
    out.push_str(&text[end..]);
    Ok(out)
}

fn flags<'a>(arguments: &mut Arguments<'a, '_>, idx: usize) -> Result<Cow<'a, str>, Fault> {
    if arguments.count() > idx {
        arguments.plain(idx)
    } else {
        Ok(Cow::Borrowed(""))
    }
}

/// `CONCAT`: keeps a language tag that all arguments have.
fn concat(arguments: &mut Arguments<'_, '_>) -> Outcome {
    let parts = (0..arguments.count())
        .map(|idx| string(arguments, idx))
        .collect::<Result<Vec<_>, _>>()?;
    let bytes = parts.iter().map(|part| part.text().len()).sum();
    check_text(bytes, arguments.context())?;
    let mut text = String::with_capacity(bytes);
    parts.iter().for_each(|part| text.push_str(part.text()));
    let language = match parts.split_first() {
        Some((first, rest)) if rest.iter().all(|part| part.is_in_language_of(first)) => {
            first.language()
        }
        _ => None,
    };
    Ok(tagged(text, language))
}

/// A position among characters: the nearest integer, and the end of the range beyond it; `None` is NaN.
fn position(arguments: &mut Arguments<'_, '_>, idx: usize) -> Result<Option<i128>, Fault> {
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
fn substring(arguments: &mut Arguments<'_, '_>) -> Outcome {
    let text = string(arguments, 0)?;
    let start = position(arguments, 1)?;
    let length = if arguments.count() > 2 {
        position(arguments, 2)?
    } else {
        Some(i128::MAX)
    };
    let (Some(start), Some(length)) = (start, length) else {
        return Ok(text.with_text(""));
    };
    let end = if arguments.count() > 2 {
        start.saturating_add(length)
    } else {
        i128::MAX
    };
    let first = start.max(1);
    let rest = after_characters(text.text(), first - 1);
    let kept = rest.len() - after_characters(rest, end.saturating_sub(first)).len();
    Ok(text.with_text(&rest[..kept]))
}

/// What is left of a text after so many characters.
fn after_characters(text: &str, count: i128) -> &str {
    let Ok(count) = usize::try_from(count.max(0)) else {
        return "";
    };
    let at = text.char_indices().nth(count).map(|(at, _)| at);
    &text[at.unwrap_or(text.len())..]
}

/// The functions that look for one string in another (argument compatibility: section 17.4.3.1.2).
fn search(function: &Function, arguments: &mut Arguments<'_, '_>) -> Outcome {
    let whole = string(arguments, 0)?;
    let part = string(arguments, 1)?;
    if part.language().is_some() && !part.is_in_language_of(&whole) {
        return Err(Fault::Error);
    }
    let (text, part) = (whole.text(), part.text());
    Ok(match function {
        Function::Contains => boolean(text.contains(part)),
        Function::StrStarts => boolean(text.starts_with(part)),
        Function::StrEnds => boolean(text.ends_with(part)),
        _ => match text.find(part) {
            None => simple(""),
            Some(at) if *function == Function::StrBefore => whole.with_text(&text[..at]),
            Some(at) => whole.with_text(&text[at + part.len()..]),
        },
    })
}

fn percent_encoded(text: &str) -> String {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            encoded.push('%');
            encoded.push(char::from(DIGITS[usize::from(byte >> 4)]));
            encoded.push(char::from(DIGITS[usize::from(byte & 15)]));
        }
    }
    encoded
}
