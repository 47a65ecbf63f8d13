//! What a database and its threads share: the published state, the turn, the commits under way, the merges.

use crate::error::Error;
use crate::transactions::group_commit::{Appended, GroupCommit};
use crate::transactions::line::Line;
use crate::transactions::merges::Merges;
use crate::transactions::tip::Tip;
use crate::transactions::turn::{Turn, TurnGuard};
use crate::transactions::{Durability, WriteOptions};
use basalt_loader::{LoadError, LoadOptions, LoadReport, Progress, load_with};
use basalt_store::{
    DeltaSize, Holder, NetChanges, Snapshot, Storage, StoreError, StoreLock, VersionReason,
    VersionWriter,
};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often a merge that waits for the turn looks whether it should give up: seldom enough to cost nothing, often enough
/// that writers, who let it pass, do not notice.
const TURN_POLL: Duration = Duration::from_micros(200);

/// The shared part of a database.
#[derive(Debug)]
pub(crate) struct Core {
    /// The folder; `None` in memory.
    pub(crate) location: Option<PathBuf>,
    /// How it writes.
    pub(crate) options: WriteOptions,
    /// The state that a query that begins now sees.
    published: RwLock<Snapshot>,
    /// Those who wait for it to make a transaction.
    pub(crate) line: Line,
    /// Held by the writer whose turn it is.
    turn: Mutex<Turn>,
    /// Commits that wait for the disk.
    pub(crate) commits: GroupCommit,
    /// Merges.
    pub(crate) merges: Merges,
    /// Bytes of the log, for those who do not hold the turn.
    log_bytes: AtomicU64,
    /// Where others can ask this process to write, once that is known.
    pub(crate) holder: OnceLock<Holder>,
}

/// What is known of the writing of a database, for metrics.
#[derive(Clone, Debug)]
pub struct WriteStatus {
    /// The number of the last commit that is published.
    pub commit_number: u64,
    /// What the delta holds.
    pub delta: DeltaSize,
    /// Bytes of the log that this process has open for writing.
    pub log_bytes: u64,
    /// Syncs of the log; fewer than commits if they were synced in groups.
    pub syncs: u64,
    /// A merge runs in the background.
    pub is_merging: bool,
    /// Merges that were done by themselves.
    pub merges: u64,
    /// Why the last merge failed; `None` after one that did not.
    pub merge_failure: Option<String>,
    /// When commits are acknowledged; `None` in memory.
    pub durability: Option<Durability>,
}

impl Core {
    pub(crate) fn new(
        location: Option<PathBuf>,
        snapshot: Snapshot,
        options: WriteOptions,
    ) -> Self {
        let turn = Turn::new(snapshot.clone(), location.is_none());
        Self {
            location,
            options,
            published: RwLock::new(snapshot),
            line: Line::default(),
            turn: Mutex::new(turn),
            commits: GroupCommit::default(),
            merges: Merges::default(),
            log_bytes: AtomicU64::new(0),
            holder: OnceLock::new(),
        }
    }

    /// The published state.
    pub(crate) fn snapshot(&self) -> Snapshot {
        let published = self.published.read();
        published.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Lets new queries see this state.
    pub(crate) fn publish(&self, snapshot: Snapshot) {
        let mut published = self
            .published
            .write()
            .unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *published, snapshot);
        drop(published);
        // It may be the last owner of a version, which takes a while to close.
        drop(before);
    }

    /// The turn, without any preparation.
    pub(crate) fn lock_turn(&self) -> TurnGuard<'_> {
        // A writer that panics has changed a snapshot of its own. The turn changes after the last step of each
        // operation that can fail, and a record that is not noted is overwritten by the next.
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Bytes of the log.
    pub(crate) fn log_bytes(&self) -> u64 {
        self.log_bytes.load(Ordering::Relaxed)
    }

    /// Tells others of the bytes of the log.
    fn note_log_bytes(&self, turn: &Turn) {
        self.log_bytes.store(turn.log_bytes(), Ordering::Relaxed);
    }

    /// What is known of the writing.
    pub(crate) fn write_status(&self) -> WriteStatus {
        let published = self.snapshot();
        let syncs = self.commits.group().syncs;
        let merges = self.merges.state();
        WriteStatus {
            commit_number: published.commit_number(),
            delta: published.delta_size(),
            log_bytes: self.log_bytes(),
            syncs,
            is_merging: merges.is_running,
            merges: merges.done,
            merge_failure: merges.failure.clone(),
            durability: self.location.as_ref().map(|_| self.options.durability),
        }
    }

    /// Makes an empty store in the folder if it has none.
    pub(crate) fn make_store(&self, turn: &mut Turn) -> Result<(), StoreError> {
        if let Some(location) = &self.location
            && turn.make_store(location)?
        {
            self.publish(turn.tip().clone());
        }
        Ok(())
    }

    /// The turn, if nobody has it.
    pub(crate) fn try_turn(&self) -> Option<TurnGuard<'_>> {
        match self.turn.try_lock() {
            Ok(turn) => Some(turn),
            // As in `lock_turn`.
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// As [`Self::lock_turn`], unless this fails meanwhile.
    pub(crate) fn lock_turn_unless(
        &self,
        go_on: impl Fn() -> Result<(), LoadError>,
    ) -> Result<TurnGuard<'_>, LoadError> {
        // Termination: who has the turn ends it, or makes `go_on` fail.
        loop {
            if let Some(turn) = self.try_turn() {
                return Ok(turn);
            }
            go_on()?;
            std::thread::sleep(TURN_POLL);
        }
    }

