//! The tree of product types and the features that each type owns.
//!
//! The shape is a step function of the decimal logarithm of the number of products: the branching
//! at the root and the depth grow slowly, the last level turns through 2, 4 and 8. Types are
//! numbered breadth first from 1 (the root), products hang on leaves only. Every type but the
//! root owns one block of feature numbers; blocks follow the type numbers.
//! Cost: one entry per type.

use crate::random::{Field, Stream};

/// The branching below the root and above the last level.
const MIDDLE_BRANCHING: u64 = 8;
/// The branching of the last level takes these values in turn.
const LAST_BRANCHING: [u64; 3] = [2, 4, 8];
/// Scale of the least and greatest number of features per type.
const FEATURE_SCALE: (u64, u64) = (35, 75);

/// The types of a data set.
pub(crate) struct TypeTree {
    /// Children per node, by level from the root.
    pub(crate) branching: Vec<u64>,
    /// The highest type number of each level; the root's level is the first.
    pub(crate) level_last: Vec<u64>,
    /// The highest feature number up to each type; entry 0 belongs to no type and is 0.
    feature_last: Vec<u64>,
}

impl TypeTree {
    /// The tree for a number of products.
    pub(crate) fn new(products: u64, seed: u64) -> TypeTree {
        let branching = branching(products);
        let mut level_last = vec![1];
        let mut width = 1;
        for children in &branching {
            width *= children;
            level_last.push(level_last[level_last.len() - 1] + width);
        }
        let mut tree = TypeTree {
            branching,
            level_last,
            feature_last: vec![0, 0],
        };
        let mut last = 0;
        for number in 2..=tree.types() {
            let (least, greatest) = feature_bounds(tree.level(number), tree.depth());
            let mut stream = Stream::new(seed, Field::TypeFeatureCount, number);
            last += stream.between(least, greatest);
            tree.feature_last.push(last);
        }
        tree
    }

    /// The number of levels below the root.
    pub(crate) fn depth(&self) -> usize {
        self.branching.len()
    }

    /// The number of types.
    pub(crate) fn types(&self) -> u64 {
        self.level_last[self.depth()]
    }

    /// The number of features.
    pub(crate) fn features(&self) -> u64 {
        self.feature_last[self.types() as usize]
    }

    /// The number of leaves.
    pub(crate) fn leaves(&self) -> u64 {
        self.types() - self.level_last[self.depth() - 1]
    }

    /// The type number of the leaf with the given index from 1.
    pub(crate) fn leaf(&self, idx: u64) -> u64 {
        self.level_last[self.depth() - 1] + idx
    }

    /// The level of a type; the root is at level 0.
    fn level(&self, number: u64) -> usize {
        self.level_last.partition_point(|last| *last < number)
    }

    /// The parent of a type, none for the root.
    pub(crate) fn parent(&self, number: u64) -> Option<u64> {
        let level = self.level(number);
        if level == 0 {
            return None;
        }
        let before = self.level_last[level - 1];
        let above = if level == 1 {
            0
        } else {
            self.level_last[level - 2]
        };
        Some(above + 1 + (number - before - 1) / self.branching[level - 1])
    }

    /// A type and its ancestors, the root last.
    pub(crate) fn lineage(&self, number: u64) -> impl Iterator<Item = u64> {
        std::iter::successors(Some(number), |current| self.parent(*current))
    }

    /// The features that a type owns itself.
    pub(crate) fn features_of(&self, number: u64) -> std::ops::RangeInclusive<u64> {
        let number = number as usize;
        self.feature_last[number - 1] + 1..=self.feature_last[number]
    }
}

fn round_half_up(value: f32) -> u64 {
    (value + 0.5).floor() as u64
}

fn branching(products: u64) -> Vec<u64> {
    // Single precision on purpose: the steps fall where the original has them.
    let magnitude = (products.max(10) as f64).log10() as f32;
    let depth = round_half_up(magnitude / 2.0) as usize + 1;
    let mut branching = vec![MIDDLE_BRANCHING; depth];
    branching[0] = 2 * round_half_up(magnitude);
    let turn = round_half_up(1.5 * magnitude + 1.0) % 3;
    branching[depth - 1] = LAST_BRANCHING[turn as usize];
    branching
}

fn feature_bounds(level: usize, depth: usize) -> (u64, u64) {
    let depth = depth as u64;
    let share = depth.min(level as u64 + 1);
    let sum = depth * (depth + 1) / 2 - 1;
    (FEATURE_SCALE.0 * share / sum, FEATURE_SCALE.1 * share / sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_have_the_published_shapes() {
        for (products, branching, types, leaves) in [
            (10, vec![2, 2], 7, 4),
            (32, vec![4, 2], 13, 8),
            (47, vec![4, 4], 21, 16),
            (100, vec![4, 4], 21, 16),
            (215, vec![4, 4], 21, 16),
            (216, vec![4, 8], 37, 32),
            (317, vec![6, 8], 55, 48),
            (1_000, vec![6, 8, 2], 151, 96),
            (3_163, vec![8, 8, 2], 201, 128),
            (4_642, vec![8, 8, 4], 329, 256),
            (21_545, vec![8, 8, 8], 585, 512),
            (31_623, vec![10, 8, 8], 731, 640),
            (99_999, vec![10, 8, 8], 731, 640),
            (100_000, vec![10, 8, 8, 2], 2_011, 1_280),
            (316_228, vec![12, 8, 8, 2], 2_413, 1_536),
            (464_159, vec![12, 8, 8, 4], 3_949, 3_072),
            (2_154_432, vec![12, 8, 8, 8], 7_021, 6_144),
            (3_162_276, vec![14, 8, 8, 8], 8_191, 7_168),
            (9_999_995, vec![14, 8, 8, 8, 2], 22_527, 14_336),
        ] {
            let tree = TypeTree::new(products, 1);
            assert_eq!(tree.branching, branching, "{products}");
            assert_eq!(tree.types(), types, "{products}");
            assert_eq!(tree.leaves(), leaves, "{products}");
        }
    }

    #[test]
    fn features_per_type_stay_in_the_published_bounds() {
        assert_eq!(feature_bounds(1, 2), (35, 75));
        assert_eq!(feature_bounds(2, 2), (35, 75));
        assert_eq!(feature_bounds(1, 3), (14, 30));
        assert_eq!(feature_bounds(3, 3), (21, 45));
        assert_eq!(feature_bounds(4, 4), (15, 33));
        let five: Vec<_> = (1..=5).map(|level| feature_bounds(level, 5)).collect();
        assert_eq!(five, [(5, 10), (7, 16), (10, 21), (12, 26), (12, 26)]);
    }

    #[test]
    fn parents_and_blocks_are_consistent() {
        let tree = TypeTree::new(1_000, 7);
        assert_eq!(tree.parent(1), None);
        assert_eq!(tree.parent(7), Some(1));
        assert_eq!(tree.parent(8), Some(2));
        assert_eq!(tree.parent(55), Some(7));
        assert_eq!(tree.parent(56), Some(8));
        assert_eq!(tree.parent(151), Some(55));
        assert_eq!(tree.lineage(151).collect::<Vec<_>>(), [151, 55, 7, 1]);
        let owned: u64 = (1..=151).map(|t| tree.features_of(t).count() as u64).sum();
        assert_eq!(owned, tree.features());
        assert_eq!(tree.features_of(1).count(), 0);
    }
}
