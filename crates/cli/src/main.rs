//! The `basalt` command: one subcommand per file in `commands`.
//!
//! Data goes to standard output, progress and messages to standard error. Exit codes: 0 done, 1
//! failed, 2 wrong usage, 130 or 143 stopped by a signal. A reader that closes standard output early (`| head`) is no failure.

mod allocator;
mod commands;
mod error;
mod give_back;
mod interrupt;
mod load_summary;
mod memory;
mod open_files;
mod output;
mod progress;
mod text_table;
mod values;

use clap::Parser;
use std::io::Write;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments = commands::Arguments::parse();
    open_files::raise_limit();
    match commands::run(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is_broken_pipe() => ExitCode::SUCCESS,
        Err(error) => {
            // If even standard error is gone, the exit code is all that is left to say.
            let _ = writeln!(std::io::stderr(), "error: {}", error.one_line());
            ExitCode::FAILURE
        }
    }
}
