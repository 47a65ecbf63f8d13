//! The quads in the order of tables and rows.
//!
//! Grouped quads in memory are read where they are. Those in a file stand in the order of ranks, and the rows of
//! each table ascend by rank, so a table's quads are some stretches of the file, in order. Where the inputs have
//! things of one kind together these are long, and the tables are read from the file one after the other, skipping
//! what lies between. Where they lie too much among each other, the file is dealt out once, to a bucket for each
//! table and one for all other subjects. Both ways give the same.
//!
//! Memory: a window of the file or the buffers of buckets; 8 bytes for each [`MARK_RANKS`] subjects.

use crate::error::LoadError;
use crate::grouped::{Gathered, GroupedQuads, QUAD_BYTES, Quad, QuadReader, ReadBatch};
use crate::held_quads::HeldQuads;
use crate::spill::{Buckets, Extent, LoadMemory, SpillFile};

/// Subjects between two marks of where quads begin: counting to the next one takes less than a read.
const MARK_RANKS: usize = 1 << 10;
/// Bytes that are read at once where stretches are short, and the longest gap that is not worth a jump.
const WINDOW_BYTES: usize = 1 << 16;
/// Bytes that are read at once within long stretches.
const WINDOW_BYTES_MAX: usize = 1 << 20;
/// How often the file may be read before dealing it out is cheaper: that reads it twice and writes it once,
/// which takes the processor as long as two or three reads do, and the disk longer.
const READS_MAX: u64 = 3;

/// The quads in the order of tables and rows.
pub(crate) enum RowSource<'a> {
    /// As they are grouped.
    Memory(&'a HeldQuads),
    /// In the order of ranks.
    Near(Run<'a>),
    /// A bucket for each table, then one for subjects that are no rows.
    Dealt {
        /// Quads of each rank.
        counts: &'a [u32],
        /// The quads.
        buckets: Buckets,
    },
}

impl<'a> RowSource<'a> {
    /// Decides how the rows of tables are read, and deals the quads out if need be. `tables` are the ranks of each
    /// table, ascending, and at last those of subjects that are no rows; `table_of` gives the place of a rank there.
    pub(crate) fn new(
        gathered: &'a Gathered,
        tables: &[&[u32]],
        table_of: &dyn Fn(usize) -> usize,
        memory: &LoadMemory,
        resident: u64,
    ) -> Result<Self, LoadError> {
        let (file, counts) = match &gathered.quads {
            GroupedQuads::Memory(quads) => return Ok(Self::Memory(quads)),
            GroupedQuads::Spilled { file, counts, .. } => (file, counts.as_slice()),
        };
        let run = Run::new(file, counts);
        let reads_max = memory.settings.row_reads.unwrap_or(READS_MAX);
        if run.is_near(tables, run.bytes.saturating_mul(reads_max)) {
            return Ok(Self::Near(run));
        }
        let bytes = memory.left(resident) / 4;
        let mut buckets = Buckets::create(&memory.folder, tables.len(), bytes)?;
        let mut record = Vec::new();
        gathered.for_each_batch(memory, &mut |batch| {
            for rank in batch.ranks.clone() {
                record.clear();
                for quad in batch.quads_of(rank) {
                    record.extend_from_slice(&quad.record());
                }
                buckets.push(table_of(rank), &record, &[])?;
            }
            Ok(())
        })?;
        buckets.flush()?;
        Ok(Self::Dealt { counts, buckets })
    }

    /// The rows of a table from the first on.
    pub(crate) fn rows_of(&self, table: usize) -> RowStream<'_> {
        match self {
            Self::Memory(quads) => RowStream::Memory(quads),
            Self::Near(run) => RowStream::Near(Box::new(run.reader())),
            Self::Dealt { counts, buckets } => RowStream::Dealt {
                counts,
                reader: Box::new(QuadReader::new(buckets.reader(table))),
            },
        }
    }
}

/// Reads the rows of one table, from the first to the last.
pub(crate) enum RowStream<'a> {
    Memory(&'a HeldQuads),
    Near(Box<RunReader<'a>>),
    Dealt {
        counts: &'a [u32],
        reader: Box<QuadReader<'a>>,
    },
}

impl<'a> RowStream<'a> {
    /// The next rows, which have these ranks.
    pub(crate) fn next(&mut self, ranks: &[u32]) -> Result<Rows<'a>, LoadError> {
        match self {
            Self::Memory(quads) => Ok(Rows::Memory(quads)),
            Self::Near(reader) => {
                let counts = reader.run.counts;
                let counts = ranks.iter().map(|r| counts[*r as usize]);
                let mut batch = ReadBatch::default();
                batch.fill(counts, |_, quads| reader.read(ranks, quads))?;
                Ok(Rows::Read(batch))
            }
            Self::Dealt { counts, reader } => {
                let counts = ranks.iter().map(|r| counts[*r as usize]);
                let batch = ReadBatch::read(counts, reader);
                Ok(Rows::Read(batch?))
            }
        }
    }
}

