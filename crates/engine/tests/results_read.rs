//! Results out and in again: what a writer wrote, the reader reads.

use basalt_engine::results::read::{ReadResults, read};
use basalt_engine::results::{write_boolean, write_solutions};
use basalt_engine::{Answer, Database, GraphFormat, QueryOptions, ResultsFormat};
use oxrdf::{Literal, Term};

const DATA: &str = r#"@prefix : <http://e/> . @prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
:iri :v :b , <http://e/x%20y?z=1&w='2'#f> , <http://e/ü/語> .
:blank :v _:x , _:y .
:text :v "" , " a " , "a,b;c" , "\"quoted\" 'and' \\" , "tab\tline\nreturn\rend" , "<&>]]>" , "\U0001F30B ü" , "?x" .
:language :v "a"@en , "a"@en-GB , "a"@de-x-private .
:typed :v 1 , 01 , 1.0 , 1e0 , "1.0E0"^^xsd:double , true , "2020-01-01"^^xsd:date , "x"^^:type , "NaN"^^xsd:float ,
  "a"^^xsd:string , "+5"^^xsd:integer , " 5"^^xsd:int , "-0"^^xsd:decimal , "1."^^xsd:decimal .
:some :w 1 ."#;

const QUERIES: &[&str] = &[
    "SELECT ?s ?v ?w { ?s ?p ?v OPTIONAL { ?s <http://e/w> ?w } }",
    "SELECT ?w ?s ?none { ?s ?p ?v OPTIONAL { ?s <http://e/w> ?w } }",
    "SELECT ?none ?v { ?s ?p ?v }",
    "SELECT ?v { ?s ?p ?v FILTER(?v = 17) }",
    // Computed numbers: that ids hold or not, errors, whole batches and parts of them.
    "SELECT ?n ?x ?y ?z { VALUES ?n { 1 2 3 400 -7 0 } BIND(?n / 3e0 AS ?x) BIND(?n * 2.50 AS ?y) BIND(1e0 / (?n * 1e0) AS ?z) }",
    "SELECT (<http://www.w3.org/2001/XMLSchema#float>(?n) / 7 AS ?x) { VALUES ?n { 1 2 3 UNDEF 400 -7 } } OFFSET 1 LIMIT 4",
    "SELECT (?x AS ?y) ?x (?y * 1.5 AS ?z) { VALUES ?n { 1 2.5 300 } BIND(<http://www.w3.org/2001/XMLSchema#double>(STR(?n)) AS ?x) }",
    "SELECT ?n ?x { VALUES ?n { 1e0 2.5e0 1e300 UNDEF -7e-9 } BIND(?n * 1.1e0 AS ?x) FILTER(!BOUND(?x) || ?x < 5) }",
];

fn database() -> Database {
    let database = Database::in_memory();
    database
        .load_text(DATA, GraphFormat::Turtle)
        .expect("the data loads");
    database
}

type Rows = Vec<Vec<Option<Term>>>;

/// The names and rows of a query, and the same in a format.
fn written(
    database: &Database,
    query: &str,
    format: ResultsFormat,
) -> (Vec<String>, Rows, Vec<u8>) {
    let solutions = || match database.query(query, &QueryOptions::default()) {
        Ok(Answer::Solutions(solutions)) => solutions,
        _ => unreachable!("the query is a SELECT"),
    };
    let mut bytes = Vec::new();
    write_solutions(&mut solutions(), format, &mut bytes).expect("a vector takes everything");
    let names = solutions().variables().to_vec();
    (names, solutions().into_rows().expect("rows"), bytes)
}

fn read_all(format: ResultsFormat, bytes: &[u8]) -> Result<(Vec<String>, Rows), String> {
    match read(format, bytes).map_err(|error| error.to_string())? {
        ReadResults::Boolean(value) => Err(format!("a boolean: {value}")),
        ReadResults::Solutions(solutions) => {
            let names = solutions.variables().to_vec();
            let rows: Result<Rows, _> = solutions.collect();
            Ok((names, rows.map_err(|error| error.to_string())?))
        }
    }
}

/// Blank nodes in order of appearance and language tags in lower case: their labels and the case of
/// tags are not part of results.
fn relabel(rows: Rows) -> Rows {
    let mut seen: Vec<Term> = Vec::new();
    let mut name = |term: Term| {
        if let Term::Literal(literal) = &term
            && let Some(language) = literal.language()
        {
            let language = language.to_ascii_lowercase();
            return Literal::new_language_tagged_literal_unchecked(literal.value(), language)
                .into();
        }
        if !matches!(term, Term::BlankNode(_)) {
            return term;
        }
        let known = seen.iter().position(|other| *other == term);
        let number = known.unwrap_or_else(|| {
            seen.push(term);
            seen.len() - 1
        });
        oxrdf::BlankNode::new_unchecked(format!("n{number}")).into()
    };
    rows.into_iter()
        .map(|row| row.into_iter().map(|term| term.map(&mut name)).collect())
        .collect()
}

#[test]
fn what_was_written_is_read() {
    let database = database();
    for query in QUERIES {
        for format in [ResultsFormat::Json, ResultsFormat::Xml, ResultsFormat::Tsv] {
            let (names, rows, bytes) = written(&database, query, format);
            let (read_names, read_rows) = read_all(format, &bytes).expect("our own results");
            assert_eq!(read_names, names, "{format:?}");
            let (rows, read_rows) = (relabel(rows), relabel(read_rows));
            assert_eq!(read_rows.len(), rows.len(), "{format:?} {query}");
            for (read_row, row) in read_rows.iter().zip(&rows) {
                assert_eq!(read_row, row, "{format:?} {query}");
            }
        }
    }
}

