//! `ValueSearch`: the rows of many values, found together.
//!
//! One value is searched in a column without an inverse by comparing encoded cells, which costs least for one. For some dozen
//! values or more all cells are decoded once instead, and each is looked up among the values in a small hash table.
//! Segments whose zones rule all values out are passed over.
//!
//! Cost: a decoded cell and a look-up for each cell, whatever the number of values. Memory: 8 bytes for each row found, 16 for each value,
//! a segment's cells.

use super::column::Column;

/// Looking all cells up costs as much as so many searches for one value: decoding a cell and a step in a hash table against a
/// comparison of packed cells.
pub(super) const TOGETHER_SEARCHES: u32 = 16;

/// Spreads values over the places of the hash table (the golden ratio; Knuth, The Art of Computer Programming, 6.4).
const MULTIPLIER: u64 = 0x9E37_79B9_7F4A_7C15;

/// Marks a free place.
const FREE: u32 = u32::MAX;

/// Values to be searched, and what was found; see the [module documentation](self).
pub(super) struct ValueSearch {
    /// Open addressing: numbers of distinct values, at most half of the places taken.
    places: Vec<u32>,
    /// The distinct values.
    values: Vec<u64>,
    /// The number of each value asked for.
    asked: Vec<u32>,
    /// Numbers of values and their rows; the rows of a value ascend.
    found: Vec<(u32, u32)>,
}

impl ValueSearch {
    /// A search for these values, repeats allowed.
    pub(super) fn new(values: &[u64]) -> Self {
        let places = (values.len().max(1) * 2).next_power_of_two();
        let mut search = Self {
            places: vec![FREE; places],
            values: Vec::new(),
            asked: Vec::with_capacity(values.len()),
            found: Vec::new(),
        };
        for &value in values {
            let place = search.place(value);
            if search.places[place] == FREE {
                search.places[place] = search.values.len() as u32;
                search.values.push(value);
            }
            search.asked.push(search.places[place]);
        }
        search
    }

    /// The place of a value, or the free one where it would be.
    /// Termination: half of the places are free.
    fn place(&self, value: u64) -> usize {
        let shift = u64::BITS - self.places.len().trailing_zeros();
        let mut place = (value.wrapping_mul(MULTIPLIER) >> shift) as usize;
        loop {
            match self.places[place] {
                FREE => return place,
                number if self.values[number as usize] == value => return place,
                _ => place = (place + 1) & (self.places.len() - 1),
            }
        }
    }

    /// Finds the rows of a column, of which no other column may have one of the same values.
    pub(super) fn search(&mut self, column: &Column) {
        let mut rows = Vec::new();
        let searched = column.inverse.is_none();
        let lazy = searched.then(|| column.lazy.get_or_count(column, TOGETHER_SEARCHES));
        if let Some(None) = lazy {
            return self.search_cells(column);
        }
        for (number, &value) in self.values.iter().enumerate() {
            rows.clear();
            match (&column.inverse, lazy.flatten()) {
                (Some(inverse), _) => inverse.find(value, column.rows, &mut rows),
                (None, Some(sorted)) => sorted.find(value, &mut rows),
                (None, None) => {}
            }
            let found = rows.iter().map(|&row| (number as u32, row));
            self.found.extend(found);
        }
    }

    /// Looks every cell up.
    fn search_cells(&mut self, column: &Column) {
        let least = self.values.iter().min().copied().unwrap_or(u64::MAX);
        let greatest = self.values.iter().max().copied().unwrap_or(0);
        let (mut counts, mut cells) = (Vec::new(), Vec::new());
        for (segment_idx, segment) in column.segments.iter().enumerate() {
            if segment.zone.max < least || greatest < segment.zone.min {
                continue;
            }
            let rows = column.rows_of_segment(segment_idx);
            counts.clear();
            cells.clear();
            column.scan_lists(rows.clone(), &mut counts, &mut cells);
            let mut cells = cells.iter();
            for (row, &count) in rows.zip(&counts) {
                for &value in cells.by_ref().take(count as usize) {
                    let number = self.places[self.place(value)];
                    if number != FREE {
                        self.found.push((number, row));
                    }
                }
            }
        }
    }

    /// Adds to the count of each value asked for how many of its rows are taken.
    pub(super) fn add_counts(
        self,
        taken: &dyn Fn(&[u32]) -> Option<Vec<bool>>,
        counts: &mut [u64],
    ) {
        let rows: Vec<u32> = self.found.iter().map(|(_, row)| *row).collect();
        let taken = taken(&rows);
        let mut by_value = vec![0; self.values.len()];
        for (at, (number, _)) in self.found.iter().enumerate() {
            let counts = taken.as_ref().is_none_or(|taken| taken[at]);
            by_value[*number as usize] += u64::from(counts);
        }
        for (count, number) in counts.iter_mut().zip(self.asked) {
            *count += by_value[number as usize];
        }
    }

    /// For each value asked for appends the number of its rows, and the rows ascending.
    pub(super) fn finish(self, counts: &mut Vec<u32>, rows: &mut Vec<u32>) {
        let mut ends = vec![0; self.values.len() + 1];
        for (number, _) in &self.found {
            ends[*number as usize + 1] += 1;
        }
        for number in 0..self.values.len() {
            ends[number + 1] += ends[number];
        }
        // Each start moves on to the end of its value while rows are put in.
        let mut starts = ends.clone();
        let mut by_value = vec![0; self.found.len()];
        for (number, row) in self.found {
            let place: &mut usize = &mut starts[number as usize];
            by_value[*place] = row;
            *place += 1;
        }
        for number in self.asked {
            let number = number as usize;
            let of_value = &by_value[ends[number]..ends[number + 1]];
            counts.push(of_value.len() as u32);
            rows.extend_from_slice(of_value);
        }
    }
}
