//! Tests of the pass over query texts: what it changes, and above all what it leaves alone.

use super::*;
use basalt_testkit::split_mix::SplitMix;
use spargebra::SparqlParser;

fn parses(text: &str) -> bool {
    SparqlParser::new().parse_query(text).is_ok()
}

#[test]
fn booleans_are_lowered_where_they_are_keywords() {
    let cases = [
        (
            "SELECT (TRUE AS ?t) (False AS ?f) {}",
            "SELECT (true AS ?t) (false AS ?f) {}",
        ),
        ("{?s :p TRUE.:a :b FALSE}", "{?s :p true.:a :b false}"),
        ("FILTER(!TRUE&&?x-TRUE)", "FILTER(!true&&?x-true)"),
        ("(1.5e3,TRUE,2.FALSE)", "(1.5e3,true,2.false)"),
        ("'it\\'s TRUE'TRUE", "'it\\'s TRUE'true"),
        (
            "\"\"\"TRUE \" \"\" \\\"\"\"\" TRUE",
            "\"\"\"TRUE \" \"\" \\\"\"\"\" true",
        ),
        ("\"\" TRUE # TRUE\nTRUE", "\"\" true # TRUE\ntrue"),
        ("?x < ?y && TRUE > ?z", "?x < ?y && true > ?z"),
        ("'\\u00E9' TRUE", "'\\u00E9' true"),
    ];
    for (text, expected) in cases {
        assert_eq!(with_lower_case_booleans(text), expected);
    }
}

#[test]
fn booleans_inside_other_tokens_stay() {
    let texts = [
        "true false trUly TRUEST xTRUE TRUE_1 _TRUE",
        "?TRUE $FALSE ?x_TRUE",
        "TRUE:FALSE x-TRUE:y TRUE.a:b :TRUE :a.TRUE :a%20TRUE :a\\-TRUE _:TRUE a:1TRUE",
        "<TRUE> <http://e/TRUE> <?a&&TRUE>",
        "\"x\"@TRUE \"x\"@en-FALSE",
        "\"TRUE\" 'FALSE' '''TRUE''' \"\"\"FALSE\"\"\" '\\\\' 'TRUE'",
        "# TRUE",
        "'no end TRUE",
        "'''no end ' '' TRUE",
        "\\u00E9TRUE TRUE\\u00E9 TRUEé éTRUE",
        "\"\\u0022 TRUE",
        "",
        "\\",
        ":a\\",
    ];
    for text in texts {
        assert!(
            matches!(with_lower_case_booleans(text), Cow::Borrowed(same) if same == text),
            "{text}"
        );
    }
}

/// Pieces of queries, so that random texts have tokens next to each other that people would not write.
const PIECES: &[&str] = &[
    "TRUE",
    "False",
    "true",
    "?x",
    "$TRUE",
    ":",
    "TRUE:",
    "a:b",
    ".",
    ";",
    ",",
    "<",
    ">",
    "<http://e/TRUE>",
    "<=",
    "\"",
    "'",
    "\"\"\"",
    "'''",
    "\\",
    "\\\"",
    "#",
    "\n",
    " ",
    "@en",
    "@",
    "-",
    "1.5",
    "1e",
    "(",
    ")",
    "{",
    "}",
    "é",
    "%20",
    "^^",
    "&&",
    "||",
    "_:b",
    "[",
    "]",
    "\\u00e9",
    "\\u0022",
];

#[test]
fn random_texts_keep_their_length_and_everything_but_the_keywords() {
    let mut random = SplitMix::new(7);
    for _ in 0..20_000 {
        let count = random.below(12);
        let text: String = (0..count)
            .map(|_| PIECES[random.below(PIECES.len())])
            .collect();
        let text = escapes::decoded(&text).into_owned();
        let covered: usize = Tokens::new(&text).map(|(_, range)| range.len()).sum();
        assert_eq!(covered, text.len(), "{text:?}");
        let lowered = with_lower_case_booleans(&text);
        assert_eq!(lowered.len(), text.len(), "{text:?}");
        assert!(lowered.eq_ignore_ascii_case(&text), "{text:?}");
        assert_eq!(with_lower_case_booleans(&lowered), lowered, "{text:?}");
        let without: String = text
            .chars()
            .map(|c| if c == 'T' || c == 'F' { 'x' } else { c })
            .collect();
        assert_eq!(with_lower_case_booleans(&without), without);
        if parses(&text) {
            assert!(parses(&lowered), "{text:?}");
        }
    }
}

