//! Compression of one block of output, and reading it back.
//!
//! Every block becomes a gzip member or Zstandard frame of its own. Members and frames may follow
//! one another in a file, so blocks are compressed on the threads that made them.

use crate::vocabulary::Compression;
use std::io::{BufRead, BufReader, Read, Write};

/// Fast levels: the text is word noise, which higher ones do not shrink much further.
const GZIP_LEVEL: u32 = 3;
const ZSTD_LEVEL: i32 = 3;

/// Appends the compressed form of `plain` to `out`.
pub(crate) fn compress(
    compression: Compression,
    plain: &[u8],
    out: &mut Vec<u8>,
) -> std::io::Result<()> {
    match compression {
        Compression::None => out.extend_from_slice(plain),
        Compression::Gzip => {
            let level = flate2::Compression::new(GZIP_LEVEL);
            let mut encoder = flate2::write::GzEncoder::new(out, level);
            encoder.write_all(plain)?;
            encoder.finish()?;
        }
        Compression::Zstd => zstd::stream::copy_encode(plain, out, ZSTD_LEVEL)?,
    }
    Ok(())
}

/// A reader of the plain text.
pub(crate) fn decompress(
    compression: Compression,
    packed: impl Read + Send + 'static,
) -> std::io::Result<Box<dyn BufRead + Send>> {
    Ok(match compression {
        Compression::None => Box::new(BufReader::new(packed)),
        Compression::Gzip => {
            let decoder = flate2::read::MultiGzDecoder::new(BufReader::new(packed));
            Box::new(BufReader::new(decoder))
        }
        Compression::Zstd => Box::new(BufReader::new(zstd::stream::Decoder::new(packed)?)),
    })
}
