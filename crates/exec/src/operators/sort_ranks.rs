//! Ranks: for a column of ids, numbers that are ordered as ORDER BY orders the terms.
//!
//! ```text
//! ids of rows -> distinct ids -> texts side by side in one arena, other terms as decoded keys
//!             -> sorted once -> rank of each distinct id -> rank of each row
//! ```
//!
//! Every distinct term is decoded once, not once a comparison; rows are then sorted by integers. Ids whose
//! order is that of their terms (numbers of one type and scale, dates of one zone) are their own ranks, and other inline ids of one kind have ranks
//! that are computed ([`inline_ranks`]).
//!
//! Invariant: two ranks compare as [`compare_for_order`] compares the terms; [`ranks_by_comparing`], the slow
//! twin, takes over where the memory limit leaves no room for texts and fewer rows at a time are no way out
//! ([`WithoutRoom`]). Memory: the texts of distinct terms and 72 bytes for each, for a number or date its decoded
//! key and 24, counted; what a row takes besides is [`ROW_BYTES`] and [`KEY_BYTES`], for the caller to count.

use crate::context::Context;
use crate::error::ExecError;
use crate::operators::fallible_sort::{sort_fallibly, sort_totally};
use crate::operators::text_arena::{TextArena, TextAt};
use crate::operators::text_sort::{TextPlace, sort_texts};
use crate::row_numbers::RowNumbers;
use crate::value::{
    OrderClass, OrderKey, compare_for_order, inline_ranks, ordered_as_ids, text_into,
};
use std::cmp::Ordering;

/// Terms decoded between two looks at the limits.
const CHECK_TERMS: usize = 4096;

/// What sorting takes for a text: its place, and room to merge places.
const SORTED_TEXT_BYTES: usize = 2 * size_of::<TextPlace>();
/// What sorting takes for a number or date: its nearest double, its place, and room to merge places.
const SORTED_VALUE_BYTES: usize = size_of::<f64>() + 2 * size_of::<u32>();

/// What sorting takes for each row: its position before and after, and two words of ranks and position.
pub const ROW_BYTES: usize = 2 * size_of::<u32>() + 2 * size_of::<u64>();
/// What sorting takes for each row and key: its rank, and while that is made its distinct id, the place of that in a table
/// and its number.
pub const KEY_BYTES: usize = 2 * size_of::<u64>() + 3 * size_of::<u32>();

/// What happens where there is no room for the texts of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WithoutRoom {
    /// Terms are decoded for each comparison.
    Compare,
    /// The sort ends with the error, to be done again with fewer rows.
    Refuse,
}

/// A rank for each id.
pub fn ranks(ids: &[u64], without_room: WithoutRoom, cx: &Context) -> Result<Vec<u64>, ExecError> {
    if are_own_ranks(ids) {
        return Ok(ids.to_vec());
    }
    if let Some(ranks) = inline_ranks(ids, cx)? {
        return Ok(ranks);
    }
    let (distinct, numbers) = distinct_ids(ids, cx)?;
    let of_distinct = match Places::collect(&distinct, cx) {
        Ok(places) => places.rank(&distinct, cx)?,
        Err(ExecError::MemoryLimit { .. }) if without_room == WithoutRoom::Compare => {
            ranks_by_comparing(&distinct, cx)?
        }
        Err(error) => return Err(error),
    };
    Ok(numbers.iter().map(|&n| of_distinct[n as usize]).collect())
}

/// Whether the ids are ordered as their terms; unbound comes first in both orders.
fn are_own_ranks(ids: &[u64]) -> bool {
    let mut bound = ids.iter().filter(|id| **id != 0);
    let Some(&first) = bound.next() else {
        return true;
    };
    ordered_as_ids(first, first) && bound.all(|&id| ordered_as_ids(first, id))
}

/// The distinct ids, and for each row the index of its id there.
fn distinct_ids(ids: &[u64], cx: &Context) -> Result<(Vec<u64>, Vec<u32>), ExecError> {
    let mut distinct = RowNumbers::hashed(1);
    let mut numbers = Vec::with_capacity(ids.len());
    for ids in ids.chunks(CHECK_TERMS) {
        cx.check()?;
        distinct.numbers_of(&[ids], ids.len(), &mut numbers);
    }
    Ok((distinct.into_rows(), numbers))
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

/// The places of distinct terms, decoded.
struct Places<'a> {
    cx: &'a Context,
    unbound: Option<u32>,
    arena: TextArena,
    texts: Vec<TextPlace>,
    /// Numbers and calendar terms; the key is left out where ids compare without decoding.
    values: Vec<(u32, Option<OrderKey>)>,
    /// Bytes counted against the limit.
    reserved: usize,
}

impl Drop for Places<'_> {
    fn drop(&mut self) {
        self.cx.release(self.reserved);
    }
}

impl<'a> Places<'a> {
    /// Decodes what has to be decoded.
    fn collect(distinct: &[u64], cx: &'a Context) -> Result<Self, ExecError> {
        let is =
            |id: u64, wanted: fn(OrderClass) -> bool| OrderClass::of(id, cx).is_some_and(wanted);
        let texts = distinct.iter().filter(|&&id| is(id, OrderClass::has_text));
        let texts = texts.count();
        let mut places = Self {
            cx,
            unbound: None,
            arena: TextArena::default(),
            texts: Vec::with_capacity(texts),
            values: Vec::with_capacity(distinct.len() - texts),
            reserved: 0,
        };
        // Numbers and dates of several kinds compare by id only if all of them do.
        let mut values = distinct
            .iter()
            .filter(|&&id| !is(id, |class| class.has_text() || class == OrderClass::Unbound));
        let by_id = values
            .next()
            .is_none_or(|&a| values.all(|&b| ordered_as_ids(a, b)) && ordered_as_ids(a, a));
        for (member, &id) in distinct.iter().enumerate() {
            if member % CHECK_TERMS == 0 {
                places.account()?;
            }
            places.add(member as u32, id, by_id)?;
        }
        places.account()?;
        Ok(places)
    }

