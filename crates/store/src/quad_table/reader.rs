//! Reading the quad table.

use super::{FILE_NAME, Order, PredicateQuads};
use crate::byte_stream::ByteReader;
use crate::error::StoreError;
use crate::folder::Folder;
use crate::inverse::LazyInverse;
use crate::matching::QuadIds;
use crate::section_file::{FileKind, SectionFile};
use basalt_columns::codec::CodecKind;
use basalt_rdf::TermId;
use std::ops::Range;

mod by_graph;
mod sizes;
mod sorted_quads;

pub use sizes::PredicateSizes;
pub(super) use sorted_quads::SortedQuads;
use sorted_quads::{VisitBlock, VisitKey};

#[derive(Debug)]
pub(super) struct Predicate {
    pub(super) predicate: TermId,
    pub(super) counts: PredicateQuads,
    psog: Range<usize>,
    posg: Range<usize>,
}

impl Predicate {
    /// The blocks of the predicate in an order.
    pub(super) fn blocks(&self, order: Order) -> Range<usize> {
        match order {
            Order::Psog => self.psog.clone(),
            Order::Posg => self.posg.clone(),
        }
    }
}

/// The irregular quads of a version.
#[derive(Debug)]
pub struct QuadTable {
    file: SectionFile,
    /// Ascending by predicate.
    predicates: Vec<Predicate>,
    psog: SortedQuads,
    posg: SortedQuads,
    /// Where the quads of each named graph stand, once that has become worth finding out.
    places_by_graph: LazyInverse,
}

impl QuadTable {
    /// Opens the quad table of a version.
    pub(crate) fn open(folder: &Folder) -> Result<Self, StoreError> {
        let file = folder.open(FILE_NAME, FileKind::Quads)?;
        let psog = SortedQuads::open(&file, Order::Psog)?;
        let posg = SortedQuads::open(&file, Order::Posg)?;
        let predicates = read_predicates(&file, psog.directory.len(), posg.directory.len())?;
        Ok(Self {
            file,
            predicates,
            psog,
            posg,
            places_by_graph: LazyInverse::default(),
        })
    }

    pub(crate) fn file(&self) -> &SectionFile {
        &self.file
    }

    /// The predicates, ascending.
    pub(super) fn entries(&self) -> &[Predicate] {
        &self.predicates
    }

    /// The blocks of an order.
    pub(super) fn sorted(&self, order: Order) -> &SortedQuads {
        match order {
            Order::Psog => &self.psog,
            Order::Posg => &self.posg,
        }
    }

    /// Number of irregular quads.
    pub fn quad_count(&self) -> u64 {
        self.predicates.iter().map(|p| p.counts.quads).sum()
    }

