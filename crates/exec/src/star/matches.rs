//! `Matches`: solutions of a star under construction.
//!
//! Column-wise: for each solution the input row it extends (`origin`; 0 for scans) and the ids of
//! the star's new slots. Both ways of evaluation append to it.

use crate::batch::Batch;
use crate::selection::keep;
use basalt_columns::gallop;
use basalt_plan::physical::{JoinKind, Slot};

/// Solutions that are put between others one by one are at most this share of them; more are sorted with them.
const TAIL_SHARE_MAX: usize = 8;

/// Solutions of a star; see the [module documentation](self).
#[derive(Clone, Debug, Default)]
pub struct Matches {
    /// For each solution the row of the input batch.
    pub origin: Vec<u32>,
    /// The new columns, in the order of `CompiledStar::new_slots`.
    pub columns: Vec<Vec<u64>>,
}

impl Matches {
    /// No solutions, for `width` new columns.
    pub fn new(width: usize) -> Self {
        Self::with_room(width, 0)
    }

    /// No solutions, with room for so many.
    pub fn with_room(width: usize, solutions: usize) -> Self {
        let columns = (0..width).map(|_| Vec::with_capacity(solutions));
        Self {
            origin: Vec::with_capacity(solutions),
            columns: columns.collect(),
        }
    }

    /// Number of solutions.
    pub fn len(&self) -> usize {
        self.origin.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.origin.is_empty()
    }

    /// Whether these are the rows of an input of `rows` rows, each once and in order.
    pub fn is_every_row_once(&self, rows: usize) -> bool {
        let in_order = |(row, &origin): (usize, &u32)| row as u32 == origin;
        self.len() == rows && self.origin.iter().enumerate().all(in_order)
    }

    /// Adds a solution of an input row.
    #[inline]
    pub fn push(&mut self, origin: u32, values: &[u64]) {
        self.origin.push(origin);
        let columns = self.columns.iter_mut().zip(values);
        columns.for_each(|(column, &id)| column.push(id));
    }

    /// Appends all of `other`.
    pub fn append(&mut self, mut other: Self) {
        if self.origin.capacity() == 0 {
            *self = other;
            return;
        }
        self.origin.append(&mut other.origin);
        for (column, more) in self.columns.iter_mut().zip(&mut other.columns) {
            column.append(more);
        }
    }

    /// Those from a position on, which are no longer here.
    pub fn split_off(&mut self, position: usize) -> Self {
        let columns = self.columns.iter_mut();
        Self {
            origin: self.origin.split_off(position),
            columns: columns
                .map(|column| match column.is_empty() {
                    // Not made yet.
                    true => Vec::new(),
                    false => column.split_off(position),
                })
                .collect(),
        }
    }

    /// What all columns take once they are made, in bytes.
    pub fn bytes(&self) -> usize {
        self.len() * (size_of::<u32>() + self.columns.len() * size_of::<u64>())
    }

    /// Keeps the solutions at these ascending positions.
    pub fn keep(&mut self, positions: &[u32]) {
        if positions.len() < self.len() {
            keep(&mut self.origin, positions);
            self.keep_columns(positions);
        }
    }

    /// The same of a scan, whose solutions have all one origin.
    pub fn keep_of_scan(&mut self, positions: &[u32]) {
        debug_assert!(self.origin.iter().all(|&row| row == 0), "there is no input");
        if positions.len() < self.len() {
            self.origin.truncate(positions.len());
            self.keep_columns(positions);
        }
    }

    fn keep_columns(&mut self, positions: &[u32]) {
        for column in &mut self.columns {
            if !column.is_empty() {
                keep(column, positions);
            }
        }
    }

    /// Sorts the solutions by origin, keeping the order of those with the same origin.
    pub fn sort_by_origin(&mut self) {
        let in_order = self.origin.windows(2).take_while(|two| two[0] <= two[1]);
        let head = (in_order.count() + 1).min(self.len());
        let tail = self.len() - head;
        if tail == 0 {
            return;
        }
        if tail <= head / TAIL_SHARE_MAX {
            let tail = self.split_off(head);
            self.merge_tail(tail);
            return;
        }
        let starts = starts_of(&self.origin);
        if self.columns.is_empty() {
            self.origin.clear();
            for (number, ends) in starts.windows(2).enumerate() {
                let count = (ends[1] - ends[0]) as usize;
                self.origin
                    .extend(std::iter::repeat_n(number as u32, count));
            }
            return;
        }
        let order = order_of(&self.origin, starts);
        self.origin = order.iter().map(|&p| self.origin[p as usize]).collect();
        for column in &mut self.columns {
            *column = order.iter().map(|&p| column[p as usize]).collect();
        }
    }

    /// Puts a few solutions between those that are here, which are in order: each behind those of the same origin. What lies between two
    /// places is copied as a whole.
    fn merge_tail(&mut self, mut tail: Self) {
        tail.sort_by_origin();
        let mut place = 0;
        let places: Vec<usize> = tail
            .origin
            .iter()
            .map(|&origin| {
                let left = &self.origin[place..];
                place += gallop(left.len(), |at| left[at] <= origin);
                place
            })
            .collect();
        self.origin = put_between(&self.origin, &places, &tail.origin);
        for (column, more) in self.columns.iter_mut().zip(&tail.columns) {
            *column = put_between(column, &places, more);
        }
    }

