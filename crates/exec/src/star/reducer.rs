//! `Reducers`: the key filters of a scan, which turn candidates away before more is read of them.
//!
//! The filters are looked for when the scan takes its first morsel: the joins above have read their build sides by
//! then, and a filter that is not made (its side went to files) is left out. A filter of the subject is tested on row numbers,
//! before any cell is read; one of an object when its column is gathered, before other columns, and one of the graph before those.
//!
//! A filter that lets nearly all of a piece through *rests*: the next pieces go untested. Then it is tried again, since ids lie in the
//! order of rows and one end of a table may have all partners. What zones and row numbers of a whole morsel tell is always
//! looked at.
//!
//! Invariant: the join tests each row again, so that any candidate may be left in.

use super::changed::Home;
use super::compiled::{CompiledGraphs, CompiledStar, Object};
use super::matches::Matches;
use crate::context::Context;
use crate::operators::key_filter::{KeyFilter, MadeFilters};
use crate::profile::current_node;
use basalt_columns::SEGMENT_ROWS;
use basalt_rdf::TermId;
use basalt_store::Table;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// Ids of a piece from which its share tells something.
const JUDGED_IDS: usize = 1024;
/// A filter rests if less than one of so many ids is turned away: then testing all of them, and moving together what is left,
/// may cost more than the few rows would.
const TURNED_AWAY_ONE_OF: usize = 8;
/// Pieces that a filter rests.
const RESTING_PIECES: usize = 8;

/// A key filter at one column of a star.
pub struct Reducer {
    /// The new column of the star that it tests.
    pub column: usize,
    filter: Arc<KeyFilter>,
    /// Pieces that go untested from now on.
    resting: AtomicUsize,
}

impl Reducer {
    /// A filter at a column.
    pub fn new(column: usize, filter: Arc<KeyFilter>) -> Self {
        Self {
            column,
            filter,
            resting: AtomicUsize::new(0),
        }
    }

    /// Keeps the candidates whose ids pass, or all if the filter rests; says how many are gone.
    fn retain<T: Copy>(&self, candidates: &mut Vec<T>, id_of: impl Fn(T) -> u64) -> usize {
        if self.rests() {
            return 0;
        }
        let before = candidates.len();
        self.filter.retain(candidates, id_of);
        self.judge(before, candidates.len())
    }

    /// The positions of ids that pass; `None` if that is all, or the filter rests.
    pub fn positions(&self, ids: &[u64]) -> Option<Vec<u32>> {
        if self.rests() {
            return None;
        }
        let positions = self.filter.positions(ids, true);
        (self.judge(ids.len(), positions.len()) > 0).then_some(positions)
    }

    /// Whether the filter rests, of which one piece is over then.
    fn rests(&self) -> bool {
        let less = |left: usize| left.checked_sub(1);
        let resting = &self.resting;
        resting
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_ok()
    }

    /// Lets the filter rest if it turned little away of a piece; says how many are gone.
    fn judge(&self, before: usize, left: usize) -> usize {
        let gone = before - left;
        if before >= JUDGED_IDS && gone * TURNED_AWAY_ONE_OF < before {
            self.resting.store(RESTING_PIECES, Ordering::Relaxed);
        }
        gone
    }
}

/// The key filters of one scan; see the [module documentation](self).
pub struct Reducers {
    /// Column and number of each filter that the plan passes down.
    wanted: Vec<(usize, usize)>,
    made: Arc<MadeFilters>,
    found: OnceLock<Found>,
}

/// The filters that are made.
#[derive(Default)]
struct Found {
    subject: Vec<Reducer>,
    objects: Vec<Reducer>,
}

impl Reducers {
    /// The filters of these slots and numbers, for a star that makes the slots.
    pub fn new(
        star: &CompiledStar,
        passed: &[basalt_plan::physical::KeyFilter],
        made: &Arc<MadeFilters>,
    ) -> Self {
        let columns = passed.iter().filter_map(|filter| {
            let column = star.new_slots.iter().position(|s| *s == filter.slot)?;
            Some((column, filter.number))
        });
        Self {
            wanted: columns.collect(),
            made: Arc::clone(made),
            found: OnceLock::new(),
        }
    }

    fn found(&self, star: &CompiledStar) -> &Found {
        self.found.get_or_init(|| {
            let mut found = Found::default();
            for &(column, number) in &self.wanted {
                if let Some(filter) = self.made.get(number) {
                    let of = match star.subject == Object::New(column) {
                        true => &mut found.subject,
                        false => &mut found.objects,
                    };
                    of.push(Reducer::new(column, filter));
                }
            }
            found
        })
    }

