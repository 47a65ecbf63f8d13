//! What the standard says about the answer to a query over a dataset, by way of the naive oracle.
//!
//! Most queries have one bag of rows for an answer. ORDER BY adds which row may not come after which,
//! and no more: the order of a string and a number is the engine's. LIMIT without a total order leaves open
//! which rows there are. [`Expectation::check`] holds an answer to exactly that much.
//!
//! Cost: of the order check, the square of the rows, of which it looks at the first few hundred.

use crate::bag::{self, Mismatch, Numbers};
use crate::dataset::{Answer, Dataset};
use crate::naive::{self, NaiveError, order};
use oxrdf::Term;
use spargebra::Query;
use spargebra::algebra::{Expression, GraphPattern, OrderExpression};
use std::cmp::Ordering;

/// So many rows are compared with one another.
const ORDERED_ROWS_MAX: usize = 200;

/// A row of an answer.
type Row = Vec<Option<Term>>;

/// What an answer is held to.
#[derive(Debug, Clone)]
pub struct Expectation {
    /// All rows, before OFFSET and LIMIT, in one of the orders that are right.
    answer: Answer,
    /// OFFSET and LIMIT of the whole query.
    slice: Option<(usize, Option<usize>)>,
    /// The sort keys that can be seen in the answer: columns, and whether they descend.
    keys: Vec<(String, bool)>,
}

/// Asks the naive oracle.
pub fn expectation(dataset: &Dataset, query: &Query) -> Result<Expectation, NaiveError> {
    let mut whole = query.clone();
    let mut slice = None;
    let mut keys = Vec::new();
    if let Query::Select { pattern, .. } = &mut whole {
        if let GraphPattern::Slice {
            inner,
            start,
            length,
        } = pattern
        {
            slice = Some((*start, *length));
            *pattern = inner.as_ref().clone();
        }
        keys = visible_keys(pattern);
    }
    Ok(Expectation {
        answer: naive::evaluate(dataset, &whole)?,
        slice,
        keys,
    })
}

