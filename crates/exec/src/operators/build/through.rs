//! Building a `GroupThrough`: rows aggregated first, then the pairs, then the groups.

use super::{Build, column_of, columns_of};
use crate::aggregate::{Aggregator, Through};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::operators::group;
use basalt_plan::physical::{Aggregate, AggregateFunction, GroupThrough};

impl Build {
    /// All groups: the keys, then the aggregates.
    pub(super) fn groups_through(
        &self,
        group: &GroupThrough,
        cx: &Context,
    ) -> Result<Batch, ExecError> {
        let GroupThrough {
            rows,
            pairs,
            via,
            keys,
            aggregates,
            without,
        } = group;
        let mut aggregates = aggregates.clone();
        aggregates.push(Aggregate {
            slot: via[0],
            function: AggregateFunction::Count,
            argument: None,
            distinct: false,
        });
        let parts = group::aggregate(rows, via, &aggregates, self, cx)?;
        let groups = Aggregator::new(&aggregates, keys, &rows.schema, cx)?;
        let columns = via.iter().map(|slot| column_of(&pairs.schema, *slot));
        let groups = groups.with_keys_of(keys, &pairs.schema);
        let mut through = Through::new(parts, groups, columns.collect::<Result<_, _>>()?);
        let mut operator = self.operator(pairs)?;
        while let Some(batch) = operator.next(cx)? {
            through.add(&batch, cx)?;
        }
        let Some(domain) = without else {
            return through.finish(cx);
        };
        let columns = columns_of(keys, &domain.schema);
        let mut operator = self.operator(domain)?;
        let mut batches = Vec::new();
        while let Some(batch) = operator.next(cx)? {
            cx.reserve(batch.bytes(), "GroupThrough")?;
            batches.push(batch.select_columns(&columns));
        }
        let groups = through.finish_without(&batches, cx)?;
        cx.release(batches.iter().map(|batch| batch.bytes()).sum());
        Ok(groups)
    }
}
