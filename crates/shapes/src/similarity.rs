//! Merging by similarity: greedy clustering of characteristic sets, largest first.
//!
//! Predicates weigh by how rare they are (inverse document frequency over subjects); a set joins
//! the cluster with the most similar core (the predicates that at least a few per cent of its
//! subjects have) if the cosine reaches the threshold, else it opens a cluster.
//!
//! Cost: for each set, the clusters that may have enough of its predicates ([`Holders`]); a join renews the core of one cluster.

use crate::fast_map::FastMap;

use crate::charsets::Charset;
use crate::columns::Totals;
use crate::holders::{Holders, Scratch, nearly};
use crate::settings::Settings;

/// The weight of every predicate.
pub(crate) struct Weights {
    idf: Vec<f64>,
    /// Squares of the weights used for similarity, which never are zero.
    squares: Vec<f64>,
}

impl Weights {
    /// Weights by the share of subjects that have a predicate.
    pub(crate) fn of(sets: &[Charset]) -> Self {
        let mut rows: Vec<u64> = Vec::new();
        let mut subjects = 0;
        for set in sets {
            subjects += set.subjects;
            for predicate in set.predicates() {
                let at = predicate as usize;
                if rows.len() <= at {
                    rows.resize(at + 1, 0);
                }
                rows[at] += set.subjects;
            }
        }
        let ratio = |n: &u64| subjects as f64 / (*n).max(1) as f64;
        Self {
            idf: rows.iter().map(|n| ratio(n).ln()).collect(),
            squares: rows.iter().map(|n| ratio(n).ln_1p().powi(2)).collect(),
        }
    }

    /// The inverse document frequency of a predicate; 0 if every subject has it.
    pub(crate) fn idf(&self, predicate: u32) -> f64 {
        self.idf.get(predicate as usize).copied().unwrap_or(0.0)
    }

    /// The squared weight of a predicate.
    pub(crate) fn square(&self, predicate: u32) -> f64 {
        self.squares.get(predicate as usize).copied().unwrap_or(0.0)
    }

    /// The squared length of a set of predicates.
    pub(crate) fn norm(&self, predicates: impl Iterator<Item = u32>) -> f64 {
        predicates.map(|p| self.square(p)).sum()
    }
}

/// A growing cluster.
#[derive(Clone, Default)]
struct Cluster {
    subjects: u64,
    rows: FastMap<u32, u64>,
    /// The predicates of the core, ascending.
    core: Vec<u32>,
    /// Squared length of the core.
    norm: f64,
}

/// Clusters with the holders of the predicates of their cores.
#[derive(Clone)]
pub(crate) struct Clusters<'a> {
    sets: &'a [Charset],
    weights: &'a Weights,
    settings: &'a Settings,
    all: Vec<Cluster>,
    /// Predicate to the clusters that have it in their core.
    holders: Holders,
    scratch: Scratch,
}

/// Where sets went.
pub(crate) struct Clustered {
    /// The sets that joined each cluster; the first clusters are the seeds, in order.
    pub(crate) joined: Vec<Vec<u32>>,
    /// The sets that joined none.
    pub(crate) left: Vec<u32>,
}

