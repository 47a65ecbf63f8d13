//! Reading the quad table.

use super::block::{Block, BlockEntry};
use super::{BLOCK_QUADS, FILE_NAME, Order, PredicateQuads};
use crate::byte_stream::ByteReader;
use crate::error::StoreError;
use crate::folder::Folder;
use crate::matching::QuadIds;
use crate::section_file::{FileKind, SectionFile, SectionSlice};
use basalt_columns::codec::CodecKind;
use basalt_rdf::TermId;
use std::ops::{ControlFlow, Range};

mod sizes;

pub use sizes::PredicateSizes;

/// What a scan shows: slices of equal length, leading key, second key and graph.
type VisitBlock<'v> = &'v mut dyn FnMut(&[u64], &[u64], &[u64]) -> ControlFlow<()>;
/// What a search for many keys shows: position of the key, second key, graph.
type VisitKey<'v> = &'v mut dyn FnMut(usize, TermId, TermId);

/// Keys sought in one block from which on it is decoded whole: each costs two binary searches over
/// encoded values otherwise, some 200 ns.
const DECODE_KEYS: usize = 6;

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

/// One order: its blocks and their directory.
#[derive(Debug)]
pub(super) struct SortedQuads {
    blocks: SectionSlice,
    directory: Vec<BlockEntry>,
}

/// The irregular quads of a version.
#[derive(Debug)]
pub struct QuadTable {
    file: SectionFile,
    /// Ascending by predicate.
    predicates: Vec<Predicate>,
    psog: SortedQuads,
    posg: SortedQuads,
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

    /// The predicate with this index in the order of [`Self::predicates`].
    pub(crate) fn predicate_at(&self, idx: usize) -> TermId {
        self.predicates[idx].predicate
    }

    /// Counts for one predicate, if it has irregular quads.
    pub fn predicate(&self, predicate: TermId) -> Option<PredicateQuads> {
        self.find(predicate).map(|p| p.counts)
    }

    /// The largest object of the irregular quads of a predicate, if it has any.
    pub(crate) fn last_object(&self, predicate: TermId) -> Option<TermId> {
        let last_block = self.find(predicate)?.posg.clone().next_back()?;
        Some(TermId(self.posg.directory[last_block].last))
    }

