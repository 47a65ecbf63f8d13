//! Opening what the user named: a file or standard input, compressed or not.
//!
//! The compression is told by the first bytes, whatever the name says; the format by the extension
//! inside of `.gz`, `.zst` or `.bz2`. The first bytes are looked at once more after decompression, so
//! that a file which is no text at all gives one clear error and not thousands of syntax errors. A byte
//! order mark is skipped. An empty file is a file without quads.
//!
//! Cost: one virtual call per read; decompressors run on threads of their own (`ReadAhead`).

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use super::GraphFormat;
use super::counted_reader::CountedReader;
use super::read_ahead::ReadAhead;

/// Bytes looked at before and after decompression.
const PEEK_BYTES: usize = 4096;
/// Bytes read from the file at once.
const READ_BYTES: usize = 256 << 10;

/// A compression that is undone while reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compression {
    /// gzip, also of several members.
    Gzip,
    /// Zstandard, also of several frames.
    Zstd,
    /// bzip2, also of several streams.
    Bzip2,
}

impl Compression {
    /// The compression of a file name extension, in any case and without the point.
    pub fn from_extension(extension: &str) -> Option<Self> {
        match extension.to_ascii_lowercase().as_str() {
            "gz" | "gzip" => Some(Self::Gzip),
            "zst" | "zstd" => Some(Self::Zstd),
            "bz2" => Some(Self::Bzip2),
            _ => None,
        }
    }

    /// The compression whose files begin like this.
    pub fn from_magic(bytes: &[u8]) -> Option<Self> {
        match bytes {
            [0x1F, 0x8B, ..] => Some(Self::Gzip),
            [0x28, 0xB5, 0x2F, 0xFD, ..] => Some(Self::Zstd),
            [b'B', b'Z', b'h', b'1'..=b'9', ..] => Some(Self::Bzip2),
            _ => None,
        }
    }

    /// The name to show to people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Zstd => "zstd",
            Self::Bzip2 => "bzip2",
        }
    }
}

/// Why an input could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// There is no such file.
    #[error("'{0}' does not exist")]
    Missing(String),
    /// A folder was named.
    #[error("'{0}' is a directory, not a file")]
    Directory(String),
    /// The file may not be read.
    #[error("no permission to read '{0}'")]
    Permission(String),
    /// The content is not text.
    #[error("'{name}' is not RDF text: it looks like {what}")]
    Binary {
        /// The file as the user named it.
        name: String,
        /// What it looks like.
        what: &'static str,
    },
    /// Reading failed.
    #[error("cannot read '{name}': {source}")]
    Io {
        /// The file as the user named it.
        name: String,
        /// What went wrong.
        source: io::Error,
    },
}

/// An opened input: its name, its format if the name tells it, and its text.
pub struct Input {
    /// The file as the user named it, for messages.
    name: String,
    /// The format that the name tells.
    format: Option<GraphFormat>,
    /// The decompressed bytes.
    reader: Box<dyn Read + Send>,
}

impl Input {
    /// Opens a file, or standard input if the path is `-`.
    pub fn open(path: &Path) -> Result<Self, InputError> {
        Self::open_counted(path, Arc::default())
    }

    /// As [`Self::open`]; the bytes read from the file, before decompression, are added to `counter`.
    pub fn open_counted(path: &Path, counter: Arc<AtomicU64>) -> Result<Self, InputError> {
        if path.as_os_str() == "-" {
            let stdin = CountedReader::new(io::stdin(), counter);
            return Self::from_reader("standard input", None, stdin);
        }
        let name = path.display().to_string();
        let open_error = |source: io::Error| match source.kind() {
            io::ErrorKind::NotFound => InputError::Missing(name.clone()),
            io::ErrorKind::PermissionDenied => InputError::Permission(name.clone()),
            _ => InputError::Io {
                name: name.clone(),
                source,
            },
        };
        let file = File::open(path).map_err(open_error)?;
        if file.metadata().map_err(open_error)?.is_dir() {
            return Err(InputError::Directory(name));
        }
        let format = GraphFormat::from_path(path);
        Self::from_reader(&name, format, CountedReader::new(file, counter))
    }

