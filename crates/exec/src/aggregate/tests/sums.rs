//! Sums of values of all kinds: parts merged, and parts taken away again, against one pass; sums of casts against sums of what they give.

use super::{KEY, VALUE, aggregate, context, number, show};
use crate::aggregate::Aggregator;
use crate::aggregate::sum::SumStates;
use crate::batch::Batch;
use crate::context::Context;
use crate::expr::CompiledExpr;
use crate::value::{Number, Reader};
use basalt_plan::physical::{Aggregate, AggregateFunction, Expr};
use basalt_rdf::TermView;
use oxrdf::NamedNode;
use proptest::prelude::*;
use spargebra::algebra::Function;

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

/// SUM and AVG of an argument.
fn sum_and_average(argument: &Expr) -> Vec<Aggregate> {
    let of = |function| Aggregate {
        argument: Some(argument.clone()),
        ..aggregate(function, false)
    };
    vec![of(AggregateFunction::Sum), of(AggregateFunction::Avg)]
}

/// Numbers of which hardly one needs more than its id to be cast, also of a datatype that is none to SPARQL, and now and then something else.
fn cast_literal() -> impl Strategy<Value = Literal> {
    let price = (-60_000_000_i64..60_000_000, 0..6_usize)
        .prop_map(|(units, digits)| (format!("{:.digits$}", units as f64 / 1e4), "price"));
    prop_oneof![30 => price, 1 => literal()]
}

proptest! {
    #[test]
    fn sums_of_casts_are_sums_of_what_they_give(
        rows in prop::collection::vec((0..3_u64, cast_literal()), 0..40),
        name in prop::sample::select(vec!["float", "double", "decimal"]),
        of in 0..3_u8,
    ) {
        let cx = context();
        let id = |(text, name): &Literal| match *name {
            "price" => cx.terms().intern(TermView::typed(text, "http://e/currency")).0,
            name => number(text, name, &cx),
        };
        let keys: Vec<u64> = rows.iter().map(|(key, _)| number(&key.to_string(), "integer", &cx)).collect();
        let values: Vec<u64> = rows.iter().map(|(_, literal)| id(literal)).collect();
        let xsd = |name: &str| {
            let iri = format!("http://www.w3.org/2001/XMLSchema#{name}");
            Function::Custom(NamedNode::new_unchecked(iri))
        };
        let text = match of {
            0 => Expr::Slot(VALUE),
            1 => Expr::Call(Function::Str, vec![Expr::Slot(VALUE)]),
            _ => Expr::Call(xsd("string"), vec![Expr::Slot(VALUE)]),
        };
        let cast = Expr::Call(xsd(name), vec![text]);
        let batch = Batch::from_vectors(vec![keys.clone(), values], rows.len());
        let compiled = CompiledExpr::compile(&cast, &[KEY, VALUE], &cx).expect("compiles");
        prop_assert_eq!(compiled.floating_cast().is_some(), name != "decimal");
        let ids = compiled.evaluate(&batch, &cx).expect("runs");
        let given = Batch::from_vectors(vec![keys, ids], rows.len());
        let result = |argument: &Expr, batch: &Batch| {
            let aggregates = sum_and_average(argument);
            let mut aggregator = Aggregator::new(&aggregates, &[KEY], &[KEY, VALUE], &cx).expect("compiles");
            aggregator.update(batch, &cx).expect("memory suffices");
            show(&aggregator.finish(&cx).expect("finishes"), &cx)
        };
        prop_assert_eq!(result(&cast, &batch), result(&Expr::Slot(VALUE), &given));
    }

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
