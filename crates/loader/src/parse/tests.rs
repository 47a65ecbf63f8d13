//! Several inputs at once, documents in blocks: the outcome is that of one thread and of one run.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::io::{self, Cursor, Read};
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};

use basalt_rdf::reader::document::read_document;
use basalt_rdf::reader::turtle_blocks::BLOCK_BYTES;
use basalt_rdf::{GraphFormat, QuadView};
use basalt_store::{QuadIds, QuadPattern, Snapshot, Storage};

use crate::{Input, LoadError, LoadOptions, LoadReport, NoProgress, Phase, Progress, load};

/// A text with its name and format.
#[derive(Clone)]
struct Text(String, GraphFormat, String);

/// Gives a few bytes at a time, so that other inputs overtake this one.
struct Slow(Cursor<Vec<u8>>);

impl Read for Slow {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        std::thread::yield_now();
        let count = target.len().min(10_000);
        self.0.read(&mut target[..count])
    }
}

fn load_texts(
    texts: &[Text],
    threads: usize,
    progress: &dyn Progress,
) -> Result<(Snapshot, LoadReport), LoadError> {
    let input = |Text(name, format, text): &Text| {
        let reader = Slow(Cursor::new(text.clone().into_bytes()));
        Input::reader(name.as_str(), reader, *format)
    };
    let options = LoadOptions {
        inputs: texts.iter().map(input).collect(),
        threads,
        base: Some("http://base/".to_owned()),
        ..LoadOptions::default()
    };
    load(options, Storage::Memory, progress)
}

fn ids(snapshot: &Snapshot) -> BTreeSet<QuadIds> {
    let mut ids = BTreeSet::new();
    let all = snapshot.matching(&QuadPattern::default(), &mut |quad| {
        ids.insert(quad);
        ControlFlow::Continue(())
    });
    all.expect("the snapshot can be read");
    ids
}

/// Turtle of several blocks with nodes of all kinds; the prefixes change on the way.
fn turtle(statements: usize) -> String {
    let mut text = String::new();
    for i in 0..statements {
        if i % 1_000 == 0 {
            text += &format!(
                "@prefix v: <http://v/{}#> .\n@base <http://b{}/> .\n",
                i % 3,
                i % 7
            );
        }
        text += &format!(
            "<s{i}> v:name \"statement no. {i} . with \\\"quotes\\\"\"@EN, 'x{i}' ;\n  v:link _:n{} ;\n  \
             v:part [ v:size {i}.5 ; v:of ( {i} _:n{} ) ] . # {i} .\n",
            i % 50,
            i % 70
        );
    }
    text
}

#[test]
fn turtle_in_blocks_is_the_document() {
    let text = turtle(25_000);
    assert!(text.len() > 3 * BLOCK_BYTES);
    let mut quad_count = 0;
    let mut iris_and_nodes = BTreeSet::new();
    let mut sink = |quad: QuadView<'_>| {
        quad_count += 1;
        for term in [quad.subject, quad.predicate, quad.object] {
            let term = term.to_string();
            if !term.starts_with('"') {
                iris_and_nodes.insert(term);
            }
        }
        Ok::<(), Infallible>(())
    };
    let format = GraphFormat::Turtle;
    let whole = read_document(
        text.as_bytes(),
        format,
        None,
        &mut sink,
        &mut ControlFlow::Break,
    );
    whole.expect("good Turtle");
    let texts = [Text("a.ttl".to_owned(), format, text)];
    let (one, report) = load_texts(&texts, 1, &NoProgress).expect("loads");
    assert_eq!((report.quads_read, report.duplicates), (quad_count, 0));
    let nodes = iris_and_nodes.len() as u64;
    assert_eq!(one.dictionary().resource_count(), nodes);
    let (many, _) = load_texts(&texts, 4, &NoProgress).expect("loads");
    assert!(ids(&one) == ids(&many));
}

