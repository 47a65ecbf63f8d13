//! Bad input of every kind: a clear error, exit code 1, and the store as it was.

#![allow(dead_code)]

mod support;

use std::path::Path;
use std::process::Command;
use support::Place;

const GOOD: &str = "<http://e/a> <http://e/p> \"1\" .\n<http://e/b> <http://e/p> \"2\" .\n";

struct Case {
    file: &'static str,
    content: &'static [u8],
    /// All of these must be in the message.
    says: &'static [&'static str],
}

const fn case(file: &'static str, content: &'static [u8], says: &'static [&'static str]) -> Case {
    Case {
        file,
        content,
        says,
    }
}

/// Two good lines before the bad one, so that the error is on line 3.
const CASES: [Case; 20] = [
    case(
        "utf8.nt",
        b"<http://e/s> <http://e/p> \"\xff\xfe\" .\n",
        &["utf8.nt:3:", "UTF-8"],
    ),
    case(
        "literal.nt",
        b"<http://e/s> <http://e/p> \"open .\n",
        &["literal.nt:3:", "open"],
    ),
    case(
        "escape.nt",
        b"<http://e/s> <http://e/p> \"a\\qb\" .\n",
        &["escape.nt:3:", "\\q"],
    ),
    case(
        "relative.nt",
        b"<s> <http://e/p> <http://e/o> .\n",
        &["relative.nt:3:", "<s>"],
    ),
    case(
        "iri.nt",
        b"<http://e/s <http://e/p> <http://e/o> .\n",
        &["iri.nt:3:", "http://e/s"],
    ),
    case(
        "dot.nt",
        b"<http://e/s> <http://e/p> <http://e/o>\n",
        &["dot.nt:3:", "http://e/o"],
    ),
    case(
        "subject.nt",
        b"\"s\" <http://e/p> <http://e/o> .\n",
        &["subject.nt:3:", "\"s\""],
    ),
    case(
        "predicate.nt",
        b"<http://e/s> _:p <http://e/o> .\n",
        &["predicate.nt:3:", "_:p"],
    ),
    case(
        "language.nt",
        b"<http://e/s> <http://e/p> \"x\"@1n .\n",
        &["language.nt:3:", "@1n"],
    ),
    case(
        "surrogate.nt",
        b"<http://e/s> <http://e/p> \"\\uD800\" .\n",
        &["surrogate.nt:3:", "D800"],
    ),
    case(
        "space.nt",
        b"<http://e/a b> <http://e/p> <http://e/o> .\n",
        &["space.nt:3:", "a b"],
    ),
    case(
        "graph.nt",
        b"<http://e/s> <http://e/p> <http://e/o> <http://e/g> .\n",
        &["graph.nt:3:", "http://e/g"],
    ),
    case(
        "datatype.nt",
        b"<http://e/s> <http://e/p> \"1\"^^<int> .\n",
        &["datatype.nt:3:", "<int>"],
    ),
    case(
        "graph.nq",
        b"<http://e/s> <http://e/p> <http://e/o> \"g\" .\n",
        &["graph.nq:3:", "\"g\""],
    ),
    case(
        "words.nt",
        b"hello world\n",
        &["words.nt:3:", "hello world"],
    ),
    case("prefix.ttl", b"e:s e:p e:o .\n", &["prefix.ttl:3:", "e:"]),
    case(
        "open.ttl",
        b"<http://e/s> <http://e/p> ( 1 2 .\n",
        &["open.ttl:3:"],
    ),
    case(
        "brace.trig",
        b"<http://e/g> { <http://e/s> <http://e/p> 1\n",
        &["brace.trig:"],
    ),
    case("base.ttl", b"<s> <http://e/p> 1 .\n", &["base.ttl:3:", "s"]),
    case(
        "high.nt",
        b"<http://e/s> <http://e/p> \"\\U00110000\" .\n",
        &["high.nt:3:", "00110000"],
    ),
];

fn with_store() -> Place {
    let place = Place::new();
    place.write("good.nt", GOOD);
    place.ok("load --location store good.nt");
    place
}

