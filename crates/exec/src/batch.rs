//! `Batch`: some rows travelling between operators, as Arrow arrays of ids.
//!
//! A column is a `UInt64Array` without a validity buffer; an unbound value is the id 0
//! ([`TermId::UNBOUND`](basalt_rdf::TermId::UNBOUND)). The columns follow the producing node's schema.
//! Cloning a batch or taking a slice of it copies no ids. A column of computed numbers (`ComputedNumbers`) has its ids
//! once somebody asks for them.
//!
//! A batch may carry one number for each row, which says which solution the row is ([`Batch::solutions`]): only
//! queries that call `BNODE` with a label make them. They live as long as rows are only dropped, extended or
//! projected; whatever makes new rows of old ones ([`Batch::take`], joins, groups) makes new solutions.

use crate::computed_numbers::ComputedNumbers;
use crate::expr::Numbers;
use crate::selection::taken;
use arrow_array::{Array, UInt64Array};
use std::sync::Arc;

/// A column.
#[derive(Clone, Debug)]
enum Column {
    Ids(UInt64Array),
    Numbers(Arc<ComputedNumbers>),
}

impl Column {
    fn ids(&self) -> &UInt64Array {
        match self {
            Self::Ids(ids) => ids,
            Self::Numbers(numbers) => numbers.ids(),
        }
    }

    /// `length` rows from `offset`.
    fn slice(&self, offset: usize, length: usize) -> Self {
        match self {
            Self::Ids(ids) => Self::Ids(ids.slice(offset, length)),
            Self::Numbers(numbers) if length == numbers.rows() => self.clone(),
            Self::Numbers(_) => {
                let rows: Vec<u32> = (offset as u32..).take(length).collect();
                self.take(&rows)
            }
        }
    }

    /// Bytes that the values of so many rows take (shared buffers counted for their visible part).
    fn bytes(&self, rows: usize) -> usize {
        match self {
            Self::Ids(_) => rows * size_of::<u64>(),
            Self::Numbers(numbers) => numbers.bytes(),
        }
    }

    /// The rows at these positions.
    fn take(&self, positions: &[u32]) -> Self {
        if let Self::Numbers(numbers) = self
            && let Some(numbers) = numbers.take(positions)
        {
            return Self::Numbers(Arc::new(numbers));
        }
        let ids = taken(self.ids().values(), positions);
        Self::Ids(UInt64Array::from_iter_values(ids))
    }
}

/// Rows in columns; see the [module documentation](self).
#[derive(Clone, Debug, Default)]
pub struct Batch {
    columns: Vec<Column>,
    rows: usize,
    solutions: Option<UInt64Array>,
}

/// So many empty columns, each with room for so many rows.
pub fn columns_with_room(width: usize, rows: usize) -> Vec<Vec<u64>> {
    (0..width).map(|_| Vec::with_capacity(rows)).collect()
}

impl Batch {
    /// Makes a batch; `rows` counts also where there are no columns.
    pub fn new(columns: Vec<UInt64Array>, rows: usize) -> Self {
        debug_assert!(columns.iter().all(|column| column.len() == rows));
        debug_assert!(columns.iter().all(|column| column.null_count() == 0));
        Self::of_columns(columns.into_iter().map(Column::Ids).collect(), rows)
    }

    fn of_columns(columns: Vec<Column>, rows: usize) -> Self {
        Self {
            columns,
            rows,
            solutions: None,
        }
    }

