//! `PathJoin`: a property path evaluated for each input row.
//!
//! Evaluation starts from an end that is bound and goes over the graph step by step
//! ([`crate::path`]). Memory: the ends found for one input batch.

use super::output::Output;
use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::path::{PathGraph, Step};
use crate::star::Matches;
use basalt_plan::physical::{Endpoint, Graphs, PathPattern, Slot};
use basalt_rdf::TermId;

use super::pattern_scan::Place;

/// A path made ready for rows of one schema.
pub struct CompiledPath {
    subject: Place,
    object: Place,
    graph: Option<Place>,
    graphs: Graphs,
    step: Step,
    /// The slots of the new columns.
    pub new_slots: Vec<Slot>,
}

impl CompiledPath {
    /// Prepares a path for input rows with this schema.
    pub fn new(pattern: &PathPattern, input: &[Slot], cx: &Context) -> Self {
        let mut new_slots: Vec<Slot> = Vec::new();
        let mut slot_place = |slot: Slot| {
            if let Some(column) = input.iter().position(|&s| s == slot) {
                return Place::Input(column);
            }
            let known = new_slots.iter().position(|&s| s == slot);
            Place::New(known.unwrap_or_else(|| {
                new_slots.push(slot);
                new_slots.len() - 1
            }))
        };
        let mut place = |endpoint: &Endpoint| match endpoint {
            Endpoint::Slot(slot) => slot_place(*slot),
            Endpoint::Constant(constant) => {
                let id = constant
                    .id
                    .unwrap_or_else(|| cx.terms().intern_term(&constant.term));
                Place::Id(id.0)
            }
        };
        let (subject, object) = (place(&pattern.subject), place(&pattern.object));
        let graph = match &pattern.graphs {
            Graphs::Variable { slot, .. } => Some(slot_place(*slot)),
            Graphs::One(_) | Graphs::Merge { .. } => None,
        };
        let step = Step::new(&pattern.path, cx);
        Self {
            subject,
            object,
            graph,
            graphs: pattern.graphs.clone(),
            step,
            new_slots,
        }
    }

    /// The graphs to look at one after the other for an input row.
    fn graphs_for(&self, input: &[u64], cx: &Context) -> Vec<(Option<TermId>, PathGraph)> {
        match &self.graphs {
            Graphs::One(graph) => vec![(None, PathGraph::one(*graph))],
            Graphs::Merge { among } => vec![(None, PathGraph::merge(among.clone()))],
            Graphs::Variable { among, .. } => {
                let named = cx.snapshot().named_graphs().iter().map(|&(graph, _)| graph);
                let allowed =
                    named.filter(|graph| among.as_ref().is_none_or(|list| list.contains(graph)));
                let bound = match self.graph {
                    Some(Place::Input(column)) => Some(TermId(input[column])),
                    _ => None,
                };
                let wanted = allowed.filter(|graph| bound.is_none_or(|bound| bound == *graph));
                wanted
                    .map(|graph| (Some(graph), PathGraph::one(graph)))
                    .collect()
            }
        }
    }

    /// Appends the new columns of every match with one input row.
    fn visit(
        &self,
        input: &[u64],
        cx: &Context,
        visit: &mut dyn FnMut(&[u64]),
    ) -> Result<(), ExecError> {
        let bound = |place: Place| match place {
            Place::Id(id) => Some(TermId(id)),
            Place::Input(column) => Some(TermId(input[column])),
            Place::New(_) => None,
        };
        let mut row = vec![0; self.new_slots.len()];
        // Two variables, one bound already: a path of length zero needs a node of the graph.
        let ends = [self.subject, self.object];
        let is_given = ends.iter().any(|end| matches!(end, Place::Id(_)));
        let is_bound = ends.iter().any(|end| matches!(end, Place::Input(_)));
        let needs_node = is_bound && !is_given;
        for (name, graph) in self.graphs_for(input, cx) {
            let pairs = self
                .step
                .pairs(bound(self.subject), bound(self.object), &graph, cx)?;
            for (subject, object) in pairs {
                if needs_node && subject == object && !graph.has_node(subject, cx)? {
                    continue;
                }
                row.fill(0);
                let mut ends = vec![(self.subject, subject), (self.object, object)];
                ends.extend(self.graph.zip(name));
                let fits = ends.into_iter().all(|(place, id)| match place {
                    Place::New(column) if row[column] == 0 => {
                        row[column] = id.0;
                        true
                    }
                    Place::New(column) => row[column] == id.0,
                    Place::Id(_) | Place::Input(_) => true,
                });
                if fits {
                    visit(&row);
                }
            }
        }
        Ok(())
    }
}

/// The operator; see the [module documentation](self).
pub struct PathJoin {
    input: BoxOperator,
    path: CompiledPath,
    /// Where the output's columns come from: the input's columns, then the new ones.
    columns: Vec<Option<usize>>,
    output: Output,
}

impl PathJoin {
    /// Joins the rows of `input` with a path.
    pub fn new(input: BoxOperator, path: CompiledPath, columns: Vec<Option<usize>>) -> Self {
        Self {
            input,
            path,
            columns,
            output: Output::default(),
        }
    }
}

impl Operator for PathJoin {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        loop {
            if let Some(batch) = self.output.take(cx) {
                return Ok(Some(batch));
            }
            let Some(batch) = self.input.next(cx)? else {
                return Ok(None);
            };
            let mut matches = Matches::new(self.path.new_slots.len());
            let mut row = Vec::with_capacity(batch.width());
            for origin in 0..batch.rows() {
                cx.check()?;
                row.clear();
                batch.row_into(origin, &mut row);
                self.path.visit(&row, cx, &mut |made| {
                    matches.origin.push(origin as u32);
                    matches
                        .columns
                        .iter_mut()
                        .zip(made)
                        .for_each(|(column, &id)| column.push(id));
                })?;
            }
            let joined = matches
                .columns
                .into_iter()
                .fold(batch.take(&matches.origin), Batch::with_column);
            self.output.put(joined.select_columns(&self.columns));
        }
    }
}
