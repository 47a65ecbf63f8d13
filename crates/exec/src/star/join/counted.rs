//! Solutions that are counted and not looked for.
//!
//! Where nothing is read of the subjects that a join by object finds (`COUNT(*)` above, or a semi-join), each of them in the
//! cells gives one solution, and the inverse of the column tells how many there are:
//!
//! ```text
//! solutions of an object = cells that have it  +  its difference
//! difference             = solutions of changed rows and new subjects now  -  cells of changed rows
//! ```
//!
//! The differences of all objects are found at once, by reading changed rows and new subjects as columns, and kept with the state of
//! the delta. So `COUNT` over a join takes as long beside changes as without.
//!
//! Invariant: every pattern but the entry's has an object that nobody reads, and exactly one value in each row of the tables, all of it in
//! the star's graph; no predicate stands twice, so that stars of the same predicates have the same differences; no subject needs the general way. Otherwise subjects are looked for. Memory: an entry for each object that changes have
//! touched.

use super::super::cells::CellPass;
use super::super::changed::{Home, new_subjects};
use super::super::compiled::{CompiledGraphs, CompiledStar, Object};
use super::super::large::take_out_large;
use super::super::matches::Matches;
use super::candidates::Asked;
use super::{BATCH_SOLUTIONS_MAX, StarJoin};
use crate::context::Context;
use crate::error::ExecError;
use crate::profile::current_node;
use basalt_plan::physical::Slot;
use basalt_rdf::TermId;
use basalt_store::{ObjectDifferences, Snapshot, Table};
use std::cell::OnceCell;
use std::sync::Arc;

/// Changed rows and new subjects whose differences are found, at most: those of more would not be kept.
const CHANGED_MAX: u64 = 1 << 20;

/// What came of counting.
pub(super) enum Counted {
    /// As many matches as there are solutions.
    Matches(Matches),
    /// There are too many to be made at once.
    TooMany,
    /// They must be looked for.
    No,
}

/// A star whose solutions are counted.
pub(super) struct CountedStar {
    /// The predicate of the entry.
    predicate: TermId,
    graph: TermId,
    /// Tables with clean rows that match.
    tables: Vec<usize>,
    /// Rows and subjects that are read to find the differences.
    changed: u64,
    /// By object, once they are found.
    differences: Option<Arc<ObjectDifferences>>,
}

impl CountedStar {
    fn of(star: &CompiledStar, pattern_idx: usize, cx: &Context) -> Option<Self> {
        let CompiledGraphs::One(graph) = star.graphs else {
            return None;
        };
        let others = || {
            let patterns = star.patterns.iter().enumerate();
            patterns.filter(move |(idx, _)| *idx != pattern_idx)
        };
        let is_filtered = !star.column_filters.is_empty() || !star.row_filters.is_empty();
        let is_read = star.subject != Object::Any || !star.new_slots.is_empty() || is_filtered;
        let is_any = others().all(|(_, p)| p.object == Object::Any && !p.optional);
        let predicate = star.patterns[pattern_idx].predicate;
        let mut predicates: Vec<TermId> = star.patterns.iter().map(|p| p.predicate).collect();
        predicates.sort_unstable();
        let repeats = predicates.windows(2).any(|two| two[0] == two[1]);
        if is_read || !is_any || repeats || !cx.options().counted_solutions {
            return None;
        }
        let mut counted = Self {
            predicate,
            graph: TermId(graph),
            tables: Vec::new(),
            changed: 0,
            differences: None,
        };
        let snapshot = cx.snapshot();
        let places = snapshot.change_places(predicate);
        let is_general = snapshot.irregular_of_version(predicate) > 0 || places.loose > 0;
        let is_foreign = places.new > 0 && star.rows.new_graph != Some(counted.graph);
        if is_general || is_foreign {
            return None;
        }
        counted.changed = places.new;
        for (table_idx, table) in snapshot.tables().iter().enumerate() {
            counted.add_table(star, (table_idx, table))?;
        }
        (counted.changed <= CHANGED_MAX).then_some(counted)
    }

    /// Adds what a table has; nothing if it has rows that must be looked for.
    fn add_table(&mut self, star: &CompiledStar, (idx, table): (usize, &Table)) -> Option<()> {
        let has_touched = star.has_touched(idx);
        let cells = table.cells(self.predicate);
        if cells.is_none() && !has_touched {
            return Some(());
        }
        let is_home = table.constant_graph() == Some(self.graph);
        let is_known = !has_touched || is_home && star.rows.dirty[idx].is_empty();
        if table.constant_graph().is_none() || !is_known {
            return None;
        }
        self.changed += star.rows.changed[idx].len();
        let can_match = star.tables.contains(&idx) && star.table_can_match(table);
        let Some(cells) = cells.filter(|_| can_match && is_home) else {
            return Some(());
        };
        let others = star.patterns.iter().map(|p| p.predicate);
        let mut others = others.filter(|&predicate| predicate != self.predicate);
        let is_full = others.all(|other| table.cells(other).is_some_and(|cells| cells.full()));
        let is_counted = cells.has_inverse() && !(has_touched && cells.multi_valued());
        (is_full && is_counted).then(|| self.tables.push(idx))
    }

    /// The cells with each object, of all tables together.
    fn cells(&self, objects: &[u64], snapshot: &Snapshot) -> Option<Vec<u64>> {
        let mut counts = vec![0; objects.len()];
        for &table_idx in &self.tables {
            let cells = snapshot.tables()[table_idx].cells(self.predicate)?;
            if !cells.add_counts(objects, &mut counts) {
                return None;
            }
        }
        Some(counts)
    }

