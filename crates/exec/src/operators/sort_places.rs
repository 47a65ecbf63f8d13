//! `SortPlaces`: distinct terms of a sort's key, decoded once, and their ranks.
//!
//! ```text
//! distinct ids -> in pieces, on all threads: texts side by side in an arena, other terms as decoded keys
//!              -> texts sorted (text_sort), numbers and dates sorted -> rank of each distinct id
//! ```
//!
//! Invariant: ranks compare as [`compare_for_order`] compares the terms. Memory: the texts and 92 bytes for each, for a number or date its decoded
//! key and 24, counted.

use super::fallible_sort::sort_totally;
use super::shared_ids::SharedIds;
use super::text_arena::{TextArena, TextAt};
use super::text_sort::{Text, TextPlace, sort_texts};
use super::without_room::TextRoom;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use crate::value::{OrderClass, OrderKey, compare_for_order, ordered_as_ids, text_into};
use std::cmp::Ordering;
use std::sync::Arc;
use std::sync::atomic::{self, AtomicUsize};

/// Terms decoded between two looks at the limits.
const CHECK_TERMS: usize = 4096;

/// What sorting takes for a text: where it is, again in its part, its place there, and a word with the number of its row.
const SORTED_TEXT_BYTES: usize =
    2 * size_of::<Text>() + size_of::<TextPlace>() + size_of::<u64>() + size_of::<u32>();
/// What sorting takes for a number or date: its nearest double, its place, and room to merge places.
const SORTED_VALUE_BYTES: usize = size_of::<f64>() + 2 * size_of::<u32>();

/// The terms; see the [module documentation](self).
#[derive(Default)]
pub struct SortPlaces {
    unbound: Option<u32>,
    arena: TextArena,
    texts: Vec<Text>,
    /// Numbers and calendar terms; the key is left out where ids compare without decoding.
    values: Vec<(u32, Option<OrderKey>)>,
    held: HeldMemory,
}

impl SortPlaces {
    /// Decodes what has to be decoded of distinct ids, if there is room.
    pub fn of(
        distinct: &SharedIds,
        room: Option<&TextRoom>,
        cx: &Context,
    ) -> Result<Self, ExecError> {
        let is_value = |id: u64, cx: &Context| {
            !OrderClass::of(id, cx)
                .is_some_and(|class| class.has_text() || class == OrderClass::Unbound)
        };
        // Numbers and dates of several kinds compare by id only if all of them do.
        let by_id = match distinct.iter().copied().find(|&id| is_value(id, cx)) {
            None => true,
            Some(first) => {
                let are_all = move |_, ids: &[u64], cx: &Context| {
                    cx.check()?;
                    let mut values = ids.iter().filter(|&&id| is_value(id, cx));
                    Ok(values.all(|&id| ordered_as_ids(first, id)))
                };
                !distinct.in_pieces(are_all, cx)?.contains(&false)
            }
        };
        let (room, taken) = (room.cloned(), Arc::new(AtomicUsize::new(0)));
        let account = move |places: &mut Self, cx: &Context| {
            let more = places.account(cx)?;
            let taken = taken.fetch_add(more, atomic::Ordering::Relaxed) + more;
            room.as_ref().map_or(Ok(()), |room| room.take(taken))
        };
        let decode = move |start: usize, ids: &[u64], cx: &Context| {
            let mut places = Self::default();
            for (idx, &id) in ids.iter().enumerate() {
                if idx % CHECK_TERMS == 0 {
                    account(&mut places, cx)?;
                }
                places.add((start + idx) as u32, id, by_id, cx)?;
            }
            account(&mut places, cx)?;
            Ok(places)
        };
        let mut parts = distinct.in_pieces(decode, cx)?.into_iter();
        let mut all = parts.next().unwrap_or_default();
        for part in parts {
            cx.check()?;
            all.append(part);
        }
        Ok(all)
    }

    fn append(&mut self, other: Self) {
        self.unbound = self.unbound.or(other.unbound);
        let slabs = self.arena.append(other.arena);
        let moved = |text: Text| Text {
            at: text.at.after(slabs),
            ..text
        };
        self.texts.extend(other.texts.into_iter().map(moved));
        self.values.extend(other.values);
        self.held.take_over(other.held);
    }

