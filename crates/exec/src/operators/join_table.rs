//! `JoinTable`: the build side of a hash join.
//!
//! The build rows, column by column, those of a key side by side in input order, so that a key with many partners reads them in
//! one stretch; where they lie a [`JoinDirectory`] tells. Built once, read by all threads, counted against the query's memory as long
//! as it lives.
//! Many rows are put there by all threads: into a large directory that is hashed in partitions, into columns piece by piece.
//! Memory: 8 bytes per cell and those of the directory; while it is built 4 more per row, 16 in partitions.

use super::input_rows::InputRows;
use super::join_column::JoinColumn;
use super::join_directory::{DirectoryShape, JoinDirectory, KEYS_TOGETHER};
use super::join_partitioned;
use super::range_order::{RangeExprs, RangeOrder};
use crate::batch::Batch;
use crate::computed_numbers::ComputedNumbers;
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use basalt_columns::prefetch;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Rows that a table can have: twice as many buckets still have 32-bit numbers.
const ROWS_MAX: usize = 1 << 31;

/// Rows that are put to their places by all threads: some tenths of a millisecond of work.
const MANY_ROWS: usize = if cfg!(test) { 128 } else { 1 << 16 };

/// The build side; see the [module documentation](self).
pub struct JoinTable {
    /// The rows, in the order of the directory.
    columns: Vec<JoinColumn>,
    rows: usize,
    key_columns: Vec<usize>,
    /// Of the key columns those at the end that a probe row may lack.
    lacked_columns: usize,
    /// The rows by the other key columns, for probe rows that lack some.
    loose: OnceLock<Arc<JoinTable>>,
    directory: JoinDirectory,
    /// The rows of each key in the order of a value that the join's condition bounds, where that pays.
    ranges: Option<RangeOrder>,
    _held: HeldMemory,
}

