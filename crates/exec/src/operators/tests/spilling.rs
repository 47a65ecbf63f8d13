//! Operators that spill, compared with themselves in memory.

use super::{Row, node, number};
use crate::context::{Context, ExecOptions};
use crate::error::ExecError;
use crate::operators::build::Build;
use basalt_plan::physical::{
    Aggregate, AggregateFunction, Constant, Expr, GroupThrough, JoinKind, Node, Op, RollUp, Slot,
    SortKey,
};
use basalt_store::Snapshot;
use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNode, Term};
use proptest::prelude::*;
use std::sync::Arc;

/// Bytes that leave room for all rows, and for a few.
const PLENTY: usize = 64 << 20;
const LITTLE: usize = 48 << 10;
/// Bytes that leave room for what stays in memory of all terms besides.
const WITH_TERMS: usize = 192 << 10;

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
fn terms(rows: &[Row], schema: &[u16]) -> Arc<Node> {
    let constant = |id: &u64| {
        (*id != 0).then(|| Constant {
            term: term(*id),
            id: None,
        })
    };
    let rows = rows.iter().map(|row| row.iter().map(constant).collect());
    let rows = rows.collect();
    Arc::new(node(Op::Values { rows }, schema))
}

/// The rows as texts, and the bytes that were spilled. What is counted stays below the limit, and files have no names.
fn run(
    mut root: Node,
    memory_bytes_max: usize,
    batch_rows: usize,
) -> Result<(Vec<Vec<String>>, u64), ExecError> {
    let mut node_count = 0;
    number(&mut root, &mut node_count);
    let folder = tempfile::tempdir().expect("a temporary folder");
    let options = ExecOptions {
        batch_rows,
        memory_bytes_max,
        threads: 2,
        alone_for: std::time::Duration::ZERO,
        temp: Some(folder.path().to_owned()),
        profile: true,
        ..ExecOptions::default()
    };
    let cx = Context::new(Snapshot::empty(), options, node_count);
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
    let left = std::fs::read_dir(folder.path()).expect("the folder is there");
    assert_eq!(
        left.count(),
        0,
        "files are unlinked as soon as they are open"
    );
    let held = cx.profile().memory_bytes_max();
    assert!(held <= memory_bytes_max as u64, "{held} bytes were held");
    Ok((rows, cx.spilled_bytes()))
}

/// Runs with plenty of memory and with little; the first rows are right by other tests.
fn both(root: &Node, batch_rows: usize) -> (Vec<Vec<String>>, Vec<Vec<String>>) {
    both_within(root, batch_rows, LITTLE)
}

fn both_within(
    root: &Node,
    batch_rows: usize,
    little: usize,
) -> (Vec<Vec<String>>, Vec<Vec<String>>) {
    let (whole, none) = run(root.clone(), PLENTY, batch_rows).expect("it fits");
    assert_eq!(none, 0, "what fits is not written");
    let (spilled, bytes) = run(root.clone(), little, batch_rows).expect("it spills");
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
        cut_after: None,
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
        let root = order_by(&rows, descending, None);
        let (whole, spilled) = both_within(&root, batch_rows, WITH_TERMS);
        prop_assert_eq!(whole, spilled);
    }

    #[test]
    fn a_late_limit_cuts_runs(rows in rows(), descending: [bool; 2], limit in 1600..2400_usize) {
        let root = order_by(&rows, descending, Some(limit));
        let (whole, spilled) = both_within(&root, 100, WITH_TERMS);
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
                partners: Vec::new(),
                nearest: None,
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
            partners: Vec::new(),
            nearest: None,
        };
        run(node(op, &[0, 1, 2]), LITTLE, 1000)
    };
    for outcome in [join(vec![Slot(0)], vec![]), join(vec![], vec![Slot(0)])] {
        let error = outcome.expect_err("20,000 rows do not fit");
        assert!(error.to_string().contains("HashJoin"), "{error}");
    }
}

