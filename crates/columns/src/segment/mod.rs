//! Segments: the cells of one column for up to [`SEGMENT_ROWS`] consecutive rows.
//!
//! ```text
//! byte 0        1                 4           8
//!      +--------+-----------------+-----------+----------------------------------------------
//! dense|   0    |      zero       | rows u32  | values: sequence of `rows`, 0 = absent
//! sparse   1    |      zero       | rows u32  | presence words u64.., ranks u16.. | sequence
//! list |   2    | order, 0, 0     | rows u32  | offsets: sequence of rows + 1 | values: sequence
//!      +--------+-----------------+-----------+----------------------------------------------
//! ```
//!
//! The order of lists is 1 if the values of each ascend: then one is looked for in halves. Else it is 0.
//! A single-valued column is dense or sparse, whichever is smaller; a multi-valued one is a list.
//! Invariants: 0 is never a value, so it is never found and never in a [`Zone`]; rows found are
//! ascending without repeats. Cost: opening is constant time, a cell of a sparse segment costs one
//! rank (a word and a popcount) more than its sequence.

mod encoding;
mod list;
mod presence;
#[cfg(test)]
mod tests;

use std::ops::Range;

pub use self::encoding::{SegmentEncoding, SegmentForm};
use self::list::Lists;
use self::presence::Presence;
use crate::codec::{self, Sequence};
use crate::packing::load_u32;
use crate::{ColumnError, SEGMENT_ROWS};

/// Bytes before the body.
const HEADER_BYTES: usize = 8;
/// Rows that are gathered at a time: their positions stay on the stack.
const GATHER_ROWS: usize = 256;

/// The kind byte of a segment.
mod kind {
    pub(super) const DENSE: u8 = 0;
    pub(super) const SPARSE: u8 = 1;
    pub(super) const LIST: u8 = 2;
}

/// The order byte of lists whose values ascend.
const ASCENDING: u8 = 1;

/// Extremes and counts of the present values of some cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Zone {
    /// The least value; `u64::MAX` if there are none.
    pub min: u64,
    /// The greatest value; 0 if there are none.
    pub max: u64,
    /// Rows that have a value.
    pub rows_with_value: u32,
    /// Values, counting each of a list.
    pub values: u32,
}

impl Zone {
    /// The zone of no values.
    pub const EMPTY: Self = Self {
        min: u64::MAX,
        max: 0,
        rows_with_value: 0,
        values: 0,
    };

    /// The zone of single-valued cells; 0 is absent.
    pub fn of(cells: &[u64]) -> Self {
        let mut zone = Self::EMPTY;
        for &value in cells.iter().filter(|&&value| value != 0) {
            zone.min = zone.min.min(value);
            zone.max = zone.max.max(value);
            zone.values += 1;
        }
        zone.rows_with_value = zone.values;
        zone
    }

    /// Whether a value in `low..=high` may be there.
    #[inline]
    pub fn may_overlap(&self, low: u64, high: u64) -> bool {
        low <= self.max && high >= self.min
    }

    /// The zone of the cells of two zones of different rows.
    pub fn union(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            rows_with_value: self.rows_with_value + other.rows_with_value,
            values: self.values + other.values,
        }
    }
}

/// Appends the cells of a single-valued column, dense or sparse, whichever is smaller.
///
/// # Panics
///
/// If there are more than [`SEGMENT_ROWS`] cells.
pub fn encode_single(values: &[u64] /* 0 = absent */, out: &mut Vec<u8>) -> Zone {
    let zone = Zone::of(values);
    let start = out.len();
    write_header(kind::DENSE, 0, values.len(), out);
    codec::encode(values, out);
    let present = zone.values as usize;
    if present != values.len() && present != 0 {
        let dense_bytes = out.len() - start;
        let mut sparse = Vec::with_capacity(dense_bytes);
        write_header(kind::SPARSE, 0, values.len(), &mut sparse);
        presence::write(values, &mut sparse);
        let packed: Vec<u64> = values.iter().copied().filter(|&value| value != 0).collect();
        codec::encode(&packed, &mut sparse);
        if sparse.len() < dense_bytes {
            out.truncate(start);
            out.append(&mut sparse);
        }
    }
    zone
}

