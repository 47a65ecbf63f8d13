//! The result formats, held to the W3C suites.
//!
//! The answers of all query-evaluation entries are written in every format and read back by another
//! implementation, or, for CSV, by the small reader below; and the entries whose result is a CSV file
//! are compared with that file, field by field as they are written. The suites are found by `RDF_TESTS_DIR` or
//! beside the workspace; without them the tests say that they were skipped.

mod support;

use basalt_engine::results::{write_boolean, write_graph, write_solutions};
use basalt_engine::{Answer, Database, Error, GraphFormat, QueryOptions, ResultsFormat};
use basalt_testkit::bag::{self, Numbers};
use basalt_testkit::w3c_sparql::{
    QueryTest, SPARQL_1_0, SPARQL_1_1, read_csv_tests, read_manifest, suite_folder,
};
use basalt_testkit::{Answer as OracleAnswer, Dataset};
use oxigraph::io::{RdfFormat, RdfParser};
use oxigraph::sparql::results::{
    QueryResultsFormat, QueryResultsParser, SliceQueryResultsParserOutput,
};
use oxrdf::{Literal, Term, Triple};
use std::collections::BTreeMap;
use std::path::PathBuf;
use support::{Configuration, Loaded, ask, load};

/// Entries whose answers differ from run to run.
const RANDOM: &[&str] = &[
    "rand01",
    "uuid01",
    "struuid01",
    "now01",
    "bnode01",
    "bnode02",
];

fn suites() -> Option<PathBuf> {
    let folder = suite_folder();
    if folder.is_none() {
        eprintln!("skipped: there are no W3C suites (set RDF_TESTS_DIR)");
    }
    Some(folder?.join("sparql"))
}

/// The data of an entry, its query, and the options to run it with.
fn prepared(test: &QueryTest) -> (Loaded, String, QueryOptions) {
    let dataset: Dataset = test.dataset().expect("the data can be read");
    let options = QueryOptions {
        base: Some(test.base_iri()),
        ..QueryOptions::default()
    };
    let text = test.query_text().expect("the query can be read");
    (load(&dataset, &Configuration::default()), text, options)
}

/// A query's answer as it is written in a format of solutions.
fn written(
    database: &Database,
    text: &str,
    options: &QueryOptions,
    format: ResultsFormat,
) -> Result<Vec<u8>, Error> {
    let mut bytes = Vec::new();
    match database.query(text, options)? {
        Answer::Boolean(value) => write_boolean(value, format, &mut bytes)?,
        Answer::Solutions(mut solutions) => {
            write_solutions(&mut solutions, format, &mut bytes)?;
        }
        Answer::Graph(_) => unreachable!("graphs have formats of their own"),
    }
    Ok(bytes)
}

fn read_back(bytes: &[u8], format: QueryResultsFormat) -> Result<OracleAnswer, String> {
    let told =
        |error: &dyn std::fmt::Display| format!("{error} in {}", String::from_utf8_lossy(bytes));
    let parsed = QueryResultsParser::from_format(format)
        .for_slice(bytes)
        .map_err(|error| told(&error))?;
    Ok(match parsed {
        SliceQueryResultsParserOutput::Boolean(value) => OracleAnswer::Boolean(value),
        SliceQueryResultsParserOutput::Solutions(solutions) => {
            let names = solutions.variables().iter();
            let variables = names.map(|v| v.as_str().to_owned()).collect();
            let rows = solutions
                .map(|row| row.map(|row| row.values().to_vec()))
                .collect::<Result<_, _>>()
                .map_err(|error| told(&error))?;
            OracleAnswer::Solutions { variables, rows }
        }
    })
}

/// The records of a CSV text, each field as it is written, with its quotes.
fn csv_records(text: &str) -> Vec<Vec<String>> {
    let mut records = Vec::new();
    let mut record = vec![String::new()];
    let mut is_quoted = false;
    for c in text.chars() {
        match c {
            ',' if !is_quoted => record.push(String::new()),
            '\r' if !is_quoted => {}
            '\n' if !is_quoted => records.push(std::mem::replace(&mut record, vec![String::new()])),
            _ => {
                is_quoted ^= c == '"';
                record.last_mut().expect("a record has a field").push(c);
            }
        }
    }
    assert_eq!(record, [""], "the last line has an end");
    records
}

