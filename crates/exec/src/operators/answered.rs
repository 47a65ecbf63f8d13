//! `Answered`: which of the outer rows that an EXISTS runs for together have a row by now.
//!
//! Who collects the rows of the inner plan sets it, and joins below ask it before they look for more.

use super::row_keys::RowKeys;
use basalt_plan::physical::Slot;
use std::sync::atomic::{AtomicBool, Ordering};

/// The answers so far; see the [module documentation](self).
pub struct Answered {
    keys: RowKeys,
    /// The slots of the keys.
    slots: Vec<Slot>,
    /// By key.
    have_row: Vec<AtomicBool>,
}

impl Answered {
    /// None of these keys, which ascend without repeats, has a row yet.
    pub fn new(keys: RowKeys, slots: Vec<Slot>) -> Self {
        let mut have_row = Vec::new();
        have_row.resize_with(keys.len(), AtomicBool::default);
        Self {
            keys,
            slots,
            have_row,
        }
    }

    /// The keys.
    pub fn keys(&self) -> &RowKeys {
        &self.keys
    }

    /// The slots whose values are a key.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Notes that rows have come, given by the columns of the slots; tells how many keys had none before.
    pub fn note(&self, columns: &[&[u64]], rows: usize) -> usize {
        let mut new = 0;
        self.visit(columns, rows, |_, place| {
            let have_row = &self.have_row[place];
            // One thread sets the answers of one evaluation.
            if !have_row.load(Ordering::Relaxed) {
                have_row.store(true, Ordering::Relaxed);
                new += 1;
            }
        });
        new
    }

    /// Those of some rows, given in the same way, whose keys have no row yet.
    pub fn open_rows(&self, columns: &[&[u64]], rows: usize) -> Vec<u32> {
        let mut open = Vec::with_capacity(rows);
        self.visit(columns, rows, |row, place| {
            if !self.have_row[place].load(Ordering::Relaxed) {
                open.push(row as u32);
            }
        });
        open
    }

    /// For each key whether it has a row.
    pub fn to_vec(&self) -> Vec<bool> {
        let have_row = self.have_row.iter();
        have_row
            .map(|is_set| is_set.load(Ordering::Relaxed))
            .collect()
    }

    /// Visits rows with the places of their keys.
    fn visit(&self, columns: &[&[u64]], rows: usize, each: impl FnMut(usize, usize)) {
        match columns {
            [ids] => visit_places(rows, |row, near| self.keys.find_one(ids[row], near), each),
            _ => {
                let place = |row: usize, near| {
                    let key = columns.iter().map(|ids| ids[row]);
                    self.keys.find(key, near)
                };
                visit_places(rows, place, each);
            }
        }
    }
}

/// Visits rows with their places. Rows of a key mostly follow each other, and those of the next key follow them.
fn visit_places(
    rows: usize,
    place_near: impl Fn(usize, usize) -> Option<usize>,
    mut each: impl FnMut(usize, usize),
) {
    let mut near = 0;
    for row in 0..rows {
        if let Some(place) = place_near(row, near) {
            near = place;
            each(row, place);
        }
    }
}
