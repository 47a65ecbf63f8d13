//! Tests that plain IRIs are IRIs, and that the usual IRIs are plain.

use proptest::prelude::*;

use super::*;

/// Whether the text up to its last byte is taken as a plain IRI, with the rest of a line behind it.
fn is_plain(iri: &str) -> bool {
    let ends = [
        ">",
        "> .\n",
        "> <http://example.org/a/longer/rest/of/the/line> _:b .\n",
    ];
    let found = ends.map(|end| {
        let line = format!("é<{iri}{end}");
        let end = plain_iri_end(&line, 3, &mut KnownPrefixes::default());
        assert!(end.is_none_or(|end| line.as_bytes()[end] == b'>'), "{line}");
        end == Some(3 + iri.len())
    });
    assert!(
        found[1] || !found[0],
        "an end of the text changes nothing: {iri}"
    );
    assert_eq!(found[1], found[2], "{iri}");
    found[2]
}

fn is_iri(iri: &str) -> bool {
    oxrdf::NamedNodeRef::new(iri).is_ok()
}

#[test]
fn the_usual_iris_are_plain() {
    for iri in [
        "http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/instances/dataFromVendor12/Offer3456",
        "http://www.w3.org/2001/XMLSchema#date",
        "https://e/?q=1&r=a:b@c#f?/",
        "http://e",
        "http://localhost:8080/a",
        "http://dbpedia.org/resource/Caf%C3%A9_(caf%c3%a9)",
        "http://ru.dbpedia.org/resource/Москва_東京#Ж",
        "urn:uuid:f81d4fae-7dec-11d0-a765-00a0c91e6bf6",
        "mailto:someone@example.org",
        "urn:",
        "a+b-c.d1:/x",
        "ftp://e/x",
        "http://a.host.of.more.than/thirty-two/characters",
        "http://a.host.of.more.than.thirty-two.characters.example.org?x",
    ] {
        assert!(is_iri(iri) && is_plain(iri), "{iri}");
    }
}

#[test]
fn any_byte_anywhere_is_taken_only_in_iris() {
    let mut plain_count = 0;
    for template in [
        "http://example.org/some/long/path?query=1#fragment",
        "https://e/?",
        "http://e#",
        "http://e:80/%41é",
        "http://www4.wiwiss.fu-berlin.de/bizer/bsbm/v01/instances/dataFromVendor12/Offer3456",
        "urn:isbn:0",
        "x://e",
    ] {
        for at in 0..=template.len() {
            if !template.is_char_boundary(at) {
                continue;
            }
            for c in (0..0x120).chain([0x2028, 0xD7FF, 0xE000, 0xFDD0, 0x1_F600, 0x1_FFFE]) {
                let c = char::from_u32(c).expect("no surrogates");
                let iri = format!("{}{c}{}", &template[..at], &template[at..]);
                let is_plain = is_plain(&iri);
                assert!(is_iri(&iri) || !is_plain, "{iri:?}");
                plain_count += usize::from(is_plain);
            }
        }
    }
    assert!(plain_count > 20_000, "most are plain: {plain_count}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8000))]

    #[test]
    fn plain_iris_are_iris(
        scheme in "http://|https://|http:/|urn:|[a-zA-Z0-9+.:-]{0,3}(:(//)?)?",
        host in "[a-z0-9.-]{0,40}([@:\\[\\]%é][0-9a-f]{0,3}){0,2}",
        tail in "([/?#][a-zA-Z0-9._~!$&'()*+,;=:@/-]{0,40}(%[0-9a-fA-F]{0,2}|é|ж|東|\u{E000}|\u{FDD0}|[\\\\^`{|}\"<> \n\u{7F}])?){0,4}",
    ) {
        let iri = format!("{scheme}{host}{tail}");
        prop_assert!(is_iri(&iri) || !is_plain(&iri), "{:?}", iri);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8000))]

    #[test]
    fn known_prefixes_change_nothing(
        start in "http://example.org(:8?/?|[/#?a@%é]{0,3})|https://an.example.org/data/(1/|a#)?",
        ends in proptest::collection::vec("[a-c]{0,20}([/?#:@]|%4?1?|é|[ <\\\\])?[a-c]{0,18}/?", 1..6),
    ) {
        let mut text = String::new();
        let mut starts = Vec::new();
        for end in &ends {
            text.push('<');
            starts.push(text.len());
            text.push_str(&format!("{start}{end}> .\n"));
        }
        let mut known = KnownPrefixes::default();
        for start in starts {
            let with_known = plain_iri_end(&text, start, &mut known);
            let without = plain_iri_end(&text, start, &mut KnownPrefixes::default());
            prop_assert_eq!(with_known, without, "{:?} at {}", text, start);
            if let Some(end) = with_known {
                prop_assert!(is_iri(&text[start..end]), "{:?} at {}", text, start);
            }
        }
    }
}

#[test]
fn prefixes_are_known_to_the_last_separator_but_one() {
    let prefix = |iri: &'static str| {
        let known = KnownPrefix::of(iri.as_bytes());
        let text = std::str::from_utf8(known.bytes).expect("ends behind a slash");
        (text, known.has_fragment)
    };
    assert_eq!(prefix("http://e.org/a/b"), ("http://e.org/a/", false));
    assert_eq!(prefix("http://e.org/a/b/"), ("http://e.org/a/", false));
    assert_eq!(prefix("http://e.org/a#b"), ("http://e.org/a#", true));
    assert_eq!(prefix("http://e.org/a#b/c"), ("http://e.org/a#b/", true));
    assert_eq!(prefix("http://e.org?a/b"), ("http://e.org?a/", false));
    for iri in [
        "http://e.org/",
        "http://e.org",
        "http://",
        "urn:a/b",
        "urn:",
    ] {
        assert_eq!(prefix(iri), ("", false), "{iri}");
    }
}
