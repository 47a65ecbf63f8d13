//! Whether two answers say the same: multisets of rows up to the order of columns, blank node
//! labels and, on request, the spelling of numbers.
//!
//! Blank nodes are compared by colour refinement: every blank node starts with one colour and is
//! recoloured by the sorted rows it occurs in until no colour splits any more; then rows are compared
//! as text with colours for labels. Isomorphic answers always compare equal. Answers that are not
//! isomorphic but locally alike everywhere (two rings of blank nodes against one ring twice as long)
//! may compare equal too, which no generator here makes. Cost: rounds × rows × columns.

use crate::dataset::Answer;
use crate::naive::Number;
use oxrdf::{Literal, Term};
use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{Hash, Hasher};

/// How numeric literals are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Numbers {
    /// Equal terms only.
    Exact,
    /// Numbers of one datatype (types derived from xsd:integer count as xsd:integer) are equal if
    /// their values are: `"1.0E0"` and `"1"`, `"01"` and `"1"`. Language tags are equal in any case.
    ByValue,
}

/// How two answers differ.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Mismatch(String);

impl Mismatch {
    /// A difference that the comparison of rows does not know.
    pub fn new(what: String) -> Self {
        Self(what)
    }
}

/// One row: a term or nothing per column.
type Row = Vec<Option<Term>>;

/// The rows of both answers, columns in the same order.
type Tables = (Vec<Row>, Vec<Row>);

/// Compares two answers as multisets (graphs as sets of triples).
pub fn compare(expected: &Answer, actual: &Answer, numbers: Numbers) -> Result<(), Mismatch> {
    let (expected, actual) = match aligned(expected, actual)? {
        Some(tables) => tables,
        None => return Ok(()),
    };
    let mut left = printed(&expected, numbers);
    let mut right = printed(&actual, numbers);
    left.sort();
    right.sort();
    if left == right {
        Ok(())
    } else {
        Err(difference(&left, &right))
    }
}

/// Compares two answers whose row order is fixed by a total ORDER BY.
pub fn compare_ordered(
    expected: &Answer,
    actual: &Answer,
    numbers: Numbers,
) -> Result<(), Mismatch> {
    compare(expected, actual, numbers)?;
    let Some((expected, actual)) = aligned(expected, actual)? else {
        return Ok(());
    };
    let left = printed(&expected, numbers);
    let right = printed(&actual, numbers);
    match left.iter().zip(&right).position(|(a, b)| a != b) {
        None => Ok(()),
        Some(at) => Err(Mismatch(format!(
            "the same rows in another order: row {at} should be {}, is {}",
            left[at], right[at]
        ))),
    }
}

/// Checks an answer cut by OFFSET and LIMIT without a total order: it has the right number of rows, and
/// every row is one of the uncut answer, not more often than there.
///
/// Blank nodes are all taken for one here, since the cut may leave out what tells them apart.
pub fn compare_sliced(
    unlimited: &Answer,
    sliced: &Answer,
    offset: usize,
    limit: Option<usize>,
    numbers: Numbers,
) -> Result<(), Mismatch> {
    let Some((whole, part)) = aligned(unlimited, sliced)? else {
        return Ok(());
    };
    let expected_len = whole
        .len()
        .saturating_sub(offset)
        .min(limit.unwrap_or(usize::MAX));
    if part.len() != expected_len {
        return Err(Mismatch(format!(
            "{} rows instead of {expected_len} of {}",
            part.len(),
            whole.len()
        )));
    }
    let anonymous = HashMap::new();
    let mut available: HashMap<String, usize> = HashMap::new();
    for row in &whole {
        *available
            .entry(print_row(row, &anonymous, numbers))
            .or_default() += 1;
    }
    for row in &part {
        let row = print_row(row, &anonymous, numbers);
        match available.get_mut(&row) {
            Some(count) if *count > 0 => *count -= 1,
            _ => return Err(Mismatch(format!("row {row} is not in the uncut answer"))),
        }
    }
    Ok(())
}

