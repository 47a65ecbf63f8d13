//! The general way: subject by subject, cells, irregular quads and changes together.
//!
//! For each pattern the pairs (object, graph) of the subject are collected, then joined by
//! backtracking in pattern order under the shared graph and shared slots. It is right for any
//! subject; the vectorised way is its fast twin for clean rows. The values of several subjects are
//! collected together, pattern by pattern, leaving out subjects that cannot match any more.
//!
//! Cost: one index lookup per pattern and subject; for several subjects a step along the index where they lie
//! close together. Memory: the values of a thousand subjects.

use super::compiled::{CompiledFilter, CompiledGraphs, CompiledStar, Object};
use super::matches::Matches;
use super::parts::SOLUTIONS_MAX;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::selection::keep;
use basalt_rdf::TermId;
use basalt_store::{Direction, Snapshot};
use std::borrow::Cow;

/// Every value of one pattern for one subject: (object, graph).
type Values = Vec<(TermId, TermId)>;

/// Subjects whose values are collected together.
const SUBJECTS_AT_ONCE: usize = 1024;
/// Fewer are looked up one by one.
const SUBJECTS_TOGETHER_MIN: usize = 4;
/// Values of a pattern from which on filters are applied to them, and not only to the solutions.
const NARROWED_VALUES: usize = 64;
/// Values and solutions gone over between two looks at whether the query goes on: so many take less than a millisecond.
const CHECKED_VALUES: usize = 16_384;

/// The values of one pattern for several subjects.
struct KnownValues {
    /// Where the values of each subject begin, by position; the end of the last.
    starts: Vec<u32>,
    values: Values,
}

impl KnownValues {
    /// Of pairs that come with the position of their subject, in any order.
    fn new(mut found: Vec<(u32, (TermId, TermId))>, subjects: usize) -> Self {
        found.sort_by_key(|(position, _)| *position);
        let mut starts = vec![0; subjects + 1];
        for (position, _) in &found {
            starts[*position as usize + 1] += 1;
        }
        for position in 0..subjects {
            starts[position + 1] += starts[position];
        }
        let values = found.into_iter().map(|(_, value)| value).collect();
        Self { starts, values }
    }

    fn of(&self, position: usize) -> &[(TermId, TermId)] {
        &self.values[self.starts[position] as usize..self.starts[position + 1] as usize]
    }
}

/// Where the values of a subject come from.
#[derive(Clone, Copy)]
enum Source<'s> {
    /// The store.
    Store,
    /// What was collected before, by pattern, for the subject at this position.
    Known(&'s [KnownValues], usize),
}

/// Evaluates subjects; keeps its buffers from one to the next.
pub struct GeneralPass<'a> {
    star: &'a CompiledStar,
    snapshot: &'a Snapshot,
    input: Option<&'a Batch>,
    /// Values per pattern.
    values: Vec<Values>,
    /// The solution under construction, by new column.
    row: Vec<u64>,
    /// Values collected and solutions found since the query was last seen to go on.
    unchecked: usize,
    /// Solutions found.
    pub matches: Matches,
    /// The memory of many solutions, while they are looked for.
    held: HeldMemory,
}

/// Where the search stands: the input row, and the graph that all patterns must agree on.
#[derive(Clone, Copy)]
struct Search {
    origin: u32,
    graph: Option<TermId>,
}

impl<'a> GeneralPass<'a> {
    /// A pass over subjects that extend rows of `input` (none for a scan).
    pub fn new(star: &'a CompiledStar, input: Option<&'a Batch>, cx: &'a Context) -> Self {
        Self {
            star,
            snapshot: cx.snapshot(),
            input,
            values: vec![Vec::new(); star.patterns.len()],
            row: vec![0; star.new_slots.len()],
            unchecked: 0,
            matches: Matches::new(star.new_slots.len()),
            held: HeldMemory::default(),
        }
    }

    /// Adds the solutions of subjects, each for one input row (0 for a scan).
    pub fn subjects(&mut self, found: &[(u32, TermId)], cx: &Context) -> Result<(), ExecError> {
        for chunk in found.chunks(SUBJECTS_AT_ONCE) {
            cx.check()?;
            let chunk = &self.passing(chunk, cx)?[..];
            if chunk.len() < SUBJECTS_TOGETHER_MIN {
                for &(origin, subject) in chunk {
                    self.subject(subject, origin, Source::Store, cx)?;
                    self.check(cx)?;
                }
                continue;
            }
            let mut nodes: Vec<u64> = chunk.iter().map(|(_, subject)| subject.0).collect();
            nodes.sort_unstable();
            nodes.dedup();
            let known = self.collect_together(&nodes)?;
            for &(origin, subject) in chunk {
                if let Ok(position) = nodes.binary_search(&subject.0) {
                    self.subject(subject, origin, Source::Known(&known, position), cx)?;
                    self.check(cx)?;
                }
            }
        }
        Ok(())
    }

