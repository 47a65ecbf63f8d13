//! Building a `GroupThrough`: rows aggregated first, then the pairs, then the groups.

use super::{Build, column_of, columns_of};
use crate::aggregate::{Aggregator, Through};
use crate::context::Context;
use crate::error::ExecError;
use crate::operators::{BoxOperator, group};
use basalt_plan::physical::{Aggregate, AggregateFunction, Node, Op, Slot};

impl Build {
    /// The operator of a `GroupThrough` node.
    pub(super) fn group_through(&self, node: &Node) -> Result<BoxOperator, ExecError> {
        let Op::GroupThrough {
            keys, aggregates, ..
        } = &node.op
        else {
            return Err(ExecError::Internal("not a group through pairs".into()));
        };
        let made = keys
            .iter()
            .copied()
            .chain(aggregates.iter().map(|a| a.slot));
        let columns = columns_of(&node.schema, &made.collect::<Vec<Slot>>());
        let (build, node) = (self.clone(), node.clone());
        let collect: group::Collect = Box::new(move |cx| build.groups_through(&node, cx));
        Ok(Box::new(group::Group::new(collect, columns)))
    }

    fn groups_through(&self, node: &Node, cx: &Context) -> Result<crate::batch::Batch, ExecError> {
        let Op::GroupThrough {
            rows,
            pairs,
            via,
            keys,
            aggregates,
            without,
        } = &node.op
        else {
            return Err(ExecError::Internal("not a group through pairs".into()));
        };
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
