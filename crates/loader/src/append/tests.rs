//! Loads in pieces against one load of everything: the same quads, sound versions, tables that grow.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use basalt_rdf::{GraphFormat, TermId, TermView};
use basalt_store::{CheckDepth, QuadIds, QuadPattern, Snapshot, Storage};
use proptest::prelude::*;

use crate::tests::{LAYOUTS, lines, lines_of, options, random_line, shop, text_input};
use crate::{Addition, Layout, LoadOptions, LoadReport, NoProgress, RewriteReason, load_into};

/// Adds a text to a version in memory, or makes the first.
fn add(
    old: Option<&Snapshot>,
    text: &str,
    layout: Layout,
    addition: Addition,
) -> (Snapshot, LoadReport) {
    let options = LoadOptions {
        layout,
        addition,
        ..options(text, GraphFormat::NQuads)
    };
    load_into(options, Storage::Memory, old, &NoProgress).expect("the text loads")
}

fn add_layer(old: &Snapshot, text: &str) -> (Snapshot, LoadReport) {
    add(Some(old), text, Layout::Discover, Addition::Layer)
}

/// Loads the pieces one after the other, each as a layer.
fn load_pieces(pieces: &[String], layout: Layout) -> Snapshot {
    let (mut snapshot, _) = add(None, &pieces[0], layout, Addition::Layer);
    for piece in &pieces[1..] {
        let (next, report) = add(Some(&snapshot), piece, layout, Addition::Layer);
        assert_eq!(report.quads_stored, next.quad_count());
        assert_eq!(report.quads_before, snapshot.quad_count());
        assert_eq!(report.rewritten, None);
        snapshot = next;
    }
    snapshot
}

/// Cuts lines into pieces of about equally many.
fn cut(rows: &[&str], pieces: usize) -> Vec<String> {
    let size = rows.len().div_ceil(pieces).max(1);
    let mut cut: Vec<String> = rows
        .chunks(size)
        .map(|part| part.iter().map(|row| format!("{row}\n")).collect())
        .collect();
    cut.resize(pieces.max(cut.len()), String::new());
    cut
}

/// The rows in an order that has nothing to do with theirs.
fn shuffled<'t>(rows: &[&'t str]) -> Vec<&'t str> {
    let mut rows: Vec<(usize, &str)> = rows
        .iter()
        .enumerate()
        .map(|(i, row)| (i.wrapping_mul(7919) % 10_007, *row))
        .collect();
    rows.sort_unstable();
    rows.into_iter().map(|(_, row)| row).collect()
}

fn check(snapshot: &Snapshot, expected: &BTreeSet<String>, what: &str) {
    assert_eq!(&lines_of(snapshot), expected, "{what}");
    assert_eq!(snapshot.quad_count(), expected.len() as u64, "{what}");
    if let Err(error) = snapshot.check(CheckDepth::Deep) {
        assert_eq!(error.to_string(), "", "{what}");
    }
}

#[test]
fn pieces_in_any_order_give_what_one_load_gives() {
    let text = shop(120);
    let rows: Vec<&str> = text.lines().collect();
    let repeated: Vec<&str> = rows.iter().chain(rows.iter().step_by(3)).copied().collect();
    for (order, rows) in [
        ("grouped", rows.clone()),
        ("shuffled", shuffled(&rows)),
        ("repeated", repeated),
    ] {
        for pieces in [2, 3, 10] {
            for layout in LAYOUTS {
                let snapshot = load_pieces(&cut(&rows, pieces), layout);
                let what = format!("{order}, {pieces} pieces, {layout:?}");
                check(&snapshot, &lines(&text), &what);
            }
        }
    }
}

