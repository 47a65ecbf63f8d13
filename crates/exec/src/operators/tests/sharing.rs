//! Pipelines over rows of groups and spools: several threads against one, and against hand-made groups.

use super::{Row, node, number, rows_node, run_with, sorted, values};
use crate::batch::Batch;
use crate::context::{Context, ExecOptions};
use crate::error::ExecError;
use crate::operators::build::{Build, few_that_lead_to_many};
use crate::operators::pipeline::{Sink, drain};
use crate::operators::shared_rows::Shares;
use basalt_plan::physical::{
    Aggregate, AggregateFunction, Expr, JoinKind, Node, Op, Slot, SortKey,
};
use basalt_store::Snapshot;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

fn options(threads: usize, batch_rows: usize, memory_bytes_max: usize) -> ExecOptions {
    ExecOptions {
        batch_rows,
        memory_bytes_max,
        threads,
        alone_for: Duration::ZERO,
        ..ExecOptions::default()
    }
}

/// Of two threads that share work of so many rows.
fn dealt_from(dealt_rows_min: usize) -> ExecOptions {
    ExecOptions {
        threads: 2,
        dealt_rows_min,
        ..ExecOptions::default()
    }
}

fn run(root: Node, threads: usize, batch_rows: usize, memory_bytes_max: usize) -> Vec<Row> {
    run_with(root, options(threads, batch_rows, memory_bytes_max))
}

fn group(input: Node, keys: &[u16], counted: Option<(u16, u16)>, schema: &[u16]) -> Node {
    let aggregates = counted.map(|(slot, argument)| Aggregate {
        slot: Slot(slot),
        function: AggregateFunction::Sample,
        argument: Some(Expr::Slot(Slot(argument))),
        distinct: false,
    });
    let op = Op::Group {
        input: Arc::new(input),
        keys: keys.iter().map(|&key| Slot(key)).collect(),
        aggregates: aggregates.into_iter().collect(),
    };
    node(op, schema)
}

fn join(left: Node, right: Node, schema: &[u16]) -> Node {
    let op = Op::HashJoin {
        left: Arc::new(left),
        right: Arc::new(right),
        keys: vec![Slot(0)],
        compatible: Vec::new(),
        kind: JoinKind::Inner,
        filter: None,
        build_left: false,
        partners: Vec::new(),
        nearest: None,
    };
    node(op, schema)
}

