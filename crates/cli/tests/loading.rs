//! Loading as people meet it: options, bad lines, progress, summaries, and where the bytes are.

#![allow(dead_code)]

mod support;

use serde_json::Value;
use std::path::Path;
use support::Place;

/// Two shapes, a graph of its own for one quad, and a quad twice.
fn data() -> String {
    let mut text = String::new();
    for i in 0..40 {
        text += &format!("<http://d/p{i}> <http://v/name> \"person {i}\" .\n");
        text += &format!(
            "<http://d/p{i}> <http://v/age> \"{}\"^^<http://www.w3.org/2001/XMLSchema#integer> .\n",
            i % 9
        );
        text += &format!("<http://d/c{i}> <http://v/city> <http://d/p{}> .\n", i / 2);
        text += &format!("<http://d/c{i}> <http://v/zip> \"z{i}\" .\n");
    }
    text += "<http://d/p0> <http://v/odd> \"irregular\" .\n";
    text += "<http://d/p1> <http://v/name> \"person 1\" <http://g/1> .\n";
    text += "<http://d/p0> <http://v/name> \"person 0\" .\n";
    text
}

const DATA_QUADS: u64 = 162;

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("one JSON value")
}

/// Lengths of the files in the folders of a store.
fn bytes_on_disk(store: &Path) -> u64 {
    let list = |dir: &Path| std::fs::read_dir(dir).expect("the folder is there");
    let paths = list(store).map(|entry| entry.expect("an entry").path());
    paths
        .filter(|path| path.is_dir())
        .flat_map(|folder| list(&folder))
        .map(|entry| entry.and_then(|e| e.metadata()).expect("a file").len())
        .sum()
}

fn sum(values: &Value) -> u64 {
    let values = values.as_object().expect("an object").values();
    values.map(|value| value.as_u64().expect("a number")).sum()
}

#[test]
fn bad_lines_go_to_a_file_that_can_be_corrected_and_loaded() {
    let place = Place::new();
    let bad = b"<http://e/a> <http://e/p> \"1\" .\n<http://e/b> e:p \"2\" .\n\
        <http://e/c> <http://e/p> \"\xFF\" .\r\n<http://e/d> <http://e/p> \"4\"";
    place.write("data.nt", bad);
    let outcome = place.run("load --location store --lenient --errors bad.nt data.nt");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(
        outcome.err.contains("the bad lines are in 'bad.nt'"),
        "{outcome:?}"
    );
    let kept = std::fs::read(place.path("bad.nt")).expect("the file is there");
    let lines: Vec<&[u8]> = kept.split(|byte| *byte == b'\n').collect();
    assert!(
        lines[0].starts_with(b"# data.nt:2:"),
        "{}",
        kept.escape_ascii()
    );
    assert!(lines[2].starts_with(b"# data.nt:3:") && lines[4].starts_with(b"# data.nt:4:"));
    assert_eq!(lines[1], b"<http://e/b> e:p \"2\" .");
    assert_eq!(lines[3], b"<http://e/c> <http://e/p> \"\xFF\" .");
    assert_eq!(lines[5], b"<http://e/d> <http://e/p> \"4\"");
    // Somebody corrects the lines; the comments may stay.
    let corrected = String::from_utf8_lossy(&kept)
        .replace("e:p", "<http://e/p>")
        .replace("\"4\"", "\"4\" .");
    place.write("corrected.nt", corrected);
    place.ok("load --location store corrected.nt");
    assert_eq!(place.dump("store").len(), 4);
    assert!(!place.path("bad.nt.unordered").exists());
}

#[test]
fn too_many_bad_lines_fail_the_load_and_are_kept() {
    let place = Place::new();
    place.write("good.nt", "<http://e/a> <http://e/p> \"1\" .\n");
    place.ok("load --location store good.nt");
    place.write("worse.nt", "no\n".repeat(10));
    let outcome =
        place.run("load --location store --lenient --max-errors 3 --errors bad.nt worse.nt");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(
        outcome.err.contains("gave up after 4 bad lines"),
        "{outcome:?}"
    );
    assert!(
        outcome.err.contains("the bad lines are in 'bad.nt'"),
        "{outcome:?}"
    );
    let kept = std::fs::read_to_string(place.path("bad.nt")).expect("the file is there");
    assert_eq!(
        kept.lines().filter(|line| *line == "no").count(),
        4,
        "{kept}"
    );
    assert_eq!(place.dump("store").len(), 1);
}

