//! What joins cost, in nanoseconds ([`cost_constants`](crate::cost_constants)).
//!
//! Each has a part for the rows that come in and a part for those that come out. Star joins find the solutions of each distinct
//! key of a batch once, where the key is all that the star reads of the input ([`JoinInput::keys_per_row`]), so rows that
//! repeat a key cost little more than their copy. A hash join looks every row up.
//! The row itself ([`EMIT_ROW`](crate::cost_constants::EMIT_ROW)) is charged here for star joins, which write shared solutions in stretches, and
//! by the caller for all others.

use crate::cost_constants::{
    ADDED_PROBE, BATCH_ROWS, COPIED_CELL, COPIED_ROW, EMIT_ROW, GATHER_CELL, HASH_BUILD,
    HASH_BUILD_MISS, HASH_PAIR, HASH_PROBE, HASH_PROBE_MISS, HASH_ROWS_CACHED, INVERSE_BUILD,
    INVERSE_PROBE, INVERSE_ROW, INVERSE_TABLE, KEY_NUMBER, LONG_LIST, LONG_LIST_ROWS, POSITION,
    QUAD_PROBE, REPEATED_ROW, SEARCH_CELL, SEARCH_CELL_TOGETHER, SEARCHES_BEFORE_BUILD,
    SHARED_KEYS_MAX, START, STRETCH, TABLE_COLUMN,
};
use crate::estimate::star::{PatternProfile, StarProfile, sparse_cell};
use crate::physical::{Star, StarEntry, StarPattern};

/// The rows that something is looked up for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JoinInput {
    /// How many.
    pub(crate) rows: f64,
    /// Distinct keys of a batch for each of its rows, if rows with the same key have the same solutions; else 1.
    pub(crate) keys_per_row: f64,
    /// Rows that the join makes of them.
    pub(crate) joined: f64,
}

impl JoinInput {
    /// Rows of which nothing more is known, that hardly come out more than once each.
    pub(crate) fn plain(rows: f64) -> Self {
        Self {
            rows,
            keys_per_row: 1.0,
            joined: rows,
        }
    }

    /// Whether solutions are found once for each key.
    fn are_keys_shared(self) -> bool {
        are_keys_shared(self.keys_per_row)
    }

    /// Keys that are looked up.
    fn look_ups(self) -> f64 {
        if self.are_keys_shared() {
            self.rows * self.keys_per_row
        } else {
            self.rows
        }
    }

    /// Writing the rows that come out, with so many new columns: solutions of numbered keys in stretches, one for each row that comes in, or
    /// row by row.
    fn writing(self, columns: f64) -> f64 {
        if self.are_keys_shared() {
            let each = COPIED_ROW + columns * COPIED_CELL;
            self.rows * (KEY_NUMBER + STRETCH) + self.joined * each
        } else {
            self.joined * EMIT_ROW
        }
    }

    fn batches(self) -> f64 {
        (self.rows / BATCH_ROWS).ceil().max(1.0)
    }
}

/// Whether a star join finds solutions once for each key where a batch has so many distinct keys for each of its rows.
pub(super) fn are_keys_shared(keys_per_row: f64) -> bool {
    keys_per_row <= SHARED_KEYS_MAX
}

/// Rows of a batch where so many come in.
pub(super) fn batch_rows(rows: f64) -> f64 {
    rows.clamp(1.0, BATCH_ROWS)
}

/// The distinct keys of a batch for each of its rows, where these have some of so many values, none more often than others.
pub(super) fn keys_per_row(rows: f64, values: f64) -> f64 {
    let (rows, values) = (batch_rows(rows), values.max(1.0));
    (values * (1.0 - (-rows / values).exp()) / rows).min(1.0)
}

/// Building a hash table and looking rows up in it. A table that does not fit the caches costs a miss for each row.
pub(crate) fn hash_cost(build_rows: f64, probe_rows: f64) -> f64 {
    let missed = (build_rows / HASH_ROWS_CACHED).min(1.0);
    build_rows * (HASH_BUILD + missed * HASH_BUILD_MISS)
        + probe_rows * (HASH_PROBE + missed * HASH_PROBE_MISS)
}

/// Putting the pairs of a hash join together.
pub(super) fn hash_pairs_cost(rows: f64) -> f64 {
    rows * HASH_PAIR
}

