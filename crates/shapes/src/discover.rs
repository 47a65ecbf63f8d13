//! From characteristic sets to a schema: group, cluster, filter, adopt, name.
//!
//! The steps, in order: sets of one class are one group, and so are sets that one class refers to
//! in one telling way; what is left is clustered by similarity with a threshold chosen for the data
//! set by trials; tables too small are dropped unless much refers to them; sets left over join a
//! table whose columns take most of their quads.

use crate::fast_map::FastMap;

use crate::charsets::{CharacteristicSets, Charset};
use crate::columns::{self, Totals};
use crate::groups::{self, Label};
use crate::links::Links;
use crate::naming::{Names, UniqueNames, local_name};
use crate::schema::{Schema, TableShape, Trial};
use crate::settings::Settings;
use crate::similarity::{self, Weights};
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
    let discovery = Discovery::new(charsets, links, settings);
    let (threshold, trials) = match settings.threshold {
        Some(threshold) => (threshold, Vec::new()),
        None if discovery.rest.is_empty() => (THRESHOLD_DEFAULT, Vec::new()),
        None => discovery.choose_threshold(),
    };
    let drafts = discovery.draft(&discovery.rest, threshold);
    let mut schema = Schema {
        charset_to_table: vec![None; charsets.sets.len()],
        threshold,
        trials,
        tables: Vec::with_capacity(drafts.len()),
    };
    let mut unique = UniqueNames::default();
    for (at, draft) in drafts.into_iter().enumerate() {
        let totals = discovery.totals(&draft.members);
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
    }
    discovery.find_link_targets(&mut schema);
    schema
}

/// A table in the making.
struct Draft {
    label: Option<Label>,
    /// Its sets, ascending.
    members: Vec<u32>,
    /// The predicates that become columns, ascending.
    predicates: Vec<u32>,
}

/// What the steps share.
struct Discovery<'a> {
    charsets: &'a CharacteristicSets,
    links: &'a Links,
    settings: &'a Settings,
    weights: Weights,
    /// Groups that are merged whatever their predicates, in order of appearance.
    labels: Vec<Label>,
    /// The sets of each label.
    seeds: Vec<Vec<u32>>,
    /// The sets without a label, largest first.
    rest: Vec<u32>,
    /// How often each set is referred to.
    references: Vec<u64>,
}

impl<'a> Discovery<'a> {
    fn new(charsets: &'a CharacteristicSets, links: &'a Links, settings: &'a Settings) -> Self {
        let weights = Weights::of(&charsets.sets);
        let mut labels: Vec<Label> = Vec::new();
        let mut seeds: Vec<Vec<u32>> = Vec::new();
        let mut rest = Vec::new();
        let mut index: FastMap<Label, usize> = FastMap::default();
        let all = groups::labels(charsets, links, &weights, settings);
        for (at, label) in all.into_iter().enumerate() {
            let Some(label) = label else {
                rest.push(at as u32);
                continue;
            };
            let group = *index.entry(label).or_insert_with(|| {
                labels.push(label);
                seeds.push(Vec::new());
                seeds.len() - 1
            });
            seeds[group].push(at as u32);
        }
        rest.sort_by_cached_key(|&at| (std::cmp::Reverse(charsets.sets[at as usize].quads()), at));
        let mut references = vec![0; charsets.sets.len()];
        for (_, _, target, count) in links.iter() {
            references[target as usize] += count;
        }
        Self {
            charsets,
            links,
            settings,
            weights,
            labels,
            seeds,
            rest,
            references,
        }
    }

