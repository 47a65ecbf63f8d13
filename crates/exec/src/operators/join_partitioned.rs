//! Building a [`JoinDirectory`] that is hashed in partitions, each of which one thread fills.
//!
//! ```text
//! piece of the input   ─► its words by partition                                       (Piece)
//! partition            ─► its stretch of the directory, and the places of its rows, after those of the partitions before it
//! piece of the input   ─► the places of its rows in input order
//! ```
//!
//! One thread that fills the whole directory waits for memory at each row, and nobody helps it. A partition's stretch lies in the second-level
//! cache. A small directory is filled sooner than its rows are dealt out, and so is one by id.
//!
//! Invariant: what is built is what [`JoinDirectory::build`] builds: same entries, same places.
//! Cost: 3 to 5 ns for each of the first two steps and row, with one thread. Memory: 12 bytes a row while it is built, besides the places.

use super::input_rows::{InputRows, PIECE_ROWS};
use super::join_directory::{DirectoryShape, JoinDirectory, START_BITS, START_MASK};
use super::join_parts::{Parting, Piece, Word, deal_out};
use super::pieces::in_pieces;
use super::shared_cells::{Cell, SharedCells};
use crate::context::Context;
use crate::error::ExecError;
use crate::held_memory::HeldMemory;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

/// Bytes of a directory from which on it is filled in partitions: many times what the second-level cache has. Smaller ones lose where other queries have
/// the other cores.
const BYTES_MIN: usize = if cfg!(test) { 1 << 10 } else { 1 << 24 };

/// Entries between two looks at whether the query goes on.
const CHECK_ENTRIES: usize = 1 << 16;

/// Room for building the directory of so many rows in partitions, and how many buckets it has; if that pays and finds room.
pub fn room(rows: usize, shape: DirectoryShape, cx: &Context) -> Option<(HeldMemory, usize)> {
    let threads = cx.options().threads;
    let buckets = match shape {
        DirectoryShape::Hashed(buckets) if shape.bytes() >= BYTES_MIN => buckets,
        _ => return None,
    };
    const WORD: usize = size_of::<Word>();
    let dealing = threads * PIECE_ROWS * (WORD + size_of::<u8>());
    let bytes = rows * (WORD + size_of::<u32>()) + dealing;
    let mut held = HeldMemory::default();
    held.grow_to(bytes, "HashJoin", cx).ok()?;
    Some((held, buckets))
}

/// The directory of all rows, for which there is [`room`], and for each row in input order where it goes.
pub fn build(
    rows: &Arc<InputRows>,
    buckets: usize,
    key_columns: &[usize],
    cx: &Context,
) -> Result<(JoinDirectory, Vec<u32>), ExecError> {
    let threads = cx.options().threads;
    let parting = Parting::of(buckets);
    let deal = {
        let (rows, keys) = (Arc::clone(rows), key_columns.to_vec());
        move |piece: usize, cx: &Context| deal_out(&rows, piece, (parting, &keys), cx)
    };
    let pieces = in_pieces(rows.pieces(), threads, deal, cx)?;
    let parts = Arc::new(Parts::new(pieces, parting));
    let entries = Arc::new(SharedCells::<AtomicU64>::zeros(buckets + 1));
    let fill = {
        let (parts, entries) = (Arc::clone(&parts), Arc::clone(&entries));
        move |partition: usize, cx: &Context| {
            let own = &entries.share()[parting.buckets(partition)];
            parts.fill(partition, own, cx)
        }
    };
    let by_partition = in_pieces(parting.count(), threads, fill, cx)?;
    // The stretch of the last bucket ends with the rows.
    entries.share()[buckets].set(rows.count() as u64);
    let places = Arc::new(SharedCells::<AtomicU32>::zeros(rows.count()));
    let gather = {
        let places = Arc::clone(&places);
        move |piece: usize, _: &Context| {
            parts.gather(piece, &by_partition, &places.share());
            Ok(())
        }
    };
    in_pieces(rows.pieces(), threads, gather, cx)?;
    Ok((JoinDirectory::Hashed(entries.take()), places.take()))
}

/// Rows that were dealt out.
struct Parts {
    pieces: Vec<Piece>,
    /// The first place of each partition, and the number of rows.
    starts: Vec<usize>,
}

impl Parts {
    fn new(pieces: Vec<Piece>, parting: Parting) -> Self {
        let mut starts = vec![0];
        let mut end = 0;
        for partition in 0..parting.count() {
            let words = pieces.iter().map(|piece| piece.words(partition).len());
            end += words.sum::<usize>();
            starts.push(end);
        }
        Self { pieces, starts }
    }

