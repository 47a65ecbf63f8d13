//! Turtle and TriG read in blocks give what reading in one run gives: the same quads in the same order up to
//! the labels of nodes without one, the same error at the same place.
//!
//! Random documents hold every construct, and are damaged at random; blocks are tiny, so that nearly every place
//! where a document can be cut is one where it is.

mod in_blocks;

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::Read;

use basalt_rdf::reader::document::read_document;
use basalt_rdf::reader::lines::strict;
use basalt_rdf::reader::turtle_blocks::TurtleFormat;
use basalt_rdf::{GraphFormat, QuadView, ReadError, TermView};
use in_blocks::{Taken, read_in_blocks};
use proptest::prelude::*;

const BASE: &str = "http://base/x/y";

/// Quads as text, and the error if there was one.
type Outcome = (Vec<String>, Option<String>);

fn graph_format(format: TurtleFormat) -> GraphFormat {
    match format {
        TurtleFormat::Turtle => GraphFormat::Turtle,
        TurtleFormat::TriG => GraphFormat::TriG,
    }
}

/// Names the nodes without a written label by the order in which they are seen.
#[derive(Default)]
struct Names(HashMap<String, usize>);

impl Names {
    fn show(&mut self, quad: QuadView<'_>) -> String {
        let mut name = |term: TermView<'_>| match term {
            TermView::Blank(label) if is_made_up(label) => {
                let next = self.0.len();
                format!("_:?{}", self.0.entry(label.to_owned()).or_insert(next))
            }
            term => term.to_string(),
        };
        let (subject, object) = (name(quad.subject), name(quad.object));
        let graph = quad.graph.map(&mut name).unwrap_or_default();
        format!("{subject} {} {object} {graph}", quad.predicate)
    }
}

fn is_made_up(label: &str) -> bool {
    let is_digits = |text: &str| text.len() == 8 && text.bytes().all(|b| b.is_ascii_digit());
    label.strip_prefix("riog").is_some_and(is_digits) || label.starts_with('[')
}

fn in_one_run(text: impl Read, format: TurtleFormat, base: Option<&str>) -> Outcome {
    let (mut names, mut quads) = (Names::default(), Vec::new());
    let mut sink = |quad: QuadView<'_>| {
        quads.push(names.show(quad));
        Ok::<(), Infallible>(())
    };
    let result = read_document(text, graph_format(format), base, &mut sink, &mut strict);
    let error = result.err().map(|error: ReadError<_>| error.to_string());
    (quads, error)
}

fn in_blocks(
    text: impl Read,
    format: TurtleFormat,
    base: Option<&str>,
    block_bytes: usize,
) -> (Outcome, Taken) {
    let (mut names, mut quads) = (Names::default(), Vec::new());
    let mut take = |quad: QuadView<'_>| quads.push(names.show(quad));
    let result = read_in_blocks(text, format, base, block_bytes, 3, &mut take);
    match result {
        Ok(taken) => ((quads, None), taken),
        Err(error) => ((quads, Some(error.to_string())), Taken::default()),
    }
}

/// Makes documents from a list of choices.
struct Maker<'c> {
    choices: std::slice::Iter<'c, u16>,
    text: String,
    is_trig: bool,
}

const SPACES: &[&str] = &[
    " ",
    "\n",
    "\t",
    "\r\n",
    "  ",
    " # a . \" ' < { [ comment\n",
    "#.\r",
    "\n\n ",
    "",
];
const IRIS: &[&str] = &[
    "<http://e/a>",
    "<b>",
    "<#c.d>",
    "<../é#.;>",
    "<http://e/\\u0061>",
    "<>",
    "p:a",
    "p:a.b.c",
    ":x",
    "q.r:y\\.",
    "p:%41\\,z",
    ":",
    "p:é",
    "base:PREFIX",
    "prefix:base",
    "p:a-b:c",
];
const LITERALS: &[&str] = &[
    "1",
    "1.5",
    "1.e3",
    "-.5e-2",
    "+7",
    "true",
    "false",
    "\"a . b\"",
    "'c \\' . '",
    "\"\"",
    "''",
    "\"\"\"long \" . \"\" \\\"\"\"\" . \n x\"\"\"",
    "'''é'''",
    "'''. '\n''\\''''",
    "\"tag\"@EN",
    "'t' @de-AT",
    "\"x\"^^p:d",
    "\"\\u00E9\" ^^ <http://e/d>",
    "\"#\"",
    "\"<\"@fr",
];
/// Wrong nearly everywhere.
const ODD_TERMS: &[&str] = &[
    "1.",
    "p:é.",
    "p:1.",
    "<a b>",
    "<?q=\\u003E>",
    "'''a''''",
    "\"a\nb\"",
    "none:x",
    "<<<a> <b> <c>>>",
    "x",
];
const DIRECTIVES: &[&str] = &[
    "@prefix p: <http://p/> .",
    "@prefix p: <rel#> .",
    "PREFIX : <http://d/>",
    "prefix q.r: <../q/>",
    "@prefix : <> .",
    "@prefix base: <b:x> .",
    "@prefix\nprefix: # x >\n<http://f/>\n.",
    "@base <http://other/z> .",
    "BASE <deeper/>",
    "base<../up#f>",
    "@base<http://base/x/y>.",
    "PREFIX p:<http://p/>BASE <http://h/>",
];
const GRAPHS: &[&str] = &[
    "GRAPH <http://g/1>",
    "<g2>",
    "p:g",
    "_:g",
    "[]",
    "graph # c\n :g",
    "",
    "GRAPH [ ]",
    "GRAPH\n_:g",
];

