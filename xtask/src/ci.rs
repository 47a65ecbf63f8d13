//! `cargo xtask ci`: everything that must hold before a change is taken, in
//! the order in which it fails cheapest: formatting, lints, house rules, docs,
//! tests.
//!
//! Stops at the first step that fails. The last line of the output is always
//! `N passed, N failed`, the sum over all test programs, alone on its line.
//!
//! Cost: minutes, nearly all of it compiling; the times are printed.

use std::time::{Duration, Instant};

use crate::error::XtaskError;
use crate::test_output::TestOutput;
use crate::tidy;
use crate::workspace::Workspace;

/// How many of the slowest test programs are named at the end.
const SLOWEST_COUNT_MAX: usize = 10;

/// Which tests a run includes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// All tests, slow ones at their small size.
    Quick,
    /// All tests at full size: `BASALT_TESTS_FULL=1` is set for them.
    Full,
}

/// Runs all steps and prints the summary.
pub fn run(workspace: &Workspace, scope: Scope) -> Result<(), XtaskError> {
    let mut tests = TestOutput::default();
    let mut times = Vec::new();
    let outcome = run_steps(workspace, scope, &mut tests, &mut times);

    println!("\nsteps");
    for (name, time) in &times {
        println!("{:>9.2} s  {name}", time.as_secs_f64());
    }
    let slowest = tests.slowest(SLOWEST_COUNT_MAX);
    if !slowest.is_empty() {
        println!("slowest test programs");
    }
    for result in slowest {
        println!("{:>9.2} s  {}", result.seconds, result.program);
    }
    if let Err(error) = &outcome {
        let step = times.last().map_or("start", |(name, _)| name);
        println!("ci: step `{step}` failed: {error}");
    }
    let (passed_count, failed_count) = tests.totals();
    println!("{passed_count} passed, {failed_count} failed");
    match outcome {
        // A harness that fails without an exit code must not look like success.
        Ok(()) if failed_count == 0 => Ok(()),
        _ => Err(XtaskError::Reported),
    }
}

/// Runs the steps in order until one fails; `times` has each one that started.
fn run_steps(
    workspace: &Workspace,
    scope: Scope,
    tests: &mut TestOutput,
    times: &mut Vec<(&'static str, Duration)>,
) -> Result<(), XtaskError> {
    let mut timed = |name: &'static str, step: &mut dyn FnMut() -> Result<(), XtaskError>| {
        println!("\n== {name}");
        let start = Instant::now();
        let outcome = step();
        times.push((name, start.elapsed()));
        outcome
    };

    timed("fmt", &mut || {
        workspace.run(Workspace::cargo().args(["fmt", "--all", "--check"]))
    })?;
    timed("clippy", &mut || {
        workspace.run(
            Workspace::cargo()
                .args(["clippy", "--workspace", "--all-targets"])
                .args(["--", "-D", "warnings"]),
        )
    })?;
    timed("tidy", &mut || tidy::run(workspace))?;
    timed("doc", &mut || {
        workspace.run(
            Workspace::cargo()
                .args(["doc", "--workspace", "--no-deps"])
                .env("RUSTDOCFLAGS", "-D warnings"),
        )
    })?;
    timed("test", &mut || {
        let mut command = Workspace::cargo();
        command.args(["test", "--workspace", "--no-fail-fast"]);
        if scope == Scope::Full {
            command.env("BASALT_TESTS_FULL", "1");
        }
        workspace.run_watched(command, |line| tests.line(line))
    })
}
