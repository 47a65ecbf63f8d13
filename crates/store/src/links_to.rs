//! All quads that lead to some objects, whatever their predicates, for patterns whose objects are bound.
//!
//! Objects are asked for together, in order: each column that links to their table, or may hold them, is asked once for all of them, and
//! most objects of a column with few values need no search at all. Irregular quads and added ones are looked up object by object.
//! What is found is what [`matching`](crate::matching) finds for each object, the slow twin.
//!
//! Cost: for each column that may hold some of the objects a cursor, and for each of these a comparison. Memory: the rows of [`OBJECTS`] objects
//! in one column.

use crate::delta::{Removed, visit_added};
use crate::error::StoreError;
use crate::link_sources::sources;
use crate::matching::{QuadIds, QuadPattern, Step, irregular_to};
use crate::snapshot::{Snapshot, Version};
use crate::table::{Cells, Table};
use basalt_rdf::TermId;
use std::ops::{ControlFlow, Range};

/// Objects that are looked for together in a column.
const OBJECTS: usize = 64;

/// The visitor of quads and the positions of their objects; it ends the search with `Break`.
pub(crate) type VisitLink<'v> = &'v mut dyn FnMut(usize, QuadIds) -> ControlFlow<()>;

impl Snapshot {
    /// Visits the quads of all graphs that have one of these objects, which ascend, each with the position of its object.
    pub fn links_to(
        &self,
        objects: &[u64],
        visit: &mut dyn FnMut(usize, QuadIds) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let version = self.parts();
        let Some(delta) = self.delta() else {
            return of_version(version, objects, visit).map(|_| ());
        };
        let mut removed = Removed::new(delta);
        let step = of_version(version, objects, &mut |at, quad| match removed.has(&quad) {
            true => ControlFlow::Continue(()),
            false => visit(at, quad),
        })?;
        if step.is_continue() {
            // Whether the visitor has enough is of no interest any more.
            let _ = objects.iter().enumerate().try_for_each(|(at, object)| {
                let pattern = QuadPattern {
                    object: Some(TermId(*object)),
                    ..QuadPattern::default()
                };
                visit_added(delta, &pattern, &mut |quad| visit(at, quad))
            });
        }
        Ok(())
    }
}

/// Visits those of the version.
fn of_version(version: &Version, objects: &[u64], visit: VisitLink<'_>) -> Step {
    let table_of = |object: u64| {
        version
            .extents
            .row_of(TermId(object))
            .map(|(table, _)| table)
    };
    let mut start = 0;
    for run in objects.chunk_by(|a, b| table_of(*a) == table_of(*b)) {
        for (table_idx, cells) in sources(version, table_of(run[0])) {
            let source = (&version.tables[table_idx], cells);
            if in_cells(source, run, start, visit).is_break() {
                return Ok(ControlFlow::Break(()));
            }
        }
        start += run.len();
    }
    let any = QuadPattern::default();
    for (at, object) in objects.iter().enumerate() {
        let on_quad = &mut |quad| visit(at, quad);
        if irregular_to(version, &any, TermId(*object), on_quad)?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

/// The objects of a run, which begins at `start`, in the cells of one predicate.
fn in_cells(
    (table, cells): (&Table, Cells<'_>),
    run: &[u64],
    start: usize,
    visit: VisitLink<'_>,
) -> ControlFlow<()> {
    let (mut counts, mut rows) = (Vec::new(), Vec::new());
    let asked = within(cells, run);
    let mut at = start + asked.start;
    for objects in run[asked].chunks(OBJECTS) {
        counts.clear();
        rows.clear();
        cells.find_many(objects, &mut counts, &mut rows);
        let mut left = &rows[..];
        for (&object, &count) in objects.iter().zip(&counts) {
            let (of_object, others) = left.split_at(count as usize);
            left = others;
            for &row in of_object {
                let quad = QuadIds {
                    subject: table.subject(row),
                    predicate: cells.predicate(),
                    object: TermId(object),
                    graph: table.graph(row),
                };
                visit(at, quad)?;
            }
            at += 1;
        }
    }
    ControlFlow::Continue(())
}

/// The objects of a run that are in the range of cells.
fn within(cells: Cells<'_>, run: &[u64]) -> Range<usize> {
    match cells.statistics().range {
        Some((low, high)) => {
            run.partition_point(|id| *id < low.0)..run.partition_point(|id| *id <= high.0)
        }
        None => 0..0,
    }
}
