//! Blocks of parsed quads, put in by any thread and taken out in the order of the text.
//!
//! A block's place is its input and its number in the input, so the outcome does not depend on which
//! thread was faster. Blocks are [packed](crate::packed_quads) and kept in large slabs, whose memory returns to the system
//! when they are freed. When memory is so short that it is not enough to let text go, all blocks go to a file.
//!
//! Cost: about 10 bytes for each quad; packing, and one copy.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::bounded;

use crate::encoder::RawQuad;
use crate::error::LoadError;
use crate::first_ordinals::FirstTerms;
use crate::packed_quads::{PackedQuads, pack, unpack};
use crate::spill::{Extent, LoadMemory, SpillFile};

/// Bytes of a slab: above 32 MiB, the threshold from which on memory is always mapped by itself.
const SLAB_BYTES: usize = 36 << 20;
/// Blocks read ahead.
const READ_AHEAD: usize = 3;

/// All parsed quads of a load.
pub(crate) struct QuadBlocks {
    memory: Arc<LoadMemory>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    slabs: Vec<Vec<u8>>,
    blocks: Vec<Block>,
    /// If there is one, all blocks are in it.
    file: Option<SpillFile>,
    quads: u64,
    /// Bytes of all blocks.
    bytes: u64,
}

struct Block {
    input: u32,
    number: usize,
    /// Bytes of its head.
    head: usize,
    quads: usize,
    place: Place,
}

#[derive(Clone, Copy)]
enum Place {
    Slab {
        slab: usize,
        start: usize,
        bytes: usize,
    },
    File(Extent),
}

impl QuadBlocks {
    /// No quads.
    pub(crate) fn new(memory: Arc<LoadMemory>) -> Self {
        Self {
            memory,
            state: Mutex::default(),
        }
    }

    /// Puts a block at its place. Empty blocks are dropped.
    pub(crate) fn put(
        &self,
        input: u32,
        number: usize,
        quads: &[RawQuad],
    ) -> Result<(), LoadError> {
        if quads.is_empty() {
            return Ok(());
        }
        let PackedQuads { bytes, head } = pack(quads);
        let mut state = self.lock();
        state.quads += quads.len() as u64;
        state.bytes += bytes.len() as u64;
        let place = if state.file.is_some() || self.memory.is_full() {
            Place::File(self.file(&mut state)?.append(&bytes)?)
        } else {
            self.memory.hold(bytes.len());
            state.keep(&bytes)
        };
        state.blocks.push(Block {
            input,
            number,
            head,
            quads: quads.len(),
            place,
        });
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The file, made if there is none, with all blocks that were in memory.
    fn file<'s>(&self, state: &'s mut State) -> Result<&'s SpillFile, LoadError> {
        if state.file.is_none() {
            let file = SpillFile::create(&self.memory.folder)?;
            // Blocks of one slab stand together, so slabs are freed one by one.
            let mut freed = 0;
            for block in &mut state.blocks {
                if let Place::Slab { slab, start, bytes } = block.place {
                    for done in &mut state.slabs[freed..slab] {
                        *done = Vec::new();
                    }
                    freed = slab;
                    let held = &state.slabs[slab][start..start + bytes];
                    block.place = Place::File(file.append(held)?);
                    self.memory.release(bytes);
                }
            }
            state.slabs.clear();
            state.file = Some(file);
        }
        Ok(state.file.as_ref().expect("it was made above"))
    }

    /// Number of quads.
    pub(crate) fn quad_count(&self) -> u64 {
        self.lock().quads
    }

    /// Bytes of the blocks that are in memory.
    pub(crate) fn held_bytes(&self) -> u64 {
        let state = self.lock();
        match state.file {
            None => state.bytes,
            Some(_) => 0,
        }
    }

    /// The blocks in the order of the text, with the first ordinal of each term.
    pub(crate) fn into_ordered(self, firsts: FirstTerms) -> Result<RawQuads, LoadError> {
        let mut state = std::mem::take(&mut *self.lock());
        if self.memory.is_full() {
            self.file(&mut state)?;
        }
        state.blocks.sort_unstable_by_key(|b| (b.input, b.number));
        let mut left = vec![0; state.slabs.len()];
        let mut starts = Vec::with_capacity(state.blocks.len() + 1);
        let mut sum = 0;
        for block in &state.blocks {
            if let Place::Slab { slab, .. } = block.place {
                left[slab] += 1;
            }
            starts.push(sum);
            sum += block.quads as u64;
        }
        starts.push(sum);
        Ok(RawQuads {
            blocks: state.blocks,
            starts,
            taken: 0,
            slabs: state.slabs,
            left,
            file: state.file,
            firsts,
            memory: self.memory,
        })
    }
}