impl JoinTable {
    /// A table without rows.
    pub fn empty() -> Self {
        Self {
            columns: Vec::new(),
            rows: 0,
            key_columns: Vec::new(),
            lacked_columns: 0,
            loose: OnceLock::new(),
            directory: JoinDirectory::empty(),
            ranges: None,
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
        let cells: usize = batches.iter().map(Batch::bytes).sum();
        let mut held = HeldMemory::default();
        held.grow_to(cells + shape.bytes(), "HashJoin", cx)?;
        let (directory, columns) = match rows {
            MANY_ROWS.. => build_many(batches, width, (shape, &key_columns), cx)?,
            _ => {
                let (directory, places) = JoinDirectory::build(shape, batches, &key_columns, cx)?;
                let columns = JoinColumn::build_all(batches, width, &places, cx)?;
                (directory, columns)
            }
        };
        Ok(Self {
            columns,
            rows,
            key_columns,
            lacked_columns: 0,
            loose: OnceLock::new(),
            directory,
            ranges: None,
            _held: held,
        })
    }

    /// The same, of whose key columns so many at the end may lack a value in probe rows.
    pub fn with_lacked(self, lacked_columns: usize) -> Self {
        Self {
            lacked_columns,
            ..self
        }
    }

    /// The key columns that probe rows may lack.
    pub fn lacked_columns(&self) -> &[usize] {
        &self.key_columns[self.key_columns.len() - self.lacked_columns..]
    }

    /// The rows by these key columns alone, made by whoever asks first.
    pub fn loose(&self, key_columns: &[usize], cx: &Context) -> Result<Arc<Self>, ExecError> {
        if let Some(loose) = self.loose.get() {
            return Ok(Arc::clone(loose));
        }
        let columns: Vec<usize> = (0..self.columns.len()).collect();
        let rows = self.some_rows(&columns, 0..self.rows);
        let table = Self::build(&[rows], columns.len(), key_columns.to_vec(), cx)?;
        Ok(Arc::clone(self.loose.get_or_init(|| Arc::new(table))))
    }

    /// The same with the rows of each key in the order of what the ranges of a condition bound, if that pays.
    pub fn with_ranges(self, ranges: Option<&RangeExprs>, cx: &Context) -> Result<Self, ExecError> {
        let ranges = match ranges {
            Some(exprs) => RangeOrder::build(&self, exprs, cx)?,
            None => None,
        };
        Ok(Self { ranges, ..self })
    }

    /// The order of the rows of each key.
    pub fn ranges(&self) -> Option<&RangeOrder> {
        self.ranges.as_ref()
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// The columns by whose values rows are found.
    pub fn key_columns(&self) -> &[usize] {
        &self.key_columns
    }

    /// The ids of one column.
    pub fn column(&self, column: usize) -> &[u64] {
        self.columns[column].ids()
    }

    /// The computed numbers of one column, if that is what it has.
    pub fn numbers(&self, column: usize) -> Option<&Arc<ComputedNumbers>> {
        match &self.columns[column] {
            JoinColumn::Ids(_) => None,
            JoinColumn::Numbers(numbers) => Some(numbers),
        }
    }

    /// Some columns of some rows.
    pub fn some_rows(&self, columns: &[usize], rows: Range<usize>) -> Batch {
        let mut batch = Batch::of_rows(rows.len());
        for &column in columns {
            batch = match &self.columns[column] {
                JoinColumn::Ids(ids) => batch.with_column(ids[rows.clone()].to_vec()),
                JoinColumn::Numbers(numbers) => {
                    let rows: Vec<u32> = (rows.start as u32..rows.end as u32).collect();
                    batch.with_numbers(ComputedNumbers::of_others(numbers, &rows))
                }
            };
        }
        batch
    }

    /// Visits the places where the rows of keys lie, from the first to the last; keys whose hashes agree lie together.
    pub fn each_stretch_of_rows(
        &self,
        visit: &mut dyn FnMut(Range<usize>) -> Result<(), ExecError>,
    ) -> Result<(), ExecError> {
        match self.key_columns.is_empty() {
            true => visit(0..self.rows),
            false => self.directory.each_stretch(visit),
        }
    }

    /// Where the rows of a key lie.
    pub fn directory(&self) -> &JoinDirectory {
        &self.directory
    }

    /// Appends those of these rows whose key equals `key`, in input order.
    #[inline]
    pub fn matching(&self, rows: Range<usize>, key: &[u64], out: &mut Vec<u32>) {
        if let [column] = self.key_columns.as_slice() {
            let keys = &self.column(*column)[rows.clone()];
            let equal = rows.zip(keys).filter(|(_, id)| **id == key[0]);
            out.extend(equal.map(|(row, _)| row as u32));
        } else {
            let is_equal = |row: &usize| self.has_key(*row, key);
            out.extend(rows.filter(is_equal).map(|row| row as u32));
        }
    }

    /// Whether a row has a key.
    #[inline]
    pub fn has_key(&self, row: usize, key: &[u64]) -> bool {
        let mut cells = self.key_columns.iter().zip(key);
        cells.all(|(&column, &id)| self.column(column)[row] == id)
    }

    /// Appends all pairs of keys with their rows: the row of the key in its columns, from `first` on, and the row here. Ends before the key with
    /// which there might be more than `pairs_max` pairs in `probe`; says which row that is, or how many there are.
    pub fn pair_keys(
        &self,
        keys: &[&[u64]],
        first: usize,
        pairs_max: usize,
        out: (&mut Vec<u32>, &mut Vec<u32>),
    ) -> usize {
        let from = (keys, first, pairs_max);
        // The loop is made for each of the common kinds of keys.
        match &self.same_keys(keys) {
            SameKeys::Found => self.pair_where(from, |_, _| true, out),
            SameKeys::One(own, ids) => {
                self.pair_where(from, |place, row| own[place] == ids[row], out)
            }
            same => self.pair_where(from, |place, row| same.is(place, row), out),
        }
    }

    /// The same, where `is_same` says whether a row here has the key of a row there.
    #[inline]
    fn pair_where(
        &self,
        (keys, first, pairs_max): (&[&[u64]], usize, usize),
        is_same: impl Fn(usize, usize) -> bool,
        (probe, build): (&mut Vec<u32>, &mut Vec<u32>),
    ) -> usize {
        self.each_stretch(keys, first, |row, stretch| {
            if stretch.is_empty() {
                return true;
            }
            if probe.len() + stretch.len() > pairs_max {
                return false;
            }
            for place in stretch {
                if is_same(place, row) {
                    probe.push(row as u32);
                    build.push(place as u32);
                }
            }
            true
        })
    }

    /// Appends the rows of these key columns whose key some row here has.
    pub fn found_keys(&self, keys: &[&[u64]], out: &mut Vec<u32>) {
        let same = self.same_keys(keys);
        self.each_stretch(keys, 0, |row, mut stretch| {
            if stretch.any(|place| same.is(place, row)) {
                out.push(row as u32);
            }
            true
        });
    }

    /// Visits the rows of key columns from `first` on, with where rows lie that may have the key, as long as that says true; tells the row at
    /// which it ended, or how many there are.
    #[inline]
    fn each_stretch(
        &self,
        keys: &[&[u64]],
        first: usize,
        mut visit: impl FnMut(usize, Range<usize>) -> bool,
    ) -> usize {
        let mut stretches = [const { 0..0 }; KEYS_TOGETHER];
        let rows = keys.first().map_or(0, |ids| ids.len());
        for start in (first..rows).step_by(KEYS_TOGETHER) {
            let stretches = &mut stretches[..KEYS_TOGETHER.min(rows - start)];
            self.expected_stretches(keys, start, stretches);
            for (row, stretch) in (start..).zip(stretches.iter()) {
                if !visit(row, stretch.clone()) {
                    return row;
                }
            }
        }
        rows
    }

    /// Where rows lie that may have the keys from row `start` on, whose own keys are asked for.
    #[inline]
    fn expected_stretches(&self, keys: &[&[u64]], start: usize, stretches: &mut [Range<usize>]) {
        self.directory.stretches(keys, start, stretches);
        if self.directory.is_exact() {
            return;
        }
        for &column in &self.key_columns {
            let ids = self.column(column);
            let places = stretches.iter().map(|stretch| stretch.start);
            places.for_each(|place| prefetch(ids, place));
        }
    }

    /// How keys here and there are compared.
    fn same_keys<'a>(&'a self, keys: &'a [&'a [u64]]) -> SameKeys<'a> {
        debug_assert_eq!(keys.len(), self.key_columns.len());
        let own = |at: usize| self.column(self.key_columns[at]);
        match keys {
            _ if self.directory.is_exact() => SameKeys::Found,
            [ids] => SameKeys::One(own(0), ids),
            [a, b] => SameKeys::Two([own(0), own(1)], [a, b]),
            _ => SameKeys::Many((0..keys.len()).map(own).collect(), keys),
        }
    }
}

