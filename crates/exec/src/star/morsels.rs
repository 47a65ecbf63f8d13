//! Morsels: the pieces of a star scan that threads take one after another.
//!
//! A morsel is a segment of one table or a part of one, changed rows or new subjects, or a chunk of subjects for the general way. The
//! list is made once per scan; workers take the next index from one atomic counter, so that the
//! load balances without a queue. Few rows are cut smaller, since each may lead to many in the joins above.

mod of_graph;

pub use self::of_graph::RARE_GRAPH;

use self::of_graph::{graph_morsels, rare_graph, reads_nothing};
use super::changed::{Home, changed_with_value, new_subjects};
use super::compiled::{CompiledPattern, CompiledStar, Object};
use crate::context::{Context, ExecOptions};
use crate::error::ExecError;
use crate::operators::shared_rows::FAN_OUT_MIN;
use crate::profile::current_node;
use basalt_columns::SEGMENT_ROWS;
use basalt_plan::physical::StarAccess;
use basalt_rdf::TermId;
use basalt_store::{Snapshot, Table};
use roaring::RoaringBitmap;
use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Subjects per morsel of the general way: small, since each subject costs several lookups.
const GENERAL_SUBJECTS: usize = 1024;

/// Fewest rows that are worth a morsel: some microseconds of the cheapest scan, as long as waking a thread takes.
const ROWS_MIN: usize = 2048;

/// Morsels that each thread should find, so that the last ones end about together.
const THREAD_MORSELS: usize = 4;

/// A piece of work.
#[derive(Clone, Debug)]
pub enum Morsel {
    /// The clean and the changed rows among these consecutive rows of one segment.
    Range {
        /// Index of the table.
        table_idx: usize,
        /// The rows.
        rows: Range<u32>,
    },
    /// These rows, all clean.
    Rows {
        /// Index of the table.
        table_idx: usize,
        /// The rows, ascending.
        rows: Vec<u32>,
        /// Pattern known to hold for them.
        satisfied: Option<usize>,
    },
    /// These rows, all changed.
    Changed {
        /// Index of the table.
        table_idx: usize,
        /// The rows, ascending.
        rows: Vec<u32>,
    },
    /// These subjects that no file of the version knows.
    New {
        /// By their numbers from the first of them, ascending.
        rows: Vec<u32>,
        /// The graph of their quads.
        graph: TermId,
    },
    /// These subjects, the general way.
    General(Vec<TermId>),
}

impl Morsel {
    /// How many rows or subjects are read.
    pub fn rows(&self) -> usize {
        match self {
            Self::Range { rows, .. } => rows.len(),
            Self::Rows { rows, .. } | Self::Changed { rows, .. } | Self::New { rows, .. } => {
                rows.len()
            }
            Self::General(subjects) => subjects.len(),
        }
    }
}

/// How many times as many rows as are work for all threads a share must be expected to lead to: a join that finds a third of that at a time
/// took a fifth longer for each row, since it looks into every segment of its table each time.
const SHARE_MANY: f64 = 2.0;

/// Fewest rows that are worth a morsel of their own where each leads to some: the scan of a morsel takes a microsecond or two besides.
const SHARE_ROWS_MIN: usize = if cfg!(test) { 2 } else { 64 };

impl Morsel {
    /// Adds it to a list, in parts of at most so many rows, which may not be 0.
    fn cut_into(self, rows_max: usize, list: &mut Vec<Self>) {
        if self.rows() <= rows_max {
            list.push(self);
            return;
        }
        match self {
            Self::Range { table_idx, rows } => {
                let parts = rows.clone().step_by(rows_max);
                list.extend(parts.map(|from| Self::Range {
                    table_idx,
                    rows: from..rows.end.min(from.saturating_add(rows_max as u32)),
                }));
            }
            Self::Rows {
                table_idx,
                rows,
                satisfied,
            } => list.extend(rows.chunks(rows_max).map(|rows| Self::Rows {
                table_idx,
                rows: rows.to_vec(),
                satisfied,
            })),
            Self::Changed { table_idx, rows } => {
                list.extend(rows.chunks(rows_max).map(|rows| Self::Changed {
                    table_idx,
                    rows: rows.to_vec(),
                }));
            }
            Self::New { rows, graph } => list.extend(rows.chunks(rows_max).map(|rows| Self::New {
                rows: rows.to_vec(),
                graph,
            })),
            Self::General(subjects) => {
                let parts = subjects.chunks(rows_max);
                list.extend(parts.map(|subjects| Self::General(subjects.to_vec())));
            }
        }
    }
}

