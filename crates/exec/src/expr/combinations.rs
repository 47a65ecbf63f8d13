//! `Combinations`: numbers for the combinations of values that rows have in several columns, so that what is computed of these is computed once for
//! each ([`ByValue`](super::by_value::ByValue)).
//!
//! Texts made of a country and a flag, say, are some hundred in any number of rows, and making one takes 50 to 200 ns.
//! Cost: a hash of a row and a look-up, some 8 ns; 300 KiB at most.

use super::vector::Rows;
use crate::row_numbers::hash_row;
use basalt_rdf::TermId;
use hashbrown::HashTable;

/// Columns that are combined, at most: with more of them few combinations come again.
pub const COLUMNS_MAX: usize = 3;
/// Combinations that are numbered; where there are more, hardly one comes again soon.
const COMBINATIONS_MAX: usize = 1 << 12;
/// The tag of a number; no term has it.
const TAG: u8 = 0xFD;

/// The columns, ascending; `None` behind the last.
pub type Columns = [Option<usize>; COLUMNS_MAX];

/// See the [module documentation](self).
#[derive(Default)]
pub struct Combinations {
    /// The values of each, and its number.
    numbers: HashTable<([u64; COLUMNS_MAX], u64)>,
}

impl Combinations {
    /// The number of each row's combination, as an id that no term has; `None` if there are too many, or some column has no ids.
    pub fn of_rows(&mut self, columns: Columns, rows: &Rows<'_>) -> Option<Vec<u64>> {
        let columns: Vec<usize> = columns.into_iter().flatten().collect();
        if columns.iter().any(|&column| rows.numbers(column).is_some()) {
            return None;
        }
        let columns: Vec<_> = columns.iter().map(|&column| rows.column(column)).collect();
        let numbered = (0..rows.len()).map(|row| {
            let mut values = [0; COLUMNS_MAX];
            for (value, column) in values.iter_mut().zip(&columns) {
                *value = column[row];
            }
            self.number(values)
        });
        numbered.collect()
    }

    fn number(&mut self, values: [u64; COLUMNS_MAX]) -> Option<u64> {
        let next = TermId::new(TAG, self.numbers.len() as u64).0;
        let entry = self.numbers.entry(
            hash_row(&values),
            |(known, _)| *known == values,
            |(known, _)| hash_row(known),
        );
        let number = entry.or_insert((values, next)).get().1;
        (self.numbers.len() <= COMBINATIONS_MAX).then_some(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Batch;

    #[test]
    fn equal_rows_have_one_number_and_others_have_others() {
        let columns = vec![vec![7, 7, 8, 7, 0], vec![1, 2, 1, 1, 0], vec![9; 5]];
        let batch = Batch::from_vectors(columns, 5);
        let mut combinations = Combinations::default();
        let rows = Rows::all(&batch);
        let numbers = combinations.of_rows([Some(0), Some(1), None], &rows);
        let numbers = numbers.expect("few combinations");
        assert_eq!(numbers[0], numbers[3]);
        let mut distinct = numbers.clone();
        distinct.sort_unstable();
        distinct.dedup();
        assert_eq!(distinct.len(), 4);
        let again = combinations.of_rows([Some(0), Some(1), None], &rows);
        assert_eq!(again, Some(numbers));
    }

    #[test]
    fn too_many_are_not_numbered() {
        let count = COMBINATIONS_MAX + 1;
        let batch = Batch::from_vectors(vec![(0..count as u64).collect(), vec![3; count]], count);
        let numbers = Combinations::default().of_rows([Some(0), Some(1), None], &Rows::all(&batch));
        assert_eq!(numbers, None);
    }
}
