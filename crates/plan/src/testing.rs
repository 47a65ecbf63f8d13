//! Statistics over a handful of made-up tables, in the proportions of a shop with reviews.
//!
//! Terms are numbered in the order they are first declared; resources of a table are dense, so
//! `table_of` is a range check. Nothing is irregular unless a test says so.

use crate::known_stars::KnownStars;
use crate::physical::TableIdx;
use crate::statistics::{ColumnStatistics, IrregularStatistics, StarEstimate, Statistics};
use basalt_rdf::TermId;
use oxrdf::vocab::xsd;
use oxrdf::{NamedNode, Term};
use std::collections::HashMap;

const NS: &str = "http://ex/";

/// A table: name, first ordinal, rows.
struct FakeTable {
    name: &'static str,
    first: u64,
    rows: u64,
}

/// Statistics for tests.
pub(crate) struct FakeStatistics {
    tables: Vec<FakeTable>,
    columns: HashMap<(u32, TermId), ColumnStatistics>,
    terms: HashMap<String, TermId>,
    names: HashMap<TermId, String>,
    /// Irregular quads by predicate.
    pub(crate) irregular: HashMap<TermId, IrregularStatistics>,
    /// What queries before worked out, if that is to be kept.
    pub(crate) known_stars: Option<KnownStars>,
}

/// Objects of a column: a table with one inverse, or literals.
enum Objects {
    Link(u32),
    Few(u64),
    Numbers(i64, i64),
    Text,
}

impl FakeStatistics {
    /// Product, Offer, Review, Vendor, Producer, Person, Feature, Type.
    pub(crate) fn shop() -> Self {
        let sizes = [
            ("Product", 10_000),
            ("Offer", 200_000),
            ("Review", 100_000),
            ("Vendor", 100),
            ("Producer", 200),
            ("Person", 5_000),
            ("Feature", 5_000),
            ("Type", 150),
        ];
        let mut first = 1_000;
        let mut tables = Vec::new();
        for (name, rows) in sizes {
            tables.push(FakeTable { name, first, rows });
            first += rows;
        }
        let mut fake = Self {
            tables,
            columns: HashMap::new(),
            terms: HashMap::new(),
            names: HashMap::new(),
            irregular: HashMap::new(),
            known_stars: None,
        };
        fake.fill();
        fake
    }

    fn fill(&mut self) {
        use Objects::{Few, Link, Numbers, Text};
        let all = 0..8;
        for table in all {
            if table != 1 && table != 2 {
                self.column(table, "label", 1.0, &Text);
            }
            self.column(table, "publisher", 1.0, &Few(50));
            self.column(table, "date", 1.0, &Numbers(1, 1_000));
        }
        self.column(0, "type", 5.0, &Link(7));
        self.column(7, "type", 1.0, &Few(5));
        self.column(0, "feature", 20.0, &Link(6));
        self.column(0, "producer", 1.0, &Link(4));
        for idx in 1..=6 {
            let fill = if idx <= 3 { 1.0 } else { 0.5 };
            self.column(0, &format!("num{idx}"), fill, &Numbers(1, 2_000));
            self.column(0, &format!("text{idx}"), fill, &Text);
        }
        self.column(0, "comment", 1.0, &Text);
        self.column(1, "product", 1.0, &Link(0));
        self.column(1, "vendor", 1.0, &Link(3));
        self.column(1, "price", 1.0, &Numbers(5, 10_000));
        self.column(1, "validTo", 1.0, &Numbers(1, 200));
        self.column(1, "deliveryDays", 1.0, &Numbers(1, 20));
        self.column(1, "webpage", 1.0, &Text);
        self.column(2, "reviewFor", 1.0, &Link(0));
        self.column(2, "reviewer", 1.0, &Link(5));
        self.column(2, "title", 1.0, &Text);
        self.column(2, "text", 1.0, &Text);
        self.column(2, "reviewDate", 1.0, &Numbers(1, 365));
        for idx in 1..=4 {
            self.column(2, &format!("rating{idx}"), 0.7, &Numbers(1, 10));
        }
        for table in [3, 4, 5] {
            self.column(table, "country", 1.0, &Few(10));
        }
        self.column(3, "homepage", 1.0, &Text);
        self.column(5, "name", 1.0, &Text);
        for (idx, name) in ["US", "DE", "Special", "G1", "G2"].into_iter().enumerate() {
            self.declare(name, TermId::resource(idx as u64));
        }
        for table in 0..8 {
            let FakeTable { name, first, .. } = self.tables[table];
            for row in 0..3 {
                self.declare(&format!("{name}{row}"), TermId::resource(first + row));
            }
        }
    }

    fn declare(&mut self, name: &str, id: TermId) {
        let iri = format!("{NS}{name}");
        self.names.insert(id, name.to_owned());
        self.terms.insert(iri, id);
    }

