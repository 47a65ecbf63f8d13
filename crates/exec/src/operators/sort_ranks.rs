//! Ranks: for a column of ids, numbers that are ordered as ORDER BY orders the terms.
//!
//! ```text
//! ids of rows -> distinct ids -> texts side by side in one arena, other terms as decoded keys
//!             -> sorted once -> rank of each distinct id -> rank of each row
//! ```
//!
//! Every distinct term is decoded once, not once a comparison; rows are then sorted by integers. Ids whose
//! order is that of their terms (numbers of one type and scale, dates of one zone) are their own ranks, and other inline ids of one kind have ranks
//! that are computed ([`RankKind`]), piece by piece on all threads; so have dateTimes of which some have a fraction of a second (`date_ranks.rs`).
//!
//! Invariant: two ranks compare as [`compare_for_order`] compares the terms; [`ranks_by_comparing`], the slow
//! twin, takes over where the memory limit leaves no room for texts and fewer rows at a time are no way out
//! ([`WithoutRoom`]). Memory: the texts of distinct terms and 92 bytes for each, for a number or date its decoded
//! key and 24, counted; what a row takes besides is [`ROW_BYTES`] and [`KEY_BYTES`], for the caller to count.

use crate::context::Context;
use crate::error::ExecError;
use crate::operators::date_ranks::date_time_ranks;
use crate::operators::fallible_sort::sort_fallibly;
use crate::operators::key_words::KeyWords;
use crate::operators::shared_ids::SharedIds;
use crate::operators::sort_places::SortPlaces;
use crate::operators::without_room::WithoutRoom;
use crate::partitioning::are_mostly_new;
use crate::row_numbers::RowNumbers;
use crate::value::{InlineRanks, RankKind, compare_for_order};
use std::cmp::Ordering;

/// Ids numbered between two looks at the limits.
const CHECK_IDS: usize = if cfg!(test) { 8 } else { 4096 };
/// Rows that tell whether hardly one has the id of another: numbers of fewer ids lie in the nearer caches.
const LOOK_ROWS: usize = if cfg!(test) { 8 } else { 1 << 15 };

/// What sorting takes for each row: its position before and after, and two words of ranks and position.
pub const ROW_BYTES: usize = 2 * size_of::<u32>() + 2 * size_of::<u64>();
/// What sorting takes for each row and key: its rank, and while that is made its distinct id, the place of that in a table
/// and its number.
pub const KEY_BYTES: usize = 2 * size_of::<u64>() + 3 * size_of::<u32>();

/// A rank for each id.
pub fn ranks(
    ids: &SharedIds,
    without_room: &WithoutRoom,
    cx: &Context,
) -> Result<Vec<u64>, ExecError> {
    let Some(&first) = ids.iter().find(|id| **id != 0) else {
        return Ok(ids.to_vec());
    };
    for kind in RankKind::of(first) {
        let parts = ids.in_pieces(move |_, ids, cx| kind.ranks(ids, cx), cx)?;
        if let Some(ranks) = InlineRanks::concat(parts) {
            return Ok(ranks);
        }
    }
    if let Some(ranks) = date_time_ranks(ids, cx)? {
        return Ok(ranks);
    }
    let (distinct, numbers) = distinct_ids(ids, cx)?;
    let distinct = SharedIds::from(distinct);
    let room = match without_room {
        WithoutRoom::Compare => None,
        WithoutRoom::Refuse(room) => Some(room),
    };
    let of_distinct = match SortPlaces::of(&distinct, room, cx) {
        Ok(places) => places.rank(&distinct, cx)?,
        Err(ExecError::MemoryLimit { .. }) if room.is_none() => ranks_by_comparing(&distinct, cx)?,
        Err(error) => return Err(error),
    };
    Ok(numbers.iter().map(|&n| of_distinct[n as usize]).collect())
}

/// The distinct ids, and for each row the index of its id there.
fn distinct_ids(ids: &[u64], cx: &Context) -> Result<(Vec<u64>, Vec<u32>), ExecError> {
    let mut distinct = RowNumbers::hashed(1);
    let mut numbers = Vec::with_capacity(ids.len());
    for some in ids.chunks(CHECK_IDS) {
        cx.check()?;
        if numbers.len() == LOOK_ROWS && are_mostly_new(distinct.count(), LOOK_ROWS) {
            return distinct_by_sorting(ids, cx);
        }
        distinct.numbers_of(&[some], some.len(), &mut numbers);
    }
    Ok((distinct.into_rows(), numbers))
}

