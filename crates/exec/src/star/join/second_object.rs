//! A second object that the input binds: the rows of both are found together.
//!
//! ```text
//! ?x between ?a , ?b      rows of ?a:  4 9 31 70 ...  ─┐
//!                         rows of ?b:  9 12 70        ─┴─►  9 70
//! ```
//!
//! The rows of one object can be a hundred times as many as those that have the other one too, and each would be read to find
//! out. Their lists are both in inverses, so [`CommonRows`] leaves what is in both. Where lists are long on both sides, or a
//! column has no inverse, the rows of the entry's object are looked at one by one as ever.
//!
//! Why nothing is lost: a solution has a quad with each object, in cells or outside of them. If both are in cells, its row is in
//! both lists; else one of the two is irregular or added, and its subject is found by that object in the quad table. Where many subjects
//! would be found there by the second object, tables with rows that cells do not tell all of are looked at by the entry's object alone; the
//! others have none of those subjects.

use super::candidates::{Asked, Found, irregular_subjects};
use super::{Entry, StarJoin};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::star::compiled::{CompiledStar, Object};
use crate::star::touched::Touched;
use basalt_rdf::TermId;
use basalt_store::CommonRows;

/// Values between looks at the query's flag and clock: the lists of one have 17,000 rows at most, which take some 50 us.
const VALUES_AT_ONCE: usize = 16;

/// Subjects that are found outside of cells by the second object, at most: so many for each value that is asked for, and so many more.
const IRREGULAR_FOR_VALUE: usize = 2;
const IRREGULAR_MORE: usize = 256;

/// The pattern of a second object, and the input's column that binds it.
#[derive(Clone, Copy, Debug)]
pub(super) struct SecondObject {
    pub(super) pattern_idx: usize,
    pub(super) column: usize,
}

impl SecondObject {
    /// That of a star which rows enter by an object, if the input binds one more.
    pub(super) fn of(star: &CompiledStar, entry: Entry) -> Option<Self> {
        let Entry::Object { pattern_idx, .. } = entry else {
            return None;
        };
        let mut patterns = star.patterns.iter().enumerate();
        patterns.find_map(|(idx, pattern)| match pattern.object {
            Object::Input(column) if idx != pattern_idx && !pattern.optional => Some(Self {
                pattern_idx: idx,
                column,
            }),
            _ => None,
        })
    }

    /// The second object for each value that is asked for.
    pub(super) fn values(self, asked: Asked<'_>, batch: &Batch) -> Vec<u64> {
        let others = batch.ids(self.column);
        let rows = (0..asked.values.len()).map(|position| asked.row(position));
        rows.map(|row| others[row as usize]).collect()
    }
}

/// What is found of a table by two objects.
pub(super) struct Together {
    /// The rows that have both.
    pub(super) found: Found,
    /// Positions of values whose rows are to be found by the entry's object alone.
    pub(super) left: Vec<u32>,
}

impl StarJoin {
    /// The second object for each value that is asked for, where rows of both are found together.
    pub(super) fn second_values(
        &self,
        asked: Asked<'_>,
        batch: &Batch,
        cx: &Context,
    ) -> Option<Vec<u64>> {
        let second = self.second.filter(|_| cx.options().common_rows)?;
        Some(second.values(asked, batch))
    }

    /// Candidates outside of cells that have the second object, unless these are many.
    pub(super) fn by_second_object(
        &mut self,
        (objects, values): (Asked<'_>, &[u64]),
        touched: &mut Touched,
        cx: &Context,
    ) -> Result<(), ExecError> {
        let snapshot = cx.snapshot();
        let mut tables = 0..snapshot.tables().len();
        let has_touched = tables.any(|table_idx| self.star.has_touched(table_idx));
        let Some(second) = self.second.filter(|_| has_touched && !self.is_second_dear) else {
            return Ok(());
        };
        let others = Asked { values, ..objects };
        let most = values.len() * IRREGULAR_FOR_VALUE + IRREGULAR_MORE;
        let mut found = Vec::new();
        let mut on_subject = |origin, subject| {
            if found.len() <= most {
                found.push((origin, subject));
            }
        };
        let predicate = self.star.patterns[second.pattern_idx].predicate;
        irregular_subjects(predicate, others, snapshot, &mut on_subject)?;
        self.is_second_dear = found.len() > most;
        if !self.is_second_dear {
            for (origin, subject) in found {
                touched.add(origin, subject, &self.star, snapshot);
            }
        }
        Ok(())
    }

    /// The rows of a table that have both objects, unless they were found for an earlier wave; `None` where the star has no second one,
    /// its column no inverse, or rows would be missed.
    pub(super) fn found_together(
        &self,
        table_idx: usize,
        (predicate, objects, is_first): (TermId, Asked<'_>, bool),
        others: Option<&[u64]>,
        cx: &Context,
    ) -> Result<Option<Together>, ExecError> {
        let Some((second, others)) = self.second.zip(others) else {
            return Ok(None);
        };
        if self.is_second_dear && self.star.has_touched(table_idx) {
            return Ok(None);
        }
        let table = &cx.snapshot().tables()[table_idx];
        let other = self.star.patterns[second.pattern_idx].predicate;
        let cells = table.cells(predicate).zip(table.cells(other));
        let Some(mut common) = cells.and_then(|(cells, other)| CommonRows::of(cells, other)) else {
            return Ok(None);
        };
        let (mut found, mut left) = (Found::default(), Vec::new());
        found.counts.reserve(objects.values.len());
        for (position, (&object, &other)) in objects.values.iter().zip(others).enumerate() {
            if position % VALUES_AT_ONCE == 0 {
                cx.check()?;
            }
            let start = found.rows.len();
            let is_found = match is_first {
                true => common.find(object, other, &mut found.rows),
                false => !common.is_left(object, other),
            };
            if !is_found {
                left.push(position as u32);
            }
            found.counts.push((found.rows.len() - start) as u32);
        }
        Ok(Some(Together { found, left }))
    }
}
