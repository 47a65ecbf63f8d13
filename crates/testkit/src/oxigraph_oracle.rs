//! The second oracle: Oxigraph's evaluator over the same set of quads, in memory.
//!
//! The evaluator runs on a plain term dataset and not on Oxigraph's store, because the store keeps
//! values instead of lexical forms (`"01"^^xsd:integer` would come back as `"1"`). Expression results
//! are still canonical numbers, so compare answers with
//! [`Numbers::ByValue`](crate::bag::Numbers::ByValue). Cost: the dataset is indexed anew per call.

use crate::dataset::{Answer, Dataset};
use oxigraph::sparql::{QueryEvaluationError, QueryResults, SparqlEvaluator};
use spargebra::Query;
use std::collections::HashSet;

/// Evaluates a query over a dataset.
pub fn evaluate(dataset: &Dataset, query: &Query) -> Result<Answer, QueryEvaluationError> {
    evaluate_by(SparqlEvaluator::new(), dataset, query)
}

/// As [`evaluate`], with the plan that is the query as it stands.
pub fn evaluate_unoptimized(
    dataset: &Dataset,
    query: &Query,
) -> Result<Answer, QueryEvaluationError> {
    let evaluator = SparqlEvaluator::new().without_optimizations();
    evaluate_by(evaluator, dataset, query)
}

fn evaluate_by(
    evaluator: SparqlEvaluator,
    dataset: &Dataset,
    query: &Query,
) -> Result<Answer, QueryEvaluationError> {
    let quads: oxrdf::Dataset = dataset.quads().iter().cloned().collect();
    let results = evaluator
        .for_query(query.clone())
        .on_queryable_dataset(&quads)
        .execute()?;
    Ok(match results {
        QueryResults::Boolean(value) => Answer::Boolean(value),
        QueryResults::Solutions(solutions) => {
            let variables = solutions
                .variables()
                .iter()
                .map(|v| v.as_str().to_owned())
                .collect();
            let rows = solutions
                .map(|solution| Ok(solution?.values().to_vec()))
                .collect::<Result<_, QueryEvaluationError>>()?;
            Answer::Solutions { variables, rows }
        }
        QueryResults::Graph(triples) => {
            let mut seen = HashSet::new();
            let mut distinct = Vec::new();
            for triple in triples {
                let triple = triple?;
                if seen.insert(triple.clone()) {
                    distinct.push(triple);
                }
            }
            Answer::Graph(distinct)
        }
    })
}