    /// Every predicate of irregular quads, ascending, with counts.
    pub fn predicates(&self) -> impl Iterator<Item = (TermId, PredicateQuads)> + '_ {
        self.predicates.iter().map(|p| (p.predicate, p.counts))
    }

    /// This predicate, whether it has irregular quads or not, or all of [`Self::predicates`].
    pub(crate) fn predicates_of(&self, predicate: Option<TermId>) -> Vec<TermId> {
        match predicate {
            Some(predicate) => vec![predicate],
            None => self.predicates.iter().map(|p| p.predicate).collect(),
        }
    }

    /// The predicate with this index in the order of [`Self::predicates`].
    pub(crate) fn predicate_at(&self, idx: usize) -> TermId {
        self.predicates[idx].predicate
    }

    /// Counts for one predicate, if it has irregular quads.
    pub fn predicate(&self, predicate: TermId) -> Option<PredicateQuads> {
        self.find(predicate).map(|p| p.counts)
    }

    /// The smallest and the largest object of the irregular quads of a predicate, if it has any.
    pub(crate) fn object_range(&self, predicate: TermId) -> Option<(TermId, TermId)> {
        let mut blocks = self.find(predicate)?.posg.clone();
        let first = blocks.next()?;
        let last = blocks.next_back().unwrap_or(first);
        let directory = &self.posg.directory;
        Some((TermId(directory[first].first), TermId(directory[last].last)))
    }

    fn find(&self, predicate: TermId) -> Option<&Predicate> {
        Some(&self.predicates[self.place_of(predicate)?])
    }

    /// The index of a predicate in the order of [`Self::predicates`].
    fn place_of(&self, predicate: TermId) -> Option<usize> {
        let found = self
            .predicates
            .binary_search_by_key(&predicate, |p| p.predicate);
        found.ok()
    }

    /// Appends object and graph of every irregular quad of the predicate and subject.
    pub fn by_subject(
        &self,
        predicate: TermId,
        subject: TermId,
        out: &mut Vec<(TermId, TermId)>,
    ) -> Result<(), StoreError> {
        match self.find(predicate) {
            Some(p) => self.psog.find(p.psog.clone(), subject.0, out),
            None => Ok(()),
        }
    }

    /// Appends subject and graph of every irregular quad of the predicate and object.
    pub fn by_object(
        &self,
        predicate: TermId,
        object: TermId,
        out: &mut Vec<(TermId, TermId)>,
    ) -> Result<(), StoreError> {
        match self.find(predicate) {
            Some(p) => self.posg.find(p.posg.clone(), object.0, out),
            None => Ok(()),
        }
    }

    /// Visits the irregular quads of the predicate whose subject is one of these ids, which ascend
    /// without repeats: position of the id, object, graph.
    pub fn by_subjects(
        &self,
        predicate: TermId,
        subjects: &[u64],
        visit: VisitKey<'_>,
    ) -> Result<(), StoreError> {
        match self.find(predicate) {
            Some(p) => self.psog.find_many(p.psog.clone(), subjects, visit),
            None => Ok(()),
        }
    }

    /// Visits the irregular quads of the predicate whose object is one of these ids, which ascend
    /// without repeats: position of the id, subject, graph.
    pub fn by_objects(
        &self,
        predicate: TermId,
        objects: &[u64],
        visit: VisitKey<'_>,
    ) -> Result<(), StoreError> {
        match self.find(predicate) {
            Some(p) => self.posg.find_many(p.posg.clone(), objects, visit),
            None => Ok(()),
        }
    }

    /// Whether the quad is there.
    pub(crate) fn contains(&self, quad: &QuadIds) -> Result<bool, StoreError> {
        let key = [quad.subject.0, quad.object.0, quad.graph.0];
        match self.find(quad.predicate) {
            Some(p) => self.psog.contains(p.psog.clone(), key),
            None => Ok(false),
        }
    }

    /// The number of irregular quads of the predicate and object, in any graph.
    pub fn count_object(&self, predicate: TermId, object: TermId) -> Result<u64, StoreError> {
        match self.find(predicate) {
            Some(p) => self.posg.count(p.posg.clone(), object.0),
            None => Ok(0),
        }
    }

    /// The subject of the quad with this number, from 0, among those of the predicate and object.
    pub fn nth_with(
        &self,
        predicate: TermId,
        object: TermId,
        number: u64,
    ) -> Result<Option<TermId>, StoreError> {
        let Some(p) = self.find(predicate) else {
            return Ok(None);
        };
        let (mut before, mut found) = (0, None);
        self.posg
            .for_key(p.posg.clone(), object.0, |block, range| {
                let after = before + range.len() as u64;
                if (before..after).contains(&number) {
                    let place = range.start + (number - before) as usize;
                    found = Some(TermId(block.second.get(place)));
                }
                before = after;
            })?;
        Ok(found)
    }

    /// Appends the subjects of up to so many quads of the predicate, spread evenly over all of them; ascending, and as often
    /// as quads are theirs.
    pub fn spread_subjects(
        &self,
        predicate: TermId,
        count_max: usize,
        out: &mut Vec<TermId>,
    ) -> Result<(), StoreError> {
        let Some(p) = self.find(predicate) else {
            return Ok(());
        };
        let quads = p.counts.quads as usize;
        let count = quads.min(count_max);
        let places = (0..count).map(|i| (i * quads + quads / 2) / count);
        let mut places = places.peekable();
        let mut first = 0;
        for block_idx in p.psog.clone() {
            let end = first + self.psog.directory[block_idx].quads as usize;
            if places.peek().is_some_and(|place| *place < end) {
                let block = self.psog.block(block_idx)?;
                while let Some(place) = places.next_if(|place| *place < end) {
                    out.push(TermId(block.first.get(place - first)));
                }
            }
            first = end;
        }
        Ok(())
    }

    /// Visits the quads of a predicate block by block as (subjects, objects, graphs), in the
    /// order of subject, object, graph.
    pub fn scan(&self, predicate: TermId, visit: VisitBlock<'_>) -> Result<(), StoreError> {
        match self.find(predicate) {
            Some(p) => self.psog.scan(p.psog.clone(), visit),
            None => Ok(()),
        }
    }

    /// Visits the graphs of the quads of a predicate with numbers of quads, the same graph any number
    /// of times. Reads the graphs only.
    pub fn graphs_of(
        &self,
        predicate: TermId,
        visit: &mut dyn FnMut(TermId, u64),
    ) -> Result<(), StoreError> {
        let mut graphs = Vec::new();
        for block_idx in self.find(predicate).map_or(0..0, |p| p.psog.clone()) {
            let sequence = self.psog.block(block_idx)?.graphs;
            if sequence.kind() == CodecKind::Constant && !sequence.is_empty() {
                visit(TermId(sequence.get(0)), sequence.len() as u64);
                continue;
            }
            graphs.clear();
            sequence.decode(0..sequence.len(), &mut graphs);
            for run in graphs.chunk_by(|a, b| a == b) {
                visit(TermId(run[0]), run.len() as u64);
            }
        }
        Ok(())
    }

    /// Visits the quads of a predicate block by block as (subjects, objects, graphs), in the
    /// order of object, subject, graph.
    pub fn scan_by_object(
        &self,
        predicate: TermId,
        visit: VisitBlock<'_>,
    ) -> Result<(), StoreError> {
        match self.find(predicate) {
            Some(p) => self
                .posg
                .scan(p.posg.clone(), &mut |objects, subjects, graphs| {
                    visit(subjects, objects, graphs)
                }),
            None => Ok(()),
        }
    }
}

