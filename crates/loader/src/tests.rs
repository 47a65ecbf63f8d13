//! Loads of small texts, random data in every layout, failures, additions, and real data.

use std::collections::BTreeSet;
use std::io::Cursor;
use std::ops::ControlFlow;
use std::path::PathBuf;

use basalt_rdf::{GraphFormat, QuadView, TermBuf, TermId};
use basalt_store::{QuadIds, QuadPattern, Snapshot, Storage, StoreError};
use proptest::prelude::*;

use crate::{Input, Layout, LoadError, LoadOptions, LoadReport, NoProgress, load};

pub(crate) const LAYOUTS: [Layout; 4] = [
    Layout::Discover,
    Layout::AllIrregular,
    Layout::OneTable,
    Layout::HalfDirty,
];

pub(crate) fn text_input(name: &str, text: &str, format: GraphFormat) -> Input {
    Input::reader(name, Cursor::new(text.as_bytes().to_vec()), format)
}

pub(crate) fn options(text: &str, format: GraphFormat) -> LoadOptions {
    LoadOptions {
        inputs: vec![text_input("test", text, format)],
        threads: 2,
        ..LoadOptions::default()
    }
}

fn load_text(text: &str, format: GraphFormat) -> (Snapshot, LoadReport) {
    load(options(text, format), Storage::Memory, &NoProgress).expect("the text loads")
}

/// A quad as its N-Quads line.
fn line_of(snapshot: &Snapshot, quad: QuadIds) -> Result<String, StoreError> {
    let mut terms: [TermBuf; 4] = Default::default();
    let ids = [quad.subject, quad.predicate, quad.object, quad.graph];
    for (buf, id) in terms.iter_mut().zip(ids) {
        if id != TermId::DEFAULT_GRAPH {
            snapshot.dictionary().decode(id, buf)?;
        }
    }
    let [subject, predicate, object, graph] = &terms;
    let view = QuadView {
        subject: subject.view(),
        predicate: predicate.view(),
        object: object.view(),
        graph: (quad.graph != TermId::DEFAULT_GRAPH).then(|| graph.view()),
    };
    Ok(view.to_string())
}

/// Every quad as a line; each must come once.
pub(crate) fn lines_of(snapshot: &Snapshot) -> BTreeSet<String> {
    let mut ids = Vec::new();
    snapshot
        .matching(&QuadPattern::default(), &mut |quad| {
            ids.push(quad);
            ControlFlow::Continue(())
        })
        .expect("the snapshot can be read");
    let mut lines = BTreeSet::new();
    for quad in ids {
        let line = line_of(snapshot, quad).expect("every id has a term");
        assert!(!lines.contains(&line), "twice: {line}");
        lines.insert(line);
    }
    lines
}

pub(crate) fn lines(text: &str) -> BTreeSet<String> {
    text.lines().map(str::to_owned).collect()
}

/// Offers and vendors, every offer with some optional predicates.
pub(crate) fn shop(offers: usize) -> String {
    let mut text = String::new();
    let rdf_type = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>";
    let integer = "<http://www.w3.org/2001/XMLSchema#integer>";
    for i in 0..10 {
        text += &format!("<http://d/vendor{i}> {rdf_type} <http://v/Vendor> .\n");
        text += &format!("<http://d/vendor{i}> <http://v/label> \"vendor no. {i}\"@en .\n");
    }
    for i in 0..offers {
        let offer = format!("<http://d/offer{i}>");
        text += &format!("{offer} {rdf_type} <http://v/Offer> .\n");
        text += &format!("{offer} <http://v/vendor> <http://d/vendor{}> .\n", i % 10);
        text += &format!("{offer} <http://v/price> \"{}\"^^{integer} .\n", i * 7);
        text += &format!("{offer} <http://v/text> \"unique text {i}\" .\n");
        if i % 3 == 0 {
            text += &format!("{offer} <http://v/tag> <http://d/tag{}> .\n", i % 5);
            text += &format!("{offer} <http://v/tag> <http://d/tag{}> .\n", 1 + i % 5);
        }
    }
    text
}

