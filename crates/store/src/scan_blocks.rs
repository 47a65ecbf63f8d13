//! Scans of graphs by columns: the quads of a predicate come some thousand at a time, as subjects beside objects.
//!
//! What [`matching`](crate::matching) visits one by one in a scan without subject and object, of a version. What was changed since is put over it
//! by `delta::overlay_blocks`.
//!
//! Invariant: the subjects of a block ascend; outside of cells quads come in the order of subject, object and graph.
//! Cost: 1 to 2 ns a quad, where a visit of each takes 10 to 20.

use crate::counting::GraphSet;
use crate::error::StoreError;
use crate::snapshot::Version;
use crate::table::{Cells, Table};
use basalt_rdf::TermId;
use std::ops::{ControlFlow, Range};

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
    /// The graphs.
    pub graphs: BlockGraphs<'a>,
}

/// The graphs of the quads of a block.
#[derive(Clone, Copy, Debug)]
pub enum BlockGraphs<'a> {
    /// All are in this one.
    One(TermId),
    /// The ids of the graphs, one for each quad.
    Each(&'a [u64]),
}

impl BlockGraphs<'_> {
    /// The graph of the quad at a place.
    pub fn at(&self, place: usize) -> TermId {
        match self {
            Self::One(graph) => *graph,
            Self::Each(graphs) => TermId(graphs[place]),
        }
    }
}

/// The predicates whose quads are scanned.
#[derive(Clone, Copy, Debug)]
pub enum Predicates<'a> {
    /// All that there are.
    All,
    /// This one.
    One(TermId),
    /// These, ascending.
    Among(&'a [TermId]),
}

impl Predicates<'_> {
    /// The predicate, if it is one.
    pub(crate) fn one(self) -> Option<TermId> {
        match self {
            Self::One(predicate) => Some(predicate),
            Self::All | Self::Among(_) => None,
        }
    }

    /// Whether quads of a predicate are scanned.
    pub(crate) fn take(self, predicate: TermId) -> bool {
        match self {
            Self::All => true,
            Self::One(one) => one == predicate,
            Self::Among(list) => list.binary_search(&predicate).is_ok(),
        }
    }

    /// The cells of a table that are scanned.
    fn cells(self, table: &Table) -> impl Iterator<Item = Cells<'_>> {
        let cells = table.cells_of(self.one()).into_iter();
        cells.filter(move |cells| self.take(cells.predicate()))
    }
}

/// The visitor of blocks; it ends the scan with `Break`.
pub(crate) type VisitBlock<'v> = &'v mut dyn FnMut(QuadBlock<'_>) -> ControlFlow<()>;

/// Visits the quads in cells that are in these graphs, those of some predicates.
pub(crate) fn scan_cells(
    version: &Version,
    predicates: Predicates<'_>,
    graphs: &GraphSet,
    visit: VisitBlock<'_>,
) -> ControlFlow<()> {
    for (_, table) in version.tables_with(predicates.one()) {
        if graphs.takes_table(table) == Some(false) {
            continue;
        }
        match table.constant_graph() {
            Some(graph) => {
                for cells in predicates.cells(table) {
                    scan_cells_of_all(table, cells, graph, visit)?;
                }
            }
            None => scan_cells_of_some(table, predicates, graphs, visit)?,
        }
    }
    ControlFlow::Continue(())
}

/// Visits the quads of the quad table that are in these graphs, those of some predicates.
pub(crate) fn scan_irregular(
    version: &Version,
    predicates: Predicates<'_>,
    graphs: &GraphSet,
    visit: VisitBlock<'_>,
) -> Result<ControlFlow<()>, StoreError> {
    let mut step = ControlFlow::Continue(());
    let mut kept = BlockBuffer::default();
    let known = version.quad_table.predicates_of(predicates.one());
    for predicate in known.into_iter().filter(|known| predicates.take(*known)) {
        version
            .quad_table
            .scan(predicate, &mut |subjects, objects, of| {
                let mut block = QuadBlock {
                    predicate,
                    subjects,
                    objects,
                    graphs: BlockGraphs::Each(of),
                };
                let mut wanted = GraphTest::new(graphs);
                if !of.iter().all(|&graph| wanted.takes(graph)) {
                    kept.clear();
                    let quads = subjects.iter().zip(objects).zip(of);
                    for ((&subject, &object), &graph) in quads {
                        if wanted.takes(graph) {
                            kept.push(subject, object, graph);
                        }
                    }
                    block = kept.block(predicate);
                }
                step = visit(block);
                step
            })?;
        if step.is_break() {
            break;
        }
    }
    Ok(step)
}

/// Quads put together for a block.
#[derive(Default)]
pub(crate) struct BlockBuffer {
    subjects: Vec<u64>,
    objects: Vec<u64>,
    graphs: Vec<u64>,
}

impl BlockBuffer {
    pub(crate) fn clear(&mut self) {
        self.subjects.clear();
        self.objects.clear();
        self.graphs.clear();
    }

    pub(crate) fn push(&mut self, subject: u64, object: u64, graph: u64) {
        self.subjects.push(subject);
        self.objects.push(object);
        self.graphs.push(graph);
    }

    /// Adds the quads of a block from one place to another.
    pub(crate) fn copy(&mut self, block: &QuadBlock<'_>, (start, end): (usize, usize)) {
        self.subjects.extend_from_slice(&block.subjects[start..end]);
        self.objects.extend_from_slice(&block.objects[start..end]);
        match block.graphs {
            BlockGraphs::One(graph) => self.graphs.resize(self.subjects.len(), graph.0),
            BlockGraphs::Each(graphs) => self.graphs.extend_from_slice(&graphs[start..end]),
        }
    }

    pub(crate) fn block(&self, predicate: TermId) -> QuadBlock<'_> {
        QuadBlock {
            predicate,
            subjects: &self.subjects,
            objects: &self.objects,
            graphs: BlockGraphs::Each(&self.graphs),
        }
    }
}

