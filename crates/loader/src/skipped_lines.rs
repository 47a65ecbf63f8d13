//! The bad lines that a lenient load skips: counted, and some of them kept for the report.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use basalt_rdf::SyntaxError;

use crate::report::QUOTED_ERRORS_MAX;

/// A bad line and its place: input, block, and the error, which knows its line.
type PlacedLine = (u32, usize, SyntaxError);

/// The bad line that was one too many.
pub(crate) struct TooMany {
    /// Bad lines, this one included.
    pub count: u64,
    /// What is wrong with it.
    pub error: SyntaxError,
}

/// The bad lines of all inputs.
pub(crate) struct SkippedLines {
    count_max: u64,
    count: AtomicU64,
    quoted: Mutex<Vec<PlacedLine>>,
}

impl SkippedLines {
    /// No bad lines yet; up to `count_max` are borne.
    pub(crate) fn new(count_max: u64) -> Self {
        Self {
            count_max,
            count: AtomicU64::new(0),
            quoted: Mutex::default(),
        }
    }

    /// Skips a bad line of block `place`, or gives it back if it is one too many.
    pub(crate) fn skip(
        &self,
        input: u32,
        place: usize,
        error: SyntaxError,
        file: &str,
    ) -> Result<(), Box<TooMany>> {
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        if count > self.count_max {
            return Err(Box::new(TooMany { count, error }));
        }
        let mut quoted = self.quoted.lock().unwrap_or_else(PoisonError::into_inner);
        if quoted.len() < QUOTED_ERRORS_MAX {
            quoted.push((input, place, error.in_file(file)));
        }
        Ok(())
    }

    /// How many there were, and some of them in the order of the text.
    pub(crate) fn into_report(self) -> (u64, Vec<SyntaxError>) {
        let mut quoted = self
            .quoted
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        quoted.sort_by_key(|(input, place, error)| (*input, *place, error.line));
        let errors = quoted.into_iter().map(|(_, _, error)| error).collect();
        (self.count.into_inner(), errors)
    }
}