impl Maker<'_> {
    fn choose(&mut self, bound: usize) -> usize {
        usize::from(self.choices.next().copied().unwrap_or(0)) % bound
    }

    fn put(&mut self, from: &[&str]) {
        let at = self.choose(from.len());
        self.text += from[at];
    }

    fn space(&mut self) {
        // Mostly one blank: enough documents should be good.
        match self.choose(3) {
            0 => self.put(SPACES),
            _ => self.text += " ",
        }
    }

    fn object(&mut self, depth: usize) {
        if self.choose(100) == 99 {
            return self.put(ODD_TERMS);
        }
        match self.choose(if depth > 3 { 5 } else { 8 }) {
            0 | 1 => self.put(IRIS),
            2 | 3 => self.put(LITERALS),
            4 => self.put(&["_:b", "_:b.c", "_:riog00000001", "[]", "_:1", "[ \n]", "()"]),
            5 | 6 => {
                self.text += "[";
                self.space();
                self.predicates(depth + 1);
                self.text += "]";
            }
            _ => {
                self.text += "(";
                for _ in 0..self.choose(3) {
                    self.space();
                    self.object(depth + 1);
                }
                self.space();
                self.text += ")";
            }
        }
    }

    fn predicates(&mut self, depth: usize) {
        loop {
            self.put(&["a", "<http://e/p>", "p:b", ":a.b", "<r>"]);
            self.text += " ";
            self.object(depth);
            self.space();
            // The choice for no choice left must end it.
            match self.choose(5) {
                4 => self.text += "; ",
                3 => {
                    self.text += ", ";
                    self.object(depth);
                    self.text += " ";
                    return;
                }
                _ => return,
            }
        }
    }

    fn triples(&mut self) {
        match self.choose(8) {
            7 => {
                self.text += "[";
                self.predicates(2);
                self.text += "]";
            }
            1 => self.put(&["_:s", "[]", "_:riog00000002"]),
            _ => self.put(IRIS),
        }
        self.text += " ";
        self.predicates(0);
    }

    fn statement(&mut self) {
        match self.choose(8) {
            0 | 1 => self.put(DIRECTIVES),
            2 | 3 if self.is_trig => {
                self.put(GRAPHS);
                self.space();
                self.text += "{";
                for _ in 0..self.choose(5) {
                    self.space();
                    self.triples();
                    self.text += ".";
                }
                self.text += " }";
            }
            _ => {
                self.triples();
                self.text += ".";
            }
        }
        self.space();
    }

    /// Changes some bytes; blanks stand for damage that makes no UTF-8.
    fn damaged(&mut self) -> Vec<u8> {
        let mut bytes = std::mem::take(&mut self.text).into_bytes();
        const BITS: &[&[u8]] = &[
            b"", b".", b"\"", b" . ", b"<", b"}", b"{", b"#", b"\xFF", b"\xC3", b"\n", b"'''",
            b"[", b"@base",
        ];
        for _ in 0..self.choose(6).saturating_sub(3) {
            let at = self.choose(bytes.len() + 1);
            let end = (at + self.choose(3)).min(bytes.len());
            let with = BITS[self.choose(BITS.len())];
            bytes.splice(at..end, with.iter().copied());
        }
        bytes
    }
}

fn document(choices: &[u16], is_trig: bool) -> Vec<u8> {
    let mut maker = Maker {
        choices: choices.iter(),
        text: String::new(),
        is_trig,
    };
    let is_declared = maker.choose(8) < 7;
    if is_declared {
        maker.text = "@prefix p: <http://p/> . @prefix : <http://e/#> .\nPREFIX q.r: <http://q/> \
            prefix base: <http://b/> @prefix prefix: <http://pp/>.\n"
            .to_owned();
    }
    while !maker.choices.as_slice().is_empty() {
        maker.statement();
        if maker.choices.len() < 12 {
            break;
        }
    }
    maker.damaged()
}

fn formats() -> impl Strategy<Value = TurtleFormat> {
    prop_oneof![Just(TurtleFormat::Turtle), Just(TurtleFormat::TriG)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4_000))]

    #[test]
    fn blocks_give_what_one_run_gives(
        choices in proptest::collection::vec(any::<u16>(), 1..160),
        format in formats(),
        has_base in any::<bool>(),
        block_bytes in 1_usize..300,
    ) {
        let text = document(&choices, format == TurtleFormat::TriG);
        let base = has_base.then_some(BASE);
        let expected = in_one_run(text.as_slice(), format, base);
        let (actual, _) = in_blocks(text.as_slice(), format, base, block_bytes);
        prop_assert_eq!(actual, expected, "{}", String::from_utf8_lossy(&text));
    }
}

