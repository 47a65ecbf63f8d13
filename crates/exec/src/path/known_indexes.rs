//! `KnownPathIndexes`: the indexes of paths that queries before made, for those that follow.
//!
//! An index is that of an automaton and a graph, or a merge of graphs, and holds as long as the quads of its predicates are the same
//! ([`PredicatesMark`]). Until there is one, what queries spend on lookups is added up, so that many small walks come to one too. The last ones used are kept, within a number of bytes that each query that makes one brings along. Cost: a lock and
//! some comparisons for each closure of a query. Design: `docs/decisions/0051-paths-between-queries.md`.

use super::automaton::Automaton;
use super::graph::{Label, PathGraph};
use super::index::PathIndex;
use basalt_rdf::TermId;
use basalt_store::{PredicatesMark, Snapshot};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Paths that something is known of.
const ENTRIES_MAX: usize = 64;

/// Indexes by what they are of: an automaton and a graph, on the quads of its predicates. Design: `docs/decisions/0051-paths-between-queries.md`.
#[derive(Debug, Default)]
pub struct KnownPathIndexes {
    /// The one used last comes last.
    kept: Mutex<Vec<Known>>,
}

#[derive(Debug)]
struct Known {
    automaton: Automaton,
    graph: PathGraph,
    mark: PredicatesMark,
    /// Lookups that queries spent without an index.
    spent: Arc<AtomicU64>,
    index: Option<Arc<PathIndex>>,
    bytes: usize,
}

/// What queries before leave to one that begins.
pub(super) struct FromBefore {
    /// Lookups that were spent without an index; to be counted on.
    pub(super) spent: Arc<AtomicU64>,
    /// The index, if there is one.
    pub(super) index: Option<Arc<PathIndex>>,
}

impl Known {
    /// Nothing yet.
    fn new(automaton: &Automaton, graph: &PathGraph, snapshot: &Snapshot) -> Self {
        let predicates = predicates_of(automaton);
        Self {
            automaton: automaton.clone(),
            graph: graph.clone(),
            mark: PredicatesMark::new(snapshot, predicates.as_deref()),
            spent: Arc::default(),
            index: None,
            bytes: 0,
        }
    }

    fn is_of(&self, automaton: &Automaton, graph: &PathGraph) -> bool {
        self.graph == *graph && self.automaton.walks_as(automaton)
    }
}

impl KnownPathIndexes {
    /// What is known of a forward automaton on the snapshot.
    pub(super) fn begin(
        &self,
        automaton: &Automaton,
        graph: &PathGraph,
        snapshot: &Snapshot,
    ) -> FromBefore {
        let mut kept = self.kept();
        let at = kept
            .iter()
            .position(|known| known.is_of(automaton, graph) && known.mark.is_of(snapshot));
        let known = match at {
            Some(at) => kept.remove(at),
            None => Known::new(automaton, graph, snapshot),
        };
        let from_before = FromBefore {
            spent: Arc::clone(&known.spent),
            index: known.index.clone(),
        };
        kept.push(known);
        let (mut gone, mut left) = parted(&mut kept, |known| known.mark.is_gone());
        let too_many = left.len().saturating_sub(ENTRIES_MAX);
        gone.extend(left.drain(..too_many));
        *kept = left;
        drop(kept);
        drop(gone);
        from_before
    }

    /// Keeps an index of the snapshot, and of the others what so many bytes allow.
    pub(super) fn keep(
        &self,
        automaton: &Automaton,
        graph: &PathGraph,
        snapshot: &Snapshot,
        index: &Arc<PathIndex>,
        bytes_max: usize,
    ) {
        let bytes = index.bytes_max(automaton.states.len());
        let mut kept = self.kept();
        // What is of another state of the same predicates will hardly be asked for again.
        let (mut gone, mut left) = parted(&mut kept, |known| {
            known.is_of(automaton, graph) || known.mark.is_gone()
        });
        if bytes <= bytes_max {
            let mut all: usize = left.iter().map(|known| known.bytes).sum();
            let oldest = left.iter().position(|known| {
                let fits = all + bytes <= bytes_max;
                all -= known.bytes;
                fits
            });
            let first = oldest.unwrap_or(left.len());
            gone.extend(left.drain(..first));
            left.push(Known {
                index: Some(Arc::clone(index)),
                bytes,
                ..Known::new(automaton, graph, snapshot)
            });
        }
        *kept = left;
        drop(kept);
        // To free some takes time, which nobody should wait for.
        drop(gone);
    }

    fn kept(&self) -> MutexGuard<'_, Vec<Known>> {
        // Entries are there as a whole or not at all.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Those that go and those that stay.
fn parted(kept: &mut Vec<Known>, goes: impl Fn(&Known) -> bool) -> (Vec<Known>, Vec<Known>) {
    std::mem::take(kept).into_iter().partition(goes)
}

/// The predicates whose quads decide the links of an automaton; `None` is all.
fn predicates_of(automaton: &Automaton) -> Option<Vec<TermId>> {
    let labels = automaton.labels.iter();
    labels
        .map(|label| match label {
            Label::Link(predicate) => Some(*predicate),
            Label::Except(_) => None,
        })
        .collect()
}
