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
use super::reducer::Reducers;
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
    /// The key filters.
    pub reducers: Reducers,
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
        let shared = &self.shared;
        let (star, reducers) = (&shared.star, &shared.reducers);
        match morsel {
            Morsel::Range { table_idx, rows } => {
                let snapshot = cx.snapshot();
                let table = &snapshot.tables()[*table_idx];
                let none = Matches::new(star.new_slots.len());
                if !reducers.may_have_rows(star, table, rows, cx) {
                    return Ok(none);
                }
                let (left, is_changed) = rows_of_range(star, *table_idx, rows.clone(), cx)?;
                if is_changed {
                    return self.changed(Home::Table(table), left, cx);
                }
                match reducers.may_have_cells(star, table, rows, cx) {
                    true => self.pass_of_wanted(Home::Table(table), left, cx).run(cx),
                    false => Ok(none),
                }
            }
            Morsel::Rows {
                table_idx,
                rows,
                satisfied,
            } => {
                let home = Home::Table(&cx.snapshot().tables()[*table_idx]);
                let pass = self.pass_of_wanted(home, rows.clone(), cx);
                pass.with_satisfied(*satisfied).run(cx)
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
                let mut subjects: Vec<_> = subjects.iter().map(|&subject| (0, subject)).collect();
                reducers.retain_subjects(star, &mut subjects, cx);
                cx.profile().read_one_by_one(current_node(), subjects.len());
                let mut pass = GeneralPass::new(star, None, cx);
                pass.subjects(&subjects, cx)?;
                let mut matches = pass.finish(cx)?;
                reducers.retain_matches(star, &mut matches, cx);
                Ok(matches)
            }
        }
    }

    /// A pass over candidate rows, without those that key filters of the subject turn away.
    fn pass_of_wanted<'a>(
        &'a self,
        home: Home<'a>,
        mut rows: Vec<u32>,
        cx: &Context,
    ) -> CellPass<'a> {
        let SharedScan { star, reducers, .. } = &*self.shared;
        reducers.retain_rows(star, home, &mut rows, cx);
        self.pass(home, rows, cx)
    }

    /// A pass over rows that key filters of the subject let through.
    fn pass<'a>(&'a self, home: Home<'a>, rows: Vec<u32>, cx: &Context) -> CellPass<'a> {
        let shared = &self.shared;
        cx.profile().read(current_node(), rows.len());
        let origin = vec![0; rows.len()];
        CellPass::new(&shared.star, home, None, rows, origin)
            .with_reducers(shared.reducers.objects(&shared.star))
    }

    /// Rows of which some may have changed, or new subjects.
    fn changed(
        &self,
        home: Home<'_>,
        mut rows: Vec<u32>,
        cx: &Context,
    ) -> Result<Matches, ExecError> {
        let (star, reducers) = (&self.shared.star, &self.shared.reducers);
        reducers.retain_rows(star, home, &mut rows, cx);
        let mut origin = vec![0; rows.len()];
        let large = take_out_large(star, home, &mut rows, &mut origin, cx)?;
        let mut matches = self.pass(home, rows, cx).with_changes().run(cx)?;
        if !large.is_empty() {
            let mut of_large = one_after_the_other(star, None, &large, cx)?;
            reducers.retain_matches(star, &mut of_large, cx);
            matches.append(of_large);
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
