//! `basalt convert` and the syntaxes of `dump`, `load` and `query`: every pair, streamed, in constant memory.

#![allow(dead_code)]

mod support;

use std::io::{Read, Write};
use std::process::Stdio;
use support::{Place, command};

/// Quads of one graph that every syntax can say, in an order that grouping keeps.
const TRIPLES: &str = "\
<http://e/a> <http://e/name> \"Ann\" .
<http://e/a> <http://e/age> \"042\"^^<http://www.w3.org/2001/XMLSchema#integer> .
<http://e/a> <http://e/knows> _:b .
_:b <http://e/name> \"Bob \\\"B\\\" é\\n\\r <&>\"@en-GB .
_:b <http://e/knows> _:0 .
_:0 <http://e/name> \"\" .
_:0 <http://e/name> \"\" .
";

const FORMATS: [&str; 6] = ["nt", "nq", "ttl", "trig", "rdf", "jsonld"];

/// Lines with blank nodes named by their first occurrence.
fn renamed(text: &str) -> Vec<String> {
    let mut labels: Vec<String> = Vec::new();
    let mut lines = Vec::new();
    for line in text.lines() {
        let words = line.split(' ').map(|word| match word.strip_prefix("_:") {
            None => word.to_owned(),
            Some(label) => {
                let known = labels.iter().position(|other| other == label);
                let number = known.unwrap_or(labels.len());
                if known.is_none() {
                    labels.push(label.to_owned());
                }
                format!("_:{number}")
            }
        });
        lines.push(words.collect::<Vec<_>>().join(" "));
    }
    lines
}

#[test]
fn every_syntax_becomes_every_other() {
    let place = Place::new();
    place.write("in.nt", TRIPLES);
    for from in FORMATS {
        place.ok(&format!("convert in.nt --output {from}.{from}"));
        for to in FORMATS {
            place.ok(&format!("convert {from}.{from} --output {from}-{to}.{to}"));
            let back = place.ok(&format!("convert {from}-{to}.{to} --to-format nt"));
            assert_eq!(renamed(&back), renamed(TRIPLES), "{from} to {to}");
        }
        // The other commands know it, too.
        let asked = place.ok(&format!(
            "query --data {from}.{from} --query SELECT(COUNT(*)AS?n){{?s?p?o}} --results-format csv"
        ));
        assert_eq!(asked, "n\r\n6\r\n", "{from}");
        place.ok(&format!("load --location store-{from} {from}.{from}"));
        let format = from.replace("rdf", "rdfxml");
        let dumped = place.ok(&format!("dump --location store-{from} --format {format}"));
        place.write("dumped", &dumped);
        let back = place.ok(&format!(
            "convert dumped --from-format {format} --to-format nt"
        ));
        assert_eq!(back.lines().count(), 6, "{from}: {dumped}");
        let graph = place.ok(&format!(
            "query --data {from}.{from} --query CONSTRUCT{{?s?p?o}}WHERE{{?s?p?o}} --results-format {format}"
        ));
        place.write("graph", graph);
        let back = place.ok(&format!(
            "convert graph --from-format {format} --to-format nt"
        ));
        assert_eq!(back.lines().count(), 6, "{from}");
    }
    assert_eq!(
        place.ok("convert nt.nt --to-format nt"),
        TRIPLES,
        "byte for byte"
    );
}

#[test]
fn compressions_are_told_by_the_name() {
    let place = Place::new();
    place.write("in.nt", TRIPLES);
    for extension in ["gz", "zst", "bz2"] {
        let packed = format!("out.ttl.{extension}");
        place.ok(&format!("convert in.nt --output {packed}"));
        let bytes = std::fs::read(place.path(&packed)).expect("a file");
        assert!(!bytes.starts_with(b"<http"), "{extension}");
        assert_eq!(
            place.ok(&format!("convert {packed} --to-format nt")),
            TRIPLES
        );
        place.ok(&format!("load --location store-{extension} {packed}"));
        place.ok(&format!(
            "dump --location store-{extension} --output all.nq.{extension}"
        ));
        let again = place.ok(&format!("convert all.nq.{extension} --to-format nq"));
        assert_eq!(again.lines().count(), 6);
    }
}

