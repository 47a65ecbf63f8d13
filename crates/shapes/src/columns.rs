//! Which predicates of a merged table become columns, and of what kind.
//!
//! A predicate needs enough rows; its most frequent type class gives the main column, another
//! class with a fair share of the values gets a column of its own, the rest are irregular. A
//! column holds lists as soon as more than a sprinkling of its rows have a second value.

use crate::fast_map::FastMap;

use crate::charsets::{CharacteristicSets, Charset, PredicateCounts};
use crate::schema::{ColumnShape, Schema, TableShape};
use crate::settings::Settings;

/// The sums over the characteristic sets of a table.
#[derive(Clone, Default)]
pub(crate) struct Totals {
    /// Subjects.
    pub rows: u64,
    /// Counts, sorted by predicate and type class.
    pub counts: Vec<PredicateCounts>,
    /// Rows with at least one value, by predicate, sorted.
    pub predicate_rows: Vec<(u32, u64)>,
}

impl Totals {
    /// Sums up.
    pub(crate) fn of<'a>(sets: impl Iterator<Item = &'a Charset>) -> Self {
        Self::default().with(sets)
    }

    /// Adds sets to the sums.
    pub(crate) fn with<'a>(&self, sets: impl Iterator<Item = &'a Charset>) -> Self {
        let mut rows = self.rows;
        let known = self.counts.iter().map(|c| ((c.predicate, c.class), *c));
        let mut counts: FastMap<_, PredicateCounts> = known.collect();
        let mut predicate_rows: FastMap<u32, u64> = self.predicate_rows.iter().copied().collect();
        for set in sets {
            rows += set.subjects;
            for count in &set.counts {
                counts
                    .entry((count.predicate, count.class))
                    .and_modify(|c| {
                        c.values += count.values;
                        c.rows += count.rows;
                    })
                    .or_insert(*count);
            }
            for predicate in set.predicates() {
                *predicate_rows.entry(predicate).or_insert(0) += set.subjects;
            }
        }
        let mut counts: Vec<_> = counts.into_values().collect();
        counts.sort_unstable_by_key(|c| (c.predicate, c.class));
        let mut predicate_rows: Vec<_> = predicate_rows.into_iter().collect();
        predicate_rows.sort_unstable();
        Self {
            rows,
            counts,
            predicate_rows,
        }
    }

    /// Quads.
    pub(crate) fn quads(&self) -> u64 {
        self.counts.iter().map(|c| c.values).sum()
    }

    /// Rows that have the predicate.
    pub(crate) fn rows_with(&self, predicate: u32) -> u64 {
        self.predicate_rows
            .binary_search_by_key(&predicate, |p| p.0)
            .map_or(0, |at| self.predicate_rows[at].1)
    }

    /// The counts of one predicate, by type class.
    pub(crate) fn counts_of(&self, predicate: u32) -> &[PredicateCounts] {
        let start = self.counts.partition_point(|c| c.predicate < predicate);
        let end = self.counts.partition_point(|c| c.predicate <= predicate);
        &self.counts[start..end]
    }
}

/// The predicates that become columns, ascending.
pub(crate) fn predicates(totals: &Totals, settings: &Settings) -> Vec<u32> {
    let rows_min = settings.column_rows_min.min(totals.rows) as f64;
    let limit = rows_min.max(settings.column_fill_min * totals.rows as f64);
    totals
        .predicate_rows
        .iter()
        .filter(|&&(_, rows)| rows as f64 >= limit)
        .map(|&(predicate, _)| predicate)
        .collect()
}

/// The columns for the given predicates, sorted by predicate and type class.
pub(crate) fn shapes(totals: &Totals, predicates: &[u32], settings: &Settings) -> Vec<ColumnShape> {
    let mut shapes = Vec::with_capacity(predicates.len());
    for &predicate in predicates {
        let counts = totals.counts_of(predicate);
        let all: u64 = counts.iter().map(|c| c.values).sum();
        let main = counts.iter().map(|c| c.values).max().unwrap_or(0);
        let mut main_seen = false;
        for count in counts {
            let is_main = count.values == main && !main_seen;
            main_seen |= is_main;
            if !is_main && (count.values as f64) < settings.type_share_min * all as f64 {
                continue;
            }
            let extra = (count.values - count.rows) as f64;
            shapes.push(ColumnShape {
                predicate,
                type_class: count.class,
                multi_valued: extra > settings.extra_values_max * count.rows as f64,
                fill: count.rows as f64 / totals.rows.max(1) as f64,
                link_target: None,
            });
        }
    }
    shapes
}

/// One table for all subjects, with a column for every predicate and type class: the schema that
/// leaves nothing irregular in home graphs. It serves tests, which want every quad in a cell.
pub fn one_table(charsets: &CharacteristicSets) -> Schema {
    let totals = Totals::of(charsets.sets.iter());
    if totals.rows == 0 {
        return Schema::default();
    }
    let column = |c: &PredicateCounts| ColumnShape {
        predicate: c.predicate,
        type_class: c.class,
        multi_valued: c.values > c.rows,
        fill: c.rows as f64 / totals.rows as f64,
        link_target: None,
    };
    let table = TableShape {
        name: "subjects".to_owned(),
        class: None,
        columns: totals.counts.iter().map(column).collect(),
        rows: totals.rows,
        charsets: (0..charsets.sets.len() as u32).collect(),
    };
    Schema {
        tables: vec![table],
        charset_to_table: vec![Some(0); charsets.sets.len()],
        ..Schema::default()
    }
}
