//! IF, COALESCE, `||` and `&&` of columns against what their parts give, row by row; and what follows on them.

use super::super::blended::blended;
use super::super::number_values::Values;
use super::super::numbers::Numbers;
use super::super::vector::{Truth, Vector};
use super::numbers::{column, ids};
use super::{context, evaluate};
use basalt_rdf::inline::encode_boolean;
use proptest::prelude::*;
use std::borrow::Cow;

/// What expressions are made of: columns, casts, constants, and what is not light.
const PARTS: [&str; 9] = [
    "?a",
    "?c",
    "0",
    "2.5",
    "'word'",
    "xsd:decimal(STR(?b))",
    "xsd:double(?c)",
    "?a / 3",
    "IF(?b > 0, ?a, 1)",
];
const CONDITIONS: [&str; 5] = [
    "?a < ?b",
    "?c > 1",
    "xsd:decimal(STR(?a)) <= 2.5",
    "BOUND(?b)",
    "STRLEN(STR(?c)) > 3",
];
/// What is made of the result, `?d`.
const USES: [&str; 6] = [
    "?d",
    "(?d + ?a) * 2",
    "?d > ?a",
    "FLOOR(?d)",
    "?d / 3",
    "-?d - ?d",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn what_is_chosen_is_what_the_parts_give(
        columns in prop::collection::vec(column(), 3),
        parts in prop::collection::vec(prop::sample::select(&PARTS[..]), 2),
        conditions in prop::collection::vec(prop::sample::select(&CONDITIONS[..]), 2),
        kind in 0..4_u8,
        used in prop::sample::select(&USES[..]),
    ) {
        let cx = context();
        let columns: Vec<Vec<u64>> = columns.iter().map(|column| ids(column, &cx)).collect();
        let of = |text: &str| evaluate(text, columns.clone(), &cx);
        let (yes, no) = (encode_boolean(true).0, encode_boolean(false).0);
        let [x, y] = [of(parts[0]), of(parts[1])];
        let [p, q] = [of(conditions[0]), of(conditions[1])];
        let (first, second) = (parts[0], parts[1]);
        let (text, expected): (String, Vec<u64>) = match kind {
            0 => {
                let row = |row: usize| match p[row] {
                    id if id == yes => x[row],
                    id if id == no => y[row],
                    _ => 0,
                };
                (format!("IF({}, {first}, {second})", conditions[0]), (0..p.len()).map(row).collect())
            }
            1 => {
                let row = |row: usize| if x[row] == 0 { y[row] } else { x[row] };
                (format!("COALESCE({first}, {second})"), (0..x.len()).map(row).collect())
            }
            _ => {
                let (decisive, sign) = if kind == 2 { (yes, "||") } else { (no, "&&") };
                let other = if decisive == yes { no } else { yes };
                let row = |row: usize| match (p[row], q[row]) {
                    (p, q) if p == decisive || q == decisive => decisive,
                    (p, q) if p == other && q == other => other,
                    _ => 0,
                };
                (format!("({} {sign} {})", conditions[0], conditions[1]), (0..p.len()).map(row).collect())
            }
        };
        let found = evaluate(&used.replace("?d", &text), columns.clone(), &cx);
        let with_ids = [columns.clone(), vec![expected]].concat();
        prop_assert_eq!(found, evaluate(used, with_ids, &cx), "{} of {}", used, text);
    }
}

#[test]
fn columns_of_each_kind_give_the_numbers_of_their_rows() {
    let cx = context();
    let kinds = [
        Values::Exact {
            mantissas: vec![10, -20, 30],
            scale: 0,
            is_decimal: false,
        },
        Values::Exact {
            mantissas: vec![15, 25, -35],
            scale: 1,
            is_decimal: true,
        },
        Values::Mixed {
            mantissas: vec![100, 125, 200],
            scale: 2,
            are_decimals: vec![false, true, false],
        },
        Values::Units(vec![1, 3_333_333_333_333_333_333, -(1 << 90)]),
        Values::Floating {
            values: vec![0.1, -2.5, 1e300],
            is_float: false,
        },
    ];
    let truths = [Truth::True, Truth::False, Truth::Error];
    for (a, b) in kinds.iter().flat_map(|a| kinds.iter().map(move |b| (a, b))) {
        let [a, b] = [a, b].map(|values| Numbers::new(values.clone(), Vec::new()));
        let expected = [a.ids(&cx)[0], b.ids(&cx)[1], 0];
        let [a, b] = [a, b].map(|numbers| Vector::Numbers(Cow::Owned(numbers)));
        if let Some(both) = blended(&truths, &a, &b) {
            assert_eq!(both.into_ids(3, &cx), expected);
        }
        // The other rows of both.
        let others = [Truth::False, Truth::Error, Truth::True];
        let expected = [b.get(0).id(&cx), 0, a.get(2).id(&cx)];
        if let Some(both) = blended(&others, &a, &b) {
            assert_eq!(both.into_ids(3, &cx), expected);
        }
    }
}