#[test]
fn several_files_keep_their_blank_nodes_apart() {
    let place = Place::new();
    let line = "_:a <http://e/p> _:a _:g .\n";
    place.write("1.nq", line);
    place.write(
        "2.nq",
        format!("{line}_:f1xa <http://e/p> <http://e/o> .\n"),
    );
    let out = place.ok("convert 1.nq 2.nq --to-format nq");
    let expected = "_:f1xa <http://e/p> _:f1xa _:f1xg .\n_:f2xa <http://e/p> _:f2xa _:f2xg .\n\
        _:f2xf1xa <http://e/p> <http://e/o> .\n";
    assert_eq!(out, expected);
    assert_eq!(place.ok("convert 1.nq --to-format nq"), line);
}

#[test]
fn named_graphs_need_a_syntax_that_has_them_or_a_choice() {
    let place = Place::new();
    place.write(
        "in.nq",
        "<http://e/s> <http://e/p> \"g\" <http://e/g> .\n<http://e/s> <http://e/p> \"d\" .\n",
    );
    for format in ["nt", "ttl", "rdfxml"] {
        let refused = place.run(&format!("convert in.nq --to-format {format}"));
        assert_eq!(refused.code, Some(1), "{format}: {refused:?}");
        assert!(
            refused.err.contains("cannot name the graph <http://e/g>"),
            "{refused:?}"
        );
        place.write("none", "");
        place.ok(&format!(
            "convert in.nq --to-format {format} --graph http://e/g"
        ));
    }
    let named = place.ok("convert in.nq --to-format nt --graph http://e/g");
    assert_eq!(named, "<http://e/s> <http://e/p> \"g\" .\n");
    let default = place.ok("convert in.nq --to-format nq --graph default");
    assert_eq!(default, "<http://e/s> <http://e/p> \"d\" .\n");
    place.ok("load --location store in.nq");
    let refused = place.run("dump --location store --format rdfxml");
    assert!(
        refused
            .err
            .contains("1 named graphs, which RDF/XML cannot hold"),
        "{refused:?}"
    );
    assert!(
        place
            .ok("dump --location store --format rdfxml --graph http://e/g")
            .contains(">g</p>")
    );
    assert!(
        place
            .ok("dump --location store --format jsonld")
            .contains("\"@graph\":[")
    );
}

#[test]
fn prefixes_shorten_and_bad_input_is_told() {
    let place = Place::new();
    place.write("in.nt", TRIPLES);
    let turtle =
        place.ok("convert in.nt --to-format ttl --prefix e=http://e/ --prefix x:=http://x/");
    assert!(
        turtle.starts_with("@prefix e: <http://e/> .\n") && turtle.contains("e:a e:name \"Ann\""),
        "{turtle}"
    );
    let xml = place.ok("convert in.nt --to-format rdfxml --prefix e=http://e/");
    assert!(xml.contains("<e:name>Ann</e:name>"), "{xml}");
    assert_eq!(
        place.run("convert in.nt --to-format ttl --prefix e").code,
        Some(2)
    );
    place.write("bad.nt", format!("{TRIPLES}no\n{TRIPLES}never\n"));
    let strict = place.run("convert bad.nt --output out.nq");
    assert!(
        strict.code == Some(1) && strict.err.contains("bad.nt:8:1: "),
        "{strict:?}"
    );
    assert!(!place.path("out.nq").exists());
    let lenient = place.run("convert bad.nt --output out.nq --lenient");
    assert!(
        lenient.code == Some(0) && lenient.err.contains("skipped: bad.nt:16:1: "),
        "{lenient:?}"
    );
    assert!(lenient.err.contains("14 quads written"), "{lenient:?}");
    let limited = place.run("convert bad.nt --to-format nq --lenient --max-errors 1");
    assert!(
        limited.code == Some(1) && limited.err.contains("gave up after 2 bad lines"),
        "{limited:?}"
    );
    place.write(
        "bad.rdf",
        "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>\n  <x y=/>\n",
    );
    let xml = place.run("convert bad.rdf --to-format nt --lenient");
    assert!(
        xml.code == Some(1) && xml.err.contains("bad.rdf:2:3: "),
        "{xml:?}"
    );
    place.write("remote.jsonld", "{\"@context\": \"http://e/c\", \"x\": 1}");
    let remote = place.run("convert remote.jsonld --to-format nt");
    assert!(
        remote.code == Some(1)
            && remote.err.contains("remote.jsonld: ")
            && remote.err.contains("http://e/c"),
        "{remote:?}"
    );
    let unknown = place.run("convert none.nt --to-format nt");
    assert!(
        unknown.code == Some(1) && unknown.err.contains("'none.nt' does not exist"),
        "{unknown:?}"
    );
}

