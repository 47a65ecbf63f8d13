//! Ranks of inline dateTimes beside a few of the dictionary, which are those with a part of a second.
//!
//! ```text
//! inline id  ->  rank of its second  | 0
//! other id   ->  rank of its second  | 0 if it is that, else its place among the others within that second, from 1 on
//! ```
//!
//! Without them all terms of the column would be decoded and compared for the sake of the few.
//!
//! Invariant: two ranks compare as [`compare_for_order`](crate::value::compare_for_order) compares the terms: the second of each other term is
//! compared with it, and so is the next one. Cost: some integer operations for each id; for each of the others four decoded terms, and memory for its
//! id and rank.

use super::shared_ids::SharedIds;
use super::sort_ranks::ranks_by_comparing;
use crate::context::Context;
use crate::error::ExecError;
use crate::value::{InlineRanks, OrderKey, RankKind};
use basalt_rdf::inline::dates::encode_date_time;
use basalt_rdf::inline::{XSD_DATE_TIME, encode};
use basalt_rdf::qualifiers::NumericCodes;
use basalt_rdf::term_id::tag;
use basalt_rdf::{LiteralKind, LiteralView, TermBuf, TermId, TermView};
use std::cmp::Ordering;

/// Ids that are looked at to tell whether it is such a column.
const LOOK_IDS: usize = 64;
/// One of so many ids may be another one, or else all are decoded.
const OTHERS_SHARE: usize = 8;
/// Bits for the place within a second.
const PLACE_BITS: u32 = 14;

/// An id that is not inline, with its rank.
type OtherRank = (u64, u64);

/// The ranks of a column, if most of it are inline dateTimes and all others are dateTimes, too, or unbound.
pub fn date_time_ranks(ids: &SharedIds, cx: &Context) -> Result<Option<Vec<u64>>, ExecError> {
    if ids.iter().take(LOOK_IDS).all(|&id| !is_inline(id)) {
        return Ok(None);
    }
    let mut others: Vec<u64> = ids.iter().copied().filter(|&id| is_other(id)).collect();
    if others.len() > ids.len() / OTHERS_SHARE {
        return Ok(None);
    }
    others.sort_unstable();
    others.dedup();
    let Some(others) = ranks_of_others(&others, cx)? else {
        return Ok(None);
    };
    let rank = move |_: usize, ids: &[u64], cx: &Context| {
        let inline: Vec<u64> = ids
            .iter()
            .map(|&id| if is_other(id) { 0 } else { id })
            .collect();
        let Some(mut ranks) = ranks_of_inline(&inline, cx)? else {
            return Ok(None);
        };
        for (rank, &id) in ranks.iter_mut().zip(ids).filter(|(_, id)| is_other(**id)) {
            let place = others.binary_search_by_key(&id, |other| other.0);
            *rank = place.map_or(0, |place| others[place].1);
        }
        Ok(Some(ranks))
    };
    let parts: Option<Vec<Vec<u64>>> = ids.in_pieces(rank, cx)?.into_iter().collect();
    Ok(parts.map(|parts| parts.concat()))
}

fn is_inline(id: u64) -> bool {
    TermId(id).tag() == tag::DATE_TIME
}

fn is_other(id: u64) -> bool {
    id != 0 && !is_inline(id)
}

/// The ranks of inline dateTimes, with room for places; 0 of unbound.
fn ranks_of_inline(ids: &[u64], cx: &Context) -> Result<Option<Vec<u64>>, ExecError> {
    let ranks = InlineRanks::concat(vec![RankKind::Calendar.ranks(ids, cx)?]);
    Ok(ranks.map(|mut ranks| {
        ranks.iter_mut().for_each(|rank| *rank <<= PLACE_BITS);
        ranks
    }))
}

/// The ranks of distinct ids that are not inline, by id; `None` if one of them is no dateTime, or too many are within one second.
fn ranks_of_others(ids: &[u64], cx: &Context) -> Result<Option<Vec<OtherRank>>, ExecError> {
    let mut places = Vec::with_capacity(ids.len());
    for &id in ids {
        match second_of(id, cx)? {
            Some((second, is_equal)) => places.push((second, is_equal, id)),
            None => return Ok(None),
        }
    }
    let seconds: Vec<u64> = places.iter().map(|place| place.0).collect();
    let Some(seconds) = ranks_of_inline(&seconds, cx)? else {
        return Ok(None);
    };
    places
        .iter_mut()
        .zip(seconds)
        .for_each(|(place, rank)| place.0 = rank);
    places.sort_unstable();
    let mut ranks: Vec<OtherRank> = Vec::with_capacity(ids.len());
    for same in places.chunk_by(|a, b| a.0 == b.0) {
        let of_second: Vec<u64> = same.iter().map(|place| place.2).collect();
        let order = ranks_by_comparing(&of_second, cx)?;
        if order.len() >> PLACE_BITS > 0 {
            return Ok(None);
        }
        let ranked = same.iter().zip(order);
        ranks.extend(
            ranked.map(|(&(second, is_equal, id), place)| match is_equal {
                true => (id, second),
                false => (id, second + place + 1),
            }),
        );
    }
    ranks.sort_unstable();
    Ok(Some(ranks))
}

