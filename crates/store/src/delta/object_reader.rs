//! `ObjectReader`: the objects of one predicate, subject after subject.
//!
//! Cells of the table that was read last stay open ([`CellReader`]), so subjects that come table by table, ascending, open each segment once; of a row of
//! which cells tell all nothing else is asked.
//! Invariant: the answers are those of [`Snapshot::objects_of`](crate::Snapshot::objects_of), without graphs.

use super::{Delta, objects_of};
use crate::error::StoreError;
use crate::last_open::LastOpen;
use crate::snapshot::Version;
use crate::table::CellReader;
use basalt_rdf::TermId;
use roaring::RoaringBitmap;

/// A table that is read.
struct OpenTable<'a> {
    /// Its cells, if it has some of the predicate.
    cells: Option<CellReader<'a>>,
    /// Rows that have irregular quads of it.
    dirty: Option<&'a RoaringBitmap>,
}

/// Reads the objects of one predicate, subject after subject; cells of the table that was read last stay open.
pub struct ObjectReader<'a> {
    version: &'a Version,
    /// What was changed of the predicate, if anything.
    delta: Option<&'a Delta>,
    predicate: TermId,
    /// The table read last.
    table: LastOpen<OpenTable<'a>>,
    /// Where in the extents its rows are.
    near: usize,
    /// Of the subject read last, if its cells did not tell all.
    quads: Vec<(TermId, TermId)>,
    /// The values of its cells.
    values: Vec<u64>,
}

impl<'a> ObjectReader<'a> {
    pub(super) fn new(version: &'a Version, delta: Option<&'a Delta>, predicate: TermId) -> Self {
        Self {
            version,
            delta: delta.filter(|delta| delta.of(predicate).is_some()),
            predicate,
            table: LastOpen::nothing(),
            near: 0,
            quads: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Appends the object of every quad of a subject.
    ///
    /// # Errors
    ///
    /// If a block of irregular quads cannot be read.
    pub fn read(&mut self, subject: TermId, out: &mut Vec<TermId>) -> Result<(), StoreError> {
        let extents = &self.version.extents;
        if self.delta.is_none()
            && let Some((table_idx, row)) = extents.row_of_near(subject, &mut self.near)
        {
            let table = Self::open(&mut self.table, self.version, self.predicate, table_idx);
            if !table.dirty.is_some_and(|dirty| dirty.contains(row)) {
                self.values.clear();
                if let Some(cells) = &mut table.cells {
                    cells.values_into(row, &mut self.values);
                }
                out.extend(self.values.iter().map(|value| TermId(*value)));
                return Ok(());
            }
        }
        self.read_quads(subject)?;
        out.extend(self.quads.iter().map(|(object, _)| *object));
        Ok(())
    }

    /// Reads the quads of a subject, wherever they are.
    fn read_quads(&mut self, subject: TermId) -> Result<(), StoreError> {
        let Self {
            version,
            delta,
            predicate,
            table,
            quads,
            ..
        } = self;
        let mut read_cells = |table_idx: usize, row, objects: &mut Vec<u64>| {
            let open = Self::open(table, version, *predicate, table_idx);
            if let Some(cells) = &mut open.cells {
                cells.values_into(row, objects);
            }
        };
        quads.clear();
        objects_of(
            version,
            *delta,
            (*predicate, subject),
            &mut read_cells,
            quads,
        )
    }

    fn open<'t>(
        table: &'t mut LastOpen<OpenTable<'a>>,
        version: &'a Version,
        predicate: TermId,
        table_idx: usize,
    ) -> &'t mut OpenTable<'a> {
        table.get(table_idx, || {
            let table = &version.tables[table_idx];
            OpenTable {
                cells: table.cells(predicate).map(|cells| cells.reader()),
                dirty: table.dirty_rows(predicate),
            }
        })
    }
}
