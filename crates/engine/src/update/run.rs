//! `Run`: what the operations of one request share.
//!
//! The transaction; the time that is left; and the memory that may still be used, of which the changes made
//! so far have a part. Invariant: time and the cancel flag are looked at at least every [`CHECK_QUADS`] quads ([`Ticks`]).

use super::UpdateOptions;
use super::quad_set::{FREE_BYTES, Owner, QuadSet, SetLimits};
use super::request::Operation;
use super::sorted_quads::SortedQuads;
use crate::error::Error;
use crate::transactions::{ChangeCounts, LargeChanges, Transaction};
use basalt_loader::CancelFlag;
use basalt_store::{QuadIds, QuadPattern, Snapshot};
use oxrdf::BlankNode;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// Quads between two looks at the time.
const CHECK_QUADS: usize = 4096;

/// Counts the quads that are handled.
#[derive(Debug, Default)]
pub(super) struct Ticks {
    /// Those since the last look at the time.
    unchecked: usize,
}

impl Ticks {
    /// Counts so many; whether it is time to look.
    pub(super) fn are_due(&mut self, quads: usize) -> bool {
        self.unchecked += quads;
        let are_due = self.unchecked >= CHECK_QUADS;
        if are_due {
            self.unchecked = 0;
        }
        are_due
    }
}

fn check(options: &UpdateOptions, deadline: Option<Instant>) -> Result<(), Error> {
    if options.query.exec.cancel.load(Ordering::Relaxed) {
        return Err(Error::Cancelled);
    }
    match deadline {
        Some(deadline) if Instant::now() >= deadline => Err(timeout_error(options)),
        _ => Ok(()),
    }
}

fn timeout_error(options: &UpdateOptions) -> Error {
    let limit = options.query.exec.timeout.unwrap_or_default();
    Error::Timeout {
        limit_ms: limit.as_millis(),
    }
}

/// The changes of an operation, as a version is written with them.
struct Edits<'c> {
    removed: SortedQuads,
    added: SortedQuads,
    ticks: Ticks,
    check: &'c dyn Fn() -> Result<(), Error>,
}

impl LargeChanges for Edits<'_> {
    fn removes(&mut self, quad: &QuadIds) -> Result<bool, Error> {
        if self.ticks.are_due(1) {
            (self.check)()?;
        }
        self.removed.contains(quad)
    }

    fn adds(&mut self, quad: &QuadIds) -> Result<bool, Error> {
        self.added.contains(quad)
    }

    fn visit_added(
        &mut self,
        visit: &mut dyn FnMut(QuadIds) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let (ticks, check) = (&mut self.ticks, self.check);
        self.added.visit(&mut |quad| {
            if ticks.are_due(1) {
                check()?;
            }
            visit(quad)
        })
    }
}

impl Owner for Run<'_, '_> {
    fn reserve(&mut self, bytes: usize) -> bool {
        let has_room = bytes <= self.bytes_left();
        if has_room {
            self.held_bytes += bytes;
        }
        has_room
    }

    fn tick(&mut self) -> Result<(), Error> {
        self.count(1)
    }
}

/// A request that is running.
pub(super) struct Run<'r, 'db> {
    transaction: &'r mut Transaction<'db>,
    pub(super) options: &'r UpdateOptions,
    /// When the request must have ended.
    deadline: Option<Instant>,
    /// Bytes of the sets of the operation that is running.
    held_bytes: usize,
    ticks: Ticks,
    /// Whether the changes of the operation are the last of the transaction.
    is_last: bool,
    /// The blank nodes of INSERT DATA by label.
    pub(super) blanks: HashMap<BlankNode, basalt_rdf::TermId>,
}

impl<'r, 'db> Run<'r, 'db> {
    /// A request whose turn has come now.
    pub(super) fn new(transaction: &'r mut Transaction<'db>, options: &'r UpdateOptions) -> Self {
        Self {
            transaction,
            options,
            deadline: options.query.exec.deadline(),
            held_bytes: 0,
            ticks: Ticks::default(),
            is_last: false,
            blanks: HashMap::new(),
        }
    }

    /// Tells that the next operation is the last one, so that its changes can become a version.
    pub(super) fn no_more_operations(&mut self) {
        self.is_last = true;
    }

    /// An empty set with the limits of the request.
    pub(super) fn set(&self) -> QuadSet {
        let exec = &self.options.query.exec;
        QuadSet::new(SetLimits::of(exec.memory_bytes_max, exec.temp.clone()))
    }

