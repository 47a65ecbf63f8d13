//! Tests of inline durations.

use super::*;
use crate::inline::durations::encode_duration;
use std::fmt::Write as _;

#[test]
fn inline_durations_come_back() {
    for lexical in [
        "PT0S",
        "P0D",
        "PT90M",
        "PT3600S",
        "-P1DT2H3M4S",
        "P1DT0H0M59S",
        "P1DT86399S",
        "PT1H0M0.50S",
        "-PT0.000001S",
        "P26062497843D",
    ] {
        let datatype = format!("{XSD}dayTimeDuration");
        assert!(round_trip(lexical, &datatype), "{lexical}");
    }
}

#[test]
fn other_durations_go_to_the_dictionary() {
    for lexical in [
        "P",
        "PT",
        "P1DT",
        "-PT0S",
        "PT1H60M",
        "PT1M1H",
        "P1H",
        "PT1D",
        "PT01M",
        "PT1.5M",
        "PT1.S",
        "PT.5S",
        "PT1.0000001S",
        "PT1H3600S",
        "P1DT0H0M86399S",
        "P1Y",
        "P1M",
        "P1DT1DT1S",
        "PT1S ",
        "+PT1S",
        "P999999999999D",
        "PT99999999999999999999999999S",
        "PT1.99999999999999999999999999S",
        "PT281474977S1S",
        "PT281474976.710656S",
    ] {
        let datatype = format!("{XSD}dayTimeDuration");
        assert!(!round_trip(lexical, &datatype), "{lexical}");
    }
    assert!(!round_trip("PT1S", &format!("{XSD}duration")));
}

proptest! {
    #[test]
    fn durations_are_told_by_their_lengths(
        (parts, digits) in (1..16_u64, 0..7_usize),
        numbers in prop::array::uniform4(0..200_i64),
        (micros, is_negative, is_odd) in (0..1_000_000_i64, any::<bool>(), any::<bool>()),
    ) {
        let mut text = if is_negative { "-P".to_owned() } else { "P".to_owned() };
        let (mut seconds, mut fraction) = (0, 0);
        for (at, (name, unit, limit)) in [('D', 86_400, i64::MAX), ('H', 3600, 24), ('M', 60, 60), ('S', 1, 60)].into_iter().enumerate() {
            if at == 1 && parts & 7 != 0 {
                text.push('T');
            }
            if parts & 8 >> at != 0 {
                let number = if is_odd { numbers[at] } else { numbers[at] % limit };
                seconds += number * unit;
                write!(text, "{number}").expect("text takes all");
                if name == 'S' && digits > 0 {
                    let written = &format!("{micros:06}")[..digits];
                    write!(text, ".{written}").expect("text takes all");
                    fraction = written.parse::<i64>().expect("digits") * 10_i64.pow(18 - digits as u32);
                }
                text.push(name);
            }
        }
        let datatype = format!("{XSD}dayTimeDuration");
        let is_inline = round_trip(&text, &datatype);
        prop_assert!(is_inline || is_odd || is_negative && seconds == 0 && fraction == 0, "{}", text);
        if let Some(id) = id_of(&text, &datatype) {
            let length = |(seconds, fraction): (i64, i64)| i128::from(seconds) * dates::UNITS_OF_SECOND + i128::from(fraction);
            let expected = length((seconds, fraction)) * if is_negative { -1 } else { 1 };
            let found = id.duration().expect("it is a duration");
            prop_assert_eq!(length(found), expected, "{}", text);
            prop_assert!(found.1 >= 0);
            let canonical = encode_duration(found.0, found.1).expect("it is inline");
            prop_assert_eq!(canonical.duration(), Some(found));
            // What it writes is read as itself.
            let mut written = String::new();
            prop_assert!(write_lexical(canonical, &mut written));
            prop_assert_eq!(id_of(&written, &datatype), Some(canonical), "{}", written);
            let scale = id.time_scale().expect("it counts time");
            let at = i64::try_from(scale.time_at(found.0, found.1)).expect("it fits");
            prop_assert_eq!(id.with_time(at), id);
            prop_assert!(id.with_time(at + 1) > id);
        }
    }
}
