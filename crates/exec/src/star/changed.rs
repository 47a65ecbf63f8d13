//! Changed rows and new subjects, read column by column.
//!
//! The delta knows what the subjects that it touches have now ([`ChangedValues`]). A pass over rows of a table
//! reads their cells as if nothing had changed, and puts that over them; subjects that no file of the version knows are
//! like rows of a table without columns. So a morsel is read whole, whether a few of its rows have changed or none.
//!
//! Invariant: the candidates ascend, what the changes added to them is in their home graph
//! ([`ChangedRows`](basalt_store::ChangedRows)), and columns tell what they have
//! ([`large`](super::large)); everything else goes the general way.
//! Cost: a step for each chunk between the first candidate and the last, and a short search for each changed subject or candidate there,
//! of whichever there are fewer.

use super::compiled::CompiledStar;
use super::row_run::RowRun;
use crate::context::Context;
use crate::error::ExecError;
use basalt_columns::gallop;
use basalt_rdf::TermId;
use basalt_store::{Cells, ChangedValues, Table};
use std::ops::Range;

/// Whose rows candidates are.
#[derive(Clone, Copy)]
pub enum Home<'a> {
    /// Of a table.
    Table(&'a Table),
    /// Subjects that no file of the version knows, numbered from the first of them, with all their quads in one graph.
    New {
        /// The ordinal of number 0.
        first: u64,
        /// The graph.
        graph: TermId,
    },
}

impl<'a> Home<'a> {
    /// The subject of a row.
    #[inline]
    pub fn subject(self, row: u32) -> TermId {
        match self {
            Self::Table(table) => table.subject(row),
            Self::New { first, .. } => TermId::resource(first + u64::from(row)),
        }
    }

    /// The cells of a predicate, if there are any.
    pub fn cells(self, predicate: TermId) -> Option<Cells<'a>> {
        match self {
            Self::Table(table) => table.cells(predicate),
            Self::New { .. } => None,
        }
    }

    /// The home graph, if it is the same for all rows.
    pub fn constant_graph(self) -> Option<TermId> {
        match self {
            Self::Table(table) => table.constant_graph(),
            Self::New { graph, .. } => Some(graph),
        }
    }

    /// Appends the home graph of each row.
    pub fn gather_graphs(self, rows: &[u32], out: &mut Vec<u64>) {
        match self {
            Self::Table(table) => table.gather_graphs(rows, out),
            Self::New { graph, .. } => out.extend(std::iter::repeat_n(graph.0, rows.len())),
        }
    }
}

/// What changed candidates have of one predicate now.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct ChangedCells {
    /// Positions of candidates, ascending.
    pub positions: Vec<u32>,
    /// How many values each of them has.
    pub counts: Vec<u32>,
    /// The values, one candidate after the other.
    pub values: Vec<u64>,
}

impl ChangedCells {
    /// Finds the changed ones among candidates, which ascend and may repeat.
    pub fn of(
        predicate: TermId,
        home: Home<'_>,
        rows: &[u32],
        cx: &Context,
    ) -> Result<Self, ExecError> {
        let mut found = Self::default();
        let mut emptied = Vec::new();
        let (mut at, mut at_emptied) = (0, 0);
        for_each_chunk(predicate, home, rows, cx, |chunk, [first, _], zero| {
            let single = chunk.single_objects();
            let rows_of = |subjects: &[u64], at: &mut usize, run: &mut dyn FnMut(Run)| {
                for_each_run(subjects, rows, (first, zero), at, run);
            };
            rows_of(chunk.subjects(), &mut at, &mut |run| match single {
                Some(objects) => found.push_single(run, objects),
                None => found.push(run, chunk),
            });
            rows_of(chunk.emptied(), &mut at_emptied, &mut |run| {
                emptied.extend(run.positions());
            });
        })?;
        if !emptied.is_empty() {
            found.add_emptied(&emptied);
        }
        Ok(found)
    }

    /// A run of candidates, the only values of which are some of `objects`.
    fn push_single(&mut self, run: Run, objects: &[u64]) {
        self.positions.extend(run.positions());
        self.counts.resize(self.positions.len(), 1);
        let objects = &objects[run.place..run.place + run.count];
        self.values.extend_from_slice(objects);
    }

    /// A run of candidates.
    fn push(&mut self, run: Run, chunk: &ChangedValues) {
        for (position, place) in run.positions().zip(run.place..) {
            match chunk.objects(place) {
                Some(objects) => {
                    self.positions.push(position);
                    self.counts.push(objects.len() as u32);
                    self.values.extend_from_slice(objects);
                }
                None => debug_assert!(false, "candidates are told"),
            }
        }
    }