/// Values that come again in the same column, in others, in the next row and much later, in answers of several buffers.
#[test]
fn values_that_come_again_are_written_as_before() {
    let database = database();
    let query = "SELECT ?a ?b ?none ?c { ?s ?p ?a . ?t ?q ?b . ?u ?r ?c FILTER(?q = ?r) }";
    for format in [ResultsFormat::Json, ResultsFormat::Xml, ResultsFormat::Tsv] {
        let (_, rows, bytes) = written(&database, query, format);
        assert!(bytes.len() > 1 << 20, "{format:?}: {} bytes", bytes.len());
        let (_, read_rows) = read_all(format, &bytes).expect("our own results");
        assert_eq!(relabel(read_rows), relabel(rows), "{format:?}");
    }
}

#[test]
fn csv_gives_the_texts() {
    let database = database();
    for query in QUERIES {
        let (names, rows, bytes) = written(&database, query, ResultsFormat::Csv);
        let (read_names, read_rows) =
            read_all(ResultsFormat::Csv, &bytes).expect("our own results");
        assert_eq!(read_names, names);
        let text = |term: &Option<Term>| match term {
            None => String::new(),
            Some(Term::NamedNode(node)) => node.as_str().to_owned(),
            Some(Term::BlankNode(node)) => format!("_:{}", node.as_str()),
            Some(Term::Literal(literal)) => literal.value().to_owned(),
        };
        let texts = |rows: &Rows| -> Vec<Vec<String>> {
            let row = |row: &Vec<Option<Term>>| row.iter().map(text).collect();
            rows.iter().map(row).collect()
        };
        assert_eq!(texts(&read_rows), texts(&rows), "{query}");
    }
}

#[test]
fn booleans_are_read() {
    for format in [ResultsFormat::Json, ResultsFormat::Xml, ResultsFormat::Tsv] {
        for value in [true, false] {
            let mut bytes = Vec::new();
            write_boolean(value, format, &mut bytes).expect("a vector takes everything");
            match read(format, bytes.as_slice()).expect("our own results") {
                ReadResults::Boolean(read) => assert_eq!(read, value, "{format:?}"),
                ReadResults::Solutions(_) => unreachable!("{format:?}: no solutions were written"),
            }
        }
    }
}

#[test]
fn every_truncation_is_an_error_or_an_end() {
    let database = database();
    for format in ResultsFormat::ALL {
        let (_, rows, bytes) = written(&database, QUERIES[0], format);
        for length in 0..bytes.len() {
            if let Ok((_, read_rows)) = read_all(format, &bytes[..length]) {
                // The formats of lines cannot tell an end from a cut.
                let is_lines = matches!(format, ResultsFormat::Csv | ResultsFormat::Tsv);
                let is_all = read_rows.len() == rows.len();
                assert!(is_lines || is_all, "{format:?} at {length}");
            }
        }
    }
}

#[test]
fn bad_input_is_an_error() {
    use ResultsFormat::{Csv, Json, Tsv, Xml};
    for (format, text) in [
        (Json, ""),
        (Json, "[]"),
        (Json, "{\"head\":{\"vars\":[\"x\"]}}"),
        (
            Json,
            "{\"head\":{\"vars\":[\"x\"]},\"results\":{\"bindings\":[{\"x\":{\"type\":\"odd\",\"value\":\"1\"}}]}}",
        ),
        (
            Json,
            "{\"head\":{\"vars\":[\"x\"]},\"results\":{\"bindings\":[{\"x\":1}]}}",
        ),
        (Xml, ""),
        (Xml, "<html/>"),
        (
            Xml,
            "<sparql xmlns=\"http://www.w3.org/2005/sparql-results#\"><head/><results><result><bind",
        ),
        (Tsv, "?x\n\"open\n"),
        (Tsv, "?x\t?y\n1\n"),
        (Csv, ""),
        (Csv, "a b\r\n"),
        (Csv, "x,x\r\n1,2\r\n"),
        (Csv, "x,y\r\n1\r\n"),
        (Csv, "x\r\n\"open\r\n"),
        (Csv, "x\r\n\"a\"b\r\n"),
        (Csv, "x\r\na\"b\r\n"),
    ] {
        let result = read_all(format, text.as_bytes());
        assert!(result.is_err(), "{format:?} {text}: {result:?}");
    }
    let not_text = read_all(Csv, b"x\r\n\xff\r\n");
    assert!(not_text.is_err_and(|error| error.contains("line 2 is not text")));
}

#[test]
fn csv_knows_quotes_and_line_ends() {
    let text = "x,y\r\n\"a,\"\"b\"\"\r\nc\",\n,\"\"\r\nlast,row";
    let (names, rows) = read_all(ResultsFormat::Csv, text.as_bytes()).expect("good text");
    assert_eq!(names, ["x", "y"]);
    let texts: Vec<String> = rows
        .iter()
        .map(|row| format!("{:?}", row.iter().map(Option::is_some).collect::<Vec<_>>()))
        .collect();
    assert_eq!(texts, ["[true, false]", "[false, false]", "[true, true]"]);
    let first = rows[0][0].as_ref().map(ToString::to_string);
    assert_eq!(first.as_deref(), Some("\"a,\\\"b\\\"\\r\\nc\""));
}
