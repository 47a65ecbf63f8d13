//! A disk that is full at ten moments of a load, and a limit on the size of files that is met at ten moments.
//!
//! The first needs the right to mount small file systems, and says so where it is missing; the second works
//! for everybody.

use crate::story::{Running, Story, Verdict, is_full};
use crate::support::Outcome;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Moments in a load.
const MOMENTS: u64 = 10;
/// Space of a file is given out in these units.
const PAGE_BYTES: u64 = 4096;

/// A file system of its own in memory, unmounted at the end.
struct Disk(PathBuf);

impl Disk {
    /// Mounts one of this size, if that is allowed here.
    fn mount(path: &Path, kibibytes: u64) -> Option<Self> {
        std::fs::create_dir_all(path).expect("a folder");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={kibibytes}k"), "tmpfs"])
            .arg(path)
            .output();
        mounted
            .is_ok_and(|output| output.status.success())
            .then(|| Self(path.to_owned()))
    }

    /// Makes it large.
    fn grow(&self) {
        let grown = Command::new("mount")
            .args(["-o", "remount,size=1g"])
            .arg(&self.0)
            .status();
        assert!(
            grown.is_ok_and(|status| status.success()),
            "it can be made larger"
        );
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // If this fails, the temporary folder stays; the test has said what it had to say.
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

/// Space that the files below a folder take, and the size of the largest.
fn space(folder: &Path) -> (u64, u64) {
    let (mut sum, mut largest) = (PAGE_BYTES, 0);
    for entry in std::fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("an entry").path();
        let bytes = path.metadata().expect("it is there").len();
        let (bytes, file) = if path.is_dir() {
            space(&path)
        } else {
            (bytes, bytes)
        };
        sum += bytes.next_multiple_of(PAGE_BYTES);
        largest = largest.max(file);
    }
    (sum, largest)
}

/// The story, the space that its store takes before and after, and the size of the largest file after.
fn measured(old: Option<usize>, new: usize) -> (Story, u64, u64, u64) {
    let story = Story::generated(old, new);
    let before = old.map_or(0, |_| space(&story.place.path("before")).0);
    story.prepare("measured");
    let outcome = Running::start(&story.place, None, &story.load("measured")).end();
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let (after, largest) = space(&story.place.path("measured"));
    (story, before, after, largest)
}

/// A load that failed for want of space names the file, in one line.
fn assert_clear(outcome: &Outcome, store: &str, reason: &str, case: &str) {
    assert_eq!(outcome.code, Some(1), "{case}: {outcome:?}");
    let line = outcome.err.lines().last().unwrap_or_default();
    assert!(line.starts_with("error: cannot "), "{case}: {outcome:?}");
    assert!(line.contains(&format!("`{store}/")), "{case}: {outcome:?}");
    assert!(line.contains(reason), "{case}: {outcome:?}");
}

fn fill_the_disk(old: Option<usize>, new: usize) {
    let (story, before, after, _) = measured(old, new);
    let mut failures = 0;
    for moment in 0..MOMENTS {
        // All that is needed at the end is both versions.
        let bytes = before + (after * moment / (MOMENTS - 1)) + 2 * PAGE_BYTES;
        let case = format!("{bytes} bytes, {before} before, {after} after");
        let Some(disk) = Disk::mount(&story.place.path("disk"), bytes.div_ceil(1024)) else {
            eprintln!("skipped: a file system cannot be mounted here");
            return;
        };
        story.prepare("disk/store");
        let outcome = Running::start(&story.place, None, &story.load("disk/store")).end();
        let mut verdict = Verdict::New;
        if outcome.code != Some(0) {
            assert_clear(&outcome, "disk/store", "space", &case);
            story.assert_untouched("disk/store", &case);
            verdict = Verdict::Old;
            failures += 1;
        }
        disk.grow();
        story.assert_next_writer_cleans_up("disk/store", verdict, &case);
        let again = Running::start(&story.place, None, &story.load("disk/store")).end();
        assert_eq!(again.code, Some(0), "{case}: {again:?}");
        drop(disk);
    }
    assert!(
        failures >= MOMENTS - 3,
        "only {failures} of {MOMENTS} loads met the end of the disk"
    );
}

fn products() -> usize {
    if is_full() { 1000 } else { 30 }
}

#[test]
fn a_disk_that_fills_while_a_store_is_made() {
    fill_the_disk(None, products());
}

#[test]
fn a_disk_that_fills_while_a_store_grows() {
    fill_the_disk(Some(products()), products());
}

/// Whether a file of this many blocks is refused to a program with a limit, and how large blocks are.
fn block_bytes(story: &Story) -> Option<u64> {
    let script = "trap '' XFSZ; ulimit -f 8 || exit 1; head -c 100000 /dev/zero > limited; exit 0";
    let ran = Command::new("sh")
        .args(["-c", script])
        .current_dir(story.place.path(""))
        .output();
    ran.ok().filter(|output| output.status.success())?;
    let bytes = story.place.path("limited").metadata().ok()?.len();
    (bytes < 100_000).then_some(bytes / 8)
}

#[test]
fn a_limit_on_the_size_of_files() {
    let (story, _, _, largest) = measured(Some(products()), products());
    let Some(block) = block_bytes(&story) else {
        eprintln!("skipped: the size of files cannot be limited here");
        return;
    };
    for moment in 0..MOMENTS {
        let blocks = largest * moment / MOMENTS / block;
        let case = format!("{blocks} blocks of {block} bytes, the largest file has {largest}");
        story.prepare("store");
        // The shell may quote nothing here: names of the test hold no special character.
        let load = story.load("store").join(" ");
        let binary = env!("CARGO_BIN_EXE_basalt");
        let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec '{binary}' {load}");
        let arguments = ["-c".to_owned(), script];
        let outcome = Running::start(&story.place, Some("sh"), &arguments).end();
        assert_clear(&outcome, "store", "too large", &case);
        story.assert_untouched("store", &case);
    }
    story.assert_next_writer_cleans_up("store", Verdict::Old, "at the end");
}