fn read_predicates(
    file: &SectionFile,
    psog_blocks: usize,
    posg_blocks: usize,
) -> Result<Vec<Predicate>, StoreError> {
    let bytes = file.verified_section("predicates")?;
    let mut input = ByteReader::new(bytes, file.name(), "predicates");
    let mut predicates: Vec<Predicate> = Vec::new();
    let (mut psog, mut posg) = (0, 0);
    for _ in 0..input.count(48)? {
        let predicate = input.id()?;
        let counts = PredicateQuads {
            quads: input.long()?,
            subjects: input.long()?,
            objects: input.long()?,
        };
        let psog_end = next_blocks(&mut input, psog, psog_blocks)?;
        let posg_end = next_blocks(&mut input, posg, posg_blocks)?;
        if predicates.last().is_some_and(|p| p.predicate >= predicate) {
            return Err(input.corrupt("the predicates do not ascend"));
        }
        predicates.push(Predicate {
            predicate,
            counts,
            psog: psog..psog_end,
            posg: posg..posg_end,
        });
        (psog, posg) = (psog_end, posg_end);
    }
    if (psog, posg) != (psog_blocks, posg_blocks) {
        return Err(input.corrupt("a block belongs to no predicate"));
    }
    input.finish()?;
    Ok(predicates)
}

fn next_blocks(
    input: &mut ByteReader<'_>,
    start: usize,
    blocks: usize,
) -> Result<usize, StoreError> {
    let count = input.long()?;
    if count > (blocks - start) as u64 {
        return Err(input.corrupt("a predicate has more blocks than there are"));
    }
    Ok(start + count as usize)
}