/// The morsels of one scan, shared by all threads that work on it.
pub struct Morsels {
    list: Vec<Morsel>,
    /// Rows of which the solutions are to be handed on, where few rows lead to many.
    pub share_rows: Option<usize>,
    next: AtomicUsize,
}

impl Morsels {
    /// Cuts a scan into morsels. `access` names its pattern by the index in the plan's star, `object`
    /// is the constant object there.
    pub fn new(
        star: &CompiledStar,
        access: &StarAccess,
        object: Option<(TermId, TermId)>,
        cx: &Context,
    ) -> Result<Self, ExecError> {
        let list = match (access, object) {
            _ if reads_nothing(star, cx.snapshot()) => Vec::new(),
            (StarAccess::Subject, _) => subject_morsels(star, cx),
            (StarAccess::Object { .. }, Some((predicate, object))) => {
                object_morsels(star, predicate, object, cx)?
            }
            _ => match rare_graph(star, cx.snapshot()) {
                Some(graph) => graph_morsels(star, graph, cx)?,
                None => row_morsels(star, cx)?,
            },
        };
        Ok(Self {
            list,
            share_rows: None,
            next: AtomicUsize::new(0),
        })
    }

    /// Makes shares of few rows that are expected to lead to so many in joins above: it is those that are work for threads, and not what is
    /// read here. A single morsel is left: whoever makes its solutions can cut these.
    pub fn share_for(&mut self, leads_to: f64, options: &ExecOptions) {
        let rows: usize = self.list.iter().map(Morsel::rows).sum();
        let is_any_many = options.dealt_rows_min == 0;
        let are_few = is_any_many || leads_to >= rows as f64 * FAN_OUT_MIN;
        if self.list.len() < 2 || options.threads == 1 || !are_few {
            return;
        }
        let shares = leads_to / (SHARE_MANY * options.dealt_rows_min as f64);
        let shares = (shares as usize).min(options.threads * THREAD_MORSELS);
        let share_rows = rows.div_ceil(shares.max(1)).max(SHARE_ROWS_MIN);
        if shares < 2 || share_rows >= 2 * ROWS_MIN {
            return;
        }
        self.share_rows = Some(share_rows);
        for morsel in std::mem::take(&mut self.list) {
            morsel.cut_into(share_rows, &mut self.list);
        }
    }

