//! What a load did, for people and as JSON.
//!
//! The sizes and tables are those of the store after the load, which may have had data before. The keys of the
//! JSON object are described in `docs/howto/load-data.md`.

use crate::memory;
use crate::text_table::{Side, TextTable};
use crate::values::{show_bytes, show_count};
use basalt_engine::{Database, Error, LoadReport, StorageReport};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

/// Tables that are shown to people; the JSON object has all.
const TABLES_SHOWN_MAX: usize = 20;

/// What a load did.
pub struct LoadSummary {
    report: LoadReport,
    seconds: f64,
    /// The most memory that the process had, if the system tells it.
    peak_memory: Option<u64>,
    /// Where the bytes of the store are now.
    storage: StorageReport,
    /// The file for bad lines, if one was wanted.
    errors: Option<PathBuf>,
}

/// A table of the store, or several of the same name.
struct Table<'a> {
    name: &'a str,
    rows: u64,
    columns: usize,
    quads: u64,
    bytes: u64,
}

impl LoadSummary {
    /// The summary of a load that began at `start` and has just ended.
    pub fn new(
        database: &Database,
        report: LoadReport,
        start: Instant,
        errors: Option<PathBuf>,
    ) -> Result<Self, Error> {
        Ok(Self {
            report,
            seconds: start.elapsed().as_secs_f64(),
            peak_memory: memory::peak_bytes(),
            storage: StorageReport::new(&database.snapshot())?,
            errors,
        })
    }

    fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.seconds.max(1e-9)
    }

    /// For people.
    pub fn to_text(&self) -> String {
        let report = &self.report;
        let mut out = format!(
            "{} quads read in {:.2} s: {} quads/s, {:.1} MB/s",
            show_count(report.quads_read),
            self.seconds,
            show_count(self.per_second(report.quads_read) as u64),
            self.per_second(report.bytes_read) / 1e6,
        );
        if let Some(peak) = self.peak_memory {
            out.push_str(&format!("; peak memory {}", show_bytes(peak)));
        }
        if report.spilled_bytes > 0 {
            let spilled = show_bytes(report.spilled_bytes);
            out.push_str(&format!("; {spilled} in temporary files"));
        }
        out.push_str(&format!(
            "\n{} duplicates, {} quads before, {} stored: {:.2} % in the cells of {} tables, {} irregular",
            show_count(report.duplicates),
            show_count(report.quads_before),
            show_count(report.quads_stored),
            report.coverage() * 100.0,
            self.tables().len(),
            show_count(report.irregular_quads)
        ));
        if let Some(reason) = report.rewritten {
            out.push_str(&format!("\nrewrote the store: {reason}"));
        }
        let phases = report.phases.iter();
        let phases: Vec<String> = phases
            .map(|(phase, time)| format!("{} {:.2} s", phase.name(), time.as_secs_f64()))
            .collect();
        out.push_str(&format!("\n{}\n", phases.join(", ")));
        out.push_str(&self.tables_text());
        out.push_str(&self.sizes_text());
        out
    }

    fn tables_text(&self) -> String {
        let tables = self.tables();
        if tables.is_empty() {
            return String::new();
        }
        let mut text = TextTable::new(&[
            ("table", Side::Left),
            ("rows", Side::Right),
            ("columns", Side::Right),
            ("quads in cells", Side::Right),
            ("size", Side::Right),
        ]);
        for table in tables.iter().take(TABLES_SHOWN_MAX) {
            text.row(vec![
                table.name.to_owned(),
                show_count(table.rows),
                table.columns.to_string(),
                show_count(table.quads),
                show_bytes(table.bytes),
            ]);
        }
        let mut out = text.to_text("  ");
        let rest = &tables[tables.len().min(TABLES_SHOWN_MAX)..];
        if !rest.is_empty() {
            let quads = rest.iter().map(|table| table.quads).sum();
            let (count, quads) = (rest.len(), show_count(quads));
            out.push_str(&format!("  and {count} more tables with {quads} quads\n"));
        }
        out
    }

    fn sizes_text(&self) -> String {
        let store = &self.storage.store;
        format!(
            "{} on disk, {:.1} bytes per quad: tables {}, irregular quads {}, dictionary {}, statistics {}",
            show_bytes(store.bytes()),
            self.storage.bytes_per_quad(),
            show_bytes(store.table_bytes()),
            show_bytes(store.quad_file.bytes),
            show_bytes(store.dictionary_bytes()),
            show_bytes(store.statistics.bytes)
        )
    }

    /// The tables, those with the most quads first.
    fn tables(&self) -> Vec<Table<'_>> {
        let mut by_name: BTreeMap<&str, Table<'_>> = BTreeMap::new();
        for stored in &self.storage.store.tables {
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

    /// As one JSON object.
    pub fn to_json(&self) -> Value {
        let report = &self.report;
        let tables = self.tables();
        let tables: Vec<Value> = tables
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
            "errors_file": self.errors,
            "seconds": self.seconds,
            "quads_per_second": self.per_second(report.quads_read),
            "bytes_read": report.bytes_read,
            "bytes_read_per_second": self.per_second(report.bytes_read),
            "peak_memory_bytes": self.peak_memory,
            "spilled_bytes": report.spilled_bytes,
            "rewritten": report.rewritten.map(|reason| reason.to_string()),
            "bytes": self.storage.bytes(),
            "bytes_per_quad": self.storage.bytes_per_quad(),
            "files": self.storage.kinds_json(),
            "tables": tables,
            "phases": phases,
        })
    }
}
