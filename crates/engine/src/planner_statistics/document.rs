//! `Document`: the file of statistics as it is written, JSON; `docs/planner-statistics.md` tells every field.
//!
//! Ids are strings of sixteen hexadecimal digits, since many readers of JSON know no integer of 64 bits. Invariant: after
//! [`Document::parse`] every table that is named is there, and every answer is of the kind that its question wants.

use super::recorded;
use crate::error::Error;
use crate::statistics::SnapshotStatistics;
use basalt_plan::physical::TableIdx;
use basalt_plan::statistics::{ColumnStatistics, IrregularStatistics, Statistics};
use basalt_rdf::{TermBuf, TermId};
use basalt_store::Snapshot;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

/// What the file calls itself.
const FORMAT: &str = "basalt-planner-statistics";
/// The version of the format; another one is not read.
const VERSION: u32 = 1;

/// An id, as hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(super) struct Id(pub(super) TermId);

/// The first fields, which tell whether the others can be understood.
#[derive(Deserialize)]
struct Head {
    format: String,
    version: u32,
}

/// The whole file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Document {
    format: String,
    version: u32,
    /// The Basalt that wrote it.
    basalt: String,
    pub(super) store: Store,
    pub(super) tables: Vec<Table>,
    pub(super) predicates: Vec<Predicate>,
    pub(super) characteristic_sets: Vec<Set>,
    pub(super) queries: Vec<Query>,
}

/// The state of the store.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Store {
    version: u64,
    commit: u64,
    pub(super) quads: u64,
    pub(super) subjects: u64,
    pub(super) named_graphs: u64,
    /// Whether some `xsd:float` has its text in the dictionary. Documents that were written before it was asked do not tell.
    #[serde(default = "unknown")]
    pub(super) has_written_floats: bool,
}

/// What is taken for true where it is not told.
fn unknown() -> bool {
    true
}

/// A table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Table {
    pub(super) name: String,
    pub(super) rows: u64,
    pub(super) graph: Option<Id>,
    pub(super) columns: Vec<Column>,
}

/// A predicate in a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Column {
    pub(super) predicate: Id,
    rows_with_value: u64,
    values: u64,
    distinct: u64,
    distinct_is_exact: bool,
    range: Option<(Id, Id)>,
    multi_valued: bool,
    has_inverse: bool,
    /// Documents that were written before it was known have none.
    #[serde(default)]
    rows_apart: u32,
    dirty_rows: u64,
    /// Values that are rows of a table.
    links: Vec<(u32, u64)>,
}

/// A predicate.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Predicate {
    pub(super) id: Id,
    pub(super) iri: String,
    pub(super) quads: u64,
    irregular_quads: u64,
    irregular_subjects: u64,
    irregular_objects: u64,
    /// The smallest and the largest object of irregular quads. Documents that were written before it was known have none.
    #[serde(default)]
    irregular_range: Option<(Id, Id)>,
}

/// A characteristic set.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Set {
    pub(super) subjects: u64,
    pub(super) table: Option<u32>,
    /// Predicates with the numbers of their values, by id.
    pub(super) predicates: Vec<(Id, u64)>,
}

/// A query, and what planning it asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Query {
    pub(super) text: String,
    /// Questions in the words of [`recorded`], and the answers in the order in which they were given.
    pub(super) asked: BTreeMap<String, Vec<Value>>,
    /// Texts of ids that the plan shows.
    pub(super) texts: Vec<(Id, String)>,
}

impl From<Id> for String {
    fn from(id: Id) -> Self {
        format!("{:016x}", id.0.0)
    }
}

impl TryFrom<String> for Id {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let id = (text.len() == 16).then(|| u64::from_str_radix(&text, 16).ok());
        let id = id.flatten().map(TermId);
        id.map(Self)
            .ok_or_else(|| format!("'{text}' is no id of 16 hexadecimal digits"))
    }
}

impl Document {
    /// What is known of a snapshot, without queries.
    pub(super) fn of(snapshot: &Snapshot) -> Result<Self, Error> {
        let known = SnapshotStatistics::new(snapshot);
        let tables = (0..snapshot.tables().len()).map(|idx| Table::of(snapshot, &known, idx));
        let mut predicates: Vec<TermId> =
            snapshot.quad_table().predicates().map(|(p, _)| p).collect();
        predicates.extend(snapshot.statistics().predicates.iter().map(|p| p.predicate));
        predicates.sort_unstable();
        predicates.dedup();
        let predicate = |id: &TermId| Predicate::of(snapshot, &known, *id);
        let sets = snapshot.statistics().characteristic_sets.iter().map(|set| {
            let values = set.predicates.iter().zip(&set.values);
            Set {
                subjects: set.subjects,
                table: set.table.map(|idx| idx as u32),
                predicates: values.map(|(id, values)| (Id(*id), *values)).collect(),
            }
        });
        Ok(Self {
            format: FORMAT.to_owned(),
            version: VERSION,
            basalt: env!("CARGO_PKG_VERSION").to_owned(),
            store: Store {
                version: snapshot.version(),
                commit: snapshot.commit_number(),
                quads: known.quad_count(),
                subjects: known.subject_count(),
                named_graphs: known.named_graph_count(),
                has_written_floats: known.has_written_floats(),
            },
            tables: tables.collect(),
            predicates: predicates.iter().map(predicate).collect::<Result<_, _>>()?,
            characteristic_sets: sets.collect(),
            queries: Vec::new(),
        })
    }

