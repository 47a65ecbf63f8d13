//! Which tables have a column of a given predicate.
//!
//! Predicates may be as many as subjects, most of them in no table, and tables may be thousands: who asks each table for each predicate
//! searches their product. Made once per version, at first use, as files of a version never change; the delta changes no columns. Memory: 8 bytes
//! for each pair of a table and a predicate that has a column there, 12 for each predicate that has a column anywhere. Cost: one
//! search among these predicates, and one step for each table that has the predicate.

use crate::snapshot::{Snapshot, Version};
use crate::table::{Cells, Table};
use basalt_rdf::TermId;
use std::sync::OnceLock;

/// The lists, made at first use.
#[derive(Debug, Default)]
pub(crate) struct PredicateTables(OnceLock<Lists>);

/// Where the cells of a predicate are.
#[derive(Clone, Copy, Debug)]
struct Place {
    table_idx: u32,
    /// Among the table's predicates.
    predicate_idx: u32,
}

#[derive(Debug)]
struct Lists {
    /// The predicates that have a column, ascending, each once.
    predicates: Vec<TermId>,
    /// Where the places of each predicate begin, and the end.
    offsets: Vec<u32>,
    /// Ascending by table for each predicate.
    places: Vec<Place>,
}

impl Lists {
    fn of(tables: &[Table]) -> Self {
        let of_table = |(table_idx, table): (u32, &Table)| {
            let predicates: Vec<TermId> = table.predicates().collect();
            let places = (0..).zip(predicates);
            places.map(move |(predicate_idx, predicate)| {
                let place = Place {
                    table_idx,
                    predicate_idx,
                };
                (predicate, place)
            })
        };
        let mut pairs: Vec<(TermId, Place)> = (0..).zip(tables).flat_map(of_table).collect();
        pairs.sort_by_key(|(predicate, _)| *predicate);
        let (mut predicates, mut offsets) = (Vec::new(), Vec::new());
        for (at, (predicate, _)) in (0..).zip(&pairs) {
            if predicates.last() != Some(predicate) {
                predicates.push(*predicate);
                offsets.push(at);
            }
        }
        offsets.push(pairs.len() as u32);
        Self {
            predicates,
            offsets,
            places: pairs.into_iter().map(|(_, place)| place).collect(),
        }
    }

    fn places(&self, predicate: TermId) -> &[Place] {
        match self.predicates.binary_search(&predicate) {
            Ok(at) => &self.places[self.offsets[at] as usize..self.offsets[at + 1] as usize],
            Err(_) => &[],
        }
    }
}

impl Snapshot {
    /// The cells of a predicate in each table of the version that has a column of it.
    pub fn cells_of(&self, predicate: TermId) -> impl Iterator<Item = Cells<'_>> {
        let found = self.parts().cells_of(predicate);
        found.map(|(_, _, cells)| cells)
    }
}

impl Version {
    /// The tables that have a column of a predicate, ascending, with its cells.
    pub(crate) fn cells_of(
        &self,
        predicate: TermId,
    ) -> impl ExactSizeIterator<Item = (usize, &Table, Cells<'_>)> {
        let lists = &self.predicate_tables.0;
        let lists = lists.get_or_init(|| Lists::of(&self.tables));
        lists.places(predicate).iter().map(|place| {
            let table_idx = place.table_idx as usize;
            let table = &self.tables[table_idx];
            (
                table_idx,
                table,
                table.cells_at(place.predicate_idx as usize),
            )
        })
    }

    /// The tables that have a column of a predicate, or all, with their indices.
    pub(crate) fn tables_with(
        &self,
        predicate: Option<TermId>,
    ) -> Box<dyn Iterator<Item = (usize, &Table)> + '_> {
        match predicate {
            Some(predicate) => {
                let found = self.cells_of(predicate);
                Box::new(found.map(|(table_idx, table, _)| (table_idx, table)))
            }
            None => Box::new(self.tables.iter().enumerate()),
        }
    }
}
