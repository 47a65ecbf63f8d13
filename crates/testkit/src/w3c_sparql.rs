//! Reader of the W3C SPARQL query-evaluation suites: manifest entries to data, query and answer.
//!
//! The suites are not part of the project; [`suite_folder`] finds them by environment variable or beside
//! the workspace, and says nothing where they are absent, so that a test can report that it was skipped.
//! Entries of other kinds (protocol) are left out; those of updates are read by [`w3c_update`](crate::w3c_update). IRIs of files are `file:` IRIs of
//! their real place, which is also the base of queries.

use crate::dataset::{Answer, Dataset};
use oxigraph::io::{RdfFormat, RdfParser};
use oxigraph::sparql::results::{
    QueryResultsFormat, QueryResultsParser, SliceQueryResultsParserOutput,
};
use oxrdf::{GraphName, NamedNode, Quad, Term, Triple};
use std::path::{Path, PathBuf};

pub(crate) const MF: &str = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#";
const QT: &str = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#";
const RS: &str = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#";
pub(crate) const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
pub(crate) const RDFS: &str = "http://www.w3.org/2000/01/rdf-schema#";

/// Folders of SPARQL 1.0 with evaluation tests.
pub const SPARQL_1_0: &[&str] = &[
    "algebra",
    "ask",
    "basic",
    "bnode-coreference",
    "boolean-effective-value",
    "bound",
    "cast",
    "construct",
    "dataset",
    "distinct",
    "expr-builtin",
    "expr-equals",
    "expr-ops",
    "graph",
    "i18n",
    "open-world",
    "optional",
    "optional-filter",
    "reduced",
    "regex",
    "solution-seq",
    "sort",
    "triple-match",
    "type-promotion",
];

/// Folders of SPARQL 1.1 with evaluation tests.
pub const SPARQL_1_1: &[&str] = &[
    "aggregates",
    "bind",
    "bindings",
    "cast",
    "construct",
    "csv-tsv-res",
    "exists",
    "functions",
    "grouping",
    "json-res",
    "negation",
    "project-expression",
    "property-path",
    "subquery",
];

/// Why a suite cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("cannot read {path}: {what}")]
pub struct SuiteError {
    /// The file.
    pub(crate) path: String,
    /// What is wrong with it.
    pub(crate) what: String,
}

/// One query-evaluation entry of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryTest {
    /// The part of the entry's IRI after `#`.
    pub name: String,
    /// The query file.
    pub query: PathBuf,
    /// Files of the default graph.
    pub data: Vec<PathBuf>,
    /// Names and files of named graphs.
    pub graphs: Vec<(NamedNode, PathBuf)>,
    /// The file with the expected answer.
    pub result: PathBuf,
}

/// The folder of the W3C suites (`RDF_TESTS_DIR`, default `../shared/data/w3c` beside the workspace), if
/// it is there.
pub fn suite_folder() -> Option<PathBuf> {
    let folder = match std::env::var_os("RDF_TESTS_DIR") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/w3c"),
    };
    folder.canonicalize().ok()
}

/// One query-syntax entry of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SyntaxTest {
    /// The part of the entry's IRI after `#`.
    pub name: String,
    /// The query file.
    pub query: PathBuf,
    /// Whether it holds a query.
    pub is_query: bool,
}

/// The query-syntax entries of a manifest, in its order.
pub fn read_syntax_tests(path: &Path) -> Result<Vec<SyntaxTest>, SuiteError> {
    read_syntax_tests_of(
        path,
        &["PositiveSyntaxTest", "PositiveSyntaxTest11"],
        &["NegativeSyntaxTest", "NegativeSyntaxTest11"],
    )
}

