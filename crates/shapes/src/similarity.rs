//! Merging by similarity: greedy clustering of characteristic sets, largest first.
//!
//! Predicates weigh by how rare they are (inverse document frequency over subjects); a set joins
//! the cluster with the most similar core (the predicates that at least a few per cent of its
//! subjects have) if the cosine reaches the threshold, else it opens a cluster.
//!
//! Cost: for each set, the core postings of its predicates; a join renews the core of one cluster.

use crate::fast_map::FastMap;

use crate::charsets::Charset;
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
#[derive(Default)]
struct Cluster {
    members: Vec<u32>,
    subjects: u64,
    rows: FastMap<u32, u64>,
    /// The predicates of the core, ascending.
    core: Vec<u32>,
    /// Squared length of the core.
    norm: f64,
}

/// Clusters with the postings of their cores.
struct Clusters<'a> {
    sets: &'a [Charset],
    weights: &'a Weights,
    settings: &'a Settings,
    all: Vec<Cluster>,
    /// Predicate to the clusters that have it in their core.
    postings: FastMap<u32, Vec<u32>>,
    /// Scratch: dot product by cluster, zero between uses.
    dots: Vec<f64>,
}

/// Clusters the sets in `rest` (largest first) around `seeds`. The first clusters of the answer
/// are the seeds, in order, with what joined them.
pub(crate) fn cluster(
    sets: &[Charset],
    weights: &Weights,
    seeds: &[Vec<u32>],
    rest: &[u32],
    threshold: f64,
    settings: &Settings,
) -> Vec<Vec<u32>> {
    let mut clusters = Clusters {
        sets,
        weights,
        settings,
        all: Vec::new(),
        postings: FastMap::default(),
        dots: Vec::new(),
    };
    for seed in seeds {
        let at = clusters.open();
        for &member in seed {
            clusters.add_rows(at, member);
        }
        clusters.renew_core(at);
    }
    for &charset in rest {
        let target = match clusters.most_similar(charset, threshold) {
            Some(at) => at,
            None if clusters.all.len() < settings.clusters_max + seeds.len() => clusters.open(),
            None => continue,
        };
        clusters.add_rows(target, charset);
        clusters.renew_core(target);
    }
    clusters.all.into_iter().map(|c| c.members).collect()
}

impl Clusters<'_> {
    fn open(&mut self) -> usize {
        self.all.push(Cluster::default());
        self.dots.push(0.0);
        self.all.len() - 1
    }

    fn add_rows(&mut self, at: usize, charset: u32) {
        let cluster = &mut self.all[at];
        let set = &self.sets[charset as usize];
        cluster.members.push(charset);
        cluster.subjects += set.subjects;
        for predicate in set.predicates() {
            *cluster.rows.entry(predicate).or_insert(0) += set.subjects;
        }
    }

    fn renew_core(&mut self, at: usize) {
        let cluster = &mut self.all[at];
        let limit = self.settings.core_fill_min * cluster.subjects as f64;
        let mut core: Vec<u32> = cluster
            .rows
            .iter()
            .filter(|(_, n)| **n as f64 >= limit)
            .map(|(p, _)| *p)
            .collect();
        core.sort_unstable();
        for predicate in &cluster.core {
            if core.binary_search(predicate).is_err()
                && let Some(posting) = self.postings.get_mut(predicate)
            {
                posting.retain(|c| *c != at as u32);
            }
        }
        for predicate in &core {
            if cluster.core.binary_search(predicate).is_err() {
                self.postings.entry(*predicate).or_default().push(at as u32);
            }
        }
        cluster.norm = self.weights.norm(core.iter().copied());
        cluster.core = core;
    }

    /// The cluster with the highest cosine, if it reaches the threshold; the first among equals.
    fn most_similar(&mut self, charset: u32, threshold: f64) -> Option<usize> {
        let set = &self.sets[charset as usize];
        let mut touched: Vec<u32> = Vec::new();
        for predicate in set.predicates() {
            let square = self.weights.square(predicate);
            for &at in self.postings.get(&predicate).map_or(&[][..], Vec::as_slice) {
                if self.dots[at as usize] == 0.0 {
                    touched.push(at);
                }
                self.dots[at as usize] += square;
            }
        }
        let norm = self.weights.norm(set.predicates());
        let mut best: Option<(f64, u32)> = None;
        for at in touched {
            let dot = std::mem::take(&mut self.dots[at as usize]);
            let cosine = dot / (norm * self.all[at as usize].norm).sqrt();
            let better = best.is_none_or(|(c, b)| cosine > c || cosine == c && at < b);
            if cosine >= threshold && better {
                best = Some((cosine, at));
            }
        }
        best.map(|(_, at)| at as usize)
    }
}