#[test]
fn the_file_for_bad_lines_must_be_one() {
    let place = Place::new();
    place.write("data.nt", "no\n");
    std::fs::create_dir(place.path("folder")).expect("a folder");
    let cases = [
        ("data.nt", "is an input"),
        ("folder", "cannot write 'folder'"),
        ("missing/bad.nt", "cannot create 'missing/bad.nt'"),
    ];
    for (at, (errors, says)) in cases.into_iter().enumerate() {
        let outcome = place.run(&format!(
            "load --location store{at} --lenient --errors {errors} data.nt"
        ));
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert!(outcome.err.contains(says), "{outcome:?}");
    }
    assert_eq!(
        std::fs::read(place.path("data.nt")).expect("it is there"),
        b"no\n"
    );
    let strict = place.run("load --location store --errors bad.nt data.nt");
    assert_eq!(strict.code, Some(2), "--errors needs --lenient: {strict:?}");
}

#[test]
fn documents_stay_strict_and_say_so() {
    let place = Place::new();
    place.write(
        "bad.ttl",
        "<http://e/a> <http://e/p> 1 .\n<http://e/b> e:p 2 .\n",
    );
    let says = "(only bad lines of N-Triples and N-Quads can be skipped)";
    for command in [
        "load --location store --lenient bad.ttl",
        "convert bad.ttl --to-format nt --lenient",
    ] {
        let outcome = place.run(command);
        assert_eq!(outcome.code, Some(1), "{outcome:?}");
        assert!(
            outcome.err.contains("bad.ttl:2:") && outcome.err.contains(says),
            "{outcome:?}"
        );
    }
    let strict = place.run("load --location other bad.ttl");
    assert!(
        strict.err.contains("bad.ttl:2:") && !strict.err.contains(says),
        "{strict:?}"
    );
}

#[test]
fn memory_and_folder_for_temporary_files_can_be_given() {
    let place = Place::new();
    place.write("data.nq", data());
    std::fs::create_dir(place.path("scratch")).expect("a folder");
    place.ok("load --location store --memory 4GiB --temp scratch data.nq");
    place.ok("load --location store --memory 1024M data.nq");
    let left = std::fs::read_dir(place.path("scratch")).expect("the folder is there");
    assert_eq!(left.count(), 0);
    for size in ["4X", "0", "much"] {
        let outcome = place.run(&format!("load --location store --memory {size} data.nq"));
        assert_eq!(outcome.code, Some(2), "{outcome:?}");
        assert!(outcome.err.contains("512M or 4G"), "{outcome:?}");
    }
    let outcome = place.run("load --location store --temp nowhere data.nq");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.err.contains("'nowhere'"), "{outcome:?}");
}

#[test]
fn the_summary_tells_people_what_happened() {
    let place = Place::new();
    place.write("data.nq", data());
    let outcome = place.run("load --location store data.nq");
    assert_eq!(
        (outcome.code, outcome.out.as_str()),
        (Some(0), ""),
        "{outcome:?}"
    );
    let expected = [
        "163 quads read in ",
        " quads/s, ",
        " MB/s",
        "1 duplicates, 0 quads before, 162 stored: ",
        "parse 0.",
        "commit 0.",
        "quads in cells",
        " on disk, ",
        " bytes per quad: tables ",
    ];
    for part in expected {
        assert!(outcome.err.contains(part), "{part}: {outcome:?}");
    }
    let spilled = outcome.err.contains("temporary");
    assert!(!spilled, "what did not happen is not told: {outcome:?}");
}

