//! Groups from the states of finer ones: those that agree in some of the keys are added up.
//!
//! ```text
//! by (country, year)  ->  by country: the states of all years     one addition for each finer group and aggregate
//! ```

use super::{Aggregator, CHECK_GROUPS};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;

impl Aggregator {
    /// One row for each group of `coarser`, as [`Self::finish`] gives them. `coarser` has seen nothing and aggregates like this one; its keys are some of the
    /// keys here.
    pub fn rolled_up(&self, mut coarser: Self, cx: &Context) -> Result<Batch, ExecError> {
        let count = self.groups.count();
        for start in (0..count).step_by(CHECK_GROUPS) {
            cx.check()?;
            let groups = start..count.min(start + CHECK_GROUPS);
            coarser.find_groups(&self.keys_of(groups.clone()));
            coarser.grow();
            let moves = groups.map(|group| group as u32);
            let moves = moves.zip(coarser.group_numbers.iter().copied());
            let moves: Vec<(u32, u32)> = moves.collect();
            for (column, finer) in coarser.columns.iter_mut().zip(&self.columns) {
                column
                    .accumulator
                    .add_states(&finer.accumulator, &moves, cx)?;
            }
            coarser.account(cx)?;
        }
        coarser.finish(cx)
    }

    /// The number of groups.
    pub fn group_count(&self) -> usize {
        self.groups.count()
    }
}
