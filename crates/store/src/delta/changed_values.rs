//! What changed subjects have now, as columns.
//!
//! A scan reads cells column by column, and wants the subjects that the delta touches in the same way. So the quads of a
//! predicate that touched subjects have *now*, in cells, quad table and delta together, are kept as short columns, by chunk of
//! 1,024 neighbouring ordinals:
//!
//! ```text
//! predicate -> chunk -> subjects   3         17     40
//!                       starts     0         1      1       3
//!                       objects    "new"     -      "a" "b"       the second has none left
//! ```
//!
//! A chunk is made by who reads it first, of the state that he reads, and kept. A commit puts an empty one in the place of
//! each chunk of which it changes a quad; states share all others, so after a commit of a few quads only these are made again.
//!
//! Invariants: each subject that the delta touches with the predicate lies in a chunk that has a place; a chunk that is made holds
//! what a look-up of each touched subject gives, in the state in which it stands. Graphs are not told: who reads has asked
//! [`ChangePlaces`](super::ChangePlaces) whether they are what he expects. Cost: a tenth of a microsecond a subject to make,
//! memory of 12 bytes a subject and 8 a quad; reading is a search for the chunk.

use super::PredicateDelta;
use super::overlay;
use super::sorted_map::SortedMap;
use crate::error::StoreError;
use crate::neighbours::Direction;
use crate::snapshot::{Snapshot, Version};
use basalt_rdf::TermId;
use std::sync::{Arc, OnceLock};

/// Ordinals of a chunk have the same upper bits: few enough that a commit makes little be made again.
const CHUNK_BITS: u32 = 10;

/// The objects of changed subjects.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ChangedValues {
    /// Ids, ascending.
    subjects: Vec<u64>,
    /// Where the objects of each begin, and the end of the last.
    starts: Vec<u32>,
    objects: Vec<u64>,
}

impl ChangedValues {
    /// The subjects that the delta touches, ascending.
    pub fn subjects(&self) -> &[u64] {
        &self.subjects
    }

    /// The objects that the subject at this place has now.
    pub fn objects(&self, place: usize) -> &[u64] {
        &self.objects[self.starts[place] as usize..self.starts[place + 1] as usize]
    }

    /// Of pairs of a subject's place and an object, in any order.
    fn new(subjects: Vec<u64>, mut found: Vec<(u32, u64)>) -> Self {
        found.sort_unstable();
        let mut starts = vec![0; subjects.len() + 1];
        for (place, _) in &found {
            starts[*place as usize + 1] += 1;
        }
        for place in 0..subjects.len() {
            starts[place + 1] += starts[place];
        }
        Self {
            subjects,
            starts,
            objects: found.into_iter().map(|(_, object)| object).collect(),
        }
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
fn make(
    version: &Version,
    delta: &super::Delta,
    predicate: TermId,
    chunk: u64,
) -> Result<ChangedValues, StoreError> {
    let first = TermId::resource(chunk << CHUNK_BITS);
    let last = TermId(first.0 + (1 << CHUNK_BITS) - 1);
    let mut subjects = Vec::new();
    if let Some(changes) = delta.of(predicate) {
        for quads in [changes.added(), changes.removed()] {
            quads.subjects_within(first, last, &mut subjects);
        }
    }
    subjects.sort_unstable();
    subjects.dedup();
    let mut found = Vec::new();
    let mut on_quad = |place: usize, object: TermId, _| found.push((place as u32, object.0));
    let direction = Direction::Forward;
    overlay::neighbours(
        version,
        Some(delta),
        predicate,
        direction,
        &subjects,
        &mut on_quad,
    )?;
    Ok(ChangedValues::new(subjects, found))
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
    for (chunk, values) in changes.chunks().0.iter() {
        if let Some(known) = values.get()
            && *known != make(version, delta, predicate, *chunk)?
        {
            return Ok(false);
        }
    }
    Ok(true)
}

impl Snapshot {
    /// What the subjects that the delta touches with a predicate have of it now, for all from `first` to `last` and some
    /// of their neighbours: chunks in the order of their subjects.
    ///
    /// Errors: a block of the store is damaged.
    pub fn changed_values(
        &self,
        predicate: TermId,
        first: TermId,
        last: TermId,
    ) -> Result<Vec<&ChangedValues>, StoreError> {
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
                    // Two threads may make it; they make the same.
                    let made = make(self.parts(), delta, predicate, chunk)?;
                    values.get_or_init(|| made)
                }
            });
        }
        Ok(found)
    }
}
