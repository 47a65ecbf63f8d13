//! From characteristic sets to a schema: group, cluster, filter, adopt, name.
//!
//! The steps, in order: sets of one class are one group, and so are sets that one class refers to
//! in one telling way; what is left is clustered by similarity with a threshold chosen for the data
//! set by trials; tables too small are dropped unless much refers to them; sets left over join a
//! table whose columns take most of their quads.

use crate::fast_map::FastMap;

use crate::adoption::Adopters;
use crate::charsets::{CharacteristicSets, Charset};
use crate::columns::{self, Totals};
use crate::groups::{self, Label};
use crate::links::Links;
use crate::naming::{Names, UniqueNames, local_name};
use crate::schema::{Schema, TableShape, Trial};
use crate::settings::Settings;
use crate::similarity::{Clusters, Weights};
use crate::type_class::TypeClass;

/// The threshold when nothing is left to be merged by similarity (MonetDB's fixed value).
const THRESHOLD_DEFAULT: f64 = 0.75;
/// The share of a column's resources that must be rows of one table to make it a link
/// (MonetDB's 1 - `infreqTypeThreshold`).
const LINK_SHARE_MIN: f64 = 0.9;

/// Finds the tables.
pub fn discover(
    charsets: &CharacteristicSets,
    links: &Links,
    settings: &Settings,
    names: &dyn Names,
) -> Schema {
    let weights = Weights::of(&charsets.sets);
    let discovery = Discovery::new(charsets, links, settings, &weights);
    let (threshold, trials) = match settings.threshold {
        Some(threshold) => (threshold, Vec::new()),
        None if discovery.rest.is_empty() => (THRESHOLD_DEFAULT, Vec::new()),
        None => discovery.choose_threshold(),
    };
    let drafts = discovery.draft(&discovery.rest, threshold, usize::MAX);
    let mut schema = Schema {
        charset_to_table: vec![None; charsets.sets.len()],
        threshold,
        trials,
        tables: Vec::with_capacity(drafts.len()),
    };
    let mut unique = UniqueNames::default();
    let mut all_totals = Vec::with_capacity(drafts.len());
    for (at, draft) in drafts.into_iter().enumerate() {
        let totals = draft.totals;
        for &charset in &draft.members {
            schema.charset_to_table[charset as usize] = Some(at);
        }
        schema.tables.push(TableShape {
            name: unique.take(discovery.name(draft.label, &totals, names)),
            class: match draft.label {
                Some(Label::Class(class)) => Some(class),
                _ => None,
            },
            columns: columns::shapes(&totals, &draft.predicates, settings),
            rows: totals.rows,
            charsets: draft.members,
        });
        all_totals.push(totals);
    }
    discovery.find_link_targets(&mut schema, &all_totals);
    schema
}

/// A table in the making.
struct Draft {
    label: Option<Label>,
    /// Its sets, ascending.
    members: Vec<u32>,
    /// The sums over its sets.
    totals: Totals,
    /// The predicates that become columns, ascending.
    predicates: Vec<u32>,
}

/// Sets that are merged whatever their predicates.
struct Seed {
    label: Label,
    /// The sets, ascending.
    members: Vec<u32>,
    /// The sums over them.
    totals: Totals,
}

/// What the steps share.
struct Discovery<'a> {
    charsets: &'a CharacteristicSets,
    links: &'a Links,
    settings: &'a Settings,
    weights: &'a Weights,
    /// In order of appearance.
    seeds: Vec<Seed>,
    /// A cluster of each seed.
    clusters: Clusters<'a>,
    /// The sets without a label, largest first.
    rest: Vec<u32>,
    /// How often each set is referred to.
    references: Vec<u64>,
}

impl<'a> Discovery<'a> {
    fn new(
        charsets: &'a CharacteristicSets,
        links: &'a Links,
        settings: &'a Settings,
        weights: &'a Weights,
    ) -> Self {
        let mut seeds: Vec<Seed> = Vec::new();
        let mut rest = Vec::new();
        let mut index: FastMap<Label, usize> = FastMap::default();
        let all = groups::labels(charsets, links, weights, settings);
        for (at, label) in all.into_iter().enumerate() {
            let Some(label) = label else {
                rest.push(at as u32);
                continue;
            };
            let group = *index.entry(label).or_insert_with(|| {
                seeds.push(Seed {
                    label,
                    members: Vec::new(),
                    totals: Totals::default(),
                });
                seeds.len() - 1
            });
            seeds[group].members.push(at as u32);
        }
        rest.sort_by_cached_key(|&at| (std::cmp::Reverse(charsets.sets[at as usize].quads()), at));
        let mut references = vec![0; charsets.sets.len()];
        for (_, _, target, count) in links.iter() {
            references[target as usize] += count;
        }
        let sets = &charsets.sets;
        for seed in &mut seeds {
            seed.totals = Totals::of(seed.members.iter().map(|&m| &sets[m as usize]));
        }
        let totals = seeds.iter().map(|seed| &seed.totals);
        Self {
            charsets,
            links,
            settings,
            weights,
            clusters: Clusters::around(totals, sets, weights, settings),
            seeds,
            rest,
            references,
        }
    }

