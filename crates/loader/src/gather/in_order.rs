//! Grouping quads that stand by subject already, on all threads.
//!
//! The quads of rank `r` are those from the sum of the counts of all smaller ranks on, so a thread can make the groups
//! of some ranks without looking at any others: it decodes the stretch of the blocks, numbers predicates and graphs, and
//! drops what is repeated. A few stretches for each thread are made at a time; blocks behind which all are done
//! are freed.
//!
//! Memory: the grouped quads, or in files those of the stretches under way.

use std::ops::Range;

use basalt_shapes::FastMap;

use super::made::{Made, add_types, starts_of};
use super::{Grouping, Ranked};
use crate::error::LoadError;
use crate::grouped::{Gathered, GroupedQuads, QUAD_BYTES, Quad, cut_batches};
use crate::held_quads::{HeldQuads, QuadChunk};
use crate::packed_quads::{pairs_of, part_of};
use crate::parallel::parallel_map;
use crate::quad_blocks::RawQuads;
use crate::spill::SpillFile;

/// Subjects of a chunk in memory at most.
const CHUNK_RANKS_MAX: usize = 1 << 15;
/// Subjects of a chunk at least: fewer are not worth a task.
const CHUNK_RANKS_MIN: usize = 1 << 10;
/// Quads of a stretch on its way to a file at most, but for those of one subject.
const STRETCH_QUADS_MAX: usize = 1 << 18;
/// Stretches for each thread at a time.
const STRETCHES_PER_THREAD: usize = 4;

/// Some subjects.
struct Stretch {
    ranks: Range<usize>,
    /// Their quads, by place among all.
    quads: Range<u64>,
}

impl Grouping<'_> {
    /// Groups quads that stand by rank.
    pub(super) fn gather_in_order(
        &self,
        mut raw: RawQuads,
        ranked: Ranked,
    ) -> Result<Gathered, LoadError> {
        let type_predicate = ranked.predicates.find(self.type_predicate);
        let (mut quads, stretches) = self.begin_in_order(&raw, &ranked.counts)?;
        let mut types: FastMap<u64, u64> = FastMap::default();
        for some in stretches.chunks(self.threads.max(1) * STRETCHES_PER_THREAD) {
            self.memory.go_on()?;
            let made = parallel_map(self.threads, some, |stretch| {
                group(&raw, &ranked, stretch, type_predicate)
            });
            for made in made {
                let made = made?;
                add_types(&mut types, made.types);
                quads.take(made.chunk)?;
            }
            let done = some.last().map_or(0, |last| last.quads.end);
            raw.free_until(done);
        }
        Ok(ranked.gathered(quads, type_predicate, types))
    }

    /// Decides where groups go, and cuts the ranks accordingly.
    fn begin_in_order(
        &self,
        raw: &RawQuads,
        counts: &[u32],
    ) -> Result<(GroupedQuads, Vec<Stretch>), LoadError> {
        if self.fits(raw.quad_count()) {
            let usual = counts.len() / (self.threads.max(1) * STRETCHES_PER_THREAD);
            let chunk_ranks = usual.clamp(CHUNK_RANKS_MIN, CHUNK_RANKS_MAX);
            let starts = (0..counts.len()).step_by(chunk_ranks);
            let ranks = starts.map(|start| start..counts.len().min(start + chunk_ranks));
            let stretches = stretches(ranks, counts);
            return Ok((GroupedQuads::Memory(HeldQuads::new(chunk_ranks)), stretches));
        }
        // The groups and as much again on their way to the file.
        let under_way = self.threads.max(1) * STRETCHES_PER_THREAD * QUAD_BYTES * 2;
        let fitting = self.memory.left(self.resident) / 2 / under_way;
        let ranks = cut_batches(counts, fitting.clamp(1, STRETCH_QUADS_MAX));
        let target = GroupedQuads::Spilled {
            file: SpillFile::create(&self.memory.folder)?,
            pieces: Vec::new(),
            counts: Vec::with_capacity(counts.len()),
            quad_count: 0,
        };
        Ok((target, stretches(ranks.into_iter(), counts)))
    }
}

/// Ranks with their quads.
fn stretches(ranks: impl Iterator<Item = Range<usize>>, counts: &[u32]) -> Vec<Stretch> {
    let mut end = 0;
    let stretch = |ranks: Range<usize>| {
        let start = end;
        let of_ranks = counts[ranks.clone()].iter();
        end += of_ranks.map(|count| u64::from(*count)).sum::<u64>();
        let quads = start..end;
        Stretch { ranks, quads }
    };
    ranks.map(stretch).collect()
}

/// Makes the groups of a stretch.
fn group(
    raw: &RawQuads,
    ranked: &Ranked,
    stretch: &Stretch,
    type_predicate: Option<u32>,
) -> Result<Made, LoadError> {
    let firsts = raw.firsts();
    let mut quads = Vec::with_capacity((stretch.quads.end - stretch.quads.start) as usize);
    raw.for_each_part(stretch.quads.clone(), &mut |packed, part| {
        let pairs = ranked.dense_pairs(firsts, pairs_of(packed));
        quads.extend(part_of(packed, part).map(|(pair, object)| {
            let (predicate, graph) = pairs[pair];
            let object = match firsts.is_empty() {
                true => object,
                false => firsts.of_object(object),
            };
            Quad {
                predicate,
                graph,
                object,
            }
        }));
    })?;
    let starts = starts_of(&ranked.counts[stretch.ranks.clone()]);
    Ok(Made::of(starts, quads, type_predicate))
}

impl GroupedQuads {
    /// Takes the groups of the next subjects.
    fn take(&mut self, chunk: QuadChunk) -> Result<(), LoadError> {
        match self {
            Self::Memory(held) => held.push(chunk),
            Self::Spilled {
                file,
                pieces,
                counts,
                quad_count,
            } => {
                let bounds = chunk.starts.windows(2);
                counts.extend(bounds.map(|bounds| (bounds[1] - bounds[0]) as u32));
                *quad_count += chunk.quads.len() as u64;
                let mut bytes = Vec::with_capacity(chunk.quads.len() * QUAD_BYTES);
                bytes.extend(chunk.quads.iter().flat_map(|quad| quad.record()));
                pieces.push(file.append(&bytes)?);
            }
        }
        Ok(())
    }
}
