//! The vectorised way: rows of one table, answered from cells, and from what was changed since these were written.
//!
//! Works on a list of candidate rows and narrows or widens it pattern by pattern: a constant or
//! bound object drops rows, a single-valued column adds a column by gathering, a multi-valued one
//! repeats rows. Filters run as soon as the columns that they read are there, and columns that no filter reads are
//! gathered last, of the rows that are left. Key filters are tested as filters are.
//!
//! Invariant: the candidates are clean for every predicate of the star, so cells hold all quads; or they are as
//! [`changed`](super::changed) asks, and what changed is put over the cells.
//! Cost: per pattern one pass over the remaining candidates; no allocation per row. Memory: that of a [`Part`].

use super::changed::{ChangedCells, Home};
use super::compiled::{CompiledFilter, CompiledGraphs, CompiledPattern, CompiledStar, Object};
use super::known_rows::KnownRows;
use super::matches::Matches;
use super::parts::{Lists, Part, SOLUTIONS_MAX};
use super::reducer::{Reducer, turned_away};
use super::row_run::RowRun;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::selection::{keep, positions};
use basalt_rdf::TermId;
use basalt_store::Cells;
use std::ops::Range;

/// Rows are read together with those between them if these are so few that there are at most so many cells for each two
/// rows: finding a cell takes some times what decoding it in order takes.
const SPAN_FOR_TWO: usize = 3;

/// Candidate rows of one table on their way to solutions.
pub struct CellPass<'a> {
    star: &'a CompiledStar,
    home: Home<'a>,
    /// The input batch, where there is one.
    input: Option<&'a Batch>,
    /// The table row of each candidate.
    rows: Vec<u32>,
    /// The same as long as they are a run.
    run: Option<RowRun>,
    /// What is known of each candidate so far.
    matches: Matches,
    /// Pattern that is already known to hold for every candidate (the entry of an object join).
    satisfied: Option<usize>,
    /// By pattern the rows that it holds for, where they are known.
    known: &'a [KnownRows],
    /// Key filters of objects.
    reducers: &'a [Reducer],
    /// Whether every candidate is the row of its input's subject.
    subjects_fit: bool,
    /// Whether cells do not tell all of the candidates, which ascend then.
    is_changed: bool,
    /// Whether the candidates were looked at.
    begun: bool,
    /// Those that wait, the last first.
    waiting: Vec<Part>,
}

impl<'a> CellPass<'a> {
    /// Starts with candidate rows; `origin` gives the input row of each (all 0 for a scan).
    pub fn new(
        star: &'a CompiledStar,
        home: Home<'a>,
        input: Option<&'a Batch>,
        rows: Vec<u32>,
        origin: Vec<u32>,
    ) -> Self {
        let mut matches = Matches::new(star.new_slots.len());
        matches.origin = origin;
        Self {
            star,
            home,
            input,
            rows,
            run: None,
            matches,
            satisfied: None,
            known: &[],
            reducers: &[],
            subjects_fit: false,
            is_changed: false,
            begun: false,
            waiting: Vec::new(),
        }
    }

    /// Says that some candidates may have changed since their cells were written; they ascend.
    pub fn with_changes(mut self) -> Self {
        debug_assert!(self.rows.is_sorted(), "changes are found in order");
        self.is_changed = true;
        self
    }

    /// Says that the candidates are those of a run.
    pub fn with_run(mut self, run: RowRun) -> Self {
        debug_assert_eq!(self.rows, run.to_rows(), "the same rows");
        self.run = Some(run);
        self
    }

    /// Says which rows the patterns hold for. Who gives rows has dropped the others from the candidates.
    pub fn with_known(mut self, known: &'a [KnownRows]) -> Self {
        self.known = known;
        self
    }

    /// Gives the key filters of objects.
    pub fn with_reducers(mut self, reducers: &'a [Reducer]) -> Self {
        self.reducers = reducers;
        self
    }

    /// Says that every candidate was found by the subject of its input row.
    pub fn by_subject(mut self) -> Self {
        self.subjects_fit = true;
        self
    }

    /// Says that every candidate has the right object for this pattern (an index of the compiled order).
    pub fn with_satisfied(mut self, pattern_idx: Option<usize>) -> Self {
        self.satisfied = pattern_idx;
        self
    }

    /// Goes on with candidates that wait since an earlier pass over the same rows, the last first.
    pub fn with_waiting(mut self, waiting: Vec<Part>) -> Self {
        self.waiting = waiting;
        self.begun = true;
        self
    }

    /// The candidates that wait.
    pub fn into_waiting(self) -> Vec<Part> {
        self.waiting
    }