/// A field without its quotes.
fn csv_value(field: &str) -> String {
    let inner = field.strip_prefix('"').and_then(|f| f.strip_suffix('"'));
    inner.map_or_else(|| field.to_owned(), |inner| inner.replace("\"\"", "\""))
}

/// Compares a CSV text with the answer that it should hold.
fn check_csv(text: &str, answer: &OracleAnswer) -> Result<(), String> {
    let (variables, rows) = match answer {
        OracleAnswer::Solutions { variables, rows } => (variables, rows),
        OracleAnswer::Boolean(value) => {
            let is_right = text == value.to_string();
            return is_right.then_some(()).ok_or_else(|| text.to_owned());
        }
        OracleAnswer::Graph(_) => unreachable!("graphs are not written as CSV"),
    };
    let plain = |term: &Option<Term>| match term {
        None => String::new(),
        Some(Term::NamedNode(node)) => node.as_str().to_owned(),
        Some(Term::Literal(literal)) => literal.value().to_owned(),
        Some(Term::BlankNode(_)) => "_:".to_owned(),
    };
    let mut expected: Vec<Vec<String>> = rows
        .iter()
        .map(|row| row.iter().map(plain).collect())
        .collect();
    let mut records = csv_records(text).into_iter();
    let head = records.next().ok_or("no head")?;
    if head != *variables && !(variables.is_empty() && head == [""]) {
        return Err(format!("the head is {head:?}"));
    }
    let unlabelled = |value: String| match value.starts_with("_:") {
        true => "_:".to_owned(),
        false => value,
    };
    let mut actual: Vec<Vec<String>> = records
        .map(|record| {
            let values = record.iter().map(|field| unlabelled(csv_value(field)));
            values.take(variables.len()).collect()
        })
        .collect();
    expected.sort();
    actual.sort();
    match expected == actual {
        true => Ok(()),
        false => Err(format!("{actual:?} in place of {expected:?}")),
    }
}

/// An answer with its language tags in lower case, as the readers of answers give them.
fn as_readers_give_it(answer: OracleAnswer) -> OracleAnswer {
    let OracleAnswer::Solutions {
        variables,
        mut rows,
    } = answer
    else {
        return answer;
    };
    for term in rows.iter_mut().flatten().flatten() {
        if let Term::Literal(literal) = term
            && let Some(tag) = literal.language()
        {
            let (text, tag) = (literal.value(), tag.to_lowercase());
            *literal = Literal::new_language_tagged_literal_unchecked(text, tag);
        }
    }
    OracleAnswer::Solutions { variables, rows }
}

/// Writes the answer of an entry in every format of its kind and reads it back.
fn check_formats(test: &QueryTest) -> Result<(), String> {
    let (loaded, text, options) = prepared(test);
    let answer = as_readers_give_it(ask(&loaded.database, &text, &options)?);
    if let OracleAnswer::Graph(_) = answer {
        return check_graph_formats(&loaded.database, &text, &options, &answer);
    }
    for (format, reader) in [
        (ResultsFormat::Json, Some(QueryResultsFormat::Json)),
        (ResultsFormat::Xml, Some(QueryResultsFormat::Xml)),
        (ResultsFormat::Tsv, Some(QueryResultsFormat::Tsv)),
        (ResultsFormat::Csv, None),
    ] {
        let bytes = written(&loaded.database, &text, &options, format)
            .map_err(|error| error.to_string())?;
        match reader {
            Some(reader) => {
                let read = read_back(&bytes, reader)?;
                bag::compare(&answer, &read, Numbers::Exact)
                    .map_err(|difference| format!("{format:?}: {difference}"))?;
            }
            None => check_csv(&String::from_utf8_lossy(&bytes), &answer)?,
        }
    }
    Ok(())
}

