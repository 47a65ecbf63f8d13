//! IRIs and blank nodes: the file `resources.dict`.
//!
//! | section | holds |
//! | --- | --- |
//! | `iris` | front-coded blocks of [`BLOCK_TEXTS`] resources in ordinal order |
//! | `block offsets` | a sequence: where each block begins in `iris`, and the end |
//! | `blanks` | the ordinals of blank nodes, a Roaring treemap |
//! | `index` | hash of the IRI to ordinal, see [`text_index`](super::text_index) |
//! | `counts` | number of resources, u64 |
//!
//! A blank node has no text but an empty entry in its block; its label is `b` and its ordinal.
//! Resources that are rows of one table have neighbouring ordinals and similar IRIs, so blocks are
//! small and IRIs of neighbouring rows lie on one page.

use roaring::RoaringTreemap;
use xxhash_rust::xxh3::xxh3_64;

use super::front_coding::{FrontCoder, read_text};
use super::text_index::{ORDINALS_MAX, TextIndex, TextIndexWriter};
use crate::error::StoreError;
use crate::folder::Folder;
use crate::section_file::{FileKind, SectionFile, SectionSlice, SectionWriter};
use basalt_columns::bitmap;
use basalt_columns::codec::{self, CodecKind, Sequence};
use basalt_rdf::term_id::PAYLOAD_MASK;

/// Name of the file.
pub(super) const FILE: &str = "resources.dict";
/// Resources of a block.
const BLOCK_TEXTS: u64 = 16;
/// Bytes buffered before they go to the file.
const BUFFER_BYTES: usize = 1 << 18;

const _: () = assert!(ORDINALS_MAX <= PAYLOAD_MASK);

/// The hash of an IRI for the index.
#[inline]
pub(super) fn hash_iri(iri: &[u8]) -> u64 {
    xxh3_64(iri)
}

/// Writes `resources.dict`; usable on a thread of its own.
#[derive(Debug)]
pub struct ResourceWriter {
    /// The file, in the section `iris`.
    writer: SectionWriter,
    /// Entries not yet written.
    buffer: Vec<u8>,
    /// Bytes written before the buffer.
    written: u64,
    /// Makes entries.
    coder: FrontCoder,
    /// Where each block begins.
    block_offsets: Vec<u64>,
    /// Ordinals of blank nodes.
    blanks: RoaringTreemap,
    /// Hashes of the IRIs.
    index: TextIndexWriter,
    /// Resources so far.
    count: u64,
}

impl ResourceWriter {
    /// Starts the file.
    pub(crate) fn create(folder: &Folder) -> Result<Self, StoreError> {
        let mut writer = folder.create(FILE, FileKind::Resources)?;
        writer.begin("iris")?;
        Ok(Self {
            writer,
            buffer: Vec::with_capacity(BUFFER_BYTES * 2),
            written: 0,
            coder: FrontCoder::default(),
            block_offsets: Vec::new(),
            blanks: RoaringTreemap::new(),
            index: TextIndexWriter::new(),
            count: 0,
        })
    }

    /// Adds an IRI that is not there yet and returns its ordinal.
    pub fn push_iri(&mut self, iri: &str) -> Result<u64, StoreError> {
        let ordinal = self.push_entry(iri.as_bytes())?;
        self.index.push(hash_iri(iri.as_bytes()), ordinal);
        Ok(ordinal)
    }

    /// Adds a blank node and returns its ordinal.
    pub fn push_blank(&mut self) -> Result<u64, StoreError> {
        let ordinal = self.push_entry(b"")?;
        self.blanks.insert(ordinal);
        Ok(ordinal)
    }

    /// Resources added so far: the next ordinal.
    pub fn count(&self) -> u64 {
        self.count
    }

    fn push_entry(&mut self, text: &[u8]) -> Result<u64, StoreError> {
        let ordinal = self.count;
        if ordinal > ORDINALS_MAX {
            let limit = ORDINALS_MAX;
            return Err(StoreError::Limit {
                what: "IRIs and blank nodes",
                limit,
            });
        }
        if ordinal.is_multiple_of(BLOCK_TEXTS) {
            if self.buffer.len() >= BUFFER_BYTES {
                self.flush()?;
            }
            self.block_offsets
                .push(self.written + self.buffer.len() as u64);
            self.coder.start_block();
        }
        self.coder.push(text, &mut self.buffer);
        self.count += 1;
        Ok(ordinal)
    }

