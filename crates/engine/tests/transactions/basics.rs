//! One writer, and what readers see of it.

use crate::data::{
    add, commit_one, line, load, names_in, quad, quads, quads_in, quiet, regular, remove, shown,
    with_durability,
};
use basalt_engine::{ChangeCounts, Commit, Database, Durability, Error, Snapshot, StoreError};
use std::time::Duration;
use tempfile::TempDir;

/// A database in memory and one on disk.
fn both() -> (Vec<Database>, TempDir) {
    let folder = TempDir::new().expect("a temporary folder");
    let on_disk = Database::open_or_empty_with(&folder.path().join("store"), quiet());
    let on_disk = on_disk.expect("an empty folder");
    (vec![Database::in_memory(), on_disk], folder)
}

#[test]
fn a_transaction_sees_its_changes_and_others_see_them_after_the_commit() {
    let (databases, _folder) = both();
    for database in databases {
        load(&database, &regular(10));
        let before = database.snapshot();
        let mut transaction = database.begin().expect("the turn");
        let added = add(&mut transaction, ["s1", "likes", "s2"]);
        assert_eq!(
            added,
            ChangeCounts {
                removed: 0,
                added: 1
            }
        );
        let again = add(&mut transaction, ["s1", "likes", "s2"]);
        assert_eq!(again, ChangeCounts::default());
        let removed = remove(&mut transaction, ["s1", "next", "s0"]);
        assert_eq!(
            removed,
            ChangeCounts {
                removed: 1,
                added: 0
            }
        );
        assert_eq!(transaction.snapshot().quad_count(), 30);
        assert!(quads(transaction.snapshot()).contains(&shown(["s1", "likes", "s2"])));
        assert_eq!(quads(&database.snapshot()), quads(&before));
        let commit = transaction.commit().expect("it can be committed");
        let expected = Commit {
            number: 1,
            removed: 1,
            added: 1,
        };
        assert_eq!(commit, expected);
        let mut after = quads(&before);
        after.insert(shown(["s1", "likes", "s2"]));
        assert!(after.remove(&shown(["s1", "next", "s0"])));
        assert_eq!(quads(&database.snapshot()), after);
        assert_eq!(before.quad_count(), 30);
    }
}

#[test]
fn what_is_changed_twice_is_cancelled() {
    let (databases, _folder) = both();
    for database in databases {
        load(&database, &regular(3));
        let mut transaction = database.begin().expect("the turn");
        remove(&mut transaction, ["s1", "next", "s0"]);
        add(&mut transaction, ["s1", "next", "s0"]);
        add(&mut transaction, ["s1", "likes", "s2"]);
        remove(&mut transaction, ["s1", "likes", "s2"]);
        let commit = transaction.commit().expect("it can be committed");
        let nothing = Commit {
            number: 0,
            removed: 0,
            added: 0,
        };
        assert_eq!(commit, nothing);
        assert_eq!(commit_one(&database, ["a", "b", "c"]).number, 1);
    }
}

#[test]
fn a_transaction_that_is_dropped_has_done_nothing() {
    let (databases, folder) = both();
    for database in databases {
        load(&database, &regular(3));
        let before = quads(&database.snapshot());
        let mut transaction = database.begin().expect("the turn");
        add(&mut transaction, ["only", "in", "\"a dream"]);
        drop(transaction);
        assert_eq!(quads(&database.snapshot()), before);
        // Its terms are left in memory, and go to the log with the next commit.
        commit_one(&database, ["s1", "likes", "s2"]);
        assert_eq!(database.snapshot().quad_count(), 10);
    }
    let mut expected = quads_in(&folder.path().join("store"));
    assert!(expected.remove(&shown(["s1", "likes", "s2"])));
    assert_eq!(expected.len(), 9);
}

