//! Tests of inline terms: exact round trips, refusals, order, values.

mod durations;

use std::sync::Arc;

use proptest::prelude::*;

use super::*;
use crate::qualifiers::{QualifierCache, XSD_NUMERIC};
use crate::term_id::PAYLOAD_MASK;
use crate::term_view::TermView;

const USD: &str = "http://e/USD";

fn id_of(lexical: &str, datatype: &str) -> Option<TermId> {
    let qualifiers = Arc::new(Qualifiers::new());
    encode(
        LiteralView::typed(lexical, datatype),
        &mut QualifierCache::new(qualifiers),
    )
}

/// Encodes, decodes and compares; whether the literal was inline.
fn round_trip(lexical: &str, datatype: &str) -> bool {
    let shared = Arc::new(Qualifiers::new());
    let literal = LiteralView::typed(lexical, datatype);
    let Some(id) = encode(literal, &mut QualifierCache::new(Arc::clone(&shared))) else {
        return false;
    };
    assert!(id.is_inline());
    let mut buf = TermBuf::new();
    assert!(decode(id, &shared, &mut buf));
    assert_eq!(buf.view(), TermView::Literal(literal));
    let mut bytes = b"before ".to_vec();
    assert!(write_lexical_bytes(id, &mut bytes));
    assert_eq!(bytes, format!("before {lexical}").into_bytes());
    assert_eq!(
        encode(literal, &mut shared.as_ref()),
        Some(id),
        "finding gives the same id"
    );
    true
}

#[test]
fn inline_forms_come_back() {
    let xsd = |local: &str| format!("{XSD}{local}");
    for (lexical, datatype) in [
        ("true", "boolean"),
        ("false", "boolean"),
        ("0", "integer"),
        ("-17", "integer"),
        ("2251799813685247", "integer"),
        ("-2251799813685247", "integer"),
        ("12.50", "decimal"),
        ("0.000000000000001", "decimal"),
        ("-0.1", "decimal"),
        ("7", "decimal"),
        ("23.45", "double"),
        ("0.30000000000000004", "double"),
        ("-48.13715400000001", "double"),
        ("0.0000000000001234", "double"),
        ("1e6", "double"),
        ("1E6", "double"),
        ("1.0E0", "double"),
        ("0.0E0", "double"),
        ("0e0", "double"),
        ("0e+00", "double"),
        ("-1.5e-7", "double"),
        ("1.5e-07", "double"),
        ("1.5e-10", "double"),
        ("2.5e+00", "double"),
        ("1E-05", "double"),
        ("1.4073748835532798E14", "double"),
        ("3.552713678800501e-15", "double"),
        ("15.5e0", "double"),
        ("120.0e0", "double"),
        ("7", "float"),
        ("-128", "byte"),
        ("255", "unsignedByte"),
        ("0", "nonPositiveInteger"),
        ("2024-02-29", "date"),
        ("0001-01-01Z", "date"),
        ("9999-12-31+14:00", "date"),
        ("2008-07-31T23:59:59-05:30", "dateTime"),
        ("1969-12-31T00:00:00+00:00", "dateTime"),
        ("2010-01-03T15:10:31.499+00:00", "dateTime"),
        ("0001-01-01T00:00:00.000-14:00", "dateTime"),
        ("9999-12-31T23:59:59.999+13:45", "dateTime"),
        ("2024-02-29T12:00:00.500", "dateTime"),
        ("1900-01-01T00:00:00.000001", "dateTime"),
        ("2184-12-31T23:59:59.999999Z", "dateTime"),
        ("2024-02-29T12:00:00.120000+02:00", "dateTime"),
        ("2024-02-29T12:00:00.120000-03:00", "dateTime"),
        ("2024-02-29T12:00:00.120000+00:00", "dateTime"),
        ("1970", "gYear"),
        ("0001-14:00", "gYear"),
        ("2001-12Z", "gYearMonth"),
        ("00:00:00", "time"),
        ("23:59:59Z", "time"),
        ("08:30:00-05:30", "time"),
        ("12:00:01+00:00", "time"),
    ] {
        assert!(round_trip(lexical, &xsd(datatype)), "{lexical} {datatype}");
    }
    assert!(round_trip("123.45", USD));
}

#[test]
fn other_times_go_to_the_dictionary() {
    for lexical in [
        "24:00:00",
        "08:00:60",
        "08:00:00.5",
        "08:00:00.000",
        "8:00:00",
        "08:00",
        "T08:00:00",
        "08:00:00-00:00",
        "08:00:00+14:01",
    ] {
        assert!(!round_trip(lexical, &format!("{XSD}time")), "{lexical}");
    }
}

