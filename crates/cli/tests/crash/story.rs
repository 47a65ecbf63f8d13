//! Data from before, data that is added, and the verdict on a store after something went wrong.

use crate::support::{Outcome, Place, command};
use std::collections::BTreeSet;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Names in a store folder that belong to no version.
const KEPT: [&str; 2] = ["LOCK", "MANIFEST"];

/// What a store turned out to hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// What it held before the load.
    Old,
    /// That and all of the load.
    New,
}

/// Two sets of data and what a store with the one, or with both, must dump.
pub struct Story {
    /// Files `old.nt` (absent in a story that begins with nothing) and `new.nq`, and the store `before`.
    pub place: Place,
    has_old: bool,
    old: Vec<String>,
    all: Vec<String>,
}

impl Story {
    /// Data made by the generator, so many products before and so many after.
    pub fn generated(old_products: Option<usize>, new_products: usize) -> Self {
        let place = Place::new();
        if let Some(products) = old_products {
            place.ok(&format!(
                "bsbm generate --products {products} --output old.nt"
            ));
        }
        place.ok(&format!(
            "bsbm generate --products {new_products} --output new.nt"
        ));
        let mut new = std::fs::read_to_string(place.path("new.nt")).expect("generated data");
        // Irregular quads, repeats and a named graph, so that every file of a version has something to hold.
        for i in 0..new_products {
            let quad = |p: usize, o: usize| format!("<http://e/{i}> <http://e/p{p}> \"{o}\" .\n");
            new.push_str(&quad(i % 7, i).repeat(2));
            new.push_str(&format!(
                "<http://e/{i}> <http://e/q> _:b{i} <http://e/g> .\n"
            ));
            new.push_str(&format!(
                "_:b{i} <http://e/q> <http://e/{i}> <http://e/g> .\n"
            ));
        }
        place.write("new.nq", new);
        Self::of(place, old_products.is_some())
    }

    fn of(place: Place, has_old: bool) -> Self {
        let mut old = Vec::new();
        if has_old {
            place.ok("load --location before old.nt");
            old = dump(&place, "before");
        }
        Self::copy(&place, has_old, "after");
        place.ok("load --location after new.nq");
        let all = dump(&place, "after");
        std::fs::remove_dir_all(place.path("after")).expect("a folder of the test");
        assert!(all.len() > old.len(), "the load adds something");
        Self {
            place,
            has_old,
            old,
            all,
        }
    }

    fn copy(place: &Place, has_old: bool, to: &str) {
        if has_old {
            copy_folder(&place.path("before"), &place.path(to));
        }
    }

    /// Makes the store as it was before the load, in the folder of this name.
    pub fn prepare(&self, store: &str) {
        let path = self.place.path(store);
        if path.exists() {
            std::fs::remove_dir_all(&path).expect("a store of the test");
        }
        Self::copy(&self.place, self.has_old, store);
    }

    /// The arguments of the load.
    pub fn load(&self, store: &str) -> Vec<String> {
        let arguments = ["load", "--threads", "2", "--location", store, "new.nq"];
        arguments.map(str::to_owned).to_vec()
    }

    /// What the store holds; fails if that is neither the old data nor the old and the new.
    pub fn verdict(&self, store: &str, case: &str) -> Verdict {
        if !self.place.path(store).join("MANIFEST").exists() {
            assert!(!self.has_old, "{case}: the old data is gone");
            let outcome = self.place.run(&format!("check --location {store}"));
            assert!(outcome.err.contains("not a store"), "{case}: {outcome:?}");
            return Verdict::Old;
        }
        let outcome = self.place.run(&format!("check --location {store} --deep"));
        assert_eq!(outcome.code, Some(0), "{case}: {outcome:?}");
        let found = dump(&self.place, store);
        if found == self.all {
            return Verdict::New;
        }
        assert_eq!(
            found.len(),
            self.old.len(),
            "{case}: part of the load is there"
        );
        assert!(found == self.old, "{case}: the old data has changed");
        Verdict::Old
    }

    /// Fails if the folder holds more than the current version.
    pub fn assert_no_leftovers(&self, store: &str, case: &str) {
        let path = self.place.path(store);
        let mut files = BTreeSet::new();
        if path.exists() {
            collect(&path, &path, &mut files);
        }
        for name in KEPT {
            files.remove(name);
        }
        let mut named = 0;
        if path.join("MANIFEST").exists() {
            let told = self.place.ok(&format!("check --location {store}"));
            let count = told
                .trim_start_matches("no problem found: ")
                .split(' ')
                .next();
            named = count
                .and_then(|n| n.parse().ok())
                .expect("check counts the files");
        }
        assert_eq!(files.len(), named, "{case}: {files:?}");
    }

