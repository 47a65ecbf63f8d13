//! Tests of aggregates: each function against hand-computed results, and merged parts against one pass.

use super::Aggregator;
use crate::batch::Batch;
use crate::context::{Context, ExecOptions};
use crate::error::ExecError;
use basalt_plan::physical::{Aggregate, AggregateFunction, Expr, Slot};
use basalt_rdf::{TermId, TermView};
use basalt_store::Snapshot;
use proptest::prelude::*;
use std::sync::{Arc, LazyLock};

mod partitions;
mod sums;

const KEY: Slot = Slot(0);
const VALUE: Slot = Slot(1);

fn context() -> Arc<Context> {
    static CONTEXT: LazyLock<Arc<Context>> =
        LazyLock::new(|| Context::new(Snapshot::empty(), ExecOptions::default(), 0));
    Arc::clone(&CONTEXT)
}

fn aggregate(function: AggregateFunction, distinct: bool) -> Aggregate {
    Aggregate {
        slot: Slot(9),
        function,
        argument: Some(Expr::Slot(VALUE)),
        distinct,
    }
}

fn concat() -> AggregateFunction {
    AggregateFunction::GroupConcat {
        separator: "|".to_owned(),
    }
}

fn all_functions() -> Vec<Aggregate> {
    let mut aggregates = Vec::new();
    for distinct in [false, true] {
        for function in [
            AggregateFunction::Count,
            AggregateFunction::Sum,
            AggregateFunction::Avg,
            AggregateFunction::Min,
            AggregateFunction::Max,
            AggregateFunction::Sample,
            concat(),
        ] {
            aggregates.push(aggregate(function, distinct));
        }
        let function = AggregateFunction::Count;
        aggregates.push(Aggregate {
            slot: Slot(9),
            function,
            argument: None,
            distinct,
        });
    }
    aggregates
}

fn aggregator(aggregates: &[Aggregate], keys: &[Slot], cx: &Context) -> Aggregator {
    Aggregator::new(aggregates, keys, &[KEY, VALUE], cx).expect("compiles")
}

fn number(text: &str, name: &str, cx: &Context) -> u64 {
    let datatype = format!("http://www.w3.org/2001/XMLSchema#{name}");
    cx.terms().intern(TermView::typed(text, &datatype)).0
}

/// One row of lexical forms per group, `-` for unbound.
fn show(batch: &Batch, cx: &Context) -> Vec<Vec<String>> {
    let text = |id: u64| match id {
        0 => "-".to_owned(),
        id => match cx.terms().term(TermId(id)).expect("the id is known") {
            oxrdf::Term::Literal(literal) => literal.value().to_owned(),
            other => other.to_string(),
        },
    };
    let row = |row| {
        (0..batch.width())
            .map(|column| text(batch.ids(column)[row]))
            .collect()
    };
    (0..batch.rows()).map(row).collect()
}

fn run(values: &[u64], keys: &[Slot], cx: &Context) -> Vec<Vec<String>> {
    let mut aggregator = aggregator(&all_functions(), keys, cx);
    let key = vec![number("1", "integer", cx); values.len()];
    let batch = Batch::from_vectors(vec![key, values.to_vec()], values.len());
    aggregator.update(&batch, cx).expect("memory suffices");
    show(&aggregator.finish(cx).expect("finishes"), cx)
}

#[test]
fn nothing_is_one_group_without_keys_and_none_with_keys() {
    let cx = context();
    let empty = ["0", "0", "0", "-", "-", "-", "", "0"];
    assert_eq!(run(&[], &[], &cx), [[empty, empty].concat()]);
    assert!(run(&[], &[KEY], &cx).is_empty());
}

#[test]
fn numbers() {
    let cx = context();
    let values = ["2", "10", "2", "1.5"].map(|text| {
        number(
            text,
            if text.contains('.') {
                "decimal"
            } else {
                "integer"
            },
            &cx,
        )
    });
    let result = run(&values, &[KEY], &cx);
    let plain = [
        "1",
        "4",
        "15.5",
        "3.875",
        "1.5",
        "10",
        "2",
        "2|10|2|1.5",
        "4",
    ];
    assert_eq!(result[0][..9], plain);
    assert_eq!(
        result[0][9..],
        ["3", "13.5", "4.5", "1.5", "10", "2", "2|10|1.5", "3"]
    );
}