#[test]
fn other_forms_go_to_the_dictionary() {
    let xsd = |local: &str| format!("{XSD}{local}");
    for (lexical, datatype) in [
        ("1", "boolean"),
        ("+1", "integer"),
        ("01", "integer"),
        ("-0", "integer"),
        ("", "integer"),
        ("-", "integer"),
        (" 1", "integer"),
        ("1.0", "integer"),
        ("2251799813685248", "integer"),
        ("99999999999999999999999", "integer"),
        ("1.", "decimal"),
        (".5", "decimal"),
        ("-0.0", "decimal"),
        ("00.5", "decimal"),
        ("1.2.3", "decimal"),
        ("0.0000000000000001", "decimal"),
        ("1.5E7", "float"),
        ("1.5E7", "decimal"),
        ("300", "byte"),
        ("-1", "unsignedInt"),
        ("0", "positiveInteger"),
        ("1", "nonPositiveInteger"),
        ("0", "negativeInteger"),
        ("2147483648", "int"),
        ("2023-02-29", "date"),
        ("1900-02-29", "date"),
        ("0000-01-01", "date"),
        ("-0001-01-01", "date"),
        ("10000-01-01", "date"),
        ("2024-13-01", "date"),
        ("2024-01-01-00:00", "date"),
        ("2024-01-01+14:01", "date"),
        ("2024-01-01+1:00", "date"),
        ("2024-01-01T24:00:00", "dateTime"),
        ("2024-01-01T00:00:00.5", "dateTime"),
        ("2024-01-01T00:00:00.", "dateTime"),
        ("2024-01-01T00:00:00.5000", "dateTime"),
        ("2024-01-01T00:00:00.123456789Z", "dateTime"),
        ("2024-01-01T00:00:00.500+05:20", "dateTime"),
        ("2024-01-01T00:00:00.500-00:00", "dateTime"),
        ("2024-01-01T00:00:00.500000+05:30", "dateTime"),
        ("2024-01-01T00:00:00.500000+03:00", "dateTime"),
        ("1899-12-31T23:59:59.999999Z", "dateTime"),
        ("2185-01-01T00:00:00.000000Z", "dateTime"),
        ("2024-01-01T24:00:00.000", "dateTime"),
        ("2024-01-01T00:00:60", "dateTime"),
        ("2024-01-01 00:00:00", "dateTime"),
        ("24", "gYear"),
        ("2024-00", "gYearMonth"),
        ("7", "gDay"),
        ("7", "string"),
    ] {
        assert_eq!(id_of(lexical, &xsd(datatype)), None, "{lexical} {datatype}");
    }
    assert_eq!(
        encode(LiteralView::language("7", "en"), &mut &Qualifiers::new()),
        None
    );
    assert_eq!(
        encode(LiteralView::typed("7", USD), &mut &Qualifiers::new()),
        None,
        "never seen"
    );
}

#[test]
fn doubles_in_other_notations_go_to_the_dictionary() {
    for lexical in [
        "1e15",
        "1e-15",
        "1.407374883553280E14",
        "1.407374883553281E14",
        "3.5527136788005e-15",
        "-0.0E0",
        "1.50E0",
        "15.0E0",
        "1.5e007",
        "+1.5e7",
        "1.5e-00",
        "0.10000000000000000001",
        "INF",
        "-0",
    ] {
        assert_eq!(id_of(lexical, XSD_DOUBLE), None, "{lexical}");
    }
}

#[test]
fn invalid_payloads_are_refused() {
    let qualifiers = Qualifiers::new();
    let mut buf = TermBuf::new();
    for payload in [2, 1 << 40, crate::term_id::PAYLOAD_MASK] {
        for tag in [
            tag::BOOLEAN,
            tag::DATE,
            tag::DATE_TIME,
            tag::G_YEAR,
            tag::G_YEAR_MONTH,
        ] {
            let id = TermId::new(tag, payload);
            assert!(!decode(id, &qualifiers, &mut buf), "{id:?}");
        }
        assert!(!decode(
            TermId::new(tag::RESOURCE, payload),
            &qualifiers,
            &mut buf
        ));
        assert!(!decode(
            TermId::new(tag::NUMERIC_LAST, payload),
            &qualifiers,
            &mut buf
        ));
    }
    // Narrow zones beyond fourteen hours, and times beyond the last year.
    for id in [
        TermId::new(tag::DATE_TIME_MILLIS, 1 << 40 | 115),
        TermId::new(tag::DATE_TIME_MILLIS, 1 << 40 | 127),
        TermId::new(tag::DATE_TIME_MILLIS, crate::term_id::PAYLOAD_MASK & !127),
        TermId::new(tag::DATE_TIME_MICROS, crate::term_id::PAYLOAD_MASK & !7),
    ] {
        assert!(!decode(id, &qualifiers, &mut buf), "{id:?}");
    }
}

