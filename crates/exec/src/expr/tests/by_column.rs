//! Expressions over whole columns against the same row by row: by value, tests of texts, lists, integers, and parts of texts.

use super::{context, evaluate, fast_paths, id_of, parse};
use crate::batch::Batch;
use crate::expr::CompiledExpr;
use crate::expr::text_test::INLINE_BYTES;
use crate::value::Reader;
use basalt_plan::physical::Slot;
use basalt_rdf::TermId;
use basalt_rdf::inline::encode_boolean;
use proptest::prelude::*;

/// Expressions of one column, and of two with parts of one.
const EXPRESSIONS: [&str; 36] = [
    "YEAR(?a)",
    "?a + 1",
    "?a * 2 - ?a",
    "-?a",
    "?a / 3",
    "IF(?a < 4, 1, ?a)",
    "COALESCE(?a / 3, \"x\")",
    "?a IN (1, 2.0, \"a\")",
    "CONCAT(STR(?a), \"x\")",
    "CONTAINS(STR(?a), \"1\")",
    "STRSTARTS(?a, \"a\")",
    "REGEX(STR(?a), \"[13]$\")",
    "SUBSTR(STR(?a), 2, 1)",
    "LCASE(?a)",
    "(?a / 3) + ?b",
    "CONCAT(STR(?a + 1), STR(?b))",
    "!(?a + ?b > 3 || YEAR(?a) = 2000)",
    "IF(BOUND(?a), ?b, ?a + 2)",
    "LCASE(LANG(?a))",
    "CONCAT(xsd:string(?a), xsd:string(?b))",
    "CONCAT(LANG(?a), STR(DATATYPE(?a)))",
    "CONCAT(UCASE(LANG(?a)), ?a)",
    "STRLEN(STR(DATATYPE(?a)))",
    "STR(?a) < STR(?b)",
    "UCASE(STR(?a)) = STR(?b)",
    "STR(?a) >= ?b",
    "STRBEFORE(STR(?a), SUBSTR(STR(?b), 1, 1))",
    "STRAFTER(?a, ?b)",
    "REPLACE(STR(?a), \"[ab]\", STR(?b))",
    "CONCAT(?a, ?b, ?a)",
    "REGEX(STR(?a), \"1\") && isNUMERIC(?a)",
    "isIRI(?a) || isLITERAL(?b) && LANG(?a) != \"en\"",
    "IF(isBLANK(?a), STRLEN(STR(?b)), ENCODE_FOR_URI(STR(?a)))",
    "?a - ?b",
    "?a + xsd:dayTimeDuration(\"P1D\") < ?b",
    "STRLANG(STR(?a), \"de\") = STRLANG(STR(?b), \"DE\")",
];

/// Rows that are more than a batch needs for tables, of few values or of many.
fn columns() -> impl Strategy<Value = (Vec<String>, Vec<usize>, Vec<usize>)> {
    let values = prop::collection::vec(fast_paths::literal(), 1..40);
    let rows = || prop::collection::vec(0_usize..1000, 300);
    (values, rows(), rows())
}

/// Literals of every tag that tells a value, in their longest forms.
const INLINE: [&str; 12] = [
    "true",
    "false",
    "-12",
    "12.5",
    "-1.5e-7",
    "\"-7\"^^xsd:byte",
    "\"2020-01-31-05:00\"^^xsd:date",
    "\"2020-01-31T23:59:59.125Z\"^^xsd:dateTime",
    "\"2020-01-31T23:59:59.123456Z\"^^xsd:dateTime",
    "\"23:59:59Z\"^^xsd:time",
    "\"-P1DT2H3M4.5S\"^^xsd:dayTimeDuration",
    "\"2020-01\"^^xsd:gYearMonth",
];

