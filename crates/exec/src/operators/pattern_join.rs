//! `PatternJoin`: one general pattern looked up for each input row.
//!
//! Memory: the matches of one input row beyond a bounded number, or those of a few hundred bound subjects, which are
//! read column by column (see [`RowQuads`]). Output keeps the input's order. A
//! semi or anti join stops at a row's first match; with a condition, which is asked for growing runs of matches, at the end of the run that has
//! the first one for which it is true.

use super::object_quads::ObjectQuads;
use super::output::Output;
use super::pairing::{FIRST_RUN_ROWS, RUN_GROWTH};
use super::pattern_scan::CompiledPattern;
use super::row_quads::RowQuads;
use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::CompiledExpr;
use crate::held_memory::HeldMemory;
use crate::profile::current_node;
use crate::star::Matches;
use basalt_plan::physical::JoinKind;
use std::ops::ControlFlow;

/// Input rows joined at a time.
const INPUT_ROWS: usize = 256;
/// Matches after which no further input row is joined, so that one batch of frequent terms cannot fill
/// the memory.
const MATCHES_MAX: usize = 1 << 16;

/// Matches of one row for which the condition of a semi or anti join is asked at once, at most.
const RUN_MATCHES_MAX: usize = 1 << 14;

/// The operator; see the [module documentation](self).
pub struct PatternJoin {
    input: BoxOperator,
    pattern: CompiledPattern,
    /// How subjects are joined column by column, where the pattern allows it.
    row_quads: Option<RowQuads>,
    /// How objects are joined together, where the pattern allows it.
    object_quads: Option<ObjectQuads>,
    kind: JoinKind,
    /// Condition over the input's columns and the new ones.
    filter: Option<CompiledExpr>,
    /// Where the output's columns come from: the input's columns, then the new ones.
    columns: Vec<Option<usize>>,
    output: Output,
    /// A batch being joined, and the next row of it.
    current: Option<(Batch, usize)>,
}

impl PatternJoin {
    /// Joins the rows of `input` with a pattern.
    pub fn new(
        input: BoxOperator,
        pattern: CompiledPattern,
        kind: JoinKind,
        filter: Option<CompiledExpr>,
        columns: Vec<Option<usize>>,
    ) -> Self {
        Self {
            row_quads: RowQuads::of(&pattern),
            object_quads: ObjectQuads::of(&pattern),
            input,
            pattern,
            kind,
            filter,
            columns,
            output: Output::default(),
            current: None,
        }
    }

    /// Joins rows from the start of the batch and says how many.
    fn join(&self, batch: &Batch, cx: &Context) -> Result<(Batch, usize), ExecError> {
        let mut matches = Matches::new(self.pattern.new_slots.len());
        let is_reducing = matches!(self.kind, JoinKind::Semi | JoinKind::Anti);
        let mut filter = self.filter.as_ref();
        let mut rows = 0;
        let together = match &self.object_quads {
            Some(object_quads) if !is_reducing => {
                object_quads.join(&self.pattern, batch, MATCHES_MAX, cx)?
            }
            _ => None,
        };
        match (together, &self.row_quads) {
            (Some(found), _) => (matches, rows) = (found, batch.rows()),
            (None, Some(row_quads)) if !is_reducing || filter.is_some() => {
                rows = batch.rows();
                self.join_subjects(row_quads, batch, &mut matches, cx)?;
            }
            _ if is_reducing => {
                let condition = filter.take();
                while rows < batch.rows() {
                    self.visit_first(batch, rows, condition, &mut matches, cx)?;
                    rows += 1;
                }
            }
            _ => {
                while rows < batch.rows() && matches.len() < MATCHES_MAX {
                    self.visit(batch, rows, &mut matches, cx)?;
                    rows += 1;
                }
            }
        }
        if let Some(filter) = filter {
            let positions = filter.select(&joined(batch, &matches), cx)?;
            matches.keep(&positions);
        }
        matches.complete(self.kind, rows);
        let joined = joined(batch, &matches).select_columns(&self.columns);
        Ok((joined, rows))
    }

