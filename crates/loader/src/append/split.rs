//! New quads by what the old version knows of their subjects.
//!
//! Quads of subjects that it does not know are all new. Those of the others are sought, predicate by
//! predicate, in the order of the subjects: rows are read in row order, irregular quads block by
//! block. What is there already is dropped.
//!
//! Memory: 40 bytes for each quad all of whose terms are known.

use std::ops::Range;

use basalt_rdf::TermId;
use basalt_shapes::FastMap;
use basalt_store::{Direction, Snapshot, StoreError};

use super::known_terms::KnownTerms;
use crate::error::LoadError;
use crate::gather::NO_RANK;
use crate::grouped::{Gathered, GroupedQuads, Quad};
use crate::held_quads::HeldQuads;
use crate::parallel::parallel_map;
use crate::spill::LoadMemory;

/// A new quad of a subject that the old version knows.
#[derive(Clone, Copy, Debug)]
pub(super) struct KnownSubjectQuad {
    /// Provisional ordinal of the subject.
    pub(super) subject: u32,
    /// The rest.
    pub(super) quad: Quad,
}

/// The new quads. Predicates and graphs are numbered in the same way everywhere.
pub(super) struct Split {
    /// Those of subjects that the old version does not know.
    pub(super) new: Gathered,
    /// Those of subjects that it knows as terms, but that seem to have had no quads; they are among
    /// `of_known` too.
    pub(super) late: Gathered,
    /// Those of all subjects that it knows.
    pub(super) of_known: Vec<KnownSubjectQuad>,
}

impl Split {
    /// All new quads.
    pub(super) fn quad_count(&self) -> u64 {
        self.new.quad_count() + self.of_known.len() as u64
    }
}

/// A quad that the old version may have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Candidate {
    /// Index of the predicate.
    predicate: u32,
    /// The ids that it has in the old version.
    subject: u64,
    object: TermId,
    graph: TermId,
    /// Rank of its subject.
    rank: u32,
    /// Its place among the quads.
    at: u64,
}

/// What a search has found: quads that are there, and subjects that have quads.
#[derive(Default)]
struct Found {
    quads: Vec<u64>,
    ranks: Vec<u32>,
}

/// Deals the quads out and drops those that the old version has.
pub(super) fn split(
    mut gathered: Gathered,
    known: &KnownTerms,
    old: &Snapshot,
    threads: usize,
    memory: &LoadMemory,
) -> Result<Split, LoadError> {
    let mut subjects = gathered.subjects.iter();
    if !subjects.any(|&subject| known.resource(subject).is_some()) {
        return Ok(Split {
            late: Grouped::default().finish(&gathered),
            new: gathered,
            of_known: Vec::new(),
        });
    }
    let (starts, quads) = gathered.take_quads(memory)?;
    let all = Grouped {
        subjects: std::mem::take(&mut gathered.subjects),
        starts,
        quads,
    };
    let candidates = candidates(&gathered, &all, known);
    let groups: Vec<&[Candidate]> = candidates
        .chunk_by(|a, b| a.predicate == b.predicate)
        .collect();
    let found = parallel_map(threads, &groups, |group| {
        let predicate = gathered.predicates[group[0].predicate as usize];
        match known.resource(predicate) {
            Some(predicate) => search(old, predicate, group),
            None => Ok(Found::default()),
        }
    });
    let mut present = vec![false; all.quads.len()];
    let mut had_quads = vec![false; all.subjects.len()];
    for found in found {
        let found = found?;
        found
            .quads
            .iter()
            .for_each(|&at| present[at as usize] = true);
        let ranks = found.ranks.iter();
        ranks.for_each(|&rank| had_quads[rank as usize] = true);
    }
    Ok(deal(&gathered, all, known, old, &present, &had_quads))
}

/// The quads all of whose terms are known, by predicate and subject.
fn candidates(gathered: &Gathered, all: &Grouped, known: &KnownTerms) -> Vec<Candidate> {
    let predicates: Vec<bool> = gathered
        .predicates
        .iter()
        .map(|&p| known.resource(p).is_some())
        .collect();
    let graphs: Vec<Option<TermId>> = gathered
        .graphs
        .iter()
        .map(|&graph| match graph {
            0 => Some(TermId::DEFAULT_GRAPH),
            named => known.resource(named - 1),
        })
        .collect();
    let mut candidates = Vec::new();
    for (rank, &subject) in all.subjects.iter().enumerate() {
        let Some(subject) = known.resource(subject) else {
            continue;
        };
        for at in all.range(rank) {
            let quad = &all.quads[at];
            let object = known.object(quad.object);
            if let (true, Some(object), Some(graph)) = (
                predicates[quad.predicate as usize],
                object,
                graphs[quad.graph as usize],
            ) {
                candidates.push(Candidate {
                    predicate: quad.predicate,
                    subject: subject.0,
                    object,
                    graph,
                    rank: rank as u32,
                    at: at as u64,
                });
            }
        }
    }
    candidates.sort_unstable();
    candidates
}

