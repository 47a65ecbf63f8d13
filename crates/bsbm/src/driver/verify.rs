//! Holds a store to the updates that it confirmed: counts the triples of some subjects.
//!
//! An engine that drops updates would otherwise score high. It runs after the clock has stopped.

use super::connection::Connections;
use super::ledger::Expectation;
use crate::answer::{RowSink, Term, check, read_rows};
use crate::http::Failure;
use crate::queries::QueryForm;
use crate::report::UpdateReport;

/// Asks for each subject how many triples it has, and notes what is not as expected.
pub(crate) fn verify(
    connections: &mut Connections<'_>,
    expectations: &[Expectation],
    report: &mut UpdateReport,
) {
    for expectation in expectations {
        report.verified += 1;
        let subject = &expectation.subject;
        let found = match count(connections, subject) {
            Ok(found) if found == expectation.triples => continue,
            Ok(found) => format!(
                "<{subject}> has {found} triples, not {}",
                expectation.triples
            ),
            Err(reason) => format!("<{subject}> cannot be counted: {reason}"),
        };
        report.wrong += 1;
        report.first_wrong.get_or_insert(found);
    }
}

fn count(connections: &mut Connections<'_>, subject: &str) -> Result<u64, String> {
    let text = format!("SELECT (COUNT(*) AS ?triples) WHERE {{ <{subject}> ?property ?value }}");
    let answer = connections
        .select_from_default(&text)
        .map_err(|failure| match failure {
            Failure::Timeout => "it timed out".to_owned(),
            Failure::Other(reason) => reason,
        })?;
    let format = connections.format();
    check(QueryForm::Select, format, &answer)?;
    let mut sink = SingleNumber::default();
    read_rows(format, &answer.body, &mut sink)?;
    match (sink.rows, sink.value) {
        (1, Some(value)) => Ok(value),
        _ => Err("the answer is not one number".to_owned()),
    }
}

/// The number in the only row of an answer.
#[derive(Default)]
struct SingleNumber {
    value: Option<u64>,
    rows: u64,
}

impl RowSink for SingleNumber {
    fn cell(&mut self, _name: &str, term: &Term<'_>) {
        self.value = term.value.as_str().trim().parse().ok();
    }

    fn end_row(&mut self) {
        self.rows += 1;
    }
}
