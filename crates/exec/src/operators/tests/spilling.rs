//! Operators that spill, compared with themselves in memory.

use super::{Row, node, number};
use crate::context::{Context, ExecOptions};
use crate::error::ExecError;
use crate::operators::build::Build;
use basalt_plan::physical::{
    Aggregate, AggregateFunction, Constant, Expr, JoinKind, Node, Op, Slot, SortKey,
};
use basalt_store::Snapshot;
use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNode, Term};
use proptest::prelude::*;

/// Bytes that leave room for all rows, and for a few.
const PLENTY: usize = 64 << 20;
const LITTLE: usize = 48 << 10;

/// A term of one of several kinds.
fn term(number: u64) -> Term {
    let text = (number / 6).to_string();
    match number % 6 {
        0 => NamedNode::new_unchecked(format!("http://e/{text}")).into(),
        1 => Literal::new_typed_literal(text, xsd::INTEGER).into(),
        2 => Literal::new_typed_literal(format!("{text}.5"), xsd::DECIMAL).into(),
        3 => Literal::new_language_tagged_literal_unchecked(text, "en").into(),
        4 => Literal::new_typed_literal(format!("{text}E0"), xsd::FLOAT).into(),
        _ => Literal::new_simple_literal(text).into(),
    }
}

/// VALUES of these terms; 0 is unbound.
fn terms(rows: &[Row], schema: &[u16]) -> Box<Node> {
    let constant = |id: &u64| {
        (*id != 0).then(|| Constant {
            term: term(*id),
            id: None,
        })
    };
    let rows = rows.iter().map(|row| row.iter().map(constant).collect());
    let rows = rows.collect();
    Box::new(node(Op::Values { rows }, schema))
}

/// The rows as texts, and the bytes that were spilled.
fn run(
    mut root: Node,
    memory_bytes_max: usize,
    batch_rows: usize,
) -> Result<(Vec<Vec<String>>, u64), ExecError> {
    number(&mut root, &mut 0);
    let options = ExecOptions {
        batch_rows,
        memory_bytes_max,
        threads: 2,
        ..ExecOptions::default()
    };
    let cx = Context::new(Snapshot::empty(), options, 0);
    let mut operator = Build::new(cx.clone()).operator(&root)?;
    let mut rows = Vec::new();
    while let Some(batch) = operator.next(&cx)? {
        assert!(batch.rows() > 0, "a batch is never empty");
        for position in 0..batch.rows() {
            let mut ids = Row::new();
            batch.row_into(position, &mut ids);
            let text = |id: &u64| match *id {
                0 => String::new(),
                id => cx
                    .terms()
                    .term(basalt_rdf::TermId(id))
                    .expect("the term is known")
                    .to_string(),
            };
            rows.push(ids.iter().map(text).collect());
        }
    }
    Ok((rows, cx.spilled_bytes()))
}

/// Runs with plenty of memory and with little; the first rows are right by other tests.
fn both(root: &Node, batch_rows: usize) -> (Vec<Vec<String>>, Vec<Vec<String>>) {
    let (whole, none) = run(root.clone(), PLENTY, batch_rows).expect("it fits");
    assert_eq!(none, 0, "what fits is not written");
    let (spilled, bytes) = run(root.clone(), LITTLE, batch_rows).expect("it spills");
    assert!(bytes > 0, "little memory makes it spill");
    (whole, spilled)
}

/// Rows (key, other): many, of few to many distinct terms.
fn rows() -> impl Strategy<Value = Vec<Row>> {
    (20..1500_u64).prop_flat_map(|terms| {
        let row = (0..terms, 0..7_u64).prop_map(|(key, other)| vec![key, other]);
        proptest::collection::vec(row, 2500..4000)
    })
}

fn order_by(rows: &[Row], descending: [bool; 2], limit: Option<usize>) -> Node {
    let key = |(slot, descending)| SortKey {
        expr: Expr::Slot(Slot(slot)),
        descending,
    };
    let op = Op::OrderBy {
        input: terms(rows, &[0, 1]),
        keys: vec![key((0, descending[0])), key((1, descending[1]))],
        limit,
    };
    node(op, &[0, 1])
}

