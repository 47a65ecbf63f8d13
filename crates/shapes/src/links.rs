//! Links between characteristic sets: how often a predicate leads from one set to another.
//!
//! Counted in a second pass over the quads, when the set of every subject is known. The counts
//! give the link targets of columns, keep small tables that much refers to, and merge sets by who
//! refers to them.
//!
//! Cost: one hash lookup per quad with a resource object, saved where it repeats the last one.

use crate::fast_map::FastMap;

/// A link: source set, predicate, target set.
type Key = (u32, u32, u32);

/// Counts links one by one.
#[derive(Default)]
pub struct LinkCounter {
    counts: FastMap<Key, u64>,
    /// The run of equal links that is not in `counts` yet.
    pending: Option<(Key, u64)>,
}

impl LinkCounter {
    /// Counts one quad whose subject is in `source` and whose object is in `target`.
    #[inline]
    pub fn add(&mut self, source: u32, predicate: u32, target: u32) {
        let key = (source, predicate, target);
        match &mut self.pending {
            Some((last, count)) if *last == key => *count += 1,
            _ => {
                self.flush();
                self.pending = Some((key, 1));
            }
        }
    }

    fn flush(&mut self) {
        if let Some((key, count)) = self.pending.take() {
            *self.counts.entry(key).or_insert(0) += count;
        }
    }

    /// Takes over what another counter counted.
    pub fn merge(&mut self, mut other: Self) {
        self.flush();
        other.flush();
        for (key, count) in other.counts {
            *self.counts.entry(key).or_insert(0) += count;
        }
    }

    /// The counts, sorted.
    pub fn finish(mut self) -> Links {
        self.flush();
        let mut pairs: Vec<(Key, u64)> = self.counts.into_iter().collect();
        pairs.sort_unstable();
        Links { pairs }
    }
}

/// All links with their counts, sorted by source, predicate, target.
#[derive(Clone, Debug, Default)]
pub struct Links {
    pairs: Vec<(Key, u64)>,
}

impl Links {
    /// Every link as source set, predicate, target set, count.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32, u32, u64)> + '_ {
        self.pairs.iter().map(|&((s, p, t), n)| (s, p, t, n))
    }

    /// The links among some of the sets, which get the given numbers.
    pub(crate) fn among(&self, places: &[Option<u32>]) -> Self {
        let place = |set: u32| places.get(set as usize).copied().flatten();
        let pairs = self
            .iter()
            .filter_map(|(source, predicate, target, count)| {
                Some(((place(source)?, predicate, place(target)?), count))
            });
        Self {
            pairs: pairs.collect(),
        }
    }
}
