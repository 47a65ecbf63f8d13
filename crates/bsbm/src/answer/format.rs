//! The form in which an endpoint is asked to send rows.

use serde::{Deserialize, Serialize};

/// A format of rows; graphs are always asked for as N-Triples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ResultsFormat {
    /// SPARQL 1.1 Query Results JSON.
    #[default]
    Json,
    /// SPARQL Query Results XML, which the original driver asks for.
    Xml,
}

impl ResultsFormat {
    /// The format of a name as the command line spells it.
    pub fn from_name(name: &str) -> Option<ResultsFormat> {
        let all = [ResultsFormat::Json, ResultsFormat::Xml];
        all.into_iter().find(|format| format.name() == name)
    }

    /// The name as the command line spells it.
    pub fn name(self) -> &'static str {
        match self {
            ResultsFormat::Json => "json",
            ResultsFormat::Xml => "xml",
        }
    }

    /// What is asked for in `Accept`.
    pub(crate) fn media_type(self) -> &'static str {
        match self {
            ResultsFormat::Json => "application/sparql-results+json",
            ResultsFormat::Xml => "application/sparql-results+xml",
        }
    }
}