fn aggregate(slot: u16, function: AggregateFunction, of: Option<u16>, distinct: bool) -> Aggregate {
    Aggregate {
        slot: Slot(slot),
        function,
        argument: of.map(|of| Expr::Slot(Slot(of))),
        distinct,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn sorting_in_runs_is_sorting(rows in rows(), descending: [bool; 2], batch_rows in 1..300_usize) {
        let (whole, spilled) = both(&order_by(&rows, descending, None), batch_rows);
        prop_assert_eq!(whole, spilled);
    }

    #[test]
    fn a_late_limit_cuts_runs(rows in rows(), descending: [bool; 2], limit in 1600..2400_usize) {
        let (whole, spilled) = both(&order_by(&rows, descending, Some(limit)), 100);
        prop_assert_eq!(whole.len(), limit);
        prop_assert_eq!(whole, spilled);
    }

    #[test]
    fn distinct_rows_keep_their_order(rows in rows(), batch_rows in 1..300_usize) {
        // Nearly all rows distinct, so that they do not fit.
        let numbered = |(number, row): (usize, &Row)| vec![row[1] * 6 + 1, number as u64 / 2 * 6 + 1];
        let rows: Vec<Row> = rows.iter().enumerate().map(numbered).collect();
        let root = node(Op::Distinct { input: terms(&rows, &[0, 1]) }, &[0, 1]);
        let (whole, spilled) = both(&root, batch_rows);
        prop_assert_eq!(whole, spilled);
    }

    #[test]
    fn groups_by_partitions_are_groups(rows in rows(), batch_rows in 1..300_usize) {
        // Integers, whose ids need no memory of the query's.
        let integer = |number: u64| number * 6 + 1;
        let keyed = |(number, row): (usize, &Row)| {
            vec![integer(number as u64 % 1201), integer(row[0]), integer(row[1])]
        };
        let rows: Vec<Row> = rows.iter().enumerate().map(keyed).collect();
        let op = Op::Group {
            input: terms(&rows, &[0, 1, 2]),
            keys: vec![Slot(0)],
            aggregates: vec![
                aggregate(3, AggregateFunction::Count, None, false),
                aggregate(4, AggregateFunction::Count, Some(2), true),
                aggregate(5, AggregateFunction::Max, Some(1), false),
            ],
        };
        let (whole, spilled) = both(&node(op, &[0, 3, 4, 5]), batch_rows);
        prop_assert_eq!(sorted_texts(whole), sorted_texts(spilled));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    #[test]
    fn joining_in_partitions_is_joining(rows in rows(), build_left: bool, batch_rows in 1..300_usize) {
        let integer = |number: u64| number * 6 + 1;
        let side = |skip: usize, modulus: u64| -> Vec<Row> {
            let row = |(number, row): (usize, &Row)| {
                let optional = if row[1] == 0 { 0 } else { integer(row[1] % 2) };
                vec![integer(number as u64 % modulus), optional, integer(row[0])]
            };
            rows.iter().skip(skip).enumerate().map(row).collect()
        };
        let (left, right) = (side(0, 1200), side(7, 1100));
        for kind in [JoinKind::Inner, JoinKind::LeftOuter, JoinKind::Semi, JoinKind::Anti] {
            let op = Op::HashJoin {
                left: terms(&left, &[0, 1, 2]),
                right: terms(&right, &[0, 1, 3]),
                keys: vec![Slot(0)],
                compatible: vec![Slot(1)],
                kind,
                filter: None,
                build_left,
            };
            let (whole, spilled) = both(&node(op, &[0, 1, 2, 3]), batch_rows);
            prop_assert_eq!(whole, spilled);
        }
    }
}

#[test]
fn rows_of_one_key_end_at_the_limit() {
    let rows: Vec<Row> = (0..20_000).map(|n| vec![7, n * 6 + 1]).collect();
    let join = |keys: Vec<Slot>, shared: Vec<Slot>| {
        let op = Op::HashJoin {
            left: terms(&rows[..3], &[0, 1]),
            right: terms(&rows, &[0, 2]),
            keys,
            compatible: shared,
            kind: JoinKind::Inner,
            filter: None,
            build_left: false,
        };
        run(node(op, &[0, 1, 2]), LITTLE, 1000)
    };
    for outcome in [join(vec![Slot(0)], vec![]), join(vec![], vec![Slot(0)])] {
        let error = outcome.expect_err("20,000 rows do not fit");
        assert!(error.to_string().contains("HashJoin"), "{error}");
    }
}

fn sorted_texts(mut rows: Vec<Vec<String>>) -> Vec<Vec<String>> {
    rows.sort();
    rows
}

#[test]
fn partitions_are_dealt_out_again() {
    let rows: Vec<Row> = (0..60_000_u64).map(|n| vec![n % 20_000 * 6 + 7]).collect();
    let op = Op::Group {
        input: terms(&rows, &[0]),
        keys: vec![Slot(0)],
        aggregates: vec![aggregate(1, AggregateFunction::Count, None, false)],
    };
    let root = node(op, &[0, 1]);
    let (groups, spilled) = run(root, 8 << 10, 100).expect("it spills");
    // One level of partitions writes every row at most once: 60,000 rows of 2 ids.
    assert!(spilled > 60_000 * 16, "{spilled}");
    assert_eq!(groups.len(), 20_000);
    assert!(groups.iter().all(|row| row[1].starts_with("\"3\"")));
}

#[test]
fn a_folder_that_is_not_there_is_named() {
    let rows: Vec<Row> = (1..5000).map(|n| vec![n, 1]).collect();
    let mut root = order_by(&rows, [false, true], None);
    number(&mut root, &mut 0);
    let options = ExecOptions {
        memory_bytes_max: LITTLE,
        temp: Some("/no/such/folder".into()),
        ..ExecOptions::default()
    };
    let cx = Context::new(Snapshot::empty(), options, 0);
    let mut operator = Build::new(cx.clone()).operator(&root).expect("it is sound");
    let error = operator
        .next(&cx)
        .expect_err("nothing can be written there");
    assert!(error.to_string().contains("/no/such/folder"), "{error}");
}

#[test]
fn the_rows_of_one_group_are_never_apart() {
    // Without keys there is one group, whatever the memory.
    let rows: Vec<Row> = (1..3000).map(|n| vec![n * 6 + 1]).collect();
    let op = Op::Group {
        input: terms(&rows, &[0]),
        keys: Vec::new(),
        aggregates: vec![aggregate(1, AggregateFunction::Count, Some(0), false)],
    };
    let (groups, spilled) = run(node(op, &[1]), LITTLE, 100).expect("it needs little");
    assert_eq!(spilled, 0);
    assert_eq!(groups.len(), 1);
    assert!(groups[0][0].starts_with("\"2999\""), "{groups:?}");
}
