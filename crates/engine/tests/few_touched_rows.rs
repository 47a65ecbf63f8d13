//! Few rows are looked at where that is enough: rows with irregular quads are found by a constant object without a search of the whole
//! column, scans begin with the rows that a column tells, and joins read no candidates without a value of a rare predicate. The answers are
//! those of queries that read all.

mod support;

use basalt_engine::{Database, ForceJoin, GraphFormat, QueryOptions};
use basalt_testkit::Answer;
use std::fmt::Write;
use support::{ask, compared_rows, read_rows};

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
            let looked_at = (read_rows(&report.root) + compared_rows(&report.root)) as usize;
            assert_eq!(looked_at >= products, is_searched, "{looked_at}: {plan}");
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

/// Machines with a label in two halls, of which every tenth has a remark, every hundredth has two parts, and one in four is old.
fn machines(count: usize) -> Database {
    let mut text = String::new();
    for m in 0..count {
        writeln!(text, "<{NS}m{m}> a <{NS}Machine> .").expect("memory has room");
        let mut line = |predicate: &str, object: String| {
            writeln!(text, "<{NS}m{m}> <{NS}{predicate}> {object} .").expect("memory has room");
        };
        line("label", format!("\"machine {}\"", m % 1_000));
        line("hall", format!("<{NS}hall{}>", m % 2));
        line("size", format!("\"{m}\""));
        line(
            "state",
            format!("\"{}\"", if m % 4 == 0 { "old" } else { "new" }),
        );
        if m % 10 == 0 {
            line("remark", format!("\"remarkable {}\"", m % 70));
        }
        for part in 0..if m % 100 == 50 { 2 } else { 0 } {
            line("part", format!("\"part {part} of {m}\""));
        }
    }
    for hall in 0..40 {
        writeln!(
            text,
            "<{NS}hall{hall}> a <{NS}Hall> ; <{NS}name> \"hall {hall}\" ."
        )
        .expect("memory has room");
    }
    let database = Database::in_memory();
    let report = database.load_text(&text, GraphFormat::Turtle);
    report.expect("the machines load");
    database
}

/// The rows of an answer, as text and in order.
fn sorted(database: &Database, text: &str) -> Vec<String> {
    let answer = ask(database, text, &QueryOptions::default()).expect("it runs");
    let rows = match answer {
        Answer::Solutions { rows, .. } => rows,
        _ => Vec::new(),
    };
    let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    assert!(!rows.is_empty(), "{text}");
    rows
}

/// What a scan reads and compares of a star, and that its answer is that of a query that reads all and compares texts.
fn scanned(database: &Database, star: &str, conditions: &[(&str, &str)]) -> (u64, u64) {
    let options = QueryOptions::default();
    let constants = conditions.iter();
    let constants: String = constants.map(|(p, o)| format!(" ; :{p} {o}")).collect();
    let query = format!("PREFIX : <{NS}> SELECT * {{ ?m {star}{constants} }}");
    let prepared = database.prepare(&query, &options).expect("it plans");
    let report = prepared.profile(&options).expect("it runs");
    let plan = report.to_text();
    assert!(plan.contains("StarScan by rows"), "{plan}");
    // As all that is optional, without the constants: nothing to begin with.
    let required = star.split(" ; ");
    let optional: String = required
        .clone()
        .map(|pattern| format!("OPTIONAL {{ ?m {pattern} }} "))
        .collect();
    let slots: Vec<&str> = required
        .filter_map(|pattern| pattern.split(' ').nth(1))
        .collect();
    let bound: String = slots
        .iter()
        .map(|slot| format!("FILTER(BOUND({slot})) "))
        .collect();
    let tested = conditions.iter().enumerate();
    let tested: String = tested
        .map(|(i, (p, o))| format!("?m :{p} ?test{i} FILTER(STR(?test{i}) = {o}) "))
        .collect();
    let slots = slots.join(" ");
    let slow =
        format!("PREFIX : <{NS}> SELECT ?m {slots} {{ ?m :size ?any {optional}{bound}{tested}}}");
    let select = query.replace('*', &format!("?m {slots}"));
    assert_eq!(
        sorted(database, &select),
        sorted(database, &slow),
        "{query}"
    );
    (read_rows(&report.root), compared_rows(&report.root))
}

#[test]
fn scans_begin_with_the_rows_that_a_column_tells() {
    // More than two segments.
    let count = 40_000;
    let database = machines(count);
    let all = count as u64;
    let check = |star: &str, conditions: &[(&str, &str)]| scanned(&database, star, conditions);
    assert_eq!(check(":label ?l", &[]), (all, 0), "all have one");
    assert_eq!(check(":label ?l ; :remark ?r", &[]), (all / 10, 0));
    assert_eq!(check(":remark ?r ; :part ?p", &[]), (all / 100, 0));
    let label = ("label", "\"machine 50\"");
    assert_eq!(check(":size ?s", &[label]), (all / 1_000, all));
    assert_eq!(check(":size ?s ; :remark ?r", &[label]), (all / 1_000, all));
    // So many have the constant that looking at those with a part costs less.
    let state = ("state", "\"new\"");
    assert_eq!(check(":part ?p", &[state]), (all / 100, 0));
    // Values of few rows are compared.
    let remark = ("remark", "\"remarkable 30\"");
    let (read, compared) = check(":size ?s", &[remark]);
    assert_eq!((read, compared), (all / 70, all / 10));
    // Every row has it: nothing is taken out of the run.
    assert_eq!(check(":size ?s", &[label, state]).1, all);
}

