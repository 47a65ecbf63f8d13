//! How long an empty question takes: what network and protocol alone cost.
//!
//! A mean that is near to it says little about the store. Nothing is reported if the endpoint
//! fails to answer; the run will tell why.

use super::connection::Connections;
use crate::answer::{RowSink, Term, check, read_rows};
use crate::queries::QueryForm;

/// An even number, so that the median is easily above any first slow one.
const QUESTIONS: usize = 20;
const QUESTION: &str = "ASK {}";

/// The median time of a question that needs no data, in seconds.
pub(crate) fn measure_floor(connections: &mut Connections<'_>) -> Option<f64> {
    let mut seconds = Vec::with_capacity(QUESTIONS);
    for _ in 0..QUESTIONS {
        let answer = connections.send(QueryForm::Select, QUESTION).ok()?;
        let format = connections.format();
        check(QueryForm::Select, format, &answer).ok()?;
        read_rows(format, &answer.body, &mut Ignored).ok()?;
        seconds.push(answer.seconds);
    }
    seconds.sort_by(f64::total_cmp);
    seconds.get(seconds.len() / 2).copied()
}

struct Ignored;

impl RowSink for Ignored {
    fn cell(&mut self, _name: &str, _term: &Term<'_>) {}

    fn end_row(&mut self) {}
}
