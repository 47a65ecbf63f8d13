//! Joins whose condition bounds partners, compared with themselves where all partners are compared.

use super::{Row, node, rows_node, run_with};
use crate::context::ExecOptions;
use basalt_plan::physical::{Constant, Expr, JoinKind, Node, Op, Slot};
use basalt_rdf::TermId;
use basalt_rdf::inline::dates;
use basalt_rdf::qualifiers::{DECIMAL, DOUBLE, FLOAT};
use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNodeRef};
use proptest::prelude::*;
use spargebra::algebra::Function;
use std::sync::Arc;

const KINDS: [JoinKind; 4] = [
    JoinKind::Inner,
    JoinKind::LeftOuter,
    JoinKind::Semi,
    JoinKind::Anti,
];

/// Ids of numbers near each other of several types, of times, and of nothing.
fn value(kinds: u64) -> impl Strategy<Value = u64> {
    (0..kinds, -40..40_i64).prop_map(|(kind, n)| {
        let id = match kind {
            0..=4 => TermId::numeric(0, n, 0),
            5 => TermId::numeric(DECIMAL, n * 5, 1),
            6 => TermId::numeric(DOUBLE, n * 5, 1),
            7 => TermId::numeric(FLOAT, n * 5, 1),
            8 => dates::encode_date_time(n * 1_000, 1),
            9 => dates::encode_date_time(n * 1_000, 0),
            10 => dates::encode_date(n / 10, dates::ZONE_NONE),
            _ => None,
        };
        id.map_or(0, |id| id.0)
    })
}

/// Rows of a key, two values and their number; of numbers alone, or of all kinds.
pub(super) fn rows(most: usize) -> impl Strategy<Value = Vec<Row>> {
    prop_oneof![Just(5_u64), Just(8), Just(12)].prop_flat_map(move |kinds| {
        let row = (7..12_u64, value(kinds), value(kinds));
        prop::collection::vec(row, 0..most).prop_map(|rows| {
            let numbered = (0_i64..).zip(rows).map(|(number, (key, a, b))| {
                let number = TermId::numeric(0, number, 0).expect("it fits");
                vec![TermId::resource(key).0, a, b, number.0]
            });
            numbered.collect()
        })
    })
}

/// A condition over `?1 ?2` of one side and `?4 ?5` of the other.
fn conditions() -> Vec<Expr> {
    let slot = |slot| Box::new(Expr::Slot(Slot(slot)));
    let sum = |a, b| Box::new(Expr::Add(slot(a), slot(b)));
    vec![
        Expr::Less(slot(1), slot(4)),
        Expr::LessOrEqual(slot(4), slot(1)),
        Expr::And(vec![
            Expr::LessOrEqual(slot(4), slot(1)),
            Expr::Less(slot(1), slot(5)),
        ]),
        Expr::And(vec![
            Expr::Less(slot(4), slot(2)),
            Expr::LessOrEqual(slot(1), slot(5)),
            Expr::Less(slot(3), slot(6)),
        ]),
        Expr::And(vec![
            Expr::LessOrEqual(slot(1), slot(4)),
            Expr::LessOrEqual(slot(4), sum(1, 2)),
        ]),
        Expr::And(vec![
            Expr::Less(sum(1, 2), sum(4, 5)),
            Expr::Not(Box::new(Expr::Equal(slot(3), slot(6)))),
        ]),
        Expr::Equal(slot(1), slot(4)),
        Expr::And(vec![
            Expr::Equal(slot(1), slot(4)),
            Expr::Less(slot(5), slot(2)),
        ]),
        Expr::And(vec![
            Expr::Equal(slot(1), slot(4)),
            Expr::Equal(slot(5), slot(2)),
        ]),
        Expr::And(vec![
            Expr::Less(slot(3), slot(6)),
            Expr::Equal(sum(4, 5), sum(1, 2)),
            Expr::LessOrEqual(slot(5), slot(2)),
            Expr::Equal(slot(1), slot(4)),
        ]),
    ]
}

