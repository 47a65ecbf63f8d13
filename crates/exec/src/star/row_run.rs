//! Candidates that are nearly all rows of a range, as they are when a scan begins: their cells are decoded as a whole, and gaps closed
//! afterwards.

use std::ops::Range;

/// Consecutive rows of a table without some of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowRun {
    /// The rows.
    pub rows: Range<u32>,
    /// Those of them that are none, ascending without repeats.
    pub left_out: Vec<u32>,
}

impl RowRun {
    /// Number of candidates.
    pub fn row_count(&self) -> usize {
        self.rows.len() - self.left_out.len()
    }

    /// The candidates.
    pub fn to_rows(&self) -> Vec<u32> {
        let mut kept = Vec::with_capacity(self.row_count());
        let mut start = self.rows.start;
        for &row in &self.left_out {
            kept.extend(start..row);
            start = row + 1;
        }
        kept.extend(start..self.rows.end);
        kept
    }

    /// Drops those of ascending rows of the range that are no candidates.
    pub fn retain(&self, rows: &mut Vec<u32>) {
        if self.left_out.is_empty() {
            return;
        }
        let mut left_out = self.left_out.iter().peekable();
        rows.retain(|row| {
            while left_out.next_if(|&out| out < row).is_some() {}
            left_out.peek() != Some(&row)
        });
    }

    /// From a value for each row of the range to one for each candidate.
    pub fn close_gaps(&self, values: &mut Vec<u64>) {
        debug_assert_eq!(values.len(), self.rows.len());
        let place = |row: u32| (row - self.rows.start) as usize;
        let ends = self.left_out.iter().skip(1).map(|&row| place(row));
        let ends = ends.chain([self.rows.len()]);
        let mut to = self
            .left_out
            .first()
            .map_or(values.len(), |&row| place(row));
        for (&row, end) in self.left_out.iter().zip(ends) {
            let from = place(row) + 1;
            values.copy_within(from..end, to);
            to += end - from;
        }
        values.truncate(to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_left_out() {
        let run = |left_out: &[u32]| RowRun {
            rows: 3..8,
            left_out: left_out.to_vec(),
        };
        assert_eq!(run(&[]).to_rows(), [3, 4, 5, 6, 7]);
        assert_eq!(run(&[3, 5, 6]).to_rows(), [4, 7]);
        assert_eq!(run(&[3, 4, 5, 6, 7]).to_rows(), [0; 0]);
    }

    #[test]
    fn rows_that_are_left_out_are_dropped() {
        let run = RowRun {
            rows: 3..90,
            left_out: vec![3, 5, 6, 80],
        };
        let mut rows = vec![4, 5, 7, 78, 80, 89];
        run.retain(&mut rows);
        assert_eq!(rows, [4, 7, 78, 89]);
    }

    #[test]
    fn gaps_are_closed() {
        for left_out in [
            &[][..],
            &[10],
            &[7, 8, 97],
            &[12, 13, 47, 48, 70, 71, 72, 106],
            &[105, 106],
        ] {
            let run = RowRun {
                rows: 7..107,
                left_out: left_out.to_vec(),
            };
            let mut values: Vec<u64> = run.rows.clone().map(u64::from).collect();
            run.close_gaps(&mut values);
            let expected: Vec<u64> = run.to_rows().into_iter().map(u64::from).collect();
            assert_eq!((values.len(), values), (run.row_count(), expected));
        }
    }
}
