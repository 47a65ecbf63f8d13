//! What counts as the same answer and what does not.

use super::{Numbers, compare, compare_ordered, compare_sliced};
use crate::dataset::Answer;
use oxrdf::vocab::xsd;
use oxrdf::{BlankNode, Literal, Term};

fn blank(label: &str) -> Option<Term> {
    Some(BlankNode::new_unchecked(label).into())
}

fn integer(text: &str) -> Option<Term> {
    Some(Literal::new_typed_literal(text, xsd::INTEGER).into())
}

fn table(rows: Vec<Vec<Option<Term>>>) -> Answer {
    let width = rows.first().map_or(0, Vec::len);
    Answer::Solutions {
        variables: (0..width).map(|i| format!("v{i}")).collect(),
        rows,
    }
}

#[test]
fn rows_are_a_multiset() {
    let twice = table(vec![
        vec![integer("1")],
        vec![integer("2")],
        vec![integer("1")],
    ]);
    let reordered = table(vec![
        vec![integer("2")],
        vec![integer("1")],
        vec![integer("1")],
    ]);
    let once = table(vec![
        vec![integer("2")],
        vec![integer("2")],
        vec![integer("1")],
    ]);
    assert_eq!(compare(&twice, &reordered, Numbers::Exact), Ok(()));
    assert!(compare(&twice, &once, Numbers::Exact).is_err());
    assert!(compare_ordered(&twice, &reordered, Numbers::Exact).is_err());
    assert_eq!(compare_ordered(&twice, &twice, Numbers::Exact), Ok(()));
}

#[test]
fn blank_labels_do_not_matter_but_their_structure_does() {
    let chain = table(vec![
        vec![blank("a"), blank("b")],
        vec![blank("b"), blank("c")],
    ]);
    let renamed = table(vec![
        vec![blank("y"), blank("z")],
        vec![blank("x"), blank("y")],
    ]);
    let fork = table(vec![
        vec![blank("x"), blank("y")],
        vec![blank("x"), blank("z")],
    ]);
    assert_eq!(compare(&chain, &renamed, Numbers::Exact), Ok(()));
    assert!(compare(&chain, &fork, Numbers::Exact).is_err());
}

#[test]
fn numbers_by_value_or_exactly() {
    let plain = table(vec![vec![integer("1")]]);
    let padded = table(vec![vec![integer("01")]]);
    assert!(compare(&plain, &padded, Numbers::Exact).is_err());
    assert_eq!(compare(&plain, &padded, Numbers::ByValue), Ok(()));
    let decimal = table(vec![vec![Some(
        Literal::new_typed_literal("1", xsd::DECIMAL).into(),
    )]]);
    assert!(compare(&plain, &decimal, Numbers::ByValue).is_err());
}

#[test]
fn columns_are_matched_by_name() {
    let answer = |names: [&str; 2], values: [&str; 2]| Answer::Solutions {
        variables: names.iter().map(|n| (*n).to_owned()).collect(),
        rows: vec![values.iter().map(|v| integer(v)).collect()],
    };
    let left = answer(["a", "b"], ["1", "2"]);
    assert_eq!(
        compare(&left, &answer(["b", "a"], ["2", "1"]), Numbers::Exact),
        Ok(())
    );
    assert!(compare(&left, &answer(["b", "a"], ["1", "2"]), Numbers::Exact).is_err());
    assert!(compare(&left, &answer(["a", "c"], ["1", "2"]), Numbers::Exact).is_err());
}

#[test]
fn a_slice_has_the_right_size_and_only_rows_of_the_whole() {
    let rows = |texts: &[&str]| table(texts.iter().map(|t| vec![integer(t)]).collect());
    let whole = rows(&["1", "2", "2", "3"]);
    let check =
        |part: &Answer, offset, limit| compare_sliced(&whole, part, offset, limit, Numbers::Exact);
    assert_eq!(check(&rows(&["2", "2"]), 0, Some(2)), Ok(()));
    assert_eq!(check(&rows(&["3"]), 3, None), Ok(()));
    assert!(check(&rows(&["1", "1"]), 0, Some(2)).is_err());
    assert!(check(&rows(&["1"]), 0, Some(2)).is_err());
}
