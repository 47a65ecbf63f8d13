//! `REGEX` and `REPLACE`: patterns and flags, compiled once where they are constant.

use super::vector::{Argument, Truth, Vector};
use crate::error::ExecError;
use crate::value::{Reader, Value};
use basalt_rdf::{LiteralKind, TermView};
use regex::{Regex, RegexBuilder};

/// Compiles a pattern; `None` if the pattern or a flag is invalid.
pub fn compile(pattern: &str, flags: &str) -> Option<Regex> {
    let quoted;
    let pattern = if flags.contains('q') {
        quoted = regex::escape(pattern);
        &quoted
    } else {
        pattern
    };
    let mut builder = RegexBuilder::new(pattern);
    for flag in flags.chars() {
        match flag {
            's' => builder.dot_matches_new_line(true),
            'm' => builder.multi_line(true),
            'i' => builder.case_insensitive(true),
            'x' => builder.ignore_whitespace(true),
            'q' => &mut builder,
            _ => return None,
        };
    }
    builder.build().ok()
}

/// Whether the pattern matches in each of `count` rows; with `of_str` the text is `STR` of the rows.
pub fn matches(
    regex: &Regex,
    of_str: bool,
    text: &Vector<'_>,
    count: usize,
    reader: &mut Reader<'_>,
) -> Result<Vec<Truth>, ExecError> {
    (0..count)
        .map(|row| Ok(matches_one(regex, of_str, text.get(row), reader)?.into()))
        .collect()
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
