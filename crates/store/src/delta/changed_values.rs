//! What changed subjects have now, as columns.
//!
//! A scan reads cells column by column, and wants the subjects that the delta touches in the same way. So the quads of a
//! predicate that touched subjects have *now*, in cells, quad table and delta together, are kept as short columns, by chunk of
//! 1,024 neighbouring ordinals:
//!
//! ```text
//! predicate -> chunk -> subjects   3         40
//!                       starts     0         1       3
//!                       objects    "new"     "a" "b"
//!                       emptied    17        has none left
//! ```
//!
//! A chunk is made by who reads it first, of the state that he reads, and kept. A commit puts an empty one in the place of
//! each chunk of which it changes a quad; states share all others, so after a commit of a few quads only these are made again.
//!
//! Some subjects are named and their objects are not told: those of more than [`VALUES_MAX`] objects, so that a chunk takes no more memory than
//! a stated figure and no longer to make than that many values take; and those that readers look up anyway, since the version
//! has irregular quads of them. Who reads looks these up one by one.
//!
//! Invariants: each subject that the delta touches with the predicate lies in a chunk that has a place; a chunk that is made holds
//! what a look-up of each subject gives whose objects it tells, in the state in which it stands. A chunk is kept whole or not at all: who stops
//! making one leaves nothing. Graphs are not told: who reads has asked
//! [`ChangePlaces`](super::ChangePlaces) whether they are what he expects. Cost: a tenth of a microsecond a subject to make,
//! memory of 12 bytes a subject and 8 a quad, so less than 33 KB a subject; reading is a search for the chunk.

use super::PredicateDelta;
use super::change_places::is_new;
use super::overlay;
use super::sorted_map::SortedMap;
use crate::error::StoreError;
use crate::neighbours::Direction;
use crate::snapshot::{Snapshot, Version};
use crate::table::Cells;
use basalt_rdf::TermId;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Ordinals of a chunk have the same upper bits: few enough that a commit makes little be made again.
const CHUNK_BITS: u32 = 10;

/// Objects of a subject that columns tell, at most. To begin a look-up is nothing beside reading so many, so whoever has more
/// loses nothing by being looked up one by one, and need not be copied after each commit that touches its chunk.
pub(crate) const VALUES_MAX: usize = 4096;

/// Values and subjects that are read between two questions whether to go on: so many take less than a millisecond.
const STEP_VALUES: usize = 8192;
const STEP_SUBJECTS: usize = 256;

/// Asked between steps whether to go on; its error ends the work.
pub type StopCheck<'c, E> = &'c mut dyn FnMut() -> Result<(), E>;

/// The objects of changed subjects.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ChangedValues {
    /// Ids of those that have an object, or may have, ascending.
    subjects: Vec<u64>,
    /// Where the objects of each begin, and the end of the last.
    starts: Vec<u32>,
    objects: Vec<u64>,
    /// Places of subjects whose objects are not told, ascending.
    untold: Vec<u32>,
    /// Ids of those that have none left, ascending.
    emptied: Vec<u64>,
}

impl ChangedValues {
    /// The subjects that the delta touches and that have an object now or must be looked up, ascending.
    pub fn subjects(&self) -> &[u64] {
        &self.subjects
    }

    /// The subjects that the delta touches and that have no object now, ascending.
    pub fn emptied(&self) -> &[u64] {
        &self.emptied
    }

    /// The only object of each subject; nothing if some have several or must be looked up.
    pub fn single_objects(&self) -> Option<&[u64]> {
        let is_single = self.untold.is_empty() && self.objects.len() == self.subjects.len();
        is_single.then_some(&self.objects)
    }

    /// The objects that the subject at this place has now; nothing if it must be looked up.
    #[inline]
    pub fn objects(&self, place: usize) -> Option<&[u64]> {
        if !self.untold.is_empty() && self.untold.binary_search(&(place as u32)).is_ok() {
            return None;
        }
        Some(&self.objects[self.starts[place] as usize..self.starts[place + 1] as usize])
    }

