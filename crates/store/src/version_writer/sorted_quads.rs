//! Irregular quads as sorted streams: for loads whose irregular quads do not fit in memory.
//!
//! The caller sorts; the quad table is written at once, and dirty rows are noted on the way. Nothing
//! is kept but those and the directory of blocks.

use super::{VersionWriter, check_quad};
use crate::dirty_rows::DirtyRowsBuilder;
use crate::error::StoreError;
use crate::matching::QuadIds;
use crate::quad_table;
use crate::snapshot::extents_of;
use crate::table::Table;
use std::path::Path;

impl VersionWriter {
    /// The folder of the new version's files, if it is on disk.
    pub fn folder_path(&self) -> Option<&Path> {
        self.folder.path()
    }

    /// Gives all irregular quads, twice: sorted by predicate, object, subject, graph, and by predicate,
    /// subject, object, graph; repeats are dropped. All tables must be finished. Instead of
    /// [`Self::irregular_quads`].
    pub fn sorted_irregular_quads<E: From<StoreError>>(
        &mut self,
        posg: impl Iterator<Item = Result<QuadIds, E>>,
        psog: impl Iterator<Item = Result<QuadIds, E>>,
    ) -> Result<(), E> {
        if self.sorted.is_some() || !self.quads.is_empty() {
            let what = "a version takes its irregular quads either at once or in streams";
            return Err(StoreError::invalid(what).into());
        }
        if self.base.is_some() {
            let what = "a version built on another takes its irregular quads at once";
            return Err(StoreError::invalid(what).into());
        }
        let tables = self.open_tables()?;
        let tables: Vec<&Table> = tables.iter().collect();
        let extents = extents_of(&tables)?;
        let mut dirty = DirtyRowsBuilder::new(&extents, tables.len());
        let mut last = None;
        let mut bad = None;
        let ascending = posg.map(|quad| {
            let quad = quad?;
            check_quad(&quad)?;
            let key = (quad.predicate, quad.object, quad.subject, quad.graph);
            if last.is_some_and(|last| last > key) {
                return Err(StoreError::invalid("the quads are not in the order POSG").into());
            }
            last = Some(key);
            Ok(quad)
        });
        let mut before = None;
        quad_table::write_sorted(&self.folder, ascending, psog, &mut |quad| {
            let key = (quad.predicate, quad.subject, quad.object, quad.graph);
            if before.is_some_and(|before| before > key) {
                bad = Some(StoreError::invalid("the quads are not in the order PSOG"));
            }
            before = Some(key);
            dirty.add(quad.predicate, quad.subject);
        })?;
        if let Some(error) = bad {
            return Err(error.into());
        }
        self.sorted = Some(dirty.finish());
        Ok(())
    }
}