/// Appends the cells of a multi-valued column: the values of row `r` are
/// `values[offsets[r]..offsets[r + 1]]`, none of them 0.
///
/// # Panics
///
/// If the offsets are not ascending from 0 to the number of values, or there are more than
/// [`SEGMENT_ROWS`] rows.
pub fn encode_lists(offsets: &[u32], values: &[u64], out: &mut Vec<u8>) -> Zone {
    let rows = offsets
        .len()
        .checked_sub(1)
        .expect("lists have one offset more than rows");
    assert!(
        offsets[0] == 0 && offsets[rows] as usize == values.len(),
        "offsets span the values"
    );
    assert!(offsets.is_sorted(), "offsets are ascending");
    debug_assert!(!values.contains(&0), "0 is not a value");
    let ends: Vec<u64> = offsets.iter().map(|&offset| u64::from(offset)).collect();
    let order = u8::from(list::ascend(&ends, values)) * ASCENDING;
    write_header(kind::LIST, order, rows, out);
    list::write(&ends, values, out);
    let rows_with_value = offsets.windows(2).filter(|pair| pair[0] < pair[1]).count() as u32;
    Zone {
        rows_with_value,
        ..Zone::of(values)
    }
}

fn write_header(kind: u8, order: u8, rows: usize, out: &mut Vec<u8>) {
    assert!(rows <= SEGMENT_ROWS, "{rows} rows in one segment");
    out.extend_from_slice(&[kind, order, 0, 0]);
    out.extend_from_slice(&(rows as u32).to_le_bytes());
}

/// A view of one segment; see the [module documentation](self).
///
/// Rows are counted from the segment's first and must be below [`rows`](Segment::rows). Methods
/// for single values give the first value of a list; methods for lists give single values as lists
/// of one or none.
#[derive(Clone, Copy, Debug)]
pub struct Segment<'a> {
    /// Number of rows.
    rows: usize,
    /// The cells.
    cells: Cells<'a>,
}

