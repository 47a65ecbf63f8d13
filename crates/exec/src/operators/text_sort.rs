//! Sorting texts eight bytes at a time.
//!
//! ```text
//! texts of a class -> what all begin with is skipped -> the next eight bytes as a number -> sorted
//!                  -> those with the same number: again, from behind these bytes on
//! ```
//!
//! IRIs begin alike for long, and comparing two of them reads both from the start, each in its own place of the memory; here each
//! byte is read once or so (McIlroy, Bostic and McIlroy, "Engineering Radix Sort", Computing Systems 6, 1993, in larger steps). Few texts are compared.
//!
//! Cost: for each eight bytes in which texts differ a read of each text and a sort by integers.

use super::fallible_sort::{sort_fallibly, sort_totally};
use super::text_arena::{TextArena, TextAt};
use crate::context::Context;
use crate::error::ExecError;
use crate::value::{OrderClass, first_bytes};
use std::cmp::Ordering;
use std::ops::Range;

/// Bytes that are compared as one number.
const STEP: usize = size_of::<u64>();
/// Texts that are compared whole: making numbers of fewer takes longer.
const FEW_TEXTS: usize = 16;
/// Texts read between two looks at the query's flag and clock.
const CHECK_TEXTS: usize = 4096;

/// A term that is ordered by its text first.
#[derive(Clone, Copy)]
pub struct TextPlace {
    /// The class, which decides before the text.
    pub class: OrderClass,
    /// Some bytes of the text, as a number.
    bytes: u64,
    /// Where the text is.
    pub at: TextAt,
    /// Index among the distinct ids.
    pub member: u32,
    /// Whether it may be equal to the one before, once they are sorted: mostly the bytes that were looked at tell that it is not.
    pub may_repeat: bool,
}

impl TextPlace {
    /// The place of a text.
    pub fn new(class: OrderClass, at: TextAt, member: u32) -> Self {
        Self {
            class,
            bytes: 0,
            at,
            member,
            may_repeat: true,
        }
    }
}

/// Sorts texts by class and bytes; `decide` tells the order of members whose texts are equal.
pub fn sort_texts(
    texts: &mut [TextPlace],
    arena: &TextArena,
    cx: &Context,
    decide: impl Fn(u32, u32) -> Result<Ordering, ExecError>,
) -> Result<(), ExecError> {
    sort_totally(texts, cx, |a, b| a.class.cmp(&b.class))?;
    let mut left: Vec<(Range<usize>, usize)> = Vec::new();
    let mut start = 0;
    for of_class in texts.chunk_by(|a, b| a.class == b.class) {
        left.push((start..start + of_class.len(), 0));
        start += of_class.len();
    }
    // Termination: what is put back is shorter, or skips more of its texts.
    while let Some((range, skipped)) = left.pop() {
        cx.check()?;
        let part = &mut texts[range.clone()];
        if part.len() <= FEW_TEXTS {
            sort_fallibly(part, cx, |a, b| {
                let rest = |place: TextPlace| &arena.text(place.at)[skipped..];
                match rest(a).cmp(rest(b)) {
                    Ordering::Equal => decide(a.member, b.member),
                    order => Ok(order),
                }
            })?;
            for (idx, place) in part.iter_mut().enumerate() {
                // What stands before the part is of another class, or had other bytes.
                place.may_repeat = idx > 0;
            }
            continue;
        }
        let skipped = skipped + shared_bytes(part, arena, skipped, cx)?;
        for places in part.chunks_mut(CHECK_TEXTS) {
            cx.check()?;
            for place in places {
                place.may_repeat = true;
                place.bytes = u64::from_be_bytes(first_bytes(&arena.text(place.at)[skipped..]));
            }
        }
        // Of texts that go on alike, those that end come first, by what is left of them.
        let key = |place: &TextPlace| {
            let rest = arena.text(place.at).len() - skipped;
            (place.bytes, rest.min(STEP + 1))
        };
        sort_totally(part, cx, |a, b| a.bytes.cmp(&b.bytes))?;
        let mut start = range.start;
        for alike in part.chunk_by_mut(|a, b| a.bytes == b.bytes) {
            if let [only] = alike {
                only.may_repeat = false;
                start += 1;
                continue;
            }
            sort_totally(alike, cx, |a, b| key(a).cmp(&key(b)))?;
            for same in alike.chunk_by_mut(|a, b| key(a) == key(b)) {
                let (_, rest) = key(&same[0]);
                if rest > STEP {
                    left.push((start..start + same.len(), skipped + STEP));
                } else {
                    sort_fallibly(same, cx, |a, b| decide(a.member, b.member))?;
                    same[0].may_repeat = false;
                }
                start += same.len();
            }
        }
    }
    Ok(())
}

/// In how many bytes from `skipped` on all texts are the same.
fn shared_bytes(
    texts: &[TextPlace],
    arena: &TextArena,
    skipped: usize,
    cx: &Context,
) -> Result<usize, ExecError> {
    let rest = |place: &TextPlace| &arena.text(place.at)[skipped..];
    let mut shared = texts.first().map_or(&[][..], rest);
    for places in texts.chunks(CHECK_TEXTS) {
        cx.check()?;
        for place in places {
            let same = shared.iter().zip(rest(place)).take_while(|(a, b)| a == b);
            shared = &shared[..same.count()];
        }
        if shared.is_empty() {
            break;
        }
    }
    Ok(shared.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use basalt_store::Snapshot;
    use proptest::prelude::*;

    proptest! {
        /// Texts that begin alike, are the beginning of others, hold zeros, or come twice.
        #[test]
        fn texts_are_in_order(
            texts in prop::collection::vec((prop::bool::ANY, "(http://e/){0,3}[ab\0]{0,12}[abc]{0,9}"), 0..200),
        ) {
            let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
            let mut arena = TextArena::default();
            let class = |is_iri: bool| if is_iri { OrderClass::Iri } else { OrderClass::Text };
            let mut places = Vec::new();
            for (member, (is_iri, text)) in texts.iter().enumerate() {
                let at = arena.add(|slab| {
                    slab.extend_from_slice(text.as_bytes());
                    Ok::<_, ExecError>(())
                });
                places.push(TextPlace::new(class(*is_iri), at.expect("added"), member as u32));
            }
            // Equal ones in the order opposite to that in which they came.
            sort_texts(&mut places, &arena, &cx, |a, b| Ok(b.cmp(&a))).expect("nothing ends it");
            for pair in places.windows(2) {
                let is_same = pair[0].class == pair[1].class && arena.text(pair[0].at) == arena.text(pair[1].at);
                prop_assert!(pair[1].may_repeat || !is_same);
            }
            let members: Vec<usize> = places.iter().map(|place| place.member as usize).collect();
            let mut expected: Vec<usize> = (0..texts.len()).rev().collect();
            expected.sort_by_key(|&member| (class(texts[member].0), &texts[member].1));
            prop_assert_eq!(members, expected);
        }
    }

    #[test]
    fn a_failure_ends_it() {
        let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
        let mut arena = TextArena::default();
        for count in [2, 100] {
            let mut places: Vec<TextPlace> = (0..count)
                .map(|member| {
                    let at = arena.add(|slab| {
                        slab.extend_from_slice(b"same");
                        Ok::<_, ExecError>(())
                    });
                    TextPlace::new(OrderClass::Text, at.expect("added"), member)
                })
                .collect();
            let failed = sort_texts(&mut places, &arena, &cx, |_, _| {
                Err(ExecError::Internal("as asked".to_owned()))
            });
            assert!(matches!(failed, Err(ExecError::Internal(_))), "{count}");
        }
    }
}
