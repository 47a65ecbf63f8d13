//! The texts of one kind of terms while inputs are read: records in slabs, which become [`Texts`] in memory or in a file.
//!
//! Each thread appends the terms that it is first to see to a slab of its own. Nobody reads a text before all
//! inputs are read, so a full slab can go to a temporary file as it is. When memory is short slabs go until there is room, and
//! the others stay where they are. The order of records depends on threads; nothing else does.
//!
//! Slabs are larger than any threshold of the allocator, so their memory returns to the system
//! when they are freed, and pages that were not written to take none.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::LoadError;
use crate::record_sizes::RecordSizes;
use crate::spill::{LoadMemory, SpillFile};
use crate::texts::{
    HEADER_BYTES, HeldTexts, Piece, Place, Record, SpilledTexts, Texts, records, write_record,
};

/// Memory of a slab: above 32 MiB, where glibc's malloc maps and unmaps always.
const SLAB_BYTES: usize = 33 << 20;
/// Bytes after which a slab is written when slabs are spilled.
pub(crate) const SPILLED_SLAB_BYTES: usize = 4 << 20;
/// Bytes that a thread may add before it tells the budget.
const UNCOUNTED_BYTES_MAX: usize = 1 << 18;

/// The texts of all terms of one table.
pub(crate) struct TextSlabs {
    memory: Arc<LoadMemory>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Slabs that nobody writes to at the moment.
    idle: Vec<TextSlab>,
    /// Full slabs.
    full: Vec<TextSlab>,
    /// Made with the first slab that is spilled.
    file: Option<SpillFile>,
    /// What is in the file.
    pieces: Vec<Piece>,
    /// Of what is in the file.
    sizes: RecordSizes,
}

/// Records in memory; one thread writes to them.
#[derive(Default)]
pub(crate) struct TextSlab {
    records: Vec<u8>,
    /// Bytes that the budget knows of.
    counted: usize,
}

impl TextSlab {
    /// Appends a record to this slab of `slabs`.
    #[inline]
    pub(crate) fn push(
        &mut self,
        slabs: &TextSlabs,
        ordinal: u32,
        kind: u32,
        text: &[u8],
    ) -> Result<(), LoadError> {
        if u32::try_from(text.len()).is_err() {
            return Err(LoadError::Limit {
                what: "bytes in one term",
                limit: u64::from(u32::MAX),
            });
        }
        let end = self.records.len() + HEADER_BYTES + text.len();
        if end > slabs.full_bytes() && !self.records.is_empty() {
            slabs.seal(self)?;
        }
        if self.records.capacity() - self.records.len() < HEADER_BYTES + text.len() {
            // Only empty slabs are too small.
            self.records = Vec::with_capacity(SLAB_BYTES.max(HEADER_BYTES + text.len()));
        }
        write_record(ordinal, kind, text, &mut self.records);
        if self.records.len() - self.counted > UNCOUNTED_BYTES_MAX {
            self.count(&slabs.memory);
        }
        Ok(())
    }

    fn count(&mut self, memory: &LoadMemory) {
        memory.hold(self.records.len() - self.counted);
        self.counted = self.records.len();
    }
}

impl TextSlabs {
    /// No texts.
    pub(crate) fn new(memory: Arc<LoadMemory>) -> Self {
        Self {
            memory,
            state: Mutex::default(),
        }
    }

    /// The budget.
    pub(crate) fn memory(&self) -> &LoadMemory {
        &self.memory
    }

    /// A slab to write to; to be given back.
    pub(crate) fn take(&self) -> TextSlab {
        self.lock().idle.pop().unwrap_or_default()
    }