#[test]
fn stores_of_whole_seconds_keep_fractions_in_the_dictionary() {
    let before = Qualifiers::of_forms(InlineForms::WholeSeconds);
    let now = Qualifiers::from_lists(&Qualifiers::new().to_lists()).expect("no names");
    let restored = Qualifiers::from_lists(&before.to_lists()).expect("no names");
    for (text, is_whole) in [
        ("2024-01-01T00:00:00", true),
        ("2024-01-01T00:00:00.500", false),
        ("2024-01-01T00:00:00.500000Z", false),
    ] {
        let literal = LiteralView::typed(text, XSD_DATE_TIME);
        assert!(encode(literal, &mut &now).is_some(), "{text}");
        for old in [&before, &restored] {
            assert_eq!(encode(literal, &mut &*old).is_some(), is_whole, "{text}");
        }
    }
}

#[test]
fn stores_of_other_forms_keep_doubles_in_the_dictionary() {
    let doubles = [
        ("1.5E7", false),
        ("0.30000000000000004", false),
        ("1.5", true),
    ];
    for (text, is_plain) in doubles {
        let literal = LiteralView::typed(text, XSD_DOUBLE);
        assert!(encode(literal, &mut &Qualifiers::new()).is_some(), "{text}");
        for forms in [InlineForms::WholeSeconds, InlineForms::Fractions] {
            let id = encode(literal, &mut &Qualifiers::of_forms(forms));
            assert_eq!(id.is_some(), is_plain, "{text}");
        }
    }
}

/// Doubles of which most are inline, and some near the ends of those that are.
fn double() -> impl Strategy<Value = f64> {
    let end = |value: f64| {
        (-3_i64..3).prop_map(move |ulps| f64::from_bits(value.to_bits().wrapping_add_signed(ulps)))
    };
    let short =
        (-100_000_i64..100_000, -20_i32..20).prop_map(|(m, scale)| m as f64 * 10_f64.powi(scale));
    let scattered = (any::<u64>(), 960_u64..1090).prop_map(|(bits, exponent)| {
        f64::from_bits(bits & ((1 << 63) | ((1 << 52) - 1)) | exponent << 52)
    });
    let ends = prop_oneof![
        end(2_f64.powi(-48)),
        end(2_f64.powi(47)),
        Just(0.0),
        Just(-0.0),
        any::<f64>()
    ];
    prop_oneof![
        short,
        scattered,
        ends.clone(),
        ends.prop_map(|value| -value)
    ]
}

/// A value in the notations of programs, of which the first is without an exponent.
fn notations(value: f64) -> [String; 7] {
    let signed = |text: String| {
        let (digits, exponent) = text.split_once('e').expect("it has an exponent");
        let exponent: i32 = exponent.parse().expect("a number");
        format!("{digits}e{exponent:+03}")
    };
    let lower = format!("{value:e}");
    let pointed = match lower.contains('.') {
        true => lower.clone(),
        false => lower.replace('e', ".0e"),
    };
    [
        format!("{value}"),
        pointed.to_uppercase(),
        pointed,
        lower.to_uppercase(),
        signed(lower.clone()).to_uppercase(),
        signed(lower.clone()),
        lower,
    ]
}

