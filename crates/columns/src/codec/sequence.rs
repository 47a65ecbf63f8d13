//! A view of one encoded sequence: opens in constant time, dispatches once per call.

use std::ops::Range;

use super::delta::Delta;
use super::dictionary::Dictionary;
use super::run_length::RunLength;
use super::{CodecKind, HEADER_BYTES, constant};
use crate::ColumnError;
use crate::packing::{Packed, load_u32};

/// A view of one encoded sequence; see the [module documentation](super) for the bytes.
///
/// Positions given to its methods must be below [`len`](Sequence::len): that is the caller's part,
/// whatever the bytes hold.
#[derive(Clone, Copy, Debug)]
pub struct Sequence<'a> {
    /// Number of values.
    len: usize,
    /// The body.
    body: Body<'a>,
}

/// The body of each codec.
#[derive(Clone, Copy, Debug)]
enum Body<'a> {
    Constant(u64),
    RunLength(RunLength<'a>),
    FrameOfReference(Packed<'a>),
    Delta(Delta<'a>),
    Dictionary(Dictionary<'a>),
}

impl<'a> Sequence<'a> {
    /// Opens the sequence at the start of `bytes`, which may go on behind it; also tells how many
    /// bytes it takes. Checks every size; constant time.
    #[inline]
    pub fn open(bytes: &'a [u8]) -> Result<(Self, usize), ColumnError> {
        if bytes.len() < HEADER_BYTES {
            let what = format!("sequence header in {} bytes", bytes.len());
            return Err(ColumnError::corrupt(what));
        }
        let kind = CodecKind::from_byte(bytes[0])
            .ok_or_else(|| ColumnError::corrupt(format!("unknown codec {}", bytes[0])))?;
        let widths = [bytes[1], bytes[2], bytes[3]];
        let len = load_u32(bytes, 4) as usize;
        let mut at = HEADER_BYTES;
        let body = match kind {
            CodecKind::Constant => Body::Constant(constant::open(bytes, &mut at)?),
            CodecKind::RunLength => Body::RunLength(RunLength::open(bytes, &mut at, len, widths)?),
            CodecKind::FrameOfReference => {
                Body::FrameOfReference(Packed::open(bytes, &mut at, len, widths[0])?)
            }
            CodecKind::Delta => Body::Delta(Delta::open(bytes, &mut at, len, widths)?),
            CodecKind::Dictionary => {
                Body::Dictionary(Dictionary::open(bytes, &mut at, len, widths)?)
            }
        };
        Ok((Self { len, body }, at))
    }

    /// Number of values.
    #[inline]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no values.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The codec.
    pub fn kind(&self) -> CodecKind {
        match self.body {
            Body::Constant(_) => CodecKind::Constant,
            Body::RunLength(_) => CodecKind::RunLength,
            Body::FrameOfReference(_) => CodecKind::FrameOfReference,
            Body::Delta(_) => CodecKind::Delta,
            Body::Dictionary(_) => CodecKind::Dictionary,
        }
    }

    /// Value `i`.
    #[inline]
    pub fn get(&self, i: usize) -> u64 {
        assert!(i < self.len, "position {i} of a sequence of {}", self.len);
        match &self.body {
            Body::Constant(value) => *value,
            Body::RunLength(body) => body.get(i),
            Body::FrameOfReference(body) => body.get(i),
            Body::Delta(body) => body.get(i),
            Body::Dictionary(body) => body.get(i),
        }
    }

    /// Values `i` and `i + 1`: the ends of an item in an array of offsets.
    #[inline]
    pub fn get_pair(&self, i: usize) -> (u64, u64) {
        match &self.body {
            Body::Delta(body) if i + 1 < self.len => body.get_pair(i),
            _ => (self.get(i), self.get(i + 1)),
        }
    }

    /// Appends the values of a range.
    pub fn decode(&self, range: Range<usize>, out: &mut Vec<u64>) {
        self.check_range(&range);
        match &self.body {
            Body::Constant(value) => out.resize(out.len() + range.len(), *value),
            Body::RunLength(body) => body.decode(range, out),
            Body::FrameOfReference(body) => body.decode(range, out),
            Body::Delta(body) => body.decode(range, out),
            Body::Dictionary(body) => body.decode(range, out),
        }
    }

    fn check_range(&self, range: &Range<usize>) {
        assert!(
            range.start <= range.end && range.end <= self.len,
            "range {range:?} of a sequence of {}",
            self.len
        );
    }

    /// Appends the values at some positions, in any order.
    pub fn gather(&self, positions: &[u32], out: &mut Vec<u64>) {
        let beyond = positions
            .iter()
            .fold(0, |max, position| *position.max(&max));
        assert!(
            positions.is_empty() || (beyond as usize) < self.len,
            "position {beyond} of a sequence of {}",
            self.len
        );
        match &self.body {
            Body::Constant(value) => out.resize(out.len() + positions.len(), *value),
            Body::RunLength(body) => body.gather(positions, out),
            Body::FrameOfReference(body) => body.gather(positions, out),
            Body::Delta(body) => body.gather(positions, out),
            Body::Dictionary(body) => body.gather(positions, out),
        }
    }

    /// The first position whose value is not less than `value`; the values must be ascending.
    pub fn lower_bound(&self, value: u64) -> usize {
        match &self.body {
            Body::Constant(only) => {
                if *only < value {
                    self.len
                } else {
                    0
                }
            }
            Body::RunLength(body) => body.lower_bound(value),
            Body::FrameOfReference(body) => body.lower_bound(value),
            Body::Delta(body) => body.lower_bound(value),
            Body::Dictionary(body) => body.lower_bound(value),
        }
    }

    /// Whether one of the positions `within`, whose values must ascend, has the value.
    #[inline]
    pub fn holds(&self, within: Range<usize>, value: u64) -> bool {
        self.check_range(&within);
        match &self.body {
            Body::Constant(only) => !within.is_empty() && *only == value,
            Body::RunLength(body) => body.holds(within, value),
            Body::FrameOfReference(body) => body.holds(within, value),
            Body::Delta(body) => body.holds(within, value),
            Body::Dictionary(body) => body.holds(within, value),
        }
    }

    /// Appends the positions of a value, ascending.
    pub fn find_equal(&self, value: u64, out: &mut Vec<u32>) {
        self.find_in_range(0..self.len, value, value, out);
    }

    /// Appends those of the positions `within` that have a value in `low..=high`, ascending; compares encoded values
    /// wherever the codec keeps their order.
    pub fn find_in_range(&self, within: Range<usize>, low: u64, high: u64, out: &mut Vec<u32>) {
        self.check_range(&within);
        if low > high {
            return;
        }
        match &self.body {
            Body::Constant(value) => {
                if (low..=high).contains(value) {
                    out.extend(within.start as u32..within.end as u32);
                }
            }
            Body::RunLength(body) => body.find_in_range(within, low, high, out),
            Body::FrameOfReference(body) => body.find_in_range(within, low, high, out),
            Body::Delta(body) => body.find_in_range(within, low, high, out),
            Body::Dictionary(body) => body.find_in_range(within, low, high, out),
        }
    }

    /// Checks what [`open`](Sequence::open) leaves out: orders and codes. Linear time.
    pub fn validate_deep(&self) -> Result<(), ColumnError> {
        match &self.body {
            Body::Constant(_) | Body::FrameOfReference(_) => Ok(()),
            Body::RunLength(body) => body.validate_deep(),
            Body::Delta(body) => body.validate_deep(),
            Body::Dictionary(body) => body.validate_deep(),
        }
    }
}
