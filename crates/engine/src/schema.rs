//! `SchemaReport`: the shapes of a store, for people and programs.
//!
//! Made from statistics alone; costs microseconds per column.

use crate::error::Error;
use basalt_rdf::{TermBuf, TermId};
use basalt_store::Snapshot;
use serde_json::{Value, json};
use std::fmt::Write;

/// The shapes of a store.
#[derive(Clone, Debug, PartialEq)]
pub struct SchemaReport {
    /// All quads.
    pub quads: u64,
    /// Share of the quads in table cells, 0 to 1.
    pub coverage: f64,
    /// Quads that are in no cell.
    pub irregular_quads: u64,
    /// Share of the cells that hold no value, over all columns, 0 to 1.
    pub null_share: f64,
    /// The tables, in the order of the store.
    pub tables: Vec<TableReport>,
}

/// One table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableReport {
    /// The name.
    pub name: String,
    /// Rows.
    pub rows: u64,
    /// The columns.
    pub columns: Vec<ColumnReport>,
}

/// The cells of one predicate.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnReport {
    /// IRI of the predicate.
    pub predicate: String,
    /// Kind of the values.
    pub kind: String,
    /// Whether a row can have several values.
    pub multi_valued: bool,
    /// Share of the rows without a value, 0 to 1.
    pub null_share: f64,
    /// Values.
    pub values: u64,
    /// Distinct values (an estimate for long text).
    pub distinct: u64,
    /// Irregular quads' rows: rows of this table that have more values of the predicate elsewhere.
    pub dirty_rows: u64,
    /// Tables that values are rows of, by name, with their counts.
    pub links: Vec<(String, u64)>,
}

impl SchemaReport {
    /// Reads the shapes of a snapshot.
    pub fn new(snapshot: &Snapshot) -> Result<Self, Error> {
        let irregular_quads: u64 = snapshot
            .quad_table()
            .predicates()
            .map(|(_, known)| known.quads)
            .sum();
        let quads = snapshot.quad_count();
        let mut tables = Vec::new();
        let (mut cells, mut filled) = (0u64, 0u64);
        for table in snapshot.tables() {
            let mut columns = Vec::new();
            for predicate in table.predicates() {
                if let Some(column) = column_report(snapshot, table, predicate)? {
                    cells += u64::from(table.rows());
                    filled += (f64::from(table.rows()) * (1.0 - column.null_share)).round() as u64;
                    columns.push(column);
                }
            }
            let (name, rows) = (table.name().to_owned(), u64::from(table.rows()));
            tables.push(TableReport {
                name,
                rows,
                columns,
            });
        }
        Ok(Self {
            quads,
            coverage: if quads == 0 {
                0.0
            } else {
                1.0 - irregular_quads as f64 / quads as f64
            },
            irregular_quads,
            null_share: if cells == 0 {
                0.0
            } else {
                1.0 - filled as f64 / cells as f64
            },
            tables,
        })
    }

    /// The report as JSON.
    pub fn to_json(&self) -> Value {
        let column = |column: &ColumnReport| {
            let links: Vec<Value> = column
                .links
                .iter()
                .map(|(table, values)| json!({"table": table, "values": values}))
                .collect();
            json!({
                "predicate": column.predicate,
                "kind": column.kind,
                "multi_valued": column.multi_valued,
                "null_share": column.null_share,
                "values": column.values,
                "distinct": column.distinct,
                "dirty_rows": column.dirty_rows,
                "links": links,
            })
        };
        let tables: Vec<Value> = self
            .tables
            .iter()
            .map(|table| {
                let columns: Vec<Value> = table.columns.iter().map(column).collect();
                json!({"name": table.name, "rows": table.rows, "columns": columns})
            })
            .collect();
        json!({
            "quads": self.quads,
            "coverage": self.coverage,
            "irregular_quads": self.irregular_quads,
            "null_share": self.null_share,
            "tables": tables,
        })
    }

    /// The report as text for a terminal.
    pub fn to_text(&self) -> String {
        let mut out = String::new();
        let percent = self.coverage * 100.0;
        let tables = self.tables.len();
        let _ = writeln!(
            out,
            "{} quads, {percent:.2} % in the cells of {tables} tables, {} irregular",
            self.quads, self.irregular_quads
        );
        for table in &self.tables {
            let _ = writeln!(out, "\n{}  {} rows", table.name, table.rows);
            for column in &table.columns {
                let _ = writeln!(out, "  {}", column.text());
            }
        }
        out
    }
}

impl ColumnReport {
    fn text(&self) -> String {
        let several = if self.multi_valued { " (several)" } else { "" };
        let nulls = match self.null_share {
            0.0 => String::new(),
            share => format!(", {:.1} % empty", share * 100.0),
        };
        let links = match self.links.as_slice() {
            [] => String::new(),
            links => {
                let names: Vec<&str> = links.iter().map(|(table, _)| table.as_str()).collect();
                format!(" -> {}", names.join(", "))
            }
        };
        format!(
            "{:<70} {}{several}, {} distinct{nulls}{links}",
            self.predicate, self.kind, self.distinct
        )
    }
}

fn column_report(
    snapshot: &Snapshot,
    table: &basalt_store::Table,
    predicate: TermId,
) -> Result<Option<ColumnReport>, Error> {
    let Some(cells) = table.cells(predicate) else {
        return Ok(None);
    };
    let known = cells.statistics();
    let mut buffer = TermBuf::new();
    snapshot.dictionary().decode(predicate, &mut buffer)?;
    let predicate_text = match buffer.view() {
        basalt_rdf::TermView::Iri(iri) => iri.to_owned(),
        other => other.to_string(),
    };
    let links = known
        .links
        .iter()
        .map(|&(table_idx, count)| (snapshot.tables()[table_idx].name().to_owned(), count))
        .collect();
    Ok(Some(ColumnReport {
        predicate: predicate_text,
        kind: kind_of(snapshot, known.range),
        multi_valued: cells.multi_valued(),
        null_share: 1.0 - known.rows_with_value as f64 / f64::from(table.rows().max(1)),
        values: known.values,
        distinct: known.distinct,
        dirty_rows: table.dirty_rows(predicate).map_or(0, |rows| rows.len()),
        links,
    }))
}

/// The kind of the values between the smallest and the largest id.
fn kind_of(snapshot: &Snapshot, range: Option<(TermId, TermId)>) -> String {
    let Some((low, high)) = range else {
        return "nothing".to_owned();
    };
    if low.tag() != high.tag() {
        return "mixed".to_owned();
    }
    if low.is_resource() {
        return "resource".to_owned();
    }
    match basalt_rdf::inline::datatype(low, snapshot.dictionary().qualifiers()) {
        Some(datatype) => {
            let local = datatype.rsplit(['#', '/']).next().unwrap_or(datatype);
            local.to_owned()
        }
        None => match low.tag() {
            basalt_rdf::term_id::tag::STRING => "string".to_owned(),
            basalt_rdf::term_id::tag::LANGUAGE => "langString".to_owned(),
            _ => "literal".to_owned(),
        },
    }
}
