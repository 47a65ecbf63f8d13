//! `BlockReader`: cuts a stream into blocks of whole lines.
//!
//! First stage of a parallel load: one thread reads, others parse the blocks. A block ends behind a
//! line feed (behind a carriage return where a whole block has no line feed), the last one where the
//! stream ends; a line longer than a block makes the block longer, up to [`LINE_BYTES_MAX`]: a packed text of a few kilobytes could
//! ask for all memory otherwise.
//!
//! Cost: each byte is copied once by the read and once more if it stands behind the last line end of
//! its block; counting lines is one vectorised search. Memory that is given back is not cleared again.

use std::io::{self, Read};

use memchr::{memchr_iter, memrchr};

/// Bytes of a block: large enough that handing over costs nothing, small enough for the outer caches
/// and for even work at the end of a file.
pub const BLOCK_BYTES: usize = 4 << 20;

/// Bytes that a line may have without its line end being met.
pub const LINE_BYTES_MAX: usize = 256 << 20;

/// Bytes that new memory is cleared for and read into at first, for small inputs; as many as the buffer of an input
/// has, which larger reads bypass.
const FIRST_READ_BYTES: usize = 256 << 10;

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
    /// Bytes that a line may have.
    line_bytes_max: usize,
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
            line_bytes_max: LINE_BYTES_MAX,
        }
    }

    /// The next block in the memory of `reuse`, or `None` at the end. What `reuse` holds is not looked at, but
    /// memory that it holds need not be cleared: give back what the last block was in, as it is.
    pub fn next_block(&mut self, reuse: Vec<u8>) -> io::Result<Option<Block>> {
        let mut bytes = reuse;
        // Invariant: the stream goes on behind `bytes[..filled]`; what follows there is old.
        let mut filled = self.carry.len();
        if bytes.len() < filled {
            bytes.resize(filled, 0);
        }
        bytes[..filled].copy_from_slice(&self.carry);
        self.carry.clear();
        let mut searched = 0;
        // Termination: each turn reads at least one byte or meets the end of the stream.
        loop {
            let target = self.block_bytes.max(self.line_bytes_max.min(filled * 2));
            filled = fill(&mut self.reader, &mut bytes, filled, target)?;
            if filled < target {
                break;
            }
            let last = memrchr(b'\n', &bytes[searched..filled])
                .or_else(|| memrchr(b'\r', &bytes[searched..filled]))
                .map(|at| searched + at + 1);
            if let Some(end) = last {
                self.carry.extend_from_slice(&bytes[end..filled]);
                filled = end;
                break;
            }
            if filled >= self.line_bytes_max {
                let (line, bytes_max) = (self.next_line, self.line_bytes_max);
                let message = format!("line {line} is longer than {bytes_max} bytes");
                return Err(io::Error::new(io::ErrorKind::InvalidData, message));
            }
            searched = filled;
        }
        bytes.truncate(filled);
        if bytes.is_empty() {
            return Ok(None);
        }
        let first_line = self.next_line;
        self.next_line += memchr_iter(b'\n', &bytes).count() as u64;
        Ok(Some(Block { bytes, first_line }))
    }
}

/// Reads behind the first `filled` bytes until there are `target`; returns how many there are, fewer only at the
/// end of the stream.
///
/// Reads are large, so that they bypass buffers on the way, and go to memory that holds something already: clearing
/// all of it first would be one more write of every byte.
fn fill(
    reader: &mut impl Read,
    bytes: &mut Vec<u8>,
    mut filled: usize,
    target: usize,
) -> io::Result<usize> {
    while filled < target {
        if bytes.len() == filled {
            let wanted = (2 * filled).max(FIRST_READ_BYTES);
            bytes.resize(wanted.min(target), 0);
        }
        let end = bytes.len().min(target);
        match reader.read(&mut bytes[filled..end]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
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
    fn a_line_without_end_is_refused() {
        let text = format!("a\nb\n{}", "x".repeat(1_000));
        let mut blocks = BlockReader::with_block_bytes(text.as_bytes(), 4);
        blocks.line_bytes_max = 100;
        let first = blocks.next().expect("there is a block");
        assert_eq!(first.expect("it is short").first_line, 1);
        let error = blocks.next().expect("there is more").expect_err("too long");
        assert_eq!(error.to_string(), "line 3 is longer than 100 bytes");
    }

    /// Gives a few bytes at a time, and is interrupted now and then.
    struct Trickle<'t> {
        text: &'t [u8],
        turn: usize,
    }

    impl Read for Trickle<'_> {
        fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
            self.turn += 1;
            if self.turn.is_multiple_of(5) {
                return Err(io::ErrorKind::Interrupted.into());
            }
            let count = target.len().min(self.text.len()).min(self.turn % 4 + 1);
            let (now, later) = self.text.split_at(count);
            target[..count].copy_from_slice(now);
            self.text = later;
            Ok(count)
        }
    }

    #[test]
    fn memory_is_used_again_and_short_reads_do_not_matter() {
        let lines: Vec<String> = (0..400).map(|i| "x".repeat(i * 7 % 31)).collect();
        let text = lines.join("\n");
        for block_bytes in [1, 8, 40, 200, 10_000] {
            let stream = Trickle {
                text: text.as_bytes(),
                turn: 0,
            };
            let mut blocks = BlockReader::with_block_bytes(stream, block_bytes);
            let mut memory = vec![b'?'; 100];
            let mut expected = cut(&text, block_bytes).into_iter();
            while let Some(block) = blocks.next_block(memory).expect("it ends well") {
                let (text, first_line) = expected.next().expect("as many blocks");
                assert_eq!(block.bytes, text.as_bytes());
                assert_eq!(block.first_line, first_line);
                memory = block.bytes;
            }
            assert_eq!(expected.next(), None);
        }
    }

    #[test]
    fn carriage_returns_cut_where_there_is_no_line_feed() {
        assert_eq!(cut("a\rb\rc\rd\r", 4).len(), 2);
    }
}