/// The syntax entries of a manifest, in its order: those of kinds whose text must parse, and of kinds whose text must not.
pub(crate) fn read_syntax_tests_of(
    path: &Path,
    positive: &[&str],
    negative: &[&str],
) -> Result<Vec<SyntaxTest>, SuiteError> {
    let graph = Triples(read_graph(path)?);
    let mut tests = Vec::new();
    for entry in graph.entries() {
        let Some(kind) = kind_of(&graph, &entry) else {
            continue;
        };
        let is_query = positive.contains(&kind.as_str());
        if !is_query && !negative.contains(&kind.as_str()) {
            continue;
        }
        let action = graph.object(&entry, &format!("{MF}action"));
        tests.push(SyntaxTest {
            name: name_of(&entry),
            query: action
                .as_ref()
                .and_then(file_of)
                .ok_or_else(|| SuiteError {
                    path: path.display().to_string(),
                    what: format!("no text of {entry}"),
                })?,
            is_query,
        });
    }
    Ok(tests)
}

/// The kind of an entry, without the namespace.
pub(crate) fn kind_of(graph: &Triples, entry: &Term) -> Option<String> {
    let kind = iri_of(&graph.object(entry, &format!("{RDF}type"))?)?;
    Some(kind.as_str().strip_prefix(MF)?.to_owned())
}

/// The query-evaluation entries of a manifest, in its order. What a manifest describes but does not
/// list is no entry.
pub fn read_manifest(path: &Path) -> Result<Vec<QueryTest>, SuiteError> {
    read_tests(path, "QueryEvaluationTest")
}

/// The entries of a manifest whose result is a CSV file.
pub fn read_csv_tests(path: &Path) -> Result<Vec<QueryTest>, SuiteError> {
    read_tests(path, "CSVResultFormatTest")
}

fn read_tests(path: &Path, kind: &str) -> Result<Vec<QueryTest>, SuiteError> {
    let graph = Triples(read_graph(path)?);
    let kind = Term::from(NamedNode::new_unchecked(format!("{MF}{kind}")));
    let mut tests = Vec::new();
    let is_of_kind = |entry: &Term| {
        let kinds = graph.objects(entry, &format!("{RDF}type"));
        kinds.contains(&kind)
    };
    for entry in graph.entries().into_iter().filter(is_of_kind) {
        let wrong = |what: &str| SuiteError {
            path: path.display().to_string(),
            what: format!("{what} of {entry}"),
        };
        let action = graph
            .object(&entry, &format!("{MF}action"))
            .ok_or_else(|| wrong("no action"))?;
        let file = |term: &Term| file_of(term).ok_or_else(|| wrong("no file"));
        let query = graph
            .object(&action, &format!("{QT}query"))
            .ok_or_else(|| wrong("no query"))?;
        let result = graph
            .object(&entry, &format!("{MF}result"))
            .ok_or_else(|| wrong("no result"))?;
        let mut graphs = Vec::new();
        for named in graph.objects(&action, &format!("{QT}graphData")) {
            graphs.push(match graph.object(&named, &format!("{QT}graph")) {
                Some(source) => {
                    let label = graph.object(&named, &format!("{RDFS}label"));
                    let label = label.as_ref().map_or("", literal_text);
                    (NamedNode::new_unchecked(label), file(&source)?)
                }
                None => (
                    iri_of(&named).ok_or_else(|| wrong("no graph"))?,
                    file(&named)?,
                ),
            });
        }
        let data = graph.objects(&action, &format!("{QT}data"));
        tests.push(QueryTest {
            name: name_of(&entry),
            query: file(&query)?,
            data: data.iter().map(file).collect::<Result<_, _>>()?,
            graphs,
            result: file(&result)?,
        });
    }
    Ok(tests)
}

impl QueryTest {
    /// The data of the test; where none is listed, the files that the query's FROM clauses name.
    pub fn dataset(&self) -> Result<Dataset, SuiteError> {
        let mut quads = Vec::new();
        for file in &self.data {
            quads.extend(
                read_graph(file)?
                    .into_iter()
                    .map(|t| t.in_graph(GraphName::DefaultGraph)),
            );
        }
        for (name, file) in &self.graphs {
            quads.extend(
                read_graph(file)?
                    .into_iter()
                    .map(|t| t.in_graph(name.clone())),
            );
        }
        if self.data.is_empty() && self.graphs.is_empty() {
            for name in self.dataset_clauses()? {
                if let Some(file) = file_of(&name.clone().into()) {
                    quads.extend(
                        read_graph(&file)?
                            .into_iter()
                            .map(|t| t.in_graph(name.clone())),
                    );
                }
            }
        }
        Ok(Dataset::from_quads(
            quads.into_iter().collect::<Vec<Quad>>(),
        ))
    }