    /// Takes the turn; the tip is then the newest state of the store.
    pub(crate) fn take_turn(&self) -> Result<TurnGuard<'_>, Error> {
        self.prepare_turn(self.lock_turn())
    }

    /// Makes the tip the newest state of the store, in a turn that was taken.
    pub(crate) fn prepare_turn<'t>(&self, mut turn: TurnGuard<'t>) -> Result<TurnGuard<'t>, Error> {
        self.cut_back(&mut turn);
        if let Some(location) = &self.location
            && turn.prepare(location, &self.options.disk)?
        {
            self.tell_holder(&mut turn);
            // Other processes may have made commits and versions.
            self.publish_tip(&turn);
        }
        Ok(turn)
    }

    /// Lets others see the tip.
    pub(crate) fn publish_tip(&self, turn: &Turn) {
        self.note_log_bytes(turn);
        self.publish(turn.tip().clone());
    }

    /// Says in the lock who holds it, if others can ask this process to write, and keeps it then.
    pub(crate) fn tell_holder(&self, turn: &mut Turn) {
        if let (Some(holder), Some(lock)) = (self.holder.get(), turn.lock()) {
            // If it cannot be said, others hear only that the store is locked.
            let _ = lock.announce(holder);
            turn.keep_lock();
        }
    }

    /// Appends a commit to the log; the state after it is the tip.
    pub(crate) fn append(
        &self,
        turn: &mut Turn,
        snapshot: Snapshot,
        changes: NetChanges,
    ) -> Result<Arc<Appended>, Error> {
        self.refuse_after_failure()?;
        let snapshot = snapshot.with_commit_number(turn.tip().commit_number() + 1);
        let sync = turn.append(snapshot.clone(), changes)?;
        self.note_log_bytes(turn);
        let appended = Arc::new(Appended::new(snapshot, sync));
        self.enqueue(Arc::clone(&appended));
        Ok(appended)
    }

    /// Loads inputs in a turn of its own, all or nothing.
    pub(crate) fn load(
        &self,
        options: LoadOptions,
        progress: &dyn Progress,
    ) -> Result<LoadReport, Error> {
        self.by_request(|| {
            let mut turn = self.take_turn_first()?;
            let report = self.rewrite(&mut turn, options, progress);
            turn.give_up_lock();
            report
        })
    }

    /// Merges for somebody who asks for that, with all of the machine.
    pub(crate) fn optimize(&self, progress: &dyn Progress) -> Result<LoadReport, Error> {
        let options = LoadOptions::default();
        self.by_request(|| self.merge(VersionReason::optimize, 0, options, progress))
    }

    /// Writes a version by request.
    fn by_request(
        &self,
        write: impl FnOnce() -> Result<LoadReport, Error>,
    ) -> Result<LoadReport, Error> {
        let right = self.merges.by_request();
        let written = write();
        if written.is_err() {
            right.came_to_nothing();
        }
        written
    }

    /// Replaces the version by one that has the tip's quads and those of the inputs, in the turn.
    fn rewrite(
        &self,
        turn: &mut Turn,
        options: LoadOptions,
        progress: &dyn Progress,
    ) -> Result<LoadReport, Error> {
        self.drain(turn)?;
        let rewritten = self.new_version(turn, options, progress);
        match rewritten {
            Ok((snapshot, report)) => {
                turn.become_tip(Tip::of_version(snapshot));
                self.publish_tip(turn);
                Ok(report)
            }
            Err(error) => {
                if may_be_in_place(&error) {
                    turn.doubt();
                }
                Err(error)
            }
        }
    }

    fn new_version(
        &self,
        turn: &Turn,
        options: LoadOptions,
        progress: &dyn Progress,
    ) -> Result<(Snapshot, LoadReport), Error> {
        let writer = version_writer(turn.lock())?;
        Ok(load_with(writer, Some(turn.tip()), options, progress)?)
    }

    /// Starts the thread that syncs by interval, if that is asked for.
    pub(crate) fn start(self: &Arc<Self>) -> Result<Option<JoinHandle<()>>, Error> {
        let (Durability::Interval(interval), Some(location)) =
            (self.options.durability, &self.location)
        else {
            return Ok(None);
        };
        let core = Arc::clone(self);
        let started = std::thread::Builder::new()
            .name("basalt-sync".to_owned())
            .spawn(move || core.sync_by_interval(interval));
        let started = started.map_err(|source| StoreError::Io {
            op: "start a thread that syncs",
            path: location.clone(),
            source,
        });
        Ok(Some(started?))
    }
}

/// Whether a version may be on disk although writing it ended with this error: not where the input was at fault.
fn may_be_in_place(error: &Error) -> bool {
    match error {
        Error::Load(error) => matches!(**error, LoadError::Store(_)),
        _ => true,
    }
}

/// What is asked of a turn without a lock.
pub(crate) fn not_locked(location: &Path) -> StoreError {
    StoreError::Locked {
        path: location.to_path_buf(),
        holder: None,
    }
}

/// The same failure for one more who is concerned.
pub(crate) fn same_error(error: &StoreError) -> StoreError {
    match error {
        StoreError::Io { op, path, source } => StoreError::Io {
            op,
            path: path.clone(),
            source: io::Error::new(source.kind(), source.to_string()),
        },
        other => StoreError::InvalidInput {
            what: other.to_string(),
        },
    }
}

/// A writer of a new version, into the folder that the lock is of; without one in memory.
pub(crate) fn version_writer(lock: Option<&Arc<StoreLock>>) -> Result<VersionWriter, StoreError> {
    match lock {
        Some(lock) => VersionWriter::create_locked(Arc::clone(lock)),
        None => VersionWriter::create(Storage::Memory),
    }
}
