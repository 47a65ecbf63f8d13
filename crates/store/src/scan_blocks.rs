//! Scans of a graph by columns: the quads of a predicate come some thousand at a time, as subjects beside objects.
//!
//! What [`matching`](crate::matching) visits one by one in a scan without subject and object, in the same order. What was changed since is put over it
//! by `delta::overlay_blocks`, which wants the subjects of a block to ascend.
//!
//! Cost: 1 to 2 ns a quad, where a visit of each takes 10 to 20.

use crate::error::StoreError;
use crate::snapshot::Version;
use crate::table::{Cells, Table};
use basalt_rdf::TermId;
use std::ops::ControlFlow;

/// Rows whose cells are decoded together: they stay in the nearest caches.
const DECODED_ROWS: usize = 1 << 11;

/// Quads of one predicate; as many subjects as objects, in the order of subjects.
#[derive(Clone, Copy, Debug)]
pub struct QuadBlock<'a> {
    /// The predicate of all.
    pub predicate: TermId,
    /// The ids of the subjects.
    pub subjects: &'a [u64],
    /// The ids of the objects.
    pub objects: &'a [u64],
}

/// The visitor of blocks; it ends the scan with `Break`.
pub(crate) type VisitBlock<'v> = &'v mut dyn FnMut(QuadBlock<'_>) -> ControlFlow<()>;

/// Visits the quads of a graph, those of one predicate or of all, of a version.
pub(crate) fn scan_blocks(
    version: &Version,
    predicate: Option<TermId>,
    graph: TermId,
    visit: VisitBlock<'_>,
) -> Result<(), StoreError> {
    for table in &version.tables {
        let has_none = match table.constant_graph() {
            Some(constant) => constant != graph,
            None => table.quads_in_graph(graph) == 0,
        };
        if has_none {
            continue;
        }
        for cells in table.cells_of(predicate) {
            let step = match table.constant_graph() {
                Some(_) => scan_cells(table, cells, visit),
                None => scan_cells_of_graph(table, cells, graph, visit),
            };
            if step.is_break() {
                return Ok(());
            }
        }
    }
    for predicate in version.quad_table.predicates_of(predicate) {
        let mut step = ControlFlow::Continue(());
        let mut kept = (Vec::new(), Vec::new());
        version
            .quad_table
            .scan(predicate, &mut |subjects, objects, graphs| {
                let (mut subjects, mut objects) = (subjects, objects);
                if graphs.iter().any(|&other| other != graph.0) {
                    keep_of_graph((subjects, objects, graphs), graph, &mut kept);
                    (subjects, objects) = (&kept.0, &kept.1);
                }
                step = visit(QuadBlock {
                    predicate,
                    subjects,
                    objects,
                });
                step
            })?;
        if step.is_break() {
            break;
        }
    }
    Ok(())
}

/// Puts the quads of a graph into `kept`, subjects and objects, and nothing else.
fn keep_of_graph(
    (subjects, objects, graphs): (&[u64], &[u64], &[u64]),
    graph: TermId,
    kept: &mut (Vec<u64>, Vec<u64>),
) {
    kept.0.clear();
    kept.1.clear();
    for ((&subject, &object), &of) in subjects.iter().zip(objects).zip(graphs) {
        if of == graph.0 {
            kept.0.push(subject);
            kept.1.push(object);
        }
    }
}

/// Visits the cells of all rows.
fn scan_cells(table: &Table, cells: Cells<'_>, visit: VisitBlock<'_>) -> ControlFlow<()> {
    let mut decoded = Decoded::default();
    for segment_idx in 0..cells.segment_count() {
        if cells.zone(segment_idx).values == 0 {
            continue;
        }
        let segment = cells.segment_rows(segment_idx);
        for start in segment.clone().step_by(DECODED_ROWS) {
            let rows = start..segment.end.min(start + DECODED_ROWS as u32);
            decoded.clear();
            if cells.full() {
                cells.scan(rows.clone(), &mut decoded.objects);
                let subjects = rows.map(|row| table.subject(row).0);
                decoded.subjects.extend(subjects);
            } else {
                cells.scan_lists(rows.clone(), &mut decoded.counts, &mut decoded.objects);
                decoded.repeat_subjects(table, rows);
            }
            decoded.visit(cells, visit)?;
        }
    }
    ControlFlow::Continue(())
}

/// Visits the cells of the rows in a graph, of a table with rows in several.
fn scan_cells_of_graph(
    table: &Table,
    cells: Cells<'_>,
    graph: TermId,
    visit: VisitBlock<'_>,
) -> ControlFlow<()> {
    let (mut decoded, mut rows) = (Decoded::default(), Vec::new());
    for segment_idx in 0..cells.segment_count() {
        if cells.zone(segment_idx).values == 0 {
            continue;
        }
        rows.clear();
        table.rows_in_graph(cells.segment_rows(segment_idx), graph, &mut rows);
        for rows in rows.chunks(DECODED_ROWS) {
            decoded.clear();
            cells.gather_lists(rows, &mut decoded.counts, &mut decoded.objects);
            decoded.repeat_subjects(table, rows.iter().copied());
            decoded.visit(cells, visit)?;
        }
    }
    ControlFlow::Continue(())
}

/// Some cells.
#[derive(Default)]
struct Decoded {
    subjects: Vec<u64>,
    objects: Vec<u64>,
    /// How many of the objects each row has.
    counts: Vec<u32>,
}

impl Decoded {
    fn clear(&mut self) {
        self.subjects.clear();
        self.objects.clear();
        self.counts.clear();
    }

    /// Makes the subjects of these rows, each as often as it has objects.
    fn repeat_subjects(&mut self, table: &Table, rows: impl Iterator<Item = u32>) {
        for (row, &count) in rows.zip(&self.counts) {
            let subject = table.subject(row).0;
            let repeated = std::iter::repeat_n(subject, count as usize);
            self.subjects.extend(repeated);
        }
    }

    fn visit(&self, cells: Cells<'_>, visit: VisitBlock<'_>) -> ControlFlow<()> {
        if self.objects.is_empty() {
            return ControlFlow::Continue(());
        }
        visit(QuadBlock {
            predicate: cells.predicate(),
            subjects: &self.subjects,
            objects: &self.objects,
        })
    }
}