#[test]
fn shapes_grow_by_parts() {
    let text = shop(4_000);
    let rows: Vec<&str> = text.lines().collect();
    let pieces = cut(&rows, 4);
    let (mut snapshot, _) = add(None, &pieces[0], Layout::Discover, Addition::Decide);
    let mut last = None;
    for piece in &pieces[1..] {
        let (next, report) = add(Some(&snapshot), piece, Layout::Discover, Addition::Decide);
        snapshot = next;
        last = Some(report);
    }
    let report = last.expect("three additions");
    let names: Vec<(&str, usize)> = report
        .tables
        .iter()
        .map(|t| (t.name.as_str(), t.columns))
        .collect();
    assert_eq!(names, [("Vendor", 2), ("Offer", 5)]);
    assert_eq!(report.tables[0].rows, 10);
    // An offer whose lines are in two pieces is a row of the first part.
    assert!(report.tables[1].rows >= 3_990);
    assert!(report.irregular_quads < 20, "{}", report.irregular_quads);
    assert_eq!(snapshot.tables().len(), 5);
    let offers = snapshot.tables().iter().filter(|t| t.name() == "Offer");
    assert_eq!(offers.count(), 4);
    check(&snapshot, &lines(&text), "four pieces");
}

#[test]
fn classes_of_one_local_name_are_shapes_of_their_own() {
    let people = |vocabulary: &str, properties: [&str; 2]| -> String {
        let of_one = |i: usize| {
            let subject = format!("<http://{vocabulary}/p{i}>");
            let type_iri = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type";
            let [one, two] = properties;
            format!(
                "{subject} <{type_iri}> <http://{vocabulary}/Person> .\n\
                 {subject} <http://{vocabulary}/{one}> \"{i}\" .\n\
                 {subject} <http://{vocabulary}/{two}> \"{i}\" .\n"
            )
        };
        (0..300).map(of_one).collect()
    };
    let names = |snapshot: &Snapshot| -> Vec<String> {
        let tables = snapshot.tables().iter();
        tables.map(|table| table.name().to_owned()).collect()
    };
    let text = people("one", ["name", "mail"]);
    let (first, _) = add(None, &text, Layout::Discover, Addition::Layer);
    let (second, _) = add_layer(&first, &people("two", ["label", "phone"]));
    assert_eq!(names(&second), ["Person", "Person 2"]);
    // More of each goes to its shape.
    let more = people("two", ["label", "phone"]).replace("/p", "/q");
    let (third, report) = add_layer(&second, &more.replace("/qhone", "/phone"));
    assert_eq!(names(&third), ["Person", "Person 2", "Person 2"]);
    assert_eq!(report.tables.len(), 2);
}

/// Changes a version: some quads go, and two with new terms come.
fn changed(base: &Snapshot) -> Snapshot {
    let mut removed = Vec::new();
    let all = base.matching(&QuadPattern::default(), &mut |quad| {
        removed.push(quad);
        ControlFlow::Continue(())
    });
    all.expect("reads");
    let mut added: Vec<QuadIds> = removed.iter().copied().take(2).collect();
    removed = removed.into_iter().step_by(7).skip(1).collect();
    added[0].object = (base.intern(TermView::simple("changed"))).expect("there is room");
    added[1].object =
        (base.intern(TermView::typed("3.5", "http://v/weight"))).expect("there is room");
    added[1].subject = base.new_blank().expect("there is room");
    let changed = base.with_changes(&removed, &added);
    changed.expect("they are valid").0
}

#[test]
fn a_load_into_a_store_with_changes_rewrites_it() {
    let text = shop(60);
    let (base, _) = add(None, &text, Layout::Discover, Addition::Decide);
    let changed = changed(&base);
    let old = lines_of(&changed);
    assert_ne!(old, lines(&text));
    for addition in [Addition::Layer, Addition::Decide] {
        let more = "<http://d/x> <http://v/p> \"9\"^^<http://v/weight> .\n";
        let (next, report) = add(Some(&changed), more, Layout::Discover, addition);
        assert_eq!(report.rewritten, Some(RewriteReason::Changes));
        assert!(!next.has_delta());
        let without_blanks = |lines: &BTreeSet<String>| -> BTreeSet<String> {
            let named = lines.iter().filter(|line| !line.contains("_:"));
            named.cloned().collect()
        };
        let mut expected = without_blanks(&old);
        expected.extend(lines(more));
        let stored = lines_of(&next);
        assert_eq!(without_blanks(&stored), expected);
        assert_eq!(stored.len(), old.len() + 1);
        next.check(CheckDepth::Deep).expect("it is sound");
    }
}