    /// Fills a partition's entries; says where its rows go, in input order.
    fn fill(
        &self,
        partition: usize,
        entries: &[AtomicU64],
        cx: &Context,
    ) -> Result<Vec<u32>, ExecError> {
        // A page of zeros that is read before it is written to is mapped twice, the second time with a word to all threads.
        for some in entries.chunks(CHECK_ENTRIES) {
            cx.check()?;
            some.iter().for_each(|entry| entry.set(0));
        }
        let parts = self.pieces.iter().map(|piece| piece.words(partition));
        for words in parts.clone() {
            cx.check()?;
            for word in words {
                let entry = &entries[word.bucket()];
                entry.set((entry.get() | 1 << (START_BITS + word.tag())) + 1);
            }
        }
        // From the number of rows in each bucket to its end, then back to its start row by row.
        let (start, end) = (self.starts[partition], self.starts[partition + 1]);
        let mut next = start as u64;
        for some in entries.chunks(CHECK_ENTRIES) {
            cx.check()?;
            for cell in some {
                let entry = cell.get();
                next += entry & START_MASK;
                cell.set(entry & !START_MASK | next);
            }
        }
        let mut places = vec![0; end - start];
        let mut left = places.iter_mut().rev();
        for words in parts.rev() {
            cx.check()?;
            for (word, place) in words.iter().rev().zip(&mut left) {
                let cell = &entries[word.bucket()];
                let entry = cell.get() - 1;
                cell.set(entry);
                *place = (entry & START_MASK) as u32;
            }
        }
        Ok(places)
    }