/// Both answers as tables with the same column order, or nothing if they are equal booleans.
fn aligned(expected: &Answer, actual: &Answer) -> Result<Option<Tables>, Mismatch> {
    match (expected, actual) {
        (Answer::Boolean(a), Answer::Boolean(b)) if a == b => Ok(None),
        (Answer::Boolean(a), Answer::Boolean(b)) => {
            Err(Mismatch(format!("expected {a}, found {b}")))
        }
        (Answer::Graph(a), Answer::Graph(b)) => {
            let rows = |triples: &[oxrdf::Triple]| -> Vec<Row> {
                let distinct: HashSet<&oxrdf::Triple> = triples.iter().collect();
                distinct
                    .into_iter()
                    .map(|t| {
                        vec![
                            Some(t.subject.clone().into()),
                            Some(t.predicate.clone().into()),
                            Some(t.object.clone()),
                        ]
                    })
                    .collect()
            };
            Ok(Some((rows(a), rows(b))))
        }
        (
            Answer::Solutions { variables, rows },
            Answer::Solutions {
                variables: other_variables,
                rows: other_rows,
            },
        ) => {
            let places: Option<Vec<usize>> = variables
                .iter()
                .map(|v| other_variables.iter().position(|o| o == v))
                .collect();
            match places {
                Some(places) if variables.len() == other_variables.len() => {
                    let reordered = other_rows
                        .iter()
                        .map(|row| {
                            places
                                .iter()
                                .map(|p| row.get(*p).cloned().flatten())
                                .collect()
                        })
                        .collect();
                    Ok(Some((rows.clone(), reordered)))
                }
                _ => Err(Mismatch(format!(
                    "expected variables {variables:?}, found {other_variables:?}"
                ))),
            }
        }
        _ => Err(Mismatch("the answers are of different query forms".into())),
    }
}

/// The rows as text, with colours in place of blank node labels.
fn printed(rows: &[Row], numbers: Numbers) -> Vec<String> {
    let colours = refine(rows, numbers);
    rows.iter()
        .map(|row| print_row(row, &colours, numbers))
        .collect()
}

/// Colours the blank nodes of a table.
///
/// Termination: a round that does not raise the number of colours is the last one.
fn refine(rows: &[Row], numbers: Numbers) -> HashMap<String, u64> {
    let mut colours: HashMap<String, u64> = HashMap::new();
    for term in rows.iter().flatten().flatten() {
        if let Term::BlankNode(blank) = term {
            colours.insert(blank.as_str().to_owned(), 0);
        }
    }
    let mut colour_count = usize::from(!colours.is_empty());
    loop {
        let mut signatures: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for row in rows {
            let mut line = None;
            for (column, term) in row.iter().enumerate() {
                if let Some(Term::BlankNode(blank)) = term {
                    let line = line.get_or_insert_with(|| print_row(row, &colours, numbers));
                    signatures
                        .entry(blank.as_str().to_owned())
                        .or_default()
                        .push(format!("{column} {line}"));
                }
            }
        }
        let next: HashMap<String, u64> = signatures
            .into_iter()
            .map(|(label, mut lines)| {
                lines.sort();
                let mut hasher = DefaultHasher::new();
                (colours.get(&label), lines).hash(&mut hasher);
                (label, hasher.finish())
            })
            .collect();
        let next_count = next.values().collect::<HashSet<_>>().len();
        if next_count <= colour_count {
            return colours;
        }
        colours = next;
        colour_count = next_count;
    }
}

fn print_row(row: &Row, colours: &HashMap<String, u64>, numbers: Numbers) -> String {
    let cells: Vec<String> = row
        .iter()
        .map(|term| match term {
            None => String::new(),
            Some(Term::BlankNode(blank)) => {
                format!("_:{:x}", colours.get(blank.as_str()).unwrap_or(&0))
            }
            Some(Term::Literal(literal)) if numbers == Numbers::ByValue => by_value(literal),
            Some(term) => term.to_string(),
        })
        .collect();
    cells.join("\t")
}

/// A literal as text, a number in the canonical form of its value; every type derived from xsd:integer
/// counts as xsd:integer.
fn by_value(literal: &Literal) -> String {
    let name = literal.datatype().as_str();
    let number = name
        .strip_prefix("http://www.w3.org/2001/XMLSchema#")
        .and_then(|name| Number::parse(name, literal.value()));
    match number {
        Some(number) => Term::from(number).to_string(),
        // Tags that differ in case are one tag, and a string that an expression makes may come in either spelling.
        None => match literal.language() {
            Some(tag) => format!("{}@{}", literal.value(), tag.to_lowercase()),
            None => literal.to_string(),
        },
    }
}

/// The rows that only one of two sorted lists has.
fn difference(expected: &[String], actual: &[String]) -> Mismatch {
    let mut counts: BTreeMap<&str, i64> = BTreeMap::new();
    for row in expected {
        *counts.entry(row).or_default() += 1;
    }
    for row in actual {
        *counts.entry(row).or_default() -= 1;
    }
    let mut text = format!("expected {} rows, found {}", expected.len(), actual.len());
    for (row, count) in counts.into_iter().filter(|(_, count)| *count != 0).take(20) {
        let what = if count > 0 { "missing" } else { "surplus" };
        text.push_str(&format!("\n{what} {} times: {row}", count.abs()));
    }
    Mismatch(text)
}

#[cfg(test)]
mod tests;
