//! Sorting texts eight bytes at a time.
//!
//! ```text
//! texts of a class -> what all begin with is skipped -> the next eight bytes as a number -> parts by ranges of it, which threads take
//! a part           -> the next eight bytes as a number -> sorted -> those with the same number: again, from behind these bytes on
//! ```
//!
//! IRIs begin alike for long, and comparing two of them reads both from the start, each in its own place of the memory; here each
//! byte is read once or so (McIlroy, Bostic and McIlroy, "Engineering Radix Sort", Computing Systems 6, 1993, in larger steps). Few texts are compared.
//!
//! Cost: for each eight bytes in which texts differ a read of each text and a sort by integers.

use super::fallible_sort::{sort_fallibly, sort_totally};
use super::key_parts::KeyParts;
use super::key_words::KeyWords;
use super::pieces::{in_pieces, in_ranges};
use super::text_arena::{TextArena, TextAt};
use crate::context::Context;
use crate::error::ExecError;
use crate::partitioning::PARTITIONS;
use crate::value::{OrderClass, first_bytes};
use std::cmp::Ordering;
use std::ops::Range;
use std::sync::Arc;

/// Bytes that are compared as one number.
const STEP: usize = size_of::<u64>();
/// Texts that are compared whole: making numbers of fewer takes longer.
const FEW_TEXTS: usize = 16;
/// Texts read between two looks at the query's flag and clock.
const CHECK_TEXTS: usize = 4096;
/// Texts of a class from which on they are sorted in parts: fewer take some milliseconds.
const PARTS_TEXTS_MIN: usize = if cfg!(test) { 64 } else { 1 << 14 };
/// Texts of a piece.
const PIECE_TEXTS: usize = if cfg!(test) { 16 } else { 1 << 14 };

/// A term that is ordered by its text first.
#[derive(Clone, Copy, Debug)]
pub struct Text {
    /// The class, which decides before the text.
    pub class: OrderClass,
    /// Where the text is.
    pub at: TextAt,
    /// Index among the distinct ids.
    pub member: u32,
}

/// A text in its place, once texts are sorted.
#[derive(Clone, Copy, Debug)]
pub struct TextPlace {
    /// The text.
    pub text: Text,
    /// Some bytes of the text, as a number.
    bytes: u64,
    /// Whether it may be equal to the one before: mostly the bytes that were looked at tell that it is not.
    pub may_repeat: bool,
}

/// What tells the order of two members whose texts are equal.
pub trait Decide: Fn(u32, u32, &Context) -> Result<Ordering, ExecError> {}

impl<F: Fn(u32, u32, &Context) -> Result<Ordering, ExecError>> Decide for F {}

/// Sorts texts by class and bytes; gives them part by part.
pub fn sort_texts(
    texts: Vec<Text>,
    arena: &Arc<TextArena>,
    decide: impl Decide + Clone + Send + Sync + 'static,
    cx: &Context,
) -> Result<Vec<Vec<TextPlace>>, ExecError> {
    let mut sorted = Vec::new();
    let mut left = texts;
    for class in [OrderClass::Blank, OrderClass::Iri, OrderClass::Text] {
        cx.check()?;
        let is_of_class = |text: &Text| text.class == class;
        let of_class: Vec<Text> = match left.iter().all(is_of_class) {
            true => std::mem::take(&mut left),
            false => left.extract_if(.., |text| is_of_class(text)).collect(),
        };
        match of_class.len() {
            0 => {}
            1..PARTS_TEXTS_MIN => sorted.push(sort_part(&of_class, 0, arena, &decide, cx)?),
            _ => {
                let parts = sort_in_parts(of_class, arena, decide.clone(), cx)?;
                sorted.extend(parts.into_iter().filter(|part| !part.is_empty()));
            }
        }
    }
    Ok(sorted)
}