    /// The subjects that must be looked up, ascending.
    pub fn untold(&self) -> impl Iterator<Item = u64> + '_ {
        self.untold
            .iter()
            .map(|&place| self.subjects[place as usize])
    }

    /// Of touched subjects, pairs of a subject's place and an object, in any order, and the places that have none because they are not told.
    fn new(touched: &[u64], mut found: Vec<(u32, u64)>, untold: &[u32]) -> Self {
        found.sort_unstable();
        let mut new = Self::default();
        let mut untold = untold.iter().peekable();
        let mut found = found.into_iter().peekable();
        new.starts.push(0);
        for (place, &subject) in (0..).zip(touched) {
            let before = new.objects.len();
            while let Some((_, object)) = found.next_if(|(of, _)| *of == place) {
                new.objects.push(object);
            }
            if untold.next_if_eq(&&place).is_some() {
                new.untold.push(new.subjects.len() as u32);
            } else if new.objects.len() == before {
                new.emptied.push(subject);
                continue;
            }
            new.subjects.push(subject);
            new.starts.push(new.objects.len() as u32);
        }
        new
    }
}

/// The places of the chunks of one predicate, by the upper bits of ordinals.
#[derive(Clone, Debug, Default)]
pub(super) struct Chunks(SortedMap<u64, Arc<OnceLock<ChangedValues>>>);

/// The chunk of a resource.
pub(super) fn chunk_of(subject: TermId) -> u64 {
    subject.resource_ordinal().unwrap_or_default() >> CHUNK_BITS
}

impl Chunks {
    /// Has a chunk made anew by its next reader.
    pub(super) fn forget(&mut self, chunk: u64) {
        self.0.insert(chunk, Arc::default());
    }

    /// Those that have subjects from one to another, bounds included.
    fn within(
        &self,
        first: TermId,
        last: TermId,
    ) -> impl Iterator<Item = (u64, &OnceLock<ChangedValues>)> {
        let last = chunk_of(last);
        let from = self.0.from(&chunk_of(first));
        let within = from.take_while(move |(chunk, _)| **chunk <= last);
        within.map(|(chunk, values)| (*chunk, &**values))
    }
}

/// What the touched subjects of a chunk have now.
fn make<E: From<StoreError>>(
    version: &Version,
    delta: &super::Delta,
    predicate: TermId,
    chunk: u64,
    check: StopCheck<'_, E>,
) -> Result<ChangedValues, E> {
    let touched = match delta.of(predicate) {
        Some(changes) => touched(changes, chunk, check)?,
        None => Vec::new(),
    };
    let (mut told, mut untold) = (Vec::with_capacity(touched.len()), Vec::new());
    let mut tables = ReadBefore::new(version, predicate);
    for (place, &(subject, added)) in touched.iter().enumerate() {
        match tables.values_of(TermId(subject)) {
            Some(read) if read + added <= VALUES_MAX => told.push((place as u32, read + added)),
            _ => untold.push(place as u32),
        }
    }
    let mut found = Vec::new();
    let mut start = 0;
    // Termination: each step has at least one subject.
    while start < told.len() {
        check()?;
        let step = &told[step_from(&told, start)];
        start += step.len();
        let subject_at = |&(place, _): &(u32, usize)| touched[place as usize].0;
        let subjects: Vec<u64> = step.iter().map(subject_at).collect();
        let mut on_quad = |at: usize, object: TermId, _| found.push((step[at].0, object.0));
        let forward = Direction::Forward;
        overlay::neighbours(
            version,
            Some(delta),
            predicate,
            forward,
            &subjects,
            &mut on_quad,
        )?;
    }
    let touched: Vec<u64> = touched.into_iter().map(|(subject, _)| subject).collect();
    Ok(ChangedValues::new(&touched, found, &untold))
}

