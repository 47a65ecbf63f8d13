//! The driver against a server that answers as told.

use super::endpoint::*;
use crate::http::{Client, Endpoint, Failure};
use crate::{
    BsbmError, Draw, MixOrder, ParameterPool, Patience, Phase, Question, RampUp, ResultsFormat,
    RunOptions, UseCase, Wording, query_text, run,
};
use std::time::Duration;

#[test]
fn a_run_asks_every_query_of_every_mix_and_counts_rows() {
    let (url, requests) = serve(good);
    let options = RunOptions {
        default_graph: Some("http://g/".to_owned()),
        ..options(&url)
    };
    let report = run(UseCase::Explore, &pool(), &options, &mut |_| ()).expect("a good endpoint");
    assert_eq!((report.errors, report.timeouts), (0, 0));
    assert!(report.qmph > 0.0 && report.cqet_s > 0.0);
    let counts: Vec<_> = report
        .queries
        .iter()
        .map(|q| (q.number, q.count, q.rows))
        .collect();
    assert_eq!(counts[0], (1, 2, 4));
    assert_eq!(counts[1], (2, 12, 24));
    assert_eq!(counts.iter().find(|c| c.0 == 9), Some(&(9, 8, 8)));
    assert_eq!(counts.iter().find(|c| c.0 == 6), None);
    let bodies: Vec<String> = asked(&requests).into_iter().map(|r| r.body).collect();
    assert_eq!(bodies.len(), 75);
    assert!(
        bodies
            .iter()
            .all(|b| b.ends_with("&default-graph-uri=http%3A%2F%2Fg%2F"))
    );
    assert!(bodies.iter().all(|b| b.starts_with("query=%23%20")));
    let json: crate::Report = serde_json::from_str(&report.to_json()).expect("valid json");
    assert_eq!(json.queries.len(), 11);
    assert!(report.to_markdown().contains("\n| 12 | 2 | 2 |"));
}

#[test]
fn hashes_do_not_depend_on_order_spelling_or_clients() {
    let (url, _requests) = serve(good);
    let (url_turned, _requests_turned) = serve(good_turned);
    let hashes = |endpoint: &str, clients| {
        let options = RunOptions {
            clients,
            ..options(endpoint)
        };
        let report = run(UseCase::Explore, &pool(), &options, &mut |_| ());
        let report = report.expect("a good endpoint");
        assert_eq!(report.errors, 0, "{:?}", report.queries);
        let hashes = report.queries.into_iter().map(|query| query.result_hash);
        hashes.collect::<Vec<_>>()
    };
    let expected = hashes(&url, 1);
    assert_eq!(expected, hashes(&url_turned, 1));
    assert_eq!(expected, hashes(&url, 3));
}

#[test]
fn rows_in_xml_count_as_the_same_rows_in_json() {
    let hashes = |url: &str, results_format| {
        let options = RunOptions {
            results_format,
            ..options(url)
        };
        let report = run(UseCase::Bi, &pool(), &options, &mut |_| ()).expect("a run");
        assert_eq!(report.errors, 0, "{:?}", report.queries);
        assert_eq!(report.results_format, results_format);
        let queries = report.queries.into_iter();
        let found: Vec<_> = queries.map(|q| (q.rows, q.result_hash)).collect();
        (report.floor_s.is_some(), found)
    };
    let (url, _requests) = serve(|request| match request.text().as_str() {
        "ASK {}" => good(request),
        _ => answer(&request.accept, MANY_KINDS),
    });
    let (xml_url, requests) = serve(|request| match request.text().as_str() {
        "ASK {}" => answer(&request.accept, ASKED_XML),
        _ => answer(&request.accept, MANY_KINDS_XML),
    });
    let (is_floor_known, json) = hashes(&url, ResultsFormat::Json);
    assert_eq!((is_floor_known, json[0].0), (true, 2 * 3));
    assert_eq!(hashes(&xml_url, ResultsFormat::Xml), (true, json));
    for request in requests.try_iter() {
        assert_eq!(request.accept, "application/sparql-results+xml");
    }
    // Cut inside of a tag, and behind the first row.
    let row_end = MANY_KINDS_XML.find("</result>").expect("it has rows") + "</result>".len();
    for length in [MANY_KINDS_XML.len() - 40, row_end] {
        let (cut_url, _requests) =
            serve(move |request| answer(&request.accept, &MANY_KINDS_XML[..length]));
        let options = RunOptions {
            results_format: ResultsFormat::Xml,
            ..options(&cut_url)
        };
        let report = run(UseCase::Bi, &pool(), &options, &mut |_| ()).expect("a run");
        assert_eq!(report.errors, 30, "{length}");
        let error = report.queries[0].first_error.clone().unwrap_or_default();
        assert!(error.contains("unreadable results"), "{error}");
    }
}

