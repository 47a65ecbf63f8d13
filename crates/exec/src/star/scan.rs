//! `StarScan`: a star read from its tables, morsel by morsel.
//!
//! Memory: one morsel's solutions. Order: tables in order, then new subjects, then what goes the general way.

use super::cells::CellPass;
use super::changed::{Home, rows_of_range};
use super::compiled::CompiledStar;
use super::general::GeneralPass;
use super::large::{one_after_the_other, take_out_large};
use super::matches::Matches;
use super::morsels::{Morsel, Morsels};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::operators::Operator;
use crate::operators::output::Output;
use crate::profile::current_node;
use basalt_plan::physical::Slot;
use std::sync::Arc;

/// What threads that scan the same star share.
pub struct SharedScan {
    /// The star.
    pub star: CompiledStar,
    /// The work.
    pub morsels: Morsels,
}

/// The operator; see the [module documentation](self).
pub struct StarScan {
    shared: Arc<SharedScan>,
    schema: Vec<Slot>,
    output: Output,
}

impl StarScan {
    /// A scan (or one thread's share of it) that produces the slots of `schema`.
    pub fn new(shared: Arc<SharedScan>, schema: Vec<Slot>) -> Self {
        Self {
            shared,
            schema,
            output: Output::default(),
        }
    }

    fn run(&self, morsel: &Morsel, cx: &Context) -> Result<Matches, ExecError> {
        let star = &self.shared.star;
        let read = |rows: usize| cx.profile().read(current_node(), rows);
        match morsel {
            Morsel::Range { table_idx, rows } => {
                let snapshot = cx.snapshot();
                let home = Home::Table(&snapshot.tables()[*table_idx]);
                let (rows, is_changed) = rows_of_range(star, *table_idx, rows.clone(), cx)?;
                if is_changed {
                    return self.changed(home, rows, cx);
                }
                let origin = vec![0; rows.len()];
                read(rows.len());
                CellPass::new(star, home, None, rows, origin).run(cx)
            }
            Morsel::Rows {
                table_idx,
                rows,
                satisfied,
            } => {
                let home = Home::Table(&cx.snapshot().tables()[*table_idx]);
                let origin = vec![0; rows.len()];
                read(rows.len());
                CellPass::new(star, home, None, rows.clone(), origin)
                    .with_satisfied(*satisfied)
                    .run(cx)
            }
            Morsel::Changed { table_idx, rows } => {
                let home = Home::Table(&cx.snapshot().tables()[*table_idx]);
                self.changed(home, rows.clone(), cx)
            }
            Morsel::New { rows, graph } => {
                let first = cx.snapshot().first_new_resource();
                let graph = *graph;
                self.changed(Home::New { first, graph }, rows.clone(), cx)
            }
            Morsel::General(subjects) => {
                cx.profile().read_one_by_one(current_node(), subjects.len());
                let mut pass = GeneralPass::new(star, None, cx);
                let subjects: Vec<_> = subjects.iter().map(|&subject| (0, subject)).collect();
                pass.subjects(&subjects, cx)?;
                pass.finish(cx)
            }
        }
    }
}

impl StarScan {
    /// Rows of which some may have changed, or new subjects.
    fn changed(
        &self,
        home: Home<'_>,
        mut rows: Vec<u32>,
        cx: &Context,
    ) -> Result<Matches, ExecError> {
        let star = &self.shared.star;
        let mut origin = vec![0; rows.len()];
        let large = take_out_large(star, home, &mut rows, &mut origin, cx)?;
        cx.profile().read(current_node(), rows.len());
        let mut matches = CellPass::new(star, home, None, rows, origin)
            .with_changes()
            .run(cx)?;
        if !large.is_empty() {
            matches.append(one_after_the_other(star, None, &large, cx)?);
        }
        Ok(matches)
    }
}

impl Operator for StarScan {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        loop {
            if let Some(batch) = self.output.take(cx) {
                return Ok(Some(batch));
            }
            cx.check()?;
            let shared = Arc::clone(&self.shared);
            let Some(morsel) = shared.morsels.take() else {
                return Ok(None);
            };
            let matches = self.run(morsel, cx)?;
            if !matches.is_empty() {
                self.output
                    .put(matches.into_batch(&self.schema, &shared.star.new_slots, None));
            }
        }
    }
}
