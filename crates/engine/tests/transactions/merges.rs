//! Merges while others commit: the new version has what was there and what was committed meanwhile, readers keep what
//! they have, and a merge that ends early leaves nothing.

use crate::data::{
    add, commit_one, line, load, names_in, quad, quads, quads_in, quiet, regular, remove, shown,
    wait_until,
};
use crate::merge_pauses::Stages;
use basalt_engine::{CheckDepth, Database, MergePolicy, MergeStage, Snapshot, WriteOptions};
use basalt_rdf::{GraphFormat, LiteralKind, LiteralView, TermId, TermView};
use basalt_store::QuadIds;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;
use tempfile::TempDir;

/// The stages at which others have the turn.
pub(super) const OTHERS_WRITE: [MergeStage; 3] =
    [MergeStage::Begun, MergeStage::Written, MergeStage::CaughtUp];

/// Options without merges of their own, and with stages.
pub(super) fn stopping(stages: &Stages) -> WriteOptions {
    WriteOptions {
        merge_watcher: Some(stages.watcher()),
        ..quiet()
    }
}

/// Merges by itself after more than so many changed quads.
fn merging(quads_min: u64, stages: &Stages) -> WriteOptions {
    WriteOptions {
        merge: MergePolicy {
            quads_min,
            share_min: 0.0,
            ..MergePolicy::default()
        },
        ..stopping(stages)
    }
}

/// Databases in memory and on disk.
fn databases(folder: &TempDir, stages: &Stages) -> [Database; 2] {
    let path = folder.path().join("store");
    let snapshot = Snapshot::empty();
    [
        Database::in_memory_with(snapshot, stopping(stages)),
        Database::open_or_empty_with(&path, stopping(stages)).expect("it opens"),
    ]
}

/// A quad with a language, a datatype of its own, and a number of a datatype of its own, in a named graph.
fn odd_quads(snapshot: &Snapshot, round: usize) -> Vec<QuadIds> {
    let literal = |lexical: &str, kind: LiteralKind<'_>| {
        let term = TermView::Literal(LiteralView { lexical, kind });
        snapshot.intern(term).expect("there is room")
    };
    let language = format!("x-{round}");
    let datatype = format!("http://e/type{round}");
    let money = format!("http://e/money{round}");
    let graph = format!("http://e/graph{round}");
    let objects = [
        literal("text", LiteralKind::Language(&language)),
        literal("any text", LiteralKind::Typed(&datatype)),
        literal("12.50", LiteralKind::Typed(&money)),
        literal("12.50", LiteralKind::Typed("http://e/money")),
    ];
    let graph = snapshot.intern(TermView::Iri(&graph)).expect("room");
    let like = quad(snapshot, ["odd", "odd", "odd"]);
    let with = |object: TermId| QuadIds {
        object,
        graph,
        ..like
    };
    objects.map(with).to_vec()
}

/// Commits of one stage: terms that are new, quads that go and come, of rows and of others.
fn change(database: &Database, stage: usize) {
    let mut transaction = database.begin().expect("the turn");
    let name = format!("new{stage}");
    add(&mut transaction, [&name, "likes", "\"old"]);
    add(&mut transaction, [&name, &format!("p{stage}"), "s1"]);
    let row = format!("s{}", 3 + stage);
    let text = format!("\"name {}", 3 + stage);
    assert_eq!(remove(&mut transaction, [&row, "name", &text]).removed, 1);
    let odd = odd_quads(transaction.snapshot(), stage);
    transaction.apply(&[], &odd).expect("it can be stored");
    transaction.commit().expect("it can be committed");
    // What the commit before has removed comes again, and what the one before that has added goes.
    let mut transaction = database.begin().expect("the turn");
    if stage > 0 {
        let row = format!("s{}", 2 + stage);
        let text = format!("\"name {}", 2 + stage);
        assert_eq!(add(&mut transaction, [&row, "name", &text]).added, 1);
        let before = format!("new{}", stage - 1);
        let gone = remove(&mut transaction, [&before, "likes", "\"old"]);
        assert_eq!(gone.removed, 1);
        let odd = odd_quads(transaction.snapshot(), stage - 1);
        let gone = transaction.apply(&odd[1..2], &[]).expect("it can be");
        assert_eq!(gone.removed, 1);
    }
    add(&mut transaction, ["s1", "stage", &format!("\"{stage}")]);
    transaction.commit().expect("it can be committed");
}

