//! What belongs to one solution or to one query, in every configuration: the nodes of `BNODE` with a label,
//! and the base of `IRI`.

mod support;

use basalt_engine::{Database, QueryOptions};
use basalt_testkit::Answer;
use oxrdf::Term;
use std::collections::BTreeSet;
use support::{ask, load_nquads, matrix, query_options};

/// Subjects of the data.
const SUBJECTS: usize = 23;

/// Things with a name that is theirs, a kind that they share, and now and then a friend.
fn data() -> String {
    let line = |n: usize| {
        let friend = (n + 1) % SUBJECTS;
        let mut text = format!(
            "<http://e/s{n}> <http://e/name> \"n{n}\" .\n<http://e/s{n}> <http://e/kind> \"k{}\" .\n",
            n % 3
        );
        if n.is_multiple_of(2) {
            text.push_str(&format!(
                "<http://e/s{n}> <http://e/knows> <http://e/s{friend}> .\n"
            ));
        }
        text
    };
    (0..SUBJECTS).map(line).collect()
}

fn rows(database: &Database, query: &str, options: &QueryOptions) -> Vec<Vec<Option<Term>>> {
    match ask(database, &format!("PREFIX : <http://e/> {query}"), options) {
        Ok(Answer::Solutions { rows, .. }) => rows,
        other => unreachable!("{query}: {other:?}"),
    }
}

fn is_blank(cell: &Option<Term>) -> bool {
    matches!(cell, Some(Term::BlankNode(_)))
}

/// Queries whose first two columns are one node in each row, the third another, and whose rows share none;
/// with the number of their rows.
const QUERIES: &[(&str, usize)] = &[
    (
        "SELECT (BNODE(?n) AS ?a) (BNODE(?n) AS ?b) (BNODE(?k) AS ?c) { ?s :name ?n ; :kind ?k }",
        SUBJECTS,
    ),
    (
        "SELECT ?a ?b ?c { ?s :kind ?k BIND(BNODE(\"x\") AS ?a) BIND(BNODE(\"x\") AS ?b) \
         BIND(BNODE(?k) AS ?c) FILTER(sameTerm(?a, ?b)) }",
        SUBJECTS,
    ),
    (
        "SELECT (BNODE(?k) AS ?a) (BNODE(?k) AS ?b) (BNODE(CONCAT(?k, \"x\")) AS ?c) ?s \
         { ?s :kind ?k OPTIONAL { ?s :knows ?o } } ORDER BY ?s LIMIT 11",
        11,
    ),
    (
        "SELECT (BNODE(?k) AS ?a) (BNODE(?k) AS ?b) (BNODE(STR(COUNT(*))) AS ?c) { ?s :kind ?k } GROUP BY ?k",
        3,
    ),
    (
        "SELECT (BNODE(?n) AS ?a) (BNODE(?n) AS ?b) (BNODE(\"\") AS ?c) \
         { { ?s :name ?n } UNION { ?s :kind ?n } }",
        2 * SUBJECTS,
    ),
    (
        "SELECT (BNODE(?k) AS ?a) (BNODE(?k) AS ?b) (BNODE(?l) AS ?c) { ?s :knows ?t ; :kind ?k . ?t :kind ?l }",
        SUBJECTS.div_ceil(2),
    ),
];

#[test]
fn a_label_names_one_node_of_each_solution() {
    for configuration in matrix() {
        let loaded = load_nquads(data(), &configuration);
        let options = query_options(&configuration);
        for (query, count) in QUERIES {
            let rows = rows(&loaded.database, query, &options);
            assert_eq!(rows.len(), *count, "{query} {configuration:?}");
            let mut nodes = BTreeSet::new();
            for row in &rows {
                assert!(row[..3].iter().all(is_blank), "{query} {row:?}");
                assert_eq!(row[0], row[1], "{query} {configuration:?}");
                assert_ne!(row[0], row[2], "{query} {configuration:?}");
                nodes.extend(row[..3].iter().flatten().map(ToString::to_string));
            }
            assert_eq!(nodes.len(), 2 * rows.len(), "{query} {configuration:?}");
        }
    }
}

#[test]
fn a_node_made_before_a_join_is_kept_by_its_rows() {
    let query = "SELECT ?a ?b ?s ?k { { SELECT ?k (BNODE(?k) AS ?a) { ?x :kind ?k } GROUP BY ?k } \
                 ?s :kind ?k BIND(BNODE(?k) AS ?b) }";
    for configuration in matrix() {
        let loaded = load_nquads(data(), &configuration);
        let rows = rows(&loaded.database, query, &query_options(&configuration));
        assert_eq!(rows.len(), SUBJECTS);
        let distinct = |column: usize| {
            let nodes = rows
                .iter()
                .map(|row| row[column].as_ref().map(ToString::to_string));
            nodes.collect::<BTreeSet<_>>().len()
        };
        assert_eq!(distinct(0), 3, "{configuration:?}");
        assert_eq!(distinct(1), SUBJECTS, "{configuration:?}");
    }
}

#[test]
fn calls_of_one_condition_are_of_one_solution() {
    for configuration in matrix().into_iter().step_by(3) {
        let loaded = load_nquads(data(), &configuration);
        let count = |condition: &str| {
            let query = format!("SELECT ?s {{ ?s :name ?n FILTER({condition}) }}");
            rows(&loaded.database, &query, &query_options(&configuration)).len()
        };
        assert_eq!(count("sameTerm(BNODE(?n), BNODE(?n))"), SUBJECTS);
        assert_eq!(count("sameTerm(BNODE(\"x\"), BNODE(\"y\"))"), 0);
        assert_eq!(count("sameTerm(BNODE(), BNODE())"), 0);
        assert_eq!(
            count("isBlank(BNODE(?n)) && BNODE(?n) = IF(true, BNODE(?n), ?n)"),
            SUBJECTS
        );
    }
}

#[test]
fn iri_resolves_against_the_base_of_the_query() {
    let database = Database::in_memory();
    let ask = |query: &str, base: Option<&str>| {
        let options = QueryOptions {
            base: base.map(str::to_owned),
            ..QueryOptions::default()
        };
        let rows = rows(&database, query, &options);
        rows[0][0].as_ref().map(ToString::to_string)
    };
    let made = "SELECT (IRI(CONCAT(?x, \"b\")) AS ?i) { VALUES ?x { \"a/\" } }";
    let constant = "SELECT (URI(\"a/b\") AS ?i) {}";
    for query in [made, constant] {
        assert_eq!(
            ask(query, None),
            None,
            "a relative reference is nothing without a base"
        );
        assert_eq!(
            ask(query, Some("http://o/x/y")),
            Some("<http://o/x/a/b>".to_owned())
        );
        let with_base = format!("BASE <http://e/d/> {query}");
        assert_eq!(ask(&with_base, None), Some("<http://e/d/a/b>".to_owned()));
        assert_eq!(
            ask(&with_base, Some("http://o/x/y")),
            Some("<http://e/d/a/b>".to_owned())
        );
        let relative = format!("BASE <z/> {query}");
        assert_eq!(
            ask(&relative, Some("http://o/x/y")),
            Some("<http://o/x/z/a/b>".to_owned())
        );
    }
}