    /// Turns the pairs of an inner join into the answer of another kind, for `rows` input rows.
    pub fn complete(&mut self, kind: JoinKind, rows: usize) {
        if kind == JoinKind::Inner {
            return;
        }
        let mut matched = vec![false; rows];
        self.origin
            .iter()
            .for_each(|&origin| matched[origin as usize] = true);
        match kind {
            JoinKind::Inner => {}
            JoinKind::LeftOuter => {
                self.origin
                    .extend((0..rows as u32).filter(|&row| !matched[row as usize]));
                let rows = self.origin.len();
                self.columns
                    .iter_mut()
                    .for_each(|column| column.resize(rows, 0));
                self.sort_by_origin();
            }
            JoinKind::Semi | JoinKind::Anti => {
                let wanted = kind == JoinKind::Semi;
                self.origin = (0..rows as u32)
                    .filter(|&row| matched[row as usize] == wanted)
                    .collect();
                let rows = self.origin.len();
                self.columns
                    .iter_mut()
                    .for_each(|column| *column = vec![0; rows]);
            }
        }
    }

    /// A batch with the columns of `schema`, each slot once: from the input row or from the new columns.
    pub fn into_batch(
        mut self,
        schema: &[Slot],
        new_slots: &[Slot],
        input: Option<(&Batch, &[Slot])>,
    ) -> Batch {
        let rows = self.len();
        let mut columns = Vec::with_capacity(schema.len());
        for &slot in schema {
            columns.push(match new_slots.iter().position(|s| *s == slot) {
                Some(column) => std::mem::take(&mut self.columns[column]),
                None => self.input_column(slot, input),
            });
        }
        Batch::from_vectors(columns, rows)
    }

    /// As [`Self::into_batch`], of columns that are made by now.
    pub fn columns_of(
        &self,
        schema: &[Slot],
        new_slots: &[Slot],
        input: Option<(&Batch, &[Slot])>,
    ) -> Batch {
        let column = |&slot: &Slot| match new_slots.iter().position(|s| *s == slot) {
            Some(column) => self.columns[column].clone(),
            None => self.input_column(slot, input),
        };
        Batch::from_vectors(schema.iter().map(column).collect(), self.len())
    }

    /// A slot of the input rows; unbound if they do not have it.
    fn input_column(&self, slot: Slot, input: Option<(&Batch, &[Slot])>) -> Vec<u64> {
        let ids = input.and_then(|(batch, schema)| {
            let column = schema.iter().position(|s| *s == slot)?;
            Some(batch.ids(column))
        });
        match ids {
            Some(ids) => self.origin.iter().map(|&row| ids[row as usize]).collect(),
            None => vec![0; self.len()],
        }
    }
}

/// How many of these numbers are less than each from 0 to the largest, and how many there are. Input rows are numbers below
/// those of a batch, so they are counted.
fn starts_of(numbers: &[u32]) -> Vec<u32> {
    let count = numbers.iter().max().map_or(0, |&max| max as usize + 1);
    let mut starts = vec![0; count + 1];
    for &number in numbers {
        starts[number as usize + 1] += 1;
    }
    for number in 0..count {
        starts[number + 1] += starts[number];
    }
    starts
}

/// Values with others put before those at ascending places.
fn put_between<T: Copy>(values: &[T], places: &[usize], others: &[T]) -> Vec<T> {
    let mut all = Vec::with_capacity(values.len() + others.len());
    let mut start = 0;
    for (&place, &other) in places.iter().zip(others) {
        all.extend_from_slice(&values[start..place]);
        all.push(other);
        start = place;
    }
    all.extend_from_slice(&values[start..]);
    all
}

/// The positions of these numbers in their order, equal ones as they come; `next` has where each number starts.
fn order_of(numbers: &[u32], mut next: Vec<u32>) -> Vec<u32> {
    let mut order = vec![0; numbers.len()];
    for (position, &number) in numbers.iter().enumerate() {
        let place = &mut next[number as usize];
        order[*place as usize] = position as u32;
        *place += 1;
    }
    order
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counting_orders_as_a_stable_sort_does() {
        for (count, of) in [(0, 1), (1, 1), (100, 7), (1000, 2048)] {
            let numbers: Vec<u32> = (0..count).map(|at: u32| at * at * 31 % of).collect();
            let mut expected: Vec<u32> = (0..count).collect();
            expected.sort_by_key(|&position| numbers[position as usize]);
            assert_eq!(order_of(&numbers, starts_of(&numbers)), expected);
            let mut matches = Matches {
                origin: numbers.clone(),
                columns: Vec::new(),
            };
            matches.sort_by_origin();
            let sorted = expected.iter().map(|&at| numbers[at as usize]);
            assert_eq!(matches.origin, sorted.collect::<Vec<_>>());
        }
    }
    #[test]
    fn few_solutions_are_put_between_others() {
        for (head, tail) in [
            (
                vec![0, 0, 1, 3, 3, 3, 4, 9, 9, 12, 12, 12, 13, 14, 15, 20],
                vec![12, 3],
            ),
            (
                (0..64).map(|n| n / 3 + 2).collect(),
                vec![40, 0, 7, 7, 1, 2],
            ),
        ] {
            let origin: Vec<u32> = [&head[..], &tail].concat();
            let column: Vec<u64> = (0..origin.len() as u64).collect();
            let mut expected: Vec<(u32, u64)> =
                origin.iter().copied().zip(column.iter().copied()).collect();
            expected.sort_by_key(|(origin, _)| *origin);
            for columns in [vec![column.clone()], Vec::new()] {
                let mut matches = Matches {
                    origin: origin.clone(),
                    columns,
                };
                matches.sort_by_origin();
                assert!(
                    matches
                        .origin
                        .iter()
                        .copied()
                        .eq(expected.iter().map(|(o, _)| *o))
                );
                if let [made] = &matches.columns[..] {
                    assert!(
                        made.iter()
                            .copied()
                            .eq(expected.iter().map(|(_, value)| *value))
                    );
                }
            }
        }
    }
}