/// Aggregates with states that grow without new groups.
fn growing_aggregates() -> Vec<Aggregate> {
    let concat = || AggregateFunction::GroupConcat {
        separator: ", ".to_owned(),
    };
    vec![
        aggregate(3, AggregateFunction::Count, Some(1), true),
        aggregate(4, AggregateFunction::Sum, Some(1), true),
        aggregate(5, AggregateFunction::Avg, Some(1), true),
        aggregate(6, concat(), Some(1), false),
        aggregate(7, concat(), Some(1), true),
        aggregate(8, AggregateFunction::Count, None, true),
        aggregate(9, AggregateFunction::Sample, Some(2), false),
        aggregate(10, AggregateFunction::Min, Some(1), false),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8))]

    /// Few groups or one, so that what grows are their states. The input comes in one order, on one thread, so that texts
    /// and samples are the same ones.
    #[test]
    fn states_in_files_are_states(
        rows in rows(), groups in 1..4_u64, keyed: bool, distinct_values in 200..3000_u64,
        batch_rows in 1..300_usize, errors: bool,
    ) {
        let integer = |number: u64| number * 6 + 1;
        let value = |number: usize, row: &Row| match errors && number % 1700 == 1600 {
            // Unbound: an error for all but COUNT and SAMPLE, in some of the groups.
            true => 0,
            false => integer((number as u64).wrapping_mul(row[0] + 1) % distinct_values),
        };
        let made = |(number, row): (usize, &Row)| {
            vec![integer(row[1] % groups), value(number, row), integer(row[0])]
        };
        let rows: Vec<Row> = rows.iter().enumerate().map(made).collect();
        let keys = if keyed { vec![Slot(0)] } else { Vec::new() };
        let op = |aggregates| Op::Group { input: terms(&rows, &[0, 1, 2]), keys: keys.clone(), aggregates };
        let root = node(op(growing_aggregates()), &[0, 3, 4, 5, 6, 7, 8, 9, 10]);
        // Room for one text of all values.
        let (whole, spilled) = both_within(&root, batch_rows, 160 << 10);
        prop_assert_eq!(sorted_texts(whole), sorted_texts(spilled));
    }

    #[test]
    fn merging_runs_is_merging(
        rows in rows(), keys in 200..900_u64, batch_rows in 1..300_usize,
    ) {
        let integer = |number: u64| number * 6 + 1;
        let side = |skip: usize, sorted: bool| -> Vec<Row> {
            // Of one key there are many rows.
            let key = |row: &Row| match row[1] == 0 && row[0].is_multiple_of(3) {
                true => 1,
                false => row[0] % keys,
            };
            let row = |(number, row): (usize, &Row)| vec![integer(key(row)), integer(number as u64)];
            let mut side: Vec<Row> = rows.iter().skip(skip).enumerate().map(row).collect();
            if sorted {
                side.sort();
            }
            side
        };
        let (left, right) = (side(0, true), side(2300, false));
        let op = |left: &[Row], right: &[Row]| Op::MergeJoin {
            left: terms(left, &[0, 1]),
            right: terms(right, &[0, 2]),
            key: Slot(0),
        };
        for (left, right) in [(&left, &right), (&right, &left)] {
            let (whole, spilled) = both(&node(op(left, right), &[0, 1, 2]), batch_rows);
            let by_key = |rows: &[Vec<String>]| -> Vec<String> { rows.iter().map(|row| row[0].clone()).collect() };
            prop_assert_eq!(by_key(&whole), by_key(&spilled));
            prop_assert_eq!(sorted_texts(whole), sorted_texts(spilled));
        }
    }
}

#[test]
fn one_group_may_have_more_distinct_values_than_there_is_memory() {
    let rows: Vec<Row> = (0..60_000_u64).map(|n| vec![n % 30_000 * 6 + 1]).collect();
    let op = Op::Group {
        input: terms(&rows, &[0]),
        keys: Vec::new(),
        aggregates: vec![
            aggregate(1, AggregateFunction::Count, Some(0), true),
            aggregate(2, AggregateFunction::Sum, Some(0), true),
        ],
    };
    // The values alone take 30,000 * 16 bytes.
    let (groups, spilled) = run(node(op, &[1, 2]), 128 << 10, 1000).expect("it spills");
    assert!(spilled > 0);
    assert!(groups[0][0].starts_with("\"30000\""), "{groups:?}");
    assert!(groups[0][1].starts_with("\"449985000\""), "{groups:?}");
}

