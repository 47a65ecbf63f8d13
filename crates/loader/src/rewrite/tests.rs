//! A rewrite holds what the state holds, tells where its blank nodes are, and leaves nothing when it is cancelled.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use basalt_rdf::{GraphFormat, TermId, TermView};
use basalt_store::{CheckDepth, QuadPattern, Snapshot, Storage, StoreLock, VersionWriter};

use super::{Rewritten, rewrite};
use crate::tests::{LAYOUTS, lines_of, options, shop};
use crate::{
    CancelFlag, Layout, LoadError, LoadOptions, NoProgress, Phase, Progress, SpillSettings,
    load_into,
};

/// Blank nodes as rows, as objects, as graphs and without a table, each with a name.
fn with_blank_nodes(things: usize) -> String {
    let mut text = shop(things);
    for i in 0..things {
        text += &format!("_:r{i} <http://v/name> \"row {i}\" .\n");
        text += &format!("_:r{i} <http://v/next> _:r{} .\n", i * 7 % things);
        if i % 13 == 0 {
            text += &format!("_:r{i} <http://v/odd{i}> _:g{i} _:g{i} .\n");
            text += &format!("_:g{i} <http://v/name> \"graph {i}\" .\n");
        }
    }
    text
}

fn loaded(text: &str, storage: Storage) -> Snapshot {
    let options = options(text, GraphFormat::NQuads);
    let (snapshot, _) = load_into(options, storage, None, &NoProgress).expect("the text loads");
    snapshot
}

/// The blank nodes by their names.
fn nodes(snapshot: &Snapshot) -> BTreeMap<String, TermId> {
    let name = TermView::Iri("http://v/name");
    let pattern = QuadPattern {
        predicate: snapshot.dictionary().find(name),
        ..QuadPattern::default()
    };
    let mut found = Vec::new();
    let visited = snapshot.matching(&pattern, &mut |quad| {
        found.push(quad);
        ControlFlow::Continue(())
    });
    visited.expect("the snapshot can be read");
    let named = found.into_iter().map(|quad| {
        assert!(snapshot.dictionary().is_blank(quad.subject));
        let name = snapshot.dictionary().term(quad.object).expect("a term");
        (name.view().to_string(), quad.subject)
    });
    named.collect()
}

/// Quads without labels of blank nodes.
fn anonymous(snapshot: &Snapshot) -> Vec<String> {
    let hide = |part: &str| match part.starts_with("_:") {
        true => "_:".to_owned(),
        false => part.to_owned(),
    };
    let lines = lines_of(snapshot).into_iter();
    let mut lines: Vec<String> = lines
        .map(|line| line.split(' ').map(hide).collect::<Vec<_>>().join(" "))
        .collect();
    lines.sort();
    lines
}

