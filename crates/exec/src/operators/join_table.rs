//! `JoinTable`: the build side of a hash join.
//!
//! The build rows, column by column, those of a key side by side in input order, so that a key with many partners reads them in
//! one stretch; where they lie a [`JoinDirectory`] tells. Built once, read by all threads, counted against the query's memory as long
//! as it lives.
//! Memory: 8 bytes per cell and those of the directory; while it is built 4 more per row.

use super::join_directory::{DirectoryShape, JoinDirectory, KEYS_TOGETHER};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use std::ops::Range;

/// Rows that a table can have: twice as many buckets still have 32-bit numbers.
const ROWS_MAX: usize = 1 << 31;

/// The build side; see the [module documentation](self).
pub struct JoinTable {
    /// The rows, in the order of the directory.
    columns: Vec<Vec<u64>>,
    rows: usize,
    key_columns: Vec<usize>,
    directory: JoinDirectory,
    _held: HeldMemory,
}

impl JoinTable {
    /// A table without rows.
    pub fn empty() -> Self {
        Self {
            columns: Vec::new(),
            rows: 0,
            key_columns: Vec::new(),
            directory: JoinDirectory::empty(),
            _held: HeldMemory::default(),
        }
    }

    /// Builds the table of all rows of `batches`, which have `width` columns, by these key columns.
    pub fn build(
        batches: &[Batch],
        width: usize,
        key_columns: Vec<usize>,
        cx: &Context,
    ) -> Result<Self, ExecError> {
        let rows: usize = batches.iter().map(Batch::rows).sum();
        if rows > ROWS_MAX {
            return Err(ExecError::MemoryLimit {
                limit_bytes: cx.options().memory_bytes_max,
                operator: "HashJoin",
            });
        }
        let shape = DirectoryShape::of(batches, &key_columns);
        let cells = rows * width * size_of::<u64>();
        let mut held = HeldMemory::default();
        held.grow_to(cells + shape.bytes(), "HashJoin", cx)?;
        let (directory, places) = JoinDirectory::build(shape, batches, &key_columns, cx)?;
        let columns = (0..width)
            .map(|column| {
                let mut values = vec![0; rows];
                let mut places = places.iter();
                for batch in batches {
                    cx.check()?;
                    for (&id, &place) in batch.ids(column).iter().zip(&mut places) {
                        values[place as usize] = id;
                    }
                }
                Ok(values)
            })
            .collect::<Result<_, ExecError>>()?;
        Ok(Self {
            columns,
            rows,
            key_columns,
            directory,
            _held: held,
        })
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The columns by whose values rows are found.
    pub fn key_columns(&self) -> &[usize] {
        &self.key_columns
    }

    /// The values of one column.
    pub fn column(&self, column: usize) -> &[u64] {
        &self.columns[column]
    }

    /// Where the rows of a key lie.
    pub fn directory(&self) -> &JoinDirectory {
        &self.directory
    }

    /// Appends those of these rows whose key equals `key`, in input order.
    #[inline]
    pub fn matching(&self, rows: Range<usize>, key: &[u64], out: &mut Vec<u32>) {
        if let [column] = self.key_columns.as_slice() {
            let keys = &self.columns[*column][rows.clone()];
            let equal = rows.zip(keys).filter(|(_, id)| **id == key[0]);
            out.extend(equal.map(|(row, _)| row as u32));
        } else {
            let is_equal = |row: &usize| {
                let mut cells = self.key_columns.iter().zip(key);
                cells.all(|(&column, &id)| self.columns[column][*row] == id)
            };
            out.extend(rows.filter(is_equal).map(|row| row as u32));
        }
    }

    /// Appends all pairs of the first of these keys of one column with their rows: the position of the key, from `first` on, and the row. Ends
    /// before the key with which there might be more than `pairs_max` pairs in `probe`; says how many keys are done.
    pub fn pair_ones(
        &self,
        ids: &[u64],
        first: u32,
        pairs_max: usize,
        (probe, build): (&mut Vec<u32>, &mut Vec<u32>),
    ) -> usize {
        let &[column] = self.key_columns.as_slice() else {
            return 0;
        };
        let keys = &self.columns[column];
        let is_exact = self.directory.is_exact();
        let mut stretches = [const { 0..0 }; KEYS_TOGETHER];
        for (chunk, together) in ids.chunks(KEYS_TOGETHER).enumerate() {
            self.directory.stretches(together, &mut stretches);
            let done = chunk * KEYS_TOGETHER;
            for (at, (id, stretch)) in together.iter().zip(&stretches).enumerate() {
                if stretch.is_empty() {
                    continue;
                }
                if probe.len() + stretch.len() > pairs_max {
                    return done + at;
                }
                let row = first + (done + at) as u32;
                for place in stretch.clone() {
                    if is_exact || keys[place] == *id {
                        probe.push(row);
                        build.push(place as u32);
                    }
                }
            }
        }
        ids.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::ExecOptions;
    use basalt_rdf::TermId;
    use basalt_store::Snapshot;
    use proptest::prelude::*;

    /// Keys near each other, anywhere, and values that are held in the id.
    fn keys() -> impl Strategy<Value = Vec<u64>> {
        let number = |n| TermId::numeric(0, n, 0).expect("fits").0;
        let key = |near: u64| {
            prop_oneof![
                8 => (7..near).prop_map(|ordinal| TermId::resource(ordinal).0),
                1 => (0..6_i64).prop_map(number),
                1 => any::<u64>(),
            ]
        };
        prop_oneof![
            prop::collection::vec((7..60_u64).prop_map(|o| TermId::resource(o).0), 0..300),
            prop::collection::vec((7..60_000_u64).prop_map(|o| TermId::resource(o).0), 0..300),
            prop::collection::vec(key(90), 0..300),
        ]
    }

    /// The table of these keys, in batches; the second column numbers the rows.
    fn table_of(keys: &[u64]) -> JoinTable {
        let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
        let mut first = 0;
        let batches = keys.chunks(100).map(|keys| {
            let numbers = (first..).take(keys.len()).collect();
            first += keys.len() as u64;
            Batch::from_vectors(vec![keys.to_vec(), numbers], keys.len())
        });
        let batches: Vec<Batch> = batches.collect();
        JoinTable::build(&batches, 2, vec![0], &cx).expect("there is room")
    }

    proptest! {
        #[test]
        fn pairs_are_those_of_comparing_all_rows(build in keys(), probe in keys(), pairs_max in 1..500_usize) {
            let table = table_of(&build);
            let rows_of = |id: u64| {
                let numbered = (0_u64..).zip(&build);
                numbered.filter(move |(_, key)| **key == id).map(|(number, _)| number)
            };
            let (mut rows, mut places) = (Vec::new(), Vec::new());
            let out = (&mut rows, &mut places);
            let done = table.pair_ones(&probe, 5, pairs_max, out);
            let expected: Vec<(u32, u64)> = (5..)
                .zip(&probe[..done])
                .flat_map(|(row, &id)| rows_of(id).map(move |number| (row, number)))
                .collect();
            let numbers = places.iter().map(|&place| table.column(1)[place as usize]);
            let found: Vec<(u32, u64)> = rows.iter().copied().zip(numbers).collect();
            prop_assert_eq!(&found, &expected);
            prop_assert!(found.len() <= pairs_max);
            if let Some(&next) = probe.get(done) {
                let stretch = table.directory().stretch(&[next]);
                prop_assert!(found.len() + stretch.len() > pairs_max, "it ends too early");
            }
            for &id in probe.iter().chain(&build) {
                let mut places = Vec::new();
                table.matching(table.directory().stretch(&[id]), &[id], &mut places);
                let numbers = places.iter().map(|&place| table.column(1)[place as usize]);
                prop_assert!(numbers.eq(rows_of(id)));
            }
        }
    }

    #[test]
    fn keys_near_each_other_go_by_id() {
        let resource = |ordinal| TermId::resource(ordinal).0;
        let near: Vec<u64> = (0..10_000).map(|i| resource(i * 7_919 % 20_000)).collect();
        assert!(table_of(&near).directory().is_exact());
        let far: Vec<u64> = (0..10_000).map(|i| resource(i * 5)).collect();
        assert!(!table_of(&far).directory().is_exact());
        assert!(
            table_of(&[resource(1), resource(2_000)])
                .directory()
                .is_exact()
        );
        assert!(
            !table_of(&[resource(1), resource(3_000)])
                .directory()
                .is_exact()
        );
        assert!(table_of(&[u64::MAX, u64::MAX - 1]).directory().is_exact());
        assert!(table_of(&[]).directory().stretch(&[0]).is_empty());
    }
}
