//! The schema adapts: a store that came to be by small changes has the shapes of one that was loaded at once, and one
//! whose vocabulary changes gets the columns and tables of the new one and loses those of the old.
//!
//! What is measured at a size that tells times is `cargo xtask bench adapt`.

mod blocks;
#[path = "../estimate_errors/mod.rs"]
mod estimate_errors;
#[path = "../support/mod.rs"]
mod support;

use basalt_bsbm::{GenerateOptions, generate_to};
use basalt_engine::schema::TableReport;
use basalt_engine::{
    CheckDepth, Database, GraphFormat, HistoryReport, MergePolicy, SchemaReport, Snapshot,
    UpdateOptions, WriteOptions,
};
use basalt_testkit::Answer;
use basalt_testkit::bag::{self, Numbers};
use basalt_testkit::split_mix::SplitMix;
use blocks::{Block, Renamed, blocks, by_product, renamed, requests, text_of};
use estimate_errors::bsbm_queries;
use oxrdf::{Literal, Term};
use serde_json::Value;
use std::path::Path;
use std::time::{Duration, Instant};
use support::{Configuration, ask, query_options};
use tempfile::TempDir;

/// Products of the data: some 25,000 triples.
const PRODUCTS: u64 = 40;
/// Triples of a request.
const TRIPLES: usize = 100;
/// Changed quads after which a store merges by itself.
const MERGED_QUADS: u64 = 3000;

fn generated() -> Vec<Block> {
    let mut bytes = Vec::new();
    generate_to(&mut bytes, &GenerateOptions::new(PRODUCTS)).expect("the data is generated");
    blocks(&String::from_utf8(bytes).expect("N-Triples is UTF-8"))
}

fn loaded(text: &str) -> Database {
    let database = Database::in_memory();
    let loaded = database.load_text(text, GraphFormat::NTriples);
    loaded.expect("the text loads");
    database
}

fn options(merge: MergePolicy) -> WriteOptions {
    WriteOptions {
        merge,
        ..WriteOptions::default()
    }
}

/// Merges by itself, often.
fn merging() -> MergePolicy {
    MergePolicy {
        quads_min: MERGED_QUADS,
        ..MergePolicy::default()
    }
}

fn update_all(database: &Database, requests: &[String]) {
    for request in requests {
        let updated = database.update(request, &UpdateOptions::default());
        updated.expect("the request is well formed");
    }
}

/// Waits until no merge runs.
fn wait_for_merges(database: &Database) {
    let end = Instant::now() + Duration::from_secs(60);
    while database.write_status().is_merging {
        assert!(Instant::now() < end, "a merge takes a minute");
        std::thread::yield_now();
    }
    assert_eq!(database.write_status().merge_failure, None);
}

fn schema(database: &Database) -> SchemaReport {
    SchemaReport::new(&database.snapshot()).expect("the store is whole")
}

/// The schema in an order that does not depend on numbers of terms.
fn in_order(mut report: SchemaReport) -> SchemaReport {
    for table in &mut report.tables {
        for column in &mut table.columns {
            column.links.sort();
        }
        table.columns.sort_by(|a, b| a.predicate.cmp(&b.predicate));
    }
    report.tables.sort_by(|a, b| a.name.cmp(&b.name));
    report
}

/// The answer with floating-point numbers of four digits: the last ones of a mean depend on the order of the sum.
fn without_last_digits(answer: Answer) -> Answer {
    let Answer::Solutions { variables, rows } = answer else {
        return answer;
    };
    let shorter = |term: Term| match &term {
        Term::Literal(literal) => match literal.value().parse::<f64>() {
            Ok(number) if literal.datatype().as_str().ends_with("#float") => {
                Literal::new_simple_literal(format!("{number:.3e}")).into()
            }
            _ => term,
        },
        _ => term,
    };
    let row = |row: Vec<Option<Term>>| row.into_iter().map(|cell| cell.map(shorter)).collect();
    Answer::Solutions {
        variables,
        rows: rows.into_iter().map(row).collect(),
    }
}

/// Asks queries of both use cases, without what cuts their rows, and compares the answers.
fn same_answers(one: &Database, other: &Database) {
    let options = query_options(&Configuration::default());
    for text in bsbm_queries(PRODUCTS, 1) {
        let is_cut = |line: &&str| line.starts_with("OFFSET ") || line.starts_with("LIMIT ");
        let uncut: Vec<&str> = text.lines().filter(|line| !is_cut(line)).collect();
        let text = uncut.join("\n");
        let answers = [one, other].map(|database| {
            let answer = ask(database, &text, &options);
            answer
                .map_err(|error| format!("{error}: {text}"))
                .expect("it is answered")
        });
        let [expected, found] = answers.map(without_last_digits);
        let same = bag::compare(&expected, &found, Numbers::ByValue);
        same.map_err(|difference| format!("{difference}\n{text}"))
            .expect("both have the same");
    }
}