/// Tells which graphs are wanted; the same one mostly comes many times.
struct GraphTest<'a> {
    graphs: &'a GraphSet,
    last: Option<(u64, bool)>,
}

impl<'a> GraphTest<'a> {
    fn new(graphs: &'a GraphSet) -> Self {
        Self { graphs, last: None }
    }

    fn takes(&mut self, graph: u64) -> bool {
        match self.last {
            Some((last, takes)) if last == graph => takes,
            _ => {
                let takes = self.graphs.takes(TermId(graph));
                self.last = Some((graph, takes));
                takes
            }
        }
    }
}

/// Visits the cells of all rows, which are in one graph.
fn scan_cells_of_all(
    table: &Table,
    cells: Cells<'_>,
    graph: TermId,
    visit: VisitBlock<'_>,
) -> ControlFlow<()> {
    let mut decoded = Decoded::default();
    for segment_idx in 0..cells.segment_count() {
        if cells.zone(segment_idx).values == 0 {
            continue;
        }
        let segment = cells.segment_rows(segment_idx);
        for start in segment.clone().step_by(DECODED_ROWS) {
            let end = segment.end.min(start + DECODED_ROWS as u32);
            decoded.read(table, cells, start..end);
            decoded.visit(cells, BlockGraphs::One(graph), visit)?;
        }
    }
    ControlFlow::Continue(())
}

/// Visits the cells of the rows in some graphs, of a table with rows in several: column after column of a segment.
fn scan_cells_of_some(
    table: &Table,
    predicates: Predicates<'_>,
    graphs: &GraphSet,
    visit: VisitBlock<'_>,
) -> ControlFlow<()> {
    let mut decoded = Decoded::default();
    let (mut rows, mut of_rows, mut of_quads) = (Vec::new(), Vec::new(), Vec::new());
    let few = graphs.few();
    for segment_idx in 0..table.segment_count() {
        rows.clear();
        of_rows.clear();
        let segment = table.rows_of_segment(segment_idx);
        match &few {
            Some(few) => rows_in_few(table, segment.clone(), few, (&mut rows, &mut of_rows)),
            None => rows_in_many(table, segment.clone(), graphs, (&mut rows, &mut of_rows)),
        }
        let is_whole = rows.len() == segment.len();
        for cells in predicates.cells(table) {
            if cells.zone(segment_idx).values == 0 {
                continue;
            }
            for start in (0..rows.len()).step_by(DECODED_ROWS) {
                let rows = &rows[start..rows.len().min(start + DECODED_ROWS)];
                match is_whole {
                    true => decoded.read(table, cells, rows[0]..rows[0] + rows.len() as u32),
                    false => decoded.read_some(table, cells, rows),
                }
                let graphs = match few.as_deref() {
                    Some([graph]) => BlockGraphs::One(*graph),
                    _ => {
                        of_quads.clear();
                        decoded.repeat(of_rows[start..].iter().copied(), &mut of_quads);
                        BlockGraphs::Each(&of_quads)
                    }
                };
                decoded.visit(cells, graphs, visit)?;
            }
        }
    }
    ControlFlow::Continue(())
}

