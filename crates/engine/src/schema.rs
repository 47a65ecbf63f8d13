//! `SchemaReport`: the shapes of a store, for people and programs.
//!
//! A shape is all tables of one name: loads that add to a store add parts to shapes. Made from
//! statistics alone; costs microseconds per column of a part.

use crate::error::Error;
use basalt_rdf::{TermBuf, TermId};
use basalt_store::{Cells, Snapshot};
use serde_json::{Value, json};
use std::collections::{BTreeMap, HashMap};
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
    /// The tables, in the order of the store; parts of one shape are added up.
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
    /// Distinct values (an estimate for long text; parts of a shape are added up).
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
        let shapes = shapes(snapshot);
        let mut tables = Vec::with_capacity(shapes.len());
        let (mut cells, mut filled) = (0u64, 0u64);
        for shape in shapes {
            cells += shape.rows * shape.columns.len() as u64;
            let columns = shape.columns.iter();
            filled += columns.clone().map(|c| c.1.rows_with_value).sum::<u64>();
            let columns = columns
                .map(|(&predicate, column)| column.report(snapshot, predicate, shape.rows))
                .collect::<Result<_, _>>()?;
            tables.push(TableReport {
                name: shape.name,
                rows: shape.rows,
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

/// The tables of one name, added up.
struct Shape {
    name: String,
    rows: u64,
    columns: BTreeMap<TermId, Column>,
}

/// The cells of a predicate in all parts of a shape.
#[derive(Default)]
struct Column {
    multi_valued: bool,
    rows_with_value: u64,
    values: u64,
    distinct: u64,
    dirty_rows: u64,
    range: Option<(TermId, TermId)>,
    links: Vec<(String, u64)>,
}

/// The shapes of a snapshot, in the order of their first parts.
fn shapes(snapshot: &Snapshot) -> Vec<Shape> {
    let mut shapes: Vec<Shape> = Vec::new();
    let mut by_name: HashMap<&str, usize> = HashMap::new();
    for (table_idx, table) in snapshot.tables().iter().enumerate() {
        let at = *by_name.entry(table.name()).or_insert_with(|| {
            shapes.push(Shape {
                name: table.name().to_owned(),
                rows: 0,
                columns: BTreeMap::new(),
            });
            shapes.len() - 1
        });
        shapes[at].rows += u64::from(table.rows());
        for cells in table.all_cells() {
            let dirty = snapshot.dirty_row_count(table_idx, cells.predicate());
            let column = shapes[at].columns.entry(cells.predicate()).or_default();
            column.dirty_rows += dirty;
            column.add(snapshot, cells);
        }
    }
    shapes
}

impl Column {
    /// Adds the cells of a part.
    fn add(&mut self, snapshot: &Snapshot, cells: Cells<'_>) {
        let known = cells.statistics();
        self.multi_valued |= cells.multi_valued();
        self.rows_with_value += known.rows_with_value;
        self.values += known.values;
        self.distinct += known.distinct;
        self.range = match (self.range, known.range) {
            (Some((low, high)), Some((min, max))) => Some((low.min(min), high.max(max))),
            (range, other) => range.or(other),
        };
        for &(table_idx, count) in &known.links {
            let name = snapshot.tables()[table_idx].name();
            match self.links.iter_mut().find(|(target, _)| target == name) {
                Some((_, sum)) => *sum += count,
                None => self.links.push((name.to_owned(), count)),
            }
        }
    }

    fn report(
        &self,
        snapshot: &Snapshot,
        predicate: TermId,
        rows: u64,
    ) -> Result<ColumnReport, Error> {
        let mut buffer = TermBuf::new();
        snapshot.dictionary().decode(predicate, &mut buffer)?;
        let predicate = match buffer.view() {
            basalt_rdf::TermView::Iri(iri) => iri.to_owned(),
            other => other.to_string(),
        };
        Ok(ColumnReport {
            predicate,
            kind: kind_of(snapshot, self.range),
            multi_valued: self.multi_valued,
            null_share: 1.0 - self.rows_with_value as f64 / rows.max(1) as f64,
            values: self.values,
            distinct: self.distinct.min(self.values),
            dirty_rows: self.dirty_rows,
            links: self.links.clone(),
        })
    }
}

/// The kind of the values between the smallest and the largest id.
fn kind_of(snapshot: &Snapshot, range: Option<(TermId, TermId)>) -> String {
    let Some((low, high)) = range else {
        return "nothing".to_owned();
    };
    let qualifiers = snapshot.dictionary().qualifiers();
    let of_type = |id| basalt_rdf::inline::datatype(id, qualifiers);
    if low.tag() != high.tag() && (of_type(low).is_none() || of_type(low) != of_type(high)) {
        return "mixed".to_owned();
    }
    if low.is_resource() {
        return "resource".to_owned();
    }
    match of_type(low) {
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
