//! Mixes with updates, against a small store that really inserts and deletes.

use super::endpoint::*;
use crate::{
    BsbmError, GenerateOptions, ParameterPool, RunOptions, UpdatesAt, UseCase, generate_to,
    generate_update_to, html_page, run,
};
use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// What a store does with updates that it confirms.
#[derive(Clone, Copy, PartialEq)]
enum Honesty {
    Honest,
    DropsInserts,
    DropsDeletes,
}

/// Serves a store of N-Triples lines; queries other than counts have the usual answers.
fn serve_store(honesty: Honesty, data: &[String]) -> (String, Receiver<Request>) {
    let lines: BTreeSet<String> = data.iter().cloned().collect();
    let lines = Arc::new(Mutex::new(lines));
    serve(move |request| {
        let text = request.text();
        let mut lines = lines.lock().expect("no test fails while it answers");
        let subject = |text: &str| {
            let start = text.find('<').expect("a subject");
            let end = text.find('>').expect("a subject");
            text[start..=end].to_owned()
        };
        if text.contains("INSERT DATA") {
            if honesty != Honesty::DropsInserts {
                let triples = text.lines().filter(|line| line.starts_with('<'));
                lines.extend(triples.map(str::to_owned));
            }
        } else if text.contains("DELETE WHERE") {
            if honesty != Honesty::DropsDeletes {
                let subject = subject(&text);
                lines.retain(|line| !line.starts_with(&subject));
            }
        } else if text.contains("COUNT(*) AS ?triples") {
            let subject = subject(&text);
            let count = lines
                .iter()
                .filter(|line| line.starts_with(&subject))
                .count();
            let body = format!(
                r#"{{"head":{{"vars":["triples"]}},"results":{{"bindings":[{{"triples":{{"type":"literal","value":"{count}"}}}}]}}}}"#
            );
            return answer(&request.accept, &body);
        }
        good(request)
    })
}

/// An update file of 8 products, one to a transaction, and what the driver draws from.
fn transactions(folder: &Path) -> (PathBuf, String, ParameterPool) {
    let options = GenerateOptions {
        update_transactions: 8,
        products_per_transaction: 1,
        ..GenerateOptions::new(100)
    };
    let mut out = Vec::new();
    generate_update_to(&mut out, &options).expect("generating into memory works");
    let path = folder.join("update.nt");
    std::fs::write(&path, &out).expect("the folder can be written");
    let text = String::from_utf8(out).expect("the file is text");
    let pool = ParameterPool::from_options(100, options.seed).expect("valid options");
    (path, text, pool)
}

fn offers(text: &str) -> HashSet<String> {
    let subjects = text.lines().filter_map(|line| line.split(' ').next());
    let offers = subjects.filter(|subject| subject.contains("/Offer"));
    offers.map(str::to_owned).collect()
}

#[test]
fn updates_are_sent_in_order_counted_and_verified() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (path, file, pool) = transactions(folder.path());
    let (url, requests) = serve_store(Honesty::Honest, &[]);
    let options = RunOptions {
        update_file: Some(path),
        runs: 4,
        durability: Some("none: memory".to_owned()),
        ..options(&url)
    };
    let report = run(UseCase::ExploreAndUpdate, &pool, &options, &mut |_| ()).expect("a run");
    assert!(report.is_sound(), "{:?}", report.updates);
    assert_eq!((report.queries[0].count, report.queries[1].count), (8, 12));
    let texts: Vec<String> = asked(&requests).iter().map(Request::text).collect();
    // The warm-up sends no updates; then come insert, delete, insert, delete, delete.
    let forms: Vec<&str> = texts[25..30]
        .iter()
        .map(|text| {
            text.lines()
                .find(|line| !line.starts_with('#') && !line.is_empty())
        })
        .map(|line| {
            line.and_then(|line| line.split(' ').next())
                .unwrap_or_default()
        })
        .collect();
    assert_eq!(forms, ["INSERT", "DELETE", "INSERT", "DELETE", "DELETE"]);
    let sent: Vec<&str> = texts
        .iter()
        .flat_map(|text| text.lines())
        .filter(|line| line.starts_with('<'))
        .collect();
    let expected: Vec<&str> = file.lines().filter(|line| line.starts_with('<')).collect();
    assert_eq!(sent, expected);
    let updates = report.updates.clone().expect("there were updates");
    assert_eq!(updates.inserted_triples, expected.len() as u64);
    assert_eq!((updates.inserted_blocks, updates.deletes), (8, 12));
    assert_eq!(updates.deletes_that_hit, hits(&file, &texts));
    assert!(updates.verified > 12 && updates.wrong == 0);
    assert!(
        report
            .to_markdown()
            .contains("- durability of a commit: none: memory\n")
    );
}

