//! `BuildSide`: the rows of a hash join that are read first, in a table or in files.
//!
//! Rows are collected as batches until they hold their share of memory; from then on they are dealt out to partitions by
//! the hash of their keys. Without keys there is nothing to deal out by: such a side stays in memory or ends the query.
//!
//! Invariant: one row beyond the share puts all rows of all threads into partitions, so a key is in one place.

use super::join_table::JoinTable;
use super::key_filter::KeyFilter;
use super::pipeline::Sink;
use super::range_order::RangeExprs;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::row_numbers::hash_row;
use crate::spill::partitions::{Partition, Partitions};
use crate::spill::share_bytes;
use std::sync::Arc;

/// A finished build side; cheap to clone.
#[derive(Clone)]
pub enum BuildSide {
    /// All rows in memory.
    Table(Arc<JoinTable>),
    /// The keys alone, of a join that asks for nothing else.
    Keys(Arc<KeyFilter>),
    /// All rows in files.
    Spilled(Arc<SpilledSide>),
}

/// A build side in files.
pub struct SpilledSide {
    /// Rows by the hash of their keys.
    pub partitions: Vec<Partition>,
    /// The columns of the keys.
    pub key_columns: Vec<usize>,
    /// Columns of a row.
    pub width: usize,
}

/// Rows that one thread collects.
pub struct BuildRows {
    key_columns: Arc<[usize]>,
    width: usize,
    batches: Vec<Batch>,
    /// Bytes of the batches, which are counted.
    reserved: usize,
    partitions: Option<Partitions>,
}

impl BuildRows {
    /// No rows of `width` columns, with keys in these.
    pub fn new(key_columns: &Arc<[usize]>, width: usize) -> Self {
        Self {
            key_columns: Arc::clone(key_columns),
            width,
            batches: Vec::new(),
            reserved: 0,
            partitions: None,
        }
    }

    fn deal_out(&mut self, batch: &Batch, cx: &Context) -> Result<(), ExecError> {
        let width = self.width;
        let partitions = self
            .partitions
            .get_or_insert_with(|| Partitions::new(width, (0, 0)));
        deal_out(batch, &self.key_columns, partitions, cx)
    }

    /// Moves the rows in memory to files.
    fn spill(&mut self, cx: &Context) -> Result<(), ExecError> {
        for batch in std::mem::take(&mut self.batches) {
            cx.check()?;
            self.deal_out(&batch, cx)?;
        }
        cx.release(std::mem::take(&mut self.reserved));
        Ok(())
    }
}

impl Sink for BuildRows {
    fn push(&mut self, batch: &Batch, cx: &Context) -> Result<(), ExecError> {
        if self.partitions.is_some() {
            return self.deal_out(batch, cx);
        }
        let may_spill = !self.key_columns.is_empty();
        let bytes = batch.bytes();
        match cx.reserve(bytes, "HashJoin") {
            Ok(()) => self.reserved += bytes,
            Err(ExecError::MemoryLimit { .. }) if may_spill => {
                self.spill(cx)?;
                return self.deal_out(batch, cx);
            }
            Err(error) => return Err(error),
        }
        self.batches.push(batch.compact());
        match may_spill && self.reserved > share_bytes(cx) {
            true => self.spill(cx),
            false => Ok(()),
        }
    }
}

/// Deals the rows of a batch out by the hash of these columns.
pub fn deal_out(
    batch: &Batch,
    key_columns: &[usize],
    partitions: &mut Partitions,
    cx: &Context,
) -> Result<(), ExecError> {
    let mut key = Vec::with_capacity(key_columns.len());
    for row in 0..batch.rows() {
        key.clear();
        key.extend(key_columns.iter().map(|&column| batch.ids(column)[row]));
        let ids = (0..batch.width()).map(|column| batch.ids(column)[row]);
        partitions.push(hash_row(&key), ids, cx)?;
    }
    Ok(())
}

/// What a build side is made for.
pub struct Purpose<'a> {
    /// The columns of the keys.
    pub key_columns: &'a [usize],
    /// Columns that both sides have and some row may lack.
    pub compatible: &'a [usize],
    /// Whether it is only asked which keys are there, of one column.
    pub keys_alone: bool,
    /// What the condition bounds.
    pub ranges: Option<&'a RangeExprs>,
}

/// Those of some columns that no row lacks, by which rows can be found, too.
fn bound_columns(batches: &[Batch], columns: &[usize]) -> Vec<usize> {
    let is_bound = |column: &usize| {
        let lacks = |batch: &Batch| batch.ids(*column).contains(&0);
        !batches.iter().any(lacks)
    };
    columns.iter().copied().filter(is_bound).collect()
}

/// Makes a build side of what the threads have collected: files, the keys alone if they lie close together, or a table.
pub fn finish(
    mut sides: Vec<BuildRows>,
    purpose: &Purpose<'_>,
    width: usize,
    cx: &Context,
) -> Result<BuildSide, ExecError> {
    if sides.iter().any(|side| side.partitions.is_some()) {
        let mut partitions = Vec::new();
        for mut side in sides {
            side.spill(cx)?;
            if let Some(own) = side.partitions {
                partitions.extend(own.finish()?);
            }
        }
        return Ok(BuildSide::Spilled(Arc::new(SpilledSide {
            partitions,
            key_columns: purpose.key_columns.to_vec(),
            width,
        })));
    }
    let batches = sides
        .iter_mut()
        .flat_map(|side| std::mem::take(&mut side.batches));
    let batches: Vec<Batch> = batches.collect();
    let built = match (purpose.keys_alone, purpose.key_columns) {
        (true, [column]) => {
            let keys: Vec<&[u64]> = batches.iter().map(|batch| batch.ids(*column)).collect();
            KeyFilter::exact(&keys, cx)?.map(|keys| BuildSide::Keys(Arc::new(keys)))
        }
        _ => None,
    };
    let built = match built {
        Some(keys) => keys,
        None => {
            let bytes: usize = sides.iter().map(|side| side.reserved).sum();
            // Rows of the other side that lack them need a second table.
            let bound = match bytes <= share_bytes(cx) / 2 {
                true => bound_columns(&batches, purpose.compatible),
                false => Vec::new(),
            };
            let half_key = match purpose.key_columns.is_empty() && bound.is_empty() {
                true => purpose.compatible.get(..1).unwrap_or_default(),
                false => &[],
            };
            let key_columns = [purpose.key_columns, &bound, half_key].concat();
            let table = JoinTable::build(&batches, width, key_columns, cx)?;
            let table = table.with_lacked(bound.len());
            drop(batches);
            BuildSide::Table(Arc::new(table.with_ranges(purpose.ranges, cx)?))
        }
    };
    cx.release(sides.iter().map(|side| side.reserved).sum());
    Ok(built)
}
