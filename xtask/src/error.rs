//! The error type of xtask: one enum, its variants by what the reader can do
//! about them. Written by hand, because xtask keeps to one dependency.
//!
//! Invariant: messages are lower case, without a period, and quote the text
//! or the command at fault.

use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a command of xtask stopped.
#[derive(Debug)]
pub enum XtaskError {
    /// The command line is not one that xtask knows.
    Usage {
        /// What is wrong with it.
        message: String,
    },
    /// A file or a program could not be used.
    Io {
        /// What was tried, as a verb: `read`, `start`.
        operation: &'static str,
        /// The file or program.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A program ran and failed; it has said why itself.
    Command {
        /// The command line.
        command: String,
    },
    /// A program ran and failed, for a reason that xtask knows.
    Program {
        /// The command line.
        command: String,
        /// How it ended or what it said.
        what: String,
    },
    /// A program answered in a form that xtask does not understand.
    Answer {
        /// The command line.
        command: String,
        /// What is missing or malformed.
        what: String,
    },
    /// The failure has been reported already; only the exit code is left to set.
    Reported,
}

impl fmt::Display for XtaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage { message } => f.write_str(message),
            Self::Io {
                operation,
                path,
                source,
            } => write!(f, "cannot {operation} `{}`: {source}", path.display()),
            Self::Command { command } => write!(f, "`{command}` failed"),
            Self::Program { command, what } => write!(f, "`{command}` failed: {what}"),
            Self::Answer { command, what } => {
                write!(f, "cannot understand the answer of `{command}`: {what}")
            }
            Self::Reported => f.write_str("failed, see above"),
        }
    }
}

impl std::error::Error for XtaskError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            _ => None,
        }
    }
}
