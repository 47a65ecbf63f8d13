//! Answers that are compared whatever the order of their rows.

use basalt_engine::query::Prepared;
use basalt_engine::{Answer, QueryOptions};

/// The rows of a SELECT as text, sorted.
pub fn sorted_rows(prepared: &Prepared, options: &QueryOptions) -> Vec<String> {
    let Answer::Solutions(solutions) = prepared.run(options).expect("it runs") else {
        unreachable!("the query is a SELECT");
    };
    let rows = solutions.into_rows().expect("it runs to its end");
    let mut rows: Vec<String> = rows.iter().map(|row| format!("{row:?}")).collect();
    rows.sort();
    rows
}