    fn find(&self, predicate: TermId) -> Option<&Predicate> {
        let i = self
            .predicates
            .binary_search_by_key(&predicate, |p| p.predicate)
            .ok()?;
        Some(&self.predicates[i])
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

impl SortedQuads {
    fn open(file: &SectionFile, order: Order) -> Result<Self, StoreError> {
        let blocks = file.slice(order.blocks_section())?;
        let section = order.directory_section();
        let bytes = file.verified_section(section)?;
        let mut input = ByteReader::new(bytes, file.name(), section);
        let count = input.count(32)?;
        let mut directory = Vec::with_capacity(count);
        for _ in 0..count {
            let entry = BlockEntry {
                offset: input.long()?,
                bytes: input.word()?,
                quads: input.word()?,
                first: input.long()?,
                last: input.long()?,
            };
            let end = entry.offset.checked_add(u64::from(entry.bytes));
            if end.is_none_or(|end| end > blocks.bytes().len() as u64) {
                return Err(input.corrupt("a block lies outside its section"));
            }
            if entry.quads == 0 || entry.quads as usize > BLOCK_QUADS {
                return Err(input.corrupt("a block has an impossible number of quads"));
            }
            directory.push(entry);
        }
        input.finish()?;
        Ok(Self { blocks, directory })
    }

    /// A block as it stands in the file, with its entry.
    pub(super) fn encoded(&self, block_idx: usize) -> (&BlockEntry, &[u8]) {
        let entry = &self.directory[block_idx];
        let start = entry.offset as usize;
        (
            entry,
            &self.blocks.bytes()[start..start + entry.bytes as usize],
        )
    }

    /// The first quad of a block as (leading key, second key, graph).
    pub(super) fn first_of(&self, block_idx: usize) -> Result<[u64; 3], StoreError> {
        let block = self.block(block_idx)?;
        // No block is empty.
        Ok([block.first.get(0), block.second.get(0), block.graphs.get(0)])
    }

    /// Appends the quads of a block as (leading key, second key, graph).
    pub(super) fn decode(
        &self,
        block_idx: usize,
        out: &mut Vec<[u64; 3]>,
    ) -> Result<(), StoreError> {
        self.scan(block_idx..block_idx + 1, &mut |first, second, graphs| {
            let rest = second.iter().zip(graphs);
            out.extend(first.iter().zip(rest).map(|(&f, (&s, &g))| [f, s, g]));
            ControlFlow::Continue(())
        })
    }

    fn block(&self, block_idx: usize) -> Result<Block<'_>, StoreError> {
        let entry = &self.directory[block_idx];
        let start = entry.offset as usize;
        let bytes = &self.blocks.bytes()[start..start + entry.bytes as usize];
        let corrupt = |what: String| self.blocks.corrupt(entry.offset, what);
        let block = Block::open(bytes).map_err(|e| corrupt(format!("block {block_idx}: {e}")))?;
        let quads = entry.quads as usize;
        if [block.first, block.second, block.graphs]
            .iter()
            .any(|sequence| sequence.len() != quads)
        {
            return Err(corrupt(format!(
                "block {block_idx} is not of {quads} quads"
            )));
        }
        Ok(block)
    }

    /// The blocks of a predicate that can hold a leading key.
    fn candidates(&self, blocks: Range<usize>, first: u64) -> Range<usize> {
        let directory = &self.directory[blocks.clone()];
        let start = directory.partition_point(|b| b.last < first);
        let end = directory.partition_point(|b| b.first <= first);
        blocks.start + start..blocks.start + end
    }

    /// Calls `visit` with each block and the positions in it that have the leading key.
    fn for_key(
        &self,
        blocks: Range<usize>,
        first: u64,
        mut visit: impl FnMut(Block<'_>, Range<usize>),
    ) -> Result<(), StoreError> {
        for block_idx in self.candidates(blocks, first) {
            let block = self.block(block_idx)?;
            let start = block.first.lower_bound(first);
            let end = match first.checked_add(1) {
                Some(after) => block.first.lower_bound(after),
                None => block.first.len(),
            };
            if start < end {
                visit(block, start..end);
            }
        }
        Ok(())
    }

    /// Whether one of these blocks has the quad (leading key, second key, graph): two binary searches, over
    /// blocks and in one.
    fn contains(&self, blocks: Range<usize>, key: [u64; 3]) -> Result<bool, StoreError> {
        let candidates = self.candidates(blocks, key[0]);
        let (mut low, mut high) = (candidates.start, candidates.end);
        // Invariant: blocks before `low` begin at or before the key, those from `high` on after it.
        while low < high {
            let middle = low + (high - low) / 2;
            if self.first_of(middle)? <= key {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        if low == candidates.start {
            return Ok(false);
        }
        let block = self.block(low - 1)?;
        let quad = |i| [block.first.get(i), block.second.get(i), block.graphs.get(i)];
        let (mut start, mut end) = (0, block.first.len());
        // Invariant: quads before `start` are smaller than the key, those from `end` on are not.
        while start < end {
            let middle = start + (end - start) / 2;
            if quad(middle) < key {
                start = middle + 1;
            } else {
                end = middle;
            }
        }
        Ok(start < block.first.len() && quad(start) == key)
    }

    fn find(
        &self,
        blocks: Range<usize>,
        first: u64,
        out: &mut Vec<(TermId, TermId)>,
    ) -> Result<(), StoreError> {
        self.for_key(blocks, first, |block, range| {
            out.extend(range.map(|i| (TermId(block.second.get(i)), TermId(block.graphs.get(i)))));
        })
    }

    /// Seeks ascending keys in one pass over the blocks that can hold them.
    ///
    /// Termination: each turn leaves at least one block behind.
    fn find_many(
        &self,
        blocks: Range<usize>,
        keys: &[u64],
        visit: VisitKey<'_>,
    ) -> Result<(), StoreError> {
        let (mut block_idx, mut next) = (blocks.start, 0);
        while next < keys.len() {
            let rest = &self.directory[block_idx..blocks.end];
            block_idx += rest.partition_point(|b| b.last < keys[next]);
            if block_idx == blocks.end {
                break;
            }
            let entry = &self.directory[block_idx];
            next += keys[next..].partition_point(|&key| key < entry.first);
            let end = next + keys[next..].partition_point(|&key| key <= entry.last);
            if next < end {
                self.find_in_block(block_idx, next..end, keys, visit)?;
                // The last key may go on in the next block.
                next = if keys[end - 1] == entry.last {
                    end - 1
                } else {
                    end
                };
            }
            block_idx += 1;
        }
        Ok(())
    }

    /// Seeks the keys at some positions in one block.
    fn find_in_block(
        &self,
        block_idx: usize,
        positions: Range<usize>,
        keys: &[u64],
        visit: VisitKey<'_>,
    ) -> Result<(), StoreError> {
        let block = self.block(block_idx)?;
        if positions.len() < DECODE_KEYS {
            for position in positions {
                let start = block.first.lower_bound(keys[position]);
                for i in start..block.first.len() {
                    if block.first.get(i) != keys[position] {
                        break;
                    }
                    let (second, graph) = (block.second.get(i), block.graphs.get(i));
                    visit(position, TermId(second), TermId(graph));
                }
            }
            return Ok(());
        }
        let [mut first, mut second, mut graphs] = [const { Vec::new() }; 3];
        block.first.decode(0..block.first.len(), &mut first);
        block.second.decode(0..block.second.len(), &mut second);
        block.graphs.decode(0..block.graphs.len(), &mut graphs);
        let mut position = positions.start;
        for ((&found, second), graph) in first.iter().zip(second).zip(graphs) {
            while position < positions.end && keys[position] < found {
                position += 1;
            }
            if position == positions.end {
                break;
            }
            if keys[position] == found {
                visit(position, TermId(second), TermId(graph));
            }
        }
        Ok(())
    }

    /// The number of quads with this leading key.
    pub(super) fn count(&self, blocks: Range<usize>, first: u64) -> Result<u64, StoreError> {
        let mut count = 0;
        self.for_key(blocks, first, |_, range| count += range.len() as u64)?;
        Ok(count)
    }

    fn scan(&self, blocks: Range<usize>, visit: VisitBlock<'_>) -> Result<(), StoreError> {
        let (mut first, mut second, mut graphs) = (Vec::new(), Vec::new(), Vec::new());
        for block_idx in blocks {
            let block = self.block(block_idx)?;
            for (sequence, values) in [
                (block.first, &mut first),
                (block.second, &mut second),
                (block.graphs, &mut graphs),
            ] {
                values.clear();
                sequence.decode(0..sequence.len(), values);
            }
            if visit(&first, &second, &graphs).is_break() {
                break;
            }
        }
        Ok(())
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
