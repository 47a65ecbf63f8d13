//! `DistinctRows`: what a DISTINCT aggregate has seen: (group, value) pairs, or (group, row) for `COUNT(DISTINCT *)`.
//!
//! ```text
//! rows -> seen, while there is room -> those that are new are aggregated at once
//!      -> late, when there is none  -> one file -> at the end dealt out, told apart and aggregated
//! ```
//!
//! Equal terms have equal ids, so distinct values are distinct ids. Invariant: what is late is not in `seen`, which
//! takes nothing more from then on, so a row is aggregated once. Memory: one entry per distinct row of each group, up to
//! where [`DistinctRows::spill`] is called.
//!
//! Cost beyond: 16 bytes of file traffic for each id of a late row, as much again for those of other threads, and what
//! [`PutOffRows`] takes. Late rows are not dealt out at once, since each of many aggregates on each of many threads would have as
//! many files open as there are partitions.

use super::CHECK_GROUPS;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::operators::late_rows::{NumberedRows, PutOffRows};
use crate::row_numbers::RowNumbers;
use crate::spill::row_file::RowWriter;

/// Distinct rows by group, in order of first sight; see the [module documentation](self).
pub struct DistinctRows {
    /// Ids of a row, without its group.
    width: usize,
    /// Of rows that are the number of the group and the ids.
    seen: RowNumbers,
    /// Whether it takes nothing more.
    is_full: bool,
    /// Rows that found no room, if there are any.
    late: Option<RowWriter>,
}

impl DistinctRows {
    /// No rows yet, for rows of `width` ids.
    pub fn new(width: usize) -> Self {
        Self {
            width,
            seen: RowNumbers::new(width + 1),
            is_full: false,
            late: None,
        }
    }

    /// Adds a row behind its group; true if it is to be aggregated now.
    fn insert(&mut self, key: &[u64], cx: &Context) -> Result<bool, ExecError> {
        if !self.is_full {
            return Ok(self.seen.insert(key));
        }
        if !self.seen.contains(key) {
            self.write(key, cx)?;
        }
        Ok(false)
    }

    /// Adds rows by column, the numbers of their groups first; gives back which of them are to be aggregated now, ascending.
    fn insert_all(
        &mut self,
        columns: &[&[u64]],
        rows: usize,
        cx: &Context,
    ) -> Result<Vec<u32>, ExecError> {
        if !self.is_full {
            return Ok(self.seen.insert_all(columns, rows));
        }
        let mut key = Vec::with_capacity(self.width + 1);
        for row in 0..rows {
            key.clear();
            key.extend(columns.iter().map(|column| column[row]));
            self.insert(&key, cx)?;
        }
        Ok(Vec::new())
    }

    fn write(&mut self, key: &[u64], cx: &Context) -> Result<(), ExecError> {
        let late = match &mut self.late {
            Some(late) => late,
            late => late.insert(RowWriter::create(self.width + 1, 1, cx)?),
        };
        late.push(key.iter().copied())
    }

    /// Adds one value for each row; gives back those to be aggregated now, with their groups. The error value 0 is a
    /// value too.
    pub fn insert_values(
        &mut self,
        groups: &[u32],
        ids: &[u64],
        cx: &Context,
    ) -> Result<(Vec<u32>, Vec<u64>), ExecError> {
        debug_assert_eq!(self.width, 1);
        let numbers = ids_of(groups);
        let fresh = self.insert_all(&[&numbers, ids], ids.len(), cx)?;
        let new = |row: &u32| (groups[*row as usize], ids[*row as usize]);
        Ok(fresh.iter().map(new).unzip())
    }

    /// Adds rows; gives back the groups of those to be counted now.
    pub fn insert_rows(
        &mut self,
        batch: &Batch,
        groups: &[u32],
        cx: &Context,
    ) -> Result<Vec<u32>, ExecError> {
        let numbers = ids_of(groups);
        let columns: Vec<&[u64]> = std::iter::once(&*numbers).chain(batch.slices()).collect();
        let fresh = self.insert_all(&columns, groups.len(), cx)?;
        Ok(fresh.iter().map(|&row| groups[row as usize]).collect())
    }

    /// Adds another's rows, whose group `g` is `numbers[g]` here; gives back those to be aggregated now, as groups and first
    /// ids. Takes nothing more into memory from `bytes_max` on.
    pub fn merge(
        &mut self,
        other: Self,
        numbers: &[u32],
        bytes_max: usize,
        cx: &Context,
    ) -> Result<(Vec<u32>, Vec<u64>), ExecError> {
        let (mut new_groups, mut new_ids) = (Vec::new(), Vec::new());
        let count = other.seen.count();
        for start in (0..count).step_by(CHECK_GROUPS) {
            cx.check()?;
            if self.seen.bytes() > bytes_max {
                self.spill();
            }
            let mut columns = other
                .seen
                .columns_of(start..count.min(start + CHECK_GROUPS));
            for group in &mut columns[0] {
                *group = u64::from(numbers[*group as usize]);
            }
            let slices: Vec<&[u64]> = columns.iter().map(Vec::as_slice).collect();
            for row in self.insert_all(&slices, columns[0].len(), cx)? {
                new_groups.push(columns[0][row as usize] as u32);
                new_ids.push(columns.get(1).map_or(0, |ids| ids[row as usize]));
            }
        }
        drop(other.seen);
        if other.is_full {
            // There was too much for memory before, and there is more now.
            self.spill();
        }
        if let Some(late) = other.late {
            let mut rows = late.finish()?.reader(1, cx);
            let mut until_check = CHECK_GROUPS;
            let mut key = Vec::with_capacity(self.width + 1);
            while let Some(row) = rows.next_row()? {
                key.clear();
                key.extend_from_slice(row);
                key[0] = u64::from(numbers[key[0] as usize]);
                if self.insert(&key, cx)? {
                    new_groups.push(key[0] as u32);
                    new_ids.push(key.get(1).copied().unwrap_or_default());
                }
                until_check -= 1;
                if until_check == 0 {
                    until_check = CHECK_GROUPS;
                    cx.check()?;
                }
            }
        }
        Ok((new_groups, new_ids))
    }

    /// Takes nothing more into memory from now on.
    pub fn spill(&mut self) {
        self.is_full = true;
    }

    /// The distinct ones of the late rows, each behind its group: what is left to be aggregated. Nothing can be added after
    /// this.
    pub fn finish(&mut self, cx: &Context) -> Result<Option<NumberedRows>, ExecError> {
        self.seen = RowNumbers::new(self.width + 1);
        let Some(late) = self.late.take() else {
            return Ok(None);
        };
        let mut rows = late.finish()?.reader(1, cx);
        let mut put_off = PutOffRows::new(self.width + 1);
        let mut until_check = CHECK_GROUPS;
        while let Some(row) = rows.next_row()? {
            put_off.push(row, cx)?;
            until_check -= 1;
            if until_check == 0 {
                until_check = CHECK_GROUPS;
                cx.check()?;
            }
        }
        put_off.finish(cx).map(Some)
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.seen.bytes()
    }
}

/// The numbers of groups as the first column of rows.
fn ids_of(groups: &[u32]) -> Vec<u64> {
    groups.iter().map(|&group| u64::from(group)).collect()
}
