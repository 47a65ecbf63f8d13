//! Rewriting a store: the quads of the old version as one more input.
//!
//! The slow path of adding, which costs what loading everything at once costs; see [`append`](crate::append)
//! for the other. Every term is decoded once and interned like the terms of a file; blank nodes have a scope of
//! their own, so they stay distinct from those of the new files. The codes of datatypes and
//! languages are taken over, so inline ids stay as they are.

use std::ops::ControlFlow;

use basalt_rdf::{TermBuf, TermId, TermView};
use basalt_store::{QuadIds, QuadPattern, Snapshot};

use crate::blank_nodes::BlankNodes;
use crate::encoder::{Encoder, RawQuad, Terms, literal_id, literal_kind};
use crate::error::LoadError;
use crate::progress::WorkCounter;
use crate::quad_blocks::QuadBlocks;
use crate::rewrite::QuadEdits;

/// The scope of blank nodes of the old version; inputs count from 1.
pub(crate) const OLD_SCOPE: u32 = 0;
/// Quads per block.
const BLOCK_QUADS: usize = 1 << 16;
/// A term that was not met yet.
const UNKNOWN: u32 = u32::MAX;

/// Reads the quads of a version, as edited, into `quads`, and notes its blank nodes if that is asked for. The registry of
/// `terms` must start with the version's codes. Returns how many quads of the version there are, and how many came in
/// addition.
pub(crate) fn read_old_version(
    snapshot: &Snapshot,
    edits: &mut dyn QuadEdits,
    terms: &Terms,
    quads: &QuadBlocks,
    work: &WorkCounter<'_>,
    blank_nodes: Option<&mut BlankNodes>,
) -> Result<(u64, u64), LoadError> {
    let dictionary = snapshot.dictionary();
    let mut reader = OldVersion {
        snapshot,
        encoder: Encoder::new(terms, OLD_SCOPE, None)?,
        resources: vec![UNKNOWN; dictionary.resource_count() as usize],
        literals: vec![UNKNOWN; dictionary.literal_count() as usize],
        buf: TermBuf::new(),
        blank_nodes,
    };
    let mut block: Vec<RawQuad> = Vec::new();
    let mut number = 0;
    let mut take = |quad| {
        block.push(reader.translate(quad)?);
        if block.len() == BLOCK_QUADS {
            quads.put(OLD_SCOPE, number, &block)?;
            block.clear();
            number += 1;
            work.add(BLOCK_QUADS as u64)?;
        }
        Ok(())
    };
    let mut failure = None;
    let mut kept = 0;
    let mut keep = |quad| match edits.leaves_out(&quad)? {
        true => Ok(()),
        false => {
            kept += 1;
            take(quad)
        }
    };
    snapshot.matching(&QuadPattern::default(), &mut |quad| match keep(quad) {
        Ok(()) => ControlFlow::Continue(()),
        Err(error) => {
            failure = Some(error);
            ControlFlow::Break(())
        }
    })?;
    if let Some(error) = failure {
        return Err(error);
    }
    let mut added = 0;
    edits.visit_added(&mut |quad| {
        added += 1;
        take(quad)
    })?;
    quads.put(OLD_SCOPE, number, &block)?;
    Ok((kept, added))
}

struct OldVersion<'a> {
    snapshot: &'a Snapshot,
    encoder: Encoder<'a>,
    /// Provisional ordinal by old ordinal.
    resources: Vec<u32>,
    /// Provisional ordinal by old ordinal.
    literals: Vec<u32>,
    buf: TermBuf,
    /// Where to note blank nodes.
    blank_nodes: Option<&'a mut BlankNodes>,
}

impl OldVersion<'_> {
    fn translate(&mut self, quad: QuadIds) -> Result<RawQuad, LoadError> {
        let graph = match quad.graph {
            TermId::DEFAULT_GRAPH => 0,
            graph => self.resource(graph)? + 1,
        };
        Ok(RawQuad {
            subject: self.resource(quad.subject)?,
            predicate: self.resource(quad.predicate)?,
            graph,
            object: self.object(quad.object)?,
        })
    }

    fn resource(&mut self, old: TermId) -> Result<u32, LoadError> {
        let at = old.payload() as usize;
        if let Some(&known) = self.resources.get(at)
            && known != UNKNOWN
        {
            return Ok(known);
        }
        let provisional = self.intern(old)?.payload() as u32;
        if let (Some(blank_nodes), TermView::Blank(_)) = (&mut self.blank_nodes, self.buf.view()) {
            blank_nodes.note(old, provisional)?;
        }
        if let Some(slot) = self.resources.get_mut(at) {
            *slot = provisional;
        }
        Ok(provisional)
    }

    fn object(&mut self, old: TermId) -> Result<TermId, LoadError> {
        if old.is_resource() {
            return Ok(TermId::resource(u64::from(self.resource(old)?)));
        }
        if !old.is_dictionary_literal() {
            return Ok(old);
        }
        let at = old.literal_ordinal() as usize;
        if let Some(&known) = self.literals.get(at)
            && known != UNKNOWN
        {
            return Ok(literal_id(
                literal_kind(old.tag(), old.qualifier()),
                u64::from(known),
            ));
        }
        let provisional = self.intern(old)?;
        if let Some(slot) = self.literals.get_mut(at) {
            *slot = provisional.literal_ordinal() as u32;
        }
        Ok(provisional)
    }

    fn intern(&mut self, old: TermId) -> Result<TermId, LoadError> {
        self.snapshot.dictionary().decode(old, &mut self.buf)?;
        self.encoder.term(self.buf.view())
    }
}
