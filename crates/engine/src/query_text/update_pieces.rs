//! The operations of an update request, found in its text before it is parsed.
//!
//! The parser writes ADD, MOVE and COPY as other operations and forgets that they were SILENT, and it knows a
//! prologue at the start of the text only, whereas the grammar allows one after each `;`. So the text is cut into
//! operations by its tokens; what a piece means is still the parser's business.
//!
//! The texts here are those that the parser sees, with codepoint escapes decoded (`escapes`).
//!
//! Cost: one pass over the text.

use super::{Kind, Tokens};
use std::ops::Range;

/// The word that an operation begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyword {
    /// ADD.
    Add,
    /// MOVE.
    Move,
    /// COPY.
    Copy,
    /// Any other operation.
    Other,
}

/// One operation in the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Its first word.
    pub keyword: Keyword,
    /// Whether the second word is SILENT.
    pub is_silent: bool,
    /// Where the declarations before it stand.
    pub prologue: Range<usize>,
    /// Where it stands itself.
    pub operation: Range<usize>,
}

/// The words that begin an operation.
const KEYWORDS: &[(&str, Keyword)] = &[
    ("ADD", Keyword::Add),
    ("MOVE", Keyword::Move),
    ("COPY", Keyword::Copy),
    ("LOAD", Keyword::Other),
    ("CLEAR", Keyword::Other),
    ("DROP", Keyword::Other),
    ("CREATE", Keyword::Other),
    ("INSERT", Keyword::Other),
    ("DELETE", Keyword::Other),
    ("WITH", Keyword::Other),
];

/// Whether a word begins an operation of the others, with or without a blank behind it: the parser takes `INSERTDATA`, too.
fn begins_another(word: &str) -> bool {
    let others = KEYWORDS.iter().filter(|(_, k)| *k == Keyword::Other);
    let mut starts = others.filter_map(|(known, _)| Some((word.get(..known.len())?, known)));
    starts.any(|(start, known)| start.eq_ignore_ascii_case(known))
}

/// The words that begin a declaration.
const DECLARATIONS: [&str; 2] = ["BASE", "PREFIX"];

/// The operations of a request; `None` if one of them begins with another word, such as `MOVEDEFAULT`.
pub fn update_pieces(text: &str) -> Option<Vec<Piece>> {
    let mut pieces = Vec::new();
    let mut depth = 0usize;
    let mut start = 0;
    let mut open: Option<Piece> = None;
    let mut words = 0;
    for (kind, range) in Tokens::new(text) {
        let token = &text[range.clone()];
        match token {
            "{" => depth += 1,
            "}" => depth = depth.saturating_sub(1),
            ";" if depth == 0 => {
                pieces.push(open.take()?);
                start = range.end;
                continue;
            }
            _ => {}
        }
        match &mut open {
            Some(piece) => {
                let is_blank = token.trim().is_empty() || token.starts_with('#');
                if !is_blank {
                    piece.operation.end = range.end;
                }
                if kind == Kind::Word {
                    words += 1;
                    piece.is_silent |= words == 1 && token.eq_ignore_ascii_case("SILENT");
                }
            }
            None if kind == Kind::Word && depth == 0 => {
                let is_token = |word: &str| token.eq_ignore_ascii_case(word);
                if DECLARATIONS.iter().any(|word| is_token(word)) {
                    continue;
                }
                let known = KEYWORDS.iter().find(|(word, _)| is_token(word));
                let keyword = match known {
                    Some((_, keyword)) => *keyword,
                    None if begins_another(token) => Keyword::Other,
                    None => return None,
                };
                open = Some(Piece {
                    keyword,
                    is_silent: false,
                    prologue: start..range.start,
                    operation: range,
                });
                words = 0;
            }
            None => {}
        }
    }
    pieces.extend(open);
    Some(pieces)
}

