//! Tests of views, buffers and their conversions.

use super::*;

const XSD_INT: &str = "http://www.w3.org/2001/XMLSchema#int";

fn samples() -> Vec<TermView<'static>> {
    vec![
        TermView::Iri("http://e/a"),
        TermView::Blank("b1"),
        TermView::simple("say \"hi\"\\\n\r\t"),
        TermView::language("salut", "fr-CA"),
        TermView::typed("7", XSD_INT),
    ]
}

#[test]
fn xsd_string_is_simple() {
    assert_eq!(TermView::typed("a", XSD_STRING), TermView::simple("a"));
    assert_eq!(LiteralView::simple("a").datatype(), XSD_STRING);
}

#[test]
fn display_is_n_triples() {
    let shown: Vec<String> = samples().iter().map(ToString::to_string).collect();
    assert_eq!(shown[0], "<http://e/a>");
    assert_eq!(shown[1], "_:b1");
    assert_eq!(shown[2], "\"say \\\"hi\\\"\\\\\\n\\r\t\"");
    assert_eq!(shown[3], "\"salut\"@fr-CA");
    assert_eq!(shown[4], "\"7\"^^<http://www.w3.org/2001/XMLSchema#int>");
}

#[test]
fn oxrdf_round_trip_keeps_everything() {
    for term in samples() {
        let owned = term.to_oxrdf();
        assert_eq!(TermView::from(owned.as_ref()), term);
    }
}

#[test]
fn quads_convert_both_ways() {
    let quad = QuadView {
        subject: TermView::Blank("s"),
        predicate: TermView::Iri("http://e/p"),
        object: TermView::language("x", "EN"),
        graph: Some(TermView::Iri("http://e/g")),
    };
    let owned = quad.to_oxrdf().expect("a legal quad");
    assert_eq!(QuadView::from(owned.as_ref()), quad);
    assert_eq!(quad.to_string(), "_:s <http://e/p> \"x\"@EN <http://e/g> .");
    let illegal = QuadView {
        subject: TermView::simple("s"),
        ..quad
    };
    assert!(illegal.to_oxrdf().is_none());
}

#[test]
fn a_buffer_is_refilled_with_any_kind() {
    let mut buf = TermBuf::new();
    for term in samples().into_iter().chain(samples().into_iter().rev()) {
        buf.fill(term);
        assert_eq!(buf.view(), term);
        assert_eq!(TermBuf::from(term), buf);
    }
}