impl<'a> Clusters<'a> {
    /// A cluster of each of the seeds.
    pub(crate) fn around<'s>(
        seeds: impl Iterator<Item = &'s Totals>,
        sets: &'a [Charset],
        weights: &'a Weights,
        settings: &'a Settings,
    ) -> Self {
        let mut clusters = Self {
            sets,
            weights,
            settings,
            all: Vec::new(),
            holders: Holders::default(),
            scratch: Scratch::default(),
        };
        for (at, seed) in seeds.enumerate() {
            clusters.all.push(Cluster {
                subjects: seed.rows,
                rows: seed.predicate_rows.iter().copied().collect(),
                ..Cluster::default()
            });
            clusters.renew_core(at, seed.predicate_rows.iter().map(|(p, _)| *p));
        }
        clusters
    }

    /// Clusters the sets in `rest` (largest first) around the seeds.
    pub(crate) fn cluster(mut self, rest: &[u32], threshold: f64) -> Clustered {
        let clusters_max = self.settings.clusters_max + self.all.len();
        let mut joined = vec![Vec::new(); self.all.len()];
        let mut left = Vec::new();
        for &charset in rest {
            let target = match self.most_similar(charset, threshold) {
                Some(at) => at,
                None if self.all.len() < clusters_max => {
                    self.all.push(Cluster::default());
                    joined.push(Vec::new());
                    joined.len() - 1
                }
                None => {
                    left.push(charset);
                    continue;
                }
            };
            joined[target].push(charset);
            self.add(target, charset);
        }
        Clustered { joined, left }
    }

    fn add(&mut self, at: usize, charset: u32) {
        let cluster = &mut self.all[at];
        let set = &self.sets[charset as usize];
        cluster.subjects += set.subjects;
        for predicate in set.predicates() {
            *cluster.rows.entry(predicate).or_insert(0) += set.subjects;
        }
        // The limit rises, so only what the set has can come to the core.
        let mut may_be = cluster.core.clone();
        may_be.extend(set.predicates());
        self.renew_core(at, may_be.into_iter());
    }

    /// Makes the core of those of some predicates that enough rows have.
    fn renew_core(&mut self, at: usize, predicates: impl Iterator<Item = u32>) {
        let cluster = &mut self.all[at];
        let limit = self.settings.core_fill_min * cluster.subjects as f64;
        let has_enough = |p: &u32| cluster.rows.get(p).is_some_and(|n| *n as f64 >= limit);
        let mut core: Vec<u32> = predicates.filter(has_enough).collect();
        core.sort_unstable();
        core.dedup();
        for &predicate in &cluster.core {
            if core.binary_search(&predicate).is_err() {
                self.holders.remove(predicate, at as u32);
            }
        }
        for &predicate in &core {
            if cluster.core.binary_search(&predicate).is_err() {
                self.holders.add(predicate, at as u32);
            }
        }
        cluster.norm = self.weights.norm(core.iter().copied());
        cluster.core = core;
    }

    /// The cluster with the highest cosine, if it reaches the threshold; the first among equals.
    fn most_similar(&mut self, charset: u32, threshold: f64) -> Option<usize> {
        let set = &self.sets[charset as usize];
        let norm = self.weights.norm(set.predicates());
        // The length of a core is at least its part in common, so what both have is at least the squared threshold of the set's length.
        let squares = set.predicates().map(|p| (p, self.weights.square(p)));
        let needed = threshold * threshold * norm;
        self.holders.find(squares, needed, &mut self.scratch);
        let mut best: Option<(f64, u32)> = None;
        for &(at, most) in &self.scratch.candidates {
            let length = (norm * self.all[at as usize].norm).sqrt();
            if most < nearly(threshold * length) {
                continue;
            }
            let cosine = self.cosine(set, norm, at);
            let better = best.is_none_or(|(c, b)| cosine > c || cosine == c && at < b);
            if cosine >= threshold && better {
                best = Some((cosine, at));
            }
        }
        best.map(|(_, at)| at as usize)
    }

    /// The cosine of a set of this squared length and a cluster's core.
    fn cosine(&self, set: &Charset, norm: f64, at: u32) -> f64 {
        let cluster = &self.all[at as usize];
        let in_core = |p: &u32| cluster.core.binary_search(p).is_ok();
        let dot: f64 = set
            .predicates()
            .filter(in_core)
            .map(|p| self.weights.square(p))
            .sum();
        dot / (norm * cluster.norm).sqrt()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::charsets::PredicateCounts;
    use crate::type_class::TypeClass;
    use proptest::prelude::*;

    fn any_sets() -> impl Strategy<Value = Vec<Charset>> {
        let set = (1u64..40, proptest::collection::btree_set(0u32..15, 1..7));
        let charset = |(subjects, predicates): (u64, std::collections::BTreeSet<u32>)| Charset {
            subjects,
            counts: predicates
                .into_iter()
                .map(|predicate| PredicateCounts {
                    predicate,
                    class: TypeClass::Resource,
                    values: subjects,
                    rows: subjects,
                })
                .collect(),
            class: None,
        };
        proptest::collection::vec(set.prop_map(charset), 1..60)
    }

    proptest! {
        #[test]
        fn sets_join_what_is_most_similar_of_all(
            sets in any_sets(),
            seeds in 0usize..6,
            threshold in 0.3f64..1.0,
        ) {
            let (weights, settings) = (Weights::of(&sets), Settings { core_fill_min: 0.2, ..Settings::default() });
            let seeds: Vec<Totals> = sets.iter().take(seeds).map(|set| Totals::of([set].into_iter())).collect();
            let mut clusters = Clusters::around(seeds.iter(), &sets, &weights, &settings);
            for (charset, set) in (0u32..).zip(&sets) {
                let norm = weights.norm(set.predicates());
                let mut best: Option<(f64, usize)> = None;
                for at in 0..clusters.all.len() {
                    let cosine = clusters.cosine(set, norm, at as u32);
                    if cosine >= threshold && best.is_none_or(|(c, _)| cosine > c) {
                        best = Some((cosine, at));
                    }
                }
                let found = clusters.most_similar(charset, threshold);
                prop_assert_eq!(found, best.map(|(_, at)| at));
                let target = found.unwrap_or(clusters.all.len());
                if target == clusters.all.len() {
                    clusters.all.push(Cluster::default());
                }
                clusters.add(target, charset);
                // The core is what all rows tell of it.
                let cluster = &clusters.all[target];
                let limit = settings.core_fill_min * cluster.subjects as f64;
                let mut core: Vec<u32> = cluster.rows.iter().filter(|(_, n)| **n as f64 >= limit).map(|(p, _)| *p).collect();
                core.sort_unstable();
                prop_assert_eq!(&cluster.core, &core);
            }
        }
    }
}