/// The same of ids of which most are there once: a table of all of them would be asked for a line of memory with each. In the order of ids, which is the
/// one in which the dictionary has them.
fn distinct_by_sorting(ids: &[u64], cx: &Context) -> Result<(Vec<u64>, Vec<u32>), ExecError> {
    let numbers = KeyWords::of_key(ids, cx)?.numbered(cx)?;
    let count = numbers.words.iter().max().map_or(0, |last| last + 1);
    let mut distinct = vec![0; count as usize];
    for (&number, &id) in numbers.words.iter().zip(ids) {
        distinct[number as usize] = id;
    }
    let numbers = numbers.words.into_iter().map(|number| number as u32);
    Ok((distinct, numbers.collect()))
}

/// Ranks of distinct ids through [`compare_for_order`] alone.
pub fn ranks_by_comparing(distinct: &[u64], cx: &Context) -> Result<Vec<u64>, ExecError> {
    let mut order: Vec<u32> = (0..distinct.len() as u32).collect();
    sort_fallibly(&mut order, cx, |a, b| {
        compare_for_order(distinct[a as usize], distinct[b as usize], cx)
    })?;
    let equal = |a: u32, b: u32| {
        let order = compare_for_order(distinct[a as usize], distinct[b as usize], cx)?;
        Ok(order == Ordering::Equal)
    };
    number(&order, equal)
}

/// Gives the members of a sorted list their ranks, equal ones the same.
fn number(
    order: &[u32],
    equal: impl Fn(u32, u32) -> Result<bool, ExecError>,
) -> Result<Vec<u64>, ExecError> {
    let mut ranks = vec![0; order.len()];
    let mut rank = 0;
    for (idx, &member) in order.iter().enumerate() {
        if idx > 0 && !equal(order[idx - 1], member)? {
            rank += 1;
        }
        ranks[member as usize] = rank;
    }
    Ok(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use basalt_rdf::TermView;
    use basalt_store::Snapshot;
    use proptest::prelude::*;

    const TYPES: [&str; 9] = [
        "integer", "decimal", "double", "float", "boolean", "date", "dateTime", "gYear", "other",
    ];

    fn terms() -> impl Strategy<Value = (usize, String)> {
        let numbers = "-?[0-3]{1,2}(\\.[05]{1,2})?(E1)?";
        let dates = "200[0-3](-0[12]-0[1-3](T0[0-3]:00:00)?)?(Z|\\+02:00)?";
        let texts = "(http://e/|tr)?(a|b|ue|1|true|false){0,2}";
        (0..TYPES.len() + 4, prop_oneof![numbers, dates, texts])
    }

    fn id(cx: &Context, (kind, text): &(usize, String)) -> u64 {
        let xsd = |name: &str| format!("http://www.w3.org/2001/XMLSchema#{name}");
        let view = |view| cx.terms().intern(view).0;
        match kind.checked_sub(4) {
            Some(kind) => view(TermView::typed(text, &xsd(TYPES[kind]))),
            None if *kind == 0 => 0,
            None if *kind == 1 => view(TermView::Iri(&format!("http://e/{text}"))),
            None if *kind == 2 => view(TermView::simple(text)),
            None => view(TermView::language(text, "en")),
        }
    }

    proptest! {
        #[test]
        fn ranks_order_as_comparisons_do(
            terms in proptest::collection::vec(terms(), 0..40),
            one_kind in any::<bool>(),
            threads in 1..4_usize,
        ) {
            let options = ExecOptions { threads, ..ExecOptions::default() };
            let cx = Context::new(Snapshot::empty(), options, 0);
            let first = terms.first().map_or(0, |term| term.0);
            let kept = terms.iter().filter(|term| !one_kind || term.0 == first);
            let ids: Vec<u64> = kept.map(|term| id(&cx, term)).collect();
            let shared = SharedIds::from(ids.clone());
            let ranks = ranks(&shared, &WithoutRoom::Compare, &cx).expect("terms decode");
            for (a, rank_a) in ids.iter().zip(&ranks) {
                for (b, rank_b) in ids.iter().zip(&ranks) {
                    let order = compare_for_order(*a, *b, &cx).expect("terms decode");
                    prop_assert_eq!(rank_a.cmp(rank_b), order, "{:#x} {:#x}", a, b);
                }
            }
            let (distinct, _) = distinct_ids(&ids, &cx).expect("nothing ends it");
            let slow = ranks_by_comparing(&distinct, &cx).expect("terms decode");
            for (id, rank) in ids.iter().zip(&ranks) {
                for (other, slow_rank) in distinct.iter().zip(&slow) {
                    let place = distinct.iter().position(|d| d == id).expect("it is there");
                    let other_rank = ranks[ids.iter().position(|i| i == other).expect("it is there")];
                    prop_assert_eq!(rank.cmp(&other_rank), slow[place].cmp(slow_rank));
                }
            }
        }
    }
}
