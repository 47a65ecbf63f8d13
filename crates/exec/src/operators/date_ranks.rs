//! Ranks of inline dateTimes beside others of the dictionary, which are those with a fraction of a second.
//!
//! ```text
//! inline id  ->  rank of its second  | 0
//! other id   ->  rank of its second  | 0 if it is that, else the place of its fraction among those within that second, from 1 on
//! ```
//!
//! Without them all terms of the column would be decoded and compared for the sake of some.
//!
//! Invariant: two ranks compare as [`compare_for_order`](crate::value::compare_for_order) compares the terms. Cost: some integer operations for each id; for each
//! different one of the others a text that is read, and memory for its id and rank.

use super::shared_ids::SharedIds;
use crate::context::Context;
use crate::error::ExecError;
use crate::value::{InlineRanks, RankKind, Reader};
use basalt_rdf::TermId;
use basalt_rdf::term_id::tag;

/// Bits for the place within a second.
const PLACE_BITS: u32 = 14;

/// An id that is not inline, with its rank.
type OtherRank = (u64, u64);

/// The ranks of a column, if it has dateTimes that are inline or have a fraction of a second, and nothing else but unbound.
pub fn date_time_ranks(ids: &SharedIds, cx: &Context) -> Result<Option<Vec<u64>>, ExecError> {
    let is_split = |id: u64| Ok::<_, ExecError>(Reader::new(cx).split_date_time(id)?.is_some());
    match ids.iter().find(|&&id| is_other(id)) {
        Some(&first) if is_split(first)? => {}
        _ => return Ok(None),
    }
    let mut others: Vec<u64> = ids.iter().copied().filter(|&id| is_other(id)).collect();
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

/// The ranks of distinct ids that are not inline, by id; `None` if one of them has no fraction of a second, or too many differ within one second.
fn ranks_of_others(ids: &[u64], cx: &Context) -> Result<Option<Vec<OtherRank>>, ExecError> {
    let (mut seconds, mut fractions) = (Vec::new(), Vec::new());
    let reader = &mut Reader::new(cx);
    for &id in ids {
        let Some((second, fraction)) = reader.split_date_time(id)? else {
            return Ok(None);
        };
        seconds.push(second.0);
        fractions.push(fraction);
    }
    let Some(seconds) = ranks_of_inline(&seconds, cx)? else {
        return Ok(None);
    };
    let places = seconds.into_iter().zip(fractions).zip(ids);
    let mut places: Vec<((u64, i64), u64)> = places.map(|(at, &id)| (at, id)).collect();
    places.sort_unstable();
    let mut ranks: Vec<OtherRank> = Vec::with_capacity(ids.len());
    for same_second in places.chunk_by(|a, b| a.0.0 == b.0.0) {
        let mut place = 0;
        for same in same_second.chunk_by(|a, b| a.0 == b.0) {
            let ((second, fraction), _) = same[0];
            place += u64::from(fraction > 0);
            ranks.extend(same.iter().map(|&(_, id)| (id, second + place)));
        }
        if place >> PLACE_BITS > 0 {
            return Ok(None);
        }
    }
    ranks.sort_unstable();
    Ok(Some(ranks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use crate::value::compare_for_order;
    use basalt_rdf::TermView;
    use basalt_rdf::inline::XSD_DATE_TIME;
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
                let is_odd = |text: &String| text.contains(['x']) || text.contains("24:") || text.starts_with('-');
                prop_assert!(texts.iter().any(is_odd) || !ids.iter().any(|id| is_other(*id)));
            }
        }
    }
}
