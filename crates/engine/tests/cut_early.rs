//! Rows that a sort with a limit turns away, dropped before they are joined further: the same first rows as without.

mod support;

use basalt_engine::{Database, ExplainedNode, QueryOptions};
use basalt_testkit::Answer;
use basalt_testkit::split_mix::SplitMix;
use support::triples::{NS, Triples, iri, number};
use support::{ask, options_without, plain_and_changed, read_rows};

const SALES: usize = 9000;

/// Sales whose prices are of all kinds, some without; two products for some, stores that lack a name.
fn shop() -> String {
    let mut triples = Triples::default();
    for p in 0..60 {
        let name = format!("p{p}");
        triples.add(&name, "kind", &iri("k", p % 7));
        triples.add(&name, "weight", &number(p * 13 % 29, "integer"));
    }
    for t in 0..20 {
        let name = format!("t{t}");
        triples.add(&name, "in", &iri("c", t % 4));
        if t % 5 != 0 {
            triples.add(&name, "name", &format!("\"store {t}\""));
        }
    }
    for s in 0..SALES {
        let name = format!("s{s}");
        triples.add(&name, "of", &iri("p", s * s % 60));
        if s % 11 == 0 {
            triples.add(&name, "of", &iri("p", s % 60));
        }
        triples.add(&name, "at", &iri("t", s * 7 % 20));
        let datatype = ["integer", "decimal", "double"][s % 3];
        triples.add(&name, "price", &number(s * 7919 % 9973 / 4, datatype));
        triples.add(&name, "code", &format!("\"{:x}\"", s * 31 % 4096));
        if s % 3 > 0 {
            triples.add(&name, "paid", &number(s * 17 % 4999, "integer"));
        }
    }
    triples.0
}

const CHANGES: &str = r#"PREFIX : <http://example.org/>
    DELETE DATA { :s5 :price 957 . :p2 :kind :k2 } ;
    INSERT DATA { :s9 :of :p4 . :s10 :price "dear" , 99999 . :s20000 :of :p1 ; :at :t1 ; :price 123456 ; :code "zzz" ; :paid 7 . :s20001 :of :p1 ; :at :t1 ; :price -5 ; :code "" }"#;

fn databases() -> [Database; 2] {
    plain_and_changed(&shop(), CHANGES)
}

/// Patterns to sort, of which the first has the key.
const PATTERNS: &[&str] = &[
    "?s :price ?x ; :of ?p ; :at ?t . ?p :kind ?k ; :weight ?w . ?t :in ?c",
    "?s :price ?x ; :of ?p . ?p :kind ?k OPTIONAL { ?s :at ?t . ?t :name ?n }",
    "?s :code ?x ; :of ?p ; :at ?t . ?p :kind :k3 . ?t :in ?c FILTER(?c != :c2)",
    "?s :paid ?x ; :at ?t . ?t :name ?n FILTER NOT EXISTS { ?s :of ?p . ?p :kind :k1 } ?s :of/:weight ?w",
    "{ SELECT ?p (SUM(?y) AS ?x) (COUNT(*) AS ?m) { ?s :of ?p ; :price ?y ; :paid ?z } GROUP BY ?p ?s } ?p :kind ?k ; :weight ?w",
    "?s :price ?x ; :of ?p ; :at ?t . ?p :kind ?k . ?t :in ?c BIND(?x * 2 AS ?d) ?p :weight ?w",
];

fn query(random: &mut SplitMix) -> String {
    let pattern = *random.pick(PATTERNS).expect("some");
    let first = *random.pick(&["?x", "DESC(?x)"]).expect("some");
    let (limit, offset) = (1 + random.below(40), random.below(3) * random.below(30));
    // Whatever is shown is a key, so that the first rows are told.
    let shown = ["?x", "?s", "?p", "?t", "?k", "?n", "?c", "?w"];
    let shown: Vec<&str> = shown
        .into_iter()
        .filter(|name| pattern.contains(name))
        .collect();
    let others: Vec<String> = shown[1..]
        .iter()
        .map(|name| format!("STR({name}) {name}"))
        .collect();
    format!(
        "SELECT {} {{ {pattern} }} ORDER BY {first} {} STR(DATATYPE(?x)) LIMIT {limit} OFFSET {offset}",
        shown.join(" "),
        others.join(" ")
    )
}

fn cuts(node: &ExplainedNode) -> usize {
    let own = node.text.contains(" cut off after ");
    usize::from(own) + node.below().map(cuts).sum::<usize>()
}

#[test]
fn the_first_rows_are_those_of_all() {
    let mut random = SplitMix::new(64);
    let mut cut = 0;
    for database in databases() {
        for _ in 0..40 {
            let query = query(&mut random);
            let text = format!("PREFIX : <{NS}> {query}");
            let answer = |batch_rows, threads, rules_off: &[&str]| -> Answer {
                let options = options_without(batch_rows, threads, rules_off);
                ask(&database, &text, &options).expect("the query runs")
            };
            let all = answer(2048, 1, &["cut_early", "top_k"]);
            for (batch_rows, threads) in [(2048, 1), (100, 2), (7, 1)] {
                let first = answer(batch_rows, threads, &[]);
                assert_eq!(
                    format!("{first:?}"),
                    format!("{all:?}"),
                    "{query} {batch_rows}"
                );
            }
            let prepared = database.prepare(&text, &QueryOptions::default());
            cut += cuts(&prepared.expect("it plans").explain().root);
        }
    }
    assert!(cut > 30, "{cut} of 80");
}

#[test]
fn what_comes_too_late_is_joined_to_nothing() {
    let [database, _] = databases();
    let text = format!(
        "PREFIX : <{NS}> SELECT * {{ {} }} ORDER BY DESC(?x) LIMIT 5",
        PATTERNS[0]
    );
    let rows = |rules_off: &[&str]| {
        let options = options_without(256, 1, rules_off);
        let prepared = database.prepare(&text, &options).expect("it plans");
        let root = prepared.profile(&options).expect("it runs").root;
        (read_rows(&root), joined_rows(&root))
    };
    let ((read, joined), (read_all, joined_all)) = (rows(&[]), rows(&["cut_early"]));
    assert!(3 * joined < joined_all, "{joined} of {joined_all} rows");
    assert!(read <= read_all, "{read} of {read_all} rows");
}

/// The rows that joins give above the one that brings the key.
fn joined_rows(node: &ExplainedNode) -> u64 {
    let is_join = node.text.starts_with("HashJoin");
    let own = node
        .actual
        .filter(|_| is_join)
        .map_or(0, |actual| actual.rows);
    own + node.below().map(joined_rows).sum::<u64>()
}
