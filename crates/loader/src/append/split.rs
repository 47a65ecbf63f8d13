//! New quads by what the old version knows of their subjects.
//!
//! Quads of subjects that it does not know are all new. Those of the others are sought, predicate by
//! predicate, in the order of the subjects: rows are read in row order, irregular quads block by
//! block. What is there already is dropped.
//!
//! Memory: 40 bytes for each quad all of whose terms are known.

use basalt_rdf::TermId;
use basalt_store::{Direction, Snapshot, StoreError};

use super::known_terms::KnownTerms;
use crate::error::LoadError;
use crate::gather::{Gathered, NO_RANK, Quad};
use crate::parallel::parallel_map;

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
        (self.new.quads.len() + self.of_known.len()) as u64
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
    gathered: Gathered,
    known: &KnownTerms,
    old: &Snapshot,
    threads: usize,
) -> Result<Split, LoadError> {
    let candidates = candidates(&gathered, known);
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
    let mut present = vec![false; gathered.quads.len()];
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
    Ok(deal(gathered, known, old, &present, &had_quads))
}

/// The quads all of whose terms are known, by predicate and subject.
fn candidates(gathered: &Gathered, known: &KnownTerms) -> Vec<Candidate> {
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
        let first = gathered.starts[rank];
        for (at, quad) in (first..).zip(gathered.quads_of(rank)) {
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

fn deal(
    gathered: Gathered,
    known: &KnownTerms,
    old: &Snapshot,
    present: &[bool],
    had_quads: &[bool],
) -> Split {
    let Gathered {
        subjects,
        mut ranks,
        starts,
        quads,
        predicates,
        graphs,
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
        late: late.finish(no_ranks, predicates.clone(), graphs.clone()),
        new: new.finish(ranks, predicates, graphs),
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

    fn finish(self, ranks: Vec<u32>, predicates: Vec<u32>, graphs: Vec<u32>) -> Gathered {
        let mut starts = self.ends;
        starts.insert(0, 0);
        Gathered {
            subjects: self.subjects,
            ranks,
            starts,
            quads: self.quads,
            predicates,
            graphs,
        }
    }
}
