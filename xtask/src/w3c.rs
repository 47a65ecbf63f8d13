//! `cargo xtask w3c`: runs the W3C test suites and repeats at the end how many
//! entries of each suite passed.
//!
//! The harnesses live with the crates they test; this command only runs them
//! with their output visible and gathers the lines in which they count. Where
//! the suites are not on this machine the harnesses say so and the command
//! says it again.
//!
//! Cost: seconds, beyond compiling the harnesses.

use crate::error::XtaskError;
use crate::test_output::TestOutput;
use crate::workspace::Workspace;

/// The harnesses: package, test target, source file.
const HARNESSES: &[(&str, &str, &str)] = &[
    ("basalt-rdf", "w3c_rdf11", "crates/rdf/tests/w3c_rdf11.rs"),
    (
        "basalt-engine",
        "w3c_sparql",
        "crates/engine/tests/w3c_sparql.rs",
    ),
    (
        "basalt-engine",
        "w3c_results",
        "crates/engine/tests/w3c_results.rs",
    ),
    (
        "basalt-engine",
        "w3c_service",
        "crates/engine/tests/w3c_service.rs",
    ),
    (
        "basalt-engine",
        "w3c_update",
        "crates/engine/tests/w3c_update.rs",
    ),
    (
        "basalt-server",
        "w3c_protocol",
        "crates/server/tests/w3c_protocol.rs",
    ),
];

/// Runs every harness that exists and prints the counts.
pub fn run(workspace: &Workspace) -> Result<(), XtaskError> {
    let mut summary = Vec::new();
    let mut all_passed = true;
    for &(package, target, source) in HARNESSES {
        if !workspace.path(source).is_file() {
            summary.push(format!("{package}: no harness `{source}`, not run"));
            continue;
        }
        let mut command = Workspace::cargo();
        command.args(["test", "-p", package, "--test", target]);
        command.args(["--", "--nocapture"]);
        let mut tests = TestOutput::default();
        let outcome = workspace.run_watched(command, |line| {
            tests.line(line);
            summary.extend(suite_count(line));
        });
        let (passed_count, failed_count) = tests.totals();
        summary.push(format!(
            "{package}: {passed_count} tests passed, {failed_count} failed"
        ));
        match outcome {
            Ok(()) => {}
            Err(XtaskError::Command { .. }) => all_passed = false,
            Err(error) => return Err(error),
        }
    }
    println!("\nW3C suites");
    for line in summary {
        println!("  {line}");
    }
    if all_passed {
        Ok(())
    } else {
        Err(XtaskError::Reported)
    }
}

/// A line in which a harness counts the entries of a suite or says that it
/// skipped them; not the line in which the test runner counts test functions.
fn suite_count(line: &str) -> Option<String> {
    let line = line.trim();
    // With visible output the runner may leave `test NAME ... ` before it.
    let line = match line.split_once(" ... ") {
        Some((test, rest)) if test.starts_with("test ") => rest,
        _ => line,
    };
    let counts = line
        .split_whitespace()
        .zip(line.split_whitespace().skip(1))
        .any(|(number, word)| {
            word.starts_with("passed") && number.chars().any(|c| c.is_ascii_digit())
        });
    let skipped = line.contains("skipped");
    ((counts || skipped) && !line.starts_with("test result: ")).then(|| line.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_found_and_other_lines_are_not() {
        assert_eq!(
            suite_count("rdf-turtle: 313 passed, 0 failed"),
            Some("rdf-turtle: 313 passed, 0 failed".to_owned())
        );
        assert_eq!(
            suite_count("test turtle ... rdf-turtle: 313/313 passed"),
            Some("rdf-turtle: 313/313 passed".to_owned())
        );
        assert!(suite_count("skipped: no folder").is_some());
        assert_eq!(suite_count("test turtle ... ok"), None);
        assert_eq!(suite_count("test result: ok. 4 passed; 0 failed"), None);
        assert_eq!(suite_count("the value passed on"), None);
    }
}
