//! What a Rust source file looks like: its head, its name, its length, its
//! functions, where `unsafe` may be, and which macros are banned.
//!
//! Invariant: rules about code look at code only and rules about comments at
//! comments only, see [`SourceText`].
//!
//! Cost: linear in the file.

use super::Finding;
use super::functions::{functions, lines_without_tests};
use super::ratchet::{Ratchet, WHOLE_FILE};
use super::source_text::{SourceText, words};

/// Longest function, in lines: what fits on a screen with its doc comment.
const FUNCTION_LINES_MAX: usize = 70;
/// Longest file, in lines without its tests.
const FILE_LINES_MAX: usize = 600;
/// Longest file of tests, in lines.
const TEST_FILE_LINES_MAX: usize = 1200;

/// Names that say nothing about what is inside.
const BANNED_NAMES: [&str; 4] = ["utils", "helpers", "common", "misc"];

/// Where `unsafe` is allowed: a folder (with its slash) or a file.
const UNSAFE_PLACES: [&str; 2] = ["crates/columns/", "crates/store/src/mapped_file.rs"];
/// Where standard output may be written with macros.
const PRINT_PLACES: [&str; 2] = ["crates/cli/", "xtask/"];

/// Checks one file.
pub fn check(path: &str, text: &str, ratchet: &mut Ratchet, findings: &mut Vec<Finding>) {
    let source = SourceText::new(text);
    if !text.starts_with("//!") {
        findings.push(Finding::new(
            path,
            1,
            "a file without a head is banned, begin it with `//!`: what, where, invariants, cost",
        ));
    }
    check_name(path, findings);
    check_lengths(path, &source, ratchet, findings);
    check_unsafe(path, &source, findings);
    check_macros(path, &source, findings);
    check_marks(path, &source, findings);
}

/// Finds file and folder names that say nothing.
fn check_name(path: &str, findings: &mut Vec<Finding>) {
    let banned = path
        .trim_end_matches(".rs")
        .split('/')
        .find(|part| BANNED_NAMES.contains(part));
    if let Some(name) = banned {
        findings.push(Finding::new(
            path,
            1,
            format!("the name `{name}` is banned, use the name of the one concept inside"),
        ));
    }
}

/// Finds files and functions that are too long.
fn check_lengths(
    path: &str,
    source: &SourceText,
    ratchet: &mut Ratchet,
    findings: &mut Vec<Finding>,
) {
    let is_test = path.ends_with("/tests.rs") || path.split('/').any(|part| part == "tests");
    let (line_count, limit) = if is_test {
        (source.code.lines().count(), TEST_FILE_LINES_MAX)
    } else {
        (lines_without_tests(source), FILE_LINES_MAX)
    };
    if let Some(allowed) = ratchet.exceeded(path, WHOLE_FILE, line_count, limit) {
        findings.push(Finding::new(
            path,
            1,
            format!(
                "a file of {line_count} lines is banned (limit {allowed}), use one file per concept"
            ),
        ));
    }
    for function in functions(source) {
        let (name, line_count) = (&function.name, function.line_count);
        if let Some(allowed) = ratchet.exceeded(path, name, line_count, FUNCTION_LINES_MAX) {
            findings.push(Finding::new(
                path,
                function.line,
                format!("a function of {line_count} lines is banned (`{name}`, limit {allowed}), use smaller ones"),
            ));
        }
    }
}

/// Finds `unsafe` outside its places, and inside without its reason.
fn check_unsafe(path: &str, source: &SourceText, findings: &mut Vec<Finding>) {
    let allowed = UNSAFE_PLACES.iter().any(|place| path.starts_with(place));
    for (offset, word) in source.words() {
        if word != "unsafe" || is_function_type(&source.code[offset + word.len()..]) {
            continue;
        }
        let line = source.line_at(offset);
        if !allowed {
            let message = "`unsafe` is banned here, use the safe functions of crates/columns";
            findings.push(Finding::new(path, line, message));
        } else if !is_justified(source, line) {
            let message = "`unsafe` without reason is banned, use `// SAFETY:` right before it";
            findings.push(Finding::new(path, line, message));
        }
    }
}

/// Whether an `unsafe` followed by this code only names a type, `unsafe fn(...)`.
fn is_function_type(rest: &str) -> bool {
    let after = rest.trim_start().strip_prefix("fn");
    after.is_some_and(|after| after.trim_start().starts_with('('))
}

/// Whether the statement or item that `line` (from 1) is part of has a comment
/// with `SAFETY:` (or the `# Safety` section of a doc comment) on it or right
/// before it.
fn is_justified(source: &SourceText, line: usize) -> bool {
    let code: Vec<&str> = source.code.lines().collect();
    let comments: Vec<&str> = source.comments.lines().collect();
    let says_why =
        |index: usize| comments[index].contains("SAFETY:") || comments[index].contains("# Safety");
    let mut index = line - 1;
    loop {
        if says_why(index) {
            return true;
        }
        if index == 0 {
            return false;
        }
        index -= 1;
        let before = code[index].trim();
        let is_comment = before.is_empty() && !comments[index].trim().is_empty();
        let is_attribute = before.starts_with("#[");
        // A line that ends no statement and opens no block is an earlier line of
        // the same statement. Where that is too kind (arms of a match), clippy's
        // `undocumented_unsafe_blocks` is not.
        let is_same_statement = !before.is_empty() && !before.ends_with([';', '{', '}']);
        if !(is_comment || is_attribute || is_same_statement) {
            return false;
        }
    }
}

