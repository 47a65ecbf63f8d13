//! The successor: a version that was written while others committed, and those commits in its terms.
//!
//! ```text
//! commit over the old version:   - (17, 3, 99)   + (17, 3, 104)          ids
//!                                   |  |  |         |  |   |             decoded in the old version
//!                                <e:a> <e:p> _:b  <e:a> <e:p> "new"      terms
//!                                   |  |  |         |  |   |             found or interned in the new version
//! commit over the new version:   - (2, 40, 7)    + (2, 40, 81)
//! ```
//!
//! A blank node has no text: those that the old version's quads had when the merge began are found by [`BlankNodes`], later
//! ones are made anew, and remembered. Each commit stays one, with its number, so that the new log says what the old one says.
//!
//! Invariant: after each commit the successor holds the quads of the state of that number. That a commit removes
//! only what is there and adds only what is not is verified for every one. Cost: a text decoded and found for each distinct
//! term, and what applying the commit has cost.

use crate::error::Error;
use crate::transactions::journal::Committed;
use crate::transactions::tip::Tip;
use basalt_loader::BlankNodes;
use basalt_rdf::{TermBuf, TermId};
use basalt_store::{NetChanges, QuadIds, Snapshot, StoreError, StoreLock};
use std::collections::HashMap;
use std::sync::Arc;

/// Terms that are remembered, so that those that come again and again are not decoded each time; then it begins anew.
const KNOWN_TERMS_MAX: usize = 100_000;

/// See the [module documentation](self).
#[derive(Debug)]
pub(crate) struct Successor {
    /// A state of the old version, which decodes the ids of all.
    old: Snapshot,
    /// The new version with the commits so far.
    tip: Tip,
    lock: Option<Arc<StoreLock>>,
    /// Blank nodes that the new version's files have.
    blank_nodes: BlankNodes,
    /// Other blank nodes met.
    late_blank_nodes: HashMap<TermId, TermId>,
    /// New ids of some terms that are no blank nodes.
    known: HashMap<TermId, TermId>,
    buf: TermBuf,
}

impl Successor {
    /// A version that has the quads of the old state; without a lock in memory.
    pub(crate) fn new(
        old: Snapshot,
        version: Snapshot,
        blank_nodes: BlankNodes,
        lock: Option<Arc<StoreLock>>,
    ) -> Self {
        Self {
            old,
            tip: Tip::of_version(version),
            lock,
            blank_nodes,
            late_blank_nodes: HashMap::new(),
            known: HashMap::new(),
            buf: TermBuf::new(),
        }
    }

    /// Makes a commit of the old version once more, and writes it to the log.
    pub(crate) fn apply(&mut self, commit: &Committed) -> Result<(), Error> {
        let removed = self.translate(&commit.changes.removed)?;
        let added = self.translate(&commit.changes.added)?;
        let (state, net) = self.tip.state().with_changes(&removed, &added)?;
        if net.removed.len() != removed.len() || net.added.len() != added.len() {
            let what = format!(
                "commit {} changes other quads in the merged version",
                commit.number
            );
            return Err(Error::Internal(what));
        }
        let changes = NetChanges { removed, added };
        let state = state.with_commit_number(commit.number);
        self.tip.append(self.lock.as_deref(), state, changes)?;
        Ok(())
    }

    /// Makes the commits so far durable.
    pub(crate) fn sync(&self) -> Result<(), StoreError> {
        self.tip.sync()
    }

    /// The new version with all commits.
    pub(crate) fn into_tip(self) -> Tip {
        self.tip
    }

    /// The quads in ids of the new version, ascending.
    fn translate(&mut self, quads: &[QuadIds]) -> Result<Vec<QuadIds>, StoreError> {
        let translated = quads.iter().map(|quad| {
            Ok(QuadIds {
                subject: self.id(quad.subject)?,
                predicate: self.id(quad.predicate)?,
                object: self.id(quad.object)?,
                graph: match quad.graph {
                    TermId::DEFAULT_GRAPH => TermId::DEFAULT_GRAPH,
                    named => self.id(named)?,
                },
            })
        });
        let mut translated = translated.collect::<Result<Vec<_>, StoreError>>()?;
        translated.sort_unstable();
        Ok(translated)
    }

    /// The id of a term in the new version.
    fn id(&mut self, old: TermId) -> Result<TermId, StoreError> {
        if let Some(known) = self.known.get(&old) {
            return Ok(*known);
        }
        if self.old.dictionary().is_blank(old) {
            return self.blank_node(old);
        }
        self.old.dictionary().decode(old, &mut self.buf)?;
        let new = self.tip.state().intern(self.buf.view())?;
        if self.known.len() == KNOWN_TERMS_MAX {
            self.known.clear();
        }
        self.known.insert(old, new);
        Ok(new)
    }

    fn blank_node(&mut self, old: TermId) -> Result<TermId, StoreError> {
        let known = self.late_blank_nodes.get(&old).copied();
        if let Some(new) = known.or_else(|| self.blank_nodes.new_id(old)) {
            return Ok(new);
        }
        let new = self.tip.state().new_blank()?;
        self.late_blank_nodes.insert(old, new);
        Ok(new)
    }
}
