//! Damaged stores: every file truncated and thousands of bits at stake, one damage at a time.
//!
//! Opening a store verifies every checksum, so a damage is either refused there with the file's name, or it is
//! in bytes without meaning and every answer is right. Nothing may panic or hang.

mod support;

use basalt_engine::{CheckDepth, Database, QueryOptions};
use basalt_testkit::Answer;
use basalt_testkit::bag::{self, Numbers};
use basalt_testkit::split_mix::SplitMix;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;
use support::{Configuration, ask, load_nquads};
use tempfile::TempDir;

/// Bit flips, spread over all files.
const FLIPS: u64 = 300;
/// A single damage is dealt with in far less.
const PATIENCE: Duration = Duration::from_secs(30);

const QUERIES: &[&str] = &[
    "SELECT * { ?s ?p ?o }",
    "SELECT * { GRAPH ?g { ?s ?p ?o } }",
    "SELECT ?s ?label ?price { ?s <http://v/label> ?label ; <http://v/price> ?price FILTER(?price > 40) }",
    "SELECT ?maker (COUNT(*) AS ?n) { ?s <http://v/maker> ?m . ?m <http://v/name> ?maker } GROUP BY ?maker",
    "SELECT ?s { ?s <http://v/maker> <http://d/maker3> ; <http://v/tag> \"t1\" }",
    "SELECT ?s { ?s <http://v/label> \"thing number 17, rather like all the others\"@en }",
    "SELECT ?s ?o { ?s <http://v/near>+ ?o }",
    "ASK { <http://d/thing5> <http://v/odd> ?o }",
];

/// Things with makers: two tables, lists, dates, irregular quads, a named graph, blank nodes.
fn data() -> String {
    let mut text = String::new();
    let a = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>";
    let xsd = "http://www.w3.org/2001/XMLSchema#";
    for i in 0..12 {
        text += &format!("<http://d/maker{i}> {a} <http://v/Maker> .\n");
        text += &format!(
            "<http://d/maker{i}> <http://v/name> \"maker {}\" .\n",
            i % 5
        );
    }
    for i in 0..60 {
        let s = format!("<http://d/thing{i}>");
        text += &format!("{s} {a} <http://v/Thing> .\n");
        text += &format!(
            "{s} <http://v/label> \"thing number {i}, rather like all the others\"@en .\n"
        );
        text += &format!("{s} <http://v/price> \"{}.50\"^^<{xsd}decimal> .\n", i * 2);
        text += &format!(
            "{s} <http://v/made> \"20{:02}-03-01\"^^<{xsd}date> .\n",
            i % 30
        );
        text += &format!("{s} <http://v/maker> <http://d/maker{}> .\n", i % 12);
        for tag in 0..i % 4 {
            text += &format!("{s} <http://v/tag> \"t{tag}\" .\n");
        }
        if i % 9 == 5 {
            text += &format!(
                "{s} <http://v/odd> _:b{i} .\n_:b{i} <http://v/near> <http://d/thing{}> .\n",
                i - 1
            );
            text += &format!(
                "{s} <http://v/near> _:b{i} .\n{s} <http://v/label> \"again\" <http://d/graph> .\n"
            );
        }
    }
    text
}

/// A file of a store with its bytes.
struct StoreFile {
    path: PathBuf,
    name: String,
    bytes: Vec<u8>,
}

fn files_below(folder: &Path, out: &mut Vec<StoreFile>) {
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            files_below(&path, out);
        } else {
            let name = path
                .file_name()
                .expect("a file has a name")
                .to_string_lossy()
                .into_owned();
            let bytes = fs::read(&path).expect("a readable file");
            out.push(StoreFile { path, name, bytes });
        }
    }
    out.sort_by(|a, b| a.path.cmp(&b.path));
}

/// What came of one damage.
#[derive(Debug, PartialEq, Eq)]
enum Outcome {
    /// An error named the file when the store was opened.
    Told,
    /// Every answer was right and the check clean: the bytes have no meaning.
    Harmless,
}

/// Opens a damaged store and asks it everything.
fn examine(folder: &Path, file: &str, expected: &[Answer]) -> Result<Outcome, String> {
    let database = match Database::open(folder) {
        Ok(database) => database,
        Err(error) => {
            let message = error.to_string();
            return match message.contains(file) {
                true => Ok(Outcome::Told),
                false => Err(format!("the message does not name {file}: {message}")),
            };
        }
    };
    for (text, expected) in QUERIES.iter().zip(expected) {
        let answer = ask(&database, text, &QueryOptions::default())?;
        bag::compare(expected, &answer, Numbers::Exact)
            .map_err(|mismatch| format!("a wrong answer from a store that opened: {mismatch}"))?;
    }
    match database.check(CheckDepth::Deep) {
        Ok(_) => Ok(Outcome::Harmless),
        Err(error) => Err(format!("only the deep check noticed: {error}")),
    }
}

