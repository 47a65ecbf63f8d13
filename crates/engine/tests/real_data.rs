//! Real data sets: how regular they are found to be, and that they come out as they went in.
//!
//! The files are found in `BASALT_REAL_DATA_DIR` (default `../shared/data/real` beside the workspace); a
//! set that is not there is said to be skipped. Each set is loaded, checked deeply and dumped; the dump
//! is compared with the parsed input byte for byte, but for the labels of blank nodes.

mod real_sets;

use basalt_engine::dump::{DumpGraph, dump};
use basalt_engine::{
    CheckDepth, Database, GraphFormat, Layout, NoProgress, QuadWriter, SchemaReport,
};
use basalt_rdf::QuadView;
use basalt_rdf::reader::document::read_document;
use basalt_rdf::reader::input;
use basalt_rdf::reader::lines::strict;
use real_sets::{QUDT, files_of, load_options};
use std::collections::HashSet;
use std::path::PathBuf;

/// Distinct quads as N-Quads lines without labels of blank nodes, sorted, and the number of blank nodes.
#[derive(PartialEq, Eq)]
struct Content {
    lines: Vec<String>,
    blank_nodes: usize,
}

impl Content {
    /// Of distinct lines of N-Quads.
    fn of_lines<'a>(lines: impl Iterator<Item = &'a str>) -> Self {
        let mut labels = HashSet::new();
        let mut lines: Vec<String> = lines
            .map(|line| without_labels(line, &mut labels))
            .collect();
        lines.sort_unstable();
        Self {
            lines,
            blank_nodes: labels.len(),
        }
    }
}

/// Takes one term off the front of a line; literals may have blanks inside.
fn first_term(line: &str) -> (&str, &str) {
    let from = if line.starts_with('"') {
        line.rfind('"').unwrap_or(0)
    } else {
        0
    };
    let end = line[from..].find(' ').map_or(line.len(), |at| from + at);
    (&line[..end], line[end..].trim_start_matches(' '))
}

/// A line with `_:` for every blank node, whose labels are collected.
fn without_labels(line: &str, labels: &mut HashSet<String>) -> String {
    let mut out = String::with_capacity(line.len());
    let mut rest = line;
    while !rest.is_empty() {
        let (term, after) = first_term(rest);
        match term.strip_prefix("_:") {
            Some(label) => {
                labels.insert(label.to_owned());
                out.push_str("_: ");
            }
            None => {
                out.push_str(term);
                out.push(' ');
            }
        }
        rest = after;
    }
    out
}

/// What the files say, without the store: parsed and written as N-Quads, blank nodes kept apart by file.
fn content_of_files(files: &[PathBuf]) -> Content {
    let mut distinct = HashSet::new();
    for (file_idx, file) in files.iter().enumerate() {
        let opened = input::Input::open(file).expect("the file opens");
        let format = opened.format().expect("the name tells the format");
        let mut sink = |quad: QuadView<'_>| {
            let mut writer = QuadWriter::new(Vec::new(), GraphFormat::NQuads);
            writer.quad(quad)?;
            let line = String::from_utf8(writer.finish()?).expect("N-Quads is UTF-8");
            // Labels mean something within one file only.
            let line = match line.contains("_:") {
                true => with_prefix(&line, &format!("f{file_idx}")),
                false => line,
            };
            distinct.insert(line.trim_end().to_owned());
            Ok::<(), std::io::Error>(())
        };
        read_document(opened.into_reader(), format, None, &mut sink, &mut strict)
            .expect("the file parses");
    }
    Content::of_lines(distinct.iter().map(String::as_str))
}

/// A line with a prefix before every label of a blank node.
fn with_prefix(line: &str, prefix: &str) -> String {
    let mut out = String::new();
    let mut rest = line.trim_end();
    while !rest.is_empty() {
        let (term, after) = first_term(rest);
        match term.strip_prefix("_:") {
            Some(label) => out.push_str(&format!("_:{prefix}{label} ")),
            None => out.push_str(&format!("{term} ")),
        }
        rest = after;
    }
    out
}

fn content_of_dump(database: &Database) -> Content {
    let mut bytes = Vec::new();
    let count = dump(
        &database.snapshot(),
        &mut bytes,
        GraphFormat::NQuads,
        DumpGraph::All,
    )
    .expect("the store is dumped");
    let text = String::from_utf8(bytes).expect("N-Quads is UTF-8");
    let distinct: HashSet<&str> = text.lines().collect();
    assert_eq!(distinct.len() as u64, count, "the dump has a quad twice");
    Content::of_lines(distinct.into_iter())
}

fn assert_same(expected: &Content, actual: &Content) {
    assert_eq!(expected.lines.len(), actual.lines.len(), "quads");
    let differs = expected
        .lines
        .iter()
        .zip(&actual.lines)
        .find(|(a, b)| a != b);
    assert_eq!(differs, None, "the first line that differs");
    assert_eq!(expected.blank_nodes, actual.blank_nodes, "blank nodes");
}

/// Loads a set, prints its figures, and checks coverage and content.
fn check_set(name: &str, names: &[&str], layouts: &[Layout], coverage_min: f64) {
    let Some(files) = files_of(names) else { return };
    let expected = content_of_files(&files);
    for &layout in layouts {
        let database = Database::in_memory();
        let options = load_options(&files, layout);
        let report = database.load(options, &NoProgress).expect("the set loads");
        let schema = SchemaReport::new(&database.snapshot()).expect("a readable schema");
        eprintln!(
            "{name} {layout:?}: {} quads, coverage {:.4}, {} tables, {:.4} of the cells empty",
            schema.quads,
            schema.coverage,
            schema.tables.len(),
            schema.null_share
        );
        assert_eq!(report.quads_stored, expected.lines.len() as u64);
        assert!(
            (report.coverage() - schema.coverage).abs() < 1e-9,
            "report and schema differ"
        );
        if layout == Layout::Discover {
            assert!(
                schema.coverage >= coverage_min,
                "coverage {:.4}",
                schema.coverage
            );
        }
        database.check(CheckDepth::Deep).expect("a sound store");
        assert_same(&expected, &content_of_dump(&database));
    }
}

#[test]
fn codex_is_covered_and_dumped_as_it_was() {
    check_set("codex-m", &["codex-m.nt.gz"], &[Layout::Discover], 0.90);
}

#[test]
fn vocabularies_are_covered_and_dumped_as_they_were() {
    check_set(
        "vocabularies",
        &["vocabularies.nq.gz"],
        &[Layout::Discover],
        0.90,
    );
}

#[test]
fn music_is_covered_and_dumped_as_it_was_in_every_layout() {
    let layouts = [
        Layout::Discover,
        Layout::AllIrregular,
        Layout::OneTable,
        Layout::HalfDirty,
    ];
    check_set("music", &["music.ttl.gz"], &layouts, 0.90);
}

#[test]
fn units_are_covered_and_dumped_as_they_were() {
    check_set("qudt", QUDT, &[Layout::Discover], 0.90);
}
