//! Temporary files that have no name once they are open.
//!
//! Invariant: the space of such a file is given back when it is closed, whatever ends the process.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers of the files of this process.
static CREATED: AtomicU64 = AtomicU64::new(0);

/// Why there is no such file.
#[derive(Debug)]
pub struct UnnamedFileError {
    /// What was tried.
    pub operation: &'static str,
    /// The name that the file should have had for a moment.
    pub path: PathBuf,
    /// Why it failed.
    pub source: io::Error,
}

/// An empty file to write and read, and the name that it had: in a folder, or where the system keeps such files. The purpose
/// is part of the name.
pub fn unnamed_file(
    folder: Option<&Path>,
    purpose: &str,
) -> Result<(File, PathBuf), UnnamedFileError> {
    let folder = folder.map_or_else(std::env::temp_dir, Path::to_path_buf);
    let number = CREATED.fetch_add(1, Ordering::Relaxed);
    let name = format!("basalt-{purpose}-{}-{number}", std::process::id());
    let path = folder.join(name);
    let mut options = File::options();
    let options = options.read(true).write(true).create_new(true);
    let opened = match options.open(&path) {
        // Left by a killed process that had the number of this one; it has no reader.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            fs::remove_file(&path).and_then(|()| options.open(&path))
        }
        other => other,
    };
    let failed = |operation, source| UnnamedFileError {
        operation,
        path: path.clone(),
        source,
    };
    let file = opened.map_err(|source| failed("create", source))?;
    fs::remove_file(&path).map_err(|source| failed("unlink", source))?;
    Ok((file, path))
}
