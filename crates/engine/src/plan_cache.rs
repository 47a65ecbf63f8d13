//! The plan cache of a database: queries that come again, word by word, are neither parsed nor planned anew; those that differ from
//! earlier ones in constants only are [not parsed](crate::query_templates), and take the plan of those where it holds.
//!
//! Planning itself begins with what queries before found out about [stars without constants, the order of joins, and plans](basalt_plan::KnownStars) on the same state.
//!
//! An entry has the algebra of a text and its plan. The algebra holds for ever, the plan for one state of the data (a
//! [`SnapshotMark`]); on another state the algebra is planned again. What decides a plan beside text and state is
//! part of the key: base, graphs given beside the query, options of planning. Constants are part of the text here: see
//! `docs/decisions/0029-plans-by-template.md` for how plans are shared between them.
//!
//! Admission: a text is kept when it comes the second time. Eviction: [two generations](crate::two_generations).
//!
//! Invariant: an entry found has the key that was asked for, compared in full, and its plan is given out only for the state it
//! was made for. Cost: a hash of the text and a lock for some hundred nanoseconds.

use crate::error::Error;
use crate::query::{Prepared, QueryOptions};
use crate::query_templates::QueryTemplates;
use crate::two_generations::{Counted, TwoGenerations};
use basalt_plan::physical::Plan;
use basalt_plan::{KnownStars, PlanOptions, PlanShape, TemplateInstance};
use basalt_store::{Snapshot, SnapshotMark};
use spargebra::Query;
use std::hash::{BuildHasher, RandomState};
use std::mem::size_of;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Bytes of all entries, as they are counted: some hundred plans of twenty operators.
const BYTES_MAX: usize = 16 << 20;
/// Bytes counted for one node of a plan: the node, its slots and its patterns.
const NODE_BYTES: usize = 1024;
/// Bytes counted for each byte of a text: the text and its algebra.
const TEXT_FACTOR: usize = 8;

/// What is known of a text.
pub(crate) enum Known {
    /// Its algebra and the plan for this state.
    Plan(Arc<Query>, Arc<Plan>, PlanShape),
    /// Its algebra.
    Algebra(Arc<Query>),
    /// Nothing.
    Nothing,
}

/// How the cache does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanCacheStatus {
    /// Queries that found their plan.
    pub hits: u64,
    /// Queries that found their algebra, and were planned since the data had changed.
    pub replanned: u64,
    /// Queries that found nothing.
    pub misses: u64,
    /// Those of them that were not parsed, since they differed from others in constants only.
    pub by_template: u64,
    /// Joins of a query that were ordered as those of others were.
    pub known_orders: u64,
    /// Queries that took the plan of others, which differed from them in constants only.
    pub known_plans: u64,
    /// Texts kept now.
    pub texts: usize,
    /// Bytes that they are counted with.
    pub bytes: usize,
}

/// See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct PlanCache {
    hasher: RandomState,
    kept: Mutex<TwoGenerations<Entry>>,
    hits: AtomicU64,
    replanned: AtomicU64,
    misses: AtomicU64,
    templates: QueryTemplates,
    /// What was found out about stars, and the state of the data that this is true of.
    known_stars: Mutex<Option<(SnapshotMark, Arc<KnownStars>)>>,
}

/// What decides a plan beside the state of the data.
#[derive(Debug, PartialEq)]
struct Key {
    text: String,
    base: Option<String>,
    default_graphs: Vec<String>,
    named_graphs: Vec<String>,
    plan: PlanOptions,
}

impl Key {
    fn new(text: &str, options: &QueryOptions) -> Self {
        Self {
            text: text.to_owned(),
            base: options.base.clone(),
            default_graphs: options.default_graphs.clone(),
            named_graphs: options.named_graphs.clone(),
            plan: options.plan_options(),
        }
    }