    /// Adds the matches of all rows, whose subjects are bound.
    fn join_subjects(
        &self,
        row_quads: &RowQuads,
        batch: &Batch,
        matches: &mut Matches,
        cx: &Context,
    ) -> Result<(), ExecError> {
        let column = |idx: usize| batch.ids(idx).to_vec();
        let others = row_quads.join(&self.pattern, &column, batch.rows(), matches, cx)?;
        for origin in others {
            self.visit(batch, origin as usize, matches, cx)?;
        }
        matches.sort_by_origin();
        Ok(())
    }

    /// Adds the matches of one input row.
    fn visit(
        &self,
        batch: &Batch,
        origin: usize,
        matches: &mut Matches,
        cx: &Context,
    ) -> Result<(), ExecError> {
        let mut held = HeldMemory::default();
        let (mut counted, mut refused) = (matches.len().max(MATCHES_MAX), Ok(()));
        self.visit_each(batch, origin, cx, &mut |made| {
            if matches.len() >= counted {
                counted *= 2;
                // It grows to that before the next look.
                refused = held.grow_to(matches.bytes() * 2, "PatternJoin", cx);
                if refused.is_err() {
                    return ControlFlow::Break(());
                }
            }
            matches.push(origin as u32, made);
            ControlFlow::Continue(())
        })?;
        refused
    }

    /// Adds one match of an input row for which the condition is true, if there is any.
    fn visit_first(
        &self,
        batch: &Batch,
        origin: usize,
        condition: Option<&CompiledExpr>,
        matches: &mut Matches,
        cx: &Context,
    ) -> Result<(), ExecError> {
        let mut run = Matches::new(matches.columns.len());
        let mut first: Result<Option<u32>, ExecError> = Ok(None);
        let mut run_matches = if condition.is_some() {
            FIRST_RUN_ROWS
        } else {
            1
        };
        let holds = |run: &Matches| match condition {
            Some(condition) => {
                cx.check()?;
                let true_for = condition.select(&joined(batch, run), cx)?;
                Ok(true_for.first().copied())
            }
            None => Ok((!run.is_empty()).then_some(0)),
        };
        self.visit_each(batch, origin, cx, &mut |made| {
            run.push(origin as u32, made);
            if run.len() < run_matches {
                return ControlFlow::Continue(());
            }
            first = holds(&run);
            if !matches!(first, Ok(None)) {
                return ControlFlow::Break(());
            }
            run.keep(&[]);
            run_matches = (run_matches * RUN_GROWTH).min(RUN_MATCHES_MAX);
            ControlFlow::Continue(())
        })?;
        if matches!(first, Ok(None)) {
            first = holds(&run);
        }
        if let Some(position) = first? {
            run.keep(&[position]);
            matches.append(run);
        }
        Ok(())
    }

    /// Visits the matches of one input row.
    fn visit_each(
        &self,
        batch: &Batch,
        origin: usize,
        cx: &Context,
        each: &mut dyn FnMut(&[u64]) -> ControlFlow<()>,
    ) -> Result<(), ExecError> {
        cx.check()?;
        let mut row = Vec::with_capacity(batch.width());
        batch.row_into(origin, &mut row);
        let read = self.pattern.visit(&row, cx, each)?;
        cx.profile().read(current_node(), read);
        Ok(())
    }
}

/// The input's columns and the new ones.
fn joined(batch: &Batch, matches: &Matches) -> Batch {
    matches
        .columns
        .iter()
        .fold(batch.take(&matches.origin), |b, column| {
            b.with_column(column.clone())
        })
}

impl Operator for PatternJoin {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        loop {
            if let Some(batch) = self.output.take(cx) {
                return Ok(Some(batch));
            }
            let (batch, start) = match self.current.take() {
                Some(current) => current,
                None => match self.input.next(cx)? {
                    Some(batch) => (batch, 0),
                    None => return Ok(None),
                },
            };
            let rows = INPUT_ROWS.min(batch.rows() - start);
            let (joined, rows) = self.join(&batch.slice(start, rows), cx)?;
            if start + rows < batch.rows() {
                self.current = Some((batch, start + rows));
            }
            self.output.put(joined);
        }
    }
}
