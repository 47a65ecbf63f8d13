//! The files that a data set is written to, one after the other.
//!
//! Files are opened when their first unit comes, so at most one is open. A file that gets no unit
//! is still made, empty but for the head of its format.

use crate::BsbmError;
use crate::compress::compress;
use crate::manifest::OutputFile;
use crate::pipeline::Done;
use crate::vocabulary::{Compression, Format, TURTLE_HEAD};
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Where the text goes.
pub(crate) enum Target<'a> {
    /// One stream.
    Stream(&'a mut dyn Write),
    /// Files at these paths.
    Files(Vec<PathBuf>),
}

/// Writes units to their files.
pub(crate) struct Outputs<'a> {
    target: Target<'a>,
    /// The open file, for [`Target::Files`].
    file: Option<File>,
    /// The first bytes of every file.
    head: Vec<u8>,
    head_plain_bytes: u64,
    /// The files begun so far.
    entries: Vec<OutputFile>,
}

impl<'a> Outputs<'a> {
    /// Outputs for the given format.
    pub(crate) fn new(
        target: Target<'a>,
        format: Format,
        compression: Compression,
    ) -> Result<Outputs<'a>, BsbmError> {
        let plain = match format {
            Format::Turtle => TURTLE_HEAD.as_bytes(),
            Format::NTriples | Format::NQuads => b"",
        };
        let mut head = Vec::new();
        if !plain.is_empty() {
            let path = Path::new("-");
            compress(compression, plain, &mut head).map_err(io_error("compressing", path))?;
        }
        Ok(Outputs {
            target,
            file: None,
            head,
            head_plain_bytes: plain.len() as u64,
            entries: Vec::new(),
        })
    }

    /// Writes a unit, opening files up to its own.
    pub(crate) fn write(&mut self, done: &Done) -> Result<(), BsbmError> {
        self.open_through(done.file)?;
        self.write_bytes(done.bytes())?;
        let entry = &mut self.entries[done.file];
        entry.bytes += done.bytes().len() as u64;
        entry.plain_bytes += done.plain_bytes();
        entry.triples += done.counts.triples();
        Ok(())
    }

    /// Opens the files not reached yet and ends the last one.
    pub(crate) fn finish(mut self) -> Result<Vec<OutputFile>, BsbmError> {
        let files = match &self.target {
            Target::Stream(_) => 1,
            Target::Files(paths) => paths.len(),
        };
        self.open_through(files - 1)?;
        match &mut self.target {
            Target::Stream(stream) => stream
                .flush()
                .map_err(io_error("writing", Path::new("-")))?,
            Target::Files(_) => self.file = None,
        }
        Ok(self.entries)
    }

    fn open_through(&mut self, last: usize) -> Result<(), BsbmError> {
        while self.entries.len() <= last {
            let mut name = String::from("-");
            if let Target::Files(paths) = &self.target {
                let path = &paths[self.entries.len()];
                self.file = Some(File::create(path).map_err(io_error("creating", path))?);
                name = path.display().to_string();
            }
            self.entries.push(OutputFile {
                name,
                bytes: self.head.len() as u64,
                plain_bytes: self.head_plain_bytes,
                triples: 0,
            });
            let head = std::mem::take(&mut self.head);
            self.write_bytes(&head)?;
            self.head = head;
        }
        Ok(())
    }

    fn write_bytes(&mut self, bytes: &[u8]) -> Result<(), BsbmError> {
        let outcome = match (&mut self.target, &mut self.file) {
            (Target::Stream(stream), _) => stream.write_all(bytes),
            (Target::Files(_), Some(file)) => file.write_all(bytes),
            (Target::Files(_), None) => Ok(()),
        };
        let name = self.entries.last().map_or("-", |entry| &entry.name);
        outcome.map_err(io_error("writing", Path::new(name)))
    }
}

/// Names the operation and the file of an input or output error.
pub(crate) fn io_error(
    operation: &'static str,
    path: &Path,
) -> impl FnOnce(std::io::Error) -> BsbmError {
    move |source| BsbmError::Io {
        operation,
        path: path.to_path_buf(),
        source,
    }
}

/// The path of one of several files: the number, counted from 1 and padded to equal length, goes
/// between the name and its suffixes, as in `data07.nt.gz`.
pub fn numbered_path(path: &Path, number: usize, files: usize) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_packed = name.ends_with(".gz") || name.ends_with(".zst");
    let suffixes = if is_packed { 2 } else { 1 };
    let stem_bytes = name
        .rmatch_indices('.')
        .take(suffixes)
        .last()
        .map_or(name.len(), |(at, _)| at);
    let digits = files.to_string().len();
    let (stem, suffix) = name.split_at(stem_bytes);
    path.with_file_name(format!("{stem}{number:0digits$}{suffix}"))
}
