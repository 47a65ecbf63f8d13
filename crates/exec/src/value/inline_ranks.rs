//! Ranks of a column of inline ids: numbers that are ordered as ORDER BY orders the terms, without decoding them or looking for distinct ones.
//!
//! Invariant: two ranks compare as [`compare_for_order`](super::compare_for_order) compares the terms; unbound comes first. Cost: some integer
//! operations for each id, and for a number without a value to SPARQL the digits of its text.

use super::inline::to_float;
use super::inline_order::{calendar_rank, is_custom_number, written};
use super::short_number::{POWERS, ShortNumber};
use crate::context::Context;
use crate::error::ExecError;
use basalt_rdf::TermId;
use basalt_rdf::inline::numeric;
use basalt_rdf::qualifiers::{DOUBLE, FLOAT};

/// Ids between two looks at the query's flag and clock.
const CHECK_IDS: usize = 1 << 14;

/// The ranks; `None` if ids are of several kinds, or of one whose ranks are not numbers of this size.
pub fn inline_ranks(ids: &[u64], cx: &Context) -> Result<Option<Vec<u64>>, ExecError> {
    let Some(first) = ids.iter().find(|&&id| id != 0).map(|&id| TermId(id)) else {
        return Ok(None);
    };
    if is_custom_number(first) {
        return of_kind(ids, first, written_rank, cx);
    }
    if first.is_numeric() {
        let float = |id: TermId| float_rank(to_float(id.mantissa(), id.scale()).into());
        let double = |id: TermId| float_rank(numeric::to_f64(id.mantissa(), id.scale()));
        return match first.numeric_datatype() {
            FLOAT => of_kind(ids, first, |id| Some(float(id)), cx),
            DOUBLE => of_kind(ids, first, |id| Some(double(id)), cx),
            _ => exact_ranks(ids, cx),
        };
    }
    match calendar_rank(first) {
        Some(_) => all(ids, date_rank, cx),
        None => Ok(None),
    }
}

/// The ranks of ids, all of which have the tag of the first.
fn of_kind(
    ids: &[u64],
    first: TermId,
    rank: impl Fn(TermId) -> Option<u64>,
    cx: &Context,
) -> Result<Option<Vec<u64>>, ExecError> {
    all(ids, |id| (id.tag() == first.tag()).then(|| rank(id))?, cx)
}

fn all(
    ids: &[u64],
    rank: impl Fn(TermId) -> Option<u64>,
    cx: &Context,
) -> Result<Option<Vec<u64>>, ExecError> {
    let mut ranks = Vec::with_capacity(ids.len());
    for ids in ids.chunks(CHECK_IDS) {
        cx.check()?;
        for &id in ids {
            match if id == 0 { Some(0) } else { rank(TermId(id)) } {
                Some(rank) => ranks.push(rank),
                None => return Ok(None),
            }
        }
    }
    Ok(Some(ranks))
}

/// Integers and decimals without their points, all with as many digits after them; `None` if one has too many, or is another term.
fn exact_ranks(ids: &[u64], cx: &Context) -> Result<Option<Vec<u64>>, ExecError> {
    let exact = |id: TermId| ShortNumber::of_id(id.0)?.exact();
    let scales = ids.iter().filter_map(|&id| Some(exact(TermId(id))?.1));
    let scale_max = scales.max().unwrap_or_default();
    let rank = |id: TermId| {
        let (mantissa, scale) = exact(id)?;
        let mantissa = mantissa.checked_mul(POWERS[usize::from(scale_max - scale)])?;
        // More than that of unbound, since no mantissa is the least number of all.
        Some(mantissa as u64 ^ 1 << 63)
    };
    all(ids, rank, cx)
}

/// The text of an inline number, its characters in four bits each from the highest on; `None` if it has more than sixteen.
#[inline]
fn written_rank(id: TermId) -> Option<u64> {
    const BITS: u32 = 4;
    let text = written(id);
    let mut rank = 0;
    for &byte in text.as_bytes() {
        // As they are ordered: the end, minus, point, digits.
        let code = match byte {
            b'-' => 1,
            b'.' => 2,
            digit => u64::from(digit - b'0') + 3,
        };
        rank = rank << BITS | code;
    }
    let free = u64::BITS.checked_sub(text.as_bytes().len() as u32 * BITS)?;
    Some(rank << free)
}

/// A finite value: bits of negative ones turned round, others behind them.
#[inline]
fn float_rank(value: f64) -> u64 {
    const SIGN: u64 = 1 << 63;
    let bits = value.to_bits();
    match bits & SIGN {
        0 => bits | SIGN,
        _ => !bits,
    }
}

/// Kind by kind, and then by the instant.
#[inline]
fn date_rank(id: TermId) -> Option<u64> {
    /// Seconds of the years that are inline are far below.
    const SECONDS_BITS: u32 = 48;
    let kind = u64::from(calendar_rank(id)?) + 1;
    let seconds = id.utc_seconds()? + (1 << (SECONDS_BITS - 1));
    let seconds = u64::try_from(seconds).ok()?;
    (seconds >> SECONDS_BITS == 0).then_some(kind << SECONDS_BITS | seconds)
}
