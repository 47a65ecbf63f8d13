//! Dirty rows: which rows of which table have irregular quads, by predicate.
//!
//! Computed from the quads in PSOG order when a version is committed, kept as Roaring bitmaps in
//! the statistics file, in memory while the version is open. Invariant: a row is in the bitmap of
//! a predicate exactly if the quad table has a quad of it with that predicate, in any graph.

use crate::byte_stream::{ByteReader, ByteWriter};
use crate::error::StoreError;
use crate::extents::Extents;
use crate::matching::QuadIds;
use crate::table::Table;
use basalt_columns::bitmap;
use basalt_rdf::TermId;
use roaring::RoaringBitmap;
use std::collections::BTreeMap;

/// By table: predicates ascending, with rows; no bitmap is empty.
pub(crate) type DirtyRows = Vec<Vec<(TermId, RoaringBitmap)>>;

/// Collects rows predicate by predicate.
pub(crate) struct DirtyRowsBuilder<'a> {
    extents: &'a Extents,
    by_table: Vec<BTreeMap<TermId, RoaringBitmap>>,
    last: (TermId, TermId),
}

impl<'a> DirtyRowsBuilder<'a> {
    pub(crate) fn new(extents: &'a Extents, table_count: usize) -> Self {
        Self {
            extents,
            by_table: vec![BTreeMap::new(); table_count],
            last: (TermId::UNBOUND, TermId::UNBOUND),
        }
    }

    /// Notes a quad of this predicate and subject; cheapest in PSOG order.
    pub(crate) fn add(&mut self, predicate: TermId, subject: TermId) {
        if self.last == (predicate, subject) {
            return;
        }
        self.last = (predicate, subject);
        if let Some((table_idx, row)) = self.extents.row_of(subject) {
            let rows = self.by_table[table_idx].entry(predicate).or_default();
            rows.insert(row);
        }
    }

    pub(crate) fn finish(self) -> DirtyRows {
        let tables = self.by_table.into_iter();
        tables.map(|table| table.into_iter().collect()).collect()
    }
}

/// Dirty rows of all tables for the quads of a version.
pub(crate) fn of_quads(extents: &Extents, table_count: usize, quads: &[QuadIds]) -> DirtyRows {
    let mut builder = DirtyRowsBuilder::new(extents, table_count);
    for quad in quads {
        builder.add(quad.predicate, quad.subject);
    }
    builder.finish()
}

/// Adds what the tables of the version that is added to have already; they come first.
pub(crate) fn add(dirty: &mut DirtyRows, tables: &[Table]) {
    for (of_table, table) in dirty.iter_mut().zip(tables) {
        for (predicate, rows) in table.dirty_predicates() {
            match of_table.binary_search_by_key(&predicate, |(p, _)| *p) {
                Ok(i) => of_table[i].1 |= rows,
                Err(i) => of_table.insert(i, (predicate, rows.clone())),
            }
        }
    }
}

pub(crate) fn write(dirty: &DirtyRows) -> Vec<u8> {
    let mut out = ByteWriter::new();
    out.long(dirty.len() as u64);
    let mut bytes = Vec::new();
    for table in dirty {
        out.long(table.len() as u64);
        for (predicate, rows) in table {
            out.id(*predicate);
            bytes.clear();
            bitmap::write(rows, &mut bytes);
            out.blob(&bytes);
        }
    }
    out.finish()
}

pub(crate) fn read(bytes: &[u8], file: &str) -> Result<DirtyRows, StoreError> {
    let mut input = ByteReader::new(bytes, file, "dirty-rows");
    let mut dirty = Vec::new();
    for _ in 0..input.count(8)? {
        let mut table: Vec<(TermId, RoaringBitmap)> = Vec::new();
        for _ in 0..input.count(16)? {
            let predicate = input.id()?;
            let (rows, _) =
                bitmap::read(input.blob()?).map_err(|e| input.corrupt(&e.to_string()))?;
            if table.last().is_some_and(|(last, _)| *last >= predicate) {
                return Err(input.corrupt("the predicates of dirty rows do not ascend"));
            }
            table.push((predicate, rows));
        }
        dirty.push(table);
    }
    input.finish()?;
    Ok(dirty)
}
