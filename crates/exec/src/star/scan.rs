//! `StarScan`: a star read from its tables, morsel by morsel.
//!
//! Memory: one morsel's solutions. Order: tables in order, clean rows before general subjects.

use super::cells::CellPass;
use super::compiled::CompiledStar;
use super::general::GeneralPass;
use super::matches::Matches;
use super::morsels::{Morsel, Morsels};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::operators::Operator;
use crate::operators::output::Output;
use crate::profile::current_node;
use basalt_plan::physical::Slot;
use roaring::RoaringBitmap;
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
                let table = &cx.snapshot().tables()[*table_idx];
                let rows = clean_rows(rows.start, rows.end, &star.dirty[*table_idx]);
                let origin = vec![0; rows.len()];
                read(rows.len());
                CellPass::new(star, table, None, rows, origin).run(cx)
            }
            Morsel::Rows {
                table_idx,
                rows,
                satisfied,
            } => {
                let table = &cx.snapshot().tables()[*table_idx];
                let origin = vec![0; rows.len()];
                read(rows.len());
                CellPass::new(star, table, None, rows.clone(), origin)
                    .with_satisfied(*satisfied)
                    .run(cx)
            }
            Morsel::General(subjects) => {
                read(subjects.len());
                let mut pass = GeneralPass::new(star, None, cx);
                let subjects: Vec<_> = subjects.iter().map(|&subject| (0, subject)).collect();
                pass.subjects(&subjects, cx)?;
                pass.finish(cx)
            }
        }
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

/// The rows from `start` to `end` that are not dirty.
fn clean_rows(start: u32, end: u32, dirty: &RoaringBitmap) -> Vec<u32> {
    if dirty.range_cardinality(start..end) == 0 {
        (start..end).collect()
    } else {
        (start..end).filter(|&row| !dirty.contains(row)).collect()
    }
}
