//! Grouping quads by subject, and dropping the repeated ones.
//!
//! Subjects are ranked by first appearance, and predicates and graphs get dense numbers, from the heads of the blocks: a
//! grouped quad has 16 bytes, its subject is known by place. Where the input is grouped already the quads stand by rank,
//! and all threads make the groups of some subjects each ([`in_order`]). In any other order all threads deal the quads out to chunks of
//! subjects ([`dealt`]); one thread alone scatters them to their subject's place: a counting sort, one sequential pass.
//!
//! When memory is short quads in any other order are scattered too, and the ranks cut into windows. One window at a time is scattered in memory; quads of later
//! windows go to a bucket each, from which their window is begun. A window is complete when all quads counted for
//! it have come, so grouped input uses no buckets. Complete windows are appended to a file.
//!
//! Invariants afterwards: the quads of a subject are distinct, sorted by predicate and type class,
//! and within these in order of appearance.

mod dealt;
mod in_order;
mod made;

use std::collections::HashSet;
use std::ops::Range;

use basalt_rdf::TermId;
use basalt_shapes::{FastMap, TypeClass};

use crate::encoder::RawQuad;
use crate::error::LoadError;
use crate::first_ordinals::FirstTerms;
use crate::grouped::{Gathered, GroupedQuads, QUAD_BYTES, Quad, cut_batches};
use crate::held_quads::HeldQuads;
use crate::packed_quads;
use crate::parallel::parallel_map;
use crate::quad_blocks::RawQuads;
use crate::spill::{Buckets, Extent, LoadMemory, SpillFile};

/// No rank: the resource is no subject.
pub(crate) const NO_RANK: u32 = u32::MAX;
/// From this many quads of one predicate on, repeats are found by hashing.
const HASHED_RUN_QUADS: usize = 48;
/// Quads written to the file of grouped quads at a time.
const PIECE_QUADS: usize = 1 << 16;

/// What grouping needs to know besides the quads.
pub(crate) struct Grouping<'a> {
    /// Above every provisional ordinal of a resource.
    pub resource_bound: usize,
    /// The provisional ordinal of `rdf:type`.
    pub type_predicate: Option<u32>,
    /// Worker threads.
    pub threads: usize,
    /// The budget.
    pub memory: &'a LoadMemory,
    /// Bytes that the numbers of terms and subjects take.
    pub resident: u64,
}

impl Grouping<'_> {
    /// Groups the quads.
    pub(crate) fn gather(&self, raw: RawQuads) -> Result<Gathered, LoadError> {
        let ranked = rank(&raw, self.resource_bound)?;
        // With windows of a set size none is left out.
        let windows = self.memory.settings.window_quads;
        let gathered = if windows.is_some() {
            self.scatter(raw, ranked)
        } else if ranked.in_order {
            self.gather_in_order(raw, ranked)
        } else if self.threads > 1 && self.fits(raw.quad_count() * 2) {
            self.gather_dealt(raw, ranked)
        } else {
            self.scatter(raw, ranked)
        }?;
        self.memory.keep(gathered.held_bytes());
        Ok(gathered)
    }

    /// Puts each quad to its subject.
    fn scatter(&self, raw: RawQuads, mut ranked: Ranked) -> Result<Gathered, LoadError> {
        let mut windows = Windows::new(self, std::mem::take(&mut ranked.counts))?;
        let type_predicate = ranked.predicates.find(self.type_predicate);
        raw.consume(&mut |block: &[RawQuad]| {
            self.memory.go_on()?;
            for quad in block {
                let rank = ranked.ranks[quad.subject as usize] as usize;
                let grouped = Quad {
                    predicate: ranked.predicates.index(quad.predicate),
                    graph: ranked.graphs.index(quad.graph),
                    object: quad.object,
                };
                if rank < windows.current.ranks.end {
                    windows.current.put(rank, grouped);
                } else {
                    windows.put_later(rank, grouped)?;
                }
                if windows.current.left == 0 {
                    windows.go_on(type_predicate)?;
                }
            }
            Ok(())
        })?;
        let (quads, types) = windows.finish(type_predicate)?;
        Ok(ranked.gathered(quads, type_predicate, types))
    }

    /// Whether all grouped quads can be in memory, where parsed ones are freed meanwhile.
    fn fits(&self, quads: u64) -> bool {
        let bytes = self.resident + quads * QUAD_BYTES as u64;
        !self.memory.is_spilling() || self.memory.has_room(bytes)
    }

    /// Cuts ranks into windows.
    fn cut_windows(&self, counts: &[u32]) -> Vec<Range<usize>> {
        let left = self.memory.left(self.resident);
        let all = counts.iter().map(|count| u64::from(*count)).sum();
        // Places of subjects take as much again if every subject has one quad.
        let usual = match self.fits(all) {
            true => usize::MAX,
            false => left / 8 * 3 / QUAD_BYTES,
        };
        let quads_max = match self.memory.is_spilling() {
            false => usize::MAX,
            true => self.memory.settings.window_quads.unwrap_or(usual),
        };
        let mut windows = cut_batches(counts, quads_max);
        if windows.is_empty() {
            windows.push(0..0);
        }
        windows
    }
}

