//! The way from a text's hash to its ordinal: 256 open-addressing tables in one section.
//!
//! ```text
//! | slot count u64 of each of 256 partitions | slots u64, partition by partition |
//! slot: 0 = empty, else fingerprint (low 24 bits of the hash) << 40 | ordinal + 1
//! ```
//!
//! The top byte of the hash chooses the partition, the next bits the home slot, in the order of the
//! hash; collisions take the next slot of the partition, around its end. Half as many slots more as
//! entries: a hit reads 2 slots, a miss 5 (a quarter more: 3 and 13; Knuth, vol. 3, 6.4), so either is about one
//! cache line, and a hit a text.
//!
//! Building: pushed entries (12 bytes each) lie in memory by partition, partitions are filled
//! independently (each in cache, several threads) and written in order: no random I/O.

use basalt_columns::prefetch;
use std::num::NonZero;

use crate::error::StoreError;
use crate::section_file::{SectionFile, SectionSlice, SectionWriter};

/// Tables in one index.
const PARTITIONS: usize = 256;
/// Bytes before the slots.
const DIRECTORY_BYTES: usize = PARTITIONS * 8;
/// Bits of an ordinal plus one in a slot.
const ORDINAL_BITS: u32 = 40;
/// Mask of an ordinal plus one.
const ORDINAL_MASK: u64 = (1 << ORDINAL_BITS) - 1;
/// Fewer entries are filled sooner than 256 threads are started.
const PARALLEL_ENTRIES_MIN: usize = 1 << 18;
/// More terms than this do not fit the slots.
pub(super) const ORDINALS_MAX: u64 = ORDINAL_MASK - 1;

/// The lower 56 bits of a hash and 40 bits of an ordinal.
#[derive(Clone, Copy, Debug)]
struct Entry([u32; 3]);

impl Entry {
    fn new(hash: u64, ordinal: u64) -> Self {
        let middle = ((hash >> 32) & 0x00FF_FFFF) as u32 | (((ordinal >> 32) as u32) << 24);
        Self([hash as u32, middle, ordinal as u32])
    }

    /// The hash without its top byte.
    fn hash(self) -> u64 {
        u64::from(self.0[0]) | (u64::from(self.0[1] & 0x00FF_FFFF) << 32)
    }

    fn ordinal(self) -> u64 {
        u64::from(self.0[2]) | (u64::from(self.0[1] >> 24) << 32)
    }
}

/// Slots of a partition with so many entries.
fn slots_for(entries: usize) -> usize {
    if entries == 0 {
        0
    } else {
        entries + entries / 2 + 1
    }
}

/// Where a hash wants to stand among `slots` slots of its partition.
#[inline]
fn home(hash: u64, slots: u64) -> u64 {
    ((u128::from(hash << 8) * u128::from(slots)) >> 64) as u64
}

/// The slot of an entry.
#[inline]
fn slot(hash: u64, ordinal: u64) -> u64 {
    (hash << ORDINAL_BITS) | (ordinal + 1)
}

/// Collects entries for one index.
#[derive(Debug)]
pub(super) struct TextIndexWriter {
    /// Entries by the top byte of the hash.
    partitions: Vec<Vec<Entry>>,
}

impl TextIndexWriter {
    /// An index of nothing.
    pub(super) fn new() -> Self {
        Self {
            partitions: vec![Vec::new(); PARTITIONS],
        }
    }

    /// Adds a text that is not there yet.
    #[inline]
    pub(super) fn push(&mut self, hash: u64, ordinal: u64) {
        debug_assert!(ordinal <= ORDINALS_MAX);
        self.partitions[(hash >> 56) as usize].push(Entry::new(hash, ordinal));
    }

    /// Fills the tables and writes them as a section.
    pub(super) fn finish(
        mut self,
        writer: &mut SectionWriter,
        section: &str,
    ) -> Result<(), StoreError> {
        writer.begin(section)?;
        for partition in &self.partitions {
            writer.write(&(slots_for(partition.len()) as u64).to_le_bytes())?;
        }
        if self.partitions.iter().map(Vec::len).sum::<usize>() < PARALLEL_ENTRIES_MIN {
            for entries in self.partitions {
                writer.write(&fill(entries))?;
            }
            return Ok(());
        }
        let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
        for batch in self.partitions.chunks_mut(threads) {
            let tables: Vec<Vec<u8>> = std::thread::scope(|scope| {
                let fills: Vec<_> = batch
                    .iter_mut()
                    .map(|entries| scope.spawn(|| fill(std::mem::take(entries))))
                    .collect();
                fills
                    .into_iter()
                    .map(|fill| fill.join().expect("filling a table does not panic"))
                    .collect()
            });
            for table in tables {
                writer.write(&table)?;
            }
        }
        Ok(())
    }
}

