//! Layers of a dictionary half: the files of several loads, one after the other.
//!
//! A layer numbers its terms from 0; in the dictionary the ordinals of a layer begin where those of
//! the layer before it end. So ids never change when a layer is added. Nearly all stores have one
//! layer or a large first one: an ordinal is compared with its end first, which costs what no layers
//! would cost, and sought among the others by binary search.

/// The layers of one half.
#[derive(Clone, Debug)]
pub(super) struct Layers<T> {
    /// The oldest layer.
    base: T,
    /// Terms of the oldest layer.
    base_count: u64,
    /// The first ordinal of every other layer with the layer, ascending.
    later: Vec<(u64, T)>,
    /// Terms of all layers.
    count: u64,
}

impl<T> Layers<T> {
    /// A single layer of so many terms.
    pub(super) fn new(base: T, count: u64) -> Self {
        Self {
            base,
            base_count: count,
            later: Vec::new(),
            count,
        }
    }

    /// Adds a layer of so many terms after the last.
    pub(super) fn push(&mut self, layer: T, count: u64) {
        self.later.push((self.count, layer));
        self.count += count;
    }

    /// Terms of all layers.
    pub(super) fn count(&self) -> u64 {
        self.count
    }

    /// The layer of an ordinal and the ordinal there. An ordinal that no layer has falls to the last.
    #[inline]
    pub(super) fn locate(&self, ordinal: u64) -> (&T, u64) {
        if ordinal < self.base_count || self.later.is_empty() {
            return (&self.base, ordinal);
        }
        let after = self.later.partition_point(|(first, _)| *first <= ordinal);
        // The first of them begins where the base ends, so one lies before.
        let (first, layer) = &self.later[after - 1];
        (layer, ordinal - first)
    }

    /// Every layer with its first ordinal, the youngest first and the oldest last.
    pub(super) fn youngest_first(&self) -> impl Iterator<Item = (u64, &T)> {
        let later = self.later.iter().rev();
        later
            .map(|(first, layer)| (*first, layer))
            .chain([(0, &self.base)])
    }

    /// Every layer with its first ordinal, the oldest first.
    pub(super) fn oldest_first(&self) -> impl Iterator<Item = (u64, &T)> {
        let later = self.later.iter().map(|(first, layer)| (*first, layer));
        [(0, &self.base)].into_iter().chain(later)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_ordinal_has_its_layer() {
        let mut layers = Layers::new("a", 3);
        assert_eq!(layers.locate(7), (&"a", 7));
        for (name, count) in [("b", 2), ("empty", 0), ("c", 1)] {
            layers.push(name, count);
        }
        let found: Vec<(&str, u64)> = (0..6)
            .map(|ordinal| layers.locate(ordinal))
            .map(|(layer, local)| (*layer, local))
            .collect();
        let expected = [("a", 0), ("a", 1), ("a", 2), ("b", 0), ("b", 1), ("c", 0)];
        assert_eq!(found, expected);
        assert_eq!(layers.locate(6), (&"c", 1));
        assert_eq!(layers.count(), 6);
        let firsts: Vec<u64> = layers.youngest_first().map(|l| l.0).collect();
        assert_eq!(firsts, [5, 5, 3, 0]);
        assert!(layers.oldest_first().map(|l| l.0).eq([0, 3, 5, 5]));
    }
}
