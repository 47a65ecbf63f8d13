//! `Compressor`: a target that packs what is written to it, or not.
//!
//! The counterpart of what [`input`](crate::reader::input) undoes. [`flush`](Write::flush) makes all that
//! was written so far readable at the other end, at some cost in size; [`finish`](Compressor::finish) must
//! be called at the end, else the data is cut off.

use std::io::{self, Write};

use crate::reader::input::Compression;

/// Zstandard's own usual level: faster and smaller than gzip's.
const ZSTD_LEVEL: i32 = 3;

/// A target that packs.
pub struct Compressor<W: Write>(Packer<W>);

/// The packer at work.
enum Packer<W: Write> {
    /// Nothing is packed.
    Plain(W),
    /// gzip.
    Gzip(flate2::write::GzEncoder<W>),
    /// Zstandard.
    Zstd(zstd::stream::write::Encoder<'static, W>),
    /// bzip2.
    Bzip2(bzip2::write::BzEncoder<W>),
}

impl<W: Write> Compressor<W> {
    /// A target that packs like this; with `None` it passes everything on.
    pub fn new(target: W, compression: Option<Compression>) -> io::Result<Self> {
        Ok(Self(match compression {
            None => Packer::Plain(target),
            Some(Compression::Gzip) => {
                // Level 4 writes twice as fast as the usual 6 and a few percent more.
                let level = flate2::Compression::new(4);
                Packer::Gzip(flate2::write::GzEncoder::new(target, level))
            }
            Some(Compression::Zstd) => {
                Packer::Zstd(zstd::stream::write::Encoder::new(target, ZSTD_LEVEL)?)
            }
            Some(Compression::Bzip2) => {
                let level = bzip2::Compression::default();
                Packer::Bzip2(bzip2::write::BzEncoder::new(target, level))
            }
        }))
    }

    /// Writes the end of the data and gives back the target.
    pub fn finish(self) -> io::Result<W> {
        match self.0 {
            Packer::Plain(target) => Ok(target),
            Packer::Gzip(encoder) => encoder.finish(),
            Packer::Zstd(encoder) => encoder.finish(),
            Packer::Bzip2(encoder) => encoder.finish(),
        }
    }

    /// The target, with all that was packed so far.
    pub fn target_mut(&mut self) -> &mut W {
        match &mut self.0 {
            Packer::Plain(target) => target,
            Packer::Gzip(encoder) => encoder.get_mut(),
            Packer::Zstd(encoder) => encoder.get_mut(),
            Packer::Bzip2(encoder) => encoder.get_mut(),
        }
    }
}

impl<W: Write> Write for Compressor<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Packer::Plain(target) => target.write(bytes),
            Packer::Gzip(encoder) => encoder.write(bytes),
            Packer::Zstd(encoder) => encoder.write(bytes),
            Packer::Bzip2(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Packer::Plain(target) => target.flush(),
            Packer::Gzip(encoder) => encoder.flush(),
            Packer::Zstd(encoder) => encoder.flush(),
            Packer::Bzip2(encoder) => encoder.flush(),
        }
    }
}
