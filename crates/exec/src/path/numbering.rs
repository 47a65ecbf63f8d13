//! `Numbering`: the nodes of an index as dense numbers.
//!
//! Resources get their rank in a bitmap over the range of their ordinals where that is dense enough,
//! two cache misses to find; everything else is a sorted list. Ids come back from an array.

use super::index::LINKS_PER_CHECK;
use crate::context::Context;
use crate::error::ExecError;
use crate::operators::fallible_sort::sort_totally;
use basalt_rdf::TermId;

/// Bits of the bitmap allowed for each link: 8 bytes, less than the sorted id that it replaces.
const BITS_PER_LINK: u64 = 64;
/// Bits allowed for few links: 128 kB.
const BITS_MIN: u64 = 1 << 20;

/// Words of the bitmap read between two looks at the clock.
const WORDS_PER_CHECK: usize = 1 << 12;

/// The ids of a subject and an object.
type Link = (u64, u64);

/// Ids by number and numbers by id; see the [module documentation](self).
#[derive(Debug, Default)]
pub struct Numbering {
    /// By number: the ranked resources, then everything else in ascending order.
    ids: Vec<u64>,
    /// How many of `ids` are ranked.
    ranked: usize,
    /// The id of the first bit.
    first: u64,
    bits: Vec<u64>,
    /// For each word the number of bits before it.
    ranks: Vec<u32>,
}

impl Numbering {
    /// Numbers all ends of some links, which come in lists.
    pub fn new(links: &[Vec<Link>], cx: &Context) -> Result<Self, ExecError> {
        let each_part = |visit: &mut dyn FnMut(&[Link])| {
            for part in links.iter().flat_map(|list| list.chunks(LINKS_PER_CHECK)) {
                cx.check()?;
                visit(part);
            }
            Ok::<_, ExecError>(())
        };
        let (mut first, mut last, mut count, mut others) = (u64::MAX, 0, 0, 0_usize);
        each_part(&mut |part| {
            for id in ends(part) {
                if TermId(id).is_resource() {
                    first = first.min(id);
                    last = last.max(id);
                    count += 1;
                } else {
                    others += 1;
                }
            }
        })?;
        let span = last.saturating_sub(first);
        let is_dense = count > 0 && span < (count * BITS_PER_LINK).max(BITS_MIN);
        let mut numbering = Self::default();
        if is_dense {
            numbering.first = first;
            numbering.bits = vec![0; span as usize / 64 + 1];
            each_part(&mut |part| {
                for id in ends(part).filter(|&id| TermId(id).is_resource()) {
                    let bit = id - first;
                    numbering.bits[bit as usize / 64] |= 1 << (bit % 64);
                }
            })?;
            numbering.rank(cx)?;
        } else {
            others += count as usize;
        }
        let mut listed: Vec<u64> = Vec::with_capacity(others);
        each_part(&mut |part| {
            let is_listed = |id: &u64| !(is_dense && TermId(*id).is_resource());
            listed.extend(ends(part).filter(is_listed));
        })?;
        sort_totally(&mut listed, cx, u64::cmp)?;
        listed.dedup();
        numbering.ids.extend(listed);
        Ok(numbering)
    }

    /// Ranks the resources whose bits are set.
    fn rank(&mut self, cx: &Context) -> Result<(), ExecError> {
        for (word_idx, &word) in self.bits.iter().enumerate() {
            if word_idx.is_multiple_of(WORDS_PER_CHECK) {
                cx.check()?;
            }
            self.ranks.push(self.ids.len() as u32);
            let mut left = word;
            while left != 0 {
                let bit = word_idx as u64 * 64 + u64::from(left.trailing_zeros());
                self.ids.push(self.first + bit);
                left &= left - 1;
            }
        }
        self.ranked = self.ids.len();
        Ok(())
    }

    /// The number of an id, if it is an end of a link.
    #[inline]
    pub fn number(&self, id: u64) -> Option<u32> {
        if self.ranked > 0 && TermId(id).is_resource() {
            let bit = id.checked_sub(self.first)?;
            let word = *self.bits.get(bit as usize / 64)?;
            let mask = 1_u64 << (bit % 64);
            let before = (word & (mask - 1)).count_ones();
            return (word & mask != 0).then(|| self.ranks[bit as usize / 64] + before);
        }
        let position = self.ids[self.ranked..].binary_search(&id).ok()?;
        Some((self.ranked + position) as u32)
    }

    /// The id of a number.
    #[inline]
    pub fn id(&self, number: u32) -> u64 {
        self.ids[number as usize]
    }

    /// How many nodes there are.
    pub fn len(&self) -> usize {
        self.ids.len()
    }

    /// Whether ascending numbers are ascending ids.
    pub fn is_ascending(&self) -> bool {
        self.ranked == 0 || self.ranked == self.ids.len()
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        self.ids.capacity() * 8 + self.bits.capacity() * 8 + self.ranks.capacity() * 4
    }
}

/// Both ends of each of some links.
fn ends(links: &[Link]) -> impl Iterator<Item = u64> + '_ {
    links
        .iter()
        .flat_map(|&(subject, object)| [subject, object])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use basalt_store::Snapshot;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn numbers_and_ids_are_inverse(
            links in proptest::collection::vec((0..2000_u64, 0..2000_u64), 0..300),
            stride in prop_oneof![Just(1_u64), Just(1_000_000_007)],
            literals: bool,
        ) {
            let id = |n: u64| TermId::resource(n * stride).0;
            let end = |n: u64| if literals && n.is_multiple_of(3) { id(n) | 7 << 60 } else { id(n) };
            let links: Vec<_> = links.into_iter().map(|(s, o)| (id(s), end(o))).collect();
            let expected: BTreeSet<u64> = links.iter().flat_map(|&(s, o)| [s, o]).collect();
            let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
            let half = links.len() / 2;
            let lists = [links[..half].to_vec(), links[half..].to_vec()];
            let numbering = Numbering::new(&lists, &cx).expect("nobody stops it");
            prop_assert_eq!(numbering.len(), expected.len());
            let mut numbers = BTreeSet::new();
            for &id in &expected {
                let number = numbering.number(id).expect("it is an end");
                prop_assert_eq!(numbering.id(number), id);
                numbers.insert(number);
            }
            prop_assert_eq!(numbers.len(), expected.len());
            for n in 0..2100 {
                prop_assert_eq!(numbering.number(id(n)).is_some(), expected.contains(&id(n)));
            }
        }
    }
}