#[test]
fn what_is_committed_during_a_merge_is_in_the_new_version() {
    let folder = TempDir::new().expect("a temporary folder");
    let stages = Stages::new();
    for database in databases(&folder, &stages) {
        load(&database, &regular(40));
        // Before the merge: removed quads that come again during it, and the other way round.
        change(&database, 0);
        let twin = Database::of_snapshot(database.snapshot());
        let mut round = 0;
        let merged = stages.during(
            || database.merge_now(),
            |stage| {
                if OTHERS_WRITE.contains(&stage) {
                    round += 1;
                    change(&database, round);
                    change(&twin, round);
                }
            },
        );
        merged.expect("there is room");
        assert_eq!(round, 3);
        let snapshot = database.snapshot();
        let expected = quads(&twin.snapshot());
        assert_eq!(quads(&snapshot), expected);
        assert_eq!(snapshot.commit_number(), 8);
        assert!(snapshot.has_delta());
        let checked = database.check(CheckDepth::Deep);
        checked.expect("the new version is whole");
        // It goes on: a commit, and another merge without anybody else.
        change(&database, 4);
        change(&twin, 4);
        assert_eq!(quads(&database.snapshot()), quads(&twin.snapshot()));
        database.merge_now().expect("there is room");
        assert!(!database.snapshot().has_delta());
        assert_eq!(quads(&database.snapshot()), quads(&twin.snapshot()));
        change(&database, 5);
    }
    let path = folder.path().join("store");
    assert_eq!(names_in(&path), ["LOCK", "MANIFEST", "log-3", "v3"]);
    let reopened = Database::open(&path).expect("it opens");
    assert_eq!(reopened.snapshot().commit_number(), 12);
}

/// A commit of more than is said again in a turn.
fn commit_much(database: &Database, round: usize) {
    let mut transaction = database.begin().expect("the turn");
    for number in 0..600 {
        add(
            &mut transaction,
            [&format!("much{round}-{number}"), "likes", "s1"],
        );
    }
    transaction.commit().expect("it can be committed");
}

/// How often a merge has caught up where others commit much before so many of its last turns.
fn times_caught_up(commits_max: usize) -> usize {
    let stages = Stages::new();
    let database = Database::in_memory_with(Snapshot::empty(), stopping(&stages));
    load(&database, &regular(40));
    let twin = Database::of_snapshot(database.snapshot());
    let mut rounds = 0;
    let merged = stages.during(
        || database.merge_now(),
        |stage| {
            if stage == MergeStage::CaughtUp {
                if rounds < commits_max {
                    commit_much(&database, rounds);
                    commit_much(&twin, rounds);
                }
                rounds += 1;
            }
        },
    );
    merged.expect("there is room");
    assert_eq!(quads(&database.snapshot()), quads(&twin.snapshot()));
    let checked = database.check(CheckDepth::Deep);
    checked.expect("the new version is whole");
    rounds
}

#[test]
fn a_large_commit_before_the_last_turn_is_caught_up_without_it() {
    assert_eq!(times_caught_up(0), 1);
    assert_eq!(times_caught_up(1), 2);
    let always = times_caught_up(usize::MAX);
    assert!((3..=10).contains(&always), "it ends all the same: {always}");
}

#[test]
fn a_store_is_opened_anew_after_commits_during_a_merge() {
    let folder = TempDir::new().expect("a temporary folder");
    let stages = Stages::new();
    let [_, database] = databases(&folder, &stages);
    let path = folder.path().join("store");
    load(&database, &regular(40));
    change(&database, 0);
    let (mut round, mut others) = (0, Vec::new());
    let merged = stages.during(
        || database.merge_now(),
        |stage| {
            if OTHERS_WRITE.contains(&stage) {
                round += 1;
                change(&database, round);
            }
            // Other processes read what was acknowledged at each stage, until the manifest is renamed from the old log.
            others.push((quads_in(&path), quads(&database.snapshot())));
        },
    );
    merged.expect("there is room");
    assert_eq!(others.len(), 4);
    for (read, published) in others {
        assert_eq!(read, published);
    }
    let expected = quads(&database.snapshot());
    assert_eq!(quads_in(&path), expected);
    assert_eq!(names_in(&path), ["LOCK", "MANIFEST", "log-2", "v2"]);
    drop(database);
    let database = Database::open_with(&path, quiet()).expect("it opens");
    change(&database, 4);
    assert!(quads_in(&path).len() > expected.len());
    assert_eq!(database.snapshot().commit_number(), 10);
}