proptest! {
    #[test]
    fn doubles_come_back_and_are_ordered_as_their_values(a in double(), b in double()) {
        let is_in_range = |value: f64| {
            let size = value.abs();
            value.is_finite() && (size == 0.0 && value.is_sign_positive() || (2_f64.powi(-48)..2_f64.powi(47)).contains(&size))
        };
        let mut ids: Vec<(TermId, f64)> = Vec::new();
        for value in [a, b] {
            if !value.is_finite() {
                continue;
            }
            for text in notations(value) {
                let is_inline = round_trip(&text, XSD_DOUBLE);
                let id = id_of(&text, XSD_DOUBLE).filter(|id| id.is_binary_double());
                prop_assert!(is_inline == is_in_range(value) || id.is_none() && !text.contains(['e', 'E']), "{text}");
                if let Some(id) = id {
                    prop_assert_eq!(id.binary_double().to_bits(), value.to_bits());
                    prop_assert_eq!(id.as_f64(), Some(value));
                    prop_assert_eq!(id.datatype_tag(), tag::NUMERIC | DOUBLE);
                    prop_assert_eq!(id.is_plain_double(), !text.contains(['e', 'E']));
                    ids.push((id, value));
                }
            }
        }
        for (x, value) in &ids {
            for (y, other) in &ids {
                if value != other {
                    prop_assert_eq!(x.cmp(y), value.partial_cmp(other).expect("not NaN"));
                }
                if (x.0 ^ y.0) & binary_doubles::ORDER_MASK == 0 {
                    prop_assert_eq!(x == y, value == other);
                }
            }
        }
    }

    #[test]
    fn places_part_doubles_where_a_number_is(values in prop::collection::vec(double(), 9), number in double()) {
        let (at_least, above) = binary_doubles::places_at(number).expect("not NaN");
        for value in values.into_iter().chain([number]) {
            let Some(id) = id_of(&format!("{value:e}"), XSD_DOUBLE).filter(|id| id.is_binary_double()) else {
                continue;
            };
            let ids = |from: i64, to: i64| {
                let (low, high) = binary_doubles::ids_of_places((from, to));
                (low..=high).contains(&id.0)
            };
            let last = binary_doubles::ALL_PLACES.1;
            prop_assert!(ids(0, last));
            prop_assert_eq!(at_least <= last && ids(at_least, last), value >= number);
            prop_assert_eq!(above <= last && ids(above, last), value > number);
        }
    }
}

#[test]
fn values_are_read_without_text() {
    let number = id_of("12.50", &format!("{XSD}decimal")).expect("inline");
    assert_eq!(number.as_f64(), Some(12.5));
    assert_eq!(number.as_i64(), None);
    let integer = encode_integer(-3).expect("fits");
    assert_eq!(id_of("-3", &format!("{XSD}integer")), Some(integer));
    assert_eq!(integer.as_i64(), Some(-3));
    assert_eq!(encode_integer(i64::MAX), None);
    assert_eq!(encode_integer(i64::MIN), None);
    assert_eq!(encode_boolean(true).as_boolean(), Some(true));

    let moment = id_of("1970-01-02T01:00:00+01:00", XSD_DATE_TIME).expect("inline");
    assert_eq!(moment.date_time_seconds(), Some(90_000));
    assert_eq!(moment.zone_minutes(), Some(60));
    assert_eq!(moment.utc_seconds(), Some(86_400));
    assert_eq!(
        dates::encode_date_time(90_000, moment.zone_code()),
        Some(moment)
    );
    let day = id_of("1970-01-02", XSD_DATE).expect("inline");
    assert_eq!(day.date_days(), Some(1));
    assert_eq!(day.zone_minutes(), None);
    assert_eq!(dates::encode_date(1, dates::ZONE_NONE), Some(day));
    assert_eq!(dates::encode_date(i64::MAX / 4, dates::ZONE_NONE), None);
    assert_eq!(dates::encode_date_time(i64::MIN, dates::ZONE_Z), None);
    assert_eq!(
        id_of("1970", XSD_G_YEAR).and_then(TermId::g_year),
        Some(1970)
    );
    assert_eq!(
        id_of("1970-03", XSD_G_YEAR_MONTH).and_then(TermId::g_year_month),
        Some((1970, 3))
    );
}

#[test]
fn the_calendar_is_its_own_inverse() {
    let first = dates::days_from_civil(1, 1, 1);
    let last = dates::days_from_civil(9999, 12, 31);
    assert_eq!((first, last), (-719_162, 2_932_896));
    for days in first..=last {
        let (year, month, day) = dates::civil_from_days(days);
        assert_eq!(dates::days_from_civil(year, month, day), days);
        assert!((1..=12).contains(&month) && (1..=31).contains(&day));
        // The calendar repeats, also far outside what can be inline.
        let later = dates::civil_from_days(days + 146_097 * 1000);
        let earlier = dates::civil_from_days(days - 146_097 * 1000);
        let year_of = |eras: i64| (year + 400 * eras, month, day);
        assert_eq!((later, earlier), (year_of(1000), year_of(-1000)));
    }
}

