//! Grouping and aggregates (sections 11 and 18.5.1).
//!
//! An expression is evaluated for each row of a group; COUNT and SAMPLE leave errors out, every
//! other aggregate becomes an error (and its variable unbound) as soon as one row is an error.
//! Without GROUP BY there is exactly one group, even over nothing. Nothing summed or averaged is the
//! integer 0, the least or greatest of nothing is unbound.

use super::expression::{add, divide};
use super::pattern::Scope;
use super::value::{Number, compare_for_order};
use super::{NaiveError, Solution, string_function};
use oxrdf::{Literal, Term, Variable};
use spargebra::algebra::{AggregateExpression, AggregateFunction, Expression};
use std::collections::HashSet;

/// Partitions rows by the values of `variables` and computes the aggregates of each group.
pub(crate) fn group(
    scope: &Scope<'_>,
    rows: Vec<Solution>,
    variables: &[Variable],
    aggregates: &[(Variable, AggregateExpression)],
) -> Result<Vec<Solution>, NaiveError> {
    let mut groups: Vec<(Solution, Vec<Solution>)> = Vec::new();
    if variables.is_empty() {
        groups.push((Solution::new(), rows));
    } else {
        for row in rows {
            let key: Solution = variables
                .iter()
                .filter_map(|v| row.get_key_value(v.as_str()))
                .map(|(name, term)| (name.clone(), term.clone()))
                .collect();
            match groups.iter_mut().find(|(other, _)| *other == key) {
                Some((_, members)) => members.push(row),
                None => groups.push((key, vec![row])),
            }
        }
    }
    let mut result = Vec::new();
    for (mut key, members) in groups {
        for (variable, aggregate) in aggregates {
            if let Some(value) = compute(scope, aggregate, &members)? {
                key.insert(variable.as_str().to_owned(), value);
            }
        }
        result.push(key);
    }
    Ok(result)
}

fn compute(
    scope: &Scope<'_>,
    aggregate: &AggregateExpression,
    rows: &[Solution],
) -> Result<Option<Term>, NaiveError> {
    match aggregate {
        AggregateExpression::CountSolutions { distinct } => {
            let count = if *distinct {
                // Blank nodes of the pattern are not part of a solution.
                let visible = |row: &Solution| -> Solution {
                    row.iter()
                        .filter(|(name, _)| !name.starts_with("_:"))
                        .map(|(name, term)| (name.clone(), term.clone()))
                        .collect()
                };
                rows.iter().map(visible).collect::<HashSet<_>>().len()
            } else {
                rows.len()
            };
            Ok(integer(count))
        }
        AggregateExpression::FunctionCall {
            name,
            expr,
            distinct,
        } => {
            let (mut values, failed) = values(scope, expr, rows)?;
            if *distinct {
                let mut seen = HashSet::new();
                values.retain(|term| seen.insert(term.clone()));
            }
            apply(name, &values, failed)
        }
    }
}

/// The values of an expression over the rows, and whether some row was an error.
fn values(
    scope: &Scope<'_>,
    expression: &Expression,
    rows: &[Solution],
) -> Result<(Vec<Term>, bool), NaiveError> {
    let mut values = Vec::new();
    for row in rows {
        values.extend(scope.value_or_unbound(expression, row)?);
    }
    let failed = values.len() < rows.len();
    Ok((values, failed))
}

fn apply(
    name: &AggregateFunction,
    values: &[Term],
    failed: bool,
) -> Result<Option<Term>, NaiveError> {
    let by_order = |a: &&Term, b: &&Term| compare_for_order(Some(a), Some(b));
    Ok(match name {
        AggregateFunction::Count => integer(values.len()),
        AggregateFunction::Sample => values.first().cloned(),
        AggregateFunction::Custom(name) => {
            return Err(NaiveError::Unsupported(format!("aggregate {name}")));
        }
        _ if failed => None,
        AggregateFunction::Sum => sum(values).map(Term::from),
        AggregateFunction::Avg => average(values).map(Term::from),
        AggregateFunction::Min => values.iter().min_by(by_order).cloned(),
        // Of equal values the first is taken, as for the least one.
        AggregateFunction::Max => values.iter().rev().max_by(by_order).cloned(),
        AggregateFunction::GroupConcat { separator } => {
            string_function::group_concat(values, separator.as_deref().unwrap_or(" "))
        }
    })
}

fn sum(values: &[Term]) -> Option<Number> {
    values
        .iter()
        .try_fold(Number::Integer(0.into()), |total, term| {
            add(total, Number::of(term)?)
        })
}

fn average(values: &[Term]) -> Option<Number> {
    if values.is_empty() {
        return Some(Number::Integer(0.into()));
    }
    let count = i64::try_from(values.len()).ok()?;
    divide(sum(values)?, Number::Integer(count.into()))
}

fn integer(count: usize) -> Option<Term> {
    Some(Literal::from(i64::try_from(count).ok()?).into())
}