    /// Adds candidates that have no values, by ascending position.
    fn add_emptied(&mut self, emptied: &[u32]) {
        let positions = std::mem::take(&mut self.positions);
        let counts = std::mem::take(&mut self.counts);
        let mut emptied = emptied.iter().copied().peekable();
        for (position, count) in positions.into_iter().zip(counts) {
            while let Some(before) = emptied.next_if(|&before| before < position) {
                self.positions.push(before);
                self.counts.push(0);
            }
            self.positions.push(position);
            self.counts.push(count);
        }
        self.positions.extend(emptied);
        self.counts.resize(self.positions.len(), 0);
    }

    /// Whether no candidate has changed.
    pub fn is_empty(&self) -> bool {
        self.positions.is_empty()
    }

    /// Whether some candidate has several values.
    pub fn has_several(&self) -> bool {
        self.counts.iter().any(|&count| count > 1)
    }

    /// Puts the values over those of cells, one for each candidate; none has several.
    pub fn put_over(&self, cells: &mut [u64]) {
        let mut values = self.values.iter();
        for (&position, &count) in self.positions.iter().zip(&self.counts) {
            cells[position as usize] = match count {
                0 => 0,
                _ => values.next().copied().unwrap_or_default(),
            };
        }
    }

    /// The lists of all candidates, of those in cells.
    pub fn put_over_lists(&self, counts: &[u32], values: &[u64]) -> (Vec<u32>, Vec<u64>) {
        let mut all_counts = counts.to_vec();
        let mut all = Vec::with_capacity(values.len() + self.values.len());
        let (mut done, mut read, mut taken) = (0, 0, 0);
        for (&position, &count) in self.positions.iter().zip(&self.counts) {
            let position = position as usize;
            let before: u32 = counts[done..position].iter().sum();
            let end = read + before as usize;
            all.extend_from_slice(&values[read..end]);
            all.extend_from_slice(&self.values[taken..taken + count as usize]);
            all_counts[position] = count;
            taken += count as usize;
            read = end + counts[position] as usize;
            done = position + 1;
        }
        all.extend_from_slice(&values[read..]);
        (all_counts, all)
    }
}

/// Candidates and subjects that match one by one.
#[derive(Clone, Copy)]
struct Run {
    /// Of the first candidate.
    position: usize,
    /// Of the first subject.
    place: usize,
    count: usize,
}

impl Run {
    fn positions(self) -> Range<u32> {
        self.position as u32..(self.position + self.count) as u32
    }
}

/// Visits the rows that are among subjects of a chunk; `first` is the id of the first row and `zero` that of row 0. Goes on from row
/// `at`, and leaves there where the next chunk may go on.
fn for_each_run(
    subjects: &[u64],
    rows: &[u32],
    (first, zero): (u64, u64),
    at: &mut usize,
    on_run: &mut dyn FnMut(Run),
) {
    let mut place = seek(subjects, first);
    // Termination: each step passes a candidate or a subject.
    while let (Some(&subject), Some(&row)) = (subjects.get(place), rows.get(*at)) {
        let candidate = zero + u64::from(row);
        if subject < candidate {
            place += seek(&subjects[place..], candidate);
        } else if subject > candidate {
            *at += seek(&rows[*at..], row_of(subject, zero)).max(1);
        } else {
            let both = rows[*at..].iter().zip(&subjects[place..]);
            let equal = both.take_while(|&(&row, &subject)| zero + u64::from(row) == subject);
            let run = Run {
                position: *at,
                place,
                count: equal.count(),
            };
            on_run(run);
            *at += run.count;
            // Candidates may repeat, so the last subject may be that of the next as well.
            place += run.count - 1;
        }
    }
}

/// Chunks gone over between two looks at whether the query goes on: the subjects of so many take less than a millisecond.
const CHECKED_CHUNKS: usize = 128;

/// Visits what is told of the subjects that changes touch with a predicate, from the first of `rows` to the last: chunk by chunk, with
/// the ids of the first and the last and that of row 0.
pub(super) fn for_each_chunk(
    predicate: TermId,
    home: Home<'_>,
    rows: &[u32],
    cx: &Context,
    mut visit: impl FnMut(&ChangedValues, [u64; 2], u64),
) -> Result<(), ExecError> {
    let (Some(&first), Some(&last)) = (rows.first(), rows.last()) else {
        return Ok(());
    };
    let zero = home.subject(0).0;
    let (first, last) = (home.subject(first), home.subject(last));
    let mut goes_on = || cx.check();
    let chunks = cx
        .snapshot()
        .changed_values(predicate, first, last, &mut goes_on)?;
    for (number, chunk) in chunks.into_iter().enumerate() {
        if number % CHECKED_CHUNKS == CHECKED_CHUNKS - 1 {
            cx.check()?;
        }
        visit(chunk, [first.0, last.0], zero);
    }
    Ok(())
}

