//! The texts of one kind of terms while inputs are read: records in slabs, later in memory or in a file.
//!
//! ```text
//! record: provisional ordinal u32 | kind u32 | length u32 | text
//! ```
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
use crate::spill::{BucketReader, Extent, LoadMemory, SpillFile};

/// Memory of a slab: above 32 MiB, where glibc's malloc maps and unmaps always.
const SLAB_BYTES: usize = 33 << 20;
/// Bytes after which a slab is written when slabs are spilled.
const SPILLED_SLAB_BYTES: usize = 4 << 20;
/// Largest piece that is read as a whole.
const PIECE_BYTES_MAX: usize = SPILLED_SLAB_BYTES;
/// Bytes that a thread may add before it tells the budget.
const UNCOUNTED_BYTES_MAX: usize = 1 << 18;
/// Bytes before the text of a record.
pub(crate) const HEADER_BYTES: usize = 12;

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

/// Some records that stand together.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    place: Place,
    /// Smallest and largest ordinal.
    pub ordinals: (u32, u32),
}

#[derive(Clone, Debug)]
enum Place {
    /// In the file.
    File(Extent),
    /// In a slab that stayed in memory: which one, and these bytes of it.
    Held(usize, Range<usize>),
}

impl Piece {
    /// Bytes of the records.
    pub(crate) fn bytes(&self) -> u64 {
        match &self.place {
            Place::File(extent) => extent.bytes as u64,
            Place::Held(_, records) => records.len() as u64,
        }
    }
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
        let Ok(length) = u32::try_from(text.len()) else {
            return Err(LoadError::Limit {
                what: "bytes in one term",
                limit: u64::from(u32::MAX),
            });
        };
        let end = self.records.len() + HEADER_BYTES + text.len();
        if end > slabs.full_bytes() && !self.records.is_empty() {
            slabs.seal(self)?;
        }
        if self.records.capacity() - self.records.len() < HEADER_BYTES + text.len() {
            // Only empty slabs are too small.
            self.records = Vec::with_capacity(SLAB_BYTES.max(HEADER_BYTES + text.len()));
        }
        for word in [ordinal, kind, length] {
            self.records.extend_from_slice(&word.to_le_bytes());
        }
        self.records.extend_from_slice(text);
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
            while let Some(record) = Record::at(&slab.records, offset) {
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

/// One record.
pub(crate) struct Record<'r> {
    /// The ordinal of the term.
    pub ordinal: u32,
    /// Its kind.
    pub kind: u32,
    /// Its text.
    pub text: &'r [u8],
    /// Where the next record begins.
    pub end: usize,
}

impl<'r> Record<'r> {
    /// The record at an offset; `None` if it is not there in full.
    #[inline]
    pub(crate) fn at(records: &'r [u8], offset: usize) -> Option<Self> {
        let header = records.get(offset..offset + HEADER_BYTES)?;
        let word =
            |i: usize| u32::from_le_bytes([header[i], header[i + 1], header[i + 2], header[i + 3]]);
        let start = offset + HEADER_BYTES;
        let end = start + word(8) as usize;
        Some(Self {
            ordinal: word(0),
            kind: word(4),
            text: records.get(start..end)?,
            end,
        })
    }

    /// The text as a string.
    pub(crate) fn str(&self) -> &'r str {
        std::str::from_utf8(self.text).expect("terms come from strings")
    }
}

/// All texts, to be read.
pub(crate) enum Texts {
    /// In memory, by ordinal.
    Memory(HeldTexts),
    /// In a file or in memory, in any order.
    Spilled(SpilledTexts),
}

/// Texts in memory.
pub(crate) struct HeldTexts {
    slabs: Vec<Vec<u8>>,
    /// Slab (upper half) and offset of each record, by ordinal.
    places: Vec<u64>,
}

impl HeldTexts {
    /// The record of an ordinal.
    #[inline]
    pub(crate) fn get(&self, ordinal: u32) -> Record<'_> {
        let place = self.places[ordinal as usize];
        let record = Record::at(&self.slabs[(place >> 32) as usize], place as u32 as usize);
        record.expect("places are those of records")
    }

    /// Visits all records in the order in which they were written.
    pub(crate) fn for_each(
        &self,
        visit: &mut dyn FnMut(Record<'_>) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        for slab in &self.slabs {
            let mut offset = 0;
            while let Some(record) = Record::at(slab, offset) {
                offset = record.end;
                visit(record)?;
            }
        }
        Ok(())
    }
}

/// Texts some of which are in a file.
pub(crate) struct SpilledTexts {
    /// `None` if there are none in a file.
    file: Option<SpillFile>,
    /// Slabs that stayed in memory.
    held: Vec<Vec<u8>>,
    pieces: Vec<Piece>,
    sizes: RecordSizes,
}

impl SpilledTexts {
    /// Bytes of all records.
    pub(crate) fn bytes(&self) -> u64 {
        self.pieces.iter().map(Piece::bytes).sum()
    }

    /// The pieces, in the file and in memory.
    pub(crate) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Bytes that the record of an ordinal takes at most.
    #[inline]
    pub(crate) fn record_bytes(&self, ordinal: u32) -> u64 {
        self.sizes.get(ordinal)
    }

    /// Reads all records.
    pub(crate) fn for_each(
        &self,
        visit: &mut dyn FnMut(Record<'_>) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        self.for_each_in(self.pieces.iter(), &mut Vec::new(), visit)
    }

    /// Reads the pieces in whose range of ordinals one of `wanted`, sorted, lies.
    pub(crate) fn for_each_near(
        &self,
        wanted: &[u32],
        visit: &mut dyn FnMut(Record<'_>) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        let has_one = |piece: &Piece| {
            let at = wanted.partition_point(|w| *w < piece.ordinals.0);
            wanted.get(at).is_some_and(|w| *w <= piece.ordinals.1)
        };
        let near = self.pieces.iter().filter(|p| has_one(p));
        self.for_each_in(near, &mut Vec::new(), visit)
    }

    /// Reads some pieces; `bytes` is scratch.
    pub(crate) fn for_each_in<'p>(
        &self,
        pieces: impl Iterator<Item = &'p Piece>,
        bytes: &mut Vec<u8>,
        visit: &mut dyn FnMut(Record<'_>) -> Result<(), LoadError>,
    ) -> Result<(), LoadError> {
        for piece in pieces {
            let records = match (&piece.place, &self.file) {
                (Place::Held(slab, records), _) => &self.held[*slab][records.clone()],
                (Place::File(extent), Some(file)) if extent.bytes <= PIECE_BYTES_MAX => {
                    file.read(*extent, bytes)?;
                    bytes.as_slice()
                }
                (Place::File(extent), Some(file)) => {
                    // A single record.
                    read_records(&mut BucketReader::of_pieces(file, &[*extent]), visit)?;
                    continue;
                }
                (Place::File(_), None) => continue,
            };
            let mut at = 0;
            while let Some(record) = Record::at(records, at) {
                at = record.end;
                visit(record)?;
            }
        }
        Ok(())
    }
}

/// Reads a stream of records.
pub(crate) fn read_records(
    reader: &mut BucketReader<'_>,
    visit: &mut dyn FnMut(Record<'_>) -> Result<(), LoadError>,
) -> Result<(), LoadError> {
    let mut bytes = Vec::new();
    while reader.read(&mut bytes)? > 0 {
        let mut at = 0;
        while let Some(record) = Record::at(&bytes, at) {
            at = record.end;
            visit(record)?;
        }
        bytes.drain(..at);
    }
    debug_assert!(bytes.is_empty(), "a stream ends with a record");
    Ok(())
}
