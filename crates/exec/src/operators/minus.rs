//! `Minus`: drops left rows that have a compatible right row with at least one shared bound slot.
//!
//! Right rows are kept by which of the shared slots they have bound. A left row can only be excluded by rows with which it has some bound
//! slots in common, and is by those that are equal in all of these: a probe of a set of their values in these slots, made when
//! the first left row with such slots comes. Memory: the distinct shared slots of the right side, for each such set again, counted; they stay in
//! memory or end the query.

use super::pipeline::Sink;
use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::row_numbers::RowNumbers;

/// Rows of a set between two looks at whether the query goes on.
const CHECKED_ROWS: usize = 1 << 16;

/// The shared slots of the right rows.
pub struct MinusRows {
    /// Columns of the shared slots in the right rows.
    columns: Vec<usize>,
    /// By which slots are bound; rows without any exclude nothing.
    parts: Vec<Part>,
    /// What left rows of one kind ask.
    asked: Asked,
    held: HeldMemory,
}

/// Right rows with the same slots bound: first by all of these, then by those of them that left rows have.
struct Part {
    sets: Vec<ValueSet>,
}

/// The different values of rows in some of the shared slots.
struct ValueSet {
    /// Places of the slots, ascending.
    slots: Vec<usize>,
    rows: RowNumbers,
}

/// What excludes left rows with these slots bound.
#[derive(Default)]
struct Asked {
    bound: Vec<usize>,
    /// Part and set of each.
    sets: Vec<(usize, usize)>,
}

/// The operator; see the [module documentation](self).
pub struct Minus {
    left: BoxOperator,
    /// Columns of the shared slots in the left rows.
    columns: Vec<usize>,
    /// The right rows.
    rows: MinusRows,
}

impl ValueSet {
    fn new(slots: Vec<usize>) -> Self {
        Self {
            rows: RowNumbers::new(slots.len()),
            slots,
        }
    }

    /// The same rows in some of these slots.
    fn project(&self, slots: Vec<usize>, cx: &Context) -> Result<Self, ExecError> {
        let place = |slot| self.slots.iter().position(|own| own == slot);
        let places: Vec<usize> = slots.iter().filter_map(place).collect();
        let mut set = Self::new(slots);
        let mut cells = Vec::with_capacity(places.len());
        for (at, row) in self.rows.iter().enumerate() {
            if at % CHECKED_ROWS == 0 {
                cx.check()?;
            }
            cells.clear();
            cells.extend(places.iter().map(|&place| row[place]));
            set.rows.insert(&cells);
        }
        Ok(set)
    }
}

impl MinusRows {
    /// No rows yet; the shared slots are in these columns.
    pub fn new(columns: &[usize]) -> Self {
        Self {
            columns: columns.to_vec(),
            parts: Vec::new(),
            asked: Asked::default(),
            held: HeldMemory::default(),
        }
    }

    /// Adds another thread's rows.
    pub fn append(&mut self, other: &Self, cx: &Context) -> Result<(), ExecError> {
        for set in other.parts.iter().map(|part| &part.sets[0]) {
            let own = self.part(&set.slots);
            for row in set.rows.iter() {
                own.rows.insert(row);
            }
        }
        self.hold(cx)
    }

    /// The rows with these slots bound.
    fn part(&mut self, bound: &[usize]) -> &mut ValueSet {
        let mut known = self.parts.iter();
        let known = known.position(|part| part.sets[0].slots == bound);
        let at = known.unwrap_or_else(|| {
            let sets = vec![ValueSet::new(bound.to_vec())];
            self.parts.push(Part { sets });
            self.parts.len() - 1
        });
        &mut self.parts[at].sets[0]
    }

    fn hold(&mut self, cx: &Context) -> Result<(), ExecError> {
        let sets = self.parts.iter().flat_map(|part| &part.sets);
        let bytes = sets.map(|set| set.rows.bytes()).sum();
        self.held.grow_to(bytes, "Minus", cx)
    }

    /// Finds out what excludes left rows with these slots bound.
    fn ask(&mut self, bound: &[usize], cx: &Context) -> Result<(), ExecError> {
        self.asked.bound = bound.to_vec();
        self.asked.sets.clear();
        for (at, part) in self.parts.iter_mut().enumerate() {
            let own = part.sets[0].slots.iter();
            let common: Vec<usize> = own.filter(|slot| bound.contains(slot)).copied().collect();
            if common.is_empty() {
                continue;
            }
            let known = part.sets.iter().position(|set| set.slots == common);
            let set = match known {
                Some(set) => set,
                None => {
                    let set = part.sets[0].project(common, cx)?;
                    part.sets.push(set);
                    part.sets.len() - 1
                }
            };
            self.asked.sets.push((at, set));
        }
        self.hold(cx)
    }

    /// Whether some right row excludes a left row with these slots bound.
    fn exclude(&mut self, row: &[u64], bound: &[usize], cx: &Context) -> Result<bool, ExecError> {
        if self.asked.bound != bound {
            self.ask(bound, cx)?;
        }
        let mut cells = Vec::with_capacity(bound.len());
        Ok(self.asked.sets.iter().any(|&(part, set)| {
            let set = &self.parts[part].sets[set];
            cells.clear();
            cells.extend(set.slots.iter().map(|&slot| row[slot]));
            set.rows.contains(&cells)
        }))
    }
}

/// The places of values that are bound.
fn bound_places(row: &[u64], places: &mut Vec<usize>) {
    places.clear();
    let bound = row.iter().enumerate().filter(|&(_, &id)| id != 0);
    places.extend(bound.map(|(place, _)| place));
}

impl Sink for MinusRows {
    fn push(&mut self, batch: &Batch, cx: &Context) -> Result<(), ExecError> {
        let columns: Vec<&[u64]> = self.columns.iter().map(|&c| batch.ids(c)).collect();
        let (mut cells, mut bound) = (vec![0; columns.len()], Vec::new());
        for row in 0..batch.rows() {
            for (cell, column) in cells.iter_mut().zip(&columns) {
                *cell = column[row];
            }
            bound_places(&cells, &mut bound);
            if !bound.is_empty() {
                cells.retain(|&id| id != 0);
                self.part(&bound).rows.insert(&cells);
                cells.resize(columns.len(), 0);
            }
        }
        self.hold(cx)
    }
}

impl Minus {
    /// Drops rows of `left`, the shared slots of which are in these columns.
    pub fn new(left: BoxOperator, columns: Vec<usize>, rows: MinusRows) -> Self {
        Self {
            left,
            columns,
            rows,
        }
    }
}

impl Operator for Minus {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        while let Some(batch) = self.left.next(cx)? {
            cx.check()?;
            let columns: Vec<&[u64]> = self.columns.iter().map(|&c| batch.ids(c)).collect();
            let (mut row, mut bound, mut kept) = (Vec::new(), Vec::new(), Vec::new());
            for position in 0..batch.rows() {
                row.clear();
                row.extend(columns.iter().map(|column| column[position]));
                bound_places(&row, &mut bound);
                if !self.rows.exclude(&row, &bound, cx)? {
                    kept.push(position as u32);
                }
            }
            if !kept.is_empty() {
                return Ok(Some(batch.keep(&kept)));
            }
        }
        Ok(None)
    }
}
