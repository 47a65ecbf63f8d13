//! Rows of a join that stand for all partners of a row that are in its range for certain.
//!
//! ```text
//! places of the key   . . [ a pair | a set of pairs: words say that the condition is true | a pair | a pair ] . .
//!                         range: words say that it may be
//! ```
//!
//! Partners near the bounds are asked for one by one, and are pairs. Of the others their number, the values at both ends and
//! their sums are known without looking at them. See `docs/decisions/0059-partners-as-sets.md`.

use super::joined::built;
use super::{Pairing, Pairs, Place, pairs_max, part};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::operators::range_order::Bounds;
use crate::value::INTEGER;
use basalt_rdf::TermId;
use std::ops::Range;

/// What the rows of a join tell of the sets that they stand for; columns are those of the build side.
#[derive(Clone, Copy, Debug)]
pub enum SetFunction {
    /// Partners.
    Count,
    /// Joined rows, of which a row without partner is one.
    Rows,
    /// The least value of the column that is in order.
    Least(usize),
    /// The greatest.
    Greatest(usize),
    /// The least value of another column, and its number among those that are asked for such.
    LeastOther(usize, usize),
    /// The greatest.
    GreatestOther(usize, usize),
    /// The sum of a column, and its number among those that have sums.
    Sum(usize, usize),
}

impl Pairing {
    /// Whether rows of such ranges stand for sets.
    pub(super) fn has_sets(&self, bounds: &Bounds) -> bool {
        !self.shape.partners.is_empty() && bounds.has_certain()
    }

    /// The sets, and the pairs beside them, of the next piece of a batch; returns where the following piece starts.
    pub(super) fn sets(
        &self,
        batch: &Batch,
        bounds: &Bounds,
        mut at: Place,
        cx: &Context,
    ) -> Result<(Pairs, Place), ExecError> {
        let (mut sets, mut beside) = (Pairs::default(), Pairs::default());
        let pairs_max = pairs_max(cx);
        let columns = self.sought_columns();
        let mut key = Vec::with_capacity(columns.len());
        while at.row < batch.rows() && sets.build.len() + beside.build.len() < pairs_max {
            key.clear();
            key.extend(columns.iter().map(|&column| batch.ids(column)[at.row]));
            let Some((order, rows)) = self.ordered(&key) else {
                break;
            };
            let is_of_one_key = order.is_of_one_key(rows.start);
            let places = order.places(rows, bounds, at.row);
            let certain = match is_of_one_key {
                true => order.certain_places(places.clone(), bounds, at.row),
                false => places.start..places.start,
            };
            if at.compared == 0 && !certain.is_empty() && self.is_of_key(&key, certain.start) {
                sets.probe.push(at.row as u32);
                sets.build.push(order.row_at(certain.start));
                sets.sets.push(certain.start as u32..certain.end as u32);
            }
            let (below, above) = (places.start..certain.start, certain.end..places.end);
            let left = pairs_max.saturating_sub(beside.build.len()).max(1);
            let run = at.compared..at.compared + left;
            let first = beside.build.len();
            for some in [part(&below, &run, 0), part(&above, &run, below.len())] {
                beside.build.extend(some.map(|place| order.row_at(place)));
            }
            self.keep_of_key(&key, first, &mut beside.build);
            beside.probe.resize(beside.build.len(), at.row as u32);
            if run.end < below.len() + above.len() {
                at.compared = run.end;
                break;
            }
            at = Place::of_row(at.row + 1);
        }
        self.keep_true(batch, Some(bounds), &mut beside, cx)?;
        Ok((sets.with(&beside), at))
    }

    /// Whether the build row at a place of the order has that key.
    fn is_of_key(&self, key: &[u64], place: usize) -> bool {
        let is_exact = key.is_empty() || self.table.directory().is_exact();
        let row = self.table.ranges().map(|order| order.row_at(place));
        is_exact || row.is_some_and(|row| self.table.has_key(row as usize, key))
    }

    /// What is told of the sets of pairs, as ids.
    pub(super) fn told(&self, pairs: &Pairs, function: SetFunction) -> Vec<u64> {
        let order = self.table.ranges();
        let number = |partners: usize| {
            let id = TermId::numeric(INTEGER, partners as i64, 0);
            id.map_or(0, |id| id.0)
        };
        let value = |column: usize, row: u32| built(self.table.column(column), row);
        let told = |(at, &row): (usize, &u32)| {
            let set = pairs.sets.get(at).filter(|set| !set.is_empty());
            let set = set.map(|set| set.start as usize..set.end as usize);
            match (function, set.zip(order)) {
                (SetFunction::Count | SetFunction::Rows, Some((set, _))) => number(set.len()),
                (SetFunction::Count, None) => number(usize::from(row != u32::MAX)),
                (SetFunction::Rows, None) => number(1),
                (SetFunction::Least(column), Some((set, order))) => {
                    value(column, order.row_at(order.least_place(set)))
                }
                (SetFunction::Greatest(column), Some((set, order))) => {
                    value(column, order.row_at(order.greatest_place(set)))
                }
                (SetFunction::Sum(_, sums), Some((set, order))) => order.sum(sums, set),
                (
                    SetFunction::LeastOther(column, number)
                    | SetFunction::GreatestOther(column, number),
                    Some((set, order)),
                ) => value(column, order.row_at(order.extreme_place(number, set))),
                (
                    SetFunction::Least(column)
                    | SetFunction::Greatest(column)
                    | SetFunction::LeastOther(column, _)
                    | SetFunction::GreatestOther(column, _)
                    | SetFunction::Sum(column, _),
                    None,
                ) => value(column, row),
            }
        };
        pairs.build.iter().enumerate().map(told).collect()
    }
}

impl Pairs {
    /// These sets with pairs beside them, by row.
    fn with(self, pairs: &Self) -> Self {
        let mut both = Self::default();
        let mut at = 0;
        let mut pairs_to = |both: &mut Self, row: u32| {
            let end = at + pairs.probe[at..].partition_point(|&own| own < row);
            both.append(pairs, at..end);
            at = end;
        };
        for (place, &row) in self.probe.iter().enumerate() {
            pairs_to(&mut both, row);
            both.append(&self, place..place + 1);
        }
        pairs_to(&mut both, u32::MAX);
        both
    }

    /// Appends some of others.
    pub(super) fn append(&mut self, others: &Self, some: Range<usize>) {
        let known = others.sets.len();
        let sets = &others.sets[some.start.min(known)..some.end.min(known)];
        if !sets.is_empty() {
            self.sets.resize(self.probe.len(), 0..0);
            self.sets.extend_from_slice(sets);
        }
        self.probe.extend_from_slice(&others.probe[some.clone()]);
        self.build.extend_from_slice(&others.build[some]);
    }
}