    /// The next piece of work, if any is left.
    pub fn take(&self) -> Option<&Morsel> {
        self.list.get(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// Number of pieces.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

fn subject_morsels(star: &CompiledStar, cx: &Context) -> Vec<Morsel> {
    let Object::Constant(subject) = star.subject else {
        return Vec::new();
    };
    let (snapshot, subject) = (cx.snapshot(), TermId(subject));
    let mut list = Vec::new();
    match snapshot.row_of(subject) {
        Some((table_idx, row)) if !star.is_touched(table_idx, row) => {
            if star.table_can_match(&snapshot.tables()[table_idx]) {
                list.push(Morsel::Rows {
                    table_idx,
                    rows: vec![row],
                    satisfied: None,
                });
            }
        }
        _ => {
            let mut touched = TouchedSubjects::new(star, snapshot);
            touched.add(subject);
            touched.into_morsels(&mut list, cx);
        }
    }
    list
}

fn object_morsels(
    star: &CompiledStar,
    predicate: TermId,
    object: TermId,
    cx: &Context,
) -> Result<Vec<Morsel>, ExecError> {
    let snapshot = cx.snapshot();
    let satisfied = star
        .patterns
        .iter()
        .position(|p| p.predicate == predicate && p.object == Object::Constant(object.0));
    let mut list = Vec::new();
    let mut touched = TouchedSubjects::new(star, snapshot);
    for (table_idx, table) in snapshot.tables().iter().enumerate() {
        let Some(cells) = table.cells(predicate) else {
            continue;
        };
        let clean_matters = star.tables.contains(&table_idx) && star.table_can_match(table);
        if !clean_matters && !star.has_touched(table_idx) {
            continue;
        }
        let mut rows = Vec::new();
        if cells.has_inverse() {
            cells.find(object, &mut rows);
        } else if !clean_matters
            && star.touched_count(table_idx) * CELLS_FOR_ROW <= u64::from(table.rows())
        {
            let touched = star.touched_rows(table_idx);
            cx.profile().read(current_node(), touched.len() as usize);
            rows.extend(touched.iter().filter(|&row| cells.has(row, object)));
        } else {
            // The whole column is searched.
            cx.profile().compared(current_node(), table.rows() as usize);
            cells.find(object, &mut rows);
        }
        touched.take_out_of(&mut rows, table_idx);
        if clean_matters {
            push_clean(&mut list, (table_idx, &rows), satisfied, cx);
        }
    }
    let mut irregular = Vec::new();
    snapshot
        .quad_table()
        .by_object(predicate, object, &mut irregular)?;
    for (subject, _) in irregular {
        touched.add(subject);
    }
    touched.into_morsels(&mut list, cx);
    Ok(list)
}

/// Cells of a column that are searched in the time that one row takes by itself.
const CELLS_FOR_ROW: u64 = 16;

/// Removes those of ascending rows that are in a set, and gives them.
fn take_out(rows: &mut Vec<u32>, set: &RoaringBitmap) -> Vec<u32> {
    let (Some(&first), Some(&last)) = (rows.first(), rows.last()) else {
        return Vec::new();
    };
    let mut members = set.range(first..=last).peekable();
    let mut taken = Vec::new();
    if members.peek().is_some() {
        rows.retain(|&row| {
            while members.next_if(|member| *member < row).is_some() {}
            let is_in = members.peek() == Some(&row);
            if is_in {
                taken.push(row);
            }
            !is_in
        });
    }
    taken
}

/// Subjects that cells do not tell all of, by how they are answered.
struct TouchedSubjects<'a> {
    star: &'a CompiledStar,
    snapshot: &'a Snapshot,
    /// Changed rows by table, in any order.
    changed: Vec<Vec<u32>>,
    /// New subjects by their numbers, in any order.
    new: Vec<u32>,
    general: Vec<TermId>,
}

impl<'a> TouchedSubjects<'a> {
    fn new(star: &'a CompiledStar, snapshot: &'a Snapshot) -> Self {
        Self {
            star,
            snapshot,
            changed: vec![Vec::new(); snapshot.tables().len()],
            new: Vec::new(),
            general: Vec::new(),
        }
    }

    /// Adds a subject of an irregular or added quad.
    fn add(&mut self, subject: TermId) {
        match self.snapshot.row_of(subject) {
            Some((table_idx, row)) if self.star.rows.changed[table_idx].contains(row) => {
                self.changed[table_idx].push(row);
            }
            None if let Some(number) = self.star.new_number(subject, self.snapshot) => {
                self.new.push(number);
            }
            _ => self.general.push(subject),
        }
    }

    /// Takes those of ascending rows of a table that cells do not tell all of.
    fn take_out_of(&mut self, rows: &mut Vec<u32>, table_idx: usize) {
        let table = &self.snapshot.tables()[table_idx];
        let dirty = take_out(rows, &self.star.rows.dirty[table_idx]);
        self.general
            .extend(dirty.into_iter().map(|row| table.subject(row)));
        let changed = take_out(rows, &self.star.rows.changed[table_idx]);
        self.changed[table_idx].extend(changed);
    }

    fn into_morsels(mut self, list: &mut Vec<Morsel>, cx: &Context) {
        let columns = self.changed.iter_mut().chain([&mut self.new]);
        for rows in columns {
            rows.sort_unstable();
            rows.dedup();
        }
        let count = self.changed.iter().map(Vec::len).sum::<usize>() + self.new.len();
        if count < cx.options().changed_columns_min {
            let tables = self.snapshot.tables().iter().zip(&self.changed);
            let changed =
                tables.flat_map(|(table, rows)| rows.iter().map(move |&row| table.subject(row)));
            self.general.extend(changed);
            let first = self.snapshot.first_new_resource();
            let new = self.new.iter();
            let new = new.map(|&number| TermId::resource(first + u64::from(number)));
            self.general.extend(new);
        } else {
            for (table_idx, rows) in self.changed.iter().enumerate() {
                push_changed(list, table_idx, rows, cx);
            }
            push_new(list, self.star, &self.new, cx);
        }
        self.general.sort_unstable();
        self.general.dedup();
        push_general(list, self.general);
    }
}

fn push_clean(
    list: &mut Vec<Morsel>,
    (table_idx, rows): (usize, &[u32]),
    satisfied: Option<usize>,
    cx: &Context,
) {
    let chunks = rows.chunks(morsel_rows(rows.len(), cx));
    list.extend(chunks.map(|rows| Morsel::Rows {
        table_idx,
        rows: rows.to_vec(),
        satisfied,
    }));
}

fn push_changed(list: &mut Vec<Morsel>, table_idx: usize, rows: &[u32], cx: &Context) {
    let chunks = rows.chunks(morsel_rows(rows.len(), cx));
    list.extend(chunks.map(|rows| Morsel::Changed {
        table_idx,
        rows: rows.to_vec(),
    }));
}

fn push_new(list: &mut Vec<Morsel>, star: &CompiledStar, rows: &[u32], cx: &Context) {
    if let Some(graph) = star.rows.new_graph {
        let chunks = rows.chunks(morsel_rows(rows.len(), cx));
        list.extend(chunks.map(|rows| Morsel::New {
            rows: rows.to_vec(),
            graph,
        }));
    }
}

fn row_morsels(star: &CompiledStar, cx: &Context) -> Result<Vec<Morsel>, ExecError> {
    let snapshot = cx.snapshot();
    let mut list = Vec::new();
    let mut general = Vec::new();
    for (table_idx, table) in snapshot.tables().iter().enumerate() {
        cx.check()?;
        let graph_fits = graph_can_match(star, table);
        if star.tables.contains(&table_idx) && star.table_can_match(table) && graph_fits {
            table_morsels(star, table_idx, &mut list, cx)?;
        } else if graph_fits {
            let changed = &star.rows.changed[table_idx];
            let rows = candidates(star, table_idx, changed, snapshot);
            let rows: Vec<u32> = rows.iter().collect();
            push_changed(&mut list, table_idx, &rows, cx);
        }
        let dirty = candidates(star, table_idx, &star.rows.dirty[table_idx], snapshot);
        general.extend(dirty.iter().map(|row| table.subject(row)));
    }
    if let Some(graph) = star.rows.new_graph {
        let first = snapshot.first_new_resource();
        let rows = new_subjects(star, Home::New { first, graph }, cx)?;
        push_new(&mut list, star, &rows, cx);
    }
    general.extend(subjects_outside_tables(star, cx)?);
    push_general(&mut list, general);
    Ok(list)
}

/// The segments of a table that can match, and changed rows of the others.
fn table_morsels(
    star: &CompiledStar,
    table_idx: usize,
    list: &mut Vec<Morsel>,
    cx: &Context,
) -> Result<(), ExecError> {
    let table = &cx.snapshot().tables()[table_idx];
    let mut wanted = Vec::new();
    for segment_idx in 0..table.segment_count() {
        match refused_by(star, table, segment_idx) {
            None => wanted.push(segment_idx),
            Some(predicate) => {
                // Cells cannot match, what was added to them can.
                cx.check()?;
                let rows = table.rows_of_segment(segment_idx);
                let rows = changed_with_value(star, table_idx, predicate, rows, cx)?;
                push_changed(list, table_idx, &rows, cx);
            }
        }
    }
    let rows_max = morsel_rows(wanted.len() * SEGMENT_ROWS, cx);
    for segment_idx in wanted {
        let rows = table.rows_of_segment(segment_idx);
        let parts = rows.clone().step_by(rows_max);
        list.extend(parts.map(|from| Morsel::Range {
            table_idx,
            rows: from..rows.end.min(from + rows_max as u32),
        }));
    }
    Ok(())
}

/// Rows of a morsel where a table has so many to read: a segment, or less so that each thread gets some.
fn morsel_rows(rows: usize, cx: &Context) -> usize {
    let wanted = cx.options().threads * THREAD_MORSELS;
    let even = rows.div_ceil(wanted.max(1)).next_multiple_of(ROWS_MIN);
    even.clamp(ROWS_MIN, SEGMENT_ROWS)
}

fn push_general(list: &mut Vec<Morsel>, subjects: Vec<TermId>) {
    list.extend(
        subjects
            .chunks(GENERAL_SUBJECTS)
            .map(|chunk| Morsel::General(chunk.to_vec())),
    );
}

fn graph_can_match(star: &CompiledStar, table: &Table) -> bool {
    table
        .constant_graph()
        .is_none_or(|graph| star.graph_may_match(graph))
}

/// The predicate of a pattern that no cell of the segment can match, by the zones.
fn refused_by(star: &CompiledStar, table: &Table, segment_idx: usize) -> Option<TermId> {
    let mut required = star.patterns.iter().filter(|pattern| !pattern.optional);
    let refused = required.find(|pattern| !cells_may_match(star, pattern, table, segment_idx))?;
    Some(refused.predicate)
}

fn cells_may_match(
    star: &CompiledStar,
    pattern: &CompiledPattern,
    table: &Table,
    segment_idx: usize,
) -> bool {
    let Some(cells) = table.cells(pattern.predicate) else {
        return false;
    };
    let zone = cells.zone(segment_idx);
    if zone.rows_with_value == 0 {
        return false;
    }
    match pattern.object {
        Object::Constant(id) => zone.min <= id && id <= zone.max,
        Object::New(column) => star.may_pass(column, zone.min, zone.max),
        _ => true,
    }
}

/// Those of touched rows that can match: without a column for a required predicate, a row must be touched with it.
fn candidates(
    star: &CompiledStar,
    table_idx: usize,
    touched: &RoaringBitmap,
    snapshot: &Snapshot,
) -> RoaringBitmap {
    let table = &snapshot.tables()[table_idx];
    let mut candidates = touched.clone();
    for pattern in star.patterns.iter().filter(|pattern| !pattern.optional) {
        if candidates.is_empty() {
            break;
        }
        if table.cells(pattern.predicate).is_none() {
            let mut rows = RoaringBitmap::new();
            snapshot.add_dirty_rows(table_idx, pattern.predicate, &mut rows);
            candidates &= rows;
        }
    }
    candidates
}

/// Subjects that are rows of no table and have an irregular quad of the rarest required predicate; new ones only if they
/// are not read as columns.
fn subjects_outside_tables(star: &CompiledStar, cx: &Context) -> Result<Vec<TermId>, ExecError> {
    let snapshot = cx.snapshot();
    let quads = |pattern: &CompiledPattern| {
        let places = snapshot.change_places(pattern.predicate);
        let new = match star.rows.new_graph {
            Some(_) => 0,
            None => places.new,
        };
        snapshot.irregular_of_version(pattern.predicate) + places.loose + new
    };
    let required = star.patterns.iter().filter(|pattern| !pattern.optional);
    let Some(rarest) = required.min_by_key(|pattern| quads(pattern)) else {
        return Ok(Vec::new());
    };
    if quads(rarest) == 0 {
        return Ok(Vec::new());
    }
    let mut subjects: Vec<TermId> = Vec::new();
    let mut stopped = Ok(());
    let mut visit = |s: &[u64], _: &[u64], _: &[u64]| {
        stopped = cx.check();
        if stopped.is_err() {
            return ControlFlow::Break(());
        }
        for &subject in s {
            let subject = TermId(subject);
            if subjects.last() != Some(&subject)
                && snapshot.row_of(subject).is_none()
                && star.new_number(subject, snapshot).is_none()
            {
                subjects.push(subject);
            }
        }
        ControlFlow::Continue(())
    };
    snapshot.quad_table().scan(rarest.predicate, &mut visit)?;
    stopped?;
    if snapshot.changed_quads(rarest.predicate) > 0 {
        // Added quads come after the others, of the same subjects too.
        subjects.sort_unstable();
        subjects.dedup();
    }
    Ok(subjects)
}

#[cfg(test)]
mod tests;