    /// The text of the file.
    pub(super) fn to_json(&self) -> Result<String, Error> {
        let text = serde_json::to_string_pretty(self);
        let mut text = text.map_err(|error| Error::Internal(error.to_string()))?;
        text.push('\n');
        Ok(text)
    }

    /// Reads and checks the text of a file.
    pub(super) fn parse(text: &str) -> Result<Self, Error> {
        let wrong = |message: String| Error::PlannerStatistics { message };
        let head: Head = serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        if head.format != FORMAT {
            return Err(wrong(format!(
                "the format is '{}', not '{FORMAT}'",
                head.format
            )));
        }
        if head.version != VERSION {
            let version = head.version;
            return Err(wrong(format!(
                "the format has version {version}, and {VERSION} can be read"
            )));
        }
        let document: Self =
            serde_json::from_str(text).map_err(|error| wrong(error.to_string()))?;
        document.check().map_err(wrong)?;
        Ok(document)
    }

    fn check(&self) -> Result<(), String> {
        let count = self.tables.len();
        let columns = self.tables.iter().flat_map(|table| &table.columns);
        let linked = columns.flat_map(|column| column.links.iter().map(|(table, _)| *table));
        let of_sets = self.characteristic_sets.iter().filter_map(|set| set.table);
        if let Some(table) = linked.chain(of_sets).find(|table| *table as usize >= count) {
            return Err(format!("table {table} is named, and there are {count}"));
        }
        for set in &self.characteristic_sets {
            if !set.predicates.is_sorted_by(|a, b| a.0.0 < b.0.0) {
                return Err("a characteristic set has predicates that do not ascend".to_owned());
            }
        }
        for query in &self.queries {
            for (question, answers) in &query.asked {
                recorded::check(question, answers, count)?;
            }
        }
        Ok(())
    }
}

impl Table {
    fn of(snapshot: &Snapshot, known: &SnapshotStatistics<'_>, idx: usize) -> Self {
        let (table, table_idx) = (&snapshot.tables()[idx], TableIdx(idx as u32));
        let mut predicates: Vec<TermId> = table.predicates().collect();
        predicates.dedup();
        let column = |predicate: &TermId| {
            let statistics = known.column(table_idx, *predicate)?;
            Some(Column::of(*predicate, &statistics))
        };
        Self {
            name: known.table_name(table_idx),
            rows: known.table_rows(table_idx),
            graph: known.table_graph(table_idx).map(Id),
            columns: predicates.iter().filter_map(column).collect(),
        }
    }
}

impl Column {
    /// Values that are rows of a table.
    pub(super) fn links_to(&self, table: u32) -> u64 {
        let links = self.links.iter().filter(|(target, _)| *target == table);
        links.map(|(_, count)| count).sum()
    }

    /// The predicate, the rows that have a value, and the values.
    pub(super) fn sums(&self) -> (TermId, u64, u64) {
        (self.predicate.0, self.rows_with_value, self.values)
    }

    fn of(predicate: TermId, known: &ColumnStatistics) -> Self {
        Self {
            predicate: Id(predicate),
            rows_with_value: known.rows_with_value,
            values: known.values,
            distinct: known.distinct,
            distinct_is_exact: known.distinct_is_exact,
            range: known
                .range
                .map(|(least, greatest)| (Id(least), Id(greatest))),
            multi_valued: known.multi_valued,
            has_inverse: known.has_inverse,
            rows_apart: known.rows_apart,
            dirty_rows: known.dirty_rows,
            links: known
                .links
                .iter()
                .map(|(table, count)| (table.0, *count))
                .collect(),
        }
    }

    pub(super) fn statistics(&self) -> ColumnStatistics {
        let links = self.links.iter();
        ColumnStatistics {
            rows_with_value: self.rows_with_value,
            values: self.values,
            distinct: self.distinct,
            distinct_is_exact: self.distinct_is_exact,
            range: self.range.map(|(least, greatest)| (least.0, greatest.0)),
            multi_valued: self.multi_valued,
            has_inverse: self.has_inverse,
            rows_apart: self.rows_apart,
            dirty_rows: self.dirty_rows,
            links: links
                .map(|(table, count)| (TableIdx(*table), *count))
                .collect(),
        }
    }
}

impl Predicate {
    fn of(
        snapshot: &Snapshot,
        known: &SnapshotStatistics<'_>,
        predicate: TermId,
    ) -> Result<Self, Error> {
        let mut term = TermBuf::new();
        snapshot.dictionary().decode(predicate, &mut term)?;
        let irregular = known.irregular(predicate);
        Ok(Self {
            id: Id(predicate),
            iri: term.view().to_string(),
            quads: known.predicate_quads(predicate),
            irregular_quads: irregular.quads,
            irregular_subjects: irregular.subjects,
            irregular_objects: irregular.objects,
            irregular_range: known
                .irregular_range(predicate)
                .map(|(least, greatest)| (Id(least), Id(greatest))),
        })
    }

    /// Bounds of the objects of irregular quads.
    pub(super) fn irregular_range(&self) -> Option<(TermId, TermId)> {
        match self.irregular_range {
            None if self.irregular_quads > 0 => Some((TermId(0), TermId(u64::MAX))),
            range => range.map(|(least, greatest)| (least.0, greatest.0)),
        }
    }

    pub(super) fn irregular(&self) -> IrregularStatistics {
        IrregularStatistics {
            quads: self.irregular_quads,
            subjects: self.irregular_subjects,
            objects: self.irregular_objects,
        }
    }
}
