//! Key filters of finished build sides.
//!
//! A side that went to files makes none: its keys are not in one place, and its scans run without.

use super::{Build, column_of};
use crate::error::ExecError;
use crate::operators::build_side::BuildSide;
use crate::operators::key_filter::KeyFilter;
use basalt_plan::physical::{Node, Slot};

impl Build {
    /// Makes the filters that a hash join node passes down, of its build side with these columns.
    pub(super) fn make_key_filters(
        &self,
        node: &Node,
        columns: &[Slot],
        side: &BuildSide,
    ) -> Result<(), ExecError> {
        let BuildSide::Table(table) = side else {
            return Ok(());
        };
        for passed in &node.key_filters {
            let keys = table.column(column_of(columns, passed.slot)?);
            let filter = KeyFilter::of(keys, &self.cx)?;
            self.shared.key_filters.put(passed.number, filter);
        }
        Ok(())
    }
}