/// Some rows.
pub(crate) enum Rows<'a> {
    Memory(&'a HeldQuads),
    Read(ReadBatch),
}

impl Rows<'_> {
    /// The quads of the row that is number `at` of these rows and has this rank.
    #[inline]
    pub(crate) fn quads_of(&self, at: usize, rank: u32) -> &[Quad] {
        match self {
            Self::Memory(quads) => quads.quads_of(rank as usize),
            Self::Read(batch) => batch.quads_of(at),
        }
    }
}

/// Grouped quads in a file.
pub(crate) struct Run<'a> {
    /// Has nothing else.
    file: &'a SpillFile,
    /// Quads of each rank.
    counts: &'a [u32],
    /// Where the quads of every [`MARK_RANKS`]th rank begin, in bytes.
    marks: Vec<u64>,
    /// Bytes of all quads.
    bytes: u64,
}

impl<'a> Run<'a> {
    fn new(file: &'a SpillFile, counts: &'a [u32]) -> Self {
        let mut marks = Vec::with_capacity(counts.len() / MARK_RANKS + 1);
        let mut bytes = 0;
        for counts in counts.chunks(MARK_RANKS) {
            marks.push(bytes);
            bytes += bytes_of(counts);
        }
        Self {
            file,
            counts,
            marks,
            bytes,
        }
    }

    /// Whether all tables can be read in their order without reading more than `read_max` bytes.
    fn is_near(&self, tables: &[&[u32]], read_max: u64) -> bool {
        let mut windows = 0;
        for ranks in tables {
            let mut cursor = Cursor::default();
            // The first window that was not read yet for this table.
            let mut unread = 0;
            for &rank in *ranks {
                let start = cursor.go_to(rank as usize, self);
                let end = start + u64::from(self.counts[rank as usize]) * QUAD_BYTES as u64;
                let first = (start / WINDOW_BYTES as u64).max(unread);
                let after = end.div_ceil(WINDOW_BYTES as u64).max(unread);
                windows += after - first.min(after);
                unread = after;
            }
            if windows > read_max.div_ceil(WINDOW_BYTES as u64) {
                return false;
            }
        }
        true
    }

    /// A reader of the rows of one table.
    fn reader(&self) -> RunReader<'_> {
        RunReader {
            run: self,
            cursor: Cursor::default(),
            window: Vec::new(),
            start: 0,
            read_bytes: 0,
        }
    }
}

/// Where the quads of a rank begin.
#[derive(Default)]
struct Cursor {
    rank: usize,
    start: u64,
}

impl Cursor {
    /// Goes to a rank; returns where its quads begin, in bytes.
    #[inline]
    fn go_to(&mut self, rank: usize, run: &Run<'_>) -> u64 {
        let mark = rank / MARK_RANKS;
        if rank < self.rank || self.rank / MARK_RANKS < mark {
            (self.rank, self.start) = (mark * MARK_RANKS, run.marks[mark]);
        }
        self.start += bytes_of(&run.counts[self.rank..rank]);
        self.rank = rank;
        self.start
    }
}

fn bytes_of(counts: &[u32]) -> u64 {
    let quads: u64 = counts.iter().map(|c| u64::from(*c)).sum();
    quads * QUAD_BYTES as u64
}

/// Reads the rows of one table from a file in the order of ranks.
pub(crate) struct RunReader<'a> {
    run: &'a Run<'a>,
    cursor: Cursor,
    /// Bytes of the file.
    window: Vec<u8>,
    /// Where they begin.
    start: u64,
    /// Bytes that were last wanted at once.
    read_bytes: usize,
}

impl RunReader<'_> {
    /// Appends the quads of these ranks, which go on where the last ones ended.
    fn read(&mut self, ranks: &[u32], quads: &mut Vec<Quad>) -> Result<(), LoadError> {
        for &rank in ranks {
            let mut from = self.cursor.go_to(rank as usize, self.run);
            let to = from + u64::from(self.run.counts[rank as usize]) * QUAD_BYTES as u64;
            // Termination: every turn takes at least one quad.
            while from < to {
                let end = self.start + self.window.len() as u64;
                if from < self.start || end <= from {
                    self.load(from)?;
                    continue;
                }
                let part = (from - self.start) as usize..(to.min(end) - self.start) as usize;
                from += part.len() as u64;
                quads.extend(self.window[part].chunks_exact(QUAD_BYTES).map(Quad::read));
            }
        }
        Ok(())
    }

    /// Reads a window from here on, a larger one if it goes on nearly where the last one ended.
    fn load(&mut self, from: u64) -> Result<(), LoadError> {
        let end = self.start + self.window.len() as u64;
        let gap = from.checked_sub(end);
        self.read_bytes = match gap.is_some_and(|gap| gap <= WINDOW_BYTES as u64) {
            true => (2 * self.read_bytes).clamp(WINDOW_BYTES, WINDOW_BYTES_MAX),
            false => WINDOW_BYTES,
        };
        let bytes = (self.read_bytes as u64).min(self.run.bytes - from) as usize;
        assert!(0 < bytes, "a file holds the quads that were counted");
        let extent = Extent {
            offset: from,
            bytes,
        };
        self.run.file.read(extent, &mut self.window)?;
        self.start = from;
        Ok(())
    }
}

