//! Bad lines of a lenient load, over several blocks, inputs and threads: all of them are in the file, as they
//! were and in the order of the text, whichever thread met them first.

use std::io::Cursor;
use std::path::Path;

use basalt_loader::{Input, LoadError, LoadOptions, LoadReport, NoProgress, load};
use basalt_rdf::GraphFormat;
use basalt_store::Storage;

/// Lines of an input: more than two blocks of 4 MiB.
const LINES: usize = 120_000;

/// A text with a bad line every so often, and the bad lines with their numbers.
fn text(seed: usize) -> (Vec<u8>, Vec<(usize, Vec<u8>)>) {
    let (mut text, mut bad) = (Vec::new(), Vec::new());
    for number in 1..=LINES {
        let line = match number * (seed + 3) % 1009 {
            0 => format!("<http://d/s{number}> bad line {}", "x".repeat(number % 300)).into_bytes(),
            1 => b"<http://d/s> <http://v/p> \"\xC3\x28 \" .".to_vec(),
            _ => format!(
                "<http://d/subject/{}> <http://v/p{}> \"some text of value {number}\" .",
                number / 4,
                number % 4
            )
            .into_bytes(),
        };
        if matches!(number * (seed + 3) % 1009, 0 | 1) {
            bad.push((number, line.clone()));
        }
        text.extend_from_slice(&line);
        text.extend_from_slice(if number % 2 == 0 { b"\n" } else { b"\r\n" });
    }
    (text, bad)
}

fn options(texts: &[Vec<u8>], errors: &Path, threads: usize) -> LoadOptions {
    let input = |(at, text): (usize, &Vec<u8>)| {
        let reader = Cursor::new(text.clone());
        Input::reader(format!("in{at}.nt"), reader, GraphFormat::NTriples)
    };
    LoadOptions {
        inputs: texts.iter().enumerate().map(input).collect(),
        lenient: true,
        errors: Some(errors.to_owned()),
        threads,
        ..LoadOptions::default()
    }
}

/// The records of a file: what the comment says before the message, and the line.
fn records(file: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut lines = file.split(|byte| *byte == b'\n');
    let mut records = Vec::new();
    while let (Some(comment), Some(line)) = (lines.next(), lines.next()) {
        let comment = String::from_utf8(comment.to_vec()).expect("comments are UTF-8");
        let place = comment.strip_prefix("# ").expect("a comment").to_owned();
        records.push((place, line.to_vec()));
    }
    records
}

fn run(options: LoadOptions) -> Result<LoadReport, LoadError> {
    load(options, Storage::Memory, &NoProgress).map(|(_, report)| report)
}

#[test]
fn all_bad_lines_are_kept_in_the_order_of_the_text() {
    let dir = tempfile::tempdir().expect("a folder");
    let errors = dir.path().join("bad.nt");
    let (texts, bad): (Vec<_>, Vec<_>) = (0..2).map(text).unzip();
    for threads in [1, 3] {
        let report = run(options(&texts, &errors, threads)).expect("it loads");
        let expected: Vec<(usize, &(usize, Vec<u8>))> = (0..)
            .zip(&bad)
            .flat_map(|(input, bad)| bad.iter().map(move |line| (input, line)))
            .collect();
        assert_eq!(report.skipped_lines, expected.len() as u64);
        assert_eq!(report.quads_read + report.skipped_lines, 2 * LINES as u64);
        let found = records(&std::fs::read(&errors).expect("the file is there"));
        assert_eq!(found.len(), expected.len());
        for ((place, line), (input, (number, expected))) in found.iter().zip(&expected) {
            assert!(
                place.starts_with(&format!("in{input}.nt:{number}:")),
                "{place}"
            );
            assert_eq!(line, expected, "{place}");
        }
        for error in &report.skipped {
            assert!(error.raw_line.is_empty(), "the report need not keep lines");
        }
    }
}

#[test]
fn the_file_is_complete_when_there_are_too_many() {
    let dir = tempfile::tempdir().expect("a folder");
    let errors = dir.path().join("bad.nt");
    let (text, bad) = text(1);
    let limited = LoadOptions {
        errors_max: 7,
        ..options(&[text], &errors, 1)
    };
    let error = run(limited).expect_err("there are more");
    assert!(
        matches!(error, LoadError::TooManyErrors { count: 8, .. }),
        "{error}"
    );
    let found = records(&std::fs::read(&errors).expect("the file is there"));
    let found: Vec<&[u8]> = found.iter().map(|(_, line)| line.as_slice()).collect();
    let expected: Vec<&[u8]> = bad
        .iter()
        .take(8)
        .map(|(_, line)| line.as_slice())
        .collect();
    assert_eq!(found, expected, "the one too many is kept too");
    let left = std::fs::read_dir(dir.path()).expect("the folder is there");
    assert_eq!(left.count(), 1, "no temporary file is left");
}

#[test]
fn the_file_is_complete_when_a_document_fails() {
    let dir = tempfile::tempdir().expect("a folder");
    let errors = dir.path().join("bad.nt");
    let mut options = options(&[b"no triple\n".to_vec()], &errors, 2);
    let document = Cursor::new(b"<http://a> <http://b> ".to_vec());
    options
        .inputs
        .push(Input::reader("d.ttl", document, GraphFormat::Turtle));
    let error = run(options).expect_err("documents are strict");
    assert!(matches!(error, LoadError::StrictDocument(_)), "{error}");
    let message = error.to_string();
    assert!(message.starts_with("d.ttl:1:"), "{message}");
    assert!(message.ends_with("(only bad lines of N-Triples and N-Quads can be skipped)"));
    let found = records(&std::fs::read(&errors).expect("the file is there"));
    assert_eq!(found[0].1, b"no triple");
}

#[test]
fn an_input_is_never_overwritten() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("data.nt");
    std::fs::write(&path, "no triple\n").expect("a file");
    let options = LoadOptions {
        inputs: vec![Input::path(&path)],
        ..options(&[], &dir.path().join("./data.nt"), 1)
    };
    let error = run(options).expect_err("the file is an input");
    assert!(
        matches!(error, LoadError::ErrorsFileIsInput { .. }),
        "{error}"
    );
    assert_eq!(std::fs::read(&path).expect("it is there"), b"no triple\n");
}
