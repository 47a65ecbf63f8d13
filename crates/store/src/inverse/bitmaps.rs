//! A Roaring bitmap of rows for each of few distinct values.
//!
//! Values and counts are in memory; a bitmap is read from the map at its first use and kept.

use super::part_of;
use crate::byte_stream::{ByteReader, ByteWriter};
use crate::error::StoreError;
use crate::section_file::SectionSlice;
use basalt_columns::bitmap;
use basalt_rdf::TermId;
use roaring::RoaringBitmap;
use std::ops::{ControlFlow, Range};
use std::sync::OnceLock;

#[derive(Debug)]
struct Entry {
    value: u64,
    rows: u64,
    bytes: SectionSlice,
    bitmap: OnceLock<RoaringBitmap>,
}

/// Rows by value, for few values.
#[derive(Debug)]
pub struct Bitmaps {
    /// Ascending by value.
    entries: Vec<Entry>,
}

/// Writes the bitmaps; returns the number of distinct values.
pub(super) fn build(pairs: &[(u64, u32)], values: &[u64], out: &mut ByteWriter) -> u64 {
    let mut bitmaps = vec![RoaringBitmap::new(); values.len()];
    let mut last = (0, 0);
    for &(value, row) in pairs {
        if value != last.0 {
            let i = values.binary_search(&value);
            last = (value, i.expect("the sketch has seen every value"));
        }
        // Rows ascend, so this appends.
        bitmaps[last.1].insert(row);
    }
    out.long(values.len() as u64);
    let mut bytes = Vec::new();
    for (&value, bitmap) in values.iter().zip(&bitmaps) {
        out.long(value);
        out.long(bitmap.len());
        bytes.clear();
        bitmap::write(bitmap, &mut bytes);
        out.blob(&bytes);
    }
    values.len() as u64
}

impl Bitmaps {
    pub(super) fn open(
        section: &SectionSlice,
        input: &mut ByteReader<'_>,
    ) -> Result<Self, StoreError> {
        let count = input.count(24)?;
        let mut entries: Vec<Entry> = Vec::with_capacity(count);
        for _ in 0..count {
            let value = input.long()?;
            let rows = input.long()?;
            let bytes = input.blob()?;
            if entries.last().is_some_and(|last| last.value >= value) {
                return Err(input.corrupt("the values of bitmaps do not ascend"));
            }
            let start = bytes.as_ptr() as usize - section.bytes().as_ptr() as usize;
            let bytes = section
                .part(start..start + bytes.len())
                .ok_or_else(|| input.corrupt("a bitmap lies outside its section"))?;
            entries.push(Entry {
                value,
                rows,
                bytes,
                bitmap: OnceLock::new(),
            });
        }
        Ok(Self { entries })
    }

    /// The rows of a value. Damaged bytes (which a deep check reports) read as no rows.
    pub fn rows(&self, value: u64) -> Option<&RoaringBitmap> {
        let i = self
            .entries
            .binary_search_by_key(&value, |e| e.value)
            .ok()?;
        let entry = &self.entries[i];
        Some(entry.bitmap.get_or_init(|| {
            bitmap::read(entry.bytes.bytes()).map_or_else(|_| RoaringBitmap::new(), |read| read.0)
        }))
    }

    pub(super) fn find_many(
        &self,
        values: &[u64],
        (part, rows_max): (&Range<usize>, u32),
        counts: &mut Vec<u32>,
        out: &mut Vec<u32>,
    ) {
        for &value in values {
            let start = out.len();
            if let Some(rows) = self.rows(value) {
                let part = part_of(0..rows.len() as usize, part);
                let first = rows.select(part.start as u32).filter(|_| !part.is_empty());
                if let Some(first) = first {
                    out.reserve(part.len());
                    let of_part = rows.range(first..).take(part.len());
                    out.extend(of_part.take_while(|&row| row < rows_max));
                }
            }
            counts.push((out.len() - start) as u32);
        }
    }

    pub(super) fn count_in(&self, low: u64, high: u64) -> u64 {
        let first = self.entries.partition_point(|e| e.value < low);
        self.entries[first..]
            .iter()
            .take_while(|e| e.value <= high)
            .map(|e| e.rows)
            .sum()
    }

    pub(super) fn visit_keys(
        &self,
        visit: &mut dyn FnMut(TermId, u64) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        for entry in &self.entries {
            visit(TermId(entry.value), entry.rows)?;
        }
        ControlFlow::Continue(())
    }

    pub(crate) fn validate_deep(&self) -> Result<(), StoreError> {
        for entry in &self.entries {
            let (rows, used) = bitmap::read(entry.bytes.bytes())
                .map_err(|e| entry.bytes.corrupt(0, e.to_string()))?;
            if used != entry.bytes.bytes().len() || rows.len() != entry.rows {
                return Err(entry.bytes.corrupt(0, "a bitmap is not as its entry says"));
            }
        }
        Ok(())
    }
}
