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

/// Quads with the blank nodes named by their first occurrence.
fn renamed(quads: &[oxrdf::Quad]) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    let mut number = |label: &str| {
        let known = labels.iter().position(|other| other == label);
        known.unwrap_or_else(|| {
            labels.push(label.to_owned());
            labels.len() - 1
        })
    };
    let lines = quads.iter().map(|quad| {
        let view = QuadView::from(quad.as_ref());
        let terms = [
            Some(view.subject),
            Some(view.predicate),
            Some(view.object),
            view.graph,
        ];
        let shown = terms.into_iter().flatten().map(|term| match term {
            TermView::Blank(label) => format!("_:{}", number(label)),
            term => term.to_string(),
        });
        shown.collect::<Vec<_>>().join(" ")
    });
    lines.collect()
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
            if format == GraphFormat::RdfXml {
                expected.retain(|quad| {
                    let mut alone = QuadWriter::new(Vec::new(), format);
                    alone.quad(QuadView::from(quad.as_ref())).is_ok()
                });
            }
            let views: Vec<_> = expected.iter().map(|q| QuadView::from(q.as_ref())).collect();
            let text = written(&views, format);
            let mut actual = read(text.as_bytes(), format);
            if format == GraphFormat::JsonLd {
                // Its reader gives the types of a node first.
                expected.sort_by_key(ToString::to_string);
                actual.sort_by_key(ToString::to_string);
            }
            match format {
                GraphFormat::RdfXml => prop_assert_eq!(renamed(&actual), renamed(&expected), "{}", text),
                _ => prop_assert_eq!(actual, expected, "{}", text),
            }
        }
    }
}

#[test]
fn rdf_xml_groups_by_subject_and_escapes() {
    let quads = [
        quad(
            "http://e/s",
            "http://e/p",
            TermView::simple("a<b>&\r\n"),
            None,
        ),
        quad(
            "http://e/s",
            "http://f#q",
            TermView::language("x", "de-AT"),
            None,
        ),
        quad(
            "http://e/t",
            "http://e/p.q-1",
            TermView::Iri("http://e/o?a&b"),
            None,
        ),
    ];
    let expected = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
        <rdf:RDF xmlns:rdf=\"http://www.w3.org/1999/02/22-rdf-syntax-ns#\"\n    \
        xmlns=\"http://e/deep/\"\n    xmlns:ex=\"http://e/\">\n\
        <rdf:Description rdf:about=\"http://e/s\">\n  \
        <ex:p>a&lt;b&gt;&amp;&#xD;\n</ex:p>\n  \
        <q xmlns=\"http://f#\" xml:lang=\"de-AT\">x</q>\n\
        </rdf:Description>\n<rdf:Description rdf:about=\"http://e/t\">\n  \
        <ex:p.q-1 rdf:resource=\"http://e/o?a&amp;b\"/>\n</rdf:Description>\n</rdf:RDF>\n";
    assert_eq!(written(&quads, GraphFormat::RdfXml), expected);
}

#[test]
fn rdf_xml_refuses_what_xml_cannot_say() {
    let simple = TermView::simple("x");
    let refused = [
        (
            quad("http://e/s", "http://e/1", simple, None),
            "<http://e/1>",
        ),
        (quad("http://e/s", "http://e/", simple, None), "<http://e/>"),
        (
            quad(
                "http://e/s",
                "http://www.w3.org/1999/02/22-rdf-syntax-ns#li",
                simple,
                None,
            ),
            "#li>",
        ),
        (
            quad("http://e/s", "http://e/p", TermView::simple("a\u{1}"), None),
            "U+0001",
        ),
        (
            quad("http://e/s", "http://e/p", simple, Some("http://e/g")),
            "<http://e/g>",
        ),
    ];
    for (quad, quoted) in refused {
        let mut writer = QuadWriter::new(Vec::new(), GraphFormat::RdfXml);
        let error = writer
            .quad(quad)
            .expect_err("it cannot be written")
            .to_string();
        assert!(
            error.starts_with("RDF/XML ") && error.contains(quoted),
            "{error}"
        );
        let text = writer.finish().expect("memory");
        assert_eq!(read(&text, GraphFormat::RdfXml), [], "nothing was written");
    }
}

#[test]
fn blank_nodes_stay_apart_in_rdf_xml() {
    let labels = ["a", "0", "x_0", "x__3a_", ":", "a.b", "é", "x_", "x"];
    let views: Vec<_> = labels
        .iter()
        .map(|label| QuadView {
            subject: TermView::Blank(label),
            ..quad("http://e/s", "http://e/p", TermView::Blank(label), None)
        })
        .collect();
    let quads = read(
        written(&views, GraphFormat::RdfXml).as_bytes(),
        GraphFormat::RdfXml,
    );
    let distinct: std::collections::BTreeSet<_> =
        quads.iter().map(|q| q.subject.to_string()).collect();
    assert_eq!(distinct.len(), labels.len());
    assert!(
        quads
            .iter()
            .all(|q| q.subject.to_string() == q.object.to_string())
    );
}

#[test]
fn json_ld_is_one_array_of_nodes() {
    let class = TermView::Iri("http://e/C");
    let rdf_type = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
    let quads = [
        quad("http://e/s", rdf_type, class, None),
        quad("http://e/s", rdf_type, TermView::Iri("http://e/D"), None),
        quad(
            "http://e/s",
            "http://e/p",
            TermView::simple("a\"\u{1}"),
            None,
        ),
        quad("http://e/s", rdf_type, class, None),
        quad(
            "http://e/s",
            "http://e/p",
            TermView::language("x", "EN"),
            Some("http://e/g"),
        ),
    ];
    let expected = "[\n{\"@id\":\"http://e/s\",\"@type\":[\"http://e/C\",\"http://e/D\"],\
        \"http://e/p\":[{\"@value\":\"a\\\"\\u0001\"}]},\n\
        {\"@id\":\"http://e/s\",\"@type\":[\"http://e/C\"]},\n\
        {\"@id\":\"http://e/g\",\"@graph\":[{\"@id\":\"http://e/s\",\
        \"http://e/p\":[{\"@language\":\"EN\",\"@value\":\"x\"}]}]}\n]\n";
    assert_eq!(written(&quads, GraphFormat::JsonLd), expected);
}

#[test]
fn what_is_compressed_is_read_again() {
    use crate::reader::input::{Compression, Input};
    use std::io::Read;
    let text = "<http://e/s> <http://e/p> \"x\" .\n".repeat(10_000);
    for compression in [
        None,
        Some(Compression::Gzip),
        Some(Compression::Zstd),
        Some(Compression::Bzip2),
    ] {
        let mut packer = compress::Compressor::new(Vec::new(), compression).expect("memory");
        packer.write_all(text.as_bytes()).expect("memory");
        let packed = packer.finish().expect("memory");
        assert_eq!(packed.len() < text.len() / 10, compression.is_some());
        let input = Input::from_reader("x", None, io::Cursor::new(packed)).expect("text");
        let mut again = String::new();
        input
            .into_reader()
            .read_to_string(&mut again)
            .expect("whole");
        assert!(again == text, "{compression:?}");
    }
}
