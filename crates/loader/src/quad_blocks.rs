//! Blocks of parsed quads, put in by any thread and taken out in the order of the text.
//!
//! A block's place is its input and its number in the input, so the outcome does not depend on which
//! thread was faster. Quads are kept in large slabs, whose memory returns to the system when they are freed; when
//! memory is short, in a file instead, block after block.
//!
//! Cost: 24 bytes for each quad in memory, about 10 in the file ([`packed_quads`](crate::packed_quads)); one copy.

use std::sync::{Arc, Mutex, PoisonError};

use crossbeam_channel::bounded;

use crate::encoder::RawQuad;
use crate::error::LoadError;
use crate::first_ordinals::FirstTerms;
use crate::packed_quads::{PackedQuads, pack, subjects, unpack};
use crate::spill::{Extent, LoadMemory, SpillFile};

/// Quads of a slab: 36 MiB, above the threshold from which on memory is mapped by itself.
const SLAB_QUADS: usize = 3 << 19;
/// Bytes of a quad in memory.
const QUAD_BYTES: usize = size_of::<RawQuad>();
/// Blocks read ahead.
const READ_AHEAD: usize = 3;

/// All parsed quads of a load.
pub(crate) struct QuadBlocks {
    memory: Arc<LoadMemory>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    slabs: Vec<Vec<RawQuad>>,
    blocks: Vec<Block>,
    /// If there is one, all blocks are in it.
    file: Option<SpillFile>,
    quads: u64,
}

struct Block {
    input: u32,
    number: usize,
    place: Place,
}

#[derive(Clone, Copy)]
enum Place {
    Slab {
        slab: usize,
        start: usize,
        quads: usize,
    },
    File {
        /// The packed quads.
        extent: Extent,
        /// Bytes of their head.
        head: usize,
    },
}

