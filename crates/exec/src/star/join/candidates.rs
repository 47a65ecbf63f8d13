//! Which rows of tables, and which other subjects, the keys of a join lead to.

use super::super::known_rows::KnownRows;
use super::super::touched::Touched;
use super::StarJoin;
use super::second_object::Together;
use super::waves::Partners;
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::selection::{keep, positions};
use basalt_rdf::TermId;
use basalt_store::{Snapshot, Table};

/// Values of the entry's column that solutions are looked for, and the input row that each stands for.
#[derive(Clone, Copy)]
pub(super) struct Asked<'a> {
    pub(super) values: &'a [u64],
    /// `None` where they are those of all rows.
    pub(super) rows: Option<&'a [u32]>,
}

impl Asked<'_> {
    /// The input row of a value.
    pub(super) fn row(&self, position: usize) -> u32 {
        self.rows.map_or(position as u32, |rows| rows[position])
    }

    /// The values at these positions, and their input rows.
    fn at(&self, positions: &[u32]) -> (Vec<u64>, Vec<u32>) {
        let values = positions.iter().map(|&at| self.values[at as usize]);
        let rows = positions.iter().map(|&at| self.row(at as usize));
        (values.collect(), rows.collect())
    }
}

/// Rows of one table that were found for values.
#[derive(Default)]
pub(super) struct Found {
    /// How many were found for each value.
    pub(super) counts: Vec<u32>,
    pub(super) rows: Vec<u32>,
}

/// Candidate (row, origin) pairs of one table.
#[derive(Default)]
pub(super) struct Candidates {
    /// Rows of the table.
    pub(super) rows: Vec<u32>,
    /// The input row of each.
    pub(super) origin: Vec<u32>,
}

impl Candidates {
    /// Drops those that do not have the constant of a pattern, or no value of it, where is known which rows do.
    pub(super) fn keep_known(&mut self, known: &[KnownRows]) {
        for pattern in known {
            if let KnownRows::These(rows) | KnownRows::WithValue(rows) = pattern {
                let positions = positions(&self.rows, |row| rows.contains(row));
                keep(&mut self.rows, &positions);
                keep(&mut self.origin, &positions);
            }
        }
    }
}

impl StarJoin {
    /// Finds out once which tables have clean rows that can match.
    fn know_tables(&mut self, snapshot: &Snapshot) {
        if self.clean_matters.is_empty() {
            let star = &self.star;
            let matters = |(idx, table): (usize, &Table)| {
                star.tables.contains(&idx) && star.table_can_match(table)
            };
            self.clean_matters = snapshot.tables().iter().enumerate().map(matters).collect();
        }
    }

    /// Candidates that are these subjects.
    pub(super) fn by_subject(
        &mut self,
        subjects: Asked<'_>,
        tables: &mut [Candidates],
        touched: &mut Touched,
        cx: &Context,
    ) -> Result<(), ExecError> {
        let snapshot = cx.snapshot();
        self.touched_rows
            .count(subjects.values.len(), None, &self.star, cx)?;
        self.know_tables(snapshot);
        let mut near = 0;
        for (position, &subject) in subjects.values.iter().enumerate() {
            let (origin, subject) = (subjects.row(position), TermId(subject));
            if !subject.is_resource() {
                continue;
            }
            match snapshot.row_of_near(subject, &mut near) {
                Some((table_idx, row))
                    if !self.touched_rows.is_touched(&self.star, table_idx, row) =>
                {
                    if self.clean_matters[table_idx] {
                        let of_table = &mut tables[table_idx];
                        if of_table.rows.is_empty() {
                            // Most are rows of one table.
                            let left = subjects.values.len() - position;
                            of_table.rows.reserve(left);
                            of_table.origin.reserve(left);
                        }
                        of_table.rows.push(row);
                        of_table.origin.push(origin);
                    }
                }
                _ => touched.add(origin, subject, &self.star, snapshot),
            }
        }
        Ok(())
    }

