//! Temporary files, of loads, queries, updates and requests: bytes are appended, and read again in pieces.
//!
//! A file loses its name right after it was made, so its space is given back when it is dropped, whatever ends the process. Between the
//! two calls a kill leaves an empty file. A system that keeps the names of open files has this one's removed when it is dropped.
//!
//! Giving space back takes 0.07 ms a mebibyte (ext4, in memory), so a query with gigabytes would not end for 100 ms. Larger files are
//! closed by a thread that does nothing else ([`closing`]).
//!
//! Invariant: what was appended without an error is read as it was; an append that fails leaves what was appended before.

mod closing;

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Numbers of the files of this process: several may use one folder for one purpose.
static CREATED: AtomicU64 = AtomicU64::new(0);

/// What went wrong with a temporary file.
#[derive(Debug, thiserror::Error)]
#[error("cannot {operation} the temporary file '{}': {source}", path.display())]
pub struct TemporaryFileError {
    /// What was tried, as a verb.
    pub operation: &'static str,
    /// The name that the file has, or had for a moment.
    pub path: PathBuf,
    /// Why it failed.
    pub source: io::Error,
}

/// A temporary file that grows at its end, for several threads. Its space is given back when it is dropped, whatever ends the process.
#[derive(Debug)]
pub struct TemporaryFile {
    state: Mutex<State>,
    /// The name that it had, for errors.
    path: PathBuf,
    /// Whether the name is still there.
    is_named: bool,
}

#[derive(Debug)]
struct State {
    /// The file; nothing while it is dropped.
    file: Option<File>,
    /// Where the next bytes are appended.
    end: u64,
    /// Where the file stands; nothing if that is unknown.
    position: Option<u64>,
}

/// What the names of files for a purpose begin with.
fn prefix(purpose: &str) -> String {
    format!("basalt-{purpose}-")
}