#[test]
fn what_runs_out_of_time_is_given_up_and_timed_with_the_limit() {
    let (url, requests) = serve(|request| match request.text().contains("?growth") {
        // The answer promises more than it sends, and the connection stays open.
        true => b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx".to_vec(),
        false => good(request),
    });
    let options = RunOptions {
        warmup: 0,
        runs: 5,
        timeout: Duration::from_millis(500),
        patience: Some(Patience {
            timeouts_max: 2,
            given_up: Vec::new(),
        }),
        ..options(&url)
    };
    let report = run(UseCase::Bi, &pool(), &options, &mut |_| ()).expect("a run");
    let third = &report.queries[2];
    assert_eq!((third.timeouts, third.not_tried, third.errors), (2, 3, 0));
    assert_eq!((report.timeouts, report.not_tried), (2, 3));
    assert_eq!((third.count, third.min_s, third.max_s), (5, 0.5, 0.5));
    assert!(report.query_time_s >= 2.5);
    let growth = asked(&requests).into_iter().map(|request| request.text());
    assert_eq!(growth.filter(|text| text.contains("?growth")).count(), 2);
    let page = report.to_markdown();
    assert!(page.contains("2 timeouts, 3 not tried, 0 errors"), "{page}");
    assert!(page.contains("3 executions were not tried"), "{page}");
    // A question that counts as given up from the start is not asked once.
    let given_up = vec![Question {
        number: 3,
        level: None,
    }];
    let patience = Some(Patience {
        timeouts_max: 1,
        given_up,
    });
    let options = RunOptions {
        patience,
        ..options
    };
    let report = run(UseCase::Bi, &pool(), &options, &mut |_| ()).expect("a run");
    assert_eq!((report.timeouts, report.not_tried), (0, 5));
    let none = RunOptions {
        patience: Some(Patience {
            timeouts_max: 0,
            given_up: Vec::new(),
        }),
        ..options
    };
    let refused = run(UseCase::Bi, &pool(), &none, &mut |_| ());
    assert!(matches!(refused, Err(BsbmError::NoPatience)));
}

#[test]
fn the_portable_wording_changes_bi_5_alone() {
    let texts = |wording| {
        let (url, requests) = serve(good);
        let options = RunOptions {
            warmup: 0,
            runs: 1,
            wording,
            ..options(&url)
        };
        run(UseCase::Bi, &pool(), &options, &mut |_| ()).expect("a run");
        let texts = asked(&requests).iter().map(Request::text).collect();
        let texts: Vec<String> = texts;
        texts
    };
    let (published, portable) = (texts(Wording::Published), texts(Wording::Portable));
    assert_eq!(published.len(), portable.len());
    let differing = published.iter().zip(&portable).filter(|(a, b)| a != b);
    let differing: Vec<_> = differing.collect();
    assert_eq!(differing.len(), 3);
    for (published, portable) in differing {
        let comment = |line: &&str| !line.trim_start().starts_with('#');
        let published: Vec<&str> = published.lines().filter(comment).collect();
        let portable: Vec<&str> = portable.lines().filter(comment).collect();
        let changed = published.iter().zip(&portable).filter(|(a, b)| a != b);
        let changed: Vec<_> = changed
            .map(|(a, b)| (a.replace("?country ", ""), *b))
            .collect();
        assert_eq!(changed.len(), 2);
        assert!(changed.iter().all(|(a, b)| a == b), "{changed:?}");
        assert_eq!(published.len(), portable.len());
    }
}

