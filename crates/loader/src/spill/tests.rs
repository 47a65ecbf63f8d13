//! Loads with little memory must write the very bytes of loads in memory.
//!
//! The strongest oracle there is: the files of both stores are compared byte for byte, in every layout, with
//! each kind of spilling forced by itself and all together.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Cursor, Read};
use std::path::Path;

use basalt_rdf::GraphFormat;
use basalt_store::{CheckDepth, Storage};

use crate::{Input, Layout, LoadError, LoadOptions, LoadReport, NoProgress, SpillSettings, load};

const LAYOUTS: [Layout; 4] = [
    Layout::Discover,
    Layout::AllIrregular,
    Layout::OneTable,
    Layout::HalfDirty,
];

/// Things of several kinds with links, named graphs, blank nodes, repeats, and some long texts.
fn text(things: usize) -> String {
    let mut text = String::new();
    let rdf_type = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>";
    for i in 0..things {
        let thing = match i % 11 {
            10 => format!("_:b{i}"),
            _ => format!("<http://d/thing{i}>"),
        };
        let class = ["Offer", "Review", "Person"][i % 3];
        text += &format!("{thing} {rdf_type} <http://v/{class}> .\n");
        text += &format!("{thing} <http://v/label> \"{class} no. {i}\"@en .\n");
        text += &format!(
            "{thing} <http://v/next> <http://d/thing{}> .\n",
            i * 7 % things
        );
        if i % 3 == 0 {
            text += &format!("{thing} <http://v/price> \"{i}.50\"^^<http://v/USD> .\n");
            text += &format!("{thing} <http://v/tag> <http://d/tag{}> .\n", i % 5);
            text += &format!("{thing} <http://v/tag> <http://d/tag{}> .\n", 1 + i % 5);
        }
        if i % 50 == 7 {
            let long = "long ".repeat(i * 3 % 900);
            text += &format!("{thing} <http://v/text> \"{long}{i}\" .\n");
            text += &format!("{thing} <http://v/odd{}> _:b{} .\n", i % 13, i % 40);
        }
        if i % 9 == 0 {
            text += &format!(
                "{thing} <http://v/label> \"elsewhere {i}\" <http://g/{}> .\n",
                i % 4
            );
            text += &format!("{thing} {rdf_type} <http://v/{class}> .\n");
        }
    }
    text
}

/// The lines in another order.
fn shuffled(text: &str) -> String {
    let mut lines: Vec<(usize, &str)> = text.lines().enumerate().collect();
    lines.sort_by_key(|(i, _)| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) % 100_003);
    lines.iter().map(|(_, line)| format!("{line}\n")).collect()
}

/// Settings that spill at every stage. With `reads` 0 texts and quads are dealt out, with the largest number they are
/// read where they are, with none what they are decides.
fn everything(reads: Option<u64>) -> SpillSettings {
    SpillSettings {
        text_reads: reads,
        row_reads: reads,
        parse_bytes: Some(0),
        index_bytes: Some(0),
        slab_bytes: Some(3_000),
        window_quads: Some(900),
        batch_quads: Some(200),
        sort_quads: Some(150),
        text_bytes: Some(2_000),
        ..SpillSettings::default()
    }
}

fn options(inputs: &[&str], layout: Layout, threads: usize, spill: SpillSettings) -> LoadOptions {
    let input = |text: &&str| {
        let bytes = Cursor::new(text.as_bytes().to_vec());
        Input::reader("test", bytes, GraphFormat::NQuads)
    };
    let mut options = LoadOptions {
        inputs: inputs.iter().map(input).collect(),
        layout,
        threads,
        spill,
        ..LoadOptions::default()
    };
    options.settings.table_rows_min = 5;
    options
}

/// The files below a folder; two are told apart by their names only.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut all = BTreeMap::new();
    for entry in fs::read_dir(folder)
        .expect("a folder")
        .map(|e| e.expect("an entry"))
    {
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type().expect("a type").is_dir() {
            let inner = files(&entry.path()).into_iter();
            all.extend(inner.map(|(file, bytes)| (format!("{name}/{file}"), bytes)));
        } else {
            all.insert(name, fs::read(entry.path()).expect("a file"));
        }
    }
    all
}

/// Loads each of several lists of inputs into one store; returns its files.
fn store_of(loads: Vec<LoadOptions>) -> (BTreeMap<String, Vec<u8>>, LoadReport) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut last = LoadReport::default();
    for options in loads {
        let storage = Storage::Directory(folder.path().to_path_buf());
        let (snapshot, report) = load(options, storage, &NoProgress).expect("loads");
        snapshot.check(CheckDepth::Deep).expect("a sound version");
        last = report;
    }
    (files(folder.path()), last)
}

