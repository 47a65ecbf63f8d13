//! Writing the quad table from sorted streams, for quads that do not fit in memory.
//!
//! Both orders come one after the other, POSG first. Memory: a block, and the directory.

use super::writer::{BlockWriter, Keys, PredicateEntry, finish, keys_of};
use super::{BLOCK_QUADS, FILE_NAME, Order, PredicateQuads};
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
    let same =
        |(a, b): (&PredicateRun, &PredicateRun)| (a.predicate, a.quads) == (b.predicate, b.quads);
    if posg.len() != psog.len() || !posg.iter().zip(&psog).all(same) {
        return Err(StoreError::invalid("both orders must hold the same quads").into());
    }
    let entry = |(posg, psog): (&PredicateRun, &PredicateRun)| PredicateEntry {
        predicate: posg.predicate.0,
        counts: PredicateQuads {
            quads: posg.quads,
            subjects: psog.distinct,
            objects: posg.distinct,
        },
        psog_blocks: psog.blocks,
        posg_blocks: posg.blocks,
    };
    let entries: Vec<PredicateEntry> = posg.iter().zip(&psog).map(entry).collect();
    Ok(finish(file, &entries)?)
}

fn write_order<E: From<StoreError>>(
    file: &mut SectionWriter,
    order: Order,
    quads: impl Iterator<Item = Result<QuadIds, E>>,
    visit: &mut dyn FnMut(&QuadIds),
) -> Result<Vec<PredicateRun>, E> {
    file.begin(order.blocks_section())?;
    let mut writer = RunWriter {
        order,
        runs: Vec::new(),
        last: 0,
        keys: Vec::with_capacity(BLOCK_QUADS),
        blocks: BlockWriter::new(file),
    };
    let mut last = None;
    for quad in quads {
        let quad = quad?;
        if last != Some(quad) {
            last = Some(quad);
            visit(&quad);
            writer.push(&quad)?;
        }
    }
    writer.end_block()?;
    writer.blocks.finish(order)?;
    Ok(writer.runs)
}

/// Writes one order, quad by quad.
struct RunWriter<'f> {
    order: Order,
    /// Predicates so far.
    runs: Vec<PredicateRun>,
    /// The leading key of the last quad.
    last: u64,
    /// The quads of the block to be.
    keys: Vec<Keys>,
    blocks: BlockWriter<'f>,
}

impl RunWriter<'_> {
    /// Adds the next quad in this order.
    fn push(&mut self, quad: &QuadIds) -> Result<(), StoreError> {
        let same = self.runs.last().map(|run| run.predicate) == Some(quad.predicate);
        if !same || self.keys.len() == BLOCK_QUADS {
            self.end_block()?;
        }
        if !same {
            self.last = TermId::UNBOUND.0;
            self.runs.push(PredicateRun {
                predicate: quad.predicate,
                quads: 0,
                distinct: 0,
                blocks: 0,
            });
        }
        let keys = keys_of(quad, self.order);
        if let Some(run) = self.runs.last_mut() {
            run.quads += 1;
            run.distinct += u64::from(keys[0] != self.last);
        }
        self.last = keys[0];
        self.keys.push(keys);
        Ok(())
    }

    fn end_block(&mut self) -> Result<(), StoreError> {
        if self.keys.is_empty() {
            return Ok(());
        }
        self.blocks.push(&self.keys)?;
        if let Some(run) = self.runs.last_mut() {
            run.blocks += 1;
        }
        self.keys.clear();
        Ok(())
    }
}