    /// An input from any stream; compression is told by its first bytes.
    pub fn from_reader(
        name: &str,
        format: Option<GraphFormat>,
        reader: impl Read + Send + 'static,
    ) -> Result<Self, InputError> {
        let io_error = |source| InputError::Io {
            name: name.to_owned(),
            source,
        };
        let raw = BufReader::with_capacity(READ_BYTES, reader);
        let (head, raw) = peek(raw).map_err(io_error)?;
        let text: Box<dyn Read + Send> = match Compression::from_magic(&head) {
            None => Box::new(raw),
            Some(compression) => {
                let text = decompress(raw, compression).map_err(io_error)?;
                Box::new(ReadAhead::new(text))
            }
        };
        let (head, text) = peek(text).map_err(io_error)?;
        if let Some(what) = binary_kind(&head) {
            return Err(InputError::Binary {
                name: name.to_owned(),
                what,
            });
        }
        let mut reader = text;
        if head.starts_with(&[0xEF, 0xBB, 0xBF]) {
            reader.read_exact(&mut [0; 3]).map_err(io_error)?;
        }
        Ok(Self {
            name: name.to_owned(),
            format,
            reader: Box::new(reader),
        })
    }

    /// The file as the user named it, for messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The format that the name tells.
    pub fn format(&self) -> Option<GraphFormat> {
        self.format
    }

    /// The decompressed text.
    pub fn into_reader(self) -> Box<dyn Read + Send> {
        self.reader
    }
}

/// A stream with some bytes put back in front.
type Rewound<R> = io::Chain<Cursor<Vec<u8>>, R>;

/// The first bytes of a stream, and the stream with these bytes still in front.
fn peek<R: Read>(mut reader: R) -> io::Result<(Vec<u8>, Rewound<R>)> {
    let mut head = Vec::with_capacity(PEEK_BYTES);
    reader
        .by_ref()
        .take(PEEK_BYTES as u64)
        .read_to_end(&mut head)?;
    Ok((head.clone(), Cursor::new(head).chain(reader)))
}

/// A decompressing reader over a stream.
fn decompress(
    raw: impl Read + Send + 'static,
    compression: Compression,
) -> io::Result<Explained<Box<dyn Read + Send>>> {
    let buffered = BufReader::with_capacity(READ_BYTES, raw);
    let reader: Box<dyn Read + Send> = match compression {
        Compression::Gzip => Box::new(flate2::bufread::MultiGzDecoder::new(buffered)),
        Compression::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(buffered)?),
        Compression::Bzip2 => Box::new(bzip2::bufread::MultiBzDecoder::new(buffered)),
    };
    Ok(Explained {
        reader,
        compression,
    })
}

/// Says of each error of a decompressor what it means.
struct Explained<R> {
    /// The decompressor.
    reader: R,
    /// What it undoes.
    compression: Compression,
}

impl<R: Read> Read for Explained<R> {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        self.reader.read(target).map_err(|error| {
            let name = self.compression.name();
            match error.kind() {
                io::ErrorKind::Interrupted => error,
                io::ErrorKind::UnexpectedEof => {
                    io::Error::new(error.kind(), format!("the {name} data is cut off"))
                }
                kind => io::Error::new(kind, format!("the {name} data is damaged: {error}")),
            }
        })
    }
}

/// What the first bytes look like, if they are not text.
///
/// Text of the line formats may hold any control character but rarely does, so only a NUL byte or a
/// known signature counts.
fn binary_kind(head: &[u8]) -> Option<&'static str> {
    match head {
        [0xFF, 0xFE, ..] | [0xFE, 0xFF, ..] => return Some("UTF-16 text (convert it to UTF-8)"),
        [b'P', b'K', 3, 4, ..] => return Some("a zip archive"),
        [0xFD, b'7', b'z', b'X', b'Z', 0, ..] => return Some("xz data"),
        [b'7', b'z', 0xBC, 0xAF, ..] => return Some("a 7z archive"),
        [b'$', b'H', b'D', b'T', ..] => return Some("an HDT file"),
        [b'%', b'P', b'D', b'F', ..] => return Some("a PDF document"),
        [0x7F, b'E', b'L', b'F', ..] => return Some("a program"),
        _ => {}
    }
    if Compression::from_magic(head).is_some() {
        return Some("data that was compressed twice");
    }
    if head.get(257..262) == Some(b"ustar") {
        return Some("a tar archive");
    }
    head.contains(&0).then_some("binary data")
}