/// The quads with names in the place of blank nodes, all of which have one: an object of `name`.
fn named(snapshot: &Snapshot) -> BTreeSet<String> {
    let all = quads(snapshot);
    let mut names = BTreeMap::new();
    for quad in &all {
        let parts: Vec<&str> = quad.splitn(3, ' ').collect();
        if parts[0].starts_with("_:") && parts[1] == "<http://e/name>" {
            let before = names.insert(parts[0].to_owned(), parts[2].trim().to_owned());
            assert_eq!(before, None, "a blank node has two names");
        }
    }
    let name = |part: &str| match part.starts_with("_:") {
        true => names[part].clone(),
        false => part.to_owned(),
    };
    let show = |quad: &String| -> String {
        let parts: Vec<String> = quad.split(' ').map(name).collect();
        parts.join(" ")
    };
    let shown: BTreeSet<String> = all.iter().map(show).collect();
    assert_eq!(shown.len(), all.len(), "two nodes of one name");
    shown
}

/// The blank node of a name.
fn node(snapshot: &Snapshot, name: &str) -> TermId {
    let wanted = quad(snapshot, ["x", "name", &format!("\"{name}")]);
    let mut found = Vec::new();
    let pattern = basalt_store::QuadPattern {
        predicate: Some(wanted.predicate),
        object: Some(wanted.object),
        ..Default::default()
    };
    let visited = snapshot.matching(&pattern, &mut |quad| {
        found.push(quad.subject);
        std::ops::ControlFlow::Continue(())
    });
    visited.expect("the store can be read");
    assert_eq!(found.len(), 1, "{name}");
    found[0]
}

/// Commits with blank nodes: new ones, linked to old ones, and quads of old ones that go and come.
fn change_blank_nodes(database: &Database, round: usize) {
    let mut transaction = database.begin().expect("the turn");
    let snapshot = transaction.snapshot().clone();
    let old = node(&snapshot, &format!("row {round}"));
    let loose = node(&snapshot, "loose");
    let new = snapshot.new_blank().expect("there is room");
    let name = format!("new {round}");
    let like = quad(&snapshot, ["x", "name", &format!("\"{name}")]);
    let next = quad(&snapshot, ["x", "next", "x"]);
    let link = |subject: TermId, object: TermId| QuadIds {
        subject,
        object,
        ..next
    };
    let mut added = vec![
        QuadIds {
            subject: new,
            ..like
        },
        link(new, old),
        link(old, new),
        link(loose, new),
    ];
    let mut removed = Vec::new();
    if round > 0 {
        let before = node(&snapshot, &format!("new {}", round - 1));
        added.push(link(new, before));
        // A quad of a node of the old version that was inserted by the commit before, and one that was loaded.
        removed.push(link(loose, before));
        let size = quad(&snapshot, ["x", "size", "x"]);
        let number = snapshot.intern(TermView::Literal(LiteralView {
            lexical: &round.to_string(),
            kind: LiteralKind::Typed("http://www.w3.org/2001/XMLSchema#integer"),
        }));
        removed.push(QuadIds {
            subject: old,
            object: number.expect("there is room"),
            ..size
        });
    }
    let changed = transaction.apply(&removed, &added).expect("it can be");
    assert_eq!(changed.removed, removed.len() as u64, "round {round}");
    assert_eq!(changed.added, added.len() as u64, "round {round}");
    transaction.commit().expect("it can be committed");
}

