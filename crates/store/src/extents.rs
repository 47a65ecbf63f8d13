//! The extent directory: which resource ordinals are rows of which table.
//!
//! A handful of ranges in memory; a lookup is one binary search.

use basalt_rdf::TermId;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extent {
    first: u64,
    end: u64,
    table_idx: usize,
}

/// The extents of all tables.
#[derive(Clone, Debug, Default)]
pub struct Extents {
    /// Ascending, not overlapping, none of them empty.
    extents: Vec<Extent>,
}

impl Extents {
    /// Makes the directory from the first ordinal and the number of rows of each table, in the
    /// order of tables. Says which tables overlap if some do.
    pub fn new(tables: impl IntoIterator<Item = (u64, u32)>) -> Result<Self, (usize, usize)> {
        let mut extents: Vec<Extent> = tables
            .into_iter()
            .enumerate()
            .filter(|(_, (_, rows))| *rows > 0)
            .map(|(table_idx, (first, rows))| Extent {
                first,
                end: first.saturating_add(u64::from(rows)),
                table_idx,
            })
            .collect();
        extents.sort_unstable_by_key(|e| e.first);
        match extents.windows(2).find(|w| w[0].end > w[1].first) {
            Some(w) => Err((w[0].table_idx, w[1].table_idx)),
            None => Ok(Self { extents }),
        }
    }

    /// The table and row of a resource, if it is a row.
    #[inline]
    pub fn row_of(&self, id: TermId) -> Option<(usize, u32)> {
        let mut nowhere = usize::MAX;
        self.row_of_near(id, &mut nowhere)
    }

    /// [`Self::row_of`] for ids that mostly are rows of the same table: `near` says where the last one was found, and that place is tried
    /// first.
    #[inline]
    pub fn row_of_near(&self, id: TermId, near: &mut usize) -> Option<(usize, u32)> {
        let ordinal = id.resource_ordinal()?;
        let is_in = |extent: &&Extent| extent.first <= ordinal && ordinal < extent.end;
        let extent = match self.extents.get(*near).filter(is_in) {
            Some(extent) => extent,
            None => {
                *near = self.extents.partition_point(|e| e.end <= ordinal);
                self.extents.get(*near).filter(is_in)?
            }
        };
        Some((extent.table_idx, (ordinal - extent.first) as u32))
    }

    /// The extents that share an id with the range, bounds included: table, smallest and largest
    /// id.
    pub fn within(
        &self,
        low: TermId,
        high: TermId,
    ) -> impl Iterator<Item = (usize, TermId, TermId)> + '_ {
        let start = self
            .extents
            .partition_point(|e| TermId::resource(e.end - 1) < low);
        self.extents[start..]
            .iter()
            .map(|e| {
                let first = TermId::resource(e.first);
                (e.table_idx, first, TermId::resource(e.end - 1))
            })
            .take_while(move |(_, first, _)| *first <= high)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_found() {
        let extents = Extents::new([(100, 10), (0, 5), (7, 0)]).expect("no overlap");
        let row = |ordinal| {
            let id = TermId::resource(ordinal);
            let found = extents.row_of(id);
            for mut near in 0..4 {
                assert_eq!(extents.row_of_near(id, &mut near), found, "{ordinal}");
                assert_eq!(extents.row_of_near(id, &mut near), found, "{ordinal} again");
            }
            found
        };
        assert_eq!(row(0), Some((1, 0)));
        assert_eq!(row(4), Some((1, 4)));
        assert_eq!(row(5), None);
        assert_eq!(row(7), None);
        assert_eq!(row(109), Some((0, 9)));
        assert_eq!(row(110), None);
        assert_eq!(extents.row_of(TermId::DEFAULT_GRAPH), None);
    }

    #[test]
    fn extents_of_a_range_are_found() {
        let extents = Extents::new([(100, 10), (0, 5)]).expect("no overlap");
        let tables = |low, high| -> Vec<usize> {
            let found = extents.within(TermId::resource(low), TermId::resource(high));
            found.map(|f| f.0).collect()
        };
        assert_eq!(tables(0, 200), [1, 0]);
        assert_eq!(tables(4, 99), [1]);
        assert_eq!(tables(5, 99), [] as [usize; 0]);
        assert_eq!(tables(109, 300), [0]);
    }

    #[test]
    fn overlaps_are_named() {
        assert_eq!(Extents::new([(0, 5), (4, 2)]).err(), Some((0, 1)));
    }
}
