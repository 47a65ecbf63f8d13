//! Finds the functions of a source file and how long they are, by matching
//! braces in code from which literals and comments are gone.
//!
//! Invariant: a function's length runs from the line of its `fn` to the line of
//! its closing brace; a function inside counts for itself and for the outer one.
//!
//! Cost: linear, times the nesting depth of functions.

use super::source_text::{SourceText, words};

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name, without path.
    pub name: String,
    /// The line of its `fn`, from 1.
    pub line: usize,
    /// How many lines it takes.
    pub line_count: usize,
}

/// All functions of a file that have a body, in order.
pub fn functions(source: &SourceText) -> Vec<Function> {
    let bytes = source.code.as_bytes();
    let mut found = Vec::new();
    let mut words = source.words().peekable();
    while let Some((offset, word)) = words.next() {
        if word != "fn" {
            continue;
        }
        // `fn(` is a type and `fn $name` a macro's pattern: no word follows directly.
        let Some((name_offset, name)) = words.peek().copied() else {
            break;
        };
        let between = &source.code[offset + 2..name_offset];
        if !between.chars().all(char::is_whitespace) {
            continue;
        }
        let Some(open) = body_start(bytes, name_offset) else {
            continue;
        };
        let line = source.line_at(offset);
        found.push(Function {
            name: name.to_owned(),
            line,
            line_count: source.line_at(closing_brace(bytes, open)) - line + 1,
        });
    }
    found
}

/// The opening brace of the body of the function whose name is at `at`; `None`
/// for a declaration.
fn body_start(bytes: &[u8], at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, byte) in bytes.iter().enumerate().skip(at) {
        match byte {
            b'(' | b'[' => depth += 1,
            b')' | b']' => depth = depth.checked_sub(1)?,
            b'{' if depth == 0 => return Some(offset),
            b';' | b'}' if depth == 0 => return None,
            _ => {}
        }
    }
    None
}

/// The brace that closes the one at `open`, or the last byte where it is missing.
fn closing_brace(bytes: &[u8], open: usize) -> usize {
    let mut depth = 0_usize;
    for (offset, byte) in bytes.iter().enumerate().skip(open) {
        match byte {
            b'{' => depth += 1,
            b'}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return offset;
        }
    }
    bytes.len() - 1
}

/// The lines that a file counts for: up to a trailing `mod tests { ... }`.
pub fn lines_without_tests(source: &SourceText) -> usize {
    let lines: Vec<&str> = source.code.lines().collect();
    let is_test_module = |pair: &[&str]| {
        let mut words = words(pair[1]).map(|(_, word)| word);
        pair[0].trim() == "#[cfg(test)]"
            && words.next() == Some("mod")
            && words.next() == Some("tests")
            && pair[1].trim_end().ends_with('{')
    };
    let mut pairs = lines.windows(2);
    pairs.rposition(is_test_module).unwrap_or(lines.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names_and_lengths(text: &str) -> Vec<(String, usize)> {
        functions(&SourceText::new(text))
            .into_iter()
            .map(|function| (function.name, function.line_count))
            .collect()
    }

    #[test]
    fn braces_in_literals_and_comments_do_not_count() {
        let text = "fn a() {\n '{'; \"}\"; // }\n}\nfn b() -> [u8; 3] { [0; 3] }\n";
        assert_eq!(
            names_and_lengths(text),
            [("a".to_owned(), 3), ("b".to_owned(), 1)]
        );
    }

    #[test]
    fn declarations_types_and_patterns_are_no_functions() {
        let text = "trait T { fn a(&self);\n fn b() { } }\ntype F = fn(u8) -> u8;\nmacro_rules! m { (fn $n:ident) => {} }";
        assert_eq!(names_and_lengths(text), [("b".to_owned(), 1)]);
    }

    #[test]
    fn nested_functions_count_for_both() {
        let text = "fn outer()\nwhere\n{\n fn inner() {\n }\n}\n";
        assert_eq!(
            names_and_lengths(text),
            [("outer".to_owned(), 6), ("inner".to_owned(), 2)]
        );
    }

    #[test]
    fn unbalanced_text_is_harmless() {
        assert_eq!(names_and_lengths("fn a() {\n"), [("a".to_owned(), 1)]);
        assert_eq!(names_and_lengths("fn a() )"), []);
        assert_eq!(names_and_lengths("fn"), []);
    }

    #[test]
    fn a_trailing_test_module_is_left_out() {
        let text = "a\nb\n#[cfg(test)]\nmod tests {\n}\n";
        assert_eq!(lines_without_tests(&SourceText::new(text)), 2);
        let text = "a\n#[cfg(test)]\nmod tests;\nb\n";
        assert_eq!(lines_without_tests(&SourceText::new(text)), 4);
    }
}