#[test]
fn a_rewrite_has_every_quad_and_tells_of_blank_nodes() {
    let state = loaded(&with_blank_nodes(80), Storage::Memory);
    // A blank node that no quad has any more, and one that has come since.
    let gone = nodes(&state)["\"graph 13\""];
    let of_gone = |pattern: QuadPattern| {
        let mut found = Vec::new();
        let visited = state.matching(&pattern, &mut |quad| {
            found.push(quad);
            ControlFlow::Continue(())
        });
        visited.expect("the snapshot can be read");
        found
    };
    let mut removed = of_gone(QuadPattern {
        subject: Some(gone),
        ..QuadPattern::default()
    });
    removed.extend(of_gone(QuadPattern {
        object: Some(gone),
        ..QuadPattern::default()
    }));
    let late = state.new_blank().expect("there is room");
    let mut added = removed[0];
    added.subject = late;
    added.graph = late;
    let (state, _) = state.with_changes(&removed, &[added]).expect("it can be");
    let state = state.with_commit_number(3);
    let spilling = SpillSettings {
        parse_bytes: Some(0),
        window_quads: Some(50),
        batch_quads: Some(20),
        sort_quads: Some(15),
        text_bytes: Some(2_000),
        ..SpillSettings::default()
    };
    for (layout, spill) in LAYOUTS
        .into_iter()
        .map(|layout| (layout, SpillSettings::default()))
        .chain([(Layout::Discover, spilling)])
    {
        let writer = VersionWriter::create(Storage::Memory).expect("memory");
        let options = LoadOptions {
            layout,
            spill,
            threads: 1,
            ..LoadOptions::default()
        };
        let rewritten = rewrite(writer, &state, options, &NoProgress);
        let Rewritten {
            version,
            blank_nodes,
            report,
        } = rewritten.expect("there is room");
        let new = version.snapshot();
        assert_eq!(anonymous(new), anonymous(&state));
        assert_eq!(report.quads_stored, state.quad_count());
        assert_eq!(new.commit_number(), 3);
        let (before, after) = (nodes(&state), nodes(new));
        assert_eq!(before.len(), 80 + 7);
        for (name, old) in &before {
            assert_eq!(blank_nodes.new_id(*old), Some(after[name]), "{name}");
        }
        assert_eq!(blank_nodes.new_id(gone), None);
        let iri = state.dictionary().find(TermView::Iri("http://v/name"));
        assert_eq!(blank_nodes.new_id(iri.expect("it is there")), None);
        new.check(CheckDepth::Deep).expect("it is whole");
    }
}

#[test]
fn an_empty_state_is_an_empty_version() {
    let state = Snapshot::empty();
    let writer = VersionWriter::create(Storage::Memory).expect("memory");
    let rewritten = rewrite(writer, &state, LoadOptions::default(), &NoProgress);
    let rewritten = rewritten.expect("there is room");
    assert_eq!(rewritten.version.snapshot().quad_count(), 0);
}

/// Cancels when it hears for the nth time of progress.
struct Cancelling {
    at: usize,
    heard: AtomicUsize,
    cancel: CancelFlag,
}

impl Cancelling {
    fn hear(&self) {
        if self.heard.fetch_add(1, Ordering::Relaxed) == self.at {
            self.cancel.cancel();
        }
    }
}

impl Progress for Cancelling {
    fn begin(&self, _phase: Phase) {
        self.hear();
    }

    fn advance(&self, _quads: u64, _bytes: u64) {}

    fn work(&self, _done: u64, _total: u64) {
        self.hear();
    }
}

fn names(dir: &Path) -> Vec<String> {
    let entries = fs::read_dir(dir).expect("the folder is there");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let mut names: Vec<String> = names.map(|n| n.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_cancelled_rewrite_leaves_nothing() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let dir = folder.path().join("store");
    // Enough for a word of progress in each stage.
    let state = loaded(&shop(9_000), Storage::Directory(dir.clone()));
    let lock = Arc::new(StoreLock::acquire(&dir).expect("nobody else has it"));
    let mut cancelled = 0;
    // Termination: a rewrite tells of progress so often and no more.
    for at in 0.. {
        let cancel = CancelFlag::default();
        let progress = Cancelling {
            at,
            heard: AtomicUsize::new(0),
            cancel: cancel.clone(),
        };
        let options = LoadOptions {
            cancel: cancel.clone(),
            threads: 1,
            ..LoadOptions::default()
        };
        let writer = VersionWriter::create_locked(Arc::clone(&lock)).expect("a writer");
        let rewritten = rewrite(writer, &state, options, &progress);
        match &rewritten {
            Err(LoadError::Cancelled) => cancelled += 1,
            Err(error) => unreachable!("cancelled at {at}: {error}"),
            // The last word is that the version is being made durable.
            Ok(_) if cancel.is_cancelled() => {
                assert_eq!(at + 1, progress.heard.load(Ordering::Relaxed));
            }
            Ok(_) => break,
        }
        // What is not published goes too.
        drop(rewritten);
        assert_eq!(names(&dir), ["LOCK", "MANIFEST", "v1"], "cancelled at {at}");
    }
    assert!(cancelled > 8, "cancelled in each stage: {cancelled}");
}
