//! `WrittenValues`: where values that were written lately stand in the output.
//!
//! Rows of a join repeat values: a product's texts stand beside each of its features. One that is still in the output buffer is
//! copied from there; finding it, decompressing it and escaping it takes some ten times as long.
//!
//! ```text
//! places   [ id, start, length | ... ]      by a hash of the id; the last one written stays
//! ```
//!
//! Invariant: starts are counted from the beginning of the answer, so places of what has left the buffer are known to be
//! stale. Cost: a read and a write in a few KiB for each value.

use basalt_rdf::TermId;

/// Bits of a place's number.
const BITS: u32 = 8;
/// Multiplier of the hash (the golden ratio in 64 bits).
const MIX: u64 = 0x9E37_79B9_7F4A_7C15;

#[derive(Clone, Copy)]
struct Place {
    id: TermId,
    start: u64,
    len: usize,
}

/// Places of values by id; see the [module documentation](self).
pub struct WrittenValues {
    places: Vec<Place>,
    /// Bytes of the answer that have left the buffer.
    gone: u64,
}

impl WrittenValues {
    /// None.
    pub fn new() -> Self {
        let nothing = Place {
            id: TermId::UNBOUND,
            start: 0,
            len: 0,
        };
        Self {
            places: vec![nothing; 1 << BITS],
            gone: 0,
        }
    }

    /// Appends the value of a bound id as it stands in the buffer already, if it does.
    #[inline]
    pub fn copy(&mut self, id: TermId, out: &mut Vec<u8>) -> bool {
        let place = &mut self.places[place_of(id)];
        if place.id != id || place.start < self.gone {
            return false;
        }
        let start = (place.start - self.gone) as usize;
        out.extend_from_within(start..start + place.len);
        true
    }

    /// Notes that the value of an id is what the buffer holds from `start` on.
    #[inline]
    pub fn note(&mut self, id: TermId, start: usize, out: &[u8]) {
        self.places[place_of(id)] = Place {
            id,
            start: self.gone + start as u64,
            len: out.len() - start,
        };
    }

    /// Notes that these bytes leave the buffer, which is empty then.
    pub fn leave(&mut self, out: &[u8]) {
        self.gone += out.len() as u64;
    }
}

#[inline]
fn place_of(id: TermId) -> usize {
    (id.0.wrapping_mul(MIX) >> (u64::BITS - BITS)) as usize
}
