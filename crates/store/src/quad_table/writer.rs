//! Writing the quad table: sort, cut into blocks, count; or merge into the blocks of another.
//!
//! A quad table that is added to is written anew, in one sequential pass for each order: a block that
//! no new quad falls into is copied as it is, the others are decoded, merged and cut in equal parts, so
//! blocks never become small. Cost: the bytes of the old file once, decoding only where quads fall.

use super::block::{self, BlockEntry};
use super::reader::{Predicate, SortedQuads};
use super::{BLOCK_QUADS, FILE_NAME, Order, PredicateQuads, QuadTable};
use crate::byte_stream::ByteWriter;
use crate::error::StoreError;
use crate::folder::Folder;
use crate::matching::QuadIds;
use crate::section_file::{FileKind, SectionWriter};
use std::ops::Range;

/// The keys of a quad in an order after the predicate.
pub(super) type Keys = [u64; 3];

/// The blocks of one predicate in both orders, and its counts.
#[derive(Default)]
pub(super) struct PredicateEntry {
    pub(super) predicate: u64,
    pub(super) counts: PredicateQuads,
    pub(super) psog_blocks: u64,
    pub(super) posg_blocks: u64,
}

/// The quads of one predicate: those of the old table and the new ones.
struct Group<'a> {
    predicate: u64,
    old: Option<&'a Predicate>,
    new: &'a [QuadIds],
}

/// Sorts the quads, drops repeats and writes both orders, with all quads of another table if there is
/// one, which has none of these. On return the quads are in PSOG order.
pub(crate) fn write(
    folder: &Folder,
    old: Option<&QuadTable>,
    quads: &mut Vec<QuadIds>,
) -> Result<(), StoreError> {
    let mut file = folder.create(FILE_NAME, FileKind::Quads)?;
    quads.sort_unstable_by_key(|q| (q.predicate, q.object, q.subject, q.graph));
    quads.dedup();
    let mut entries: Vec<PredicateEntry> = Vec::new();
    write_order(&mut file, Order::Posg, old, quads, &mut entries)?;
    quads.sort_unstable_by_key(|q| (q.predicate, q.subject, q.object, q.graph));
    write_order(&mut file, Order::Psog, old, quads, &mut entries)?;
    finish(file, &entries)
}

/// Writes the counts of all predicates and ends the file.
pub(super) fn finish(
    mut file: SectionWriter,
    entries: &[PredicateEntry],
) -> Result<(), StoreError> {
    let mut out = ByteWriter::new();
    out.long(entries.len() as u64);
    for entry in entries {
        out.long(entry.predicate);
        out.long(entry.counts.quads);
        out.long(entry.counts.subjects);
        out.long(entry.counts.objects);
        out.long(entry.psog_blocks);
        out.long(entry.posg_blocks);
    }
    file.section("predicates", &out.finish())?;
    file.finish()
}

/// Old and new quads by predicate, ascending.
fn groups<'a>(old: Option<&'a QuadTable>, quads: &'a [QuadIds]) -> Vec<Group<'a>> {
    let mut old = old.map_or(&[][..], QuadTable::entries).iter().peekable();
    let mut groups = Vec::new();
    let alone = |old: &'a Predicate| Group {
        predicate: old.predicate.0,
        old: Some(old),
        new: &[],
    };
    for new in quads.chunk_by(|a, b| a.predicate == b.predicate) {
        let predicate = new[0].predicate;
        while let Some(before) = old.next_if(|p| p.predicate < predicate) {
            groups.push(alone(before));
        }
        groups.push(Group {
            predicate: predicate.0,
            old: old.next_if(|p| p.predicate == predicate),
            new,
        });
    }
    groups.extend(old.map(alone));
    groups
}

fn write_order(
    file: &mut SectionWriter,
    order: Order,
    old: Option<&QuadTable>,
    quads: &[QuadIds],
    entries: &mut Vec<PredicateEntry>,
) -> Result<(), StoreError> {
    file.begin(order.blocks_section())?;
    let mut blocks = BlockWriter::new(file);
    let groups = groups(old, quads);
    entries.resize_with(groups.len(), PredicateEntry::default);
    let old = old.map(|table| table.sorted(order));
    for (group, entry) in groups.iter().zip(entries) {
        let keys: Vec<Keys> = group.new.iter().map(|quad| keys_of(quad, order)).collect();
        let before = blocks.directory.len();
        let mut distinct = keys.chunk_by(|a, b| a[0] == b[0]).count() as u64;
        match (old, group.old) {
            (Some(sorted), Some(known)) => {
                distinct = count_fresh(sorted, known.blocks(order), &keys)?;
                distinct += match order {
                    Order::Psog => known.counts.subjects,
                    Order::Posg => known.counts.objects,
                };
                blocks.merge(sorted, known.blocks(order), &keys)?;
            }
            _ => blocks.push_all(&keys)?,
        }
        entry.predicate = group.predicate;
        entry.counts.quads = keys.len() as u64 + group.old.map_or(0, |old| old.counts.quads);
        let count = (blocks.directory.len() - before) as u64;
        match order {
            Order::Psog => (entry.counts.subjects, entry.psog_blocks) = (distinct, count),
            Order::Posg => (entry.counts.objects, entry.posg_blocks) = (distinct, count),
        }
    }
    blocks.finish(order)
}

