//! Statistics of a snapshot, as the planner asks for them.

use basalt_plan::physical::TableIdx;
use basalt_plan::statistics::{ColumnStatistics, IrregularStatistics, StarEstimate, Statistics};
use basalt_rdf::{TermId, TermView};
use basalt_store::{Snapshot, Table};

/// Characteristic sets looked at for one estimate; more would cost more than a better plan saves.
const CHARACTERISTIC_SETS_READ: usize = 512;

/// A snapshot's statistics.
pub struct SnapshotStatistics<'a>(pub &'a Snapshot);

impl SnapshotStatistics<'_> {
    fn table(&self, table: TableIdx) -> &Table {
        &self.0.tables()[table.0 as usize]
    }
}

impl Statistics for SnapshotStatistics<'_> {
    fn quad_count(&self) -> u64 {
        self.0.quad_count()
    }

    fn term_id(&self, term: &oxrdf::Term) -> Option<TermId> {
        let dictionary = self.0.dictionary();
        match TermView::from(term.as_ref()) {
            // A label of a query never names a stored blank node.
            TermView::Blank(_) => None,
            view => dictionary.find(view),
        }
    }

    fn term_ids(&self, term: &oxrdf::Term) -> Vec<TermId> {
        match TermView::from(term.as_ref()) {
            TermView::Blank(_) => Vec::new(),
            view => self.0.dictionary().find_all_cases(view),
        }
    }

    fn table_count(&self) -> usize {
        self.0.tables().len()
    }

    fn table_name(&self, table: TableIdx) -> String {
        self.table(table).name().to_owned()
    }

    fn table_rows(&self, table: TableIdx) -> u64 {
        u64::from(self.table(table).rows())
    }

    fn table_graph(&self, table: TableIdx) -> Option<TermId> {
        self.table(table).constant_graph()
    }

    fn column(&self, table: TableIdx, predicate: TermId) -> Option<ColumnStatistics> {
        let table_idx = table.0 as usize;
        let cells = self.table(table).cells(predicate)?;
        let known = cells.statistics();
        Some(ColumnStatistics {
            rows_with_value: known.rows_with_value,
            values: known.values,
            distinct: known.distinct,
            distinct_is_exact: known.distinct_is_exact,
            range: known.range,
            multi_valued: cells.multi_valued(),
            has_inverse: cells.has_inverse(),
            dirty_rows: self.0.dirty_row_count(table_idx, predicate),
            links: known
                .links
                .iter()
                .map(|&(idx, count)| (TableIdx(idx as u32), count))
                .collect(),
        })
    }

    fn object_count(&self, table: TableIdx, predicate: TermId, object: TermId) -> Option<u64> {
        self.table(table).cells(predicate)?.count_object(object)
    }

    fn irregular(&self, predicate: TermId) -> IrregularStatistics {
        let known = self.0.quad_table().predicate(predicate).unwrap_or_default();
        // Rows that lost a quad go the general way as well, so "none" is said of untouched predicates only.
        let quads = match self.0.changed_quads(predicate) {
            0 => known.quads,
            changed => known.quads.max(changed),
        };
        IrregularStatistics {
            quads,
            subjects: known.subjects,
            objects: known.objects,
        }
    }

    fn irregular_object_count(&self, predicate: TermId, object: TermId) -> u64 {
        // An unreadable block costs a good plan, not the answer: the query will meet it and report it.
        self.0
            .quad_table()
            .count_object(predicate, object)
            .unwrap_or(0)
    }

    fn table_of(&self, resource: TermId) -> Option<TableIdx> {
        self.0
            .row_of(resource)
            .map(|(table_idx, _)| TableIdx(table_idx as u32))
    }

    fn predicate_quads(&self, predicate: TermId) -> u64 {
        self.0.predicate_quads(predicate)
    }

    fn named_graph_count(&self) -> u64 {
        self.0.named_graphs().len() as u64
    }

    fn star(&self, predicates: &[TermId]) -> Option<StarEstimate> {
        let sets = &self.0.statistics().characteristic_sets;
        let mut subjects = 0.0;
        let mut values = vec![0.0; predicates.len()];
        for set in sets.iter().take(CHARACTERISTIC_SETS_READ) {
            let places: Option<Vec<usize>> = predicates
                .iter()
                .map(|p| set.predicates.binary_search(p).ok())
                .collect();
            if let Some(places) = places {
                subjects += set.subjects as f64;
                values
                    .iter_mut()
                    .zip(places)
                    .for_each(|(sum, place)| *sum += set.values[place] as f64);
            }
        }
        if subjects == 0.0 {
            return None;
        }
        let multiplicity = values.into_iter().map(|sum| sum / subjects).collect();
        Some(StarEstimate {
            subjects,
            multiplicity,
        })
    }

    fn subject_count(&self) -> u64 {
        self.0.statistics().subject_count
    }
}
