//! The least or greatest ids of a column, where ids are ordered as their values.

use crate::value::order_within;
use basalt_rdf::TermId;
use std::cmp::Ordering;

/// The foremost of ids of one kind, which are ordered as their values.
struct Foremost {
    /// The bits that they have alike.
    mask: u64,
    id: u64,
    /// The first row that has it.
    row: usize,
}

impl Foremost {
    #[inline]
    fn is_like(&self, id: u64) -> bool {
        (self.id ^ id) & self.mask == 0
    }
}

/// The least or greatest of each kind of ids, in the order in which they come first; `None` if there are many kinds, or ids that are
/// not ordered as their values.
pub fn foremost(ids: &[u64], wanted: Ordering) -> Option<Vec<u64>> {
    const KINDS_MAX: usize = 8;
    let mut known: Vec<Foremost> = Vec::with_capacity(KINDS_MAX);
    let mut last = 0;
    for (row, &id) in ids.iter().enumerate() {
        if known.get(last).is_none_or(|kind| !kind.is_like(id)) {
            let found = known.iter().position(|kind| kind.is_like(id));
            last = found.unwrap_or(known.len());
            if last == KINDS_MAX {
                return None;
            }
            if last == known.len() {
                let mask = order_within(TermId(id))?;
                known.push(Foremost { mask, id, row });
            }
        }
        let kind = &mut known[last];
        if id.cmp(&kind.id) == wanted {
            (kind.id, kind.row) = (id, row);
        }
    }
    known.sort_unstable_by_key(|kind| kind.row);
    Some(known.into_iter().map(|kind| kind.id).collect())
}
