//! Quads by name, and what a database holds.

use basalt_engine::{
    ChangeCounts, Commit, Database, Durability, Error, GraphFormat, MergePolicy, Snapshot,
    Transaction, WriteOptions,
};
use basalt_rdf::{LiteralKind, LiteralView, TermBuf, TermId, TermView};
use basalt_store::{QuadIds, QuadPattern};
use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

/// A quad as texts: subject, predicate, object, graph or nothing.
pub type Line = String;

/// The line of the quad with this subject, predicate and object; the object is an IRI, a number or a text.
pub fn line(subject: &str, predicate: &str, object: &str) -> Line {
    format!("<http://e/{subject}> <http://e/{predicate}> {object} .")
}

/// Some regular data: so many subjects, three quads each.
pub fn regular(subjects: usize) -> String {
    let row = |i: usize| {
        let quads = [
            line(&format!("s{i}"), "name", &format!("\"name {i}\"")),
            line(&format!("s{i}"), "size", &i.to_string()),
            line(&format!("s{i}"), "next", &format!("<http://e/s{}>", i / 2)),
        ];
        quads.map(|quad| quad + "\n").concat()
    };
    (0..subjects).map(row).collect()
}

/// Loads Turtle text.
pub fn load(database: &Database, text: &str) {
    let loaded = database.load_text(text, GraphFormat::Turtle);
    loaded.expect("the text loads");
}

/// Options without merges of their own.
pub fn quiet() -> WriteOptions {
    WriteOptions {
        merge: MergePolicy::NEVER,
        ..WriteOptions::default()
    }
}

/// Options with this durability and without merges.
pub fn with_durability(durability: Durability) -> WriteOptions {
    WriteOptions {
        durability,
        ..quiet()
    }
}

/// The quad of three names, in the default graph; the object is an IRI unless it begins with `"`, then it is a
/// text.
pub fn quad(snapshot: &Snapshot, [subject, predicate, object]: [&str; 3]) -> QuadIds {
    let iri = |name: &str| {
        let iri = format!("http://e/{name}");
        snapshot.intern(TermView::Iri(&iri)).expect("there is room")
    };
    let object = match object.strip_prefix('"') {
        None => iri(object),
        Some(text) => {
            let literal = LiteralView {
                lexical: text,
                kind: LiteralKind::Simple,
            };
            snapshot
                .intern(TermView::Literal(literal))
                .expect("there is room")
        }
    };
    QuadIds {
        subject: iri(subject),
        predicate: iri(predicate),
        object,
        graph: TermId::DEFAULT_GRAPH,
    }
}

/// Adds a quad in a transaction.
pub fn add(transaction: &mut Transaction<'_>, names: [&str; 3]) -> ChangeCounts {
    let quad = quad(transaction.snapshot(), names);
    transaction.apply(&[], &[quad]).expect("it can be stored")
}

/// Removes a quad in a transaction.
pub fn remove(transaction: &mut Transaction<'_>, names: [&str; 3]) -> ChangeCounts {
    let quad = quad(transaction.snapshot(), names);
    transaction.apply(&[quad], &[]).expect("it can be stored")
}

/// A transaction that adds one quad.
pub fn try_commit_one(database: &Database, names: [&str; 3]) -> Result<Commit, Error> {
    let mut transaction = database.begin()?;
    let quad = quad(transaction.snapshot(), names);
    transaction.apply(&[], &[quad])?;
    transaction.commit()
}

/// As [`try_commit_one`], where nothing can go wrong.
pub fn commit_one(database: &Database, names: [&str; 3]) -> Commit {
    try_commit_one(database, names).expect("it can be committed")
}

/// Every quad of a snapshot, as text.
pub fn quads(snapshot: &Snapshot) -> BTreeSet<Line> {
    let mut found = BTreeSet::new();
    let mut buffer = TermBuf::new();
    let mut text = |id: TermId| {
        if id == TermId::DEFAULT_GRAPH {
            return String::new();
        }
        let decoded = snapshot.dictionary().decode(id, &mut buffer);
        decoded.expect("a stored term");
        buffer.view().to_string()
    };
    let visited = snapshot.matching(&QuadPattern::default(), &mut |quad| {
        let parts = [quad.subject, quad.predicate, quad.object, quad.graph];
        let is_new = found.insert(parts.map(&mut text).join(" "));
        assert!(is_new, "a quad is visited twice");
        ControlFlow::Continue(())
    });
    visited.expect("the store can be read");
    assert_eq!(found.len() as u64, snapshot.quad_count());
    found
}

/// What [`quads`] gives for a quad.
pub fn shown([subject, predicate, object]: [&str; 3]) -> Line {
    let object = match object.strip_prefix('"') {
        None => format!("<http://e/{object}>"),
        Some(text) => format!("\"{text}\""),
    };
    format!("<http://e/{subject}> <http://e/{predicate}> {object} ")
}

/// Every quad of the store in a folder, which is checked to the last byte.
pub fn quads_in(folder: &Path) -> BTreeSet<Line> {
    let snapshot = Snapshot::open(folder).expect("the store opens");
    let checked = snapshot.check(basalt_engine::CheckDepth::Deep);
    checked.expect("the store is whole");
    quads(&snapshot)
}

/// Names of what is in a folder, sorted.
pub fn names_in(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("the folder is there");
    let mut names: Vec<String> = entries
        .map(|entry| entry.expect("an entry").file_name())
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// Whether slow tests run at full size.
pub fn is_full() -> bool {
    std::env::var_os("BASALT_TESTS_FULL").is_some_and(|value| value == "1")
}

/// Waits until what is asked for is so; fails after a minute.
pub fn wait_until(mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "it takes too long"
        );
        std::thread::yield_now();
    }
}
