//! Quads by subject, in memory or in files, behind one way to read them.
//!
//! All subjects are read by rank ([`Gathered::for_each_batch`]), in memory from one array, in files from one long run;
//! the rows of each table are read through [`RowSource`](crate::rows::RowSource). The number of quads of each
//! subject stays in memory, so a file holds nothing but quads of 16 bytes.

use std::ops::Range;

use basalt_rdf::TermId;
use crossbeam_channel::bounded;

use crate::error::LoadError;
use crate::held_quads::{HeldQuads, QuadChunk};
use crate::spill::{BucketReader, Extent, LoadMemory, SpillFile};

/// Bytes of a quad in a file.
pub(crate) const QUAD_BYTES: usize = 16;
/// Most quads that are read from a file at a time.
const BATCH_QUADS_MAX: usize = 1 << 21;

/// A quad of a known subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quad {
    /// Index of the predicate.
    pub predicate: u32,
    /// Index of the graph; 0 is the default graph.
    pub graph: u32,
    /// Provisional id of the object.
    pub object: TermId,
}

impl Quad {
    /// The quad as it stands in files.
    #[inline]
    pub(crate) fn record(self) -> [u8; QUAD_BYTES] {
        let mut record = [0; QUAD_BYTES];
        record[..4].copy_from_slice(&self.predicate.to_le_bytes());
        record[4..8].copy_from_slice(&self.graph.to_le_bytes());
        record[8..].copy_from_slice(&self.object.0.to_le_bytes());
        record
    }

    /// The quad in a record of a file.
    #[inline]
    pub(crate) fn read(record: &[u8]) -> Self {
        let word =
            |i: usize| u32::from_le_bytes([record[i], record[i + 1], record[i + 2], record[i + 3]]);
        Self {
            predicate: word(0),
            graph: word(4),
            object: TermId(u64::from(word(12)) << 32 | u64::from(word(8))),
        }
    }
}

/// All quads by subject.
pub(crate) struct Gathered {
    /// Subjects by rank, as provisional ordinals.
    pub subjects: Vec<u32>,
    /// Rank by provisional ordinal, or [`NO_RANK`](crate::gather::NO_RANK).
    pub ranks: Vec<u32>,
    /// Predicates by index, as provisional ordinals.
    pub predicates: Vec<u32>,
    /// Graphs by index, as in [`RawQuad::graph`](crate::encoder::RawQuad::graph).
    pub graphs: Vec<u32>,
    /// Index of `rdf:type` among the predicates.
    pub type_predicate: Option<u32>,
    /// Resources that are types, as provisional ids, and how often.
    pub types: Vec<(TermId, u64)>,
    /// The quads.
    pub quads: GroupedQuads,
}

/// The quads in the order of their subjects' ranks.
pub(crate) enum GroupedQuads {
    /// In memory.
    Memory(HeldQuads),
    /// One run in a file.
    Spilled {
        /// The file, which has nothing else.
        file: SpillFile,
        /// The run, from the start of the file to its end.
        pieces: Vec<Extent>,
        /// Quads of each rank.
        counts: Vec<u32>,
        /// Sum of the counts.
        quad_count: u64,
    },
}

/// Quads of some subjects of consecutive ranks.
pub(crate) struct Batch<'a> {
    /// The ranks.
    pub ranks: Range<usize>,
    quads: BatchQuads<'a>,
}

enum BatchQuads<'a> {
    /// Those of all subjects.
    Held(&'a HeldQuads),
    /// Those of the batch.
    Read(&'a ReadBatch),
}

impl Batch<'_> {
    /// The quads of a rank.
    #[inline]
    pub(crate) fn quads_of(&self, rank: usize) -> &[Quad] {
        match self.quads {
            BatchQuads::Held(quads) => quads.quads_of(rank),
            BatchQuads::Read(batch) => batch.quads_of(rank - self.ranks.start),
        }
    }
}

/// Quads of some subjects that were read from a file.
#[derive(Default)]
pub(crate) struct ReadBatch {
    /// Where the quads of each begin, and the end.
    starts: Vec<u64>,
    quads: Vec<Quad>,
}

impl ReadBatch {
    /// Reads the quads of subjects with these counts.
    pub(crate) fn read(
        counts: impl Iterator<Item = u32>,
        reader: &mut QuadReader<'_>,
    ) -> Result<Self, LoadError> {
        let mut batch = Self::default();
        batch.fill(counts, |count, quads| reader.read(count, quads))?;
        Ok(batch)
    }

    /// Replaces the quads by those of subjects with these counts, which `read` appends.
    pub(crate) fn fill(
        &mut self,
        counts: impl Iterator<Item = u32>,
        read: impl FnOnce(usize, &mut Vec<Quad>) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        self.starts.clear();
        self.starts.push(0);
        let mut sum = 0;
        for count in counts {
            sum += u64::from(count);
            self.starts.push(sum);
        }
        self.quads.clear();
        self.quads.reserve(sum as usize);
        read(sum as usize, &mut self.quads)?;
        debug_assert_eq!(self.quads.len() as u64, sum);
        Ok(())
    }

    /// The quads of the subject at this place of the batch.
    #[inline]
    pub(crate) fn quads_of(&self, at: usize) -> &[Quad] {
        &self.quads[self.starts[at] as usize..self.starts[at + 1] as usize]
    }
}

