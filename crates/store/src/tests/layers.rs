//! Versions built on others: what they hold, which files they keep, and who can still read what.

use super::patterns::found;
use super::splitter::{load, load_of, number, resource};
use crate::table::{
    ColumnDefinition, ColumnKind, HomeGraph, SegmentValues, TableDefinition, TypeClass,
};
use crate::{
    CharacteristicSet, CheckDepth, QuadIds, QuadPattern, Snapshot, Storage, StoreStatistics,
    VersionWriter,
};
use basalt_rdf::qualifiers::Qualifiers;
use basalt_rdf::term_id::tag;
use basalt_rdf::{InlineForms, TermId, TermView};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Rows of each table that is added.
const ROWS: u64 = 6;

fn first_quads() -> BTreeSet<QuadIds> {
    (0..150)
        .map(|i| QuadIds {
            subject: resource(10 + i % 50),
            predicate: resource(i % 4),
            object: if i % 3 == 0 {
                number(i as i64)
            } else {
                resource(40 + i % 15)
            },
            graph: if i % 7 == 0 {
                resource(6)
            } else {
                TermId::DEFAULT_GRAPH
            },
        })
        .collect()
}

fn all(snapshot: &Snapshot) -> BTreeSet<QuadIds> {
    found(snapshot, &QuadPattern::default())
        .into_iter()
        .collect()
}

fn writer_on(base: &Snapshot, storage: &Storage) -> VersionWriter {
    let mut writer = VersionWriter::create(storage.clone()).expect("a writer");
    writer.build_on(base).expect("the current version");
    writer
}

/// Writes a layer of terms: rows, a blank node, and a literal, named by their ordinals.
fn write_terms(writer: &mut VersionWriter, base: &Snapshot, layers_taken_in: usize) {
    let (resources, literals) = (
        base.dictionary().resource_count(),
        base.dictionary().literal_count(),
    );
    let mut dictionary = writer
        .dictionary_layer(layers_taken_in)
        .expect("the first layer");
    for ordinal in resources..resources + ROWS {
        dictionary
            .push_iri(&format!("http://example.org/{ordinal}"))
            .expect("room");
    }
    dictionary.push_blank().expect("room");
    dictionary
        .push_literal(tag::STRING, 0, &format!("text {literals}"))
        .expect("room");
    let lists = base.dictionary().qualifier_lists();
    let qualifiers = Qualifiers::from_lists(&lists).expect("valid lists");
    dictionary.finish(&qualifiers).expect("room");
}

/// Adds a table whose rows link to a row of the first version, and irregular quads of old rows and new.
fn add(base: &Snapshot, storage: &Storage, layers_taken_in: usize) -> (Snapshot, Vec<QuadIds>) {
    let mut writer = writer_on(base, storage);
    write_terms(&mut writer, base, layers_taken_in);
    let first = base.dictionary().resource_count();
    let definition = TableDefinition {
        name: "added".to_owned(),
        classes: Vec::new(),
        first_ordinal: first,
        rows: ROWS as u32,
        columns: vec![ColumnDefinition {
            predicate: resource(0),
            type_class: TypeClass::RESOURCE,
            kind: ColumnKind::Single,
            wants_inverse: true,
            link_target: None,
        }],
        home_graph: HomeGraph::Constant(resource(7)),
    };
    let mut table = writer.begin_table(definition).expect("it is valid");
    let values: Vec<u64> = (0..ROWS).map(|row| resource(10 + row % 4).0).collect();
    table
        .segment(0, SegmentValues::Single(&values))
        .expect("it fits");
    table.finish().expect("it is complete");
    let quad = |subject, predicate, object, graph| QuadIds {
        subject: resource(subject),
        predicate: resource(predicate),
        object,
        graph,
    };
    let mut added: Vec<QuadIds> = (0..ROWS)
        .map(|row| quad(first + row, 0, TermId(values[row as usize]), resource(7)))
        .collect();
    let text = TermId::new(tag::STRING, base.dictionary().literal_count());
    let irregular = vec![
        quad(12, 1, text, TermId::DEFAULT_GRAPH),
        quad(44, 5, resource(first + ROWS), resource(8)),
        quad(first + 2, 5, number(3), TermId::DEFAULT_GRAPH),
        quad(70, 4, number(first as i64), TermId::DEFAULT_GRAPH),
    ];
    added.extend(&irregular);
    writer.irregular_quads(irregular).expect("they are valid");
    writer.statistics(StoreStatistics {
        characteristic_sets: vec![CharacteristicSet {
            predicates: vec![resource(0)],
            subjects: ROWS,
            values: vec![ROWS],
            table: Some(base.tables().len()),
        }],
        subject_count: ROWS,
        ..StoreStatistics::default()
    });
    (writer.commit().expect("the commit succeeds"), added)
}