impl TemporaryFile {
    /// An empty file in a folder, or where the system keeps such files. The purpose is part of the name.
    pub fn create(folder: Option<&Path>, purpose: &str) -> Result<Self, TemporaryFileError> {
        let folder = folder.map_or_else(std::env::temp_dir, Path::to_path_buf);
        let number = CREATED.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}{}-{number}", prefix(purpose), std::process::id());
        let path = folder.join(name);
        let mut options = File::options();
        let options = options.read(true).write(true).create_new(true);
        let opened = match options.open(&path) {
            // Left by a killed process that had the number of this one; it has no reader. One on another system that has the folder too
            // takes its name away itself.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                match fs::remove_file(&path) {
                    Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
                    _ => options.open(&path),
                }
            }
            other => other,
        };
        match opened {
            Ok(file) => Ok(Self {
                is_named: fs::remove_file(&path).is_err(),
                path,
                state: Mutex::new(State {
                    file: Some(file),
                    end: 0,
                    position: Some(0),
                }),
            }),
            Err(source) => Err(TemporaryFileError {
                operation: "create",
                path,
                source,
            }),
        }
    }

    /// Removes what killed processes have left in a folder of files for a purpose. A file that somebody still uses keeps its content.
    pub fn remove_leftovers(folder: &Path, purpose: &str) {
        let prefix = prefix(purpose);
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                // What cannot be removed is in use or not ours to remove.
                let _ = fs::remove_file(entry.path());
            }
        }
    }

    /// Appends bytes; gives the place where they begin.
    pub fn append(&self, bytes: &[u8]) -> Result<u64, TemporaryFileError> {
        let mut state = self.state();
        let start = state.end;
        let write = |file: &mut File| file.write_all(bytes);
        let written = state.with_file_at(start, bytes.len(), write);
        written.map_err(|source| self.error("write", source))?;
        state.end += bytes.len() as u64;
        Ok(start)
    }

    /// Reads bytes from a place on, all of which were appended.
    pub fn read_at(&self, offset: u64, bytes: &mut [u8]) -> Result<(), TemporaryFileError> {
        let length = bytes.len();
        let read = |file: &mut File| file.read_exact(bytes);
        let read = self.state().with_file_at(offset, length, read);
        read.map_err(|source| self.error("read", source))
    }

    /// Reads all bytes, from the first on.
    pub fn into_reader(self) -> TemporaryReader {
        let left = self.state().end;
        TemporaryReader {
            file: self,
            next: 0,
            left,
        }
    }

    /// An error of this file.
    pub fn error(&self, operation: &'static str, source: io::Error) -> TemporaryFileError {
        TemporaryFileError {
            operation,
            path: self.path.clone(),
            source,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // Where the file stands is unknown while somebody may panic.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Writes or reads so many bytes at a place.
    fn with_file_at(
        &mut self,
        offset: u64,
        bytes: usize,
        act: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let file = self.file.as_mut().expect("a file that is not dropped");
        if self.position.take() != Some(offset) {
            file.seek(SeekFrom::Start(offset))?;
        }
        act(file)?;
        self.position = Some(offset + bytes as u64);
        Ok(())
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        if self.is_named {
            // What cannot be removed now is removed with the leftovers, or by the system.
            let _ = fs::remove_file(&self.path);
        }
        let state = self.state.get_mut();
        let state = state.unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = state.file.take() {
            closing::close(file, state.end);
        }
    }
}

/// Reads a temporary file from its first byte on.
#[derive(Debug)]
pub struct TemporaryReader {
    file: TemporaryFile,
    /// Where it goes on.
    next: u64,
    /// Bytes from there on.
    left: u64,
}

impl Read for TemporaryReader {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        let count = self.left.min(bytes.len() as u64);
        let read = self.file.read_at(self.next, &mut bytes[..count as usize]);
        read.map_err(|error| error.source)?;
        self.next += count;
        self.left -= count;
        Ok(count as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_come_back_and_no_file_is_left() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = TemporaryFile::create(Some(folder.path()), "test").expect("created");
        let pieces: Vec<Vec<u8>> = (0..50_u8).map(|i| vec![i; usize::from(i) * 100]).collect();
        let mut starts = Vec::new();
        for piece in &pieces {
            starts.push(file.append(piece).expect("appended"));
            // Reading and appending take turns.
            let half = starts.len() / 2;
            let mut again = vec![0; pieces[half].len()];
            if half < starts.len() {
                file.read_at(starts[half], &mut again).expect("read");
                assert_eq!(again, pieces[half]);
            }
        }
        let bytes = pieces.concat().len() as u64;
        let past = file.read_at(bytes - 1, &mut [0; 2]);
        assert_eq!(past.expect_err("there is one byte").operation, "read");
        // A failure leaves what there is.
        assert_eq!(file.append(b"more").expect("appended"), bytes);
        let mut again = vec![0; pieces[7].len()];
        file.read_at(starts[7], &mut again).expect("read");
        assert_eq!(again, pieces[7]);
        let files = || fs::read_dir(folder.path()).expect("a folder").count();
        #[cfg(unix)]
        assert_eq!(files(), 0, "it has no name");
        let mut all = Vec::new();
        let mut reader = file.into_reader();
        reader.read_to_end(&mut all).expect("read");
        assert_eq!(all, [pieces.concat(), b"more".to_vec()].concat());
        drop(reader);
        assert_eq!(files(), 0);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn large_files_are_closed_soon() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let open = || {
            let files = fs::read_dir("/proc/self/fd").expect("files of this process");
            let names = files
                .flatten()
                .filter_map(|file| fs::read_link(file.path()).ok());
            names.filter(|name| name.starts_with(folder.path())).count()
        };
        let create = |length: usize| {
            let file = TemporaryFile::create(Some(folder.path()), "test").expect("created");
            file.append(&vec![7; length]).expect("appended");
            file
        };
        let files = [create(3 << 20), create(100), create(2 << 20)];
        assert_eq!(open(), 3);
        drop(files);
        let begun = std::time::Instant::now();
        while open() > 0 {
            assert!(begun.elapsed().as_secs() < 60, "they stay open");
            std::thread::yield_now();
        }
    }

    #[test]
    fn leftovers_of_one_purpose_are_removed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        for name in [
            "basalt-test-1-0",
            "basalt-test-4711-3",
            "basalt-other-1-0",
            "mine",
        ] {
            fs::write(folder.path().join(name), b"left by a kill").expect("written");
        }
        TemporaryFile::remove_leftovers(folder.path(), "test");
        let left = fs::read_dir(folder.path()).expect("a folder").flatten();
        let mut left: Vec<_> = left.map(|entry| entry.file_name()).collect();
        left.sort();
        assert_eq!(left, ["basalt-other-1-0", "mine"]);
        TemporaryFile::remove_leftovers(Path::new("/no/such/folder"), "test");
    }

    #[test]
    fn errors_name_the_file() {
        let folder = Path::new("/no/such/folder");
        let error = TemporaryFile::create(Some(folder), "test").expect_err("no folder");
        let message = error.to_string();
        let begin = "cannot create the temporary file '/no/such/folder/basalt-test-";
        assert!(message.starts_with(begin), "{message}");
    }
}
