//! Key filters of finished build sides.
//!
//! A side that went to files makes none: its keys are not in one place, and its scans run without.

use super::{Build, column_of};
use crate::error::ExecError;
use crate::operators::build_side::BuildSide;
use crate::operators::key_filter::KeyFilter;
use basalt_plan::physical::{Node, Slot};
use std::sync::Arc;

impl Build {
    /// Makes the filters that a hash join node passes down, of its build side with these columns.
    pub(super) fn make_key_filters(
        &self,
        node: &Node,
        columns: &[Slot],
        side: &BuildSide,
    ) -> Result<(), ExecError> {
        for passed in &node.key_filters {
            let filter = match side {
                BuildSide::Spilled(_) => return Ok(()),
                // Such a side has one key, so that is what it passes down.
                BuildSide::Keys(keys) => Arc::clone(keys),
                BuildSide::Table(table) => {
                    let keys = table.column(column_of(columns, passed.slot)?);
                    Arc::new(KeyFilter::of(keys, &self.cx)?)
                }
            };
            self.shared.key_filters.put(passed.number, filter);
        }
        Ok(())
    }
}