    fn is_of(&self, text: &str, options: &QueryOptions) -> bool {
        self.text == text
            && self.base == options.base
            && self.default_graphs == options.default_graphs
            && self.named_graphs == options.named_graphs
            && self.plan == options.plan_options()
    }
}

#[derive(Debug)]
struct Entry {
    key: Arc<Key>,
    query: Arc<Query>,
    plan: Arc<Plan>,
    shape: PlanShape,
    /// The state that the plan is for.
    mark: SnapshotMark,
}

impl Counted for Entry {
    fn bytes(&self) -> usize {
        let graphs = self.key.default_graphs.iter().chain(&self.key.named_graphs);
        let others = graphs.chain(&self.key.base);
        let others = others.chain(&self.key.plan.disabled_rules);
        size_of::<Self>()
            + size_of::<Key>()
            + self.key.text.len() * TEXT_FACTOR
            + self.plan.node_count * NODE_BYTES
            + others.map(String::len).sum::<usize>()
    }
}

impl PlanCache {
    pub(crate) fn new() -> Self {
        Self {
            hasher: RandomState::new(),
            kept: Mutex::new(TwoGenerations::new(BYTES_MAX)),
            hits: AtomicU64::new(0),
            replanned: AtomicU64::new(0),
            misses: AtomicU64::new(0),
            templates: QueryTemplates::new(),
            known_stars: Mutex::default(),
        }
    }

    /// The algebra of a text for which nothing was found; and if its template is known, what a plan may be shared with.
    pub(crate) fn parse(
        &self,
        text: &str,
        options: &QueryOptions,
    ) -> Result<(Query, Option<TemplateInstance>), Error> {
        self.templates.parse(text, options)
    }

    /// What queries on a state found out about stars so far.
    pub(crate) fn known_stars(&self, snapshot: &Snapshot) -> Arc<KnownStars> {
        let mut known = self.known_stars_now();
        if let Some((mark, stars)) = &*known
            && mark.is_of(snapshot)
        {
            return Arc::clone(stars);
        }
        let before = known.as_ref().map(|(_, stars)| stars.for_next_state());
        let stars = Arc::new(before.unwrap_or_default());
        let gone = known.replace((snapshot.mark(), Arc::clone(&stars)));
        drop(known);
        drop(gone);
        stars
    }

    /// Looks for a text that is to be run on a state.
    pub(crate) fn find(&self, text: &str, options: &QueryOptions, snapshot: &Snapshot) -> Known {
        let hash = self.hash(text, options);
        let mut kept = self.lock();
        let (found, gone) = kept.find(hash);
        let known = match found.filter(|entry| entry.key.is_of(text, options)) {
            None => Known::Nothing,
            Some(entry) if entry.mark.is_of(snapshot) => {
                let (query, plan) = (Arc::clone(&entry.query), Arc::clone(&entry.plan));
                Known::Plan(query, plan, entry.shape)
            }
            Some(entry) => Known::Algebra(Arc::clone(&entry.query)),
        };
        drop(kept);
        drop(gone);
        let counter = match &known {
            Known::Plan(..) => &self.hits,
            Known::Algebra(_) => &self.replanned,
            Known::Nothing => &self.misses,
        };
        counter.fetch_add(1, Ordering::Relaxed);
        known
    }

    /// Tells the plan of a text for a state; it is kept unless the text has come for the first time.
    pub(crate) fn tell(&self, text: &str, options: &QueryOptions, prepared: &Prepared) {
        let hash = self.hash(text, options);
        let mut kept = self.lock();
        let known = kept.recent(hash);
        let key = known.filter(|entry| entry.key.is_of(text, options));
        let key = key.map(|entry| Arc::clone(&entry.key));
        if key.is_none() && !kept.has_come(hash) {
            return;
        }
        let entry = Entry {
            key: key.unwrap_or_else(|| Arc::new(Key::new(text, options))),
            query: Arc::clone(&prepared.query),
            plan: Arc::clone(&prepared.plan),
            shape: prepared.shape,
            mark: prepared.snapshot.mark(),
        };
        let gone = kept.put(hash, entry);
        drop(kept);
        drop(gone);
    }

