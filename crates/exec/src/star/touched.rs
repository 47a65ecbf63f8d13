//! Subjects that a join finds and that cells do not tell all of.
//!
//! [`TouchedRows`] tells them from clean rows: by the star's sets while the join has found few rows, by a bit for each row of
//! a table once it has found many or somebody has made the bits, and then also which of them have nothing left of the predicate that
//! leads to them. [`Touched`] sorts those of one batch by how they are answered: changed rows and new subjects
//! column by column, all others the general way, and the former too if they are too few to be worth a pass.
//!
//! Memory: the candidates of a batch, and bits for each row of tables that have such rows, which the state of the delta keeps for others.

use super::changed::{Home, emptied_rows};
use super::compiled::CompiledStar;
use crate::context::Context;
use crate::error::ExecError;
use basalt_columns::RowBits;
use basalt_rdf::TermId;
use basalt_store::Snapshot;
use roaring::RoaringBitmap;
use std::sync::Arc;

/// Neighbouring ordinals that a pass goes over for each subject that is wanted, at most: going over a thousand of them takes some dozen
/// nanoseconds, however many are touched, and looking one subject up a microsecond or two for some patterns.
const PASSED_OVER_MAX: u64 = 16 << 10;

/// Bits that are set in the time that a search takes.
const SET_PER_SEARCH: u64 = 4;

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
    touched: Arc<RowBits>,
    /// Those that have no value left of the predicate that leads to rows, if one does.
    emptied: Option<Arc<RowBits>>,
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
        if !self.bits.is_empty() || self.are_few(star, cx) {
            return Ok(());
        }
        for (table_idx, table) in cx.snapshot().tables().iter().enumerate() {
            let mut bits = None;
            if star.has_touched(table_idx) {
                let emptied = entry.map(|predicate| {
                    let find = || emptied_rows(star, table_idx, predicate, cx);
                    star.rows
                        .emptied_bits((table_idx, table.rows()), predicate, find)
                });
                bits = Some(TouchedBits {
                    touched: star.rows.touched_bits(table_idx, table.rows()),
                    emptied: emptied.transpose()?,
                });
            }
            self.bits.push(bits);
        }
        Ok(())
    }

    /// Whether a search for each row found so far takes less than making bits.
    fn are_few(&self, star: &CompiledStar, cx: &Context) -> bool {
        if star.rows.has_bits() {
            return false;
        }
        let few_max = cx.options().searched_rows_max;
        let sets = || star.rows.dirty.iter().chain(&star.rows.changed);
        let touched = || sets().map(RoaringBitmap::len).sum::<u64>();
        self.found <= few_max || few_max > 0 && self.found as u64 * SET_PER_SEARCH < touched()
    }

    /// Appends rows of which cells tell all to `clean`, and visits each of the others but for those that are no candidates any more.
    pub fn sort_out(
        &self,
        star: &CompiledStar,
        table_idx: usize,
        rows: &[u32],
        clean: &mut Vec<u32>,
        mut on_touched: impl FnMut(u32),
    ) {
        match self.bits.get(table_idx) {
            Some(Some(TouchedBits { touched, emptied })) => touched.take_out(rows, clean, |row| {
                if !emptied.as_ref().is_some_and(|rows| rows.contains(row)) {
                    on_touched(row);
                }
            }),
            Some(None) => clean.extend_from_slice(rows),
            None => {
                for &row in rows {
                    match star.is_touched(table_idx, row) {
                        true => on_touched(row),
                        false => clean.push(row),
                    }
                }
            }
        }
    }

    /// Whether cells do not tell all of a row.
    #[inline]
    pub fn is_touched(&self, star: &CompiledStar, table_idx: usize, row: u32) -> bool {
        match self.bits.get(table_idx) {
            Some(bits) => bits.as_ref().is_some_and(|b| b.touched.contains(row)),
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

/// Rows from the first to the last of those that were found: a pass goes over what is touched there.
fn rows_between(found: &[(u32, u32)]) -> u64 {
    let rows = || found.iter().map(|(row, _)| u64::from(*row));
    match (rows().min(), rows().max()) {
        (Some(first), Some(last)) => last - first + 1,
        _ => 0,
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
        let columns = match self.new.is_empty() && self.changed.iter().all(Vec::is_empty) {
            true => Columns::new(),
            false => self.take_columns(star, snapshot, columns_min),
        };
        self.general.sort_unstable();
        self.general.dedup();
        (columns, self.general)
    }

    /// The changed and new subjects that are read as columns; the others go the general way.
    fn take_columns<'a>(
        &mut self,
        star: &CompiledStar,
        snapshot: &'a Snapshot,
        columns_min: usize,
    ) -> Columns<'a> {
        let first = snapshot.first_new_resource();
        let tables = snapshot.tables().iter().map(Home::Table);
        let new = star.rows.new_graph.map(|graph| Home::New { first, graph });
        let homes = tables.chain(new);
        let mut by_home = std::mem::take(&mut self.changed);
        by_home.push(std::mem::take(&mut self.new));
        let count: usize = by_home.iter().map(Vec::len).sum();
        let mut columns = Columns::new();
        for (home, mut found) in homes.zip(by_home) {
            if found.is_empty() {
                continue;
            }
            let is_sparse = || rows_between(&found) > found.len() as u64 * PASSED_OVER_MAX;
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
        columns
    }
}