/// Replays inserts and deletes on the set of all offers.
fn hits(file: &str, texts: &[String]) -> u64 {
    let mut absent = offers(file);
    let mut hits = 0;
    for text in texts {
        if text.contains("INSERT DATA") {
            absent.retain(|offer| !text.contains(offer.as_str()));
        } else if text.contains("DELETE WHERE") {
            let start = text.find('<').expect("a subject");
            let end = text.find('>').expect("a subject");
            hits += u64::from(absent.insert(text[start..=end].to_owned()));
        }
    }
    hits
}

#[test]
fn a_store_that_drops_updates_is_found_out() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (path, file, pool) = transactions(folder.path());
    let held_out = offers(&file);
    let mut data = Vec::new();
    generate_to(&mut data, &GenerateOptions::new(100)).expect("generating into memory works");
    let data = String::from_utf8(data).expect("the data is text");
    let is_kept = |line: &&str| {
        let subject = line.split(' ').next().unwrap_or_default();
        subject.contains("/Offer") && !held_out.contains(subject)
    };
    let data: Vec<String> = data.lines().filter(is_kept).map(str::to_owned).collect();
    let run_with = |honesty| {
        let (url, _requests) = serve_store(honesty, &data);
        let options = RunOptions {
            update_file: Some(path.clone()),
            warmup: 0,
            runs: 4,
            ..options(&url)
        };
        run(UseCase::ExploreAndUpdate, &pool, &options, &mut |_| ()).expect("a run")
    };
    let report = run_with(Honesty::Honest);
    assert!(report.is_sound(), "{:?}", report.updates);
    for (honesty, expected) in [
        (Honesty::DropsInserts, " has 0 triples, not "),
        (Honesty::DropsDeletes, " triples, not 0"),
    ] {
        let report = run_with(honesty);
        assert_eq!(report.errors, 0);
        assert!(!report.is_sound());
        let updates = report.updates.expect("there were updates");
        assert!(updates.wrong > 8, "{updates:?}");
        let first = updates.first_wrong.expect("it is said");
        assert!(first.contains(expected), "{first}");
        assert!(report.warnings.iter().any(|w| w.contains(&first)));
    }
}

#[test]
fn several_clients_send_each_block_once() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (path, file, pool) = transactions(folder.path());
    let (url, requests) = serve_store(Honesty::Honest, &[]);
    let options = RunOptions {
        update_file: Some(path),
        clients: 3,
        runs: 4,
        updates_at: UpdatesAt::Spread,
        ..options(&url)
    };
    let report = run(UseCase::ExploreAndUpdate, &pool, &options, &mut |_| ()).expect("a run");
    assert!(report.is_sound(), "{:?}", report.updates);
    let texts: Vec<String> = asked(&requests).iter().map(Request::text).collect();
    let lines = |text: &str| {
        let mut lines: Vec<String> = text
            .lines()
            .filter(|line| line.starts_with('<'))
            .map(str::to_owned)
            .collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&texts.join("\n")), lines(&file));
}

