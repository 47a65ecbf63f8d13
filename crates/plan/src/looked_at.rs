//! How much of a chain inside EXISTS is looked at until each outer row has an answer.
//!
//! ```text
//! Outer ─► join by object, level 1 ─► join by subject ─► join by object, level 2 ─► filter ─► rows
//!          4 reviews of a person      their products     4 offers of each product
//! ```
//!
//! Joins by object give the partners of a row in waves, and those above go through theirs before the next wave is asked for. Where a
//! partner of the last join has a row at the end with a chance of `q`, and `x` rows are expected of what has been looked at, an outer row is taken to be
//! without an answer as often as `(1 - q) / (1 - q + x)`: outer rows differ, as if the chance of each had been drawn from a Beta distribution
//! with the mean `q` and a first parameter of 1. Every wave counts by the share of outer rows that still need it.

use crate::cost_constants::START;
use crate::physical::{JoinKind, Node, Op, StarEntry};
use crate::slot_set::SlotSet;

/// Partners of each row that a join by object looks at first: few enough to be worth little, and more than one, as many rows have an
/// answer after some.
pub const FIRST_PARTNERS: usize = 4;
/// How many times as many partners have been looked at after a wave as before it.
pub const WAVE_GROWTH: usize = 4;

/// Joins whose waves are told apart; those further up are taken to look at all partners.
const LEVELS_MAX: usize = 3;
/// Rows that a node is taken to have at least.
const ROWS_MIN: f64 = 1e-9;

/// What is expected to be looked at for one outer row.
pub(crate) struct LookedAt {
    /// The cost of it, without starting joins.
    pub(crate) cost: f64,
    /// The most rows that an operator gives.
    pub(crate) rows: f64,
}

/// A join by object, and what follows up to the next one.
struct Level {
    /// Rows of the join for each of its input rows.
    fan_out: f64,
    /// Rows before the next level, or at the end, for each row of the join.
    kept: f64,
    /// Rows of the join that are looked at.
    looked: f64,
}

impl LookedAt {
    /// Of a chain, from the root to the leaf.
    pub(crate) fn of(nodes: &[&Node]) -> Self {
        let up: Vec<&Node> = nodes.iter().rev().copied().collect();
        let joins = (1..up.len()).filter(|&at| is_in_waves(up[at]));
        let joins: Vec<usize> = joins.take(LEVELS_MAX).collect();
        let rows = |at: usize| up[at].estimated_rows.max(ROWS_MIN);
        let last = up.len() - 1;
        let ends = joins.iter().skip(1).map(|next| next - 1).chain([last]);
        let mut levels: Vec<Level> = joins
            .iter()
            .zip(ends.clone())
            .map(|(&at, end)| Level {
                fan_out: rows(at) / rows(at - 1),
                kept: rows(end) / rows(at),
                looked: 0.0,
            })
            .collect();
        let first = joins.first().map_or(last, |first| first - 1);
        Look::at(&mut levels, rows(first));
        let mut whole = Self {
            cost: (up[first].estimated_cost - starts(&up[..=first])).max(0.0),
            rows: most_rows(&up[..=first], 1.0),
        };
        for ((&at, end), level) in joins.iter().zip(ends).zip(&levels) {
            let share = (level.looked / rows(at)).min(1.0);
            let cost = up[end].estimated_cost - up[at - 1].estimated_cost;
            whole.cost += (cost - starts(&up[at..=end])).max(0.0) * share;
            whole.rows = whole.rows.max(most_rows(&up[at..=end], share));
        }
        whole
    }
}

/// The share of so many partners that a row with so many solutions among them looks at, where one is enough.
pub(crate) fn looked_share(partners: f64, solutions: f64) -> f64 {
    let partners = partners.max(ROWS_MIN);
    let mut levels = [Level {
        fan_out: partners,
        kept: solutions / partners,
        looked: 0.0,
    }];
    Look::at(&mut levels, 1.0);
    (levels[0].looked / partners).min(1.0)
}

