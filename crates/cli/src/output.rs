//! Where a command writes its data: standard output, or a file that appears when it is complete.

use crate::error::CliError;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

const BUFFER_BYTES: usize = 64 << 10;

/// A target of data. [`Output::finish`] must be called at the end; a file that is not finished
/// never gets its name.
pub struct Output {
    writer: Option<BufWriter<Box<dyn Write>>>,
    /// The name to give to the file, and the one that it has until then.
    rename: Option<(PathBuf, PathBuf)>,
}

impl Output {
    /// A file; nothing or `-` is standard output.
    pub fn open(path: Option<&Path>) -> Result<Self, CliError> {
        let path = match path {
            Some(path) if path.as_os_str() != "-" => path,
            _ => return Ok(Self::new(Box::new(io::stdout().lock()), None)),
        };
        // A pipe or a device has to be written as it is.
        let is_special = path.metadata().is_ok_and(|known| !known.is_file());
        if is_special {
            let file = File::options()
                .write(true)
                .open(path)
                .map_err(CliError::file("write", path))?;
            return Ok(Self::new(Box::new(file), None));
        }
        let mut part = path.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = File::create(&part).map_err(CliError::file("write", &part))?;
        Ok(Self::new(Box::new(file), Some((part, path.to_owned()))))
    }

    fn new(target: Box<dyn Write>, rename: Option<(PathBuf, PathBuf)>) -> Self {
        Self {
            writer: Some(BufWriter::with_capacity(BUFFER_BYTES, target)),
            rename,
        }
    }

    /// Writes what is left and gives the file its name.
    pub fn finish(mut self) -> Result<(), CliError> {
        self.flush().map_err(CliError::stdout())?;
        self.writer = None;
        match self.rename.take() {
            Some((part, path)) => {
                std::fs::rename(&part, &path).map_err(CliError::file("write", &path))
            }
            None => Ok(()),
        }
    }

    fn writer(&mut self) -> io::Result<&mut BufWriter<Box<dyn Write>>> {
        self.writer
            .as_mut()
            .ok_or_else(|| io::Error::other("the output is finished"))
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer()?.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer()?.flush()
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
