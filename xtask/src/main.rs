//! `cargo xtask`: the chores of the project in one program, so that what a
//! person runs and what continuous integration runs are the same thing.
//!
//! This file reads the command line and dispatches; each command has a file
//! of its own. xtask depends on no other crate of the workspace: it must build
//! and run while everything else is broken.
//!
//! Cost: nothing of its own; `ci` takes as long as the steps it starts.
#![forbid(unsafe_code)]
#![allow(
    clippy::print_stdout,
    reason = "xtask is a command line tool, standard output is its user interface"
)]

mod bench;
mod ci;
mod compare;
mod error;
mod fuzz;
mod mixed;
mod test_output;
mod tidy;
mod w3c;
mod workspace;

use std::process::ExitCode;

use crate::ci::Scope;
use crate::error::XtaskError;
use crate::workspace::Workspace;

const HELP: &str = "\
usage: cargo xtask COMMAND

  ci [--full]          fmt, clippy, tidy, doc and test; --full runs the slow tests too
  tidy                 the rules of the house that no compiler checks
  w3c                  the W3C test suites, with counts per suite
  bless                rewrite what golden scripts and docs/life-of-a-query.md expect
  fuzz [--seconds N] [--seed S] [--queries N]
                       random queries against the oracles, until an answer is wrong
  bench [NAME] [ARGS]  micro benchmarks: all, one crate's (rdf) or one (tokenize);
                       ARGS go to the benchmark program
  bench mixed --binary FILE --location STORE --data-dir DIR [OPTIONS]
                       the explore mix with and without a heavy query beside it
  compare load [WORKLOADS] [OPTIONS]
                       load the same files with Basalt and other stores; `compare help`
  compare queries [OPTIONS]
                       ask Basalt and other stores the Berlin benchmark
  compare updates [OPTIONS]
                       the same beside updates, on Basalt and Virtuoso
  help                 this text

Test data outside the repository is found through RDF_TESTS_DIR and
BASALT_REAL_DATA_DIR; see docs/testing.md.
";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match dispatch(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(XtaskError::Reported) => ExitCode::FAILURE,
        Err(error @ XtaskError::Usage { .. }) => {
            eprintln!("xtask: {error}\n\n{HELP}");
            ExitCode::from(2)
        }
        Err(error) => {
            eprintln!("xtask: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Runs the command that the arguments name.
fn dispatch(arguments: &[String]) -> Result<(), XtaskError> {
    let Some((command, options)) = arguments.split_first() else {
        return Err(XtaskError::Usage {
            message: "no command given".to_owned(),
        });
    };
    match command.as_str() {
        "help" | "--help" | "-h" => {
            print!("{HELP}");
            Ok(())
        }
        "ci" => {
            let scope = match options {
                [] => Scope::Quick,
                [flag] if flag == "--full" => Scope::Full,
                _ => return Err(unexpected(command, options)),
            };
            ci::run(&Workspace::find()?, scope)
        }
        "fuzz" => {
            let options = fuzz::Options::parse(options)?;
            fuzz::run(&Workspace::find()?, &options)
        }
        "bench" if options.first().is_some_and(|name| name == "mixed") => mixed::run(&options[1..]),
        "bench" => bench::run(&Workspace::find()?, options),
        "compare" => compare::run(&Workspace::find()?, options),
        "tidy" | "w3c" | "bless" if !options.is_empty() => Err(unexpected(command, options)),
        "tidy" => tidy::run(&Workspace::find()?),
        "w3c" => w3c::run(&Workspace::find()?),
        "bless" => Workspace::find()?.run(
            Workspace::cargo()
                .args(["test", "-p", "basalt-engine"])
                .args(["--test", "scripts", "--test", "life_of_a_query"])
                .env("BASALT_BLESS", "1"),
        ),
        _ => Err(XtaskError::Usage {
            message: format!("no command `{command}`"),
        }),
    }
}

/// The usage error for options that a command does not take.
fn unexpected(command: &str, options: &[String]) -> XtaskError {
    XtaskError::Usage {
        message: format!("`{command}` does not take `{}`", options.join(" ")),
    }
}
