//! Builds of plans that depend on a row, EXISTS and lateral joins: what of the outer row (or of many at once) enters
//! the operators, and what they may share with the evaluations for other rows.

use super::{Build, Shared};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::operators::answered::Answered;
use crate::star::join::StarJoin;
use basalt_plan::physical::{Graphs, Node, Slot, Star};
use basalt_rdf::TermId;
use std::borrow::Cow;
use std::sync::Arc;

/// The rows that `Outer` leaves take: mostly one.
pub struct OuterRows {
    /// Their slots.
    pub slots: Vec<Slot>,
    /// Their columns, in the order of the slots.
    pub columns: Vec<Vec<u64>>,
    /// How many there are.
    pub rows: usize,
    /// Which of them have a row by now, where one is enough.
    pub answered: Option<Arc<Answered>>,
}

impl OuterRows {
    fn column(&self, slot: Slot) -> Option<&[u64]> {
        let column = self.slots.iter().position(|s| *s == slot)?;
        Some(&self.columns[column])
    }

    /// The value of a slot, if there is one row alone and has the slot bound.
    fn only(&self, slot: Slot) -> Option<TermId> {
        match self.column(slot)? {
            [id] if *id != 0 => Some(TermId(*id)),
            _ => None,
        }
    }
}

impl Build {
    /// A build for one evaluation over these rows; `kept` is that of all evaluations.
    pub fn for_outer_rows(cx: Arc<Context>, kept: Arc<Shared>, outer: Arc<OuterRows>) -> Self {
        Self {
            cx,
            shared: Arc::default(),
            kept,
            outer: Some(outer),
            last_distinct: None,
            early: None,
        }
    }

    /// The build for a node whose rows are the same for every outer row, if they are.
    pub(super) fn for_kept(&self, node: &Node) -> Option<Self> {
        let kept = self.outer.is_some()
            && basalt_plan::outer_slots(node).is_empty()
            && !basalt_plan::is_volatile_plan(node);
        kept.then(|| Self {
            cx: Arc::clone(&self.cx),
            // Of its own, as morsels of a scan are taken once and other threads may build the same.
            shared: Arc::default(),
            kept: Arc::clone(&self.kept),
            outer: None,
            last_distinct: None,
            early: None,
        })
    }

    /// A join, which need not go on with outer rows that have a row where one is enough.
    pub(super) fn for_first_rows(&self, join: StarJoin) -> StarJoin {
        let outer = self.outer.as_ref();
        match outer.and_then(|outer| outer.answered.as_ref()) {
            Some(answered) => join.for_first_rows(answered),
            None => join,
        }
    }

    pub(super) fn outer_rows(&self, schema: &[Slot]) -> Result<Batch, ExecError> {
        // A leaf of which no column is used is a row like any other, also in what evaluations share.
        if schema.is_empty() {
            return Ok(Batch::from_vectors(Vec::new(), 1));
        }
        let Some(outer) = &self.outer else {
            return Err(ExecError::Internal(
                "an outer row is only there inside EXISTS and LATERAL".into(),
            ));
        };
        let column = |slot: &Slot| match outer.column(*slot) {
            Some(ids) => ids.to_vec(),
            None => vec![0; outer.rows],
        };
        let columns = schema.iter().map(column).collect();
        Ok(Batch::from_vectors(columns, outer.rows))
    }

    /// The graphs of a pattern. Of `GRAPH ?g` only the one that the outer row has: the pattern is joined
    /// with that row somewhere above, so others would be read for nothing.
    pub(super) fn narrowed<'g>(&self, graphs: &'g Graphs) -> Cow<'g, Graphs> {
        let Graphs::Variable { slot, among } = graphs else {
            return Cow::Borrowed(graphs);
        };
        let value = self.outer.as_ref().and_then(|outer| outer.only(*slot));
        let Some(value) = value else {
            return Cow::Borrowed(graphs);
        };
        let mut only = vec![value];
        only.retain(|graph| among.as_ref().is_none_or(|list| list.contains(graph)));
        Cow::Owned(Graphs::Variable {
            slot: *slot,
            among: Some(only),
        })
    }

    pub(super) fn narrowed_star<'s>(&self, star: &'s Star) -> Cow<'s, Star> {
        match self.narrowed(&star.graphs) {
            Cow::Borrowed(_) => Cow::Borrowed(star),
            Cow::Owned(graphs) => Cow::Owned(Star {
                graphs,
                ..star.clone()
            }),
        }
    }

    /// The named graphs that hold something, and are allowed.
    pub(super) fn graph_names(&self, schema: &[Slot], among: &Option<Vec<TermId>>) -> Batch {
        let known = self.cx.snapshot().named_graphs();
        let named = known.iter().filter(|(_, quads)| *quads > 0);
        let allowed =
            named.filter(|(graph, _)| among.as_ref().is_none_or(|list| list.contains(graph)));
        let ids: Vec<u64> = allowed.map(|(graph, _)| graph.0).collect();
        let rows = ids.len();
        Batch::from_vectors(vec![ids; schema.len()], rows)
    }
}
