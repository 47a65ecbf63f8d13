//! `NodeSet`: the nodes a walk has met.
//!
//! A few nodes are a hash set; from [`SMALL_MAX`] on resources are bits of pages that exist only where
//! a bit is set, so that a set costs what it holds and a test is one cache miss. Literals (which
//! end a walk forwards and start one backwards) stay hashed.

use basalt_rdf::TermId;
use hashbrown::HashSet;
use std::hash::RandomState;

/// Members of a hash set, after which pages are cheaper to test and to read in order.
const SMALL_MAX: usize = 1024;
/// Bits of a page: a page of 512 bytes wastes little where nodes lie scattered, and the directory of
/// all pages of 100 M resources takes 200 kB.
const PAGE_BITS: usize = 4096;
const PAGE_WORDS: usize = PAGE_BITS / 64;

type Page = Box<[u64; PAGE_WORDS]>;

/// A set of ids.
#[derive(Default)]
pub struct NodeSet {
    /// Everything, or what is not a resource once there are pages.
    hashed: HashSet<u64, RandomState>,
    /// Resources by ordinal.
    pages: Vec<Option<Page>>,
    has_pages: bool,
    page_count: usize,
    in_pages: usize,
}

impl NodeSet {
    /// Adds a node; says whether it is new.
    #[inline]
    pub fn insert(&mut self, node: u64) -> bool {
        if self.has_pages
            && let Some(ordinal) = TermId(node).resource_ordinal()
        {
            return self.insert_bit(ordinal);
        }
        let is_new = self.hashed.insert(node);
        if is_new && !self.has_pages && self.hashed.len() > SMALL_MAX {
            self.has_pages = true;
            for node in std::mem::take(&mut self.hashed) {
                match TermId(node).resource_ordinal() {
                    Some(ordinal) => {
                        self.insert_bit(ordinal);
                    }
                    None => {
                        self.hashed.insert(node);
                    }
                }
            }
        }
        is_new
    }

    fn insert_bit(&mut self, ordinal: u64) -> bool {
        let (page, bit) = (ordinal as usize / PAGE_BITS, ordinal as usize % PAGE_BITS);
        if page >= self.pages.len() {
            self.pages.resize_with(page + 1, || None);
        }
        if self.pages[page].is_none() {
            self.page_count += 1;
        }
        let words = self.pages[page].get_or_insert_with(|| Box::new([0; PAGE_WORDS]));
        let mask = 1 << (bit % 64);
        let is_new = words[bit / 64] & mask == 0;
        words[bit / 64] |= mask;
        self.in_pages += usize::from(is_new);
        is_new
    }

    /// Whether the node is there.
    #[inline]
    pub fn contains(&self, node: u64) -> bool {
        match TermId(node).resource_ordinal() {
            Some(ordinal) if self.has_pages => {
                let (page, bit) = (ordinal as usize / PAGE_BITS, ordinal as usize % PAGE_BITS);
                let words = self.pages.get(page).and_then(Option::as_ref);
                words.is_some_and(|words| words[bit / 64] & 1 << (bit % 64) != 0)
            }
            _ => self.hashed.contains(&node),
        }
    }

    /// Bytes held.
    pub fn bytes(&self) -> usize {
        // Hash tables are at most 7/8 full and keep one byte beside each slot.
        self.hashed.capacity() * 10
            + self.pages.capacity() * size_of::<Option<Page>>()
            + self.page_count * size_of::<[u64; PAGE_WORDS]>()
    }

    /// Number of nodes.
    pub fn len(&self) -> usize {
        self.hashed.len() + self.in_pages
    }

    /// Appends the nodes, ascending among themselves.
    pub fn sorted_into(&self, out: &mut Vec<u64>) {
        let start = out.len();
        out.reserve(self.len());
        for (page_idx, page) in self.pages.iter().enumerate() {
            let words = page.iter().flat_map(|page| page.iter()).enumerate();
            for (word_idx, &word) in words.filter(|(_, word)| **word != 0) {
                let mut left = word;
                while left != 0 {
                    let bit = word_idx * 64 + left.trailing_zeros() as usize;
                    out.push(TermId::resource((page_idx * PAGE_BITS + bit) as u64).0);
                    left &= left - 1;
                }
            }
        }
        if !self.hashed.is_empty() {
            out.extend(&self.hashed);
            out[start..].sort_unstable();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn it_is_a_set(nodes in proptest::collection::vec(0..40_000_u64, 0..4000), others in 0..50_u64) {
            let ids = nodes.iter().map(|&n| TermId::resource(n * n % 90_001).0).chain((1..others).map(|n| n << 58));
            let (mut set, mut expected) = (NodeSet::default(), BTreeSet::new());
            for id in ids {
                prop_assert_eq!(set.insert(id), expected.insert(id));
                prop_assert!(set.contains(id));
            }
            prop_assert_eq!(set.len(), expected.len());
            for n in 0..200 {
                let id = TermId::resource(n * 450).0;
                prop_assert_eq!(set.contains(id), expected.contains(&id));
            }
            let mut sorted = Vec::new();
            set.sorted_into(&mut sorted);
            prop_assert_eq!(sorted, expected.into_iter().collect::<Vec<_>>());
        }
    }
}
