//! A long sequence of integers in chunks, each encoded by itself.
//!
//! Inverses have an entry for each cell of a column, more than one encoded sequence should hold.
//! The directory of chunks (offset and first value) stays in memory. Reading an entry opens one
//! chunk in constant time; a [`Cursor`] keeps the last chunk open.

use crate::byte_stream::{ByteReader, ByteWriter};
use crate::error::StoreError;
use crate::last_open::LastOpen;
use crate::section_file::SectionSlice;
use basalt_columns::codec::{self, Sequence};
use std::ops::Range;

/// Entries of a chunk: large enough that the directory is small beside it, small enough that the
/// bit width follows local values.
const CHUNK_ENTRIES: usize = 1 << 16;

/// An open sequence.
#[derive(Debug)]
pub(crate) struct ChunkedSequence {
    bytes: SectionSlice,
    length: usize,
    /// Where each chunk starts, and the end of the last.
    offsets: Vec<usize>,
    /// The first value of each chunk.
    firsts: Vec<u64>,
}

/// Appends the values as a length-prefixed blob.
pub(crate) fn write(values: &[u64], out: &mut ByteWriter) {
    let mut directory = ByteWriter::new();
    let mut data = Vec::new();
    directory.long(values.len() as u64);
    for chunk in values.chunks(CHUNK_ENTRIES) {
        codec::encode(chunk, &mut data);
        directory.long(data.len() as u64);
        directory.long(chunk[0]);
    }
    out.blob(&directory.finish());
    out.blob(&data);
}

impl ChunkedSequence {
    /// Takes a sequence out of a section that `input` reads.
    pub(crate) fn open(
        section: &SectionSlice,
        input: &mut ByteReader<'_>,
    ) -> Result<Self, StoreError> {
        let directory = input.blob()?;
        let data = input.blob()?;
        let start = data.as_ptr() as usize - section.bytes().as_ptr() as usize;
        let bytes = section
            .part(start..start + data.len())
            .ok_or_else(|| input.corrupt("a sequence lies outside its section"))?;
        let mut entries = ByteReader::new(directory, section.file_name(), "sequence directory");
        let length = entries.long()?;
        let length =
            usize::try_from(length).map_err(|_| input.corrupt("a sequence is too long"))?;
        let chunk_count = length.div_ceil(CHUNK_ENTRIES);
        let (mut offsets, mut firsts) = (vec![0], Vec::new());
        for i in 0..chunk_count {
            let end = entries.long()?;
            if end > data.len() as u64 || (end as usize) < offsets[i] {
                return Err(entries.corrupt("a chunk lies outside its sequence"));
            }
            offsets.push(end as usize);
            firsts.push(entries.long()?);
        }
        entries.finish()?;
        let sequence = Self {
            bytes,
            length,
            offsets,
            firsts,
        };
        sequence.check_chunks()?;
        Ok(sequence)
    }

    /// Opens every chunk once, so that opening it later cannot fail.
    fn check_chunks(&self) -> Result<(), StoreError> {
        for i in 0..self.firsts.len() {
            let entries = CHUNK_ENTRIES.min(self.length - i * CHUNK_ENTRIES);
            let corrupt = |what: String| self.bytes.corrupt(self.offsets[i] as u64, what);
            let (chunk, _) =
                Sequence::open(&self.bytes.bytes()[self.offsets[i]..self.offsets[i + 1]])
                    .map_err(|e| corrupt(format!("chunk {i} of an inverse: {e}")))?;
            if chunk.len() != entries {
                return Err(corrupt(format!("chunk {i} of an inverse is too short")));
            }
        }
        Ok(())
    }

    /// Reads all chunks and confirms that they decode.
    pub(crate) fn validate_deep(&self) -> Result<(), StoreError> {
        for i in 0..self.firsts.len() {
            self.chunk(i).validate_deep().map_err(|e| {
                let what = format!("chunk {i} of an inverse: {e}");
                self.bytes.corrupt(self.offsets[i] as u64, what)
            })?;
        }
        Ok(())
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.length
    }

    /// A reader that remembers the chunk it read last.
    pub(crate) fn cursor(&self) -> Cursor<'_> {
        Cursor {
            sequence: self,
            open: LastOpen::nothing(),
        }
    }

    fn chunk(&self, chunk_idx: usize) -> Sequence<'_> {
        let bytes = &self.bytes.bytes()[self.offsets[chunk_idx]..self.offsets[chunk_idx + 1]];
        let (chunk, _) =
            Sequence::open(bytes).expect("the chunk was opened before and files do not change");
        chunk
    }

    /// The first entry that is not smaller than the value; entries must ascend.
    pub(crate) fn lower_bound(&self, value: u64) -> usize {
        let chunk_idx = self.firsts.partition_point(|&first| first < value);
        if chunk_idx == 0 {
            return 0;
        }
        let chunk_idx = chunk_idx - 1;
        chunk_idx * CHUNK_ENTRIES + self.chunk(chunk_idx).lower_bound(value)
    }
}

/// Reads entries of a sequence.
pub(crate) struct Cursor<'a> {
    sequence: &'a ChunkedSequence,
    open: LastOpen<Sequence<'a>>,
}

impl<'a> Cursor<'a> {
    fn chunk(&mut self, chunk_idx: usize) -> &Sequence<'a> {
        let sequence = self.sequence;
        self.open.get(chunk_idx, || sequence.chunk(chunk_idx))
    }

    /// Number of entries.
    pub(crate) fn len(&self) -> usize {
        self.sequence.length
    }

    /// An entry, which must exist.
    pub(crate) fn get(&mut self, i: usize) -> u64 {
        self.chunk(i / CHUNK_ENTRIES).get(i % CHUNK_ENTRIES)
    }

    /// Two neighbouring entries, which must exist; of one chunk they cost one reading.
    pub(crate) fn get_pair(&mut self, i: usize) -> (u64, u64) {
        if (i + 1).is_multiple_of(CHUNK_ENTRIES) {
            return (self.get(i), self.get(i + 1));
        }
        self.chunk(i / CHUNK_ENTRIES).get_pair(i % CHUNK_ENTRIES)
    }

    /// Appends entries; a range beyond the end is cut.
    pub(crate) fn decode(&mut self, range: Range<usize>, out: &mut Vec<u64>) {
        let end = range.end.min(self.sequence.length);
        let mut at = range.start;
        while at < end {
            let chunk_idx = at / CHUNK_ENTRIES;
            let first = chunk_idx * CHUNK_ENTRIES;
            let chunk_end = end.min(first + CHUNK_ENTRIES);
            self.chunk(chunk_idx)
                .decode(at - first..chunk_end - first, out);
            at = chunk_end;
        }
    }
}
