//! `StarJoin`: a star found for each input row.
//!
//! With entry *subject* the input binds the subject: rows of tables are found by position and gathered
//! table by table, changed ones and new subjects by themselves; dirty rows and other subjects outside tables go the general
//! way (an index join into the quad table). With entry *object* the input binds the object of one pattern: the column's inverse
//! leads to rows (adjacency join), POSG to subjects of irregular quads.
//!
//! Output keeps the input's order. Memory: the solutions of one input batch.

use super::cells::CellPass;
use super::changed::Home;
use super::compiled::{CompiledStar, Object};
use super::constant_rows::ConstantRows;
use super::general::GeneralPass;
use super::large::{one_after_the_other, take_out_large};
use super::matches::Matches;
use super::touched::{Touched, TouchedRows};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::operators::output::Output;
use crate::operators::{BoxOperator, Operator};
use crate::profile::current_node;
use basalt_plan::physical::{JoinKind, Slot, StarEntry};
use basalt_rdf::TermId;
use basalt_store::{Snapshot, Table};

/// How the input leads to subjects.
#[derive(Clone, Copy, Debug)]
enum Entry {
    /// The subject is in this input column.
    Subject(usize),
    /// The object of pattern `pattern_idx` (compiled order) is in this input column.
    Object { pattern_idx: usize, column: usize },
}

/// The operator; see the [module documentation](self).
pub struct StarJoin {
    input: BoxOperator,
    star: CompiledStar,
    entry: Entry,
    kind: JoinKind,
    schema: Vec<Slot>,
    constants: ConstantRows,
    touched_rows: TouchedRows,
    output: Output,
}

/// Candidate (row, origin) pairs of one table.
#[derive(Default)]
struct Candidates {
    rows: Vec<u32>,
    origin: Vec<u32>,
}

impl StarJoin {
    /// Joins `input` with a star; `predicate` is that of the entry pattern for an object entry.
    pub fn new(
        input: BoxOperator,
        star: CompiledStar,
        entry: StarEntry,
        entry_pattern: Option<(TermId, Slot)>,
        kind: JoinKind,
        schema: Vec<Slot>,
    ) -> Result<Self, ExecError> {
        let entry = match (entry, entry_pattern) {
            (StarEntry::Subject, _) => match star.subject {
                Object::Input(column) => Entry::Subject(column),
                _ => {
                    return Err(ExecError::Internal(
                        "the input does not bind the star's subject".into(),
                    ));
                }
            },
            (StarEntry::Object { .. }, Some((predicate, slot))) => {
                object_entry(&star, predicate, slot)?
            }
            _ => {
                return Err(ExecError::Internal(
                    "an object entry needs its pattern".into(),
                ));
            }
        };
        Ok(Self {
            input,
            star,
            entry,
            kind,
            schema,
            constants: ConstantRows::default(),
            touched_rows: TouchedRows::default(),
            output: Output::default(),
        })
    }

    fn matches(&mut self, batch: &Batch, cx: &Context) -> Result<Matches, ExecError> {
        let mut tables: Vec<Candidates> = Vec::new();
        tables.resize_with(cx.snapshot().tables().len(), Candidates::default);
        let mut touched = Touched::new(cx.snapshot().tables().len());
        let satisfied = match self.entry {
            Entry::Subject(column) => {
                self.by_subject(batch.ids(column), &mut tables, &mut touched, cx);
                None
            }
            Entry::Object {
                pattern_idx,
                column,
            } => {
                let objects = batch.ids(column);
                self.by_object(pattern_idx, objects, &mut tables, &mut touched, cx)?;
                Some(pattern_idx)
            }
        };
        let clean: usize = tables.iter().map(|candidates| candidates.rows.len()).sum();
        cx.profile().read(current_node(), clean);
        let mut matches = Matches::new(self.star.new_slots.len());
        for (table_idx, candidates) in tables.into_iter().enumerate() {
            if !candidates.rows.is_empty() {
                let count = candidates.rows.len();
                let constants = self.constants.test(&self.star, table_idx, count, cx);
                let home = Home::Table(&cx.snapshot().tables()[table_idx]);
                let pass = CellPass::new(
                    &self.star,
                    home,
                    Some(batch),
                    candidates.rows,
                    candidates.origin,
                )
                .with_satisfied(satisfied)
                .with_constants(constants);
                let pass = match self.entry {
                    Entry::Subject(_) => pass.by_subject(),
                    Entry::Object { .. } => pass,
                };
                matches.append(pass.run(cx)?);
                cx.check()?;
            }
        }
        self.add_touched(touched, batch, &mut matches, cx)?;
        matches.sort_by_origin();
        Ok(matches)
    }

    /// The solutions of subjects that cells do not tell all of.
    fn add_touched(
        &self,
        touched: Touched,
        batch: &Batch,
        matches: &mut Matches,
        cx: &Context,
    ) -> Result<(), ExecError> {
        let columns_min = cx.options().changed_columns_min;
        let (columns, general) = touched.into_parts(&self.star, cx.snapshot(), columns_min);
        for (home, mut rows, mut origin) in columns {
            cx.check()?;
            let large = take_out_large(&self.star, home, &mut rows, &mut origin, cx)?;
            if !large.is_empty() {
                matches.append(one_after_the_other(&self.star, Some(batch), &large, cx)?);
            }
            cx.profile().read(current_node(), rows.len());
            let pass = CellPass::new(&self.star, home, Some(batch), rows, origin).with_changes();
            let pass = match self.entry {
                Entry::Subject(_) => pass.by_subject(),
                Entry::Object { .. } => pass,
            };
            matches.append(pass.run(cx)?);
        }
        if !general.is_empty() {
            cx.profile().read_one_by_one(current_node(), general.len());
            let mut pass = GeneralPass::new(&self.star, Some(batch), cx);
            pass.subjects(&general, cx)?;
            matches.append(pass.finish(cx)?);
        }
        Ok(())
    }

