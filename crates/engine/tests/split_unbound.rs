//! Rows that lack a slot which others are joined by are joined apart: few quads are read where none lacks it, and the answers are those of
//! one join for all, in every layout.

mod support;

use basalt_engine::Layout;
use std::fmt::Write;
use support::{Configuration, LAYOUTS, ask, load_nquads, query_options, read_rows, same_answers};

const NS: &str = "http://example.org/";
const PEOPLE: usize = 1_500;

/// People who know the next one, have names and some of them a mail address; each tenth knows nobody, and a few know two.
fn people() -> String {
    let mut text = String::new();
    let mut quad = |s: usize, p: &str, o: String| {
        writeln!(text, "<{NS}p{s}> <{NS}{p}> {o} .").expect("text takes all");
    };
    for s in 0..PEOPLE {
        quad(s, "name", format!("\"name {}\"", s % 700));
        if s % 10 != 0 {
            quad(s, "knows", format!("<{NS}p{}>", (s + 1) % PEOPLE));
        }
        if s % 100 == 7 {
            quad(s, "knows", format!("<{NS}p{}>", s / 2));
        }
        if s % 3 == 0 {
            quad(s, "mail", format!("\"m{s}\""));
        }
        if s % 3 == 0 || s == 10 {
            quad(s, "of", format!("<{NS}p{}>", s / 4));
        }
    }
    text
}

/// Patterns, and whether each is planned in parts over tables.
const PATTERNS: &[(&str, bool)] = &[
    (
        "ONE :knows ?a OPTIONAL { ?a :knows ?f } OPTIONAL { ?f :name ?n }",
        true,
    ),
    (
        "ONE :knows ?a OPTIONAL { ?a :knows ?f } OPTIONAL { ?f :name ?n } OPTIONAL { ?f :mail ?m }",
        true,
    ),
    (
        "ONE :knows ?a OPTIONAL { ?a :knows ?f } OPTIONAL { ?a :of ?g } OPTIONAL { ?f :name ?n } OPTIONAL { ?g :name ?m }",
        true,
    ),
    (
        "ONE :knows ?a OPTIONAL { ?a :knows ?f } OPTIONAL { ?f :knows ?g } OPTIONAL { ?g :name ?n }",
        true,
    ),
    (
        "ONE :knows ?a OPTIONAL { ?a :knows ?f } OPTIONAL { ?f :name ?n FILTER(?n != ?a && !BOUND(?x)) }",
        true,
    ),
    (
        "ONE :knows ?a OPTIONAL { ?a :knows ?f } FILTER EXISTS { ?f :mail ?m }",
        true,
    ),
    (
        "ONE :knows ?a OPTIONAL { ?a :knows ?f } FILTER NOT EXISTS { ?f :mail ?m ; :of ?g }",
        true,
    ),
    (
        "ONE :knows ?a OPTIONAL { ?a :knows ?f } FILTER(BOUND(?f) || EXISTS { ?f :mail 'nobody' })",
        false,
    ),
    (
        "ONE :knows ?a OPTIONAL { ?a :knows ?f } FILTER(BOUND(?f)) OPTIONAL { ?f :name ?n }",
        true,
    ),
    (
        "ONE :name ?l { ONE :knows ?f } UNION { ONE :mail ?m } OPTIONAL { ?f :name ?n }",
        false,
    ),
    ("ONE :knows ?a BIND(IRI(STR(?a)) AS ?x) ?x :name ?n", true),
    (
        "ONE :knows ?a BIND(IF(STRENDS(STR(?a), '1'), ?nothing, ?a) AS ?x) ?x :of ?n . ?n :knows ?o",
        true,
    ),
    (
        "VALUES (?s ?n) { (ONE UNDEF) (:p3 'name 3') (:p3 'name 4') (:p4 UNDEF) } ?s :name ?n ; :knows ?k",
        true,
    ),
    (
        "VALUES (?s ?n) { (ONE UNDEF) (UNDEF 'name 3') } ?s :name ?n",
        true,
    ),
];

#[test]
fn answers_are_the_same_in_one_join() {
    for (number, layout) in LAYOUTS.into_iter().enumerate() {
        let configuration = Configuration {
            layout,
            threads: 1 + number % 2,
            batch_rows: [2048, 3][number % 2],
            is_changed: number == 1,
            ..Configuration::default()
        };
        let loaded = load_nquads(people(), &configuration);
        let with = query_options(&configuration);
        let mut without = with.clone();
        without.disabled_rules.push("split_unbound".to_owned());
        for (pattern, in_parts) in PATTERNS {
            // The last one knows somebody who knows nobody.
            for one in [":p5", ":p7", ":p9"] {
                let pattern = pattern.replace("ONE", one);
                let text = format!("PREFIX : <{NS}> SELECT * {{ {pattern} }}");
                let plan = loaded.database.prepare(&text, &with).expect("it plans");
                let plan = plan.explain().to_text();
                if layout == Layout::Discover && !configuration.is_changed {
                    assert_eq!(
                        plan.contains("Union"),
                        *in_parts || pattern.contains("UNION"),
                        "{text}\n{plan}"
                    );
                }
                let answer = ask(&loaded.database, &text, &with).expect("it runs");
                let expected = ask(&loaded.database, &text, &without).expect("it runs");
                let what = format!("{configuration:?}\n{text}\n{plan}");
                same_answers(&expected, &answer, &what);
            }
        }
    }
}

#[test]
fn few_rows_are_read_where_none_lacks_the_slot() {
    let configuration = Configuration::default();
    let loaded = load_nquads(people(), &configuration);
    let options = query_options(&configuration);
    for (pattern, in_parts) in PATTERNS.iter().filter(|(_, in_parts)| *in_parts) {
        assert!(in_parts);
        let pattern = pattern.replace("ONE", ":p5");
        let text = format!("PREFIX : <{NS}> SELECT * {{ {pattern} }}");
        let prepared = loaded.database.prepare(&text, &options).expect("it plans");
        let report = prepared.profile(&options).expect("it runs");
        let read = read_rows(&report.root);
        assert!(read < 40, "{read}: {}", report.to_text());
    }
}
