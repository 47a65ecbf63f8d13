//! New quads by what the old version knows of their subjects.
//!
//! Quads of subjects that it does not know are all new. Those of the others are sought, predicate by
//! predicate, in the order of the subjects: rows are read in row order, irregular quads block by
//! block. What is there already is dropped.
//!
//! Memory: 40 bytes for each quad all of whose terms are known.

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
    let (starts, quads) = gathered.take_quads(memory)?;
    let candidates = candidates(&gathered, &starts, &quads, known);
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
    let mut present = vec![false; quads.len()];
    let mut had_quads = vec![false; gathered.subjects.len()];
    for found in found {
        let found = found?;
        found
            .quads
            .iter()
            .for_each(|&at| present[at as usize] = true);
        let ranks = found.ranks.iter();
        ranks.for_each(|&rank| had_quads[rank as usize] = true);
    }
    let quads = Quads { starts, quads };
    Ok(deal(gathered, quads, known, old, &present, &had_quads))
}

/// The quads all of whose terms are known, by predicate and subject.
fn candidates(
    gathered: &Gathered,
    starts: &[u64],
    quads: &[Quad],
    known: &KnownTerms,
) -> Vec<Candidate> {
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
    for (rank, &subject) in gathered.subjects.iter().enumerate() {
        let Some(subject) = known.resource(subject) else {
            continue;
        };
        for at in starts[rank]..starts[rank + 1] {
            let quad = &quads[at as usize];
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
                    at,
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

/// The quads of all subjects.
struct Quads {
    /// Where those of each rank begin, and the end.
    starts: Vec<u64>,
    quads: Vec<Quad>,
}

fn deal(
    gathered: Gathered,
    Quads { starts, quads }: Quads,
    known: &KnownTerms,
    old: &Snapshot,
    present: &[bool],
    had_quads: &[bool],
) -> Split {
    let Gathered {
        subjects,
        mut ranks,
        predicates,
        graphs,
        type_predicate,
        ..
    } = gathered;
    let mut new = Grouped::default();
    let mut late = Grouped::default();
    let mut of_known = Vec::new();
    ranks.fill(NO_RANK);
    for (rank, &subject) in subjects.iter().enumerate() {
        let range = starts[rank] as usize..starts[rank + 1] as usize;
        let Some(id) = known.resource(subject) else {
            ranks[subject as usize] = new.subjects.len() as u32;
            new.push(subject, &quads[range]);
            continue;
        };
        if !had_quads[rank] && old.row_of(id).is_none() {
            late.push(subject, &quads[range.clone()]);
        }
        let fresh = range.filter(|&at| !present[at]);
        of_known.extend(fresh.map(|at| KnownSubjectQuad {
            subject,
            quad: quads[at],
        }));
    }
    let no_ranks = vec![NO_RANK; ranks.len()];
    Split {
        late: late.finish(no_ranks, predicates.clone(), graphs.clone(), type_predicate),
        new: new.finish(ranks, predicates, graphs, type_predicate),
        of_known,
    }
}

/// Subjects with their quads.
#[derive(Default)]
struct Grouped {
    subjects: Vec<u32>,
    /// The end of the quads of each subject.
    ends: Vec<u64>,
    quads: Vec<Quad>,
}

impl Grouped {
    fn push(&mut self, subject: u32, quads: &[Quad]) {
        self.subjects.push(subject);
        self.quads.extend_from_slice(quads);
        self.ends.push(self.quads.len() as u64);
    }

    fn finish(
        self,
        ranks: Vec<u32>,
        predicates: Vec<u32>,
        graphs: Vec<u32>,
        type_predicate: Option<u32>,
    ) -> Gathered {
        let mut starts = self.ends;
        starts.insert(0, 0);
        let of_type = self
            .quads
            .iter()
            .filter(|q| Some(q.predicate) == type_predicate);
        let mut types: FastMap<TermId, u64> = FastMap::default();
        for quad in of_type.filter(|q| q.object.is_resource()) {
            *types.entry(quad.object).or_default() += 1;
        }
        let mut types: Vec<(TermId, u64)> = types.into_iter().collect();
        types.sort_unstable();
        Gathered {
            subjects: self.subjects,
            ranks,
            predicates,
            graphs,
            type_predicate,
            types,
            quads: GroupedQuads::Memory(HeldQuads::of_one(starts, self.quads)),
        }
    }
}