    /// The graphs in the dataset clauses of the query, none if it is not a query.
    fn dataset_clauses(&self) -> Result<Vec<NamedNode>, SuiteError> {
        let text = self.query_text()?;
        let parser = spargebra::SparqlParser::new().with_base_iri(self.base_iri());
        let query = parser
            .ok()
            .and_then(|parser| parser.parse_query(&text).ok());
        let mut names = Vec::new();
        if let Some(clauses) = query.as_ref().and_then(|query| query.dataset()) {
            names.extend(clauses.default.iter().cloned());
            names.extend(clauses.named.iter().flatten().cloned());
            names.sort();
            names.dedup();
        }
        Ok(names)
    }

    /// The text of the query.
    pub fn query_text(&self) -> Result<String, SuiteError> {
        let bytes = read(&self.query)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The base IRI of the query.
    pub fn base_iri(&self) -> String {
        format!("file://{}", self.query.display())
    }

    /// Whether the order of the expected rows counts.
    pub fn is_ordered(&self) -> Result<bool, SuiteError> {
        if !matches!(
            self.result.extension().and_then(|e| e.to_str()),
            Some("ttl" | "rdf")
        ) {
            return Ok(false);
        }
        let index = format!("{RS}index");
        let graph = read_graph(&self.result)?;
        Ok(graph.iter().any(|t| t.predicate.as_str() == index))
    }

    /// The expected answer.
    pub fn expected(&self) -> Result<Answer, SuiteError> {
        let wrong = |what: String| SuiteError {
            path: self.result.display().to_string(),
            what,
        };
        let extension = self
            .result
            .extension()
            .and_then(|e| e.to_str())
            .unwrap_or("");
        let Some(format) = QueryResultsFormat::from_extension(extension) else {
            let graph = read_graph(&self.result)?;
            return Ok(answer_of_graph(graph));
        };
        let bytes = read(&self.result)?;
        let parsed = QueryResultsParser::from_format(format)
            .for_slice(&bytes)
            .map_err(|error| wrong(error.to_string()))?;
        Ok(match parsed {
            SliceQueryResultsParserOutput::Boolean(value) => Answer::Boolean(value),
            SliceQueryResultsParserOutput::Solutions(solutions) => {
                let names = solutions.variables().iter();
                let variables = names.map(|v| v.as_str().to_owned()).collect();
                let rows = solutions
                    .map(|row| row.map(|row| row.values().to_vec()))
                    .collect::<Result<_, _>>()
                    .map_err(|error| wrong(error.to_string()))?;
                Answer::Solutions { variables, rows }
            }
        })
    }
}

/// Reads a result that is given as RDF: a result set in the DAWG vocabulary, or a graph.
fn answer_of_graph(triples: Vec<Triple>) -> Answer {
    let graph = Triples(triples);
    let Some(set) = graph
        .subjects(&format!("{RDF}type"), &format!("{RS}ResultSet"))
        .pop()
    else {
        return Answer::Graph(graph.0);
    };
    if let Some(value) = graph.object(&set, &format!("{RS}boolean")) {
        return Answer::Boolean(literal_text(&value) == "true");
    }
    let names = graph.objects(&set, &format!("{RS}resultVariable"));
    let variables: Vec<String> = names.iter().map(|v| literal_text(v).to_owned()).collect();
    let mut rows = Vec::new();
    for solution in graph.objects(&set, &format!("{RS}solution")) {
        let mut row = vec![None; variables.len()];
        for binding in graph.objects(&solution, &format!("{RS}binding")) {
            let name = graph.object(&binding, &format!("{RS}variable"));
            let name = name.as_ref().map_or("", literal_text);
            if let Some(place) = variables.iter().position(|v| v == name) {
                row[place] = graph.object(&binding, &format!("{RS}value"));
            }
        }
        let index = graph.object(&solution, &format!("{RS}index"));
        let index: Option<u32> = index.and_then(|index| literal_text(&index).parse().ok());
        rows.push((index, row));
    }
    rows.sort_by_key(|(index, _)| *index);
    let rows = rows.into_iter().map(|(_, row)| row).collect();
    Answer::Solutions { variables, rows }
}

/// A graph with the look-ups that manifests need.
pub(crate) struct Triples(pub(crate) Vec<Triple>);

impl Triples {
    /// The entries that a manifest lists.
    pub(crate) fn entries(&self) -> Vec<Term> {
        let is_list = |t: &&Triple| t.predicate.as_str() == format!("{MF}entries");
        let mut entries = Vec::new();
        let mut rest = self.0.iter().find(is_list).map(|t| t.object.clone());
        // Termination: a list read from Turtle has an end.
        while let Some(list) = rest {
            entries.extend(self.object(&list, &format!("{RDF}first")));
            rest = self.object(&list, &format!("{RDF}rest"));
        }
        entries
    }

