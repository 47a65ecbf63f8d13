//! `WriterTurn`: the turn of a transaction, at whose end terms that came to nothing are forgotten.
//!
//! Terms get their ids while a transaction runs, and the next commit writes all that are not in the log, whoever made them. A transaction
//! that is given up would leave its own to that commit, which could then find no room on a disk that has some, and codes of
//! languages and datatypes would be used up for nothing. So if it leaves many, the next turn reads the newest state from disk, as after a restart;
//! few are not worth that, and are counted until they are many.
//!
//! Cost: nothing for who commits; after a large transaction was given up, the next one replays the log.

use crate::error::Error;
use crate::transactions::Core;
use crate::transactions::line::Place;
use crate::transactions::turn::{Turn, TurnGuard};
use std::ops::{Deref, DerefMut};

/// Terms that may be left behind without a replay of the log: fewer than there are codes of languages.
const LEFT_MAX: u64 = 50_000;
/// Bytes of memory of terms that one transaction may leave behind without that.
const LEFT_BYTES_MAX: u64 = 1 << 20;

/// See the [module documentation](self).
#[derive(Debug)]
pub(super) struct WriterTurn<'d> {
    core: &'d Core,
    turn: TurnGuard<'d>,
    /// Bytes of memory of added terms when it began.
    term_bytes_before: u64,
    /// Left after the turn.
    _head: Place<'d>,
}

impl<'d> WriterTurn<'d> {
    /// Takes the turn for a transaction, unless `go_on` fails while it waits.
    pub(super) fn begin(
        core: &'d Core,
        go_on: &dyn Fn() -> Result<(), Error>,
    ) -> Result<Self, Error> {
        let head = core.line.enter(go_on)?;
        let turn = core.begin_turn(&head, go_on)?;
        let term_bytes_before = turn.tip().added_term_bytes();
        Ok(Self {
            core,
            turn,
            term_bytes_before,
            _head: head,
        })
    }

    /// Whether this transaction, or those before it, leave many terms that are in no commit.
    fn leaves_many(&self) -> bool {
        let unlogged = self.turn.unlogged_terms();
        let bytes = self.turn.tip().added_term_bytes();
        let grown = bytes.saturating_sub(self.term_bytes_before);
        unlogged > LEFT_MAX || unlogged > 0 && grown > LEFT_BYTES_MAX
    }
}

impl Deref for WriterTurn<'_> {
    type Target = Turn;

    fn deref(&self) -> &Turn {
        &self.turn
    }
}

impl DerefMut for WriterTurn<'_> {
    fn deref_mut(&mut self) -> &mut Turn {
        &mut self.turn
    }
}

impl Drop for WriterTurn<'_> {
    fn drop(&mut self) {
        let is_left = self.turn.lock().is_some() && self.leaves_many();
        // What waits to be synced must be on disk before it is read from there; if it cannot be, who waits for it is told.
        if is_left && self.core.drain(&mut self.turn).is_ok() {
            self.turn.doubt();
        }
    }
}
