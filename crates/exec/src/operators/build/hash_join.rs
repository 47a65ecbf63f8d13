//! Hash joins and their build sides.

use super::ranges::{nearest_end, ranges, set_functions};
use super::{Build, column_of};
use crate::error::ExecError;
use crate::expr::CompiledExpr;
use crate::operators::BoxOperator;
use crate::operators::build_side::{self, BuildRows, BuildSide, Purpose};
use crate::operators::hash_join::{HashJoin, JoinRanges, JoinShape, Source};
use crate::operators::pipeline::drain;
use basalt_plan::physical::{Expr, JoinKind, Node, Op, Slot};
use basalt_plan::{is_constant, probe_and_build};
use std::sync::Arc;

/// The streaming side of a hash join, if the build side is expected to cost more than so many times as much: then a row is looked for there
/// before the build side is made. A key filter is for scans of the streaming side, so it is made before they begin.
pub(super) fn cheap_probe(node: &Node, factor: f64) -> Option<&Node> {
    let (probe, build) = probe_and_build(&node.op)?;
    let is_cheap = probe.estimated_cost * factor < build.estimated_cost;
    (is_cheap && node.key_filters.is_empty()).then_some(probe)
}

impl Build {
    /// Builds the hash tables of the chain of streaming operators below a node.
    pub fn prepare_tables(&self, node: &Node) -> Result<(), ExecError> {
        match &node.op {
            Op::HashJoin { .. } => {
                self.build_side(node)?;
            }
            // Nothing below is asked for a row.
            Op::Filter { condition, .. }
                if is_constant(condition) && !self.passes_all(condition)? =>
            {
                return Ok(());
            }
            _ => {}
        }
        node.op
            .streamed_input()
            .map_or(Ok(()), |input| self.prepare_tables(input))
    }

    /// The build side of a hash join node, made by whoever asks first.
    pub fn build_side(&self, node: &Node) -> Result<BuildSide, ExecError> {
        let profile = self.cx.profile();
        profile.within(node.id, || self.make_build_side(node))
    }

    fn make_build_side(&self, node: &Node) -> Result<BuildSide, ExecError> {
        let (
            Some((_, side)),
            Op::HashJoin {
                keys, compatible, ..
            },
        ) = (probe_and_build(&node.op), &node.op)
        else {
            return Err(ExecError::Internal("only a hash join has a table".into()));
        };
        let kept = self.for_kept(side);
        let build = kept.as_ref().unwrap_or(self);
        let finished = if kept.is_some() {
            &self.kept
        } else {
            &self.shared
        };
        if let Some(side) = finished.table(node) {
            return Ok(side);
        }
        let columns = |slots: &[Slot]| {
            let columns = slots.iter().map(|&slot| column_of(&side.schema, slot));
            columns.collect::<Result<Arc<[usize]>, _>>()
        };
        let key_columns = columns(keys)?;
        let compatible = columns(compatible)?;
        let width = side.schema.len();
        let make = || Ok(BuildRows::new(&key_columns, width));
        let rows = drain(side, build, &self.cx, make)?;
        let ranges = ranges(&node.op, &self.cx)?;
        let purpose = Purpose {
            key_columns: &key_columns,
            compatible: &compatible,
            keys_alone: node.op.sole_key().is_some(),
            ranges: ranges.as_ref().map(|(exprs, _)| exprs),
        };
        let built = build_side::finish(rows, &purpose, width, &self.cx)?;
        self.make_key_filters(node, &side.schema, &built)?;
        finished
            .tables
            .lock()
            .expect("no holder panics")
            .insert(node.id, built.clone());
        Ok(built)
    }

    pub(super) fn hash_join(&self, node: &Node) -> Result<BoxOperator, ExecError> {
        let (
            Some((probe, build)),
            Op::HashJoin {
                keys,
                compatible,
                kind,
                filter,
                partners,
                ..
            },
        ) = (probe_and_build(&node.op), &node.op)
        else {
            return Err(ExecError::Internal("not a hash join".into()));
        };
        let sources =
            |schema: &[Slot]| JoinShape::sources(schema, &probe.schema, &build.schema, keys);
        let told = |slot: &Slot| partners.iter().position(|own| own.slot == *slot);
        let outputs = sources(&node.schema).into_iter().zip(&node.schema);
        let outputs = outputs.map(|(source, slot)| told(slot).map_or(source, Source::Set));
        let joined: Vec<Slot> = {
            let fresh = build
                .schema
                .iter()
                .filter(|slot| !probe.schema.contains(slot));
            probe.schema.iter().chain(fresh).copied().collect()
        };
        let compiled = |condition: &Option<Expr>| match condition {
            Some(condition) => {
                let compiled = CompiledExpr::compile(condition, &joined, &self.cx)?;
                Ok(Some((compiled, sources(&joined))))
            }
            None => Ok::<_, ExecError>(None),
        };
        let ranges = match ranges(&node.op, &self.cx)? {
            Some((exprs, rest)) => Some(JoinRanges {
                exprs,
                rest: compiled(&rest)?,
            }),
            None => None,
        };
        let columns = |slot: &Slot| {
            Ok((
                column_of(&probe.schema, *slot)?,
                column_of(&build.schema, *slot)?,
            ))
        };
        let shape = JoinShape {
            probe_keys: keys
                .iter()
                .map(|&key| column_of(&probe.schema, key))
                .collect::<Result<_, _>>()?,
            compatible: compatible
                .iter()
                .map(columns)
                .collect::<Result<_, ExecError>>()?,
            kind: *kind,
            filter: compiled(filter)?,
            ranges,
            nearest: nearest_end(&node.op),
            partners: set_functions(&node.op)?,
            sources: outputs.collect(),
        };
        let (own, shared_node) = (self.clone(), Arc::new(node.clone()));
        let table = Box::new(move || own.build_side(&shared_node));
        let join = HashJoin::new(self.operator(probe)?, table, shape);
        let join = join.with_probe_first(cheap_probe(node, 1.0).is_some());
        Ok(Box::new(join.with_first_rows(self.first_rows(node)?)))
    }

    /// The rows of the build side of a semi or anti join that has nothing but a condition, where the first ones cost little, are
    /// always the same, and may spare the others: one that is there, or is made once for many outer rows, is asked itself.
    fn first_rows(&self, node: &Node) -> Result<Option<BoxOperator>, ExecError> {
        let Op::HashJoin {
            right,
            keys,
            compatible,
            kind: JoinKind::Semi | JoinKind::Anti,
            ..
        } = &node.op
        else {
            return Ok(None);
        };
        let streams = keys.is_empty()
            && compatible.is_empty()
            && is_stream(right)
            && self.outer.is_none()
            && self.shared.table(node).is_none()
            && !basalt_plan::is_volatile_plan(node);
        let rows = streams.then(|| self.apart(&self.cx).operator(right));
        rows.transpose()
    }
}

/// Whether the first rows of a plan are there before it has read much.
fn is_stream(node: &Node) -> bool {
    match &node.op {
        Op::StarScan { .. } | Op::PatternScan { .. } | Op::Values { .. } => true,
        Op::HashJoin { .. } => false,
        _ => node.op.streamed_input().is_some_and(is_stream),
    }
}
