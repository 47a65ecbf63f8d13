//! DELETE and INSERT for the solutions of a pattern.
//!
//! The pattern is planned and run as a SELECT of the variables in the templates, on the data as the operations
//! before have left it; its solutions become two sets of quads as they come. Only when the last one is there is
//! anything changed.
//!
//! Cost: that of the query, and the quads of both sets.

use super::quad_set::{Owner, QuadSet};
use super::request::Modify;
use super::run::{Run, Ticks};
use super::template::{Interning, Template, columns_of, is_legal, is_stored};
use crate::error::Error;
use crate::statistics::SnapshotStatistics;
use crate::transactions::ChangeCounts;
use basalt_exec::{Context, ExecOptions, Execution, execute};
use basalt_plan::physical::{Form, Slot};
use basalt_plan::plan;
use basalt_store::Snapshot;
use std::sync::Arc;

/// The solutions of the pattern, and the slots of the variables in the templates.
struct Solutions {
    execution: Execution,
    slots: Vec<Slot>,
}

/// The owner of the sets while the query runs: its memory and its time.
struct InQuery<'c> {
    cx: &'c Context,
    ticks: Ticks,
}

impl Owner for InQuery<'_> {
    fn reserve(&mut self, bytes: usize) -> bool {
        let reserved = self.cx.reserve(bytes, "the changes of the update");
        reserved.is_ok()
    }

    fn tick(&mut self) -> Result<(), Error> {
        match self.ticks.are_due(1) {
            true => Ok(self.cx.check()?),
            false => Ok(()),
        }
    }
}

impl Run<'_, '_> {
    /// Runs the operation.
    pub(super) fn modify(&mut self, modify: &Modify) -> Result<ChangeCounts, Error> {
        let snapshot = self.snapshot().clone();
        let Solutions { execution, slots } = self.solutions(modify, &snapshot)?;
        let columns = columns_of(&execution, &slots);
        let (removed, made, execution) = self
            .instantiate(modify, &snapshot, execution, &columns)
            .map_err(|error| self.whole_error(error))?;
        // The sets of the query are accounted for from here on by the request.
        let (removed, made) = (removed.finish(self)?, made.finish(self)?);
        let removed = self.take_over(removed)?;
        let mut added = self.set();
        let mut interning = Interning::new(execution.terms(), &snapshot);
        made.visit(&mut |quad| {
            let quad = interning.quad(quad)?;
            self.put(&mut added, quad)
        })?;
        drop((made, execution));
        let added = added.finish(self)?;
        self.apply(removed, added)
    }

    fn solutions(&self, modify: &Modify, snapshot: &Snapshot) -> Result<Solutions, Error> {
        let options = &self.options.query;
        let statistics = SnapshotStatistics::new(snapshot);
        let plan = plan(&modify.query, None, &statistics, &options.plan_options())?;
        let Form::Select(slots) = &plan.form else {
            return Err(Error::Internal(
                "the plan of a pattern selects nothing".into(),
            ));
        };
        let slots = slots.clone();
        let exec = ExecOptions {
            base_iri: modify.base.clone(),
            timeout: self.time_left(),
            memory_bytes_max: self.bytes_left(),
            ..options.exec_options()
        };
        let execution = execute(Arc::new(plan), snapshot.clone(), exec);
        let execution = execution.map_err(|error| self.whole_error(error.into()))?;
        Ok(Solutions { execution, slots })
    }

    /// The quads to be removed, those to be added in provisional ids, and the execution at its end.
    fn instantiate(
        &self,
        modify: &Modify,
        snapshot: &Snapshot,
        mut execution: Execution,
        columns: &[Option<usize>],
    ) -> Result<(QuadSet, QuadSet, Execution), Error> {
        let delete = Template::of_delete(&modify.delete, &modify.variables, snapshot);
        let terms = execution.terms();
        let insert = Template::of_insert(&modify.insert, &modify.variables, terms, snapshot)?;
        let (mut removed, mut made) = (self.set(), self.set());
        let mut solution = 0;
        while let Some(batch) = execution.next_batch()? {
            let cx = execution.context();
            cx.check()?;
            let mut owner = InQuery {
                cx,
                ticks: Ticks::default(),
            };
            for row in 0..batch.rows() {
                for idx in 0..delete.len() {
                    let quad = delete.quad(idx, &batch, columns, row, solution);
                    if let Some(quad) = quad
                        && is_stored(&quad)
                        && !execution.terms().is_blank(quad.predicate)
                    {
                        removed.insert(quad, &mut owner)?;
                    }
                }
                for idx in 0..insert.len() {
                    let quad = insert.quad(idx, &batch, columns, row, solution);
                    if let Some(quad) = quad
                        && is_legal(&quad, execution.terms())?
                    {
                        made.insert(quad, &mut owner)?;
                    }
                }
                solution += 1;
            }
        }
        Ok((removed, made, execution))
    }
}
