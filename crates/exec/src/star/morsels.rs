//! Morsels: the pieces of a star scan that threads take one after another.
//!
//! A morsel is a segment of clean rows of one table or a part of one, or a chunk of subjects for the general way. The
//! list is made once per scan; workers take the next index from one atomic counter, so that the
//! load balances without a queue. Few rows are cut smaller, since each may lead to many in the joins above.

use super::compiled::{CompiledPattern, CompiledStar, Object};
use crate::context::Context;
use crate::error::ExecError;
use crate::profile::current_node;
use basalt_columns::SEGMENT_ROWS;
use basalt_plan::physical::StarAccess;
use basalt_rdf::TermId;
use basalt_store::{Snapshot, Table};
use roaring::RoaringBitmap;
use std::collections::BTreeSet;
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
    /// The clean rows among these consecutive rows of one segment.
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
    /// These subjects, the general way.
    General(Vec<TermId>),
}

/// The morsels of one scan, shared by all threads that work on it.
pub struct Morsels {
    list: Vec<Morsel>,
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
            (StarAccess::Subject, _) => subject_morsels(star, cx.snapshot()),
            (StarAccess::Object { .. }, Some((predicate, object))) => {
                object_morsels(star, predicate, object, cx)?
            }
            _ => row_morsels(star, cx)?,
        };
        Ok(Self {
            list,
            next: AtomicUsize::new(0),
        })
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

fn subject_morsels(star: &CompiledStar, snapshot: &Snapshot) -> Vec<Morsel> {
    let Object::Constant(subject) = star.subject else {
        return Vec::new();
    };
    let subject = TermId(subject);
    match snapshot.row_of(subject) {
        Some((table_idx, row)) if !star.dirty[table_idx].contains(row) => {
            if star.table_can_match(&snapshot.tables()[table_idx]) {
                vec![Morsel::Rows {
                    table_idx,
                    rows: vec![row],
                    satisfied: None,
                }]
            } else {
                Vec::new()
            }
        }
        _ => vec![Morsel::General(vec![subject])],
    }
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
    let mut general = BTreeSet::new();
    for (table_idx, table) in snapshot.tables().iter().enumerate() {
        let Some(cells) = table.cells(predicate) else {
            continue;
        };
        let dirty = &star.dirty[table_idx];
        let clean_matters = star.tables.contains(&table_idx) && star.table_can_match(table);
        if !clean_matters && dirty.is_empty() {
            continue;
        }
        let mut rows = Vec::new();
        if !cells.has_inverse() {
            // The whole column is searched.
            cx.profile().read(current_node(), table.rows() as usize);
        }
        cells.find(object, &mut rows);
        if !dirty.is_empty() {
            general.extend(
                rows.iter()
                    .filter(|row| dirty.contains(**row))
                    .map(|&row| table.subject(row)),
            );
            rows.retain(|&row| !dirty.contains(row));
        }
        if clean_matters {
            let chunks = rows.chunks(morsel_rows(rows.len(), cx));
            list.extend(chunks.map(|rows| Morsel::Rows {
                table_idx,
                rows: rows.to_vec(),
                satisfied,
            }));
        }
    }
    let mut irregular = Vec::new();
    snapshot
        .quad_table()
        .by_object(predicate, object, &mut irregular)?;
    general.extend(irregular.into_iter().map(|(subject, _)| subject));
    push_general(&mut list, general.into_iter().collect());
    Ok(list)
}

