//! Sequences: any list of 64-bit values in the cheapest of five codecs, all random-access.
//!
//! ```text
//! byte 0        1        2        3        4              8
//!      +--------+--------+--------+--------+--------------+----------------
//!      |  kind  | width A| width B| width C|  length u32  | body of the codec
//!      +--------+--------+--------+--------+--------------+----------------
//! ```
//!
//! | kind | codec | module | good for |
//! | --- | --- | --- | --- |
//! | 0 | constant | [`constant`] | one value |
//! | 1 | run-length | [`run_length`] | long runs |
//! | 2 | frame of reference | [`frame_of_reference`] | values of one magnitude |
//! | 3 | delta | [`delta`] | sorted or nearly sorted values, offsets, arithmetic sequences |
//! | 4 | dictionary | [`dictionary`] | few distinct values far apart |
//!
//! Every codec file has the same inner shape: `size` (exact, from a [`Profile`] or the values),
//! `write` (the body), a view with `open`, `get`, `decode`, `gather`, `lower_bound`,
//! `find_in_range` and `validate_deep`; [`Sequence`] dispatches once per call.
//!
//! Invariants: `decode(encode(v)) == v`; a size estimate is exact; a sequence needs no alignment
//! and tells its own length in bytes, so sequences can stand one after another.

pub mod constant;
pub mod delta;
pub mod dictionary;
pub mod frame_of_reference;
mod profile;
mod run_index;
pub mod run_length;
mod sequence;
mod span;
#[cfg(test)]
mod tests;

pub use profile::Profile;
pub use sequence::Sequence;

/// Bytes of the header that every sequence has.
pub(crate) const HEADER_BYTES: usize = 8;

/// A codec must save this share of the bytes over a codec that reads faster (one eighth: below
/// that the slower `get` of runs and deltas is not worth the disk).
const SAVING_DIVISOR: usize = 8;

/// The codec of a sequence; the discriminant is the kind byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum CodecKind {
    /// One value, repeated.
    Constant = 0,
    /// Runs of equal values.
    RunLength = 1,
    /// A base and bit-packed differences from it.
    FrameOfReference = 2,
    /// Blocks of bit-packed differences between neighbours.
    Delta = 3,
    /// Sorted distinct values and bit-packed codes.
    Dictionary = 4,
}

impl CodecKind {
    /// Every codec, in the order of the kind byte.
    pub const ALL: [Self; 5] = [
        Self::Constant,
        Self::RunLength,
        Self::FrameOfReference,
        Self::Delta,
        Self::Dictionary,
    ];

    /// The name, for people.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::RunLength => "run-length",
            Self::FrameOfReference => "frame of reference",
            Self::Delta => "delta",
            Self::Dictionary => "dictionary",
        }
    }

    /// The codec with this kind byte.
    fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.get(usize::from(byte)).copied()
    }
}

/// Appends `values` in the cheapest codec.
///
/// # Panics
///
/// If there are more than `u32::MAX` values.
pub fn encode(values: &[u64], out: &mut Vec<u8>) -> CodecKind {
    let profile = Profile::of(values);
    let (kind, distinct) = cheapest(values, &profile);
    write(kind, values, &profile, distinct, out);
    kind
}

/// Appends `values` in the codec `kind`; false and nothing written if it cannot hold them.
///
/// # Panics
///
/// If there are more than `u32::MAX` values.
pub fn encode_as(kind: CodecKind, values: &[u64], out: &mut Vec<u8>) -> bool {
    let profile = Profile::of(values);
    let fits = match kind {
        CodecKind::Constant => profile.runs <= 1,
        _ => !values.is_empty(),
    };
    if fits {
        write(kind, values, &profile, None, out);
    }
    fits
}

/// The exact size in bytes of `values` in the codec `kind`, or `None` if it cannot hold them.
pub fn size_as(kind: CodecKind, values: &[u64]) -> Option<usize> {
    let profile = Profile::of(values);
    let body = match kind {
        CodecKind::Constant => (profile.runs <= 1).then_some(constant::SIZE),
        _ if values.is_empty() => None,
        CodecKind::RunLength => Some(run_length::size(&profile)),
        CodecKind::FrameOfReference => Some(frame_of_reference::size(&profile)),
        CodecKind::Delta => Some(delta::size(values)),
        CodecKind::Dictionary => Some(dictionary::size(&profile, &dictionary::distinct(values))),
    };
    body.map(|body| HEADER_BYTES + body)
}

/// The codec to use, and the sorted distinct values if they were few enough to look for.
fn cheapest(values: &[u64], profile: &Profile) -> (CodecKind, Option<Vec<u64>>) {
    if profile.runs <= 1 {
        return (CodecKind::Constant, None);
    }
    let mut best = (
        frame_of_reference::size(profile),
        CodecKind::FrameOfReference,
    );
    let worth = |size: usize, best: usize| size + best / SAVING_DIVISOR < best;
    let distinct = profile.distinct_if_few(values);
    if let Some(distinct) = &distinct {
        let size = dictionary::size(profile, distinct);
        if size < best.0 {
            best = (size, CodecKind::Dictionary);
        }
    }
    let runs = run_length::size(profile);
    if worth(runs, best.0) {
        best = (runs, CodecKind::RunLength);
    }
    if worth(delta::size_min(profile), best.0) && worth(delta::size(values), best.0) {
        best.1 = CodecKind::Delta;
    }
    (best.1, distinct)
}

fn write(
    kind: CodecKind,
    values: &[u64],
    profile: &Profile,
    distinct: Option<Vec<u64>>,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    let len = u32::try_from(values.len()).expect("a sequence has at most u32::MAX values");
    out.extend_from_slice(&[kind as u8, 0, 0, 0]);
    out.extend_from_slice(&len.to_le_bytes());
    let widths = match kind {
        CodecKind::Constant => constant::write(values, out),
        CodecKind::RunLength => run_length::write(values, profile, out),
        CodecKind::FrameOfReference => frame_of_reference::write(values, out),
        CodecKind::Delta => delta::write(values, out),
        CodecKind::Dictionary => {
            let distinct = distinct.unwrap_or_else(|| dictionary::distinct(values));
            dictionary::write(values, &distinct, out)
        }
    };
    out[start + 1..start + 4].copy_from_slice(&widths);
}