#[test]
fn a_shop_becomes_two_tables_of_several_segments() {
    let text = shop(40_000);
    let (snapshot, report) = load_text(&text, GraphFormat::NTriples);
    let names: Vec<(&str, u64)> = report
        .tables
        .iter()
        .map(|t| (t.name.as_str(), t.rows))
        .collect();
    assert_eq!(names, [("Vendor", 10), ("Offer", 40_000)]);
    assert_eq!(report.irregular_quads, 0);
    assert_eq!(report.quads_stored, lines(&text).len() as u64);
    assert_eq!(lines_of(&snapshot), lines(&text));
    let offers = &snapshot.tables()[1];
    assert_eq!((offers.name(), offers.rows()), ("Offer", 40_000));
    snapshot
        .check(basalt_store::CheckDepth::Deep)
        .expect("a sound version");
}

#[test]
fn ids_do_not_depend_on_the_number_of_threads() {
    // Several blocks, so that threads meet the terms in different orders.
    let text = shop(30_000);
    assert!(text.len() > 2 * basalt_rdf::reader::blocks::BLOCK_BYTES);
    let ids = |threads| {
        let options = LoadOptions {
            threads,
            ..options(&text, GraphFormat::NTriples)
        };
        let (snapshot, _) = load(options, Storage::Memory, &NoProgress).expect("loads");
        let mut ids = BTreeSet::new();
        let all = snapshot.matching(&QuadPattern::default(), &mut |quad| {
            ids.insert(quad);
            ControlFlow::Continue(())
        });
        all.expect("the snapshot can be read");
        (ids, snapshot.file_bytes())
    };
    assert!(ids(1) == ids(4));
}

#[test]
fn ungrouped_and_repeated_lines_load_alike() {
    let text = shop(300);
    let mut shuffled: Vec<&str> = text.lines().chain(text.lines().take(50)).collect();
    shuffled.sort_by_key(|line| line.len() * 7919 % 101);
    let shuffled = shuffled.join("\n");
    let (snapshot, report) = load_text(&shuffled, GraphFormat::NTriples);
    assert_eq!(report.duplicates, 50);
    assert_eq!(report.irregular_quads, 0);
    assert_eq!(lines_of(&snapshot), lines(&text));
}

#[test]
fn graphs_keep_their_quads_apart() {
    let mut text = String::new();
    for i in 0..20 {
        for p in 0..3 {
            text += &format!("<http://d/s{i}> <http://v/p{p}> \"{i}\" <http://g/home> .\n");
        }
        text += &format!("<http://d/s{i}> <http://v/p0> \"{i}\" <http://g/other> .\n");
        text += &format!("<http://d/s{i}> <http://v/p0> \"{i}\" .\n");
    }
    for layout in LAYOUTS {
        let options = LoadOptions {
            layout,
            ..options(&text, GraphFormat::NQuads)
        };
        let (snapshot, report) = load(options, Storage::Memory, &NoProgress).expect("loads");
        assert_eq!(lines_of(&snapshot), lines(&text), "{layout:?}");
        let graphs: Vec<u64> = snapshot.named_graphs().iter().map(|g| g.1).collect();
        assert_eq!(graphs.iter().sum::<u64>(), 80, "{layout:?}");
        if layout == Layout::Discover {
            assert_eq!((report.quads_in_cells, report.irregular_quads), (60, 40));
        }
        if layout == Layout::HalfDirty {
            assert!(report.quads_in_cells > 10 && report.quads_in_cells < 50);
        }
    }
}

#[test]
fn rows_may_have_different_home_graphs() {
    let mut text = String::new();
    for i in 0..30 {
        for p in 0..3 {
            text += &format!(
                "<http://d/s{i}> <http://v/p{p}> \"{i}\" <http://g/{}> .\n",
                i % 4
            );
        }
    }
    let (snapshot, report) = load_text(&text, GraphFormat::NQuads);
    assert_eq!((report.tables.len(), report.irregular_quads), (1, 0));
    assert_eq!(lines_of(&snapshot), lines(&text));
    assert_eq!(snapshot.tables()[0].constant_graph(), None);
}

