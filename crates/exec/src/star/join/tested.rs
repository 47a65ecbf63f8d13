//! Rows whose subjects a star only tests: for constants, of which it is known by a bit for each row of a table who has them.
//!
//! `?product a <Class>` above offers adds no column, so a row of the batch stays or goes, and nothing is put together for it: its subject leads to a row of the
//! star's only table, and that to a bit. Cost: 3 ns a row where a tenth stays, 6 where two fifths do. Subjects in no table, and those of which cells do not tell
//! all, are left to the other ways, with the whole batch.

use super::super::compiled::{CompiledGraphs, CompiledPattern, CompiledStar, Object};
use super::super::known_rows::{KnownRows, PatternRows};
use super::super::repeated_keys::SharedKeys;
use super::{Entry, StarJoin};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::profile::current_node;
use crate::selection::positions;
use basalt_columns::RowBits;
use basalt_plan::physical::JoinKind;
use basalt_rdf::TermId;
use basalt_store::{Cells, Table};

/// Whether a star adds nothing to a row, and has one solution at most for each subject in its only table, if that is of one graph.
pub(super) fn is_test(star: &CompiledStar, entry: Entry, kind: JoinKind) -> bool {
    let is_single = |pattern: &CompiledPattern| {
        !pattern.optional && matches!(pattern.object, Object::Constant(_) | Object::Any)
    };
    matches!(entry, Entry::Subject(_))
        && kind != JoinKind::LeftOuter
        && star.tables.len() == 1
        && star.new_slots.is_empty()
        && star.row_filters.is_empty()
        && star.column_filters.is_empty()
        && star.patterns.iter().all(is_single)
        && matches!(
            star.graphs,
            CompiledGraphs::One(_) | CompiledGraphs::Merge(_)
        )
}

impl StarJoin {
    /// The rows of a batch that stay, where bits tell of all of them.
    pub(super) fn tested_rows(
        &mut self,
        batch: &Batch,
        cx: &Context,
    ) -> Result<Option<Vec<u32>>, ExecError> {
        let (star, snapshot) = (&self.star, cx.snapshot());
        let may_test = self.is_test && cx.options().shared_keys != SharedKeys::Never;
        let Some(&table_idx) = star.tables.first().filter(|_| may_test) else {
            return Ok(None);
        };
        let Some(tests) = tests(&mut self.pattern_rows, star, table_idx, cx)? else {
            return Ok(None);
        };
        let subjects = batch.ids(self.entry.column());
        let keeps = self.kind != JoinKind::Anti;
        // The subjects of a table have ids one after the other.
        let table = &snapshot.tables()[table_idx];
        let (first, rows) = (table.subject(0).0, u64::from(table.rows()));
        let mut near = 0;
        let mut is_elsewhere = |id: u64| {
            let home = snapshot.row_of_near(TermId(id), &mut near);
            home.is_some_and(|(other_idx, _)| !star.has_touched(other_idx))
        };
        let mut are_told = true;
        let staying = positions(subjects, |id| {
            let row = id.wrapping_sub(first);
            if row < rows {
                let passes = tests.iter().all(|bits| bits.contains(row as u32));
                return passes == keeps;
            }
            // Literals and what is unbound are no subjects; clean rows of other tables do not match.
            are_told &= !TermId(id).is_resource() || is_elsewhere(id);
            !keeps
        });
        if !are_told {
            return Ok(None);
        }
        cx.profile().compared(current_node(), subjects.len());
        Ok(Some(staying))
    }
}

/// The bits that a row of a table must all have, if they decide.
fn tests<'a>(
    pattern_rows: &'a mut PatternRows,
    star: &CompiledStar,
    table_idx: usize,
    cx: &Context,
) -> Result<Option<Vec<&'a RowBits>>, ExecError> {
    let table = &cx.snapshot().tables()[table_idx];
    let are_in_graphs = star.takes_all_rows(table.constant_graph());
    if !star.table_can_match(table) || !are_in_graphs || star.has_touched(table_idx) {
        return Ok(None);
    }
    let known = pattern_rows.test(star, table_idx, 0, None, cx)?;
    let mut tests = Vec::with_capacity(known.len());
    for (pattern, known) in star.patterns.iter().zip(known) {
        match known {
            KnownRows::These(rows) => tests.push(rows),
            KnownRows::All => {}
            KnownRows::Unknown | KnownRows::WithValue(_) if has_one(pattern, table) => {}
            KnownRows::Unknown | KnownRows::WithValue(_) => return Ok(None),
        }
    }
    Ok(Some(tests))
}

/// Whether every row of a table has one value for a pattern that takes any.
fn has_one(pattern: &CompiledPattern, table: &Table) -> bool {
    let is_full = || table.cells(pattern.predicate).is_some_and(Cells::full);
    pattern.object == Object::Any && is_full()
}