    /// Puts the places of a piece's rows, of those by partition, in input order.
    fn gather(&self, piece: usize, by_partition: &[Vec<u32>], places: &[AtomicU32]) {
        let (before, own) = (&self.pieces[..piece], &self.pieces[piece]);
        for (partition, all) in by_partition.iter().enumerate() {
            let before = before.iter().map(|piece| piece.words(partition).len());
            for (word, &place) in own.words(partition).iter().zip(&all[before.sum()..]) {
                places[word.row()].set(place);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Batch;
    use crate::computed_numbers::ComputedNumbers;
    use crate::context::ExecOptions;
    use crate::expr::Numbers;
    use crate::operators::join_column::JoinColumn;
    use crate::operators::join_table::JoinTable;
    use basalt_rdf::TermId;
    use basalt_store::Snapshot;
    use proptest::prelude::*;

    /// The rows of a build side, which has some key columns, one that numbers the rows, and one of computed numbers.
    #[derive(Clone, Debug)]
    struct Side {
        keys: Vec<u64>,
        key_columns: usize,
        /// Rows of a batch.
        step: usize,
    }

    /// Keys near each other, far from each other, anywhere, and one with many rows.
    fn side() -> impl Strategy<Value = Side> {
        let resource = |ordinal: u64| TermId::resource(ordinal).0;
        let key = prop_oneof![
            4 => (7..5_000_u64).prop_map(resource),
            2 => (7..90_u64).prop_map(resource),
            1 => any::<u64>(),
            2 => Just(0),
        ];
        let near = (7..700_u64).prop_map(resource);
        let few = (7..9_u64).prop_map(resource);
        let keys = prop_oneof![
            prop::collection::vec(key, 0..600),
            prop::collection::vec(near, 0..600),
            prop::collection::vec(few, 0..600),
        ];
        (keys, 1..4_usize, 1..200_usize).prop_map(|(keys, key_columns, step)| Side {
            keys,
            key_columns,
            step,
        })
    }

    impl Side {
        fn width(&self) -> usize {
            self.key_columns + 2
        }

        fn key_columns(&self) -> Vec<usize> {
            (0..self.key_columns).collect()
        }

        fn batches(&self, cx: &Context) -> Vec<Batch> {
            let batch = |start: usize| {
                let rows = start..self.keys.len().min(start + self.step);
                let key_column = |column: usize| -> Vec<u64> {
                    let keys = self.keys[rows.clone()].iter();
                    keys.map(|key| key >> (column * 3)).collect()
                };
                let mut columns: Vec<Vec<u64>> = (0..self.key_columns).map(key_column).collect();
                columns.push(rows.clone().map(|row| row as u64).collect());
                let numbers = rows.clone().map(|row| row as f64 / 8.0).collect();
                let numbers = ComputedNumbers::new(Numbers::doubles(numbers), cx);
                Batch::from_vectors(columns, rows.len()).with_numbers(numbers)
            };
            (0..self.keys.len()).step_by(self.step).map(batch).collect()
        }
    }

    fn context(threads: usize, memory_bytes_max: usize) -> Arc<Context> {
        let options = ExecOptions {
            threads,
            memory_bytes_max,
            ..ExecOptions::default()
        };
        Context::new(Snapshot::empty(), options, 0)
    }

    /// Entries with the last one, and columns with whether they are numbers.
    type Table = (Vec<u64>, Vec<(bool, Vec<u64>)>);

    fn table((directory, columns): (JoinDirectory, Vec<JoinColumn>)) -> Table {
        let entries = match directory {
            JoinDirectory::Hashed(entries) => entries,
            JoinDirectory::ById { min, starts } => {
                let starts = starts.into_iter().map(u64::from);
                std::iter::once(min).chain(starts).collect()
            }
        };
        let column = |column: &JoinColumn| {
            let are_numbers = matches!(column, JoinColumn::Numbers(_));
            (are_numbers, column.ids().to_vec())
        };
        (entries, columns.iter().map(column).collect())
    }

    fn serial(batches: &[Batch], side: &Side, shape: DirectoryShape, cx: &Context) -> Table {
        let keys = side.key_columns();
        let built = JoinDirectory::build(shape, batches, &keys, cx);
        let (directory, places) = built.expect("goes on");
        let columns = JoinColumn::build_all(batches, side.width(), &places, cx);
        table((directory, columns.expect("goes on")))
    }

    /// By all threads, the directory in partitions.
    fn parallel(batches: &[Batch], side: &Side, buckets: usize, cx: &Context) -> Table {
        let rows = Arc::new(InputRows::new(batches));
        let built = build(&rows, buckets, &side.key_columns(), cx);
        let (directory, places) = built.expect("goes on");
        let columns = JoinColumn::build_many(&rows, side.width(), places, cx);
        table((directory, columns.expect("goes on")))
    }

    proptest! {
        #[test]
        fn the_table_is_that_of_one_thread(side in side(), threads in 1..4_usize) {
            let cx = context(threads, 1 << 30);
            let batches = side.batches(&cx);
            let buckets = (side.keys.len() * 2).next_power_of_two();
            let built = parallel(&batches, &side, buckets, &cx);
            let expected = serial(&batches, &side, DirectoryShape::Hashed(buckets), &cx);
            prop_assert_eq!(built, expected);
        }

        #[test]
        fn tables_are_the_same_with_any_room(
            side in side(),
            threads in 1..4_usize,
            bytes_max in 0..100_000_usize,
        ) {
            let cx = context(threads, bytes_max);
            let batches = side.batches(&cx);
            let shape = DirectoryShape::of(&batches, &side.key_columns());
            let bytes = batches.iter().map(Batch::bytes).sum::<usize>() + shape.bytes();
            let built = JoinTable::build(&batches, side.width(), side.key_columns(), &cx);
            prop_assert_eq!(built.is_ok(), bytes <= bytes_max);
            if let Ok(built) = built {
                let (_, columns) = serial(&batches, &side, shape, &cx);
                for (column, (are_numbers, ids)) in columns.iter().enumerate() {
                    prop_assert_eq!(built.numbers(column).is_some(), *are_numbers);
                    prop_assert_eq!(built.column(column), ids.as_slice());
                }
                cx.check_room(bytes_max - bytes, "test").expect("nothing else is held");
            }
        }
    }

    #[test]
    fn large_directories_that_are_hashed_have_partitions() {
        let hashed = DirectoryShape::Hashed;
        let is_parted = |shape, threads, bytes_max| {
            let cx = context(threads, bytes_max);
            room(200, shape, &cx).is_some()
        };
        assert!(is_parted(hashed(128), 2, 1 << 20));
        assert!(!is_parted(hashed(64), 2, 1 << 20), "they are few");
        assert!(is_parted(hashed(512), 1, 1 << 20));
        assert!(!is_parted(hashed(512), 2, 3_000), "there is no room");
        let by_id = DirectoryShape::ById {
            column: 0,
            min: 7,
            ids: 2_000,
        };
        assert!(!is_parted(by_id, 2, 1 << 20));
    }

    #[test]
    fn a_cancelled_query_ends() {
        let cx = context(2, 1 << 30);
        let side = Side {
            keys: (1..500).collect(),
            key_columns: 2,
            step: 100,
        };
        let batches = side.batches(&cx);
        let cancel = &cx.options().cancel;
        cancel.store(true, std::sync::atomic::Ordering::Relaxed);
        let rows = Arc::new(InputRows::new(&batches));
        let built = build(&rows, 1024, &side.key_columns(), &cx);
        assert!(matches!(built, Err(ExecError::Cancelled)));
    }
}
