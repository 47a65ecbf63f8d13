//! Grouping quads by subject, and dropping the repeated ones.
//!
//! Subjects are ranked by first appearance and the quads scattered to their subject's place: a
//! counting sort, two sequential passes over the quads. When the input is grouped already the
//! scatter writes sequentially too. Predicates and graphs get dense numbers on the way, so a
//! grouped quad has 16 bytes; its subject is known by place.
//!
//! Invariants afterwards: the quads of a subject are distinct, sorted by predicate and type class,
//! and within these in order of appearance.

use std::collections::HashSet;

use basalt_rdf::TermId;
use basalt_shapes::{FastMap, TypeClass};

use crate::encoder::RawQuad;
use crate::parallel::parallel_map;

/// No rank: the resource is no subject.
pub(crate) const NO_RANK: u32 = u32::MAX;
/// From this many quads of one predicate on, repeats are found by hashing.
const HASHED_RUN_QUADS: usize = 48;

/// A quad of a known subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quad {
    /// Index of the predicate.
    pub predicate: u32,
    /// Index of the graph; 0 is the default graph.
    pub graph: u32,
    /// Provisional id of the object.
    pub object: TermId,
}

/// All quads by subject.
#[derive(Default)]
pub(crate) struct Gathered {
    /// Subjects by rank, as provisional ordinals.
    pub subjects: Vec<u32>,
    /// Rank by provisional ordinal, or [`NO_RANK`].
    pub ranks: Vec<u32>,
    /// The quads of rank `r` are `quads[starts[r]..starts[r + 1]]`.
    pub starts: Vec<u64>,
    /// The quads.
    pub quads: Vec<Quad>,
    /// Predicates by index, as provisional ordinals.
    pub predicates: Vec<u32>,
    /// Graphs by index, as in [`RawQuad::graph`].
    pub graphs: Vec<u32>,
}

impl Gathered {
    /// The quads of the subject with this rank.
    #[inline]
    pub(crate) fn quads_of(&self, rank: usize) -> &[Quad] {
        &self.quads[self.starts[rank] as usize..self.starts[rank + 1] as usize]
    }
}

/// Groups the quads of all blocks. `resource_bound` is above every provisional ordinal.
pub(crate) fn gather(blocks: Vec<Vec<RawQuad>>, resource_bound: usize, threads: usize) -> Gathered {
    let mut gathered = rank(&blocks, resource_bound);
    scatter(blocks, &mut gathered);
    drop_repeated(&mut gathered, threads);
    gathered
}

/// Ranks the subjects and leaves the end of each subject's quads, were they in place, in `starts`.
fn rank(blocks: &[Vec<RawQuad>], resource_bound: usize) -> Gathered {
    let mut ranks = vec![NO_RANK; resource_bound];
    let mut subjects: Vec<u32> = Vec::new();
    let mut starts: Vec<u64> = vec![0];
    for quad in blocks.iter().flatten() {
        let rank = &mut ranks[quad.subject as usize];
        if *rank == NO_RANK {
            *rank = subjects.len() as u32;
            subjects.push(quad.subject);
            starts.push(0);
        }
        starts[*rank as usize + 1] += 1;
    }
    let mut sum = 0;
    for start in &mut starts {
        sum += *start;
        *start = sum;
    }
    Gathered {
        subjects,
        ranks,
        starts,
        ..Gathered::default()
    }
}

/// Moves every quad to its subject, freeing the blocks on the way.
fn scatter(blocks: Vec<Vec<RawQuad>>, gathered: &mut Gathered) {
    let total = gathered.starts.last().copied().unwrap_or(0) as usize;
    let empty = Quad {
        predicate: 0,
        graph: 0,
        object: TermId::UNBOUND,
    };
    let mut quads = vec![empty; total];
    let mut next = gathered.starts.clone();
    let mut predicates = DenseIndex::default();
    let mut graphs = DenseIndex::default();
    graphs.index(0);
    for block in blocks {
        for quad in block {
            let place = &mut next[gathered.ranks[quad.subject as usize] as usize];
            quads[*place as usize] = Quad {
                predicate: predicates.index(quad.predicate),
                graph: graphs.index(quad.graph),
                object: quad.object,
            };
            *place += 1;
        }
    }
    gathered.quads = quads;
    gathered.predicates = predicates.keys;
    gathered.graphs = graphs.keys;
}

/// Numbers keys densely in order of first appearance.
#[derive(Default)]
struct DenseIndex {
    keys: Vec<u32>,
    indexes: FastMap<u32, u32>,
    last: Option<(u32, u32)>,
}

impl DenseIndex {
    #[inline]
    fn index(&mut self, key: u32) -> u32 {
        if let Some((last, index)) = self.last
            && last == key
        {
            return index;
        }
        let Self { keys, indexes, .. } = self;
        let index = *indexes.entry(key).or_insert_with(|| {
            keys.push(key);
            (keys.len() - 1) as u32
        });
        self.last = Some((key, index));
        index
    }
}