/// Sorts texts of one class on all threads.
fn sort_in_parts(
    texts: Vec<Text>,
    arena: &Arc<TextArena>,
    decide: impl Decide + Send + Sync + 'static,
    cx: &Context,
) -> Result<Vec<Vec<TextPlace>>, ExecError> {
    let (texts, arena) = (Arc::new(texts), Arc::clone(arena));
    let (count, threads) = (texts.len(), cx.options().threads);
    let skip = {
        let (texts, arena) = (Arc::clone(&texts), Arc::clone(&arena));
        move |piece: Range<usize>, cx: &Context| {
            let first = arena.text(texts[0].at);
            shared_bytes(first, &texts[piece], &arena, 0, cx)
        }
    };
    let skipped = in_ranges(count, PIECE_TEXTS, threads, skip, cx)?;
    let skipped = skipped.into_iter().min().unwrap_or_default();
    let read = {
        let (texts, arena) = (Arc::clone(&texts), Arc::clone(&arena));
        move |piece: Range<usize>, _: &Context| {
            let bytes = |text: &Text| bytes_from(&arena, text, skipped);
            Ok(texts[piece].iter().map(bytes).collect())
        }
    };
    let read: Vec<Vec<u64>> = in_ranges(count, PIECE_TEXTS, threads, read, cx)?;
    let parts = KeyParts::of(&Arc::new(KeyWords::of_key(&read.concat(), cx)?), cx)?;
    let sort = move |part: usize, cx: &Context| {
        let of_part = parts.rows(part).into_iter();
        let of_part: Vec<Text> = of_part.map(|row| texts[row as usize]).collect();
        sort_part(&of_part, skipped, &arena, &decide, cx)
    };
    in_pieces(PARTITIONS, threads, sort, cx)
}

/// The eight bytes of a text from `skipped` on, as a number.
#[inline]
fn bytes_from(arena: &TextArena, text: &Text, skipped: usize) -> u64 {
    first_bytes(&arena.text(text.at)[skipped..])
}

/// Sorts texts of one class, whose first bytes are all the same.
fn sort_part(
    texts: &[Text],
    skipped: usize,
    arena: &TextArena,
    decide: &impl Decide,
    cx: &Context,
) -> Result<Vec<TextPlace>, ExecError> {
    let place = |&text: &Text| TextPlace {
        text,
        bytes: 0,
        may_repeat: true,
    };
    let mut texts: Vec<TextPlace> = texts.iter().map(place).collect();
    let mut left = vec![(0..texts.len(), skipped)];
    // Termination: what is put back is shorter, or skips more of its texts.
    while let Some((range, skipped)) = left.pop() {
        cx.check()?;
        let part = &mut texts[range.clone()];
        if part.len() <= FEW_TEXTS {
            sort_few(part, skipped, arena, decide, cx)?;
            continue;
        }
        let first = arena.text(part[0].text.at);
        let rest = part.iter().map(|place| &place.text);
        let skipped = shared_bytes(first, rest, arena, skipped, cx)?;
        for places in part.chunks_mut(CHECK_TEXTS) {
            cx.check()?;
            for place in places {
                place.may_repeat = true;
                place.bytes = bytes_from(arena, &place.text, skipped);
            }
        }
        // Of texts that go on alike, those that end come first, by what is left of them.
        let key = |place: &TextPlace| {
            let rest = arena.text(place.text.at).len() - skipped;
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
                    sort_fallibly(same, cx, |a, b| decide(a.text.member, b.text.member, cx))?;
                    same[0].may_repeat = false;
                }
                start += same.len();
            }
        }
    }
    Ok(texts)
}

/// Sorts few texts, whose first bytes are all the same, by comparing them.
fn sort_few(
    texts: &mut [TextPlace],
    skipped: usize,
    arena: &TextArena,
    decide: &impl Decide,
    cx: &Context,
) -> Result<(), ExecError> {
    sort_fallibly(texts, cx, |a, b| {
        let rest = |place: TextPlace| &arena.text(place.text.at)[skipped..];
        match rest(a).cmp(rest(b)) {
            Ordering::Equal => decide(a.text.member, b.text.member, cx),
            order => Ok(order),
        }
    })?;
    for (idx, place) in texts.iter_mut().enumerate() {
        // What stands before these is of another class, or had other bytes.
        place.may_repeat = idx > 0;
    }
    Ok(())
}

