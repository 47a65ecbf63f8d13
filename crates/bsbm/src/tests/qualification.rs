//! Recorded answers and how they compare.

use super::endpoint::*;
use crate::{
    BsbmError, Content, Patience, Question, Recording, RunOptions, Tally, UseCase, qualify,
    record_answers,
};
use std::time::Duration;

fn record(use_case: UseCase, url: &str) -> Recording {
    let recorded = record_answers(use_case, &pool(), &options(url), &mut |_| ());
    recorded.expect("a good endpoint")
}

#[test]
fn equal_answers_qualify_however_they_are_spelled() {
    let (url, requests) = serve(good);
    let (url_turned, _requests) = serve(good_turned);
    for (use_case, queries) in [(UseCase::Explore, 50), (UseCase::Bi, 30)] {
        let reference = record(use_case, &url);
        assert_eq!(reference.answers.len(), queries);
        assert_eq!(asked(&requests).len(), queries);
        let qualification = qualify(&reference, &record(use_case, &url_turned));
        let qualification = qualification.expect("the same questions");
        assert!(qualification.is_passed(), "{:?}", qualification.differences);
        let equal: u64 = qualification
            .tallies
            .values()
            .map(|tally| tally.equal)
            .sum();
        assert_eq!(equal, queries as u64);
        assert!(qualification.to_markdown().contains(": passed\n"));
    }
}

#[test]
fn wrong_and_missing_answers_fail() {
    let (url, _requests) = serve(good);
    let (bad_url, _requests) = serve(|request| {
        let text = request.text();
        match request.accept.as_str() {
            "application/n-triples" => answer("application/n-triples", "<a:b> <a:c> <a:d> .\n"),
            _ if text.contains("bsbm:reviewDate") => {
                b"HTTP/1.1 500 X\r\nContent-Length: 4\r\n\r\noops".to_vec()
            }
            media_type => answer(media_type, &ROWS.replace("1.50", "1.51")),
        }
    });
    let reference = record(UseCase::Explore, &url);
    let tested = record(UseCase::Explore, &bad_url);
    assert_eq!(tested.failures(), 4);
    let qualification = qualify(&reference, &tested).expect("the same questions");
    assert!(!qualification.is_passed());
    let tally = |number| qualification.tallies.get(&number).copied();
    let different = |different| Tally {
        different,
        ..Tally::default()
    };
    assert_eq!(tally(2), Some(different(12)));
    let missing = Tally {
        missing: 4,
        ..Tally::default()
    };
    assert_eq!(tally(8), Some(missing));
    assert_eq!(tally(12), Some(different(2)));
    // What DESCRIBE describes is open.
    assert_eq!(
        tally(9),
        Some(Tally {
            open: 8,
            ..Tally::default()
        })
    );
    assert_eq!(qualification.differences.len(), 50 - 8);
    let page = qualification.to_markdown();
    assert!(page.contains(": failed\n") && page.contains("there is no answer: status 500: oops"));
    assert!(page.contains("1 rows missing, 1 too many; missing: ?a=1.50; too many: ?a=1.51"));
    assert!(page.contains("```sparql\n# ") && page.contains("22 more differences"));
}

#[test]
fn what_runs_out_of_time_is_told_apart_and_not_asked_again() {
    let (good_url, _requests) = serve(good);
    let (slow_url, requests) = serve(|request| {
        // BI 8 is never answered in full; the connection stays open.
        match request.text().contains("?cheap") {
            true => b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx".to_vec(),
            false => good(request),
        }
    });
    let reference = record(UseCase::Bi, &good_url);
    let options = RunOptions {
        timeout: Duration::from_millis(500),
        patience: Some(Patience {
            timeouts_max: 1,
            given_up: vec![Question {
                number: 3,
                level: None,
            }],
        }),
        drill_down: None,
        ..options(&slow_url)
    };
    let tested = record_answers(UseCase::Bi, &pool(), &options, &mut |_| ());
    let tested = tested.expect("the others are answered");
    let asked = asked(&requests);
    let growth = asked.iter().filter(|r| r.text().contains("?growth"));
    assert_eq!(growth.count(), 0);
    let levels: Vec<_> = tested.answers.iter().filter(|a| a.number == 8).collect();
    assert_eq!(levels.len(), 2);
    assert!(levels.iter().all(|answer| answer.level.is_some()));
    let is_repeated = levels[0].level == levels[1].level;
    let slow = asked.iter().filter(|r| r.text().contains("?cheap")).count();
    assert_eq!(slow, if is_repeated { 1 } else { 2 });
    let qualification = qualify(&reference, &tested).expect("the same questions");
    let tally = |number| qualification.tallies.get(&number).copied();
    for number in [3, 8] {
        let tally = tally(number).expect("it is in the mix");
        assert_eq!((tally.missing, tally.different), (2, 0), "{number}");
    }
    assert_eq!(tally(1).map(|tally| tally.equal), Some(2));
    let json: serde_json::Value =
        serde_json::from_str(&qualification.to_json()).expect("it is JSON");
    assert_eq!(json["tallies"]["8"]["missing"], 2);
    assert!(json["differences"][0]["reason"].as_str().is_some());
}

