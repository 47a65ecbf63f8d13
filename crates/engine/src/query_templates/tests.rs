//! Algebra by template is what the parser makes of the same text.

use super::same::is_same_query;
use super::*;
use crate::query_text::lift::ConstantKind;
use basalt_testkit::random_query::{QueryOptions as Grammar, random_query};
use std::path::{Path, PathBuf};

/// A text with other constants in place of those that are lifted.
fn with_other_constants(text: &str) -> Option<String> {
    let lifted = lift(text)?;
    Some(lifted.with(|_, constant| match constant.kind {
        ConstantKind::Iri => format!("<{}/9>", constant.text),
        ConstantKind::Text if constant.text.contains('\'') => format!("\"{}é\"", constant.text),
        ConstantKind::Text => format!("'é {}'", constant.text),
        ConstantKind::Integer | ConstantKind::Decimal => format!("0{}", constant.text),
    }))
}

/// Asks for a text until its template is known, and then for it with other constants; the parser must agree. Gives how many of these were not parsed.
fn check(templates: &QueryTemplates, text: &str) -> u64 {
    check_with_base(templates, text, None)
}

/// As [`check`], with a base beside the text.
fn check_with_base(templates: &QueryTemplates, text: &str, base: Option<&str>) -> u64 {
    let options = QueryOptions {
        base: base.map(str::to_owned),
        ..QueryOptions::default()
    };
    let parser = options.parser().expect("the base is one");
    let Ok(expected) = parse(&parser, text) else {
        assert!(templates.parse(text, &options).is_err(), "{text}");
        return 0;
    };
    for _ in 0..2 {
        let (query, _) = templates.parse(text, &options).expect("a query");
        assert!(is_same_query(&query, &expected), "{text}");
    }
    let before = templates.hits();
    let others = with_other_constants(text).unwrap_or_default();
    for text in [text, &others] {
        match (templates.parse(text, &options), parse(&parser, text)) {
            (Ok((query, _)), Ok(expected)) => assert!(is_same_query(&query, &expected), "{text}"),
            (Err(error), Err(expected)) => assert_eq!(error.to_string(), expected.to_string()),
            (query, expected) => unreachable!("{text}\n{query:?}\n{expected:?}"),
        }
    }
    templates.hits() - before
}

#[test]
fn every_kind_of_element_is_put_together_as_it_was_parsed() {
    let templates = QueryTemplates::new();
    for text in [
        "SELECT ?s { ?s <http://e/p> \"a\", 'b'@en, \"1\"^^<http://e/t> , <http://e/o> }",
        "PREFIX : <http://e/> SELECT * { ?s :p <http://e/o> . <http://e/o> :q ?s }",
        "CONSTRUCT { ?s <http://e/p> \"a\" } WHERE { ?s <http://e/p>/^<http://e/q>|!(<http://e/r>|^<http://e/p>) [] }",
        "ASK { { ?s <http://e/p>* \"a\" } UNION { ?s <http://e/q>+ ?o } MINUS { ?s <http://e/r>? \"a\" } }",
        "DESCRIBE ?s { GRAPH <http://e/g> { ?s a <http://e/C> OPTIONAL { ?s <http://e/p> ?o FILTER(?o > 3) } } }",
        "SELECT (COUNT(DISTINCT ?o) AS ?n) (GROUP_CONCAT(?o ; separator = \", \") AS ?c) { ?s <http://e/p> ?o } GROUP BY ?s HAVING(COUNT(?o) >= 2) ORDER BY DESC(?o = 2) LIMIT 3",
        "SELECT (SUM(?x = 5) AS ?a) (SUM(?x = 5) AS ?b) (SUM(?x = 6) AS ?c) { ?s <http://e/p> ?x }",
        "SELECT ?s { VALUES (?s ?o) { (<http://e/a> \"x\") (UNDEF \"x\") } BIND(<http://e/f>(?s, \"y\") AS ?f) }",
        "SELECT ?s { ?s ?p ?o FILTER(?o IN (\"a\", <http://e/b>) || IF(?o != 1.5, \"c\", COALESCE(?o, \"d\")) = 'e' && NOT EXISTS { ?s <http://e/p> \"a\" }) }",
        "SELECT ?s { ?s ?p ?o FILTER(regex(?o, \"^a.*\", \"i\") && -?o < 2 && ?o * 2 <= 4 && ?o<5) LATERAL { SELECT * { ?s ?q <http://e/o> } LIMIT 1 } }",
        "SELECT ?s { SERVICE <http://e/sparql> { ?s ?p \"a\" } { SELECT DISTINCT ?s { ?s ?p 'b' } } } VALUES ?s { <http://e/s> }",
        "SELECT ?s FROM <http://e/g> { ?s ?p \"it's\" , 'a \"b\"' } # <http://e/c> \"d\"",
    ] {
        assert_eq!(check(&templates, text), 2, "{text}");
    }
}

#[test]
fn what_has_no_constants_or_depends_on_a_base_is_parsed() {
    let templates = QueryTemplates::new();
    for text in [
        "SELECT ?s { ?s ?p ?o } LIMIT 3",
        "BASE <http://e/> SELECT ?s { ?s <p> <http://e/o> }",
        "SELECT ?s { ?s <p> ?o }",
        "SELECT ?s { ?s :p \"a\" }",
        "SELECT ?s { ?s <http://e/p> \"\\u0041\" }",
        "SELECT ?s { ?s <http://e/p> \"a }",
        "SELECT ?s { ?s ?p ?o FILTER(?o <?a&&?b> 3) }",
    ] {
        assert_eq!(check(&templates, text), 0, "{text}");
    }
    // A template by others, and an IRI that is none.
    check(&templates, "ASK { ?s <http://e/p> ?o }");
    let options = QueryOptions::default();
    assert!(templates.parse("ASK { ?s <p> ?o }", &options).is_err());
    assert!(
        templates
            .parse("ASK { ?s <http://[e/p> ?o }", &options)
            .is_err()
    );
}