#[test]
fn the_json_summary_is_one_object_on_standard_output() {
    let place = Place::new();
    place.write("data.nq", data() + "bad line\n");
    let outcome = place.run("load --location store --json --lenient --errors bad.nq data.nq");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    assert!(!outcome.err.contains("quads read"), "{outcome:?}");
    let summary = json(&outcome.out);
    let number = |key: &str| summary[key].as_u64().expect("a number");
    assert_eq!(number("quads_read"), DATA_QUADS + 1);
    assert_eq!(number("duplicates"), 1);
    assert_eq!(number("quads"), DATA_QUADS);
    assert_eq!(
        number("quads_in_cells") + number("irregular_quads"),
        DATA_QUADS
    );
    assert_eq!(number("skipped_lines"), 1);
    assert_eq!(summary["errors_file"], "bad.nq");
    assert_eq!(number("spilled_bytes"), 0);
    assert_eq!(number("bytes"), bytes_on_disk(&place.path("store")));
    assert_eq!(sum(&summary["files"]), number("bytes"));
    assert_eq!(number("bytes_read"), data().len() as u64 + 9);
    let tables = summary["tables"].as_array().expect("a list");
    let in_cells: u64 = tables.iter().filter_map(|t| t["quads"].as_u64()).sum();
    assert_eq!(in_cells, number("quads_in_cells"));
    let seconds: f64 = summary["phases"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|phase| phase["seconds"].as_f64())
        .sum();
    assert!(seconds > 0.0 && seconds <= summary["seconds"].as_f64().unwrap_or(0.0));
    if cfg!(target_os = "linux") {
        assert!(number("peak_memory_bytes") > 1 << 20);
    }
    let again = json(&place.ok("load --location store --json --lenient data.nq"));
    assert_eq!(again["quads_before"], DATA_QUADS);
    assert_eq!(again["quads"], DATA_QUADS);
    assert!(again["errors_file"].is_null());
}

#[test]
fn statistics_tell_every_byte() {
    let place = Place::new();
    place.write("data.nq", data());
    place.ok("load --location store data.nq");
    let report = json(&place.ok("stats show --location store --format json"));
    let bytes = report["bytes"].as_u64().expect("a number");
    assert_eq!(bytes, bytes_on_disk(&place.path("store")));
    assert_eq!(sum(&report["files"]), bytes);
    assert_eq!(report["quads"], DATA_QUADS);
    let file_bytes = |file: &Value| {
        let frame = file["frame_bytes"].as_u64().expect("a number");
        assert_eq!(sum(&file["sections"]) + frame, file["bytes"], "{file}");
        file["bytes"].as_u64().expect("a number")
    };
    let mut in_files = file_bytes(&report["statistics"]);
    in_files += file_bytes(&report["history"]);
    in_files += file_bytes(&report["irregular_quads"]["file"]);
    let list = |value: &Value| value.as_array().expect("a list").clone();
    in_files += list(&report["dictionary"])
        .iter()
        .map(file_bytes)
        .sum::<u64>();
    let mut quads = 0;
    for table in list(&report["tables"]) {
        in_files += file_bytes(&table["file"]);
        quads += table["quads"].as_u64().expect("a number");
        let columns: u64 = list(&table["columns"])
            .iter()
            .map(|c| {
                c["cell_bytes"].as_u64().unwrap_or(0) + c["inverse"]["bytes"].as_u64().unwrap_or(0)
            })
            .sum();
        let other = table["other_bytes"].as_u64().expect("a number");
        assert_eq!(columns + other, table["file"]["bytes"], "{table}");
    }
    assert_eq!(in_files, bytes);
    for predicate in list(&report["irregular_quads"]["predicates"]) {
        quads += predicate["quads"].as_u64().expect("a number");
    }
    assert_eq!(quads, DATA_QUADS);
}

#[test]
fn statistics_are_readable_and_only_what_there_is() {
    let place = Place::new();
    place.write("data.nq", data());
    place.ok("load --location store data.nq");
    let text = place.ok("stats show --location store");
    for part in [
        "bytes per quad",
        "irregular quads: ",
        "http://v/name",
        "number",
        "adjacency",
        "dense",
        "resources.dict: ",
        "literals.dict: ",
        "characteristic-sets",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    let help = place.ok("stats --help");
    for command in ["show", "export", "import"] {
        assert!(help.contains(command), "{command}: {help}");
    }
    assert_eq!(place.run("stats export --location store").code, Some(2));
    let outcome = place.run("stats show --location nowhere");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    place.write("empty.nt", "");
    place.ok("load --location none empty.nt");
    assert!(
        place
            .ok("stats show --location none")
            .contains("for 0 quads")
    );
}