#[test]
fn of_rows_with_a_popular_object_those_with_a_rare_predicate_are_read() {
    let options = QueryOptions {
        force_join: Some(ForceJoin::Index),
        ..QueryOptions::default()
    };
    let count = 40_000;
    let database = machines(count);
    let hall = "?hall :name \"hall 0\" .";
    let query = format!(
        "PREFIX : <{NS}> SELECT ?m ?p {{ {{ SELECT ?hall {{ {hall} }} LIMIT 1 }} ?m :hall ?hall ; :part ?p }}"
    );
    let prepared = database.prepare(&query, &options).expect("it plans");
    let report = prepared.profile(&options).expect("it runs");
    let plan = report.to_text();
    assert!(plan.contains("StarJoin by object"), "{plan}");
    let (of_hall, with_part) = (count as u64 / 2, count as u64 / 100);
    assert!(read_rows(&report.root) <= with_part + 2, "{plan}");
    assert!(compared_rows(&report.root) >= of_hall - with_part, "{plan}");
    let slow = format!(
        "PREFIX : <{NS}> SELECT ?m ?p {{ {hall} ?m :hall ?hall OPTIONAL {{ ?m :part ?p }} FILTER(BOUND(?p)) }}"
    );
    let answer = sorted(&database, &query);
    assert_eq!(answer.len(), count / 100 * 2);
    assert_eq!(answer, sorted(&database, &slow));
}

/// Rows that a query reads, and its rows as text, in order.
fn read_and_found(database: &Database, query: &str, options: &QueryOptions) -> (u64, Vec<String>) {
    let query = format!("PREFIX : <{NS}> {query}");
    let prepared = database.prepare(&query, options).expect("it plans");
    let report = prepared.profile(options).expect("it runs");
    let rows = match ask(database, &query, options).expect("it runs") {
        Answer::Solutions { rows, .. } => rows,
        _ => Vec::new(),
    };
    let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    (read_rows(&report.root), rows)
}

#[test]
fn optional_groups_with_optional_parts_are_read_for_the_rows_before_them() {
    let count = 40_000;
    let database = machines(count);
    let whole = QueryOptions {
        disabled_rules: vec!["seed_join".into()],
        ..QueryOptions::default()
    };
    for (inside, per_machine) in [
        ("?m :hall ?h OPTIONAL { ?h :name ?n }", 1),
        (
            "?m :hall ?h OPTIONAL { ?h :name ?n } OPTIONAL { ?h :unknown ?u }",
            1,
        ),
        (
            "?m :hall ?h OPTIONAL { ?h a ?c OPTIONAL { ?h :name ?n FILTER(?h != :hall1) } }",
            1,
        ),
        ("?m :part ?p OPTIONAL { ?x :hall ?m }", 2),
    ] {
        let query = format!("SELECT * {{ ?m :label \"machine 50\" OPTIONAL {{ {inside} }} }}");
        let (read, found) = read_and_found(&database, &query, &QueryOptions::default());
        let (_, expected) = read_and_found(&database, &query, &whole);
        assert_eq!(found, expected, "{query}");
        assert_eq!(found.len(), count / 1_000 * per_machine, "{query}");
        assert!(read < count as u64 / 50, "{read}: {query}");
    }
}

#[test]
fn of_exists_by_a_condition_alone_some_first_rows_are_read() {
    let count = 40_000;
    let database = machines(count);
    let options = QueryOptions::default();
    for (condition, hold, is_read) in [
        ("?l != ?n", 40, false),
        // No machine has the name of a hall.
        ("?l = ?n", 0, true),
        ("?l = CONCAT(\"machine \", SUBSTR(?n, 6))", 40, false),
        ("?l = CONCAT(\"machine 9\", SUBSTR(?n, 6))", 40, true),
    ] {
        for (exists, found) in [("EXISTS", hold), ("NOT EXISTS", 40 - hold)] {
            let inside = format!("FILTER {exists} {{ ?m :label ?l FILTER({condition}) }}");
            let query = format!("SELECT ?hall {{ ?hall :name ?n {inside} }}");
            let (read, rows) = read_and_found(&database, &query, &options);
            assert_eq!(rows.len(), found, "{query}");
            assert_eq!(read > count as u64, is_read, "{read}: {query}");
        }
    }
}
