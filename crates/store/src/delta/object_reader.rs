//! `ObjectReader`: the objects of one predicate, subject after subject.
//!
//! Cells of the table that was read last stay open ([`CellReader`]), so subjects that come table by table, ascending, open each segment once.
//! Invariant: the answers are those of [`Snapshot::objects_of`](crate::Snapshot::objects_of).

use super::{Delta, objects_of};
use crate::error::StoreError;
use crate::snapshot::Version;
use crate::table::CellReader;
use basalt_rdf::TermId;

/// Reads the objects of one predicate, subject after subject; cells of the table that was read last stay open.
pub struct ObjectReader<'a> {
    version: &'a Version,
    delta: Option<&'a Delta>,
    predicate: TermId,
    /// The table read last, and its cells if it has some of the predicate.
    table: Option<(usize, Option<CellReader<'a>>)>,
}

impl<'a> ObjectReader<'a> {
    pub(super) fn new(version: &'a Version, delta: Option<&'a Delta>, predicate: TermId) -> Self {
        Self {
            version,
            delta,
            predicate,
            table: None,
        }
    }

    /// Appends object and graph of every quad of a subject.
    ///
    /// # Errors
    ///
    /// If a block of irregular quads cannot be read.
    pub fn read(
        &mut self,
        subject: TermId,
        out: &mut Vec<(TermId, TermId)>,
    ) -> Result<(), StoreError> {
        let Self {
            version,
            delta,
            predicate,
            table,
        } = self;
        let mut read_cells = |table_idx: usize, row, objects: &mut Vec<u64>| {
            if table.as_ref().is_some_and(|(open, _)| *open != table_idx) {
                *table = None;
            }
            let cells = || version.tables[table_idx].cells(*predicate);
            let open = || (table_idx, cells().map(|cells| cells.reader()));
            if let (_, Some(cells)) = table.get_or_insert_with(open) {
                cells.values_into(row, objects);
            }
        };
        objects_of(version, *delta, (*predicate, subject), &mut read_cells, out)
    }
}