#[test]
fn updates_come_first_last_or_in_between() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (path, _, pool) = transactions(folder.path());
    let places = |updates_at| {
        let (url, requests) = serve_store(Honesty::Honest, &[]);
        let options = RunOptions {
            update_file: Some(path.clone()),
            warmup: 0,
            runs: 1,
            updates_at,
            ..options(&url)
        };
        let report = run(UseCase::ExploreAndUpdate, &pool, &options, &mut |_| ()).expect("a run");
        assert!(report.is_sound());
        let texts: Vec<String> = asked(&requests).iter().map(Request::text).collect();
        let is_update = |text: &String| text.contains("INSERT") || text.contains("DELETE");
        let places = (0..30).filter(|place| is_update(&texts[*place]));
        let places: Vec<usize> = places.collect();
        let queries: Vec<String> = texts[..30]
            .iter()
            .filter(|t| !is_update(t))
            .cloned()
            .collect();
        (places, queries)
    };
    let (first, queries) = places(UpdatesAt::First);
    assert_eq!(first, [0, 1, 2, 3, 4]);
    let (last, queries_last) = places(UpdatesAt::Last);
    assert_eq!(last, [25, 26, 27, 28, 29]);
    let (spread, queries_spread) = places(UpdatesAt::Spread);
    assert_eq!(spread, [0, 6, 12, 18, 24]);
    assert_eq!(queries, queries_last);
    assert_eq!(queries, queries_spread);
    for choice in [UpdatesAt::First, UpdatesAt::Last, UpdatesAt::Spread] {
        assert_eq!(UpdatesAt::from_name(choice.name()), Some(choice));
    }
}

#[test]
fn a_run_goes_on_in_the_file_or_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (path, file, pool) = transactions(folder.path());
    let (url, requests) = serve_store(Honesty::Honest, &[]);
    let with = |first_transaction, runs| RunOptions {
        update_file: Some(path.clone()),
        warmup: 0,
        first_transaction,
        runs,
        ..options(&url)
    };
    let start = |options: &RunOptions| run(UseCase::ExploreAndUpdate, &pool, options, &mut |_| ());
    let error = start(&with(0, 5)).err().map(|error| error.to_string());
    let error = error.unwrap_or_default();
    assert!(
        error.ends_with("has 8 transactions from number 0 on, and 5 mixes need 10"),
        "{error}"
    );
    let error = start(&with(7, 1));
    assert!(matches!(
        error,
        Err(BsbmError::TooFewTransactions {
            found: 1,
            needed: 2,
            ..
        })
    ));
    assert!(asked(&requests).is_empty());
    let report = start(&with(6, 1)).expect("two blocks are left");
    assert!(report.is_sound());
    let texts: Vec<String> = asked(&requests).iter().map(Request::text).collect();
    let sent = texts.iter().flat_map(|text| text.lines());
    let sent: Vec<&str> = sent.filter(|line| line.starts_with('<')).collect();
    let blocks: Vec<&str> = file.split("#__SEP__").collect();
    let expected = blocks[6..8].iter().flat_map(|block| block.lines());
    let expected: Vec<&str> = expected.filter(|line| line.starts_with('<')).collect();
    assert_eq!(sent, expected);
}

#[test]
fn updates_go_to_their_own_endpoint_and_field() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (path, _, pool) = transactions(folder.path());
    let (url, queries) = serve_store(Honesty::Honest, &[]);
    let (update_url, updates) = serve_store(Honesty::Honest, &[]);
    let options = RunOptions {
        update_file: Some(path),
        update_endpoint: Some(update_url.clone()),
        update_field: "request".to_owned(),
        default_graph: Some("http://g/".to_owned()),
        warmup: 0,
        runs: 1,
        ..options(&url)
    };
    let report = run(UseCase::ExploreAndUpdate, &pool, &options, &mut |_| ()).expect("a run");
    assert_eq!(report.update_endpoint, Some(update_url));
    assert_eq!(report.errors, 0);
    // The updates went to another store than the one that is asked whether they are there.
    assert!(!report.is_sound());
    let updates = asked(&updates);
    assert_eq!(updates.len(), 5);
    assert!(
        updates
            .iter()
            .all(|r| r.body.starts_with("request=") && !r.body.contains('&'))
    );
    let counts = asked(&queries)
        .into_iter()
        .filter(|r| r.text().contains("COUNT"));
    assert!(
        counts
            .skip(1)
            .all(|r| !r.body.contains("default-graph-uri"))
    );
}