impl State {
    /// Copies a block to a slab.
    fn keep(&mut self, packed: &[u8]) -> Place {
        let fits = |slab: &Vec<u8>| slab.capacity() - slab.len() >= packed.len();
        if !self.slabs.last().is_some_and(fits) {
            self.slabs
                .push(Vec::with_capacity(SLAB_BYTES.max(packed.len())));
        }
        let slab = self.slabs.len() - 1;
        let start = self.slabs[slab].len();
        self.slabs[slab].extend_from_slice(packed);
        Place::Slab {
            slab,
            start,
            bytes: packed.len(),
        }
    }
}

/// All quads in the order of the text.
pub(crate) struct RawQuads {
    blocks: Vec<Block>,
    /// Quads in front of each block, and all.
    starts: Vec<u64>,
    /// Blocks that are not wanted any more.
    taken: usize,
    slabs: Vec<Vec<u8>>,
    /// Blocks of each slab that are still wanted.
    left: Vec<usize>,
    file: Option<SpillFile>,
    firsts: FirstTerms,
    memory: Arc<LoadMemory>,
}

impl RawQuads {
    /// The first ordinals of terms that have several: those in packed quads may be others.
    pub(crate) fn firsts(&self) -> &FirstTerms {
        &self.firsts
    }

    /// Number of quads.
    pub(crate) fn quad_count(&self) -> u64 {
        self.starts[self.blocks.len()]
    }

    /// Visits the heads of the blocks. In a file nothing else is read.
    pub(crate) fn for_each_head(
        &self,
        visit: &mut dyn FnMut(&[u8]) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        let mut scratch = Vec::new();
        for block in &self.blocks {
            visit(self.packed(block, block.head, &mut scratch)?)?;
        }
        Ok(())
    }

    /// Visits the blocks in which some quads are, by their number: each packed, and which of its quads these are.
    pub(crate) fn for_each_part(
        &self,
        quads: Range<u64>,
        visit: &mut dyn FnMut(&[u8], Range<usize>),
    ) -> Result<(), LoadError> {
        let mut scratch = Vec::new();
        let first = self.starts.partition_point(|start| *start <= quads.start);
        for (at, block) in self.blocks.iter().enumerate().skip(first.max(1) - 1) {
            let start = self.starts[at];
            if quads.end <= start {
                break;
            }
            let from = quads.start.saturating_sub(start) as usize;
            let to = block.quads.min((quads.end - start) as usize);
            let packed = self.packed(block, usize::MAX, &mut scratch)?;
            visit(packed, from..to);
        }
        Ok(())
    }

    /// Number of blocks.
    pub(crate) fn block_count(&self) -> usize {
        self.blocks.len()
    }

    /// The quads of a block, by their number.
    pub(crate) fn quads_of_block(&self, block: usize) -> Range<u64> {
        self.starts[block]..self.starts[block + 1]
    }

    /// Frees the blocks whose quads are all in front of this one.
    pub(crate) fn free_until(&mut self, quad: u64) {
        let first = self.starts.partition_point(|start| *start <= quad);
        self.free_blocks(first.saturating_sub(1));
    }

    /// Frees the first blocks.
    pub(crate) fn free_blocks(&mut self, count: usize) {
        for block in &self.blocks[self.taken.min(count)..count] {
            if let Place::Slab { slab, bytes, .. } = block.place {
                self.memory.release(bytes);
                self.left[slab] -= 1;
                if self.left[slab] == 0 {
                    self.slabs[slab] = Vec::new();
                }
            }
        }
        self.taken = self.taken.max(count);
    }