    /// Runs all patterns and filters over the candidates, or over as many as are not too many at once; `None` after the last.
    pub fn next(&mut self, cx: &Context) -> Result<Option<Matches>, ExecError> {
        let mut pattern_idx = 0;
        if !std::mem::replace(&mut self.begun, true) {
            self.begin(cx)?;
        } else if let Some(part) = self.waiting.pop() {
            cx.check()?;
            (self.rows, self.matches) = (part.rows, part.matches);
            pattern_idx = part.pattern_idx;
            let pattern = &self.star.patterns[pattern_idx];
            self.repeat(pattern, &part.lists);
            self.end_pattern(pattern_idx, cx)?;
            pattern_idx += 1;
        } else {
            return Ok(None);
        }
        while pattern_idx < self.star.patterns.len() && !self.rows.is_empty() {
            self.pattern(pattern_idx, cx)?;
            pattern_idx += 1;
        }
        if self.rows.is_empty() {
            return Ok(Some(Matches::new(self.star.new_slots.len())));
        }
        Ok(Some(std::mem::take(&mut self.matches)))
    }

    /// What needs no pattern.
    fn begin(&mut self, cx: &Context) -> Result<(), ExecError> {
        self.bind_subject();
        self.check_graphs();
        self.filter_column_of(self.star.subject, cx)?;
        if let CompiledGraphs::New(column, _) = self.star.graphs {
            self.filter_column_of(Object::New(column), cx)?;
        }
        self.filter_rows_after(0, cx)
    }

    /// Tests a constant or bound object, or makes the column of a new one, and applies the filters that are ready then.
    fn pattern(&mut self, pattern_idx: usize, cx: &Context) -> Result<(), ExecError> {
        match self.known.get(pattern_idx) {
            _ if self.satisfied == Some(pattern_idx) => {}
            None | Some(KnownRows::Unknown | KnownRows::WithValue(_)) => {
                self.read(pattern_idx, cx)?;
            }
            Some(KnownRows::All | KnownRows::These(_)) => {}
        }
        self.end_pattern(pattern_idx, cx)
    }

    /// The filters that are ready after a pattern.
    fn end_pattern(&mut self, pattern_idx: usize, cx: &Context) -> Result<(), ExecError> {
        self.filter_column_of(self.star.patterns[pattern_idx].object, cx)?;
        self.filter_rows_after(pattern_idx + 1, cx)
    }

    /// Tests or makes the column of an object.
    fn read(&mut self, pattern_idx: usize, cx: &Context) -> Result<(), ExecError> {
        let pattern = &self.star.patterns[pattern_idx];
        let cells = self.home.cells(pattern.predicate);
        let changed = match self.is_changed {
            true => ChangedCells::of(pattern.predicate, self.home, &self.rows, cx)?,
            false => ChangedCells::default(),
        };
        let are_lists = changed.has_several() || cells.is_some_and(Cells::multi_valued);
        match cells {
            None if changed.is_empty() => self.absent(pattern),
            cells if are_lists => self.multi_valued(pattern_idx, cells, &changed),
            cells => self.single_valued(pattern, cells, &changed),
        }
        Ok(())
    }

    /// Applies the filters over several slots that could not be applied before so many patterns were evaluated.
    fn filter_rows_after(&mut self, patterns: usize, cx: &Context) -> Result<(), ExecError> {
        let star = self.star;
        for (_, filter) in star
            .row_filters
            .iter()
            .filter(|(ready, _)| *ready == patterns)
        {
            if self.rows.is_empty() {
                return Ok(());
            }
            let positions = passing(star, filter, &self.matches, self.input, cx)?;
            self.keep(&positions);
        }
        Ok(())
    }

    /// Makes the subject's column, or drops candidates that are not the subject asked for.
    fn bind_subject(&mut self) {
        if let Object::New(column) = self.star.subject {
            self.matches.columns[column] = self
                .rows
                .iter()
                .map(|&row| self.home.subject(row).0)
                .collect();
        } else if !self.subjects_fit && self.star.subject != Object::Any {
            let subject = self.star.subject;
            let positions = self.positions(|pass, position| {
                pass.home.subject(pass.rows[position]).0 == pass.expected(subject, position)
            });
            self.keep(&positions);
        }
    }