#[test]
fn a_bad_line_names_its_place_and_leaves_the_store() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let storage = Storage::Directory(folder.path().join("store"));
    let good = shop(20);
    load(
        options(&good, GraphFormat::NTriples),
        storage.clone(),
        &NoProgress,
    )
    .expect("loads");
    let bad = format!("{}<http://d/x> oops .\n", shop(30));
    let line = bad.lines().count();
    let error =
        load(options(&bad, GraphFormat::NTriples), storage, &NoProgress).expect_err("a bad line");
    assert!(matches!(error, LoadError::Syntax(_)));
    let message = error.to_string();
    assert!(
        message.starts_with(&format!("test:{line}:14:")),
        "{message}"
    );
    assert!(message.contains("oops"), "{message}");
    let snapshot = Snapshot::open(&folder.path().join("store")).expect("the store opens");
    assert_eq!(lines_of(&snapshot), lines(&good));
    let entries = std::fs::read_dir(folder.path().join("store")).expect("a folder");
    let versions = entries
        .filter_map(Result::ok)
        .filter(|e| e.file_type().is_ok_and(|t| t.is_dir()))
        .count();
    assert_eq!(versions, 1, "nothing of the failed load is left");
}

#[test]
fn lenient_loads_skip_and_report_bad_lines_up_to_a_limit() {
    let text =
        "<http://d/a> <http://v/p> \"1\" .\nbad 1\n<http://d/b> <http://v/p> \"2\" .\nbad 2\n";
    let lenient = |errors_max| LoadOptions {
        lenient: true,
        errors_max,
        ..options(text, GraphFormat::NTriples)
    };
    let (snapshot, report) = load(lenient(2), Storage::Memory, &NoProgress).expect("loads");
    assert_eq!(snapshot.quad_count(), 2);
    assert_eq!(report.skipped_lines, 2);
    let places: Vec<u64> = report.skipped.iter().map(|e| e.line).collect();
    assert_eq!(places, [2, 4]);
    let error = load(lenient(1), Storage::Memory, &NoProgress).expect_err("two are too many");
    assert!(
        matches!(error, LoadError::TooManyErrors { count: 2, .. }),
        "{error}"
    );
}

#[test]
fn adding_keeps_one_of_each_quad_and_blank_nodes_apart() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let storage = Storage::Directory(folder.path().to_path_buf());
    let first = shop(50) + "_:x <http://v/name> \"1.50\"^^<http://v/USD> .\n";
    let second = shop(60) + "_:x <http://v/name> \"1.50\"^^<http://v/USD> .\n";
    let (_, before) = load(
        options(&first, GraphFormat::NTriples),
        storage.clone(),
        &NoProgress,
    )
    .expect("loads");
    let (snapshot, report) = load(
        options(&second, GraphFormat::NTriples),
        storage,
        &NoProgress,
    )
    .expect("adds");
    assert_eq!(report.quads_before, before.quads_stored);
    let without_blanks = |all: BTreeSet<String>| -> BTreeSet<String> {
        all.into_iter().filter(|l| !l.starts_with("_:")).collect()
    };
    assert_eq!(
        without_blanks(lines_of(&snapshot)),
        without_blanks(lines(&second))
    );
    let blanks: Vec<String> = lines_of(&snapshot)
        .into_iter()
        .filter(|l| l.starts_with("_:"))
        .collect();
    assert_eq!(blanks.len(), 2, "two files, two blank nodes: {blanks:?}");
    assert_eq!(report.duplicates, before.quads_stored - 1);
}

#[test]
fn blank_nodes_are_scoped_to_their_file() {
    let text = "_:a <http://v/p> _:b .\n_:b <http://v/p> _:a .\n";
    let input = || text_input("test", text, GraphFormat::NTriples);
    let options = LoadOptions {
        inputs: vec![input(), input()],
        ..LoadOptions::default()
    };
    let (snapshot, _) = load(options, Storage::Memory, &NoProgress).expect("loads");
    assert_eq!(snapshot.quad_count(), 4);
    assert_eq!(snapshot.dictionary().resource_count(), 5);
}