fn spool(input: Node, schema: &[u16]) -> Node {
    let input = Arc::new(input);
    node(
        Op::Spool {
            input,
            spool: 0,
            always: false,
        },
        schema,
    )
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
        rows in rows(600), partners in rows(60), batch_rows in 1..700_usize, threads in 1..4_usize,
        are_many: bool,
    ) {
        // Distinct (key, other), joined by key, then distinct (other, own).
        let inner = group(rows_node(&rows, &[0, 1]), &[0, 1], None, &[0, 1]);
        let joined = join(inner, rows_node(&partners, &[0, 2]), &[0, 1, 2]);
        let outer = group(joined, &[1, 2], None, &[1, 2]);
        let distinct: BTreeSet<&Row> = rows.iter().collect();
        let mut expected = BTreeSet::new();
        for row in distinct {
            let same = partners.iter().filter(|partner| partner[0] == row[0]);
            expected.extend(same.map(|partner| vec![row[1], partner[1]]));
        }
        let expected: Vec<Row> = expected.into_iter().collect();
        // Any rows are cut, or none.
        let dealt_rows_min = if are_many { 0 } else { usize::MAX };
        let options = ExecOptions { dealt_rows_min, ..options(threads, batch_rows, 64 << 20) };
        prop_assert_eq!(sorted(run_with(outer, options)), expected);
    }

    #[test]
    fn a_spool_of_groups_is_shared_by_both_sides_and_sorted(
        rows in rows(600), batch_rows in 1..64_usize, threads in 1..4_usize, little: bool,
    ) {
        let inner = || group(rows_node(&rows, &[0, 1]), &[0], Some((2, 0)), &[0, 2]);
        let both = join(spool(inner(), &[0, 2]), spool(inner(), &[0, 2]), &[0, 2]);
        let key = SortKey { expr: Expr::Slot(Slot(0)), descending: false };
        let op = Op::OrderBy { input: Arc::new(both), keys: vec![key], limit: None, cut_after: None };
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

/// A chain of joins with so many rows expected of each, from the last to the first.
fn chain(expected: &[f64]) -> Node {
    let mut chain: Option<Node> = None;
    for &rows in expected.iter().rev() {
        let mut node = match chain {
            None => rows_node(&[vec![1, 1]], &[0, 1]),
            Some(below) => join(below, rows_node(&[vec![1, 1]], &[0, 2]), &[0, 1, 2]),
        };
        node.estimated_rows = rows;
        chain = Some(node);
    }
    chain.expect("a chain has a node")
}

#[test]
fn few_rows_are_dealt_out_below_where_they_become_many() {
    let options = dealt_from(10_000);
    let found = |expected: &[f64]| {
        let chain = chain(expected);
        few_that_lead_to_many(&chain, &options).map(|node| node.estimated_rows)
    };
    // The first of the chain that has enough for all threads.
    assert_eq!(found(&[500.0, 20_000.0, 300.0, 50.0, 1.0]), Some(50.0));
    assert_eq!(found(&[20_000.0, 300.0]), Some(300.0));
    // None has enough: the last one of some rows.
    assert_eq!(found(&[20_000.0, 7.0, 3.0, 1.0]), Some(7.0));
    // A single row, not many, no fan-out, nothing below.
    assert_eq!(found(&[20_000.0, 1.0]), None);
    assert_eq!(found(&[9_000.0, 300.0]), None);
    assert_eq!(found(&[20_000.0, 9_000.0]), None);
    assert_eq!(found(&[20_000.0]), None);
}

#[test]
fn rows_that_a_single_one_leads_to_are_shared() {
    // One group, its 40 partners, and 20 of each of those.
    let one = group(rows_node(&[vec![1, 1]], &[0, 1]), &[0], None, &[0]);
    let forty: Vec<Row> = (1..=40).map(|id| vec![1, id]).collect();
    let mut partners = join(one, rows_node(&forty, &[0, 1]), &[0, 1]);
    partners.estimated_rows = 40.0;
    let many: Vec<Row> = (1..=20).map(|id| vec![1, id]).collect();
    let mut joined = join(partners, rows_node(&many, &[0, 2]), &[0, 1, 2]);
    joined.estimated_rows = 800.0;
    let root = group(joined, &[1, 2], None, &[1, 2]);
    let mut expected = Vec::new();
    for one in 1..=40 {
        expected.extend((1..=20).map(|other| vec![one, other]));
    }
    for (threads, dealt_rows_min) in [(1, 100), (2, 100), (2, 0), (3, 1_000)] {
        let options = ExecOptions {
            dealt_rows_min,
            ..options(threads, 2048, 64 << 20)
        };
        assert_eq!(sorted(run_with(root.clone(), options)), expected);
    }
}

#[test]
fn rows_are_cut_by_what_they_lead_to() {
    let options = dealt_from(1_000);
    let parts = |shares: Shares, rows: usize| rows.div_ceil(shares.part_rows(rows));
    // As many parts as lead to enough, up to some for each thread.
    let parts_of = |rows: usize, fan_out: f64| parts(Shares::of_rows(fan_out, &options), rows);
    assert_eq!(parts_of(2_000, 750.0), 16);
    assert_eq!(parts_of(100, 50.0), 5);
    assert_eq!(parts_of(1, 1e9), 1);
    assert_eq!(parts_of(100, 10.0), 1);
    // Much work for all, but little for each.
    assert_eq!(parts_of(9_000, 3.9), 1);
    assert_eq!(parts(Shares::of_few(&options), 160), 16);
    assert_eq!(parts(Shares::in_batches(&options), 160), 1);
    let any = ExecOptions {
        dealt_rows_min: 0,
        ..options.clone()
    };
    assert_eq!(parts(Shares::of_rows(0.5, &any), 4), 4);
}

#[test]
fn all_rows_of_a_chain_arrive_however_they_are_dealt_out() {
    let rows: Vec<Row> = (1..=90).map(|id| vec![id, id % 7]).collect();
    for (count, parts) in [(0, 4), (1, 4), (5, 4), (90, 1), (90, 8), (90, 200)] {
        let rows = &rows[..count];
        let options = ExecOptions {
            threads: 3,
            alone_for: Duration::ZERO,
            ..ExecOptions::default()
        };
        let input = values(rows, &[0, 1]);
        let mut root = node(Op::Project { input }, &[0, 1]);
        number(&mut root, &mut 0);
        let cx = Context::new(Snapshot::empty(), options, 0);
        let build = Build::new(Arc::clone(&cx));
        let shares = Shares {
            batches: 2,
            parts,
            fan_out: 4.0,
            many: 1.0,
        };
        let shared = build.share_rows(&root, &shares).expect("rows are made");
        assert_eq!(
            shared.has_several_batches(),
            count > 1 && parts > 1,
            "{count} in {parts}"
        );
        let mut found = Vec::new();
        // Two readers, by turns.
        let mut readers = [(), ()].map(|()| build.operator(&root).expect("it is shared"));
        let mut at = 0;
        while let Some(batch) = readers[at % 2].next(&cx).expect("it is read") {
            found.extend((0..batch.rows()).map(|row| vec![batch.ids(0)[row], batch.ids(1)[row]]));
            at += 1;
        }
        build.unshare_rows(&root);
        assert_eq!(found, rows, "{count} in {parts}");
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
        let mut root = spool(group(rows_node(&rows, &[0]), &[0], None, &[0]), &[0]);
        number(&mut root, &mut 0);
        let options = ExecOptions {
            batch_rows: 8,
            threads,
            alone_for: Duration::ZERO,
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
