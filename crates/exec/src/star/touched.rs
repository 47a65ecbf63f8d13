//! Subjects that a join finds and that cells do not tell all of.
//!
//! [`TouchedRows`] tells them from clean rows: by the star's sets while the join has found few rows, by a bit for each row of
//! a table once it has found many. [`Touched`] sorts those of one batch by how they are answered: changed rows and new subjects
//! column by column, all others the general way, and the former too if they are too few to be worth a pass.
//!
//! Memory: the candidates of a batch, a bit for each row of tables that have such rows.

use super::changed::Home;
use super::compiled::CompiledStar;
use super::constant_rows::RowBits;
use basalt_rdf::TermId;
use basalt_store::Snapshot;
use roaring::RoaringBitmap;

/// Rows found from which on bits cost less than searches in sets: a search takes some 20 ns, and the bits of a million rows
/// as long as thousands of them.
const SEARCHED_MAX: usize = 8192;

/// Subjects that a pass goes over for each that is wanted, at most: looking one up takes as long as going over some dozen for some patterns.
const PASSED_OVER_MAX: u64 = 64;

/// Tells rows that cells do not tell all of; see the [module documentation](self).
#[derive(Default)]
pub struct TouchedRows {
    /// Rows found so far.
    found: usize,
    /// By table, once that is worth it, where there are any.
    bits: Vec<Option<RowBits>>,
}

impl TouchedRows {
    /// Counts rows that are going to be asked for.
    pub fn count(&mut self, rows: usize, star: &CompiledStar, snapshot: &Snapshot) {
        self.found += rows;
        if self.found > SEARCHED_MAX && self.bits.is_empty() {
            let tables = snapshot.tables().iter().enumerate();
            let bits = tables.map(|(idx, table)| {
                let sets = [&star.rows.dirty[idx], &star.rows.changed[idx]];
                star.has_touched(idx)
                    .then(|| RowBits::of_sets(sets, table.rows()))
            });
            self.bits = bits.collect();
        }
    }

    /// Whether cells do not tell all of a row.
    #[inline]
    pub fn has(&self, star: &CompiledStar, table_idx: usize, row: u32) -> bool {
        match self.bits.get(table_idx) {
            Some(bits) => bits.as_ref().is_some_and(|bits| bits.contains(row)),
            None => star.is_touched(table_idx, row),
        }
    }
}

/// Rows and the input rows that they were found for, to be read as columns.
type Columns<'a> = Vec<(Home<'a>, Vec<u32>, Vec<u32>)>;

/// The touched subjects of a batch.
pub struct Touched {
    /// By table: changed rows and their input rows.
    changed: Vec<Vec<(u32, u32)>>,
    /// New subjects by number, and their input rows.
    new: Vec<(u32, u32)>,
    /// Input rows and other subjects.
    general: Vec<(u32, TermId)>,
}

/// Changed rows of a table, or new subjects, from the first to the last of those that were found: a pass goes over all of them.
fn subjects_between(found: &[(u32, u32)], changed: Option<&RoaringBitmap>) -> u64 {
    let rows = || found.iter().map(|(row, _)| *row);
    let (Some(first), Some(last)) = (rows().min(), rows().max()) else {
        return 0;
    };
    match changed {
        Some(changed) => changed.range_cardinality(first..=last),
        None => u64::from(last - first) + 1,
    }
}

impl Touched {
    /// None yet.
    pub fn new(tables: usize) -> Self {
        Self {
            changed: vec![Vec::new(); tables],
            new: Vec::new(),
            general: Vec::new(),
        }
    }

    /// Adds a subject that was found for an input row.
    pub fn add(&mut self, origin: u32, subject: TermId, star: &CompiledStar, snapshot: &Snapshot) {
        match snapshot.row_of(subject) {
            Some((table_idx, row)) if star.rows.changed[table_idx].contains(row) => {
                self.changed[table_idx].push((row, origin));
            }
            None if let Some(number) = star.new_number(subject, snapshot) => {
                self.new.push((number, origin));
            }
            _ => self.general.push((origin, subject)),
        }
    }

    /// What is read as columns if there is so much of it, each candidate once and by ascending row; and what goes the general
    /// way, in order.
    pub fn into_parts<'a>(
        mut self,
        star: &CompiledStar,
        snapshot: &'a Snapshot,
        columns_min: usize,
    ) -> (Columns<'a>, Vec<(u32, TermId)>) {
        let first = snapshot.first_new_resource();
        let tables = snapshot.tables().iter().map(Home::Table);
        let new = star.rows.new_graph.map(|graph| Home::New { first, graph });
        let homes = tables.chain(new);
        self.changed.push(self.new);
        let count: usize = self.changed.iter().map(Vec::len).sum();
        let mut columns = Columns::new();
        for (home_idx, (home, mut found)) in homes.zip(self.changed).enumerate() {
            if found.is_empty() {
                continue;
            }
            let is_sparse = || {
                let between = subjects_between(&found, star.rows.changed.get(home_idx));
                between > found.len() as u64 * PASSED_OVER_MAX
            };
            if count < columns_min || is_sparse() {
                let subjects = found
                    .iter()
                    .map(|&(row, origin)| (origin, home.subject(row)));
                self.general.extend(subjects);
                continue;
            }
            found.sort_unstable();
            found.dedup();
            let (rows, origin) = found.into_iter().unzip();
            columns.push((home, rows, origin));
        }
        self.general.sort_unstable();
        self.general.dedup();
        (columns, self.general)
    }
}
