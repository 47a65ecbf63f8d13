//! Stores that a server has open, and the other commands beside it: backups, loads, stopping; and stores that may
//! only be read.

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant, SystemTime};
use support::server::Served;
use support::{Place, command};

const MORE: &str = "<http://e/s> <http://e/p> <http://e/o> .\n";

/// A place with a store of generated data, and files to load.
fn with_store() -> Place {
    let place = Place::new();
    place.ok("bsbm generate --products 20 --output old.nt");
    place.ok("load --location s old.nt");
    place
}

#[test]
fn a_store_is_backed_up_while_it_is_served_and_updated() {
    let place = with_store();
    let server = Served::start(&place, "s", "");
    for i in 0..5 {
        server.update(&format!("INSERT DATA {{ <http://e/a> <http://e/p> {i} }}"));
    }
    let before = server.quads();
    let told = place.ok("backup --location s --destination b/copy --json");
    let told: serde_json::Value = serde_json::from_str(&told).expect("JSON");
    assert_eq!(
        (&told["quads"], &told["commit"]),
        (&before.into(), &5.into())
    );
    server.update("DELETE WHERE { <http://e/a> ?p ?o }");
    place.ok("check --location b/copy --deep");
    assert_eq!(place.dump("b/copy").len() as u64, before);
    assert_eq!(server.quads(), before - 5);
    let again = place.run("backup --location s --destination b/copy");
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(
        again.err.contains("cannot back up to `b/copy`"),
        "{again:?}"
    );
    // Restored: the copy is served and written.
    drop(server);
    let restored = Served::start(&place, "b/copy", "");
    restored.update("INSERT DATA { <http://e/b> <http://e/p> 1 }");
    assert_eq!(restored.quads(), before + 1);
}

#[test]
fn a_load_into_a_served_store_goes_through_the_server_and_gives_the_same_store() {
    let place = with_store();
    place.ok("bsbm generate --products 60 --seed 7 --output new.nt.gz");
    place.write("more.ttl", "<a> <http://e/p> <b>, \"x\" ; <http://e/q> 1 .");
    place.write(
        "graphs.nq",
        "<http://e/a> <http://e/p> <http://e/b> <http://e/own> .\n",
    );
    place.ok("backup --location s --destination offline");
    let files = "--graph http://e/g --base http://e/base/ new.nt.gz more.ttl graphs.nq";
    let offline = place.ok(&format!("load --location offline --json {files}"));
    let server = Served::start(&place, "s", "");
    let before = server.quads();
    let online = place.ok(&format!("load --location s --json {files}"));
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).expect("JSON");
    let (offline, online) = (json(&offline), json(&online));
    for key in [
        "quads_read",
        "quads_before",
        "duplicates",
        "quads",
        "irregular_quads",
        "bytes_read",
        "tables",
        "rewritten",
    ] {
        assert_eq!(offline[key], online[key], "{key}");
    }
    assert!(before < server.quads(), "the server shows what was loaded");
    assert_eq!(online["quads"], server.quads());
    let schema = |store: &str| place.ok(&format!("schema --location {store} --format json"));
    assert_eq!(schema("s"), schema("offline"));
    assert_eq!(place.dump("s"), place.dump("offline"));
    place.ok("check --location s --deep");
    // Updates go on, and with the server the lock goes.
    server.update("INSERT DATA { <http://e/z> <http://e/p> 1 }");
    server.signal("TERM");
    assert!(server.wait().1);
    assert_eq!(std::fs::read(place.path("s/LOCK")).expect("the lock"), b"");
    place.write("last.nt", MORE);
    place.ok("load --location s last.nt");
}

