//! Columns of several types computed with by kind against each row alone.

use super::fast_paths::literal;
use super::{context, evaluate, id_of, show};
use proptest::prelude::*;

const EXPRESSIONS: [&str; 16] = [
    "?a + ?b",
    "?a * ?a",
    "-?a",
    "?a < ?b",
    "?a = ?b",
    "?a - ?b < 3",
    "?b - ?a >= \"PT1H\"^^xsd:dayTimeDuration",
    "ROUND(?a) + ?b",
    "ABS(?a) / 2",
    "xsd:integer(?a * 2)",
    "xsd:integer(?a)",
    "xsd:double(?a + 1)",
    "IF(?a > 1, ?a * 2, ?b + 1)",
    "COALESCE(?a + ?b, ?b * 2, ?a)",
    "FLOOR(?a * 2) = 4",
    "(?a + 1) * (?b - 0.5) < ?a",
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn rows_of_several_types_are_as_each_alone(
        rows in prop::collection::vec((literal(), literal()), 1..40),
        expression in prop::sample::select(EXPRESSIONS.to_vec()),
    ) {
        let cx = context();
        let ids = |of: fn(&(String, String)) -> &String| -> Vec<u64> {
            rows.iter().map(|row| id_of(of(row), &cx)).collect()
        };
        let (a, b) = (ids(|row| &row.0), ids(|row| &row.1));
        let all = evaluate(expression, vec![a.clone(), b.clone()], &cx);
        for (row, &id) in all.iter().enumerate() {
            let alone = evaluate(expression, vec![vec![a[row]], vec![b[row]]], &cx);
            prop_assert_eq!(show(id, &cx), show(alone[0], &cx), "{} {:?}", expression, rows[row]);
        }
    }
}