    fn check_graphs(&mut self) {
        let star = self.star;
        let constant = self.home.constant_graph();
        if let Some(graph) = constant
            && !star.graph_may_match(graph)
        {
            self.keep(&[]);
            return;
        }
        if star.takes_all_rows(constant) {
            return;
        }
        let mut graphs = Vec::with_capacity(self.rows.len());
        self.home.gather_graphs(&self.rows, &mut graphs);
        let positions = self.positions(|pass, position| {
            let graph = graphs[position];
            star.graph_may_match(TermId(graph))
                && match star.graphs {
                    CompiledGraphs::Input(column, _) => pass.input_id(column, position) == graph,
                    CompiledGraphs::Made(column, _) => {
                        pass.matches.columns[column][position] == graph
                    }
                    _ => true,
                }
        });
        if let CompiledGraphs::New(column, _) = star.graphs {
            self.matches.columns[column] = graphs;
        }
        self.keep(&positions);
    }

    fn input_id(&self, column: usize, position: usize) -> u64 {
        self.input.map_or(0, |batch| {
            batch.ids(column)[self.matches.origin[position] as usize]
        })
    }

    /// The value that the object must have at a candidate, unless it is a new slot.
    fn expected(&self, object: Object, position: usize) -> u64 {
        match object {
            Object::Constant(id) => id,
            Object::Input(column) => self.input_id(column, position),
            Object::Made(column) | Object::New(column) => self.matches.columns[column][position],
            // Nobody asks, and no cell has it.
            Object::Any => 0,
        }
    }

    fn positions(&self, mut wanted: impl FnMut(&Self, usize) -> bool) -> Vec<u32> {
        (0..self.rows.len() as u32)
            .filter(|&position| wanted(self, position as usize))
            .collect()
    }

    fn keep(&mut self, positions: &[u32]) {
        if positions.len() < self.rows.len() {
            self.run = None;
            match self.input {
                Some(_) => self.matches.keep(positions),
                None => self.matches.keep_of_scan(positions),
            }
            keep(&mut self.rows, positions);
        }
    }

    fn absent(&mut self, pattern: &CompiledPattern) {
        if !pattern.optional {
            self.keep(&[]);
        } else if let Object::New(column) = pattern.object {
            self.matches.columns[column] = vec![0; self.rows.len()];
        }
    }

    fn single_valued(
        &mut self,
        pattern: &CompiledPattern,
        cells: Option<Cells<'_>>,
        changed: &ChangedCells,
    ) {
        let is_full = cells.is_some_and(Cells::full) && !changed.counts.contains(&0);
        let all = pattern.optional || is_full;
        if pattern.object == Object::Any && all {
            return;
        }
        let mut values = match cells {
            Some(cells) => single_values(cells, &self.rows, self.run.as_ref()),
            None => vec![0; self.rows.len()],
        };
        changed.put_over(&mut values);
        if let Object::New(column) = pattern.object {
            let positions = if all {
                None
            } else {
                Some(positions(&values, |id| id != 0))
            };
            self.matches.columns[column] = values;
            if let Some(positions) = positions {
                self.keep(&positions);
            }
        } else if pattern.object == Object::Any {
            self.keep(&positions(&values, |id| id != 0));
        } else if let Object::Constant(id) = pattern.object {
            let positions = positions(&values, |other| other == id);
            self.keep(&positions);
        } else {
            let positions = self.positions(|pass, position| {
                values[position] == pass.expected(pattern.object, position)
            });
            self.keep(&positions);
        }
    }

    fn multi_valued(
        &mut self,
        pattern_idx: usize,
        cells: Option<Cells<'_>>,
        changed: &ChangedCells,
    ) {
        let pattern = &self.star.patterns[pattern_idx];
        if !matches!(pattern.object, Object::New(_) | Object::Any) && changed.is_empty() {
            self.holding(pattern.object, cells);
            return;
        }
        let mut counts = Vec::with_capacity(self.rows.len());
        let mut values = Vec::with_capacity(self.rows.len());
        match cells {
            Some(cells) => cells.gather_lists(&self.rows, &mut counts, &mut values),
            None => counts.resize(self.rows.len(), 0),
        }
        if !changed.is_empty() {
            (counts, values) = changed.put_over_lists(&counts, &values);
        }
        if pattern.any_value && pattern.object == Object::Any {
            let positions = self.positions(|_, position| counts[position] > 0);
            self.keep(&positions);
            return;
        }
        if let Object::New(_) | Object::Any = pattern.object {
            let mut part = Part {
                rows: std::mem::take(&mut self.rows),
                matches: std::mem::take(&mut self.matches),
                lists: Lists { counts, values },
                pattern_idx,
            };
            self.waiting
                .extend(part.cut(pattern.optional, SOLUTIONS_MAX));
            (self.rows, self.matches) = (part.rows, part.matches);
            self.repeat(pattern, &part.lists);
            return;
        }
        let mut start = 0;
        let positions = self.positions(|pass, position| {
            let list = &values[start..start + counts[position] as usize];
            start += list.len();
            list.contains(&pass.expected(pattern.object, position))
        });
        self.keep(&positions);
    }

