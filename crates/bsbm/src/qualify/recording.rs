//! Recorded answers, and their file: JSON lines, the first one about the run, one for each answer.
//!
//! Everything of an answer is kept, so that a recording of a trusted store serves as reference
//! for any other. Blank nodes have no names in it.

use crate::error::BsbmError;
use crate::outputs::io_error;
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

const FILE_VERSION: u32 = 1;

/// The answers of an endpoint to a use case.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// What was asked of whom.
    pub questions: Questions,
    /// The answers, in the order in which they came.
    pub answers: Vec<RecordedAnswer>,
}

/// What was asked of whom.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Questions {
    /// The version of the form of the file.
    pub version: u32,
    /// The endpoint.
    pub endpoint: String,
    /// The name of the use case.
    pub use_case: String,
    /// The number of products, which is the scale factor.
    pub products: u64,
    /// The seed of the data set.
    pub data_seed: u64,
    /// The seed of the parameters.
    pub seed: u64,
    /// Mixes asked.
    pub mixes: u64,
    /// Numbers of queries that were left out.
    pub ignored: Vec<u8>,
    /// The level that flights began on, if queries were drilled down.
    pub drill_down: Option<usize>,
}

/// One answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedAnswer {
    /// The number of the mix.
    pub mix: u64,
    /// The position in the mix.
    pub position: u32,
    /// The step of the flight; 0 if there is none.
    pub step: u32,
    /// The number of the query.
    pub number: u8,
    /// The level of its product type, if that can be of several; the root is 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<usize>,
    /// The text of a query; empty for updates.
    pub text: String,
    /// What came back.
    pub content: Content,
}

/// What an endpoint answered.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Content {
    /// Rows.
    Rows {
        /// The variables, sorted.
        variables: Vec<String>,
        /// Their values, in the order in which the rows came.
        rows: Vec<Vec<Option<RecordedTerm>>>,
    },
    /// Triples as lines of N-Triples, sorted.
    Triples(Vec<String>),
    /// An update was confirmed.
    Done,
    /// There is no answer, for this reason.
    Failed(String),
}

/// A value in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedTerm {
    /// `uri`, `literal` or `bnode`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The IRI or lexical form; empty for blank nodes.
    pub value: String,
    /// The datatype, unless it is xsd:string.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub datatype: Option<String>,
    /// The language tag, in lower case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub language: Option<String>,
}

impl Questions {
    pub(super) fn new_version() -> u32 {
        FILE_VERSION
    }
}

impl Recording {
    /// Writes the recording.
    pub fn write(&self, writer: &mut dyn Write) -> std::io::Result<()> {
        serde_json::to_writer(&mut *writer, &self.questions)?;
        for answer in &self.answers {
            writer.write_all(b"\n")?;
            serde_json::to_writer(&mut *writer, answer)?;
        }
        writer.write_all(b"\n")
    }

    /// Reads a recording.
    pub fn open(path: &Path) -> Result<Recording, BsbmError> {
        let file = File::open(path).map_err(io_error("opening", path))?;
        let bad = |line: usize, reason: String| BsbmError::BadRecording {
            path: path.to_path_buf(),
            reason: format!("line {line}: {reason}"),
        };
        let mut questions: Option<Questions> = None;
        let mut answers = Vec::new();
        for (line, text) in (1..).zip(BufReader::new(file).lines()) {
            let text = text.map_err(io_error("reading", path))?;
            if questions.is_none() {
                let found: Questions =
                    serde_json::from_str(&text).map_err(|error| bad(line, error.to_string()))?;
                if found.version != FILE_VERSION {
                    return Err(bad(line, format!("version {} is not known", found.version)));
                }
                questions = Some(found);
            } else {
                let answer: RecordedAnswer =
                    serde_json::from_str(&text).map_err(|error| bad(line, error.to_string()))?;
                answer.check().map_err(|reason| bad(line, reason))?;
                answers.push(answer);
            }
        }
        let questions = questions.ok_or_else(|| bad(1, "the file is empty".to_owned()))?;
        Ok(Recording { questions, answers })
    }

    /// Answers that failed.
    pub fn failures(&self) -> usize {
        let failed = |answer: &&RecordedAnswer| matches!(answer.content, Content::Failed(_));
        self.answers.iter().filter(failed).count()
    }
}

impl RecordedAnswer {
    /// Every row must have a value or a gap for every variable.
    fn check(&self) -> Result<(), String> {
        let Content::Rows { variables, rows } = &self.content else {
            return Ok(());
        };
        match rows.iter().find(|row| row.len() != variables.len()) {
            None => Ok(()),
            Some(row) => Err(format!(
                "a row has {} values for {} variables",
                row.len(),
                variables.len()
            )),
        }
    }
}
