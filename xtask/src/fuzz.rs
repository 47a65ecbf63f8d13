//! `cargo xtask fuzz`: random queries over random data, against the oracles, until an answer is wrong.
//!
//! The loop itself is the test `fresh_queries_agree` of `crates/engine/tests/differential.rs`; this
//! command builds it for speed and gives it a seed that nobody has tried. A wrong answer is
//! shrunk and printed as a golden script, and the command fails.
//!
//! Cost: the time that was asked for, beyond compiling in release mode.

use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::XtaskError;
use crate::workspace::Workspace;

/// What the command line asks for.
#[derive(Debug, PartialEq, Eq)]
pub struct Options {
    /// When to stop.
    seconds: u64,
    /// The number of the first dataset.
    seed: Option<u64>,
    /// How many queries to ask at most.
    queries: u64,
}

impl Options {
    /// Reads `--seconds N`, `--seed S` and `--queries N`.
    pub fn parse(arguments: &[String]) -> Result<Self, XtaskError> {
        let mut options = Self {
            seconds: 60,
            seed: None,
            queries: 1_000_000_000,
        };
        let mut arguments = arguments.iter();
        while let Some(flag) = arguments.next() {
            let number: Option<u64> = arguments.next().and_then(|text| text.parse().ok());
            match (flag.as_str(), number) {
                ("--seconds", Some(number)) => options.seconds = number,
                ("--seed", Some(number)) => options.seed = Some(number),
                ("--queries", Some(number)) => options.queries = number,
                _ => {
                    return Err(XtaskError::Usage {
                        message: format!("`fuzz` does not take `{flag}` without a number"),
                    });
                }
            }
        }
        Ok(options)
    }
}

/// Runs the loop.
pub fn run(workspace: &Workspace, options: &Options) -> Result<(), XtaskError> {
    let seed = options.seed.unwrap_or_else(fresh_seed);
    println!("fuzz: first seed {seed}");
    let mut command = Workspace::cargo();
    command
        .args(["test", "--release", "-p", "basalt-engine"])
        .args(["--test", "differential", "fresh_queries_agree"])
        .args(["--", "--nocapture"])
        .env("BASALT_DIFFERENTIAL_SEED", seed.to_string())
        .env("BASALT_DIFFERENTIAL_SECONDS", options.seconds.to_string())
        .env("BASALT_DIFFERENTIAL_QUERIES", options.queries.to_string());
    workspace.run(&mut command)
}

/// A seed from the clock, far from those of the tests.
fn fresh_seed() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    10_000_000 + now.map_or(0, |time| time.as_secs()) * 1_000
}

#[cfg(test)]
mod tests {
    use super::Options;

    #[test]
    fn options_are_numbers_with_names() {
        let parse = |text: &str| {
            let arguments: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
            Options::parse(&arguments)
        };
        let options = parse("--seconds 5 --seed 7").expect("it is well formed");
        assert_eq!((options.seconds, options.seed), (5, Some(7)));
        assert!(parse("--seconds").is_err());
        assert!(parse("--speed 7").is_err());
        assert!(parse("--seed x").is_err());
    }
}