#[test]
fn turtle_trig_and_a_target_graph() {
    let turtle = "@prefix v: <http://v/> . <a> v:p 1, 2.50, \"x\"@EN ; v:q [ v:r true ] .";
    let trig = "<http://g/1> { <http://d/s> <http://v/p> \"in a graph\" }";
    let options = LoadOptions {
        inputs: vec![
            text_input("a.ttl", turtle, GraphFormat::Turtle),
            text_input("b.trig", trig, GraphFormat::TriG),
        ],
        graph: Some("http://g/target".to_owned()),
        base: Some("http://base/".to_owned()),
        ..LoadOptions::default()
    };
    let (snapshot, report) = load(options, Storage::Memory, &NoProgress).expect("loads");
    assert_eq!(report.bytes_read, (turtle.len() + trig.len()) as u64);
    let all = lines_of(&snapshot);
    let expected = [
        "<http://base/a> <http://v/p> \"x\"@EN <http://g/target> .",
        "<http://base/a> <http://v/p> \"2.50\"^^<http://www.w3.org/2001/XMLSchema#decimal> <http://g/target> .",
        "<http://d/s> <http://v/p> \"in a graph\" <http://g/1> .",
    ];
    for line in expected {
        assert!(all.contains(line), "{line} is in {all:#?}");
    }
    assert_eq!(all.len(), 6);
}

#[test]
fn what_cannot_be_loaded_says_why() {
    let with = |input: Input| {
        let options = LoadOptions {
            inputs: vec![input],
            ..LoadOptions::default()
        };
        load(options, Storage::Memory, &NoProgress)
            .err()
            .map(|e| e.to_string())
    };
    let missing = with(Input::path("/no/such/file.nt")).expect("no such file");
    assert!(missing.contains("/no/such/file.nt"), "{missing}");
    let reader = Box::new(Cursor::new(Vec::new()));
    let source = crate::InputSource::Reader {
        name: "stream".to_owned(),
        reader,
    };
    let unknown = with(Input {
        source,
        format: None,
    })
    .expect("no format");
    assert!(unknown.contains("'stream'"), "{unknown}");
    let turtle = with(text_input(
        "t.ttl",
        "<http://a> <http://b> ",
        GraphFormat::Turtle,
    ));
    assert!(turtle.is_some_and(|m| m.starts_with("t.ttl:")));
    for graph in ["relative", "http://g> <x", ""] {
        let options = LoadOptions {
            graph: Some(graph.to_owned()),
            ..options("", GraphFormat::NTriples)
        };
        let error = load(options, Storage::Memory, &NoProgress).expect_err("no absolute IRI");
        assert!(matches!(error, LoadError::InvalidGraph { .. }), "{error}");
    }
}

#[test]
fn nothing_loads_to_an_empty_store() {
    for layout in LAYOUTS {
        let options = LoadOptions {
            layout,
            ..options("\n# nothing\n", GraphFormat::NTriples)
        };
        let (snapshot, report) = load(options, Storage::Memory, &NoProgress).expect("loads");
        assert_eq!((snapshot.quad_count(), report.quads_stored), (0, 0));
    }
}

#[test]
fn terms_come_back_exactly() {
    let xsd = "http://www.w3.org/2001/XMLSchema#";
    let mut text = String::new();
    let literals = [
        format!("\"01\"^^<{xsd}integer>"),
        format!("\"1\"^^<{xsd}integer>"),
        format!("\"1.0\"^^<{xsd}decimal>"),
        format!("\"2020-02-30\"^^<{xsd}date>"),
        format!("\"2020-02-29Z\"^^<{xsd}date>"),
        "\"\"".to_owned(),
        "\"line\\nbreak \\\"quoted\\\" \\\\\"".to_owned(),
        "\"ünïcödé 🌋\"@de-AT".to_owned(),
        "\"12.34\"^^<http://v/USD>".to_owned(),
        "\"text\"^^<http://v/USD>".to_owned(),
    ];
    for (i, literal) in literals.iter().enumerate() {
        for row in 0..9 {
            text += &format!("<http://d/s{row}> <http://v/p{}> {literal} .\n", i % 4);
        }
    }
    for layout in LAYOUTS {
        let options = LoadOptions {
            layout,
            ..options(&text, GraphFormat::NTriples)
        };
        let (snapshot, _) = load(options, Storage::Memory, &NoProgress).expect("loads");
        assert_eq!(lines_of(&snapshot), lines(&text), "{layout:?}");
    }
}

