//! `SpilledJoin`: a hash join whose build side is in files.
//!
//! ```text
//! probe rows, numbered -> partitions by hash of the keys
//! each partition: build rows -> table;  probe rows -> joined rows, numbered -> a file
//! files -> merged by number
//! ```
//!
//! All partners of a row are in one partition, so every kind of join is right partition by partition; merging by number
//! keeps the order of the probe side, which the plan may rely on. A partition whose build rows do not fit is dealt out
//! again on both sides; rows of one key that do not fit end the query at its limit.
//!
//! Cost: 16 bytes of file traffic for each cell of either side and of the joined rows; nothing comes out before all is
//! joined.

use super::Operator;
use super::build_side::{SpilledSide, deal_out};
use super::hash_join::Source;
use super::join_table::JoinTable;
use super::late_rows::NumberedRows;
use super::pairing::{Pairing, PieceStart};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::spill::partitions::{LEVELS, Partition, Partitions};
use crate::spill::row_file::{RowFile, RowWriter};
use crate::spill::share_bytes;
use basalt_plan::physical::JoinKind;
use std::sync::Arc;

/// The rows of a join, in files.
pub struct SpilledJoin(NumberedRows);

/// Rows of both sides whose keys have the same bits in their hashes.
struct Pair {
    build: Vec<RowFile>,
    probe: RowFile,
    /// How often they were dealt out, and the bits.
    level: (u32, u64),
}

/// What all partitions share.
struct Joiner<'a> {
    side: &'a SpilledSide,
    pairing: Pairing,
    /// Columns of a probe row besides its number, which comes last.
    probe_width: usize,
    cx: &'a Context,
}

impl SpilledJoin {
    /// Joins all rows of `probe`.
    pub fn new(
        probe: &mut dyn Operator,
        side: &SpilledSide,
        pairing: &Pairing,
        cx: &Context,
    ) -> Result<Self, ExecError> {
        let keys = &pairing.shape.probe_keys;
        let mut numbered = None;
        let mut next = 0;
        while let Some(batch) = probe.next(cx)? {
            cx.check()?;
            let rows = batch.rows() as u64;
            let width = batch.width();
            let (_, partitions) =
                numbered.get_or_insert_with(|| (width, Partitions::new(width + 1, (0, 0))));
            let batch = batch.with_column((next..next + rows).collect());
            deal_out(&batch, keys, partitions, cx)?;
            next += rows;
        }
        let out_width = pairing.sources.len();
        let Some((probe_width, partitions)) = numbered else {
            return Ok(Self(NumberedRows::new(Vec::new(), out_width, cx)?));
        };
        let mut sources = vec![Source::Probe(probe_width)];
        sources.extend_from_slice(&pairing.sources);
        let joiner = Joiner {
            side,
            pairing: Pairing::new(
                Arc::clone(&pairing.table),
                Arc::clone(&pairing.shape),
                sources,
            ),
            probe_width,
            cx,
        };
        let files = joiner.join_all(pairs(side.partitions.clone(), partitions.finish()?))?;
        Ok(Self(NumberedRows::new(files, out_width, cx)?))
    }

    /// The next rows.
    pub fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        self.0.next(cx)
    }
}

/// The partitions of the probe side with those of the build side that have the same bits.
fn pairs(build: Vec<Partition>, probe: Vec<Partition>) -> Vec<Pair> {
    let files_of = |number: u64| {
        let same = build.iter().filter(|part| part.number == number);
        same.map(|part| part.rows.clone()).collect()
    };
    let pair = |probe: Partition| Pair {
        build: files_of(probe.number),
        level: (probe.level, probe.number),
        probe: probe.rows,
    };
    probe.into_iter().map(pair).collect()
}

impl Joiner<'_> {
    fn join_all(mut self, mut left: Vec<Pair>) -> Result<Vec<RowFile>, ExecError> {
        let mut files = Vec::new();
        while let Some(pair) = left.pop() {
            let rows: u64 = pair.build.iter().map(RowFile::rows).sum();
            let bytes = rows.saturating_mul((self.side.width * size_of::<u64>()) as u64);
            if rows == 0 && matches!(self.pairing.shape.kind, JoinKind::Inner | JoinKind::Semi) {
                continue;
            }
            if bytes > share_bytes(self.cx) as u64 && pair.level.0 < LEVELS {
                left.extend(self.deal_out_again(pair)?);
            } else {
                files.push(self.join(pair)?);
            }
        }
        Ok(files)
    }

    fn join(&mut self, pair: Pair) -> Result<RowFile, ExecError> {
        let cx = self.cx;
        let rows: u64 = pair.build.iter().map(RowFile::rows).sum();
        let bytes = (rows as usize).saturating_mul(self.side.width * size_of::<u64>());
        let mut held = HeldMemory::default();
        held.grow_to(bytes, "HashJoin", cx)?;
        let mut batches = Vec::new();
        self.read(&pair.build, self.side.width, &mut |batch| {
            batches.push(batch);
            Ok(())
        })?;
        let (width, keys) = (self.side.width, self.side.key_columns.clone());
        let table = JoinTable::build(&batches, width, keys, cx)?;
        drop(batches);
        let ranges = self.pairing.shape.ranges.as_ref();
        let table = table.with_ranges(ranges.map(|ranges| &ranges.exprs), cx)?;
        self.pairing = self.pairing.with_table(Arc::new(table));
        held.release();
        let mut joined = RowWriter::create(self.pairing.sources.len(), 2, cx)?;
        self.read(&[pair.probe], self.probe_width + 1, &mut |batch| {
            let mut start = PieceStart::default();
            while start.row() < batch.rows() {
                cx.check()?;
                let rows = self.pairing.piece(&batch, &mut start, cx)?;
                for row in 0..rows.rows() {
                    joined.push((0..rows.width()).map(|column| rows.ids(column)[row]))?;
                }
            }
            Ok(())
        })?;
        joined.finish()
    }

    /// Reads files of rows of `width` ids batch by batch.
    fn read(
        &self,
        files: &[RowFile],
        width: usize,
        visit: &mut dyn FnMut(Batch) -> Result<(), ExecError>,
    ) -> Result<(), ExecError> {
        for file in files {
            debug_assert_eq!(file.width(), width);
            let mut reader = file.clone().reader(2, self.cx);
            loop {
                self.cx.check()?;
                let (columns, rows) = reader.next_columns(self.cx.options().batch_rows.max(1))?;
                if rows == 0 {
                    break;
                }
                visit(Batch::from_vectors(columns, rows))?;
            }
        }
        Ok(())
    }

    fn deal_out_again(&self, pair: Pair) -> Result<Vec<Pair>, ExecError> {
        let deal = |files: &[RowFile], width: usize, keys: &[usize]| {
            let mut partitions = Partitions::new(width, pair.level);
            self.read(files, width, &mut |batch| {
                deal_out(&batch, keys, &mut partitions, self.cx)
            })?;
            partitions.finish()
        };
        let build = deal(&pair.build, self.side.width, &self.side.key_columns)?;
        let probe_keys = &self.pairing.shape.probe_keys;
        let probe = deal(
            std::slice::from_ref(&pair.probe),
            self.probe_width + 1,
            probe_keys,
        )?;
        Ok(pairs(build, probe))
    }
}
