//! What a load did, for people: the JSON object of `docs/howto/load-data.md` as a text.
//!
//! The object comes from this process, or from the server that has done the load.

use crate::memory;
use crate::text_table::{Side, TextTable};
use crate::values::{show_bytes, show_count};
use basalt_engine::{Database, Error, LoadReport, StorageReport, load_summary};
use serde_json::Value;
use std::path::Path;
use std::time::Instant;

/// Tables that are shown to people; the JSON object has all.
const TABLES_SHOWN_MAX: usize = 20;

/// The summary of a load of this process that began at `start` and has just ended.
pub fn summary(
    database: &Database,
    report: &LoadReport,
    start: Instant,
    errors: Option<&Path>,
) -> Result<Value, Error> {
    let storage = StorageReport::new(&database.snapshot())?;
    let mut summary = load_summary(report, &storage, start.elapsed());
    summary["peak_memory_bytes"] = memory::peak_bytes().into();
    summary["errors_file"] = errors.map(|path| path.display().to_string()).into();
    Ok(summary)
}

/// The summary for people.
pub fn to_text(summary: &Value) -> String {
    let count = |key: &str| show_count(number(&summary[key]) as u64);
    let mut out = format!(
        "{} quads read in {:.2} s: {} quads/s, {:.1} MB/s",
        count("quads_read"),
        number(&summary["seconds"]),
        count("quads_per_second"),
        number(&summary["bytes_read_per_second"]) / 1e6,
    );
    if let Some(peak) = summary["peak_memory_bytes"].as_u64() {
        out.push_str(&format!("; peak memory {}", show_bytes(peak)));
    }
    let spilled = number(&summary["spilled_bytes"]) as u64;
    if spilled > 0 {
        let spilled = show_bytes(spilled);
        out.push_str(&format!("; {spilled} in temporary files"));
    }
    out.push_str(&format!(
        "\n{} duplicates, {} quads before, {} stored: {:.2} % in the cells of {} tables, {} irregular",
        count("duplicates"),
        count("quads_before"),
        count("quads"),
        number(&summary["coverage"]) * 100.0,
        list(&summary["tables"]).len(),
        count("irregular_quads")
    ));
    if let Some(reason) = summary["rewritten"].as_str() {
        out.push_str(&format!("\nrewrote the store: {reason}"));
    }
    let phases = list(&summary["phases"]).iter();
    let phases: Vec<String> = phases
        .map(|phase| {
            let name = phase["phase"].as_str().unwrap_or_default();
            format!("{name} {:.2} s", number(&phase["seconds"]))
        })
        .collect();
    out.push_str(&format!("\n{}\n", phases.join(", ")));
    out.push_str(&tables_text(list(&summary["tables"])));
    out.push_str(&sizes_text(summary));
    out
}

fn tables_text(tables: &[Value]) -> String {
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
            table["name"].as_str().unwrap_or_default().to_owned(),
            show_count(number(&table["rows"]) as u64),
            table["columns"].to_string(),
            show_count(number(&table["quads"]) as u64),
            show_bytes(number(&table["bytes"]) as u64),
        ]);
    }
    let mut out = text.to_text("  ");
    let rest = &tables[tables.len().min(TABLES_SHOWN_MAX)..];
    if !rest.is_empty() {
        let quads: f64 = rest.iter().map(|table| number(&table["quads"])).sum();
        let (count, quads) = (rest.len(), show_count(quads as u64));
        out.push_str(&format!("  and {count} more tables with {quads} quads\n"));
    }
    out
}

fn sizes_text(summary: &Value) -> String {
    let bytes = |kind: &str| show_bytes(number(&summary["files"][kind]) as u64);
    format!(
        "{} on disk, {:.1} bytes per quad: tables {}, irregular quads {}, dictionary {}, statistics {}",
        show_bytes(number(&summary["bytes"]) as u64),
        number(&summary["bytes_per_quad"]),
        bytes("tables"),
        bytes("irregular_quads"),
        bytes("dictionary"),
        bytes("statistics")
    )
}

/// A number of the object; counts beyond 2^53 are not met.
fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
