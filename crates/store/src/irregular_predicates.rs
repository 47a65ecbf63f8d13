//! Which predicates the irregular quads of a subject or an object have.
//!
//! For patterns with a variable predicate. PSOG and POSG are asked predicate by predicate; with many predicates
//! most of that is in vain, so once such questions have cost as much as reading the quads once, the
//! predicates of every subject outside the tables or of every object are kept in memory: sorted keys, offsets, 4 bytes for each
//! pair; and of each row of a table, whose dirty bits are asked predicate by predicate until then. Whatever comes, the work is
//! at most twice the best possible.

use crate::error::StoreError;
use crate::snapshot::Version;
use basalt_rdf::TermId;
use roaring::RoaringBitmap;
use std::convert::Infallible;
use std::ops::ControlFlow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

/// Asking one predicate takes some 30 ns, reading one quad and sorting it in some 30 ns too.
const QUADS_PER_QUESTION: u64 = 1;
/// So few predicates are asked one by one: that takes no longer than a cache miss or two.
const PREDICATES_MIN: usize = 16;

/// The two indexes, made when they have become worth it.
#[derive(Debug, Default)]
pub(crate) struct IrregularPredicates {
    subjects: LazyIndex,
    objects: LazyIndex,
}

/// An index that is made when questions have cost as much as making it.
#[derive(Debug, Default)]
pub(crate) struct LazyIndex {
    /// Predicates asked so far.
    asked: AtomicU64,
    index: OnceLock<PredicatesByKey>,
}

/// Indices of predicates by subject or object.
#[derive(Debug)]
struct PredicatesByKey {
    /// Ascending, each once.
    keys: Vec<u64>,
    /// Where the predicates of each key begin, and the end.
    offsets: Vec<u32>,
    /// Indices in the order of the quad table's predicates.
    predicates: Vec<u32>,
}

impl PredicatesByKey {
    fn of_pairs(mut pairs: Vec<(u64, u32)>) -> Self {
        pairs.sort_unstable();
        pairs.dedup();
        let mut keys = Vec::new();
        let mut offsets = Vec::new();
        for (i, (key, _)) in pairs.iter().enumerate() {
            if keys.last() != Some(key) {
                keys.push(*key);
                offsets.push(i as u32);
            }
        }
        offsets.push(pairs.len() as u32);
        let predicates = pairs.into_iter().map(|(_, predicate)| predicate).collect();
        Self {
            keys,
            offsets,
            predicates,
        }
    }

    fn find(&self, key: u64) -> &[u32] {
        match self.keys.binary_search(&key) {
            Ok(i) => &self.predicates[self.offsets[i] as usize..self.offsets[i + 1] as usize],
            Err(_) => &[],
        }
    }
}

impl LazyIndex {
    /// The index of so many pairs of a key and a predicate if there is one or it has become worth making; else counts one more question.
    fn get<E>(
        &self,
        predicates: usize,
        count: impl FnOnce() -> u64,
        pairs: impl FnOnce() -> Result<Vec<(u64, u32)>, E>,
    ) -> Result<Option<&PredicatesByKey>, E> {
        if let Some(index) = self.index.get() {
            return Ok(Some(index));
        }
        if predicates < PREDICATES_MIN {
            return Ok(None);
        }
        let count = count();
        if count >= u64::from(u32::MAX) {
            return Ok(None);
        }
        let asked = self.asked.fetch_add(predicates as u64, Ordering::Relaxed);
        if asked * QUADS_PER_QUESTION < count {
            return Ok(None);
        }
        let pairs = pairs()?;
        Ok(Some(
            self.index.get_or_init(|| PredicatesByKey::of_pairs(pairs)),
        ))
    }