    fn set(&self, charset: u32) -> &'a Charset {
        &self.charsets.sets[charset as usize]
    }

    /// The sums with those over further sets.
    fn with(&self, totals: &Totals, members: &[u32]) -> Totals {
        match members {
            [] => totals.clone(),
            _ => totals.with(members.iter().map(|&m| self.set(m))),
        }
    }

    /// The tables for one threshold, with `rest` as the sets to be merged by similarity, the largest of those without a table to be adopted,
    /// at most `orphans_max`.
    fn draft(&self, rest: &[u32], threshold: f64, orphans_max: usize) -> Vec<Draft> {
        let clustered = self.clusters.clone().cluster(rest, threshold);
        let mut drafts = Vec::new();
        let mut orphans = clustered.left;
        for (at, joined) in clustered.joined.into_iter().enumerate() {
            let seed = self.seeds.get(at);
            let label = seed.map(|seed| seed.label);
            let (mut members, totals) = match seed {
                Some(seed) => (seed.members.clone(), self.with(&seed.totals, &joined)),
                None => (Vec::new(), self.with(&Totals::default(), &joined)),
            };
            members.extend(joined);
            let predicates = columns::predicates(&totals, self.settings);
            if self.is_worth_a_table(label, totals.rows, &members) && !predicates.is_empty() {
                members.sort_unstable();
                drafts.push(Draft {
                    label,
                    members,
                    totals,
                    predicates,
                });
            } else {
                orphans.extend(members);
            }
        }
        self.keep_largest(&mut drafts, &mut orphans);
        self.adopt(&mut drafts, self.largest(orphans, orphans_max));
        drafts.sort_by_key(|d| d.members[0]);
        drafts
    }

    fn is_worth_a_table(&self, label: Option<Label>, rows: u64, members: &[u32]) -> bool {
        let references: u64 = members.iter().map(|&m| self.references[m as usize]).sum();
        let rows_min = self.settings.rows_min(self.charsets.quads);
        let much_referenced = references >= self.settings.reference_factor * rows_min
            && (rows > 1 || label.is_some());
        rows >= rows_min || much_referenced
    }

    fn keep_largest(&self, drafts: &mut Vec<Draft>, orphans: &mut Vec<u32>) {
        if drafts.len() > self.settings.tables_max {
            drafts.sort_by_cached_key(|d| (std::cmp::Reverse(d.totals.quads()), d.members[0]));
            for dropped in drafts.drain(self.settings.tables_max..) {
                orphans.extend(dropped.members);
            }
        }
    }

    /// The sets with the most quads, the first among equals.
    fn largest(&self, mut sets: Vec<u32>, count: usize) -> Vec<u32> {
        if sets.len() > count {
            sets.sort_by_cached_key(|&at| (std::cmp::Reverse(self.set(at).quads()), at));
            sets.truncate(count);
        }
        sets
    }

    /// Gives each set without a table to the most similar one that takes most of its quads.
    fn adopt(&self, drafts: &mut [Draft], orphans: Vec<u32>) {
        let columns = drafts.iter().map(|d| &d.predicates[..]);
        let mut adopters = Adopters::new(columns, self.weights, self.settings);
        let mut adopted = vec![Vec::new(); drafts.len()];
        for orphan in orphans {
            if let Some(at) = adopters.table_of(self.set(orphan)) {
                adopted[at].push(orphan);
            }
        }
        for (draft, adopted) in drafts.iter_mut().zip(adopted) {
            if !adopted.is_empty() {
                draft.totals = self.with(&draft.totals, &adopted);
                draft.members.extend(adopted);
                draft.members.sort_unstable();
            }
        }
    }

    /// Ten trials from 0.50 to 0.95. With a higher threshold there are more tables with fewer
    /// holes: both curves are normalised, and the first threshold where their slopes cross is
    /// taken, bounded by the thresholds that cover (nearly) as much as the best. (MonetDB takes the
    /// last crossing because holes cost it space; here holes are cheap, and every table costs
    /// every query that has to look into it.)
    fn choose_threshold(&self) -> (f64, Vec<Trial>) {
        let rest = &self.rest[..self.rest.len().min(self.settings.trial_charsets_max)];
        let trials: Vec<Trial> = (0..10)
            .map(|i| self.trial(rest, f64::from(50 + 5 * i) / 100.0))
            .collect();
        (choose(&trials, self.settings.coverage_slack), trials)
    }

    fn trial(&self, rest: &[u32], threshold: f64) -> Trial {
        let drafts = self.draft(rest, threshold, self.settings.trial_charsets_max);
        let (mut covered, mut filled, mut cells) = (0u64, 0u64, 0u64);
        for draft in &drafts {
            let totals = &draft.totals;
            for &predicate in &draft.predicates {
                covered += totals
                    .counts_of(predicate)
                    .iter()
                    .map(|c| c.values)
                    .sum::<u64>();
                filled += totals.rows_with(predicate);
            }
            cells += totals.rows * draft.predicates.len() as u64;
        }
        Trial {
            threshold,
            tables: drafts.len(),
            coverage: covered as f64 / self.charsets.quads.max(1) as f64,
            fill: filled as f64 / cells.max(1) as f64,
        }
    }

    fn name(&self, label: Option<Label>, totals: &Totals, names: &dyn Names) -> String {
        let class_name = |class| local_name(&names.term(basalt_rdf::TermId(class))).to_owned();
        match label {
            Some(Label::Class(class)) => class_name(class),
            Some(Label::Referrer(class, predicate)) => {
                let predicate = names.predicate(predicate);
                format!("{} of {}", local_name(&predicate), class_name(class))
            }
            None => {
                let telling = |&(p, rows): &(u32, u64)| self.weights.idf(p) * rows as f64;
                // That things have a type says nothing of them, unless it is all that is said.
                let is_type = |p: u32| Some(p) == self.charsets.type_predicate;
                let best = totals.predicate_rows.iter().max_by(|a, b| {
                    let others_first = is_type(b.0).cmp(&is_type(a.0));
                    others_first
                        .then(telling(a).total_cmp(&telling(b)))
                        .then(b.0.cmp(&a.0))
                });
                match best {
                    Some(&(p, _)) => format!("things with {}", local_name(&names.predicate(p))),
                    None => "things".to_owned(),
                }
            }
        }
    }

    /// Finds where columns link to; of the tables the sums over their sets.
    fn find_link_targets(&self, schema: &mut Schema, totals: &[Totals]) {
        let mut counts: FastMap<(usize, u32), FastMap<usize, u64>> = FastMap::default();
        for (source, predicate, target, count) in self.links.iter() {
            let tables = &schema.charset_to_table;
            if let (Some(from), Some(to)) = (tables[source as usize], tables[target as usize]) {
                *counts
                    .entry((from, predicate))
                    .or_default()
                    .entry(to)
                    .or_insert(0) += count;
            }
        }
        for (at, (table, totals)) in schema.tables.iter_mut().zip(totals).enumerate() {
            for column in &mut table.columns {
                if column.type_class != TypeClass::Resource {
                    continue;
                }
                let values: u64 = totals
                    .counts_of(column.predicate)
                    .iter()
                    .filter(|c| c.class == TypeClass::Resource)
                    .map(|c| c.values)
                    .sum();
                column.link_target = counts
                    .get(&(at, column.predicate))
                    .and_then(|targets| targets.iter().max_by_key(|(_, n)| **n))
                    .filter(|(_, n)| **n as f64 >= LINK_SHARE_MIN * values as f64)
                    .map(|(target, _)| *target);
            }
        }
    }
}