    fn add(&mut self, member: u32, id: u64, values_by_id: bool) -> Result<(), ExecError> {
        match OrderClass::of(id, self.cx) {
            Some(OrderClass::Unbound) => self.unbound = Some(member),
            Some(class) if class.has_text() => {
                let cx = self.cx;
                let at = self.arena.add(|slab| text_into(id, slab, cx))?;
                self.add_text(class, at, member);
            }
            Some(_) if values_by_id => self.values.push((member, None)),
            _ => {
                let key = OrderKey::of(id, self.cx)?;
                match key.class() {
                    (class, Some(text)) => {
                        let at = self.arena.add(|slab| {
                            slab.extend_from_slice(text.as_bytes());
                            Ok::<_, ExecError>(())
                        })?;
                        self.add_text(class, at, member);
                    }
                    (_, None) => self.values.push((member, Some(key))),
                }
            }
        }
        Ok(())
    }

    fn add_text(&mut self, class: OrderClass, at: TextAt, member: u32) {
        self.texts.push(TextPlace::new(class, at, member));
    }

    fn account(&mut self) -> Result<(), ExecError> {
        self.cx.check()?;
        let (texts, values) = (self.texts.capacity(), self.values.capacity());
        let bytes = self.arena.bytes()
            + texts * SORTED_TEXT_BYTES
            + values * (size_of::<(u32, Option<OrderKey>)>() + SORTED_VALUE_BYTES)
            + (texts + values) * size_of::<u64>();
        if bytes > self.reserved {
            self.cx.reserve(bytes - self.reserved, "OrderBy")?;
            self.reserved = bytes;
        }
        Ok(())
    }

    fn text(&self, place: &TextPlace) -> &[u8] {
        self.arena.text(place.at)
    }

    /// The order of members whose texts are equal: of literals datatype and language decide.
    fn order_of_equal(&self, a: u32, b: u32, ids: &[u64]) -> Result<Ordering, ExecError> {
        compare_for_order(ids[a as usize], ids[b as usize], self.cx)
    }

    /// Whether two texts that come one after the other have the same rank.
    fn are_equal(&self, a: &TextPlace, b: &TextPlace, ids: &[u64]) -> Result<bool, ExecError> {
        if !b.may_repeat || a.class != b.class || self.text(a) != self.text(b) {
            return Ok(false);
        }
        Ok(self.order_of_equal(a.member, b.member, ids)? == Ordering::Equal)
    }

    /// The rank of each distinct id.
    fn rank(mut self, ids: &[u64], cx: &Context) -> Result<Vec<u64>, ExecError> {
        let mut texts = std::mem::take(&mut self.texts);
        sort_texts(&mut texts, &self.arena, cx, |a, b| {
            self.order_of_equal(a, b, ids)
        })?;
        cx.check()?;
        let values = std::mem::take(&mut self.values);
        // Doubles tell most numbers apart; of many scales they would be computed at each comparison.
        let nearest = |(_, key): &(u32, Option<OrderKey>)| {
            let double = key.as_ref().and_then(OrderKey::nearest_double);
            double.unwrap_or(f64::NAN)
        };
        let nearest: Vec<f64> = values.iter().map(nearest).collect();
        let compare = |&a: &u32, &b: &u32| {
            let (a, b) = (a as usize, b as usize);
            match nearest[a].partial_cmp(&nearest[b]) {
                Some(Ordering::Equal) | None => {}
                Some(order) => return order,
            }
            match (&values[a].1, &values[b].1) {
                (Some(a), Some(b)) => a.compare(b),
                _ => ids[values[a].0 as usize].cmp(&ids[values[b].0 as usize]),
            }
        };
        let mut order: Vec<u32> = (0..values.len() as u32).collect();
        sort_totally(&mut order, cx, compare)?;
        cx.check()?;
        let mut ranks = vec![0; ids.len()];
        let mut rank = u64::from(self.unbound.is_some());
        let late = texts.partition_point(|place| place.class < OrderClass::Number);
        let (early, late) = texts.split_at(late);
        self.number_texts(early, ids, &mut rank, &mut ranks)?;
        for (idx, value) in order.iter().enumerate() {
            if idx > 0 && compare(&order[idx - 1], value) != Ordering::Equal {
                rank += 1;
            }
            ranks[values[*value as usize].0 as usize] = rank;
        }
        rank += u64::from(!values.is_empty());
        self.number_texts(late, ids, &mut rank, &mut ranks)?;
        Ok(ranks)
    }

    /// Numbers sorted texts from `next` on, which then is the number after them.
    fn number_texts(
        &self,
        texts: &[TextPlace],
        ids: &[u64],
        next: &mut u64,
        ranks: &mut [u64],
    ) -> Result<(), ExecError> {
        for (idx, place) in texts.iter().enumerate() {
            if idx > 0 && !self.are_equal(&texts[idx - 1], place, ids)? {
                *next += 1;
            }
            ranks[place.member as usize] = *next;
        }
        *next += u64::from(!texts.is_empty());
        Ok(())
    }
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
            terms in proptest::collection::vec(terms(), 0..24),
            one_kind in any::<bool>(),
        ) {
            let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
            let first = terms.first().map_or(0, |term| term.0);
            let kept = terms.iter().filter(|term| !one_kind || term.0 == first);
            let ids: Vec<u64> = kept.map(|term| id(&cx, term)).collect();
            let ranks = ranks(&ids, WithoutRoom::Compare, &cx).expect("terms decode");
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
