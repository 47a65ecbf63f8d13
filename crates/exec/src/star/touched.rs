//! Subjects that a join finds and that cells do not tell all of.
//!
//! [`TouchedRows`] tells them from clean rows: by the star's sets while the join has found few rows, by a bit for each row of
//! a table once it has found many, and then also which of them have nothing left of the predicate that leads to them. [`Touched`] sorts those of one batch by how they are answered: changed rows and new subjects
//! column by column, all others the general way, and the former too if they are too few to be worth a pass.
//!
//! Memory: the candidates of a batch, a bit for each row of tables that have such rows.

use super::changed::{Home, rows_without_value};
use super::compiled::CompiledStar;
use super::constant_rows::RowBits;
use crate::context::Context;
use crate::error::ExecError;
use basalt_rdf::TermId;
use basalt_store::Snapshot;
use roaring::RoaringBitmap;

/// Subjects that a pass goes over for each that is wanted, at most: looking one up takes as long as going over some dozen for some patterns.
const PASSED_OVER_MAX: u64 = 64;

/// Tells rows that cells do not tell all of; see the [module documentation](self).
#[derive(Default)]
pub struct TouchedRows {
    /// Rows found so far.
    found: usize,
    /// By table, once that is worth it, where there are any.
    bits: Vec<Option<TouchedBits>>,
}

/// The touched rows of a table.
struct TouchedBits {
    /// All of them.
    touched: RowBits,
    /// Those that have no value left of the predicate that leads to rows, if one does.
    without_value: Option<RowBits>,
}

/// What cells tell of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowState {
    /// All.
    Clean,
    /// Not all.
    Touched,
    /// That it was a candidate, which it is no more.
    WithoutValue,
}

impl TouchedRows {
    /// Counts rows that are going to be asked for; values of `entry` lead to them, or their subjects do.
    pub fn count(
        &mut self,
        rows: usize,
        entry: Option<TermId>,
        star: &CompiledStar,
        cx: &Context,
    ) -> Result<(), ExecError> {
        self.found += rows;
        if self.found <= cx.options().searched_rows_max || !self.bits.is_empty() {
            return Ok(());
        }
        for (table_idx, table) in cx.snapshot().tables().iter().enumerate() {
            let mut bits = None;
            if star.has_touched(table_idx) {
                let sets = [&star.rows.dirty[table_idx], &star.rows.changed[table_idx]];
                let without_value = match entry {
                    Some(predicate) => {
                        let rows = rows_without_value(star, table_idx, predicate, cx)?;
                        Some(RowBits::of(&rows, table.rows()))
                    }
                    None => None,
                };
                bits = Some(TouchedBits {
                    touched: RowBits::of_sets(sets, table.rows()),
                    without_value,
                });
            }
            self.bits.push(bits);
        }
        Ok(())
    }

    /// The position of the first of some rows that cells do not tell all of, or have a value no more.
    pub fn first_touched(
        &self,
        star: &CompiledStar,
        table_idx: usize,
        rows: &[u32],
    ) -> Option<usize> {
        match self.bits.get(table_idx) {
            Some(bits) => bits.as_ref()?.touched.first_of(rows),
            None => rows.iter().position(|&row| star.is_touched(table_idx, row)),
        }
    }

    /// What cells tell of a row.
    #[inline]
    pub fn state(&self, star: &CompiledStar, table_idx: usize, row: u32) -> RowState {
        let bits = self.bits.get(table_idx);
        let is_touched = match bits {
            Some(bits) => bits.as_ref().is_some_and(|b| b.touched.contains(row)),
            None => star.is_touched(table_idx, row),
        };
        if !is_touched {
            return RowState::Clean;
        }
        let without_value = bits.and_then(|bits| bits.as_ref()?.without_value.as_ref());
        match without_value.is_some_and(|rows| rows.contains(row)) {
            true => RowState::WithoutValue,
            false => RowState::Touched,
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
        if let Some(number) = star.new_number(subject, snapshot) {
            self.new.push((number, origin));
            return;
        }
        match snapshot.row_of(subject) {
            Some((table_idx, row)) if star.rows.changed[table_idx].contains(row) => {
                self.changed[table_idx].push((row, origin));
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