#[test]
fn recordings_are_kept_in_files() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (url, _requests) = serve(good);
    let recording = record(UseCase::Explore, &url);
    let mut out = Vec::new();
    recording.write(&mut out).expect("memory can be written");
    let path = folder.path().join("answers.jsonl");
    std::fs::write(&path, &out).expect("the folder can be written");
    assert_eq!(Recording::open(&path).expect("a recording"), recording);
    let text = String::from_utf8(out).expect("JSON is text");
    assert_eq!(text.lines().count(), 51);
    let damages = [
        (String::new(), "line 1: the file is empty"),
        (
            text.replacen("\"version\":1", "\"version\":2", 1),
            "line 1: version 2",
        ),
        (text.replacen("{\"mix\":0", "{\"mix\":-1", 1), "line 2: "),
        (
            text.replacen("\"variables\":[\"a\"]", "\"variables\":[]", 1),
            "line 2: a row has 1",
        ),
        (text[..text.len() - 9].to_owned(), "line 51: "),
    ];
    for (damaged, expected) in damages {
        std::fs::write(&path, damaged).expect("the folder can be written");
        let error = Recording::open(&path).err().map(|error| error.to_string());
        assert!(
            error.as_ref().is_some_and(|e| e.contains(expected)),
            "{error:?}"
        );
    }
    assert!(Recording::open(&folder.path().join("nothing")).is_err());
}

#[test]
fn other_questions_are_not_compared() {
    let (url, _requests) = serve(good);
    let reference = record(UseCase::Bi, &url);
    let other = RunOptions {
        seed: 7,
        ..options(&url)
    };
    let other = record_answers(UseCase::Bi, &pool(), &other, &mut |_| ()).expect("a recording");
    let error = qualify(&reference, &other);
    assert!(matches!(
        error,
        Err(BsbmError::OtherQuestions { what: "seed", .. })
    ));
    let mut other = reference.clone();
    other.answers[3].text.push(' ');
    let error = qualify(&reference, &other);
    assert!(matches!(
        error,
        Err(BsbmError::OtherQuestions {
            what: "a query",
            ..
        })
    ));
    other.answers.pop();
    assert!(qualify(&reference, &other).is_err());
}

#[test]
fn what_is_recorded_is_what_came() {
    let (url, _requests) = serve(|request| {
        let body = r#"{"results":{"bindings":[{"b":{"type":"bnode","value":"x7"},
            "a":{"type":"typed-literal","value":"q\u00e9","datatype":"http://www.w3.org/2001/XMLSchema#string"}},
            {"a":{"type":"literal","value":"hi","xml:lang":"EN-gb"}}]},"head":{"vars":["b","a"]}}"#;
        answer(&request.accept, body)
    });
    let recording = record(UseCase::Bi, &url);
    let Content::Rows { variables, rows } = &recording.answers[0].content else {
        unreachable!("a SELECT query has rows: {:?}", recording.answers[0]);
    };
    assert_eq!(variables, &["a", "b"]);
    let json = serde_json::to_string(rows).expect("rows are JSON");
    let expected = r#"[[{"type":"literal","value":"qé"},{"type":"bnode","value":""}],[{"type":"literal","value":"hi","language":"en-gb"},null]]"#;
    assert_eq!(json, expected);
}
