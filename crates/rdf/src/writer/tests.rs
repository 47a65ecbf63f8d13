//! Tests of the writers: layout, refusals, and that everything written reads back.

use std::convert::Infallible;

use proptest::prelude::*;

use super::*;
use crate::reader::document::read_document;
use crate::reader::lines::strict;
use crate::term_view::TermView;

fn read(text: &[u8], format: GraphFormat) -> Vec<oxrdf::Quad> {
    let mut quads = Vec::new();
    let mut sink = |quad: QuadView<'_>| {
        quads.push(quad.to_oxrdf().expect("a legal quad"));
        Ok::<(), Infallible>(())
    };
    let result = read_document(text, format, None, &mut sink, &mut strict);
    assert!(
        result.is_ok(),
        "{result:?}: {}",
        String::from_utf8_lossy(text)
    );
    quads
}

fn written(quads: &[QuadView<'_>], format: GraphFormat) -> String {
    let prefixes = [("ex", "http://e/"), ("", "http://e/deep/")];
    let mut writer = QuadWriter::with_prefixes(Vec::new(), format, prefixes).expect("prefixes");
    for quad in quads {
        writer.quad(*quad).expect("memory takes all");
    }
    String::from_utf8(writer.finish().expect("memory takes all")).expect("text")
}

fn quad<'a>(s: &'a str, p: &'a str, object: TermView<'a>, graph: Option<&'a str>) -> QuadView<'a> {
    QuadView {
        subject: TermView::Iri(s),
        predicate: TermView::Iri(p),
        object,
        graph: graph.map(TermView::Iri),
    }
}

#[test]
fn trig_groups_what_belongs_together() {
    let number = TermView::typed("5", "http://www.w3.org/2001/XMLSchema#integer");
    let quads = [
        quad("http://e/s", "http://e/p", TermView::simple("a"), None),
        quad(
            "http://e/s",
            "http://e/p",
            TermView::language("b", "EN"),
            None,
        ),
        quad("http://e/s", "http://e/q", number, None),
        quad("http://e/s", "http://e/q", number, Some("http://e/deep/g")),
        quad(
            "http://e/t.x",
            "http://e/q",
            TermView::Iri("http://e/-x"),
            Some("http://e/deep/g"),
        ),
        quad("http://e/s", "http://e/q", number, None),
    ];
    let expected = "@prefix : <http://e/deep/> .\n@prefix ex: <http://e/> .\n\
        ex:s ex:p \"a\" ,\n        \"b\"@EN ;\n    ex:q 5 .\n\
        :g {\nex:s ex:q 5 .\n<http://e/t.x> ex:q <http://e/-x> .\n}\nex:s ex:q 5 .\n";
    assert_eq!(written(&quads, GraphFormat::TriG), expected);
}

#[test]
fn lines_are_escaped_and_nothing_else() {
    let text = TermView::simple("a\"b\\c\nd\re\tf é\u{1}");
    let quads = [quad("http://e/s", "http://e/p", text, Some("http://e/g"))];
    let expected = "<http://e/s> <http://e/p> \"a\\\"b\\\\c\\nd\\re\tf é\u{1}\" <http://e/g> .\n";
    assert_eq!(written(&quads, GraphFormat::NQuads), expected);
}

#[test]
fn terms_cannot_break_out() {
    let evil = quad("http://e/> <x", "http://e/p", TermView::Iri("a b"), None);
    let expected = "<http://e/\\u003E\\u0020\\u003Cx> <http://e/p> <a\\u0020b> .\n";
    assert_eq!(written(&[evil], GraphFormat::NTriples), expected);
}

#[test]
fn what_a_format_cannot_say_is_refused() {
    let named = quad(
        "http://e/s",
        "http://e/p",
        TermView::simple("a"),
        Some("http://e/g"),
    );
    let mut writer = QuadWriter::new(Vec::new(), GraphFormat::Turtle);
    let error = writer.quad(named).expect_err("no graphs in Turtle");
    assert_eq!(
        error.to_string(),
        "Turtle cannot name the graph <http://e/g>"
    );
    let literal = QuadView {
        subject: TermView::simple("x"),
        graph: None,
        ..named
    };
    assert!(writer.quad(literal).is_err());
    assert_eq!(writer.finish().expect("memory"), b"", "nothing was written");
    let prefixes = [("a b", "http://e/")];
    assert!(QuadWriter::with_prefixes(Vec::new(), GraphFormat::TriG, prefixes).is_err());
}

/// One random quad as owned terms.
fn any_quad() -> impl Strategy<Value = oxrdf::Quad> {
    use oxrdf::{BlankNode, GraphName, Literal, NamedNode, NamedOrBlankNode, Term};
    let iri =
        || "http://e/(deep/)?[a-c.-]{0,2}(#é)?|urn:x:[0-9%]{0}a".prop_map(NamedNode::new_unchecked);
    let blank = || "[a-c][a-z0-9]{0,2}".prop_map(BlankNode::new_unchecked);
    let text = || "[ -~\\n\\r\\t\"\\\\é𝄞\u{0}']{0,6}";
    let number = "-?[0-9]{1,2}(\\.[0-9]{0,2})?|true|false|1e5";
    let xsd = "http://www\\.w3\\.org/2001/XMLSchema#(integer|decimal|boolean|double|date)";
    let literal = prop_oneof![
        text().prop_map(Literal::new_simple_literal),
        (text(), "en|de-AT|EN|zh-Hans-CN|x-y")
            .prop_map(|(s, l)| Literal::new_language_tagged_literal_unchecked(s, l)),
        (number, xsd).prop_map(|(s, d)| Literal::new_typed_literal(s, NamedNode::new_unchecked(d))),
        (text(), iri()).prop_map(|(s, d)| Literal::new_typed_literal(s, d)),
    ];
    let subject = prop_oneof![
        iri().prop_map(NamedOrBlankNode::from),
        blank().prop_map(NamedOrBlankNode::from)
    ];
    let object = prop_oneof![
        iri().prop_map(Term::from),
        blank().prop_map(Term::from),
        literal.prop_map(Term::from)
    ];
    let graph = prop_oneof![
        Just(GraphName::DefaultGraph),
        iri().prop_map(GraphName::from),
        blank().prop_map(GraphName::from)
    ];
    let predicate = prop_oneof![iri(), Just(oxrdf::vocab::rdf::TYPE.into_owned()),];
    (subject, predicate, object, graph).prop_map(|(s, p, o, g)| oxrdf::Quad::new(s, p, o, g))
}

proptest! {
    #[test]
    fn everything_written_reads_back(
        mut quads in proptest::collection::vec(any_quad(), 0..12), sorted: bool,
    ) {
        if sorted {
            quads.sort_by_key(ToString::to_string);
        }
        for format in GraphFormat::ALL {
            let mut expected = quads.clone();
            if !format.has_graphs() {
                expected.iter_mut().for_each(|q| q.graph_name = oxrdf::GraphName::DefaultGraph);
            }
            let views: Vec<_> = expected.iter().map(|q| QuadView::from(q.as_ref())).collect();
            let text = written(&views, format);
            prop_assert_eq!(read(text.as_bytes(), format), expected, "{}", text);
        }
    }
}