/// The subjects of a chunk that changes touch, ascending, with the number of their added quads as far as that matters.
fn touched<E>(
    changes: &PredicateDelta,
    chunk: u64,
    check: StopCheck<'_, E>,
) -> Result<Vec<(u64, usize)>, E> {
    let first = TermId::resource(chunk << CHUNK_BITS);
    let last = TermId(first.0 + (1 << CHUNK_BITS) - 1);
    let mut all = Vec::new();
    let mut passed = 0;
    for (quads, counted) in [(changes.added(), 1), (changes.removed(), 0)] {
        for (subject, count) in quads.subjects_within(first, last, VALUES_MAX) {
            if passed > STEP_VALUES {
                passed = 0;
                check()?;
            }
            passed += count;
            all.push((subject, count * counted));
        }
    }
    all.sort_unstable();
    all.dedup_by(|next, kept| {
        let is_same = next.0 == kept.0;
        if is_same {
            kept.1 += next.1;
        }
        is_same
    });
    Ok(all)
}

/// The end of the step that begins with a subject, of places with the number of their values.
fn step_from(told: &[(u32, usize)], start: usize) -> Range<usize> {
    let mut values = 0;
    let within = told[start..]
        .iter()
        .take(STEP_SUBJECTS)
        .take_while(|(_, count)| {
            values += count;
            values <= STEP_VALUES
        });
    let count = within.count();
    start..start + count.max(1)
}

/// Tells how many values of a version are read for a subject, of ascending ones.
struct ReadBefore<'a> {
    version: &'a Version,
    predicate: TermId,
    /// The table of the subject before, with its cells if there are lists among them.
    table_idx: Option<usize>,
    lists: Option<Cells<'a>>,
}

impl<'a> ReadBefore<'a> {
    fn new(version: &'a Version, predicate: TermId) -> Self {
        Self {
            version,
            predicate,
            table_idx: None,
            lists: None,
        }
    }

    /// The number of values in cells, at most; nothing if the version has, or may have, irregular quads.
    fn values_of(&mut self, subject: TermId) -> Option<usize> {
        let version = self.version;
        let Some((table_idx, row)) = version.extents.row_of(subject) else {
            return is_new(version, subject).then_some(0);
        };
        let table = &version.tables[table_idx];
        if self.table_idx != Some(table_idx) {
            self.table_idx = Some(table_idx);
            let cells = table.cells(self.predicate);
            self.lists = cells.filter(|cells| cells.multi_valued());
        }
        let irregular = table.dirty_rows(self.predicate);
        if irregular.is_some_and(|rows| rows.contains(row)) {
            return None;
        }
        Some(self.lists.map_or(1, |cells| cells.value_count(row)))
    }
}

/// Whether the chunks are what the delta's quads say.
pub(super) fn are_right(
    version: &Version,
    delta: &super::Delta,
    predicate: TermId,
    changes: &PredicateDelta,
) -> Result<bool, StoreError> {
    let both = [changes.added(), changes.removed()];
    let touched = both.into_iter().flat_map(|quads| quads.iter());
    let has_place = |subject| changes.chunks().0.contains(&chunk_of(subject));
    if !touched.into_iter().all(|(subject, ..)| has_place(subject)) {
        return Ok(false);
    }
    let nobody_stops: StopCheck<'_, StoreError> = &mut || Ok(());
    for (chunk, values) in changes.chunks().0.iter() {
        if let Some(known) = values.get()
            && *known != make(version, delta, predicate, *chunk, nobody_stops)?
        {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Snapshot {
    /// What the subjects that the delta touches with a predicate have of it now, for all from `first` to `last` and some
    /// of their neighbours: chunks in the order of their subjects. While chunks are made, `check` is asked more often than each
    /// millisecond.
    ///
    /// Errors: a block of the store is damaged; what `check` says. The chunks that were made by then stay, whole.
    pub fn changed_values<E: From<StoreError>>(
        &self,
        predicate: TermId,
        first: TermId,
        last: TermId,
        check: StopCheck<'_, E>,
    ) -> Result<Vec<&ChangedValues>, E> {
        let Some(delta) = self.delta() else {
            return Ok(Vec::new());
        };
        let Some(changes) = delta.of(predicate) else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for (chunk, values) in changes.chunks().within(first, last) {
            found.push(match values.get() {
                Some(known) => known,
                None => {
                    check()?;
                    // Two threads may make it; they make the same.
                    let made = make(self.parts(), delta, predicate, chunk, check)?;
                    values.get_or_init(|| made)
                }
            });
        }
        Ok(found)
    }
}