fn assert_same(
    (expected, in_memory): &(BTreeMap<String, Vec<u8>>, LoadReport),
    (found, report): &(BTreeMap<String, Vec<u8>>, LoadReport),
    what: &str,
) {
    let names = |files: &BTreeMap<String, Vec<u8>>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(expected), names(found), "{what}");
    // The history has the time, and the manifest the checksum of the history.
    let has_time = |name: &str| name == "MANIFEST" || name.ends_with("/history");
    for (name, bytes) in expected.iter().filter(|(name, _)| !has_time(name)) {
        // Compared in this way so that a failure does not print the bytes.
        assert!(&found[name] == bytes, "{what}: {name} differs");
    }
    assert_eq!(in_memory.spilled_bytes, 0, "{what}");
    let counts = |r: &LoadReport| {
        let quads = (r.quads_stored, r.irregular_quads, r.quads_in_cells);
        (quads, r.duplicates, r.tables.clone())
    };
    assert_eq!(counts(in_memory), counts(report), "{what}");
}

#[test]
fn every_layout_has_the_bytes_of_a_load_in_memory() {
    let grouped = text(1_200);
    let shuffled = shuffled(&grouped);
    for (text, order) in [(&grouped, "grouped"), (&shuffled, "shuffled")] {
        for layout in LAYOUTS {
            let load = |threads, spill| store_of(vec![options(&[text], layout, threads, spill)]);
            let in_memory = load(2, SpillSettings::default());
            for (threads, reads) in [(1, Some(u64::MAX)), (3, Some(u64::MAX)), (3, Some(0))] {
                let spilled = load(threads, everything(reads));
                assert!(spilled.1.spilled_bytes > text.len() as u64 / 5);
                let what = format!("{order}, {layout:?}, {threads} threads, {reads:?} reads");
                assert_same(&in_memory, &spilled, &what);
            }
        }
    }
}

/// Settings that spill nothing that fits.
fn none() -> SpillSettings {
    SpillSettings::default()
}

/// Settings that spill in one way each while a text of so many bytes is parsed.
fn ways_of_parsing(text_bytes: u64) -> Vec<(&'static str, SpillSettings)> {
    vec![
        (
            "text and quads",
            SpillSettings {
                parse_bytes: Some(0),
                ..none()
            },
        ),
        (
            "half-way",
            SpillSettings {
                parse_bytes: Some(text_bytes / 2),
                slab_bytes: Some(500),
                ..none()
            },
        ),
        (
            "after parsing",
            SpillSettings {
                group_bytes: Some(0),
                slab_bytes: Some(500),
                ..none()
            },
        ),
        (
            "all of the index, with every batch",
            SpillSettings {
                index_bytes: Some(0),
                ..none()
            },
        ),
        (
            "a part of the index",
            SpillSettings {
                index_bytes: Some(300_000),
                ..none()
            },
        ),
    ]
}

/// Settings that spill in one way each later.
fn ways_of_later_stages() -> Vec<(&'static str, SpillSettings)> {
    vec![
        (
            "windows",
            SpillSettings {
                parse_bytes: Some(0),
                window_quads: Some(77),
                ..none()
            },
        ),
        (
            "irregular quads",
            SpillSettings {
                sort_quads: Some(10),
                ..none()
            },
        ),
        (
            "order of texts, dealt out",
            SpillSettings {
                parse_bytes: Some(0),
                text_bytes: Some(1),
                text_reads: Some(0),
                ..none()
            },
        ),
        (
            "order of texts, near",
            SpillSettings {
                parse_bytes: Some(0),
                slab_bytes: Some(5_000),
                text_bytes: Some(20_000),
                text_reads: Some(u64::MAX),
                ..none()
            },
        ),
        (
            "rows, dealt out",
            SpillSettings {
                parse_bytes: Some(0),
                window_quads: Some(777),
                row_reads: Some(0),
                ..none()
            },
        ),
    ]
}

#[test]
fn each_way_to_spill_works_by_itself() {
    let grouped = text(900);
    for text in [shuffled(&grouped), grouped] {
        let load = |spill| store_of(vec![options(&[&text], Layout::HalfDirty, 2, spill)]);
        let in_memory = load(SpillSettings::default());
        let ways = ways_of_parsing(text.len() as u64).into_iter();
        for (what, spill) in ways.chain(ways_of_later_stages()) {
            let spilled = load(spill);
            assert!(spilled.1.spilled_bytes > 0, "{what}");
            assert_same(&in_memory, &spilled, what);
        }
    }
}

#[test]
fn several_inputs_and_a_store_that_is_added_to() {
    let (first, second) = (text(500), shuffled(&text(800)));
    let loads = |spill: SpillSettings| {
        let one = options(&[&first], Layout::Discover, 2, spill.clone());
        let two = options(&[&second, &first], Layout::Discover, 2, spill);
        store_of(vec![one, two])
    };
    let spilled = loads(everything(None));
    assert!(spilled.1.quads_before > 1_000);
    assert_same(&loads(SpillSettings::default()), &spilled, "two loads");
}