#[test]
fn a_store_that_is_not_there_yet_is_made_by_a_load_through_the_server() {
    let place = Place::new();
    place.write("a.nt", MORE);
    let server = Served::start(&place, "new", "");
    assert_eq!(server.quads(), 0);
    for input in ["a.nt", "-"] {
        let arguments = ["load", "--location", "new", "--format", "nt", input];
        let outcome = place.run_list(&arguments, b"<http://e/s> <http://e/p> \"standard\" .\n");
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        assert!(outcome.err.contains("serves it at http://"), "{outcome:?}");
    }
    assert_eq!(server.quads(), 2);
}

#[test]
fn bad_lines_come_back_and_blank_nodes_belong_to_their_file() {
    let place = with_store();
    let server = Served::start(&place, "s", "");
    let before = server.quads();
    place.write(
        "good.nt",
        "_:b <http://e/p> \"1\" .\n_:b <http://e/p> \"2\" .\n",
    );
    let mut bad = b"_:b <http://e/p> \"1\" .\nbad\n<http://e/\xff> <x> .\n".to_vec();
    bad.extend_from_slice(MORE.as_bytes());
    place.write("bad.nt", &bad);
    let strict = place.run("load --location s good.nt bad.nt");
    assert_eq!(strict.code, Some(1), "{strict:?}");
    assert!(strict.err.contains("error: bad.nt:2:1: "), "{strict:?}");
    assert_eq!(server.quads(), before);
    let few = place.run("load --location s --lenient --max-errors 1 --errors few.txt bad.nt");
    assert!(few.err.contains("gave up after 2 bad lines"), "{few:?}");
    let lenient = "load --lenient --errors errors.txt --json good.nt bad.nt --location";
    let online = place.ok(&format!("{lenient} s"));
    let online: serde_json::Value = serde_json::from_str(&online).expect("JSON");
    assert_eq!(online["skipped_lines"], 2, "{online}");
    assert_eq!(online["errors_file"], "errors.txt");
    // Two blank nodes of one label.
    assert_eq!(server.quads(), before + 4);
    let kept = std::fs::read(place.path("errors.txt")).expect("the bad lines");
    place.ok(&format!("{lenient} offline"));
    let offline = std::fs::read(place.path("errors.txt")).expect("the bad lines");
    assert_eq!(kept, offline, "byte for byte");
    let is_raw = kept.windows(3).any(|bytes| bytes == b"/\xff>");
    assert!(is_raw, "{}", String::from_utf8_lossy(&kept));
}

