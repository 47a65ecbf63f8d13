//! Building a `GroupThrough`: rows aggregated first, then the pairs, then the groups.
//!
//! Where there is no room for the states, the join is made after all and grouped, which goes to files. Not for
//! groups of what is left of all rows, whose join would be all pairs, and not where a spool is below, whose rows others may be
//! waiting for.

use super::{Build, Shared, column_of, columns_of};
use crate::aggregate::{Aggregator, Grouping, Groups, OPERATOR, Through};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::operators::group;
use crate::operators::pipeline::drain;
use crate::profile;
use basalt_plan::physical::{
    Aggregate, AggregateFunction, Domain, GroupThrough, JoinKind, Node, Op, Slot, Total,
};
use std::sync::Arc;

impl Build {
    /// All groups: the keys, then the aggregates. `node` is that of the group.
    pub(super) fn groups_through(
        &self,
        node: &Node,
        group: &GroupThrough,
        cx: &Context,
    ) -> Result<Groups, ExecError> {
        let may_join = group.without.is_none()
            && self.outer.is_none()
            && !has_spool(&group.rows)
            && !has_spool(&group.pairs);
        if !may_join {
            return self.add_through(group, &self.shared, cx);
        }
        // What it shares among threads is of no use if it ends halfway.
        let attempt = self.apart(cx).add_through(group, &self.shared, cx);
        match attempt {
            Err(ExecError::MemoryLimit {
                operator: OPERATOR, ..
            }) => {
                let join = join_of(node, group);
                group::groups(&join, &group.keys, &group.aggregates, self, cx)
            }
            made => made,
        }
    }

    fn add_through(
        &self,
        group: &GroupThrough,
        shared: &Shared,
        cx: &Context,
    ) -> Result<Groups, ExecError> {
        let aggregates = with_count_of_rows(group);
        let states = match group.shared {
            None => None,
            Some(number) => Some(self.shared_states(group, &aggregates, (number, shared), cx)?),
        };
        let Some(domain) = &group.without else {
            return match states {
                Some(states) => Ok(whole(states.groups().read(cx)?)),
                None => {
                    let threads = self.through_by_thread(group, &aggregates, cx)?;
                    let grouping = Arc::new(Grouping {
                        aggregates,
                        keys: group.keys.clone(),
                        schema: group.rows.schema.clone(),
                    });
                    Through::finish_all(threads, &grouping, cx)
                }
            };
        };
        let states = match states {
            Some(states) => states,
            None => Arc::new(self.through(group, &aggregates, cx)?),
        };
        let batches = match domain {
            Domain::Rows(rows) => self.rows_of_domain(rows, &group.keys, cx)?,
            Domain::Pairs => {
                let keys = states.groups().group_keys();
                cx.reserve(keys.bytes(), "GroupThrough")?;
                vec![keys]
            }
        };
        let total = match &group.total {
            Some(Total::Rows(rows)) => group::aggregate(rows, &[], &aggregates, self, cx)?,
            Some(Total::Parts(Some(values))) => {
                let side = (values, &group.via[..], &[][..]);
                let parts = Arc::clone(states.parts());
                let sums = self.add_up(parts, side, (&aggregates, group), cx)?;
                merged(sums, cx)?.into_groups()
            }
            Some(Total::Parts(None)) | None => {
                let mut total = Aggregator::new(&aggregates, &[], &group.rows.schema, cx)?;
                total.add_total(states.parts(), cx)?;
                total
            }
        };
        let groups = states.groups().finish_without(&total, &batches, cx)?;
        cx.release(batches.iter().map(|batch| batch.bytes()).sum());
        Ok(whole(groups))
    }

    /// The states of the groups of rows with a pair, with their [counts](with_count_of_rows).
    pub(super) fn states_through(
        &self,
        group: &GroupThrough,
        cx: &Context,
    ) -> Result<Aggregator, ExecError> {
        let through = self.through(group, &with_count_of_rows(group), cx)?;
        Ok(through.into_groups())
    }

    /// The aggregates of the rows with a pair.
    fn through(
        &self,
        group: &GroupThrough,
        aggregates: &[Aggregate],
        cx: &Context,
    ) -> Result<Through, ExecError> {
        merged(self.through_by_thread(group, aggregates, cx)?, cx)
    }

