//! A file system without space: a commit that does not fit is refused, and nothing else suffers.
//!
//! Mounting a small one needs rights; without them the test says that it was skipped.

use crate::data::{load, quads, quads_in, quiet, regular, shown, try_commit_one};
use basalt_engine::Database;
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// A file system of its own in memory, unmounted at the end.
struct Disk(PathBuf);

impl Disk {
    /// Mounts one of this size, if that is allowed here.
    fn mount(path: &Path, kibibytes: u64) -> Option<Self> {
        std::fs::create_dir_all(path).expect("a folder");
        let size = format!("size={kibibytes}k");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &size, "tmpfs"])
            .arg(path)
            .output();
        let is_done = mounted.is_ok_and(|output| output.status.success());
        is_done.then(|| Self(path.to_owned()))
    }

    /// Makes it large.
    fn grow(&self) {
        let grown = Command::new("mount")
            .args(["-o", "remount,size=1g"])
            .arg(&self.0)
            .status();
        assert!(grown.is_ok_and(|status| status.success()), "it can grow");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // If this fails, the temporary folder stays; the test has said what it had to say.
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_refuses_commits_and_merges_and_nothing_is_lost() {
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("disk");
    let Some(disk) = Disk::mount(&path, 400) else {
        eprintln!("skipped: no file system can be mounted here");
        return;
    };
    let store = path.join("store");
    let database = Database::open_or_empty_with(&store, quiet()).expect("it opens");
    load(&database, &regular(20));
    let mut expected = quads(&database.snapshot());
    let mut refused = 0;
    for i in 0..100 {
        let text = format!("\"{i} {}", "x".repeat(9_000));
        match try_commit_one(&database, ["s1", "text", &text]) {
            Ok(_) => {
                expected.insert(shown(["s1", "text", &text]));
            }
            Err(error) => {
                refused += 1;
                let message = error.to_string();
                assert!(
                    message.contains("log-") && message.contains("space"),
                    "{message}"
                );
            }
        }
        assert!(quads(&database.snapshot()) == expected, "commit {i}");
    }
    assert!((40..95).contains(&refused), "{refused} of 100 did not fit");
    assert!(database.merge_now().is_err(), "a merge fits even less");
    assert!(
        quads(&database.snapshot()) == expected,
        "a merge that failed"
    );
    assert!(quads_in(&store) == expected, "opened while it is full");
    disk.grow();
    try_commit_one(&database, ["there", "is", "room"]).expect("there is room again");
    expected.insert(shown(["there", "is", "room"]));
    assert!(quads_in(&store) == expected, "after it has grown");
    database.merge_now().expect("there is room again");
    assert!(quads_in(&store) == expected, "after a merge");
    drop(database);
}
