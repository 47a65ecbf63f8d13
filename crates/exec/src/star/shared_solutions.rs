//! `SharedSolutions`: solutions found once for each distinct key of a batch, and given to each row that has the key.
//!
//! ```text
//! rows       key numbers   0 1 0 0 2 ...        one for each row of the batch
//! solutions  starts        0 3 3 7              those of key k are starts[k]..starts[k + 1]
//!            columns       one for each new slot, key after key
//! ```
//!
//! Rows come out in pieces of a batch, each column of a piece in stretches: a value of the input row over and over, the
//! solutions of its key one after the other. So what comes out stays in the caches, however many rows there are in all. Where no key
//! has more than one solution the rows are selected without a branch for each.
//! Order: the input's, and for each row that of its solutions.
//! Memory: the solutions of the distinct keys of one batch, and one piece.

use super::matches::Matches;
use super::repeated_keys::RepeatedKeys;
use crate::batch::Batch;
use crate::selection::positions;
use basalt_plan::physical::{JoinKind, Slot};
use std::borrow::Cow;

/// Stretches of fewer rows on average are copied row by row: a copy of a stretch costs some of them to start.
const STRETCH_ROWS_MIN: usize = 4;

/// Solutions on their way out; see the [module documentation](self).
pub struct SharedSolutions {
    batch: Batch,
    /// The number of the key of each row.
    numbers: Vec<u32>,
    /// The first solution of each key, and the number of all.
    starts: Vec<u32>,
    /// The new columns of the solutions.
    columns: Vec<Vec<u64>>,
    /// The rows that have a solution, if no key has more than one.
    once: Option<Vec<u32>>,
    /// The row that comes next; where no key has more than one solution, its place among those that have one.
    row: usize,
    /// How many of its solutions were handed out.
    handed_out: u32,
}

/// Some solutions of one row.
struct Stretch {
    row: u32,
    first: u32,
    count: u32,
}

impl SharedSolutions {
    /// Of a batch and its keys; `matches` are the solutions of an inner join with the first rows of the keys, in order.
    pub fn new(batch: Batch, keys: &RepeatedKeys, mut matches: Matches, kind: JoinKind) -> Self {
        debug_assert!(matches.origin.is_sorted());
        let numbers = keys.numbers().to_vec();
        // Keys are numbered by their first rows, so this changes no order.
        for origin in &mut matches.origin {
            *origin = numbers[*origin as usize];
        }
        let count = keys.values().len();
        matches.complete(kind, count);
        let mut starts = vec![0; count + 1];
        for &number in &matches.origin {
            starts[number as usize + 1] += 1;
        }
        for number in 0..count {
            starts[number + 1] += starts[number];
        }
        let counts = || starts.windows(2).map(|ends: &[u32]| ends[1] - ends[0]);
        let once = counts().all(|count| count <= 1).then(|| {
            let has_one: Vec<bool> = counts().map(|count| count == 1).collect();
            positions(&numbers, |number| has_one[number as usize])
        });
        Self {
            batch,
            numbers,
            starts,
            columns: matches.columns,
            once,
            row: 0,
            handed_out: 0,
        }
    }

    /// Whether every row of the batch has one solution.
    pub fn is_every_row_once(&self) -> bool {
        let rows = self.once.as_ref();
        rows.is_some_and(|rows| rows.len() == self.numbers.len())
    }

    /// The rows.
    pub fn batch(&self) -> &Batch {
        &self.batch
    }

    /// The next rows, at most `rows_max` (which is not 0), with the columns of `schema`: those of the star's new slots, and of the
    /// input; `None` after the last.
    pub fn next(
        &mut self,
        schema: &[Slot],
        (new_slots, input_schema): (&[Slot], &[Slot]),
        rows_max: usize,
    ) -> Option<Batch> {
        let stretches;
        let (piece, rows) = match &self.once {
            Some(with_one) => {
                let end = with_one.len().min(self.row + rows_max);
                let with_one = &with_one[self.row..end];
                self.row = end;
                let numbers = with_one.iter().map(|&row| self.numbers[row as usize]);
                let solutions = match self.columns.is_empty() {
                    true => Vec::new(),
                    false => numbers.map(|n| self.starts[n as usize]).collect(),
                };
                (
                    Piece::Rows(Cow::Borrowed(with_one), solutions),
                    with_one.len(),
                )
            }
            None => {
                stretches = self.next_stretches(rows_max);
                let rows = stretches.iter().map(|s| s.count as usize).sum();
                (Piece::of(&stretches, rows), rows)
            }
        };
        if rows == 0 {
            return None;
        }
        let column = |slot: &Slot| {
            if let Some(column) = new_slots.iter().position(|s| s == slot) {
                return piece.of_solutions(&self.columns[column]);
            }
            let column = input_schema.iter().position(|s| s == slot);
            column.map_or_else(
                || vec![0; rows],
                |column| piece.of_rows(self.batch.ids(column)),
            )
        };
        Some(Batch::from_vectors(
            schema.iter().map(column).collect(),
            rows,
        ))
    }

    /// Goes on by at most `rows_max` solutions.
    /// Termination: each step ends a row or reaches `rows_max`.
    fn next_stretches(&mut self, rows_max: usize) -> Vec<Stretch> {
        let mut stretches = Vec::new();
        let mut left = u32::try_from(rows_max).unwrap_or(u32::MAX);
        while left > 0 && self.row < self.numbers.len() {
            let number = self.numbers[self.row] as usize;
            let first = self.starts[number] + self.handed_out;
            let count = (self.starts[number + 1] - first).min(left);
            if count > 0 {
                let row = self.row as u32;
                stretches.push(Stretch { row, first, count });
            }
            left -= count;
            if first + count == self.starts[number + 1] {
                self.row += 1;
                self.handed_out = 0;
            } else {
                self.handed_out += count;
            }
        }
        stretches
    }
}