#[test]
fn a_base_is_part_of_the_template() {
    let templates = QueryTemplates::new();
    let text = "PREFIX : <q#> ASK { <http://e/../a> <p> <http://e/o> ; :r <x:y> }";
    for base in [Some("http://e/a/b"), Some("http://f/"), Some("x:/z/"), None] {
        let hits = check_with_base(&templates, text, base);
        assert_eq!(hits, if base.is_some() { 2 } else { 0 }, "{base:?}");
    }
}

#[test]
fn random_queries_are_put_together_as_they_were_parsed() {
    let templates = QueryTemplates::new();
    let queries = (0..400).map(|seed| random_query(seed, Grammar::default()).to_string());
    let hits: u64 = queries.map(|text| check(&templates, &text)).sum();
    assert!(hits > 300, "{hits} of 800 were not parsed");
}

/// All files with queries below a folder.
fn query_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = folder.read_dir() else {
        return;
    };
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            query_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rq") {
            files.push(path);
        }
    }
}

#[test]
fn the_w3c_queries_are_put_together_as_they_were_parsed() {
    let Some(folder) = basalt_testkit::w3c_sparql::suite_folder() else {
        eprintln!("skipped: there are no W3C suites (set RDF_TESTS_DIR)");
        return;
    };
    let mut files = Vec::new();
    query_files(&folder, &mut files);
    let templates = QueryTemplates::new();
    let texts = files
        .iter()
        .filter_map(|path| std::fs::read_to_string(path).ok());
    let with_base = |text: String| check_with_base(&templates, &text, Some("http://e/x/y"));
    let hits: u64 = texts.map(with_base).sum();
    assert!(
        hits > 100,
        "{hits} texts of {} files were not parsed",
        files.len()
    );
}

/// The constants of a text in places where plans may be shared between others, as they are written in a query.
fn open_constants(text: &str) -> Vec<String> {
    let (templates, options) = (QueryTemplates::new(), QueryOptions::default());
    let instances: Vec<Option<TemplateInstance>> = (0..3)
        .map(|_| templates.parse(text, &options).expect("a query").1)
        .collect();
    assert_eq!(
        instances[..2],
        [None, None],
        "it is known from the second time on"
    );
    let instance = instances[2].as_ref().expect("the template is known");
    let constants = instance.constants.iter().map(ToString::to_string);
    let constants: Vec<String> = constants.collect();
    let lifted = lift(text).expect("it has constants");
    assert_eq!(
        constants.len() + instance.fixed.len(),
        lifted.constants.len(),
        "{text}"
    );
    constants
}

#[test]
fn plans_are_shared_between_iris_of_triples_and_constants_of_conditions() {
    const INTEGER: &str = "^^<http://www.w3.org/2001/XMLSchema#integer>";
    let (three, four) = (format!("\"3\"{INTEGER}"), format!("\"4\"{INTEGER}"));
    let cases: [(&str, &[&str]); 12] = [
        (
            "PREFIX : <http://e/> SELECT * { <http://e/s> :p <http://e/o> FILTER(?x > 3) }",
            &["<http://e/s>", "<http://e/o>", &three],
        ),
        (
            "PREFIX : <http://e/> CONSTRUCT { <http://e/s> :p 'a' } { <http://e/s> :q ?x FILTER(?x < 4) }",
            &["<http://e/s>", &four],
        ),
        (
            "PREFIX : <http://e/> SELECT * { ?s :p 'text'@en ; <http://e/p> <http://e/o> }",
            &["<http://e/o>"],
        ),
        (
            "SELECT * { GRAPH <http://e/g> { ?s ?p <http://e/o> } }",
            &["<http://e/o>"],
        ),
        (
            "SELECT * { <http://e/s> <http://e/p>+ ?o . ?o ?q <http://e/o> }",
            &["<http://e/o>"],
        ),
        (
            "SELECT * { VALUES ?s { <http://e/s> } ?s ?p <http://e/o> }",
            &["<http://e/o>"],
        ),
        (
            "SELECT * { SERVICE <http://e/x> { ?s ?p <http://e/s> FILTER(?p > 3) } ?s ?p <http://e/o> }",
            &["<http://e/o>"],
        ),
        (
            "SELECT * { ?s ?p <http://e/o> FILTER(<http://e/f>(?s, 'a', ?p = 'b')) }",
            &["<http://e/o>", "\"a\"", "\"b\""],
        ),
        // Where it stands elsewhere too, one place could not be told from the other.
        (
            "PREFIX : <http://e/> SELECT * { ?s :p <http://e/p> . ?s ?q <http://e/o> }",
            &["<http://e/o>"],
        ),
        (
            "SELECT * { ?s ?p <http://e/o> . ?o <http://e/o> ?x FILTER(?x = <http://e/v>) }",
            &["<http://e/v>"],
        ),
        (
            "SELECT * { ?s ?p <http://e/o> FILTER(?x = 'a' || ?x = 'a'@en) }",
            &["<http://e/o>"],
        ),
        (
            "SELECT * { ?s ?p <http://e/o> FILTER(?x > 0 && ?y > 3) }",
            &["<http://e/o>", &three],
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(open_constants(text), expected, "{text}");
    }
}
