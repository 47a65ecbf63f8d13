//! What a load did and what the store is after it, as one JSON object.
//!
//! The keys are described in `docs/howto/load-data.md`. Sizes and tables are those of the store after the load, which may
//! have had data before; parts of one shape are one table.

use crate::storage::StorageReport;
use basalt_loader::LoadReport;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::time::Duration;

/// A table of the store, or several of the same name.
struct Table<'a> {
    name: &'a str,
    rows: u64,
    columns: usize,
    quads: u64,
    bytes: u64,
}

/// The summary of a load that took so long. What only the process knows, the most memory that it had and the file for bad lines,
/// is null.
pub fn load_summary(report: &LoadReport, storage: &StorageReport, elapsed: Duration) -> Value {
    let seconds = elapsed.as_secs_f64();
    let per_second = |count: u64| count as f64 / seconds.max(1e-9);
    let tables: Vec<Value> = tables(storage)
        .iter()
        .map(|table| {
            json!({
                "name": table.name,
                "rows": table.rows,
                "columns": table.columns,
                "quads": table.quads,
                "bytes": table.bytes,
            })
        })
        .collect();
    let phases: Vec<Value> = report
        .phases
        .iter()
        .map(|(phase, time)| json!({"phase": phase.name(), "seconds": time.as_secs_f64()}))
        .collect();
    json!({
        "quads_read": report.quads_read,
        "quads_before": report.quads_before,
        "duplicates": report.duplicates,
        "quads": report.quads_stored,
        "quads_in_cells": report.quads_in_cells,
        "irregular_quads": report.irregular_quads,
        "coverage": report.coverage(),
        "skipped_lines": report.skipped_lines,
        "errors_file": null,
        "seconds": seconds,
        "quads_per_second": per_second(report.quads_read),
        "bytes_read": report.bytes_read,
        "bytes_read_per_second": per_second(report.bytes_read),
        "peak_memory_bytes": null,
        "spilled_bytes": report.spilled_bytes,
        "rewritten": report.rewritten.map(|reason| reason.to_string()),
        "bytes": storage.bytes(),
        "bytes_per_quad": storage.bytes_per_quad(),
        "files": storage.kinds_json(),
        "tables": tables,
        "phases": phases,
    })
}

/// The tables, those with the most quads first.
fn tables(storage: &StorageReport) -> Vec<Table<'_>> {
    let mut by_name: BTreeMap<&str, Table<'_>> = BTreeMap::new();
    for stored in &storage.store.tables {
        let table = by_name.entry(&stored.name).or_insert(Table {
            name: &stored.name,
            rows: 0,
            columns: 0,
            quads: 0,
            bytes: 0,
        });
        let columns = stored.columns.iter().filter(|c| c.predicate.is_some());
        table.rows += stored.rows;
        table.columns = table.columns.max(columns.count());
        table.quads += stored.quads_in_cells();
        table.bytes += stored.file.bytes;
    }
    let mut tables: Vec<Table<'_>> = by_name.into_values().collect();
    tables.sort_by_key(|table| std::cmp::Reverse(table.quads));
    tables
}
