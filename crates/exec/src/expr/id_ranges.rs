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
//! Cost: two look-ups and two comparisons for each row and no branch that depends on its kind, some 2 ns; 4.5 KiB on the stack.

use super::comparison::CompareOp;
use super::vector::Truth;
use crate::error::ExecError;
use crate::selection::positions;
use basalt_rdf::TermId;

/// Ids that pass, both ends included; none if the least is above the greatest.
#[derive(Clone, Copy, Debug)]
pub struct IdRange {
    /// The least.
    pub low: u64,
    /// The greatest.
    pub high: u64,
}

impl IdRange {
    /// No id.
    pub const NONE: Self = Self { low: 1, high: 0 };

    /// Whether an id lies in it.
    #[inline]
    pub fn has(self, id: u64) -> bool {
        self.low <= id && id <= self.high
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

/// A comparison with a constant; see the [module documentation](self).
pub trait IdRanges {
    /// The number of the kind of an id, below [`KINDS`]; `None` if ids of its kind tell nothing.
    fn kind(&self, id: u64) -> Option<usize>;
    /// Those ids that pass of all of one kind; `None` if they do not tell.
    fn range(&self, like: TermId) -> Option<IdRange>;
}

/// Numbers of kinds are below this.
pub const KINDS: usize = 1 << 12;
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
        let Some(kind) = self.of.kind(id) else {
            return UNTOLD;
        };
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

/// The range for ids that are all of one kind; `None` if they are not, or do not tell.
fn range_of_all(of: &impl IdRanges, ids: &[u64]) -> Option<IdRange> {
    let first = *ids.first()?;
    let kind = of.kind(first)?;
    let are_alike = ids.iter().fold(true, |are_alike, &id| {
        are_alike & (of.kind(id) == Some(kind))
    });
    if are_alike {
        return of.range(TermId(first));
    }
    None
}

/// The rows that pass, where ids tell for all rows; `None` where they do not, and where there are none to ask.
pub fn select(of: &impl IdRanges, ids: &[u64]) -> Option<Vec<u32>> {
    if ids.is_empty() {
        return None;
    }
    if let Some(range) = range_of_all(of, ids) {
        return Some(positions(ids, |id| range.has(id)));
    }
    let mut known = Known::new(of);
    let mut are_told = true;
    let selected = positions(ids, |id| {
        let place = known.place(id);
        are_told &= place != UNTOLD;
        known.has(place, id)
    });
    are_told.then_some(selected)
}

/// Whether each row passes; `other` says it of rows whose ids do not tell.
pub fn truths(
    of: &impl IdRanges,
    ids: &[u64],
    mut other: impl FnMut(u64) -> Result<Truth, ExecError>,
) -> Result<Vec<Truth>, ExecError> {
    if let Some(range) = range_of_all(of, ids) {
        let truth = |&id: &u64| Some(range.has(id)).into();
        return Ok(ids.iter().map(truth).collect());
    }
    let mut known = Known::new(of);
    ids.iter()
        .map(|&id| match known.place(id) {
            UNTOLD => other(id),
            place => Ok(Some(known.has(place, id)).into()),
        })
        .collect()
}