#[test]
fn bad_answers_are_errors_and_do_not_end_the_run() {
    let bad: [(Respond, &str); 5] = [
        (|r| answer(&r.accept, "{\"results\":"), "unreadable results"),
        (|_| answer("text/html", "<p>"), "\"text/html\""),
        (
            |_| b"HTTP/1.1 500 X\r\nContent-Length: 4\r\n\r\noops".to_vec(),
            "status 500: oops",
        ),
        (|_| b"hello\r\n\r\n".to_vec(), "no status"),
        (|_| Vec::new(), "closed early"),
    ];
    for (respond, expected) in bad {
        let (url, _requests) = serve(respond);
        let options = RunOptions {
            warmup: 0,
            runs: 1,
            ignored: vec![2, 3, 4, 5, 7, 8, 9, 10, 12],
            ..options(&url)
        };
        let report = run(UseCase::Explore, &pool(), &options, &mut |_| ()).expect("a run");
        assert_eq!((report.errors, report.queries.len()), (2, 2), "{expected}");
        let error = report.queries[0].first_error.clone().unwrap_or_default();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn the_deadline_covers_the_whole_request() {
    // The answer promises more than it sends, and the connection stays open.
    let (url, _requests) = serve(|_| b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx".to_vec());
    let endpoint = Endpoint::parse(&url).expect("a valid address");
    let mut client = Client::new(endpoint, Duration::from_millis(50));
    let outcome = client.post(&[("query", "ASK {}")], "*/*").map(|a| a.status);
    assert_eq!(outcome, Err(Failure::Timeout));
    let options = RunOptions {
        warmup: 0,
        runs: 1,
        timeout: Duration::from_millis(50),
        ignored: vec![2, 3, 4, 5, 7, 8, 9, 10, 12],
        ..options(&url)
    };
    let report = run(UseCase::Explore, &pool(), &options, &mut |_| ()).expect("a run");
    assert_eq!((report.timeouts, report.errors), (2, 0));
    assert_eq!(report.queries[0].max_s, 0.05);
}

#[test]
fn impossible_runs_are_refused() {
    for url in [
        "https://x/",
        "x",
        "http://",
        "http:///q",
        "http://x:y/",
        "http://x/a b",
    ] {
        let error = run(UseCase::Bi, &pool(), &options(url), &mut |_| ());
        assert!(matches!(error, Err(BsbmError::BadEndpoint { .. })), "{url}");
    }
    let error = run(
        UseCase::ExploreAndUpdate,
        &pool(),
        &options("http://x/"),
        &mut |_| (),
    );
    assert!(matches!(error, Err(BsbmError::NoUpdateInput)));
    let refused = |use_case, change: &dyn Fn(&mut RunOptions)| {
        let mut options = options("http://x/");
        change(&mut options);
        let error = run(use_case, &pool(), &options, &mut |_| ()).err();
        error.map(|error| error.to_string()).unwrap_or_default()
    };
    let error = refused(UseCase::Bi, &|options| options.ignored = vec![4, 9]);
    assert_eq!(error, "there is no query 9 in bi, the last one is 8");
    let error = refused(UseCase::Explore, &|options| options.drill_down = Some(0));
    assert_eq!(error, "no query of explore can be drilled down");
    let error = refused(UseCase::Bi, &|options| options.drill_down = Some(3));
    assert_eq!(
        error,
        "there is no level 3 of product types, the leaves are level 2"
    );
}

#[test]
fn queries_arrive_as_they_were_written() {
    let (url, requests) = serve(good);
    let options = RunOptions {
        warmup: 0,
        runs: 1,
        ..options(&url)
    };
    run(UseCase::Bi, &pool(), &options, &mut |_| ()).expect("a good endpoint");
    let draw = Draw {
        seed: options.seed,
        mix: 0,
        position: 0,
    };
    let parameters = pool().draw(UseCase::Bi, 1, draw).expect("a valid number");
    let text = query_text(UseCase::Bi, 1, &parameters).expect("complete");
    let first = asked(&requests).into_iter().next().expect("a request came");
    assert_eq!(first.text(), text);
}

#[test]
fn a_ramp_up_comes_before_measuring_and_is_bounded() {
    let (url, requests) = serve(good);
    let options = RunOptions {
        clients: 3,
        ramp_up: Some(RampUp {
            period_mixes: 4,
            tolerance: 0.0,
            periods_max: 3,
        }),
        ..options(&url)
    };
    let report = run(UseCase::Explore, &pool(), &options, &mut |_| ()).expect("a good endpoint");
    let ramp_up = report.ramp_up.clone().expect("there was a ramp-up");
    assert_eq!((ramp_up.period_mixes, ramp_up.periods_s.len()), (4, 3));
    assert!(!ramp_up.is_settled && ramp_up.periods_s.iter().all(|seconds| *seconds > 0.0));
    assert!(
        report
            .warnings
            .iter()
            .any(|w| w.contains("ramp-up ended before"))
    );
    assert_eq!(report.queries[0].count, 2);
    assert_eq!(report.warmup, 0);
    // Clients may be in the middle of a mix when the third period ends.
    let mixes = asked(&requests).len() / 25;
    assert!((12 + 2..=12 + 2 + 2).contains(&mixes), "{mixes}");
}

#[test]
fn a_run_by_the_clock_begins_mixes_until_the_time_is_over() {
    let (url, requests) = serve(good);
    let mut seen = Vec::new();
    let options = RunOptions {
        clients: 2,
        duration: Some(Duration::from_millis(150)),
        progress_interval: Duration::from_millis(1),
        ..options(&url)
    };
    let report = run(UseCase::Explore, &pool(), &options, &mut |p| seen.push(*p));
    let report = report.expect("a good endpoint");
    assert_eq!((report.errors, report.duration_s), (0, Some(0.15)));
    assert!(report.elapsed_s >= 0.15 && !report.transactions_used_up);
    assert!(report.runs > 0 && report.qmph_wall > 0.0);
    // Every mix that was begun was ended, and the warm-up is not among them.
    assert_eq!(report.queries[0].count, report.runs);
    assert_eq!(asked(&requests).len() as u64, 25 * (1 + report.runs));
    assert_eq!(report.timeline.mixes.iter().sum::<u64>(), report.runs);
    let timed: u64 = report
        .timeline
        .queries
        .iter()
        .map(|slice| slice.count)
        .sum();
    assert_eq!(timed, 25 * report.runs);
    assert!(report.timeline.updates.is_empty());
    let last = seen.last().expect("progress is told at the end");
    assert_eq!((last.mixes, last.mixes_total), (report.runs, None));
    assert_eq!(last.time_total, options.duration);
    assert_eq!(last.supply, None);
    let page = report.to_markdown();
    assert!(
        page.contains("- ended by: the clock, after 0.15 s\n"),
        "{page}"
    );
    assert!(page.contains("\nOver time; ") && page.contains("- executions a second: "));
    assert!(!page.contains("updates over time"));
    // The same questions again, and as many, are comparable; another number is not.
    let fixed = RunOptions {
        duration: None,
        runs: report.runs,
        ..options.clone()
    };
    let same = run(UseCase::Explore, &pool(), &fixed, &mut |_| ()).expect("a good endpoint");
    let compared = crate::compare_reports(&[("clock", &report), ("number", &same)]);
    assert_eq!(compared.matches("| equal |").count(), 11, "{compared}");
    assert!(compared.contains(" mixes in 0.15 s, "), "{compared}");
    assert!(
        compared.contains("| executions/s, worst period |"),
        "{compared}"
    );
    assert!(!same.to_markdown().contains("Over time"));
    let none = RunOptions {
        duration: Some(Duration::ZERO),
        ..options
    };
    let refused = run(UseCase::Explore, &pool(), &none, &mut |_| ());
    assert!(matches!(refused, Err(BsbmError::NoDuration)));
}

#[test]
fn progress_is_told_while_running() {
    let (url, _requests) = serve(good);
    let options = RunOptions {
        warmup: 2,
        runs: 30,
        progress_interval: Duration::from_millis(1),
        ..options(&url)
    };
    let mut seen = Vec::new();
    let report = run(UseCase::Explore, &pool(), &options, &mut |p| seen.push(*p));
    assert_eq!(report.expect("a good endpoint").errors, 0);
    assert_eq!(seen[0].phase, Phase::WarmUp);
    assert_eq!(seen[0].mixes_total, Some(2));
    let last = seen.last().expect("progress is told at the end");
    assert_eq!(last.phase, Phase::Measuring);
    assert_eq!((last.mixes, last.mixes_total), (30, Some(30)));
    assert_eq!((last.executions, last.errors, last.timeouts), (750, 0, 0));
    assert!(seen.len() > 3, "{}", seen.len());
    let is_ascending = |pair: &[crate::RunProgress]| {
        pair[0].phase != pair[1].phase || pair[0].executions <= pair[1].executions
    };
    assert!(seen.windows(2).all(is_ascending));
}

#[test]
fn drilling_down_asks_every_level_and_reports_it() {
    let pool = ParameterPool::from_options(1_000, 1).expect("valid options");
    let (url, requests) = serve(good);
    let options = RunOptions {
        warmup: 0,
        runs: 3,
        drill_down: Some(1),
        ..options(&url)
    };
    let report = run(UseCase::Bi, &pool, &options, &mut |_| ()).expect("a good endpoint");
    let counts: Vec<u64> = report.queries.iter().map(|query| query.count).collect();
    // Queries 4, 5, 7 and 8 are asked on each of the levels 1 to 3.
    assert_eq!(counts, [3, 6, 3, 9, 27, 12, 18, 9]);
    assert_eq!(asked(&requests).len() as u64, counts.iter().sum::<u64>());
    for query in &report.queries {
        let levels: Vec<_> = query.levels.iter().map(|l| (l.level, l.count)).collect();
        let each = query.count / 3;
        let expected: Vec<_> = match query.number {
            4 | 5 | 7 | 8 => vec![(1, each), (2, each), (3, each)],
            _ => Vec::new(),
        };
        assert_eq!(levels, expected, "{}", query.number);
    }
    assert!(report.to_markdown().contains("\n| 8 | 3 | 3 | "));
}

#[test]
fn shuffled_mixes_ask_the_same_in_another_order() {
    let texts = |mix_order| {
        let (url, requests) = serve(good);
        let options = RunOptions {
            warmup: 0,
            mix_order,
            ..options(&url)
        };
        let report = run(UseCase::Bi, &pool(), &options, &mut |_| ()).expect("a good endpoint");
        let hashes: Vec<_> = report.queries.into_iter().map(|q| q.result_hash).collect();
        let texts: Vec<_> = asked(&requests).iter().map(Request::text).collect();
        (texts, hashes)
    };
    let (mut classic, classic_hashes) = texts(MixOrder::Classic);
    let (mut shuffled, shuffled_hashes) = texts(MixOrder::Shuffled);
    assert_eq!(shuffled, texts(MixOrder::Shuffled).0);
    assert_ne!(classic, shuffled);
    assert_eq!(classic_hashes, shuffled_hashes);
    classic.sort();
    shuffled.sort();
    assert_eq!(classic, shuffled);
}

#[test]
fn a_connection_is_kept_and_opened_again_when_the_server_has_closed_it() {
    let connections = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let (url, _requests) = serve({
        let connections = connections.clone();
        move |request| match request.text().as_str() {
            "ASK {}" => good(request),
            // An empty answer closes the connection.
            _ if connections.fetch_add(1, std::sync::atomic::Ordering::Relaxed) == 3 => Vec::new(),
            _ => good(request),
        }
    });
    let report = run(UseCase::Explore, &pool(), &options(&url), &mut |_| ());
    assert_eq!(report.expect("a good endpoint").errors, 0);
}

#[test]
fn large_answers_arrive_whole_however_they_are_sent() {
    fn body(seed: usize) -> Vec<u8> {
        (0..600_000 + seed)
            .map(|i| b'a' + ((i * i + seed) % 26) as u8)
            .collect()
    }
    let (url, _requests) = serve(|request| {
        let seed: usize = request.text().parse().expect("a number");
        let body = body(seed);
        let mut answer = b"HTTP/1.1 200 OK\r\nContent-Type: a/b\r\n".to_vec();
        if seed.is_multiple_of(2) {
            answer.extend(format!("Content-Length: {}\r\n\r\n", body.len()).bytes());
            answer.extend(body);
        } else {
            answer.extend(b"Transfer-Encoding: chunked\r\n\r\n");
            for chunk in body.chunks(1_000 * seed) {
                answer.extend(format!("{:x}\r\n", chunk.len()).bytes());
                answer.extend(chunk);
                answer.extend(b"\r\n");
            }
            answer.extend(b"0\r\n\r\n");
        }
        answer
    });
    let endpoint = Endpoint::parse(&url).expect("a valid address");
    let mut client = Client::new(endpoint, Duration::from_secs(20));
    for seed in [1, 2, 7, 64, 33, 601, 4] {
        let answer = client.post(&[("query", &seed.to_string())], "a/b");
        let answer = answer.expect("a good endpoint");
        assert_eq!((answer.status, answer.media_type.as_str()), (200, "a/b"));
        assert!(answer.body == body(seed), "{seed}");
    }
}
