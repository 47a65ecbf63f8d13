//! `SortedQuads`: the irregular quads in one of their two orders, and what is found there.

use crate::byte_stream::ByteReader;
use crate::error::StoreError;
use crate::quad_table::block::{Block, BlockEntry};
use crate::quad_table::{BLOCK_QUADS, Order};
use crate::section_file::{SectionFile, SectionSlice};
use basalt_rdf::TermId;
use std::ops::{ControlFlow, Range};

/// What a scan shows: slices of equal length, leading key, second key and graph.
pub type VisitBlock<'v> = &'v mut dyn FnMut(&[u64], &[u64], &[u64]) -> ControlFlow<()>;
/// What a search for many keys shows: position of the key, second key, graph.
pub type VisitKey<'v> = &'v mut dyn FnMut(usize, TermId, TermId);

/// Keys sought in one block from which on it is decoded whole: each costs two binary searches over
/// encoded values otherwise, some 200 ns.
const DECODE_KEYS: usize = 6;

/// One order: its blocks and their directory.
#[derive(Debug)]
pub struct SortedQuads {
    pub blocks: SectionSlice,
    pub directory: Vec<BlockEntry>,
}

impl SortedQuads {
    pub fn open(file: &SectionFile, order: Order) -> Result<Self, StoreError> {
        let blocks = file.slice(order.blocks_section())?;
        let section = order.directory_section();
        let bytes = file.verified_section(section)?;
        let mut input = ByteReader::new(bytes, file.name(), section);
        let count = input.count(32)?;
        let mut directory = Vec::with_capacity(count);
        for _ in 0..count {
            let entry = BlockEntry {
                offset: input.long()?,
                bytes: input.word()?,
                quads: input.word()?,
                first: input.long()?,
                last: input.long()?,
            };
            let end = entry.offset.checked_add(u64::from(entry.bytes));
            if end.is_none_or(|end| end > blocks.bytes().len() as u64) {
                return Err(input.corrupt("a block lies outside its section"));
            }
            if entry.quads == 0 || entry.quads as usize > BLOCK_QUADS {
                return Err(input.corrupt("a block has an impossible number of quads"));
            }
            directory.push(entry);
        }
        input.finish()?;
        Ok(Self { blocks, directory })
    }

    /// A block as it stands in the file, with its entry.
    pub fn encoded(&self, block_idx: usize) -> (&BlockEntry, &[u8]) {
        let entry = &self.directory[block_idx];
        let start = entry.offset as usize;
        (
            entry,
            &self.blocks.bytes()[start..start + entry.bytes as usize],
        )
    }

    /// The first quad of a block as (leading key, second key, graph).
    pub fn first_of(&self, block_idx: usize) -> Result<[u64; 3], StoreError> {
        let block = self.block(block_idx)?;
        // No block is empty.
        Ok([block.first.get(0), block.second.get(0), block.graphs.get(0)])
    }

    /// Appends the quads of a block as (leading key, second key, graph).
    pub fn decode(&self, block_idx: usize, out: &mut Vec<[u64; 3]>) -> Result<(), StoreError> {
        self.scan(block_idx..block_idx + 1, &mut |first, second, graphs| {
            let rest = second.iter().zip(graphs);
            out.extend(first.iter().zip(rest).map(|(&f, (&s, &g))| [f, s, g]));
            ControlFlow::Continue(())
        })
    }

