//! Writing the quad table: cut sorted quads into blocks, count.
//!
//! Both orders come as streams, POSG first; quads in memory are sorted here.

use super::block::{self, BlockEntry};
use super::{BLOCK_QUADS, FILE_NAME, Order};
use crate::byte_stream::ByteWriter;
use crate::error::StoreError;
use crate::folder::Folder;
use crate::matching::QuadIds;
use crate::section_file::{FileKind, SectionWriter};
use basalt_rdf::TermId;

/// What one order says of one predicate.
#[derive(Clone, Copy)]
struct PredicateRun {
    predicate: TermId,
    quads: u64,
    /// Distinct leading keys.
    distinct: u64,
    blocks: u64,
}

/// Sorts the quads, drops repeats and writes both orders. On return the quads are in PSOG order.
pub(crate) fn write(folder: &Folder, quads: &mut Vec<QuadIds>) -> Result<(), StoreError> {
    let mut file = folder.create(FILE_NAME, FileKind::Quads)?;
    quads.sort_unstable_by_key(|q| (q.predicate, q.object, q.subject, q.graph));
    quads.dedup();
    let mut posg = OrderWriter::begin(&mut file, Order::Posg)?;
    quads.iter().try_for_each(|q| posg.push(q))?;
    let posg = posg.finish()?;
    quads.sort_unstable_by_key(|q| (q.predicate, q.subject, q.object, q.graph));
    let mut psog = OrderWriter::begin(&mut file, Order::Psog)?;
    quads.iter().try_for_each(|q| psog.push(q))?;
    let psog = psog.finish()?;
    finish(file, &posg, &psog)
}

/// Writes both orders from sorted streams of the same quads, dropping repeats; `visit` sees the quads of the second.
pub(crate) fn write_sorted<E: From<StoreError>>(
    folder: &Folder,
    posg: impl Iterator<Item = Result<QuadIds, E>>,
    psog: impl Iterator<Item = Result<QuadIds, E>>,
    visit: &mut dyn FnMut(&QuadIds),
) -> Result<(), E> {
    let mut file = folder.create(FILE_NAME, FileKind::Quads)?;
    let posg = write_order(&mut file, Order::Posg, posg, &mut |_| ())?;
    let psog = write_order(&mut file, Order::Psog, psog, visit)?;
    Ok(finish(file, &posg, &psog)?)
}

fn write_order<E: From<StoreError>>(
    file: &mut SectionWriter,
    order: Order,
    quads: impl Iterator<Item = Result<QuadIds, E>>,
    visit: &mut dyn FnMut(&QuadIds),
) -> Result<Vec<PredicateRun>, E> {
    let mut writer = OrderWriter::begin(file, order)?;
    let mut last = None;
    for quad in quads {
        let quad = quad?;
        if last != Some(quad) {
            last = Some(quad);
            visit(&quad);
            writer.push(&quad)?;
        }
    }
    Ok(writer.finish()?)
}

fn finish(
    mut file: SectionWriter,
    posg: &[PredicateRun],
    psog: &[PredicateRun],
) -> Result<(), StoreError> {
    let same =
        |(a, b): (&PredicateRun, &PredicateRun)| (a.predicate, a.quads) == (b.predicate, b.quads);
    if posg.len() != psog.len() || !posg.iter().zip(psog).all(same) {
        return Err(StoreError::invalid("both orders must hold the same quads"));
    }
    let mut out = ByteWriter::new();
    out.long(posg.len() as u64);
    for (posg, psog) in posg.iter().zip(psog) {
        out.long(posg.predicate.0);
        out.long(posg.quads);
        out.long(psog.distinct);
        out.long(posg.distinct);
        out.long(psog.blocks);
        out.long(posg.blocks);
    }
    file.section("predicates", &out.finish())?;
    file.finish()
}

/// Writes one order, quad by quad. Memory: a block, and 32 bytes for each block written.
struct OrderWriter<'f> {
    file: &'f mut SectionWriter,
    order: Order,
    /// Predicates so far.
    runs: Vec<PredicateRun>,
    directory: Vec<BlockEntry>,
    /// The leading key of the last quad.
    last: TermId,
    /// The quads of the block to be.
    keys: Vec<[u64; 3]>,
    bytes: Vec<u8>,
}

impl<'f> OrderWriter<'f> {
    fn begin(file: &'f mut SectionWriter, order: Order) -> Result<Self, StoreError> {
        file.begin(order.blocks_section())?;
        Ok(Self {
            file,
            order,
            runs: Vec::new(),
            directory: Vec::new(),
            last: TermId::UNBOUND,
            keys: Vec::with_capacity(BLOCK_QUADS),
            bytes: Vec::new(),
        })
    }

    /// Adds the next quad in this order.
    fn push(&mut self, quad: &QuadIds) -> Result<(), StoreError> {
        let same = self.runs.last().map(|run| run.predicate) == Some(quad.predicate);
        if !same || self.keys.len() == BLOCK_QUADS {
            self.end_block()?;
        }
        if !same {
            self.last = TermId::UNBOUND;
            self.runs.push(PredicateRun {
                predicate: quad.predicate,
                quads: 0,
                distinct: 0,
                blocks: 0,
            });
        }
        let (first, second) = match self.order {
            Order::Psog => (quad.subject, quad.object),
            Order::Posg => (quad.object, quad.subject),
        };
        if let Some(run) = self.runs.last_mut() {
            run.quads += 1;
            run.distinct += u64::from(first != self.last);
        }
        self.last = first;
        self.keys.push([first.0, second.0, quad.graph.0]);
        Ok(())
    }

    fn end_block(&mut self) -> Result<(), StoreError> {
        let (Some(first), Some(last)) = (self.keys.first(), self.keys.last()) else {
            return Ok(());
        };
        self.bytes.clear();
        block::encode(&self.keys, &mut self.bytes);
        self.directory.push(BlockEntry {
            offset: self.file.section_position(),
            bytes: self.bytes.len() as u32,
            quads: self.keys.len() as u32,
            first: first[0],
            last: last[0],
        });
        if let Some(run) = self.runs.last_mut() {
            run.blocks += 1;
        }
        self.keys.clear();
        self.file.write(&self.bytes)
    }

    /// Writes what is left and the directory.
    fn finish(mut self) -> Result<Vec<PredicateRun>, StoreError> {
        self.end_block()?;
        let mut out = ByteWriter::new();
        out.long(self.directory.len() as u64);
        for block in &self.directory {
            out.long(block.offset);
            out.word(block.bytes);
            out.word(block.quads);
            out.long(block.first);
            out.long(block.last);
        }
        self.file
            .section(self.order.directory_section(), &out.finish())?;
        Ok(self.runs)
    }
}