    /// The id of a declared name; predicates are declared on first use.
    pub(crate) fn id(&mut self, name: &str) -> TermId {
        if let Some(id) = self.terms.get(&format!("{NS}{name}")) {
            return *id;
        }
        let id = TermId::resource(100 + self.terms.len() as u64);
        self.declare(name, id);
        id
    }

    fn column(&mut self, table: u32, predicate: &str, per_row: f64, objects: &Objects) {
        let predicate = self.id(predicate);
        let rows = self.tables[table as usize].rows;
        let values = (rows as f64 * per_row) as u64;
        let target = |idx: u32| &self.tables[idx as usize];
        let number = |value| TermId::numeric(1, value, 0).unwrap_or(TermId::UNBOUND);
        let (distinct, range, links) = match objects {
            Objects::Link(to) => {
                let (first, rows) = (target(*to).first, target(*to).rows);
                let range = (TermId::resource(first), TermId::resource(first + rows - 1));
                (rows, range, vec![(TableIdx(*to), values)])
            }
            Objects::Few(count) => (
                *count,
                (TermId::resource(0), TermId::resource(*count)),
                Vec::new(),
            ),
            Objects::Numbers(low, high) => {
                let distinct = ((high - low) as u64).min(values);
                (distinct, (number(*low), number(*high)), Vec::new())
            }
            Objects::Text => (
                values,
                (TermId::new(0x10, 0), TermId::new(0x10, values)),
                Vec::new(),
            ),
        };
        let statistics = ColumnStatistics {
            rows_with_value: values.min(rows),
            values,
            distinct,
            distinct_is_exact: true,
            range: Some(range),
            multi_valued: per_row > 1.0,
            has_inverse: matches!(objects, Objects::Link(_) | Objects::Few(_)),
            rows_apart: 1,
            dirty_rows: 0,
            links,
        };
        self.columns.insert((table, predicate), statistics);
    }

    /// The short name of an id.
    pub(crate) fn name(&self, id: TermId) -> String {
        self.names
            .get(&id)
            .cloned()
            .unwrap_or_else(|| format!("{id:?}"))
    }
}

impl Statistics for FakeStatistics {
    fn quad_count(&self) -> u64 {
        self.columns.values().map(|column| column.values).sum()
    }

    fn term_id(&self, term: &Term) -> Option<TermId> {
        match term {
            Term::NamedNode(node) => self.terms.get(NamedNode::as_str(node)).copied(),
            Term::Literal(literal) if literal.datatype() == xsd::INTEGER => {
                TermId::numeric(1, literal.value().parse().ok()?, 0)
            }
            Term::Literal(literal) if literal.datatype() == xsd::BOOLEAN => {
                Some(TermId::new(0x02, u64::from(literal.value() == "true")))
            }
            _ => None,
        }
    }

    fn known_stars(&self) -> Option<&KnownStars> {
        self.known_stars.as_ref()
    }

    fn table_count(&self) -> usize {
        self.tables.len()
    }

    fn table_name(&self, table: TableIdx) -> String {
        self.tables[table.0 as usize].name.to_owned()
    }

    fn table_rows(&self, table: TableIdx) -> u64 {
        self.tables[table.0 as usize].rows
    }

    fn table_graph(&self, _table: TableIdx) -> Option<TermId> {
        None
    }

    fn column(&self, table: TableIdx, predicate: TermId) -> Option<ColumnStatistics> {
        self.columns.get(&(table.0, predicate)).cloned()
    }

    fn object_count(&self, table: TableIdx, predicate: TermId, _object: TermId) -> Option<u64> {
        let column = self.columns.get(&(table.0, predicate))?;
        column.has_inverse.then(|| column.values / column.distinct)
    }

    fn irregular(&self, predicate: TermId) -> IrregularStatistics {
        self.irregular.get(&predicate).copied().unwrap_or_default()
    }

    fn irregular_object_count(&self, predicate: TermId, _object: TermId) -> u64 {
        let known = self.irregular(predicate);
        known.quads / known.objects.max(1)
    }

    fn table_of(&self, resource: TermId) -> Option<TableIdx> {
        let ordinal = resource.resource_ordinal()?;
        let inside = |t: &FakeTable| (t.first..t.first + t.rows).contains(&ordinal);
        self.tables
            .iter()
            .position(inside)
            .map(|idx| TableIdx(idx as u32))
    }

    fn predicate_quads(&self, predicate: TermId) -> u64 {
        let cells = self.columns.iter().filter(|((_, p), _)| *p == predicate);
        cells.map(|(_, column)| column.values).sum::<u64>() + self.irregular(predicate).quads
    }

    fn named_graph_count(&self) -> u64 {
        2
    }

    fn star(&self, _: &[TermId], _: &[TermId], _: &[TermId]) -> Option<Vec<StarEstimate>> {
        None
    }

    fn predicate_count(&self) -> u64 {
        let in_cells = self.columns.iter().map(|((_, predicate), _)| *predicate);
        in_cells.collect::<std::collections::BTreeSet<_>>().len() as u64
    }

    fn subject_count(&self) -> u64 {
        self.tables.iter().map(|table| table.rows).sum()
    }
}