/// The threshold for which the trials speak.
fn choose(trials: &[Trial], coverage_slack: f64) -> f64 {
    let best = trials.iter().map(|t| t.coverage).fold(0.0, f64::max);
    let covers = |t: &&Trial| t.coverage >= best - coverage_slack;
    let normalise = |values: Vec<f64>| -> Vec<f64> {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        values
            .iter()
            .map(|v| {
                if high > low {
                    (v - low) / (high - low)
                } else {
                    0.0
                }
            })
            .collect()
    };
    let tables = normalise(trials.iter().map(|t| t.tables as f64).collect());
    let fill = normalise(trials.iter().map(|t| t.fill).collect());
    let lead: Vec<f64> = tables.iter().zip(&fill).map(|(t, f)| t - f).collect();
    let slopes: Vec<f64> = lead.windows(2).map(|w| w[1] - w[0]).collect();
    let crossing = slopes
        .windows(2)
        .position(|w| w[0] * w[1] < 0.0)
        .map(|at| trials[at + 1].threshold);
    let wished = crossing.unwrap_or(THRESHOLD_DEFAULT);
    let below = trials
        .iter()
        .filter(covers)
        .rfind(|t| t.threshold <= wished);
    let above = trials.iter().find(covers);
    below.or(above).map_or(wished, |t| t.threshold)
}
