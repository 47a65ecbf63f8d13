//! `KnownPlaces`: where the texts of some blocks of literals lie, remembered by each thread.
//!
//! To read a literal its group is sought and opened, and codes are added up to find its ends: five times as long as a short text takes
//! to be decompressed. Rows that follow each other mostly have literals that follow each other, a column at a time, so what is read twice from
//! one block of 128 is unpacked for all of it. Nothing is remembered of a block that is read from once, or of a damaged one.
//!
//! Invariant: files do not change, and each open one has a number of its own, so a known place is right for ever. Cost: 4.5 KiB a thread;
//! filling a block takes about as long as reading two literals.

use std::cell::RefCell;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Literals of a block.
const BLOCK: u64 = 128;
/// Blocks that are known at once: as many columns of texts can be read side by side.
const BLOCKS: usize = 8;

thread_local! {
    static KNOWN: RefCell<KnownPlaces> = const { RefCell::new(KnownPlaces::new()) };
}

/// The number of an open file; 0 is none.
pub(super) fn next_file() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(1);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Where a text lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TextPlace {
    /// Its bytes in the section of texts.
    pub(super) bytes: Range<usize>,
    /// Where the symbol table begins there, if the text is compressed.
    pub(super) symbols: Option<usize>,
}

/// What is known of a literal.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// Where its text lies.
    Place(TextPlace),
    /// That its block was read from, not where texts lie.
    Block,
    /// Nothing.
    Nothing,
}

/// The part of a block that lies in one group, for [`learn`].
#[derive(Debug)]
pub(super) struct Part {
    /// The first ordinal.
    pub(super) first: u64,
    /// Where the texts of the group begin in the section.
    pub(super) texts: usize,
    /// Where its symbol table does.
    pub(super) symbols: Option<usize>,
    /// Where each text begins in the texts of the group, and the end of the last.
    pub(super) ends: Vec<u64>,
}

/// The ordinals of the block of a literal.
pub(super) fn block_of(ordinal: u64) -> Range<u64> {
    let first = ordinal / BLOCK * BLOCK;
    first..first + BLOCK
}

/// What this thread knows of a literal of a file; remembers that it was asked for.
#[inline]
pub(super) fn find(file: u64, ordinal: u64) -> Known {
    KNOWN.with_borrow_mut(|known| known.find(file, ordinal))
}

/// Remembers where the texts of a block lie.
pub(super) fn learn(file: u64, part: &Part) {
    KNOWN.with_borrow_mut(|known| known.learn(file, part));
}

/// The blocks that a thread knows, by block number.
#[derive(Debug)]
struct KnownPlaces {
    blocks: [KnownBlock; BLOCKS],
}

#[derive(Clone, Copy, Debug)]
struct KnownBlock {
    file: u64,
    block: u64,
    /// The first ordinal of which the place is known.
    first: u64,
    /// How many are known.
    count: usize,
    texts: usize,
    symbols: Option<usize>,
    ends: [u32; BLOCK as usize + 1],
}

impl KnownPlaces {
    const fn new() -> Self {
        let none = KnownBlock {
            file: 0,
            block: 0,
            first: 0,
            count: 0,
            texts: 0,
            symbols: None,
            ends: [0; BLOCK as usize + 1],
        };
        Self {
            blocks: [none; BLOCKS],
        }
    }

    fn slot(&mut self, ordinal: u64) -> (u64, &mut KnownBlock) {
        let block = ordinal / BLOCK;
        (block, &mut self.blocks[block as usize % BLOCKS])
    }

    #[inline]
    fn find(&mut self, file: u64, ordinal: u64) -> Known {
        let (block, known) = self.slot(ordinal);
        if (known.file, known.block) != (file, block) {
            (known.file, known.block, known.count) = (file, block, 0);
            return Known::Nothing;
        }
        let i = ordinal.wrapping_sub(known.first) as usize;
        if i >= known.count {
            return Known::Block;
        }
        Known::Place(TextPlace {
            bytes: known.texts + known.ends[i] as usize..known.texts + known.ends[i + 1] as usize,
            symbols: known.symbols,
        })
    }

    fn learn(&mut self, file: u64, part: &Part) {
        let (block, known) = self.slot(part.first);
        let fits = |end: &u64| u32::try_from(*end).is_ok();
        let is_sound = part.ends.is_sorted() && part.ends.iter().all(fits);
        if part.ends.len() > known.ends.len() || !is_sound {
            return;
        }
        for (known, &end) in known.ends.iter_mut().zip(&part.ends) {
            *known = end as u32;
        }
        (known.file, known.block, known.first) = (file, block, part.first);
        known.count = part.ends.len().saturating_sub(1);
        (known.texts, known.symbols) = (part.texts, part.symbols);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_known_once_it_was_asked_for_and_learnt() {
        let file = next_file();
        assert_eq!(find(file, 300), Known::Nothing);
        assert_eq!(find(file, 301), Known::Block);
        // The group ends at 302.
        let part = Part {
            first: 290,
            texts: 1000,
            symbols: Some(8),
            ends: (0..13).map(|i| i * 10).collect(),
        };
        learn(file, &part);
        let place = |bytes| {
            Known::Place(TextPlace {
                bytes,
                symbols: Some(8),
            })
        };
        assert_eq!(find(file, 290), place(1000..1010));
        assert_eq!(find(file, 301), place(1110..1120));
        assert_eq!(find(file, 302), Known::Block);
        assert_eq!(find(file, 289), Known::Block);
        // Another file, and a block with the same slot.
        assert_eq!(find(next_file(), 290), Known::Nothing);
        assert_eq!(find(file, 290), Known::Nothing);
        learn(file, &part);
        assert_eq!(find(file, 290 + BLOCK * BLOCKS as u64), Known::Nothing);
        assert_eq!(find(file, 290), Known::Nothing);
        assert_eq!(block_of(300), 256..384);
    }

    #[test]
    fn damaged_places_are_not_learnt() {
        let file = next_file();
        for ends in [vec![5, 3], vec![0, u64::MAX], (0..140).collect()] {
            let part = Part {
                first: 0,
                texts: 0,
                symbols: None,
                ends,
            };
            learn(file, &part);
            assert!(matches!(find(file, 0), Known::Nothing | Known::Block));
        }
    }
}