/// Appends the rows of ascending subjects from one to another, bounds included.
fn extend_rows(found: &mut Vec<u32>, subjects: &[u64], [first, last]: [u64; 2], zero: u64) {
    let from = subjects.partition_point(|&subject| subject < first);
    let to = subjects.partition_point(|&subject| subject <= last);
    found.extend(subjects[from..to].iter().map(|s| (s - zero) as u32));
}

/// The row of a subject at or behind row 0, or a number above all rows.
fn row_of(subject: u64, zero: u64) -> u32 {
    u32::try_from(subject - zero).unwrap_or(u32::MAX)
}

/// The first place of ascending values that is not less than this one.
fn seek<T: Ord + Copy>(values: &[T], value: T) -> usize {
    gallop(values.len(), |place| values[place] < value)
}

/// The rows of a range of a table that a star can have a solution of, as far as the delta tells: without dirty ones, and
/// without those that have lost what a pattern must have. And whether some of the others have changed.
pub fn rows_of_range(
    star: &CompiledStar,
    table_idx: usize,
    rows: Range<u32>,
    cx: &Context,
) -> Result<(RowRun, bool), ExecError> {
    let changed = &star.rows.changed[table_idx];
    let dirty = &star.rows.dirty[table_idx];
    let mut left_out: Vec<u32> = dirty.range(rows.clone()).collect();
    let has_dirty = !left_out.is_empty();
    let changed_rows = changed.range_cardinality(rows.clone());
    let mut is_changed = changed_rows > 0;
    if is_changed && !rows.is_empty() {
        let home = Home::Table(&cx.snapshot().tables()[table_idx]);
        let ends = [rows.start, rows.end - 1];
        let mut emptied = Vec::new();
        for pattern in star.patterns.iter().filter(|pattern| !pattern.optional) {
            emptied.clear();
            add_emptied(pattern.predicate, home, &ends, cx, &mut emptied)?;
            // Subjects mostly lose all that they have, so the lists of all patterns are the same.
            if left_out != emptied {
                left_out = union(&left_out, &emptied);
            }
        }
        // What the delta touches is changed or dirty.
        is_changed = match has_dirty {
            true => has_others(changed.range(rows.clone()), &left_out),
            false => changed_rows != left_out.len() as u64,
        };
    }
    Ok((RowRun { rows, left_out }, is_changed))
}

/// The rows of two ascending lists, each once.
fn union(one: &[u32], other: &[u32]) -> Vec<u32> {
    let mut both = Vec::with_capacity(one.len() + other.len());
    let mut other = other.iter().copied().peekable();
    for &row in one {
        while let Some(before) = other.next_if(|&before| before < row) {
            both.push(before);
        }
        other.next_if_eq(&row);
        both.push(row);
    }
    both.extend(other);
    both
}

/// Whether ascending rows have one that is not among others, which ascend too.
fn has_others(mut rows: impl Iterator<Item = u32>, others: &[u32]) -> bool {
    let mut others = others.iter().copied().peekable();
    rows.any(|row| {
        while others.next_if(|&other| other < row).is_some() {}
        others.next_if_eq(&row).is_none()
    })
}

/// The changed rows among those from `start` to `end` of a table that have a value of a predicate now, or may have.
pub fn changed_with_value(
    star: &CompiledStar,
    table_idx: usize,
    predicate: TermId,
    rows: Range<u32>,
    cx: &Context,
) -> Result<Vec<u32>, ExecError> {
    let changed = &star.rows.changed[table_idx];
    let mut found = Vec::new();
    if rows.is_empty() || changed.range_cardinality(rows.clone()) == 0 {
        return Ok(found);
    }
    let home = Home::Table(&cx.snapshot().tables()[table_idx]);
    let ends = [rows.start, rows.end - 1];
    for_each_chunk(predicate, home, &ends, cx, |chunk, bounds, zero| {
        extend_rows(&mut found, chunk.subjects(), bounds, zero);
    })?;
    found.retain(|&row| changed.contains(row));
    Ok(found)
}

/// The rows of a table that changes have left without any value of a predicate, in ascending order.
pub fn emptied_rows(
    star: &CompiledStar,
    table_idx: usize,
    predicate: TermId,
    cx: &Context,
) -> Result<Vec<u32>, ExecError> {
    let table = &cx.snapshot().tables()[table_idx];
    let mut found = Vec::new();
    if !star.rows.changed[table_idx].is_empty() {
        let ends = [0, table.rows().saturating_sub(1)];
        add_emptied(predicate, Home::Table(table), &ends, cx, &mut found)?;
    }
    Ok(found)
}