    fn set(&self, charset: u32) -> &'a Charset {
        &self.charsets.sets[charset as usize]
    }

    fn totals(&self, members: &[u32]) -> Totals {
        Totals::of(members.iter().map(|&m| self.set(m)))
    }

    /// The tables for one threshold, with `rest` as the sets to be merged by similarity.
    fn draft(&self, rest: &[u32], threshold: f64) -> Vec<Draft> {
        let sets = &self.charsets.sets;
        let clusters = similarity::cluster(
            sets,
            &self.weights,
            &self.seeds,
            rest,
            threshold,
            self.settings,
        );
        let mut drafts = Vec::new();
        let mut orphans: Vec<u32> = Vec::new();
        let in_cluster: usize = clusters.iter().map(Vec::len).sum();
        let mut clustered = Vec::with_capacity(in_cluster);
        for (at, mut members) in clusters.into_iter().enumerate() {
            members.sort_unstable();
            clustered.extend_from_slice(&members);
            let label = self.labels.get(at).copied();
            let predicates = columns::predicates(&self.totals(&members), self.settings);
            if self.is_worth_a_table(label, &members) && !predicates.is_empty() {
                drafts.push(Draft {
                    label,
                    members,
                    predicates,
                });
            } else {
                orphans.extend(members);
            }
        }
        clustered.sort_unstable();
        orphans.extend(rest.iter().filter(|c| clustered.binary_search(c).is_err()));
        self.keep_largest(&mut drafts, &mut orphans);
        self.adopt(&mut drafts, orphans);
        drafts.sort_by_key(|d| d.members[0]);
        drafts
    }

    fn is_worth_a_table(&self, label: Option<Label>, members: &[u32]) -> bool {
        let rows: u64 = members.iter().map(|&m| self.set(m).subjects).sum();
        let references: u64 = members.iter().map(|&m| self.references[m as usize]).sum();
        let rows_min = self.settings.rows_min(self.charsets.quads);
        let much_referenced = references >= self.settings.reference_factor * rows_min
            && (rows > 1 || label.is_some());
        rows >= rows_min || much_referenced
    }

    fn keep_largest(&self, drafts: &mut Vec<Draft>, orphans: &mut Vec<u32>) {
        if drafts.len() > self.settings.tables_max {
            let quads = |d: &Draft| d.members.iter().map(|&m| self.set(m).quads()).sum::<u64>();
            drafts.sort_by_cached_key(|d| (std::cmp::Reverse(quads(d)), d.members[0]));
            for dropped in drafts.drain(self.settings.tables_max..) {
                orphans.extend(dropped.members);
            }
        }
    }

    /// Gives each set without a table to the most similar one that takes most of its quads.
    fn adopt(&self, drafts: &mut [Draft], mut orphans: Vec<u32>) {
        let mut postings: FastMap<u32, Vec<usize>> = FastMap::default();
        let mut norms = Vec::with_capacity(drafts.len());
        for (at, draft) in drafts.iter().enumerate() {
            norms.push(self.weights.norm(draft.predicates.iter().copied()));
            for &predicate in &draft.predicates {
                postings.entry(predicate).or_default().push(at);
            }
        }
        orphans.sort_unstable();
        let mut shares = vec![(0u64, 0f64); drafts.len()];
        for orphan in orphans {
            let set = self.set(orphan);
            shares.fill((0, 0.0));
            let mut last = None;
            for count in &set.counts {
                let new = last != Some(count.predicate);
                last = Some(count.predicate);
                let square = if new {
                    self.weights.square(count.predicate)
                } else {
                    0.0
                };
                for &at in postings
                    .get(&count.predicate)
                    .map_or(&[][..], Vec::as_slice)
                {
                    shares[at].0 += count.values;
                    shares[at].1 += square;
                }
            }
            let (quads, norm) = (set.quads() as f64, self.weights.norm(set.predicates()));
            let mut best: Option<(f64, usize)> = None;
            for (at, &(taken, dot)) in shares.iter().enumerate() {
                let share = taken as f64 / quads.max(1.0);
                let score = share * dot / (norm * norms[at]).sqrt();
                let better = best.is_none_or(|(s, _)| score > s);
                if share >= self.settings.adoption_share_min && better {
                    best = Some((score, at));
                }
            }
            if let Some((_, at)) = best {
                let members = &mut drafts[at].members;
                let place = members.partition_point(|m| *m < orphan);
                members.insert(place, orphan);
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
        let drafts = self.draft(rest, threshold);
        let (mut covered, mut filled, mut cells) = (0u64, 0u64, 0u64);
        for draft in &drafts {
            let totals = self.totals(&draft.members);
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
                let best = totals
                    .predicate_rows
                    .iter()
                    .max_by(|a, b| telling(a).total_cmp(&telling(b)).then(b.0.cmp(&a.0)));
                match best {
                    Some(&(p, _)) => format!("things with {}", local_name(&names.predicate(p))),
                    None => "things".to_owned(),
                }
            }
        }
    }

    fn find_link_targets(&self, schema: &mut Schema) {
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
        for (at, table) in schema.tables.iter_mut().enumerate() {
            let totals = self.totals(&table.charsets);
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
