//! `ById`: from ids of one kind that lie near each other to numbers, without hashing.
//!
//! Resources of one table have neighbouring ordinals; days of delivery, ratings, rounded prices and dates have neighbouring mantissas or days. The kind
//! is that of the first id that has one; ids of others are the caller's to hash.
//!
//! Invariant: what is held stays within [`RESOURCE_BYTES`], or [`NUMBER_BYTES`], and [`ROW_BYTES`] for each row. Cost: a mask and a comparison beside
//! those of [`ByOrdinal`].

use super::by_ordinal::{ByOrdinal, PAGE_BITS};
use basalt_rdf::TermId;
use basalt_rdf::term_id::{MANTISSA_MASK, PAYLOAD_MASK, tag};

/// Bytes that resources may take whatever the number of rows: a quarter of a million neighbours may come in any
/// order, and all pages are there before there are many of them.
const RESOURCE_BYTES: usize = 1 << 20;
/// The same of numbers and dates, which are often far apart: so many pages are made soon.
const NUMBER_BYTES: usize = 1 << 16;
/// Bytes that either may take for each row more: some times what a hash table takes.
const ROW_BYTES: usize = 64;

/// Numbers by id; see the [module documentation](self).
#[derive(Default)]
pub struct ById {
    kind: Option<Kind>,
    ordinals: ByOrdinal,
}

/// What the ids have in common.
#[derive(Clone, Copy)]
struct Kind {
    /// The bits that all have alike, and how they are.
    mask: u64,
    value: u64,
    /// Bits that are alike below the others.
    shift: u32,
    free_bytes: usize,
}

impl Kind {
    /// The kind of an id, if such ids may be near each other.
    fn of(id: u64) -> Option<Self> {
        let tag = TermId(id).tag();
        let (mask, shift) = match tag {
            // What is written of a duration differs from one to the next.
            tag::RESOURCE | tag::DURATION => (!PAYLOAD_MASK, 0),
            tag::DATE | tag::DATE_TIME | tag::TIME => {
                (TermId(id).date_kind_mask(), TermId(id).zone_bits())
            }
            _ if TermId(id).is_numeric() => (!MANTISSA_MASK, 0),
            _ => return None,
        };
        Some(Self {
            mask,
            value: id & mask,
            shift,
            free_bytes: match tag {
                tag::RESOURCE => RESOURCE_BYTES,
                _ => NUMBER_BYTES,
            },
        })
    }

    /// What tells an id from others of its kind, if it is of this one.
    #[inline]
    fn ordinal(self, id: u64) -> Option<u64> {
        (id & self.mask == self.value).then_some((id & !self.mask) >> self.shift)
    }
}

/// Places of ids of a kind.
pub struct Places<'a> {
    kind: Kind,
    ordinals: &'a mut ByOrdinal,
}

impl Places<'_> {
    /// Where the number of an id is noted, plus one; 0 if it has none. `None` if it is not of the kind, or its page is not there.
    #[inline]
    pub fn place(&mut self, id: u64) -> Option<&mut u32> {
        self.ordinals.place(self.kind.ordinal(id)?)
    }
}

impl ById {
    /// Whether an id is of the kind, or has one where none is known yet.
    #[inline]
    pub fn has(&self, id: u64) -> bool {
        match self.kind {
            Some(kind) => kind.ordinal(id).is_some(),
            None => Kind::of(id).is_some(),
        }
    }

    /// The number of an id of the kind, if it has one.
    #[inline]
    pub fn find(&self, id: u64) -> Option<u32> {
        self.ordinals.find(self.kind?.ordinal(id)?)
    }

    /// The places of ids of the kind; `None` while none is known.
    #[inline]
    pub fn places(&mut self) -> Option<Places<'_>> {
        let kind = self.kind?;
        let ordinals = &mut self.ordinals;
        Some(Places { kind, ordinals })
    }

    /// Makes the page of an id that [`Self::has`], if it is not there; `None` if more would be held then than so many rows may take.
    pub fn make_place(&mut self, id: u64, rows: usize) -> Option<&mut u32> {
        let kind = match self.kind {
            Some(kind) => kind,
            None => *self.kind.insert(Kind::of(id)?),
        };
        let ordinal = kind.ordinal(id)?;
        if self.ordinals.place(ordinal).is_none() {
            let bytes_max = kind.free_bytes + rows * ROW_BYTES;
            self.ordinals.add_page(ordinal, bytes_max)?;
        }
        self.ordinals.place(ordinal)
    }

    /// How many of an id's lowest bits tell those of a page apart.
    pub fn near_bits(&self) -> u32 {
        self.kind.map_or(0, |kind| kind.shift) + PAGE_BITS
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.ordinals.bytes()
    }
}
