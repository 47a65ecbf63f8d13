//! What joins cost, in nanoseconds ([`cost_constants`](crate::cost_constants)).
//!
//! Each has a part for the rows that come in and a part for those that come out. Star joins find the solutions of each distinct
//! key of a batch once, where the key is all that the star reads of the input ([`JoinInput::keys_per_row`]), so rows that
//! repeat a key cost little more than their copy. A hash join looks every row up.
//! The row itself ([`EMIT_ROW`](crate::cost_constants::EMIT_ROW)) is charged here for star joins, which write shared solutions in stretches, and
//! by the caller for all others.

use crate::cost_constants::{
    ADDED_PROBE, BATCH_ROWS, COMMON_ROW, COMMON_ROWS_MAX, COMMON_ROWS_MORE, COMMON_ROWS_TIMES,
    COPIED_CELL, COPIED_ROW, EMIT_ROW, FOUND_ROW, GATHER_CELL, GRAPH_PROBE, GRAPH_PROBE_TABLE,
    HASH_BUILD, HASH_BUILD_MISS, HASH_PAIR, HASH_PROBE, HASH_PROBE_BY_ID, HASH_PROBE_MISS,
    HASH_ROWS_CACHED, INVERSE_BUILD, INVERSE_PROBE, INVERSE_ROW, INVERSE_TABLE, KEY_NUMBER,
    LIST_HALF, LONG_LIST, LONG_LIST_ROWS, PAIR, PATTERN_PROBE, PATTERN_PROBE_CELL,
    PATTERN_PROBE_SUBJECT, PATTERN_PROBE_TABLE, POSITION, QUAD_PROBE, RANGE_ROW, REPEATED_ROW,
    ROW_BIT, SEARCH_CELL, SEARCH_CELL_TOGETHER, SEARCHES_BEFORE_BUILD, SHARED_OBJECTS_MAX,
    SHARED_SOLUTION, SHARED_SOLUTION_CELL, SHARED_SUBJECTS_MAX, START, STRETCH, TABLE_COLUMN,
    TABLE_OUT_OF_RANGE,
};
use crate::estimate::star::{PatternProfile, StarProfile};
use crate::estimate::star_access::sparse_cell;
use crate::estimate::{condition, pattern};
use crate::physical::{Pattern, Position, Star, StarEntry, StarPattern, TableIdx};
use crate::planner::Planner;
use crate::slot_set::SlotSet;

/// The rows that something is looked up for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct JoinInput<'p> {
    /// How many.
    pub(crate) rows: f64,
    /// Distinct keys of a batch for each of its rows, if rows with the same key have the same solutions; else 1.
    pub(crate) keys_per_row: f64,
    /// Rows that the join makes of them.
    pub(crate) joined: f64,
    /// The pattern whose objects the star's subjects are, if one is known.
    pub(crate) source: Option<&'p PatternProfile>,
    /// The share of the partners of a key that is looked at; less than 1 where one solution is enough.
    pub(crate) looked_share: f64,
    /// The slots that they share with the star.
    pub(crate) shared: SlotSet,
}

impl JoinInput<'_> {
    /// Rows of which nothing more is known, that hardly come out more than once each.
    pub(crate) fn plain(rows: f64, shared: SlotSet) -> Self {
        Self {
            rows,
            keys_per_row: 1.0,
            joined: rows,
            source: None,
            looked_share: 1.0,
            shared,
        }
    }

    /// Keys that are looked up.
    fn look_ups(self, is_shared: bool) -> f64 {
        if is_shared {
            self.rows * self.keys_per_row
        } else {
            self.rows
        }
    }

    /// Writing the rows that come out, with so many new columns: solutions of numbered keys in stretches, one for each row that comes in, or
    /// row by row.
    fn writing(self, columns: f64, is_shared: bool) -> f64 {
        if is_shared {
            let each = COPIED_ROW + columns * COPIED_CELL;
            self.rows * (KEY_NUMBER + STRETCH) + self.joined * each
        } else {
            self.joined * EMIT_ROW
        }
    }

    /// Tables beyond the first that all batches begin to read, where so many of a star's rows are found: each table has so many of all values.
    fn passes(self, star: &Star, (values, all): (&[(TableIdx, f64)], f64), found: f64) -> f64 {
        let of_batch = found / self.batches();
        let is_of_star = |(t, _): &&(TableIdx, f64)| star.has_table(*t);
        let met = values.iter().filter(is_of_star);
        let met: f64 = met
            .map(|(_, count)| (of_batch * count / all.max(1.0)).min(1.0))
            .sum();
        self.batches() * (met - 1.0).max(0.0)
    }

    fn batches(self) -> f64 {
        (self.rows / BATCH_ROWS).ceil().max(1.0)
    }
}