/// Adds the rows of a segment that are in these graphs, and the graph of each; a graph is sought by itself.
fn rows_in_few(
    table: &Table,
    segment: Range<u32>,
    graphs: &[TermId],
    (rows, of_rows): (&mut Vec<u32>, &mut Vec<u64>),
) {
    for &graph in graphs {
        if table.quads_in_graph(graph) > 0 {
            table.rows_in_graph(segment.clone(), graph, rows);
            of_rows.resize(rows.len(), graph.0);
        }
    }
    if !rows.is_sorted() {
        let pairs = rows.iter().copied().zip(of_rows.iter().copied());
        let mut pairs: Vec<(u32, u64)> = pairs.collect();
        pairs.sort_unstable();
        (*rows, *of_rows) = pairs.into_iter().unzip();
    }
}

/// The same by looking at the graph of each row.
fn rows_in_many(
    table: &Table,
    segment: Range<u32>,
    graphs: &GraphSet,
    (rows, of_rows): (&mut Vec<u32>, &mut Vec<u64>),
) {
    let (all, mut homes): (Vec<u32>, _) = (segment.collect(), Vec::new());
    table.gather_graphs(&all, &mut homes);
    let mut wanted = GraphTest::new(graphs);
    for (row, home) in all.into_iter().zip(homes) {
        if wanted.takes(home) {
            rows.push(row);
            of_rows.push(home);
        }
    }
}

/// Cells of some rows.
#[derive(Default)]
struct Decoded {
    subjects: Vec<u64>,
    objects: Vec<u64>,
    /// How many of the objects each row has; empty where each has one.
    counts: Vec<u32>,
}

impl Decoded {
    fn clear(&mut self) {
        self.subjects.clear();
        self.objects.clear();
        self.counts.clear();
    }

    /// Reads consecutive rows.
    fn read(&mut self, table: &Table, cells: Cells<'_>, rows: Range<u32>) {
        self.clear();
        match cells.full() {
            true => cells.scan(rows.clone(), &mut self.objects),
            false => cells.scan_lists(rows.clone(), &mut self.counts, &mut self.objects),
        }
        self.repeat_subjects(table, rows);
    }

    /// Reads ascending rows.
    fn read_some(&mut self, table: &Table, cells: Cells<'_>, rows: &[u32]) {
        self.clear();
        cells.gather_lists(rows, &mut self.counts, &mut self.objects);
        self.repeat_subjects(table, rows.iter().copied());
    }

    /// Makes the subjects of these rows, each as often as it has objects.
    fn repeat_subjects(&mut self, table: &Table, rows: impl Iterator<Item = u32>) {
        let mut subjects = std::mem::take(&mut self.subjects);
        self.repeat(rows.map(|row| table.subject(row).0), &mut subjects);
        self.subjects = subjects;
    }

    /// Appends what each row has as often as it has objects.
    fn repeat(&self, of_rows: impl Iterator<Item = u64>, out: &mut Vec<u64>) {
        if self.counts.is_empty() {
            out.extend(of_rows.take(self.objects.len()));
            return;
        }
        // Who has a value is as good as random, so it is written in any case, and written over where there is none.
        let mut at = out.len();
        let end = at + self.objects.len();
        out.resize(end + 1, 0);
        for (of_row, &count) in of_rows.zip(&self.counts) {
            out[at] = of_row;
            let count = count as usize;
            if count > 1 {
                out[at + 1..at + count].fill(of_row);
            }
            at += count;
        }
        out.truncate(end);
    }

    fn visit(
        &self,
        cells: Cells<'_>,
        graphs: BlockGraphs<'_>,
        visit: VisitBlock<'_>,
    ) -> ControlFlow<()> {
        if self.objects.is_empty() {
            return ControlFlow::Continue(());
        }
        visit(QuadBlock {
            predicate: cells.predicate(),
            subjects: &self.subjects,
            objects: &self.objects,
            graphs,
        })
    }
}