/// The bytes of one partition's table.
fn fill(entries: Vec<Entry>) -> Vec<u8> {
    let slots = slots_for(entries.len());
    let mut table = vec![0u64; slots];
    for entry in entries {
        let mut at = home(entry.hash(), slots as u64) as usize;
        // Termination: there are more slots than entries.
        while table[at] != 0 {
            at = if at + 1 == slots { 0 } else { at + 1 };
        }
        table[at] = slot(entry.hash(), entry.ordinal());
    }
    table.iter().flat_map(|slot| slot.to_le_bytes()).collect()
}

/// Where the slots of one partition lie.
#[derive(Clone, Copy, Debug)]
struct Partition {
    /// Offset of the first slot in the section.
    offset: usize,
    /// Number of slots.
    slots: usize,
}

/// An open index.
#[derive(Clone, Debug)]
pub(super) struct TextIndex {
    /// Directory and slots.
    bytes: SectionSlice,
    /// One per top byte of a hash.
    partitions: Box<[Partition]>,
}

impl TextIndex {
    /// Opens the index in a section; reads its directory.
    pub(super) fn open(file: &SectionFile, section: &str) -> Result<Self, StoreError> {
        let slice = file.slice(section)?;
        let bytes = slice.bytes();
        if bytes.len() < DIRECTORY_BYTES {
            return Err(slice.corrupt(0, "the text index is shorter than its directory"));
        }
        let mut offset = DIRECTORY_BYTES;
        let mut partitions = Vec::with_capacity(PARTITIONS);
        for count in bytes[..DIRECTORY_BYTES].chunks_exact(8) {
            let left = (bytes.len() - offset) / 8;
            let slots = usize::try_from(load(count))
                .ok()
                .filter(|&slots| slots <= left);
            let Some(slots) = slots else {
                return Err(slice.corrupt(0, "the text index is shorter than its tables"));
            };
            partitions.push(Partition { offset, slots });
            offset += slots * 8;
        }
        if offset != bytes.len() {
            return Err(slice.corrupt(offset as u64, "the text index is longer than its tables"));
        }
        Ok(Self {
            partitions: partitions.into(),
            bytes: slice,
        })
    }

    /// Asks for the slot where [`Self::find`] begins.
    pub(super) fn prefetch(&self, hash: u64) {
        let Partition { offset, slots } = self.partitions[(hash >> 56) as usize];
        let at = offset + home(hash, slots as u64) as usize * size_of::<u64>();
        prefetch(self.bytes.bytes(), at);
    }

    /// The ordinal of the text with this hash that `is_it` confirms.
    pub(super) fn find(&self, hash: u64, mut is_it: impl FnMut(u64) -> bool) -> Option<u64> {
        let Partition { offset, slots } = self.partitions[(hash >> 56) as usize];
        if slots == 0 {
            return None;
        }
        let table = &self.bytes.bytes()[offset..offset + slots * 8];
        let mut at = home(hash, slots as u64) as usize;
        // Termination: at most once around, even if damage has filled every slot.
        for _ in 0..slots {
            let slot = load(&table[at * 8..at * 8 + 8]);
            if slot == 0 {
                return None;
            }
            let same = (slot ^ (hash << ORDINAL_BITS)) >> ORDINAL_BITS == 0;
            if same && slot & ORDINAL_MASK != 0 {
                let ordinal = (slot & ORDINAL_MASK) - 1;
                if is_it(ordinal) {
                    return Some(ordinal);
                }
            }
            at = if at + 1 == slots { 0 } else { at + 1 };
        }
        None
    }
}

/// Eight bytes as an integer.
#[inline]
fn load(bytes: &[u8]) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(bytes);
    u64::from_le_bytes(word)
}
