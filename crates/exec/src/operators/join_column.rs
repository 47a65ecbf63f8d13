//! `JoinColumn`: a column of the rows of a [`JoinTable`](super::join_table::JoinTable), in the order of the table.
//!
//! ```text
//! ids       [ id of the first place | id of the second | .. ]
//! numbers   computed numbers in the same order, as long as nobody asks for their ids
//! ```
//!
//! Of many rows, pieces are put to their places by several threads. Cost: 8 bytes and 1 to 2 ns a row.

use super::input_rows::InputRows;
use super::pieces::in_pieces;
use super::shared_cells::{Cell, SharedCells};
use crate::batch::Batch;
use crate::computed_numbers::ComputedNumbers;
use crate::context::Context;
use crate::error::ExecError;
use crate::expr::Numbers;
use std::cell::OnceCell;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Rows up to which computed numbers stay such: they are put in order without a look at the query's flag, which takes some milliseconds.
const NUMBERS_ROWS_MAX: usize = 1 << 20;

/// The column; see the [module documentation](self).
pub enum JoinColumn {
    Ids(Vec<u64>),
    /// Computed numbers, whose ids are made when somebody asks for one.
    Numbers(Arc<ComputedNumbers>),
}

impl JoinColumn {
    /// The columns of all batches, whose rows go to these places.
    pub fn build_all(
        batches: &[Batch],
        width: usize,
        places: &[u32],
        cx: &Context,
    ) -> Result<Vec<Self>, ExecError> {
        let ordered = Ordered::by(places);
        let column = |column| match numbers_to_keep(batches, column) {
            Some(numbers) => Ok(ordered.numbers(&numbers, cx)),
            None => Ok(Self::Ids(ids_at(batches, column, places, cx)?)),
        };
        (0..width).map(column).collect()
    }

    /// The same by all threads.
    pub fn build_many(
        rows: &Arc<InputRows>,
        width: usize,
        places: Vec<u32>,
        cx: &Context,
    ) -> Result<Vec<Self>, ExecError> {
        let places = Arc::new(places);
        let making = (0..width).map(|column| match numbers_to_keep(rows.all(), column) {
            Some(numbers) => Making::Numbers(numbers),
            None => Making::Ids(SharedCells::zeros(places.len())),
        });
        let making: Arc<Vec<Making>> = Arc::new(making.collect());
        let fill = {
            let (making, rows, places) =
                (Arc::clone(&making), Arc::clone(rows), Arc::clone(&places));
            move |piece: usize, cx: &Context| fill_piece(&making, &rows, piece, &places, cx)
        };
        in_pieces(rows.pieces(), cx.options().threads, fill, cx)?;
        let ordered = Ordered::by(&places);
        let column = |making: &Making| match making {
            Making::Numbers(numbers) => ordered.numbers(numbers, cx),
            Making::Ids(cells) => Self::Ids(cells.take()),
        };
        Ok(making.iter().map(column).collect())
    }

    /// The ids.
    pub fn ids(&self) -> &[u64] {
        match self {
            Self::Ids(ids) => ids,
            Self::Numbers(numbers) => numbers.ids().values(),
        }
    }
}

/// The order of the table's rows.
struct Ordered<'a> {
    /// Where the rows go.
    places: &'a [u32],
    /// The row at each place, made for the first column of numbers.
    rows: OnceCell<Vec<u32>>,
}

impl<'a> Ordered<'a> {
    fn by(places: &'a [u32]) -> Self {
        let rows = OnceCell::new();
        Self { places, rows }
    }

    /// The column of these numbers, which are in input order.
    fn numbers(&self, numbers: &Numbers, cx: &Context) -> JoinColumn {
        let rows = self.rows.get_or_init(|| {
            let mut rows = vec![0; self.places.len()];
            for (row, &place) in (0..).zip(self.places) {
                rows[place as usize] = row;
            }
            rows
        });
        let numbers = ComputedNumbers::new(numbers.take(rows), cx);
        JoinColumn::Numbers(Arc::new(numbers))
    }
}

/// The numbers of a column of all batches in input order, if it has such and they stay.
fn numbers_to_keep(batches: &[Batch], column: usize) -> Option<Numbers> {
    let numbers = batches.iter().map(|batch| batch.numbers_to_write(column));
    let numbers: Vec<&Numbers> = numbers.collect::<Option<_>>()?;
    let rows: usize = batches.iter().map(Batch::rows).sum();
    match rows <= NUMBERS_ROWS_MAX {
        true => Numbers::concat(&numbers),
        false => None,
    }
}

/// The ids of a column of all batches, whose rows go to these places.
fn ids_at(
    batches: &[Batch],
    column: usize,
    places: &[u32],
    cx: &Context,
) -> Result<Vec<u64>, ExecError> {
    let mut values = vec![0; places.len()];
    let mut places = places.iter();
    for batch in batches {
        cx.check()?;
        for (&id, &place) in batch.ids(column).iter().zip(&mut places) {
            values[place as usize] = id;
        }
    }
    Ok(values)
}

/// A column that several threads make.
enum Making {
    /// The ids by place.
    Ids(SharedCells<AtomicU64>),
    /// In input order, to be put in that of the places at the end.
    Numbers(Numbers),
}

/// Puts the ids of a piece's rows to their places.
fn fill_piece(
    columns: &[Making],
    rows: &InputRows,
    piece: usize,
    places: &[u32],
    cx: &Context,
) -> Result<(), ExecError> {
    let own = rows.piece(piece);
    for (column, making) in columns.iter().enumerate() {
        let Making::Ids(shared) = making else {
            continue;
        };
        cx.check()?;
        let cells = shared.share();
        let cells = cells.as_slice();
        let mut places = places[own.clone()].iter();
        for (batch, within) in rows.batches(own.clone()) {
            for (&id, &place) in batch.ids(column)[within].iter().zip(&mut places) {
                cells[place as usize].set(id);
            }
        }
    }
    Ok(())
}
