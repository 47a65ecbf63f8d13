//! `SharedCells`: an array that several threads fill, each at places of its own.
//!
//! ```text
//! vec of numbers  ─► the same memory as atomic cells ─► threads store, relaxed ─► the same memory as numbers
//! ```
//!
//! A relaxed store is a plain one; nobody else looks before all threads are done, which whoever waits for them sees by their results. Cells are made of
//! numbers in place, and numbers of cells, so neither copies (the standard library collects in place), and pages that are zero from the beginning are first
//! touched by the thread that fills them.
//! Invariant: [`SharedCells::take`] comes after all that share. Work that no thread has begun may still have a handle, so it takes the array
//! out instead of owning it. Cost: a lock for each share of the work.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

/// A number that threads may store.
pub trait Cell: Send + Sync + Sized + 'static {
    /// The number.
    type Number: Copy + Default;
    /// A cell with this number.
    fn new(number: Self::Number) -> Self;
    /// The number in it.
    fn get(&self) -> Self::Number;
    /// Puts another in.
    fn set(&self, number: Self::Number);
    /// The number that it ends with.
    fn into_number(self) -> Self::Number;
}

impl Cell for AtomicU64 {
    type Number = u64;

    #[inline]
    fn new(number: u64) -> Self {
        Self::new(number)
    }

    #[inline]
    fn get(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }

    #[inline]
    fn set(&self, number: u64) {
        self.store(number, Ordering::Relaxed);
    }

    #[inline]
    fn into_number(self) -> u64 {
        self.into_inner()
    }
}

impl Cell for AtomicU32 {
    type Number = u32;

    #[inline]
    fn new(number: u32) -> Self {
        Self::new(number)
    }

    #[inline]
    fn get(&self) -> u32 {
        self.load(Ordering::Relaxed)
    }

    #[inline]
    fn set(&self, number: u32) {
        self.store(number, Ordering::Relaxed);
    }

    #[inline]
    fn into_number(self) -> u32 {
        self.into_inner()
    }
}

/// The cells; see the [module documentation](self).
pub struct SharedCells<C>(RwLock<Vec<C>>);

impl<C: Cell> SharedCells<C> {
    /// So many cells, all zero.
    pub fn zeros(count: usize) -> Self {
        let numbers = vec![C::Number::default(); count];
        Self(RwLock::new(numbers.into_iter().map(C::new).collect()))
    }

    /// The cells, for one thread of those that fill them.
    pub fn share(&self) -> RwLockReadGuard<'_, Vec<C>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// The numbers, once all threads are done.
    pub fn take(&self) -> Vec<C::Number> {
        let mut cells = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let cells = std::mem::take(&mut *cells);
        cells.into_iter().map(C::into_number).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_cells_and_numbers_again_in_the_same_memory() {
        let cells = SharedCells::<AtomicU64>::zeros(1000);
        let before = cells.share().as_ptr() as usize;
        std::thread::scope(|scope| {
            for part in 0..4 {
                let cells = &cells;
                scope.spawn(move || {
                    for (at, cell) in cells.share().iter().enumerate().skip(part).step_by(4) {
                        cell.set(cell.get() + at as u64);
                    }
                });
            }
        });
        let numbers = cells.take();
        assert_eq!(numbers.as_ptr() as usize, before);
        assert_eq!(numbers, (0..1000).collect::<Vec<u64>>());
        assert!(cells.share().is_empty());
    }
}
