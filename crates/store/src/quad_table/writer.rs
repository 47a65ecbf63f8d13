//! Writing the quad table: sort, cut into blocks, count.

use super::block::{self, BlockEntry};
use super::{BLOCK_QUADS, FILE_NAME, Order, PredicateQuads};
use crate::byte_stream::ByteWriter;
use crate::error::StoreError;
use crate::folder::Folder;
use crate::matching::QuadIds;
use crate::section_file::{FileKind, SectionWriter};
use basalt_rdf::TermId;

/// The blocks of one predicate in both orders, and its counts.
#[derive(Default)]
struct PredicateEntry {
    predicate: u64,
    counts: PredicateQuads,
    psog_blocks: u64,
    posg_blocks: u64,
}

/// Sorts the quads, drops repeats and writes both orders. On return the quads are in PSOG order.
pub(crate) fn write(folder: &Folder, quads: &mut Vec<QuadIds>) -> Result<(), StoreError> {
    let mut file = folder.create(FILE_NAME, FileKind::Quads)?;
    quads.sort_unstable_by_key(|q| (q.predicate, q.object, q.subject, q.graph));
    quads.dedup();
    let mut entries: Vec<PredicateEntry> = quads
        .chunk_by(|a, b| a.predicate == b.predicate)
        .map(|group| PredicateEntry {
            predicate: group[0].predicate.0,
            ..PredicateEntry::default()
        })
        .collect();
    write_order(&mut file, Order::Posg, quads, &mut entries)?;
    quads.sort_unstable_by_key(|q| (q.predicate, q.subject, q.object, q.graph));
    write_order(&mut file, Order::Psog, quads, &mut entries)?;
    let mut out = ByteWriter::new();
    out.long(entries.len() as u64);
    for entry in &entries {
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

fn write_order(
    file: &mut SectionWriter,
    order: Order,
    quads: &[QuadIds],
    entries: &mut [PredicateEntry],
) -> Result<(), StoreError> {
    file.begin(order.blocks_section())?;
    let mut directory = Vec::new();
    let mut bytes = Vec::new();
    let mut keys = Vec::with_capacity(BLOCK_QUADS);
    let groups = quads.chunk_by(|a, b| a.predicate == b.predicate);
    for (group, entry) in groups.zip(entries) {
        let mut distinct = 0;
        let mut last = TermId::UNBOUND;
        for part in group.chunks(BLOCK_QUADS) {
            keys.clear();
            for quad in part {
                let (first, second) = match order {
                    Order::Psog => (quad.subject, quad.object),
                    Order::Posg => (quad.object, quad.subject),
                };
                distinct += u64::from(first != last);
                last = first;
                keys.push([first.0, second.0, quad.graph.0]);
            }
            bytes.clear();
            block::encode(&keys, &mut bytes);
            directory.push(BlockEntry {
                offset: file.section_position(),
                bytes: bytes.len() as u32,
                quads: keys.len() as u32,
                first: keys[0][0],
                last: keys[keys.len() - 1][0],
            });
            file.write(&bytes)?;
        }
        let blocks = group.len().div_ceil(BLOCK_QUADS) as u64;
        entry.counts.quads = group.len() as u64;
        match order {
            Order::Psog => (entry.counts.subjects, entry.psog_blocks) = (distinct, blocks),
            Order::Posg => (entry.counts.objects, entry.posg_blocks) = (distinct, blocks),
        }
    }
    let mut out = ByteWriter::new();
    out.long(directory.len() as u64);
    for block in &directory {
        out.long(block.offset);
        out.word(block.bytes);
        out.word(block.quads);
        out.long(block.first);
        out.long(block.last);
    }
    file.section(order.directory_section(), &out.finish())
}