/// Runs a load that must fail with a message of one line, and leave the store as it was.
fn must_fail(place: &Place, arguments: &str, says: &[&str]) {
    let before = place.dump("store");
    let outcome = place.run(arguments);
    assert_eq!(outcome.code, Some(1), "{arguments}: {outcome:?}");
    assert!(
        outcome.err.starts_with("error: "),
        "{arguments}: {outcome:?}"
    );
    assert_eq!(outcome.err.lines().count(), 1, "{arguments}: {outcome:?}");
    for text in says {
        assert!(
            outcome.err.contains(text),
            "{arguments}: {text:?} is not in {outcome:?}"
        );
    }
    assert_eq!(place.dump("store"), before, "{arguments}");
    place.ok("check --location store --deep");
}

#[test]
fn malformed_lines_name_file_line_and_text() {
    let place = with_store();
    for case in &CASES {
        let mut content =
            b"<http://e/x> <http://e/p> \"3\" .\n<http://e/y> <http://e/p> \"4\" .\n".to_vec();
        content.extend_from_slice(case.content);
        place.write(case.file, content);
        must_fail(
            &place,
            &format!("load --location store {}", case.file),
            case.says,
        );
    }
}

#[test]
fn files_that_are_no_rdf_are_refused() {
    let place = with_store();
    place.write("elf.nt", b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
    place.write("image.nt", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR");
    place.write("zero.nt", b"<http://e/s> <http://e/p> \"a\0b\" .\n");
    place.write("page.xyz", GOOD);
    place.write("fake.nt.gz", b"\x1f\x8b\x08\0nonsense");
    std::fs::create_dir(place.path("folder.nt")).expect("a folder");
    let load = |name: &str| format!("load --location store {name}");
    must_fail(&place, &load("elf.nt"), &["elf.nt"]);
    must_fail(&place, &load("image.nt"), &["image.nt"]);
    must_fail(&place, &load("zero.nt"), &["zero.nt"]);
    must_fail(&place, &load("page.xyz"), &["page.xyz", "format"]);
    must_fail(&place, &load("fake.nt.gz"), &["fake.nt.gz"]);
    must_fail(&place, &load("folder.nt"), &["folder.nt", "directory"]);
    must_fail(
        &place,
        &load("missing.nt"),
        &["missing.nt", "does not exist"],
    );
    // One bad file among good ones spoils the whole load.
    place.write("more.nt", "<http://e/new> <http://e/p> \"5\" .\n");
    must_fail(&place, &load("more.nt missing.nt"), &["missing.nt"]);
    must_fail(
        &place,
        "load --location store --graph relative more.nt",
        &["relative"],
    );
}

#[test]
fn a_truncated_archive_is_refused() {
    let place = with_store();
    let generated = place.run("bsbm generate --products 20 --output data.nt.gz");
    assert_eq!(generated.code, Some(0), "{generated:?}");
    let whole = std::fs::read(place.path("data.nt.gz")).expect("the archive");
    place.write("cut.nt.gz", &whole[..whole.len() / 2]);
    must_fail(&place, "load --location store cut.nt.gz", &["cut.nt.gz"]);
    place.ok("load --location store data.nt.gz");
    place.ok("check --location store --deep");
}

#[test]
fn an_empty_file_holds_nothing_and_is_fine() {
    let place = with_store();
    let before = place.dump("store");
    for name in ["empty.nt", "empty.ttl", "empty.nq"] {
        place.write(name, "");
        place.ok(&format!("load --location store {name}"));
    }
    place.write("remark.nt", "# nothing here\n\n");
    place.ok("load --location fresh remark.nt");
    assert!(place.dump("fresh").is_empty());
    assert_eq!(place.dump("store"), before);
}

#[test]
fn a_place_that_is_no_store_is_refused() {
    let place = with_store();
    place.write("file", "something else");
    let outcome = place.run("load --location file good.nt");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert_eq!(
        std::fs::read(place.path("file")).expect("the file"),
        b"something else"
    );
    std::fs::create_dir(place.path("photos")).expect("a folder");
    place.write("photos/cat.txt", "meow");
    let outcome = place.run("load --location photos good.nt");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(
        outcome.err.contains("photos") && outcome.err.contains("not a store"),
        "{outcome:?}"
    );
    let inside: Vec<_> = std::fs::read_dir(place.path("photos"))
        .expect("the folder")
        .collect();
    assert_eq!(inside.len(), 1);
}

#[test]
fn no_permission_is_told() {
    let place = with_store();
    place.write("secret.nt", GOOD);
    let path = place.path("secret.nt");
    let done = Command::new("chmod").arg("000").arg(&path).status();
    assert!(
        done.is_ok_and(|status| status.success()),
        "the mode can be changed"
    );
    if std::fs::read(&path).is_ok() {
        eprintln!("skipped: this user may read everything");
        return;
    }
    must_fail(
        &place,
        "load --location store secret.nt",
        &["secret.nt", "permission"],
    );
    let done = Command::new("chmod")
        .arg("555")
        .arg(place.path(""))
        .status();
    assert!(
        done.is_ok_and(|status| status.success()),
        "the mode can be changed"
    );
    must_fail(&place, "load --location new good.nt", &["new"]);
}

#[test]
fn a_corrupted_store_is_found_out() {
    let place = with_store();
    let mut files = Vec::new();
    collect(&place.path("store"), &mut files);
    let victims: Vec<_> = files
        .iter()
        .filter(|path| path.metadata().is_ok_and(|known| known.len() > 0))
        .collect();
    assert!(!victims.is_empty(), "the store has files");
    for path in victims {
        let is_lock = path.to_string_lossy().to_ascii_lowercase().contains("lock");
        if is_lock {
            continue;
        }
        let whole = std::fs::read(path).expect("a file of the store");
        std::fs::write(path, &whole[..whole.len() / 2]).expect("the file can be cut");
        let outcome = place.run("check --location store --deep");
        assert_eq!(outcome.code, Some(1), "{}: {outcome:?}", path.display());
        let query = place.run_list(
            &[
                "query",
                "--location",
                "store",
                "--query",
                "SELECT * { ?s ?p ?o }",
            ],
            b"",
        );
        assert!(
            matches!(query.code, Some(0 | 1)),
            "{}: {query:?}",
            path.display()
        );
        std::fs::write(path, &whole).expect("the file can be mended");
    }
    place.ok("check --location store --deep");
}

fn collect(folder: &Path, files: &mut Vec<std::path::PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        match path.is_dir() {
            true => collect(&path, files),
            false => files.push(path),
        }
    }
}

#[test]
fn a_full_disk_leaves_the_store_as_it_was() {
    let place = with_store();
    let disk = place.path("disk");
    std::fs::create_dir(&disk).expect("a folder");
    let mounted = Command::new("mount")
        .args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"])
        .arg(&disk)
        .output();
    if !mounted.is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: a file system of 2 MiB cannot be mounted here");
        return;
    }
    let _unmount = Unmount(disk);
    place.ok("load --location disk/store good.nt");
    let before = place.dump("disk/store");
    place.ok("bsbm generate --products 200 --output big.nt");
    let outcome = place.run("load --location disk/store big.nt");
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.err.contains("space"), "{outcome:?}");
    assert_eq!(place.dump("disk/store"), before);
    place.ok("check --location disk/store --deep");
    // What the failed load left behind does not stand in the way of the next one.
    place.write("more.nt", "<http://e/new> <http://e/p> \"5\" .\n");
    place.ok("load --location disk/store more.nt");
    assert_eq!(place.dump("disk/store").len(), 3);
}

/// Unmounts at the end, so that the folder can be removed.
struct Unmount(std::path::PathBuf);

impl Drop for Unmount {
    fn drop(&mut self) {
        // If this fails, the temporary folder stays; the test has said what it had to say.
        let _ = Command::new("umount").arg(&self.0).status();
    }
}
