//! `basalt update`, and the commands that see what it did.

mod support;

use support::Place;

const COUNT: &str = "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }";

#[test]
fn a_store_is_made_updated_and_queried() {
    let place = Place::new();
    let insert = "PREFIX e: <http://e/> INSERT DATA { e:a e:p 1 , 2 . GRAPH e:g { e:a e:q \"x\" } } ; \
        DELETE { ?s e:p 2 } INSERT { ?s e:p 3 , 4 } WHERE { ?s e:p 2 }";
    let first = place.run_list(&["update", "--location", "s", "--update", insert], b"");
    assert_eq!((first.code, first.out.as_str()), (Some(0), ""), "{first:?}");
    for told in [
        "INSERT DATA: 0 removed, 3 added",
        "DELETE/INSERT WHERE: 1 removed, 2 added",
        "0 quads removed, 4 added",
        "commit 1, 4 quads in the store",
    ] {
        assert!(first.err.contains(told), "{told}: {first:?}");
    }
    place.write(
        "more.ru",
        "DELETE DATA { <http://e/a> <http://e/p> 1 } ; INSERT DATA { _:b <http://e/r> _:b }",
    );
    let json = place.ok("update --location s --update-file more.ru --json");
    for told in [
        "\"added\":1",
        "\"commit\":2",
        "\"operation\":\"DELETE DATA\"",
        "\"quads\":4",
        "\"removed\":1",
    ] {
        assert!(json.contains(told), "{told}: {json}");
    }
    let input = place.run_list(&["update", "--location", "s"], b"CLEAR GRAPH <http://e/g>");
    assert_eq!(input.code, Some(0), "{input:?}");
    let count = place.run_list(&["query", "--location", "s", "--query", COUNT], b"");
    assert!(count.out.starts_with("?n\n\"3\"^^<"), "{count:?}");
    let before = place.dump("s");
    assert_eq!(before.len(), 3);
    assert!(
        before
            .iter()
            .any(|line| line.contains("<http://e/p> \"3\"")),
        "{before:?}"
    );
    place.ok("check --location s --deep");
    place.ok("optimize --location s");
    assert_eq!(place.dump("s").len(), 3);
    place.write("load.nt", "<http://e/l> <http://e/p> <http://e/m> .\n");
    place.ok("update --location s --update-file more.ru");
    place.ok("load --location s load.nt");
    assert_eq!(place.dump("s").len(), 5);
    place.ok("check --location s --deep");
}

#[test]
fn what_fails_says_why_and_changes_nothing() {
    let place = Place::new();
    place.write("a.nt", "<http://e/a> <http://e/p> <http://e/b> .\n");
    place.ok("load --location s a.nt");
    let cases = [
        (
            "INSERT DATA { ?x <http://e/p> 1 }",
            "«INSERT DATA { ?x <http://e/p> 1 }»",
        ),
        (
            "DROP ALL ; CREATE GRAPH <http://e/g> ; COPY <http://e/g> TO DEFAULT",
            "operation 3",
        ),
        (
            "DROP ALL ; LOAD <file:///etc/hostname>",
            "no folder is allowed",
        ),
        (
            "INSERT { ?s ?p 1 } WHERE { ?s ?p ?o SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",
            "may not be",
        ),
    ];
    for (update, told) in cases {
        let outcome = place.run_list(
            &[
                "update",
                "--location",
                "s",
                "--no-service",
                "--update",
                update,
            ],
            b"",
        );
        assert_eq!(outcome.code, Some(1), "{update}: {outcome:?}");
        assert!(outcome.err.contains(told), "{update}: {outcome:?}");
        assert_eq!(place.dump("s").len(), 1, "{update}");
    }
    let missing = place.run("update --location s --update-file none.ru");
    assert!(missing.err.contains("none.ru"), "{missing:?}");
    let both = place.run("update --location s --update x --update-file y");
    assert_eq!(both.code, Some(2), "{both:?}");
}

#[test]
fn files_are_loaded_from_a_folder_that_is_named() {
    let place = Place::new();
    place.write("b.ttl", "<> <http://e/p> 1 , 2 .");
    let update = format!(
        "LOAD <file://{}> INTO GRAPH <http://e/g>",
        place.path("b.ttl").display()
    );
    let outcome = place.run_list(
        &[
            "update",
            "--location",
            "s",
            "--load-folder",
            ".",
            "--update",
            &update,
        ],
        b"",
    );
    assert_eq!(outcome.code, Some(0), "{outcome:?}");
    let dump = place.dump("s");
    assert!(
        dump.len() == 2 && dump[0].contains("b.ttl>") && dump[0].ends_with("<http://e/g> ."),
        "{dump:?}"
    );
}

/// The bytes of the logs in a store.
fn log_bytes(place: &Place) -> u64 {
    let files = std::fs::read_dir(place.path("s")).expect("the store is there");
    let logs = files
        .map(|file| file.expect("it is listed"))
        .filter(|file| file.file_name().to_string_lossy().starts_with("log-"));
    logs.map(|log| log.metadata().expect("it is there").len())
        .sum()
}

#[test]
fn updates_alone_keep_the_log_short() {
    const QUADS: usize = 20_000;
    let place = Place::new();
    let quads = (0..QUADS)
        .map(|i| format!("<http://example.org/a/long/name/of/a/subject/{i}> <http://e/p> {i} .\n"));
    place.write(
        "many.ru",
        format!("INSERT DATA {{ {} }}", quads.collect::<String>()),
    );
    let many = [
        "update",
        "--location",
        "s",
        "--update-file",
        "many.ru",
        "--no-merge",
    ];
    let left = place.run_list(&many, b"");
    assert_eq!(left.code, Some(0), "{left:?}");
    assert!(!left.err.contains("merged"), "{left:?}");
    assert!(log_bytes(&place) > 1 << 20, "a merge is due");
    let insert = |object: &str| {
        let text = format!("INSERT DATA {{ <http://e/a> <http://e/p> {object} }}");
        let outcome = place.run_list(&["update", "--location", "s", "--update", &text], b"");
        assert_eq!(outcome.code, Some(0), "{outcome:?}");
        outcome.err
    };
    let merged = insert("1");
    let summary = merged.find("1 added").expect("the summary");
    let told = merged
        .find("20,001 changed quads merged in ")
        .expect("the merge");
    assert!(summary < told, "the summary comes first: {merged}");
    assert!(log_bytes(&place) < 1 << 10, "the log is merged");
    assert!(!insert("2").contains("merged"), "there is nothing to merge");
    assert_eq!(place.dump("s").len(), QUADS + 2);
    place.ok("check --location s --deep");
}