fn bulk_loaded_and_updated(order: impl FnOnce(Vec<Block>) -> Vec<Block>) {
    let bulk = loaded(&text_of(&generated()));
    let expected = in_order(schema(&bulk));
    assert_eq!(expected.tables.len(), 8, "{expected:?}");
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let updated = Database::open_or_empty_with(&path, options(merging())).expect("it opens");
    update_all(&updated, &requests("INSERT", &order(generated()), TRIPLES));
    wait_for_merges(&updated);
    let status = updated.write_status();
    assert!(status.merges > 0, "{status:?}");
    // What the policy leaves, and no more: all else is where a load puts it.
    let left = status.delta.added + status.delta.removed;
    let share = (expected.quads as f64 * merging().share_min) as u64;
    assert!(left <= MERGED_QUADS.max(share), "{status:?}");
    let merged = schema(&updated);
    assert_eq!(merged.quads, expected.quads);
    assert!(
        merged.irregular_quads <= expected.irregular_quads + left,
        "{} and {} of {left} changed",
        merged.irregular_quads,
        expected.irregular_quads
    );
    let record = newest_record(&path);
    assert_eq!(record["reason"]["kind"], "merge", "{record}");
    same_answers(&bulk, &updated);
    updated.merge_now().expect("there is room");
    assert_eq!(in_order(schema(&updated)), expected);
    same_answers(&bulk, &updated);
    updated.check(CheckDepth::Deep).expect("it is whole");
}

#[test]
fn a_store_made_by_updates_product_by_product_has_the_shapes_of_a_loaded_one() {
    bulk_loaded_and_updated(by_product);
}

#[test]
fn a_store_made_by_updates_in_any_order_has_the_shapes_of_a_loaded_one() {
    bulk_loaded_and_updated(|mut blocks| {
        let mut random = SplitMix::new(28);
        for i in (1..blocks.len()).rev() {
            blocks.swap(i, random.below(i + 1));
        }
        blocks
    });
}

/// Columns of a table by predicate.
fn columns(table: &TableReport) -> Vec<&str> {
    let columns = table.columns.iter();
    columns.map(|column| column.predicate.as_str()).collect()
}

/// The newest record of the history.
fn newest_record(path: &Path) -> Value {
    let snapshot = Snapshot::open(path).expect("it opens");
    let history = HistoryReport::new(&snapshot).expect("it can be read");
    let all = history.to_json();
    all.as_array()
        .and_then(|all| all.last())
        .expect("it was written")
        .clone()
}

/// Half of the subjects is loaded, the other half comes by updates with other names; then the first half goes.
fn vocabulary_changes(what: Renamed, check: impl Fn(&SchemaReport, &Value)) {
    let (old, new): (Vec<_>, Vec<_>) = generated()
        .into_iter()
        .enumerate()
        .partition(|(i, _)| i % 2 == 0);
    let old: Vec<Block> = old.into_iter().map(|(_, block)| block).collect();
    let new: Vec<Block> = new.iter().map(|(_, block)| renamed(block, what)).collect();
    let folder = TempDir::new().expect("a temporary folder");
    let path = folder.path().join("store");
    let database = Database::open_or_empty_with(&path, options(MergePolicy::NEVER));
    let database = database.expect("it opens");
    let text = database.load_text(&text_of(&old), GraphFormat::NTriples);
    text.expect("the text loads");
    let before = schema(&database);
    assert!(before.coverage > 0.99, "{}", before.coverage);

    update_all(&database, &requests("INSERT", &new, TRIPLES));
    let changed = schema(&database);
    assert!(changed.coverage < 0.6, "{}", changed.coverage);
    database.merge_now().expect("there is room");
    let both = schema(&database);
    assert_eq!(both.quads, changed.quads);
    assert!(both.coverage > 0.97, "{}", both.coverage);
    // It is what a load of both halves makes.
    let at_once = loaded(&(text_of(&old) + &text_of(&new)));
    assert_eq!(in_order(both.clone()), in_order(schema(&at_once)));
    check(&both, &newest_record(&path));

    update_all(&database, &requests("DELETE", &old, TRIPLES));
    database.merge_now().expect("there is room");
    let after = schema(&database);
    assert!(after.coverage > 0.97, "{}", after.coverage);
    let mut predicates = after.tables.iter().flat_map(columns);
    let is_new = |predicate: &str| predicate.ends_with("_2") || predicate.ends_with("#type");
    assert!(predicates.all(is_new), "{after:?}");
    let record = newest_record(&path);
    let changes = record["changes"].as_array().expect("an array");
    assert!(!changes.is_empty());
    for change in changes {
        assert_eq!(change["columns_added"], serde_json::json!([]), "{record}");
        let gone = change["columns_gone"].as_array().expect("an array");
        assert!(!gone.is_empty(), "{record}");
    }
    database.check(CheckDepth::Deep).expect("it is whole");
}

