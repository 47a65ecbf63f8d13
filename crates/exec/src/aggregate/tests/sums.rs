//! Sums of values of all kinds: parts merged, and parts taken away again, against one pass; aggregates of casts and of columns against the same of one id after the other.

use super::{KEY, VALUE, aggregate, context, number};
use crate::aggregate::Aggregator;
use crate::aggregate::accumulator::Accumulator;
use crate::aggregate::sum::SumState;
use crate::aggregate::sum_states::SumStates;
use crate::batch::Batch;
use crate::context::Context;
use crate::expr::CompiledExpr;
use crate::row_numbers::RowNumbers;
use crate::value::{Number, Reader, Wide, of_units};
use basalt_plan::physical::{Aggregate, AggregateFunction, Constant, Expr};
use basalt_rdf::{TermId, TermView};
use oxrdf::NamedNode;
use proptest::prelude::*;
use spargebra::algebra::Function;
use std::ops::Range;

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
        let ids: Vec<u64> = ids.collect();
        let groups = vec![group as u32; ids.len()];
        states
            .update(&groups, &ids, &mut Reader::new(cx))
            .expect("terms are known");
    }
    states
}

/// Sum and average of each group.
fn results(states: SumStates, cx: &Context) -> Batch {
    let functions = [AggregateFunction::Sum, AggregateFunction::Avg];
    let columns = functions.map(|function| {
        let results = states.results(&function, cx).expect("nobody stops it");
        results.into_ids(cx)
    });
    let rows = columns[0].len();
    Batch::from_vectors(columns.into(), rows)
}

/// Those of some groups, as text.
fn shown(states: SumStates, groups: Range<usize>, cx: &Context) -> Vec<Vec<String>> {
    terms(&results(states, cx), cx)[groups].to_vec()
}

/// The terms of all rows with their types.
fn terms(batch: &Batch, cx: &Context) -> Vec<Vec<String>> {
    let text = |id: u64| match id {
        0 => "-".to_owned(),
        id => cx
            .terms()
            .term(TermId(id))
            .expect("the id is known")
            .to_string(),
    };
    let row = |row| batch.slices().iter().map(|ids| text(ids[row])).collect();
    (0..batch.rows()).map(row).collect()
}

/// All aggregates that read numbers, and one that does not, of an argument.
fn aggregates_of(argument: &Expr) -> Vec<Aggregate> {
    use AggregateFunction::{Avg, Count, Max, Min, Sample, Sum};
    let of = |function| Aggregate {
        argument: Some(argument.clone()),
        ..aggregate(function, false)
    };
    [Sum, Count, Min, Avg, Max, Sample].map(of).into()
}

/// What they give for the ids of rows one after the other, by group.
fn one_by_one(groups: &[u32], ids: &[u64], cx: &Context) -> Batch {
    let count = groups.iter().max().map_or(0, |&group| group as usize + 1);
    let of = |aggregate: &Aggregate| {
        let mut states = Accumulator::new(&aggregate.function);
        states.resize(count);
        states.update(groups, ids, cx).expect("terms are known");
        let results = states.finish(&[(0, aggregate.function.clone())], cx);
        let mut results = results.expect("there is nothing in files");
        results.swap_remove(0).1.into_ids(cx)
    };
    let columns = aggregates_of(&Expr::Slot(VALUE)).iter().map(of).collect();
    Batch::from_vectors(columns, count)
}

fn constant(integer: i64) -> Expr {
    Expr::Constant(Constant {
        term: oxrdf::Literal::from(integer).into(),
        id: None,
    })
}

/// Numbers of which hardly one needs more than its id to be cast, also of a datatype that is none to SPARQL, and now and then something else.
fn cast_literal() -> impl Strategy<Value = Literal> {
    let price = (-60_000_000_i64..60_000_000, 0..6_usize)
        .prop_map(|(units, digits)| (format!("{:.digits$}", units as f64 / 1e4), "price"));
    prop_oneof![30 => price, 1 => literal()]
}