/// Whether a join gives the partners of a row in waves: where the input binds a second object, those of both are found at once.
fn is_in_waves(node: &Node) -> bool {
    match &node.op {
        Op::StarJoin {
            input,
            star,
            entry: StarEntry::Object { pattern_idx },
            kind: JoinKind::Inner,
        } => star
            .other_object(*pattern_idx, SlotSet::of(&input.schema))
            .is_none(),
        _ => false,
    }
}

/// The cost of starting the joins among some operators.
pub(crate) fn starts(nodes: &[&Node]) -> f64 {
    let is_join = |node: &&&Node| {
        matches!(
            node.op,
            Op::StarJoin { .. }
                | Op::PatternJoin { .. }
                | Op::CountJoin { .. }
                | Op::PathJoin { .. }
                | Op::HashJoin { .. }
        )
    };
    nodes.iter().filter(is_join).count() as f64 * START
}

fn most_rows(nodes: &[&Node], share: f64) -> f64 {
    let rows = nodes.iter().map(|node| node.estimated_rows * share);
    rows.fold(1.0, f64::max)
}

/// Going through the waves of one outer row.
struct Look {
    /// How often a partner of the last join has no row at the end.
    without: f64,
    /// Rows expected at the end of what has been looked at.
    seen: f64,
}

impl Look {
    /// Adds what the levels look at for so many rows that come to the first of them.
    fn at(levels: &mut [Level], rows: f64) {
        let last = levels.last().map_or(0.0, |level| level.kept);
        let mut look = Self {
            without: 1.0 - last.min(1.0),
            seen: 0.0,
        };
        look.through(levels, rows);
    }

    /// How often there is no answer yet.
    fn open(&self) -> f64 {
        match self.seen > 0.0 {
            true => self.without / (self.without + self.seen),
            false => 1.0,
        }
    }

    fn through(&mut self, levels: &mut [Level], rows: f64) {
        let Some((level, above)) = levels.split_first_mut() else {
            return;
        };
        let (mut from, mut to) = (0.0, FIRST_PARTNERS as f64);
        while from < level.fan_out {
            let wave = rows * (level.fan_out.min(to) - from);
            level.looked += wave * self.open();
            match above.is_empty() {
                true => self.seen += wave * level.kept,
                false => self.through(above, wave * level.kept),
            }
            (from, to) = (to, to * WAVE_GROWTH as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(fan_out: f64, kept: f64) -> Level {
        Level {
            fan_out,
            kept,
            looked: 0.0,
        }
    }

    fn looked(mut levels: Vec<Level>, rows: f64) -> Vec<f64> {
        Look::at(&mut levels, rows);
        levels.iter().map(|level| level.looked).collect()
    }

    #[test]
    fn partners_that_never_tell_are_all_looked_at() {
        let all = looked(vec![level(100.0, 0.0)], 2.0);
        assert!((all[0] - 200.0).abs() < 1e-6, "{all:?}");
        let few = looked(vec![level(3.0, 1.0)], 1.0);
        assert!((few[0] - 3.0).abs() < 1e-6, "{few:?}");
    }

    #[test]
    fn partners_that_tell_save_those_after_them() {
        // Four, twelve for a fifth of the outer rows, four for a seventeenth.
        let some = looked(vec![level(20.0, 0.5)], 1.0);
        let expected = 4.0 + 12.0 / 5.0 + 4.0 / 17.0;
        assert!((some[0] - expected).abs() < 1e-6, "{some:?}");
        // Each partner tells.
        let first = looked(vec![level(20.0, 1.0)], 1.0);
        assert!((first[0] - 4.0).abs() < 1e-6, "{first:?}");
    }

    #[test]
    fn upper_levels_go_through_their_waves_first() {
        let two = looked(vec![level(20.0, 1.0), level(20.0, 0.1)], 1.0);
        assert!(two[0] < 6.0, "{two:?}");
        assert!(two[1] > 16.0 && two[1] < 120.0, "{two:?}");
    }
}
