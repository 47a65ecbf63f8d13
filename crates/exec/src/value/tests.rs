//! Tests of the order of ORDER BY, and of values going to ids and back.

mod exact;

use super::{Number, Reader, Value, compare_for_order};
use crate::context::{Context, ExecOptions};
use basalt_rdf::TermView;
use basalt_rdf::term_view::XSD;
use basalt_store::Snapshot;
use proptest::prelude::*;
use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

fn context() -> Arc<Context> {
    static CONTEXT: LazyLock<Arc<Context>> =
        LazyLock::new(|| Context::new(Snapshot::empty(), ExecOptions::default(), 0));
    Arc::clone(&CONTEXT)
}

fn literal(text: &str, name: &str, cx: &Context) -> u64 {
    cx.terms()
        .intern(TermView::typed(text, &format!("{XSD}{name}")))
        .0
}

fn samples(cx: &Context) -> Vec<u64> {
    let mut ids = vec![0];
    let terms = [
        TermView::Blank("x"),
        TermView::Iri("http://e/a"),
        TermView::Iri("http://e/b"),
        TermView::simple("a"),
        TermView::simple("10"),
        TermView::language("a", "en"),
        TermView::language("b", "de"),
        TermView::typed("7", "http://e/USD"),
    ];
    ids.extend(terms.map(|term| cx.terms().intern(term).0));
    for (text, name) in [
        ("1", "integer"),
        ("01", "integer"),
        ("9007199254740993", "integer"),
        ("x", "integer"),
        ("0.1", "decimal"),
        ("1.0", "decimal"),
        ("1.50", "decimal"),
        ("0.1", "double"),
        ("1.0E0", "double"),
        ("9007199254740992", "double"),
        ("NaN", "double"),
        ("-INF", "float"),
        ("0.1", "float"),
        ("16777216", "float"),
        ("16777217", "integer"),
        ("9223372036854775807", "integer"),
        ("9223372036854775808", "integer"),
        ("9223372036854775807", "double"),
        ("9223372036854775808.5", "decimal"),
        ("1000000000000000000000000000000000000001", "integer"),
        ("1e39", "double"),
        ("0.1000000000000000000000000001", "decimal"),
        ("INF", "double"),
        ("-INF", "double"),
        ("300", "byte"),
        ("true", "boolean"),
        ("0", "boolean"),
        ("2000-01-01", "date"),
        ("2000-01-01Z", "date"),
        ("2000-01-01-14:00", "date"),
        ("2000-01-01T00:00:00Z", "dateTime"),
        ("2000-01-01T01:00:00+01:00", "dateTime"),
        ("2000-01-01T00:00:00.5", "dateTime"),
        ("12:00:00", "time"),
        ("P1M", "duration"),
        ("P30D", "duration"),
        ("2000", "gYear"),
        ("2000-02", "gYearMonth"),
        ("--02", "gMonth"),
    ] {
        ids.push(literal(text, name, cx));
    }
    for digits in [308, 309, 400] {
        let text = format!("1{:0digits$}", 0);
        ids.push(literal(&text, "integer", cx));
        ids.push(literal(&format!("-{text}"), "decimal", cx));
    }
    ids
}

#[test]
fn the_order_is_total_over_all_kinds_of_terms() {
    let cx = context();
    let ids = samples(&cx);
    let order = |a, b| compare_for_order(a, b, &cx).expect("terms decode");
    for &a in &ids {
        for &b in &ids {
            assert_eq!(order(a, b), order(b, a).reverse(), "{a:#x} {b:#x}");
            for &c in &ids {
                if order(a, b).is_le() && order(b, c).is_le() {
                    assert!(order(a, c).is_le(), "{a:#x} {b:#x} {c:#x}");
                }
            }
        }
    }
}

#[test]
fn kinds_of_terms_are_in_the_order_of_the_specification() {
    let cx = context();
    let order = |a, b| compare_for_order(a, b, &cx).expect("terms decode");
    let one = literal("1", "integer", &cx);
    let steps = [
        0,
        cx.terms().intern(TermView::Blank("x")).0,
        cx.terms().intern(TermView::Iri("http://e/a")).0,
        one,
        literal("1.5", "decimal", &cx),
        literal("2.0E0", "double", &cx),
    ];
    assert!(steps.is_sorted_by(|&a, &b| order(a, b).is_lt()));
    assert_eq!(order(one, literal("1.0", "decimal", &cx)), Ordering::Equal);
    assert_eq!(order(one, literal("01", "integer", &cx)), Ordering::Equal);
    let strings = ["", "a", "b"].map(|text| cx.terms().intern(TermView::simple(text)).0);
    assert!(strings.is_sorted_by(|&a, &b| order(a, b).is_lt()));
}

proptest! {
    #[test]
    fn numbers_survive_the_way_to_an_id_and_back(value in any::<f64>(), integer in any::<i64>()) {
        let cx = context();
        let mut reader = Reader::new(&cx);
        for number in [Number::Integer(integer.into()), Number::Double(value.into())] {
            let id = number.to_id(&cx);
            let back = reader.value(id).expect("decodes").and_then(|value| value.number());
            prop_assert_eq!(back.and_then(|back| back.compare(&number)), number.compare(&number));
            let text = reader.text(id).expect("decodes").map(str::to_owned);
            prop_assert_eq!(text, Value::Number(number).to_text());
        }
    }
}