#[test]
fn codes_that_came_to_nothing_are_not_taken_for_stored_ones() {
    let folder = tempfile::TempDir::new().expect("a temporary folder");
    let storage = Storage::Directory(folder.path().join("store"));
    let load = |old: Option<&Snapshot>, text: &str| {
        let options = LoadOptions {
            addition: Addition::Layer,
            ..options(text, GraphFormat::NQuads)
        };
        load_into(options, storage.clone(), old, &NoProgress).expect("the text loads")
    };
    let text = shop(60);
    let (base, _) = load(None, &text);
    // A change that is given up.
    let number = TermView::typed("3.5", "http://v/weight");
    base.intern(number).expect("there is room");
    assert!(!base.has_delta());
    // Nothing but the datatype of the number is new.
    let more = "<http://d/offer3> <http://v/price> \"4\"^^<http://v/weight> .\n";
    let (next, report) = load(Some(&base), more);
    assert_eq!((report.rewritten, next.has_delta()), (None, false));
    let opened = Snapshot::open(&folder.path().join("store")).expect("it opens");
    check(&opened, &lines(&format!("{text}{more}")), "opened anew");
}

#[test]
fn what_is_there_is_dropped_and_new_facts_of_old_subjects_are_kept() {
    let text = shop(60);
    let (base, _) = add(None, &text, Layout::Discover, Addition::Decide);
    let (same, report) = add_layer(&base, &text);
    assert_eq!(report.duplicates, report.quads_read);
    assert_eq!(same.dictionary().layer_terms().len(), 1, "nothing is new");
    check(&same, &lines(&text), "everything again");
    let more = "<http://d/offer3> <http://v/new> \"a new predicate\" .\n\
                <http://d/offer3> <http://v/price> \"21\"^^<http://www.w3.org/2001/XMLSchema#integer> <http://g/1> .\n\
                <http://d/offer4> <http://v/price> \"4\"^^<http://v/money> .\n\
                <http://d/tag1> <http://v/label> \"a tag is a subject now\"@en .\n\
                <http://v/price> <http://v/label> \"and a predicate\"@fr .\n";
    let (grown, report) = add_layer(&same, more);
    assert_eq!((report.duplicates, report.irregular_quads), (0, 5));
    let mut expected = lines(&text);
    expected.extend(lines(more));
    check(&grown, &expected, "new facts");
    assert_eq!(
        grown.statistics().subject_count,
        base.statistics().subject_count + 2
    );
    assert_eq!(
        lines_of(&same),
        lines(&text),
        "the old version is as it was"
    );
}

#[test]
fn a_new_numeric_datatype_alone_makes_a_layer() {
    let text = "<http://d/a> <http://v/p> \"1.5\"^^<http://v/euro> .\n";
    let (base, _) = add(None, text, Layout::Discover, Addition::Decide);
    let more = "<http://d/a> <http://v/p> \"1.5\"^^<http://v/yen> .\n";
    let (grown, _) = add_layer(&base, more);
    check(&grown, &lines(&format!("{text}{more}")), "two currencies");
}

#[test]
fn blank_nodes_of_different_loads_stay_apart() {
    let text = "_:a <http://v/knows> _:b .\n_:b <http://v/knows> _:a .\n";
    for layout in LAYOUTS {
        let pieces = vec![text.to_owned(), text.to_owned(), text.to_owned()];
        let snapshot = load_pieces(&pieces, layout);
        assert_eq!(snapshot.quad_count(), 6, "{layout:?}");
        let blanks = snapshot.dictionary().blanks();
        assert_eq!(blanks.len(), 6, "{layout:?}");
        for ordinal in blanks {
            assert!(snapshot.dictionary().is_blank(TermId::resource(ordinal)));
        }
        snapshot.check(CheckDepth::Deep).expect("it is sound");
    }
}

