//! Whether the mistakes of the wrong texts are named and none is found in the right ones, and whether any text makes it panic or
//! takes long.

use super::Wanted::{Query, Update};
use super::places::{LINE_SHOWN, part};
use super::right_texts::RIGHT;
use super::wrong_texts::{END, WRONG};
use super::*;

#[test]
fn mistakes_are_named() {
    for (text, wanted, message, expected) in WRONG {
        let said = diagnose(text, *wanted, message);
        assert!(said.contains(expected), "{text}\n{said}\n{expected}");
    }
}

#[test]
fn right_texts_have_no_mistakes() {
    for (text, wanted) in RIGHT {
        assert_eq!(diagnose(text, *wanted, "none"), "none", "{text}");
        let said = diagnose(text, *wanted, "error at 1:1: expected [_]");
        assert!(
            said.starts_with("error at 1:1: it cannot"),
            "{text}\n{said}"
        );
    }
}

#[test]
fn lists_of_what_was_expected_are_short() {
    let message = "error at 1:2: expected one of \"\\\"\", \",\", ABS, AVG, BIND, ['a' ..= 'z'\n| '\\''], CEIL, DAY, IF, IN, IRI";
    let said = diagnose("ASK {}", Query, message);
    assert!(
        said.contains(
            ": expected \"\\\"\", \",\", ABS, AVG, BIND, CEIL, DAY, IF, where «SK {}» stands"
        ),
        "{said}"
    );
}

#[test]
fn long_lines_are_shown_in_part() {
    let text = format!(
        "ASK {{ {} foo {} }}",
        "?s ?p 'é' . ".repeat(99),
        "?s ?p 'é' . ".repeat(99)
    );
    let said = diagnose(&text, Query, END);
    let (_, shown) = said.split_once(", in «").expect("a line");
    assert!(
        shown.contains(" foo ") && shown.chars().count() <= LINE_SHOWN + 1,
        "{said}"
    );
}

/// All texts of the tables, cut anywhere and put together with others.
#[test]
fn nothing_panics() {
    let right: String = RIGHT.iter().map(|(text, _)| *text).collect();
    let wrong: String = WRONG.iter().map(|(text, ..)| *text).collect();
    let odd = "\\é\\ \"\\é '\\\n''' \\u00 é:é\\é .:.: a.b.c 1.e+ ?é $ @ @é <é> <é _: %é ]})({[ \u{FEFF}\u{1F600}\0\r\n";
    let text = format!("{odd}{right}{wrong}{odd}");
    for (at, _) in text.char_indices() {
        for wanted in [Query, Update] {
            let window = part(&text, at, text.len())
                .chars()
                .take(60)
                .collect::<String>();
            assert!(!diagnose(part(&text, 0, at), wanted, END).is_empty());
            for message in [
                "error at 2:3: expected An overridden A b",
                "error at 0:0: expected ",
                "é",
            ] {
                assert!(!diagnose(&window, wanted, message).is_empty());
            }
        }
    }
}

#[test]
fn long_texts_take_no_long_time() {
    let start = std::time::Instant::now();
    for piece in [
        "a.",
        "(",
        "{ ?s ?p ?v ",
        "<a",
        "'a' ",
        ":.",
        "\"\\",
        "1.e",
        "ASK{",
        "-",
        "a:",
        "?x{",
        "<<(",
        "\n'",
    ] {
        let text = format!("ASK {{ {}", piece.repeat(100_000));
        let message = "error at 1:9: expected An overridden A b";
        assert!(!diagnose(&text, Query, message).is_empty());
    }
    assert!(start.elapsed().as_secs() < 60, "{:?}", start.elapsed());
}
