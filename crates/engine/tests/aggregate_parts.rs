//! What is grouped part by part, or counted with equal values taken off, has the counts, sums, averages and extremes of all joined rows: of trees and
//! circles of patterns in random shapes, with conditions, by no to three keys.

mod support;

use basalt_engine::{Database, QueryOptions};
use basalt_testkit::Answer as OracleAnswer;
use std::fmt::Write as _;
use support::triples::{NS, Triples, iri, number};
use support::{ask, options_without, plain_and_changed};

/// Nodes of the graph.
const NODES: usize = 60;
/// Random questions.
const QUESTIONS: usize = 300;
/// Patterns of a question at most.
const PATTERNS_MAX: u64 = 5;

/// Nodes with links to several others, a few of which are hubs, some with a kind or a size.
fn graph() -> String {
    let mut triples = Triples::default();
    for n in 0..NODES {
        let name = format!("n{n}");
        for k in 0..n % 7 {
            triples.add(&name, "near", &iri("n", (n * 5 + k * k * 11) % NODES));
            triples.add(&name, "likes", &iri("n", (n * k + k * 3) % 17));
        }
        if n % 3 != 1 {
            triples.add(&name, "kind", &iri("k", n % 4));
        }
        if n % 5 != 0 {
            triples.add(&name, "size", &number(n * 7 % 20, "integer"));
            triples.add(&name, "costs", &number(n % 11, "integer"));
        }
        if n % 4 == 1 {
            triples.add(&name, "costs", &decimal(n % 9));
            triples.add(&name, "rated", &number(n % 6, "double"));
        }
        // A predicate that shapes have no column for.
        if n % 20 == 3 {
            triples.add(&name, &format!("near{}", n % 2), &iri("n", n / 2));
        }
    }
    triples.0
}

/// A number that is no integer.
fn decimal(n: usize) -> String {
    format!("\"{n}.25\"^^<http://www.w3.org/2001/XMLSchema#decimal>")
}

const CHANGES: &str = r"PREFIX : <http://example.org/>
    DELETE DATA { :n6 :near :n30 . :n7 :kind :k3 } ;
    INSERT DATA { :n0 :near :n1 , :n2 , 'text' . :n70 :likes :n3 ; :near :n4 ; :kind :k1 , :k2 . :n5 :near2 :n6 }";

struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % n
    }
}

/// A pattern between two variables, or a variable and what it tells.
fn pattern(random: &mut Random, a: &str, b: &str) -> String {
    match random.below(12) {
        0..=2 => format!("{a} :near {b} ."),
        3 | 4 => format!("{b} :near {a} ."),
        5 => format!("{a} :likes {b} ."),
        6 => format!("{b} :likes {a} ."),
        7 => format!("{a} :kind {b} ."),
        8 => format!("{a} :size {b} ."),
        9 => format!("{a} :rated {b} ."),
        _ => format!("{a} :costs {b} ."),
    }
}

/// What is asked of the rows: counts of course, and others of what is a number mostly.
fn aggregates(random: &mut Random, names: &[String], patterns: &str) -> String {
    let is_number = |name: &&String| {
        let told = ["size", "costs", "rated"].iter();
        told.clone()
            .any(|predicate| patterns.contains(&format!(":{predicate} {name} .")))
    };
    let numbers: Vec<&String> = names.iter().filter(is_number).collect();
    let mut text = String::new();
    for made in 0..1 + random.below(3) {
        let x = match numbers.len() as u64 {
            0 => &names[random.below(names.len() as u64) as usize],
            count => numbers[random.below(count) as usize],
        };
        let y = &names[random.below(names.len() as u64) as usize];
        let of = match random.below(9) {
            0 => "COUNT(*)".to_owned(),
            1 => format!("COUNT({y})"),
            2 | 3 => format!("SUM({x})"),
            4 => format!("AVG({x})"),
            5 => format!("MIN({x})"),
            6 => format!("MAX({y})"),
            7 => format!("SUM({x} * {x} - 3)"),
            _ => match &numbers[..] {
                [first, .., last] => format!("SUM({first} * {last})"),
                _ => format!("AVG({x} + 0.5)"),
            },
        };
        write!(text, "({of} AS ?v{made}) ").expect("text takes all");
    }
    text
}

/// A question about counts alone, or other aggregates, too.
fn question(random: &mut Random, are_counts: bool) -> String {
    let mut names = vec!["?a".to_owned()];
    let mut patterns = String::new();
    for made in 0..2 + random.below(PATTERNS_MAX - 1) {
        let from = names[random.below(names.len() as u64) as usize].clone();
        let to = match random.below(8) {
            0 if made > 1 => names[random.below(names.len() as u64) as usize].clone(),
            1 if made > 0 => format!(":n{}", random.below(17)),
            _ => format!("?{}", char::from(b'b' + made as u8)),
        };
        patterns += &pattern(random, &from, &to);
        if to.starts_with('?') && !names.contains(&to) {
            names.push(to);
        }
    }
    let mut any = || names[random.below(names.len() as u64) as usize].clone();
    let (x, y, z) = (any(), any(), any());
    let condition = match random.below(8) {
        0 => format!("FILTER({x} != {y})"),
        1 => format!("FILTER({x} > 5 || ISIRI({x}))"),
        2 => format!("FILTER(STR({x}) < STR({y}) || {z} = {x})"),
        6 => format!("FILTER({x} != {y} && {y} != {z})"),
        7 => format!("FILTER({x} != {y} && {y} != {z} && {z} != {x}) FILTER(STRLEN(STR({x})) > 2)"),
        3 => format!("VALUES {x} {{ :n1 :n2 :n3 :n40 :k1 7 }}"),
        _ => String::new(),
    };
    let mut keys: Vec<String> = Vec::new();
    for _ in 0..random.below(4) {
        keys.push(names[random.below(names.len() as u64) as usize].clone());
    }
    keys.sort();
    keys.dedup();
    let by = match keys.is_empty() {
        true => String::new(),
        false => format!("GROUP BY {}", keys.join(" ")),
    };
    let keys = keys.join(" ");
    let made = match are_counts {
        true => format!("(COUNT(*) AS ?n) (COUNT({x}) AS ?m)"),
        false => aggregates(random, &names, &patterns),
    };
    format!("PREFIX : <{NS}> SELECT {keys} {made} {{ {patterns} {condition} }} {by}")
}

