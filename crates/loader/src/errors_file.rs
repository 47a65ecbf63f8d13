//! The file of bad lines: what a lenient load skipped, to be corrected and loaded again.
//!
//! ```text
//! # data.nt:17:5: unexpected character 'x'
//! <http://e/a> x "1" .
//! ```
//!
//! A comment says where a line stood and what is wrong with it, and the line follows as it was, byte for
//! byte; so the corrected file is N-Triples (or N-Quads) again. Lines are in the order of the text. Threads
//! meet them out of that order, so records are appended to a temporary file beside the target as they come
//! and copied to the target in order at the end.
//!
//! Memory: 24 bytes for each run of records that one block of lines gave without another block in
//! between. Invariant: [`ErrorsFile::finish`] leaves every record added in the target, durably, and no
//! temporary file; dropping without it leaves an empty target.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufReader, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use basalt_rdf::SyntaxError;

use crate::error::LoadError;

/// Bytes buffered on the way to a file.
const BUFFER_BYTES: usize = 256 << 10;

/// Records that stand together in the temporary file and in the text.
#[derive(Debug)]
struct Run {
    /// The input and the block of lines in it.
    input: u32,
    block: u32,
    /// Where they begin in the temporary file.
    offset: u64,
    /// Their length.
    bytes: u64,
}

/// The bad lines of a load, being written.
#[derive(Debug)]
pub(crate) struct ErrorsFile {
    path: PathBuf,
    target: File,
    /// Removed when dropped.
    unordered_path: PathBuf,
    unordered: BufWriter<File>,
    /// Bytes in `unordered`.
    position: u64,
    runs: Vec<Run>,
    record: Vec<u8>,
}

impl ErrorsFile {
    /// Makes the file, empty, over one that may be there.
    pub(crate) fn create(path: &Path) -> Result<Self, LoadError> {
        let special = fs::metadata(path).is_ok_and(|known| !known.is_file());
        if special {
            let source = io::Error::other("it is there and is not a file");
            return Err(failed("write", path)(source));
        }
        let target = File::create(path).map_err(failed("create", path))?;
        let mut name = OsString::from(path);
        name.push(".unordered");
        let unordered_path = PathBuf::from(name);
        let unordered = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&unordered_path)
            .map_err(failed("create", &unordered_path))?;
        Ok(Self {
            path: path.to_owned(),
            target,
            unordered_path,
            unordered: BufWriter::with_capacity(BUFFER_BYTES, unordered),
            position: 0,
            runs: Vec::new(),
            record: Vec::new(),
        })
    }

    /// Adds a bad line of a block. The lines of one block must come in order.
    pub(crate) fn add(
        &mut self,
        input: u32,
        block: usize,
        file: &str,
        error: &SyntaxError,
    ) -> Result<(), LoadError> {
        write_record(file, error, &mut self.record);
        let written = self.unordered.write_all(&self.record);
        written.map_err(failed("write", &self.unordered_path))?;
        let bytes = self.record.len() as u64;
        // Blocks have megabytes; what lies behind four billion of them is merely less well ordered.
        let block = u32::try_from(block).unwrap_or(u32::MAX);
        match self.runs.last_mut() {
            Some(run) if (run.input, run.block) == (input, block) => run.bytes += bytes,
            _ => self.runs.push(Run {
                input,
                block,
                offset: self.position,
                bytes,
            }),
        }
        self.position += bytes;
        Ok(())
    }

    /// Puts the records in order and makes them durable.
    pub(crate) fn finish(mut self) -> Result<(), LoadError> {
        self.runs
            .sort_unstable_by_key(|run| (run.input, run.block, run.offset));
        let unordered = &self.unordered_path;
        let flushed = self.unordered.flush();
        flushed.map_err(failed("write", unordered))?;
        let mut source = BufReader::with_capacity(BUFFER_BYTES, self.unordered.get_ref());
        let mut target = BufWriter::with_capacity(BUFFER_BYTES, &self.target);
        let mut at = 0;
        source
            .seek(SeekFrom::Start(0))
            .map_err(failed("read", unordered))?;
        for run in &self.runs {
            if run.offset != at {
                let sought = source.seek(SeekFrom::Start(run.offset));
                sought.map_err(failed("read", unordered))?;
            }
            at = run.offset + run.bytes;
            let copied = io::copy(&mut source.by_ref().take(run.bytes), &mut target);
            copied.map_err(failed("write", &self.path))?;
        }
        let flushed = target.flush().and_then(|()| self.target.sync_all());
        flushed.map_err(failed("write", &self.path))
    }
}

