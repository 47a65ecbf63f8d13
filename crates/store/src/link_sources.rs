//! Which columns can hold a given term, for patterns with a bound object and a variable predicate.
//!
//! Links are counted by target table when a version is made, so a row of a table is only looked for in
//! columns that link there; any other term, and columns without counted links, go by the column's range. Made
//! once per version, at first use: 16 bytes for each pair of column and target, 32 for each table.

use crate::snapshot::{Snapshot, Version};
use crate::table::Cells;
use basalt_rdf::TermId;
use std::sync::OnceLock;

/// Columns by table and place among the table's predicates.
type Place = (usize, usize);

/// The lists, made at first use.
#[derive(Debug, Default)]
pub(crate) struct LinkSources(OnceLock<Lists>);

#[derive(Debug)]
struct Lists {
    /// For each table the columns that link to it.
    by_target: Vec<Vec<Place>>,
    /// Columns whose links are not counted.
    uncounted: Vec<Place>,
    /// How many values of all columns are rows of each table, as far as they are counted.
    links: Vec<u64>,
}

impl Lists {
    fn of(version: &Version) -> Self {
        let mut lists = Self {
            by_target: vec![Vec::new(); version.tables.len()],
            uncounted: Vec::new(),
            links: vec![0; version.tables.len()],
        };
        for (table_idx, table) in version.tables.iter().enumerate() {
            for (place, cells) in table.all_cells().enumerate() {
                for &(target_idx, count) in &cells.statistics().links {
                    if let Some(links) = lists.links.get_mut(target_idx) {
                        *links += count;
                    }
                }
                if cells.has_inverse() {
                    for &(target_idx, _) in &cells.statistics().links {
                        if let Some(sources) = lists.by_target.get_mut(target_idx) {
                            sources.push((table_idx, place));
                        }
                    }
                } else {
                    lists.uncounted.push((table_idx, place));
                }
            }
        }
        lists
    }
}

impl Snapshot {
    /// How many values in cells of the version are rows of a table, as far as links are counted. Cost: a look at all columns when it is first asked
    /// of a version.
    pub fn links_to_table(&self, table_idx: usize) -> u64 {
        lists(self.parts()).links[table_idx]
    }
}

fn lists(version: &Version) -> &Lists {
    version.link_sources.0.get_or_init(|| Lists::of(version))
}

/// The cells of a predicate (or of any) that can hold an object, with the index of their table.
pub(crate) fn cells_that_may_hold(
    version: &Version,
    predicate: Option<TermId>,
    object: TermId,
) -> Vec<(usize, Cells<'_>)> {
    let within = |(_, cells): &(usize, Cells<'_>)| cells.may_hold(object);
    if let Some(predicate) = predicate {
        let cells = version.cells_of(predicate);
        let cells = cells.map(|(table_idx, _, cells)| (table_idx, cells));
        return cells.filter(within).collect();
    }
    let target = version.extents.row_of(object);
    let sources = sources(version, target.map(|(target_idx, _)| target_idx));
    sources.filter(within).collect()
}

/// The cells that can hold rows of a table, or terms that are rows of none, with the index of their own table; their ranges are not looked at.
pub(crate) fn sources(
    version: &Version,
    target: Option<usize>,
) -> Box<dyn Iterator<Item = (usize, Cells<'_>)> + '_> {
    match target {
        Some(target_idx) => {
            let lists = lists(version);
            let places = lists.by_target[target_idx].iter().chain(&lists.uncounted);
            let cells = |&(table_idx, place): &Place| {
                (table_idx, version.tables[table_idx].cells_at(place))
            };
            Box::new(places.map(cells))
        }
        None => {
            let tables = version.tables.iter().enumerate();
            Box::new(
                tables
                    .flat_map(|(table_idx, table)| table.all_cells().map(move |c| (table_idx, c))),
            )
        }
    }
}