/// The key columns of a table, and those that are looked for in it.
enum SameKeys<'a> {
    /// What is found has the key.
    Found,
    One(&'a [u64], &'a [u64]),
    Two([&'a [u64]; 2], [&'a [u64]; 2]),
    Many(Vec<&'a [u64]>, &'a [&'a [u64]]),
}

impl SameKeys<'_> {
    /// Whether a row of the table has the key of a row there.
    #[inline]
    fn is(&self, place: usize, row: usize) -> bool {
        match self {
            Self::Found => true,
            Self::One(own, ids) => own[place] == ids[row],
            Self::Two(own, ids) => own[0][place] == ids[0][row] && own[1][place] == ids[1][row],
            Self::Many(own, ids) => {
                let mut columns = own.iter().zip(*ids);
                columns.all(|(own, ids)| own[place] == ids[row])
            }
        }
    }
}

/// The directory and the columns of many rows, by all threads where that pays.
fn build_many(
    batches: &[Batch],
    width: usize,
    (shape, key_columns): (DirectoryShape, &[usize]),
    cx: &Context,
) -> Result<(JoinDirectory, Vec<JoinColumn>), ExecError> {
    let rows = Arc::new(InputRows::new(batches));
    let (directory, places) = match join_partitioned::room(rows.count(), shape, cx) {
        Some((_held, buckets)) => join_partitioned::build(&rows, buckets, key_columns, cx)?,
        None => JoinDirectory::build(shape, batches, key_columns, cx)?,
    };
    let columns = match cx.options().threads {
        1 => JoinColumn::build_all(batches, width, &places, cx)?,
        _ => JoinColumn::build_many(&rows, width, places, cx)?,
    };
    Ok((directory, columns))
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

    /// The table of rows of these keys, in batches; the last column numbers the rows.
    fn table_of(keys: &[&[u64]]) -> JoinTable {
        let cx = Context::new(Snapshot::empty(), ExecOptions::default(), 0);
        let rows = keys[0].len();
        let batches = (0..rows).step_by(100).map(|start| {
            let end = rows.min(start + 100);
            let numbers = (start as u64..end as u64).collect();
            let keys = keys.iter().map(|ids| ids[start..end].to_vec());
            let columns = keys.chain([numbers]).collect();
            Batch::from_vectors(columns, end - start)
        });
        let batches: Vec<Batch> = batches.collect();
        let width = keys.len();
        JoinTable::build(&batches, width + 1, (0..width).collect(), &cx).expect("there is room")
    }

    proptest! {
        #[test]
        fn pairs_are_those_of_comparing_all_rows(
            build in keys(),
            probe in keys(),
            pairs_max in 1..500_usize,
            width in 1..4_usize,
            first in 0..100_usize,
        ) {
            // Further columns have few values.
            let columns = |keys: &[u64]| -> Vec<Vec<u64>> {
                let further = |at: u64| (0..keys.len() as u64).map(move |row| row / at % 2 + 7);
                let further = (1..width as u64).map(|at| further(at).collect());
                std::iter::once(keys.to_vec()).chain(further).collect()
            };
            let (build, probe) = (columns(&build), columns(&probe));
            let (build, probe): (Vec<&[u64]>, Vec<&[u64]>) =
                (build.iter().map(Vec::as_slice).collect(), probe.iter().map(Vec::as_slice).collect());
            let table = table_of(&build);
            let key = |columns: &[&[u64]], row: usize| -> Vec<u64> { columns.iter().map(|ids| ids[row]).collect() };
            let rows_of = |sought: Vec<u64>| {
                let rows = 0..build[0].len();
                rows.filter(|&row| key(&build, row) == sought).map(|row| row as u64).collect::<Vec<u64>>()
            };
            let first = first.min(probe[0].len());
            let (mut rows, mut places) = (Vec::new(), Vec::new());
            let next = table.pair_keys(&probe, first, pairs_max, (&mut rows, &mut places));
            let expected: Vec<(u32, u64)> = (first..next)
                .flat_map(|row| rows_of(key(&probe, row)).into_iter().map(move |number| (row as u32, number)))
                .collect();
            let numbers = places.iter().map(|&place| table.column(width)[place as usize]);
            let found: Vec<(u32, u64)> = rows.iter().copied().zip(numbers).collect();
            prop_assert_eq!(&found, &expected);
            prop_assert!(found.len() <= pairs_max);
            if next < probe[0].len() {
                let stretch = table.directory().stretch(&key(&probe, next));
                prop_assert!(found.len() + stretch.len() > pairs_max, "it ends too early");
            }
            let mut having = Vec::new();
            table.found_keys(&probe, &mut having);
            let is_there = |row: &usize| !rows_of(key(&probe, *row)).is_empty();
            let expected = (0..probe[0].len()).filter(is_there).map(|row| row as u32);
            prop_assert_eq!(having, expected.collect::<Vec<u32>>());
            let all = [(&probe, probe[0].len()), (&build, build[0].len())];
            for (columns, rows) in all {
                for row in 0..rows {
                    let (sought, mut places) = (key(columns, row), Vec::new());
                    table.matching(table.directory().stretch(&sought), &sought, &mut places);
                    let numbers = places.iter().map(|&place| table.column(width)[place as usize]);
                    prop_assert_eq!(numbers.collect::<Vec<u64>>(), rows_of(sought));
                }
            }
        }
    }

    #[test]
    fn keys_near_each_other_go_by_id() {
        let resource = |ordinal| TermId::resource(ordinal).0;
        let near: Vec<u64> = (0..10_000).map(|i| resource(i * 7_919 % 20_000)).collect();
        assert!(table_of(&[&near]).directory().is_exact());
        let far: Vec<u64> = (0..10_000).map(|i| resource(i * 5)).collect();
        assert!(!table_of(&[&far]).directory().is_exact());
        assert!(
            table_of(&[&[resource(1), resource(2_000)]])
                .directory()
                .is_exact()
        );
        assert!(
            !table_of(&[&[resource(1), resource(3_000)]])
                .directory()
                .is_exact()
        );
        assert!(
            table_of(&[&[u64::MAX, u64::MAX - 1]])
                .directory()
                .is_exact()
        );
        assert!(table_of(&[&[]]).directory().stretch(&[0]).is_empty());
    }
}