    /// Finds the differences of all objects and has them kept; nothing if some subjects must be looked up.
    fn find_differences(
        &self,
        star: &CompiledStar,
        cx: &Context,
    ) -> Result<Option<Arc<ObjectDifferences>>, ExecError> {
        let star = &self.with_objects(star);
        let mut differences = ObjectDifferences::new();
        for (table_idx, table) in cx.snapshot().tables().iter().enumerate() {
            cx.check()?;
            let rows: Vec<u32> = star.rows.changed[table_idx].iter().collect();
            if let Some(cells) = table.cells(self.predicate)
                && self.tables.contains(&table_idx)
            {
                let mut before = Vec::with_capacity(rows.len());
                cells.gather(&rows, &mut before);
                for object in before.into_iter().filter(|&object| object != 0) {
                    *differences.entry(object).or_default() -= 1;
                }
            }
            if !add_solutions(star, Home::Table(table), rows, &mut differences, cx)? {
                return Ok(None);
            }
        }
        let home = Home::New {
            first: cx.snapshot().first_new_resource(),
            graph: self.graph,
        };
        let rows = new_subjects(star, home, cx)?;
        if !add_solutions(star, home, rows, &mut differences, cx)? {
            return Ok(None);
        }
        differences.retain(|_, difference| *difference != 0);
        let key = (self.predicate, self.graph);
        Ok(Some(star.rows.keep_differences(key, differences)))
    }

    /// The star with a column for the entry's objects.
    fn with_objects(&self, star: &CompiledStar) -> CompiledStar {
        let mut patterns = star.patterns.clone();
        let entry = patterns.iter_mut().find(|p| p.predicate == self.predicate);
        entry.into_iter().for_each(|p| p.object = Object::New(0));
        CompiledStar {
            patterns,
            subject: Object::Any,
            graphs: star.graphs.clone(),
            new_slots: vec![Slot(0)],
            column_filters: Vec::new(),
            row_filters: Vec::new(),
            tables: star.tables.clone(),
            rows: Arc::clone(&star.rows),
            input_schema: Vec::new(),
            input_columns: None,
        }
    }
}

/// Counts the solutions of changed rows or new subjects; false if some must be looked up.
fn add_solutions(
    star: &CompiledStar,
    home: Home<'_>,
    mut rows: Vec<u32>,
    differences: &mut ObjectDifferences,
    cx: &Context,
) -> Result<bool, ExecError> {
    let mut origin = vec![0; rows.len()];
    if !take_out_large(star, home, &mut rows, &mut origin, cx)?.is_empty() {
        return Ok(false);
    }
    cx.profile().read(current_node(), rows.len());
    let mut pass = CellPass::new(star, home, None, rows, origin).with_changes();
    while let Some(matches) = pass.next(cx)? {
        cx.check()?;
        for &object in &matches.columns[0] {
            *differences.entry(object).or_default() += 1;
        }
    }
    Ok(true)
}

impl StarJoin {
    /// How many solutions each object has, as so many matches (one is enough for semi- and anti-joins).
    pub(super) fn counted(
        &mut self,
        pattern_idx: usize,
        (objects, batch_rows): (Asked<'_>, usize),
        cx: &Context,
    ) -> Result<Counted, ExecError> {
        let Some(mut counts) = self.solution_counts(pattern_idx, objects, cx)? else {
            return Ok(Counted::No);
        };
        cx.profile().read(current_node(), counts.len());
        if self.is_one_enough() {
            counts.iter_mut().for_each(|count| *count = (*count).min(1));
        }
        let solutions = counts.iter().sum::<u64>() as usize;
        if batch_rows > 1 && solutions > BATCH_SOLUTIONS_MAX {
            return Ok(Counted::TooMany);
        }
        cx.check_room(solutions.saturating_mul(size_of::<u32>()), "StarJoin")?;
        let mut matches = Matches::with_room(0, solutions);
        for (position, count) in counts.into_iter().enumerate() {
            let end = matches.origin.len() + count as usize;
            matches.origin.resize(end, objects.row(position));
        }
        Ok(Counted::Matches(matches))
    }

    /// The number of solutions of each object; nothing if they must be looked for.
    fn solution_counts(
        &mut self,
        pattern_idx: usize,
        objects: Asked<'_>,
        cx: &Context,
    ) -> Result<Option<Vec<u64>>, ExecError> {
        self.counted_star
            .get_or_init(|| CountedStar::of(&self.star, pattern_idx, cx));
        let Some(Some(counted)) = self.counted_star.get_mut() else {
            return Ok(None);
        };
        let Some(mut counts) = counted.cells(objects.values, cx.snapshot()) else {
            return Ok(None);
        };
        if counted.changed > 0 && counted.differences.is_none() {
            let key = (counted.predicate, counted.graph);
            counted.differences = self.star.rows.kept_differences(key);
            if counted.differences.is_none() {
                if counts.iter().sum::<u64>() < counted.changed {
                    // To look for these few takes less than to read all changes.
                    return Ok(None);
                }
                counted.differences = counted.find_differences(&self.star, cx)?;
            }
            if counted.differences.is_none() {
                self.counted_star = OnceCell::from(None);
                return Ok(None);
            }
        }
        if let Some(differences) = &counted.differences {
            for (count, object) in counts.iter_mut().zip(objects.values) {
                let difference = differences.get(object).copied().unwrap_or_default();
                debug_assert!(count.checked_add_signed(difference).is_some(), "{object}");
                *count = count.saturating_add_signed(difference);
            }
        }
        Ok(Some(counts))
    }
}