impl Drop for ErrorsFile {
    fn drop(&mut self) {
        // A file that cannot be removed holds what the target holds.
        let _ = fs::remove_file(&self.unordered_path);
    }
}

/// Fills `record` with a comment that says what is wrong, and the line.
fn write_record(file: &str, error: &SyntaxError, record: &mut Vec<u8>) {
    record.clear();
    let place = format!("{file}:{}:{}", error.line, error.column);
    record.extend_from_slice(b"# ");
    // A line end in a name or a message must not end the comment.
    let comment = format!("{place}: {}", error.message);
    let visible = comment
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c });
    record.extend_from_slice(visible.collect::<String>().as_bytes());
    record.push(b'\n');
    record.extend_from_slice(&error.raw_line);
    record.push(b'\n');
}

/// Makes a function for `map_err` on results of file operations.
fn failed(op: &'static str, path: &Path) -> impl FnOnce(io::Error) -> LoadError {
    let path = path.to_owned();
    move |source| LoadError::ErrorsFile { op, path, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bad(line: u64, text: &[u8]) -> SyntaxError {
        SyntaxError {
            file: String::new(),
            line,
            column: 2,
            message: "it is\nbad".to_owned(),
            text: String::new(),
            raw_line: text.into(),
        }
    }

    #[test]
    fn records_are_ordered_by_input_block_and_line() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("bad.nt");
        fs::write(&path, "old").expect("a file");
        let mut file = ErrorsFile::create(&path).expect("it can be made");
        let added = [
            (2, 0, 1),
            (1, 7, 90),
            (1, 7, 91),
            (1, 3, 50),
            (1, 7, 92),
            (1, 3, 51),
        ];
        for (input, block, line) in added {
            let text = format!("{input} {block} {line}\t\u{e9}").into_bytes();
            let file_name = format!("f{input}\n.nt");
            file.add(input, block, &file_name, &bad(line, &text))
                .expect("it can be written");
        }
        assert_eq!(
            fs::read(&path).expect("it is there"),
            b"",
            "not before the end"
        );
        file.finish().expect("it can be written");
        let mut expected = String::new();
        for (input, block, line) in [
            (1, 3, 50),
            (1, 3, 51),
            (1, 7, 90),
            (1, 7, 91),
            (1, 7, 92),
            (2, 0, 1),
        ] {
            expected +=
                &format!("# f{input} .nt:{line}:2: it is bad\n{input} {block} {line}\t\u{e9}\n");
        }
        assert_eq!(fs::read_to_string(&path).expect("it is there"), expected);
        let entries = fs::read_dir(dir.path()).expect("the folder is there");
        assert_eq!(entries.count(), 1, "no temporary file is left");
    }

    #[test]
    fn what_cannot_be_a_file_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        let folder = ErrorsFile::create(dir.path()).err().map(|e| e.to_string());
        assert!(folder.is_some_and(|m| m.contains("is not a file")));
        let missing = ErrorsFile::create(&dir.path().join("no/bad.nt"));
        assert!(missing.is_err_and(|e| e.to_string().starts_with("cannot create '")));
    }

    #[test]
    fn dropping_leaves_no_temporary_file() {
        let dir = tempfile::tempdir().expect("a folder");
        let path = dir.path().join("bad.nt");
        let mut file = ErrorsFile::create(&path).expect("it can be made");
        file.add(1, 0, "f", &bad(1, b"x"))
            .expect("it can be written");
        drop(file);
        let entries = fs::read_dir(dir.path()).expect("the folder is there");
        assert_eq!(entries.count(), 1);
    }
}