#[test]
fn little_and_odd_inputs_spill_too() {
    let many_blocks = text(6_000);
    let giant = format!(
        "<http://d/a> <http://v/p> \"{}\" .\n<http://d/a> <http://v/p> \"\" .\n",
        "giant ".repeat(900_000)
    );
    for input in [
        "",
        "# nothing\n",
        "<http://d/a> <http://v/p> _:x .\n",
        &giant,
        &many_blocks,
    ] {
        let load = |threads, spill| {
            let mut options = options(&[input], Layout::Discover, threads, spill);
            // This graph is a term, but of no quad if there are none.
            options.graph = Some("http://g/target".to_owned());
            store_of(vec![options])
        };
        let in_memory = load(1, SpillSettings::default());
        let what = input.get(..20).unwrap_or(input);
        assert_same(&in_memory, &load(3, everything(None)), what);
    }
}

/// Gives its text, then fails.
struct Failing(Cursor<Vec<u8>>);

impl Read for Failing {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        match self.0.read(target)? {
            0 if !target.is_empty() => Err(io::Error::other("the cable was cut")),
            count => Ok(count),
        }
    }
}

#[test]
fn temporary_files_are_gone_whatever_happens() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let temp = tempfile::tempdir().expect("a temporary folder");
    let storage = || Storage::Directory(folder.path().join("store"));
    let with_temp = |text: &str| LoadOptions {
        temp: Some(temp.path().to_path_buf()),
        ..options(&[text], Layout::Discover, 2, everything(None))
    };
    let left = || fs::read_dir(temp.path()).expect("a folder").count();
    // What a kill between creating and unlinking leaves.
    fs::write(temp.path().join("basalt-spill-4711-0"), b"").expect("written");
    let (_, report) = load(with_temp(&text(300)), storage(), &NoProgress).expect("loads");
    assert!(report.spilled_bytes > 0);
    assert_eq!(left(), 0);
    let before = files(folder.path());

    let bad = format!("{}oops\n", text(600));
    let error = load(with_temp(&bad), storage(), &NoProgress).expect_err("a bad line");
    assert!(matches!(error, LoadError::Syntax(_)), "{error}");
    let failing = Failing(Cursor::new(text(600).into_bytes()));
    let inputs = vec![Input::reader("cable", failing, GraphFormat::NQuads)];
    let options = LoadOptions {
        inputs,
        ..with_temp("")
    };
    let error = load(options, storage(), &NoProgress).expect_err("a failing input");
    assert!(matches!(error, LoadError::Read { .. }), "{error}");
    assert_eq!(left(), 0);
    assert!(files(folder.path()) == before, "the store is what it was");
}

#[test]
fn a_folder_that_cannot_be_written_to_is_an_error_that_names_it() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let storage = || Storage::Directory(folder.path().join("store"));
    let first = options(
        &["<http://a> <http://b> <http://c> .\n"],
        Layout::Discover,
        1,
        everything(None),
    );
    load(first, storage(), &NoProgress).expect("loads");
    let before = files(folder.path());
    let options = LoadOptions {
        temp: Some("/no/such/folder".into()),
        ..options(&[&text(100)], Layout::Discover, 2, everything(None))
    };
    let error = load(options, storage(), &NoProgress).expect_err("no such folder");
    let message = error.to_string();
    assert!(
        message.contains("'/no/such/folder/basalt-spill-"),
        "{message}"
    );
    assert!(files(folder.path()) == before, "the store is what it was");
}

#[test]
fn generations_of_the_index_go_to_disk() {
    let text = shuffled(&text(2_500));
    let load = |index_bytes| {
        let spill = SpillSettings {
            parse_bytes: Some(0),
            index_bytes,
            ..none()
        };
        store_of(vec![options(&[&text], Layout::Discover, 2, spill)])
    };
    let in_memory = store_of(vec![options(&[&text], Layout::Discover, 2, none())]);
    let (one, some, many) = (load(None), load(Some(400_000)), load(Some(0)));
    for (what, spilled) in [("one", &one), ("some", &some), ("many", &many)] {
        assert_same(&in_memory, spilled, what);
    }
    let bytes = |load: &(BTreeMap<String, Vec<u8>>, LoadReport)| load.1.spilled_bytes;
    assert!(bytes(&one) < bytes(&some) && bytes(&some) < bytes(&many));
}

#[test]
fn too_many_terms_for_the_budget_are_an_error_that_names_it() {
    // It is found at the end of parsing, or when a part of the index leaves memory.
    for index_bytes in [None, Some(100_000)] {
        let spill = SpillSettings {
            index_bytes,
            number_bytes: Some(20_000),
            ..SpillSettings::default()
        };
        let mut options = options(&[&text(3_000)], Layout::Discover, 2, spill);
        options.memory = Some(1 << 30);
        let error = load(options, Storage::Memory, &NoProgress).expect_err("too many terms");
        assert!(
            matches!(error, LoadError::MemoryForTerms { budget: 1024 }),
            "{error}"
        );
    }
    let small = LoadOptions {
        memory: Some(10 << 20),
        ..LoadOptions::default()
    };
    let error = load(small, Storage::Memory, &NoProgress).expect_err("too little memory");
    assert!(
        matches!(error, LoadError::MemoryTooSmall { budget: 10, .. }),
        "{error}"
    );
}