#[derive(Clone, Copy, Debug)]
enum Cells<'a> {
    Dense(Sequence<'a>),
    Sparse(Presence<'a>, Sequence<'a>),
    List(Lists<'a>),
}

impl<'a> Segment<'a> {
    /// Opens the segment at the start of `bytes`. Checks every size; constant time.
    #[inline]
    pub fn open(bytes: &'a [u8]) -> Result<Self, ColumnError> {
        Self::open_prefix(bytes).map(|(segment, _)| segment)
    }

    /// [`open`](Segment::open) that also tells how many bytes the segment takes.
    #[inline]
    pub fn open_prefix(bytes: &'a [u8]) -> Result<(Self, usize), ColumnError> {
        if bytes.len() < HEADER_BYTES {
            let what = format!("segment header in {} bytes", bytes.len());
            return Err(ColumnError::corrupt(what));
        }
        let rows = load_u32(bytes, 4) as usize;
        if rows > SEGMENT_ROWS {
            return Err(ColumnError::corrupt(format!("segment of {rows} rows")));
        }
        let body = &bytes[HEADER_BYTES..];
        let (cells, used) = match bytes[0] {
            kind::DENSE => {
                let (values, used) = Sequence::open(body)?;
                if values.len() != rows {
                    let what = format!("{} cells in a segment of {rows} rows", values.len());
                    return Err(ColumnError::corrupt(what));
                }
                (Cells::Dense(values), used)
            }
            kind::SPARSE => {
                let (presence, at) = Presence::open(body, rows)?;
                let (values, used) = Sequence::open(&body[at..])?;
                if values.len() != presence.count() {
                    let (have, want) = (values.len(), presence.count());
                    return Err(ColumnError::corrupt(format!(
                        "{have} values for {want} cells"
                    )));
                }
                (Cells::Sparse(presence, values), at + used)
            }
            kind::LIST => {
                let (lists, used) = Lists::open(body, rows, bytes[1] == ASCENDING)?;
                (Cells::List(lists), used)
            }
            other => {
                return Err(ColumnError::corrupt(format!(
                    "unknown segment kind {other}"
                )));
            }
        };
        Ok((Self { rows, cells }, HEADER_BYTES + used))
    }

    /// Number of rows.
    #[inline]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Whether the column is multi-valued.
    #[inline]
    pub fn is_list(&self) -> bool {
        matches!(self.cells, Cells::List(_))
    }

    /// The value of a cell, the first of a list; 0 if absent.
    #[inline]
    pub fn get(&self, row: usize) -> u64 {
        assert!(row < self.rows, "row {row} of a segment of {}", self.rows);
        match &self.cells {
            Cells::Dense(values) => values.get(row),
            Cells::Sparse(presence, values) => match presence.position(row) {
                Some(position) if position < values.len() => values.get(position),
                _ => 0,
            },
            Cells::List(lists) => lists.first(row),
        }
    }

    /// Appends the value of each cell of a range of rows; 0 if absent.
    pub fn decode(&self, range: Range<usize>, out: &mut Vec<u64>) {
        self.check_range(&range);
        match &self.cells {
            Cells::Dense(values) => values.decode(range, out),
            Cells::Sparse(presence, values) => {
                let old = out.len();
                let packed = presence.positions(range.clone(), values.len());
                let count = packed.len().min(range.len());
                values.decode(packed, out);
                out.resize(old + range.len().max(out.len() - old), 0);
                out.truncate(old + range.len());
                spread(&mut out[old..], count, |i| presence.has(range.start + i));
            }
            Cells::List(lists) => out.extend(range.map(|row| lists.first(row))),
        }
    }

    /// Appends the value of each cell of some rows, in any order; 0 if absent.
    pub fn gather(&self, rows: &[u32], out: &mut Vec<u64>) {
        match &self.cells {
            Cells::Dense(values) => values.gather(rows, out),
            Cells::Sparse(presence, values) => {
                for rows in rows.chunks(GATHER_ROWS) {
                    gather_sparse(presence, values, rows, out);
                }
            }
            Cells::List(lists) => out.extend(rows.iter().map(|&row| lists.first(row as usize))),
        }
    }

    /// Appends the values of one row.
    pub fn list_into(&self, row: usize, out: &mut Vec<u64>) {
        match &self.cells {
            Cells::List(lists) => lists.decode_row(row, out),
            _ => out.extend(Some(self.get(row)).filter(|&value| value != 0)),
        }
    }

    /// The number of values of one row; reads none of a list.
    pub fn value_count(&self, row: usize) -> usize {
        match &self.cells {
            Cells::List(lists) => lists.count(row),
            _ => usize::from(self.get(row) != 0),
        }
    }

    /// Appends the number of values of each of some rows, and the values row by row.
    pub fn gather_lists(&self, rows: &[u32], counts: &mut Vec<u32>, values: &mut Vec<u64>) {
        if let Cells::List(lists) = &self.cells {
            lists.gather(rows, counts, values);
        } else {
            let old = values.len();
            self.gather(rows, values);
            drop_absent(old, counts, values);
        }
    }

    /// Gives the positions, ascending, of the rows that have the value in the same place of `wanted`; 0 is no value.
    pub fn holding(&self, rows: &[u32], wanted: &[u64], mut found: impl FnMut(usize)) {
        assert_eq!(rows.len(), wanted.len(), "a value for each row");
        if let Cells::List(lists) = &self.cells {
            lists.holding(rows, wanted, found);
            return;
        }
        let mut cells = Vec::with_capacity(rows.len());
        self.gather(rows, &mut cells);
        for (place, (cell, wanted)) in cells.iter().zip(wanted).enumerate() {
            if cell == wanted && *cell != 0 {
                found(place);
            }
        }
    }

    /// Appends the number of values of each row of a range, and the values row by row.
    pub fn decode_lists(&self, range: Range<usize>, counts: &mut Vec<u32>, values: &mut Vec<u64>) {
        if let Cells::List(lists) = &self.cells {
            lists.decode(range, counts, values);
        } else {
            let old = values.len();
            self.decode(range, values);
            drop_absent(old, counts, values);
        }
    }

    /// Appends those of the rows `within` that have a value in `low..=high`, ascending, none twice. Tells how many values were
    /// compared.
    pub fn find_in_range(
        &self,
        within: Range<usize>,
        low: u64,
        high: u64,
        out: &mut Vec<u32>,
    ) -> usize {
        self.check_range(&within);
        let low = low.max(1);
        let old = out.len();
        match &self.cells {
            Cells::Dense(values) => {
                values.find_in_range(within.clone(), low, high, out);
                within.len()
            }
            Cells::Sparse(presence, values) => {
                let packed = presence.positions(within.clone(), values.len());
                values.find_in_range(packed.clone(), low, high, out);
                presence.positions_to_rows(within, old, out);
                packed.len()
            }
            Cells::List(lists) => lists.find_in_range(within, low, high, out),
        }
    }

    /// Appends those of the rows `within` that have a value, ascending.
    pub fn present_rows_into(&self, within: Range<usize>, out: &mut Vec<u32>) {
        self.check_range(&within);
        match &self.cells {
            Cells::Dense(values) => values.find_in_range(within, 1, u64::MAX, out),
            Cells::Sparse(presence, _) => presence.rows_into(within, out),
            Cells::List(lists) => lists.present_rows_into(within, out),
        }
    }

    fn check_range(&self, rows: &Range<usize>) {
        assert!(
            rows.start <= rows.end && rows.end <= self.rows,
            "rows {rows:?} of a segment of {}",
            self.rows
        );
    }

    /// Checks what [`open`](Segment::open) leaves out: ranks, orders and codes. Linear time.
    pub fn validate_deep(&self) -> Result<(), ColumnError> {
        match &self.cells {
            Cells::Dense(values) => values.validate_deep(),
            Cells::Sparse(presence, values) => {
                presence.validate_deep()?;
                values.validate_deep()?;
                refuse_zeros(values)
            }
            Cells::List(lists) => lists.validate_deep(),
        }
    }
}

/// An error if 0 stands among values that are present.
fn refuse_zeros(values: &Sequence<'_>) -> Result<(), ColumnError> {
    let mut zeros = Vec::new();
    values.find_equal(0, &mut zeros);
    match zeros.first() {
        Some(at) => Err(ColumnError::corrupt(format!("value {at} is present and 0"))),
        None => Ok(()),
    }
}

fn gather_sparse(presence: &Presence<'_>, values: &Sequence<'_>, rows: &[u32], out: &mut Vec<u64>) {
    let mut positions = [0u32; GATHER_ROWS];
    let mut has = [false; GATHER_ROWS];
    let mut count = 0;
    for (row, has) in rows.iter().zip(&mut has) {
        if let Some(position) = presence
            .position(*row as usize)
            .filter(|&p| p < values.len())
        {
            *has = true;
            positions[count] = position as u32;
            count += 1;
        }
    }
    let old = out.len();
    values.gather(&positions[..count], out);
    out.resize(old + rows.len(), 0);
    spread(&mut out[old..], count, |i| has[i]);
}

/// Moves the `count` values at the front of `cells` to the cells that have one, in order, and puts
/// 0 into the others; without branches, since who has a value is as good as random.
fn spread(cells: &mut [u64], count: usize, has: impl Fn(usize) -> bool) {
    let mut left = count;
    // Invariant: left <= i + 1, so a value moves up or stays and no unmoved value is overwritten.
    for i in (0..cells.len()).rev() {
        let moves = u64::from(has(i) && left > 0);
        left -= moves as usize;
        let stays = u64::from(left > i);
        cells[i] = cells[left.min(i)] & (moves | stays).wrapping_neg();
    }
}

/// Turns cells from `old` on into lists: a count of 0 or 1 per cell, and the values that are not 0.
fn drop_absent(old: usize, counts: &mut Vec<u32>, values: &mut Vec<u64>) {
    let mut end = old;
    for i in old..values.len() {
        let value = values[i];
        values[end] = value;
        end += usize::from(value != 0);
        counts.push(u32::from(value != 0));
    }
    values.truncate(end);
}