/// How the columns of some stretches are put together.
enum Piece<'a> {
    /// Stretch by stretch.
    Stretches(&'a [Stretch], usize),
    /// Row by row: the input row and the solution of each.
    Rows(Cow<'a, [u32]>, Vec<u32>),
}

impl<'a> Piece<'a> {
    fn of(stretches: &'a [Stretch], rows: usize) -> Self {
        if rows >= stretches.len() * STRETCH_ROWS_MIN {
            return Self::Stretches(stretches, rows);
        }
        let (mut of_rows, mut solutions) = (Vec::with_capacity(rows), Vec::with_capacity(rows));
        for stretch in stretches {
            for solution in stretch.first..stretch.first + stretch.count {
                of_rows.push(stretch.row);
                solutions.push(solution);
            }
        }
        Self::Rows(Cow::Owned(of_rows), solutions)
    }

    /// A column of the input.
    fn of_rows(&self, ids: &[u64]) -> Vec<u64> {
        match self {
            Self::Stretches(stretches, rows) => {
                let mut column = Vec::with_capacity(*rows);
                for stretch in *stretches {
                    column.resize(
                        column.len() + stretch.count as usize,
                        ids[stretch.row as usize],
                    );
                }
                column
            }
            Self::Rows(rows, _) => rows.iter().map(|&row| ids[row as usize]).collect(),
        }
    }

    /// A new column.
    fn of_solutions(&self, values: &[u64]) -> Vec<u64> {
        match self {
            Self::Stretches(stretches, rows) => {
                let mut column = Vec::with_capacity(*rows);
                for stretch in *stretches {
                    let first = stretch.first as usize;
                    column.extend_from_slice(&values[first..first + stretch.count as usize]);
                }
                column
            }
            Self::Rows(_, solutions) => {
                let values = solutions.iter().map(|&solution| values[solution as usize]);
                values.collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: [Slot; 2] = [Slot(10), Slot(11)];
    const INPUT: [Slot; 2] = [Slot(0), Slot(1)];
    const SCHEMA: [Slot; 4] = [Slot(1), Slot(10), Slot(0), Slot(11)];

    /// So many solutions of a key, made of its id.
    fn solutions(id: u64, counts: &[u32]) -> impl Iterator<Item = [u64; 2]> {
        let count = counts[id as usize % counts.len()];
        (0..u64::from(count)).map(move |number| [id * 100 + number, number])
    }

    fn matches(rows: impl Iterator<Item = (u32, u64)>, counts: &[u32]) -> Matches {
        let mut matches = Matches::new(NEW.len());
        for (row, id) in rows {
            for [a, b] in solutions(id, counts) {
                matches.origin.push(row);
                matches.columns[0].push(a);
                matches.columns[1].push(b);
            }
        }
        matches
    }

    fn cells(batch: &Batch) -> Vec<Vec<u64>> {
        (0..batch.width())
            .map(|column| batch.ids(column).to_vec())
            .collect()
    }

    /// The rows of all pieces, and how many pieces there were.
    fn handed_out(mut shared: SharedSolutions, rows_max: usize) -> (Vec<Vec<u64>>, usize) {
        let (mut all, mut pieces) = (vec![Vec::new(); SCHEMA.len()], 0);
        while let Some(piece) = shared.next(&SCHEMA, (&NEW, &INPUT), rows_max) {
            assert!(piece.rows() <= rows_max);
            pieces += 1;
            for (column, more) in all.iter_mut().zip(cells(&piece)) {
                column.extend(more);
            }
        }
        (all, pieces)
    }

    #[test]
    fn each_row_has_the_solutions_of_its_key() {
        let ids: Vec<u64> = (0..60).map(|row| row * row % 11).collect();
        let others: Vec<u64> = (1000..1060).collect();
        let batch = Batch::from_vectors(vec![ids.clone(), others], ids.len());
        let kinds = [
            JoinKind::Inner,
            JoinKind::LeftOuter,
            JoinKind::Semi,
            JoinKind::Anti,
        ];
        for counts in [&[0, 1, 2][..], &[1], &[0], &[40, 0, 3, 17]] {
            let mut keys = RepeatedKeys::default();
            assert!(keys.find(&ids, ids.len() / 2));
            let of_keys = || {
                keys.first_rows()
                    .iter()
                    .copied()
                    .zip(keys.values().iter().copied())
            };
            for kind in kinds {
                let mut one_by_one = matches((0..).zip(ids.iter().copied()), counts);
                one_by_one.complete(kind, ids.len());
                let rows = one_by_one.len();
                let expected = one_by_one.into_batch(&SCHEMA, &NEW, Some((&batch, &INPUT)));
                for rows_max in [1, 7, 64, 10_000] {
                    let shared = SharedSolutions::new(
                        batch.clone(),
                        &keys,
                        matches(of_keys(), counts),
                        kind,
                    );
                    let is_once = counts == [1] && kind != JoinKind::Anti
                        || kind == JoinKind::Semi && !counts.contains(&0)
                        || kind == JoinKind::Anti && counts == [0]
                        || kind == JoinKind::LeftOuter && counts == [0];
                    assert_eq!(shared.is_every_row_once(), is_once, "{kind:?} {counts:?}");
                    let (found, pieces) = handed_out(shared, rows_max);
                    assert_eq!(found, cells(&expected), "{kind:?} {counts:?} {rows_max}");
                    assert_eq!(pieces, rows.div_ceil(rows_max), "all but the last are full");
                }
            }
        }
    }
}
