//! `IdRanges`: what passes a comparison with a constant as ranges of ids, one for each kind of ids that differ in their values alone.
//!
//! ```text
//! ?r > 20      double, scale 2: ids from 20.01      integer: ids from 21      float, scale 1: ids from 20.1      ...
//! kind of id ->  number of its range ->  low <= id <= high
//! ```
//!
//! A kind is a datatype and a number of digits after the point, or a zone of dates; a column of sensors' results has some, in any order.
//! Each range is found once for a batch, when the first row of its kind comes. Rows whose ids do not tell are asked one by one.
//!
//! Cost: two look-ups and two comparisons for each row and no branch that depends on its kind, some 2 ns; 9 KiB on the stack.

use super::comparison::CompareOp;
use super::vector::Truth;
use crate::error::ExecError;
use crate::selection::positions;
use basalt_rdf::TermId;

/// Ids that pass, both ends included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdRange {
    /// The least.
    pub low: u64,
    /// The greatest.
    pub high: u64,
}

impl IdRange {
    /// No id of a term.
    pub const NONE: Self = Self {
        low: u64::MAX,
        high: u64::MAX,
    };

    /// Whether an id lies in it: one comparison, of which no branch is made.
    #[inline]
    pub fn has(self, id: u64) -> bool {
        id.wrapping_sub(self.low) <= self.high - self.low
    }
}

/// Values that pass, both ends included, of those between `bounds`: `at_least` is the first that is not below the constant, `above` the first
/// that is above; `None` if there are none.
pub fn passing(
    op: CompareOp,
    (at_least, above): (i128, i128),
    (least, greatest): (i64, i64),
) -> Option<(i64, i64)> {
    let (least, greatest) = (i128::from(least), i128::from(greatest));
    let (low, high) = match op {
        CompareOp::Equal => (at_least, above - 1),
        CompareOp::Less => (least, at_least - 1),
        CompareOp::LessOrEqual => (least, above - 1),
        CompareOp::Greater => (above, greatest),
        CompareOp::GreaterOrEqual => (at_least, greatest),
    };
    let (low, high) = (low.max(least), high.min(greatest));
    // Both lie between bounds of words now.
    (low <= high).then_some((low as i64, high as i64))
}

/// Where ids of a tag have the number of their kind.
#[derive(Clone, Copy, Debug)]
pub struct KindBits {
    /// Bits below it.
    pub shift: u32,
    /// Its bits.
    pub mask: u64,
    /// The number of the first kind of the tag.
    pub first: usize,
}

impl KindBits {
    /// The number of the kind of an id.
    #[inline]
    fn kind(self, id: u64) -> usize {
        self.first + (id >> self.shift & self.mask) as usize
    }
}

/// A comparison with a constant; see the [module documentation](self).
pub trait IdRanges {
    /// The bits of kinds of a tag, whose numbers are below [`KINDS`]; `None` if ids of the tag tell nothing.
    fn bits(&self, tag: u8) -> Option<KindBits>;
    /// Those ids that pass of all of one kind; `None` if they do not tell.
    fn range(&self, like: TermId) -> Option<IdRange>;
}

/// Numbers of kinds are below this.
pub const KINDS: usize = (2 << 12) + (1 << 8);
/// Places of ranges, a power of two: the first is that of kinds that were not met.
const PLACES: usize = 32;
/// The place of a kind whose ids do not tell, or for which there is no room; no id lies in its range.
const UNTOLD: u8 = PLACES as u8 - 1;

/// The ranges of the kinds that were met.
struct Known<'r, R> {
    of: &'r R,
    /// The place of each kind's range.
    places: [u8; KINDS],
    ranges: [IdRange; PLACES],
    /// Ranges that are known, and the first.
    count: u8,
}

impl<'r, R: IdRanges> Known<'r, R> {
    fn new(of: &'r R) -> Self {
        Self {
            of,
            places: [0; KINDS],
            ranges: [IdRange::NONE; PLACES],
            count: 1,
        }
    }

    /// The place of the range for an id.
    #[inline]
    fn place(&mut self, id: u64) -> u8 {
        match self.of.bits(TermId(id).tag()) {
            Some(bits) => self.place_at(bits, id),
            None => UNTOLD,
        }
    }