/// Conditions whose terms must be moved to the other side of their operator.
fn unparted_conditions() -> Vec<Expr> {
    let slot = |slot| Box::new(Expr::Slot(Slot(slot)));
    let difference = |a, b| Box::new(Expr::Subtract(slot(a), slot(b)));
    let size = |a, b| Box::new(Expr::Call(Function::Abs, vec![*difference(a, b)]));
    let constant = |text: &str, datatype: NamedNodeRef<'_>| {
        let term = Literal::new_typed_literal(text, datatype).into();
        Box::new(Expr::Constant(Constant { term, id: None }))
    };
    let seconds = |text| constant(text, xsd::DAY_TIME_DURATION);
    vec![
        Expr::Less(difference(1, 4), slot(5)),
        Expr::LessOrEqual(slot(2), difference(4, 1)),
        Expr::LessOrEqual(size(1, 4), constant("2.5", xsd::DECIMAL)),
        Expr::And(vec![
            Expr::Less(size(4, 1), constant("7", xsd::INTEGER)),
            Expr::Less(size(2, 5), constant("0.55e1", xsd::DOUBLE)),
        ]),
        Expr::Less(difference(1, 4), seconds("PT3H")),
        Expr::And(vec![
            Expr::LessOrEqual(difference(1, 4), seconds("PT50M")),
            Expr::Less(seconds("PT0S"), difference(1, 4)),
        ]),
        Expr::Less(
            Box::new(Expr::Add(slot(1), difference(2, 4))),
            constant("0.1", xsd::FLOAT),
        ),
        Expr::Equal(difference(1, 4), constant("1", xsd::INTEGER)),
        Expr::Equal(slot(2), difference(5, 1)),
        Expr::Equal(seconds("PT1H"), difference(4, 1)),
        Expr::And(vec![
            Expr::Equal(Box::new(Expr::Add(slot(4), slot(1))), slot(2)),
            Expr::LessOrEqual(slot(3), slot(6)),
        ]),
    ]
}

/// The join of two sides, by their first column or by none.
pub(super) fn join(sides: [&[Row]; 2], has_key: bool, kind: JoinKind, condition: Expr) -> Node {
    let [left, right] = sides;
    let key = if has_key { 0 } else { 7 };
    let op = Op::HashJoin {
        left: Arc::new(rows_node(left, &[0, 1, 2, 3])),
        right: Arc::new(rows_node(right, &[key, 4, 5, 6])),
        keys: if has_key { vec![Slot(0)] } else { Vec::new() },
        compatible: Vec::new(),
        kind,
        filter: Some(condition),
        build_left: false,
        partners: Vec::new(),
        nearest: None,
    };
    match kind {
        JoinKind::Semi | JoinKind::Anti => node(op, &[0, 1, 2, 3]),
        JoinKind::Inner | JoinKind::LeftOuter => node(op, &[0, 1, 2, 3, 4, 5, 6]),
    }
}

/// The rows of a join in some order, whose partners are put in order if there are so many.
pub(super) fn joined(join: Node, ordered_partners_min: usize, batch_rows: usize) -> Vec<Row> {
    let mut rows = run_with(
        join,
        ExecOptions {
            ordered_partners_min,
            batch_rows,
            ..ExecOptions::default()
        },
    );
    rows.sort_unstable();
    rows
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn partners_in_range_are_those_that_fulfil_the_condition(
        left in rows(60),
        right in rows(600),
        batch_rows in 1..100_usize,
    ) {
        for condition in conditions().into_iter().chain(unparted_conditions()) {
            for (kind, has_key) in KINDS.into_iter().flat_map(|kind| [(kind, true), (kind, false)]) {
                for sides in [[left.as_slice(), &right], [&right, &left]] {
                    let join = join(sides, has_key, kind, condition.clone());
                    let all = joined(join.clone(), usize::MAX, batch_rows);
                    prop_assert_eq!(joined(join, 0, batch_rows), all, "{:?} {:?}", kind, condition);
                }
            }
        }
    }
}

/// Rows of one key that begin one after the other and end some later.
fn intervals(rows: i64, length: i64) -> Vec<Row> {
    let id = |n: i64| TermId::numeric(0, n, 0).expect("it fits").0;
    let row = |n: i64| vec![TermId::resource(7).0, id(n), id(n + length), id(n)];
    (0..rows).map(row).collect()
}

#[test]
fn blocks_that_end_before_are_passed_over() {
    let (points, spans) = (intervals(500, 0), intervals(20_000, 3));
    let condition = || conditions().swap_remove(2);
    let some = joined(
        join([&points, &spans], true, JoinKind::Inner, condition()),
        0,
        64,
    );
    // Of ?4 <= ?1 < ?5 three spans each but for the first two.
    assert_eq!(some.len(), 500 * 3 - 3);
}
