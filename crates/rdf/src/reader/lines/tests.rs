//! Tests of the line parser, above all that it reads exactly what rio_turtle reads.

use std::convert::Infallible;

use proptest::prelude::*;
use rio_api::parser::QuadsParser;
use rio_turtle::{NQuadsParser, TurtleError};

use super::super::single_line::quad_view;
use super::*;
use crate::term_view::QuadView;

/// Quads as text, and errors, of a block read leniently.
fn lenient(block: &[u8], format: LineFormat) -> (Vec<String>, Vec<SyntaxError>) {
    let (mut quads, mut errors) = (Vec::new(), Vec::new());
    let mut sink = |quad: QuadView<'_>| {
        quads.push(quad.to_string());
        Ok::<(), Infallible>(())
    };
    let mut on_error = |error| {
        errors.push(error);
        ControlFlow::Continue(())
    };
    let mut scratch = LineScratch::new();
    let count = parse_block(block, format, 1, &mut scratch, &mut sink, &mut on_error);
    assert_eq!(count.ok(), Some(quads.len() as u64));
    (quads, errors)
}

/// What rio_turtle reads of the whole, line by line, skipping bad lines.
fn by_rio(text: &str) -> (Vec<String>, usize) {
    let (mut quads, mut error_count) = (Vec::new(), 0);
    let mut parser = NQuadsParser::new(text.as_bytes());
    while !parser.is_end() {
        let step: Result<(), TurtleError> = parser.parse_step(&mut |q| {
            match quad_view(q.subject, q.predicate.iri, q.object, q.graph_name, || None) {
                Some(view) => quads.push(view.to_string()),
                None => error_count += 1,
            }
            Ok(())
        });
        error_count += usize::from(step.is_err());
    }
    (quads, error_count)
}

fn is_plain(line: &str) -> bool {
    let mut lines = PlainLines::new(line, LineFormat::NQuads);
    let is_plain = lines.next(&mut String::new()).is_some();
    assert!(!is_plain || lines.is_end(), "one line: {line}");
    is_plain
}

#[test]
fn the_usual_lines_are_plain() {
    for line in [
        "",
        " \t\r",
        "# a comment",
        "<http://e/s> <https://e/p?q=1#f> <urn:x:y> .",
        "_:a <http://e/p> _:b-1 .\r",
        "_:a <http://e/p> _:b.",
        "<http://e/s>\t<http://e/p>\t\"a\\\"b\\\\\\n é\"@en-GB <http://e/g> .",
        "<http://e/s> <http://e/é> \"7\"^^<http://e/USD> _:g .",
        "<http://e:80/s> <http://e/%41> \"\"@zh-Hans-CN .",
    ] {
        assert!(is_plain(line), "{line}");
    }
    for line in [
        "<http://e/s> <http://e/p> \"\\u0041\" .",
        "<http://e/s> <http://e/p> \"a\" . # why",
        "_:a.b <http://e/p> \"a\" .",
        "<s> <http://e/p> \"a\" .",
        "<http://e/s> <http://e/p> \"a\"@tlh-x-1 .",
    ] {
        assert!(!is_plain(line), "{line}");
    }
}

#[test]
fn language_tags_keep_their_case() {
    let text = "_:a <http://e/p> \"x\"@EN-gb .\n_:a <http://e/p> \"\\u0022@de\" @FR . #\n";
    let (quads, errors) = lenient(text.as_bytes(), LineFormat::NTriples);
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(quads[0], "_:a <http://e/p> \"x\"@EN-gb .");
    assert_eq!(quads[1], "_:a <http://e/p> \"\\\"@de\"@FR .");
}

#[test]
fn lone_carriage_returns_end_lines() {
    let text = "_:a <http://e/p> _:b .\r# no\r_:a <http://e/p> _:c .\r\r\n_:a <http://e/p> _:d .";
    let (quads, errors) = lenient(text.as_bytes(), LineFormat::NTriples);
    assert!(errors.is_empty(), "{errors:?}");
    assert_eq!(quads.len(), 3);
    // One that is not UTF-8 takes no other with it.
    let text = b"_:a <http://e/p> _:b .\r_:a <http://e/p> \"\xFF\" .\r_:a <http://e/p> _:c .\r\n\
        _:a <http://e/p> \"\xFF\" .\r\n_:a <p> _:c .\n_:a <http://e/p> _:d .";
    let (quads, errors) = lenient(text, LineFormat::NTriples);
    assert_eq!(quads.len(), 3);
    let lines: Vec<_> = errors.iter().map(|e| e.line).collect();
    assert_eq!(lines, [1, 2, 3]);
}

