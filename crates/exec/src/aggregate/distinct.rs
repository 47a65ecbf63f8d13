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
use super::group_table::GroupTable;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::operators::late_rows::{NumberedRows, PutOffRows};
use crate::spill::row_file::RowWriter;

/// Distinct rows by group, in order of first sight; see the [module documentation](self).
pub struct DistinctRows {
    /// Ids of a row, without its group.
    width: usize,
    /// Keys are the number of the group and the ids of the row.
    seen: GroupTable,
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
            seen: GroupTable::new(width + 1),
            is_full: false,
            late: None,
        }
    }

    /// Adds a row behind its group; true if it is to be aggregated now.
    fn insert(&mut self, key: &[u64], cx: &Context) -> Result<bool, ExecError> {
        if self.is_full {
            if self.seen.find(key).is_none() {
                self.write(key, cx)?;
            }
            return Ok(false);
        }
        let count = self.seen.count();
        self.seen.group_of(key);
        Ok(self.seen.count() > count)
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
        let (mut new_groups, mut new_ids) = (Vec::new(), Vec::new());
        for (&group, &id) in groups.iter().zip(ids) {
            if self.insert(&[u64::from(group), id], cx)? {
                new_groups.push(group);
                new_ids.push(id);
            }
        }
        Ok((new_groups, new_ids))
    }

    /// Adds rows; gives back the groups of those to be counted now.
    pub fn insert_rows(
        &mut self,
        batch: &Batch,
        groups: &[u32],
        cx: &Context,
    ) -> Result<Vec<u32>, ExecError> {
        let mut key = Vec::with_capacity(self.width + 1);
        let mut new_groups = Vec::new();
        for (row, &group) in groups.iter().enumerate() {
            key.clear();
            key.push(u64::from(group));
            batch.row_into(row, &mut key);
            if self.insert(&key, cx)? {
                new_groups.push(group);
            }
        }
        Ok(new_groups)
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
        let mut add = |own: &mut Self, key: &[u64]| {
            if own.insert(key, cx)? {
                new_groups.push(key[0] as u32);
                new_ids.push(key.get(1).copied().unwrap_or_default());
            }
            Ok::<(), ExecError>(())
        };
        let mut key = Vec::with_capacity(self.width + 1);
        for row in 0..other.seen.count() {
            if row % CHECK_GROUPS == 0 {
                cx.check()?;
                if self.seen.bytes() > bytes_max {
                    self.spill();
                }
            }
            key.clear();
            key.extend_from_slice(other.seen.key(row));
            key[0] = u64::from(numbers[key[0] as usize]);
            add(self, &key)?;
        }
        drop(other.seen);
        if other.is_full {
            // There was too much for memory before, and there is more now.
            self.spill();
        }
        if let Some(late) = other.late {
            let mut rows = late.finish()?.reader(1, cx);
            let mut until_check = CHECK_GROUPS;
            while let Some(row) = rows.next_row()? {
                key.clear();
                key.extend_from_slice(row);
                key[0] = u64::from(numbers[key[0] as usize]);
                add(self, &key)?;
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
        self.seen = GroupTable::new(self.width + 1);
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