fn check_graph_formats(
    database: &Database,
    text: &str,
    options: &QueryOptions,
    answer: &OracleAnswer,
) -> Result<(), String> {
    for (format, reader) in [
        (GraphFormat::NTriples, RdfFormat::NTriples),
        (GraphFormat::Turtle, RdfFormat::Turtle),
        (GraphFormat::NQuads, RdfFormat::NQuads),
        (GraphFormat::TriG, RdfFormat::TriG),
    ] {
        let Answer::Graph(mut graph) = database.query(text, options).map_err(|e| e.to_string())?
        else {
            return Err("no graph".to_owned());
        };
        let mut bytes = Vec::new();
        write_graph(&mut graph, format, &mut bytes).map_err(|error| error.to_string())?;
        let triples: Vec<Triple> = RdfParser::from_format(reader)
            .for_slice(&bytes)
            .map(|quad| quad.map(Triple::from))
            .collect::<Result<_, _>>()
            .map_err(|error| error.to_string())?;
        bag::compare(answer, &OracleAnswer::Graph(triples), Numbers::Exact)
            .map_err(|difference| format!("{format:?}: {difference}"))?;
    }
    Ok(())
}

#[test]
fn written_answers_read_back_as_they_were() {
    let Some(root) = suites() else { return };
    let mut failures = Vec::new();
    let mut passed = 0;
    for (suite, folders) in [("sparql10", SPARQL_1_0), ("sparql11", SPARQL_1_1)] {
        for folder in folders {
            let manifest = root.join(suite).join(folder).join("manifest.ttl");
            let tests = read_manifest(&manifest).expect("the manifest can be read");
            for test in tests
                .iter()
                .filter(|test| !RANDOM.contains(&test.name.as_str()))
            {
                match check_formats(test) {
                    Ok(()) => passed += 1,
                    Err(what) => failures.push(format!("{suite}/{folder}/{}: {what}", test.name)),
                }
            }
        }
    }
    let failed = failures.len();
    eprintln!("answers written in every format and read back: {passed} passed, {failed} failed");
    assert!(passed > 500, "the suites have more entries");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Records with their columns in the order of names, blank nodes numbered as they come, sorted by rows.
fn comparable(text: &str) -> Vec<String> {
    let mut records = csv_records(text);
    let head = records.remove(0);
    let mut order: Vec<usize> = (0..head.len()).collect();
    order.sort_by_key(|&column| head[column].clone());
    let line = |record: &[String]| {
        let fields = order.iter().map(|&column| record[column].as_str());
        fields.collect::<Vec<_>>().join(",")
    };
    // Rows sort by what is not a label, then labels get numbers in that order.
    records.sort_by_key(|record| line(record).replace("_:", "\u{0}_:"));
    let mut labels = BTreeMap::new();
    for field in records
        .iter_mut()
        .flatten()
        .filter(|field| field.starts_with("_:"))
    {
        let number = labels.len();
        let number = *labels.entry(field.clone()).or_insert(number);
        *field = format!("_:{number}");
    }
    let mut lines = vec![line(&head)];
    lines.extend(records.iter().map(|record| line(record)));
    lines
}

#[test]
fn csv_is_written_as_in_the_suite() {
    let Some(root) = suites() else { return };
    let manifest = root.join("sparql11/csv-tsv-res/manifest.ttl");
    let tests = read_csv_tests(&manifest).expect("the manifest can be read");
    for test in &tests {
        let (loaded, text, options) = prepared(test);
        let bytes =
            written(&loaded.database, &text, &options, ResultsFormat::Csv).expect("the query runs");
        let actual = String::from_utf8(bytes).expect("CSV is UTF-8");
        let expected = std::fs::read_to_string(&test.result).expect("the result is there");
        assert_eq!(comparable(&actual), comparable(&expected), "{}", test.name);
        assert!(actual.lines().count() == actual.matches("\r\n").count());
    }
    eprintln!(
        "sparql11/csv-tsv-res (CSV): {} passed, 0 failed, 0 skipped",
        tests.len()
    );
    assert_eq!(tests.len(), 3, "the suite has three such entries");
}