    /// Candidates that have these objects of a pattern, as far as they are among the partners that are wanted.
    pub(super) fn by_object(
        &mut self,
        pattern_idx: usize,
        (objects, batch, partners): (Asked<'_>, &Batch, &mut Partners),
        (tables, touched): (&mut [Candidates], &mut Touched),
        cx: &Context,
    ) -> Result<(), ExecError> {
        let predicate = self.star.patterns[pattern_idx].predicate;
        let snapshot = cx.snapshot();
        self.know_tables(snapshot);
        let others = self.second_values(objects, batch, cx);
        if let Some(others) = others.as_deref().filter(|_| partners.are_first()) {
            self.by_second_object((objects, others), touched, cx)?;
        }
        for (table_idx, table) in snapshot.tables().iter().enumerate() {
            let is_wanted = self.clean_matters[table_idx] || self.star.has_touched(table_idx);
            let Some(cells) = table.cells(predicate).filter(|_| is_wanted) else {
                continue;
            };
            let asked = (predicate, objects, partners.are_first());
            let place = (table_idx, predicate);
            let Some(together) = self.found_together(table_idx, asked, others.as_deref(), cx)?
            else {
                let mut found = Found::default();
                if partners.find(cells, (objects.values, None), &mut found) {
                    self.sort_out(place, objects, &found, (tables, touched), cx)?;
                }
                continue;
            };
            let Together { found, left } = together;
            self.sort_out(place, objects, &found, (tables, touched), cx)?;
            if left.is_empty() {
                continue;
            }
            let (values, rows) = objects.at(&left);
            let mut found = Found::default();
            if partners.find(cells, (&values, Some(&left)), &mut found) {
                let objects = Asked {
                    values: &values,
                    rows: Some(&rows),
                };
                self.sort_out(place, objects, &found, (tables, touched), cx)?;
            }
        }
        if partners.are_first() {
            let star = &self.star;
            let mut add = |origin, subject| touched.add(origin, subject, star, snapshot);
            irregular_subjects(predicate, objects, snapshot, &mut add)?;
        }
        Ok(())
    }

    /// Puts rows of a table that were found for these objects where they belong.
    fn sort_out(
        &mut self,
        (table_idx, predicate): (usize, TermId),
        objects: Asked<'_>,
        found: &Found,
        (tables, touched): (&mut [Candidates], &mut Touched),
        cx: &Context,
    ) -> Result<(), ExecError> {
        let (star, snapshot) = (&self.star, cx.snapshot());
        let count = found.rows.len();
        self.touched_rows.count(count, Some(predicate), star, cx)?;
        let table = &snapshot.tables()[table_idx];
        let has_touched = star.has_touched(table_idx);
        let of_table = &mut tables[table_idx];
        of_table.rows.reserve(count);
        of_table.origin.reserve(count);
        let mut left = &found.rows[..];
        for (position, &count) in found.counts.iter().enumerate() {
            let of_object;
            (of_object, left) = left.split_at(count as usize);
            let origin = objects.row(position);
            if has_touched {
                let on_touched = |row| {
                    touched.add(origin, table.subject(row), star, snapshot);
                };
                let clean = &mut of_table.rows;
                self.touched_rows
                    .sort_out(star, table_idx, of_object, clean, on_touched);
            } else {
                of_table.rows.extend_from_slice(of_object);
            }
            of_table.origin.resize(of_table.rows.len(), origin);
        }
        if !self.clean_matters[table_idx] {
            *of_table = Candidates::default();
        }
        Ok(())
    }

    /// Candidates that have quads in these graphs.
    pub(super) fn by_graph(
        &mut self,
        graphs: Asked<'_>,
        tables: &mut [Candidates],
        touched: &mut Touched,
        cx: &Context,
    ) -> Result<(), ExecError> {
        let snapshot = cx.snapshot();
        self.know_tables(snapshot);
        let mut rows = Vec::new();
        for (table_idx, table) in snapshot.tables().iter().enumerate() {
            let clean_matters = self.clean_matters[table_idx];
            if !clean_matters && !self.star.has_touched(table_idx) {
                continue;
            }
            let of_table = &mut tables[table_idx];
            for (position, &graph) in graphs.values.iter().enumerate() {
                rows.clear();
                table.all_rows_in_graph(TermId(graph), &mut rows);
                self.touched_rows.count(rows.len(), None, &self.star, cx)?;
                let (star, origin) = (&self.star, graphs.row(position));
                let clean = &mut of_table.rows;
                self.touched_rows
                    .sort_out(star, table_idx, &rows, clean, |row| {
                        touched.add(origin, table.subject(row), star, snapshot);
                    });
                of_table.origin.resize(of_table.rows.len(), origin);
            }
            if !clean_matters {
                *of_table = Candidates::default();
            }
            cx.check()?;
        }
        let mut near = 0;
        let mut on_subject = |position: usize, subject: TermId| {
            // Cells tell all of a row that is not touched, whatever else it has in the graph.
            let row = snapshot.row_of_near(subject, &mut near);
            let is_touched =
                |(table_idx, row)| self.touched_rows.is_touched(&self.star, table_idx, row);
            if row.is_none_or(is_touched) {
                touched.add(graphs.row(position), subject, &self.star, snapshot);
            }
        };
        snapshot.irregular_subjects_in(graphs.values, &mut on_subject)?;
        Ok(())
    }
}

/// Visits the subjects of irregular and added quads that have one of these objects, each with the input row of the object.
pub(super) fn irregular_subjects(
    predicate: TermId,
    objects: Asked<'_>,
    snapshot: &Snapshot,
    on_subject: &mut dyn FnMut(u32, TermId),
) -> Result<(), ExecError> {
    if snapshot.quad_table().predicate(predicate).is_none() {
        return Ok(());
    }
    let rows = (0..objects.values.len()).map(|position| objects.row(position));
    let mut origins: Vec<(u64, u32)> = objects.values.iter().copied().zip(rows).collect();
    origins.sort_unstable();
    let groups: Vec<&[(u64, u32)]> = origins.chunk_by(|a, b| a.0 == b.0).collect();
    let nodes: Vec<u64> = groups.iter().map(|group| group[0].0).collect();
    let mut on_quad = |at: usize, subject: TermId, _| {
        for &(_, origin) in groups[at] {
            on_subject(origin, subject);
        }
    };
    snapshot
        .quad_table()
        .by_objects(predicate, &nodes, &mut on_quad)?;
    Ok(())
}
