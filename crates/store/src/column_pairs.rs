//! What is known of pairs of columns: how many partners the values of one have in another.
//!
//! Planning asks it for joins of two objects, and an answer takes some hundred look-ups in an inverse. Columns of a version
//! never change, so what was worked out once is kept with the version. Memory: one entry for each question, bounded.

use basalt_rdf::TermId;
use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

/// Answers kept; a store has fewer pairs of columns that queries join.
const PAIRS_MAX: usize = 4096;

/// Cells of one predicate in some tables.
pub type PredicateCells = (Vec<usize>, TermId);

/// The answers so far.
#[derive(Debug, Default)]
pub(crate) struct ColumnPairs(Mutex<HashMap<(PredicateCells, PredicateCells), Option<f64>>>);

impl ColumnPairs {
    /// The answer for a pair, made by `work_out` unless it is known.
    pub(crate) fn partners(
        &self,
        pair: (PredicateCells, PredicateCells),
        work_out: impl FnOnce() -> Option<f64>,
    ) -> Option<f64> {
        let lock = || self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = lock().get(&pair) {
            return *known;
        }
        // Not under the lock: others ask for other pairs meanwhile.
        let partners = work_out();
        let mut known = lock();
        if known.len() < PAIRS_MAX {
            known.insert(pair, partners);
        }
        partners
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pair_is_worked_out_once() {
        let pairs = ColumnPairs::default();
        let pair = |tables: &[usize]| ((tables.to_vec(), TermId(1)), (vec![0], TermId(2)));
        assert_eq!(pairs.partners(pair(&[0]), || Some(2.5)), Some(2.5));
        assert_eq!(pairs.partners(pair(&[0]), || Some(7.0)), Some(2.5));
        assert_eq!(pairs.partners(pair(&[0, 1]), || None), None);
        assert_eq!(pairs.partners(pair(&[0, 1]), || Some(7.0)), None);
    }
}