#[test]
fn a_run_of_one_key_may_be_larger_than_memory() {
    let side = |count: u64| -> Vec<Row> { (0..count).map(|n| vec![7, n * 6 + 1]).collect() };
    let op = Op::MergeJoin {
        left: terms(&side(5), &[0, 1]),
        right: terms(&side(20_000), &[0, 2]),
        key: Slot(0),
    };
    let (rows, spilled) = run(node(op, &[0, 1, 2]), LITTLE, 1000).expect("it spills");
    assert!(spilled > 20_000 * 24, "{spilled}");
    assert_eq!(rows.len(), 100_000);
}

#[test]
fn texts_that_groups_make_may_be_larger_than_memory_and_one_of_them_may_not() {
    // 40 groups of 1,000 values with 7 digits.
    let rows: Vec<Row> = (0..40_000_u64)
        .map(|n| vec![n % 40 * 6 + 1, (1_000_000 + n) * 6 + 1])
        .collect();
    let concat = |keys: Vec<Slot>, memory: usize| {
        let function = AggregateFunction::GroupConcat {
            separator: " ".to_owned(),
        };
        let op = Op::Group {
            input: terms(&rows, &[0, 1]),
            keys,
            aggregates: vec![aggregate(2, function, Some(1), false)],
        };
        run(node(op, &[0, 2]), memory, 1000)
    };
    let (groups, spilled) = concat(vec![Slot(0)], 128 << 10).expect("it spills");
    assert!(spilled > 40_000 * 8, "{spilled}");
    assert_eq!(groups.len(), 40);
    for row in &groups {
        let key: u64 = row[0]
            .split('"')
            .nth(1)
            .and_then(|text| text.parse().ok())
            .expect("a number");
        let text = row[1].trim_matches('"');
        let values = text
            .split(' ')
            .map(|value| value.parse::<u64>().expect("a number"));
        assert!(
            values.eq((0..1000).map(|n| 1_000_000 + n * 40 + key)),
            "{row:?}"
        );
    }
    let refused =
        concat(Vec::new(), 128 << 10).expect_err("one text of 320,000 bytes does not fit");
    assert!(refused.to_string().contains("Group"), "{refused}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// Without room for the states the join is made and grouped.
    #[test]
    fn groups_through_a_join_are_groups_of_it(rows in rows(), keys in 500..2000_u64, batch_rows in 1..300_usize) {
        let integer = |number: u64| number * 6 + 1;
        // Slots 0 (via) and 1 of the rows; 2 (key) and 0 of the pairs.
        let of = |(number, row): (usize, &Row)| vec![integer(number as u64 % 900), integer(row[0])];
        let aggregated: Vec<Row> = rows.iter().enumerate().map(of).collect();
        let pair = |(number, row): (usize, &Row)| vec![integer(row[0] * 7 % keys), integer(number as u64 % 1000)];
        let pairs: Vec<Row> = rows.iter().enumerate().map(pair).collect();
        let through = GroupThrough {
            rows: Arc::unwrap_or_clone(terms(&aggregated, &[0, 1])),
            pairs: Arc::unwrap_or_clone(terms(&pairs, &[2, 0])),
            via: vec![Slot(0)],
            keys: vec![Slot(2)],
            aggregates: vec![
                aggregate(3, AggregateFunction::Count, None, false),
                aggregate(4, AggregateFunction::Sum, Some(1), false),
                aggregate(5, AggregateFunction::Min, Some(1), false),
            ],
            without: None,
            total: None,
            shared: None,
            with_pair: None,
        };
        let root = node(Op::GroupThrough(Box::new(through)), &[2, 3, 4, 5]);
        let (whole, spilled) = both(&root, batch_rows);
        prop_assert_eq!(sorted_texts(whole), sorted_texts(spilled));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// Without room for the states of the finer group each group reads the rows.
    #[test]
    fn groups_from_states_are_groups_of_the_rows(rows in rows(), keys in 1500..2000_u64, batch_rows in 1..300_usize) {
        let integer = |number: u64| number * 6 + 1;
        // Slots 0 and 1 are keys, 2 is added up.
        let of = |(number, row): (usize, &Row)| {
            vec![integer(number as u64 % keys), integer(number as u64 % 7), integer(row[0])]
        };
        let rows: Vec<Row> = rows.iter().enumerate().map(of).collect();
        let aggregates = vec![
            aggregate(3, AggregateFunction::Count, None, false),
            aggregate(4, AggregateFunction::Sum, Some(2), false),
            aggregate(5, AggregateFunction::Max, Some(2), false),
        ];
        let finer = node(
            Op::Group {
                input: terms(&rows, &[0, 1, 2]),
                keys: vec![Slot(0), Slot(1)],
                aggregates: aggregates.clone(),
            },
            &[0, 1, 3, 4, 5],
        );
        let rolled_up = |key: u16| {
            let op = RollUp {
                finer: finer.clone(),
                keys: vec![(Slot(6), Slot(key))],
                aggregates: vec![(Slot(7), Slot(5)), (Slot(8), Slot(3)), (Slot(9), Slot(4))],
                states: 0,
            };
            node(Op::RollUp(Box::new(op)), &[6, 7, 8, 9])
        };
        let inputs = vec![rolled_up(0), rolled_up(1), rolled_up(0)];
        let root = node(Op::Union { inputs }, &[6, 7, 8, 9]);
        let (whole, spilled) = both(&root, batch_rows);
        prop_assert_eq!(sorted_texts(whole.clone()), sorted_texts(spilled));
        // What a group of the rows by one key makes.
        let alone = |key: u16| {
            let op = Op::Group {
                input: terms(&rows, &[0, 1, 2]),
                keys: vec![Slot(key)],
                aggregates: aggregates.clone(),
            };
            node(op, &[key, 5, 3, 4])
        };
        let mut wanted = Vec::new();
        for key in [0, 1, 0] {
            let (rows, _) = run(alone(key), usize::MAX, batch_rows).expect("there is room");
            wanted.extend(rows);
        }
        prop_assert_eq!(sorted_texts(whole), sorted_texts(wanted));
    }
}

#[test]
fn computed_terms_beyond_their_share_are_in_a_file() {
    let long = |number: u64| Literal::new_simple_literal(format!("{number} {}", "x".repeat(500)));
    let constant = |number: u64| {
        Some(Constant {
            term: long(number).into(),
            id: None,
        })
    };
    // Twice the same, so that terms of the file are found again.
    let rows = (0..2000_u64).map(|number| vec![constant(number % 1000)]);
    let op = Op::Values {
        rows: rows.collect(),
    };
    let distinct = Op::Distinct {
        input: Arc::new(node(op, &[0])),
    };
    let (rows, spilled) =
        run(node(distinct, &[0]), 256 << 10, 100).expect("the texts go to a file");
    assert!(spilled > 300_000, "{spilled}");
    let wanted = (0..1000).map(|number| vec![long(number).to_string()]);
    assert!(rows.into_iter().eq(wanted));
}

#[test]
fn the_right_side_of_minus_ends_at_the_limit() {
    let rows: Vec<Row> = (0..20_000).map(|n| vec![n * 6 + 1]).collect();
    let op = Op::Minus {
        left: terms(&rows[..3], &[0]),
        right: terms(&rows, &[0]),
        shared: vec![Slot(0)],
    };
    let error = run(node(op, &[0]), LITTLE, 1000).expect_err("20,000 rows do not fit");
    assert!(error.to_string().contains("Minus"), "{error}");
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
    let rows: Vec<Row> = (0..20_000).map(|n| vec![n % 50 + 1, 1]).collect();
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
