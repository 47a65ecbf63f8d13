//! Pipelines over rows of groups and spools: several threads against one, and against hand-made groups.

use super::{Row, node, number, run_with, sorted, values};
use crate::batch::Batch;
use crate::context::{Context, ExecOptions};
use crate::error::ExecError;
use crate::operators::build::Build;
use crate::operators::pipeline::{Sink, drain};
use basalt_plan::physical::{
    Aggregate, AggregateFunction, Expr, JoinKind, Node, Op, Slot, SortKey,
};
use basalt_store::Snapshot;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn run(root: Node, threads: usize, batch_rows: usize, memory_bytes_max: usize) -> Vec<Row> {
    let options = ExecOptions {
        batch_rows,
        memory_bytes_max,
        threads,
        ..ExecOptions::default()
    };
    run_with(root, options)
}

fn group(input: Node, keys: &[u16], counted: Option<(u16, u16)>, schema: &[u16]) -> Node {
    let aggregates = counted.map(|(slot, argument)| Aggregate {
        slot: Slot(slot),
        function: AggregateFunction::Sample,
        argument: Some(Expr::Slot(Slot(argument))),
        distinct: false,
    });
    let op = Op::Group {
        input: Box::new(input),
        keys: keys.iter().map(|&key| Slot(key)).collect(),
        aggregates: aggregates.into_iter().collect(),
    };
    node(op, schema)
}

fn join(left: Node, right: Node, schema: &[u16]) -> Node {
    let op = Op::HashJoin {
        left: Box::new(left),
        right: Box::new(right),
        keys: vec![Slot(0)],
        compatible: Vec::new(),
        kind: JoinKind::Inner,
        filter: None,
        build_left: false,
    };
    node(op, schema)
}

fn spool(input: Node, schema: &[u16]) -> Node {
    let input = Box::new(input);
    node(Op::Spool { input, spool: 0 }, schema)
}

/// Rows (key, other): many keys, some of them often.
fn rows(count: usize) -> impl Strategy<Value = Vec<Row>> {
    let row = (1..400_u64, 1..6_u64).prop_map(|(key, other)| vec![key, other]);
    proptest::collection::vec(row, 0..count)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn joins_and_groups_over_groups_are_the_same_on_any_number_of_threads(
        rows in rows(600), partners in rows(60), batch_rows in 1..64_usize, threads in 1..4_usize,
    ) {
        // Distinct (key, other), joined by key, then distinct (other, own).
        let inner = group(*values(&rows, &[0, 1]), &[0, 1], None, &[0, 1]);
        let joined = join(inner, *values(&partners, &[0, 2]), &[0, 1, 2]);
        let outer = group(joined, &[1, 2], None, &[1, 2]);
        let distinct: BTreeSet<&Row> = rows.iter().collect();
        let mut expected = BTreeSet::new();
        for row in distinct {
            let same = partners.iter().filter(|partner| partner[0] == row[0]);
            expected.extend(same.map(|partner| vec![row[1], partner[1]]));
        }
        let expected: Vec<Row> = expected.into_iter().collect();
        prop_assert_eq!(sorted(run(outer, threads, batch_rows, 64 << 20)), expected);
    }

    #[test]
    fn a_spool_of_groups_is_shared_by_both_sides_and_sorted(
        rows in rows(600), batch_rows in 1..64_usize, threads in 1..4_usize, little: bool,
    ) {
        let inner = || group(*values(&rows, &[0, 1]), &[0], Some((2, 0)), &[0, 2]);
        let both = join(spool(inner(), &[0, 2]), spool(inner(), &[0, 2]), &[0, 2]);
        let key = SortKey { expr: Expr::Slot(Slot(0)), descending: false };
        let op = Op::OrderBy { input: Box::new(both), keys: vec![key], limit: None };
        let groups: BTreeMap<u64, u64> = rows.iter().map(|row| (row[0], row[0])).collect();
        let mut expected: Vec<Row> = groups.into_iter().map(|(key, of)| vec![key, of]).collect();
        let memory = if little { 1 << 20 } else { 64 << 20 };
        let mut found = run(node(op, &[0, 2]), threads, batch_rows, memory);
        // Terms sort by text; the order is that of another test.
        found.sort();
        expected.sort();
        prop_assert_eq!(found, expected);
    }
}

/// Takes nothing.
struct Refusing;

impl Sink for Refusing {
    fn push(&mut self, _: &Batch, _: &Context) -> Result<(), ExecError> {
        Err(ExecError::Cancelled)
    }
}

#[test]
fn shared_rows_that_are_not_read_to_the_end_keep_nothing_alive() {
    let rows: Vec<Row> = (1..400).map(|id| vec![id]).collect();
    for threads in 1..4 {
        let mut root = spool(group(*values(&rows, &[0]), &[0], None, &[0]), &[0]);
        number(&mut root, &mut 0);
        let options = ExecOptions {
            batch_rows: 8,
            threads,
            ..ExecOptions::default()
        };
        let cx = Context::new(Snapshot::empty(), options, 0);
        let context = Arc::downgrade(&cx);
        let drained = drain(&root, &Build::new(Arc::clone(&cx)), &cx, || Ok(Refusing));
        assert!(drained.is_err());
        drop(cx);
        // A job that nobody took is dropped by the next thread of the pool that has nothing to do.
        let end = Instant::now() + Duration::from_secs(10);
        while context.upgrade().is_some() && Instant::now() < end {
            std::thread::yield_now();
        }
        assert!(context.upgrade().is_none(), "{threads} threads");
    }
}