/// Checks that a literal whose id tells its value is written with known bytes; whether it is one.
fn has_known_bytes(text: &str) -> bool {
    let cx = context();
    let id = id_of(text, &cx);
    let is_inline = TermId(id).is_inline();
    let mut reader = Reader::new(&cx);
    let text = reader.text(id).expect("it is read").unwrap_or_default();
    let is_known = |byte: u8| INLINE_BYTES.contains(&byte);
    assert!(!is_inline || text.bytes().all(is_known), "{text}");
    is_inline
}

#[test]
fn literals_whose_ids_tell_their_values_have_known_bytes() {
    assert!(INLINE.iter().all(|text| has_known_bytes(text)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn random_literals_have_known_bytes(texts in prop::collection::vec(fast_paths::literal(), 100)) {
        for text in texts {
            has_known_bytes(&text);
        }
    }

    #[test]
    fn columns_have_what_their_rows_have((values, a, b) in columns()) {
        let cx = context();
        let mut ids: Vec<u64> = values.iter().map(|text| id_of(text, &cx)).collect();
        // And what is unbound.
        ids.push(0);
        let [a, b] = [a, b].map(|rows| rows.iter().map(|row| ids[row % ids.len()]).collect::<Vec<u64>>());
        for text in EXPRESSIONS {
            let compiled = CompiledExpr::compile(&parse(text), &[Slot(0), Slot(1)], &cx).expect("compiles");
            let batch = |a: &[u64], b: &[u64]| Batch::from_vectors(vec![a.to_vec(), b.to_vec()], a.len());
            let rows = a.iter().zip(&b).map(|(&a, &b)| {
                compiled.evaluate(&batch(&[a], &[b]), &cx).expect("evaluates")[0]
            });
            let expected: Vec<u64> = rows.collect();
            // The second time values are known, and the third they come in another order.
            for _ in 0..2 {
                prop_assert_eq!(&compiled.evaluate(&batch(&a, &b), &cx).expect("evaluates"), &expected, "{}", text);
            }
            let [a, b, expected] = [&a, &b, &expected].map(|ids| ids.iter().rev().copied().collect::<Vec<u64>>());
            prop_assert_eq!(compiled.evaluate(&batch(&a, &b), &cx).expect("evaluates"), expected, "{}", text);
            let selected = compiled.select(&batch(&a, &b), &cx).expect("selects");
            let by_row = (0..a.len()).filter(|&row| {
                !compiled.select(&batch(&a[row..=row], &b[row..=row]), &cx).expect("selects").is_empty()
            });
            prop_assert_eq!(selected, by_row.map(|row| row as u32).collect::<Vec<u32>>(), "{}", text);
        }
    }

    #[test]
    fn tests_of_texts_are_calls(text in fast_paths::literal(), part in "[ab1é]{0,2}") {
        let cx = context();
        let column = vec![id_of(&text, &cx)];
        let quoted = format!("\"{part}\"");
        let parts = vec![id_of(&quoted, &cx)];
        for op in ["=", "!=", "<", "<=", ">", ">="] {
            for (left, right) in [("STR(?a)", "{}"), ("{}", "STR(?a)")] {
                let of = |other: &str| format!("{} {op} {}", left.replace("{}", other), right.replace("{}", other));
                let tested = evaluate(&of(&quoted), vec![column.clone()], &cx);
                let compared = evaluate(&of("?b"), vec![column.clone(), parts.clone()], &cx);
                prop_assert_eq!(tested, compared, "{} of {}", of(&quoted), text);
            }
        }
        for name in ["CONTAINS", "STRSTARTS", "STRENDS"] {
            for of in ["?a", "STR(?a)"] {
                let tested = evaluate(&format!("{name}({of}, {quoted})"), vec![column.clone()], &cx);
                let called = evaluate(&format!("{name}({of}, ?b)"), vec![column.clone(), parts.clone()], &cx);
                prop_assert_eq!(tested, called, "{}({} of {}, {})", name, of, text, part);
            }
        }
    }

    #[test]
    fn in_a_list_is_equal_to_one_of_it(
        rows in prop::collection::vec(fast_paths::literal(), 1..8),
        list in prop::collection::vec(fast_paths::literal(), 1..7),
    ) {
        let cx = context();
        let mut column: Vec<u64> = rows.iter().map(|text| id_of(text, &cx)).collect();
        column.push(0);
        let in_list = format!("IN ({})", list.join(", "));
        let equal = |of: &str| {
            let tests = list.iter().map(|constant| format!("{of} = {constant}"));
            tests.collect::<Vec<String>>().join(" || ")
        };
        // Of a column, and of what is computed.
        for of in ["?a", "(?a / 2)", "STR(?a)"] {
            let given = evaluate(&format!("{of} {in_list}"), vec![column.clone()], &cx);
            let expected = evaluate(&equal(of), vec![column.clone()], &cx);
            prop_assert_eq!(given, expected, "{} of {:?} {}", of, rows, in_list);
        }
    }

    /// Of one type, so that ids tell; few constants and many.
    #[test]
    fn in_a_list_of_one_type_is_equal_to_one_of_it(
        rows in prop::collection::vec(0_u8..40, 1..30),
        list in prop::collection::vec(0_u8..40, 1..14),
        kind in 0_usize..6,
    ) {
        let cx = context();
        let text = |n: &u8| match kind {
            4 => format!("\"2000-01-01T00:00:00.0{n:02}\"^^xsd:dateTime"),
            5 => format!("\"2000-01-01T00:00:00.{}\"^^xsd:dateTime", ["000", "000000"][usize::from(*n % 2)]),
            0 => format!("\"{n}\"^^xsd:integer"),
            1 => format!("\"{}.5\"^^xsd:decimal", n),
            2 => format!("\"2000-01-01T00:{n:02}:00Z\"^^xsd:dateTime"),
            _ => format!("<http://e/{n}>"),
        };
        let column: Vec<u64> = rows.iter().map(|n| id_of(&text(n), &cx)).collect();
        let constants: Vec<String> = list.iter().map(text).collect();
        let given = evaluate(&format!("?a IN ({})", constants.join(", ")), vec![column], &cx);
        let expected: Vec<u64> = rows.iter().map(|n| encode_boolean(kind == 5 || list.contains(n)).0).collect();
        prop_assert_eq!(given, expected);
    }

    #[test]
    fn integers_are_exact(a in -(1_i64 << 51) + 1..1 << 51, b in -(1_i64 << 51) + 1..1 << 51, shift in 0..50) {
        let cx = context();
        let (a, b) = (a, b >> shift);
        let column = |value| vec![TermId::numeric(0, value, 0).expect("fits").0];
        let (x, y) = (i128::from(a), i128::from(b));
        for (operator, result) in [("+", x + y), ("-", x - y), ("*", x * y)] {
            let given = evaluate(&format!("?a {operator} ?b"), vec![column(a), column(b)], &cx);
            let expected = id_of(&format!("\"{result}\"^^xsd:integer"), &cx);
            prop_assert_eq!(given[0], expected, "{} {} {}", a, operator, b);
        }
    }

    #[test]
    fn parts_of_texts_are_counted_in_characters(text in "[aé漢]{0,6}", start in -3_i64..9, length in -2_i64..9) {
        let cx = context();
        let of = |kept: &dyn Fn(i64) -> bool| {
            let characters = text.chars().zip(1..).filter(|(_, at)| kept(*at));
            id_of(&format!("\"{}\"", characters.map(|(c, _)| c).collect::<String>()), &cx)
        };
        let column = vec![id_of(&format!("\"{text}\""), &cx)];
        let rest = evaluate(&format!("SUBSTR(?a, {start})"), vec![column.clone()], &cx);
        prop_assert_eq!(rest[0], of(&|at| at >= start));
        let part = evaluate(&format!("SUBSTR(?a, {start}, {length})"), vec![column], &cx);
        prop_assert_eq!(part[0], of(&|at| at >= start && at < start + length));
    }
}