#[test]
fn small_loads_make_no_tables_and_few_layers() {
    let text = shop(2_000);
    let (mut snapshot, _) = add(None, &text, Layout::Discover, Addition::Decide);
    let tables = snapshot.tables().len();
    let mut expected = lines(&text);
    for i in 0..40 {
        let more = format!(
            "<http://d/extra{i}> <http://v/text> \"extra {i}\" .\n\
             <http://d/extra{i}> <http://v/vendor> <http://d/vendor{}> .\n",
            i % 10
        );
        let (next, report) = add(Some(&snapshot), &more, Layout::Discover, Addition::Decide);
        assert_eq!(report.rewritten, None);
        snapshot = next;
        expected.extend(lines(&more));
    }
    assert_eq!(snapshot.tables().len(), tables);
    let layers = snapshot.dictionary().layer_terms().len();
    assert!(layers <= 6, "{layers} layers");
    check(&snapshot, &expected, "forty small loads");
}

#[test]
fn a_store_is_rewritten_when_that_is_better() {
    let text = shop(100);
    let rows: Vec<&str> = text.lines().collect();
    let (base, _) = add(None, &shop(20), Layout::Discover, Addition::Decide);
    let (whole, report) = add(Some(&base), &text, Layout::Discover, Addition::Decide);
    assert_eq!(report.rewritten, Some(RewriteReason::NewDataIsLarger));
    check(&whole, &lines(&text), "larger");
    // Every offer in every piece: all but the first piece is irregular.
    let mixed = shuffled(&rows);
    let pieces = cut(&mixed, 3);
    let (one, _) = add(None, &pieces[0], Layout::Discover, Addition::Decide);
    let (two, report) = add(Some(&one), &pieces[1], Layout::Discover, Addition::Decide);
    assert_eq!(report.rewritten, None);
    assert!(report.coverage() < 0.8, "{}", report.coverage());
    let (three, report) = add(Some(&two), &pieces[2], Layout::Discover, Addition::Decide);
    assert!(matches!(
        report.rewritten,
        Some(RewriteReason::Irregular(_))
    ));
    let reason = report.rewritten.map(|r| r.to_string()).unwrap_or_default();
    assert!(reason.ends_with("of its quads were irregular"), "{reason}");
    assert!(report.coverage() > 0.95, "{}", report.coverage());
    check(&three, &lines(&text), "shuffled");
}

#[test]
fn the_optimized_store_is_that_of_one_load() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let storage = Storage::Directory(folder.path().to_path_buf());
    let text = shop(90);
    let rows: Vec<&str> = text.lines().collect();
    let load_piece = |piece: &str| {
        let options = LoadOptions {
            addition: Addition::Layer,
            ..options(piece, GraphFormat::NQuads)
        };
        load_into(options, storage.clone(), None, &NoProgress).expect("it loads")
    };
    let mut held = Vec::new();
    let mut so_far = String::new();
    for piece in cut(&rows, 3) {
        let (snapshot, _) = load_piece(&piece);
        so_far += &piece;
        held.push((snapshot, lines(&so_far)));
    }
    let options = LoadOptions {
        addition: Addition::Rewrite,
        ..LoadOptions::default()
    };
    let (snapshot, report) =
        load_into(options, storage, Some(&held[2].0), &NoProgress).expect("it can be rewritten");
    assert_eq!(report.rewritten, Some(RewriteReason::Asked));
    assert_eq!((snapshot.tables().len(), snapshot.table_layers()), (2, 1));
    check(&snapshot, &lines(&text), "optimized");
    for (old, expected) in &held {
        assert_eq!(&lines_of(old), expected, "old snapshots are read as ever");
    }
    let reopened = Snapshot::open(folder.path()).expect("it opens");
    check(&reopened, &lines(&text), "reopened");
    let folders = std::fs::read_dir(folder.path()).expect("a folder");
    let folders = folders.filter_map(Result::ok).filter(|e| e.path().is_dir());
    assert_eq!(folders.count(), 1);
}

