//! Where a command writes its data: standard output, or a file that appears when it is complete, packed if its
//! name ends in `.gz`, `.zst` or `.bz2`.

use crate::error::CliError;
use basalt_engine::{Compression, Compressor};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

const BUFFER_BYTES: usize = 64 << 10;

/// What packs, and what it writes to.
type Target = Compressor<BufWriter<Box<dyn Write>>>;

/// A target of data. [`Output::finish`] must be called at the end; a file that is not finished
/// never gets its name.
pub struct Output {
    writer: Option<Target>,
    /// The name to give to the file, and the one that it has until then.
    rename: Option<(PathBuf, PathBuf)>,
}

impl Output {
    /// A file; nothing or `-` is standard output.
    pub fn open(path: Option<&Path>) -> Result<Self, CliError> {
        let path = match path {
            Some(path) if path.as_os_str() != "-" => path,
            _ => return Self::new(Box::new(io::stdout().lock()), None, None),
        };
        let extension = path.extension().and_then(|extension| extension.to_str());
        let compression = extension.and_then(Compression::from_extension);
        // A pipe or a device has to be written as it is.
        let is_special = path.metadata().is_ok_and(|known| !known.is_file());
        if is_special {
            let file = File::options()
                .write(true)
                .open(path)
                .map_err(CliError::file("write", path))?;
            return Self::new(Box::new(file), compression, None);
        }
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = File::create(&part).map_err(CliError::file("write", &part))?;
        Self::new(Box::new(file), compression, Some((part, path.to_owned())))
    }

    fn new(
        target: Box<dyn Write>,
        compression: Option<Compression>,
        rename: Option<(PathBuf, PathBuf)>,
    ) -> Result<Self, CliError> {
        let buffered = BufWriter::with_capacity(BUFFER_BYTES, target);
        let writer = Compressor::new(buffered, compression).map_err(CliError::stdout())?;
        Ok(Self {
            writer: Some(writer),
            rename,
        })
    }

    /// Writes what is left and gives the file its name.
    pub fn finish(mut self) -> Result<(), CliError> {
        if let Some(writer) = self.writer.take() {
            let ended = writer.finish().and_then(|mut buffered| buffered.flush());
            ended.map_err(CliError::stdout())?;
        }
        match self.rename.take() {
            Some((part, path)) => {
                std::fs::rename(&part, &path).map_err(CliError::file("write", &path))
            }
            None => Ok(()),
        }
    }

    fn writer(&mut self) -> io::Result<&mut Target> {
        self.writer
            .as_mut()
            .ok_or_else(|| io::Error::other("the output is finished"))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer()?.write(bytes)
    }

    /// Does nothing: all that is written comes with [`Output::finish`], and packed data is smaller so.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Output {
    fn drop(&mut self) {
        if let Some((part, _)) = self.rename.take() {
            // Left over from a failure that is reported already.
            let _ = std::fs::remove_file(part);
        }
    }
}

/// Writes a text to standard output.
pub fn write_stdout(text: &str) -> Result<(), CliError> {
    let mut output = Output::open(None)?;
    output
        .write_all(text.as_bytes())
        .map_err(CliError::stdout())?;
    output.finish()
}

/// Writes a message to standard error; if that is gone there is nobody to tell.
pub fn message(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}
