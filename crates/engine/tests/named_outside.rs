//! OPTIONAL within OPTIONAL that names a variable of outside: what joins the three at once is what joins the inner two first.

mod support;

use basalt_engine::{ExplainedNode, Layout};
use std::fmt::Write;
use support::{Configuration, LAYOUTS, ask, load_nquads, query_options, read_rows, same_answers};

const NS: &str = "http://example.org/";
const SALES: usize = 240;

/// Sales of things to people, some of which come back; and wishes of people for things.
fn shop() -> String {
    let mut text = String::new();
    let mut quad = |s: String, p: &str, o: String| {
        writeln!(text, "<{NS}{s}> <{NS}{p}> {o} .").expect("text takes all");
    };
    for s in 0..SALES {
        quad(format!("s{s}"), "to", format!("<{NS}p{}>", s * 7 % 90));
        quad(format!("s{s}"), "of", format!("<{NS}t{}>", s * 11 % 60));
        if s % 5 == 0 {
            quad(format!("r{s}"), "back", format!("<{NS}s{s}>"));
        }
        if s % 45 == 0 {
            quad(format!("r{s}"), "why", format!("\"reason {}\"", s % 2));
        }
        quad(format!("w{s}"), "by", format!("<{NS}p{}>", s * 13 % 97));
        quad(format!("w{s}"), "for", format!("<{NS}t{}>", s * 17 % 61));
    }
    text
}

/// Patterns whose inner OPTIONAL names what only the outermost part has.
const PATTERNS: &[&str] = &[
    "?s :to ?p ; :of ?t OPTIONAL { ?r :back ?s OPTIONAL { ?w :by ?p ; :for ?t } }",
    "?s :to ?p ; :of ?t OPTIONAL { ?r :back ?s OPTIONAL { ?w :by ?p ; :for ?t FILTER(STRLEN(STR(?w)) > STRLEN(STR(?r))) } }",
    "?s :to ?p OPTIONAL { ?r :back ?s OPTIONAL { ?r :why ?y . ?w :by ?p } }",
    "?s :to ?p OPTIONAL { ?r :back ?s OPTIONAL { ?w :by ?p } OPTIONAL { ?r :why ?y } }",
    "?s :to ?p OPTIONAL { ?r :back ?s OPTIONAL { ?r :why ?y } OPTIONAL { ?w :by ?p FILTER(BOUND(?y)) } }",
    "?s :to ?p OPTIONAL { ?r :back ?s OPTIONAL { ?r :why ?y OPTIONAL { ?w :by ?p } } }",
    "?s :to ?p OPTIONAL { ?r :back ?s OPTIONAL { ?w :by ?p FILTER(?s != :s5) } FILTER(?r != :r10) }",
    "?s :to ?p OPTIONAL { ?r :back ?s OPTIONAL { ?w :by ?p FILTER NOT EXISTS { ?w :for ?t } } }",
    "?s :to ?p OPTIONAL { ?r :back ?s OPTIONAL { ?w :never ?p } }",
    "?s :to ?p OPTIONAL { ?r :back ?s OPTIONAL { ?w :by ?p } FILTER(!BOUND(?w)) }",
    "?s :to ?p OPTIONAL { ?s :of ?t OPTIONAL { ?r :back ?s } OPTIONAL { ?r :why ?y . ?w :by ?p } }",
];

fn configurations() -> impl Iterator<Item = Configuration> {
    LAYOUTS
        .into_iter()
        .enumerate()
        .map(|(number, layout)| Configuration {
            layout,
            threads: 1 + number % 2,
            batch_rows: [2048, 3][number % 2],
            is_changed: number == 1,
            ..Configuration::default()
        })
}

#[test]
fn answers_are_those_of_the_inner_join_first() {
    for configuration in configurations() {
        let loaded = load_nquads(shop(), &configuration);
        let with = query_options(&configuration);
        let mut without = with.clone();
        without.disabled_rules.push("seed_join".to_owned());
        for pattern in PATTERNS {
            // Few sales are asked, so that all pairs of the others stay few.
            for some in ["VALUES ?s { :s0 :s5 :s7 :s45 :s240 } ", ""] {
                if !some.is_empty() || configuration.layout == Layout::Discover {
                    let text = format!("PREFIX : <{NS}> SELECT * {{ {some}{pattern} }}");
                    let plan = loaded.database.prepare(&text, &with).expect("it plans");
                    let answer = ask(&loaded.database, &text, &with).expect("it runs");
                    let expected = ask(&loaded.database, &text, &without).expect("it runs");
                    let plan = plan.explain().to_text();
                    let what = format!("{configuration:?}\n{text}\n{plan}");
                    same_answers(&expected, &answer, &what);
                }
            }
        }
    }
}

#[test]
fn the_inner_parts_do_not_meet_all_of_each_other() {
    let configuration = Configuration::default();
    let loaded = load_nquads(shop(), &configuration);
    let options = query_options(&configuration);
    let text = format!("PREFIX : <{NS}> SELECT * {{ {} }}", PATTERNS[0]);
    let prepared = loaded.database.prepare(&text, &options).expect("it plans");
    let report = prepared.profile(&options).expect("it runs");
    fn most(node: &ExplainedNode) -> u64 {
        let below = node.below().map(most).max().unwrap_or(0);
        node.actual.map_or(0, |actual| actual.rows).max(below)
    }
    let (most, read) = (most(&report.root), read_rows(&report.root));
    assert!(most < 4 * SALES as u64, "{most}: {}", report.to_text());
    assert!(read < 12 * SALES as u64, "{read}: {}", report.to_text());
}