/// The random documents would prove little if few of them were good or few were cut.
#[test]
fn random_documents_are_good_and_cut_often_enough() {
    let (mut good, mut cut, mut rest, mut quads) = (0, 0, 0, 0);
    let mut state = 1_u64;
    for i in 0..2_000 {
        let choices: Vec<u16> = (0..140)
            .map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                (state >> 40) as u16
            })
            .collect();
        let format = [TurtleFormat::Turtle, TurtleFormat::TriG][i % 2];
        let text = document(&choices, format == TurtleFormat::TriG);
        let ((found, error), taken) = in_blocks(text.as_slice(), format, Some(BASE), 30);
        good += usize::from(error.is_none());
        cut += usize::from(taken.blocks > 3);
        rest += usize::from(error.is_none() && taken.has_rest);
        quads += found.len();
    }
    assert!(good > 400 && cut > 200, "{good} good, {cut} cut");
    assert!(rest < good / 4, "{rest} of {good} read the rest in one run");
    assert!(quads > 8_000, "{quads} quads");
}

#[test]
fn long_graphs_are_cut_between_their_statements() {
    let statement = "  :s :p \"a . b } \", [ :q 1. ] ; :r ( 1. 2 ) .\n".replace("1. ", "1 ");
    for head in ["GRAPH <g>", "_:g", "", ":g\n"] {
        let text = format!(
            "@prefix : <http://e/> .\n{head} {{\n{}}}\n:x :y _:g .\n",
            statement.repeat(40)
        );
        let base = Some(BASE);
        let expected = in_one_run(text.as_bytes(), TurtleFormat::TriG, base);
        let (actual, taken) = in_blocks(text.as_bytes(), TurtleFormat::TriG, base, 200);
        assert_eq!(expected.1, None);
        assert_eq!(actual, expected);
        assert!(taken.blocks > 8 && !taken.has_rest, "{taken:?}");
    }
    // Another node each time, or more than a name: no cut inside.
    for head in ["[]", ":a :b :c.GRAPH :g"] {
        let text = format!(
            "@prefix : <http://e/> .\n{head} {{\n{}}}\n",
            statement.repeat(40)
        );
        let (actual, taken) = in_blocks(text.as_bytes(), TurtleFormat::TriG, None, 200);
        assert_eq!(
            actual,
            in_one_run(text.as_bytes(), TurtleFormat::TriG, None)
        );
        assert!(taken.blocks < 4 && !taken.has_rest, "{taken:?}");
    }
}

#[test]
fn errors_keep_their_place_and_their_line() {
    let good = "<http://e/é> <http://e/p> \"x\" . ".repeat(20);
    for bad in [
        "<a",
        "<http://e/a> ?",
        "<http://e/a> x:y 1 .",
        "<< <a:a> <a:b> 1 >>",
        "\u{1F600}",
    ] {
        for text in [
            format!("{good}\n\n{good}{bad}"),
            format!("{good}{bad} .\n{good}"),
        ] {
            for format in [TurtleFormat::Turtle, TurtleFormat::TriG] {
                let expected = in_one_run(text.as_bytes(), format, None);
                assert!(expected.1.is_some(), "{bad}");
                for block_bytes in [1, 40, 100_000] {
                    let (actual, _) = in_blocks(text.as_bytes(), format, None, block_bytes);
                    assert_eq!(actual, expected, "{text}");
                }
            }
        }
    }
}

/// Fails behind its bytes.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, target: &mut [u8]) -> std::io::Result<usize> {
        match self.0.read(target)? {
            0 if !target.is_empty() => Err(std::io::Error::other("the disk is gone")),
            count => Ok(count),
        }
    }
}

#[test]
fn failed_reads_come_behind_the_quads_and_errors_in_front_of_them() {
    let good = "<a:a> <a:b> <a:c> .\n".repeat(9);
    for (text, message) in [
        (good.clone(), "the disk is gone"),
        (good + "<a:a> ?", "'?'"),
    ] {
        let expected = in_one_run(Failing(text.as_bytes()), TurtleFormat::Turtle, None);
        assert_eq!(expected.0.len(), 9);
        for block_bytes in [1, 50, 1_000] {
            let failing = Failing(text.as_bytes());
            let (actual, _) = in_blocks(failing, TurtleFormat::Turtle, None, block_bytes);
            assert_eq!(actual, expected);
            assert!(actual.1.is_some_and(|error| error.contains(message)));
        }
    }
}

#[test]
fn labels_made_up_differ_from_block_to_block_and_from_written_ones() {
    let text = "[] <a:p> _:riog00000001 .\n".repeat(30);
    let mut labels = std::collections::BTreeSet::new();
    let mut take = |quad: QuadView<'_>| {
        for term in [quad.subject, quad.object] {
            labels.insert(term.to_string());
        }
    };
    let taken = read_in_blocks(
        text.as_bytes(),
        TurtleFormat::Turtle,
        None,
        60,
        4,
        &mut take,
    );
    assert!(taken.is_ok_and(|taken| taken.blocks > 9));
    assert_eq!(labels.len(), 31, "{labels:?}");
}