    /// The filters of objects and graphs.
    pub fn objects(&self, star: &CompiledStar) -> &[Reducer] {
        &self.found(star).objects
    }

    /// Whether a subject between the first row and the last may pass; counts the rows if none does.
    pub fn may_have_rows(
        &self,
        star: &CompiledStar,
        table: &Table,
        rows: &Range<u32>,
        cx: &Context,
    ) -> bool {
        let Some(last) = rows.end.checked_sub(1).filter(|last| rows.start <= *last) else {
            return false;
        };
        let (first, last) = (table.subject(rows.start).0, table.subject(last).0);
        let mut subject = self.found(star).subject.iter();
        let may_have = subject.all(|reducer| reducer.filter.may_have(first, last));
        counted(may_have, rows, cx)
    }

    /// Whether cells and graphs of the segment with these rows may pass by their zones; counts the rows if none does.
    pub fn may_have_cells(
        &self,
        star: &CompiledStar,
        table: &Table,
        rows: &Range<u32>,
        cx: &Context,
    ) -> bool {
        let segment_idx = rows.start as usize / SEGMENT_ROWS;
        let may_have = self.found(star).objects.iter().all(|reducer| {
            let object = Object::New(reducer.column);
            if matches!(star.graphs, CompiledGraphs::New(column, _) if column == reducer.column) {
                let zone = table.graph_zone(segment_idx);
                return zone.is_none_or(|(least, most)| reducer.filter.may_have(least.0, most.0));
            }
            let pattern = star.patterns.iter().find(|p| p.object == object);
            let cells = pattern.and_then(|pattern| table.cells(pattern.predicate));
            cells.is_none_or(|cells| {
                let zone = cells.zone(segment_idx);
                reducer.filter.may_have(zone.min, zone.max)
            })
        });
        counted(may_have, rows, cx)
    }

    /// Drops rows whose subjects do not pass.
    pub fn retain_rows(
        &self,
        star: &CompiledStar,
        home: Home<'_>,
        rows: &mut Vec<u32>,
        cx: &Context,
    ) {
        for reducer in &self.found(star).subject {
            turned_away(reducer.retain(rows, |row| home.subject(row).0), cx);
        }
    }

    /// Drops subjects that do not pass.
    pub fn retain_subjects(
        &self,
        star: &CompiledStar,
        found: &mut Vec<(u32, TermId)>,
        cx: &Context,
    ) {
        for reducer in &self.found(star).subject {
            turned_away(reducer.retain(found, |(_, subject)| subject.0), cx);
        }
    }

    /// Drops solutions whose objects do not pass.
    pub fn retain_matches(&self, star: &CompiledStar, matches: &mut Matches, cx: &Context) {
        for reducer in self.objects(star) {
            if let Some(positions) = reducer.positions(&matches.columns[reducer.column]) {
                turned_away(matches.len() - positions.len(), cx);
                matches.keep(&positions);
            }
        }
    }
}

/// Counts the rows of a range that has none that may pass; hands on whether it has.
fn counted(may_have: bool, rows: &Range<u32>, cx: &Context) -> bool {
    if !may_have {
        turned_away(rows.len(), cx);
    }
    may_have
}

/// Counts rows that a scan turned away.
pub fn turned_away(rows: usize, cx: &Context) {
    cx.profile().turned_away(current_node(), rows);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use basalt_store::Snapshot;

    #[test]
    fn a_filter_that_turns_little_away_rests_and_comes_back() {
        let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
        let keys: Vec<u64> = (1..=10_000).collect();
        let filter = KeyFilter::of(&keys, &cx).expect("nothing cancels it");
        let reducer = Reducer::new(0, Arc::new(filter));
        let none: Vec<u64> = (20_000..24_000).collect();
        let nothing_left = |reducer: &Reducer| reducer.positions(&none) == Some(Vec::new());
        assert!(nothing_left(&reducer));
        assert_eq!(reducer.positions(&keys), None, "all pass");
        for _ in 0..RESTING_PIECES {
            assert_eq!(reducer.positions(&none), None, "it rests");
        }
        assert!(nothing_left(&reducer));
        assert_eq!(reducer.positions(&keys[..JUDGED_IDS - 1]), None);
        assert!(nothing_left(&reducer), "a small piece tells nothing");
    }
}
