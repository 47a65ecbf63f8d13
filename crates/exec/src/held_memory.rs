//! `HeldMemory`: bytes counted against a query's memory for as long as something lives.
//!
//! An operator may be dropped before its end, above all inside EXISTS, which stops at the first row, so
//! what it reserved is given back on drop and not at its last batch.

use crate::context::Context;
use crate::error::ExecError;
use crate::profile;
use std::sync::Weak;

/// Bytes reserved; given back on drop.
#[derive(Default)]
pub struct HeldMemory {
    bytes: usize,
    /// The node of the plan that holds them, where that is measured.
    node_id: Option<usize>,
    /// Whose bytes they are. Weak, since the context itself may own what holds them.
    cx: Weak<Context>,
}

impl HeldMemory {
    /// Holds at least this many bytes for `operator`.
    pub fn grow_to(
        &mut self,
        bytes: usize,
        operator: &'static str,
        cx: &Context,
    ) -> Result<(), ExecError> {
        if bytes > self.bytes {
            cx.reserve(bytes - self.bytes, operator)?;
            self.bytes = bytes;
            self.cx = cx.handle();
            self.node_id = profile::current_node();
        }
        Ok(())
    }

    /// Holds this many bytes of things remembered for speed alone; false if there is no room for them.
    ///
    /// They may take a sixteenth of the query's memory, so that what has to be held still finds room.
    pub fn grow_cache_to(&mut self, bytes: usize, operator: &'static str, cx: &Context) -> bool {
        self.grow_within(16, bytes, operator, cx)
    }

    /// The same of an index without which a join compares all pairs: it may take half of the memory.
    pub fn grow_index_to(&mut self, bytes: usize, operator: &'static str, cx: &Context) -> bool {
        self.grow_within(2, bytes, operator, cx)
    }

    /// Holds this many bytes if they are no more than that part of the query's memory, and there is room.
    fn grow_within(
        &mut self,
        part: usize,
        bytes: usize,
        operator: &'static str,
        cx: &Context,
    ) -> bool {
        bytes <= cx.options().memory_bytes_max / part && self.grow_to(bytes, operator, cx).is_ok()
    }

    /// The bytes held.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Takes over what another holds of the same query.
    pub fn take_over(&mut self, mut other: Self) {
        self.bytes += std::mem::take(&mut other.bytes);
        if self.cx.strong_count() == 0 {
            self.cx = std::mem::take(&mut other.cx);
            self.node_id = other.node_id;
        }
    }

    /// Gives everything back.
    pub fn release(&mut self) {
        if let Some(cx) = self.cx.upgrade() {
            cx.release_of(self.node_id, std::mem::take(&mut self.bytes));
        }
    }
}

impl Drop for HeldMemory {
    fn drop(&mut self) {
        self.release();
    }
}
