//! Grouped quads in memory: chunks of subjects, so that threads can make them side by side.
//!
//! Every chunk but the last has the subjects of equally many ranks. Each is memory of its own, which the thread that
//! fills it is the first to touch.
//!
//! Memory: 16 bytes for each quad, 8 for each subject.

use crate::grouped::Quad;

/// The quads of all subjects by rank.
#[derive(Default)]
pub(crate) struct HeldQuads {
    /// Subjects of a chunk, at least one.
    chunk_ranks: usize,
    chunks: Vec<QuadChunk>,
    quad_count: u64,
}

/// The quads of some subjects of consecutive ranks.
pub(crate) struct QuadChunk {
    /// Where those of each subject begin, and the end.
    pub starts: Vec<u64>,
    /// The quads.
    pub quads: Vec<Quad>,
}

impl QuadChunk {
    /// The quads of the subject at this place of the chunk.
    #[inline]
    fn quads_of(&self, at: usize) -> &[Quad] {
        &self.quads[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

impl HeldQuads {
    /// No quads; chunks of so many subjects are to be pushed.
    pub(crate) fn new(chunk_ranks: usize) -> Self {
        Self {
            chunk_ranks,
            chunks: Vec::new(),
            quad_count: 0,
        }
    }

    /// All quads in one chunk.
    pub(crate) fn of_one(starts: Vec<u64>, quads: Vec<Quad>) -> Self {
        let mut held = Self::new(starts.len());
        held.push(QuadChunk { starts, quads });
        held
    }

    /// Adds the next chunk; only the last has fewer subjects than were said.
    pub(crate) fn push(&mut self, chunk: QuadChunk) {
        debug_assert!(chunk.starts.len() <= self.chunk_ranks + 1);
        self.quad_count += chunk.quads.len() as u64;
        self.chunks.push(chunk);
    }

    /// Number of quads.
    pub(crate) fn quad_count(&self) -> u64 {
        self.quad_count
    }

    /// The quads of a rank.
    #[inline]
    pub(crate) fn quads_of(&self, rank: usize) -> &[Quad] {
        self.chunks[rank / self.chunk_ranks].quads_of(rank % self.chunk_ranks)
    }

    /// All quads as one chunk.
    pub(crate) fn into_one(self) -> QuadChunk {
        let mut chunks = self.chunks.into_iter();
        let mut one = chunks.next().unwrap_or_else(|| QuadChunk {
            starts: vec![0],
            quads: Vec::new(),
        });
        one.quads
            .reserve_exact(self.quad_count as usize - one.quads.len());
        for chunk in chunks {
            let before = one.quads.len() as u64;
            one.quads.extend_from_slice(&chunk.quads);
            one.starts
                .extend(chunk.starts[1..].iter().map(|s| before + s));
        }
        one
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use basalt_rdf::TermId;

    #[test]
    fn chunks_are_one_sequence() {
        let quads_of = |rank: usize| {
            (0..rank % 4).map(move |i| Quad {
                predicate: i as u32,
                graph: 0,
                object: TermId::resource(rank as u64),
            })
        };
        let chunk = |ranks: std::ops::Range<usize>| {
            let (mut starts, mut quads) = (vec![0], Vec::new());
            for rank in ranks {
                quads.extend(quads_of(rank));
                starts.push(quads.len() as u64);
            }
            QuadChunk { starts, quads }
        };
        for (chunk_ranks, ranks) in [(1, 5), (3, 17), (3, 18), (100, 18), (4, 0)] {
            let mut held = HeldQuads::new(chunk_ranks);
            for start in (0..ranks).step_by(chunk_ranks) {
                held.push(chunk(start..ranks.min(start + chunk_ranks)));
            }
            for rank in 0..ranks {
                assert!(quads_of(rank).eq(held.quads_of(rank).iter().copied()));
            }
            let all = chunk(0..ranks);
            assert_eq!(held.quad_count(), all.quads.len() as u64);
            let one = held.into_one();
            assert!(one.starts == all.starts && one.quads == all.quads);
        }
    }
}