/// The keys of a quad.
pub(super) fn keys_of(quad: &QuadIds, order: Order) -> Keys {
    let (first, second) = match order {
        Order::Psog => (quad.subject, quad.object),
        Order::Posg => (quad.object, quad.subject),
    };
    [first.0, second.0, quad.graph.0]
}

/// The leading keys that the old blocks do not have.
fn count_fresh(old: &SortedQuads, blocks: Range<usize>, keys: &[Keys]) -> Result<u64, StoreError> {
    let mut fresh = 0;
    for run in keys.chunk_by(|a, b| a[0] == b[0]) {
        fresh += u64::from(old.count(blocks.clone(), run[0][0])? == 0);
    }
    Ok(fresh)
}

/// Writes the blocks of an order.
pub(super) struct BlockWriter<'f> {
    file: &'f mut SectionWriter,
    pub(super) directory: Vec<BlockEntry>,
    /// The block being encoded.
    bytes: Vec<u8>,
}

impl<'f> BlockWriter<'f> {
    /// No blocks; the section of the order has begun.
    pub(super) fn new(file: &'f mut SectionWriter) -> Self {
        Self {
            file,
            directory: Vec::new(),
            bytes: Vec::new(),
        }
    }

    /// Writes the directory.
    pub(super) fn finish(self, order: Order) -> Result<(), StoreError> {
        let mut out = ByteWriter::new();
        out.long(self.directory.len() as u64);
        for block in &self.directory {
            out.long(block.offset);
            out.word(block.bytes);
            out.word(block.quads);
            out.long(block.first);
            out.long(block.last);
        }
        self.file.section(order.directory_section(), &out.finish())
    }

    /// Writes ascending quads in full blocks.
    fn push_all(&mut self, keys: &[Keys]) -> Result<(), StoreError> {
        keys.chunks(BLOCK_QUADS)
            .try_for_each(|part| self.push(part))
    }

    /// Writes one block.
    pub(super) fn push(&mut self, keys: &[Keys]) -> Result<(), StoreError> {
        self.bytes.clear();
        block::encode(keys, &mut self.bytes);
        self.directory.push(BlockEntry {
            offset: self.file.section_position(),
            bytes: self.bytes.len() as u32,
            quads: keys.len() as u32,
            first: keys[0][0],
            last: keys[keys.len() - 1][0],
        });
        self.file.write(&self.bytes)
    }

    /// Writes the old blocks of a predicate with new quads among them.
    fn merge(
        &mut self,
        old: &SortedQuads,
        blocks: Range<usize>,
        mut new: &[Keys],
    ) -> Result<(), StoreError> {
        let (mut known, mut merged) = (Vec::new(), Vec::new());
        for block_idx in blocks.clone() {
            // What stands before the next block belongs to this one.
            let end = if new.is_empty() || block_idx + 1 == blocks.end {
                new.len()
            } else {
                let next = old.first_of(block_idx + 1)?;
                new.partition_point(|keys| *keys < next)
            };
            let (here, rest) = new.split_at(end);
            new = rest;
            if here.is_empty() {
                let (entry, bytes) = old.encoded(block_idx);
                self.directory.push(BlockEntry {
                    offset: self.file.section_position(),
                    ..*entry
                });
                self.file.write(bytes)?;
                continue;
            }
            known.clear();
            old.decode(block_idx, &mut known)?;
            merge_sorted(&known, here, &mut merged)?;
            let parts = merged.len().div_ceil(BLOCK_QUADS);
            let part_quads = merged.len().div_ceil(parts);
            merged
                .chunks(part_quads)
                .try_for_each(|part| self.push(part))?;
        }
        debug_assert!(new.is_empty(), "the last block takes what is left");
        Ok(())
    }
}

/// Merges two ascending lists, which may have nothing in common.
fn merge_sorted(a: &[Keys], b: &[Keys], out: &mut Vec<Keys>) -> Result<(), StoreError> {
    out.clear();
    let mut b = b.iter().peekable();
    for keys in a {
        while let Some(before) = b.next_if(|other| *other < keys) {
            out.push(*before);
        }
        if b.peek() == Some(&keys) {
            return Err(StoreError::invalid(
                "an irregular quad is added that the store has already",
            ));
        }
        out.push(*keys);
    }
    out.extend(b);
    Ok(())
}