#[test]
fn a_step_that_fails_is_not_done_and_the_others_are() {
    let (databases, _folder) = both();
    for database in databases {
        let mut transaction = database.begin().expect("the turn");
        add(&mut transaction, ["a", "b", "c"]);
        let mut wrong = quad(transaction.snapshot(), ["d", "e", "f"]);
        let good = quad(transaction.snapshot(), ["g", "h", "i"]);
        wrong.subject = quad(transaction.snapshot(), ["d", "e", "\"text"]).object;
        assert!(transaction.apply(&[], &[good, wrong]).is_err());
        let commit = transaction.commit().expect("it can be committed");
        assert_eq!(commit.added, 1);
        assert_eq!(quads(&database.snapshot()).len(), 1);
    }
}

#[test]
fn commits_are_there_when_the_store_is_opened_again() {
    for durability in [
        Durability::Always,
        Durability::Interval(Duration::from_millis(5)),
        Durability::None,
    ] {
        let folder = TempDir::new().expect("a temporary folder");
        let path = folder.path().join("store");
        let options = || with_durability(durability);
        let database = Database::open_or_empty_with(&path, options()).expect("it opens");
        assert_eq!(commit_one(&database, ["a", "b", "\"c"]).number, 1);
        assert_eq!(names_in(&path), ["LOCK", "MANIFEST", "log-1", "v1"]);
        for i in 2..20 {
            let commit = commit_one(&database, ["a", "b", &format!("\"text {i}")]);
            assert_eq!(commit.number, i);
        }
        let expected = quads(&database.snapshot());
        assert_eq!(quads_in(&path), expected);
        drop(database);
        assert_eq!(quads_in(&path), expected);
        let database = Database::open_with(&path, options()).expect("it opens");
        assert_eq!(database.snapshot().commit_number(), 19);
        assert_eq!(commit_one(&database, ["a", "b", "\"last"]).number, 20);
        assert_eq!(quads_in(&path).len(), expected.len() + 1);
    }
}

#[test]
fn a_writer_keeps_the_lock_and_reading_takes_none() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let first = Database::open_or_empty_with(&path, quiet()).expect("it opens");
    // Nothing is made before the first write.
    assert!(!path.exists());
    commit_one(&first, ["a", "b", "c"]);
    let second = Database::open_with(&path, quiet()).expect("it opens");
    assert_eq!(second.snapshot().quad_count(), 1);
    let refused = second.begin().map(drop);
    assert!(matches!(
        refused,
        Err(Error::Store(StoreError::Locked { .. }))
    ));
    assert!(
        second
            .load_text("<a:a> <a:b> 1 .", basalt_engine::GraphFormat::Turtle)
            .is_err()
    );
    commit_one(&first, ["a", "b", "d"]);
    drop(first);
    // The second sees what the first has done since it was opened.
    assert_eq!(commit_one(&second, ["a", "b", "e"]).number, 3);
    assert_eq!(second.snapshot().quad_count(), 3);
    assert_eq!(quads_in(&path).len(), 3);
}

#[test]
fn a_writer_finds_a_version_that_another_process_has_made() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let first = Database::open_or_empty_with(&path, quiet()).expect("it opens");
    load(&first, &regular(5));
    let second = Database::open_with(&path, quiet()).expect("it opens");
    load(&second, &line("x", "y", "1"));
    // A load gives its lock back.
    assert_eq!(commit_one(&first, ["a", "b", "c"]).number, 1);
    assert_eq!(first.snapshot().quad_count(), 17);
    assert_eq!(quads_in(&path), quads(&first.snapshot()));
}

#[test]
fn a_snapshot_of_another_process_can_be_brought_up_to_date() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let database = Database::open_or_empty_with(&path, quiet()).expect("it opens");
    commit_one(&database, ["a", "b", "c"]);
    let reader = Snapshot::open(&path).expect("it opens");
    commit_one(&database, ["a", "b", "\"d"]);
    assert_eq!(reader.quad_count(), 1);
    let reader = reader.newest_of(&path).expect("it opens");
    assert_eq!(quads(&reader), quads(&database.snapshot()));
    database.merge_now().expect("there is room");
    commit_one(&database, ["a", "b", "\"e"]);
    let reader = reader.newest_of(&path).expect("it opens");
    assert_eq!(quads(&reader), quads(&database.snapshot()));
    assert_eq!(reader.commit_number(), 3);
}