/// The cost of finding a star for each of some rows.
pub(crate) fn star_join_cost(
    star: &Star,
    profile: &StarProfile,
    entry: StarEntry,
    input: JoinInput,
) -> f64 {
    let look_ups = input.look_ups();
    let looked_up = profile.patterns.iter().map(|p| p.looked_up_share.min(1.0));
    let one_by_one = looked_up.sum::<f64>() * QUAD_PROBE;
    let cells = star.patterns.len() as f64;
    let passes = input.batches() * (further_tables(star).min(look_ups / input.batches() - 1.0));
    let start = START + passes.max(0.0) * cells * TABLE_COLUMN;
    // Of an object entry the subject is new in place of the object.
    let is_open = |pattern: &&StarPattern| pattern.object.slot().is_some();
    let writing = input.writing(star.patterns.iter().filter(is_open).count() as f64);
    match entry {
        StarEntry::Subject => {
            // What comes out beyond a row for each that comes in repeats what was found.
            let repeated = match input.are_keys_shared() {
                true => 0.0,
                false => (input.joined - input.rows).max(0.0) * REPEATED_ROW,
            };
            let each = POSITION + cells * GATHER_CELL + one_by_one;
            start + writing + look_ups * each + repeated
        }
        StarEntry::Object { pattern_idx } => {
            let known = &profile.patterns[pattern_idx];
            let even = look_ups * known.matches / known.distinct.max(1.0);
            // Popular values have more rows than others, and come in more often.
            let found = match input.are_keys_shared() {
                true => even,
                false => even.max(input.joined),
            };
            let cell = sparse_cell(found / input.batches(), profile.table_rows);
            let list = known.matches / known.distinct.max(1.0);
            let near = (LONG_LIST_ROWS / list.max(1.0)).clamp(LONG_LIST, 1.0);
            let each_row = (INVERSE_ROW + cells * cell) * near + one_by_one;
            let probes = look_ups * object_probe_cost(star, known);
            let searches = search_cost(known, look_ups, input.batches());
            start + writing + searches + probes + found * each_row
        }
    }
}

/// Asking the inverses of all tables, and the irregular quads, for one object.
fn object_probe_cost(star: &Star, known: &PatternProfile) -> f64 {
    let quads = match known.irregular {
        none if none <= 0.0 => 0.0,
        _ if known.looked_up_share > 0.0 => QUAD_PROBE,
        _ => ADDED_PROBE,
    };
    INVERSE_PROBE + further_tables(star) * INVERSE_TABLE + quads
}

/// The tables of a star but for one.
fn further_tables(star: &Star) -> f64 {
    star.tables.len().saturating_sub(1) as f64
}

/// Searching columns without inverse: value by value, for all values of a batch together, or until an inverse is made in memory.
fn search_cost(known: &PatternProfile, look_ups: f64, batches: f64) -> f64 {
    let each_cell = (look_ups * SEARCH_CELL)
        .min(batches * SEARCH_CELL_TOGETHER)
        .min(SEARCHES_BEFORE_BUILD * SEARCH_CELL + INVERSE_BUILD);
    known.unindexed_rows * each_cell
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_repeat_where_there_are_fewer_values_than_rows() {
        assert!(keys_per_row(10.0, 1e6) > 0.99, "hardly any twice");
        assert!(
            (keys_per_row(1e6, 1.0) - 1.0 / BATCH_ROWS).abs() < 1e-6,
            "one in each batch"
        );
        assert!(keys_per_row(1e6, 100.0) < 0.05);
        assert!(keys_per_row(20.0, 100.0) > 0.9, "few rows of many");
        assert!(keys_per_row(0.0, 0.0) <= 1.0);
    }

    #[test]
    fn a_table_beyond_the_caches_costs_more_for_each_row() {
        let each = |rows: f64| hash_cost(rows, 0.0) / rows;
        assert!(each(1_000.0) < each(HASH_ROWS_CACHED));
        assert!(
            (each(1e9) - each(HASH_ROWS_CACHED)).abs() < 1e-6,
            "a miss is a miss"
        );
    }

    #[test]
    fn the_smaller_side_is_built() {
        for (few, many) in [(10.0, 11.0), (1e4, 1e5), (1e6, 2e6), (1e7, 1e9)] {
            assert!(hash_cost(few, many) < hash_cost(many, few), "{few} {many}");
        }
    }
}