    /// A packed block, or at least its first bytes.
    fn packed<'q>(
        &'q self,
        block: &Block,
        bytes_max: usize,
        scratch: &'q mut Vec<u8>,
    ) -> Result<&'q [u8], LoadError> {
        match (block.place, &self.file) {
            (Place::Slab { slab, start, bytes }, _) => Ok(&self.slabs[slab][start..start + bytes]),
            (Place::File(extent), Some(file)) => {
                let bytes = extent.bytes.min(bytes_max);
                file.read(Extent { bytes, ..extent }, scratch)?;
                Ok(scratch)
            }
            (Place::File(_), None) => Ok(&[]),
        }
    }

    /// Visits the quads block by block, freeing memory on the way. They are decoded on another thread.
    pub(crate) fn consume(
        mut self,
        visit: &mut dyn FnMut(&[RawQuad]) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        let (full, blocks) = bounded::<Result<Vec<RawQuad>, LoadError>>(READ_AHEAD);
        let (emptied, empty) = bounded::<Vec<RawQuad>>(READ_AHEAD);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut scratch = Vec::new();
                for at in 0..self.blocks.len() {
                    let packed = self.packed(&self.blocks[at], usize::MAX, &mut scratch);
                    let read = packed.map(|packed| {
                        let mut quads = empty.try_recv().unwrap_or_default();
                        unpack(packed, &mut quads);
                        self.firsts.replace_in(&mut quads);
                        quads
                    });
                    self.free_blocks(at + 1);
                    // Nobody listens after a failure.
                    if full.send(read).is_err() {
                        break;
                    }
                }
            });
            for block in blocks {
                let block = block?;
                visit(&block)?;
                // When nobody waits for empty memory it is simply freed.
                let _ = emptied.try_send(block);
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::SpillSettings;
    use crate::packed_quads::{part_of, subjects};
    use basalt_rdf::TermId;

    #[test]
    fn blocks_come_out_in_order_in_memory_and_from_a_file() {
        let quad = |i: u64| RawQuad {
            subject: i as u32 / 7,
            predicate: 3,
            graph: u32::MAX - i as u32,
            object: TermId(u64::MAX - i),
        };
        let expected: Vec<RawQuad> = (0..10_000).map(quad).collect();
        for parse_bytes in [None, Some(0), Some(5_000 * 18)] {
            let settings = SpillSettings {
                parse_bytes,
                ..SpillSettings::default()
            };
            let memory = LoadMemory::new(None, 1, std::env::temp_dir(), settings);
            let memory = Arc::new(memory.expect("the budget is large enough"));
            let blocks = QuadBlocks::new(Arc::clone(&memory));
            let mut parts: Vec<_> = expected.chunks(130).enumerate().collect();
            parts.sort_by_key(|(i, _)| i * 31 % 77);
            for (i, part) in parts {
                let place = (i / 10) as u32;
                blocks.put(place, i, part).expect("kept");
            }
            assert_eq!(blocks.quad_count(), 10_000);
            assert_eq!(blocks.held_bytes() > 0, parse_bytes.is_none());
            let mut raw = blocks
                .into_ordered(FirstTerms::default())
                .expect("in order");
            assert_eq!(raw.quad_count(), 10_000);
            let mut found = Vec::new();
            let mut runs = Vec::new();
            let read = raw.for_each_head(&mut |head| {
                for (subject, quads) in subjects(head) {
                    runs.extend(std::iter::repeat_n(subject, quads as usize));
                }
                Ok(())
            });
            read.expect("read");
            assert!(runs.iter().eq(expected.iter().map(|q| &q.subject)));
            for part in [0..0, 0..130, 129..131, 500..4_000, 9_999..10_000] {
                let mut objects = Vec::new();
                let read = raw.for_each_part(part.start..part.end, &mut |packed, part| {
                    objects.extend(part_of(packed, part).map(|(_, object)| object));
                });
                read.expect("read");
                let part = &expected[part.start as usize..part.end as usize];
                assert!(part.iter().map(|q| q.object).eq(objects));
            }
            raw.free_until(0);
            let read = raw.consume(&mut |quads| {
                found.extend_from_slice(quads);
                Ok(())
            });
            read.expect("read");
            assert!(found == expected, "{parse_bytes:?}");
            assert_eq!(memory.folder.written_bytes() > 0, parse_bytes.is_some());
            assert!(memory.has_room(memory.limit_of_groups()), "all is freed");
        }
    }
}