#[test]
fn blank_nodes_live_on() {
    let folder = TempDir::new().expect("a temporary folder");
    let stages = Stages::new();
    let mut text: String = (0..30)
        .map(|i| format!("_:r{i} <http://e/name> \"row {i}\" ; <http://e/size> {i} .\n"))
        .collect();
    text += "_:l <http://e/name> \"loose\" . _:g <http://e/name> \"gone\" .";
    for database in databases(&folder, &stages) {
        load(&database, &text);
        change_blank_nodes(&database, 0);
        // A node without any quad when the merge begins.
        let gone = node(&database.snapshot(), "gone");
        let name = quad(&database.snapshot(), ["x", "name", "\"gone"]);
        let its = QuadIds {
            subject: gone,
            ..name
        };
        let mut transaction = database.begin().expect("the turn");
        transaction.apply(&[its], &[]).expect("it can be stored");
        transaction.commit().expect("it can be committed");
        let twin = Database::of_snapshot(database.snapshot());
        let mut round = 0;
        let merged = stages.during(
            || database.merge_now(),
            |stage| {
                if !OTHERS_WRITE.contains(&stage) {
                    return;
                }
                round += 1;
                for database in [&database, &twin] {
                    change_blank_nodes(database, round);
                    let mut transaction = database.begin().expect("the turn");
                    // It comes back, goes, and comes back.
                    let changed = match round {
                        2 => transaction.apply(&[its], &[]),
                        _ => transaction.apply(&[], &[its]),
                    };
                    let changed = changed.expect("it can be stored");
                    assert_eq!(changed.added + changed.removed, 1);
                    transaction.commit().expect("it can be committed");
                }
            },
        );
        merged.expect("there is room");
        assert_eq!(named(&database.snapshot()), named(&twin.snapshot()));
        // The nodes are the same ones for whoever goes on.
        for round in 4..6 {
            change_blank_nodes(&database, round);
            change_blank_nodes(&twin, round);
        }
        assert_eq!(named(&database.snapshot()), named(&twin.snapshot()));
        let checked = database.check(CheckDepth::Deep);
        checked.expect("the new version is whole");
    }
    let path = folder.path().join("store");
    let database = Database::open_with(&path, quiet()).expect("it opens");
    let before = named(&database.snapshot());
    change_blank_nodes(&database, 6);
    assert!(named(&database.snapshot()).len() > before.len());
}

#[test]
fn readers_keep_what_they_have_through_a_merge() {
    let folder = TempDir::new().expect("a temporary folder");
    let stages = Stages::new();
    for database in databases(&folder, &stages) {
        load(&database, &regular(40));
        change(&database, 0);
        let mut readers = vec![database.snapshot()];
        let mut seen = vec![quads(&readers[0])];
        let mut round = 0;
        let merged = stages.during(
            || database.merge_now(),
            |stage| {
                if OTHERS_WRITE.contains(&stage) {
                    round += 1;
                    change(&database, round);
                }
                // The manifest is not renamed before all stages are over.
                assert_eq!(database.snapshot().version(), readers[0].version());
                readers.push(database.snapshot());
                seen.push(quads(&readers[readers.len() - 1]));
            },
        );
        merged.expect("there is room");
        readers.push(database.snapshot());
        seen.push(quads(&database.snapshot()));
        assert_eq!(seen[4], seen[5], "a merge changes nothing");
        change(&database, 4);
        for (reader, seen) in readers.iter().zip(&seen) {
            assert_eq!(quads(reader), *seen);
        }
    }
}

#[test]
fn a_load_makes_a_merge_give_up_and_takes_the_changes_in() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    for stage in OTHERS_WRITE {
        let stages = Stages::new();
        let options = merging(5, &stages);
        let database = Database::open_or_empty_with(&path, options).expect("it opens");
        load(&database, &regular(40));
        let version = database.snapshot().version();
        stages.switch(true);
        change(&database, 0);
        stages.wait_for(stage);
        stages.switch(false);
        let mut expected = quads(&database.snapshot());
        std::thread::scope(|scope| {
            let loading = scope.spawn(|| load(&database, &line("x", "y", "<http://e/z>")));
            // The load has the merge give up before it waits for it.
            wait_until(|| database.is_merge_given_up());
            stages.let_go_on();
            loading.join().expect("no panic");
        });
        expected.insert(shown(["x", "y", "z"]));
        assert_eq!(quads(&database.snapshot()), expected);
        let status = database.write_status();
        assert_eq!((status.merges, status.merge_failure), (0, None));
        assert_eq!(database.snapshot().version(), version + 1);
        assert_eq!(quads_in(&path), expected);
        let of_version = format!("v{}", version + 1);
        assert_eq!(names_in(&path), ["LOCK", "MANIFEST", &of_version]);
        drop(database);
        std::fs::remove_dir_all(&path).expect("a folder of the test");
    }
}

