//! `cargo xtask tidy`: the rules of docs/STYLE.md that neither the compiler nor
//! clippy checks.
//!
//! One file per group of rules: [`crate_edges`] which crate may use which,
//! [`rust_file`] what a source file looks like, [`repository`] what lies where,
//! [`links`] that documents point at something. [`source_text`] and
//! [`functions`] know just enough Rust for that, [`ratchet`] holds the exceptions.
//!
//! Invariant: every finding reads `path:line: X is banned, use Y` (or says
//! what is wrong and what to do), so that an editor can jump to it.
//!
//! Cost: reads every tracked file once, well under a second.

mod crate_edges;
mod functions;
mod links;
mod ratchet;
mod repository;
mod rust_file;
mod source_text;

use std::fmt;

use crate::error::XtaskError;
use crate::workspace::Workspace;
use ratchet::Ratchet;

/// One breach of a rule.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// The file, relative to the root of the workspace.
    path: String,
    /// The line, from 1.
    line: usize,
    /// What is wrong and what to do instead.
    message: String,
}

impl Finding {
    /// A breach at a line of a file.
    fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            message: message.into(),
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.message)
    }
}

/// Checks every rule and prints the findings.
pub fn run(workspace: &Workspace) -> Result<(), XtaskError> {
    let findings = check(workspace)?;
    for finding in &findings {
        println!("{finding}");
    }
    if findings.is_empty() {
        println!("tidy: no findings");
        Ok(())
    } else {
        println!("tidy: {} findings", findings.len());
        Err(XtaskError::Reported)
    }
}

/// All findings, sorted by place.
fn check(workspace: &Workspace) -> Result<Vec<Finding>, XtaskError> {
    let mut findings = Vec::new();
    let files = workspace.files()?;
    let packages = workspace.packages()?;
    let exceptions = workspace.text(ratchet::FILE)?.unwrap_or_default();
    let mut ratchet = Ratchet::parse(&exceptions, &mut findings);

    crate_edges::check(workspace, &packages, &mut findings)?;
    repository::check_layout(&files, &mut findings);
    for path in &files {
        repository::check_size(workspace, path, &mut findings)?;
        let Some(text) = workspace.text(path)? else {
            continue;
        };
        repository::check_text(path, &text, &mut findings);
        if path.ends_with(".rs") {
            rust_file::check(path, &text, &mut ratchet, &mut findings);
        } else if path.ends_with(".md") {
            links::check(workspace, path, &text, &mut findings);
        }
    }
    ratchet.finish(&mut findings);
    findings.sort();
    Ok(findings)
}
