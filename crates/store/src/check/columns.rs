//! Deep checks of one table.

use super::IdRange;
use crate::error::StoreError;
use crate::inverse::Inverse;
use crate::table::{Column, Table};
use basalt_rdf::TermId;
use std::ops::ControlFlow;

/// Verifies every column of a table, its home graphs, and its totals.
pub(super) fn check_table(table: &Table, ids: IdRange) -> Result<(), StoreError> {
    let corrupt = |what: String| table.file().corrupt(0, what);
    let last = table.subject(table.rows().saturating_sub(1));
    if table.rows() > 0 && !ids.holds(last) {
        return Err(corrupt("its extent exceeds the dictionary".to_owned()));
    }
    for (column_idx, column) in table.columns().iter().enumerate() {
        let pairs = check_column(column, ids)
            .map_err(|e| name_column(e, table, &format!("column {column_idx}")))?;
        if !ids.holds(column.definition.predicate) {
            return Err(corrupt(format!(
                "column {column_idx} has an unknown predicate"
            )));
        }
        if let Some(inverse) = &column.inverse {
            check_inverse(inverse, column, pairs)
                .map_err(|e| name_column(e, table, &format!("inverse of column {column_idx}")))?;
        }
    }
    check_graphs(table, ids)?;
    check_values(table)
}

/// A problem of a column as text, or as the error it already is.
enum Problem {
    Error(StoreError),
    Found(String),
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        Self::Error(error)
    }
}

fn name_column(problem: Problem, table: &Table, place: &str) -> StoreError {
    match problem {
        Problem::Error(error) => error,
        Problem::Found(what) => table.file().corrupt(0, format!("{place}: {what}")),
    }
}

/// Verifies segments and zones; returns the (value, row) pairs in row order.
fn check_column(column: &Column, ids: IdRange) -> Result<Vec<(u64, u32)>, Problem> {
    let mut pairs = Vec::new();
    let (mut counts, mut values) = (Vec::new(), Vec::new());
    for (segment_idx, entry) in column.segments.iter().enumerate() {
        let found = |what: &str| Problem::Found(format!("segment {segment_idx}: {what}"));
        column
            .segment(segment_idx)
            .validate_deep()
            .map_err(|e| found(&e.to_string()))?;
        counts.clear();
        values.clear();
        let rows = column.rows_of_segment(segment_idx);
        column.scan_lists(rows.clone(), &mut counts, &mut values);
        let total: u64 = counts.iter().map(|&c| u64::from(c)).sum();
        if counts.len() != rows.len() || total != values.len() as u64 {
            return Err(found("rows and values do not add up"));
        }
        if let Some(&wrong) = values
            .iter()
            .find(|&&v| !column.definition.type_class.takes(TermId(v)) || !ids.holds(TermId(v)))
        {
            return Err(found(&format!("{:?} does not belong there", TermId(wrong))));
        }
        let zone = &entry.zone;
        let with_value = counts.iter().filter(|&&c| c > 0).count();
        let bounds = (values.iter().min(), values.iter().max());
        if (zone.rows_with_value as usize, zone.values as usize) != (with_value, values.len())
            || !values.is_empty() && bounds != (Some(&zone.min), Some(&zone.max))
        {
            return Err(found("its zone is not that of its values"));
        }
        let mut at = 0;
        for (row, &count) in rows.zip(&counts) {
            let of_row = &mut values[at..at + count as usize];
            pairs.extend(of_row.iter().map(|&value| (value, row)));
            of_row.sort_unstable();
            if of_row.windows(2).any(|w| w[0] == w[1]) {
                return Err(found(&format!("row {row} has a value twice")));
            }
            at += count as usize;
        }
    }
    Ok(pairs)
}

