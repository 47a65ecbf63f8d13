//! Sums of values of all kinds: parts merged, and parts taken away again, against one pass.

use super::{context, number};
use crate::aggregate::sum::SumStates;
use crate::context::Context;
use crate::value::{Number, Reader};
use proptest::prelude::*;

/// A literal: its text, and the local name of its type.
type Literal = (String, &'static str);

/// Numbers of each type, inline and not, what is no finite number, and what is none at all.
fn literal() -> impl Strategy<Value = Literal> {
    let name = prop::sample::select(vec!["integer", "decimal", "float", "double", "int"]);
    let small = (name, -2_000_i32..2_000, 0..3_usize).prop_map(|(name, units, digits)| {
        let text = match name {
            "integer" | "int" => units.to_string(),
            _ => format!("{:.digits$}", f64::from(units) / 100.0),
        };
        (text, name)
    });
    let odd = prop::sample::select(vec![
        ("9223372036854775807", "integer"),
        ("-9223372036854775807", "integer"),
        ("123456789012345678901234567890", "integer"),
        ("0.1234567890123456789012", "decimal"),
        ("1e30", "double"),
        ("1E-30", "float"),
        ("1.5E0", "float"),
        ("NaN", "double"),
        ("INF", "float"),
        ("-INF", "double"),
        ("x", "integer"),
        ("2000-01-01", "date"),
    ])
    .prop_map(|(text, name)| (text.to_owned(), name));
    prop_oneof![9 => small, 1 => odd]
}

/// The states of groups made of these literals.
fn states(groups: &[&[Literal]], cx: &Context) -> SumStates {
    let mut states = SumStates::default();
    states.resize(groups.len());
    for (group, literals) in groups.iter().enumerate() {
        let ids = literals.iter().map(|(text, name)| number(text, name, cx));
        let rows = ids.map(|id| (group, id));
        states
            .update(rows, &mut Reader::new(cx))
            .expect("terms are known");
    }
    states
}

/// Sum and average of each group as text and type.
fn results(states: SumStates) -> Vec<[Option<(String, &'static str)>; 2]> {
    let text = |number: Option<Number>| number.map(|number| number.to_text());
    states
        .into_states()
        .into_iter()
        .map(|state| [text(state.clone().sum()), text(state.average())])
        .collect()
}

proptest! {
    #[test]
    fn parts_are_merged_and_taken_away(
        first in prop::collection::vec(literal(), 0..12),
        second in prop::collection::vec(literal(), 0..12),
    ) {
        let cx = context();
        let both = [first.as_slice(), &second].concat();
        let expected = results(states(&[&both, &first, &second], &cx));
        let mut merged = states(&[&second, &[], &first], &cx);
        merged.merge(&states(&[&first, &first], &cx), [(0, 0), (1, 1)].into_iter());
        prop_assert_eq!(&results(merged)[..2], &expected[..2]);
        let mut left = states(&[&both], &cx).repeated(2);
        left.subtract(&states(&[&first, &second], &cx), [(0, 1), (1, 0)].into_iter());
        prop_assert_eq!(results(left), &expected[1..]);
    }
}

#[test]
fn rare_sums_count_their_memory() {
    let cx = context();
    let literal = |text: &str, name| vec![(text.to_owned(), name)];
    let (plain, rare) = (literal("1.5", "float"), literal("1.5", "decimal"));
    let bytes = |literals: &[Literal]| states(&[literals], &cx).bytes();
    assert!(bytes(&rare) > bytes(&plain), "a rare sum takes more");
    let mut merged = states(&[&plain], &cx);
    merged.merge(&states(&[&rare], &cx), std::iter::once((0, 0)));
    assert_eq!(merged.bytes(), bytes(&rare));
}
