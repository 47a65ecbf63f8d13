//! Reads Turtle and TriG block by block, as the loader does on many threads, but on one: for tests that compare
//! it with reading in one run.

use std::io::Read;

use basalt_rdf::reader::turtle_blocks::{BlockVerdict, TurtleBlocks, TurtleFormat};
use basalt_rdf::{QuadView, ReadError};

/// What reading in blocks took.
#[derive(Debug, Default)]
pub struct Taken {
    /// Blocks that were good.
    pub blocks: usize,
    /// Whether the end was read in one run.
    pub has_rest: bool,
}

/// Reads a document in blocks of about `block_bytes`; hands over only the quads that count.
///
/// Blocks are parsed in waves of `wave`, so that blocks behind a bad one are taken back.
pub fn read_in_blocks(
    reader: impl Read,
    format: TurtleFormat,
    base: Option<&str>,
    block_bytes: usize,
    wave: usize,
    take: &mut impl FnMut(QuadView<'_>),
) -> Result<Taken, ReadError<String>> {
    let mut taken = Taken::default();
    let mut blocks = TurtleBlocks::with_block_bytes(reader, format, base, block_bytes)?;
    loop {
        let mut ahead = Vec::new();
        while ahead.len() < wave
            && let Some(block) = blocks.next_block(Vec::new())
        {
            ahead.push(block);
        }
        let is_end = ahead.is_empty();
        let mut good = 0;
        for block in &ahead {
            assert_eq!(block.number(), taken.blocks);
            // A doubtful block's quads do not count, so they are looked at twice.
            let mut ignore = |_: QuadView<'_>| Ok::<(), String>(());
            if block.parse(&mut ignore).map_err(ReadError::Sink)? == BlockVerdict::Doubtful {
                break;
            }
            let mut sink = |quad: QuadView<'_>| {
                take(quad);
                Ok::<(), String>(())
            };
            block.parse(&mut sink).map_err(ReadError::Sink)?;
            taken.blocks += 1;
            good += 1;
        }
        let left = ahead.split_off(good);
        if !left.is_empty() || (is_end && blocks.has_rest()) {
            taken.has_rest = true;
            let mut sink = |quad: QuadView<'_>| {
                take(quad);
                Ok::<(), String>(())
            };
            blocks.read_rest(left, &mut sink)?;
            return Ok(taken);
        }
        if is_end {
            return Ok(taken);
        }
    }
}
