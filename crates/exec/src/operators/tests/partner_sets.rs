//! Joins in sets of partners, compared with the same whose sets are pairs.

use super::ranges::{join, joined, rows};
use super::{Row, node};
use basalt_plan::physical::{
    Aggregate, AggregateFunction, Expr, JoinKind, Node, Op, PartnerAggregate, PartnerFunction, Slot,
};
use basalt_rdf::TermId;
use proptest::prelude::*;
use std::sync::Arc;

/// What is told of the sets of a row of the left side, and the aggregate of these.
const TOLD: [(u16, PartnerFunction, AggregateFunction); 7] = [
    (10, PartnerFunction::Count, AggregateFunction::Sum),
    (11, PartnerFunction::Rows, AggregateFunction::Sum),
    (12, PartnerFunction::Least(Slot(4)), AggregateFunction::Min),
    (
        13,
        PartnerFunction::Greatest(Slot(4)),
        AggregateFunction::Max,
    ),
    (14, PartnerFunction::Sum(Slot(6)), AggregateFunction::Sum),
    (15, PartnerFunction::Least(Slot(6)), AggregateFunction::Min),
    (
        16,
        PartnerFunction::Greatest(Slot(6)),
        AggregateFunction::Max,
    ),
];

/// Conditions that bound `?4`, which is of the right side.
fn conditions() -> Vec<Expr> {
    let slot = |slot| Box::new(Expr::Slot(Slot(slot)));
    let less = |a, b| Expr::Less(slot(a), slot(b));
    let at_most = |a, b| Expr::LessOrEqual(slot(a), slot(b));
    let difference = Box::new(Expr::Subtract(slot(1), slot(4)));
    vec![
        less(1, 4),
        at_most(1, 4),
        less(4, 1),
        at_most(4, 1),
        Expr::And(vec![at_most(1, 4), less(4, 2)]),
        Expr::And(vec![less(1, 4), at_most(4, 2)]),
        Expr::LessOrEqual(difference, slot(2)),
    ]
}

/// A join in sets.
fn join_in_sets(sides: [&[Row]; 2], has_key: bool, kind: JoinKind, condition: Expr) -> Node {
    let mut in_pairs = join(sides, has_key, kind, condition);
    if let Op::HashJoin { partners, .. } = &mut in_pairs.op {
        partners.extend(TOLD.iter().map(|(slot, function, _)| PartnerAggregate {
            slot: Slot(*slot),
            function: *function,
        }));
    }
    node(in_pairs.op, &[0, 1, 2, 3, 10, 11, 12, 13, 14, 15, 16])
}

/// The groups of its rows by the left side's number.
fn groups(join: Node) -> Node {
    let aggregates = TOLD.iter().map(|(slot, _, function)| Aggregate {
        slot: Slot(slot + 10),
        function: function.clone(),
        argument: Some(Expr::Slot(Slot(*slot))),
        distinct: false,
    });
    let op = Op::Group {
        input: Arc::new(join),
        keys: vec![Slot(3)],
        aggregates: aggregates.collect(),
    };
    node(op, &[3, 20, 21, 22, 23, 24, 25, 26])
}

/// The numbers of rows, for which any one may stand where values are equal.
fn without_forms(row: &Row, is_extreme_alike: bool) -> Row {
    match is_extreme_alike {
        true => row.clone(),
        false => [&row[..3], &row[5..]].concat(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn sets_tell_what_their_pairs_tell(
        left in rows(60),
        right in rows(600),
        batch_rows in 1..100_usize,
        are_hashed: bool,
    ) {
        // Keys far from each other do not go by id, so that several may meet.
        let step = if are_hashed { 1_000_003 } else { 1 };
        let far = |rows: Vec<Row>| -> Vec<Row> {
            let key = |id: u64| TermId::resource(TermId(id).payload() * step).0;
            let row = |row: Row| [&[key(row[0])], &row[1..]].concat();
            rows.into_iter().map(row).collect()
        };
        let (left, right) = (far(left), far(right));
        // Of equal values of several types each may be the least or the greatest.
        let integers = |rows: &[Row]| rows.iter().all(|row| row[1] == 0 || TermId(row[1]).is_number() && TermId(row[1]).numeric_datatype() == 0);
        let is_alike = integers(&left) && integers(&right);
        for condition in conditions() {
            for (kind, has_key) in [(JoinKind::Inner, true), (JoinKind::Inner, false), (JoinKind::LeftOuter, true), (JoinKind::LeftOuter, false)] {
                for sides in [[left.as_slice(), &right], [&right, &left]] {
                    let groups = groups(join_in_sets(sides, has_key, kind, condition.clone()));
                    let forms = |rows: Vec<Row>| -> Vec<Row> {
                        rows.iter().map(|row| without_forms(row, is_alike)).collect()
                    };
                    let pairs = forms(joined(groups.clone(), usize::MAX, batch_rows));
                    let sets = forms(joined(groups, 0, batch_rows));
                    prop_assert_eq!(sets, pairs, "{:?} {:?}", kind, condition);
                }
            }
        }
    }
}

#[test]
fn a_row_has_one_set_however_many_partners() {
    let id = |n: i64| TermId::numeric(0, n, 0).expect("it fits").0;
    let row = |n: i64| vec![TermId::resource(7).0, id(n), id(n), id(n)];
    let rows: Vec<Row> = (1..=20_000).map(row).collect();
    let condition = conditions().swap_remove(3);
    let join = join_in_sets([&rows, &rows], true, JoinKind::Inner, condition);
    let sets = joined(join, 0, 4096);
    assert_eq!(sets.len(), rows.len());
    let of_last = sets
        .iter()
        .find(|row| row[3] == id(20_000))
        .expect("it is there");
    assert_eq!(
        of_last[4..],
        [
            id(20_000),
            id(20_000),
            id(1),
            id(20_000),
            id(200_010_000),
            id(1),
            id(20_000)
        ]
    );
}
