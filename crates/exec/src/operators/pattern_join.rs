//! `PatternJoin`: one general pattern looked up for each input row.
//!
//! Memory: the matches of one input row beyond a bounded number, or those of a few hundred bound subjects, which are
//! read column by column (see [`RowQuads`]). Output keeps the input's order. A
//! semi or anti join without condition stops at a row's first match.

use super::output::Output;
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

/// The operator; see the [module documentation](self).
pub struct PatternJoin {
    input: BoxOperator,
    pattern: CompiledPattern,
    /// How subjects are joined column by column, where the pattern allows it.
    row_quads: Option<RowQuads>,
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
        let one_is_enough = is_reducing && self.filter.is_none();
        let mut rows = 0;
        match &self.row_quads {
            Some(row_quads) if !one_is_enough => {
                rows = batch.rows();
                let column = |idx: usize| batch.ids(idx).to_vec();
                let others = row_quads.join(&self.pattern, &column, rows, &mut matches, cx)?;
                for origin in others {
                    self.visit(batch, origin as usize, false, &mut matches, cx)?;
                }
                matches.sort_by_origin();
            }
            _ => {
                while rows < batch.rows() && matches.len() < MATCHES_MAX {
                    self.visit(batch, rows, one_is_enough, &mut matches, cx)?;
                    rows += 1;
                }
            }
        }
        if let Some(filter) = &self.filter {
            let positions = filter.select(&joined(batch, &matches), cx)?;
            matches.keep(&positions);
        }
        matches.complete(self.kind, rows);
        let joined = joined(batch, &matches).select_columns(&self.columns);
        Ok((joined, rows))
    }

    /// Adds the matches of one input row, or only the first.
    fn visit(
        &self,
        batch: &Batch,
        origin: usize,
        one_is_enough: bool,
        matches: &mut Matches,
        cx: &Context,
    ) -> Result<(), ExecError> {
        cx.check()?;
        let mut row = Vec::with_capacity(batch.width());
        batch.row_into(origin, &mut row);
        let mut held = HeldMemory::default();
        let (mut counted, mut refused) = (matches.len().max(MATCHES_MAX), Ok(()));
        let read = self.pattern.visit(&row, cx, &mut |made| {
            if matches.len() >= counted {
                counted *= 2;
                // It grows to that before the next look.
                refused = held.grow_to(matches.bytes() * 2, "PatternJoin", cx);
                if refused.is_err() {
                    return ControlFlow::Break(());
                }
            }
            matches.origin.push(origin as u32);
            matches
                .columns
                .iter_mut()
                .zip(made)
                .for_each(|(column, &id)| column.push(id));
            if one_is_enough {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })?;
        cx.profile().read(current_node(), read);
        refused
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
