//! Building a `GroupThrough`: rows aggregated first, then the pairs, then the groups.
//!
//! Where there is no room for the states, the join is made after all and grouped, which goes to files. Not for
//! groups of what is left of all rows, whose join would be all pairs, and not where a spool is below, whose rows others may be
//! waiting for.

use super::{Build, column_of, columns_of};
use crate::aggregate::{Aggregator, OPERATOR, Through};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::operators::group::{self, Made};
use crate::operators::pipeline::drain;
use basalt_plan::physical::{Aggregate, AggregateFunction, GroupThrough, JoinKind, Node, Op, Slot};
use std::sync::Arc;

impl Build {
    /// All groups: the keys, then the aggregates. `node` is that of the group.
    pub(super) fn groups_through(
        &self,
        node: &Node,
        group: &GroupThrough,
        cx: &Context,
    ) -> Result<Made, ExecError> {
        let may_join = group.without.is_none()
            && self.outer.is_none()
            && !has_spool(&group.rows)
            && !has_spool(&group.pairs);
        if !may_join {
            return self.add_through(group, cx).map(Made::Whole);
        }
        // What it shares among threads is of no use if it ends halfway.
        let attempt = Self::new(cx.shared()).add_through(group, cx);
        match attempt {
            Err(ExecError::MemoryLimit {
                operator: OPERATOR, ..
            }) => {
                let join = join_of(node, group);
                let groups = group::groups(&join, &group.keys, &group.aggregates, self, cx);
                groups.map(Made::Parts)
            }
            made => made.map(Made::Whole),
        }
    }

    fn add_through(&self, group: &GroupThrough, cx: &Context) -> Result<Batch, ExecError> {
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
        let parts = Arc::new(group::aggregate(rows, via, &aggregates, self, cx)?);
        let columns = via.iter().map(|slot| column_of(&pairs.schema, *slot));
        let columns: Vec<usize> = columns.collect::<Result<_, _>>()?;
        let make = || {
            let groups = Aggregator::new(&aggregates, keys, &rows.schema, cx)?;
            let groups = groups.with_keys_of(keys, &pairs.schema);
            Ok(Through::new(Arc::clone(&parts), groups, columns.clone()))
        };
        let mut sinks = drain(pairs, self, cx, make)?.into_iter();
        let mut through = sinks.next().map_or_else(make, Ok)?;
        sinks.try_for_each(|more| through.merge(more, cx))?;
        let Some(domain) = without else {
            return through.finish(cx);
        };
        let batches = self.rows_of_domain(domain, keys, cx)?;
        let groups = through.finish_without(&batches, cx)?;
        cx.release(batches.iter().map(|batch| batch.bytes()).sum());
        Ok(groups)
    }

    /// The rows of the domain, with the keys in order; counted. Distinct rows are found as groups without aggregates are,
    /// on all threads.
    fn rows_of_domain(
        &self,
        domain: &Node,
        keys: &[Slot],
        cx: &Context,
    ) -> Result<Vec<Batch>, ExecError> {
        let mut batches = Vec::new();
        if let Op::Distinct { input } = &domain.op
            && keys.len() == input.schema.len()
            && keys.iter().all(|key| input.schema.contains(key))
        {
            let profile = cx.profile();
            let mut found =
                profile.within(domain.id, || group::groups(input, keys, &[], self, cx))?;
            while let Some(batch) = profile.within(domain.id, || found.next(cx))? {
                profile.gave(domain.id, Some(batch.rows()));
                cx.reserve(batch.bytes(), "GroupThrough")?;
                batches.push(batch);
            }
            profile.gave(domain.id, None);
            return Ok(batches);
        }
        let columns = columns_of(keys, &domain.schema);
        let mut operator = self.operator(domain)?;
        while let Some(batch) = operator.next(cx)? {
            cx.reserve(batch.bytes(), "GroupThrough")?;
            batches.push(batch.select_columns(&columns));
        }
        Ok(batches)
    }
}

/// Whether rows of a spool are read below.
fn has_spool(node: &Node) -> bool {
    matches!(node.op, Op::Spool { .. }) || node.op.children().into_iter().any(has_spool)
}

/// The join of pairs and rows. Its hash table goes by the number of the group's node, which has none itself.
fn join_of(node: &Node, group: &GroupThrough) -> Node {
    let (pairs, rows) = (&group.pairs, &group.rows);
    let fresh = rows
        .schema
        .iter()
        .filter(|slot| !pairs.schema.contains(slot));
    Node {
        op: Op::HashJoin {
            left: Box::new(pairs.clone()),
            right: Box::new(rows.clone()),
            keys: group.via.clone(),
            compatible: Vec::new(),
            kind: JoinKind::Inner,
            filter: None,
            build_left: pairs.estimated_rows < rows.estimated_rows,
        },
        schema: pairs.schema.iter().chain(fresh).copied().collect(),
        certain: group.via.clone(),
        ..node.clone()
    }
}
