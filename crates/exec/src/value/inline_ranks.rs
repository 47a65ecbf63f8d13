//! Ranks of a column of inline ids: numbers that are ordered as ORDER BY orders the terms, without decoding them or looking for distinct ones.
//!
//! A column is ranked in parts, of which each is on its own but for the scale of decimals: [`InlineRanks::concat`] puts them together.
//!
//! Invariant: two ranks compare as [`compare_for_order`](super::compare_for_order) compares the terms; unbound comes first. Cost: some integer
//! operations for each id, and for a number without a value to SPARQL the digits of its text.

use super::inline::{to_float, utc_instant};
use super::inline_order::{calendar_rank, is_custom_number, written};
use super::order_key::ordered_as_ids;
use super::short_number::{POWERS, ShortNumber};
use crate::context::Context;
use crate::error::ExecError;
use basalt_rdf::TermId;
use basalt_rdf::qualifiers::{DOUBLE, FLOAT};

/// Ids between two looks at the query's flag and clock.
const CHECK_IDS: usize = 1 << 14;

/// How the ids of a column that begins with a certain one may be ranked, all in the same way.
#[derive(Clone, Copy, Debug)]
pub enum RankKind {
    /// Ids that are ordered as their terms.
    Id(TermId),
    /// Numbers of one datatype that SPARQL does not know, by their texts.
    Written(TermId),
    /// Floats.
    Float(TermId),
    /// Doubles.
    Double(TermId),
    /// Integers and decimals.
    Exact,
    /// Dates and times.
    Calendar,
}

/// The ranks of some ids of a column.
#[derive(Debug)]
pub struct InlineRanks {
    ranks: Vec<u64>,
    /// Digits after the point, which those of decimals are ranked without.
    scale: u8,
}

impl RankKind {
    /// The ways to rank a column whose first bound id this is, the cheapest one first.
    pub fn of(first: u64) -> impl Iterator<Item = Self> {
        let by_id = ordered_as_ids(first, first).then_some(Self::Id(TermId(first)));
        by_id.into_iter().chain(Self::by_value(TermId(first)))
    }

    fn by_value(first: TermId) -> Option<Self> {
        if is_custom_number(first) {
            return Some(Self::Written(first));
        }
        if first.is_binary_double() {
            return Some(Self::Double(first));
        }
        if first.is_numeric() {
            return Some(match first.numeric_datatype() {
                FLOAT => Self::Float(first),
                DOUBLE => Self::Double(first),
                _ => Self::Exact,
            });
        }
        calendar_rank(first).map(|_| Self::Calendar)
    }

    /// The ranks of some ids of the column; `None` if one is ranked in another way, or its rank is no number of this size.
    pub fn ranks(self, ids: &[u64], cx: &Context) -> Result<Option<InlineRanks>, ExecError> {
        let mut scale = 0;
        let ranks = match self {
            Self::Id(first) => {
                let rank = |id: TermId| ordered_as_ids(first.0, id.0).then_some(id.0);
                all(ids, rank, cx)?
            }
            Self::Written(first) => of_kind(ids, first, written_rank, cx)?,
            Self::Float(first) => {
                let value = |id: TermId| to_float(id.mantissa(), id.scale()).into();
                of_kind(ids, first, |id| Some(float_rank(value(id))), cx)?
            }
            Self::Double(first) => of_kind(ids, first, |id| id.as_f64().map(float_rank), cx)?,
            Self::Exact => {
                let scales = ids.iter().filter_map(|&id| Some(exact(TermId(id))?.1));
                scale = scales.max().unwrap_or_default();
                all(ids, |id| exact_rank(id, scale), cx)?
            }
            Self::Calendar => all(ids, date_rank, cx)?,
        };
        Ok(ranks.map(|ranks| InlineRanks { ranks, scale }))
    }
}

impl InlineRanks {
    /// The ranks of a column of its parts, in order; `None` if some part has none, or none of this size beside the others.
    pub fn concat(parts: Vec<Option<Self>>) -> Option<Vec<u64>> {
        let mut parts: Vec<Self> = parts.into_iter().collect::<Option<_>>()?;
        let scale = parts.iter().map(|part| part.scale).max()?;
        for part in parts.iter_mut().filter(|part| part.scale < scale) {
            part.rescale(scale)?;
        }
        let mut parts = parts.into_iter().map(|part| part.ranks);
        let first = parts.next()?;
        let rest: Vec<Vec<u64>> = parts.collect();
        if rest.is_empty() {
            return Some(first);
        }
        let count = first.len() + rest.iter().map(Vec::len).sum::<usize>();
        let mut ranks = Vec::with_capacity(count);
        ranks.extend(first);
        rest.into_iter().for_each(|part| ranks.extend(part));
        Some(ranks)
    }

    /// Ranks decimals with more digits after the point.
    fn rescale(&mut self, scale: u8) -> Option<()> {
        let power = POWERS[usize::from(scale - self.scale)];
        for rank in self.ranks.iter_mut().filter(|rank| **rank != 0) {
            *rank = rank_of(mantissa_of(*rank).checked_mul(power)?);
        }
        self.scale = scale;
        Some(())
    }
}

/// The ranks of ids, all of which have the datatype of the first.
fn of_kind(
    ids: &[u64],
    first: TermId,
    rank: impl Fn(TermId) -> Option<u64>,
    cx: &Context,
) -> Result<Option<Vec<u64>>, ExecError> {
    let of_type = first.datatype_tag();
    let rank = |id: TermId| (id.datatype_tag() == of_type).then(|| rank(id))?;
    all(ids, rank, cx)
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

fn exact(id: TermId) -> Option<(i64, u8)> {
    ShortNumber::of_id(id.0)?.exact()
}

/// An integer or decimal without its point, with so many digits after that; `None` if it has too many, or is another term.
fn exact_rank(id: TermId, scale_max: u8) -> Option<u64> {
    let (mantissa, scale) = exact(id)?;
    let power = POWERS[usize::from(scale_max - scale)];
    mantissa.checked_mul(power).map(rank_of)
}

/// More than that of unbound, since no mantissa is the least number of all.
fn rank_of(mantissa: i64) -> u64 {
    mantissa as u64 ^ 1 << 63
}

fn mantissa_of(rank: u64) -> i64 {
    (rank ^ 1 << 63) as i64
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
    let kind = u64::from(calendar_rank(id)?) + 1;
    let (second, fraction) = utc_instant(id)?;
    Some(kind << MICROS_BITS | utc_micros(second, fraction))
}

/// Bits of [`utc_micros`].
pub const MICROS_BITS: u32 = 60;

/// The microsecond of an instant of the years that are inline, told in seconds and units of 10^-18 since, as a positive number.
#[inline]
pub fn utc_micros(second: i64, fraction: i64) -> u64 {
    const BIAS: i64 = 1 << (MICROS_BITS - 1);
    (second * 1_000_000 + fraction / 10_i64.pow(12) + BIAS) as u64
}