    /// The next writer finds its way, and cleans up.
    pub fn assert_next_writer_cleans_up(&self, store: &str, expected: Verdict, case: &str) {
        self.place.write("empty.nt", "");
        let outcome = self.place.run(&format!("load --location {store} empty.nt"));
        assert_eq!(outcome.code, Some(0), "{case}: {outcome:?}");
        self.assert_no_leftovers(store, case);
        assert_eq!(
            self.verdict(store, case),
            expected,
            "{case}: after the next load"
        );
    }

    /// After a load that failed by itself: the old data, and no file too many.
    pub fn assert_untouched(&self, store: &str, case: &str) {
        assert_eq!(self.verdict(store, case), Verdict::Old, "{case}");
        self.assert_no_leftovers(store, case);
    }
}

/// The quads of a store, sorted, with blank nodes under one name: their labels are not kept.
fn dump(place: &Place, store: &str) -> Vec<String> {
    let mut lines = place.dump(store);
    for line in &mut lines {
        // In this data a blank node stands first or third, and no literal holds such a word.
        let words = line.split(' ').map(|word| match word.starts_with("_:") {
            true => "_:b",
            false => word,
        });
        *line = words.collect::<Vec<_>>().join(" ");
    }
    lines.sort();
    lines
}

/// Every file below, relative.
fn collect(root: &Path, folder: &Path, files: &mut BTreeSet<String>) {
    let entries: Vec<_> = std::fs::read_dir(folder).expect("a folder").collect();
    if entries.is_empty() && folder != root {
        // A folder without files is something left behind as well.
        files.insert(folder.display().to_string());
    }
    for entry in entries {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            collect(root, &path, files);
        } else {
            let name = path.strip_prefix(root).expect("it is below");
            files.insert(name.display().to_string());
        }
    }
}

fn copy_folder(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder can be made");
    for entry in std::fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy_folder(&entry.path(), &target),
            false => {
                std::fs::copy(entry.path(), &target).expect("a file can be copied");
            }
        }
    }
}

/// A run of the binary that can be waited for with a limit, and signalled.
pub struct Running {
    child: Child,
    ended: Receiver<Vec<u8>>,
}

impl Running {
    /// Starts a program in the folder of a place, `None` for the binary itself.
    pub fn start(place: &Place, program: Option<&str>, arguments: &[String]) -> Self {
        let mut started = match program {
            None => command(&place.path("")),
            Some(program) => {
                let mut other = Command::new(program);
                other.current_dir(place.path(""));
                other
            }
        };
        let mut child = started
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut stderr = child.stderr.take().expect("standard error is a pipe");
        let (sender, ended) = channel();
        std::thread::spawn(move || {
            let mut text = Vec::new();
            // The pipe ends with the process.
            let _ = stderr.read_to_end(&mut text);
            // Nobody listens any more if the test has failed.
            let _ = sender.send(text);
        });
        Self { child, ended }
    }

    /// Its standard input.
    pub fn stdin(&mut self) -> std::process::ChildStdin {
        self.child.stdin.take().expect("standard input is a pipe")
    }

    /// Waits for the moment, or for the end if that comes first; whether it has come.
    pub fn ends_before(&mut self, moment: Duration) -> Option<Outcome> {
        let err = self.ended.recv_timeout(moment).ok()?;
        Some(self.outcome(err))
    }

    /// Waits for its end.
    pub fn end(mut self) -> Outcome {
        drop(self.child.stdin.take());
        let err = self.ended.recv().expect("the program ends");
        self.outcome(err)
    }

    /// Kills it.
    pub fn kill(mut self) -> Outcome {
        // It may have ended by itself just now.
        let _ = self.child.kill();
        self.end()
    }

    /// Sends it a signal, `INT` or `TERM`.
    pub fn signal(&self, name: &str) {
        let sent = format!("kill -{name} {}", self.child.id());
        let mut shell = Command::new("sh");
        // It may have ended by itself just now.
        let _ = shell.args(["-c", &sent]).stderr(Stdio::null()).status();
    }

    fn outcome(&mut self, err: Vec<u8>) -> Outcome {
        let status = self.child.wait().expect("the program ends");
        Outcome {
            code: status.code(),
            out: String::new(),
            err: String::from_utf8_lossy(&err).into_owned(),
        }
    }
}

/// How long a load takes that nobody disturbs: the longest of three.
pub fn undisturbed(story: &Story) -> Duration {
    let times = (0..3).map(|_| {
        story.prepare("timed");
        let start = Instant::now();
        let outcome = Running::start(&story.place, None, &story.load("timed")).end();
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        start.elapsed()
    });
    times.max().expect("three loads")
}

/// Whether slow tests run at full size.
pub fn is_full() -> bool {
    std::env::var_os("BASALT_TESTS_FULL").is_some_and(|value| value == "1")
}
