//! `Run`: what the operations of one request share.
//!
//! The transaction; the time that is left; and the memory that may still be used, of which the changes made
//! so far have a part. Invariant: time and the cancel flag are looked at at least every [`CHECK_QUADS`] quads.

use super::UpdateOptions;
use super::quad_set::{ENTRY_BYTES, QuadSet};
use super::request::Operation;
use crate::error::Error;
use crate::transactions::{ChangeCounts, Transaction};
use basalt_store::{QuadIds, QuadPattern, Snapshot};
use oxrdf::BlankNode;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Quads between two looks at the time.
const CHECK_QUADS: usize = 4096;

/// A request that is running.
pub(super) struct Run<'r, 'db> {
    transaction: &'r mut Transaction<'db>,
    pub(super) options: &'r UpdateOptions,
    /// When the request must have ended.
    deadline: Option<Instant>,
    /// Bytes of changes that are held.
    held_bytes: usize,
    /// Quads handled since the last look at the time.
    unchecked: usize,
    /// The blank nodes of INSERT DATA by label.
    pub(super) blanks: HashMap<BlankNode, basalt_rdf::TermId>,
}

impl<'r, 'db> Run<'r, 'db> {
    /// A request whose turn has come now.
    pub(super) fn new(transaction: &'r mut Transaction<'db>, options: &'r UpdateOptions) -> Self {
        let timeout = options.query.exec.timeout;
        Self {
            transaction,
            options,
            deadline: timeout.map(|timeout| Instant::now() + timeout),
            held_bytes: 0,
            unchecked: 0,
            blanks: HashMap::new(),
        }
    }

    /// Runs one operation.
    pub(super) fn operation(&mut self, operation: &Operation) -> Result<ChangeCounts, Error> {
        self.check()?;
        match operation {
            Operation::InsertData(data) => self.insert_data(data),
            Operation::DeleteData(data) => self.delete_data(data),
            Operation::Modify(modify) => self.modify(modify),
            Operation::Load {
                is_silent,
                source,
                destination,
            } => match self.load(source, destination) {
                Err(Error::Document { .. }) if *is_silent => Ok(ChangeCounts::default()),
                outcome => outcome,
            },
            Operation::Create { is_silent, graph } => match self.create(graph) {
                Err(Error::Graph(_)) if *is_silent => Ok(ChangeCounts::default()),
                outcome => outcome,
            },
            Operation::Clear { target, .. } => self.clear(target),
            Operation::Transfer {
                kind,
                is_silent,
                ends,
            } => {
                let Some((from, to)) = ends else {
                    return Ok(ChangeCounts::default());
                };
                match self.transfer(*kind, from, to) {
                    Err(Error::Graph(_)) if *is_silent => Ok(ChangeCounts::default()),
                    outcome => outcome,
                }
            }
        }
    }

    /// The data as the operations before this one have left it.
    pub(super) fn snapshot(&self) -> &Snapshot {
        self.transaction.snapshot()
    }

    /// Removes quads, then adds quads.
    pub(super) fn apply(
        &mut self,
        removed: QuadSet,
        added: QuadSet,
    ) -> Result<ChangeCounts, Error> {
        self.check()?;
        let (removed, added) = (removed.into_sorted(), added.into_sorted());
        self.transaction.apply(&removed, &added)
    }

    /// Adds a quad to a set, within the memory of the request.
    pub(super) fn put(&mut self, set: &mut QuadSet, quad: QuadIds) -> Result<(), Error> {
        self.count(1)?;
        set.insert(quad, |bytes| self.hold(bytes))
    }

    /// Bytes that may still be used.
    pub(super) fn bytes_left(&self) -> usize {
        let limit = self.options.query.exec.memory_bytes_max;
        limit.saturating_sub(self.held_bytes)
    }

    /// Takes note of bytes that are held to the end of the request.
    pub(super) fn hold(&mut self, bytes: usize) -> Result<(), Error> {
        if self.bytes_left() < bytes {
            return Err(self.too_large());
        }
        self.held_bytes += bytes;
        Ok(())
    }

    fn too_large(&self) -> Error {
        let limit = self.options.query.exec.memory_bytes_max;
        Error::Limit(format!(
            "the update changes more quads than fit into its {limit} bytes of memory, at {ENTRY_BYTES} bytes each"
        ))
    }

    /// Takes note of quads that were handled.
    pub(super) fn count(&mut self, quads: usize) -> Result<(), Error> {
        self.unchecked += quads;
        if self.unchecked < CHECK_QUADS {
            return Ok(());
        }
        self.unchecked = 0;
        self.check()
    }

    /// Errors if the request was cancelled or its time is over.
    pub(super) fn check(&self) -> Result<(), Error> {
        let exec = &self.options.query.exec;
        if exec.cancel.load(Ordering::Relaxed) {
            return Err(Error::Cancelled);
        }
        match self.deadline {
            Some(deadline) if Instant::now() >= deadline => Err(self.timeout_error()),
            _ => Ok(()),
        }
    }

    /// The time that is left; `None` if there is no limit.
    pub(super) fn time_left(&self) -> Option<Duration> {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        self.deadline.map(left)
    }

    fn timeout_error(&self) -> Error {
        let limit = self.options.query.exec.timeout.unwrap_or_default();
        Error::Timeout {
            limit_ms: limit.as_millis(),
        }
    }

    /// An error of a part of the request that knew only the time and the memory that were left.
    pub(super) fn whole_error(&self, error: Error) -> Error {
        match error {
            Error::Timeout { .. } => self.timeout_error(),
            other => other,
        }
    }

    /// Visits the quads that match.
    pub(super) fn each(
        &mut self,
        pattern: QuadPattern,
        mut visit: impl FnMut(&mut Self, QuadIds) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let snapshot = self.snapshot().clone();
        let mut outcome = Ok(());
        snapshot.matching(&pattern, &mut |quad| {
            outcome = visit(self, quad);
            match outcome {
                Ok(()) => ControlFlow::Continue(()),
                Err(_) => ControlFlow::Break(()),
            }
        })?;
        outcome
    }
}
