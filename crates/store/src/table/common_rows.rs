//! `CommonRows`: the rows that have one value in the cells of a predicate and another in those of a second one.
//!
//! ```text
//! first value:   3 17 20 41 58 ...  ─┐
//! second value:  17 58             ─┴─►  17 58
//! ```
//!
//! Both columns have an inverse, so the rows of each value are a list that ascends. Lists of like length are decoded and
//! gone through together, one to two nanoseconds a row; of a far longer list only what halving meets is read. Values
//! that come again one after the other are decoded once. Memory: the two lists last read.

use super::cells::Cells;
use super::definition::TypeClass;
use crate::inverse::{InverseReader, RowList};
use basalt_rdf::TermId;

/// Rows of the shorter list, at most: what is not found in common so quickly is left to the caller.
const SHORTER_MAX: usize = 1 << 10;
/// How many times as long a list may be that is decoded, and as many rows more: a step of a search takes as long as some ten rows.
const DECODED_TIMES: usize = 16;
const DECODED_MORE: usize = 64;
/// Rows that are compared with one at once.
const LANES: usize = 8;

/// Finds rows that two values have in common.
pub struct CommonRows<'a> {
    first: Side<'a>,
    second: Side<'a>,
    rows_max: u32,
}

/// The lists of one predicate.
struct Side<'a> {
    /// Type classes do not overlap, so at most one column takes a value.
    columns: Vec<(TypeClass, InverseReader<'a>)>,
    /// What was decoded last, and of which value.
    decoded: Vec<u32>,
    value: Option<u64>,
    numbers: Vec<u64>,
}

/// A list of a side, and the column that it is of.
type Found<'a> = (usize, RowList<'a>);

impl<'a> Side<'a> {
    fn new(cells: Cells<'a>) -> Option<Self> {
        let columns = cells.columns().map(|column| {
            let inverse = column.inverse.as_ref()?;
            Some((column.definition.type_class, InverseReader::new(inverse)))
        });
        Some(Self {
            columns: columns.collect::<Option<_>>()?,
            decoded: Vec::new(),
            value: None,
            numbers: Vec::new(),
        })
    }

    fn list(&mut self, value: u64) -> Found<'a> {
        let takes = |(class, _): &(TypeClass, _)| class.takes(TermId(value));
        match self.columns.iter().position(takes) {
            Some(column) => (column, self.columns[column].1.list(value)),
            None => (0, RowList::Bitmap(None)),
        }
    }

    /// Reads the list of a value into `decoded`.
    fn decode(&mut self, value: u64, (column, list): &Found<'a>, rows_max: u32) {
        if self.value == Some(value) {
            return;
        }
        self.decoded.clear();
        self.value = Some(value);
        if let Some((_, lists)) = self.columns.get_mut(*column) {
            lists.decode(list, (&mut self.numbers, rows_max), &mut self.decoded);
        }
    }

    fn contains(&mut self, (column, list): &Found<'a>, row: u32) -> bool {
        let lists = self.columns.get_mut(*column);
        lists.is_some_and(|(_, lists)| lists.contains(list, row))
    }
}

impl<'a> CommonRows<'a> {
    /// Of two predicates of one table, which may be the same; `None` if a column has no inverse.
    pub fn of(first: Cells<'a>, second: Cells<'a>) -> Option<Self> {
        Some(Self {
            first: Side::new(first)?,
            second: Side::new(second)?,
            rows_max: first.table_rows().min(second.table_rows()),
        })
    }

    /// Whether [`Self::find`] leaves these values to the caller.
    pub fn is_left(&mut self, first: u64, second: u64) -> bool {
        let (a, b) = (self.first.list(first).1, self.second.list(second).1);
        a.len().min(b.len()) > SHORTER_MAX
    }

    /// Appends the rows that have both values, ascending; false, and nothing is appended, if both have many rows.
    pub fn find(&mut self, first: u64, second: u64, out: &mut Vec<u32>) -> bool {
        let (a, b) = (self.first.list(first), self.second.list(second));
        if a.1.len().min(b.1.len()) > SHORTER_MAX {
            return false;
        }
        let ((short, value, list), (long, other, of_other)) = match a.1.len() <= b.1.len() {
            true => ((&mut self.first, first, a), (&mut self.second, second, b)),
            false => ((&mut self.second, second, b), (&mut self.first, first, a)),
        };
        if list.1.len() == 0 {
            return true;
        }
        short.decode(value, &list, self.rows_max);
        let is_read = long.value == Some(other);
        if is_read || of_other.1.len() <= list.1.len() * DECODED_TIMES + DECODED_MORE {
            long.decode(other, &of_other, self.rows_max);
            append_common(&short.decoded, &long.decoded, out);
        } else {
            let rows = short.decoded.iter().copied();
            out.extend(rows.filter(|&row| long.contains(&of_other, row)));
        }
        true
    }
}

/// Appends what two lists that ascend have in common. A short list skips through a long one by halves.
fn append_common(short: &[u32], long: &[u32], out: &mut Vec<u32>) {
    if short.len() * DECODED_TIMES < long.len() {
        let mut left = long;
        for &row in short {
            left = &left[left.partition_point(|&other| other < row)..];
            if left.first() == Some(&row) {
                out.push(row);
            }
        }
        return;
    }
    let mut left = long;
    for &row in short {
        // The lanes of a block are compared at once, and most blocks end before the row or hold the place of several.
        while let Some((block, more)) = left.split_first_chunk::<LANES>()
            && block[LANES - 1] < row
        {
            left = more;
        }
        let found = match left.first_chunk::<LANES>() {
            Some(block) => block
                .iter()
                .fold(false, |found, &other| found | (other == row)),
            None => left.contains(&row),
        };
        if found {
            out.push(row);
        }
    }
}