/// Finds macros that stand for unfinished work or write where data goes.
fn check_macros(path: &str, source: &SourceText, findings: &mut Vec<Finding>) {
    let may_print =
        path.ends_with("build.rs") || PRINT_PLACES.iter().any(|at| path.starts_with(at));
    for (offset, word) in source.words() {
        if !source.code[offset + word.len()..].starts_with('!') {
            continue;
        }
        let instead = match word {
            "todo" | "unimplemented" => "an error that says what is not supported",
            "dbg" => "a test",
            "print" | "println" if !may_print => {
                "`io::Write` for data, standard error for messages"
            }
            _ => continue,
        };
        findings.push(Finding::new(
            path,
            source.line_at(offset),
            format!("`{word}!` is banned, use {instead}"),
        ));
    }
}

/// Finds marks of unfinished work in comments that name no issue.
fn check_marks(path: &str, source: &SourceText, findings: &mut Vec<Finding>) {
    for (offset, word) in words(&source.comments) {
        let is_mark = ["TO", "FIX"]
            .iter()
            .zip(["DO", "ME"])
            .any(|(first, second)| word.strip_prefix(first) == Some(second));
        let names_issue = source.comments[offset + word.len()..].starts_with("(#");
        if is_mark && !names_issue {
            findings.push(Finding::new(
                path,
                source.line_at(offset),
                format!("a bare {word} is banned, use `{word}(#issue)` or do it"),
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        let mut findings = Vec::new();
        let mut ratchet = Ratchet::parse("", &mut findings);
        check(
            path,
            &format!("//! Head.\n{text}"),
            &mut ratchet,
            &mut findings,
        );
        findings
            .into_iter()
            .map(|finding| format!("{}: {}", finding.line, finding.message))
            .collect()
    }

    fn only_message(path: &str, text: &str) -> String {
        let messages = messages(path, text);
        assert_eq!(messages.len(), 1, "{messages:?}");
        messages.concat()
    }

    #[test]
    fn a_file_begins_with_its_head() {
        let mut findings = Vec::new();
        let mut ratchet = Ratchet::parse("", &mut findings);
        check("a.rs", "use x;\n", &mut ratchet, &mut findings);
        assert_eq!(findings.len(), 1);
        assert_eq!(messages("a.rs", "use x;\n"), [""; 0]);
    }

    #[test]
    fn names_say_something() {
        assert!(only_message("src/utils.rs", "").contains("`utils` is banned"));
        assert!(only_message("tests/common/mod.rs", "").contains("`common`"));
        assert_eq!(messages("src/common_prefix.rs", ""), [""; 0]);
    }

    #[test]
    fn lengths_have_limits() {
        let body = "\n".repeat(69);
        assert_eq!(messages("a.rs", &format!("fn f() {{{body}}}")), [""; 0]);
        let message = only_message("a.rs", &format!("fn f() {{{body}\n}}"));
        assert!(
            message.starts_with("2: a function of 71 lines"),
            "{message}"
        );
        let long = "\n".repeat(600);
        assert!(only_message("a.rs", &long).contains("a file of 601 lines"));
        assert_eq!(messages("src/tests.rs", &long), [""; 0]);
        let with_tests = format!("#[cfg(test)]\nmod tests {{\n{long}}}\n");
        assert_eq!(messages("a.rs", &with_tests), [""; 0]);
    }

    #[test]
    fn unsafe_has_places_and_reasons() {
        let reasoned = "// SAFETY: in bounds.\nlet x =\n    unsafe { f() };\n";
        assert!(only_message("crates/plan/src/a.rs", reasoned).contains("banned here"));
        assert_eq!(messages("crates/columns/src/a.rs", reasoned), [""; 0]);
        let bare = "// SAFETY: of another.\ng();\nunsafe { f() };\n";
        assert!(only_message("crates/columns/src/a.rs", bare).starts_with("4: "));
        let pointer = "type F = unsafe fn(u8) -> u8;\n";
        assert_eq!(messages("crates/columns/src/a.rs", pointer), [""; 0]);
        let documented = "/// # Safety\n/// In bounds.\n#[inline]\npub unsafe fn f() {}\n";
        assert_eq!(
            messages("crates/store/src/mapped_file.rs", documented),
            [""; 0]
        );
        assert_eq!(
            messages("a.rs", "#![forbid(unsafe_code)] // unsafe\n"),
            [""; 0]
        );
    }

    #[test]
    fn macros_and_marks_are_found_where_they_count() {
        assert!(only_message("a.rs", "fn f() { todo!() }").contains("`todo!` is banned"));
        let print = "fn f() { println!(\"todo!()\") }";
        assert!(only_message("crates/plan/src/a.rs", print).contains("`println!`"));
        assert_eq!(messages("crates/cli/src/a.rs", print), [""; 0]);
        let mark = format!("// {}DO: later\n", "TO");
        assert!(only_message("a.rs", &mark).starts_with("2: a bare"));
        assert_eq!(messages("a.rs", &mark.replace(':', "(#7):")), [""; 0]);
        assert_eq!(messages("a.rs", "const TODO: &str = \"FIXME\";\n"), [""; 0]);
    }
}
