//! Reader of the W3C suites of SPARQL 1.1 Update: manifest entries to data, request and data afterwards.
//!
//! As in [`w3c_sparql`](crate::w3c_sparql), IRIs of files are `file:` IRIs of their real place, which is also the
//! base of requests.

use crate::dataset::Dataset;
use crate::w3c_sparql::{
    MF, RDFS, SuiteError, SyntaxTest, Triples, file_of, kind_of, literal_text, name_of, read,
    read_graph, read_syntax_tests_of,
};
use oxrdf::{GraphName, NamedNode, Quad, Term};
use std::path::{Path, PathBuf};

const UT: &str = "http://www.w3.org/2009/sparql/tests/test-update#";

/// Folders of SPARQL 1.1 with evaluation tests of updates.
pub const UPDATE_1_1: &[&str] = &[
    "add",
    "basic-update",
    "clear",
    "copy",
    "delete",
    "delete-data",
    "delete-insert",
    "delete-where",
    "drop",
    "move",
    "update-silent",
];

/// Folders of SPARQL 1.1 with syntax tests of updates.
pub const UPDATE_SYNTAX_1_1: &[&str] = &["delete-insert", "syntax-update-1", "syntax-update-2"];

/// The files of a default graph and of named graphs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphFiles {
    /// Files of the default graph.
    default: Vec<PathBuf>,
    /// Names and files of named graphs.
    named: Vec<(NamedNode, PathBuf)>,
}

/// One update-evaluation entry of a manifest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UpdateTest {
    /// The part of the entry's IRI after `#`.
    pub name: String,
    /// The file with the request.
    pub request: PathBuf,
    /// The data before.
    pub before: GraphFiles,
    /// The data afterwards.
    pub after: GraphFiles,
}

impl GraphFiles {
    /// The data; an empty graph of it is none.
    pub fn dataset(&self) -> Result<Dataset, SuiteError> {
        let mut quads: Vec<Quad> = Vec::new();
        for file in &self.default {
            let triples = read_graph(file)?.into_iter();
            quads.extend(triples.map(|triple| triple.in_graph(GraphName::DefaultGraph)));
        }
        for (name, file) in &self.named {
            let triples = read_graph(file)?.into_iter();
            quads.extend(triples.map(|triple| triple.in_graph(name.clone())));
        }
        Ok(Dataset::from_quads(quads))
    }
}

impl UpdateTest {
    /// The text of the request.
    pub fn text(&self) -> Result<String, SuiteError> {
        Ok(String::from_utf8_lossy(&read(&self.request)?).into_owned())
    }

    /// The base IRI of the request.
    pub fn base_iri(&self) -> String {
        format!("file://{}", self.request.display())
    }
}

/// The update-evaluation entries of a manifest, in its order.
pub fn read_update_tests(path: &Path) -> Result<Vec<UpdateTest>, SuiteError> {
    let graph = Triples(read_graph(path)?);
    let mut tests = Vec::new();
    for entry in graph.entries() {
        let wrong = |what: &str| SuiteError {
            path: path.display().to_string(),
            what: format!("{what} of {entry}"),
        };
        if kind_of(&graph, &entry).as_deref() != Some("UpdateEvaluationTest") {
            continue;
        }
        let part = |name: &str| graph.object(&entry, &format!("{MF}{name}"));
        let action = part("action").ok_or_else(|| wrong("no action"))?;
        let result = part("result").ok_or_else(|| wrong("no result"))?;
        let request = graph.object(&action, &format!("{UT}request"));
        let request = request.as_ref().and_then(file_of);
        tests.push(UpdateTest {
            name: name_of(&entry),
            request: request.ok_or_else(|| wrong("no request"))?,
            before: files_of(&graph, &action).ok_or_else(|| wrong("no data"))?,
            after: files_of(&graph, &result).ok_or_else(|| wrong("no data afterwards"))?,
        });
    }
    Ok(tests)
}

/// The update-syntax entries of a manifest, in its order.
pub fn read_update_syntax_tests(path: &Path) -> Result<Vec<SyntaxTest>, SuiteError> {
    read_syntax_tests_of(
        path,
        &["PositiveUpdateSyntaxTest11", "PositiveSyntaxTest11"],
        &["NegativeUpdateSyntaxTest11", "NegativeSyntaxTest11"],
    )
}

/// The files of a state; `None` where one is not described as it should be.
fn files_of(graph: &Triples, state: &Term) -> Option<GraphFiles> {
    let default = graph.objects(state, &format!("{UT}data"));
    let default: Option<Vec<PathBuf>> = default.iter().map(file_of).collect();
    let named = graph.objects(state, &format!("{UT}graphData"));
    let named = named.iter().map(|described| {
        let file = graph.object(described, &format!("{UT}graph"))?;
        let label = graph.object(described, &format!("{RDFS}label"))?;
        let name = NamedNode::new(literal_text(&label)).ok()?;
        Some((name, file_of(&file)?))
    });
    Some(GraphFiles {
        default: default?,
        named: named.collect::<Option<_>>()?,
    })
}