    /// Runs one operation.
    pub(super) fn operation(&mut self, operation: Operation<'_>) -> Result<ChangeCounts, Error> {
        self.check()?;
        match operation {
            Operation::InsertData(data) => self.insert_data(data),
            Operation::InsertLongData(text) => self.insert_long_data(&text),
            Operation::DeleteData(data) => self.delete_data(&data),
            Operation::Modify(modify) => self.modify(&modify),
            Operation::Load {
                is_silent,
                source,
                destination,
            } => {
                let held_bytes = self.held_bytes;
                match self.load(&source, &destination) {
                    Err(Error::Document { .. }) if is_silent => {
                        // What was read of it is gone.
                        self.held_bytes = held_bytes;
                        Ok(ChangeCounts::default())
                    }
                    outcome => outcome,
                }
            }
            Operation::Create { is_silent, graph } => match self.create(&graph) {
                Err(Error::Graph(_)) if is_silent => Ok(ChangeCounts::default()),
                outcome => outcome,
            },
            Operation::Clear { target, .. } => self.clear(&target),
            Operation::Transfer {
                kind,
                is_silent,
                ends,
            } => {
                let Some((from, to)) = ends else {
                    return Ok(ChangeCounts::default());
                };
                match self.transfer(kind, &from, &to) {
                    Err(Error::Graph(_)) if is_silent => Ok(ChangeCounts::default()),
                    outcome => outcome,
                }
            }
        }
    }

    /// The data as the operations before this one have left it.
    pub(super) fn snapshot(&self) -> &Snapshot {
        self.transaction.snapshot()
    }

    /// Removes quads, then adds quads. If these are many and no others come, that is written as a version.
    pub(super) fn apply(
        &mut self,
        removed: SortedQuads,
        added: SortedQuads,
    ) -> Result<ChangeCounts, Error> {
        let reserved = removed.reserved() + added.reserved();
        let counts = self.apply_sets(removed, added)?;
        self.give_back(reserved);
        Ok(counts)
    }

    fn apply_sets(
        &mut self,
        removed: SortedQuads,
        added: SortedQuads,
    ) -> Result<ChangeCounts, Error> {
        self.check()?;
        let is_large = self.is_last && self.transaction.is_large(removed.len() + added.len());
        if !is_large {
            return self.apply_to_delta(removed, added);
        }
        let cancel = CancelFlag::from(Arc::clone(&self.options.query.exec.cancel));
        let (options, deadline) = (self.options, self.deadline);
        let mut edits = Edits {
            removed,
            added,
            ticks: Ticks::default(),
            check: &|| check(options, deadline),
        };
        match self.transaction.replace(&mut edits, cancel)? {
            Some(counts) => Ok(counts),
            None => {
                let Edits { removed, added, .. } = edits;
                self.apply_to_delta(removed, added)
            }
        }
    }

    /// As [`Self::apply`], in the delta.
    fn apply_to_delta(
        &mut self,
        removed: SortedQuads,
        added: SortedQuads,
    ) -> Result<ChangeCounts, Error> {
        let (removed, added) = (removed.into_vec(self)?, added.into_vec(self)?);
        self.transaction.apply(&removed, &added)
    }

    /// Adds a quad to a set, within the memory of the request.
    pub(super) fn put(&mut self, set: &mut QuadSet, quad: QuadIds) -> Result<(), Error> {
        self.count(1)?;
        set.insert(quad, self)
    }

    /// Bytes that may still be used.
    pub(super) fn bytes_left(&self) -> usize {
        let limit = self.options.query.exec.memory_bytes_max;
        limit.saturating_sub(self.held_bytes)
    }

    /// Counts a set that the operation's query has counted until now.
    pub(super) fn take_over(&mut self, set: SortedQuads) -> Result<SortedQuads, Error> {
        let bytes = set.held_bytes().saturating_sub(FREE_BYTES);
        match self.reserve(bytes) {
            true => Ok(set.with_reserved(bytes)),
            false => Err(self.too_large()),
        }
    }

    /// Takes note that bytes are not held any more.
    pub(super) fn give_back(&mut self, bytes: usize) {
        self.held_bytes = self.held_bytes.saturating_sub(bytes);
    }

    fn too_large(&self) -> Error {
        let limit = self.options.query.exec.memory_bytes_max;
        Error::Limit(format!(
            "the update needs more than its {limit} bytes of memory, even with its changes in temporary files"
        ))
    }

    /// Takes note of quads that were handled.
    pub(super) fn count(&mut self, quads: usize) -> Result<(), Error> {
        match self.ticks.are_due(quads) {
            true => self.check(),
            false => Ok(()),
        }
    }

    /// Errors if the request was cancelled or its time is over.
    pub(super) fn check(&self) -> Result<(), Error> {
        check(self.options, self.deadline)
    }

    /// The time that is left; `None` if there is no limit.
    pub(super) fn time_left(&self) -> Option<Duration> {
        let left = |deadline: Instant| deadline.saturating_duration_since(Instant::now());
        self.deadline.map(left)
    }

    /// An error of a part of the request that knew only the time and the memory that were left.
    pub(super) fn whole_error(&self, error: Error) -> Error {
        match error {
            Error::Timeout { .. } => timeout_error(self.options),
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
