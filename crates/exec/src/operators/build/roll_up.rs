//! Building a `RollUp`: the finer group's states, made by whoever asks first, then the groups.
//!
//! Where there is no room for the states, each group is made from the rows, which goes to files.

use super::Build;
use super::shared::FinerStates;
use super::through::{join_of, with_count_of_rows};
use crate::aggregate::{Aggregator, Groups, OPERATOR};
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::operators::group;
use crate::profile;
use basalt_plan::physical::{Aggregate, GroupThrough, Node, Op, RollUp, Slot};
use std::sync::Arc;

/// The finer group.
enum Finer<'p> {
    Rows {
        rows: &'p Node,
        keys: &'p [Slot],
        aggregates: &'p [Aggregate],
    },
    Through(&'p GroupThrough),
}

impl<'p> Finer<'p> {
    fn of(node: &'p Node) -> Result<Self, ExecError> {
        match &node.op {
            Op::Group {
                input,
                keys,
                aggregates,
            } => Ok(Self::Rows {
                rows: input,
                keys,
                aggregates,
            }),
            Op::GroupThrough(group) => Ok(Self::Through(group)),
            other => Err(ExecError::Internal(format!("no states of {other:?}"))),
        }
    }

    /// The rows that hold the arguments.
    fn rows(&self) -> &Node {
        match self {
            Self::Rows { rows, .. } => rows,
            Self::Through(group) => &group.rows,
        }
    }

    fn keys(&self) -> &[Slot] {
        match self {
            Self::Rows { keys, .. } => keys,
            Self::Through(group) => &group.keys,
        }
    }

    fn aggregates(&self) -> &[Aggregate] {
        match self {
            Self::Rows { aggregates, .. } => aggregates,
            Self::Through(group) => &group.aggregates,
        }
    }

    /// The aggregates whose states there are.
    fn states(&self) -> Vec<Aggregate> {
        match self {
            Self::Rows { aggregates, .. } => aggregates.to_vec(),
            Self::Through(group) => with_count_of_rows(group),
        }
    }
}

impl Build {
    /// All groups: the keys, then the aggregates.
    pub(super) fn rolled_up(&self, group: &RollUp, cx: &Context) -> Result<Groups, ExecError> {
        let finer = Finer::of(&group.finer)?;
        let keys: Vec<Slot> = group.keys.iter().map(|(_, finer)| *finer).collect();
        let slot = self.shared.finer_states(group.states);
        // What makes them reads none of the same number.
        let mut made = profile::waiting(|| slot.lock().expect("no holder panics"));
        if let FinerStates::Unmade = *made {
            *made = self.finer_states(&group.finer, &finer, cx)?;
        }
        let states = match &*made {
            FinerStates::Made(states) => Some(Arc::clone(states)),
            FinerStates::Unmade | FinerStates::TooMany => None,
        };
        drop(made);
        let Some(states) = states else {
            return self.rolled_up_from_rows(group, &finer, &keys, cx);
        };
        let aggregates = finer.states();
        let coarser = Aggregator::new(&aggregates, &keys, &finer.rows().schema, cx)?;
        let coarser = coarser.with_keys_of(&keys, finer.keys());
        let groups = states.rolled_up(coarser, cx)?;
        let places = group.aggregates.iter().map(|(_, slot)| {
            let mut all = aggregates.iter();
            let place = all.position(|aggregate| aggregate.slot == *slot);
            place.map(|place| keys.len() + place)
        });
        let columns: Vec<Option<usize>> = (0..keys.len()).map(Some).chain(places).collect();
        let groups = vec![groups.select_columns(&columns)];
        Ok(Groups::made(groups, HeldMemory::default()))
    }

    fn finer_states(
        &self,
        node: &Node,
        finer: &Finer<'_>,
        cx: &Context,
    ) -> Result<FinerStates, ExecError> {
        // What is shared among threads is of no use if it ends halfway.
        let apart = self.apart(cx);
        let profile = cx.profile();
        let made = profile.within(node.id, || match finer {
            Finer::Rows {
                rows,
                keys,
                aggregates,
            } => group::aggregate(rows, keys, aggregates, &apart, cx),
            Finer::Through(group) => apart.states_through(group, cx),
        });
        match made {
            Ok(states) => {
                profile.gave(node.id, Some(states.group_count()));
                profile.gave(node.id, None);
                Ok(FinerStates::Made(Arc::new(states)))
            }
            Err(ExecError::MemoryLimit {
                operator: OPERATOR, ..
            }) => Ok(FinerStates::TooMany),
            Err(error) => Err(error),
        }
    }

    /// The groups of all rows.
    fn rolled_up_from_rows(
        &self,
        group: &RollUp,
        finer: &Finer<'_>,
        keys: &[Slot],
        cx: &Context,
    ) -> Result<Groups, ExecError> {
        let asked = group.aggregates.iter().filter_map(|(_, slot)| {
            let mut all = finer.aggregates().iter();
            all.find(|aggregate| aggregate.slot == *slot).cloned()
        });
        let asked: Vec<Aggregate> = asked.collect();
        match finer {
            Finer::Rows { rows, .. } => group::groups(rows, keys, &asked, self, cx),
            Finer::Through(through) => {
                let join = join_of(&group.finer, through);
                group::groups(&join, keys, &asked, self, cx)
            }
        }
    }
}
