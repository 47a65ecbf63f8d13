//! Pairs of a join whose condition bounds the partners of a row: only those in range are compared.

use super::{Pairing, Pairs, Place, pairs_max, part};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::CompiledExpr;
use crate::operators::hash_join::Source;
use crate::operators::range_order::{Bounds, RangeOrder};
use basalt_plan::physical::RangeEnd;
use std::ops::Range;

/// Rows and bounds of blocks that a piece looks at for each pair that it may have: some tenths of a millisecond in all.
const LOOKS_FOR_PAIR: usize = 16;

impl Pairing {
    /// The ranges of the rows of a batch, if the build rows are in order.
    pub(super) fn bounds(&self, batch: &Batch, cx: &Context) -> Result<Option<Bounds>, ExecError> {
        match (self.table.ranges(), &self.shape.ranges) {
            (Some(order), Some(ranges)) => order.bounds(&ranges.exprs, batch, cx).map(Some),
            _ => Ok(None),
        }
    }

    /// What is to be asked of candidates: all of the condition, or what their words do not tell.
    pub(super) fn condition(
        &self,
        bounds: Option<&Bounds>,
    ) -> Option<&(CompiledExpr, Vec<Source>)> {
        match (bounds, &self.shape.ranges) {
            (Some(bounds), Some(ranges)) if bounds.are_all => ranges.rest.as_ref(),
            _ => self.shape.filter.as_ref(),
        }
    }

    /// Whether the first row in range is a partner, if there is one.
    pub(super) fn is_decided_by_first(&self, bounds: &Bounds) -> bool {
        let order = self.table.ranges();
        order.is_some_and(|order| order.is_decided_by_first(bounds))
            && self.condition(Some(bounds)).is_none()
    }

    /// The order of the build rows, and where those with this key lie in it.
    pub(super) fn ordered(&self, key: &[u64]) -> Option<(&RangeOrder, Range<usize>)> {
        let rows = match key {
            [] => 0..self.table.rows(),
            key => self.table.directory().stretch(key),
        };
        Some((self.table.ranges()?, rows))
    }

    /// Drops those of the rows from `first` on whose key is another.
    pub(super) fn keep_of_key(&self, key: &[u64], first: usize, rows: &mut Vec<u32>) {
        if key.is_empty() || self.table.directory().is_exact() {
            return;
        }
        let mut kept = first;
        for at in first..rows.len() {
            if self.table.has_key(rows[at] as usize, key) {
                rows[kept] = rows[at];
                kept += 1;
            }
        }
        rows.truncate(kept);
    }

    /// Appends the rows that a row of a batch is compared with: of those with its key that are in its first range, a run. Says
    /// how many are.
    pub(super) fn partners_in_range(
        &self,
        (bounds, row): (&Bounds, u32),
        key: &[u64],
        run: &Range<usize>,
        out: &mut Vec<u32>,
    ) -> usize {
        let Some((order, rows)) = self.ordered(key) else {
            return 0;
        };
        let (first, row) = (out.len(), row as usize);
        // Where hashes agree the first may have another key.
        let is_of_key = key.is_empty() || self.table.directory().is_exact();
        let places = match is_of_key && self.is_decided_by_first(bounds) {
            true => order.place(rows, bounds, row),
            false => order.places(rows, bounds, row),
        };
        let some = part(&places, run, 0);
        let mut looks = usize::MAX;
        order.rows_into(some, (bounds, row), usize::MAX, &mut looks, out);
        self.keep_of_key(key, first, out);
        places.len()
    }

    /// The places at an end of some that are in range, if the words there tell that all others lie further from it and the row there has this key; else all.
    fn nearest(
        &self,
        places: Range<usize>,
        bounds: &Bounds,
        key: &[u64],
        end: RangeEnd,
    ) -> Range<usize> {
        let found = self.table.ranges().and_then(|order| {
            let nearest = order.nearest(places.clone(), bounds, end)?;
            let row = order.row_at(nearest.start) as usize;
            let is_of_key =
                key.is_empty() || self.table.directory().is_exact() || self.table.has_key(row, key);
            is_of_key.then_some(nearest)
        });
        found.unwrap_or(places)
    }

    /// Pairs of the next piece of a batch; returns where the following piece starts.
    pub(super) fn candidates_in_range(
        &self,
        batch: &Batch,
        bounds: &Bounds,
        mut at: Place,
        cx: &Context,
    ) -> (Pairs, Place) {
        let mut pairs = Pairs::default();
        let pairs_max = pairs_max(cx);
        let mut looks = pairs_max * LOOKS_FOR_PAIR;
        let columns = self.sought_columns();
        let mut key = Vec::with_capacity(columns.len());
        while at.row < batch.rows() && pairs.build.len() < pairs_max && looks > 0 {
            key.clear();
            key.extend(columns.iter().map(|&column| batch.ids(column)[at.row]));
            let Some((order, rows)) = self.ordered(&key) else {
                break;
            };
            looks -= 1;
            let first = pairs.build.len();
            let mut places = order.places(rows, bounds, at.row);
            if let Some(end) = self.shape.nearest {
                places = self.nearest(places, bounds, &key, end);
            }
            let from = places.start + at.compared;
            let end = order.rows_into(
                from..places.end,
                (bounds, at.row),
                pairs_max - first,
                &mut looks,
                &mut pairs.build,
            );
            self.keep_of_key(&key, first, &mut pairs.build);
            pairs.probe.resize(pairs.build.len(), at.row as u32);
            if end < places.end {
                at.compared = end - places.start;
                break;
            }
            at = Place::of_row(at.row + 1);
        }
        (pairs, at)
    }
}