    /// The subjects that pass the filters that read nothing else: the values of others would be multiplied for nothing.
    fn passing<'f>(
        &self,
        found: &'f [(u32, TermId)],
        cx: &Context,
    ) -> Result<Cow<'f, [(u32, TermId)]>, ExecError> {
        let mut kept = Cow::Borrowed(found);
        let Object::New(column) = self.star.subject else {
            return Ok(kept);
        };
        for filter in early_filters(self.star, column) {
            let ids: Vec<u64> = kept.iter().map(|(_, subject)| subject.0).collect();
            let positions = filter.passing(&ids, cx)?;
            keep(kept.to_mut(), &positions);
        }
        Ok(kept)
    }

    /// Errors if the query is not to go on, asked each some values.
    fn check(&mut self, cx: &Context) -> Result<(), ExecError> {
        if self.unchecked >= CHECKED_VALUES {
            self.unchecked = 0;
            cx.check()?;
            if self.matches.len() > SOLUTIONS_MAX {
                self.held.grow_to(self.matches.bytes(), "Star", cx)?;
            }
        }
        Ok(())
    }

    /// The values of every pattern for subjects, which ascend without repeats.
    fn collect_together(&self, subjects: &[u64]) -> Result<Vec<KnownValues>, ExecError> {
        // Positions of those that can still match.
        let mut left: Vec<u32> = (0..subjects.len() as u32).collect();
        let mut known = Vec::with_capacity(self.star.patterns.len());
        for pattern in &self.star.patterns {
            let nodes: Vec<u64> = left.iter().map(|&at| subjects[at as usize]).collect();
            let mut found = Vec::new();
            let mut on_quad = |at: usize, object, graph| found.push((left[at], (object, graph)));
            self.snapshot.neighbours(
                pattern.predicate,
                Direction::Forward,
                &nodes,
                &mut on_quad,
            )?;
            let values = KnownValues::new(found, subjects.len());
            if !pattern.optional {
                left.retain(|&at| !values.of(at as usize).is_empty());
            }
            known.push(values);
        }
        Ok(known)
    }

    /// Adds the solutions of one subject for one input row.
    fn subject(
        &mut self,
        subject: TermId,
        origin: u32,
        source: Source<'_>,
        cx: &Context,
    ) -> Result<(), ExecError> {
        let other = match self.star.subject {
            Object::Constant(id) => id != subject.0,
            Object::Input(column) => self.input_id(column, origin) != subject.0,
            Object::Made(_) | Object::New(_) | Object::Any => false,
        };
        if other {
            return Ok(());
        }
        let graph = match &self.star.graphs {
            CompiledGraphs::Input(column, _) => {
                let graph = TermId(self.input_id(*column, origin));
                if !self.star.graph_may_match(graph) {
                    return Ok(());
                }
                Some(graph)
            }
            CompiledGraphs::One(id) => Some(TermId(*id)),
            CompiledGraphs::New(..) | CompiledGraphs::Made(..) | CompiledGraphs::Merge(_) => None,
        };
        for pattern_idx in 0..self.star.patterns.len() {
            self.collect(pattern_idx, subject, graph, source)?;
            self.narrow(pattern_idx, origin, cx)?;
            if self.values[pattern_idx].is_empty() && !self.star.patterns[pattern_idx].optional {
                return Ok(());
            }
        }
        self.row.fill(0);
        if let Object::New(column) = self.star.subject {
            self.row[column] = subject.0;
        }
        let shared = matches!(
            self.star.graphs,
            CompiledGraphs::New(..) | CompiledGraphs::Made(..)
        );
        let graph = if shared { None } else { Some(TermId::UNBOUND) };
        self.search(0, Search { origin, graph }, cx)
    }

    /// Drops values of a pattern that no solution can have, where they are many: what is left is multiplied by the values of the other
    /// patterns. Of an optional pattern none are: without them it would have no match, where it has one that a filter drops.
    fn narrow(&mut self, pattern_idx: usize, origin: u32, cx: &Context) -> Result<(), ExecError> {
        let star = self.star;
        let pattern = &star.patterns[pattern_idx];
        if pattern.optional || self.values[pattern_idx].len() < NARROWED_VALUES {
            return Ok(());
        }
        let expected = self.given_object(pattern.object, origin);
        let values = &mut self.values[pattern_idx];
        if let Some(id) = expected {
            values.retain(|(object, _)| object.0 == id);
        }
        let Object::New(column) = pattern.object else {
            return Ok(());
        };
        for filter in early_filters(star, column) {
            let ids: Vec<u64> = values.iter().map(|(object, _)| object.0).collect();
            keep(values, &filter.passing(&ids, cx)?);
        }
        Ok(())
    }

    /// The solutions, after the filters.
    pub fn finish(mut self, cx: &Context) -> Result<Matches, ExecError> {
        for (column, filter) in &self.star.column_filters {
            if self.matches.is_empty() {
                break;
            }
            let positions = filter.passing(&self.matches.columns[*column], cx)?;
            self.matches.keep(&positions);
        }
        super::cells::apply_row_filters(self.star, &mut self.matches, self.input, cx)?;
        Ok(self.matches)
    }

    fn input_id(&self, column: usize, origin: u32) -> u64 {
        self.input
            .map_or(0, |batch| batch.ids(column)[origin as usize])
    }

    /// The object that the query or the input row gives, if one of them does.
    fn given_object(&self, object: Object, origin: u32) -> Option<u64> {
        match object {
            Object::Constant(id) => Some(id),
            Object::Input(column) => Some(self.input_id(column, origin)),
            Object::Made(_) | Object::New(_) | Object::Any => None,
        }
    }

    /// Collects the values of one pattern, only those in the graphs that are read.
    fn collect(
        &mut self,
        pattern_idx: usize,
        subject: TermId,
        graph: Option<TermId>,
        source: Source<'_>,
    ) -> Result<(), ExecError> {
        let predicate = self.star.patterns[pattern_idx].predicate;
        let values = &mut self.values[pattern_idx];
        values.clear();
        match source {
            Source::Store => self.snapshot.objects_of(predicate, subject, values)?,
            Source::Known(known, position) => {
                values.extend_from_slice(known[pattern_idx].of(position));
            }
        }
        self.unchecked += values.len();
        let star = self.star;
        values.retain(|(_, g)| graph.map_or_else(|| star.graph_may_match(*g), |graph| graph == *g));
        if matches!(star.graphs, CompiledGraphs::Merge(_)) {
            values.sort_unstable();
            values.dedup_by_key(|(object, _)| *object);
        }
        Ok(())
    }

    /// Sets the graph of the solution; false if its slot has another value already.
    fn take_graph(&mut self, graph: TermId) -> bool {
        match self.star.graphs {
            CompiledGraphs::New(column, _) => {
                self.row[column] = graph.0;
                true
            }
            CompiledGraphs::Made(column, _) => self.row[column] == graph.0,
            _ => true,
        }
    }

    /// Tries the values of pattern `pattern_idx` and of all after it.
    /// Termination: the pattern index grows with each level.
    fn search(&mut self, pattern_idx: usize, state: Search, cx: &Context) -> Result<(), ExecError> {
        if pattern_idx == self.star.patterns.len() {
            self.matches.origin.push(state.origin);
            for (column, &id) in self.matches.columns.iter_mut().zip(&self.row) {
                column.push(id);
            }
            self.unchecked += 1;
            return self.check(cx);
        }
        let pattern = &self.star.patterns[pattern_idx];
        let mut found = false;
        for value_idx in 0..self.values[pattern_idx].len() {
            let (object, graph) = self.values[pattern_idx][value_idx];
            let mut next = state;
            match state.graph {
                Some(bound) if bound.is_bound() && bound != graph => continue,
                Some(_) => {}
                None if !self.take_graph(graph) => continue,
                None => next.graph = Some(graph),
            }
            let expected = match pattern.object {
                Object::Made(column) => Some(self.row[column]),
                given => self.given_object(given, state.origin),
            };
            if expected.is_some_and(|id| id != object.0) {
                continue;
            }
            found = true;
            if let Object::New(column) = pattern.object {
                self.row[column] = object.0;
            }
            self.search(pattern_idx + 1, next, cx)?;
            // Other values may be in other graphs, as long as the graph is not settled.
            if pattern.any_value && pattern.object == Object::Any && state.graph.is_some() {
                break;
            }
        }
        if !found && pattern.optional {
            if let Object::New(column) = pattern.object {
                self.row[column] = 0;
            }
            self.search(pattern_idx + 1, state, cx)?;
        }
        Ok(())
    }
}

/// The filters that read this column alone, if they may be asked of values before there are solutions: a volatile filter is asked once for each
/// solution, at the end.
fn early_filters(star: &CompiledStar, column: usize) -> impl Iterator<Item = &CompiledFilter> {
    let is_repeatable = star.input_columns.is_some();
    star.filters_of(column).filter(move |_| is_repeatable)
}