    fn known_stars_now(&self) -> MutexGuard<'_, Option<(SnapshotMark, Arc<KnownStars>)>> {
        let known = self.known_stars.lock();
        known.unwrap_or_else(PoisonError::into_inner)
    }

    /// How it does.
    pub(crate) fn status(&self) -> PlanCacheStatus {
        let known = self.known_stars_now();
        let taken =
            |count: fn(&KnownStars) -> u64| known.as_ref().map_or(0, |(_, stars)| count(stars));
        let known_orders = taken(KnownStars::orders_taken);
        let known_plans = taken(KnownStars::plans_taken);
        drop(known);
        let kept = self.lock();
        PlanCacheStatus {
            hits: self.hits.load(Ordering::Relaxed),
            replanned: self.replanned.load(Ordering::Relaxed),
            misses: self.misses.load(Ordering::Relaxed),
            by_template: self.templates.hits(),
            known_orders,
            known_plans,
            texts: kept.len(),
            bytes: kept.bytes(),
        }
    }

    fn hash(&self, text: &str, options: &QueryOptions) -> u64 {
        let key = (text, &options.base, &options.default_graphs);
        self.hasher
            .hash_one((key, &options.named_graphs, options.union_default_graph))
    }

    fn lock(&self) -> MutexGuard<'_, TwoGenerations<Entry>> {
        // Whatever a panic left half done, entries are compared before they are used.
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Database;

    fn tell(cache: &PlanCache, text: &str, snapshot: &Snapshot) {
        let options = QueryOptions::default();
        let prepared = crate::Prepared::new(snapshot.clone(), text, &options).expect("a query");
        cache.tell(text, &options, &prepared);
    }

    #[test]
    fn a_text_is_kept_when_it_comes_again() {
        let (cache, options) = (PlanCache::new(), QueryOptions::default());
        let snapshot = Database::in_memory().snapshot();
        let find = |options: &QueryOptions| cache.find("ASK {}", options, &snapshot);
        tell(&cache, "ASK {}", &snapshot);
        assert!(matches!(find(&options), Known::Nothing));
        tell(&cache, "ASK {}", &snapshot);
        assert!(matches!(find(&options), Known::Plan(..)));
        let other = QueryOptions {
            disabled_rules: vec!["fold_optional".to_owned()],
            ..QueryOptions::default()
        };
        assert!(matches!(find(&other), Known::Nothing));
        let drawn = QueryOptions {
            order_draw: Some(basalt_plan::OrderDraw {
                seed: 1,
                spread: None,
            }),
            ..QueryOptions::default()
        };
        assert!(matches!(find(&drawn), Known::Nothing));
        let status = cache.status();
        assert_eq!((status.hits, status.misses, status.texts), (1, 3, 1));
        let changed = Database::in_memory().snapshot();
        let known = cache.find("ASK {}", &options, &changed);
        assert!(matches!(known, Known::Algebra(_)));
    }

    #[test]
    fn bytes_are_bounded_and_what_is_used_stays() {
        let (cache, options) = (PlanCache::new(), QueryOptions::default());
        let snapshot = Database::in_memory().snapshot();
        let text = |number: usize| format!("ASK {{}} # {number} {}", "x".repeat(4000));
        for number in 0..2000 {
            for _ in 0..2 {
                tell(&cache, &text(number), &snapshot);
            }
            assert!(cache.status().bytes <= BYTES_MAX);
            if number > 0 {
                let known = cache.find(&text(0), &options, &snapshot);
                assert!(matches!(known, Known::Plan(..)), "{number}");
            }
        }
        assert!(cache.status().texts < 600);
        assert!(matches!(
            cache.find(&text(1), &options, &snapshot),
            Known::Nothing
        ));
    }
}