    /// Takes a slab back.
    pub(crate) fn give_back(&self, mut slab: TextSlab) {
        slab.count(&self.memory);
        self.lock().idle.push(slab);
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes from which on a slab is full.
    fn full_bytes(&self) -> usize {
        let settings = &self.memory.settings;
        match self.memory.is_spilling() {
            false => settings.slab_bytes.unwrap_or(SLAB_BYTES),
            true => settings.slab_bytes.unwrap_or(SPILLED_SLAB_BYTES),
        }
    }

    /// Puts a full slab aside and leaves an empty one; if memory is short, slabs are written until there is room.
    fn seal(&self, slab: &mut TextSlab) -> Result<(), LoadError> {
        slab.count(&self.memory);
        let mut state = self.lock();
        let is_short = || self.memory.is_spilling() && self.memory.is_nearly_full();
        self.write_while(&mut state, is_short)?;
        if !is_short() {
            state.full.push(std::mem::take(slab));
            return Ok(());
        }
        self.write(&mut state, slab)?;
        drop(state);
        let mut records = std::mem::take(&mut slab.records);
        *slab = TextSlab::default();
        if records.len() <= SPILLED_SLAB_BYTES {
            records.clear();
            slab.records = records;
        }
        Ok(())
    }

    /// Writes slabs until so many bytes fit besides what is in memory, or all are written. Nobody writes to a slab any more.
    pub(crate) fn make_room(&self, bytes: u64) -> Result<(), LoadError> {
        let mut state = self.lock();
        let idle = std::mem::take(&mut state.idle);
        state.full.extend(idle);
        self.write_while(&mut state, || !self.memory.has_room(bytes))
    }

    /// Writes full slabs as long as memory is short, or until none is left.
    fn write_while(&self, state: &mut State, is_short: impl Fn() -> bool) -> Result<(), LoadError> {
        // Termination: each turn takes a slab.
        while is_short()
            && let Some(old) = state.full.pop()
        {
            self.write(state, &old)?;
        }
        Ok(())
    }

    /// Writes a slab, in pieces that can be read as a whole.
    fn write(&self, state: &mut State, slab: &TextSlab) -> Result<(), LoadError> {
        let cut = self.cut(&slab.records, &mut state.sizes);
        for (records, ordinals) in cut {
            let open = match &mut state.file {
                Some(open) => open,
                none => none.insert(SpillFile::create(&self.memory.folder)?),
            };
            let place = Place::File(open.append(&slab.records[records])?);
            state.pieces.push(Piece { place, ordinals });
        }
        self.memory.release(slab.counted);
        Ok(())
    }

    /// Cuts the records of a slab into pieces, each with the smallest and largest ordinal, and notes their sizes.
    fn cut(&self, records: &[u8], sizes: &mut RecordSizes) -> Vec<(Range<usize>, (u32, u32))> {
        let piece_bytes = self.memory.settings.slab_bytes;
        let piece_bytes = piece_bytes.unwrap_or(SPILLED_SLAB_BYTES);
        let (mut start, mut at) = (0, 0);
        let mut ordinals = (u32::MAX, 0);
        let mut pieces = Vec::new();
        while let Some(record) = Record::at(records, at) {
            sizes.note(record.ordinal, record.end - at);
            ordinals.0 = ordinals.0.min(record.ordinal);
            ordinals.1 = ordinals.1.max(record.ordinal);
            at = record.end;
            let next = Record::at(records, at).map_or(usize::MAX, |next| next.end - start);
            if piece_bytes < next {
                pieces.push((start..at, ordinals));
                (start, ordinals) = (at, (u32::MAX, 0));
            }
        }
        pieces
    }

    /// Ends writing; the texts of ordinals below `bound` are all there or in part.
    pub(crate) fn freeze(self, bound: usize) -> Result<Texts, LoadError> {
        let mut state = std::mem::take(&mut *self.lock());
        let mut slabs = std::mem::take(&mut state.full);
        slabs.append(&mut state.idle);
        slabs.retain(|slab| !slab.records.is_empty());
        if self.memory.is_spilling() {
            for (at, slab) in slabs.iter().enumerate() {
                let cut = self.cut(&slab.records, &mut state.sizes).into_iter();
                state.pieces.extend(cut.map(|(records, ordinals)| Piece {
                    place: Place::Held(at, records),
                    ordinals,
                }));
            }
            return Ok(Texts::Spilled(SpilledTexts {
                file: state.file,
                held: slabs.into_iter().map(|s| s.records).collect(),
                pieces: state.pieces,
                sizes: state.sizes,
            }));
        }
        let mut places = vec![u64::MAX; bound];
        for (at, slab) in slabs.iter().enumerate() {
            let mut offset = 0;
            for record in records(&slab.records) {
                places[record.ordinal as usize] = (at as u64) << 32 | offset as u64;
                offset = record.end;
            }
        }
        Ok(Texts::Memory(HeldTexts {
            slabs: slabs.into_iter().map(|s| s.records).collect(),
            places,
        }))
    }
}