/// Subjects and how many quads each has; predicates and graphs.
struct Ranked {
    /// Rank by provisional ordinal.
    ranks: Vec<u32>,
    /// Provisional ordinal by rank.
    subjects: Vec<u32>,
    /// Quads, repeated ones too, by rank.
    counts: Vec<u32>,
    predicates: DenseIndex,
    /// The first is the default graph.
    graphs: DenseIndex,
    /// Whether the quads of each subject follow each other.
    in_order: bool,
}

impl Ranked {
    /// The indexes of pairs of a predicate and a graph of a block.
    fn dense_pairs(
        &self,
        firsts: &FirstTerms,
        pairs: impl Iterator<Item = (u32, u32)>,
    ) -> Vec<(u32, u32)> {
        let dense = |pair| {
            let (predicate, graph) = firsts.of_pair(pair);
            (self.predicates.known(predicate), self.graphs.known(graph))
        };
        pairs.map(dense).collect()
    }
}

fn rank(raw: &RawQuads, resource_bound: usize) -> Result<Ranked, LoadError> {
    let mut ranks = vec![NO_RANK; resource_bound];
    let mut subjects: Vec<u32> = Vec::new();
    let mut counts: Vec<u32> = Vec::new();
    let (mut predicates, mut graphs) = (DenseIndex::default(), DenseIndex::default());
    graphs.index(0);
    let mut in_order = true;
    raw.for_each_head(&mut |head| {
        for (subject, quads) in packed_quads::subjects(head) {
            let subject = raw.firsts().resources.first(subject);
            let rank = &mut ranks[subject as usize];
            if *rank == NO_RANK {
                *rank = subjects.len() as u32;
                subjects.push(subject);
                counts.push(0);
            }
            in_order &= *rank as usize + 1 == subjects.len();
            let count = &mut counts[*rank as usize];
            *count = count.checked_add(quads).ok_or(LoadError::Limit {
                what: "quads of one subject",
                limit: u64::from(u32::MAX),
            })?;
        }
        for pair in packed_quads::pairs_of(head) {
            let (predicate, graph) = raw.firsts().of_pair(pair);
            predicates.index(predicate);
            graphs.index(graph);
        }
        Ok(())
    })?;
    Ok(Ranked {
        ranks,
        subjects,
        counts,
        predicates,
        graphs,
        in_order,
    })
}

/// The quads of some subjects, being scattered.
#[derive(Default)]
struct Window {
    ranks: Range<usize>,
    /// Where the quads of each subject begin, and the end.
    starts: Vec<u64>,
    /// Where the next quad of each subject goes.
    next: Vec<u64>,
    quads: Vec<Quad>,
    /// Quads that have not come yet.
    left: u64,
}

impl Window {
    /// Begins a window over these ranks, in the memory of the last one.
    fn begin(&mut self, ranks: Range<usize>, counts: &[u32]) {
        self.starts.clear();
        self.starts.push(0);
        let mut sum = 0;
        for &count in &counts[ranks.clone()] {
            sum += u64::from(count);
            self.starts.push(sum);
        }
        self.next.clear();
        self.next.extend_from_slice(&self.starts);
        let empty = Quad {
            predicate: 0,
            graph: 0,
            object: TermId::UNBOUND,
        };
        self.quads.clear();
        self.quads.reserve_exact(sum as usize);
        self.quads.resize(sum as usize, empty);
        self.left = sum;
        self.ranks = ranks;
    }

    #[inline]
    fn put(&mut self, rank: usize, quad: Quad) {
        let place = &mut self.next[rank - self.ranks.start];
        self.quads[*place as usize] = quad;
        *place += 1;
        self.left -= 1;
    }
}

/// The windows, and what became of those that are complete.
struct Windows<'a> {
    grouping: &'a Grouping<'a>,
    /// All windows.
    ranges: Vec<Range<usize>>,
    /// Which of them is being scattered; the number of windows at the end.
    at: usize,
    current: Window,
    /// Quads by rank; distinct ones of complete windows.
    counts: Vec<u32>,
    /// Quads of windows to come; made when needed.
    later: Option<Buckets>,
    /// Complete windows, if there are several windows.
    written: Option<(SpillFile, Vec<Extent>, u64)>,
    /// How often each resource is a type.
    types: FastMap<u64, u64>,
}

impl<'a> Windows<'a> {
    fn new(grouping: &'a Grouping<'a>, counts: Vec<u32>) -> Result<Self, LoadError> {
        let ranges = grouping.cut_windows(&counts);
        let mut current = Window::default();
        current.begin(ranges[0].clone(), &counts);
        let written = match ranges.len() {
            1 => None,
            _ => Some((SpillFile::create(&grouping.memory.folder)?, Vec::new(), 0)),
        };
        Ok(Self {
            grouping,
            ranges,
            at: 0,
            current,
            counts,
            later: None,
            written,
            types: FastMap::default(),
        })
    }

