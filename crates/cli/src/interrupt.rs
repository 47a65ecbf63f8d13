//! Ctrl-C and SIGTERM during a load or a merge: its files are removed, and the store is what it was.
//!
//! Without this the process would end at once, which does the store no harm, but the files
//! would lie there until the next writer removes them.

use crate::error::CliError;
use crate::output::message;
use basalt_engine::{Abandoned, Database};
use basalt_server::{StopSignal, on_stop_signal};
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// What writes a version.
#[derive(Clone, Copy, Debug)]
pub enum Work {
    /// A load, or the whole store anew.
    Load,
    /// The merge after an update that is committed.
    Merge,
}

impl Work {
    /// What is said of it when it was given up.
    fn given_up(self) -> &'static str {
        match self {
            Self::Load => "nothing was loaded",
            Self::Merge => "the update is committed, and was not merged",
        }
    }

    /// What is said of it when a signal came after its commit.
    fn complete(self) -> &'static str {
        match self {
            Self::Load => "the load is complete",
            Self::Merge => "the merge is complete",
        }
    }
}

/// Does work that writes to the store in a folder. A signal to stop gives up the writing, says so and
/// ends the process; one that comes after the commit is too late and changes nothing.
pub fn unless_stopped<T>(
    location: &Path,
    what: Work,
    work: impl FnOnce() -> T,
) -> Result<T, CliError> {
    // Held by the thread that gives up: the work, which then fails, must not report that as its own.
    let ending = Arc::new(Mutex::new(()));
    let held_by_signal = Arc::clone(&ending);
    let folder = location.to_owned();
    on_stop_signal(move |signal| {
        let _ending = held_by_signal
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        give_up(&folder, what, signal);
    })?;
    let result = work();
    drop(ending.lock().unwrap_or_else(PoisonError::into_inner));
    Ok(result)
}

fn give_up(folder: &Path, what: Work, signal: StopSignal) {
    let given_up = what.given_up();
    let how = match signal {
        StopSignal::Interrupt => "interrupted",
        StopSignal::Terminate => "terminated",
    };
    if std::io::stderr().is_terminal() {
        // The line of progress makes room; if standard error is gone there is nobody to tell.
        let _ = write!(std::io::stderr(), "\r\x1b[2K");
    }
    match Database::abandon_load(folder) {
        Ok(Abandoned::TooLate) => {
            message(&format!("{how} after the commit: {}", what.complete()));
            return;
        }
        Ok(Abandoned::Yes) => message(&format!(
            "error: {how}; {given_up}, '{}' is as it was",
            folder.display()
        )),
        Err(error) => message(&format!(
            "error: {how}; {given_up}, but the next load has to clean up: {error}"
        )),
    }
    std::process::exit(i32::from(signal.exit_code()));
}
