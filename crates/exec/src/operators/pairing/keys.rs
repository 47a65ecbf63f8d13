//! The columns by which the pairs of a batch and a table are found.
//!
//! Keys are certain on both sides. A table may be by further shared columns that none of its rows lacks: batches of which no row lacks them find their
//! partners by these, too, and others in a second table, which is made when one comes.

use super::Pairing;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::operators::hash_join::{JoinShape, Source};
use crate::operators::join_table::JoinTable;
use std::sync::Arc;

/// The columns by which pairs are found, and those that are compared.
#[derive(Clone)]
pub(super) struct Keys {
    /// Key columns of the probe side, in the table's key order.
    pub(super) probe: Vec<usize>,
    /// Other shared columns: (probe column, build column).
    pub(super) compatible: Vec<(usize, usize)>,
    /// Of the key columns those at the end that a row may lack.
    lacked: Vec<usize>,
}

impl Keys {
    fn of(shape: &JoinShape, table: &JoinTable) -> Self {
        let lacked = table.lacked_columns();
        let probe_of = |column: &usize| {
            let mut shared = shape.compatible.iter();
            shared.find_map(|(probe, build)| (build == column).then_some(*probe))
        };
        let lacked_probe: Vec<usize> = lacked.iter().filter_map(probe_of).collect();
        let mut compatible = shape.compatible.clone();
        compatible.retain(|(_, build)| !lacked.contains(build));
        Self {
            probe: [shape.probe_keys.as_slice(), &lacked_probe].concat(),
            compatible,
            lacked: lacked_probe,
        }
    }
}

impl Pairing {
    /// Pairs with the rows of a table, all columns of which come out as these say.
    pub fn new(table: Arc<JoinTable>, shape: Arc<JoinShape>, sources: Vec<Source>) -> Self {
        Self {
            keys: Keys::of(&shape, &table),
            table,
            shape,
            sources,
        }
    }

    /// The same with another table.
    pub fn with_table(&self, table: Arc<JoinTable>) -> Self {
        Self::new(table, Arc::clone(&self.shape), self.sources.clone())
    }

    /// Whether some row of a batch lacks a key column.
    pub(super) fn lacks_keys(&self, batch: &Batch) -> bool {
        let mut lacked = self.keys.lacked.iter();
        lacked.any(|&column| batch.ids(column).contains(&0))
    }

    /// The same pairs, of rows that may lack key columns.
    pub(super) fn loose(&self, cx: &Context) -> Result<Self, ExecError> {
        let own = self.table.key_columns();
        let certain = &own[..own.len() - self.keys.lacked.len()];
        let half_key = match certain {
            [] => self
                .shape
                .compatible
                .iter()
                .take(1)
                .map(|shared| shared.1)
                .collect(),
            certain => certain.to_vec(),
        };
        Ok(self.with_table(self.table.loose(&half_key, cx)?))
    }
}
