//! The bad lines that a lenient load skips: counted, some of them kept for the report, and all of them
//! written to a file if that is wanted.
//!
//! Called from all threads; a bad line costs a lock and a write to a buffer.

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use basalt_rdf::SyntaxError;

use crate::error::LoadError;
use crate::errors_file::ErrorsFile;
use crate::options::{InputSource, LoadOptions};
use crate::report::{LoadReport, QUOTED_ERRORS_MAX};

/// A bad line and its place: input, block, and the error, which knows its line.
type PlacedLine = (u32, usize, SyntaxError);

/// The bad line that was one too many.
pub(crate) struct TooMany {
    /// Bad lines, this one included.
    pub count: u64,
    /// What is wrong with it.
    pub error: SyntaxError,
}

/// Where bad lines are kept.
#[derive(Default)]
struct Kept {
    /// Some for the report.
    quoted: Vec<PlacedLine>,
    /// All of them.
    file: Option<ErrorsFile>,
    /// Why the file could not be written, which ends the load.
    failure: Option<LoadError>,
}

/// The bad lines of all inputs.
pub(crate) struct SkippedLines {
    /// Whether bad lines are skipped at all.
    lenient: bool,
    count_max: u64,
    count: AtomicU64,
    kept: Mutex<Kept>,
}

impl SkippedLines {
    /// No bad lines yet. Makes the file for them, so that hours of loading do not end with the news that it
    /// cannot be made.
    pub(crate) fn create(options: &LoadOptions) -> Result<Self, LoadError> {
        let path = options.errors.as_deref().filter(|_| options.lenient);
        let file = match path {
            Some(path) if is_input(path, options) => {
                let path = path.to_owned();
                return Err(LoadError::ErrorsFileIsInput { path });
            }
            Some(path) => Some(ErrorsFile::create(path)?),
            None => None,
        };
        Ok(Self {
            lenient: options.lenient,
            count_max: options.errors_max,
            count: AtomicU64::new(0),
            kept: Mutex::new(Kept {
                file,
                ..Kept::default()
            }),
        })
    }

    /// Skips a bad line of block `place`, or gives it back if it is one too many. The lines of one block
    /// must come in order.
    pub(crate) fn skip(
        &self,
        input: u32,
        place: usize,
        error: SyntaxError,
        file: &str,
    ) -> Result<(), Box<TooMany>> {
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        let mut kept = self.lock();
        let added = match &mut kept.file {
            Some(errors_file) => errors_file.add(input, place, file, &error),
            None => Ok(()),
        };
        if let Err(failure) = added {
            kept.file = None;
            kept.failure = Some(failure);
        }
        if count > self.count_max || kept.failure.is_some() {
            return Err(Box::new(TooMany { count, error }));
        }
        if kept.quoted.len() < QUOTED_ERRORS_MAX {
            let mut error = error.in_file(file);
            error.raw_line = Box::default();
            kept.quoted.push((input, place, error));
        }
        Ok(())
    }

    /// Completes the file, whether the inputs could be parsed or not, tells the report how many bad lines
    /// there were, and some of them in the order of the text. Gives what parsing gave.
    pub(crate) fn finish<T>(
        self,
        parsed: Result<T, LoadError>,
        report: &mut LoadReport,
    ) -> Result<T, LoadError> {
        let Kept {
            mut quoted,
            file,
            failure,
        } = self
            .kept
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let written = file.map_or(Ok(()), ErrorsFile::finish);
        if let Some(failure) = failure {
            return Err(failure);
        }
        let parsed = parsed.map_err(|error| match error {
            LoadError::Syntax(error) if self.lenient => LoadError::StrictDocument(error),
            error => error,
        })?;
        written?;
        quoted.sort_by_key(|(input, place, error)| (*input, *place, error.line));
        report.skipped = quoted.into_iter().map(|(_, _, error)| error).collect();
        report.skipped_lines = self.count.into_inner();
        Ok(parsed)
    }

    fn lock(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Whether a path is the file of an input.
fn is_input(path: &Path, options: &LoadOptions) -> bool {
    let Ok(path) = path.canonicalize() else {
        return false;
    };
    options.inputs.iter().any(|input| match &input.source {
        InputSource::Path(input) => input.canonicalize().is_ok_and(|input| input == path),
        InputSource::Reader { .. } => false,
    })
}