/// Reads quads from a stream of bytes.
pub(crate) struct QuadReader<'b> {
    reader: BucketReader<'b>,
    bytes: Vec<u8>,
}

impl<'b> QuadReader<'b> {
    /// Reads from the start of the stream.
    pub(crate) fn new(reader: BucketReader<'b>) -> Self {
        Self {
            reader,
            bytes: Vec::new(),
        }
    }

    /// Appends so many quads; the stream holds as many as were counted.
    fn read(&mut self, mut count: usize, quads: &mut Vec<Quad>) -> Result<(), LoadError> {
        quads.reserve(count);
        while count > 0 {
            if self.bytes.len() < QUAD_BYTES {
                let more = self.reader.fill(QUAD_BYTES, &mut self.bytes)?;
                assert!(more, "a stream holds the quads that were counted");
            }
            let taken = count.min(self.bytes.len() / QUAD_BYTES);
            let (records, _) = self.bytes.split_at(taken * QUAD_BYTES);
            quads.extend(records.chunks_exact(QUAD_BYTES).map(Quad::read));
            self.bytes.drain(..taken * QUAD_BYTES);
            count -= taken;
        }
        Ok(())
    }
}

impl Gathered {
    /// Number of quads.
    pub(crate) fn quad_count(&self) -> u64 {
        match &self.quads {
            GroupedQuads::Memory(quads) => quads.quad_count(),
            GroupedQuads::Spilled { quad_count, .. } => *quad_count,
        }
    }

    /// Bytes of the quads that are in memory.
    pub(crate) fn held_bytes(&self) -> usize {
        match &self.quads {
            GroupedQuads::Memory(quads) => quads.quad_count() as usize * QUAD_BYTES,
            GroupedQuads::Spilled { .. } => 0,
        }
    }

    /// Takes the quads into memory: where those of each rank begin with the end, and the quads.
    pub(crate) fn take_quads(
        &mut self,
        memory: &LoadMemory,
    ) -> Result<(Vec<u64>, Vec<Quad>), LoadError> {
        if let GroupedQuads::Memory(quads) = &mut self.quads {
            let QuadChunk { starts, quads } = std::mem::take(quads).into_one();
            return Ok((starts, quads));
        }
        let (mut starts, mut all) = (vec![0], Vec::new());
        self.for_each_batch(memory, &mut |batch| {
            for rank in batch.ranks.clone() {
                all.extend_from_slice(batch.quads_of(rank));
                starts.push(all.len() as u64);
            }
            Ok(())
        })?;
        Ok((starts, all))
    }

    /// Visits all subjects in the order of ranks, many at a time.
    pub(crate) fn for_each_batch(
        &self,
        memory: &LoadMemory,
        visit: &mut dyn FnMut(&Batch<'_>) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        memory.go_on()?;
        match &self.quads {
            GroupedQuads::Memory(quads) => visit(&Batch {
                ranks: 0..self.subjects.len(),
                quads: BatchQuads::Held(quads),
            }),
            GroupedQuads::Spilled {
                file,
                pieces,
                counts,
                ..
            } => {
                let batches = cut_batches(counts, batch_quads(memory));
                let reader = QuadReader::new(BucketReader::of_pieces(file, pieces));
                read_batches(counts, &batches, reader, visit)
            }
        }
    }
}

fn batch_quads(memory: &LoadMemory) -> usize {
    let fitting = memory.left(0) / 16 / QUAD_BYTES;
    let usual = fitting.clamp(1 << 16, BATCH_QUADS_MAX);
    memory.settings.batch_quads.unwrap_or(usual)
}

/// Cuts ranks into runs of about so many quads, at least one subject each.
pub(crate) fn cut_batches(counts: &[u32], quads_max: usize) -> Vec<Range<usize>> {
    let mut batches = Vec::new();
    let (mut first, mut quads) = (0, 0);
    for (rank, &count) in counts.iter().enumerate() {
        if quads + count as usize > quads_max && rank > first {
            batches.push(first..rank);
            (first, quads) = (rank, 0);
        }
        quads += count as usize;
    }
    if first < counts.len() {
        batches.push(first..counts.len());
    }
    batches
}

/// Reads batches on another thread, one ahead.
fn read_batches(
    counts: &[u32],
    batches: &[Range<usize>],
    mut reader: QuadReader<'_>,
    visit: &mut dyn FnMut(&Batch<'_>) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    let (full, read) = bounded::<Result<(Range<usize>, ReadBatch), LoadError>>(1);
    let (emptied, empty) = bounded::<ReadBatch>(1);
    std::thread::scope(|scope| {
        scope.spawn(move || {
            for ranks in batches {
                let mut batch = empty.try_recv().unwrap_or_default();
                let counts = counts[ranks.clone()].iter().copied();
                let filled = batch.fill(counts, |count, quads| reader.read(count, quads));
                // Nobody listens after a failure.
                if full.send(filled.map(|()| (ranks.clone(), batch))).is_err() {
                    break;
                }
            }
        });
        for batch in read {
            let (ranks, batch) = batch?;
            visit(&Batch {
                ranks,
                quads: BatchQuads::Read(&batch),
            })?;
            // When nobody waits for empty memory it is simply freed.
            let _ = emptied.try_send(batch);
        }
        Ok(())
    })
}