#[test]
fn bad_lines_are_told_and_skipped() {
    let text = b"_:a <http://e/p> _:b .\n_:a <p> _:b .\n_:a <http://e/p> \"\xFF\" .\n\
        <<_:a <http://e/p> _:b>> <http://e/p> _:c .\n_:a <http://e/p> \"x\n_:c <http://e/p> _:d .";
    let (quads, errors) = lenient(text, LineFormat::NTriples);
    assert_eq!(quads.len(), 2);
    let places: Vec<_> = errors.iter().map(|e| (e.line, e.column)).collect();
    assert_eq!(places, [(2, 8), (3, 19), (4, 1), (5, 20)]);
    assert_eq!(errors[1].message, "the byte 0xFF is not UTF-8 here");
    assert_eq!(errors[2].message, "quoted triples are not RDF 1.1");
    assert_eq!(errors[3].message, "the line ends too early");
    let graph = b"_:a <http://e/p> _:b <http://e/g> .";
    assert_eq!(
        lenient(graph, LineFormat::NTriples).1.len(),
        1,
        "no graphs in N-Triples"
    );
}

#[test]
fn strict_stops_and_sink_errors_pass() {
    let mut scratch = LineScratch::new();
    let mut sink = |_: QuadView<'_>| Err("full");
    let text = b"bad\n_:a <http://e/p> _:b .\n";
    let result = parse_block(
        text,
        LineFormat::NQuads,
        7,
        &mut scratch,
        &mut sink,
        &mut strict,
    );
    let error = result.expect_err("a bad line");
    assert_eq!(error.to_string(), "7:1: unexpected character 'b': «bad»");
    let rest = &text[4..];
    let result = parse_block(
        rest,
        LineFormat::NQuads,
        8,
        &mut scratch,
        &mut sink,
        &mut strict,
    );
    assert!(matches!(result, Err(ReadError::Sink("full"))));
}

/// Lines that are statements, nearly statements, and noise.
fn any_line() -> impl Strategy<Value = String> {
    let iri = || "<(http://[a-c]{0,2}(:8)?(/[a-c?@:%é]{0,2})?(#[a#]?)?|https:/?/?e|urn:a|a|http://e/(%41|\\\\u0041|[<\"{ ])?)>";
    let blank = || "_:[a.é0_-]{0,3}";
    let string = "\"([a-c é\t@.]|\\\\[nrt\"\\\\ub]|\\\\u0041|\\\\UFFFFFFFF|\"){0,3}\"";
    let suffix = "|@[a-zA-Z]{1,4}(-[a-zA-Z0-9]{1,4}){0,2}|\\^\\^<http://e/d>|\\^\\^<d>|\\^| @en|@";
    let literal = (string, suffix).prop_map(|(s, t)| s + &t);
    let gap = || prop_oneof![4 => Just(" ".to_owned()), 1 => "[ \t]{0,2}"];
    let resource = || prop_oneof![3 => iri(), 1 => blank()];
    let object = prop_oneof![iri(), blank(), literal];
    let graph = prop_oneof![2 => Just(String::new()), 1 => iri(), 1 => blank()];
    let end =
        prop_oneof![6 => Just(" .".to_owned()), 1 => "[ .#a]{0,3}", 1 => Just(".".to_owned())];
    let statement = (resource(), gap(), iri(), gap(), object, gap(), graph, end)
        .prop_map(|(s, a, p, b, o, c, g, e)| format!("{s}{a}{p}{b}{o}{c}{g}{e}"));
    prop_oneof![8 => statement, 1 => "[ -~é]{0,12}", 1 => "#[ -~]{0,4}| *"]
}

/// Lines as real files hold them: grouped by subject, with few vocabularies.
const REAL_LINES: [&str; 9] = [
    "<http://data.example.org/instances/Offer1> <http://data.example.org/vocabulary/price> \"12.5\"^^<http://data.example.org/vocabulary/USD> .",
    "<http://data.example.org/instances/Offer1> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://data.example.org/vocabulary/Offer> .",
    "<http://data.example.org/instances/Offer1> <http://www.w3.org/2000/01/rdf-schema#label> \"as good as new, and a text of more than sixty-four bytes at that, with \\n\"@en .",
    "<http://data.example.org/instances/Offer1> <http://data.example.org/vocabulary/vendor> <http://data.example.org/instances/Vendor3> <http://data.example.org/graphs/1> .",
    "<http://data.example.org/instances/Offer2> <http://data.example.org/vocabulary/date> \"2008-06-20\"^^<http://www.w3.org/2001/XMLSchema#date> <http://data.example.org/graphs/1> .",
    "<http://data.example.org/instances/Offer2> <http://data.example.org/vocabulary/page> <http://data.example.org/pages/Caf%C3%A9/> .",
    "_:longlabel1 <http://www.w3.org/2000/01/rdf-schema#seeAlso> _:longlabel2 _:longlabel3 .",
    "_:longlabel1 <http://www.w3.org/2000/01/rdf-schema#label> \"caf\u{e9}\" _:longlabel3 .",
    "_:longlabel1.a <urn:uuid:f81d4fae> \"\" .",
];

