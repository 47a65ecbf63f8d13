//! `ObjectReader`: the objects of one predicate, subject after subject.
//!
//! Cells of the table that was read last stay open ([`CellReader`]), so subjects that come table by table, ascending, open each segment once.
//! Invariant: the answers are those of [`Snapshot::objects_of`](crate::Snapshot::objects_of).

use super::{Delta, objects_of};
use crate::error::StoreError;
use crate::last_open::LastOpen;
use crate::snapshot::Version;
use crate::table::CellReader;
use basalt_rdf::TermId;

/// Reads the objects of one predicate, subject after subject; cells of the table that was read last stay open.
pub struct ObjectReader<'a> {
    version: &'a Version,
    delta: Option<&'a Delta>,
    predicate: TermId,
    /// The cells of the table read last, if it has some of the predicate.
    table: LastOpen<Option<CellReader<'a>>>,
}

impl<'a> ObjectReader<'a> {
    pub(super) fn new(version: &'a Version, delta: Option<&'a Delta>, predicate: TermId) -> Self {
        Self {
            version,
            delta,
            predicate,
            table: LastOpen::nothing(),
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
            let open = || {
                let cells = version.tables[table_idx].cells(*predicate)?;
                Some(cells.reader())
            };
            if let Some(cells) = table.get(table_idx, open) {
                cells.values_into(row, objects);
            }
        };
        objects_of(version, *delta, (*predicate, subject), &mut read_cells, out)
    }
}