    /// Keeps a quad of a later window.
    fn put_later(&mut self, rank: usize, quad: Quad) -> Result<(), LoadError> {
        let window = self.ranges.partition_point(|w| w.end <= rank);
        let later = match &mut self.later {
            Some(later) => later,
            none => {
                let Grouping {
                    memory, resident, ..
                } = self.grouping;
                let bytes = memory.left(*resident) / 8;
                none.insert(Buckets::create(&memory.folder, self.ranges.len(), bytes)?)
            }
        };
        later.push(window, &(rank as u32).to_le_bytes(), &quad.record())
    }

    /// Finishes complete windows and begins the next.
    fn go_on(&mut self, type_predicate: Option<u32>) -> Result<(), LoadError> {
        while self.current.left == 0 && self.at + 1 < self.ranges.len() {
            self.complete(type_predicate)?;
            self.write()?;
            self.at += 1;
            self.current
                .begin(self.ranges[self.at].clone(), &self.counts);
            self.take_earlier()?;
        }
        Ok(())
    }

    /// Puts the quads that came before their window.
    fn take_earlier(&mut self) -> Result<(), LoadError> {
        const RECORD_BYTES: usize = 4 + QUAD_BYTES;
        let Some(later) = self.later.as_mut().filter(|l| !l.is_empty(self.at)) else {
            return Ok(());
        };
        let mut reader = later.reader(self.at);
        let mut bytes = Vec::new();
        while reader.read(&mut bytes)? > 0 {
            let records = bytes.chunks_exact(RECORD_BYTES);
            let rest = records.remainder().len();
            for record in records {
                let rank = u32::from_le_bytes([record[0], record[1], record[2], record[3]]);
                self.current.put(rank as usize, Quad::read(&record[4..]));
            }
            bytes.drain(..bytes.len() - rest);
        }
        Ok(())
    }

    /// Makes the quads of the current window distinct and counts types.
    fn complete(&mut self, type_predicate: Option<u32>) -> Result<(), LoadError> {
        let Window {
            starts,
            quads,
            ranks,
            ..
        } = &mut self.current;
        drop_repeated(starts, quads, self.grouping.threads);
        for (count, bounds) in self.counts[ranks.clone()].iter_mut().zip(starts.windows(2)) {
            *count = (bounds[1] - bounds[0]) as u32;
        }
        count_types(quads, type_predicate, &mut self.types);
        Ok(())
    }

    /// Writes the current window.
    fn write(&mut self) -> Result<(), LoadError> {
        let Some((file, pieces, quad_count)) = &mut self.written else {
            return Ok(());
        };
        let mut bytes = Vec::with_capacity(PIECE_QUADS * QUAD_BYTES);
        for part in self.current.quads.chunks(PIECE_QUADS) {
            bytes.clear();
            bytes.extend(part.iter().flat_map(|quad| quad.record()));
            pieces.push(file.append(&bytes)?);
        }
        *quad_count += self.current.quads.len() as u64;
        Ok(())
    }

    /// All windows, and the types.
    fn finish(
        mut self,
        type_predicate: Option<u32>,
    ) -> Result<(GroupedQuads, FastMap<u64, u64>), LoadError> {
        self.go_on(type_predicate)?;
        debug_assert_eq!(self.current.left, 0, "all quads that were counted came");
        self.complete(type_predicate)?;
        self.write()?;
        let quads = match self.written {
            Some((file, pieces, quad_count)) => GroupedQuads::Spilled {
                file,
                pieces,
                counts: self.counts,
                quad_count,
            },
            None => {
                let Window { starts, quads, .. } = self.current;
                GroupedQuads::Memory(HeldQuads::of_one(starts, quads))
            }
        };
        Ok((quads, self.types))
    }
}

/// Counts how often each resource is a type in these quads.
fn count_types(quads: &[Quad], type_predicate: Option<u32>, types: &mut FastMap<u64, u64>) {
    let of_type = quads.iter().filter(|q| Some(q.predicate) == type_predicate);
    for quad in of_type.filter(|q| q.object.is_resource()) {
        *types.entry(quad.object.0).or_insert(0) += 1;
    }
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

    /// The index of a key that is there.
    fn known(&self, key: u32) -> u32 {
        let index = self.indexes.get(&key);
        *index.expect("the heads of blocks have all keys")
    }

    /// The index of a key that may be there.
    fn find(&self, key: Option<u32>) -> Option<u32> {
        self.indexes.get(&key?).copied()
    }
}

/// Sorts the quads of each subject and drops repeats, in parallel over runs of subjects.
fn drop_repeated(starts: &mut Vec<u64>, quads: &mut Vec<Quad>, threads: usize) {
    let subject_count = starts.len() - 1;
    let runs = cut_runs(starts, threads);
    let mut parts = Vec::with_capacity(runs.len());
    let mut rest: &mut [Quad] = quads;
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
mod tests;