pub(crate) fn random_line() -> impl Strategy<Value = String> {
    let object = prop_oneof![
        (0..25u32).prop_map(|n| format!("<http://d/s{n}>")),
        (0..9u32).prop_map(|n| format!("\"{n}\"^^<http://www.w3.org/2001/XMLSchema#integer>")),
        (0..9u32).prop_map(|n| format!("\"text {n}\"")),
        (0..3u32).prop_map(|n| format!("\"text {n}\"@en")),
        Just("\"true\"^^<http://www.w3.org/2001/XMLSchema#boolean>".to_owned()),
        Just("\"2024-01-02\"^^<http://www.w3.org/2001/XMLSchema#date>".to_owned()),
    ];
    let graph = prop_oneof![
        4 => Just(String::new()),
        1 => (0..2u32).prop_map(|n| format!("<http://g/{n}> ")),
    ];
    (0..25u32, 0..6u32, object, graph)
        .prop_map(|(s, p, o, g)| format!("<http://d/s{s}> <http://v/p{p}> {o} {g}."))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_layout_holds_exactly_the_input(
        rows in prop::collection::vec(random_line(), 0..250),
        threads in 1usize..4,
        table_rows_min in 1u64..9,
    ) {
        let text = rows.iter().map(|r| format!("{r}\n")).collect::<String>();
        for layout in LAYOUTS {
            let mut options = LoadOptions { layout, threads, ..options(&text, GraphFormat::NQuads) };
            options.settings.table_rows_min = table_rows_min;
            let (snapshot, report) = load(options, Storage::Memory, &NoProgress)
                .map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(lines_of(&snapshot), lines(&text), "{:?}", layout);
            prop_assert_eq!(report.quads_stored, snapshot.quad_count());
            let check = snapshot.check(basalt_store::CheckDepth::Deep);
            prop_assert!(check.is_ok(), "{:?}: {:?}", layout, check.err());
        }
    }
}

/// Loads a real data set, unless it is not there.
fn load_real(name: &str, layout: Layout) -> Option<(Snapshot, LoadReport)> {
    let folder = std::env::var_os("BASALT_REAL_DATA_DIR").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/real"),
        PathBuf::from,
    );
    let path = folder.join(name);
    if !path.exists() {
        eprintln!(
            "skipped: {} is not there (set BASALT_REAL_DATA_DIR)",
            path.display()
        );
        return None;
    }
    let options = LoadOptions {
        inputs: vec![Input::path(path)],
        layout,
        ..LoadOptions::default()
    };
    Some(load(options, Storage::Memory, &NoProgress).expect("real data loads"))
}

#[test]
fn real_data_is_mostly_tables() {
    let names = [
        "codex-m.nt.gz",
        "music.ttl.gz",
        "vocabularies.nq.gz",
        "qudt-VOCAB_QUDT-CONSTANTS.ttl.gz",
        "qudt-VOCAB_QUDT-QUANTITY-KINDS-ALL.ttl.gz",
        "qudt-VOCAB_QUDT-UNITS-ALL.ttl.gz",
    ];
    for name in names {
        let Some((snapshot, report)) = load_real(name, Layout::Discover) else {
            return;
        };
        eprintln!(
            "{name}: {} quads, coverage {:.3}, {} tables, threshold {}, {:?}",
            report.quads_stored,
            report.coverage(),
            report.tables.len(),
            report.threshold,
            report.phases,
        );
        for trial in &report.trials {
            eprintln!("    {trial:?}");
        }
        for table in report.tables.iter().take(12) {
            eprintln!(
                "    {} {} rows, {} columns",
                table.name, table.rows, table.columns
            );
        }
        assert!(report.coverage() >= 0.9, "{name}: {}", report.coverage());
        assert_eq!(snapshot.quad_count(), report.quads_stored);
    }
}

#[test]
fn real_data_is_the_same_in_every_layout() {
    let name = "qudt-VOCAB_QUDT-CONSTANTS.ttl.gz";
    let Some((all_irregular, _)) = load_real(name, Layout::AllIrregular) else {
        return;
    };
    let without_blanks = |snapshot: &Snapshot| -> BTreeSet<String> {
        lines_of(snapshot)
            .into_iter()
            .filter(|l| !l.contains("_:"))
            .collect()
    };
    let expected = without_blanks(&all_irregular);
    for layout in [Layout::Discover, Layout::HalfDirty] {
        let (snapshot, _) = load_real(name, layout).expect("it was there a moment ago");
        assert_eq!(without_blanks(&snapshot), expected, "{layout:?}");
        assert_eq!(snapshot.quad_count(), all_irregular.quad_count());
    }
}