    fn add(
        &mut self,
        member: u32,
        id: u64,
        values_by_id: bool,
        cx: &Context,
    ) -> Result<(), ExecError> {
        match OrderClass::of(id, cx) {
            Some(OrderClass::Unbound) => self.unbound = Some(member),
            Some(class) if class.has_text() => {
                let at = self.arena.add(|slab| text_into(id, slab, cx))?;
                self.add_text(class, at, member);
            }
            Some(_) if values_by_id => self.values.push((member, None)),
            _ => {
                let key = OrderKey::of(id, cx)?;
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
        self.texts.push(Text { class, at, member });
    }

    /// Counts what all of it takes; by how much that is more than before.
    fn account(&mut self, cx: &Context) -> Result<usize, ExecError> {
        cx.check()?;
        let (texts, values) = (self.texts.capacity(), self.values.capacity());
        let bytes = self.arena.bytes()
            + texts * SORTED_TEXT_BYTES
            + values * (size_of::<(u32, Option<OrderKey>)>() + SORTED_VALUE_BYTES)
            + (texts + values) * size_of::<u64>();
        let before = self.held.bytes();
        self.held.grow_to(bytes, "OrderBy", cx)?;
        Ok(bytes.saturating_sub(before))
    }

    /// The rank of each of the distinct ids.
    pub fn rank(self, ids: &SharedIds, cx: &Context) -> Result<Vec<u64>, ExecError> {
        let arena = Arc::new(self.arena);
        let decide = {
            let ids = ids.clone();
            // Of literals with equal texts datatype and language decide.
            move |a: u32, b: u32, cx: &Context| {
                compare_for_order(ids[a as usize], ids[b as usize], cx)
            }
        };
        let texts = sort_texts(self.texts, &arena, decide, cx)?;
        cx.check()?;
        let order = order_of_values(&self.values, ids, cx)?;
        let mut ranking = Ranking {
            ids,
            arena: &arena,
            next: u64::from(self.unbound.is_some()),
            ranks: vec![0; ids.len()],
        };
        let late = texts.partition_point(|part| part[0].text.class < OrderClass::Number);
        let (early, late) = texts.split_at(late);
        ranking.number_texts(early, cx)?;
        ranking.number_values(&order);
        ranking.number_texts(late, cx)?;
        Ok(ranking.ranks)
    }
}

/// Members that are numbers or calendar terms in order, and whether each is greater than the one before.
fn order_of_values(
    values: &[(u32, Option<OrderKey>)],
    ids: &[u64],
    cx: &Context,
) -> Result<Vec<(u32, bool)>, ExecError> {
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
    let greater = |(idx, value): (usize, &u32)| {
        let is_greater = idx > 0 && compare(&order[idx - 1], value) != Ordering::Equal;
        (values[*value as usize].0, is_greater)
    };
    Ok(order.iter().enumerate().map(greater).collect())
}

/// Ranks that are being given, from the first term of the order to the last.
struct Ranking<'a> {
    ids: &'a [u64],
    arena: &'a TextArena,
    next: u64,
    ranks: Vec<u64>,
}

impl Ranking<'_> {
    /// Numbers sorted texts from the next rank on, which then is the one after them.
    fn number_texts(&mut self, texts: &[Vec<TextPlace>], cx: &Context) -> Result<(), ExecError> {
        let mut last: Option<&TextPlace> = None;
        for part in texts {
            cx.check()?;
            for place in part {
                if let Some(last) = last
                    && !self.are_equal(last, place, cx)?
                {
                    self.next += 1;
                }
                self.ranks[place.text.member as usize] = self.next;
                last = Some(place);
            }
        }
        self.next += u64::from(last.is_some());
        Ok(())
    }

    /// The same of numbers and calendar terms, with whether each is greater than the one before.
    fn number_values(&mut self, values: &[(u32, bool)]) {
        for &(member, is_greater) in values {
            self.next += u64::from(is_greater);
            self.ranks[member as usize] = self.next;
        }
        self.next += u64::from(!values.is_empty());
    }

    /// Whether two texts that come one after the other have the same rank.
    fn are_equal(&self, a: &TextPlace, b: &TextPlace, cx: &Context) -> Result<bool, ExecError> {
        let text = |place: &TextPlace| self.arena.text(place.text.at);
        if !b.may_repeat || a.text.class != b.text.class || text(a) != text(b) {
            return Ok(false);
        }
        let id = |place: &TextPlace| self.ids[place.text.member as usize];
        Ok(compare_for_order(id(a), id(b), cx)? == Ordering::Equal)
    }
}