    fn clean_matters(&self, table_idx: usize, table: &Table) -> bool {
        self.star.tables.contains(&table_idx) && self.star.table_can_match(table)
    }

    fn by_subject(
        &mut self,
        subjects: &[u64],
        tables: &mut [Candidates],
        touched: &mut Touched,
        cx: &Context,
    ) {
        let snapshot = cx.snapshot();
        self.touched_rows
            .count(subjects.len(), &self.star, snapshot);
        let clean: Vec<bool> = snapshot
            .tables()
            .iter()
            .enumerate()
            .map(|(idx, table)| self.clean_matters(idx, table))
            .collect();
        for (origin, &subject) in subjects.iter().enumerate() {
            let subject = TermId(subject);
            if !subject.is_resource() {
                continue;
            }
            match snapshot.row_of(subject) {
                Some((table_idx, row)) if !self.touched_rows.has(&self.star, table_idx, row) => {
                    if clean[table_idx] {
                        tables[table_idx].rows.push(row);
                        tables[table_idx].origin.push(origin as u32);
                    }
                }
                _ => touched.add(origin as u32, subject, &self.star, snapshot),
            }
        }
    }

    fn by_object(
        &mut self,
        pattern_idx: usize,
        objects: &[u64],
        tables: &mut [Candidates],
        touched: &mut Touched,
        cx: &Context,
    ) -> Result<(), ExecError> {
        let predicate = self.star.patterns[pattern_idx].predicate;
        let snapshot = cx.snapshot();
        let (mut counts, mut rows) = (Vec::new(), Vec::new());
        for (table_idx, table) in snapshot.tables().iter().enumerate() {
            let Some(cells) = table.cells(predicate) else {
                continue;
            };
            let has_touched = self.star.has_touched(table_idx);
            let clean_matters = self.clean_matters(table_idx, table);
            if !clean_matters && !has_touched {
                continue;
            }
            counts.clear();
            rows.clear();
            cells.find_many(objects, &mut counts, &mut rows);
            self.touched_rows.count(rows.len(), &self.star, snapshot);
            let origins = counts
                .iter()
                .enumerate()
                .flat_map(|(origin, &count)| std::iter::repeat_n(origin as u32, count as usize));
            for (&row, origin) in rows.iter().zip(origins) {
                if has_touched && self.touched_rows.has(&self.star, table_idx, row) {
                    touched.add(origin, table.subject(row), &self.star, snapshot);
                } else if clean_matters {
                    tables[table_idx].rows.push(row);
                    tables[table_idx].origin.push(origin);
                }
            }
        }
        if snapshot.quad_table().predicate(predicate).is_some() {
            self.by_irregular_object(predicate, objects, touched, snapshot)?;
        }
        Ok(())
    }

    /// Subjects of irregular and added quads, of all objects together.
    fn by_irregular_object(
        &self,
        predicate: TermId,
        objects: &[u64],
        touched: &mut Touched,
        snapshot: &Snapshot,
    ) -> Result<(), ExecError> {
        let mut origins: Vec<(u64, u32)> = objects.iter().copied().zip(0..).collect();
        origins.sort_unstable();
        let groups: Vec<&[(u64, u32)]> = origins.chunk_by(|a, b| a.0 == b.0).collect();
        let nodes: Vec<u64> = groups.iter().map(|group| group[0].0).collect();
        let mut on_quad = |at: usize, subject: TermId, _| {
            for &(_, origin) in groups[at] {
                touched.add(origin, subject, &self.star, snapshot);
            }
        };
        snapshot
            .quad_table()
            .by_objects(predicate, &nodes, &mut on_quad)?;
        Ok(())
    }

    fn emit(&self, batch: &Batch, mut matches: Matches) -> Batch {
        matches.complete(self.kind, batch.rows());
        if self.star.new_slots.is_empty() && matches.is_every_row_once(batch.rows()) {
            return self.columns_of(batch);
        }
        let input = Some((batch, self.star.input_schema.as_slice()));
        matches.into_batch(&self.schema, &self.star.new_slots, input)
    }

    /// The input's rows with the columns of the schema, none copied.
    fn columns_of(&self, batch: &Batch) -> Batch {
        let input = &self.star.input_schema;
        let columns = self.schema.iter();
        let columns = columns.map(|slot| input.iter().position(|s| s == slot));
        let columns: Vec<Option<usize>> = columns.collect();
        // A joined row is a new solution.
        let joined = batch.select_columns(&columns);
        Batch::new(joined.columns().to_vec(), joined.rows())
    }
}

impl Operator for StarJoin {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        loop {
            if let Some(batch) = self.output.take(cx) {
                return Ok(Some(batch));
            }
            cx.check()?;
            let Some(batch) = self.input.next(cx)? else {
                return Ok(None);
            };
            let matches = self.matches(&batch, cx)?;
            self.output.put(self.emit(&batch, matches));
        }
    }
}

fn object_entry(star: &CompiledStar, predicate: TermId, slot: Slot) -> Result<Entry, ExecError> {
    let column = star.input_schema.iter().position(|&s| s == slot);
    let pattern_idx = column.and_then(|column| {
        star.patterns.iter().position(|p| {
            p.predicate == predicate && p.object == Object::Input(column) && !p.optional
        })
    });
    match (column, pattern_idx) {
        (Some(column), Some(pattern_idx)) => Ok(Entry::Object {
            pattern_idx,
            column,
        }),
        _ => Err(ExecError::Internal(
            "the input does not bind the entry's object".into(),
        )),
    }
}
