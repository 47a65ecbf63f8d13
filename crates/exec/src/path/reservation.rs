//! `Reservation`: bytes counted in the query's memory account for as long as the value lives.

use crate::context::Context;
use crate::error::ExecError;

/// The name that memory errors give.
pub const OPERATOR: &str = "PathJoin";

/// Bytes held for one step of a path's evaluation; given back when dropped.
pub struct Reservation<'c> {
    cx: &'c Context,
    bytes: usize,
}

impl<'c> Reservation<'c> {
    /// Holds nothing yet.
    pub fn new(cx: &'c Context) -> Self {
        Self { cx, bytes: 0 }
    }

    /// Sees to it that at least so many bytes are counted.
    pub fn grow_to(&mut self, bytes: usize) -> Result<(), ExecError> {
        if bytes > self.bytes {
            self.cx.reserve(bytes - self.bytes, OPERATOR)?;
            self.bytes = bytes;
        }
        Ok(())
    }

    /// Leaves the bytes counted until the query ends; says how many there are.
    pub fn keep(mut self) -> usize {
        std::mem::take(&mut self.bytes)
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        self.cx.release(self.bytes);
    }
}