    /// Keeps the rows of which some value is that of a constant or of a bound slot; lists are not read for it.
    fn holding(&mut self, object: Object, cells: Option<Cells<'_>>) {
        let places = 0..self.rows.len();
        let wanted: Vec<u64> = places.map(|place| self.expected(object, place)).collect();
        let positions = cells.map(|cells| cells.holding(&self.rows, &wanted));
        self.keep(&positions.unwrap_or_default());
    }

    /// Repeats each candidate once for each of its values.
    fn repeat(&mut self, pattern: &CompiledPattern, lists: &Lists) {
        self.run = None;
        let Lists { counts, values } = lists;
        let mut positions = Vec::with_capacity(values.len());
        let mut expanded = Vec::with_capacity(values.len());
        let mut start = 0;
        for (position, &count) in counts.iter().enumerate() {
            let list = &values[start..start + count as usize];
            start += list.len();
            if list.is_empty() && pattern.optional {
                positions.push(position as u32);
                expanded.push(0);
            }
            positions.extend(std::iter::repeat_n(position as u32, list.len()));
            expanded.extend_from_slice(list);
        }
        self.rows = positions.iter().map(|&p| self.rows[p as usize]).collect();
        let origin = &self.matches.origin;
        self.matches.origin = positions.iter().map(|&p| origin[p as usize]).collect();
        for made in &mut self.matches.columns {
            if !made.is_empty() {
                *made = positions.iter().map(|&p| made[p as usize]).collect();
            }
        }
        if let Object::New(column) = pattern.object {
            self.matches.columns[column] = expanded;
        }
    }

    /// Applies the key filters and the filters that read only the column that `object` has just made.
    fn filter_column_of(&mut self, object: Object, cx: &Context) -> Result<(), ExecError> {
        let Object::New(column) = object else {
            return Ok(());
        };
        for reducer in self.reducers.iter().filter(|r| r.column == column) {
            if let Some(positions) = reducer.positions(&self.matches.columns[column]) {
                turned_away(self.rows.len() - positions.len(), cx);
                self.keep(&positions);
            }
        }
        let star = self.star;
        for filter in star.filters_of(column) {
            if !self.rows.is_empty() {
                let positions = filter.passing(&self.matches.columns[column], cx)?;
                self.keep(&positions);
            }
        }
        Ok(())
    }
}

/// Drops the solutions for which a filter over several slots (or input slots) is not true.
pub fn apply_row_filters(
    star: &CompiledStar,
    matches: &mut Matches,
    input: Option<&Batch>,
    cx: &Context,
) -> Result<(), ExecError> {
    for (_, filter) in &star.row_filters {
        if matches.is_empty() {
            return Ok(());
        }
        let positions = passing(star, filter, matches, input, cx)?;
        matches.keep(&positions);
    }
    Ok(())
}

/// The solutions for which a filter is true.
fn passing(
    star: &CompiledStar,
    filter: &CompiledFilter,
    matches: &Matches,
    input: Option<&Batch>,
    cx: &Context,
) -> Result<Vec<u32>, ExecError> {
    let input = input.map(|batch| (batch, star.input_schema.as_slice()));
    let batch = matches.columns_of(&filter.slots, &star.new_slots, input);
    filter.expr.select(&batch, cx)
}

/// The value of each row, 0 where there is none; `run` has the same rows.
fn single_values(cells: Cells<'_>, rows: &[u32], run: Option<&RowRun>) -> Vec<u64> {
    if let Some(run) = run {
        let mut values = Vec::with_capacity(run.rows.len());
        cells.scan(run.rows.clone(), &mut values);
        run.close_gaps(&mut values);
        return values;
    }
    let mut values = Vec::with_capacity(rows.len());
    let Some(span) = span(rows) else {
        cells.gather(rows, &mut values);
        return values;
    };
    let (first, whole) = (span.start, span.len());
    cells.scan(span, &mut values);
    if rows.len() < whole {
        // Rows ascend without repeats, so none is read after it was written to.
        for (to, &row) in rows.iter().enumerate() {
            values[to] = values[(row - first) as usize];
        }
        values.truncate(rows.len());
    }
    values
}

/// The range from the first row to the last, if the rows ascend without repeats and are most of it.
fn span(rows: &[u32]) -> Option<Range<u32>> {
    let (&first, &last) = (rows.first()?, rows.last()?);
    let whole = last.checked_sub(first)? as usize + 1;
    let is_near = rows.len() <= whole && whole * 2 <= rows.len() * SPAN_FOR_TWO;
    (is_near && rows.is_sorted_by(|a, b| a < b)).then_some(first..last + 1)
}
