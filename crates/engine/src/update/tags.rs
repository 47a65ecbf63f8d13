//! Language tags of the strings that an update inserts, as they were written.
//!
//! The parser writes tags in lower case. A text with others is parsed once more with a mark at each of them, a
//! private subtag with a number, and the strings to be inserted are taken from there, each with the tag that its
//! mark stands for. Everywhere else tags match in any case.
//!
//! Cost: nothing for a text whose tags are in lower case, else a second parse.

use crate::query_text::update_pieces::language_tags;
use oxrdf::{Literal, Term};
use spargebra::term::TermPattern;
use spargebra::{GraphUpdateOperation, Update};

/// The subtag before a mark.
const MARKED: &str = "basalt-m";

/// The request with the tags of inserted strings as the text has them, whose codepoint escapes are decoded; `parse`
/// parses such a text.
pub(super) fn with_written_tags(
    update: Update,
    text: &str,
    parse: impl Fn(&str) -> Option<Update>,
) -> Update {
    let Some((marked, tags)) = marked(text) else {
        return update;
    };
    let parsed = parse(&marked);
    let Some(parsed) = parsed.filter(|marked| marked.operations.len() == update.operations.len())
    else {
        return update;
    };
    let pairs = update.operations.into_iter().zip(parsed.operations);
    let operations = pairs.map(|(plain, marked)| restored(plain, marked, &tags));
    Update {
        operations: operations.collect(),
        base_iri: update.base_iri,
    }
}

/// The text with a mark at each tag that is not all in lower case, and the tags; `None` if there is none.
fn marked(text: &str) -> Option<(String, Vec<&str>)> {
    let mut out = String::with_capacity(text.len() + 64);
    let mut tags = Vec::new();
    let mut end = 0;
    for range in language_tags(text) {
        let tag = &text[range.clone()];
        if !tag.bytes().any(|byte| byte.is_ascii_uppercase()) {
            continue;
        }
        let lower = tag.to_ascii_lowercase();
        let private = if lower.starts_with("x-") || lower.contains("-x-") {
            ""
        } else {
            "x-"
        };
        out.push_str(&text[end..range.end]);
        out.push_str(&format!("-{private}{MARKED}{}", tags.len()));
        tags.push(tag);
        end = range.end;
    }
    if tags.is_empty() {
        return None;
    }
    out.push_str(&text[end..]);
    Some((out, tags))
}

/// An operation with what it inserts from the marked text, and the marks turned into tags.
fn restored(
    plain: GraphUpdateOperation,
    marked: GraphUpdateOperation,
    tags: &[&str],
) -> GraphUpdateOperation {
    match (plain, marked) {
        (
            GraphUpdateOperation::InsertData { .. },
            GraphUpdateOperation::InsertData { mut data },
        ) => {
            for quad in &mut data {
                if let Term::Literal(literal) = &mut quad.object {
                    restore(literal, tags);
                }
            }
            GraphUpdateOperation::InsertData { data }
        }
        (
            GraphUpdateOperation::DeleteInsert {
                delete,
                using,
                pattern,
                ..
            },
            GraphUpdateOperation::DeleteInsert { mut insert, .. },
        ) => {
            for quad in &mut insert {
                if let TermPattern::Literal(literal) = &mut quad.object {
                    restore(literal, tags);
                }
            }
            GraphUpdateOperation::DeleteInsert {
                delete,
                insert,
                using,
                pattern,
            }
        }
        (plain, _) => plain,
    }
}

/// Gives a string with a mark the tag that was written.
fn restore(literal: &mut Literal, tags: &[&str]) {
    let number = literal
        .language()
        .and_then(|tag| tag.rsplit_once(MARKED))
        .and_then(|(_, number)| number.parse::<usize>().ok());
    if let Some(tag) = number.and_then(|number| tags.get(number)) {
        *literal = Literal::new_language_tagged_literal_unchecked(literal.value(), *tag);
    }
}

#[cfg(test)]
mod tests {
    use super::with_written_tags;
    use spargebra::{SparqlParser, Update};

    fn parse(text: &str) -> Option<Update> {
        SparqlParser::new().parse_update(text).ok()
    }

    fn kept(text: &str) -> String {
        let update = parse(text).expect("the text parses");
        with_written_tags(update, text, parse).to_string()
    }

    #[test]
    fn inserted_strings_keep_their_tags() {
        let text = "INSERT DATA { <e:a> <e:p> \"x\"@en-GB , \"@EN\"@EN , \"y\"@de , \"z\"@en-gb , \"q\"@x-Mine , \"r\"@de-x-It } ;
            DELETE { ?s ?p \"u\"@En } INSERT { ?s ?p \"v\"@En } WHERE { ?s ?p \"w\"@En }";
        let shown = kept(text);
        for tagged in [
            "\"x\"@en-GB",
            "\"@EN\"@EN",
            "\"y\"@de",
            "\"z\"@en-gb",
            "\"q\"@x-Mine",
            "\"r\"@de-x-It",
            "\"u\"@en",
            "\"v\"@En",
            "\"w\"@en",
        ] {
            assert!(shown.contains(tagged), "{tagged}: {shown}");
        }
        assert!(!shown.contains("basalt"), "{shown}");
    }

    #[test]
    fn other_texts_are_left_alone() {
        for text in [
            "CLEAR ALL",
            "INSERT DATA { <e:a> <e:p> \"x\"@en , \"@EN\" , <e:A@B> }",
        ] {
            let update = parse(text).expect("the text parses");
            let same = with_written_tags(update.clone(), text, |_| None);
            assert_eq!(same, update);
        }
    }
}