#[test]
fn iris_that_were_read_as_comparisons_are_found() {
    let wrong = [
        ("SELECT * { FILTER(?x<?a&&?b>?y) }", "<?a&&?b>"),
        (
            "SELECT * { ?x ?y ?z FILTER(?x<?a)FILTER(?b>?y) }",
            "<?a)FILTER(?b>",
        ),
        ("SELECT (IF(?x<?a,?b>?y,1) AS ?z) { }", "<?a,?b>"),
    ];
    for (text, iri) in wrong {
        assert!(parses(text), "the parser reads comparisons in {text}");
        let range = iri_taken_for_comparison(text, parses);
        assert_eq!(range.map(|range| &text[range]), Some(iri));
    }
}

#[test]
fn comparisons_and_real_iris_stay() {
    let right = [
        "SELECT * { FILTER(?x < ?a && ?b > ?y) }",
        "SELECT * { FILTER(?x<?a && ?b>?y) }",
        "SELECT * { FILTER(?x<?a||?b>?y) }",
        "SELECT * { FILTER('<?a&&?b>' > ?y) } # <?a&&?b>",
        "SELECT * { ?s<http://e/a,b>?o FILTER(?s != <http://e/(a)>) }",
        "SELECT * { ?s<urn:a,b>?o . ?o <urn:x&&y> ?z FILTER(<urn:a(b)> != ?o) }",
        "SELECT * { VALUES ?x { <urn:a,b> <urn:c)> } }",
        "BASE <urn:a,b> PREFIX : <urn:c)> SELECT * { ?s :p <urn:d&&e> FILTER(<urn:f,g>(?s) < 3) }",
    ];
    for text in right {
        assert!(parses(text), "{text}");
        assert_eq!(iri_taken_for_comparison(text, parses), None, "{text}");
    }
}

/// As [`string_length`], character by character.
fn string_length_by_characters(text: &str, quote: char) -> usize {
    let long: String = [quote; 3].iter().collect();
    let is_long = text.starts_with(&long);
    let mut at = if is_long { 3 } else { 1 };
    while let Some(c) = text[at..].chars().next() {
        if is_long && text[at..].starts_with(&long) {
            return at + 3;
        }
        if !is_long && c == quote {
            return at + 1;
        }
        if !is_long && matches!(c, '\n' | '\r') {
            return text.len();
        }
        at += c.len_utf8();
        if c == '\\' {
            at += text[at..].chars().next().map_or(0, char::len_utf8);
        }
    }
    text.len()
}

/// As [`iri_length`], character by character.
fn iri_length_by_characters(text: &str) -> Option<usize> {
    let is_outside =
        |c: char| c <= ' ' || matches!(c, '<' | '>' | '"' | '{' | '}' | '|' | '^' | '`');
    let end = 1 + text[1..].find(is_outside)?;
    text[end..].starts_with('>').then_some(end + 1)
}

#[test]
fn strings_and_iris_end_where_their_characters_say() {
    let mut random = SplitMix::new(11);
    let mut ended = 0;
    for _ in 0..20_000 {
        let count = random.below(10);
        let inner: String = (0..count)
            .map(|_| PIECES[random.below(PIECES.len())])
            .collect();
        for (first, quote) in [("\"", '"'), ("'", '\''), ("\"\"\"", '"'), ("'''", '\'')] {
            let text = format!("{first}{inner}");
            let expected = string_length_by_characters(&text, quote);
            assert_eq!(string_length(&text, quote), expected, "{text:?}");
        }
        let text = format!("<{inner}");
        let expected = iri_length_by_characters(&text);
        assert_eq!(iri_length(&text), expected, "{text:?}");
        ended += usize::from(expected.is_some());
    }
    assert!(ended > 100, "{ended}");
}