proptest! {
    #[test]
    fn aggregates_of_columns_are_those_of_one_id_after_the_other(
        rows in prop::collection::vec((0..3_u64, cast_literal()), 0..40),
        name in prop::sample::select(vec!["float", "double", "decimal"]),
        of in 0..7_u8,
        step in 1..41_usize,
    ) {
        let cx = context();
        let id = |(text, name): &Literal| match *name {
            "price" if of == 6 => number(text, "decimal", &cx),
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
            1 | 3.. => Expr::Call(Function::Str, vec![Expr::Slot(VALUE)]),
            _ => Expr::Call(xsd("string"), vec![Expr::Slot(VALUE)]),
        };
        let mut cast = Expr::Call(xsd(name), vec![text]);
        if of >= 3 {
            // More digits than a word has.
            cast = Expr::Divide(Box::new(cast), Box::new(constant(7)));
        }
        if of == 4 {
            // More than a decimal of 128 bits has.
            cast = Expr::Multiply(Box::new(cast.clone()), Box::new(cast));
        }
        if of == 5 {
            // Integers beside others.
            let key = Expr::Call(xsd("boolean"), vec![Expr::Slot(KEY)]);
            cast = Expr::If(Box::new(key), Box::new(cast), Box::new(constant(1)));
        }
        if of == 6 {
            // Such decimals beside doubles.
            let part = Expr::Divide(Box::new(Expr::Slot(VALUE)), Box::new(constant(7)));
            cast = Expr::Multiply(Box::new(part.clone()), Box::new(part));
        }
        let batch = Batch::from_vectors(vec![keys.clone(), values], rows.len());
        let compiled = CompiledExpr::compile(&cast, &[KEY, VALUE], &cx).expect("compiles");
        let ids = compiled.evaluate(&batch, &cx).expect("runs");
        let mut numbers = RowNumbers::new(1);
        let groups: Vec<u32> = keys.iter().map(|&key| numbers.number_of(&[key])).collect();
        let expected = terms(&one_by_one(&groups, &ids, &cx), &cx);
        let given = Batch::from_vectors(vec![keys, ids], rows.len());
        let result = |argument: &Expr, batch: &Batch| {
            let aggregates = aggregates_of(argument);
            let mut aggregator = Aggregator::new(&aggregates, &[KEY], &[KEY, VALUE], &cx).expect("compiles");
            for start in (0..batch.rows()).step_by(step) {
                let rows = batch.slice(start, step.min(batch.rows() - start));
                aggregator.update(&rows, &cx).expect("memory suffices");
            }
            let groups = aggregator.finish(&cx).expect("finishes");
            let columns: Vec<Option<usize>> = (1..groups.width()).map(Some).collect();
            terms(&groups.select_columns(&columns), &cx)
        };
        prop_assert_eq!(&result(&cast, &batch), &expected);
        prop_assert_eq!(&result(&Expr::Slot(VALUE), &given), &expected);
    }

    #[test]
    fn parts_are_merged_and_taken_away(
        first in prop::collection::vec(literal(), 0..12),
        second in prop::collection::vec(literal(), 0..12),
    ) {
        let cx = context();
        let both = [first.as_slice(), &second].concat();
        let expected = shown(states(&[&both, &first, &second], &cx), 0..3, &cx);
        let mut merged = states(&[&second, &[], &first], &cx);
        merged.merge(&states(&[&first, &first], &cx), [(0, 0), (1, 1)].into_iter());
        prop_assert_eq!(&shown(merged, 0..2, &cx), &expected[..2]);
        let mut left = states(&[&both], &cx).repeated(2);
        left.subtract(&states(&[&first, &second], &cx), [(0, 1), (1, 0)].into_iter());
        prop_assert_eq!(&shown(left, 0..2, &cx), &expected[1..]);
    }
}

/// A sum of products of decimals, given in units.
fn sum_of_products(factors: &[(i128, i128)]) -> SumState {
    let mut state = SumState::default();
    for &(a, b) in factors {
        state.add_products(Wide::product(a, b), 1);
    }
    state
}

/// The text and the type of a sum.
fn told(sum: Option<Number>) -> Option<(String, &'static str)> {
    sum.map(|sum| sum.to_text())
}

proptest! {
    #[test]
    fn long_products_are_added_merged_and_taken_away(
        factors in prop::collection::vec((any::<i128>(), any::<i128>(), 0..120_u32), 1..12),
        part in 0..12_usize,
    ) {
        // Some of these sums are too long for 256 bits.
        let extremes = [i128::MIN, i128::MAX];
        let factors = factors.iter().map(|&(a, b, shift)| match shift {
            0..20 => (extremes[usize::from(a > 0)], extremes[usize::from(b > 0)]),
            _ => (a >> shift, b >> (shift / 2)),
        });
        let factors: Vec<(i128, i128)> = factors.collect();
        let (first, second) = factors.split_at(part.min(factors.len()));
        let number = |units| Number::Decimal(of_units(units));
        let expected = factors.iter().try_fold(number(0), |sum, &(a, b)| {
            sum.checked_add(&number(a).checked_multiply(&number(b))?)
        });
        prop_assert_eq!(told(sum_of_products(&factors).sum()), told(expected));
        let mut merged = sum_of_products(first);
        merged.merge(&sum_of_products(second));
        prop_assert_eq!(told(merged.sum()), told(sum_of_products(&factors).sum()));
        merged.subtract(&sum_of_products(first));
        merged.add_units(0, 1);
        let mut rest = sum_of_products(second);
        rest.add_units(0, 1);
        prop_assert_eq!(told(merged.sum()), told(rest.sum()));
        prop_assert_eq!(told(merged.average()), told(rest.average()));
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
