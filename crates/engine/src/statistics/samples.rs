//! Rows that are looked at for estimates: which ones, how they do in tests, and what their values are.
//!
//! Samples are not random: rows spread evenly over a table, or over those with a constant, so that a query has the same plan
//! each time. Cost: some hundred cells for an estimate.

use basalt_plan::physical::TableIdx;
use basalt_plan::statistics::RowTest;
use basalt_rdf::TermId;
use basalt_store::{Cells, Snapshot, StoreError, Table};

/// Rows with a constant that a sample is taken from; finding more costs more than a better plan saves.
pub(super) const SAMPLED_FROM_MAX: u64 = 20_000;
/// Rows of a column without an inverse that is searched for a constant; more would cost more than a better plan saves.
const SEARCHED_ROWS_MAX: u32 = 1 << 16;

/// Irregular quads of a predicate that are all read to take some of their subjects: a block or two.
const IRREGULAR_READ: usize = 1024;

/// How rows with a constant may be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// By an inverse.
    Inverse,
    /// By an inverse, or by a search of a column that is not too long.
    Search,
}

/// Rows whose values are counted among those of another column, for one estimate.
const PARTNERS_READ: usize = 64;
/// Pairs of equal values that two samples must have for their share to be believed.
const PAIRS_MIN: usize = 4;

/// How rows of a table did in the tests of a star.
pub(super) struct Tested {
    /// Those that may pass all of them.
    pub(super) rows: Vec<u32>,
    /// How many passed the tests up to each of them.
    pub(super) passed: Vec<f64>,
}

/// Tests rows, all of them in one test after the other, so that each test reads the cells of its predicate at once; a row that fails one is not
/// looked at again.
pub(super) fn test_rows(table: &Table, tests: &[RowTest<'_>], mut rows: Vec<u32>) -> Tested {
    let mut shares = vec![1.0; rows.len()];
    let (mut counts, mut values) = (Vec::new(), Vec::new());
    let mut test_all = |test: &RowTest<'_>| {
        counts.clear();
        values.clear();
        match table.cells(test.predicate) {
            Some(cells) => cells.gather_lists(&rows, &mut counts, &mut values),
            None => counts.resize(rows.len(), 0),
        }
        let (mut kept, mut sum, mut read) = (0, 0.0, 0);
        for (idx, &count) in counts.iter().enumerate() {
            let of_row = &values[read..read + count as usize];
            read += count as usize;
            let best = of_row.iter().map(|value| (test.passes)(TermId(*value)));
            let share = shares[idx] * best.fold(0.0, f64::max);
            if share > 0.0 {
                sum += share;
                (rows[kept], shares[kept]) = (rows[idx], share);
                kept += 1;
            }
        }
        rows.truncate(kept);
        shares.truncate(kept);
        sum
    };
    let passed = tests.iter().map(&mut test_all).collect();
    Tested { rows, passed }
}

/// Whether the numbers of values that rows have of some predicates go up and down together; see [`Together::ratio`].
pub(super) fn together(counted: Vec<Cells<'_>>, rows: &[u32]) -> f64 {
    let mut together = Together::new(counted.len());
    if counted.len() > 1 {
        let mut readers: Vec<_> = counted.into_iter().map(Cells::reader).collect();
        for &row in rows {
            let counts = readers.iter_mut().map(|cells| cells.value_count(row));
            together.add(counts.map(|count| count.max(1) as f64));
        }
    }
    together.ratio()
}

/// The rows to look at, and how many they were taken from.
pub(super) fn sampled_rows(
    table: &Table,
    having: Option<(TermId, TermId)>,
    rows_max: usize,
    finding: Finding,
) -> Option<(Vec<u32>, usize)> {
    let Some((predicate, object)) = having else {
        let population = table.rows() as usize;
        let rows = evenly(population, rows_max).map(|row| row as u32);
        return Some((rows.collect(), population));
    };
    let cells = table.cells(predicate)?;
    match cells.count_object(object) {
        Some(count) if count > SAMPLED_FROM_MAX => return None,
        Some(_) => {}
        None if finding == Finding::Search && table.rows() <= SEARCHED_ROWS_MAX => {}
        None => return None,
    }
    let mut found = Vec::new();
    cells.find(object, &mut found);
    let rows = evenly(found.len(), rows_max).map(|place| found[place]);
    Some((rows.collect(), found.len()))
}

/// Subjects of irregular quads with a predicate, and an object if one is given, and for how many each of them stands. Where the quads are
/// few all are read, and each subject comes once.
pub(super) fn spread_irregular(
    snapshot: &Snapshot,
    predicate: TermId,
    object: Option<TermId>,
    subjects_max: usize,
) -> Result<Vec<(TermId, f64)>, StoreError> {
    let irregular = snapshot.quad_table();
    let known = irregular.predicate(predicate).unwrap_or_default();
    let mut subjects = Vec::new();
    match object {
        Some(object) if irregular.count_object(predicate, object)? <= SAMPLED_FROM_MAX => {
            let mut found = Vec::new();
            irregular.by_object(predicate, object, &mut found)?;
            subjects.extend(found.into_iter().map(|(subject, _)| subject));
        }
        Some(_) => return Ok(Vec::new()),
        None => {
            let places = match known.quads <= IRREGULAR_READ as u64 {
                true => IRREGULAR_READ,
                false => subjects_max,
            };
            irregular.spread_subjects(predicate, places, &mut subjects)?;
        }
    }
    let is_all = object.is_some() || known.quads <= IRREGULAR_READ as u64;
    subjects.dedup();
    let all = match is_all {
        true => subjects.len() as f64,
        false => known.subjects as f64,
    };
    let taken: Vec<TermId> = evenly(subjects.len(), subjects_max)
        .map(|place| subjects[place])
        .collect();
    let weight = all / taken.len().max(1) as f64;
    Ok(taken.into_iter().map(|subject| (subject, weight)).collect())
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
pub(super) struct SampledCells {
    /// The table and row of each, and the value.
    pub(super) values: Vec<((TableIdx, u32), u64)>,
    /// Values of all the cells.
    population: u64,
}

/// Values of rows spread evenly over some tables; `phase` shifts them.
pub(super) fn sampled_cells(columns: &[(TableIdx, u32, Cells<'_>)], phase: usize) -> SampledCells {
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
        let mut reader = cells.reader();
        for row in evenly(*rows as usize, rows_max) {
            of_row.clear();
            reader.values_into(row as u32, &mut of_row);
            let place = (*table, row as u32);
            out.values
                .extend(of_row.iter().map(|value| (place, *value)));
        }
    }
    out
}

/// The mean number of values of `into` that are equal to one of `from`, by the pairs of two samples; `None`
/// where too few are equal to tell. A row's pair with itself does not tell of others.
pub(super) fn equal_pairs(from: &SampledCells, into: &SampledCells) -> Option<f64> {
    let pairs = from.values.iter().map(|(place, value)| {
        let others = into.values.iter().filter(|(other, _)| other != place);
        others.filter(|(_, other)| other == value).count()
    });
    let pairs: usize = pairs.sum();
    let all = (from.values.len() * into.values.len()).max(1) as f64;
    (pairs >= PAIRS_MIN).then(|| into.population as f64 * pairs as f64 / all)
}