/// Texts of such lines with a few characters taken out, put in or replaced.
fn nearly_real_text() -> impl Strategy<Value = String> {
    let lines = proptest::collection::vec(proptest::sample::select(&REAL_LINES[..]), 1..8);
    let new = "[<>\"\\\\#%/:@. _\t\r\n.a0é^-]{0,2}";
    let change = (any::<proptest::sample::Index>(), 0..3_usize, new);
    (lines, proptest::collection::vec(change, 0..4)).prop_map(|(lines, changes)| {
        let mut letters: Vec<char> = lines.join("\n").chars().collect();
        for (at, length, new) in changes {
            let start = at.index(letters.len() + 1);
            let end = letters.len().min(start + length);
            letters.splice(start..end, new.chars());
        }
        letters.into_iter().collect()
    })
}

/// Compares with rio, but for the case of language tags, which rio does not keep.
fn assert_read_as_by_rio(text: &str) -> Result<(), TestCaseError> {
    let (quads, errors) = lenient(text.as_bytes(), LineFormat::NQuads);
    // Lone carriage returns end lines here; rio is given them as line feeds.
    let (by_rio, error_count) = by_rio(&text.replace("\r\n", "\n").replace('\r', "\n"));
    let lower = |quads: Vec<String>| -> Vec<String> {
        let quads = quads.into_iter();
        quads.map(|quad| quad.to_ascii_lowercase()).collect()
    };
    prop_assert_eq!(lower(quads), lower(by_rio), "{:?}", text);
    prop_assert_eq!(errors.len(), error_count, "{:?} {:?}", text, errors);
    Ok(())
}

#[test]
fn real_lines_are_plain() {
    for line in &REAL_LINES[..8] {
        assert!(is_plain(line), "{line}");
    }
    let text = REAL_LINES.join("\n");
    let (quads, errors) = lenient(text.as_bytes(), LineFormat::NQuads);
    assert_eq!((quads.len(), errors.len()), (9, 0), "{errors:?}");
}

#[test]
fn long_blocks_are_cut_into_pieces_of_whole_lines() {
    let mut block = Vec::new();
    let mut bad_lines = Vec::new();
    for number in 1..4_000_u64 {
        match number % 500 {
            0 => block.extend_from_slice(b"_:a <http://e/p> \"\xFF\" .\n"),
            1 => block.extend_from_slice(b"_:a <p> _:b .\n"),
            2 => {
                let text = "long ".repeat(20_000);
                block.extend_from_slice(format!("_:a <http://e/p> \"{text}\" .").as_bytes());
            }
            _ => block.extend_from_slice(REAL_LINES[number as usize % 8].as_bytes()),
        }
        if number % 500 < 2 {
            bad_lines.push(number);
        } else {
            block.push(b'\n');
        }
    }
    assert!(block.len() > 10 * PIECE_BYTES);
    let (quads, errors) = lenient(&block, LineFormat::NQuads);
    assert_eq!(quads.len() + errors.len(), 3_999);
    let lines: Vec<u64> = errors.iter().map(|error| error.line).collect();
    assert_eq!(lines, bad_lines);
    let longest = quads.iter().map(String::len).max();
    assert!(longest.is_some_and(|length| length > PIECE_BYTES));
    let unended = &block[..block.len() - 1];
    assert_eq!(lenient(unended, LineFormat::NQuads).0, quads);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn nearly_real_lines_are_read_as_by_rio(text in nearly_real_text()) {
        assert_read_as_by_rio(&text)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn reads_what_rio_reads(lines in proptest::collection::vec(any_line(), 0..6), ends: bool) {
        let mut text = lines.join(if ends { "\r\n" } else { "\n" });
        if ends {
            text.push('\n');
        }
        assert_read_as_by_rio(&text)?;
    }

    #[test]
    fn any_bytes_give_quads_or_errors(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let (quads, errors) = lenient(&bytes, LineFormat::NQuads);
        prop_assert!(quads.len() + errors.len() <= 2 * bytes.len() + 1);
    }
}
