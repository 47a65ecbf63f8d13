//! Rows with irregular quads are found by a constant object without a search of the whole column, where they are few: the same answers as
//! with such a search.

mod support;

use basalt_engine::{Database, GraphFormat, QueryOptions};
use std::fmt::Write;
use support::{ask, read_rows};

const NS: &str = "http://example.org/";

/// Products with a text and a size; every n-th has a note as well, which makes no column.
fn shop(products: usize, nth: usize) -> Database {
    let mut text = String::new();
    for p in 0..products {
        let mut line = |predicate: &str, object: String| {
            writeln!(text, "<{NS}p{p}> <{NS}{predicate}> {object} .").expect("memory has room");
        };
        line("text", format!("\"the text of {}\"", p / 2));
        line("size", format!("\"{p}\""));
        if p % nth == 0 {
            line("note", format!("\"noted {p}\""));
        }
    }
    let database = Database::in_memory();
    let report = database.load_text(&text, GraphFormat::NTriples);
    report.expect("the products load");
    database
}

#[test]
fn few_touched_rows_are_looked_at_alone() {
    let options = QueryOptions::default();
    // Few and many are touched: the latter are found by a search.
    for (products, nth, is_searched) in [(2_000, 1_000, false), (2_000, 500, false), (30, 15, true)]
    {
        let database = shop(products, nth);
        for product in [0, nth - 1, nth, nth + 1] {
            let query = format!(
                "PREFIX : <{NS}> SELECT ?s ?n {{ ?s :note ?n ; :text \"the text of {}\" }}",
                product / 2
            );
            let prepared = database.prepare(&query, &options).expect("it plans");
            let report = prepared.profile(&options).expect("it runs");
            let plan = report.to_text();
            assert!(plan.starts_with("StarScan by object"), "{plan}");
            let read = read_rows(&report.root) as usize;
            assert_eq!(read >= products, is_searched, "{read}: {plan}");
            let noted = (0..products).step_by(nth);
            let expected = noted.filter(|p| p / 2 == product / 2).count();
            assert_eq!(report.run.map(|run| run.rows), Some(expected as u64));
            // The same by reading all notes.
            let by_rows = query.replace(
                &format!("\"the text of {}\"", product / 2),
                &format!("?t FILTER(STR(?t) = \"the text of {}\")", product / 2),
            );
            let other = ask(&database, &by_rows, &options).expect("it runs");
            assert_eq!(ask(&database, &query, &options).expect("it runs"), other);
        }
    }
}