#[test]
fn strings_and_languages() {
    let cx = context();
    let tagged = |text| cx.terms().intern(TermView::language(text, "en")).0;
    let (a, b) = (tagged("a"), tagged("b"));
    let result = run(&[b, a, b], &[], &cx);
    assert_eq!(
        result[0],
        [
            "3", "-", "-", "a", "b", "b", "b|a|b", "3", "2", "-", "-", "a", "b", "b", "b|a", "2",
        ]
    );
    let mut joined = aggregator(&[aggregate(concat(), false)], &[], &cx);
    joined
        .update(&Batch::from_vectors(vec![vec![a; 2], vec![a, b]], 2), &cx)
        .expect("memory suffices");
    let id = joined.finish(&cx).expect("finishes").ids(0)[0];
    let joined = cx.terms().term(TermId(id)).expect("the id is known");
    assert_eq!(joined, oxrdf::Literal::new_simple_literal("a|b").into());
}

#[test]
fn an_error_is_left_out_by_count_and_sample_only() {
    let cx = context();
    let one = number("1", "integer", &cx);
    let result = run(&[0, one], &[], &cx);
    let expected = ["1", "-", "-", "-", "-", "1", "-", "2"];
    assert_eq!(result[0], [expected, expected].concat());
}

#[test]
fn sums_outgrow_machine_words() {
    let cx = context();
    let large = number("9223372036854775807", "integer", &cx);
    let one = number("1", "integer", &cx);
    let result = run(&[large, one], &[], &cx);
    assert_eq!(
        result[0][1..3],
        ["9223372036854775808", "4611686018427387904"]
    );
    let long = number(&"9".repeat(200), "integer", &cx);
    let result = run(&[long, one, long], &[], &cx);
    assert_eq!(result[0][1], format!("1{}9", "9".repeat(199)));
    assert_eq!(
        result[0][9],
        format!("1{}", "0".repeat(200)),
        "of distinct ones"
    );
    assert_eq!(result[0][3..5], ["1".to_owned(), "9".repeat(200)]);
    let short = number("0.00000000000000000000000000000000000001", "decimal", &cx);
    let result = run(&[long, short], &[], &cx);
    assert_eq!(
        result[0][1],
        format!("{}.{}1", "9".repeat(200), "0".repeat(37))
    );
}

#[test]
fn a_sum_of_inline_integers_outgrows_its_word() {
    let cx = context();
    let most = (1_i64 << 51) - 1;
    let id = TermId::numeric(0, most, 0).expect("fits").0;
    let count = 5_000;
    let result = run(&vec![id; count], &[], &cx);
    assert_eq!(result[0][1], (i128::from(most) * count as i128).to_string());
    assert_eq!(result[0][2], most.to_string());
}

#[test]
fn extremes_of_unlike_terms_follow_the_order_of_solutions() {
    let cx = context();
    let terms = cx.terms();
    let ids = [
        terms.intern(TermView::simple("b")).0,
        number("7", "integer", &cx),
        terms.intern(TermView::language("c", "en")).0,
        terms.intern(TermView::Iri("http://e/z")).0,
        number("NaN", "double", &cx),
        number("x", "integer", &cx),
        number("2000-01-01", "date", &cx),
    ];
    let mut turned = ids;
    for _ in 0..ids.len() {
        let result = run(&turned, &[], &cx);
        assert_eq!(result[0][3..5], ["<http://e/z>", "x"]);
        assert_eq!(result[0][11..13], ["<http://e/z>", "x"], "of distinct ones");
        turned.rotate_left(1);
    }
    let result = run(&ids[..2], &[], &cx);
    assert_eq!(result[0][3..5], ["7", "b"]);
}

#[test]
fn averages_are_as_exact_as_quotients() {
    let cx = context();
    let average = |values: &[(&str, &str)]| {
        let ids: Vec<u64> = values
            .iter()
            .map(|(text, name)| number(text, name, &cx))
            .collect();
        run(&ids, &[], &cx)[0][2].clone()
    };
    assert_eq!(average(&[("1", "integer"), ("2", "integer")]), "1.5");
    assert_eq!(
        average(&[("1", "integer"), ("1", "integer"), ("0", "integer")]),
        "0.666666666666666666"
    );
    assert_eq!(
        average(&[("0.00000000000000000003", "decimal"), ("0", "integer")]),
        "0.000000000000000000015"
    );
    assert_eq!(
        average(&[("100000000000000000001", "integer"), ("0", "decimal")]),
        "50000000000000000000.5"
    );
    assert_eq!(average(&[("300", "byte"), ("0", "integer")]), "-");
}

#[test]
fn texts_of_all_kinds_are_joined() {
    let cx = context();
    let iri = cx.terms().intern(TermView::Iri("http://e/a")).0;
    let typed = cx.terms().intern(TermView::typed("07", "http://e/t")).0;
    let integer = number("01", "integer", &cx);
    let blank = cx.terms().intern(TermView::Blank("x")).0;
    assert_eq!(
        run(&[iri, typed, integer], &[], &cx)[0][6],
        "http://e/a|07|01"
    );
    assert_eq!(run(&[iri, blank], &[], &cx)[0][6], "-");
}