fn plan(database: &Database, text: &str) -> String {
    let options = QueryOptions {
        aggregate_parts_always: true,
        ..options_without(64, 2, &[])
    };
    let prepared = database.prepare(text, &options).expect("it plans");
    prepared.explain().to_text()
}

const RULES_OFF: [&str; 4] = [
    "aggregate_parts",
    "count_unequal",
    "count_first",
    "group_through",
];

/// The answer without the rules; those with each of them give the same.
fn same_with_the_rules(database: &Database, text: &str) -> OracleAnswer {
    let expected = ask(database, text, &options_without(2048, 1, &RULES_OFF));
    let expected = expected.expect("it runs");
    for (off, batch, threads) in [(0, 64, 2), (1, 7, 1), (2, 7, 2)] {
        let off = if off == 0 { &[][..] } else { &RULES_OFF[off..] };
        let options = QueryOptions {
            aggregate_parts_always: true,
            ..options_without(batch, threads, off)
        };
        let answer = ask(database, text, &options).expect("it runs");
        support::same_answers(&expected, &answer, text);
    }
    expected
}

#[test]
fn random_groups_have_the_counts_of_their_rows() {
    for database in plain_and_changed(&graph(), CHANGES) {
        let mut random = Random(7);
        let (mut counted, mut taken_off, mut rows) = (0, 0, 0);
        for _ in 0..QUESTIONS {
            let text = question(&mut random, true);
            let answer = same_with_the_rules(&database, &text);
            let plan = plan(&database, &text);
            counted += usize::from(plan.contains("Sum(?count") || plan.contains("Sum((?count"));
            taken_off += usize::from(plan.contains("-?count"));
            rows += usize::from(!format!("{answer:?}").contains("\"0\""));
        }
        assert!(counted > QUESTIONS / 10, "{counted} counted by parts");
        assert!(
            taken_off > QUESTIONS / 50,
            "{taken_off} with some taken off"
        );
        assert!(rows > QUESTIONS / 2, "{rows} have rows");
    }
}

#[test]
fn random_groups_have_the_sums_and_extremes_of_their_rows() {
    for database in plain_and_changed(&graph(), CHANGES) {
        let mut random = Random(11);
        let (mut parted, mut of_parts) = (0, 0);
        for _ in 0..QUESTIONS {
            let text = question(&mut random, false);
            same_with_the_rules(&database, &text);
            let plan = plan(&database, &text);
            parted += usize::from(plan.contains("?count"));
            of_parts += usize::from(plan.contains("?part"));
        }
        assert!(parted > QUESTIONS / 10, "{parted} by parts");
        assert!(of_parts > QUESTIONS / 20, "{of_parts} of what parts hold");
    }
}

/// More walks than any number of 64 bits, which no plan that makes them a row each would end with.
#[test]
fn long_walks_are_counted_exactly() {
    let mut triples = Triples::default();
    for a in 0..10 {
        for b in 0..10 {
            triples.add(&format!("n{a}"), "to", &iri("n", b));
        }
    }
    let [database, _] = plain_and_changed(&triples.0, "");
    let steps = ":to/".repeat(29);
    let text = format!("PREFIX : <{NS}> SELECT (COUNT(*) AS ?n) {{ ?a {steps}:to ?b }}");
    let answer = ask(&database, &text, &options_without(2048, 1, &[])).expect("it runs");
    let walks = format!("1{}", "0".repeat(31));
    assert!(format!("{answer:?}").contains(&walks), "{answer:?}");
}

/// What is one star, or is connected by several variables, or has no partners to speak of, is joined.
#[test]
fn what_gives_nothing_is_not_counted_by_parts() {
    let [database, _] = plain_and_changed(&graph(), "");
    for (pattern, by, is_counted) in [
        ("?a :near ?b . ?b :near ?c . ?c :near ?d", "", true),
        (
            "?a :near ?b . ?b :near ?c . ?c :near ?d . ?a :kind ?k",
            "?k",
            true,
        ),
        ("?a :near ?b . ?b :near ?c . ?c :near ?a", "", false),
        ("?a :near ?b . ?b :near ?c FILTER(?a < ?c)", "", false),
        (
            "?a :near ?b . ?b :near ?c . ?c :near ?d FILTER(?a != ?d)",
            "",
            true,
        ),
        ("?a :near ?b ; :kind ?k ; :size ?s", "?k", false),
        (
            "?a :near ?b . ?b :near ?c OPTIONAL { ?c :size ?s }",
            "?s",
            false,
        ),
        ("?a :near ?b . ?b :near ?c . ?c :near ?d", "?a ?d", true),
    ] {
        let by_what = match by {
            "" => String::new(),
            by => format!("GROUP BY {by}"),
        };
        let text =
            format!("PREFIX : <{NS}> SELECT {by} (COUNT(*) AS ?n) {{ {pattern} }} {by_what}");
        let plan = plan(&database, &text);
        let found = plan.contains("?count");
        assert_eq!(found, is_counted, "{text}\n{plan}");
    }
}
