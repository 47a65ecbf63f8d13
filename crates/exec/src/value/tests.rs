//! Tests of the order of ORDER BY, and of values going to ids and back.

mod exact;

use super::order::Key;
use super::{
    Comparison, InlineRanks, Number, RankKind, Reader, Value, compare, compare_for_order, equal,
    inline_kind, order_inline,
};
use crate::context::{Context, ExecOptions};
use basalt_rdf::inline::{binary_doubles, encode, numeric};
use basalt_rdf::qualifiers::{CUSTOM_NUMERIC_FIRST, DOUBLE, FLOAT};
use basalt_rdf::term_id::tag;
use basalt_rdf::term_view::XSD;
use basalt_rdf::{LiteralView, Qualifiers, TermId, TermView};
use basalt_store::Snapshot;
use proptest::prelude::*;
use std::cmp::Ordering;
use std::sync::{Arc, LazyLock};

/// The value of a literal of a type of XML Schema, and its id if it is inline.
pub(super) fn typed(text: &str, name: &str) -> (Value, Option<TermId>) {
    let datatype = format!("{XSD}{name}");
    let literal = LiteralView::typed(text, &datatype);
    let qualifiers = Qualifiers::new();
    let id = encode(literal, &mut &qualifiers);
    assert!(id.is_none_or(|id| inline_kind(id.0).is_some()));
    (Value::of_literal(literal), id)
}

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

/// Doubles of all layouts, some of them equal.
fn doubles(cx: &Context) -> [u64; 6] {
    [
        "1.0E-1",
        "0.10000000000000002",
        "1.0000000000000002E-1",
        "-1.5e+03",
        "0e0",
        "-0.0E0",
    ]
    .map(|text| literal(text, "double", cx))
}

/// Times of a day, some of the same value.
const TIMES: [&str; 6] = [
    "12:00:00",
    "12:00:00Z",
    "01:00:00-11:00",
    "12:00:00.0",
    "23:59:59",
    "24:00:00",
];

/// Durations, some of the same length.
const DURATIONS: [&str; 8] = [
    "P30D",
    "PT720H",
    "-PT5M",
    "-PT300S",
    "-PT05M",
    "PT0.5S",
    "PT0.50S",
    "PT0.5000001S",
];

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
        ("2000-01-01T00:00:00.500", "dateTime"),
        ("2000-01-01T00:00:00.500001", "dateTime"),
        ("2000-01-01T00:00:00.5000001", "dateTime"),
        ("2000-01-01T01:00:00.000+01:00", "dateTime"),
        ("1999-12-31T23:59:59.999999", "dateTime"),
        ("P1M", "duration"),
        ("P30D", "duration"),
        ("2000", "gYear"),
        ("2000-02", "gYearMonth"),
        ("--02", "gMonth"),
    ] {
        ids.push(literal(text, name, cx));
    }
    ids.extend(doubles(cx));
    ids.extend(TIMES.map(|text| literal(text, "time", cx)));
    ids.extend(DURATIONS.map(|text| literal(text, "dayTimeDuration", cx)));
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

