//! Quads by predicate and graph, counted: entries that mostly come in order, and are summed up whenever there are twice as many as there were keys.
//!
//! Graphs may be as many as subjects. Memory: 24 bytes for each predicate and graph, three times as much while they are counted.

use super::PredicateGraph;
use basalt_rdf::TermId;

/// Entries that a tally takes before it puts those of the same predicate and graph together.
const TALLY_ROOM: usize = 1 << 12;

/// See the [module documentation](self).
#[derive(Default)]
pub(super) struct Tally {
    entries: Vec<PredicateGraph>,
    /// How many there were when they were summed up.
    distinct: usize,
}

impl Tally {
    /// Adds quads of a predicate in a graph.
    pub(super) fn add(&mut self, predicate: TermId, graph: TermId, quads: u64) {
        if quads == 0 {
            return;
        }
        if self.entries.len() >= 2 * self.distinct + TALLY_ROOM {
            self.sum_up();
        }
        self.entries.push(PredicateGraph {
            predicate,
            graph,
            quads,
        });
    }

    /// Adds one quad for each of the graphs, which mostly repeat.
    pub(super) fn add_all(&mut self, predicate: TermId, graphs: &[u64]) {
        for run in graphs.chunk_by(|a, b| a == b) {
            self.add(predicate, TermId(run[0]), run.len() as u64);
        }
    }

    /// Puts entries of the same predicate and graph together.
    fn sum_up(&mut self) {
        let key = |entry: &PredicateGraph| (entry.predicate, entry.graph);
        if !self.entries.is_sorted_by_key(key) {
            self.entries.sort_unstable_by_key(key);
        }
        self.entries.dedup_by(|next, kept| {
            let same = key(next) == key(kept);
            if same {
                kept.quads += next.quads;
            }
            same
        });
        self.distinct = self.entries.len();
    }

    /// What was added, ascending by predicate and graph.
    pub(super) fn finish(mut self) -> Vec<PredicateGraph> {
        self.sum_up();
        self.entries.shrink_to_fit();
        self.entries
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn many_entries_are_summed_up_on_the_way() {
        let mut tally = Tally::default();
        let mut expected: BTreeMap<(TermId, TermId), u64> = BTreeMap::new();
        for number in 0..10 * TALLY_ROOM as u64 {
            let (predicate, graph) = (TermId(number % 7 + 1), TermId(number * number % 5_003));
            tally.add(predicate, graph, number % 3);
            if number % 3 > 0 {
                *expected.entry((predicate, graph)).or_default() += number % 3;
            }
        }
        assert!(tally.distinct > TALLY_ROOM, "it was summed up");
        let summed = tally.finish().into_iter();
        assert!(
            summed
                .map(|e| ((e.predicate, e.graph), e.quads))
                .eq(expected)
        );
    }
}