impl Place {
    /// Appends a block to a file.
    fn in_file(file: &SpillFile, packed: &PackedQuads) -> Result<Self, LoadError> {
        Ok(Self::File {
            extent: file.append(&packed.bytes)?,
            head: packed.head,
        })
    }
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
        let packed = self.memory.is_spilling().then(|| pack(quads));
        let mut state = self.lock();
        state.quads += quads.len() as u64;
        let place = match packed {
            Some(packed) => Place::in_file(self.file(&mut state)?, &packed)?,
            None if state.file.is_some() => Place::in_file(self.file(&mut state)?, &pack(quads))?,
            None => {
                self.memory.hold(quads.len() * QUAD_BYTES);
                state.keep(quads)
            }
        };
        state.blocks.push(Block {
            input,
            number,
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
                if let Place::Slab { slab, start, quads } = block.place {
                    for done in &mut state.slabs[freed..slab] {
                        *done = Vec::new();
                    }
                    freed = slab;
                    let held = &state.slabs[slab][start..start + quads];
                    block.place = Place::in_file(&file, &pack(held))?;
                    self.memory.release(quads * QUAD_BYTES);
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

    /// The blocks in the order of the text, with the first ordinal of each term.
    pub(crate) fn into_ordered(self, firsts: FirstTerms) -> Result<RawQuads, LoadError> {
        let mut state = std::mem::take(&mut *self.lock());
        if self.memory.is_spilling() {
            self.file(&mut state)?;
        }
        // What is in a file is replaced when it is read.
        let in_memory = state.slabs.iter_mut();
        in_memory.for_each(|slab| firsts.replace_in(slab));
        state.blocks.sort_unstable_by_key(|b| (b.input, b.number));
        let mut left = vec![0; state.slabs.len()];
        for block in &state.blocks {
            if let Place::Slab { slab, .. } = block.place {
                left[slab] += 1;
            }
        }
        Ok(RawQuads {
            blocks: state.blocks.into_iter().map(|b| b.place).collect(),
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
    fn keep(&mut self, quads: &[RawQuad]) -> Place {
        let fits = |slab: &Vec<RawQuad>| slab.capacity() - slab.len() >= quads.len();
        if !self.slabs.last().is_some_and(fits) {
            self.slabs
                .push(Vec::with_capacity(SLAB_QUADS.max(quads.len())));
        }
        let slab = self.slabs.len() - 1;
        let start = self.slabs[slab].len();
        self.slabs[slab].extend_from_slice(quads);
        Place::Slab {
            slab,
            start,
            quads: quads.len(),
        }
    }
}

/// All quads in the order of the text.
pub(crate) struct RawQuads {
    blocks: Vec<Place>,
    slabs: Vec<Vec<RawQuad>>,
    /// Blocks of each slab that are still wanted.
    left: Vec<usize>,
    file: Option<SpillFile>,
    /// For what is read from the file.
    firsts: FirstTerms,
    memory: Arc<LoadMemory>,
}

impl RawQuads {
    /// Visits the subjects in the order of their quads: each with the number of quads that follow each other. In
    /// a file only the heads of blocks are read.
    pub(crate) fn for_each_subject(
        &self,
        visit: &mut dyn FnMut(u32, u32) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        let mut bytes = Vec::new();
        for &place in &self.blocks {
            if let (Place::File { extent, head }, Some(file)) = (place, &self.file) {
                let extent = Extent {
                    bytes: head,
                    ..extent
                };
                file.read(extent, &mut bytes)?;
                let resources = &self.firsts.resources;
                subjects(&bytes)
                    .try_for_each(|(subject, quads)| visit(resources.first(subject), quads))?;
                continue;
            }
            let runs = self.held(place).chunk_by(|a, b| a.subject == b.subject);
            // A block is far smaller than 32 bits can count.
            runs.map(|run| (run[0].subject, run.len() as u32))
                .try_for_each(|(subject, quads)| visit(subject, quads))?;
        }
        Ok(())
    }

    /// Visits the quads block by block, freeing memory on the way.
    pub(crate) fn consume(
        mut self,
        visit: &mut dyn FnMut(&[RawQuad]) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        if let Some(file) = &self.file {
            return self.read(file, visit);
        }
        for place in std::mem::take(&mut self.blocks) {
            visit(self.held(place))?;
            if let Place::Slab { slab, quads, .. } = place {
                self.memory.release(quads * QUAD_BYTES);
                self.left[slab] -= 1;
                if self.left[slab] == 0 {
                    self.slabs[slab] = Vec::new();
                }
            }
        }
        Ok(())
    }

    fn held(&self, place: Place) -> &[RawQuad] {
        match place {
            Place::Slab { slab, start, quads } => &self.slabs[slab][start..start + quads],
            Place::File { .. } => &[],
        }
    }

    /// Reads and decodes on another thread.
    fn read(
        &self,
        file: &SpillFile,
        visit: &mut dyn FnMut(&[RawQuad]) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        let (full, blocks) = bounded::<Result<Vec<RawQuad>, LoadError>>(READ_AHEAD);
        let (emptied, empty) = bounded::<Vec<RawQuad>>(READ_AHEAD);
        std::thread::scope(|scope| {
            scope.spawn(move || {
                let mut bytes = Vec::new();
                for place in &self.blocks {
                    let Place::File { extent, .. } = *place else {
                        continue;
                    };
                    let read = file.read(extent, &mut bytes).map(|()| {
                        let mut quads = empty.try_recv().unwrap_or_default();
                        unpack(&bytes, &mut quads);
                        self.firsts.replace_in(&mut quads);
                        quads
                    });
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
        for parse_bytes in [None, Some(0), Some(5_000 * 24)] {
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
            let raw = blocks
                .into_ordered(FirstTerms::default())
                .expect("in order");
            let mut found = Vec::new();
            let mut runs = Vec::new();
            let read = raw.for_each_subject(&mut |subject, quads| {
                runs.extend(std::iter::repeat_n(subject, quads as usize));
                Ok(())
            });
            read.expect("read");
            assert!(runs.iter().eq(expected.iter().map(|q| &q.subject)));
            let read = raw.consume(&mut |quads| {
                found.extend_from_slice(quads);
                Ok(())
            });
            read.expect("read");
            assert!(found == expected, "{parse_bytes:?}");
            assert_eq!(memory.folder.written_bytes() > 0, parse_bytes.is_some());
        }
    }
}