#[test]
fn too_many_groups_are_a_memory_error() {
    let options = ExecOptions {
        memory_bytes_max: 1 << 16,
        ..ExecOptions::default()
    };
    let cx = Context::new(Snapshot::empty(), options, 0);
    let mut aggregator = aggregator(&all_functions(), &[KEY], &cx);
    let keys: Vec<u64> = (1..20_000).collect();
    let rows = keys.len();
    let batch = Batch::from_vectors(vec![keys, vec![0; rows]], rows);
    let error = aggregator
        .update(&batch, &cx)
        .expect_err("the limit is lower");
    assert!(error.to_string().contains("Group"), "{error}");
}

proptest! {
    #[test]
    fn merged_parts_are_one_pass(
        rows in prop::collection::vec((0_u64..4, -3_i64..4), 0..40),
        cut in 0_usize..40,
        keyed in any::<bool>(),
    ) {
        let cx = context();
        let keys: &[Slot] = if keyed { &[KEY] } else { &[] };
        let aggregates: Vec<_> = all_functions()
            .into_iter()
            .filter(|aggregate| !matches!(aggregate.function, AggregateFunction::GroupConcat { .. }))
            .collect();
        let batch = |rows: &[(u64, i64)]| {
            let key = rows.iter().map(|(key, _)| *key).collect();
            let value = rows.iter().map(|(_, v)| TermId::numeric(0, *v, 0).expect("fits").0).collect();
            Batch::from_vectors(vec![key, value], rows.len())
        };
        let (first, second) = rows.split_at(cut.min(rows.len()));
        let mut parts = aggregator(&aggregates, keys, &cx);
        parts.update(&batch(first), &cx).expect("memory suffices");
        let mut other = aggregator(&aggregates, keys, &cx);
        other.update(&batch(second), &cx).expect("memory suffices");
        parts.merge(other, &cx).expect("memory suffices");
        let mut whole = aggregator(&aggregates, keys, &cx);
        whole.update(&batch(&rows), &cx).expect("memory suffices");
        let (parts, whole) = (parts.finish(&cx).expect("finishes"), whole.finish(&cx).expect("finishes"));
        prop_assert_eq!(parts.rows(), whole.rows());
        for column in 0..whole.width() {
            prop_assert_eq!(parts.ids(column), whole.ids(column));
        }
    }
}

#[test]
fn comparing_texts_stops_within_a_batch() {
    let options = ExecOptions::default();
    let cancel = Arc::clone(&options.cancel);
    let cx = Context::new(Snapshot::empty(), options, 0);
    let texts: Vec<u64> = (0..1000)
        .map(|i| cx.terms().intern(TermView::simple(&format!("text {i}"))).0)
        .collect();
    let batch = Batch::from_vectors(vec![vec![1; texts.len()], texts], 1000);
    let greatest = [aggregate(AggregateFunction::Max, false)];
    let mut aggregator = Aggregator::new(&greatest, &[KEY], &[KEY, VALUE], &cx).expect("made");
    aggregator.update(&batch, &cx).expect("goes on");
    cancel.store(true, std::sync::atomic::Ordering::Relaxed);
    let stopped = aggregator.update(&batch, &cx);
    assert!(matches!(stopped, Err(ExecError::Cancelled)), "{stopped:?}");
}

#[test]
fn long_texts_have_room_before_they_grow() {
    let memory_bytes_max = 8 << 20;
    let options = ExecOptions {
        memory_bytes_max,
        ..ExecOptions::default()
    };
    let cx = Context::new(Snapshot::empty(), options, 0);
    let text = "x".repeat(1 << 10);
    let id = cx.terms().intern(TermView::simple(&text)).0;
    let batch = Batch::from_vectors(vec![vec![1; 1000], vec![id; 1000]], 1000);
    let joined = |batches: usize| {
        let mut aggregator =
            Aggregator::new(&[aggregate(concat(), false)], &[KEY], &[KEY, VALUE], &cx)?;
        aggregator.spill(&cx);
        for _ in 0..batches {
            aggregator.update(&batch, &cx)?;
        }
        let found = aggregator.finish(&cx)?;
        let mut term = basalt_rdf::TermBuf::new();
        cx.decode(TermId(found.ids(1)[0]), &mut term)?;
        Ok(match term.view() {
            TermView::Literal(literal) => literal.lexical.to_owned(),
            _ => String::new(),
        })
    };
    let all = |count: usize| vec![text.as_str(); count].join("|");
    assert!(joined(2).expect("there is room") == all(2000));
    // Five megabytes would have room, but not beside those that they move from.
    let refused = joined(5).map(|text| text.len());
    let limit = memory_bytes_max;
    assert!(
        matches!(refused, Err(ExecError::MemoryLimit { limit_bytes, .. }) if limit_bytes == limit),
        "{refused:?}"
    );
}
