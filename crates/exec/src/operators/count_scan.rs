//! `CountScan`: counts of the quads of one pattern from statistics, inverses and block headers.
//!
//! What `Group` (or `Distinct`) over a `PatternScan` gives, without visiting quads; see
//! `docs/statistics-answers.md`. With a key there is one row for each value that has quads, without there
//! is exactly one row. Memory: the rows, counted once they are made. Order: by the key's id.

use super::Operator;
use super::output::Output;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::profile::current_node;
use crate::value::Number;
use basalt_plan::physical::{Graphs, Pattern, Position, QuadCount, Slot};
use basalt_rdf::TermId;
use basalt_store::{GraphSet, PredicateGraph, QuadIds, QuadPattern};
use std::collections::BTreeMap;
use std::ops::ControlFlow;

/// So many quads are visited at most, where the graphs that are read have no more: that takes a millisecond or two.
const VISITED_QUADS_MAX: u64 = 1 << 12;

/// What a count is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Counted {
    Quads,
    Subjects,
    Predicates,
    Objects,
    Graphs,
}

/// What the rows are keyed by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Key {
    Nothing,
    Predicate,
    Object,
    Graph,
}

/// The graphs whose quads a pattern counts; those of any kind are merged.
pub(super) fn graph_set(graphs: &Graphs) -> GraphSet {
    match graphs {
        Graphs::One(id) => GraphSet::One(*id),
        Graphs::Variable { among, .. } => GraphSet::Named(among.clone()),
        Graphs::Merge { among } => GraphSet::Any(among.clone()),
    }
}

/// The id of a number of quads.
pub(super) fn number_id(quads: u64, cx: &Context) -> u64 {
    i64::try_from(quads).map_or(0, |n| Number::Integer(n.into()).to_id(cx))
}

/// The operator; see the [module documentation](self).
pub struct CountScan {
    predicate: Option<TermId>,
    object: Option<TermId>,
    graphs: GraphSet,
    key: Key,
    counts: Vec<Counted>,
    /// For each output column: the key (`None`), or one of the counts.
    columns: Vec<Option<usize>>,
    output: Output,
    held: HeldMemory,
    begun: bool,
}

impl CountScan {
    /// Counts the quads of a pattern and produces the slots of `schema`.
    pub fn new(
        pattern: &Pattern,
        key: Option<Slot>,
        counts: &[QuadCount],
        schema: &[Slot],
    ) -> Result<Self, ExecError> {
        let unknown = || ExecError::Internal("a count of what is not counted".to_owned());
        let is = |slot: Slot, position: Position| position == Position::Slot(slot);
        let constant = |position| match position {
            Position::Id(id) => Some(id),
            Position::Slot(_) => None,
        };
        let key_of = match key {
            None => Key::Nothing,
            Some(key) if is(key, pattern.predicate) => Key::Predicate,
            Some(key) if is(key, pattern.object) => Key::Object,
            Some(key) if pattern.graphs.slot() == Some(key) => Key::Graph,
            Some(_) => return Err(unknown()),
        };
        let counted = |count: &QuadCount| match count.distinct {
            None => Counted::Quads,
            Some(slot) if is(slot, pattern.subject) => Counted::Subjects,
            Some(slot) if is(slot, pattern.predicate) => Counted::Predicates,
            Some(slot) if is(slot, pattern.object) => Counted::Objects,
            Some(_) => Counted::Graphs,
        };
        let column = |slot: &Slot| match counts.iter().position(|c| c.slot == *slot) {
            Some(idx) => Ok(Some(idx)),
            None if key == Some(*slot) => Ok(None),
            None => Err(unknown()),
        };
        Ok(Self {
            predicate: constant(pattern.predicate),
            object: constant(pattern.object),
            graphs: graph_set(&pattern.graphs),
            key: key_of,
            counts: counts.iter().map(counted).collect(),
            columns: schema.iter().map(column).collect::<Result<_, _>>()?,
            output: Output::default(),
            held: HeldMemory::default(),
            begun: false,
        })
    }