/// Sorts the quads of each subject and drops repeats, in parallel over runs of subjects.
fn drop_repeated(gathered: &mut Gathered, threads: usize) {
    let Gathered { starts, quads, .. } = gathered;
    let subject_count = starts.len() - 1;
    let runs = cut_runs(starts, threads);
    let mut parts = Vec::with_capacity(runs.len());
    let mut rest = quads.as_mut_slice();
    for run in &runs {
        let (part, after) = rest.split_at_mut((starts[run.end] - starts[run.start]) as usize);
        parts.push(std::sync::Mutex::new((run.clone(), part)));
        rest = after;
    }
    let counts: Vec<Vec<u32>> = parallel_map(threads, &parts, |part| {
        let mut part = part
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner);
        let (run, quads) = &mut *part;
        distinct_in_run(&starts[run.start..=run.end], quads)
    });
    let kept: u64 = counts.iter().flatten().map(|c| u64::from(*c)).sum();
    if kept as usize == quads.len() {
        return;
    }
    let mut new_starts = Vec::with_capacity(subject_count + 1);
    let mut target = 0;
    for (run, counts) in runs.into_iter().zip(counts) {
        // The quads of a run were moved together at its start.
        let mut source = starts[run.start] as usize;
        for count in counts {
            new_starts.push(target as u64);
            quads.copy_within(source..source + count as usize, target);
            source += count as usize;
            target += count as usize;
        }
    }
    new_starts.push(target as u64);
    quads.truncate(target);
    *starts = new_starts;
}

/// Cuts the subjects into a few runs of about equally many quads.
fn cut_runs(starts: &[u64], threads: usize) -> Vec<std::ops::Range<usize>> {
    let subjects = starts.len() - 1;
    let total = starts[subjects];
    let run_count = (threads * 4).max(1) as u64;
    let mut runs = Vec::new();
    let mut first = 0;
    for i in 1..=run_count {
        let end = starts
            .partition_point(|s| *s < total * i / run_count)
            .min(subjects);
        let end = if i == run_count { subjects } else { end };
        if end > first {
            runs.push(first..end);
            first = end;
        }
    }
    runs
}

/// Makes the quads of each subject distinct and moves them together; returns how many each has.
fn distinct_in_run(starts: &[u64], quads: &mut [Quad]) -> Vec<u32> {
    let mut counts = Vec::with_capacity(starts.len() - 1);
    let mut target = 0;
    for bounds in starts.windows(2) {
        let (start, end) = (
            (bounds[0] - starts[0]) as usize,
            (bounds[1] - starts[0]) as usize,
        );
        let of_subject = &mut quads[start..end];
        of_subject.sort_by_key(|q| (q.predicate, TypeClass::of(q.object)));
        let kept = make_distinct(of_subject);
        quads.copy_within(start..start + kept, target);
        target += kept;
        counts.push(kept as u32);
    }
    counts
}

/// Moves the first of each equal quads to the front; equal ones are in runs of one predicate.
fn make_distinct(quads: &mut [Quad]) -> usize {
    let mut kept = 0;
    let mut run_start = 0;
    let mut seen: HashSet<(TermId, u32)> = HashSet::new();
    for at in 0..quads.len() {
        let quad = quads[at];
        if kept == run_start || quads[kept - 1].predicate != quad.predicate {
            run_start = kept;
            seen.clear();
        }
        let run = &quads[run_start..kept];
        let repeated = if run.len() < HASHED_RUN_QUADS {
            run.contains(&quad)
        } else {
            if seen.is_empty() {
                seen.extend(run.iter().map(|q| (q.object, q.graph)));
            }
            !seen.insert((quad.object, quad.graph))
        };
        if !repeated {
            quads[kept] = quad;
            kept += 1;
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(subject: u32, predicate: u32, object: u64, graph: u32) -> RawQuad {
        RawQuad {
            subject,
            predicate,
            graph,
            object: TermId::resource(object),
        }
    }

    #[test]
    fn scattered_and_repeated_quads_are_grouped_and_distinct() {
        let mut text: Vec<RawQuad> = Vec::new();
        for i in 0..3_000u32 {
            text.push(raw(i % 7, i % 3, u64::from(i % 110), i % 2));
        }
        let mut expected: HashSet<(u32, u32, u64, u32)> = HashSet::new();
        for q in &text {
            expected.insert((q.subject, q.predicate, q.object.payload(), q.graph));
        }
        for threads in [1, 3] {
            let blocks: Vec<Vec<RawQuad>> = text.chunks(100).map(<[_]>::to_vec).collect();
            let all = gather(blocks, 7, threads);
            assert_eq!(all.subjects, (0..7).collect::<Vec<_>>());
            let mut found = HashSet::new();
            for (rank, &subject) in all.subjects.iter().enumerate() {
                let quads = all.quads_of(rank);
                assert!(quads.is_sorted_by_key(|q| q.predicate));
                for q in quads {
                    let predicate = all.predicates[q.predicate as usize];
                    let graph = all.graphs[q.graph as usize];
                    let new = found.insert((subject, predicate, q.object.payload(), graph));
                    assert!(new, "every quad once");
                }
            }
            assert_eq!(found, expected);
        }
    }

    #[test]
    fn nothing_is_grouped_to_nothing() {
        let all = gather(Vec::new(), 0, 2);
        assert!(all.subjects.is_empty() && all.quads.is_empty());
    }
}
