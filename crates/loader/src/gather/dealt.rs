//! Grouping quads that stand in any order, on all threads, where everything fits in memory.
//!
//! The subjects are cut into chunks of consecutive ranks. First each block of parsed quads is dealt out: its quads, ordered
//! by chunk and within one as they came. Then the quads of each chunk are gathered from all blocks, put to
//! their subjects and freed of repeats, in memory that a core's cache holds. Both are done for many blocks, and many chunks, at a time, and
//! neither depends on which thread was faster.
//!
//! Memory: 16 bytes for each dealt quad, while parsed ones are freed, and as much for each grouped one.
//!
//! Cost: a quad is read and written twice, in order but for the cache's own lines; a counting sort writes it once, anywhere.

use basalt_rdf::TermId;
use basalt_shapes::FastMap;

use super::made::{Made, add_types, starts_of};
use super::{Grouping, Ranked};
use crate::error::LoadError;
use crate::grouped::{Gathered, GroupedQuads, Quad};
use crate::held_quads::HeldQuads;
use crate::packed_quads::{pairs_of, part_of, subjects};
use crate::parallel::parallel_map;
use crate::quad_blocks::RawQuads;

/// Quads of a chunk, about: 1 MiB, so that they stay in the cache of a core.
const CHUNK_QUADS: u64 = 1 << 16;
/// Chunks at most: a block is dealt out to that many places at once.
const CHUNKS_MAX: usize = 1 << 10;
/// Blocks for each thread at a time; those behind are freed.
const BLOCKS_PER_THREAD: usize = 8;

/// A quad of some chunk.
#[derive(Clone, Copy)]
struct Dealt {
    /// Its subject's rank, counted from the first of the chunk.
    at: u32,
    /// Index of its predicate and graph among those of the block.
    pair: u32,
    object: TermId,
}

/// The quads of a block, by chunk.
struct DealtBlock {
    /// Predicates and graphs, by index.
    pairs: Vec<(u32, u32)>,
    /// Where the quads of each chunk begin, and the end.
    starts: Vec<u32>,
    quads: Vec<Dealt>,
}

impl Grouping<'_> {
    /// Groups quads in any order, in memory.
    pub(super) fn gather_dealt(
        &self,
        raw: RawQuads,
        ranked: Ranked,
    ) -> Result<Gathered, LoadError> {
        let shift = chunk_bits(ranked.counts.len(), raw.quad_count());
        self.gather_chunks(raw, ranked, shift)
    }

    /// Groups quads in any order by chunks of so many subjects, as a binary logarithm.
    pub(super) fn gather_chunks(
        &self,
        mut raw: RawQuads,
        ranked: Ranked,
        shift: u32,
    ) -> Result<Gathered, LoadError> {
        let type_predicate = ranked.predicates.find(self.type_predicate);
        let mut blocks = Vec::new();
        let all: Vec<usize> = (0..raw.block_count()).collect();
        for some in all.chunks(self.threads.max(1) * BLOCKS_PER_THREAD) {
            self.memory.go_on()?;
            let dealt = parallel_map(self.threads, some, |at| deal(&raw, &ranked, *at, shift));
            for block in dealt {
                blocks.push(block?);
            }
            raw.free_blocks(some.last().map_or(0, |last| last + 1));
        }
        self.memory.go_on()?;
        let chunks: Vec<&[u32]> = ranked.counts.chunks(1 << shift).collect();
        let numbered: Vec<usize> = (0..chunks.len()).collect();
        let made = parallel_map(self.threads, &numbered, |at| {
            let starts = starts_of(chunks[*at]);
            self.memory.go_on()?;
            let quads = collect(&blocks, *at, &starts);
            Ok::<_, LoadError>(Made::of(starts, quads, type_predicate))
        });
        let mut held = HeldQuads::new(1 << shift);
        let mut types: FastMap<u64, u64> = FastMap::default();
        for made in made {
            let made = made?;
            add_types(&mut types, made.types);
            held.push(made.chunk);
        }
        Ok(ranked.gathered(GroupedQuads::Memory(held), type_predicate, types))
    }
}

/// The binary logarithm of the number of subjects of a chunk.
fn chunk_bits(subjects: usize, quads: u64) -> u32 {
    let fitting = (subjects as u64 * CHUNK_QUADS / quads.max(1)) as usize;
    let fewest = subjects.div_ceil(CHUNKS_MAX);
    fitting.max(fewest).max(1).next_power_of_two().ilog2()
}

/// Deals out the quads of a block.
fn deal(
    raw: &RawQuads,
    ranked: &Ranked,
    block: usize,
    shift: u32,
) -> Result<DealtBlock, LoadError> {
    let mut dealt = DealtBlock {
        pairs: Vec::new(),
        starts: Vec::new(),
        quads: Vec::new(),
    };
    raw.for_each_part(raw.quads_of_block(block), &mut |packed, part| {
        dealt = deal_packed(raw, ranked, packed, part, shift);
    })?;
    Ok(dealt)
}

fn deal_packed(
    raw: &RawQuads,
    ranked: &Ranked,
    packed: &[u8],
    part: std::ops::Range<usize>,
    shift: u32,
) -> DealtBlock {
    let firsts = raw.firsts();
    let chunks = ranked.counts.len().div_ceil(1 << shift);
    let runs: Vec<(u32, u32)> = subjects(packed)
        .map(|(subject, quads)| {
            (
                ranked.ranks[firsts.resources.first(subject) as usize],
                quads,
            )
        })
        .collect();
    let mut starts = vec![0; chunks + 1];
    for (rank, quads) in &runs {
        starts[(rank >> shift) as usize + 1] += quads;
    }
    for chunk in 0..chunks {
        starts[chunk + 1] += starts[chunk];
    }
    let mut next = starts.clone();
    let none = Dealt {
        at: 0,
        pair: 0,
        object: TermId::UNBOUND,
    };
    let mut quads = vec![none; part.len()];
    let mut rest = part_of(packed, part);
    for (rank, count) in runs {
        let place = &mut next[(rank >> shift) as usize];
        for (pair, object) in rest.by_ref().take(count as usize) {
            quads[*place as usize] = Dealt {
                at: rank & ((1 << shift) - 1),
                pair: pair as u32,
                object: match firsts.is_empty() {
                    true => object,
                    false => firsts.of_object(object),
                },
            };
            *place += 1;
        }
    }
    DealtBlock {
        pairs: ranked.dense_pairs(firsts, pairs_of(packed)),
        starts,
        quads,
    }
}

/// The quads of a chunk, by subject and within one as they came.
fn collect(blocks: &[DealtBlock], chunk: usize, starts: &[u64]) -> Vec<Quad> {
    let mut next = starts.to_vec();
    let none = Quad {
        predicate: 0,
        graph: 0,
        object: TermId::UNBOUND,
    };
    let mut quads = vec![none; starts.last().map_or(0, |end| *end as usize)];
    for block in blocks {
        let part = block.starts[chunk] as usize..block.starts[chunk + 1] as usize;
        for dealt in &block.quads[part] {
            let (predicate, graph) = block.pairs[dealt.pair as usize];
            let place = &mut next[dealt.at as usize];
            quads[*place as usize] = Quad {
                predicate,
                graph,
                object: dealt.object,
            };
            *place += 1;
        }
    }
    quads
}
