//! Why a command failed, said in one line.

use std::error::Error;
use std::io;
use std::path::{Path, PathBuf};

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The engine says so.
    #[error(transparent)]
    Engine(#[from] basalt_engine::Error),
    /// The server says so.
    #[error(transparent)]
    Server(#[from] basalt_server::ServerError),
    /// The server that was asked to load says so.
    #[error(transparent)]
    RemoteLoad(#[from] basalt_server::RemoteLoadError),
    /// The benchmark says so.
    #[error(transparent)]
    Bsbm(#[from] basalt_bsbm::BsbmError),
    /// A file could not be read or written.
    #[error("cannot {op} '{}': {source}", path.display())]
    File {
        /// What was tried, as a verb.
        op: &'static str,
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// Standard output or input failed.
    #[error("cannot {op}: {source}")]
    Stream {
        /// What was tried.
        op: &'static str,
        /// The reason.
        source: io::Error,
    },
    /// Something else, in words.
    #[error("{0}")]
    Other(String),
}

impl CliError {
    /// Makes a function for `map_err` on results of file operations.
    pub fn file(op: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { op, path, source }
    }

    /// Makes a function for `map_err` on writes to standard output.
    pub fn stdout() -> impl FnOnce(io::Error) -> Self {
        |source| Self::Stream {
            op: "write to standard output",
            source,
        }
    }

    /// Whether a reader of the output has gone away.
    pub fn is_broken_pipe(&self) -> bool {
        let mut next: Option<&(dyn Error + 'static)> = Some(self);
        while let Some(error) = next {
            let io = error.downcast_ref::<io::Error>();
            if io.is_some_and(|io| io.kind() == io::ErrorKind::BrokenPipe) {
                return true;
            }
            next = error.source();
        }
        false
    }

    /// The message and those causes that it does not tell itself.
    pub fn one_line(&self) -> String {
        let mut line = self.to_string();
        let mut next = self.source();
        while let Some(cause) = next {
            let text = cause.to_string();
            if !line.contains(&text) {
                line = format!("{line}: {text}");
            }
            next = cause.source();
        }
        line.split(['\n', '\r'])
            .map(str::trim)
            .filter(|part| !part.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }
}
