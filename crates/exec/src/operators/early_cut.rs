//! `EarlyCut`: rows that a sort with a limit would turn away are dropped where they come from, before they are joined.
//!
//! ```text
//! scan ──► EarlyCut ──► joins ──► OrderBy first 100
//!             ▲                      │
//!             └── the first key of the last row kept
//! ```
//!
//! Invariant: what is dropped comes after the row told by its first key alone, so the sort would not keep what it is joined to; equal keys stay. What is told was true of
//! rows that are kept, so it stays true. Cost: a comparison for each row, of most by ids or nearest doubles; a lock for each batch after another row was told.

use super::cut_off::CutOff;
use super::{BoxOperator, Operator};
use crate::batch::Batch;
use crate::context::Context;
use crate::error::ExecError;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// What a sort tells those that bring its rows.
pub struct EarlyCut {
    descending: bool,
    /// The first key of the last row kept.
    key: Mutex<u64>,
    /// How often another was told.
    told: AtomicUsize,
}

impl EarlyCut {
    /// Nothing told yet; whether the first key descends.
    pub fn new(descending: bool) -> Self {
        Self {
            descending,
            key: Mutex::new(0),
            told: AtomicUsize::new(0),
        }
    }

    /// Tells the first key of a row that as many rows as the limit do not come after.
    pub fn tell(&self, key: u64) {
        let mut known = self.key.lock().unwrap_or_else(PoisonError::into_inner);
        if *known != key || self.told.load(Ordering::Relaxed) == 0 {
            *known = key;
            self.told.fetch_add(1, Ordering::Release);
        }
    }
}

/// The operator; see the [module documentation](self).
pub struct CutRows {
    input: BoxOperator,
    /// The column of the key.
    column: usize,
    cut: Arc<EarlyCut>,
    told: usize,
    cut_off: Option<CutOff>,
}

impl CutRows {
    /// Drops rows of `input` as `cut` tells.
    pub fn new(input: BoxOperator, column: usize, cut: Arc<EarlyCut>) -> Self {
        Self {
            input,
            column,
            cut,
            told: 0,
            cut_off: None,
        }
    }

    /// Takes what was told since the last batch.
    fn refresh(&mut self, cx: &Context) -> Result<(), ExecError> {
        let told = self.cut.told.load(Ordering::Acquire);
        if told != self.told {
            self.told = told;
            let key = *self.cut.key.lock().unwrap_or_else(PoisonError::into_inner);
            let row = std::iter::once((key, self.cut.descending));
            self.cut_off = Some(CutOff::new(row, self.cut_off.take(), cx)?);
        }
        Ok(())
    }
}

impl Operator for CutRows {
    fn next(&mut self, cx: &Context) -> Result<Option<Batch>, ExecError> {
        while let Some(batch) = self.input.next(cx)? {
            cx.check()?;
            self.refresh(cx)?;
            let Some(cut_off) = &mut self.cut_off else {
                return Ok(Some(batch));
            };
            let by_numbers = batch.numbers(self.column);
            let positions = match by_numbers.and_then(|numbers| cut_off.select_numbers(numbers)) {
                Some(positions) => positions,
                None => cut_off.select_first(batch.ids(self.column), cx)?,
            };
            if positions.len() == batch.rows() {
                return Ok(Some(batch));
            }
            if !positions.is_empty() {
                return Ok(Some(batch.keep(&positions)));
            }
        }
        Ok(None)
    }
}