fn row_morsels(star: &CompiledStar, cx: &Context) -> Result<Vec<Morsel>, ExecError> {
    let snapshot = cx.snapshot();
    let mut list = Vec::new();
    let mut general = Vec::new();
    for (table_idx, table) in snapshot.tables().iter().enumerate() {
        if star.tables.contains(&table_idx)
            && star.table_can_match(table)
            && graph_can_match(star, table)
        {
            let segments = (table.rows() as usize).div_ceil(SEGMENT_ROWS);
            let wanted =
                (0..segments).filter(|&segment_idx| segment_may_match(star, table, segment_idx));
            let wanted: Vec<usize> = wanted.collect();
            let rows_max = morsel_rows(wanted.len() * SEGMENT_ROWS, cx);
            for segment_idx in wanted {
                let start = (segment_idx * SEGMENT_ROWS) as u32;
                let end = (start + SEGMENT_ROWS as u32).min(table.rows());
                let parts = (start..end).step_by(rows_max);
                list.extend(parts.map(|from| Morsel::Range {
                    table_idx,
                    rows: from..end.min(from + rows_max as u32),
                }));
            }
        }
        let dirty = dirty_candidates(star, table_idx, snapshot);
        general.extend(dirty.iter().map(|row| table.subject(row)));
    }
    general.extend(subjects_outside_tables(star, snapshot)?);
    push_general(&mut list, general);
    Ok(list)
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

/// Whether the zones leave it possible that a clean row of the segment matches.
fn segment_may_match(star: &CompiledStar, table: &Table, segment_idx: usize) -> bool {
    star.patterns
        .iter()
        .filter(|pattern| !pattern.optional)
        .all(|pattern| {
            let Some(cells) = table.cells(pattern.predicate) else {
                return false;
            };
            let zone = cells.zone(segment_idx);
            if zone.rows_with_value == 0 {
                return false;
            }
            match pattern.object {
                Object::Constant(id) => zone.min <= id && id <= zone.max,
                Object::New(column) => star
                    .column_filters
                    .iter()
                    .filter(|(filtered, _)| *filtered == column)
                    .all(|(_, filter)| {
                        filter
                            .expr
                            .zone_may_match(filter.slots[0], zone.min, zone.max)
                    }),
                _ => true,
            }
        })
}

/// The dirty rows that can match: without a column for a required predicate, a row must be dirty for it.
fn dirty_candidates(star: &CompiledStar, table_idx: usize, snapshot: &Snapshot) -> RoaringBitmap {
    let (table, dirty) = (&snapshot.tables()[table_idx], &star.dirty[table_idx]);
    if dirty.is_empty() {
        return RoaringBitmap::new();
    }
    let mut candidates = dirty.clone();
    for pattern in star.patterns.iter().filter(|pattern| !pattern.optional) {
        if table.cells(pattern.predicate).is_none() {
            let mut rows = RoaringBitmap::new();
            snapshot.add_dirty_rows(table_idx, pattern.predicate, &mut rows);
            candidates &= rows;
        }
    }
    candidates
}

/// Subjects that are rows of no table and have an irregular quad of the rarest required predicate.
fn subjects_outside_tables(
    star: &CompiledStar,
    snapshot: &Snapshot,
) -> Result<Vec<TermId>, ExecError> {
    let quads = |pattern: &CompiledPattern| {
        snapshot
            .quad_table()
            .predicate(pattern.predicate)
            .map_or(0, |known| known.quads)
    };
    let required = star.patterns.iter().filter(|pattern| !pattern.optional);
    let Some(rarest) = required.min_by_key(|pattern| quads(pattern)) else {
        return Ok(Vec::new());
    };
    if quads(rarest) == 0 {
        return Ok(Vec::new());
    }
    let mut subjects: Vec<TermId> = Vec::new();
    let mut visit = |s: &[u64], _: &[u64], _: &[u64]| {
        for &subject in s {
            let subject = TermId(subject);
            if subjects.last() != Some(&subject) && snapshot.row_of(subject).is_none() {
                subjects.push(subject);
            }
        }
        ControlFlow::Continue(())
    };
    snapshot.quad_table().scan(rarest.predicate, &mut visit)?;
    if snapshot.changed_quads(rarest.predicate) > 0 {
        // Added quads come after the others, of the same subjects too.
        subjects.sort_unstable();
        subjects.dedup();
    }
    Ok(subjects)
}