/// Seeks the candidates of one predicate.
fn search(
    old: &Snapshot,
    predicate: TermId,
    candidates: &[Candidate],
) -> Result<Found, StoreError> {
    let mut nodes = Vec::new();
    // The candidates of each node.
    let mut runs: Vec<&[Candidate]> = Vec::new();
    for run in candidates.chunk_by(|a, b| a.subject == b.subject) {
        nodes.push(run[0].subject);
        runs.push(run);
    }
    let mut found = Found::default();
    old.neighbours(
        predicate,
        Direction::Forward,
        &nodes,
        &mut |node, object, graph| {
            let run = runs[node];
            if found.ranks.last() != Some(&run[0].rank) {
                found.ranks.push(run[0].rank);
            }
            let at = run.binary_search_by_key(&(object, graph), |c| (c.object, c.graph));
            if let Ok(at) = at {
                found.quads.push(run[at].at);
            }
        },
    )?;
    Ok(found)
}

/// Deals the quads out: `present` by quad, `had_quads` by rank.
fn deal(
    gathered: &Gathered,
    mut all: Grouped,
    known: &KnownTerms,
    old: &Snapshot,
    present: &[bool],
    had_quads: &[bool],
) -> Split {
    let mut late = Grouped::default();
    let mut of_known = Vec::new();
    let (mut ranks, mut kept) = (vec![NO_RANK; gathered.ranks.len()], 0);
    for (rank, &had_quads) in had_quads.iter().enumerate() {
        let subject = all.subjects[rank];
        let range = all.range(rank);
        let Some(id) = known.resource(subject) else {
            ranks[subject as usize] = kept as u32;
            all.keep(rank, kept);
            kept += 1;
            continue;
        };
        if !had_quads && old.row_of(id).is_none() {
            late.push(subject, &all.quads[range.clone()]);
        }
        let fresh = range.filter(|&at| !present[at]);
        of_known.extend(fresh.map(|at| KnownSubjectQuad {
            subject,
            quad: all.quads[at],
        }));
    }
    all.truncate(kept);
    let mut new = all.finish(gathered);
    new.ranks = ranks;
    Split {
        late: late.finish(gathered),
        new,
        of_known,
    }
}

/// Subjects by rank, with their quads.
struct Grouped {
    subjects: Vec<u32>,
    /// Where the quads of each rank begin, and the end.
    starts: Vec<u64>,
    quads: Vec<Quad>,
}

impl Default for Grouped {
    fn default() -> Self {
        Self {
            subjects: Vec::new(),
            starts: vec![0],
            quads: Vec::new(),
        }
    }
}

impl Grouped {
    /// Where the quads of a rank are.
    #[inline]
    fn range(&self, rank: usize) -> Range<usize> {
        self.starts[rank] as usize..self.starts[rank + 1] as usize
    }

    fn push(&mut self, subject: u32, quads: &[Quad]) {
        self.subjects.push(subject);
        self.quads.extend_from_slice(quads);
        self.starts.push(self.quads.len() as u64);
    }

    /// Moves a subject to an earlier rank, or the same. Ranks between them are lost, and all below must have been moved.
    #[inline]
    fn keep(&mut self, rank: usize, to: usize) {
        if rank == to {
            return;
        }
        let range = self.range(rank);
        let start = self.starts[to] as usize;
        self.starts[to + 1] = (start + range.len()) as u64;
        self.subjects[to] = self.subjects[rank];
        self.quads.copy_within(range, start);
    }

    /// Drops the subjects from a rank on.
    fn truncate(&mut self, rank: usize) {
        self.quads.truncate(self.starts[rank] as usize);
        self.starts.truncate(rank + 1);
        self.subjects.truncate(rank);
    }

    /// With what all quads have in common; no subject has a rank.
    fn finish(self, all: &Gathered) -> Gathered {
        let of_type = self
            .quads
            .iter()
            .filter(|q| Some(q.predicate) == all.type_predicate);
        let mut types: FastMap<TermId, u64> = FastMap::default();
        for quad in of_type.filter(|q| q.object.is_resource()) {
            *types.entry(quad.object).or_default() += 1;
        }
        let mut types: Vec<(TermId, u64)> = types.into_iter().collect();
        types.sort_unstable();
        Gathered {
            subjects: self.subjects,
            ranks: vec![NO_RANK; all.ranks.len()],
            predicates: all.predicates.clone(),
            graphs: all.graphs.clone(),
            type_predicate: all.type_predicate,
            types,
            quads: GroupedQuads::Memory(HeldQuads::of_one(self.starts, self.quads)),
        }
    }
}