    /// The rows: keys, and for each count a number for each key.
    fn count(&self, cx: &Context) -> Result<(Vec<u64>, Vec<Vec<u64>>), ExecError> {
        if self.key == Key::Object {
            let pairs = self.objects(cx)?;
            let numbers: Vec<u64> = pairs.iter().map(|(_, quads)| *quads).collect();
            let keys = pairs.into_iter().map(|(object, _)| object.0).collect();
            return Ok((keys, vec![numbers; self.counts.len()]));
        }
        if self.object.is_none() && self.needs_graphs_only() {
            return Ok(self.count_graphs(cx));
        }
        if self.object.is_none() && self.needs_quads_only() {
            let quads = match cx.snapshot().quads_in(&self.graphs) {
                0 => 0,
                quads => quads - self.repeats(None, cx)?,
            };
            return Ok((vec![0], vec![vec![quads]; self.counts.len()]));
        }
        let are_told = || self.needs_totals_only(cx) || self.are_few_quads(cx);
        if self.object.is_none() && self.key == Key::Predicate && !are_told() {
            return self.count_predicates(cx);
        }
        let entries = self.entries(cx)?;
        let mut entries: Vec<&PredicateGraph> = entries
            .iter()
            .filter(|e| self.object.is_none() || self.graphs.takes(e.graph))
            .filter(|e| self.predicate.is_none_or(|p| p == e.predicate))
            .collect();
        let key = |entry: &PredicateGraph| match self.key {
            Key::Nothing | Key::Object => 0,
            Key::Predicate => entry.predicate.0,
            Key::Graph => entry.graph.0,
        };
        entries.sort_by_key(|entry| key(entry));
        let mut groups: Vec<&[&PredicateGraph]> =
            entries.chunk_by(|a, b| key(a) == key(b)).collect();
        if groups.is_empty() && self.key == Key::Nothing {
            groups.push(&[]);
        }
        let keys = groups.iter().map(|g| g.first().map_or(0, |e| key(e)));
        let numbers = self.counts.iter().map(|counted| {
            let groups = groups.iter();
            groups
                .map(|group| self.number(*counted, group, cx))
                .collect()
        });
        Ok((keys.collect(), numbers.collect::<Result<_, ExecError>>()?))
    }

    /// Quads by predicate and graph in the graphs that are read, those of the constant object if there is one.
    fn entries(&self, cx: &Context) -> Result<Vec<PredicateGraph>, ExecError> {
        if cx.snapshot().quads_in(&self.graphs) == 0 {
            return Ok(Vec::new());
        }
        if let Some(object) = self.object {
            return Ok(cx.snapshot().object_graphs(self.predicate, object)?);
        }
        if self.needs_totals_only(cx) {
            return Ok(totals(cx));
        }
        if self.are_few_quads(cx) {
            return self.visited(cx);
        }
        let mut entries = Vec::new();
        for predicate in self.predicates(cx) {
            cx.check()?;
            let of_predicate = cx.snapshot().predicate_graphs(predicate, &self.graphs)?;
            entries.extend_from_slice(&of_predicate);
        }
        Ok(entries)
    }

    /// Whether the quads of the graphs that are read are so few that they are visited and counted.
    fn are_few_quads(&self, cx: &Context) -> bool {
        self.graphs.few_named().is_some()
            && cx.snapshot().quads_in(&self.graphs) <= VISITED_QUADS_MAX
    }

    /// Quads by predicate and graph, counted one by one.
    fn visited(&self, cx: &Context) -> Result<Vec<PredicateGraph>, ExecError> {
        let mut numbers: BTreeMap<(TermId, TermId), u64> = BTreeMap::new();
        let pattern = QuadPattern {
            predicate: self.predicate,
            ..QuadPattern::default()
        };
        let mut on_quad = |quad: QuadIds| {
            if self.graphs.takes(quad.graph) {
                *numbers.entry((quad.predicate, quad.graph)).or_default() += 1;
            }
            ControlFlow::Continue(())
        };
        cx.snapshot()
            .matching_among(&pattern, &self.graphs, &mut on_quad)?;
        let entry = |((predicate, graph), quads)| PredicateGraph {
            predicate,
            graph,
            quads,
        };
        Ok(numbers.into_iter().map(entry).collect())
    }

    /// The predicates that are counted.
    fn predicates(&self, cx: &Context) -> Vec<TermId> {
        if let Some(predicate) = self.predicate {
            return vec![predicate];
        }
        let totals = cx.snapshot().predicate_totals().into_iter();
        totals.map(|(predicate, _)| predicate).collect()
    }

    /// The rows keyed by predicate, of which one is counted at a time: graphs may be very many.
    fn count_predicates(&self, cx: &Context) -> Result<(Vec<u64>, Vec<Vec<u64>>), ExecError> {
        let (mut keys, mut numbers) = (Vec::new(), vec![Vec::new(); self.counts.len()]);
        if cx.snapshot().quads_in(&self.graphs) == 0 {
            return Ok((keys, numbers));
        }
        for predicate in self.predicates(cx) {
            cx.check()?;
            let entries = cx.snapshot().predicate_graphs(predicate, &self.graphs)?;
            if entries.is_empty() {
                continue;
            }
            let group: Vec<&PredicateGraph> = entries.iter().collect();
            keys.push(predicate.0);
            for (counted, numbers) in self.counts.iter().zip(&mut numbers) {
                numbers.push(self.number(*counted, &group, cx)?);
            }
        }
        Ok((keys, numbers))
    }

    /// Whether it is enough to know the quads of each predicate: all are in graphs that are read, and nobody asks in which.
    fn needs_totals_only(&self, cx: &Context) -> bool {
        let snapshot = cx.snapshot();
        self.key != Key::Graph
            && !self.counts.contains(&Counted::Graphs)
            && snapshot.quads_in(&self.graphs) == snapshot.quad_count()
    }