/// Whether ADD, MOVE or COPY stand anywhere in a text, also inside of other words.
pub fn mentions_transfer(text: &str) -> bool {
    let upper = text.to_ascii_uppercase();
    ["ADD", "MOVE", "COPY"]
        .iter()
        .any(|word| upper.contains(word))
}

/// Where the text has language tags, without their `@`.
pub fn language_tags(text: &str) -> Vec<Range<usize>> {
    let is_tag = |range: &Range<usize>| text[range.clone()].starts_with('@') && range.len() > 1;
    Tokens::new(text)
        .map(|(_, range)| range)
        .filter(is_tag)
        .map(|range| range.start + 1..range.end)
        .collect()
}

/// Whether there are declarations in this part of a text.
pub fn has_declarations(text: &str, prologue: &Range<usize>) -> bool {
    let part = &text[prologue.clone()];
    Tokens::new(part).any(|(kind, _)| kind == Kind::Word)
}

/// The text with everything but some parts of it made blank; lines and columns stay.
pub fn only(text: &str, parts: &[Range<usize>]) -> String {
    let kept = |at: usize| parts.iter().any(|part| part.contains(&at));
    text.char_indices()
        .map(|(at, c)| if c == '\n' || kept(at) { c } else { ' ' })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::{Keyword, mentions_transfer, only, update_pieces};

    fn shown(text: &str) -> Vec<(Keyword, bool, &str)> {
        let pieces = update_pieces(text).expect("known operations");
        let shown = pieces.into_iter();
        shown
            .map(|piece| (piece.keyword, piece.is_silent, &text[piece.operation]))
            .collect()
    }

    #[test]
    fn operations_are_told_apart_by_semicolons_outside_of_braces() {
        let text = "PREFIX add: <http://e/;> # ; COPY\n\
            INSERT DATA { add:x add:silent \"; MOVE\" ; add:y 1 } ;\n\
            copy Silent <http://a> TO DEFAULT ; PREFIX x: <http://e/>\n MOVE x:a TO x:b # end\n;";
        assert_eq!(
            shown(text),
            [
                (
                    Keyword::Other,
                    false,
                    "INSERT DATA { add:x add:silent \"; MOVE\" ; add:y 1 }"
                ),
                (Keyword::Copy, true, "copy Silent <http://a> TO DEFAULT"),
                (Keyword::Move, false, "MOVE x:a TO x:b"),
            ]
        );
    }

    #[test]
    fn silent_counts_right_after_the_keyword_only() {
        assert_eq!(
            shown(
                "WITH <http://a> DELETE { ?silent ?p ?o } WHERE { ?silent ?p ?o } ; ADD <a> TO <b>"
            ),
            [
                (
                    Keyword::Other,
                    false,
                    "WITH <http://a> DELETE { ?silent ?p ?o } WHERE { ?silent ?p ?o }"
                ),
                (Keyword::Add, false, "ADD <a> TO <b>"),
            ]
        );
        assert_eq!(shown(""), []);
    }

    #[test]
    fn what_begins_with_other_words_is_not_cut() {
        for text in [
            "MOVEDEFAULT TO <b>",
            "CLEARALL ; COPYDEFAULT TO <b>",
            "; COPY <a> TO <b>",
            "COPY <a> TO <b> ; PREFIX e: <http://e/> MOVEe:a TO e:b",
        ] {
            assert_eq!(update_pieces(text), None, "{text}");
        }
        assert_eq!(
            shown("CLEARALL ; COPY <a> TO <b> ; insertdata {}"),
            [
                (Keyword::Other, false, "CLEARALL"),
                (Keyword::Copy, false, "COPY <a> TO <b>"),
                (Keyword::Other, false, "insertdata {}"),
            ]
        );
        assert!(mentions_transfer("movedefault TO <b>"));
        assert!(!mentions_transfer("CLEARALL ; LOAD <a>"));
    }

    #[test]
    fn parts_are_kept_where_they_stand() {
        assert_eq!(only("ab\nçd ef", &[0..1, 5..8]), "a \n d e ");
    }
}
