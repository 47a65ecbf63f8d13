//! `CountJoin`: for each input row, how many quads of a pattern have one of its terms as their object.
//!
//! What a join with a `CountScan` by that slot gives, without counts that no row asks for; see `docs/statistics-answers.md`. Rows whose
//! term has no quads are dropped. Memory: a batch. Order: the input's.

use super::count_scan::{graph_set, number_id};
use super::output::Output;
use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::profile::current_node;
use basalt_plan::physical::{Node, Op, Position, Slot};
use basalt_rdf::TermId;
use basalt_store::GraphSet;

/// The operator; see the [module documentation](self).
pub struct CountJoin {
    input: BoxOperator,
    predicate: TermId,
    graphs: GraphSet,
    /// The input's column with the objects.
    key_column: usize,
    /// Where the output's columns come from: the input's columns, then the number.
    columns: Vec<Option<usize>>,
    output: Output,
}

impl CountJoin {
    /// The operator of a [`CountJoin`](Op::CountJoin), for the rows of its input.
    pub fn new(node: &Node, rows: BoxOperator) -> Result<Self, ExecError> {
        let unknown = || ExecError::Internal("a count for each row of what is not counted".into());
        let Op::CountJoin {
            input,
            pattern,
            key,
            count,
        } = &node.op
        else {
            return Err(unknown());
        };
        let Position::Id(predicate) = pattern.predicate else {
            return Err(unknown());
        };
        let joined: Vec<Slot> = input.schema.iter().chain([count]).copied().collect();
        let column = |slot: &Slot| joined.iter().position(|s| s == slot);
        Ok(Self {
            input: rows,
            predicate,
            graphs: graph_set(&pattern.graphs),
            key_column: column(key).ok_or_else(unknown)?,
            columns: node.schema.iter().map(column).collect(),
            output: Output::default(),
        })
    }

    fn join(&self, batch: &Batch, cx: &Context) -> Result<Batch, ExecError> {
        let objects = batch.ids(self.key_column);
        let mut counts = cx
            .snapshot()
            .count_objects(self.predicate, &self.graphs, objects)?;
        cx.profile().read(current_node(), counts.len());
        let joined = if counts.contains(&0) {
            let rows = 0..batch.rows() as u32;
            let kept: Vec<u32> = rows.filter(|&row| counts[row as usize] > 0).collect();
            counts.retain(|&quads| quads > 0);
            batch.take(&kept)
        } else {
            batch.clone()
        };
        let numbers = counts.into_iter().map(|quads| number_id(quads, cx));
        let joined = joined.with_column(numbers.collect());
        Ok(joined.select_columns(&self.columns))
    }
}

impl Operator for CountJoin {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        loop {
            if let Some(batch) = self.output.take(cx) {
                return Ok(Some(batch));
            }
            cx.check()?;
            let Some(batch) = self.input.next(cx)? else {
                return Ok(None);
            };
            self.output.put(self.join(&batch, cx)?);
        }
    }
}
