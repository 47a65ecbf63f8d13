//! Operators over VALUES, compared with nested loops over small random inputs.

use super::build::Build;
use crate::context::{Context, ExecOptions};
use basalt_plan::physical::{Constant, Expr, JoinKind, Node, Op, Slot};
use basalt_rdf::TermId;
use basalt_store::Snapshot;
use oxrdf::NamedNode;
use proptest::prelude::*;
use std::sync::Arc;

mod distinct_values;
mod partner_sets;
mod ranges;
mod sharing;
mod spilling;

type Row = Vec<u64>;

fn constant(id: u64) -> Option<Constant> {
    let term = NamedNode::new_unchecked(format!("http://e/{id}")).into();
    (id != 0).then_some(Constant {
        term,
        id: Some(TermId(id)),
    })
}

fn node(op: Op, schema: &[u16]) -> Node {
    let schema: Vec<Slot> = schema.iter().map(|&slot| Slot(slot)).collect();
    Node {
        id: 0,
        op,
        certain: Vec::new(),
        schema,
        estimated_rows: 1.0,
        estimated_cost: 1.0,
        sorted_by: Vec::new(),
        alternative: None,
        key_filters: Vec::new(),
    }
}

/// VALUES of these rows.
fn rows_node(rows: &[Row], schema: &[u16]) -> Node {
    let rows = rows
        .iter()
        .map(|row| row.iter().map(|&id| constant(id)).collect())
        .collect();
    node(Op::Values { rows }, schema)
}

/// The same as an input.
fn values(rows: &[Row], schema: &[u16]) -> Arc<Node> {
    Arc::new(rows_node(rows, schema))
}

/// Numbers the nodes, as the planner does.
fn number(node: &mut Node, next: &mut usize) {
    node.id = *next;
    *next += 1;
    match &mut node.op {
        Op::HashJoin { left, right, .. }
        | Op::MergeJoin { left, right, .. }
        | Op::LateralJoin { left, right }
        | Op::Minus { left, right, .. } => {
            number(Arc::make_mut(left), next);
            number(Arc::make_mut(right), next);
        }
        Op::Distinct { input }
        | Op::PartialDistinct { input }
        | Op::Group { input, .. }
        | Op::OrderBy { input, .. }
        | Op::Slice { input, .. }
        | Op::SlicePer { input, .. }
        | Op::Spool { input, .. }
        | Op::Project { input } => number(Arc::make_mut(input), next),
        Op::GroupThrough(group) => {
            number(&mut group.rows, next);
            number(&mut group.pairs, next);
        }
        Op::RollUp(group) => number(&mut group.finer, next),
        Op::Union { inputs } => inputs.iter_mut().for_each(|input| number(input, next)),
        _ => {}
    }
}

fn run(root: Node, batch_rows: usize) -> Vec<Row> {
    run_within(root, batch_rows, ExecOptions::default().memory_bytes_max)
}

fn run_within(root: Node, batch_rows: usize, memory_bytes_max: usize) -> Vec<Row> {
    let options = ExecOptions {
        batch_rows,
        memory_bytes_max,
        ..ExecOptions::default()
    };
    run_with(root, options)
}

fn run_with(mut root: Node, options: ExecOptions) -> Vec<Row> {
    number(&mut root, &mut 0);
    let cx = Context::new(Snapshot::empty(), options, 0);
    let mut operator = Build::new(cx.clone())
        .operator(&root)
        .expect("the plan is sound");
    let mut rows = Vec::new();
    while let Some(batch) = operator.next(&cx).expect("nothing can fail") {
        assert!(batch.rows() > 0, "a batch is never empty");
        for position in 0..batch.rows() {
            let mut row = Vec::new();
            batch.row_into(position, &mut row);
            rows.push(row);
        }
    }
    rows
}

fn sorted(mut rows: Vec<Row>) -> Vec<Row> {
    rows.sort();
    rows
}

fn compatible(a: u64, b: u64) -> bool {
    a == b || a == 0 || b == 0
}

/// Rows (key, other, own) with a key that is bound and an `other` that may not be.
fn rows_strategy() -> impl Strategy<Value = Vec<Row>> {
    proptest::collection::vec(
        (1..5u64, 0..3u64, 1..4u64).prop_map(|(k, o, v)| vec![k, o, v]),
        0..12,
    )
}