/// Verifies that an inverse holds exactly the pairs of its column.
fn check_inverse(
    inverse: &Inverse,
    column: &Column,
    mut pairs: Vec<(u64, u32)>,
) -> Result<(), Problem> {
    match inverse {
        Inverse::Adjacency(lists) => lists.validate_deep()?,
        Inverse::Bitmaps(bitmaps) => bitmaps.validate_deep()?,
        Inverse::Permutation(permutation) => permutation.validate_deep()?,
    }
    pairs.sort_unstable();
    let mut keys = Vec::new();
    let _ = inverse.visit_keys(&mut |key, count| {
        keys.push((key.0, count));
        // More keys than values cannot be right; the comparison below tells.
        if keys.len() > pairs.len() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    });
    let groups: Vec<&[(u64, u32)]> = pairs.chunk_by(|a, b| a.0 == b.0).collect();
    let expected = groups.iter().map(|g| (g[0].0, g.len() as u64));
    if !keys.iter().copied().eq(expected) {
        return Err(Problem::Found(
            "its values are not those of the column".to_owned(),
        ));
    }
    let mut rows = Vec::new();
    for group in groups {
        rows.clear();
        inverse.find(group[0].0, column.rows, &mut rows);
        if !rows.iter().eq(group.iter().map(|(_, row)| row)) {
            let value = TermId(group[0].0);
            return Err(Problem::Found(format!("the rows of {value:?} are wrong")));
        }
    }
    Ok(())
}

fn check_graphs(table: &Table, ids: IdRange) -> Result<(), StoreError> {
    let known = |graph: TermId| graph == TermId::DEFAULT_GRAPH || ids.holds(graph);
    let mut totals = std::collections::BTreeMap::new();
    if let Some(graph) = table.constant_graph() {
        if !known(graph) {
            return Err(table.file().corrupt(0, "its home graph is unknown"));
        }
        totals.insert(graph, 0);
    }
    let mut rows_values = vec![0_u64; table.rows() as usize];
    for column in table.columns() {
        let (mut counts, mut values) = (Vec::new(), Vec::new());
        column.scan_lists(0..column.rows, &mut counts, &mut values);
        for (total, count) in rows_values.iter_mut().zip(counts) {
            *total += u64::from(count);
        }
    }
    let mut graphs = Vec::new();
    if let Some(column) = table.graph_column() {
        for i in 0..column.segments.len() {
            column.segment(i).validate_deep().map_err(|e| {
                table
                    .file()
                    .corrupt(0, format!("home graphs, segment {i}: {e}"))
            })?;
        }
        column.scan(0..column.rows, &mut graphs);
        if let Some(inverse) = &column.inverse {
            let pairs = graphs.iter().copied().zip(0..).collect();
            check_inverse(inverse, column, pairs)
                .map_err(|e| name_column(e, table, "inverse of home graphs"))?;
        }
    } else {
        let graph = table.constant_graph().unwrap_or(TermId::DEFAULT_GRAPH);
        graphs = vec![graph.0; rows_values.len()];
    }
    for (&graph, values) in graphs.iter().zip(rows_values) {
        let graph = TermId(graph);
        if !known(graph) || !graph.is_bound() {
            return Err(table.file().corrupt(0, "a row has an unknown home graph"));
        }
        *totals.entry(graph).or_default() += values;
    }
    if !table.graph_totals().iter().copied().eq(totals) {
        return Err(table.file().corrupt(0, "its totals by graph are wrong"));
    }
    Ok(())
}

/// Verifies the counts of each predicate's statistics.
fn check_values(table: &Table) -> Result<(), StoreError> {
    for columns in table.predicate_columns() {
        let statistics = &columns.statistics;
        let zones = || {
            let idxs = columns.column_idxs.iter();
            idxs.flat_map(|&i| table.column(i).segments.iter().map(|s| s.zone))
                .filter(|z| z.values > 0)
        };
        let values: u64 = zones().map(|z| u64::from(z.values)).sum();
        let min = zones().map(|z| TermId(z.min)).min();
        let max = zones().map(|z| TermId(z.max)).max();
        if statistics.values != values || statistics.range != min.zip(max) {
            let predicate = columns.predicate;
            let what = format!("the statistics of predicate {predicate:?} are wrong");
            return Err(table.file().corrupt(0, what));
        }
    }
    Ok(())
}