/// The inline id of the second that a dateTime is in, and whether it is just that.
fn second_of(id: u64, cx: &Context) -> Result<Option<(u64, bool)>, ExecError> {
    let mut term = TermBuf::new();
    cx.decode(TermId(id), &mut term)?;
    let Some((second, next)) = seconds_around(term.view()) else {
        return Ok(None);
    };
    let key = OrderKey::of(id, cx)?;
    let from = OrderKey::of(second, cx)?.compare(&key);
    let until = key.compare(&OrderKey::of(next, cx)?);
    let is_within = from != Ordering::Greater && until == Ordering::Less;
    Ok(is_within.then_some((second, from == Ordering::Equal)))
}

/// The second of a dateTime by its text without digits behind a point, and the next one.
fn seconds_around(term: TermView<'_>) -> Option<(u64, u64)> {
    let TermView::Literal(literal) = term else {
        return None;
    };
    if literal.datatype() != XSD_DATE_TIME {
        return None;
    }
    let (whole, part) = literal.lexical.split_once('.')?;
    let zone = part.trim_start_matches(|byte: char| byte.is_ascii_digit());
    let text = format!("{whole}{zone}");
    let literal = LiteralView {
        lexical: &text,
        kind: LiteralKind::Typed(XSD_DATE_TIME),
    };
    let second = encode(literal, &mut NoNumbers)?;
    let next = encode_date_time(second.local_seconds()? + 1, second.zone_code())?;
    Some((second.0, next.0))
}

/// A dateTime asks for no code.
struct NoNumbers;

impl NumericCodes for NoNumbers {
    fn numeric_code(&mut self, _: &str) -> Option<u8> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use crate::value::compare_for_order;
    use basalt_store::Snapshot;
    use proptest::prelude::*;

    /// DateTimes near each other, most of them inline, now and then what is none.
    fn text() -> impl Strategy<Value = String> {
        let inline = "2020-01-01T0[0-2]:00:0[0-3](Z|\\+01:00|-01:00)?";
        let parts = "2020-01-01T0[0-2]:00:0[0-3]\\.[05]{1,3}(Z|\\+01:00)?";
        let odd = vec![
            "unbound",
            "2020-01-01T24:00:00",
            "x",
            "-2020-01-01T00:00:00.5Z",
            "9999-12-31T23:59:59.5Z",
        ];
        prop_oneof![
            40 => inline.prop_map(String::from),
            4 => parts.prop_map(String::from),
            1 => prop::sample::select(odd).prop_map(str::to_owned),
        ]
    }

    proptest! {
        #[test]
        fn ranks_order_as_comparisons_do(
            texts in prop::collection::vec(text(), 1..60),
            threads in 1..3_usize,
        ) {
            let options = ExecOptions { threads, ..ExecOptions::default() };
            let cx = Context::new(Snapshot::empty(), options, 0);
            let id = |text: &String| match text.as_str() {
                "unbound" => 0,
                text => cx.terms().intern(TermView::typed(text, XSD_DATE_TIME)).0,
            };
            let ids: Vec<u64> = texts.iter().map(id).collect();
            let shared = SharedIds::from(ids.clone());
            if let Some(ranks) = date_time_ranks(&shared, &cx).expect("terms decode") {
                prop_assert_eq!(ranks.len(), ids.len());
                for (a, rank_a) in ids.iter().zip(&ranks) {
                    for (b, rank_b) in ids.iter().zip(&ranks) {
                        let order = compare_for_order(*a, *b, &cx).expect("terms decode");
                        prop_assert_eq!(rank_a.cmp(rank_b), order, "{:#x} {:#x}", a, b);
                    }
                }
            } else {
                let others = ids.iter().filter(|id| is_other(**id)).count();
                let is_odd = |text: &String| text.contains('x') || text.contains("24:") || text.starts_with('-') || text.starts_with('9');
                prop_assert!(others > ids.len() / OTHERS_SHARE || texts.iter().any(is_odd) || others == ids.len() || !ids.iter().any(|id| is_inline(*id)));
            }
        }
    }
}
