//! The second oracle: Oxigraph's evaluator over the same set of quads, in memory.
//!
//! The evaluator runs on a plain term dataset and not on Oxigraph's store, because the store keeps
//! values instead of lexical forms (`"01"^^xsd:integer` would come back as `"1"`). Expression results
//! are still canonical numbers, so compare answers with
//! [`Numbers::ByValue`](crate::bag::Numbers::ByValue). Cost: the dataset is indexed anew per call.

use crate::dataset::{Answer, Dataset};
use oxigraph::sparql::{QueryEvaluationError, QueryResults, SparqlEvaluator, SparqlSyntaxError};
use oxigraph::store::{StorageError, Store};
use std::collections::HashSet;

/// Why Oxigraph has no answer.
#[derive(Debug, thiserror::Error)]
pub enum OxigraphError {
    /// The query is not SPARQL.
    #[error("oxigraph cannot parse the query: {0}")]
    Syntax(#[from] SparqlSyntaxError),
    /// The query could not be evaluated.
    #[error("oxigraph cannot evaluate the query: {0}")]
    Evaluation(#[from] QueryEvaluationError),
}

/// The dataset as Oxigraph gives it back when it has kept values: numbers and dates in canonical form.
///
/// `STR(?x)` of a term that was read gives that form too, where the standard wants the lexical form.
pub fn with_canonical_values(dataset: &Dataset) -> Result<Dataset, StorageError> {
    let store = Store::new()?;
    store.extend(dataset.quads().iter().cloned())?;
    let quads = store.iter().collect::<Result<Vec<_>, _>>()?;
    Ok(Dataset::from_quads(quads))
}

/// Evaluates a query text over a dataset.
pub fn evaluate(dataset: &Dataset, query: &str) -> Result<Answer, OxigraphError> {
    let quads: oxrdf::Dataset = dataset.quads().iter().cloned().collect();
    let results = SparqlEvaluator::new()
        .parse_query(query)?
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