/// One damage: which file gets which bytes.
struct Damage {
    what: String,
    file_idx: usize,
    bytes: Vec<u8>,
}

fn damages(files: &[StoreFile]) -> Vec<Damage> {
    let mut all = Vec::new();
    for (file_idx, file) in files.iter().enumerate() {
        let length = file.bytes.len();
        let mut points = vec![
            0,
            1,
            7,
            15,
            63,
            64,
            100,
            length / 4,
            length / 2,
            length * 3 / 4,
        ];
        points.extend([1, 8, 16, 64].map(|tail| length.saturating_sub(tail)));
        points.retain(|&point| point < length);
        points.sort_unstable();
        points.dedup();
        for point in points {
            let what = format!("{} cut to {point} of {length} bytes", file.name);
            all.push(Damage {
                what,
                file_idx,
                bytes: file.bytes[..point].to_vec(),
            });
        }
    }
    let mut random = SplitMix::new(20_240_607);
    for number in 0..FLIPS {
        // Every file in turn, whatever its size.
        let file_idx = (number % files.len() as u64) as usize;
        let file = &files[file_idx];
        if file.bytes.is_empty() {
            continue;
        }
        let at = random.below(file.bytes.len());
        let bit = random.below(8);
        let mut bytes = file.bytes.clone();
        bytes[at] ^= 1 << bit;
        all.push(Damage {
            what: format!("{} bit {bit} of byte {at} flipped", file.name),
            file_idx,
            bytes,
        });
    }
    all
}

/// A new file in the place of the old one, whose maps stay as they are.
fn replace(path: &Path, bytes: &[u8]) {
    fs::remove_file(path).expect("the file can be removed");
    fs::write(path, bytes).expect("the file can be written");
}

/// Damages one file after the other on a thread of its own and reports what came of it.
fn run_damages(
    folder: PathBuf,
    files: Vec<StoreFile>,
    expected: Vec<Answer>,
    report: mpsc::Sender<(String, Option<Result<Outcome, String>>)>,
) {
    for damage in damages(&files) {
        let file = &files[damage.file_idx];
        replace(&file.path, &damage.bytes);
        let started = report.send((damage.what.clone(), None));
        let result = catch_unwind(AssertUnwindSafe(|| examine(&folder, &file.name, &expected)))
            .unwrap_or_else(|_| Err("a panic".to_owned()));
        let sent = started.and_then(|()| report.send((damage.what, Some(result))));
        if sent.is_err() {
            // Nobody waits any more.
            return;
        }
        replace(&file.path, &file.bytes);
    }
}

#[test]
fn a_damaged_store_says_so_or_answers_right() {
    let configuration = Configuration::default();
    let in_memory = load_nquads(data(), &configuration);
    let answer =
        |text: &&str| ask(&in_memory.database, text, &QueryOptions::default()).expect("an answer");
    let expected: Vec<Answer> = QUERIES.iter().map(answer).collect();
    assert!(
        expected.iter().all(|answer| !answer.is_empty()),
        "a query has no rows"
    );

    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let source = folder.path().join("data.nq");
    fs::write(&source, data()).expect("the data can be written");
    let database = Database::open_or_empty(&path).expect("a new store opens");
    let inputs = vec![basalt_engine::Input::path(&source)];
    let options = basalt_engine::LoadOptions {
        inputs,
        ..basalt_engine::LoadOptions::default()
    };
    database
        .load(options, &basalt_engine::NoProgress)
        .expect("the data loads");
    drop(database);
    assert_eq!(examine(&path, "none", &expected), Ok(Outcome::Harmless));

    let mut files = Vec::new();
    files_below(&path, &mut files);
    files.retain(|file| !file.bytes.is_empty());
    assert!(
        files.len() >= 5,
        "the store has more files than {}",
        files.len()
    );
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || run_damages(path, files, expected, sender));
    let (mut told, mut harmless) = (0, 0);
    let mut failures = Vec::new();
    let mut current = String::new();
    loop {
        match receiver.recv_timeout(PATIENCE) {
            Ok((what, None)) => current = what,
            Ok((_, Some(Ok(Outcome::Told)))) => told += 1,
            Ok((_, Some(Ok(Outcome::Harmless)))) => harmless += 1,
            Ok((what, Some(Err(error)))) => failures.push(format!("{what}: {error}")),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                failures.push(format!("{current}: hangs"));
                break;
            }
        }
    }
    eprintln!("told {told}, harmless {harmless}");
    assert!(
        failures.is_empty(),
        "{} damages:\n{}",
        failures.len(),
        failures.join("\n")
    );
    assert!(told > 300, "too few damages were told");
}