/// The join of (0, 1, 2) with (0, 1, 3) by nested loops, for each kind.
fn naive_join(left: &[Row], right: &[Row], kind: JoinKind, by_key: bool) -> Vec<Row> {
    let mut out = Vec::new();
    for l in left {
        let partners: Vec<&Row> = right
            .iter()
            .filter(|r| {
                compatible(l[1], r[1])
                    && if by_key {
                        l[0] == r[0]
                    } else {
                        compatible(l[0], r[0])
                    }
            })
            .collect();
        let joined = partners
            .iter()
            .map(|r| vec![l[0], l[1].max(r[1]), l[2], r[2]]);
        match kind {
            JoinKind::Inner => out.extend(joined),
            JoinKind::LeftOuter if partners.is_empty() => out.push(vec![l[0], l[1], l[2], 0]),
            JoinKind::LeftOuter => out.extend(joined),
            JoinKind::Semi if !partners.is_empty() => out.push(vec![l[0], l[1], l[2], 0]),
            JoinKind::Anti if partners.is_empty() => out.push(vec![l[0], l[1], l[2], 0]),
            JoinKind::Semi | JoinKind::Anti => {}
        }
    }
    out
}

proptest! {
    #[test]
    fn hash_join_is_nested_loops(
        left in rows_strategy(), right in rows_strategy(), by_key: bool, build_left: bool,
        half_key_may_be_unbound: bool, probe_first: bool, batch_rows in 1..4usize,
        is_bound: (bool, bool),
    ) {
        // All that a side lacks has a value, or not.
        let bound = |rows: Vec<Row>, is_bound: bool| -> Vec<Row> {
            let value = |id: u64| if is_bound { id.max(1) } else { id };
            rows.into_iter().map(|row| row.into_iter().map(value).collect()).collect()
        };
        let (left, right) = (bound(left, is_bound.0), bound(right, is_bound.1));
        let mut cheap = rows_node(&left, &[0, 1, 2]);
        if probe_first {
            cheap.estimated_cost = 0.5;
        }
        let cheap = Arc::new(cheap);
        for kind in [JoinKind::Inner, JoinKind::LeftOuter, JoinKind::Semi, JoinKind::Anti] {
            let (keys, shared) = match (by_key, half_key_may_be_unbound) {
                (true, _) => (vec![Slot(0)], vec![Slot(1)]),
                (false, false) => (vec![], vec![Slot(0), Slot(1)]),
                (false, true) => (vec![], vec![Slot(1), Slot(0)]),
            };
            let op = Op::HashJoin {
                left: Arc::clone(&cheap),
                right: values(&right, &[0, 1, 3]),
                keys,
                compatible: shared,
                kind,
                filter: None,
                build_left,
                partners: Vec::new(),
                nearest: None,
            };
            let actual = sorted(run(node(op, &[0, 1, 2, 3]), batch_rows));
            prop_assert_eq!(actual, sorted(naive_join(&left, &right, kind, by_key)));
        }
    }

    /// Keys close together are bits, others a table.
    #[test]
    fn semi_and_anti_joins_by_a_key_alone_keep_rows_by_it(
        left in rows_strategy(), right in rows_strategy(), apart: bool, batch_rows in 1..4usize,
    ) {
        let spread = |rows: &[Row]| -> Vec<Row> {
            let factor = if apart { 1 << 40 } else { 1 };
            rows.iter().map(|row| vec![row[0] * factor, row[2]]).collect()
        };
        let (left, right) = (spread(&left), spread(&right));
        for (kind, wanted) in [(JoinKind::Semi, true), (JoinKind::Anti, false)] {
            let op = Op::HashJoin {
                left: values(&left, &[0, 1]),
                right: values(&right, &[0, 2]),
                keys: vec![Slot(0)],
                compatible: Vec::new(),
                kind,
                filter: None,
                build_left: false,
                partners: Vec::new(),
                nearest: None,
            };
            let has_partner = |l: &Row| right.iter().any(|r| r[0] == l[0]);
            let expected: Vec<Row> = left.iter().filter(|l| has_partner(l) == wanted).cloned().collect();
            prop_assert_eq!(run(node(op, &[0, 1]), batch_rows), expected);
        }
    }

    /// Every row may have a partner among the first rows on the right, or some may have one later, or none.
    #[test]
    fn semi_and_anti_joins_by_a_condition_alone_keep_rows_by_it(
        left in rows_strategy(), right in rows_strategy(), differ: bool, batch_rows in 1..4usize,
    ) {
        for (kind, wanted) in [(JoinKind::Semi, true), (JoinKind::Anti, false)] {
            let same = Expr::SameTerm(Box::new(Expr::Slot(Slot(0))), Box::new(Expr::Slot(Slot(3))));
            let op = Op::HashJoin {
                left: values(&left, &[0, 1, 2]),
                right: values(&right, &[3, 4, 5]),
                keys: Vec::new(),
                compatible: Vec::new(),
                kind,
                filter: Some(if differ { Expr::Not(Box::new(same)) } else { same }),
                build_left: false,
                partners: Vec::new(),
                nearest: None,
            };
            let has_partner = |l: &Row| right.iter().any(|r| (r[0] != l[0]) == differ);
            let expected: Vec<Row> = left.iter().filter(|l| has_partner(l) == wanted).cloned().collect();
            prop_assert_eq!(run(node(op, &[0, 1, 2]), batch_rows), expected);
        }
    }

    #[test]
    fn merge_join_is_nested_loops(left in rows_strategy(), right in rows_strategy(), batch_rows in 1..4usize) {
        let narrow = |rows: &[Row]| rows.iter().map(|row| vec![row[0], row[2]]).collect::<Vec<_>>();
        let (left, right) = (narrow(&left), narrow(&right));
        let op = Op::MergeJoin { left: values(&left, &[0, 1]), right: values(&right, &[0, 2]), key: Slot(0) };
        let mut expected = Vec::new();
        for l in &left {
            expected.extend(right.iter().filter(|r| l[0] == r[0]).map(|r| vec![l[0], l[1], r[1]]));
        }
        prop_assert_eq!(sorted(run(node(op, &[0, 1, 2]), batch_rows)), sorted(expected));
    }

    #[test]
    fn minus_drops_compatible_rows_that_share_a_binding(left in rows_strategy(), right in rows_strategy()) {
        let unbind = |rows: &[Row]| rows.iter().map(|row| vec![row[0] % 4, row[1]]).collect::<Vec<_>>();
        let (left, right) = (unbind(&left), unbind(&right));
        let op = Op::Minus { left: values(&left, &[0, 1]), right: values(&right, &[0, 1]), shared: vec![Slot(0), Slot(1)] };
        let excludes = |l: &Row, r: &Row| {
            let pairs = || l.iter().zip(r);
            pairs().all(|(&a, &b)| compatible(a, b)) && pairs().any(|(&a, &b)| a == b && a != 0)
        };
        let expected = left.iter().filter(|l| !right.iter().any(|r| excludes(l, r))).cloned().collect();
        prop_assert_eq!(sorted(run(node(op, &[0, 1]), 2)), sorted(expected));
    }

    #[test]
    fn distinct_keeps_first_appearances(rows in rows_strategy(), batch_rows in 1..4usize) {
        let mut expected: Vec<Row> = Vec::new();
        for row in &rows {
            if !expected.contains(row) {
                expected.push(row.clone());
            }
        }
        let op = Op::Distinct { input: values(&rows, &[0, 1, 2]) };
        prop_assert_eq!(run(node(op, &[0, 1, 2]), batch_rows), expected);
    }

    #[test]
    fn partial_distinct_keeps_first_appearances_and_maybe_others(
        rows in rows_strategy(), batch_rows in 1..4usize, has_room: bool, columns in 0..4usize,
    ) {
        let schema: Vec<u16> = (0..columns as u16).collect();
        let rows: Vec<Row> = rows.iter().map(|row| row[..columns].to_vec()).collect();
        let op = Op::PartialDistinct { input: values(&rows, &schema) };
        let memory = if has_room { 1 << 20 } else { 0 };
        let kept = run_within(node(op, &schema), batch_rows, memory);
        let mut distinct: Vec<Row> = Vec::new();
        let mut rest = rows.iter();
        for row in &kept {
            prop_assert!(rest.any(|other| other == row), "in the order of the input");
            if !distinct.contains(row) {
                distinct.push(row.clone());
            }
        }
        prop_assert!(rows.iter().all(|row| distinct.contains(row)));
        prop_assert!(!has_room || kept == distinct);
    }

    #[test]
    fn slice_is_skip_and_take(rows in rows_strategy(), offset in 0..9usize, limit in 0..9usize, batch_rows in 1..4usize) {
        let op = Op::Slice { input: values(&rows, &[0, 1, 2]), offset, limit: Some(limit) };
        let expected: Vec<Row> = rows.iter().skip(offset).take(limit).cloned().collect();
        prop_assert_eq!(run(node(op, &[0, 1, 2]), batch_rows), expected);
    }

    #[test]
    fn slice_per_is_skip_and_take_of_each_value(
        rows in rows_strategy(), offset in 0..3usize, limit in 0..4usize, batch_rows in 1..4usize,
    ) {
        let op = Op::SlicePer { input: values(&rows, &[0, 1, 2]), slot: Slot(0), offset, limit: Some(limit) };
        let number = |idx: usize| rows[..idx].iter().filter(|row| row[0] == rows[idx][0]).count();
        let kept = (0..rows.len()).filter(|&idx| (offset..offset + limit).contains(&number(idx)));
        let expected: Vec<Row> = kept.map(|idx| rows[idx].clone()).collect();
        prop_assert_eq!(run(node(op, &[0, 1, 2]), batch_rows), expected);
    }

    #[test]
    fn lateral_join_limits_the_partners_of_each_row(
        left in rows_strategy(), right in rows_strategy(), limit in 0..3usize, batch_rows in 1..4usize,
    ) {
        // Partners by key alone: the other column is the left row's own.
        let narrow: Vec<Row> = right.iter().map(|row| vec![row[0], row[2]]).collect();
        let outer = Arc::new(node(Op::Outer, &[0]));
        let join = Op::HashJoin {
            left: values(&narrow, &[0, 3]),
            right: outer,
            keys: vec![Slot(0)],
            compatible: Vec::new(),
            kind: JoinKind::Inner,
            filter: None,
            build_left: false,
            partners: Vec::new(),
            nearest: None,
        };
        let input = Arc::new(node(join, &[0, 3]));
        let sliced = Op::Slice { input, offset: 0, limit: Some(limit) };
        let right = Arc::new(node(sliced, &[0, 3]));
        let op = Op::LateralJoin { left: values(&left, &[0, 1, 2]), right };
        let partners = |l: &Row| {
            let same = narrow.iter().filter(|r| r[0] == l[0]).take(limit);
            same.map(|r| vec![l[0], l[1], l[2], r[1]]).collect::<Vec<_>>()
        };
        let expected: Vec<Row> = left.iter().flat_map(partners).collect();
        prop_assert_eq!(run(node(op, &[0, 1, 2, 3]), batch_rows), expected);
    }

    #[test]
    fn spools_of_one_number_have_the_same_rows(
        rows in rows_strategy(), batch_rows in 1..4usize, memory_bytes_max in 0..4_000usize,
    ) {
        let read = |first: u16| {
            let input = values(&rows, &[first, first + 1, first + 2]);
            node(Op::Spool { input, spool: 0, always: false }, &[first, first + 1, first + 2])
        };
        let join = Op::HashJoin {
            left: Arc::new(read(0)),
            right: Arc::new(read(3)),
            keys: Vec::new(),
            compatible: Vec::new(),
            kind: JoinKind::Inner,
            filter: None,
            build_left: false,
            partners: Vec::new(),
            nearest: None,
        };
        let mut expected = Vec::new();
        for l in &rows {
            expected.extend(rows.iter().map(|r| [l.as_slice(), r].concat()));
        }
        prop_assert_eq!(sorted(run(node(join, &[0, 1, 2, 3, 4, 5]), batch_rows)), sorted(expected));
        let inputs = vec![read(0), read(0)];
        let union = node(Op::Union { inputs }, &[0, 1, 2]);
        // Rows that do not fit are not kept, and are there all the same.
        let twice = run_within(union, batch_rows, memory_bytes_max);
        prop_assert_eq!(twice, [rows.as_slice(), &rows].concat());
    }

    #[test]
    fn union_fills_missing_slots(left in rows_strategy(), right in rows_strategy()) {
        let inputs = vec![rows_node(&left, &[0, 1, 2]), rows_node(&right, &[2, 1, 3])];
        let mut expected: Vec<Row> = left.iter().map(|l| vec![l[0], l[2], 0]).collect();
        expected.extend(right.iter().map(|r| vec![0, r[0], r[2]]));
        prop_assert_eq!(run(node(Op::Union { inputs }, &[0, 2, 3]), 3), expected);
    }
}

/// Where far more rows differ than were expected, the rows before are forgotten; where few do, or so many were expected, they are not.
#[test]
fn rows_that_hardly_repeat_are_forgotten() {
    let rows_of = |different: u64| -> Vec<Row> {
        let first = (0..60_000).map(|n| vec![1 + n % different]);
        first
            .chain((0..1_000).map(|n| vec![1 + n % different]))
            .collect()
    };
    for (different, expected, kept) in [
        (60_000, 10.0, 61_000),
        (60_000, 60_000.0, 60_000),
        (10, 1.0, 10),
    ] {
        let op = Op::PartialDistinct {
            input: values(&rows_of(different), &[0]),
        };
        let mut root = node(op, &[0]);
        root.estimated_rows = expected;
        assert_eq!(run(root, 2_048).len(), kept, "{different} {expected}");
    }
}