#[test]
fn arrow_comes_to_standard_output() {
    let place = Place::new();
    place.write("in.nt", TRIPLES);
    let output = command(&place.path(""))
        .args([
            "query",
            "--data",
            "in.nt",
            "--query",
            "SELECT * { ?s ?p ?o }",
            "--results-format",
            "arrow",
        ])
        .output()
        .expect("the binary runs");
    assert!(output.status.success() && output.stdout.starts_with(&[0xFF; 4]));
}

/// The most memory that a process has had, in KiB; nothing where the system does not tell.
fn peak_kib(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

/// Converts so many lines through pipes and gives the peak of memory and the lines that came out.
fn peak_of(lines: u32, from: &str, to: &str) -> Option<(u64, usize)> {
    let place = Place::new();
    let mut child = command(&place.path(""))
        .args(["convert", "-", "--from-format", from, "--to-format", to])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let mut stdout = child.stdout.take().expect("a pipe");
    let process = child.id();
    let (peak, out) = std::thread::scope(|scope| {
        let reader = scope.spawn(move || {
            let mut count = 0;
            let mut buffer = vec![0; 1 << 16];
            while let Ok(bytes @ 1..) = stdout.read(&mut buffer) {
                count += buffer[..bytes]
                    .iter()
                    .filter(|byte| **byte == b'\n')
                    .count();
            }
            count
        });
        let mut text = String::new();
        for i in 0..lines {
            text.push_str(&match from {
                "jsonld" if i == 0 => {
                    "[{\"@id\":\"http://e/s\",\"http://e/p\":[{\"@value\":\"x\"}]}\n".to_owned()
                }
                "jsonld" => format!(
                    ",{{\"@id\":\"http://e/s{i}\",\"http://e/p\":[{{\"@value\":\"x{i}\"}}]}}\n"
                ),
                _ => format!(
                    "<http://e/s{}> <http://e/p{}> \"some text {i}\" .\n",
                    i / 8,
                    i % 8
                ),
            });
            if text.len() > 1 << 16 {
                stdin.write_all(text.as_bytes()).expect("it reads on");
                text.clear();
            }
        }
        if from == "jsonld" {
            text.push(']');
        }
        stdin.write_all(text.as_bytes()).expect("it reads on");
        // All but the last pipe and block has been read and written.
        let peak = peak_kib(process);
        drop(stdin);
        (peak, reader.join().expect("no panic"))
    });
    assert!(child.wait().expect("it ends").success());
    Some((peak?, out))
}

#[test]
fn memory_does_not_grow_with_the_data() {
    let full = std::env::var_os("BASALT_TESTS_FULL").is_some();
    let lines = if full { 2_000_000 } else { 800_000 };
    let pairs = [
        ("nt", "nq"),
        ("nt", "ttl"),
        ("ttl", "nt"),
        ("nt", "rdfxml"),
        ("nt", "jsonld"),
        ("jsonld", "nt"),
    ];
    for (from, to) in pairs {
        let lines = if from == "jsonld" { lines / 8 } else { lines };
        let (small, large) = (peak_of(lines / 8, from, to), peak_of(lines, from, to));
        let (Some((small, _)), Some((large, out))) = (small, large) else {
            eprintln!("skipped: this system does not tell the memory of a process");
            return;
        };
        eprintln!("{from} to {to}: {lines} lines, {large} KiB, for an eighth of them {small} KiB");
        // JSON-LD has one line for the eight triples of a subject.
        let out_min = if to == "jsonld" { lines / 8 } else { lines };
        assert!(out >= out_min as usize, "{from} to {to}: {out} lines");
        assert!(
            large < small + (16 << 10),
            "{from} to {to}: {small} to {large} KiB"
        );
    }
}