    /// Makes a batch of plain vectors.
    pub fn from_vectors(columns: Vec<Vec<u64>>, rows: usize) -> Self {
        Self::new(columns.into_iter().map(UInt64Array::from).collect(), rows)
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// One column.
    pub fn column(&self, column_idx: usize) -> &UInt64Array {
        self.columns[column_idx].ids()
    }

    /// The ids of one column.
    #[inline]
    pub fn ids(&self, column_idx: usize) -> &[u64] {
        self.columns[column_idx].ids().values()
    }

    /// The computed numbers of one column, if that is what it has, and nobody has asked for their ids.
    pub fn numbers(&self, column_idx: usize) -> Option<&Numbers> {
        match &self.columns[column_idx] {
            Column::Ids(_) => None,
            Column::Numbers(numbers) => numbers.without_ids(),
        }
    }

    /// The same for whoever writes them as texts, where that is better than by ids.
    pub fn numbers_to_write(&self, column_idx: usize) -> Option<&Numbers> {
        match &self.columns[column_idx] {
            Column::Ids(_) => None,
            Column::Numbers(numbers) => numbers.to_write(),
        }
    }

    /// The same rows with one more column: one of another batch, of which these are the rows at some positions, in this order, repeats allowed.
    pub fn with_taken(mut self, other: &Self, column_idx: usize, positions: &[u32]) -> Self {
        debug_assert_eq!(positions.len(), self.rows);
        self.columns.push(other.columns[column_idx].take(positions));
        self
    }

    /// So many rows without columns.
    pub fn of_rows(rows: usize) -> Self {
        Self::of_columns(Vec::new(), rows)
    }

    /// The ids of all columns.
    pub fn slices(&self) -> Vec<&[u64]> {
        (0..self.width()).map(|column| self.ids(column)).collect()
    }

    /// The ids of one row, appended to `out`.
    pub fn row_into(&self, row: usize, out: &mut Vec<u64>) {
        out.extend((0..self.width()).map(|column| self.ids(column)[row]));
    }

    /// The number of the solution that each row is, if somebody gave them numbers.
    pub fn solutions(&self) -> Option<&[u64]> {
        self.solutions.as_ref().map(|numbers| &**numbers.values())
    }

    /// The same rows as the solutions `first`, `first + 1` and so on.
    pub fn with_solutions_from(mut self, first: u64) -> Self {
        let numbers = first..first + self.rows as u64;
        self.solutions = Some(UInt64Array::from_iter_values(numbers));
        self
    }

    /// The same rows as these solutions.
    pub fn with_solutions(mut self, numbers: UInt64Array) -> Self {
        debug_assert_eq!(numbers.len(), self.rows);
        self.solutions = Some(numbers);
        self
    }

    /// The rows at these positions, ascending and without repeats, as the solutions that they were.
    pub fn keep(&self, positions: &[u32]) -> Self {
        let solutions = self.solutions();
        let solutions =
            solutions.map(|numbers| UInt64Array::from_iter_values(taken(numbers, positions)));
        Self {
            solutions,
            ..self.take(positions)
        }
    }

    /// The rows at these positions, in this order, repeats allowed; new solutions.
    pub fn take(&self, positions: &[u32]) -> Self {
        let columns = self.columns.iter().map(|column| column.take(positions));
        Self::of_columns(columns.collect(), positions.len())
    }

    /// `length` rows from `offset`, without copying ids.
    pub fn slice(&self, offset: usize, length: usize) -> Self {
        let columns = self.columns.iter();
        let columns = columns.map(|column| column.slice(offset, length));
        let solutions = self.solutions.as_ref();
        Self {
            solutions: solutions.map(|numbers| numbers.slice(offset, length)),
            ..Self::of_columns(columns.collect(), length)
        }
    }

    /// The same rows with one more column.
    pub fn with_column(mut self, column: Vec<u64>) -> Self {
        debug_assert_eq!(column.len(), self.rows);
        self.columns.push(Column::Ids(UInt64Array::from(column)));
        self
    }

    /// The same rows with a column once more, which is not copied.
    pub fn with_column_again(mut self, column_idx: usize) -> Self {
        self.columns.push(self.columns[column_idx].clone());
        self
    }

    /// The same rows with one more column, of computed numbers.
    pub fn with_numbers(mut self, numbers: ComputedNumbers) -> Self {
        debug_assert_eq!(numbers.rows(), self.rows);
        self.columns.push(Column::Numbers(Arc::new(numbers)));
        self
    }

    /// The same rows with other columns: `None` makes an unbound column.
    pub fn select_columns(&self, columns: &[Option<usize>]) -> Self {
        let columns = columns
            .iter()
            .map(|column| match column {
                Some(idx) => self.columns[*idx].clone(),
                None => Column::Ids(UInt64Array::from(vec![0; self.rows])),
            })
            .collect();
        Self {
            solutions: self.solutions.clone(),
            ..Self::of_columns(columns, self.rows)
        }
    }

    /// The same rows as new solutions.
    pub fn as_new_solutions(self) -> Self {
        Self {
            solutions: None,
            ..self
        }
    }

    /// The same rows to be held for long: columns that keep more alive than they show are copied, so that
    /// [`Self::bytes`] is about what they take. Computed numbers stay such.
    pub fn compact(&self) -> Self {
        let compact = |column: &UInt64Array| {
            let shown = size_of_val(&**column.values());
            match column.values().inner().capacity() > shown + shown / 8 {
                true => UInt64Array::from(column.values().to_vec()),
                false => column.clone(),
            }
        };
        let compact_column = |column: &Column| match column {
            Column::Numbers(numbers) if numbers.to_write().is_some() => column.clone(),
            _ => Column::Ids(compact(column.ids())),
        };
        Self {
            columns: self.columns.iter().map(compact_column).collect(),
            rows: self.rows,
            solutions: self.solutions.as_ref().map(compact),
        }
    }

    /// Bytes that the values take (shared buffers counted for their visible part).
    pub fn bytes(&self) -> usize {
        let columns = self.columns.iter();
        columns.map(|column| column.bytes(self.rows)).sum()
    }
}