/// Every term decodes to its name and is found by it.
fn check_terms(snapshot: &Snapshot) {
    let dictionary = snapshot.dictionary();
    for ordinal in 0..dictionary.resource_count() {
        let id = resource(ordinal);
        let term = dictionary.term(id).expect("it decodes");
        let expected = match dictionary.is_blank(id) {
            true => format!("_:b{ordinal}"),
            false => format!("<http://example.org/{ordinal}>"),
        };
        assert_eq!(term.view().to_string(), expected);
        assert_eq!(dictionary.find(term.view()), Some(id));
        assert_eq!(
            dictionary.blanks().contains(ordinal),
            dictionary.is_blank(id)
        );
    }
    for ordinal in 0..dictionary.literal_count() {
        let text = format!("text {ordinal}");
        let id = TermId::new(tag::STRING, ordinal);
        assert_eq!(dictionary.find(TermView::simple(&text)), Some(id));
        assert_eq!(dictionary.literal_id(ordinal).expect("it is there"), id);
    }
    let names: Vec<String> = (0..dictionary.resource_count() + 3)
        .map(|ordinal| format!("http://example.org/{ordinal}"))
        .collect();
    let iris = names.iter().map(String::as_bytes);
    let one_by_one = names.iter().map(|iri| dictionary.find(TermView::Iri(iri)));
    let one_by_one: Vec<Option<u64>> = one_by_one.map(|id| id.map(TermId::payload)).collect();
    assert_eq!(dictionary.find_iris(iris), one_by_one);
    let texts: Vec<String> = (0..dictionary.literal_count() + 3)
        .map(|ordinal| format!("text {ordinal}"))
        .collect();
    let literals = texts.iter().map(|text| (tag::STRING, 0, text.as_bytes()));
    let expected = (0..).map(|o| (o < dictionary.literal_count()).then_some(o));
    let expected: Vec<Option<u64>> = expected.take(texts.len()).collect();
    assert_eq!(dictionary.find_dictionary_literals(literals), expected);
    assert_eq!(dictionary.find(TermView::simple("text")), None);
    assert!(
        dictionary
            .term(resource(dictionary.resource_count()))
            .is_err()
    );
}

fn check(snapshot: &Snapshot, quads: &BTreeSet<QuadIds>) {
    assert_eq!(&all(snapshot), quads);
    assert_eq!(snapshot.quad_count(), quads.len() as u64);
    snapshot.check(CheckDepth::Deep).expect("it is whole");
    check_terms(snapshot);
}

#[test]
fn additions_keep_all_that_was() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    for storage in [
        Storage::Memory,
        Storage::Directory(dir.path().to_path_buf()),
    ] {
        let mut quads = first_quads();
        let mut snapshots = vec![(load(&quads, storage.clone()), quads.clone())];
        // Nothing, one layer, and all layers but the first are taken in.
        for layers_taken_in in [0, 0, 1, 0, 3] {
            let (snapshot, added) =
                add(&snapshots[snapshots.len() - 1].0, &storage, layers_taken_in);
            quads.extend(added);
            snapshots.push((snapshot, quads.clone()));
        }
        for (number, (snapshot, quads)) in (1..).zip(&snapshots) {
            assert_eq!(snapshot.version(), number);
            assert_eq!(&all(snapshot), quads, "an old version is read as ever");
        }
        let last = &snapshots[5].0;
        check(last, &quads);
        assert_eq!(last.dictionary().layer_terms().len(), 2);
        assert_eq!((last.tables().len(), last.table_layers()), (7, 6));
        assert_eq!(last.base().tables, 2);
        assert_eq!(last.base().quads, 150);
        let statistics = last.statistics();
        assert_eq!(statistics.subject_count, 7 + 5 * ROWS);
        let links = &last.tables()[6]
            .cells(resource(0))
            .expect("it has the column")
            .statistics()
            .links;
        assert_eq!(links, &[(0, ROWS)]);
        if storage != Storage::Memory {
            check(&Snapshot::open(dir.path()).expect("it opens"), &quads);
        }
    }
}

#[test]
fn equal_sets_of_equal_shapes_become_one() {
    let base = load(&first_quads(), Storage::Memory);
    let (one, _) = add(&base, &Storage::Memory, 0);
    let (two, _) = add(&one, &Storage::Memory, 0);
    let of_added = |snapshot: &Snapshot| -> Vec<u64> {
        let sets = snapshot.statistics().characteristic_sets.iter();
        sets.filter(|s| s.table.is_some())
            .map(|s| s.subjects)
            .collect()
    };
    assert_eq!(of_added(&one), [ROWS]);
    assert_eq!(of_added(&two), [2 * ROWS]);
}

fn files(dir: &Path) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for entry in fs::read_dir(dir).expect("the folder exists") {
        let entry = entry.expect("an entry");
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_dir() {
            let inner = files(&entry.path());
            names.extend(inner.into_iter().map(|file| format!("{name}/{file}")));
        } else {
            names.insert(name);
        }
    }
    names
}