/// The first sort keys of a pattern as far as they are variables.
fn visible_keys(pattern: &GraphPattern) -> Vec<(String, bool)> {
    match pattern {
        GraphPattern::Project { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner } => visible_keys(inner),
        GraphPattern::OrderBy { expression, .. } => expression
            .iter()
            .map_while(|key| match key {
                OrderExpression::Asc(Expression::Variable(v)) => Some((v.as_str().into(), false)),
                OrderExpression::Desc(Expression::Variable(v)) => Some((v.as_str().into(), true)),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

impl Expectation {
    /// The whole answer, before OFFSET and LIMIT.
    pub fn answer(&self) -> &Answer {
        &self.answer
    }

    /// Whether an answer is right.
    pub fn check(&self, actual: &Answer) -> Result<(), Mismatch> {
        self.check_rows(actual)?;
        match actual {
            Answer::Solutions { variables, rows } => self.check_order(variables, rows),
            Answer::Boolean(_) | Answer::Graph(_) => Ok(()),
        }
    }

    /// Whether an answer has the right rows, in whatever order.
    pub fn check_rows(&self, actual: &Answer) -> Result<(), Mismatch> {
        match (&self.slice, &self.answer) {
            (Some((offset, limit)), Answer::Solutions { variables, rows }) => {
                if self.is_total(variables, rows) {
                    let kept = rows.iter().skip(*offset).take(limit.unwrap_or(usize::MAX));
                    let cut = Answer::Solutions {
                        variables: variables.clone(),
                        rows: kept.cloned().collect(),
                    };
                    bag::compare(&cut, actual, Numbers::ByValue)
                } else {
                    let numbers = Numbers::ByValue;
                    bag::compare_sliced(&self.answer, actual, *offset, *limit, numbers)
                }
            }
            _ => bag::compare(&self.answer, actual, Numbers::ByValue),
        }
    }

    /// Whether the keys tell every two rows apart that differ.
    fn is_total(&self, variables: &[String], rows: &[Row]) -> bool {
        let columns = self.columns(variables);
        rows.windows(2).all(|pair| {
            pair[0] == pair[1]
                || by_keys(&columns, &pair[0], &pair[1])
                    .is_some_and(|order| order != Ordering::Equal)
        })
    }

    fn check_order(&self, variables: &[String], rows: &[Row]) -> Result<(), Mismatch> {
        let columns = self.columns(variables);
        let rows = &rows[..rows.len().min(ORDERED_ROWS_MAX)];
        for (index, later) in rows.iter().enumerate() {
            for earlier in &rows[..index] {
                if by_keys(&columns, earlier, later) == Some(Ordering::Greater) {
                    return Err(Mismatch::new(format!(
                        "row {later:?} should come before row {earlier:?}"
                    )));
                }
            }
        }
        Ok(())
    }

    /// The places of the keys, up to the first that is not in the answer.
    fn columns(&self, variables: &[String]) -> Vec<(usize, bool)> {
        self.keys
            .iter()
            .map_while(|(name, descends)| {
                let column = variables.iter().position(|variable| variable == name)?;
                Some((column, *descends))
            })
            .collect()
    }
}

/// The order of two rows by their keys; nothing where the standard does not say.
fn by_keys(columns: &[(usize, bool)], a: &Row, b: &Row) -> Option<Ordering> {
    for &(column, descends) in columns {
        let order = order(
            a.get(column).and_then(Option::as_ref),
            b.get(column).and_then(Option::as_ref),
        )?;
        if order != Ordering::Equal {
            return Some(if descends { order.reverse() } else { order });
        }
    }
    Some(Ordering::Equal)
}

#[cfg(test)]
mod tests {
    use super::expectation;
    use crate::dataset::{Answer, Dataset};
    use oxrdf::{Literal, NamedNode, Quad};
    use spargebra::SparqlParser;

    fn check(query: &str, found: &[Literal]) -> bool {
        let iri = |name: &str| NamedNode::new_unchecked(format!("http://a/{name}"));
        let graph = oxrdf::GraphName::DefaultGraph;
        let quads = [1, 2, 3]
            .map(|n| Quad::new(iri("s"), iri("p"), Literal::from(n), graph.clone()))
            .into_iter()
            .chain([Quad::new(
                iri("s"),
                iri("p"),
                Literal::from("x"),
                graph.clone(),
            )]);
        let query = SparqlParser::new().parse_query(query).expect("it parses");
        let expected = expectation(&Dataset::from_quads(quads), &query).expect("it is supported");
        let answer = Answer::Solutions {
            variables: vec!["o".into()],
            rows: found.iter().map(|n| vec![Some(n.clone().into())]).collect(),
        };
        expected.check(&answer).is_ok()
    }

    #[test]
    fn rows_count_and_so_does_the_order_as_far_as_there_is_one() {
        let [one, two, three] = [1, 2, 3].map(Literal::from);
        let text = Literal::from("x");
        let all = "SELECT ?o { ?s ?p ?o }";
        let in_any_order = [three.clone(), one.clone(), text.clone(), two.clone()];
        assert!(check(all, &in_any_order));
        assert!(!check(all, &in_any_order[1..]));
        let sorted = "SELECT ?o { ?s ?p ?o } ORDER BY ?o";
        assert!(!check(sorted, &in_any_order));
        let right = [one.clone(), two.clone(), three.clone(), text.clone()];
        assert!(check(sorted, &right));
        let also_right = [text.clone(), one.clone(), two.clone(), three.clone()];
        assert!(check(sorted, &also_right));
        let cut = "SELECT ?o { ?s ?p ?o FILTER(isNumeric(?o)) } ORDER BY DESC(?o) LIMIT 2";
        assert!(check(cut, &[three.clone(), two.clone()]));
        assert!(!check(cut, &[three.clone(), one.clone()]));
        let any_two = "SELECT ?o { ?s ?p ?o } LIMIT 2";
        assert!(check(any_two, &[text.clone(), one.clone()]));
        assert!(!check(any_two, &[one.clone(), one]));
    }
}
