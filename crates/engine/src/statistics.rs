//! Statistics of a snapshot, as the planner asks for them.

use basalt_plan::physical::TableIdx;
use basalt_plan::statistics::{
    ColumnStatistics, IrregularStatistics, RowTest, SampleOf, Sampled, StarEstimate, Statistics,
};
use basalt_rdf::{TermId, TermView};
use basalt_store::{Cells, Snapshot, Table};

/// Characteristic sets looked at for one estimate; more would cost more than a better plan saves.
const CHARACTERISTIC_SETS_READ: usize = 1024;
/// Rows with a constant that a sample is taken from; finding more costs more than a better plan saves.
const SAMPLED_FROM_MAX: u64 = 20_000;

/// Rows whose values are counted among those of another column, for one estimate.
const PARTNERS_READ: usize = 64;
/// Pairs of equal values that two samples must have for their share to be believed.
const PAIRS_MIN: usize = 4;

/// A snapshot's statistics.
pub struct SnapshotStatistics<'a>(pub &'a Snapshot);

impl SnapshotStatistics<'_> {
    fn table(&self, table: TableIdx) -> &Table {
        &self.0.tables()[table.0 as usize]
    }

    /// The partners of sampled values; see [`Statistics::partners`].
    fn work_out_partners(
        &self,
        from: (&[TableIdx], TermId),
        into: (&[TableIdx], TermId),
    ) -> Option<f64> {
        let cells_of = |(tables, predicate): (&[TableIdx], TermId)| {
            let cells = tables.iter().map(|t| {
                let table = self.table(*t);
                Some((*t, table.rows(), table.cells(predicate)?))
            });
            cells.collect::<Option<Vec<_>>>()
        };
        let (from, into) = (cells_of(from)?, cells_of(into)?);
        if from.is_empty() || into.is_empty() {
            return None;
        }
        if !into.iter().all(|(_, _, cells)| cells.has_inverse()) {
            return equal_pairs(&sampled_cells(&from, 0), &sampled_cells(&into, 1));
        }
        let looked_at = sampled_cells(&from, 0);
        let partners = |value: u64| {
            let counts = into.iter().map(|(_, _, c)| c.count_object(TermId(value)));
            counts.map(Option::unwrap_or_default).sum::<u64>()
        };
        let found: u64 = looked_at
            .values
            .iter()
            .map(|(_, value)| partners(*value))
            .sum();
        (!looked_at.values.is_empty()).then(|| found as f64 / looked_at.values.len() as f64)
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

    fn irregular_are_resources(&self, predicate: TermId) -> bool {
        self.0.quad_table().objects_are_resources(predicate)
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

    fn star(
        &self,
        required: &[TermId],
        counted: &[TermId],
        optional: &[TermId],
    ) -> Option<Vec<StarEstimate>> {
        if self.0.statistics().characteristic_sets.is_empty() {
            return None;
        }
        let mut groups: Vec<StarEstimate> = Vec::new();
        let sets = self.0.sets_with(required);
        for set in sets.into_iter().take(CHARACTERISTIC_SETS_READ) {
            let subjects = set.subjects as f64;
            let values = |predicate: &TermId| match set.predicates.binary_search(predicate) {
                Ok(place) => set.values[place] as f64 / subjects.max(1.0),
                Err(_) => 0.0,
            };
            let counted: f64 = counted.iter().map(values).product();
            let optional: f64 = optional.iter().map(|p| values(p).max(1.0)).product();
            let table = set.table.map(|idx| TableIdx(idx as u32));
            let known = groups.iter().position(|group| group.table == table);
            let place = known.unwrap_or_else(|| {
                groups.push(StarEstimate {
                    table,
                    subjects: 0.0,
                    solutions: 0.0,
                });
                groups.len() - 1
            });
            groups[place].subjects += subjects;
            groups[place].solutions += subjects * counted * optional;
        }
        Some(groups)
    }

    fn sample(&self, wanted: &SampleOf<'_>) -> Option<Sampled> {
        let table = self.table(wanted.table);
        let (rows, population) = sampled_rows(table, wanted)?;
        let tests: Vec<(Option<Cells<'_>>, &RowTest<'_>)> = wanted
            .tests
            .iter()
            .map(|test| (table.cells(test.predicate), test))
            .collect();
        let counted = wanted.counted.iter();
        let counted: Vec<Cells<'_>> = counted.filter_map(|p| table.cells(*p)).collect();
        let mut together = Together::new(counted.len());
        let mut passed = vec![0.0; tests.len()];
        let mut values = Vec::new();
        for &row in &rows {
            let mut share = 1.0;
            for ((cells, test), passed) in tests.iter().zip(&mut passed) {
                values.clear();
                if let Some(cells) = cells {
                    cells.values_into(row, &mut values);
                }
                let best = values.iter().map(|value| (test.passes)(TermId(*value)));
                share *= best.fold(0.0, f64::max);
                if share == 0.0 {
                    break;
                }
                *passed += share;
            }
            if share > 0.0 && counted.len() > 1 {
                together.add(counted.iter().map(|cells| {
                    values.clear();
                    cells.values_into(row, &mut values);
                    values.len().max(1) as f64
                }));
            }
        }
        Some(Sampled {
            population: population as f64,
            tested: rows.len(),
            passed,
            together: together.ratio(),
        })
    }

    fn partners(&self, from: (&[TableIdx], TermId), into: (&[TableIdx], TermId)) -> Option<f64> {
        let cells = |(tables, predicate): (&[TableIdx], TermId)| {
            let tables = tables.iter().map(|table| table.0 as usize);
            (tables.collect(), predicate)
        };
        let work_out = || self.work_out_partners(from, into);
        self.0.partners(cells(from), cells(into), work_out)
    }

    fn quads_around(&self, resource: TermId) -> Option<(f64, f64)> {
        let (table_idx, _) = self.0.row_of(resource)?;
        let (mut out, mut into) = (0, 0);
        for (idx, table) in self.0.tables().iter().enumerate() {
            for cells in table.all_cells() {
                let known = cells.statistics();
                if idx == table_idx {
                    out += known.values;
                }
                let links = known
                    .links
                    .iter()
                    .filter(|(target, _)| *target == table_idx);
                into += links.map(|(_, count)| count).sum::<u64>();
            }
        }
        let rows = f64::from(self.0.tables()[table_idx].rows()).max(1.0);
        Some((out as f64 / rows, into as f64 / rows))
    }

    fn subject_count(&self) -> u64 {
        self.0.statistics().subject_count
    }
}

/// The rows to look at, and how many they were taken from.
fn sampled_rows(table: &Table, wanted: &SampleOf<'_>) -> Option<(Vec<u32>, usize)> {
    let Some((predicate, object)) = wanted.having else {
        let population = table.rows() as usize;
        let rows = evenly(population, wanted.rows_max).map(|row| row as u32);
        return Some((rows.collect(), population));
    };
    let cells = table.cells(predicate)?;
    if cells.count_object(object)? > SAMPLED_FROM_MAX {
        return None;
    }
    let mut found = Vec::new();
    cells.find(object, &mut found);
    let rows = evenly(found.len(), wanted.rows_max).map(|place| found[place]);
    Some((rows.collect(), found.len()))
}

/// Up to `count_max` places among so many, spread evenly.
fn evenly(places: usize, count_max: usize) -> impl Iterator<Item = usize> {
    let count = places.min(count_max);
    (0..count).map(move |idx| (idx * places + places / 2) / count)
}

/// Whether numbers of values go up and down together.
struct Together {
    rows: f64,
    sums: Vec<f64>,
    products: f64,
}

impl Together {
    fn new(columns: usize) -> Self {
        Self {
            rows: 0.0,
            sums: vec![0.0; columns],
            products: 0.0,
        }
    }

    fn add(&mut self, counts: impl Iterator<Item = f64>) {
        let mut product = 1.0;
        for (sum, count) in self.sums.iter_mut().zip(counts) {
            *sum += count;
            product *= count;
        }
        self.products += product;
        self.rows += 1.0;
    }

    /// The mean product divided by the product of the means; 1 where too few rows were seen to tell.
    fn ratio(&self) -> f64 {
        if self.sums.len() < 2 || self.rows < 4.0 {
            return 1.0;
        }
        let means = self.sums.iter().map(|sum| sum / self.rows);
        self.products / self.rows / means.product::<f64>()
    }
}

/// Values of some cells.
struct SampledCells {
    /// The table and row of each, and the value.
    values: Vec<((TableIdx, u32), u64)>,
    /// Values of all the cells.
    population: u64,
}

/// Values of rows spread evenly over some tables; `phase` shifts them.
fn sampled_cells(columns: &[(TableIdx, u32, Cells<'_>)], phase: usize) -> SampledCells {
    let values = |cells: &Cells<'_>| cells.statistics().values;
    let population: u64 = columns.iter().map(|(_, _, cells)| values(cells)).sum();
    let mut out = SampledCells {
        values: Vec::new(),
        population,
    };
    let mut of_row = Vec::new();
    for (table, rows, cells) in columns {
        let share = values(cells) as f64 / population.max(1) as f64;
        let rows_max = (share * PARTNERS_READ as f64).ceil() as usize + phase;
        for row in evenly(*rows as usize, rows_max) {
            of_row.clear();
            cells.values_into(row as u32, &mut of_row);
            let place = (*table, row as u32);
            out.values
                .extend(of_row.iter().map(|value| (place, *value)));
        }
    }
    out
}

/// The mean number of values of `into` that are equal to one of `from`, by the pairs of two samples; `None`
/// where too few are equal to tell. A row's pair with itself does not tell of others.
fn equal_pairs(from: &SampledCells, into: &SampledCells) -> Option<f64> {
    let pairs = from.values.iter().map(|(place, value)| {
        let others = into.values.iter().filter(|(other, _)| other != place);
        others.filter(|(_, other)| other == value).count()
    });
    let pairs: usize = pairs.sum();
    let all = (from.values.len() * into.values.len()).max(1) as f64;
    (pairs >= PAIRS_MIN).then(|| into.population as f64 * pairs as f64 / all)
}