proptest! {
    #[test]
    fn seconds_ascend_with_all_ids_of_a_tag(a in 0..=PAYLOAD_MASK, b in 0..=PAYLOAD_MASK) {
        let (low, high) = (a.min(b), a.max(b));
        for tag in [tag::DATE, tag::DATE_TIME, tag::G_YEAR, tag::G_YEAR_MONTH, tag::DATE_TIME_MILLIS, tag::DATE_TIME_MICROS, tag::DURATION, tag::DURATION_MICROS] {
            let seconds = |payload| TermId::new(tag, payload).local_seconds();
            prop_assert!(seconds(low) <= seconds(high), "{} {} {}", tag, low, high);
        }
    }

    #[test]
    fn any_text_comes_back_or_is_refused(text in "[-+]?[0-9.]{0,20}", code in 0_usize..17) {
        let datatype = XSD_NUMERIC.get(code).copied().unwrap_or(USD);
        round_trip(&text, datatype);
    }

    #[test]
    fn numbers_are_inline(mantissa in -(1_i64 << 50)..1 << 50, scale in 0_u8..=15) {
        let mut text = String::new();
        numeric::write_decimal(mantissa, scale, &mut text);
        prop_assume!(text.trim_start_matches('-').len() <= 18);
        prop_assert!(round_trip(&text, XSD_NUMERIC[1]), "{}", text);
        let id = id_of(&text, XSD_NUMERIC[1]).expect("inline");
        prop_assert_eq!(id.as_f64(), text.parse::<f64>().ok());
    }

    #[test]
    fn dates_are_inline(
        year in 1_u16..=9999, month in 1_u8..=12, day in 1_u8..=28,
        second in 0_u32..86_400, zone in "|Z|[+-](0[1-9]|1[0-3]):[0-5][0-9]",
    ) {
        let date = format!("{year:04}-{month:02}-{day:02}");
        let time = format!("{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
        assert!(round_trip(&format!("{date}{zone}"), XSD_DATE));
        let written = format!("{date}T{time}{zone}");
        assert!(round_trip(&written, XSD_DATE_TIME));
        assert!(round_trip(&format!("{year:04}{zone}"), XSD_G_YEAR));
        assert!(round_trip(&format!("{year:04}-{month:02}{zone}"), XSD_G_YEAR_MONTH));
    }

    #[test]
    fn times_with_fractions_are_told_by_their_seconds(
        seconds in -86_400_i64 * 719_162..86_400 * 2_932_896, units in 0_i64..1_000_000,
        zone in "|Z|[+-](0[1-9]|1[0-3]):[0134][05]|[+-]0[0-3]:00", is_micros in any::<bool>(),
    ) {
        let (year, month, day) = dates::civil_from_days(seconds.div_euclid(86_400));
        let second = seconds.rem_euclid(86_400);
        let fraction = if is_micros { format!("{units:06}") } else { format!("{:03}", units / 1000) };
        let whole = format!("{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}", second / 3600, second / 60 % 60, second % 60);
        let text = format!("{whole}.{fraction}{zone}");
        round_trip(&text, XSD_DATE_TIME);
        if let Some(id) = id_of(&text, XSD_DATE_TIME) {
            let (start, of_second) = id.split_second().expect("it has a fraction");
            prop_assert_eq!(Some(start), id_of(&format!("{whole}{zone}"), XSD_DATE_TIME));
            prop_assert_eq!(Some((start, of_second)), dates::split_fraction(text.as_bytes()));
            prop_assert_eq!((id.zone_code(), id.civil_date()), (start.zone_code(), start.civil_date()));
            prop_assert_eq!((id.local_seconds(), id.utc_seconds()), (start.local_seconds(), start.utc_seconds()));
            let scale = id.time_scale().expect("it counts time");
            let local = i128::from(seconds - scale.origin) * 10_i128.pow(18) + i128::from(of_second);
            let time = i64::try_from(local / scale.unit).expect("it fits");
            prop_assert!(scale.range.0 <= time && time <= scale.range.1 && local % scale.unit == 0);
            prop_assert_eq!(id.with_time(time), id);
            let later = id.with_time((time + 1).min(scale.range.1));
            prop_assert!(later >= id && (later.0 ^ id.0) & id.date_kind_mask() == 0);
        }
    }

    #[test]
    fn ids_are_ordered_as_values(a in -(1_i64 << 50)..1 << 50, b in -(1_i64 << 50)..1 << 50) {
        let (x, y) = (TermId::numeric(1, a, 2), TermId::numeric(1, b, 2));
        prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        let (a, b) = (a % 200_000_000_000, b % 200_000_000_000);
        if let (Some(x), Some(y)) = (dates::encode_date_time(a, 1), dates::encode_date_time(b, 1)) {
            prop_assert_eq!(x.cmp(&y), a.cmp(&b));
        }
        if let (Some(x), Some(y)) = (dates::encode_date(a / 86_400, 1), dates::encode_date(b / 86_400, 1)) {
            prop_assert_eq!(x.cmp(&y), (a / 86_400).cmp(&(b / 86_400)));
        }
    }
}
