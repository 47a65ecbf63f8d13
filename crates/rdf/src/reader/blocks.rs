//! `BlockReader`: cuts a stream into blocks of whole lines.
//!
//! First stage of a parallel load: one thread reads, others parse the blocks. A block ends behind a
//! line feed (behind a carriage return where a whole block has no line feed), the last one where the
//! stream ends; a line longer than a block makes the block longer.
//!
//! Cost: each byte is copied once by the read and once more if it stands behind the last line end of
//! its block; counting lines is one vectorised search.

use std::io::{self, Read};

use memchr::{memchr_iter, memrchr};

/// Bytes of a block: large enough that handing over costs nothing, small enough for the outer caches
/// and for even work at the end of a file.
pub const BLOCK_BYTES: usize = 4 << 20;

/// A run of whole lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The lines; only the last block may lack the last line end.
    pub bytes: Vec<u8>,
    /// The number of the first line, from 1.
    pub first_line: u64,
}

/// Cuts a stream into [`Block`]s.
#[derive(Debug)]
pub struct BlockReader<R> {
    /// The stream.
    reader: R,
    /// What was read behind the last line end.
    carry: Vec<u8>,
    /// The number of the next block's first line.
    next_line: u64,
    /// Bytes to aim for.
    block_bytes: usize,
}

impl<R: Read> BlockReader<R> {
    /// Blocks of [`BLOCK_BYTES`].
    pub fn new(reader: R) -> Self {
        Self::with_block_bytes(reader, BLOCK_BYTES)
    }

    /// Blocks of about this many bytes.
    pub fn with_block_bytes(reader: R, block_bytes: usize) -> Self {
        Self {
            reader,
            carry: Vec::new(),
            next_line: 1,
            block_bytes: block_bytes.max(1),
        }
    }

    /// The next block in the memory of `reuse`, or `None` at the end.
    pub fn next_block(&mut self, mut reuse: Vec<u8>) -> io::Result<Option<Block>> {
        reuse.clear();
        let mut bytes = reuse;
        std::mem::swap(&mut bytes, &mut self.carry);
        let mut searched = 0;
        // Termination: each turn reads at least one byte or meets the end of the stream.
        loop {
            let target = self.block_bytes.max(bytes.len() * 2);
            let wanted = target.saturating_sub(bytes.len()).max(1);
            bytes.reserve(wanted);
            let read = self
                .reader
                .by_ref()
                .take(wanted as u64)
                .read_to_end(&mut bytes)?;
            if read < wanted {
                break;
            }
            let last = memrchr(b'\n', &bytes[searched..])
                .or_else(|| memrchr(b'\r', &bytes[searched..]))
                .map(|at| searched + at + 1);
            if let Some(end) = last {
                self.carry.clear();
                self.carry.extend_from_slice(&bytes[end..]);
                bytes.truncate(end);
                break;
            }
            searched = bytes.len();
        }
        if bytes.is_empty() {
            return Ok(None);
        }
        let first_line = self.next_line;
        self.next_line += memchr_iter(b'\n', &bytes).count() as u64;
        Ok(Some(Block { bytes, first_line }))
    }
}

impl<R: Read> Iterator for BlockReader<R> {
    type Item = io::Result<Block>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_block(Vec::new()).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(text: &str, block_bytes: usize) -> Vec<(String, u64)> {
        BlockReader::with_block_bytes(text.as_bytes(), block_bytes)
            .map(|block| {
                let block = block.expect("memory can be read");
                (
                    String::from_utf8(block.bytes).expect("text"),
                    block.first_line,
                )
            })
            .collect()
    }

    #[test]
    fn blocks_are_whole_lines_with_their_numbers() {
        let text = "a\nbb\n\nccc\ndddd";
        for block_bytes in 1..20 {
            let blocks = cut(text, block_bytes);
            let joined: String = blocks.iter().map(|(text, _)| text.as_str()).collect();
            assert_eq!(joined, text);
            let mut line = 1;
            for (i, (block, first_line)) in blocks.iter().enumerate() {
                assert_eq!(*first_line, line);
                assert!(block.ends_with('\n') || i + 1 == blocks.len());
                line += block.matches('\n').count() as u64;
            }
        }
    }

    #[test]
    fn an_empty_stream_has_no_block() {
        assert_eq!(cut("", 4), []);
    }

    #[test]
    fn a_long_line_is_one_block() {
        let text = format!("{}\nb\n", "a".repeat(100));
        assert!(cut(&text, 10)[0].0.starts_with(&text[..101]));
    }

    #[test]
    fn carriage_returns_cut_where_there_is_no_line_feed() {
        assert_eq!(cut("a\rb\rc\rd\r", 4).len(), 2);
    }
}