#[test]
fn columns_of_a_new_vocabulary_come_and_those_of_the_old_one_go() {
    vocabulary_changes(Renamed::Predicates, |both, record| {
        let offers = both.tables.iter().find(|table| table.name == "Offer");
        let columns = columns(offers.expect("the class has its table"));
        let has = |name: &str| columns.iter().any(|column| column.ends_with(name));
        assert!(has("/price") && has("/price_2"), "{columns:?}");
        let changes = record["changes"].as_array().expect("an array");
        let offers = changes.iter().find(|change| change["table"] == "Offer");
        let offers = offers.expect("the history tells of it");
        assert_eq!(offers["what"], "columns");
        assert!(offers["columns_added"].to_string().contains("/price_2"));
    });
}

#[test]
fn tables_of_a_new_vocabulary_come_and_those_of_the_old_one_go() {
    vocabulary_changes(Renamed::PredicatesAndClasses, |both, record| {
        for name in ["Offer", "Offer_2", "Review", "Review_2"] {
            let is_there = both.tables.iter().any(|table| table.name == name);
            assert!(is_there, "{name}: {both:?}");
        }
        let changes = record["changes"].as_array().expect("an array");
        let offers = changes.iter().find(|change| change["table"] == "Offer_2");
        let offers = offers.expect("the history tells of it");
        assert_eq!(offers["what"], "new");
        assert_eq!(offers["rows_before"], 0);
    });
}

#[test]
fn an_equality_of_links_stays_a_join_beside_changes_until_literals_come() {
    let folder = TempDir::new().expect("a temporary folder");
    let database =
        Database::open_or_empty_with(&folder.path().join("store"), options(MergePolicy::NEVER));
    let database = database.expect("it opens");
    let line = |i: usize| format!("<http://e/s{i}> <http://e/p> <http://e/o{}> .\n", i % 7);
    let text: String = (0..400).map(line).collect();
    let text = database.load_text(&text, GraphFormat::NTriples);
    text.expect("the text loads");
    let asked = |subject: &str| {
        format!(
            "SELECT ?other {{ <http://e/{subject}> <http://e/p> ?a . ?other <http://e/p> ?b \
             FILTER(?a = ?b) }}"
        )
    };
    let options = query_options(&Configuration::default());
    let is_filtered = || {
        let prepared = database.prepare(&asked("s1"), &options);
        let plan = prepared.expect("it is a query").explain().to_text();
        plan.contains("?a = ?b")
    };
    let rows = |subject: &str| match ask(&database, &asked(subject), &options) {
        Ok(Answer::Solutions { rows, .. }) => rows.len(),
        // No number that is expected.
        _ => usize::MAX,
    };
    let insert = |quads: &str| update_all(&database, &[format!("INSERT DATA {{ {quads} }}")]);
    assert!(!is_filtered());
    assert_eq!(rows("s1"), 57);
    // Links of new and of known subjects, and one that goes.
    insert("<http://e/new> <http://e/p> <http://e/o1> . <http://e/s2> <http://e/p> <http://e/o1>");
    update_all(&database, &requests("DELETE", &blocks(&line(8)), TRIPLES));
    assert!(!is_filtered());
    assert_eq!((rows("s1"), rows("new"), rows("s8")), (58, 58, 0));
    database.merge_now().expect("there is room");
    assert!(!is_filtered());
    assert_eq!((rows("s1"), rows("new"), rows("s8")), (58, 58, 0));
    // Two numbers that are equal and not the same; irregular before the merge and after it.
    insert("<http://e/x> <http://e/p> 1 . <http://e/y> <http://e/p> 01");
    for _ in 0..2 {
        assert!(is_filtered());
        assert_eq!((rows("s1"), rows("x"), rows("y")), (58, 2, 2));
        database.merge_now().expect("there is room");
    }
    let gone = blocks("<http://e/x> <http://e/p> 1 .\n<http://e/y> <http://e/p> 01 .\n");
    update_all(&database, &requests("DELETE", &gone, TRIPLES));
    database.merge_now().expect("there is room");
    assert!(!is_filtered());
    assert_eq!(rows("s1"), 58);
}