fn texts_of_all_formats() -> Vec<Text> {
    let lines = |name: &str, graph: &str| -> String {
        (0..3_000)
            .map(|i| format!("_:b{} <http://v/p> \"{name} {i}\"{graph} .\n", i % 20))
            .collect()
    };
    let xml: String = (0..500)
        .map(|i| format!("<v:C rdf:nodeID='b{i}'><v:p>{i}</v:p></v:C>\n"))
        .collect();
    let xml = format!(
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns:v='http://v/'>{xml}</rdf:RDF>"
    );
    let mut texts = Vec::new();
    for i in 0..4 {
        let mut add = |extension: &str, format, text| {
            texts.push(Text(format!("{i}.{extension}"), format, text));
        };
        add("nt", GraphFormat::NTriples, lines("a", ""));
        add("ttl", GraphFormat::Turtle, turtle(300));
        add("nq", GraphFormat::NQuads, lines("b", " <http://g/1>"));
        add("rdf", GraphFormat::RdfXml, xml.clone());
        let trig = format!("<http://g/2> {{ {} }}", lines("c", ""));
        add("trig", GraphFormat::TriG, trig);
        let json = "[{\"@id\": \"_:b\", \"http://v/p\": [1, 2]}]".to_owned();
        add("jsonld", GraphFormat::JsonLd, json);
    }
    texts
}

/// Adds up what it hears.
#[derive(Default)]
struct Sums {
    quads: AtomicU64,
    bytes: AtomicU64,
}

impl Progress for Sums {
    fn begin(&self, _phase: Phase) {}

    fn advance(&self, quads: u64, bytes: u64) {
        self.quads.fetch_add(quads, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}

#[test]
fn inputs_at_once_load_as_one_after_the_other() {
    let texts = texts_of_all_formats();
    let (one, first) = load_texts(&texts, 1, &NoProgress).expect("loads");
    for threads in [2, 5] {
        let sums = Sums::default();
        let (many, report) = load_texts(&texts, threads, &sums).expect("loads");
        assert!(ids(&one) == ids(&many), "{threads} threads");
        assert_eq!(report.bytes_read, first.bytes_read);
        assert_eq!(report.quads_read, first.quads_read);
        let bytes: usize = texts.iter().map(|text| text.2.len()).sum();
        assert_eq!(report.bytes_read, bytes as u64);
        assert_eq!(sums.bytes.into_inner(), report.bytes_read);
        assert_eq!(sums.quads.into_inner(), report.quads_read);
    }
}

#[test]
fn the_first_error_in_the_order_of_the_inputs_ends_the_load() {
    let late = turtle(20_000) + "<a> <b> oops .\n" + &turtle(3_000);
    let bad = |name: &str| Text(name.to_owned(), GraphFormat::NTriples, "bad\n".to_owned());
    let texts = [
        Text("late.ttl".to_owned(), GraphFormat::Turtle, late),
        bad("b.nt"),
        bad("c.nt"),
    ];
    let mut sink = |_: QuadView<'_>| Ok::<(), Infallible>(());
    let text = texts[0].2.as_bytes();
    let whole = read_document(text, texts[0].1, None, &mut sink, &mut ControlFlow::Break);
    let expected = whole
        .expect_err("bad Turtle")
        .in_file("late.ttl")
        .to_string();
    for threads in [1, 3] {
        let error = load_texts(&texts, threads, &NoProgress).expect_err("bad inputs");
        assert_eq!(error.to_string(), expected, "{threads} threads");
        let error = load_texts(&texts[1..], threads, &NoProgress).expect_err("bad inputs");
        assert!(error.to_string().starts_with("b.nt:1:"), "{error}");
    }
}

#[test]
fn inputs_that_cannot_be_opened_fail_in_their_turn() {
    let good = Text("good.ttl".to_owned(), GraphFormat::Turtle, turtle(3_000));
    let bad = Text(
        "bad.ttl".to_owned(),
        GraphFormat::Turtle,
        turtle(9_000) + "<",
    );
    for (first, message) in [(good, "'/no/such.nt' does not exist"), (bad, "bad.ttl:")] {
        let Text(name, format, text) = first;
        let options = LoadOptions {
            inputs: vec![
                Input::reader(name, Slow(Cursor::new(text.into_bytes())), format),
                Input::path("/no/such.nt"),
            ],
            threads: 3,
            ..LoadOptions::default()
        };
        let error = load(options, Storage::Memory, &NoProgress).expect_err("missing");
        assert!(error.to_string().starts_with(message), "{error}");
    }
}