/// In how many bytes all texts are the same as another one, all of which have so many of its first in common.
fn shared_bytes<'t>(
    first: &[u8],
    texts: impl IntoIterator<Item = &'t Text>,
    arena: &TextArena,
    in_common: usize,
    cx: &Context,
) -> Result<usize, ExecError> {
    let mut shared = &first[in_common..];
    for (idx, text) in texts.into_iter().enumerate() {
        if idx % CHECK_TEXTS == 0 {
            cx.check()?;
        }
        let rest = &arena.text(text.at)[in_common..];
        let same = shared.iter().zip(rest).take_while(|(a, b)| a == b);
        shared = &shared[..same.count()];
        if shared.is_empty() {
            break;
        }
    }
    Ok(in_common + shared.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use basalt_store::Snapshot;
    use proptest::prelude::*;

    /// Texts that are in order by class and bytes, those of them that are equal in the order opposite to that in which they came.
    fn sorted(texts: &[(bool, String)], threads: usize) -> Vec<(TextPlace, (bool, String))> {
        let options = ExecOptions {
            threads,
            ..ExecOptions::default()
        };
        let cx = Context::new(Snapshot::empty(), options, 0);
        let mut arena = TextArena::default();
        let mut all = Vec::new();
        for (member, (is_iri, text)) in texts.iter().enumerate() {
            let at = arena.add(|slab| {
                slab.extend_from_slice(text.as_bytes());
                Ok::<_, ExecError>(())
            });
            let class = if *is_iri {
                OrderClass::Iri
            } else {
                OrderClass::Text
            };
            all.push(Text {
                class,
                at: at.expect("added"),
                member: member as u32,
            });
        }
        let decide = |a: u32, b: u32, _: &Context| Ok(b.cmp(&a));
        let parts = sort_texts(all, &Arc::new(arena), decide, &cx).expect("nothing ends it");
        assert!(parts.iter().all(|part| !part.is_empty()));
        let places = parts.into_iter().flatten();
        places
            .map(|place| (place, texts[place.text.member as usize].clone()))
            .collect()
    }

    proptest! {
        /// Texts that begin alike, are the beginning of others, hold zeros, or come twice.
        #[test]
        fn texts_are_in_order(
            texts in prop::collection::vec((prop::bool::weighted(0.8), "(http://e/){0,3}[ab\0]{0,12}[abc]{0,9}"), 0..300),
            alike in prop::bool::ANY,
            threads in 1..4_usize,
        ) {
            // Where all begin alike, that is skipped before they are put into parts.
            let begun = |text: String| if alike { format!("http://e/a/{text}") } else { text };
            let texts: Vec<(bool, String)> = texts.into_iter().map(|(is_iri, text)| (is_iri, begun(text))).collect();
            let sorted = sorted(&texts, threads);
            for pair in sorted.windows(2) {
                prop_assert!(pair[1].0.may_repeat || pair[0].1 != pair[1].1);
            }
            let members: Vec<usize> = sorted.iter().map(|(place, _)| place.text.member as usize).collect();
            let mut expected: Vec<usize> = (0..texts.len()).rev().collect();
            expected.sort_by_key(|&member| (!texts[member].0, &texts[member].1));
            prop_assert_eq!(members, expected);
        }
    }

    #[test]
    fn a_failure_ends_it() {
        let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
        for count in [2, 100] {
            let mut arena = TextArena::default();
            let texts = (0..count).map(|member| {
                let at = arena.add(|slab| {
                    slab.extend_from_slice(b"same");
                    Ok::<_, ExecError>(())
                });
                Text {
                    class: OrderClass::Text,
                    at: at.expect("nothing fails"),
                    member,
                }
            });
            let texts = texts.collect();
            let decide = |_, _, _: &Context| Err(ExecError::Internal("as asked".to_owned()));
            let failed = sort_texts(texts, &Arc::new(arena), decide, &cx);
            assert!(matches!(failed, Err(ExecError::Internal(_))), "{count}");
        }
    }
}