    pub(crate) fn objects(&self, subject: &Term, predicate: &str) -> Vec<Term> {
        let of_subject = |t: &&Triple| Term::from(t.subject.clone()) == *subject;
        let found = self.0.iter().filter(of_subject);
        found
            .filter(|t| t.predicate.as_str() == predicate)
            .map(|t| t.object.clone())
            .collect()
    }

    pub(crate) fn object(&self, subject: &Term, predicate: &str) -> Option<Term> {
        self.objects(subject, predicate).into_iter().next()
    }

    fn subjects(&self, predicate: &str, object: &str) -> Vec<Term> {
        let object = Term::from(NamedNode::new_unchecked(object));
        let found = self.0.iter().filter(|t| t.object == object);
        found
            .filter(|t| t.predicate.as_str() == predicate)
            .map(|t| t.subject.clone().into())
            .collect()
    }
}

pub(crate) fn name_of(entry: &Term) -> String {
    let iri = literal_text(entry);
    iri.rsplit('#').next().unwrap_or(iri).to_owned()
}

pub(crate) fn literal_text(term: &Term) -> &str {
    match term {
        Term::Literal(literal) => literal.value(),
        Term::NamedNode(iri) => iri.as_str(),
        Term::BlankNode(_) => "",
    }
}

pub(crate) fn iri_of(term: &Term) -> Option<NamedNode> {
    match term {
        Term::NamedNode(iri) => Some(iri.clone()),
        _ => None,
    }
}

pub(crate) fn file_of(term: &Term) -> Option<PathBuf> {
    let iri = iri_of(term)?;
    Some(PathBuf::from(iri.as_str().strip_prefix("file://")?))
}

pub(crate) fn read(path: &Path) -> Result<Vec<u8>, SuiteError> {
    std::fs::read(path).map_err(|error| SuiteError {
        path: path.display().to_string(),
        what: error.to_string(),
    })
}

/// Reads a file of any RDF syntax, with its own place as base.
pub(crate) fn read_graph(path: &Path) -> Result<Vec<Triple>, SuiteError> {
    let wrong = |what: String| SuiteError {
        path: path.display().to_string(),
        what,
    };
    let extension = path.extension().and_then(|e| e.to_str()).unwrap_or("ttl");
    let format = RdfFormat::from_extension(extension).unwrap_or(RdfFormat::Turtle);
    let parser = RdfParser::from_format(format)
        .with_base_iri(format!("file://{}", path.display()))
        .map_err(|error| wrong(error.to_string()))?
        .rename_blank_nodes();
    parser
        .for_slice(&read(path)?)
        .map(|quad| quad.map(Triple::from))
        .collect::<Result<_, _>>()
        .map_err(|error| wrong(error.to_string()))
}