#[test]
fn a_client_that_goes_away_halfway_has_loaded_nothing() {
    let place = with_store();
    let server = Served::start(&place, "s", "");
    let before = server.quads();
    let mut client = command(&place.path(""))
        .args(["load", "--location", "s", "--format", "nt", "old.nt", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the binary starts");
    let stdin = client.stdin.as_mut().expect("standard input is a pipe");
    stdin.write_all(MORE.as_bytes()).expect("it is read");
    wait_until(|| {
        server
            .exchange("GET /queries", "", "")
            .contains("POST /load")
    });
    // Readers are not disturbed, and other loads and writers wait.
    assert_eq!(server.quads(), before);
    client.kill().expect("it runs");
    client.wait().expect("it ends");
    server.update("INSERT DATA { <http://e/after> <http://e/p> 1 }");
    assert_eq!(server.quads(), before + 1);
    wait_until(|| {
        !server
            .exchange("GET /queries", "", "")
            .contains("POST /load")
    });
    drop(server);
    place.ok("check --location s --deep");
    assert_eq!(place.dump("s").len() as u64, before + 1);
}

#[test]
fn loads_need_the_token_where_writes_do() {
    let place = with_store();
    place.write("token", "secret\n");
    place.write("wrong", "guess\n");
    place.write("a.nt", MORE);
    let server = Served::start(&place, "s", "--token-file token");
    let before = server.quads();
    for options in ["", " --token-file wrong"] {
        let refused = place.run(&format!("load --location s a.nt{options}"));
        assert_eq!(refused.code, Some(1), "{refused:?}");
        assert!(refused.err.contains("token") || refused.err.contains("Bearer"));
    }
    assert_eq!(server.quads(), before);
    place.ok("load --location s --token-file token a.nt");
    assert_eq!(server.quads(), before + 1);
}

#[test]
fn other_writers_hear_who_has_the_store() {
    let place = with_store();
    let server = Served::start(&place, "s", "");
    let told = format!("serves it at http://{}", server.address);
    let refused = place.run("optimize --location s");
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.err.contains(&told), "{refused:?}");
    // A second server answers queries, and its writes are refused.
    let second = Served::start(&place, "s", "");
    assert_eq!(second.quads(), server.quads());
    let headers = "Content-Type: application/sparql-update\r\n";
    let answer = second.exchange("POST /update", headers, "CLEAR ALL");
    assert!(
        answer.starts_with("HTTP/1.1 503") && answer.contains(&told),
        "{answer}"
    );
    // A load that means the store of another server is refused.
    let other = "Content-Type: application/n-triples\r\n";
    let answer = server.exchange("POST /load?lock=0123", other, MORE);
    assert!(answer.starts_with("HTTP/1.1 409"), "{answer}");
}

#[test]
fn durability_is_told_and_commits_are_there_after_a_stop() {
    for (option, told) in [
        ("", "always"),
        ("--durability interval=50ms", "interval=50ms"),
        ("--durability none", "none"),
    ] {
        let place = with_store();
        let server = Served::start(&place, "s", option);
        let says = format!("durability {told}\n");
        assert!(server.line.ends_with(&says), "{}", server.line);
        let metrics = server.exchange("GET /metrics", "", "");
        let says = format!("basalt_durability{{mode=\"{told}\"}} 1\n");
        assert!(metrics.contains(&says), "{metrics}");
        server.update("INSERT DATA { <http://e/a> <http://e/p> 1 }");
        let quads = server.quads();
        server.signal("TERM");
        assert!(server.wait().1);
        assert_eq!(place.dump("s").len() as u64, quads, "{told}");
    }
    let place = Place::new();
    assert_eq!(place.run("serve --durability sometimes").code, Some(2));
}

#[test]
fn a_stop_ends_running_queries_and_loads_in_bounded_time() {
    let place = with_store();
    let server = Served::start(&place, "s", "--timeout 10m");
    let endless = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i FILTER (?a != ?i) }";
    let mut query = TcpStream::connect(&server.address).expect("the server listens");
    let request = format!(
        "POST /query HTTP/1.1\r\nHost: x\r\nContent-Type: application/sparql-query\r\n\
         Content-Length: {}\r\n\r\n{endless}",
        endless.len()
    );
    query.write_all(request.as_bytes()).expect("it can be sent");
    let mut load = command(&place.path(""))
        .args(["load", "--location", "s", "--format", "nt", "-"])
        .stdin(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdin = load.stdin.take().expect("standard input is a pipe");
    stdin.write_all(MORE.as_bytes()).expect("it is read");
    wait_until(|| {
        let running = server.exchange("GET /queries", "", "");
        running.contains("POST /load") && running.contains("COUNT")
    });
    server.signal("TERM");
    let (time, is_good) = server.wait();
    assert!(is_good && time < Duration::from_secs(20), "{time:?}");
    let mut answer = String::new();
    let _ = query.read_to_string(&mut answer);
    assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
    drop(stdin);
    assert!(!load.wait().expect("it ends").success());
    let old = std::fs::read_to_string(place.path("old.nt")).expect("the data");
    assert_eq!(place.dump("s").len(), old.lines().count());
    place.ok("check --location s --deep");
}

/// Everything in a folder with length and time of change; of folders only the time, which changes with their entries.
fn state_of(folder: &Path) -> Vec<(PathBuf, u64, SystemTime)> {
    let mut all = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(path) = folders.pop() {
        let known = path.metadata().expect("it is there");
        let changed = known.modified().expect("the system knows");
        if known.is_dir() {
            let entries = std::fs::read_dir(&path).expect("a folder");
            folders.extend(entries.map(|entry| entry.expect("an entry").path()));
            all.push((path, 0, changed));
        } else {
            all.push((path, known.len(), changed));
        }
    }
    all.sort();
    all
}

/// All commands that only read, on a store without a lock.
fn read_all(place: &Place, store: &str, quads: usize) {
    assert_eq!(place.dump(store).len(), quads);
    for command in [
        "check --deep",
        "schema",
        "stats show",
        "explain --query ASK{}",
    ] {
        place.ok(&format!("{command} --location {store}"));
    }
    let count = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }";
    let counted = place.run_list(&["query", "--location", store, "--query", count], b"");
    assert_eq!(counted.code, Some(0), "{counted:?}");
    place.ok(&format!(
        "backup --location {store} --destination of-{store}"
    ));
    let server = Served::start(place, store, "--read-only");
    assert!(server.line.ends_with("read-only\n"), "{}", server.line);
    assert_eq!(server.quads(), quads as u64);
    let headers = "Content-Type: application/sparql-update\r\n";
    let answer = server.exchange("POST /update", headers, "CLEAR ALL");
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    let answer = server.exchange("POST /load", "Content-Type: text/turtle\r\n", MORE);
    assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
    server.signal("TERM");
    assert!(server.wait().1);
}