/// Appends those of the changed rows from the first of `rows` to the last that have no value of a predicate now.
fn add_emptied(
    predicate: TermId,
    home: Home<'_>,
    rows: &[u32],
    cx: &Context,
    found: &mut Vec<u32>,
) -> Result<(), ExecError> {
    for_each_chunk(predicate, home, rows, cx, |chunk, bounds, zero| {
        extend_rows(found, chunk.emptied(), bounds, zero);
    })
}

/// The new subjects that have a value of each pattern that must have one, as rows of [`Home::New`], if they are read as columns.
pub fn new_subjects(
    star: &CompiledStar,
    home: Home<'_>,
    cx: &Context,
) -> Result<Vec<u32>, ExecError> {
    let required = star.patterns.iter().filter(|pattern| !pattern.optional);
    let new = |predicate| cx.snapshot().change_places(predicate).new;
    let Some(rarest) = required.min_by_key(|pattern| new(pattern.predicate)) else {
        return Ok(Vec::new());
    };
    let mut found = Vec::new();
    if new(rarest.predicate) > 0 {
        let ends = [0, u32::MAX];
        for_each_chunk(rarest.predicate, home, &ends, cx, |chunk, bounds, zero| {
            extend_rows(&mut found, chunk.subjects(), bounds, zero);
        })?;
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_sought_from_any_place() {
        let rows = [2, 2, 5, 9, 9, 9, 12, 40, 41, 41, 90];
        for row in 0..100 {
            let expected = rows.iter().filter(|&&r| r < row).count();
            assert_eq!(seek(&rows, row), expected, "{row}");
        }
        assert_eq!(seek::<u32>(&[], 3), 0);
    }

    #[test]
    fn ascending_rows_are_put_together() {
        assert_eq!(union(&[], &[]), [0; 0]);
        assert_eq!(union(&[2, 5, 9], &[1, 5, 9, 12]), [1, 2, 5, 9, 12]);
        assert_eq!(union(&[3], &[]), [3]);
        assert_eq!(union(&[], &[3]), [3]);
    }

    #[test]
    fn candidates_without_values_are_put_between_others() {
        let mut changed = ChangedCells {
            positions: vec![1, 4],
            counts: vec![2, 1],
            values: vec![7, 8, 9],
        };
        changed.add_emptied(&[0, 2, 3, 6]);
        assert_eq!(changed.positions, [0, 1, 2, 3, 4, 6]);
        assert_eq!(changed.counts, [0, 2, 0, 0, 1, 0]);
    }

    #[test]
    fn runs_of_candidates_are_found() {
        // Candidates repeat, and some are no subjects; subjects come in two chunks.
        let rows = [1, 2, 2, 3, 5, 6, 7, 7, 9, 12];
        let zero = 100;
        let mut found = Vec::new();
        let mut at = 0;
        for subjects in [[101, 102, 103, 104], [106, 107, 109, 113]] {
            for_each_run(&subjects, &rows, (101, zero), &mut at, &mut |run| {
                let places = run.place..run.place + run.count;
                let of_run = run.positions().zip(subjects[places].iter().copied());
                found.extend(of_run);
            });
        }
        let expected = [
            (0, 101),
            (1, 102),
            (2, 102),
            (3, 103),
            (5, 106),
            (6, 107),
            (7, 107),
            (8, 109),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn rows_beside_others_are_found() {
        assert!(!has_others([].into_iter(), &[1]));
        assert!(!has_others([2, 5].into_iter(), &[1, 2, 3, 5, 9]));
        assert!(has_others([2, 5].into_iter(), &[2, 4, 6]));
        assert!(has_others([7].into_iter(), &[]));
    }

    #[test]
    fn changed_lists_are_put_over_cells() {
        let changed = ChangedCells {
            positions: vec![0, 2, 3],
            counts: vec![2, 0, 1],
            values: vec![7, 8, 9],
        };
        let (counts, values) = changed.put_over_lists(&[1, 2, 1, 0, 1], &[1, 2, 3, 4, 5]);
        assert_eq!(counts, [2, 2, 0, 1, 1]);
        assert_eq!(values, [7, 8, 2, 3, 9, 5]);
        assert!(changed.has_several());
        let single = ChangedCells {
            positions: vec![1, 2],
            counts: vec![0, 1],
            values: vec![6],
        };
        let mut cells = [1, 2, 3];
        single.put_over(&mut cells);
        assert_eq!(cells, [1, 0, 6]);
    }
}