#[test]
fn only_named_files_stay() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let storage = Storage::Directory(dir.path().to_path_buf());
    let base = load(&first_quads(), storage.clone());
    let (one, _) = add(&base, &storage, 0);
    let (_, _) = add(&one, &storage, 1);
    let expected = [
        "LOCK",
        "MANIFEST",
        "v1/literals.dict",
        "v1/resources.dict",
        "v1/table-00000",
        "v1/table-00001",
        "v2/table-00000",
        "v3/history",
        "v3/literals.dict",
        "v3/quads",
        "v3/resources.dict",
        "v3/statistics",
        "v3/table-00000",
    ];
    assert!(files(dir.path()).iter().eq(expected));
    // What a dead writer leaves goes, in folders that are named too.
    fs::create_dir(dir.path().join("v4")).expect("room");
    for name in ["v4/quads", "v2/quads", "MANIFEST.tmp"] {
        fs::write(dir.path().join(name), b"half").expect("room");
    }
    drop(VersionWriter::create(storage.clone()).expect("a writer"));
    assert!(files(dir.path()).iter().eq(expected));
    let whole = load(&first_quads(), storage);
    assert_eq!(whole.version(), 4);
    assert!(
        files(dir.path())
            .iter()
            .all(|name| !name.contains('/') || name.starts_with("v4/"))
    );
}

#[test]
fn an_addition_without_new_terms_adds_no_layer() {
    let base = load(&first_quads(), Storage::Memory);
    let mut writer = writer_on(&base, &Storage::Memory);
    let quad = QuadIds {
        subject: resource(12),
        predicate: resource(5),
        object: resource(13),
        graph: TermId::DEFAULT_GRAPH,
    };
    writer.irregular_quads(vec![quad]).expect("it is valid");
    let snapshot = writer.commit().expect("it opens");
    assert_eq!(snapshot.dictionary().layer_terms().len(), 1);
    let mut quads = first_quads();
    quads.insert(quad);
    check(&snapshot, &quads);
}

#[test]
fn a_writer_that_is_dropped_changes_nothing() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let storage = Storage::Directory(dir.path().to_path_buf());
    let base = load(&first_quads(), storage.clone());
    let before = files(dir.path());
    let mut writer = writer_on(&base, &storage);
    write_terms(&mut writer, &base, 0);
    drop(writer);
    assert_eq!(files(dir.path()), before);
    check(
        &Snapshot::open(dir.path()).expect("it opens"),
        &first_quads(),
    );
}

#[test]
fn what_cannot_be_added_is_refused() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let storage = Storage::Directory(dir.path().to_path_buf());
    let base = load(&first_quads(), storage.clone());
    let twice = found(&base, &QuadPattern::default())
        .into_iter()
        .find(|quad| base.row_of(quad.subject).is_none())
        .expect("some quads are irregular");
    let mut writer = writer_on(&base, &storage);
    writer.irregular_quads(vec![twice]).expect("it is valid");
    assert!(writer.commit().is_err(), "the store has the quad already");
    add(&base, &storage, 0);
    let mut writer = VersionWriter::create(storage).expect("a writer");
    let refused = writer.build_on(&base).expect_err("it is not current");
    assert!(refused.to_string().contains("version 1"), "{refused}");
    let base = load(&first_quads(), Storage::Memory);
    let mut writer = writer_on(&base, &Storage::Memory);
    let layer = writer.dictionary_layer(0).expect("the first layer");
    let forms = Qualifiers::of_forms(InlineForms::WholeSeconds);
    layer.finish(&forms).expect("room");
    let refused = writer.commit().expect_err("of other forms");
    assert!(refused.to_string().contains("inline"), "{refused}");
}

#[test]
fn a_manifest_of_format_1_can_be_added_to() {
    let dir = tempfile::tempdir().expect("a temporary folder");
    let storage = Storage::Directory(dir.path().to_path_buf());
    let written = load_of(InlineForms::WholeSeconds, &first_quads(), storage.clone());
    let files = written.parts().manifest.files.iter();
    let old_files: Vec<serde_json::Value> = files
        .map(|f| {
            let name = f.name.strip_prefix("v1/").expect("one folder");
            serde_json::json!({"name": name, "bytes": f.bytes, "checksum": f.checksum})
        })
        .collect();
    let body = serde_json::json!({"version": 1, "tables": 2, "files": old_files});
    let text = format!("basalt-manifest 1\n{body}\n");
    let checksum = xxhash_rust::xxh3::xxh3_64(text.as_bytes());
    let manifest = format!("{text}xxh3 {checksum:016x}\n");
    fs::write(dir.path().join("MANIFEST"), manifest).expect("room");
    let opened = Snapshot::open(dir.path()).expect("format 1 is read");
    let mut quads = first_quads();
    check(&opened, &quads);
    let (snapshot, added) = add(&opened, &storage, 0);
    quads.extend(added);
    check(&snapshot, &quads);
    check(&Snapshot::open(dir.path()).expect("it opens"), &quads);
}
