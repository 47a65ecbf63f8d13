//! Aggregates of the distinct values of a slot, alone or beside others, where they may be made as groups of distinct rows and in one pass.

use super::{Row, node, number};
use crate::context::{Context, ExecOptions};
use crate::operators::build::Build;
use basalt_plan::physical::{Aggregate, AggregateFunction, Constant, Expr, Node, Op, Slot};
use basalt_store::Snapshot;
use oxrdf::Literal;
use oxrdf::vocab::xsd;
use proptest::prelude::*;
use std::sync::Arc;

/// VALUES of a key, a value and another one, as integers; 0 is unbound.
fn values(rows: &[Row]) -> Arc<Node> {
    let constant = |id: &u64| {
        (*id != 0).then(|| Constant {
            term: Literal::new_typed_literal(id.to_string(), xsd::INTEGER).into(),
            id: None,
        })
    };
    let rows = rows.iter().map(|row| row.iter().map(constant).collect());
    let rows = rows.collect();
    Arc::new(node(Op::Values { rows }, &[0, 1, 2]))
}

/// The groups, in the order of their ids.
fn run(mut root: Node, dealt_rows_min: usize, threads: usize) -> Vec<Row> {
    let mut node_count = 0;
    number(&mut root, &mut node_count);
    let options = ExecOptions {
        dealt_rows_min,
        threads,
        ..ExecOptions::default()
    };
    let cx = Context::new(Snapshot::empty(), options, node_count);
    let mut operator = Build::new(cx.clone()).operator(&root).expect("it is sound");
    let mut rows = Vec::new();
    while let Some(batch) = operator.next(&cx).expect("nothing ends it") {
        for position in 0..batch.rows() {
            let mut row = Row::new();
            batch.row_into(position, &mut row);
            rows.push(row);
        }
    }
    rows.sort_unstable();
    rows
}

/// An aggregate, by number; those of the value are distinct.
fn aggregate(place: usize, number: usize) -> Aggregate {
    use AggregateFunction::{Avg, Count, Max, Min, Sum};
    let (function, of) = match number {
        0 => (Count, None),
        1 => (Count, Some(1)),
        2 => (Sum, Some(1)),
        3 => (Count, Some(2)),
        4 => (Min, Some(2)),
        5 => (Max, Some(0)),
        6 => (Max, Some(1)),
        _ => (Avg, Some(2)),
    };
    Aggregate {
        slot: Slot(3 + place as u16),
        distinct: of == Some(1),
        function,
        argument: of.map(|of| Expr::Slot(Slot(of))),
    }
}

proptest! {
    #[test]
    fn groups_of_distinct_rows_are_groups(
        rows in proptest::collection::vec((0..5_u64, 0..9_u64, 0..40_u64), 0..200),
        numbers in proptest::collection::vec(prop_oneof![3 => prop::sample::select(vec![1_usize, 2, 6]), 1 => 0..8_usize], 1..4),
        keyed: bool,
        threads in 1..3_usize,
    ) {
        let rows: Vec<Row> = rows.iter().map(|row| vec![row.0, row.1, row.2]).collect();
        let aggregates = numbers.iter().enumerate();
        let op = Op::Group {
            input: values(&rows),
            keys: if keyed { vec![Slot(0)] } else { Vec::new() },
            aggregates: aggregates.map(|(place, &number)| aggregate(place, number)).collect(),
        };
        let results = (3..3 + numbers.len() as u16).collect::<Vec<u16>>();
        let schema = if keyed { [&[0], results.as_slice()].concat() } else { results };
        let root = node(op, &schema);
        let expected = run(root.clone(), usize::MAX, 1);
        prop_assert_eq!(run(root, 0, threads), expected);
    }
}