    pub fn block(&self, block_idx: usize) -> Result<Block<'_>, StoreError> {
        let entry = &self.directory[block_idx];
        let start = entry.offset as usize;
        let bytes = &self.blocks.bytes()[start..start + entry.bytes as usize];
        let corrupt = |what: String| self.blocks.corrupt(entry.offset, what);
        let block = Block::open(bytes).map_err(|e| corrupt(format!("block {block_idx}: {e}")))?;
        let quads = entry.quads as usize;
        if [block.first, block.second, block.graphs]
            .iter()
            .any(|sequence| sequence.len() != quads)
        {
            return Err(corrupt(format!(
                "block {block_idx} is not of {quads} quads"
            )));
        }
        Ok(block)
    }

    /// The blocks of a predicate that can hold a leading key.
    pub fn candidates(&self, blocks: Range<usize>, first: u64) -> Range<usize> {
        let directory = &self.directory[blocks.clone()];
        let start = directory.partition_point(|b| b.last < first);
        let end = directory.partition_point(|b| b.first <= first);
        blocks.start + start..blocks.start + end
    }

    /// Calls `visit` with each block and the positions in it that have the leading key.
    pub fn for_key(
        &self,
        blocks: Range<usize>,
        first: u64,
        mut visit: impl FnMut(Block<'_>, Range<usize>),
    ) -> Result<(), StoreError> {
        for block_idx in self.candidates(blocks, first) {
            let block = self.block(block_idx)?;
            let start = block.first.lower_bound(first);
            let end = match first.checked_add(1) {
                Some(after) => block.first.lower_bound(after),
                None => block.first.len(),
            };
            if start < end {
                visit(block, start..end);
            }
        }
        Ok(())
    }

    /// Whether one of these blocks has the quad (leading key, second key, graph): two binary searches, over
    /// blocks and in one.
    pub fn contains(&self, blocks: Range<usize>, key: [u64; 3]) -> Result<bool, StoreError> {
        let candidates = self.candidates(blocks, key[0]);
        let (mut low, mut high) = (candidates.start, candidates.end);
        // Invariant: blocks before `low` begin at or before the key, those from `high` on after it.
        while low < high {
            let middle = low + (high - low) / 2;
            if self.first_of(middle)? <= key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low == candidates.start {
            return Ok(false);
        }
        let block = self.block(low - 1)?;
        let quad = |i| [block.first.get(i), block.second.get(i), block.graphs.get(i)];
        let (mut start, mut end) = (0, block.first.len());
        // Invariant: quads before `start` are smaller than the key, those from `end` on are not.
        while start < end {
            let middle = start + (end - start) / 2;
            if quad(middle) < key {
                start = middle + 1;
            } else {
                end = middle;
            }
        }
        Ok(start < block.first.len() && quad(start) == key)
    }

    pub fn find(
        &self,
        blocks: Range<usize>,
        first: u64,
        out: &mut Vec<(TermId, TermId)>,
    ) -> Result<(), StoreError> {
        self.for_key(blocks, first, |block, range| {
            out.extend(range.map(|i| (TermId(block.second.get(i)), TermId(block.graphs.get(i)))));
        })
    }

    /// Seeks ascending keys in one pass over the blocks that can hold them.
    ///
    /// Termination: each turn leaves at least one block behind.
    pub fn find_many(
        &self,
        blocks: Range<usize>,
        keys: &[u64],
        visit: VisitKey<'_>,
    ) -> Result<(), StoreError> {
        let (mut block_idx, mut next) = (blocks.start, 0);
        while next < keys.len() {
            let rest = &self.directory[block_idx..blocks.end];
            block_idx += rest.partition_point(|b| b.last < keys[next]);
            if block_idx == blocks.end {
                break;
            }
            let entry = &self.directory[block_idx];
            next += keys[next..].partition_point(|&key| key < entry.first);
            let end = next + keys[next..].partition_point(|&key| key <= entry.last);
            if next < end {
                self.find_in_block(block_idx, next..end, keys, visit)?;
                // The last key may go on in the next block.
                next = if keys[end - 1] == entry.last {
                    end - 1
                } else {
                    end
                };
            }
            block_idx += 1;
        }
        Ok(())
    }

    /// Seeks the keys at some positions in one block.
    pub fn find_in_block(
        &self,
        block_idx: usize,
        positions: Range<usize>,
        keys: &[u64],
        visit: VisitKey<'_>,
    ) -> Result<(), StoreError> {
        let block = self.block(block_idx)?;
        if positions.len() < DECODE_KEYS {
            for position in positions {
                let start = block.first.lower_bound(keys[position]);
                for i in start..block.first.len() {
                    if block.first.get(i) != keys[position] {
                        break;
                    }
                    let (second, graph) = (block.second.get(i), block.graphs.get(i));
                    visit(position, TermId(second), TermId(graph));
                }
            }
            return Ok(());
        }
        let [mut first, mut second, mut graphs] = [const { Vec::new() }; 3];
        block.first.decode(0..block.first.len(), &mut first);
        block.second.decode(0..block.second.len(), &mut second);
        block.graphs.decode(0..block.graphs.len(), &mut graphs);
        let mut position = positions.start;
        for ((&found, second), graph) in first.iter().zip(second).zip(graphs) {
            while position < positions.end && keys[position] < found {
                position += 1;
            }
            if position == positions.end {
                break;
            }
            if keys[position] == found {
                visit(position, TermId(second), TermId(graph));
            }
        }
        Ok(())
    }

    /// The number of quads with this leading key.
    pub fn count(&self, blocks: Range<usize>, first: u64) -> Result<u64, StoreError> {
        let mut count = 0;
        self.for_key(blocks, first, |_, range| count += range.len() as u64)?;
        Ok(count)
    }

    pub fn scan(&self, blocks: Range<usize>, visit: VisitBlock<'_>) -> Result<(), StoreError> {
        let (mut first, mut second, mut graphs) = (Vec::new(), Vec::new(), Vec::new());
        for block_idx in blocks {
            let block = self.block(block_idx)?;
            for (sequence, values) in [
                (block.first, &mut first),
                (block.second, &mut second),
                (block.graphs, &mut graphs),
            ] {
                values.clear();
                sequence.decode(0..sequence.len(), values);
            }
            if visit(&first, &second, &graphs).is_break() {
                break;
            }
        }
        Ok(())
    }
}