    fn flush(&mut self) -> Result<(), StoreError> {
        self.writer.write(&self.buffer)?;
        self.written += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    /// Writes what is left and makes the file durable.
    pub fn finish(mut self) -> Result<(), StoreError> {
        self.flush()?;
        self.block_offsets.push(self.written);
        let mut bytes = Vec::new();
        // Reading one offset must not unpack a block of deltas.
        codec::encode_as(CodecKind::FrameOfReference, &self.block_offsets, &mut bytes);
        self.writer.section("block offsets", &bytes)?;
        bytes.clear();
        bitmap::write_treemap(&self.blanks, &mut bytes);
        self.writer.section("blanks", &bytes)?;
        self.index.finish(&mut self.writer, "index")?;
        self.writer.section("counts", &self.count.to_le_bytes())?;
        self.writer.finish()
    }
}

/// The open file.
#[derive(Clone, Debug)]
pub(super) struct Resources {
    /// For checking it.
    pub(super) file: SectionFile,
    /// Front-coded blocks.
    iris: SectionSlice,
    /// A sequence of offsets into `iris`.
    block_offsets: SectionSlice,
    /// Ordinals of blank nodes.
    blanks: RoaringTreemap,
    /// Hash to ordinal.
    index: TextIndex,
    /// Number of resources.
    count: u64,
}

impl Resources {
    /// Opens the file; reads the blank nodes, leaves the texts where they are.
    pub(super) fn open(folder: &Folder) -> Result<Self, StoreError> {
        let file = folder.open(FILE, FileKind::Resources)?;
        let count = super::read_count(&file)?;
        let iris = file.slice("iris")?;
        let block_offsets = file.slice("block offsets")?;
        let (offsets, _) = Sequence::open(block_offsets.bytes())
            .map_err(|error| block_offsets.corrupt(0, error.to_string()))?;
        let blocks = count.div_ceil(BLOCK_TEXTS);
        if offsets.len() as u64 != blocks + 1 {
            let what = format!("{} block offsets for {blocks} blocks", offsets.len());
            return Err(block_offsets.corrupt(0, what));
        }
        if offsets.get(offsets.len() - 1) != iris.bytes().len() as u64 {
            return Err(block_offsets.corrupt(0, "the blocks do not end where the section ends"));
        }
        let (blanks, _) = bitmap::read_treemap(file.verified_section("blanks")?)
            .map_err(|error| file.corrupt(file.section_offset("blanks"), error.to_string()))?;
        if blanks.max().is_some_and(|last| last >= count) {
            let offset = file.section_offset("blanks");
            return Err(file.corrupt(offset, "a blank node is beyond the last resource"));
        }
        let index = TextIndex::open(&file, "index")?;
        Ok(Self {
            file,
            iris,
            block_offsets,
            blanks,
            index,
            count,
        })
    }

    /// Number of IRIs and blank nodes.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// Whether a resource is a blank node.
    #[inline]
    pub(super) fn is_blank(&self, ordinal: u64) -> bool {
        self.blanks.contains(ordinal)
    }

    /// The ordinals of the blank nodes.
    pub(super) fn blanks(&self) -> &RoaringTreemap {
        &self.blanks
    }

    /// Appends the IRI with this ordinal; nothing for a blank node.
    pub(super) fn iri_into(&self, ordinal: u64, out: &mut Vec<u8>) -> Result<(), StoreError> {
        if ordinal >= self.count {
            return Err(super::unknown_ordinal("resource", ordinal));
        }
        let block = ordinal / BLOCK_TEXTS;
        let (offsets, _) = Sequence::open(self.block_offsets.bytes())
            .map_err(|error| self.block_offsets.corrupt(0, error.to_string()))?;
        let (start, end) = offsets.get_pair(block as usize);
        let range = usize::try_from(start).ok().zip(usize::try_from(end).ok());
        range
            .and_then(|(start, end)| self.iris.bytes().get(start..end))
            .and_then(|block| read_text(block, (ordinal % BLOCK_TEXTS) as usize, out))
            .ok_or_else(|| {
                let what = format!("the block of resource {ordinal} is damaged");
                self.iris
                    .corrupt(start.min(self.iris.bytes().len() as u64), what)
            })
    }

    /// The ordinal of an IRI with this hash.
    pub(super) fn find_iri<'t>(&self, hash: u64, iri: impl Fn() -> &'t [u8]) -> Option<u64> {
        super::with_scratch(|scratch| {
            self.index.find(hash, |ordinal| {
                scratch.clear();
                let read = self.iri_into(ordinal, scratch);
                read.is_ok() && scratch == iri() && !self.is_blank(ordinal)
            })
        })
    }
}