/// Ranks in parts of so many ids, in the first way that all have.
fn inline_ranks(ids: &[u64], part: usize, cx: &Context) -> Option<Vec<u64>> {
    let first = *ids.iter().find(|&&id| id != 0)?;
    RankKind::of(first).find_map(|kind| {
        let ranks = |ids| kind.ranks(ids, cx).expect("nothing ends it");
        InlineRanks::concat(ids.chunks(part).map(ranks).collect())
    })
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
    #[test]
    fn ids_tell_the_order_of_their_keys(a in inline(), b in inline()) {
        let cx = context();
        if let Some(order) = order_inline(a, b) {
            let keys = [a, b].map(|id| Key::of(id, &cx).expect("decodes"));
            prop_assert_eq!(order, keys[0].compare(&keys[1]));
        }
    }

    #[test]
    fn ranks_of_one_kind_are_in_the_order_of_their_keys(ids in prop::collection::vec(inline(), 1..8), kind in 0_usize..4, part in 1_usize..9) {
        let cx = context();
        let is_kind = |id: TermId| match kind {
            0 => id.is_numeric() && id.numeric_datatype() == FLOAT,
            1 => id.datatype_tag() == tag::NUMERIC | DOUBLE,
            2 => !id.is_number(),
            _ => id.is_numeric() && !matches!(id.numeric_datatype(), FLOAT | DOUBLE),
        };
        let of_kind: Vec<u64> = ids.iter().copied().filter(|&id| is_kind(TermId(id))).collect();
        let with_unbound = [of_kind.as_slice(), &[0]].concat();
        let ranks = inline_ranks(&with_unbound, part, &cx);
        // Decimals of many digits beside those with many after the point have none.
        let may_be_long = kind == 3 && of_kind.len() > 1;
        prop_assert!(ranks.is_some() != of_kind.is_empty() || may_be_long);
        for (a, rank_a) in with_unbound.iter().zip(ranks.iter().flatten()) {
            for (b, rank_b) in with_unbound.iter().zip(ranks.iter().flatten()) {
                let order = compare_for_order(*a, *b, &cx).expect("decodes");
                prop_assert_eq!(rank_a.cmp(rank_b), order, "{:#x} {:#x}", a, b);
            }
        }
        if of_kind.len() < ids.len() && !of_kind.is_empty() {
            prop_assert_eq!(inline_ranks(&ids, part, &cx), None);
        }
    }

    #[test]
    fn numbers_of_no_known_type_are_in_the_order_of_their_texts(a in number(), b in number(), currency in 0_u8..2) {
        let text = |(mantissa, scale): (i64, u8)| {
            let mut text = String::new();
            numeric::write_decimal(mantissa, scale, &mut text);
            text
        };
        let id = |(mantissa, scale): (i64, u8), code| TermId::numeric(code, mantissa, scale).expect("fits").0;
        let known = order_inline(id(a, CUSTOM_NUMERIC_FIRST), id(b, CUSTOM_NUMERIC_FIRST + currency));
        let expected = text(a).cmp(&text(b));
        // The same text of another datatype is decided by that.
        prop_assert_eq!(known, (expected != Ordering::Equal).then_some(expected));
        let ids = [id(a, CUSTOM_NUMERIC_FIRST), id(b, CUSTOM_NUMERIC_FIRST + currency)];
        let ranks = inline_ranks(&ids, 1, &context());
        prop_assert_eq!(ranks.is_some(), currency == 0 && text(a).len().max(text(b).len()) <= 16);
        if let Some(ranks) = ranks {
            prop_assert_eq!(ranks[0].cmp(&ranks[1]), expected);
        }
    }

    #[test]
    fn values_of_two_kinds_are_different_and_in_no_order(a in inline(), b in inline()) {
        let cx = context();
        let mut reader = Reader::new(&cx);
        let mut value = |id| reader.value(id).expect("decodes").expect("a value");
        let truth = literal("true", "boolean", &cx);
        for (a, b) in [(a, b), (a, truth), (truth, b)] {
            let kinds = (inline_kind(a), inline_kind(b));
            prop_assert!(kinds.0.is_some() && kinds.1.is_some());
            if kinds.0 != kinds.1 {
                let (a, b) = (value(a), value(b));
                prop_assert_eq!(compare(&a, &b), Comparison::TypeError);
                prop_assert_eq!(equal(&a, &b, false), Some(false));
            }
        }
    }

    #[test]
    fn kinds_that_ids_tell_are_different_and_in_no_order(a in inline(), text in "[a-c]?", other in "[a-c]?") {
        let cx = context();
        let inline = Reader::new(&cx).value(a).expect("decodes").expect("a value");
        let tagged = |text: &str| Value::LangString(Box::new((text.to_owned(), "en".to_owned())));
        let kinds = [vec![inline], vec![Value::String(text.clone())], vec![tagged(&text)], vec![Value::Iri, Value::Blank]];
        let values = |kind: usize| kinds[kind].iter();
        for (kind, of_other) in (0..4).flat_map(|kind| (0..4).map(move |of_other| (kind, of_other))).filter(|(a, b)| a != b) {
            for (a, b) in values(kind).flat_map(|a| values(of_other).map(move |b| (a, b))) {
                prop_assert_eq!(compare(a, b), Comparison::TypeError);
                prop_assert_eq!(equal(a, b, false), Some(false));
            }
        }
        prop_assert_eq!(compare(&tagged(&text), &tagged(&other)), Comparison::TypeError);
        prop_assert_eq!(compare(&Value::Iri, &Value::Iri), Comparison::TypeError);
    }

    #[test]
    fn dates_have_the_values_of_their_texts(id in date()) {
        let cx = context();
        let mut reader = Reader::new(&cx);
        let fast = reader.value(id).expect("decodes").expect("a value");
        let slow = Value::of(reader.term(id).expect("decodes"));
        prop_assert_eq!(format!("{fast:?}"), format!("{slow:?}"));
    }
}

/// Mantissa and scale of a number that an id holds.
fn number() -> impl Strategy<Value = (i64, u8)> {
    let mantissa = prop_oneof![-2000_i64..2000, -(1_i64 << 51) + 1..1 << 51];
    (mantissa, prop_oneof![0_u8..3, 0_u8..16])
}

/// The id of a date, with a zone or without.
fn date() -> impl Strategy<Value = u64> {
    let text = (1_i64..10_000, 1..=12, 1..=28, 0..24, 0..60, 0..60);
    let zones = ["", "Z", "+14:00", "-05:30"];
    (text, prop::sample::select(zones.to_vec()), 0..5).prop_map(|(parts, zone, kind)| {
        let (year, month, day, hour, minute, second) = parts;
        // Some of the same time, so that zones decide.
        let year = if year % 2 == 0 { 2000 } else { year };
        let date = format!("{year:04}-{month:02}-{day:02}");
        let (text, name) = match kind {
            0 => (date, "date"),
            1 => (
                format!("{date}T{hour:02}:{minute:02}:{second:02}"),
                "dateTime",
            ),
            2 => (format!("{year:04}"), "gYear"),
            3 => (format!("{hour:02}:{minute:02}:{second:02}"), "time"),
            _ => (format!("{year:04}-{month:02}"), "gYearMonth"),
        };
        literal(&format!("{text}{zone}"), name, &context())
    })
}

/// The id of a number or date.
fn inline() -> impl Strategy<Value = u64> {
    let of_type = (number(), 0_u8..4).prop_map(|((mantissa, scale), code)| {
        let scale = if code == 0 { 0 } else { scale };
        TermId::numeric(code, mantissa, scale).expect("fits").0
    });
    let letters = prop::sample::select(vec!["E", "e", "e+0"]);
    let double = (number(), letters, 0_u8..2).prop_filter_map(
        "it is short",
        |((mantissa, scale), letter, nudge)| {
            let value = mantissa as f64 / 10_f64.powi(scale.into());
            let text = format!("{:e}", f64::from_bits(value.to_bits() + u64::from(nudge)));
            let id = binary_doubles::encode_form(text.replace('e', letter).as_bytes())?;
            Some(id.0)
        },
    );
    prop_oneof![2 => of_type, 1 => double, 1 => date()]
}
