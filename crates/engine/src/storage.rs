//! `StorageReport`: where the bytes of a store are, for people and programs.
//!
//! The store tells sizes by id; here predicates get their names. Costs microseconds per column.

use crate::error::Error;
use basalt_rdf::{TermBuf, TermId, TermView};
use basalt_store::Snapshot;
use basalt_store::storage_report::{ColumnStorage, FileStorage, TableStorage};
use serde_json::{Map, Value, json};
use std::collections::HashMap;

/// Where the bytes of a store are.
#[derive(Clone, Debug)]
pub struct StorageReport {
    /// All quads.
    pub quads: u64,
    /// The sizes, by id.
    pub store: basalt_store::StorageReport,
    /// The IRI of every predicate in `store`.
    names: HashMap<TermId, String>,
}

impl StorageReport {
    /// Reads the sizes of a snapshot.
    pub fn new(snapshot: &Snapshot) -> Result<Self, Error> {
        let store = snapshot.storage_report();
        let columns = store.tables.iter().flat_map(|table| &table.columns);
        let of_columns = columns.filter_map(|column| column.predicate);
        let of_quads = store.quads.iter().map(|sizes| sizes.predicate);
        let mut names = HashMap::new();
        let mut buffer = TermBuf::new();
        for predicate in of_columns.chain(of_quads) {
            if names.contains_key(&predicate) {
                continue;
            }
            snapshot.dictionary().decode(predicate, &mut buffer)?;
            let name = match buffer.view() {
                TermView::Iri(iri) => iri.to_owned(),
                other => other.to_string(),
            };
            names.insert(predicate, name);
        }
        Ok(Self {
            quads: snapshot.quad_count(),
            store,
            names,
        })
    }

    /// The IRI of a predicate of the report.
    pub fn name(&self, predicate: TermId) -> &str {
        self.names.get(&predicate).map_or("", String::as_str)
    }

    /// Bytes of all files.
    pub fn bytes(&self) -> u64 {
        self.store.bytes()
    }

    /// Bytes of all files for each quad, 0 without quads.
    pub fn bytes_per_quad(&self) -> f64 {
        self.bytes() as f64 / self.quads.max(1) as f64
    }

    /// The report as JSON.
    pub fn to_json(&self) -> Value {
        let store = &self.store;
        let tables: Vec<Value> = store.tables.iter().map(|t| self.table_json(t)).collect();
        let predicates: Vec<Value> = store
            .quads
            .iter()
            .map(|sizes| {
                json!({
                    "predicate": self.name(sizes.predicate),
                    "quads": sizes.quads,
                    "psog_bytes": sizes.psog_bytes,
                    "posg_bytes": sizes.posg_bytes,
                })
            })
            .collect();
        let dictionary: Vec<Value> = store.dictionary.iter().map(file_json).collect();
        json!({
            "quads": self.quads,
            "bytes": self.bytes(),
            "bytes_per_quad": self.bytes_per_quad(),
            "files": self.kinds_json(),
            "tables": tables,
            "irregular_quads": {"file": file_json(&store.quad_file), "predicates": predicates},
            "dictionary": dictionary,
            "statistics": file_json(&store.statistics),
            "history": store.history.as_ref().map(file_json),
            "log": store.log.as_ref().map(file_json),
        })
    }

    /// Bytes by kind of file as JSON.
    pub fn kinds_json(&self) -> Value {
        json!({
            "tables": self.store.table_bytes(),
            "irregular_quads": self.store.quad_file.bytes,
            "dictionary": self.store.dictionary_bytes(),
            "statistics": self.store.statistics.bytes,
            "history": self.store.history_bytes(),
            "log": self.store.log_bytes(),
        })
    }

    fn table_json(&self, table: &TableStorage) -> Value {
        let columns: Vec<Value> = table.columns.iter().map(|c| self.column_json(c)).collect();
        json!({
            "name": table.name,
            "rows": table.rows,
            "quads": table.quads_in_cells(),
            "columns": columns,
            "other_bytes": table.other_bytes(),
            "file": file_json(&table.file),
        })
    }

    fn column_json(&self, column: &ColumnStorage) -> Value {
        let segments: Vec<Value> = column
            .segments
            .iter()
            .map(|(encoding, count)| {
                json!({
                    "form": encoding.form.name(),
                    "codec": encoding.codec.name(),
                    "segments": count,
                })
            })
            .collect();
        let inverse = column
            .inverse
            .map(|(kind, bytes)| json!({"kind": kind, "bytes": bytes}));
        json!({
            "predicate": column.predicate.map(|p| self.name(p)),
            "type_class": column.type_class.describe(),
            "rows_with_value": column.rows_with_value,
            "values": column.values,
            "distinct": column.distinct,
            "distinct_is_exact": column.distinct.map(|_| column.distinct_is_exact),
            "segments": segments,
            "cell_bytes": column.cell_bytes,
            "bits_per_value": column.bits_per_value(),
            "inverse": inverse,
        })
    }
}

fn file_json(file: &FileStorage) -> Value {
    let sections = file.sections.iter();
    let sections: Map<String, Value> = sections
        .map(|(name, bytes)| (name.clone(), Value::from(*bytes)))
        .collect();
    json!({
        "name": file.name,
        "bytes": file.bytes,
        "sections": sections,
        "frame_bytes": file.frame_bytes(),
    })
}
