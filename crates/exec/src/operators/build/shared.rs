//! `Shared`: what all threads of a query, or all evaluations for an outer row, have together.

use crate::aggregate::{Aggregator, Through};
use crate::operators::build_side::BuildSide;
use crate::operators::key_filter::MadeFilters;
use crate::operators::shared_rows::SharedRows;
use crate::operators::spool;
use crate::star::scan::SharedScan;
use basalt_plan::physical::Node;
use hashbrown::HashMap;
use std::sync::{Arc, Mutex};

/// What all threads, or all evaluations for an outer row, have together, by node id.
#[derive(Default)]
pub struct Shared {
    pub(super) scans: Mutex<HashMap<usize, Arc<SharedScan>, std::hash::RandomState>>,
    pub(super) tables: Mutex<HashMap<usize, BuildSide, std::hash::RandomState>>,
    pub(super) rows: Mutex<HashMap<usize, Arc<SharedRows>, std::hash::RandomState>>,
    pub(super) key_filters: Arc<MadeFilters>,
    /// By the number of the spool.
    spools: Mutex<HashMap<usize, Arc<spool::SpooledRows>, std::hash::RandomState>>,
    /// By the number that groups share.
    states: Mutex<HashMap<usize, Arc<SharedStates>, std::hash::RandomState>>,
    /// By the number of the states.
    finer: Mutex<HashMap<usize, Arc<Mutex<FinerStates>>, std::hash::RandomState>>,
}

/// The states that coarser groups are made from.
#[derive(Default)]
pub enum FinerStates {
    /// Nobody has asked.
    #[default]
    Unmade,
    Made(Arc<Aggregator>),
    /// There was no room.
    TooMany,
}

/// Aggregates by key with those that they were added up from, once somebody has made them.
pub type SharedStates = Mutex<Option<Arc<Through>>>;

impl Shared {
    /// Nothing but these key filters.
    pub(super) fn with_filters(key_filters: &Arc<MadeFilters>) -> Self {
        Self {
            key_filters: Arc::clone(key_filters),
            ..Self::default()
        }
    }

    /// The build side of a hash join, once somebody has made it.
    pub(super) fn table(&self, node: &Node) -> Option<BuildSide> {
        let tables = self.tables.lock().expect("no holder panics");
        tables.get(&node.id).cloned()
    }

    /// The rows of a spool.
    pub(super) fn spooled_rows(&self, spool: usize) -> Arc<spool::SpooledRows> {
        let mut spools = self.spools.lock().expect("no holder panics");
        Arc::clone(spools.entry(spool).or_default())
    }

    /// The states of this number.
    pub(super) fn states(&self, number: usize) -> Arc<SharedStates> {
        let mut states = self.states.lock().expect("no holder panics");
        Arc::clone(states.entry(number).or_default())
    }

    /// The states of this number that coarser groups are made from.
    pub(super) fn finer_states(&self, number: usize) -> Arc<Mutex<FinerStates>> {
        let mut finer = self.finer.lock().expect("no holder panics");
        Arc::clone(finer.entry(number).or_default())
    }
}