    /// The same as each thread has them.
    fn through_by_thread(
        &self,
        group: &GroupThrough,
        aggregates: &[Aggregate],
        cx: &Context,
    ) -> Result<Vec<Through>, ExecError> {
        let GroupThrough {
            rows,
            pairs,
            via,
            keys,
            ..
        } = group;
        let parts = Arc::new(group::aggregate(rows, via, aggregates, self, cx)?);
        self.add_up(parts, (pairs, via, keys), (aggregates, group), cx)
    }

    /// The aggregates of rows, which are there by `via`, added up by `keys` for each of the pairs, as each thread has them.
    fn add_up(
        &self,
        parts: Arc<Aggregator>,
        (pairs, via, keys): (&Node, &[Slot], &[Slot]),
        (aggregates, group): (&[Aggregate], &GroupThrough),
        cx: &Context,
    ) -> Result<Vec<Through>, ExecError> {
        let columns = via.iter().map(|slot| column_of(&pairs.schema, *slot));
        let columns: Vec<usize> = columns.collect::<Result<_, _>>()?;
        let make = || {
            let groups = Aggregator::new(aggregates, keys, &group.rows.schema, cx)?;
            let groups = groups.with_keys_of(keys, &pairs.schema);
            let through = Through::new(Arc::clone(&parts), groups, columns.clone());
            // Others may have use for the keys.
            Ok(match group.shared {
                Some(_) => through.with_all_keys(),
                None => through,
            })
        };
        drain(pairs, self, cx, make)
    }

    /// The states of this number, made by the first group that asks for them.
    fn shared_states(
        &self,
        group: &GroupThrough,
        aggregates: &[Aggregate],
        (number, shared): (usize, &Shared),
        cx: &Context,
    ) -> Result<Arc<Through>, ExecError> {
        let slot = shared.states(number);
        // Whoever makes them reads none of the same number.
        let mut made = profile::waiting(|| slot.lock().expect("no holder panics"));
        if let Some(states) = &*made {
            return Ok(Arc::clone(states));
        }
        let states = Arc::new(self.through(group, aggregates, cx)?);
        *made = Some(Arc::clone(&states));
        Ok(states)
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

/// The aggregates, and a count of rows, which tells whether there are any.
pub(super) fn with_count_of_rows(group: &GroupThrough) -> Vec<Aggregate> {
    let count = Aggregate {
        slot: group.via[0],
        function: AggregateFunction::Count,
        argument: None,
        distinct: false,
    };
    let aggregates = group.aggregates.iter().cloned();
    aggregates.chain([count]).collect()
}

/// Groups that are made, for which nothing is held.
fn whole(groups: Batch) -> Groups {
    Groups::made(vec![groups], HeldMemory::default())
}

/// What all threads have grouped through the same parts.
fn merged(threads: Vec<Through>, cx: &Context) -> Result<Through, ExecError> {
    let mut threads = threads.into_iter();
    let first = threads.next();
    let mut all = first.ok_or_else(|| ExecError::Internal("groups of no thread".to_owned()))?;
    threads.try_for_each(|more| all.merge(more, cx))?;
    Ok(all)
}

/// Whether rows of a spool are read below.
fn has_spool(node: &Node) -> bool {
    matches!(node.op, Op::Spool { .. }) || node.op.children().into_iter().any(has_spool)
}

/// The join of pairs and rows. Its hash table goes by the number of the group's node, which has none itself.
pub(super) fn join_of(node: &Node, group: &GroupThrough) -> Node {
    let (pairs, rows) = (&group.pairs, &group.rows);
    let fresh = rows
        .schema
        .iter()
        .filter(|slot| !pairs.schema.contains(slot));
    Node {
        op: Op::HashJoin {
            left: Arc::new(pairs.clone()),
            right: Arc::new(rows.clone()),
            keys: group.via.clone(),
            compatible: Vec::new(),
            kind: JoinKind::Inner,
            filter: None,
            build_left: pairs.estimated_rows < rows.estimated_rows,
            partners: Vec::new(),
            nearest: None,
        },
        schema: pairs.schema.iter().chain(fresh).copied().collect(),
        certain: group.via.clone(),
        ..node.clone()
    }
}