#[test]
fn a_failed_addition_leaves_the_store() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let storage = Storage::Directory(folder.path().to_path_buf());
    let load_piece = |text: &str| {
        let options = LoadOptions {
            inputs: vec![text_input("test", text, GraphFormat::NTriples)],
            addition: Addition::Layer,
            ..LoadOptions::default()
        };
        load_into(options, storage.clone(), None, &NoProgress)
    };
    load_piece(&shop(20)).expect("it loads");
    load_piece(&shop(30)).expect("it is added");
    let bad = shop(40) + "<http://d/x> oops .\n";
    assert!(load_piece(&bad).is_err());
    let snapshot = Snapshot::open(folder.path()).expect("the store opens");
    check(&snapshot, &lines(&shop(30)), "as before");
    let (snapshot, _) = load_piece(&shop(40)).expect("it is added");
    check(&snapshot, &lines(&shop(40)), "and later loads go on");
}

#[test]
fn ids_do_not_change_when_data_is_added() {
    let text = shop(50);
    let rows: Vec<&str> = text.lines().collect();
    let pieces = cut(&rows, 3);
    let (base, _) = add(None, &pieces[0], Layout::Discover, Addition::Layer);
    let (grown, _) = add_layer(&base, &pieces[1]);
    let ids = |snapshot: &Snapshot| {
        let mut ids = BTreeSet::new();
        let all = snapshot.matching(&QuadPattern::default(), &mut |quad| {
            ids.insert(quad);
            ControlFlow::Continue(())
        });
        all.expect("the snapshot can be read");
        ids
    };
    assert!(ids(&base).is_subset(&ids(&grown)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn random_pieces_hold_exactly_the_input(
        pieces in prop::collection::vec(prop::collection::vec(random_line(), 0..90), 1..5),
        table_rows_min in 1u64..6,
        threads in 1usize..4,
        layout_idx in 0..LAYOUTS.len(),
        decides in any::<bool>(),
    ) {
        let addition = if decides { Addition::Decide } else { Addition::Layer };
        let layout = LAYOUTS[layout_idx];
        let mut snapshot: Option<Snapshot> = None;
        let mut expected = BTreeSet::new();
        for rows in pieces {
            let text = rows.iter().map(|r| format!("{r}\n")).collect::<String>();
            let mut options = LoadOptions {
                layout,
                threads,
                addition,
                ..options(&text, GraphFormat::NQuads)
            };
            options.settings.table_rows_min = table_rows_min;
            let (next, report) = load_into(options, Storage::Memory, snapshot.as_ref(), &NoProgress)
                .map_err(|e| TestCaseError::fail(e.to_string()))?;
            expected.extend(lines(&text));
            prop_assert_eq!(&lines_of(&next), &expected);
            prop_assert_eq!(report.quads_stored, expected.len() as u64);
            let check = next.check(CheckDepth::Deep);
            prop_assert!(check.is_ok(), "{:?}: {:?}", layout, check.err());
            snapshot = Some(next);
        }
    }
}

#[test]
fn a_damaged_store_is_neither_added_to_nor_rewritten() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let storage = || Storage::Directory(folder.path().to_path_buf());
    let load = |text: &str, addition| {
        let options = LoadOptions {
            addition,
            ..options(text, GraphFormat::NQuads)
        };
        load_into(options, storage(), None, &NoProgress)
    };
    load(&shop(300), Addition::Decide).expect("loads");
    let more = "<http://d/new> <http://v/p> \"new\" .\n";
    let name = folder.path().join("v1").join("table-00001");
    let mut bytes = std::fs::read(&name).expect("the table of the offers");
    // Within the cells of the first columns.
    bytes[200] ^= 4;
    std::fs::write(&name, &bytes).expect("written");
    for addition in [Addition::Layer, Addition::Rewrite] {
        let error = load(more, addition).expect_err("it is damaged");
        let error = error.to_string();
        assert!(error.contains("table-00001"), "{error}");
        let current = Snapshot::current_version(folder.path());
        assert_eq!(current.expect("there is one"), Some(1));
    }
    bytes[200] ^= 4;
    std::fs::write(&name, &bytes).expect("written");
    let (snapshot, _) = load(more, Addition::Layer).expect("it is whole again");
    snapshot.verify().expect("it is verified");
    assert_eq!(snapshot.version(), 2);
}