#[test]
fn updates_bring_further_fields_if_a_store_wants_them() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (path, _, pool) = transactions(folder.path());
    let (url, requests) = serve_store(Honesty::Honest, &[]);
    let options = RunOptions {
        update_file: Some(path),
        update_parameters: vec![("default-graph-uri".to_owned(), "http://g/".to_owned())],
        warmup: 0,
        runs: 1,
        ..options(&url)
    };
    let report = run(UseCase::ExploreAndUpdate, &pool, &options, &mut |_| ()).expect("a run");
    assert!(report.is_sound(), "{:?}", report.updates);
    let with_graph = asked(&requests).into_iter().filter(|request| {
        request
            .body
            .ends_with("&default-graph-uri=http%3A%2F%2Fg%2F")
    });
    let updates: Vec<String> = with_graph.map(|request| request.text()).collect();
    assert_eq!(updates.len(), 5);
    let is_update = |text: &String| text.contains("INSERT") || text.contains("DELETE");
    assert!(updates.iter().all(is_update));
}

#[test]
fn a_run_by_the_clock_ends_when_no_transaction_is_left_and_says_so() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (path, file, pool) = transactions(folder.path());
    let (url, requests) = serve_store(Honesty::Honest, &[]);
    let options = RunOptions {
        update_file: Some(path),
        warmup: 0,
        clients: 2,
        duration: Some(Duration::from_secs(600)),
        durability: Some("none: memory".to_owned()),
        ..options(&url)
    };
    let report = run(UseCase::ExploreAndUpdate, &pool, &options, &mut |_| ()).expect("a run");
    assert!(report.is_sound(), "{:?}", report.updates);
    assert!(report.transactions_used_up && report.elapsed_s < 600.0);
    // Eight transactions are four mixes, whatever `runs` says.
    assert_eq!((report.runs, report.queries[0].count), (4, 8));
    let said = "the update transactions were used up by 4 mixes, after ";
    assert!(report.warnings.iter().any(|w| w.starts_with(said)));
    assert!(
        report
            .to_markdown()
            .contains("- ended by: all transactions sent; 600 s")
    );
    let texts: Vec<String> = asked(&requests).iter().map(Request::text).collect();
    let sent = texts.iter().flat_map(|text| text.lines());
    assert_eq!(
        sent.filter(|line| line.starts_with('<')).count(),
        file.lines().filter(|line| line.starts_with('<')).count()
    );
    // One transaction is not enough for a single mix, which is known before.
    let too_few = RunOptions {
        first_transaction: 7,
        ..options
    };
    let refused = run(UseCase::ExploreAndUpdate, &pool, &too_few, &mut |_| ());
    let refused = refused.expect_err("it is too little").to_string();
    let expected = "has 1 transactions from number 7 on, and 1 mixes need 2";
    assert!(refused.ends_with(expected), "{refused}");
    assert!(asked(&requests).is_empty());
}

#[test]
fn a_run_by_the_clock_shows_updates_over_time() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (path, _, pool) = transactions(folder.path());
    let (url, _requests) = serve_store(Honesty::Honest, &[]);
    let options = RunOptions {
        update_file: Some(path),
        warmup: 0,
        duration: Some(Duration::from_secs(600)),
        ..options(&url)
    };
    let report = run(UseCase::ExploreAndUpdate, &pool, &options, &mut |_| ()).expect("a run");
    let timeline = &report.timeline;
    let updates: u64 = timeline.updates.iter().map(|slice| slice.count).sum();
    let queries: u64 = timeline.queries.iter().map(|slice| slice.count).sum();
    assert_eq!((updates, queries), (4 * 5, 4 * 25));
    let page = report.to_markdown();
    for expected in [
        "- updates over time: p99 ",
        " updates | p50 ms |",
        "- queries over time: ",
    ] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
    let page = html_page(&[("a", &report)]);
    assert!(page.contains("Updates over time") && page.contains("Queries over time"));
    let compared = crate::compare_reports(&[("a", &report), ("b", &report)]);
    assert!(
        compared.contains("| p99 ms of updates, worst period |"),
        "{compared}"
    );
    assert!(compared.contains(" s (no transactions left)"), "{compared}");
}