    /// The predicates of a row, of those with their rows that are given.
    pub(crate) fn of_row(&self, predicates: &[(TermId, RoaringBitmap)], row: u32) -> Vec<TermId> {
        let count = || predicates.iter().map(|(_, rows)| rows.len()).sum();
        let pairs = || {
            let rows = (0_u32..).zip(predicates);
            let pairs = rows.flat_map(|(idx, (_, rows))| rows.iter().map(move |r| (r.into(), idx)));
            Ok(pairs.collect())
        };
        // To count takes as long as the question.
        let Ok::<_, Infallible>(index) = self.get(predicates.len(), count, pairs);
        match index {
            Some(index) => {
                let found = index.find(row.into()).iter();
                found.map(|&idx| predicates[idx as usize].0).collect()
            }
            None => {
                let of_row = predicates.iter().filter(|(_, rows)| rows.contains(row));
                of_row.map(|(predicate, _)| *predicate).collect()
            }
        }
    }
}

/// The index of the quad table's subjects outside the tables, or of its objects.
fn of_quads(version: &Version, by_object: bool) -> Result<Option<&PredicatesByKey>, StoreError> {
    let quad_table = &version.quad_table;
    let indexes = &version.irregular_predicates;
    let index = match by_object {
        true => &indexes.objects,
        false => &indexes.subjects,
    };
    let pairs = || {
        let mut pairs: Vec<(u64, u32)> = Vec::new();
        for (idx, (predicate, _)) in quad_table.predicates().enumerate() {
            let mut visit = |keys: &[u64]| {
                for &key in keys {
                    let pair = (key, idx as u32);
                    let wanted = by_object || version.extents.row_of(TermId(key)).is_none();
                    if pairs.last() != Some(&pair) && wanted {
                        pairs.push(pair);
                    }
                }
                ControlFlow::Continue(())
            };
            if by_object {
                quad_table.scan_by_object(predicate, &mut |_, objects, _| visit(objects))?;
            } else {
                quad_table.scan(predicate, &mut |subjects, _, _| visit(subjects))?;
            }
        }
        Ok(pairs)
    };
    index.get(
        quad_table.predicates().count(),
        || quad_table.quad_count(),
        pairs,
    )
}

/// The predicates that irregular quads of a subject outside the tables can have.
pub(crate) fn of_subject(version: &Version, subject: TermId) -> Result<Vec<TermId>, StoreError> {
    let index = of_quads(version, false)?;
    Ok(named(version, index, subject))
}

/// The predicates that irregular quads with this object can have.
pub(crate) fn of_object(version: &Version, object: TermId) -> Result<Vec<TermId>, StoreError> {
    let index = of_quads(version, true)?;
    Ok(named(version, index, object))
}

fn named(version: &Version, index: Option<&PredicatesByKey>, key: TermId) -> Vec<TermId> {
    match index {
        None => version.quad_table.predicates_of(None),
        Some(index) => {
            let found = index.find(key.0).iter();
            found
                .map(|&idx| version.quad_table.predicate_at(idx as usize))
                .collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_the_predicates_of_their_bitmaps_before_and_after_the_index_is_made() {
        let has = |predicate: u64, row: u32| (u64::from(row) * 7 + predicate * predicate) % 11 < 3;
        let rows_of = |predicate| {
            (0..50)
                .filter(|&row| row % 9 > 0 && has(predicate, row))
                .collect()
        };
        let dirty: Vec<(TermId, RoaringBitmap)> = (0..20)
            .map(|predicate| (TermId::resource(2 * predicate), rows_of(predicate)))
            .collect();
        let index = LazyIndex::default();
        for turn in 0..3 {
            for row in 0..60 {
                let expected: Vec<TermId> = dirty
                    .iter()
                    .filter(|(_, rows)| rows.contains(row))
                    .map(|(predicate, _)| *predicate)
                    .collect();
                assert_eq!(index.of_row(&dirty, row), expected);
            }
            assert!(turn == 0 || index.index.get().is_some());
        }
        assert!(LazyIndex::default().of_row(&dirty[..3], 1).len() <= 3);
    }
}