#[test]
fn loads_that_are_refused_do_not_keep_merges_from_ending() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let stages = Stages::new();
    let database = Database::open_or_empty_with(&path, merging(5, &stages)).expect("it opens");
    load(&database, &regular(40));
    let refused = || {
        let loaded = database.load_text("<http://e/a> <http://e/b> .", GraphFormat::NTriples);
        loaded.expect_err("no object");
    };
    stages.switch(true);
    change(&database, 0);
    stages.wait_for(MergeStage::Written);
    std::thread::scope(|scope| {
        scope.spawn(refused);
        wait_until(|| database.is_merge_given_up());
        stages.let_go_on();
        // Another begins by itself, and the next load waits for it.
        stages.wait_for(MergeStage::Written);
    });
    std::thread::scope(|scope| {
        let loading = scope.spawn(refused);
        std::thread::sleep(Duration::from_millis(50));
        assert!(!database.is_merge_given_up() && !loading.is_finished());
        stages.let_go_on();
        stages.wait_for(MergeStage::Ready);
        stages.let_go_on();
    });
    let status = database.write_status();
    assert_eq!((status.merges, status.merge_failure), (1, None));
    // The one after that is given up again.
    change(&database, 1);
    stages.wait_for(MergeStage::Written);
    stages.switch(false);
    std::thread::scope(|scope| {
        scope.spawn(refused);
        wait_until(|| database.is_merge_given_up());
        stages.let_go_on();
    });
    wait_until(|| database.write_status().merges == 2);
    assert_eq!(quads_in(&path), quads(&database.snapshot()));
}

#[test]
fn a_merge_that_is_given_up_leaves_no_file_and_the_next_one_comes() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let stages = Stages::new();
    let database = Database::open_or_empty_with(&path, merging(5, &stages)).expect("it opens");
    load(&database, &regular(40));
    stages.switch(true);
    change(&database, 0);
    for (round, stage) in OTHERS_WRITE.into_iter().enumerate() {
        stages.wait_for(stage);
        database.give_up_merge();
        // The next commits are made while it gives up, or after that.
        change(&database, round + 1);
        stages.let_go_on();
        let expected = quads(&database.snapshot());
        assert_eq!(quads_in(&path), expected);
        wait_until(|| !database.write_status().is_merging);
        assert_eq!(names_in(&path), ["LOCK", "MANIFEST", "log-1", "v1"]);
        assert_eq!(database.write_status().merge_failure, None);
        commit_one(&database, ["a", "b", &format!("\"{round}")]);
    }
    stages.wait_for(MergeStage::Ready);
    stages.switch(false);
    stages.let_go_on();
    wait_until(|| !database.write_status().is_merging);
    assert_eq!(database.write_status().merges, 1);
    let expected = quads(&database.snapshot());
    assert_eq!(expected.len() as u64, database.snapshot().quad_count());
    assert_eq!(quads_in(&path), expected);
}

#[test]
fn dropping_a_database_gives_up_its_merge() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    for round in 0..6 {
        let stages = Stages::new();
        let database = Database::open_or_empty_with(&path, merging(3, &stages)).expect("it opens");
        if round == 0 {
            load(&database, &regular(40));
        }
        stages.switch(true);
        for i in 0..4 {
            commit_one(&database, [&format!("r{round}"), "b", &format!("\"{i}")]);
        }
        let expected = quads(&database.snapshot());
        stages.wait_for(OTHERS_WRITE[round % 3]);
        stages.switch(false);
        if round < 3 {
            database.give_up_merge();
        }
        stages.let_go_on();
        drop(database);
        assert_eq!(quads_in(&path), expected);
        let versions = names_in(&path);
        let versions = versions.iter().filter(|name| name.starts_with('v'));
        assert_eq!(versions.count(), 1, "round {round}");
    }
}

#[test]
fn a_killed_merge_is_cleaned_up_by_the_next_writer() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let database = Database::open_or_empty_with(&path, quiet()).expect("it opens");
    commit_one(&database, ["a", "b", "\"c"]);
    drop(database);
    // What a process leaves that is killed while it catches up.
    std::fs::create_dir(path.join("v2")).expect("a folder of the test");
    std::fs::write(path.join("v2/quads"), "half").expect("there is room");
    std::fs::write(path.join("log-2"), "half").expect("there is room");
    let database = Database::open_with(&path, quiet()).expect("it opens");
    assert_eq!(database.snapshot().quad_count(), 1);
    drop(database.begin().expect("the turn"));
    assert_eq!(names_in(&path), ["LOCK", "MANIFEST", "log-1", "v1"]);
    commit_one(&database, ["a", "b", "\"d"]);
    assert_eq!(quads_in(&path).len(), 2);
}
