//! Grouping and aggregates (sections 11 and 18.5.1).
//!
//! An expression is evaluated for each row of a group; COUNT and SAMPLE leave errors out, every
//! other aggregate becomes an error (and its variable unbound) as soon as one row is an error.
//! Where the standard leaves the value open (SAMPLE of unlike terms, the least of terms that no order
//! compares, sums of doubles that depend on their order) there is no answer but [`NaiveError::Ambiguous`];
//! only the parts of GROUP_CONCAT come in the order in which the oracle happens to find them.
//! Without GROUP BY there is exactly one group, even over nothing. Nothing summed or averaged is the
//! integer 0, the least or greatest of nothing is unbound.

use super::number::{Number, Operator};
use super::pattern::Scope;
use super::value::{number, order};
use super::{NaiveError, Solution, string_function};
use oxrdf::{Literal, Term, Variable};
use spargebra::algebra::{AggregateExpression, AggregateFunction, Expression};
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

/// Partitions rows by the values of `variables` and computes the aggregates of each group.
pub(crate) fn group(
    scope: &Scope<'_>,
    rows: Vec<Solution>,
    variables: &[Variable],
    aggregates: &[(Variable, AggregateExpression)],
) -> Result<Vec<Solution>, NaiveError> {
    let mut groups: Vec<(Solution, Vec<Solution>)> = Vec::new();
    let mut places: HashMap<Solution, usize> = HashMap::new();
    if variables.is_empty() {
        groups.push((Solution::new(), rows));
    } else {
        for row in rows {
            let key: Solution = variables
                .iter()
                .filter_map(|v| row.get_key_value(v.as_str()))
                .map(|(name, term)| (name.clone(), term.clone()))
                .collect();
            let next = groups.len();
            let place = *places.entry(key.clone()).or_insert(next);
            match groups.get_mut(place) {
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
    Ok(match name {
        AggregateFunction::Count => integer(values.len()),
        AggregateFunction::Sample => match values.split_first() {
            Some((first, rest)) if rest.iter().any(|other| other != first) => {
                return Err(NaiveError::Ambiguous("SAMPLE of unlike terms"));
            }
            first => first.map(|(first, _)| first.clone()),
        },
        AggregateFunction::Custom(name) => {
            return Err(NaiveError::Unsupported(format!("aggregate {name}")));
        }
        _ if failed => None,
        AggregateFunction::Sum => sum(values)?.map(Term::from),
        AggregateFunction::Avg => average(values)?.map(Term::from),
        AggregateFunction::Min => extreme(values, Ordering::Less)?,
        AggregateFunction::Max => extreme(values, Ordering::Greater)?,
        AggregateFunction::GroupConcat { separator } => {
            string_function::group_concat(values, separator.as_deref().unwrap_or(" "))
        }
    })
}

fn sum(values: &[Term]) -> Result<Option<Number>, NaiveError> {
    let numbers: Option<Vec<Number>> = values.iter().map(number).collect();
    let Some(numbers) = numbers else {
        return Ok(None);
    };
    let is_inexact = |n: &Number| matches!(n, Number::Float(_) | Number::Double(_));
    if numbers.iter().any(is_inexact) && !numbers.iter().all(Number::adds_in_any_order) {
        return Err(NaiveError::Ambiguous("sum that depends on the order"));
    }
    Ok(numbers
        .iter()
        .try_fold(Number::count(0), |total, n| total.compute(Operator::Add, n)))
}

fn average(values: &[Term]) -> Result<Option<Number>, NaiveError> {
    let count = Number::count(values.len());
    Ok(match sum(values)? {
        Some(total) if !values.is_empty() => total.compute(Operator::Divide, &count),
        total => total,
    })
}

/// The term that is before (or after) all others in the order of ORDER BY, if that order says which it is.
fn extreme(values: &[Term], wanted: Ordering) -> Result<Option<Term>, NaiveError> {
    let Some(first) = values.first() else {
        return Ok(None);
    };
    let best =
        values
            .iter()
            .skip(1)
            .fold(first, |best, other| match order(Some(other), Some(best)) {
                Some(order) if order == wanted => other,
                _ => best,
            });
    let is_beaten_or_same = |other: &Term| {
        other == best || order(Some(best), Some(other)).is_some_and(|order| order == wanted)
    };
    if values.iter().all(is_beaten_or_same) {
        Ok(Some(best.clone()))
    } else {
        Err(NaiveError::Ambiguous("extreme of terms without an order"))
    }
}

fn integer(count: usize) -> Option<Term> {
    Some(Literal::from(i64::try_from(count).ok()?).into())
}