/// Whether a star join finds solutions once for each key where a batch has so many distinct keys for each of its rows.
fn are_keys_shared(entry: StarEntry, keys_per_row: f64) -> bool {
    let most = match entry {
        StarEntry::Subject => SHARED_SUBJECTS_MAX,
        StarEntry::Object { .. } | StarEntry::Graph => SHARED_OBJECTS_MAX,
    };
    keys_per_row <= most
}

/// What each further row of a solution with so many new columns costs that is found for a key, or for a row.
fn repeating(columns: f64, is_shared: bool) -> f64 {
    match is_shared {
        true => SHARED_SOLUTION + columns * SHARED_SOLUTION_CELL,
        false => REPEATED_ROW,
    }
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

/// Building a hash table and looking rows up in it, by id where keys are near each other. A table that does not fit the caches costs a miss for
/// each row.
pub(crate) fn hash_cost(build_rows: f64, probe_rows: f64, are_near: bool) -> f64 {
    let missed = (build_rows / HASH_ROWS_CACHED).min(1.0);
    let probe = match are_near {
        true => HASH_PROBE_BY_ID,
        false => HASH_PROBE,
    };
    build_rows * (HASH_BUILD + missed * HASH_BUILD_MISS)
        + probe_rows * (probe + missed * HASH_PROBE_MISS)
}

/// Putting the pairs of a hash join together.
pub(super) fn hash_pairs_cost(rows: f64) -> f64 {
    rows * HASH_PAIR
}

/// Comparing rows of two sides without keys: all pairs or, where the condition bounds the partners of a row, those in range.
pub(crate) fn unkeyed_cost((left, right): (f64, f64), in_range: Option<f64>) -> f64 {
    match in_range {
        None => left * right * PAIR,
        Some(pairs) => (left + right) * RANGE_ROW + pairs * PAIR,
    }
}

/// The cost of finding a star for each of some rows.
pub(crate) fn star_join_cost(
    star: &Star,
    profile: &StarProfile,
    entry: StarEntry,
    input: JoinInput<'_>,
) -> f64 {
    let is_shared = are_keys_shared(entry, input.keys_per_row);
    let look_ups = input.look_ups(is_shared);
    let looked_up = profile.patterns.iter().map(|p| p.looked_up_share.min(1.0));
    let one_by_one = looked_up.sum::<f64>() * QUAD_PROBE;
    let cells = star.patterns.len() as f64;
    // Of an object entry the subject is new in place of the object.
    let is_open = |pattern: &&StarPattern| pattern.object.slot().is_some();
    let open = star.patterns.iter().filter(is_open).count() as f64;
    let writing = input.writing(open, is_shared);
    let texts = condition::texts_apart(&star.filters);
    match entry {
        StarEntry::Subject => {
            // What comes out beyond a row for each that comes in repeats what was found: for each key, or for each row.
            let further = (input.joined / input.rows.max(1.0) - 1.0).max(0.0);
            let repeated = look_ups * further * repeating(open, is_shared);
            let (tests, left) = constant_tests(star, profile, None, look_ups, GATHER_CELL);
            let searched = left * searched_lists(star, profile, input.shared, None);
            let read = left * (open * GATHER_CELL + texts);
            let each = POSITION + read + searched + one_by_one;
            let tables = match input.source {
                Some(known) if !known.links.is_empty() => (&known.links[..], known.cell_values),
                _ => {
                    let known = &profile.patterns[0];
                    (&known.table_values[..], known.cell_values)
                }
            };
            let passes = input.passes(star, tables, look_ups) * cells * TABLE_COLUMN;
            START + passes + writing + tests + look_ups * each + repeated
        }
        StarEntry::Object { pattern_idx } => {
            let known = &profile.patterns[pattern_idx];
            let others = cells - 1.0;
            let (list, found, lists) =
                rows_of_objects(star, profile, pattern_idx, (input, is_shared));
            let cell = sparse_cell(found / input.batches(), profile.table_rows);
            let near = (LONG_LIST_ROWS / list.max(1.0)).clamp(LONG_LIST, 1.0);
            // Where others lie between them they are not in what was unpacked for the row before.
            let near = 1.0 - (1.0 - near) / known.rows_apart.max(1.0);
            let cell = cell * near;
            let (tests, left) = constant_tests(star, profile, Some(pattern_idx), found, cell);
            // The object that is looked up is known.
            let searched = searched_lists(star, profile, input.shared, Some(pattern_idx));
            let made = left * ((open - 1.0).max(0.0) * cell + searched + texts);
            let each_row = INVERSE_ROW * near + made + one_by_one;
            let probes = look_ups * object_probe_cost(star, known);
            let searches = search_cost(known, look_ups, input.batches());
            let tables = (&known.table_values[..], known.cell_values);
            let passes = input.passes(star, tables, found) * others * TABLE_COLUMN;
            START + passes + writing + searches + probes + lists + tests + found * each_row
        }
        StarEntry::Graph => {
            START + writing + graph_entry_cost(star, profile, input, (look_ups, one_by_one))
        }
    }
}

/// Of a join by an object: the rows of one object on average, all that are found, and the time to leave those that have a second one too.
fn rows_of_objects(
    star: &Star,
    profile: &StarProfile,
    pattern_idx: usize,
    (input, is_shared): (JoinInput<'_>, bool),
) -> (f64, f64, f64) {
    let known = &profile.patterns[pattern_idx];
    let look_ups = input.look_ups(is_shared);
    let list = known.matches / known.distinct.max(1.0);
    // Popular values have more rows than others, and come in more often: as often as the rows that come out tell, of which each
    // key that is shared counts once.
    let joined = input.joined / input.rows.max(1.0);
    let popular = list.max(joined);
    let found = match is_shared {
        true => look_ups * (list * popular).sqrt(),
        false => look_ups * popular,
    };
    match together(star, profile, (pattern_idx, popular), input.shared) {
        Some(Together { rows, cost }) => {
            let found = found.min(look_ups * rows.max(joined));
            (list, found, look_ups * cost)
        }
        None => (list, found * input.looked_share, 0.0),
    }
}

/// Finding the rows of two objects together.
struct Together {
    /// Rows that have both, for each row that comes in.
    rows: f64,
    /// Time for each row that comes in.
    cost: f64,
}

/// How the rows of the entry's object, so many, are found together with those of another one that the input binds; `None` if they are not.
fn together(
    star: &Star,
    profile: &StarProfile,
    (entry, list): (usize, f64),
    shared: SlotSet,
) -> Option<Together> {
    let other = &profile.patterns[star.other_object(entry, shared)?];
    let other_list = other.matches / other.distinct.max(1.0);
    let (short, long) = (list.min(other_list), list.max(other_list));
    let unindexed = profile.patterns[entry].unindexed_rows + other.unindexed_rows;
    if unindexed > 0.0 || short > COMMON_ROWS_MAX {
        return None;
    }
    let long = long.min(short * COMMON_ROWS_TIMES + COMMON_ROWS_MORE);
    Some(Together {
        rows: (list * other_list / profile.subjects.max(1.0)).min(short),
        cost: 2.0 * INVERSE_PROBE + (short + long) * COMMON_ROW,
    })
}

/// The cost of finding the solutions of a star in so many graphs, beside writing them; a row takes `one_by_one` for what is looked up by itself.
fn graph_entry_cost(
    star: &Star,
    profile: &StarProfile,
    input: JoinInput<'_>,
    (look_ups, one_by_one): (f64, f64),
) -> f64 {
    // A graph that the input binds may have more subjects than others.
    let of_graph = (profile.subjects / profile.graphs).max(1.0);
    let found = look_ups * of_graph.max(input.joined / input.rows.max(1.0));
    let has_irregular = profile.patterns.iter().any(|p| p.irregular > 0.0);
    let quads = if has_irregular { QUAD_PROBE } else { 0.0 };
    let probe = GRAPH_PROBE + star.tables.len() as f64 * GRAPH_PROBE_TABLE + quads;
    let (tests, left) = constant_tests(star, profile, None, found, GATHER_CELL);
    let searched = left * searched_lists(star, profile, input.shared, None);
    let open = star.patterns.iter().filter(|p| p.object.slot().is_some());
    let gathered = left * open.count() as f64 * GATHER_CELL;
    look_ups * probe + tests + found * (FOUND_ROW + gathered + searched + one_by_one)
}

/// Searching the lists of one row for the objects that the input binds, but for the entry's pattern.
fn searched_lists(
    star: &Star,
    profile: &StarProfile,
    shared: SlotSet,
    entry: Option<usize>,
) -> f64 {
    let patterns = star.patterns.iter().zip(&profile.patterns).enumerate();
    let is_bound = |object: Position| object.slot().is_some_and(|slot| shared.contains(slot));
    patterns
        .filter(|(idx, (pattern, _))| entry != Some(*idx) && is_bound(pattern.object))
        .map(|(_, (_, known))| known.per_subject.max(1.0).log2() * LIST_HALF)
        .sum()
}

/// Testing the constants of a star, but for the entry's pattern, for some rows of its tables of which a cell costs so much; and the share of the
/// rows that have them. Rows are tested cell by cell until all that have the constant could have been found in that time; then they
/// are found, and each row more is a bit (`known_rows.rs` of the executor).
fn constant_tests(
    star: &Star,
    profile: &StarProfile,
    entry: Option<usize>,
    rows: f64,
    cell: f64,
) -> (f64, f64) {
    let (mut cost, mut share) = (0.0, 1.0_f64);
    for (pattern_idx, known) in profile.patterns.iter().enumerate() {
        let is_open = star.patterns[pattern_idx].object.slot().is_some();
        if is_open || entry == Some(pattern_idx) {
            continue;
        }
        let has_constant = (known.matches / profile.table_rows.max(1.0)).min(1.0);
        share = share.min(has_constant);
        let finding = match known.unindexed_rows > 0.0 {
            true => known.cell_values * SEARCH_CELL,
            // Of all rows an inverse tells it by their number.
            false if has_constant >= 1.0 => continue,
            false => known.matches * FOUND_ROW,
        };
        cost += (rows * cell).min(2.0 * finding + rows * ROW_BIT);
    }
    (cost, share)
}

/// Asking the inverses of all tables, and the irregular quads, for one object.
fn object_probe_cost(star: &Star, known: &PatternProfile) -> f64 {
    let quads = match known.irregular {
        none if none <= 0.0 => 0.0,
        _ if known.looked_up_share > 0.0 => QUAD_PROBE,
        _ => ADDED_PROBE,
    };
    let others = star.tables.len().saturating_sub(1) as f64;
    let in_range = (known.tables_in_range - 1.0).max(0.0);
    INVERSE_PROBE + others * TABLE_OUT_OF_RANGE + in_range * INVERSE_TABLE + quads
}

/// Searching columns without inverse: value by value, for all values of a batch together, or until an inverse is made in memory.
fn search_cost(known: &PatternProfile, look_ups: f64, batches: f64) -> f64 {
    let each_cell = (look_ups * SEARCH_CELL)
        .min(batches * SEARCH_CELL_TOGETHER)
        .min(SEARCHES_BEFORE_BUILD * SEARCH_CELL + INVERSE_BUILD);
    known.unindexed_rows * each_cell
}

/// The cost of looking a pattern up for one row of whose slots it has the graph alone, if that is so.
pub(crate) fn graph_probe_cost(
    planner: &Planner<'_>,
    pattern: &Pattern,
    shared: &SlotSet,
) -> Option<f64> {
    let is_free = |position: Position| position.slot().is_some_and(|slot| !shared.contains(slot));
    let places = [pattern.subject, pattern.predicate, pattern.object];
    let is_open = places.into_iter().all(is_free);
    is_open.then(|| pattern::cost_in_graph(planner, pattern, shared))
}

/// The cost of looking a pattern up for one row that binds these slots.
pub(super) fn pattern_probe_cost(
    planner: &Planner<'_>,
    pattern: &Pattern,
    shared: &SlotSet,
) -> f64 {
    if let Some(cost) = graph_probe_cost(planner, pattern, shared) {
        return cost;
    }
    let bound = |position: Position| position.slot().is_none_or(|slot| shared.contains(slot));
    match (bound(pattern.subject), bound(pattern.predicate)) {
        (true, false) => return PATTERN_PROBE_SUBJECT,
        (true, true) => return PATTERN_PROBE_CELL,
        (false, true) => return PATTERN_PROBE,
        (false, false) => {}
    }
    PATTERN_PROBE + planner.statistics.table_count() as f64 * PATTERN_PROBE_TABLE
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
        let each = |rows: f64| hash_cost(rows, 0.0, false) / rows;
        assert!(each(1_000.0) < each(HASH_ROWS_CACHED));
        assert!(
            (each(1e9) - each(HASH_ROWS_CACHED)).abs() < 1e-6,
            "a miss is a miss"
        );
    }

    #[test]
    fn the_smaller_side_is_built() {
        for (few, many) in [(10.0, 11.0), (1e4, 1e5), (1e6, 2e6), (1e7, 1e9)] {
            for are_near in [false, true] {
                let few_built = hash_cost(few, many, are_near);
                let many_built = hash_cost(many, few, are_near);
                assert!(few_built < many_built, "{few} {many}");
            }
        }
    }
}