/// A store with a version and commits in its log, and no lock.
fn with_log() -> (Place, usize) {
    let place = with_store();
    let insert = "INSERT DATA { <http://e/a> <http://e/p> 1 , 2 }";
    let outcome = place.run_list(&["update", "--location", "s", "--update", insert], b"");
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    std::fs::remove_file(place.path("s/LOCK")).expect("nobody has it open");
    let quads = place.dump("s").len();
    (place, quads)
}

#[test]
fn reading_changes_no_file_and_makes_none() {
    let (place, quads) = with_log();
    let before = state_of(&place.path("s"));
    read_all(&place, "s", quads);
    assert_eq!(state_of(&place.path("s")), before);
}

/// A folder seen through a mount that may only be read; unmounted when dropped.
struct ReadOnly(PathBuf);

impl ReadOnly {
    fn mount(folder: &Path, at: PathBuf) -> Option<Self> {
        std::fs::create_dir(&at).expect("a folder");
        let mount = |options: &[&str], paths: &[&Path]| {
            let run = Command::new("mount").args(options).args(paths).output();
            run.is_ok_and(|output| output.status.success())
        };
        let mounted = mount(&["--bind"], &[folder, &at]).then(|| Self(at.clone()))?;
        mount(&["-o", "remount,bind,ro"], &[&at]).then_some(mounted)
    }
}

impl Drop for ReadOnly {
    fn drop(&mut self) {
        // If this fails the temporary folder stays, and the test has said what it had to say.
        let _ = Command::new("umount").arg(&self.0).status();
    }
}

#[test]
fn a_store_on_a_medium_that_may_only_be_read_is_read_and_served() {
    let (place, quads) = with_log();
    let Some(mounted) = ReadOnly::mount(&place.path("s"), place.path("medium")) else {
        eprintln!("skipped: a folder cannot be mounted read-only here");
        return;
    };
    assert!(std::fs::write(mounted.0.join("LOCK"), "").is_err());
    read_all(&place, "medium", quads);
    // A server that was not told that it may not write answers too.
    let server = Served::start(&place, "medium", "");
    assert_eq!(server.quads(), quads as u64);
    let headers = "Content-Type: application/sparql-update\r\n";
    let answer = server.exchange("POST /update", headers, "CLEAR ALL");
    assert!(
        answer.starts_with("HTTP/1.1 5") && answer.contains("LOCK"),
        "{answer}"
    );
    assert_eq!(server.quads(), quads as u64);
    drop(server);
    drop(mounted);
}

/// Waits until what is asked for is so; fails after a minute.
fn wait_until(is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "it takes too long"
        );
        std::thread::yield_now();
    }
}
