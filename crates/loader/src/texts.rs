//! The texts of all terms of a table, to be read: in memory by ordinal, or some of them in a file.
//!
//! [`TextSlabs`](crate::text_slabs::TextSlabs) has written them, as records:
//!
//! ```text
//! record: provisional ordinal u32 | kind u32 | length u32 | text
//! ```

use std::ops::Range;

use crate::error::LoadError;
use crate::record_sizes::RecordSizes;
use crate::spill::{BucketReader, Extent, SpillFile};
use crate::text_slabs::SPILLED_SLAB_BYTES;

/// Bytes before the text of a record.
pub(crate) const HEADER_BYTES: usize = 12;
/// Largest piece that is read as a whole.
const PIECE_BYTES_MAX: usize = SPILLED_SLAB_BYTES;

/// Some records that stand together.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub place: Place,
    /// Smallest and largest ordinal.
    pub ordinals: (u32, u32),
}

#[derive(Clone, Debug)]
pub(crate) enum Place {
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

/// What stands before the text of a record; a text has less than 2^32 bytes.
#[inline]
pub(crate) fn record_head(ordinal: u32, kind: u32, text: &[u8]) -> [u8; HEADER_BYTES] {
    let mut head = [0; HEADER_BYTES];
    head[..4].copy_from_slice(&ordinal.to_le_bytes());
    head[4..8].copy_from_slice(&kind.to_le_bytes());
    head[8..].copy_from_slice(&(text.len() as u32).to_le_bytes());
    head
}

/// Appends a record.
#[inline]
pub(crate) fn write_record(ordinal: u32, kind: u32, text: &[u8], records: &mut Vec<u8>) {
    records.extend_from_slice(&record_head(ordinal, kind, text));
    records.extend_from_slice(text);
}

/// The records that stand one after another from the start of some bytes.
pub(crate) fn records(bytes: &[u8]) -> impl Iterator<Item = Record<'_>> {
    let mut offset = 0;
    std::iter::from_fn(move || {
        let record = Record::at(bytes, offset)?;
        offset = record.end;
        Some(record)
    })
}

/// All texts, to be read.
pub(crate) enum Texts {
    /// In memory, by ordinal.
    Memory(HeldTexts),
    /// In a file or in memory, in any order.
    Spilled(SpilledTexts),
}

/// Some of all texts, to be read on one thread.
pub(crate) enum Portion {
    /// Those of these ordinals.
    Ordinals(Range<u32>),
    /// Those of these pieces.
    Pieces(Range<usize>),
}

impl Texts {
    /// Cuts the texts into portions: of at most so many ordinals each where they are in memory, else of at most so many bytes,
    /// or one piece.
    pub(crate) fn portions(&self, ordinals_max: usize, bytes_max: u64) -> Vec<Portion> {
        match self {
            Self::Memory(texts) => {
                let bound = texts.places.len();
                let starts = (0..bound).step_by(ordinals_max);
                let range = |start: usize| start as u32..bound.min(start + ordinals_max) as u32;
                starts
                    .map(|start| Portion::Ordinals(range(start)))
                    .collect()
            }
            Self::Spilled(texts) => {
                let (mut portions, mut start, mut bytes) = (Vec::new(), 0, 0);
                for (at, piece) in texts.pieces.iter().enumerate() {
                    if start < at && bytes + piece.bytes() > bytes_max {
                        portions.push(Portion::Pieces(start..at));
                        (start, bytes) = (at, 0);
                    }
                    bytes += piece.bytes();
                }
                portions.push(Portion::Pieces(start..texts.pieces.len()));
                portions
            }
        }
    }

    /// Hands over the records of a portion, from where they lie or read from the file.
    pub(crate) fn with_portion<R>(
        &self,
        portion: &Portion,
        work: impl FnOnce(&mut dyn Iterator<Item = Record<'_>>) -> R,
    ) -> Result<R, LoadError> {
        match (self, portion) {
            (Self::Memory(texts), Portion::Ordinals(ordinals)) => {
                Ok(work(&mut texts.in_range(ordinals.clone())))
            }
            (Self::Spilled(texts), Portion::Pieces(pieces)) => {
                let pieces = texts.pieces[pieces.clone()].iter();
                let mut read = Vec::new();
                texts.for_each_in(pieces, &mut Vec::new(), &mut |record| {
                    write_record(record.ordinal, record.kind, record.text, &mut read);
                    Ok(())
                })?;
                Ok(work(&mut records(&read)))
            }
            _ => unreachable!("portions are those of these texts"),
        }
    }
}

/// Texts in memory.
pub(crate) struct HeldTexts {
    pub slabs: Vec<Vec<u8>>,
    /// Slab (upper half) and offset of each record, by ordinal; `u64::MAX` where no term has the ordinal.
    pub places: Vec<u64>,
}

impl HeldTexts {
    /// The record of an ordinal.
    #[inline]
    pub(crate) fn get(&self, ordinal: u32) -> Record<'_> {
        self.at(self.places[ordinal as usize])
    }

    #[inline]
    fn at(&self, place: u64) -> Record<'_> {
        let record = Record::at(&self.slabs[(place >> 32) as usize], place as u32 as usize);
        record.expect("places are those of records")
    }

    /// The records of some ordinals.
    fn in_range(&self, ordinals: Range<u32>) -> impl Iterator<Item = Record<'_>> {
        let places = self.places[ordinals.start as usize..ordinals.end as usize].iter();
        places
            .filter(|&&place| place != u64::MAX)
            .map(|&place| self.at(place))
    }
}

/// Texts some of which are in a file.
pub(crate) struct SpilledTexts {
    /// `None` if there are none in a file.
    pub file: Option<SpillFile>,
    /// Slabs that stayed in memory.
    pub held: Vec<Vec<u8>>,
    /// The pieces, in the file and in memory.
    pub pieces: Vec<Piece>,
    /// Sizes of records.
    pub sizes: RecordSizes,
}

impl SpilledTexts {
    /// Bytes of all records.
    pub(crate) fn bytes(&self) -> u64 {
        self.pieces.iter().map(Piece::bytes).sum()
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
            let bytes = match (&piece.place, &self.file) {
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
            records(bytes).try_for_each(&mut *visit)?;
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