    /// Whether it is enough to know how many quads the graphs have together.
    fn needs_quads_only(&self) -> bool {
        self.predicate.is_none()
            && self.key == Key::Nothing
            && self.counts.iter().all(|counted| *counted == Counted::Quads)
    }

    /// Whether it is enough to know the quads of each named graph.
    fn needs_graphs_only(&self) -> bool {
        let counts_graphs = |counted| matches!(counted, &Counted::Quads | &Counted::Graphs);
        self.predicate.is_none()
            && matches!(self.key, Key::Nothing | Key::Graph)
            && self.counts.iter().all(counts_graphs)
            && matches!(self.graphs, GraphSet::Named(_))
    }

    /// The rows where that is enough.
    fn count_graphs(&self, cx: &Context) -> (Vec<u64>, Vec<Vec<u64>>) {
        let named = || {
            let named = cx.snapshot().named_graphs().iter();
            named.filter(|(graph, _)| self.graphs.takes(*graph))
        };
        let by_key = self.key == Key::Graph;
        let keys = match by_key {
            true => named().map(|(graph, _)| graph.0).collect(),
            false => vec![0],
        };
        let numbers = self.counts.iter().map(|counted| match (counted, by_key) {
            (Counted::Quads, true) => named().map(|(_, quads)| *quads).collect(),
            (Counted::Quads, false) => vec![cx.snapshot().quads_in(&self.graphs)],
            (_, true) => vec![1; keys.len()],
            (_, false) => vec![named().count() as u64],
        });
        let numbers = numbers.collect();
        (keys, numbers)
    }

    fn objects(&self, cx: &Context) -> Result<Vec<(TermId, u64)>, ExecError> {
        let Some(predicate) = self.predicate else {
            return Err(ExecError::Internal(
                "objects are counted by predicate".to_owned(),
            ));
        };
        Ok(cx.snapshot().object_counts(predicate, &self.graphs)?)
    }

    /// One number of a group.
    fn number(
        &self,
        counted: Counted,
        group: &[&PredicateGraph],
        cx: &Context,
    ) -> Result<u64, ExecError> {
        let distinct = |mut ids: Vec<TermId>| {
            ids.sort_unstable();
            ids.dedup();
            ids.len() as u64
        };
        let of_key = group.first().map(|entry| entry.predicate);
        let predicate = of_key.filter(|_| self.key == Key::Predicate);
        let predicate = predicate.or(self.predicate);
        Ok(match counted {
            Counted::Quads => {
                let quads: u64 = group.iter().map(|entry| entry.quads).sum();
                quads - self.repeats(predicate, cx)?
            }
            Counted::Predicates => distinct(group.iter().map(|e| e.predicate).collect()),
            Counted::Graphs => distinct(group.iter().map(|e| e.graph).collect()),
            Counted::Objects => self.objects(cx)?.len() as u64,
            Counted::Subjects => {
                cx.check()?;
                cx.snapshot().distinct_subjects(predicate, &self.graphs)?
            }
        })
    }

    /// Of quads with the same triple, in graphs that are merged, all but one.
    fn repeats(&self, predicate: Option<TermId>, cx: &Context) -> Result<u64, ExecError> {
        match self.graphs {
            GraphSet::One(_) | GraphSet::Named(_) => Ok(0),
            GraphSet::Any(_) => {
                let snapshot = cx.snapshot();
                snapshot.repeats_in_merge(predicate, &self.graphs, &mut || cx.check())
            }
        }
    }
}

/// The quads of each predicate, told as those of one graph.
fn totals(cx: &Context) -> Vec<PredicateGraph> {
    let totals = cx.snapshot().predicate_totals().into_iter();
    let entry = |(predicate, quads)| PredicateGraph {
        predicate,
        graph: TermId::DEFAULT_GRAPH,
        quads,
    };
    totals.map(entry).collect()
}

impl Operator for CountScan {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        cx.check()?;
        if !std::mem::replace(&mut self.begun, true) {
            let (keys, numbers) = self.count(cx)?;
            let cells = keys.len() * (1 + numbers.len() + self.columns.len());
            self.held
                .grow_to(cells * size_of::<u64>(), "CountScan", cx)?;
            let id = |quads: &u64| number_id(*quads, cx);
            cx.profile().read(current_node(), keys.len());
            let numbers: Vec<Vec<u64>> = numbers
                .iter()
                .map(|numbers| numbers.iter().map(id).collect())
                .collect();
            let columns = self.columns.iter().map(|column| match column {
                None => keys.clone(),
                Some(idx) => numbers[*idx].clone(),
            });
            self.output
                .put(Batch::from_vectors(columns.collect(), keys.len()));
        }
        Ok(self.output.take(cx))
    }
}