const _: () = assert!(WINDOW_BYTES.is_multiple_of(QUAD_BYTES));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::SpillSettings;
    use basalt_rdf::TermId;

    /// Subjects of three tables and loose ones; `together` subjects of each follow each other.
    fn table_of(rank: usize, together: usize) -> usize {
        (rank / together).wrapping_mul(0x9E37_79B9) % 1_000 % 4
    }

    fn quads_of(rank: usize) -> impl Iterator<Item = Quad> {
        // One subject has more than any window.
        let count = 1 + rank * 7 % 5 + usize::from(rank == 777) * 10_000;
        (0..count).map(move |i| Quad {
            predicate: i as u32,
            graph: 0,
            object: TermId::resource((rank * 1_000_000 + i) as u64),
        })
    }

    fn gathered(subjects: usize, memory: &LoadMemory) -> Gathered {
        let file = SpillFile::create(&memory.folder).expect("created");
        let (mut counts, mut bytes) = (Vec::new(), Vec::new());
        for rank in 0..subjects {
            let before = bytes.len();
            bytes.extend(quads_of(rank).flat_map(Quad::record));
            counts.push(((bytes.len() - before) / QUAD_BYTES) as u32);
        }
        let pieces = bytes.chunks(1 << 16).map(|p| file.append(p));
        let pieces: Result<Vec<_>, _> = pieces.collect();
        Gathered {
            subjects: (0..subjects as u32).collect(),
            ranks: (0..subjects as u32).collect(),
            predicates: Vec::new(),
            graphs: Vec::new(),
            type_predicate: None,
            types: Vec::new(),
            quads: GroupedQuads::Spilled {
                file,
                pieces: pieces.expect("written"),
                quad_count: counts.iter().map(|c| u64::from(*c)).sum(),
                counts,
            },
        }
    }

    /// Reads all tables; returns whether the quads were dealt out.
    fn check(together: usize, row_reads: Option<u64>) -> bool {
        let settings = SpillSettings {
            row_reads,
            ..SpillSettings::default()
        };
        let memory = LoadMemory::new(None, 1, std::env::temp_dir(), settings);
        let memory = memory.expect("the budget is large enough");
        let subjects = 60_000;
        let gathered = gathered(subjects, &memory);
        let mut tables = vec![Vec::new(); 4];
        for rank in 0..subjects {
            tables[table_of(rank, together)].push(rank as u32);
        }
        let lists: Vec<&[u32]> = tables.iter().map(Vec::as_slice).collect();
        let of = |rank: usize| table_of(rank, together);
        let source = RowSource::new(&gathered, &lists, &of, &memory, 0).expect("read");
        for (table, ranks) in tables.iter().enumerate() {
            let mut stream = source.rows_of(table);
            for ranks in ranks.chunks(5_000) {
                let rows = stream.next(ranks).expect("read");
                for (at, &rank) in ranks.iter().enumerate() {
                    let expected = quads_of(rank as usize);
                    assert!(rows.quads_of(at, rank).iter().copied().eq(expected));
                }
            }
        }
        matches!(source, RowSource::Dealt { .. })
    }

    #[test]
    fn near_or_dealt_out_the_rows_are_the_same() {
        for together in [1, 30, 9_000] {
            assert!(!check(together, Some(u64::MAX)));
            assert!(check(together, Some(0)));
        }
    }

    #[test]
    fn what_lies_together_is_read_where_it_is() {
        assert!(!check(9_000, None));
        // Windows have subjects of all four tables.
        assert!(check(30, None));
    }

    #[test]
    fn a_cursor_goes_anywhere() {
        let counts: Vec<u32> = (0..5_000).map(|i| i % 7).collect();
        let folder = std::env::temp_dir();
        let memory = LoadMemory::new(None, 1, folder, SpillSettings::default());
        let memory = memory.expect("the budget is large enough");
        let file = SpillFile::create(&memory.folder).expect("created");
        let run = Run::new(&file, &counts);
        let mut cursor = Cursor::default();
        for rank in [0, 1, 1_023, 1_024, 5, 4_999, 4_999, 3_000, 3_500] {
            assert_eq!(cursor.go_to(rank, &run), bytes_of(&counts[..rank]));
        }
    }
}
