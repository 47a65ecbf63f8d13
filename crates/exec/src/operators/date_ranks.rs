//! Ranks of inline dateTimes beside others of the dictionary, which are those with fractions of a second that no inline one has.
//!
//! ```text
//! inline id  ->  its microsecond  | 0
//! other id   ->  its microsecond  | 0 if it is that, else its place among those within that microsecond, from 1 on
//! ```
//!
//! Without them all terms of the column would be decoded and compared for the sake of some.
//!
//! Invariant: two ranks compare as [`compare_for_order`](crate::value::compare_for_order) compares the terms. Cost: some integer operations for each id; for each
//! different one of the others a text that is read, and memory for its id and rank.

use super::shared_ids::SharedIds;
use crate::context::Context;
use crate::error::ExecError;
use crate::value::{MICROS_BITS, Reader, utc_micros};
use basalt_rdf::TermId;

/// Bits for the place within a microsecond.
const PLACE_BITS: u32 = u64::BITS - MICROS_BITS;
/// Ids between two looks at the query's flag and clock.
const CHECK_IDS: usize = 1 << 14;

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
    let rank = move |id: u64| match id {
        0 => 0,
        id => inline_rank(id).unwrap_or_else(|| {
            let place = others.binary_search_by_key(&id, |other| other.0);
            place.map_or(0, |place| others[place].1)
        }),
    };
    let ranks = move |_: usize, ids: &[u64], cx: &Context| {
        let mut ranks = Vec::with_capacity(ids.len());
        for ids in ids.chunks(CHECK_IDS) {
            cx.check()?;
            ranks.extend(ids.iter().map(|&id| rank(id)));
        }
        Ok(ranks)
    };
    Ok(Some(ids.in_pieces(ranks, cx)?.concat()))
}

/// The rank of an inline dateTime.
#[inline]
fn inline_rank(id: u64) -> Option<u64> {
    let (second, fraction) = TermId(id).split_second()?;
    Some(utc_micros(second.utc_seconds()?, fraction) << PLACE_BITS)
}

fn is_other(id: u64) -> bool {
    id != 0 && TermId(id).split_second().is_none()
}

/// The ranks of distinct ids that are not inline, by id; `None` if one of them has no fraction of a second, or too many differ within one
/// microsecond.
fn ranks_of_others(ids: &[u64], cx: &Context) -> Result<Option<Vec<OtherRank>>, ExecError> {
    /// Units of 10^-18 seconds.
    const MICROSECOND: i64 = 10_i64.pow(12);
    let reader = &mut Reader::new(cx);
    let mut places: Vec<((u64, i64), u64)> = Vec::with_capacity(ids.len());
    for &id in ids {
        let split = reader.split_date_time(id)?;
        let Some((Some(second), fraction)) = split.map(|(start, rest)| (start.utc_seconds(), rest))
        else {
            return Ok(None);
        };
        let micros = utc_micros(second, fraction);
        places.push(((micros, fraction % MICROSECOND), id));
    }
    places.sort_unstable();
    let mut ranks: Vec<OtherRank> = Vec::with_capacity(ids.len());
    for same_micros in places.chunk_by(|a, b| a.0.0 == b.0.0) {
        let mut place = 0;
        for same in same_micros.chunk_by(|a, b| a.0 == b.0) {
            let ((micros, rest), _) = same[0];
            place += u64::from(rest > 0);
            ranks.extend(
                same.iter()
                    .map(|&(_, id)| (id, micros << PLACE_BITS | place)),
            );
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
        let parts = "2020-01-01T0[0-2]:00:0[0-3]\\.[05]{1,7}(Z|\\+01:00)?";
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