    /// The same of an id whose tag has these bits.
    #[inline]
    fn place_at(&mut self, bits: KindBits, id: u64) -> u8 {
        let kind = bits.kind(id);
        match self.places[kind] {
            0 => self.meet(kind, id),
            place => place,
        }
    }

    /// Whether an id lies in the range at a place.
    #[inline]
    fn has(&self, place: u8, id: u64) -> bool {
        self.ranges[usize::from(place) % PLACES].has(id)
    }

    /// The place of a kind that was not met before.
    #[cold]
    fn meet(&mut self, kind: usize, id: u64) -> u8 {
        let place = match self.of.range(TermId(id)) {
            Some(range) if self.count < UNTOLD => {
                self.ranges[usize::from(self.count)] = range;
                self.count += 1;
                self.count - 1
            }
            _ => UNTOLD,
        };
        self.places[kind] = place;
        place
    }
}

/// What some ids have in common.
enum Common {
    /// All are of one kind, of which these pass; `None` if that is not told.
    Range(Option<IdRange>),
    /// All have their kinds at the same bits.
    Bits(KindBits),
    /// Nothing.
    Nothing,
}

impl Common {
    fn of(ranges: &impl IdRanges, ids: &[u64]) -> Self {
        Self::told(ranges, ids).unwrap_or(Self::Nothing)
    }

    fn told<R: IdRanges>(ranges: &R, ids: &[u64]) -> Option<Self> {
        let first = *ids.first()?;
        let bits = ranges.bits(TermId(first).tag())?;
        let differing = ids.iter().fold(0, |differing, id| differing | (id ^ first));
        if TermId(first).is_binary_double() && differing >> (u64::BITS - 1) == 0 {
            // One kind with many tags.
            return Some(Self::Range(ranges.range(TermId(first))));
        }
        if TermId(differing).tag() != 0 {
            return None;
        }
        Some(match differing >> bits.shift & bits.mask {
            0 => Self::Range(ranges.range(TermId(first))),
            _ => Self::Bits(bits),
        })
    }
}

/// The rows that pass, where ids tell for all rows; `None` where they do not, and where there are none to ask.
pub fn select(of: &impl IdRanges, ids: &[u64]) -> Option<Vec<u32>> {
    let mut known = Known::new(of);
    let mut are_told = true;
    let selected = match Common::of(of, ids) {
        Common::Range(range) => {
            let range = range?;
            return Some(positions(ids, |id| range.has(id)));
        }
        Common::Bits(bits) => positions(ids, |id| {
            let place = known.place_at(bits, id);
            are_told &= place != UNTOLD;
            known.has(place, id)
        }),
        Common::Nothing => positions(ids, |id| {
            let place = known.place(id);
            are_told &= place != UNTOLD;
            known.has(place, id)
        }),
    };
    (are_told && !ids.is_empty()).then_some(selected)
}

/// Whether each row passes; `other` says it of rows whose ids do not tell.
pub fn truths(
    of: &impl IdRanges,
    ids: &[u64],
    mut other: impl FnMut(u64) -> Result<Truth, ExecError>,
) -> Result<Vec<Truth>, ExecError> {
    let mut known = Known::new(of);
    let mut truth = |known: &Known<'_, _>, place, id| match place {
        UNTOLD => other(id),
        place => Ok(Some(known.has(place, id)).into()),
    };
    match Common::of(of, ids) {
        Common::Range(Some(range)) => {
            let truth = |&id: &u64| Ok(Some(range.has(id)).into());
            ids.iter().map(truth).collect()
        }
        Common::Range(None) => ids.iter().map(|&id| other(id)).collect(),
        Common::Bits(bits) => {
            let rows = ids.iter().map(|&id| {
                let place = known.place_at(bits, id);
                truth(&known, place, id)
            });
            rows.collect()
        }
        Common::Nothing => {
            let rows = ids.iter().map(|&id| {
                let place = known.place(id);
                truth(&known, place, id)
            });
            rows.collect()
        }
    }
}
